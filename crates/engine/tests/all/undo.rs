//! Fast recoveries that prove needless, calculated by hand.
//!
//! Packets of 1000 bytes take 1 ms on the link of `common/one_link.rs`. Until 65.5 ms the way there takes 30 ms more, then 10:
//! packets that left before are overtaken. The way back takes 30.066 ms.
//!
//! Segments 0 to 9 leave at once; ACK k, at 61.066 + k ms, lets segment 10 + k out, which leaves the link 1 ms later. Segments
//! 10 to 13 take 30 ms more, and arrive at 92.066 + k; segment 14 takes 10, and arrives at 76.066, and so on. So the SACKs of
//! 14 to 19 come at 106.132 ms and each ms after. The first two let 20 and 21 out; with the third, 10 to 13 count as lost: 10 is
//! sent again at 108.132, 11 at 110.132 and 12 at 111.132, by PRR's count. The ACKs of the originals come at 122.132 to 125.132.

use crate::common::{Hook, Seen, read, times_us, watch_scenario};
use cwnd_algorithms::{SSTHRESH_INFINITE, State, Window};
use cwnd_results::Run;

const LOST_US: u64 = 108_132;
/// When the original of segment 10 is acknowledged.
const FIRST_US: u64 = 122_132;
/// From when a segment is sent until its ACK arrives, since 65.5 ms.
const RTT_US: u64 = 1_000 + 10_000 + 30_066;

fn overtaken(stack: &str, duration_us: u64) -> (Run, Vec<Seen>) {
    watch_scenario(&read(&format!(
        "duration = '{duration_us} us'\nsamples = 'change'\n\
         [[chain]]\nrate = '8 Mbps'\ndelay = {{ steps = [['0 s', '30 ms'], ['65500 us', '10 ms']] }}\nbuffer = 100\n\
         [[flows]]\npacket = 934\ncca = {{ name = 'then-reno', window = 10 }}\n\
         stack = {{ ack_every = 1, sack_delay = '0 s', {stack} }}\n"
    )))
}

/// When the sender left the recovery that began at [`LOST_US`], and its window then.
fn end(seen: &[Seen]) -> (u64, Window) {
    assert_eq!(times_us(seen, Hook::State(State::Recovery))[..1], [LOST_US]);
    let after = seen.iter().skip_while(|seen| seen.hook != Hook::State(State::Recovery)).skip(1);
    let left = after.into_iter().find(|seen| matches!(seen.hook, Hook::State(_))).expect("it ends");
    (left.at_us(), left.window)
}

fn at(seen: &[Seen], at_us: u64) -> Window {
    seen.iter().rfind(|seen| seen.at_us() <= at_us).expect("a hook is called").window
}

/// RFC 3522 and Linux: the ACKs of 10 and 11 echo times before the first retransmission, but others are under way, and only
/// new segments are sent; that of 12 finds none.
#[test]
fn an_ack_that_echoes_a_time_before_the_retransmission_restores_both_windows() {
    let (run, seen) = overtaken("", FIRST_US + 10_000);
    let (left_us, window) = end(&seen);
    assert_eq!((left_us, window.cwnd, window.ssthresh), (FIRST_US + 2_000, 10, SSTHRESH_INFINITE));
    assert_eq!((run.flows[0].retransmitted_pkts, run.flows[0].lost_pkts), (3, 0));
    assert_eq!(times_us(&seen, Hook::Loss), [LOST_US], "and none begins again");
}

/// RFC 3708: without timestamps, once the fourth retransmission, of segment 13 at the ACK of 10, has arrived twice, too. The
/// recovery is over then: 20 and 21 are acknowledged.
#[test]
fn without_timestamps_the_windows_are_restored_when_all_retransmissions_have_arrived_twice() {
    let (run, seen) = overtaken("timestamps = false, header = 66, ack = 66", FIRST_US + RTT_US + 2_000);
    let (left_us, window) = end(&seen);
    assert_eq!((left_us, window.cwnd, window.ssthresh), (107_132 + RTT_US, 5, 5));
    assert_eq!(run.flows[0].retransmitted_pkts, 4);
    // Segment 22, sent at the ACK of 11, is acknowledged a millisecond after the fourth report.
    let windows = [0, 1_000].map(|after_us| at(&seen, FIRST_US + RTT_US + after_us));
    assert_eq!(windows.map(|window| window.cwnd), [5, 10]);
    assert_eq!(windows[1].ssthresh, SSTHRESH_INFINITE);
}

#[test]
fn a_recovery_is_not_undone_where_timeouts_are_not() {
    let (_, seen) = overtaken("undo_spurious_rto = false", FIRST_US + RTT_US + 2_000);
    let (left_us, window) = end(&seen);
    assert_eq!((left_us, window.cwnd, window.ssthresh), (107_132 + RTT_US, 5, 5));
    assert_eq!(at(&seen, FIRST_US + RTT_US + 1_000).ssthresh, 5);
}

/// The algorithm says to which window: Linux calls `undo_cwnd` (tcp_undo_cwnd_reduction), once for each recovery.
#[test]
fn the_hook_undo_is_called_when_a_recovery_proves_needless_and_only_then() {
    for (stack, undone_us) in [
        ("", vec![FIRST_US + 2_000]),
        ("timestamps = false, header = 66, ack = 66", vec![FIRST_US + RTT_US]),
        ("undo_spurious_rto = false", vec![]),
    ] {
        let (_, seen) = overtaken(stack, FIRST_US + RTT_US + 2_000);
        assert_eq!(times_us(&seen, Hook::Undo), undone_us, "{stack}");
    }
}
