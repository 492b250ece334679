"""Verdicts on the cases of one algorithm, and how they are shown."""

from __future__ import annotations

import json
from typing import NamedTuple

from cwnd._common.text import aligned
from cwnd._conform.cases import Case
from cwnd._expect.judge import FAIL, PASS, UNSEEN

#: Verdicts besides those of expectations: a clause with SHOULD that does not hold, and one that the
#: algorithm leaves on purpose.
WARN, DEVIATES = "warn", "deviates"
VERDICTS = (PASS, FAIL, WARN, DEVIATES, UNSEEN)


class Tried(NamedTuple):
    """One case, and its verdict."""

    case: Case
    verdict: str
    #: Values that were seen, or why none was.
    found: str
    #: The reason of a documented deviation.
    reason: str


class Conformance(NamedTuple):
    """The verdicts of all cases on one algorithm."""

    algorithm: str
    world: str
    tried: list[Tried]

    @property
    def ok(self) -> bool:
        """No clause with MUST failed."""
        return all(one.verdict != FAIL for one in self.tried)

    def count(self, verdict: str) -> int:
        return sum(one.verdict == verdict for one in self.tried)

    def to_json(self) -> str:
        """One JSON object; equal for equal headers."""
        return json.dumps(
            {
                "algorithm": self.algorithm,
                "world": self.world,
                "ok": self.ok,
                "cases": [
                    {
                        "suite": one.case.suite,
                        "case": one.case.name,
                        "clause": one.case.clause,
                        "requires": one.case.requires,
                        "level": one.case.level,
                        "verdict": one.verdict,
                        "found": one.found,
                        "reason": one.reason,
                    }
                    for one in self.tried
                ],
            },
            indent=1,
        )

    def to_junit(self) -> str:
        """JUnit's XML: failures, and as skipped the cases that warn, deviate or cannot be seen."""
        from xml.etree import ElementTree

        skipped = (WARN, DEVIATES, UNSEEN)
        root = ElementTree.Element(
            "testsuite",
            name=f"cwnd conform {self.algorithm}",
            tests=str(len(self.tried)),
            failures=str(self.count(FAIL)),
            skipped=str(sum(map(self.count, skipped))),
        )
        for one in self.tried:
            name = f"{one.case.name}: {one.case.requires}"
            case = ElementTree.SubElement(root, "testcase", classname=one.case.suite, name=name)
            message = f"{one.case.clause}: {one.found}" + (f"; {one.reason}" if one.reason else "")
            if one.verdict == FAIL:
                ElementTree.SubElement(case, "failure", message=message)
            elif one.verdict in skipped:
                ElementTree.SubElement(case, "skipped", message=f"{one.verdict}: {message}")
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"

    def __str__(self) -> str:
        rows = [["case", "clause", "level", "verdict", "found"]]
        rows += [
            [f"{one.case.suite}/{one.case.name}", one.case.clause, one.case.level, one.verdict, one.found]
            for one in self.tried
        ]
        lines = aligned(rows)
        for one in self.tried:
            if one.verdict != PASS:
                lines.append(f"{one.case.suite}/{one.case.name}: {one.verdict}: {one.case.requires}")
                lines += [f"  {one.reason}"] if one.reason else []
        counts = ", ".join(f"{self.count(verdict)} {verdict}" for verdict in VERDICTS)
        lines.append(f"{self.algorithm} in {self.world}: {len(self.tried)} cases: {counts}")
        return "\n".join(lines)
