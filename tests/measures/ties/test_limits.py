"""ties=expected is the mean value over all orders of tied documents, ties=best and ties=worst are the highest and the
lowest; all orders are enumerated.

``python tests/measures/ties/test_limits.py 10000`` tries as many random rankings with every measure and every view.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

import cranfield as cf
from cranfield.measures import Measure
from every_measure import GAINING, NAMES, Groups, rankings_of

OF_RETRIEVED = ["AP(R='retrieved')", "AP(R='retrieved')@4", "nDCG(R='retrieved')@3", "R(R='retrieved')@2", "F1(R='retrieved')@3"]  # fmt: skip
EVERY_NAME = [*NAMES, *GAINING, *OF_RETRIEVED]
VIEWS = ("", "condensed", "terminal", "condensed, terminal", "depth=3", "depth=3, condensed", "depth=3, terminal",
         "depth=2, condensed, terminal", "depth=3, full=3, terminal")  # fmt: skip


def limits(values: Any) -> tuple[float, float]:
    """The lowest and highest value; an undefined one counts 0 beside others."""
    values = np.asarray(values, float)
    if np.isnan(values).all():
        return np.nan, np.nan
    defined = np.nan_to_num(values)
    return float(defined.min()), float(defined.max())


def random_groups(rng: random.Random, documents: Sequence[Any]) -> Groups:
    """The documents with some of them tied."""
    left, groups = list(documents), []
    while left:
        size = rng.randint(1, len(left))
        groups.append(tuple(left[:size]))
        left = left[size:]
    return groups


def orders(groups: Groups) -> list[list[Any]]:
    """Every order of the documents that the ties leave open."""
    each = [sorted(set(itertools.permutations(group)), key=str) for group in groups]
    return [list(itertools.chain(*order)) for order in itertools.product(*each)]


def with_view(name: str, *views: str) -> str:
    inside = ", ".join(view for view in views if view)
    return f"{name}[{inside}]" if inside else name


# Rankings of grades: None is unjudged, -1 pooled but not judged.


def random_ranking(rng: random.Random) -> tuple[Groups, list[int]]:
    """A ranking of grades, and the grades of judged documents that are not in it."""
    grades = rng.choice([(None, None, -1, 0, 0, 1, 1, 2, 3), (None, None, 0, 0, 2, 2)])
    groups = random_groups(rng, [rng.choice(grades) for _ in range(rng.randint(0, 6))])
    return groups, [rng.choice([0, 0, 1, 2, 3, -1]) for _ in range(rng.randint(0, 3))]


class Enumerated:
    """Random rankings, and every order of each of them."""

    def __init__(self, seed: Any, number: int) -> None:
        rng = random.Random(seed)
        given = [random_ranking(rng) for _ in range(number)]
        each = [
            (q, [(grade,) for grade in order], missed)
            for q, (groups, missed) in enumerate(given)
            for order in orders(groups)
        ]
        self.first = np.searchsorted([q for q, _, _ in each], np.arange(number))
        self.orders = np.diff([*self.first, len(each)])  # different ones, all equally likely
        self.tied, self.untied = rankings_of(given), rankings_of([(groups, missed) for _, groups, missed in each])

    def differing(self, name: str, view: str) -> int:
        """The number of means and limits that are not those of the enumeration."""
        each = parse(with_view(name, view)).values(self.untied).value
        undefined = np.isnan(each)
        nowhere = np.logical_and.reduceat(undefined, self.first)
        defined = np.where(undefined, 0, each)
        differing = 0
        for ties, expected in (
            ("expected", np.add.reduceat(defined, self.first) / self.orders),
            ("worst", np.minimum.reduceat(defined, self.first)),
            ("best", np.maximum.reduceat(defined, self.first)),
        ):
            result = parse(with_view(name, f"ties={ties}", view)).values(self.tied)
            assert result.error is None, "some orders were not tried"
            expected = np.where(nowhere, np.nan, expected)
            differing += int((~np.isclose(result.value, expected, rtol=0, atol=1e-9, equal_nan=True)).sum())
        return differing


def parse(name: str) -> Measure:
    return cf.parse(name)


def has_view(name: str, view: str) -> bool:
    definition, chosen = parse(name).definition, parse(name).chosen
    return "terminal" not in view or not (definition.terminal or chosen.get("R") == "retrieved")


@pytest.mark.parametrize("name", EVERY_NAME)
def test_expected_best_and_worst_are_those_of_all_orders(name: str) -> None:
    enumerated = Enumerated(name, 40)
    if name not in GAINING:  # the others have no bounds
        low, high = parse(name).definition.bounds
        values = parse(name).values(enumerated.untied).value
        assert ((low - 1e-12 <= values) & (values <= high + 1e-12) | np.isnan(values)).all()
    for view in VIEWS:
        if has_view(name, view):
            assert enumerated.differing(name, view) == 0, view


# Documents that are more than their grades: each maker has the parts of a collection of one query, and its documents.

Made = tuple[dict[str, Any], list[str]]


def subtopics(rng: random.Random) -> Made:
    documents = [f"d{i}" for i in range(rng.randint(1, 5))]
    qrels = {d: {s: rng.choice([0, 0, 1, 2]) for s in "xyz"} for d in [*documents, "missed"] if rng.random() < 0.8}
    intents = {"x": 1, "y": rng.choice([0, 2, 0.3]), "z": 0.5}
    types = {"x": "nav", "y": "inf", "z": rng.choice(["inf", "nav"])}
    return {"qrels": {**qrels, "always": {"x": 2, "y": 0, "z": 0}}, "intents": intents, "types": types}, documents


def preferences(rng: random.Random) -> Made:
    documents = [f"d{i}" for i in range(5)]
    judged = [[group, "1", d, rng.randint(0, 2)] for group in "AB" for d in rng.sample(documents, 3)]
    return {"prefs": judged}, rng.sample([*documents, "u", "v"], 5)


def sampled(rng: random.Random) -> Made:
    documents = [f"d{i}" for i in range(5)]
    grades = {d: rng.choice([-1, 0, 1, 2]) for d in [*documents[1:], "m"]} | {"s": 1, "t": 0}
    return {"qrels": grades, "strata": {d: "1" if d in "d1d2s" else "2" for d in grades}}, documents


def costs(rng: random.Random) -> Made:
    documents = [f"d{i}" for i in range(5)]
    qrels = {d: rng.choice([0, 1, 2]) for d in documents[1:]}
    return {"qrels": qrels, "costs": {d: rng.choice([0.5, 1, 3]) for d in documents}}, documents


def no_answer(rng: random.Random) -> Made:
    documents = [f"d{i}" for i in range(4)]
    highest = rng.choice([0, 2])
    return {"qrels": {d: rng.randint(0, highest) for d in documents[1:]}, "nil": "NIL"}, [*documents, "NIL"]


def texts(rng: random.Random) -> Made:
    documents = {f"d{i}": " ".join(rng.choices("abcdefg", k=6)) for i in range(5)}
    qrels = {d: {s: rng.randint(0, 1) for s in "xy"} for d in [*documents][1:4]} | {"d4": {"x": 1}}
    return {"qrels": qrels, "documents": documents}, [*documents]


DIVERSE = ["alpha_DCG@3", "alpha_nDCG@2", "ERR_IA@3", "ERR_IA(norm='paper')", "nERR_IA@3", "NRBP", "nNRBP", "AP_IA", "P_IA@2", "StRecall@2",
           "nDCG_IA@2", "D_nDCG@2", "Dsharp_nDCG@2", "D_Q@2", "Dsharp_Q@3", "DIN_nDCG@2", "DINsharp_nDCG@3", "DIN_Q@2", "DINsharp_Q@3",
           "PplusQ@2", "PplusQsharp@3", "IA_ERR@2", "IA_nERR@3", "AP", "bpref", "Q", "nDCG@3"]  # fmt: skip
PAIRS = ["Prefs", "Prefs(by='group', count='implied')", "Prefs(by='pair', count='retrieved')", "NumPrefsMet", "PrefsR",
         "PrefsR(count='retrieved', fixed=True)"]  # fmt: skip
ANSWERING = ["Answered", "FalseAnswer", "MissedAnswer", "AnswerAccuracy", "c_at_1", "c_at_1(rel=2)"]
DEPTHS = ("", "condensed", "depth=3", "depth=3, condensed")
OTHERS: dict[Callable[[random.Random], Made], tuple[list[str], tuple[str, ...]]] = {
    subtopics: (DIVERSE, DEPTHS),
    preferences: (PAIRS, DEPTHS),
    sampled: (["xinfAP", "infnDCG@3", "statAP", "P@2[sampled]", "RBP[sampled]"], ("", "depth=3")),
    costs: (["TBG(half=2)", "U(L=4)", "IFT", "BPMD@3"], DEPTHS),
    no_answer: (["RR", "AP", "nDCG", "P@2", "RBP", "ERR", "Q", "bpref", *ANSWERING], VIEWS),
    texts: (["ABSNB(mu=10)@2", "DELTARB(mu=10)", "AP", "ERR_IA@3"], DEPTHS),
}


def differing(make: Callable[[random.Random], Made], rng: random.Random) -> list[str]:
    """The names of measures whose limits are not those of the enumeration, for a random query."""
    given, documents = make(rng)
    groups = random_groups(rng, documents)
    shared = {"nil": given.pop("nil", None), "documents": given.pop("documents", None)}
    names, views = OTHERS[make]
    asked = [(name, view) for name in names for view in views if has_view(name, view)]

    def values(asked: list[str], runs: dict[str, Any]) -> np.ndarray:
        copied = {role: dict.fromkeys(runs, of) for role, of in given.items()}
        return cf.evaluate(cf.Collection(copied.pop("qrels", None), **copied, **shared), runs, asked).values[0]

    # Every order is a query of its own, so that one evaluation scores all of them.
    by_order = {str(i): {d: -float(rank) for rank, d in enumerate(order)} for i, order in enumerate(orders(groups))}
    each = values([joined(name, view) for name, view in asked], by_order)
    tied = {"q": {d: -float(g) for g, group in enumerate(groups) for d in group}}
    ends = [[joined(name, f"ties={ties}", view) for name, view in asked] for ties in ("worst", "best")]
    found = values(list(itertools.chain(*ends)), tied)[:, 0].reshape(2, -1)
    expected = np.array([limits(row) for row in each]).T
    wrong = ~np.isclose(found, expected, rtol=0, atol=1e-9, equal_nan=True)
    return [
        f"{ends[i][j]}: {found[i, j]}, not {expected[i, j]} {groups} {given}" for i, j in np.argwhere(wrong).tolist()
    ]


def joined(name: str, *views: str) -> str:
    """The name with more views."""
    name, _, own = name.rstrip("]").partition("[")
    return with_view(name, own, *views)


@pytest.mark.parametrize("make", OTHERS, ids=lambda make: make.__name__)
def test_documents_that_are_more_than_their_grades(make: Callable[[random.Random], Made]) -> None:
    rng = random.Random(3)
    assert [wrong for _ in range(5) for wrong in differing(make, rng)] == []


if __name__ == "__main__":
    number = int(sys.argv[1])
    tried = wrong = 0
    for part in range(0, number, 1000):
        enumerated = Enumerated(part, min(1000, number - part))
        for name, view in itertools.product(EVERY_NAME, VIEWS):
            if has_view(name, view):
                tried += 3 * len(enumerated.first)
                wrong += enumerated.differing(name, view)
        print(
            f"{part + len(enumerated.first):,} rankings of grades: {tried:,} means and limits, {wrong} differ",
            flush=True,
        )
    for make in OTHERS:
        rng, found = random.Random(0), []
        for _ in range(number // 20):
            found += differing(make, rng)
        print(f"{number // 20:,} rankings with {make.__name__.replace('_', ' ')}: {len(found)} differ", flush=True)
        print(*found[:3], sep="\n")
