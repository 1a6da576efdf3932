"""Gates: which limits pass, fail or are not decided, by which numbers, and which queries lost."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import cranfield as cf
from cranfield.analysis.gates import Check, Gate, Verdict, lost_queries, verdict
from cranfield.errors import UsageError
from cranfield.report import gates as report


def scores_of(values: dict[str, list[float]], measure: str = "m", *, lower: bool = False) -> cf.Scores:
    table = {run: {measure: {f"q{q}": value for q, value in enumerate(row)}} for run, row in values.items()}
    return cf.read_scores(table, lower=measure if lower else ())


def checked(values: dict[str, list[float]], gate: Gate, *, lower: bool = False, **how: Any) -> Verdict:
    """The verdict of one gate on runs, of which the first is the baseline."""
    scores = scores_of(values, lower=lower)
    comparison = cf.compare(scores, baseline=scores.runs[0], **how)
    return verdict({"m": gate}, scores, comparison, scores)


GOOD = [0.9, 0.8, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8]
BAD = [value - 0.1 - q / 100 for q, value in enumerate(GOOD)]
MIXED = [value + (0.1 if q % 2 else -0.11) for q, value in enumerate(GOOD)]
LOSS = float(np.mean(GOOD) - np.mean(BAD))  # 0.135


@pytest.mark.parametrize(
    ("gate", "run", "outcome"),
    [
        (Gate(at_least=0.7), BAD, "passed"),
        (Gate(at_least=0.8), BAD, "failed"),
        (Gate(at_least=float(np.mean(BAD))), BAD, "passed"),  # a limit that is met is no failure
        (Gate(no_significant_loss=True), GOOD, "passed"),
        (Gate(no_significant_loss=True), BAD, "failed"),
        (Gate(no_significant_loss=True), MIXED, "passed"),
        (Gate(no_significant_loss=True, margin=0.1), BAD, "failed"),
        (Gate(no_significant_loss=True, margin=LOSS), BAD, "passed"),
        (Gate(may_drop=0.0), GOOD, "passed"),
        (Gate(may_drop=0.0), BAD, "failed"),
        (Gate(may_drop=0.0), MIXED, "failed"),  # significant or not
        (Gate(may_drop=0.1), BAD, "failed"),
        (Gate(may_drop=LOSS), BAD, "passed"),
        (Gate(may_drop=0.14), BAD, "passed"),
        (Gate(not_worse_by=0.2), BAD, "undecided"),  # fewer than ten queries, and no largest loss
        (Gate(not_worse_by=0.13), BAD, "undecided"),
        (Gate(not_worse_by=0.1), BAD, "failed"),
    ],
)
@pytest.mark.parametrize("lower", [False, True])
def test_outcomes(gate: Gate, run: list[float], outcome: str, *, lower: bool) -> None:
    """Where less is better, everything is the other way round."""
    values = {"base": GOOD, "new": run}
    if lower:
        gate = gate if gate.at_least is None else Gate(at_most=1 - gate.at_least)
        values = {name: [1 - value for value in row] for name, row in values.items()}
    found = checked(values, gate, lower=lower)
    (check,) = [one for one in found.checks if one.run == "new"]
    assert check.outcome == outcome == verdict_of(check, found)
    assert check.mean == pytest.approx(np.mean(values["new"]))
    if check.pair is not None:
        assert (check.pair.run, check.pair.other) == ("new", "base")
        assert check.pair.difference == pytest.approx(np.mean(values["new"]) - np.mean(values["base"]))


def verdict_of(check: Check, found: Verdict) -> str:
    return Verdict((check,), found.comparison).outcome


def test_every_rule_of_a_gate_is_a_check() -> None:
    gate = Gate(at_least=0.5, not_worse_by=0.2, no_significant_loss=True, may_drop=0.01)
    found = checked({"base": GOOD, "new": BAD, "mixed": MIXED}, gate)
    rules = [(check.run, check.rule, check.outcome) for check in found.checks]
    against = ("not_worse_by", "no_significant_loss", "may_drop")
    assert [(run, rule) for run, rule, _ in rules] == [
        *((run, "at_least") for run in ("base", "new", "mixed")),
        *((run, rule) for run in ("new", "mixed") for rule in against),
    ]
    assert dict(zip(against, [outcome for run, _, outcome in rules if run == "new"][1:], strict=True)) == {
        "not_worse_by": "undecided",
        "no_significant_loss": "failed",
        "may_drop": "failed",
    }


@pytest.mark.parametrize("runs", ["new", ("new",), ("new", "base")])
def test_a_gate_for_some_runs(runs: Any) -> None:
    found = checked({"base": GOOD, "new": BAD, "mixed": MIXED}, Gate(at_least=0.5, may_drop=0.5, runs=runs))
    expected = {"new", "base"} if "base" in runs else {"new"}
    assert {check.run for check in found.checks} == expected


@pytest.mark.parametrize(
    ("outcomes", "whole"),
    [
        ((), "passed"),
        (("passed",), "passed"),
        (("passed", "undecided"), "undecided"),
        (("undecided", "failed", "passed"), "failed"),
        (("failed", "undecided"), "failed"),
    ],
)
def test_a_failure_decides_then_what_is_undecided(outcomes: Any, whole: str) -> None:
    found = Verdict(tuple(Check("r", "m", "at_least", 0.5, outcome, 0.5) for outcome in outcomes))
    assert found.outcome == whole
    assert sum(len(found.of(outcome)) for outcome in ("passed", "failed", "undecided")) == len(outcomes)


def test_too_few_queries_are_undecided_and_not_passed() -> None:
    few = {"base": GOOD[:4], "new": BAD[:4]}
    (check,) = checked(few, Gate(no_significant_loss=True)).checks
    assert check.outcome == "undecided"
    assert checked(few, Gate(no_significant_loss=True), test="t").outcome == "failed"
    assert checked(few, Gate(may_drop=0.05)).outcome == "failed"  # which needs no test


def test_a_note_that_nothing_can_be_significant_says_that_a_gate_can_decide() -> None:
    """Five queries have 1/16 on both sides, and 1/32 on one."""
    values = {"base": GOOD[:5], "new": BAD[:5]}
    found = checked(values, Gate(no_significant_loss=True))
    assert found.outcome == "failed"
    assert found.comparison is not None
    assert "is 0.062, or 0.031 for a gate, which tests one side" in str(found.comparison.notes[-1])
    assert "gate" not in str(cf.compare(scores_of(values)).notes[-1])
    few = checked({"base": GOOD[:4], "new": BAD[:4]}, Gate(no_significant_loss=True))
    assert few.comparison is not None
    assert (few.outcome, "gate" in str(few.comparison.notes[-1])) == ("undecided", False)


def test_an_undefined_mean_is_undecided() -> None:
    scores = cf.evaluate({"q": {"a": 0}}, {"run": {"q": {"a": 1.0}}}, "AP")
    (check,) = verdict({"AP": Gate(at_least=0.1)}, scores).checks
    assert check.outcome == "undecided" and math.isnan(check.mean)


@pytest.mark.parametrize("lower", [False, True])
def test_lost_queries_begin_with_the_largest_loss(*, lower: bool) -> None:
    sign = -1 if lower else 1
    values = {"base": [0.5 * sign] * 5, "new": [value * sign for value in (0.4, 0.6, 0.1, 0.5, 0.4)]}
    scores = scores_of(values, lower=lower)
    assert lost_queries(scores, "m", "new", "base") == ("q2", "q0", "q4")  # equal losses in the order of queries
    assert lost_queries(scores, "m", "base", "new") == ("q1",)
    for check in checked(values, Gate(may_drop=0.0), lower=lower).checks:
        assert check.lost == ("q2", "q0", "q4")
    assert verdict({"m": Gate(may_drop=0.0)}, scores, cf.compare(scores, baseline="base")).checks[0].lost == ()


def test_only_queries_that_both_have_are_lost() -> None:
    values = {"base": {"m": {"q0": 0.9, "q1": 0.9, "q2": 0.9}}, "new": {"m": {"q0": 0.1, "q2": 0.2}}}
    assert lost_queries(cf.read_scores(values), "m", "new", "base") == ("q0", "q2")


def test_a_gate_that_compares_needs_two_runs() -> None:
    scores = scores_of({"alone": GOOD})
    for gate in (Gate(may_drop=0.1), Gate(no_significant_loss=True), Gate(not_worse_by=0.1)):
        assert gate.comparing
        with pytest.raises(UsageError, match="only one run"):
            verdict({"m": gate}, scores)
    assert verdict({"m": Gate(at_least=0.5)}, scores).outcome == "passed"
    assert not Gate(at_least=0.5).comparing


def test_sentences_have_the_numbers_and_failures_come_first() -> None:
    gate = Gate(no_significant_loss=True, may_drop=0.2, not_worse_by=0.13, at_least=0.1)
    found = checked({"base": GOOD, "new": BAD}, gate)
    assert report.headline(found) == "5 checks: 1 failed, 1 undecided, 3 passed"
    failed, undecided, *passed = report.markdown(found).splitlines()[2:7]
    assert failed.startswith(
        "- ❌ new is worse than base: m 0.7150 vs 0.8500 (difference -0.1350; one-sided p = 0.0039; "
    )
    assert undecided.startswith(
        "- ⚠️ cannot decide whether new is worse than base by more than 0.13: m 0.7150 vs 0.8500"
    )
    assert [line[:3] for line in passed] == ["- ✅"] * 3
    assert (
        "new: an allowed loss against base: m 0.7150 vs 0.8500 (difference -0.1350, tolerance 0.2; 8 queries, significance ignored)"
        in passed[2]
    )
    assert report.sentences(found, "failed") == [failed.removeprefix("- ❌ ")]
    assert [one["lost"] for one in report.to_dict(found)] == [[], []] + [[f"q{q}" for q in range(7, -1, -1)]] * 3
    suite = ElementTree.fromstring(report.junit_xml(found))
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["5", "1", "1"]
    assert {case.get("classname") for case in suite} == {"base", "new"}


def false_answers(limits: Gate, measure: str = "FalseAnswer") -> Verdict:
    qrels: dict[str, Any] = {"a": {}, "b": {}, "c": {"d": 1}}
    run = {"a": {"d": 1.0}, "c": {"d": 1.0}}
    return verdict({measure: limits}, cf.evaluate(qrels, run, measure))


def test_an_upper_limit_of_what_should_be_low() -> None:
    failed, passed = (false_answers(Gate(at_most=limit)) for limit in (0.4, 0.5))
    assert failed.outcome == "failed"
    assert report.sentences(failed) == ["run: FalseAnswer 0.5000 is above 0.4"]
    assert report.sentences(passed) == ["run: FalseAnswer 0.5000 is not above 0.5"]
    assert report.title(failed.checks[0]) == "FalseAnswer of at most 0.4"


@pytest.mark.parametrize(
    ("gate", "measure", "message"),
    [
        (Gate(at_least=0.4), "FalseAnswer", "lower values of FalseAnswer are better, and at_least limits the wrong"),
        (Gate(at_most=0.4), "AP", "higher values of AP are better, and at_most limits the wrong side"),
        (Gate(at_most=1.5), "FalseAnswer", "the limit 1.5 is outside the bounds of FalseAnswer"),
    ],
)
def test_a_limit_on_the_wrong_side_is_an_error(gate: Gate, measure: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        false_answers(gate, measure)


def test_what_is_neither_better_nor_worse_has_limits_on_both_sides() -> None:
    assert false_answers(Gate(at_least=0.5, at_most=0.7), "Answered").outcome == "passed"
    assert false_answers(Gate(at_least=0.7, at_most=0.8), "Answered").outcome == "failed"
    scores = cf.evaluate({"p": {"a": 1}, "q": {"a": 1}}, {"x": {"q": {"a": 1.0}}, "y": {"p": {"a": 1.0}}}, "Answered")
    with pytest.raises(UsageError, match="neither higher nor lower values of Answered are better"):
        verdict({"Answered": Gate(may_drop=0.1)}, scores, cf.compare(scores, baseline="x", test="t"), scores)


def attributed(values: dict[str, list[float]], kinds: str = "aabbaabb", *, lower: bool = False) -> cf.Scores:
    """Scores whose queries have a kind, and a text."""
    table = {run: {"m": {f"q{q}": value for q, value in enumerate(row)}} for run, row in values.items()}
    about = {f"q{q}": {"kind": kind, "text": f"text {q}"} for q, kind in enumerate(kinds)}
    return cf.read_scores(table, queries=about, lower="m" if lower else ())


def selected(gate: Gate | list[Gate], values: dict[str, list[float]], **how: Any) -> Verdict:
    scores = attributed(values, **how)
    return verdict({"m": gate}, scores, cf.compare(scores, baseline="base"), scores)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(
    ("gate", "outcomes"),
    [
        (Gate(at_least=0.6, where={"kind": "a"}, runs="new"), ["passed"]),
        (Gate(at_least=0.6, where={"kind": "b"}, runs="new"), ["failed"]),
        (Gate(may_drop=0.0, where={"kind": "a"}), ["passed"]),
        (Gate(may_drop=0.0, where={"kind": "b"}), ["failed"]),
        (Gate(may_drop=0.0, where={"kind": "b"}, queries=("q2", "q3", "q0")), ["failed"]),
        (Gate(queries=("q0", "q1")), ["passed"]),
        (Gate(queries=("q0", "q2")), ["failed"]),
        (Gate(queries="q3"), ["failed"]),
        (Gate(queries=("q3", "q1"), may_drop=0.5), ["passed"]),
        (Gate(no_significant_loss=True, where={"kind": "b"}), ["undecided"]),  # four queries
    ],
)
def test_a_gate_on_some_queries(gate: Gate, outcomes: list[str], *, lower: bool) -> None:
    base, new = [0.8] * 8, [0.8, 0.8, 0.5, 0.5, 0.8, 0.8, 0.5, 0.5]
    if lower:
        base, new = ([1 - value for value in row] for row in (base, new))
        if gate.at_least is not None:
            gate = Gate(at_most=1 - gate.at_least, where=gate.where, runs=gate.runs)
    found = selected(gate, {"base": base, "new": new}, lower=lower)
    assert [check.outcome for check in found.checks] == outcomes
    assert report.sentence(found.checks[0]).startswith(gate.scope)
    for check in found.of("failed"):
        assert not check.pair or set(check.lost) <= {"q2", "q3", "q6", "q7"}


def test_several_gates_of_one_measure_and_the_queries_that_lost() -> None:
    gates = [Gate(at_least=0.1), Gate(where={"kind": "b"}, may_drop=0.1)]
    found = selected(gates, {"base": [0.8] * 8, "new": [0.8, 0.8, 0.5, 0.4, 0.8, 0.8, 0.3, 0.2]})
    assert [check.outcome for check in found.checks] == ["passed", "passed", "failed"]
    assert report.lost_lines(found.checks[2], 2) == [
        "  q7  0.8000 → 0.2000  text 7",
        "  q6  0.8000 → 0.3000  text 6",
        "  ... and 2 more queries",
    ]
    assert report.lost_lines(found.checks[0]) == []


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        (Gate(no_significant_loss=True, runs="base"), "base is the baseline"),
        (Gate(may_drop=0.1, runs=("base",)), "may_drop of m checks nothing"),
        (Gate(at_least=0.1, not_worse_by=0.1, runs="base"), "not_worse_by of m checks nothing"),
        (Gate(at_least=0.1, runs="nobody"), "there is no such run"),
        (Gate(at_least=0.1, where={"kind": "c"}), "no query has kind = `c`"),
        (Gate(at_least=0.1, where={"sort": "a"}), "no query has sort = `a`"),
        (Gate(at_least=0.1, collection="c"), "no query has collection = `c`"),
        (Gate(queries="q9"), "`q9` is not one of the queries"),
        (Gate(queries="q0", where={"kind": "b"}), "no query is selected"),
    ],
)
def test_a_gate_that_checks_nothing_is_an_error(gate: Gate, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        selected(gate, {"base": GOOD, "new": BAD})


def test_a_query_without_a_value_did_not_pass() -> None:
    """Queries that must not lose are undecided if one of them cannot be compared."""
    qrels = {"q0": {"a": 1}, "q1": {"b": 0}, "q2": {"a": 1}, "q3": {"a": 1}}
    runs = {name: {q: ["a", "b"] for q in qrels} for name in ("old", "new")}
    scores = cf.evaluate(qrels, runs, "AP")
    comparison = cf.compare(scores, baseline="old")

    def outcome(*names: str) -> str:
        return verdict({"AP": Gate(queries=names)}, scores, comparison, scores).outcome

    assert outcome("q0", "q2") == "passed"
    assert outcome("q1") == outcome("q0", "q1") == "undecided"
