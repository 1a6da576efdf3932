"""Properties of measures as a table of Y and N, with the smallest counterexamples below, and Moffat's Table 2."""

from __future__ import annotations

import csv as comma
import textwrap
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Literal

from cranfield.errors import UsageError
from cranfield.report import pages
from cranfield.report.markup import escaped, piped
from cranfield.report.numbers import UNDEFINED, exact, shown
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell
from cranfield.report.table import BOLD, PLAIN, widths
from cranfield.studies.checks import LONG, PROPERTIES, SEVEN, Case
from cranfield.studies.properties import Checked, Properties, properties

FORMATS = ("table", "json", "csv", "markdown", "latex")
# Headings where there is little room; the first seven are those of the paper.
SHORT = {
    "monotone": "monoton.",
    "convergent": "converg.",
    "top-weighted": "top-wgt.",
    "localized": "localiz.",
    "realizable": "realizb.",
    "truncatable": "truncat.",
}
MARKS = {True: "Y", False: "N", None: UNDEFINED}
HEADING = "Smallest counterexamples; a bar is where the ranking is cut"

# Table 2 of Moffat: each metric by its name there and here, the seven answers, and the notes on them.
PRINTED: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("DCG", "DCG", "NYYYYYN", {}),
    ("SP", "SP", "NYYYYYN", {}),
    ("RPrec", "RPrec", "YNNNNNY", {}),
    ("SN-DCG", "SN_DCG", "YNNYYNY", {"complete": "d"}),
    ("SN-AP", "SN_AP", "YNNYYNY", {"complete": "d"}),
    ("Prec", "P", "YNYNYYN", {"realizable": "e"}),
    ("NDCG", "nDCG", "YNYYNNY", {}),
    ("SDCG", "SDCG", "YNYYYYN", {"realizable": "e"}),
    ("HIT", "HIT", "YYNNYYY", {"convergent": "b", "top-weighted": "b"}),
    (
        "RR",
        "RR",
        "YYNNYYY",
        {"convergent": "b", "top-weighted": "b", "localized": "c", "complete": "c"},
    ),
    ("Recall", "R", "YYYNNNN", {"realizable": "f"}),
    ("AP", "AP", "YYYYNNN", {"realizable": "f"}),
    ("RBP", "RBP", "YYYYYYN", {"monotone": "a", "convergent": "a", "localized": "a"}),
)
RAISED = dict(zip("abcdef", "ᵃᵇᶜᵈᵉᶠ", strict=True))
NOTES = {
    "a": "RBP is a range, the score its lower end; deeper judgments only narrow it",
    "b": "the score never falls, but need not rise",
    "c": "0 where the first k hold no relevant document",
    "d": "undefined where the first k hold no relevant document, even if others are relevant",
    "e": "the maximum is reached only if k ≤ R",
    "f": "the maximum is reached only if k ≥ R",
}


def write(result: Properties, format: str = "table", *, digits: int = 4, width: int = 80, colour: bool = False) -> str:
    """The properties in one of `FORMATS`, ending in a newline; ``width`` and ``colour`` matter to tables only."""
    if format == "csv":
        return csv(result)
    if format not in FORMATS:
        raise UsageError(f"unknown format `{format}`", hint=f"one of {', '.join(FORMATS)}")
    text = pages.write(list(tables(result, format, width)), result.to_dict(), format, width=width, colour=colour)
    said = [(one.measure, list(told(one, digits))) for one in result.checked]
    said = [(measure, lines) for measure, lines in said if lines]
    if format == "json" or not said:
        return text
    return text + "\n" + {"table": _screen, "markdown": _markdown, "latex": _latex}[format](said, width, colour)


def tables(result: Properties, format: str, width: int) -> Iterator[Page]:
    """A table for each set of worlds; on a screen properties are the rows, unless there are too many measures."""
    for worlds in dict.fromkeys((one.domain, one.paired, one.longest) for one in result.checked):
        alike = [one for one in result.checked if (one.domain, one.paired, one.longest) == worlds]
        domain, paired, longest = worlds
        more = f"bounded: also on {longest:,} documents of one kind; " if longest == LONG else ""
        more += f"stable, neutral: on pairs of {paired.removeprefix('all ')}"
        upright = sheet(
            ("measure",),
            PROPERTIES if format != "table" else [SHORT.get(name, name) for name in PROPERTIES],
            [((one.measure,), [_cell(one.holds[name]) for name in PROPERTIES]) for one in alike],
        )
        turned = sheet(
            ("property",),
            [one.measure for one in alike],
            [((name,), [_cell(one.holds[name]) for one in alike]) for name in PROPERTIES],
        )
        fits = format == "table" and sum(widths(turned)) <= width
        yield Page(f"Properties on {domain} ({more})", turned if fits else upright)


def _cell(holds: bool | None, mark: str = "") -> Cell:
    tone: Literal["", "good", "bad"] = "" if holds is None else "good" if holds else "bad"
    return Cell(f"{MARKS[holds]}{RAISED.get(mark, '')}", tone=tone)


def told(one: Checked, digits: int) -> Iterator[tuple[str, str]]:
    """Every property that a measure lacks, and the ranking that shows it, in words."""
    for name, verdict in one.verdicts.items():
        if verdict.case is not None:
            yield name, sentence(name, verdict.case, digits)


def sentence(name: str, case: Case, digits: int = 4) -> str:
    """A counterexample in words.

    >>> sentence("monotone", Case(("1|0", "10"), (1, 2), (1.0, 0.5)))
    '“1|0” scores 1.0000 at k = 1, and 0.5000 at k = 2'
    """
    one, other = (f"“{case.rankings[i]}”" for i in (0, -1))
    k, *_ = case.k
    scores = [shown(score, digits) for score in case.scores]
    limit = "" if case.limit is None else shown(case.limit, digits)
    if name == "bounded":
        return f"{one} scores {scores[0]} at k = {k}, beyond {limit}"
    if name == "monotone":
        return f"{one} scores {scores[0]} at k = {k}, and {scores[1]} at k = {case.k[1]}"
    if name == "complete":
        return f"{one} has no score at k = {k}"
    if name == "realizable":
        return f"as many relevant documents as in {one} score {scores[0]} at k = {k} at best, not {limit}"
    if name == "localized":
        return f"{one} scores {scores[0]} at k = {k}, but {other} {scores[1]}"
    if name == "truncatable":
        at = "" if case.k[0] != case.k[1] else f" at k = {k}"
        return f"the list that stops at {one} scores {scores[0]}{at}, and {scores[1]} if it goes on to {other}"
    if name in ("stable", "neutral"):
        after = f"{scores[2]} to {scores[3]} once x is judged {case.judged}"
        return f"{one} leads {other} by {scores[0]} to {scores[1]} at k = {k}, and trails by {after}"
    rise = "no more" if scores[0] == scores[1] else "less"
    return f"{one} scores {scores[0]} at k = {k}, and {other} {rise}: {scores[1]}"


def _screen(said: Sequence[tuple[str, list[tuple[str, str]]]], width: int, colour: bool) -> str:
    def bold(text: str) -> str:
        return f"{BOLD}{text}{PLAIN}" if colour else text

    wide = max(map(len, PROPERTIES)) + 2
    lines = [bold(HEADING)]
    for measure, cases in said:
        lines.append(measure)
        for name, text in cases:
            head = f"  {name:<{wide}}"
            lines += textwrap.wrap(
                text, max(width, 60), initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
            )
    return "\n".join(lines) + "\n"


def _markdown(said: Sequence[tuple[str, list[tuple[str, str]]]], width: int, colour: bool) -> str:
    lines = [f"**{HEADING}**", ""]
    for measure, cases in said:
        lines += [f"- {piped(measure)}"]
        lines += [f"  - {name}: {piped(text)}" for name, text in cases]
    return "\n".join(lines) + "\n"


def _latex(said: Sequence[tuple[str, list[tuple[str, str]]]], width: int, colour: bool) -> str:
    lines = [f"% {HEADING}", "\\begin{description}"]
    for measure, cases in said:
        for name, text in cases:
            lines.append(f"\\item[{{{escaped(measure)}}}, {name}] {escaped(text)}")
    return "\n".join([*lines, "\\end{description}"]) + "\n"


def csv(result: Properties) -> str:
    """One property of one measure a line; the rankings that speak against it, their cut-offs and scores."""
    out = StringIO()
    lines = comma.writer(out, lineterminator="\n")
    head = ["measure", "property", "holds", "ranking", "k", "score", "other", "other_k", "other_score"]
    lines.writerow([*head, "score_after", "other_score_after", "limit", "judged", "domain"])
    for one in result.checked:
        for name, verdict in one.verdicts.items():
            holds = {True: "yes", False: "no", None: ""}[verdict.holds]
            cells = [""] * 10
            if (case := verdict.case) is not None:
                for i, (ranking, k) in enumerate(zip(case.rankings, case.k, strict=True)):
                    cells[3 * i : 3 * i + 3] = ranking, str(k), exact(case.scores[i])
                cells[6:8] = [exact(score) for score in case.scores[2:]] or ["", ""]
                cells[8:10] = "" if case.limit is None else exact(case.limit), case.judged
            domain = one.paired if name in ("stable", "neutral") else one.domain
            lines.writerow([one.measure, name, holds, *cells, domain])
    return out.getvalue()


def table2(documents: int | None = None, format: str = "table", *, width: int = 80, colour: bool = False) -> str:
    """Table 2 of *Seven Numeric Properties of Effectiveness Metrics*, computed, with its notes."""
    found = properties([f"{ours}@k" for _, ours, *_ in PRINTED], documents=documents)
    rows = [
        ((f"{theirs}@k",), [_cell(one.holds[name], marks.get(name, "")) for name in SEVEN])
        for (theirs, _, _, marks), one in zip(PRINTED, found.checked, strict=True)
    ]
    same = sum(
        MARKS[one.holds[name]] == answer
        for (_, _, answers, _), one in zip(PRINTED, found.checked, strict=True)
        for name, answer in zip(SEVEN, answers, strict=True)
    )
    domain = f"{found.checked[0].domain}, and {LONG:,} documents of one kind"
    title = f"Metrics and their properties (Moffat, AIRS 2013, Table 2), on {domain}"
    whole = Page(title, sheet(("Metric",), [SHORT.get(name, name) for name in SEVEN], rows))
    text = pages.write([whole], {}, format, width=width, colour=colour)
    notes = [f"{same} of {len(PRINTED) * len(SEVEN)} answers as printed"]
    notes += [f"{letter}: {note}" for letter, note in NOTES.items()]
    if format == "latex":
        for plain, raised in RAISED.items():
            text = text.replace(raised, f"$^{plain}$")
    begin = {"latex": "% ", "csv": "# ", "markdown": "- "}.get(format, "")
    return f"{text}\n" + "".join(f"{begin}{line}\n" for line in notes)
