"""Judgments together with the words of the judged documents: models of subtopics, and gains of rankings.

Gains of the same rankings under many subsets of the judgments.

The counts of a model are the sum of the counts of its documents, and the evidence of a rank for a model is linear in
them: Σ_v rise(v) c_q(v) = Σ_d Σ_v rise(v) tf_d(v), over the relevant documents d. So the product of every rank with
every relevant document is computed once, and a subset of the judgments only selects among these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield.corpus.corpus import Corpus
from cranfield.corpus.models import Models, PrintedModels, chunks, model_terms, nearness_from_evidence
from cranfield.data import Booleans, Floats, Integers, Judgments, TextView


@dataclass(frozen=True, eq=False)
class Relevant:
    """Relevant rows of judgments, with their query and the number of the subtopic within it.

    ``names`` has for each query the names of its subtopics, in this order.
    """

    row: Integers
    query: Integers
    subtopic: Integers
    names: list[list[str]]


class Reading:
    """Judgments, and the words of the judged documents as far as a corpus has them.

    ``document`` (rows of the judgments + 1,) is the document of the corpus for each row; -1 if the corpus does not have
    it. The last entry is -1, so that row -1 stands for no document.
    """

    def __init__(self, judgments: Judgments, corpus: Corpus) -> None:
        self.judgments, self.corpus, self.words = judgments, corpus, corpus.counts
        self.document = np.array([*(corpus.row_of.get(name, -1) for name in judgments.documents), -1], np.int64)
        self._relevant: dict[TextView, Relevant] = {}
        self._models: dict[TextView, Models] = {}

    def relevant(self, view: TextView) -> Relevant:
        """The relevant rows."""
        if view not in self._relevant:
            self._relevant[view] = _relevant(self.judgments, view)
        return self._relevant[view]

    def models(self, view: TextView) -> Models:
        """The models of all queries, without relevant documents that the corpus does not have."""
        if view not in self._models:
            relevant = self.relevant(view)
            document = self.document[relevant.row]
            in_corpus = document >= 0
            # Without judgments there is one empty model, for rankings of unjudged queries.
            shape = max(len(relevant.names), 1), max([1, *map(len, relevant.names)])
            kind = PrintedModels if view.smoothing == "printed" else Models
            self._models[view] = kind.estimate(
                self.words, relevant.query[in_corpus], relevant.subtopic[in_corpus], document[in_corpus], shape
            )
        return self._models[view]

    def nearness(self, query: Integers, rows: Integers, view: TextView, mu: float) -> Floats:
        """The nearness of rankings (row, rank) of rows of the judgments to each subtopic; see `Models`."""
        values = self.models(view).nearness(np.maximum(query, 0), self.document[rows], mu)
        return np.where(query[:, None, None] < 0, np.nan, values)

    def gains(self, query: Integers, rows: Integers, view: TextView, mu: float) -> Floats:
        """g(i, k) of these rankings, (row, rank, subtopic): the nearness, but not below 0, where a reader begins.

        Nor above 1, where the models are equal, unless the models are not probabilities.
        """
        return np.clip(self.nearness(query, rows, view, mu), 0, None if view.smoothing == "printed" else 1)

    def defined(self, query: Integers, view: TextView, mu: float) -> Booleans:
        """Whether each query has a subtopic with a model."""
        return (query >= 0) & ~np.isnan(self.models(view).divergence(mu)[query]).all(axis=1)

    def absent(self, view: TextView) -> tuple[int, int]:
        """The number of relevant documents that the corpus does not have, and of all relevant documents."""
        rows = np.unique(self.relevant(view).row)
        return int((self.document[rows] < 0).sum()), len(rows)

    def silent(self, view: TextView, mu: float) -> tuple[int, int]:
        """The number of subtopics with a relevant document but without a model, and of all with a relevant document."""
        subtopics = sum(map(len, self.relevant(view).names))
        return subtopics - int((~np.isnan(self.models(view).divergence(mu))).sum()), subtopics

    def coverage(self, view: TextView, mu: float) -> Integers:
        """The two numbers of `absent` and the two of `silent`, for each query: (query, 4)."""
        relevant, queries = self.relevant(view), len(self.judgments.queries)
        rows = np.unique(relevant.row)
        absent = rows[self.document[rows] < 0]
        counts = [np.bincount(_queries(self.judgments, part), minlength=queries) for part in (absent, rows)]
        subtopics = np.array([len(names) for names in relevant.names], np.int64)
        modelled = (~np.isnan(self.models(view).divergence(mu))).sum(axis=1)[:queries]
        return np.stack([*counts, subtopics - modelled, subtopics], axis=1)


def _relevant(judgments: Judgments, view: TextView) -> Relevant:
    queries = len(judgments.queries)
    if view.whole or judgments.labels is None:
        row = np.flatnonzero(judgments.grade >= view.rel)
        query = _queries(judgments, row)
        counts = np.bincount(query, minlength=queries)
        return Relevant(row, query, np.zeros_like(row), [[""] if n else [] for n in counts.tolist()])
    labels = judgments.labels
    kept = labels.grade >= view.rel
    row, subtopic = labels.document[kept], labels.subtopic[kept]
    query = _queries(judgments, row)
    distinct, code = np.unique(query * len(labels.names) + subtopic, return_inverse=True)
    owner, name = np.divmod(distinct, len(labels.names))
    begin = np.searchsorted(owner, np.arange(queries + 1))
    names = [[labels.names[int(n)] for n in name[a:b]] for a, b in pairwise(begin)]
    return Relevant(row, query, code - begin[query], names)


def _queries(judgments: Judgments, row: Integers) -> Integers:
    return np.searchsorted(judgments.begin, row, side="right") - 1


class Partial(Reading):
    """A reading with a subset of the judgments; subtopics keep their numbers.

    ``products``: a cache for readings of the same rankings with different subsets, which are then fast.
    """

    def __init__(self, every: Reading, keep: Booleans, products: dict[Any, Products] | None = None) -> None:
        self.__dict__ |= every.__dict__
        self.every, self.keep, self.products = every, keep, products
        self._relevant, self._models = {}, {}

    def relevant(self, view: TextView) -> Relevant:
        if view not in self._relevant:
            relevant = self.every.relevant(view)
            kept = self.keep[relevant.row]
            self._relevant[view] = replace(
                relevant, row=relevant.row[kept], query=relevant.query[kept], subtopic=relevant.subtopic[kept]
            )
        return self._relevant[view]

    def nearness(self, query: Integers, rows: Integers, view: TextView, mu: float) -> Floats:
        if self.products is None or view.smoothing == "printed":  # not linear in the counts
            return super().nearness(query, rows, view, mu)
        key = query.tobytes(), rows.tobytes(), rows.shape, view, mu
        if key not in self.products:
            self.products[key] = _products(self.every, query, rows, view, mu)
        models, relevant, products = self.models(view), self.relevant(view), self.products[key]
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
