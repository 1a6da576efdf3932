"""The interface to the native core, which parses text into columns, joins ids and computes positions.

``_core`` (C++) and ``plain`` (Python, the reference for tests) export the same names:

``Index(queries, begin, documents)``
    The judged ids, hashed once and used for any number of runs. ``queries`` and ``documents`` are
    pairs ``(offsets int64, data uint8)``; query q's documents are rows ``begin[q]:begin[q+1]``.

``scan_qrels(opener, most=20) -> dict``
    ``query`` / ``iteration``: distinct ids in order of appearance as ``(offsets, data)``;
    ``query_of`` / ``iteration_of``: int64 code of each line; ``document``: ``(offsets, data)`` of each
    line; ``grade``: float64; ``line``: int64 line numbers.
``scan_run(opener, most=20) -> dict``
    The same for runs: ``query``, ``query_of``, ``document``, ``rank`` (float64; NaN if it is not a
    number), ``score``, ``line``, and ``tag``: bytes, of the first line.

``split_fields(lines, delimiter, width, longest) -> list | None``
    The columns of complete lines (bytes) with ``width`` fields each (0: as many as the first line), each column as
    ``(offsets, data)``. Fields may be in quotes, as in CSV. None if a line is blank, or has a NUL byte, a carriage
    return that does not belong to its end, more than ``longest`` bytes, quotes that do not end with their field, or
    another number of fields.
``parse_numbers(column) -> float64 | None``
    The numbers of a column ``(offsets, data)`` of texts; None if one of them is not a number.

``scan_nested(mapping) -> dict | None``
    Judgments that are ``{query: {document: grade}}``: ``query`` and ``document``: ``(offsets, data)``; ``begin``: query
    q's documents are rows ``begin[q]:begin[q+1]``; ``grade``: float64. None where not everything is a dict, a str that
    UTF-8 can hold, or a finite int or float; the caller then looks for the error.

``scan_passages(mapping) -> dict | None``
    Passages that are ``{query: [(document, start, end), ...]}``, all with a number as the fourth value, or none:
    ``query``: ``(offsets, data)``; ``begin``: query q's passages are rows ``begin[q]:begin[q+1]``; ``name``: the
    distinct documents as ``(offsets, data)``; ``document``: the row of each passage there; ``start``, ``end``: int64;
    ``value``: float64, if there are any. None where not everything is a dict, a list, a tuple, a str that UTF-8 can
    hold, an int from 0 to 10**11, or a number; or if an end is before its start.
``name_passages(names, document, start, end) -> (offsets, data)``
    The ids of such passages, as in ``d7:120-320``.

``join_text(opener, index, keys, by_id, top, most=20) -> dict``
``join_table(query, document, score, rank, index, keys, by_id, top, most=20) -> dict``
``join_dict(mapping, index, keys, by_id, top, most=20) -> dict``
    ``mapping``: ``{query: {document: score}}``, or ``{query: [document, ...]}`` with lists or tuples, best first.

    ``keys``: one or more different keys that rank documents: "score" (float64, high first), "score32" (the same
    rounded to 32 bits), "rank" (the rank column, low first; without one, the input order).

    ``hits``: a dict for each key, with the columns of `cranfield.io.runs.Positions`, int64, for the judged documents
    retrieved; ``by_id`` is always 0 unless the argument is true. ``tops``, only if ``top`` is not 0: the same for every
    document whose ``start`` is below ``top``, so that tie groups are complete; ``document``: ``(offsets, data)`` of the
    ids; ``judged``: row of the index, or -1. Queries that the index does not have follow, and their number is that of
    the index's queries plus the row in ``other``. ``by_id`` is always computed.

    The fields of `cranfield.io.runs.RunQueries`, with ``other`` as ``(offsets, data)``, in order of appearance; and
    ``lines``: rows read.

``first_rows(group, ids) -> int64``
    For each row the first row with the same group and id, usually the row itself. ``group``: int64, numbered from 0
    and below the number of rows; ``ids``: ``(offsets, data)``.

``locate(document, begin, row, judged, score, rank, keys, by_id) -> list``
    ``hits`` of documents whose ids are matched already: ``document``: ``(offsets, data)``, query by query; ``begin``:
    query q's documents are rows ``begin[q]:begin[q+1]``; ``row``: int64, ascending: the judged documents; ``judged``:
    their rows of the index; ``score``, ``rank``: of each document, without NaN; ``rank`` may be None.

``tabulate(row, document, start, keep, grade, rankings) -> tuple``
    Documents, one row each with the ranking it is in (ascending), laid out as tables with a row for each ranking, from
    the left; only documents for which ``keep`` (uint8 by row of the judgments, or None for all) is not 0. Returns the
    rows kept; the cell of each; the shape of the tables; and the tables of ``start`` (0 if there is no document) and
    ``grade`` (NaN there). Tables with up to 8 columns are stored column by column; wider ones have a multiple of 8.
``row_sums(table) -> float64``
    The sum of each row; zeros at its end never change the result, not even in the last bit.
``running_sums(table) -> float64``
    The running sums of each row.
``weighted_sums(gain, start, weights, k) -> float64``
    The sum over each row of gain times ``weights[start + 1]``, over documents with ``start`` < k; all if k is -1.
``cumulated_sums(gain, start, weights, k) -> float64``
    The same with each gain times the cumulated gain at the document. Both raise IndexError beyond the weights.
``preference_sums(gain, grade, limit, pairs) -> float64``
    The sum over each row of gain times (1 - min(a, limit) / pairs), where a is the number of documents before it with
    a grade of at least 0 and no gain; limit and pairs are those of the row, and the quotient is 0 without pairs.

``Program(index, keys, by_id, policy, grade, gains, layouts, weights, constants, code, literals, results, ...)``
    Measures as a program that `cranfield.evaluation.recorded` writes; None in ``plain``. Its parts are arrays of int64
    and float64, and lists of these. ``means``, ``per_query`` and ``values`` are those of `Evaluator`, of a run that is
    a dict; an opener of TREC text; or joined already: a tuple of a list with `Positions` for each key, ``length`` and
    ``other_length``. They are None where the run is not one that the program reads.

``nest(rows, columns, values) -> dict``
    ``{row: {column: value}}``, of values (column, row) with tuples of names.

``differences_at_least(table, first, second, limit) -> int64``
    For pairs of rows of a table (system, resample): how many differences are at least as large as the pair's limit,
    whatever their sign.
``differences_below(table, first, second, limits) -> int64``
    (pair, 2): how many differences are below each of two limits.
``ranked_differences(table, first, second, ranks) -> float64``
    (pair, rank, 2): the differences at some ranks from the lowest, from 0 on, and at the next ranks (or the same, if
    there is no next).

``keep_freed_memory()``
    For a process of our own: memory of temporary arrays stays with the process until it ends.

``Words(kinds, lower)``
    Words of texts, counted. ``kinds``: uint8 for each code point, 0 where it separates words, 1 where it may begin
    one, 2 where it can only continue one; code points beyond its end separate words, and so do bytes that are not
    UTF-8. With ``lower`` A-Z become a-z. Words are numbered in order of appearance. Not thread-safe;
    ``add`` and ``merge`` release the interpreter lock.
``Words.add(texts, keep) -> dict``
    ``texts``: ``(offsets, data)``; ``keep``: rows, ascending, whose words are returned separately. ``length``: words of
    each text; ``begin`` (k + 1), ``word``, ``count``: of the i-th text kept, numbers ascending.
``Words.merge(other) -> int64``
    Adds the counts of another object; returns the number here of each of its words.
``Words.columns() -> ((offsets, data), int64)``
    The words and their counts.

Every dict of the scans and joins has ``faults``: up to ``most`` tuples ``(line, kind, query, text, other)``, lowest
line first, and ``faults_total``. ``line`` counts from 1 (rows, for tables and dicts: 0 = unknown); ``query`` and
``text`` are bytes, ``text`` the offending text cut to 80 bytes; ``other`` an int whose meaning is
the kind's:

    columns    wrong number of columns: text = the line, other = how many there are
    score      not a number             grade     not a finite number        rank   ("rank" among keys) not a number
    nan        the score is NaN         id        (tables, dicts) a null or non-string id: text = its repr
    duplicate  the same document again in one query: text = document, other = line of the first (0 unknown)
    conflict   the same judgment again with another grade: text = document, other = line of the first
    binary     a NUL byte in the line   long      a line longer than 1 MiB; reading stops here, as it does at ``binary``

A line is bad once: the first kind that applies, in the order binary, columns, id, score or grade,
nan, rank. Separators are runs of space, tab, vertical tab, form feed and carriage return; a leading UTF-8 BOM, lines of
separators alone and lines whose first column starts with ``#`` are skipped. Numbers: optional sign, decimal digits with
optional point and exponent, or inf/infinity/nan in any case; grades must be finite. Beyond float64's
range a number becomes infinite or zero, as in Python. If there is any fault, only faults are returned.
"""

from __future__ import annotations

import os
from collections.abc import Callable

SLOW = "reading in plain Python, slowly; install with a C++ compiler for speed"

if os.environ.get("CRANFIELD_PLAIN"):
    import cranfield.native.plain as implementation

    NATIVE = False
else:
    try:
        import cranfield.native._core as implementation  # type: ignore[no-redef]

        NATIVE = True
    except ModuleNotFoundError:
        import cranfield.native.plain as implementation

        NATIVE = False

Index = implementation.Index
scan_qrels = implementation.scan_qrels
scan_run = implementation.scan_run
split_fields = implementation.split_fields
parse_numbers = implementation.parse_numbers
scan_nested = implementation.scan_nested
scan_passages = implementation.scan_passages
name_passages = implementation.name_passages
join_text = implementation.join_text
join_table = implementation.join_table
join_dict = implementation.join_dict
first_rows = implementation.first_rows
locate = implementation.locate
tabulate = implementation.tabulate
row_sums = implementation.row_sums
running_sums = implementation.running_sums
weighted_sums = implementation.weighted_sums
cumulated_sums = implementation.cumulated_sums
preference_sums = implementation.preference_sums
nest = implementation.nest
differences_at_least = implementation.differences_at_least
differences_below = implementation.differences_below
ranked_differences = implementation.ranked_differences
keep_freed_memory = implementation.keep_freed_memory
Words = implementation.Words
Program = implementation.Program

_warnings: list[str] = []


def warn_if_slow(warn: Callable[[str], object] | None = None) -> None:
    """Warn once, by a warning or by the given function, that the native core is missing, unless this was chosen."""
    if NATIVE or _warnings or os.environ.get("CRANFIELD_PLAIN"):
        return
    _warnings.append(SLOW)
    if warn is not None:
        warn(SLOW)
        return
    import warnings

    warnings.warn(SLOW, RuntimeWarning, stacklevel=3)
