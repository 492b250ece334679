//! The table: first the scenario, then its topologies, links, flows, the stack and sweeps.

use super::Absent::{Is, Needed, Words};
use super::Form::*;
use super::{Absent, Form, Key, Keys, key, keys, names};
use crate::{Ecn, Recovery};

pub const FLOWS_MAX: u64 = 4_000_000;
pub const HOPS_MAX: u64 = 100;
pub const INTERVALS_MAX: u64 = 1_000_000;
pub const RANGE_MAX: u64 = 10_000;
pub const PACKET_NUMBER_MAX: u64 = 1_000_000_000_000;

const NO_LIMIT: Absent = Is("unlimited");
const ZERO: Absent = Is("0");
const ZERO_TIME: Absent = Is("0 s");
const OFF: Absent = Is("false");
const ON: Absent = Is("true");
const NONE: Absent = Words("none");

// The scenario.

pub static SCENARIO: Keys = Keys { one_of: &["dumbbell", "chain", "parking_lot", "links"], ..keys("scenario", "", &[&[
    key("name", Text, Words("the file's name"), "Name in tables and figures."),
    key("label", Text, Words("the name"), "Name that tables and figures show instead."),
    key("duration", Time, Is("100 s"), "Simulated time."),
    key("warmup", Time, ZERO_TIME, "Metrics leave out what comes before this; samples and transfers do not."),
    key("seed", Whole(0, i64::MAX as u64), Is("1"), "Seed of the first repetition; the others count up."),
    key("repeat", Whole(1, 1_000_000), Is("1"), "Repetitions, for confidence intervals."),
    key("samples", OneOf(&[Whole(1, INTERVALS_MAX), Time, Names(&["change", "off"])]), Words("1000, of many flows or runs at least 100"),
        "Time series: a number of intervals, an interval, change (of a window) or off."),
    key("samples_by", Names(&["flow", "group"]), Is("flow"),
        "A time series for each flow, or for each group of flows."),
    key("clock", Names(&["nanoseconds", "ns2"]), Is("nanoseconds"),
        "Time in whole nanoseconds, or in ns-2's doubles of seconds, whose rounding decides ties."),
    key("end", Names(&["duration", "last-arrival"]), Is("duration"),
        "Results are taken at the duration, or when the last packet before it arrived."),
    key("stack", STACK_FORM, Is("linux"),
        "TCP stack of all flows, today's or that of ns-2.35."),
    key("dumbbell", Table(&DUMBBELL), NONE, "A link that all flows share."),
    key("chain", List(&Table(&CHAIN)), NONE, "Links in a row, all of which every flow crosses."),
    key("parking_lot", Table(&PARKING_LOT), NONE, "Equal links in a row, of which a flow crosses all or one."),
    key("links", List(&Table(&LINKS)), NONE, "Links with names, of which each flow has a path."),
    key("flows", List(&Table(&FLOWS)), Needed, "Groups of equal flows."),
    key("expect", List(&Table(&EXPECT)), NONE, "Predicates over each run, which they do not change."),
]])};

// Topologies.

/// The tables of which a scenario has one, by their keys.
pub static TOPOLOGIES: [&Keys; 4] = [&DUMBBELL, &CHAIN, &PARKING_LOT, &LINKS];

pub static DUMBBELL: Keys = Keys { one_of: &["delay", "rtt"],
    ..keys("dumbbell", "[dumbbell]", &[RATE_OF_LINK, &[RTT_OF_LINK], OF_LINK, IMPAIRMENTS, OF_EDGES, &[REVERSE_LINK]])
};
pub static CHAIN: Keys = keys("chain", "[[chain]]", &[RATE_OF_LINK, OF_LINK, IMPAIRMENTS]);
pub static PARKING_LOT: Keys =
    keys("parking_lot", "[parking_lot]", &[RATE_OF_LINK, OF_LINK, IMPAIRMENTS, OF_EDGES, &[HOPS]]);
pub static LINKS: Keys = keys("links", "[[links]]", &[RATE_OF_LINK, OF_LINK, IMPAIRMENTS, &[NAME_OF_LINK]]);
pub static REVERSE: Keys = keys("reverse", "reverse = { ... }", &[&[
    key("rate", RATE_FORM, Words("the bottleneck's"), "Rate of the way back."),
    key("queue", QUEUE_FORM, Is("droptail"), "Queue discipline of the way back."),
    key("delay", DELAY_FORM, Words("the bottleneck's"), "One-way delay of the way back."),
    key("buffer", Buffer, NO_LIMIT, "Buffer of the way back."),
], IMPAIRMENTS]);

const RATE_FORM: Form = OneOf(&[Rate, Table(&RATE_STEPS), Table(&TRACE)]);
const QUEUE_FORM: Form = OneOf(&[NamesOf(&DISCIPLINES), Tables(&DISCIPLINES)]);
const DELAY_FORM: Form = OneOf(&[Time, Table(&DELAY_STEPS)]);

static RATE_OF_LINK: &[Key] = &[
    key("rate", RATE_FORM, Needed, "Rate of the link."),
];
const RTT_OF_LINK: Key = key("rtt", Time, NONE, "Twice the delay of the link, instead of it.");
static OF_LINK: &[Key] = &[
    key("queue", QUEUE_FORM, Is("droptail"), "Queue discipline of the link."),
    key("delay", DELAY_FORM, Needed, "One-way delay of the link."),
    key("buffer", Buffer, Needed, "Buffer of the link, in packets, BDPs, data or time, or unlimited."),
];
static IMPAIRMENTS: &[Key] = &[
    key("per", Share, ZERO, "Probability that the wire loses a packet."),
    key("ecn_threshold", OneOf(&[Limit, Time, Pair(&Time)]), NO_LIMIT,
        "Queue above which packets of flows with ECN are marked: a length, a wait, or the two ends of a ramp."),
    key("loss", OneOf(&[Share, Table(&GILBERT_ELLIOTT)]), ZERO,
        "Instead of per: probability of a loss, also like 0.01%, or bursts of losses."),
    key("jitter", Table(&JITTER), NONE, "Random change of the delay of each packet."),
    key("reorder", Share, ZERO, "Probability that a packet takes no delay."),
    key("duplicate", Share, ZERO, "Probability that a packet arrives twice."),
    key("policer", Table(&POLICER), NONE, "Bucket of tokens before the queue."),
    key("losses", PacketSet, NONE, "Packets that the wire loses, by number from 1 or by the time at which they are sent."),
    key("marks", PacketSet, NONE, "Packets that are marked if they are ECN-capable, written like losses."),
    key("suspension", List(&Pair(&Time)), NONE, "Spans of time in which the link sends nothing, and loses nothing."),
    key("aggregation", Table(&AGGREGATION), NONE, "Turns at which packets leave together."),
];
static OF_EDGES: &[Key] = &[
    key("access", Table(&ACCESS), Words("ten times the rate"),
        "Each flow's own link before the shared one and after it."),
    key("exit", Flag, ON, "Each flow has a link of its own after the shared one, too."),
];
const REVERSE_LINK: Key =
    key("reverse", Table(&REVERSE), NONE, "Link that ACKs cross as packets, and flows that send the other way.");
const HOPS: Key = key("hops", Whole(1, HOPS_MAX), Needed, "Number of links in a row.");
const NAME_OF_LINK: Key = key("name", Text, Needed, "Name of the link, for the paths of flows.");

pub static ACCESS: Keys = keys("access", "access = { ... }", &[&[
    key("rate", Rate, Words("ten times the shared link's"), "Rate of each flow's own links."),
    key("delay", Time, ZERO_TIME, "One-way delay of each flow's own links."),
    key("buffer", Buffer, NO_LIMIT, "Buffer of each flow's own links."),
]]);

// How a link varies and impairs.

pub static RATE_STEPS: Keys = keys("rate_steps", "rate = { steps = ... }", &[&[
    key("steps", Steps(&Rate), Needed, "Times, the first of them 0 s, and the rate from each on; 0 bps is an outage."),
]]);
/// The key by which a trace is known comes first.
pub static TRACE: Keys = keys("trace", "rate = { trace = ... }", &[&[
    key("trace", File, Needed, "File with a line for each opportunity to send, in milliseconds, as of Mahimahi."),
], &[
    key("bytes", Bytes(1, 65_535), Is("1500"), "Bytes that an opportunity carries."),
    key("repeat", Flag, ON, "The trace begins anew at its last opportunity."),
    key("scale", Number(0.001, 1000.0), Is("1"), "Factor of the bytes."),
    key("offset", Time, ZERO_TIME, "Time in the trace at which the run begins."),
]]);
pub static DELAY_STEPS: Keys = keys("delay_steps", "delay = { steps = ... }", &[&[
    key("steps", Steps(&Time), Needed, "Times, the first of them 0 s, and the delay from each on."),
]]);
pub static GILBERT_ELLIOTT: Keys = keys("gilbert_elliott", "loss = { ... }", &[&[
    key("model", Names(&["gilbert-elliott"]), Needed, "Model of the losses."),
    key("p", Share, Needed, "Probability of a step from the good state to the bad one."),
    key("r", Share, Needed, "Probability of a step back."),
    key("good", Share, ZERO, "Probability of a loss in the good state."),
    key("bad", Share, Is("1"), "Probability of a loss in the bad state."),
]]);
pub static JITTER: Keys = Keys { one_of: &["std", "uniform"], ..keys("jitter", "jitter = { ... }", &[&[
    key("std", Time, NONE, "Standard deviation of the delay, normal and cut off at three of them."),
    key("uniform", Time, NONE, "Most that a uniform delay is longer or shorter."),
    key("reorder", Flag, OFF, "A packet may arrive before one that was sent before it."),
]])};
pub static POLICER: Keys = keys("policer", "policer = { ... }", &[&[
    key("rate", Rate, Needed, "Rate at which the bucket fills."),
    key("burst", Data, Needed, "Tokens in the full bucket."),
    key("mark", Flag, OFF, "Packets of flows with ECN that find too few tokens are marked instead of dropped."),
]]);

pub static AGGREGATION: Keys = keys("aggregation", "aggregation = { ... }", &[&[
    key("every", Time, Needed, "Time between two turns."),
    key("most", Whole(1, 1_000_000), Needed, "Packets that leave in a turn at most."),
]]);

// Queue disciplines. The first key of each is its name.

pub static DISCIPLINES: [&Keys; 6] = [&DROPTAIL, &RED, &CODEL, &FQ_CODEL, &PIE, &DUALPI2];

const DISCIPLINE: Key = key("discipline", OwnName, Needed, "Name of the discipline.");
const VARIANT: Key = key("variant", Names(&["spec", "linux"]), Is("spec"),
        "As in the paper or RFC, or with Linux's deviations.");
const ECN: &str = "Packets of flows with ECN are marked instead of dropped.";

static DROPTAIL: Keys = keys("droptail", "queue = \"droptail\"", &[&[DISCIPLINE]]);
pub static RED: Keys = keys("red", "queue = \"red\"", &[&[
    DISCIPLINE,
    VARIANT,
    key("min", OneOf(&[Packets, Bytes(1, u32::MAX as u64)]), Is("5"),
        "Average queue from which on packets are dropped now and then."),
    key("max", OneOf(&[Packets, Bytes(1, u32::MAX as u64)]), Is("15"),
        "Average queue at which the probability is reached."),
    key("weight", Number(0.0, 1.0), Is("0.002"), "Weight of a packet in the average."),
    key("burst", Whole(1, 1_000_000), NONE, "Instead of weight: packets that come in before the average passes min."),
    key("probability", Number(0.0, 1.0), Words("0.1; linux: 0.02"), "Probability of a drop at max."),
    key("gentle", Flag, Words("true; linux: false"), "Above max the probability grows instead of being 1 at once."),
    key("adaptive", Flag, OFF, "The probability adapts itself."),
    key("ecn", Flag, OFF, ECN),
    key("harddrop", Flag, OFF, "Above max packets are dropped even where they could be marked."),
]]);
static CODEL: Keys = keys("codel", "queue = \"codel\"", &[&[
    DISCIPLINE,
    VARIANT,
    TARGET_OF_CODEL,
    INTERVAL,
    key("ecn", Flag, OFF, ECN),
    CE_THRESHOLD,
]]);
pub static FQ_CODEL: Keys = keys("fq-codel", "queue = \"fq-codel\"", &[&[
    DISCIPLINE,
    VARIANT,
    TARGET_OF_CODEL,
    INTERVAL,
    key("ecn", Flag, ON, ECN),
    CE_THRESHOLD,
    key("quantum", Bytes(256, 131_071), Is("1514"), "Bytes that a queue sends in its turn."),
    key("queues", Whole(1, 65_536), Words("one for each flow"), "Queues that flows are hashed into."),
]]);
const TARGET_OF_CODEL: Key = key("target", Time, Is("5 ms"), "Wait that is accepted for longer than an interval.");
const INTERVAL: Key = key("interval", Time, Is("100 ms"), "Time for which packets wait longer before one is dropped.");
const CE_THRESHOLD: Key = key("ce_threshold", Time, NONE, "Wait above which packets of flows with ECN are marked.");
static PIE: Keys = keys("pie", "queue = \"pie\"", &[&[
    DISCIPLINE,
    VARIANT,
    key("target", Time, Is("15 ms"), "Wait that is aimed at."),
    key("update", Time, Words("15 ms; linux: 20 ms"), "Time between two updates of the probability."),
    key("burst", Time, Is("150 ms"), "Time in which a burst is let in."),
    key("ecn", Flag, OFF, ECN),
]]);
static DUALPI2: Keys = keys("dualpi2", "queue = \"dualpi2\"", &[&[
    DISCIPLINE,
    VARIANT,
    key("target", Time, Is("15 ms"), "Wait that is aimed at in the queue of classic flows."),
    key("update", Time, Is("16 ms"), "Time between two updates of the probability."),
    key("step", Time, Words("a ramp from 0.8 to 1.2 ms; linux: 1 ms"),
        "Wait from which on packets of flows with ECN l4s are marked."),
]]);

// Flows.

pub static FLOWS: Keys = keys("flows", "[[flows]]", &[&[
    key("cca", OneOf(&[Text, Table(&CCA)]), Needed,
        "Algorithm, preset of one, or udp; or a table with its parameters."),
    key("label", Text, Words("the algorithm's name"), "Name of the flows in tables and figures."),
    key("count", Whole(1, FLOWS_MAX), Is("1"), "Number of equal flows."),
    key("start", Time, ZERO_TIME, "Time at which the first flow starts."),
    key("stagger", Time, ZERO_TIME, "Each flow starts later than the previous one by this."),
    key("start_jitter", Time, ZERO_TIME, "Each flow starts later by a random time below this."),
    key("stop", Time, Words("the duration"), "Time at which the first flow stops."),
    key("stop_stagger", Time, ZERO_TIME, "Each flow stops earlier than the previous one by this."),
    key("packet", Bytes(1, 65_000), Words("1448; ns2: 1000"), "Payload of a packet."),
    key("app_rate", Rate, Words("all at once"), "Rate at which the application writes payload."),
    key("on", OneOf(&[Time, Table(&MEAN)]), Words("no pauses"),
        "Time for which the application writes before it pauses."),
    key("off", OneOf(&[Time, Table(&MEAN)]), Words("no pauses"),
        "Time for which the application pauses before it writes again."),
    key("access_delay", Time, Words("access.delay"), "One-way delay of each flow's own links."),
    key("direction", Names(&["down", "up"]), Is("down"),
        "Direction of the data: up is over the reverse link, against the others."),
    key("over", OneOf(&[Names(&["all"]), Whole(1, HOPS_MAX)]), Is("all"),
        "Links of a parking lot that the flow crosses: all, or the one with this number."),
    key("path", List(&Text), Words("needed with [[links]]"), "Names of the links, in the order of the packets."),
    key("reverse_path", List(&Text), Words("the delays of the path"), "Names of the links that ACKs cross as packets."),
    key("stack", STACK_FORM, Words("the scenario's"),
        "TCP stack of the flows, over the scenario's key by key."),
], &[
    // Traffic, which datagrams do not have.
    key("size", OneOf(&[Data, Table(&SIZE_FILE), Tables(&DISTRIBUTIONS)]), NO_LIMIT_OF_DATA,
        "Payload after which a flow or a transfer ends."),
    key("arrivals", Tables(&[&POISSON, &ARRIVAL_TIMES]), NONE,
        "New transfers of the size, each on a connection of its own."),
    key("requests", Table(&REQUESTS), NONE, "Responses of the size on one connection, one after the other."),
    key("frame_rate", Whole(1, 1000), NONE, "Frames a second, of which the application writes app_rate."),
]]);
const NO_LIMIT_OF_DATA: Absent = Words("no end");

pub static CCA: Keys = Keys { others: Some(Scalar), ..keys("cca", "cca = { ... }", &[&[
    key("name", Text, Needed, "Name of the algorithm; the other keys are its parameters."),
]])};
pub static MEAN: Keys = keys("mean", "on = { ... }", &[&[
    key("mean", Time, Needed, "Mean of exponential times."),
]]);
pub static SIZE_FILE: Keys = keys("size_file", "size = { csv = ... }", &[&[
    key("csv", File, Needed, "File with lines of a size in bytes and the probability of no more."),
]]);

/// Distributions of sizes. The first key of each is its name.
pub static DISTRIBUTIONS: [&Keys; 5] = [&WEB_SEARCH, &DATA_MINING, &LOGNORMAL, &PARETO, &EXPONENTIAL];

const DISTRIBUTION: Key = key("distribution", OwnName, Needed, "Name of the distribution.");
static WEB_SEARCH: Keys = keys("web-search", "size = { distribution = \"web-search\" }", &[&[DISTRIBUTION]]);
static DATA_MINING: Keys = keys("data-mining", "size = { distribution = \"data-mining\" }", &[&[DISTRIBUTION]]);
static LOGNORMAL: Keys = keys("lognormal", "size = { distribution = \"lognormal\" }", &[&[
    DISTRIBUTION,
    key("mu", Number(0.0, 20.0), Needed, "Mean of the logarithm of the bytes."),
    key("sigma", Number(0.0, 3.0), Needed, "Standard deviation of the logarithm of the bytes."),
]]);
static PARETO: Keys = keys("pareto", "size = { distribution = \"pareto\" }", &[&[
    DISTRIBUTION,
    key("alpha", Number(0.1, 10.0), Needed, "Exponent of the tail."),
    key("min", Data, Needed, "Least size."),
    key("max", Data, Needed, "Largest size."),
]]);
static EXPONENTIAL: Keys = keys("exponential", "size = { distribution = \"exponential\" }", &[&[
    DISTRIBUTION,
    key("mean", Data, Needed, "Mean size."),
]]);

pub static POISSON: Keys = Keys { one_of: &["load", "rate"], ..keys("poisson", "arrivals = { process = ... }", &[&[
    key("process", Names(&["poisson"]), Needed, "Process of the arrivals."),
    key("load", Number(1e-6, 0.999_999), NONE, "Share of the slowest link's rate, headers included."),
    key("rate", Number(1e-6, 1e9), NONE, "Transfers a second."),
]])};
pub static ARRIVAL_TIMES: Keys = keys("arrival_times", "arrivals = { times = ... }", &[&[
    key("times", File, Needed, "File with a line for each arrival, in seconds after the start of the flow."),
]]);
pub static REQUESTS: Keys = keys("requests", "requests = { ... }", &[&[
    key("count", Whole(1, 10_000_000), Needed, "Number of responses."),
    key("think", Time, ZERO_TIME, "Time from the end of a response to the next request."),
    key("barrier", Flag, OFF, "All flows of the group send their next request together."),
]]);

// The TCP stack.

const STACK_FORM: Form = OneOf(&[PROFILE, Table(&STACK)]);
const PROFILE: Form = Names(&["linux", "ns2"]);

pub static STACK: Keys = keys("stack", "stack = { ... }", &[&[
    key("profile", PROFILE, Is("linux"),
        "Stack whose defaults the other keys have: today's kernel, or Agent/TCP/Linux of ns-2.35."),
    key("recovery", Names(&names(Recovery::NAMES)), Words("prr; ns2: rate-halving"),
        "How losses are found and repaired."),
    key("header", Bytes(1, 1000), Words("66; ns2: 50"), "Bytes on the wire on top of the payload."),
    key("ack", Bytes(1, 1000), Words("66; ns2: 40"), "Bytes of an ACK without payload."),
    key("initial_window", Packets, Words("10; ns2: 2"), "Packets before the first ACK."),
    key("initial_ssthresh", Limit, Words("unlimited; ns2: the receive window"),
        "Packets at which the first slow start ends."),
    key("receive_window", OneOf(&[Limit, Data]), Words("unlimited; base agents of ns2: 20"),
        "Packets that the receiver allows in flight, or bytes of payload in whole packets. Without a limit a \
         receiver of `linux` offers what its memory holds: 6,094 packets of 1448 bytes, more on paths that hold more than a quarter of that."),
    key("ack_every", Whole(1, 1000), Words("2; ns2: 1"), "Segments in order per ACK."),
    key("quick_acks", Whole(0, u32::MAX as u64), Words("600, less with larger packets; ns2: 0"),
        "Segments at the start that are acknowledged one by one."),
    key("ack_delay", Time, Words("40 ms; ns2: 100 ms"), "Longest that an ACK waits for a second segment."),
    key("sack_delay", Time, Words("1 ms; ns2: 0 s"),
        "Longest that a SACK after the third of the same ACK waits for others."),
    key("timestamps", Flag, ON, "Every ACK gives an RTT sample, an ACK of a retransmission, too (RFC 7323)."),
    key("initial_rto", Time, Words("1 s; ns2: 3 s"), "Retransmission timeout before the first RTT sample."),
    key("min_rto", Time, Is("200 ms"),
        "Smallest variance term of the timeout; with rate-halving the smallest timeout."),
    key("max_rto", Time, Words("120 s; base agents of ns2: 60 s"), "Largest timeout after backoff."),
    key("restart_at_half_ssthresh", Flag, Words("false; ns2: of the algorithm"),
        "After a fast retransmit the window restarts at half of ssthresh."),
    key("detect_lost_retransmissions", Flag, Words("true; base agents of ns2: false"),
        "A retransmission counts as lost when something sent after it has arrived."),
    key("undo_spurious_rto", Flag, Words("true; ns2: false"),
        "A needless timeout is undone (RFC 3522), with prr a needless fast recovery, too."),
    key("idle_restart", Flag, Words("true; ns2: false"),
        "The window is halved for every RTO without anything in flight (RFC 2861)."),
    key("ecn", OneOf(&[Names(&names(Ecn::NAMES)), Flag]), Words("off; for dctcp dctcp, for prague l4s"),
        "Marks instead of drops."),
    key("accecn_option", Flag, ON, "ACKs with accurate ECN carry the whole number of marks, not its last 3 bits."),
    key("one_way_delays", Flag, Words("false; for ledbat true"),
        "ACKs carry the time at which the receiver sent them (RFC 6817)."),
    key("beta_ecn", Number(0.001, 0.999), NONE,
        "A mark lowers ssthresh no further than to this part of cwnd (ABE, RFC 8511)."),
    key("pacing", Names(&["own", "fq"]), Is("own"),
        "Pacing of algorithms with a rate alone, or of all as Linux with fq."),
    key("rate_limited", Names(&["own", "draft"]), Is("own"),
        "Growth of a window that is not used: the stack's own rule, or up to what the largest flight since its last reduction allows (draft-ietf-ccwg-ratelimited-increase-10).",
    ),
    key("handshake", Names(&["off", "first", "overlapped"]), Words("off; ns2: overlapped; its base agents: first"),
        "A SYN before the data, or together with them."),
    key("restart_at_one", Flag, Words("false; fack of ns2: true"),
        "A fast retransmit sets cwnd to 1 and lets it grow during recovery."),
    key("round_rtt", Flag, Words("false; compound of ns2: true"),
        "With rate-halving the algorithm gets RTTs rounded to the nearest microsecond."),
]]);

// Expectations.

pub const METRICS: &[&str] = &[
    "throughput_mbps", "goodput_mbps", "loss_ratio", "mean_rtt_ms", "p95_rtt_ms", "jain_fairness", "rtt_fairness",
    "utilization", "timeouts", "fct_p50_ms", "fct_p95_ms", "fct_p99_ms", "slowdown_p50", "slowdown_p99",
];
pub const COLUMNS_OF_FLOWS: &[&str] = &[
    "sent_pkts", "retransmitted_pkts", "delivered_pkts", "lost_pkts", "timeouts", "marked_pkts", "throughput_mbps",
    "goodput_mbps", "loss_ratio", "mean_rtt_ms", "p95_rtt_ms", "mean_cwnd_pkts", "fct_ms", "fct_p50_ms", "fct_p95_ms",
    "fct_p99_ms", "slowdown_p50", "slowdown_p99",
];
pub const COLUMNS_OF_LINKS: &[&str] = &[
    "delivered_pkts", "dropped_pkts", "error_pkts", "marked_pkts", "mean_queue_pkts", "max_queue_pkts", "utilization",
    "p95_queue_ms",
];
pub const SERIES_OF_FLOWS: &[&str] = &["cwnd_pkts", "ssthresh_pkts", "in_flight_pkts", "rtt_ms", "pacing_mbps", "throughput_mbps"];
pub const SERIES_OF_LINKS: &[&str] = &["queue_pkts", "queue_ms", "dropped_pkts", "marked_pkts"];
pub const EVENTS: &[&str] = &["loss", "cut", "recovered", "timeout", "mark", "undo", "slow-start-exit", "idle-restart"];
/// The first is the default.
pub const STATISTICS_OF_SERIES: &[&str] =
    &["every", "mean", "min", "max", "first", "last", "ratio", "rise_per_round", "largest_rise"];
pub const STATISTICS_OF_EVENTS: &[&str] = &["count", "time_s"];

const COLUMN: Form = OneOf(&[Names(METRICS), Names(COLUMNS_OF_FLOWS), Names(COLUMNS_OF_LINKS)]);
const SERIES: Form = OneOf(&[Names(SERIES_OF_FLOWS), Names(SERIES_OF_LINKS)]);
const EVENT: Form = Names(EVENTS);

/// A text of expectations alone.
pub static EXPECTATIONS: Keys = keys("expectations", "[[expect]]", &[&[
    key("expect", List(&Table(&EXPECT)), Needed, "Predicates over each run."),
]]);
pub static EXPECT: Keys = Keys { one_of: &["metric", "series", "event"], ..keys("expect", "[[expect]]", &[&[
    key("metric", COLUMN, NONE, "A metric of the run; with flow or link, a column of that row."),
    key("series", SERIES, NONE, "A time series of a flow, or with link of a link."),
    key("event", EVENT, NONE, "Events of a flow."),
    key("flow", Whole(0, FLOWS_MAX - 1), Words("0 for a series or an event"), "Number of the flow."),
    key("link", Text, NONE, "Name of the link."),
], &[
    key("at", Time, NONE, "Moment of the value."),
    key("from", Time, ZERO_TIME, "Beginning of the span."),
    key("to", Time, Words("the duration"), "End of the span."),
    key("after", EVENT, NONE, "Event of the flow with which the span begins."),
    key("number", Whole(1, 1_000_000), Is("1"), "Place of the event among those of its kind."),
    key("rounds", AnyNumber, NONE, "Smoothed RTTs from the event to the end of the span."),
], &[
    key("statistic", OneOf(&[Names(STATISTICS_OF_SERIES), Names(STATISTICS_OF_EVENTS)]), Words("every; events: count"),
        "Number that is compared; ratio is the last value over the first."),
    key("at_least", AnyNumber, NONE, "Least that is accepted."),
    key("at_most", AnyNumber, NONE, "Most that is accepted."),
    key("equals", AnyNumber, NONE, "Accepted value."),
    key("within", AnyNumber, ZERO, "Distance from equals that is accepted."),
    key("never", Names(&["falls", "rises"]), NONE, "Direction in which the series does not go from one value to the next."),
    key("why", Text, NONE, "Reason, which a failure repeats."),
]])};

// Sweeps.

pub static SWEEP: Keys = Keys { others: Some(OneOf(&[List(&Anything), Table(&SWEPT)])), ..keys("sweep", "[sweep]", &[&[
    key("zip", List(&Table(&ZIP)), NONE,
        "Lists that go together, as one axis; every other key is a key of the scenario, as \"dumbbell.buffer\"."),
]])};
static SWEPT: Keys = Keys { others: Some(Anything), ..keys("swept", "[sweep.dumbbell]", &[]) };
static ZIP: Keys = Keys { others: Some(OneOf(&[List(&Anything), Table(&RANGE)])), ..keys("zip", "[[sweep.zip]]", &[]) };
const QUANTITY: Form = OneOf(&[AnyNumber, Text]);
pub static RANGE: Keys = keys("range", "KEY = { from = ... }", &[&[
    key("from", QUANTITY, Needed, "First value."),
    key("to", QUANTITY, Needed, "Value up to which the range goes."),
    key("step", QUANTITY, NONE, "Difference of two values."),
    key("factor", AnyNumber, NONE, "Quotient of two values."),
    key("points", Whole(2, RANGE_MAX), NONE, "Number of values."),
    key("scale", Names(&["linear", "log"]), Is("linear"), "Distance of the values with points."),
]]);
