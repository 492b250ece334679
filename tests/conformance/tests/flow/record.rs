//! Input and output of the driver of the modules: records of hooks, and the windows after each.

use cwnd_algorithms::{Ack, Event, State};
use std::fmt;

/// `enum kind` of `driver.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    Start,
    /// The kernel's `in_ack_event`, which the contract does not have.
    AckSeen,
    PktsAcked,
    CongAvoid,
    CongControl,
    /// The kernel computes its pacing rate.
    AckDone,
    Ssthresh,
    SetState,
    CwndEvent,
    Undo,
    SetCwnd,
    SetSsthresh,
}

/// `struct stack` of `driver.c`; segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stack {
    pub una: u32,
    pub nxt: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retransmitted: u32,
    pub advance: u32,
    pub lost_ever: u32,
    pub delivered_us: u64,
    pub last_sent_us: u64,
}

/// `struct answer` of `driver.c`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub cwnd: u32,
    pub ssthresh: u32,
    /// By `ssthresh` and `undo_cwnd`.
    pub returned: u32,
    /// Where the algorithm paces.
    pub pacing_rate: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub kind: Kind,
    pub arg: u32,
    pub a: Ack,
    pub s: Stack,
}

pub const RECORD_BYTES: usize = 2 * 4 + 112 + 8 * 4 + 2 * 8;
pub const ANSWER_BYTES: usize = 4 * 4 + 8;

impl Record {
    /// `struct event` of `driver.c`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (a, s) = (&self.a, &self.s);
        let length = out.len();
        let mut word = |x: u32| out.extend(x.to_ne_bytes());
        word(self.kind as u32);
        word(self.arg);
        for long in [a.now_us, a.delivered, a.rate_prior_delivered, a.delivered_ce, a.lost_total] {
            out.extend(long.to_ne_bytes());
        }
        for word in [
            a.rate_delivered,
            a.rate_interval_us,
            a.rate_in_flight,
            a.rate_lost,
            a.rtt_us,
            a.srtt_us,
            a.min_rtt_us,
            a.acked,
            a.ce,
            a.lost,
            a.owd_us,
            a.prior_in_flight,
            a.in_flight,
            a.snd_wnd,
            a.mss,
            a.chance,
        ] {
            out.extend(word.to_ne_bytes());
        }
        out.extend([a.state, a.flags, 0, 0]);
        out.extend([0; 4]); // the end of `struct cc_ack`, whose size is a multiple of eight
        for word in [s.una, s.nxt, s.sacked, s.lost, s.retransmitted, s.advance, s.lost_ever, 0] {
            out.extend(word.to_ne_bytes());
        }
        out.extend(s.delivered_us.to_ne_bytes());
        out.extend(s.last_sent_us.to_ne_bytes());
        assert_eq!(out.len() - length, RECORD_BYTES);
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (a, s) = (&self.a, &self.s);
        match self.kind {
            Kind::CwndEvent => write!(f, "{:?}", EVENTS[self.arg as usize])?,
            Kind::SetState => write!(f, "{:?}", STATES[self.arg as usize])?,
            kind => write!(f, "{kind:?} {}", self.arg)?,
        }
        write!(
            f,
            ": now {} us, {:?}, flags {}, acked {} ({} in order), lost {}, delivered {}, in flight {} -> {}, \
             rtt {} srtt {} min {} us, una {} nxt {} sacked {} lost {} retransmitted {}",
            a.now_us,
            STATES[a.state as usize],
            a.flags,
            a.acked,
            s.advance,
            a.lost,
            a.delivered,
            a.prior_in_flight,
            a.in_flight,
            a.rtt_us,
            a.srtt_us,
            a.min_rtt_us,
            s.una,
            s.nxt,
            s.sacked,
            s.lost,
            s.retransmitted
        )?;
        if a.rate_interval_us > 0 {
            write!(
                f,
                ", rate {} in {} us from {}",
                a.rate_delivered, a.rate_interval_us, a.rate_prior_delivered
            )?;
        }
        Ok(())
    }
}

impl Answer {
    pub fn read(bytes: &[u8]) -> Answer {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        Answer {
            cwnd: word(0),
            ssthresh: word(4),
            returned: word(8),
            pacing_rate: u64::from_ne_bytes(bytes[16..24].try_into().expect("eight bytes")),
        }
    }
}

pub const STATES: [State; 5] = [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss];
pub const EVENTS: [Event; 4] = [Event::TxStart, Event::CwndRestart, Event::CompleteCwr, Event::Rto];
