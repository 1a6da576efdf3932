"""Evaluation of ranked retrieval, with exact handling of ties, short lists and unjudged documents."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cranfield.data import Judgments, Run
from cranfield.errors import CranfieldError, InputError, MeasureError
from cranfield.evaluation.evaluator import Evaluator, evaluate
from cranfield.evaluation.scores import Score, Scores
from cranfield.io import read_qrels, read_run
from cranfield.measures import CATALOGUE as MEASURES
from cranfield.measures import Measure, parse

if TYPE_CHECKING:
    from cranfield.analysis.audit import Audit, audit
    from cranfield.analysis.compare import Comparison, compare
    from cranfield.analysis.explain import Explanation, explain
    from cranfield.evaluation.columns import Column
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.evaluation.notes import Note
    from cranfield.evaluation.policy import Policy
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
    "simulate",
    "spearman",
    "swaps",
    "tau",
    "tau_ap",
]

# What few people need on every start is loaded when it is asked for.
LATER = {
    "analysis.audit": ("Audit", "audit"),
    "analysis.compare": ("Comparison", "compare"),
    "analysis.explain": ("Explanation", "explain"),
    "evaluation.columns": ("Column",),
    "evaluation.evaluation": ("Evaluation",),
    "evaluation.notes": ("Note",),
    "evaluation.policy": ("Policy",),
    "studies.properties": ("Properties", "properties"),
    "simulation": ("Simulation", "simulate"),
    "statistics.correlation": ("Agreement", "kendall", "pearson", "spearman", "swaps", "tau", "tau_ap"),
    "statistics.overlap": ("Overlap", "rbo"),
}


def __getattr__(name: str) -> Any:
    for module, names in LATER.items():
        if name in names:
            return getattr(import_module(f"cranfield.{module}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
