"""``cranfield corpus``: the words of a collection, counted once, for measures that use document text."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.commands import Verb
from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.progress import progress
from cranfield.corpus.corpus import DEPTH
from cranfield.report.pages import FORMATS


@click.command(cls=Verb, short_help="Count words, for measures that use document text.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=options.FILE)
@click.option(
    "--qrels", type=options.FILE, metavar="FILE", help="Keep the words of the documents that these judgments name."
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=options.FILE,
    metavar="FILE",
    help="Keep the words of the top documents of this run; may be repeated.",
)
@click.option(
    "--depth",
    "top",
    type=click.IntRange(min=1),
    metavar="N",
    default=DEPTH,
    show_default=True,
    help="How many documents per query to keep from each run.",
)
@click.option(
    "--stemmer", metavar="NAME", default="none", show_default=True, help="Stemmer: none, porter, english, german, ..."
)
@click.option(
    "--stop",
    metavar="LIST",
    default="none",
    show_default=True,
    help="Stop words to leave out: none, english, or a file with one word per line.",
)
@click.option("--keep-case", is_flag=True, help="Distinguish upper and lower case, as in `US` and `us`.")
@click.option(
    "--split",
    type=click.Choice(("word", "space")),
    default="word",
    show_default=True,
    help="What a word is: a sequence of letters and digits (word), or anything between spaces (space).",
)
@click.option("--id", metavar="FIELD", help="Field with the document id.  [default: detected from the names]")
@click.option("--text", metavar="FIELD", multiple=True, help="Field with text; may be repeated.  [default: detected]")
@options.engine
@click.option(
    "-o", "--output", type=options.OutputFile(), metavar="FILE", help="Write the corpus to this Parquet file."
)
@options.refusing_inputs
@options.formats(FORMATS, "")
def command(
    sources: tuple[str, ...],
    qrels: str | None,
    runs: tuple[str, ...],
    top: int,
    stemmer: str,
    stop: str,
    keep_case: bool,
    split: str,
    id: str | None,
    text: tuple[str, ...],
    engine: str,
    master: str | None,
    output: str | None,
    format: str,
) -> None:
    """Count the words of a collection, and keep the word counts of judged and retrieved documents.

    SOURCE is a file (JSON Lines, tab-separated, TREC <DOC> or Parquet, compressed or not), a folder of such files or
    of text files, `-`, or irds:DATASET. Several sources form one collection.

    \b
    cranfield corpus documents.jsonl.gz --qrels qrels.txt --run bm25.run \\
      -o corpus.parquet
    cranfield corpus ambient --qrels ambient --stemmer porter --stop english
    cranfield corpus lake/docs.parquet --qrels lake/qrels.parquet \\
      --engine spark --master yarn -o corpus.parquet
    """
    from typing import get_args

    from cranfield.cli import spark
    from cranfield.corpus.corpus import build
    from cranfield.corpus.settings import Settings, Split, stop_words
    from cranfield.errors import optional
    from cranfield.report import collection as report
    from cranfield.report import pages

    spark.check_options(engine, master=master)
    if output is not None:
        optional("pyarrow", "writing a corpus", "arrow")  # fail before the work, not after it
    splitting: Split = next(name for name in get_args(Split) if name == split)
    word_settings = Settings(splitting, not keep_case, stop_words(stop), stemmer)
    settings: dict[str, Any] = {"depth": top, "settings": word_settings, "id": id, "text": text}
    if engine == "spark":
        corpus = spark.build_corpus(sources, qrels, runs, master, settings)
    else:
        with progress("Counting words", in_bytes=True) as step:
            corpus = build(*sources, qrels=qrels, runs=runs, progress=step, **settings)
    if output is not None:
        corpus.save(output)
    emit(pages.write([report.page(corpus)], report.summary(corpus), format, width=width(), colour=colour()))
    if format != "json":
        note(report.notes(corpus))
