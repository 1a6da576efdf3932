"""Why a document earned what it did from a measure that reads: which subtopic it brought nearer, and by which words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import io
from cranfield.alignment import Aligner
from cranfield.batch import Batch
from cranfield.corpus.gains import steps
from cranfield.corpus.judged import Reading
from cranfield.data import Floats, Integers, Judgments, Run
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.evaluation.columns import make_plan
from cranfield.evaluation.notes import Note, sentences
from cranfield.evaluation.policy import Policy
from cranfield.evaluation.reader import RunReader
from cranfield.evaluation.run_notes import reading_notes
from cranfield.evaluation.scores import number
from cranfield.measures import Measure
from cranfield.measures.content import earned, ranking
from cranfield.views import settled
from cranfield.wording import few


@dataclass(frozen=True)
class Word:
    """A word of a document, and by how much it brought what was read nearer to the subtopic; below 0, further off."""

    word: str
    change: float


@dataclass(frozen=True, eq=False)
class Step:
    """What one document did.

    ``judged``: its grade by subtopic (that of a plain judgment under ""), None where nobody judged it; ``known``: the
    corpus has it. ``earned``: what it adds to the score. ``subtopic``: the one that it brought nearest, or moved off
    least; ``before``, ``after``: how near that was, 1 - KLD / KLD of the collection, which a gain counts from 0 on.
    ``words``: all its words, those that moved the subtopic most first. What a word brings it nearer by being likely
    there is less what it costs that more was read, each occurrence alike. They add up to after - before.
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
        """By how much the subtopic came nearer."""
        return self.after - self.before

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "rank": self.rank,
            "document": self.document,
            "judged": None if self.judged is None else dict(self.judged),
            "known": self.known,
            "earned": number(self.earned),
            "subtopic": self.subtopic,
            "before": number(self.before),
            "after": number(self.after),
            "words": {one.word: number(one.change) for one in self.words},
        }


@dataclass(frozen=True, eq=False)
class Explanation:
    """A score of one query, rank by rank; ``near`` (rank, subtopic) is how near each subtopic had come."""

    run: str
    query: str
    measure: str
    score: float
    subtopics: tuple[str, ...]
    near: Floats
    steps: tuple[Step, ...]
    notes: tuple[Note, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "run": self.run,
            "query": self.query,
            "measure": self.measure,
            "score": number(self.score),
            "subtopics": {name: [number(x) for x in self.near[:, s]] for s, name in enumerate(self.subtopics)},
            "ranks": [step.to_dict() for step in self.steps],
            "notes": sentences(self.notes),
        }


def explain(
    qrels: Any,
    run: Any,
    measure: str | Measure,
    *,
    corpus: Any,
    query: str | None = None,
    **policy: Any,
) -> Explanation:
    """What each document of a query earned from a measure that reads, and why; an only query need not be named.

    ``policy`` are the fields of `Policy`.

    >>> import cranfield as cf
    >>> texts = {"a": "lamp oil lamp", "b": "lamp oil", "c": "sea gull"}
    >>> qrels = {"q": {"a": {"light": 1}}}
    >>> first, second = cf.explain(qrels, {"q": {"b": 2.0, "c": 1.0}}, "DELTANB(mu=10)", corpus=texts).steps
    >>> first.document, first.judged, first.subtopic, round(first.earned, 4)
    ('b', None, 'light', 0.6849)
    >>> [(one.word, round(one.change, 4)) for one in first.words]
    [('lamp', 0.8636), ('oil', -0.1786)]
    """
    plan = make_plan(measure, Policy.of(**policy))
    column = plan.columns[0]
    asked = column.measure
    if not asked.definition.content:
        raise MeasureError(
            f"{asked} does not read documents: their grades and ranks are all there is to explain",
            hint="those that do: ABSNB, ABSRB, DELTANB, DELTARB",
        )
    if asked.views.rule.leaves_ties:
        raise UsageError("ties=expected is a mean over many orders, and only one can be explained at a time")
    read, judgments = io.read_run(run), io.read_qrels(qrels)
    wanted = _query(judgments, query)
    scores = next(RunReader(judgments, plan.columns, plan.policy, corpus=corpus).scores([read]))
    alignment = scores.alignments[column.alignment]
    name = judgments.queries[wanted]
    if alignment.length[wanted] < 0:
        raise InputError([f"{read.source_name or read.name}: there is no query `{name}` in it"])
    rankings = next(rankings for rankings in alignment.rankings if wanted in rankings.query)
    seen = settled(asked.ordered(rankings.rankings(np.flatnonzero(rankings.query == wanted))), asked.views)
    return _explained(read, alignment.aligner, asked, seen, name)


def _query(judgments: Judgments, query: str | None) -> int:
    names = list(judgments.queries)
    if query is None and len(names) == 1:
        return 0
    if query not in names:
        what = "which query?" if query is None else f"{judgments.name}: there is no query `{query}` in it"
        raise UsageError(what, hint=f"there are {few(names)}")
    return names.index(query)


def _explained(run: Run, aligner: Aligner, measure: Measure, seen: Batch, query: str) -> Explanation:
    reading, chosen = aligner.reading, measure.chosen
    assert reading is not None
    view, mu = (chosen["rel"], chosen["whole"]), chosen["mu"]
    score = float(measure.scored(seen).value[0])
    if np.isnan(score):
        raise InputError(
            [f"{aligner.judgments.name}: {measure} is undefined for query `{query}`"],
            hint="the corpus has no document that is relevant to any of its subtopics",
        )
    rows = ranking(seen, measure.arguments["k"])
    names = reading.relevant(view).names[int(seen.query[0])]
    near = reading.nearness(seen.query, rows, view, mu)[0, :, : len(names)]
    told = Words(reading, seen.query, rows, measure)
    gains = earned(measure, seen)[0]
    found = tuple(
        _step(aligner, near, told, names, rank, int(row), float(gain))
        for rank, (row, gain) in enumerate(zip(rows[0].tolist(), gains.tolist(), strict=True))
    )
    kept = np.flatnonzero(~np.isnan(told.distance[: len(names)]))
    known = tuple(names[s] for s in kept)
    notes = tuple(reading_notes(reading, view, mu, aligner.judgments.name))
    return Explanation(run.name, query, str(measure), score, known, near[:, kept], found, notes)


def _step(aligner: Aligner, near: Floats, told: Words, names: list[str], rank: int, row: int, gain: float) -> Step:
    before = near[rank - 1] if rank else np.where(np.isnan(near[rank]), np.nan, 0)
    # What came nearer counts from 0 on; of what did not, what moved off least.
    rise = np.clip(near[rank], 0, None) - np.clip(before, 0, None)
    moved = np.lexsort((np.nan_to_num(near[rank] - before, nan=-np.inf), np.nan_to_num(rise, nan=-np.inf)))[-1]
    judgments = aligner.judgments
    return Step(
        rank + 1,
        judgments.documents[row],
        _judged(aligner, row),
        bool(told.documents[rank] >= 0),
        gain,
        names[moved],
        float(before[moved]),
        float(near[rank, moved]),
        told.at(rank, int(moved)),
    )


def _judged(aligner: Aligner, row: int) -> dict[str, float] | None:
    labels = aligner.judgments.labels
    if aligner.grade[row] < 0:
        return None
    if labels is None:
        return {"": float(aligner.grade[row])}
    mine = np.flatnonzero(labels.document == row)
    return {labels.names[int(labels.subtopic[i])]: float(labels.grade[i]) for i in mine}


class Words:
    """What each word of a ranking's documents did to each subtopic of its query."""

    def __init__(self, reading: Reading, query: Integers, rows: Integers, measure: Measure) -> None:
        chosen = measure.chosen
        self.terms, self.words = reading.corpus.terms, reading.words
        self.mu, models = chosen["mu"], reading.models((chosen["rel"], chosen["whole"]))
        self.documents = reading.document[rows[0]]
        self.read = steps(models, self.documents[None], self.mu)
        term = self.words.term[self.read.row]
        at = models.at(np.broadcast_to(query, term.shape), term)
        own = np.where((at >= 0)[:, None], models.count[at], 0)
        # P(v|Θ) of every term read, by subtopic.
        self.share = (own + self.mu * self.words.share[term][:, None]) / (models.length[query] + self.mu)
        self.distance = models.divergence(self.mu)[query][0]

    def at(self, rank: int, subtopic: int) -> tuple[Word, ...]:
        """The words read at a rank, with what each did; together, what the subtopic came nearer by."""
        mine = np.flatnonzero(self.read.cell == rank)
        row = self.read.row[mine]
        length = self.words.length[self.documents][: rank + 1]
        # As more is read all that is known becomes rarer in it: a cost that each occurrence of a word has its part in.
        thinner = np.log1p(length[rank] / (length[:rank].sum() + self.mu))
        cost = thinner * self.words.count[row] / max(length[rank], 1)
        change = (self.share[mine, subtopic] * self.read.rise[mine] - cost) / self.distance[subtopic]
        order = np.argsort(-np.abs(change), kind="stable")
        return tuple(Word(self.terms[int(self.words.term[row[i]])], float(change[i])) for i in order)
