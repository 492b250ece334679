//! Summaries of a connection's time in slots, which double their width when there are too many.

/// The width of slots at first: a tenth of the window of an RTT of 100 ms.
const WIDTH_NS: u64 = 10_000_000;

/// Slots of a direction, at most: 40 s of the first width, an hour of slots of a second.
const MOST: u64 = 4096;

/// A sentinel of minima without a sample.
pub(crate) const NONE: u32 = u32::MAX;

/// A state of the sender between two packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// Something is in flight, with room for more.
    #[default]
    Flying,
    /// All that was sent is acknowledged.
    Idle,
    /// The advertised window has no room for another segment.
    Blocked,
    /// The advertised window is zero.
    Closed,
}

/// Counts of a slot.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub at: u64,
    /// New bytes.
    pub sent: u64,
    pub resent: u64,
    pub delivered: u64,
    pub flight: u32,
    pub window: u32,
    pub rtt_min: u32,
    pub rtt_sum: u64,
    pub rtt_count: u32,
    /// Half of the RTT on the sender's side of the capture, by echoes of timestamps.
    pub release_min: u32,
    /// Least one-way delays of data and ACKs by the receiver's clock, each with an unknown constant.
    pub forward: i32,
    pub back: i32,
    pub segments: u32,
    /// Segments below the MSS.
    pub short: u32,
    /// Bytes of segments that left long after the last ACK.
    pub unclocked: u64,
    pub losses: u32,
    pub marks: u32,
    pub idle_ns: u64,
    pub blocked_ns: u64,
    pub closed_ns: u64,
    /// State when the slot was last touched.
    pub state: State,
}

impl Slot {
    /// An empty slot.
    pub fn new(at: u64, state: State) -> Self {
        Slot {
            at,
            sent: 0,
            resent: 0,
            delivered: 0,
            flight: 0,
            window: 0,
            rtt_min: NONE,
            rtt_sum: 0,
            rtt_count: 0,
            release_min: NONE,
            forward: i32::MAX,
            back: i32::MAX,
            segments: 0,
            short: 0,
            unclocked: 0,
            losses: 0,
            marks: 0,
            idle_ns: 0,
            blocked_ns: 0,
            closed_ns: 0,
            state,
        }
    }

    /// Adds the time that a state lasted.
    pub fn lasted(&mut self, state: State, ns: u64) {
        match state {
            State::Flying => {}
            State::Idle => self.idle_ns += ns,
            State::Blocked => self.blocked_ns += ns,
            State::Closed => self.closed_ns += ns,
        }
    }

    /// Adds the counts of a later slot.
    pub fn add(&mut self, later: &Slot) {
        self.sent += later.sent;
        self.resent += later.resent;
        self.delivered += later.delivered;
        self.flight = self.flight.max(later.flight);
        self.window = self.window.max(later.window);
        self.rtt_min = self.rtt_min.min(later.rtt_min);
        self.rtt_sum += later.rtt_sum;
        self.rtt_count += later.rtt_count;
        self.release_min = self.release_min.min(later.release_min);
        self.forward = self.forward.min(later.forward);
        self.back = self.back.min(later.back);
        self.segments += later.segments;
        self.short += later.short;
        self.unclocked += later.unclocked;
        self.losses += later.losses;
        self.marks += later.marks;
        self.idle_ns += later.idle_ns;
        self.blocked_ns += later.blocked_ns;
        self.closed_ns += later.closed_ns;
        self.state = later.state;
    }
}

/// The slots of a direction that something happened in, in order.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    pub width_ns: u64,
    slots: Vec<Slot>,
    state: State,
    since_ns: u64,
}

impl Default for Slots {
    fn default() -> Self {
        Slots { width_ns: WIDTH_NS, slots: Vec::new(), state: State::Idle, since_ns: 0 }
    }
}

impl Slots {
    /// The slot of `now_ns`, which is relative to the connection's beginning.
    pub fn at(&mut self, now_ns: u64) -> &mut Slot {
        while now_ns / self.width_ns >= MOST {
            self.double();
        }
        let last = self.slots.last().map_or(0, |slot| slot.at);
        let at = (now_ns / self.width_ns).max(last);
        if self.slots.last().is_none_or(|slot| slot.at < at) {
            self.slots.push(Slot::new(at, self.state));
        }
        let end = self.slots.len() - 1;
        &mut self.slots[end]
    }

    /// Credits the time since the last call to the present state, and changes it.
    pub fn turn(&mut self, now_ns: u64, state: State) {
        let (from, was) = (self.since_ns, self.state);
        if now_ns > from {
            let width = self.width_ns;
            if let Some(last) = self.slots.last_mut() {
                let end = (last.at + 1) * width;
                last.lasted(was, end.min(now_ns).saturating_sub(from.max(last.at * width)));
            }
            // Slots between these two are empty: `dense` credits them.
            let before = self.slots.len();
            let slot = self.at(now_ns);
            let begin = slot.at * width;
            if self.slots.len() > before && self.width_ns == width {
                let end = self.slots.len() - 1;
                self.slots[end].lasted(was, now_ns.saturating_sub(begin.max(from)));
            }
            self.since_ns = now_ns;
        }
        self.state = state;
        if let Some(last) = self.slots.last_mut() {
            last.state = state;
        }
    }

    fn double(&mut self) {
        self.width_ns *= 2;
        let mut kept = 0;
        for at in 0..self.slots.len() {
            let mut slot = self.slots[at].clone();
            slot.at /= 2;
            if kept > 0 && self.slots[kept - 1].at == slot.at {
                self.slots[kept - 1].add(&slot);
            } else {
                self.slots[kept] = slot;
                kept += 1;
            }
        }
        self.slots.truncate(kept);
    }

    /// All slots up to `end_ns`, those without events too.
    pub fn dense(&self, end_ns: u64) -> Vec<Slot> {
        let count = (end_ns / self.width_ns + 1).min(MOST);
        let mut dense: Vec<Slot> = Vec::with_capacity(count as usize);
        let mut given = self.slots.iter().peekable();
        let mut state = State::Idle;
        for at in 0..count {
            match given.next_if(|slot| slot.at <= at) {
                Some(slot) => {
                    state = slot.state;
                    dense.push(slot.clone());
                }
                None => {
                    let mut empty = Slot::new(at, state);
                    empty.lasted(state, self.width_ns);
                    dense.push(empty);
                }
            }
        }
        dense
    }
}
