//! Two kinds of senders behind DualPI2 (RFC 9332).

mod common;

use common::read;
use cwnd_algorithms::{Ack, CongestionControl, ECE, State, Window};
use cwnd_engine::{Control, run};
use cwnd_results::Run;
use rayon::prelude::*;

/// A scalable sender (RFC 9331): as DCTCP (RFC 8257), paced, and independent of a short RTT, as TCP Prague.
#[derive(Default)]
struct Scalable {
    /// The marked share of packets, averaged.
    alpha: f64,
    /// A round is over at this time.
    round_end_us: u64,
    acked: f64,
    marked: f64,
    /// No second reduction until then.
    reduced_until_us: u64,
    window: f64,
    /// Nothing was marked or lost yet.
    starting: bool,
}

impl Scalable {
    /// Below 25 ms the rate is that of a flow with 25 ms.
    fn virtual_rtt_us(a: &Ack) -> u64 {
        u64::from(a.srtt_us).max(25_000)
    }

    fn reduce(&mut self, a: &Ack, part: f64) {
        if a.now_us >= self.reduced_until_us {
            self.window = (self.window * (1.0 - part)).max(2.0);
            self.reduced_until_us = a.now_us + Scalable::virtual_rtt_us(a);
        }
    }
}

impl CongestionControl for Scalable {
    fn init(&mut self, w: &mut Window, _: &Ack) {
        (self.window, self.starting) = (f64::from(w.cwnd), true);
    }

    fn cong_avoid(&mut self, _: &mut Window, _: &Ack) {}

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, w: &mut Window, a: &Ack) {
        let (acked, rtt_s) = (f64::from(a.acked), f64::from(a.srtt_us.max(1)) * 1e-6);
        let virtual_rtt_s = Scalable::virtual_rtt_us(a) as f64 * 1e-6;
        self.acked += acked;
        if a.flags & ECE != 0 {
            self.marked += acked;
            if self.starting {
                (self.starting, self.alpha) = (false, 1.0);
            }
            self.reduce(a, self.alpha / 2.0);
        }
        if self.starting {
            self.window += acked;
        } else if a.flags & ECE == 0 {
            self.window += acked / self.window * (rtt_s / virtual_rtt_s).powi(2);
        }
        if a.now_us >= self.round_end_us {
            self.alpha += (self.marked / self.acked.max(1.0) - self.alpha) / 16.0;
            (self.acked, self.marked) = (0.0, 0.0);
            self.round_end_us = a.now_us + Scalable::virtual_rtt_us(a);
        }
        // The rate rules; the window leaves it room.
        w.cwnd = self.window.ceil() as u32 + 1;
        w.pacing_rate = (self.window * f64::from(a.mss) / rtt_s) as u64;
    }

    fn ssthresh(&mut self, w: &mut Window, _: &Ack) -> u32 {
        w.cwnd
    }

    fn set_state(&mut self, _: &mut Window, a: &Ack, state: State) {
        if matches!(state, State::Recovery | State::Loss) {
            self.starting = false;
            self.reduce(a, 0.5);
        }
    }
}

/// One scalable flow and one of cubic.
fn together(mbps: u64, rtt_ms: u64) -> Run {
    let scenario = read(&format!(
        "duration = '200 s'\nwarmup = '20 s'\nsamples = 'off'\n[dumbbell]\nrate = '{mbps} Mbps'\ndelay = '{} us'\nbuffer = 10000\n\
         queue = 'dualpi2'\n[[flows]]\ncca = {{ name = 'fixed', window = 1 }}\n\
         stack = {{ ecn = 'l4s', ack_every = 1 }}\n[[flows]]\ncca = 'cubic'\nstack = {{ ecn = 'classic' }}\n",
        rtt_ms * 500
    ));
    let custom = |cca: &cwnd_scenario::Cca| -> Option<Box<dyn CongestionControl>> {
        (cca.name == "fixed").then(|| Box::new(Scalable::default()) as Box<dyn CongestionControl>)
    };
    run(&scenario, 1, &custom, &Control::default()).expect("nobody stops it")
}

/// Published shares of Prague and CUBIC are within a factor of two, the delay of scalable packets about a millisecond or two
/// packets, that of classic ones about the target of 15 ms. The windows alone would give 0.82: scalable 2 / p, classic
/// 1.22 / √p². Marks that come at random miss rounds of the scalable sender, and what the controller adds to the mean of
/// p' by going up and down counts twice in its square: both are for the scalable sender.
#[test]
fn a_scalable_sender_and_cubic_share_and_the_scalable_one_hardly_waits() {
    let rates = [4, 12, 40, 120, 200].into_iter();
    let paths: Vec<_> = rates.flat_map(|mbps| [5, 10, 20, 50, 100].map(|rtt_ms| (mbps, rtt_ms))).collect();
    paths.into_par_iter().for_each(|(mbps, rtt_ms)| {
        let run = together(mbps, rtt_ms);
        let [scalable, cubic] = &run.flows[..] else { panic!("two flows") };
        let ratio = scalable.goodput_mbps / cubic.goodput_mbps;
        println!("{mbps} Mbps, {rtt_ms} ms: {ratio:.2}");
        assert!((0.5..2.0).contains(&ratio), "{mbps} Mbps, {rtt_ms} ms: {ratio:.2}");
        let waits_ms = [scalable, cubic].map(|flow| flow.mean_rtt_ms.unwrap() - rtt_ms as f64);
        let two_packets_ms = 2.0 * 1514.0 * 8e-3 / mbps as f64;
        assert!(waits_ms[0] < f64::max(1.0, two_packets_ms), "{mbps} Mbps, {rtt_ms} ms: {waits_ms:?}");
        assert!((5.0..32.0).contains(&waits_ms[1]), "{mbps} Mbps, {rtt_ms} ms: {waits_ms:?}");
        assert!(scalable.lost_pkts == 0 && scalable.marked_pkts > 0 && cubic.marked_pkts > 0);
    });
}
