"""``cranfield report``: one HTML file to send to a colleague."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cranfield.cli import options, results
from cranfield.cli.compare import TESTING, testing
from cranfield.cli.evaluating import read_evaluation
from cranfield.cli.output import emit
from cranfield.cli.progress import progress

if TYPE_CHECKING:
    from cranfield.evaluation.columns import Column

# Of the usual measures those of which an audit is quick: bounds of the whole ranking take their time.
MEASURES = ("AP", "nDCG@10", "RR", "P@10")


@click.command(short_help="Write a report: one HTML file with everything in it.")
@options.inputs
@options.measuring(f"{' '.join(MEASURES)}, or such as fit the judgments")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), default="report.html", show_default=True, help="Where to write."
)
@click.option("--title", default="Evaluation", show_default=True, help="The heading.")
@click.option(
    "--page",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="How many documents of each ranking can be looked at.",
)
@click.option(
    "--texts",
    multiple=True,
    type=options.FILE,
    metavar="SOURCE",
    help="Show the texts of documents from here, which is what `cranfield corpus` reads; may be repeated.",
)
@options.figures("Draw means and curves into this folder too, as PDF, SVG and PNG.")
@testing
@options.views
@options.corpus
@options.policies
@options.intents
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
    figures: str | None,
    **given: Any,
) -> None:
    """Write a report on RUNs: scores, significance, query by query down to both rankings, curves, and an audit.

    The file needs no network and nothing else: it can be sent, kept and printed. Its last part has the commands that
    give every number again.

    \b
    cranfield report qrels.txt *.run -o report.html --title "Museum search, November"
    cranfield report qrels.txt bm25.run dense.run -m "nDCG@10 RR" --texts documents.jsonl
    """
    from cranfield.report.html.contents import contents
    from cranfield.report.html.page import html, require

    require()
    results.drawable(figures)
    comparing = {name: given.pop(name) for name in TESTING}
    evaluation, said = read_evaluation(qrels, runs, measures, usual=MEASURES, page=page, **given)
    with progress("reporting") as step:
        data = contents(
            evaluation,
            texts=texts,
            comparing=comparing,
            commands=commands(ctx, [qrels, *runs], evaluation.columns),
            progress=step,
        )
    data["notes"] = [*said, *data["notes"]]
    text = html(data, title)
    emit(text, output)
    click.echo(f"{output}: {len(text) / 1e6:.1f} MB", err=True)
    if figures is not None:
        from cranfield.report.figures import overview

        click.echo(f"{len(overview.figures(data, figures))} files in {figures}", err=True)


def commands(ctx: click.Context, files: Sequence[str], columns: Sequence[Column]) -> list[str]:
    """What reproduces the numbers of a report, part by part."""
    from cranfield.report.html.contents import POINTS

    def typed(*names: str) -> list[str]:
        """Those of the options that were given another value than the usual one, as somebody would type them."""
        words = []
        for param in ctx.command.params:
            value = ctx.params.get(param.name or "")
            if param.name not in names or value == param.get_default(ctx) or not value:
                continue
            for one in value if param.multiple else [value]:
                words += [max(param.opts, key=len), *([] if value is True else [str(one)])]
        return words

    policies = "queries", "undefined", "negative", "intents", "seed", "nil"
    labels = " ".join(column.label for column in columns)  # which say what views there are
    asked = ["-m", labels, *typed("corpus", "full_length", *policies)]
    lines = [["eval", *files, *asked, "--interval", "bca"], ["eval", *files, *asked, "--per-query"]]
    if len(files) > 2:
        lines += [["compare", *files, *asked, *typed(*TESTING), "--all-pairs"]]
        lines += [["queries", *files[:3], "-m", columns[0].label, *asked[2:]]]
        if not typed(*policies):
            lines += [["study", "correlation", *files, "-m", labels, "--coefficient", "tau-b", *typed("corpus")]]
    lines += [["eval", *files, "-m", " ".join(POINTS), *typed("ties", "depth", "condensed", *policies)]]
    lines += [["audit", *files, *asked, "--interval", "bca", "--all-pairs"]]
    return [f"cranfield {shlex.join(line)}" for line in lines]
