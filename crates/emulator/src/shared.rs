//! The state that the threads of a run share.

use crate::sys;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Packets of one device between two looks at the other.
pub const BATCH: usize = 32;

/// Data packets of a flow.
#[derive(Default)]
pub struct FlowCounts {
    pub delivered_pkts: AtomicU64,
    /// On the wire.
    pub delivered_bytes: AtomicU64,
    pub marked_pkts: AtomicU64,
}

/// State that the threads of a run share.
pub struct Shared {
    pub begin_ns: u64,
    pub stop: AtomicBool,
    /// No flow sends any more.
    pub flows_ended: AtomicBool,
    /// Set by the emulator once the flows have ended and nothing is under way.
    pub is_quiet: AtomicBool,
    /// Links are measured up to here, or until they are stopped if that is later.
    pub end_ns: AtomicU64,
    pub flows: Vec<FlowCounts>,
    pub last_arrival_ns: AtomicU64,
    /// Time in which data was moved.
    pub worked_ns: AtomicU64,
}

impl Shared {
    pub fn new(flows: usize) -> Arc<Shared> {
        Arc::new(Shared {
            begin_ns: sys::now_ns(),
            stop: AtomicBool::new(false),
            flows_ended: AtomicBool::new(false),
            is_quiet: AtomicBool::new(false),
            end_ns: AtomicU64::new(0),
            flows: std::iter::repeat_with(FlowCounts::default).take(flows).collect(),
            last_arrival_ns: AtomicU64::new(0),
            worked_ns: AtomicU64::new(0),
        })
    }

    /// Since the beginning.
    pub fn now_ns(&self) -> u64 {
        sys::now_ns() - self.begin_ns
    }
}
