"""Draws scenarios at random: the same number and seed give the same texts."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import tomli_w

DISCIPLINES = ("droptail", "codel", "fq-codel", "pie", "red")
#: Headers of this project, which run in Linux as eBPF.
HEADERS = (
    *("elastic", "agile-sd", "agile", "discrete", "compound", "copa", "bbr3", "ledbat-plus", "veno", "fast"),
)
#: Linux's own modules, then these.
ALGORITHMS = (
    *("reno", "cubic", "bbr", "bic", "highspeed", "htcp", "hybla", "illinois", "scalable", "vegas"),
    *("westwood", "yeah"),
    *HEADERS,
)
#: With the parameters that they have in any kernel, which reports no single losses.
_AS_IN_A_KERNEL = {"bbr3": {"name": "bbr3", "samples": "mainline"}}
#: The share of scenarios that have each feature. A feature that needs another is listed after it.
FEATURES = {
    "ecn": 0.16,
    "random loss": 0.2,
    "bursts of loss": 0.09,
    "access links": 0.25,
    "way back": 0.4,
    "thin way back": 0.12,  # ACKs queue
    "lossy way back": 0.1,
    "upward flows": 0.12,
    "application limits": 0.14,
    "transfers": 0.16,
    "payload": 0.12,
    "buffer in bytes": 0.08,
}
_FLOWS_MAX = 6
_ALGORITHMS_MAX = 3
_HEADER_BYTES = 66
_START_JITTER_MS = 5
#: A guest carries 10,000 to 15,000 packets a second: these bound a run to some 15 s and its boot.
_PACKETS_MAX = 150_000
_PACKETS_PER_S_MAX = 8_250  # 100 Mbps of full packets


class Drawn(NamedTuple):
    """A scenario as TOML, and what was drawn for it."""

    name: str
    text: str
    discipline: str
    algorithms: tuple[str, ...]
    features: tuple[str, ...]


def draw(count: int, seed: int) -> list[Drawn]:
    """`count` scenarios in which disciplines, algorithms and features occur as evenly as that allows."""
    chance = random.Random(f"{count} {seed}")
    disciplines = _dealt(chance, DISCIPLINES, count)
    numbers = _dealt(chance, range(1, _ALGORITHMS_MAX + 1), count)
    algorithms = _hands(chance, numbers)
    features = _features(chance, disciplines)
    digits = len(str(count))
    return [
        _scenario(
            random.Random(f"{count} {seed} {index}"),
            f"path-{index + 1:0{digits}}",
            disciplines[index],
            algorithms[index],
            features[index],
        )
        for index in range(count)
    ]


Card = TypeVar("Card")


def _dealt(chance: random.Random, cards: Sequence[Card], count: int) -> list[Card]:
    """`count` cards from shuffled decks, in another order."""
    dealt: list[Card] = []
    while len(dealt) < count:
        dealt += chance.sample(cards, len(cards))
    dealt = dealt[:count]
    chance.shuffle(dealt)
    return dealt


def _hands(chance: random.Random, numbers: Sequence[int]) -> list[tuple[str, ...]]:
    """Different algorithms for each scenario, as many as its number; a deck is used up before the next."""
    deck: list[str] = []
    hands = []
    for number in numbers:
        hand: list[str] = []
        while len(hand) < number:
            fresh = [one for one in deck if one not in hand]
            if not fresh:
                deck += chance.sample(ALGORITHMS, len(ALGORITHMS))
                continue
            hand.append(fresh[0])
            deck.remove(fresh[0])
        hands.append(tuple(hand))
    return hands


def _features(chance: random.Random, disciplines: Sequence[str]) -> list[tuple[str, ...]]:
    found: list[list[str]] = [[] for _ in disciplines]
    for feature, share in FEATURES.items():
        able = [index for index, own in enumerate(found) if _is_able(feature, disciplines[index], own)]
        quota = min(len(able), math.ceil(share * len(disciplines)))
        for index in chance.sample(able, quota):
            found[index].append(feature)
    return [tuple(own) for own in found]


def _is_able(feature: str, discipline: str, others: Sequence[str]) -> bool:
    match feature:
        case "ecn":
            return discipline != "droptail"
        case "buffer in bytes":
            return discipline == "droptail"
        case "bursts of loss":
            return "random loss" not in others
        case "thin way back" | "lossy way back":
            return "way back" in others
        case "upward flows":
            return "way back" in others and "thin way back" not in others
    return True


def _scenario(
    chance: random.Random, name: str, discipline: str, algorithms: Sequence[str], features: Sequence[str]
) -> Drawn:
    payload_bytes = chance.choice([1200, 1000, 536]) if "payload" in features else 1448
    packet_bytes = payload_bytes + _HEADER_BYTES
    rate_mbps = _rounded(_log_uniform(chance, 5, _PACKETS_PER_S_MAX * packet_bytes * 8e-6))
    rtt_ms = _rounded(_log_uniform(chance, 10, 200))
    packets_per_s = rate_mbps * 125_000 / packet_bytes
    duration_s = min(chance.randint(15, 25), max(15, int(_PACKETS_MAX / packets_per_s)))
    warmup_s = chance.randint(3, 5)
    bdp_pkts = packets_per_s * rtt_ms / 1000
    buffer_pkts = max(20 if discipline == "droptail" else 40, round(bdp_pkts * _log_uniform(chance, 0.2, 3)))
    forth = chance.uniform(0.3, 0.7) if "way back" in features else 0.5
    link: dict[str, object] = {
        "rate": f"{rate_mbps:g} Mbps",
        "delay": f"{_rounded(rtt_ms * forth):g} ms",
        "buffer": f"{buffer_pkts * packet_bytes} bytes" if "buffer in bytes" in features else buffer_pkts,
        **_wire(chance, features),
    }
    if discipline != "droptail":
        link["queue"] = _queue(chance, discipline, "ecn" in features, buffer_pkts, bdp_pkts)
    if "access links" in features:
        link["access"] = {"rate": f"{_rounded(rate_mbps * chance.uniform(1.5, 10)):g} Mbps"}
    if "way back" in features:
        link["reverse"] = _way_back(chance, features, rate_mbps, rtt_ms * (1 - forth), bdp_pkts)
    document = {
        "name": name,
        "duration": f"{duration_s} s",
        "warmup": f"{warmup_s} s",
        "samples": "off",
        "stack": {"profile": "linux", "handshake": "first"},
        "dumbbell": link,
        "flows": _flows(chance, algorithms, features, rate_mbps, rtt_ms, warmup_s, duration_s, payload_bytes),
    }
    return Drawn(name, tomli_w.dumps(document), discipline, tuple(algorithms), tuple(features))


def _wire(chance: random.Random, features: Sequence[str]) -> dict[str, object]:
    if "random loss" in features:
        return {"per": _rounded(_log_uniform(chance, 1e-5, 3e-3))}
    if "bursts of loss" in features:
        p, r = _rounded(_log_uniform(chance, 1e-5, 5e-4)), _rounded(chance.uniform(0.1, 0.5))
        return {"loss": {"model": "gilbert-elliott", "p": p, "r": r}}
    return {}


def _queue(
    chance: random.Random, discipline: str, ecn: bool, buffer_pkts: int, bdp_pkts: float
) -> dict[str, object]:
    queue: dict[str, object] = {"discipline": discipline, "variant": "linux", "ecn": ecn}
    if discipline == "red":
        most = max(15, round(min(0.6 * buffer_pkts, bdp_pkts * chance.uniform(0.2, 1))))
        queue |= {"min": max(5, most // 3), "max": most, "probability": chance.choice([0.02, 0.1])}
    return queue


def _way_back(
    chance: random.Random, features: Sequence[str], rate_mbps: float, delay_ms: float, bdp_pkts: float
) -> dict[str, object]:
    """A droptail link: for ACKs alone a share of what all ACKs need, or of the rate of the way forth."""
    if "thin way back" in features:
        rate, buffer_pkts = rate_mbps * chance.uniform(0.008, 0.02), chance.randint(20, 200)
    else:
        rate = rate_mbps * chance.uniform(0.3 if "upward flows" in features else 0.1, 1)
        buffer_pkts = max(20, round(bdp_pkts * rate / rate_mbps * _log_uniform(chance, 0.2, 3)))
    return {
        "rate": f"{_rounded(rate):g} Mbps",
        "delay": f"{_rounded(delay_ms):g} ms",
        "buffer": buffer_pkts,
        "queue": "droptail",
        "per": _rounded(_log_uniform(chance, 1e-4, 1e-2)) if "lossy way back" in features else 0,
    }


def _flows(
    chance: random.Random,
    algorithms: Sequence[str],
    features: Sequence[str],
    rate_mbps: float,
    rtt_ms: float,
    warmup_s: int,
    duration_s: int,
    payload_bytes: int,
) -> list[dict[str, object]]:
    """The first flow goes forth, begins at 0 and sends all it can; others have the features of flows."""
    sized, limited, up = (one in features for one in ("transfers", "application limits", "upward flows"))
    least = max(len(algorithms), 1 + max(sized + limited, up))
    count = min(chance.randint(least, _FLOWS_MAX), chance.randint(least, _FLOWS_MAX))
    ccas = [*algorithms, *(chance.choice(algorithms) for _ in range(count - len(algorithms)))]
    flows: list[dict[str, object]] = []
    for index, cca in enumerate(ccas):
        start_s = chance.randrange(150) / 100 if index else 0
        named = _AS_IN_A_KERNEL.get(cca, cca)
        flows.append({"cca": named, "start": f"{start_s} s", "start_jitter": f"{_START_JITTER_MS} ms"})
        if "payload" in features and (not index or chance.random() < 0.7):
            flows[-1]["packet"] = f"{payload_bytes} bytes"
        if "access links" in features:
            # Before and behind the bottleneck, both ways: the RTT grows by half at most.
            flows[-1]["access_delay"] = f"{_rounded(chance.uniform(0.01, 0.125) * rtt_ms):g} ms"
        if "ecn" in features and (not index or chance.random() < 0.7):
            flows[-1]["stack"] = {"ecn": "classic"}
    rest = chance.sample(flows[1:], count - 1)
    if sized:
        for flow in rest[: max(1, (len(rest) - limited) // 2)]:
            flow["start"] = f"{chance.randint(10 * warmup_s + 5, 6 * duration_s) / 10} s"
            # At its share of the path it takes some seconds.
            kilobytes = rate_mbps * 125 / count * _log_uniform(chance, 0.3, 3)
            flow["size"] = f"{max(20, round(kilobytes))} KB"
            rest = rest[1:]
    if limited:
        for flow in rest[: max(1, len(rest) // 2)]:
            flow["app_rate"] = f"{_rounded(rate_mbps / count * chance.uniform(0.2, 0.9)):g} Mbps"
    if up:
        for flow in chance.sample(flows[1:], chance.randint(1, max(1, (count - 1) // 2))):
            flow["direction"] = "up"
    return flows


def _log_uniform(chance: random.Random, least: float, most: float) -> float:
    return least * math.exp(math.log(most / least) * chance.random())


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
