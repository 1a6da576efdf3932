"""``cranfield study reuse``."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options, results, study_options
from cranfield.studies.reuse.experiment import DEFAULT


def _run_parts(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """Parse options of the form RUN=PART."""
    for text in value:
        if not all(text.rpartition("=")[::2]):
            raise click.BadParameter(f"expected RUN=PART, such as bm25=B; got {text!r}", ctx, param)
    return {run: part for run, _, part in (text.rpartition("=") for text in value)}


@click.command(short_help="Judgments of one collection for systems on another.")
@study_options.inputs
@options.measuring(" ".join(DEFAULT))
@options.corpus
@click.option("--split", type=options.FILE, metavar="FILE", help="Parts of the collection: lines `document part`.")
@click.option("--pattern", metavar="REGEX", help="Instead: documents whose ids match are in part B, all others in A.")
@click.option(
    "--share",
    type=options.CHANCE,
    metavar="P",
    default=0.5,
    show_default=True,
    help="Otherwise: share of documents that are assigned to part A at random.",
)
@click.option(
    "--searched",
    multiple=True,
    callback=_run_parts,
    metavar="RUN=PART",
    help="The part that a run searched, or `all`; RUN may be a pattern such as *-catb. May be repeated.  "
    "[default: the parts of its documents]",
)
@study_options.relevant
@study_options.coefficient
@study_options.threshold
@study_options.variants
@options.seed
@results.writing
def command(**arguments: Any) -> None:
    """Show how well judgments of one collection order at least two RUNs on another.

    The experiment of Hui et al., "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Tables 1 and 2.
    The collection is split into parts, and runs are restricted to one part, the target. The reference is the order by
    a measure under the target's own judgments; it is compared with orders under the judgments of another part. Word
    statistics come from the complete --corpus. A run without any document of a part is not evaluated on that part.

    \b
    cranfield study reuse qrels.txt *.run --corpus corpus.parquet --seed 1
    cranfield study reuse qrels.txt *.run --corpus corpus.parquet --pattern '^clueweb09-en(00(0.|1[01])|wp0[0-3])-'
    """
    study_options.run_study("reuse", "Scoring parts", **arguments)
