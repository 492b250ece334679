"""The functions of growth in papers/agile/growth.py."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import cwnd

sys.path.insert(0, str(Path(__file__).parents[2] / "papers" / "agile"))
growth = importlib.import_module("growth")


def test_the_square_root_as_a_class_is_elastic_and_the_others_grow_less() -> None:
    paths = [
        cwnd.dumbbell(
            cca, rate="10 Mbps", delay="50 ms", buffer=20, duration="20 s", samples="off", name=name
        )
        for name, cca in growth.CCAS.items()
    ]
    flows = {row["scenario"]: row for row in cwnd.run(paths).flows.iter_rows(named=True)}
    header, root = flows["elastic"], flows["square root"]
    assert root["sent_pkts"] == header["sent_pkts"] and root["lost_pkts"] == header["lost_pkts"]
    assert root["mean_cwnd_pkts"] == pytest.approx(header["mean_cwnd_pkts"], rel=1e-4)
    cwnds = [flows[name]["mean_cwnd_pkts"] for name in ("square root", "cube root", "logarithm")]
    assert cwnds == sorted(cwnds, reverse=True) and cwnds[2] < 0.98 * cwnds[0]
