"""Would the judgments have been fair to a run that took no part in making them?

Each run, or all runs of a group, in turn: the judgments that it alone put into the pool are taken away, and it is
scored again (Zobel, SIGIR 1998). What changes is what would change for a new system of its kind on this collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cranfield.arguments import whole
from cranfield.batch import Booleans
from cranfield.data import Floats, Integers
from cranfield.errors import InputError, UsageError
from cranfield.io.groups import read_groups
from cranfield.measures import Measure
from cranfield.statistics.correlation import levels
from cranfield.studies import saving
from cranfield.studies.coefficients import coefficient as named
from cranfield.studies.systems import Systems, complete, means, systems, tied

DEFAULT = ("bpref", "AP", "AP[condensed]", "Q", "Q[condensed]", "nDCG", "nDCG[condensed]", "P@10")


@dataclass(frozen=True)
class Settings:
    """How deep pools were, how orders are compared, the lowest relevant grade, and where random steps begin."""

    pool_depth: int
    coefficient: str
    rel: float
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Newcomers(saving.Study):
    """Every run with all judgments, and without those that only its group contributed.

    ``group`` (run,): counts ``groups``; ``unique`` (group, 2): relevant and other judgments that are its own.
    ``score``, ``without`` (measure, run); ``rank``, ``rank_without`` (measure, run): 1 is the best run.
    ``agreement`` (measure, group): of the order of all runs without its judgments with the order with them.
    """

    STUDY = "newcomers"

    settings: Settings
    runs: tuple[str, ...]
    groups: tuple[str, ...]
    measures: tuple[str, ...]
    queries: int
    group: Integers
    unique: Integers
    score: Floats
    without: Floats
    rank: Integers
    rank_without: Integers
    agreement: Floats
    notes: tuple[str, ...] = ()

    @property
    def change(self) -> Floats:
        """By how much of itself each score changes, (measure, run); undefined where it was 0."""
        return np.divide(
            self.without - self.score, self.score, out=np.full(self.score.shape, np.nan), where=self.score > 0
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `save` writes and ``--format json`` prints."""
        return {
            "study": self.STUDY,
            "settings": asdict(self.settings),
            "queries": self.queries,
            "groups": {
                name: {
                    "runs": [run for run, g in zip(self.runs, self.group, strict=True) if g == i],
                    "unique_relevant": int(self.unique[i, 0]),
                    "unique_other": int(self.unique[i, 1]),
                    "agreement": dict(zip(self.measures, saving.listed(self.agreement[:, i]), strict=True)),
                }
                for i, name in enumerate(self.groups)
            },
            "runs": {
                run: {
                    measure: {
                        "score": saving.listed(self.score[m, r : r + 1])[0],
                        "without": saving.listed(self.without[m, r : r + 1])[0],
                        "rank": int(self.rank[m, r]),
                        "rank_without": int(self.rank_without[m, r]),
                    }
                    for m, measure in enumerate(self.measures)
                }
                for r, run in enumerate(self.runs)
            },
            "notes": list(self.notes),
        }

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Newcomers:
        """What `to_dict` returned, as a result again."""
        runs, groups = found["runs"], found["groups"]
        measures = saving.names(runs[saving.names(runs)[0]])
        of_run = {run: i for i, group in enumerate(groups.values()) for run in group["runs"]}

        def column(name: str) -> Floats:
            return np.array([saving.array([one[m][name] for one in runs.values()]) for m in measures])

        def places(name: str) -> Integers:
            return np.array([[one[m][name] for one in runs.values()] for m in measures], np.int64)

        return cls(
            Settings(**found["settings"]),
            tuple(runs),
            tuple(groups),
            measures,
            found["queries"],
            np.array([of_run[run] for run in runs]),
            np.array([[one["unique_relevant"], one["unique_other"]] for one in groups.values()], np.int64),
            column("score"),
            column("without"),
            places("rank"),
            places("rank_without"),
            np.array([saving.array([one["agreement"][m] for one in groups.values()]) for m in measures]),
            tuple(found["notes"]),
        )


def newcomers(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    pool_depth: int = 10,
    groups: Any = None,
    prefix: str | None = None,
    rel: float = 1.0,
    coefficient: str = "tau-a",
    corpus: Any = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Newcomers:
    """What each run would score had its group not contributed to the judgments.

    A run contributes the judged documents among its first ``pool_depth``. ``groups`` names the group of each run:
    ``{run: group}``, or a file with lines ``run group``. With ``prefix`` a group is what stands before that text in a
    run's name; without either every run is its own. Judgments of documents that no run has so far up are nobody's
    own, and stay. Measures that read documents need a ``corpus``.
    """
    how = named(coefficient)
    pool_depth = whole("pool_depth", pool_depth)
    if groups is not None and prefix is not None:
        raise UsageError("either groups or a prefix, not both", hint="one rule says which runs belong together")
    if prefix == "":
        raise UsageError("a prefix ends with some text, not with nothing", hint="for example _, as in bm25_rm3")
    of_run = None if groups is None else read_groups(groups)
    found = systems(qrels, runs, measures, corpus=corpus, seed=seed)
    names, group = _grouped(found.runs, of_run, prefix)
    given = _contributed(found, group, len(names), pool_depth)
    alone = given & (given.sum(axis=0) == 1)
    relevant = found.relabeller.grade >= rel
    score = found.means
    without, rank_without = np.full(score.shape, np.nan), np.zeros(score.shape, np.int64)
    agreement = np.full((len(found.measures), len(names)), np.nan)
    counted = np.zeros((len(found.measures), len(names)), np.int64)
    for g in range(len(names)):
        values = found.relabeller.scores(~alone[g]) if alone[g].any() else found.values
        usable = complete(values)
        counted[:, g] = usable.sum(axis=1)
        all_runs, mine = means(values, usable), group == g
        known = counted[:, g] > 0
        without[:, mine] = all_runs[:, mine]
        rank_without[:, mine] = _ranks(all_runs)[:, mine]
        agreement[known, g] = how.of(score[known], all_runs[known])
        if progress is not None:
            progress(g + 1, len(names))
    return Newcomers(
        Settings(pool_depth, coefficient, rel, seed),
        found.runs,
        names,
        found.measures,
        len(found.queries),
        group,
        np.stack([(alone & relevant).sum(axis=1), (alone & ~relevant).sum(axis=1)], axis=1),
        score,
        without,
        _ranks(score),
        rank_without,
        agreement,
        (
            *found.notes,
            *tied(found.measures, score, coefficient),
            *_lost(found, names, counted),
            *_nobodys(given, found.relabeller.grade >= 0, pool_depth),
        ),
    )


def _grouped(
    runs: Sequence[str], groups: Mapping[str, str] | None, prefix: str | None
) -> tuple[tuple[str, ...], Integers]:
    """Names of groups in the order in which runs bring them up, and the number of each run's."""
    if groups is not None:
        missing = [run for run in runs if run not in groups]
        if missing:
            raise InputError(
                [f"no group is named for run `{run}`" for run in missing],
                hint=f"runs that have one: {', '.join(list(groups)[:5]) or 'none'}",
            )
        of_run = [groups[run] for run in runs]
    else:
        of_run = [run if prefix is None else run.partition(prefix)[0] or run for run in runs]
    names = tuple(dict.fromkeys(of_run))
    if len(names) < 2:
        raise UsageError(
            f"all runs are of one group, `{names[0]}`, and nobody else contributed",
            hint="give runs of several groups, or another rule",
        )
    return names, np.array([names.index(name) for name in of_run])


def _contributed(found: Systems, group: Integers, groups: int, depth: int) -> Booleans:
    """Which judgments each group put into the pool: (group, judgment)."""
    ranks = found.relabeller.ranks()
    there = (ranks > 0) & (ranks <= depth) & (found.relabeller.grade >= 0)
    given = np.zeros((groups, there.shape[1]), bool)
    np.logical_or.at(given, group, there)
    return given


def _ranks(scores: Floats) -> Integers:
    """The place of each run, 1 for the best; equal scores share the better one."""
    place = levels(np.nan_to_num(scores, nan=-np.inf))
    return 1 + (place[:, None, :] > place[:, :, None]).sum(axis=-1)


def _lost(found: Systems, names: Sequence[str], counted: Integers) -> Iterator[str]:
    full = found.defined.sum(axis=1)
    for m, measure in enumerate(found.measures):
        fewer = np.flatnonzero(counted[m] < full[m])
        if len(fewer):
            worst, whose = int(counted[m].argmin()), "1 group" if len(fewer) == 1 else f"{len(fewer)} groups"
            yield (
                f"{measure} is undefined for some queries without the judgments of {whose}; "
                f"without those of {names[worst]} means are over {counted[m, worst]} of {full[m]}"
            )


def _nobodys(given: Booleans, judged: Booleans, depth: int) -> Iterator[str]:
    rest = int((judged & ~given.any(axis=0)).sum())
    if rest:
        yield f"{rest} of {judged.sum()} judged documents are among the first {depth} of no run: their judgments stay"
