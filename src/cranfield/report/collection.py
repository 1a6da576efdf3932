"""The statistics of a collection, and the size of a corpus, as tables."""

from __future__ import annotations

from typing import Any

from cranfield.analysis.collection_statistics import TOP, CollectionStatistics, JudgmentStatistics, RunStatistics
from cranfield.corpus import Corpus
from cranfield.report.pages import Page, table
from cranfield.report.sheet import UNDEFINED, share, shown
from cranfield.wording import few, plural


def pages(statistics: CollectionStatistics, digits: int = 1) -> list[Page]:
    """A table of the judgments, and two of the runs if there are any."""
    first = _judgment_table(statistics.judgments, digits)
    runs = statistics.runs
    return [first, _list_table(runs, digits), _tie_table(runs, digits)] if runs else [first]


def _judgment_table(judgments: JudgmentStatistics, digits: int) -> Page:
    data = judgments.to_dict()
    lines = {"documents judged": data["judged"], "N (not relevant)": data["N"], "R (relevant)": data["R"]}
    lines |= {f"R, grade {grade}": counts for grade, counts in data["grades"].items()}
    rows = [(name, _range_cells(counts, digits)) for name, counts in lines.items()]
    title = f"{judgments.name}: {plural(len(judgments.queries), 'query')}, relevant from grade {judgments.rel:g}"
    for sign, names in (("R > N", judgments.more_relevant), ("R = 0", judgments.without_relevant)):
        title += f"; {sign} for {plural(len(names), 'query')}" + (f" ({few(names)})" if names else "")
    return table(title, ("per query",), ("lowest", "highest", "mean", "total"), rows)


def _list_table(runs: tuple[RunStatistics, ...], digits: int) -> Page:
    rows = []
    for run in runs:
        shares = [share(part, digits) for part in (run.unjudged, run.unjudged_at_top)]
        lengths = _range_cells(run.to_dict()["length"], digits)
        rows.append((run.name, [str(run.answered), *lengths[:3], *shares]))
    heads = ("queries", "shortest", "longest", "mean", "unjudged", f"top {TOP}")
    title = f"Lists of the judged queries that a run answers: lengths, and unjudged documents (all, top {TOP})"
    return table(title, ("run",), heads, rows)


def _tie_table(runs: tuple[RunStatistics, ...], digits: int) -> Page:
    rows = []
    for run in runs:
        documents = int(run.length.sum())
        tied = run.tied / documents if documents else float("nan")
        texts = f"{run.tied:,}", share(tied, digits), str(run.tied_queries), f"{run.largest_tie:,}"
        rows.append((run.name, texts))
    return table("Documents with tied scores", ("run",), ("documents", "share", "queries", "largest tie"), rows)


def _range_cells(counts: dict[str, Any], digits: int) -> list[str]:
    """Lowest, highest, mean and total."""
    lowest, highest, mean = (counts[name] for name in ("lowest", "highest", "mean"))
    if mean is None:
        return [UNDEFINED] * 4
    return [f"{lowest:,}", f"{highest:,}", shown(mean, digits), f"{counts['total']:,}"]


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
    rows = [(name, (f"{value:,}",)) for name, value in summary(corpus).items()]
    return table(f"Corpus: {corpus.settings}", ("",), ("number",), rows)


def notes(_: CollectionStatistics) -> list[str]:
    """The tables say all."""
    return []


def corpus_notes(corpus: Corpus) -> list[str]:
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
