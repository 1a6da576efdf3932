"""An explanation as tables and figures: what each document adds, the subtopic it covers, and the words behind it."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cranfield.analysis.explain import Explanation, Step
from cranfield.errors import check_choice
from cranfield.io.collection import shortened
from cranfield.report.canvas import BLUE, COLUMN, GREEN, GREY, ORANGE, PAGE, SKY, new_figure, plotted_axes, save
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, Sheet, shown, signed
from cranfield.wording import decodable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNJUDGED, MISSING = "unjudged", "not in corpus"


def pages(explanation: Explanation, digits: int = 4, words: int = 3, text: str = "") -> list[Page]:
    """The ranks in one table, and the ``words`` with the largest contributions in another; ``text`` of the query."""
    score = shown(explanation.score, digits)
    query = f"{explanation.query} ({shortened(text)})" if text else explanation.query
    ranks = Page(f"{explanation.measure} of {explanation.run} for query {query}: {score}", _ranks(explanation, digits))
    return [ranks, Page("Contributions of words to the coverage of the subtopic", _words(explanation, digits, words))]


def judged(step: Step) -> str:
    """The grades of a document, highest first."""
    if step.judged is None:
        return UNJUDGED
    grades = sorted(step.judged.items(), key=lambda item: -item[1])
    return ", ".join(f"{name}: {grade:g}" if name else f"{grade:g}" for name, grade in grades)


def _ranks(explanation: Explanation, digits: int) -> Sheet:
    rows = []
    for step in explanation.steps:
        names = (str(step.rank), step.document, judged(step), step.subtopic if step.known else MISSING)
        numbers = [Cell(shown(value, digits)) for value in (step.before, step.after)]
        rows.append((names, [Cell(shown(step.earned, digits), best=step.earned > 0), *numbers]))
    return sheet(("rank", "document", "judged", "subtopic"), ("adds", "coverage\nbefore", "coverage\nafter"), rows)


def _words(explanation: Explanation, digits: int, words: int) -> Sheet:
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
# Five and four have no common factor, so that twenty subtopics have different styles.
COLOURS = (BLUE, ORANGE, GREEN, SKY, GREY)
DASHES = ("-", "--", "-.", ":")
KINDS = {"relevant": (BLUE, ""), "not relevant": (GREY, ""), UNJUDGED: (ORANGE, "////")}


def figures(found: Explanation, folder: str) -> list[Path]:
    """Draw the explanation into a folder; returns the files written."""
    return save(partial(draw, found), folder, f"explain-{found.run}-{found.query}-{found.measure}")


def draw(found: Explanation) -> Figure:
    """Subtopics by rank on the left, documents by rank on the right."""
    height = 1.2 + 0.17 * max(len(found.steps), 8)
    figure = new_figure(PAGE, height)
    near, earned = figure.subplots(1, 2, sharey=True, width_ratios=(2, 3))
    subtopics(found, near)
    documents(found, earned)
    figure.suptitle(f"{found.measure} of {found.run}, query {found.query}: {found.score:.4f}", fontsize=8)
    return figure


def plot(found: Explanation, part: str, ax: Axes | None) -> Axes:
    """The ``documents`` or the ``subtopics`` of an explanation, on these axes or on new ones."""
    check_choice("part", part, ("documents", "subtopics"))

    def draw_part(axis: Axes) -> Axes:
        _ranked_documents(found, axis)
        return (documents if part == "documents" else subtopics)(found, axis)

    return plotted_axes(draw_part, 1.4 * COLUMN, 0.8 + 0.17 * max(len(found.steps), 8), ax)


def subtopics(found: Explanation, axis: Axes) -> Axes:
    """The coverage of each subtopic after each rank; there is no gain below 0."""
    ranks = np.arange(len(found.steps) + 1)
    looks = zip(cycle(COLOURS), cycle(DASHES), strict=False)
    for (colour, dashes), name, near in zip(looks, found.subtopics, found.near.T, strict=False):
        label = f"subtopic {name}" if name else "the query"
        axis.plot(np.append(0, near), ranks, dashes, color=colour, marker=".", markersize=3, label=label)
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
    names = [decodable(f"{step.document}  {step.rank}") for step in found.steps]
    axis.set_yticks([step.rank for step in found.steps], names, parse_math=False)
    for step, tick in zip(found.steps, axis.get_yticklabels(), strict=True):
        tick.set_color(KINDS[kind_of(step)][0])
    axis.set_ylim(len(found.steps) + 0.6, -0.2)


def documents(found: Explanation, axis: Axes) -> Axes:
    """The contribution of each document to the score, coloured by its judgment, and its most important words."""
    for kind, (colour, hatch) in KINDS.items():
        mine = [step for step in found.steps if kind_of(step) == kind]
        if not mine:
            continue
        ranks, earned = [step.rank for step in mine], [step.earned for step in mine]
        axis.barh(ranks, earned, 0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0, label=kind)
    widest = max((step.earned for step in found.steps), default=0) or 1
    for step in found.steps:
        if step.earned > 0:
            words = ", ".join([one.word for one in step.words if one.change > 0][:WORDS])
            axis.text(step.earned + widest / 60, step.rank, words, va="center", fontsize=6)
    axis.set_xlim(0, 1.6 * widest)
    axis.set_xlabel("contribution to the score")
    if found.steps:
        axis.legend(loc="lower right")
    return axis


def kind_of(step: Step) -> str:
    """Whether a document is relevant, not relevant or unjudged."""
    if step.judged is None:
        return UNJUDGED
    return "relevant" if max(step.judged.values(), default=0) > 0 else "not relevant"
