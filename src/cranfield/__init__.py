"""Scores for rankings as they are: tied, cut short, half judged."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; the module `typing` takes longer to load than this one
if TYPE_CHECKING:
    from typing import Any

    from cranfield.analysis.audit import Audit, audit
    from cranfield.analysis.compare import Comparison, compare
    from cranfield.analysis.explain import Explanation, explain
    from cranfield.data import Judgments, Run
    from cranfield.errors import CranfieldError, InputError, MeasureError
    from cranfield.evaluation.columns import Column
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.evaluation.evaluator import Evaluator, evaluate
    from cranfield.evaluation.notes import Note
    from cranfield.evaluation.policy import Policy
    from cranfield.evaluation.scores import Score, Scores
    from cranfield.io import read_qrels, read_run
    from cranfield.io.records import records
    from cranfield.measures import CATALOGUE as MEASURES
    from cranfield.measures import Measure, parse
    from cranfield.simulation import Simulation, simulate
    from cranfield.statistics.correlation import Agreement, kendall, pearson, spearman, swaps, tau, tau_ap
    from cranfield.statistics.overlap import Overlap, rbo
    from cranfield.studies.properties import Properties, properties

__version__ = "0.1.0"

__all__ = [
    "MEASURES",
    "Agreement",
    "Audit",
    "Column",
    "Comparison",
    "CranfieldError",
    "Evaluation",
    "Evaluator",
    "Explanation",
    "InputError",
    "Judgments",
    "Measure",
    "MeasureError",
    "Note",
    "Overlap",
    "Policy",
    "Properties",
    "Run",
    "Score",
    "Scores",
    "Simulation",
    "audit",
    "compare",
    "evaluate",
    "explain",
    "kendall",
    "parse",
    "pearson",
    "properties",
    "rbo",
    "read_qrels",
    "read_run",
    "records",
    "simulate",
    "spearman",
    "swaps",
    "tau",
    "tau_ap",
]

# Names are loaded when they are asked for.
MODULES = {
    "analysis.audit": ("Audit", "audit"),
    "analysis.compare": ("Comparison", "compare"),
    "analysis.explain": ("Explanation", "explain"),
    "data": ("Judgments", "Run"),
    "errors": ("CranfieldError", "InputError", "MeasureError"),
    "evaluation.columns": ("Column",),
    "evaluation.evaluation": ("Evaluation",),
    "evaluation.evaluator": ("Evaluator", "evaluate"),
    "evaluation.notes": ("Note",),
    "evaluation.policy": ("Policy",),
    "evaluation.scores": ("Score", "Scores"),
    "io": ("read_qrels", "read_run"),
    "io.records": ("records",),
    "measures": ("MEASURES", "Measure", "parse"),
    "studies.properties": ("Properties", "properties"),
    "simulation": ("Simulation", "simulate"),
    "statistics.correlation": ("Agreement", "kendall", "pearson", "spearman", "swaps", "tau", "tau_ap"),
    "statistics.overlap": ("Overlap", "rbo"),
}


def __getattr__(name: str) -> Any:
    module = next((module for module, names in MODULES.items() if name in names), None)
    if module is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(f"cranfield.{module}"), "CATALOGUE" if name == "MEASURES" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
