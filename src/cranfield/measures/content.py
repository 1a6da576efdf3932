"""Measures that use document text: documents gain by how much their words resemble those of relevant documents.

The relevant documents of subtopic i have a language model Θ_i, the documents in the first j ranks have another, Θ_Rj,
and D is the collection: g(i,j) = max(0, 1 - KLD(Θ_i‖Θ_Rj) / KLD(Θ_i‖D)), with P(v|Θ) = (c(v) + μ P(v|D)) / (L + μ).
Judged and unjudged documents count. Undefined if no subtopic has a relevant document in the corpus.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from cranfield.data import Floats, Integers, Smoothing, TextView
from cranfield.errors import MeasureError
from cranfield.measures.catalogue import Level, Measure, Rank, measure
from cranfield.measures.ties.strategies import OverDistinctOrders
from cranfield.ranking.batch import Batch, summed
from cranfield.settings import Chance, Limits

Mu = Annotated[float, Limits(1e-9, 1e6)]  # without smoothing, divergences would be infinite
inf = float("inf")


class TextModel(NamedTuple):
    """The parameters that all of these measures share: cutoff, smoothing parameter, and what makes the models."""

    k: int | None
    mu: float
    view: TextView


def ranked_rows(b: Batch, k: int | None) -> Integers:
    """The rows of the judgments by (query, rank), down to rank k; -1 if there is no document."""
    depth = int(b.length.max(initial=0))
    rows = np.full((len(b.length), depth if k is None else min(depth, k)), -1)
    row, column = np.nonzero(~np.isnan(b.grade) & (b.start < rows.shape[1]))
    rows[row, b.start[row, column]] = b.document[row, column]
    return rows


def gains(b: Batch, model: TextModel) -> Floats:
    """g(i,j) by (query, rank, subtopic): how well the first j documents cover subtopic i."""
    if b.reading is None:
        raise MeasureError("measures of document text need a corpus")
    if model not in b.memo:
        b.memo[model] = b.reading.gains(b.query, ranked_rows(b, model.k), model.view, model.mu)
    return b.memo[model]


def absolute(gains: Floats) -> Floats:
    """max_i g(i,j) by (query, rank); NaN if no subtopic has a model."""
    defined = ~np.isnan(gains).all(axis=2)
    return np.where(defined, np.max(np.where(np.isnan(gains), 0, gains), axis=2, initial=0), np.nan)


def delta(gains: Floats) -> Floats:
    """max_i of the increase of g(i,j) at rank j, by (query, rank); NaN if no subtopic has a model."""
    return absolute(np.diff(gains, axis=1, prepend=np.where(np.isnan(gains[:, :1]), np.nan, 0)))


def weight_by_rank(b: Batch, gain: Floats, theta: float | None) -> Floats:
    """The contribution of each rank: its gain, or (1-θ) θ^(j-1) times its gain; 0 below the end of a ranking."""
    rank = np.arange(gain.shape[1])
    weight = np.ones(len(rank)) if theta is None else (1 - theta) * theta ** rank.astype(np.float64)
    return np.where((rank < b.length[:, None]) & ~np.isnan(gain), gain, 0) * weight


def total(b: Batch, gain: Callable[[Floats], Floats], theta: float | None, model: TextModel) -> Floats:
    """The sum of the contributions of all ranks; undefined if no subtopic has a language model."""
    contributions = weight_by_rank(b, gain(gains(b, model)), theta)
    assert b.reading is not None
    return np.where(b.reading.defined(b.query, model.view, model.mu), summed(contributions), np.nan)


# The gain of a rank, for each of these measures.
GAINS = {"ABSNB": absolute, "ABSRB": absolute, "DELTANB": delta, "DELTARB": delta}


def rank_contributions(measure: Measure, b: Batch) -> Floats:
    """The contribution of each rank to the score of one of these measures, by (query, rank)."""
    chosen = measure.chosen
    model = TextModel(measure.arguments["k"], chosen["mu"], TextView.of(chosen))
    return weight_by_rank(b, GAINS[measure.symbol](gains(b, model)), chosen.get("theta"))


# The properties that all of these measures share.
text_measure = partial(
    measure,
    cite="hui2017",
    ties=OverDistinctOrders(),
    terminal="a terminal document has no text",
    rewards_promotion=False,
    uses_nonrelevant=True,
    content=True,
    bounds=(0, inf),  # without smoothing='printed', the two with a rank bias do not exceed 1
)


@text_measure("ABSNB", formula="ABSNB@k = Σ_{j≤k} max_i g(i,j)")
def absolute_gain_without_rank_bias(
    b: Batch,
    *,
    k: Rank | None = None,
    mu: Mu = 2500.0,
    rel: Level = 1.0,
    whole: bool = False,
    smoothing: Smoothing = "dirichlet",
) -> Floats:
    """How well the documents so far cover their best-covered subtopic, summed over ranks.

    ``mu`` is the Dirichlet smoothing parameter, a number of words. ``whole=True`` treats each query as one subtopic.
    The paper prints μ and μ P(v|D) of its equations 5 and 6 the wrong way round; ``smoothing='printed'`` computes that.

    >>> texts = {"a": "lamp oil lamp", "b": "lamp oil", "c": "sea gull", "d": "lamp lamp"}
    >>> run, qrels = {"q": {"b": 2.0, "d": 1.0}}, {"q": {"a": {"1": 1, "2": 0}}}
    >>> round(float(cf.evaluate(cf.Collection(qrels, documents=texts), run, "ABSNB(mu=10)@2")), 4)
    1.4863
    """
    return total(b, absolute, None, TextModel(k, mu, TextView(rel, whole, smoothing)))


@text_measure("ABSRB", formula="ABSRB@k = (1-θ) Σ_{j≤k} θ^{j-1} max_i g(i,j)")
def absolute_gain_with_rank_bias(
    b: Batch,
    *,
    k: Rank | None = None,
    mu: Mu = 2500.0,
    theta: Chance = 0.8,
    rel: Level = 1.0,
    whole: bool = False,
    smoothing: Smoothing = "dirichlet",
) -> Floats:
    """How well the documents so far cover their best-covered subtopic, for a reader with persistence θ.

    ``mu`` is the Dirichlet smoothing parameter, a number of words. ``whole=True`` treats each query as one subtopic.
    The paper prints μ and μ P(v|D) of its equations 5 and 6 the wrong way round; ``smoothing='printed'`` computes that.

    >>> texts = {"a": "lamp oil lamp", "b": "lamp oil", "c": "sea gull", "d": "lamp lamp"}
    >>> run, qrels = {"q": {"b": 2.0, "d": 1.0}}, {"q": {"a": {"1": 1, "2": 0}}}
    >>> round(float(cf.evaluate(cf.Collection(qrels, documents=texts), run, "ABSRB(mu=10)@2")), 4)
    0.2661
    """
    return total(b, absolute, theta, TextModel(k, mu, TextView(rel, whole, smoothing)))


@text_measure("DELTANB", formula="DELTANB@k = Σ_{j≤k} max(0, max_i (g(i,j) - g(i,j-1)))")
def new_gain_without_rank_bias(
    b: Batch,
    *,
    k: Rank | None = None,
    mu: Mu = 2500.0,
    rel: Level = 1.0,
    whole: bool = False,
    smoothing: Smoothing = "dirichlet",
) -> Floats:
    """How much each document adds to the coverage of a subtopic, summed over ranks.

    ``mu`` is the Dirichlet smoothing parameter, a number of words. ``whole=True`` treats each query as one subtopic.
    The paper prints μ and μ P(v|D) of its equations 5 and 6 the wrong way round; ``smoothing='printed'`` computes that.

    >>> texts = {"a": "lamp oil lamp", "b": "lamp oil", "c": "sea gull", "d": "lamp lamp"}
    >>> run, qrels = {"q": {"b": 2.0, "d": 1.0}}, {"q": {"a": {"1": 1, "2": 0}}}
    >>> round(float(cf.evaluate(cf.Collection(qrels, documents=texts), run, "DELTANB(mu=10)@2")), 4)
    0.7789
    """
    return total(b, delta, None, TextModel(k, mu, TextView(rel, whole, smoothing)))


@text_measure("DELTARB", formula="DELTARB@k = (1-θ) Σ_{j≤k} θ^{j-1} max(0, max_i (g(i,j) - g(i,j-1)))")
def new_gain_with_rank_bias(
    b: Batch,
    *,
    k: Rank | None = None,
    mu: Mu = 2500.0,
    theta: Chance = 0.8,
    rel: Level = 1.0,
    whole: bool = False,
    smoothing: Smoothing = "dirichlet",
) -> Floats:
    """How much each document adds to the coverage of a subtopic, for a reader with persistence θ.

    ``mu`` is the Dirichlet smoothing parameter, a number of words. ``whole=True`` treats each query as one subtopic.
    The paper prints μ and μ P(v|D) of its equations 5 and 6 the wrong way round; ``smoothing='printed'`` computes that.

    >>> texts = {"a": "lamp oil lamp", "b": "lamp oil", "c": "sea gull", "d": "lamp lamp"}
    >>> run, qrels = {"q": {"b": 2.0, "d": 1.0}}, {"q": {"a": {"1": 1, "2": 0}}}
    >>> round(float(cf.evaluate(cf.Collection(qrels, documents=texts), run, "DELTARB(mu=10)@2")), 4)
    0.1529
    """
    return total(b, delta, theta, TextModel(k, mu, TextView(rel, whole, smoothing)))
