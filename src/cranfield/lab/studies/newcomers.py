"""Whether judgments are fair to a run that did not contribute to the pool.

Each run, or all runs of a group, in turn: the judgments that only it contributed are removed, and it is scored again
(Zobel, SIGIR 1998). The change estimates what would happen to a new system of its kind on this collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import InputError, UsageError, check_count
from cranfield.io.side_tables import read_run_groups
from cranfield.lab import registry
from cranfield.lab.registry import Coefficient, Measures, Progress, Relevant
from cranfield.lab.systems import (
    SystemScores,
    defined_for_all,
    get_coefficient,
    mean_scores,
    score_systems,
    tie_notes,
)
from cranfield.parallel import followed
from cranfield.report.canvas import BLUE, GREY, ORANGE, Drawings, each
from cranfield.report.pages import Page, table
from cranfield.report.sheet import UNDEFINED, Cell, shown
from cranfield.settings import Count, Option
from cranfield.statistics.rounding import levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


DEFAULT = ("bpref", "AP", "AP[condensed]", "Q", "Q[condensed]", "nDCG", "nDCG[condensed]", "P@10")


@dataclass(frozen=True)
class NewcomersSettings:
    """The pool depth, the coefficient for comparing orders, the lowest relevant grade, and the random seed."""

    pool_depth: int
    coefficient: str
    rel: float
    seed: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Newcomers(registry.StudyResult):
    """Every run with all judgments, and without those that only its group contributed.

    ``members``: the runs of each group; ``unique`` (group, 2): relevant and other judgments that only this group
    contributed. ``score``, ``without`` (measure, run); ``rank``, ``rank_without`` (measure, run): 1 is the best run.
    ``agreement`` (measure, group): between the orders of all runs with and without the group's unique judgments.
    """

    UNIQUE: ClassVar[tuple[str, ...]] = ("unique_relevant", "unique_other")
    JSON: ClassVar[tuple[str, ...]] = (
        *("settings", "queries", "groups/{groups}/runs = members"),
        "groups/{groups}/{UNIQUE} = unique",
        "groups/{groups.1}/agreement/{measures.0}",
        *("runs/{runs.1}/{measures.0}/score", "runs/{runs.1}/{measures.0}/without"),
        *("runs/{runs.1}/{measures.0}/rank", "runs/{runs.1}/{measures.0}/rank_without"),
        "notes",
    )

    settings: NewcomersSettings
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
    notes: tuple[str, ...] = ()

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


@registry.recorded
def newcomers(
    qrels: Any,
    runs: Any,
    measures: Measures = DEFAULT,
    *,
    pool_depth: Annotated[Count, "Pool depth: a run contributes the judged documents among its first N."] = 10,
    groups: Annotated[Any, "Groups of runs: lines `run group`; in Python also {run: group}."] = None,
    prefix: Annotated[
        str | None,
        "Instead: the group is the part of a run's name before TEXT.",
        Option("--group-prefix", metavar="TEXT"),
    ] = None,
    rel: Relevant = 1.0,
    coefficient: Coefficient = "tau-a",
    corpus: Any = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Newcomers:
    """Scores of runs without the judgments that they contributed.

    After Zobel, "How reliable are the results of large-scale information retrieval experiments?" (SIGIR 1998): each of
    at least two runs is scored without the judgments that only this run, or its group, contributed. The change of a
    score estimates the change for a new run of the same kind on this collection. Judgments of documents that no run
    contributes are kept. ::

        cranfield study newcomers qrels.txt *.run --pool-depth 10
        cranfield study newcomers qrels.txt *.run --group-prefix _ -m "AP AP[condensed] bpref"
    """
    comparison = get_coefficient(coefficient)
    pool_depth = check_count("pool_depth", pool_depth)
    if groups is not None and prefix is not None:
        raise UsageError("groups and prefix cannot be combined", hint="give one of them")
    if prefix == "":
        raise UsageError("the prefix separator must not be empty", hint="for example _, as in bm25_rm3")
    group_names = None if groups is None else read_run_groups(groups)
    systems = score_systems(qrels, runs, measures, corpus=corpus, seed=seed)
    names, group = _assign_groups(systems.runs, group_names, prefix)
    contributed = _contributions(systems, group, len(names), pool_depth)
    unique = contributed & (contributed.sum(axis=0) == 1)
    relevant = systems.relabeller.grade >= rel
    score = systems.means
    without, rank_without = np.full(score.shape, np.nan), np.zeros(score.shape, np.int64)
    agreement = np.full((len(systems.measures), len(names)), np.nan)
    counted = np.zeros((len(systems.measures), len(names)), np.int64)
    for g in followed(range(len(names)), progress, len(names)):
        values = systems.relabeller.scores(~unique[g]) if unique[g].any() else systems.values
        usable = defined_for_all(values)
        counted[:, g] = usable.sum(axis=1)
        means, members = mean_scores(values, usable), group == g
        defined = counted[:, g] > 0
        without[:, members] = means[:, members]
        rank_without[:, members] = _ranks(means)[:, members]
        agreement[defined, g] = comparison.compute(score[defined], means[defined])
    return Newcomers(
        NewcomersSettings(pool_depth, coefficient, rel, seed),
        systems.runs,
        names,
        systems.measures,
        len(systems.queries),
        tuple(
            tuple(run for run, of_run in zip(systems.runs, group, strict=True) if of_run == g)
            for g in range(len(names))
        ),
        np.stack([(unique & relevant).sum(axis=1), (unique & ~relevant).sum(axis=1)], axis=1),
        score,
        without,
        _ranks(score),
        rank_without,
        agreement,
        (
            *systems.notes,
            *tie_notes(systems.measures, score, coefficient),
            *_undefined_notes(systems, names, counted),
            *_uncontributed_notes(contributed, systems.relabeller.grade >= 0, pool_depth),
        ),
    )


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


def _contributions(systems: SystemScores, group: Integers, groups: int, depth: int) -> Booleans:
    """The judgments that each group contributed to the pool: (group, judgment)."""
    ranks = systems.relabeller.ranks()
    pooled = (ranks > 0) & (ranks <= depth) & (systems.relabeller.grade >= 0)
    contributed = np.zeros((groups, pooled.shape[1]), bool)
    np.logical_or.at(contributed, group, pooled)
    return contributed


def _ranks(scores: Floats) -> Integers:
    """The rank of each run, 1 for the best; runs with equal scores share the better rank."""
    level = levels(np.nan_to_num(scores, nan=-np.inf))
    return 1 + (level[:, None, :] > level[:, :, None]).sum(axis=-1)


def _undefined_notes(systems: SystemScores, names: Sequence[str], counted: Integers) -> Iterator[str]:
    full = systems.defined.sum(axis=1)
    for m, measure in enumerate(systems.measures):
        fewer = np.flatnonzero(counted[m] < full[m])
        if len(fewer):
            worst, groups = int(counted[m].argmin()), "1 group" if len(fewer) == 1 else f"{len(fewer)} groups"
            yield (
                f"{measure} becomes undefined for some queries without the judgments of {groups}; "
                f"without those of {names[worst]}, means are over {counted[m, worst]} of {full[m]} queries"
            )


def _uncontributed_notes(contributed: Booleans, judged: Booleans, depth: int) -> Iterator[str]:
    if count := int((judged & ~contributed.any(axis=0)).sum()):
        yield f"{count} of {judged.sum()} judged documents are not among the first {depth} of any run; they stay judged"


def tables(result: Newcomers, digits: int = 4) -> list[Page]:
    """The changes without the unique contributions: a summary by measure, then a table of runs for each measure."""
    grouped = len(result.groups) < len(result.runs)
    owner = f"its group (of {len(result.groups)})" if grouped else "it"
    title = (
        f"Changes of scores and ranks when each run is scored without the judgments that only {owner} contributed:"
        f" {len(result.runs)} runs, {result.queries} queries, pool depth {result.settings.pool_depth}"
    )
    rows = [(measure, _summary(result, m, digits)) for m, measure in enumerate(result.measures)]
    symbol = get_coefficient(result.settings.coefficient).symbol
    heads = ("mean\nchange", "largest\nchange", "of run", "runs with\nnew rank", "largest rank\nchange")
    return [
        table(title, ("measure",), (*heads, f"lowest\n{symbol}"), rows),
        *(_run_table(result, m, digits, grouped=grouped) for m in range(len(result.measures))),
    ]


def percent(value: float) -> str:
    """A relative change as a percentage with its sign."""
    if np.isnan(value):
        return UNDEFINED
    rounded = round(100 * value, 1)
    return f"{rounded:+.1f}%" if rounded else "0.0%"


def _summary(result: Newcomers, m: int, digits: int) -> list[str]:
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


def _run_table(result: Newcomers, m: int, digits: int, *, grouped: bool) -> Page:
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


def drawings(result: Newcomers) -> Drawings:
    """The one figure of the study, a panel for each measure."""
    return {"newcomers": partial(each, range(len(result.measures)), 2, 2.2, partial(draw_changes, result))}


def draw_changes(result: Newcomers, measure: int, axis: Axes) -> Axes:
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
