"""A corpus for given judgments and runs: find the documents whose words are needed, then count words in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cranfield.corpus.corpus import Corpus
from cranfield.corpus.settings import Settings
from cranfield.data import Judgments, Run
from cranfield.errors import InputError, UsageError
from cranfield.io import join, read_qrels, read_run
from cranfield.io.faults import quotable
from cranfield.io.runs import empty_index

DEPTH = 20
WHOLE_RANKING = 1 << 62


def build(
    *sources: Any,
    qrels: Any = None,
    runs: Sequence[Any] = (),
    depth: int = DEPTH,
    settings: Settings | None = None,
    id: str | None = None,
    text: Sequence[str] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Corpus:
    """A corpus with the words of all judged documents, and of those that may be in the top ``depth`` of a run."""
    if qrels is None and not runs:
        raise nothing_needed_error()
    judgments = None if qrels is None else read_qrels(qrels)
    names = needed_documents(judgments, [read_run(run) for run in runs], depth)
    corpus = Corpus.read(
        *sources, wanted=names, settings=settings, id=id, text=text, workers=workers, progress=progress
    )
    documents = set(corpus.documents)
    if judgments is not None and documents.isdisjoint(judgments.documents):
        raise no_overlap_error(len(set(judgments.documents)), judgments.documents[0])
    if not documents:
        raise no_overlap_error()
    return corpus


def nothing_needed_error() -> UsageError:
    """The error for a corpus without judgments and runs."""
    return UsageError(
        "a corpus needs judgments or runs: they say which documents to keep",
        hint="give --qrels QRELS, --run RUN or both",
    )


def no_overlap_error(judged: int = 0, example: str = "") -> InputError:
    """The error for a collection with none of the judged documents, or none of the retrieved ones."""
    if not judged:
        message = "none of the retrieved documents is in the collection"
        return InputError([message], hint="check that both belong to the same collection")
    return InputError(
        [f"none of the {judged:,} judged documents is in the collection (first document: `{quotable(example)}`)"],
        hint="check that both belong to the same collection, and that --id is the field with the judged ids",
    )


def needed_documents(
    judgments: Judgments | None, runs: Iterable[Run] = (), depth: int | None = DEPTH
) -> frozenset[str]:
    """Judged documents, and those that may be in the top ``depth`` of a judged query in some order of ties.

    Without ``depth`` these are all documents of the runs.

    >>> from cranfield.io import read_qrels, read_run
    >>> run = read_run({"q": {"a": 3, "b": 2, "c": 2, "d": 1}, "unjudged": {"e": 1}})
    >>> sorted(needed_documents(read_qrels({"q": {"z": 1}}), [run], depth=2))
    ['a', 'b', 'c', 'z']
    """
    names = set(judgments.documents if judgments else ())
    queries = None if judgments is None else frozenset(judgments.queries)
    for run in runs:
        for query, documents in top_documents(run, depth).items():
            if queries is None or query in queries:
                names |= documents
    return frozenset(names)


def top_documents(run: Run, depth: int | None = DEPTH) -> dict[str, set[str]]:
    """For each query the documents that may be in the top ``depth`` in some order of ties."""
    # Some tools compare scores in 32 bits; more documents are tied then, and may be in the top.
    joined = join(run, empty_index(), ["score32"], by_id=False, top=WHOLE_RANKING if depth is None else depth)
    queries, tops = joined.queries.other, joined.tops[0]
    documents: dict[str, set[str]] = {query: set() for query in queries}
    for query, document in zip(tops.positions.query.tolist(), tops.ids, strict=True):
        documents[queries[query]].add(document)
    return documents
