"""The first experiment: a file made from what is in a folder, and the JSON Schema by which editors complete it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cranfield.errors import InputError
from cranfield.experiment.experiment import Experiment
from cranfield.io.streams import open_stream, short_name
from cranfield.io.toml_file import keys_of
from cranfield.settings import Choice, ListOf, MapOf, OneOf, Record, Scalar, Type, walk
from cranfield.wording import CONTROL

MOST = 2000  # files that are looked at
REPEAT = re.compile(r"(.+[-_.])(?:seed|run|r|s)?\d+")  # the name of one of several runs of a system
_NUMBER = re.compile(rb"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?", re.IGNORECASE)
TEMPLATE = """\
# An experiment: `cranfield run` evaluates, compares and checks all of this.
# `cranfield run --schema` prints what else can be said.

measures = ["nDCG@10", "AP", "RR"]
baseline = {baseline}                     # every run is compared with this one

{collections}
[runs]                                    # several files are repeats of one run
{runs}

# [design]
# by = ["type"]                           # means for each value of an attribute of queries
# cluster = "topic"                       # queries that are not independent

# [gates]                                 # exit code 3 if one fails, 4 if one cannot be decided
# "nDCG@10" = {{ at_least = 0.5, no_significant_loss = true }}

# [report]
# file = "report.html"

# [save]
# scores = "scores.json"

# [history]
# file = "history.jsonl"                  # one line for each time; `cranfield history` shows them
"""


def first_experiment(folder: Path) -> str:
    """The text of an experiment with the judgments and runs of a folder and the folders in it."""
    files = [file for pattern in ("*", "*/*") for file in _by_name(folder.glob(pattern))]
    found: dict[str, list[Path]] = {"qrels": [], "run": [], "queries": []}
    for file in files[:MOST]:
        if kind := kind_of(file):
            found[kind].append(file.relative_to(folder))
    if not found["qrels"] or not found["run"]:
        lacking = "judgments" if not found["qrels"] else "runs"
        raise InputError(
            [f"{folder}: there are no {lacking} here"], hint="write the file by hand, or go to their folder"
        )
    here = [file for file in found["qrels"] if file.parent == Path()]
    homes = {folder.resolve().name or "collection": here} if here else {}
    for file in () if here else found["qrels"]:
        homes.setdefault(file.parent.name, []).append(file)
    sections = []
    for name, (first, *others) in homes.items():
        queries = [file for file in found["queries"] if file.parent == first.parent]
        lines = [f"[collections.{_key(name)}]", f"qrels = {_text(first.as_posix())}"]
        lines += [f"# qrels = {_text(other.as_posix())}" for other in others]
        lines += [f"queries = {_text(file.as_posix())}" for file in queries[:1]]
        sections.append("\n".join([*lines, ""]))
    runs = _runs(found["run"], [] if here else list(homes))
    return TEMPLATE.format(
        baseline=_text(next(iter(runs))),
        collections="\n".join(sections),
        runs="\n".join(f"{_key(name)} = {_text(pattern)}" for name, pattern in runs.items()),
    )


def _runs(files: Sequence[Path], collections: Sequence[str]) -> dict[str, str]:
    """Patterns of runs by name: files that differ by a number are repeats; {collection} stands for folders."""
    patterns: dict[str, list[str]] = {}
    for file in sorted(files):
        path = f"{{collection}}/{file.name}" if file.parent.name in collections else file.as_posix()
        repeat = REPEAT.fullmatch(short_name(file.name))
        name = repeat[1][:-1] if repeat else short_name(file.name)
        patterns.setdefault(name, []).append(path)
    runs: dict[str, str] = {}
    for name, paths in patterns.items():
        different = list(dict.fromkeys(paths))
        if len(different) > 1 and all(Path(path).name.startswith(name) for path in different):
            folder, extension = Path(different[0]).parent, Path(different[0]).suffix
            separator = Path(different[0]).name[len(name)]
            runs[name] = (folder / f"{name}{separator}*{extension}").as_posix()
        else:
            runs |= {name if len(different) == 1 else short_name(path): path for path in different}
    return runs


def _by_name(files: Iterable[Path]) -> list[Path]:
    """Files that are not hidden, shorter names first: qrels.txt before qrels.old.txt."""
    shown = (file for file in files if not any(part.startswith(".") for part in file.parts[-2:]) and file.is_file())
    return sorted(shown, key=lambda file: (len(file.name), file))


def kind_of(file: Path) -> str | None:
    """What a file holds, by its first lines: judgments, a run, queries, or something else."""
    try:
        stream = open_stream(file, "file")
    except InputError:
        return None
    name, columns = file.name.lower(), stream.first_line.split()
    if b"\0" in stream.head or CONTROL.search(file.name):
        return None
    if name.startswith(("queries", "topics")):
        return "queries"
    if len(columns) == 6 and _NUMBER.fullmatch(columns[4]):
        return "run"
    if len(columns) == 4 and _NUMBER.fullmatch(columns[3]) and name.endswith((".txt", ".qrels", ".qrel", ".gz")):
        return "qrels"
    heads = set(re.split(rb"[,\t]", stream.first_line.strip().lower()))
    if heads & {b"query", b"query_id", b"qid", b"query-id"} and len(heads) > 2:
        return "run" if b"score" in heads or b"rank" in heads else "qrels" if heads & GRADES else None
    return "qrels" if name.startswith("qrels") and name.endswith((".txt", ".tsv", ".csv", ".json")) else None


GRADES = {b"grade", b"relevance", b"rel", b"label"}


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def schema(described: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The JSON Schema of experiments; ``described``: descriptions of keywords, by section."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An experiment of Cranfield",
        **_schema_of(walk(Experiment), {}, described),
    }


def _schema_of(kind: Type, described: Mapping[str, str], sections: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """The schema of a type; ``described``: descriptions of the keywords of the section."""
    match kind:
        case Record():
            keys = keys_of(kind)
            properties = {}
            for name, (item, _) in keys.items():
                help = "" if kind.chosen is None else described.get(name, "")
                properties[name] = _described(help, _schema_of(item, sections.get(name, described)))
            required = [name for name, (_, needed) in keys.items() if needed]
            found = {"type": "object", "properties": properties, "additionalProperties": False}
            found |= {"required": required} if required else {}
        case OneOf(types):
            found = {"anyOf": [_schema_of(item, described) for item in types]}
        case Choice(names):
            found = {"enum": list(names)}
        case ListOf(item):
            found = {"type": "array", "items": _schema_of(item, described)}
        case MapOf(_, value):
            found = {"type": "object", "additionalProperties": _schema_of(value, described)}
        case Scalar(python):
            found = {"type": {str: "string", bool: "boolean", int: "integer", float: "number"}[python]}
            ends = zip(("inimum", "aximum"), (kind.limits.low, kind.limits.high), kind.limits.ends, strict=True)
            found |= {f"{'m' if bracket in '[]' else 'exclusiveM'}{end}": x for end, x, bracket in ends if isfinite(x)}
    return _described(kind.help, found)


def _described(help: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": help, **schema} if help and "description" not in schema else schema
