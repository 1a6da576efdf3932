"""What happens when less is known: the order of systems under fewer judgments, shallower pools, or fewer queries.

Sakai, "Alternatives to Bpref" (SIGIR 2007), Figures 1 to 3: mean scores, agreement with the order under all judgments,
and discriminative power, as the judgments thin out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from cranfield.arguments import share, whole, whole_numbers
from cranfield.batch import Booleans
from cranfield.data import Floats, Integers
from cranfield.errors import UsageError
from cranfield.measures import Measure
from cranfield.statistics.resampling import draw_topics, power
from cranfield.studies import saving
from cranfield.studies.coefficients import coefficient as named
from cranfield.studies.power import coarse
from cranfield.studies.repetitions import summary
from cranfield.studies.strata import RELEVANT, Strata, reduced
from cranfield.studies.systems import LEAST, Systems, complete, means, systems, tied

DEFAULT = ("bpref", "rpref_relative2", "AP[condensed]", "Q[condensed]", "nDCG[condensed]", "AP", "Q", "nDCG")
RATES = (90, 70, 50, 30, 10)
By = Literal["rates", "depths", "queries"]
QUANTITIES = ("mean", "agreement", "power")


@dataclass(frozen=True)
class Settings:
    """How judgments were taken away, and what was made of the rest.

    ``by``: at random at ``levels`` in percent, by pools of these depths, or whole queries until so many are left.
    ``rel``: the lowest grade that is relevant, and ``least`` how many relevant and non-relevant ones are spared, both
    for rates. ``alpha`` and ``b``, resamplings, are those of the tests behind discriminative power.
    """

    by: By
    levels: tuple[int, ...]
    repeats: int
    seed: int
    rel: float
    least: tuple[int, int]
    coefficient: str
    b: int
    alpha: float


@dataclass(frozen=True, eq=False)
class Reduction(saving.Study):
    """Scores, orders and differences as less is known; the first level is everything.

    ``mean``, ``agreement``, ``power`` (measure, level, repeat): over runs and queries; with the order under all
    judgments; the share of pairs of runs that are told apart. ``counted``: the queries that these are of. ``judged``
    (level, repeat): documents judged.
    """

    STUDY = "reduction"

    settings: Settings
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
        """What each level is called, the first being everything."""
        unit = " %" if self.settings.by == "rates" else ""
        full = {"rates": "100 %", "depths": "all", "queries": str(self.queries)}[self.settings.by]
        return [full, *(f"{level}{unit}" for level in self.settings.levels)]

    summary = staticmethod(summary)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `save` writes and ``--format json`` prints."""
        return {
            "study": self.STUDY,
            "settings": asdict(self.settings),
            "runs": list(self.runs),
            "queries": self.queries,
            "levels": [
                {"level": label, "judged": judged.tolist()}
                for label, judged in zip(self.labels, self.judged, strict=True)
            ],
            "measures": {
                measure: {
                    **{name: [saving.listed(row) for row in getattr(self, name)[m]] for name in QUANTITIES},
                    "counted": self.counted[m].tolist(),
                }
                for m, measure in enumerate(self.measures)
            },
            "notes": list(self.notes),
        }

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Reduction:
        """What `to_dict` returned, as a result again."""
        settings, measures = dict(found["settings"]), found["measures"]
        settings |= {"levels": tuple(settings["levels"]), "least": tuple(settings["least"])}
        shape = len(measures), 1 + len(settings["levels"]), settings["repeats"]
        kept = {
            name: np.array([[saving.array(row) for row in one[name]] for one in measures.values()]).reshape(shape)
            for name in QUANTITIES
        }
        return cls(
            Settings(**settings),
            tuple(found["runs"]),
            saving.names(measures),
            found["queries"],
            **kept,
            counted=np.array([one["counted"] for one in measures.values()], np.int64).reshape(shape),
            judged=np.array([one["judged"] for one in found["levels"]], np.int64).reshape(shape[1:]),
            notes=tuple(found["notes"]),
        )


def reduction(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    rates: Sequence[int] | None = None,
    pool_depths: Sequence[int] | None = None,
    topics: Sequence[int] | None = None,
    repeats: int = 30,
    rel: float = 1.0,
    least: tuple[int, int] = (1, 10),
    coefficient: str = "tau-a",
    b: int = 1000,
    alpha: float = 0.05,
    corpus: Any = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Reduction:
    """What becomes of scores, of the order of systems and of what tells them apart, when less is known.

    One of ``rates`` (of judgments kept at random, in percent; the default), ``pool_depths`` (documents stay judged
    that a run has among its first so many) and ``topics`` (random sets of so many queries). What is random is
    repeated, and smaller samples are part of larger ones. ``least`` are the relevant and non-relevant judgments of a
    query that are spared at any rate. Measures that read documents need a ``corpus``.
    """
    how = named(coefficient)
    by, levels = _levels(rates, pool_depths, topics)
    repeats, b, alpha = whole("repeats", repeats), whole("b", b), share("alpha", alpha)
    relevant, other = least
    least = whole("least", relevant, 0), whole("least", other, 0)
    found = systems(qrels, runs, measures, corpus=corpus, seed=seed)
    if by == "queries":
        levels = _numbers(levels, "topics", LEAST, len(found.queries) - 1)
    if by == "depths":
        repeats = 1  # there is no chance in it
    settings = Settings(by, levels, repeats, seed, rel, least, coefficient, b, alpha)
    shape = len(found.measures), 1 + len(levels), repeats
    scores = np.full((*shape, len(found.runs)), np.nan)
    powers, counted = np.full(shape, np.nan), np.zeros(shape, np.int64)
    judged = np.zeros(shape[1:], np.int64)
    steps = 1 + len(levels) * repeats
    for i, (level, repeat, subset) in enumerate(_subsets(found, settings)):
        values = found.values if subset.judgments is None else found.relabeller.scores(subset.judgments)
        usable = complete(values) & subset.queries
        # Everything is looked at once, and is the same in every repetition.
        at = (slice(None), level, slice(None) if level == 0 else slice(repeat, repeat + 1))
        scores[at] = means(values, usable)[:, None]
        counted[at] = usable.sum(axis=1)[:, None]
        powers[at] = _powers(values, usable, settings)[:, None]
        judged[at[1:]] = _judged(found, subset)
        if progress is not None:
            progress(i + 1, steps)
    enough = counted >= LEAST
    agreement = np.full(shape, np.nan)
    agreement[enough] = how.of(np.broadcast_to(scores[:, :1, :1], scores.shape)[enough], scores[enough])
    result = Reduction(
        settings,
        found.runs,
        found.measures,
        len(found.queries),
        scores.mean(axis=-1),
        agreement,
        powers,
        counted,
        judged,
    )
    notes = (*found.notes, *tied(found.measures, found.means, coefficient), *_lost(result))
    return replace(result, notes=(*notes, *coarse("bootstrap", b, alpha, len(found.queries))))


def _levels(
    rates: Sequence[int] | None, pool_depths: Sequence[int] | None, topics: Sequence[int] | None
) -> tuple[By, tuple[int, ...]]:
    given = {"rates": rates, "pool_depths": pool_depths, "topics": topics}
    asked = [name for name, levels in given.items() if levels is not None]
    if len(asked) > 1:
        raise UsageError(f"either {' or '.join(asked)}, not both", hint="one study takes away one thing")
    if pool_depths is not None:
        return "depths", _numbers(pool_depths, "pool depths", 1, 10**9)
    if topics is not None:
        return "queries", tuple(topics)
    return "rates", _numbers(RATES if rates is None else rates, "rates", 1, 99)


def _numbers(given: Sequence[int], name: str, low: int, high: int) -> tuple[int, ...]:
    """Levels from the greatest down, each once."""
    return whole_numbers(name, given, low, high)[::-1]


@dataclass(frozen=True, eq=False)
class Subset:
    """What is known: some judgments (None for all), and the queries looked at."""

    judgments: Booleans | None
    queries: Booleans


def _subsets(found: Systems, settings: Settings) -> Iterator[tuple[int, int, Subset]]:
    """Level, repetition, and what is known there; everything comes first."""
    relabeller, every = found.relabeller, np.ones(len(found.queries), bool)
    yield 0, 0, Subset(None, every)
    if settings.by == "depths":
        ranks = relabeller.ranks()
        best = np.where(ranks > 0, ranks, np.iinfo(np.int64).max).min(axis=0)
        for level, depth in enumerate(settings.levels, 1):
            yield level, 0, Subset(best <= depth, every)
        return
    strata = Strata(relabeller.judgments, relabeller.grade, settings.rel)
    if settings.by == "rates" and not strata.sizes[:, RELEVANT].any():
        raise UsageError(
            f"no document has a grade of {settings.rel:g} or more, and none would be spared as relevant",
            hint=f"the highest grade is {relabeller.grade.max():g}; --rel says from where on one is relevant",
        )
    for repeat in range(settings.repeats):
        rng = np.random.default_rng([settings.seed, repeat])
        place = strata.shuffled(rng) if settings.by == "rates" else rng.permutation(len(every))
        for level, size in enumerate(settings.levels, 1):
            if settings.by == "rates":
                yield level, repeat, Subset(strata.first(place, reduced(strata.sizes, size, settings.least)), every)
            else:
                yield level, repeat, Subset(None, place < size)


def _powers(values: Floats, usable: Booleans, settings: Settings) -> Floats:
    """The discriminative power of each measure; all measures with the same queries meet the same resampling."""
    found = np.full(len(usable), np.nan)
    for m, there in enumerate(usable):
        if there.sum() >= LEAST:
            drawn = draw_topics(int(there.sum()), settings.b, settings.seed)
            found[m] = power(values[:, m, there], drawn, settings.alpha)
    return found


def _judged(found: Systems, subset: Subset) -> int:
    """How many documents are judged for the queries looked at."""
    judgments, grade = found.relabeller.judgments, found.relabeller.grade
    known = np.repeat(subset.queries, np.diff(judgments.begin)) & (grade >= 0)
    return int((known if subset.judgments is None else known & subset.judgments).sum())


def _lost(result: Reduction) -> Iterator[str]:
    """Where measures have no value for queries that had one under all judgments, and where too few are left."""
    full = result.counted[:, 0, 0]
    for level, label in enumerate(result.labels[1:], 1):
        fewest = result.counted[:, level].min(axis=1)
        short = np.isnan(result.agreement[:, level]).sum(axis=1)
        for m, measure in enumerate(result.measures):
            # Where queries are what is taken away, their number says nothing.
            if result.settings.by != "queries" and fewest[m] < full[m]:
                yield (
                    f"{measure} at {label}: undefined for some queries that it was defined for; "
                    f"means are over {fewest[m]} of {full[m]} at least"
                )
            if short[m]:
                yield f"{measure} at {label}: no order in {short[m]} of {result.settings.repeats} repetitions"
