//! A run: connections of a stack as ends of the plain network.

use crate::flow::{Quic, is_of_stack};
use crate::own::Own;
use crate::{Error, Settings, Stack, Watch};
use cwnd_engine::net::{Endpoints, Parts};
use cwnd_engine::{BorrowedSimulation, Control};
use cwnd_results::Run;
use cwnd_scenario::Scenario;
use std::cell::RefCell;

/// Packets under way: about 1.6 GB of datagrams.
pub const PACKETS_MAX: usize = 1 << 20;
/// How often the watch is called in a run.
const LOOKS: u64 = 1000;

/// Answers `scenario`, which was checked; None: stopped by `watch`.
pub fn run(
    stack: Stack,
    settings: Settings,
    own: Option<&Own>,
    scenario: &Scenario,
    seed: u64,
    watch: &impl Watch,
) -> Result<Option<Run>, Error> {
    let fault = RefCell::new(None);
    let ends = |index: u32, start_ns: u64| -> Option<Box<dyn Endpoints + '_>> {
        is_of_stack(&scenario.flows[index as usize]).then(|| {
            let quic = Quic::new((stack, settings, own), scenario, (index, start_ns), seed, &fault);
            Box::new(quic) as Box<dyn Endpoints>
        })
    };
    let parts = Parts { transports: &ends, packets_max: PACKETS_MAX, ..Parts::default() };
    let control = Control::default();
    let mut simulation = BorrowedSimulation::plain(scenario, seed, parts, &control);
    for look in 1..=LOOKS {
        let until_ns = u128::from(scenario.duration_ns) * u128::from(look) / u128::from(LOOKS);
        simulation.advance(until_ns as u64)?;
        if let Some(fault) = fault.take() {
            return Err(Error::Stack(fault));
        }
        if !watch(until_ns as u64) {
            return Ok(None);
        }
    }
    let mut run = simulation.finish()?;
    run.world = stack.world(settings.crypto).into();
    Ok(Some(run))
}
