"""How many judgments decide a pair of systems: bounds of the pair, bounds of each system alone, and confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cranfield.data import Floats
from cranfield.evaluation.pair_bounds import DECIMALS
from cranfield.statistics.rounding import SAME

RULES = ("pair bounds", "bounds of each alone", "pair bounds, random order", "95% sure")


class PairCounts(NamedTuple):
    """Judgments until a pair is decided by each rule, whether the sign was right, and how many documents differ."""

    judgments: dict[str, int]
    right: dict[str, bool]
    different: int


class PairDocuments(NamedTuple):
    """All documents of a pair, over all queries, in the order of judging: weights in both systems, and relevance."""

    a: Floats
    b: Floats
    relevant: Floats


def pair_documents(
    of_a: Mapping[str, Sequence[str]],
    of_b: Mapping[str, Sequence[str]],
    judged: Mapping[str, Mapping[str, float]],
    weights: Floats,
    rel: float,
) -> PairDocuments:
    """The documents of two systems, in the order in which `mtc` judges them: greatest weight first."""
    depth = len(weights)
    rows: list[tuple[float, float, float, str, str]] = []
    for query, grades in judged.items():
        weight: dict[str, list[float]] = {}
        for side, run in enumerate((of_a, of_b)):
            for rank, document in enumerate(run.get(query, ())[:depth]):
                weight.setdefault(document, [0.0, 0.0])[side] = float(weights[rank])
        rows += [(x, y, float(grades.get(d, 0) >= rel), query, d) for d, (x, y) in weight.items()]
    rows.sort(key=lambda row: (-round(abs(row[0] - row[1]), DECIMALS), row[3], row[4]))
    a, b, relevant = np.array([row[:3] for row in rows], np.float64).reshape(-1, 3).T
    return PairDocuments(a, b, relevant)


def count_judgments(pair: PairDocuments, *, seed: int = 0) -> PairCounts:
    """The judgments that each rule needs."""
    delta = pair.a - pair.b
    different = np.flatnonzero(np.abs(delta) > SAME)
    truth = np.sign(_rounded(float((delta * pair.relevant).sum())))
    counts: dict[str, int] = {}
    right: dict[str, bool] = {}
    mtc = different  # documents are in this order already
    # For each system alone every document counts, and the greatest total weight comes first.
    alone = np.argsort(-(pair.a + pair.b), kind="stable")
    drawn = np.random.default_rng(seed).permutation(different)
    for rule, order in zip(RULES, (mtc, alone, drawn, mtc), strict=True):
        d, g = delta[order], pair.relevant[order]
        known = np.concatenate([[0.0], np.cumsum(d * g)])
        if rule == "bounds of each alone":
            low, high = known - _left(pair.b[order]), known + _left(pair.a[order])
        else:
            low = known - _left(np.maximum(-d, 0))
            high = known + _left(np.maximum(d, 0))
        settled = (low > SAME) | (high < -SAME)
        sign = np.sign(np.where(low > SAME, 1.0, np.where(high < -SAME, -1.0, 0.0)))
        if rule == "95% sure":
            from scipy.special import ndtr

            mean, variance = known + 0.5 * _left(d), 0.25 * _left(d**2)
            with np.errstate(divide="ignore", invalid="ignore"):
                sure = np.where(variance > 1e-18, ndtr(np.abs(mean) / np.sqrt(variance)), np.abs(mean) > SAME)
            settled, sign = sure >= 0.95, np.sign(mean)
        at = int(np.argmax(settled)) if settled.any() else len(order)
        counts[rule] = at
        right[rule] = bool(sign[at] == truth) if settled.any() else truth == 0
    return PairCounts(counts, right, len(different))


def _left(values: Floats) -> Floats:
    """The sum of the values that are not judged yet, after 0, 1, ... judgments."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])


def _rounded(value: float) -> float:
    return 0.0 if abs(value) <= SAME else value
