"""Answers of retrieval-augmented generation: nuggets that an answer supports, and contexts that match references."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from cranfield.analysis.query_values import QueryValues
from cranfield.errors import InputError, UsageError, check_choice
from cranfield.io.faults import quotable
from cranfield.io.formats.json import parse_json
from cranfield.io.ids import by_text
from cranfield.io.streams import is_stream, open_stream

CREDIT = {"support": 1.0, "partial_support": 0.5}
OKAY = 0.5  # the weight of a nugget that is not vital
SMOOTHING = 1e-10  # ragas adds this to the number of relevant contexts

Over = Literal["all", "vital", "weighted"]
Match = Literal["string", "id"]


def nugget_recall(
    nuggets: Any, *, over: Over = "all", strict: bool = False, undefined: Literal["zero", "skip"] = "zero"
) -> QueryValues:
    """Nugget recall of TREC RAG: the share of required facts that an answer contains.

    ``nuggets``: ``{query: [{"importance": "vital", "assignment": "support"}, ...]}``, or a file of JSON lines with
    ``qid`` and ``nuggets``, as the AutoNuggetizer writes them. A nugget that is supported counts 1, one with
    ``partial_support`` a half, and with ``strict`` 0. ``over='vital'`` is the mean over vital nuggets;
    ``over='weighted'`` counts all others half. A query without such nuggets scores 0, or is left out with
    ``undefined='skip'``.

    >>> nuggets = {"q": [{"importance": "vital", "assignment": "partial_support"},
    ...                  {"importance": "okay", "assignment": "support"}]}
    >>> nugget_recall(nuggets).mean, nugget_recall(nuggets, over="vital", strict=True).mean
    (0.75, 0.0)
    """
    check_choice("over", over, ("all", "vital", "weighted"))
    check_choice("undefined", undefined, ("zero", "skip"))
    empty = 0.0 if undefined == "zero" else math.nan
    values = {}
    for query, of_query in _nuggets(nuggets).items():
        weights = [1.0 if vital else {"all": 1.0, "vital": 0.0, "weighted": OKAY}[over] for vital, _ in of_query]
        credits = [CREDIT.get(assignment, 0.0) for _, assignment in of_query]
        if strict:
            credits = [math.floor(credit) for credit in credits]
        total = math.fsum(weights)
        earned = math.fsum(weight * credit for weight, credit in zip(weights, credits, strict=True))
        values[query] = earned / total if total else empty
    return QueryValues.of(values)


def _nuggets(source: Any) -> dict[str, list[tuple[bool, str]]]:
    """For each query, whether each nugget is vital, and its assignment."""
    rows: Iterable[tuple[str, Any]]
    if isinstance(source, Mapping):
        rows = by_text(source, "nuggets").items()
    elif is_stream(source):
        stream = open_stream(source, "nuggets")
        content = parse_json(stream)
        if isinstance(content, Mapping):
            return _nuggets(content)
        absent = [name for name in ("qid", "nuggets") if name not in content.names]
        if absent:
            raise InputError([f"{stream.source_name}: no line has the field `{name}`" for name in absent])
        rows = zip(content.column("qid"), content.column("nuggets"), strict=True)
    else:
        raise UsageError(
            f"cannot read nuggets from {type(source).__name__}",
            hint="give {query: [nugget, ...]}, or a file of JSON lines",
        )
    nuggets: dict[str, list[tuple[bool, str]]] = {}
    for query, listed in rows:
        if not isinstance(listed, Sequence) or not all(map(_is_nugget, listed)):
            raise InputError([f"query `{quotable(str(query))}`: expected nuggets with importance and assignment"])
        if str(query) in nuggets:
            raise InputError([f"query `{quotable(str(query))}` has two lists of nuggets"])
        nuggets[str(query)] = [(n["importance"] == "vital", str(n["assignment"])) for n in listed]
    return nuggets


def _is_nugget(value: Any) -> bool:
    return isinstance(value, Mapping) and {"importance", "assignment"} <= set(value)


def context_precision(
    retrieved: Sequence[Any], reference: Sequence[Any], *, match: Match = "string", threshold: float = 0.5
) -> float:
    """Context precision of ragas without a language model, for one query; NaN if undefined.

    ``retrieved``: the contexts, best first; ``reference``: those that should be retrieved. With ``match='string'`` a
    context is relevant if its similarity to some reference is at least the threshold, where similarity is one minus
    the edit distance divided by the longer length. The value is the mean precision at relevant contexts: SN_AP of the
    list, with 1e-10 added to the divisor as in ragas, so that it is never exactly 1. With ``match='id'`` both are ids,
    and the value is the share of different ids retrieved that are in the reference.

    >>> round(context_precision(["abc", "xyz", "abd"], ["abc"]), 6)
    0.833333
    """
    if _by_id(match):
        ids, wanted = set(map(str, retrieved)), set(map(str, reference))
        return len(ids & wanted) / len(ids) if ids else math.nan
    if not retrieved or not reference:
        return math.nan
    hits, total = 0, 0.0
    for rank, context in enumerate(retrieved, 1):
        if max(_similarity(context, other) for other in reference) >= threshold:
            hits += 1
            total += hits / rank
    return total / (hits + SMOOTHING)


def context_recall(
    retrieved: Sequence[Any], reference: Sequence[Any], *, match: Match = "string", threshold: float = 0.5
) -> float:
    """Context recall of ragas without a language model, for one query; NaN if undefined.

    The share of the references whose similarity to some retrieved context is above the threshold; at the threshold
    itself, `context_precision` counts a match and this does not, as in ragas. With ``match='id'``, the share of the
    different ids of the reference that were retrieved.

    >>> context_recall(["1", "2", "3"], ["2", "9"], match="id")
    0.5
    """
    if _by_id(match):
        ids, wanted = set(map(str, retrieved)), set(map(str, reference))
        return len(ids & wanted) / len(wanted) if wanted else math.nan
    if not retrieved or not reference:
        return math.nan
    found = [max(_similarity(context, other) for context in retrieved) > threshold for other in reference]
    return sum(found) / len(found)


def _by_id(match: Match) -> bool:
    check_choice("match", match, ("string", "id"))
    return match == "id"


def _similarity(a: str, b: str) -> float:
    longer = max(len(a), len(b))
    return 1 - edit_distance(a, b) / longer if longer else 1.0


def edit_distance(a: str, b: str) -> int:
    """Levenshtein's distance: the least number of characters to insert, delete or replace (Hyyrö 2003).

    >>> edit_distance("kitten", "sitting")
    3
    """
    if not a or not b:
        return len(a) or len(b)
    # Bit i of these numbers is about the first i + 1 characters of a: where the distance rises or falls by one.
    where: dict[str, int] = {}
    for i, character in enumerate(a):
        where[character] = where.get(character, 0) | 1 << i
    every, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    rises, falls, distance = every, 0, len(a)
    for character in b:
        equal = where.get(character, 0)
        vertical = equal | falls
        horizontal = (((equal & rises) + rises) ^ rises) | equal
        up, down = falls | ~(horizontal | rises) & every, rises & horizontal
        distance += bool(up & last) - bool(down & last)
        up, down = (up << 1 | 1) & every, down << 1 & every
        rises, falls = down | ~(vertical | up) & every, up & vertical
    return distance
