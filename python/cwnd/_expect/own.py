"""The expectations that scenarios bring with them; results without any cost nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cwnd._scenario.scenario import Scenario

if TYPE_CHECKING:
    from cwnd._expect.expect import Expected
    from cwnd._results.results import Results


def own_expectations(results: Results, scenarios: Iterable[object] = ()) -> Expected | None:
    """The verdicts on what the scenarios of results expect; None: they expect nothing.

    `scenarios` are those that ran, as for `cwnd.expect`; what is no `Scenario` is left out.
    """
    if not any("expect" in scenario for scenario in results.scenarios):
        return None
    from cwnd._expect.expect import expect

    return expect(results, scenarios=[one for one in scenarios if isinstance(one, Scenario)])
