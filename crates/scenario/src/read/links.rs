//! The links of a scenario, as written: which there are, and what each is like.

use crate::description::bdp_bytes;
use crate::error::{Error, Refusal};
use crate::node::{Node, Table};
use crate::read::{impairments, queue, variation};
use crate::units::{self, Buffer, HOUR};
use crate::{DelayStep, Impairments, Link, Queue, RateVariation, Variation};
use toml::de::DeValue;

const DUMBBELL_KEYS: [&str; 14] = [
    "rate",
    "queue",
    "delay",
    "buffer",
    "per",
    "ecn_threshold",
    "loss",
    "jitter",
    "reorder",
    "duplicate",
    "policer",
    "access",
    "exit",
    "reverse",
];
const ACCESS_KEYS: [&str; 3] = ["rate", "delay", "buffer"];
const LINK_KEYS: [&str; 11] = [
    "rate",
    "queue",
    "delay",
    "buffer",
    "per",
    "ecn_threshold",
    "loss",
    "jitter",
    "reorder",
    "duplicate",
    "policer",
];

const CHAIN_LINKS_MAX: usize = 100;
/// How much faster than the bottleneck an access link without a rate is.
const ACCESS_SPEEDUP: u64 = 10;

const RATE_EXAMPLE: &str = "give it like rate = \"1 Gbps\"";
const DELAY_EXAMPLE: &str = "give it like delay = \"100 ms\", one way";
const BUFFER_EXAMPLE: &str = "give it like buffer = \"1 BDP\" or \"6400 packets\"";

/// A link whose buffer may depend on the first flow's path.
pub struct LinkDraft<'a> {
    pub rate_bps: u64,
    pub delay_ns: u64,
    /// None: unlimited.
    pub buffer: Option<Node<'a>>,
    pub per: f64,
    pub ecn_threshold_pkts: Option<u32>,
    pub queue: Option<Queue>,
    pub variation: Option<Box<Variation>>,
    pub impairments: Option<Box<Impairments>>,
}

pub enum Topology<'a> {
    /// `exit`: each flow has a link of its own behind the shared one too.
    Dumbbell {
        shared: LinkDraft<'a>,
        access: Box<LinkDraft<'a>>,
        exit: bool,
        /// ACKs cross it, and flows that send the other way.
        reverse: Option<Box<LinkDraft<'a>>>,
    },
    Chain(Vec<LinkDraft<'a>>),
}

pub fn topology<'a>(root: &Table<'a>) -> Result<Topology<'a>, Error> {
    match (root.get("dumbbell"), root.get("chain")) {
        (Some(node), None) => dumbbell(&node.table(&DUMBBELL_KEYS)?),
        (None, Some(node)) => chain(&node),
        (Some(_), Some(chain)) => Err(chain.error("both [dumbbell] and [[chain]]", "give one of them")),
        (None, None) => Err(root.missing("dumbbell", "give the links as [dumbbell] or [[chain]]")),
    }
}

fn dumbbell<'a>(table: &Table<'a>) -> Result<Topology<'a>, Error> {
    let shared = link(table)?;
    let mut access = LinkDraft {
        rate_bps: shared.rate_bps * ACCESS_SPEEDUP,
        delay_ns: 0,
        buffer: None,
        per: 0.0,
        ecn_threshold_pkts: None,
        queue: None,
        variation: None,
        impairments: None,
    };
    if let Some(node) = table.get("access") {
        let table = node.table(&ACCESS_KEYS)?;
        access.rate_bps = table.read("rate", units::rate)?.unwrap_or(access.rate_bps);
        access.delay_ns = table.read("delay", delay)?.unwrap_or(access.delay_ns);
        access.buffer = table.get("buffer");
    }
    let exit = table.read("exit", units::flag)?.unwrap_or(true);
    let reverse = table.get("reverse").map(|node| reverse(&node.table(&LINK_KEYS)?, &shared)).transpose()?;
    Ok(Topology::Dumbbell { shared, access: Box::new(access), exit, reverse: reverse.map(Box::new) })
}

/// The way back of a dumbbell: as fast and as long as the way there, and without a limit, unless given.
fn reverse<'a>(table: &Table<'a>, there: &LinkDraft) -> Result<LinkDraft<'a>, Error> {
    let rate = table.get("rate").map(|node| variation::rate(&node)).transpose()?;
    let delay = table.get("delay").map(|node| variation::delay(&node)).transpose()?;
    let rate = rate.unwrap_or((there.rate_bps, None));
    link_with(table, rate, delay.unwrap_or((there.delay_ns, Vec::new())), table.get("buffer"))
}

fn chain<'a>(node: &Node<'a>) -> Result<Topology<'a>, Error> {
    let tables = node.tables("chain", &LINK_KEYS)?;
    if tables.len() > CHAIN_LINKS_MAX {
        return Err(node.error(format!("{} links", tables.len()), format!("at most {CHAIN_LINKS_MAX}")));
    }
    Ok(Topology::Chain(tables.iter().map(link).collect::<Result<_, _>>()?))
}

fn link<'a>(table: &Table<'a>) -> Result<LinkDraft<'a>, Error> {
    let rate = variation::rate(&table.need("rate", RATE_EXAMPLE)?)?;
    let delay = variation::delay(&table.need("delay", DELAY_EXAMPLE)?)?;
    let buffer = table.need("buffer", BUFFER_EXAMPLE)?;
    link_with(table, rate, delay, Some(buffer))
}

/// The other keys of a link.
fn link_with<'a>(
    table: &Table<'a>,
    (rate_bps, rate_variation): (u64, Option<RateVariation>),
    (delay_ns, delay_steps): (u64, Vec<DelayStep>),
    buffer: Option<Node<'a>>,
) -> Result<LinkDraft<'a>, Error> {
    let least_delay_ns = delay_steps.iter().map(|step| step.delay_ns).min().unwrap_or(delay_ns);
    let (per, bursts) = impairments::losses(table)?;
    let queue = table.get("queue").map(|node| queue::queue(&node)).transpose()?.flatten();
    Ok(LinkDraft {
        rate_bps,
        delay_ns,
        buffer,
        per,
        ecn_threshold_pkts: ecn_threshold(table, queue.is_some())?,
        queue,
        variation: variation::variation(table, rate_variation, delay_steps)?,
        impairments: impairments::impairments(table, bursts, least_delay_ns)?,
    })
}

fn ecn_threshold(table: &Table, managed: bool) -> Result<Option<u32>, Error> {
    match table.get("ecn_threshold") {
        Some(node) if managed => {
            Err(node
                .error("a threshold of droptail", "the discipline of 'queue' marks by itself: leave it out"))
        }
        _ => Ok(table.read("ecn_threshold", units::packets)?.flatten()),
    }
}

pub fn delay(value: &DeValue) -> Result<u64, Refusal> {
    units::time(value, 0..=HOUR, "'0 s' to '60 min'")
}

impl LinkDraft<'_> {
    pub fn link(&self, name: String, buffer_pkts: Option<u32>) -> Link {
        Link {
            name,
            rate_bps: self.rate_bps,
            delay_ns: self.delay_ns,
            buffer_pkts,
            per: self.per,
            ecn_threshold_pkts: self.ecn_threshold_pkts,
            queue: self.queue.clone(),
            variation: self.variation.clone(),
            impairments: self.impairments.clone(),
        }
    }

    pub fn buffer_pkts(&self, rtt_ns: u64, packet_bytes: u32) -> Result<Option<u32>, Error> {
        let Some(node) = &self.buffer else { return Ok(None) };
        let bdps = match node.read(units::buffer)? {
            Buffer::Unlimited => return Ok(None),
            Buffer::Packets(count) => return Ok(Some(count)),
            Buffer::Bdp(bdps) => bdps,
        };
        let count = (bdps * bdp_bytes(self.rate_bps, rtt_ns) / f64::from(packet_bytes)).round();
        if count < 1.0 {
            return Err(node.error("less than one packet on this path", units::packet_limits()));
        }
        if count > units::PACKETS_MAX as f64 {
            return Err(node.error("more packets than a buffer can have", units::packet_limits()));
        }
        Ok(Some(count as u32))
    }
}
