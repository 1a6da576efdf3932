"""Contestants that take turns: on a shared machine a noisy minute then falls on all of them alike."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Any

LONG = 25.0  # seconds of all rounds together after which a contestant leaves
SHORT = 0.02  # seconds that a round of a fast function lasts, at least

# Installed packages come with their byte code, and ours in place keeps its own after the first start, unless
# the environment forbids it: compiling at every start is not what a user waits for.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass
class Times:
    """Wall-clock seconds of a command by round, and the most memory that it reported in any of them, in MB.

    ``printed`` is the output of the last round.
    """

    seconds: list[float] = field(default_factory=list)
    peak: float = 0.0
    printed: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def alternate(
    functions: Mapping[str, Callable[[], object]], rounds: int, *, short: float = SHORT, long: float = LONG
) -> dict[str, list[float]]:
    """Seconds of one call of each function by round; every other round goes in the opposite order.

    A function faster than ``short`` is called several times in each round. One that has taken more than ``long`` takes
    part in no further round.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    calls = dict.fromkeys(functions, 1)
    for i in range(rounds):
        for name in list(functions)[:: -1 if i % 2 else 1]:
            if sum(seconds[name]) > long:
                continue
            elapsed = _elapsed(functions[name], calls[name])
            while i == 0 and elapsed < short:
                calls[name] *= 2
                elapsed = _elapsed(functions[name], calls[name])
            seconds[name].append(elapsed / calls[name])
    return seconds


def _elapsed(function: Callable[[], object], calls: int) -> float:
    began = time.perf_counter()
    for _ in repeat(None, calls):
        function()
    return time.perf_counter() - began


def in_turns(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Times]:
    """Whole processes that take turns."""
    times = {name: Times() for name in commands}
    started = {name: partial(_record, command, times[name]) for name, command in commands.items()}
    for name, seconds in alternate(started, rounds, short=0).items():
        times[name].seconds = seconds
    return times


def _record(command: Sequence[str], times: Times) -> None:
    times.printed = run(command)
    if times.printed.startswith("{"):
        times.peak = max(times.peak, json.loads(times.printed).get("peak", 0))


def run(command: Sequence[str]) -> str:
    """The output of a command; its errors in full if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode:
        message = f"{' '.join(command)}\nexit {done.returncode}\n{done.stderr}"
        raise RuntimeError(message)
    return done.stdout


def answer(command: Sequence[str]) -> Any:
    """The output of a command that prints JSON."""
    return json.loads(run(command))


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median over rounds of one time over the other: both halves of a pair saw the same noise.

    Where one contestant took part in fewer rounds, these are compared.

    >>> ratio([2.0, 8.0, 3.0], [1.0, 4.0, 1.0])
    2.0
    """
    return statistics.median(a / b for a, b in zip(above, below, strict=False))
