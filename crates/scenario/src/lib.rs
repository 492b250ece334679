#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod catalogue;
mod description;
mod error;
mod expectation;
mod impairments;
mod intervals;
mod keys;
mod link;
mod node;
mod queue;
mod rate_limited;
mod read;
pub mod receive_memory;
mod recovery;
mod runs;
mod samples;
mod schema;
mod stack;
mod sweep;
mod traffic;
mod units;
mod variation;

pub use description::{Description, FlowGroup, LinkGroup};
pub use error::Error;
pub use expectation::{Direction, Expectation, Kind};
pub use impairments::{GilbertElliott, Impairments, Jitter, JitterDistribution, PacketSet};
pub use link::Link;
pub use node::Files;
pub use queue::{Codel, DualPi2, FqCodel, Pie, Queue, QueueVariant, Red};
pub use rate_limited::RateLimited;
pub use recovery::{Detection, Ns2Quirks, Recovery, RecoveryChoices, Reduction};
pub use samples::Samples;
pub use stack::{Named, PRESETS, Preset, Setting, named, settings};
pub use sweep::{Sweep, SweepPoint, Value};
pub use traffic::{Arrivals, Requests, Size, Traffic, frame_bytes};
pub use units::time_of;
pub use variation::{Aggregation, DelayStep, Policer, RateStep, RateVariation, Trace, Variation};

use cwnd_algorithms::{Algorithm, Params};
use error::Refusal;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The header of Ethernet, without what follows a packet.
pub const ETHERNET_BYTES: u32 = 14;

/// Everything a run depends on, but the seed of a repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Scenario {
    /// Default: the stem of the file's name.
    pub name: String,
    /// Name that tables and figures show instead. None, the default: they show `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// Default: 100 s.
    pub duration_ns: u64,
    /// Seed of the first repetition; the others count up from it. Default: 1.
    pub seed: u64,
    /// Default: 1.
    pub repeat: u32,
    /// Default: 1000 intervals; fewer, but at least 100, where all runs would have more than a million rows.
    pub samples: Samples,
    /// How many flows each group has, in the order of the flows: a group has one time series, of the sums over its flows. Only
    /// with samples at intervals. Empty, the default: each flow has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sample_groups: Vec<u32>,
    /// Default: nanoseconds.
    #[serde(default, skip_serializing_if = "Clock::is_default")]
    pub clock: Clock,
    /// Default: after the duration.
    #[serde(default, skip_serializing_if = "End::is_default")]
    pub end: End,
    /// Metrics count from then on; samples from 0. Default: 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warmup_ns: u64,
    /// In the order of the paths: access links, the shared ones, exit links.
    #[serde(with = "runs")]
    pub links: Vec<Link>,
    /// In the order of the results. Equal flows may share their parts.
    #[serde(with = "runs")]
    pub flows: Vec<Flow>,
    /// Predicates over each run. No run depends on them, and neither does its key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
}

/// Gives structs that may get further fields a way to be made from one that there is.
macro_rules! with {
    ($($of:ty),*) => {$(
        impl $of {
            /// Returns it after `change`, as in `scenario.with(|scenario| scenario.seed = 7)`.
            #[must_use]
            pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
                change(&mut self);
                self
            }
        }
    )*};
}

with!(Scenario, Flow, Stack, Link, Traffic, Variation, Impairments);

fn yes() -> bool {
    true
}

fn is_no(value: &bool) -> bool {
    !*value
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How time is kept where packets meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// In whole nanoseconds. Of packets that arrive in the same one, the packet goes first whose last link has been
    /// sending without a pause for the shorter time.
    #[default]
    Nanoseconds,
    /// As ns-2 does, in doubles of seconds, added up link by link: their rounding decides which packet is first.
    Ns2,
}

impl Clock {
    /// Links add up seconds in doubles, instead of whole nanoseconds or parts of them.
    pub fn adds_up_seconds(self) -> bool {
        match self {
            Clock::Nanoseconds => false,
            Clock::Ns2 => true,
        }
    }

    fn is_default(&self) -> bool {
        *self == Clock::default()
    }
}

/// The moment at which a run's results are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// When the duration is over.
    #[default]
    Duration,
    /// When the last packet before that arrived at its receiver, of the packets that arrive while all flows have
    /// started and one still lasts: the end that a script sees which reads a trace of arrivals. Takes two runs.
    LastArrival,
}

impl End {
    fn is_default(&self) -> bool {
        *self == End::default()
    }
}

/// One TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Flow {
    /// Equal flows of a group share it, as they share `traffic` and `stack`; those of a custom algorithm have one each.
    pub cca: Arc<Cca>,
    /// Name that tables and figures show instead of the algorithm's. None, the default: they show that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// Indices into [`Scenario::links`], first hop first.
    pub path: Vec<u32>,
    /// Indices of the links that its ACKs cross, first hop first. Empty, the default: a constant delay is all of the way
    /// back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reverse_path: Vec<u32>,
    /// From the receiver back to the sender, beside the links of `reverse_path`: delays and the sending of an ACK on each
    /// link.
    pub return_delay_ns: u64,
    /// Default: 0.
    pub start_ns: u64,
    /// It starts later by a random time below this. Default: 0.
    pub start_jitter_ns: u64,
    /// The sender falls silent here. At most the duration, which is the default.
    pub stop_ns: u64,
    /// Default: 1448 for the profile `linux`, 1000 for `ns2`.
    pub payload_bytes: u32,
    /// The application writes at this rate of payload. None, the default: it has an unlimited amount of data.
    pub app_rate_bps: Option<u64>,
    /// It writes for the first of these, pauses for the second, and so on. None, the default: no pauses.
    pub on_off_ns: Option<(u64, u64)>,
    /// Sizes, arrivals and pauses of the data. None, the default: as much as it can send, all the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Arc<Traffic>>,
    /// The TCP stack of both ends.
    pub stack: Arc<Stack>,
}

/// A congestion control algorithm and its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cca {
    /// As the scenario names it: an algorithm, or a preset of algorithm and recovery.
    pub name: String,
    /// The algorithm of the registry; a custom one's name again.
    pub algorithm: String,
    /// Every parameter as a person writes it, defaults included.
    pub params: Vec<(String, String)>,
}

/// TCP behaviour of a flow besides congestion control. Defaults are those of `linux` and of `ns2`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Stack {
    /// The profile it began as: `linux` or `ns2`.
    pub profile: String,
    /// PRR; rate halving.
    pub recovery: Recovery,
    /// On the wire, on top of the payload. 66; 50. Without timestamps 54; 40.
    pub header_bytes: u32,
    /// A pure ACK or a SYN on the wire. As the header; 40.
    pub ack_bytes: u32,
    /// 10; 2.
    pub initial_window_pkts: u32,
    /// None, in both: as good as infinite.
    pub initial_ssthresh_pkts: Option<u32>,
    /// None, in both: no limit but memory ([`Scenario::receive_window`]). 20 for base agents of ns-2, which have no module.
    pub receive_window_pkts: Option<u32>,
    /// Segments per ACK while they arrive in order; 1: every one. 2; 1.
    pub ack_every_pkts: u32,
    /// This many segments at the start are acknowledged one by one. 600 of 1448 bytes, and of others as many as it takes until
    /// the window of a Linux receiver with the same memory has opened ([`receive_memory`]); 0.
    pub quick_acks_pkts: u32,
    /// An ACK is delayed no longer than this. 40 ms; 100 ms.
    pub ack_delay_ns: u64,
    /// SACKs after the third that repeat an ACK wait to be sent together, for a twentieth of the RTT and no longer than this;
    /// 0: none waits. 1 ms, Linux's tcp_comp_sack_delay_ns; 0.
    #[serde(default)]
    pub sack_delay_ns: u64,
    /// RFC 7323: every ACK gives an RTT sample, those of retransmissions too. On in both.
    pub timestamps: bool,
    /// Before the first RTT sample. 1 s; 3 s.
    pub initial_rto_ns: u64,
    /// 200 ms in both.
    pub min_rto_ns: u64,
    /// 120 s in both.
    pub max_rto_ns: u64,
    /// The kernel of 2007 restarted some algorithms at half of ssthresh after a fast retransmit. Off; on for
    /// those.
    pub restart_at_half_ssthresh: bool,
    /// A retransmission counts as lost when something that was sent after it has arrived. On.
    pub detect_lost_retransmissions: bool,
    /// A timeout that an original segment's late ACK shows to be spurious is undone (RFC 3522); where losses are found by
    /// time, a fast recovery, too, also when all that was sent again has arrived twice (RFC 3708). On; off.
    pub undo_spurious_rto: bool,
    /// Nothing in flight for longer than the RTO: the window is halved for every RTO (RFC 2861). On; off.
    pub idle_restart: bool,
    /// Kind of ECN: it decides if the flow's packets may be marked instead of dropped, and how the receiver reports marks.
    /// Off in both.
    pub ecn: Ecn,
    /// True if ACKs with accurate ECN carry AccECN's option; without it they carry the last 3 bits of the number of marks.
    /// Default: yes.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub accecn_option: bool,
    /// ACKs carry the time at which the receiver sent them, so that the sender knows one-way delays (RFC 6817, 3.1). Default:
    /// for ledbat.
    #[serde(default, skip_serializing_if = "is_no")]
    pub one_way_delays: bool,
    /// ABE (RFC 8511): a mark lowers ssthresh no further than to this part of cwnd, in thousandths. None, in both: a mark
    /// counts as a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta_ecn_permille: Option<u32>,
    /// Default: own.
    #[serde(default, skip_serializing_if = "Pacing::is_own")]
    pub pacing: Pacing,
    /// How far a window grows that is not used. Default: own.
    #[serde(default, skip_serializing_if = "RateLimited::is_own")]
    pub rate_limited: RateLimited,
    /// How a connection begins. Off; overlapped, and first for the base agents of ns-2.
    pub handshake: Handshake,
    /// FACK of ns-2.35 sets cwnd to 1 at a fast retransmit and lets it grow during recovery. Off; on for `fack`.
    pub restart_at_one: bool,
    /// With rate halving the algorithm sees RTTs in the nearest microsecond, not rounded down. Off;
    /// on for `compound`.
    pub round_rtt: bool,
}

/// Explicit congestion notification of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// Packets are not ECT: a queue drops them where it would mark.
    Off,
    /// ECT(0); the receiver echoes a mark until the sender has reduced its window (RFC 3168).
    Classic,
    /// ECT(0); the receiver echoes the mark of each packet, and acknowledges at once where it changes (DCTCP, RFC 8257).
    Dctcp,
    /// ECT(0); every ACK carries the number of marks (AccECN, RFC 9768).
    Accurate,
    /// ECT(1), for a scalable sender (RFC 9331), with accurate feedback.
    L4s,
}

/// Who says how far apart segments are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// The algorithm, from the first segment on; most have no rate, and their segments leave as the window allows.
    #[default]
    Own,
    /// Linux: where the algorithm has no rate, twice the window in an RTT in the first half of slow start, then 1.2 times; the
    /// first ten segments leave at once; half a distance at most is made up for when a segment was late.
    Fq,
}

impl Pacing {
    /// Returns true for [`Pacing::Own`].
    pub fn is_own(&self) -> bool {
        *self == Pacing::Own
    }
}

impl Ecn {
    /// The names in scenarios.
    pub const NAMES: [(&str, Ecn); 5] = [
        ("off", Ecn::Off),
        ("classic", Ecn::Classic),
        ("dctcp", Ecn::Dctcp),
        ("accurate", Ecn::Accurate),
        ("l4s", Ecn::L4s),
    ];

    /// Returns true if packets may be marked.
    pub fn is_on(self) -> bool {
        self != Ecn::Off
    }

    /// Returns true if ACKs carry the number of marks.
    pub fn is_accurate(self) -> bool {
        matches!(self, Ecn::Accurate | Ecn::L4s)
    }
}

/// `true` is classic, as results of version 0.1 have it.
impl<'de> Deserialize<'de> for Ecn {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Ecn, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Flag(bool),
            Name(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Flag(on) => Ok(if on { Ecn::Classic } else { Ecn::Off }),
            Written::Name(name) => Ecn::NAMES
                .into_iter()
                .find_map(|(known, ecn)| (known == name).then_some(ecn))
                .ok_or_else(|| serde::de::Error::custom(format!("'{name}' is no kind of ECN"))),
        }
    }
}

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handshake {
    /// With data.
    Off,
    /// The first segment is a SYN, which has no payload; data go with it, as in Agent/TCP/Linux of ns-2.35.
    Overlapped,
    /// The first segment is a SYN, and the initial window opens when it is acknowledged.
    First,
}

impl Cca {
    /// The name of a sender without congestion control: datagrams at a constant rate.
    pub const UDP: &str = "udp";

    /// The algorithms that QUIC stacks have themselves, as `STACK:ALGORITHM`. noq's BBRv3 is left out: it cannot be seeded.
    pub const OF_STACKS: [&str; 7] = [
        "noq:cubic",
        "noq:newreno",
        "quinn:bbr",
        "quinn:cubic",
        "quinn:newreno",
        "s2n-quic:bbr",
        "s2n-quic:cubic",
    ];

    /// Before the name of an algorithm of the registry: the flow is a TCP connection in worlds whose flows are of QUIC, too.
    pub const OVER_TCP: &str = "tcp:";

    /// The QUIC stack that has the algorithm itself, and the algorithm's name there; None: it is none of
    /// [`Cca::OF_STACKS`].
    pub fn of_stack(&self) -> Option<(&str, &str)> {
        let known = Cca::OF_STACKS.contains(&self.algorithm.as_str());
        self.algorithm.split_once(':').filter(|_| known)
    }

    /// Returns true if its name begins with [`Cca::OVER_TCP`].
    pub fn is_over_tcp(&self) -> bool {
        self.name.strip_prefix(Cca::OVER_TCP) == Some(&self.algorithm)
    }

    /// Returns true if the flow is no TCP connection but [`Cca::UDP`].
    pub fn is_udp(&self) -> bool {
        self.algorithm == Cca::UDP
    }

    /// Returns true if it sets its window at every ACK. Results have no `slow_start_s` of such a flow.
    pub fn controls_window(&self) -> bool {
        cwnd_algorithms::find(&self.algorithm).is_ok_and(|algorithm| algorithm.controls_window())
    }

    /// Returns true if the profile `linux` sets these parameters: the algorithm then does what the kernel's module of its name
    /// does, where there is one.
    pub fn is_as_in_linux(&self) -> bool {
        let text = format!(
            "[dumbbell]\nrate = '1 Mbps'\ndelay = '1 ms'\nbuffer = 9\n[[flows]]\ncca = '{}'",
            self.algorithm
        );
        Scenario::from_toml(&text, "", &[]).is_ok_and(|plain| plain.flows[0].cca.params == self.params)
    }

    /// The algorithm of the registry and its parameters; an error for a custom one.
    pub fn resolve(&self) -> Result<(Algorithm, Params), cwnd_algorithms::Error> {
        let algorithm = cwnd_algorithms::find(&self.algorithm)?;
        let mut params = algorithm.defaults();
        for (name, value) in &self.params {
            algorithm.set(&mut params, name, value)?;
        }
        Ok((algorithm, params))
    }

    /// Sets a parameter from its text; a `custom` algorithm gets the text as it is.
    pub fn set(&mut self, param: &str, value: &str, custom: bool) -> Result<(), cwnd_algorithms::Error> {
        let mut value = value.to_owned();
        if !custom {
            let (algorithm, mut params) = self.resolve()?;
            algorithm.set(&mut params, param, &value)?;
            let shown = algorithm.show(&params).into_iter().find(|(name, _)| *name == param);
            value = shown.expect("it is there").1;
        }
        match self.params.iter_mut().find(|(name, _)| name == param) {
            Some((_, old)) => *old = value,
            None => self.params.push((param.to_owned(), value)),
        }
        Ok(())
    }
}

impl Scenario {
    /// Checks that a run can begin: a scenario from TOML always can, one from JSON may be damaged.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`].
    pub fn check(&self) -> Result<(), Error> {
        self.find_fault().map_err(Error::Damaged)
    }

    /// The error is the first fault, as a clause about the scenario.
    fn find_fault(&self) -> Result<(), String> {
        if self.flows.is_empty() {
            return Err("it has no flows".to_owned());
        }
        self.find_fault_of_samples()?;
        if self.warmup_ns >= self.duration_ns {
            return Err("its warmup does not end before the run".to_owned());
        }
        self.find_lost_flow()?;
        let in_order = |path: &Vec<u32>| path.is_sorted_by(|one, next| one < next);
        if let Some(i) =
            self.flows.iter().position(|flow| !in_order(&flow.path) || !in_order(&flow.reverse_path))
        {
            return Err(format!("flow {i} does not visit its links in the order in which they are listed"));
        }
        if self.clock.adds_up_seconds() && self.flows.iter().any(|flow| !flow.reverse_path.is_empty()) {
            return Err("with the clock of ns-2 the way back is a constant delay".to_owned());
        }
        if let Some(link) = self.links.iter().find(|link| self.clock.adds_up_seconds() && link.is_managed()) {
            return Err(format!(
                "with the clock of ns-2 link '{}' has a queue, variations or impairments",
                link.name
            ));
        }
        for link in &self.links {
            link.check().map_err(|fault| format!("link '{}' has {fault}", link.name))?;
        }
        for (i, flow) in self.flows.iter().enumerate() {
            let checked = i > 0 && Arc::ptr_eq(&self.flows[i - 1].cca, &flow.cca);
            if flow.cca.is_udp() {
                flow.app_rate_bps.ok_or_else(|| format!("flow {i} is udp without a rate"))?;
            } else if !checked && flow.cca.of_stack().is_none() {
                flow.cca.resolve().map_err(|error| error.to_string())?;
            }
            let bytes = u64::from(flow.payload_bytes) + u64::from(flow.stack.header_bytes);
            if bytes.max(flow.stack.ack_bytes.into()) > u64::from(Flow::PACKET_BYTES_MAX) {
                return Err(format!("flow {i} has packets of more than {} bytes", Flow::PACKET_BYTES_MAX));
            }
            if flow.arrivals().is_some() && (flow.size().is_none() || self.clock.adds_up_seconds()) {
                return Err(format!("flow {i} has arrivals without a size, or with another clock"));
            }
            if flow.barrier().is_some() && self.clock.adds_up_seconds() {
                return Err(format!("flow {i} has a barrier and another clock"));
            }
            if flow.start_ns.saturating_add(flow.start_jitter_ns) >= flow.stop_ns
                || flow.stop_ns > self.duration_ns
            {
                return Err(format!("flow {i} does not start before it stops, within the duration"));
            }
        }
        Ok(())
    }

    /// The part of each packet on `link` that is no part of its IP packet: a flow's headers of at least 54 bytes, those of
    /// Ethernet, IP and TCP, begin with that of Ethernet.
    pub fn ethernet_bytes(&self, link: u32) -> u32 {
        let crosses = |flow: &&Flow| flow.path.contains(&link) || flow.reverse_path.contains(&link);
        let framed = |flow: &Flow| flow.stack.header_bytes >= ETHERNET_BYTES + 20 + 20;
        if self.flows.iter().filter(crosses).any(framed) { ETHERNET_BYTES } else { 0 }
    }

    /// Checks that all algorithms are this project's, as the simulator and kernels need.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] with the first algorithm of a QUIC stack.
    pub fn check_algorithms(&self) -> Result<(), Error> {
        let of_stack =
            |flow: &Flow| flow.cca.of_stack().map(|(stack, _)| (stack.to_owned(), flow.cca.name.clone()));
        match self.flows.iter().find_map(of_stack) {
            Some((stack, name)) => {
                let found = format!("'{name}' is the stack's own and can be had --on {stack} alone");
                let accepted = "accepted: an algorithm of 'cwnd algorithms'";
                Err(Refusal::new(found, accepted).of_value("flows.cca"))
            }
            None => Ok(()),
        }
    }

    /// Checks that each flow has a path over the links: enough to compute metrics of a run.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`].
    pub fn check_paths(&self) -> Result<(), Error> {
        self.find_lost_flow().map_err(Error::Damaged)
    }

    fn find_lost_flow(&self) -> Result<(), String> {
        let within = |link: &u32| (*link as usize) < self.links.len();
        let lost =
            |flow: &Flow| flow.path.is_empty() || !flow.path.iter().chain(&flow.reverse_path).all(within);
        match self.flows.iter().position(lost) {
            Some(i) => Err(format!("flow {i} has no path over the scenario's links")),
            None => Ok(()),
        }
    }
}

impl Flow {
    /// On the wire: 65,535 bytes of an IP packet, and headers.
    pub const PACKET_BYTES_MAX: u32 = 131_071;

    /// On the wire.
    pub fn packet_bytes(&self) -> u32 {
        self.payload_bytes + self.stack.header_bytes
    }

    /// On the wire: the last segment of a transfer or of a frame may be smaller than the others. A SYN does not count, which
    /// follows no other packet.
    pub fn smallest_packet_bytes(&self) -> u32 {
        let of = |bytes: u64| match bytes % u64::from(self.payload_bytes) {
            0 => self.payload_bytes,
            rest => rest as u32,
        };
        let frame = self.app_rate_bps.zip(self.traffic.as_ref().and_then(|traffic| traffic.frames_per_s));
        let last = match (self.size(), frame) {
            (Some(Size::Fixed { bytes }), _) => of(*bytes),
            (Some(_), _) => 1,
            (None, Some((rate_bps, per_s))) => of(frame_bytes(rate_bps, per_s)),
            (None, None) => self.payload_bytes,
        };
        last + self.stack.header_bytes
    }
}
