"""Judgments of one collection for systems on another: which measures can use them?

Hui, Berberich and Mele, "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Tables 1 and 2. The
parts of a collection take turns as the place where documents were judged, and as the place where systems search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from cranfield import io
from cranfield.arguments import whole
from cranfield.batch import Booleans
from cranfield.corpus import Corpus, needed_documents
from cranfield.data import Floats, Integers, Judgments, Run
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.evaluator import read_runs
from cranfield.measures import Measure
from cranfield.ranking.unjudged import last_rank_read
from cranfield.statistics.correlation import SAME
from cranfield.studies import saving
from cranfield.studies.coefficients import coefficient as named
from cranfield.studies.parts import ALL, Parts
from cranfield.studies.rivals import Rivals, binary
from cranfield.studies.systems import LEAST, complete, means, systems
from cranfield.studies.widening import widened

DEFAULT = ("alpha_nDCG@20", "ERR_IA@20", "NRBP@20", "ABSNB@20", "ABSRB@20", "DELTANB@20", "DELTARB@20")


@dataclass(frozen=True)
class Settings:
    """Which documents are where, in words, and what became of the judgments.

    ``variants``: how many of the runs were made up over the documents of the first.
    """

    rule: str
    seed: int
    rel: float
    coefficient: str
    variants: int


@dataclass(frozen=True, eq=False)
class Reuse(saving.Study):
    """How far orders of systems on one collection, from judgments of another, agree with its own judgments' order.

    ``agreement`` (truth, rival, source, target): with the truth, a measure under the target's judgments. Rivals have
    the source's judgments: that measure on lists as they are and on condensed lists, and every measure that
    reads documents. NaN where a rival orders no system. ``judged`` (collection, 2): relevant and other documents.
    """

    STUDY = "reuse"

    settings: Settings
    runs: tuple[str, ...]
    queries: int
    collections: tuple[str, ...]
    truths: tuple[str, ...]
    rivals: tuple[str, ...]
    agreement: Floats
    judged: Integers
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `save` writes and ``--format json`` prints."""
        return {
            "study": self.STUDY,
            "settings": asdict(self.settings),
            "runs": list(self.runs),
            "queries": self.queries,
            "collections": {
                name: {"relevant": relevant, "other": other}
                for name, (relevant, other) in zip(self.collections, self.judged.tolist(), strict=True)
            },
            "agreement": {
                truth: {
                    rival: {
                        source: dict(zip(self.collections, saving.listed(self.agreement[t, r, s]), strict=True))
                        for s, source in enumerate(self.collections)
                    }
                    for r, rival in enumerate(self.rivals)
                }
                for t, truth in enumerate(self.truths)
            },
            "notes": list(self.notes),
        }

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Reuse:
        """What `to_dict` returned, as a result again."""
        agreement, names = found["agreement"], tuple(found["collections"])
        rivals = tuple(next(iter(agreement.values())))
        return cls(
            Settings(**found["settings"]),
            tuple(found["runs"]),
            found["queries"],
            names,
            tuple(agreement),
            rivals,
            np.array(
                [
                    [[saving.array([one[rival][s][t] for t in names]) for s in names] for rival in rivals]
                    for one in agreement.values()
                ]
            ),
            np.array([[one["relevant"], one["other"]] for one in found["collections"].values()], np.int64),
            tuple(found["notes"]),
        )


def reuse(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    corpus: Any = None,
    split: Any = None,
    pattern: str | None = None,
    share: float = 0.5,
    rel: float = 1.0,
    coefficient: str = "tau-a",
    variants: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Reuse:
    """How far the order of systems on one part of a collection can be had from judgments of another part.

    Documents are split by a list (``split``: ``{document: part}`` or a file of such lines), by their ids (those that
    have the regular expression ``pattern`` are B, others A), or at random, a ``share`` of them being A. Runs are
    restricted to the documents of the target, and measured from there. Every part, and all together, is source
    and target in turn. Words are weighed by one ``corpus`` for all of them. ``variants``: see `widened`.
    """
    how = named(coefficient)
    variants, seed = whole("variants", variants, 0), whole("seed", seed, 0)
    rivals = Rivals.of(measures)
    parts = Parts.chosen(split, pattern, share, seed)
    judgments = binary(io.read_qrels(qrels), rel)
    given, said = widened(runs, judgments, variants, seed)
    read = [replace(run, source=io.load(run)) for run in read_runs(given)]
    inside = parts.members(judgments.documents)
    if len(inside) < 2:
        raise InputError(
            [f"{judgments.name}: all judged documents are in one part, `{next(iter(inside), '')}`"],
            hint="judgments of one part are to be used on another; give another rule",
        )
    names = (*inside, ALL)
    known = [*inside.values(), np.ones(len(judgments.grade), bool)]
    where = [parts.members(io.load(run).document) for run in read]
    targets = [
        [run if name == ALL else _within(run, name, there.get(name)) for run, there in zip(read, where, strict=True)]
        for name in names
    ]
    every = [run for restricted in targets for run in restricted]
    words = _opened(corpus, judgments, every, rivals)
    shape = len(rivals.truths), len(rivals.names), len(names), len(names)
    agreement, notes = np.full(shape, np.nan), dict.fromkeys(said)
    for t, (target, restricted) in enumerate(zip(names, targets, strict=True)):
        found = systems(judgments, restricted, rivals.columns, corpus=words, seed=seed)
        if target == ALL:
            notes |= dict.fromkeys(found.notes)
        usual = [found.relabeller.scores(keep) for keep in known]
        true, decided = _means(usual[t])
        for s, values in enumerate(usual):
            scores, counted = _means(values)
            x, y = np.broadcast_arrays(rivals.true(true)[:, None], rivals.rivals(scores))
            there = rivals.rivals(counted) & rivals.true(decided)[:, None]
            agreement[..., s, t][there] = how.of(x[there], y[there])
        if progress is not None:
            progress(t + 1, len(names))
    judged = [[int((judgments.grade[keep] > 0).sum()), int((judgments.grade[keep] == 0).sum())] for keep in known]
    return Reuse(
        Settings(parts.rule, seed, rel, coefficient, variants),
        tuple(run.name for run in read),
        len(judgments.queries),
        names,
        rivals.truths,
        rivals.names,
        agreement,
        np.array(judged, np.int64),
        tuple(notes),
    )


def _opened(corpus: Any, judgments: Judgments, runs: Sequence[Run], rivals: Rivals) -> Any:
    """The corpus, opened once with all documents that the measures read in any of these runs."""
    if corpus is None or not rivals.readers:
        return corpus
    depth = max(last_rank_read(column.measure) for column in rivals.columns)
    return Corpus.open(corpus, wanted=needed_documents(judgments, runs, depth))


def _within(run: Run, name: str, inside: Booleans | None) -> Run:
    """The run with the documents of one part only."""
    table = io.load(run)
    if inside is None:
        raise UsageError(
            f"{run.name} has no document of part `{name}`, and cannot be measured there",
            hint="give another rule, or leave the run out",
        )
    rows = np.flatnonzero(inside)
    rank = None if table.rank is None else table.rank[rows]
    kept = replace(
        table, query=table.query.take(rows), document=table.document.take(rows), score=table.score[rows], rank=rank
    )
    return replace(run, source=kept)


def _means(values: Floats) -> tuple[Floats, Booleans]:
    """The score of each run by every measure, (measure, run), and whether these order any of them."""
    usable = complete(values)
    found = means(values, usable)
    enough = usable.sum(axis=1) >= LEAST
    return found, enough & (np.ptp(np.where(enough[:, None], found, 0), axis=1) > SAME)
