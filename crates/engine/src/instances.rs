//! The instances of algorithms that a run needs.

use cwnd_algorithms::{Algorithm, CongestionControl, Params};
use cwnd_scenario::Cca;

/// Makes the instances of algorithms that the registry does not have; None: the registry has this one.
pub type Custom<'a> = &'a (dyn Fn(&Cca) -> Option<Box<dyn CongestionControl>> + Sync);

/// Makes the instances of registered algorithms, and reads the parameters of equal neighbours once.
pub fn registered<'a>() -> impl FnMut(&'a Cca) -> cwnd_algorithms::Instance {
    let mut last: Option<(&Cca, (Algorithm, Params))> = None;
    move |cca| {
        if last.as_ref().is_none_or(|(before, _)| *before != cca) {
            last = Some((cca, cca.resolve().expect("a scenario has known algorithms and parameters")));
        }
        let (_, (algorithm, params)) = last.as_ref().expect("it was just set");
        algorithm.build(params)
    }
}
