"""``cranfield compare``: significance of the differences between runs; in a pipeline, a check for regressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import click

from cranfield.analysis.compare import ComparisonTable
from cranfield.analysis.significance import TESTS, Family, Test
from cranfield.cli import gate, options, results
from cranfield.cli.commands import Option, Settings, verb
from cranfield.cli.output import colour, emit, note, progress, say_written, width
from cranfield.errors import UsageError
from cranfield.report.pages import FORMATS, Page
from cranfield.settings import RARE, Choices
from cranfield.statistics.design import Repeated
from cranfield.statistics.resampling import Correction

if TYPE_CHECKING:
    from cranfield.analysis.compare import Comparison
    from cranfield.analysis.significance import ComparisonSettings
    from cranfield.evaluation.plan import Column
    from cranfield.evaluation.scores import Scores

NOT_AUDITED = (
    "with --engine spark, there is no check whether ties or unjudged documents could reverse a difference; "
    "use `cranfield audit` for that"
)
SCORES_ONLY = (
    "the baseline has scores only, so there is no check whether ties or unjudged documents could reverse a difference"
)
UNCORRECTED = "p-values do not account for this selection"
SAVED = ".json"  # in the names of files of saved scores
MOST_LOST = 5  # queries that a job summary names


class Outcome(NamedTuple):
    """A comparison, the label of each checked measure, notes, and the scores of the runs if they are here."""

    comparison: Comparison
    label_of: dict[str, str]
    notes: list[str]
    scores: Scores | None = None  # of the runs that were given
    compared: Scores | None = None  # with a saved baseline, or nested means


def _top_runs(scores: Scores, top: int, baseline: str | None, *, saved: bool) -> Scores:
    """The best runs by the first measure, and the baseline, which counts as one of the runs unless it is ``saved``."""
    skipped = 1 if saved else 0  # saved scores are the first run
    names = scores.only(runs=scores.runs[skipped:]).best(top)
    return scores.only(runs=[run for run in scores.runs if run in names or run == baseline])


def _losses(outcome: Outcome, measure: str, digits: int) -> list[Page]:
    """For a job summary: the queries on which the run that is furthest behind the baseline lost most."""
    from cranfield.analysis.per_query import queries
    from cranfield.report import per_query

    comparison, scores = outcome.comparison, outcome.compared
    if scores is None or comparison.references is None:
        return []
    m = comparison.measures.index(measure)
    pair = int((comparison.difference[m] * comparison.signs[m]).argmin())
    run, other = comparison.pairs[m, pair].tolist()
    found = queries(scores._of_runs([other, run]), measure, "loss")
    lost = len(found.lost(MOST_LOST))
    return [per_query.queries(found, digits, most=lost, bars=False, texts=scores._texts)] if lost else []


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
        tuple[str, ...],
        Choices((*TESTS, "all")),
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
        bool | None,
        "Check whether ties or unjudged documents could reverse a difference: for all pairs, or not at all.",
        Option("--audit/--no-audit", rare=True, default="for significant differences; in json and csv, for all"),
    ] = None
    format: Annotated[str, Choices(FORMATS), "Output format. json and csv have full precision and all pairs."] = "table"

    def run(self) -> None:
        from cranfield.analysis.significance import ComparisonSettings
        from cranfield.report import answer, guard
        from cranfield.report import compare as report
        from cranfield.report.pages import write

        self._check()
        settings = ComparisonSettings(seed=self.seed, **self.testing)
        with results.digests_for(self.format):
            outcome = (self._compare_on_spark if self.engine == "spark" else self._compare)(settings)
        comparison, label_of, notes = outcome.comparison, outcome.label_of, outcome.notes
        checks = guard.check_regressions(
            comparison,
            [label_of[name] for name in self.guarded],
            self.margin,
            significance=not self.ignore_significance,
        )
        checks += guard.check_margins(comparison, gate.limits_of(self.margins, label_of, strictest=min))
        if outcome.scores is not None and self.limits:
            from cranfield.evaluation.designs import over_collections

            by = self.collection_by
            averaged = outcome.scores if by is None else over_collections(outcome.scores, by)
            checks += guard.check_limits(averaged, gate.limits_of(self.limits, label_of))
        table = self.table or ("means" if self.format == "latex" and not self.details else None)
        if self.format == "csv":
            text = report.csv(comparison)
        else:
            how: dict[str, Any] = {"table": table, "details": self.details}
            pages = [] if self.format == "json" else answer.pages(comparison, self.digits, **how)
            if comparison.predicted:
                from cranfield.report import predicted as lines

                pages += lines.pages(comparison.predicted_rows, self.digits)
                notes = [*notes, *lines.notes(comparison.predicted)]
            result = comparison.to_dict() if self.format == "json" else {}  # which takes digests of the inputs
            text = write(pages, result, self.format, width=width(), colour=colour(self.output))
            if self.format == "markdown" and checks:
                losses = write(_losses(outcome, label_of[self._checked[0]], self.digits), {}, "markdown")
                text = "\n".join(filter(None, (f"{guard.markdown(checks)}{text}", losses)))
        if self.group_by is not None:
            assert outcome.compared is not None  # as --engine spark does not work with groups
            layout: dict[str, Any] = {"width": width(), "colour": colour(self.output)}
            first = comparison.references
            baseline = None if first is None else comparison.runs[first[0]]
            found = outcome.compared.by(self.group_by, baseline, **settings.of_groups)
            text = results.with_groups(text, found, self.format, self.digits, **layout)
        emit(results.for_file(text, self.format, self.output), self.output)
        if self.format != "json":
            note([*notes, *answer.notes(comparison, table=table, details=self.details)])
            if self.format == "table" and table is None and not self.details:
                say_written("more: --details")
        results.save_figures(partial(report.figures, comparison), self.figures)
        gate.conclude(checks, self.junit, "cranfield compare", gate.REMEDY if self.guarded else gate.MORE)

    def _check(self) -> None:
        """Raise if options do not work together."""
        self.check_inputs()
        self.check_engine()
        if self.table is not None and self.details:
            raise UsageError("--table does not work with --details")
        if self.table == "means" and self.format in ("csv", "json"):
            raise UsageError(f"--table means does not work with --format {self.format}, which has all pairs")
        guarded, limits, spark = self.guarded, self.limits, self.engine == "spark"
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
        return [*self.guarded, *self.limits, *self.margins]

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
        """The comparison of runs that are read here."""
        from cranfield.analysis.compare import compare_scores, resolution_of, with_reversals
        from cranfield.evaluation.notes import input_notes, sentences

        if self.scores:
            return self._compare_scores(settings)
        checked, measures, standardise = self._checked, self.measures, self.standardise
        audit = True if self.format in ("csv", "json") and self.audit is None else self.audit
        saved = None
        if self.baseline is not None and SAVED in self.baseline:
            from cranfield.experiment.running import saved_baseline

            saved = saved_baseline(self.baseline, self.runs)
        if saved is not None and measures is None and not checked:
            measures = [str(column.measure) for column in saved.columns if column.part == "value"]
        evaluation, notes = self.read(measures, guarded=checked)
        label_of = gate.labels_of(evaluation.columns, checked, options.guarded_columns(checked, evaluation.policy))
        systems = [one.run.system for one in evaluation.run_scores]
        own = evaluation.scores._with_repeats(systems)
        scores = self.averaged(own if standardise is None else own.standardised(standardise))
        paths = options.named_runs(self.runs)[2]
        names = [system or run for system, run in zip(systems, evaluation.runs, strict=True)]
        # The first, if a file is given twice.
        name_of = dict(zip(reversed(paths), reversed(names), strict=True))
        if saved is not None:
            scores = scores.with_run(saved, changed_judgments=self.allow_changed_judgments)
            notes += sentences(scores.notes[len(own.notes) :])  # queries with other judgments
            name: str | None = scores.runs[0]
        else:
            name = self._baseline_name(scores.runs, name_of)
        if self.top is not None and self.top < len(own.runs):
            best = f"those with the highest {scores.measures[0]}"
            notes.append(f"{self.top} of {len(own.runs)} runs are compared, {best}: {UNCORRECTED}")
            scores = _top_runs(scores, self.top, name, saved=saved is not None)
            if len(scores.runs) < 2:
                raise UsageError(
                    "compare needs at least two runs, and --top 1 leaves one",
                    hint="use --top 2 or more, or name another run as the baseline",
                )
        self._announce(sentences(resolution_of(scores, settings, name)))
        with progress("Comparing measures") as step:
            comparison = compare_scores(scores, settings, name, step)
        notes += input_notes(scores.notes)
        if saved is not None:
            return Outcome(comparison, label_of, notes + ([] if audit is False else [SCORES_ONLY]), own, scores)
        if standardise is None and audit is not False and not self.average and not any(systems):
            with progress("Auditing runs") as step:
                comparison = with_reversals(comparison, evaluation, only_significant=not audit, progress=step)
        if evaluation.collection.predicted is not None and standardise is None and not any(systems):
            from cranfield.analysis.compare import with_predictions
            from cranfield.evaluation.evaluator import read_runs

            comparison = with_predictions(
                comparison, evaluation, read_runs(list(self.runs), duplicates=self.duplicates)
            )
        return Outcome(comparison, label_of, notes, own, scores)

    def _compare_scores(self, settings: ComparisonSettings) -> Outcome:
        """The comparison of scores from elsewhere."""
        from cranfield.analysis.compare import compare_scores, resolution_of
        from cranfield.evaluation.notes import sentences

        scores = self.averaged(self.outside_scores(self.measures))
        label_of = {name: scores.measures[scores._column_of(name)] for name in self._checked}
        name = self._baseline_name(scores.runs, {})
        if self.top is not None:
            scores = _top_runs(scores, self.top, name, saved=False)
        self._announce(sentences(resolution_of(scores, settings, name)))
        with progress("Comparing measures") as step:
            comparison = compare_scores(scores, settings, name, step)
        return Outcome(comparison, label_of, sentences(scores.notes), scores, scores)

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
            name = self._baseline_name(frame.runs, name_of)
            comparison = frame.compare(name, **asdict(settings))
            self._announce(sentences(comparison.resolution_notes))
            notes += [*sentences(frame.evaluation_notes), *([] if self.audit is False else [NOT_AUDITED])]
            return Outcome(comparison, label_of, notes)


command = verb(Compare, "Test which differences between runs are significant.")
