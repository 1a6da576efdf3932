"""Views, alone and together, against what they mean: rankings cut, condensed and ended by hand.

Their means over ties are those of all orders: `tests/measures/ties/test_limits.py`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.ranking.rankings import from_ranking
from cranfield.ranking.views import Gains, condense, truncate
from every_measure import NAMES, grades, missed, rankings, same

TOP = 3
untied = st.lists(grades, max_size=7)
TERMINAL = ["RR", "RR(rel=2)", "RBP(p=0.7, max=3)", "nDCG(max=3)", "nDCG(max=3, ideal='bounded')", "AP", "AP(rel=2)",
            "AP(graded=True, max=3)", "InvSq(max=3)", "RBP(p=0.5, rel=1)", "nDCG(rel=1)", "nDCG(gain='exp', max=3)@3",
            "P(rel=1)@3", "P(rel=2)@9", "SDCG(max=3)@3", "SDCG(max=3)@9"]  # fmt: skip


def terminated(name: str, gains: list[float], pool: list[float]) -> float:
    """Liu et al.'s four measures (and inverse squares in the manner of RBP), straight from the equations."""
    d, total = len(gains), sum(pool)
    end = 1.0 if total == 0 else sum(gains) / total
    symbol, k = name.split("(")[0].split("@")[0], math.inf
    if "@" in name:
        k = int(name.split("@")[1])
    if symbol == "RR":
        first = next((i for i, g in enumerate(gains, 1) if g > 0), None)
        return 1 / first if first else (1 / (d + 1) if total == 0 else 0.0)
    if symbol == "RBP":
        p = 0.7 if "0.7" in name else 0.5
        return (1 - p) * sum(g * p**i for i, g in enumerate(gains)) + end * p**d
    if symbol == "InvSq":
        return sum(g / (i * (i + 1)) for i, g in enumerate(gains, 1)) + end / (d + 1)
    if symbol in ("P", "SDCG"):  # a fixed number of ranks: those below the list have the terminal gain
        ranks = [*gains, *[end] * max(0, int(k) - d)][: int(k)]
        weight = [1.0 if symbol == "P" else 1 / math.log2(i + 1) for i in range(1, int(k) + 1)]
        return sum(g * w for g, w in zip(ranks, weight, strict=True)) / sum(weight)
    whole = [*gains, end]
    if symbol == "AP":
        return sum(g * sum(whole[:i]) / i for i, g in enumerate(whole, 1)) / (total + 1)
    positive = sorted((g for g in pool if g > 0), reverse=True)
    ideal = [*positive, 1.0, *[0.0] * (d + 1)][: d + 1]
    if "bounded" in name and len(positive) >= d + 1:
        ideal[d] = max(ideal[d], sum(ideal[:d]) / total)
    discounted = lambda values: sum(v / math.log2(i + 1) for i, v in enumerate(values, 1) if i <= k)  # noqa: E731
    return discounted(whole) / discounted(ideal)


def by_hand(name: str, order: list, missed: list, *, depth: int | None, condensed: bool, terminal: bool) -> float:
    """One settled ranking: cut, then condensed, then ended."""
    kept = order[:depth]
    unseen = [g for g in order[len(kept) :] if g is not None] + list(missed)
    if condensed:
        unseen += [g for g in kept if g is not None and g < 0]
        kept = [g for g in kept if g is not None and g >= 0]
    if not terminal:
        return cf.parse(name)(kept, unseen)
    gains = cf.parse(name).gains
    value = lambda grades: gains.of(np.array([-1.0 if g is None else g for g in grades]), TOP).tolist()  # noqa: E731
    return terminated(name, value(kept), value([g for g in [*kept, *unseen] if g is not None]))


def written(name: str, *, depth: int | None, condensed: bool, terminal: bool) -> str:
    views = [f"depth={depth}"] * (depth is not None) + ["condensed"] * condensed + ["terminal"] * terminal
    return f"{name}[{', '.join(views)}]" if views else name


@pytest.mark.parametrize("name", TERMINAL)
@pytest.mark.parametrize(("cut", "condensed"), [(False, False), (False, True), (True, False), (True, True)])
@settings(max_examples=25, deadline=None)
@given(untied, missed, st.integers(1, 6))
def test_terminal(name: str, cut: bool, condensed: bool, ranking: list, missed: list, depth: int) -> None:
    views = {"depth": depth if cut else None, "condensed": condensed, "terminal": True}
    missed = [*missed, -1]
    batch_top = from_ranking(ranking, missed).judged.top
    if "max" not in name and "rel" not in name and name != "AP" and name != "RR" and batch_top != TOP:
        return
    assert same(cf.parse(written(name, **views))(ranking, missed), by_hand(name, ranking, missed, **views))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("condensed", [False, True])
@settings(max_examples=12, deadline=None)
@given(untied, missed, st.integers(1, 6))
def test_depth(name: str, condensed: bool, ranking: list, missed: list, depth: int) -> None:
    views = {"depth": depth, "condensed": condensed, "terminal": False}
    missed = [*missed, TOP]  # the collection's top grade stays what it is when documents are cut off
    assert same(cf.parse(written(name, **views))(ranking, missed), by_hand(name, ranking, missed, **views))


@settings(max_examples=100, deadline=None)
@given(rankings, missed, st.integers(1, 6))
def test_condensing_and_cutting_twice_is_once(ranking: list, missed: list, depth: int) -> None:
    batch = from_ranking([tuple(group) for group in ranking], missed).batch(Gains(), None)
    for view in (condense, lambda b: truncate(b, depth)):
        once, twice = view(batch), view(view(batch))
        for field in ("grade", "gain", "start", "size", "length"):
            np.testing.assert_array_equal(getattr(once, field), getattr(twice, field), err_msg=field)


def test_the_order_of_views_is_part_of_the_score() -> None:
    """trec_eval cuts and then condenses; cut-offs after @ count positions of the condensed list."""
    ranking = [1, None, None, 1]
    assert cf.parse("R@2[depth=2, condensed]")(ranking) == 0.5
    assert cf.parse("R@2[condensed]")(ranking) == 1.0


@pytest.mark.parametrize("name", ["RR", "RBP(p=0.5)", "nDCG", "AP"])
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0, 1]), max_size=7), st.lists(st.just(1), max_size=3))
def test_padding_with_a_bad_document_never_helps(name: str, ranking: list, missed: list) -> None:
    measure = cf.parse(f"{name}[terminal]")
    score = measure(ranking, missed)
    assert -1e-12 <= score <= 1 + 1e-12
    assert measure([*ranking, 0], missed) <= score + 1e-12
    assert measure([*ranking, None], missed) <= score + 1e-12
    perfect = all(ranking) and not missed
    if name != "RR":
        assert (abs(score - 1) < 1e-12) == perfect


def test_silence_is_the_right_answer_to_a_query_without_one() -> None:
    qrels = {"q": {"a": 0}}
    names = [f"{name}[terminal]" for name in ("RR", "RBP(p=0.5)", "nDCG", "AP")]
    assert cf.evaluate(qrels, {"q": {}}, names)._means[0].tolist() == [1, 1, 1, 1]
    assert cf.evaluate(qrels, {}, names)._means[0].tolist() == [1, 1, 1, 1]
    assert cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, names)._means[0].tolist() == pytest.approx(
        [1 / 3, 0.25, 0.5, 1 / 3]
    )


@pytest.mark.parametrize("name", ["F1@5", "SetP", "DCG", "Q", "ERR", "bpref"])
def test_measures_without_a_terminal_form_say_why(name: str) -> None:
    with pytest.raises(cf.MeasureError) as caught:
        cf.parse(f"{name}[terminal]")
    assert str(caught.value) == (
        f"{cf.parse(name).symbol} has no terminal form: {cf.parse(name).definition.terminal}\n\n"
        "hint: measures with a terminal form: P, AP, GMAP, RR, nDCG, SDCG, RBP, RBPbeta, InvSq, INSQ"
    )


# Table 1 of *Quit While Ahead*: rankings, and how many documents are relevant.
TABLE_1 = [
    ("11100", 3),
    ("111000", 3),
    ("1110", 3),
    ("111", 3),
    ("11", 3),
    ("1", 3),
    ("", 3),
    ("000", 3),
    ("", 0),
    ("000", 0),
]


@pytest.mark.parametrize(("ranking", "relevant"), TABLE_1)
@pytest.mark.parametrize("k", [1, 3, 5, 10])
def test_weighted_precision_of_lists_that_end(ranking: str, relevant: int, k: int) -> None:
    grades = [int(sign) for sign in ranking]
    missed = [1] * (relevant - sum(grades)) or [0]
    d, end = len(grades), 1.0 if relevant == 0 else sum(grades) / relevant
    for name, weights in (("P", [1.0] * k), ("SDCG", [1 / math.log2(i + 1) for i in range(1, k + 1)])):
        gains = [grades[i] if i < d else end for i in range(k)]
        value = sum(g * w for g, w in zip(gains, weights, strict=True)) / sum(weights)
        measure = cf.parse(f"{name}(max=1)@{k}[terminal]" if name == "SDCG" else f"P@{k}[terminal]")
        assert measure(grades, missed) == pytest.approx(value, abs=1e-12), name


def test_the_terminal_document_of_precision_is_repeated_down_to_the_cutoff() -> None:
    """“11” with R = 3 has r_t = 2/3 at ranks 3, 4 and 5: (1 + 1 + 3 · 2/3) / 5; at rank 3 only it would be 8/15."""
    assert cf.parse("P@5[terminal]")([1, 1], missed=[1]) == pytest.approx(0.80, abs=1e-12)
    assert cf.parse("P@3[terminal]")([1, 1], missed=[1]) == pytest.approx(8 / 9, abs=1e-12)
