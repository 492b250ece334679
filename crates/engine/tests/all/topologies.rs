//! Links by name, parking lots, and buffers in bytes and time, run.

use crate::common::{answer, answer_by_events, answer_scenario, read};

fn lot(queue: &str, cca: &str) -> Vec<f64> {
    let run = answer(&format!(
        "duration = '200 s'\nwarmup = '20 s'\nsamples = 'off'\nstack = {{ sack_delay = '0 s' }}\n[parking_lot]\nhops = 3\nrate = '20 Mbps'\ndelay = '5 ms'\nbuffer = '2 BDP'\n\
         queue = '{queue}'\naccess = {{ rate = '1 Gbps', delay = '1 ms' }}\n[[flows]]\ncca = '{cca}'\n\
         [[flows]]\ncca = '{cca}'\nover = 1\naccess_delay = '6 ms'\n[[flows]]\ncca = '{cca}'\nover = 2\naccess_delay = '6 ms'\n\
         [[flows]]\ncca = '{cca}'\nover = 3\naccess_delay = '6 ms'\n"
    ));
    run.flows.iter().map(|flow| flow.throughput_mbps).collect()
}

#[test]
fn the_long_flow_of_a_parking_lot_gets_what_fairness_of_some_kind_gives_it() {
    // Queues that are fair to flows make it max-min fair: half of each hop.
    let shares = lot("fq-codel", "cubic");
    assert!(shares.iter().all(|share| (share / 10.0 - 1.0).abs() < 0.03), "{shares:?}");
    // In shared queues it loses at each hop and waits at each: less than the quarter that proportional fairness gives it.
    let shares = lot("droptail", "reno");
    assert!((0.5..5.0).contains(&shares[0]), "{shares:?}");
    assert!(shares[1..].iter().all(|&share| share + shares[0] > 18.0), "the hops are full: {shares:?}");
}

/// Datagrams of 1,500 and 500 bytes arrive 10 ms apart at a link that takes 1.5 s for the first.
fn datagrams(buffer: &str, queue: &str) -> Vec<u64> {
    let sizes = [1500, 500, 1500, 500, 500];
    let flow = |(k, bytes): (usize, i32)| {
        format!(
            "[[flows]]\ncca = 'udp'\napp_rate = '1 kbps'\nstart = '{} ms'\nstop = '{} ms'\npacket = '{} bytes'\n",
            10 * k,
            10 * k + 1,
            bytes - 66
        )
    };
    let flows: String = sizes.into_iter().enumerate().map(flow).collect();
    let run = answer(&format!(
        "duration = '10 s'\n[[chain]]\nrate = '8 kbps'\ndelay = '1 ms'\nbuffer = '{buffer}'\nqueue = '{queue}'\n{flows}"
    ));
    assert_eq!(run.flows.iter().map(|flow| flow.sent_pkts).sum::<u64>(), 5);
    run.flows.iter().map(|flow| flow.delivered_pkts).collect()
}

#[test]
fn a_buffer_in_bytes_has_room_for_what_fits() {
    // Held with the packet being sent: 1500, 2000, 3500 refused, 2500, 3000 refused.
    assert_eq!(datagrams("2500 bytes", "droptail"), [1, 1, 0, 1, 0]);
    assert_eq!(datagrams("2.5 s", "droptail"), [1, 1, 0, 1, 0], "2500 bytes take 2.5 s");
    assert_eq!(datagrams("1999 bytes", "droptail"), [1, 0, 0, 0, 0]);
    assert_eq!(datagrams("5000 bytes", "droptail"), [1, 1, 1, 1, 1]);
    // A discipline counts what waits: 500, 2000, 2500, 3000 refused.
    for queue in ["pie", "fq-codel"] {
        assert_eq!(datagrams("2500 bytes", queue), [1, 1, 1, 1, 0], "{queue}");
    }
}

#[test]
fn a_buffer_in_bytes_of_equal_packets_is_one_in_packets() {
    let run = |buffer: &str| {
        let mut run = answer(&format!(
            "duration = '20 s'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '20 ms'\nbuffer = '{buffer}'\n\
             access = {{ rate = '1 Gbps' }}\n[[flows]]\ncca = 'cubic'\n[[flows]]\ncca = 'reno'\nstart = '1 s'\n"
        ));
        for link in &mut run.links {
            // Sums in another order; every sixteenth packet that arrives, or leaves.
            link.mean_queue_pkts = (link.mean_queue_pkts * 1e6).round();
            link.utilization = (link.utilization * 1e6).round();
            link.p95_queue_ms = None;
        }
        (run.flows, run.links)
    };
    assert_eq!(run("30 packets"), run(&format!("{} bytes", 30 * 1514)));
}

const NETWORK: &str = r#"
duration = "10 s"
samples = "100 ms"
[[links]]
name = "left"
rate = "20 Mbps"
delay = "5 ms"
buffer = "50 ms"
[[links]]
name = "right"
rate = "10 Mbps"
delay = "10 ms"
buffer = "1 BDP"
queue = "codel"
[[links]]
name = "home"
rate = "5 Mbps"
delay = "8 ms"
buffer = 40
[[flows]]
cca = "cubic"
path = ["left", "right"]
reverse_path = ["home"]
[[flows]]
cca = "reno"
path = ["right"]
[[flows]]
cca = "bbr"
path = ["home"]
reverse_path = ["left"]
"#;

#[test]
fn flows_cross_the_links_that_they_name() {
    let scenario = read(NETWORK);
    let run = answer_scenario(&scenario);
    assert_eq!(format!("{run:?}"), format!("{:?}", answer_by_events(&scenario)));
    let mbps: Vec<f64> = run.flows.iter().map(|flow| flow.throughput_mbps).collect();
    assert!(mbps[0] + mbps[1] > 8.5 && mbps[0] + mbps[1] <= 10.0, "they share 'right': {mbps:?}");
    assert!((4.0..5.0).contains(&mbps[2]), "it shares 'home' with ACKs: {mbps:?}");
    let delivered = |name: &str| run.links.iter().find(|link| link.link == name).unwrap().delivered_pkts;
    assert!(delivered("home") > run.flows[2].delivered_pkts, "ACKs are packets there");
}

#[test]
fn a_short_packet_does_not_overtake_a_full_one_on_the_exit() {
    // 1,449 bytes of payload: 1514 and 67 bytes on the wire. Access and exit have 1 Mbps, the link between them 10.
    let text = |exit: &str| {
        format!(
            "duration = '2 s'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '10 ms'\nbuffer = 100\naccess = {{ rate = '{exit}' }}\n\
             [[flows]]\ncca = 'reno'\nsize = '1449 bytes'\n"
        )
    };
    // The full packet arrives after 12.112 + 1.2112 + 10 + 12.112 ms, the short one 0.536 ms behind it, and the ACK takes
    // 0.528 + 0.0528 + 10 + 0.528 ms.
    let fct_ms = |exit| answer(&text(exit)).flows[0].fct_ms.unwrap();
    assert!((fct_ms("1 Mbps") - 47.08).abs() < 1e-6, "{}", fct_ms("1 Mbps"));
    // Behind the link of 10 Mbps the short packet is 0.0536 ms behind the full one, which takes 0.1514 ms at 80 Mbps.
    let way_back_ms = 2.0 * 66.0 * 8.0 / 80e3 + 0.0528 + 10.0;
    let expected_ms = 0.1514 + 1.2112 + 10.0 + 0.1514 + 0.0067 + way_back_ms;
    assert!((fct_ms("80 Mbps") - expected_ms).abs() < 1e-6, "{} {expected_ms}", fct_ms("80 Mbps"));
    // At 800 Mbps the full one is over when the short one comes.
    let expected_ms = 0.01514 + 1.2112 + 10.0 + 0.0536 + 0.00067 + way_back_ms
        - 2.0 * 66.0 * 8.0 * (1.0 / 80e3 - 1.0 / 800e3);
    assert!((fct_ms("800 Mbps") - expected_ms).abs() < 1e-5, "{} {expected_ms}", fct_ms("800 Mbps"));
}

#[test]
fn short_packets_of_frames_and_requests_wait_behind_full_ones_on_the_exit() {
    let run = |flow: &str| {
        answer(&format!(
            "duration = '3 s'\nsamples = 'off'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '10 ms'\nbuffer = 100\n\
             access = {{ rate = '1 Mbps' }}\n[[flows]]\ncca = 'reno'\n{flow}\n"
        ))
    };
    // Each answer of 1449 bytes takes what one alone takes (above).
    let run_of_requests = run("size = '1449 bytes'\nrequests = { count = 20, think = '10 ms' }");
    let fct_ms = &run_of_requests.transfers.fct_ms;
    assert_eq!(fct_ms.len(), 20);
    assert!(fct_ms.iter().all(|ms| (ms - 47.08).abs() < 1e-6), "{fct_ms:?}");
    // A frame of 1500 bytes is packets of 1514 and 118 bytes. The first is acknowledged after 46.544 ms, the second comes behind
    // it on all three links, and takes 0.944 ms on the last.
    let flow = &run("app_rate = '360 kbps'\nframe_rate = 30").flows[0];
    let way_back_ms = 2.0 * 66.0 * 8.0 / 1e3 + 66.0 * 8.0 / 1e4 + 10.0;
    let full_ms = 12.112 + 1.2112 + 10.0 + 12.112 + way_back_ms;
    let mean_rtt_ms = flow.mean_rtt_ms.unwrap();
    assert!((mean_rtt_ms - (full_ms + 0.944 / 2.0)).abs() < 1e-3, "{mean_rtt_ms}");
}
