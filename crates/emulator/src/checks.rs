//! Refuses scenarios that ask for what this world does not support.

use crate::{Error, FIRST_PORT, HEADER_BYTES};
use cwnd_scenario::{Clock, Ecn, End, Flow, Pacing, Reduction, Samples, Scenario, Size, Traffic};

/// Each on a port of its own.
const FLOWS_MAX: usize = 64;
const PAYLOAD_BYTES: std::ops::RangeInclusive<u32> = 500..=8948;

/// Checks that the scenario can run here.
///
/// # Errors
///
/// [`Error::Unsupported`].
pub fn check(scenario: &Scenario) -> Result<(), Error> {
    let refuse = |key: &str, found: &str, accepted: &str| {
        Err(Error::Unsupported(format!("{key}: {found} is not supported --on live; accepted: {accepted}")))
    };
    scenario.check_algorithms()?;
    if scenario.clock != Clock::Nanoseconds {
        return refuse("clock", "'ns2'", "'nanoseconds'");
    }
    if scenario.end != End::Duration {
        return refuse("end", "'last-arrival'", "'duration'");
    }
    if scenario.samples == Samples::Change {
        return refuse("samples", "'change'", "an interval or 'off'");
    }
    if scenario.flows.len() > FLOWS_MAX {
        let found = format!("a scenario of {} flows", scenario.flows.len());
        return refuse("flows", &found, &format!("at most {FLOWS_MAX}"));
    }
    let first = &scenario.flows[0];
    for flow in &scenario.flows {
        if flow.cca.is_udp() {
            return refuse("flows.cca", "'udp'", "algorithms of TCP");
        }
        if !PAYLOAD_BYTES.contains(&flow.payload_bytes) {
            let found = format!("{} bytes", flow.payload_bytes);
            let (least, most) = PAYLOAD_BYTES.into_inner();
            return refuse("flows.packet", &found, &format!("{least} to {most} bytes"));
        }
        if flow.payload_bytes != first.payload_bytes {
            return refuse("flows.packet", "more than one size", "the same for all flows");
        }
        if flow.start_jitter_ns > 0 {
            return refuse("flows.start_jitter", "a random start", "'start' alone");
        }
        if flow.app_rate_bps.is_some() || flow.on_off_ns.is_some() {
            return refuse(
                "flows.app_rate",
                "an application that pauses",
                "bulk data or one transfer of a size",
            );
        }
        if let Some((key, found, accepted)) = flow.traffic.as_deref().and_then(traffic) {
            return refuse(key, found, accepted);
        }
        if let Some((key, found, accepted)) = stack(flow, first) {
            return refuse(&format!("flows.stack.{key}"), found, accepted);
        }
    }
    Ok(())
}

type Refusal = (&'static str, &'static str, &'static str);

fn traffic(traffic: &Traffic) -> Option<Refusal> {
    if !matches!(traffic.size, None | Some(Size::Fixed { .. })) {
        return Some(("flows.size", "a distribution", "a fixed size"));
    }
    if traffic.arrivals.is_some() || traffic.requests.is_some() {
        return Some(("flows.arrivals", "more than one transfer of a flow", "one"));
    }
    let pauses = traffic.mean_on_off_ns.is_some() || traffic.frames_per_s.is_some();
    pauses.then_some(("flows.on_off", "an application that pauses", "bulk data or one transfer of a size"))
}

/// Refuses a stack that differs from the kernel's TCP.
fn stack(flow: &Flow, first: &Flow) -> Option<Refusal> {
    let stack = &flow.stack;
    let needs_ecn = flow.cca.resolve().is_ok_and(|(algorithm, _)| cwnd_kernel::needs_ecn(&algorithm));
    let refusals = [
        (
            needs_ecn && stack.ecn == Ecn::Classic,
            ("ecn", "'classic' with an algorithm that needs DCTCP's receiver", "'off'"),
        ),
        (!stack.is_linux(), ("profile", "another stack than Linux's", "'linux'")),
        (
            stack.recovery.choices().reduction != Reduction::Prr,
            ("recovery", "another recovery than PRR", "prr"),
        ),
        (stack.initial_window_pkts != 10, ("initial_window", "another initial window", "10 packets")),
        (stack.initial_ssthresh_pkts.is_some(), ("initial_ssthresh", "a first ssthresh", "the kernel's own")),
        (stack.ack_every_pkts != 2, ("ack_every", "another number", "2 packets")),
        (!stack.timestamps, ("timestamps", "'false'", "'true'")),
        (stack.min_rto_ns != 200_000_000, ("min_rto", "another time", "200 ms")),
        (stack.beta_ecn_permille.is_some(), ("beta_ecn", "ABE", "the algorithm's own answer")),
        (stack.pacing == Pacing::Fq, ("pacing", "'fq'", "'own'")),
        (!stack.rate_limited.is_own(), ("rate_limited", "'draft'", "'own'")),
        (
            !matches!(stack.ecn, Ecn::Off | Ecn::Classic),
            ("ecn", "accurate ECN or DCTCP's", "'off' and 'classic'"),
        ),
        (
            (stack.ecn == Ecn::Classic) != (first.stack.ecn == Ecn::Classic),
            ("ecn", "a mixture", "the same for all flows"),
        ),
    ];
    refusals.into_iter().find_map(|(refused, why)| refused.then_some(why))
}

/// Returns the buffer of a socket: more than the path and its queue, whatever of it the kernel counts as overhead.
pub fn buffer_bytes(scenario: &Scenario) -> u64 {
    let packet_bytes = u64::from(scenario.flows[0].payload_bytes + HEADER_BYTES);
    let link = scenario.bottleneck(0);
    let queue_bytes = link.buffer_pkts.map_or(0, |pkts| u64::from(pkts) * packet_bytes);
    let queue_bytes = queue_bytes.max(link.buffer_bytes.unwrap_or(0));
    let bdp_bytes = (scenario.bdp_pkts(0) * packet_bytes as f64) as u64;
    (6 * (queue_bytes + bdp_bytes) + 4_000_000).min(1_000_000_000)
}

const _: () = assert!(FIRST_PORT as usize + FLOWS_MAX < 1 << 16);

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "duration = '2 s'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '20 ms'\nbuffer = 50\n";

    fn answer(more: &str) -> Result<(), String> {
        answer_of(&format!("{more}{TEXT}[[flows]]\ncca = 'cubic'"))
    }

    fn answer_of_flow(more: &str) -> Result<(), String> {
        answer_of(&format!("{TEXT}[[flows]]\ncca = 'cubic'\n{more}"))
    }

    fn answer_of(text: &str) -> Result<(), String> {
        check(&Scenario::from_toml(text, "path.toml", &[]).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_dumbbell_with_the_linux_stack_is_accepted() {
        assert_eq!(answer(""), Ok(()));
        assert_eq!(answer_of_flow("stack = { ecn = 'classic' }\nsize = '1 MB'"), Ok(()));
        assert_eq!(answer_of_flow("stack = { receive_window = 30 }"), Ok(()));
    }

    #[test]
    fn what_the_world_cannot_do_is_refused_in_a_line_with_the_key() {
        assert_eq!(
            answer("clock = 'ns2'\n").unwrap_err(),
            "clock: 'ns2' is not supported --on live; accepted: 'nanoseconds'"
        );
        for (text, start) in [
            (
                "stack = { recovery = 'newreno' }",
                "flows.stack.recovery: another recovery than PRR is not supported",
            ),
            ("stack = { ecn = 'accurate' }", "flows.stack.ecn: accurate ECN or DCTCP's is not supported"),
            ("packet = 100", "flows.packet: 100 bytes is not supported"),
            (
                "[[flows]]\ncca = 'dctcp'\nstack = { ecn = 'classic' }",
                "flows.stack.ecn: 'classic' with an algorithm that needs DCTCP's receiver is not supported",
            ),
        ] {
            let line = answer_of_flow(text).unwrap_err();
            assert!(line.starts_with(start) && !line.contains('\n'), "{line}");
        }
    }
}
