"""Pieces of HTML for notebooks. Every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table; the first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in headings)
    body = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(first)}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in others)
        + "</tr>"
        for first, *others in rows
    )
    shown = f'<caption style="text-align:left">{escape(caption)}</caption>' if caption else ""
    return f"<table>{shown}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def folded(summary: str, text: str) -> str:
    """A text that opens by a click."""
    return f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"
