//! Windows of senders that an application limits, with the stack's own rule and with that of the draft.

use crate::common::answer;
use cwnd_results::Run;

/// Four packets of 1448 bytes each 100 ms, of which the path takes one a millisecond and gives the ACKs after 40 ms.
fn small_frames(cca: &str, rule: &str) -> Run {
    answer(&format!(
        "duration = '20 s'\nsamples = 100\nstack = {{ rate_limited = '{rule}' }}\n\
         [[chain]]\nrate = '12 Mbps'\ndelay = '20 ms'\nbuffer = 100\n\
         [[flows]]\ncca = '{cca}'\napp_rate = '463360 bps'\nframe_rate = 10\n"
    ))
}

fn last_window(run: &Run) -> u32 {
    let samples = &run.flow_samples;
    samples.cwnd_pkts[samples.cwnd_pkts.len() - 1]
}

/// RFC 9002 and Linux: no growth of the initial window. The draft: twice the initial window, and no further. BBR is not changed.
#[test]
fn four_packets_a_frame_let_the_window_grow_to_twice_the_initial_one() {
    for cca in ["reno", "cubic"] {
        let windows = ["own", "draft"].map(|rule| last_window(&small_frames(cca, rule)));
        assert_eq!(windows, [10, 20], "{cca}");
    }
    assert_eq!(format!("{:?}", small_frames("bbr", "own")), format!("{:?}", small_frames("bbr", "draft")));
}

/// A sender that is never limited has the same window at every sample.
#[test]
fn a_full_window_grows_as_with_the_stacks_own_rule() {
    for cca in ["reno", "cubic", "highspeed"] {
        let bulk = |rule: &str| {
            answer(&format!(
                "duration = '30 s'\nsamples = 300\nstack = {{ rate_limited = '{rule}' }}\n[[chain]]\nrate = '12 Mbps'\n\
                 delay = '20 ms'\nbuffer = 40\n[[flows]]\ncca = '{cca}'\n"
            ))
        };
        assert_eq!(bulk("own").flow_samples.cwnd_pkts, bulk("draft").flow_samples.cwnd_pkts, "{cca}");
    }
}
