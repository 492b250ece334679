//! From the links and the groups of flows as written to the links and flows of a scenario: who crosses what.

use crate::error::{Error, quote};
use crate::node::Node;
use crate::read::flows::{Group, Route};
use crate::read::links::{LinkDraft, NamedLink, Topology};
use crate::{Flow, Link};
use std::sync::Arc;

/// The way of a flow over the links.
struct Way {
    path: Vec<u32>,
    reverse_path: Vec<u32>,
    /// Links whose delay, and sending of an ACK, the way back takes although no ACK crosses them as a packet.
    constant: Vec<u32>,
}

/// The links, and the ways of the flows in their order.
type Laid<'a> = (Vec<Link>, Box<dyn Iterator<Item = Way> + 'a>);

/// The links in an order in which every flow visits them, and the flows.
pub fn build(topology: &Topology, groups: &[Group]) -> Result<(Vec<Link>, Vec<Flow>), Error> {
    let (mut links, mut ways) = match topology {
        Topology::Dumbbell { shared, access, exit, reverse } => {
            dumbbell(groups, shared, access, *exit, reverse.as_deref())?
        }
        Topology::ParkingLot { hop, hops, access, exit } => parking_lot(groups, hop, *hops, access, *exit)?,
        Topology::Chain(drafts) => chain(groups, drafts)?,
        Topology::Links(named) => named_links(groups, named)?,
    };
    links.shrink_to_fit();
    let mut flows = Vec::with_capacity(groups.iter().map(|group| group.start_stop_ns.len()).sum());
    for group in groups {
        for (&(start_ns, stop_ns), way) in group.start_stop_ns.iter().zip(&mut ways) {
            let delay_ns = |id: &u32| {
                let link = &links[*id as usize];
                link.delay_ns + link.sending_ns(group.stack.ack_bytes)
            };
            let mut flow = Flow {
                cca: if group.is_custom { Arc::new((*group.cca).clone()) } else { group.cca.clone() },
                label: group.label.clone(),
                return_delay_ns: way.constant.iter().map(delay_ns).sum(),
                path: way.path,
                reverse_path: way.reverse_path,
                start_ns,
                start_jitter_ns: group.start_jitter_ns,
                stop_ns,
                payload_bytes: group.payload_bytes,
                app_rate_bps: group.app_rate_bps,
                on_off_ns: group.on_off_ns,
                traffic: None,
                stack: group.stack.clone(),
            };
            if let Some(draft) = &group.traffic {
                flow.traffic = Some(draft.settle(&flow, &links)?);
            }
            flows.push(flow);
        }
    }
    Ok((links, flows))
}

/// Reads buffers, of which some are in BDPs of the first flow.
struct Buffers {
    rtt_ns: u64,
    packet_bytes: u32,
}

impl Buffers {
    fn new(groups: &[Group], rtt_ns: u64) -> Buffers {
        Buffers { rtt_ns, packet_bytes: groups[0].payload_bytes + groups[0].stack.header_bytes }
    }

    fn link(&self, draft: &LinkDraft, name: String) -> Result<Link, Error> {
        draft.link(name, self.rtt_ns, self.packet_bytes)
    }
}

/// Returns the delay of each flow's own links.
fn access_delays_ns<'a>(groups: &'a [Group], access: &'a LinkDraft) -> impl Iterator<Item = u64> + 'a {
    groups.iter().flat_map(|group| {
        let delay_ns = group.access_delay_ns.unwrap_or(access.delay_ns);
        group.start_stop_ns.iter().map(move |_| delay_ns)
    })
}

/// A link of its own for each flow.
fn edges(groups: &[Group], access: &LinkDraft, side: &str, buffers: &Buffers) -> Result<Vec<Link>, Error> {
    let edge = buffers.link(access, String::new())?;
    let named = |(i, delay_ns)| Link { name: format!("{side}-{i}"), delay_ns, ..edge.clone() };
    Ok(access_delays_ns(groups, access).enumerate().map(named).collect())
}

fn dumbbell<'a>(
    groups: &'a [Group],
    shared: &LinkDraft,
    access: &LinkDraft,
    exit: bool,
    reverse: Option<&LinkDraft>,
) -> Result<Laid<'a>, Error> {
    let access_ns = access_delays_ns(groups, access).next().unwrap_or(0);
    let buffers = Buffers::new(groups, 2 * (shared.delay_ns + (1 + u64::from(exit)) * access_ns));
    let mut links = edges(groups, access, "access", &buffers)?;
    let bottleneck = links.len() as u32;
    links.push(buffers.link(shared, "bottleneck".to_owned())?);
    if let Some(draft) = reverse {
        links.push(buffers.link(draft, "reverse".to_owned())?);
    }
    let first_exit = links.len() as u32;
    if exit {
        links.extend(edges(groups, access, "exit", &buffers)?);
    }
    let up = groups.iter().flat_map(|group| group.start_stop_ns.iter().map(|_| group.route.is_up()));
    let reverse = reverse.map(|_| bottleneck + 1);
    let way = move |(flow, up): (u32, bool)| {
        let (there, back) = match reverse {
            Some(reverse) if up => (reverse, Some(bottleneck)),
            _ => (bottleneck, reverse),
        };
        let edges: Vec<u32> = [Some(flow), exit.then_some(first_exit + flow)].into_iter().flatten().collect();
        let mut path = edges.clone();
        path.insert(1, there);
        let constant = if back.is_some() { edges } else { path.clone() };
        Way { path, reverse_path: back.into_iter().collect(), constant }
    };
    Ok((links, Box::new((0..).zip(up).map(way))))
}

/// Links in a row between the flows' own; a flow crosses all of them, or one.
fn parking_lot<'a>(
    groups: &'a [Group],
    hop: &LinkDraft,
    hops: u32,
    access: &LinkDraft,
    exit: bool,
) -> Result<Laid<'a>, Error> {
    let crossed = move |route: &Route| match route {
        Route::Over(Some(hop)) => *hop..*hop + 1,
        _ => 0..hops,
    };
    let access_ns = access_delays_ns(groups, access).next().unwrap_or(0);
    let hops_ns = crossed(&groups[0].route).len() as u64 * hop.delay_ns;
    let buffers = Buffers::new(groups, 2 * (hops_ns + (1 + u64::from(exit)) * access_ns));
    let mut links = edges(groups, access, "access", &buffers)?;
    let first_hop = links.len() as u32;
    for number in 1..=hops {
        links.push(buffers.link(hop, format!("hop-{number}"))?);
    }
    let first_exit = links.len() as u32;
    if exit {
        links.extend(edges(groups, access, "exit", &buffers)?);
    }
    let routes = groups.iter().flat_map(|group| group.start_stop_ns.iter().map(|_| &group.route));
    let way = move |(flow, route): (u32, &Route)| {
        let hops = crossed(route).map(|hop| first_hop + hop);
        let path: Vec<u32> =
            [flow].into_iter().chain(hops).chain(exit.then_some(first_exit + flow)).collect();
        Way { constant: path.clone(), path, reverse_path: Vec::new() }
    };
    Ok((links, Box::new((0..).zip(routes).map(way))))
}

/// Links in a row, which every flow crosses.
fn chain<'a>(groups: &'a [Group], drafts: &[LinkDraft]) -> Result<Laid<'a>, Error> {
    let buffers = Buffers::new(groups, 2 * drafts.iter().map(|draft| draft.delay_ns).sum::<u64>());
    let link = |(i, draft)| buffers.link(draft, format!("link-{i}"));
    let links = drafts.iter().enumerate().map(link).collect::<Result<Vec<_>, _>>()?;
    let path: Vec<u32> = (0..links.len() as u32).collect();
    let way =
        move |_: &(u64, u64)| Way { path: path.clone(), reverse_path: Vec::new(), constant: path.clone() };
    let ways = groups.iter().flat_map(|group| &group.start_stop_ns).map(way);
    Ok((links, Box::new(ways)))
}

fn named_links<'a>(groups: &'a [Group], named: &[NamedLink]) -> Result<Laid<'a>, Error> {
    let order = order(groups, named)?;
    let mut place = vec![0; named.len()];
    for (new, &old) in (0..).zip(&order) {
        place[old] = new;
    }
    let delay_ns =
        |path: &[(usize, Node)]| -> u64 { path.iter().map(|&(link, _)| named[link].draft.delay_ns).sum() };
    let rtt_ns = match &groups[0].route {
        Route::Named { path, reverse_path } if !reverse_path.is_empty() => {
            delay_ns(path) + delay_ns(reverse_path)
        }
        Route::Named { path, .. } => 2 * delay_ns(path),
        _ => 0,
    };
    let buffers = Buffers::new(groups, rtt_ns);
    let link = |&old: &usize| buffers.link(&named[old].draft, named[old].name.clone());
    let links = order.iter().map(link).collect::<Result<Vec<_>, _>>()?;
    let way = move |route: &Route| {
        let Route::Named { path, reverse_path } = route else {
            return Way { path: Vec::new(), reverse_path: Vec::new(), constant: Vec::new() };
        };
        let places = |path: &[(usize, Node)]| path.iter().map(|&(link, _)| place[link]).collect::<Vec<u32>>();
        let (path, reverse_path) = (places(path), places(reverse_path));
        let constant = if reverse_path.is_empty() { path.clone() } else { Vec::new() };
        Way { path, reverse_path, constant }
    };
    let routes = groups.iter().flat_map(|group| group.start_stop_ns.iter().map(|_| &group.route));
    Ok((links, Box::new(routes.map(way))))
}

/// The links in an order in which each path visits them: of those that may come next, the one that was written first.
fn order(groups: &[Group], named: &[NamedLink]) -> Result<Vec<usize>, Error> {
    let paths: Vec<&[(usize, Node)]> = groups
        .iter()
        .filter_map(|group| match &group.route {
            Route::Named { path, reverse_path } => Some([&path[..], &reverse_path[..]]),
            _ => None,
        })
        .flatten()
        .collect();
    let mut used = vec![false; named.len()];
    paths.iter().flat_map(|path| path.iter()).for_each(|(link, _)| used[*link] = true);
    if let Some(idle) = used.iter().position(|used| !used) {
        let found = format!("no flow crosses {}", quote(&named[idle].name));
        return Err(named[idle].node.error(found, "leave it out, or name it in the 'path' of [[flows]]"));
    }
    let steps = || paths.iter().flat_map(|path| path.windows(2).map(|pair| (&pair[0], &pair[1])));
    let mut order = Vec::with_capacity(named.len());
    let mut left: Vec<usize> = (0..named.len()).collect();
    while !left.is_empty() {
        let is_first = |link: &usize| !steps().any(|(from, to)| to.0 == *link && left.contains(&from.0));
        let Some(next) = left.iter().position(is_first) else {
            return Err(circle(named, &left, steps()));
        };
        order.push(left.remove(next));
    }
    Ok(order)
}

/// Each of the links `left` follows another of them.
fn circle<'a, 'b: 'a>(
    named: &[NamedLink],
    left: &[usize],
    steps: impl Iterator<Item = (&'a (usize, Node<'b>), &'a (usize, Node<'b>))>,
) -> Error {
    let steps: Vec<_> = steps.filter(|(from, to)| left.contains(&from.0) && left.contains(&to.0)).collect();
    // Back from one to the next until one comes again.
    let mut seen = vec![left[0]];
    let (at, from) = loop {
        let last = seen[seen.len() - 1];
        let (from, to) = steps.iter().find(|(_, to)| to.0 == last).expect("each follows another");
        if let Some(at) = seen.iter().position(|&link| link == from.0) {
            break (at, &to.1);
        }
        seen.push(from.0);
    };
    let names: Vec<&str> = seen[at..].iter().rev().map(|&link| named[link].name.as_str()).collect();
    let found = format!("the paths make a circle: {}, {} again", names.join(", "), names[0]);
    from.error(found, "paths that visit the links in one order; a link carries packets in one direction")
}
