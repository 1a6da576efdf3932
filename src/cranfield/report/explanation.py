"""An explanation as tables and figures, and as a page for a class.

The page lets its readers move a document, change a grade or break a tie, and shows how the score changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.analysis.explain import END, Explanation, Step, TextExplanation, TextStep
from cranfield.errors import MeasureError, UsageError
from cranfield.evaluation.notes import sentences
from cranfield.measures import Measure, parse
from cranfield.ranking.views import Views
from cranfield.report.canvas import BLUE, COLUMN, GREEN, GREY, ORANGE, PAGE, SKY, Drawings, Panel, new_figure
from cranfield.report.pages import Page, page_of_data, sheet, snippet
from cranfield.report.sheet import Cell, Sheet, shown, signed
from cranfield.settings import Choice, check
from cranfield.statistics.rounding import SAME
from cranfield.wording import decodable, plural, printable, shortened

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
    if any(step.document == END for step in explanation.steps):
        yield (
            "The end of the list counts as a document: its gain is the share of the relevant gain that the list has, "
            "or 1 if no document is relevant."
        )
    if explanation.removed:
        yield f"{plural(len(explanation.removed), 'unjudged document')} removed before ranks were given."
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
    kept = [name for name, values in columns.items() if name in ("adds", "score\nso far") or not np.isnan(values).all()]
    of_gain = ("gain", "ideal\ngain")
    rows = [
        (
            (ranks(step), step.document, "" if step.document == END else judged(step)),
            [
                Cell(
                    _cell(columns[name][i], digits, is_count=name in of_gain),
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


def _cell(value: float, digits: int, *, is_count: bool) -> str:
    return "" if np.isnan(value) else _number(value, digits) if is_count else shown(value, digits)


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


def notes(explanation: Explanation) -> list[str]:
    """What a reader of the score should know."""
    return sentences(explanation.notes)


def drawings(explanation: Explanation) -> Drawings:
    """One figure of the whole explanation."""
    return {f"explain-{explanation.run}-{explanation.query}-{explanation.measure}": partial(draw, explanation)}


def draw(explanation: Explanation) -> Figure:
    """Documents by rank; for a measure of document text, subtopics by rank on the left."""
    height = 1.2 + 0.17 * max(len(explanation.steps[:DRAWN]), 8)
    figure = new_figure(PAGE, height)
    if isinstance(explanation, TextExplanation):
        near, earned = figure.subplots(1, 2, sharey=True, width_ratios=(2, 3))
        subtopics(explanation, near)
    else:
        earned = figure.subplots()
        _ranked_documents(explanation, earned)
    documents(explanation, earned)
    figure.suptitle(
        f"{explanation.measure} of {explanation.run}, query {explanation.query}: {explanation.score:.4f}", fontsize=8
    )
    return figure


def panel(explanation: Explanation, part: str) -> Panel:
    """The ``documents`` or the ``subtopics`` of an explanation."""
    check(Choice(("documents", "subtopics")[: 1 + isinstance(explanation, TextExplanation)]), "part", part)

    def draw_part(axis: Axes) -> Axes:
        _ranked_documents(explanation, axis)
        if part == "subtopics" and isinstance(explanation, TextExplanation):
            return subtopics(explanation, axis)
        return documents(explanation, axis)

    return Panel(draw_part, 1.4 * COLUMN, 0.8 + 0.17 * max(len(explanation.steps[:DRAWN]), 8))


def subtopics(explanation: TextExplanation, axis: Axes) -> Axes:
    """The coverage of each subtopic after each rank; there is no gain below 0."""
    ranks = np.arange(len(explanation.steps[:DRAWN]) + 1)
    looks = zip(cycle(COLOURS), cycle(DASHES), strict=False)
    for (colour, dashes), name, near in zip(looks, explanation.subtopics, explanation.near.T, strict=False):
        label = f"subtopic {name}" if name else "the query"
        axis.plot(np.append(0, near[:DRAWN]), ranks, dashes, color=colour, marker=".", markersize=3, label=label)
    axis.axvline(0, color=GREY, linewidth=0.5)
    low = min(float(np.nanmin(explanation.near, initial=0)), 0)
    axis.set_xlim(max(low, -1) - 0.05, 1.05)
    axis.set_xlabel("coverage (1 - KLD / KLD of the collection)")
    if explanation.subtopics:
        axis.legend(loc="best", fontsize=6, handlelength=3)  # long enough to distinguish dashes
    _ranked_documents(explanation, axis)
    return axis


def _ranked_documents(explanation: Explanation, axis: Axes) -> None:
    """The documents beside the axis, the first on top, coloured by their judgments."""
    shown_steps = explanation.steps[:DRAWN]
    names = [decodable(f"{step.document}  {step.rank}") for step in shown_steps]
    axis.set_yticks([step.rank for step in shown_steps], names, parse_math=False)
    for step, tick in zip(shown_steps, axis.get_yticklabels(), strict=True):
        tick.set_color(KINDS[kind_of(step)][0])
    axis.set_ylim(len(shown_steps) + 0.6, -0.2)


def documents(explanation: Explanation, axis: Axes) -> Axes:
    """The contribution of each document to the score, coloured by its judgment, and its most important words."""
    for kind, (colour, hatch) in KINDS.items():
        mine = [step for step in explanation.steps[:DRAWN] if kind_of(step) == kind]
        if not mine:
            continue
        ranks, earned = [step.rank for step in mine], [step.earned for step in mine]
        axis.barh(ranks, earned, 0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0, label=kind)
    widest = max((step.earned for step in explanation.steps), default=0) or 1
    for step in explanation.steps[:DRAWN]:
        if step.earned > 0 and isinstance(step, TextStep):
            words = ", ".join([entry.word for entry in step.words if entry.change > 0][:WORDS])
            axis.text(step.earned + widest / 60, step.rank, words, va="center", fontsize=6)
    lowest = min((step.earned for step in explanation.steps), default=0)
    axis.set_xlim(1.1 * min(lowest, 0), (1.6 if isinstance(explanation, TextExplanation) else 1.1) * widest)
    axis.set_xlabel("contribution to the score")
    if explanation.steps:
        axis.legend(loc="lower right")
    return axis


def kind_of(step: Step) -> str:
    """Whether a document is relevant, not relevant or unjudged."""
    if step.judged is None:
        return UNJUDGED
    return "relevant" if max(step.judged.values(), default=0) > 0 else "not relevant"


# The measures that the page computes: how a document counts, and what the total is divided by. The page offers those of
# PAGE_MEASURES beside the one that is explained.
PAGE_FORMS = {
    "nDCG": ("sum", "ideal"),
    **dict.fromkeys(("DCG", "CG", "SDCG", "P", "RBP", "RBPbeta", "InvSq"), ("sum", "")),
    "R": ("sum", "all"),
    "AP": ("precision", "all"),
    "SP": ("precision", ""),
    **dict.fromkeys(("RR", "ERR", "Success"), ("cascade", "")),
}
PAGE_MEASURES = ("nDCG", "DCG", "P", "R", "AP", "RR", "RBP", "ERR")
PAGE_PARAMETERS = {"rel", "gain", "max", "min", "p", "a", "b", "discount", "base", "norm"}
PAGE_VIEWS = {"ties", "condensed", "terminal"}
PAGE_DOCUMENTS = 100  # documents of a page
PAGE_SNIPPET = 160  # characters of the text of a document
PAGE_CUTOFF = 10  # of measures that need one, if the explained one has none
# What the page calls weights and divisors.
PAGE_WEIGHTS = {
    "sum": "that of the rank, for a tie the mean over its ranks",
    "precision": "the precision at the rank",
    "cascade": "that of the rank, for a reader who has not stopped above it",
}
PAGE_DIVISORS = {"ideal": "the same sum of the ideal ranking", "all": "gain of all relevant documents"}


def lesson(explanation: Explanation, text: str = "", texts: Mapping[str, str] | None = None) -> str:
    """The HTML of the page; ``text``: that of the query, ``texts``: those of documents.

    Its script computes scores by formulas of its own.
    """
    measure = parse(explanation.measure)
    given = {name for name, value in measure.parameters if value is not None}
    others = any(getattr(measure.views, view.name) for view in fields(Views) if view.name not in PAGE_VIEWS)
    if measure.symbol not in PAGE_FORMS or given - PAGE_PARAMETERS or others:
        hint = f"it computes {', '.join(PAGE_FORMS)}, with a cutoff, rel, gain and discount, condensed and terminal"
        raise UsageError(f"the page cannot compute {measure}", hint=hint)
    documents = _listed(explanation)
    if texts:
        for entry in documents:
            entry["text"] = printable(snippet(texts.get(entry["document"], ""), PAGE_SNIPPET), lines=True)
    if len(documents) > PAGE_DOCUMENTS:
        raise UsageError(
            f"the page would have {len(documents):,} documents, more than {PAGE_DOCUMENTS}",
            hint=f"choose a measure with a cutoff, such as {measure.symbol}@{PAGE_CUTOFF}",
        )
    judged_grades = [entry["grade"] for entry in documents if entry["grade"] is not None]
    if any(grade != int(grade) for grade in (*judged_grades, *explanation.missed, explanation.top)):
        raise UsageError("the page needs grades that are whole numbers")
    query = f"{explanation.query} ({shortened(text)})" if text else explanation.query
    data: dict[str, Any] = {
        "title": printable(f"{explanation.run}, query {query}"),
        "top": int(explanation.top),
        "missed": [int(grade) for grade in explanation.missed],
        "documents": documents,
        "order": TIE_ORDERS.get(explanation.ties, explanation.ties),
        "weights": PAGE_WEIGHTS,
        "divisors": PAGE_DIVISORS,
        "measures": [_entry(offered, explanation, documents) for offered in _offered(measure)],
    }
    data["measures"][0]["score"] = explanation.score
    if not any(data["measures"][0]["gains"]) and not measure.views.terminal:
        raise UsageError(f"the page cannot compute {measure}: no grade of the collection has a gain")
    return page_of_data("cranfield.report", "lesson.html", data)


def _offered(measure: Measure) -> list[Measure]:
    """The measure itself, then the others with its cutoff and its views."""
    k, views = measure.rank_cutoff, str(replace(measure.views, ties=None))
    offered = [measure]
    for symbol in PAGE_MEASURES:
        cutoff = f"@{k or PAGE_CUTOFF}" if k or symbol in ("P", "R") else ""
        if symbol != measure.symbol:
            with suppress(MeasureError):  # not every measure has a terminal form
                offered.append(parse(f"{symbol}{cutoff}{views}"))
    return offered


def _listed(explanation: Explanation) -> list[dict[str, Any]]:
    """The documents with their grades, best first; ``same``: with the score of the one above, ``tied``: in no order."""
    documents: list[dict[str, Any]] = []
    removed = list(explanation.removed)
    steps = [step for step in explanation.steps if step.document != END]
    for above, step in enumerate(steps):
        documents += [_document(name) for at, name in removed if at == above]
        below = step.tie is not None and step.rank > step.tie[0]
        grade = None if step.judged is None else max(step.judged.values())
        documents.append(_document(step.document, grade, same=below, tied=below and step.open))
    return [*documents, *(_document(name) for at, name in removed if at >= len(steps))]


def _document(name: str, grade: float | None = None, *, same: bool = False, tied: bool = False) -> dict[str, Any]:
    return {"document": printable(name), "grade": grade, "same": same, "tied": tied}


def _entry(measure: Measure, explanation: Explanation, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """A measure for the script, with the score of the ranking as it is; None if it is undefined.

    ``gains``: of each grade from 0; ``weights``: of each rank that counts; ``most``: the highest divisor; ``total``:
    the weight of all ranks, where every rank below the end of the list has the gain of the end.
    """
    kind, divisor = PAGE_FORMS[measure.symbol]
    # The highest grade may be that of another query.
    by_top = measure.gains.kind == "scaled" or measure.definition.gains == "grades"
    scale = (("max", explanation.top),) if by_top and measure.chosen.get("max") is None else ()
    plain = replace(measure, parameters=(*measure.parameters, *scale), views=Views(ties="expected"))
    viewed = replace(measure, parameters=measure.parameters if divisor else plain.parameters)
    viewed = replace(viewed, views=replace(measure.views, ties="expected"))
    groups: list[list[float | None]] = []
    for document in documents:
        if document["tied"]:
            groups[-1].append(document["grade"])
        else:
            groups.append([document["grade"]])
    value = viewed([tuple(group) for group in groups], explanation.missed)
    grades, k = range(int(explanation.top) + 1), measure.rank_cutoff
    of_ideal = (
        replace(measure.gains, kind="graded") if divisor == "ideal" and measure.gains.level is None else plain.gains
    )
    if kind == "cascade":
        gains = [plain([grade]) for grade in grades]
    else:
        gains = of_ideal.of(np.array(grades, float), explanation.top).tolist()
    # A class may give every document a gain, so that the ideal ranking has all of them; and it may add documents.
    length = len(documents) + PAGE_CUTOFF + sum(gains[int(grade)] > 0 for grade in explanation.missed)
    of_rank = [plain([None] * i + [max(explanation.top, 1)]) for i in range(length if k is None else min(k, length))]
    # The best document alone has the weight of its rank, unless the score is relative to it.
    unit = gains[-1] if kind == "sum" and not divisor else of_rank[0]
    return {
        "name": str(replace(measure, views=replace(measure.views, ties=None))),
        "about": f"{measure.definition.summary} {measure.definition.formula}.",
        "kind": kind,
        "divisor": divisor,
        "most": k if measure.chosen.get("norm") == "min" else None,
        "gains": gains,
        "weights": [weight / unit if unit else 0.0 for weight in of_rank],
        "total": viewed([]) if measure.views.terminal and kind == "sum" and not divisor else None,
        "condensed": measure.views.condensed,
        "terminal": measure.views.terminal,
        "score": None if math.isnan(value) else value,
    }
