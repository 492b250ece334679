//! Refuses scenarios that ask for what these worlds do not support.

use crate::flow::{datagram_bytes, is_of_stack};
use crate::{Error, Stack};
use cwnd_scenario::{Cca, Clock, Ecn, End, Flow, Handshake, Samples, Scenario, Size, Stack as TcpStack};
use serde_json::Value;
use std::ops::RangeInclusive;

const FLOWS_MAX: usize = 250;
/// Payload of UDP: what every path of QUIC carries (RFC 9000, 14), and what IPv4 carries.
const DATAGRAM_BYTES: RangeInclusive<u32> = 1200..=65_507;

/// Checks that the scenario can run on the stack.
///
/// # Errors
///
/// [`Error::Unsupported`].
pub fn check(stack: Stack, scenario: &Scenario) -> Result<(), Error> {
    let refuse = |key: &str, found: &str, accepted: &str| {
        let name = stack.name();
        Err(Error::Unsupported(format!("{key}: {found} is not supported --on {name}; accepted: {accepted}")))
    };
    scenario.check()?;
    if scenario.clock != Clock::Nanoseconds {
        return refuse("clock", "'ns2'", "'nanoseconds'");
    }
    if scenario.end != End::Duration {
        return refuse("end", "'last-arrival'", "'duration'");
    }
    if scenario.samples == Samples::Change {
        return refuse("samples", "'change'", "a number, an interval or 'off'");
    }
    if scenario.flows.len() > FLOWS_MAX {
        return refuse("flows", &format!("{} flows", scenario.flows.len()), &format!("at most {FLOWS_MAX}"));
    }
    scenario.flows.iter().filter(|flow| is_of_stack(flow)).try_for_each(|flow| {
        if flow.cca.of_stack().is_none() {
            stack.check(&flow.cca).map_err(|line| Error::Unsupported(format!("flows.cca: {line}")))?;
        }
        let refusal = algorithm(stack, &flow.cca).or_else(|| quic_packets(flow));
        let refusal = refusal.or_else(|| traffic(flow)).or_else(|| settings(stack, flow));
        refusal.map_or(Ok(()), |Refusal { key, found, accepted }| refuse(&key, &found, &accepted))
    })
}

struct Refusal {
    key: String,
    found: String,
    accepted: String,
}

fn refusal(key: &str, found: impl Into<String>, accepted: impl Into<String>) -> Option<Refusal> {
    Some(Refusal { key: key.to_owned(), found: found.into(), accepted: accepted.into() })
}

fn algorithm(stack: Stack, cca: &Cca) -> Option<Refusal> {
    let own = || Cca::OF_STACKS.into_iter().filter(|name| name.split(':').next() == Some(stack.name()));
    let accepted = || {
        format!(
            "an algorithm of 'cwnd algorithms', tcp:cubic and the like, {}",
            own().collect::<Vec<_>>().join(", ")
        )
    };
    match cca.of_stack() {
        Some((of, _)) if of == stack.name() => None,
        Some(_) => refusal("flows.cca", format!("'{}'", cca.name), accepted()),
        None => None,
    }
}

fn quic_packets(flow: &Flow) -> Option<Refusal> {
    if !DATAGRAM_BYTES.contains(&datagram_bytes(flow)) {
        let payload =
            |datagram| datagram + flow.packet_bytes() - datagram_bytes(flow) - flow.stack.header_bytes;
        let (least, most) = (payload(*DATAGRAM_BYTES.start()), payload(*DATAGRAM_BYTES.end()));
        return refusal(
            "flows.packet",
            format!("{} bytes", flow.payload_bytes),
            format!("{least} to {most} bytes"),
        );
    }
    None
}

fn traffic(flow: &Flow) -> Option<Refusal> {
    const PAUSES: &str = "bulk data or one transfer of a size";
    if flow.app_rate_bps.is_some() {
        return refusal("flows.app_rate", "an application with a rate", PAUSES);
    }
    if flow.on_off_ns.is_some() {
        return refusal("flows.on", "an application that pauses", PAUSES);
    }
    let traffic = flow.traffic.as_deref()?;
    if !matches!(traffic.size, None | Some(Size::Fixed { .. })) {
        return refusal("flows.size", "a distribution", "a fixed size");
    }
    if traffic.arrivals.is_some() || traffic.requests.is_some() {
        return refusal("flows.arrivals", "more than one transfer of a flow", "one");
    }
    if traffic.mean_on_off_ns.is_some() || traffic.frames_per_s.is_some() {
        return refusal("flows.on", "an application that pauses", PAUSES);
    }
    None
}

/// Settings of a stack of TCP that can be had in another way than the profile `linux` has them. QUIC reports no one-way delays:
/// an algorithm that measures them is refused, and another does not look at them.
const SETTINGS: [&str; 5] = ["header_bytes", "ack_bytes", "ecn", "handshake", "one_way_delays"];

fn settings(stack: Stack, flow: &Flow) -> Option<Refusal> {
    // As algorithms that count marks ask for it; those of the stack itself react to each as to a loss.
    let counts = stack.adapter().counts_marks() && flow.cca.of_stack().is_none();
    let has_kind = match flow.stack.ecn {
        Ecn::Off | Ecn::Classic => true,
        Ecn::Dctcp => counts,
        Ecn::Accurate | Ecn::L4s => false,
    };
    if !has_kind {
        let accepted = if counts { "'off', 'classic' or 'dctcp'" } else { "'off' or 'classic'" };
        return refusal("flows.stack.ecn", "another kind than QUIC's", accepted);
    }
    if flow.stack.handshake == Handshake::Overlapped {
        return refusal("flows.stack.handshake", "'overlapped'", "'first'");
    }
    let text = "[dumbbell]\nrate = '1 Mbps'\ndelay = '1 ms'\nbuffer = 9\n[[flows]]\ncca = 'cubic'";
    let linux = Scenario::from_toml(text, "defaults", &[]).ok()?;
    let (asked, defaults) = (values(&flow.stack), values(&linux.flows[0].stack));
    let differs = asked.as_object()?.iter().find(|(key, value)| {
        !SETTINGS.contains(&key.as_str()) && defaults.get(key.as_str()).unwrap_or(&Value::Null) != *value
    });
    let (key, value) = differs?;
    let default = defaults.get(key.as_str()).unwrap_or(&Value::Null);
    let default = if default.is_null() { "none".to_owned() } else { default.to_string() };
    refusal(
        &format!("flows.stack.{key}"),
        value.to_string(),
        format!("{default}, for which the stack's own stands"),
    )
}

fn values(stack: &TcpStack) -> Value {
    serde_json::to_value(stack).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(more: &str, flow: &str) -> Result<(), String> {
        answer_on(Stack::Quinn, more, flow)
    }

    fn answer_on(stack: Stack, more: &str, flow: &str) -> Result<(), String> {
        let text = format!(
            "{more}duration = '2 s'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '20 ms'\nbuffer = 50\n[[flows]]\n{flow}"
        );
        check(stack, &Scenario::from_toml(&text, "path.toml", &[]).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_dumbbell_with_an_algorithm_of_the_stack_is_accepted() {
        assert_eq!(answer("", "cca = 'quinn:cubic'"), Ok(()));
        let more = "size = '1 MB'\nstack = { ecn = 'classic', handshake = 'first' }";
        assert_eq!(answer("", &format!("cca = 'quinn:newreno'\n{more}")), Ok(()));
        assert_eq!(answer("", "cca = { name = 'ledbat', delay = 'rtt' }"), Ok(()));
        let more = "packet = 500\nstack = { ecn = 'accurate', recovery = 'newreno', pacing = 'fq' }";
        assert_eq!(answer("", &format!("cca = 'tcp:bbr'\n{more}")), Ok(()));
        assert_eq!(answer("", "cca = 'tcp:cubic'\nsize = '1 MB'\nrequests = { count = 3 }"), Ok(()));
        assert_eq!(answer("", "cca = 'udp'\napp_rate = '1 Mbps'"), Ok(()));
    }

    #[test]
    fn what_the_world_cannot_do_is_refused_in_a_line_with_the_key() {
        assert_eq!(
            answer("clock = 'ns2'\n", "cca = 'quinn:cubic'").unwrap_err(),
            "clock: 'ns2' is not supported --on quinn; accepted: 'nanoseconds'"
        );
        for (flow, start) in [
            ("cca = 'noq:cubic'", "flows.cca: 'noq:cubic' is not supported --on quinn; accepted: "),
            (
                "cca = 'bbr'",
                "flows.cca: 'bbr' has to set the pacing rate, which quinn does not support; quinn runs ",
            ),
            (
                "cca = 'quinn:cubic'\npacket = 1000",
                "flows.packet: 1000 bytes is not supported --on quinn; accepted: 1176 to",
            ),
            ("cca = 'quinn:cubic'\napp_rate = '1 Mbps'", "flows.app_rate: "),
            ("cca = 'quinn:cubic'\nstack = { recovery = 'newreno' }", "flows.stack.recovery: "),
            ("cca = 'quinn:cubic'\nstack = { ecn = 'l4s' }", "flows.stack.ecn: "),
            ("cca = 'quinn:cubic'\nstack = { pacing = 'fq' }", "flows.stack.pacing: "),
            ("cca = 'quinn:cubic'\nstack = { rate_limited = 'draft' }", "flows.stack.rate_limited: "),
        ] {
            let line = answer("", flow).unwrap_err();
            assert!(line.starts_with(start) && !line.contains('\n'), "{line}");
        }
    }
    #[test]
    fn the_stack_that_counts_marks_runs_what_counts_them_and_the_others_refuse_it() {
        assert_eq!(answer_on(Stack::S2nQuic, "", "cca = 'dctcp'"), Ok(()));
        for (stack, flow, line) in [
            (
                Stack::Noq,
                "cca = 'dctcp'",
                "flows.cca: 'dctcp' has to count ECN marks, which noq does not support",
            ),
            (
                Stack::S2nQuic,
                "cca = 'reno'\nstack = { ecn = 'accurate' }",
                "flows.stack.ecn: another kind than QUIC's is not supported --on s2n-quic; accepted: 'off', 'classic' or 'dctcp'",
            ),
            (
                Stack::S2nQuic,
                "cca = 's2n-quic:cubic'\nstack = { ecn = 'dctcp' }",
                "flows.stack.ecn: another kind than QUIC's is not supported --on s2n-quic; accepted: 'off' or 'classic'",
            ),
            (
                Stack::S2nQuic,
                "cca = 'prague'",
                "flows.cca: 'prague' has to send ECT(1), which s2n-quic does not support",
            ),
        ] {
            let refusal = answer_on(stack, "", flow).unwrap_err();
            assert!(refusal.starts_with(line) && !refusal.contains('\n'), "{refusal}");
        }
    }
}
