"""Whether judgments are fair to a run that did not contribute to the pool.

Each run, or all runs of a group, in turn: the judgments that only it contributed are removed, and it is scored again
(Zobel, SIGIR 1998). The change estimates what would happen to a new system of its kind on this collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.notes import SENTENCES, Note
from cranfield.evaluation.scores import Scores
from cranfield.io.side_tables import read_run_groups
from cranfield.lab.relabelling import Relabeller
from cranfield.lab.study import Coefficient, Measures, Progress, Relevant, Study, StudyResult
from cranfield.lab.systems import (
    COEFFICIENTS,
    defined_for_all,
    mean_scores,
    score_systems,
    system_means,
    system_notes,
    tie_notes,
)
from cranfield.parallel import followed
from cranfield.report.canvas import BLUE, GREY, ORANGE, Drawings, each
from cranfield.report.pages import Page, table
from cranfield.report.sheet import UNDEFINED, Cell, shown
from cranfield.settings import Count, Option, Whole
from cranfield.statistics.rounding import levels
from cranfield.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes


DEFAULT = ("bpref", "AP", "AP[condensed]", "Q", "Q[condensed]", "nDCG", "nDCG[condensed]", "P@10")


SENTENCES.update(
    undefined_without=(
        "{measure} becomes undefined for some queries without the judgments of {groups}; without those of {worst}, "
        "means are over {fewest} of {full} queries"
    ),
    not_contributed="{count} of {judged} judged documents are not among the first {depth} of any run; they stay judged",
)


@dataclass(frozen=True)
class Newcomers(Study):
    """Scores of runs without the judgments that they contributed.

    After Zobel, "How reliable are the results of large-scale information retrieval experiments?" (SIGIR 1998): each of
    at least two runs is scored without the judgments that only this run, or its group, contributed. The change of a
    score estimates the change for a new run of the same kind on this collection. Judgments of documents that no run
    contributes are kept. ::

        cranfield study newcomers qrels.txt *.run --pool-depth 10
        cranfield study newcomers qrels.txt *.run --group-prefix _ -m "AP AP[condensed] bpref"
    """

    pool_depth: Annotated[Count, "Pool depth: a run contributes the judged documents among its first N."] = 10
    prefix: Annotated[
        str | None,
        "Group runs by the part of their names before TEXT.",
        Option("--group-prefix", metavar="TEXT"),
    ] = None
    rel: Relevant = 1.0
    coefficient: Coefficient = "tau-a"
    seed: Whole = 0

    def run(
        self,
        qrels: Any,
        runs: Any,
        measures: Measures = DEFAULT,
        *,
        groups: Annotated[Any, "Groups of runs: lines `run group`; in Python also {run: group}."] = None,
        corpus: Any = None,
        progress: Progress | None = None,
    ) -> NewcomersResult:
        """Score each group without the judgments that only it contributed."""
        if groups is not None and self.prefix is not None:
            raise UsageError("groups and prefix cannot be combined", hint="give one of them")
        if self.prefix == "":
            raise UsageError("the prefix separator must not be empty", hint="for example _, as in bm25_rm3")
        group_names = None if groups is None else read_run_groups(groups)
        scores, relabeller = score_systems(qrels, runs, measures, corpus=corpus, seed=self.seed)
        names, group = _assign_groups(scores.runs, group_names, self.prefix)
        contributed = _contributions(relabeller, group, len(names), self.pool_depth)
        unique = contributed & (contributed.sum(axis=0) == 1)
        relevant = relabeller.grade >= self.rel
        score = system_means(scores)
        without, rank_without = np.full(score.shape, np.nan), np.zeros(score.shape, np.int64)
        agreement = np.full((len(scores.measures), len(names)), np.nan)
        counted = np.zeros((len(scores.measures), len(names)), np.int64)
        for g in followed(range(len(names)), progress, len(names)):
            values = relabeller.values(~unique[g]) if unique[g].any() else scores.values
            usable = defined_for_all(values)
            counted[:, g] = usable.sum(axis=1)
            means, members = mean_scores(values, usable), group == g
            defined = counted[:, g] > 0
            without[:, members] = means[:, members]
            rank_without[:, members] = _ranks(means)[:, members]
            agreement[defined, g] = COEFFICIENTS[self.coefficient].compute(score[defined], means[defined])
        notes = (
            *system_notes(scores),
            *tie_notes(scores, self.coefficient),
            *_undefined_notes(scores, names, counted),
            *_uncontributed_notes(contributed, relabeller.grade >= 0, self.pool_depth),
        )
        return NewcomersResult(
            settings=self,
            runs=scores.runs,
            groups=names,
            measures=scores.measures,
            queries=len(scores.queries),
            members=tuple(tuple(scores.runs[r] for r in np.flatnonzero(group == g)) for g in range(len(names))),
            unique=np.stack([(unique & relevant).sum(axis=1), (unique & ~relevant).sum(axis=1)], axis=1),
            score=score,
            without=without,
            rank=_ranks(score),
            rank_without=rank_without,
            agreement=agreement,
            notes=notes,
        )


@dataclass(frozen=True, eq=False, repr=False)
class NewcomersResult(StudyResult):
    """Every run with all judgments, and without those that only its group contributed.

    ``members``: the runs of each group; ``unique`` (group, 2): relevant and other judgments that only this group
    contributed. ``score``, ``without`` (measure, run); ``rank``, ``rank_without`` (measure, run): 1 is the best run.
    ``agreement`` (measure, group): between the orders of all runs with and without the group's unique judgments.
    """

    settings: Newcomers
    runs: tuple[str, ...]
    groups: tuple[str, ...]
    measures: tuple[str, ...]
    queries: int
    members: tuple[tuple[str, ...], ...]
    unique: Integers
    score: Floats
    without: Floats
    rank: Integers
    rank_without: Integers
    agreement: Floats
    notes: tuple[Note, ...] = ()

    @property
    def group(self) -> list[int]:
        """The group of each run: an index into ``groups``."""
        group_of = {run: g for g, members in enumerate(self.members) for run in members}
        return [group_of[run] for run in self.runs]

    @property
    def change(self) -> Floats:
        """The relative change of each score, (measure, run); undefined where the score was 0."""
        return np.divide(
            self.without - self.score, self.score, out=np.full(self.score.shape, np.nan), where=self.score > 0
        )

    def pages(self, digits: int = 4) -> list[Page]:
        """The changes without the unique contributions: a summary by measure, then a table of runs for each measure."""
        grouped = len(self.groups) < len(self.runs)
        owner = f"its group (of {len(self.groups)})" if grouped else "it"
        title = (
            f"Changes of scores and ranks when each run is scored without the judgments that only {owner} contributed:"
            f" {len(self.runs)} runs, {self.queries} queries, pool depth {self.settings.pool_depth}"
        )
        rows = [(measure, _summary(self, m, digits)) for m, measure in enumerate(self.measures)]
        heads = ("mean\nchange", "largest\nchange", "of run", "runs with\nnew rank", "largest rank\nchange")
        return [
            table(title, ("measure",), (*heads, f"lowest\n{self.symbol}"), rows),
            *(_run_table(self, m, digits, grouped=grouped) for m in range(len(self.measures))),
        ]

    def drawings(self) -> Drawings:
        """The one figure of the study, a panel for each measure."""
        return {"newcomers": partial(each, range(len(self.measures)), 2, 2.2, partial(draw_changes, self))}


def _assign_groups(
    runs: Sequence[str], groups: Mapping[str, str] | None, prefix: str | None
) -> tuple[tuple[str, ...], Integers]:
    """The names of the groups, in the order of the runs, and the group of each run."""
    if groups is not None:
        missing = [run for run in runs if run not in groups]
        if missing:
            raise InputError(
                [f"run `{run}` has no group" for run in missing],
                hint=f"runs with a group: {', '.join(list(groups)[:5]) or 'none'}",
            )
        group_of = [groups[run] for run in runs]
    else:
        group_of = [run if prefix is None else run.partition(prefix)[0] or run for run in runs]
    names = tuple(dict.fromkeys(group_of))
    if len(names) < 2:
        raise UsageError(
            f"all runs belong to the group `{names[0]}`; this study needs at least two groups",
            hint="give runs of several groups, or another grouping",
        )
    return names, np.array([names.index(name) for name in group_of])


def _contributions(relabeller: Relabeller, group: Integers, groups: int, depth: int) -> Booleans:
    """The judgments that each group contributed to the pool: (group, judgment)."""
    ranks = relabeller.ranks()
    pooled = (ranks > 0) & (ranks <= depth) & (relabeller.grade >= 0)
    contributed = np.zeros((groups, pooled.shape[1]), bool)
    np.logical_or.at(contributed, group, pooled)
    return contributed


def _ranks(scores: Floats) -> Integers:
    """The rank of each run, 1 for the best; runs with equal scores share the better rank."""
    level = levels(np.nan_to_num(scores, nan=-np.inf))
    return 1 + (level[:, None, :] > level[:, :, None]).sum(axis=-1)


def _undefined_notes(scores: Scores, names: Sequence[str], counted: Integers) -> Iterator[Note]:
    full = defined_for_all(scores.values).sum(axis=1)
    for m, measure in enumerate(scores.measures):
        fewer = int((counted[m] < full[m]).sum())
        if fewer:
            worst = int(counted[m].argmin())
            values = {"groups": plural(fewer, "group"), "worst": names[worst], "fewest": counted[m, worst]}
            yield Note("undefined_without", measure=measure, values={**values, "full": full[m]})


def _uncontributed_notes(contributed: Booleans, judged: Booleans, depth: int) -> Iterator[Note]:
    if count := int((judged & ~contributed.any(axis=0)).sum()):
        yield Note("not_contributed", values={"count": count, "judged": judged.sum(), "depth": depth})


def percent(value: float) -> str:
    """A relative change as a percentage with its sign."""
    if np.isnan(value):
        return UNDEFINED
    rounded = round(100 * value, 1)
    return f"{rounded:+.1f}%" if rounded else "0.0%"


def _summary(result: NewcomersResult, m: int, digits: int) -> list[str]:
    change = result.change[m]
    rank_change = result.rank_without[m] - result.rank[m]
    defined = ~np.isnan(change)
    if not defined.any():
        return [UNDEFINED] * 6
    worst = int(np.nanargmax(np.abs(change)))
    return [
        percent(float(change[defined].mean())),
        percent(float(change[worst])),
        result.runs[worst],
        f"{(rank_change != 0).sum()}",
        f"{rank_change[np.abs(rank_change).argmax()]:+d}" if rank_change.any() else "0",
        shown(float(np.fmin.reduce(result.agreement[m])), digits),
    ]


def _run_table(result: NewcomersResult, m: int, digits: int, *, grouped: bool) -> Page:
    """All runs by one measure, the best first."""
    heads = ("unique\nrelevant", "unique\nother", "score", "without", "change", "rank", "rank\nwithout")
    rows, groups = [], result.group
    for r in np.lexsort((np.arange(len(result.runs)), result.rank[m])):
        group = groups[r]
        cells: list[Cell | str] = [
            *(f"{count}" for count in result.unique[group]),
            *(shown(float(scores[m, r]), digits) for scores in (result.score, result.without)),
            percent(float(result.change[m, r])),
            f"{result.rank[m, r]}",
            Cell(f"{result.rank_without[m, r]}", best=bool(result.rank_without[m, r] != result.rank[m, r])),
        ]
        names = (result.runs[r], result.groups[group]) if grouped else (result.runs[r],)
        rows.append((names, cells))
    owner = "group" if grouped else "run"
    title = f"{result.measures[m]} with all judgments, and without those that only the {owner} contributed"
    return table(title, ("run", "group") if grouped else ("run",), heads, rows)


def draw_changes(result: NewcomersResult, measure: int, axis: Axes) -> Axes:
    """The relative change of each score against the score; the largest change is labelled."""
    x, y = result.score[measure], 100 * result.change[measure]
    moved = result.rank_without[measure] != result.rank[measure]
    axis.axhline(0, color=GREY, linestyle=":", linewidth=0.8, zorder=1)
    axis.plot(x[~moved], y[~moved], "o", color=BLUE, markersize=3, zorder=3, label="same rank")
    hollow: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": ORANGE, "markeredgewidth": 0.9}
    axis.plot(x[moved], y[moved], "D", markersize=3.2, zorder=3, label="new rank", **hollow)
    if not np.isnan(y).all() and np.nanmax(np.abs(y)) > 0:
        worst = int(np.nanargmax(np.abs(y)))
        right = x[worst] > (x.min() + x.max()) / 2
        axis.annotate(
            f"{result.runs[worst]}, {percent(y[worst] / 100)}",
            (x[worst], y[worst]),
            (-5 if right else 5, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="center",
        )
    axis.set_xlabel(result.measures[measure])
    axis.set_ylabel("change without own judgments (%)")
    axis.margins(0.12)
    if measure == 0:
        axis.legend(loc="best")
    return axis
