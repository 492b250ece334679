//! The quantiles over the transfers of many flows.

use cwnd_results::{FlowResult, Transfers};

#[test]
fn each_flow_with_a_transfer_has_the_quantiles_of_those_that_count_and_no_other_has() {
    const FLOWS: u32 = 100_000;
    let mut flows = vec![FlowResult::default(); FLOWS as usize];
    (0..).zip(&mut flows).for_each(|(number, flow)| flow.flow = number);
    // Every fifth flow has one of 1 to 20,000 ms, which 7919 scrambles; every tenth begins in the warmup; four do not end.
    let mut transfers = Transfers::default();
    for k in 0..FLOWS / 5 {
        transfers.flow.push(5 * (k * 7919 % (FLOWS / 5)));
        transfers.start_s.push(if k % 10 == 9 { 0.5 } else { 2.0 });
        transfers.size_bytes.push(1000);
        transfers.fct_ms.push(if k < 4 { f64::NAN } else { f64::from(k + 1) });
        transfers.slowdown.push(if k < 4 { f64::NAN } else { f64::from(2 * (k + 1)) });
        transfers.retransmitted_pkts.push(0);
    }
    transfers.set_quantiles(&mut flows, 1_000_000_000);
    // 5 to 19,999 without the multiples of ten: 17,996 values, of which the 8998th is 10,002.
    let counted: Vec<u32> = (5..FLOWS / 5).filter(|value| value % 10 != 0).collect();
    let at = |share: f64| f64::from(counted[(share * counted.len() as f64).ceil() as usize - 1]);
    assert_eq!((counted.len(), at(0.5)), (17_996, 10_002.0));
    for flow in &flows {
        let has = flow.flow % 5 == 0;
        assert_eq!(flow.fct_p50_ms, has.then(|| at(0.5)));
        assert_eq!(flow.fct_p95_ms, has.then(|| at(0.95)));
        assert_eq!(flow.fct_p99_ms, has.then(|| at(0.99)));
        assert_eq!(flow.slowdown_p50, has.then(|| 2.0 * at(0.5)));
        assert_eq!(flow.slowdown_p99, has.then(|| 2.0 * at(0.99)));
    }
}
