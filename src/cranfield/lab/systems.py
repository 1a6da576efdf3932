"""The input of studies on orders of systems: runs, measures that are means over queries, and coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cranfield import io
from cranfield.data import Booleans, Floats, Integers, Judgments, Run, Table, TextView
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import Evaluator, read_runs
from cranfield.evaluation.notes import SENTENCES, Note, QueryNames
from cranfield.evaluation.plan import Column, Policy, Undefined, make_columns, make_plan
from cranfield.evaluation.run_notes import reading_notes
from cranfield.evaluation.scores import Scores, substituted
from cranfield.io.columns import codes_of
from cranfield.lab.relabelling import Relabeller
from cranfield.lab.simulation import variants
from cranfield.measures import Measure
from cranfield.settings import Count, checked
from cranfield.statistics.correlation import critical_rho, critical_tau, pearson, rbo, spearman, tau, tau_ap
from cranfield.statistics.intervals import t_quantile
from cranfield.statistics.rounding import levels
from cranfield.statistics.standardisation import Standardisation

MIN_QUERIES = 2  # the fewest queries that give an order of systems or a test


SENTENCES.update(
    negated="{measures}: lower values are better, so values are negated",
    equal_queries="queries count equally, whatever their collection",
    simulated_runs="{number} of the {total} runs are simulated: they rerank the documents of {run}",
    top_runs="{number} of {total} runs are used, those with the highest {measure}",
    same_score="{measure} gives all runs the same score",
    tied_pairs="{measure} gives some runs the same score; tau-a counts a tied pair as half a disagreement",
    not_in_corpus="{missing:,} of {total:,} documents at the top of the runs are not in the corpus",
    omitted_for_all="{measures}: undefined for {queries}; omitted for all runs, means are over {left} queries",
)


# What no study uses: judgments that are not of single documents, or are a sample; costs; predictions.
NOT_STUDIED = (
    "prefs",
    "groups",
    "judges",
    "spans",
    "map_documents",
    "strata",
    "inclusion",
    "method",
    "costs",
    "predicted",
)


def studied(qrels: Any, corpus: Any = None, *, without: Sequence[str] = ()) -> Collection:
    """The collection that is studied, with these documents if they are given; raises for what the study cannot use."""
    collection = Collection.of(qrels)
    for key in (*NOT_STUDIED, *without):
        if key in collection.given:
            raise UsageError(
                f"this study cannot use the key `{key}` of the collection",
                hint="give a collection without it, or judgments of documents alone",
            )
    return collection if corpus is None else collection.changed(documents=corpus)


def columns_of(qrels: Any, measures: Any, default: Sequence[str]) -> Sequence[Column]:
    """The columns of measures, at the level of a collection; of scores, those that they have, by default all."""
    if not isinstance(qrels, Scores):
        return make_columns(measures, Policy(rel=Collection.of(qrels).rel))
    if measures is default:
        return qrels.columns
    names = [measures] if isinstance(measures, (str, Measure)) else measures
    return [qrels.columns[qrels._column_of(str(name))] for name in names]


def systems_of(
    qrels: Any,
    runs: Any,
    columns: Sequence[Column],
    *,
    undefined: Undefined = "skip",
    corpus: Any = None,
    standardise: Standardisation | None = None,
    **options: Any,
) -> Scores:
    """The scores of systems for studies that need no rankings: given as scores, or by `score_systems`.

    Values of a measure of which lower values are better are negated: then higher values of all measures are better.
    """
    if not isinstance(qrels, Scores):
        scores, _ = score_systems(qrels, runs, columns, undefined=undefined, corpus=corpus, **options)
        return scores if standardise is None else scores.standardised(standardise)
    if runs is not None or corpus is not None:
        raise UsageError("a study of scores takes no runs and no corpus", hint="give the scores alone")
    _check_systems(len(qrels.runs), columns)
    if len(qrels.queries) < MIN_QUERIES:
        raise InputError([f"this study needs scores of at least two queries, found {len(qrels.queries)}"])
    scores = qrels.only(measures=[column.label for column in columns])
    signs = np.array([-1 if column.lower_is_better else 1 for column in columns])
    values = np.where(scores.counted[:, None], scores.values, np.nan) * signs[:, None]
    notes = [note for note in scores.notes if note.run is None]
    if lower := [column.label for column in columns if column.lower_is_better]:
        notes.append(Note("negated", values={"measures": ", ".join(lower)}))
    if scores.by_collection:
        notes.append(Note("equal_queries"))
    undefined = scores.undefined if undefined == "skip" else undefined
    scores = _comparable_scores(scores.runs, columns, scores.queries, values, undefined, notes)
    return scores if standardise is None else scores.standardised(standardise)


def score_systems(
    qrels: Any,
    runs: Any,
    measures: Any,
    *,
    undefined: Undefined = "skip",
    corpus: Any = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Scores, Relabeller]:
    """The scores of runs, read once, under all judgments, and what scores them under others.

    Raises if the runs cannot be ordered: a single run or query, or an undefined measure. ``undefined`` says how an
    undefined value counts: not at all, as 0, as 1, or as an error. Measures that read document text need a ``corpus``.
    """
    given = [] if runs is None else list(runs) if isinstance(runs, (list, tuple)) else [runs]
    collection = studied(qrels, corpus, without=("nil", "complete"))  # which scores under a part of the judgments lack
    plan = make_plan(measures, collection.policy(undefined=undefined, seed=seed))
    _check_systems(len(given), plan.columns)
    judgments = collection.judgments
    queries = tuple(judgments.queries)
    if len(queries) < MIN_QUERIES:
        raise InputError([f"{judgments.name}: this study needs at least two judged queries, found {len(queries)}"])
    relabeller = Relabeller(Evaluator.of(collection, plan).evaluation(given, progress=progress))
    names = relabeller.evaluation.runs
    notes = [*unanswered_notes(names, relabeller.answered, queries), *_corpus_notes(relabeller)]
    return _comparable_scores(names, plan.columns, queries, relabeller.values(), undefined, notes), relabeller


def _check_systems(runs: int, columns: Sequence[Column]) -> None:
    """Raise if there is a single run, or a measure that is not a mean over queries."""
    if runs < 2:
        raise UsageError(f"this study needs at least two runs, got {runs}", hint="give the runs of two systems")
    for column in columns:
        if column.aggregate != "mean":
            raise MeasureError(
                f"{column.label} is not a mean over queries and cannot be used to order systems",
                hint="use AP instead of GMAP, and a proportion instead of a count",
            )


def _comparable_scores(
    runs: tuple[str, ...],
    columns: Sequence[Column],
    queries: tuple[str, ...],
    values: Floats,
    undefined: Undefined,
    notes: Sequence[Note],
) -> Scores:
    """The scores, with 0 or 1 for undefined values if these count; raises if a measure is undefined almost always."""
    counted = np.ones((len(runs), len(queries)), bool)
    scores = Scores(runs, tuple(columns), queries, substituted(values, undefined), counted, undefined, tuple(notes))
    if undefined == "error":
        _ = scores._means  # raises if a value is undefined
    for label, row in zip(scores.measures, defined_for_all(scores.values), strict=True):
        if row.sum() < MIN_QUERIES:
            raise InputError(
                [f"{label} is defined for all runs on {row.sum()} of {len(queries)} queries; at least two are needed"],
                hint=f"leave out {label}, or the runs for which it is undefined",
            )
    return scores


def judged_scores(table: Table, judgments: Judgments) -> tuple[Integers, Floats]:
    """The judged query and the score of each document of a run, ordered by query and by decreasing score."""
    index = {query: i for i, query in enumerate(judgments.queries)}
    names, code = codes_of(table.query)
    query = np.array([index.get(name, -1) for name in names], np.int64)[code]
    score, query = table.score[query >= 0], query[query >= 0]
    order = np.lexsort((-score, query))
    return query[order], score[order]


def add_variants(runs: Any, judgments: Judgments, number: int, seed: int) -> tuple[list[Any], list[Note]]:
    """The runs, plus ``number`` simulated runs that rerank the documents of the only run; and a note about them.

    For collections with a single run. `simulation.variants` describes the simulated systems.
    """
    given = list(runs) if isinstance(runs, (list, tuple)) else [runs]
    if not number:
        return given, []
    if len(given) != 1:
        raise UsageError(f"variants need exactly one run, got {len(given)}", hint="leave out variants, or give one run")
    run = read_runs(given)[0]
    simulated, _ = variants(run, judgments, number, seed=seed)
    return [run, *simulated], [Note("simulated_runs", run.name, values={"number": number, "total": number + 1})]


@checked
def top_runs(
    qrels: Any, runs: Any, number: Count, by: str | Measure = "AP", *, corpus: Any = None, nil: str | None = None
) -> tuple[list[Run], list[Note]]:
    """The ``number`` runs with the highest mean of a measure, in their given order; and a note, if others are left out.

    All runs are read into memory. Of runs with equal means, the first are kept. Sakai (SIGIR 2007) studied the best 30
    runs of a track by AP; Liu et al. (SIGIR 2016) show the best 20.
    """
    loaded = [replace(run, source=io.load(run)) for run in read_runs(runs)]
    if number >= len(loaded):
        return loaded, []
    collection = studied(qrels, corpus)
    scores = Evaluator(collection if nil is None else collection.changed(nil=nil), by)(loaded)
    note = Note("top_runs", measure=scores.measures[0], values={"number": number, "total": len(loaded)})
    best = scores.best(number)
    return [run for run in loaded if (run.system or run.name) in best], [note]


def defined_for_all(values: Floats) -> Booleans:
    """Whether a measure is defined for every run, (measure, query); ``values`` is (run, measure, query)."""
    return np.logical_not(np.isnan(values).any(axis=0))


def mean_scores(values: Floats, counted: Booleans) -> Floats:
    """The mean of each run over the counted queries, (measure, run); undefined where none is counted."""
    total = np.where(counted, values, 0).sum(axis=-1).T
    count = counted.sum(axis=-1)[:, None]
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def system_means(scores: Scores) -> Floats:
    """The mean of each run over the queries where the measure is defined for all runs, (measure, run)."""
    return mean_scores(scores.values, defined_for_all(scores.values))


def system_notes(scores: Scores) -> list[Note]:
    """The notes of scores, and those on the queries that `system_means` omits."""
    return [*scores.notes, *undefined_notes(scores.measures, defined_for_all(scores.values), scores.queries)]


def tie_notes(scores: Scores, coefficient: str) -> Iterator[Note]:
    """Notes on measures that give several runs the same mean."""
    for measure, means in zip(scores.measures, system_means(scores), strict=True):
        tied = len(means) - 1 - int(levels(means).max())
        if tied == len(means) - 1:
            yield Note("same_score", measure=measure)
        elif tied and coefficient == "tau-a":
            yield Note("tied_pairs", measure=measure)


def unanswered_notes(runs: Sequence[str], answered: Booleans, queries: Sequence[str]) -> Iterator[Note]:
    """Notes on runs that do not answer all queries; ``answered`` is (run, query)."""
    for run, row in zip(runs, answered, strict=True):
        missing = [queries[q] for q in np.flatnonzero(~row).tolist()]
        if missing:
            yield Note("unanswered_queries", run, values={"queries": QueryNames.of(missing), "counted": "judged"})


def _corpus_notes(relabeller: Relabeller) -> Iterator[Note]:
    """Notes on documents that a measure reads, or learns from, and the corpus lacks."""
    for measure in relabeller.measures:
        if relabeller.aligner.reading is None or not measure.definition.content:
            continue
        reading, chosen = relabeller.aligner.reading, measure.chosen
        missing, total = relabeller.count_missing_texts(measure)
        if missing:
            yield Note("not_in_corpus", values={"missing": missing, "total": total})
        view = TextView.of(chosen)
        if reading.absent(view)[0] or reading.silent(view, chosen["mu"])[0]:
            yield from reading_notes(reading, view, chosen["mu"], relabeller.judgments.name)


def undefined_notes(labels: Sequence[str], defined: Booleans, queries: Sequence[str]) -> Iterator[Note]:
    """One note for all measures that are undefined on the same queries."""
    by_queries: dict[tuple[int, ...], list[str]] = {}
    for label, row in zip(labels, defined, strict=True):
        by_queries.setdefault(tuple(np.flatnonzero(~row).tolist()), []).append(label)
    for missing, names in by_queries.items():
        if missing:
            omitted, left = QueryNames.of([queries[q] for q in missing]), len(queries) - len(missing)
            values = {"measures": ", ".join(names), "queries": omitted, "left": left}
            yield Note("omitted_for_all", values=values)


@dataclass(frozen=True)
class Coefficient:
    """A coefficient that compares two scorings of the same systems.

    ``compute(x, y)``: ``x`` is the reference; systems are along the last axis, other axes broadcast.
    ``critical(n, alpha)``: the value that independent scorings of n systems exceed with probability ``alpha``; None if
    there is no such test. ``symmetric``: the order of the arguments does not matter.
    """

    symbol: str
    compute: Callable[[Floats, Floats], Floats]
    critical: Callable[[int, float], float] | None = None
    symmetric: bool = True


def agreements(coefficient: str, reference: Floats, other: Floats, defined: Booleans) -> Floats:
    """The agreement of scorings of systems, which are along the last axis; NaN where it is not defined."""
    values = np.full(defined.shape, np.nan)
    values[defined] = COEFFICIENTS[coefficient].compute(reference[defined], other[defined])
    return values


def _overlap(x: Floats, y: Floats) -> Floats:
    x, y = np.broadcast_arrays(x, y)
    pairs = zip(x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]), strict=True)
    # Variant b: a scoring agrees with itself, with or without ties.
    return np.array([rbo(a, b, ties="b").ext for a, b in pairs]).reshape(x.shape[:-1])


def _critical_pearson(systems: int, alpha: float) -> float:
    """Pearson's r, by Student's t with n - 2 degrees of freedom."""
    if systems < 3:
        return 1.0
    t = t_quantile(1 - alpha, systems - 2)
    return t / math.sqrt(systems - 2 + t**2)


COEFFICIENTS = {
    "tau-a": Coefficient("τ-a", partial(tau, variant="a"), critical_tau),
    "tau-b": Coefficient("τ-b", partial(tau, variant="b"), critical_tau),
    "tau_ap": Coefficient("τ_AP", tau_ap, symmetric=False),
    "spearman": Coefficient("ρ", spearman, critical_rho),
    "pearson": Coefficient("r", pearson, _critical_pearson),
    "rbo": Coefficient("RBO", _overlap),
}
