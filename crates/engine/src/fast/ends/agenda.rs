//! When each flow has something to do.

use crate::memory::prefetch::prefetch_at;
use crate::time::NEVER;

/// Flows that are passed over with one look if none of them has something to do.
const FLOWS_PER_BLOCK: usize = 16;

pub struct Agenda {
    /// By flow, or NEVER.
    due: Vec<u64>,
    /// By block of flows: none of them is due sooner.
    blocks: Vec<u64>,
    /// No flow is due sooner.
    earliest: u64,
    /// The flows that a span goes through. Empty between spans.
    now: Vec<u32>,
}

impl Agenda {
    /// Creates the agenda of so many flows, which have nothing to do.
    pub fn new(flows: usize) -> Agenda {
        let blocks = vec![NEVER; flows.div_ceil(FLOWS_PER_BLOCK)];
        Agenda { due: vec![NEVER; flows], blocks, earliest: NEVER, now: Vec::new() }
    }

    /// One more flow, which has nothing to do.
    pub fn push(&mut self) {
        if self.due.len().is_multiple_of(FLOWS_PER_BLOCK) {
            self.blocks.push(NEVER);
        }
        self.due.push(NEVER);
    }

    pub fn len(&self) -> usize {
        self.due.len()
    }

    pub fn due_ns(&self, flow: u32) -> u64 {
        self.due[flow as usize]
    }

    /// When the first flow is due, or NEVER.
    #[inline]
    pub fn earliest_ns(&self) -> u64 {
        self.earliest
    }

    /// [`Agenda::hasten`] will be called soon.
    #[inline(always)]
    pub fn prefetch(&self, flow: u32) {
        prefetch_at(&self.due, flow as usize);
    }

    /// `flow` has something to do at `at`, if not sooner.
    #[inline(always)]
    pub fn hasten(&mut self, flow: u32, at: u64) {
        let due = &mut self.due[flow as usize];
        if at < *due {
            *due = at;
            let block = &mut self.blocks[flow as usize / FLOWS_PER_BLOCK];
            *block = (*block).min(at);
            self.earliest = self.earliest.min(at);
        }
    }

    /// `flow` was taken; it has something to do next at `at`.
    #[inline]
    pub fn set(&mut self, flow: u32, at: u64) {
        self.due[flow as usize] = at;
    }

    /// Takes the flows that are due before `until`, in order; [`Agenda::settle`] follows.
    #[inline]
    pub fn take(&mut self, until: u64) -> Vec<u32> {
        let mut now = std::mem::take(&mut self.now);
        if self.earliest < until {
            for (block, _) in self.blocks.iter().enumerate().filter(|(_, earliest)| **earliest < until) {
                let first = block * FLOWS_PER_BLOCK;
                let due = self.due[first..].iter().take(FLOWS_PER_BLOCK);
                now.extend((first as u32..).zip(due).filter(|(_, due)| **due < until).map(|(flow, _)| flow));
            }
        }
        now
    }

    /// All flows `taken` for a span up to `until` have their next times.
    #[inline]
    pub fn settle(&mut self, mut taken: Vec<u32>, until: u64) {
        if self.earliest < until {
            self.earliest = NEVER;
            for (earliest, due) in self.blocks.iter_mut().zip(self.due.chunks(FLOWS_PER_BLOCK)) {
                if *earliest < until {
                    *earliest = due.iter().copied().min().unwrap_or(NEVER);
                }
                self.earliest = self.earliest.min(*earliest);
            }
        }
        taken.clear();
        self.now = taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exactly_the_flows_that_are_due_are_taken_in_order(
            mut due in prop::collection::vec(0u64..100, 1..70),
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0u64..100, 0u64..100), 1..40),
        ) {
            let mut agenda = Agenda::new(due.len());
            (0..).zip(&due).for_each(|(flow, due)| agenda.hasten(flow, *due));
            for (flow, at, until) in steps {
                agenda.push();
                due.push(NEVER);
                let flow = flow.index(due.len());
                agenda.hasten(flow as u32, at);
                due[flow] = due[flow].min(at);
                prop_assert_eq!(agenda.earliest_ns(), due.iter().copied().min().unwrap());
                let taken = agenda.take(until);
                let wanted: Vec<u32> = (0..due.len() as u32).filter(|flow| due[*flow as usize] < until).collect();
                prop_assert_eq!(&taken, &wanted);
                for &flow in &taken {
                    due[flow as usize] = if flow % 2 == 0 { until + u64::from(flow) } else { NEVER };
                    agenda.set(flow, due[flow as usize]);
                }
                agenda.settle(taken, until);
            }
            prop_assert_eq!(agenda.len(), due.len());
        }
    }
}
