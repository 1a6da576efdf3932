"""What each document adds to a score: the measure itself, applied to the ranking down to each document in turn.

No measure has a second formula here. A document adds the difference that it makes to the score when those below it are
still unjudged. A measure that sums up gain times weight also tells the weights, because it asks a `Batch` for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.errors import UsageError
from cranfield.measures import Measure
from cranfield.measures.weights import harmonic
from cranfield.ranking.batch import FIELDS, Batch, Documents, GainSums, Preferences, Weights
from cranfield.ranking.rankings import Rankings

CLOSE = 1e-9
SAME_SUM = "the same sum for the ideal ranking"
OF_RANK = "that of its rank"
PRECISION = "the mean gain of the documents down to its rank, which is precision if gains are 0 and 1"
IN_ORDER = "the share of its pairs with documents that are not relevant that are in the right order"
SIZES = {
    "R": "the number of relevant documents",
    "mass": "the gain of all relevant documents",
    "length": "the number of documents retrieved",
}


class Asked(Batch):
    """A batch that keeps the weights that a measure asks for, the sums of the ideal ranking, and the sizes it reads."""

    weights: list[tuple[Weights | None, Integers | int | None, Floats, str]]
    sums: dict[Weights, Floats]
    sizes: set[str]

    @classmethod
    def by(cls, batch: Batch) -> Asked:
        """The same batch, asked for nothing so far."""
        asked = cls.of(**{name: getattr(batch, name) for name in FIELDS}, weights=[], sums={}, sizes=set())
        assert isinstance(asked, Asked)
        return asked

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in SIZES:
            self.sizes.add(name)
        return found

    def mean_over(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        found = super().mean_over(weights, k)
        self.weights.append((weights, k, found, OF_RANK))
        return found

    def gained(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        self.weights.append((weights, k, super().mean_over(weights, k), OF_RANK))
        return super().gained(weights, k)

    def cumulated(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        name = PRECISION if weights is harmonic else ""
        self.weights.append((None, k, self.cumulated_over(weights, k) / self.size, name))
        return super().cumulated(weights, k)

    def preferences(self, limit: Floats, pairs: Floats) -> Floats:
        self.weights.append((None, None, self.mean_preferred(limit, pairs), IN_ORDER))
        return super().preferences(limit, pairs)

    def ideal_gained(self, weights: Weights, k: int | None = None, of: Documents = "judged") -> Floats:
        self.sums[weights] = super().ideal_gained(weights, k, of)
        return self.sums[weights]


@dataclass(frozen=True, eq=False)
class Contributions:
    """What the judged documents of a ranking add to its score, best first.

    ``batch``: the ranking as the measure sees it, with one row. ``before``: the score without any judged document.
    ``adds``, ``so_far``: what each document adds, and the score down to it (NaN where it is undefined). ``gain``: its
    gain. ``terminated``: the last of them is a terminal document. ``weight``: for a measure that is a sum over
    documents of gain times weight, these weights; ``rank_weight``: those of all ranks, if they depend on nothing else.
    ``divisor``: what the sum is divided by. ``weight_name``, ``divisor_name``: what these are, if known.
    """

    batch: Batch
    before: float
    adds: Floats
    so_far: Floats
    gain: Floats
    score: float
    terminated: bool = False
    weight: Floats | None = None
    rank_weight: Floats | None = None
    weight_name: str = ""
    divisor: float = 1.0
    divisor_name: str = ""


def contributions(measure: Measure, rankings: Rankings, seed: int = 0) -> Contributions:
    """What each judged document of one ranking adds to the score."""
    prepared, views = measure.prepared(rankings), measure.views
    if views.depth is not None and prepared.has_ties:
        raise UsageError(
            "a depth may end this ranking inside a tie, so its end is unknown", hint="choose another tie rule"
        )
    if views.terminal and bool((prepared.nil & (prepared.size > 1)).any()):
        raise UsageError("NIL is tied, so the end of this ranking is unknown", hint="choose another tie rule")
    batch = measure.scoring.completed(prepared)
    batch = batch.columns(np.argsort(np.isnan(batch.grade), axis=1, kind="stable"))
    number = int((~np.isnan(batch.grade)).sum())

    def scores(order: Integers) -> Floats:
        """The scores with the first 0, 1, 2, ... documents of this order."""
        place = np.full(batch.grade.shape[1], number)
        place[order] = np.arange(number)
        kept = batch.rows(np.zeros(number + 1, np.int64)).only(place < np.arange(number + 1)[:, None])
        return measure.scoring.strategy.expectation(measure.scoring, kept, seed).value

    start = batch.start[0, :number]
    so_far = scores(np.arange(number))
    adds = np.diff(np.nan_to_num(so_far))
    if batch.has_ties:
        # Tied documents have no order. Each adds the mean of what it adds before and after the others of its tie, and
        # those of equal gain add the same.
        backwards = np.lexsort((-np.arange(number), start))
        reverse = np.zeros(number)
        reverse[backwards] = np.diff(np.nan_to_num(scores(backwards)))
        kinds = np.stack([start, batch.gain[0, :number], batch.grade[0, :number]])
        alike = np.unique(kinds, axis=1, return_inverse=True)[1].reshape(-1)
        mean = np.bincount(alike, (adds + reverse) / 2) / np.bincount(alike)
        last = np.searchsorted(start, start, side="right")
        adds, so_far = mean[alike], np.append(so_far[0], so_far[last])
    scale = _gain_scale(measure, rankings.judged.top)
    before, score = float(np.nan_to_num(so_far[0])), float(so_far[-1])
    terminated = views.terminal and bool(views.full is None or prepared.nil.any() or prepared.length[0] < views.full)
    found = Contributions(batch, before, adds, so_far[1:], batch.gain[0, :number] * scale, score, terminated)
    is_sum = measure.definition.reads in (GainSums, Preferences) and number > 0 and not np.isnan(score)
    return _with_weights(found, measure, scale) if is_sum else found


def _gain_scale(measure: Measure, top: float) -> float:
    """What gains are divided by without an effect on the score, because the ideal ranking's are, too."""
    if measure.definition.gains != "ideal" or measure.gains.kind != "scaled":
        return 1.0
    grade = np.array([top])
    scaled, plain = (float(gains.of(grade, top)[0]) for gains in (measure.gains, replace(measure.gains, kind="graded")))
    return plain / scaled if scaled > 0 else 1.0


def _with_weights(found: Contributions, measure: Measure, scale: float) -> Contributions:
    """The contributions with their weights, if the measure asked for weights that explain all of them."""
    asked = Asked.by(found.batch)
    measure.scoring.estimate(asked)
    number, total = len(found.adds), found.adds.sum()
    for weights, k, table, weight_name in asked.weights:
        weight = table[0, :number]
        products = found.batch.gain[0, :number] * weight
        if not (products.sum() > 0 and total > 0):
            continue
        divisor = float(products.sum() / total)
        if np.allclose(products / divisor, found.adds, rtol=CLOSE, atol=CLOSE * np.abs(found.adds).max()):
            name, ranks = _name(divisor, weights, asked, measure), np.arange(1, int(found.batch.length[0]) + 1)
            last = len(ranks) if k is None else np.reshape(k, -1)[0]
            of_ranks = None if weights is None else np.where(ranks <= last, weights.at(ranks), 0)
            return replace(
                found,
                weight=weight,
                rank_weight=of_ranks,
                weight_name=weight_name,
                divisor=divisor * scale,
                divisor_name=name,
            )
    return found


def _name(divisor: float, weights: Weights | None, asked: Asked, measure: Measure) -> str:
    """What a divisor is, among the numbers that the measure has asked for; empty if it is none of them."""
    read = set(asked.sizes)
    known = {} if weights not in asked.sums else {SAME_SUM: asked.sums[weights][0]}
    # With gains of 0 and 1, the sum of gains is the number of relevant documents.
    counted = {"mass": "R"} if asked.mass[0] == asked.R[0] else {}
    known |= {SIZES[counted.get(name, name)]: getattr(asked, name)[0] for name in SIZES if name in read}
    known |= {} if measure.rank_cutoff is None else {"the cutoff": measure.rank_cutoff}
    return next((name for name, value in known.items() if abs(float(value) - divisor) <= CLOSE * divisor), "")


def ideal(measure: Measure, rankings: Rankings, seed: int = 0) -> Contributions | None:
    """The same for all documents with gain in descending order of gain; None if the order of gain is not the best."""
    definition, judged = measure.definition, rankings.judged
    if definition.subtopics or definition.preferences or definition.collection or definition.gains == "none":
        return None
    row = 0 if rankings.pool_row is None else int(rankings.pool_row[0])
    documents = rankings.pool.document[rankings.pool.row == row]
    documents = documents if judged.nil is None else documents[~judged.nil[documents]]
    gain = judged.gain(measure.gains)[documents]
    documents = documents[np.argsort(-gain, kind="stable")][: int((gain > 0).sum())]
    zero, rank = np.zeros(len(documents), np.int64), np.arange(len(documents))
    length, size = np.array([len(documents)]), np.ones(len(documents), np.int64)
    best = Rankings(rankings.pool, length, zero, documents, rank, size, zero, zero, pool_row=np.array([row]))
    return contributions(measure, best, seed)
