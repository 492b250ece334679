"""Numbers and names as tables and figures show them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cwnd._common.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwnd._common.shapes import Estimate


def rate(bps: float) -> str:
    for unit in ("bps", "kbps", "Mbps"):
        if bps < 1000:
            return f"{bps:.4g} {unit}"
        bps /= 1000
    return f"{bps:.4g} Gbps"


def exponent(number: float) -> str:
    """1e-5, neither 1e-05 nor 0.00001."""
    text = f"{number:e}" if 0 < abs(number) < 1e-3 else f"{number:g}"
    mantissa, e, power = text.partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}" if e else text


def markdown(name: str) -> str:
    """A name as Markdown, in a table, too: what has a meaning there is escaped."""
    return re.sub(r"[\\`*_\[\]<>&|~]", r"\\\g<0>", one_line(name))


def digits(number: float | None) -> str:
    """Four digits, or all of the whole part."""
    if number is None:
        return "-"
    return f"{number:.0f}" if abs(number) >= 1000 else exponent(float(f"{number:.4g}"))


def aligned(rows: Sequence[Sequence[str]], *, right: bool = False) -> list[str]:
    """Lines of a table with columns of equal width; `right`: all but the first stand at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if right and at > 0 else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def estimate(row: Estimate | None, scale: float) -> str:
    """A row of the summary: its mean and, with more than one run, half the width of its interval."""
    if row is None:
        return "-"
    mean = digits(row["mean"] * scale)
    if row["ci95_high"] is None:
        return mean
    half = (row["ci95_high"] - row["mean"]) * scale
    if half < 1e-9 * abs(row["mean"] * scale):  # equal runs, but for rounding
        half = 0.0
    return f"{mean} ± {exponent(float(f'{half:.2g}'))}"
