"""How well does a measure tell systems apart? Discriminative power, swap rates, and the number of topics it takes.

The bootstrap sensitivity method of Sakai (SIGIR 2006; *Alternatives to Bpref*, SIGIR 2007, Table 3), the swap method of
Voorhees and Buckley (SIGIR 2002), and topic set size design (Sakai, 2016), all from the same scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.arguments import one_of, share, whole
from cranfield.batch import Booleans
from cranfield.data import Floats
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.notes import QueryNames
from cranfield.evaluation.policy import Undefined
from cranfield.measures import Measure
from cranfield.statistics.design import detectable, difference_variance, topics_needed
from cranfield.statistics.resampling import TESTS, Test, Tested, discriminate
from cranfield.statistics.swapping import Swaps, swap_rates
from cranfield.studies import saving
from cranfield.studies.systems import Systems, systems

DEFAULT = ("AP", "nDCG", "nDCG@10", "P@10", "RR", "bpref", "Q", "AP[condensed]", "nDCG[condensed]", "Q[condensed]")
DIFFERENCES = (0.02, 0.05, 0.1, 0.2)  # asked about where nobody says which
ERROR = 0.05  # pairs that may change places for a difference to count as large enough


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """What one measure tells apart.

    ``means``: of each run; ``tested``: every pair of runs; ``swaps``: how often other topics reverse a pair;
    ``variance``: of the difference between two runs over topics, in the mean over pairs.
    """

    measure: str
    means: Floats
    tested: Tested
    swaps: Swaps
    variance: float


@dataclass(frozen=True, eq=False)
class Power(saving.Study):
    """How well each measure tells runs apart, on the ``queries`` where every measure is defined for every run."""

    STUDY = "power"

    runs: tuple[str, ...]
    queries: tuple[str, ...]
    outcomes: tuple[Sensitivity, ...]
    test: Test
    b: int
    alpha: float
    beta: float
    differences: tuple[float, ...]
    trials: int
    undefined: Undefined
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def exact(self) -> int:
        """The number of ways there are to resample the topics, where all were tried; else 0."""
        return _all_tosses(self.test, self.b, len(self.queries))

    @property
    def ranked(self) -> list[Sensitivity]:
        """The measures, those that tell most pairs apart first, as in Sakai's Table 3."""
        return sorted(self.outcomes, key=lambda one: -one.tested.power)

    def topics(self, one: Sensitivity, difference: float) -> int | None:
        """How many topics a paired t-test needs to find this difference; None where nobody has so many."""
        return topics_needed(one.variance, difference, alpha=self.alpha, power=1 - self.beta)

    def detectable(self, one: Sensitivity) -> float:
        """The difference that a paired t-test finds on as many topics as there are."""
        return detectable(one.variance, len(self.queries), alpha=self.alpha, power=1 - self.beta)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `save` writes and ``--format json`` prints.

        ``p``, ``difference`` and ``required`` are of pairs of runs: the first with the second, the first with the
        third, and so on.
        """
        return {
            "study": self.STUDY,
            "settings": {
                "test": self.test,
                "b": self.b,
                "alpha": self.alpha,
                "beta": self.beta,
                "differences": list(self.differences),
                "trials": self.trials,
                "undefined": self.undefined,
                "seed": self.seed,
            },
            "runs": list(self.runs),
            "queries": list(self.queries),
            "measures": {one.measure: self._measure(one) for one in self.outcomes},
            "notes": list(self.notes),
        }

    def _measure(self, one: Sensitivity) -> dict[str, Any]:
        tested, swaps = one.tested, one.swaps
        return {
            "significant": int(tested.significant.sum()),
            "pairs": len(tested.p),
            "power": tested.power,
            "difference_required": tested.difference_required,
            "means": saving.listed(one.means),
            "p": saving.listed(tested.p),
            "difference": saving.listed(tested.difference),
            "required": saving.listed(tested.required),
            "variance": one.variance,
            "topics_needed": {f"{wanted:g}": self.topics(one, wanted) for wanted in self.differences},
            "detectable": self.detectable(one),
            "swaps": {
                "sizes": swaps.sizes.tolist(),
                "edges": saving.listed(swaps.edges),
                "compared": swaps.compared.tolist(),
                "swapped": swaps.swapped.tolist(),
                "required": saving.listed(np.array([swaps.required(ERROR)]))[0],
                "required_extrapolated": saving.listed(np.array([swaps.required(ERROR, extrapolated=True)]))[0],
            },
        }

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Power:
        """What `to_dict` returned, as a result again."""
        settings, queries, runs = found["settings"], tuple(found["queries"]), tuple(found["runs"])
        pairs = len(runs) * (len(runs) - 1) // 2
        saving.names(found["measures"])

        def outcome(measure: str, one: dict[str, Any]) -> Sensitivity:
            difference, p, required = (saving.array(one[name], pairs) for name in ("difference", "p", "required"))
            swaps = one["swaps"]
            sizes, compared, swapped = (np.array(swaps[name], np.int64) for name in ("sizes", "compared", "swapped"))
            return Sensitivity(
                measure,
                saving.array(one["means"], len(runs)),
                Tested(difference, p, required, settings["alpha"]),
                Swaps(len(queries), sizes, saving.array(swaps["edges"]), compared, swapped),
                float(one["variance"]),
            )

        return cls(
            runs,
            queries,
            tuple(outcome(measure, one) for measure, one in found["measures"].items()),
            settings["test"],
            settings["b"],
            settings["alpha"],
            settings["beta"],
            tuple(settings["differences"]),
            settings["trials"],
            settings["undefined"],
            settings["seed"],
            tuple(found["notes"]),
        )


def power(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    test: Test = "bootstrap",
    b: int = 1000,
    alpha: float = 0.05,
    beta: float = 0.2,
    differences: Sequence[float] = DIFFERENCES,
    trials: int = 100,
    undefined: Undefined = "skip",
    corpus: Any = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Power:
    """How well measures tell runs apart, and how many topics that takes.

    Every pair of runs is tested with ``b`` resamplings, the same for all pairs and measures, at the level ``alpha``.
    ``beta`` is the chance of missing one of the ``differences`` asked about that topics are to be enough for;
    ``trials`` the pairs of topic sets, for each size, on which runs may change places. ``undefined`` is what a score
    counts that has no value: nothing (the query is left out for all measures), 0, 1, or an error.
    Measures that read documents need a ``corpus``.
    """
    one_of("test", test, TESTS)
    b, trials = whole("b", b), whole("trials", trials)
    alpha, beta = share("alpha", alpha), share("beta", beta)
    for difference in differences:
        if not 0 < difference < math.inf:
            raise UsageError(f"a difference to look for must be more than 0, and finite, not {difference:g}")
    found = systems(qrels, runs, measures, undefined=undefined, corpus=corpus, seed=seed, progress=progress)
    used: Booleans = np.logical_and.reduce(found.defined, axis=0)
    if used.sum() < 2:
        worst = int(found.defined.sum(axis=1).argmin())
        raise InputError(
            [
                f"all measures are defined for all runs on {used.sum()} of {len(used)} queries; it takes at least two"
                f" ({found.measures[worst]} is defined on {found.defined[worst].sum()})"
            ],
            hint=f"leave {found.measures[worst]} out, or look at measures one by one",
        )
    outcomes = []
    for m, measure in enumerate(found.measures):
        scores = np.ascontiguousarray(found.values[:, m][:, used])
        tested = discriminate(scores, test, b=b, alpha=alpha, seed=seed)
        swaps = swap_rates(scores, trials=trials, seed=seed)
        outcomes.append(Sensitivity(measure, scores.mean(axis=1), tested, swaps, difference_variance(scores)))
    notes = (*found.said, *_left_out(found), *coarse(test, b, alpha, int(used.sum())))
    queries = tuple(query for query, there in zip(found.queries, used, strict=True) if there)
    return Power(
        found.runs,
        queries,
        tuple(outcomes),
        test,
        b,
        alpha,
        beta,
        tuple(dict.fromkeys(map(float, differences))),
        trials,
        undefined,
        seed,
        notes,
    )


def _left_out(found: Systems) -> Iterator[str]:
    gone = np.flatnonzero((~found.defined).any(axis=0)).tolist()
    if not gone:
        return
    missing = {m: int((~there).sum()) for m, there in zip(found.measures, found.defined, strict=True)}
    by = ", ".join(f"{measure} on {count}" for measure, count in missing.items() if count)
    which, left = QueryNames.of([found.queries[q] for q in gone]), len(found.queries) - len(gone)
    yield f"left out for all measures: {which}, where one is undefined ({by}); {left} are used"


def _all_tosses(test: Test, b: int, topics: int) -> int:
    return 2**topics if test == "randomisation" and 2.0**topics <= b else 0


def coarse(test: Test, b: int, alpha: float, topics: int) -> Iterator[str]:
    """What a test cannot say with so few resamplings, or topics."""
    exact = _all_tosses(test, b, topics)
    if test == "bootstrap":
        if b * alpha < 1:
            yield f"with b = {b} no p but 0 is below {alpha:g}: use more resamplings"
        return
    least = 2 / exact if exact else 1 / (b + 1)
    if least >= alpha:
        what = f"{topics} topics" if exact else f"b = {b}"
        yield f"with {what} no p is below {least:.2g}: nothing can be significant at {alpha:g}"
