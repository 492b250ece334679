"""Tables for papers: LaTeX with booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "µ": r"$\mu$",
    "±": r"$\pm$",
}
_UNIT = re.compile(r"(.*\S) (Mbit/s|Mbps|ms|s|%|packets|bytes)")
_NUMBER = re.compile(r"([+-]?)(\d+(?:,\d{3})*(?:\.\d+)?)(?:e(-?\d+))?")
#: A number that stands by itself: not a part of a name such as bbr3 or 1BDP.
_NUMBERS = re.compile(rf"(?<![\w.]){_NUMBER.pattern}(?!\w|\.\d)")


def latex_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> str:
    """A tabular with booktabs: the first `texts` columns are text, the others numbers at the right.

    A unit at the end of a heading is put in brackets, and a mean with its ± is one column of mathematics.
    """
    body = [
        [latex_text(cell) if at < texts else _number(cell) for at, cell in enumerate(row)] for row in rows
    ]
    heads = [latex_text(_UNIT.sub(r"\1 (\2)", heading) if heading else "") for heading in headings]
    columns = "l" * min(texts, len(heads)) + "r" * max(0, len(heads) - texts)
    lines = [
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{{columns}}}",
        "\\toprule",
        f"{' & '.join(heads)} \\\\",
        "\\midrule",
        *(f"{' & '.join(row)} \\\\" for row in body),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    """`text` with what LaTeX would take for a command escaped."""
    return "".join(_SPECIAL.get(character, character) for character in text)


def _number(cell: str) -> str:
    """A cell of numbers as mathematics, so that minus, ± and powers are set as such; other cells as text."""
    if cell in ("", "-"):
        return "--" if cell else ""
    if not _NUMBERS.search(cell) or re.search(r"[A-Za-z]", re.sub(r"\de-?\d", "", cell)):
        return latex_text(cell)
    shown = _NUMBERS.sub(_in_mathematics, cell).replace("±", r"\pm").replace("%", r"\%")
    return f"${shown.replace('<', '< ')}$"


def _in_mathematics(found: re.Match[str]) -> str:
    sign, mantissa, power = found.groups()
    digits = mantissa.replace(",", r"{,}")
    return f"{sign}{digits}" + (rf" \times 10^{{{power}}}" if power else "")
