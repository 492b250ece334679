//! The fast engine gives what the plain network gives, in all columns.

use crate::common::{answer_on_threads, custom, read, read_with_files};
use crate::scenarios::{Kind, any_tied_text, each, each_of, same};
use cwnd_engine::{BorrowedSimulation, Control, Observation, net};
use cwnd_results::Run;
use cwnd_scenario::{Clock, Scenario, Sweep};
use std::path::Path;

fn answer_plainly(scenario: &Scenario) -> Run {
    net::run(scenario, scenario.seed, &custom, &Control::default()).expect("nobody stops it")
}

fn check(scenario: &Scenario) -> Result<(), String> {
    if scenario.clock == Clock::Ns2 {
        return Ok(());
    }
    // Several threads take other roads than one.
    let threads = 1 + scenario.seed as usize % 3;
    let [plain, fast] = [answer_plainly(scenario), answer_on_threads(scenario, threads)];
    same(&format!("{plain:#?}"), &format!("{fast:#?}"))
}

#[test]
fn the_fast_engine_equals_the_plain_network_in_all_columns() {
    each(Kind::Any, 500, |_, scenario| check(scenario));
}

#[test]
#[ignore = "slow"]
fn the_fast_engine_equals_the_plain_network_in_20000_scenarios() {
    each(Kind::Any, 20_000, |_, scenario| check(scenario));
}

#[test]
fn they_are_equal_where_much_happens_at_one_instant() {
    each_of(any_tied_text, 300, |_, scenario| check(scenario));
}

#[test]
#[ignore = "slow"]
fn they_are_equal_where_much_happens_at_one_instant_in_10000_scenarios() {
    each_of(any_tied_text, 10_000, |_, scenario| check(scenario));
}

/// Two packets leave at once: that which came sooner first. A third that arrives as the first leaves finds it still there.
#[test]
fn an_arrival_finds_a_packet_that_is_leaving_still_there() {
    // 1000 bytes take a millisecond. The buffer holds two packets, and the third is sent as the first leaves.
    let scenario = read(
        "duration = '1 s'\n[[links]]\nname = 'a'\nrate = '8 Mbps'\ndelay = '10 ms'\nbuffer = 2\n\
         [[flows]]\ncca = 'udp'\napp_rate = '7680 kbps'\npacket = 960\ncount = 3\nstagger = '0 s'\nstop = '1500 us'\npath = ['a']\n\
         stack = { header = 40 }",
    );
    let run = answer_plainly(&scenario);
    let lost: Vec<u64> = run.flows.iter().map(|flow| flow.lost_pkts).collect();
    // At 0 the third of three is one too many; at 1 ms one leaves and one waits, so that only a dropped one is gone by then.
    assert_eq!(run.flows.iter().map(|flow| flow.sent_pkts).collect::<Vec<_>>(), [2, 2, 2]);
    assert_eq!(lost, [1, 1, 2], "{run:?}");
}

#[test]
fn they_show_the_same_on_the_way() {
    // Counts of wires are kept by managed links alone in the fast engine.
    let without_wires = |mut observation: Observation| {
        observation.links.iter_mut().for_each(|link| link.wire = None);
        observation
    };
    each(Kind::Any, 100, |_, scenario| {
        if scenario.clock == Clock::Ns2 {
            return Ok(());
        }
        let (plainly, fast) = (Control::default(), Control::default());
        let parts = net::Parts { algorithms: &custom, ..net::Parts::default() };
        let mut runs = [
            BorrowedSimulation::plain(scenario, scenario.seed, parts, &plainly),
            BorrowedSimulation::new(scenario, scenario.seed, &custom, &fast),
        ];
        for step in 1..6 {
            let [plain, fast] = runs.each_mut().map(|run| {
                run.advance(step * scenario.duration_ns / 5).expect("nobody stops it");
                format!("{:#?}", without_wires(run.observe()))
            });
            same(&plain, &fast)?;
        }
        Ok(())
    });
}

#[test]
fn golden_scenarios_are_equal_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut compared = 0;
    for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "toml")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for point in
            Sweep::from_toml(&text, file.to_str().unwrap(), &[]).unwrap().points.into_iter().step_by(4)
        {
            check(&point.scenario).unwrap_or_else(|failed| panic!("{}: {failed}", file.display()));
            compared += u32::from(point.scenario.clock != Clock::Ns2);
        }
    }
    assert!(compared > 20, "{compared}");
}

/// Packets that a trace lets go are at their receivers at that instant, and the ACKs of both flows are at one link.
#[test]
fn acks_of_packets_that_arrive_as_they_leave_a_trace_rank_as_in_the_plain_network() {
    let link = |name: &str, keys: &str| format!("[[links]]\nname = '{name}'\n{keys}\n");
    let flow = |path: &str| {
        format!(
            "[[flows]]\npacket = 960\nstart = '0 ms'\npath = [{path}]\nreverse_path = ['back']\ncca = 'reno'\n\
             stack = {{ header = 40, ack = 40, ack_every = 1 }}\n"
        )
    };
    let text = [
        "duration = '400 ms'\nsamples = '1 ms'\nseed = 344\n".to_owned(),
        link("b", "rate = '4 Mbps'\ndelay = '0 ms'\nbuffer = 2"),
        link("c", "rate = { trace = '1' }\ndelay = '0 ms'\nbuffer = 'unlimited'"),
        link("d", "rate = '8 Mbps'\ndelay = '0 ms'\nbuffer = 3"),
        link("back", "rate = '16 Mbps'\ndelay = '1 ms'\nbuffer = 2"),
        flow("'b', 'c'"),
        flow("'c', 'd'"),
    ];
    check(&read_with_files(&text.concat()).unwrap()).unwrap();
}
