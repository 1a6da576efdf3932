"""Notes on the scores of a run: unanswered queries, unjudged documents, ties, sampling, missing documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments, Run, TextView
from cranfield.errors import InputError
from cranfield.evaluation.notes import SMALL, Kind, Note, QueryNames
from cranfield.evaluation.plan import DIVERSITY_MEASURES, Column, Plan, Policy, default_measures
from cranfield.evaluation.run_scores import RunScores
from cranfield.evaluation.scores import Scores, handle_undefined, summary_of
from cranfield.ranking.alignment import Alignment
from cranfield.ranking.views import condense_and_terminate

if TYPE_CHECKING:
    from cranfield.corpus.judged import Reading

UNCERTAIN = 1e-6  # fewer expected documents than this are rounding
MAX_QUERIES = 5  # the number of queries that a note names
MAX_DEPTHS = 3  # the number of cutoffs for which the share of unjudged documents is reported


def score_notes(scores: Scores) -> Iterator[Note]:
    """Notes on all runs: for which queries measures are undefined."""
    for m, column in enumerate(scores.columns):
        if column.part != "value":
            continue
        missing = np.flatnonzero((scores.counted & np.isnan(scores.values[:, m])).any(axis=0))
        if len(missing):
            yield undefined_note(column, QueryNames.of([scores.queries[q] for q in missing]))


def undefined_note(column: Column, queries: QueryNames) -> Note:
    """A note on the queries for which a measure is undefined."""
    names = QueryNames(queries.count, tuple(queries.first[:MAX_QUERIES]))
    return Note("undefined", measure=column.label, values={"queries": names, "credit": column.aggregate == "credit"})


def remark_notes(source: Run | Judgments) -> list[Note]:
    """Notes on what reading a run or judgments had to assume."""
    return [Note("reading", source.name, values={"remark": remark}) for remark in source.remarks]


def subtopic_notes(judgments: Judgments, columns: Sequence[Column]) -> list[Note]:
    """Notes that measures without subtopics use the highest grade of judgments by subtopic."""
    return subtopic_grades(judgments.name, columns) if default_measures(judgments) is DIVERSITY_MEASURES else []


def subtopic_grades(name: str, columns: Sequence[Column]) -> list[Note]:
    """`subtopic_notes` for judgments that are certainly by subtopic."""
    return [
        Note("subtopic_grades", measure=column.label, values={"judgments": name})
        for column in columns
        if column.part == "value" and not column.depends_on_above
    ]


def unanswerable_notes(judgments: Judgments, level: float, nil: Integers | None = None) -> Iterator[Note]:
    """A note on the queries without a document of this level; ``nil``: the rows that mean "no answer"."""
    if judgments.preferences is not None:
        return
    relevant = judgments.grade >= level
    if nil is not None:
        relevant[nil] = False
    counts = np.diff(np.append(0, np.cumsum(relevant))[judgments.begin])
    without = np.flatnonzero(counts == 0)
    if len(without):
        names = QueryNames(len(without), tuple(judgments.queries[int(q)] for q in without[:MAX_QUERIES]))
        yield Note("unanswerable_queries", values={"queries": names})


def gain_notes(grades: Floats, columns: Sequence[Column]) -> Iterator[Note]:
    """Notes on measures whose scores may exceed 1, for judgments with these grades."""
    grades, _ = np.unique(grades, return_counts=True)  # without counts, NumPy loads its masked arrays
    for column in columns:
        measure, kind = column.measure, column.measure.definition.gains
        terminal = kind == "ideal" and measure.views.terminal and measure.chosen["ideal"] == "paper"
        # Other measures divide by the gains of the judgments.
        undivided = kind == "either" or (kind == "scaled" and measure.definition.retrieved_only)
        if column.part != "value" or not (terminal or undivided):
            continue
        gain = measure.gains.of(grades, max(grades.max(initial=0), 0))
        if (terminal and ((gain > 0) & (gain < 1)).any()) or (undivided and (gain > 1).any()):
            values = {"reason": "terminal" if terminal else "max", "gain": float(gain.max())}
            yield Note("above_one", measure=column.label, values=values)


def check_level(grades: Floats, plan: Plan, name: str) -> None:
    """Raise if documents have grades, and none reaches the level of the collection; a measure may name a higher one."""
    highest, level = float(grades.max(initial=0)), plan.policy.rel
    for column in plan.columns if 0 < highest < level else ():
        if column.measure.level == level:
            fitting = 0.5 if 0.5 <= highest < 1 else highest
            raise InputError(
                [f"{name}: the highest grade is {highest:g}, and {column.label} needs {level:g} or more"],
                hint=f"use rel={fitting:g}: Collection(qrels, rel={fitting:g}), or --rel {fitting:g}",
            )


def level_notes(below: int, plan: Plan) -> Iterator[Note]:
    """Notes on grades above 0 that are too low to be relevant; ``below``: how many documents have one."""
    for column in plan.columns if below else ():
        if column.part == "value" and column.measure.level == plan.policy.rel:
            yield Note("below_level", measure=column.label, values={"documents": below, "level": plan.policy.rel})


def divisor_notes(plan: Plan) -> Iterator[Note]:
    """Notes on measures of judged documents that divide by the cutoff, which notes on unjudged documents do not."""
    for column in () if plan.policy.complete else plan.columns:
        measure = column.measure
        by_cutoff = measure.symbol == "Unjudged" or (measure.symbol == "Judged" and measure.chosen["of"] == "k")
        if by_cutoff and column.part == "value" and column.rank_cutoff is not None:
            yield Note("divides_by_cutoff", measure=column.label)


class Figures(NamedTuple):
    """The counts and sums over the queries of a run that its notes report.

    ``missing``: judged queries that the run does not answer; ``other``: unjudged queries that it answers.
    ``judged_at_depth``: for each depth (None: the whole ranking), the numbers of judged and of all documents.
    ``ties``: for each column, the mean, and its lowest and highest value over the orders of ties; empty if ties have no
    effect. ``sampled``: for each column, the number of queries with sampled tie orders, and the standard error of the
    mean. ``not_bounds``: measures whose lowest and highest values are not bounds. ``tie_unknown``: labels of columns on
    which ties have an unknown effect.
    """

    missing: QueryNames
    other: QueryNames
    judged_at_depth: Sequence[JudgedCount]
    ties: Sequence[Sequence[float]]
    sampled: Sequence[tuple[int, float]]
    not_bounds: Sequence[str]
    tie_unknown: Sequence[str] = ()
    scores_against_ranks: int = 0  # queries in which ranks contradict scores, if they do in all


def run_notes(run: RunScores, plan: Plan, counted: Booleans) -> Iterator[Note]:
    """The notes on one run; ``counted``: which of its queries count, judged queries first."""
    if run.disjoint is not None:
        yield Note("disjoint", run.run.name, values={"ids": run.disjoint})
    if run.repeated_nil:
        yield Note(
            "repeated_nil", run.run.name, values={"nil": plan.policy.nil, "queries": QueryNames.of(run.repeated_nil)}
        )
    yield from figure_notes(run.run.name, _figures(run, plan, counted), plan)
    yield from _corpus_notes(run, plan, counted)


def figure_notes(run: str, figures: Figures, plan: Plan) -> Iterator[Note]:
    """The figures of a run as notes."""
    counted = plan.policy.queries
    if figures.scores_against_ranks:
        yield Note("scores_against_ranks", run, values={"queries": figures.scores_against_ranks})
    if figures.missing.count:
        yield Note("unanswered_queries", run, values={"queries": figures.missing, "counted": counted})
    if figures.other.count and counted != "run":
        yield Note("unjudged_queries", run, values={"queries": figures.other})
    yield from () if plan.policy.complete else unjudged_notes(run, figures.judged_at_depth)
    unknown = dict.fromkeys(figures.tie_unknown)
    for column, means in zip(plan.columns, figures.ties, strict=True):
        defined = [mean for mean in means if not np.isnan(mean)]  # the score may be undefined, and the limits not
        low, high = min(defined, default=0.0), max(defined, default=0.0)
        if low != high:
            ends: dict[str, Any] = {"score": means[0], "low": low, "high": high}
            if column.label in unknown:
                ends["at_least"] = True
                del unknown[column.label]
            kind: Kind = "tie_range" if high - low >= SMALL else "tie_small"
            yield Note(kind, run, column.label, ends)
    for label in unknown:
        yield Note("tie_unknown", run, label)
    for column, (queries, error) in zip(plan.columns, figures.sampled, strict=True):
        if queries:
            yield Note("sampled_orders", run, column.label, {"queries": queries, "error": error})
    for measure in figures.not_bounds:
        yield Note("not_bounds", measure=measure)


def unjudged_notes(run: str, judged_at_depth: Iterable[JudgedCount]) -> Iterator[Note]:
    """Notes on the share of unjudged documents down to each depth at which there are some."""
    for count in judged_at_depth:
        if count.unjudged > 0:
            yield Note("unjudged_documents", run, values=count._asdict() | {"share": count.unjudged})


def _figures(run: RunScores, plan: Plan, counted: Booleans) -> Figures:
    names, unjudged = run.alignment.aligner.judgments.queries, run.unjudged_queries
    missing = np.flatnonzero(run.length < 0)
    sampled = []
    for column in plan.columns:
        value, error, _ = run[column]
        if not error.any():
            sampled.append((0, 0.0))
            continue
        error, kept = error[counted], handle_undefined(value[counted], plan.policy.undefined, column.aggregate)
        sampled.append((int((error > 0).sum()), float(np.sqrt((error**2).sum()) / max(len(kept), 1))))
    return Figures(
        QueryNames(len(missing), tuple(names[int(q)] for q in missing[:MAX_QUERIES])),
        QueryNames(len(unjudged), tuple(unjudged[q] for q in range(min(len(unjudged), MAX_QUERIES)))),
        judged_documents(run.alignment, noted_depths(plan.columns), counted),
        [_tie_means(run, column, plan.policy, counted) for column in plan.columns],
        sampled,
        [str(c.measure) for c in plan.columns if c.part == "lowest" and not run[c].hold[: len(run.length)].all()],
        [column.label for column in plan.columns if unknown_tie_effect(run, column).any()],
        run.alignment.ranks_contradict if any(c.measure.views.key != "rank" for c in plan.columns) else 0,
    )


def _tie_means(run: RunScores, column: Column, policy: Policy, counted: Booleans) -> list[float]:
    """The mean, and its lowest and highest value over the orders of ties; empty if ties have no effect."""
    if not limited_by_ties(run, column):
        return []
    values = (run[column].value, *run.tie_limits(column))
    if all(limit is values[0] for limit in values):
        return []
    kind = column.aggregate
    return [summary_of(handle_undefined(value[counted], policy.undefined, kind), kind) for value in values]


def limited_by_ties(run: RunScores, column: Column) -> bool:
    """Whether the run has ties, and notes have the limits of the measure over their orders."""
    return column.part == "value" and not column.depends_on_above and run.alignments[column.alignment].tied


def noted_depths(columns: Sequence[Column]) -> list[int | None]:
    """The depths for which the share of unjudged documents is reported: the first cutoffs and the whole ranking."""
    return [*sorted({c.rank_cutoff for c in columns if c.rank_cutoff is not None})[:MAX_DEPTHS], None]


def judged_above(alignment: Alignment, depths: Sequence[int | None]) -> Floats:
    """The number of judged documents down to each depth, (depth, judged query); with ties, the expected number."""
    query, document, start, size, *_ = alignment.positions
    if alignment.aligner.judged.has_negative:
        judged = alignment.aligner.grade[document] >= 0
        query, start, size = query[judged], start[judged], size[judged]
    all_judged = np.bincount(query, minlength=len(alignment.length))
    counts, longest = [], alignment.length.max(initial=0)
    for depth in depths:
        if depth is None or depth >= longest:
            counts.append(all_judged)
            continue
        above = np.flatnonzero(start < depth)
        share = np.minimum(depth - start[above], size[above]) / size[above]
        counts.append(np.bincount(query[above], share, len(all_judged)))
    return np.array(counts, np.float64)


class JudgedCount(NamedTuple):
    """How many of the documents that a run retrieves down to a depth are judged, over queries; None: of all."""

    depth: int | None
    judged: float
    retrieved: float

    @property
    def unjudged(self) -> float:
        """The share of unjudged documents; 0 if the difference is one of rounding, NaN without documents."""
        if not self.retrieved:
            return np.nan
        return 1 - self.judged / self.retrieved if self.judged < self.retrieved - UNCERTAIN else 0.0


def judged_documents(
    alignment: Alignment, depths: Sequence[int | None], counted: Booleans | None = None
) -> list[JudgedCount]:
    """The judged and all documents down to each depth; ``counted``: of these judged queries, by default of all."""
    chosen = slice(None) if counted is None else counted[: len(alignment.length)]
    length = np.maximum(alignment.length, 0)[chosen]
    retrieved = [float((length if k is None else np.minimum(length, k)).sum()) for k in depths]
    if alignment.aligner.judged.complete:
        return [JudgedCount(k, total, total) for k, total in zip(depths, retrieved, strict=True)]
    judged = judged_above(alignment, depths)[:, chosen].sum(axis=1).tolist()
    return list(map(JudgedCount, depths, judged, retrieved))


def unknown_tie_effect(run: RunScores, column: Column) -> Booleans:
    """For each judged query, whether an order of tied documents that was not tried may change the measure."""
    if limited_by_ties(run, column):
        return ~run.ties_searched(column)[: len(run.length)]
    queries = np.zeros(len(run.length), bool)
    views = column.measure.views
    if not column.depends_on_above or column.part != "value" or views.rule.leaves_ties:
        return queries
    # Condensed lists are cut after unjudged documents are removed, which moves the others up.
    end = min((column.rank_cutoff if not views.condensed else None) or np.inf, views.depth or np.inf)
    uses_documents = column.measure.definition.content or column.alignment.costs
    alignment = run.alignments[column.alignment]
    query, document, start, size, *_ = alignment.positions
    affected = (size > 1) & (start < end) & (uses_documents | (alignment.aligner.grade[document] > 0))
    queries[query[affected]] = True
    return queries


def _corpus_notes(run: RunScores, plan: Plan, counted: Booleans) -> Iterator[Note]:
    """Notes on documents that measures need and that are not in the corpus."""
    columns = plan.content_columns
    for column in columns:
        aligner, chosen = run.alignments[column.alignment].aligner, column.measure.chosen
        assert aligner.reading is not None
        yield from reading_notes(aligner.reading, TextView.of(chosen), chosen["mu"], aligner.judgments.name)
    judged = counted[: len(run.length)]
    for column in columns:
        absent, read = documents_read(run, column)[judged].sum(axis=0).tolist()
        yield read_note(run.run.name, column, absent, read)


def documents_read(run: RunScores, column: Column) -> Integers:
    """The number of documents read that are not in the corpus, and of all documents read: (judged query, 2)."""
    measure, alignment = column.measure, run.alignments[column.alignment]
    reading = alignment.aligner.reading
    assert reading is not None
    counts = np.zeros((len(run.length), 2), np.int64)
    for rankings in alignment.rankings:
        rows, completed = rankings.query, condense_and_terminate(measure.ordered(rankings), measure.views)
        end = np.minimum(completed.length, measure.cutoff or np.inf)[:, None]
        is_read = ~np.isnan(completed.grade) & (completed.start < end)
        counts[rows, 0] = (is_read & (reading.document[completed.document] < 0)).sum(axis=1)
        counts[rows, 1] = is_read.sum(axis=1)
    return counts


def read_note(run: str, column: Column, absent: int, read: int) -> Note:
    """A note on the documents that a measure reads and that are not in the corpus."""
    return Note("read_not_in_corpus", run, column.label, {"absent": int(absent), "read": int(read)})


def reading_notes(reading: Reading, view: TextView, mu: float, judgments: str) -> Iterator[Note]:
    """Notes on relevant documents that are not in the corpus, and on subtopics without a language model."""
    return learning_notes(judgments, *reading.absent(view), *reading.silent(view, mu))


def learning_notes(judgments: str, absent: int, relevant: int, without: int, subtopics: int) -> Iterator[Note]:
    """`reading_notes` from counts."""
    values = {"judgments": judgments, "absent": int(absent), "relevant": int(relevant)}
    yield Note("relevant_not_in_corpus", values=values)
    if without:
        values = {"judgments": judgments, "without": int(without), "subtopics": int(subtopics)}
        yield Note("subtopics_without_model", values=values)
