"""BibTeX of this program and of the papers of its algorithms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from cwnd._cwnd import __version__
from cwnd._scenario.registry import algorithm

_OWN = """@misc{{cwnd,
  author = {{{{The cwnd authors}}}},
  title = {{{{cwnd}}: {{TCP}} congestion control from the paper to the kernel}},
  note = {{Version {version}}},
  url = {{https://github.com/cwnd/cwnd}}
}}"""


def cite(algorithms: Iterable[str] = ()) -> str:
    """BibTeX of this version of cwnd and of the papers, RFCs and drafts of algorithms.

    Args:
        algorithms: Names of the registry or of presets, whose algorithm is cited; each is cited once.

    Raises:
        Error: a name that is unknown.
    """
    found = [algorithm(name) for name in dict.fromkeys(algorithms)]
    names = dict.fromkeys(one["algorithm"] if "recovery" in one else one["name"] for one in found)
    return "\n\n".join([_OWN.format(version=__version__), *(references()[name] for name in names)]) + "\n"


@cache
def references() -> dict[str, str]:
    """The entry of each algorithm, a field a line."""
    text = (files("cwnd._scenario") / "references.bib").read_text("utf-8")
    entries = {}
    for line in text.splitlines():
        head, rest = line.split(", ", 1)
        fields = re.sub(r", (\w+)=\{", r",\n  \1 = {", f", {rest}".removesuffix("}"))
        entries[head.partition("{cwnd-")[2]] = f"{head}{fields}\n}}"
    return entries
