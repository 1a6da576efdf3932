"""What Linux has and macOS or Windows lack: the calls are taken away, or made to fail as they do there."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield import example
from cranfield.cli import main
from cranfield.corpus.counting import default_workers
from cranfield.experiment import history
from cranfield.io.register import atomic_write
from cranfield.io.streams import digest_of_file, digesting
from cranfield.report import html

QRELS, RUN = example.path("qrels.txt"), example.path("bm25.run")


def test_digests_without_reading_at_a_position(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no `os.pread`: files are opened a second time."""
    monkeypatch.delattr("os.pread")
    with digesting():
        provenance = cf.evaluate(QRELS, RUN, "AP").provenance
        assert provenance is not None
        digest = next(one["digest"] for one in provenance.data["inputs"] if one["kind"] == "run")
    assert digest is not None
    assert digest == digest_of_file(str(RUN))


def test_a_history_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has neither `fcntl` nor `os.pread`. A last line without its end is ended first."""
    monkeypatch.setattr(history, "fcntl", None)
    monkeypatch.delattr("os.pread")
    path = tmp_path / "history.jsonl"
    path.write_bytes(b'{"a": 1}')
    history.append(str(path), {"b": 2})
    history.append(str(path), {"c": 3})
    lines = path.read_bytes().split(b"\n")
    assert [line.replace(b" ", b"") for line in lines] == [b'{"a":1}', b'{"b":2}', b'{"c":3}', b""]


def test_cores_without_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS and Windows have no `os.sched_getaffinity`."""
    monkeypatch.delenv("CRANFIELD_THREADS", raising=False)
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    monkeypatch.setattr("cranfield.native.NATIVE", True)
    assert default_workers() == 3
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert default_workers() == 1


def test_signals_that_do_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has neither SIGHUP nor timers."""
    for name in ("SIGHUP", "setitimer"):
        monkeypatch.delattr(f"signal.{name}", raising=False)
    handled: list[Any] = []
    monkeypatch.setattr("signal.getsignal", lambda number: signal.SIG_DFL)
    monkeypatch.setattr("signal.signal", lambda number, handler: handled.append(number))
    with main.exit_on_signals():
        assert handled == [signal.SIGTERM, signal.SIGINT]


def test_the_owner_of_a_file_is_not_asked_for_where_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows has no user numbers, and opens without following links or waiting are unknown there."""
    for name in ("geteuid", "O_NOFOLLOW", "O_NONBLOCK"):
        monkeypatch.delattr(f"os.{name}", raising=False)
    path = tmp_path / "library.js"
    path.write_text("text", encoding="utf-8")
    assert html._read_own(path) == "text"


def test_a_file_that_others_have_open_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses: the old file stays, and the error names it, not the temporary one."""

    def refuse(self: Path, target: Any) -> Path:
        raise PermissionError(errno.EACCES, "Access is denied", str(self), None, str(target))

    monkeypatch.setattr(Path, "replace", refuse)
    path = tmp_path / "scores.json"
    path.write_text("old")
    with pytest.raises(PermissionError) as caught, atomic_write(path) as temporary:
        temporary.write_text("new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["scores.json"]
