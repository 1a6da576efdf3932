"""``cranfield eval``: scores of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from cranfield.analysis.gates import LIMITS, Verdict, verdict
from cranfield.cli import gate, options
from cranfield.cli.commands import RARE, Option, verb
from cranfield.cli.output import colour, digests_for, emit, for_file, note, run_notes, width, with_groups
from cranfield.errors import UsageError
from cranfield.evaluation.plan import Shown

if TYPE_CHECKING:
    from cranfield.evaluation.scores import Interval, ScoreTable

INTERVALS = {
    "bca": "95% confidence intervals of the means: BCa bootstrap over queries, 9,999 resamples, seed {seed}",
    "t": "95% confidence intervals of the means: Student's t",
}


class ShownScores(options.Measures, gate.LimitOptions, options.Writing, options.Verbose):
    """Which scores are shown, in which order, and what is checked of them."""

    GROUP = ""

    show: Annotated[
        tuple[Shown, ...],
        "Also show bounds: the lowest and highest scores that judging the unjudged documents could give (of graded "
        "measures, those with unjudged documents at grade 0 or at the top grade); residuals: how much higher scores "
        "would be if all unjudged documents were relevant; or the standard-errors of estimates from a sample of "
        "judgments. May be repeated.",
        RARE,
    ] = ()
    order: Annotated[
        str | None,
        "Order of the runs: by a measure, by `name`, or as in the `input`.",
        Option(metavar="MEASURE", default="the first measure; in json, csv and trec, the input"),
    ] = None
    top: Annotated[options.Count | None, "Show only the N best runs, by the measure of --order."] = None

    def check_limits(self) -> None:
        """Raise if a file of checks is to be written, and there are none."""
        if self.junit and not self.limited:
            raise UsageError("--junit needs --at-least", hint="for example: --at-least nDCG@10=0.70")

    @property
    def limited(self) -> list[str]:
        """The measures with a limit."""
        return gate.measures_of(self, LIMITS)

    def present(
        self,
        table: ScoreTable,
        chosen: options.Chosen,
        interval: Interval | None = None,
        group_by: Sequence[str] | None = None,
        **how: Any,
    ) -> None:
        """Write the scores and notes, and exit with the code of the checks."""
        from cranfield import Scores, report

        checked, notes = self._verdict(table, chosen.label_of), list(chosen.notes)
        by_input = self.top is None and self.format in ("json", "csv", "trec")
        in_order = table.order(self.order or ("input" if by_input else None))
        by = None if self.order in ("name", "input") else self.order
        best = table.best(self.top, by)
        if len(best) < len(table.runs):
            measure = table.measures[0] if by is None else table[by].measure
            notes.append(f"{len(best)} of {len(table.runs)} runs are shown, those with the highest {measure} (--top)")
        table = table.only(runs=[run for run in in_order if run in best])
        layout: dict[str, Any] = {"width": width(), "colour": colour(self.output)}
        text = report.write(table, self.format, digits=self.digits, interval=interval, **how, **layout)
        if self.format == "markdown" and checked is not None:
            from cranfield.report.gates import markdown

            text = f"{markdown(checked)}{text}"
        if means := getattr(table, "predicted", ()):
            from cranfield.report.scores import predicted_notes, predicted_text

            text += predicted_text(means, self.format, self.digits, **layout)
            notes += predicted_notes(means)
        if group_by is not None:
            assert isinstance(table, Scores)
            text = with_groups(text, table.by(group_by), self.format, self.digits, **layout)
        emit(for_file(text, self.format, self.output), self.output)
        note(notes)
        if self.format != "json":
            note(run_notes(table.notes, verbose=self.verbose))
            note([INTERVALS[interval].format(**how)] if interval else [])
        gate.conclude(checked, self.junit, click.get_current_context().command_path)

    def _verdict(self, table: ScoreTable, label_of: Mapping[str, str]) -> Verdict | None:
        if not self.limited:
            return None
        return verdict(gate.gates_of(self, LIMITS, label_of), table)


class EvalVerb(ShownScores, options.Evaluating, options.Standardising, options.Averaging):
    """Score RUNs against the judgments in QRELS.

    Files may be TREC text, JSON, CSV or Parquet, compressed or not; `-` is standard input, and QRELS may be a
    collection file (FILE.toml). `cranfield measures` lists all measures. Checks such as
    --at-least nDCG@10=0.70 may be repeated; exit codes: 0 passed, 3 failed, 4 not decided.

    \b
    cranfield eval qrels.txt bm25.run dense.run -m "AP nDCG@10 RBP(p=0.8)"
    cranfield eval qrels.txt llm.run -m nDCG@10 --ties expected -q
    cranfield eval qrels.txt *.run -m "AP nDCG@10" --order nDCG@10 --top 10
    """

    per_query: Annotated[bool, "Show the scores of every query, then the means.", Option("-q --per-query")] = False
    interval: Annotated[
        Literal["bca", "t", "none"], "95% confidence intervals of the means: bootstrap (bca) or Student's t."
    ] = "none"

    def run(self) -> None:
        from cranfield import report

        interval: Interval | None = None if self.interval == "none" else self.interval
        report.accept(self.format, interval)
        self.check_limits()
        if self.limited and self.standardise is not None:
            raise UsageError("--standardise does not work with --at-least")
        chosen = self.choose(self.measures, self.limited, self.show)
        with digests_for(self.format):
            scores = self.score(chosen.plan)
        if self.standardise is not None:
            scores = scores.standardised(self.standardise)
        layout = {"per_query": self.per_query, "seed": self.seed}
        self.present(self.averaged(scores), chosen, interval, self.by, **layout)


command = verb(EvalVerb, "Score runs against judgments.")
