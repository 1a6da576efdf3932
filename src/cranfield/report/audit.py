"""An audit for people: a table for each run, then in words what could change the order of the runs."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.analysis.audit import CAUSES, Audit, Cause, Swap
from cranfield.errors import UsageError
from cranfield.report.markup import markdown, piped
from cranfield.report.numbers import UNDEFINED
from cranfield.report.sheet import Cell, Look, Row, Sheet
from cranfield.report.table import BOLD, DIM, GAP, PLAIN, draw, widths
from cranfield.wording import plural

FORMATS = ("table", "markdown", "json")
HEADING = "What could change the order of the runs"
COUNTED = "Of the pairs of runs that score differently, so many could change places for each cause:"
SHOWN = 4  # pairs named for each cause, unless all are asked for
MOST = 12  # digits
PROSE = 100  # no line of words is longer, however wide the screen
INTERVAL = re.compile(r"\[[^\s\]]+, [^\s\]]+\]")
INTERVALS = {"t": "Student's t", "bca": "BCa bootstrap"}


@dataclass(frozen=True)
class Words:
    """What a cause is, and what it does to two runs."""

    meaning: str
    swap: str


WORDS: dict[Cause, Words] = {
    "ties": Words(
        "Documents of one score may stand in any order. Worst, expected and best are of all these orders; place is "
        "where the score stands from worst to best.",
        "change places if ties fall the other way",
    ),
    "unjudged": Words(
        "Documents that nobody judged count as not relevant, and could be relevant. Lowest and highest are over what "
        "they could be judged: bounds where nothing goes beyond them, else the range of the judgments tried. Each run "
        "is taken by itself, though a document that two of them found would be judged once for both.",
        "could change places if unjudged documents were judged",
    ),
    "condensed": Words(
        "The list without its unjudged documents: they count as absent, not as not relevant.",
        "change places without unjudged documents",
    ),
    "terminal": Words(
        "The end of a list taken as an answer: nothing more is relevant. It earns most where all was found, and where "
        "a list is empty because nothing is relevant; such queries count, though a plain score may leave them out.",
        "change places if the end of a list is an answer",
    ),
    "queries": Words(
        "Other queries would have given other means: 95 % confidence intervals ({interval}). That two overlap does not "
        "make the runs equal; they had the same queries, and a paired test sees more.",
        "have overlapping confidence intervals",
    ),
}


@dataclass(frozen=True)
class Group:
    """Columns that belong together under one title."""

    title: str
    columns: tuple[str, ...]


GROUPS = (
    Group("", ("score",)),
    Group("queries", ("95 % interval",)),
    Group("ties", ("worst", "expected", "best", "place")),
    Group("unjudged documents", ("lowest", "highest", "", "share", "condensed")),
    Group("lists", ("terminal",)),
)


def write(
    audit: Audit,
    format: str = "table",
    *,
    all_pairs: bool = False,
    digits: int = 4,
    width: int = 80,
    colour: bool = False,
) -> str:
    """The audit in one of `FORMATS`, ending in a newline; ``width`` and ``colour`` matter to tables only."""
    accept(format)
    if format == "json":
        return json.dumps(audit.to_dict(), allow_nan=False) + "\n"
    look = Look(digits=digits)
    if format == "markdown":
        return "\n".join(_markdown(audit, look, all_pairs)) + "\n"
    return "\n".join(_screen(audit, look, width, colour, all_pairs)) + "\n"


def accept(format: str) -> None:
    """An error where a format is unknown: better said before the work than after it."""
    if format not in FORMATS:
        raise UsageError(f"unknown format `{format}`", hint=f"one of {', '.join(FORMATS)}")


def sheet(audit: Audit, run: int, look: Look) -> Sheet:
    """One run: measures as rows, all that could have made the score another as columns."""
    rows = []
    for m, measure in enumerate(audit.measures):
        count = audit.aggregates[m] == "sum"

        def shown(*arrays: np.ndarray, m: int = m, count: bool = count) -> Iterator[str]:
            return (look.number(array[run, m], count=count) for array in arrays)

        texts = [
            *shown(audit.score),
            _within(*shown(audit.low, audit.high)),
            *shown(audit.worst, audit.expected, audit.best),
            _percent(np.nan if len(set(shown(audit.worst, audit.best))) == 1 else audit.place[run, m]),
            *shown(audit.lowest, audit.highest),
            UNDEFINED if np.isnan(audit.lowest[run, m]) else "bounds" if audit.hold[run, m] else "range",
            _percent(audit.unjudged[run, m]),
            *shown(audit.condensed, audit.terminal),
        ]
        rows.append(Row((measure,), tuple(map(Cell, texts))))
    return Sheet(("measure",), tuple(name for group in GROUPS for name in group.columns), tuple(rows))


def _within(low: str, high: str) -> str:
    return UNDEFINED if UNDEFINED in (low, high) else f"[{low}, {high}]"


def _percent(share: float) -> str:
    """A share in whole percent; no rounding makes something of nothing, or all of almost all."""
    if np.isnan(share):
        return UNDEFINED
    if 0 < share < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= share < 1 else f"{share:.0%}".replace("%", " %")


def lists(audit: Audit, run: int) -> str:
    """The lists of a run in a line: how many, how long, how many empty, and who was silent where that was right."""
    sizes = audit.n[run]
    many = f"{sizes.max()}" if sizes.min() == sizes.max() else f"{sizes.min()}–{sizes.max()}"
    length = f"{audit.length[run]:.1f}".removesuffix(".0")
    parts = [f"{many} queries" if many != "1" else "1 query", f"{length} documents in a list on average"]
    if audit.empty[run]:
        parts.append(f"{audit.empty[run]} empty")
    told = dict.fromkeys(zip(audit.nil[run].tolist(), audit.silent[run].tolist(), strict=True))
    for nil, silent in told:
        who = [
            name for m, name in enumerate(audit.measures) if (audit.nil[run, m], audit.silent[run, m]) == (nil, silent)
        ]
        if nil:
            whose = f" ({', '.join(who)})" if len(told) > 1 else ""
            parts.append(f"{plural(nil, 'query')} with nothing relevant, {silent} answered by silence{whose}")
    return "; ".join(parts)


def _screen(audit: Audit, look: Look, width: int, colour: bool, all_pairs: bool) -> Iterator[str]:
    for r, run in enumerate(audit.runs):
        yield _wrapped(f"{run}: {lists(audit, r)}", width, run, colour)
        for part, groups in _fitted(sheet(audit, r, look), width):
            yield _titles(part, groups, colour)
            yield draw(part, colour=colour)
    yield _styled(HEADING, BOLD, colour) + "\n"
    if len(audit.runs) > 1:
        yield _wrapped(COUNTED, width)
        yield ""
        yield draw(counts(audit), colour=colour)
    for line in verdict(audit):
        yield _wrapped(line, width) + "\n"
    for cause, sentences in told(audit, look, all_pairs):
        yield _wrapped(f"{cause}: {_meaning(audit, cause)}", width, cause, colour)
        yield from (_wrapped(f"  {line}", width) for line in sentences)
        yield ""


def _wrapped(text: str, width: int, bold: str = "", colour: bool = False) -> str:
    """Words in lines, and none broken: neither a name at a hyphen nor an interval at its comma."""
    whole = INTERVAL.sub(lambda found: found[0].replace(" ", "\xa0"), text)
    indent = " " * (len(text) - len(text.lstrip())) + "  "
    lines = textwrap.wrap(
        whole, min(width, PROSE), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    shown = "\n".join(lines).replace("\xa0", " ")
    return _styled(bold, BOLD, colour) + shown.removeprefix(bold)


def _styled(text: str, style: str, colour: bool) -> str:
    return f"{style}{text}{PLAIN}" if colour else text


def _fitted(whole: Sheet, width: int) -> Iterator[tuple[Sheet, list[Group]]]:
    """The sheet cut between groups of columns so that each part fits the screen."""
    needed = widths(whole)
    begin = end = 0
    part: list[Group] = []
    used = needed[0] - GAP
    for group in GROUPS:
        wide = sum(needed[1 + end : 1 + end + len(group.columns)])
        if part and used + wide > width:
            yield whole.part(slice(begin, end)), part
            begin, part, used = end, [], needed[0] - GAP
        part.append(group)
        end += len(group.columns)
        used += wide
    yield whole.part(slice(begin, end)), part


def _titles(part: Sheet, groups: Sequence[Group], colour: bool) -> str:
    """The titles of groups, each over a line as wide as its columns."""
    needed = widths(part)
    line, at = " " * needed[0], 1
    for group in groups:
        wide = sum(needed[at : at + len(group.columns)]) - GAP
        title = f" {group.title} " if group.title else ""
        drawn = title.center(wide, "┄") if len(title) + 1 < wide else group.title.rjust(wide)
        line += (drawn if title else " " * wide) + " " * GAP
        at += len(group.columns)
    return _styled(line.rstrip(), DIM, colour)


def counts(audit: Audit) -> Sheet:
    """How many pairs of runs each cause could turn, by measure."""
    rows = []
    for m, measure in enumerate(audit.measures):
        found = [sum(s.measure == measure and s.cause == cause for s in audit.swaps) for cause in CAUSES]
        cells = [
            Cell(UNDEFINED if _unknown(audit, cause, m) else str(n)) for cause, n in zip(CAUSES, found, strict=True)
        ]
        rows.append(Row((measure,), (Cell(str(audit.pairs[m])), *cells)))
    return Sheet(("measure",), ("pairs", *CAUSES), tuple(rows))


def _unknown(audit: Audit, cause: Cause, m: int) -> bool:
    """Whether nothing can be said of what a cause does to a measure."""
    return bool(np.isnan(audit.reach(cause)[0][:, m]).all())


def verdict(audit: Audit) -> Iterator[str]:
    """The whole in a sentence, where there is nothing to tell pair by pair."""
    if len(audit.runs) == 1:
        yield "There is one run: its scores could be others, but there is no order to change."
    elif not audit.pairs.any():
        yield "The runs score the same: there is no order to change."
    elif not audit.swaps:
        yield "Nothing can: neither ties nor unjudged documents, nor how lists end, nor the choice of queries."
        yield from unproven(audit)


def unproven(audit: Audit) -> Iterator[str]:
    """What is known of unjudged documents only as far as judgments were tried, and where nothing is."""
    unknown = [name for m, name in enumerate(audit.measures) if _unknown(audit, "unjudged", m)]
    tried = [n for m, n in enumerate(audit.measures) if not audit.hold[:, m].all() and n not in unknown]
    if tried:
        yield f"For {', '.join(tried)} that is so for the judgments tried, and no proof."
    if unknown:
        yield f"What judging them would do to {', '.join(unknown)} cannot be said."


def _meaning(audit: Audit, cause: Cause) -> str:
    return WORDS[cause].meaning.format(interval=INTERVALS[audit.interval])


def told(audit: Audit, look: Look, all_pairs: bool) -> Iterator[tuple[Cause, list[str]]]:
    """Each cause with a sentence for each pair that it could turn, or for the most telling of them."""
    for cause in CAUSES:
        found = [swap for swap in audit.swaps if swap.cause == cause]
        named = found if all_pairs else telling(found)
        sentences = [sentence(audit, swap, look) for swap in named]
        if len(named) < len(found):
            widest = max(found, key=lambda swap: swap.gap)
            more = f"... and {len(found) - len(named):,} more (--all-pairs)"
            apart = f"{widest.measure} of `{widest.higher}` and `{widest.lower}`, {look.number(widest.gap)} apart"
            sentences.append(more if widest in named else f"{more}, as far as {apart}")
        if not found and len(audit.runs) > 1 and audit.pairs.any():
            sentences = ["No two runs change places."] if audit.swaps else []
            sentences += unproven(audit) if audit.swaps and cause == "unjudged" else ()
        yield cause, sentences


def telling(found: Sequence[Swap]) -> list[Swap]:
    """A few pairs that stand for all: of each measure in turn the next neighbours, the closest first."""
    turns: dict[str, int] = {}
    ranked = []
    for place, swap in enumerate(found):
        turns[swap.measure] = turns.get(swap.measure, -1) + 1
        ranked.append((not swap.adjacent, turns[swap.measure], place))
    return [found[place] for *_, place in sorted(sorted(ranked)[:SHOWN], key=lambda key: key[2])]


def sentence(audit: Audit, swap: Swap, look: Look) -> str:
    """One pair in words: who, why, and the numbers."""
    m = audit.measures.index(swap.measure)
    count = audit.aggregates[m] == "sum"
    while not count and look.digits < MOST and look.number(swap.score[0]) == look.number(swap.score[1]):
        look = replace(look, digits=look.digits + 1)  # scores that differ are shown to differ
    one, other = (look.number(value, count=count) for value in swap.score)
    low = [look.number(value, count=count) for value in swap.low]
    high = [look.number(value, count=count) for value in swap.high]
    if swap.cause in ("condensed", "terminal"):
        numbers = f"{one} against {other}; {swap.cause} {low[0]} against {low[1]}"
    else:
        numbers = f"{one} [{low[0]}, {high[0]}] against {other} [{low[1]}, {high[1]}]"
    if swap.cause == "ties":
        a, b = (audit.expected[audit.runs.index(run), m] for run in (swap.higher, swap.lower))
        numbers += f"; on average {look.number(a, count=count)} against {look.number(b, count=count)}" if a < b else ""
    return f"{swap.measure}: `{swap.higher}` and `{swap.lower}` {WORDS[swap.cause].swap} ({numbers})"


def _markdown(audit: Audit, look: Look, all_pairs: bool) -> Iterator[str]:
    for r, run in enumerate(audit.runs):
        yield f"### {piped(run)}\n\n{lists(audit, r)}\n\n{markdown(sheet(audit, r, look))}"
    yield f"### {HEADING}\n"
    if len(audit.runs) > 1:
        yield f"{COUNTED}\n"
        yield markdown(counts(audit))
    yield from (f"{line}\n" for line in verdict(audit))
    for cause, sentences in told(audit, look, all_pairs):
        yield f"**{cause}**: {_meaning(audit, cause)}\n"
        if sentences:
            yield "".join(f"- {line}\n" for line in sentences)
