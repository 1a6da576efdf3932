"""Designs of comparisons: golden cases, enumeration, and the formulas written out again in plain Python."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations, product
from statistics import fmean, variance
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import cranfield as cf
from cranfield.analysis.significance import PairComparison
from cranfield.errors import CranfieldError, UsageError
from cranfield.statistics.design import Design, Sample, group_effect
from golden_cases import golden

GOLDEN = {"designs": golden("designs"), "nested": golden("nested")}
JUDGES = golden("judges")


def first_minus_second(scores: cf.Scores, **how: Any) -> PairComparison:
    """The first of two runs compared with the second."""
    (pair,) = cf.compare(scores, baseline=scores.runs[1], **how).pairs
    return pair


@pytest.mark.parametrize("case", [*GOLDEN["designs"], *JUDGES], ids=lambda case: case["id"])
def test_golden_designs(case: dict[str, Any]) -> None:
    scores = cf.read_scores(case["values"], queries=case["queries"])
    found = first_minus_second(scores, test="t", **case["design"])
    for name, expected in case["expected"].items():
        assert getattr(found, name) == pytest.approx(expected, abs=case["tol"]), name


@pytest.mark.parametrize("case", GOLDEN["nested"], ids=lambda case: case["id"])
def test_golden_nested_means(case: dict[str, Any]) -> None:
    averaged = cf.read_scores(case["values"], queries=case["queries"]).averaged(*case["levels"])
    for run, expected in case["expected"].items():
        assert averaged["m"].per_query[run] == pytest.approx(expected, abs=case["tol"])
        assert averaged["m"][run] == pytest.approx(fmean(expected.values()), abs=case["tol"])


def scores_of(x: np.ndarray, **attributes: list[Any]) -> cf.Scores:
    """Scores of runs r0, r1, ... with values (run, query) or (run, query, repeat), and attributes of queries."""
    values = {f"r{r}": {"m": {f"q{q:02}": value.tolist() for q, value in enumerate(row)}} for r, row in enumerate(x)}
    queries = {f"q{q:02}": {name: str(of[q]) for name, of in attributes.items()} for q in range(x.shape[1])}
    return cf.read_scores(values, queries=queries if attributes else None)


def flipped_p(difference: np.ndarray, cluster: list[int], weight: np.ndarray) -> float:
    """The p-value of all sign patterns of clusters, one by one."""
    labels = sorted(set(cluster))
    observed = abs(float((difference * weight).sum()))
    count = 0
    for signs in product((1, -1), repeat=len(labels)):
        of = dict(zip(labels, signs, strict=True))
        total = sum(of[c] * d * w for c, d, w in zip(cluster, difference, weight, strict=True))
        count += abs(total) >= observed - 1e-12
    return count / 2 ** len(labels)


@pytest.mark.parametrize("seed", range(5))
def test_a_randomisation_test_flips_clusters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.random((2, 14))
    cluster = rng.integers(0, 6, 14).tolist()
    collection = [c % 2 for c in cluster]
    weight = np.array([1 / (len(set(collection)) * collection.count(c)) for c in collection])
    scores = scores_of(x, topic=cluster, collection=collection)
    found = first_minus_second(scores, cluster="topic", collection="collection")
    assert found.difference == pytest.approx(float(((x[0] - x[1]) * weight).sum()))
    assert found.p == pytest.approx(flipped_p(x[0] - x[1], cluster, weight))
    alone = first_minus_second(scores, cluster="topic")
    assert alone.p == pytest.approx(flipped_p(x[0] - x[1], cluster, np.full(14, 1 / 14)))


def t_by_hand(
    a: list[list[float]], b: list[list[float]], cluster: list[int], collection: list[int]
) -> tuple[float, float, float]:
    """The estimate, its variance and the degrees of freedom, from the equations; (query, repeat) of two runs."""
    d = [fmean(x) - fmean(y) for x, y in zip(a, b, strict=True)]
    names = sorted(set(collection))
    parts, estimate = [], 0.0
    for c in names:
        inside = [i for i, of in enumerate(collection) if of == c]
        mean = fmean(d[i] for i in inside)
        estimate += mean / len(names)
        sums: dict[int, float] = defaultdict(float)
        for i in inside:
            sums[cluster[i]] += d[i] - mean
        share = {g: sum(cluster[i] == g for i in inside) / len(inside) for g in sums}
        of_c = sum(s * s / (1 - share[g]) for g, s in sums.items()) / len(inside) ** 2
        # The matrix of Bell and McCaffrey as it is written, not its traces.
        root = np.array([[((g == k) - share[g]) * share[k] ** 0.5 / (1 - share[g]) ** 0.5 for k in sums] for g in sums])
        squared = root @ root.T
        parts.append((of_c / len(names) ** 2, np.trace(squared) ** 2 / np.trace(squared @ squared)))
    for run in (a, b):
        r = len(run[0])
        if r < 2:
            continue
        columns, alike = [0.0] * r, 0.0
        for c in names:
            table = [row for row, of in zip(run, collection, strict=True) if of == c]
            n, means = len(table), [fmean(row[k] for row in table) for k in range(r)]
            square = sum((row[k] - fmean(row) - means[k] + fmean(means)) ** 2 for row in table for k in range(r))
            columns = [total + mean / len(names) for total, mean in zip(columns, means, strict=True)]
            alike += square / ((n - 1) * (r - 1)) / n / len(names) ** 2
        parts.append((max(0.0, variance(columns) - alike) / r, r - 1))
    total = sum(part for part, _ in parts)
    return estimate, total, total**2 / sum(part**2 / freedom for part, freedom in parts)


@pytest.mark.parametrize("collections", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_t_test_follows_its_equations(seed: int, collections: int) -> None:
    rng = np.random.default_rng(seed)
    n, r = 18, 3
    x = rng.random((2, n, r)) + rng.normal(0, 0.2, (2, 1, r))
    cluster = np.sort(rng.integers(0, 8, n)).tolist()
    collection = [int(q >= 6) if collections == 2 else 0 for q in range(n)]
    cluster = [10 * c + g for c, g in zip(collection, cluster, strict=True)]
    scores = scores_of(x, topic=cluster, collection=collection)
    found = first_minus_second(scores, cluster="topic", collection="collection")
    estimate, total, freedom = t_by_hand(x[0].tolist(), x[1].tolist(), cluster, collection)
    assert (found.difference, sum(found.variance), found.degrees) == pytest.approx((estimate, total, freedom))
    assert found.p == pytest.approx(2 * stats.t.sf(abs(estimate) / math.sqrt(total), freedom))
    half = stats.t.ppf(0.975, freedom) * math.sqrt(total)
    assert (found.t_low, found.t_high) == pytest.approx((estimate - half, estimate + half))
    assert (found.low, found.high) == (found.t_low, found.t_high)


def test_single_queries_of_one_collection_are_the_paired_t_test() -> None:
    x = np.random.default_rng(0).random((2, 20))
    with_design = cf.compare(scores_of(x, topic=list(range(20)), all=[1] * 20), test="t", cluster="topic")
    plain = cf.compare(scores_of(x), test="t")
    assert with_design.pairs[0].p == pytest.approx(plain.pairs[0].p, rel=1e-12)
    assert plain.pairs[0].p == pytest.approx(stats.ttest_rel(x[0], x[1]).pvalue, rel=1e-12)


@pytest.mark.parametrize("spans", [False, True])
def test_a_bootstrap_of_clusters_and_repeats_has_the_variance_of_its_sample(spans: bool) -> None:
    rng = np.random.default_rng(3)
    x = rng.random((2, 24, 4)) + rng.normal(0, 0.3, (2, 1, 4))
    design = Design.of(24, [(q if spans else q // 3) % 2 for q in range(24)], [q // 3 for q in range(24)])
    assert design.spans == spans
    sample = Sample(x.mean(axis=2), design, {0: x[0], 1: x[1]})
    drawn = np.concatenate([*sample.resampled_means(20_000, 0)], axis=1)
    gap = drawn[0] - drawn[1]
    # Without the correction of small samples, variances of a bootstrap are those of the population.
    expected = 0.0
    for part in design.parts:
        moved = (design.deviations(sample.x)[0] - design.deviations(sample.x)[1])[part]
        expected += float((moved**2).sum())
    of_repeats = sum(float(design.estimate(x[r].T).var()) / 4 for r in range(2))
    assert gap.mean() == pytest.approx(float(sample.means[0] - sample.means[1]), abs=0.02)
    assert gap.var() == pytest.approx(expected + of_repeats, rel=0.15)


@given(st.integers(0, 10_000), st.integers(4, 9))
@settings(max_examples=25, deadline=None)
def test_the_interval_of_a_randomisation_test_has_what_it_does_not_reject(seed: int, n: int) -> None:
    x = np.random.default_rng(seed).normal(0.2, 1, (2, n))
    found = first_minus_second(scores_of(x), level=0.75, alpha=0.25)
    d = x[0] - x[1]
    for shift in np.linspace(d.min() - 0.5, d.max() + 0.5, 41):
        if min(abs(shift - found.low), abs(shift - found.high)) > 1e-9:  # at an end, rounding decides
            p = flipped_p(d - shift, list(range(n)), np.ones(n))
            assert (found.low <= shift <= found.high) == (p >= 0.25)


@pytest.mark.parametrize("test", ["t", "randomisation", "bootstrap", "wilcoxon", "sign", "tukey", "randomised-tukey"])
@pytest.mark.parametrize("correction", ["holm", "bonferroni", "none", "bh"])
@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.2])
def test_an_interval_excludes_0_where_the_difference_is_significant(test: Any, correction: Any, alpha: float) -> None:
    rng = np.random.default_rng(5)
    x = rng.random((5, 16)) + np.array([0, 0, 0.2, 0.3, 0.9])[:, None]
    comparison = cf.compare(scores_of(x), test=test, correction=correction, samples=2000, alpha=alpha)
    assert comparison.settings.confidence == 1 - alpha
    for pair in comparison.pairs:
        assert pair.significant != (pair.low <= 0 <= pair.high)
        assert pair.low <= pair.difference <= pair.high
    assert {pair.significant for pair in comparison.pairs} == {True, False}


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "none", "bh"])
@pytest.mark.parametrize("design", [{"cluster": "topic"}, {"collection": "part"}, {"repeats": "random"}], ids=str)
def test_the_intervals_of_designs_agree_with_their_tests(design: dict[str, Any], correction: Any) -> None:
    rng = np.random.default_rng(5)
    x = rng.random((5, 24)) + np.array([0, 0, 0.2, 0.3, 0.9])[:, None]
    if "repeats" in design:
        x = x[:, :, None] + rng.normal(0, 0.05, (5, 1, 3))
    scores = scores_of(x, topic=[q // 2 for q in range(24)], part=[q % 2 for q in range(24)])
    for test in ("t", "bootstrap") if "repeats" in design else ("t", "bootstrap", "randomisation"):
        pairs = cf.compare(scores, test=test, correction=correction, samples=2000, **design).pairs  # type: ignore[arg-type]
        assert all(pair.significant != (pair.low <= 0 <= pair.high) for pair in pairs)
        assert {pair.significant for pair in pairs} == {True, False}


def test_the_sign_test_is_binomial() -> None:
    x = np.random.default_rng(1).random((2, 15))
    x[1, :3] = x[0, :3]
    d = x[0] - x[1]
    expected = stats.binomtest(int((d > 0).sum()), int((d != 0).sum())).pvalue
    assert cf.compare(scores_of(x), test="sign").pairs[0].p == pytest.approx(expected)


@pytest.mark.parametrize(
    ("test", "design", "reason"),
    [
        ("wilcoxon", {"cluster": "topic"}, "independent"),
        ("sign", {"cluster": "topic"}, "independent"),
        ("tukey", {"collection": "topic"}, "pools"),
        ("randomisation", {}, "repeats"),
    ],
)
def test_a_test_that_is_not_defined_for_a_design_is_refused(test: Any, design: dict[str, str], reason: str) -> None:
    x = np.random.default_rng(0).random((2, 12, 2) if not design else (2, 12))
    with pytest.raises(UsageError, match=reason):
        cf.compare(scores_of(x, topic=[q // 3 for q in range(12)]), test=test, **design)


def test_variance_by_source_is_that_of_the_model() -> None:
    rng = np.random.default_rng(0)
    n, r = 4000, 40
    x = rng.normal(0, 0.5, (2, n, 1)) + rng.normal(0, 0.3, (2, 1, r)) + rng.normal(0, 0.2, (2, n, r))
    sample = Sample(x.mean(axis=2), None, {0: x[0], 1: x[1]})
    for parts in sample.sources().values():
        assert parts == pytest.approx((0.25, 0.09, 0.04), rel=0.5)
        assert parts[2] == pytest.approx(0.04, rel=0.02)


def test_two_repeats_are_said_to_be_few() -> None:
    x = np.random.default_rng(0).random((2, 12, 2))
    assert any("two repeats are too few" in str(note) for note in cf.compare(scores_of(x)).notes)
    assert not any("two repeats" in str(note) for note in cf.compare(scores_of(x), repeats="fixed").notes)


def test_fixed_repeats_are_means() -> None:
    x = np.random.default_rng(0).random((2, 12, 3))
    (repeated,) = cf.compare(scores_of(x), repeats="fixed", test="t").pairs
    (means,) = cf.compare(scores_of(x.mean(axis=2)), test="t").pairs
    assert repeated.p == pytest.approx(means.p, rel=1e-12)
    assert repeated.variance[1] == 0


def test_ranks_count_significant_differences() -> None:
    rng = np.random.default_rng(7)
    x = rng.random((5, 30)) * 0.3 + np.array([0.0, 0.05, 0.3, 0.32, 0.6])[:, None]
    comparison = cf.compare(scores_of(x), test="t")
    better = {
        (c.run if c.difference > 0 else c.other, c.other if c.difference > 0 else c.run)
        for c in comparison.pairs
        if c.significant
    }
    for run, (low, high) in comparison.ranks["m"].items():
        assert low == 1 + sum(loser == run for _, loser in better)
        assert high == 5 - sum(winner == run for winner, _ in better)
    assert comparison.ranks["m"]["r4"] == (1, 1)


def test_of_a_measure_where_less_is_better_the_lowest_is_first() -> None:
    x = np.random.default_rng(7).random((3, 20)) + np.array([0, 2, 4])[:, None]
    values = {f"r{r}": {"latency": {str(q): float(v) for q, v in enumerate(row)}} for r, row in enumerate(x)}
    scores = cf.read_scores(values, lower="latency")
    assert scores.order() == list(scores.runs)
    comparison = cf.compare(scores, test="t")
    assert comparison.ranks["latency"] == {"r0": (1, 1), "r1": (2, 2), "r2": (3, 3)}
    first = comparison["latency"].pairs[0]
    assert (first.run, first.other, first.wins, first.losses) == ("r1", "r0", 0, 20)
    assert first.difference > 0 and comparison["latency"].order == [0, 1, 2]
    assert cf.compare(scores, baseline="best").baseline == "r0"


def test_the_effect_of_groups_is_an_analysis_of_variance() -> None:
    rng = np.random.default_rng(0)
    d, group = rng.random(30), np.arange(30) % 3
    expected = stats.f_oneway(*(d[group == g] for g in range(3)))
    found = group_effect(d, group)
    assert (found.F, found.p, found.between, found.within) == pytest.approx((expected[0], expected[1], 2, 27))


def test_with_clusters_labels_are_permuted_over_clusters() -> None:
    d, group, cluster = np.array([0.0, 0.1, 1.0, 1.1, 0.2, 0.9]), np.array([0, 0, 1, 1, 0, 1]), np.arange(6) // 2
    cluster = np.array([0, 0, 1, 1, 2, 3])
    found = group_effect(d, group, cluster, samples=4_000)
    labels, sizes = [0, 1, 0, 1], 0
    at_least = 0
    for chosen in combinations(range(4), 2):
        permuted = np.array([0 if c in chosen else 1 for c in cluster])
        at_least += group_effect(d, permuted).F >= found.F - 1e-9
        sizes += 1
    assert found.p == pytest.approx(at_least / sizes, abs=0.03), labels


def test_means_and_differences_by_group() -> None:
    x = np.random.default_rng(0).random((3, 12))
    kind = [q % 2 for q in range(12)]
    found = scores_of(x, type=kind).by("type", baseline="r0")
    assert found.groups == ("0", "1")
    assert found.queries.tolist() == [[6, 6]]
    for g in range(2):
        inside = np.array(kind) == g
        assert found.means[0, :, g] == pytest.approx(x[:, inside].mean(axis=1))
        d = (x[1] - x[0])[inside]
        low, high = stats.t.interval(0.95, 5, d.mean(), d.std(ddof=1) / math.sqrt(6))
        assert (found.low[0, 1, g], found.high[0, 1, g]) == pytest.approx((low, high))
    assert found.effects[0][1].p == pytest.approx(stats.f_oneway((x[1] - x[0])[::2], (x[1] - x[0])[1::2])[1])


def test_a_group_of_one_cluster_has_a_difference_and_no_interval() -> None:
    x = np.random.default_rng(6).random((2, 6))
    found = scores_of(x, type=list("aaabbb"), topic=list("001222")).by("type", baseline="r0", cluster="topic")
    assert found.difference[0, 1] == pytest.approx([(x[1] - x[0])[:3].mean(), (x[1] - x[0])[3:].mean()])
    assert np.isfinite(found.low[0, 1]).tolist() == [True, False]


def test_groups_that_are_numbers_are_in_their_order() -> None:
    x = np.random.default_rng(6).random((2, 6))
    found = scores_of(x, turn=[10, 9, 2, 10, 9, 2]).by("turn", baseline="r0")
    assert found.groups == ("2", "9", "10")
    assert found.means[0, 0] == pytest.approx([x[0, [2, 5]].mean(), x[0, [1, 4]].mean(), x[0, [0, 3]].mean()])


def test_nested_means_keep_repeats_and_missing_values() -> None:
    values = {
        "a": {"m": {"1": [0.0, 1.0], "2": [1.0, 1.0], "3": [0.5, None]}},
        "b": {"m": {"1": 1.0, "2": None, "3": 0}},
    }
    about = {"1": {"topic": "t"}, "2": {"topic": "t"}, "3": {"topic": "u"}}
    averaged = cf.read_scores(values, queries=about).averaged("topic")
    assert averaged.repeats["a"][0, 0].tolist() == [0.5, 1.0]
    assert averaged["m"].per_query == {"a": {"t": 0.75, "u": None}, "b": {"t": 1.0, "u": 0.0}}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: s.averaged("topic"), "query `q01` has no topic"),
        (lambda s: s.averaged(), "at least one attribute"),
        (lambda s: s.by("typ"), "did you mean `type`"),
        (lambda s: cf.compare(s, cluster="topic"), "query `q01` has no topic"),
        (lambda s: cf.compare(s, cluster="type"), "the design has a single cluster of queries"),
        (lambda s: cf.compare(s, collection="half"), "collection `h` has a single query"),
        (lambda s: s.by("type", baseline="bm25"), "not one of the runs"),
        (lambda s: cf.compare(s, repeats="some"), "random, fixed"),
    ],
)
def test_wrong_designs_are_sentences(call: Any, said: str) -> None:
    values = {run: {"m": {"q00": 0.1, "q01": 0.5}} for run in ("a", "b")}
    scores = cf.read_scores(
        values, queries={"q00": {"topic": "t", "type": "x", "half": "h"}, "q01": {"type": "x", "half": "i"}}
    )
    with pytest.raises(CranfieldError) as raised:
        call(scores)
    assert said in f"{raised.value} {raised.value.hint}"


def test_several_collections_are_averaged_by_collection() -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(6)}
    rng = np.random.default_rng(0)

    def run(queries: list[str]) -> dict[str, dict[str, float]]:
        return {q: {d: float(rng.random()) for d in "abc"} for q in queries}

    some = {q: qrels[q] for q in ("q0", "q1", "q2")}
    collections = {"x": cf.Collection(qrels), "y": cf.Collection(some)}
    runs = {name: {"x": run(list(qrels)), "y": run(list(some))} for name in ("bm25", "dense")}
    scores = cf.evaluate(collections, runs, ["RR"])
    for name in runs:
        apart = [float(cf.evaluate(qrels if c == "x" else some, runs[name][c], "RR")) for c in "xy"]
        assert scores["RR"][name] == pytest.approx(fmean(apart))
        assert scores.by("collection").means[0, scores.runs.index(name)] == pytest.approx(apart)
    d = np.concatenate([scores.values[0, 0] - scores.values[1, 0]])
    found = first_minus_second(scores, test="t", cluster="none")
    estimate, total, freedom = t_by_hand([[v] for v in d], [[0.0]] * 9, list(range(9)), [0] * 6 + [1] * 3)
    assert (found.difference, found.variance[0], found.degrees) == pytest.approx((estimate, total, freedom))


def test_collections_may_be_judgments_alone(tmp_path: Any) -> None:
    qrels = {"q": {"a": 1}, "r": {"b": 2}}
    path = tmp_path / "qrels.txt"
    path.write_text("q 0 a 1\nr 0 b 2\n")
    runs = {"one": {"x": {"q": ["a"], "r": ["a", "b"]}, "y": {"q": {"b": 2.0, "a": 1.0}}}}
    runs["two"] = {"x": cf.Repeats([runs["one"]["x"], runs["one"]["y"]]), "y": cf.Repeats([runs["one"]["y"]] * 2)}
    expected = cf.evaluate({name: cf.Collection(qrels) for name in "xy"}, runs, "RR").to_dict()["runs"]
    assert expected["one"]["RR"]["mean"] == 0.5
    for y in (qrels, str(path), path, {q: set(of) for q, of in qrels.items()}):
        assert cf.evaluate({"x": qrels, "y": y}, runs, "RR").to_dict()["runs"] == expected
        assert cf.compare({"x": qrels, "y": y}, runs, "RR", test="t").runs == ("one", "two")
    subtopics = {"q": {"a": {"1": 1}}, "r": {"b": {"1": 1}}}
    assert cf.evaluate(subtopics, {"run": {"q": {"a": 1.0}, "r": {"b": 1.0}}}, "StRecall@1")["StRecall@1"]["run"] == 1
    with pytest.raises(UsageError, match="unknown collection `z`"):
        cf.evaluate({"x": qrels, "y": qrels}, {"one": {"x": {"q": ["a"]}, "z": {"q": ["a"]}}}, "RR")


def test_a_run_without_one_of_the_collections_is_an_error_unless_skipped() -> None:
    qrels = {"q": {"a": 1}}
    collections = {"x": cf.Collection(qrels), "y": cf.Collection(qrels)}
    runs = {"bm25": {"x": {"q": ["a"]}, "y": {"q": ["b", "a"]}}, "dense": {"x": {"q": ["b", "a"]}}}
    with pytest.raises(UsageError, match="`dense` has no ranking for the collection `y`"):
        cf.evaluate(collections, runs, "RR")
    assert dict(cf.evaluate(collections, runs, "RR", missing="skip")["RR"]) == {"bm25": 0.75, "dense": 0.5}


def test_repeats_are_one_run_with_a_mean() -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(4)}
    first, second = (dict.fromkeys(qrels, order) for order in (["a", "b"], ["b", "a"]))
    scores = cf.evaluate(qrels, {"dense": cf.Repeats([first, second]), "bm25": second}, "RR")
    assert dict(scores["RR"]) == {"dense": 0.75, "bm25": 0.5}
    assert scores.repeats["dense"].shape == (1, 4, 2)
    assert cf.compare(qrels, {"dense": cf.Repeats([first, second]), "bm25": second}, "RR").settings.test == "t"


def test_designs_survive_saving(tmp_path: Any) -> None:
    x = np.random.default_rng(0).random((2, 12, 3))
    scores = scores_of(x, topic=[q // 3 for q in range(12)])
    comparison = cf.compare(scores, cluster="topic")
    for number, result in enumerate((scores, comparison)):
        result.save(tmp_path / f"{number}.json")
        assert cf.load(tmp_path / f"{number}.json").to_dict() == result.to_dict()
    again = cf.compare(cf.load(tmp_path / "0.json"), cluster="topic")
    assert again.to_dict() == comparison.to_dict()


def test_queries_of_several_collections_with_one_id_are_refused() -> None:
    collections = {"a": cf.Collection({"b/q": {"x": 1}}), "a/b": cf.Collection({"q": {"x": 1, "y": 1}})}
    run = {"a": {"b/q": ["y", "x"]}, "a/b": {"q": ["x", "y"]}}
    with pytest.raises(cf.CranfieldError, match="two queries have the id `a/b/q`"):
        cf.evaluate(collections, {"r": run}, ["RR"])


def test_several_collections_have_one_answer_whatever_the_aggregate() -> None:
    """The difference is that of the means, and the interval that of the mean: credit is given within a collection."""
    qrels = {"x": {str(i): {"a": 1} for i in range(10)}, "y": {str(i): {"a": 1} for i in range(6)}}
    answers = {"old": {"x": "aaaabbb", "y": "aabab"}, "new": {"x": "aaab", "y": "abaa"}}
    runs = {
        run: {name: {str(i): [document] for i, document in enumerate(of)} for name, of in by_collection.items()}
        for run, by_collection in answers.items()
    }
    scores = cf.evaluate(qrels, runs, ["c@1", "NumRelRet", "GMAP"])
    pair = cf.compare(scores.only(measures="c@1"), baseline="old", test="t").pairs[0]
    assert pair.difference == pytest.approx(scores.means["new"]["c@1"] - scores.means["old"]["c@1"])
    for measure in ("c@1", "NumRelRet"):
        low, high = scores.interval("new", measure, method="t")
        mean = scores.means["new"][measure]
        assert low < mean < high
        if measure == "NumRelRet":  # which has no upper bound
            assert (low + high) / 2 == pytest.approx(mean)
    assert all(np.isnan(scores.interval("new", "GMAP")))


def test_unanswered_questions_of_a_repeat_have_its_credit() -> None:
    """C@1 of a system is the mean of that of its repeats, in scores and in comparisons."""
    qrels = {str(i): {"a": 1} for i in range(8)}
    old, *repeats = (
        {str(i): [document] for i, document in enumerate(answers) if document != "-"}
        for answers in ("aaab-abb", "aaaabb--", "aab-aabb", "a-aaa-ab")
    )
    scores = cf.evaluate(qrels, {"new": cf.Repeats(repeats), "old": old}, "c@1")
    alone = [float(cf.evaluate(qrels, run, "c@1")) for run in (old, *repeats)]
    assert scores.means["new"]["c@1"] == pytest.approx(fmean(alone[1:]))
    for how in ("random", "fixed"):
        pair = cf.compare(scores, baseline="old", test="t", repeats=how).pairs[0]
        assert pair.difference == pytest.approx(fmean(alone[1:]) - alone[0])
