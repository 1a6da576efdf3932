"""Seeded inputs for the benchmarks, as TREC text. Each is made once, when it is missing.

S    50 queries x 1,000 documents, about 300 judged for each, grades 0 to 2, ids of newswire length
M    6,980 queries x 1,000 documents, about 1.1 relevant for each, whole-number ids, 6-decimal scores
T    3,000 queries as M, scores rounded to whole numbers: nearly everything is tied
L    200 runs of S's size over S's judgments
track  126 runs of one TREC track: 50 queries x 1,000 documents, 460 judged for each, grades 0 to 3
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
GRADES = (0.65, 0.18, 0.11, 0.06)  # shares of the grades 0 to 3 in a track's judgments
POOLED = 1.5  # by how much systems prefer documents that were judged
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
    """The same text in every line."""
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


@dataclass(frozen=True)
class Rankings:
    """Documents retrieved for each query (query, document), with scores that are different in 32 bits too.

    trec_eval up to 9, and so pytrec_eval, rounds scores to 32 bits: others would be tied there and not here.
    """

    query: Numbers
    document: Numbers
    millionths: Numbers

    @staticmethod
    def drawn(rng: Generator, queries: int, documents: int) -> Rankings:
        """Rankings whose best documents come first."""
        steps = rng.integers(1, 20, (queries, documents)) * 1000
        scores = np.cumsum(steps, axis=1)[:, ::-1]
        return Rankings(np.arange(1, queries + 1) + 1_000_000, distinct(rng, queries, documents), scores)

    def shuffled(self, rng: Generator) -> Rankings:
        """The same rankings, documents in no order."""
        order = rng.permuted(np.broadcast_to(np.arange(self.document.shape[1]), self.document.shape), axis=1)
        document, millionths = (np.take_along_axis(x, order, axis=1) for x in (self.document, self.millionths))
        return Rankings(self.query, document, millionths)

    def judgments(self, rng: Generator, judged: int) -> dict[str, dict[str, int]]:
        """Grades 0 to 3 of as many retrieved documents of each query, at least one of them relevant."""
        place = np.argsort(rng.random(self.document.shape), axis=1)[:, :judged]
        grade = rng.integers(0, 4, place.shape)
        grade[:, 0] = np.maximum(grade[:, 0], 1)  # without a relevant document AP is 0 there and undefined here
        return _nested(self.query, np.take_along_axis(self.document, place, axis=1), grade)

    def nested(self) -> dict[str, dict[str, float]]:
        return _nested(self.query, self.document, self.millionths / 1e6)

    def text(self) -> Iterator[bytes]:
        depth = self.document.shape[1]
        for first in range(0, len(self.query), CHUNK):
            some = slice(first, first + CHUNK)
            document = whole(self.document[some].ravel())
            yield run_lines(self.query[some], document, self.millionths[some].ravel(), depth, b"dense")


def _nested(query: Numbers, document: Numbers, values: npt.NDArray[Any]) -> dict[str, dict[str, Any]]:
    rows = zip(query.tolist(), document, values, strict=True)
    return {str(q): dict(zip(map(str, d.tolist()), v.tolist(), strict=True)) for q, d, v in rows}


@dataclass(frozen=True)
class Track:
    """Judgments of a TREC track, and the documents (query, document) that its systems rank, the judged ones first."""

    query: Numbers
    document: Numbers
    grade: Numbers
    attraction: npt.NDArray[np.float64]  # (query, document): what all systems see in a document, relevant or not

    @staticmethod
    def drawn(seed: int, queries: int, judged: int, unjudged: int) -> Track:
        rng = np.random.default_rng(seed)
        shape = (queries, judged + unjudged)
        grade = rng.choice(4, (queries, judged), p=GRADES)
        grade[:, 0] = 3  # a query without relevant documents is averaged differently by each tool
        return Track(np.arange(1, queries + 1) + 100, distinct(rng, *shape), grade, rng.normal(size=shape))

    def text(self) -> bytes:
        lines, judged = self.grade.size, self.grade.shape[1]
        document = self.document[:, :judged].ravel()
        query = np.repeat(self.query, judged)
        return text(whole(query), constant(b"0", lines), whole(document), whole(self.grade.ravel()))

    def run(self, seed: int, quality: float, depth: int, *, tied: bool) -> bytes:
        """A system: the higher its quality, the more it prefers relevant documents; judged ones were in the pool."""
        rng = np.random.default_rng(seed)
        score = self.attraction + rng.normal(size=self.attraction.shape)
        score[:, : self.grade.shape[1]] += POOLED + quality * self.grade
        best = np.argsort(-score, axis=1, kind="stable")[:, :depth]
        unit = 100_000 if tied else 1  # tied systems have one decimal
        millionths = np.rint((30 + 3 * np.take_along_axis(score, best, axis=1)) * 1e6 / unit).astype(np.int64) * unit
        document = whole(np.take_along_axis(self.document, best, axis=1).ravel())
        return run_lines(self.query, document, millionths.ravel(), best.shape[1], b"system%d" % seed)


def write_track(folder: Path, runs: int, queries: int) -> None:
    """Every ninth run has 100 documents for a query, every sixth has tied ones; the best runs come in no order."""
    track = Track.drawn(6, queries, 460, 6500)
    (folder / "qrels").write_bytes(track.text())
    quality = np.random.default_rng(6).permutation(np.linspace(0, 1, runs)).tolist()
    for i in range(runs):
        depth = 100 if i % 9 == 8 else DEPTH
        (folder / f"run{i:03d}").write_bytes(track.run(i, quality[i], depth, tied=i % 6 == 5))


def write_sparse(folder: Path, seed: int, queries: int, **how: Any) -> None:
    """A run and judgments with few judged documents per query."""
    with (folder / "run").open("wb") as run, (folder / "qrels").open("wb") as qrels:
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
    "T": (write_sparse, {"seed": 2, "queries": 3000, "tied": True}, {"queries": 100}),
    "XL": (write_sparse, {"seed": 3, "queries": 70_000}, {"queries": 1000}),
    "track": (write_track, {"runs": 126, "queries": 50}, {"runs": 9, "queries": 3}),
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
    """The runs of a workload."""
    return sorted(folder.glob("run*"))
