"""``cranfield simulate``: a test collection of any size, made up, with a known truth."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.progress import progress

COUNT = click.IntRange(min=1)
SHARE = click.FloatRange(0, 1)


def _count(name: str, default: int, help: str) -> options.Decorator:
    return click.option(f"--{name}", type=COUNT, metavar="N", default=default, show_default=True, help=help)


@click.command(short_help="Make up a test collection with a known truth.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@_count("queries", 50, "Queries.")
@_count("systems", 20, "Systems, of evenly spread quality.")
@_count("documents", 5000, "Documents.")
@_count("subtopics", 4, "Subtopics of each query, popular ones first.")
@_count("relevant", 15, "Relevant documents of each query, about.")
@_count("grades", 3, "The highest grade; 1 for relevant or not.")
@_count("depth", 200, "Documents that a system ranks.")
@_count("pool-depth", 20, "What a system has among its first N documents is judged.")
@click.option("--ties", type=SHARE, default=0.0, show_default=True, help="Share of systems with few different scores.")
@click.option("--truncate", type=SHARE, default=0.0, show_default=True, help="Share of systems that stop early.")
@click.option(
    "--noise", type=click.FloatRange(0, 1000), default=1.0, show_default=True, help="How much chance is in scores."
)
@click.option(
    "--spread", type=SHARE, default=1.0, show_default=True, help="How far apart systems are; 0 for all alike."
)
@_count("words", 120, "Words of a document, about.")
@_count("vocabulary", 8000, "Different words there are.")
@options.seed
@click.option("--force", is_flag=True, help="Replace the simulation that DIR holds.")
def command(folder: str, force: bool, **settings: Any) -> None:
    """Make up a test collection: queries with subtopics, documents with texts, systems of known quality.

    Writes into DIR qrels.txt, qrels.diversity.txt, docs.jsonl, queries.jsonl and runs/*.run, as real collections
    have them, and what these do not: qrels.complete.txt, judgments of all that systems could find, and truth.json, how
    good each system is. The same numbers give the same files on every machine.

    \b
    cranfield simulate lab --systems 10 --ties 0.3
    cranfield eval lab/qrels.txt lab/runs/*.run
    """
    from cranfield.simulation import simulate
    from cranfield.simulation.saving import check, save

    check(folder, force=force)
    with progress("simulating") as step:
        made = simulate(**settings, progress=step)
    with progress("writing") as step:
        save(made, folder, force=force, progress=step)
    judged, relevant = len(made.judgments.grade), int((made.judgments.grade > 0).sum())
    click.echo(
        f"{folder}: {settings['queries']:,} queries, {settings['documents']:,} documents, "
        f"{settings['systems']:,} systems, {judged:,} judgments ({relevant:,} relevant)",
        err=True,
    )
