"""``cranfield report``: one HTML file to send to a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.compare import testing
from cranfield.cli.output import replace
from cranfield.cli.progress import progress
from cranfield.cli.studies import results

TESTING = ("test", "tests", "correction", "family", "alpha", "samples")


@click.command(short_help="Write a report: one HTML file with everything in it.")
@options.inputs
@options.measures
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
@click.option(
    "--figures",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Draw means and curves into this folder too, as PDF, SVG and PNG.",
)
@testing
@options.views
@options.policies
@options.seed
@click.pass_context
def command(
    ctx: click.Context,
    /,
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str],
    output: str,
    title: str,
    page: int,
    texts: tuple[str, ...],
    figures: str | None,
    seed: int,
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
    told = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value not in (None, False)]
    # Where a choice is the usual one, the commands are easier to read without it.
    usual = {f"--{p.name.replace('_', '-')}={p.default}" for p in ctx.command.params if p.name}
    shown = [qrels, *runs, "-m", " ".join(measures), *(one.removesuffix("=True") for one in told if one not in usual)]
    with progress("reporting") as step:
        data = contents(
            list(runs),
            qrels,
            measures,
            page=page,
            texts=texts,
            seed=seed,
            comparing=comparing,
            options=shown,
            progress=step,
            **given,
        )
    text = html(data, title)
    replace(Path(output), text.encode("utf-8", "surrogateescape"))
    click.echo(f"{output}: {len(text) / 1e6:.1f} MB", err=True)
    if figures is not None:
        from cranfield.report.figures import overview

        click.echo(f"{len(overview.figures(data, figures))} files in {figures}", err=True)
