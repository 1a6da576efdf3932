"""Gains of the same rankings under many subsets of the judgments.

The counts of a model are the sum of the counts of its documents, and the evidence of a rank for a model is linear in
them: Σ_v rise(v) c_q(v) = Σ_d Σ_v rise(v) tf_d(v), over the relevant documents d. So the product of every rank with
every relevant document is computed once, and a subset of the judgments only selects among these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.corpus.gains import chunks, model_terms, nearness_from_evidence
from cranfield.corpus.judged import Reading, Relevant
from cranfield.corpus.models import Models
from cranfield.data import Floats, Integers, TextView

Booleans = npt.NDArray[np.bool_]


class Partial(Reading):
    """A reading with a subset of the judgments; subtopics keep their numbers."""

    def __init__(self, every: Reading, keep: Booleans) -> None:
        self.every, self.keep = every, keep
        self.judgments, self.corpus, self.words, self.document = (
            every.judgments, every.corpus, every.words, every.document,
        )  # fmt: skip
        self._relevant, self._models = {}, {}

    def relevant(self, view: TextView) -> Relevant:
        if view not in self._relevant:
            relevant = self.every.relevant(view)
            kept = self.keep[relevant.row]
            self._relevant[view] = replace(
                relevant, row=relevant.row[kept], query=relevant.query[kept], subtopic=relevant.subtopic[kept]
            )
        return self._relevant[view]


class Rereading:
    """Readings of the same rankings with different subsets of the judgments."""

    def __init__(self, every: Reading) -> None:
        self.every = every
        self._products: dict[Any, Products] = {}

    def knowing(self, keep: Booleans) -> Reading:
        """The reading with only these rows of the judgments."""
        return _FastPartial(self, keep)

    def products(self, query: Integers, rows: Integers, view: TextView, mu: float) -> Products:
        """The products of these rankings with all relevant documents of their queries."""
        key = query.tobytes(), rows.tobytes(), rows.shape, view, mu
        if key not in self._products:
            self._products[key] = _products(self.every, query, rows, view, mu)
        return self._products[key]


class _FastPartial(Partial):
    def __init__(self, rereading: Rereading, keep: Booleans) -> None:
        super().__init__(rereading.every, keep)
        self.rereading = rereading

    def nearness(self, query: Integers, rows: Integers, view: TextView, mu: float) -> Floats:
        if view.smoothing == "printed":  # not linear in the counts
            return super().nearness(query, rows, view, mu)
        models, relevant = self.models(view), self.relevant(view)
        products = self.rereading.products(query, rows, view, mu)
        selected = np.zeros((len(products.relevant), models.length.shape[1]))
        selected[np.searchsorted(products.relevant, relevant.row), relevant.subtopic] = 1
        evidence = products.weight @ selected + products.background[:, None]
        return nearness_from_evidence(evidence, products.length, models.length[query], mu, models.divergence(mu)[query])


@dataclass(frozen=True, eq=False)
class Products:
    """Products of rankings with the relevant documents of their queries.

    ``weight`` (cell, relevant document), sparse: Σ_v rise(v) tf(v); ``relevant``: the rows of the judgments of these
    documents. ``background`` (cell,): the evidence through smoothing; ``length`` (row, rank): words of each document.
    """

    weight: Any
    background: Floats
    length: Floats
    relevant: Integers


def _products(reading: Reading, query: Integers, rows: Integers, view: TextView, mu: float) -> Products:
    from scipy.sparse import vstack

    documents = reading.document[rows]
    relevant, models = reading.relevant(view), reading.models(view)
    relevant_rows, first = np.unique(relevant.row, return_index=True)
    counts = _relevant_counts(models, relevant.query[first], reading.document[relevant_rows])
    parts = [_chunk(models, query[rows], documents[rows], mu, counts) for rows in chunks(models, documents)]
    return Products(
        vstack([weight for weight, _ in parts], "csr"),
        np.concatenate([background for _, background in parts]),
        reading.words.length[documents],
        relevant_rows,
    )


def _relevant_counts(models: Models, query: Integers, documents: Integers) -> Any:
    """The term counts of relevant documents as a sparse table, (row of the models, document)."""
    from scipy.sparse import coo_array

    words = models.words
    owner, row = words.rows(documents)
    model_row = models.at(query[owner], words.term[row])
    return coo_array((words.count[row], (model_row, owner)), shape=(len(models.key), len(documents))).tocsr()


def _chunk(models: Models, query: Integers, documents: Integers, mu: float, counts: Any) -> tuple[Any, Floats]:
    from scipy.sparse import coo_array

    cell, rise, row, background = model_terms(models, query, documents, mu)
    return coo_array((rise, (cell, row)), shape=(documents.size, len(models.key))).tocsr() @ counts, background
