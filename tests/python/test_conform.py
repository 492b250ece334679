"""`cwnd conform`: verdicts of our headers, planted faults, and files that are no case."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

import cwnd
from cwnd._conform import conform as conforming
from cwnd._conform.cases import Case, cases, read_case, suites
from cwnd._conform.conform import texts
from cwnd._conform.page import page
from cwnd._conform.sender import run_hooks
from cwnd._conform.subjects import OF_STACKS, find_subject
from cwnd._conform.trial import try_case
from cwnd._conform.verdicts import Conformance, Tried
from cwnd._expect.judge import UNSEEN

ROOT = Path(__file__).parents[2]

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler for a header"
)


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["reno", "dctcp"])
def test_no_clause_with_must_fails_on_our_headers(name: str) -> None:
    verdicts = cwnd.conform(name)
    assert verdicts.ok, str(verdicts)
    assert verdicts.count("warn") == 0


def test_cubic_and_hystart_meet_their_texts() -> None:
    verdicts = cwnd.conform("cubic", suite=["rfc9438", "rfc9406"])
    assert len(verdicts.tried) > 40
    assert {one.verdict for one in verdicts.tried} == {"pass"}, str(verdicts)


def test_a_documented_deviation_has_its_reason_and_is_no_failure() -> None:
    verdicts = cwnd.conform("reno", suite="rfc5681")
    deviating = [one for one in verdicts.tried if one.verdict == "deviates"]
    assert len(deviating) == 3 and all(one.reason for one in deviating)


def test_there_are_a_hundred_cases_each_with_a_clause_and_a_tolerance() -> None:
    assert len(cases()) >= 100
    for case in cases():
        assert case.clause.startswith(("RFC ", "draft-")), case.name
        assert case.tolerance and case.requires.endswith("."), case.name


@needs_compiler
def test_a_header_of_ones_own_has_the_verdicts_of_the_registry() -> None:
    own = cwnd.conform(ROOT / "algorithms" / "dctcp.h", suite="rfc8257")
    registered = cwnd.conform("dctcp", suite="rfc8257")
    assert own.algorithm == "dctcp"
    assert texts(own.tried) == texts(registered.tried)


@needs_compiler
@pytest.mark.parametrize(
    ("fault", "case"),
    [
        ("least window of 4, as xquic had it", "rfc5681/least-ssthresh-2"),
        ("beta of the shortened W_max, as quinn had it", "rfc9438/fast-convergence"),
        ("W_max of before a timeout, as ns-3 had it", "rfc9438/epoch-after-timeout"),
        ("slow start counts ACKs", "rfc9002/slow-start-10-per-ack"),
    ],
)
def test_a_published_fault_that_is_planted_is_found(
    fault: str, case: str, mutants: ModuleType, tmp_path: Path
) -> None:
    (mutant,) = (one for one in mutants.MUTANTS if one.fault == fault)
    (tried,) = (one for one in cases() if f"{one.suite}/{one.name}" == case)
    assert try_case(tried, find_subject(mutants.plant(mutant, tmp_path))).found.startswith("step ")


@needs_compiler
def test_the_command_ends_with_1_on_a_fault_and_junit_names_it(
    tmp_path: Path, mutants: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    from click.testing import CliRunner

    from cwnd._cli.commands import cli

    header = mutants.plant(next(one for one in mutants.MUTANTS if one.algorithm == "reno"), tmp_path)
    asked = ["conform", str(header), "--suite", "ratelimited-10", "--suite", "rfc9002"]
    junit = tmp_path / "made" / "conform.xml"
    ran = CliRunner().invoke(cli, [*asked, "--json", "--junit", str(junit), "--out", str(tmp_path)])
    assert ran.exit_code == 1
    made = json.loads(ran.stdout)
    failed = {one["case"] for one in made["cases"] if one["verdict"] == "fail"}
    assert "loss" in failed and not made["ok"]
    root = ElementTree.parse(junit).getroot()
    assert int(root.attrib["failures"]) == len(failed) == len(root.findall("testcase/failure"))
    assert json.loads((tmp_path / "reno.json").read_text()) == made


def test_elsewhere_than_in_the_simulator_hooks_cannot_be_seen() -> None:
    verdicts = cwnd.conform("reno", suite="ratelimited-10", world="live")
    assert {one.verdict for one in verdicts.tried} == {UNSEEN}


def test_algorithms_of_stacks_are_those_that_scenarios_can_name() -> None:
    text = '[dumbbell]\nrate = "1 Mbps"\ndelay = "1 ms"\nbuffer = 9\n[[flows]]\ncca = "{}"\n'
    for name in OF_STACKS:
        cwnd.Scenario.parse(text.format(name))
    with pytest.raises(cwnd.Error) as refused:
        cwnd.conform("quinn:cubic")
    line = "world: 'quinn:cubic' is an algorithm of quinn, not of 'sim'; try --on quinn"
    assert str(refused.value) == line


def test_a_name_in_linux_is_the_kernels_own_and_has_no_parameters() -> None:
    subject = find_subject("cubic", "linux")
    assert (subject.label, subject.cca({})) == ("linux:cubic", '"cubic"')
    (delayed,) = (one for one in cases() if one.name == "limit-of-an-ack-in-css")
    assert try_case(delayed, subject, "linux").verdict == UNSEEN


def test_a_deviation_of_our_header_is_none_of_a_stacks_own(monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = (one for one in cases() if one.name == "slow-start-delayed-acks")
    assert try_case(case, find_subject("reno")).verdict == "deviates"
    other = find_subject("reno")._replace(label="mine:reno")
    assert try_case(case._replace(params={}), other._replace(label="else")).verdict == "fail"


class _Place:
    """A world beyond the simulator that runs as the simulator does."""

    def __init__(self) -> None:
        self.runs = 0
        self.essence = b"a"

    def place(self) -> _Place:
        return self


def test_a_trial_elsewhere_goes_on_where_it_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cwnd import _worlds

    place, tried = _Place(), []

    def once(case: Case, subject: object, world: str) -> Tried:
        tried.append(case.name)
        if len(tried) == 3:
            raise KeyboardInterrupt
        return Tried(case, "pass", f"number {len(tried)}", "")

    monkeypatch.setitem(_worlds.WORLDS, "elsewhere", place)  # type: ignore[arg-type]
    monkeypatch.setattr(conforming, "try_case", once)
    with pytest.raises(KeyboardInterrupt):
        cwnd.conform("reno", suite="rfc9937", world="elsewhere", out=tmp_path)
    journal = tmp_path / "reno-on-elsewhere.jsonl"
    with journal.open("a") as file:
        file.write('{"key": "cut of')
    verdicts = cwnd.conform("reno", suite="rfc9937", world="elsewhere", out=tmp_path)
    assert [one.found for one in verdicts.tried][:2] == ["number 1", "number 2"]
    assert len(tried) == len(verdicts.tried) + 1
    cwnd.conform("reno", suite="rfc9937", world="elsewhere", out=tmp_path)
    assert len(tried) == len(verdicts.tried) + 1
    place.essence = b"another version of the stack"
    cwnd.conform("reno", suite="rfc9937", world="elsewhere", out=tmp_path)
    assert len(tried) == 2 * len(verdicts.tried) + 1


def test_the_page_has_the_clause_and_the_trace_of_a_case_that_failed() -> None:
    subject = find_subject("reno")
    hooks = next(one for one in cases() if one.name == "slow-start-delayed-acks")
    network = next(one for one in cases() if one.name == "no-burst")
    failed = [Tried(one, "fail", "found <this>", "") for one in (hooks, network)]
    passed = Tried(cases()[0], "pass", "9", "")
    text = page(Conformance("reno", "sim", [*failed, passed]), subject)
    assert text.count("<svg") == 2 and text.count("<path") >= 4
    assert hooks.clause in text and network.clause in text and "found &lt;this&gt;" in text
    assert "losses = [150]" in text and "<script" not in text


def test_bad_arguments_are_refused_in_one_line(tmp_path: Path) -> None:
    for asked, suite, line in (
        (
            "nope",
            "",
            "nope: neither an algorithm of 'cwnd algorithms' nor a FILE.h nor FILE.py:CLASS nor one of "
            + ", ".join(OF_STACKS),
        ),
        ("reno", "rfc1", f"suite: 'rfc1' is not a suite; there are {', '.join(suites())}"),
        (str(tmp_path / "gone.h"), "", f"{tmp_path / 'gone.h'}: no such file or directory"),
        ("copa", "", f"copa: no case is about it; the suites are {', '.join(suites())}"),
    ):
        with pytest.raises(cwnd.Error) as refused:
            cwnd.conform(asked, suite=suite or ())
        assert str(refused.value) == line
    with pytest.raises(cwnd.Error, match=r"^world: 'moon' is not a world"):
        cwnd.conform("reno", world="moon")


@needs_compiler
def test_a_header_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    header = tmp_path / "mine.h"
    header.write_text("int x;\n")
    with pytest.raises(cwnd.Error, match="a header of an algorithm has one #define NAME_HOOKS"):
        cwnd.conform(header)
    header.write_text("#define mine_HOOKS(H, A) H(A, ssthresh)\n#define mine_PARAMS(P)\nstruct mine {};\n")
    with pytest.raises(cwnd.Error, match=r"mine.h: the compiler refuses it: ") as refused:
        cwnd.conform(header)
    assert "\n" not in str(refused.value)


@needs_compiler
def test_a_header_that_calls_what_is_not_there_is_refused_by_its_name(tmp_path: Path) -> None:
    header = tmp_path / "reno.h"
    text = (ROOT / "algorithms" / "reno.h").read_text()
    header.write_text(text.replace("cc_reno_growth(", "cc_no_growth("))
    with pytest.raises(cwnd.Error, match=r"reno.h: the compiler refuses it: .*cc_no_growth"):
        cwnd.conform(header)


GOOD = """clause = "RFC 1"
requires = "It does."
level = "MUST"
seen = "white"
algorithms = ["reno"]
tolerance = "none"
[hooks]
cwnd = 10
[[hooks.steps]]
rounds = 1
expect = { cwnd = [20, 20] }
"""

#: Changes of a good case, and the line of each.
REFUSED = {
    ('clause = "RFC 1"\n', ""): "no 'clause'; give it as a text",
    ('tolerance = "none"\n', ""): "no 'tolerance'; give it as a text",
    ('"MUST"', '"MAY"'): "level 'MAY' is neither MUST nor SHOULD",
    ('"white"', '"grey"'): "seen 'grey' is neither white nor black",
    ('["reno"]', "[]"): "no 'algorithms'; give a list of names",
    ("[hooks]", 'scenario = "x"\n[hooks]'): "give one of 'hooks' and 'scenario'",
    ('tolerance = "none"', 'tolerance = "none"\nwhy = 1'): "unknown key 'why'; there are clause,",
    ("rounds = 1", "rounds = 1\nacks = 1"): "step 1 has 2 events; give one of rounds,",
    ("rounds = 1", 'rounds = "1"'): "step 1, rounds is not a number",
    ("rounds = 1", "rounds = 1\nrtt = 3"): "step 1: unknown key 'rtt'; there are rtt_ms,",
    ("cwnd = [20, 20]", "cwnd = [21, 20]"): "step 1, cwnd: nothing is at least 21 and at most 20",
    ("cwnd = [20, 20]", "cwnd = 20"): "step 1, cwnd is not a range [least, most]",
    ("cwnd = [20, 20]", "window = [20, 20]"): "step 1, window cannot be expected; there are cwnd,",
    ("[[hooks.steps]]", "[[hooks.step]]"): "'hooks' has no steps; give [[hooks.steps]]",
}


@pytest.mark.parametrize("change", REFUSED)
def test_a_file_that_is_no_case_is_refused_in_one_line(change: tuple[str, str], tmp_path: Path) -> None:
    file = tmp_path / "case.toml"
    file.write_text(GOOD.replace(*change, 1))
    with pytest.raises(cwnd.Error) as refused:
        read_case(file)
    line = str(refused.value)
    assert line.startswith(f"{tmp_path.name}/case.toml: {REFUSED[change]}") and "\n" not in line


def test_steps_are_taken_one_after_the_other_until_one_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "case.toml"
    file.write_text(GOOD + "[[hooks.steps]]\nrounds = 1\nexpect = { cwnd = [41, 41] }\n")
    hooks = read_case(file).hooks
    assert hooks is not None
    reno = cwnd.dumbbell("reno", rate="1 Mbps", delay="1 ms", buffer=9)._inner
    assert run_hooks(reno, hooks).found == "step 2: cwnd 40, not 41"
