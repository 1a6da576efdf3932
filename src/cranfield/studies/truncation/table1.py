"""``cranfield study table1``: Table 1 of *Quit While Ahead*, computed."""

from __future__ import annotations

import click

from cranfield.cli import options, results
from cranfield.measures import parse
from cranfield.ranking.rankings import from_ranking
from cranfield.ranking.views import Gains, terminate
from cranfield.report.pages import WRITERS, Page, sheet
from cranfield.report.sheet import Cell, shown

# The rankings and R of Table 1 of Liu et al.; everything else is computed.
RANKINGS = (
    ("00", 0),
    ("000", 0),
    ("111", 3),
    ("11", 3),
    ("11100", 3),
    ("101", 3),
    ("1", 3),
    ("10100", 3),
    ("011", 3),
    ("01001", 3),
)
MEASURES = {"RR'": "RR", "RBP'": "RBP(p=0.5)", "NDCG'": "nDCG", "AP'": "AP"}


def table1(digits: int = 3) -> Page:
    """Table 1 of *Quit While Ahead*: ten rankings, the gain of their terminal documents, and four scores."""
    measures = {head: parse(f"{name}[terminal]") for head, name in MEASURES.items()}
    rows = []
    for ranking, relevant in RANKINGS:
        grades = [int(digit) for digit in ranking]
        rankings = from_ranking(grades, missed=[1] * (relevant - sum(grades)))
        terminal = terminate(rankings.batch(Gains("binary"), None)).tail[0]
        values = [terminal, *(m.values(rankings).value[0] for m in measures.values())]
        rows.append(((f"“{ranking}”", f"R = {relevant}"), [Cell(shown(float(value), digits)) for value in values]))
    return Page(
        "Scores of truncated rankings with a terminal document, p = 0.5 (Liu et al., SIGIR 2016, Table 1)",
        sheet(("Ranking", "R"), ("r_t", *measures), rows),
    )


@click.command(short_help="Compute Table 1 of Quit While Ahead.")
@click.option(
    "--digits",
    type=click.IntRange(0, 17),
    metavar="N",
    default=3,
    show_default=True,
    help="Number of decimals; the paper prints three.",
)
@options.formats(("table", *WRITERS), "")
@options.output
def command(digits: int, format: str, output: str | None) -> None:
    """Compute Table 1 of Liu et al., "Quit While Ahead: Evaluating Truncated Rankings" (SIGIR 2016).

    Ten rankings with the gain of their terminal document and four scores; all fifty numbers match the paper.
    """
    results.deliver([table1(digits)], {}, None, format=format, output=output, figures=None)
