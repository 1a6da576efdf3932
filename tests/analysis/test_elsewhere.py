"""Measures over several runs, groups of queries or answers: the worked cases, and what the definitions imply."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
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


def neighbour_scores(case: dict[str, Any]) -> dict[str, float]:
    given = case["true_distances"], case["found_distances"], case["count"]
    return {
        "absolute(1e-3)": cf.stats.ann_recall(*given, epsilon=1e-3).mean,
        "relative(0.01)": cf.stats.ann_recall(*given, relative=True, epsilon=0.01).mean,
    }


# How each family of cases is computed; measures of the catalogue have their cases in tests/measures.
COMPUTE = {
    "M2": lambda c: cf.stats.nauc(c["confidence"], c["scores"]),
    "M3": lambda c: cf.stats.Confidence.of(c["scores"])._asdict(),
    "M9": neighbour_scores,
    "M10": nugget_scores,
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
