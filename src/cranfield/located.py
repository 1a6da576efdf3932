"""Judgments made ready for measures that read: documents that nobody judged, but that a run has at the top, located.

They join the judgments with a negative grade, which means: pooled, but not judged. So a run meets them as it meets
judged ones, and ties, depths and condensed lists mean what they always mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from cranfield.alignment import Aligner
from cranfield.content import Corpus, wanted
from cranfield.content.judged import Reading
from cranfield.data import Judgments, Run, Strings
from cranfield.errors import InputError, MeasureError
from cranfield.formats.tops import First, Settles, firsts
from cranfield.measures import Measure

SETTLES: dict[str, Settles] = {"expected": "nothing", "input": "input", "rank": "input"}


def reader(
    runs: Sequence[Run],
    judgments: Judgments,
    measures: Iterable[Measure],
    corpus: Any,
    *,
    negative: Literal["unjudged", "nonrel"] = "unjudged",
    progress: Callable[[int], None] | None = None,
) -> Aligner:
    """An aligner that knows the words of all documents that these measures will read in these runs."""
    measures = list(measures)
    readable(measures, corpus, judgments.name, subtopics=judgments.labels is not None)
    found: dict[str, set[str]] = {}
    for i, run in enumerate(runs):
        for query, documents in seen(run, measures).items():
            found.setdefault(query, set()).update(documents)
        if progress is not None:
            progress(i + 1)
    judgments = located(judgments, found, negative)
    reading = Reading(judgments, Corpus.open(corpus, wanted=judgments.documents))
    for measure in measures:
        view = measure.chosen["rel"], measure.chosen["whole"]
        absent, relevant = reading.absent(view)
        if relevant and absent == relevant:
            raise strangers(judgments.name, relevant, judgments.documents[int(reading.relevant(view).row[0])])
    return Aligner(judgments, reading=reading)


def readable(measures: Sequence[Measure], corpus: Any, name: str, *, subtopics: bool) -> None:
    """An error where these measures ask for judgments by subtopic, or for a corpus, that are not there."""
    for measure in measures:
        if not subtopics and not measure.chosen["whole"]:
            whole = replace(measure, parameters=(*measure.parameters, ("whole", True)))
            raise InputError(
                [f"{name}: {measure} needs judgments by subtopic, and these have none"],
                hint=f"`{whole}` takes each query as one subtopic",
            )
    if corpus is None:
        raise MeasureError(
            f"{measures[0]} reads documents, and needs a corpus of them",
            hint="corpus= (--corpus) takes a file of `cranfield corpus`, a collection, or {document: text}",
        )


def strangers(name: str, relevant: int, example: str) -> InputError:
    """What to say where the corpus has none of the relevant documents."""
    return InputError(
        [f"{name}: none of its {relevant} relevant documents is in the corpus, such as `{example}`"],
        hint="do the two belong together? A corpus must have been made with the judged documents",
    )


def seen(run: Run, measures: Iterable[Measure]) -> dict[str, set[str]]:
    """The documents of each query that these measures read, whether anybody judged them or not."""
    found: dict[str, set[str]] = {}
    for first in {first for measure in measures if (first := look(measure)) is not None}:
        for query, documents in firsts(run, first).items():
            found.setdefault(query, set()).update(documents)
    return found


def opened(corpus: Any, judgments: Judgments, runs: Sequence[Run], measures: Iterable[Measure]) -> Any:
    """A corpus read once for all that is to be done with it: it has what these measures read by any rule of ties.

    As it was where none of them reads, or there is none.
    """
    looks = [look(measure) for measure in measures if measure.definition.content]
    if corpus is None or not looks:
        return corpus
    ends = [first.k for first in looks if first is not None]
    depth = None if None in ends else max((end for end in ends if end is not None), default=0)
    return Corpus.open(corpus, wanted=wanted(judgments, runs, depth))


def look(measure: Measure) -> First | None:
    """How far down a run the measure reads documents that nobody judged; None where it reads none."""
    views = measure.views
    if views.condensed:
        return None
    ends = [int(end) for end in (measure.cutoff, views.depth) if end is not None]
    return First(min(ends, default=None), views.key, SETTLES.get(views.ties or "", "id"))


def located(
    judgments: Judgments, found: Mapping[str, set[str]], negative: Literal["unjudged", "nonrel"] = "unjudged"
) -> Judgments:
    """The judgments with more documents of their queries, which nobody judged; ``negative`` is what that means so far.

    >>> from cranfield.formats import read_qrels
    >>> more = located(read_qrels({"q": {"b": 1}, "r": {"b": 0}}), {"q": {"a", "b"}, "x": {"c"}})
    >>> list(more.documents), more.grade.tolist(), more.begin.tolist()
    (['b', 'a', 'b'], [1.0, -1.0, 0.0], [0, 2, 3])
    """
    begin, documents = judgments.begin, list(judgments.documents)
    new = [
        sorted(found.get(query, set()).difference(documents[begin[q] : begin[q + 1]]))
        for q, query in enumerate(judgments.queries)
    ]
    many = np.array([len(names) for names in new], np.int64)
    before = np.concatenate([[0], np.cumsum(many)]).astype(np.int64)
    at = np.repeat(begin[1:], many)
    place = np.insert(np.arange(len(documents)), at, len(documents) + np.arange(len(at)))
    ids = Strings.of([*documents, *(name for names in new for name in names)]).take(place)
    labels = judgments.labels
    if labels is not None:
        query = np.searchsorted(begin, labels.document, side="right") - 1
        labels = replace(labels, document=labels.document + before[query])
    judged = judgments.grade if negative == "unjudged" else np.maximum(judgments.grade, 0)
    grade = np.insert(judged, at, -1.0)
    return replace(judgments, begin=begin + before, documents=ids, grade=grade, labels=labels)
