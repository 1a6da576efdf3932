"""Samples of judgments: strata, inclusion probabilities and methods of drawing, as mappings or as five-column files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from cranfield.data import Floats, Integers, Judgments, Sample, Strings
from cranfield.errors import InputError, UsageError, max_faults
from cranfield.io.faults import Location, quotable
from cranfield.io.objects import qrels_from_dict
from cranfield.io.streams import Stream

ByDocument = Mapping[str, Mapping[str, Any]]  # {query: {document: value}}
ITERATIONS = frozenset(("0", "Q0", "q0"))
METHODS = frozenset(("0", "1", "2", "4"))
COLUMNS = 5
SAMPLED = "query iteration document stratum grade"
PROBABILITIES = "query document grade method probability"


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
    for name, given in (("strata", strata), ("inclusion", inclusion), ("method", method)):
        _check_mapping(name, given, judgments)
    queries = list(judgments.queries)
    query_of = np.repeat(np.arange(len(queries)), np.diff(judgments.begin)).tolist()
    documents = list(judgments.documents)
    faults: list[str] = []

    def pair(row: int) -> str:
        return f"document `{quotable(documents[row])}` of query `{quotable(queries[query_of[row]])}`"

    names = [""] * len(documents)
    if strata is not None:
        of_query = [strata.get(query, {}) for query in queries]
        for row, document in enumerate(documents):
            given = of_query[query_of[row]].get(document)
            if given is None:
                faults.append(f"{judgments.name}: {pair(row)} has no stratum")
            names[row] = str(given)
    codes = None
    if method is not None:
        of_query = [method.get(query, {}) for query in queries]
        codes = np.ones(len(documents), np.int64)
        for row, document in enumerate(documents):
            given = of_query[query_of[row]].get(document, 1)
            if str(given) not in METHODS:
                faults.append(
                    f"{judgments.name}: {pair(row)} has the method `{quotable(str(given))}`, not 0, 1, 2 or 4"
                )
                continue
            codes[row] = int(given)
    probability = None
    if inclusion is not None:
        of_query = [inclusion.get(query, {}) for query in queries]
        given_of = [of_query[query_of[row]].get(document) for row, document in enumerate(documents)]
        probability, bad = _probabilities(given_of, judgments.grade, codes)
        faults += [f"{judgments.name}: {pair(row)} {problem}" for row, problem in bad]
    if faults:
        more = len(faults) - max_faults()
        raise InputError(faults[: max_faults()] + ([f"and {more:,} more"] if more > 0 else []))
    stratum = _numbers_within_queries(names, judgments.begin)
    sample = Sample(stratum, Strings.of(names), probability, codes)
    return replace(judgments, sample=sample)


def _check_mapping(name: str, given: ByDocument | None, judgments: Judgments) -> None:
    if given is None:
        return
    if not isinstance(given, Mapping) or not all(isinstance(of_query, Mapping) for of_query in given.values()):
        raise UsageError(f"{name} must be {{query: {{document: value}}}}, not {type(given).__name__}")
    if given and not set(given) & set(judgments.queries):
        example = quotable(str(next(iter(given))))
        raise InputError(
            [f"{name}: none of the queries is judged (first query: `{example}`)"],
            hint=f"the judgments cover queries such as `{judgments.queries[0]}`",
        )


def _probabilities(given: list[Any], grade: Floats, codes: Integers | None) -> tuple[Floats, list[tuple[int, str]]]:
    """The probabilities as numbers, NaN for None and NA; and rows with a problem."""
    probability = np.full(len(given), np.nan)
    faults = []
    for row, value in enumerate(given):
        if value is None or value == "NA" or (isinstance(value, float) and math.isnan(value)):
            continue
        try:
            number = math.inf if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.inf
        certain = codes is not None and codes[row] in (0, 2)
        if not 0 <= number <= 1:
            faults.append((row, f"has the probability {quotable(str(value))}, which is not between 0 and 1"))
        elif number == 0 and grade[row] > 0 and not certain:
            faults.append((row, "is relevant and has the probability 0: a document that cannot be drawn"))
        else:
            probability[row] = number
    return probability, faults


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


class _Line(NamedTuple):
    number: int
    fields: list[str]


def is_sampled(stream: Stream) -> bool:
    """Whether the first line has five columns."""
    first = stream.first_line.split()
    return len(first) == COLUMNS and not first[0].startswith(b"#")


def read_sampled(stream: Stream, name: str) -> Judgments:
    """Judgments of a sample, from TREC's five columns (with strata) or from statAP's (with probabilities).

    The order of the columns tells them apart: the document is the third or the second.
    """
    text = stream.read_text()
    lines = [_Line(i, line.split()) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
    with_probabilities = _has_probabilities(lines)
    columns = PROBABILITIES if with_probabilities else SAMPLED
    faults = [
        f"{stream.source_name}:{line.number}: expected 5 columns ({columns}), found {len(line.fields)}: "
        f'"{quotable(" ".join(line.fields))}"'
        for line in lines
        if len(line.fields) != COLUMNS
    ]
    at_document, at_grade = (1, 2) if with_probabilities else (2, 4)
    grades: dict[str, dict[str, float]] = {}
    first: dict[tuple[str, str], int] = {}
    extra: dict[str, dict[str, tuple[str, str]]] = {}
    for line in lines:
        if len(line.fields) != COLUMNS:
            continue
        query, document, text_of_grade = line.fields[0], line.fields[at_document], line.fields[at_grade]
        others = (line.fields[3], line.fields[4]) if with_probabilities else (line.fields[3], "")
        where = f"{stream.source_name}:{line.number}"
        try:
            grade = float(text_of_grade)
        except ValueError:
            grade = math.nan
        if not math.isfinite(grade):
            faults.append(f'{where}: the grade is not a number: "{quotable(text_of_grade)}" (columns: {columns})')
            continue
        of_query = grades.setdefault(query, {})
        if document in of_query and (of_query[document], extra[query][document]) != (grade, others):
            faults.append(
                f"{where}: document `{quotable(document)}` of query `{quotable(query)}` is already given otherwise, "
                f"in line {first[query, document]}"
            )
        of_query.setdefault(document, grade)
        first.setdefault((query, document), line.number)
        extra.setdefault(query, {}).setdefault(document, others)
    if faults:
        more = len(faults) - max_faults()
        raise InputError(faults[: max_faults()] + ([f"and {more:,} more"] if more > 0 else []))
    judgments = qrels_from_dict(grades, name, Location(stream.source_name, "qrels"))
    if with_probabilities:
        method = {query: {document: pair[0] for document, pair in rows.items()} for query, rows in extra.items()}
        inclusion = {query: {document: pair[1] for document, pair in rows.items()} for query, rows in extra.items()}
        return with_sample(judgments, inclusion=inclusion, method=method)
    strata = {query: {document: pair[0] for document, pair in rows.items()} for query, rows in extra.items()}
    return with_sample(judgments, strata=strata)


def _has_probabilities(lines: list[_Line]) -> bool:
    """Whether these are statAP's columns: the second one names documents, and the last one is a probability."""
    complete = [line.fields for line in lines if len(line.fields) == COLUMNS]
    if {fields[1] for fields in complete} <= ITERATIONS:
        return False
    fits = [_is_number(fields[2]) and fields[3] in METHODS and _is_probability(fields[4]) for fields in complete]
    pairs = {(fields[0], fields[1]) for fields in complete}
    # A few faulty lines do not make another format.
    return 2 * sum(fits) > len(complete) and 2 * len(pairs) > len(complete)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_probability(text: str) -> bool:
    return text == "NA" or (_is_number(text) and float(text) >= 0)
