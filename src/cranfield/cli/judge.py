"""``cranfield judge``: which documents to judge next, a page to judge them on, and merging new judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cranfield.cli import options
from cranfield.cli.commands import Verb
from cranfield.cli.output import colour, emit, note, replace, say, width
from cranfield.data import Run
from cranfield.errors import UsageError
from cranfield.io.ids import Duplicates
from cranfield.report.pages import FORMATS

if TYPE_CHECKING:
    from cranfield.lab.proposals import NextDocuments

DEFAULT_MEASURE = "P@10"
DEFAULT_NEXT = 50


@click.command(cls=Verb, short_help="Choose documents to judge next, judge them on a page, and merge judgments.")
@click.argument("qrels", type=options.FILE)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=options.FILE)
@options.duplicates
@click.option(
    "-m",
    "--measure",
    type=options.MeasureName(),
    default=DEFAULT_MEASURE,
    show_default=True,
    help="The measure by which runs are compared: AP, or one that is linear in the gains.",
)
@options.measures_file
@click.option(
    "--next",
    "n",
    type=click.IntRange(min=1),
    metavar="N",
    default=DEFAULT_NEXT,
    show_default=True,
    help="Number of documents.",
)
@click.option(
    "--strategy",
    type=click.Choice(("mtc", "depth", "mtf", "maxmean", "hedge", "drawn")),
    default="mtc",
    show_default=True,
    help="Which documents come first: those that settle most pairs of runs (mtc), the best ranks (depth), "
    "move-to-front (mtf), a bandit (maxmean), weighted votes of runs (hedge), or the documents of `cranfield sample` "
    "that are to be judged (drawn).",
)
@click.option(
    "--confidence",
    type=options.CHANCE,
    metavar="P",
    default=0.95,
    show_default=True,
    help="A pair of runs needs no more judgments if its sign is this sure.",
)
@click.option(
    "--from-llm",
    "predicted",
    type=options.FILE,
    metavar="FILE",
    help="Predicted judgments: how likely documents are relevant, and suggestions on the page.",
)
@click.option(
    "--pool-depth",
    "depth",
    type=click.IntRange(min=1),
    metavar="N",
    default=100,
    show_default=True,
    help="Last rank of each run that counts.",
)
@click.option("--ties", type=click.Choice(("trec", "trec9", "input", "rank")), help="How to order equal scores.")
@click.option("--page", type=click.Path(dir_okay=False), metavar="FILE", help="Write a page on which to judge them.")
@click.option("--texts", type=click.Path(), metavar="FILE", help="With --page: the texts of documents.")
@options.queries_file
@click.option("--grades", metavar="LIST", default="0 1 2 3", show_default=True, help="With --page: the grades.")
@click.option(
    "--merge",
    "merged",
    multiple=True,
    type=options.FILE,
    metavar="FILE",
    help="Add these new judgments to QRELS and write all of them to --output; may be repeated.",
)
@options.digits
@options.formats(FORMATS, "json has all pairs.")
@options.output
def command(
    qrels: str,
    runs: tuple[str, ...],
    duplicates: Duplicates,
    measure: str,
    page: str | None,
    texts: str | None,
    queries_file: str | None,
    grades: str,
    merged: tuple[str, ...],
    digits: int,
    format: str,
    output: str | None,
    **settings: Any,
) -> None:
    """List the unjudged documents of RUNs whose judgments settle most, and how far pairs of runs are settled.

    --page writes a page on which to judge these documents, without a network. Its file of judgments is added with
    --merge, which refuses conflicts and shows how the leaderboard changes.

    \b
    cranfield judge qrels.txt *.run -m P@10 --next 50
    cranfield judge qrels.txt *.run --page judge.html --texts docs.jsonl
    cranfield judge qrels.txt *.run --merge judgments.json -o merged.csv
    """
    from cranfield.evaluation.evaluator import read_runs

    given = read_runs(list(runs), duplicates=duplicates)
    if merged:
        _merge(qrels, given, measure, merged, digits, format, output)
        return
    from cranfield.lab.proposals import next_documents
    from cranfield.report.pages import write

    if page is None and (texts or queries_file):
        raise UsageError(f"{'--texts' if texts else '--queries-file'} needs --page")
    found = next_documents(qrels, given, measure, **settings)
    text = write(found.pages(digits), found.to_dict(), format, width=width(), colour=colour(output))
    emit(text, output)
    note(found.notes)
    if page is not None:
        _page(found, page, qrels, texts, queries_file, grades, settings["predicted"])


def _page(
    found: NextDocuments,
    path: str,
    qrels: str,
    texts: str | None,
    queries_file: str | None,
    grades: str,
    predicted: str | None,
) -> None:
    from cranfield.lab.judgment_files import judging_page

    html = judging_page(
        found.documents,
        name=qrels,
        texts=texts,
        queries_file=queries_file,
        grades=grades.split(),
        suggestions=predicted,
    )
    replace(path, html.encode("utf-8", "surrogateescape"))
    say(f"{path}: {len(found.documents)} documents to judge")


def _merge(
    qrels: str,
    runs: list[Run],
    measure: str,
    files: tuple[str, ...],
    digits: int,
    format: str,
    output: str | None,
) -> None:
    """Merge judgments, write them, and show what changed."""
    from cranfield import evaluate
    from cranfield.lab.judgment_files import changes, merge, merged_note
    from cranfield.report.pages import write

    if output is None:
        raise UsageError(
            "--merge needs --output: the file for all judgments", hint="for example: --merge new.json -o merged.csv"
        )
    result = merge(qrels, files)
    before = evaluate(qrels, list(runs), measure)
    after = evaluate(result.grades, list(runs), measure)
    text = result.rows() if output.lower().endswith(".csv") else result.lines()
    replace(output, text.encode("utf-8", "surrogateescape"))
    pages, data = changes(before, after, digits)
    emit(write(pages, data, format, width=width(), colour=colour(None)))
    note([merged_note(len(result.new), result.repeated, output)])
