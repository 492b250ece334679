mod common;
use common::answer;
#[test]
fn zz() {
    let text = std::fs::read_to_string(std::env::var("ZZ").unwrap()).unwrap();
    let run = answer(&text);
    let s = &run.flow_samples;
    for i in 0..s.time_s.len() {
        println!("S {:.3} f{} cwnd {} ssthresh {} inflight {}", s.time_s[i], s.flow[i], s.cwnd_pkts[i], s.ssthresh_pkts[i], s.in_flight_pkts[i]);
    }
    for f in &run.flows { println!("F {} sent {} retr {} lost {} timeouts {} goodput {:.3}", f.flow, f.sent_pkts, f.retransmitted_pkts, f.lost_pkts, f.timeouts, f.goodput_mbps); }
}
