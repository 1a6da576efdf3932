"""``cranfield convert``: the same data in another format."""

from __future__ import annotations

import click

from cranfield.cli import options
from cranfield.errors import UsageError


@click.command(short_help="Write runs and judgments in another format.")
@click.argument("source", metavar="IN", type=options.FILE)
@click.argument("target", metavar="OUT", type=click.Path())
@click.option("--kind", type=click.Choice(("run", "qrels")), help="What IN holds; found out where its content tells.")
def command(source: str, target: str, kind: str | None) -> None:
    """Read IN, a run or judgments in any format, and write it to OUT in the format that its name asks for.

    .json .jsonl .csv .tsv .parquet, and TREC text for every other name; each also with .gz .bz2 .xz .zst.

    \b
    cranfield convert bm25.run bm25.parquet
    cranfield convert qrels.csv.gz qrels.txt --kind qrels
    """
    from cranfield import io

    if (kind or guess(source)) == "run":
        io.write_run(io.read_run(source), target)
    else:
        io.write_qrels(io.read_qrels(source), target)


def guess(source: str) -> str:
    """Whether a file reads as a run or as judgments; an error where it could be both."""
    from cranfield import io

    hint = "say --kind run or --kind qrels"
    if source == "-":
        raise UsageError("what standard input holds cannot be found out beforehand", hint=hint)
    run, qrels = io.check_run(source), io.check_qrels(source)
    if run is not None and qrels is not None:
        # Neither: the nearer miss is the one with fewer faults.
        raise min(run, qrels, key=lambda error: error.total)
    if run is None and qrels is None:
        raise UsageError(f"{source}: could be a run or judgments", hint=hint)
    return "run" if run is None else "qrels"
