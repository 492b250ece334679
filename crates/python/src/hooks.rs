//! An algorithm at work on events that a caller makes up, without a network.

use crate::custom::{Failure, PythonControl};
use crate::refuse;
use crate::scenario::PyScenario;
use cwnd_algorithms::{Ack, CongestionControl, Driver, Lowering, Window};
use cwnd_engine::Control;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A driver, the caller's half of the contract, as the simulator has one for each flow.
#[pyclass(frozen, name = "Hooks", module = "cwnd._cwnd")]
pub struct PyHooks {
    driver: Mutex<Driver<Box<dyn CongestionControl>>>,
    failure: Arc<Failure>,
}

#[pymethods]
impl PyHooks {
    /// The algorithm of the scenario's first flow, with this window.
    #[new]
    fn new(scenario: &PyScenario, cwnd: u32, ssthresh: u32) -> PyResult<PyHooks> {
        let failure = Arc::new(Failure::default());
        let flow = &scenario.inner.flows[0];
        let cca = &flow.cca;
        let inner: Box<dyn CongestionControl> = match scenario.classes.get(&cca.name) {
            Some(class) => {
                let (place, control) = ((None, &*flow.stack.profile), Arc::new(Control::default()));
                Box::new(PythonControl::new(class, cca, place, 0, &control, &failure))
            }
            None => {
                let (algorithm, params) = cca.resolve().map_err(refuse)?;
                Box::new(algorithm.build(&params))
            }
        };
        let window = Window { ssthresh: ssthresh.max(2), ..Window::new(cwnd.max(1)) };
        let ack = Ack { mss: 1448, snd_wnd: u32::MAX, ..Ack::default() };
        let hooks = PyHooks { driver: Mutex::new(Driver::new(inner, window, ack)), failure };
        hooks.raised()?;
        Ok(hooks)
    }

    /// Sets a field of `struct cc_ack`.
    fn set(&self, field: &str, value: u64) -> PyResult<()> {
        let mut driver = self.driver();
        let ack = &mut driver.ack;
        match field {
            "now_us" => ack.now_us = value,
            "delivered" => ack.delivered = value,
            "rate_prior_delivered" => ack.rate_prior_delivered = value,
            "delivered_ce" => ack.delivered_ce = value,
            "lost_total" => ack.lost_total = value,
            "flags" => ack.flags = value as u8,
            _ => {
                let word = match field {
                    "rate_delivered" => &mut ack.rate_delivered,
                    "rate_interval_us" => &mut ack.rate_interval_us,
                    "rtt_us" => &mut ack.rtt_us,
                    "srtt_us" => &mut ack.srtt_us,
                    "min_rtt_us" => &mut ack.min_rtt_us,
                    "acked" => &mut ack.acked,
                    "ce" => &mut ack.ce,
                    "lost" => &mut ack.lost,
                    "owd_us" => &mut ack.owd_us,
                    "prior_in_flight" => &mut ack.prior_in_flight,
                    "in_flight" => &mut ack.in_flight,
                    "mss" => &mut ack.mss,
                    _ => return Err(PyValueError::new_err(format!("no field {field}"))),
                };
                *word = value as u32;
            }
        }
        Ok(())
    }

    fn start(&self) -> PyResult<()> {
        self.driver().start();
        self.raised()
    }

    /// An ACK that shows neither a loss nor congestion.
    fn on_ack(&self) -> PyResult<()> {
        self.driver().on_ack();
        self.raised()
    }

    fn on_loss(&self) -> PyResult<()> {
        self.driver().on_loss(Lowering::ToSsthresh);
        self.raised()
    }

    fn on_congestion(&self) -> PyResult<bool> {
        let reduces = self.driver().on_congestion(Lowering::ToSsthresh, 0);
        self.raised()?;
        Ok(reduces)
    }

    fn on_recovered(&self) -> PyResult<()> {
        let mut driver = self.driver();
        let cwnd = driver.window.ssthresh.max(1);
        driver.on_recovered(cwnd);
        drop(driver);
        self.raised()
    }

    fn on_timeout(&self, reduces: bool, lost: u32) -> PyResult<()> {
        self.driver().on_timeout(reduces, lost);
        self.raised()
    }

    fn undo(&self, ssthresh: u32) -> PyResult<()> {
        self.driver().undo(ssthresh);
        self.raised()
    }

    fn on_idle(&self, timeouts: u64, initial_cwnd: u32) -> PyResult<()> {
        self.driver().on_idle(timeouts, initial_cwnd);
        self.raised()
    }

    fn on_first_send(&self) -> PyResult<()> {
        self.driver().on_first_send();
        self.raised()
    }

    #[getter]
    fn controls_window(&self) -> bool {
        self.driver().controls_window()
    }

    #[getter]
    fn cwnd(&self) -> u32 {
        self.driver().window.cwnd
    }

    #[getter]
    fn cwnd_cnt(&self) -> u32 {
        self.driver().window.cwnd_cnt
    }

    #[getter]
    fn ssthresh(&self) -> u32 {
        self.driver().window.ssthresh
    }

    #[getter]
    fn pacing_rate(&self) -> u64 {
        self.driver().window.pacing_rate
    }
}

impl PyHooks {
    // No Python code waits for it: a class has no way to the driver that calls it.
    fn driver(&self) -> MutexGuard<'_, Driver<Box<dyn CongestionControl>>> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises the exception of a class, if a hook of it has raised one.
    fn raised(&self) -> PyResult<()> {
        self.failure.take().map_or(Ok(()), Err)
    }
}
