"""Makes the traces in this folder, the same each time: one line for each opportunity to deliver, in milliseconds.

None is a recording. They have what is typical of such links: how far and how fast the rate moves, bursts, outages.
A scenario's `scale` says how many times 1500 bytes an opportunity carries.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

OPPORTUNITY_BITS = 1500 * 8


def opportunities(mbps_by_ms: Iterator[float], scale: int) -> Iterator[int]:
    """The milliseconds at which another opportunity's bits have come together."""
    bits = 0.0
    ms = 0
    for ms, mbps in enumerate(mbps_by_ms, start=1):
        bits += mbps * 1000
        while bits >= OPPORTUNITY_BITS * scale:
            bits -= OPPORTUNITY_BITS * scale
            yield ms
    # The trace lasts as long as its rates.
    yield ms


def cellular(random: Random) -> Iterator[float]:
    """12 s in a car: the rate wanders between 0.5 and 8 Mbps by up to a fifth each 50 ms, and is served in bursts of 1 to 8 ms."""
    mbps = 3.0
    burst = pause = 0
    for ms in range(12_000):
        if ms % 50 == 0:
            mbps = min(8.0, max(0.5, mbps * (0.8 + 0.45 * random.random())))
        if burst == pause == 0:
            burst, pause = 1 + int(4 * random.random()), int(5 * random.random())
        busy = burst > 0
        yield mbps * 5 / 3 if busy else 0.0
        burst, pause = (burst - 1, pause) if busy else (burst, pause - 1)


def satellite(random: Random) -> Iterator[float]:
    """60 s below low satellites: another one each 15 s, with 40 to 160 Mbps, 50 ms of silence at each change, and a ripple."""
    mbps = 0.0
    for ms in range(60_000):
        if ms % 15_000 == 0:
            mbps = 40 + 120 * random.random()
        if ms % 100 == 0:
            ripple = 0.85 + 0.3 * random.random()
        yield 0.0 if ms % 15_000 < 50 and ms >= 15_000 else mbps * ripple


def millimetre(random: Random) -> Iterator[float]:
    """20 s of 5G at short range: up to 600 Mbps, and now and then a hand, a bus or a wall before it for 0.1 to 1 s."""
    mbps, outage = 300.0, 0
    for ms in range(20_000):
        if ms % 20 == 0:
            mbps = min(600.0, max(60.0, mbps * (0.85 + 0.33 * random.random())))
            if outage == 0 and random.random() < 0.008:
                outage = 100 + int(900 * random.random())
        outage = max(0, outage - 1)
        yield 0.0 if outage else mbps


def main(folder: Path) -> None:
    for name, scale, make in [
        ("cellular", 1, cellular),
        ("satellite", 80, satellite),
        ("millimetre", 150, millimetre),
    ]:
        lines = opportunities(make(Random(1)), scale)
        (folder / f"{name}.trace").write_text("".join(f"{ms}\n" for ms in lines))


if __name__ == "__main__":
    main(Path(__file__).parent)
