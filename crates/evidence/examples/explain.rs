//! Explains a capture as JSON: `cargo run --release -p cwnd-evidence --example explain FILE`.

use std::error::Error;
use std::fs::File;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: explain FILE")?;
    let explanation = cwnd_evidence::explain(Box::new(File::open(path)?))?;
    println!("{}", serde_json::to_string(&explanation)?);
    Ok(())
}
