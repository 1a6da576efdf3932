"""A small collection with every difficulty, as plain data and as files.

Ties, also of scores that differ only in 64 bits; unjudged documents; NIL; graded and negative judgments; lists of one
and two documents; a query without relevant documents (q2); a query that the run does not answer (q3); a query without
judgments (q9).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

RANKINGS = """
q1 d4:9 d10:7 d2:7 d1:7 u1:7 d3:5 u2:4 d9:4 é1:4 d5:2 NIL:1 d6:1 d7:0.5 u3:0.5
q2 d1:3 d2:3 u4:2 d3:1
q4 d12:0.25 u1:0.25
q5 NIL:5
q6 d1:1 d2:1 d3:1 d4:1 d5:1 d6:1 u1:1 u2:1 u3:1 d7:1 d8:1 d9:1
q7 u1:-1 u2:-2 d6:-2 u3:-2.5
q8 d3:1.00000001 d1:1 d2:0.99999999 d5:-0.0 u5:0 d9:0 d7:-1e-30 d8:-4
q9 d1:2 d2:1 d3:1
"""
JUDGED = """
q1 d1:1 d2:0 d3:2 d4:0 d5:3 d6:-1 d7:1 d8:2 d9:0 d10:1 é1:-2 d11:1
q2 d1:0 d2:0 d5:0
q3 d1:2 d2:1 d4:0
q4 d12:2 d1:1 d2:1 d3:3 d4:0 d5:0
q5 d1:0 d2:-1
q6 d1:0 d2:1 d3:0 d4:2 d5:0 d6:3 d7:1 d8:0 d20:1
q7 d6:-1 d1:1 d2:2 d3:0
q8 d1:1 d2:2 d3:0 d5:1 d7:3 d8:1 d9:0 d10:0 d13:1
"""
# Embeddings of small whole numbers, whose products are exact.
DENSE_QUERIES = {"q1": (1, 0, 2), "q2": (0, 1, -1), "q4": (2, 2, 1), "q6": (0, 0, 0), "q8": (1, -1, 1)}
DENSE_DOCUMENTS = {f"d{i}": (i % 3, i * i % 5 - 2, i % 2) for i in range(1, 19)}
TEXTS = {
    "d1": "lamp oil lamp wick",
    "d2": "lamp glass",
    "d3": "sea gull rock sea",
    "d4": "rock wreck storm",
    "d5": "keeper lamp stairs",
    "d6": "storm sea storm",
    "d7": "gull egg",
    "d9": "the lamp of the keeper",
    "d10": "oil",
    "d12": "wreck of the lamp ship",
    "u1": "gull rock lamp",
    "u2": "stairs stairs stairs keeper",
    "u5": "ship storm",
    "é1": "egg lamp sea",
}


class Row(NamedTuple):
    """A retrieved document."""

    document: str
    rank: int
    score: float


def _pairs(text: str) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    for line in text.strip().splitlines():
        query, *pairs = line.split()
        yield query, [(name, float(number)) for name, number in (pair.rsplit(":", 1) for pair in pairs)]


def _ranked(pairs: list[tuple[str, float]], *, contradicting: bool) -> list[Row]:
    """Rows in the order of the input; ranks order tied documents in reverse, or all documents."""
    order = sorted(range(len(pairs)), key=lambda i: (0 if contradicting else -pairs[i][1], -i))
    rank = {i: number for number, i in enumerate(order, 1)}
    return [Row(name, rank[i], score) for i, (name, score) in enumerate(pairs)]


RUN = {query: _ranked(pairs, contradicting=query == "q7") for query, pairs in _pairs(RANKINGS)}
QRELS = {query: {name: int(grade) for name, grade in pairs} for query, pairs in _pairs(JUDGED)}
SUBTOPICS = {
    query: {
        name: {str(s): max((grade + s + i) % 4 - 1, 0) if grade > 0 else 0 for s in range(3) if (i + s) % 3 or s == 0}
        for i, (name, grade) in enumerate(judged.items())
    }
    for query, judged in QRELS.items()
}
# Only subtopics with a judged document have weights; the weights of other queries are equal.
INTENTS = {query: {str(s): 1 + (s + i) % 3 for s in range(3)} for i, query in enumerate(("q1", "q4", "q8"))}
TYPES = {query: {str(s): "nav" if s == 1 else "inf" for s in range(3)} for query in INTENTS}
COSTS = {
    query: {row.document: 0.5 + (3 * i) % 4 for i, row in enumerate(rows) if i % 3}
    for query, rows in RUN.items()
    if query != "q5"
}
GROUPS = {
    query: {group: {name: max(grade - (i + len(group)) % 2, -1) for i, (name, grade) in enumerate(judged.items())}
            for group in (("a", "bb", "ccc") if query != "q4" else ("a",))}
    for query, judged in QRELS.items()
}  # fmt: skip
PREFERENCES = {
    query: [(group, f"{group}{i % 2}", name, max(grade, 0) + (i % 2 if group == "h" else 0))
            for group in ("g", "h") for i, (name, grade) in enumerate(judged.items())]
    for query, judged in QRELS.items()
}  # fmt: skip
STRATA = {query: {name: "top" if i < 4 else "rest" for i, name in enumerate(judged)} for query, judged in QRELS.items()}
SAMPLE = {
    query: {name: -1 if i >= 4 and i % 2 else max(grade, 0) for i, (name, grade) in enumerate(judged.items())}
    for query, judged in QRELS.items()
}
DRAWN = {query: {name: max(grade, 0) for name, grade in judged.items()} for query, judged in QRELS.items()}
INCLUSION = {
    query: {name: 1.0 if i < 3 else 0.25 + 0.125 * (i % 5) for i, name in enumerate(judged)}
    for query, judged in QRELS.items()
}
METHOD = {query: {name: 0 if i < 3 else 1 for i, name in enumerate(judged)} for query, judged in QRELS.items()}
DENSE_RUN = {
    query: [
        Row(name, number, float(sum(a * b for a, b in zip(of_query, of_document, strict=True))))
        for number, (name, of_document) in enumerate(DENSE_DOCUMENTS.items(), 1)
    ]
    for query, of_query in DENSE_QUERIES.items()
}


def _run(run: dict[str, list[Row]]) -> str:
    return "".join(
        f"{query} Q0 {row.document} {row.rank} {row.score!r} run\n" for query, rows in run.items() for row in rows
    )


def _judgments(grades: dict[str, dict[str, int]]) -> str:
    return "".join(f"{query} 0 {name} {grade}\n" for query, judged in grades.items() for name, grade in judged.items())


def files() -> dict[str, str]:
    """The content of each file."""
    each = [(query, name, grade) for query, judged in QRELS.items() for name, grade in judged.items()]
    return {
        "run.txt": _run(RUN),
        "dense.txt": _run(DENSE_RUN),
        "qrels.txt": _judgments(QRELS),
        "subtopics.txt": "".join(
            f"{q} {s} {d} {grade}\n"
            for q, judged in SUBTOPICS.items()
            for d, of_document in judged.items()
            for s, grade in of_document.items()
        ),
        "intents.txt": "".join(
            f"{q} {s} {weight} {TYPES[q][s]}\n" for q, weights in INTENTS.items() for s, weight in weights.items()
        ),
        "costs.txt": "".join(f"{q} {d} {cost}\n" for q, of_query in COSTS.items() for d, cost in of_query.items()),
        "groups.txt": "".join(
            f"{q} {g} {d} {grade}\n"
            for q, of_query in GROUPS.items()
            for g, judged in of_query.items()
            for d, grade in judged.items()
        ),
        "preferences.txt": "".join(
            f"{q} {g} {s} {d} {level}\n" for q, lines in PREFERENCES.items() for g, s, d, level in lines
        ),
        "strata.txt": "".join(f"{q} 0 {d} {STRATA[q][d]} {SAMPLE[q][d]}\n" for q, d, _ in each),
        "inclusion.txt": "".join(
            f"{q} {d} {DRAWN[q][d]} {METHOD[q][d]} {INCLUSION[q][d]!r}\n" for q, d, _ in each
        ),
        "texts.tsv": "".join(f"{name}\t{text}\n" for name, text in TEXTS.items()),
    }  # fmt: skip


def write(folder: Path) -> None:
    """Write the files into a folder."""
    for name, content in files().items():
        (folder / name).write_text(content, encoding="utf-8")
