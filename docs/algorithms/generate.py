"""Writes the pages of the algorithms from their headers and the registry: `make docs`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import cwnd
from cwnd._scenario.registry import Algorithm, Setting

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROFILES = ("linux", "ns2")
#: A file of the repository to append to a page.
MORE = {"agile": "papers/agile/combine.md"}


def main() -> None:
    written = pages()
    for path in HERE.glob("*.md"):
        if path.name not in written:
            path.unlink()
    for name, text in written.items():
        (HERE / name).write_text(text)


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    found = {f"{each['name']}.md": page(each) for each in cwnd.algorithms()}
    return {**found, "README.md": index()}


def page(one: Algorithm) -> str:
    header = f"{one['name'].replace('-', '_')}.h"
    facts = [
        ["paper", one["paper"]],
        ["year", one["year"]],
        ["kind", one["kind"]],
        ["status", one["status"]],
        ["state", f"{one['state_bytes']} bytes"],
        ["header", f"[algorithms/{header}](../../algorithms/{header})"],
        ["proved", "; ".join([proved(one["name"]), *unproved(one["name"])])],
    ]
    blocks = [f"# {one['title']}", table(["`" + one["name"] + "`", ""], facts), *essay(one["essay"])]
    if one["params"]:
        rows = [
            [f"`{each['name']}`", each["default"], each["accepted"], each["meaning"], each["source"]]
            for each in one["params"]
        ]
        blocks += ["## Parameters", table(["", "default", "accepted", "meaning", "source"], rows)]
    blocks += ["## What the stack profiles set", profiles(one["profiles"])]
    if one["name"] in MORE:
        blocks.append((ROOT / MORE[one["name"]]).read_text().strip())
    return "\n\n".join(blocks) + "\n"


#: Verdicts of docs/proofs.md other than "proved".
UNPROVED = {"open": "open", "**refuted**": "refuted", "events": "open on the loaded object"}


@cache
def proofs() -> dict[str, dict[tuple[str, str], str]]:
    """The verdicts of docs/proofs.md: by header, of a hook and a property."""
    lines = (ROOT / "docs/proofs.md").read_text().splitlines()
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|"))
    _, _, *properties, _ = next(row for row in rows if row[:2] == ["header", "hook"])
    next(rows)  # the rule below the heads
    found: dict[str, dict[tuple[str, str], str]] = {}
    for header, hook, *verdicts, _ in rows:
        asked = {(hook, name): one for name, one in zip(properties, verdicts, strict=True)}
        of_header = found.setdefault(header, {})
        of_header |= {key: one for key, one in asked.items() if one == "proved" or one in UNPROVED}
    return found


def proved(name: str) -> str:
    """How many properties of the hooks are proved, as a link to them."""
    verdicts = proofs()[name].values()
    return f"[{sum(one in ('proved', 'events') for one in verdicts)} of {len(verdicts)}](../proofs.md)"


def unproved(name: str) -> list[str]:
    """The properties that are not proved, of the hooks or of the object that is loaded."""
    verdicts = proofs()[name].items()
    return [f"{UNPROVED[one]}: {of} of {hook}" for (hook, of), one in verdicts if one in UNPROVED]


def index() -> str:
    rows = [
        [
            f"[{one['name']}]({one['name']}.md)",
            *(one[key] for key in ("year", "title", "kind", "status", "paper")),
            proved(one["name"]),
        ]
        for one in cwnd.algorithms()
    ]
    presets = [
        [
            f"`{one['name']}`",
            f"[{one['algorithm']}]({one['algorithm']}.md)",
            one["recovery"] or "the stack's",
            one["about"],
        ]
        for one in cwnd.presets()
    ]
    blocks = [
        "# Algorithms",
        "Each algorithm is one C header. Its page is made from that header and the registry (`make docs`); "
        "`cwnd algorithms NAME` shows the same.",
        table(["name", "year", "", "kind", "status", "paper", "proved"], rows),
        "Kind is the signal that an algorithm reacts to: losses, delays, both (hybrid), a model of the path, "
        "marks that are echoed one by one (ecn), or counted marks of ECT(1) (l4s). Status is the source of "
        "its rules: the paper (published), the RFC (rfc), or the paper with gaps that we filled "
        "(reconstruction); the page names them. Proved are so many properties of its hooks, on bytecode, as "
        "`cwnd prove NAME` shows; the page names the others.",
        "## Presets",
        "Names that papers use for an algorithm together with a recovery.",
        table(["name", "algorithm", "recovery", ""], presets),
    ]
    return "\n\n".join(blocks) + "\n"


def profiles(settings: dict[str, Setting]) -> str:
    """Settings of each profile, a row per key."""
    changed = {profile: {**settings[profile]["params"], **settings[profile]["stack"]} for profile in PROFILES}
    keys = list(dict.fromkeys(key for profile in PROFILES for key in changed[profile]))
    if not keys:
        return "Nothing: parameters and stack keep their defaults."
    rows = [[f"`{key}`", *(changed[profile].get(key, "") for profile in PROFILES)] for key in keys]
    return table(["", *(f"`{profile}`" for profile in PROFILES)], rows)


def essay(text: str) -> Iterator[str]:
    """Blocks of Markdown: indented lines are an equation, unless they continue a list."""
    for block in text.split("\n\n"):
        kind, lines = "", []
        for line in block.splitlines():
            is_item = line.lstrip().startswith("- ")
            if is_item or (kind == "list" and line.startswith(" ")):
                new = "list"
            else:
                new = "code" if line.startswith("  ") else "text"
            if lines and new != kind:
                yield markdown(kind, lines)
                lines = []
            kind = new
            lines.append(line)
        if lines:
            yield markdown(kind, lines)


def markdown(kind: str, lines: list[str]) -> str:
    if kind == "code":
        return "\n".join(["```", *(line[2:] for line in lines), "```"])
    lines = [line.translate({ord(c): f"\\{c}" for c in "*<"}) for line in lines]
    if kind == "list":
        lines = [line.lstrip() if line.lstrip().startswith("- ") else f"  {line.lstrip()}" for line in lines]
    return "\n".join(lines)


def table(heads: list[str], rows: Iterable[Sequence[object]]) -> str:
    def line(cells: Iterable[object]) -> str:
        return "| " + " | ".join(cell(value) for value in cells) + " |"

    return "\n".join([line(heads), "|" + "---|" * len(heads), *(line(row) for row in rows)])


def cell(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value).replace("|", "\\|")


if __name__ == "__main__":
    main()
