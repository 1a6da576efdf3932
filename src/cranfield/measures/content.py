"""Contents: documents earn by what they say, judged or not, as far as it resembles what relevant documents say.

What is relevant to a subtopic makes a language model Θ_i, what was read down to rank j makes another, Θ_Rj, and D is
the collection: g(i,j) = max(0, 1 - KLD(Θ_i‖Θ_Rj) / KLD(Θ_i‖D)), with P(v|Θ) = (c(v) + μ P(v|D)) / (L + μ). Undefined
where no subtopic has a relevant document in the corpus.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.errors import MeasureError
from cranfield.measures.catalogue import Measure, Probability, Range, Rank, measure
from cranfield.measures.ties.strategies import OverDistinctOrders
from cranfield.ranking.batch import Batch
from cranfield.ranking.row_math import summed

Level = Annotated[float, Range(0, closed="(]")]
Smoothing = Annotated[float, Range(1e-9, 1e6)]  # with next to none, what is not yet read is infinitely far away
inf = float("inf")


def ranked_rows(b: Batch, k: int | None) -> Integers:
    """Rows of the judgments by (query, rank), down to rank k; -1 where there is none."""
    depth = int(b.length.max(initial=0))
    rows = np.full((len(b.length), depth if k is None else min(depth, k)), -1)
    row, column = np.nonzero(~np.isnan(b.grade) & (b.start < rows.shape[1]))
    rows[row, b.start[row, column]] = b.document[row, column]
    return rows


def gains(b: Batch, k: int | None, mu: float, rel: float, whole: bool) -> Floats:
    """g(i,j) by (query, rank, subtopic): what reading down to rank j tells of subtopic i."""
    if b.reading is None:
        raise MeasureError("measures of contents read documents, and this ranking has none to read")
    key = "read", k, mu, rel, whole
    if key not in b.memo:
        b.memo[key] = b.reading.gains(b.query, ranked_rows(b, k), (rel, whole), mu)
    return b.memo[key]


def absolute(b: Batch, *how: Any) -> Floats:
    """max_i g(i,j) by (query, rank)."""
    from cranfield.corpus.gains import absolute

    return absolute(gains(b, *how))


def delta(b: Batch, *how: Any) -> Floats:
    """max_i of what g(i,j) rose by, by (query, rank)."""
    from cranfield.corpus.gains import delta

    return delta(gains(b, *how))


def weighed(b: Batch, gain: Floats, theta: float | None) -> Floats:
    """What each rank adds to the score: its gain, or (1-θ) θ^(j-1) of it; nothing below the end of a list."""
    rank = np.arange(gain.shape[1])
    weight = np.ones(len(rank)) if theta is None else (1 - theta) * theta ** rank.astype(np.float64)
    return np.where((rank < b.length[:, None]) & ~np.isnan(gain), gain, 0) * weight


def total(b: Batch, gain: Floats, theta: float | None, mu: float, rel: float, whole: bool) -> Floats:
    """What all ranks add; undefined where there is nothing to resemble."""
    assert b.reading is not None
    return np.where(b.reading.defined(b.query, (rel, whole), mu), summed(weighed(b, gain, theta)), np.nan)


# What a rank gains, by the measure that counts it.
GAINS = {"ABSNB": absolute, "ABSRB": absolute, "DELTANB": delta, "DELTARB": delta}


def contributions(measure: Measure, b: Batch) -> Floats:
    """What each rank adds to the score of one of these measures, by (query, rank)."""
    chosen = measure.chosen
    gain = GAINS[measure.symbol](b, measure.arguments["k"], chosen["mu"], chosen["rel"], chosen["whole"])
    return weighed(b, gain, chosen.get("theta"))


# What all of these are.
reading = partial(
    measure,
    cite="hui2017",
    ties=OverDistinctOrders(),
    terminal="a terminal document says nothing that could be read",
    rewards_promotion=False,
    uses_nonrelevant=True,
    content=True,
)


@reading(
    "ABSNB",
    formula="ABSNB@k = Σ_{j≤k} max_i g(i,j)",
    bounds=(0, inf),
)
def absolute_gain_without_rank_bias(
    b: Batch, *, k: Rank | None = None, mu: Smoothing = 2500.0, rel: Level = 1.0, whole: bool = False
) -> Floats:
    """How near all that was read has come to the nearest subtopic, summed over ranks.

    ``mu`` is how many words of the collection smooth a model. ``whole=True`` takes the query as one subtopic.

    >>> import cranfield as cf
    >>> texts = {"a": "lamp oil lamp", "b": "lamp oil", "c": "sea gull", "d": "lamp lamp"}
    >>> run, qrels = {"q": {"b": 2.0, "d": 1.0}}, {"q": {"a": {"1": 1, "2": 0}}}
    >>> round(cf.evaluate(qrels, run, "ABSNB(mu=10)@2", corpus=texts).summary(0, 0), 4)
    1.4863
    """
    return total(b, absolute(b, k, mu, rel, whole), None, mu, rel, whole)


@reading(
    "ABSRB",
    formula="ABSRB@k = (1-θ) Σ_{j≤k} θ^{j-1} max_i g(i,j)",
)
def absolute_gain_with_rank_bias(
    b: Batch,
    *,
    k: Rank | None = None,
    mu: Smoothing = 2500.0,
    theta: Probability = 0.8,
    rel: Level = 1.0,
    whole: bool = False,
) -> Floats:
    """How near all that was read has come to the nearest subtopic, for a reader who goes on with chance θ.

    ``mu`` is how many words of the collection smooth a model. ``whole=True`` takes the query as one subtopic.

    >>> import cranfield as cf
    >>> texts = {"a": "lamp oil lamp", "b": "lamp oil", "c": "sea gull", "d": "lamp lamp"}
    >>> run, qrels = {"q": {"b": 2.0, "d": 1.0}}, {"q": {"a": {"1": 1, "2": 0}}}
    >>> round(cf.evaluate(qrels, run, "ABSRB(mu=10)@2", corpus=texts).summary(0, 0), 4)
    0.2661
    """
    return total(b, absolute(b, k, mu, rel, whole), theta, mu, rel, whole)


@reading(
    "DELTANB",
    formula="DELTANB@k = Σ_{j≤k} max(0, max_i (g(i,j) - g(i,j-1)))",
    bounds=(0, inf),
)
def new_gain_without_rank_bias(
    b: Batch, *, k: Rank | None = None, mu: Smoothing = 2500.0, rel: Level = 1.0, whole: bool = False
) -> Floats:
    """By how much each document brings what was read nearer to a subtopic, summed over ranks.

    ``mu`` is how many words of the collection smooth a model. ``whole=True`` takes the query as one subtopic.

    >>> import cranfield as cf
    >>> texts = {"a": "lamp oil lamp", "b": "lamp oil", "c": "sea gull", "d": "lamp lamp"}
    >>> run, qrels = {"q": {"b": 2.0, "d": 1.0}}, {"q": {"a": {"1": 1, "2": 0}}}
    >>> round(cf.evaluate(qrels, run, "DELTANB(mu=10)@2", corpus=texts).summary(0, 0), 4)
    0.7789
    """
    return total(b, delta(b, k, mu, rel, whole), None, mu, rel, whole)


@reading(
    "DELTARB",
    formula="DELTARB@k = (1-θ) Σ_{j≤k} θ^{j-1} max(0, max_i (g(i,j) - g(i,j-1)))",
)
def new_gain_with_rank_bias(
    b: Batch,
    *,
    k: Rank | None = None,
    mu: Smoothing = 2500.0,
    theta: Probability = 0.8,
    rel: Level = 1.0,
    whole: bool = False,
) -> Floats:
    """By how much each document brings what was read nearer to a subtopic, for a reader who goes on with chance θ.

    ``mu`` is how many words of the collection smooth a model. ``whole=True`` takes the query as one subtopic.

    >>> import cranfield as cf
    >>> texts = {"a": "lamp oil lamp", "b": "lamp oil", "c": "sea gull", "d": "lamp lamp"}
    >>> run, qrels = {"q": {"b": 2.0, "d": 1.0}}, {"q": {"a": {"1": 1, "2": 0}}}
    >>> round(cf.evaluate(qrels, run, "DELTARB(mu=10)@2", corpus=texts).summary(0, 0), 4)
    0.1529
    """
    return total(b, delta(b, k, mu, rel, whole), theta, mu, rel, whole)
