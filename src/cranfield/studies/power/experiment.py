"""Discriminative power, swap rates, and the number of queries that a difference needs.

The bootstrap sensitivity method of Sakai (SIGIR 2006; *Alternatives to Bpref*, SIGIR 2007, Table 3), the swap method of
Voorhees and Buckley (SIGIR 2002), and topic set size design (Sakai, 2016), all from the same scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.data import Booleans, Floats
from cranfield.errors import InputError, UsageError, check_choice, check_count, check_fraction
from cranfield.evaluation.notes import QueryNames
from cranfield.evaluation.policy import Undefined
from cranfield.measures import Measure
from cranfield.statistics.design import (
    SwapRates,
    detectable_difference,
    difference_variance,
    queries_needed,
    swap_rates,
)
from cranfield.statistics.resampling import TESTS, PairwiseTests, Test, discriminate
from cranfield.statistics.standardisation import Standardisation
from cranfield.studies import saving
from cranfield.studies.systems import SystemScores, score_systems

DEFAULT = ("AP", "nDCG", "nDCG@10", "P@10", "RR", "bpref", "Q", "AP[condensed]", "nDCG[condensed]", "Q[condensed]")
DIFFERENCES = (0.02, 0.05, 0.1, 0.2)
MAX_SWAP_RATE = 0.05  # a difference is large enough if at most this share of pairs is swapped


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The sensitivity of one measure.

    ``means``: of each run; ``tests``: every pair of runs; ``swaps``: how often other queries reverse a pair;
    ``variance``: of the difference between two runs over queries, averaged over pairs.
    """

    measure: str
    means: Floats
    tests: PairwiseTests
    swaps: SwapRates
    variance: float


@dataclass(frozen=True, eq=False, repr=False)
class Power(saving.StudyResult):
    """The sensitivity of each measure, on the ``queries`` where every measure is defined for every run."""

    STUDY = "power"

    runs: tuple[str, ...]
    queries: tuple[str, ...]
    sensitivities: tuple[Sensitivity, ...]
    test: Test
    samples: int
    alpha: float
    beta: float
    differences: tuple[float, ...]
    trials: int
    undefined: Undefined
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(sensitivity.measure for sensitivity in self.sensitivities)

    @property
    def permutations(self) -> int:
        """The number of sign permutations if the test enumerates all of them; otherwise 0."""
        return _all_permutations(self.test, self.samples, len(self.queries))

    @property
    def ranked(self) -> list[Sensitivity]:
        """The measures by decreasing discriminative power, as in Sakai's Table 3."""
        return sorted(self.sensitivities, key=lambda sensitivity: -sensitivity.tests.power)

    def queries_needed(self, sensitivity: Sensitivity, difference: float) -> int | None:
        """The number of queries that a paired t-test needs to detect a difference; None if it is out of reach."""
        return queries_needed(sensitivity.variance, difference, alpha=self.alpha, power=1 - self.beta)

    def detectable_difference(self, sensitivity: Sensitivity) -> float:
        """The difference that a paired t-test detects on the queries of this study."""
        return detectable_difference(sensitivity.variance, len(self.queries), alpha=self.alpha, power=1 - self.beta)

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints.

        ``p``, ``difference`` and ``required`` list the pairs of runs: the first with the second, the first with the
        third, and so on.
        """
        return {
            **self.header(),
            "settings": {
                "test": self.test,
                "samples": self.samples,
                "alpha": self.alpha,
                "beta": self.beta,
                "differences": list(self.differences),
                "trials": self.trials,
                "undefined": self.undefined,
                "seed": self.seed,
            },
            "runs": list(self.runs),
            "queries": list(self.queries),
            "measures": {sensitivity.measure: self._measure_dict(sensitivity) for sensitivity in self.sensitivities},
            "notes": list(self.notes),
        }

    def _measure_dict(self, sensitivity: Sensitivity) -> dict[str, Any]:
        tests, swaps = sensitivity.tests, sensitivity.swaps
        extrapolated = swaps.required(MAX_SWAP_RATE, extrapolated=True)
        return {
            "significant": int(tests.significant.sum()),
            "pairs": len(tests.p),
            "power": tests.power,
            "difference_required": tests.difference_required,
            "means": saving.to_json(sensitivity.means),
            "p": saving.to_json(tests.p),
            "difference": saving.to_json(tests.difference),
            "required": saving.to_json(tests.required),
            "variance": sensitivity.variance,
            "queries_needed": {
                f"{difference:g}": self.queries_needed(sensitivity, difference) for difference in self.differences
            },
            "detectable": self.detectable_difference(sensitivity),
            "swaps": {
                "sizes": swaps.sizes.tolist(),
                "edges": saving.to_json(swaps.edges),
                "compared": swaps.compared.tolist(),
                "swapped": swaps.swapped.tolist(),
                "required": saving.to_json(np.array([swaps.required(MAX_SWAP_RATE)]))[0],
                "required_extrapolated": saving.to_json(np.array([extrapolated]))[0],
            },
        }

    @classmethod
    def upgrade(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Version 1 called the number of resamples ``b`` and the randomised Tukey test ``tukey``."""
        settings = dict(data["settings"])
        settings["samples"] = settings.pop("b")
        settings["test"] = {"tukey": "randomised-tukey"}.get(settings["test"], settings["test"])
        return data | {"settings": settings}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Power:
        """The result that `to_dict` returned."""
        settings, queries, runs = data["settings"], tuple(data["queries"]), tuple(data["runs"])
        pairs = len(runs) * (len(runs) - 1) // 2
        saving.nonempty_keys(data["measures"])

        def sensitivity(measure: str, entry: dict[str, Any]) -> Sensitivity:
            difference, p, required = (saving.from_json(entry[name], pairs) for name in ("difference", "p", "required"))
            swaps = entry["swaps"]
            sizes, compared, swapped = (np.array(swaps[name], np.int64) for name in ("sizes", "compared", "swapped"))
            return Sensitivity(
                measure,
                saving.from_json(entry["means"], len(runs)),
                PairwiseTests(difference, p, required, settings["alpha"]),
                SwapRates(len(queries), sizes, saving.from_json(swaps["edges"]), compared, swapped),
                float(entry["variance"]),
            )

        return cls(
            runs,
            queries,
            tuple(sensitivity(measure, entry) for measure, entry in data["measures"].items()),
            settings["test"],
            settings["samples"],
            settings["alpha"],
            settings["beta"],
            tuple(settings["differences"]),
            settings["trials"],
            settings["undefined"],
            settings["seed"],
            tuple(data["notes"]),
        )


def power(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    test: Test = "bootstrap",
    samples: int = 1000,
    alpha: float = 0.05,
    beta: float = 0.2,
    differences: Sequence[float] = DIFFERENCES,
    trials: int = 100,
    undefined: Undefined = "skip",
    corpus: Any = None,
    seed: int = 0,
    standardise: Standardisation | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Power:
    """How many pairs of runs each measure distinguishes, and how many queries that takes.

    Every pair of runs is tested with ``samples`` resamples, the same for all pairs and measures, or by Student's t, at
    the significance level ``alpha``. ``beta`` is the accepted probability of missing one of the ``differences``;
    ``trials`` the number of pairs of query sets, for each size, that swap rates are computed from. ``undefined`` says
    how an undefined score counts: not at all (the query is omitted for all measures), as 0, as 1, or as an error.
    Measures that read document text need a ``corpus``. ``standardise``: standardise scores for each query over runs.
    """
    check_choice("test", test, TESTS)
    samples, trials = check_count("samples", samples), check_count("trials", trials)
    alpha, beta = check_fraction("alpha", alpha), check_fraction("beta", beta)
    for difference in differences:
        if not 0 < difference < math.inf:
            raise UsageError(f"a difference must be positive and finite, not {difference:g}")
    systems = score_systems(
        qrels,
        runs,
        measures,
        undefined=undefined,
        corpus=corpus,
        seed=seed,
        standardise=standardise,
        progress=progress,
    )
    used: Booleans = np.logical_and.reduce(systems.defined, axis=0)
    if used.sum() < 2:
        worst = int(systems.defined.sum(axis=1).argmin())
        raise InputError(
            [
                f"all measures are defined for all runs on {used.sum()} of {len(used)} queries; at least two are needed"
                f" ({systems.measures[worst]} is defined on {systems.defined[worst].sum()})"
            ],
            hint=f"leave out {systems.measures[worst]}, or study the measures one at a time",
        )
    sensitivities = []
    for m, measure in enumerate(systems.measures):
        scores = np.ascontiguousarray(systems.values[:, m][:, used])
        tests = discriminate(scores, test, samples=samples, alpha=alpha, seed=seed)
        swaps = swap_rates(scores, trials=trials, seed=seed)
        sensitivities.append(Sensitivity(measure, scores.mean(axis=1), tests, swaps, difference_variance(scores)))
    notes = (
        *systems.input_notes,
        *_omitted_notes(systems),
        *resolution_notes(test, samples, alpha, int(used.sum())),
    )
    queries = tuple(query for query, is_used in zip(systems.queries, used, strict=True) if is_used)
    return Power(
        systems.runs,
        queries,
        tuple(sensitivities),
        test,
        samples,
        alpha,
        beta,
        tuple(dict.fromkeys(map(float, differences))),
        trials,
        undefined,
        seed,
        notes,
    )


def _omitted_notes(systems: SystemScores) -> Iterator[str]:
    omitted = np.flatnonzero((~systems.defined).any(axis=0)).tolist()
    if not omitted:
        return
    counts = {m: int((~row).sum()) for m, row in zip(systems.measures, systems.defined, strict=True)}
    by_measure = ", ".join(f"{measure} on {count}" for measure, count in counts.items() if count)
    names, left = QueryNames.of([systems.queries[q] for q in omitted]), len(systems.queries) - len(omitted)
    yield f"omitted for all measures: {names}, where a measure is undefined ({by_measure}); {left} queries are used"


def _all_permutations(test: Test, samples: int, queries: int) -> int:
    return 2**queries if test == "randomisation" and 2.0**queries <= samples else 0


def resolution_notes(test: Test, samples: int, alpha: float, queries: int) -> Iterator[str]:
    """A note if the test cannot reach significance with so few resamples or queries."""
    if test == "t":
        return
    permutations = _all_permutations(test, samples, queries)
    if test == "bootstrap":
        if samples * alpha < 1:
            yield f"with {samples} resamples only p = 0 is below {alpha:g}: use more resamples"
        return
    least = 2 / permutations if permutations else 1 / (samples + 1)
    if least >= alpha:
        cause = f"{queries} queries" if permutations else f"{samples} resamples"
        yield f"with {cause} the smallest possible p is {least:.2g}: nothing can be significant at {alpha:g}"
