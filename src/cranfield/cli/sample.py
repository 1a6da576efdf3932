"""``cranfield sample``: draw a stratified sample of a pool to judge."""

from __future__ import annotations

import click

from cranfield.cli import options
from cranfield.cli.commands import Verb
from cranfield.cli.output import emit, note
from cranfield.errors import UsageError
from cranfield.io.ids import Duplicates

DEFAULT_STRATA = "5:1 20:0.5 100:0.1"


@click.command(cls=Verb, short_help="Draw a stratified sample of documents to judge.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=options.FILE)
@options.duplicates
@click.option(
    "--strata",
    metavar="TEXT",
    default=DEFAULT_STRATA,
    show_default=True,
    help="Strata by the best rank of a document over all runs, as DEPTH:SHARE: the share of each to draw.",
)
@click.option("--qrels", type=options.FILE, metavar="FILE", help="Judgments so far; drawn documents keep their grade.")
@click.option(
    "--format",
    "format",
    type=click.Choice(("trec", "csv")),
    default="trec",
    show_default=True,
    help="Five columns of TREC (query, 0, document, stratum, grade), or CSV with a column `probability`.",
)
@options.seed
@options.output
def command(
    runs: tuple[str, ...],
    duplicates: Duplicates,
    strata: str,
    qrels: str | None,
    format: str,
    seed: int,
    output: str | None,
) -> None:
    """Draw a stratified sample of the documents of RUNs, and write the file to judge.

    The grade of a document that was not drawn is -1, that of a drawn document without a judgment is -2. Once all of
    these are judged, xinfAP, infnDCG, statAP and P@10[sampled] estimate scores from the file.

    \b
    cranfield sample *.run --strata "10:1 100:0.2" -o sample.qrels
    cranfield judge sample.qrels *.run --strategy drawn --page judge.html
    cranfield eval sample.qrels bm25.run -m "xinfAP P@10[sampled]"
    """
    from cranfield import read_qrels
    from cranfield.data import Judgments
    from cranfield.evaluation.evaluator import read_runs
    from cranfield.evaluation.predicted import mapping_of
    from cranfield.lab import judgment_files
    from cranfield.ranking.first_page import ranked_lists

    chosen = judgment_files.parse_strata(strata)
    judgments: Judgments | None = None if qrels is None else read_qrels(qrels)
    lists = ranked_lists(read_runs(list(runs), duplicates=duplicates), None, None, chosen[-1].depth)
    sample = judgment_files.draw_sample(lists, chosen, None if judgments is None else mapping_of(judgments), seed=seed)
    if not sample:
        raise UsageError("the runs have no documents")
    emit(judgment_files.sample_lines(sample) if format == "trec" else judgment_files.sample_rows(sample), output)
    drawn = sum(d.drawn for d in sample)
    left = sum(d.grade == judgment_files.TO_JUDGE for d in sample)
    note([f"{drawn:,} of {len(sample):,} pooled documents drawn; {left:,} of them are to be judged (grade -2)"])
