"""An explanation as tables: what each document adds, the subtopic it covers, and the words that cause it."""

from __future__ import annotations

from cranfield.analysis.explain import Explanation, Step
from cranfield.io.query_texts import shortened
from cranfield.report.numbers import shown, signed
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, Sheet

UNJUDGED, MISSING = "unjudged", "not in corpus"


def pages(explanation: Explanation, digits: int = 4, words: int = 3, text: str = "") -> list[Page]:
    """The ranks in one table, and the ``words`` with the largest contributions in another; ``text`` of the query."""
    score = shown(explanation.score, digits)
    query = f"{explanation.query} ({shortened(text)})" if text else explanation.query
    first = Page(
        f"{explanation.measure} of {explanation.run} for query {query}: {score}",
        _ranks(explanation, digits),
    )
    title = "Contributions of words to the coverage of the subtopic"
    return [first, Page(title, _words(explanation, digits, words))]


def judged(step: Step) -> str:
    """The grades of a document, highest first."""
    if step.judged is None:
        return UNJUDGED
    grades = sorted(step.judged.items(), key=lambda item: -item[1])
    return ", ".join(f"{name}: {grade:g}" if name else f"{grade:g}" for name, grade in grades)


def _ranks(explanation: Explanation, digits: int) -> Sheet:
    rows = [
        (
            (str(step.rank), step.document, judged(step), step.subtopic if step.known else MISSING),
            (
                Cell(shown(step.earned, digits), best=step.earned > 0),
                Cell(shown(step.before, digits)),
                Cell(shown(step.after, digits)),
            ),
        )
        for step in explanation.steps
    ]
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
