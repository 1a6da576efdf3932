"""An explanation as tables and figures: what each document adds; for document text, the words behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cranfield.analysis.explain import END, Explanation, Step, TextExplanation, TextStep
from cranfield.errors import check_choice
from cranfield.report.canvas import BLUE, COLUMN, GREEN, GREY, ORANGE, PAGE, SKY, new_figure, plotted_axes, save
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, Sheet, shown, signed
from cranfield.statistics.rounding import SAME
from cranfield.wording import decodable, plural, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNJUDGED, MISSING = "unjudged", "not in corpus"
TOP = 20  # ranks that a table shows
TIE_ORDERS = {
    "trec": "by descending id, as in trec_eval",
    "trec9": "by descending id, as in trec_eval up to version 9",
    "input": "that of the input",
    "rank": "that of the input",
    "best": "the best one",
    "worst": "the worst one",
}


def pages(explanation: Explanation, digits: int = 4, words: int = 3, text: str = "", top: int = TOP) -> list[Page]:
    """The first ``top`` ranks in one table; for a measure of document text, words in another.

    ``words``: how many of each document to show. ``text``: that of the query.
    """
    score = shown(explanation.score, digits)
    query = f"{explanation.query} ({shortened(text)})" if text else explanation.query
    title = f"{explanation.measure} of {explanation.run} for query {query}: {score}"
    if not isinstance(explanation, TextExplanation):
        return [Page(title, _sums(explanation, digits, top), tuple(how(explanation, digits)))]
    ranks = Page(title, _ranks(explanation, digits))
    return [ranks, Page("Contributions of words to the coverage of the subtopic", _words(explanation, digits, words))]


def how(explanation: Explanation, digits: int = 4) -> Iterator[str]:
    """Sentences that say how the score comes about."""
    yield f"{explanation.summary} {explanation.formula}."
    divisor = explanation.divisor
    if np.isnan(divisor):
        yield (
            "The score is not a sum of gain times weight. A document adds the difference that it makes to the score "
            "while all documents below it still count as unjudged."
        )
    else:
        name = f" ({explanation.divisor_name})" if explanation.divisor_name else ""
        divided = "" if abs(divisor - 1) < SAME else f" / {_number(divisor, digits)}{name}"
        weight = f"; its weight is {explanation.weight_name}" if explanation.weight_name else ""
        yield f"A document adds gain × weight{divided}{weight}."
    if abs(explanation.before) > SAME:
        yield f"Without any judged document the score is {shown(explanation.before, digits)}."
    if not np.isnan(explanation.ideal_score):
        yield "ideal: all documents with gain, in descending order of gain."
    if any(step.open for step in explanation.steps):
        yield "Tied documents share their ranks; each adds its mean over all their orders."
    elif any(step.tie for step in explanation.steps):
        order = TIE_ORDERS.get(explanation.ties, explanation.ties)
        yield f"= marks documents with equal scores; their order is {order}."


def _number(value: float, digits: int) -> str:
    """A number without decimals if it has none."""
    return f"{value:.0f}" if value == round(value) else shown(value, digits)


def _sums(explanation: Explanation, digits: int, top: int) -> Sheet:
    """The ranks of any measure; gains, weights and the ideal ranking only if there are some."""
    steps, before = explanation.steps[:top], explanation.before

    def ranks(step: Step) -> str:
        if step.tie is None:
            return str(step.rank)
        return f"{step.tie[0]}–{step.tie[1]}" if step.open else f"{step.rank}="

    columns: dict[str, list[float]] = {
        "gain": [step.gain for step in steps],
        "weight": [step.weight for step in steps],
        "adds": [step.earned for step in steps],
        "score\nso far": [step.so_far for step in steps],
        "ideal\ngain": [step.ideal_gain for step in steps],
        "ideal\nso far": [step.ideal_so_far for step in steps],
    }
    kept = [name for name, values in columns.items() if name in ("adds", "score\nso far") or _any(values)]
    of_gain = ("gain", "ideal\ngain")
    rows = [
        (
            (ranks(step), step.document, "" if step.document == END else judged(step)),
            [
                Cell(
                    _cell(columns[name][i], digits, whole=name in of_gain),
                    best=name == "adds" and step.earned > 0,
                )
                for name in kept
            ],
        )
        for i, step in enumerate(steps)
    ]
    blank = {name: Cell("") for name in kept}
    if abs(before) > SAME:
        start = blank | {"score\nso far": Cell(shown(before, digits))}
        rows.insert(0, (("", "(before the first document)", ""), list(start.values())))
    if rest := explanation.steps[top:]:
        total = sum(step.earned for step in rest)
        last = rest[-1]
        more = blank | {
            "adds": Cell(shown(total, digits), best=total > 0),
            "score\nso far": Cell(shown(last.so_far, digits)),
        }
        names = (f"{rest[0].rank}–{last.rank}", f"({plural(len(rest), 'more document')})", "")
        rows.append((names, list(more.values())))
    return sheet(("rank", "document", "grade"), kept, rows)


def _any(values: Sequence[float]) -> bool:
    return not np.isnan(values).all() if len(values) else False


def _cell(value: float, digits: int, *, whole: bool) -> str:
    return "" if np.isnan(value) else _number(value, digits) if whole else shown(value, digits)


def judged(step: Step) -> str:
    """The grades of a document, highest first."""
    if step.judged is None:
        return UNJUDGED
    grades = sorted(step.judged.items(), key=lambda item: -item[1])
    return ", ".join(f"{name}: {grade:g}" if name else f"{grade:g}" for name, grade in grades)


def _ranks(explanation: TextExplanation, digits: int) -> Sheet:
    rows = []
    for step in explanation.steps:
        names = (str(step.rank), step.document, judged(step), step.subtopic if step.known else MISSING)
        numbers = [Cell(shown(value, digits)) for value in (step.before, step.after)]
        rows.append((names, [Cell(shown(step.earned, digits), best=step.earned > 0), *numbers]))
    return sheet(("rank", "document", "judged", "subtopic"), ("adds", "coverage\nbefore", "coverage\nafter"), rows)


def _words(explanation: TextExplanation, digits: int, words: int) -> Sheet:
    rows = []
    for step in explanation.steps:
        top, rest = step.words[:words], step.words[words:]
        cells = [Cell(word.word, aside=signed(word.change, digits)) for word in top]
        cells += [Cell("")] * (words - len(top))
        cells += [Cell(signed(sum(word.change for word in rest), digits)), Cell(signed(step.change, digits))]
        rows.append(((str(step.rank), step.document), cells))
    heads = [*(f"word {i + 1}" for i in range(words)), "other words", "change"]
    return sheet(("rank", "document"), heads, rows)


WORDS = 3
DRAWN = 60  # documents of a figure
# Five and four have no common factor, so that twenty subtopics have different styles.
COLOURS = (BLUE, ORANGE, GREEN, SKY, GREY)
DASHES = ("-", "--", "-.", ":")
KINDS = {"relevant": (BLUE, ""), "not relevant": (GREY, ""), UNJUDGED: (ORANGE, "////")}


def figures(found: Explanation, folder: str) -> list[Path]:
    """Draw the explanation into a folder; returns the files written."""
    return save(partial(draw, found), folder, f"explain-{found.run}-{found.query}-{found.measure}")


def draw(found: Explanation) -> Figure:
    """Documents by rank; for a measure of document text, subtopics by rank on the left."""
    height = 1.2 + 0.17 * max(len(found.steps[:DRAWN]), 8)
    figure = new_figure(PAGE, height)
    if isinstance(found, TextExplanation):
        near, earned = figure.subplots(1, 2, sharey=True, width_ratios=(2, 3))
        subtopics(found, near)
    else:
        earned = figure.subplots()
        _ranked_documents(found, earned)
    documents(found, earned)
    figure.suptitle(f"{found.measure} of {found.run}, query {found.query}: {found.score:.4f}", fontsize=8)
    return figure


def plot(found: Explanation, part: str, ax: Axes | None) -> Axes:
    """The ``documents`` or the ``subtopics`` of an explanation, on these axes or on new ones."""
    check_choice("part", part, ("documents", "subtopics") if isinstance(found, TextExplanation) else ("documents",))

    def draw_part(axis: Axes) -> Axes:
        _ranked_documents(found, axis)
        if part == "subtopics" and isinstance(found, TextExplanation):
            return subtopics(found, axis)
        return documents(found, axis)

    return plotted_axes(draw_part, 1.4 * COLUMN, 0.8 + 0.17 * max(len(found.steps[:DRAWN]), 8), ax)


def subtopics(found: TextExplanation, axis: Axes) -> Axes:
    """The coverage of each subtopic after each rank; there is no gain below 0."""
    ranks = np.arange(len(found.steps[:DRAWN]) + 1)
    looks = zip(cycle(COLOURS), cycle(DASHES), strict=False)
    for (colour, dashes), name, near in zip(looks, found.subtopics, found.near.T, strict=False):
        label = f"subtopic {name}" if name else "the query"
        axis.plot(np.append(0, near[:DRAWN]), ranks, dashes, color=colour, marker=".", markersize=3, label=label)
    axis.axvline(0, color=GREY, linewidth=0.5)
    low = min(float(np.nanmin(found.near, initial=0)), 0)
    axis.set_xlim(max(low, -1) - 0.05, 1.05)
    axis.set_xlabel("coverage (1 - KLD / KLD of the collection)")
    if found.subtopics:
        axis.legend(loc="best", fontsize=6, handlelength=3)  # long enough to distinguish dashes
    _ranked_documents(found, axis)
    return axis


def _ranked_documents(found: Explanation, axis: Axes) -> None:
    """The documents beside the axis, the first on top, coloured by their judgments."""
    shown_steps = found.steps[:DRAWN]
    names = [decodable(f"{step.document}  {step.rank}") for step in shown_steps]
    axis.set_yticks([step.rank for step in shown_steps], names, parse_math=False)
    for step, tick in zip(shown_steps, axis.get_yticklabels(), strict=True):
        tick.set_color(KINDS[kind_of(step)][0])
    axis.set_ylim(len(shown_steps) + 0.6, -0.2)


def documents(found: Explanation, axis: Axes) -> Axes:
    """The contribution of each document to the score, coloured by its judgment, and its most important words."""
    for kind, (colour, hatch) in KINDS.items():
        mine = [step for step in found.steps[:DRAWN] if kind_of(step) == kind]
        if not mine:
            continue
        ranks, earned = [step.rank for step in mine], [step.earned for step in mine]
        axis.barh(ranks, earned, 0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0, label=kind)
    widest = max((step.earned for step in found.steps), default=0) or 1
    for step in found.steps[:DRAWN]:
        if step.earned > 0 and isinstance(step, TextStep):
            words = ", ".join([one.word for one in step.words if one.change > 0][:WORDS])
            axis.text(step.earned + widest / 60, step.rank, words, va="center", fontsize=6)
    lowest = min((step.earned for step in found.steps), default=0)
    axis.set_xlim(1.1 * min(lowest, 0), (1.6 if isinstance(found, TextExplanation) else 1.1) * widest)
    axis.set_xlabel("contribution to the score")
    if found.steps:
        axis.legend(loc="lower right")
    return axis


def kind_of(step: Step) -> str:
    """Whether a document is relevant, not relevant or unjudged."""
    if step.judged is None:
        return UNJUDGED
    return "relevant" if max(step.judged.values(), default=0) > 0 else "not relevant"
