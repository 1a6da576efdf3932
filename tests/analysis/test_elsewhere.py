"""Measures over several runs, groups of queries or answers: the worked cases, and what the definitions imply."""

from __future__ import annotations

import functools
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.analysis.query_values import edit_distance
from cranfield.codec import plain
from golden_cases import STRUCTURED


def ranked(rankings: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    """A run from documents, best first."""
    return {query: {d: -float(rank) for rank, d in enumerate(documents)} for query, documents in rankings.items()}


def nugget_scores(case: dict[str, Any]) -> dict[str, float]:
    kinds = {f"{'strict_' * strict}{over}": (over, strict) for over in ("all", "vital", "weighted") for strict in (False, True)}  # fmt: skip
    nuggets = {"q": case["nuggets"]}
    return {
        name: cf.stats.nugget_recall(nuggets, over=over, strict=strict).mean for name, (over, strict) in kinds.items()
    }  # type: ignore[arg-type]


def context_scores(case: dict[str, Any], match: Any) -> dict[str, float]:
    lists, more = (case["retrieved"], case["reference"]), {} if match == "id" else {"threshold": case["threshold"]}
    return {
        "precision": cf.stats.context_precision(*lists, match=match, **more),
        "recall": cf.stats.context_recall(*lists, match=match, **more),
    }


def neighbour_scores(case: dict[str, Any]) -> dict[str, float]:
    given = case["true_distances"], case["found_distances"], case["count"]
    return {
        "absolute(1e-3)": cf.stats.ann_recall(*given, epsilon=1e-3).mean,
        "relative(0.01)": cf.stats.ann_recall(*given, relative=True, epsilon=0.01).mean,
    }


# How each family of cases is computed; measures of the catalogue have their cases in tests/measures.
COMPUTE = {
    "M1": lambda c: cf.stats.p_mrr(c["original"], c["changed"], c["documents"]).mean,
    "M2": lambda c: cf.stats.nauc(c["confidence"], c["scores"]),
    "M3": lambda c: cf.stats.Confidence.of(c["scores"])._asdict(),
    "M4": lambda c: cf.stats.robustness(c["scores"]).mean,
    "M5": lambda c: cf.stats.paired_accuracy(c["recall_at_1"]).mean,
    "M9": neighbour_scores,
    "M10": nugget_scores,
    "M11": lambda c: context_scores(c, "string"),
    "M12": lambda c: context_scores(c, "id"),
}
OF_CATALOGUE = {"M6", "M7", "M8"}
CASES = [case for case in STRUCTURED if case["id"].startswith("M")]


def test_every_family_is_computed() -> None:
    assert {case["id"].split("-")[0] for case in CASES} == COMPUTE.keys() | OF_CATALOGUE


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["id"].split("-")[0] in COMPUTE], ids=lambda case: case["id"]
)
def test_cases(case: dict[str, Any]) -> None:
    found, expected = COMPUTE[case["id"].split("-")[0]](case), case["expected"]
    if not isinstance(expected, dict):
        found, expected = {"": found}, {"": expected}
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if value is None:
            assert math.isnan(found[name])
        else:
            assert found[name] == pytest.approx(value, abs=case["tol"])


RANKED = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([1.0, 2.0]), min_size=1)


@given(RANKED, RANKED, st.sets(st.sampled_from("abcdef"), min_size=1))
def test_expected_p_mrr_is_the_mean_over_orders(before: dict, after: dict, documents: set) -> None:
    def orders(ranking: dict[str, float]) -> list[list[str]]:
        groups = [[d for d in ranking if ranking[d] == score] for score in (2.0, 1.0)]
        return [list(itertools.chain(*each)) for each in itertools.product(*map(itertools.permutations, groups))]

    pairs = itertools.product(orders(before), orders(after))
    values = [cf.stats.p_mrr(ranked({"q": one}), ranked({"q": other}), {"q": documents}).mean for one, other in pairs]
    found = cf.stats.p_mrr({"q": before}, {"q": after}, {"q": documents}, ties="expected").mean
    assert found == pytest.approx(np.mean(values))


def test_p_mrr_leaves_out_what_is_not_in_both_runs() -> None:
    documents: dict[str, list[str]] = {"1": ["a"], "2": ["a"], "3": ["a"], "4": []}
    found = cf.stats.p_mrr(ranked({"1": ["a", "b"], "2": ["a"]}), ranked({"1": ["b", "a"], "3": ["a"]}), documents)
    assert found.values == {"1": 0.5}
    assert math.isnan(cf.stats.p_mrr(ranked({"2": ["a"]}), ranked({"3": ["a"]}), documents).mean)
    with pytest.raises(cf.CranfieldError, match="best"):
        cf.stats.p_mrr(ranked({"1": ["a"]}), ranked({"1": ["a"]}), documents, ties="best")


def test_robustness_takes_scores_and_any_groups(tmp_path: Path) -> None:
    qrels = {"1": {"x": 1}, "2": {"x": 1}, "3": {"y": 1}}
    scores = cf.evaluate(qrels, ranked({"1": ["x"], "2": ["z", "x"]}), ["RR", "P@1"])
    groups = {"1": "a", "2": "a", "3": "b"}
    assert cf.stats.robustness(scores, groups, measure="RR").values == {"a": 0.5, "b": 0.0}
    file = tmp_path / "groups.txt"
    file.write_text("1 a\n2 a\n3 b\n4 b\n")
    assert cf.stats.robustness({"1": 1.0, "2": 0.25, "3": 1.0}, str(file)).values == {"a": 0.25, "b": 0.0}
    assert cf.stats.robustness({"1": 1.0, "2": 0.25}, lambda query: "all").values == {"all": 0.25}
    with pytest.raises(cf.CranfieldError, match="2 measures"):
        cf.stats.robustness(scores, groups)
    with pytest.raises(cf.InputError, match="`2`"):
        cf.stats.robustness({"1": 1.0, "2": 0.25}, {"1": "a"})


def test_a_pair_has_two_queries() -> None:
    with pytest.raises(cf.InputError, match="pair `1`"):
        cf.stats.paired_accuracy({"0_q1": 1.0, "0_q2": 1.0, "1_q1": 1.0})
    with pytest.raises(cf.InputError, match="`b`"):
        cf.stats.paired_accuracy({"a": 1.0}, {"a": "p", "b": "p"})
    undefined = cf.stats.paired_accuracy({"0_q1": math.nan, "0_q2": 1.0, "1_q1": 1.0, "1_q2": 1.0})
    assert undefined.mean == 1.0
    assert plain(undefined) == {"mean": 1.0, "values": {"0": None, "1": 1.0}}


def test_confidences_of_a_run_and_scores_by_query() -> None:
    run = {"1": {"a": 0.9, "b": 0.1}, "2": {"a": 0.3}}
    assert cf.stats.confidence(run) == {"1": 0.9, "2": 0.3}
    assert cf.stats.confidence(run, "diff1") == {"1": pytest.approx(0.8), "2": 0.0}
    scores = cf.evaluate({"1": {"a": 1}, "2": {"b": 1}}, run, "RR")._query_values(0, 0)
    assert cf.stats.nauc(cf.stats.confidence(run), scores) == 1.0
    with pytest.raises(cf.InputError, match="`3`"):
        cf.stats.nauc({"1": 0.5}, {"1": 1.0, "3": 0.0})
    with pytest.raises(cf.CranfieldError, match="2 scores"):
        cf.stats.nauc([0.5], [1.0, 0.0])


def area_of_order(scores: tuple[float, ...]) -> float:
    """The area under the mean of what remains, where the first scores are left out first."""
    rates = [step / 10 for step in range(10)]
    kept = [scores[min(round(rate * len(scores)), len(scores) - 1) :] for rate in rates]
    means = [sum(part) / len(part) for part in kept]
    return sum((left + right) / 2 * 0.1 for left, right in itertools.pairwise(means))


@pytest.mark.parametrize("seed", range(30))
def test_nauc_with_equal_confidence_is_the_mean_over_all_orders_of_these_queries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 8))
    sure, values = rng.integers(0, 3, size).tolist(), rng.integers(0, 4, size).tolist()
    orders = [
        o for o in itertools.permutations(range(size)) if all(sure[a] <= sure[b] for a, b in itertools.pairwise(o))
    ]
    found = np.mean([area_of_order(tuple(values[q] for q in order)) for order in orders])
    best, random = area_of_order(tuple(sorted(values))), 0.9 * sum(values) / size
    expected = math.nan if len(set(values)) == 1 else (found - random) / (best - random)
    assert cf.stats.nauc(sure, values) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    shuffled = rng.permutation(size)
    again = cf.stats.nauc([sure[q] for q in shuffled], [values[q] for q in shuffled])
    assert again == cf.stats.nauc(sure, values) or (math.isnan(again) and math.isnan(expected))


def test_risk() -> None:
    scores = {"old": {"1": 0.5, "2": 0.5, "3": 0.5}, "new": {"1": 0.9, "2": 0.4, "3": 0.5}}
    # (0.4 - (1 + alpha) 0.1) / 3
    for alpha in (0, 1, 5):
        assert cf.stats.urisk(scores, "old", alpha=alpha) == {"new": pytest.approx((0.4 - (1 + alpha) * 0.1) / 3)}
    with pytest.raises(cf.CranfieldError, match="`older`"):
        cf.stats.urisk(scores, "older")
    with pytest.raises(cf.CranfieldError, match="alpha"):
        cf.stats.georisk(scores, alpha=-1)
    with pytest.raises(cf.CranfieldError, match="negative"):
        cf.stats.georisk({"a": {"1": -1.0}})


def test_georisk_by_hand() -> None:
    rows = np.array([[0.5, 0.2, 0.0], [0.1, 0.8, 0.0]])
    scores = {run: dict(zip("123", row, strict=True)) for run, row in zip("ab", rows.tolist(), strict=True)}
    found = cf.stats.georisk(scores, alpha=2)
    for i, run in enumerate("ab"):
        z = 0.0
        for j in range(2):
            expected = rows[i].sum() * rows[:, j].sum() / rows.sum()
            deviation = (rows[i, j] - expected) / math.sqrt(expected)
            z += deviation * (3 if deviation < 0 else 1)
        cdf = (1 + math.erf(z / 3 / math.sqrt(2))) / 2
        assert found[run] == pytest.approx(math.sqrt(rows[i].mean() * cdf))


def test_risk_of_evaluated_runs() -> None:
    qrels = {q: {"a": 1} for q in "123"}
    runs = {"first": ranked({q: ["a"] for q in "123"}), "second": ranked({q: ["b", "a"] for q in "123"})}
    scores = cf.evaluate(qrels, runs, ["RR", "P@1"])
    assert cf.stats.urisk(scores, "first", measure="RR", alpha=1) == {"second": -1.0}
    assert cf.stats.georisk(scores, measure="RR")["first"] == pytest.approx(math.sqrt(0.5))


def test_neighbours_refuse_what_has_no_answer() -> None:
    assert cf.stats.ann_recall([[1, 2], [1, 3]], [[1], [1, 3]], 2).values == {"0": 0.5, "1": 1.0}
    assert cf.stats.ann_recall({"q": [1, 2]}, {}, 2).mean == 0.0
    with pytest.raises(cf.InputError, match="negative"):
        cf.stats.ann_recall([-2.0, -1.0], [-2.0, -1.0], 2, relative=True)
    with pytest.raises(cf.InputError, match="expected 3"):
        cf.stats.ann_recall([1, 2], [1, 2], 3)


def test_nuggets_of_a_file(tmp_path: Path) -> None:
    nuggets = [{"text": "x", "importance": "okay", "assignment": "support"}]
    file = tmp_path / "nuggets.jsonl"
    file.write_text("".join(json.dumps({"qid": q, "nuggets": of}) + "\n" for q, of in (("1", nuggets), ("2", []))))
    assert cf.stats.nugget_recall(str(file)).values == {"1": 1.0, "2": 0.0}
    assert cf.stats.nugget_recall(str(file), undefined="skip").mean == 1.0
    assert cf.stats.nugget_recall(str(file), over="vital").mean == 0.0
    file.write_text('{"query": "1"}\n')
    with pytest.raises(cf.InputError, match="`qid`"):
        cf.stats.nugget_recall(str(file))
    with pytest.raises(cf.InputError, match="importance"):
        cf.stats.nugget_recall({"q": [{"assignment": "support"}]})


@given(st.text("abcä", max_size=70), st.text("abcä", max_size=9))
def test_edit_distance_is_that_of_the_recurrence(a: str, b: str) -> None:
    @functools.cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i or j
        replaced = distance(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        return min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, replaced)

    assert edit_distance(a, b) == edit_distance(b, a) == distance(len(a), len(b))


def test_what_contexts_leave_undefined() -> None:
    assert math.isnan(cf.stats.context_precision([], ["a"]))
    assert math.isnan(cf.stats.context_recall(["a"], []))
    assert math.isnan(cf.stats.context_precision([], ["a"], match="id"))
    assert cf.stats.context_recall([], ["a"], match="id") == 0.0
    with pytest.raises(cf.CranfieldError, match="string, id"):
        cf.stats.context_precision(["a"], ["a"], match="text")  # type: ignore[arg-type]
