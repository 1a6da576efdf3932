"""Scores for rankings as they are: tied, cut short, half judged."""

from typing import TYPE_CHECKING, Any

from cranfield.data import Judgments, Run
from cranfield.errors import CranfieldError, InputError, MeasureError
from cranfield.evaluate import evaluate
from cranfield.formats import read_qrels, read_run
from cranfield.measures import CATALOGUE as MEASURES
from cranfield.measures import Measure, parse
from cranfield.scores import Score, Scores

if TYPE_CHECKING:
    from cranfield.auditing import Audit, audit

__version__ = "0.1.0"

__all__ = [
    "MEASURES",
    "Audit",
    "CranfieldError",
    "InputError",
    "Judgments",
    "Measure",
    "MeasureError",
    "Run",
    "Score",
    "Scores",
    "audit",
    "evaluate",
    "parse",
    "read_qrels",
    "read_run",
]


def __getattr__(name: str) -> Any:
    # What few people need on every start is loaded when it is asked for.
    if name in ("Audit", "audit"):
        from cranfield import auditing

        return getattr(auditing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
