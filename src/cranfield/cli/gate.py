"""Options and exit codes of checks for pipelines: --fail-if-worse, --fail-below, --fail-above, --junit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import click

from cranfield.cli import options
from cranfield.cli.commands import RARE, Option, Settings
from cranfield.cli.output import quiet, replace, say

if TYPE_CHECKING:
    from cranfield.analysis.gates import Gate, Rule, Verdict
    from cranfield.evaluation.plan import Column, Policy

WORSE = 3  # the exit code if a check fails
UNDECIDED = 4  # the exit code if no check fails, but one cannot be decided
MOST_PASSED = 10  # so many checks that passed are shown with their numbers
MORE = "use more queries, or a larger margin"
REMEDY = "use more queries, another --test, or --ignore-significance to let --margin alone decide"


def _measures(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> list[str]:
    return options.measure_names(values)


def _not_nan(ctx: click.Context, param: click.Parameter, value: float) -> float:
    # No difference is below NaN: the check would let every run pass.
    if math.isnan(value):
        raise click.BadParameter("must be a number, not nan.", ctx, param)
    return value


def _limits(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Measures and their limits, from texts such as ``nDCG@10=0.70``."""
    lower = param.name == "limits"
    limits = _numbers(ctx, param, values, max if lower else min)
    for measure, limit in limits.items():
        _check_limit(measure, "at_least" if lower else "at_most", limit)
    return limits


def _numbers(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...], strictest: Callable[..., float]
) -> dict[str, float]:
    """Numbers by measure; of several for one measure, the strictest."""
    limits: dict[str, float] = {}
    for value in options.measure_names(values):
        measure, _, text = value.rpartition("=")
        try:
            limit = float(text)
        except ValueError:
            limit = math.nan
        if not measure or not math.isfinite(limit):
            raise click.BadParameter(f"`{value}` is not of the form MEASURE=VALUE, such as nDCG@10=0.70.", ctx, param)
        limits[measure] = strictest(limit, limits.get(measure, limit))
    return limits


def _margins(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Measures and their margins, which are positive."""
    margins = _numbers(ctx, param, values, min)
    for measure, margin in margins.items():
        if margin <= 0:
            raise click.BadParameter(f"the margin of {measure} must be positive.", ctx, param)
    return margins


def _check_limit(measure: str, rule: Rule, limit: float) -> None:
    from cranfield.analysis.gates import check_limit
    from cranfield.errors import MeasureError
    from cranfield.measures import parse

    with suppress(MeasureError):  # of scores from elsewhere, any text is a measure; others are refused later
        check_limit(parse(measure), rule, limit)


class Baselines(Settings):
    """Which saved baselines are accepted."""

    GROUP = "Checks for pipelines"

    allow_changed_judgments: Annotated[
        bool,
        "Accept saved scores of other judgments; only queries with unchanged judgments are compared.",
        RARE,
    ] = False


class Regressions(Baselines):
    """Checks against a baseline."""

    GROUP = "Checks for pipelines"

    guarded: Annotated[
        list[str],
        tuple,
        options.MeasureName(),
        "Exit with code 3 if a run is significantly worse than the baseline in this measure, 4 if the queries are "
        "too few to decide; may be repeated.",
        Option("--fail-if-worse", "MEASURE", callback=_measures),
    ] = []  # noqa: RUF012 - the value of click's callback
    margin: Annotated[
        float,
        click.FloatRange(0, math.inf, max_open=True),
        "With --fail-if-worse: ignore differences up to this size.",
        Option("--margin --by", callback=_not_nan),
    ] = 0.0
    margins: Annotated[
        dict[str, float],
        tuple,
        str,
        "Exit with code 3 if a run is shown to be worse than the baseline by more than this, such as nDCG@10=0.01, 4 "
        "if this is undecided; may be repeated.",
        Option("--not-worse-by", "MEASURE=VALUE", callback=_margins),
    ] = {}  # noqa: RUF012 - the value of click's callback
    ignore_significance: Annotated[
        bool, "Let --margin alone decide: a mean that is lower by more than that fails, significant or not.", RARE
    ] = False


class Limits(Settings):
    """Checks of means."""

    GROUP = "Checks for pipelines"

    limits: Annotated[
        dict[str, float],
        tuple,
        str,
        "Exit with code 3 if the mean of a run is below this value, such as nDCG@10=0.70; may be repeated.",
        Option("--fail-below", "MEASURE=VALUE", callback=_limits),
    ] = {}  # noqa: RUF012 - the value of click's callback
    upper_limits: Annotated[
        dict[str, float],
        tuple,
        str,
        "Exit with code 3 if the mean of a run is above this value, such as FalseAnswer=0.05; may be repeated.",
        Option("--fail-above", "MEASURE=VALUE", callback=_limits),
    ] = {}  # noqa: RUF012 - the value of click's callback
    junit: Annotated[options.OutputPath | None, "Write the results as JUnit XML, for CI servers.", RARE] = None

    @property
    def limited(self) -> list[str]:
        """The measures with a limit."""
        return [*self.limits, *self.upper_limits]


def gates_of(
    label_of: Mapping[str, str],
    at_least: Mapping[str, float],
    not_worse_by: Mapping[str, float] | None = None,
    guarded: Sequence[str] = (),
    margin: float = 0.0,
    *,
    significance: bool = True,
    at_most: Mapping[str, float] | None = None,
) -> dict[str, Gate]:
    """What must hold of each column; of several limits of one measure under different names, the strictest."""
    from cranfield.analysis.gates import Gate

    found: dict[str, dict[str, Any]] = {}

    def add(name: str, rule: str, number: float, strictest: Callable[..., float]) -> None:
        of_label = found.setdefault(label_of[name], {})
        of_label[rule] = strictest(number, of_label.get(rule, number))

    for name in guarded:
        add(name, "margin" if significance else "may_drop", margin, min)
        found[label_of[name]]["no_significant_loss"] = significance
    for name, number in (not_worse_by or {}).items():
        add(name, "not_worse_by", number, min)
    for name, number in at_least.items():
        add(name, "at_least", number, max)
    for name, number in (at_most or {}).items():
        add(name, "at_most", number, min)
    return {label: Gate(**of_label) for label, of_label in found.items()}


def labels_of(columns: Sequence[Column], names: Sequence[str], asked: Sequence[Column]) -> dict[str, str]:
    """The label of the column of each checked measure, by the name that the user gave.

    ``asked``: the columns of the names; ``columns``: those that are shown, perhaps under other labels.
    """
    label_of = {column.measure: column.label for column in reversed(columns) if column.part == "value"}
    return {name: label_of[column.measure] for name, column in zip(names, asked, strict=True)}


def with_checked(
    measures: Sequence[str], checked: Sequence[str], policy: Policy
) -> tuple[Sequence[Any], dict[str, str]]:
    """The measures, and columns of the checked ones that are not among them; the label of each checked measure.

    ``policy`` has the views of every measure that does not name its own.
    """
    from cranfield.evaluation.plan import make_columns

    if not checked:
        return measures, {}
    columns, asked = make_columns(measures, policy.views), options.guarded_columns(checked, policy)
    extra = options.absent(asked, columns)
    return [*measures, *extra], labels_of([*columns, *extra], checked, asked)


def conclude(verdict: Verdict | None, junit: str | None, command: str, hint: str = "") -> None:
    """Write JUnit XML, print a sentence for each check that did not pass, and exit with the code of the checks.

    If all passed, and are not too many, each has its sentence. ``hint``: what to do if a check cannot be decided.
    """
    if verdict is None or not (verdict.checks or junit):
        return
    from cranfield.report.gates import headline, junit_xml, sentence

    if junit:
        replace(junit, junit_xml(verdict, command).encode())
    number, passed = len(verdict.checks), verdict.outcome == "passed"
    if not number:
        return
    if (number > 1 or passed) and not quiet():
        say(headline(verdict))
    shown = [*verdict.let_through, *verdict.of("undecided"), *verdict.of("failed")]
    for check in verdict.checks if passed and number <= MOST_PASSED and not quiet() else shown:
        say(sentence(check, verdict.comparison))
    if verdict.outcome == "undecided" and hint:
        say(f"\nhint: {hint}")
    if not passed:
        click.get_current_context().exit(WORSE if verdict.outcome == "failed" else UNDECIDED)
