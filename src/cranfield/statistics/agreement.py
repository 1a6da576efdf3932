"""Agreement of a judge with humans: labels, the order of systems, and favour for a family of systems."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import UsageError
from cranfield.statistics.correlation import tau, tau_ap
from cranfield.statistics.intervals import t_quantile
from cranfield.statistics.rounding import SAME

ASSIGNMENTS = 10_000  # the most assignments of systems to a family that are enumerated


@dataclass(frozen=True, eq=False)
class LabelAgreement:
    """The grades of a judge beside those of humans, for documents judged by both.

    ``levels``: all grades used. ``confusion``: documents by human grade (rows) and judge's grade (columns). ``kappa``,
    ``linear``, ``quadratic``: Cohen's κ with weights by the index of a grade, undefined (NaN) if all documents have one
    grade; ``linear_by_value``, ``quadratic_by_value``: by the grades themselves. ``bias``: the mean of judge minus
    human. ``sensitivity``, ``specificity``: the shares of relevant and of non-relevant documents that the judge gets
    right. ``alpha``: Krippendorff's α of ordered grades.
    """

    levels: Floats
    confusion: Integers
    kappa: float
    linear: float
    quadratic: float
    linear_by_value: float
    quadratic_by_value: float
    agreement: float
    bias: float
    mae: float
    sensitivity: float
    specificity: float
    alpha: float = math.nan

    @property
    def shares(self) -> Floats:
        """The judge's grades as shares of each human grade."""
        totals = self.confusion.sum(axis=1, keepdims=True)
        return np.divide(self.confusion, totals, out=np.zeros(self.confusion.shape), where=totals > 0)

    @property
    def top_called_nonrelevant(self) -> float:
        """The share of documents with the highest human grade to which the judge gives the lowest grade."""
        used = np.flatnonzero(self.confusion.sum(axis=1))
        return float(self.shares[used[-1], 0]) if len(used) and used[-1] > 0 else math.nan


def label_agreement(
    human: npt.ArrayLike, judge: npt.ArrayLike, *, rel_level: float = 1, levels: npt.ArrayLike | None = None
) -> LabelAgreement:
    """How far a judge agrees with humans on the grades of documents.

    ``levels``: the full scale of grades, so that κ is comparable between subsets; by default, the grades used.

    >>> round(label_agreement([0, 1, 2, 2], [0, 1, 1, 2]).linear, 4)
    0.7143
    """
    a, b = np.asarray(human, np.float64), np.asarray(judge, np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise UsageError(f"expected one grade of the judge for each of {a.size} human grades, got {b.size}")
    if not len(a):
        raise UsageError("no document is judged by both")
    used = np.unique(np.concatenate([a, b] if levels is None else [a, b, np.asarray(levels, np.float64)]))
    row, column = np.searchsorted(used, a), np.searchsorted(used, b)
    confusion = np.bincount(row * len(used) + column, minlength=len(used) ** 2).reshape(len(used), -1)
    index = np.arange(len(used), dtype=np.float64)
    relevant = a >= rel_level
    return LabelAgreement(
        used,
        confusion,
        weighted_kappa(confusion, (index[:, None] != index).astype(np.float64)),
        weighted_kappa(confusion, np.abs(index[:, None] - index)),
        weighted_kappa(confusion, (index[:, None] - index) ** 2),
        weighted_kappa(confusion, np.abs(used[:, None] - used)),
        weighted_kappa(confusion, (used[:, None] - used) ** 2),
        float((a == b).mean()),
        float((b - a).mean()),
        float(np.abs(b - a).mean()),
        float((b[relevant] >= rel_level).mean()) if relevant.any() else math.nan,
        float((b[~relevant] < rel_level).mean()) if not relevant.all() else math.nan,
        krippendorff_alpha(confusion),
    )


def krippendorff_alpha(confusion: npt.NDArray[np.generic]) -> float:
    """α = 1 - observed / expected disagreement of two judges, for ordered grades (Krippendorff, 2011).

    Two grades differ by the number of judgments between them, half of their own included. NaN if all are equal.

    >>> round(krippendorff_alpha(np.array([[5, 3], [1, 1]])), 3)
    0.095
    """
    coincidences = confusion.astype(np.float64)
    coincidences = coincidences + coincidences.T
    totals = coincidences.sum(axis=0)
    middle = np.cumsum(totals) - totals / 2
    squared = (middle[:, None] - middle) ** 2
    expected = float((squared * np.outer(totals, totals)).sum() / (totals.sum() - 1))
    return 1 - float((squared * coincidences).sum()) / expected if expected > 0 else math.nan


def weighted_kappa(confusion: npt.NDArray[np.generic], weights: Floats) -> float:
    """κ = 1 - Σ w O / Σ w E, with E from the margins; NaN if the divisor is 0."""
    counts = confusion.astype(np.float64)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    below = float((weights * expected).sum())
    return 1 - float((weights * counts).sum()) / below if below > 0 else math.nan


def kappa_interval(confusion: npt.NDArray[np.generic], weights: Floats, *, alpha: float = 0.05) -> tuple[float, float]:
    """The large-sample interval of κ (Fleiss, Cohen and Everitt, 1969)."""
    from statistics import NormalDist

    counts = confusion.astype(np.float64)
    n = counts.sum()
    p = counts / n
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    v = 1 - weights / max(float(weights.max()), 1e-300)  # weights of agreement
    observed, expected = float((v * p).sum()), float((v * np.outer(rows, columns)).sum())
    if expected >= 1:
        return math.nan, math.nan
    kappa = (observed - expected) / (1 - expected)
    of_row, of_column = (v * columns).sum(axis=1), (rows[:, None] * v).sum(axis=0)
    terms = (v - (of_row[:, None] + of_column) * (1 - kappa)) ** 2
    variance = float((p * terms).sum()) - (kappa - expected * (1 - kappa)) ** 2
    half = NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(max(variance, 0) / n) / (1 - expected)
    return kappa - half, kappa + half


class TopAgreement(NamedTuple):
    """The systems at the top of the human order, with ties at the border, and the τ-a among them."""

    systems: list[int]
    tau_a: float


@dataclass(frozen=True, eq=False)
class OrderAgreement:
    """The order of systems by a judge beside that by humans.

    ``judge_rank_of_best``: the place of the best system by humans in the judge's order. ``loss``: how much worse, by
    humans, the system is that the judge puts first; the largest loss if the judge has ties there.
    """

    tau_a: float
    tau_b: float
    tau_ap: float
    judge_rank_of_best: int
    loss: float
    human: Floats
    judge: Floats

    def top(self, n: int) -> TopAgreement:
        """The agreement among the n best systems by humans; more than n if the last ones are tied."""
        order = np.sort(self.human)[::-1]
        border = order[min(n, len(order)) - 1]
        systems = np.flatnonzero(self.human >= border - SAME)
        return TopAgreement(systems.tolist(), _tau_a(self.human[systems], self.judge[systems]))


def _tau_a(x: Floats, y: Floats) -> float:
    if len(x) < 2 or np.ptp(x) <= SAME or np.ptp(y) <= SAME:
        return math.nan
    return float(tau(x, y))


def order_agreement(human: npt.ArrayLike, judge: npt.ArrayLike) -> OrderAgreement:
    """How far a judge orders systems as humans do; both are means over the same queries.

    >>> order_agreement([0.3, 0.5, 0.4], [0.4, 0.5, 0.6]).judge_rank_of_best
    2
    """
    x, y = np.asarray(human, np.float64), np.asarray(judge, np.float64)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 2:
        raise UsageError("expected the scores of at least two systems, by humans and by the judge")
    best = x >= x.max() - SAME
    first = y >= y.max() - SAME
    undefined = np.ptp(x) <= SAME or np.ptp(y) <= SAME
    return OrderAgreement(
        _tau_a(x, y),
        math.nan if undefined else float(tau(x, y, "b")),
        math.nan if undefined else float(tau_ap(x, y)),
        1 + int((y > y[best].max() + SAME).sum()),
        float(x.max() - x[first].min()),
        x,
        y,
    )


@dataclass(frozen=True, eq=False)
class Favour:
    """Whether a judge rates a family of systems higher than humans do, compared with all other systems.

    ``bias``: the mean over queries of judge minus human, by system. ``favour``: the mean bias of the family minus that
    of the others. ``p_greater``, ``p_two_sided``: by assigning systems to the family at random; ``assignments``: the
    number of assignments. ``low``, ``high``: the interval over queries. ``adjusted``, ``adjusted_error``: the favour
    where the human score of a system is taken into account, NaN for fewer than 4 systems.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("favours",)

    bias: Floats
    favour: float
    p_greater: float
    p_two_sided: float
    assignments: int
    low: float
    high: float
    adjusted: float
    adjusted_error: float

    @property
    def can_be_significant(self) -> bool:
        """Whether any assignment of so few systems can have a p-value below 0.05."""
        return self.assignments > 20

    @property
    def favours(self) -> bool:
        """Whether the judge favours the family: the interval excludes 0 and p is below 0.05."""
        return self.low > 0 and self.p_greater < 0.05


def favour(
    human: npt.ArrayLike, judge: npt.ArrayLike, own: npt.ArrayLike, *, alpha: float = 0.05, seed: int = 0
) -> Favour:
    """Test a judge for favour; ``human``, ``judge``: scores (system, query). ``own``: the systems of the family."""
    x, y, family = np.asarray(human, np.float64), np.asarray(judge, np.float64), np.asarray(own, bool)
    systems, queries = x.shape
    if not 0 < family.sum() < systems:
        raise UsageError("a family must have at least one system, and not all of them")
    excess = y - x
    bias = excess.mean(axis=1)
    contrast = np.where(family, 1 / family.sum(), -1 / (~family).sum())
    value = float((contrast * bias).sum())
    members = _families(systems, int(family.sum()), seed)
    total = bias.sum()
    inside = bias[members].sum(axis=1) / members.shape[1]
    drawn = inside - (total - inside * members.shape[1]) / (systems - members.shape[1])
    count = math.comb(systems, int(family.sum()))
    greater, larger = (drawn >= value - SAME).sum(), (np.abs(drawn) >= abs(value) - SAME).sum()
    enumerated = count <= ASSIGNMENTS
    p_greater, p_two = ((int(n) + (not enumerated)) / (len(drawn) + (not enumerated)) for n in (greater, larger))
    by_query = (contrast[:, None] * excess).sum(axis=0)
    half = t_quantile(1 - alpha, queries - 1) * by_query.std(ddof=1) / math.sqrt(queries) if queries > 1 else math.nan
    adjusted, error = _adjusted(bias, x.mean(axis=1), family) if systems >= 4 else (math.nan, math.nan)
    return Favour(bias, value, p_greater, p_two, count, value - half, value + half, adjusted, error)


def _families(systems: int, members: int, seed: int) -> Integers:
    """All sets of so many systems, or 9,999 random ones."""
    if math.comb(systems, members) <= ASSIGNMENTS:
        return np.array(list(itertools.combinations(range(systems), members)), np.int64)
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(systems)[:members] for _ in range(ASSIGNMENTS - 1)], np.int64)


def _adjusted(bias: Floats, score: Floats, family: Booleans) -> tuple[float, float]:
    """The coefficient of the family, and its standard error, in least squares of bias on score and family."""
    y, x, own = (side - side.mean() for side in (bias, score, family.astype(np.float64)))
    if np.ptp(score) <= SAME:
        return math.nan, math.nan
    # What the score does not explain of either: the slope between these rests is the coefficient (Frisch and Waugh).
    y, own = (side - (side * x).sum() / (x**2).sum() * x for side in (y, own))
    spread = float((own**2).sum())
    if spread <= SAME:
        return math.nan, math.nan
    coefficient = float((own * y).sum()) / spread
    rest = y - coefficient * own
    return coefficient, math.sqrt(float((rest**2).sum()) / (len(bias) - 3) / spread)


class FalsePositives(NamedTuple):
    """The judge's false positives on documents of one family only, against those of other systems only."""

    rate_own: float
    rate_other: float
    difference: float
    p_value: float


def false_positives(own_false: int, own_right: int, other_false: int, other_right: int) -> FalsePositives:
    """Compare two rates of false positives by Fisher's exact test, two-sided.

    >>> round(false_positives(8, 12, 5, 35).p_value, 4)
    0.0217
    """
    from scipy.stats import fisher_exact

    own, other = own_false + own_right, other_false + other_right
    if not own or not other:
        return FalsePositives(*[math.nan] * 4)
    rates = own_false / own, other_false / other
    p = fisher_exact(np.array([[own_false, own_right], [other_false, other_right]])).pvalue
    return FalsePositives(*rates, rates[0] - rates[1], float(p))
