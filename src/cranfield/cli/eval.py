"""``cranfield eval``: scores of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cranfield.cli import gate, options
from cranfield.cli.commands import RARE, Option, verb
from cranfield.cli.output import colour, emit, note, progress, run_notes, width
from cranfield.cli.results import digests_for, for_file, with_groups
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.evaluation.scores import Interval, ScoreTable

INTERVALS = {
    "bca": "95% confidence intervals of the means: BCa bootstrap over queries, 9,999 resamples, seed {seed}",
    "t": "95% confidence intervals of the means: Student's t",
}


class Eval(
    options.Measures,
    options.Evaluating,
    options.Predictions,
    gate.Limits,
    options.SparkScores,
    options.Standardising,
    options.Averaging,
    options.Writing,
    options.Verbose,
):
    """Score RUNs against the judgments in QRELS.

    Files may be TREC text, JSON, CSV or Parquet, compressed or not; `-` is standard input. If QRELS has judgments by
    subtopic, the default is a set of diversity measures. `cranfield measures` lists all measures.

    \b
    cranfield eval qrels.txt bm25.run dense.run -m "AP nDCG@10 RBP(p=0.8)"
    cranfield eval qrels.txt llm.run -m nDCG@10 --ties expected -q
    cranfield eval qrels.txt *.run -m "AP nDCG@10" --sort nDCG@10 --top 10
    """

    per_query: Annotated[bool, "Show the scores of every query, then the means.", Option("-q --per-query")] = False
    bounds: Annotated[
        bool,
        "Show the lowest and highest scores that judging the unjudged documents could give; of graded measures, "
        "those with unjudged documents at grade 0 or at the top grade.",
    ] = False
    residual: Annotated[bool, "Show how much higher scores would be if all unjudged documents were relevant.", RARE] = (
        False
    )
    standard_errors: Annotated[bool, "Show the sampling errors of estimates from a sample of judgments.", RARE] = False
    interval: Annotated[
        Literal["bca", "t", "none"], "95% confidence intervals of the means: bootstrap (bca) or Student's t."
    ] = "none"
    sort: Annotated[
        str | None,
        "Order of the runs: by a measure, best first, by `name`, or as in the `input`.",
        Option(metavar="MEASURE", default="the first measure; in json, csv and trec, the input unless --top is given"),
    ] = None
    top: Annotated[
        options.Count | None, "Show only the N best runs, by the measure of --sort or by the first measure."
    ] = None

    def run(self) -> None:
        from cranfield import Evaluator, Scores, report
        from cranfield.cli import spark

        method: Interval | None = None if self.interval == "none" else self.interval
        report.accept(self.format, method)
        self._check()
        collection, chosen = self.collection, self.chosen
        judgments = collection.judgments if self.measures is None and self.engine == "local" else None
        names, notes = options.choose_measures(self.measures, judgments, terminal=self.terminal)
        columns, label_of = gate.with_checked(names, self.limited, collection.policy(**chosen))
        shown = {"residuals": self.residual, "bounds": self.bounds, "standard errors": self.standard_errors}
        chosen["show"] = [name for name, wanted in shown.items() if wanted]
        if self.engine == "spark":
            with spark.evaluate(collection, self.runs, columns, self.master, self.write_scores, chosen) as (frame, _):
                table: ScoreTable = frame
        else:
            with progress("Scoring runs") as step, digests_for(self.format):
                evaluator = Evaluator(collection, columns, **chosen)
                runs, given, _ = options.named_runs(self.runs)
                table = evaluator(runs, names=given, duplicates=self.duplicates, progress=step)
            if self.standardise is not None:
                table = table.standardised(self.standardise)
            table = self.averaged(table)
        checked = None
        if self.limited:
            from cranfield.analysis.gates import verdict

            checked = verdict(gate.gates_of(label_of, self.limits, at_most=self.upper_limits), table)
        by_input = self.top is None and self.format in ("json", "csv", "trec")
        in_order = table.order(self.sort or ("input" if by_input else None))
        by = None if self.sort in ("name", "input") else self.sort
        best = table.best(self.top, by)
        if len(best) < len(table.runs):
            measure = table.measures[0] if by is None else table[by].measure
            shown_of = f"{len(best)} of {len(table.runs)} runs are shown"
            notes = [*notes, f"{shown_of}, those with the highest {measure} (--top)"]
        table = table.only(runs=[run for run in in_order if run in best])
        layout: dict[str, Any] = {"width": width(), "colour": colour(self.output)}
        text = report.write(
            table, self.format, per_query=self.per_query, digits=self.digits, interval=method, seed=self.seed, **layout
        )
        if self.format == "markdown" and checked is not None:
            from cranfield.report.gates import markdown

            text = f"{markdown(checked)}{text}"
        if means := getattr(table, "predicted", ()):
            from cranfield.report import predicted as lines

            text += lines.text(means, self.format, self.digits, **layout)
            notes = [*notes, *lines.notes(means)]
        if self.grouping_attributes is not None:
            assert isinstance(table, Scores)  # as --engine spark does not work with groups
            text = with_groups(text, table.by(self.grouping_attributes), self.format, self.digits, **layout)
        emit(for_file(text, self.format, self.output), self.output)
        note(notes)
        if self.format != "json":
            note(run_notes(table.notes, verbose=self.verbose))
            note([INTERVALS[method].format(seed=self.seed)] if method else [])
        gate.conclude(checked, self.junit, "cranfield eval")

    def _check(self) -> None:
        """Raise if options do not work together."""
        if (self.junit and not self.limited) or (self.limited and self.standardise is not None):
            raise UsageError(
                "--junit needs --fail-below" if self.junit else "--standardise does not work with --fail-below",
                hint="for example: --fail-below nDCG@10=0.70" if self.junit else "",
            )
        self.check_engine()
        alone = {"--standardise": self.standardise, "--group-by": self.group_by, "--average": self.average}
        for name, given in alone.items():
            if given and self.engine == "spark":
                raise UsageError(f"{name} does not work with --engine spark")


command = verb(Eval, "Score runs against judgments.")
