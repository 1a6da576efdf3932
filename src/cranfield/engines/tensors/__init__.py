"""Evaluation where the scores are: tensors of NumPy, PyTorch, JAX or CuPy, on the processor or on an accelerator.

For each judged document, higher and equal scores are counted on the device. A ranking needs nothing else, so that
every measure, tie rule and analysis of the library then works as for any other run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.engines.tensors.candidates import evaluate_tensors, tensor_evaluation
    from cranfield.engines.tensors.dense import dense_evaluate, dense_evaluation
    from cranfield.engines.tensors.metric import RetrievalMetric
    from cranfield.engines.tensors.precision import PrecisionAudit, audit_precision
    from cranfield.engines.tensors.rank_counter import RankCounter
    from cranfield.engines.tensors.training import Accumulator

__all__ = [
    "Accumulator",
    "PrecisionAudit",
    "RankCounter",
    "RetrievalMetric",
    "audit_precision",
    "dense_evaluate",
    "dense_evaluation",
    "evaluate_tensors",
    "tensor_evaluation",
]

# Names are loaded when they are asked for; PyTorch only if it is used.
MODULES = {
    "candidates": ("evaluate_tensors", "tensor_evaluation"),
    "dense": ("dense_evaluate", "dense_evaluation"),
    "metric": ("RetrievalMetric",),
    "precision": ("PrecisionAudit", "audit_precision"),
    "rank_counter": ("RankCounter",),
    "training": ("Accumulator",),
}


def __getattr__(name: str) -> Any:
    module = next((module for module, names in MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
