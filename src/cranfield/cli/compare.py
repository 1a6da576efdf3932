"""``cranfield compare``: significance of the differences between runs; in a pipeline, a check for regressions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from cranfield.analysis.significance import FAMILIES, TESTS
from cranfield.cli import options, results, spark
from cranfield.cli.commands import Verb
from cranfield.cli.evaluating import read_evaluation
from cranfield.cli.output import colour, emit, note, replace, say, width
from cranfield.cli.progress import progress
from cranfield.report.pages import FORMATS
from cranfield.statistics.corrections import CORRECTIONS

if TYPE_CHECKING:
    from cranfield.analysis.compare import Comparison
    from cranfield.analysis.significance import ComparisonSettings
    from cranfield.statistics.prediction import Inference
    from cranfield.statistics.standardisation import Standardisation

# The parameters that `testing` adds to a command.
TESTING = ("test", "tests", "correction", "family", "alpha", "samples")
NOT_AUDITED = (
    "with --engine spark, there is no check whether ties or unjudged documents could reverse a difference; "
    "use `cranfield audit` for that"
)
WORSE = 3  # the exit code if --fail-if-worse finds a regression

testing = options.several(
    click.option(
        "--test",
        type=click.Choice(TESTS),
        default="randomisation",
        show_default=True,
        help="Significance test; tukey is the analytic HSD test, randomised-tukey its randomised form.",
    ),
    click.option(
        "--also",
        "tests",
        multiple=True,
        type=click.Choice((*TESTS, "all")),
        callback=lambda ctx, param, value: TESTS if "all" in value else value,
        help="Also show the p-values of this test; may be repeated.",
    ),
    click.option(
        "--correction",
        type=click.Choice(CORRECTIONS),
        default="holm",
        show_default=True,
        help="Multiple-testing correction.",
    ),
    click.option(
        "--family",
        type=click.Choice(FAMILIES),
        default="measure",
        show_default=True,
        help="Correct within each measure, or across all measures.",
    ),
    options.level(0.05, "Significance level: corrected p-values below it are significant."),
    click.option(
        "--samples",
        type=click.IntRange(min=1),
        metavar="N",
        default=100_000,
        show_default=True,
        help="Number of resamples.",
    ),
)


def _not_nan(ctx: click.Context, param: click.Parameter, value: float) -> float:
    # No difference is below NaN: the check would let every run pass.
    if math.isnan(value):
        message = "must be a number, not nan."
        raise click.BadParameter(message, ctx, param)
    return value


def _baseline_name(baseline: str | None, name_of: Mapping[str, str], default: str | None) -> str | None:
    """The name of the baseline, which may be given as a path."""
    return default if baseline is None else name_of.get(baseline, baseline)


guarding = options.several(
    click.option(
        "--fail-if-worse",
        "guarded",
        multiple=True,
        type=options.MeasureName(),
        metavar="MEASURE",
        callback=lambda ctx, param, value: options.measure_names(value),
        help="Exit with code 3 if a run is significantly worse than the baseline in this measure; may be repeated.",
    ),
    click.option(
        "--by",
        type=click.FloatRange(0, math.inf, max_open=True),
        metavar="X",
        default=0.0,
        callback=_not_nan,
        show_default=True,
        help="Ignore differences up to this size.",
    ),
    click.option(
        "--junit", type=options.OutputFile(), metavar="FILE", help="Write the results as JUnit XML, for CI servers."
    ),
)


@click.command(cls=Verb, short_help="Test which differences between runs are significant.")
@options.inputs
@options.measures
@click.option("--baseline", metavar="RUN", help="Compare every run with this one only; a file name or a run name.")
@testing
@click.option("--all-pairs", is_flag=True, help="List all pairs of runs, however many there are.")
@click.option(
    "--no-audit",
    is_flag=True,
    help="Skip the check whether ties or unjudged documents could reverse a difference.",
)
@options.standardise
@guarding
@options.figures("Draw a figure for each measure into this folder, as PDF, SVG and PNG.")
@options.views
@options.corpus
@options.policies
@options.intents
@options.predicted
@options.costs
@options.engine
@options.scores
@options.seed
@options.digits
@options.formats(FORMATS, "json and csv have full precision and all pairs.")
@options.output
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    baseline: str | None,
    all_pairs: bool,
    no_audit: bool,
    standardise: Standardisation | None,
    guarded: list[str],
    by: float,
    junit: str | None,
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    engine: str,
    master: str | None,
    scores: str | None,
    predicted: str | None,
    inference: Inference,
    **given: Any,
) -> None:
    """Test which differences between RUNs are significant, for every pair or against a baseline.

    Shows each difference with its confidence interval, effect size and p-value, and marks significant differences
    that ties or unjudged documents could reverse. With --fail-if-worse the baseline is the first run unless
    --baseline names another.

    \b
    cranfield compare qrels.txt bm25.run dense.run -m "AP nDCG@10"
    cranfield compare qrels.txt *.run --baseline bm25.run --test t
    cranfield compare qrels.txt main.run new.run --fail-if-worse nDCG@10 --by 0.01
    """
    from cranfield.analysis.significance import check_settings
    from cranfield.errors import UsageError
    from cranfield.report import compare as report
    from cranfield.report.guard import check_regressions, junit_xml
    from cranfield.report.pages import write

    if not guarded and (junit or by):
        message = f"{'--junit' if junit else '--by'} needs --fail-if-worse"
        raise UsageError(message, hint="for example: --fail-if-worse nDCG@10")
    if standardise is not None and (guarded or engine == "spark"):
        message = f"--standardise does not work with {'--fail-if-worse' if guarded else '--engine spark'}"
        raise UsageError(message)
    spark.check_options(engine, master=master, scores=scores, costs=given["costs"])
    results.drawable(figures)
    settings = check_settings(seed=given["seed"], **{name: given.pop(name) for name in TESTING})
    if engine == "spark":
        given.pop("costs")
        warning = None if no_audit else NOT_AUDITED
        comparison, labels, notes = _compare_on_spark(
            qrels, runs, measures, guarded, baseline, settings, master, scores, warning, given
        )
    else:
        comparison, labels, notes = _compare(
            qrels, runs, measures, guarded, baseline, settings, not no_audit, predicted, inference, standardise, given
        )
    if format == "csv":
        text = report.csv(comparison)
    else:
        pages = report.pages(comparison, digits, all_pairs=all_pairs)
        if comparison.predicted:
            from cranfield.report import predicted as lines

            pages += lines.pages(comparison.predicted, digits)
            notes = [*notes, *lines.notes(comparison.predicted)]
        text = write(pages, comparison.to_dict(), format, width=width(), colour=colour(output))
    emit(text, output)
    if format != "json":
        note([*notes, *report.notes(comparison, all_pairs=all_pairs or format == "csv")])
    if figures is not None:
        from cranfield.report.figures import compare as drawing

        say(f"{len(drawing.figures(comparison, figures))} files written to {figures}")
    checks = check_regressions(comparison, labels, by)
    if junit:
        replace(junit, junit_xml(checks).encode())
    regressions = [check.sentence for check in checks if check.worse]
    for sentence in regressions:
        say(sentence)
    if regressions:
        click.get_current_context().exit(WORSE)


def _compare(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    guarded: list[str],
    baseline: str | None,
    settings: ComparisonSettings,
    reversals: bool,
    predicted: str | None,
    inference: Inference,
    standardise: Standardisation | None,
    given: dict[str, Any],
) -> tuple[Comparison, list[str], list[str]]:
    """The comparison, the labels of the guarded measures, and notes."""
    from cranfield.analysis.audit import reversible
    from cranfield.analysis.compare import compare_evaluation, compare_scores
    from cranfield.evaluation.notes import input_notes

    evaluation, notes = read_evaluation(qrels, runs, measures, guarded=guarded, **given)
    label_of = {column.measure: column.label for column in reversed(evaluation.columns)}
    labels = [label_of[column.measure] for column in options.guarded_columns(guarded, evaluation.policy)]
    name_of = dict(zip(reversed(runs), reversed(evaluation.runs), strict=True))  # the first, if a file is given twice
    baseline = _baseline_name(baseline, name_of, evaluation.runs[0] if guarded else None)
    if standardise is not None:
        standardised = evaluation.scores.standardised(standardise)
        with progress("Comparing measures") as step:
            comparison = compare_scores(standardised, settings, baseline, step)
        return comparison, labels, [*notes, *input_notes(standardised.notes)]
    if reversals:
        with progress("Auditing runs") as step:
            reversible(evaluation, step)
    with progress("Comparing measures") as step:
        comparison = compare_evaluation(evaluation, settings, baseline, reversals=reversals, progress=step)
    if predicted is not None:
        from cranfield.analysis.compare import with_predictions
        from cranfield.evaluation.evaluator import read_runs

        comparison = with_predictions(comparison, evaluation, predicted, read_runs(list(runs)), inference)
    return comparison, labels, [*notes, *input_notes(evaluation.scores.notes)]


def _compare_on_spark(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    guarded: list[str],
    baseline: str | None,
    settings: ComparisonSettings,
    master: str | None,
    scores: str | None,
    warning: str | None,
    given: dict[str, Any],
) -> tuple[Comparison, list[str], list[str]]:
    """The same, computed by Spark."""
    from cranfield.evaluation.columns import make_columns
    from cranfield.evaluation.notes import sentences
    from cranfield.evaluation.policy import Policy

    inputs = {name: given.pop(name) for name in ("intents", "corpus")}
    policy = Policy(**given)
    names, notes = options.choose_measures(measures, None, terminal=policy.terminal)
    columns = make_columns(names, policy.views)
    label_of = {column.measure: column.label for column in reversed(columns)}
    guarded_columns = options.guarded_columns(guarded, policy)
    columns += [column for column in guarded_columns if column.measure not in label_of]
    labels = [label_of.get(column.measure, column.label) for column in guarded_columns]
    with spark.evaluate(qrels, runs, columns, master, scores, given | inputs) as (frame, name_of):
        baseline = _baseline_name(baseline, name_of, frame.runs[0] if guarded else None)
        comparison = frame.compare(baseline, **asdict(settings))
        return comparison, labels, [*notes, *sentences(frame.evaluation_notes), *([warning] if warning else [])]
