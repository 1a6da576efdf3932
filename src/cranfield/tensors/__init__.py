"""Evaluation where the scores are: tensors of NumPy, PyTorch, JAX or CuPy, on the processor or on an accelerator.

For each judged document, higher and equal scores are counted on the device. A ranking needs nothing else, so that
every measure, tie rule and analysis of the library then works as for any other run.

Positions in a tensor have no ids, and trec_eval's order of ties is by id; so the default here is ``ties="expected"``,
the mean over all orders, which needs none.
"""

from __future__ import annotations

from cranfield.tensors.accumulators import Accumulator, RankCounter
from cranfield.tensors.candidates import evaluate
from cranfield.tensors.embeddings import PrecisionAudit, audit_precision, evaluate_embeddings

TYPE_CHECKING = False  # as type checkers know it
if TYPE_CHECKING:
    from typing import Any

    from cranfield.tensors.metric import RetrievalMetric

__all__ = [
    "Accumulator",
    "PrecisionAudit",
    "RankCounter",
    "RetrievalMetric",
    "audit_precision",
    "evaluate",
    "evaluate_embeddings",
]


def __getattr__(name: str) -> Any:
    if name != "RetrievalMetric":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cranfield.tensors.metric import RetrievalMetric  # needs torchmetrics

    return RetrievalMetric


def __dir__() -> list[str]:
    return __all__
