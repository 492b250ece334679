"""Tables for papers."""

from __future__ import annotations

from pathlib import Path

import pytest

import cwnd
from conftest import SMALL, Command
from cwnd._common.latex import latex_table, latex_text


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("9.8 ± 0.2", r"$9.8 \pm 0.2$"),
        ("-0.45", "$-0.45$"),
        ("1.4e-5", r"$1.4 \times 10^{-5}$"),
        ("+2 [-1, 5]", "$+2 [-1, 5]$"),
        ("<1e-6", r"$< 1 \times 10^{-6}$"),
        ("1,234", "$1{,}234$"),
        ("-", "--"),
        ("agrees", "agrees"),
        ("bbr3", "bbr3"),
    ],
)
def test_numbers_are_mathematics(cell: str, shown: str) -> None:
    assert shown in latex_table(["a", "b"], [["x", cell]])


def test_units_of_headings_are_in_brackets_and_special_characters_escaped() -> None:
    table = latex_table(["flows.cca", "loss %", "mean RTT ms"], [["50%_of #1 & {x}", "1", "2"]])
    assert r"flows.cca & loss (\%) & mean RTT (ms) \\" in table
    assert r"50\%\_of \#1 \& \{x\} & $1$ & $2$ \\" in table
    assert latex_text("a\\b~c^d") == r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d"


def test_swept_numbers_have_their_unit_in_the_head(tmp_path: Path, cwnd_here: Command) -> None:
    path = 'duration = "1 s"\n[dumbbell]\nrate = "10 Mbps"\ndelay = "5 ms"\nbuffer = 20\n'
    flows = '[[flows]]\ncca = "reno"\n'
    swept = '[sweep]\n"flows.cca" = ["reno", "cubic"]\n"dumbbell.rate" = ["10 Mbps", "0.02 Gbps"]\n'
    (tmp_path / "rates.toml").write_text(path + flows + swept)
    assert cwnd_here("sweep", "rates.toml", "--out", "out", cwd=tmp_path).returncode == 0
    table = cwnd.Results.load(tmp_path / "out").to_latex()
    assert "algorithm & rate (Mbit/s) & throughput (Mbit/s)" in table
    assert "\ncubic & 20 & $" in table


def test_the_commands_print_a_tabular_and_nothing_else(cwnd_here: Command) -> None:
    results = cwnd.run(cwnd.dumbbell("cubic", repeat=2, **SMALL))  # type: ignore[arg-type]
    table = results.to_latex()
    assert table.startswith("% needs \\usepackage{booktabs}\n\\begin{tabular}{lrrrrrrr}\n\\toprule\n")
    assert r"throughput (Mbit/s) & goodput (Mbit/s) & loss (\%)" in table and r"\pm" in table
    flags = ("--cca", "reno", "--rate", "10Mbps", "--delay", "5ms", "--duration", "1s")
    done = cwnd_here("run", *flags, "--latex")
    assert done.returncode == 0 and done.stdout.startswith("% needs") and done.stdout.count("\\\\\n") == 2
    assert cwnd_here("run", *flags, "--latex", "--json").returncode == 2
