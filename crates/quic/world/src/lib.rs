//! The worlds `quinn`, `noq` and `s2n-quic`: a client and a server of a real QUIC stack in virtual time, over the plain network.
//!
//! The stack is the one that applications use, without sockets, threads and a clock of its own; datagrams, timers and
//! random numbers are handed to it. So a scenario and a seed give the same bytes every time.

mod checks;
mod end;
mod error;
mod flow;
mod noq;
mod null;
mod own;
mod quinn;
mod received;
mod recovery;
mod run;
mod s2n;
mod seen;
mod settings;
mod tls;

pub use checks::check;
pub use cwnd_results::Run;
pub use cwnd_results::expect::{Outcome, Verdict, verdicts};
use cwnd_scenario::Cca;
pub use cwnd_scenario::Scenario;
use end::{Asked, Connection, Shared, params};
pub use end::{NoqFactory, QuinnFactory};
pub use error::Error;
pub use noq_proto;
pub use own::Own;
pub use quinn_proto;
pub use s2n_quic;
pub use settings::{Crypto, Settings};

/// Gets the time that the run has reached, now and then; answers whether it is to go on.
pub trait Watch: Fn(u64) -> bool {}

impl<T: Fn(u64) -> bool> Watch for T {}

/// A QUIC stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    Quinn,
    Noq,
    S2nQuic,
}

impl Stack {
    pub const ALL: [Stack; 3] = [Stack::Quinn, Stack::Noq, Stack::S2nQuic];

    /// As worlds are named, and algorithms of the stack begin.
    pub fn name(self) -> &'static str {
        self.world(Crypto::Null)
    }

    /// The stack of the world of that name, and what protects its packets there.
    pub fn in_world(name: &str) -> Option<(Stack, Crypto)> {
        let all = Stack::ALL.into_iter().flat_map(|stack| Crypto::ALL.map(|crypto| (stack, crypto)));
        all.into_iter().find(|(stack, crypto)| stack.world(*crypto) == name)
    }

    /// Returns the version of the library that runs, as its package has it.
    pub fn version(self) -> &'static str {
        match self {
            Stack::Quinn => quinn::VERSION,
            Stack::Noq => noq::VERSION,
            Stack::S2nQuic => s2n::VERSION,
        }
    }

    /// The name of its world in results.
    fn world(self, crypto: Crypto) -> &'static str {
        match (self, crypto) {
            (Stack::Quinn, Crypto::Null) => "quinn",
            (Stack::Quinn, Crypto::Tls) => "quinn-tls",
            (Stack::Noq, Crypto::Null) => "noq",
            (Stack::Noq, Crypto::Tls) => "noq-tls",
            (Stack::S2nQuic, _) => "s2n-quic", // without TLS: `run_with` refuses it
        }
    }

    /// As our algorithms know it.
    fn adapter(self) -> cwnd_quic::Stack {
        match self {
            Stack::Quinn => cwnd_quic::Stack::Quinn,
            Stack::Noq => cwnd_quic::Stack::Noq,
            Stack::S2nQuic => cwnd_quic::Stack::S2nQuic,
        }
    }

    /// Why our algorithm does not run on the stack.
    fn check(self, cca: &Cca) -> Result<(), String> {
        let setup = cwnd_quic::Setup::new(self.adapter(), &cca.algorithm, &params(cca));
        setup.map(drop).map_err(|error| error.to_string())
    }

    fn connect(self, asked: &Asked, now_ns: u64, seen: Shared) -> Result<Box<dyn Connection>, String> {
        match self {
            Stack::Quinn => quinn::connect(asked, now_ns, seen),
            Stack::Noq => noq::connect(asked, now_ns, seen),
            Stack::S2nQuic => s2n::connect(asked, seen),
        }
    }
}

/// Answers `scenario` with `seed`; None: stopped by `watch`.
///
/// ```
/// use cwnd_quic_world::{Stack, run};
///
/// let text = "duration = '2 s'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '10 ms'\nbuffer = 50\n[[flows]]\ncca = 'quinn:cubic'";
/// let scenario = cwnd_scenario::Scenario::from_toml(text, "example.toml", &[])?;
/// let run = run(Stack::Quinn, &scenario, 1, &|_| true)?.ok_or("stopped")?;
/// assert!(run.flows[0].throughput_mbps > 9.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the scenario asks what this world cannot do, or the stack gives up a connection.
pub fn run(stack: Stack, scenario: &Scenario, seed: u64, watch: &impl Watch) -> Result<Option<Run>, Error> {
    run_with(stack, Settings::default(), scenario, seed, watch)
}

/// As [`run`], on a stack with `settings`.
///
/// # Errors
///
/// As [`run`], and if the stack cannot have a setting.
pub fn run_with(
    stack: Stack,
    settings: Settings,
    scenario: &Scenario,
    seed: u64,
    watch: &impl Watch,
) -> Result<Option<Run>, Error> {
    if settings.has_tcp_recovery && stack != Stack::Noq {
        return Err(Error::Unsupported(format!("{} has its own recovery; accepted: noq", stack.name())));
    }
    if settings.is_unpaced && stack == Stack::S2nQuic {
        return Err(Error::Unsupported(
            "s2n-quic does not pace by itself; accepted: quinn or noq".to_owned(),
        ));
    }
    if stack == Stack::S2nQuic
        && (settings.crypto == Crypto::Tls
            || settings.ack_every_pkts.is_some_and(|every_pkts| every_pkts > 1))
    {
        let line = "s2n-quic runs without TLS and has its own ACKs; accepted: an ACK for each packet";
        return Err(Error::Unsupported(line.to_owned()));
    }
    check(stack, scenario)?;
    run::run(stack, settings, None, scenario, seed, watch)
}

/// Answers `scenario` with `seed`, with a congestion controller of the caller's: its flows have it whose algorithm it stands for.
///
/// [`verdicts`] decides what the scenario expects of the run.
///
/// ```
/// use cwnd_quic_world::{Own, Scenario, quinn_proto::congestion::NewRenoConfig, run_own, verdicts};
/// use std::sync::Arc;
///
/// let mut gentle = NewRenoConfig::default();
/// gentle.loss_reduction_factor(0.9);
/// let own = Own::quinn("newreno", Arc::new(gentle));
/// let text = "duration = '20 s'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '40 ms'\nbuffer = '1 BDP'\nper = 0.01\n[[flows]]\ncca = 'quinn:newreno'
/// [[expect]]\nmetric = 'goodput_mbps'\nat_least = 3
/// [[expect]]\nseries = 'cwnd_pkts'\nafter = 'cut'\nat_least = 2";
/// let scenario = Scenario::from_toml(text, "path.toml", &[])?;
/// let run = run_own(&own, &scenario, 1)?;
/// for verdict in verdicts(&scenario, &run) {
///     assert!(verdict.ok(), "{verdict}");
/// }
/// assert!(run.flows[0].loss_ratio < 0.02, "{:?}", run.flows[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`run`], and if no flow has the algorithm that the controller stands for.
pub fn run_own(own: &Own, scenario: &Scenario, seed: u64) -> Result<Run, Error> {
    let stack = own.stack();
    check(stack, scenario)?;
    if scenario.flows.iter().all(|flow| flow.cca.algorithm != own.instead_of) {
        let line = format!("flows.cca: no flow has '{}', for which the controller stands", own.instead_of);
        return Err(Error::Unsupported(line));
    }
    let answer = run::run(stack, Settings::default(), Some(own), scenario, seed, &|_| true)?;
    Ok(answer.expect("nobody stops it"))
}

/// The version of what these worlds make of a scenario, a part of the keys of their runs.
///
/// It is raised with every change of this crate, of `cwnd-quic` or of a dependency after which some run has another result.
/// `tests/all/golden.csv` has the version of its rows, which move only together with it. A new version of a stack needs none:
/// it is in the keys itself, and in the names of the rows.
pub const RESULTS_VERSION: u32 = 7;

/// The part of a key for everything that a run depends on besides its scenario: the stack, this crate, and the engine, which has the
/// network and the TCP flows.
pub fn essence(stack: Stack, crypto: Crypto) -> Vec<u8> {
    let engine = cwnd_engine::RESULTS_VERSION;
    format!("{} {} {RESULTS_VERSION} {engine}", stack.world(crypto), stack.version()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The network of these worlds is the engine's, whose results may move alone.
    #[test]
    fn what_a_key_holds_ends_with_the_version_of_the_engines_results() {
        for stack in Stack::ALL {
            let essence = String::from_utf8(essence(stack, Crypto::Null)).unwrap();
            let versions = format!(" {} {RESULTS_VERSION} {}", stack.version(), cwnd_engine::RESULTS_VERSION);
            assert!(essence.ends_with(&versions), "{essence}");
        }
    }

    #[test]
    fn the_versions_are_those_that_are_built() {
        let manifest = include_str!("../Cargo.toml");
        for stack in Stack::ALL {
            let package =
                if stack == Stack::S2nQuic { "s2n-quic" } else { &format!("{}-proto", stack.name()) };
            let line = format!("\n{package} = {{ version = \"={}\"", stack.version());
            assert!(manifest.contains(&line), "{line}");
        }
    }
}
