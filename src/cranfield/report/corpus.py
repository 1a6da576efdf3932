"""A corpus at a glance: how much there is of it, and what is not there."""

from __future__ import annotations

from cranfield.corpus import Corpus
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell
from cranfield.wording import few, plural


def summary(corpus: Corpus) -> dict[str, int]:
    """What there is to know, by name."""
    return {
        "documents": corpus.size,
        "without words": corpus.empty,
        "words": corpus.total,
        "documents kept": len(corpus.documents),
        "terms kept": len(corpus.terms),
        "missing": len(corpus.missing),
    }


def page(corpus: Corpus) -> Page:
    """The same as a table."""
    rows = [((name,), (Cell(f"{value:,}"),)) for name, value in summary(corpus).items()]
    return Page(f"Corpus: {corpus.settings}", sheet(("",), ("number",), rows))


def notes(corpus: Corpus) -> list[str]:
    """What a reader of scores has to know of it."""
    said = []
    if missing := len(corpus.missing):
        said.append(f"{_documents(missing, 'asked for')} not in the collection: {few(list(corpus.missing))}")
    if corpus.empty:
        said.append(f"no words in {corpus.empty:,} of {corpus.size:,} documents")
    if corpus.repeated:
        said.append(f"{_documents(corpus.repeated)} there more than once, with the same text")
    return said


def _documents(many: int, which: str = "") -> str:
    return " ".join(filter(None, (plural(many, "document"), which, "is" if many == 1 else "are")))
