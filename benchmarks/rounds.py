"""Commands run in turns: on a shared machine a noisy minute then falls on all of them alike."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Installed packages come with their byte code, and ours in place keeps its own after the first start, unless
# the environment forbids it: compiling at every start is not what a user waits for.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass
class Times:
    """Wall-clock seconds by round, and the most memory held in any of them, in MB, where the command tells.

    ``printed`` is what the command said the last time.
    """

    seconds: list[float] = field(default_factory=list)
    peak: float = 0.0
    printed: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def run(command: Sequence[str]) -> str:
    """What a command prints; its errors in full if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\nexit {done.returncode}\n{done.stderr}")
    return done.stdout


def answer(command: Sequence[str]) -> dict[str, Any]:
    """What a command prints as JSON."""
    return json.loads(run(command))


def in_turns(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Times]:
    """Each command once in each round, every other round in the opposite order."""
    times = {name: Times() for name in commands}
    for i in range(rounds):
        for name in list(commands)[:: -1 if i % 2 else 1]:
            began = time.perf_counter()
            printed = run(commands[name])
            times[name].seconds.append(time.perf_counter() - began)
            times[name].printed = printed
            if printed.startswith("{"):
                times[name].peak = max(times[name].peak, json.loads(printed).get("peak", 0))
    return times


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median over rounds of one time over the other: both halves of a pair saw the same noise.

    >>> ratio([2.0, 8.0, 3.0], [1.0, 4.0, 1.0])
    2.0
    """
    return statistics.median(a / b for a, b in zip(above, below, strict=True))
