"""Preference judgments: which of two documents a judge prefers, instead of a grade for each.

A line has a query, a group (a judge, or an information need), a subgroup, a document and a level. In one subgroup a
document of a higher level is preferred to each of a lower level. The preferences of a group are those of all its
subgroups and what follows from them: if a is preferred to b and b to c, then a to c. Groups may contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments, Preferences, Strings
from cranfield.errors import InputError
from cranfield.io.faults import quotable
from cranfield.io.side_tables import PreferenceLine


def preference_judgments(name: str, lines: Sequence[PreferenceLine]) -> Judgments:
    """Judgments with preferences; the grade of a document is its highest level."""
    queries: dict[str, list[PreferenceLine]] = {}
    for line in lines:
        queries.setdefault(line.query, []).append(line)
    ids: list[str] = []
    grade: list[float] = []
    begin, built = [0], _Builder()
    for of_query in queries.values():
        # Bytewise: the order of documents that are not retrieved.
        documents = sorted({line.document for line in of_query}, key=_bytes)
        rows = {document: len(ids) + i for i, document in enumerate(documents)}
        ids += documents
        grade += [0.0] * len(documents)
        for line in of_query:
            grade[rows[line.document]] = max(grade[rows[line.document]], line.level)
        begin.append(len(ids))
        built.add_query(of_query, rows)
    if built.faults:
        raise InputError(built.faults)
    return Judgments(
        name, Strings.of(queries), np.array(begin), Strings.of(ids), np.array(grade), preferences=built.finished()
    )


class _Builder:
    """Collects the preferences of one query after the other."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.begin, self.groups, self.member_begin = [0], [0], [0]
        self.better: list[Integers] = []
        self.worse: list[Integers] = []
        self.group: list[Integers] = []
        self.share: list[Floats] = []
        self.member: list[int] = []
        self.relevant: list[bool] = []
        self.single: list[bool] = []

    def add_query(self, lines: Sequence[PreferenceLine], rows: dict[str, int]) -> None:
        groups: dict[str, list[PreferenceLine]] = {}
        for line in lines:
            groups.setdefault(line.group, []).append(line)
        pairs = []
        for name in sorted(groups, key=_bytes):
            better, worse = self._add_group(groups[name], rows)
            pairs.append((better, worse, np.full(len(better), len(self.single) - 1)))
        better, worse, group = (np.concatenate(column) for column in zip(*pairs, strict=True))
        unordered = np.stack([np.minimum(better, worse), np.maximum(better, worse)], axis=1)
        _, which, count = np.unique(unordered, axis=0, return_inverse=True, return_counts=True)
        self.better.append(better)
        self.worse.append(worse)
        self.group.append(group)
        self.share.append(1 / count[which.reshape(-1)])
        self.begin.append(self.begin[-1] + len(better))
        self.groups.append(len(self.single))

    def _add_group(self, lines: Sequence[PreferenceLine], rows: dict[str, int]) -> tuple[Integers, Integers]:
        """The pairs of one group, better and worse document."""
        number = {document: i for i, document in enumerate(sorted({line.document for line in lines}, key=_bytes))}
        subgroups: dict[str, dict[int, float]] = {}
        relevant: dict[int, bool] = {}
        for line in lines:
            document = number[line.document]
            levels = subgroups.setdefault(line.subgroup, {})
            what = f"{line.location}: document `{quotable(line.document)}` of query `{quotable(line.query)}`"
            if levels.setdefault(document, line.level) != line.level:
                self.faults.append(f"{what} has two levels, {levels[document]:g} and {line.level:g}, in one subgroup")
            elif relevant.setdefault(document, line.level > 0) != (line.level > 0):
                self.faults.append(
                    f"{what} has level 0 in one subgroup of group `{quotable(line.group)}`, not in another"
                )
        preferred = np.zeros((len(number), len(number)), bool)
        for levels in subgroups.values():
            members, level = np.array(list(levels)), np.array(list(levels.values()))
            preferred[np.ix_(members, members)] |= level[:, None] > level
        if len(subgroups) > 1:
            preferred = _closed(preferred)
            if preferred.diagonal().any():
                first = list(number)[int(np.flatnonzero(preferred.diagonal())[0])]
                self.faults.append(
                    f"{lines[0].location}: the preferences of group `{quotable(lines[0].group)}` of query "
                    f"`{quotable(lines[0].query)}` form a cycle through document `{quotable(first)}`"
                )
        row = np.array([rows[document] for document in number])
        better, worse = np.nonzero(preferred)
        self.member += row.tolist()
        self.relevant += [relevant[i] for i in range(len(number))]
        self.member_begin.append(len(self.member))
        self.single.append(len(subgroups) == 1)
        return row[better], row[worse]

    def finished(self) -> Preferences:
        return Preferences(
            np.array(self.begin),
            np.concatenate([*self.better, np.zeros(0, np.int64)]).astype(np.int64),
            np.concatenate([*self.worse, np.zeros(0, np.int64)]).astype(np.int64),
            np.concatenate([*self.group, np.zeros(0, np.int64)]).astype(np.int64),
            np.concatenate([*self.share, np.zeros(0)]),
            np.array(self.groups),
            np.array(self.member_begin),
            np.array(self.member, np.int64),
            np.array(self.relevant, bool),
            np.array(self.single, bool),
        )


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
