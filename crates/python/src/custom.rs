//! A Python class as a congestion control algorithm.

use cwnd_algorithms::{APP_LIMITED, CWND_LIMITED, CongestionControl, ECE, Event, RATE_APP_LIMITED, State};
use cwnd_engine::Control;
use cwnd_scenario::Cca;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyFunction, PyInt, PyString};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest window: [`cwnd_algorithms::SSTHRESH_INFINITE`].
const WINDOW_MAX: u64 = cwnd_algorithms::SSTHRESH_INFINITE as u64;

/// State that an algorithm may change: the sender's window, in segments.
// Any thread may read it; no Python code runs while it is locked.
#[pyclass(frozen, name = "Window", module = "cwnd._cwnd")]
#[derive(Default)]
pub struct PyWindow(Mutex<cwnd_algorithms::Window>);

/// State that an algorithm may read, as of the last ACK.
#[pyclass(frozen, name = "Ack", module = "cwnd._cwnd")]
pub struct PyAck(cwnd_algorithms::Ack);

/// The first exception of a hook, which ends the runs.
#[derive(Default)]
pub struct Failure(Mutex<Option<PyErr>>);

/// An instance of a class, at work on one flow.
pub struct PythonControl {
    hooks: Hooks,
    window: Option<Py<PyWindow>>,
    class: String,
    flow: String,
    control: Arc<Control>,
    failure: Arc<Failure>,
}

/// The instance's methods; None where it has the base class's, which needs no call.
#[derive(Default)]
struct Hooks {
    init: Option<Py<PyAny>>,
    pkts_acked: Option<Py<PyAny>>,
    cong_avoid: Option<Py<PyAny>>,
    cong_control: Option<Py<PyAny>>,
    segment_lost: Option<Py<PyAny>>,
    ssthresh: Option<Py<PyAny>>,
    set_state: Option<Py<PyAny>>,
    cwnd_event: Option<Py<PyAny>>,
    undo_cwnd: Option<Py<PyAny>>,
}

#[pymethods]
impl PyWindow {
    /// Congestion window, at least 1.
    #[getter]
    fn cwnd(&self) -> u32 {
        self.lock().cwnd
    }

    #[setter]
    fn set_cwnd(&self, value: &Bound<PyAny>) -> PyResult<()> {
        let value = whole("window.cwnd must be", value, 1, WINDOW_MAX)? as u32;
        self.lock().cwnd = value;
        Ok(())
    }

    /// Segments acknowledged towards the next increase of cwnd.
    #[getter]
    fn cwnd_cnt(&self) -> u32 {
        self.lock().cwnd_cnt
    }

    #[setter]
    fn set_cwnd_cnt(&self, value: &Bound<PyAny>) -> PyResult<()> {
        let value = whole("window.cwnd_cnt must be", value, 0, u32::MAX.into())? as u32;
        self.lock().cwnd_cnt = value;
        Ok(())
    }

    /// Slow start threshold; 2147483647 before the first loss.
    #[getter]
    fn ssthresh(&self) -> u32 {
        self.lock().ssthresh
    }

    #[setter]
    fn set_ssthresh(&self, value: &Bound<PyAny>) -> PyResult<()> {
        let value = whole("window.ssthresh must be", value, 1, WINDOW_MAX)? as u32;
        self.lock().ssthresh = value;
        Ok(())
    }

    /// Upper bound of cwnd, set by the stack.
    #[getter]
    fn cwnd_clamp(&self) -> u32 {
        self.lock().cwnd_clamp
    }

    #[setter]
    fn set_cwnd_clamp(&self, value: &Bound<PyAny>) -> PyResult<()> {
        let value = whole("window.cwnd_clamp must be", value, 1, u32::MAX.into())? as u32;
        self.lock().cwnd_clamp = value;
        Ok(())
    }

    /// cwnd just before the last reduction, kept by the stack.
    #[getter]
    fn prior_cwnd(&self) -> u32 {
        self.lock().prior_cwnd
    }

    #[setter]
    fn set_prior_cwnd(&self, value: &Bound<PyAny>) -> PyResult<()> {
        let value = whole("window.prior_cwnd must be", value, 0, WINDOW_MAX)? as u32;
        self.lock().prior_cwnd = value;
        Ok(())
    }

    /// Bytes per second on the wire; 0: not paced.
    #[getter]
    fn pacing_rate(&self) -> u64 {
        self.lock().pacing_rate
    }

    #[setter]
    fn set_pacing_rate(&self, value: &Bound<PyAny>) -> PyResult<()> {
        let value = whole("window.pacing_rate must be", value, 0, u64::MAX)?;
        self.lock().pacing_rate = value;
        Ok(())
    }

    fn __repr__(&self) -> String {
        let w = self.lock();
        format!(
            "Window(cwnd={}, cwnd_cnt={}, ssthresh={}, cwnd_clamp={}, prior_cwnd={}, pacing_rate={})",
            w.cwnd, w.cwnd_cnt, w.ssthresh, w.cwnd_clamp, w.prior_cwnd, w.pacing_rate
        )
    }
}

impl PyWindow {
    pub fn lock(&self) -> MutexGuard<'_, cwnd_algorithms::Window> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PyAck {
    pub fn inner(&self) -> &cwnd_algorithms::Ack {
        &self.0
    }
}

#[pymethods]
impl PyAck {
    /// A monotonic clock.
    #[getter]
    fn now_us(&self) -> u64 {
        self.0.now_us
    }

    /// Segments delivered so far, in order or SACKed.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }

    /// `delivered` when the newest segment that this ACK acknowledges was sent. The delivery rate sample is only
    /// for algorithms with `cong_control`.
    #[getter]
    fn rate_prior_delivered(&self) -> u64 {
        self.0.rate_prior_delivered
    }

    /// Delivered segments that were reported as marked (RFC 3168, CE).
    #[getter]
    fn delivered_ce(&self) -> u64 {
        self.0.delivered_ce
    }

    /// Segments marked lost so far.
    #[getter]
    fn lost_total(&self) -> u64 {
        self.0.lost_total
    }

    /// Segments that arrived in `rate_interval_us`.
    #[getter]
    fn rate_delivered(&self) -> u32 {
        self.0.rate_delivered
    }

    /// Time that the delivery rate sample covers; 0: no sample.
    #[getter]
    fn rate_interval_us(&self) -> u32 {
        self.0.rate_interval_us
    }

    /// Segments in flight when the newest segment acknowledged here was sent, that segment included; only for algorithms with
    /// `cong_control`.
    #[getter]
    fn rate_in_flight(&self) -> u32 {
        self.0.rate_in_flight
    }

    /// Segments marked lost since that segment was sent; only for algorithms with `cong_control`.
    #[getter]
    fn rate_lost(&self) -> u32 {
        self.0.rate_lost
    }

    /// This ACK's RTT sample; 0: none.
    #[getter]
    fn rtt_us(&self) -> u32 {
        self.0.rtt_us
    }

    /// Smoothed RTT; 0: no sample yet.
    #[getter]
    fn srtt_us(&self) -> u32 {
        self.0.srtt_us
    }

    /// Smallest sample of the connection; 0: no sample yet.
    #[getter]
    fn min_rtt_us(&self) -> u32 {
        self.0.min_rtt_us
    }

    /// Segments that this ACK newly reports as arrived, in order or SACKed.
    #[getter]
    fn acked(&self) -> u32 {
        self.0.acked
    }

    /// Segments newly reported as marked.
    #[getter]
    fn ce(&self) -> u32 {
        self.0.ce
    }

    /// From the sending of a segment to its arrival, plus a constant: the clocks' difference; 0: no sample.
    #[getter]
    fn owd_us(&self) -> u32 {
        self.0.owd_us
    }

    /// Segments newly marked lost.
    #[getter]
    fn lost(&self) -> u32 {
        self.0.lost
    }

    /// Segments in flight before this ACK.
    #[getter]
    fn prior_in_flight(&self) -> u32 {
        self.0.prior_in_flight
    }

    /// Segments in flight after it.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }

    /// Receive window in segments.
    #[getter]
    fn snd_wnd(&self) -> u32 {
        self.0.snd_wnd
    }

    /// Bytes of payload in a segment.
    #[getter]
    fn mss(&self) -> u32 {
        self.0.mss
    }

    /// OPEN, DISORDER, CWR, RECOVERY or LOSS.
    #[getter]
    fn state(&self) -> u8 {
        self.0.state
    }

    /// cwnd limited the sender: it may grow.
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.flags & CWND_LIMITED != 0
    }

    /// The application had nothing to send.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.flags & APP_LIMITED != 0
    }

    /// The ACK echoes congestion experienced.
    #[getter]
    fn ece(&self) -> bool {
        self.0.flags & ECE != 0
    }

    /// The application limited the sender while the delivery rate was sampled.
    #[getter]
    fn rate_app_limited(&self) -> bool {
        self.0.flags & RATE_APP_LIMITED != 0
    }

    fn __repr__(&self) -> String {
        let a = &self.0;
        format!(
            "Ack(now_us={}, delivered={}, rate_prior_delivered={}, delivered_ce={}, lost_total={}, \
             rate_delivered={}, rate_interval_us={}, rate_in_flight={}, rate_lost={}, rtt_us={}, srtt_us={}, \
             min_rtt_us={}, acked={}, ce={}, lost={}, owd_us={}, prior_in_flight={}, in_flight={}, \
             snd_wnd={}, mss={}, state={}, flags={})",
            a.now_us,
            a.delivered,
            a.rate_prior_delivered,
            a.delivered_ce,
            a.lost_total,
            a.rate_delivered,
            a.rate_interval_us,
            a.rate_in_flight,
            a.rate_lost,
            a.rtt_us,
            a.srtt_us,
            a.min_rtt_us,
            a.acked,
            a.ce,
            a.lost,
            a.owd_us,
            a.prior_in_flight,
            a.in_flight,
            a.snd_wnd,
            a.mss,
            a.state,
            a.flags
        )
    }
}

impl Failure {
    pub fn take(&self) -> Option<PyErr> {
        self.lock().take()
    }

    fn keep(&self, error: PyErr) {
        self.lock().get_or_insert(error);
    }

    fn lock(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PythonControl {
    /// Calls `class` with the parameters of `cca` as keywords. After an exception, which is kept, the instance has no
    /// hooks.
    pub fn new(
        class: &Py<PyAny>,
        cca: &Cca,
        (flow, profile): (Option<usize>, &str),
        seed: u64,
        control: &Arc<Control>,
        failure: &Arc<Failure>,
    ) -> Self {
        let mut made = PythonControl {
            hooks: Hooks::default(),
            window: None,
            class: cca.name.clone(),
            flow: match flow {
                Some(flow) => format!("flow {flow}, seed {seed}"),
                None => format!("seed {seed}"),
            },
            control: control.clone(),
            failure: failure.clone(),
        };
        Python::attach(|py| match build(class.bind(py), cca, profile) {
            Ok((hooks, window)) => {
                made.hooks = hooks;
                made.window = Some(window);
            }
            Err(error) => made.fail(py, error, format!("while {} was created for {}", cca.name, made.flow)),
        });
        made
    }

    /// Calls a hook and converts its answer. None: there is no such hook, or the runs are being stopped.
    fn call<T>(
        &self,
        name: &str,
        hook: &Option<Py<PyAny>>,
        (w, a): (&mut cwnd_algorithms::Window, &cwnd_algorithms::Ack),
        code: Option<u8>,
        read: impl FnOnce(&Bound<PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let (hook, window) = (hook.as_ref()?, self.window.as_ref()?);
        if self.control.stop.load(Relaxed) {
            return None;
        }
        Python::attach(|py| {
            *window.get().lock() = *w;
            let ack = Bound::new(py, PyAck(*a));
            let answer = ack.and_then(|ack| match code {
                None => hook.bind(py).call1((window, ack)),
                Some(code) => hook.bind(py).call1((window, ack, code)),
            });
            match answer.and_then(|answer| read(&answer)) {
                Ok(value) => {
                    *w = *window.get().lock();
                    Some(value)
                }
                Err(error) => {
                    let (class, flow, seconds) = (&self.class, &self.flow, a.now_us as f64 / 1e6);
                    let line = line_of(py, &error, hook.bind(py)).map(|line| format!(" ({line})"));
                    let line = line.unwrap_or_default();
                    self.fail(py, error, format!("in {name} of {class}, {flow}, at {seconds} s{line}"));
                    None
                }
            }
        })
    }

    fn fail(&self, py: Python, error: PyErr, place: String) {
        let value = error.value(py);
        if value.call_method1("add_note", (&place,)).is_err() {
            let _ = value.setattr("__notes__", [place]); // before Python 3.11, for the command alone
        }
        self.failure.keep(error);
        self.control.stop.store(true, Relaxed);
    }

    /// Reads a window that `hook` returns.
    fn returned<'a>(&'a self, hook: &'a str) -> impl FnOnce(&Bound<PyAny>) -> PyResult<u32> + 'a {
        move |value| {
            let what = format!("{}.{hook} must return", self.class);
            whole(&what, value, 1, WINDOW_MAX).map(|window| window as u32)
        }
    }
}

impl CongestionControl for PythonControl {
    fn init(&mut self, w: &mut cwnd_algorithms::Window, a: &cwnd_algorithms::Ack) {
        self.call("init", &self.hooks.init, (w, a), None, nothing);
    }

    fn pkts_acked(&mut self, w: &mut cwnd_algorithms::Window, a: &cwnd_algorithms::Ack) {
        self.call("pkts_acked", &self.hooks.pkts_acked, (w, a), None, nothing);
    }

    fn cong_avoid(&mut self, w: &mut cwnd_algorithms::Window, a: &cwnd_algorithms::Ack) {
        self.call("cong_avoid", &self.hooks.cong_avoid, (w, a), None, nothing);
    }

    fn has_cong_control(&self) -> bool {
        self.hooks.cong_control.is_some()
    }

    fn cong_control(&mut self, w: &mut cwnd_algorithms::Window, a: &cwnd_algorithms::Ack) {
        self.call("cong_control", &self.hooks.cong_control, (w, a), None, nothing);
    }

    fn segment_lost(&mut self, w: &mut cwnd_algorithms::Window, a: &cwnd_algorithms::Ack) {
        self.call("segment_lost", &self.hooks.segment_lost, (w, a), None, nothing);
    }

    fn ssthresh(&mut self, w: &mut cwnd_algorithms::Window, a: &cwnd_algorithms::Ack) -> u32 {
        let read = self.returned("ssthresh");
        self.call("ssthresh", &self.hooks.ssthresh, (w, a), None, read).unwrap_or((w.cwnd / 2).max(2))
    }

    fn set_state(&mut self, w: &mut cwnd_algorithms::Window, a: &cwnd_algorithms::Ack, state: State) {
        self.call("set_state", &self.hooks.set_state, (w, a), Some(state as u8), nothing);
    }

    fn cwnd_event(&mut self, w: &mut cwnd_algorithms::Window, a: &cwnd_algorithms::Ack, event: Event) {
        self.call("cwnd_event", &self.hooks.cwnd_event, (w, a), Some(event as u8), nothing);
    }

    fn undo_cwnd(&mut self, w: &mut cwnd_algorithms::Window, a: &cwnd_algorithms::Ack) -> u32 {
        let read = self.returned("undo_cwnd");
        let default = w.cwnd.max(w.prior_cwnd);
        self.call("undo_cwnd", &self.hooks.undo_cwnd, (w, a), None, read).unwrap_or(default)
    }
}

/// FILE:LINE of a hook: the line that raised `error`, or else, if its answer was refused, that of its definition.
///
/// Runs no Python code, as [`whole`].
fn line_of(py: Python, error: &PyErr, hook: &Bound<PyAny>) -> Option<String> {
    let (code, line) = match error.traceback(py) {
        Some(raised) => {
            (raised.getattr("tb_frame").ok()?.getattr("f_code").ok()?, raised.getattr("tb_lineno").ok()?)
        }
        None if hook.get_type().name().ok()? == "method" => {
            let code =
                hook.getattr("__func__").ok()?.cast_into::<PyFunction>().ok()?.getattr("__code__").ok()?;
            let line = code.getattr("co_firstlineno").ok()?;
            (code, line)
        }
        None => return None,
    };
    Some(format!("{}:{line}", code.getattr("co_filename").ok()?))
}

fn build(class: &Bound<PyAny>, cca: &Cca, profile: &str) -> PyResult<(Hooks, Py<PyWindow>)> {
    let py = class.py();
    let params = PyDict::new(py);
    for (name, value) in &cca.params {
        params.set_item(name, number_or_text(py, value)?)?;
    }
    let instance = class.call((), Some(&params))?;
    if class.hasattr("_profile")? {
        instance.setattr("_profile", profile)?; // a header's parameters differ with it
    }
    let module = py.import("cwnd._scenario.custom")?;
    let (base, check) = (module.getattr("CongestionControl")?, module.getattr("check_hook")?);
    let hook = |name: &str| -> PyResult<Option<Py<PyAny>>> {
        if instance.get_type().getattr(name)?.is(base.getattr(name)?) {
            return Ok(None);
        }
        let method = instance.getattr(name)?;
        check.call1((&cca.name, name, &method))?;
        Ok(Some(method.unbind()))
    };
    let hooks = Hooks {
        init: hook("init")?,
        pkts_acked: hook("pkts_acked")?,
        cong_avoid: hook("cong_avoid")?,
        cong_control: hook("cong_control")?,
        segment_lost: hook("segment_lost")?,
        ssthresh: hook("ssthresh")?,
        set_state: hook("set_state")?,
        cwnd_event: hook("cwnd_event")?,
        undo_cwnd: hook("undo_cwnd")?,
    };
    Ok((hooks, Py::new(py, PyWindow::default())?))
}

/// A scenario's text of a parameter as an int, a float, a bool or, failing these, a str.
fn number_or_text<'py>(py: Python<'py>, value: &str) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(number) = value.parse::<i64>() {
        return Ok(number.into_pyobject(py)?.into_any());
    }
    if let Ok(flag) = value.parse::<bool>() {
        return Ok(PyBool::new(py, flag).to_owned().into_any());
    }
    match value.parse::<f64>() {
        Ok(number) => Ok(number.into_pyobject(py)?.into_any()),
        Err(_) => Ok(value.into_pyobject(py)?.into_any()),
    }
}

/// Accepts the answer of a hook that returns nothing, unless it is a coroutine or a generator.
fn nothing(value: &Bound<PyAny>) -> PyResult<()> {
    if value.is_none() {
        return Ok(());
    }
    for waits in ["__next__", "__await__", "__anext__"] {
        if value.hasattr(waits)? {
            let found = value.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "a hook must return None, not of type {found}, which never runs"
            )));
        }
    }
    Ok(())
}

/// A whole number from `min` to `max`; `what` begins the sentence of the error.
///
/// Runs no Python code: a thread that waits for the interpreter inside a Rust function aborts the process when the
/// interpreter ends.
fn whole(what: &str, value: &Bound<PyAny>, min: u64, max: u64) -> PyResult<u64> {
    // NumPy's integers are accepted too: their `__index__` is a slot in C.
    let index = value.get_type().getattr("__index__");
    let in_c =
        index.is_ok_and(|index| index.get_type().name().is_ok_and(|name| name == "wrapper_descriptor"));
    if value.is_instance_of::<PyBool>() || !(value.is_instance_of::<PyInt>() || in_c) {
        let shown = value.is_none()
            || value.is_exact_instance_of::<PyFloat>()
            || value.is_instance_of::<PyBool>()
            || value.is_exact_instance_of::<PyString>();
        let found =
            if shown { value.repr()?.to_string() } else { format!("of type {}", value.get_type().name()?) };
        return Err(PyTypeError::new_err(format!("{what} an int from {min} to {max}, not {found}")));
    }
    match value.extract::<i128>() {
        Ok(number) if (min.into()..=max.into()).contains(&number) => Ok(number as u64),
        Ok(number) => Err(PyValueError::new_err(format!("{what} an int from {min} to {max}, not {number}"))),
        Err(_) => {
            Err(PyValueError::new_err(format!("{what} an int from {min} to {max}, not one beyond 128 bits")))
        }
    }
}
