"""Faults in runs and judgments as sentences: what is wrong, where it is, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from cranfield.errors import InputError, max_faults
from cranfield.io.streams import supported_formats

TableKind = Literal["run", "qrels"]
Unit = Literal["line", "row", "entry"]  # of text, of a table, of nested dicts

MAX_TEXT = 60  # characters of an id or a line that a message quotes
TREC_COLUMNS = {
    "run": "6 columns (query Q0 document rank score tag)",
    "qrels": "4 columns (query iteration document grade)",
}


RawFault = tuple[int, str, bytes, bytes, int]


class Fault(NamedTuple):
    """A fault as the native core gives it; `core` explains ``text`` and ``other`` for each kind."""

    line: int
    kind: str
    query: bytes
    text: bytes
    other: int


def fault_text(value: object) -> bytes:
    """An id or other text as a fault holds it."""
    return str(value).encode("utf-8", "backslashreplace")


class Location(NamedTuple):
    """The source that is read, and how messages point into it."""

    source_name: str  # the file; "" for objects in memory
    kind: TableKind
    unit: Unit = "line"
    score_column: str = ""  # the column of scores or grades, if messages should name it
    literals: bool = False  # wrong values are given as they are written in Python or JSON, with their own quotes
    where_of: Callable[[int], str] | None = None  # where a row is, if it is not a row or line of the source

    def prefix(self, line: int, query: bytes, document: str) -> str:
        """The beginning of a sentence about this line, row or entry."""
        if self.where_of is not None:
            return f"{self.where_of(line)}: "
        if self.unit == "line":
            return f"{self.source_name}:{line}: " if line else f"{self.source_name}: "
        ids = (("query", quotable(query)), ("document", document if self.unit == "entry" else ""))
        row = [f"row {line}"] if line and self.unit == "row" else []
        where = ", ".join([*row, *(f"{role} `{name}`" for role, name in ids if name)])
        where += ": " if where else ""
        return f"{self.source_name}: {where}" if self.source_name else where


def quotable(text: bytes | str) -> str:
    """Text that a message can quote: printable and not too long."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return printable if len(printable) <= MAX_TEXT else printable[: MAX_TEXT - 3] + "..."


# The sentence for each kind of fault, and what to do if all faults are of this kind.
_KINDS: dict[str, tuple[str, str]] = {
    "columns": ('expected {columns}, found {other}: "{line}"', ""),
    "score": ("the score{column} is not a number: {value}", ""),
    "grade": ("the grade{column} is not a finite number: {value}", ""),
    "rank": (
        "the rank is not a number: {value}",
        "ties=rank orders documents by the rank column; correct the ranks, or order by score",
    ),
    "nan": ("the score{column} is NaN", "NaN cannot be ordered; remove the document, or give it a score"),
    "id": ("an id must be {id}, found {text}{position}", "give ids as text, whole numbers, bytes, UUIDs or paths"),
    "empty": ("the id in column `{text}` is empty", ""),
    "object": ("expected an object, found {text}", ""),
    "syntax": ("{sentence}", ""),
    "quote": ("{sentence}", "quotes are searched as they are, then up to white space; give offsets"),
    "collision": (
        "different ids are the same text: {text}",
        "ids are compared as text; give all of them the same type",
    ),
    "duplicate": (
        "document `{text}` appears twice for query `{query}`{first}",
        "a document can occur only once in a ranking; "
        '--duplicates best, or duplicates="best" in Python, keeps one of the rows',
    ),
    "conflict": (
        "document `{text}` already has another grade for query `{query}`{first}",
        "keep one grade for each query, iteration and document",
    ),
    "fields": ("expected {text} fields as in the first line, found {other}", ""),
    "binary": ("the line contains a NUL byte; this is not a text file", ""),  # the supported formats; see `_hint`
    "long": ("the line is longer than 1 MiB; this is probably not a text file", ""),
}


def _sentence(location: Location, fault: Fault) -> str:
    text, other, is_text = quotable(fault.text), fault.other, fault.text[:1] in (b"'", b'"')
    return _KINDS[fault.kind][0].format(
        text=text,
        sentence=fault.text.decode("utf-8", "backslashreplace"),
        other=other,
        query=quotable(fault.query),
        line=quotable(fault.text.strip()),
        columns=TREC_COLUMNS[location.kind],
        column=f" in column `{quotable(location.score_column)}`" if location.score_column else "",
        # Outside of text files the value is a ``repr`` and has its own quotes.
        value=text if location.literals or location.unit != "line" else f'"{text}"',
        id="text that UTF-8 can encode" if is_text else "text or a whole number",
        position=f" at position {other}" if other else "",
        first=f", first in {location.unit} {other}" if other and location.unit != "entry" else "",
    )


class FaultList:
    """The faults with the lowest lines, as many as an error lists, and the number of all."""

    def __init__(self, faults: Iterable[RawFault] = (), total: int | None = None) -> None:
        self.total = 0
        self._faults: list[Fault] = []
        self._most = max_faults()
        self.add(faults, total)

    def add(self, faults: Iterable[RawFault], total: int | None = None) -> None:
        """Add faults; ``total`` counts all of them, if these are only the first."""
        records = [Fault(*fault) for fault in faults]
        self.total += len(records) if total is None else total
        self._faults += records
        if len(self._faults) > 4 * self._most:
            self._faults = self.first

    @property
    def first(self) -> list[Fault]:
        return sorted(self._faults, key=lambda fault: fault.line)[: self._most]

    def raise_if_any(self, location: Location, document_at: Callable[[int], str] = lambda line: "") -> None:
        """Raise all faults as one error, if there are any."""
        if self.total:
            raise input_error(self.first, self.total, location, document_at)


def input_error(
    faults: Sequence[RawFault],
    total: int,
    location: Location,
    document_at: Callable[[int], str] = lambda line: "",
) -> InputError:
    """All faults as one error; ``document_at`` gives the document of an entry of a dict."""
    records = [Fault(*fault) for fault in faults]
    sentences = []
    for fault in records:
        in_sentence = fault.kind in ("duplicate", "conflict") or not fault.query  # the sentence names the query
        query = b"" if in_sentence else fault.query
        document = "" if in_sentence or fault.kind == "id" else document_at(fault.line)
        sentences.append(location.prefix(fault.line, query, document) + _sentence(location, fault))
    kinds, hint = frozenset(fault.kind for fault in records), _hint(records, location)
    if hint.startswith(OTHER_FILE) and max_faults() == InputError.SHOWN:
        sentences = sentences[:2]  # every line has the same fault
    return InputError(sentences, total=total, hint=hint, kinds=kinds)


OTHER_FILE = "this looks like "


def _hint(faults: Sequence[Fault], location: Location) -> str:
    kinds = {fault.kind for fault in faults}
    if len(kinds) != 1:
        return ""
    if kinds == {"duplicate"} and not location.source_name:
        return 'a document can occur only once in a ranking; duplicates="first" or duplicates="best" keeps one of them'
    if kinds == {"id"}:
        return _id_hint(faults[0], location)
    if kinds in ({"score"}, {"grade"}) and not location.source_name:
        kind, value = faults[0].kind, faults[0].text.lower()
        if _numeric([value]) or value in (b"none", b"null"):
            return f"give the document a {kind}, or leave it out"
        return "give grades as numbers, such as 0 and 1" if kind == "grade" else "convert scores with float()"
    if kinds <= {"binary", "long"}:
        return supported_formats(location.kind)
    if kinds != {"columns"}:
        return _KINDS[kinds.pop()][1]
    widths = {fault.other for fault in faults}
    text = faults[0].text
    if location.kind == "run" and widths == {4}:
        return OTHER_FILE + "qrels; give the judgments first, then the runs"
    if location.kind == "qrels" and widths == {6}:
        return OTHER_FILE + "a run; give the judgments first, then the runs"
    if location.kind == "run" and widths == {5} and _numeric(text.split()[-1:]):
        return "the run tag is missing; add a name for the run at the end of each line"
    if b"," in text and max(widths) < 4:
        return OTHER_FILE + "CSV; use the extension .csv and name the columns in the first line"
    return ""


def _id_hint(fault: Fault, location: Location) -> str:
    """What to do about a value that is not an id: a missing one, a number with a fraction, broken text, or another."""
    value = fault.text.partition(b" in column ")[0]
    if value in (b"None", b"null", b"nan"):
        return "leave it out, or give it an id"
    if value[:1] in (b"'", b'"'):
        return "remove lone surrogates from the text"
    if not _numeric([value]):
        return _KINDS["id"][1]
    if location.unit == "row":
        return "convert the column to text or whole numbers first"
    if not fault.query:
        return _KINDS["id"][1]
    second = "score" if location.kind == "run" else "grade"
    return f"give text or whole numbers as ids; a {second} comes second, as in (document, {second})"


def _numeric(texts: Iterable[bytes]) -> bool:
    try:
        return bool([float(text) for text in texts])
    except ValueError:
        return False
