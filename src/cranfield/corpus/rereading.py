"""The same rankings under other judgments: what was read stays what it was, only what it is compared with changes.

A model's counts are the sum of its documents' counts, and what a rank tells of a model is linear in them: Σ_v rise(v)
c_q(v) = Σ_d Σ_v rise(v) tf_d(v), over the documents d that are known to be relevant. So what every rank has in common
with every relevant document is found once, and a set of judgments is a choice among these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.corpus.gains import approached, met, shares
from cranfield.corpus.judged import Reading, Relevant, View
from cranfield.corpus.models import Models
from cranfield.data import Floats, Integers

Booleans = npt.NDArray[np.bool_]


class Partial(Reading):
    """A reading where only some of the judgments are known; subtopics keep their numbers."""

    def __init__(self, every: Reading, keep: Booleans) -> None:
        self.every, self.keep = every, keep
        self.judgments, self.corpus, self.words, self.document = (
            every.judgments, every.corpus, every.words, every.document,
        )  # fmt: skip
        self._relevant, self._models = {}, {}

    def relevant(self, view: View) -> Relevant:
        if view not in self._relevant:
            found = self.every.relevant(view)
            kept = self.keep[found.row]
            self._relevant[view] = replace(
                found, row=found.row[kept], query=found.query[kept], subtopic=found.subtopic[kept]
            )
        return self._relevant[view]


class Rereading:
    """A reading of rankings that stay the same, whichever of the judgments are known."""

    def __init__(self, every: Reading) -> None:
        self.every = every
        self._common: dict[Any, Common] = {}

    def knowing(self, keep: Booleans) -> Reading:
        """What is read where only these rows of the judgments are known."""
        return _Known(self, keep)

    def common(self, query: Integers, rows: Integers, view: View, mu: float) -> Common:
        """What these rankings have in common with all that is relevant to their queries."""
        key = query.tobytes(), rows.tobytes(), rows.shape, view, mu
        if key not in self._common:
            self._common[key] = _common(self.every, query, rows, view, mu)
        return self._common[key]


class _Known(Partial):
    def __init__(self, rereading: Rereading, keep: Booleans) -> None:
        super().__init__(rereading.every, keep)
        self.rereading = rereading

    def nearness(self, query: Integers, rows: Integers, view: View, mu: float) -> Floats:
        models, found = self.models(view), self.relevant(view)
        common = self.rereading.common(query, rows, view, mu)
        taught = np.zeros((len(common.teachers), models.length.shape[1]))
        taught[np.searchsorted(common.teachers, found.row), found.subtopic] = 1
        told = common.weight @ taught + common.background[:, None]
        return approached(told, common.read, models.length[query], mu, models.divergence(mu)[query])


@dataclass(frozen=True, eq=False)
class Common:
    """What rankings have in common with each of the relevant documents of their queries.

    ``weight`` (cell, teacher), sparse: Σ_v rise(v) tf(v); ``teachers``: the rows of the judgments that these are.
    ``background`` (cell,): what a model has of it by smoothing; ``read`` (row, rank): words of each document.
    """

    weight: Any
    background: Floats
    read: Floats
    teachers: Integers


def _common(reading: Reading, query: Integers, rows: Integers, view: View, mu: float) -> Common:
    from scipy.sparse import vstack

    documents = reading.document[rows]
    found, models = reading.relevant(view), reading.models(view)
    teachers, first = np.unique(found.row, return_index=True)
    counts = _by_query(models, found.query[first], reading.document[teachers])
    parts = [_told(models, query[some], documents[some], mu, counts) for some in shares(models, documents)]
    return Common(
        vstack([weight for weight, _ in parts], "csr"),
        np.concatenate([background for _, background in parts]),
        reading.words.length[documents],
        teachers,
    )


def _by_query(models: Models, query: Integers, documents: Integers) -> Any:
    """The counts of relevant documents as a sparse table, (row of the models, document)."""
    from scipy.sparse import coo_array

    words = models.words
    owner, row = words.rows(documents)
    at = models.at(query[owner], words.term[row])
    return coo_array((words.count[row], (at, owner)), shape=(len(models.key), len(documents))).tocsr()


def _told(models: Models, query: Integers, documents: Integers, mu: float, counts: Any) -> tuple[Any, Floats]:
    from scipy.sparse import coo_array

    cell, rise, at, background = met(models, query, documents, mu)
    return coo_array((rise, (cell, at)), shape=(documents.size, len(models.key))).tocsr() @ counts, background
