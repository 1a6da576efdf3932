"""Do two measures order systems alike? The agreement of every measure with every other (Sakai, SIGIR 2007, Table 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.arguments import share
from cranfield.data import Floats
from cranfield.errors import UsageError
from cranfield.measures import Measure
from cranfield.statistics.correlation import swaps
from cranfield.studies import saving
from cranfield.studies.coefficients import coefficient as named
from cranfield.studies.systems import systems, tied

# Those of the paper; its bpref_R is bpref, unless more documents are relevant than not.
DEFAULT = (
    "bpref",
    "bpref_N",
    "rpref_N",
    "rpref_relative2",
    "AP[condensed]",
    "Q[condensed]",
    "nDCG[condensed]",
    "AP",
    "Q",
    "nDCG",
)


@dataclass(frozen=True, eq=False)
class Correlation(saving.Study):
    """How far measures agree on the order of runs.

    ``means`` (measure, run); ``matrix`` (measure, measure): the first one is the reference, where that matters.
    """

    STUDY = "correlation"

    runs: tuple[str, ...]
    measures: tuple[str, ...]
    queries: int
    means: Floats
    matrix: Floats
    coefficient: str
    alpha: float
    seed: int = 0
    notes: tuple[str, ...] = ()

    @property
    def critical(self) -> float | None:
        """What independent orders exceed, in either direction, with a chance of ``alpha``; None where nobody knows."""
        test = named(self.coefficient).critical
        return None if test is None else test(len(self.runs), self.alpha)

    @cached_property
    def linkage(self) -> Floats:
        """Measures joined one after the other, the most alike first, as `scipy.cluster.hierarchy` writes it."""
        from scipy.cluster import hierarchy
        from scipy.spatial.distance import squareform

        # What is undefined is as far apart as no agreement at all.
        alike = np.nan_to_num((self.matrix + self.matrix.T) / 2)
        apart = np.clip(1 - alike, 0, None)
        np.fill_diagonal(apart, 0)
        return np.asarray(hierarchy.linkage(squareform(apart, checks=False), "average", optimal_ordering=True))

    @cached_property
    def clustered(self) -> list[int]:
        """The measures in an order that has like ones side by side."""
        from scipy.cluster import hierarchy

        return [int(i) for i in hierarchy.leaves_list(self.linkage)]

    def swaps(self, first: int, second: int) -> list[tuple[str, str]]:
        """Pairs that two measures order differently: first the run that the first one prefers."""
        return swaps(self.means[first], self.means[second], self.runs)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `save` writes and ``--format json`` prints."""
        return {
            "study": self.STUDY,
            "settings": {"coefficient": self.coefficient, "alpha": self.alpha, "seed": self.seed},
            "queries": self.queries,
            "runs": list(self.runs),
            "measures": {
                measure: {
                    "means": saving.listed(self.means[m]),
                    "agreement": dict(zip(self.measures, saving.listed(self.matrix[m]), strict=True)),
                }
                for m, measure in enumerate(self.measures)
            },
            "critical": self.critical,
            "clustered": [self.measures[i] for i in self.clustered],
            "notes": list(self.notes),
        }

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Correlation:
        """What `to_dict` returned, as a result again."""
        measures, settings, runs = found["measures"], found["settings"], tuple(found["runs"])
        return cls(
            runs,
            saving.names(measures),
            found["queries"],
            np.array([saving.array(one["means"], len(runs)) for one in measures.values()]),
            np.array([saving.array([one["agreement"][m] for m in measures]) for one in measures.values()]),
            settings["coefficient"],
            settings["alpha"],
            settings["seed"],
            tuple(found["notes"]),
        )


def correlation(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    coefficient: str = "tau-a",
    alpha: float = 0.01,
    corpus: Any = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Correlation:
    """How far every measure agrees with every other on the order of runs.

    ``coefficient`` is one of tau-a, tau-b, tau_ap, spearman, pearson, rbo; ``alpha`` the level at which agreement is
    told from chance. A run's score is its mean over the queries where the measure is defined for all runs.
    Measures that read documents need a ``corpus``.
    """
    how = named(coefficient)
    alpha = share("alpha", alpha)
    found = systems(qrels, runs, measures, corpus=corpus, seed=seed, progress=progress)
    if len(found.measures) < 2:
        raise UsageError("measures are compared with each other, and there is one", hint="give at least two")
    means = found.means
    matrix = how.of(means[:, None], means)
    notes = list(tied(found.measures, means, coefficient))
    if not how.symmetric:
        notes.append(f"{how.sign}: the measure of the row is the reference, that of the column the estimate")
    return Correlation(
        found.runs,
        found.measures,
        len(found.queries),
        means,
        matrix,
        coefficient,
        alpha,
        seed,
        (*found.notes, *notes),
    )
