"""The verdict of gates as sentences, Markdown and JUnit XML."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from cranfield.analysis.compare import Comparison
from cranfield.analysis.gates import LIMITS, Check, Outcome, Verdict
from cranfield.analysis.significance import lowest_p
from cranfield.report.compare import chance_words, method, quantity
from cranfield.report.pages import piped
from cranfield.report.sheet import shown, signed
from cranfield.statistics.rounding import SAME
from cranfield.wording import few, percent, plural, shortened

# Characters that XML cannot represent.
MOST_LOST = 5  # queries that are listed below a check
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def title(check: Check) -> str:
    """What was checked."""
    scope = f" ({check.scope})" if check.scope else ""
    if check.pair is None:
        return f"{check.measure} of {check.rule.replace('_', ' ')} {check.limit:g}{scope}"
    margin = f", margin {check.limit:g}" if check.rule == "not_worse_by" else ""
    return f"{check.measure} vs {check.pair.other}{margin}{scope}"


def sentence(check: Check) -> str:
    """The outcome with its numbers."""
    text = _limit(check) if check.pair is None or check.comparison is None else _against(check, check.comparison)
    return f"{check.scope}: {text}" if check.scope else text


def lost_lines(check: Check, most: int = MOST_LOST) -> list[str]:
    """The queries that lost most in a check that did not just pass, with their texts."""
    if check.pair is None or check.compared is None or not (check.outcome == "failed" or check.lets_through):
        return []
    values, texts = check.compared[check.measure].per_query, check.compared._texts
    lines = []
    for query in check.lost[:most]:
        old, new = (shown(values[run][query] or 0.0, 4) for run in (check.pair.other, check.run))
        lines.append(f"  {query}  {old} → {new}  {shortened(texts.get(query, ''))}".rstrip())
    more = len(check.lost) - most
    return [*lines, f"  ... and {plural(more, 'more query')}"] if more > 0 else lines


def _against(check: Check, comparison: Comparison) -> str:
    """The outcome of a run against the baseline."""
    assert check.pair is not None
    pair = check.pair
    means = f"{check.measure} {shown(pair.mean, 4)} vs {shown(pair.other_mean, 4)}"
    of_test = check.rule == "no_significant_loss"
    difference = f"{quantity(comparison) if of_test else 'difference'} "
    difference += signed(pair.estimate if of_test else pair.difference, 4)
    runs = f"{pair.run} is worse than {pair.other}"
    if check.rule == "no_loss":
        lost = plural(len(check.lost), "query") if check.lost else "no query"
        unknown = ", but not all have a value" if check.outcome == "undecided" else ""
        return f"{pair.run} against {pair.other}: {lost} lost in {check.measure}{unknown}"
    if check.rule == "not_worse_by":
        sentences = {
            "passed": f"{pair.run} is not worse than {pair.other} by {check.limit:g} or more",
            "failed": f"{runs} by more than {check.limit:g}",
            "undecided": f"cannot decide whether {runs} by more than {check.limit:g}",
        }[check.outcome]
        differ = f"{pair.wins + pair.losses:,} of {plural(pair.queries, 'query')} differ"
        if sum(pair.variance) <= SAME**2:
            return f"{sentences}: {means} ({difference}; {differ}, which shows no spread to judge by)"
        bounds = [f"at least {signed(check.low, 4)}", f"at most {signed(check.high, 4)}"]
        if check.outcome != "undecided":
            bounds = bounds[:1] if (check.outcome == "passed") == (comparison[check.measure].sign > 0) else bounds[1:]
        elif math.isinf(check.low) or math.isinf(check.high):
            bounds = [bound for bound, end in zip(bounds, (check.low, check.high), strict=True) if math.isfinite(end)]
            differ += f", and {check.measure} has no largest loss"
        confidence = percent(1 - comparison.settings.alpha)
        return f"{sentences}: {means} ({difference}, with {confidence} confidence {' and '.join(bounds)}; {differ})"
    numbers = f"{means} ({difference}{f', tolerance {check.limit:g}' if check.limit else ''}"
    queries, how = plural(pair.queries, "query"), method(comparison, check.measure)
    if check.outcome == "undecided":
        lowest = lowest_p(comparison.settings, comparison[check.measure].units, sides=1)
        why = f"the lowest possible corrected p-value is {lowest:.2g}"
        if lowest < comparison.settings.alpha and not pair.decides:
            why = "all queries differ by the same"
        reason = f"{queries}; {why}; {how}"
        return f"cannot decide whether {runs}: {numbers}; {reason})"
    reason = f"one-sided p {chance_words(check.p)}; {how}" if of_test else f"{queries}, significance ignored"
    if check.lets_through:
        won = f"{pair.wins:,}" if pair.wins else "none"
        names = f": {few(check.lost)}" if check.lost else ""
        lost = f"{plural(pair.losses, 'query')} lost and {won} won{names}"
        return f"{pair.run} vs {pair.other} passed: no significant loss, but {lost}; {numbers}; {reason})"
    if check.outcome == "failed":
        return f"{runs}: {numbers}; {reason})"
    allowed = "an allowed loss" if comparison[check.measure].sign * pair.difference < 0 else "no loss"
    loss = "no significant loss" if of_test else allowed
    return f"{pair.run}: {loss} against {pair.other}: {numbers}; {reason})"


def _limit(check: Check) -> str:
    mean, limit = check.mean, check.limit
    side = LIMITS[check.rule]
    sign = 1 if side == "below" else -1
    # A mean just beyond the limit must not be rounded to it.
    kept = (d for d in range(4, 17) if check.outcome != "failed" or sign * float(f"{mean:.{d}f}") < sign * limit)
    digits = next(kept, 17)
    what = {"passed": f"is not {side}", "failed": f"is {side}", "undecided": "is undefined; the limit is"}[
        check.outcome
    ]
    number = "" if check.outcome == "undecided" else f" {shown(mean, digits)}"
    return f"{check.run}: {check.measure}{number} {what} {limit:g}"


def sentences(verdict: Verdict, *outcomes: Outcome) -> list[str]:
    """A sentence for each check with one of these outcomes, or for all."""
    checks = [check for check in verdict.checks if not outcomes or check.outcome in outcomes]
    return [sentence(check) for check in checks]


def to_dict(verdict: Verdict) -> list[dict[str, Any]]:
    """The checks as plain data."""
    return [
        {
            "run": check.run,
            "title": title(check),
            "outcome": check.outcome,
            "sentence": sentence(check),
            "lost": list(check.lost),
        }
        for check in verdict.checks
    ]


def markdown(verdict: Verdict) -> str:
    """The checks as a section of a job summary: a headline, then a line for each check, failures first."""
    marks: dict[Outcome, str] = {"failed": "❌", "undecided": "⚠️", "passed": "✅"}
    lines = [f"- {mark} {piped(text)}" for outcome, mark in marks.items() for text in sentences(verdict, outcome)]
    return "\n".join([f"**{headline(verdict)}**", "", *lines, "", ""])


def headline(verdict: Verdict) -> str:
    """How many checks passed, failed and were not decided."""
    counts = {outcome: len(verdict.of(outcome)) for outcome in ("failed", "undecided", "passed")}
    texts = [f"{number} {outcome}" for outcome, number in counts.items() if number]
    return f"{plural(len(verdict.checks), 'check')}: {', '.join(texts) or 'none'}"


def junit_xml(verdict: Verdict, command: str = "cranfield compare") -> str:
    """The checks as a JUnit test suite, one test case each; a check that cannot be decided is an error."""

    def clean(text: str) -> str:
        return UNWRITABLE.sub("\ufffd", text)

    failures, errors = (str(len(verdict.of(kind))) for kind in ("failed", "undecided"))
    suite = Element("testsuite", name=command, tests=str(len(verdict.checks)), failures=failures, errors=errors)
    for check in verdict.checks:
        case = SubElement(suite, "testcase", classname=clean(check.run), name=clean(title(check)))
        text = clean(sentence(check))
        if check.outcome == "passed":
            SubElement(case, "system-out").text = text
        else:
            SubElement(case, "failure" if check.outcome == "failed" else "error", message=text)
    indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"
