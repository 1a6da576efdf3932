"""Compiled counting on NVIDIA devices."""

from __future__ import annotations

from typing import Any


def usable(scores: Any) -> bool:  # noqa: ARG001
    """Whether the compiled kernel can count these scores."""
    return False


def count_scores(scores: Any, row: Any, value: Any) -> tuple[Any, Any]:
    """As `counting.count_scores`."""
    raise NotImplementedError
