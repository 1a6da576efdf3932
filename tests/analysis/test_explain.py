"""Explanations: what ranks earn adds up to the score, and what words do adds up to what subtopics moved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from corpus_samples import NAMES, QRELS, TEXTS, documents, judged, texts
from cranfield.analysis.explain import TextExplanation
from cranfield.report import explanation as figures
from cranfield.report.canvas import save_all
from cranfield.report.explanation import pages
from cranfield.report.pages import FORMATS, write

RUN = {"q": {d: -float(i) for i, d in enumerate(["D2", "D9", "D1", "D3", "D6"])}, "other": {"D1": 1.0}}


def explained(name: str = "DELTARB(mu=10)@5", **how: Any) -> TextExplanation:
    return cf.explain(cf.Collection(QRELS, documents=TEXTS), RUN, name, **how)


def test_models_that_are_no_probabilities_cannot_be_explained_by_words() -> None:
    with pytest.raises(cf.MeasureError, match="explain needs models that are probabilities"):
        explained("DELTARB(smoothing='printed')@5", query="q")


@settings(max_examples=60, deadline=None)
@given(texts, judged, st.lists(documents, unique=True, min_size=1, max_size=7), st.sampled_from(NAMES))
def test_everything_adds_up(texts: dict, judged: dict, ranking: list, name: str) -> None:
    run, measure = {"q": {d: -float(i) for i, d in enumerate(ranking)}}, f"{name}(mu=10)@5"
    try:
        collection = cf.Collection({"q": judged}, documents=texts, allow_disjoint=True)
        found = cf.explain(collection, run, measure)
    except cf.InputError:
        return
    assert found.score == cf.evaluate(collection, run, measure).values[0, 0, 0]
    assert sum(step.earned for step in found.steps) == pytest.approx(found.score, abs=1e-12)
    assert [step.document for step in found.steps] == ranking[:5]
    for rank, step in enumerate(found.steps):
        s = found.subtopics.index(step.subtopic)
        assert step.after == found.near[rank, s]
        assert step.before == (found.near[rank - 1, s] if rank else 0)
        assert sum(one.change for one in step.words) == pytest.approx(step.change, abs=1e-9 * max(1, abs(step.change)))
        assert {one.word for one in step.words} == set(texts.get(step.document, "").split())
        assert step.judged == judged.get(step.document)
        # No subtopic gained more than the one that is told of.
        before = found.near[rank - 1] if rank else np.zeros(len(found.subtopics))
        rises = np.clip(found.near[rank], 0, None) - np.clip(before, 0, None)
        assert rises[s] == rises.max()


def test_a_document_that_nobody_judged() -> None:
    first, missing, third, *_ = explained().steps
    assert (first.document, first.judged, first.subtopic) == ("D2", None, "2")
    assert first.earned == pytest.approx(0.2 * 0.2078423147820243)
    assert [one.word for one in first.words if one.change > 0] == ["phone", "chip"]
    assert [one.word for one in first.words if one.change < 0] == ["apple"]
    assert (missing.known, missing.earned, missing.change, missing.words) == (False, 0, 0, ())
    assert third.judged == {"1": 1.0}


def test_views_and_plain_judgments() -> None:
    assert [step.document for step in explained(condensed=True).steps] == ["D1", "D3"]
    assert [step.document for step in explained(depth=2).steps] == ["D2", "D9"]
    assert [step.document for step in explained("ABSNB(mu=10)@1").steps] == ["D2"]
    plain = cf.explain(cf.Collection({"q": {"D1": 1, "D3": 0}}, documents=TEXTS), RUN, "ABSRB(whole=True)")
    assert plain.subtopics == ("",)
    assert [step.judged for step in plain.steps] == [None, None, {"": 1.0}, {"": 0.0}, None]


def test_an_empty_list_has_nothing_to_explain() -> None:
    found = cf.explain(cf.Collection(QRELS, documents=TEXTS), {"q": {}}, "DELTARB")
    assert (found.score, found.steps) == (0, ())


@pytest.mark.parametrize("format", FORMATS)
def test_formats(format: str) -> None:
    found = explained()
    text = write(pages(found), found.to_dict(), format, width=100)
    assert "unjudged" in text or format == "json"
    assert "phone" in text
    if format == "json":
        data = json.loads(text)
        assert data["score"] == found.score
        assert data["ranks"][0]["judged"] is None
        assert sum(data["ranks"][0]["words"].values()) == pytest.approx(data["ranks"][0]["after"])
        assert "qrels: all 3 relevant documents are in the corpus" in data["notes"]


def test_table() -> None:
    found = explained()
    text = write(pages(found, words=2), found.to_dict(), width=100)
    rows = [line.split() for line in text.splitlines()]
    assert text.startswith("DELTARB(mu=10)@5 of run for query q: 0.0698\n")
    for row in RANKS + WORDS:
        assert row.split() in rows


RANKS = [
    "1     D2        unjudged  2              0.0416       0.0000   0.2078",
    "2     D9        unjudged  not in corpus  0.0000       0.2078   0.2078",
    "3     D1        1: 1      1              0.0029      -0.5665   0.0223",
    "4     D3        2: 1      2              0.0253      -0.9887   0.2475",
    "5     D6        unjudged  1              0.0000      -0.7465  -1.0994",
]
WORDS = [
    "1     D2          phone    apple      +0.0575  +0.2078",
    "                +0.4747  -0.3243",
    "2     D9                               0.0000   0.0000",
    "3     D1            pie     tart      -0.1024  +0.5888",
    "                +0.4483  +0.2429",
    "4     D3         screen    phone      +0.0716  +1.2363",
    "                +0.7224  +0.4423",
    "5     D6           chip      fab      -0.0895  -0.3529",
    "                -0.1700  -0.0935",
]


def test_figure(tmp_path: Path) -> None:
    written = save_all(figures.drawings(explained()), str(tmp_path))
    assert sorted(path.name for path in written) == [
        f"explain-run-q-DELTARB_mu_10_5.{kind}" for kind in ("pdf", "png", "svg")
    ]
    drawn = (tmp_path / "explain-run-q-DELTARB_mu_10_5.svg").read_text()
    assert "phone, chip" in drawn
    assert "unjudged" in drawn
    assert "not relevant" not in drawn  # there is none to be told apart
    figures.draw(cf.explain(cf.Collection(QRELS, documents=TEXTS), {"q": {}}, "DELTARB"))
    many = {"q": {name: {f"{name}-{i}": 1 for i in range(4)} for name in TEXTS if name != "D5"}}
    axis = figures.draw(cf.explain(cf.Collection(many, documents=TEXTS), {"q": {"D1": 1.0}}, "DELTARB")).axes[0]
    lines = [line for line in axis.lines if line.get_label().startswith("subtopic")]
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == len(lines) == 20


WRONG = {
    "many orders": (("DELTARB[ties=expected]",), {}, "ties=expected"),
    "no such query": (("DELTARB",), {"query": "z"}, "qrels has no query `z`"),
    "not judged": (("DELTARB",), {"query": "other"}, "qrels has no query `other`"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_explained(case: str) -> None:
    args, how, message = WRONG[case]
    with pytest.raises(cf.CranfieldError) as caught:
        explained(*args, **how)
    assert message in str(caught.value)


def test_queries_that_cannot_be_explained() -> None:
    qrels = {"q": QRELS["q"], "r": {"D1": {"1": 0, "2": 0}}, "s": QRELS["q"]}
    for query, message in {
        None: "q, r, s",
        "r": "undefined for query `r`",
    }.items():
        with pytest.raises(cf.CranfieldError) as caught:
            cf.explain(
                cf.Collection(qrels, documents=TEXTS), {"q": {"D1": 1.0}, "r": {"D1": 1.0}}, "DELTARB", query=query
            )
        assert message in str(caught.value)
    silent = cf.explain(cf.Collection(qrels, documents=TEXTS), {"q": {"D1": 1.0}}, "DELTARB", query="s")
    assert (silent.score, silent.steps) == (0, ())
    assert str(silent)
