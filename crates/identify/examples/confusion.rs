//! Simulated flows of every algorithm over random paths, identified: `cargo run --release -p cwnd-identify --example
//! confusion PATHS FIRST`. A row for each flow, as JSON; FIRST is the number of the first path.

#[path = "../tests/all/simulate.rs"]
mod simulate;

use simulate::{At, pcap};
use std::error::Error;
use std::io::Cursor;

/// A stream of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.next())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let paths: u64 = arguments.next().ok_or("usage: confusion PATHS FIRST [ALGORITHM]")?.parse()?;
    let first: u64 = arguments.next().ok_or("usage: confusion PATHS FIRST [ALGORITHM]")?.parse()?;
    let only = arguments.next();
    for path in first..first + paths {
        for algorithm in cwnd_algorithms::all() {
            if only.as_ref().is_some_and(|only| *only != algorithm.name) {
                continue;
            }
            let mut random = Random(path);
            let rtt_ms = random.between(10.0, 150.0);
            let bdp = random.between(15.0, 400.0); // segments
            let rate_mbps = bdp * 1500.0 * 8.0 / rtt_ms / 1000.0;
            let buffer = random.between(0.3, 3.0);
            let has_loss = random.next() < 0.3;
            let loss = random.between(1e-4, 3e-3);
            let at = if random.next() < 0.75 { At::Sender } else { At::Receiver };
            let linux = random.next() < 0.5;
            let marks = algorithm.kind == "ecn" || algorithm.kind == "l4s" || random.next() < 0.15;
            let seconds = (120.0 * rtt_ms / 1000.0 * (1.0 + buffer / 2.0)).clamp(20.0, 60.0);
            let has = |name: &str, choice: &str| {
                algorithm.params.iter().any(|p| p.name == name && p.choices.contains(&choice))
            };
            let mut cca = format!("name = '{}'", algorithm.name);
            if linux && has("variant", "linux") {
                cca += ", variant = 'linux'";
            }
            if linux && has("slow_start", "hystart") {
                cca += ", slow_start = 'hystart'";
            }
            let ecn = match (marks, algorithm.kind) {
                (true, "l4s") => "stack = { ecn = 'l4s' }\n",
                (true, "ecn") => "stack = { ecn = 'dctcp' }\n",
                (true, _) => "stack = { ecn = 'classic' }\n",
                _ => "",
            };
            let queue = match (marks, algorithm.kind) {
                (false, _) => String::new(),
                (_, "ecn" | "l4s") => format!("ecn_threshold = '{} packets'\n", (bdp / 5.0).max(4.0) as u32),
                _ => "queue = { discipline = 'codel', ecn = true }\n".to_owned(),
            };
            let loss = if has_loss { format!("loss = {loss}\n") } else { String::new() };
            let text = format!(
                "duration = '{seconds} s'\nsamples = 'off'\nseed = {path}\n[dumbbell]\nrate = '{rate_mbps} Mbps'\n\
                 rtt = '{rtt_ms} ms'\nbuffer = '{buffer} BDP'\n{queue}{loss}[[flows]]\ncca = {{ {cca} }}\n{ecn}"
            );
            let bytes = pcap(&text, at, 400_000);
            if let Ok(folder) = std::env::var("SAVE") {
                std::fs::write(format!("{folder}/{}-{path}.pcap", algorithm.name), &bytes)?;
            }
            let found = cwnd_identify::identify(Box::new(Cursor::new(bytes)))?;
            println!(
                "{}",
                serde_json::json!({ "path": path, "algorithm": algorithm.name, "scenario": text, "sender": at == At::Sender,
                    "found": found.connections.first() })
            );
        }
    }
    Ok(())
}
