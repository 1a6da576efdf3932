"""Answers that say that there is none, and lists that were ended or not: Liu et al., Table 2, case by case."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from golden_cases import STRUCTURED

CASES = {c["id"]: c for c in STRUCTURED}
PLAIN = {"RR": "RR", "RBP": "RBP(p=0.5, max=1)", "NDCG": "nDCG(max=1)@5", "AP": "AP"}
ENDED = {name: f"{measure}[full=5, terminal]" for name, measure in PLAIN.items()}


def as_run(answers: str, relevant: int, query: str) -> tuple[dict, dict]:
    """A list written as 1, 0 and N, with as many relevant documents as there are; the missing ones not retrieved."""
    run, qrels = {}, {"never retrieved": 0}
    for i, answer in enumerate(answers):
        name = "NIL" if answer == "N" else f"d{i}"
        run[name] = 10.0 - i
        if answer != "N":
            qrels[name] = int(answer)
    for i in range(relevant - answers.count("1")):
        qrels[f"m{i}"] = 1
    return {query: run}, {query: qrels}


@pytest.mark.parametrize("case", [c for name, c in CASES.items() if name.startswith("A7-")], ids=lambda c: c["id"])
def test_one_query(case: dict) -> None:
    run, qrels = as_run(case["ranking"], case["params"]["R"], "q")
    scores = cf.evaluate(
        cf.Collection(qrels, nil="NIL"), run, [*PLAIN.values(), *ENDED.values()], undefined="zero"
    )._means[0]
    for i, name in enumerate(PLAIN):
        assert scores[i] == pytest.approx(case["expected"]["original"][name], abs=1e-9), name
        assert scores[i + 4] == pytest.approx(case["expected"]["modified"][name], abs=1e-9), name


def test_system_means() -> None:
    case = CASES["A6-experiment"]
    for system, answers in case["ranking"].items():
        run, qrels = {}, {}
        for query, answer in answers.items():
            one, judged = as_run(answer, case["judgments"][query], query)
            run |= one
            qrels |= judged
        scores = cf.evaluate(
            cf.Collection(qrels, nil="NIL"), run, [*PLAIN.values(), *ENDED.values()], undefined="zero"
        )._means[0]
        for i, name in enumerate(PLAIN):
            assert scores[i] == pytest.approx(case["expected"][name]["original"][system], abs=1e-9), (system, name)
            assert scores[i + 4] == pytest.approx(case["expected"][name]["modified"][system], abs=1e-9), (system, name)


def test_full_length_as_a_keyword_is_the_same() -> None:
    run, qrels = as_run("0000", 0, "q")
    a = cf.evaluate(cf.Collection(qrels, full_length=4), run, "AP", terminal=True)
    assert [str(column.measure) for column in a.columns] == ["AP[full=4, terminal]"]
    assert a._means.tolist() == cf.evaluate(qrels, run, "AP[full=4, terminal]")._means.tolist() == [[0.0]]
    # Without a terminal form there is nothing that the full length could change, and the name stays.
    assert cf.evaluate(cf.Collection(qrels, full_length=4), run, "P@5").measures == ("P@5",)


def test_nil_among_ties_is_the_mean_over_orders() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    tied = cf.evaluate(
        cf.Collection(qrels, nil="NIL"), {"q": {"a": 1.0, "NIL": 1.0, "b": 1.0}}, "AP[ties=expected, terminal]"
    )._means[0, 0]
    orders = ["a NIL b", "a b NIL", "NIL a b", "NIL b a", "b a NIL", "b NIL a"]
    each = [
        cf.evaluate(
            cf.Collection(qrels, nil="NIL"), {"q": {d: -i for i, d in enumerate(order.split())}}, "AP[terminal]"
        )._means[0, 0]
        for order in orders
    ]
    assert tied == pytest.approx(sum(each) / 6)


def test_nil_among_ties_of_others_moves_no_bit() -> None:
    """Orders are taken one by one for the queries that need it alone."""
    tied = {"d0": 2.0, "d1": 2.0, "d2": 1.0, "d3": 2.0, "d4": 1.0}
    judged = {"d1": 2, "d2": 3, **{f"m{i}": 1 + i % 3 for i in range(12)}}
    names = [
        f"{name}[terminal]" for name in ("RR", "AP", "AP(graded=True)@4", "nDCG", "nDCG@3", "RBP", "INSQ", "InvSq")
    ]
    names += [f"{name}[depth=2, terminal]" for name in ("AP", "nDCG", "RBP")]
    alone = cf.evaluate(cf.Collection({"q": judged}, nil="NIL"), {"q": tied}, names, ties="expected").values[0]
    run, qrels = {"q": tied, "nil": {"NIL": 1.0, "a": 1.0, "b": 1.0}}, {"q": judged, "nil": {"a": 3, "b": 0}}
    together = cf.evaluate(cf.Collection(qrels, nil="NIL"), run, names, ties="expected").values[0]
    np.testing.assert_array_equal(together[:, :1], alone)


@pytest.mark.parametrize(
    ("judged", "expected", "remark"),
    [
        ({"a": 1, "NIL": 0}, 0.5, False),
        ({"a": 0, "NIL": 1}, 1.0, False),
        ({"a": 1, "NIL": 1}, 1.0, True),
    ],
)
def test_nil_that_is_judged_relevant_is_the_only_right_answer(
    judged: dict[str, int], expected: float, remark: bool
) -> None:
    scores = cf.evaluate(cf.Collection({"q": judged}, nil="NIL"), {"q": {"NIL": 2.0, "a": 1.0}}, "RR")
    assert float(scores) == expected
    contradiction = "`NIL` and other documents are judged relevant for 1 query; the others count as not relevant"
    assert any(contradiction in str(note) for note in scores.notes) == remark


def test_a_list_longer_than_full_is_refused() -> None:
    run, qrels = as_run("0101", 2, "q")
    with pytest.raises(cf.InputError) as caught:
        cf.evaluate(cf.Collection(qrels, full_length=3), run, "AP", terminal=True)
    assert str(caught.value) == (
        "run: query `q` has 4 documents; the full length is 3\n\n"
        "hint: set the full length to the length limit of the system, or cut rankings with a depth"
    )
    assert cf.evaluate(cf.Collection(qrels, full_length=3), run, "AP", terminal=True, depth=3)._means[
        0, 0
    ] == pytest.approx(0.25)
