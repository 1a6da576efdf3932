"""``cranfield corpus``: the words of a collection, counted once and kept for measures that read documents."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.progress import progress
from cranfield.corpus.build import DEPTH
from cranfield.report.pages import FORMATS


@click.command(short_help="Count the words of a collection, for measures that read documents.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=options.FILE)
@click.option("--qrels", type=options.FILE, help="Keep the words of the documents judged here.")
@click.option("--run", "runs", multiple=True, type=options.FILE, help="Keep those retrieved here; may be repeated.")
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    metavar="N",
    default=DEPTH,
    show_default=True,
    help="Of a run, the first N documents of each query.",
)
@click.option("--stemmer", default="none", show_default=True, help="porter, english, german, ...: one term for a stem.")
@click.option("--stop", default="none", show_default=True, help="Words to leave out: none, english, or a file of them.")
@click.option("--keep-case", is_flag=True, help="Take `US` and `us` for different words.")
@click.option(
    "--split",
    type=click.Choice(("word", "space")),
    default="word",
    show_default=True,
    help="Words are runs of letters and digits, or whatever stands between spaces.",
)
@click.option("--id", metavar="FIELD", help="The field that holds the id, where its name does not tell.")
@click.option("--text", metavar="FIELD", multiple=True, help="A field that holds text; may be repeated.")
@options.engine
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Keep the corpus in this Parquet file.")
@options.formats(FORMATS, "How to print what was found.")
def command(
    sources: tuple[str, ...],
    qrels: str | None,
    runs: tuple[str, ...],
    depth: int,
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
    """Count the words of a collection in one pass, and keep those of the documents that matter.

    SOURCE is a file (JSON Lines, tab-separated lines, TREC's <DOC>, Parquet; compressed or not), a folder of these or
    of text files, `-`, or irds:DATASET. Several are one collection.

    \b
    cranfield corpus corpus.jsonl.gz --qrels qrels.txt --run bm25.run --run dense.run -o corpus.parquet
    cranfield corpus ambient --qrels ambient --stemmer porter --stop english
    cranfield corpus lake/docs.parquet --qrels lake/qrels.parquet --engine spark --master yarn -o corpus.parquet
    """
    from typing import get_args

    from cranfield.cli import distributed
    from cranfield.corpus.build import build
    from cranfield.corpus.settings import Settings, Split, stop_words
    from cranfield.errors import optional
    from cranfield.report import corpus as report
    from cranfield.report import pages

    distributed.accept(engine, master=master)
    if output is not None:
        optional("pyarrow", "keeping a corpus in a file", "arrow")  # better said before the pass than after it
    chosen: Split = next(name for name in get_args(Split) if name == split)
    settings = Settings(chosen, not keep_case, stop_words(stop), stemmer)
    how: dict[str, Any] = {"depth": depth, "settings": settings, "id": id, "text": text}
    if engine == "spark":
        corpus = distributed.counted(sources, qrels, runs, master, how)
    else:
        with progress("counting words", octets=True) as step:
            corpus = build(*sources, qrels=qrels, runs=runs, progress=step, **how)
    if output is not None:
        corpus.save(output)
    emit(pages.write([report.page(corpus)], report.summary(corpus), format, width=width(), colour=colour()))
    if format != "json":
        note(report.notes(corpus))
