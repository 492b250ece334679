//! Events in, events out: each through a hook of an algorithm in the running kernel. events ALGORITHM reads events of
//! `ebpf/events.c` from standard input, whose first number is that of a hook, and writes each as the hook leaves it, with
//! its result first. The parameters are the defaults.

use cwnd_kernel::{Host, testing::InKernel};
use std::io::{self, BufReader, BufWriter, Read, Write};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [algorithm] => run(algorithm),
        _ => Err("events ALGORITHM".into()),
    };
    if let Err(error) = done {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn run(algorithm: &str) -> Result<(), String> {
    let algorithm = cwnd_algorithms::find(algorithm).map_err(|error| error.to_string())?;
    let mut kernel = InKernel::new(&Host::this(), &algorithm, &algorithm.defaults())
        .map_err(|error| format!("{error}\n{}", error.log))?;
    let mut events = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut answers = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut event = [0; InKernel::EVENT_BYTES];
    loop {
        // Who waits for answers before it sends more has them all.
        if events.buffer().is_empty() {
            answers.flush().map_err(|error| error.to_string())?;
        }
        match events.read_exact(&mut event) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
        kernel.event(&mut event).ok_or("no such hook")?;
        answers.write_all(&event).map_err(|error| error.to_string())?;
    }
}
