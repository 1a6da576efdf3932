"""AMBIENT's layout: a folder with the results of a search engine, and which of them are about which subtopic.

``results.txt`` has the best results of each topic, in the engine's order, as ``topic.rank``, address, title and
snippet; ``STRel.txt`` has pairs ``topic.subtopic`` and ``topic.rank``. All results are judged: those without a pair
are about none of the subtopics. Other data sets of search results came in the same files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from cranfield.data import Judgments, Run
from cranfield.errors import InputError
from cranfield.io import nested
from cranfield.io.faults import Place, shown
from cranfield.io.streams import opened

NONE = "0"  # the subtopic of documents that are about none, as in TREC's judgments


def is_folder(path: object) -> bool:
    """Whether this is a folder with these files."""
    if not isinstance(path, str | os.PathLike) or not os.path.isdir(path):
        return False
    return all(os.path.isfile(os.path.join(os.fsdecode(path), name)) for name in ("results.txt", "STRel.txt"))


def results(path: str) -> str:
    """The file with the documents."""
    return os.path.join(path, "results.txt")


def read_run(path: str, name: str | None) -> Run:
    """The engine's own ranking of the results of each topic."""
    ranking: dict[str, dict[str, float]] = {}
    for topic, rank, result in _results(path):
        ranking.setdefault(topic, {})[result] = -float(rank)
    return Run(name or _name(path), ranking, path)


def read_qrels(path: str, name: str | None) -> Judgments:
    """Grade 1 for each subtopic that a result is about."""
    judged: dict[str, dict[str, dict[str, float]]] = {}
    for topic, _, result in _results(path):
        judged.setdefault(topic, {})[result] = {}
    place, faults = os.path.join(path, "STRel.txt"), []
    for line, (subtopic, result) in _rows(place, 2):
        (topic, number), (of, _) = _halves(subtopic), _halves(result)
        if topic != of or result not in judged.get(of, {}):
            faults.append(f"{place}:{line}: subtopic `{shown(subtopic)}` has no result `{shown(result)}`")
            continue
        judged[topic][result][number] = 1
    if faults:
        raise InputError(faults)
    graded = {t: {result: labels or {NONE: 0} for result, labels in found.items()} for t, found in judged.items()}
    return nested.graded(graded, name or _name(path), Place(path, "qrels", "entry"))


def _name(path: str) -> str:
    return os.path.basename(os.path.abspath(path))


def _results(path: str) -> list[tuple[str, int, str]]:
    place, faults, found = results(path), [], dict[str, tuple[str, int, str]]()
    for line, (result, *_) in _rows(place, 4):
        topic, rank = _halves(result)
        if not topic or not rank.isascii() or not rank.isdigit():
            faults.append(f"{place}:{line}: expected TOPIC.RANK, found `{shown(result)}`")
        elif result in found:
            faults.append(f"{place}:{line}: `{shown(result)}` appears twice")
        else:
            found[result] = topic, int(rank), result
    if faults:
        raise InputError(faults)
    return list(found.values())


def _halves(name: str) -> tuple[str, str]:
    before, _, after = name.rpartition(".")
    return before, after


def _rows(place: str, width: int) -> Iterator[tuple[int, list[str]]]:
    """The lines after the first, which names the fields."""
    lines = opened(place, "results").content().decode("utf-8", "surrogateescape").split("\n")
    rows = [(n, line.rstrip("\r").split("\t")) for n, line in enumerate(lines, 1) if n > 1 and line.strip()]
    faults = [f"{place}:{n}: expected {width} fields, found {len(row)}" for n, row in rows if len(row) != width]
    if faults:
        raise InputError(faults)
    return iter(rows)
