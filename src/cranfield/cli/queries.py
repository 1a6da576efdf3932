"""``cranfield queries``: per-query scores, and the documents on which two runs differ."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from cranfield.analysis.per_query import ORDERS
from cranfield.cli import options, results
from cranfield.cli.commands import Verb
from cranfield.cli.evaluating import read_evaluation


@click.command(cls=Verb, short_help="Show per-query scores and where runs differ.")
@options.inputs
@click.option(
    "-m", "--measure", type=options.MeasureName(), default="nDCG@10", show_default=True, help="The measure to show."
)
@options.measures_file
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    help="How to sort queries.  [default: difference for two runs, otherwise hardest]",
)
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="Show only the first N queries.")
@click.option("--query", metavar="ID", help="Compare the top documents of two runs for this query.")
@click.option(
    "--page",
    type=click.IntRange(min=1),
    metavar="N",
    default=10,
    show_default=True,
    help="With --query: how many top documents to compare.",
)
@options.queries_file
@options.views
@options.corpus
@options.policies
@options.intents
@options.costs
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
    queries_file: str | None,
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Show the scores of RUNs query by query: the largest differences, the hardest queries, or the most disagreement.

    With two runs and --query, show which documents the second run gained, lost and moved.

    \b
    cranfield queries qrels.txt bm25.run dense.run -m nDCG@10 --most 10
    cranfield queries qrels.txt *.run --order disagreement
    cranfield queries qrels.txt bm25.run dense.run --query q3 --page 20
    """
    from cranfield.analysis import per_query
    from cranfield.errors import UsageError
    from cranfield.evaluation.notes import input_notes
    from cranfield.report import per_query as drawing
    from cranfield.report import per_query as report
    from cranfield.wording import plural

    results.drawable(figures)
    if query is not None and len(runs) != 2:
        raise UsageError(f"--query compares two runs, not {len(runs)}")
    if query is not None and figures is not None:
        raise UsageError("--query and --figures cannot be combined")
    evaluation, _ = read_evaluation(qrels, runs, [measure], page=0 if query is None else page, **settings)
    scores = evaluation.scores
    texts = {}
    if queries_file is not None:
        from cranfield.io.collection import read_query_texts

        texts = read_query_texts(queries_file, scores.queries)
    if query is not None:
        ranks = per_query.documents(evaluation, query, page, settings["ties"])
        result: Any = {"query": query, "runs": list(scores.runs), "documents": [rank._asdict() for rank in ranks]}
        pages = [report.documents(ranks, (scores.runs[0], scores.runs[1]), query, page, texts.get(query, ""))]
        draw = None
    else:
        by_query = per_query.queries(scores, 0, order)
        result = by_query.to_dict()
        pages = [report.queries(by_query, digits, most=most, bars=format == "table", texts=texts)]
        draw = partial(drawing.figures, by_query)
        notes = input_notes(scores.notes)
        if by_query.left_out:
            notes.append(f"{plural(by_query.left_out, 'query')} left out because some run has no value there")
        if notes:
            result["notes"] = notes
    if texts:
        result["texts"] = texts
    results.deliver(pages, result, draw, format=format, output=output, figures=figures)
