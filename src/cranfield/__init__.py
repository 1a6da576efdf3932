"""Scores for rankings as they are: tied, cut short, half judged."""

from cranfield.audit import Audit, audit
from cranfield.data import Judgments, Run
from cranfield.errors import CranfieldError, InputError, MeasureError
from cranfield.evaluate import evaluate
from cranfield.formats import read_qrels, read_run
from cranfield.measures import CATALOGUE as MEASURES
from cranfield.measures import Measure, parse
from cranfield.scores import Score, Scores

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
