"""Evaluation where the scores are: tensors of NumPy, PyTorch, JAX or CuPy, on the processor or on an accelerator.

For each judged document, higher and equal scores are counted on the device. A ranking needs nothing else, so that
every measure, tie rule and analysis of the library then works as for any other run.

Positions in a tensor have no ids, and trec_eval's order of ties is by id; so the default here is ``ties="expected"``,
the mean over all orders, which needs none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.tensors.candidates import evaluate
    from cranfield.tensors.embeddings import PrecisionAudit, audit_precision, evaluate_embeddings
    from cranfield.tensors.metric import RetrievalMetric
    from cranfield.tensors.ranks import RankCounter
    from cranfield.tensors.training import Accumulator

__all__ = [
    "Accumulator",
    "PrecisionAudit",
    "RankCounter",
    "RetrievalMetric",
    "audit_precision",
    "evaluate",
    "evaluate_embeddings",
]

# Names are loaded when they are asked for; torchmetrics only if it is used.
MODULES = {
    "candidates": ("evaluate",),
    "embeddings": ("PrecisionAudit", "audit_precision", "evaluate_embeddings"),
    "metric": ("RetrievalMetric",),
    "ranks": ("RankCounter",),
    "training": ("Accumulator",),
}


def __getattr__(name: str) -> Any:
    module = next((module for module, names in MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
