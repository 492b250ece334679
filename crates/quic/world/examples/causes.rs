//! scratch
use cwnd_quic_world::{Settings, Stack, run_with};
use cwnd_scenario::Scenario;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // world cca path stack-settings seeds
    let (world, cca, path, stack, seeds) =
        (&args[1], &args[2], &args[3], &args[4], args[5].parse::<u64>().unwrap());
    let top = match path.as_str() {
        "loss" => {
            "duration = '60 s'\nsamples = 'off'\n[dumbbell]\nrate = '20 Mbps'\nrtt = '200 ms'\nbuffer = '1 BDP'\nper = 0.01"
        }
        "fast" => {
            "duration = '5 s'\nsamples = 'off'\n[dumbbell]\nrate = '1 Gbps'\nrtt = '10 ms'\nbuffer = '1 BDP'"
        }
        "mid" => {
            "duration = '30 s'\nsamples = 'off'\n[dumbbell]\nrate = '100 Mbps'\nrtt = '40 ms'\nbuffer = '1 BDP'"
        }
        _ => panic!(),
    };
    let mut sums: Vec<[f64; 6]> = Vec::new();
    for seed in 1..=seeds {
        let text = format!("{top}\n[[flows]]\ncca = '{cca}'\nstack = {{ {stack} }}\n");
        let scenario = Scenario::from_toml(&text, "x.toml", &[]).unwrap();
        let run = match Stack::in_world(world) {
            Some((s, crypto)) => run_with(
                s,
                Settings {
                    crypto,
                    ack_every_pkts: std::env::var("X_ACK").ok().map(|v| v.parse().unwrap()),
                    is_unpaced: std::env::var("X_NOPACE").is_ok(),
                    has_tcp_recovery: std::env::var("X_REC").is_ok(),
                },
                &scenario,
                seed,
                &|_| true,
            )
            .unwrap()
            .unwrap(),
            None => cwnd_engine::run(&scenario, seed, &|_| None, &cwnd_engine::Control::default()).unwrap(),
        };
        let f = &run.flows[0];
        sums.push([
            f.goodput_mbps,
            f.mean_cwnd_pkts,
            f.lost_pkts as f64,
            f.retransmitted_pkts as f64,
            f.mean_rtt_ms.unwrap_or(0.0),
            f.sent_pkts as f64,
        ]);
    }
    let n = seeds as f64;
    print!("{world:5} {cca:12} {path} [{stack}]");
    for (i, name) in ["goodput", "cwnd", "lost", "retx", "rtt", "sent"].iter().enumerate() {
        let mean = sums.iter().map(|r| r[i]).sum::<f64>() / n;
        let var = sums.iter().map(|r| (r[i] - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        print!("  {name} {mean:.3}±{:.3}", 1.96 * (var / n).sqrt());
    }
    println!();
}
