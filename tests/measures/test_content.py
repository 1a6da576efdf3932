"""Measures of contents: the worked cases, the formulas term by term, every order of ties, and what is said of gaps."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from corpus_samples import NAMES, QRELS, TEXTS, Printed, by_formula, documents, judged, texts
from cranfield.corpus import Corpus, models
from cranfield.evaluation.notes import sentences
from golden_cases import STRUCTURED, without_notes

GOLDEN = STRUCTURED
CASES = [case for case in GOLDEN if case["measure"] == "divergence-gains"]
RUN = {"q": {d: -float(i) for i, d in enumerate(["D2", "D9", "D1", "D3", "D6"])}}


def descending(ranking: list[str]) -> dict[str, dict[str, float]]:
    return {"q": {d: -float(i) for i, d in enumerate(ranking)}}


def value(run: Any, qrels: Any, name: str, corpus: Any = TEXTS, **how: Any) -> float:
    return float(without_notes(cf.Collection(qrels, documents=corpus, **how), run, name).values[0, 0, 0])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_worked_case(case: dict) -> None:
    labels: dict[str, dict[str, int]] = {}
    for subtopic, relevant in case["judgments"].items():
        for document in relevant:
            labels.setdefault(document, {})[subtopic] = 1
    names = [f"{name}(mu={case['params']['mu']:g}, theta=0.8)@5" for name in NAMES if name.endswith("RB")]
    names += [f"{name}(mu={case['params']['mu']:g})@5" for name in NAMES if name.endswith("NB")]
    found = cf.evaluate(
        cf.Collection({"q": labels}, documents=case["corpus"]), descending(case["ranking"]), names
    )._means[0]
    expected = [case["expected"][name.partition("(")[0]] for name in names]
    assert found.tolist() == pytest.approx(expected, abs=case["tol"])


def test_there_are_worked_cases() -> None:
    assert [case["id"] for case in CASES] == ["D2-LM-mu10", "D2-LM-mu2500"]


@settings(max_examples=150, deadline=None)
@given(texts, judged, st.lists(documents, unique=True, max_size=7), st.sampled_from([0.4, 10.0, 100.0]), st.data())
def test_only_the_terms_read_are_looked_at_and_all_count(
    texts: dict, judged: dict, ranking: list, mu: float, data: st.DataObject
) -> None:
    corpus = Corpus.of(texts)
    # A background of another collection need not have every term.
    gone = data.draw(st.lists(st.integers(0, len(corpus.terms) - 1), max_size=1))
    frequency = corpus.frequency.copy()
    frequency[gone] = 0
    corpus = replace(corpus, frequency=frequency, total=int(frequency.sum()) + data.draw(st.integers(0, 20)))
    if not any(grade >= 1 and d in texts for d, labels in judged.items() for grade in labels.values()):
        return
    k = data.draw(st.sampled_from([None, 2]))
    at = "" if k is None else f"@{k}"
    names = [f"{name}(mu={mu:g}){at}" for name in NAMES]
    found = cf.evaluate(
        cf.Collection({"q": judged}, documents=corpus), descending(ranking), names, queries="judged"
    ).values[0, :, 0]
    expected = by_formula(corpus, judged, ranking, mu, k)
    assert found.tolist() == pytest.approx([expected.get(name, np.nan) for name in NAMES], abs=1e-10, nan_ok=True)


@settings(max_examples=150, deadline=None)
@given(texts, judged, st.lists(documents, unique=True, max_size=7), st.sampled_from([0.4, 10.0, 2500.0]))
def test_printed_smoothing_is_the_sum_over_all_terms_that_the_paper_prints(
    texts: dict, judged: dict, ranking: list, mu: float
) -> None:
    corpus = Corpus.of(texts)
    if not any(grade >= 1 and d in texts for d, labels in judged.items() for grade in labels.values()):
        return
    names = [f"{name}(mu={mu:g}, smoothing='printed')" for name in NAMES]
    found = cf.evaluate(
        cf.Collection({"q": judged}, documents=corpus), descending(ranking), names, queries="judged"
    ).values[0, :, 0]
    expected = by_formula(corpus, judged, ranking, mu, kind=Printed)
    assert found.tolist() == pytest.approx([expected.get(name, np.nan) for name in NAMES], rel=1e-9, nan_ok=True)


def test_printed_smoothing_by_hand() -> None:
    """Equations 4 to 8 and 11 on a collection of two terms: `a a` is relevant, `a b` is retrieved, μ is 1."""
    share = np.array([3 / 4, 1 / 4])
    relevant, retrieved = (np.array([2, 0]) + 1) / (2 + share), (np.array([1, 1]) + 1) / (2 + share)
    far, near = (float(relevant @ np.log(relevant / other)) for other in (share, retrieved))
    qrels, corpus = {"q": {"d1": {"1": 1}}}, {"d1": "a a", "d2": "a b"}
    found = value(descending(["d2"]), qrels, "ABSNB(mu=1, smoothing='printed')", corpus)
    assert found == pytest.approx(1 - near / far, abs=1e-12)
    assert relevant.sum() == pytest.approx(1.535, abs=1e-3)  # not a probability


def test_shares_of_the_work_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run = {f"q{i}": {d: float(hash((d, i)) % 97) for d in TEXTS} for i in range(9)}
    qrels = dict.fromkeys(run, QRELS["q"])
    together = cf.evaluate(cf.Collection(qrels, documents=TEXTS), run, "ABSNB(mu=10)").values
    monkeypatch.setattr(models, "TERMS_PER_CHUNK", 5)
    assert cf.evaluate(cf.Collection(qrels, documents=TEXTS), run, "ABSNB(mu=10)").values.tolist() == together.tolist()


VARIANTS = ["ABSNB(mu=10)@2", "DELTARB(mu=10)", "ABSRB(mu=3, theta=0.5)@3", "DELTANB(mu=10)@1"]


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("views", ["", "depth=3", "condensed", "depth=2, condensed"])
def test_expected_is_the_mean_over_orders(name: str, views: str) -> None:
    scores = {"D1": 1.0, "D2": 1.0, "D3": 1.0, "D9": 1.0, "D4": 0.5, "D5": 0.5, "D6": 0.5}
    groups = [[d for d in scores if scores[d] == s] for s in (1.0, 0.5)]
    orders = [
        [d for group in order for d in group]
        for order in itertools.product(*(map(list, itertools.permutations(group)) for group in groups))
    ]
    inside = f"[{views}]" if views else ""
    # Every order is a query of its own, so that one evaluation scores all of them.
    by_order = {str(i): descending(order)["q"] for i, order in enumerate(orders)}
    qrels = dict.fromkeys(by_order, QRELS["q"])
    collection = cf.Collection(qrels, documents=TEXTS)
    each = without_notes(collection, by_order, f"{name}{inside}").values[0, 0].tolist()
    found = value({"q": scores}, QRELS, f"{name}[{views}{', ' if views else ''}ties=expected]")
    assert found == pytest.approx(np.mean(each), abs=1e-12)
    assert len(set(each)) > 1


def test_a_sample_of_orders_is_near_the_mean_and_says_how_near() -> None:
    texts = {f"d{i:02}": " ".join(f"w{(i * j) % 13}" for j in range(1, 6)) for i in range(12)}
    qrels = {"q": {"d01": {"1": 1}, "d02": {"2": 1}, "d03": {"1": 1}}}
    run = {"q": dict.fromkeys(texts, 1.0)}
    scores = cf.evaluate(cf.Collection(qrels, documents=texts), run, "DELTARB(mu=10)@4[ties=expected]")
    assert any("standard error" in note for note in sentences(scores.notes))
    orders = list(itertools.permutations(sorted(texts), 4))[::17]
    brute = np.mean([by_formula(Corpus.of(texts), qrels["q"], list(order), 10.0)["DELTARB"] for order in orders])
    assert scores.values[0, 0, 0] == pytest.approx(brute, abs=0.01)
    assert (
        cf.evaluate(cf.Collection(qrels, documents=texts), run, "DELTARB(mu=10)@4[ties=expected]").values
        == scores.values
    )


TIED = {"q": {"D2": 1.0, "D6": 1.00000001, "D3": 1.0, "D1": 1.0}}
RULES = {"trec": "D6 D3 D2 D1", "trec9": "D6 D3 D2 D1", "input": "D6 D2 D3 D1", "rank": "D2 D6 D3 D1"}


@pytest.mark.parametrize(("rule", "order"), RULES.items())
@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_tie_rules(rule: str, order: str, k: int) -> None:
    expected = by_formula(Corpus.of(TEXTS), QRELS["q"], order.split(), 10.0, k)["ABSNB"]
    assert value(TIED, QRELS, f"ABSNB(mu=10)@{k}[ties={rule}]") == pytest.approx(expected, abs=1e-12)


def test_condensed_lists_are_cut_after_condensing() -> None:
    run = descending(["D2", "D6", "D1", "D9", "D3"])
    expected = by_formula(Corpus.of(TEXTS), QRELS["q"], ["D1", "D3"], 10.0)["DELTANB"]
    assert value(run, QRELS, "DELTANB(mu=10)@2[condensed]") == pytest.approx(expected, abs=1e-12)
    deep = by_formula(Corpus.of(TEXTS), QRELS["q"], ["D1"], 10.0)["DELTANB"]
    assert value(run, QRELS, "DELTANB(mu=10)@2[depth=4, condensed]") == pytest.approx(deep, abs=1e-12)


def test_negative_grades_are_unjudged_unless_told_otherwise() -> None:
    qrels = {"q": {**QRELS["q"], "D6": {"1": -2, "2": -2}}}
    run = descending(["D6", "D1"])
    name, corpus = "ABSNB(mu=10)[condensed]", Corpus.of(TEXTS)
    dropped, kept = (by_formula(corpus, QRELS["q"], ranking, 10.0)["ABSNB"] for ranking in (["D1"], ["D6", "D1"]))
    assert value(run, qrels, name) == pytest.approx(dropped, abs=1e-12)
    assert value(run, qrels, name, negative="nonrel") == pytest.approx(kept, abs=1e-12)
    # What nobody judged stays so.
    assert value(descending(["D2", "D1"]), qrels, name, negative="nonrel") == pytest.approx(dropped, abs=1e-12)


def test_beside_other_measures_nothing_changes() -> None:
    names = ["bpref", "infAP", "alpha_nDCG@3", "Judged@3", "AP[condensed]"]
    alone = cf.evaluate(cf.Collection(QRELS, negative="nonrel"), RUN, names)._means.tolist()
    together = (
        cf.evaluate(cf.Collection(QRELS, documents=TEXTS, negative="nonrel"), RUN, ["DELTARB@3", *names])
        ._means[:, 1:]
        .tolist()
    )
    assert together == alone


def test_an_empty_list_earns_nothing_and_no_model_is_undefined() -> None:
    qrels = {"q": QRELS["q"], "none": {"D1": {"1": 0}}, "gone": {"D9": {"1": 1}}}
    run = {"q": {}, "none": {"D1": 1.0}, "gone": {"D1": 1.0}, "new": {"D1": 1.0}}
    scores = cf.evaluate(cf.Collection(qrels, documents=TEXTS), run, ["ABSRB@5", "DELTANB"], queries="run")
    assert scores.queries == ("q", "none", "gone", "new")
    assert scores.values[0, 0].tolist() == pytest.approx([0, np.nan, np.nan, np.nan], nan_ok=True)
    assert scores.values[0, 1].tolist() == pytest.approx([0, np.nan, np.nan, np.nan], nan_ok=True)
    assert (
        cf.evaluate(cf.Collection(qrels, documents=TEXTS), {"q": {"D1": 1.0}}, "ABSRB@5").to_dict()["runs"]["run"][
            "ABSRB@5"
        ]["n"]
        == 1
    )


def test_what_the_corpus_lacks_is_always_told() -> None:
    qrels = {"q": {**QRELS["q"], "D8": {"2": 1, "4": 1}}}
    notes = sentences(cf.evaluate(cf.Collection(qrels, documents=TEXTS), RUN, ["DELTARB@4", "ABSNB@4"]).notes)
    assert any(note.startswith("qrels: 1 of 4 relevant documents are not in the corpus") for note in notes)
    assert any(note.startswith("qrels: 1 of 3 subtopics have no language model") for note in notes)
    assert any(note.startswith("run: 1 of 4 documents ") for note in notes)
    notes = sentences(cf.evaluate(cf.Collection(QRELS, documents=TEXTS), descending(["D1"]), "DELTARB@4").notes)
    assert "qrels: all 3 relevant documents are in the corpus" in notes
    assert any(note.startswith("run: the only document ") for note in notes)


def test_ties_that_could_matter_are_told() -> None:
    tied = {"q": {"D1": 1.0, "D2": 1.0, "D3": 0.5}}
    told = "run: the order of ties could change DELTARB@2; ties=expected gives the mean over all orders"
    assert told in sentences(
        cf.evaluate(cf.Collection(QRELS, documents=TEXTS), tied, ["DELTARB@2", "DELTARB@2[ties=expected]"]).notes
    )
    below = {"q": {"D1": 3.0, "D2": 1.0, "D3": 1.0}}
    assert not any(
        "tied" in note
        for note in sentences(cf.evaluate(cf.Collection(QRELS, documents=TEXTS), below, "DELTARB@1").notes)
    )


def test_plain_judgments_are_one_subtopic_where_somebody_says_so() -> None:
    plain = {"q": {"D1": 1, "D4": 2, "D3": 0}}
    one = {"q": {"D1": {"x": 1}, "D4": {"x": 2}, "D3": {"x": 0}}}
    assert value(RUN, plain, "DELTARB(whole=True)@5") == value(RUN, one, "DELTARB@5")
    together = {"q": {"D1": {"x": 1}, "D4": {"y": 2}, "D3": {"y": 0}}}
    assert value(RUN, together, "DELTARB(whole=True)@5") == value(RUN, one, "DELTARB@5")
    assert value(RUN, plain, "DELTARB(whole=True, rel=2)@5") == value(RUN, {"q": {"D4": {"x": 1}}}, "DELTARB@5")


def test_scores_do_not_depend_on_company() -> None:
    run = {"a": {"D1": 1.0, "D9": 2.0}, "b": {"D3": 1.0, "D2": 1.0, "D6": 0.3}, "c": {}}
    qrels = {"a": QRELS["q"], "b": {"D2": {"7": 1}, "D3": {"1": 1}}, "c": QRELS["q"]}
    name = "ABSRB(mu=10)@2[ties=expected]"
    together = cf.evaluate(cf.Collection(qrels, documents=TEXTS), [run, {"b": {"D6": 1.0}}], name).values[0, 0]
    alone = [value({q: run[q]}, {q: qrels[q]}, name) for q in run]
    assert together.tolist() == pytest.approx(alone, abs=1e-12)


def test_not_a_bit_depends_on_company() -> None:
    """Neither other queries, nor other runs and measures, nor the order of rows move the last bit of a score."""
    rng = np.random.default_rng(5)
    words = [f"w{i}" for i in range(40)]
    texts = {f"d{i}": " ".join(rng.choice(words, int(rng.integers(1, 30)))) for i in range(60)}
    qrels = {
        f"q{q}": {f"d{i}": {str(s): int(rng.integers(0, 2)) for s in range(3)} for i in rng.permutation(70)[:15]}
        for q in range(6)
    }
    runs = [
        {
            q: {f"d{i}": float(rng.integers(0, 9)) for i in rng.permutation(70)[: 4 + 9 * at]}
            for at, q in enumerate(qrels)
        }
        for _ in range(2)
    ]
    names = [f"{name}{cut}{view}" for name in NAMES for cut in ("@7", "@20", "") for view in ("", "[depth=9]")]
    names += ["DELTARB@7[ties=expected]", "ABSNB@3[ties=expected]", "DELTANB[condensed, ties=expected]"]
    together = cf.evaluate(cf.Collection(qrels, documents=texts), runs, names).values
    for r, run in enumerate(runs):
        for q, query in enumerate(qrels):
            backwards = {query: dict(reversed(run[query].items()))}
            judged = {query: dict(reversed(qrels[query].items()))}
            # Beside others of its kind a measure may be told more of a run than it asks for.
            for some in (slice(24), *(slice(m, m + 1) for m in range(24, len(names)))):
                alone = cf.evaluate(cf.Collection(judged, documents=texts), backwards, names[some]).values[0, :, 0]
                assert alone.tolist() == together[r, some, q].tolist(), names[some]


WRONG = {
    "no corpus": ({"documents": None}, "DELTARB@20", QRELS, "DELTARB@20 needs a corpus, because it uses document text\n\nhint: documents= of a Collection, or --corpus, takes a corpus file, a collection, or {document: text}"),
    "not a corpus": ({"documents": 7}, "DELTARB@20", QRELS, "cannot read a corpus from int\n\nhint: give a Corpus, a path, an open binary file or {document: text}"),
    "plain judgments": ({}, "DELTARB(mu=10)@20", {"q": {"D1": 1}}, "qrels: DELTARB(mu=10)@20 needs judgments by subtopic\n\nhint: `DELTARB(mu=10, whole=True)@20` treats each query as one subtopic"),
    "another corpus": ({"documents": {"E1": "x y"}}, "ABSNB", QRELS, "qrels: none of its 3 relevant documents is in the corpus (for example `D1`)\n\nhint: check that both belong to the same collection; a corpus must be built with the judged documents"),
    "nil": ({"nil": "NIL"}, "ABSNB", QRELS, "nil cannot be combined with ABSNB, which needs document text\n\nhint: omit one of the two"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong(case: str) -> None:
    how, name, qrels, message = WRONG[case]
    with pytest.raises(cf.CranfieldError) as caught:
        cf.evaluate(cf.Collection(qrels, **({"documents": TEXTS} | how)), RUN, name)
    assert str(caught.value) == message


def test_what_content_measures_cannot_do() -> None:
    with pytest.raises(cf.MeasureError, match="DELTARB has no terminal form: a terminal document has no text"):
        cf.parse("DELTARB[terminal]")
    with pytest.raises(cf.MeasureError, match="cannot be computed from grades alone"):
        cf.parse("DELTARB")([1, 0])
    with pytest.raises(cf.MeasureError, match="DELTARB has no residual"):
        cf.parse("DELTARB").residual(None)
    with pytest.raises(cf.MeasureError, match="ABSRB@2 has no bounds: it uses the text of unjudged documents"):
        cf.evaluate(cf.Collection(QRELS, documents=TEXTS), RUN, "ABSRB@2", show="bounds")


def test_an_audit_as_far_as_there_can_be_one() -> None:
    """Ties on average, condensed lists, unjudged shares and intervals; no best order, and no bounds."""
    qrels = dict.fromkeys(("q", "r"), QRELS["q"])
    runs = [{q: {"D2": 3.0, "D9": 2.0, "D1": 2.0, "D3": 1.0} for q in qrels}, dict.fromkeys(qrels, RUN["q"])]
    names = ["DELTARB(mu=10)@2", "AP", "ABSNB(mu=10)"]
    found = cf.audit(cf.Collection(qrels, documents=TEXTS), runs, names)
    assert found.score.tolist() == cf.evaluate(cf.Collection(qrels, documents=TEXTS), runs, names)._means.tolist()
    for field, how in (("expected", {"ties": "expected"}), ("condensed", {"condensed": True})):
        one = cf.evaluate(cf.Collection(qrels, documents=TEXTS), runs, names, **how)
        assert getattr(found, field) == pytest.approx(one._means)
    for field in ("worst", "best", "lowest", "highest", "terminal"):
        assert np.isnan(getattr(found, field)).tolist() == [[True, False, True]] * 2
    assert found.low.shape == (2, 3)
    assert found.unjudged[0, 0] == pytest.approx(cf.audit(qrels, runs, "P@2").unjudged[0, 0])


def test_an_audit_without_a_corpus() -> None:
    with pytest.raises(cf.MeasureError, match="DELTARB needs a corpus, because it uses document text"):
        cf.audit(QRELS, RUN, "DELTARB")


def test_a_corpus_that_no_measure_reads_gives_a_note() -> None:
    found = cf.evaluate(cf.Collection({"q": {"d": 1}}, documents="nowhere.jsonl"), {"q": {"d": 1.0}}, "AP")
    assert any("corpus was not read" in note for note in sentences(found.notes))
