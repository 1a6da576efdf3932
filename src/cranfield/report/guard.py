"""Whether a run may pass: verdicts for pipelines, in words and as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from cranfield.analysis.compare import Comparison, Contest
from cranfield.report.compare import chance, method
from cranfield.report.numbers import signed

# XML has no way to write these at all.
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Verdict(NamedTuple):
    """One run against the baseline in one guarded measure."""

    contest: Contest
    worse: bool
    sentence: str


def verdicts(found: Comparison, measures: Sequence[str], by: float) -> list[Verdict]:
    """A verdict for each guarded measure and run: worse is lower by more than ``by``, and significantly so."""
    judged = []
    for one in found.contests:
        if one.measure not in measures:
            continue
        worse = one.significant and one.difference < -by
        p = chance(one.corrected).replace("<", "< ") if one.corrected < 0.0001 else f"= {chance(one.corrected)}"
        room = f", {by:g} is allowed" if by else ""
        judged.append(
            Verdict(
                one,
                worse,
                f"{one.run} is {'worse' if worse else 'no worse'} than {one.other}: {one.measure} {one.mean:.4f} "
                f"against {one.other_mean:.4f} ({signed(one.difference, 4)}{room}; p {p}, {method(found)})",
            )
        )
    return judged


def junit_xml(judged: Sequence[Verdict]) -> str:
    """The verdicts as a JUnit test suite, a test case for each."""

    def plain(text: str) -> str:
        return UNWRITABLE.sub("\ufffd", text)

    failures = str(sum(one.worse for one in judged))
    suite = Element("testsuite", name="cranfield compare", tests=str(len(judged)), failures=failures)
    for one in judged:
        name = plain(f"{one.contest.measure} against {one.contest.other}")
        case = SubElement(suite, "testcase", classname=plain(one.contest.run), name=name)
        if one.worse:
            SubElement(case, "failure", message=plain(one.sentence))
        else:
            SubElement(case, "system-out").text = plain(one.sentence)
    indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"
