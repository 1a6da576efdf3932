"""The size of a corpus as a table, and notes on what is missing."""

from __future__ import annotations

from cranfield.corpus import Corpus
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell
from cranfield.wording import few, plural


def summary(corpus: Corpus) -> dict[str, int]:
    """The counts, by name."""
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
    """Notes on documents that are missing, empty or repeated."""
    texts = []
    if missing := len(corpus.missing):
        texts.append(f"{_documents(missing, 'judged or retrieved')} not in the collection: {few(list(corpus.missing))}")
    if corpus.empty:
        texts.append(f"{corpus.empty:,} of {corpus.size:,} documents have no words")
    if corpus.repeated:
        texts.append(f"{_documents(corpus.repeated)} in the collection more than once, with the same text")
    return texts


def _documents(count: int, which: str = "") -> str:
    return " ".join(filter(None, (plural(count, "document"), which, "is" if count == 1 else "are")))
