//! Controllers of quinn's own, and faulty ones, by the texts.

use cwnd_conform::quinn_proto::RttEstimator;
use cwnd_conform::quinn_proto::congestion::{Controller, ControllerFactory, NewRenoConfig};
use cwnd_conform::{Answer, Error, Own, conform};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

fn newreno() -> NewRenoConfig {
    NewRenoConfig::default()
}

/// docs/conformance.md has the same verdicts of `cwnd conform quinn:newreno --on quinn`.
#[test]
fn quinns_newreno_meets_every_must_that_can_be_seen() {
    let report = conform(&Own::quinn("newreno", Arc::new(newreno())), "reno", &[]).unwrap();
    assert!(report.ok(), "{report}");
    let page = include_str!("../../../../docs/conformance.md");
    for tried in report.tried.iter().filter(|tried| tried.answer != Answer::Unseen) {
        let row = format!("| `{}/{}` | {}: ", tried.case.suite, tried.case.name, tried.answer);
        assert!(page.contains(&row), "{row} is not in docs/conformance.md");
    }
    assert!(report.count(Answer::Pass) >= 8, "{report}");
}

#[test]
fn a_cut_of_a_tenth_fails_the_case_of_the_half() {
    let mut gentle = newreno();
    gentle.loss_reduction_factor(0.9);
    let report = conform(&Own::quinn("newreno", Arc::new(gentle)), "reno", &["rfc5681"]).unwrap();
    assert!(!report.ok(), "{report}");
    let failed: Vec<&str> = report
        .tried
        .iter()
        .filter(|tried| tried.answer == Answer::Fail)
        .map(|tried| &*tried.case.name)
        .collect();
    assert!(failed.contains(&"halves-after-one-loss"), "{report}");
}

/// NewReno that never leaves a window of two packets once losses have brought it there, as quiche's CUBIC did for years.
#[derive(Clone)]
struct Pinned {
    inner: Arc<NewRenoConfig>,
}

struct PinnedController {
    inner: Box<dyn Controller>,
    least: u64,
    is_pinned: bool,
}

impl ControllerFactory for Pinned {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::clone(&self.inner).build(now, mtu);
        Box::new(PinnedController { inner, least: 2 * u64::from(mtu), is_pinned: false })
    }
}

impl Controller for PinnedController {
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
        self.is_pinned |= self.inner.window() <= self.least;
    }
    fn on_mtu_update(&mut self, mtu: u16) {
        self.inner.on_mtu_update(mtu);
    }
    fn window(&self) -> u64 {
        if self.is_pinned { self.least } else { self.inner.window() }
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(PinnedController { inner: self.inner.clone_box(), ..*self })
    }
    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[test]
fn a_window_that_stays_at_its_minimum_for_ever_fails() {
    let own = Own::quinn("newreno", Arc::new(Pinned { inner: Arc::new(newreno()) }));
    let report = conform(&own, "reno", &["rfc9002"]).unwrap();
    let failed = report.tried.iter().filter(|tried| tried.answer == Answer::Fail);
    assert!(failed.map(|tried| &*tried.case.name).eq(["growth-goes-on-after-a-black-hole"]), "{report}");
}

#[test]
fn a_suite_or_an_algorithm_that_no_case_has_is_an_error_of_one_line() {
    let own = Own::quinn("newreno", Arc::new(newreno()));
    let error = conform(&own, "reno", &["rfc1"]).unwrap_err();
    assert!(
        error.to_string().starts_with("suite: 'rfc1' is not a suite; there are bbr-00, bbr-06, "),
        "{error}"
    );
    let error = conform(&own, "bbr9", &[]).unwrap_err();
    assert_eq!(error, Error::NoCase { algorithm: "bbr9".to_owned() });
}
