"""Evaluation of ranked retrieval, with exact handling of ties, short lists and unjudged documents."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; the module `typing` takes longer to load than this one
if TYPE_CHECKING:
    from typing import Any

    from cranfield import judging, lab, measures, stats, tensors
    from cranfield import spark as spark
    from cranfield.analysis.audit import audit
    from cranfield.analysis.compare import Comparison, compare
    from cranfield.analysis.explain import explain
    from cranfield.analysis.exposure import exposure
    from cranfield.analysis.per_query import queries
    from cranfield.errors import CranfieldError, InputError, MeasureError
    from cranfield.evaluation.collection import Collection
    from cranfield.evaluation.elsewhere import concat, read_scores
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.evaluation.evaluator import Evaluator, evaluate
    from cranfield.evaluation.scores import Scores
    from cranfield.experiment.experiment import Experiment
    from cranfield.io import Judgments, Repeats, Run, read_qrels, read_run
    from cranfield.io.formats.letor import read_letor
    from cranfield.io.named_tables import read_items, read_queries
    from cranfield.io.records import records
    from cranfield.lab.simulation import simulate
    from cranfield.measures import measure, parse
    from cranfield.saved import load

__version__ = "0.1.0"

__all__ = [
    "Collection",
    "Comparison",
    "CranfieldError",
    "Evaluation",
    "Evaluator",
    "Experiment",
    "InputError",
    "Judgments",
    "MeasureError",
    "Repeats",
    "Run",
    "Scores",
    "audit",
    "compare",
    "concat",
    "evaluate",
    "explain",
    "exposure",
    "judging",
    "lab",
    "load",
    "measure",
    "measures",
    "parse",
    "queries",
    "read_items",
    "read_letor",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_scores",
    "records",
    "simulate",
    "stats",
    "tensors",
]

# Names are loaded when they are asked for. The names of no module are modules themselves.
MODULES = {
    "": ("judging", "lab", "measures", "spark", "stats", "tensors"),
    "analysis.audit": ("audit",),
    "analysis.compare": ("Comparison", "compare"),
    "analysis.explain": ("explain",),
    "analysis.exposure": ("exposure",),
    "analysis.per_query": ("queries",),
    "errors": ("CranfieldError", "InputError", "MeasureError"),
    "evaluation.collection": ("Collection",),
    "evaluation.elsewhere": ("concat", "read_scores"),
    "evaluation.evaluation": ("Evaluation",),
    "evaluation.evaluator": ("Evaluator", "evaluate"),
    "evaluation.scores": ("Scores",),
    "experiment.experiment": ("Experiment",),
    "io": ("Judgments", "Repeats", "Run", "read_qrels", "read_run"),
    "io.named_tables": ("read_items", "read_queries"),
    "io.formats.letor": ("read_letor",),
    "io.records": ("records",),
    "lab.simulation": ("simulate",),
    "measures": ("measure", "parse"),
    "saved": ("load",),
}


def __getattr__(name: str) -> Any:
    module = next((module for module, names in MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"cranfield.{module}"), name) if module else import_module(f"cranfield.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "spark", "__version__"]  # `spark` needs PySpark
