"""Regression checks for pipelines: is a run worse than the baseline? As sentences and as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from cranfield.analysis.compare import Comparison, PairComparison
from cranfield.report.compare import chance, method
from cranfield.report.numbers import signed

# Characters that XML cannot represent.
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class RegressionCheck(NamedTuple):
    """One run against the baseline in one guarded measure."""

    pair: PairComparison
    worse: bool
    sentence: str


def check_regressions(comparison: Comparison, measures: Sequence[str], by: float) -> list[RegressionCheck]:
    """Check each guarded measure and run: worse means significantly lower, by more than ``by``."""
    checks = []
    for pair in comparison.contests:
        if pair.measure not in measures:
            continue
        worse = pair.significant and pair.difference < -by
        p = chance(pair.corrected).replace("<", "< ") if pair.corrected < 0.0001 else f"= {chance(pair.corrected)}"
        tolerance = f", tolerance {by:g}" if by else ""
        checks.append(
            RegressionCheck(
                pair,
                worse,
                f"{pair.run} is {'worse' if worse else 'not worse'} than {pair.other}: {pair.measure} {pair.mean:.4f} "
                f"vs {pair.other_mean:.4f} (difference {signed(pair.difference, 4)}{tolerance}; "
                f"corrected p {p}; {method(comparison)})",
            )
        )
    return checks


def junit_xml(checks: Sequence[RegressionCheck]) -> str:
    """The checks as a JUnit test suite, one test case each."""

    def clean(text: str) -> str:
        return UNWRITABLE.sub("\ufffd", text)

    failures = str(sum(check.worse for check in checks))
    suite = Element("testsuite", name="cranfield compare", tests=str(len(checks)), failures=failures)
    for check in checks:
        name = clean(f"{check.pair.measure} vs {check.pair.other}")
        case = SubElement(suite, "testcase", classname=clean(check.pair.run), name=name)
        if check.worse:
            SubElement(case, "failure", message=clean(check.sentence))
        else:
            SubElement(case, "system-out").text = clean(check.sentence)
    indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"
