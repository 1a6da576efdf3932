"""``cranfield eval``: the scores of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from cranfield.cli import options
from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.progress import progress

if TYPE_CHECKING:
    from cranfield.evaluation.scores import Interval, ScoreTable

INTERVALS = {
    "bca": "95 % confidence intervals of the mean over queries: BCa bootstrap, 9,999 resamples, seed {seed}",
    "t": "95 % confidence intervals of the mean over queries: Student's t",
}


@click.command(short_help="Score runs against judgments.")
@options.inputs
@options.measures
@options.views
@options.corpus
@options.policies
@options.intents
@click.option("-q", "--per-query", is_flag=True, help="Show every query, then the means.")
@click.option("--residual", is_flag=True, help="Show how much higher scores could be if the unjudged were relevant.")
@click.option(
    "--bounds", is_flag=True, help="Show the lowest and highest score that unjudged documents leave possible."
)
@click.option(
    "--interval",
    type=click.Choice(("bca", "t", "none")),
    default="none",
    show_default=True,
    help="95 % confidence intervals of means: bootstrap (bca) or Student's t.",
)
@options.engine
@options.scores
@options.writing
@options.seed
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    per_query: bool,
    residual: bool,
    bounds: bool,
    interval: Literal["bca", "t", "none"],
    digits: int,
    format: str,
    output: str | None,
    seed: int,
    engine: str,
    master: str | None,
    scores: str | None,
    **how: Any,
) -> None:
    """Score RUNs against the judgments in QRELS.

    Both may be TREC text, JSON, CSV or Parquet, compressed or not; `-` is standard input. Without -m these are shown:
    AP, nDCG@10, RR, P@10, R@1000 and bpref; and where the second column of QRELS is clearly a subtopic,
    measures of diversity. `cranfield measures` lists all.

    \b
    cranfield eval qrels.txt bm25.run dense.run -m "AP nDCG@10 RBP(p=0.8)"
    cranfield eval qrels.txt llm.run -m nDCG@10 --ties expected -q
    """
    from cranfield import evaluate, read_qrels, report
    from cranfield.cli import distributed
    from cranfield.evaluation.notes import sentences

    limits: Interval | None = None if interval == "none" else interval
    report.accept(format, limits)
    distributed.accept(engine, per_query=per_query, interval=limits is not None, master=master, scores=scores)
    judged = read_qrels(qrels) if measures is None and engine == "local" else None
    wanted, said = options.fitting(measures, judged, terminal=how["terminal"])
    how |= {"residuals": residual, "bounds": bounds, "seed": seed}
    if engine == "spark":
        with distributed.scored(qrels, runs, wanted, master, scores, how) as (there, _):
            found: ScoreTable = there.mean()
    else:
        with progress("scoring") as step:
            found = evaluate(judged or qrels, list(runs), wanted, progress=step, **how)
    look: dict[str, Any] = {"per_query": per_query, "digits": digits, "interval": limits, "seed": seed}
    emit(report.write(found, format, **look, width=width(), colour=colour(output)), output)
    note(said)
    if format != "json":
        note(sentences(found.notes))
        note([INTERVALS[limits].format(seed=seed)] if limits else [])
