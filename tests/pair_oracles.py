"""Bounds of two rankings of one query, document by document: the oracles of `cranfield.evaluation.pair_bounds`.

With c_ij = 1/max(rank_A) - 1/max(rank_B) of two documents, the sums of precisions of AP differ by
ΔSP = Σ_{j≤i} c_ij x_i x_j, and ΔAP = ΔSP / R. Up to 20 unjudged documents all completions are tried; beyond, the bounds
are those of each pair of documents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.evaluation.pair_bounds import DECIMALS
from cranfield.measures import Measure, parse
from cranfield.measures.weights import rank_weights
from cranfield.statistics.rounding import SAME

ENUMERATED = 20  # the most unjudged documents whose completions are enumerated

Decision = Literal["A", "B", "equal"]
Weighting = Literal["expected", "relevant"]


class Chances(NamedTuple):
    """The probabilities that A is better, that B is better, and that both are equal."""

    a_better: float
    b_better: float
    equal: float


@dataclass(frozen=True, eq=False)
class PairBounds:
    """The difference of two runs on one query, A minus B, over all completions.

    ``low``, ``high``: its bounds; ``low_alone``, ``high_alone``: what the bounds of each run alone would give.
    ``expected``, ``variance``: for independent unjudged documents that are relevant with the given chances.
    ``weights``: how much judging each unjudged document can change. ``chances``: enumerated, for few documents only.
    """

    low: float
    high: float
    low_alone: float
    high_alone: float
    expected: float
    variance: float
    weights: Mapping[str, float] = field(default_factory=dict)
    next: Sequence[str] = ()
    chances: Chances | None = None

    @property
    def confidence(self) -> float:
        """How sure the sign of the expected difference is, by the normal distribution."""
        return confidence(self.expected, self.variance)

    @property
    def decision(self) -> Decision | None:
        """Which run is better whatever the unjudged documents are; None if this is not decided."""
        return decision(self.low, self.high)


def confidence(expected: float, variance: float) -> float:
    """Φ(|μ|/σ); without variance, 1, or ½ if the expectation is 0."""
    if variance <= 0:
        return 1.0 if abs(expected) > SAME else 0.5
    return 0.5 * math.erfc(-abs(expected) / math.sqrt(2 * variance))


def decision(low: float, high: float) -> Decision | None:
    """Which run is better for every completion."""
    if low > SAME:
        return "A"
    if high < -SAME:
        return "B"
    return "equal" if abs(low) <= SAME and abs(high) <= SAME else None


def _ranks(run: Sequence[str]) -> dict[str, int]:
    return {document: rank for rank, document in enumerate(run, 1)}


def _ordered(weights: Mapping[str, float], best: Mapping[str, int]) -> list[str]:
    """Documents by descending weight; ties by best rank, then by id."""
    return sorted(weights, key=lambda d: (-round(weights[d], DECIMALS), best[d], d.encode("utf-8", "surrogateescape")))


def linear_difference(
    measure: str | Measure,
    run_a: Sequence[str],
    run_b: Sequence[str],
    judged: Mapping[str, float],
    *,
    top: float = 1.0,
    prior: float | Mapping[str, float] = 0.5,
) -> PairBounds:
    """The difference of two runs on one query, for a measure that is linear in the gains.

    ``judged``: the grades so far. ``top``: the highest grade. ``prior``: the chance that an unjudged document has the
    highest gain, for all or by document.
    """
    measure = parse(measure)
    ranks_a, ranks_b = _ranks(run_a), _ranks(run_b)
    documents = list(dict.fromkeys([*run_a, *run_b]))
    of_a, of_b = rank_weights(measure, len(run_a), top), rank_weights(measure, len(run_b), top)
    w_a = np.array([of_a[ranks_a[d] - 1] if d in ranks_a else 0.0 for d in documents])
    w_b = np.array([of_b[ranks_b[d] - 1] if d in ranks_b else 0.0 for d in documents])
    grade = np.array([judged.get(d, -1.0) for d in documents], np.float64)
    known = np.array([d in judged for d in documents], bool) & (grade >= 0)
    gain, most = measure.gains.of(np.where(known, grade, 0), top), measure.highest_gain(top)
    delta = w_a - w_b
    fixed = float((delta * gain)[known].sum())
    open_ = ~known
    chance = np.array([prior.get(d, 0.5) if isinstance(prior, Mapping) else prior for d in documents], np.float64)
    best = {d: min(ranks_a.get(d, len(run_a) + 1), ranks_b.get(d, len(run_b) + 1)) for d in documents}
    weights = {d: float(most * abs(delta[i])) for i, d in enumerate(documents) if open_[i]}
    different = open_ & (np.abs(delta) > SAME)
    return PairBounds(
        fixed + most * float(np.minimum(delta, 0)[open_].sum()),
        fixed + most * float(np.maximum(delta, 0)[open_].sum()),
        fixed - most * float(w_b[open_].sum()),
        fixed + most * float(w_a[open_].sum()),
        fixed + most * float((delta * chance)[open_].sum()),
        most**2 * float((delta**2 * chance * (1 - chance))[open_].sum()),
        weights,
        [d for d in _ordered(weights, best) if round(weights[d], DECIMALS) > 0],
        _linear_chances(fixed, most * delta[different], chance[different]),
    )


def _chances(difference: Floats, probability: Floats) -> Chances:
    a, b = float(probability[difference > SAME].sum()), float(probability[difference < -SAME].sum())
    return Chances(a, b, max(1 - a - b, 0.0))


def _linear_chances(fixed: float, delta: Floats, chance: Floats) -> Chances | None:
    if len(delta) > ENUMERATED:
        return None
    difference, probability = np.array([fixed]), np.ones(1)
    for step, p in zip(delta.tolist(), chance.tolist(), strict=True):
        difference = np.concatenate([difference, difference + step])
        probability = np.concatenate([probability * (1 - p), probability * p])
    return _chances(difference, probability)


@dataclass(frozen=True, eq=False)
class PrecisionBounds:
    """The difference of two runs in AP on one query, A minus B, over all completions.

    ``sp_low``, ``sp_high``: of the sums of precisions, whose sign is that of the difference in AP; exact for few
    unjudged documents (``exact``), else those of pairs of documents (``sp_low_pairwise``, ``sp_high_pairwise``).
    ``ap_low``, ``ap_high``: of AP, where no other document is relevant than those retrieved or judged. ``sp_expected``,
    ``sp_variance``: of the sums of precisions, for independent unjudged documents. ``weights``: how much judging each
    unjudged document changes the expectation (``expected``), or what is known of it (``relevant``).
    """

    sp_low_pairwise: float
    sp_high_pairwise: float
    sp_low: float
    sp_high: float
    ap_low: float
    ap_high: float
    exact: bool
    sp_expected: float
    sp_variance: float
    weights: Mapping[str, float]
    next: Sequence[str]
    chances: Chances | None

    @property
    def confidence(self) -> float:
        """How sure the sign of the expected difference is, by the normal distribution."""
        return confidence(self.sp_expected, self.sp_variance)

    @property
    def decision(self) -> Decision | None:
        """Which run is better whatever the unjudged documents are; None if this is not decided."""
        return decision(self.sp_low, self.sp_high)


def _pair_weights(ranks: Integers, length: int, k: int | None) -> Floats:
    """1 / max(rank_i, rank_j) of two documents, 0 if either is not retrieved; ranks of 0 are none."""
    later = np.maximum(ranks[:, None], ranks)
    seen = (ranks > 0) & (ranks <= (length if k is None else k))
    return np.where(seen[:, None] & seen, 1 / np.maximum(later, 1), 0)


def precision_difference(
    run_a: Sequence[str],
    run_b: Sequence[str],
    judged: Mapping[str, float],
    *,
    rel: float = 1.0,
    cutoff: int | None = None,
    prior: float | Mapping[str, float] = 0.5,
    weighting: Weighting = "expected",
) -> PrecisionBounds:
    """The difference of two runs in AP on one query; ``judged``: the grades so far, of which ``rel`` is relevant."""
    documents = list(dict.fromkeys([*run_a, *run_b]))
    ranks_a, ranks_b = _ranks(run_a), _ranks(run_b)
    rows = [np.array([ranks.get(d, 0) for d in documents], np.int64) for ranks in (ranks_a, ranks_b)]
    c = _pair_weights(rows[0], len(run_a), cutoff) - _pair_weights(rows[1], len(run_b), cutoff)
    grade = np.array([judged.get(d, -1.0) for d in documents], np.float64)
    open_, relevant = grade < 0, grade >= rel
    chance = np.array([prior.get(d, 0.5) if isinstance(prior, Mapping) else prior for d in documents], np.float64)
    p = np.where(open_, chance, relevant)
    elsewhere = sum(g >= rel for d, g in judged.items() if d not in ranks_a and d not in ranks_b)
    low, high = pairwise_bounds(c, relevant, open_)
    mean, variance = _moments(c, p)
    exact, chances = int(open_.sum()) <= ENUMERATED, None
    sp_low, sp_high, ap_low, ap_high = low, high, math.nan, math.nan
    if exact:
        sp_low, sp_high, ap_low, ap_high, chances = _enumerated(c, relevant, open_, chance, elsewhere)
    else:
        fewest = int(relevant.sum()) + elsewhere
        ap_low, ap_high = (bound / max(fewest, 1) for bound in (low, high))
    known = relevant if weighting == "relevant" else p
    off = c - np.diag(np.diag(c))
    size = np.abs(np.diag(c) + off @ known.astype(np.float64))
    weights = {d: float(size[i]) for i, d in enumerate(documents) if open_[i]}
    best = {d: min(ranks_a.get(d, len(run_a) + 1), ranks_b.get(d, len(run_b) + 1)) for d in documents}
    return PrecisionBounds(
        low, high, sp_low, sp_high, ap_low, ap_high, exact, mean, variance, weights, _ordered(weights, best), chances
    )


def pairwise_bounds(c: Floats, relevant: Any, open_: Any) -> tuple[float, float]:
    """Bounds of ΔSP from each pair of documents apart: always right, seldom attained."""
    possible = relevant | open_
    lower = np.tril(np.ones(c.shape, bool)) & possible[:, None] & possible
    known = lower & relevant[:, None] & relevant
    unknown = lower & ~known
    fixed = float(c[known].sum())
    return fixed + float(np.minimum(c[unknown], 0).sum()), fixed + float(np.maximum(c[unknown], 0).sum())


def _moments(c: Floats, p: Floats) -> tuple[float, float]:
    """The mean and variance of Σ_{j≤i} c_ij x_i x_j for independent x with chances p."""
    own = np.diag(c)
    off = c - np.diag(own)
    both = np.outer(p, p)
    mean = float((own * p).sum() + 0.5 * (off * both).sum())
    variance = float((own**2 * p * (1 - p)).sum() + 0.5 * (off**2 * both * (1 - both)).sum())
    variance += 2 * float((own[:, None] * off * both * (1 - p)[:, None]).sum())
    # Over pairs of other documents j, l of each i: half of (Σ_j c_ij p_j)² less the squares.
    sums = off @ p
    crossed = 0.5 * (sums**2 - (off**2) @ p**2)
    variance += 2 * float((p * (1 - p) * crossed).sum())
    return mean, variance


def _enumerated(
    c: Floats, relevant: Any, open_: Any, chance: Floats, elsewhere: int
) -> tuple[float, float, float, float, Chances]:
    """The bounds of ΔSP and ΔAP over all completions, and the chances of each run."""
    unknown = np.flatnonzero(open_)
    total, n = 0, len(unknown)
    low, high, ap_low, ap_high = math.inf, -math.inf, math.inf, -math.inf
    a = b = 0.0
    own = np.diag(c)
    off = c - np.diag(own)
    base = relevant.astype(np.float64)
    known = float(own @ base + 0.5 * base @ off @ base)
    linear = own[unknown] + (off @ base)[unknown]
    inner = off[np.ix_(unknown, unknown)]
    p = chance[unknown]
    for first in range(0, 1 << n, step := 1 << 16):
        x = ((np.arange(first, min(first + step, 1 << n))[:, None] >> np.arange(n)) & 1).astype(np.float64)
        sp = known + x @ linear + 0.5 * np.einsum("ki,ki->k", x @ inner, x)
        count = x.sum(axis=1) + base.sum() + elsewhere
        ap = np.divide(sp, count, out=np.zeros_like(sp), where=count > 0)
        probability = np.prod(np.where(x > 0, p, 1 - p), axis=1)
        found = _chances(sp, probability)
        a, b, total = a + found.a_better, b + found.b_better, total + len(x)
        low, high = min(low, float(sp.min())), max(high, float(sp.max()))
        ap_low, ap_high = min(ap_low, float(ap.min())), max(ap_high, float(ap.max()))
    return low, high, ap_low, ap_high, Chances(a, b, max(1 - a - b, 0.0))


class Judging(NamedTuple):
    """The documents judged until a pair of runs is decided, and the bounds at the end."""

    judged: list[str]
    low: float
    high: float
    decision: Decision | None


def judge_until_decided(
    measure: str | Measure,
    run_a: Sequence[str],
    run_b: Sequence[str],
    truth: Mapping[str, float],
    *,
    top: float = 1.0,
) -> Judging:
    """Judge the document with the greatest weight until the difference has a sign, or nothing is left to judge."""
    judged: dict[str, float] = {}
    while True:
        found = linear_difference(measure, run_a, run_b, judged, top=top)
        if found.decision in ("A", "B") or not found.next:
            return Judging(list(judged), found.low, found.high, found.decision)
        judged[found.next[0]] = truth.get(found.next[0], 0)
