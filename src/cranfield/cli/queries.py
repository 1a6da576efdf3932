"""``cranfield queries``: which queries make the difference, and which documents in them."""

from __future__ import annotations

from typing import Any

import click

from cranfield.analysis.per_query import ORDERS
from cranfield.cli import options, results
from cranfield.cli.evaluating import read_evaluation


@click.command(short_help="Show which queries, and documents in them, make the difference.")
@options.inputs
@click.option(
    "-m", "--measure", type=options.MeasureName(), default="nDCG@10", show_default=True, help="The measure looked at."
)
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    help="Which queries come first.  [default: difference of two runs, else hardest]",
)
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="Show this many queries only.")
@click.option("--query", metavar="ID", help="Show the documents that two runs put first for this query.")
@click.option(
    "--page", type=click.IntRange(min=1), default=10, show_default=True, help="How many documents --query looks at."
)
@options.views
@options.corpus
@options.policies
@options.intents
@options.seed
@results.writing
def command(
    qrels: str,
    runs: tuple[str, ...],
    measure: str,
    order: Any,
    most: int | None,
    query: str | None,
    page: int,
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    **how: Any,
) -> None:
    """Show the scores of RUNs query by query: those that make the difference, the hardest, those that divide the runs.

    With two runs and --query, show which documents the second one gained, lost and moved.

    \b
    cranfield queries qrels.txt bm25.run dense.run -m nDCG@10 --most 10
    cranfield queries qrels.txt *.run --order disagreement
    cranfield queries qrels.txt bm25.run dense.run --query q3 --page 20
    """
    from cranfield.analysis import per_query
    from cranfield.errors import UsageError
    from cranfield.evaluation.notes import input_notes
    from cranfield.report import contrasts as report
    from cranfield.report.figures import contrasts as drawing
    from cranfield.wording import plural

    results.drawable(figures)
    if query is not None and len(runs) != 2:
        raise UsageError(f"--query looks at two runs, not {len(runs)}")
    if query is not None and figures is not None:
        raise UsageError("--query has no figure")
    evaluation, _ = read_evaluation(qrels, runs, [measure], page=0 if query is None else page, **how)
    scores = evaluation.scores
    if query is not None:
        places = per_query.documents(evaluation, query, page, how["ties"])
        plain: Any = {"query": query, "runs": list(scores.runs), "documents": [place._asdict() for place in places]}
        pages = [report.documents(places, (scores.runs[0], scores.runs[1]), query)]
        draw = None
    else:
        found = per_query.by_query(scores, 0, order)
        plain = found.to_dict()
        pages = [report.queries(found, digits, most=most, bars=format == "table")]
        draw = lambda folder: drawing.figures(found, folder)  # noqa: E731
        told = input_notes(scores.notes)
        if found.left_out:
            told.append(f"{plural(found.left_out, 'query')} left out, for which some run has no value")
        if told:
            plain["notes"] = told
    results.deliver(pages, plain, draw, format=format, output=output, figures=figures)
