"""Checks for pipelines: is a run worse than the baseline, or below a limit? As sentences, Markdown and JUnit XML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from cranfield.analysis.compare import Comparison, PairComparison
from cranfield.errors import UsageError
from cranfield.evaluation.scores import ScoreTable
from cranfield.measures import Measure
from cranfield.regex import regex
from cranfield.report.compare import chance_words, method
from cranfield.report.pages import piped
from cranfield.report.sheet import shown, signed
from cranfield.statistics.rounding import SAME
from cranfield.wording import percent, plural

# Characters that XML cannot represent.
UNWRITABLE = regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Outcome = Literal["passed", "failed", "undecided"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class Check(NamedTuple):
    """One run in one measure: whether it passed, and why, in a sentence; ``title`` says what was checked."""

    run: str
    title: str
    outcome: Outcome
    sentence: str


def check_regressions(
    comparison: Comparison, measures: Sequence[str], by: float = 0.0, *, significance: bool = True
) -> list[Check]:
    """Check each guarded measure and run: worse means significantly lower, by more than ``by``.

    Without ``significance``, any mean that is lower by more than ``by`` is worse. With it, a check is undecided if no
    difference could be significant, however large.
    """
    return [
        _regression(comparison, comparison.measures.index(pair.measure), pair, by, significance=significance)
        for pair in comparison.contests
        if pair.measure in measures
    ]


def _regression(comparison: Comparison, measure: int, pair: PairComparison, by: float, *, significance: bool) -> Check:
    lowest_p = comparison.lowest_p[measure]
    title = f"{pair.measure} vs {pair.other}"
    numbers = (
        f"{pair.measure} {shown(pair.mean, 4)} vs {shown(pair.other_mean, 4)} (difference {signed(pair.difference, 4)}"
        f"{f', tolerance {by:g}' if by else ''}"
    )
    queries = plural(pair.wins + pair.ties + pair.losses, "query")
    lower = pair.difference * comparison.signs[measure] < -by - SAME
    if math.isnan(pair.difference) or (significance and lowest_p >= comparison.alpha):
        reason = f"; {queries}; the lowest possible corrected p-value is {lowest_p:.2g}; {method(comparison, measure)})"
        sentence = f"cannot decide whether {pair.run} is worse than {pair.other}: {numbers}{reason}"
        return Check(pair.run, title, "undecided", sentence)
    if significance:
        reason = f"; corrected p {chance_words(pair.corrected)}; {method(comparison, measure)})"
    else:
        reason = f"; {queries}, significance ignored)"
    worse = lower and (pair.significant or not significance)
    sentence = f"{pair.run} is worse than {pair.other}: {numbers}{reason}"
    if not worse:
        sentence = (
            f"{pair.run}: no {'significant ' if significance else ''}loss against {pair.other}: {numbers}{reason}"
        )
    return Check(pair.run, title, "failed" if worse else "passed", sentence)


def check_margins(comparison: Comparison, margins: Mapping[str, float]) -> list[Check]:
    """Check that each run is not worse than the baseline by more than a margin, given by the label of a measure.

    It passes if the one-sided lower bound of the difference, by Student's t, is above the negative margin, and fails if
    the upper bound is below it; in between it is undecided.
    """
    checks = []
    for pair in comparison.contests:
        if pair.measure in margins:
            m = comparison.measures.index(pair.measure)
            margin, sign = margins[pair.measure], float(comparison.signs[m])
            low, high = comparison.one_sided(m, (pair.run, pair.other))
            worst, best = (low, high) if sign > 0 else (-high, -low)
            outcome: Outcome = "passed" if worst > -margin else "failed" if best < -margin else "undecided"
            said = {
                "passed": f"{pair.run} is not worse than {pair.other} by {margin:g} or more",
                "failed": f"{pair.run} is worse than {pair.other} by more than {margin:g}",
                "undecided": f"cannot decide whether {pair.run} is worse than {pair.other} by more than {margin:g}",
            }[outcome]
            bounds = [f"at least {signed(low, 4)}", f"at most {signed(high, 4)}"]
            if outcome != "undecided":
                bounds = bounds[:1] if (outcome == "passed") == (sign > 0) else bounds[1:]
            within = " and ".join(bounds)
            numbers = (
                f"difference {signed(pair.difference, 4)}, with {percent(1 - comparison.alpha)} confidence {within}"
            )
            sentence = f"{said}: {pair.measure} {shown(pair.mean, 4)} vs {shown(pair.other_mean, 4)} ({numbers})"
            checks.append(Check(pair.run, f"{pair.measure} vs {pair.other}, margin {margin:g}", outcome, sentence))
    return checks


def check_limit(measure: Measure, limit: float) -> None:
    """Raise if a limit is beyond the bounds of a measure, so that a check would never or always pass."""
    lowest, highest = measure.definition.bounds
    if measure.views.sampled or lowest <= limit <= highest:  # estimates may exceed the bounds
        return
    values = f"at least {lowest:g}" if math.isinf(highest) else f"between {lowest:g} and {highest:g}"
    raise UsageError(
        f"the limit {limit:g} is outside the bounds of {measure}, whose values are {values}",
        hint="no run could pass" if limit > highest else "every run would pass",
    )


def check_limits(scores: ScoreTable, limits: Mapping[str, float]) -> list[Check]:
    """Check the mean of each run against the lower limits of measures, given by their labels."""
    for label, limit in limits.items():
        check_limit(scores.columns[scores.measures.index(label)].measure, limit)
    checks = []
    for r, run in enumerate(scores.runs):
        for label, limit in limits.items():
            mean = float(scores._means[r, scores.measures.index(label)])
            outcome: Outcome = "undecided" if math.isnan(mean) else "failed" if mean < limit - SAME else "passed"
            # A mean just below the limit must not be rounded up to it.
            digits = next((d for d in range(4, 17) if outcome != "failed" or float(f"{mean:.{d}f}") < limit), 17)
            what = {"passed": "is not below", "failed": "is below", "undecided": "is undefined; the limit is"}[outcome]
            number = "" if outcome == "undecided" else f" {shown(mean, digits)}"
            checks.append(
                Check(run, f"{label} of at least {limit:g}", outcome, f"{run}: {label}{number} {what} {limit:g}")
            )
    return checks


def markdown(checks: Sequence[Check]) -> str:
    """The checks as a section of a job summary: a headline, then a line for each check, failures first."""
    order: dict[Outcome, str] = {"failed": "❌", "undecided": "⚠️", "passed": "✅"}
    ranked = sorted(checks, key=lambda check: list(order).index(check.outcome))
    lines = [f"- {order[check.outcome]} {piped(check.sentence)}" for check in ranked]
    return "\n".join([f"**{headline(checks)}**", "", *lines, "", ""])


def headline(checks: Sequence[Check]) -> str:
    """How many checks passed, failed and were not decided."""
    counts = {
        outcome: sum(check.outcome == outcome for check in checks) for outcome in ("failed", "undecided", "passed")
    }
    texts = [f"{number} {outcome}" for outcome, number in counts.items() if number]
    return f"{plural(len(checks), 'check')}: {', '.join(texts) or 'none'}"


def junit_xml(checks: Sequence[Check], command: str = "cranfield compare") -> str:
    """The checks as a JUnit test suite, one test case each; a check that cannot be decided is an error."""

    def clean(text: str) -> str:
        return UNWRITABLE.sub("\ufffd", text)

    failures, errors = (str(sum(check.outcome == kind for check in checks)) for kind in ("failed", "undecided"))
    suite = Element("testsuite", name=command, tests=str(len(checks)), failures=failures, errors=errors)
    for check in checks:
        case = SubElement(suite, "testcase", classname=clean(check.run), name=clean(check.title))
        if check.outcome == "passed":
            SubElement(case, "system-out").text = clean(check.sentence)
        else:
            SubElement(case, "failure" if check.outcome == "failed" else "error", message=clean(check.sentence))
    indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"
