"""Agreement between measures on the order of systems (Sakai, SIGIR 2007, Table 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.data import Floats
from cranfield.errors import UsageError, check_fraction
from cranfield.evaluation.columns import make_columns
from cranfield.measures import Measure
from cranfield.statistics.correlation import swaps
from cranfield.statistics.standardisation import Standardisation
from cranfield.studies import saving
from cranfield.studies.candidates import HIGH
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.systems import score_systems, tie_notes

# After the paper, with the usual nDCG; `presets.SAKAI` has the measures of the paper itself.
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


@dataclass(frozen=True, eq=False, repr=False)
class Correlation(saving.StudyResult):
    """The agreement of measures on the order of runs.

    ``means`` (measure, run); ``matrix`` (measure, measure): the row is the reference, if the coefficient has one.
    ``threshold``: the agreement that counts as high. ``against``: the measures, the last ones, that the others are
    compared with; empty if all are compared with all.
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
    threshold: float = HIGH
    notes: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        """The measures in the rows of tables."""
        return tuple(measure for measure in self.measures if measure not in self.against)

    @property
    def columns(self) -> tuple[str, ...]:
        """The measures in the columns of tables."""
        return self.against or self.measures

    @property
    def critical(self) -> float | None:
        """The absolute value that independent orders exceed with probability ``alpha``; None if there is no test."""
        test = get_coefficient(self.coefficient).critical
        return None if test is None else test(len(self.runs), self.alpha)

    @cached_property
    def linkage(self) -> Floats:
        """The average-linkage clustering of the measures, in the format of `scipy.cluster.hierarchy`."""
        from scipy.cluster import hierarchy
        from scipy.spatial.distance import squareform

        # An undefined coefficient counts as no agreement.
        similarity = np.nan_to_num((self.matrix + self.matrix.T) / 2)
        distance = np.clip(1 - similarity, 0, None)
        np.fill_diagonal(distance, 0)
        return np.asarray(hierarchy.linkage(squareform(distance, checks=False), "average", optimal_ordering=True))

    @cached_property
    def clustered(self) -> list[int]:
        """The measures in an order that puts similar ones next to each other."""
        from scipy.cluster import hierarchy

        return [int(i) for i in hierarchy.leaves_list(self.linkage)]

    def swaps(self, first: int, second: int) -> list[tuple[str, str]]:
        """Pairs of runs that two measures order differently; the run that the first measure prefers comes first."""
        return swaps(self.means[first], self.means[second], self.runs)

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints."""
        return {
            **self.header(),
            "settings": {
                "coefficient": self.coefficient,
                "alpha": self.alpha,
                "seed": self.seed,
                "threshold": self.threshold,
                "against": list(self.against),
            },
            "queries": self.queries,
            "runs": list(self.runs),
            "measures": {
                measure: {
                    "means": saving.to_json(self.means[m]),
                    "agreement": dict(zip(self.measures, saving.to_json(self.matrix[m]), strict=True)),
                }
                for m, measure in enumerate(self.measures)
            },
            "critical": self.critical,
            "clustered": [self.measures[i] for i in self.clustered],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Correlation:
        """The result that `to_dict` returned."""
        measures, settings, runs = data["measures"], data["settings"], tuple(data["runs"])
        return cls(
            runs,
            saving.nonempty_keys(measures),
            data["queries"],
            np.array([saving.from_json(entry["means"], len(runs)) for entry in measures.values()]),
            np.array([saving.from_json([entry["agreement"][m] for m in measures]) for entry in measures.values()]),
            settings["coefficient"],
            settings["alpha"],
            settings["seed"],
            settings.get("threshold", HIGH),
            tuple(data["notes"]),
            tuple(settings.get("against", ())),
        )


def correlation(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    against: str | Measure | Sequence[str | Measure] | None = None,
    coefficient: str = "tau-a",
    alpha: float = 0.01,
    threshold: float = HIGH,
    corpus: Any = None,
    seed: int = 0,
    standardise: Standardisation | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Correlation:
    """The agreement of every pair of measures on the order of runs, or of ``measures`` with those of ``against``.

    ``coefficient`` is one of tau-a, tau-b, tau_ap, spearman, pearson, rbo; ``alpha`` the significance level. A run's
    score is its mean over the queries where the measure is defined for all runs. ``threshold``: the agreement that
    counts as high. Measures that read document text need a ``corpus``. ``standardise``: standardise scores for each
    query over the runs.
    """
    comparison, threshold = get_coefficient(coefficient), check_fraction("threshold", threshold)
    alpha = check_fraction("alpha", alpha)
    asked = [] if against is None else make_columns(against)
    others = {column.measure for column in asked}
    chosen = [column for column in make_columns(measures) if column.measure not in others]
    if not chosen:
        raise UsageError("all measures are also in `against`, so that there is nothing to compare")
    chosen += asked
    systems = score_systems(qrels, runs, chosen, corpus=corpus, seed=seed, standardise=standardise, progress=progress)
    if len(systems.measures) < 2:
        raise UsageError("this study compares measures and needs at least two, got one")
    means = systems.means
    matrix = comparison.compute(means[:, None], means)
    notes = list(tie_notes(systems.measures, means, coefficient))
    first_column = len(systems.measures) - len(asked)
    if not comparison.symmetric and asked:
        references = ", ".join(systems.measures[:first_column])
        notes.append(f"{comparison.symbol}: {references} are the references, the others the estimates")
    elif not comparison.symmetric:
        notes.append(f"{comparison.symbol}: the measure in the row is the reference, that in the column the estimate")
    return Correlation(
        systems.runs,
        systems.measures,
        len(systems.queries),
        means,
        matrix,
        coefficient,
        alpha,
        seed,
        threshold,
        (*systems.notes, *notes),
        systems.measures[first_column:],
    )
