"""The seam to the native core: text in, columns out; ids joined; positions found.

``_core`` (C++) and ``plain`` (Python, the oracle of the first) export the same names:

``Index(queries, begin, documents)``
    The judged ids, hashed once and used for any number of runs. ``queries`` and ``documents`` are
    pairs ``(offsets int64, data uint8)``; query q's documents are rows ``begin[q]:begin[q+1]``.

``scan_qrels(opener) -> dict``
    ``query`` / ``iteration``: distinct ids in order of appearance as ``(offsets, data)``;
    ``query_of`` / ``iteration_of``: int64 code of each line; ``document``: ``(offsets, data)`` of each
    line; ``grade``: float64; ``line``: int64 line numbers.
``scan_run(opener) -> dict``
    The same for runs: ``query``, ``query_of``, ``document``, ``rank`` (float64; NaN where it is no
    number), ``score``, ``line``, and ``tag``: bytes, of the first line.

``scan_nested(mapping) -> dict | None``
    Judgments that are ``{query: {document: grade}}``: ``query`` and ``document``: ``(offsets, data)``; ``begin``: query
    q's documents are rows ``begin[q]:begin[q+1]``; ``grade``: float64. None where not everything is a dict, a str that
    UTF-8 can hold, or a finite int or float: what is wrong then, if anything, is for the caller to find out.

``join_text(opener, index, keys, by_id, top) -> dict``
``join_table(query, document, score, rank, index, keys, by_id, top) -> dict``
``join_dict(mapping, index, keys, by_id, top) -> dict``
    ``keys``: one or more, each different, of what orders documents: "score" (float64, high first), "score32" (the same
    rounded to 32 bits), "rank" (the rank column, low first; where there is none, the order given).

    ``hits``: a dict for each key, with one row for each judged document retrieved, grouped by query in the index's
    order, best first, tied ones in input order: ``query``: int64 query of the index; ``document``: int64 row of the
    index; ``start``: documents ranked strictly above its tie group; ``size``: documents in that group; ``by_id``: its
    place (from 0) in the group when ids descend bytewise (0 everywhere unless ``by_id`` is asked for); ``by_input``:
    its place in the group in input order.

    ``tops``, only where ``top`` is not 0: the same for every document whose ``start`` is below ``top``, so that tie
    groups are whole. ``document``: ``(offsets, data)`` of the ids; ``judged``: row of the index, or -1. Queries that
    the index does not have follow, and their number is that of the index's queries plus the row in ``other``.
    ``by_id`` is there whether it is asked for or not.

    ``length``: int64 for each query of the index, documents retrieved, -1 where the run does not have the query;
    ``other``: ``(offsets, data)`` of the run's queries that the index does not have, in order of appearance, and
    ``other_length``; ``lines``: rows read; ``tag``: bytes (text only, else b"").

``tabulate(row, document, start, keep, grade, rankings) -> tuple``
    Documents, one row each with the ranking it is in (ascending), laid out as tables with a row for each ranking, from
    the left; only those for whose row in the judgments ``keep`` (uint8, or None for all) is not 0. Returned are the
    rows kept; the cell of each; the shape of the tables; and the tables of ``start`` (0 where there is no document)
    and ``grade`` (NaN there). Up to 8 columns a table is kept column by column; more are a multiple of 8.
``row_sums(table) -> float64``
    The sum of each row, to the last bit the same whatever zeros follow it.
``weighted_sums(gain, start, weights, k) -> float64``
    The sum over each row of gain times ``weights[start + 1]``; from ``start`` k on, unless k is -1, nothing is added.
``cumulated_sums(gain, start, weights, k) -> float64``
    The same with each gain times all gain down to the document. Both raise IndexError beyond the weights.

``differences_at_least(table, first, second, limit) -> int64``
    For pairs of rows of a table (system, resample): how many differences are at least as large as the pair's limit,
    whatever their sign.
``differences_below(table, first, second, limits) -> int64``
    (pair, 2): how many differences are below each of two limits.
``ranked_differences(table, first, second, ranks) -> float64``
    (pair, rank): the differences at some ranks from the lowest, from 0 on, which ascend.

``Words(kinds, lower)``
    Words of texts, counted. ``kinds``: uint8 for each code point, 0 where it separates words, 1 where it may begin
    one, 2 where it can only continue one; beyond its end all separate, and so do bytes that are no UTF-8. With
    ``lower`` A-Z become a-z; other letters stay. Words have numbers in order of appearance. Not for two threads at
    once; ``add`` and ``merge`` let others run.
``Words.add(texts, keep) -> dict``
    ``texts``: ``(offsets, data)``; ``keep``: rows, ascending, whose words are wanted one by one. ``length``: words of
    each text; ``begin`` (k + 1), ``word``, ``count``: of the i-th text kept, numbers ascending.
``Words.merge(other) -> int64``
    Counts of another one added; its word i has this number here.
``Words.columns() -> ((offsets, data), int64)``
    The words, and how often each came.

Every dict of the scans and joins has ``faults``: up to 20 tuples ``(line, kind, query, text, other)``, lowest line
first, and ``faults_total``. ``line`` counts from 1 (rows, for tables and dicts: 0 = unknown); ``query`` and
``text`` are bytes, ``text`` the offending text cut to 80 bytes; ``other`` an int whose meaning is
the kind's:

    columns    wrong number of columns: text = the line, other = how many there are
    score      not a number             grade     not a finite number        rank   ("rank" among keys) not a number
    nan        the score is NaN         id        (tables, dicts) a null or non-string id: text = its repr
    duplicate  the same document again in one query: text = document, other = line of the first (0 unknown)
    conflict   the same judgment again with another grade: text = document, other = line of the first
    binary     a NUL byte in the line   long      a line longer than 1 MiB; reading stops here, as it does at ``binary``

A line is bad once: the first kind that applies, in the order binary, columns, id, score or grade,
nan, rank. Separators are runs of bytes 0x01-0x20 other than newline; a leading UTF-8 BOM, lines of
separators alone and lines whose first column starts with ``#`` are skipped. Numbers: optional sign, decimal digits with
optional point and exponent, or inf/infinity/nan in any case; grades must be finite. Beyond float64's
range a number becomes infinite or zero, as in Python. Nothing is returned but faults where there is one.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from cranfield.native import words

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
scan_nested = implementation.scan_nested
join_text = implementation.join_text
join_table = implementation.join_table
join_dict = implementation.join_dict
tabulate = implementation.tabulate
row_sums = implementation.row_sums
weighted_sums = implementation.weighted_sums
cumulated_sums = implementation.cumulated_sums
differences_at_least = implementation.differences_at_least
differences_below = implementation.differences_below
ranked_differences = implementation.ranked_differences
# A core that was built before this was added still reads runs.
Words = getattr(implementation, "Words", words.Words)

_said: list[str] = []


def warn_if_slow(say: Callable[[str], object] | None = None) -> None:
    """Says once, as a warning or in the way given, that there is no native core; not where that was chosen."""
    if NATIVE or _said or os.environ.get("CRANFIELD_PLAIN"):
        return
    _said.append(SLOW)
    if say is not None:
        say(SLOW)
        return
    import warnings

    warnings.warn(SLOW, RuntimeWarning, stacklevel=3)
