"""Measures of one's own: functions of one ranking."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import MeasureError

QRELS = {"q": {"a": 2, "b": 0, "c": 1}, "r": {"c": 1}}
RUN = {"q": {"b": 1.0, "a": 1.0, "x": 1.0, "c": 0.5}, "r": {"z": 1.0}}


@pytest.fixture(autouse=True)
def _catalogue() -> Iterator[None]:
    with patch.dict(cf.measures.CATALOGUE):
        yield


def reciprocal(grades: Any) -> float:
    """The reciprocal rank of the first relevant document."""
    ranks = np.flatnonzero(grades > 0) + 1
    return 1 / ranks[0] if len(ranks) else 0.0


def found(grades: Any, judged: Any) -> Any:
    """Recall."""
    return np.sum(grades > 0) / np.sum(judged > 0)


def gain(grades: Any, judged: Any, *, k: int = 2, level: float = 1) -> Any:
    """nDCG of binary gains."""
    discount = 1 / np.log2(np.arange(2, k + 2))
    top, ideal = np.zeros(k), np.zeros(k)
    top[: len(grades[:k])] = grades[:k] >= level
    ideal[: len(judged[:k])] = judged[:k] >= level
    return np.sum(top * discount) / np.sum(ideal * discount)


@pytest.mark.parametrize("ties", ["trec", "best", "worst", "expected"])
@pytest.mark.parametrize("views", [{}, {"condensed": True}, {"depth": 2}])
def test_same_as_the_catalogue(ties: Any, views: dict[str, Any]) -> None:
    scores = cf.evaluate(QRELS, RUN, [reciprocal, "RR", found, "R@1000"], ties=ties, **views)
    assert np.allclose(scores.values[:, 0], scores.values[:, 1])
    assert np.allclose(scores.values[:, 2], scores.values[:, 3])


def test_bounds_over_judgments() -> None:
    scores = cf.evaluate(QRELS, RUN, [reciprocal, "RR"], show="bounds")
    assert np.array_equal(scores.values[:, :3], scores.values[:, 3:])


def test_label_is_the_name() -> None:
    scores = cf.evaluate(QRELS, RUN, [reciprocal, found], ties="worst")
    assert scores.measures == ("reciprocal", "found")
    assert cf.evaluate(QRELS, RUN, reciprocal).measures == ("reciprocal",)
    assert scores._means[0, 0] == cf.Evaluator(QRELS, reciprocal, ties="worst").means(RUN)["reciprocal"]


def test_comparison() -> None:
    other = {"q": {"a": 1.0}, "r": {"c": 1.0}}
    compared = cf.compare(QRELS, {"old": RUN, "new": other}, [reciprocal])
    assert compared.to_dict()["pairs"][0]["measure"] == "reciprocal"


def test_arguments_of_the_function() -> None:
    seen = []

    def record(grades: Any, judged: Any) -> float:
        seen.append((grades.tolist(), judged.tolist()))
        return 0.0

    cf.evaluate(QRELS, RUN, record, ties="worst")
    grades, judged = seen[0]
    assert {str(grade) for grade in grades[:2]} == {"0.0", "nan"}
    assert grades[2:] == [2.0, 1.0]
    assert judged == [2.0, 1.0, 0.0]
    assert seen[1] == ([pytest.approx(math.nan, nan_ok=True)], [1.0])


def test_named_with_parameters() -> None:
    cf.measure("Gain", bounds=(0, 1), formula="nDCG of 0 and 1")(gain)
    scores = cf.evaluate(QRELS, RUN, ["Gain", "Gain@3", "nDCG(rel=1)@2", "nDCG(rel=1)@3", "Gain(level=2)@1"])
    assert np.allclose(scores.values[0, :2], scores.values[0, 2:4])
    assert cf.measures.CATALOGUE["Gain"].usage == "Gain(level=1)[@k]"
    assert cf.parse("Gain").rank_cutoff == 2
    assert cf.parse(gain) == cf.parse("Gain")
    with pytest.raises(MeasureError, match="level must be a number"):
        cf.parse("Gain(level='high')")


def test_redefined_in_a_notebook() -> None:
    @cf.measure
    def mine(grades: Any) -> float:
        return 1.0

    before = cf.Evaluator(QRELS, ["mine"])
    first = mine

    @cf.measure("mine")
    def again(grades: Any) -> float:
        return 2.0

    assert before.means(RUN) == {"mine": 1.0}
    assert cf.Evaluator(QRELS, ["mine"]).means(RUN) == {"mine": 2.0}
    assert cf.parse(first) != cf.parse(again)


def test_pickled() -> None:
    scores = cf.evaluate(QRELS, RUN, reciprocal)
    again = pickle.loads(pickle.dumps(scores))
    assert again.measures == scores.measures
    assert again.columns[0].measure([0, 1]) == 0.5


def test_other_callables() -> None:
    class Constant:
        __name__ = "constant"

        def __init__(self, value: float) -> None:
            self.value = value

        def score(self, grades: Any) -> float:
            return self.value

        __call__ = score

    assert cf.evaluate(QRELS, RUN, len)._means[0, 0] == 2.5
    assert cf.evaluate(QRELS, RUN, Constant(3.0))._means[0, 0] == 3.0
    assert cf.evaluate(QRELS, RUN, Constant(4.0).score)._means[0, 0] == 4.0
    assert cf.evaluate(QRELS, RUN, Constant(5.0).score)._means[0, 0] == 5.0
    with pytest.raises(MeasureError, match="an object of type partial has no name"):
        cf.evaluate(QRELS, RUN, partial(reciprocal))
    shares = cf.measure("Share")(partial(found))
    assert cf.evaluate(QRELS, RUN, "Share")._means[0, 0] == cf.evaluate(QRELS, RUN, found)._means[0, 0]
    assert shares.func is found


def test_undefined_without_warning() -> None:
    scores = cf.evaluate({"q": {"b": 0}}, {"q": {"b": 1.0}}, found)
    assert np.isnan(scores.values).all()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "None"),
        ("1", "'1'"),
        (np.zeros(2), "array"),
        (math.inf, "inf"),
        (1j, "1j"),
        (1e308, "1e"),
    ],
)
def test_not_a_number(value: Any, shown: str) -> None:
    def wrong(grades: Any) -> Any:
        return value

    with pytest.raises(MeasureError, match=f"wrong returned {shown}.* for the grades .*expected a number"):
        cf.evaluate(QRELS, RUN, wrong)


def test_a_whole_number_that_python_does_not_write() -> None:
    def wrong(grades: Any) -> Any:
        return -(10**5000)

    with pytest.raises(MeasureError, match=r"wrong returned a number of 16610 bits .*expected a number up to 1e\+100"):
        cf.evaluate(QRELS, RUN, wrong)


@pytest.mark.parametrize("value", [True, np.float32(1), np.int64(1), np.array(1.0), np.bool_(True)])
def test_kinds_of_numbers(value: Any) -> None:
    def right(grades: Any) -> Any:
        return value

    assert cf.evaluate(QRELS, RUN, right)._means[0, 0] == 1


def test_failing_function() -> None:
    def fails(grades: Any) -> float:
        return grades["first"]

    with pytest.raises(MeasureError, match=r"fails raised IndexError: .*test_own.py:\d+\), for the grades \["):
        cf.evaluate(QRELS, RUN, fails)


def test_name_of_the_catalogue() -> None:
    def AP(grades: Any) -> float:
        return 0.0

    for use in (cf.parse, cf.measure):
        with pytest.raises(MeasureError, match="AP is already a measure of the catalogue"):
            use(AP)


def test_saved_and_loaded(tmp_path: Any) -> None:
    cf.measure("Mine")(reciprocal)
    cf.evaluate(QRELS, RUN, "Mine").save(tmp_path / "scores.json")
    assert cf.Scores.load(tmp_path / "scores.json").measures == ("Mine",)


def test_properties() -> None:
    result = cf.lab.properties([found, "R"], documents=3)
    assert len(result.checked) == 2


def test_public() -> None:
    assert "measure" in dir(cf)


def test_a_parameter_before_the_star() -> None:
    def early(grades: Any, k: int = 5) -> float:
        return float((grades[:k] > 0).mean())

    with pytest.raises(MeasureError, match=r"early: the parameter `k` must stand after `\*`"):
        cf.measure(early)


def test_means_of_no_documents_are_undefined_without_a_warning() -> None:
    def mean_grade(grades: Any) -> float:
        return float(grades.mean())

    scores = cf.evaluate({"1": {"a": 1}, "2": {"b": 1}}, {"1": {"a": 1.0}}, [mean_grade])
    assert np.isnan(scores.values[0, 0]).tolist() == [False, True]


ITEMS = {"a": {"price": 4, "brand": "x"}, "b": {"price": 8, "brand": "x"}, "c": {"price": 30, "brand": "y"}}


def test_ids_and_items_of_all_documents() -> None:
    def Brands(grades, ids, items):
        assert len(grades) == len(ids) == len(items["price"])
        return len(set(items["brand"][:2].tolist()))

    def Seen(grades, judged, ids):
        return len(judged) + 10 * (ids == "b").argmax() if len(ids) else np.nan

    collection = cf.Collection({"q": {"a": 1, "z": 0}}, items=ITEMS)
    run = {"q": {"a": 3.0, "c": 2.0, "b": 1.0}}
    assert cf.evaluate(collection, run, [Brands, Seen]).means["run"] == {"Brands": 2.0, "Seen": 22.0}
    tied = {"q": {"a": 2.0, "b": 2.0, "c": 2.0}}
    for ties, value in (("expected", 1 + 2 / 3), ("best", 2.0), ("worst", 1.0)):
        assert float(cf.evaluate(collection, tied, Brands, ties=ties)) == pytest.approx(value)
    assert cf.evaluate(cf.Collection(items=ITEMS), run, Brands).means["run"] == {"Brands": 2.0}
    with pytest.raises(cf.MeasureError, match="a measure of items needs attributes of documents"):
        cf.evaluate({"q": {"a": 1}}, run, Brands)
