"""The one place where faults become sentences: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from cranfield.errors import InputError

Fault = tuple[int, str, bytes, bytes, int]
What = Literal["run", "qrels"]
Unit = Literal["line", "row", "entry"]  # of text, of a table, of nested dicts

SHOWN = 60
COLUMNS = {"run": "6 columns (query Q0 document rank score tag)", "qrels": "4 columns (query iteration document grade)"}


@dataclass(frozen=True, eq=False)
class Place:
    """What was being read, and how to say where in it something is."""

    name: str  # the file; "" for objects in memory
    what: What
    unit: Unit = "line"
    score_from: str = ""  # the column that scores or grades are in, where the name says something

    def at(self, line: int, query: bytes, document: str) -> str:
        """Where a fault is, as the beginning of its sentence."""
        if self.unit == "line":
            return f"{self.name}:{line}: " if line else f"{self.name}: "
        words = (("query", shown(query)), ("document", document if self.unit == "entry" else ""))
        parts = [f"row {line}"] if line and self.unit == "row" else []
        where = ", ".join([*parts, *(f"{word} `{name}`" for word, name in words if name)])
        where += ": " if where else ""
        return f"{self.name}: {where}" if self.name else where


def shown(text: bytes | str) -> str:
    """Text fit to be printed: no control characters, no bytes that are no text, not too long."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    plain = "".join(c if c.isprintable() else _escape(c) for c in text)
    return plain if len(plain) <= SHOWN else plain[: SHOWN - 3] + "..."


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _columns(place: Place, fault: Fault) -> str:
    return f'expected {COLUMNS[place.what]}, found {fault[4]}: "{shown(fault[3].strip())}"'


def _score(place: Place, fault: Fault) -> str:
    return f"the score{_column(place)} is not a number: {_value(place, fault)}"


def _grade(place: Place, fault: Fault) -> str:
    return f"the grade{_column(place)} is not a finite number: {_value(place, fault)}"


def _column(place: Place) -> str:
    return f" in column `{shown(place.score_from)}`" if place.score_from else ""


def _rank(place: Place, fault: Fault) -> str:
    return f"the rank is not a number: {_value(place, fault)}"


def _value(place: Place, fault: Fault) -> str:
    """The offending value: outside of text files it is a ``repr`` and has the quotes that it needs."""
    return f'"{shown(fault[3])}"' if place.unit == "line" else shown(fault[3])


def _nan(place: Place, fault: Fault) -> str:
    return f"the score{_column(place)} is NaN"


def _id(place: Place, fault: Fault) -> str:
    return f"an id must be text, found {shown(fault[3])}"


def _duplicate(place: Place, fault: Fault) -> str:
    return f"document `{shown(fault[3])}` appears twice for query `{shown(fault[2])}`{_first(place, fault)}"


def _conflict(place: Place, fault: Fault) -> str:
    return (
        f"document `{shown(fault[3])}` is judged again for query `{shown(fault[2])}` "
        f"with another grade{_first(place, fault)}"
    )


def _first(place: Place, fault: Fault) -> str:
    return f", first in {place.unit} {fault[4]}" if fault[4] and place.unit != "entry" else ""


def _shape(place: Place, fault: Fault) -> str:
    expected = "{document: score}" if place.what == "run" else "{document: grade}"
    return f"expected {expected}, found {shown(fault[3])}"


def _fields(place: Place, fault: Fault) -> str:
    return f"expected {shown(fault[3])} fields as in the first line, found {fault[4]}"


def _binary(place: Place, fault: Fault) -> str:
    return "this is not text: there is a NUL byte in the line"


def _long(place: Place, fault: Fault) -> str:
    return "the line is longer than 1 MiB, so this is hardly a text file"


_FORMATS = "TREC text, JSON, CSV and Parquet are understood, plain or compressed with gzip, bzip2, xz or zstd"

# kind: the sentence, and what to do where all faults are of this kind
_KINDS: dict[str, tuple[Callable[[Place, Fault], str], str]] = {
    "columns": (_columns, ""),
    "score": (_score, ""),
    "grade": (_grade, ""),
    "rank": (_rank, "the order asked for is that of the rank column; order by score instead, or mend the ranks"),
    "nan": (_nan, "NaN has no place in an order; leave the document out, or give it a score"),
    "id": (_id, "turn ids into text before, as str() does"),
    "duplicate": (_duplicate, "a ranking holds a document once; keep one of them, most often the better one"),
    "conflict": (_conflict, "keep one grade for each query, iteration and document"),
    "shape": (_shape, ""),
    "fields": (_fields, ""),
    "binary": (_binary, _FORMATS),
    "long": (_long, _FORMATS),
}


def input_error(
    faults: Sequence[Fault], total: int, place: Place, documents: Callable[[int], str] = lambda line: ""
) -> InputError:
    """All faults as sentences; ``documents`` tells which document an entry of a dict is about."""
    sentences = []
    for fault in faults:
        line, kind, query, *_ = fault
        named = kind in ("duplicate", "conflict") or not query
        where = place.at(line, b"" if named else query, "" if named or kind == "id" else documents(line))
        sentences.append(where + _KINDS[kind][0](place, fault))
    return InputError(sentences, total=total, hint=_hint(faults, total, place))


def _hint(faults: Sequence[Fault], total: int, place: Place) -> str:
    kinds = {fault[1] for fault in faults}
    if len(kinds) != 1:
        return ""
    if kinds != {"columns"}:
        return _KINDS[kinds.pop()][1]
    found = {fault[4] for fault in faults}
    text = faults[0][3]
    if place.what == "run" and found == {4}:
        return "this looks like qrels; the judgments come first, then runs"
    if place.what == "qrels" and found == {6}:
        return "this looks like a run; the judgments come first, then runs"
    if place.what == "run" and found == {5} and _numeric(text.split()[-1:]):
        return "the tag is missing; put any word that names the run at the end of each line"
    if b"," in text and max(found) < 4:
        return "this looks like CSV; call the file .csv and let its first line name the columns"
    return ""


def _numeric(texts: Iterable[bytes]) -> bool:
    try:
        return bool([float(text) for text in texts])
    except ValueError:
        return False
