"""Golden cases of `cranfield.measures.gain`."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import cranfield as cf


def equation_3(gains: list[float], pool: list[float]) -> float:
    """NDCG' of Liu et al., eq 3, with discounts 1/log2(i+1)."""
    length, total = len(gains), sum(pool)
    terminal = 1.0 if total == 0 else sum(gains) / total
    positive = sorted((gain for gain in pool if gain > 0), reverse=True)
    ideal = [*positive, 1.0][: length + 1]

    def discounted(values: list[float]) -> float:
        return sum(value / math.log2(rank + 2) for rank, value in enumerate(values))

    return discounted([*gains, terminal]) / discounted(ideal)


@pytest.mark.parametrize("levels", [[0, 1], [0, 1, 5, 10], [0, 0.1, 0.5, 1]])
def test_terminal_ndcg_is_equation_3_on_the_gains_as_they_are(levels: list[float]) -> None:
    rng = np.random.default_rng(1)
    highest = 0.0
    for _ in range(300):
        pool = rng.choice(levels, rng.integers(1, 7)).tolist()
        length = int(rng.integers(0, len(pool) + 1))
        score = cf.parse("nDCG[terminal]")(pool[:length], missed=pool[length:])
        assert score == pytest.approx(equation_3(pool[:length], pool), abs=1e-12)
        assert cf.parse("nDCG(ideal='bounded')[terminal]")(pool[:length], missed=pool[length:]) <= 1 + 1e-12
        highest = max(highest, score)
    # Only gains between 0 and 1 can exceed 1.
    assert (highest > 1 + 1e-9) == (0.5 in levels)


def test_max_divides_the_gains_of_terminal_ndcg() -> None:
    assert cf.parse("nDCG(max=10)[terminal]")([10, 1], missed=[5]) == pytest.approx(equation_3([1, 0.1], [1, 0.5, 0.1]))


def test_the_ideal_of_the_retrieved_documents_by_enumeration() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        grades = rng.integers(0, 4, rng.integers(1, 6)).tolist()
        k = int(rng.integers(1, 6))
        dcg = cf.parse(f"DCG@{k}")
        scores = [dcg(order) for order in itertools.permutations(grades)]
        name = f"nDCG(R='retrieved')@{k}"
        ordered = cf.parse(name)(grades, missed=[3])
        tied = cf.parse(f"{name}[ties=expected]")([tuple(grades)], missed=[3])
        if max(scores) == 0:
            assert math.isnan(ordered) and math.isnan(tied)
        else:
            assert ordered == pytest.approx(dcg(grades) / max(scores))
            assert tied == pytest.approx(np.mean(scores) / max(scores))


def notes_of(name: str, grades: dict[str, float]) -> list[str]:
    scores = cf.evaluate({"q": grades}, {"q": list(grades)}, name)
    return [str(note) for note in scores.notes if note.kind == "above_one"]


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("RBP(p=0.5, max=1)", 1.5),
        ("RBP(p=0.5, max=6)", 0.25),
        ("RBP(p=0.5, gain={1: 0.1, 2: 0.3, 3: 0.7})", 0.35),
        ("RBP(p=0.5, gain={1: 1, 2: 4, 3: 2})", 0.25),
        ("RBP(p=0.5, gain={1: 1, 2: 4, 3: 2}, max=8)", 0.125),
        ("RBP(p=0.5, gain='exp', max=1)", 3.5),
        ("SDCG(max=1)@1", 3.0),
        ("HIT(max=2)@1", 1.5),
        ("AP(graded=True, max=1)", 3.0),
        ("nDCG(max=1)@1", 1.0),
    ],
)
def test_gains_are_divided_and_never_clipped(name: str, score: float) -> None:
    """One document of grade 3."""
    scores = cf.evaluate({"q": {"a": 3}}, {"q": ["a"]}, name)
    assert float(scores) == pytest.approx(score)
    assert bool(notes_of(name, {"a": 3})) == (score > 1)


def test_a_note_says_when_gains_below_one_may_exceed_one() -> None:
    assert "ideal='bounded'" in notes_of("nDCG[terminal]", {"a": 0.5})[0]
    for name in ("nDCG[terminal]", "nDCG(ideal='bounded')[terminal]", "nDCG"):
        assert not notes_of(name, {"a": 1, "b": 5} if name == "nDCG[terminal]" else {"a": 0.5})


@pytest.mark.parametrize("name", ["ERR", "nERR", "EBR", "nEBR", "iRBU", "niRBU", "NERR10", "NERR11", "INST", "rpref_N"])
def test_gains_that_are_probabilities_refuse_grades_above_max(name: str) -> None:
    qrels, run = {"q": {"a": 3, "b": 1}}, {"q": ["a", "b"]}
    with pytest.raises(cf.MeasureError, match=r"grade 3 is above max=2.*probabilities"):
        cf.evaluate(qrels, run, f"{name}(max=2)")
    assert 0 <= float(cf.evaluate(qrels, run, f"{name}(max=3)")) <= 1
    assert 0 <= float(cf.evaluate(qrels, run, f"{name}(max=2, rel=1)")) <= 1


def test_subtopic_grades_above_max_are_refused() -> None:
    qrels = {"q": {"a": {"1": 3}, "b": {"2": 1}}}
    with pytest.raises(cf.MeasureError, match="grade 3 is above max=2"):
        cf.evaluate(qrels, {"q": ["a", "b"]}, "ERR_IA(norm='paper', max=2)")


def test_a_map_with_a_missing_grade_is_refused_where_gains_are_probabilities() -> None:
    with pytest.raises(cf.MeasureError, match="a gain of 4 is above 1"):
        cf.evaluate({"q": {"a": 4}}, {"q": ["a"]}, "NERR10(gain={1: 0.5})")


def test_the_residual_knows_gains_above_one() -> None:
    """An unjudged document at rank 2 and all below it may have the top grade, which gains 3."""
    scores = cf.evaluate({"q": {"a": 3}}, {"q": ["a", "x"]}, "RBP(p=0.5, max=1)", show="residuals")
    assert scores._means[0].tolist() == pytest.approx([1.5, 1.5])
