"""Items: the table of all documents with their attributes, such as price, age or group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.data import Floats, Integers, Strings
from cranfield.errors import InputError, UsageError
from cranfield.io.faults import quotable
from cranfield.io.ids import by_text, first_rows, id_text
from cranfield.io.named_tables import NamedTable, is_missing, read_table
from cranfield.wording import did_you_mean, few

# Usual names of the column with the id, the most reliable ones first.
ITEM_COLUMNS = ("document_id", "item_id", "doc_id", "docid", "product_id", "document", "item", "doc", "_id", "id")


@dataclass(frozen=True, eq=False)
class Items:
    """All documents of a collection, each once, and the values of each attribute; None where there is none."""

    name: str
    ids: Strings
    attributes: Mapping[str, Sequence[Any]]
    _numbers: dict[str, Floats] = field(default_factory=dict, init=False, repr=False)

    def rows(self, documents: Strings) -> Integers:
        """The row of each of these documents; -1 if it is not in the table."""
        every = Strings.concatenate([self.ids, documents])
        first = first_rows(np.zeros(len(every), np.int64), every)[len(self.ids) :]
        return np.where(first < len(self.ids), first, -1)

    def column(self, attribute: str) -> Sequence[Any]:
        """The values of an attribute; an error if there is no such attribute."""
        if attribute not in self.attributes:
            names = few(list(self.attributes), 10)
            hint = did_you_mean(attribute, list(self.attributes), f"the attributes are {names}" if names else "")
            raise InputError([f"{self.name}: no attribute `{quotable(attribute)}`"], hint=hint)
        return self.attributes[attribute]

    def numbers(self, attribute: str) -> Floats:
        """The values of an attribute as numbers; NaN where there is none."""
        if attribute not in self._numbers:
            values = self.column(attribute)
            numbers = np.array([np.nan if is_missing(value) else _number(value) for value in values], np.float64)
            wrong = [row for row in np.flatnonzero(~np.isfinite(numbers)).tolist() if not is_missing(values[row])]
            if wrong:
                faults = [
                    f"{self.name}: the {attribute} of document `{quotable(self.ids[row])}` is not a finite number: "
                    f'"{quotable(str(values[row]))}"'
                    for row in wrong
                ]
                raise InputError(faults)
            self._numbers[attribute] = numbers
        return self._numbers[attribute]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.inf


def read_items(source: Any) -> Items:
    """The items of ``{document: {attribute: value}}``, or of a table with a column for the document."""
    if isinstance(source, Items):
        return source
    table = read_table(source, "items")
    if isinstance(table, NamedTable):
        return _of_table(table)
    if not isinstance(table, Mapping):
        raise UsageError("items must be a table with names of columns, such as document,price")
    rows = by_text(table, "items")
    if wrong := next((name for name, about in rows.items() if not isinstance(about, Mapping)), None):
        raise InputError([f"items: document `{quotable(wrong)}`: expected {{attribute: value}}"])
    names = dict.fromkeys(str(name) for about in rows.values() for name in about)
    attributes = {name: [about.get(name) for about in rows.values()] for name in names}
    return _checked(Items("items", Strings.of(rows), attributes))


def _of_table(table: NamedTable) -> Items:
    document = table.column(ITEM_COLUMNS)
    if document is None:
        names = few([quotable(name) for name in table.columns], 10)
        message = f"{table.source_name}: no column for the document; the columns are {names}"
        raise InputError([message], hint="name it document")
    ids = [None if is_missing(value) else id_text(value) for value in table.columns[document]]
    known = [name for name in ids if name is not None]
    strings, rows = Strings.of(known), [row for row, name in enumerate(ids) if name is not None]
    first = first_rows(np.zeros(len(strings), np.int64), strings)
    repeated = np.flatnonzero(first != np.arange(len(first))).tolist()
    faults = [
        f"{table.place(row)}: `{quotable(str(table.columns[document][row]))}` is not the id of a document"
        for row, name in enumerate(ids)
        if name is None
    ]
    faults += [f"{table.place(rows[i])}: document `{quotable(known[i])}` appears twice" for i in repeated]
    if faults:
        raise InputError(faults, hint="the table has one row for each document")
    attributes = {name: values for name, values in table.columns.items() if name != document}
    return _checked(Items(table.source_name, strings, attributes))


def _checked(items: Items) -> Items:
    if not len(items.ids):
        raise InputError([f"{items.name}: no documents"])
    return items
