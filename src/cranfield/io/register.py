"""The files that a command reads and writes: an output appears whole or not at all, and never in the place of an input.

Every file that is opened to be read, and every file that is written, goes through here. So a file that an experiment, a
collection, a baseline or a history names is guarded as those on the command line are.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

from cranfield.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

REPORT_MARK = b'<meta name="generator" content="Cranfield'  # what every report has
LARGEST = 1 << 24  # bytes in which a mark of Cranfield is looked for: a PDF has it near its end


class Register:
    """The inputs that were opened, and the outputs that are to be written, each as it was named."""

    def __init__(self) -> None:
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, str] = {}  # by their real paths

    def declare(self, outputs: Iterable[str | None]) -> None:
        """Add files to write; raise if two are one file, or one of them is an input."""
        for output in filter(None, outputs):
            self._check_outputs(output)
            self.check(output)
            self.outputs[os.path.realpath(output)] = output

    def extend(self, path: str) -> None:
        """Add a file to read, if it exists, and to add lines to; raise if it is one of the outputs."""
        self._check_outputs(path)
        self.read(path)

    def _check_outputs(self, path: str) -> None:
        if os.path.realpath(path) in self.outputs and not is_special(path):
            raise UsageError(f"{path}: two outputs cannot be one file", hint="write them to different files")

    def read(self, path: str) -> None:
        """Add a file to read; raise if it is one of the outputs."""
        self.inputs[path] = None  # before the check: the error may be caught, and the file must not be written then
        for output in self.outputs.values():
            _check(output, [path])

    def check(self, output: str) -> None:
        """Raise if a file to write is an input, in any spelling."""
        _check(output, self.inputs)


_active: ContextVar[Register | None] = ContextVar("register", default=None)


@contextmanager
def registering() -> Iterator[Register]:
    """Guard the files that are read inside."""
    token = _active.set(register := Register())
    try:
        yield register
    finally:
        _active.reset(token)


def active() -> Register:
    """The register of the command; a new one outside of commands, where nothing is guarded."""
    return _active.get() or Register()


def _check(output: str, inputs: Iterable[str]) -> None:
    if replaced_input(output, inputs) is not None:
        raise UsageError(
            f"{output}: this file is an input of the command and would be replaced",
            hint="write the output to another file",
        )


def replaced_input(output: str, inputs: Iterable[str]) -> str | None:
    """The input that a file to write would replace: it is the input, or lies in this folder.

    A pipe that is both would wait for itself.
    """
    if not os.path.exists(output) or not (os.path.isfile(output) or stat.S_ISFIFO(os.stat(output).st_mode)):
        return None
    real = os.path.realpath(output)
    for text in inputs:
        path = "/dev/stdin" if text == "-" else text
        if os.path.isdir(path):
            if os.path.commonpath([real, folder := os.path.realpath(path)]) == folder:
                return text
        elif os.path.exists(path) and os.path.samefile(output, path):
            return text
    return None


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether this is a pipe or a device: it cannot be replaced."""
    return os.path.exists(path) and not os.path.isfile(path)


def is_foreign(path: str | os.PathLike[str], mark: bytes) -> bool:
    """Whether a file exists and does not have a mark of Cranfield; an empty one is nobody's."""
    if not os.path.isfile(path):
        return os.path.lexists(path)
    with open(path, "rb") as file:
        content = file.read(LARGEST)
    return bool(content) and mark not in content


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` that replaces it at the end, unless there is an error.

    A symbolic link stays a link, and an existing file keeps its permissions. A pipe or a device cannot be replaced; it
    is written directly.
    """
    from pathlib import Path

    active().check(os.fspath(path))
    if is_special(path):  # not its real path: that of a pipe is no path
        try:
            yield Path(path)
        except OSError as error:
            error.filename = error.filename or os.fspath(path)
            raise
        return
    final = Path(os.path.realpath(path))
    temporary = final.with_name(f".{final.name}.{os.urandom(4).hex()}.part")
    try:
        mode = stat.S_IMODE(final.stat().st_mode) if final.exists() else None
        if mode is not None:
            # Others may not read the new content either, not even while it is written.
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(final)
    except OSError as error:
        if error.filename in (None, str(temporary)):  # a full disk has no name
            error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        with suppress(OSError):
            temporary.unlink()
