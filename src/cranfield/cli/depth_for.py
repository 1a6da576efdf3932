"""``cranfield depth-for``: how deep rankings must be judged for a small residual."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.commands import Verb
from cranfield.cli.output import colour, emit, width
from cranfield.errors import UsageError
from cranfield.io.ids import Duplicates
from cranfield.report.pages import FORMATS, Page, sheet, write
from cranfield.report.sheet import Cell
from cranfield.wording import plural

COUNT = click.IntRange(min=1)


@click.command(cls=Verb, short_help="Show how deep rankings must be judged for a small residual.")
@click.argument("measures", metavar="MEASURE...", nargs=-1, required=True, type=options.MeasureName())
@click.option(
    "--residual",
    "residuals",
    type=options.CHANCE,
    metavar="X",
    multiple=True,
    default=(0.1, 0.01, 0.001),
    show_default=True,
    help="Accepted residual: how much unjudged documents could add to the score. May be repeated.",
)
@click.option("--queries", type=COUNT, metavar="N", help="Number of queries.  [default: 50, or those of --run]")
@click.option("--runs", type=COUNT, metavar="N", help="Number of runs to judge.  [default: 1, or those of --run]")
@click.option(
    "--run",
    "files",
    type=options.FILE,
    metavar="RUN",
    multiple=True,
    help="Count the documents of this run that must be judged; may be repeated.",
)
@options.duplicates
@click.option("--qrels", type=options.FILE, metavar="FILE", help="With --run: existing judgments.")
@options.formats(FORMATS, "")
@options.output
def command(
    measures: tuple[str, ...],
    residuals: tuple[float, ...],
    queries: int | None,
    runs: int | None,
    files: tuple[str, ...],
    duplicates: Duplicates,
    qrels: str | None,
    format: str,
    output: str | None,
) -> None:
    """Show how deep rankings must be judged so that the residual of each MEASURE is at most --residual.

    The number of judgments is at most depth x queries x runs. With --run, the distinct documents above this depth are
    counted; with --qrels, also how many of them are judged already.

    \b
    cranfield depth-for RBP "RBP(p=0.95)" InvSq --residual 0.01
    cranfield depth-for RBP --residual 0.01 --run bm25.run --qrels qrels.txt
    """
    from cranfield.analysis.judging_depth import depths_for, judged_of, pooled_documents

    if files and (queries or runs):
        raise UsageError("--run cannot be combined with --queries or --runs")
    if qrels and not files:
        raise UsageError("--qrels needs --run")
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for measure, depths in depths_for(options.measure_names(measures), residuals).items():
        found[measure] = {}
        for residual, depth in depths.items():
            entry: dict[str, Any] = {"depth": depth, "judgments": None}
            if depth is not None and files:
                pools = pooled_documents(list(files), depth, duplicates)
                pooled = sum(map(len, pools.values()))
                judged = judged_of(pools, qrels) if qrels else 0
                entry |= {"pooled": pooled, "judged": judged, "judgments": pooled - judged}
            elif depth is not None:
                entry["judgments"] = depth * (queries or 50) * (runs or 1)
            found[measure][f"{residual:g}"] = entry
    most = f"at most, {plural(queries or 50, 'query')}, {plural(runs or 1, 'run')}"
    scope = plural(len(files), "run") if files else most
    settings = {"queries": queries or (None if files else 50), "runs": runs or (len(files) or 1)}
    page = Page(f"Depth of judging for a residual, and judgments ({scope})", _sheet(found))
    result = {"settings": settings, "measures": found}
    emit(write([page], result, format, width=width(), colour=colour(output)), output)


def _sheet(found: dict[str, dict[str, dict[str, Any]]]) -> Any:
    rows = []
    for measure, entries in found.items():
        for residual, entry in entries.items():
            numbers = [entry["depth"], entry["judgments"]]
            if "pooled" in entry:
                numbers[1:] = [entry["pooled"], entry["judged"], entry["judgments"]]
            rows.append(((measure, residual), [Cell("–" if n is None else f"{n:,}") for n in numbers]))
    wide = max(len(cells) for _, cells in rows)
    rows = [(names, cells + [Cell("–")] * (wide - len(cells))) for names, cells in rows]
    heads = ("depth", "judgments") if wide == 2 else ("depth", "pooled", "judged", "to judge")
    return sheet(("measure", "residual"), heads, rows)
