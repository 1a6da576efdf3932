"""Judgments of one collection for systems on another.

Hui, Berberich and Mele, "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Tables 1 and 2. Each part
of a collection in turn is the source, where documents are judged, and the target, where systems search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from cranfield import io
from cranfield.corpus import Corpus, needed_documents
from cranfield.data import Booleans, Floats, Integers, Judgments, Run
from cranfield.errors import InputError, UsageError, check_count
from cranfield.evaluation.evaluator import read_runs
from cranfield.measures import Measure
from cranfield.ranking.unjudged import last_rank_read
from cranfield.statistics.rounding import SAME
from cranfield.studies import saving
from cranfield.studies.candidates import CandidateMeasures, binary_judgments
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.reuse.collection_split import ALL, CollectionSplit
from cranfield.studies.systems import MIN_QUERIES, add_variants, defined_for_all, mean_scores, score_systems

DEFAULT = ("alpha_nDCG@20", "ERR_IA@20", "NRBP@20", "ABSNB@20", "ABSRB@20", "DELTANB@20", "DELTARB@20")


@dataclass(frozen=True)
class ReuseSettings:
    """How the collection was split (``rule`` describes it), and how judgments were used.

    ``variants``: the number of simulated runs that rerank the documents of the only run.
    """

    rule: str
    seed: int
    rel: float
    coefficient: str
    variants: int


@dataclass(frozen=True, eq=False)
class Reuse(saving.StudyResult):
    """The agreement of orders of systems from judgments of another collection with those from its own judgments.

    ``agreement`` (reference, candidate, source, target): with the reference measure under the target's judgments.
    Candidates use the source's judgments: the same measure on raw and on condensed lists, and every measure that reads
    document text. NaN where a candidate orders no system. ``judged`` (collection, 2): relevant and other documents.
    """

    STUDY = "reuse"

    settings: ReuseSettings
    runs: tuple[str, ...]
    queries: int
    collections: tuple[str, ...]
    references: tuple[str, ...]
    candidates: tuple[str, ...]
    agreement: Floats
    judged: Integers
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints."""
        return {
            **self.header(),
            "settings": asdict(self.settings),
            "runs": list(self.runs),
            "queries": self.queries,
            "collections": {
                name: {"relevant": relevant, "other": other}
                for name, (relevant, other) in zip(self.collections, self.judged.tolist(), strict=True)
            },
            "agreement": {
                reference: {
                    candidate: {
                        source: dict(zip(self.collections, saving.to_json(self.agreement[r, c, s]), strict=True))
                        for s, source in enumerate(self.collections)
                    }
                    for c, candidate in enumerate(self.candidates)
                }
                for r, reference in enumerate(self.references)
            },
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Reuse:
        """The result that `to_dict` returned."""
        agreement, names = data["agreement"], tuple(data["collections"])
        candidates = tuple(next(iter(agreement.values())))
        return cls(
            ReuseSettings(**data["settings"]),
            tuple(data["runs"]),
            data["queries"],
            names,
            tuple(agreement),
            candidates,
            np.array(
                [
                    [
                        [saving.from_json([by_candidate[candidate][s][t] for t in names]) for s in names]
                        for candidate in candidates
                    ]
                    for by_candidate in agreement.values()
                ]
            ),
            np.array([[counts["relevant"], counts["other"]] for counts in data["collections"].values()], np.int64),
            tuple(data["notes"]),
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
    """How well judgments of one part of a collection order systems on another part.

    Documents are split by a list (``split``: ``{document: part}`` or a file of such lines), by their ids (those that
    match the regular expression ``pattern`` are in B, others in A), or at random, a ``share`` of them in A. Runs are
    restricted to the documents of the target. Every part, and the complete collection, is source and target in turn.
    Word statistics come from one ``corpus`` for all parts. ``variants``: see `add_variants`.
    """
    comparison = get_coefficient(coefficient)
    variants, seed = check_count("variants", variants, 0), check_count("seed", seed, 0)
    candidates = CandidateMeasures.of(measures)
    rule = CollectionSplit.of(split, pattern, share, seed)
    judgments = binary_judgments(io.read_qrels(qrels), rel)
    all_runs, variant_notes = add_variants(runs, judgments, variants, seed)
    loaded = [replace(run, source=io.load(run)) for run in read_runs(all_runs)]
    parts = rule.members(judgments.documents)
    if len(parts) < 2:
        raise InputError(
            [f"{judgments.name}: all judged documents are in the part `{next(iter(parts), '')}`"],
            hint="this study needs judgments in at least two parts; split the collection in another way",
        )
    names = (*parts, ALL)
    judged_in = [*parts.values(), np.ones(len(judgments.grade), bool)]
    retrieved_in = [rule.members(io.load(run).document) for run in loaded]
    targets = [
        [
            run if name == ALL else _restrict(run, name, members.get(name))
            for run, members in zip(loaded, retrieved_in, strict=True)
        ]
        for name in names
    ]
    opened = _open_corpus(corpus, judgments, [run for restricted in targets for run in restricted], candidates)
    shape = len(candidates.references), len(candidates.names), len(names), len(names)
    agreement, notes = np.full(shape, np.nan), dict.fromkeys(variant_notes)
    for t, (target, restricted) in enumerate(zip(names, targets, strict=True)):
        systems = score_systems(judgments, restricted, candidates.columns, corpus=opened, seed=seed)
        if target == ALL:
            notes |= dict.fromkeys(systems.notes)
        by_source = [systems.relabeller.scores(keep) for keep in judged_in]
        target_means, target_orders = _ordering_means(by_source[t])
        for s, values in enumerate(by_source):
            means, orders = _ordering_means(values)
            reference_scores = candidates.reference_scores(target_means)[:, None]
            x, y = np.broadcast_arrays(reference_scores, candidates.candidate_scores(means))
            both = candidates.candidate_scores(orders) & candidates.reference_scores(target_orders)[:, None]
            agreement[..., s, t][both] = comparison.compute(x[both], y[both])
        if progress is not None:
            progress(t + 1, len(names))
    counts = [[int((judgments.grade[keep] > 0).sum()), int((judgments.grade[keep] == 0).sum())] for keep in judged_in]
    return Reuse(
        ReuseSettings(rule.description, seed, rel, coefficient, variants),
        tuple(run.name for run in loaded),
        len(judgments.queries),
        names,
        candidates.references,
        candidates.names,
        agreement,
        np.array(counts, np.int64),
        tuple(notes),
    )


def _open_corpus(corpus: Any, judgments: Judgments, runs: Sequence[Run], candidates: CandidateMeasures) -> Any:
    """The corpus, opened once with all documents that the measures read in any of these runs."""
    if corpus is None or not candidates.content:
        return corpus
    depth = max(last_rank_read(column.measure) for column in candidates.columns)
    return Corpus.open(corpus, wanted=needed_documents(judgments, runs, depth))


def _restrict(run: Run, part: str, inside: Booleans | None) -> Run:
    """The run with the documents of one part only."""
    table = io.load(run)
    if inside is None:
        message = f"{run.name} retrieves no document of the part `{part}`"
        raise UsageError(message, hint="split the collection in another way, or leave out the run")
    rows = np.flatnonzero(inside)
    rank = None if table.rank is None else table.rank[rows]
    restricted = replace(
        table, query=table.query.take(rows), document=table.document.take(rows), score=table.score[rows], rank=rank
    )
    return replace(run, source=restricted)


def _ordering_means(values: Floats) -> tuple[Floats, Booleans]:
    """The score of each run by every measure, (measure, run), and whether the measure distinguishes any runs."""
    usable = defined_for_all(values)
    means = mean_scores(values, usable)
    enough = usable.sum(axis=1) >= MIN_QUERIES
    return means, enough & (np.ptp(np.where(enough[:, None], means, 0), axis=1) > SAME)
