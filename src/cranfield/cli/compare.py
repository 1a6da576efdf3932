"""``cranfield compare``: significance of the differences between runs; in a pipeline, a check for regressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import click

from cranfield.analysis.compare import ComparisonTable
from cranfield.analysis.significance import TESTS, Family, Test
from cranfield.cli import gate, options, results
from cranfield.cli.commands import Option, Settings, verb
from cranfield.cli.output import colour, emit, note, progress, say_written, width
from cranfield.errors import UsageError
from cranfield.report.pages import FORMATS
from cranfield.settings import RARE, Choices
from cranfield.statistics.design import Repeated
from cranfield.statistics.resampling import Correction

if TYPE_CHECKING:
    from cranfield.analysis.compare import Comparison
    from cranfield.analysis.significance import ComparisonSettings
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.evaluation.plan import Column
    from cranfield.evaluation.scores import Scores

UNCORRECTED = "p-values do not account for this selection"
SAVED = ".json"  # in the names of files of saved scores


class Outcome(NamedTuple):
    """A comparison, the label of each checked measure, notes, and the scores of the runs if they are here."""

    comparison: Comparison
    label_of: dict[str, str]
    notes: list[str]
    scores: Scores | None = None  # of the runs that were given
    compared: Scores | None = None  # with a saved baseline, or nested means


def _top_runs(own: Scores, compared: Scores, top: int, baseline: str | None) -> Scores:
    """The best runs by the first measure, and the baseline, which counts as one of the runs unless it is saved."""
    best = {*own.best(top), baseline}
    return compared.only(runs=[run for run in compared.runs if run in best])


def _tests(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return TESTS if "all" in values else values


class Testing(Settings):
    """How differences are tested."""

    GROUP = "Significance"

    test: Annotated[
        Test | None,
        "Significance test; tukey is the analytic HSD test, randomised-tukey its randomised form.",
        Option(default="randomisation; t if runs have random repeats"),
    ] = None
    tests: Annotated[
        tuple[Annotated[str, Choices((*TESTS, "all"))], ...],
        "Also show the p-values of this test; may be repeated.",
        Option("--also-test", rare=True, callback=_tests),
    ] = ()
    correction: Annotated[Correction, "Multiple-testing correction."] = "holm"
    family: Annotated[
        Family, "Correct within each measure, or across all measures.", Option("--correction-family", rare=True)
    ] = "measure"
    alpha: Annotated[options.Chance, "Significance level: corrected p-values below it are significant.", RARE] = 0.05
    samples: Annotated[
        options.Count | None,
        "Number of resamples.",
        Option(rare=True, default="100000, or more if that is too few for the number of pairs"),
    ] = None
    cluster: Annotated[
        str | None,
        "Query attribute that groups dependent queries, such as topic or conversation; they are resampled together.",
        Option(metavar="ATTRIBUTE", rare=True),
    ] = None
    collection_by: Annotated[
        str | None,
        "Query attribute that names the collection; means are taken in each collection, then over collections.",
        Option("--collection", "ATTRIBUTE", rare=True),
    ] = None
    repeats: Annotated[
        Repeated,
        "Treat the repeats of a run as a sample of possible repeats (random), or as the only ones of interest (fixed).",
        Option("--repeats-are", rare=True),
    ] = "random"

    @property
    def testing(self) -> dict[str, Any]:
        """The arguments of `ComparisonSettings`."""
        values = self.values_of(Testing)
        values["collection"] = values.pop("collection_by")
        return values


class Compare(
    options.Measures,
    Testing,
    gate.Regressions,
    gate.Limits,
    options.Elsewhere,
    options.Evaluating,
    options.Predictions,
    options.SparkScores,
    options.Standardising,
    options.Averaging,
    results.Results,
):
    """Test which differences between RUNs are significant, for every pair or against a baseline.

    Says which run is best, what it is significantly better than, by how much, and whether ties or unjudged documents
    could reverse that. A difference is the later run minus the earlier one, or a run minus the baseline. Checks need a
    baseline: the first run, unless another one is named. Without -m, the measures are those of the checks, if any. Exit
    codes of checks: 0 passed, 3 failed, 4 not decided.

    \b
    cranfield compare qrels.txt bm25.run dense.run -m "AP nDCG@10"
    cranfield compare qrels.txt *.run -m nDCG@10 --top 10 --baseline best --test t
    cranfield compare qrels.txt main.run new.run --fail-if-worse AP --margin 0.01
    cranfield compare qrels.txt new.run --baseline scores.json --fail-below AP=0.3
    cranfield compare qrels.txt bm25.run dense=seed1.run dense=seed2.run
    cranfield compare --scores judge.csv --lower latency --group-by segment
    """

    baseline: Annotated[
        str | None,
        "Compare every run with this one only: a file or run, saved scores (FILE.json or FILE.json#RUN), or `best`.",
        Option(metavar="RUN"),
    ] = None
    top: Annotated[options.Count | None, "Compare only the N best runs by the first measure, and the baseline."] = None
    details: Annotated[bool, "Also show which runs each run beats, and effect sizes, wins and losses."] = False
    table: Annotated[
        ComparisonTable | None,
        "Show only the means with significance marks, or all pairs.",
        Option(default="the answer; in latex, means"),
    ] = None
    audit: Annotated[
        bool,
        "Check whether ties or unjudged documents could reverse a difference.",
        Option("--audit/--no-audit", rare=True),
    ] = True
    format: Annotated[str, Choices(FORMATS), "Output format. json and csv have full precision and all pairs."] = "table"

    def run(self) -> None:
        from cranfield.analysis.gates import verdict
        from cranfield.analysis.significance import ComparisonSettings
        from cranfield.report import answer
        from cranfield.report import compare as report
        from cranfield.report.gates import markdown
        from cranfield.report.pages import write
        from cranfield.report.per_query import losses

        self._check()
        settings = ComparisonSettings(seed=self.seed, audit=self.audit, **self.testing)
        with results.digests_for(self.format):
            outcome = (self._compare_on_spark if self.engine == "spark" else self._compare)(settings)
        comparison, label_of, notes, means = outcome.comparison, outcome.label_of, outcome.notes, outcome.scores
        gates = gate.gates_of(
            label_of,
            self.limits,
            self.margins,
            self.guarded,
            self.margin,
            significance=not self.ignore_significance,
            at_most=self.upper_limits,
        )
        if means is not None and self.collection_by is not None:
            from cranfield.evaluation.designs import over_collections

            means = over_collections(means, self.collection_by)
        checked = verdict(gates, means, comparison, outcome.compared) if gates else None
        table = self.table or ("means" if self.format == "latex" and not self.details else None)
        if self.format == "csv":
            text = report.csv(comparison)
        else:
            how: dict[str, Any] = {"table": table, "details": self.details}
            pages = [] if self.format == "json" else answer.pages(comparison, self.digits, **how)
            result = comparison.to_dict() if self.format == "json" else {}  # which takes digests of the inputs
            text = write(pages, result, self.format, width=width(), colour=colour(self.output))
            if self.format == "markdown" and checked is not None:
                lost = label_of[self._checked[0]]
                pages = [] if outcome.compared is None else losses(outcome.compared, comparison, lost, self.digits)
                text = "\n".join(filter(None, (f"{markdown(checked)}{text}", write(pages, {}, "markdown"))))
        if self.grouping_attributes is not None:
            assert outcome.compared is not None  # as --engine spark does not work with groups
            layout: dict[str, Any] = {"width": width(), "colour": colour(self.output)}
            found = outcome.compared.by(self.grouping_attributes, comparison.reference, **settings.of_groups)
            text = results.with_groups(text, found, self.format, self.digits, **layout)
        emit(results.for_file(text, self.format, self.output), self.output)
        if self.format != "json":
            note([*notes, *answer.notes(comparison, table=table, details=self.details)])
            if self.format == "table" and table is None and not self.details:
                say_written("use --details for effect sizes, wins and losses")
        results.save_figures(report.drawings(comparison), self.figures)
        gate.conclude(checked, self.junit, "cranfield compare", gate.REMEDY if self.guarded else gate.MORE)

    def _check(self) -> None:
        """Raise if options do not work together."""
        self.check_inputs()
        self.check_engine()
        if self.table is not None and self.details:
            raise UsageError("--table does not work with --details")
        if self.table == "means" and self.format in ("csv", "json"):
            raise UsageError(f"--table means does not work with --format {self.format}, which has all pairs")
        guarded, limits, spark = self.guarded, self.limited, self.engine == "spark"
        if spark and (self.scores or self.average or self.group_by or self.cluster or self.collection_by):
            raise UsageError("scores from elsewhere, groups and designs do not work with --engine spark")
        alone = {
            "--margin": bool(self.margin),
            "--ignore-significance": self.ignore_significance,
            "--junit": bool(self.junit) and not limits and not self.margins,
        }
        for name, given in alone.items():
            if given and not guarded:
                raise UsageError(f"{name} needs --fail-if-worse", hint="for example: --fail-if-worse nDCG@10")
        checks = "--fail-if-worse" if guarded else "--fail-below" if limits else None
        saved = f"--baseline {self.baseline}" if self.baseline is not None and SAVED in self.baseline else None
        other = checks or ("--engine spark" if spark else saved)
        if self.standardise is not None and other:
            raise UsageError(f"--standardise does not work with {other}")
        if self.top is not None and (guarded or spark):
            raise UsageError(f"--top does not work with {'--fail-if-worse' if guarded else '--engine spark'}")
        if saved and self.predicted is not None:
            raise UsageError(f"--predicted does not work with {saved}")
        if spark and (limits or saved):
            raise UsageError(
                f"{'--fail-below' if limits else saved} does not work with --engine spark",
                hint="use `cranfield eval --engine spark --fail-below`" if limits else "",
            )

    @property
    def _checked(self) -> list[str]:
        """The measures of all checks."""
        return [*self.guarded, *self.limited, *self.margins]

    def _announce(self, notes: Iterable[str]) -> None:
        """Print notes before the work starts."""
        if self.format != "json":
            note(notes)

    def _baseline_name(self, runs: Sequence[str], name_of: Mapping[str, str]) -> str | None:
        """The run that is the baseline: for checks the first run unless one is named."""
        if not self.baseline:
            return runs[0] if self.guarded or self.margins else None
        return name_of.get(self.baseline, self.baseline)

    def _compare(self, settings: ComparisonSettings) -> Outcome:
        """The comparison of runs that are read here, or of scores from elsewhere."""
        from cranfield.analysis.compare import compare_scores, resolution_of, saved_baseline, with_baseline
        from cranfield.evaluation.notes import sentences, summarised

        evaluation: Evaluation | None = None
        notes: list[str] = []
        if self.scores:
            own = self.outside_scores(self.measures)
            label_of = {name: own.measures[own._column_of(name)] for name in self._checked}
            name_of: Mapping[str, str] = {}
        else:
            measures, saved = self.measures, saved_baseline(self.baseline, self.runs)
            if saved is not None and measures is None and not self._checked:
                measures = [str(column.measure) for column in saved.columns if column.part == "value"]
            evaluation, notes = self.read(measures, guarded=self._checked)
            own = evaluation.scores
            asked = options.guarded_columns(self._checked, evaluation.policy)
            label_of = gate.labels_of(evaluation.columns, self._checked, asked)
            names = [one.run.system or one.run.name for one in evaluation.run_scores]
            # The first, if a file is given twice.
            name_of = dict(zip(reversed(options.named_runs(self.runs)[2]), reversed(names), strict=True))
        scores = self.averaged(own if self.standardise is None else own.standardised(self.standardise))
        settings = replace(settings, baseline=self._baseline_name(scores.runs, name_of))
        compared, settings = with_baseline(scores, settings, changed_judgments=self.allow_changed_judgments)
        if self.top is not None and self.top < len(own.runs):
            best = f"those with the highest {scores.measures[0]}"
            notes.append(f"{self.top} of {len(own.runs)} runs are compared, {best}: {UNCORRECTED}")
            compared = _top_runs(scores, compared, self.top, settings.baseline)
            if len(compared.runs) < 2:
                raise UsageError(
                    "compare needs at least two runs, and --top 1 leaves one",
                    hint="use --top 2 or more, or name another run as the baseline",
                )
        self._announce(sentences(resolution_of(compared, settings)))
        with progress("Comparing runs") as step:
            comparison = compare_scores(compared, settings, evaluation, step)
        notes += summarised(compared.notes)[0]
        return Outcome(comparison, label_of, notes, own, compared)

    def _compare_on_spark(self, settings: ComparisonSettings) -> Outcome:
        """The same, computed by Spark."""
        from cranfield.cli import spark
        from cranfield.evaluation.notes import sentences
        from cranfield.evaluation.plan import make_columns

        collection, chosen, checked = self.collection, self.chosen, self._checked
        policy = collection.policy(**chosen)
        asked = options.guarded_columns(checked, policy)
        columns: list[Column] = []
        notes: list[str] = []
        if self.measures is not None or not checked:
            names, notes = options.choose_measures(self.measures, None, terminal=policy.terminal)
            columns = make_columns(names, policy.views)
        columns += options.absent(asked, columns)
        label_of = gate.labels_of(columns, checked, asked)
        with spark.evaluate(collection, self.runs, columns, self.master, self.write_scores, chosen) as (frame, name_of):
            settings = replace(settings, baseline=self._baseline_name(frame.runs, name_of))
            comparison = frame.compare(**asdict(settings))
            self._announce(sentences(comparison.resolution_notes))
            return Outcome(comparison, label_of, [*notes, *sentences(frame.evaluation_notes)])


command = verb(Compare, "Test which differences between runs are significant.")
