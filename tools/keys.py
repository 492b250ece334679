"""Writes what comes from the table of keys, crates/scenario/src/keys: `make docs`.

docs/scenario.schema.json, and what docs/reference.md has between `<!-- keys NAME... -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from cwnd import _cwnd

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "docs" / "scenario.schema.json"
REFERENCE = ROOT / "docs" / "reference.md"
WIDTH = 110

_BLOCK = re.compile(r"(<!-- keys (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    SCHEMA.write_text(schema())
    REFERENCE.write_text(reference(REFERENCE.read_text()))


def schema() -> str:
    return _json(json.loads(_cwnd.schema())) + "\n"


def reference(text: str) -> str:
    """The text with its tables made anew."""
    tables = {table["name"]: table for table in json.loads(_cwnd.keys())}

    def block(found: re.Match[str]) -> str:
        made = "\n".join(_table(tables[name], tables["dumbbell"]) for name in found[2].split())
        return f"{found[1]}{made}\n{found[3]}"

    return _BLOCK.sub(block, text)


def missing(text: str) -> list[str]:
    """The tables that the text does not have between its marks; a name alone needs none."""
    named = {name for found in _BLOCK.finditer(text) for name in found[2].split()}
    return [
        table["name"]
        for table in json.loads(_cwnd.keys())
        if table["name"] not in named and any(key["forms"] != [f'"{table["name"]}"'] for key in table["keys"])
    ]


def _table(table: dict[str, Any], dumbbell: dict[str, Any]) -> str:
    """The table for a reader; keys of any link are those of a dumbbell."""
    head = f"`{table['written']}`" if table["written"] else "of the scenario"
    rows = [f"| {head} | value | default | |", "|---|---|---|---|"]
    shared = [key for key in table["keys"] if key in dumbbell["keys"] and table is not dumbbell]
    for key in table["keys"]:
        if key in shared:
            continue
        default = key["default"] or "needed"
        if key["name"] in table["one_of"]:
            default = "one of " + ", ".join(f"`{name}`" for name in table["one_of"])
        rows.append(f"| `{key['name']}` | {_forms(key['forms'])} | {default} | {key['about']} |")
    if shared:
        names = ", ".join(f"`{key['name']}`" for key in shared)
        rows.append(f"| {names} | as of `{dumbbell['written']}` | | |")
    return "\n".join(rows) + "\n"


def _forms(forms: list[str]) -> str:
    shown = [f"`{form}`" if form[0] == '"' or form in ("true", "false") else form for form in forms]
    return ", ".join(dict.fromkeys(shown))


def _json(value: Any, indent: str = "") -> str:
    """JSON with a line for each value that fits in one."""
    short = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(indent) + len(short) <= WIDTH:
        return short
    within = indent + "  "
    if isinstance(value, list):
        parts, ends = [_json(part, within) for part in value], "[]"
    else:
        parts, ends = [f"{json.dumps(key)}: {_json(part, within)}" for key, part in value.items()], "{}"
    inside = ",\n".join(within + part for part in parts)
    return f"{ends[0]}\n{inside}\n{indent}{ends[1]}"


if __name__ == "__main__":
    main()
