"""What is true of the collection stands in the collection, for studies as for other commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from study_samples import call

import cranfield as cf
from cranfield import example
from cranfield.errors import UsageError

QRELS = str(example.path("qrels.txt"))
RUNS = [str(example.path(name)) for name in ("bm25.run", "dense.run", "quiet.run")]
LISTS = {"q1": {"a": 2.0, "NIL": 1.0}, "q2": {"NIL": 3.0, "c": 1.0}, "q3": {"d": 2.0, "e": 1.0}}
OTHERS = {"q1": {"b": 2.0}, "q2": {"c": 3.0}, "q3": {"e": 2.0, "d": 1.0}}
JUDGED = {"q1": {"a": 1}, "q2": {"c": 0}, "q3": {"d": 1, "e": 0}}


def tables(result: Any) -> str:
    return str(result.write(width=200))


def test_the_level_of_a_collection() -> None:
    collection = cf.Collection(QRELS, rel=2)
    by_name = cf.lab.correlation(QRELS, RUNS, ["AP(rel=2)", "P(rel=2)@5"])
    assert cf.lab.correlation(collection, RUNS, ["AP", "P@5"]).means.tolist() == by_name.means.tolist()
    ties = cf.lab.ties(collection, RUNS, ["AP"], samples=5).scores
    assert ties.tolist() == cf.lab.ties(QRELS, RUNS, ["AP(rel=2)"], samples=5).scores.tolist()
    cuts = [
        cf.lab.stopping(*given).results[0].uncut for given in ((collection, RUNS, "AP"), (QRELS, RUNS, "AP(rel=2)"))
    ]
    assert cuts[0] == cuts[1] != cf.lab.stopping(QRELS, RUNS, "AP").results[0].uncut


def test_a_setting_takes_the_place_of_what_the_collection_says() -> None:
    how: dict[str, Any] = {"rates": (50,), "repeats": 2, "samples": 20}
    by_collection = cf.lab.reduction(cf.Collection(QRELS, rel=2), RUNS, ["AP"], **how)
    assert by_collection.settings.rel == 2
    assert cf.lab.reduction(cf.Collection(QRELS, rel=2), RUNS, ["AP"], rel=3, **how).settings.rel == 3


def test_no_answer_of_a_collection() -> None:
    collection = cf.Collection(JUDGED, nil="NIL", full_length=2)
    runs = {"one": LISTS, "other": OTHERS}
    expected = cf.lab.truncation(JUDGED, list(runs.values()), nil="NIL", full_length=2)
    assert tables(cf.lab.truncation(collection, list(runs.values()))) == tables(expected)
    answers = {curve.rule: curve for curve in cf.lab.stopping(collection, LISTS, "RR").answers}
    # The list of q2 begins with NIL: no threshold makes it an answer.
    assert answers["score"].values[0].max() == pytest.approx(2 / 3)


def test_the_documents_of_a_collection() -> None:
    documents = example.path("documents.jsonl")
    how: dict[str, Any] = {"measures": ["StRecall@5", "DELTARB@5"], "rates": (50, 100), "repeats": 2}
    qrels = str(example.path("qrels.diversity.txt"))
    expected = cf.lab.sampling(qrels, RUNS, corpus=documents, **how)
    found = cf.lab.sampling(cf.Collection(qrels, documents=documents), RUNS, **how)
    assert tables(found) == tables(expected)


def test_the_file_of_a_collection(tmp_path: Path) -> None:
    path = tmp_path / "collection.toml"
    path.write_text(f"qrels = '{QRELS}'\nrel = 2\n", encoding="utf-8")
    for top in ((), ("--top", 2)):
        options = ("--samples", 5, "--format", "json", *top)
        of_file = call("study", "ties", path, *RUNS, "-m", "AP", *options)
        by_name = call(
            "study", "ties", QRELS, *RUNS, "-m", "AP(rel=2)", *options, *(["--top-by", "AP(rel=2)"] if top else [])
        )
        found, expected = json.loads(of_file.stdout), json.loads(by_name.stdout)
        assert [found[key] for key in ("runs", "scores")] == [expected[key] for key in ("runs", "scores")]


def test_what_no_study_uses() -> None:
    collection = cf.Collection(groups={"q1": {"ann": {"a": 1}, "bob": {"a": 0}}})
    with pytest.raises(UsageError, match="a study cannot use groups of a collection"):
        cf.lab.ties(collection, LISTS)
