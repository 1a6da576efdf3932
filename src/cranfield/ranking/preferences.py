"""Preference judgments: which of two documents a judge prefers, instead of a grade for each.

A line has a query, a group (a judge, or an information need), a subgroup, a document and a level. In one subgroup a
document of a higher level is preferred to each of a lower level. The preferences of a group are those of all its
subgroups and what follows from them: if a is preferred to b and b to c, then a to c. Groups may contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cranfield.data import Booleans, Integers, Judgments, PreferenceJudgments, Strings
from cranfield.errors import InputError
from cranfield.io.faults import quotable
from cranfield.io.side_tables import PreferenceLine


class _Group(NamedTuple):
    """The documents of one group, whether their levels are above 0, its pairs, and whether it has one subgroup."""

    member: Integers
    relevant: Booleans
    better: Integers
    worse: Integers
    single: bool


def preference_judgments(name: str, lines: Sequence[PreferenceLine]) -> Judgments:
    """Judgments with preferences; the grade of a document is its highest level."""
    queries: dict[str, dict[str, list[PreferenceLine]]] = {}
    for line in lines:
        queries.setdefault(line.query, {}).setdefault(line.group, []).append(line)
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


def group_layers(lines: Sequence[PreferenceLine]) -> list[dict[str, dict[str, float]]]:
    """Judgments by group, in layers: the first group of each query by name, the second one, and so on."""
    queries: dict[str, dict[str, dict[str, float]]] = {}
    for line in lines:
        queries.setdefault(line.query, {}).setdefault(line.group, {})[line.document] = line.level
    layers: list[dict[str, dict[str, float]]] = []
    for query, groups in queries.items():
        for number, group in enumerate(sorted(groups, key=_bytes)):
            if number == len(layers):
                layers.append({})
            layers[number][query] = groups[group]
    return layers
