//! Which links count in parts of a nanosecond.

use cwnd_scenario::Scenario;

/// How many flows cross each link; one with arrivals counts as two.
pub fn count_users(scenario: &Scenario) -> Vec<u32> {
    let mut users = vec![0; scenario.links.len()];
    for flow in &scenario.flows {
        for &link in flow.path.iter().chain(&flow.reverse_path) {
            users[link as usize] += 1 + u32::from(flow.arrivals().is_some());
        }
    }
    users
}

/// Returns for each link whether nanoseconds are too coarse for it. They suffice if the rounded time to send a packet is at most
/// 0.1 % too long, and not too short. It may be up to 0.1 % too short, too, where one flow alone uses the link and a slower
/// link sets its pace, or where links add up seconds: then the rounded times only count how long the link was busy.
pub fn finer_links(scenario: &Scenario) -> Vec<bool> {
    let users = count_users(scenario);
    let mut finer = vec![false; scenario.links.len()];
    for flow in &scenario.flows {
        let rate_bps = |index: &u32| scenario.links[*index as usize].rate_bps;
        let slowest_bps = flow.path.iter().map(rate_bps).min();
        for &index in &flow.path {
            let link = &scenario.links[index as usize];
            let paced = users[index as usize] == 1 && Some(link.rate_bps) > slowest_bps;
            let bit_ns = u128::from(flow.packet_bytes()) * 8_000_000_000;
            let rounded = u128::from(link.sending_ns(flow.packet_bytes())) * u128::from(link.rate_bps);
            let slow_enough = rounded >= bit_ns || paced || scenario.clock.adds_up_seconds();
            finer[index as usize] |= !slow_enough || 1000 * rounded.abs_diff(bit_ns) > bit_ns;
        }
    }
    finer
}
