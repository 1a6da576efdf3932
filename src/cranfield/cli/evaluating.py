"""From files and options to one evaluation, for the verbs that look at more than scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.progress import progress

if TYPE_CHECKING:
    from cranfield.evaluation.evaluation import Evaluation


def read_evaluation(
    qrels: str,
    runs: Sequence[str],
    measures: list[str] | None,
    *,
    guarded: Sequence[str] = (),
    usual: Sequence[str] = options.DEFAULT_MEASURES,
    intents: str | None = None,
    corpus: str | None = None,
    page: int = 0,
    **policy: Any,
) -> tuple[Evaluation, list[str]]:
    """The runs, each read once, and a note where measures were chosen to fit the judgments.

    ``guarded``: measures to compute besides; one that is asked for anyhow, perhaps by another name, is not repeated.
    """
    from cranfield import read_qrels
    from cranfield.evaluation.columns import Plan, make_columns
    from cranfield.evaluation.evaluator import Evaluator
    from cranfield.evaluation.policy import Policy

    judgments = read_qrels(qrels)
    wanted, notes = options.fitting(measures, judgments, terminal=policy["terminal"], usual=usual)
    chosen = Policy(**policy)
    columns = make_columns(wanted, chosen.views)
    known = {column.measure for column in columns}
    columns += [column for column in options.guarded_columns(guarded, chosen) if column.measure not in known]
    evaluator = Evaluator.of(judgments, Plan(tuple(columns), chosen), intents=intents, corpus=corpus)
    with progress("reading") as step:
        return evaluator.evaluation(list(runs), page=page, progress=step), notes
