"""An explanation as tables: what each rank earned and which subtopic it moved, and the words that did it."""

from __future__ import annotations

from cranfield.analysis.explain import Explanation, Step
from cranfield.report.numbers import shown, signed
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, Sheet

UNJUDGED, MISSING = "unjudged", "not in corpus"


def pages(found: Explanation, digits: int = 4, words: int = 3) -> list[Page]:
    """Ranks in one table, their ``words`` that moved most in another."""
    score = shown(found.score, digits)
    first = Page(f"{found.measure} of {found.run} for query {found.query}: {score}", _ranks(found, digits))
    title = "Why: by how much which words brought the subtopic nearer (+) or moved it off (-)"
    return [first, Page(title, _words(found, digits, words))]


def judged(step: Step) -> str:
    """What the judges said of a document, its subtopics that it is relevant to first."""
    if step.judged is None:
        return UNJUDGED
    grades = sorted(step.judged.items(), key=lambda item: -item[1])
    return ", ".join(f"{name}: {grade:g}" if name else f"{grade:g}" for name, grade in grades)


def _ranks(found: Explanation, digits: int) -> Sheet:
    rows = [
        (
            (str(step.rank), step.document, judged(step), step.subtopic if step.known else MISSING),
            (
                Cell(shown(step.earned, digits), best=step.earned > 0),
                Cell(shown(step.before, digits)),
                Cell(shown(step.after, digits)),
            ),
        )
        for step in found.steps
    ]
    return sheet(("rank", "document", "judged", "subtopic"), ("earned", "near before", "after"), rows)


def _words(found: Explanation, digits: int, words: int) -> Sheet:
    rows = []
    for step in found.steps:
        top, rest = step.words[:words], step.words[words:]
        cells = [Cell(one.word, aside=signed(one.change, digits)) for one in top]
        cells += [Cell("")] * (words - len(top))
        cells += [Cell(signed(sum(one.change for one in rest), digits)), Cell(signed(step.change, digits))]
        rows.append(((str(step.rank), step.document), cells))
    heads = [*(f"word {i + 1}" for i in range(words)), "other words", "change"]
    return sheet(("rank", "document"), heads, rows)
