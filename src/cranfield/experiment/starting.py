"""The first experiment: a file made from what is in a folder, and the JSON Schema by which editors complete it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.plan import default_measures
from cranfield.experiment.experiment import Experiment
from cranfield.io.formats.json import load_json
from cranfield.io.streams import open_stream, short_name
from cranfield.io.toml_file import keys_of
from cranfield.settings import Choice, ListOf, MapOf, OneOf, Record, Scalar, Type, walk
from cranfield.wording import CONTROL, printable

Kind = Literal["qrels", "spans", "run", "queries", "documents"]
MOST = 2000  # files that are looked at
GUESSES = "bm25", "baseline"  # what the name of a baseline may contain
MEASURES = "nDCG@10", "AP", "RR"
REPEAT = re.compile(r"(.+)[-_.](?:seed|run|r|s)?\d+")  # the name of what may be one of several runs of a system
TEMPLATE = """\
# An experiment: `cranfield run` evaluates, compares and checks all of this.
# `cranfield run --schema` prints what else can be said.

measures = [{measures}]
baseline = {baseline}  # {guess}: every run is compared with this one
{policy}
{collections}
[runs]
{runs}

# [design]
# by = ["type"]                           # means for each value of an attribute of queries
# cluster = "topic"                       # queries that are not independent

# [gates]                                 # exit code 3 if one fails, 4 if one cannot be decided
# "{measure}" = {{ at_least = 0.5, no_significant_loss = true }}

# [report]
# file = "report.html"

# [save]
# scores = "scores.json"

# [history]
# file = "history.jsonl"                  # one line for each time; `cranfield history` shows them
"""


@dataclass
class Draft:
    """An experiment to be: the files of collections and runs by name, and what was left out, with the reason."""

    folder: Path
    collections: dict[str, dict[str, str]] = field(default_factory=dict)
    others: dict[str, list[str]] = field(default_factory=dict)  # further judgments of a collection
    runs: dict[str, dict[str, str]] = field(default_factory=dict)  # by collection
    measures: tuple[str, ...] = MEASURES
    left_out: list[str] = field(default_factory=list)

    @property
    def baseline(self) -> str:
        """The run that its name shows to be the baseline, or else the first."""
        return next((run for guess in GUESSES for run in self.runs if guess in run.lower()), next(iter(self.runs)))

    def text(self) -> str:
        """The file."""
        named = any(guess in self.baseline.lower() for guess in GUESSES)
        partial = any(len(of_run) < len(self.collections) for of_run in self.runs.values())
        return TEMPLATE.format(
            measures=", ".join(map(_text, self.measures)),
            measure=self.measures[0],
            baseline=_text(self.baseline),
            guess="a guess by its name" if named else "a guess, the first run",
            policy='\n[policy]\nmissing = "skip"  # some runs are not there for every collection\n' if partial else "",
            collections="\n".join(map(self._section, self.collections)),
            runs="\n".join([*self._run_lines(), *self._repeats()]),
        )

    def _section(self, name: str) -> str:
        lines = [f"{key} = {_text(self._path(file))}" for key, file in self.collections[name].items()]
        others = [f"# qrels = {_text(self._path(file))}" for file in self.others.get(name, ())]
        return "\n".join([f"[collections.{_key(name)}]", *lines, *others, ""])

    def _run_lines(self) -> Iterator[str]:
        for run, of_run in self.runs.items():
            files = list(dict.fromkeys(self._pattern(name, file) for name, file in of_run.items()))
            yield f"{_key(run)} = {_text(files[0]) if len(files) == 1 else _list(files)}"

    def _pattern(self, collection: str, file: str) -> str:
        """The path of a run, {collection} being the folder that has its name."""
        folder, _, name = file.partition("/")
        is_pattern = len(self.collections) > 1 and folder == collection
        return self._path(file, f"{{collection}}/{name}" if is_pattern else file)

    def _path(self, file: str, written: str = "") -> str:
        """A file as it is written: relative, or absolute if it is a link to a place outside the folder."""
        inside = (self.folder / file).resolve().is_relative_to(self.folder.resolve())
        return (written or file) if inside else (self.folder.absolute() / (written or file)).as_posix()

    def _repeats(self) -> Iterator[str]:
        """Comments that propose runs whose names differ by a number as repeats."""
        groups: dict[str, list[str]] = {}
        for run, of_run in self.runs.items():
            if repeat := REPEAT.fullmatch(run):
                groups.setdefault(repeat[1], []).append(self._pattern(*next(iter(of_run.items()))))
        for name, files in groups.items():
            if len(files) > 1 and name not in self.runs:
                yield f"# {_key(name)} = {_list(files)}  # instead, if these are repeats of a system"


def first_experiment(folder: Path) -> Draft:
    """An experiment with the judgments and runs of a folder and of the folders in it; it runs as it is."""
    draft = Draft(folder)
    by_kind = _files(folder, draft.left_out)
    judged = by_kind["qrels"] or by_kind["spans"]
    if not judged or not by_kind["run"]:
        lacking = "runs" if judged else "judgments"
        raise InputError(
            [f"{folder}: there are no {lacking} here", *draft.left_out],
            hint="write the file by hand, or go to their folder",
        )
    here = [file for file in judged if file.parent == Path()]
    key = "qrels" if by_kind["qrels"] else "spans"
    for file in here or judged:
        name = (folder.resolve().name or "collection") if here else file.parent.name
        if not _is_writable(name) or not name.strip():
            name = "collection"
        if name in draft.collections:
            draft.others.setdefault(name, []).append(file.as_posix())
            continue
        draft.collections[name] = {key: file.as_posix()}
        kinds: tuple[Kind, ...] = ("queries", "documents") if key == "spans" else ("queries",)
        beside = {kind: [path.as_posix() for path in by_kind[kind] if path.parent == file.parent] for kind in kinds}
        draft.collections[name] |= {kind: names[0] for kind, names in beside.items() if names}
    _add_runs(draft, folder, by_kind["run"])
    if not draft.runs:
        raise InputError(draft.left_out or [f"{folder}: there are no runs here"], hint="write the file by hand")
    return draft


def _files(folder: Path, left_out: list[str]) -> dict[Kind, list[Path]]:
    """The files of a folder and of the folders in it, by what they hold."""
    by_kind: dict[Kind, list[Path]] = {"qrels": [], "spans": [], "run": [], "queries": [], "documents": []}
    files = [file for pattern in ("*", "*/*") for file in _by_name(folder.glob(pattern))]
    for file in files[:MOST]:
        path = file.relative_to(folder)
        if not _is_writable(str(path)):
            left_out.append(f"{printable(str(path))}: a name that cannot stand in an experiment")
        elif kind := kind_of(file):
            by_kind[kind].append(path)
    return by_kind


def _add_runs(draft: Draft, folder: Path, files: list[Path]) -> None:
    """Add the runs that can be evaluated, each under its name; files that have one name get that of their folder."""
    several = len(draft.collections) > 1
    evaluators: dict[str, Evaluator] = {}
    for name, parts in list(draft.collections.items()):
        given: dict[str, Any] = {key: str(folder / file) for key, file in parts.items()}
        try:
            collection = Collection(**given)
            judgments = collection.judgments
            _ = collection.queries
            if len(judgments.queries) < 2:
                raise InputError(["runs cannot be compared with fewer than two judged queries"])
        except CranfieldError as error:
            draft.left_out.append(f"{name}: {error.message.splitlines()[0]}")
            del draft.collections[name]
            continue
        if not evaluators:
            draft.measures = tuple(default_measures(judgments, otherwise=MEASURES))
        evaluators[name] = Evaluator(collection, draft.measures)
    for file in sorted(files):
        home = file.parent.name
        candidates = [home] if several and home in evaluators else list(evaluators)
        for name in candidates:
            try:
                evaluators[name](str(folder / file))
            except CranfieldError as error:
                if name == candidates[-1]:
                    draft.left_out.append(f"{file}: {error.message.splitlines()[0]}")
                continue
            run = short_name(file.name)
            run = file.as_posix() if name in draft.runs.get(run, {}) else run
            draft.runs.setdefault(run, {})[name] = file.as_posix()
            break


def _is_writable(name: str) -> bool:
    """Whether a path can stand in an experiment."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return not re.search(CONTROL, name) and not set("{}") & set(name)


def _by_name(files: Iterable[Path]) -> list[Path]:
    """Files that are not hidden, shorter names first: qrels.txt before qrels.old.txt."""
    shown = (file for file in files if not any(part.startswith(".") for part in file.parts[-2:]) and file.is_file())
    return sorted(shown, key=lambda file: (len(file.name), file))


_NUMBER = re.compile(rb"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?", re.IGNORECASE)
_NESTED = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[\[{]')  # JSON that has lists or tables by query
GRADES = {"grade", "relevance", "rel", "label"}
QUERIES = {"query", "query_id", "qid", "query-id"}
JUDGED = "qrels", "judgments", "spans", "golden"  # what the names of files of judgments begin with


def kind_of(file: Path) -> Kind | None:
    """What a file seems to hold, by its name and its first line; None for something else."""
    try:
        stream = open_stream(file, "file")
    except InputError:
        return None
    name, line, columns = file.name.lower(), stream.first_line, stream.first_line.split()
    if b"\0" in stream.head:
        return None
    if name.startswith(("queries", "topics")):
        return "queries"
    if len(columns) == 6 and _NUMBER.fullmatch(columns[4]):
        return "run"
    if len(columns) == 4 and _NUMBER.fullmatch(columns[3]) and name.endswith((".txt", ".qrels", ".qrel", ".gz")):
        return "qrels"
    is_json = line.lstrip().startswith((b"{", b"["))
    heads = _json_keys(line) if is_json else {head.decode("utf-8", "replace") for head in _heads(line)}
    if heads >= {"id", "text"}:
        return "documents"
    if heads & QUERIES and len(heads) > 2 - is_json:
        if heads & {"score", "rank"}:
            return "run"
        if "quote" in heads or "start" in heads:
            return "spans" if "quote" in heads or name.startswith(JUDGED) else "run"
        return "qrels" if heads & GRADES else None
    if is_json and not _NESTED.match(stream.head):
        return None
    if name.startswith(JUDGED) and (is_json or name.endswith((".txt", ".tsv", ".csv"))):
        return "qrels"
    return "run" if is_json else None


def _heads(line: bytes) -> list[bytes]:
    return re.split(rb"[,\t]", line.strip().lower())


def _json_keys(line: bytes) -> set[str]:
    """The keys of a line of JSON."""
    try:
        data = load_json(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return set()
    return {str(key).lower() for key in data} if isinstance(data, dict) else set()


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def schema() -> dict[str, Any]:
    """The JSON Schema of experiments."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An experiment of Cranfield",
        **_schema_of(walk(Experiment)),
    }


def _schema_of(kind: Type) -> dict[str, Any]:
    """The schema of a type."""
    schema: dict[str, Any] = {}
    match kind:
        case Record():
            keys = keys_of(kind)
            properties = {name: _schema_of(item) for name, (item, _) in keys.items()}
            required = [name for name, (_, needed) in keys.items() if needed]
            schema = {"type": "object", "properties": properties, "additionalProperties": False}
            schema |= {"required": required} if required else {}
        case OneOf(types):
            schema = {"anyOf": [_schema_of(item) for item in types]}
        case Choice(names):
            schema = {"enum": list(names)}
        case ListOf(item):
            schema = {"type": "array", "items": _schema_of(item)}
        case MapOf(_, value):
            schema = {"type": "object", "additionalProperties": _schema_of(value)}
        case Scalar(python):
            schema = {"type": {str: "string", bool: "boolean", int: "integer", float: "number"}[python]}
            ends = zip(("inimum", "aximum"), (kind.limits.low, kind.limits.high), kind.limits.ends, strict=True)
            schema |= {f"{'m' if bracket in '[]' else 'exclusiveM'}{end}": x for end, x, bracket in ends if isfinite(x)}
    return {"description": kind.help, **schema} if kind.help else schema
