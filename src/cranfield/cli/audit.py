"""``cranfield audit``: how ties, unjudged documents and short lists affect scores."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import click

from cranfield.analysis.audit import DEFAULT_MEASURES
from cranfield.cli import options, results
from cranfield.cli.commands import verb
from cranfield.cli.output import colour, emit, note, progress, run_notes, width
from cranfield.report.audit import FORMATS


class Audit(options.Measures, options.Evaluating, options.Predictions, results.Results, options.Verbose):
    """Show how ties, unjudged documents, short lists and the choice of queries affect scores.

    Prints the pairs of runs that could swap, and why; then a table for each RUN. Of more than five runs, it shows those
    that matter; -v shows all.

    \b
    cranfield audit qrels.txt bm25.run dense.run -m "AP nDCG@10"
    cranfield audit qrels.txt *.run --figures figures
    """

    DEFAULT = DEFAULT_MEASURES

    interval: Annotated[
        Literal["t", "bca"], "95% confidence intervals of the means: Student's t or bootstrap (bca)."
    ] = "t"
    all_pairs: Annotated[bool, "Name every pair of runs that could swap, not only a few."] = False
    format: Annotated[str, click.Choice(FORMATS), "Output format. json has full precision and all pairs."] = "table"

    def run(self) -> None:
        from cranfield.analysis.audit import audit_evaluation
        from cranfield.report import audit as report
        from cranfield.report import predicted as prediction

        evaluation, notes = self.read(self.measures)
        with progress("Auditing runs") as step:
            audit = audit_evaluation(evaluation, interval=self.interval, progress=step)
        predicted = self.predicted_means(evaluation)
        text = report.write(
            audit,
            self.format,
            all_pairs=self.all_pairs,
            all_runs=self.verbose,
            digits=self.digits,
            width=width(),
            colour=colour(self.output),
            predicted=predicted,
        )
        emit(text, self.output)
        results.save_figures(partial(report.figures, audit), self.figures)
        if self.format != "json":
            note([*notes, *run_notes(audit.notes, verbose=self.verbose), *prediction.notes(predicted)])


command = verb(Audit, "Show how ties, unjudged documents and short lists affect scores.")
