//! Events of a flow as its samples show them: where its algorithm is not watched call by call.

/// Kinds of events that samples show.
pub const SHOWN: [&str; 3] = ["cut", "recovered", "slow-start-exit"];

/// Share of the window before it, below which a new ssthresh is a cut; the end of slow start by delay sets the window itself.
const SSTHRESH_SHARE: f64 = 0.95;
/// Share of the largest window, below which a window was cut.
const WINDOW_SHARE: f64 = 0.9;

/// A row of a flow's samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSample {
    /// From the start of the run.
    pub time_s: f64,
    /// Congestion window.
    pub cwnd_pkts: f64,
    /// Slow start threshold; None: none was set, or none is reported.
    pub ssthresh_pkts: Option<f64>,
    /// Smoothed; None before the first sample.
    pub rtt_ms: Option<f64>,
}

/// An event between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting {
    /// One of [`SHOWN`].
    pub kind: &'static str,
    /// Half-way between the last sample before it and the next one.
    pub time_s: f64,
    /// The smoothed RTT before it; 0: there was none.
    pub round_s: f64,
}

/// The events of one flow's samples, in the order of time.
///
/// A cut is a new ssthresh below 0.95 of the window, or a window below 0.9 of its largest value since the last one. A recovery
/// ends with the first growth from ssthresh on, or with the first growth where none is reported.
pub fn sightings(rows: &[FlowSample]) -> Vec<Sighting> {
    let ssthresh = |row: &FlowSample| row.ssthresh_pkts.unwrap_or(f64::INFINITY);
    let mut seen = Vec::new();
    let mut is_cut = false;
    let mut peak = 0;
    for (row, step) in rows.windows(2).enumerate() {
        let (before, window) = (step[0].cwnd_pkts, step[1].cwnd_pkts);
        let (was, threshold) = (ssthresh(&step[0]), ssthresh(&step[1]));
        if rows[peak].cwnd_pkts <= before {
            peak = row;
        }
        let mut add = |kind, after: usize| {
            let time_s = (rows[after].time_s + rows[after + 1].time_s) / 2.0;
            seen.push(Sighting { kind, time_s, round_s: rows[after].rtt_ms.unwrap_or(0.0) / 1e3 });
        };
        let is_lowered = threshold != was && threshold < SSTHRESH_SHARE * before;
        if is_lowered && (!is_cut || threshold < SSTHRESH_SHARE * was) {
            add("cut", row);
            is_cut = true;
        } else if !is_cut && window < WINDOW_SHARE * rows[peak].cwnd_pkts {
            add("cut", peak);
            is_cut = true;
        } else if is_cut && window > before && (threshold.is_infinite() || before >= threshold) {
            add("recovered", row);
            is_cut = false;
            peak = row + 1;
        }
        if before < was && window >= threshold {
            add("slow-start-exit", row);
        }
    }
    seen.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
    seen
}
