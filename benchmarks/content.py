"""Measures that read documents, from a corpus in memory: ours, and the formulas as they stand over all terms.

content.py ROUNDS QUICK   prints JSON: seconds of ours by round, seconds of the other for one ranking, and both values
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from dense import Dense, scores

import cranfield
from cranfield.corpus import Corpus, Settings
from cranfield.data import Strings

MEASURES = ("ABSNB@20", "ABSRB@20", "DELTANB@20", "DELTARB@20")
MU, SEED = 2500.0, 5


def zipf(rng: np.random.Generator, terms: int, shape: tuple[int, int]) -> np.ndarray:
    """Terms drawn as Zipf has it."""
    share = 1 / np.arange(1, terms + 1)
    return np.searchsorted(np.cumsum(share / share.sum()), rng.random(shape)).clip(0, terms - 1)


def corpus(rng: np.random.Generator, queries: int, pool: int, terms: int, words: int) -> Corpus:
    """A pool of documents for each query, a third of whose words are its own."""
    documents, own = queries * pool, terms // (2 * queries)
    drawn = zipf(rng, terms, (documents, words))
    drawn[:, ::3] = zipf(rng, own, drawn[:, ::3].shape) + np.arange(documents)[:, None] // pool * own + terms // 2
    each = [np.unique(row, return_counts=True) for row in drawn]
    frequency = np.bincount(drawn.ravel(), minlength=terms)
    begin = np.concatenate([[0], np.cumsum([len(term) for term, _ in each])])
    return Corpus(
        terms=Strings.of(f"t{i:06}" for i in range(terms)),
        frequency=frequency,
        total=int(frequency.sum()),
        documents=Strings.of(f"d{i:06}" for i in range(documents)),
        begin=begin,
        term=np.concatenate([term for term, _ in each]),
        count=np.concatenate([count for _, count in each]),
        settings=Settings(),
        size=documents,
        empty=0,
        missing=Strings.of(()),
    )


def table(found: Corpus, wanted: set[str]) -> Dense:
    """Some of the documents, with a column for every term."""
    place = [i for i, name in enumerate(found.documents) if name in wanted]
    counts = np.zeros((len(place), len(found.terms)))
    for row, i in enumerate(place):
        here = slice(found.begin[i], found.begin[i + 1])
        counts[row, found.term[here]] = found.count[here]
    return Dense(counts, [found.documents[i] for i in place], found.frequency, found.total)


def main(rounds: int, *, quick: bool) -> None:
    """Time our measures and the plain formulas; print the result as JSON."""
    runs, queries, pool = (3, 4, 40) if quick else (100, 50, 400)
    rng = np.random.default_rng(SEED)
    read = corpus(rng, queries, pool, 2_000 if quick else 50_000, 60 if quick else 500)
    pools = [[f"d{q * pool + i:06}" for i in range(pool)] for q in range(queries)]
    qrels = {
        f"q{q}": {d: {str(rng.integers(1, 6)): 1} for d in rng.permutation(names)[:60].tolist()}
        for q, names in enumerate(pools)
    }
    systems = [
        {f"q{q}": {d: 20.0 - i for i, d in enumerate(rng.permutation(pools[q])[:20].tolist())} for q in range(queries)}
        for _ in range(runs)
    ]
    names = [f"run{i}" for i in range(runs)]
    ours = []
    for _ in range(rounds):
        began = time.perf_counter()
        found = cranfield.evaluate(cranfield.Collection(qrels, documents=read), systems, list(MEASURES), names=names)
        ours.append(time.perf_counter() - began)
    ranking, judged = list(systems[0]["q0"]), qrels["q0"]
    relevant: dict[str, list[str]] = {}
    for document, labels in judged.items():
        relevant.setdefault(next(iter(labels)), []).append(document)
    other, theirs = [], {}
    dense = table(read, {*ranking, *judged})
    for _ in range(rounds):
        began = time.perf_counter()
        theirs = scores(dense.nearness(relevant, ranking, MU))
        other.append(time.perf_counter() - began)
    values = {name: float(found.values[0, m, 0]) for m, name in enumerate(MEASURES)}
    print(
        json.dumps(
            {
                "rankings": runs * queries,
                "ours": ours,
                "dense": other,
                "means": [values, {name: float(theirs[name.partition("@")[0]]) for name in MEASURES}],
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), quick=sys.argv[2] == "quick")
