"""Claims of the Elastic-TCP paper on growth: the example of section II, section III, and the RTT."""

from __future__ import annotations

import polars as pl

from cwnd._reproduce.claims import Outcome, claim, every, only


def samples(m, trace: str, cca: str) -> pl.DataFrame:
    return m.trace(trace, cca).filter(pl.col("cwnd_pkts").is_not_null()).sort("time_s")


def cuts(m, trace: str, cca: str) -> list[tuple[float, float, float]]:
    """The time of each cut of a window above 100 packets, that window, and ssthresh after it."""
    rows = samples(m, trace, cca)
    times, cwnds, thresholds = (rows[name].to_list() for name in ("time_s", "cwnd_pkts", "ssthresh_pkts"))
    return [
        (times[i], cwnds[i - 1], thresholds[i])
        for i in range(1, len(cwnds))
        if cwnds[i - 1] > 100 and cwnds[i] < 0.95 * cwnds[i - 1]
    ]


@claim(
    "abstract, III",
    "Elastic-TCP is RTT-independent: one flow at PER 10⁻³ has the same throughput at 25, 100 and 200 ms.",
    why="Its window is the same at each RTT, so its throughput is in proportion to 1/RTT: it grows per RTT.",
)
def rtt_independent(m):
    series = m("rtts", "elastic")
    return every((series.at(delay) / series.at("12.5 ms")).about(1) for delay in ("50 ms", "100 ms"))


@claim(
    "II",
    "RTT-independent growth follows the network and not the RTT's magnitude: at PER 10⁻³ the mean window "
    "is the same at each RTT.",
)
def one_window_at_every_rtt(m):
    series = m("rtts", "elastic", "window")
    return every((series.at(delay) / series.at("12.5 ms")).about(1) for delay in ("50 ms", "100 ms"))


@claim(
    "II, IV.B.1",
    "Elastic-TCP depends less on the RTT than CUBIC, C-TCP and NewReno: it keeps more of its throughput "
    "from 25 to 200 ms.",
    why="Its throughput is in proportion to 1/RTT: an eighth for eight times the RTT.",
)
def depends_least_on_the_rtt(m):
    share = {cca: m("rtts", cca).at("100 ms") / m("rtts", cca).at("12.5 ms") for cca in m.variants("rtts")}
    others = [cca for cca in share if cca != "elastic"]
    outcomes = [(share["elastic"] - share[cca]).above(0) for cca in others]
    shown = ", ".join(f"{cca} {one.mean:.3f}" for cca, one in share.items())
    return Outcome(all(outcome.holds for outcome in outcomes), f"kept: {shown}")


def epoch(m, trace: str) -> tuple[float, float, float]:
    """The window before a cut of NewReno, ssthresh after it, and the time since the cut before."""
    (before, *_), (time, window, ssthresh) = cuts(m, trace, "newreno")[-2:]
    return window, ssthresh, time - before


@claim("II", "1 Gbps, RTT 1 ms: NewReno halves 125 packets, and is back after 62 ms.")
def example_short(m):
    measured = zip(epoch(m, "example-short"), (125, 62, 0.062), strict=True)
    return every(only(ours).about(published) for ours, published in measured)


@claim("II", "1 Gbps, RTT 100 ms: NewReno halves 12,500 packets to 6,250, and is back after 625 s.")
def example_long(m):
    measured = zip(epoch(m, "example-long"), (12_500, 6_250, 625), strict=True)
    return every(only(ours).about(published) for ours, published in measured)


def rounds(m) -> tuple[list[float], list[float], list[float]]:
    """The last epoch of Fig. 7a: windows, RTTs in ms, and times."""
    (start, *_), (end, *_) = cuts(m, "fig7", "elastic")[-2:]
    rows = samples(m, "fig7", "elastic").filter(
        (pl.col("time_s") > start + 0.5) & (pl.col("time_s") < end) & pl.col("rtt_ms").is_not_null()
    )
    return rows["cwnd_pkts"].to_list(), rows["rtt_ms"].to_list(), rows["time_s"].to_list()


@claim(
    "III.A, Eq. 2, Fig. 2",
    "The utilisation ratio, RTT over the largest RTT, rises in an epoch and ends at 1.",
)
def utilization_ratio(m):
    _, rtts, _ = rounds(m)
    largest = m.trace("fig7", "elastic")["rtt_ms"].max()
    first, last = rtts[0] / largest, max(rtts) / largest
    return Outcome(first < last and only(last).about(1).holds, f"{first:.3f} to {last:.3f}")


@claim("III.A, Eqs. 4 and 5, Fig. 3", "Δ falls from at most RTTmax/RTTbase, 1.26 here, to 1.")
def weighting_function(m):
    _, rtts, _ = rounds(m)
    every_rtt = m.trace("fig7", "elastic")["rtt_ms"]
    largest, bound = every_rtt.max(), every_rtt.max() / every_rtt.min()
    first, last = largest / rtts[0], largest / max(rtts)
    holds = bound >= first > last and only(last).about(1).holds and only(bound).about(1.26).holds
    return Outcome(holds, f"{first:.3f} to {last:.3f}, bound {bound:.3f}")


@claim(
    "III.A, Fig. 4", "The window grows faster just after a cut than near its peak: the curve is convex-up."
)
def convex_up(m):
    cwnds, _, times = rounds(m)
    quarter = len(cwnds) // 4
    slopes = [(cwnds[b] - cwnds[a]) / (times[b] - times[a]) for a, b in ((0, quarter), (-quarter, -1))]
    return Outcome(slopes[0] > slopes[1], f"{slopes[0]:.0f} packets/s, then {slopes[1]:.0f}")


@claim("III.A, Fig. 5", "Elastic-TCP's epoch is shorter than NewReno's, CUBIC's and C-TCP's.")
def shortest_epoch(m):
    def back(cca: str) -> float:
        """From the first cut to the next that is no part of its repair, or to the end."""
        first, *later = (time for time, *_ in cuts(m, "fig5", cca))
        return next((time for time in later if time > first + 2), 100.0) - first

    epochs = {cca: back(cca) for cca in ("elastic", "newreno", "cubic", "compound")}
    shown = ", ".join(f"{cca} {time:.1f} s" for cca, time in epochs.items())
    return Outcome(epochs["elastic"] < min(time for cca, time in epochs.items() if cca != "elastic"), shown)


@claim(
    "III.B",
    "Elastic-TCP keeps its losses as low as NewReno's: one flow loses no more at each buffer and error rate.",
)
def losses_as_low_as_newreno(m):
    lead = m("losses-single", "elastic") - m("losses-newreno", "newreno")
    more = [value for value in lead.points.values() if value.above(0).holds]
    worst = lead.max()
    return Outcome(
        not more, f"more at {len(more)} of {len(lead.points)} points; by {worst} points of percent"
    )
