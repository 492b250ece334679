//! The engine for a web page. Texts go in and JSON comes out: this crate moves bytes, and decides nothing.
//!
//! A module of WebAssembly has one [`session::Session`] at a time: [`begin`], [`advance`] as often as wanted, [`observe`] on
//! the way, [`finish`]. Each answer is an object; one that has `error` has that line alone.

#![expect(unsafe_code, reason = "memory that the page reads and writes")]

mod error;
pub mod session;

pub use error::Error;
use serde::Serialize;
use serde_json::{Value, json};
use session::Session;
use std::cell::RefCell;

thread_local! {
    /// The run under way.
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
    /// Answer to the last call, kept until the next.
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Where the page writes the `bytes` of a text that it passes on next.
#[unsafe(no_mangle)]
pub extern "C" fn allocate(bytes: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; bytes].into_boxed_slice()).cast()
}

/// Takes back what [`allocate`] gave.
///
/// # Safety
///
/// `text` is from [`allocate`] with these `bytes`, and is not used again.
unsafe fn take(text: *mut u8, bytes: usize) -> Vec<u8> {
    // SAFETY: as the caller promises.
    unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(text, bytes)) }.into_vec()
}

/// Keeps the answer, whose length the call returns.
fn answer(found: Result<impl Serialize, Error>) -> usize {
    let text = match found {
        Ok(found) => serde_json::to_vec(&found),
        Err(error) => serde_json::to_vec(&json!({ "error": error.to_string() })),
    };
    ANSWER.with_borrow_mut(|answer| {
        *answer = text.expect("no answer has a map with odd keys");
        answer.len()
    })
}

/// Where the last answer is.
#[unsafe(no_mangle)]
pub extern "C" fn answered() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// The algorithms and the presets, with their parameters, and the names of queue disciplines and of kinds of ECN.
#[unsafe(no_mangle)]
pub extern "C" fn catalogue() -> usize {
    use cwnd_scenario::catalogue;
    let choices = |key| catalogue::choices(key).unwrap_or_default();
    answer(Ok(json!({
        "algorithms": catalogue::algorithms(),
        "presets": catalogue::presets(),
        "queues": choices("queue"),
        "ecn": choices("ecn"),
    })))
}

/// Reads a scenario, and is ready to run it. The request is `{"toml": TEXT, "files": {NAME: TEXT}}`; the answer says what
/// follows from the scenario.
///
/// # Safety
///
/// `request` is from [`allocate`] with these `bytes`, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn begin(request: *mut u8, bytes: usize) -> usize {
    // SAFETY: as the caller promises.
    let request = unsafe { take(request, bytes) };
    answer(Session::begin(&request).map(|session| {
        let description = session.describe();
        SESSION.set(Some(session));
        description
    }))
}

fn with_session(call: impl FnOnce(&mut Session) -> Result<Value, Error>) -> usize {
    answer(SESSION.with_borrow_mut(|session| call(session.as_mut().ok_or(Error::NoScenario)?)))
}

/// Simulates up to `until_ns`, included.
#[unsafe(no_mangle)]
pub extern "C" fn advance(until_ns: f64) -> usize {
    with_session(|session| session.advance(until_ns as u64).map(|()| json!({})))
}

/// Windows, queues and counts at the time that the run has been advanced to.
#[unsafe(no_mangle)]
pub extern "C" fn observe() -> usize {
    with_session(|session| Ok(session.observe()))
}

/// Simulates the rest, and ends the session: `{"scenario", "runs", "summary", "world"}` as the command prints it, and
/// `flow_samples` and `link_samples` by column; with samples by group `group_samples`, too.
#[unsafe(no_mangle)]
pub extern "C" fn finish() -> usize {
    answer(SESSION.take().ok_or(Error::NoScenario).and_then(Session::finish))
}
