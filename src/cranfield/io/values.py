"""Values: ids as text, and numbers. Every reader asks here, so that all follow one rule.

Whole numbers, bytes, UUIDs and paths are compared as text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from cranfield import native
from cranfield.data import Integers, Passages, Strings
from cranfield.errors import InputError, check_choice, reading_objects
from cranfield.io.faults import Fault, Location, fault_text, input_error
from cranfield.io.streams import BOM
from cranfield.wording import NO_BYTE

NUMBER = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)"
_NUMBER = re.compile(rf"\s*{NUMBER}\s*", re.ASCII | re.IGNORECASE)
MAX_NUMBER = 1e100  # larger costs, weights and scores, and costs below its inverse, may overflow in sums or underflow


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, NA, or the text "", "NaN" or "null"."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan", "null")
    if value is None or _is_na(value):  # NA is neither equal to itself nor unequal
        return True
    try:
        unequal = value != value  # of an array, an array
    except ArithmeticError:  # a signaling NaN of `Decimal`
        return False
    return type(unequal).__name__ in ("bool", "bool_") and bool(unequal)


def _is_na(value: Any) -> bool:
    """Whether this is the missing value of pandas, for numbers or for times; by name, because few programs use it."""
    return type(value).__name__ in ("NAType", "NaTType")


def number(value: Any, *, text: bool = False) -> float | None:
    """A value as a number; None if it is none, or is missing.

    Numbers of every type are numbers: Python's, NumPy's, `Decimal`, `Fraction`, objects with ``__float__``, and True
    and False, which are 1 and 0. ``text``: text is a number, too, if it looks like one, as in files of text.

    >>> number("0.5"), number("0.5", text=True), number(True), number(None)
    (None, 0.5, 1.0, None)
    """
    if isinstance(value, str | bytes | bytearray | memoryview):
        return float(value) if text and isinstance(value, str) and _NUMBER.fullmatch(value) else None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def is_scalar(value: Any) -> bool:
    """Whether a value is one value, as a score is, and not a ranking, a run or a table."""
    if value is None or isinstance(value, str | bytes | bytearray | memoryview | complex) or _is_na(value):
        return True
    if (dimensions := getattr(value, "ndim", None)) is not None:
        return bool(dimensions == 0)
    return hasattr(value, "__float__") and not hasattr(value, "__iter__")


def id_text(value: Any) -> str | None:
    """An id as text; None if the value is not an id.

    >>> id_text(7), id_text(b"d7"), id_text(7.0)
    ('7', 'd7', None)
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer):
        with reading_objects():
            return None if isinstance(value, bool) else str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    return str(value) if _is_uuid(value) else None


def is_id(value: Any) -> bool:
    """Whether the value can be an id."""
    return id_text(value) is not None


def is_encodable(text: str) -> bool:
    """Whether UTF-8 can encode a text: the only surrogates are those that stand for bytes."""
    return NO_BYTE.search(text) is None


def _is_uuid(value: Any) -> bool:
    # By name: few programs use UUIDs, and their module takes a while to load.
    return any(kind.__module__ == "uuid" and kind.__name__ == "UUID" for kind in type(value).__mro__)


def texts_of(values: Collection[Any], query: str, location: Location, *, encodable: bool = False) -> list[str]:
    """Ids as text; an error for values that are no ids, and for different ids that are the same text.

    ``encodable``: refuse text that UTF-8 cannot encode; otherwise others report it.
    """
    kinds = set(map(type, values))
    if kinds <= {str} and not (encodable and not is_encodable("".join(values))):
        return list(values)
    if kinds == {int}:
        with reading_objects():
            return list(map(str, values))
    texts = [id_text(value) for value in values]
    faults = [
        Fault(0, "id", fault_text(query), fault_text(repr(value))[:80], position if query else 0)
        for position, (value, text) in enumerate(zip(values, texts, strict=True), 1)
        if text is None or (encodable and not is_encodable(text))
    ]
    present = [text for text in texts if text is not None]
    if not faults and len(kinds) > 1:
        faults = _collisions(list(values), present, query)
    if faults:
        raise input_error(faults[:1], 1, location)  # the others are likely of the same kind
    return present


def by_text(source: Mapping[Any, Any], what: str) -> dict[str, Any]:
    """A dict with ids as keys, as text; the same errors as `texts_of`. ``what``: what messages call it.

    >>> by_text({7: 0.5, b"d8": 1}, "costs")
    {'7': 0.5, 'd8': 1}
    """
    texts = texts_of(source, "", Location(what, "qrels", "entry"), encodable=True)
    return dict(zip(texts, source.values(), strict=True))


def is_collision(first: Any, other: Any) -> bool:
    """Whether two ids with the same text are different ones, such as 1 and "1"."""
    return type(first) is not type(other) and bool(first != other)


def _collisions(values: Sequence[Any], texts: Sequence[str], query: str) -> list[Fault]:
    first: dict[str, Any] = {}
    faults = []
    for value, text in zip(values, texts, strict=True):
        other = first.setdefault(text, value)
        if is_collision(other, value):
            faults.append(Fault(0, "collision", fault_text(query), fault_text(f"{other!r} and {value!r}")[:80], 0))
    return faults


def is_marked(ids: Strings) -> bool:
    """Whether an id begins with a byte order mark."""
    begin, data = ids.offsets[:-1][np.diff(ids.offsets) >= len(BOM)], ids.data
    return any(bytes(data[at : at + len(BOM)]) == BOM for at in begin[data[begin] == BOM[0]].tolist())


def check_marks(queries: Strings, source_name: str) -> None:
    """Raise if the id of a query in a file begins with a byte order mark: it would be another query."""
    if is_marked(queries):
        raise InputError(
            [f"{source_name}: the id of a query begins with a byte order mark"],
            hint="files with such marks were joined; remove the mark (U+FEFF) from all lines but the first",
        )


Duplicates = Literal["error", "first", "best"]
DuplicateRule = Annotated[
    Duplicates,
    "What to do if a document appears twice for a query: report an error, or keep the first row or the row with the "
    "best score.",
]
DUPLICATES: tuple[Duplicates, ...] = ("error", "first", "best")


def check_duplicates(duplicates: str) -> None:
    """Raise if this is not a policy for documents that appear twice."""
    check_choice("duplicates", duplicates, DUPLICATES)


def first_rows(group: Integers, ids: Strings) -> Integers:
    """For each row the first row with the same group and the same id, usually the row itself.

    Groups are numbered from 0, with no number above that of the last row.
    """
    rows: Integers = native.first_rows(group, (ids.offsets, ids.data))
    return rows


def codes_of(ids: Strings) -> tuple[Strings, Integers]:
    """The distinct strings in order of appearance, and for each row the index of its string."""
    first = first_rows(np.zeros(len(ids), np.int64), ids)
    is_first = first == np.arange(len(first))
    return ids.take(np.flatnonzero(is_first)), (np.cumsum(is_first) - 1)[first]


def passage_ids(passages: Passages) -> Strings:
    """An id for each passage: the document, a colon, and both offsets, as in ``d7:120-320``."""
    names = passages.names.offsets, passages.names.data
    columns = map(np.ascontiguousarray, (passages.document, passages.start, passages.end))
    return Strings(*native.name_passages(names, *columns))
