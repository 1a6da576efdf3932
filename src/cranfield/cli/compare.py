"""``cranfield compare``: significance of the differences between runs; in a pipeline, a check for regressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cranfield.analysis.significance import FAMILIES, TESTS
from cranfield.cli import gate, options, results, spark
from cranfield.cli.commands import Verb
from cranfield.cli.evaluating import collection_of, read_evaluation
from cranfield.cli.output import colour, emit, note, say_written, width
from cranfield.cli.progress import progress
from cranfield.errors import UsageError
from cranfield.io.ids import Duplicates
from cranfield.report.pages import FORMATS
from cranfield.statistics.pair_tests import CORRECTIONS
from cranfield.wording import few

if TYPE_CHECKING:
    from cranfield.analysis.compare import Comparison
    from cranfield.analysis.significance import ComparisonSettings
    from cranfield.evaluation.columns import Column
    from cranfield.evaluation.scores import Scores, ScoreTable
    from cranfield.statistics.standardisation import Standardisation

# The parameters that `testing` adds to a command.
TESTING = ("test", "tests", "correction", "family", "alpha", "samples")
NOT_AUDITED = (
    "with --engine spark, there is no check whether ties or unjudged documents could reverse a difference; "
    "use `cranfield audit` for that"
)
SCORES_ONLY = (
    "the baseline has scores only, so there is no check whether ties or unjudged documents could reverse a difference"
)
SAVED = ".json"  # the ending of a file of saved scores

Say = Callable[[Iterable[str]], None]

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
        help="Number of resamples.  [default: 100000, or more if that is too few for the number of pairs]",
    ),
)


@click.command(cls=Verb, short_help="Test which differences between runs are significant.")
@options.inputs
@options.measures
@click.option(
    "--baseline",
    metavar="RUN",
    help="Compare every run with this one only: a file name, a run name, saved scores (FILE.json or FILE.json#RUN), or "
    "`best`, the run with the highest mean of the first measure.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="Compare only the N best runs by the first measure, and the baseline if one is named.",
)
@testing
@click.option("--all-pairs", is_flag=True, help="List all pairs of runs, however many there are.")
@click.option(
    "--audit/--no-audit",
    default=None,
    help="Check whether ties or unjudged documents could reverse a difference: for all pairs, or not at all.  "
    "[default: for significant differences; in json and csv, for all]",
)
@options.standardise
@gate.guarding
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
    duplicates: Duplicates,
    measures: list[str] | None,
    baseline: str | None,
    top: int | None,
    all_pairs: bool,
    audit: bool | None,
    standardise: Standardisation | None,
    guarded: list[str],
    by: float,
    ignore_significance: bool,
    limits: dict[str, float],
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
    """Test which differences between RUNs are significant, for every pair or against a baseline.

    Shows each difference with its confidence interval, effect size and p-value, and marks significant differences
    that ties or unjudged documents could reverse. With --fail-if-worse the baseline is the first run unless
    --baseline names another. Without -m, the measures are those of the checks, if any. Exit codes of checks: 0 passed,
    3 failed, 4 not decided.

    \b
    cranfield compare qrels.txt bm25.run dense.run -m "AP nDCG@10"
    cranfield compare qrels.txt *.run --baseline bm25.run --test t
    cranfield compare qrels.txt *.run -m nDCG@10 --top 10 --baseline best
    cranfield compare qrels.txt main.run new.run --fail-if-worse nDCG@10 --by 0.01
    cranfield compare qrels.txt new.run --baseline scores.json --fail-below AP=0.3
    """
    from cranfield.analysis.significance import ComparisonSettings
    from cranfield.report import compare as report
    from cranfield.report import guard
    from cranfield.report.pages import write

    spark.check_options(engine, master=master, scores=scores, settings=given, duplicates=duplicates)
    _check_options(
        engine,
        baseline,
        top,
        standardise,
        guarded,
        by,
        limits,
        junit,
        given["predicted"],
        ignore_significance=ignore_significance,
    )
    results.drawable(figures)
    settings = ComparisonSettings(seed=given["seed"], **{name: given.pop(name) for name in TESTING})
    checked = [*guarded, *limits]
    if format in ("csv", "json") and audit is None:
        audit = True
    chosen = baseline or ("" if guarded else None)
    announce = note if format != "json" else None
    if engine == "spark":
        warning = None if audit is False else NOT_AUDITED
        outcome = _compare_on_spark(
            qrels, runs, measures, checked, chosen, settings, master, scores, warning, announce, given
        )
    else:
        given["duplicates"] = duplicates
        outcome = _compare(qrels, runs, measures, checked, chosen, top, settings, audit, standardise, announce, given)
    comparison, label_of, notes = outcome.comparison, outcome.label_of, outcome.notes
    checks = guard.check_regressions(
        comparison, [label_of[name] for name in guarded], by, significance=not ignore_significance
    )
    if outcome.scores is not None:
        checks += guard.check_limits(outcome.scores, gate.limits_of(limits, label_of))
    if format == "csv":
        text = report.csv(comparison)
    else:
        pages = report.pages(comparison, digits, all_pairs=all_pairs)
        if comparison.predicted:
            from cranfield.report import predicted as lines

            pages += lines.pages(comparison.predicted, digits)
            notes = [*notes, *lines.notes(comparison.predicted)]
        text = write(pages, comparison.to_dict(), format, width=width(), colour=colour(output))
        text = f"{guard.markdown(checks)}{text}" if format == "markdown" and checks else text
    emit(text, output)
    if format != "json":
        note([*notes, *report.notes(comparison, all_pairs=all_pairs or format == "csv")])
    if figures is not None:
        from cranfield.report import compare as drawing

        say_written(f"{len(drawing.figures(comparison, figures))} files written to {figures}")
    gate.conclude(checks, junit, "cranfield compare", gate.REMEDY if guarded else "")


class Outcome(NamedTuple):
    """A comparison, the label of each checked measure, notes, and the scores of the runs if they are here."""

    comparison: Comparison
    label_of: dict[str, str]
    notes: list[str]
    scores: Scores | None = None


def _check_options(
    engine: str,
    baseline: str | None,
    top: int | None,
    standardise: Standardisation | None,
    guarded: Sequence[str],
    by: float,
    limits: Mapping[str, float],
    junit: str | None,
    predicted: str | None,
    *,
    ignore_significance: bool,
) -> None:
    """Raise if options do not work together."""
    alone = {"--by": bool(by), "--ignore-significance": ignore_significance, "--junit": bool(junit) and not limits}
    for name, given in alone.items():
        if given and not guarded:
            raise UsageError(f"{name} needs --fail-if-worse", hint="for example: --fail-if-worse nDCG@10")
    checks = "--fail-if-worse" if guarded else "--fail-below" if limits else None
    saved = f"--baseline {baseline}" if baseline is not None and SAVED in baseline else None
    other = checks or ("--engine spark" if engine == "spark" else saved)
    if standardise is not None and other:
        raise UsageError(f"--standardise does not work with {other}")
    if top is not None and (guarded or engine == "spark"):
        raise UsageError(f"--top does not work with {'--fail-if-worse' if guarded else '--engine spark'}")
    if saved and predicted is not None:
        raise UsageError(f"--predicted does not work with {saved}")
    if engine == "spark" and (limits or saved):
        raise UsageError(
            f"{'--fail-below' if limits else saved} does not work with --engine spark",
            hint="use `cranfield eval --engine spark --fail-below`" if limits else "",
        )


def _saved_baseline(baseline: str | None, runs: Sequence[str]) -> Scores | None:
    """The scores of one run, if the baseline is a file of saved scores."""
    from cranfield.evaluation.scores import Scores

    path, _, name = (baseline or "").partition("#")
    if not path.endswith(SAVED) or baseline in runs:
        return None
    scores = Scores.load(path)
    if name and name not in scores.runs:
        raise UsageError(f"{path} has no run `{name}`", hint=f"its runs are {few(scores.runs, 10)}")
    if not name and len(scores.runs) > 1:
        raise UsageError(
            f"{path} has {len(scores.runs)} runs", hint=f"name one of them: --baseline '{path}#{scores.runs[0]}'"
        )
    return scores.only_run(name or scores.runs[0])


def _baseline_name(
    baseline: str | None, runs: Sequence[str], name_of: Mapping[str, str], means: Callable[[], ScoreTable]
) -> str | None:
    """The run that is the baseline: "" is the first run, and ``best`` the best one unless a run has this name."""
    from cranfield.analysis.compare import baseline_name

    if baseline == "":
        return runs[0]
    if baseline is not None and baseline in name_of:
        return name_of[baseline]
    return baseline_name(baseline, runs, means)


def _top_runs(scores: Scores, top: int, baseline: str | None, *, saved: bool) -> Scores:
    """The best runs by the first measure, and the baseline, which counts as one of the runs unless it is ``saved``."""
    skipped = 1 if saved else 0  # saved scores are the first run
    rows = {skipped + row for row in scores.of_runs(range(skipped, len(scores.runs))).best(top)}
    if baseline in scores.runs:
        rows.add(scores.runs.index(baseline))
    return scores.of_runs(sorted(rows))


def _compare(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    checked: list[str],
    baseline: str | None,
    top: int | None,
    settings: ComparisonSettings,
    audit: bool | None,
    standardise: Standardisation | None,
    announce: Say | None,
    given: dict[str, Any],
) -> Outcome:
    """The comparison of runs that are read here. The baseline "" is the first run; ``announce`` prints notes early."""
    from cranfield.analysis.compare import compare_scores, resolution_of, with_reversals
    from cranfield.evaluation.notes import input_notes, sentences

    saved = _saved_baseline(baseline, runs)
    if saved is not None and measures is None and not checked:
        measures = [str(column.measure) for column in saved.columns if column.part == "value"]
    evaluation, notes = read_evaluation(qrels, runs, measures, guarded=checked, **given)
    label_of = gate.labels_of(evaluation.columns, checked, options.guarded_columns(checked, evaluation.policy))
    scores = evaluation.scores if standardise is None else evaluation.scores.standardised(standardise)
    name_of = dict(zip(reversed(runs), reversed(evaluation.runs), strict=True))  # the first, if a file is given twice
    if saved is not None:
        scores = scores.with_run(saved)
        name: str | None = scores.runs[0]
    else:
        name = _baseline_name(baseline, scores.runs, name_of, lambda: scores)
    if top is not None and top < len(evaluation.runs):
        notes.append(f"{top} of {len(evaluation.runs)} runs are compared, those with the highest {scores.measures[0]}")
        scores = _top_runs(scores, top, name, saved=saved is not None)
        if len(scores.runs) < 2:
            raise UsageError(
                "compare needs at least two runs, and --top 1 leaves one",
                hint="use --top 2 or more, or name another run as the baseline",
            )
    if announce is not None:
        announce(sentences(resolution_of(scores, settings, name)))
    with progress("Comparing measures") as step:
        comparison = compare_scores(scores, settings, name, step)
    notes += input_notes(scores.notes)
    if saved is not None:
        return Outcome(comparison, label_of, notes + ([] if audit is False else [SCORES_ONLY]), evaluation.scores)
    if standardise is None and audit is not False:
        with progress("Auditing runs") as step:
            comparison = with_reversals(comparison, evaluation, only_significant=not audit, progress=step)
    if evaluation.collection.predicted is not None and standardise is None:
        from cranfield.analysis.compare import with_predictions
        from cranfield.evaluation.evaluator import read_runs

        comparison = with_predictions(comparison, evaluation, read_runs(list(runs), duplicates=given["duplicates"]))
    return Outcome(comparison, label_of, notes, evaluation.scores)


def _compare_on_spark(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    checked: list[str],
    baseline: str | None,
    settings: ComparisonSettings,
    master: str | None,
    scores: str | None,
    warning: str | None,
    announce: Say | None,
    given: dict[str, Any],
) -> Outcome:
    """The same, computed by Spark."""
    from cranfield.evaluation.columns import make_columns
    from cranfield.evaluation.notes import sentences

    collection, chosen = collection_of(qrels, given)
    policy = collection.policy(**chosen)
    asked = options.guarded_columns(checked, policy)
    columns: list[Column] = []
    notes: list[str] = []
    if measures is not None or not checked:
        names, notes = options.choose_measures(measures, None, terminal=policy.terminal)
        columns = make_columns(names, policy.views)
    columns += options.absent(asked, columns)
    label_of = gate.labels_of(columns, checked, asked)
    with spark.evaluate(collection, runs, columns, master, scores, chosen) as (frame, name_of):
        name = _baseline_name(baseline, frame.runs, name_of, lambda: frame)
        comparison = frame.compare(name, **asdict(settings))
        if announce is not None:
            announce(sentences(comparison.resolution_notes))
        notes += [*sentences(frame.evaluation_notes), *([warning] if warning else [])]
        return Outcome(comparison, label_of, notes)
