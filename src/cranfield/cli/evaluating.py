"""From files and options to one evaluation, for the verbs that need more than scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.progress import progress

if TYPE_CHECKING:
    from cranfield.evaluation.collection import Collection
    from cranfield.evaluation.columns import Column
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.io.ids import Duplicates


def read_evaluation(
    qrels: str,
    runs: Sequence[str],
    measures: list[str] | None,
    *,
    guarded: Sequence[str] = (),
    default: Sequence[str] = options.DEFAULT_MEASURES,
    page: int = 0,
    duplicates: Duplicates = "error",
    **settings: Any,
) -> tuple[Evaluation, list[str]]:
    """The evaluation of runs, each read once, and a note if the measures were chosen to fit the judgments.

    ``guarded``: measures to compute as well, or alone if no others are given; one that is asked for anyhow, perhaps by
    another name, is not repeated.
    """
    from cranfield.evaluation.columns import Plan, make_columns
    from cranfield.evaluation.evaluator import Evaluator

    collection, chosen = collection_of(qrels, settings)
    policy = collection.policy(**chosen)
    columns: list[Column] = []
    notes: list[str] = []
    if measures is not None or not guarded:
        names, notes = options.choose_measures(
            measures, collection.judgments, terminal=policy.terminal, default=default
        )
        columns = make_columns(names, policy.views)
    columns += options.absent(options.guarded_columns(guarded, policy), columns)
    evaluator = Evaluator.of(collection, Plan(tuple(columns), policy))
    with progress("Reading runs") as step:
        return evaluator.evaluation(list(runs), page=page, duplicates=duplicates, progress=step), notes


def collection_of(qrels: Any, settings: Mapping[str, Any]) -> tuple[Collection, dict[str, Any]]:
    """The collection that options describe, and the options of the evaluation."""
    from cranfield.evaluation.collection import Collection, split_options

    named = {"documents" if name == "corpus" else name: value for name, value in settings.items()}
    parts, chosen = split_options(named)
    return Collection(qrels, **parts), chosen
