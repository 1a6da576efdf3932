"""Comparisons of runs: pairs, families, queries used, and what could turn a difference."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.analysis.significance import TESTS, ComparisonSettings, choose_samples, lowest_p
from cranfield.errors import CranfieldError
from cranfield.evaluation.plan import Column
from cranfield.evaluation.scores import Scores
from cranfield.results import plain
from cranfield.testing.engine_contract import alike


def scores(x: np.ndarray, measures: tuple[str, ...] = ("AP",), **more: object) -> Scores:
    """Scores with these values, (run, query) or (run, measure, query)."""
    values = x if x.ndim == 3 else x[:, None]
    runs, queries = tuple(f"r{i}" for i in range(len(x))), tuple(f"q{i}" for i in range(values.shape[2]))
    counted = np.ones((len(runs), len(queries)), bool)
    columns = tuple(Column(cf.parse(measure), label=measure) for measure in measures)
    return replace(Scores(runs, columns, queries, values, counted), **more)


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(2).random((5, 9)).round(2)


def test_every_pair_is_what_two_runs_alone_are(x: np.ndarray) -> None:
    whole = cf.compare(scores(x), tests=("t", "wilcoxon", "bootstrap"), correction="none")
    assert [(one.run, one.other) for one in whole.contests] == [
        (f"r{a}", f"r{b}") for a in range(5) for b in range(a + 1, 5)
    ]
    for one in whole.contests:
        a, b = int(one.run[1]), int(one.other[1])
        alone = cf.compare(scores(x[[a, b]]), tests=("t", "wilcoxon", "bootstrap"), correction="none").contests[0]
        assert one.p == pytest.approx(alone.p)
        assert (one.difference, one.low, one.high) == pytest.approx((alone.difference, alone.low, alone.high))
        assert one.difference == pytest.approx(x[a].mean() - x[b].mean())
        assert one.p["t"] == pytest.approx(stats.ttest_rel(x[a], x[b]).pvalue)
        assert one.wins + one.ties + one.losses == 9
        assert one.wins == (x[a] > x[b]).sum()
        turned = cf.compare(scores(x[[b, a]]), tests=("t", "wilcoxon", "bootstrap"), correction="none").contests[0]
        for name in set(one._fields) - {"run", "other", "p", "variance"}:
            assert getattr(one.turned, name) == pytest.approx(getattr(turned, name)), name
        assert (one.turned.run, one.turned.other) == (one.other, one.run) and one.turned.turned == one


def test_randomisation_tries_every_sign_where_it_can(x: np.ndarray) -> None:
    found = cf.compare(scores(x), correction="none")
    for one in found.contests:
        d = x[int(one.run[1])] - x[int(one.other[1])]
        reached = [abs(np.dot(signs, d)) >= abs(d.sum()) - 1e-12 for signs in product((1, -1), repeat=9)]
        assert one.p["randomisation"] == pytest.approx(np.mean(reached))


def test_the_best_run_as_the_baseline() -> None:
    x = np.array([[0.1, 0.2, 0.3], [0.4, 0.9, 0.5], [0.2, 0.1, 0.9]])
    given = scores(x)
    best, named = (cf.compare(given, baseline=name).to_dict() for name in ("best", "r1"))
    assert [note for note in best.pop("notes") if "selected by the scores" not in note] == named.pop("notes")
    assert best == named
    named = replace(given, runs=("best", *given.runs[1:]))
    assert cf.compare(named, baseline="best").baseline == "best"


@pytest.mark.parametrize("test", TESTS)
def test_a_baseline_turns_pairs_and_keeps_their_tests(x: np.ndarray, test: str) -> None:
    every = {(c.run, c.other): c for c in cf.compare(scores(x), test=test, correction="none").contests}
    against = cf.compare(scores(x), baseline="r2", test=test, correction="none").contests
    assert [(c.run, c.other) for c in against] == [("r0", "r2"), ("r1", "r2"), ("r3", "r2"), ("r4", "r2")]
    for one in against:
        turn = 1 if (one.run, one.other) in every else -1
        same = every.get((one.run, one.other)) or every[one.other, one.run]
        assert one.p[test] == pytest.approx(same.p[test])
        assert one.difference == pytest.approx(turn * same.difference)
        assert (one.wins, one.losses) == ((same.wins, same.losses) if turn > 0 else (same.losses, same.wins))


def test_the_family_is_named_and_corrected_over() -> None:
    x = np.random.default_rng(0).random((3, 2, 12))
    both = ("AP", "RR")
    each = cf.compare(scores(x, both), test="t")
    joint = cf.compare(scores(x, both), test="t", family="all")
    assert each.family == "3 pairs per measure"
    assert joint.family == "3 pairs in all 2 measures"
    lowest = joint.p["t"].min()
    assert joint.corrected.min() == pytest.approx(min(6 * lowest, 1))
    assert cf.compare(scores(x, both), baseline="r0").family == "2 runs against r0 per measure"
    tukey = cf.compare(scores(x, both), test="tukey")
    assert tukey.correction == "none"
    assert (tukey.corrected == tukey.p["tukey"]).all()


def test_only_queries_that_all_have_count() -> None:
    x = np.random.default_rng(1).random((3, 6))
    x[1, 2] = np.nan
    one = scores(x)
    one.counted[2, 5] = False
    found = cf.compare(one)
    assert found.queries == (("q0", "q1", "q3", "q4"),)
    assert str(found.notes[0]).startswith("compared on 4 queries (q0, q1, q3, q4); 2 queries (q2, q5) left out")
    assert found.contests[0].difference == pytest.approx((x[0] - x[1])[[0, 1, 3, 4]].mean())
    filled = cf.compare(replace(one, undefined="zero"))
    assert len(filled.queries[0]) == 5


def test_the_number_of_samples_fits_the_number_of_pairs() -> None:
    settings = ComparisonSettings(test="randomisation")
    assert choose_samples(settings, 50, 1).samples == 100_000
    many = choose_samples(settings, 50, 7875)
    assert many.samples == 200_000
    few = replace(many, samples=100_000)
    assert lowest_p(many, 50) < settings.alpha <= lowest_p(few, 50)
    # The number that the user chose stays, and so does the default for tests that need no more.
    assert choose_samples(replace(settings, samples=99), 50, 7875).samples == 99
    assert choose_samples(ComparisonSettings(test="randomised-tukey"), 50, 7875).samples == 100_000
    assert choose_samples(replace(settings, correction="bh"), 50, 7875).samples == 100_000
    assert choose_samples(settings, 10**6, 7875).samples == 100_000


@pytest.mark.parametrize(
    ("test", "queries", "lowest"),
    [("randomisation", 5, 1 / 16), ("wilcoxon", 5, 1 / 16), ("t", 2, 0), ("bootstrap", 5, 1 / 100_001)],
)
def test_the_lowest_p_value_of_a_test(test: Any, queries: int, lowest: float) -> None:
    assert lowest_p(ComparisonSettings(test=test), queries) == lowest
    x = np.zeros((2, queries))
    x[0] = np.linspace(0.5, 0.6, queries)
    assert cf.compare(scores(x), test=test).contests[0].corrected >= lowest


def test_nothing_significant_for_want_of_samples_is_said() -> None:
    x = np.random.default_rng(1).random((8, 30))
    note = str(cf.compare(scores(x), samples=99).notes[-1])
    assert note.startswith("no difference can be significant") and "randomisation test is 0.28" in note
    assert len(cf.compare(scores(x), samples=99, test="t").notes) == 1


QRELS = {f"q{i}": {"a": 1, "b": 0} for i in range(8)}
GOOD = {q: {"a": 2.0, "b": 1.0} for q in QRELS}
BAD = {q: {"b": 2.0, "a": 1.0} for q in QRELS}
LUCKY = {q: {"a": 1.0, "b": 1.0} for q in QRELS}  # a tie, which the higher id wins


def test_what_ties_could_turn_is_said() -> None:
    runs, names = [GOOD, BAD, LUCKY], ["good", "bad", "lucky"]
    measured = cf.evaluate(QRELS, runs, "RR", names=names)
    found = cf.compare(measured, audit=cf.audit(QRELS, runs, "RR", names=names))
    told = {(c.run, c.other): (c.significant, c.doubts) for c in found.contests}
    assert told["good", "bad"] == (True, ())
    assert told["good", "lucky"] == (True, ())  # equal at best, never turned
    qrels = {q: {"a": 1, "b": 0, "c": 0} for q in QRELS}
    high = {q: {"a": 1.0, "c": 1.0} for q in QRELS}
    middle = {q: {"b": 2.0, "a": 1.0} for q in QRELS}
    third = {q: {"c": 3.0, "b": 2.0, "a": 2.0} for q in QRELS}
    runs, names = [high, middle, third], ["high", "middle", "third"]
    found = cf.compare(cf.evaluate(qrels, runs, "RR", names=names), audit=cf.audit(qrels, runs, "RR", names=names))
    assert {(c.run, c.other): c.doubts for c in found.contests}["middle", "third"] == ()
    unjudged = {q: {"x": 3.0, "a": 2.0} for q in QRELS}
    runs, names = [GOOD, unjudged], ["good", "unjudged"]
    found = cf.compare(cf.evaluate(QRELS, runs, "P@1", names=names), audit=cf.audit(QRELS, runs, "P@1", names=names))
    assert found.contests[0].doubts == ()  # at best equal
    runs = [{q: {"b": 3.0, "a": 2.0} for q in QRELS}, {q: {"x": 3.0, "b": 2.0, "a": 1.0} for q in QRELS}]
    found = cf.compare(
        cf.evaluate(QRELS, runs, "RR", names=["a", "b"]), audit=cf.audit(QRELS, runs, "RR", names=["a", "b"])
    )
    assert (found.contests[0].significant, found.contests[0].doubts) == (True, ("unjudged",))


def test_equal_runs_are_equal_by_every_test() -> None:
    one = cf.compare(scores(np.full((2, 5), 0.5)), tests=TESTS).contests[0]
    assert set(one.p.values()) == {1.0}
    assert (one.difference, one.low, one.high, one.effect) == (0, 0, 0, 0)
    assert plain(one)["effect_low"] is None


def test_plain_data_are_json(x: np.ndarray) -> None:
    found = cf.compare(scores(x), tests=TESTS)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(plain["pairs"]) == 10
    assert plain["pairs"][0]["p"].keys() == set(TESTS)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"test": "luck"}, "test must be one of "),
        ({"correction": "luck"}, "correction must be one of holm, bonferroni, bh, none"),
        ({"baseline": "luck"}, "the baseline `luck`"),
        ({"alpha": 1.5}, "alpha must be "),
        ({"samples": 0}, "samples must be "),
        ({"test": "tukey", "family": "all"}, "tukey "),
    ],
)
def test_bad_choices_are_refused(x: np.ndarray, how: dict[str, object], message: str) -> None:
    with pytest.raises(CranfieldError) as error:
        cf.compare(scores(x), **how)
    assert error.value.message.startswith(message)


def test_too_little_to_compare_is_refused(x: np.ndarray) -> None:
    with pytest.raises(CranfieldError, match="at least two runs"):
        cf.compare(scores(x[:1]))
    with pytest.raises(CranfieldError, match="1 of 1 queries have a value in every run"):
        cf.compare(scores(x[:, :1]))
    with pytest.raises(CranfieldError, match="geometric mean"):
        cf.compare(scores(x, ("GMAP",)))


def test_resampling_never_says_never(x: np.ndarray) -> None:
    """A p-value of 0 from one draw would be significant."""
    far = np.stack([x[0], x[0] + 10 + x[1]])
    for test in ("randomisation", "bootstrap", "randomised-tukey"):
        found = cf.compare(scores(far), test=test, samples=1)
        assert found.p[test].min() >= 0.5
        assert f"p-value of the {test} test is 0.5" in str(found.notes[-1])


def test_measures_with_enough_queries_can_be_significant() -> None:
    values = np.random.default_rng(3).random((2, 2, 12))
    values[:, 0, 3:] = np.nan
    found = cf.compare(scores(values, ("AP", "RR")))
    assert tuple(map(str, found.notes)) == (
        "AP: compared on 3 queries (q0, q1, q2); 9 queries (q10, q11, q3, q4, q5, ...) left out because some run has no "
        "value there",
        "RR: compared on 12 queries (q0, q1, q10, q11, q2, ...)",
        "AP: no difference can be significant: the lowest possible corrected p-value of the randomisation test is 0.25; "
        "use more queries",
    )
    assert found.lowest_p.tolist() == [1 / 4, 1 / 2**11]


def test_queries_are_those_used_not_their_number() -> None:
    values = np.random.default_rng(3).random((2, 2, 6))
    values[0, 0, 0] = values[0, 1, 5] = np.nan
    assert [str(note).partition(";")[0] for note in cf.compare(scores(values, ("AP", "RR")), test="t").notes] == [
        "AP: compared on 5 queries (q1, q2, q3, q4, q5)",
        "RR: compared on 5 queries (q0, q1, q2, q3, q4)",
    ]


def test_the_order_of_queries_means_nothing() -> None:
    """What is drawn is drawn for a query, and not for its place in a file."""
    values = np.random.default_rng(4).random((4, 1, 25))
    plain = scores(values)
    order = np.random.default_rng(5).permutation(25)
    turned = replace(plain, queries=tuple(plain.queries[q] for q in order), values=values[:, :, order])
    found, again = (cf.compare(one, tests=TESTS, samples=500, seed=3).to_dict() for one in (plain, turned))
    assert found == again


def test_more_queries_than_a_float_has_powers_of_two() -> None:
    values = np.random.default_rng(6).random((2, 1, 1100))
    found = cf.compare(scores(values), samples=50)
    assert str(found.notes[0]).startswith("compared on 1,100 queries")


def test_pieces_make_no_difference(x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few pairs, draws and signs are held at a time."""
    whole = cf.compare(scores(np.tile(x, 3)), tests=TESTS, samples=300).to_dict()
    for place in ("analysis.significance.CELLS", "statistics.intervals.DRAWN", "statistics.resampling.MAX_FLOATS"):
        monkeypatch.setattr(f"cranfield.{place}", 30)
    alike(cf.compare(scores(np.tile(x, 3)), tests=TESTS, samples=300).to_dict(), whole)
