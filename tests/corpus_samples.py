"""Small collections that tests share, ways to look at one, and the measures of content as their formulas stand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import cranfield as cf
from cranfield.corpus import Corpus

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from dense import Dense, scores

NAMES = ("ABSNB", "ABSRB", "DELTANB", "DELTARB")
QRELS = {"q": {"D1": {"1": 1}, "D4": {"1": 1, "2": 0}, "D3": {"2": 1}, "D5": {"2": 0}}}

TEXTS = {
    "D1": "apple pie apple tart",
    "D2": "apple phone chip",
    "D3": "phone chip phone screen",
    "D4": "banana pie recipe",
    "D5": "the the of apple",
    "D6": "chip fab wafer the",
}


def vectors(corpus: Corpus) -> dict[str, dict[str, int]]:
    """The words of each document."""
    terms = list(corpus.terms)
    return {
        name: {terms[t]: int(c) for t, c in zip(corpus.term[a:b], corpus.count[a:b], strict=True)}
        for name, a, b in zip(corpus.documents, corpus.begin[:-1], corpus.begin[1:], strict=True)
    }


def frequencies(corpus: Corpus) -> dict[str, int]:
    """How often each term occurs in the collection."""
    return dict(zip(corpus.terms, corpus.frequency.tolist(), strict=True))


def same(one: Corpus, other: Corpus) -> None:
    """All but where they came from."""
    assert vectors(one) == vectors(other)
    assert frequencies(one) == frequencies(other)
    for name in ("total", "size", "empty", "repeated", "settings"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("terms", "documents", "missing"):
        assert list(getattr(one, name)) == list(getattr(other, name)), name
    assert one.begin.tolist() == other.begin.tolist()
    assert one.term.tolist() == other.term.tolist()


def search_results(folder: Path) -> list[list[str]]:
    """Write the 60 results of each of 12 simulated searches, as AMBIENT has them: snippets, and their subtopics."""
    made = cf.simulate(queries=12, systems=1, documents=800, depth=60, words=20, seed=0)
    rows, judged = cf.io.load(made.runs[0]), made.complete
    assert judged.labels is not None
    about: dict[str, list[str]] = {}
    for row, subtopic, grade in zip(judged.labels.document, judged.labels.subtopic, judged.labels.grade, strict=True):
        query = judged.queries[int(np.searchsorted(judged.begin, row, side="right")) - 1]
        if grade > 0:
            about.setdefault(f"{query} {judged.documents[int(row)]}", []).append(judged.labels.names[int(subtopic)])
    results, relevant = [["ID", "url", "title", "snippet"]], [["subTopicID", "resultID"]]
    numbers = {query: str(n) for n, query in enumerate(judged.queries, 1)}
    ranked = sorted(zip(rows.query, -rows.score, rows.document, strict=True))
    for i, (query, _, document) in enumerate(ranked):
        name = f"{numbers[query]}.{i % 60 + 1}"
        results.append([name, f"https://{document}.example", query, made.texts[document]])
        relevant += [[f"{numbers[query]}.{subtopic}", name] for subtopic in about.get(f"{query} {document}", [])]
    (folder / "results.txt").write_text("".join("\t".join(row) + "\n" for row in results))
    (folder / "STRel.txt").write_text("".join("\t".join(row) + "\n" for row in relevant))
    return relevant[1:]


class Printed(Dense):
    """Equations 5 and 6 of Hui et al. (2017) as they are printed, over the terms of the corpus."""

    @property
    def collection(self) -> np.ndarray:
        return self.share

    def model(self, counts: np.ndarray, mu: float) -> np.ndarray:
        return (counts + mu) / (counts.sum() + mu * self.share)


def table(corpus: Corpus, kind: type[Dense] = Dense) -> Dense:
    counts = np.zeros((len(corpus.documents), len(corpus.terms)))
    for d in range(len(counts)):
        rows = slice(corpus.begin[d], corpus.begin[d + 1])
        counts[d, corpus.term[rows]] = corpus.count[rows]
    return kind(counts, list(corpus.documents), corpus.frequency, corpus.total)


def by_formula(
    corpus: Corpus, judged: Any, ranking: list[str], mu: float, k: int | None = None, kind: type[Dense] = Dense
) -> dict[str, float]:
    """The four measures of one ranking; nothing where they are undefined."""
    relevant: dict[str, list[str]] = {}
    for document, labels in judged.items():
        for subtopic, grade in labels.items():
            if grade >= 1:
                relevant.setdefault(subtopic, []).append(document)
    return scores(table(corpus, kind).nearness(relevant, ranking[:k], mu))


documents = st.sampled_from([f"d{i}" for i in range(7)])
texts = st.dictionaries(
    documents, st.lists(st.sampled_from("abcdefghij"), max_size=9).map(" ".join), min_size=2, max_size=6
).filter(lambda found: len({*" ".join(found.values()).split()}) > 2)
judged = st.dictionaries(
    documents, st.dictionaries(st.sampled_from(["1", "2", "3"]), st.sampled_from([0, 1, 2]), min_size=1), min_size=1
)
