"""PyTerrier's experiment with the measures, ties and notes of Cranfield."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.errors import optional
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import Measures, evaluate
from cranfield.evaluation.scores import Scores


def evaluate_systems(
    systems: Sequence[Any],
    topics: Any,
    qrels: Any,
    measures: Measures,
    names: Sequence[str] | None = None,
    **options: Any,
) -> Scores:
    """The scores of transformers, or of frames of their results; ``options`` are those of `evaluate`."""
    results = [system if hasattr(system, "iloc") else system.transform(topics) for system in systems]
    names = names or [f"system {n}" if hasattr(s, "iloc") else str(s) for n, s in enumerate(systems, 1)]
    return evaluate(Collection.of(qrels).changed(allow_disjoint=True), results, measures, names=names, **options)


def Experiment(
    systems: Sequence[Any],
    topics: Any,
    qrels: Any,
    measures: Measures,
    names: Sequence[str] | None = None,
    **options: Any,
) -> Any:
    """A frame like that of ``pyterrier.Experiment``: a row for each system, a column for each measure."""
    pandas = optional("pandas", "the bridge to PyTerrier", "pyterrier")
    scores = evaluate_systems(systems, topics, qrels, measures, names, **options)
    frame = pandas.DataFrame(scores._means, columns=list(scores.measures))
    frame.insert(0, "name", list(scores.runs))
    return frame
