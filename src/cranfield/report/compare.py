"""A comparison for people and papers: who leads and whom they beat, then each pair with its evidence."""

from __future__ import annotations

import csv as comma
from collections.abc import Iterable, Iterator
from io import StringIO
from string import ascii_lowercase

import numpy as np

from cranfield.analysis.compare import Comparison, Contest
from cranfield.analysis.significance import SIGNIFICANCE_TESTS
from cranfield.report.numbers import exact, shown, signed
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, Sheet

FEW = 45  # pairs of one measure that are listed without being asked for: those of ten runs
CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg", "none": "uncorrected"}


def pages(found: Comparison, digits: int = 4, *, all_pairs: bool = False) -> list[Page]:
    """The leaderboard, and the pairs of each measure where they are few or asked for."""
    leaders = Page(f"Means; letters name the runs that are beaten ({method(found)})", leaderboard(found, digits))
    if len(found.pairs) > FEW and not all_pairs:
        return [leaders]
    against = "every pair" if found.baseline is None else f"each run less {found.baseline}"
    return [
        leaders,
        *(
            Page(f"{measure}: {against}, over {len(found.queries[m])} queries", _pairs(found, m, digits))
            for m, measure in enumerate(found.measures)
        ),
    ]


def method(found: Comparison) -> str:
    """How the p-values were made, and for which family they hold."""
    test = SIGNIFICANCE_TESTS[found.test]
    drawn = f", {found.samples:,} samples, seed {found.seed}" if test.resamples else ""
    how = "jointly" if test.joint else CORRECTIONS[found.correction]
    return f"{test.title}{drawn}; {how} over {found.family}; p < {found.alpha:g}"


def letters(place: int) -> str:
    """What a run is called in superscripts: a to z, then aa, ab and so on.

    >>> letters(0), letters(25), letters(26), letters(27), letters(702)
    ('a', 'z', 'aa', 'ab', 'aaa')
    """
    text = ""
    place += 1
    while place:
        place, sign = divmod(place - 1, 26)
        text = ascii_lowercase[sign] + text
    return text


def together(places: Iterable[int]) -> str:
    """Letters of runs, neighbours joined.

    >>> together([0, 1, 2, 4, 27, 28])
    'a–c e ab ac'
    """
    groups: list[list[int]] = []
    for place in sorted(places):
        if groups and groups[-1][-1] == place - 1:
            groups[-1].append(place)
        else:
            groups.append([place])
    return " ".join(
        f"{letters(group[0])}–{letters(group[-1])}" if len(group) > 2 else " ".join(map(letters, group))
        for group in groups
    )


def leaderboard(found: Comparison, digits: int) -> Sheet:
    """Runs by their first measure, best first; with each mean the runs it is significantly better than."""
    order = np.argsort(-found.means[0], kind="stable")
    place = np.argsort(order)
    beaten: dict[tuple[int, int], list[int]] = {}
    for m in range(len(found.measures)):
        for (a, b), gap, p in zip(found.pairs.tolist(), found.difference[m], found.corrected[m], strict=True):
            if p < found.alpha and gap:
                winner, loser = (a, b) if gap > 0 else (b, a)
                beaten.setdefault((m, winner), []).append(int(place[loser]))
    best = [shown(float(column.max()), digits) for column in found.means]
    rows = []
    for r in order.tolist():
        texts = [shown(float(found.means[m, r]), digits) for m in range(len(found.measures))]
        cells = [
            Cell(text, text == best[m], together(beaten.get((m, r), ())), raised=True) for m, text in enumerate(texts)
        ]
        rows.append(((letters(int(place[r])), found.runs[r]), cells))
    return sheet(("", "run"), found.measures, rows)


def _pairs(found: Comparison, m: int, digits: int) -> Sheet:
    joint = found.correction == "none"
    heads = ["difference", "effect", "+/=/-", *("p" if test == found.test else f"p\n{test}" for test in found.p)]
    heads += [] if joint else ["p\ncorrected"]
    # What could turn a difference is a column only where there is something in it.
    doubtful = any(doubt(found.contest(m, pair)) for pair in range(len(found.pairs)))
    rows = []
    for pair in range(len(found.pairs)):
        one = found.contest(m, pair)
        cells = [
            Cell(signed(one.difference, digits), one.significant, _within(one.low, one.high, digits)),
            Cell(signed(one.effect, 2), aside=_within(one.effect_low, one.effect_high, 2)),
            Cell(f"{one.wins}/{one.ties}/{one.losses}"),
            *(Cell(chance(p)) for p in one.p.values()),
            *([] if joint else [Cell(chance(one.corrected))]),
            *([Cell(doubt(one))] if doubtful else []),
        ]
        rows.append(((one.run,) if found.baseline is not None else (one.run, one.other), cells))
    names = ("run",) if found.baseline is not None else ("run", "less")
    return sheet(names, (*heads, *(["could be\nturned by"] if doubtful else [])), rows)


def _within(low: float, high: float, digits: int) -> str:
    return "" if np.isnan(low) or np.isnan(high) else f"[{signed(low, digits)}, {signed(high, digits)}]"


def chance(p: float) -> str:
    """A p-value with what can be said of it.

    >>> chance(0.5), chance(0.00004), chance(0.0)
    ('0.5000', '<0.0001', '<0.0001')
    """
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def doubt(one: Contest) -> str:
    """What could turn a significant difference; nothing where nothing could, or where there is none to turn."""
    return ", ".join(one.doubts) if one.significant else ""


def notes(found: Comparison, *, all_pairs: bool = False) -> list[str]:
    """What a reader has to know besides: queries used, what was not listed, and what could be turned."""
    told = list(found.notes)
    if len(found.pairs) > FEW and not all_pairs:
        told.append(f"{len(found.pairs)} pairs of each measure are not listed: ask for all pairs, csv or json")
    significant = [one for one in found.contests if one.significant]
    turned = sum(1 for one in significant if one.doubts)
    if turned:
        told.append(
            f"{turned} of {len(significant)} significant differences could be turned by ties or unjudged documents"
        )
    return told


def csv(found: Comparison) -> str:
    """Every measure of every pair on a line, at full precision."""
    out = StringIO()
    lines = comma.writer(out, lineterminator="\n")
    plain = [name for name in Contest._fields if name not in ("p", "doubts")]
    how = [found.test, found.correction, found.family]
    lines.writerow([*plain, *(f"p {test}" for test in found.p), "doubts", "test", "correction", "family"])
    for one in found.contests:
        lines.writerow([*_fields(one, plain), *map(exact, one.p.values()), " ".join(one.doubts), *how])
    return out.getvalue()


def _fields(one: Contest, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        value = getattr(one, name)
        yield exact(value) if isinstance(value, float) else str(value)
