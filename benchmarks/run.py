"""Speed and memory side by side with other tools; every target of the design with whether it is met.

python benchmarks/run.py [--only NAME ...] [--xl] [--repeat N] [--quick] [--json FILE]

First the peers' means are checked against ours; where one differs without a known reason, nothing is
timed and the exit code is 1. A missed target is reported and changes no exit code.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import contest
import numpy
from rich.console import Console
from rich.table import Table

import cranfield
from cranfield import core

RESULTS = Path(__file__).parent / "results"


def about() -> dict[str, Any]:
    """What these numbers depend on besides the code."""
    return {
        "command": " ".join(["python", "benchmarks/run.py", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        "versions": {
            "cranfield": f"{cranfield.__version__} ({'native' if core.NATIVE else 'plain Python'} reader)",
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            **{tool: contest.version(tool) or "not installed" for tool in contest.PACKAGES},
        },
        "machine": f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "load": f"{os.getloadavg()[0]:.1f} before the start",
    }


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def table(rows: list[contest.Row]) -> Table:
    shown = Table(title="Medians of seconds; contestants of one work took turns", title_justify="left")
    for name in ("work", "contestant", "seconds", "compared", "target", "met"):
        shown.add_column(name, justify="right" if name == "seconds" else "left", no_wrap=name != "work")
    for i, row in enumerate(rows):
        met = "" if row.met is None else "yes" if row.met else "[bold]NO[/bold]"
        seconds = "" if row.seconds is None else f"{row.seconds:.3f}"
        last = i + 1 == len(rows) or rows[i + 1].work != row.work
        shown.add_row(row.work, row.contestant, seconds, row.compared, row.target, met, end_section=last)
    return shown


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=list(contest.CONTESTS), metavar="NAME", help=", ".join(contest.CONTESTS)
    )
    parser.add_argument("--xl", action="store_true", help="also 70 million lines: 2.5 GB of disk, some minutes")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--quick", action="store_true", help="small inputs, one round, no ranx: does it all work?")
    parser.add_argument("--no-ranx", action="store_true", help="leave out ranx, which compiles itself for a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where results go besides benchmarks/results/")
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    chosen.repeat = 1 if chosen.quick else max(chosen.repeat, 1)
    talk = Console(stderr=True, highlight=False)
    settings = contest.Settings(chosen.repeat, chosen.quick, not chosen.no_ranx, lambda line: talk.print(line))
    header = about()
    # A file or a pipe has no width of its own, and no table should be cut for that.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 132)
    for name, value in header.items():
        console.print(
            f"{name}: {', '.join(f'{k} {v}' for k, v in value.items()) if isinstance(value, dict) else value}"
        )
    rows: list[contest.Row] = []
    for name in chosen.only or [n for n in contest.CONTESTS if n != "XL" or chosen.xl]:
        try:
            rows += contest.CONTESTS[name](settings)
        except contest.Disagreement as error:
            talk.print(f"the means differ, so there is nothing to time:\n{error}")
            return 1
    if chosen.quick:
        # The targets are for the full sizes.
        rows = [replace(row, target="", met=None) for row in rows]
    console.print(table(rows))
    missed = [f"{row.work}, {row.contestant}" for row in rows if row.met is False]
    verdict = f"missed: {'; '.join(missed)}" if missed else "every target is met"
    console.print("small inputs: no target applies" if chosen.quick else verdict)
    RESULTS.mkdir(exist_ok=True)
    written = json.dumps({**header, "rows": [asdict(row) for row in rows]}, indent=1)
    for path in filter(None, (RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json", chosen.json)):
        path.write_text(written + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
