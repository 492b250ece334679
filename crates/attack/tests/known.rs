//! Worst cases that are known from the literature, and answers that are computed by hand.

use cwnd_attack::{Answer, FIXED_WINDOW, Fault, Goal, Question, evaluate, evaluate_all};
use cwnd_engine::Control;

const REFERENCES: &[&str] = &["cubic", FIXED_WINDOW];

/// The path gets three times as long at 10 s, for good.
const LONGER_ROUTE: &str = r#"
duration = "60 s"
warmup = "20 s"
samples = "0.12 s"
[dumbbell]
rate = "10 Mbps"
delay = { steps = [["0 s", "20 ms"], ["10 s", "100 ms"]] }
buffer = "1 BDP"
[[flows]]
cca = "@subject"
"#;

fn ask<'a>(text: &'a str, subject: &'a str, goals: &'a [Goal]) -> Question<'a> {
    Question { text, subject, custom: &[], references: REFERENCES, goals }
}

fn answer(text: &str, subject: &str, goal: Goal) -> Answer {
    evaluate(&ask(text, subject, &[goal]), &|_, _| None, &Control::default()).unwrap()
}

#[test]
fn vegas_takes_a_longer_route_for_a_queue_and_stays_at_its_minimum() {
    let text = r#"
duration = "120 s"
warmup = "40 s"
samples = "0.3 s"
[dumbbell]
rate = "1 Mbps"
delay = { steps = [["0 s", "0.15 s"], ["7 s", "0.45 s"]] }
buffer = 25
[[flows]]
cca = "@subject"
"#;
    let found = answer(text, "vegas", Goal::Pinned);
    assert!(found.scores[0].score > 0.0, "{:?}", found.scores);
    assert!(answer(text, "cubic", Goal::Pinned).scores[0].score < 0.0);
}

#[test]
fn a_sender_that_nothing_hinders_is_far_from_every_goal() {
    let text = LONGER_ROUTE.replace(r#", ["10 s", "100 ms"]"#, "");
    for goal in Goal::ALL {
        let answer = answer(&text, FIXED_WINDOW, goal);
        assert!(answer.scores[0].score < -0.5, "{goal:?}: {:?}", answer.scores);
    }
}

#[test]
fn a_fixed_window_fills_its_path_before_and_after_a_change() {
    let measures = answer(LONGER_ROUTE, FIXED_WINDOW, Goal::Underuse).measures.unwrap();
    // 1448 of 1514 bytes of a packet are payload.
    assert!((9.3..9.57).contains(&measures.goodput_mbps), "{}", measures.goodput_mbps);
    assert!((measures.capacity_mbps - 10.0 * 1448.0 / 1514.0).abs() < 0.01);
}

#[test]
fn a_neighbour_that_starts_into_a_full_queue_of_its_own_kind_has_a_share() {
    let text =
        format!("{}[[flows]]\ncca = \"@subject\"\n", LONGER_ROUTE.replace(r#", ["10 s", "100 ms"]"#, ""));
    let measures = answer(&text, "reno", Goal::Starve).measures.unwrap();
    // Two equal flows: a fair share is 1, and neither has more than 2.
    assert!((0.3..=1.0).contains(&measures.least_share.unwrap()), "{measures:?}");
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    let texts: Vec<String> =
        (1..9).map(|seed| format!("seed = {seed}\n{}", LONGER_ROUTE.replace("60 s", "21 s"))).collect();
    let questions: Vec<Question> = texts.iter().map(|text| ask(text, "vegas", &Goal::ALL)).collect();
    let all = |threads| {
        evaluate_all(&questions, threads, &|_, _| None, &Control::default(), || Ok::<(), Fault>(())).unwrap()
    };
    assert_eq!(all(1), all(2));
}

#[test]
fn a_text_that_is_no_scenario_is_one_line() {
    let asked = ask("duration = 3", "vegas", &Goal::ALL);
    let fault = evaluate(&asked, &|_, _| None, &Control::default()).unwrap_err().to_string();
    assert!(fault.starts_with("path:") && fault.lines().count() == 1, "{fault}");
}

#[test]
fn losses_of_the_wire_are_not_the_senders_doing() {
    // All packets of 2 s, and one in a hundred of the others: 5 % of the segments are sent again and more, none of them for a queue.
    let text = LONGER_ROUTE
        .replace(r#", ["10 s", "100 ms"]"#, "")
        .replace("buffer = \"1 BDP\"", "buffer = 1000\nloss = 0.06\nlosses = [[\"30 s\", \"32 s\"]]");
    let answer = answer(&text, FIXED_WINDOW, Goal::Loss);
    let measures = answer.measures.unwrap();
    assert!(measures.retransmitted_share > 0.055, "{measures:?}");
    assert!(measures.avoidable_share < 0.01, "{measures:?}");
    assert!(answer.scores[0].score < -1.0, "{:?}", answer.scores);
}

#[test]
fn drops_of_a_queue_are_the_senders_doing() {
    // Scalable TCP overruns a buffer of a few packets at once; each drop is sent again.
    let text = LONGER_ROUTE
        .replace(r#", ["10 s", "100 ms"]"#, "")
        .replace("buffer = \"1 BDP\"", "buffer = 3\nloss = 0.001");
    let measures = answer(&text, "scalable", Goal::Loss).measures.unwrap();
    assert!(measures.lost_pkts > 100 && measures.avoidable_share > 0.0, "{measures:?}");
    assert!(measures.avoidable_share < measures.retransmitted_share, "{measures:?}");
}

#[test]
fn a_path_that_loses_everything_for_a_time_does_not_count_as_a_stall() {
    let text = LONGER_ROUTE
        .replace(r#", ["10 s", "100 ms"]"#, "")
        .replace("buffer = \"1 BDP\"", "buffer = 100\nlosses = [[\"30 s\", \"33 s\"]]");
    let hole = answer(&text, FIXED_WINDOW, Goal::Stall).measures.unwrap();
    // After it, no longer than until the next retransmission timeout, which has doubled up to the length of the hole.
    assert!(hole.stall_from_s == 0.0 || hole.stall_from_s >= 33.0, "{hole:?}");
}

#[test]
fn a_fixed_window_leaves_datagrams_of_others_their_rate() {
    let text = LONGER_ROUTE.replace(r#", ["10 s", "100 ms"]"#, "")
        + "[[flows]]\ncca = \"udp\"\napp_rate = \"8 Mbps\"\n";
    let measures = answer(&text, FIXED_WINDOW, Goal::Loss).measures.unwrap();
    // 2 of 10 Mbps are left, 1448 of 1514 bytes of them payload.
    assert!((1.5..1.92).contains(&measures.goodput_mbps), "{measures:?}");
    assert!((measures.capacity_mbps - 2.0 * 1448.0 / 1514.0).abs() < 0.02, "{measures:?}");
    assert!(measures.avoidable_share < 0.05, "{measures:?}");
}

#[test]
fn packets_that_wait_for_a_rate_are_no_bloat() {
    // An outage of 3 s in the 5 s that count: the few packets that it meets wait for all of it.
    let text = r#"
duration = "6 s"
warmup = "1 s"
samples = "20 ms"
[dumbbell]
rate = { steps = [["0 s", "1 Mbps"], ["2 s", "0 bps"], ["5 s", "1 Mbps"]] }
rtt = "10 ms"
buffer = 4
[[flows]]
cca = "@subject"
"#;
    let measures = answer(text, FIXED_WINDOW, Goal::Bloat).measures.unwrap();
    assert!(measures.queue_p95_ms < 100.0, "{measures:?}");
}
