"""Claims of the Elastic-TCP paper."""

from __future__ import annotations

import itertools

import polars as pl

from cwnd._reproduce.claims import Outcome, Quantity, claim, every, only

OTHERS = ("cubic", "compound", "agile-sd")
SIMULATED = ("fig10a", "fig10b", "fig10c", "fig11a", "fig11b", "fig11c", "fig12a", "fig12b", "fig12c")


def windows(m, trace: str, cca: str) -> pl.DataFrame:
    """A column per flow, a row per instant of a regular trace; NaN where a flow is not there."""
    samples = m.trace(trace, cca).filter(pl.col("cwnd_pkts").is_not_null())
    return samples.pivot(on="flow", index="time_s", values="cwnd_pkts").sort("time_s")


def total(m, trace: str, cca: str) -> pl.DataFrame:
    samples = m.trace(trace, cca).filter(pl.col("cwnd_pkts").is_not_null())
    return samples.group_by("time_s").agg(pl.col("cwnd_pkts").sum()).sort("time_s")


def cuts(m, cca: str) -> list[tuple[float, int, int]]:
    """Fig. 7: the time of each cut, and the windows before and after it."""
    samples = m.trace("fig7", cca).filter(pl.col("cwnd_pkts").is_not_null()).sort("time_s")
    times, cwnds = samples["time_s"].to_list(), samples["cwnd_pkts"].to_list()
    found = []
    for i in range(1, len(cwnds)):
        if cwnds[i] < 0.95 * cwnds[i - 1]:
            found.append((times[i], cwnds[i - 1], cwnds[i]))
    return found


def largest(m, cca: str, after: float = 0.0) -> float:
    samples = m.trace("fig7", cca).filter(pl.col("time_s") > after)
    return float(samples["cwnd_pkts"].max())


def points(m, items: tuple[str, ...]) -> list[Quantity]:
    """Lead of Elastic-TCP over the best of the others, in Mbps, at each point."""
    gains = [m(item, "elastic") - m.best(item, besides="elastic") for item in items]
    return [value for gain in gains for value in gain.points.values()]


def gain(m, *items: str) -> Quantity:
    """The largest gain over the next best, in percent of the link."""
    largest_gain = max(points(m, items), key=lambda value: value.mean)
    return largest_gain / 10


@claim("IV.B.1, Fig. 7a", "Elastic-TCP reaches roughly 31,000 packets.")
def elastic_reaches_31000(m):
    return only(largest(m, "elastic")).about(31_000)


@claim("IV.B.1, Fig. 7a", "Elastic-TCP reaches its maximum in about 10 s.")
def elastic_reaches_it_in_10_s(m):
    return only(cuts(m, "elastic")[1][0]).about(10)


@claim("Fig. 7a", "Slow start ends at 29,180; the window is cut to 26,258.")
def elastic_first_cut(m):
    _, before, after = cuts(m, "elastic")[0]
    return every([only(before).about(29_180), only(after).about(26_258)])


@claim("Fig. 7a", "Later peaks are 30,846, cut to 27,758.")
def elastic_later_cuts(m):
    _, before, after = cuts(m, "elastic")[-1]
    return every([only(before).about(30_846), only(after).about(27_758)])


@claim("Fig. 7a", "An epoch lasts 5.23 s.")
def elastic_epoch(m):
    (first, _, _), (second, _, _) = cuts(m, "elastic")[-2:]
    return only(second - first).about(5.23)


@claim("IV.B.1, Fig. 7b", "CUBIC reaches about 30,000 packets.")
def cubic_reaches_30000(m):
    return only(largest(m, "cubic", after=10)).about(30_000)


@claim("IV.B.1, Fig. 7b", "CUBIC reaches its maximum in 40 s.")
def cubic_reaches_it_in_40_s(m):
    return only(cuts(m, "cubic")[1][0]).about(40)


@claim("Fig. 7b", "CUBIC is cut from 29,180 to 23,337 and from 30,746 to 24,592.")
def cubic_cuts(m):
    (_, first, low), (_, second, lower) = cuts(m, "cubic")[:2]
    measured = zip((first, low, second, lower), (29_180, 23_337, 30_746, 24_592), strict=True)
    return every(only(ours).about(published) for ours, published in measured)


@claim(
    "IV.B.1, Fig. 7c",
    "C-TCP does not exceed 25,000 packets.",
    why="Its slow start ends at 29,816 and its later peaks are 25,019 in the paper's own figure.",
)
def compound_below_25000(m):
    return only(largest(m, "compound")).below(25_000)


@claim("Fig. 7c", "C-TCP is cut from 29,816 to 7,454, and ends between 24,286 and 25,019.")
def compound_cuts(m):
    _, first, low = cuts(m, "compound")[0]
    late = m.trace("fig7", "compound").filter(pl.col("time_s") > 60)["cwnd_pkts"]
    measured = zip((first, low, late.min(), late.max()), (29_816, 7_454, 24_286, 25_019), strict=True)
    return every(only(ours).about(published) for ours, published in measured)


@claim("IV.B.1, Fig. 7d", "Agile-SD fixes its window to around 26,000 packets (26,256).")
def agile_sd_freezes(m):
    late = m.trace("fig7", "agile-sd").filter(pl.col("time_s") > 10)["cwnd_pkts"]
    return every([only(late.min()).about(26_256), only(late.max()).about(26_256)])


@claim(
    "IV.B.1",
    "Elastic-TCP's maximum is 1,000 packets above CUBIC's.",
    why="The peaks in the paper's own figures are 30,846 and 30,746; the text rounds them.",
)
def elastic_above_cubic(m):
    return only(largest(m, "elastic") - largest(m, "cubic", after=10)).about(1_000)


@claim(
    "IV.B.1, Fig. 7", "Elastic-TCP grows fastest, then CUBIC, C-TCP, Agile-SD: by the time back to 26,000."
)
def growth_order(m):
    def back(cca: str) -> float:
        """From the first cut until the window is at what Elastic-TCP is cut to, or the end."""
        start = cuts(m, cca)[0][0]
        samples = m.trace("fig7", cca).filter((pl.col("time_s") > start) & (pl.col("cwnd_pkts") > 26_300))
        return samples["time_s"].min() - start if len(samples) else 100.0

    times = [back(cca) for cca in ("elastic", "cubic", "compound", "agile-sd")]
    # C-TCP never comes back there, and Agile-SD stands still below.
    ordered = times[0] < times[1] < times[2] <= times[3]
    return Outcome(ordered, ", ".join(f"{time:.1f} s" for time in times))


def jain_over_time(m, cca: str) -> pl.DataFrame:
    """Jain's index of the windows while all four flows run."""
    four = windows(m, "fig8", cca).filter((pl.col("time_s") > 16) & (pl.col("time_s") < 85))
    flows = [name for name in four.columns if name != "time_s"]
    sums = sum((pl.col(name) for name in flows), pl.lit(0.0))
    squares = sum((pl.col(name).cast(pl.Float64) ** 2 for name in flows), pl.lit(0.0))
    return four.select("time_s", (sums**2 / (4 * squares)).alias("jain"))


def convergence(m, cca: str) -> float:
    """When four flows fill the link for the first time: in Fig. 8 their windows begin to meet then."""
    four = total(m, "fig8", cca).filter((pl.col("time_s") > 16) & (pl.col("time_s") < 80))
    return four.filter(pl.col("cwnd_pkts") >= 0.95 * four["cwnd_pkts"].max())["time_s"].min()


@claim("IV.B.1, Fig. 8a", "Elastic-TCP's flows start to converge in around 35 s.")
def elastic_converges(m):
    return only(convergence(m, "elastic")).about(35)


@claim("IV.B.1, Fig. 8b", "CUBIC's flows start to converge in 50 s.")
def cubic_converges(m):
    return only(convergence(m, "cubic")).about(50)


@claim("IV.B.1, Fig. 8c", "C-TCP's flows start to converge in about 40 s.")
def compound_converges(m):
    return only(convergence(m, "compound")).about(40)


@claim(
    "IV.B.1, Fig. 8",
    "Elastic-TCP has the highest intra-fairness, then C-TCP, CUBIC, Agile-SD.",
    why="Unexplained: Agile-SD's windows are small but even here.",
)
def convergence_order(m):
    means = [jain_over_time(m, cca)["jain"].mean() for cca in ("elastic", "compound", "cubic", "agile-sd")]
    ordered = all(a > b for a, b in itertools.pairwise(means))
    return Outcome(ordered, "Jain " + ", ".join(f"{value:.3f}" for value in means))


@claim("IV.B.1, Fig. 8d", "Agile-SD's windows are not more than 900 packets.")
def agile_sd_below_900(m):
    late = m.trace("fig8", "agile-sd").filter(pl.col("time_s") > 20)["cwnd_pkts"]
    return only(late.max()).below(900)


@claim("IV.B.1, Fig. 8", "The windows of the others vary from 4,000 to 9,000 packets.")
def others_between(m):
    outcomes = []
    for cca in ("elastic", "cubic", "compound"):
        late = m.trace("fig8", cca).filter((pl.col("time_s") > 50) & (pl.col("time_s") < 80))["cwnd_pkts"]
        outcomes += [only(late.min()).between(4_000, 9_000), only(late.max()).between(4_000, 9_000)]
    return every(outcomes)


@claim("IV.B.1, Fig. 9a", "Elastic-TCP reaches its largest window earlier than C-TCP and CUBIC.")
def elastic_first_at_the_top(m):
    def top(cca: str) -> float:
        """The end of slow start apart."""
        late = total(m, "fig9a", cca).filter(pl.col("time_s") > 5)
        return late.filter(pl.col("cwnd_pkts") >= 0.95 * late["cwnd_pkts"].max())["time_s"].min()

    times = [top(cca) for cca in ("elastic", "compound", "cubic")]
    return Outcome(times[0] < min(times[1:]), ", ".join(f"{time:.1f} s" for time in times))


@claim(
    "IV.B.1, Fig. 9a", "C-TCP's and CUBIC's windows are smaller than Elastic-TCP's in their steady states."
)
def elastic_largest_later(m):
    late = {
        cca: total(m, "fig9a", cca).filter(pl.col("time_s") > 50)["cwnd_pkts"].mean()
        for cca in ("elastic", "compound", "cubic")
    }
    return every(only(late["elastic"] - late[cca]).above(0) for cca in ("compound", "cubic"))


@claim("Fig. 9a", "Elastic-TCP's windows together are between 25,027 and 27,798 packets.")
def elastic_together(m):
    late = total(m, "fig9a", "elastic").filter(pl.col("time_s") > 50)["cwnd_pkts"]
    return every([only(late.min()).about(25_027), only(late.max()).about(27_798)])


@claim(
    "Fig. 9a",
    "CUBIC's windows together are cut from 27,740 to 22,180 for the first time at about 48 s.",
    why="Unexplained. Throughput with this buffer agrees within 10 %.",
)
def cubic_together(m):
    late = total(m, "fig9a", "cubic").filter(pl.col("time_s") > 5)
    sums, times = late["cwnd_pkts"].to_list(), late["time_s"].to_list()
    at = next(i for i in range(len(sums) - 5) if min(sums[i + 1 : i + 5]) < 0.9 * sums[i])
    peak, low = max(sums[: at + 5]), min(sums[at : at + 20])
    return every([only(times[at]).about(48), only(peak).about(27_740), only(low).about(22_180)])


@claim("Fig. 9a", "C-TCP's windows together are 25,142 packets at 40 s.")
def compound_together(m):
    then = total(m, "fig9a", "compound").filter(pl.col("time_s") >= 40)["cwnd_pkts"]
    return only(then[0]).about(25_142)


def kept(m, cca: str) -> Quantity:
    """The windows at PER 1e-5, for each without errors."""
    series = m("windows", cca)
    return series.at(1e-5) / series.at(0)


@claim("IV.B.1, Fig. 9b", "At PER 10⁻⁵ CUBIC's windows fall to less than 50 %.")
def cubic_loses_half(m):
    return kept(m, "cubic").below(0.5)


@claim("IV.B.1, Fig. 9b", "At PER 10⁻⁵ C-TCP's windows fall to less than 50 %.")
def compound_loses_half(m):
    return kept(m, "compound").below(0.5)


@claim("IV.B.1, Fig. 9b", "Elastic-TCP is very little sensitive: its windows keep more than 90 %.")
def elastic_keeps_its_windows(m):
    return kept(m, "elastic").above(0.9)


@claim(
    "IV.B.2, VI",
    "One flow: Elastic-TCP adds up to 22 % of the link to the best of the others.",
    why="The published gain is of one run, ours a mean; the runs are far apart.",
)
def single_gain(m):
    return gain(m, "fig10a", "fig10b", "fig10c").about(22)


@claim(
    "IV.B.2, VI",
    "Sequential flows: up to 40 % of the link.",
    why="The published gain is of one run, ours a mean; the runs are far apart.",
)
def sequential_gain(m):
    return gain(m, "fig11a", "fig11b", "fig11c").about(40)


@claim("IV.B.2, VI", "Synchronous flows: up to 50 % of the link.")
def synchronous_gain(m):
    return gain(m, "fig12a", "fig12b", "fig12c").about(50)


@claim(
    "IV.B.2, Fig. 10a",
    "One flow without errors: a slight gain over the others.",
    why="With 100 packets CUBIC is ahead, with 6400 Agile-SD is level, in the paper's own Fig. 10a too.",
)
def single_slight_gain(m):
    return (m("fig10a", "elastic") - m.best("fig10a", besides="elastic")).above(0)


def most(m, *items: str) -> Outcome:
    """More than every other at most points."""
    better = [value.above(0).holds for value in points(m, items)]
    return Outcome(sum(better) > len(better) / 2, f"at {sum(better)} of {len(better)} points")


@claim("IV.B.2, Fig. 10", "One flow: Elastic-TCP outperforms the others in most cases.")
def single_best_mostly(m):
    return most(m, "fig10a", "fig10b", "fig10c")


@claim(
    "IV.B.2, Fig. 11",
    "Sequential flows: Elastic-TCP outperforms the others, at small buffers and high PER too.",
)
def sequential_best(m):
    better = [value.above(0).holds for value in points(m, ("fig11a", "fig11b", "fig11c"))]
    return Outcome(all(better), f"at {sum(better)} of {len(better)} points")


@claim("IV.B.2, Fig. 12", "Synchronous flows: Elastic-TCP outperforms the others in most cases.")
def synchronous_best_mostly(m):
    return most(m, "fig12a", "fig12b", "fig12c")


@claim("VI", "Sequential flows, large buffers: Elastic-TCP utilises up to 80 %.")
def large_buffers_elastic(m):
    return (m("fig11a", "elastic") / 10).max().about(80)


@claim("VI", "Sequential flows, large buffers: the others do not exceed 66 %.")
def large_buffers_others(m):
    return (m.best("fig11a", besides="elastic") / 10).max().below(67)


@claim("VI", "Sequential flows, small buffers (50, 100 packets): Elastic-TCP utilises 47 to 66 %.")
def small_buffers_elastic(m):
    at_50 = (m("fig11b", "elastic").at(50) / 10).between(47, 66)
    return every([at_50, (m("fig11a", "elastic").at(100) / 10).between(47, 66)])


@claim(
    "VI",
    "Sequential flows, small buffers (50, 100 packets): the others utilise 5 to 29 %.",
    why="CUBIC has 47.6 % with 100 packets in the paper's own Fig. 11a.",
)
def small_buffers_others(m):
    return every(
        (m("fig11a", cca) / 10).only(lambda buffer: buffer <= 100).below(29.5)
        if which == "most"
        else (m("fig11a", cca) / 10).at(50).above(5)
        for cca in OTHERS
        for which in ("least", "most")
    )


@claim(
    "IV.B.3",
    "In all scenarios not more than 0.5 % of the packets are lost.",
    why="Where errors end slow start, or buffers are long, some runs lose more; the runs are far apart.",
)
def few_losses(m):
    items = ("losses-single", "losses-sequential", "losses-synchronous")
    return every(m.best(item, besides=()).below(0.5) for item in items)


@claim(
    "IV.B.4, Fig. 13a",
    "All have similar intra-fairness: within 0.15 of each other.",
    why="With 50 packets, by a wide interval.",
)
def similar_fairness(m):
    everyone = ("elastic", *OTHERS)
    worst = (m.best("fig13a", besides=()) - m("fig13a", cca) for cca in everyone)
    return every(one.below(0.15) for one in worst)


@claim(
    "IV.B.4, Fig. 13a",
    "Elastic-TCP's intra-fairness is slightly higher than the others'.",
    why="In the paper's own figure CUBIC's and Agile-SD's are higher with 50 packets, C-TCP's with 1600.",
)
def elastic_fairest(m):
    return (m("fig13a", "elastic") - m.best("fig13a", besides="elastic")).above(0)


@claim("IV.B.4, Fig. 13b", "All have a similar RTT-fairness, about 1.")
def similar_rtt_fairness(m):
    return every(m("fig13b", cca).above(0.93) for cca in ("elastic", *OTHERS))


FIG13C = "Unexplained: see Fig. 13c."


def inter(m, pair: str) -> Quantity:
    return m("fig13c", pair).value


@claim(
    "IV.B.4, Fig. 13c",
    "To NewReno Elastic-TCP is the fairest: around 91 %, CUBIC and C-TCP about 85 %.",
    why=FIG13C,
)
def fair_to_newreno(m):
    elastic, cubic, compound = (inter(m, f"newreno+{cca}") for cca in ("elastic", "cubic", "compound"))
    highest = [(elastic - cubic).above(0), (elastic - compound).above(0)]
    return every([elastic.about(0.91), cubic.about(0.85), compound.about(0.85), *highest])


@claim(
    "IV.B.4, Fig. 13c",
    "To CUBIC Elastic-TCP and NewReno are the fairest: about 84 %, C-TCP 78 %.",
    why=FIG13C,
)
def fair_to_cubic(m):
    elastic, newreno, compound = (
        inter(m, f"{pair}") for pair in ("elastic+cubic", "newreno+cubic", "cubic+compound")
    )
    highest = [(elastic - compound).above(0), (newreno - compound).above(0)]
    return every([elastic.about(0.84), newreno.about(0.84), compound.about(0.78), *highest])


@claim(
    "IV.B.4, Fig. 13c",
    "To C-TCP Elastic-TCP and NewReno are the fairest: about 85 %, CUBIC 78 %.",
    why=FIG13C,
)
def fair_to_compound(m):
    elastic, newreno, cubic = (
        inter(m, f"{pair}") for pair in ("elastic+compound", "newreno+compound", "cubic+compound")
    )
    highest = [(elastic - cubic).above(0), (newreno - cubic).above(0)]
    return every([elastic.about(0.85), newreno.about(0.85), cubic.about(0.78), *highest])


def relative(m, item: str, other: str) -> Quantity:
    """Elastic-TCP's largest gain over another, in percent of the other."""
    return ((m(item, "elastic") / m(item, other) - 1) * 100).max()


TESTBED = (
    "One flow of the testbed never had more than 300 Mbps, of which the paper says nothing: see the readings "
    "receive-window and host-rate."
)


@claim("V.B.1, Fig. 15a", "Testbed, one flow: up to 14 % above BBR.", why=TESTBED)
def testbed_bbr(m):
    return relative(m, "fig15a", "bbr").about(14)


@claim("V.B.1, Fig. 15a", "Testbed, one flow: up to 13 % above CUBIC.", why=TESTBED)
def testbed_cubic(m):
    return relative(m, "fig15a", "cubic").about(13)


@claim("V.B.1, Fig. 15a", "Testbed, one flow: up to 154 % above C-TCP.", why=TESTBED)
def testbed_compound(m):
    return relative(m, "fig15a", "compound").about(154)


@claim("V.B.1, Fig. 16a", "Testbed, four flows: up to 23 % above BBR.", why=TESTBED)
def testbed_four_bbr(m):
    return relative(m, "fig16a", "bbr").about(23)


@claim("V.B.1, Fig. 16a", "Testbed, four flows: up to 14 % above CUBIC.", why=TESTBED)
def testbed_four_cubic(m):
    return relative(m, "fig16a", "cubic").about(14)


@claim("V.B.1, Fig. 16a", "Testbed, four flows: up to 81 % above C-TCP.", why=TESTBED)
def testbed_four_compound(m):
    return relative(m, "fig16a", "compound").about(81)


@claim(
    "V.B.1",
    "Testbed: Elastic-TCP is better in most cases, particularly where the buffer is small.",
    why=TESTBED,
)
def testbed_best_mostly(m):
    gains = [
        value
        for item in ("fig15a", "fig16a")
        for value in (m(item, "elastic") - m.best(item, besides="elastic")).points.values()
    ]
    better = [value.above(0).holds for value in gains]
    return Outcome(sum(better) > len(better) / 2, f"at {sum(better)} of {len(better)} points")


@claim(
    "V.B.2, Fig. 15b", "Testbed, one flow: Elastic-TCP and BBR lose about 1 packet of 10,000.", why=TESTBED
)
def testbed_losses_low(m):
    return every(m("fig15b", cca).max().about(0.01) for cca in ("elastic", "bbr"))


@claim(
    "V.B.2, Fig. 15b",
    "Testbed, one flow: CUBIC loses ten times, C-TCP thirty times as much as Elastic-TCP and BBR.",
    why=TESTBED,
)
def testbed_losses_high(m):
    low = m("fig15b", "elastic").max()
    return every(
        [(m("fig15b", "cubic").max() / low).about(10), (m("fig15b", "compound").max() / low).about(30)]
    )


@claim(
    "V.B.2, Fig. 16b",
    "Testbed, four flows, small buffers: Elastic-TCP loses least, then CUBIC, BBR, C-TCP.",
    why=TESTBED,
)
def testbed_four_losses_small(m):
    at_50 = [m("fig16b", cca).at(50) for cca in ("elastic", "cubic", "bbr", "compound")]
    return every((b - a).above(0) for a, b in itertools.pairwise(at_50))


@claim("V.B.2, Fig. 16b", "Testbed, four flows, large buffers: Elastic-TCP loses least.", why=TESTBED)
def testbed_four_losses_large(m):
    large = [m("fig16b", cca).only(lambda buffer: buffer >= 5000) for cca in ("bbr", "cubic", "compound")]
    return every((other - m("fig16b", "elastic")).above(0) for other in large)


@claim(
    "V.B.3, Fig. 16c",
    "Testbed, buffer 50: C-TCP is fairest, then BBR, Elastic-TCP, CUBIC, 2 to 10 % apart.",
    why=TESTBED,
)
def testbed_fairness(m):
    at_50 = [m("fig16c", cca).at(50) for cca in ("compound", "bbr", "elastic", "cubic")]
    order = [(a - b).above(0) for a, b in itertools.pairwise(at_50)]
    return every([*order, (at_50[0] - at_50[-1]).between(0.02, 0.1)])


@claim(
    "V.B.3, Fig. 16c",
    "Testbed: all have a similar intra-fairness in most cases: within 0.1 of each other.",
    why=TESTBED,
)
def testbed_similar_fairness(m):
    best = m.best("fig16c", besides=())
    near = [
        all((best.at(buffer) - m("fig16c", cca).at(buffer)).below(0.1).holds for cca in m.variants("fig16c"))
        for buffer in best
    ]
    return Outcome(sum(near) > len(near) / 2, f"at {sum(near)} of {len(near)} points")


@claim(
    "abstract",
    "Elastic-TCP is less sensitive to errors: at PER 10⁻⁵ one flow keeps more than the others.",
    why="Agile-SD is slow without errors too: 17.7 and 16.7 Mbps with 100 packets in Figs. 10a and 10b.",
)
def least_sensitive_to_errors(m):
    kept_of = {cca: m("fig10b", cca) / m("fig10a", cca) for cca in ("elastic", *OTHERS)}
    return every((kept_of["elastic"] - kept_of[cca]).above(0) for cca in ("cubic", "compound", "agile-sd"))


@claim(
    "abstract",
    "Elastic-TCP is less sensitive to the buffer: sequential flows keep more of their best throughput.",
    why="Agile-SD keeps more without errors, in the paper's own Fig. 11a too (57 % against 49 %).",
)
def least_sensitive_to_the_buffer(m):
    outcomes = []
    for item in ("fig11a", "fig11b", "fig11c"):
        spread = {cca: m(item, cca).min() / m(item, cca).max() for cca in ("elastic", *OTHERS)}
        outcomes += [(spread["elastic"] - spread[cca]).above(0) for cca in OTHERS]
    return every(outcomes)
