//! Profiles: what a TCP stack does unless the scenario says otherwise.

use crate::error::{Error, Refusal, quote, suggest, suggest_algorithm};
use crate::keys;
use crate::node::{Node, Table, show};
use crate::units::{self, HOUR, MILLISECOND, SECOND};
use crate::{Ecn, Handshake, Pacing, RateLimited, Recovery, Stack, receive_memory};
use cwnd_algorithms::Algorithm;
use toml::de::DeValue;

/// The TCP stacks whose defaults are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Today's kernel.
    Linux,
    /// Agent/TCP/Linux of ns-2.35 (algorithms of Linux 2.6.22) and a SACK sink.
    Ns2,
}

const PROFILES: [Profile; 2] = [Profile::Linux, Profile::Ns2];

/// A name that papers use for an algorithm together with a recovery.
#[non_exhaustive]
pub struct Preset {
    /// Name in scenarios.
    pub name: &'static str,
    /// Algorithm of the registry.
    pub algorithm: &'static str,
    /// None: the profile's.
    pub recovery: Option<Recovery>,
    /// A line for the reader, with the source.
    pub about: &'static str,
}

/// The presets, in the order of their reference.
pub const PRESETS: [Preset; 5] = [
    Preset {
        name: "tahoe",
        algorithm: "reno",
        recovery: Some(Recovery::Tahoe),
        about: "Reno with slow start after every loss; Jacobson 1988",
    },
    Preset {
        name: "newreno",
        algorithm: "reno",
        recovery: Some(Recovery::NewReno),
        about: "Reno with NewReno recovery, without SACK; RFC 6582",
    },
    Preset {
        name: "sack",
        algorithm: "reno",
        recovery: Some(Recovery::Sack),
        about: "Reno with SACK recovery; RFC 6675",
    },
    Preset {
        name: "fack",
        algorithm: "reno",
        recovery: Some(Recovery::Fack),
        about: "Reno with forward acknowledgement; Mathis, Mahdavi, SIGCOMM 1996",
    },
    Preset {
        name: "linux",
        algorithm: "reno",
        recovery: None,
        about: "Reno on the stack as it is; with ns2, Agent/TCP/Linux without a module, the 'Linux TCP' of the Discrete TCP paper",
    },
];

/// Algorithms that are agents of their own in ns-2.35, and the recovery of each.
const AGENTS: [(&str, Recovery); 2] = [("discrete", Recovery::Sack), ("fast-start", Recovery::Tahoe)];

/// Algorithm or preset that a scenario's `cca` names.
#[non_exhaustive]
pub enum Named {
    /// An algorithm of the registry.
    Algorithm(Algorithm),
    /// A preset.
    Preset(&'static Preset),
}

/// Settings of a profile for an algorithm, or for a preset.
#[non_exhaustive]
pub struct Setting {
    /// `linux` or `ns2`.
    pub profile: &'static str,
    /// Parameters other than their defaults.
    pub params: Vec<(&'static str, &'static str)>,
    /// The profile's stack for the algorithm or preset.
    pub stack: Stack,
    /// The profile's stack for an algorithm that it does not treat specially.
    pub base: Stack,
}

/// The algorithm or the preset of this name.
///
/// # Errors
///
/// If there is none; the error suggests the nearest.
pub fn named(name: &str) -> Result<Named, Error> {
    if let Some(preset) = preset(name) {
        return Ok(Named::Preset(preset));
    }
    let known = cwnd_algorithms::all();
    match known.iter().find(|algorithm| algorithm.name == name) {
        Some(found) => Ok(Named::Algorithm(found.clone())),
        None => {
            let names = known.iter().map(|algorithm| algorithm.name.as_str()).chain(presets());
            let found = format!("unknown algorithm {}", quote(name));
            Err(Refusal::new(found, suggest_algorithm(name, names)).of_value(""))
        }
    }
}

/// Returns the settings of each profile for the algorithm or preset of this name.
pub fn settings(name: &str) -> Vec<Setting> {
    PROFILES
        .iter()
        .map(|profile| Setting {
            profile: profile.name(),
            params: profile.params(name).collect(),
            stack: profile.stack(true, name, profile.payload_bytes()),
            base: profile.stack(true, "", profile.payload_bytes()),
        })
        .collect()
}

/// The names of the presets.
pub fn presets<'a>() -> impl Iterator<Item = &'a str> {
    PRESETS.iter().map(|preset| preset.name)
}

fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The algorithm of the registry behind a name.
pub fn algorithm(name: &str) -> &str {
    preset(name).map_or(name, |preset| preset.algorithm)
}

/// Parameters that a profile's own build of an algorithm has. What a scenario sets wins.
const PARAMS: &[(Profile, &str, &str, &str)] = &[
    // tcp_cubic.c of 6.1: whole segments, and slow start may end before a loss.
    (Profile::Linux, "cubic", "variant", "linux"),
    (Profile::Linux, "cubic", "slow_start", "hystart"),
    // tcp_dctcp.c: no growth while a mark is being answered.
    (Profile::Linux, "dctcp", "variant", "linux"),
    // tcp_bbr.c: room for three times what leaves in a millisecond, even where no segments leave together.
    (Profile::Linux, "bbr", "burst", "linux"),
    // CUBIC 2.1: its own cube root and clock, and beta = 819/1024.
    (Profile::Ns2, "cubic", "variant", "ns2"),
    (Profile::Ns2, "cubic", "beta", "0.8"),
    // tcp_compound.c of 2.6: the delay window in halves of a packet.
    (Profile::Ns2, "compound", "variant", "ns2"),
    // Agents without a congestion control module: cwnd_ is a double.
    (Profile::Ns2, "tahoe", "variant", "ns2-agent"),
    (Profile::Ns2, "newreno", "variant", "ns2-agent"),
    (Profile::Ns2, "sack", "variant", "ns2-agent"),
    (Profile::Ns2, "fack", "variant", "ns2-agent"),
    (Profile::Ns2, "linux", "variant", "ns2-no-module"),
    // The module reno of 2.6.
    (Profile::Ns2, "reno", "variant", "ns2"),
    (Profile::Ns2, "discrete", "variant", "ns2-agent"),
    // tcp_scalable.c: one segment per 100 segments, per 51 ACKs in 2.6.
    (Profile::Linux, "scalable", "variant", "linux"),
    (Profile::Ns2, "scalable", "variant", "ns2"),
    // tcp_highspeed.c: a table instead of the formulas.
    (Profile::Linux, "highspeed", "variant", "linux"),
    (Profile::Ns2, "highspeed", "variant", "ns2"),
    // tcp_htcp.c: RTT scaling, whole alphas, an averaged throughput.
    (Profile::Linux, "htcp", "variant", "linux"),
    (Profile::Ns2, "htcp", "variant", "ns2"),
    (Profile::Linux, "illinois", "variant", "linux"),
    // tcp_illinois.c of 2.6.22: its loss leaves beta of the window.
    (Profile::Ns2, "illinois", "variant", "ns2"),
    // tcp_bic.c: a search by quarters, at most 16 segments per RTT, beta = 819/1024.
    (Profile::Linux, "bic", "variant", "linux"),
    (Profile::Ns2, "bic", "variant", "ns2"),
    // tcp_vegas.c: its own alpha and beta.
    (Profile::Linux, "vegas", "variant", "linux"),
    (Profile::Linux, "vegas", "alpha", "2"),
    (Profile::Linux, "vegas", "beta", "4"),
    (Profile::Ns2, "vegas", "variant", "ns2"),
    (Profile::Linux, "yeah", "variant", "linux"),
    (Profile::Ns2, "yeah", "variant", "ns2"),
    (Profile::Linux, "hybla", "variant", "linux"),
    (Profile::Ns2, "hybla", "variant", "ns2"),
    (Profile::Linux, "westwood", "variant", "linux"),
    (Profile::Ns2, "westwood", "variant", "ns2"),
];

/// Algorithms whose module in Linux 2.6.22 had `tcp_reno_min_cwnd`: half of ssthresh after a fast
/// retransmit, and Westwood, which has its own. BIC, CUBIC, H-TCP and Veno had none.
const MIN_CWND: [&str; 10] =
    ["reno", "highspeed", "scalable", "hybla", "illinois", "compound", "yeah", "vegas", "westwood", "lp"];

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Profile::Linux => "linux",
            Profile::Ns2 => "ns2",
        }
    }

    fn parse(value: &DeValue) -> Result<Self, Refusal> {
        let name = value.as_str().unwrap_or("");
        PROFILES.into_iter().find(|profile| profile.name() == name).ok_or_else(|| {
            Refusal::new(format!("{} is not a stack profile", show(value)), "there are 'linux' and 'ns2'")
        })
    }

    /// Bytes of payload in a packet.
    pub fn payload_bytes(self) -> u32 {
        match self {
            Profile::Linux => 1448, // an Ethernet MTU of 1500 less IP, TCP and timestamps
            Profile::Ns2 => 1000,   // packetSize_
        }
    }

    /// The parameters that this profile's build of `algorithm` has.
    pub fn params(self, algorithm: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
        PARAMS
            .iter()
            .filter(move |(profile, name, ..)| *profile == self && *name == algorithm)
            .map(|&(_, _, param, value)| (param, value))
    }

    fn stack(self, timestamps: bool, algorithm: &str, payload_bytes: u32) -> Stack {
        let preset = preset(algorithm).and_then(|preset| preset.recovery);
        match self {
            Profile::Linux => {
                // Ethernet 14, IP 20, TCP 20, timestamps 12.
                let header_bytes = if timestamps { 66 } else { 54 };
                Stack {
                    profile: self.name().to_owned(),
                    recovery: preset.unwrap_or(Recovery::Prr), // since 3.2; RACK-TLP since 4.18
                    header_bytes,
                    ack_bytes: header_bytes,
                    initial_window_pkts: 10, // RFC 6928
                    initial_ssthresh_pkts: None,
                    receive_window_pkts: None,
                    ack_every_pkts: 2, // RFC 5681
                    // While its window opens.
                    quick_acks_pkts: receive_memory::quick_acks_pkts(
                        receive_memory::DEFAULT_BYTES,
                        payload_bytes,
                    ),
                    ack_delay_ns: 40 * MILLISECOND, // TCP_DELACK_MIN
                    sack_delay_ns: MILLISECOND,     // tcp_comp_sack_delay_ns, since 4.18
                    timestamps,
                    initial_rto_ns: SECOND,        // TCP_TIMEOUT_INIT, RFC 6298
                    min_rto_ns: 200 * MILLISECOND, // TCP_RTO_MIN
                    max_rto_ns: 120 * SECOND,      // TCP_RTO_MAX
                    restart_at_half_ssthresh: false,
                    detect_lost_retransmissions: true, // RACK, RFC 8985
                    undo_spurious_rto: true,           // tcp_try_undo_loss
                    idle_restart: true,                // tcp_slow_start_after_idle
                    beta_ecn_permille: None,
                    pacing: Pacing::Own,
                    rate_limited: RateLimited::Own,
                    ecn: ecn_of(algorithm), // tcp_ecn = 2: only if the other end or the algorithm asks
                    accecn_option: true,
                    one_way_delays: algorithm == NEEDS_ONE_WAY_DELAYS,
                    handshake: Handshake::Off,
                    restart_at_one: false,
                    round_rtt: false,
                }
            }
            Profile::Ns2 => {
                let agent = AGENTS.iter().find(|(name, _)| *name == algorithm);
                let agent = preset.or(agent.map(|(_, recovery)| *recovery));
                Stack {
                    profile: self.name().to_owned(),
                    recovery: agent.unwrap_or(Recovery::RateHalving), // next_pkts_in_flight_
                    // tcpip_base_hdr_size_, ts_option_size_: on data alone.
                    header_bytes: if timestamps { 50 } else { 40 },
                    ack_bytes: 40,
                    initial_window_pkts: 2,      // snd_cwnd at reset
                    initial_ssthresh_pkts: None, // window_, as large as a script makes it
                    // LinuxTcpAgent::window() ignores window_, the others have 20.
                    receive_window_pkts: agent.map(|_| 20),
                    ack_every_pkts: 1, // TCPSink/Sack1
                    quick_acks_pkts: 0,
                    ack_delay_ns: 100 * MILLISECOND, // interval_ of TCPSink/DelAck
                    sack_delay_ns: 0,
                    timestamps,
                    initial_rto_ns: 3 * SECOND,    // rtxcur_init_
                    min_rto_ns: 200 * MILLISECOND, // minrto_ of Agent/TCP/Linux
                    // maxrto_ of Agent/TCP/Linux, and of Agent/TCP.
                    max_rto_ns: if agent.is_none() { 120 } else { 60 } * SECOND,
                    restart_at_half_ssthresh: MIN_CWND.contains(&algorithm),
                    detect_lost_retransmissions: agent.is_none(), // ScoreBoard1
                    undo_spurious_rto: false,
                    idle_restart: false, // QOption_
                    beta_ecn_permille: None,
                    pacing: Pacing::Own,
                    rate_limited: RateLimited::Own,
                    ecn: ecn_of(algorithm), // ecn_
                    accecn_option: true,
                    one_way_delays: algorithm == NEEDS_ONE_WAY_DELAYS,
                    // syn_, delay_growth_
                    handshake: if agent.is_some() { Handshake::First } else { Handshake::Overlapped },
                    restart_at_one: agent == Some(Recovery::Fack),
                    round_rtt: algorithm == "compound", // its hook is rtt_sample, that of the others pkts_acked
                }
            }
        }
    }
}

/// The algorithm that measures one-way delays.
const NEEDS_ONE_WAY_DELAYS: &str = "ledbat";

/// How an algorithm hears of marks that it needs.
fn ecn_of(algorithm: &str) -> Ecn {
    let known = cwnd_algorithms::all();
    match known.iter().find(|known| known.name == algorithm).map(|known| known.kind) {
        Some("ecn") => Ecn::Dctcp,
        Some("l4s") => Ecn::L4s,
        _ => Ecn::Off,
    }
}

/// The stack of a flow and the payload of its packets: of the profile that the last of `layers` names, then what each of them
/// and `packet_bytes` set.
pub fn resolve(
    layers: &[Node],
    algorithm: &str,
    packet_bytes: Option<u32>,
) -> Result<(Profile, u32, Stack), Error> {
    let accepted = "write a profile like 'ns2', or key = value pairs";
    let mut profile = Profile::Linux;
    let mut timestamps = true;
    let mut tables = Vec::new();
    for layer in layers {
        if layer.value().is_str() {
            profile = layer.read(Profile::parse)?;
            continue;
        }
        layer.any_table("a stack", accepted)?;
        let table = layer.table(&keys::STACK)?;
        profile = table.read("profile", Profile::parse)?.unwrap_or(profile);
        timestamps = table.read("timestamps", units::flag)?.unwrap_or(timestamps);
        tables.push(table);
    }
    let payload_bytes = packet_bytes.unwrap_or(profile.payload_bytes());
    let mut stack = profile.stack(timestamps, algorithm, payload_bytes);
    for table in &tables {
        apply(table, payload_bytes, &mut stack)?;
    }
    check_rto(&tables, &stack)?;
    if profile == Profile::Ns2 && stack.initial_ssthresh_pkts.is_none() {
        // ssthresh_ begins at window_.
        stack.initial_ssthresh_pkts = stack.receive_window_pkts;
    }
    Ok((profile, payload_bytes, stack))
}

/// Sets what `table` writes; a window in bytes is as many whole packets of `payload_bytes`.
fn apply(table: &Table, payload_bytes: u32, stack: &mut Stack) -> Result<(), Error> {
    fn set<T>(
        table: &Table,
        key: &str,
        field: &mut T,
        parse: impl FnOnce(&DeValue) -> Result<T, Refusal>,
    ) -> Result<(), Error> {
        if let Some(value) = table.read(key, parse)? {
            *field = value;
        }
        Ok(())
    }
    let rto = |value: &DeValue| units::time(value, MILLISECOND..=HOUR, "'1 ms' to '60 min'");
    set(table, "recovery", &mut stack.recovery, recovery)?;
    set(table, "header", &mut stack.header_bytes, |v| units::bytes(v, keys::STACK.bounds("header")))?;
    set(table, "ack", &mut stack.ack_bytes, |v| units::bytes(v, keys::STACK.bounds("ack")))?;
    set(table, "initial_window", &mut stack.initial_window_pkts, units::initial_window)?;
    set(table, "initial_ssthresh", &mut stack.initial_ssthresh_pkts, units::packets)?;
    set(table, "receive_window", &mut stack.receive_window_pkts, |v| units::window(v, payload_bytes))?;
    set(table, "ack_every", &mut stack.ack_every_pkts, |v| {
        units::whole(v, keys::STACK.bounds("ack_every")).map(|n| n as u32)
    })?;
    set(table, "quick_acks", &mut stack.quick_acks_pkts, |v| {
        units::whole(v, keys::STACK.bounds("quick_acks")).map(|n| n as u32)
    })?;
    set(table, "ack_delay", &mut stack.ack_delay_ns, |v| units::time(v, 0..=HOUR, "'0 s' to '60 min'"))?;
    set(table, "sack_delay", &mut stack.sack_delay_ns, |v| units::time(v, 0..=SECOND, "'0 s' to '1 s'"))?;
    set(table, "initial_rto", &mut stack.initial_rto_ns, rto)?;
    set(table, "min_rto", &mut stack.min_rto_ns, rto)?;
    set(table, "max_rto", &mut stack.max_rto_ns, rto)?;
    set(table, "restart_at_half_ssthresh", &mut stack.restart_at_half_ssthresh, units::flag)?;
    set(table, "detect_lost_retransmissions", &mut stack.detect_lost_retransmissions, units::flag)?;
    set(table, "undo_spurious_rto", &mut stack.undo_spurious_rto, units::flag)?;
    set(table, "idle_restart", &mut stack.idle_restart, units::flag)?;
    set(table, "ecn", &mut stack.ecn, ecn)?;
    set(table, "accecn_option", &mut stack.accecn_option, units::flag)?;
    set(table, "one_way_delays", &mut stack.one_way_delays, units::flag)?;
    set(table, "beta_ecn", &mut stack.beta_ecn_permille, |v| beta_ecn(v).map(Some))?;
    set(table, "pacing", &mut stack.pacing, pacing)?;
    set(table, "rate_limited", &mut stack.rate_limited, rate_limited)?;
    set(table, "handshake", &mut stack.handshake, handshake)?;
    set(table, "restart_at_one", &mut stack.restart_at_one, units::flag)?;
    set(table, "round_rtt", &mut stack.round_rtt, units::flag)
}

fn recovery(value: &DeValue) -> Result<Recovery, Refusal> {
    let name = value.as_str().unwrap_or("");
    let found = Recovery::NAMES.into_iter().find_map(|(known, recovery)| (known == name).then_some(recovery));
    found.ok_or_else(|| {
        let names = Recovery::NAMES.map(|(name, _)| name);
        Refusal::new(format!("{} is not a recovery", show(value)), suggest(name, names))
    })
}

fn ecn(value: &DeValue) -> Result<Ecn, Refusal> {
    match value.as_bool() {
        Some(true) => Ok(Ecn::Classic),
        Some(false) => Ok(Ecn::Off),
        None => {
            let name = value.as_str().unwrap_or("");
            let found = Ecn::NAMES.into_iter().find_map(|(known, ecn)| (known == name).then_some(ecn));
            let names = Ecn::NAMES.map(|(name, _)| name);
            found.ok_or_else(|| {
                Refusal::new(format!("{} is not a kind of ECN", show(value)), suggest(name, names))
            })
        }
    }
}

fn pacing(value: &DeValue) -> Result<Pacing, Refusal> {
    match value.as_str() {
        Some("own") => Ok(Pacing::Own),
        Some("fq") => Ok(Pacing::Fq),
        _ => Err(Refusal::new(format!("{} is not a pacing", show(value)), "'own' or 'fq'")),
    }
}

fn rate_limited(value: &DeValue) -> Result<RateLimited, Refusal> {
    match value.as_str() {
        Some("own") => Ok(RateLimited::Own),
        Some("draft") => Ok(RateLimited::Draft),
        _ => Err(Refusal::new(
            format!("{} is not a rule for a window that is not used", show(value)),
            "'own' or 'draft'",
        )),
    }
}

/// In thousandths.
fn beta_ecn(value: &DeValue) -> Result<u32, Refusal> {
    let accepted = "write a number above 0 and below 1, like 0.8";
    let number = units::text(value).and_then(|text| text.parse::<f64>().ok());
    match number.map(|number| (number * 1000.0).round()) {
        Some(permille @ 1.0..=999.0) => Ok(permille as u32),
        _ => Err(Refusal::new(format!("{} is not a factor of a reduction", show(value)), accepted)),
    }
}

fn handshake(value: &DeValue) -> Result<Handshake, Refusal> {
    match value.as_str() {
        Some("off") => Ok(Handshake::Off),
        Some("overlapped") => Ok(Handshake::Overlapped),
        Some("first") => Ok(Handshake::First),
        _ => Err(Refusal::new(
            format!("{} is not a handshake", show(value)),
            "there are off, overlapped, first",
        )),
    }
}

fn check_rto(tables: &[Table], stack: &Stack) -> Result<(), Error> {
    let late = match stack.max_rto_ns {
        max if stack.min_rto_ns > max => "min_rto",
        max if stack.initial_rto_ns > max => "initial_rto",
        _ => return Ok(()),
    };
    match tables.iter().rev().find_map(|table| table.get("max_rto").or_else(|| table.get(late))) {
        Some(node) => Err(node.error(
            format!("{late} would be above max_rto"),
            format!("min_rto and initial_rto are at most max_rto ({})", units::show_time(stack.max_rto_ns)),
        )),
        None => Ok(()),
    }
}

impl Stack {
    /// Returns true if the stack began as Linux's.
    pub fn is_linux(&self) -> bool {
        self.profile == "linux"
    }

    /// Returns true if the sender acknowledges the answer to its SYN before it sends data (RFC 9293, 3.5). The one-way senders of
    /// ns-2 do not.
    pub fn answers_syn_ack(&self) -> bool {
        self.handshake == Handshake::First && self.is_linux()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_a_profile_is_one_of_its_algorithm() {
        for &(profile, name, param, value) in PARAMS {
            let algorithm = cwnd_algorithms::find(algorithm(name)).unwrap();
            let set = algorithm.set(&mut algorithm.defaults(), param, value);
            assert_eq!(set, Ok(()), "{profile:?} {name} {param} {value}");
        }
    }

    #[test]
    fn the_ns2_profile_halves_the_restart_window_of_the_modules_that_did() {
        for (name, restarts) in [("reno", true), ("compound", true), ("cubic", false), ("elastic", false)] {
            assert_eq!(Profile::Ns2.stack(true, name, 1000).restart_at_half_ssthresh, restarts, "{name}");
            assert!(!Profile::Linux.stack(true, name, 1448).restart_at_half_ssthresh, "{name}");
        }
    }
}
