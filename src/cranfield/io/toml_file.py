"""TOML as typed records: every fault of a file, each with its line.

The types are those of `cranfield.settings`: `Annotated` with limits and a description. A section whose keys are the
keywords of a function is a `Section` of that function, so that what Python takes can be said in a file.
"""

from __future__ import annotations

import glob
import math
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from inspect import signature
from io import BufferedReader
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from cranfield.errors import CranfieldError, InputError, reading
from cranfield.io.streams import open_stream, text_digest
from cranfield.settings import Limits
from cranfield.wording import CONTROL, did_you_mean, nearest, one_of, printable

LONGEST = 1 << 20  # bytes of a file: one with more was not written by a person
LONGEST_SHOWN = 200  # characters of a path in a message
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
PYPROJECT = "pyproject.toml"
TOOL = "tool", "cranfield"  # where a pyproject has the experiment

# What is between two keys, so that the lines of keys can be found in a file that is known to be right.
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""+|\'\'\'.*?\'\'\'+|"(?:\\.|[^"\\])*"|\'[^\']*\'|\#[^\n]*|[^"\'\#\[\]{}=\n]+|.', re.DOTALL
)
_PLACE = re.compile(r" \(at line (\d+), column \d+\)| \(at end of document\)")
# Keys of so many parts take time and memory without end.
_DEEP = re.compile(r"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")
_NAMES = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}

KeyPath = tuple[str, ...]


class Kind(NamedTuple):
    """What a text stands for, in `Annotated`: a ``file`` or a ``pattern`` to read, or an ``output``."""

    name: Literal["file", "pattern", "output"]


File = Annotated[str, Kind("file")]
Pattern = Annotated[str, Kind("pattern")]
Output = Annotated[str, Kind("output")]


class Section(NamedTuple):
    """A table whose keys are the keywords of a function, or the fields of a record; in `Annotated`."""

    keys: Mapping[str, Any]

    @classmethod
    def of(cls, source: Callable[..., Any], without: Collection[str] = (), **types: Any) -> Section:
        """The keywords of a function; one that Python takes in several forms is a file.

        ``types``: names in annotations that the module of the function does not import.
        """
        typed: Any = vars(source)["__init__"] if isinstance(source, type) and not is_dataclass(source) else source
        hints = get_type_hints(typed, localns=types, include_extras=True)
        names = [name for name in signature(source).parameters if name not in without]
        return cls({name: _key_type(hints[name]) for name in names})


def _key_type(hint: Any) -> Any:
    """The type of a key for a keyword of a function."""
    about = getattr(hint, "__metadata__", ())
    inner = hint.__origin__ if about else hint
    kinds = [one for one in get_args(inner) or (inner,) if one is not NoneType]
    is_open = get_origin(inner) is not Literal and any(one is Any or get_origin(one) is Mapping for one in kinds)
    return Annotated[str, Kind("file"), *about] if is_open else hint


def keys_of(hint: Any) -> dict[str, tuple[Any, bool]] | None:
    """The keys of a table, which are those that are described: types, and whether they must be given.

    None if the table may have any keys.
    """
    if isinstance(hint, Section):
        return {name: (kind, False) for name, kind in hint.keys.items()}
    if not is_dataclass(hint):
        return None
    hints = get_type_hints(hint, include_extras=True)
    shown = [field for field in fields(hint) if get_origin(hints[field.name]) is Annotated]
    return {
        field.name: (hints[field.name], field.default is MISSING and field.default_factory is MISSING)
        for field in shown
    }


class TomlFile:
    """The content of a file, where each key of it is, and the faults that were found in it.

    ``kind``: what the file describes.
    """

    def __init__(self, path: str, kind: Literal["experiment", "collection"] = "experiment") -> None:
        self.path, self.kind, self.faults = path, kind, list[tuple[int, str]]()
        self._faulty: set[KeyPath] = set()
        self._lines: dict[KeyPath, int] = {(): 1}
        self.content: dict[str, Any] = self._parse()

    def _parse(self) -> dict[str, Any]:
        try:
            with reading(self.path), BufferedReader(open_stream(self.path, self.kind).open()) as file:
                data = file.read(LONGEST + 1)
        except InputError as error:
            if Path(self.path).is_file() and not Path(self.path).stat().st_size:
                hint = "`cranfield run --init` writes one" if self.kind == "experiment" else 'write qrels = "FILE"'
                raise self.error("the file is empty", hint=hint) from error
            raise
        self.digest = text_digest(data)
        if len(data) > LONGEST:
            raise self.error(f"the file has more than {LONGEST:,} bytes, which is too many for the {self.kind}")
        try:
            text = data.decode("utf-8-sig")
            if deep := _DEEP.search(text):
                line = text.count("\n", 0, deep.start()) + 1
                raise InputError([f"{self.path}:{line}: tables are too deep inside each other"])
            content = tomllib.loads(text)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError([f"{self.path}:{line}: a byte that is not UTF-8"], hint="save the file as UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            found = _PLACE.search(str(error))
            line = int(found[1]) if found and found[1] else data.count(b"\n") + 1
            reason = _PLACE.sub("", str(error))
            raise InputError([f"{self.path}:{line}: {reason[:1].lower()}{reason[1:]}"], hint="see toml.io") from None
        except RecursionError:
            raise self.error("tables and lists are too deep inside each other") from None
        self._lines |= dict(reversed(list(_key_lines(text))))
        if Path(self.path).name != PYPROJECT:
            return content
        tools = content.get(TOOL[0])
        found = tools.get(TOOL[1]) if isinstance(tools, dict) else None
        if not isinstance(found, dict):
            raise self.error("there is no table [tool.cranfield]", hint=f"write the {self.kind} there")
        self._lines = {path[2:]: line for path, line in self._lines.items() if path[:2] == TOOL}
        return found

    def line(self, path: KeyPath) -> int:
        """The line of a key, or of the nearest one around it."""
        return next((self._lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self._lines), 1)

    def error(self, message: str, path: KeyPath = (), hint: str = "") -> InputError:
        """An error about a key."""
        return InputError([f"{self.path}:{self.line(path)}: {message}"], hint=hint)

    def fault(self, path: KeyPath, message: str) -> None:
        """Remember a fault."""
        self.faults.append((self.line(path), message))
        self._faulty |= {path[:n] for n in range(len(path) + 1)}

    def is_faulty(self, path: KeyPath) -> bool:
        """Whether something inside a key is wrong already."""
        return path in self._faulty

    @contextmanager
    def fault_at(self, path: KeyPath) -> Iterator[None]:
        """Errors inside become faults of a key."""
        try:
            yield
        except CranfieldError as error:
            hint = f" ({error.hint})" if error.hint else ""
            self.fault(path, f"{error.message}{hint}")

    def raise_faults(self) -> None:
        """Raise all faults at once, in the order of their lines."""
        if self.faults:
            raise InputError([f"{self.path}:{line}: {text}" for line, text in sorted(dict.fromkeys(self.faults))])

    # Files that the file names. What is wrong with a path is a fault of its key.

    @property
    def folder(self) -> Path:
        """Where the file is: what paths are relative to."""
        return Path(self.path).parent

    def one_file(self, path: KeyPath, text: str, collection: str | None = None) -> str:
        """The file of a path or pattern; empty if there is a fault."""
        found = self.matching_files(path, text, collection)
        if not found:
            self.fault(path, f"there is no file `{cut(text)}` in {self.folder}")
        if len(found) > 1:
            self.fault(path, f"`{text}` matches {len(found)} files; expected one")
        return found[0] if found else ""

    def matching_files(self, path: KeyPath, text: str, collection: str | None) -> list[str]:
        """The files of a path or pattern, {collection} being a name; an empty text for a fault."""
        if text.startswith("irds:"):
            return [text]
        if not self.is_path(path, text.replace("{collection}", "") if collection is not None else text):
            return [""]
        if not self.is_inside(path, text.replace("{collection}", collection or "")):
            return [""]
        named, pattern = (
            str(self.folder / text.replace("{collection}", name or ""))
            for name in (collection, glob.escape(collection or ""))
        )
        try:
            exists = any(Path(one).exists() for one in (named, named.partition("#")[0]))
            found = [named] if exists else sorted(glob.glob(pattern, recursive=True))
        except OSError:  # longer than paths can be
            return []
        return found if all(self.is_inside(path, text, Path(one.partition("#")[0])) for one in found) else [""]

    def is_path(self, path: KeyPath, text: str) -> bool:
        """Whether a text can be a path; if not, this is a fault."""
        if unknown := PLACEHOLDER.search(text):
            where = "; only {collection} does, in runs, scores and collections" if self.kind == "experiment" else ""
            self.fault(path, f"`{unknown[0]}` in `{text}` stands for nothing{where}")
        elif not text.strip():
            self.fault(path, "the path is empty")
        return not unknown and bool(text.strip())

    def is_inside(self, path: KeyPath, text: str, file: Path | None = None) -> bool:
        """Whether a path stays in the folder of the file, unless it is absolute; if not, this is a fault.

        ``file``: what it stands for; a link may lead outside.
        """
        if Path(text).is_absolute():
            return True
        if Path(os.path.normpath(text)).parts[:1] == ("..",):
            self.fault(path, f"`{text}` is outside the folder of the {self.kind}; an absolute path may be")
            return False
        if file is None or file.resolve().is_relative_to(self.folder.resolve()):
            return True
        what = f"`{text}` is a link to a place outside the folder of the {self.kind}"
        self.fault(path, f"{what}; an absolute path may be")
        return False

    def read(self, hint: Any, data: Any = None, path: KeyPath = ()) -> Any:
        """A value of this type; what is wrong becomes a fault, and the value None."""
        data = self.content if not path and data is None else data
        said = []
        while get_origin(hint) is Annotated:
            said += hint.__metadata__
            hint = hint.__origin__
        section = next((one for one in said if isinstance(one, Section)), None)
        if section is not None or is_dataclass(hint):
            return self._table(section or hint, data, path)
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            kinds = [one for one in arguments if one is not NoneType]
            fitting = next((one for one in kinds if _fits(one, data)), None)
            if fitting is not None:
                return self.read(Annotated[fitting, *said] if said else fitting, data, path)
            return self._wrong(path, one_of([_expected(one) for one in kinds]), data)
        if not _fits(hint, data):
            return self._wrong(path, _expected(hint), data)
        if origin is Literal:
            if data not in arguments:
                close = nearest(data, arguments)
                also = f"; did you mean `{close}`?" if close else ""
                self.fault(path, f"{path[-1]}: expected {one_of(list(arguments))}, found `{printable(data)}`{also}")
            return data
        if origin in (list, tuple, Sequence):
            return tuple(self.read(arguments[0], one, path) for one in data)
        if origin in (dict, Mapping):
            known = {key: one for key, one in data.items() if self._text(key, (*path, key)) is not None}
            return {key: self.read(arguments[1], one, (*path, key)) for key, one in known.items()}
        for limits in said:
            if isinstance(limits, Limits) and not _within(limits, data):
                return self._wrong(path, f"{_expected(hint)} {_range(limits)}", data)
        return self._text(data, path) if isinstance(data, str) else float(data) if hint is float else data

    def _table(self, hint: Any, data: Any, path: KeyPath) -> Any:
        if not isinstance(data, dict):
            return self._wrong(path, "a table", data)
        known = keys_of(hint)
        assert known is not None
        values = {}
        for key, value in data.items():
            if key in known:
                values[key] = self.read(known[key][0], value, (*path, key))
                continue
            also = did_you_mean(key, known, f"the keys here are {', '.join(known)}")
            self.fault((*path, key), f"unknown key `{printable(key)}`; {also}")
        for key, (_, needed) in known.items():
            if needed and key not in data:
                self.fault(path, f"{'.'.join(path) or f'the {self.kind}'} needs `{key}`")
                values[key] = None
        return values if isinstance(hint, Section) else hint(**values)

    def _text(self, text: str, path: KeyPath) -> str | None:
        if CONTROL.search(text):
            self.fault(path, f"a control character in `{printable(text)}`")
            return None
        return text

    def _wrong(self, path: KeyPath, expected: str, data: Any) -> None:
        self.fault(path, f"{printable('.'.join(path))}: expected {expected}, found {_shown(data)}")


def cut(text: str) -> str:
    """A text that may be too long for a message."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def _fits(hint: Any, data: Any) -> bool:
    """Whether data are of the kind of a type, whatever is inside."""
    while get_origin(hint) is Annotated:
        if any(isinstance(one, Section) for one in hint.__metadata__):
            return isinstance(data, dict)
        hint = hint.__origin__
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(one, data) for one in get_args(hint))
    if origin is Literal:
        return isinstance(data, str)
    if origin in (list, tuple, Sequence):
        return isinstance(data, list)
    if origin in (dict, Mapping) or is_dataclass(hint):
        return isinstance(data, dict)
    if hint is float:
        return isinstance(data, (int, float)) and not isinstance(data, bool) and math.isfinite(data)
    return isinstance(data, hint) and (hint is bool or not isinstance(data, bool))


def _expected(hint: Any) -> str:
    while get_origin(hint) is Annotated:
        hint = hint.__origin__
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return one_of(list(arguments))
    if origin in (list, tuple, Sequence):
        return "a list"
    return _NAMES.get(hint, "a table")


def _within(limits: Limits, number: float) -> bool:
    low, high = limits.low, limits.high
    inside = (low is None or number >= low) and (high is None or number <= high)
    return inside and not (limits.open and number in (low, high))


def _range(limits: Limits) -> str:
    if limits.high is None:
        return f"{'above' if limits.open else 'of at least'} {limits.low:g}"
    return f"between {limits.low:g} and {limits.high:g}" + (", without these" if limits.open else "")


def _shown(data: Any) -> str:
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, (dict, list)):
        return "a table" if isinstance(data, dict) else "a list"
    return f"`{printable(str(data))[:60]}`"


def _key_lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """The line of every key that begins a line, and of every table."""
    line, depth, header = 1, 0, KeyPath()
    start: list[str] | None = []  # what the line begins with; None after its `=`
    for match in _TOKEN.finditer(text.replace("\r\n", "\n") + "\n"):
        token = match[0]
        if token == "\n" and depth == 0:
            words = "".join(start or ()).strip()
            if words.startswith("["):
                header = _path_of(words.strip("[]"))
                yield from ((header[:n], line) for n in range(len(header), 0, -1))
            start = []
        elif token == "=" and depth == 0 and start is not None:
            path = (*header, *_path_of("".join(start)))
            yield from ((path[:n], line) for n in range(len(path), len(header), -1))
            start = None
        elif start is not None and not token.startswith("#"):
            start.append(token)
        elif token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
        line += token.count("\n")


def _path_of(key: str) -> KeyPath:
    """The parts of a key, such as ``a."b.c"``."""
    path, table = [], tomllib.loads(f"{key.strip()} = 0")
    while isinstance(table, dict):
        name, table = next(iter(table.items()))
        path.append(name)
    return tuple(path)
