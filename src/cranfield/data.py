"""Runs and judgments as frozen columns.

Ids are exact bytes: text that is not UTF-8 is read and written unchanged (surrogateescape).
This module does not know about files (`io`) or measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from cranfield.wording import decodable, plural, printable

# Written out, because `results.typed` looks into them: numpy.typing.NDArray is opaque since NumPy 2.5.
Floats = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
Booleans = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]
Integers = np.ndarray[tuple[Any, ...], np.dtype[np.int64]]
Bytes = np.ndarray[tuple[Any, ...], np.dtype[np.uint8]]
Array = np.ndarray[tuple[Any, ...], np.dtype[Any]]
LONG_BLOCK = 8  # adjacent strings from which copying them together saves time
LONG_TEXT = 64  # bytes from which strings are compared one by one
Smoothing = Literal["dirichlet", "printed"]  # of language models; printed: as Hui et al. (2017) print it


class Strings:
    """A column of ids in Arrow's layout: string i is ``data[offsets[i]:offsets[i + 1]]``."""

    def __init__(self, offsets: Integers, data: Bytes) -> None:
        self.offsets, self.data = offsets, data

    def __repr__(self) -> str:
        shown = [decodable(self[i]) for i in range(min(len(self), 3))]
        return f"Strings: {', '.join(map(repr, shown))}{', ...' if len(self) > 3 else ''} ({len(self):,})"

    @classmethod
    def of(cls, texts: Iterable[str]) -> Strings:
        texts = texts if isinstance(texts, list) else list(texts)
        if set(map(type, texts)) == {str}:
            joined = "".join(texts)
            data = joined.encode("utf-8", "surrogateescape")
            if len(data) == len(joined):  # ASCII: each text has as many bytes as characters
                return cls._of_bytes(data, np.fromiter(map(len, texts), np.int64, len(texts)))
        return cls.packed([text.encode("utf-8", "surrogateescape") for text in texts])

    @classmethod
    def _of_bytes(cls, data: bytes, lengths: Integers) -> Strings:
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(offsets, np.frombuffer(data, np.uint8))

    @classmethod
    def packed(cls, encoded: Sequence[bytes]) -> Strings:
        """A column of texts that are bytes already."""
        return cls._of_bytes(b"".join(encoded), np.fromiter(map(len, encoded), np.int64, len(encoded)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> str:
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes().decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        data, bounds = self.data.tobytes(), self.offsets.tolist()
        for a, b in pairwise(bounds):
            yield data[a:b].decode("utf-8", "surrogateescape")

    @classmethod
    def concatenate(cls, parts: Sequence[Strings]) -> Strings:
        """All strings of several columns."""
        lengths = [np.diff(part.offsets) for part in parts]
        offsets = np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum()
        data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
        return cls(offsets, np.concatenate([np.empty(0, np.uint8), *data]))

    def same_as_previous(self) -> Booleans:
        """Whether each string but the first is the one before it."""
        first, length = self.offsets[:-1], np.diff(self.offsets)
        same = length[1:] == length[:-1]
        rows = np.flatnonzero(same)
        for byte in range(min(int(length.max(initial=0)), LONG_TEXT)):
            rows = rows[byte < length[rows]]
            equal = self.data[first[rows] + byte] == self.data[first[rows + 1] + byte]
            same[rows[~equal]] = False
            rows = rows[equal]
        for row in rows[length[rows] > LONG_TEXT].tolist():
            same[row] = self[row] == self[row + 1]
        return same

    def take(self, rows: Integers) -> Strings:
        """The strings at these rows, in this order."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        first = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
        if len(first) * LONG_BLOCK < len(rows):  # long blocks of adjacent rows are copied as they are
            last = np.append(first[1:], len(rows)) - 1
            blocks = zip(self.offsets[rows[first]].tolist(), self.offsets[rows[last] + 1].tolist(), strict=True)
            return Strings(offsets, np.concatenate([self.data[a:b] for a, b in blocks]))
        index = np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths)
        index += np.arange(len(index))
        return Strings(offsets, self.data[index])


class Labels(NamedTuple):
    """Judgments by subtopic: row i says that document ``document[i]`` has ``grade[i]`` for ``subtopic[i]``.

    ``document`` is a row of the `Judgments` with these labels; ``subtopic`` is an index of ``names``.
    """

    document: Integers
    subtopic: Integers
    grade: Floats
    names: Strings


class Intents(NamedTuple):
    """Weights of subtopics: row i says that subtopic ``subtopic[i]`` of query ``query[i]`` has ``weight[i]``.

    ``query`` is a row of the queries of the `Judgments` with these intents; ``subtopic`` is an index of the names of
    its labels, or -1 for a subtopic without judgments.
    """

    query: Integers
    subtopic: Integers
    weight: Floats


class Navigational(NamedTuple):
    """Intents of readers who need one document: row i is subtopic ``subtopic[i]`` of query ``query[i]``.

    Both count rows as those of `Intents` do. All other intents are informational: their readers have a use for every
    relevant document.
    """

    query: Integers
    subtopic: Integers


class PreferenceJudgments(NamedTuple):
    """The preferences of all queries; documents are rows of the `Judgments` that have them.

    ``begin`` (q + 1): the pairs of query q are rows ``begin[q]:begin[q + 1]`` of ``better``, ``worse`` and ``group``:
    in this group the one document is preferred to the other. ``share``: 1 / the number of groups that have a
    preference, either way, between these two documents. ``groups`` (q + 1): the groups of query q are numbers
    ``groups[q]`` to ``groups[q + 1] - 1``, bytewise by name.
    ``member_begin`` (g + 1): the documents of group g are rows of ``member``, bytewise by id; ``relevant``: whether the
    level is above 0. ``single`` (g,): the group has one subgroup.
    """

    begin: Integers
    better: Integers
    worse: Integers
    group: Integers
    share: Floats
    groups: Integers
    member_begin: Integers
    member: Integers
    relevant: Booleans
    single: Booleans


class JudgmentSample(NamedTuple):
    """How the documents to judge were drawn, for each row of the `Judgments` that have it.

    ``stratum``: the number of the stratum among those of the query, bytewise by name; ``strata`` has the names, one for
    each row. A row with a negative grade was pooled and not drawn. ``probability``: the chance that the document was
    drawn, NaN if it is not given; without any, it is the share of the stratum that was drawn. ``method``: how statAP's
    files say that the document was chosen (1 if they do not).
    """

    stratum: Integers
    strata: Strings
    probability: Floats | None = None
    method: Integers | None = None

    @property
    def stratified(self) -> bool:
        """Whether there are strata, which then say how documents were drawn."""
        return self.probability is None or len(self.strata.data) > 0


class Passages(NamedTuple):
    """Passages of documents: row i is from ``start[i]`` up to ``end[i]``, without it, of ``names[document[i]]``."""

    names: Strings
    document: Integers
    start: Integers
    end: Integers

    def take(self, rows: Integers) -> Passages:
        """The passages at these rows, in this order."""
        return self._replace(document=self.document[rows], start=self.start[rows], end=self.end[rows])


@dataclass(frozen=True, eq=False, repr=False)
class Judgments:
    """Relevance judgments: the judged documents of every query, each once, with a grade.

    The documents of query q are rows ``begin[q]:begin[q + 1]``. With subtopics the grade of a document is its
    highest over them, and ``labels`` has the grades by subtopic; ``intents`` has the weights of subtopics, and
    ``navigational`` the subtopics for which one document is enough, if given.

    Examples
    --------
    >>> import cranfield as cf
    >>> judgments = cf.read_qrels({"q": {"a": 2, "b": 0}})
    >>> list(judgments.queries), list(judgments.documents), judgments.grade.tolist()
    (['q'], ['a', 'b'], [2.0, 0.0])
    """

    name: str
    queries: Strings
    begin: Integers
    documents: Strings
    grade: Floats
    labels: Labels | None = None
    repeated: int = 0  # judgments given twice with the same grade
    intents: Intents | None = None
    navigational: Navigational | None = None
    preferences: PreferenceJudgments | None = None  # judgments that are preferences; a grade is then the highest level
    sample: JudgmentSample | None = None  # judgments that are a sample of a pool
    by_position: int = 0  # the length of the list, if queries have no ids; they are then called 1, 2, 3, ...
    remarks: tuple[str, ...] = ()  # what reading them had to assume
    measures: ClassVar[tuple[str, ...]] = ()  # if none are given, where these are not the usual ones
    of_documents: ClassVar[bool] = True  # whether ids are those of documents

    @classmethod
    def none(cls, name: str = "") -> Judgments:
        """Judgments of no query."""
        return cls(name, Strings.of([]), np.zeros(1, np.int64), Strings.of([]), np.zeros(0))

    @property
    def query(self) -> Integers:
        """The query of each row."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.begin))

    @property
    def sources(self) -> Strings:
        """The documents that are judged, in whole or in part."""
        return self.documents

    def of_runs(self, runs: Sequence[Run]) -> Judgments:  # noqa: ARG002 - of documents, the same for all runs
        """The judgments of what these runs retrieve, and of what they miss."""
        return self

    def facts(self) -> list[str]:
        """All that is known of each row, besides subtopics, as text."""
        grades = (self.grade + 0.0).tolist()  # -0.0 is 0.0
        facts = [f"{document} {grade!r}" for document, grade in zip(self.documents, grades, strict=True)]
        if self.sample is None:
            return facts
        drawn = [of.tolist() for of in (self.sample.probability, self.sample.method) if of is not None]
        strata = [list(self.sample.strata)] if self.sample.stratified else []
        return [" ".join(map(str, row)) for row in zip(facts, *drawn, *strata, strict=True)]

    def __repr__(self) -> str:
        counts = f"{plural(len(self.grade), 'document')} of {plural(len(self.queries), 'query')}"
        return decodable(f"Judgments: {printable(self.name)}, {counts}")


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A run in memory as columns, one row per retrieved document, in input order."""

    query: Strings
    document: Strings
    score: Floats
    rank: Floats | None = None
    unit: Literal["line", "row", "entry"] = "row"  # what messages count
    score_column: str = ""  # the column of scores, if error messages should name it
    line: Integers | None = None  # the number of each line or row, if it is not its place in these columns
    faults: tuple[Any, ...] = ()  # of rows that are not in the table; see `io.faults`
    faults_total: int = 0
    passages: Passages | None = None  # of a run of chunks, whose documents are the ids of these

    @property
    def sources(self) -> Strings:
        """The documents that are retrieved, in whole or in part."""
        return self.document if self.passages is None else self.passages.names

    def take(self, rows: Integers) -> Table:
        """The table with these rows, in this order."""
        return replace(
            self,
            query=self.query.take(rows),
            document=self.document.take(rows),
            score=self.score[rows],
            rank=None if self.rank is None else self.rank[rows],
            line=None if self.line is None else self.line[rows],
            passages=None if self.passages is None else self.passages.take(rows),
        )


class TableStream:
    """A run in a file of rows that is read piece by piece; each call of ``pieces`` starts from the beginning.

    A piece ends where a query ends, so that a file whose queries are contiguous is never held in memory.
    """

    def __init__(self, pieces: Callable[[], Iterator[Table]]) -> None:
        self.pieces = pieces


ListedItems = Literal["documents", "questions"]


class DailyRankings(dict[str, dict[str, float]]):
    """The rankings of a run of lists of lists, and the days that it answers; ``ranks``: what is ranked.

    ``line``: the line of each topic and day; ``listed``: the topic, day and question of each answer.
    """

    def __init__(
        self,
        rankings: Mapping[str, dict[str, float]],
        ranks: ListedItems,
        line: Mapping[tuple[str, str], int],
        listed: Sequence[tuple[str, str, str]],
    ) -> None:
        super().__init__(rankings)
        self.ranks, self.line, self.listed = ranks, line, listed


Opener = Callable[[], Any]  # returns a file descriptor or an object with ``readinto``; may be called again


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """The rankings of one system; ``source`` has the rows, and is read only when needed.

    It is a dict ``{query: {document: score}}`` or ``{query: [document, ...]}``, a `Table`, a `TableStream`, or, for
    TREC text, a function that opens it: text is joined to judgments while it is read, and is never held in memory.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.read_run({"q": {"a": 2.0, "b": 1.0}}, name="bm25").name
    'bm25'
    """

    name: str
    source: Mapping[str, Mapping[str, float] | Sequence[str]] | Table | TableStream | Opener
    source_name: str = ""  # what error messages call it, usually the path of the file
    by_position: int = 0  # the length of the list, if queries have no ids; they are then called 1, 2, 3, ...
    rising: bool = False  # in every list of documents, scores rise from first to last, as distances do
    remarks: tuple[str, ...] = ()  # what reading it had to assume
    system: str | None = None  # of a repeat: the system that gave it
    empty: tuple[str, ...] = ()  # of chunks: the queries for which nothing is retrieved
    records: tuple[Any, Any] | None = None  # of chunks: the records and how to read them; they may be judged passages

    def __repr__(self) -> str:
        source = f", from {self.source_name}" if self.source_name else ""
        counts = ""
        if isinstance(self.source, Mapping):
            documents = sum(map(len, self.source.values()))
            counts = f", {plural(documents, 'document')} of {plural(len(self.source), 'query')}"
        elif isinstance(self.source, Table):
            counts = f", {plural(len(self.source.score), 'document')} of {plural(len(self), 'query')}"
        return decodable(f"Run: {printable(self.name + source)}{counts}")

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        """The number of queries."""
        return len(self._queries())

    def __iter__(self) -> Iterator[str]:
        """The ids of queries."""
        return iter(self._queries())

    def _queries(self) -> list[str]:
        if isinstance(self.source, Mapping) and set(map(type, self.source)) <= {str}:
            return list(self.source)
        return list(dict.fromkeys(self.table().query))

    def table(self) -> Table:
        """All rows in memory."""
        return self.source if isinstance(self.source, Table) else _FILES["load"](self)

    def to_pandas(self) -> Any:
        """A data frame with the columns query_id, doc_id, score and rank, in input order.

        >>> import cranfield as cf
        >>> cf.read_run({"q": ["b", "a"]}).to_pandas()["doc_id"].tolist()
        ['b', 'a']
        """
        return _FILES["to_pandas"](self)

    def save(self, path: Any) -> None:
        """Write the run to a file; the ending of its name decides the format, such as .run, .csv or .parquet.

        Only .json holds rankings without documents. Files of rows do not have these queries, which counts as no answer.
        """
        _FILES["write_run"](self, path)


_FILES: dict[str, Callable[..., Any]] = {}  # what `io` does with runs: this module knows nothing of files


def with_files(**functions: Callable[..., Any]) -> None:
    """Let runs use these functions of `io`."""
    _FILES.update(functions)


class Repeats:
    """Several runs of one system, with other seeds or another sample of answers: one run with repeats.

    Parameters
    ----------
    runs
        The runs, in any form that `evaluate` takes.

    Examples
    --------
    >>> import cranfield as cf
    >>> dense = cf.Repeats([{"q": ["a", "b"]}, {"q": ["b", "a"]}])
    >>> cf.evaluate({"q": {"a": 1}}, {"dense": dense}, "RR")["RR"]["dense"]
    0.75
    """

    def __init__(self, runs: Sequence[Any]) -> None:
        self.runs = tuple(runs)

    def __repr__(self) -> str:
        return f"Repeats: {plural(len(self.runs), 'run')}"


class TextView(NamedTuple):
    """What makes the language models of subtopics: the lowest relevant grade, and the smoothing.

    ``whole``: the whole query is one subtopic.
    """

    rel: float
    whole: bool
    smoothing: Smoothing

    @classmethod
    def of(cls, chosen: Mapping[str, Any]) -> TextView:
        """The view that the parameters of a measure choose."""
        return cls(chosen["rel"], chosen["whole"], chosen["smoothing"])
