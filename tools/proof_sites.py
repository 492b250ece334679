"""Where a header's text can have a fault of arithmetic, in an order that a seed gives."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

#: Kinds of faults, each with a pattern of a line of code and what replaces it.
_KINDS = (
    ("a product in 32 bits", r"\(u64\)(?=\w[\w>.\-]* \*)", ""),
    ("a minimum for a maximum", r"\bcc_max\(", "cc_min("),
    ("a maximum for a minimum", r"\bcc_min\(", "cc_max("),
    ("one more", r"(?<=return )([^;]+)(?=;)", r"(\1) + 1"),
    ("one more", r"(?<=cc_grow\(w, )([^;]+)(?=\);)", r"(\1) + 1"),
    ("a shift by a place less", r"(<<|>>) (\d+)\b", None),
    ("no guard", r"(?<=\bif \()(.+)(?=\)(?: \{)?$)", "1"),
    ("a wrong sign", r" - (?=[\w(])", " + "),
    ("a wrong sign", r" -= ", " += "),
    ("no bound", r"\bcc_(min|max|allowed)\(", None),
)


def changes(text: str, seed: str) -> Iterator[tuple[str, str, str]]:
    """A line as it is, the line with a fault, and the fault, for every place of the hooks' code.

    A kind is drawn first and then one of its places, so that frequent operations do not crowd out the others.
    """
    rng = random.Random(seed)
    found: dict[str, list[tuple[str, str]]] = {}
    body = text[text.index("CC_CHECK_STATE(") :]
    for line in body.splitlines():
        code = line.split("/*")[0].rstrip()
        if not code or code.lstrip().startswith(("*", "#")) or body.count(line) > 1:
            continue
        for kind, pattern, into in _KINDS:
            for match in re.finditer(pattern, code):
                made = _changed(code, match, into)
                if made not in ("", code):
                    found.setdefault(kind, []).append((line, made + line[len(code) :]))
    for places in found.values():
        rng.shuffle(places)
    while found:
        kind = rng.choice(sorted(found))
        before, after = found[kind].pop()
        if not found[kind]:
            del found[kind]
        yield before, after, f"{kind}: `{after.split('/*')[0].strip()}`"


def _changed(code: str, match: re.Match[str], into: str | None) -> str:
    if into is not None:
        return code[: match.start()] + match.expand(into) + code[match.end() :]
    if match[0][0] in "<>":
        return f"{code[: match.start()]}{match[1]} {int(match[2]) - 1}{code[match.end() :]}"
    depth, parts, begin = 1, [], match.end()
    for at in range(match.end(), len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0 or (depth == 1 and code[at] == ","):
            parts.append(code[begin:at].strip())
            begin = at + 1
        if depth == 0:
            kept = parts[1] if match[1] == "allowed" else parts[0]
            return f"{code[: match.start()]}(u32)({kept}){code[at + 1 :]}"
    return ""
