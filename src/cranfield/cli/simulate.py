"""``cranfield simulate``: a simulated test collection with known ground truth."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.output import say
from cranfield.cli.progress import progress

COUNT = click.IntRange(min=1)
SHARE = click.FloatRange(0, 1)


def _count(name: str, default: int, help: str) -> options.Decorator:
    return click.option(f"--{name}", type=COUNT, metavar="N", default=default, show_default=True, help=help)


def _amount(name: str, range: click.FloatRange, default: float, help: str) -> options.Decorator:
    return click.option(f"--{name}", type=range, metavar="X", default=default, show_default=True, help=help)


@click.command(short_help="Simulate a test collection with known ground truth.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@_count("queries", 50, "Number of queries.")
@_count("systems", 20, "Number of systems, of evenly spread quality.")
@_count("documents", 5000, "Number of documents.")
@_count("subtopics", 4, "Subtopics per query, the most popular first.")
@_count("relevant", 15, "Approximate number of relevant documents per query.")
@_count("grades", 3, "Highest grade; 1 for binary judgments.")
@_count("depth", 200, "Documents per ranking.")
@_count("pool-depth", 20, "Pool depth: the first N documents of every system are judged.")
@_amount("ties", SHARE, 0.0, "Share of systems with many tied scores.")
@_amount("truncate", SHARE, 0.0, "Share of systems with short rankings.")
@_amount("nil", SHARE, 0.0, "Share of queries without relevant documents; short rankings may then be empty.")
@_amount(
    "nil-answers", SHARE, 0.0, "Share of each system's rankings that end in NIL: those with the lowest best score."
)
@_amount("noise", click.FloatRange(0, 1000), 1.0, "Amount of noise in scores.")
@_amount("spread", SHARE, 1.0, "Range of system quality; 0 for equal systems.")
@_count("words", 120, "Approximate number of words per document.")
@_count("vocabulary", 8000, "Number of distinct words.")
@options.seed
@click.option("--force", is_flag=True, help="Replace an existing simulation in DIR.")
def command(folder: str, force: bool, **settings: Any) -> None:
    """Simulate a test collection: queries with subtopics, documents with texts, systems of known quality.

    Writes qrels.txt, qrels.diversity.txt, docs.jsonl, queries.jsonl and runs/*.run into DIR. In addition,
    qrels.complete.txt holds judgments of all documents that systems can retrieve, and truth.json the quality of each
    system. The same settings give the same files on every machine.

    \b
    cranfield simulate lab --systems 10 --ties 0.3
    cranfield eval lab/qrels.txt lab/runs/*.run
    """
    from cranfield.lab.simulation import simulate
    from cranfield.lab.simulation_files import check, save

    check(folder, force=force)
    with progress("Simulating queries") as step:
        simulation = simulate(**settings, progress=step)
    with progress("Writing runs") as step:
        save(simulation, folder, force=force, progress=step)
    judged, relevant = len(simulation.judgments.grade), int((simulation.judgments.grade > 0).sum())
    say(
        f"{folder}: {settings['queries']:,} queries, {settings['documents']:,} documents, "
        f"{settings['systems']:,} systems, {judged:,} judgments ({relevant:,} relevant)"
    )
