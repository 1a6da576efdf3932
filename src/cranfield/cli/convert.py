"""``cranfield convert``: runs and judgments in another format."""

from __future__ import annotations

import click

from cranfield.cli import options
from cranfield.cli.commands import Verb
from cranfield.errors import UsageError
from cranfield.io.ids import Duplicates


@click.command(cls=Verb, short_help="Convert runs and judgments between formats.")
@click.argument("source", metavar="IN", type=options.FILE)
@click.argument("target", metavar="OUT", type=options.OutputFile())
@options.refusing_inputs
@click.option(
    "--kind", type=click.Choice(("run", "qrels")), help="What IN holds.  [default: detected from its content]"
)
@options.duplicates
def command(source: str, target: str, kind: str | None, duplicates: Duplicates) -> None:
    """Convert IN, a run or judgments in any format, to OUT.

    The name of OUT selects the format: .json, .jsonl, .csv, .tsv or .parquet, and TREC text for any other name. A
    further .gz, .bz2, .xz or .zst compresses it.

    \b
    cranfield convert bm25.run bm25.parquet
    cranfield convert qrels.csv.gz qrels.txt --kind qrels
    """
    from cranfield import io

    if (kind or detect_kind(source, duplicates)) == "run":
        io.write_run(io.read_run(source, duplicates=duplicates), target)
    else:
        io.write_qrels(io.read_qrels(source), target)


def detect_kind(source: str, duplicates: Duplicates = "error") -> str:
    """Whether a file holds a run or judgments; an error if it could be both."""
    from cranfield import io

    hint = "use --kind run or --kind qrels"
    if source == "-":
        raise UsageError("cannot detect whether standard input holds a run or judgments", hint=hint)
    run, qrels = io.check_run(source, duplicates=duplicates), io.check_qrels(source)
    if run is not None and qrels is not None:
        # Neither: report whichever has fewer errors.
        raise min(run, qrels, key=lambda error: error.total)
    if run is None and qrels is None:
        raise UsageError(f"{source}: this could be a run or judgments", hint=hint)
    return "run" if run is None else "qrels"
