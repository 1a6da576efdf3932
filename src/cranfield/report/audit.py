"""An audit as text and as a figure.

The text has a bottom line, the pairs of runs that could swap, then a table for each run, or for many runs an overview.
The figure has every score as a point, with bands for the values that it could have had.
"""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, compress
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield import codec
from cranfield.analysis.audit import Audit, Cause, NilDetection, Swap
from cranfield.evaluation.notes import summarised
from cranfield.evaluation.pair_bounds import CHEAP, linear_part
from cranfield.evaluation.plan import Column
from cranfield.evaluation.predicted import PredictedMean
from cranfield.report import canvas
from cranfield.report.pages import BOLD, DIM, PROSE, Page, styled, titled, wrapped
from cranfield.report.pages import sheet as titled_sheet
from cranfield.report.pages import write as written
from cranfield.report.scores import predicted_pages, predicted_text
from cranfield.report.sheet import UNDEFINED, Cell, Layout, Row, Sheet, share
from cranfield.statistics.rounding import SAME
from cranfield.wording import one_of, plural, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOTTOM = "Bottom line"
TO_JUDGE = 20  # documents that the command at the end of the bottom line asks for
POOL = 100  # the last rank that `cranfield judge` considers by default
ORDERED = (None, "trec", "trec9", "input", "rank")  # the tie rules that it takes
HEADING = "What could change the order of the runs"
HEADING_OF_ONE = "What the columns mean"
COUNTED = "Pairs of runs with different scores, and how many of them each cause could reverse:"
SHOWN = 4  # pairs named for each cause by default
SHOWN_OF_MANY = 1  # the same for many runs
FEW_RUNS = 5  # more runs do not get a table each by default
BEST = 10  # of many runs, those with the highest scores are listed
MOST_DIGITS = 12
MORE = "A table for each of the {runs} runs: -v. All numbers: --format json."
# Causes that give a range for the same queries, and for others too.
OWN_RANGES: tuple[Cause, ...] = ("ties", "unjudged")
RANGES: tuple[Cause, ...] = ("queries", "ties", "unjudged")
CHANGING = ("could be", "score")
LEADING = ("score", "95% interval", "ties", "unjudged", "share\nunjudged")
OF_UNJUDGED = 2  # the last of these columns, which complete judgments leave out
INTERVALS = {"t": "Student's t", "bca": "BCa bootstrap"}


# The meaning of each cause, and its effect on two runs: what follows their names in a sentence.
MEANINGS: dict[Cause, str] = {
    "ties": "Documents with equal scores can be ranked in any order. Worst, expected and best are the lowest, mean and "
    "highest score over all these orders; place is the position of the score from worst (0%) to best (100%).",
    "unjudged": "Unjudged documents count as not relevant, but could be relevant. Lowest and highest are the extreme "
    "scores that judging them could give. `bounds` are proven; `range` covers only the judgments that were tried. "
    "Plausible is the score if unjudged documents are relevant as often as judged ones at the same depth, ± where 95% "
    "of such judgments would put it. These numbers are of each run alone. Two runs share documents, which get one "
    "judgment, and the ideal ranking: where the measure has a cutoff, a pair counts only if that could reverse it.",
    "condensed": "Unjudged documents are removed from the ranking, instead of counted as not relevant.",
    "terminal": 'The end of a list counts as an answer: "no more relevant documents". This answer is right if all '
    "relevant documents were found, or if the list is empty and no document is relevant. Queries without relevant "
    "documents count here, even if the score leaves them out.",
    "queries": "Means depend on the choice of queries; the intervals are 95% confidence intervals ({interval}). "
    "Overlapping intervals do not mean that the runs are equal: a paired test (`cranfield compare`) detects smaller "
    "differences.",
}
EFFECTS: dict[Cause, str] = {
    "ties": "could swap if ties were ordered differently",
    "unjudged": "could swap if unjudged documents were judged",
    "condensed": "swap if unjudged documents are removed",
    "terminal": "swap if the end of a list counts as an answer",
    "queries": "have overlapping confidence intervals",
}
# The columns of the table of a run, by their cause.
GROUPS = {
    "queries": ("score", "95%\ninterval"),
    "ties": ("ties\nworst", "ties\nexpected", "ties\nbest", "place\nin ties"),
    "unjudged": (
        *("unjudged\nplausible", "unjudged\nlowest", "unjudged\nhighest", "bounds\nor range"),
        *("unjudged\nshare", "condensed"),
    ),
    "lists": ("terminal",),
}


def pages(audit: Audit, digits: int = 4, *, all_runs: bool = False) -> list[Page]:
    """How many pairs each cause could reverse, with the bottom line below; and what the scores could have been.

    ``all_runs``: a table for each run, however many there are.
    """
    layout = Layout(digits=digits)
    bottom = (*bottom_line(audit, layout), audit.policy)
    runs = run_pages(audit, layout, all_runs=all_runs)
    if len(audit.runs) == 1:
        return [replace(runs[0], below=bottom)]
    return [Page(COUNTED, counts(audit), bottom), *runs]


def run_pages(audit: Audit, layout: Layout, *, all_runs: bool) -> list[Page]:
    """A table for each run, or of many runs those that matter."""
    if len(audit.runs) > FEW_RUNS and not all_runs:
        return overview(audit, layout)
    return [Page(f"{run}: {lists(audit, r)}", sheet(audit, r, layout)) for r, run in enumerate(audit.runs)]


def notes(audit: Audit) -> list[str]:
    """What to do, and the notes on the scores."""
    return [*filter(None, [to_do(audit)[0]]), *summarised(audit.notes)[0]]


def write(
    audit: Audit,
    format: str = "table",
    *,
    all_pairs: bool = False,
    all_runs: bool = False,
    digits: int = 4,
    width: int = 80,
    colour: bool = False,
    predicted: Sequence[PredictedMean] = (),
    inputs: Mapping[str, str] | None = None,
) -> str:
    """The audit in one of the formats of `pages.write`; ``width`` and ``colour`` apply to tables only.

    ``all_pairs``: a table names every pair that could swap. ``predicted``: means to show below. ``inputs``: the files
    of the judgments (under "") and of the runs, for the command that says what to judge.
    """
    if format != "table":
        data = audit.to_dict() | ({"predicted": codec.plain(predicted)} if predicted else {})
        return written([*pages(audit, digits, all_runs=all_runs), *predicted_pages(predicted, digits)], data, format)
    layout, screen = Layout(digits=digits), Screen(width, colour=colour)
    advice, command = to_do(audit, inputs)
    lines = screen.items([*bottom_line(audit, layout), *([advice] if advice else [])])
    first = [screen.heading(BOTTOM), lines + (screen.command(command) if command else "")]
    runs = [*map(screen.table, run_pages(audit, layout, all_runs=all_runs))]
    runs += [screen.paragraph(MORE.format(runs=len(audit.runs)))] if len(audit.runs) > FEW_RUNS and not all_runs else []
    parts = [[*_summary(audit, layout, screen, all_pairs=all_pairs)], runs]
    blocks = [*first, *chain(*(parts if len(audit.runs) > 1 else reversed(parts))), screen.policy(audit.policy)]
    text = "\n".join(blocks)
    return text + (predicted_text(predicted, format, digits, width=width, colour=colour) if predicted else "")


class Screen:
    """The parts of an audit on a screen of this width; each ends in a newline."""

    def __init__(self, width: int, *, colour: bool) -> None:
        self.width, self.colour = width, colour

    def heading(self, text: str) -> str:
        return styled(text, BOLD, colour=self.colour) + "\n"

    def paragraph(self, text: str, bold: str = "") -> str:
        """A text whose beginning may be bold; the lines after the first are indented."""
        text, bold = printable(text), printable(bold)
        return styled(bold, BOLD, colour=self.colour) + wrapped(text, self.width, "  ").removeprefix(bold) + "\n"

    def items(self, lines: Sequence[str]) -> str:
        return "".join(f"{wrapped('  ' + printable(line), self.width, '    ')}\n" for line in lines)

    def command(self, words: str) -> str:
        """A command in lines that a shell reads as one."""
        width = min(self.width, PROSE) - 4
        lines = textwrap.wrap(printable(words), width, break_long_words=False, break_on_hyphens=False)
        return "  " + " \\\n    ".join(lines) + "\n"

    def table(self, page: Page) -> str:
        return titled(page, self.width, colour=self.colour)

    def policy(self, text: str) -> str:
        return styled(wrapped(text, self.width), DIM, colour=self.colour) + "\n"


def sheet(audit: Audit, run: int, layout: Layout) -> Sheet:
    """One run: measures as rows; the score, and the values that it could have had, as columns."""
    kept = [title in shown_groups(audit) for title, names in GROUPS.items() for _ in names]
    rows = []
    for m, measure in enumerate(audit.measures):
        count = audit.aggregates[m] == "sum"

        def shown(*arrays: np.ndarray, m: int = m, count: bool = count) -> Iterator[str]:
            return (layout.number(array[run, m], count=count) for array in arrays)

        texts = [
            *shown(audit.score),
            _within(*shown(audit.low, audit.high)),
            *shown(audit.worst, audit.expected, audit.best),
            share(np.nan if len(set(shown(audit.worst, audit.best))) == 1 else audit.place[run, m]),
            _plus_minus(layout, audit, run, m),
            *shown(audit.lowest, audit.highest),
            UNDEFINED if np.isnan(audit.lowest[run, m]) else "bounds" if audit.hold[run, m] else "range",
            share(audit.unjudged[run, m]),
            *shown(audit.condensed, audit.terminal),
        ]
        rows.append(Row((measure,), tuple(map(Cell, compress(texts, kept)))))
    return Sheet(("measure",), tuple(chain(*shown_groups(audit).values())), tuple(rows))


def shown_groups(audit: Audit) -> dict[str, tuple[str, ...]]:
    """The columns of the table of a run, without those on unjudged documents if judgments are complete."""
    return {cause: names for cause, names in GROUPS.items() if not (audit.complete and cause == "unjudged")}


def _plus_minus(layout: Layout, audit: Audit, r: int, m: int) -> str:
    """A plausible score with half of its interval."""
    value = audit.plausible[r, m]
    if np.isnan(value):
        return UNDEFINED
    half = (audit.plausible_high[r, m] - audit.plausible_low[r, m]) / 2
    return f"{_number(layout, audit, m, value)} ± {_number(layout, audit, m, half)}"


def _within(low: str, high: str) -> str:
    return UNDEFINED if UNDEFINED in (low, high) else f"[{low}, {high}]"


def lists(audit: Audit, run: int) -> str:
    """The rankings of a run in one line: how many, how long, how many empty, and queries without relevant documents."""
    sizes = audit.n[run]
    number = f"{sizes.max()}" if sizes.min() == sizes.max() else f"{sizes.min()}–{sizes.max()}"
    length = f"{audit.length[run]:.1f}".removesuffix(".0")
    parts = [
        f"{number} queries" if number != "1" else "1 query",
        f"{length} {'document' if length == '1' else 'documents'} per query on average",
    ]
    if audit.empty[run]:
        parts.append(plural(int(audit.empty[run]), "empty ranking"))
    detections: dict[NilDetection, list[str]] = {}
    for m, name in enumerate(audit.measures):
        detections.setdefault(audit.nil_detection(run, m), []).append(name)
    for detection, names in detections.items():
        which = f", for {', '.join(names)}" if len(detections) > 1 else ""
        if detection.nil:
            without = f"{plural(detection.nil, 'query')} without relevant documents"
            parts.append(f"{without} ({detection.detected} with an empty ranking){which}")
        if detection.silent:
            wrong = detection.false_silences
            false = plural(wrong, "false silence") if wrong else "no false silence"
            recall = "" if np.isnan(detection.recall) else f", recall {detection.recall:.0%}"
            parts.append(f"nil detection: precision {detection.precision:.0%}{recall}, {false}{which}")
    return "; ".join(parts)


def _summary(audit: Audit, layout: Layout, screen: Screen, *, all_pairs: bool) -> Iterator[str]:
    yield screen.heading(HEADING if len(audit.runs) > 1 else HEADING_OF_ONE)
    if len(audit.runs) > 1:
        yield screen.table(Page(COUNTED, counts(audit)))
    for cause, sentences in swap_sentences(audit, layout, all_pairs=all_pairs):
        meaning = screen.paragraph(f"{cause}: {_meaning(audit, cause)}", cause)
        yield meaning + screen.items(sentences)


def overview(audit: Audit, layout: Layout) -> list[Page]:
    """Of many runs, those that matter: the most affected by each cause, and the best of the first measure."""
    rows = []
    for m, measure in enumerate(audit.measures):
        for cause in (cause for cause in OWN_RANGES if cause in audit.causes):
            low, high = (array[:, m] for array in audit.reach(cause))
            score = audit.score[:, m]
            moved = np.maximum(np.abs(high - score), np.abs(score - low))
            if np.isnan(moved).all() or np.nanmax(moved) <= SAME:
                continue
            r = int(np.nanargmax(moved))
            cells = [_range(layout, audit, m, low[r], high[r]), _number(layout, audit, m, score[r])]
            rows.append(((measure, cause, audit.runs[r]), [*map(Cell, cells)]))
    pages = [Page("The runs whose scores could change most", titled_sheet(("measure", "cause", "run"), CHANGING, rows))]
    leaders, columns = [], len(LEADING) - (OF_UNJUDGED if audit.complete else 0)
    for r in np.argsort(-np.nan_to_num(audit.score[:, 0], nan=-np.inf), kind="stable")[:BEST].tolist():
        ranges = [_range(layout, audit, 0, *(array[r, 0] for array in audit.reach(cause))) for cause in RANGES]
        texts = [_number(layout, audit, 0, audit.score[r, 0]), *ranges, share(audit.unjudged[r, 0])]
        leaders.append(((audit.runs[r],), [*map(Cell, texts[:columns])]))
    best = f"{audit.measures[0]}: the best {len(leaders)} of {len(audit.runs)} runs, and the scores they could have had"
    return [*(pages if rows else []), Page(best, titled_sheet(("run",), LEADING[:columns], leaders))]


def _number(layout: Layout, audit: Audit, m: int, value: float) -> str:
    return layout.number(value, count=audit.aggregates[m] == "sum")


def _range(layout: Layout, audit: Audit, m: int, low: float, high: float) -> str:
    texts = [_number(layout, audit, m, value) for value in (low, high)]
    return texts[0] if texts[0] == texts[1] else _within(*texts)


def bottom_line(audit: Audit, layout: Layout) -> Iterator[str]:
    """What ties and unjudged documents do to the order of the runs, or to the scores of one."""
    yield from (_bottom_of_runs if len(audit.runs) > 1 else _bottom_of_run)(audit, layout)


def _bottom_of_run(audit: Audit, layout: Layout) -> Iterator[str]:
    """Each score of a single run, and how far ties and judging could move it."""
    for m, measure in enumerate(audit.measures):
        score = _number(layout, audit, m, audit.score[0, m])
        ties = _range(layout, audit, m, *(ends[0, m] for ends in audit.reach("ties")))
        moves = ["ties do not change it" if ties == score else f"ties put it anywhere in {ties}"]
        low, high = (_number(layout, audit, m, ends[0, m]) for ends in (audit.lowest, audit.highest))
        if audit.complete:
            pass
        elif UNDEFINED in (low, high):
            moves.append("the effect of unjudged documents is unknown")
        elif low == high:
            moves.append("unjudged documents do not change it")
        else:
            likely = _plus_minus(layout, audit, 0, m)
            likely = "" if likely == UNDEFINED or not audit.unjudged[0, m] else f"{likely} {AS_OFTEN}, and "
            moves.append(f"its unjudged documents would make it {likely}{low} to {high} at the extremes")
        yield f"{measure} is {score}: {'; '.join(moves)}."
    if ideal := _with_larger_ideal(audit, of=""):
        yield f"{ideal}, which lowers scores."


def _bottom_of_runs(audit: Audit, layout: Layout) -> Iterator[str]:
    """How many pairs of runs ties and unjudged documents could reverse, of many runs those of the best."""
    leading = set(audit.leading)
    whom = "the runs" if len(leading) == len(audit.runs) else f"the best {len(leading)} runs by {audit.measures[0]}"
    rows = [r for r, run in enumerate(audit.runs) if run in leading]
    pairs = replace(audit, score=audit.score[rows]).pairs.tolist()
    plausible = [len(audit.plausible_swaps(m)) for m in range(len(audit.measures))]
    worst, by_ties = (_counted(audit, cause, rows) for cause in ("unjudged", "ties"))
    if not sum(pairs):
        yield "All runs have the same scores."
        return
    if not any(by_ties) and not any(worst):
        tried = "" if audit.complete or audit.hold[rows].all() else " that was tried"
        judged = "" if audit.complete else f", and no judgment of unjudged documents{tried},"
        yield f"The order of {whom} holds: no order of ties{judged} changes it."
    elif not any(by_ties) and not any(plausible):
        yield (
            f"The order of {whom} holds for every order of ties and for plausible judgments of unjudged documents; "
            "only unlikely judgments could change it."
        )
    else:
        yield f"The order of {whom} is open: {_open_pairs(audit, rows)}."
    ends = audit.reach("ties")
    width = np.where(np.isnan(ends[1] - ends[0]), 0, ends[1] - ends[0])[rows]
    r, m = np.unravel_index(int(np.argmax(width)), width.shape)
    small = width[r, m] < 10.0**-layout.digits / 2  # which would be shown as 0
    most = f"less than {10.0**-layout.digits:.{layout.digits}f}" if small else f"at most {layout.number(width[r, m])}"
    most = f"; they move a score by {most} ({audit.measures[m]} of `{audit.runs[rows[r]]}`)"
    yield f"Ties {_reverse(audit, by_ties, pairs)}{most if width[r, m] > SAME else ''}."
    if audit.complete:
        return
    unknown = [name for m, name in enumerate(audit.measures) if _unknown(audit, "unjudged", m)]
    without = f" (unknown for {', '.join(unknown)})" if unknown else ""
    drawn = not np.isnan(audit.plausible[rows]).all()
    likely = f"; {AS_OFTEN}, they {_reverse(audit, plausible, pairs, unknown)}" if drawn and any(worst) else ""
    yield f"At worst, unjudged documents {_reverse(audit, worst, pairs, unknown)}{without}{likely}."
    if ideal := _with_larger_ideal(audit):
        yield f"{ideal} lowers scores, and is not counted here."


def _with_larger_ideal(audit: Audit, *, of: str = ", the same one for all runs: that") -> str:
    """The beginning of a sentence on measures whose scores fall if relevant documents are found below the cutoff."""
    names = [
        name
        for m, (name, column) in enumerate(zip(audit.measures, audit.columns, strict=True))
        if column.rank_cutoff is not None and (audit.lowest[:, m] < audit.score[:, m] - SAME).any()
    ]
    whose = f"ideal ranking{'' if len(names) == 1 else 's'} of {one_of(names, 'and')}"
    return f"Relevant documents below the cutoff would enlarge the {whose}{of}" if names else ""


AS_OFTEN = "if they are relevant as often as judged documents at the same depth"


def _counted(audit: Audit, cause: Cause, rows: Sequence[int] | None = None) -> list[int]:
    """How many pairs of runs, or of these, a cause could reverse by each measure."""
    if cause not in audit.reversible:
        return [0] * len(audit.measures)
    chosen = slice(None) if rows is None else rows
    counts: list[int] = audit.reversible[cause][:, chosen][:, :, chosen].sum(axis=(1, 2)).tolist()
    return counts


def _open_pairs(audit: Audit, rows: Sequence[int]) -> str:
    """The closest pair of these runs by each measure that ties or plausible judgments could reverse."""
    named: dict[tuple[str, str], list[str]] = {}
    for m, measure in enumerate(audit.measures):
        first, second = audit.reversible_pairs("ties", m)
        of_these = np.isin(first, rows) & np.isin(second, rows)
        swaps = audit.swaps_of("ties", m, first[of_these], second[of_these])
        pairs = [(s.higher, s.lower) for s in sorted(swaps, key=lambda swap: swap.gap)] or audit.plausible_swaps(m)
        if pairs:
            named.setdefault(pairs[0], []).append(measure)
    alone = len(audit.measures) == 1
    texts = [
        f"`{a}` and `{b}` could swap{'' if alone else f' by {one_of(measures)}'}" for (a, b), measures in named.items()
    ]
    return "; ".join(texts[:SHOWN])


def _reverse(audit: Audit, counted: Sequence[int], pairs: Sequence[int], unknown: Sequence[str] = ()) -> str:
    """How many of the pairs a cause could reverse, by measure if there are several; without those where it is unknown.

    The number of pairs is repeated only where it differs.
    """
    if not any(counted):
        return "cannot reverse any pair of runs" if sum(pairs) > len(pairs) else "cannot reverse the order"
    if max(pairs) == 1:  # two runs, with equal scores by some measures
        names = [name for name, number in zip(audit.measures, counted, strict=True) if number]
        return f"could reverse the order{'' if len(counted) == 1 else f' by {one_of(names)}'}"
    if len(counted) == 1:
        part = "all" if counted == pairs else f"{counted[0]:,} of"
        return f"could reverse {part} {pairs[0]:,} pairs of runs"
    parts: list[str] = []
    before = None
    for number, of, name in zip(counted, pairs, audit.measures, strict=True):
        if name in unknown:
            continue
        scope = "" if of == before else f" of {plural(of, 'pair')}"
        parts.append(f"{f'{number:,}' if number else 'none'}{scope} by {name}")
        before = of
    return f"could reverse {one_of(parts, 'and')}"


def to_do(audit: Audit, inputs: Mapping[str, str] | None = None) -> tuple[str, str]:
    """What to do about unjudged documents, as a sentence and as a command; both are empty if nothing helps."""
    m = _to_judge(audit)
    if m is None:
        return "", ""
    if inputs is None:
        return "`cf.judging.next_documents` and `cranfield judge` name the documents whose judgments matter most.", ""
    command = judge_command(audit, m, inputs)
    in_order = f"first {TO_JUDGE} unjudged documents"
    which = in_order if "--strategy depth" in command else f"{TO_JUDGE} documents that matter most"
    return f"To judge the {which}:", command


def _to_judge(audit: Audit) -> int | None:
    """The measure for which to judge: one that `cranfield judge` takes, and that judgments would change."""
    for m, column in enumerate(audit.columns):
        single = len(audit.runs) == 1
        helps = audit.highest[0, m] > audit.score[0, m] + SAME if single else audit.plausible_swaps(m)
        if helps and not audit.complete and not audit.passages and _judgeable(column):
            return m
    return None


def judge_command(audit: Audit, m: int, inputs: Mapping[str, str]) -> str:
    """The command that makes a page with the documents to judge, for the closest runs that they could reverse."""
    column = audit.columns[m]
    chosen = list(dict.fromkeys(chain.from_iterable(audit.plausible_swaps(m))))[:FEW_RUNS] or list(audit.runs)
    words = ["cranfield", "judge", inputs[""], *(inputs[run] for run in chosen if run in inputs)]
    words += ["-m", column.label, "--top", str(TO_JUDGE), "--page", "judge.html"]
    longest = math.ceil(np.nanmax(audit.length[[audit.runs.index(run) for run in chosen]]))
    if column.rank_cutoff is None and longest > POOL:
        words += ["--depth", str(longest)]
    if len(chosen) > 1 and column.rank_cutoff is not None and column.rank_cutoff <= CHEAP:
        words += ["--confidence", "1"]  # the pairs are bounded as in the audit, so that they are open
    elif len(chosen) == 1 or column.measure.symbol != "AP":
        words += ["--strategy", "depth"]
    return shlex.join(words)


def _judgeable(column: Column) -> bool:
    """Whether `cranfield judge` chooses documents for this measure."""
    measure = column.measure
    if not measure.views.plain or measure.views.groups or column.alignment.costs or measure.views.ties not in ORDERED:
        return False
    return linear_part(measure) is not None or (measure.symbol == "AP" and not measure.chosen["graded"])


def counts(audit: Audit) -> Sheet:
    """How many pairs of runs each cause could reverse, by measure; with plausible judgments, if runs are few."""
    rows, swaps = [], {cause: _counted(audit, cause) for cause in audit.causes}
    plausible = not audit.complete and len(audit.leading) == len(audit.runs)
    names = [name for cause in audit.causes for name in (cause, *(["plausible"] * (cause == "unjudged" and plausible)))]
    for m, measure in enumerate(audit.measures):
        texts: dict[str, str] = {
            cause: UNDEFINED if _unknown(audit, cause, m) else str(swaps[cause][m]) for cause in audit.causes
        }
        unknown = bool(np.isnan(audit.plausible[:, m]).all())
        texts["plausible"] = UNDEFINED if unknown else str(len(audit.plausible_swaps(m)))
        rows.append(Row((measure,), (Cell(str(audit.pairs[m])), *(Cell(texts[name]) for name in names))))
    return Sheet(("measure",), ("pairs", *names), tuple(rows))


def _unknown(audit: Audit, cause: Cause, m: int) -> bool:
    """Whether the effect of a cause on a measure is unknown."""
    return bool(np.isnan(audit.reach(cause)[0][:, m]).all())


def unproven(audit: Audit) -> Iterator[str]:
    """The measures for which the effect of unjudged documents is not proven or not known."""
    if audit.complete:
        return
    unknown = [name for m, name in enumerate(audit.measures) if _unknown(audit, "unjudged", m)]
    tried = [n for m, n in enumerate(audit.measures) if not audit.hold[:, m].all() and n not in unknown]
    if tried:
        yield f"For {', '.join(tried)}, this holds for the judgments that were tried; it is not a proof."
    if unknown:
        yield f"For {', '.join(unknown)}, the effect of judging unjudged documents is unknown."


def _meaning(audit: Audit, cause: Cause) -> str:
    """What a cause means; of many runs, whose overview does not have all columns, only the first sentence."""
    text = MEANINGS[cause].format(interval=INTERVALS[audit.interval])
    return text if len(audit.runs) <= FEW_RUNS else f"{text.partition('. ')[0].rstrip('.')}."


def swap_sentences(audit: Audit, layout: Layout, *, all_pairs: bool) -> Iterator[tuple[Cause, list[str]]]:
    """Each cause with a sentence for each pair that it could reverse, or for a few of them."""
    for cause in audit.causes:
        number = sum(_counted(audit, cause))
        most = number if all_pairs else SHOWN if len(audit.runs) <= FEW_RUNS else SHOWN_OF_MANY
        named = representative(audit, cause, most)
        sentences = [sentence(audit, swap, layout) for swap in named]
        if len(named) < number:
            widest = _widest(audit, cause)
            more = f"... and {number - len(named):,} more (use -v)"
            gap = f"{layout.number(widest.gap)} ({widest.measure} of `{widest.higher}` and `{widest.lower}`)"
            sentences.append(more if widest in named else f"{more}; the largest difference is {gap}")
        if not number and len(audit.runs) > 1 and audit.pairs.any():
            sentences = ["No pair of runs.", *(unproven(audit) if cause == "unjudged" else ())]
        yield cause, sentences


def representative(audit: Audit, cause: Cause, most: int = SHOWN) -> list[Swap]:
    """A few pairs to name: from each measure in turn, neighbours in the ranking first, closest first."""
    first_of_each = [
        audit.swaps_of(cause, m, *(rows[:most] for rows in audit.reversible_pairs(cause, m)))
        for m in range(len(audit.measures))
    ]
    ranked = [(not swap.adjacent, turn, m) for m, swaps in enumerate(first_of_each) for turn, swap in enumerate(swaps)]
    chosen = sorted((m, turn) for _, turn, m in sorted(ranked)[:most])
    return [first_of_each[m][turn] for m, turn in chosen]


def _widest(audit: Audit, cause: Cause) -> Swap:
    """The pair with the largest difference that a cause could reverse."""
    widest: list[Swap] = []
    for m in range(len(audit.measures)):
        first, second = audit.reversible_pairs(cause, m)
        at = np.argmax(audit.score[first, m] - audit.score[second, m], keepdims=True) if len(first) else slice(0)
        widest += audit.swaps_of(cause, m, first[at], second[at])
    return max(widest, key=lambda swap: swap.gap)


def sentence(audit: Audit, swap: Swap, layout: Layout) -> str:
    """One pair as a sentence: the runs, the cause, the numbers."""
    m = audit.measures.index(swap.measure)
    count = audit.aggregates[m] == "sum"
    while not count and layout.digits < MOST_DIGITS and layout.number(swap.score[0]) == layout.number(swap.score[1]):
        layout = replace(layout, digits=layout.digits + 1)  # scores that differ are shown to differ
    ends = (swap.score, swap.low, swap.high)
    (higher, lower), low, high = ([layout.number(value, count=count) for value in pair] for pair in ends)
    if swap.cause in ("condensed", "terminal"):
        numbers = f"{higher} vs {lower}; {swap.cause}: {low[0]} vs {low[1]}"
    else:
        numbers = f"{higher} [{low[0]}, {high[0]}] vs {lower} [{low[1]}, {high[1]}]"
    if swap.cause == "ties":
        a, b = (audit.expected[audit.runs.index(run), m] for run in (swap.higher, swap.lower))
        numbers += f"; expected: {layout.number(a, count=count)} vs {layout.number(b, count=count)}" if a < b else ""
    return f"{swap.measure}: `{swap.higher}` and `{swap.lower}` {EFFECTS[swap.cause]} ({numbers})"


ROW = 0.17  # inches for a run
MARGIN = 0.95  # inches for titles and the legend
ACROSS = 4  # panels side by side
VISIBLE = 0.03  # of the width of a panel: a marker that is nearer to the score would cover it

BANDS: tuple[tuple[Cause, str, str, float], ...] = (
    ("ties", "ties: worst to best", canvas.ORANGE, -0.24),
    ("unjudged", "unjudged: lowest to highest", canvas.SKY, 0.0),
    ("queries", "95% confidence interval", canvas.GREY, 0.24),
)
MARKS: tuple[tuple[Cause, str, str], ...] = (("condensed", "D", canvas.BLUE), ("terminal", "s", canvas.GREEN))


def drawings(audit: Audit) -> canvas.Drawings:
    """One figure of all measures."""
    return {"audit": partial(drawn, audit)}


def drawn(audit: Audit) -> Figure:
    """A panel for each measure; runs as rows, in the order of the first measure, the highest on top."""
    across = min(ACROSS, len(audit.measures))
    down = -(-len(audit.measures) // across)
    figure = canvas.new_figure(canvas.PAGE, down * (max(len(audit.runs), 3) * ROW + MARGIN))
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    order = np.argsort(-np.nan_to_num(audit.score[:, 0], nan=-np.inf), kind="stable")
    for m, axis in enumerate(axes.flat):
        if m < len(audit.measures):
            draw_measure(audit, m, axis, order)
        else:
            axis.set_axis_off()
    figure.legend(handles=list(_legend(audit)), loc="outside upper center", ncols=6, frameon=False, columnspacing=1.2)
    return figure


def panel(audit: Audit, m: int, *, top: int | None) -> canvas.Panel:
    """One measure of the best runs."""
    order = np.argsort(-np.nan_to_num(audit.score[:, m], nan=-np.inf), kind="stable")[:top]

    def draw(axis: Axes) -> Axes:
        draw_measure(audit, m, axis, order)
        if len(order) < len(audit.runs):
            axis.set_title(f"{audit.measures[m]}, the best {len(order)} of {len(audit.runs)} runs")
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 3.2}
        axis.legend(handles=list(_legend(audit, canvas.ink(axis))), ncols=3, frameon=False, **below)
        return axis

    size = max(len(order), 3) * ROW
    return canvas.Panel(draw, 1.5 * canvas.COLUMN, size + MARGIN)


def draw_measure(audit: Audit, measure: int, axis: Axes, order: Any = None) -> Axes:
    """One measure: a row for each run with its score and the values that it could have had."""
    order = np.arange(len(audit.runs)) if order is None else order
    rows = np.arange(len(order))
    for row in rows[::2]:
        axis.axhspan(row - 0.5, row + 0.5, color=canvas.GREY, alpha=0.11, linewidth=0, zorder=-1)
    for cause, _, colour, offset in BANDS:
        low, high = (ends[order, measure] for ends in audit.reach(cause))
        axis.hlines(rows + offset, low, high, color=colour, linewidth=1.6, zorder=2)
    score = audit.score[order, measure]
    for cause, marker, colour in MARKS:
        value = audit.reach(cause)[0][order, measure]
        value = np.where(np.abs(value - score) > VISIBLE * np.ptp(axis.dataLim.intervalx), value, np.nan)
        axis.plot(value, rows, linestyle="", **_hollow(marker, colour), zorder=4)
    axis.plot(score, rows, linestyle="", **_point(canvas.ink(axis)), zorder=3)
    canvas.name_rows(axis, [audit.runs[r] for r in order])
    axis.set_ylim(len(order) - 0.5, -0.5)
    axis.set_title(audit.measures[measure])
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color=canvas.GREY, alpha=0.35, linewidth=0.4)
    axis.set_axisbelow(True)
    axis.margins(x=0.04)
    return axis


def _legend(audit: Audit, colour: Any = canvas.BLACK) -> Iterator[Any]:
    """The legend, without symbols that do not occur in the figure."""
    from matplotlib.lines import Line2D

    yield Line2D([], [], linestyle="", label="score", **_point(colour))
    for _, label, band, _ in BANDS:
        yield Line2D([], [], color=band, linewidth=1.6, label=label)
    for cause, marker, edge in MARKS:
        if not np.isnan(audit.reach(cause)[0]).all():
            yield Line2D([], [], linestyle="", label=cause, **_hollow(marker, edge))


def _point(colour: Any) -> dict[str, Any]:
    return {"marker": "o", "color": colour, "markersize": 2.2}


def _hollow(marker: str, colour: str) -> dict[str, Any]:
    return {
        "marker": marker,
        "markerfacecolor": "none",
        "markeredgecolor": colour,
        "markersize": 4,
        "markeredgewidth": 0.8,
    }
