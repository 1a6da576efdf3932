"""Judgments of one collection for systems on another.

Hui, Berberich and Mele, "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Tables 1 and 2. Each part
of a collection in turn is the source, where documents are judged, and the target, where systems search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from cranfield import io
from cranfield.corpus import Corpus, needed_documents
from cranfield.data import Booleans, Floats, Integers, Judgments, Run
from cranfield.errors import InputError, UsageError, check_count, check_fraction
from cranfield.evaluation.evaluator import read_runs
from cranfield.measures import Measure
from cranfield.ranking.unjudged import last_rank_read
from cranfield.statistics.rounding import SAME
from cranfield.studies import saving
from cranfield.studies.candidates import HIGH, CandidateMeasures, binary_judgments
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.divergence_claim import DivergenceClaim, count_divergences
from cranfield.studies.reuse.collection_split import ALL, CollectionSplit
from cranfield.studies.systems import MIN_QUERIES, add_variants, defined_for_all, mean_scores, score_systems
from cranfield.wording import few, plural

MIN_RUNS = 2  # the fewest runs that have an order
DEFAULT = ("alpha_nDCG@20", "ERR_IA@20", "NRBP@20", "ABSNB@20", "ABSRB@20", "DELTANB@20", "DELTARB@20")


@dataclass(frozen=True)
class ReuseSettings:
    """How the collection was split (``rule`` describes it), and how judgments were used.

    ``variants``: the number of simulated runs that rerank the documents of the only run. ``threshold``: the agreement
    that counts as high.
    """

    rule: str
    seed: int
    rel: float
    coefficient: str
    variants: int
    threshold: float = HIGH


@dataclass(frozen=True, eq=False, repr=False)
class Reuse(saving.StudyResult):
    """The agreement of orders of systems from judgments of another collection with those from its own judgments.

    ``agreement`` (reference, candidate, source, target): with the reference measure under the target's judgments.
    Candidates use the source's judgments: the same measure on raw and on condensed lists, and every measure that reads
    document text. NaN where a candidate orders no system. ``judged`` (collection, 2): relevant and other documents.
    ``included`` (collection, run): the run is evaluated where this collection is the target. ``claims``: how often the
    results of a run are as close to a subtopic as the collection is, for all judgments.
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
    included: Booleans
    claims: tuple[DivergenceClaim, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints."""
        return {
            **self.header(),
            "settings": asdict(self.settings),
            "runs": list(self.runs),
            "queries": self.queries,
            "collections": {
                name: {
                    "relevant": relevant,
                    "other": other,
                    "runs": [run for run, included in zip(self.runs, self.included[i], strict=True) if included],
                }
                for i, (name, (relevant, other)) in enumerate(zip(self.collections, self.judged.tolist(), strict=True))
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
            "divergence_claims": [asdict(claim) for claim in self.claims],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Reuse:
        """The result that `to_dict` returned; files of earlier versions include every run in every collection."""
        agreement, names, runs = data["agreement"], tuple(data["collections"]), tuple(data["runs"])
        candidates = tuple(next(iter(agreement.values())))
        return cls(
            ReuseSettings(**data["settings"]),
            runs,
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
            np.array(
                [[run in entry.get("runs", runs) for run in runs] for entry in data["collections"].values()], bool
            ),
            tuple(DivergenceClaim(**claim) for claim in data.get("divergence_claims", ())),
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
    searched: Mapping[str, str] | None = None,
    rel: float = 1.0,
    coefficient: str = "tau-a",
    threshold: float = HIGH,
    variants: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Reuse:
    """How well judgments of one part of a collection order systems on another part.

    Documents are split by a list (``split``: ``{document: part}`` or a file of such lines), by their ids (those that
    match the regular expression ``pattern`` are in B, others in A), or at random, a ``share`` of them in A. Runs are
    restricted to the documents of the target. Every part, and the complete collection, is source and target in turn.
    A run without any document of a part is not evaluated on that part. ``searched``: ``{run: part}`` says which part a
    run searched, or "all"; a name may be a pattern such as ``*-catb``. Word statistics come from one ``corpus`` for all
    parts. ``threshold``: the agreement that counts as high. ``variants``: see `add_variants`.
    """
    comparison, threshold = get_coefficient(coefficient), check_fraction("threshold", threshold)
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
    searched_part = _searched_parts([run.name for run in loaded], searched or {}, names)
    included = np.array(
        [
            [_is_searched(name, part, members) for part, members in zip(searched_part, retrieved_in, strict=True)]
            for name in names
        ]
    )
    targets = [
        [
            run if name == ALL else _restrict(run, members.get(name))
            for run, members, is_included in zip(loaded, retrieved_in, included[t], strict=True)
            if is_included
        ]
        for t, name in enumerate(names)
    ]
    opened = _open_corpus(corpus, judgments, [run for restricted in targets for run in restricted], candidates)
    shape = len(candidates.references), len(candidates.names), len(names), len(names)
    agreement, notes = np.full(shape, np.nan), dict.fromkeys(variant_notes)
    claims: tuple[DivergenceClaim, ...] = ()
    for t, (target, restricted) in enumerate(zip(names, targets, strict=True)):
        if target == ALL or len(restricted) >= MIN_RUNS:
            systems = score_systems(judgments, restricted, candidates.columns, corpus=opened, seed=seed)
            if target == ALL:
                notes |= dict.fromkeys(systems.notes)
                claims = tuple(count_divergences(systems.relabeller))
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
    run_names = tuple(run.name for run in loaded)
    return Reuse(
        ReuseSettings(rule.description, seed, rel, coefficient, variants, threshold),
        run_names,
        len(judgments.queries),
        names,
        candidates.references,
        candidates.names,
        agreement,
        np.array(counts, np.int64),
        included,
        claims,
        (*notes, *_excluded_notes(run_names, names, included)),
    )


def _searched_parts(runs: Sequence[str], searched: Mapping[str, str], names: Sequence[str]) -> list[str | None]:
    """The part that each run searched, as given; None if it is not given."""
    for pattern, part in searched.items():
        if part not in names:
            raise UsageError(f"searched: there is no part `{part}`", hint=f"one of {', '.join(names)}")
        if not any(fnmatchcase(run, pattern) for run in runs):
            raise UsageError(f"searched: there is no run `{pattern}`", hint=f"the runs are {few(runs)}")
    return [next((part for pattern, part in searched.items() if fnmatchcase(run, pattern)), None) for run in runs]


def _is_searched(target: str, searched: str | None, members: Mapping[str, Booleans]) -> bool:
    """Whether a run is evaluated on a target: on the part that it searched, or where it retrieved any document."""
    if target == ALL or searched == ALL:
        return True
    return target in members if searched is None else target == searched


def _excluded_notes(runs: Sequence[str], names: Sequence[str], included: Booleans) -> Iterator[str]:
    """Notes on the runs that are not evaluated on a part."""
    for name, row in zip(names, included, strict=True):
        missing = [run for run, is_included in zip(runs, row, strict=True) if not is_included]
        if missing:
            left = len(runs) - len(missing)
            order, they = "" if left >= MIN_RUNS else ", too few for an order", "it" if len(missing) == 1 else "they"
            yield (
                f"left out where {name} is the target, because {they} did not search it:"
                f" {few(missing)} ({plural(len(missing), 'run')} of {len(runs)}{order})"
            )


def _open_corpus(corpus: Any, judgments: Judgments, runs: Sequence[Run], candidates: CandidateMeasures) -> Any:
    """The corpus, opened once with all documents that the measures read in any of these runs."""
    if corpus is None or not candidates.content:
        return corpus
    depth = max(last_rank_read(column.measure) for column in candidates.columns)
    return Corpus.open(corpus, wanted=needed_documents(judgments, runs, depth))


def _restrict(run: Run, inside: Booleans | None) -> Run:
    """The run with the documents of one part only; None means that it has none of them."""
    table = io.load(run)
    rows = np.zeros(0, np.int64) if inside is None else np.flatnonzero(inside)
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
