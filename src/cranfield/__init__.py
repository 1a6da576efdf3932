"""Evaluation of ranked retrieval, with exact handling of ties, short lists and unjudged documents."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; the module `typing` takes longer to load than this one
if TYPE_CHECKING:
    from typing import Any

    from cranfield.analysis.abstention import Confidence, confidence, confidences, nauc
    from cranfield.analysis.answers import context_precision, context_recall, nugget_recall
    from cranfield.analysis.audit import Audit, audit
    from cranfield.analysis.compare import Comparison, compare
    from cranfield.analysis.explain import Explanation, explain
    from cranfield.analysis.neighbours import ann_recall
    from cranfield.analysis.per_query import PerQueryScores, by_query
    from cranfield.analysis.query_values import QueryValues
    from cranfield.analysis.risk import georisk, urisk
    from cranfield.analysis.saved_comparison import load_comparison
    from cranfield.analysis.variants import p_mrr, paired_accuracy, robustness
    from cranfield.data import Judgments, Run
    from cranfield.engines.tensors.candidates import evaluate_tensors
    from cranfield.errors import CranfieldError, InputError, MeasureError
    from cranfield.evaluation.collection import Collection
    from cranfield.evaluation.columns import Column
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.evaluation.evaluator import Evaluator, evaluate
    from cranfield.evaluation.notes import Note
    from cranfield.evaluation.policy import Policy
    from cranfield.evaluation.rescoring import Rescorer
    from cranfield.evaluation.saved_scores import load_scores
    from cranfield.evaluation.scores import Score, Scores
    from cranfield.io import read_qrels, read_run
    from cranfield.io.formats.letor import Letor, read_letor
    from cranfield.io.records import records
    from cranfield.measures import CATALOGUE as MEASURES
    from cranfield.measures import Measure, measure, parse
    from cranfield.simulation import Simulation, simulate
    from cranfield.statistics.correlation import Agreement, kendall, pearson, spearman, swaps, tau, tau_ap
    from cranfield.statistics.overlap import Overlap, rbo
    from cranfield.studies.properties import Properties, properties

__version__ = "0.1.0"

__all__ = [
    "MEASURES",
    "Agreement",
    "Audit",
    "Collection",
    "Column",
    "Comparison",
    "Confidence",
    "CranfieldError",
    "Evaluation",
    "Evaluator",
    "Explanation",
    "InputError",
    "Judgments",
    "Letor",
    "Measure",
    "MeasureError",
    "Note",
    "Overlap",
    "PerQueryScores",
    "Policy",
    "Properties",
    "QueryValues",
    "Rescorer",
    "Run",
    "Score",
    "Scores",
    "Simulation",
    "ann_recall",
    "audit",
    "by_query",
    "compare",
    "confidence",
    "confidences",
    "context_precision",
    "context_recall",
    "evaluate",
    "evaluate_tensors",
    "explain",
    "georisk",
    "kendall",
    "load_comparison",
    "load_scores",
    "measure",
    "nauc",
    "nugget_recall",
    "p_mrr",
    "paired_accuracy",
    "parse",
    "pearson",
    "properties",
    "rbo",
    "read_letor",
    "read_qrels",
    "read_run",
    "records",
    "robustness",
    "simulate",
    "spearman",
    "swaps",
    "tau",
    "tau_ap",
    "urisk",
]

# Names are loaded when they are asked for.
MODULES = {
    "analysis.abstention": ("Confidence", "confidence", "confidences", "nauc"),
    "analysis.answers": ("context_precision", "context_recall", "nugget_recall"),
    "analysis.audit": ("Audit", "audit"),
    "analysis.compare": ("Comparison", "compare"),
    "analysis.explain": ("Explanation", "explain"),
    "analysis.neighbours": ("ann_recall",),
    "analysis.per_query": ("PerQueryScores", "by_query"),
    "analysis.query_values": ("QueryValues",),
    "analysis.risk": ("georisk", "urisk"),
    "analysis.saved_comparison": ("load_comparison",),
    "analysis.variants": ("p_mrr", "paired_accuracy", "robustness"),
    "data": ("Judgments", "Run"),
    "engines.tensors.candidates": ("evaluate_tensors",),
    "errors": ("CranfieldError", "InputError", "MeasureError"),
    "evaluation.collection": ("Collection",),
    "evaluation.columns": ("Column",),
    "evaluation.evaluation": ("Evaluation",),
    "evaluation.evaluator": ("Evaluator", "evaluate"),
    "evaluation.notes": ("Note",),
    "evaluation.policy": ("Policy",),
    "evaluation.rescoring": ("Rescorer",),
    "evaluation.saved_scores": ("load_scores",),
    "evaluation.scores": ("Score", "Scores"),
    "io": ("read_qrels", "read_run"),
    "io.formats.letor": ("Letor", "read_letor"),
    "io.records": ("records",),
    "measures": ("MEASURES", "Measure", "measure", "parse"),
    "studies.properties": ("Properties", "properties"),
    "simulation": ("Simulation", "simulate"),
    "statistics.correlation": ("Agreement", "kendall", "pearson", "spearman", "swaps", "tau", "tau_ap"),
    "statistics.overlap": ("Overlap", "rbo"),
}


def __getattr__(name: str) -> Any:
    module = next((module for module, names in MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"cranfield.{module}"), "CATALOGUE" if name == "MEASURES" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
