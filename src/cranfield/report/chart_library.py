"""The script of the chart library: made by a package in seconds, and kept in the user's cache folder.

The script goes into reports that other people open. What is kept is used only if it is a regular file of this user that
no one else can write, and its seal is that of the installed package; otherwise it is made and replaced.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from cranfield.errors import optional
from cranfield.parallel import in_background

MAX_BYTES = 1 << 26


@cache
def chart_library() -> Future[str]:
    """The script, read or made in a thread while runs are read; raises if the package is not installed."""
    vl_convert = optional("vl_convert", "the HTML report", "report")
    version = str(vl_convert.__version__)
    try:
        installed = distribution("vl-convert-python").read_text("RECORD") or version  # digests of its files
    except PackageNotFoundError:
        installed = version
    return in_background(lambda: kept(f"vega-{version}.js", installed, _made))


def _made() -> str:
    """The script, made by a process of its own: the package lets no other thread run, and no interrupt through."""
    write = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"
    try:
        made = subprocess.run(
            [sys.executable, "-P", "-c", write], stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
    except (OSError, subprocess.SubprocessError):  # Python is part of another program
        return str(optional("vl_convert", "the HTML report", "report").javascript_bundle())
    return made.stdout.decode()


def kept(name: str, installed: str, make: Callable[[], str]) -> str:
    """A text from the user's cache folder, sealed for what is installed; without one it is made, and kept there."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        file = (folder if folder.is_absolute() else Path.home() / ".cache") / "cranfield" / name
    except RuntimeError:  # no home
        return make()
    with suppress(OSError, ValueError):
        first, _, text = _read_own(file).partition("\n")
        if first == _seal(installed, text):
            return text
    text = make()
    with suppress(OSError):
        _replace(file, f"{_seal(installed, text)}\n{text}")
    return text


def _seal(installed: str, text: str) -> str:
    return "// " + hashlib.sha256(b"\0".join(part.encode() for part in (installed, text))).hexdigest()


def _read_own(file: Path) -> str:
    """The text of a regular file that belongs to this user, and that no one else can write; `OSError` for others."""
    # Neither a link is followed, nor does a pipe wait for its other end.
    number = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(number, "rb") as opened:
        found = os.fstat(number)
        own = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)
        if not stat.S_ISREG(found.st_mode) or not own or found.st_size > MAX_BYTES:
            raise OSError(f"{file} is not a file of this user alone")
        return opened.read().decode("utf-8")


def _replace(file: Path, text: str) -> None:
    """Put a file, or nothing, in place of whatever is there, even a link."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    number, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # for this user alone
    temporary = Path(name)
    try:
        with os.fdopen(number, "wb") as opened:
            opened.write(text.encode("utf-8"))
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
