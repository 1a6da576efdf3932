"""TOML as typed records: every fault of a file, each with its line.

The types are those of `cranfield.settings`: `Annotated` with limits and a description. A section may have the keywords
of a function as its keys (`keywords_of`), so that what Python takes can be said in a file.
"""

from __future__ import annotations

import glob
import math
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from cranfield.errors import CranfieldError, InputError, reading
from cranfield.io.streams import open_stream, text_digest
from cranfield.settings import (
    LARGEST,
    Choice,
    Field,
    ListOf,
    MapOf,
    OneOf,
    Other,
    Record,
    Scalar,
    Type,
    declared,
    expected,
    fits,
    walk,
)
from cranfield.wording import CONTROL, did_you_mean, nearest, printable

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
# Deeply dotted keys exhaust time and memory.
_DEEP = re.compile(r"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")
_LONG_NUMBER = re.compile(r"(?:[0-9]_?){4000}")

KeyPath = tuple[str, ...]


class Kind(NamedTuple):
    """What a text stands for, in `Annotated`: a ``file`` or a ``pattern`` to read, or an ``output``."""

    name: Literal["file", "pattern", "output"]


File = Annotated[str, Kind("file")]
Pattern = Annotated[str, Kind("pattern")]
Output = Annotated[str, Kind("output")]


def keywords_of(source: Callable[..., Any], without: Collection[str] = ()) -> Record:
    """A table whose keys are the keywords of a function; one that Python takes in several forms is a file."""
    fields = {name: field for name, field in declared(source).items() if name not in without}
    for name, field in fields.items():
        if _is_open(field.type):
            fields[name] = Field(walk(File, field.type.metadata))
    return Record(dict, fields)


def _is_open(kind: Type) -> bool:
    types = kind.types if isinstance(kind, OneOf) else (kind,)
    return any(isinstance(item, (Other, MapOf)) for item in types)


def keys_of(record: Record) -> dict[str, tuple[Type, bool]]:
    """The keys of a table: types, and whether they must be given. Fields of a class are keys if they are described."""
    return {
        name: (kind, default is ... and record.chosen is None)
        for name, (kind, default) in record.fields.items()
        if kind.help or record.chosen is not None
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
            match = _PLACE.search(str(error))
            line = int(match[1]) if match and match[1] else data.count(b"\n") + 1
            reason = _PLACE.sub("", str(error))
            raise InputError([f"{self.path}:{line}: {reason[:1].lower()}{reason[1:]}"], hint="see toml.io") from None
        except ValueError:  # Python reads no longer ones
            long = _LONG_NUMBER.search(text)
            line = text.count("\n", 0, long.start()) + 1 if long else 1
            raise InputError([f"{self.path}:{line}: a whole number with too many digits"]) from None
        except RecursionError:
            raise self.error("tables and lists are too deep inside each other") from None
        self._lines |= dict(reversed(list(_key_lines(text))))
        if Path(self.path).name != PYPROJECT:
            return content
        tools = content.get(TOOL[0])
        table = tools.get(TOOL[1]) if isinstance(tools, dict) else None
        if not isinstance(table, dict):
            raise self.error("there is no table [tool.cranfield]", hint=f"write the {self.kind} there")
        self._lines = {path[2:]: line for path, line in self._lines.items() if path[:2] == TOOL}
        return table

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
        files = self.matching_files(path, text, collection)
        if not files:
            self.fault(path, f"there is no file `{cut(text)}` in {self.folder}")
        if len(files) > 1:
            self.fault(path, f"`{text}` matches {len(files)} files; expected one")
        return files[0] if files else ""

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
            exists = any(Path(file).exists() for file in (named, named.partition("#")[0]))
            files = [named] if exists else sorted(glob.glob(pattern, recursive=True))
        except OSError:  # longer than paths can be
            return []
        return files if all(self.is_inside(path, text, Path(file.partition("#")[0])) for file in files) else [""]

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
            self.fault(path, f"`{text}` is outside the folder of the {self.kind}; only an absolute path may lead there")
            return False
        if file is None or file.resolve().is_relative_to(self.folder.resolve()):
            return True
        what = f"`{text}` is a link to a place outside the folder of the {self.kind}"
        self.fault(path, f"{what}; only an absolute path may lead there")
        return False

    def read(self, kind: Type, data: Any = None, path: KeyPath = ()) -> Any:
        """A value of this type; what is wrong becomes a fault, and the value None."""
        data = self.content if not path and data is None else data
        infinite = isinstance(data, float) and not math.isfinite(data)
        if infinite or not fits(kind, data):
            return self._wrong(path, kind, data)
        match kind:
            case Record():
                return self._table(kind, data, path)
            case OneOf(types):
                return self.read(next(item for item in types if fits(item, data)), data, path)
            case ListOf(item):
                return tuple(self.read(item, value, path) for value in data)
            case MapOf(_, value):
                named = {key: item for key, item in data.items() if self._text(key, (*path, key)) is not None}
                return {key: self.read(value, item, (*path, key)) for key, item in named.items()}
            case Scalar(python) if python is not str:
                return python(data)
        return self._text(data, path)

    def _table(self, record: Record, data: dict[str, Any], path: KeyPath) -> Any:
        keys, values = keys_of(record), dict[str, Any]()
        for key, value in data.items():
            if key in keys:
                values[key] = self.read(keys[key][0], value, (*path, key))
                continue
            also = did_you_mean(key, keys, f"the keys here are {', '.join(keys)}")
            self.fault((*path, key), f"unknown key `{printable(key)}`; {also}")
        for key, (_, needed) in keys.items():
            if needed and key not in data:
                self.fault(path, f"{'.'.join(path) or f'the {self.kind}'} needs `{key}`")
                values[key] = None
        return record.python(**values)

    def _text(self, text: str, path: KeyPath) -> str | None:
        if re.search(CONTROL, text):
            self.fault(path, f"a control character in `{printable(text)}`")
            return None
        return text

    def _wrong(self, path: KeyPath, kind: Type, data: Any) -> None:
        wanted = "true or false" if getattr(kind, "python", None) is bool else expected(kind)
        close = nearest(data, kind.names) if isinstance(kind, Choice) and isinstance(data, str) else None
        also = f"; did you mean `{close}`?" if close else ""
        self.fault(path, f"{printable('.'.join(path))}: expected {wanted}, found {_shown(data)}{also}")


def _shown(data: Any) -> str:
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, (dict, list)):
        return "a table" if isinstance(data, dict) else "a list"
    if isinstance(data, int) and abs(data) > LARGEST:  # Python writes no very long ones as text
        return "a number with too many digits"
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


def cut(text: str) -> str:
    """A text that may be too long for a message."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
