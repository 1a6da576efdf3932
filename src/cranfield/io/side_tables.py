"""Side tables: costs, weights of intents, preferences, judgments by group, samples of judgments, groups of runs.

Each is a dict, a table with names of columns (a file, a frame, records), or lines of text; all are read by `read_rows`,
with a location for each row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from cranfield.data import Integers, Judgments, JudgmentSample, Strings
from cranfield.errors import InputError, UsageError, reading_objects
from cranfield.io.columns import COLUMN_NAMES, Columns, normalise_name
from cranfield.io.faults import Fault, fault_text, quotable
from cranfield.io.streams import Stream, is_stream, open_stream
from cranfield.io.tables import read_rows as read_table_rows
from cranfield.io.values import MAX_NUMBER, by_text, id_text, is_missing, number
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


def _number(given: Any) -> float:
    """A number, which may be text; NaN for everything else. No quantity of these tables is a yes or no."""
    value = None if isinstance(given, bool) else number(given, text=True)
    return math.nan if value is None else value


def _pair(member: str, name: str, query: str) -> str:
    return f"{member} `{quotable(name)}` of query `{quotable(query)}`"


# Costs

COSTS = SideTable("costs", ("query", "document", "cost"))


def read_costs(source: Any) -> dict[str, dict[str, float]]:
    """The cost of each document of each query: a positive number, such as the seconds that it takes to read it."""
    costs: dict[str, dict[str, float]] = {}

    def check(_: str, query: str, document: str, given: Any) -> str:
        cost, of_query = _number(given), costs.setdefault(query, {})
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
        value, earlier = _number(given), first.setdefault((query, subtopic), location)
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


def read_preferences(
    source: Any, format: Literal["prefs", "qrels_prefs"] = "prefs"
) -> tuple[str, list[PreferenceLine]]:
    """The name of the source, and its lines.

    ``source``: ``{query: [[group, subgroup, document, level], ...]}``, or a file; a text file is read in ``format``.
    """
    lines: list[PreferenceLine] = []

    def check(location: str, *values: Any) -> str:
        line = _preference_line(location, values)
        lines.append(line)
        return f"the level is negative: {line.level:g}" if line.level < 0 else _finite("level", values)

    text = PREFS if format == "prefs" else QRELS_PREFS
    return read_rows(source, PREFS, check, text=text)[0], lines


def read_groups(source: Any) -> tuple[str, list[PreferenceLine]]:
    """The same for judgments by group: ``{query: {group: {document: grade}}}``, or a file in the format qrels_jg."""
    lines: dict[tuple[str, str, str], PreferenceLine] = {}

    def check(location: str, *values: Any) -> str:
        line = _preference_line(location, values)
        first = lines.setdefault((line.query, line.group, line.document), line)
        problem = _finite("grade", values)
        if not problem and first.level != line.level:
            problem = f"{_pair('document', line.document, line.query)} already has grade {first.level:g} in this group"
        return problem

    return read_rows(source, QRELS_JG, check)[0], list(lines.values())


def _preference_line(location: str, values: Sequence[Any]) -> PreferenceLine:
    query, group, *subgroup, document, given = values
    names = (query, group, subgroup[0] if subgroup else "", document)
    query, group, within, document = (id_text(name) or "" for name in names)
    return PreferenceLine(location, query, group, within, document, _number(given))


def _finite(what: str, values: Sequence[Any]) -> str:
    """The fault of a last value that is not a finite number."""
    given = values[-1]
    return "" if math.isfinite(_number(given)) else f'the {what} is not a finite number: "{quotable(str(given))}"'


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


# Samples of judgments

ByDocument = Mapping[str, Mapping[str, Any]]  # {query: {document: value}}
ITERATIONS = frozenset(("0", "Q0", "q0"))
METHODS = frozenset(("0", "1", "2", "4"))
SAMPLED = ("query", "Q0", "document", "stratum", "grade")  # the second one is no subtopic
PROBABILITIES = ("query", "document", "grade", "method", "probability")


@reading_objects()
def with_sample(
    judgments: Judgments,
    strata: ByDocument | None = None,
    inclusion: ByDocument | None = None,
    method: ByDocument | None = None,
) -> Judgments:
    """The judgments with the stratum, the inclusion probability and the method of each document.

    A probability of None is not known. A document without a stratum is an error.
    """
    if judgments.labels is not None or judgments.preferences is not None:
        raise UsageError("samples cannot be combined with subtopics or preferences")
    strata, inclusion, method = (
        _by_document(name, given, judgments)
        for name, given in (("strata", strata), ("inclusion", inclusion), ("method", method))
    )
    queries, documents = list(judgments.queries), list(judgments.documents)
    query_of = [queries[q] for q in np.repeat(np.arange(len(queries)), np.diff(judgments.begin)).tolist()]
    faults: list[str] = []

    def values(given: ByDocument | None) -> Iterator[tuple[int, Any]]:
        rows = zip(query_of, documents, strict=True) if given is not None else ()
        return enumerate((given or {}).get(query, {}).get(name) for query, name in rows)

    def add_fault(row: int, problem: str) -> None:
        faults.append(f"{judgments.name}: {_pair('document', documents[row], query_of[row])} {problem}")

    names, codes = [""] * len(documents), np.ones(len(documents), np.int64)
    probability = np.full(len(documents), np.nan)
    for row, stratum in values(strata):
        if stratum is None:
            add_fault(row, "has no stratum")
        names[row] = str(stratum)
    for row, code in values(method):
        if code is not None and str(code) not in METHODS:
            add_fault(row, f"has the method `{quotable(str(code))}`, not 0, 1, 2 or 4")
        elif code is not None:
            codes[row] = int(code)
    for row, value in values(inclusion):
        if value is None or value == "NA" or (isinstance(value, float) and math.isnan(value)):
            continue
        probability[row] = _number(value)
        if not 0 <= probability[row] <= 1:
            add_fault(row, f"has the probability {quotable(str(value))}, which is not between 0 and 1")
        elif probability[row] == 0 and judgments.grade[row] > 0 and codes[row] not in (0, 2):
            add_fault(row, "is relevant and has the probability 0: a document that cannot be drawn")
    if faults:
        raise InputError(faults)
    sample = JudgmentSample(
        _numbers_within_queries(names, judgments.begin),
        Strings.of(names),
        None if inclusion is None else probability,
        None if method is None else codes,
    )
    return replace(judgments, sample=sample)


def _by_document(name: str, given: ByDocument | None, judgments: Judgments) -> ByDocument | None:
    """The values by query and document, with ids as text; an error if none of the queries is judged."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or not all(isinstance(of_query, Mapping) for of_query in given.values()):
        raise UsageError(f"{name} must be {{query: {{document: value}}}}, not {type(given).__name__}")
    queries = by_text(given, name)
    given = {query: by_text(values, f"{name}: query `{quotable(query)}`") for query, values in queries.items()}
    if given and not set(given) & set(judgments.queries):
        example = quotable(next(iter(given)))
        raise InputError(
            [f"{name}: none of the queries is judged (first query: `{example}`)"],
            hint=f"the judgments cover queries such as `{judgments.queries[0]}`",
        )
    return given


def _numbers_within_queries(names: list[str], begin: Integers) -> Integers:
    """The number of each name among those of its query, bytewise in order."""
    numbers = np.zeros(len(names), np.int64)
    for first, end in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        of_query = names[first:end]
        order = sorted(set(of_query), key=lambda name: name.encode("utf-8", "surrogateescape"))
        if len(order) > 1:
            number = {name: i for i, name in enumerate(order)}
            numbers[first:end] = [number[name] for name in of_query]
    return numbers


def read_sampled(stream: Stream, name: str) -> Judgments:
    """Judgments of a sample, from TREC's five columns (with strata) or from statAP's (with probabilities).

    The order of the columns tells them apart: the document is the third or the second.
    """
    lines = list(stream.columns())
    names = PROBABILITIES if _has_probabilities([columns for _, columns, _ in lines]) else SAMPLED
    faults = [
        Fault(at, "syntax", b"", fault_text(f"{len(columns)} columns, expected {' '.join(names)}"), 0)
        for at, columns, _ in lines
        if len(columns) != len(names)
    ]
    complete = [(at, columns) for at, columns, _ in lines if len(columns) == len(names)]
    frame = Columns.of_text(names, [row for _, row in complete], np.array([at for at, _ in complete], np.int64))
    roles = {"method": "method"} if "method" in names else {}
    return read_table_rows("qrels", lambda: iter([(frame, faults)]), name, roles, stream.source_name)


def _has_probabilities(lines: list[list[str]]) -> bool:
    """Whether these are statAP's columns: the second one names documents, and the last one is a probability."""
    complete = [fields for fields in lines if len(fields) == len(SAMPLED)]
    if {fields[1] for fields in complete} <= ITERATIONS:
        return False
    fits = [
        math.isfinite(_number(grade)) and method in METHODS and (share == "NA" or 0 <= _number(share) < math.inf)
        for _, _, grade, method, share in complete
    ]
    pairs = {(fields[0], fields[1]) for fields in complete}
    # A few faulty lines do not make another format.
    return 2 * sum(fits) > len(complete) and 2 * len(pairs) > len(complete)
