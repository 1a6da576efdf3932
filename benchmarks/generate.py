"""Seeded inputs for the benchmarks, as TREC text. Each is made once, when it is missing.

S    50 queries x 1,000 documents, about 300 judged for each, grades 0 to 2, ids of newswire length
M    6,980 queries x 1,000 documents, about 1.1 relevant for each, whole-number ids, 6-decimal scores
T    M's documents with scores rounded to whole numbers: nearly everything is tied
L    200 runs of S's size over S's judgments
XL   70,000 queries x 1,000 documents, as M (2.5 GB)
one  a single query of M's kind, to see what starting costs
corpus  1 GB of documents as JSON Lines (see texts.py)

Text is laid out as a matrix of characters with a mask of those that count, so that no line is ever a
Python object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import texts

DATA = Path(__file__).parent / "data"
DEPTH = 1000
COLLECTION = 8_841_823  # passages in the collection that M imitates
CHUNK = 500  # queries that are laid out together
SPACE, POINT, NEWLINE = b" ", b".", b"\n"
SOURCES = (b"FBIS3-", b"FBIS4-", b"FT911-", b"FT934-", b"LA010189-", b"LA123190-", b"FR940104-0-")

Numbers = npt.NDArray[np.int64]
Generator = np.random.Generator


class Field(NamedTuple):
    """One column of text: characters (line, place), and which of them there are."""

    characters: npt.NDArray[np.uint8]
    there: npt.NDArray[np.bool_]


def words(values: npt.NDArray[np.bytes_]) -> Field:
    """Fixed-width byte strings; their padding is left out."""
    characters = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    return Field(characters, characters != 0)


def constant(text: bytes, count: int) -> Field:
    return words(np.full(count, text))


def whole(values: Numbers, *, padded: int = 0) -> Field:
    """Whole numbers in decimal; ``padded`` keeps leading zeros up to that many digits."""
    width = max(padded, len(str(int(values.max(initial=0)))))
    left = values.astype(np.uint32)  # division by a constant is several times faster in 32 bits
    characters = np.empty((len(values), width), np.uint8)
    for place in reversed(range(width)):
        left, characters[:, place] = np.divmod(left, np.uint32(10))
    there = np.logical_or.accumulate(characters > 0, axis=1)
    there[:, width - max(padded, 1) :] = True
    return Field(characters + ord("0"), there)


def decimal(millionths: Numbers) -> list[Field]:
    """Numbers with six decimals, from how many millionths they are."""
    above, below = np.divmod(millionths, 1_000_000)
    return [whole(above), constant(POINT, len(above)), whole(below, padded=6)]


def text(*columns: Field | list[Field]) -> bytes:
    """Lines of columns with a space between them."""
    parts: list[Field] = []
    for column in columns:
        parts += column if isinstance(column, list) else [column]
        parts.append(constant(SPACE, len(parts[0].there)))
    parts[-1] = constant(NEWLINE, len(parts[0].there))
    characters = np.concatenate([part.characters for part in parts], axis=1)
    there = np.concatenate([part.there for part in parts], axis=1)
    return characters[there].tobytes()


def run_lines(query: Numbers, document: Field, millionths: Numbers, depth: int, tag: bytes) -> bytes:
    """The text of whole queries, ``depth`` lines each, best first."""
    lines = len(query) * depth
    rank = np.tile(np.arange(1, depth + 1), len(query))
    return text(
        whole(np.repeat(query, depth)),
        constant(b"Q0", lines),
        document,
        whole(rank),
        decimal(millionths),
        constant(tag, lines),
    )


def distinct(rng: Generator, rows: int, columns: int) -> Numbers:
    """Rows of documents that do not repeat: rows that do are drawn again."""
    drawn = rng.integers(0, COLLECTION, (rows, columns))
    again = np.arange(rows)
    while len(again := again[(np.diff(np.sort(drawn[again], axis=1), axis=1) == 0).any(axis=1)]):
        drawn[again] = rng.integers(0, COLLECTION, (len(again), columns))
    return drawn


def sparse(seed: int, queries: int, depth: int = DEPTH, *, tied: bool = False) -> Iterator[tuple[bytes, bytes]]:
    """Run and judgments, piece by piece: one relevant document or a few, mostly near the top."""
    rng = np.random.default_rng(seed)
    names = np.sort(rng.choice(max(1_100_000, queries), queries, replace=False)) + 2
    for first in range(0, queries, CHUNK):
        query = names[first : first + CHUNK]
        count = len(query)
        document = distinct(rng, count, depth)
        score = -np.sort(-rng.beta(2, 8, (count, depth)), axis=1) * 12 + 8
        millionths = np.rint(score).astype(np.int64) * 1_000_000 if tied else np.rint(score * 1e6).astype(np.int64)
        run = run_lines(query, whole(document.ravel()), millionths.ravel(), depth, b"dense")
        # A first relevant document for all, a second for 7 %, a third for 2 %; 85 % of them are retrieved.
        judged = rng.random((count, 3)) < (1.0, 0.07, 0.02)
        place = np.minimum(rng.pareto(0.6, (count, 3)), depth - 1).astype(np.int64)
        missed = rng.random((count, 3)) >= 0.85
        relevant = np.where(
            missed, rng.integers(0, COLLECTION, (count, 3)), np.take_along_axis(document, place, axis=1)
        )
        pairs = np.unique(np.stack([np.repeat(query, 3), relevant.ravel()])[:, judged.ravel()], axis=1)
        lines = pairs.shape[1]
        yield run, text(whole(pairs[0]), constant(b"0", lines), whole(pairs[1]), constant(b"1", lines))


@dataclass(frozen=True)
class Pools:
    """Judgments of S's kind: documents by query, the judged ones first, and their grades."""

    query: Numbers
    name: npt.NDArray[np.bytes_]
    judged: list[Numbers]
    grade: list[Numbers]

    @staticmethod
    def drawn(seed: int, queries: int, documents: int = 200_000) -> Pools:
        rng = np.random.default_rng(seed)
        source, number = np.divmod(rng.choice(len(SOURCES) * 70_000, documents, replace=False), 70_000)
        name = np.char.add(np.array(SOURCES)[source], (number + 1).astype("S5"))
        judged = [rng.choice(documents, rng.integers(250, 350), replace=False) for _ in range(queries)]
        grade = []
        for pool in judged:
            relevant = rng.random(len(pool)) < max(rng.beta(1, 8), 0.02)
            relevant[0] = True  # a query without relevant documents is averaged differently by each tool
            grade.append(relevant * np.where(rng.random(len(pool)) < 0.2, 2, 1))
        return Pools(np.arange(301, 301 + queries), name, judged, grade)

    def text(self) -> bytes:
        query = np.repeat(self.query, [len(pool) for pool in self.judged])
        document = self.name[np.concatenate(self.judged)]
        return text(
            whole(query), constant(b"0", len(query)), words(document), whole(np.concatenate(self.grade).astype(int))
        )

    def run(self, seed: int, depth: int = DEPTH) -> bytes:
        """A system of a random quality: judged documents score higher, relevant ones more so."""
        rng = np.random.default_rng(seed)
        quality = rng.uniform(0.2, 2.0)
        documents, scores = [], []
        for pool, grade in zip(self.judged, self.grade, strict=True):
            others = np.setdiff1d(rng.choice(len(self.name), 2 * depth, replace=False), pool)
            candidates = np.concatenate([pool, rng.permutation(others)[:depth]])
            z = rng.normal(size=len(candidates))
            z[: len(pool)] += 0.5 + quality * (grade > 0) + 0.3 * grade
            best = np.argsort(-z, kind="stable")[:depth]
            documents.append(candidates[best])
            scores.append(np.rint(np.maximum(20 + 3 * z[best], 0) * 1e6).astype(np.int64))
        document = words(self.name[np.concatenate(documents)])
        return run_lines(self.query, document, np.concatenate(scores), depth, b"system%d" % seed)


def write_sparse(folder: Path, seed: int, queries: int, **how: Any) -> None:
    with open(folder / "run", "wb") as run, open(folder / "qrels", "wb") as qrels:
        for some_run, some_qrels in sparse(seed, queries, **how):
            run.write(some_run)
            qrels.write(some_qrels)


def write_pooled(folder: Path, runs: int, queries: int = 50) -> None:
    """S, or L: the judgments are the same."""
    pools = Pools.drawn(1, queries)
    (folder / "qrels").write_bytes(pools.text())
    for i in range(runs):
        (folder / ("run" if runs == 1 else f"run{i:03d}")).write_bytes(pools.run(1000 + i))


# What a workload is made by, at its own size and at the size for a quick look.
MAKERS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "S": (write_pooled, {"runs": 1}, {}),
    "L": (write_pooled, {"runs": 200}, {"runs": 5}),
    "M": (write_sparse, {"seed": 2, "queries": 6980}, {"queries": 100}),
    "T": (write_sparse, {"seed": 2, "queries": 6980, "tied": True}, {"queries": 100}),
    "XL": (write_sparse, {"seed": 3, "queries": 70_000}, {"queries": 1000}),
    "one": (write_sparse, {"seed": 4, "queries": 1}, {}),
    "corpus": (texts.write, {"seed": 5, "megabytes": 1000}, {"megabytes": 4, "words": 20_000}),
}


def workload(name: str, *, quick: bool = False, data: Path = DATA) -> Path:
    """The folder of a workload (``qrels``, and ``run`` or ``run000``, ...), made if it is not there."""
    maker, size, smaller = MAKERS[name]
    folder = data / ("quick" if quick else "full") / name
    if not folder.exists():
        # Made aside and then renamed, so that what was interrupted is not taken for whole.
        partial = folder.with_name(f"{name}.partial")
        partial.mkdir(parents=True, exist_ok=True)
        maker(partial, **size | (smaller if quick else {}))
        partial.rename(folder)
    return folder


def run_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("run*"))
