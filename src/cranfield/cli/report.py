"""``cranfield report``: an HTML report in one file."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cranfield.cli import options, results
from cranfield.cli.commands import Verb
from cranfield.cli.compare import TESTING, testing
from cranfield.cli.evaluating import read_evaluation
from cranfield.cli.output import emit, note, say_written
from cranfield.cli.progress import progress
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.evaluation.columns import Column

# The default measures that are quick to audit: bounds over the whole ranking take long.
MEASURES = ("AP", "nDCG@10", "RR", "P@10")


@click.command(cls=Verb, short_help="Write an HTML report.")
@options.inputs
@options.measuring(f"{' '.join(MEASURES)}, or diversity measures")
@click.option(
    "-o",
    "--output",
    type=options.OutputFile(dir_okay=False),
    default="report.html",
    show_default=True,
    help="Write the report to this file.",
)
@options.quiet
@options.refusing_inputs
@click.option("--title", metavar="TEXT", default="Evaluation", show_default=True, help="Title of the report.")
@click.option(
    "--page",
    type=click.IntRange(1, 1000),
    metavar="N",
    default=20,
    show_default=True,
    help="How many top documents of each ranking to include.",
)
@click.option(
    "--texts",
    multiple=True,
    type=options.FILE,
    metavar="SOURCE",
    help="Include document text from this collection (any input of `cranfield corpus`); may be repeated.",
)
@options.queries_file
@options.figures("Also draw means and curves into this folder, as PDF, SVG and PNG.")
@testing
@options.views
@options.corpus
@options.policies
@options.intents
@options.costs
@options.seed
@click.pass_context
def command(
    ctx: click.Context,
    /,
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    output: str,
    title: str,
    page: int,
    texts: tuple[str, ...],
    queries_file: str | None,
    figures: str | None,
    **given: Any,
) -> None:
    """Write an HTML report on RUNs: scores, significance, per-query differences, rankings, curves and an audit.

    The report is one file that needs no network, so it can be sent and archived. It ends with the commands that
    reproduce its numbers.

    \b
    cranfield report qrels.txt *.run -o report.html --title "Museum search"
    cranfield report qrels.txt bm25.run dense.run -m "nDCG@10 RR" \\
      --texts documents.jsonl
    """
    from cranfield.report.html import html, require
    from cranfield.report.html.contents import contents

    require()
    results.drawable(figures)
    if ctx.get_parameter_source("output") is ParameterSource.DEFAULT and not _is_report(Path(output)):
        raise UsageError(
            f"{output}: the file exists and is no report", hint="give another name, or this one, with -o FILE"
        )
    comparing = {name: given.pop(name) for name in TESTING}
    evaluation, notes = read_evaluation(qrels, runs, measures, default=MEASURES, page=page, **given)
    query_texts = {}
    if queries_file is not None:
        from cranfield.io.collection import read_query_texts

        query_texts = read_query_texts(queries_file, evaluation.queries)
    with progress("Building the report") as step:
        data = contents(
            evaluation,
            texts=texts,
            query_texts=query_texts,
            comparing=comparing,
            commands=commands(
                ctx, [qrels, *runs], [runs[r] for r in evaluation.scores.order()[:2]], evaluation.columns
            ),
            progress=step,
        )
    if texts and not data["texts"]:
        note([f"{', '.join(texts)}: no text for any of the shown documents"])
    data["notes"] = [*notes, *data["notes"]]
    data["files"] = shlex.join([qrels, *runs])
    text = html(data, title)
    emit(text, output)
    say_written(f"{output} written ({len(text) / 1e6:.1f} MB)")
    if figures is not None:
        from cranfield.report.figures import overview

        say_written(f"{len(overview.figures(data, figures))} files written to {figures}")


def _is_report(path: Path) -> bool:
    """Whether a file is an earlier report, which a new one may replace, or does not exist."""
    if not path.exists():
        return True
    with path.open("rb") as file:
        return b'<meta name="generator" content="Cranfield' in file.read(2000)


def commands(ctx: click.Context, files: Sequence[str], best: Sequence[str], columns: Sequence[Column]) -> list[str]:
    """The commands that reproduce the numbers of a report, part by part; ``best``: the two best runs."""
    from cranfield.report.html.contents import POINTS

    def typed(*names: str) -> list[str]:
        """Those of the options whose value is not the default, as typed."""
        words = []
        for param in ctx.command.params:
            value = ctx.params.get(param.name or "")
            if param.name not in names or value == param.get_default(ctx) or not value:
                continue
            for item in value if param.multiple else [value]:
                words += [max(param.opts, key=len), *([] if value is True else [str(item)])]
        return words

    policies = "queries", "undefined", "negative", "intents", "costs", "seed", "nil"
    labels = " ".join(column.label for column in columns)  # labels name the views
    own = [word for path in ctx.meta.get(options.MEASURES_FILES, ()) for word in ("--measures-file", path)]
    measuring = ["-m", labels, *own, *typed("corpus", "full_length", *policies)]
    lines = [["eval", *files, *measuring, "--interval", "bca"], ["eval", *files, *measuring, "--per-query"]]
    if len(files) > 2:
        lines += [["compare", *files, *measuring, *typed(*TESTING), "--all-pairs"]]
        lines += [["queries", files[0], *best, "-m", columns[0].label, *measuring[2:]]]
        if not typed(*policies):
            lines += [["study", "correlation", *files, "-m", labels, *own, "--coefficient", "tau-b", *typed("corpus")]]
    lines += [["eval", *files, "-m", " ".join(POINTS), *typed("ties", "depth", "condensed", *policies)]]
    lines += [["audit", *files, *measuring, "--interval", "bca", "--all-pairs"]]
    return [f"cranfield {shlex.join([*line, *typed('duplicates')])}" for line in lines]
