"""``cranfield eval``: scores of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from cranfield.cli import gate, options
from cranfield.cli.commands import Verb
from cranfield.cli.output import colour, emit, note, run_notes, width
from cranfield.cli.progress import progress
from cranfield.errors import UsageError
from cranfield.io.ids import Duplicates

if TYPE_CHECKING:
    from cranfield.evaluation.scores import Interval, ScoreTable
    from cranfield.statistics.standardisation import Standardisation

INTERVALS = {
    "bca": "95% confidence intervals of the means: BCa bootstrap over queries, 9,999 resamples, seed {seed}",
    "t": "95% confidence intervals of the means: Student's t",
}


@click.command(cls=Verb, short_help="Score runs against judgments.")
@options.inputs
@options.measures
@options.views
@options.corpus
@options.policies
@options.intents
@options.costs
@options.predicted
@click.option("-q", "--per-query", is_flag=True, help="Show the scores of every query, then the means.")
@click.option(
    "--residual", is_flag=True, help="Show how much higher scores would be if all unjudged documents were relevant."
)
@click.option(
    "--bounds", is_flag=True, help="Show the lowest and highest scores that judging the unjudged documents could give."
)
@click.option(
    "--standard-errors", is_flag=True, help="Show the sampling errors of estimates from a sample of judgments."
)
@click.option(
    "--interval",
    type=click.Choice(("bca", "t", "none")),
    default="none",
    show_default=True,
    help="95% confidence intervals of the means: bootstrap (bca) or Student's t.",
)
@click.option(
    "--sort",
    metavar="MEASURE",
    help="Order of the runs: by a measure, best first, by `name`, or as in the `input`.  "
    "[default: the first measure; in json, csv and trec, the input unless --top is given]",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show only the N best runs, by the measure of --sort or by the first measure.",
)
@options.standardise
@gate.fail_below
@gate.junit
@options.engine
@options.scores
@options.writing
@options.verbose
@options.seed
def command(
    qrels: str,
    runs: tuple[str, ...],
    duplicates: Duplicates,
    measures: list[str] | None,
    per_query: bool,
    residual: bool,
    bounds: bool,
    standard_errors: bool,
    interval: Literal["bca", "t", "none"],
    sort: str | None,
    top: int | None,
    standardise: Standardisation | None,
    limits: dict[str, float],
    junit: str | None,
    digits: int,
    format: str,
    output: str | None,
    verbose: bool,
    seed: int,
    engine: str,
    master: str | None,
    scores: str | None,
    **settings: Any,
) -> None:
    """Score RUNs against the judgments in QRELS.

    Files may be TREC text, JSON, CSV or Parquet, compressed or not; `-` is standard input. If QRELS has judgments by
    subtopic, the default is a set of diversity measures. `cranfield measures` lists all measures.

    \b
    cranfield eval qrels.txt bm25.run dense.run -m "AP nDCG@10 RBP(p=0.8)"
    cranfield eval qrels.txt llm.run -m nDCG@10 --ties expected -q
    cranfield eval qrels.txt *.run -m "AP nDCG@10" --sort nDCG@10 --top 10
    """
    from cranfield import evaluate, report
    from cranfield.cli import spark
    from cranfield.cli.evaluating import collection_of

    method: Interval | None = None if interval == "none" else interval
    report.accept(format, method)
    if (junit and not limits) or (limits and standardise is not None):
        raise UsageError(
            "--junit needs --fail-below" if junit else "--standardise does not work with --fail-below",
            hint="for example: --fail-below nDCG@10=0.70" if junit else "",
        )
    spark.check_options(
        engine,
        per_query=per_query,
        interval=method is not None,
        master=master,
        scores=scores,
        settings=settings,
        duplicates=duplicates,
    )
    if engine == "spark" and standardise is not None:
        raise UsageError("--standardise does not work with --engine spark")
    collection, chosen = collection_of(qrels, settings)
    judgments = collection.judgments if measures is None and engine == "local" else None
    names, notes = options.choose_measures(measures, judgments, terminal=settings["terminal"])
    chosen["seed"] = seed
    columns, label_of = gate.with_checked(names, list(limits), collection.policy(**chosen))
    shown = {"residuals": residual, "bounds": bounds, "standard errors": standard_errors}
    chosen["show"] = [name for name, wanted in shown.items() if wanted]
    if engine == "spark":
        with spark.evaluate(collection, runs, columns, master, scores, chosen) as (frame, _):
            table: ScoreTable = frame
    else:
        with progress("Scoring runs") as step:
            table = evaluate(collection, list(runs), columns, duplicates=duplicates, progress=step, **chosen)
        if standardise is not None:
            table = table.standardised(standardise)
    layout: dict[str, Any] = {"per_query": per_query, "digits": digits, "interval": method, "seed": seed}
    checks = gate.check_limits(table, gate.limits_of(limits, label_of))
    in_order = table.order(sort or ("input" if top is None and format in ("json", "csv", "trec") else None))
    by = None if sort in ("name", "input") else sort
    best = table.best(top, by)
    if len(best) < len(table.runs):
        measure = table.measures[0 if by is None else table.column_of(by)]
        notes = [*notes, f"{len(best)} of {len(table.runs)} runs are shown, those with the highest {measure} (--top)"]
    table = table.of_runs([row for row in in_order if row in best])
    text = report.write(table, format, **layout, width=width(), colour=colour(output))
    if format == "markdown" and checks:
        from cranfield.report import guard

        text = f"{guard.markdown(checks)}{text}"
    if means := getattr(table, "predicted", ()):
        from cranfield.report import predicted as lines

        text += lines.text(means, format, digits, width=width(), colour=colour(output))
        notes = [*notes, *lines.notes(means)]
    emit(text, output)
    note(notes)
    if format != "json":
        note(run_notes(table.notes, verbose=verbose))
        note([INTERVALS[method].format(seed=seed)] if method else [])
    gate.conclude(checks, junit, "cranfield eval")
