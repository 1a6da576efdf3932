"""Items: what the documents of a ranking have in common, whether or not they are relevant."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats
from cranfield.measures.catalogue import UNBOUNDED, Rank, measure
from cranfield.measures.precision import hits
from cranfield.ranking.batch import Batch, ratio


@measure(
    "DocMean",
    cite="yin2012 abdollahpouri2019",
    formula="DocMean@k = Σ_{i≤m} a_i / m,  m = min(k, length),  a = an attribute of documents",
    gains="attribute",
    bounds=(-np.inf, np.inf),
    terminal=UNBOUNDED,
    retrieved_only=True,
    uses_nonrelevant=True,
    documents=True,
    neutral=True,
)
def document_mean(b: Batch, *, of: str, k: Rank | None = None, missing: float | None = None) -> Floats:
    """The mean of an attribute over the first k documents, or over a shorter list.

    The attribute ``of`` is a column of the items of the collection. A document without it is an error, unless
    ``missing`` is its value there. Undefined for an empty list; no judgments are needed. With the attribute popularity
    this is the average popularity of recommendations, with -log2 of the share of users their novelty, with 1 for
    documents of the long tail their share.

    >>> items = {"a": {"price": 4}, "b": {"price": 8}, "c": {"price": 30}}
    >>> run = {"q": {"a": 2.5, "b": 1.5, "c": 0.5}}
    >>> float(cf.evaluate(cf.Collection(items=items), run, "DocMean(of='price')@2"))
    6.0
    """
    del of, missing  # the gains of the batch are the attribute already
    return ratio(hits(b, k), np.minimum(b.length, b.length if k is None else k).astype(np.float64))
