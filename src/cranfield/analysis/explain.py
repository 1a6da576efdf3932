"""What each document of a ranking adds to its score; for measures of document text, by which words.

The measure itself is applied to the ranking down to each document in turn: no measure has a second formula here. A
document adds the difference that it makes to the score when those below it are still unjudged. A measure that sums up
gain times weight also tells the weights, because it asks a `Batch` for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cranfield.codec import plain
from cranfield.corpus.judged import Reading
from cranfield.corpus.models import steps
from cranfield.data import Floats, Integers, Judgments, Run, TextView
from cranfield.display import Displayed
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.notes import Note, sentences
from cranfield.evaluation.plan import Column, make_plan
from cranfield.evaluation.run_notes import reading_notes
from cranfield.evaluation.run_scores import RunScores, check_measurable
from cranfield.io.runs import WHOLE_RANKING
from cranfield.measures import Measure
from cranfield.measures.content import rank_contributions, ranked_rows
from cranfield.measures.weights import harmonic
from cranfield.ranking.alignment import Aligner
from cranfield.ranking.batch import FIELDS, Batch, Documents, GainSums, Preferences, Weights
from cranfield.ranking.rankings import Rankings
from cranfield.ranking.tie_rules import DEFAULT
from cranfield.ranking.views import condense_and_terminate
from cranfield.wording import decodable, few, plural, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CLOSE = 1e-9
SAME_SUM = "the same sum for the ideal ranking"
OF_RANK = "that of its rank, for a tie the mean over its ranks"
PRECISION = "the mean gain of the documents down to its rank, which is precision if gains are 0 and 1"
IN_ORDER = "the share of the documents judged not relevant that stand below it"
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
        value = super().__getattribute__(name)
        if name in SIZES:
            self.sizes.add(name)
        return value

    def mean_over(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        means = super().mean_over(weights, k)
        self.weights.append((weights, k, means, OF_RANK))
        return means

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
        end = np.full(batch.grade.shape[1], number)
        end[order] = np.arange(number)
        kept = batch.rows(np.zeros(number + 1, np.int64)).only(end < np.arange(number + 1)[:, None])
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
        same_gain = np.unique(kinds, axis=1, return_inverse=True)[1].reshape(-1)
        mean = np.bincount(same_gain, (adds + reverse) / 2) / np.bincount(same_gain)
        last = np.searchsorted(start, start, side="right")
        adds, so_far = mean[same_gain], np.append(so_far[0], so_far[last])
    if views.rule.limit is not None:
        value = measure.values(rankings, seed=seed).value[0]
        if not np.isclose(so_far[-1], value, equal_nan=True):
            raise UsageError(f"{measure} is the score of an order that is not by gain", hint="choose another tie rule")
    scale = _gain_scale(measure, rankings.judged.top)
    before, score = float(np.nan_to_num(so_far[0])), float(so_far[-1])
    terminated = views.terminal and bool(views.full is None or prepared.nil.any() or prepared.length[0] < views.full)
    result = Contributions(batch, before, adds, so_far[1:], batch.gain[0, :number] * scale, score, terminated)
    is_sum = measure.definition.reads in (GainSums, Preferences) and number > 0 and not np.isnan(score)
    return _with_weights(result, measure, scale) if is_sum else result


def _gain_scale(measure: Measure, top: float) -> float:
    """What gains are divided by without an effect on the score, because the ideal ranking's are, too."""
    if measure.definition.gains != "ideal" or measure.gains.kind != "scaled":
        return 1.0
    grade = np.array([top])
    scaled, plain = (float(gains.of(grade, top)[0]) for gains in (measure.gains, replace(measure.gains, kind="graded")))
    return plain / scaled if scaled > 0 else 1.0


def _with_weights(contributions: Contributions, measure: Measure, scale: float) -> Contributions:
    """The contributions with their weights, if the measure asked for weights that explain all of them."""
    asked = Asked.by(contributions.batch)
    measure.scoring.estimate(asked)
    number, total = len(contributions.adds), contributions.adds.sum()
    for weights, k, table, weight_name in asked.weights:
        weight = table[0, :number]
        products = contributions.batch.gain[0, :number] * weight
        if not (products.sum() > 0 and total > 0):
            continue
        divisor = float(products.sum() / total)
        if np.allclose(
            products / divisor, contributions.adds, rtol=CLOSE, atol=CLOSE * np.abs(contributions.adds).max()
        ):
            name, ranks = _name(divisor, weights, asked, measure), np.arange(1, int(contributions.batch.length[0]) + 1)
            last = len(ranks) if k is None else np.reshape(k, -1)[0]
            of_ranks = None if weights is None else np.where(ranks <= last, weights.at(ranks), 0)
            return replace(
                contributions,
                weight=weight,
                rank_weight=of_ranks,
                weight_name=weight_name,
                divisor=divisor * scale,
                divisor_name=name,
            )
    return contributions


def _name(divisor: float, weights: Weights | None, asked: Asked, measure: Measure) -> str:
    """The name of a divisor, if the measure asked for this number; empty otherwise."""
    read = set(asked.sizes)
    candidates = {} if weights not in asked.sums else {SAME_SUM: asked.sums[weights][0]}
    # With gains of 0 and 1, the sum of gains is the number of relevant documents.
    counted = {"mass": "R"} if asked.mass[0] == asked.R[0] else {}
    candidates |= {SIZES[counted.get(name, name)]: getattr(asked, name)[0] for name in SIZES if name in read}
    candidates |= {} if measure.rank_cutoff is None else {"the cutoff": measure.rank_cutoff}
    return next((name for name, value in candidates.items() if abs(float(value) - divisor) <= CLOSE * divisor), "")


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


Part = Literal["documents", "subtopics"]
END = "(end of the list)"  # the terminal document


@dataclass(frozen=True)
class Word:
    """A word of a document, and its contribution to the coverage of the subtopic, which may be negative."""

    word: str
    change: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Step:
    """What one document adds to a score.

    ``rank``: its rank; ``tie``: the first and last rank of the documents with its score, if there are several.
    ``open``: the tie has no order, and the document has each of these ranks with the same probability. ``judged``: its
    grade by subtopic (under "" for a plain judgment), None if it is unjudged. ``gain``: of its grade; ``weight``: by
    which the gain counts, NaN unless the measure is a sum of gain times weight. ``earned``: what it adds to the score;
    ``so_far``: the score if all documents below were unjudged, NaN where it is undefined. ``ideal_gain`` and
    ``ideal_so_far``: the same at this rank of the ideal ranking, NaN where it has none.
    """

    rank: int
    document: str
    judged: Mapping[str, float] | None
    earned: float
    so_far: float
    gain: float = math.nan
    weight: float = math.nan
    ideal_gain: float = math.nan
    ideal_so_far: float = math.nan
    tie: tuple[int, int] | None = None
    open: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return plain(vars(self))


@dataclass(frozen=True, eq=False, kw_only=True)
class TextStep(Step):
    """What one document adds to a measure of document text.

    ``known``: whether the corpus has it. ``subtopic``: the one whose coverage it raises most, or lowers least;
    ``before``, ``after``: the coverage of this subtopic, 1 - KLD / KLD of the collection. A negative coverage counts as
    a gain of 0. ``words``: all its words, largest contributions first. A word's contribution is its gain in model
    likelihood minus its share of the length penalty. Contributions add up to after - before.
    """

    known: bool
    subtopic: str
    before: float
    after: float
    words: tuple[Word, ...]

    @property
    def change(self) -> float:
        """The change in coverage."""
        return self.after - self.before

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return plain(vars(self) | {"words": {word.word: word.change for word in self.words}})


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explanation(Displayed):
    """The score of one query, rank by rank: ``before`` and what all ``steps`` earn add up to the score.

    ``before``: the score without any judged document. ``summary``, ``formula``: the measure in words and in symbols.
    ``divisor``: what a sum of gain times weight is divided by, NaN for other measures; ``divisor_name`` and
    ``weight_name``: what this number and the weights are, if known.
    ``ideal_score``: the score of the ideal ranking, NaN where that is not known. ``ties``: the rule for equal scores.
    ``missed``: the grades of judged documents that are not among the steps; ``top``: the highest of the collection.
    ``removed``: the unjudged documents that a condensed ranking leaves out, each with the number of steps above it.
    """

    _SHOWN_BY = "explanation"

    run: str
    query: str
    measure: str
    score: float
    steps: tuple[Step, ...]
    summary: str
    formula: str
    ties: str
    before: float = 0.0
    divisor: float = math.nan
    divisor_name: str = ""
    weight_name: str = ""
    ideal_score: float = math.nan
    missed: tuple[float, ...] = ()
    top: float = 0.0
    removed: tuple[tuple[int, str], ...] = ()
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        ranks = plural(len(self.steps), "document")
        query = printable(f"{self.run}, query {self.query}")
        return decodable(f"Explanation: {self.measure} of {query} is {self.score:.4f}; {ranks}")

    def plot(self, part: Part = "documents", *, ax: Axes | None = None) -> Axes:
        """Draw what each document adds; returns the Matplotlib axes.

        ``part``: for a measure of document text, ``subtopics`` draws the coverage of each subtopic by rank instead.
        ``ax``: axes to draw on instead of a new figure.
        """
        return self._draw(part=part, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return plain(self._parts() | {"notes": sentences(self.notes)})

    def _parts(self) -> dict[str, Any]:
        who = {"run": self.run, "query": self.query, "measure": self.measure, "score": self.score}
        who |= {"summary": self.summary, "formula": self.formula, "ties": self.ties}
        sums = {"before": self.before, "divisor": self.divisor, "ideal_score": self.ideal_score}
        return who | sums | {"ranks": self.steps}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TextExplanation(Explanation):
    """The score of a measure of document text; ``near`` (rank, subtopic) is the coverage of each subtopic so far."""

    subtopics: tuple[str, ...]
    near: Floats
    steps: tuple[TextStep, ...]

    def _parts(self) -> dict[str, Any]:
        return super()._parts() | {"subtopics": {name: self.near[:, s] for s, name in enumerate(self.subtopics)}}


def explain(
    qrels: Any,
    run: Any,
    measure: str | Measure,
    *,
    query: str | None = None,
    **options: Any,
) -> Explanation:
    """What each document of a query adds to a score, rank by rank.

    Parameters
    ----------
    qrels
        Judgments or a `Collection`; a measure of document text needs one with documents, and is explained by words.
    run
        One run, as in `evaluate`.
    measure
        One measure.
    query
        The id of the query; may be left out if there is only one.
    **options
        Those of `evaluate`.

    Returns
    -------
    Explanation
        The score, its divisor, and one step for each document.

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels = {"q": {"a": 3, "b": 0, "c": 2}}
    >>> explanation = cf.explain(qrels, {"q": ["b", "a", "x", "c"]}, "nDCG@4")
    >>> [(step.document, step.gain, round(step.weight, 4), round(step.earned, 4)) for step in explanation.steps]
    [('b', 0.0, 1.0, 0.0), ('a', 3.0, 0.6309, 0.4441), ('x', nan, 0.5, 0.0), ('c', 2.0, 0.4307, 0.2021)]
    >>> round(explanation.score, 4), round(explanation.divisor, 4)
    (0.6462, 4.2619)

    >>> texts = {"a": "lamp oil lamp", "b": "lamp oil", "c": "sea gull"}
    >>> collection = cf.Collection({"q": {"a": {"light": 1}}}, documents=texts)
    >>> first, second = cf.explain(collection, {"q": {"b": 2.0, "c": 1.0}}, "DELTANB(mu=10)").steps
    >>> first.document, first.judged, first.subtopic, round(first.earned, 4)
    ('b', None, 'light', 0.6849)
    >>> [(word.word, round(word.change, 4)) for word in first.words]
    [('lamp', 0.8636), ('oil', -0.1786)]
    """
    collection = Collection.of(qrels)
    evaluator = Evaluator.of(collection, make_plan(measure, collection.policy(**options)))
    column = evaluator.columns[0]
    _check_explained(column.measure)
    q = _query_index(collection.judgments, query)
    evaluation = evaluator.evaluation(run, page=WHOLE_RANKING)
    if len(evaluation.runs) > 1:
        raise UsageError(f"explain takes one run, not {len(evaluation.runs)}")
    scores, name = evaluation.run_scores[0], evaluation.judgments.queries[q]
    alignment = scores.alignments[column.alignment]
    if alignment.length[q] < 0 and evaluation.policy.queries != "judged":  # there, it is an empty list
        raise InputError([f"{scores.run.source_name or scores.run.name}: the run has no query `{name}`"])
    check_measurable(scores.run, alignment, column.measure)
    part = next(rankings for rankings in alignment.rankings if q in rankings.query)
    rankings = part.rankings(np.flatnonzero(part.query == q))
    if column.measure.definition.content:
        ranked = condense_and_terminate(column.measure.ordered(rankings), column.measure.views)
        return _explain_text(scores.run, alignment.aligner, column.measure, ranked, name)
    return _explain_ranks(scores, column, rankings, q, seed=evaluation.policy.seed)


def _check_explained(measure: Measure) -> None:
    if measure.views.groups:
        raise MeasureError(f"{measure} is a mean over groups of judgments", hint="explain the score of one group alone")
    if not measure.definition.content:
        return
    if measure.chosen["smoothing"] == "printed":
        raise MeasureError(f"{measure}: explain needs models that are probabilities", hint="omit smoothing='printed'")
    if measure.views.rule.leaves_ties:
        raise UsageError("ties=expected averages over many orders; explaining words needs a rule that fixes one order")


def _undefined(aligner: Aligner, measure: Measure, query: str, hint: str) -> InputError:
    return InputError([f"{aligner.judgments.name}: {measure} is undefined for query `{query}`"], hint=hint)


def _explain_ranks(scores: RunScores, column: Column, rankings: Rankings, q: int, seed: int) -> Explanation:
    measure, aligner = column.measure, scores.alignments[column.alignment].aligner
    name = aligner.judgments.queries[q]
    actual, best = contributions(measure, rankings, seed), ideal(measure, rankings, seed)
    if np.isnan(actual.score):
        nothing, show = "no judged document of the query has a gain", f"`cranfield show {measure.symbol}` says when"
        raise _undefined(aligner, measure, name, nothing if actual.batch.mass[0] == 0 else show)
    definition, judgments = measure.definition, aligner.judgments
    ranks = _Ranks(measure, aligner, actual, best)
    steps = tuple(ranks.steps(_tie_groups(scores, column, q)))
    listed, rows = {step.document for step in steps}, range(judgments.begin[q], judgments.begin[q + 1])
    missed = [float(aligner.grade[row]) for row in rows if judgments.documents[row] not in listed]
    return Explanation(
        run=scores.run.name,
        query=name,
        measure=str(measure),
        score=actual.score,
        steps=steps,
        summary=definition.summary,
        formula=definition.formula,
        ties=measure.views.ties or DEFAULT,
        before=actual.before,
        divisor=math.nan if actual.weight is None else actual.divisor,
        divisor_name=actual.divisor_name,
        weight_name=actual.weight_name,
        ideal_score=math.nan if best is None else best.score,
        missed=tuple(grade for grade in missed if grade >= 0),
        top=aligner.judged.top,
        removed=tuple(ranks.removed),
    )


def _tie_groups(scores: RunScores, column: Column, q: int) -> Iterator[list[tuple[str, int | None]]]:
    """The documents of a ranking, best first, in groups of equal scores: their ids and rows in the judgments."""
    judgments, rule = scores.alignments[column.alignment].aligner.judgments, column.measure.views.rule
    positions, ids = scores.tops[rule.key].positions, scores.tops[rule.key].ids
    rows = np.flatnonzero(positions.query == q)
    start, order = positions.start[rows], getattr(positions, rule.page_position)[rows]
    rows = rows[np.lexsort((order, start))]
    judged = {judgments.documents[row]: row for row in range(judgments.begin[q], judgments.begin[q + 1])}
    documents = zip(positions.start[rows].tolist(), ids.take(rows), strict=True)
    for _, group in groupby(documents, key=lambda document: document[0]):
        yield [(name, judged.get(name)) for _, name in group]


class _Ranks:
    """The steps of an explanation: the documents of a ranking beside what the judged ones add."""

    def __init__(
        self, measure: Measure, aligner: Aligner, contributions: Contributions, best: Contributions | None
    ) -> None:
        self.measure, self.aligner, self.contributions, self.best = measure, aligner, contributions, best
        number = len(contributions.adds) - contributions.terminated
        self.start, self.grade = contributions.batch.start[0, :number], contributions.batch.grade[0, :number]
        self.open = measure.views.rule.leaves_ties
        self.removed: list[tuple[int, str]] = []

    def steps(self, groups: Iterable[list[tuple[str, int | None]]]) -> Iterator[Step]:
        """The documents down to the last rank that the measure looks at, in the order in which it sees them."""
        own, views = self.contributions, self.measure.views
        length = int(own.batch.length[0]) - own.terminated
        # The gain of a terminal document depends on the whole list.
        end = length if views.terminal else min(length, self.measure.rank_cutoff or length)
        above, so_far = 0, own.before
        for documents in groups:
            if views.condensed:
                self.removed += [
                    (above, name) for name, row in documents if not self.grade_of(row) >= 0 and above <= end
                ]
                documents = [(name, row) for name, row in documents if self.grade_of(row) >= 0]
            size = len(documents)
            for rank, name, row, j in self.placed(documents, above):
                if above >= end or (rank > end and not self.open):
                    break
                so_far = so_far if j is None else float(own.so_far[j])
                tie = (above + 1, above + size) if size > 1 else None
                yield self.step(rank, name, self.judged(row), j, so_far, self.grade_of(row), tie)
            above += size
        if own.terminated and (self.measure.rank_cutoff or length + 1) > length:
            j = len(own.adds) - 1
            yield self.step(length + 1, END, None, j, float(own.so_far[j]))

    def step(
        self,
        rank: int,
        name: str,
        judged: Mapping[str, float] | None,
        j: int | None,
        so_far: float,
        grade: float = math.nan,
        tie: tuple[int, int] | None = None,
    ) -> Step:
        """One document; ``j`` is its column in the batch, if it has one."""
        own, best, weight = self.contributions, self.best, math.nan
        if j is not None:
            gain, earned = float(own.gain[j]), float(own.adds[j])
        else:
            top = self.aligner.judged.top
            gain, earned = float(self.measure.gains.of(np.array([grade]), top)[0]) if grade >= 0 else math.nan, 0.0
        if self.measure.definition.gains == "none" or self.measure.definition.subtopics:
            gain = math.nan
        if j is not None and own.weight is not None:
            weight = float(own.weight[j])
        elif own.rank_weight is not None:
            first, last = tie if tie is not None and self.open else (rank, rank)
            weight = float(own.rank_weight[first - 1 : last].mean())
        of_best = {}
        if best is not None:
            inside = rank <= len(best.adds)
            of_best = {"ideal_gain": float(best.gain[rank - 1])} if inside else {}
            of_best["ideal_so_far"] = float(best.so_far[rank - 1]) if inside else best.score
        return Step(
            rank=rank,
            document=name,
            judged=judged,
            earned=earned,
            so_far=so_far,
            gain=gain,
            weight=weight,
            **of_best,
            tie=tie,
            open=self.open and tie is not None,
        )

    def placed(
        self, documents: list[tuple[str, int | None]], above: int
    ) -> list[tuple[int, str, int | None, int | None]]:
        """The rank of each document of a tie, its id and its row; and its column in the batch, if it has one.

        Documents of equal grade are alike, so that a column belongs to any of them. Documents without a column have the
        ranks that are left.
        """
        first, last = np.searchsorted(self.start, (above, above + len(documents))).tolist()
        columns: list[int] = list(range(first, last))
        places: list[tuple[int, str, int | None, int | None]] = []
        others = []
        taken = set()
        for name, row in documents:
            grade = self.grade_of(row)
            j = next((j for j in columns if self.grade[j] == grade), None)
            if j is None:
                others.append((name, row))
                continue
            columns.remove(j)
            rank = above + 1 + len(places) if self.open else int(self.start[j]) + 1
            taken.add(rank)
            places.append((rank, name, row, j))
        free = (rank for rank in range(above + 1, above + len(documents) + 1) if rank not in taken)
        places += [(rank, name, row, None) for rank, (name, row) in zip(free, others, strict=False)]
        return sorted(places, key=itemgetter(0))

    def grade_of(self, row: int | None) -> float:
        """The grade of a document, NaN if it has none."""
        if row is None:
            return 0.0 if self.aligner.judged.complete else math.nan
        return float(self.aligner.grade[row])

    def judged(self, row: int | None) -> Mapping[str, float] | None:
        """The grade of a document by subtopic; that of a document without a judgment is 0 if judgments are complete."""
        if row is None:
            return {"": 0.0} if self.aligner.judged.complete else None
        return _judged(self.aligner, row)


def _query_index(judgments: Judgments, query: str | None) -> int:
    names = list(judgments.queries)
    if query is None and len(names) == 1:
        return 0
    if query not in names:
        if query is None:
            raise UsageError("explain needs a query", hint=f"choose one of {few(names)}")
        raise UsageError(f"{judgments.name} has no query `{query}`", hint=f"its queries are {few(names)}")
    return names.index(query)


def _explain_text(run: Run, aligner: Aligner, measure: Measure, ranked: Batch, query: str) -> TextExplanation:
    reading, chosen = aligner.reading, measure.chosen
    assert reading is not None
    view, mu = TextView.of(chosen), chosen["mu"]
    score = float(measure.scored(ranked).value[0])
    if np.isnan(score):
        raise _undefined(aligner, measure, query, "the corpus has no relevant document for any of its subtopics")
    rows = ranked_rows(ranked, measure.arguments["k"])
    names = reading.relevant(view).names[int(ranked.query[0])]
    near = reading.nearness(ranked.query, rows, view, mu)[0, :, : len(names)]
    words = WordContributions(reading, ranked.query, rows, measure)
    gains = rank_contributions(measure, ranked)[0]
    explained = tuple(
        _step(aligner, near, words, names, rank, int(row), (float(gain), float(so_far)))
        for rank, (row, gain, so_far) in enumerate(zip(rows[0].tolist(), gains, np.cumsum(gains), strict=True))
    )
    modelled = np.flatnonzero(~np.isnan(words.distance[: len(names)]))
    subtopics = tuple(names[s] for s in modelled)
    notes = tuple(reading_notes(reading, view, mu, aligner.judgments.name))
    return TextExplanation(
        run=run.name,
        query=query,
        measure=str(measure),
        score=score,
        steps=explained,
        summary=measure.definition.summary,
        formula=measure.definition.formula,
        ties=measure.views.ties or DEFAULT,
        subtopics=subtopics,
        near=near[:, modelled],
        notes=notes,
    )


def _step(
    aligner: Aligner,
    near: Floats,
    words: WordContributions,
    names: list[str],
    rank: int,
    row: int,
    gain: tuple[float, float],
) -> TextStep:
    before = near[rank - 1] if rank else np.where(np.isnan(near[rank]), np.nan, 0)
    # Coverage counts from 0 up; if none rose, take the subtopic that fell least.
    rise = np.clip(near[rank], 0, None) - np.clip(before, 0, None)
    moved = np.lexsort((np.nan_to_num(near[rank] - before, nan=-np.inf), np.nan_to_num(rise, nan=-np.inf)))[-1]
    judgments = aligner.judgments
    return TextStep(
        rank=rank + 1,
        document=judgments.documents[row],
        judged=_judged(aligner, row),
        earned=gain[0],
        so_far=gain[1],
        known=bool(words.documents[rank] >= 0),
        subtopic=names[moved],
        before=float(before[moved]),
        after=float(near[rank, moved]),
        words=words.at(rank, int(moved)),
    )


def _judged(aligner: Aligner, row: int) -> dict[str, float] | None:
    labels = aligner.judgments.labels
    if aligner.grade[row] < 0:
        return None
    if labels is None:
        return {"": float(aligner.grade[row])}
    judged = np.flatnonzero(labels.document == row)
    by_subtopic = {labels.names[int(labels.subtopic[i])]: float(labels.grade[i]) for i in judged}
    return by_subtopic or {"": float(aligner.grade[row])}  # a chunk that covers no passage


class WordContributions:
    """What each word of a ranking's documents contributes to each subtopic of its query."""

    def __init__(self, reading: Reading, query: Integers, rows: Integers, measure: Measure) -> None:
        chosen = measure.chosen
        self.terms, self.words = reading.corpus.terms, reading.words
        self.mu, models = chosen["mu"], reading.models(TextView.of(chosen))
        self.documents = reading.document[rows[0]]
        self.read = steps(self.words, self.documents[None], self.mu * self.words.share)
        term = self.words.term[self.read.row]
        at = models.at(np.broadcast_to(query, term.shape), term)
        own = np.where((at >= 0)[:, None], models.count[at], 0)
        # P(v|Θ) of every term read, by subtopic.
        self.share = (own + self.mu * self.words.share[term][:, None]) / (models.length[query] + self.mu)
        self.distance = models.divergence(self.mu)[query][0]

    def at(self, rank: int, subtopic: int) -> tuple[Word, ...]:
        """The words of the document at a rank, with their contributions to the coverage of a subtopic."""
        cells = np.flatnonzero(self.read.cell == rank)
        row = self.read.row[cells]
        length = self.words.length[self.documents][: rank + 1]
        # A longer text makes every word less likely: a penalty that is shared by all occurrences.
        penalty = np.log1p(length[rank] / (length[:rank].sum() + self.mu))
        cost = penalty * self.words.count[row] / max(length[rank], 1)
        change = (self.share[cells, subtopic] * self.read.rise[cells] - cost) / self.distance[subtopic]
        order = np.argsort(-np.abs(change), kind="stable")
        return tuple(Word(self.terms[int(self.words.term[row[i]])], float(change[i])) for i in order)
