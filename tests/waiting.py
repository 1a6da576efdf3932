"""Waiting for what a process does, and for nothing else: a busy machine takes longer, and fails nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux, to see what a process does")


def until(holds: Callable[[], bool], what: str, seconds: float = 120) -> None:
    """Wait until this holds; fail, and say what did not happen, after a time in which it must have."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds:g} s in vain: {what}")
        time.sleep(0.005)


def unread(pipe: int) -> int:
    """How many bytes wait in a pipe for its reader."""
    import array
    import fcntl
    import termios

    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def has_loaded(pid: int, library: str) -> bool:
    """Whether the process has mapped a file whose path contains this name."""
    return library in Path(f"/proc/{pid}/maps").read_text()


def threads(pid: int) -> dict[int, tuple[str, float]]:
    """The state of each thread of a process (R runs, S waits), and the processor's time that it has taken."""
    states = {}
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
            continue
        states[int(path.parent.name)] = fields[0], (int(fields[11]) + int(fields[12])) / TICK
    return states


def time_taken(pid: int) -> float:
    """The processor's time that all threads of a process have taken, in seconds."""
    return sum(seconds for _, seconds in threads(pid).values())
