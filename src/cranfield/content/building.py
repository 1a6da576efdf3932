"""A corpus for given judgments and runs: which documents matter, then one pass for their words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cranfield.content.corpus import Corpus
from cranfield.content.settings import Settings
from cranfield.content.wanted import DEPTH, wanted
from cranfield.errors import InputError, UsageError
from cranfield.formats import read_qrels, read_run
from cranfield.formats.faults import shown


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
    """A corpus with the words of all judged documents, and of those that may be among the first ``depth`` of a run."""
    if qrels is None and not runs:
        raise UsageError(
            "neither judgments nor runs: nobody knows which documents matter",
            hint="say --qrels QRELS, --run RUN or both; what they name is kept word by word",
        )
    judgments = None if qrels is None else read_qrels(qrels)
    names = wanted(judgments, [read_run(run) for run in runs], depth)
    corpus = Corpus.read(
        *sources, wanted=names, settings=settings, id=id, text=text, workers=workers, progress=progress
    )
    found = set(corpus.documents)
    if judgments is not None and found.isdisjoint(judgments.documents):
        many, example = len(set(judgments.documents)), shown(judgments.documents[0])
        raise InputError(
            [f"none of the {many:,} judged documents is in the collection, such as `{example}`"],
            hint="do the two belong together, and is the id the field that the judgments speak of? See --id",
        )
    if not found:
        raise InputError(["none of the documents retrieved is in the collection"], hint="do the two belong together?")
    return corpus
