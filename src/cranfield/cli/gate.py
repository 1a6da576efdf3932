"""Options and exit codes of checks for pipelines: the rules of gates (--at-least, --may-drop, ...) and --junit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import click

from cranfield.cli import options
from cranfield.cli.commands import RARE, Option, OptionGroup
from cranfield.cli.output import quiet, replace, say

if TYPE_CHECKING:
    from cranfield.analysis.gates import Gate, Verdict

WORSE = 3  # the exit code if a check fails
UNDECIDED = 4  # the exit code if no check fails, but one cannot be decided
MOST_PASSED = 10  # number of passed checks that are shown with their numbers
MORE = "use more queries, or a larger margin"
REMEDY = "use more queries, another --test, or --may-drop MEASURE=VALUE, which needs no significance"
LIMITS = "at_least", "at_most"  # of means
TEST = "no_significant_loss"
REGRESSIONS = TEST, "may_drop", "not_worse_by"  # against a baseline
Numbers = Annotated[dict[str, float], tuple, str]


def _numbers(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """The number of each measure, from texts such as ``nDCG@10=0.70``; of several for one measure, the strictest."""
    rule, numbers = str(param.name), dict[str, float]()
    for text in options.measure_names(values):
        measure, _, last = text.rpartition("=")
        number = math.nan
        with suppress(ValueError):
            number = float(last)
        if math.isnan(number) and rule == TEST:
            measure, number = text, 0.0
        if not measure or not math.isfinite(number):
            raise click.BadParameter(f"`{text}` is not of the form MEASURE=VALUE, such as nDCG@10=0.70.", ctx, param)
        _check(rule, measure, number)
        numbers[measure] = _strictest(rule)(number, numbers.get(measure, number))
    return numbers


def _check(rule: str, measure: str, number: float) -> None:
    """Raise if a number cannot be that of a rule, or does not suit the measure."""
    from cranfield.analysis.gates import Gate, check_gate
    from cranfield.errors import MeasureError
    from cranfield.measures import parse
    from cranfield.settings import check, declared

    if rule != TEST:
        check(declared(Gate)[rule].type, f"--{rule.replace('_', '-')} {measure}", number)
    elif number < 0:
        check(declared(Gate)["margin"].type, f"the margin of {measure}", number)
    limit: dict[str, Any] = {rule: number}
    if rule in LIMITS:
        with suppress(MeasureError):  # of scores from elsewhere, any text is a measure; others are refused later
            check_gate(parse(measure), Gate(**limit))


class Baselines(OptionGroup):
    """Which saved baselines are accepted."""

    GROUP = "Checks for pipelines"

    allow_changed_judgments: Annotated[
        bool,
        "Accept saved scores of other judgments; only queries with unchanged judgments are compared.",
        RARE,
    ] = False


class Regressions(OptionGroup):
    """Checks against a baseline."""

    GROUP = "Checks for pipelines"

    no_significant_loss: Annotated[
        Numbers,
        "No run may be significantly worse than the baseline; MEASURE=VALUE ignores differences up to this size.",
        Option(metavar="MEASURE", callback=_numbers),
    ] = {}  # noqa: RUF012 - the value of click's callback
    may_drop: Annotated[
        Numbers,
        "No mean may be lower than the baseline's by more; significant or not.",
        Option(metavar="MEASURE=X", callback=_numbers),
    ] = {}  # noqa: RUF012
    not_worse_by: Annotated[
        Numbers,
        "Each run must be shown not to be worse than the baseline by this or more.",
        Option(metavar="MEASURE=X", callback=_numbers, rare=True),
    ] = {}  # noqa: RUF012


class LimitOptions(OptionGroup):
    """Checks of means."""

    GROUP = "Checks for pipelines"

    at_least: Annotated[
        Numbers,
        "The mean of no run may be below this value, such as nDCG@10=0.70; may be repeated. Exit codes of checks: 0 "
        "passed, 3 failed, 4 not decided.",
        Option(metavar="MEASURE=X", callback=_numbers),
    ] = {}  # noqa: RUF012
    at_most: Annotated[
        Numbers,
        "The mean of no run may be above this value, such as FalseAnswer=0.05.",
        Option(metavar="MEASURE=X", callback=_numbers, rare=True),
    ] = {}  # noqa: RUF012
    junit: Annotated[options.OutputPath | None, "Write the results as JUnit XML, for CI servers.", RARE] = None


def measures_of(settings: OptionGroup, rules: Iterable[str]) -> list[str]:
    """The measures that have one of these rules."""
    return list(dict.fromkeys(measure for rule in rules for measure in getattr(settings, rule)))


def gates_of(settings: OptionGroup, rules: Iterable[str], label_of: Mapping[str, str]) -> dict[str, Gate]:
    """What must hold of each column; of several numbers of one measure under different names, the strictest."""
    from cranfield.analysis.gates import Gate

    fields_of: dict[str, dict[str, Any]] = {}
    for rule in rules:
        for measure, number in getattr(settings, rule).items():
            fields = fields_of.setdefault(label_of[measure], {})
            name = "margin" if rule == TEST else rule
            fields[name] = _strictest(rule)(number, fields.get(name, number))
            fields |= {TEST: True} if rule == TEST else {}
    return {label: Gate(**fields) for label, fields in fields_of.items()}


def _strictest(rule: str) -> Callable[..., float]:
    return max if rule == "at_least" else min


def conclude(verdict: Verdict | None, junit: str | None, command: str, hint: str = "") -> None:
    """Write JUnit XML, print a sentence for each check that did not pass, and exit with the code of the checks.

    If all passed, and are not too many, each has its sentence. ``hint``: what to do if a check cannot be decided.
    """
    if verdict is None or not (verdict.checks or junit):
        return
    from cranfield.report.gates import headline, junit_xml, lost_lines, sentence

    if junit:
        replace(junit, junit_xml(verdict, command).encode())
    number, passed = len(verdict.checks), verdict.outcome == "passed"
    if not number:
        return
    if (number > 1 or passed) and not quiet():
        say(headline(verdict))
    shown = [*verdict.let_through, *verdict.of("undecided"), *verdict.of("failed")]
    for check in verdict.checks if passed and number <= MOST_PASSED and not quiet() else shown:
        say("\n".join([sentence(check), *lost_lines(check)]))
    if verdict.outcome == "undecided" and hint:
        say(f"\nhint: {hint}")
    if not passed:
        click.get_current_context().exit(WORSE if verdict.outcome == "failed" else UNDECIDED)
