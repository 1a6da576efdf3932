"""Statistics that need more than judgments and one ranking.

Correlation and overlap of orders, risk, abstention, recall of neighbours and of facts, and reproduction of effects.
Where the result has a value for each query, it is a `QueryValues`.
"""

from cranfield.analysis.query_values import (
    Confidence,
    QueryValues,
    Reproduction,
    ann_recall,
    confidence,
    georisk,
    nauc,
    nugget_recall,
    reproduction,
    urisk,
)
from cranfield.statistics.correlation import Agreement, Overlap, kendall, pearson, rbo, spearman, swaps, tau, tau_ap

__all__ = [
    "Agreement",
    "Confidence",
    "Overlap",
    "QueryValues",
    "Reproduction",
    "ann_recall",
    "confidence",
    "georisk",
    "kendall",
    "nauc",
    "nugget_recall",
    "pearson",
    "rbo",
    "reproduction",
    "spearman",
    "swaps",
    "tau",
    "tau_ap",
    "urisk",
]


def __dir__() -> list[str]:
    return __all__
