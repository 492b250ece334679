//! One flow over one link of 8 Mbps: the path of most calculations by hand.
//!
//! Packets have 1000 bytes, 934 bytes of them payload: 1 ms each. An ACK has 66 bytes: 66 us. One way takes 10 ms, so
//! that a lone packet's RTT is 1 + 10 + 0.066 + 10 = 21.066 ms.

use super::{Hook, Seen, answer};

pub const RTT_US: u64 = 21_066;
pub const ALL: [&str; 8] = ["tahoe", "reno", "newreno", "vegas", "sack", "fack", "prr", "rate-halving"];

/// The scenario with more keys of the stack.
pub fn one_link(cca: &str, duration: &str, buffer: &str, stack: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        samples = "change"
        stack = {{ ack_every = 1, sack_delay = '0 s', {stack} }}
        [[chain]]
        rate = "8 Mbps"
        delay = "10 ms"
        buffer = "{buffer}"
        [[flows]]
        cca = {cca}
        packet = 934
        "#
    )
}

pub fn fixed(window: u64) -> String {
    format!("{{ name = 'fixed', window = {window} }}")
}

pub fn overshoot(window: u64, after_loss: u64) -> String {
    format!("{{ name = 'overshoot', window = {window}, after_loss = {after_loss} }}")
}

/// Returns the packets sent up to and at `at_us`, retransmissions included: a flow that stops then no longer sends.
pub fn sent_by(at_us: u64, scenario: impl Fn(&str) -> String) -> u64 {
    answer(&scenario(&format!("{} us", at_us + 1))).flows[0].sent_pkts
}

/// One flow over one link: `link` are more keys of it, `flow` of the flow, `stack` of its stack.
pub struct Setup {
    pub cca: String,
    pub buffer: &'static str,
    pub link: &'static str,
    pub flow: String,
    pub stack: String,
}

impl Setup {
    pub fn new(cca: impl Into<String>, buffer: &'static str, stack: impl Into<String>) -> Setup {
        Setup { cca: cca.into(), buffer, link: "", flow: String::new(), stack: stack.into() }
    }

    pub fn toml(&self, duration_us: u64) -> String {
        format!(
            "duration = '{duration_us} us'\nsamples = 'change'\n\
             [[chain]]\nrate = '8 Mbps'\ndelay = '10 ms'\nbuffer = {}\n{}\n\
             [[flows]]\npacket = 934\ncca = {}\n{}\nstack = {{ ack_every = 1, sack_delay = '0 s', {} }}\n",
            self.buffer, self.link, self.cca, self.flow, self.stack
        )
    }

    /// Returns the packets sent up to and at `at_us`, and how many of them were sent again.
    pub fn sent(&self, at_us: u64) -> (u64, u64) {
        let flow = &answer(&self.toml(at_us + 1)).flows[0];
        (flow.sent_pkts, flow.retransmitted_pkts)
    }
}

/// A window and the recovery from what the first burst loses; later it is Reno's.
pub fn then_reno(window: u64, buffer: &'static str, recovery: &str) -> Setup {
    let cca = format!("{{ name = 'then-reno', window = {window} }}");
    Setup::new(cca, buffer, format!("recovery = '{recovery}'"))
}

pub fn losses(seen: &[Seen]) -> usize {
    seen.iter().filter(|seen| seen.hook == Hook::Loss).count()
}
