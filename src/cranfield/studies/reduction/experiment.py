"""The order of systems under fewer judgments, shallower pools, or fewer queries.

Sakai, "Alternatives to Bpref" (SIGIR 2007), Figures 1 to 3: mean scores, agreement with the order under all judgments,
and discriminative power, as judgments are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import UsageError, check_count, check_fraction, check_numbers
from cranfield.measures import Measure
from cranfield.statistics.resampling import discriminative_power, draw_queries
from cranfield.studies import saving
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.judgment_sampling import RELEVANT, Strata, reduced_sizes, summarize_repeats
from cranfield.studies.power.experiment import resolution_notes
from cranfield.studies.systems import (
    MIN_QUERIES,
    SystemScores,
    defined_for_all,
    mean_scores,
    score_systems,
    tie_notes,
)

DEFAULT = ("bpref", "rpref_relative2", "AP[condensed]", "Q[condensed]", "nDCG[condensed]", "AP", "Q", "nDCG")
RATES = (90, 70, 50, 30, 10)
ReducedBy = Literal["rates", "depths", "queries"]
QUANTITIES = ("mean", "agreement", "power")


@dataclass(frozen=True)
class ReductionSettings:
    """What was removed, and how the rest was evaluated.

    ``by``: ``levels`` are percentages of judgments kept at random, pool depths, or numbers of queries. For rates,
    ``rel`` is the lowest relevant grade and ``least`` the number of relevant and non-relevant judgments of a query
    that are always kept. ``alpha`` and ``samples``, the number of resamples, belong to discriminative power.
    """

    by: ReducedBy
    levels: tuple[int, ...]
    repeats: int
    seed: int
    rel: float
    least: tuple[int, int]
    coefficient: str
    samples: int
    alpha: float


@dataclass(frozen=True, eq=False, repr=False)
class Reduction(saving.StudyResult):
    """Scores, orders and discriminative power at each level of reduction; the first level is the complete data.

    ``mean``, ``agreement``, ``power`` (measure, level, repeat): the mean over runs and queries; the agreement with the
    order under the complete data; the share of pairs of runs that differ significantly. ``counted``: the number of
    queries that they are computed from. ``judged`` (level, repeat): the number of judged documents.
    """

    STUDY = "reduction"

    settings: ReductionSettings
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    queries: int
    mean: Floats
    agreement: Floats
    power: Floats
    counted: Integers
    judged: Integers
    notes: tuple[str, ...] = ()

    @property
    def labels(self) -> list[str]:
        """The label of each level, the complete data first."""
        unit = "%" if self.settings.by == "rates" else ""
        full = {"rates": "100%", "depths": "all", "queries": str(self.queries)}[self.settings.by]
        return [full, *(f"{level}{unit}" for level in self.settings.levels)]

    summary = staticmethod(summarize_repeats)

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints."""
        return {
            **self.header(),
            "settings": asdict(self.settings),
            "runs": list(self.runs),
            "queries": self.queries,
            "levels": [
                {"level": label, "judged": judged.tolist()}
                for label, judged in zip(self.labels, self.judged, strict=True)
            ],
            "measures": {
                measure: {
                    **{name: [saving.to_json(row) for row in getattr(self, name)[m]] for name in QUANTITIES},
                    "counted": self.counted[m].tolist(),
                }
                for m, measure in enumerate(self.measures)
            },
            "notes": list(self.notes),
        }

    @classmethod
    def upgrade(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Version 1 called the number of resamples ``b``."""
        settings = dict(data["settings"])
        settings["samples"] = settings.pop("b")
        return data | {"settings": settings}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Reduction:
        """The result that `to_dict` returned."""
        settings, measures = dict(data["settings"]), data["measures"]
        settings |= {"levels": tuple(settings["levels"]), "least": tuple(settings["least"])}
        shape = len(measures), 1 + len(settings["levels"]), settings["repeats"]
        quantities = {
            name: np.array([[saving.from_json(row) for row in entry[name]] for entry in measures.values()]).reshape(
                shape
            )
            for name in QUANTITIES
        }
        return cls(
            ReductionSettings(**settings),
            tuple(data["runs"]),
            saving.nonempty_keys(measures),
            data["queries"],
            **quantities,
            counted=np.array([entry["counted"] for entry in measures.values()], np.int64).reshape(shape),
            judged=np.array([level["judged"] for level in data["levels"]], np.int64).reshape(shape[1:]),
            notes=tuple(data["notes"]),
        )


def reduction(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    rates: Sequence[int] | None = None,
    pool_depths: Sequence[int] | None = None,
    queries: Sequence[int] | None = None,
    repeats: int = 30,
    rel: float = 1.0,
    least: tuple[int, int] = (1, 10),
    coefficient: str = "tau-a",
    samples: int = 1000,
    alpha: float = 0.05,
    corpus: Any = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Reduction:
    """How scores, the order of systems and discriminative power change as judgments or queries are removed.

    Give one of ``rates`` (percentages of the judgments to keep at random; the default), ``pool_depths`` (keep the
    judgments of documents that some run ranks above this depth) and ``queries`` (numbers of queries to keep at
    random). Random reductions are repeated; smaller samples are contained in larger ones. ``least`` is the number of
    relevant and non-relevant judgments of a query that any rate keeps. Measures that read document text need a
    ``corpus``.
    """
    comparison = get_coefficient(coefficient)
    by, levels = _levels(rates, pool_depths, queries)
    repeats, samples, alpha = (
        check_count("repeats", repeats),
        check_count("samples", samples),
        check_fraction("alpha", alpha),
    )
    relevant, other = least
    least = check_count("least", relevant, 0), check_count("least", other, 0)
    systems = score_systems(qrels, runs, measures, corpus=corpus, seed=seed)
    if by == "queries":
        levels = _descending(levels, "queries", MIN_QUERIES, len(systems.queries) - 1)
    if by == "depths":
        repeats = 1  # nothing is random
    settings = ReductionSettings(by, levels, repeats, seed, rel, least, coefficient, samples, alpha)
    shape = len(systems.measures), 1 + len(levels), repeats
    scores = np.full((*shape, len(systems.runs)), np.nan)
    power, counted = np.full(shape, np.nan), np.zeros(shape, np.int64)
    judged = np.zeros(shape[1:], np.int64)
    steps = 1 + len(levels) * repeats
    for i, (level, repeat, subset) in enumerate(_subsets(systems, settings)):
        values = systems.values if subset.judgments is None else systems.relabeller.scores(subset.judgments)
        usable = defined_for_all(values) & subset.queries
        # The complete data are evaluated once; they are the same in every repetition.
        cells = (slice(None), level, slice(None) if level == 0 else slice(repeat, repeat + 1))
        scores[cells] = mean_scores(values, usable)[:, None]
        counted[cells] = usable.sum(axis=1)[:, None]
        power[cells] = _power(values, usable, settings)[:, None]
        judged[cells[1:]] = _count_judged(systems, subset)
        if progress is not None:
            progress(i + 1, steps)
    enough = counted >= MIN_QUERIES
    agreement = np.full(shape, np.nan)
    agreement[enough] = comparison.compute(np.broadcast_to(scores[:, :1, :1], scores.shape)[enough], scores[enough])
    result = Reduction(
        settings,
        systems.runs,
        systems.measures,
        len(systems.queries),
        scores.mean(axis=-1),
        agreement,
        power,
        counted,
        judged,
    )
    notes = (*systems.notes, *tie_notes(systems.measures, systems.means, coefficient), *_undefined_notes(result))
    return replace(result, notes=(*notes, *resolution_notes("bootstrap", samples, alpha, len(systems.queries))))


def _levels(
    rates: Sequence[int] | None, pool_depths: Sequence[int] | None, queries: Sequence[int] | None
) -> tuple[ReducedBy, tuple[int, ...]]:
    given = {"rates": rates, "pool_depths": pool_depths, "queries": queries}
    names = [name for name, levels in given.items() if levels is not None]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} cannot be combined", hint="give one of them")
    if pool_depths is not None:
        return "depths", _descending(pool_depths, "pool depths", 1, 10**9)
    if queries is not None:
        return "queries", tuple(queries)
    return "rates", _descending(RATES if rates is None else rates, "rates", 1, 99)


def _descending(levels: Sequence[int], name: str, low: int, high: int) -> tuple[int, ...]:
    """The distinct levels in descending order."""
    return check_numbers(name, levels, low, high)[::-1]


@dataclass(frozen=True, eq=False)
class DataSubset:
    """The judgments that are kept (None for all), and the queries that are evaluated."""

    judgments: Booleans | None
    queries: Booleans


def _subsets(systems: SystemScores, settings: ReductionSettings) -> Iterator[tuple[int, int, DataSubset]]:
    """The level, the repetition and the data kept, starting with the complete data."""
    relabeller, all_queries = systems.relabeller, np.ones(len(systems.queries), bool)
    yield 0, 0, DataSubset(None, all_queries)
    if settings.by == "depths":
        ranks = relabeller.ranks()
        best = np.where(ranks > 0, ranks, np.iinfo(np.int64).max).min(axis=0)
        for level, depth in enumerate(settings.levels, 1):
            yield level, 0, DataSubset(best <= depth, all_queries)
        return
    strata = Strata(relabeller.judgments, relabeller.grade, settings.rel)
    if settings.by == "rates" and not strata.sizes[:, RELEVANT].any():
        raise UsageError(
            f"no document has a grade of {settings.rel:g} or more, so none is relevant",
            hint=f"the highest grade is {relabeller.grade.max():g}; set the lowest relevant grade with --rel",
        )
    for repeat in range(settings.repeats):
        rng = np.random.default_rng([settings.seed, repeat])
        position = strata.shuffle(rng) if settings.by == "rates" else rng.permutation(len(all_queries))
        for level, size in enumerate(settings.levels, 1):
            if settings.by == "rates":
                kept = strata.sample(position, reduced_sizes(strata.sizes, size, settings.least))
                yield level, repeat, DataSubset(kept, all_queries)
            else:
                yield level, repeat, DataSubset(None, position < size)


def _power(values: Floats, usable: Booleans, settings: ReductionSettings) -> Floats:
    """The discriminative power of each measure; measures with the same queries use the same resamples."""
    power = np.full(len(usable), np.nan)
    for m, queries in enumerate(usable):
        if queries.sum() >= MIN_QUERIES:
            resamples = draw_queries(int(queries.sum()), settings.samples, settings.seed)
            power[m] = discriminative_power(values[:, m, queries], resamples, settings.alpha)
    return power


def _count_judged(systems: SystemScores, subset: DataSubset) -> int:
    """The number of judged documents of the queries that are evaluated."""
    judgments, grade = systems.relabeller.judgments, systems.relabeller.grade
    judged = np.repeat(subset.queries, np.diff(judgments.begin)) & (grade >= 0)
    return int((judged if subset.judgments is None else judged & subset.judgments).sum())


def _undefined_notes(result: Reduction) -> Iterator[str]:
    """Notes on measures that become undefined for queries, and on repetitions with too few queries for an order."""
    full = result.counted[:, 0, 0]
    for level, label in enumerate(result.labels[1:], 1):
        fewest = result.counted[:, level].min(axis=1)
        without_order = np.isnan(result.agreement[:, level]).sum(axis=1)
        for m, measure in enumerate(result.measures):
            # If queries are removed, fewer queries are expected.
            if result.settings.by != "queries" and fewest[m] < full[m]:
                yield (
                    f"{measure} at {label}: becomes undefined for some queries; "
                    f"means are over at least {fewest[m]} of {full[m]} queries"
                )
            if without_order[m]:
                yield (
                    f"{measure} at {label}: too few queries for an order in {without_order[m]} of "
                    f"{result.settings.repeats} repetitions"
                )
