//! Refuses scenarios that ask for what a kernel in virtual time does not support.

use crate::Error;
use crate::way::overhead_bytes;
use cwnd_scenario::{Clock, Ecn, End, Flow, JitterDistribution, Link, Queue, Samples, Scenario, Size};
use serde_json::Value;

const FLOWS_MAX: usize = 250;
/// Ranges of numbers and spans of time that a program at a wire compares with, one after another.
const MEMBERS_MAX: usize = 2000;

/// One line with the key, what it has, and what would do.
pub fn check(scenario: &Scenario) -> Result<(), Error> {
    let refuse = |key: &str, found: &str, accepted: &str| {
        Err(Error::Unsupported(format!("{key}: {found} is not supported --on linux; accepted: {accepted}")))
    };
    scenario.check_algorithms()?;
    if scenario.clock != Clock::Nanoseconds {
        return refuse("clock", "ns-2's clock", "nanoseconds");
    }
    if scenario.end != End::Duration {
        return refuse("end", "'last-arrival'", "duration");
    }
    if scenario.samples == Samples::Change {
        return refuse("samples", "'change'", "a number, an interval or off");
    }
    if scenario.flows.len() > FLOWS_MAX {
        return refuse("flows", &format!("{} flows", scenario.flows.len()), &format!("at most {FLOWS_MAX}"));
    }
    for link in &scenario.links {
        check_link(link).map_err(|line| Error::Unsupported(format!("link '{}': {line}", link.name)))?;
    }
    scenario.flows.iter().enumerate().try_for_each(|(i, flow)| {
        check_flow(flow).map_err(|line| Error::Unsupported(format!("flow {i}: {line}")))?;
        let managed = |&link: &u32| scenario.links[link as usize].queue.is_some();
        if overhead_bytes(flow) < 0 && flow.path.iter().any(managed) {
            let line = format!(
                "stack.header_bytes: {} is not supported --on linux behind a managed queue; accepted: {} or more",
                flow.stack.header_bytes,
                flow.stack.header_bytes as i32 - overhead_bytes(flow)
            );
            return Err(Error::Unsupported(format!("flow {i}: {line}")));
        }
        Ok(())
    })
}

fn check_link(link: &Link) -> Result<(), String> {
    let refuse =
        |key: &str, accepted: &str| Err(format!("{key} is not supported --on linux; accepted: {accepted}"));
    if let Some(variation) = &link.variation {
        let varying = [
            (variation.rate.is_some(), "rate that varies"),
            (variation.policer.is_some(), "policer"),
            (!variation.suspension_ns.is_empty(), "suspension"),
            (variation.aggregation.is_some(), "aggregation"),
        ];
        let key = varying.into_iter().find_map(|(has, key)| has.then_some(key));
        return refuse(key.unwrap_or("delay that varies"), "a rate and a delay that stay, and no policer");
    }
    if let Some(impairments) = &link.impairments {
        for (key, set) in [("losses", &impairments.losses), ("marks", &impairments.marks)] {
            let members = set.as_ref().map_or(0, |set| set.numbers.len() + set.spans_ns.len());
            if members > MEMBERS_MAX {
                return refuse(&format!("{key} of {members} members"), &format!("at most {MEMBERS_MAX}"));
            }
        }
        if impairments.duplicate > 0.0 {
            return refuse("duplicate", "per, loss, reorder, and jitter with uniform");
        }
        let distribution = impairments.jitter.map(|jitter| jitter.distribution);
        if matches!(distribution, Some(JitterDistribution::Normal { .. })) {
            return refuse("jitter with std", "jitter = { uniform = … }");
        }
        if link.per > 0.0 && impairments.gilbert_elliott.is_some() {
            return refuse("per and loss at once", "one of them");
        }
    }
    if link.ecn_threshold_pkts.is_some() || link.ecn_wait_ns.is_some() {
        return refuse("ecn_threshold", "queue = red, codel, fq-codel or pie with ecn");
    }
    match &link.queue {
        Some(Queue::DualPi2(_)) => refuse("queue: dualpi2", "droptail, red, codel, fq-codel, pie"),
        Some(Queue::Red(red)) if red.gentle => {
            refuse("queue: red with gentle", "queue = { discipline = 'red', variant = 'linux' }")
        }
        _ => Ok(()),
    }
}

fn check_flow(flow: &Flow) -> Result<(), String> {
    let refuse =
        |key: &str, accepted: &str| Err(format!("{key} is not supported --on linux; accepted: {accepted}"));
    if flow.cca.is_udp() {
        return refuse("cca: udp", "a congestion control algorithm");
    }
    if flow.on_off_ns.is_some() {
        return refuse("on and off", "an application without pauses");
    }
    if let Some(traffic) = &flow.traffic {
        let is_one = traffic.arrivals.is_none() && traffic.requests.is_none();
        let is_fixed = matches!(traffic.size, Some(Size::Fixed { .. }));
        if !is_one || !is_fixed || traffic.mean_on_off_ns.is_some() || traffic.frames_per_s.is_some() {
            return refuse(
                "arrivals, requests, pauses, frames or a distribution of sizes",
                "one transfer of a size",
            );
        }
    }
    if matches!(flow.stack.ecn, Ecn::Accurate | Ecn::L4s) {
        return refuse("stack.ecn: accurate or l4s", "off or classic");
    }
    let needs_ecn = flow.cca.resolve().is_ok_and(|(algorithm, _)| cwnd_kernel::needs_ecn(&algorithm));
    if needs_ecn && flow.stack.ecn == Ecn::Classic {
        return refuse(&format!("stack.ecn: classic with {}", flow.cca.algorithm), "off or dctcp");
    }
    if !matches!(flow.stack.ack_every_pkts, 1 | 2) {
        return refuse("stack.ack_every", "1 or 2");
    }
    check_stack(flow)
}

/// Settings of a stack that a plan can have in another way than Linux has them by itself.
const SETTINGS: [&str; 14] = [
    "profile",
    "header_bytes",
    "ack_bytes",
    "initial_window_pkts",
    "initial_ssthresh_pkts",
    "ack_every_pkts",
    "quick_acks_pkts",
    "min_rto_ns",
    "timestamps",
    "idle_restart",
    "receive_window_pkts",
    "ecn",
    "pacing",
    "handshake",
];

fn check_stack(flow: &Flow) -> Result<(), String> {
    let text = "[dumbbell]\nrate = \"1 Mbps\"\ndelay = \"1 ms\"\nbuffer = 9\n[[flows]]\ncca = \"cubic\"\n";
    let linux = Scenario::from_toml(text, "defaults", &[]).expect("a scenario");
    let settings = |flow: &Flow| match serde_json::to_value(&flow.stack).expect("a stack is JSON") {
        Value::Object(settings) => settings,
        _ => unreachable!("a stack has settings"),
    };
    let defaults = settings(&linux.flows[0]);
    for (key, value) in settings(flow) {
        let default = defaults.get(&key).unwrap_or(&Value::Null);
        if value != *default && !SETTINGS.contains(&key.as_str()) {
            let accepted = if default.is_null() { "none".to_owned() } else { default.to_string() };
            return Err(format!("stack.{key}: {value} is not supported --on linux; accepted: {accepted}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(extra: &str, flow: &str) -> Scenario {
        let text = format!(
            "duration = \"10 s\"\n[dumbbell]\nrate = \"10 Mbps\"\ndelay = \"10 ms\"\nbuffer = 100\n{extra}\n\
             [[flows]]\ncca = \"cubic\"\n{flow}\n"
        );
        Scenario::from_toml(&text, "test.toml", &[]).unwrap()
    }

    #[test]
    fn a_plain_dumbbell_can_be_had() {
        check(&read("", "")).unwrap();
    }

    #[test]
    fn a_wire_that_reorders_can_be_had() {
        for link in ["reorder = 0.1", "jitter = { uniform = \"1 ms\", reorder = true }"] {
            check(&read(link, "")).unwrap();
        }
    }

    #[test]
    fn given_losses_and_marks_can_be_had_up_to_a_number() {
        check(&read("losses = [3, [5, 9], [\"1 s\", \"2 s\"]]\nmarks = [4]", "")).unwrap();
        let many = |count: u32| (1..=count).map(|k| (2 * k).to_string()).collect::<Vec<_>>().join(", ");
        check(&read(&format!("losses = [{}]", many(2000)), "")).unwrap();
        let line = check(&read(&format!("marks = [{}]", many(2001)), "")).unwrap_err().to_string();
        assert_eq!(
            line,
            "link 'bottleneck': marks of 2001 members is not supported --on linux; accepted: at most 2000"
        );
    }

    #[test]
    fn what_the_world_lacks_is_refused_by_its_key() {
        let cases = [
            ("queue = \"dualpi2\"", "", "link 'bottleneck': queue: dualpi2"),
            ("jitter = { std = \"1 ms\" }", "", "jitter with std"),
            ("duplicate = 0.01", "", "duplicate"),
            ("suspension = [[\"1 s\", \"2 s\"]]", "", "link 'bottleneck': suspension"),
            ("aggregation = { every = \"5 ms\", most = 32 }", "", "link 'bottleneck': aggregation"),
            ("policer = { rate = \"5 Mbps\", burst = \"64 KiB\" }", "", "policer"),
            ("", "stack = { recovery = \"newreno\" }", "stack.recovery: \"newreno\""),
            ("", "stack = { ecn = \"accurate\" }", "stack.ecn"),
            (
                "",
                "stack = { ecn = true }\n[[flows]]\ncca = \"dctcp\"\nstack = { ecn = true }",
                "flow 1: stack.ecn: classic",
            ),
            ("", "stack = { rate_limited = \"draft\" }", "stack.rate_limited: \"draft\""),
            ("", "size = \"1 MB\"\narrivals = { process = \"poisson\", rate = 2 }", "arrivals"),
        ];
        for (link, flow, words) in cases {
            let line = check(&read(link, flow)).unwrap_err().to_string();
            assert!(line.contains(words), "{line}");
            assert!(line.contains("--on linux; accepted: "), "{line}");
        }
    }
}
