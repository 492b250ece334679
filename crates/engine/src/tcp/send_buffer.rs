//! Linux's send buffer: how many segments an application may have written that are not acknowledged.
//!
//! The kernel reserves memory for twice cwnd, and more for a segment than one takes, so that the buffer limits only where the
//! first segment stays missing for several RTTs. It grows when data is missing that cwnd would admit.

use cwnd_scenario::Flow;

/// Memory that a segment takes besides its payload.
const BESIDE_PAYLOAD_BYTES: u32 = 832;
/// The least cwnd for which memory is reserved.
const LEAST_CWND: u64 = 10;

pub struct SendBuffer {
    /// Segments that fit for each of cwnd.
    per_cwnd: f64,
    pkts: u64,
    /// The application has filled it, and is not woken before a third of it is free.
    is_full: bool,
}

impl SendBuffer {
    /// The buffer with which a connection begins.
    pub fn new(flow: &Flow) -> SendBuffer {
        let per_cwnd = segments_per_cwnd(flow.payload_bytes, flow.stack.timestamps);
        let mut buffer = SendBuffer { per_cwnd, pkts: 0, is_full: false };
        buffer.grow_for(LEAST_CWND);
        buffer
    }

    /// A segment is missing, and was not until now: cwnd grew until so many were in flight, and the buffer with it.
    pub fn grow_to_hold(&mut self, flight_pkts: u64) {
        self.is_full = false;
        while self.pkts <= flight_pkts {
            self.grow_for(self.pkts + 1);
        }
    }

    fn grow_for(&mut self, cwnd: u64) {
        self.pkts = self.pkts.max((cwnd as f64 * self.per_cwnd) as u64);
    }

    /// Returns true if there is another segment to send, with `held_pkts` in the buffer.
    pub fn has_segment(&mut self, held_pkts: u64, cwnd: u32) -> bool {
        self.is_full &= 3 * held_pkts > 2 * self.pkts;
        if self.is_full || held_pkts >= self.pkts {
            let before_pkts = self.pkts;
            self.grow_for(cwnd.into());
            self.is_full = self.pkts == before_pkts || held_pkts >= self.pkts;
        }
        !self.is_full
    }
}

/// For a segment the kernel reserves what its largest headers and descriptions take besides it, rounded up to a power of two,
/// and 256 bytes: 4352 bytes with 1448 of payload, so that a socket begins with 87,040.
fn segments_per_cwnd(payload_bytes: u32, timestamps: bool) -> f64 {
    let segment_bytes = payload_bytes + if timestamps { 12 } else { 0 };
    let reserved_bytes = (segment_bytes + 640).next_power_of_two() + 256;
    2.0 * f64::from(reserved_bytes) / f64::from(payload_bytes + BESIDE_PAYLOAD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwnd_scenario::Scenario;

    fn buffer(payload_bytes: u32, flight_pkts: u64) -> SendBuffer {
        let text = format!(
            "[dumbbell]\nrate = '1 Mbps'\ndelay = '1 ms'\nbuffer = 9\n[[flows]]\ncca = 'reno'\npacket = {payload_bytes}"
        );
        let scenario = Scenario::from_toml(&text, "test.toml", &[]).unwrap();
        let mut buffer = SendBuffer::new(&scenario.flows[0]);
        buffer.grow_to_hold(flight_pkts);
        buffer
    }

    /// A socket begins with 87,040 bytes for a window of 10, and a segment of 1448 bytes takes 2280.
    #[test]
    fn the_buffer_holds_twice_the_window_in_the_kernels_measure() {
        assert_eq!(buffer(1448, 0).pkts, 87_040 / 2280);
        // It grew for the first window that did not fit, 39.
        assert_eq!(buffer(1448, 38).pkts, 39 * 2 * 4352 / 2280);
        // 536 + 12 + 640 bytes are rounded up to 2048.
        assert_eq!(buffer(536, 0).pkts, 10 * 2 * (2048 + 256) / (536 + 832));
    }

    #[test]
    fn a_full_buffer_takes_more_once_a_third_is_free_or_the_window_is_larger() {
        let mut buffer = buffer(1448, 0);
        assert_eq!(
            [37, 38, 26, 25].map(|held_pkts| buffer.has_segment(held_pkts, 9)),
            [true, false, false, true]
        );
        assert_eq!([9, 11].map(|cwnd| buffer.has_segment(38, cwnd)), [false, true]);
        assert_eq!(buffer.pkts, 41);
    }
}
