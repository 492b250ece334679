//! Identifies the connections of a capture, as JSON: `cargo run --release -p cwnd-identify --example identify FILE`.

use std::error::Error;
use std::fs::File;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: identify FILE")?;
    let found = cwnd_identify::identify(Box::new(File::open(path)?))?;
    println!("{}", serde_json::to_string(&found)?);
    Ok(())
}
