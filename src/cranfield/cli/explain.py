"""``cranfield explain``: the score of a measure that uses document text, document by document."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from cranfield.cli import options, results
from cranfield.cli.commands import Verb
from cranfield.io.ids import Duplicates


@click.command(cls=Verb, short_help="Explain a score that uses document text.")
@click.argument("qrels", type=options.FILE)
@click.argument("run", type=options.FILE)
@click.option(
    "-m",
    "--measure",
    default="DELTARB@20",
    show_default=True,
    type=options.MeasureName(),
    help="ABSNB, ABSRB, DELTANB or DELTARB.",
)
@options.measures_file
@options.corpus
@click.option("--query", metavar="ID", help="The query to explain; may be left out if there is only one.")
@click.option(
    "--words",
    type=click.IntRange(min=0),
    metavar="N",
    default=3,
    show_default=True,
    help="How many words of each document to show.",
)
@options.queries_file
@options.duplicates
@options.ordering
@results.writing
def command(
    qrels: str,
    run: str,
    duplicates: Duplicates,
    measure: str,
    words: int,
    queries_file: str | None,
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Explain how each document of RUN, judged or not, contributes to the score of one query.

    Shows what each document adds to the score, the subtopic whose coverage it changes most, and the words that
    cause this.

    \b
    cranfield explain qrels.txt bm25.run --corpus corpus.parquet --query q1
    cranfield explain qrels.txt bm25.run -m ABSRB@10 --corpus corpus.parquet \\
      --query q1 --figures figures
    """
    from cranfield import explain, read_run
    from cranfield.cli.evaluating import collection_of
    from cranfield.report.explanation import figures as draw
    from cranfield.report.explanation import pages

    results.drawable(figures)
    collection, chosen = collection_of(qrels, settings)
    explanation = explain(collection, read_run(run, duplicates=duplicates), measure, **chosen)
    text = ""
    if queries_file is not None:
        from cranfield.io.collection import read_query_texts

        text = read_query_texts(queries_file, [explanation.query]).get(explanation.query, "")
    tables = pages(explanation, digits, words, text)
    results.deliver(
        tables,
        explanation.to_dict() | ({"text": text} if text else {}),
        partial(draw, explanation),
        format=format,
        output=output,
        figures=figures,
    )
