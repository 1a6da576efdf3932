"""Costs of documents: ``{query: {document: cost}}``, a JSON file of that, or lines ``query document cost``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from cranfield.errors import InputError, UsageError
from cranfield.io.faults import quotable
from cranfield.io.formats.json import is_json, parse_json
from cranfield.io.streams import Stream, is_stream, open_stream

Costs = dict[str, dict[str, float]]
Row = tuple[str, str, str, Any]  # location, query, document, cost
MAX_COST = 1e100  # larger costs may overflow in sums


def read_costs(source: Any) -> Costs:
    """The cost of each document of each query: a positive number, such as the seconds that it takes to read it."""
    if isinstance(source, Mapping):
        return _checked(_rows_of_mapping(source, "costs"))
    if not is_stream(source):
        raise UsageError(
            f"cannot read costs from {type(source).__name__}",
            hint="give {query: {document: cost}}, or a file with lines: query document cost",
        )
    stream = open_stream(source, "costs")
    if not is_json(stream):
        return _checked(_rows_of_text(stream))
    content = parse_json(stream)
    if not isinstance(content, Mapping):
        raise InputError([f"{stream.source_name}: expected {{query: {{document: cost}}}}, found rows"])
    return _checked(_rows_of_mapping(content, stream.source_name))


def _rows_of_mapping(source: Mapping[Any, Any], source_name: str) -> Iterator[Row]:
    for query, documents in source.items():
        location = f"{source_name}: query `{quotable(str(query))}`"
        if not isinstance(documents, Mapping):
            raise InputError([f"{location}: expected {{document: cost}}, found {type(documents).__name__}"])
        for document, cost in documents.items():
            yield f"{location}, document `{quotable(str(document))}`", str(query), str(document), cost


def _rows_of_text(stream: Stream) -> Iterator[Row]:
    faults = []
    for number, columns, line in stream.columns():
        location = f"{stream.source_name}:{number}"
        if len(columns) == 3:
            yield location, columns[0], columns[1], columns[2]
        else:
            found = f'found {len(columns)}: "{quotable(line.strip())}"'
            faults.append(f"{location}: expected 3 columns (query document cost), {found}")
    if faults:
        raise InputError(faults)


def _checked(rows: Iterator[Row]) -> Costs:
    costs: Costs = {}
    faults = []
    for location, query, document, given in rows:
        try:
            cost = math.nan if isinstance(given, bool) else float(given)
        except (TypeError, ValueError, OverflowError):
            cost = math.nan
        of_query = costs.setdefault(query, {})
        if not 1 / MAX_COST <= cost <= MAX_COST:
            faults.append(f'{location}: the cost is not a positive number: "{quotable(str(given))}"')
        elif of_query.setdefault(document, cost) != cost:
            pair = f"document `{quotable(document)}` of query `{quotable(query)}`"
            faults.append(f"{location}: {pair} already has the cost {of_query[document]:g}")
    if faults:
        raise InputError(faults)
    return costs
