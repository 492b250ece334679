//! Which time series a run keeps, and of what.

use crate::{Flow, Scenario};
use serde::{Deserialize, Serialize};

/// Which time series are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Samples {
    /// No time series.
    Off,
    /// One row per link at every multiple of `interval_ns` from 0 to the end, and one per flow while it lasts.
    Interval {
        /// Time between two rows.
        interval_ns: u64,
    },
    /// One row per flow at its start, at every change of its cwnd or ssthresh, and at its stop.
    Change,
}

impl Scenario {
    /// The links that have rows of samples, in their order. With samples by group, a link that one flow alone crosses has none
    /// if the flow's group has others.
    pub fn sampled_links(&self) -> Vec<u32> {
        sampled_links(self.links.len(), &self.flows, &self.sample_groups)
    }

    /// Rows that one sample has at most.
    pub fn rows_per_sample(&self) -> usize {
        rows_per_sample(self.links.len(), &self.flows, &self.sample_groups)
    }

    pub(crate) fn find_fault_of_samples(&self) -> Result<(), String> {
        match self.samples {
            Samples::Interval { interval_ns: 0 } => {
                return Err("its samples have no time between them".to_owned());
            }
            Samples::Off | Samples::Change if !self.sample_groups.is_empty() => {
                return Err("it has groups without samples at intervals".to_owned());
            }
            _ => {}
        }
        let grouped: u64 = self.sample_groups.iter().copied().map(u64::from).sum();
        if !self.sample_groups.is_empty()
            && (grouped != self.flows.len() as u64 || self.sample_groups.contains(&0))
        {
            return Err("its groups of samples are not groups of its flows".to_owned());
        }
        Ok(())
    }
}

pub fn rows_per_sample(links: usize, flows: &[Flow], groups: &[u32]) -> usize {
    match groups {
        [] => links + flows.len(),
        _ => sampled_links(links, flows, groups).len() + groups.len(),
    }
}

fn sampled_links(links: usize, flows: &[Flow], groups: &[u32]) -> Vec<u32> {
    // By link: whether one flow of several in a group has it for itself.
    let mut own: Vec<Option<bool>> = vec![None; links];
    let sizes = groups.iter().flat_map(|&flows| std::iter::repeat_n(flows, flows as usize));
    for (flow, group_flows) in flows.iter().zip(sizes) {
        for &link in flow.path.iter().chain(&flow.reverse_path) {
            let own = &mut own[link as usize];
            *own = Some(own.is_none() && group_flows > 1);
        }
    }
    (0..).zip(own).filter(|(_, own)| *own != Some(true)).map(|(link, _)| link).collect()
}
