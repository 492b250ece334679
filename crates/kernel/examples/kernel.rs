//! `cwnd kernel` without Python, for a guest: kernel load ALGORITHM NAME, kernel status, kernel unload NAME.
//! ALGORITHM is written as in registry.h.

use cwnd_kernel::{Host, load, status, unload};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Err(error) = run(&words) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn run(words: &[&str]) -> Result<(), String> {
    let host = Host::this();
    match words {
        ["load", algorithm, name] => {
            let algorithm =
                cwnd_algorithms::find(&algorithm.replace('_', "-")).map_err(|error| error.to_string())?;
            load(&host, &algorithm, &algorithm.defaults(), name, false, algorithm.kind == "l4s")
                .map_err(|error| format!("{error}\n{}", error.log))
        }
        ["status"] => {
            for each in status(&host).map_err(|error| error.to_string())? {
                let name = each.algorithm.or(each.fault).unwrap_or_default();
                println!("{} {name} users={}", each.name, each.users);
            }
            Ok(())
        }
        ["unload", name] => unload(&host, name).map(drop).map_err(|error| error.to_string()),
        _ => Err("kernel load ALGORITHM NAME, kernel status, kernel unload NAME".into()),
    }
}
