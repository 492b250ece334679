//! The profile `ns2` against ns-2.35 itself and against the experiment of the Elastic-TCP paper, made with it.

use crate::common::{Hook, answer, times_us, watch};
use cwnd_algorithms::Event;
use cwnd_results::FlowResult;
use rayon::prelude::*;

/// The rows of a table with `columns` columns; comments and the line of names left out.
fn rows<const COLUMNS: usize>(table: &str) -> Vec<[&str; COLUMNS]> {
    let lines = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| line.split(',').collect::<Vec<_>>().try_into().expect("as many columns")).collect()
}

fn number(text: &str) -> f64 {
    text.parse().expect("a number")
}

/// How far `ours` is off, as a share of `theirs`.
fn off(ours: f64, theirs: f64) -> f64 {
    ours / theirs - 1.0
}

/// One line for each row that `check` finds fault with; the rows run side by side.
fn faults<const COLUMNS: usize>(
    table: &str,
    check: impl Fn([&str; COLUMNS]) -> (String, bool) + Sync + Send,
) -> Vec<String> {
    let judged: Vec<_> = rows(table).into_par_iter().map(check).collect();
    judged.iter().for_each(|(line, _)| println!("{line}"));
    judged.into_iter().filter(|(_, good)| !good).map(|(line, _)| line).collect()
}

/// They start at once and share 1 Gbps.
fn four_flows(cca: &str, buffer: &str, access_buffer: u32) -> String {
    format!(
        r#"
        duration = "100 s"
        samples = "off"
        stack = "ns2"
        clock = "ns2"
        [dumbbell]
        rate = "1 Gbps"
        delay = "100 ms"
        buffer = {buffer}
        access = {{ rate = "1 Gbps", delay = "1 ms", buffer = {access_buffer} }}
        [[flows]]
        cca = "{cca}"
        count = 4
        "#
    )
}

/// Within 5 %, or within what ns-2 itself gives when starts move by less than a millisecond.
#[test]
#[ignore = "slow"]
fn four_flows_reach_the_goodput_that_they_have_in_ns2() {
    let faults = faults(include_str!("ns2.csv"), |[cca, buffer, goodput, low, high]| {
        let run = answer(&four_flows(cca, buffer, 50));
        let ours: f64 = run.flows.iter().map(|flow| flow.goodput_mbps).sum();
        let off = off(ours, number(goodput));
        let in_band = (number(low)..=number(high)).contains(&ours);
        let line = format!(
            "{cca} {buffer}: {ours:.2} Mbps, ns-2 {goodput} ({low} to {high}), {:+.2} %",
            100.0 * off
        );
        (line, off.abs() < 0.05 || in_band)
    });
    assert!(faults.is_empty(), "{faults:#?}");
}

/// ndatapack_ and nrexmitpack_ of each agent after 100 s, some of its repairs lost again. Elastic's module: growth of
/// floor(1000 sqrt(RTTmax / RTT cwnd) / cwnd) thousandths for each ACK, the fraction cleared at a loss, RTTmax of slow
/// start and avoidance, ssthresh = 0.9 cwnd - 1 and min_cwnd one more.
#[test]
fn four_flows_send_and_repair_as_many_packets_as_in_ns2() {
    let counts = |toml: String| -> Vec<_> {
        answer(&toml).flows.iter().map(|flow| (flow.sent_pkts, flow.retransmitted_pkts)).collect()
    };
    let elastic = r#"{ name = "elastic", variant = "authors" }"#;
    let together = four_flows("reno", "50", 128).replace(r#""reno""#, elastic);
    assert_eq!(counts(together), [(189_348, 842), (219_779, 794), (417_779, 579), (727_592, 257)]);
    let in_turn = "\nstagger = '5 s'\nstop = '100 s'\nstop_stagger = '5 s'\n";
    let in_turn = four_flows("compound", "200", 128) + in_turn;
    assert_eq!(counts(in_turn), [(2_058_443, 608), (878_087, 353), (1_519_450, 500), (546_205, 619)]);
}

/// Mbps of wire bytes, percent of the packets sent that had not arrived, Jain's index: Table 3 of "Comparative study of
/// high-speed Linux TCP variants over high-BDP networks" (Alrshah et al., 2014), as printed.
#[test]
#[ignore = "slow"]
fn cells_of_the_comparisons_table_3_come_out_to_the_digit() {
    let table = "cca,buffer,throughput,missing,jain
        htcp,100,149.44,0.07,0.97
        reno,100,69.69,0.01,1.00
        scalable,1000,794.60,0.35,0.69
        yeah,250,638.62,0.17,0.98";
    let faults = faults(table, |[cca, buffer, throughput, missing, jain]| {
        let toml = four_flows(cca.trim(), buffer, 25).replacen("100 s", "150 s", 1);
        let run = answer(&format!("end = 'last-arrival'\n{toml}"));
        let of = |metric: fn(&FlowResult) -> f64| run.flows.iter().map(metric).sum::<f64>();
        let ours = of(|flow| flow.throughput_mbps);
        let arrived = of(|flow| flow.delivered_pkts as f64) / of(|flow| flow.sent_pkts as f64);
        let squares = of(|flow| flow.throughput_mbps * flow.throughput_mbps);
        let cell = [ours, 100.0 * (1.0 - arrived), ours * ours / (4.0 * squares)].map(|x| format!("{x:.2}"));
        (format!("{cca} {buffer}: {cell:?}"), cell == [throughput, missing, jain])
    });
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The first loss, what it leaves, and the growth after it.
#[test]
#[ignore = "slow"]
fn the_window_of_a_single_flow_is_that_of_ns2() {
    let table = rows::<3>(include_str!("ns2-single.csv"));
    let mut ccas: Vec<_> = table.iter().map(|row| row[0]).collect();
    ccas.dedup();
    let faults: Vec<_> = ccas
        .into_par_iter()
        .flat_map_iter(|cca| {
            let samples = answer(&elastic_paper(cca, "5000", "100 ms")).flow_samples;
            table.iter().filter(move |row| row[0] == cca).filter_map(move |[_, time, cwnd]| {
                let i =
                    samples.time_s.iter().position(|&t| (t - number(time)).abs() < 0.001).expect("a sample");
                let ours = f64::from(samples.cwnd_pkts[i]);
                let wrong = off(ours, number(cwnd)).abs() >= 0.01;
                wrong.then(|| format!("{cca} at {time} s: {ours}, ns-2 {cwnd}"))
            })
        })
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// One flow, every queue as long as the bottleneck's.
fn elastic_paper(cca: &str, buffer: &str, samples: &str) -> String {
    let cca = match cca {
        "elastic" => r#"{ name = "elastic", variant = "authors" }"#.to_owned(),
        "agile-sd" => r#"{ name = "agile-sd", build = "slow" }"#.to_owned(),
        other => format!("{other:?}"),
    };
    format!(
        r#"
        duration = "100 s"
        samples = "{samples}"
        stack = "ns2"
        [dumbbell]
        rate = "1 Gbps"
        delay = "100 ms"
        buffer = {buffer}
        access = {{ rate = "1 Gbps", delay = "1 ms", buffer = {buffer} }}
        [[flows]]
        cca = {cca}
        "#
    )
}

#[test]
#[ignore = "slow"]
fn a_single_flow_has_the_throughput_and_the_losses_of_the_elastic_paper() {
    let faults = faults(include_str!("elastic-paper.csv"), |[cca, buffer, throughput, loss]| {
        let flow = &answer(&elastic_paper(cca, buffer, "off")).flows[0];
        let loss_percent = 100.0 * flow.retransmitted_pkts as f64 / flow.delivered_pkts as f64;
        let throughput_off = off(flow.throughput_mbps, number(throughput));
        let loss_off = off(loss_percent, number(loss));
        let line = format!(
            "{cca} {buffer}: {:.2} Mbps, published {throughput}, {:+.2} %; loss {loss_percent:.6} %, published {loss}, {:+.2} %",
            flow.throughput_mbps,
            100.0 * throughput_off,
            100.0 * loss_off
        );
        (line, throughput_off.abs() < 0.02 && loss_off.abs() < 0.05)
    });
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Fig. 7a: the first loss, then epochs that repeat.
#[test]
fn elastic_rises_and_falls_as_in_the_elastic_paper() {
    let samples = answer(&elastic_paper("elastic", "6400", "change")).flow_samples;
    // (time, the window before, the window after) of each reduction.
    let falls: Vec<_> = (1..samples.time_s.len())
        .filter(|&i| samples.cwnd_pkts[i] < samples.cwnd_pkts[i - 1])
        .map(|i| (samples.time_s[i], f64::from(samples.cwnd_pkts[i - 1]), f64::from(samples.cwnd_pkts[i])))
        .collect();
    println!("{falls:?}");
    for (name, (_, peak, trough), published) in
        [("first", falls[0], (29180.0, 26258.0)), ("later", falls[5], (30846.0, 27758.0))]
    {
        assert!(off(peak, published.0).abs() < 0.01, "{name} peak {peak}, published {}", published.0);
        assert!(off(trough, published.1).abs() < 0.01, "{name} trough {trough}, published {}", published.1);
    }
    for pair in falls[1..].windows(2) {
        let epoch_s = pair[1].0 - pair[0].0;
        assert!(off(epoch_s, 5.23).abs() < 0.01, "epoch {epoch_s} s, published 5.23");
    }
}

/// 404 Mbit/s in Fig. 12a of the Elastic-TCP paper; by whole nanoseconds other packets are lost, and it is 601.
#[test]
fn four_flows_lose_as_many_packets_as_in_ns2_where_its_rounding_decides_ties() {
    let run = answer(&four_flows("cubic", "200", 128));
    let dropped: u64 = run.links.iter().map(|link| link.dropped_pkts).sum();
    let throughput_mbps: f64 = run.flows.iter().map(|flow| flow.throughput_mbps).sum();
    assert_eq!((dropped, throughput_mbps.round()), (287, 404.0));
}

/// Counts that ns-2 reports after 8 s with a slow start that overruns the buffer and the recoveries from it. Until then each
/// packet comes to the bottleneck in the order of its trace.
#[test]
fn four_flows_send_and_retransmit_as_often_as_in_ns2() {
    for (cca, sent, retransmitted) in [
        ("reno", 28_079, 492),
        ("htcp", 54_074, 513),
        ("illinois", 30_812, 492),
        ("bic", 36_889, 526),
        ("cubic", 36_882, 526),
    ] {
        let flows = answer(&four_flows(cca, "250", 25).replace("100 s", "8 s")).flows;
        let sum = |count: fn(&FlowResult) -> u64| flows.iter().map(count).sum::<u64>();
        let ours = (sum(|flow| flow.sent_pkts), sum(|flow| flow.retransmitted_pkts));
        assert_eq!(ours, (sent, retransmitted), "{cca}");
    }
}

/// A path of 4 ms, whose queues of 500 packets slow start overruns by more than a cut takes back: retransmissions are lost,
/// and the window is sent again and again. Within two packets, for the SYN counts as one, and what leaves at the end.
#[test]
fn one_flow_that_sends_its_window_again_and_again_does_it_as_in_ns2() {
    for (cca, sent, dropped) in [("cubic", 1_264_056, 76_985), ("bic", 1_264_931, 77_844)] {
        let run = answer(&format!(
            r#"
            duration = "10 s"
            samples = "off"
            stack = "ns2"
            clock = "ns2"
            [dumbbell]
            rate = "1 Gbps"
            delay = "2 ms"
            buffer = 500
            access = {{ rate = "1 Gbps", buffer = 500 }}
            [[flows]]
            cca = "{cca}"
            packet = "1000 bytes"
            "#
        ));
        assert_eq!(run.flows[0].lost_pkts, dropped, "{cca}");
        assert!(run.packets.abs_diff(sent) <= 2, "{cca}: {}", run.packets);
    }
}

/// Goodput, ndatapack_ and nrexmitpack_ of all agents together. Half of the window after each loss would give 39.0 Mbps
/// in the second row, and timeouts by nanoseconds 25,646 and 1847 packets in the last.
#[test]
fn flows_through_short_queues_send_and_repair_as_many_packets_as_in_ns2() {
    let table = "cca,flows,rate,delay,buffer,duration,goodput,sent,repaired
        westwood,1,50,5,8,20,45.645,114319,115
        westwood,2,50,5,8,20,46.028,115548,358
        westwood,3,20,20,15,20,18.285,46018,186
        westwood,1,100,40,50,30,26.489,99857,64
        cubic,4,10,2,5,20,9.513,25649,1846";
    let faults = faults(table, |[cca, flows, rate, delay, buffer, duration, goodput, sent, repaired]| {
        let run = answer(&format!(
            r#"
                duration = "{duration} s"
                samples = "off"
                stack = "ns2"
                clock = "ns2"
                [dumbbell]
                rate = "{rate} Mbps"
                delay = "{delay} ms"
                buffer = {buffer}
                access = {{ rate = "1 Gbps", delay = "1 ms" }}
                [[flows]]
                cca = "{}"
                count = {flows}
                "#,
            cca.trim()
        ));
        let sum = |count: fn(&FlowResult) -> u64| run.flows.iter().map(count).sum::<u64>();
        let counts = [sum(|flow| flow.sent_pkts), sum(|flow| flow.retransmitted_pkts)];
        let ours: f64 = run.flows.iter().map(|flow| flow.goodput_mbps).sum();
        let good = counts.map(|count| count.to_string()) == [sent, repaired];
        let close = off(ours, number(goodput)).abs() < 0.005;
        (format!("{cca} {flows} {buffer}: {ours:.2}, {counts:?}"), good && close)
    });
    assert!(faults.is_empty(), "{faults:#?}");
}

/// In a path of 200 ms, whose queue the first flow's slow start fills, ACKs of the others come later than ns-2's timer
/// expects. Were it never closer to the smoothed RTT than minrto_, they would not time out: 14.7 Mbps.
#[test]
fn vegas_times_out_when_rtts_grow_as_in_ns2() {
    let run = answer(
        r#"
        duration = "15 s"
        samples = "off"
        stack = "ns2"
        clock = "ns2"
        [dumbbell]
        rate = "20 Mbps"
        delay = "100 ms"
        buffer = 500
        access = { rate = "1 Gbps", delay = "1 ms", buffer = 25 }
        [[flows]]
        cca = "vegas"
        packet = "500 bytes"
        count = 5
        "#,
    );
    let counts: Vec<_> = run.flows.iter().map(|flow| (flow.sent_pkts, flow.retransmitted_pkts)).collect();
    let sums = counts.iter().fold((0, 0), |sum, flow| (sum.0 + flow.0, sum.1 + flow.1));
    assert_eq!(sums, (45_594, 1131), "{counts:?}");
}

/// A slow start that overruns the queue by thousands of segments, timeouts of repairs, and repairs lost again after them.
#[test]
fn four_flows_of_hybla_repair_what_their_slow_start_loses_as_in_ns2() {
    let flows = answer(&four_flows("hybla", "500", 50).replace("100 s", "8 s")).flows;
    let sum = |count: fn(&FlowResult) -> u64| flows.iter().map(count).sum::<u64>();
    assert_eq!((sum(|flow| flow.sent_pkts), sum(|flow| flow.retransmitted_pkts)), (209_001, 86_150));
}

/// A SYN of 40 bytes is lost, and the segment behind it arrives, of 1050: its ACK of 40 bytes comes 101.13 ms after the start. In
/// ns-2.35 the timer then waits for 101 + 4 * 50.5 ms, whenever the flow starts.
#[test]
fn a_first_ack_that_moves_nothing_gives_the_timer_the_rtt_of_its_segment() {
    for start_s in [0, 1, 10] {
        let (_, seen) = watch(&format!(
            "duration = '12 s'\nsamples = 'off'\nstack = 'ns2'\n[[chain]]\nrate = '8 Mbps'\ndelay = '50 ms'\nbuffer = 100\n\
             losses = [1]\n[[flows]]\ncca = 'reno'\nsize = '1000 bytes'\npacket = 1000\nstart = '{start_s} s'\n"
        ));
        let timeouts_us = times_us(&seen, Hook::Event(Event::Rto));
        assert_eq!(timeouts_us, [start_s * 1_000_000 + 101_130 + 303_000], "{start_s} s");
    }
}

/// Segments that others overtake look lost to ns-2's sender. Those sent again arrive twice, and the ACKs of these report nothing
/// new. In ns-2.35, 24 such ACKs in a row leave a window of 13 at which 13 ACKs are a segment.
#[test]
fn an_ack_that_reports_nothing_new_grows_no_window() {
    for seed in [17, 25, 30, 43, 44, 46] {
        let (_, seen) = watch(&format!(
            "duration = '2 s'\nsamples = 'off'\nseed = {seed}\n[[chain]]\nrate = '18248 kbps'\ndelay = '20 ms'\n\
             buffer = '53303 bytes'\njitter = {{ std = '4017 us', reorder = true }}\n\
             [[flows]]\ncca = 'reno'\nstack = {{ profile = 'ns2', restart_at_half_ssthresh = false }}\n"
        ));
        let mut grown = seen.iter().filter(|seen| seen.hook == Hook::Grow);
        assert!(grown.all(|seen| seen.ack.acked > 0), "seed {seed}");
    }
}
