"""Options and exit codes of checks for pipelines: the rules of gates (--at-least, --may-drop, ...) and --junit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any

import click

from cranfield.analysis.gates import LIMITS, REGRESSIONS, Gate, Verdict, check_gate
from cranfield.cli import options
from cranfield.cli.commands import RARE, Option, OptionGroup
from cranfield.cli.output import quiet, replace, say
from cranfield.errors import MeasureError
from cranfield.settings import Field, check_all, declared, walk

WORSE = 3  # the exit code if a check fails
UNDECIDED = 4  # the exit code if no check fails, but one cannot be decided
MOST_PASSED = 10  # number of passed checks that are shown with their numbers
MORE = "use more queries, or a larger margin"
REMEDY = "use more queries, another --test, or --may-drop MEASURE=VALUE, which needs no significance"
Gates = Annotated[dict[str, Any], tuple]


def _gates(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, list[Gate]]:
    """The gates of each measure, from texts such as ``nDCG@10=0.70``; raises for a number that does not suit it."""
    if not values:
        return {}
    from cranfield.measures import parse

    rule, gates = str(param.name), dict[str, list[Gate]]()
    flag = declared(Gate)[rule].default is False
    for text in options.measure_names(values):
        measure, _, last = text.rpartition("=")
        number = math.nan
        with suppress(ValueError):
            number = float(last)
        if math.isnan(number) and flag:
            measure, number = text, 0.0
        if not measure or not math.isfinite(number):
            raise click.BadParameter(f"`{text}` is not of the form MEASURE=VALUE, such as nDCG@10=0.70.", ctx, param)
        fields: dict[str, Any] = {rule: True, "margin": number} if flag else {rule: number}
        gate = Gate(**check_all(Gate, fields))
        with suppress(MeasureError):  # of scores from elsewhere, any text is a measure; others are refused later
            check_gate(parse(measure), gate)
        gates.setdefault(measure, []).append(gate)
    return gates


class Baselines(OptionGroup):
    """Which saved baselines are accepted."""

    GROUP = "Checks for pipelines"

    allow_changed_judgments: Annotated[
        bool,
        "Accept saved scores of other judgments; only queries with unchanged judgments are compared.",
        RARE,
    ] = False


def _options(rules: Iterable[str]) -> dict[str, Field]:
    """An option for each of these rules of a gate; of a rule that is on or off, a value is its margin."""
    fields = {}
    for rule in rules:
        kind, default = declared(Gate)[rule]
        metavar, help = "MEASURE=X", kind.help
        if default is False:
            metavar, help = "MEASURE", f"{help[:-1]}; MEASURE=VALUE ignores differences up to this size."
        option = (kind.find(Option) or Option())._replace(metavar=metavar, callback=_gates)
        fields[rule] = Field(walk(Gates, (help, option)), {})
    return fields


class Regressions(OptionGroup):
    """Checks against a baseline."""

    GROUP = "Checks for pipelines"
    FIELDS = _options(REGRESSIONS)

    no_significant_loss: Any


class LimitOptions(OptionGroup):
    """Checks of means."""

    GROUP = "Checks for pipelines"
    FIELDS = _options(LIMITS)

    junit: Annotated[options.OutputPath | None, "Write the results as JUnit XML, for CI servers.", RARE] = None


def measures_of(settings: OptionGroup, rules: Iterable[str]) -> list[str]:
    """The measures that have one of these rules."""
    return list(dict.fromkeys(measure for rule in rules for measure in getattr(settings, rule)))


def gates_of(settings: OptionGroup, rules: Iterable[str], label_of: Mapping[str, str]) -> dict[str, list[Gate]]:
    """What must hold of each column."""
    by_label: dict[str, list[Gate]] = {}
    for rule in rules:
        for measure, gates in getattr(settings, rule).items():
            by_label.setdefault(label_of[measure], []).extend(gates)
    return by_label


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
