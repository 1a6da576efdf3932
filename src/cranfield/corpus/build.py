"""A corpus for given judgments and runs: which documents matter, then one pass for their words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cranfield.corpus.corpus import Corpus
from cranfield.corpus.settings import Settings
from cranfield.corpus.wanted import DEPTH, wanted
from cranfield.errors import InputError, UsageError
from cranfield.io import read_qrels, read_run
from cranfield.io.faults import shown


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
        raise nothing_asked()
    judgments = None if qrels is None else read_qrels(qrels)
    names = wanted(judgments, [read_run(run) for run in runs], depth)
    corpus = Corpus.read(
        *sources, wanted=names, settings=settings, id=id, text=text, workers=workers, progress=progress
    )
    found = set(corpus.documents)
    if judgments is not None and found.isdisjoint(judgments.documents):
        raise strangers(len(set(judgments.documents)), judgments.documents[0])
    if not found:
        raise strangers()
    return corpus


def nothing_asked() -> UsageError:
    """What to say where nobody said which documents are needed."""
    return UsageError(
        "neither judgments nor runs: nobody knows which documents matter",
        hint="say --qrels QRELS, --run RUN or both; what they name is kept word by word",
    )


def strangers(judged: int = 0, example: str = "") -> InputError:
    """What to say where a collection has none of the judged documents, or of those retrieved."""
    if not judged:
        return InputError(["none of the documents retrieved is in the collection"], hint="do the two belong together?")
    return InputError(
        [f"none of the {judged:,} judged documents is in the collection, such as `{shown(example)}`"],
        hint="do the two belong together, and is the id the field that the judgments speak of? See --id",
    )
