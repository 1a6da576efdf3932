"""What each document contributes to a measure of document text: which subtopic it covers, and by which words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cranfield import io
from cranfield.corpus.judged import Reading
from cranfield.corpus.models import steps
from cranfield.data import Floats, Integers, Judgments, Run, TextView
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.notes import Note, sentences
from cranfield.evaluation.plan import make_plan
from cranfield.evaluation.reader import RunReader
from cranfield.evaluation.run_notes import reading_notes
from cranfield.measures import Measure
from cranfield.measures.content import rank_contributions, ranked_rows
from cranfield.ranking.alignment import Aligner
from cranfield.ranking.batch import Batch
from cranfield.ranking.views import condense_and_terminate
from cranfield.results import Displayed, plain
from cranfield.wording import decodable, few, plural, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Word:
    """A word of a document, and its contribution to the coverage of the subtopic, which may be negative."""

    word: str
    change: float


@dataclass(frozen=True, eq=False)
class Step:
    """The contribution of one document.

    ``judged``: its grade by subtopic (under "" for a plain judgment), None if it is unjudged; ``known``: whether the
    corpus has it. ``earned``: what it adds to the score. ``subtopic``: the one whose coverage it raises most, or
    lowers least; ``before``, ``after``: the coverage of this subtopic, 1 - KLD / KLD of the collection. A negative
    coverage counts as a gain of 0. ``words``: all its words, largest contributions first. A word's contribution is its
    gain in model likelihood minus its share of the length penalty. Contributions add up to after - before.
    """

    rank: int
    document: str
    judged: Mapping[str, float] | None
    known: bool
    earned: float
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


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Displayed):
    """The score of one query, rank by rank; ``near`` (rank, subtopic) is the coverage of each subtopic so far."""

    run: str
    query: str
    measure: str
    score: float
    subtopics: tuple[str, ...]
    near: Floats
    steps: tuple[Step, ...]
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        ranks = plural(len(self.steps), "document")
        query = printable(f"{self.run}, query {self.query}")
        return decodable(f"Explanation: {self.measure} of {query} is {self.score:.4f}; {ranks}")

    def plot(self, part: Literal["documents", "subtopics"] = "documents", *, ax: Axes | None = None) -> Axes:
        """Draw what each document adds, or the coverage of each subtopic by rank; returns the Matplotlib axes.

        ``ax``: axes to draw on instead of a new figure.
        """
        return self._draw(part=part, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        subtopics = {name: self.near[:, s] for s, name in enumerate(self.subtopics)}
        who = {"run": self.run, "query": self.query, "measure": self.measure, "score": self.score}
        return plain(who | {"subtopics": subtopics, "ranks": self.steps, "notes": sentences(self.notes)})


def explain(
    qrels: Any,
    run: Any,
    measure: str | Measure,
    *,
    query: str | None = None,
    **options: Any,
) -> Explanation:
    """What each document of a query contributes to a measure of document text, and why.

    ``qrels`` is a `Collection` with documents. ``query`` may be left out if there is only one. ``options`` are those of
    `evaluate`.

    >>> import cranfield as cf
    >>> texts = {"a": "lamp oil lamp", "b": "lamp oil", "c": "sea gull"}
    >>> qrels = {"q": {"a": {"light": 1}}}
    >>> collection = cf.Collection(qrels, documents=texts)
    >>> first, second = cf.explain(collection, {"q": {"b": 2.0, "c": 1.0}}, "DELTANB(mu=10)").steps
    >>> first.document, first.judged, first.subtopic, round(first.earned, 4)
    ('b', None, 'light', 0.6849)
    >>> [(word.word, round(word.change, 4)) for word in first.words]
    [('lamp', 0.8636), ('oil', -0.1786)]
    """
    collection = Collection.of(qrels)
    plan = make_plan(measure, collection.policy(**options))
    column = plan.columns[0]
    chosen = column.measure
    if not chosen.definition.content:
        raise MeasureError(
            f"{chosen} does not use document text, so there is nothing to explain",
            hint="use ABSNB, ABSRB, DELTANB or DELTARB",
        )
    if chosen.chosen["smoothing"] == "printed":
        raise MeasureError(f"{chosen}: explain needs models that are probabilities", hint="omit smoothing='printed'")
    if chosen.views.rule.leaves_ties:
        raise UsageError("ties=expected averages over many orders; explain needs a rule that fixes one order")
    read, judgments = io.read_run(run), collection.judgments
    q = _query_index(judgments, query)
    scores = next(RunReader(judgments, plan.columns, plan.policy, corpus=collection.documents).scores([read]))
    alignment = scores.alignments[column.alignment]
    name = judgments.queries[q]
    if alignment.length[q] < 0:
        raise InputError([f"{read.source_name or read.name}: the run has no query `{name}`"])
    rankings = next(rankings for rankings in alignment.rankings if q in rankings.query)
    ranked = condense_and_terminate(
        chosen.ordered(rankings.rankings(np.flatnonzero(rankings.query == q))), chosen.views
    )
    return _explain_query(read, alignment.aligner, chosen, ranked, name)


def _query_index(judgments: Judgments, query: str | None) -> int:
    names = list(judgments.queries)
    if query is None and len(names) == 1:
        return 0
    if query not in names:
        if query is None:
            raise UsageError("explain needs a query", hint=f"choose one of {few(names)}")
        raise UsageError(f"{judgments.name} has no query `{query}`", hint=f"its queries are {few(names)}")
    return names.index(query)


def _explain_query(run: Run, aligner: Aligner, measure: Measure, ranked: Batch, query: str) -> Explanation:
    reading, chosen = aligner.reading, measure.chosen
    assert reading is not None
    view, mu = TextView.of(chosen), chosen["mu"]
    score = float(measure.scored(ranked).value[0])
    if np.isnan(score):
        raise InputError(
            [f"{aligner.judgments.name}: {measure} is undefined for query `{query}`"],
            hint="the corpus has no relevant document for any of its subtopics",
        )
    rows = ranked_rows(ranked, measure.arguments["k"])
    names = reading.relevant(view).names[int(ranked.query[0])]
    near = reading.nearness(ranked.query, rows, view, mu)[0, :, : len(names)]
    contributions = WordContributions(reading, ranked.query, rows, measure)
    gains = rank_contributions(measure, ranked)[0]
    explained = tuple(
        _step(aligner, near, contributions, names, rank, int(row), float(gain))
        for rank, (row, gain) in enumerate(zip(rows[0].tolist(), gains.tolist(), strict=True))
    )
    modelled = np.flatnonzero(~np.isnan(contributions.distance[: len(names)]))
    subtopics = tuple(names[s] for s in modelled)
    notes = tuple(reading_notes(reading, view, mu, aligner.judgments.name))
    return Explanation(run.name, query, str(measure), score, subtopics, near[:, modelled], explained, notes)


def _step(
    aligner: Aligner,
    near: Floats,
    contributions: WordContributions,
    names: list[str],
    rank: int,
    row: int,
    gain: float,
) -> Step:
    before = near[rank - 1] if rank else np.where(np.isnan(near[rank]), np.nan, 0)
    # Coverage counts from 0 up; if none rose, take the subtopic that fell least.
    rise = np.clip(near[rank], 0, None) - np.clip(before, 0, None)
    moved = np.lexsort((np.nan_to_num(near[rank] - before, nan=-np.inf), np.nan_to_num(rise, nan=-np.inf)))[-1]
    judgments = aligner.judgments
    return Step(
        rank + 1,
        judgments.documents[row],
        _judged(aligner, row),
        bool(contributions.documents[rank] >= 0),
        gain,
        names[moved],
        float(before[moved]),
        float(near[rank, moved]),
        contributions.at(rank, int(moved)),
    )


def _judged(aligner: Aligner, row: int) -> dict[str, float] | None:
    labels = aligner.judgments.labels
    if aligner.grade[row] < 0:
        return None
    if labels is None:
        return {"": float(aligner.grade[row])}
    judged = np.flatnonzero(labels.document == row)
    return {labels.names[int(labels.subtopic[i])]: float(labels.grade[i]) for i in judged}


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
