//! The fast engine gives what the plain network gives, in all columns.

use crate::common::{answer_on_threads, custom, read, read_with_files};
use crate::scenarios::{Kind, each};
use cwnd_engine::{Control, plain};
use cwnd_results::Run;
use cwnd_scenario::{Clock, Scenario, Sweep};
use std::path::Path;

fn answer_plainly(scenario: &Scenario) -> Run {
    plain::run(scenario, scenario.seed, &custom, &Control::default()).expect("nobody stops it")
}

/// The lines in which two runs differ.
fn difference(plain: &Run, fast: &Run) -> Option<String> {
    let [plain, fast] = [plain, fast].map(|run| format!("{run:#?}"));
    if plain == fast {
        return None;
    }
    let lines = plain.lines().zip(fast.lines()).enumerate().filter(|(_, (plain, fast))| plain != fast);
    let shown =
        lines.take(12).map(|(number, (plain, fast))| format!("{number}: plain {plain}   fast {fast}\n"));
    Some(
        format!("{} and {} lines\n", plain.lines().count(), fast.lines().count())
            + &shown.collect::<String>(),
    )
}

fn check(scenario: &Scenario) -> Result<(), String> {
    if scenario.clock == Clock::Ns2 {
        return Ok(());
    }
    // Several threads take other roads than one.
    let threads = 1 + scenario.seed as usize % 3;
    difference(&answer_plainly(scenario), &answer_on_threads(scenario, threads)).map_or(Ok(()), Err)
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

/// The text of a scenario in which much happens at one instant: rates are multiples of each other, and times whole milliseconds.
fn tied(number: u64) -> String {
    // SplitMix64.
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut pick = |words: &[&str]| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        words[((bits ^ bits >> 31) % words.len() as u64) as usize].to_owned()
    };
    let mut text = format!(
        "duration = '400 ms'\nwarmup = '{} ms'\nsamples = '{} ms'\nseed = {number}\n",
        pick(&["0", "100", "101"]),
        pick(&["1", "7", "10"])
    );
    for name in ["a", "b", "c", "d", "back"] {
        text += &format!(
            "[[links]]\nname = '{name}'\nrate = '{} Mbps'\ndelay = '{} ms'\nbuffer = {}\n{}",
            pick(&["4", "8", "8", "16"]),
            pick(&["0", "1", "2", "5"]),
            pick(&["1", "2", "3", "5", "'unlimited'"]),
            pick(&["", "", "", "per = 0.05\n", "ecn_threshold = 2\n", "queue = 'fq-codel'\n"]),
        );
    }
    for _ in 0..3 {
        // 1000 bytes on the wire: 1 ms at 8 Mbps.
        text += &format!(
            "[[flows]]\npacket = 1000\nstart = '{} ms'\npath = {}\n{}{}\n",
            pick(&["0", "0", "1", "4"]),
            pick(&[
                "['a']",
                "['a', 'b']",
                "['b', 'c']",
                "['c', 'd']",
                "['a', 'c', 'd']",
                "['a', 'b', 'c', 'd']"
            ]),
            pick(&["", "", "reverse_path = ['back']\n", "reverse_path = ['d', 'back']\n"]),
            pick(&[
                "cca = 'udp'\napp_rate = '7680 kbps'",
                "cca = 'udp'\napp_rate = '3840 kbps'",
                "cca = 'reno'\nstack = { header = 40, ack = 40, ack_every = 1 }",
                "cca = 'cubic'\nsize = '9800 bytes'\nrequests = { count = 50, think = '3 ms' }",
                "cca = 'reno'\nstack = { ecn = true, ack = 500 }",
            ]),
        );
    }
    text
}

fn check_tied(numbers: std::ops::Range<u64>) {
    let mut compared = 0;
    for number in numbers {
        let text = tied(number);
        // Some ways back share a link with their way there, or datagrams have one.
        let Ok(scenario) = read_with_files(&text) else { continue };
        check(&scenario).unwrap_or_else(|failed| panic!("{number}: {failed}\n{text}"));
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn they_are_equal_where_much_happens_at_one_instant() {
    check_tied(0..300);
}

#[test]
#[ignore = "slow"]
fn they_are_equal_where_much_happens_at_one_instant_in_10000_scenarios() {
    check_tied(0..10_000);
}

/// Two packets leave at once: that which came sooner first. A third that arrives as the first leaves finds it still there.
#[test]
fn an_arrival_finds_a_packet_that_is_leaving_still_there() {
    // 1000 bytes take a millisecond. The buffer holds two packets, and the third is sent as the first leaves.
    let scenario = read(
        "duration = '1 s'\n[[links]]\nname = 'a'\nrate = '8 Mbps'\ndelay = '10 ms'\nbuffer = 2\n\
         [[flows]]\ncca = 'udp'\napp_rate = '7680 kbps'\npacket = 960\ncount = 3\nstagger = '0 s'\nstop = '1500 us'\npath = ['a']",
    );
    let run = answer_plainly(&scenario);
    let lost: Vec<u64> = run.flows.iter().map(|flow| flow.lost_pkts).collect();
    // At 0 the third of three is one too many; at 1 ms one leaves and one waits, so that only a dropped one is gone by then.
    assert_eq!(run.flows.iter().map(|flow| flow.sent_pkts).collect::<Vec<_>>(), [2, 2, 2]);
    assert_eq!(lost, [1, 1, 2], "{run:?}");
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
