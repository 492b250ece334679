mod common;
#[test]
fn zz() {
    let text = std::fs::read_to_string(std::env::var("ZZ").unwrap()).unwrap();
    let (_, seen) = common::watch(&text);
    for s in &seen {
        if s.hook == common::Hook::Acked { continue; }
        println!("W {:.4} {:?} cwnd {} ssth {} delivered {} acked {} prior {} infl {} state {} flags {}", s.ack.now_us as f64/1e6, s.hook, s.window.cwnd, s.window.ssthresh, s.ack.delivered, s.ack.acked, s.ack.prior_in_flight, s.ack.in_flight, s.ack.state, s.ack.flags);
    }
}
