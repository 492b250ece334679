"""Claims of the comparison about its results, as comparisons of means."""

from cwnd._common.errors import MissingError
from cwnd._reproduce.claims import Outcome, claim, every

ALL = [
    "bic",
    "compound",
    "cubic",
    "highspeed",
    "htcp",
    "illinois",
    "scalable",
    "fusion",
    "yeah",
    "africa",
    "newreno",
]
FAIREST = ["compound", "htcp", "cubic", "bic", "illinois"]
BUFFERS = [100, 250, 500, 1000, 2500, 5000]


def _complete(m, item):
    """The variants' series in an item, if every buffer was run."""
    series = {variant: m(item, variant) for variant in ALL}
    if any(list(one) != BUFFERS for one in series.values()):
        raise MissingError
    return series


def _falls(m, variant):
    """The window before each loss and the ssthresh that the loss leaves, in the order of time."""
    rows = m.trace("fig4", variant).select("cwnd_pkts", "ssthresh_pkts").drop_nulls("cwnd_pkts").rows()
    falls = []
    highest, before = 0, None
    for cwnd, ssthresh in rows:
        if ssthresh != before and ssthresh is not None and cwnd < highest:
            falls.append((highest, ssthresh))
            highest = 0
        highest = max(highest, cwnd)
        before = ssthresh
    if not falls:
        raise MissingError
    return falls


def _near(values, published):
    """Holds if each value is within 10 % of the published one."""
    out = {name: value for name, value in values.items() if abs(published - value) > 0.1 * value}
    shown = ", ".join(f"{name} {value:.3g}" for name, value in (out or values).items())
    return Outcome(not out, f"{'not: ' if out else ''}{shown}")


def _mean_mbps(m, variant):
    return m.trace("fig4", variant)["throughput_mbps"].drop_nulls().mean()


def _ratio(m, variant):
    """Throughput of the flow with half the RTT, for that of the other."""
    return m("rtts", variant, "first") / m("rtts", variant, "second")


@claim(
    "2.5",
    "Of two HighSpeed flows the one whose RTT is x times smaller has x^4.56 times the share: 23.6 for 2.",
)
def highspeed_shares_by_rtt(m):
    return every(ratio.about(2**4.56) for ratio in _ratio(m, "highspeed").points.values())


@claim("2.5", "Of two Scalable flows the one with the smaller RTT has all: more than 95 %.")
def scalable_gives_all_to_the_smaller_rtt(m):
    first, second = m("rtts", "scalable", "first"), m("rtts", "scalable", "second")
    return (first / (first + second)).above(0.95)


@claim("2.5", "BIC solves this: its shares of two RTTs differ less than HighSpeed's and Scalable's.")
def bic_shares_more_evenly(m):
    def uneven(variant):
        ratio = _ratio(m, variant)
        return {buffer: max(one.mean, 1 / one.mean) for buffer, one in ratio.points.items()}

    found = {variant: uneven(variant) for variant in ("bic", "highspeed", "scalable")}
    holds = all(
        found["bic"][buffer] < found[other][buffer]
        for other in ("highspeed", "scalable")
        for buffer in found["bic"]
    )
    shown = ", ".join(
        f"{name} {', '.join(f'{one:.2f}' for one in all_.values())}" for name, all_ in found.items()
    )
    return Outcome(holds, f"the larger for the smaller share: {shown}")


@claim(
    "2.6",
    "Africa loses less than HighSpeed and Scalable.",
    why=(
        "Fails in the paper's own table too: HighSpeed has as much at 500 packets and less at "
        "2500 and 5000, Scalable less at 100."
    ),
)
def africa_loses_less(m):
    return every((m("fig6", other) - m("fig6", "africa")).above(0) for other in ("highspeed", "scalable"))


@claim(
    "2.6",
    "Africa has a high fairness, similar to NewReno's: its index is within 0.1 of it.",
    why="Fails in the paper's own table too: at 2500 packets Africa has 0.91, NewReno 0.72.",
)
def africa_is_as_fair_as_newreno(m):
    lead = m("fig7", "africa") - m("fig7", "newreno")
    return every([lead.above(-0.1), lead.below(0.1)])


@claim("2.6", "Africa uses a high-BDP link well: more of it than NewReno.")
def africa_uses_more_than_newreno(m):
    return (m("fig5", "africa") - m("fig5", "newreno")).above(0)


@claim(
    "2.8",
    "Compound performs as Africa does: within 10 % in throughput.",
    why="Fails in the paper's own table too: Compound has 14 to 34 % of Africa's throughput.",
)
def compound_performs_as_africa(m):
    ratio = m("fig5", "compound") / m("fig5", "africa")
    near = [abs(one.mean - 1) <= 0.1 for one in ratio.points.values()]
    return Outcome(all(near), f"{ratio.min()} to {ratio.max()}")


@claim("2.9", "YeAH is more efficient than Africa and Compound.")
def yeah_is_more_efficient(m):
    return every((m("fig5", "yeah") - m("fig5", other)).above(0) for other in ("africa", "compound"))


@claim(
    "2.9",
    "YeAH is fairer than Africa and Compound, among its own flows.",
    why=(
        "Fails in the paper's own table too: Compound is fairer at all buffers but 500, where "
        "both have 1.00, Africa at three."
    ),
)
def yeah_is_fairer(m):
    return every((m("fig7", "yeah") - m("fig7", other)).above(0) for other in ("africa", "compound"))


@claim(
    "2.10",
    "Fusion uses more of the link than Compound, HighSpeed and BIC.",
    why=(
        "Fails in the paper's own table too: Fusion has less than BIC at every buffer, than "
        "HighSpeed at five."
    ),
)
def fusion_uses_more(m):
    others = ("compound", "highspeed", "bic")
    return every((m("fig5", "fusion") - m("fig5", other)).above(0) for other in others)


@claim(
    "2.10",
    "Fusion is fairer than Compound, HighSpeed and BIC.",
    why="Fails in the paper's own table too: Compound is fairer at every buffer.",
)
def fusion_is_fairer(m):
    others = ("compound", "highspeed", "bic")
    return every((m("fig7", "fusion") - m("fig7", other)).above(0) for other in others)


@claim("3.2, experiment 1", "All variants jump to a cwnd of around 60000 packets.")
def slow_start_peak(m):
    return _near({variant: _falls(m, variant)[0][0] for variant in ALL}, 60000)


@claim(
    "3.2, experiment 1",
    "NewReno, Africa, Illinois, Compound and Fusion drop their cwnd to the half at the first loss.",
    why="ns-2.35's Illinois leaves what it should take; Africa and Fusion are reconstructions.",
)
def slow_variants_halve(m):
    variants = ["newreno", "africa", "illinois", "compound", "fusion"]
    return _near({one: _falls(m, one)[0][1] / _falls(m, one)[0][0] for one in variants}, 0.5)


@claim(
    "3.2, experiment 1",
    "Scalable, HighSpeed, H-TCP and YeAH drop their cwnd to the half.",
    why="Scalable's law takes an eighth, as the paper's section 2.2 says; YeAH's too in fast mode.",
)
def fast_variants_halve(m):
    variants = ["scalable", "highspeed", "htcp", "yeah"]
    return _near({one: _falls(m, one)[0][1] / _falls(m, one)[0][0] for one in variants}, 0.5)


@claim("3.2, experiment 1", "BIC and CUBIC reduce their cwnd to around 85 % whenever a loss is detected.")
def bic_and_cubic_leave_85_percent(m):
    return _near({one: _falls(m, one)[0][1] / _falls(m, one)[0][0] for one in ("bic", "cubic")}, 0.85)


@claim("3.2, experiment 1", "YeAH has a higher utilisation than Scalable, HighSpeed and H-TCP.")
def yeah_uses_more(m):
    others = ["scalable", "highspeed", "htcp"]
    best = max(others, key=lambda one: _mean_mbps(m, one))
    ours, theirs = _mean_mbps(m, "yeah"), _mean_mbps(m, best)
    return Outcome(ours > theirs, f"YeAH {ours:.4g}, {best} {theirs:.4g} Mbps")


@claim(
    "3.2, experiment 1",
    "BIC and CUBIC have a higher utilisation than those that halve their cwnd.",
    why=(
        "With the buffer that fits the peak they lose what slow start overshoots again and again: 772,971 "
        "packets each in 100 s, as in ns-2.35, and 925 and 928 Mbps; Compound and YeAH have 971 and 972."
    ),
)
def bic_and_cubic_use_more(m):
    others = [one for one in ALL if one not in ("bic", "cubic")]
    worst = min(("bic", "cubic"), key=lambda one: _mean_mbps(m, one))
    best = max(others, key=lambda one: _mean_mbps(m, one))
    ours, theirs = _mean_mbps(m, worst), _mean_mbps(m, best)
    return Outcome(ours > theirs, f"{worst} {ours:.4g}, {best} {theirs:.4g} Mbps")


@claim(
    "3.2, Fig. 5",
    "CUBIC, BIC and YeAH are the best three in throughput.",
    why="Fails in the paper's own table: at 100 packets HighSpeed has 484 Mbps, BIC 453, YeAH 346.",
)
def best_three(m):
    three = ["cubic", "bic", "yeah"]
    best = m.best("fig5", besides=three)
    return every((m("fig5", one) - best).above(0) for one in three)


@claim(
    "3.2, Fig. 5",
    "At 1000, 2500 and 5000 packets YeAH is a bit better than CUBIC and BIC.",
    why="Fails in the paper's own table too: at 2500 packets BIC has 891.81 Mbps, YeAH 890.39.",
)
def yeah_at_large_buffers(m):
    yeah = m("fig5", "yeah").only(lambda buffer: buffer >= 1000)
    return every((yeah - m("fig5", one)).above(0) for one in ("cubic", "bic"))


@claim("3.2, Fig. 5", "At the smaller buffers CUBIC overcomes all other variants.")
def cubic_at_small_buffers(m):
    cubic = m("fig5", "cubic").only(lambda buffer: buffer < 1000)
    return (cubic - m.best("fig5", besides="cubic")).above(0)


@claim(
    "4, Fig. 5",
    "The smaller the buffer, the lower the throughput, for every variant.",
)
def smaller_buffers_give_less(m):
    falls = []
    for variant, series in _complete(m, "fig5").items():
        means = [quantity.mean for quantity in series.points.values()]
        falls += [
            f"{variant} {a:.4g} to {b:.4g} from {buffer} packets"
            for buffer, a, b in zip(BUFFERS, means, means[1:], strict=False)
            if b <= a
        ]
    return Outcome(not falls, "; ".join(falls) or "it rises everywhere")


@claim(
    "Abstract",
    "CUBIC and YeAH overcome the other variants: at each buffer one of them is the best.",
    why="Fails in the paper's own table too: at 2500 packets BIC is the best.",
)
def cubic_or_yeah_is_best(m):
    rest = m.best("fig5", besides=["cubic", "yeah"])
    pair = m.best("fig5", besides=[one for one in ALL if one not in ("cubic", "yeah")])
    return (pair - rest).above(0)


@claim(
    "4",
    "CUBIC overcomes all other variants in most scenarios.",
    why="Fails in the paper's own table too: CUBIC is the best at 100, 250 and 500 packets, three of six.",
)
def cubic_wins_most(m):
    _complete(m, "fig5")
    lead = m("fig5", "cubic") - m.best("fig5", besides="cubic")
    won = [str(buffer) for buffer, quantity in lead.points.items() if quantity.mean > 0]
    return Outcome(len(won) > len(BUFFERS) / 2, f"at {', '.join(won) or 'none'} of {len(BUFFERS)} buffers")


@claim("3.2", "Illinois and Compound have a poor throughput: less than CUBIC, BIC and YeAH.")
def illinois_and_compound_are_poor(m):
    poor = m.best("fig5", besides=[one for one in ALL if one not in ("illinois", "compound")])
    return every((m("fig5", good) - poor).above(0) for good in ("cubic", "bic", "yeah"))


@claim(
    "3.2",
    "CUBIC and YeAH provide similar performance: within 10 % in throughput.",
    why="Fails in the paper's own table too: 514 and 346 Mbps at 100 packets, 776 and 639 at 250.",
)
def cubic_and_yeah_are_similar(m):
    ratio = m("fig5", "yeah") / m("fig5", "cubic")
    low, high = ratio.min(), ratio.max()
    return Outcome(low.mean >= 0.9 and high.mean <= 1.1, f"{low} to {high}")


@claim(
    "3.2, Fig. 6",
    "NewReno has the lowest loss ratio.",
    why="Fails in the paper's own table too: Illinois has less at 100 packets.",
)
def newreno_loses_least(m):
    return every((m("fig6", one) - m("fig6", "newreno")).above(0) for one in ALL if one != "newreno")


@claim(
    "3.2, Fig. 6",
    "Scalable and Compound have the highest loss ratio.",
    why="Fails in the paper's own table too: HighSpeed has the most at 100 packets.",
)
def scalable_and_compound_lose_most(m):
    rest = m.best("fig6", besides=["scalable", "compound"])
    return every((m("fig6", one) - rest).above(0) for one in ("scalable", "compound"))


@claim(
    "3.2, Fig. 6",
    "BIC, CUBIC and H-TCP keep their loss ratio regardless of the buffer: it changes less than any other's.",
    why="Fails in the paper's own table too: H-TCP changes 2.1-fold, HighSpeed 1.4-fold.",
)
def steady_losses(m):
    spread = {}
    for variant, series in _complete(m, "fig6").items():
        low = series.min().mean
        spread[variant] = series.max().mean / low if low else float("inf")
    steady = max(("bic", "cubic", "htcp"), key=spread.__getitem__)
    other = min((one for one in ALL if one not in ("bic", "cubic", "htcp")), key=spread.__getitem__)
    return Outcome(
        spread[steady] < spread[other],
        f"largest over smallest: {steady} {spread[steady]:.3g}, {other} {spread[other]:.3g}",
    )


@claim(
    "3.2, Fig. 6",
    "All variants lose a similar number of packets: none more than twice as many as another.",
    why="Fails in the paper's own table too: Scalable's are 9 times Compound's at 5000 packets.",
)
def similar_losses(m):
    lost = {one: m("fig6", one) * m("fig5", one) for one in ALL}
    ratio = {}
    for buffer in lost["newreno"]:
        means = [one.points[buffer].mean for one in lost.values()]
        ratio[buffer] = max(means) / min(means) if min(means) else float("inf")
    worst = max(ratio, key=ratio.__getitem__)
    return Outcome(ratio[worst] <= 2, f"{ratio[worst]:.3g} times at {worst} packets")


@claim(
    "3.2, Fig. 7",
    "Compound, H-TCP, CUBIC, BIC and Illinois are mostly very close to 1: 0.95 at most buffers.",
)
def mostly_fair(m):
    series = _complete(m, "fig7")
    near = {one: sum(value.mean >= 0.95 for value in series[one].points.values()) for one in FAIREST}
    worst = min(near, key=near.__getitem__)
    return Outcome(near[worst] > len(BUFFERS) / 2, f"{worst} at {near[worst]} of {len(BUFFERS)} buffers")


@claim(
    "3.2, Fig. 7",
    "Scalable, Africa, Fusion, HighSpeed, YeAH and NewReno oscillate: each more than any of those five.",
    why="Fails in the paper's own table too: BIC ranges over 0.26, HighSpeed over 0.13.",
)
def others_oscillate(m):
    series = _complete(m, "fig7")
    width = {one: series[one].max().mean - series[one].min().mean for one in ALL}
    wide = max(FAIREST, key=width.__getitem__)
    narrow = min((one for one in ALL if one not in FAIREST), key=width.__getitem__)
    return Outcome(width[narrow] > width[wide], f"{narrow} {width[narrow]:.3g}, {wide} {width[wide]:.3g}")


@claim("3.2, Fig. 8", "Compound, H-TCP, CUBIC, BIC and Illinois have an RTT-fairness very close to 1.")
def rtt_fairness(m):
    return every(m("fig8", one).above(0.99) for one in FAIREST)
