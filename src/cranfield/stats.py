"""Statistics that need more than judgments and one ranking: two scorings, two runs, groups of queries, texts.

Correlation and overlap of orders, risk, abstention, variants of queries, neighbours, answers, and reproduction. Where
the result has a value for each query or group, it is a `QueryValues`.
"""

from cranfield.analysis.query_values import (
    Confidence,
    QueryValues,
    ann_recall,
    confidence,
    context_precision,
    context_recall,
    georisk,
    nauc,
    nugget_recall,
    p_mrr,
    paired_accuracy,
    robustness,
    urisk,
)
from cranfield.analysis.reproduction import Reproduction, reproduction
from cranfield.statistics.correlation import Agreement, Overlap, kendall, pearson, rbo, spearman, swaps, tau, tau_ap

__all__ = [
    "Agreement",
    "Confidence",
    "Overlap",
    "QueryValues",
    "Reproduction",
    "ann_recall",
    "confidence",
    "context_precision",
    "context_recall",
    "georisk",
    "kendall",
    "nauc",
    "nugget_recall",
    "p_mrr",
    "paired_accuracy",
    "pearson",
    "rbo",
    "reproduction",
    "robustness",
    "spearman",
    "swaps",
    "tau",
    "tau_ap",
    "urisk",
]
