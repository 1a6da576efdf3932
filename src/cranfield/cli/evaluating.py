"""From files and options to one evaluation, for the verbs that need more than scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.progress import progress

if TYPE_CHECKING:
    from cranfield.evaluation.columns import Column
    from cranfield.evaluation.evaluation import Evaluation


def read_evaluation(
    qrels: str,
    runs: Sequence[str],
    measures: list[str] | None,
    *,
    guarded: Sequence[str] = (),
    default: Sequence[str] = options.DEFAULT_MEASURES,
    intents: str | None = None,
    corpus: str | None = None,
    costs: str | None = None,
    page: int = 0,
    **policy: Any,
) -> tuple[Evaluation, list[str]]:
    """The evaluation of runs, each read once, and a note if the measures were chosen to fit the judgments.

    ``guarded``: measures to compute as well, or alone if no others are given; one that is asked for anyhow, perhaps by
    another name, is not repeated.
    """
    from cranfield import read_qrels
    from cranfield.evaluation.columns import Plan, make_columns
    from cranfield.evaluation.evaluator import Evaluator
    from cranfield.evaluation.policy import Policy

    judgments = read_qrels(qrels)
    checked_policy = Policy(**policy)
    columns: list[Column] = []
    notes: list[str] = []
    if measures is not None or not guarded:
        names, notes = options.choose_measures(measures, judgments, terminal=policy["terminal"], default=default)
        columns = make_columns(names, checked_policy.views)
    columns += options.absent(options.guarded_columns(guarded, checked_policy), columns)
    plan = Plan(tuple(columns), checked_policy)
    evaluator = Evaluator.of(judgments, plan, intents=intents, corpus=corpus, costs=costs)
    with progress("Reading runs") as step:
        return evaluator.evaluation(list(runs), page=page, progress=step), notes
