"""``cranfield report``: an HTML report in one file."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from cranfield.cli import options, results
from cranfield.cli.commands import Option, OutputFile, groups_of, verb
from cranfield.cli.compare import Testing
from cranfield.cli.output import emit, note, progress, say_written
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.evaluation.plan import Column

REPORT = "report.html"


class Report(
    options.Measures,
    options.Quiet,
    results.Drawing,
    Testing,
    options.Evaluating,
    options.Predictions,
):
    """Write an HTML report on RUNs: scores, significance, per-query differences, rankings, curves and an audit.

    The report is one file that needs no network, so it can be sent and archived. It ends with the commands that
    reproduce its numbers. If QRELS has judgments by subtopic, the default is a set of diversity measures.

    \b
    cranfield report qrels.txt *.run -o report.html --title "Museum search"
    cranfield report qrels.txt bm25.run dense.run -m "nDCG@10 RR" \\
      --texts documents.jsonl
    """

    DEFAULT = ("AP", "nDCG@10", "RR", "P@10")  # quick to audit: bounds over the whole ranking take long

    output: Annotated[
        str | None, OutputFile(dir_okay=False), "Write the report to this file.", Option("-o --output", default=REPORT)
    ] = None
    title: Annotated[str, "Title of the report.", Option(metavar="TEXT")] = "Evaluation"
    top_documents: Annotated[int, click.IntRange(1, 1000), "How many top documents of each ranking to include."] = 20
    texts: Annotated[
        tuple[options.File, ...],
        "Include document text from this collection (any input of `cranfield corpus`); may be repeated.",
        Option(metavar="SOURCE"),
    ] = ()

    def run(self) -> None:
        from cranfield.report.html import contents, html, require

        require()
        if self.judgments != "grades":
            raise UsageError(
                f"a report needs judgments by grade, not {self.judgments}",
                hint="eval, compare, audit and queries take them",
            )
        output = self.output or REPORT
        if self.output is None and not _is_report(Path(output)):
            raise UsageError(
                f"{output}: the file exists and is not a Cranfield report",
                hint="give another name, or this one, with -o FILE",
            )
        evaluation, notes = self.read(self.measures, page=self.top_documents)
        best = [self.runs[r] for r in evaluation.scores.order()[:2]]
        with progress("Building the report") as step:
            data = contents(
                evaluation,
                texts=self.texts,
                query_texts=evaluation.scores.texts,
                comparing=self.testing,
                commands=self.commands(best, evaluation.columns),
                predicted=self.predicted_means(evaluation),
                progress=step,
            )
        if self.texts and not data["texts"]:
            note([f"{', '.join(self.texts)}: no text for any of the shown documents"])
        data["notes"] = [*notes, *data["notes"]]
        data["files"] = shlex.join([self.qrels, *self.runs])
        text = html(data, self.title)
        emit(text, output)
        say_written(f"{output} written ({len(text) / 1e6:.1f} MB)")
        if self.figures is not None:
            from cranfield.report import overview

            results.save_figures(lambda folder: overview.figures(data, folder), self.figures)

    def commands(self, best: Sequence[str], columns: Sequence[Column]) -> list[str]:
        """The commands that reproduce the numbers of a report, part by part; ``best``: the two best runs."""
        from cranfield.report.html import POINTS

        files = [self.qrels, *self.runs]
        facts = (*groups_of(options.CollectionFacts), "queries", "undefined", "seed")
        others = [fact for fact in facts if fact not in ("corpus", "full_length")]
        labels = " ".join(column.label for column in columns)  # labels name the views
        own = self.typed("measures_file")
        measuring = ["-m", labels, *own, *self.typed(*facts)]
        predicted = self.typed(*groups_of(options.Predictions))
        lines = [
            ["eval", *files, *measuring, *predicted, "--interval", "bca"],
            ["eval", *files, *measuring, "--per-query"],
        ]
        if len(self.runs) > 1:
            lines += [["compare", *files, *measuring, *self.typed(*groups_of(Testing)), "--all-pairs"]]
            lines += [["queries", self.qrels, *best, "-m", columns[0].label, *measuring[2:]]]
            if not self.typed(*others):
                correlating = ["--coefficient", "tau-b", *self.typed("corpus")]
                lines += [["study", "correlation", *files, "-m", labels, *own, *correlating]]
        lines += [["eval", *files, "-m", " ".join(POINTS), *self.typed("ties", "depth", "condensed", *others)]]
        lines += [["audit", *files, *measuring, "--interval", "bca", "--all-pairs"]]
        return [f"cranfield {shlex.join([*line, *self.typed('duplicates')])}" for line in lines]


command = verb(Report, "Write an HTML report.")


def _is_report(path: Path) -> bool:
    """Whether a file is an earlier report, which a new one may replace, or does not exist."""
    if not path.exists():
        return True
    with path.open("rb") as file:
        return b'<meta name="generator" content="Cranfield' in file.read(2000)
