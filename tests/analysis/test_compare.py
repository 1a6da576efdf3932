"""Comparisons of runs: pairs, families, intervals, queries used, and what could reverse a difference."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.analysis.compare import Comparison, compare_scores
from cranfield.analysis.significance import (
    SIGNIFICANCE_TESTS,
    TESTS,
    ComparisonSettings,
    choose_samples,
    lowest_p,
)
from cranfield.codec import plain
from cranfield.errors import CranfieldError, UnknownName
from cranfield.evaluation.plan import Column
from cranfield.evaluation.scores import Scores
from cranfield.statistics import resampling
from cranfield.statistics.resampling import CORRECTIONS
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
    how: dict[str, Any] = {"tests": ("t", "wilcoxon", "bootstrap"), "correction": "none"}
    whole = cf.compare(scores(x), **how)
    pairs = whole["AP"].pairs
    assert whole.pairs == pairs
    # The later run minus the earlier.
    assert [(one.run, one.other) for one in pairs] == [(f"r{b}", f"r{a}") for a in range(5) for b in range(a + 1, 5)]
    for one in pairs:
        a, b = int(one.run[1]), int(one.other[1])
        (alone,) = cf.compare(scores(x[[b, a]]), **how)["AP"].pairs
        assert one.tests == pytest.approx(alone.tests)
        assert one.p == one.tests["randomisation"]
        for name in set(one._fields) - {"run", "other", "tests", "doubts"}:
            assert getattr(one, name) == pytest.approx(getattr(alone, name)), name
        assert one.difference == pytest.approx(x[a].mean() - x[b].mean())
        assert (one.mean, one.other_mean) == pytest.approx((x[a].mean(), x[b].mean()))
        assert one.tests["t"] == pytest.approx(stats.ttest_rel(x[a], x[b]).pvalue)
        assert one.wins + one.ties + one.losses == one.queries == 9
        assert one.wins == (x[a] > x[b]).sum()


SIGNED = {"difference", "effect", "estimate", "direction", "skewness"}
ENDS = {"low": "high", "t_low": "t_high", "bca_low": "bca_high", "effect_low": "effect_high"}
PLACES = {"run": "other", "mean": "other_mean", "wins": "losses", "raised": "lowered"}
TURNED = {a: b for pairs in (ENDS, PLACES) for a, b in (*pairs.items(), *((b, a) for a, b in pairs.items()))}


@pytest.mark.parametrize("test", TESTS)
def test_the_sign_is_that_of_run_minus_other(x: np.ndarray, test: Any) -> None:
    """Runs in the other order have the same numbers with the other sign."""
    pairs = cf.compare(scores(x), test=test)["AP"].pairs
    turned = scores(x[::-1], runs=tuple(f"r{i}" for i in range(4, -1, -1)))
    again = {(one.run, one.other): one for one in cf.compare(turned, test=test)["AP"].pairs}
    for one in pairs:
        other = again[one.other, one.run]
        for name in set(one._fields) - {"tests"}:
            expected = getattr(other, TURNED.get(name, name))
            if name in SIGNED or name in ENDS or name in ENDS.values():
                expected = -expected
            if isinstance(expected, float):
                # A randomised Tukey test permutes the runs of a query, so that other permutations are drawn.
                expected = pytest.approx(expected, nan_ok=True, abs=0.02 if test == "randomised-tukey" else 1e-12)
            assert getattr(one, name) == expected, name


@pytest.mark.parametrize("name", ["nDCG@10", "ndcg_cut_10", "NDCG@10"])
def test_a_measure_is_found_by_any_of_its_names(x: np.ndarray, name: str) -> None:
    found = cf.compare(scores(np.stack([x, x], axis=1), ("AP", "nDCG@10")))
    assert found[name] is found.by_measure[1]
    assert found.measures == ("AP", "nDCG@10") and found.runs == ("r0", "r1", "r2", "r3", "r4")
    for unknown in ("nDCG@5", "luck"):
        with pytest.raises(UnknownName, match="they are AP, nDCG@10"):
            found[unknown]


def test_randomisation_tries_every_sign_where_it_can(x: np.ndarray) -> None:
    found = cf.compare(scores(x), correction="none")
    for one in found["AP"].pairs:
        d = x[int(one.run[1])] - x[int(one.other[1])]
        reached = [abs(np.dot(signs, d)) >= abs(d.sum()) - 1e-12 for signs in product((1, -1), repeat=9)]
        assert one.p == pytest.approx(np.mean(reached))


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
    every = {(c.run, c.other): c for c in cf.compare(scores(x), test=test, correction="none")["AP"].pairs}
    against = cf.compare(scores(x), baseline="r2", test=test, correction="none")["AP"].pairs
    assert [(c.run, c.other) for c in against] == [("r0", "r2"), ("r1", "r2"), ("r3", "r2"), ("r4", "r2")]
    for one in against:
        turn = 1 if (one.run, one.other) in every else -1
        same = every.get((one.run, one.other)) or every[one.other, one.run]
        assert one.p == pytest.approx(same.p)
        assert one.difference == pytest.approx(turn * same.difference)
        assert (one.wins, one.losses) == ((same.wins, same.losses) if turn > 0 else (same.losses, same.wins))


def test_the_family_is_named_and_corrected_over() -> None:
    x = np.random.default_rng(0).random((3, 2, 12))
    both = ("AP", "RR")
    each = cf.compare(scores(x, both), test="t")
    joint = cf.compare(scores(x, both), test="t", family="all")
    assert each.family == "3 pairs per measure"
    assert joint.family == "3 pairs in all 2 measures"
    lowest = min(pair.p for pair in joint.pairs)
    assert min(pair.corrected for pair in joint.pairs) == pytest.approx(min(6 * lowest, 1))
    assert cf.compare(scores(x, both), baseline="r0").family == "2 runs against r0 per measure"
    tukey = cf.compare(scores(x, both), test="tukey")
    assert tukey.settings.correction == "none"
    assert all(pair.corrected == pair.p for pair in tukey.pairs)


def test_only_queries_that_all_have_count() -> None:
    x = np.random.default_rng(1).random((3, 6))
    x[1, 2] = np.nan
    one = scores(x)
    one.counted[2, 5] = False
    found = cf.compare(one)
    assert found["AP"].queries == ("q0", "q1", "q3", "q4")
    assert str(found.notes[0]).startswith("compared on 4 queries (q0, q1, q3, q4); 2 queries (q2, q5) left out")
    assert found["AP"].pairs[0].difference == pytest.approx((x[1] - x[0])[[0, 1, 3, 4]].mean())
    filled = cf.compare(replace(one, undefined="zero"))
    assert len(filled["AP"].queries) == 5


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
    assert cf.compare(scores(x), test=test).pairs[0].corrected >= lowest


def test_nothing_significant_for_want_of_samples_is_said() -> None:
    x = np.random.default_rng(1).random((8, 30))
    note = str(cf.compare(scores(x), samples=99).notes[-1])
    assert note.startswith("no difference can be significant") and "randomisation test is 0.28" in note
    assert len(cf.compare(scores(x), samples=99, test="t").notes) == 1


QRELS = {f"q{i}": {"a": 1, "b": 0} for i in range(8)}
GOOD = {q: {"a": 2.0, "b": 1.0} for q in QRELS}
BAD = {q: {"b": 2.0, "a": 1.0} for q in QRELS}
LUCKY = {q: {"a": 1.0, "b": 1.0} for q in QRELS}  # a tie, which the higher id wins


def reversed_by(qrels: Any, runs: dict[str, Any], measure: str, **how: Any) -> dict[tuple[str, str], Any]:
    """Whether each difference is significant, and what could reverse it."""
    pairs = cf.compare(qrels, runs, measure, **how)[measure].pairs
    return {(pair.run, pair.other): (pair.significant, pair.doubts) for pair in pairs}


def test_what_ties_could_reverse_is_said() -> None:
    told = reversed_by(QRELS, {"good": GOOD, "bad": BAD, "lucky": LUCKY}, "RR")
    assert told["bad", "good"] == (True, ())
    assert told["lucky", "good"] == (True, ())  # equal at best, never reversed
    qrels = {q: {"a": 1, "b": 0, "c": 0} for q in QRELS}
    high = {q: {"a": 1.0, "c": 1.0} for q in QRELS}
    middle = {q: {"b": 2.0, "a": 1.0} for q in QRELS}
    third = {q: {"c": 3.0, "b": 2.0, "a": 2.0} for q in QRELS}
    told = reversed_by(qrels, {"high": high, "middle": middle, "third": third}, "RR")
    assert told["third", "middle"][1] == ()
    unjudged = {q: {"x": 3.0, "a": 2.0} for q in QRELS}
    assert reversed_by(QRELS, {"good": GOOD, "unjudged": unjudged}, "P@1")["unjudged", "good"][1] == ()  # at best equal
    one = {q: {"b": 3.0, "a": 2.0} for q in QRELS}
    two = {q: {"x": 3.0, "b": 2.0, "a": 1.0} for q in QRELS}
    assert reversed_by(QRELS, {"a": one, "b": two}, "RR") == {("b", "a"): (True, ("unjudged",))}
    # The same pair, whichever of the two is the baseline.
    assert reversed_by(QRELS, {"a": one, "b": two}, "RR", baseline="b") == {("a", "b"): (True, ("unjudged",))}


class TestNotAudited:
    """What could reverse a difference is not known without single rankings: None, not an empty list."""

    RUNS: ClassVar[dict[str, Any]] = {"good": GOOD, "bad": BAD}

    @staticmethod
    def doubts(comparison: Comparison) -> set[tuple[str, ...] | None]:
        return {pair.doubts for pair in comparison.pairs}

    def test_rankings_are_audited(self) -> None:
        evaluation = cf.Evaluator(QRELS, "RR").evaluation(self.RUNS)
        assert self.doubts(cf.compare(evaluation)) == self.doubts(cf.compare(QRELS, self.RUNS, "RR")) == {()}

    def test_no_audit(self) -> None:
        assert self.doubts(cf.compare(QRELS, self.RUNS, "RR", audit=False)) == {None}

    def test_scores(self) -> None:
        found = cf.compare(cf.evaluate(QRELS, self.RUNS, "RR"))
        assert self.doubts(found) == {None}
        assert found.to_columns()["doubts"] == ["not audited"]
        assert json.loads(json.dumps(found.to_dict()))["pairs"][0]["doubts"] is None

    def test_a_saved_baseline(self, tmp_path: Path) -> None:
        cf.evaluate(QRELS, {"old": LUCKY}, "RR").save(tmp_path / "old.json")
        pairs = cf.compare(QRELS, self.RUNS, "RR", baseline=str(tmp_path / "old.json"))["RR"].pairs
        assert [(pair.run, pair.other, pair.doubts) for pair in pairs] == [("good", "old", None), ("bad", "old", None)]

    def test_repeats(self) -> None:
        """The pairs of single rankings beside them are audited."""
        runs = {"good": GOOD, "bad": BAD, "often": cf.Repeats([GOOD, BAD, LUCKY])}
        told = reversed_by(QRELS, runs, "RR")
        assert {pair: doubts for pair, (_, doubts) in told.items()} == {
            ("bad", "good"): (),
            ("often", "good"): None,
            ("often", "bad"): None,
        }

    def test_standardised_scores(self) -> None:
        evaluation = cf.Evaluator(QRELS, "RR").evaluation(self.RUNS)
        standardised = evaluation.scores.standardised("z")
        assert self.doubts(compare_scores(standardised, ComparisonSettings(test="t"), evaluation)) == {None}

    def test_nested_means(self) -> None:
        kinds = {q: {"kind": f"k{i % 4}"} for i, q in enumerate(QRELS)}
        evaluation = cf.Evaluator(cf.Collection(QRELS, queries=kinds), "RR").evaluation(self.RUNS)
        assert self.doubts(compare_scores(evaluation.scores, ComparisonSettings(), evaluation)) == {()}
        averaged = evaluation.scores.averaged("kind")
        assert self.doubts(compare_scores(averaged, ComparisonSettings(), evaluation)) == {None}


def seeded(seed: int) -> np.ndarray:
    """Six runs whose differences are partly clear, partly not."""
    generator = np.random.default_rng(seed)
    return generator.normal(np.linspace(0, 0.6, 6)[:, None], 0.4, (6, 24)).round(3)


JOINT = [test for test in TESTS if SIGNIFICANCE_TESTS[test].joint]
# A joint test corrects for its pairs itself, so that all corrections are the same to it.
TESTED = [*product(TESTS, CORRECTIONS[:1]), *product([test for test in TESTS if test not in JOINT], CORRECTIONS[1:])]


@pytest.mark.parametrize(("test", "correction", "seed"), [(*tested, i % 3) for i, tested in enumerate(TESTED)])
def test_the_interval_excludes_zero_where_the_difference_is_significant(test: Any, correction: Any, seed: int) -> None:
    """It belongs to the step at which the correction tested the pair."""
    both = np.stack([seeded(seed), seeded(seed + 100)], axis=1)
    families = ("measure",) if test in JOINT else ("measure", "all")
    significant = set()
    for family, baseline in product(families, (None, "r0", "best")):
        how = {"correction": correction, "family": family, "baseline": baseline, "samples": 999, "seed": seed}
        for pair in cf.compare(scores(both, ("AP", "RR")), test=test, **how).pairs:
            assert pair.low <= pair.high
            assert (pair.low > 0 or pair.high < 0) == pair.significant == (pair.corrected < 0.05)
            assert not pair.significant or np.sign(pair.low) == np.sign(pair.difference)
            assert pair.low <= pair.difference <= pair.high
            significant.add(pair.significant)
    assert significant == {True, False}


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_interval_is_that_of_the_test_at_its_own_level(correction: Any) -> None:
    """Student's interval at the level of Holm's step, by SciPy."""
    x = seeded(4)
    pairs = cf.compare(scores(x), test="t", correction=correction)["AP"].pairs
    levels = resampling.tested_at(np.array([pair.p for pair in pairs]), correction)
    assert len(set(levels.tolist())) > 1 if correction == "holm" else len(set(levels.tolist())) == 1
    for pair, level in zip(pairs, levels.tolist(), strict=True):
        d = x[int(pair.run[1])] - x[int(pair.other[1])]
        error = stats.sem(d)
        assert (pair.low, pair.high) == pytest.approx(stats.t.interval(1 - level, 23, d.mean(), error))
        # The intervals of this difference alone stay as they are.
        assert (pair.t_low, pair.t_high) == pytest.approx(stats.t.interval(0.95, 23, d.mean(), error))


@pytest.mark.parametrize("test", ["tukey", "randomised-tukey"])
def test_a_joint_test_has_simultaneous_intervals(test: Any) -> None:
    pairs = cf.compare(scores(seeded(5)), test=test, samples=999)["AP"].pairs
    widths = [pair.high - pair.low for pair in pairs]
    assert widths == pytest.approx([widths[0]] * len(widths), abs=0.02)
    alone = cf.compare(scores(seeded(5)), test="t", correction="none")["AP"].pairs
    assert np.mean(widths) > np.mean([pair.high - pair.low for pair in alone])


def test_equal_runs_are_equal_by_every_test() -> None:
    (one,) = cf.compare(scores(np.full((2, 5), 0.5)), tests=TESTS)["AP"].pairs
    assert set(one.tests.values()) == {1.0}
    assert (one.difference, one.bca_low, one.bca_high, one.t_low, one.t_high, one.effect) == (0, 0, 0, 0, 0, 0)
    assert (one.low, one.high) == (-np.inf, np.inf)  # with five queries, the randomisation test rejects nothing
    (by_t,) = cf.compare(scores(np.full((2, 5), 0.5)), test="t")["AP"].pairs
    assert (by_t.low, by_t.high) == (0, 0)
    assert plain(one)["effect_low"] is None


def test_plain_data_are_json(x: np.ndarray) -> None:
    found = cf.compare(scores(x), tests=TESTS)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(plain["pairs"]) == 10
    assert plain["pairs"][0]["tests"].keys() == set(TESTS)
    assert plain["pairs"][0]["p"] == plain["pairs"][0]["tests"]["randomisation"]


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
        assert found["AP"].p.min() >= 0.5
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
    assert [one.lowest_p for one in found.by_measure] == [1 / 4, 1 / 2**11]


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
