"""Scores and grades as tables, the same as dicts, and the array libraries that the tests try."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

LIBRARIES = ["numpy", "torch"]


@contextmanager
def library(name: str) -> Iterator[Any]:
    """A function that makes an array of this library; with NumPy, PyTorch is not to be seen."""
    if name == "torch":
        torch = pytest.importorskip("torch")
        torch.set_num_threads(1)
        yield lambda values: torch.from_numpy(np.array(values))
        return
    hidden = sys.modules.get("torch")
    if hidden is None:
        yield np.asarray
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield np.asarray
    finally:
        sys.modules["torch"] = hidden


def installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


@st.composite
def tables(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """Scores with ties, grades with NaN for unjudged candidates, and a mask or None."""
    queries, width = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    dtype = draw(st.sampled_from([np.float32, np.float64, np.float16, np.int8]))
    numbers = [-2, -0.0, 0.0, 0.5, 1, 3] if dtype != np.int8 else [-100, -1, 0, 1, 127]
    if dtype != np.int8:
        numbers += [-np.inf, np.inf]

    def table(values: list[Any], kind: Any) -> Any:
        flat = draw(st.lists(st.sampled_from(values), min_size=queries * width, max_size=queries * width))
        return np.array(flat, kind).reshape(queries, width)

    scores, grades = table(numbers, dtype), table([np.nan, np.nan, -1, 0, 1, 2], np.float64)
    if np.isnan(grades).all():
        grades[0, 0] = 1
    return scores, grades, table([True, True, False], bool) if draw(st.booleans()) else None


def as_dicts(scores: Any, grades: Any, mask: Any = None, names: Any = str) -> tuple[Any, Any]:
    """Judgments and a run with the same content; queries without a grade have no judgments."""
    run, qrels = {}, {}
    for q in range(len(scores)):
        columns = range(scores.shape[1])
        run[str(q)] = {names(c): float(scores[q, c]) for c in columns if mask is None or mask[q, c]}
        judged = {names(c): float(grades[q, c]) for c in columns if not np.isnan(grades[q, c])}
        if judged:
            qrels[str(q)] = judged
    return qrels, run


def same(ours: Any, expected: Any) -> None:
    """The same scores to the last bit, the same queries, and the same notes."""
    assert ours.queries == expected.queries
    assert ours.values.tobytes() == expected.values.tobytes(), (ours.values, expected.values)
    assert (ours.counted == expected.counted).all()
    # Grades and scores of a tensor are of the same documents: there is no second set of ids.
    assert [str(n) for n in ours.notes] == [str(n) for n in expected.notes if n.kind != "disjoint"]


def counted_passes(documents: Any) -> tuple[Any, list[int]]:
    """A function that returns the documents as one block, and a list that has its calls."""
    calls: list[int] = []

    def blocks() -> Any:
        calls.append(len(calls))
        return iter([documents])

    return blocks, calls


def cancelling_embeddings(torch: Any) -> tuple[Any, Any]:
    """One query and 1,000 documents in bfloat16: large terms of their products cancel, so that their order matters."""
    rng = np.random.default_rng(4)
    values = torch.tensor([8192.0, -8192.0, 1.0, -1.0, 0.5, 3.0])
    queries, documents = (values[torch.tensor(rng.integers(0, 6, (n, 64)))].bfloat16() for n in (1, 1000))
    return queries, documents
