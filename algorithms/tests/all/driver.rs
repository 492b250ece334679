//! The order of hooks, against the account of it in `cc.h`.

use cwnd_algorithms::{Ack, CongestionControl, Driver, Event, Lowering, RATE_APP_LIMITED, State, Window};
use std::sync::{Arc, Mutex};

/// Halves the window at a loss, and keeps a line for each hook: its name, cwnd and the state that it sees.
struct Recorder {
    lines: Arc<Mutex<Vec<String>>>,
    controls: bool,
}

impl Recorder {
    fn note(&self, hook: &str, w: &Window, a: &Ack) {
        self.lines.lock().unwrap().push(format!("{hook} {} {}", w.cwnd, a.state));
    }
}

impl CongestionControl for Recorder {
    fn init(&mut self, w: &mut Window, a: &Ack) {
        self.note("init", w, a);
    }
    fn pkts_acked(&mut self, w: &mut Window, a: &Ack) {
        self.note("pkts_acked", w, a);
    }
    fn cong_avoid(&mut self, w: &mut Window, a: &Ack) {
        self.note("cong_avoid", w, a);
    }
    fn has_cong_control(&self) -> bool {
        self.controls
    }
    fn cong_control(&mut self, w: &mut Window, a: &Ack) {
        self.note("cong_control", w, a);
    }
    fn segment_lost(&mut self, w: &mut Window, a: &Ack) {
        let flags = if a.flags & RATE_APP_LIMITED != 0 { " app" } else { "" };
        self.note(&format!("segment_lost({}, {}{flags})", a.rate_in_flight, a.rate_lost), w, a);
    }
    fn ssthresh(&mut self, w: &mut Window, a: &Ack) -> u32 {
        self.note("ssthresh", w, a);
        w.cwnd / 2
    }
    fn set_state(&mut self, w: &mut Window, a: &Ack, state: State) {
        self.note(&format!("set_state({state:?})"), w, a);
    }
    fn cwnd_event(&mut self, w: &mut Window, a: &Ack, event: Event) {
        self.note(&format!("{event:?}"), w, a);
    }
}

/// The lines of `steps`, and the window after them, which was 20 before.
fn record(controls: bool, steps: impl FnOnce(&mut Driver<Recorder>)) -> (Vec<String>, Window) {
    let lines = Arc::default();
    let recorder = Recorder { lines: Arc::clone(&lines), controls };
    let mut driver =
        Driver::new(recorder, Window::new(20), Ack { rtt_us: 1000, acked: 1, mss: 1448, ..Ack::default() });
    steps(&mut driver);
    (std::mem::take(&mut *lines.lock().unwrap()), driver.window)
}

#[test]
fn an_ack_is_a_sample_then_growth_but_not_during_a_reduction() {
    let (lines, _) = record(false, |driver| {
        driver.start();
        driver.on_ack();
        driver.ack.rtt_us = 0;
        driver.on_ack();
        driver.on_congestion(Lowering::ToSsthresh, 0);
        driver.on_ack();
    });
    let expected = [
        "init 20 0",
        "pkts_acked 20 0",
        "cong_avoid 20 0",
        "cong_avoid 20 0",
        "ssthresh 20 0",
        "set_state(Cwr) 20 0",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_algorithm_with_cong_control_sees_every_ack_and_no_end_of_a_reduction() {
    let (lines, window) = record(true, |driver| {
        driver.on_loss(Lowering::ToSsthresh);
        driver.on_ack();
        driver.on_recovered(3);
        driver.on_idle(4, 10);
    });
    let expected = [
        "ssthresh 20 0",
        "set_state(Recovery) 20 0",
        "pkts_acked 20 3",
        "cong_control 20 3",
        "set_state(Open) 20 3",
    ];
    assert_eq!(lines, expected);
    assert_eq!(window.cwnd, 20, "the stack lowers it at a timeout only");
}

#[test]
fn a_lost_segment_is_reported_with_what_was_in_flight_and_lost_and_the_acks_own_values_stay() {
    let (lines, _) = record(true, |driver| {
        (driver.ack.rate_in_flight, driver.ack.rate_lost) = (7, 1);
        driver.on_segment_lost(20, 2, true);
        driver.on_segment_lost(18, 3, false);
        assert_eq!((driver.ack.rate_in_flight, driver.ack.rate_lost, driver.ack.flags), (7, 1, 0));
    });
    assert_eq!(lines, ["segment_lost(20, 2 app) 20 0", "segment_lost(18, 3) 20 0"]);
}

#[test]
fn a_loss_lowers_the_window_after_the_new_state_and_its_repair_ends_it() {
    let (lines, window) = record(false, |driver| {
        driver.on_loss(Lowering::ToSsthresh);
        driver.on_recovered(9);
    });
    assert_eq!(
        lines,
        ["ssthresh 20 0", "set_state(Recovery) 20 0", "CompleteCwr 9 3", "set_state(Open) 9 3"]
    );
    assert_eq!((window.cwnd, window.ssthresh, window.prior_cwnd), (9, 10, 20));
}

#[test]
fn each_stack_lowers_the_window_in_its_own_way() {
    let lowered = |lowering, repair_cwnd| {
        let steps = |driver: &mut Driver<Recorder>| {
            driver.window.repair_cwnd = repair_cwnd;
            driver.on_loss(lowering);
        };
        let (lines, window) = record(false, steps);
        (window.cwnd, lines[1].clone())
    };
    let seen = |cwnd| format!("set_state(Recovery) {cwnd} 0");
    assert_eq!(lowered(Lowering::ToSsthresh, 7), (10, seen(20)));
    assert_eq!(lowered(Lowering::ToRepairWindow, 7), (7, seen(20)));
    assert_eq!(lowered(Lowering::ToRepairWindow, 0), (5, seen(20)));
    assert_eq!(lowered(Lowering::Later, 0), (20, seen(20)));
    assert_eq!(lowered(Lowering::ToOne, 0), (1, seen(1)), "before the algorithm sees the state");
}

#[test]
fn a_window_of_data_is_reduced_once_for_marks_and_losses() {
    let (lines, window) = record(false, |driver| {
        assert!(driver.on_congestion(Lowering::ToSsthresh, 0));
        assert!(!driver.on_congestion(Lowering::ToSsthresh, 0));
        driver.on_further_loss();
    });
    assert_eq!(lines, ["ssthresh 20 0", "set_state(Cwr) 20 0", "set_state(Recovery) 10 2"]);
    assert_eq!((window.cwnd, window.ssthresh), (10, 10));
}

#[test]
fn a_timeout_leaves_one_segment_and_a_spurious_one_is_undone() {
    let (lines, window) = record(false, |driver| {
        driver.on_timeout(true, 20);
        assert_eq!((driver.window.cwnd, driver.window.ssthresh, driver.ack.lost), (1, 10, 20));
        driver.on_timeout(false, 1);
        driver.undo(15);
    });
    assert_eq!(
        lines,
        ["ssthresh 20 0", "Rto 20 0", "set_state(Loss) 1 0", "Rto 1 4", "set_state(Open) 20 4"]
    );
    assert_eq!((window.cwnd, window.ssthresh), (20, 15));
}

/// RFC 2861: a half for each RTO, and ssthresh is three quarters of the window before.
#[test]
fn a_pause_of_two_timeouts_leaves_a_quarter_of_the_window_but_the_initial_one() {
    let (lines, window) = record(false, |driver| {
        driver.window.ssthresh = 2;
        driver.on_idle(2, 3);
        driver.on_first_send();
    });
    assert_eq!(lines, ["CwndRestart 20 0", "TxStart 5 0"]);
    assert_eq!((window.cwnd, window.ssthresh, window.prior_cwnd), (5, 15, 20));
    let (_, window) = record(false, |driver| driver.on_idle(1000, 10));
    assert_eq!(window.cwnd, 10);
}
