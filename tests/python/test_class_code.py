"""The names of the runs of a class do not change with its comments."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

from cwnd._run.class_code import class_code, source_code
from test_custom import Reno

SOURCE = '''class Slow(Base):
    """Slow."""

    step: int = 1  # a segment

    def ssthresh(self, window, ack):
        """A loss."""
        # the half
        return max(window.cwnd // 2, 2)

    def label(self): "short"; return f"é {self.step!r:>{4}} {{}}" "#"
'''

#: Written by hand: Python 3.12 and later take strings such as f"{x}" apart, earlier versions do not.
CODE = """class Slow ( Base ) : \n { step : int = 1 \n def ssthresh ( self , window , ack ) : \n\
 { return max ( window . cwnd // 2 , 2 ) \n\
 } def label ( self ) : return f"é {self.step!r:>{4}} {{}}" "#" \n }"""


def test_the_code_of_a_class_is_its_tokens() -> None:
    assert source_code(SOURCE) == CODE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a segment", "# one"),
        ("  # a segment", ""),
        ('    """Slow."""\n', ""),
        ('"""Slow."""', "'''Slow:\n  \"a\" # é\n'''"),
        ('"""Slow."""', '("Slow" # one\n     " and more")'),
        ('"""A loss."""', '"""ä\nloss"""'),
        ('        """A loss."""\n', ""),
        (' "short";', ""),
        ("        # the half\n", "\n# not indented\n\n"),
        ("max(window.cwnd // 2, 2)", "max( window.cwnd//2,\n 2 ) # two"),
        ("return max", "return \\\n    max"),
        ("\n    ", "\n        "),
    ],
)
def test_comments_docstrings_and_white_space_make_no_difference(old: str, new: str) -> None:
    changed = SOURCE.replace(old, new)
    assert changed != SOURCE
    assert source_code(changed) == CODE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("// 2", "// 3"),
        ("int = 1", "int = 12"),
        ('"#"', '"# "'),
        ("{4}", "{ 4}"),
        ("        return max", "        'a string'\n        return max"),
        ('"""Slow."""', 'b"Slow."'),
        ("step: int = 1", "step: int = 1 ; '''no docstring'''"),
        ("return max", "return 2\n        return max"),
    ],
)
def test_other_code_makes_a_difference(old: str, new: str) -> None:
    changed = SOURCE.replace(old, new)
    assert changed != SOURCE
    compile(changed, "changed", "exec")
    assert source_code(changed) != CODE


def test_where_a_class_is_defined_makes_no_difference() -> None:
    assert source_code(textwrap.indent(SOURCE, "    ")) == CODE
    assert source_code(textwrap.indent(SOURCE, "\t")) == CODE
    assert source_code(SOURCE.rstrip()) == CODE

    class Inner(Reno):
        """A class in a function."""

        text = """a
b"""

    own, _, base = class_code(Inner).partition("\0")
    assert own == 'class Inner ( Reno ) : \n { text = """a\nb""" \n }' and base.startswith("class Reno")


def test_a_letter_with_a_mark_is_a_part_of_its_name() -> None:
    name = "\u0928\u092e\u0938\u094d\u0924\u0947"
    assert source_code(f"x={name}2+1") == f"x = {name}2 + 1 \n"


@pytest.mark.parametrize(
    "source", ["class A(:\n", "class A:\n\tx = '", "x = (", "class A:\n  x = 1\n y = 2", "\0"]
)
def test_what_is_not_python_is_left_as_it_is(source: str) -> None:
    assert source_code(source) == source


def test_it_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert source_code("x = '\\d' is 1") == "x = '\\d' is 1 \n"


CLASS = '''
import cwnd


class Slow(cwnd.CongestionControl):
    """Slow."""

    def ssthresh(self, window, ack):
        return max(window.cwnd // 2, 2)

    def cong_avoid(self, window, ack):
        window.cwnd += 1 if window.cwnd < 20 else 0
'''
SWEEP = """duration = "1 s"
repeat = 3
[dumbbell]
rate = "10 Mbps"
delay = "10 ms"
buffer = 50
[[flows]]
cca = "slow.py:Slow"
"""


def test_a_sweep_goes_on_after_a_changed_comment_and_begins_again_after_a_changed_constant(
    tmp_path: Path,
) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)

    def ran(source: str) -> int:
        (tmp_path / "slow.py").write_text(source)
        command = [sys.executable, "-m", "cwnd", "sweep", "sweep.toml", "--out", "out", "--json"]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
        return int(json.loads(done.stdout)["ran"])

    assert ran(CLASS) == 3
    assert ran(CLASS) == 0
    assert ran(CLASS.replace('"""Slow."""', '"""Slow, up to 20."""  # segments')) == 0
    assert ran(CLASS.replace("< 20", "< 30")) == 3
