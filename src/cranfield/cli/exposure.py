"""``cranfield exposure``: coverage, concentration and shares of what is shown."""

from __future__ import annotations

from typing import Annotated

from cranfield.cli import options, results
from cranfield.cli.commands import Argument, verb
from cranfield.cli.output import colour, emit, note, width
from cranfield.report.pages import write
from cranfield.settings import Option


class Exposure(options.ReadingRuns, results.Pages):
    """Show what RUNs show: how much of the catalogue, how evenly, and which groups of documents.

    No judgments are needed. A document is shown if it is among the first N; in a tie, with its probability over all
    orders. Without --items, the catalogue is all documents that any RUN shows. The means of attributes, such as price
    or popularity, are the measure DocMean of `cranfield eval` and `compare`.

    \b
    cranfield exposure popular.run neural.run --top 10
    cranfield exposure popular.run neural.run --items items.csv --by genre
    """

    runs: Annotated[tuple[options.File, ...], Argument("RUN...", options.check_files)]
    top: Annotated[options.Count, "How many documents of each list are shown."] = 10
    items: options.ItemsFile = None
    by: Annotated[
        str | None, "Show the share of each group of documents with this attribute.", Option(metavar="ATTRIBUTE")
    ] = None
    baseline: Annotated[
        str | None, "The run from which differences of shares are taken.", Option(metavar="RUN", default="the first")
    ] = None

    def run(self) -> None:
        from cranfield.analysis.exposure import exposure
        from cranfield.report.exposure import notes, pages

        runs, names, _ = options.named_runs(self.runs)
        shown = exposure(
            runs, self.top, self.items, self.by, baseline=self.baseline, names=names, duplicates=self.duplicates
        )
        result = {**shown.to_dict(), "notes": notes(shown)}
        text = write(pages(shown, self.digits), result, self.format, width=width(), colour=colour(self.output))
        emit(results.for_file(text, self.format, self.output), self.output)
        if self.format != "json":
            note(result["notes"])


command = verb(Exposure, "Show coverage, concentration and shares of what is shown.")
