"""The measures of contents as their formulas stand, and small collections to hold ours against them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from corpus_texts import TEXTS as TEXTS
from cranfield.corpus import Corpus

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from dense import Dense, scores

NAMES = ("ABSNB", "ABSRB", "DELTANB", "DELTARB")
QRELS = {"q": {"D1": {"1": 1}, "D4": {"1": 1, "2": 0}, "D3": {"2": 1}, "D5": {"2": 0}}}


def table(corpus: Corpus) -> Dense:
    counts = np.zeros((len(corpus.documents), len(corpus.terms)))
    for d in range(len(counts)):
        rows = slice(corpus.begin[d], corpus.begin[d + 1])
        counts[d, corpus.term[rows]] = corpus.count[rows]
    return Dense(counts, list(corpus.documents), corpus.frequency, corpus.total)


def by_formula(corpus: Corpus, judged: Any, ranking: list[str], mu: float, k: int | None = None) -> dict[str, float]:
    """The four measures of one ranking; nothing where they are undefined."""
    relevant: dict[str, list[str]] = {}
    for document, labels in judged.items():
        for subtopic, grade in labels.items():
            if grade >= 1:
                relevant.setdefault(subtopic, []).append(document)
    return scores(table(corpus).nearness(relevant, ranking[:k], mu))


documents = st.sampled_from([f"d{i}" for i in range(7)])
texts = st.dictionaries(
    documents, st.lists(st.sampled_from("abcdefghij"), max_size=9).map(" ".join), min_size=2, max_size=6
).filter(lambda found: len({*" ".join(found.values()).split()}) > 2)
judged = st.dictionaries(
    documents, st.dictionaries(st.sampled_from(["1", "2", "3"]), st.sampled_from([0, 1, 2]), min_size=1), min_size=1
)
