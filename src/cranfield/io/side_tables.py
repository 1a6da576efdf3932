"""Side tables: costs, weights of intents, preferences, judgments by group, samples of judgments, groups of runs.

Each is a dict, a table with names of columns (a file, a frame, records), or lines of text; all are read by `read_rows`,
with a location for each row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from cranfield.data import Booleans, Integers, Judgments, PreferenceJudgments, Strings
from cranfield.errors import InputError, UsageError, reading_objects
from cranfield.io.columns import (
    COLUMN_NAMES,
    MAX_NUMBER,
    Columns,
    by_text,
    id_text,
    is_missing,
    normalise_name,
    quantity,
)
from cranfield.io.faults import Location, quotable
from cranfield.io.streams import Stream, is_stream, open_stream
from cranfield.io.tables import qrels_from_dict
from cranfield.wording import NO_BYTE


@dataclass(frozen=True)
class SideTable:
    """A kind of side table; the last of its ``columns`` is the value.

    In a dict the other columns are keys, ``{query: {document: cost}}``; with ``lists``, only the first one is. A line
    may have the ``optional`` column, too. ``what``: what messages call the table.
    """

    what: str
    columns: tuple[str, ...]
    optional: str = ""
    lists: bool = False

    @property
    def shape(self) -> str:
        """The dict, as messages show it."""
        return _nested(self.columns[:1], f"[{self.row}, ...]") if self.lists else _nested(self.columns)

    @property
    def row(self) -> str:
        """A row of the lists, as messages show it."""
        return f"[{', '.join(self.columns[1:])}]"


def _nested(columns: Sequence[str], inner: str = "") -> str:
    """A nested dict with these columns as keys, as messages show it.

    >>> _nested(("query", "document", "cost"))
    '{query: {document: cost}}'
    """
    *keys, last = columns if not inner else (*columns, inner)
    for key in reversed(keys):
        last = f"{{{key}: {last}}}"
    return last


# Usual names of the columns of tables; those of the other roles are their own.
USUAL_NAMES: dict[str, tuple[str, ...]] = {
    **{role: COLUMN_NAMES[role] for role in ("query", "grade")},
    "subtopic": COLUMN_NAMES["iteration"],
    "chunk": ("chunk", "chunk_id", "passage", "passage_id", "from"),
    "document": ("document", *COLUMN_NAMES["document"], "source", "to"),
}

# The fault of a row, "" if it has none, from its location and its values; it may also keep the values.
Check = Callable[..., str]
Row = tuple[str, tuple[Any, ...], str]  # the location, for messages; the values; what is wrong with the row, or ""


@reading_objects()
def read_rows(
    source: Any, table: SideTable, check: Check, *, text: SideTable | None = None, hint: str = ""
) -> tuple[str, str]:
    """Read a dict, a table, or a file with either or with lines of text; all faults are one error, in order.

    Returns what results call the source, and what messages call it. ``text``: the columns of lines, if they are others.
    ``hint``: what to do about faults that ``check`` finds.
    """
    from cranfield.io.named_tables import read_table

    text = text or table
    name = source_name = table.what
    if is_stream(source):
        source = open_stream(source, table.what)
        name, source_name = source.name, source.source_name
    # Lines of queries have no names, whatever the file is called, unless their first line names the query.
    wanted = f"give {table.shape}, or a file with lines: {' '.join(text.columns)}"
    given = read_table(source, table.what, has_names=text.columns[0] != "query", hint=wanted)
    if isinstance(given, Mapping):
        rows = _rows_of_mapping(given, source_name, table)
    else:
        rows = _rows_of_text(given, text) if isinstance(given, Stream) else _rows_of_table(given, table)
    _check_rows(rows, check, hint)
    return name, source_name


def _check_rows(rows: Iterable[Row], check: Check, hint: str = "") -> None:
    faults, checked = [], False
    for location, values, problem in rows:
        if not problem and any(isinstance(value, str) and NO_BYTE.search(value) for value in values):
            problem = "a name must be text that UTF-8 can encode"
        if fault := problem or check(location, *values):
            faults.append(f"{location}: {fault}")
            checked = checked or not problem
    if faults:
        raise InputError(faults, hint=hint if checked else "")


def _rows_of_table(columns: Columns, table: SideTable) -> Iterator[Row]:
    chosen: dict[str, str] = {}
    for role in (*table.columns, *(("type",) if table.optional else ())):
        taken = set(map(normalise_name, chosen.values()))
        name = columns.usual([name for name in USUAL_NAMES.get(role, (role,)) if name not in taken])
        chosen |= {} if name is None else {role: name}
    columns.check_roles(chosen, **dict.fromkeys(table.columns, f"name the columns {', '.join(table.columns)}"))
    named = list(chosen.values())
    width = len(table.columns)
    for where, row in columns.rows():
        *ids, value = (row[name] for name in named[:width])
        texts = [None if is_missing(given) else id_text(given) for given in ids]
        wrong = next((i for i, text in enumerate(texts) if text is None), None)
        problem = "" if wrong is None else f"`{quotable(str(ids[wrong]))}` is not the id of a {table.columns[wrong]}"
        more = [row[name] for name in named[width:] if not is_missing(row[name])]
        yield where, (*texts, value, *more), problem


def _rows_of_text(stream: Stream, table: SideTable) -> Iterator[Row]:
    width = len(table.columns)
    several = f"{width} or {width + 1}" if table.optional else f"{width}"
    expected = " ".join([*table.columns, *([f"[{table.optional}]"] if table.optional else [])])
    for at, columns, line in stream.columns():
        problem = ""
        if len(columns) != width and not (table.optional and len(columns) == width + 1):
            problem_line = f'found {len(columns)}: "{quotable(line.strip())}"'
            problem = f"expected {several} columns ({expected}), {problem_line}"
        yield f"{stream.source_name}:{at}", tuple(columns), problem


def _rows_of_mapping(
    source: Mapping[Any, Any], location: str, table: SideTable, keys: tuple[str, ...] = ()
) -> Iterator[Row]:
    for key, inner in by_text(source, location).items():
        where = f"{location}{',' if keys else ':'} {table.columns[len(keys)]} `{quotable(key)}`"
        path = (*keys, key)
        if table.lists and (isinstance(inner, str) or not isinstance(inner, Iterable)):
            yield where, path, f"expected a list of {table.row}, found {type(inner).__name__}"
        elif table.lists:
            for at, row in enumerate(inner, 1):
                is_row = isinstance(row, Sequence) and not isinstance(row, str) and len(row) == len(table.columns) - 1
                problem = "" if is_row else f"expected {table.row}, found {row!r}"
                if is_row and (wrong := next((id for id in row[:-1] if id_text(id) is None), row)) is not row:
                    problem = f"an id must be text or a whole number, found {wrong!r:.60}"
                yield f"{where}, row {at}", (*path, *row) if is_row else path, problem
        elif len(path) == len(table.columns) - 1:
            yield where, (*path, inner), ""
        elif isinstance(inner, Mapping):
            yield from _rows_of_mapping(inner, where, table, path)
        else:
            expected = _nested(table.columns[len(path) :])
            yield where, path, f"expected {expected}, found {type(inner).__name__}"


def _pair(member: str, name: str, query: str) -> str:
    return f"{member} `{quotable(name)}` of query `{quotable(query)}`"


# Costs

COSTS = SideTable("costs", ("query", "document", "cost"))


def read_costs(source: Any) -> dict[str, dict[str, float]]:
    """The cost of each document of each query: a positive number, such as the seconds that it takes to read it."""
    costs: dict[str, dict[str, float]] = {}

    def check(_: str, query: str, document: str, given: Any) -> str:
        cost, of_query = quantity(given), costs.setdefault(query, {})
        if not 1 / MAX_NUMBER <= cost <= MAX_NUMBER:
            return f'the cost is not a positive number: "{quotable(str(given))}"'
        if of_query.setdefault(document, cost) != cost:
            return f"{_pair('document', document, query)} already has the cost {of_query[document]:g}"
        return ""

    read_rows(source, COSTS, check)
    return costs


# Chunks of documents

CHUNKS = SideTable("map of documents", ("chunk", "document"))
DocumentMap = Callable[[str], str | None]  # the source document of a chunk; None if it is not in the map


def read_document_map(source: Any) -> DocumentMap:
    """The source document of each chunk, from ``{chunk: document}``, a function, a table, or lines `chunk document`."""
    if callable(source) and not is_stream(source):
        return partial(_mapped_by, source)
    documents: dict[str, str] = {}

    def check(_: str, chunk: Any, document: Any) -> str:
        chunk_id, name = id_text(chunk), id_text(document)
        if not chunk_id or not name:
            return f"expected the id of a document, found {quotable(repr(document if chunk_id else chunk))}"
        if documents.setdefault(chunk_id, name) != name:
            return f"chunk `{quotable(chunk_id)}` already belongs to document `{quotable(documents[chunk_id])}`"
        return ""

    read_rows(source, CHUNKS, check)
    return documents.get


def _mapped_by(function: Callable[[str], Any], chunk: str) -> str:
    document = function(chunk)
    name = id_text(document)
    if not name:
        raise InputError([f"map of documents: chunk `{quotable(chunk)}`: expected an id, found {document!r:.60}"])
    return name


# Weights and types of intents

INTENTS = SideTable("intents", ("query", "subtopic", "weight"), optional="inf|nav")
INTENT_TYPES = SideTable("types", ("query", "subtopic", "type"))
TYPES = ("inf", "nav")  # informational, navigational


@dataclass(frozen=True)
class Weight:
    """The weight of a subtopic, and the type of the intent; ``location`` is where it was read, for messages."""

    location: str
    query: str
    subtopic: str
    value: float
    type: str = "inf"


def read_types(source: Any) -> dict[tuple[str, str], str]:
    """The type of each (query, subtopic), "inf" or "nav"; a file of intents may have it, too."""
    types: dict[tuple[str, str], str] = {}

    def check(_: str, query: str, subtopic: str, given: Any) -> str:
        types[query, subtopic] = given
        return "" if given in TYPES else _type_fault(given)

    read_rows(source, INTENT_TYPES, check)
    return types


def _type_fault(given: Any) -> str:
    return f'the type of an intent must be inf or nav, not "{quotable(str(given))}"'


def read_weights(source: Any) -> tuple[str, list[Weight]]:
    """The name of the source for messages, and its weights in input order, each a number of at least 0."""
    weights: list[Weight] = []
    first: dict[tuple[str, str], str] = {}

    def check(location: str, query: str, subtopic: str, given: Any, intent_type: str = "inf") -> str:
        value, earlier = quantity(given), first.setdefault((query, subtopic), location)
        if intent_type not in TYPES:
            return _type_fault(intent_type)
        if not math.isfinite(value):
            return f'the weight is not a finite number: "{quotable(str(given))}"'
        if value < 0:
            return f"the weight is negative: {value:g}"
        if 0 < value < 1 / MAX_NUMBER or value > MAX_NUMBER:
            return f"the weight must be 0 or between 1e-100 and 1e100: {value:g}"
        if earlier != location:
            return f"{_pair('subtopic', subtopic, query)} already has a weight, from {earlier}"
        weights.append(Weight(location, query, subtopic, value, intent_type))
        return ""

    hint = "a weight is a number of at least 0, such as the share of readers who want the subtopic"
    return read_rows(source, INTENTS, check, hint=hint)[1], weights


# Preferences and judgments by group, in the formats of trec_eval

PREFS = SideTable("prefs", ("query", "group", "subgroup", "document", "level"), lists=True)
QRELS_PREFS = SideTable("prefs", ("query", "group", "document", "level"))  # one subgroup in each group
QRELS_JG = SideTable("groups", ("query", "group", "document", "grade"))  # a group is an assessor


@dataclass(frozen=True)
class PreferenceLine:
    """The level, or grade, of a document in a subgroup; ``location`` is where it was read, for messages."""

    location: str
    query: str
    group: str
    subgroup: str
    document: str
    level: float


def read_preferences(source: Any, format: Literal["prefs", "qrels_prefs"] = "prefs") -> Judgments:
    """Judgments that are preferences.

    ``source``: ``{query: [[group, subgroup, document, level], ...]}``, or a file; a text file is read in ``format``.
    """
    queries: dict[str, dict[str, list[PreferenceLine]]] = {}

    def check(location: str, *values: Any) -> str:
        line = _preference_line(location, values)
        queries.setdefault(line.query, {}).setdefault(line.group, []).append(line)
        return f"the level is negative: {line.level:g}" if line.level < 0 else _finite("level", values)

    name = read_rows(source, PREFS, check, text=PREFS if format == "prefs" else QRELS_PREFS)[0]
    return _preference_judgments(name, _given(queries, name))


def read_groups(source: Any) -> list[Judgments]:
    """Judgments by group, in layers: of the first group of each query by name, of the second one, and so on.

    ``source``: ``{query: {group: {document: grade}}}``, or a file in the format qrels_jg.
    """
    queries: dict[str, dict[str, dict[str, float]]] = {}

    def check(location: str, *values: Any) -> str:
        line = _preference_line(location, values)
        grades = queries.setdefault(line.query, {}).setdefault(line.group, {})
        first, problem = grades.setdefault(line.document, line.level), _finite("grade", values)
        if not problem and first != line.level:
            problem = f"{_pair('document', line.document, line.query)} already has grade {first:g} in this group"
        return problem

    name = read_rows(source, QRELS_JG, check)[0]
    layers: list[dict[str, dict[str, float]]] = []
    for query, groups in _given(queries, name).items():
        for layer, group in enumerate(sorted(groups, key=_bytes)):
            if layer == len(layers):
                layers.append({})
            layers[layer][query] = groups[group]
    return [qrels_from_dict(layer, name, Location("", "qrels", "entry")) for layer in layers]


def _given(queries: dict[str, Any], name: str) -> dict[str, Any]:
    if not queries:
        raise InputError([f"{name}: no judgments"])
    return queries


def _preference_line(location: str, values: Sequence[Any]) -> PreferenceLine:
    query, group, *subgroup, document, given = values
    names = (query, group, subgroup[0] if subgroup else "", document)
    query, group, within, document = (id_text(name) or "" for name in names)
    return PreferenceLine(location, query, group, within, document, quantity(given))


def _finite(what: str, values: Sequence[Any]) -> str:
    """The fault of a last value that is not a finite number."""
    given = values[-1]
    return "" if math.isfinite(quantity(given)) else f'the {what} is not a finite number: "{quotable(str(given))}"'


# Preference judgments: which of two documents a judge prefers, instead of a grade for each.
#
# A line has a query, a group (a judge, or an information need), a subgroup, a document and a level. In one subgroup a
# document of a higher level is preferred to each of a lower level. The preferences of a group are those of all its
# subgroups and what follows from them: if a is preferred to b and b to c, then a to c. Groups may contradict each
# other.


class _Group(NamedTuple):
    """The documents of one group, whether their levels are above 0, its pairs, and whether it has one subgroup."""

    member: Integers
    relevant: Booleans
    better: Integers
    worse: Integers
    single: bool


def _preference_judgments(name: str, queries: Mapping[str, Mapping[str, Sequence[PreferenceLine]]]) -> Judgments:
    """Judgments with preferences; the grade of a document is its highest level."""
    faults: list[str] = []
    grade: dict[tuple[str, str], float] = {}
    groups: list[_Group] = []
    number, share = [np.zeros(0, np.int64)], [np.zeros(0)]
    begin, first_pair, first_group = [0], [0], [0]
    for query, of_query in queries.items():
        levels: dict[str, float] = {}
        for line in (line for of_group in of_query.values() for line in of_group):
            levels[line.document] = max(levels.get(line.document, 0.0), line.level)
        # Bytewise: the order of documents that are not retrieved.
        rows = {document: len(grade) + i for i, document in enumerate(sorted(levels, key=_bytes))}
        grade |= {(query, document): levels[document] for document in rows}
        new = [_group(of_query[name], rows, faults) for name in sorted(of_query, key=_bytes)]
        better, worse = np.concatenate([[group.better, group.worse] for group in new], axis=1)
        unordered = np.stack([np.minimum(better, worse), np.maximum(better, worse)], axis=1)
        _, which, count = np.unique(unordered, axis=0, return_inverse=True, return_counts=True)
        share.append(1 / count[which.reshape(-1)])
        number.append(np.repeat(np.arange(len(new)) + len(groups), [len(group.better) for group in new]))
        groups += new
        begin.append(len(grade))
        first_pair.append(first_pair[-1] + len(better))
        first_group.append(len(groups))
    if faults:
        raise InputError(faults)
    member, relevant, better, worse = (
        np.concatenate([np.zeros(0, dtype), *(group[column] for group in groups)])
        for column, dtype in enumerate((np.int64, bool, np.int64, np.int64))
    )
    preferences = PreferenceJudgments(
        np.array(first_pair),
        better,
        worse,
        np.concatenate(number),
        np.concatenate(share),
        np.array(first_group),
        np.cumsum([0, *(len(group.member) for group in groups)]),
        member,
        relevant,
        np.array([group.single for group in groups], bool),
    )
    documents, grades = Strings.of([document for _, document in grade]), np.array(list(grade.values()), np.float64)
    return Judgments(name, Strings.of(queries), np.array(begin), documents, grades, preferences=preferences)


def _group(lines: Sequence[PreferenceLine], rows: dict[str, int], faults: list[str]) -> _Group:
    number = {document: i for i, document in enumerate(sorted({line.document for line in lines}, key=_bytes))}
    subgroups: dict[str, dict[int, float]] = {}
    relevant: dict[int, bool] = {}
    for line in lines:
        document = number[line.document]
        levels = subgroups.setdefault(line.subgroup, {})
        what = f"{line.location}: document `{quotable(line.document)}` of query `{quotable(line.query)}`"
        if levels.setdefault(document, line.level) != line.level:
            faults.append(f"{what} has two levels, {levels[document]:g} and {line.level:g}, in one subgroup")
        elif relevant.setdefault(document, line.level > 0) != (line.level > 0):
            faults.append(f"{what} has level 0 in one subgroup of group `{quotable(line.group)}`, not in another")
    preferred = np.zeros((len(number), len(number)), bool)
    for levels in subgroups.values():
        members, level = np.array(list(levels)), np.array(list(levels.values()))
        preferred[np.ix_(members, members)] |= level[:, None] > level
    if len(subgroups) > 1:
        preferred = _closed(preferred)
        if preferred.diagonal().any():
            first = list(number)[int(np.flatnonzero(preferred.diagonal())[0])]
            faults.append(
                f"{lines[0].location}: the preferences of group `{quotable(lines[0].group)}` of query "
                f"`{quotable(lines[0].query)}` form a cycle through document `{quotable(first)}`"
            )
    row = np.array([rows[document] for document in number])
    better, worse = np.nonzero(preferred)
    levels_above_0 = np.array([relevant[i] for i in range(len(number))])
    return _Group(row, levels_above_0, row[better], row[worse], len(subgroups) == 1)


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _closed(preferred: Booleans) -> Booleans:
    """The transitive closure."""
    while True:
        longer = preferred | (preferred.astype(np.float32) @ preferred.astype(np.float32) > 0)
        if (longer == preferred).all():
            return longer
        preferred = longer


# Groups of runs, or of other things


def read_run_groups(source: Any, member: str = "run", kind: str = "group") -> dict[str, str]:
    """The group of each run: ``{run: group}``, or lines ``run group``. Names of runs may contain spaces."""
    if isinstance(source, Mapping):
        return {name: str(group) for name, group in by_text(source, f"{kind}s").items()}
    if not is_stream(source):
        raise UsageError(
            f"cannot read {kind}s from {type(source).__name__}",
            hint=f"give {{{member}: {kind}}}, or a file with lines: {member} {kind}",
        )
    stream = open_stream(source, f"{kind}s")
    groups: dict[str, str] = {}
    first_line: dict[str, int] = {}

    def check(_: str, at: int, name: str, group: str) -> str:
        line = first_line.setdefault(name, at)
        if not name:
            return f"expected 2 columns ({member} {kind}), found 1: `{quotable(group)}`"
        if groups.setdefault(name, group) != group:
            return f"{member} `{quotable(name)}` already has another {kind}, in line {line}"
        return ""

    rows = (
        (f"{stream.source_name}:{at}", (at, line.strip().removesuffix(columns[-1]).strip(), columns[-1]), "")
        for at, columns, line in stream.columns()
    )
    _check_rows(rows, check)
    return groups
