//! Parts of a run besides its scenario.

use crate::instances::Custom;
use crate::net::endpoints::Endpoints;
use crate::net::link::queue::discipline::Discipline;
use crate::net::link::queue::packet_by_packet;
use crate::net::tap::Tap;
use cwnd_scenario::Scenario;

/// Parts that a caller may bring to a run without a line in this crate.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// Algorithms that the registry does not have.
    pub algorithms: Custom<'a>,
    /// The discipline of each link, in a run with a seed. Those of several links may share what they know: the network asks them in
    /// the order of time.
    pub disciplines: &'a dyn Fn(&Scenario, u32, u64) -> Box<dyn Discipline>,
    /// The ends of the flow with this number, which begins at a time; None: TCP, or datagrams.
    pub transports: Transports<'a>,
    /// A tap on a connection of the flow with this number, which begins at a time; None: nobody looks.
    pub taps: Taps<'a>,
    /// The most packets that may be under way at one time.
    pub packets_max: usize,
}

/// Makes the ends of the flow with a number, which begins at a time.
pub type Transports<'a> = &'a dyn Fn(u32, u64) -> Option<Box<dyn Endpoints<'a> + 'a>>;

/// Makes the tap of a connection of the flow with a number, which begins at a time.
pub type Taps<'a> = &'a dyn Fn(u32, u64) -> Option<Box<dyn Tap + 'a>>;

impl Default for Parts<'_> {
    fn default() -> Self {
        Parts {
            algorithms: &|_| None,
            disciplines: &packet_by_packet,
            transports: &|_, _| None,
            taps: &|_, _| None,
            packets_max: PACKETS_MAX,
        }
    }
}

/// Packets under way at one time; they take less than 4 GB.
const PACKETS_MAX: usize = 20_000_000;
