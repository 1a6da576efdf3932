"""``cranfield compare``: which system is really better; and, in a pipeline, whether a new one is worse."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from cranfield.analysis.significance import FAMILIES, TESTS
from cranfield.cli import distributed, options, results
from cranfield.cli.evaluating import read_evaluation
from cranfield.cli.output import colour, emit, note, replace, width
from cranfield.cli.progress import progress
from cranfield.report.pages import FORMATS
from cranfield.statistics.corrections import CORRECTIONS

if TYPE_CHECKING:
    from cranfield.analysis.compare import Comparison
    from cranfield.analysis.significance import Settings

# What `testing` adds to a command.
TESTING = ("test", "tests", "correction", "family", "alpha", "samples")
UNASKED = "what ties and unjudged documents could turn is not asked with --engine spark: `cranfield audit` knows"
WORSE = 3  # the exit code where a run is worse than it may be

testing = options.several(
    click.option(
        "--test", type=click.Choice(TESTS), default="randomisation", show_default=True, help="Which test decides."
    ),
    click.option(
        "--also",
        "tests",
        multiple=True,
        type=click.Choice((*TESTS, "all")),
        callback=lambda ctx, param, value: TESTS if "all" in value else value,
        help="A test whose p-values are shown beside; may be repeated.",
    ),
    click.option(
        "--correction",
        type=click.Choice(CORRECTIONS),
        default="holm",
        show_default=True,
        help="How p-values are corrected for being many.",
    ),
    click.option(
        "--family",
        type=click.Choice(FAMILIES),
        default="measure",
        show_default=True,
        help="What they are many of: the pairs of one measure, or of all measures.",
    ),
    options.level(0.05, "A corrected p-value below this is significant."),
    click.option(
        "--samples",
        type=click.IntRange(min=1),
        default=100_000,
        show_default=True,
        help="Draws of the tests that resample.",
    ),
)


def _finite(ctx: click.Context, param: click.Parameter, value: float) -> float:
    # Nothing is lower than by something that is no number: the guard would let everything pass.
    if math.isnan(value):
        raise click.BadParameter("nan is no number", ctx, param)
    return value


def _against(baseline: str | None, called: Mapping[str, str], instead: str | None) -> str | None:
    """The name of the run that others are compared with, which may be given by its path."""
    return instead if baseline is None else called.get(baseline, baseline)


guarding = options.several(
    click.option(
        "--fail-if-worse",
        "guarded",
        multiple=True,
        type=options.MeasureName(),
        metavar="MEASURE",
        callback=lambda ctx, param, value: options.listed(value),
        help="Exit with 3 if a run is significantly worse than the baseline in this measure; may be repeated.",
    ),
    click.option(
        "--by",
        type=click.FloatRange(0, math.inf, max_open=True),
        default=0.0,
        callback=_finite,
        show_default=True,
        help="How much lower a mean may be without being worse.",
    ),
    click.option("--junit", type=click.Path(), metavar="FILE", help="Write the verdicts as JUnit XML, for CI servers."),
)


@click.command(short_help="Say which run is really better.")
@options.inputs
@options.measures
@click.option("--baseline", metavar="RUN", help="Compare each run with this one only: its file as given, or its name.")
@testing
@click.option("--all-pairs", is_flag=True, help="List every pair, however many there are.")
@click.option("--no-audit", is_flag=True, help="Do not ask what ties and unjudged documents could turn.")
@guarding
@options.figures("Draw a figure for each measure into this folder, as PDF, SVG and PNG.")
@options.views
@options.corpus
@options.policies
@options.intents
@options.engine
@options.scores
@options.seed
@options.digits
@options.formats(FORMATS, "json and csv have full precision and every pair.")
@options.output
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    baseline: str | None,
    all_pairs: bool,
    no_audit: bool,
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
    **given: Any,
) -> None:
    """Compare RUNs with each other, or each with a baseline: differences with their intervals, sizes and p-values.

    Rows also say whether ties or unjudged documents could turn a difference that is significant. With --fail-if-worse
    the first run, unless --baseline says otherwise, is what the others must not be worse than.

    \b
    cranfield compare qrels.txt bm25.run dense.run -m "AP nDCG@10"
    cranfield compare qrels.txt *.run --baseline bm25.run --test t --correction bh
    cranfield compare qrels.txt main.run new.run --fail-if-worse nDCG@10 --by 0.01 --alpha 0.05
    """
    from cranfield.analysis.significance import check_settings
    from cranfield.errors import UsageError
    from cranfield.report import compare as report
    from cranfield.report.guard import junit_xml, verdicts
    from cranfield.report.pages import write

    if not guarded and (junit or by):
        raise UsageError("--by and --junit are about what --fail-if-worse guards", hint="name a measure with it")
    distributed.accept(engine, master=master, scores=scores)
    results.drawable(figures)
    settings = check_settings(seed=given["seed"], **{name: given.pop(name) for name in TESTING})
    if engine == "spark":
        reversals = None if no_audit else UNASKED
        found, labels, said = _on_spark(
            qrels, runs, measures, guarded, baseline, settings, master, scores, reversals, given
        )
    else:
        found, labels, said = _here(qrels, runs, measures, guarded, baseline, settings, not no_audit, given)
    if format == "csv":
        text = report.csv(found)
    else:
        pages = report.pages(found, digits, all_pairs=all_pairs)
        text = write(pages, found.to_dict(), format, width=width(), colour=colour(output))
    emit(text, output)
    if format != "json":
        note([*said, *report.notes(found, all_pairs=all_pairs or format == "csv")])
    if figures is not None:
        from cranfield.report.figures import compare as drawing

        click.echo(f"{len(drawing.figures(found, figures))} files in {figures}", err=True)
    judged = verdicts(found, labels, by)
    if junit:
        replace(junit, junit_xml(judged).encode())
    worse = [one.sentence for one in judged if one.worse]
    for sentence in worse:
        click.echo(sentence.encode("utf-8", "surrogateescape"), err=True)
    if worse:
        click.get_current_context().exit(WORSE)


def _here(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    guarded: list[str],
    baseline: str | None,
    settings: Settings,
    reversals: bool,
    given: dict[str, Any],
) -> tuple[Comparison, list[str], list[str]]:
    """The comparison, the labels of the guarded measures, and notes."""
    from cranfield.analysis.audit import reversible
    from cranfield.analysis.compare import compare_evaluation
    from cranfield.evaluation.notes import input_notes

    evaluation, said = read_evaluation(qrels, runs, measures, guarded=guarded, **given)
    label_of = {column.measure: column.label for column in reversed(evaluation.columns)}
    labels = [label_of[column.measure] for column in options.guarded_columns(guarded, evaluation.policy)]
    called = dict(zip(reversed(runs), reversed(evaluation.runs), strict=True))  # of a file given twice, the first
    baseline = _against(baseline, called, evaluation.runs[0] if guarded else None)
    if reversals:
        with progress("looking closely") as step:
            reversible(evaluation, step)
    with progress("comparing") as step:
        found = compare_evaluation(evaluation, settings, baseline, reversals=reversals, progress=step)
    return found, labels, [*said, *input_notes(evaluation.scores.notes)]


def _on_spark(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    guarded: list[str],
    baseline: str | None,
    settings: Settings,
    master: str | None,
    scores: str | None,
    unasked: str | None,
    given: dict[str, Any],
) -> tuple[Comparison, list[str], list[str]]:
    """The same where the data are."""
    from cranfield.evaluation.columns import make_columns
    from cranfield.evaluation.notes import sentences
    from cranfield.evaluation.policy import Policy

    inputs = {name: given.pop(name) for name in ("intents", "corpus")}
    policy = Policy(**given)
    wanted, said = options.fitting(measures, None, terminal=policy.terminal)
    columns = make_columns(wanted, policy.views)
    known = {column.measure: column.label for column in reversed(columns)}
    extra = options.guarded_columns(guarded, policy)
    columns += [column for column in extra if column.measure not in known]
    labels = [known.get(column.measure, column.label) for column in extra]
    with distributed.scored(qrels, runs, columns, master, scores, given | inputs) as (there, called):
        baseline = _against(baseline, called, there.runs[0] if guarded else None)
        found = there.compare(baseline, **asdict(settings))
        return found, labels, [*said, *sentences(there.said), *([unasked] if unasked else [])]
