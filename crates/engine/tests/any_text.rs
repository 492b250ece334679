//! No text that is read as a scenario makes the engine panic. `fuzz/` looks for others.

mod small;
#[path = "../../scenario/tests/text/mod.rs"]
mod text;

use proptest::prelude::*;

const VALID: [&str; 3] = [
    "duration = '3 s'\nseed = 7\nsamples = '10 ms'
    [stack]\nprofile = 'ns2'\nrecovery = 'prr'\nreceive_window = '50 packets'\nmin_rto = '1 s'\nmax_rto = '60 s'
    [[chain]]\nrate = '1 Mbps'\ndelay = '1 us'\nbuffer = 'unlimited'\nper = 0.5
    [[chain]]\nrate = '1.5 Tbps'\ndelay = '1 min'\nbuffer = '3 BDP'
    [[flows]]\ncca = 'bbr'\npacket = '1 byte'\nstop = '0.5 s'
    [[flows]]\ncca = 'reno'\ncount = 10\nstagger = '1 ms'\nstop_stagger = '1 ms'\nstack = 'linux'\n",
    "duration = '2 s'\nsamples = 'change'
    [dumbbell]\nrate = '10 Mbps'\ndelay = '10 ms'\nbuffer = '1 BDP'\necn_threshold = 5\nper = 1e-3
    access = { rate = '20 Mbps', delay = '1 ms', buffer = 40 }
    [[flows]]\ncca = { name = 'westwood', arithmetic = 'linux' }\non = '10 ms'\noff = '5 ms'\nstack = { ecn = true }
    [[flows]]\ncca = 'cubic'\napp_rate = '1 Mbps'\npacket = 100\nstart = '1 ms'\nack_every = 2\n",
    "duration = '1 s'\nsamples = 50
    [dumbbell]\nrate = '1 Mbps'\ndelay = '1 us'\nbuffer = 9
    [[flows]]\ncca = 'fast'\n
    [sweep]\n'flows.cca' = ['vegas', 'cubic']\n'dumbbell.delay' = ['1 us', '1 s']\n",
];

const VALUES: &str = "[0-9]{1,12}|[0-9].[0-9]{1,3}|0[.][0-9]{1,6}|\
    '[0-9]{1,6} (ns|us|ms|s|min|bps|kbps|Mbps|Gbps|Tbps|BDP|packets|bytes)'|'unlimited'|true|false|\
    'tahoe'|'reno'|'newreno'|'fack'|'rate-halving'|'compound'|'hybla'|'yeah'|'ns2'|'off'";

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_scenario_with_other_values_is_refused_or_runs(
        valid in prop::sample::select(&VALID[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), VALUES), 1..3),
    ) {
        let mut lines: Vec<String> = valid.lines().map(str::to_owned).collect();
        let keys: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].contains(" = ")).collect();
        for (line, value) in changes {
            let line = &mut lines[*line.get(&keys)];
            let key = line.split(" = ").next().expect("split gives one at least");
            *line = format!("{key} = {value}");
        }
        if let Some(sweep) = text::read(&lines.join("\n"), "a.toml").map_err(TestCaseError::fail)? {
            for point in sweep.points.iter().take(3) {
                small::try_run(&point.scenario).map_err(TestCaseError::fail)?;
            }
        }
    }
}
