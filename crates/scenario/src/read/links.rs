//! The links of a scenario, as written: which there are, and what each is like.

use crate::description::bdp_bytes;
use crate::error::{Error, Refusal, quote};
use crate::keys::{self, HOPS_MAX, Keys};
use crate::node::{Node, Table};
use crate::read::{impairments, queue, variation};
use crate::units::{self, Buffer, HOUR, PacketsOrTime};
use crate::{DelayStep, Impairments, Link, Queue, RateVariation, Variation};
use toml::de::DeValue;

const LINKS_MAX: usize = 1000;
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
    pub ecn_threshold: EcnThreshold,
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
    /// So many equal links in a row, and links of each flow's own.
    ParkingLot {
        hop: LinkDraft<'a>,
        hops: u32,
        access: Box<LinkDraft<'a>>,
        exit: bool,
    },
    Links(Vec<NamedLink<'a>>),
}

/// A link of `[[links]]`.
pub struct NamedLink<'a> {
    pub name: String,
    /// Node of the name.
    pub node: Node<'a>,
    pub draft: LinkDraft<'a>,
}

pub fn topology<'a>(root: &Table<'a>) -> Result<Topology<'a>, Error> {
    let given: Vec<(&Keys, Node)> =
        keys::TOPOLOGIES.into_iter().filter_map(|keys| Some((keys, root.get(keys.name)?))).collect();
    let (keys, node) = match &given[..] {
        [] => return Err(root.missing("dumbbell", &format!("give the links as {}", one_of_topologies()))),
        [one] => one,
        [(first, _), (second, node), ..] => {
            return Err(
                node.error(format!("both {} and {}", first.written, second.written), "give one of them")
            );
        }
    };
    match keys.name {
        "dumbbell" => dumbbell(&node.table(keys)?),
        "chain" => chain(node),
        "parking_lot" => parking_lot(&node.table(keys)?),
        _ => named(node),
    }
}

fn one_of_topologies() -> String {
    let [others @ .., last] = keys::TOPOLOGIES.map(|keys| keys.written);
    format!("{} or {last}", others.join(", "))
}

fn dumbbell<'a>(table: &Table<'a>) -> Result<Topology<'a>, Error> {
    let shared = link(table)?;
    let (access, exit) = edges(table, &shared)?;
    let reverse =
        table.get("reverse").map(|node| reverse(&node.table(&keys::REVERSE)?, &shared)).transpose()?;
    Ok(Topology::Dumbbell { shared, access, exit, reverse: reverse.map(Box::new) })
}

fn parking_lot<'a>(table: &Table<'a>) -> Result<Topology<'a>, Error> {
    let hop = link(table)?;
    let hops = table.need("hops", "give it like hops = 3")?;
    let hops = hops.read(|value| units::whole(value, keys::PARKING_LOT.bounds("hops")))? as u32;
    let (access, exit) = edges(table, &hop)?;
    Ok(Topology::ParkingLot { hop, hops, access, exit })
}

/// Reads each flow's own link, and whether there is one behind `shared`, too.
fn edges<'a>(table: &Table<'a>, shared: &LinkDraft) -> Result<(Box<LinkDraft<'a>>, bool), Error> {
    let mut access = LinkDraft {
        rate_bps: shared.rate_bps * ACCESS_SPEEDUP,
        delay_ns: 0,
        buffer: None,
        per: 0.0,
        ecn_threshold: EcnThreshold::default(),
        queue: None,
        variation: None,
        impairments: None,
    };
    if let Some(node) = table.get("access") {
        let table = node.table(&keys::ACCESS)?;
        access.rate_bps = table.read("rate", units::rate)?.unwrap_or(access.rate_bps);
        access.delay_ns = table.read("delay", delay)?.unwrap_or(access.delay_ns);
        access.buffer = table.get("buffer");
    }
    Ok((Box::new(access), table.read("exit", units::flag)?.unwrap_or(true)))
}

/// The way back of a dumbbell: as fast and as long as the way there, and without a limit, unless given.
fn reverse<'a>(table: &Table<'a>, there: &LinkDraft) -> Result<LinkDraft<'a>, Error> {
    let rate = table.get("rate").map(|node| variation::rate(&node)).transpose()?;
    let delay = table.get("delay").map(|node| variation::delay(&node)).transpose()?;
    let rate = rate.unwrap_or((there.rate_bps, None));
    link_with(table, rate, delay.unwrap_or((there.delay_ns, Vec::new())), table.get("buffer"))
}

fn chain<'a>(node: &Node<'a>) -> Result<Topology<'a>, Error> {
    let tables = node.tables("chain", &keys::CHAIN)?;
    if tables.len() as u64 > HOPS_MAX {
        return Err(node.error(format!("{} links", tables.len()), format!("at most {HOPS_MAX}")));
    }
    Ok(Topology::Chain(tables.iter().map(link).collect::<Result<_, _>>()?))
}

fn named<'a>(node: &Node<'a>) -> Result<Topology<'a>, Error> {
    let tables = node.tables("links", &keys::LINKS)?;
    if tables.len() > LINKS_MAX {
        return Err(node.error(format!("{} links", tables.len()), format!("at most {LINKS_MAX}")));
    }
    let mut links: Vec<NamedLink> = Vec::with_capacity(tables.len());
    for table in tables {
        let node = table.need("name", "give each link a name, like name = \"uplink\"")?;
        let name = node.read(units::name)?;
        if links.iter().any(|other| other.name == name) {
            return Err(node.error(format!("a second link {}", quote(&name)), "another name"));
        }
        links.push(NamedLink { name, node, draft: link(&table)? });
    }
    Ok(Topology::Links(links))
}

fn link<'a>(table: &Table<'a>) -> Result<LinkDraft<'a>, Error> {
    let rate = variation::rate(&table.need("rate", RATE_EXAMPLE)?)?;
    let delay = match (table.get("delay"), table.get("rtt")) {
        (None, Some(node)) => (node.read(rtt)? / 2, Vec::new()),
        (Some(_), Some(node)) => return Err(node.error("both 'delay' and 'rtt'", "give one of them")),
        (_, None) => variation::delay(&table.need("delay", DELAY_EXAMPLE)?)?,
    };
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
        ecn_threshold: ecn_threshold(table, queue.is_some())?,
        queue,
        variation: variation::variation(table, rate_variation, delay_steps)?,
        impairments: impairments::impairments(table, bursts, least_delay_ns)?,
    })
}

/// From where on droptail marks.
#[derive(Clone, Copy, Default)]
pub struct EcnThreshold {
    pkts: Option<u32>,
    /// Waits from which on a packet may be marked, and is.
    wait_ns: Option<[u64; 2]>,
}

fn ecn_threshold(table: &Table, managed: bool) -> Result<EcnThreshold, Error> {
    let Some(node) = table.get("ecn_threshold") else { return Ok(EcnThreshold::default()) };
    if managed {
        return Err(
            node.error("a threshold of droptail", "the discipline of 'queue' marks by itself: leave it out")
        );
    }
    let wait = |value: &DeValue| units::time(value, 0..=HOUR, "'0 s' to '60 min'");
    if node.value().as_array().is_some() {
        let ends: Vec<Node> = node.elements().collect();
        let [least, most] = ends.as_slice() else {
            return Err(node.error("not two times", "write it like ['800 us', '1200 us']"));
        };
        let wait_ns = [least.read(wait)?, most.read(wait)?];
        if wait_ns[0] > wait_ns[1] {
            return Err(node.error("a ramp that ends before it begins", "the shorter time first"));
        }
        return Ok(EcnThreshold { wait_ns: Some(wait_ns), pkts: None });
    }
    Ok(match node.read(units::packets_or_time)? {
        PacketsOrTime::Packets(pkts) => EcnThreshold { pkts, wait_ns: None },
        PacketsOrTime::Time(ns) => EcnThreshold { wait_ns: Some([ns; 2]), pkts: None },
    })
}

/// Twice the delay of a link.
fn rtt(value: &DeValue) -> Result<u64, Refusal> {
    units::time(value, 0..=2 * HOUR, "'0 s' to '120 min'")
}

pub fn delay(value: &DeValue) -> Result<u64, Refusal> {
    units::time(value, 0..=HOUR, "'0 s' to '60 min'")
}

impl LinkDraft<'_> {
    /// `rtt_ns` and `packet_bytes` are those of the first flow.
    pub fn link(&self, name: String, rtt_ns: u64, packet_bytes: u32) -> Result<Link, Error> {
        let (buffer_pkts, buffer_bytes) = self.limits(rtt_ns, packet_bytes)?;
        Ok(Link {
            name,
            rate_bps: self.rate_bps,
            delay_ns: self.delay_ns,
            buffer_pkts,
            buffer_bytes,
            per: self.per,
            ecn_threshold_pkts: self.ecn_threshold.pkts,
            ecn_wait_ns: self.ecn_threshold.wait_ns,
            queue: self.queue.clone(),
            variation: self.variation.clone(),
            impairments: self.impairments.clone(),
        })
    }

    /// The buffer in packets and in bytes; None: no limit.
    fn limits(&self, rtt_ns: u64, packet_bytes: u32) -> Result<(Option<u32>, Option<u64>), Error> {
        let Some(node) = &self.buffer else { return Ok((None, None)) };
        let pkts = match node.read(units::buffer)? {
            Buffer::Unlimited => return Ok((None, None)),
            Buffer::Packets(count) => return Ok((Some(count), None)),
            Buffer::Bytes(bytes) => return Ok((None, Some(self.enough(node, bytes, packet_bytes)?))),
            Buffer::Time(time_ns) => {
                let bytes = u128::from(time_ns) * u128::from(self.rate_bps) / 8_000_000_000;
                return Ok((None, Some(self.enough(node, bytes as u64, packet_bytes)?)));
            }
            Buffer::Bdp(bdps) => bdps * bdp_bytes(self.rate_bps, rtt_ns) / f64::from(packet_bytes),
        };
        if pkts.round() < 1.0 {
            return Err(node.error("less than one packet on this path", units::packet_limits()));
        }
        if pkts.round() > units::PACKETS_MAX as f64 {
            return Err(node.error("more packets than a buffer can have", units::packet_limits()));
        }
        Ok((Some(pkts.round() as u32), None))
    }

    /// Bytes in which a packet of the first flow has room.
    fn enough(&self, node: &Node, bytes: u64, packet_bytes: u32) -> Result<u64, Error> {
        if bytes < packet_bytes.into() {
            let found = format!("{bytes} bytes, less than one packet of {packet_bytes}");
            return Err(node.error(found, "room for one packet at least"));
        }
        if let Some(threshold_pkts) = self.ecn_threshold.pkts {
            let found = format!("a buffer in bytes beside an ECN threshold of {threshold_pkts} packets");
            return Err(node.error(found, "a buffer in packets"));
        }
        Ok(bytes)
    }
}
