//! A network namespace without a name: it ends with the process, however that ends.

use crate::Error;
use crate::sys::{self, Core};
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

type Job = Box<dyn FnOnce() + Send>;

/// Packets that a device holds until the emulator reads them: more than any window.
const DEVICE_PKTS: u32 = 100_000;

pub struct Namespace {
    jobs: Sender<Job>,
}

impl Namespace {
    /// A namespace with one TUN device, and that device.
    pub fn new(
        address: Ipv4Addr,
        mtu: u32,
        ecn: bool,
        buffer_bytes: u64,
    ) -> Result<(Namespace, File), Error> {
        let (jobs, queue) = channel::<Job>();
        let (made, outcome) = channel();
        let live = move || {
            sys::stay_on(Core::Rest);
            let device = set_up(address, mtu, ecn, buffer_bytes);
            let ready = device.is_ok();
            if made.send(device).is_ok() && ready {
                queue.iter().for_each(|job| job());
            }
        };
        thread::Builder::new().spawn(live).map_err(Error::of("no thread can be made"))?;
        let device = outcome.recv().expect("the thread answers")?;
        Ok((Namespace { jobs }, device))
    }

    /// A thread inside.
    pub fn spawn<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let (made, thread) = channel();
        let spawn = move || {
            // Threads begin in the namespace of the thread that makes them.
            let _ = made.send(thread::spawn(job));
        };
        self.jobs.send(Box::new(spawn)).expect("the namespace lives");
        thread.recv().expect("the namespace lives")
    }
}

fn set_up(address: Ipv4Addr, mtu: u32, ecn: bool, buffer_bytes: u64) -> Result<File, Error> {
    sys::enter_new_namespace().map_err(|error| {
        Error::Machine(
            format!("a network namespace cannot be made ({error}); run it as root"),
            Some(error.into()),
        )
    })?;
    let set = |name: &str, value: &str| {
        fs::write(format!("/proc/sys/net/{name}"), value).map_err(Error::of(format!("sysctl {name}")))
    };
    // Nothing but the flows' own packets; where there is no IPv6, there is nothing to switch off.
    let _ = set("ipv6/conf/default/disable_ipv6", "1");
    set("ipv4/tcp_no_metrics_save", "1")?;
    set("ipv4/tcp_ecn", if ecn { "1" } else { "0" })?;
    let buffers = format!("4096 {buffer_bytes} {}", 2 * buffer_bytes);
    set("ipv4/tcp_rmem", &buffers)?;
    set("ipv4/tcp_wmem", &buffers)?;
    let device = sys::open_tun(address, mtu, DEVICE_PKTS).map_err(|error| {
        Error::Machine(
            format!(
                "no TUN device can be made ({error}); load the module tun, and let /dev/net/tun be used by root"
            ),
            Some(error.into()),
        )
    })?;
    // Without it, packets are passed on later, which a note says if it matters.
    let _ = sys::work_on_rest();
    Ok(device)
}
