"""Values that no reader can use: each is one sentence at every door, and no traceback."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import CranfieldError

QRELS, RUN = {"q": {"a": 1, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}
LONG, SURROGATE = 10**5000, "\ud800"


def score(qrels: Any, run: Any = RUN, measures: Any = ("AP",), **options: Any) -> list[Any]:
    return cf.evaluate(qrels, run, list(measures), **options)._means.tolist()


def with_part(**parts: Any) -> Any:
    return cf.Collection(QRELS, **parts)


def prefs(given: Any) -> list[Any]:
    return score(cf.Collection(prefs=given), measures=["Prefs"])


LONG_NUMBERS: dict[str, Callable[[], Any]] = {
    "document judged": lambda: score({"q": {LONG: 1}}),
    "document": lambda: score(QRELS, {"q": {LONG: 1.0}}),
    "query judged": lambda: score({LONG: {"a": 1}}),
    "query": lambda: score(QRELS, {LONG: {"a": 1.0}}),
    "list": lambda: score(QRELS, {"q": [LONG]}),
    "set": lambda: score({"q": {LONG}}),
    "pair": lambda: score(QRELS, {"q": [(LONG, 1.0)]}),
    "record": lambda: score(QRELS, {"q": [{"id": LONG, "score": 1}]}),
    "row": lambda: score(QRELS, [{"query": "q", "doc": LONG, "score": 1.0}]),
    "positions": lambda: score([[LONG]], [[LONG]]),
    "score": lambda: score(QRELS, {"q": {"a": LONG}}),
    "score of a pair": lambda: score(QRELS, {"q": [("a", LONG)]}),
    "grade": lambda: score({"q": {"a": LONG}}),
    "subtopic": lambda: score({"q": {"a": {LONG: 1}}}),
    "grade of a subtopic": lambda: score({"q": {"a": {"1": LONG}}}),
    "cost": lambda: score(with_part(costs={"q": {"a": LONG}})),
    "document with a cost": lambda: score(with_part(costs={"q": {LONG: 1}})),
    "probability": lambda: score(with_part(inclusion={"q": {"a": LONG, "b": 1}})),
    "method": lambda: score(with_part(method={"q": {"a": LONG}})),
    "prediction": lambda: score(with_part(predicted={"q": {"a": LONG}})),
    "level": lambda: prefs({"q": [["u", "1", "a", LONG]]}),
    "group": lambda: score(cf.Collection(groups={"q": {LONG: {"a": 1}}}), measures=["AP[groups]"]),
}


@pytest.mark.parametrize("place", LONG_NUMBERS)
def test_whole_numbers_that_python_does_not_write(place: str) -> None:
    with pytest.raises(cf.InputError, match=r"more than 4,300 digits"):
        LONG_NUMBERS[place]()


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "no predictions": (lambda: score(with_part(predicted={})), "the predictions are empty"),
    "prefs None": (lambda: prefs({"q": None}), "query `q`: expected a list"),
    "prefs number": (lambda: prefs({"q": 5}), "query `q`: expected a list"),
    "prefs text": (lambda: prefs({"q": "x"}), "query `q`: expected a list"),
    "best of text": (
        lambda: score(QRELS, {"q": [("a", 1.0), ("a", "x")]}, duplicates="best"),
        "position 2: the score is not a number: 'x'",
    ),
    "best of records": (
        lambda: score(QRELS, {"q": [{"id": "a", "score": 1.0}, {"id": "a", "score": "x"}]}, duplicates="best"),
        "position 2: the score is not a number: 'x'",
    ),
    "cost of a surrogate": (lambda: score(with_part(costs={"q": {SURROGATE: 1}})), "that UTF-8 can encode"),
    "two subtopics": (lambda: score({"q": {"a": {"1": 1, 1: 2}}}), "different ids are the same text"),
    "fraction as subtopic": (lambda: score({"q": {"a": {1.5: 1}}}), "an id must be text or a whole number, found 1.5"),
    "dict and list": (lambda: cf.stats.kendall({"a": 1.0, "b": 2.0}, [1.0, 2.0]), "of the same kind"),
    "other systems": (lambda: cf.stats.tau({"a": 1.0, "b": 2.0}, {"a": 1.0, "c": 2.0}), "only one of the scorings has"),
}


@pytest.mark.parametrize("place", WRONG)
def test_wrong_values_are_one_sentence(place: str) -> None:
    call, words = WRONG[place]
    with pytest.raises(CranfieldError) as error:
        call()
    assert words in str(error.value) + error.value.hint


@pytest.mark.parametrize("name", ["kendall", "tau", "tau_ap", "spearman", "pearson"])
@pytest.mark.parametrize("scores", [["a", "b"], [10**400, 1], [{"a": 1}, {"b": 1}]])
def test_correlations_need_numbers(name: str, scores: Any) -> None:
    with pytest.raises(CranfieldError, match="scorings of numbers"):
        getattr(cf.stats, name)(scores, scores)


def test_correlations_of_dicts_match_systems_by_name() -> None:
    x, y = {"a": 0.1, "b": 0.2, "c": 0.3}, {"c": 3.0, "a": 1.0, "b": 2.5}
    for name in ("tau", "tau_ap", "spearman", "pearson"):
        assert getattr(cf.stats, name)(x, y) == getattr(cf.stats, name)([0.1, 0.2, 0.3], [1.0, 2.5, 3.0])


@pytest.mark.parametrize("kind", [int, np.int64, lambda number: str(number).encode()])
def test_subtopics_are_ids(kind: Callable[[int], Any]) -> None:
    measures = ["D_nDCG@3", "StRecall@1"]
    expected = score({"q": {"a": {"1": 1}, "b": {"2": 1}}}, measures=measures)
    assert score({"q": {"a": {kind(1): 1}, "b": {kind(2): 1}}}, measures=measures) == expected


def test_a_run_with_a_name_that_cannot_be_encoded(tmp_path: Path) -> None:
    scores = cf.evaluate(QRELS, {SURROGATE: RUN, "other": RUN}, "AP")
    assert "\\ud800" in str(scores.table())
    scores.save(tmp_path / "scores.json")
    assert list(cf.load(tmp_path / "scores.json").runs) == [SURROGATE, "other"]


@pytest.mark.parametrize("kind", [None, 1, [], {}, [1], "other"])
def test_saved_results_of_an_unknown_kind(kind: Any, tmp_path: Path) -> None:
    data = cf.evaluate(QRELS, RUN, "AP").to_dict() | {"kind": kind}
    (tmp_path / "scores.json").write_text(json.dumps(data))
    with pytest.raises(cf.InputError, match="not saved scores"):
        cf.load(tmp_path / "scores.json")


def test_an_evaluator_can_be_pickled() -> None:
    evaluator = cf.Evaluator(QRELS, ["AP", "nDCG@10[ties=expected]"])
    evaluator(RUN)
    copy = pickle.loads(pickle.dumps(evaluator))
    assert copy(RUN)._means.tolist() == evaluator(RUN)._means.tolist()


def cranfield(*arguments: str, folder: Path, redirect: str = "") -> subprocess.CompletedProcess[str]:
    words = " ".join(f"'{word}'" for word in (sys.executable, "-m", "cranfield", *arguments))
    return subprocess.run(["sh", "-c", f"{words} {redirect}"], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n")
    (tmp_path / "run").write_text("q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n")
    (tmp_path / "letor").write_text("2 qid:q 1:0.5 # docid = a\n0 qid:q 1:0.4 # docid = b\n")
    return tmp_path


def test_closed_standard_input(folder: Path) -> None:
    done = cranfield("eval", "qrels", "-", folder=folder, redirect="<&-")
    assert (done.returncode, done.stderr) == (1, "error: <stdin>: standard input is closed\n")


def test_a_full_device_is_named(folder: Path) -> None:
    done = cranfield("eval", "qrels", "run", "-o", "/dev/full", folder=folder)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "error: /dev/full: no space left on device")


@pytest.mark.parametrize("number", ["1" * 5000, "٣", "00", "7"])
def test_features_that_are_not_in_the_file(number: str, folder: Path) -> None:
    with pytest.raises(cf.InputError, match=f"letor: there is no feature {number[:50]}"):
        score(folder / "qrels", f"{folder}/letor#{number}")


@pytest.mark.parametrize("grades", ["² ٣", "0 ۱", "-0", "0 -0 1", "10", ""])
def test_grades_of_a_page_are_digits(grades: str) -> None:
    with pytest.raises(CranfieldError, match="must be single digits"):
        cf.judging.judging_page([], grades=grades.split())


@pytest.mark.parametrize("text", ['{"q": ["a"]}', '{\n "q": ["a"]\n}', '{"q": ["a"], "r": ["b"]}', '{"q": ["a"]}\n'])
def test_json_files_of_lists_are_read_as_in_python(text: str, folder: Path) -> None:
    (folder / "lists.json").write_text(text)
    assert score(folder / "qrels", folder / "lists.json") == score(QRELS, {"q": ["a"]})
    assert score(folder / "lists.json", folder / "run", queries="both") == score({"q": ["a"]}, RUN)
