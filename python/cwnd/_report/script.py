"""The script of a page with plots, with its data and the library."""

from __future__ import annotations

import json
from importlib.resources import files

_LIBRARY = "uPlot.iife.min.js", "uPlot.min.css", "uPlot-LICENSE"


def can_plot() -> bool:
    """Returns true if this installation has uPlot: wheels do, a clone after `make uplot`."""
    return all((files("cwnd") / "_web" / name).is_file() for name in _LIBRARY)


def embed(data: object) -> tuple[str, str]:
    """The scripts and the style of a page whose plots show `data`; empty without uPlot."""
    if not can_plot():
        return "", ""
    web = files("cwnd") / "_web"
    library, style, licence = ((web / name).read_text("utf-8") for name in _LIBRARY)
    code = (files("cwnd._report") / "page.js").read_text("utf-8")
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    notice = " ".join(line for line in licence.splitlines() if line.startswith("Copyright"))
    return (
        f'<script type="application/json" id="data">{text.replace("<", chr(92) + "u003c")}</script>\n'
        f"<script>/*! uPlot, MIT licence. {notice} */\n{library}</script>\n<script>{code}</script>",
        style,
    )
