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
    /// Packets that connections may yet record; 0: none does.
    to_record: usize,
    by_ends: HashMap<(End, End), usize>,
    last: Option<((End, End), usize)>,
}

impl Table {
    /// A table whose connections record up to `most` packets together.
    pub fn recording(most: usize) -> Self {
        Table { to_record: most, ..Table::default() }
    }

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
                let mut connection = Connection::new(s);
                connection.record = (self.to_record > 0).then(Box::default);
                self.connections.push(connection);
                self.by_ends.insert(ends, self.connections.len() - 1);
                self.connections.len() - 1
            }
        };
        self.last = Some((ends, at));
        let connection = &mut self.connections[at];
        if let Some(record) = &mut connection.record {
            let from = u8::from(s.from != connection.ends[0]);
            self.to_record -= usize::from(record.take(s, from, self.to_record > 0));
        }
        connection.take(s);
    }
}
