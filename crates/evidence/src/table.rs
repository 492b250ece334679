//! All connections of a capture.

use crate::connection::Connection;
use crate::segment::{End, SYN, Segment};
use std::collections::HashMap;

/// Connections that are followed, at most: each takes a kilobyte until it sends.
const MOST: usize = 200_000;

/// Connections in the order of their first packets.
#[derive(Default)]
pub(crate) struct Table {
    pub connections: Vec<Connection>,
    /// Segments of connections that are not followed.
    pub beyond: u64,
    by_ends: HashMap<(End, End), usize>,
    last: Option<((End, End), usize)>,
}

impl Table {
    /// Hands a segment to its connection.
    pub fn take(&mut self, s: &Segment) {
        let ends = if s.from <= s.to { (s.from, s.to) } else { (s.to, s.from) };
        let known = match self.last {
            Some((last, at)) if last == ends => Some(at),
            _ => self.by_ends.get(&ends).copied(),
        };
        let known = known.filter(|&at| !s.has(SYN) || !self.connections[at].is_over_for(s));
        let at = match known {
            Some(at) => at,
            None if self.connections.len() >= MOST => {
                self.beyond += 1;
                return;
            }
            None => {
                self.connections.push(Connection::new(s));
                self.by_ends.insert(ends, self.connections.len() - 1);
                self.connections.len() - 1
            }
        };
        self.last = Some((ends, at));
        self.connections[at].take(s);
    }
}
