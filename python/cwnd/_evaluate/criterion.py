"""Criteria: each has a question, scenarios, measures in them, and the rule of the verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from cwnd._evaluate.evidence import Evidence, Finding
from cwnd._evaluate.scenarios import Case, Part


class Criterion(NamedTuple):
    """One criterion. `level` is the RFC's word for it: MUST, SHOULD, or none where it has no such word.

    Without parts it is not run: `author` is true where the author's text answers it, else `reason` has why.
    """

    id: str
    section: str
    level: str
    title: str
    #: Requirement of the document, in a sentence or two.
    asks: str
    parts: Sequence[Part] = ()
    #: Instead of comparing each measure in each case: what is found, and the rule in words.
    find: Callable[[Evidence], list[Finding]] | None = None
    rule: str = ""
    author: bool = False
    reason: str = ""
    #: How the figure shows the findings: dots, matrix, shares.
    figure: str = "dots"

    @property
    def cases(self) -> list[Case]:
        return [case for part in self.parts for case in part.cases]

    @property
    def rules(self) -> list[str]:
        """The rule of the verdict, a sentence each."""
        if self.find is not None:
            return [self.rule]
        judged = [m for part in self.parts for m in part.measures if m.rule is not None]
        return list(dict.fromkeys(m.rule.words(m) for m in judged if m.rule is not None))
