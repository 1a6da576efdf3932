"""Speed and memory side by side with other tools; every target of the design with whether it is met.

python benchmarks/run.py [PART ...] [--xl] [--repeat N] [--quick] [--json FILE]

First the peers' values are compared with ours; where one differs without a known reason, that part is not timed and
the exit code is 1. A missed target is reported and does not change the exit code.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import contest
import grid
import numpy
from agreement import Disagreement
from rich.console import Console
from rich.table import Table

import cranfield
from cranfield import native

RESULTS = Path(__file__).parent / "results"


def about() -> dict[str, Any]:
    """The conditions of the measurement."""
    return {
        "command": " ".join(["python", "benchmarks/run.py", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        "versions": {
            "cranfield": f"{cranfield.__version__} ({'native' if native.NATIVE else 'plain Python'} reader)",
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            **{tool: contest.version(tool) or "not installed" for tool in contest.PACKAGES},
        },
        "machine": f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "load": f"{os.getloadavg()[0]:.1f} before the start",
    }


def processor() -> str:
    """The name of the processor."""
    try:
        with Path("/proc/cpuinfo").open() as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def yes_or_no(*, met: bool | None) -> str:
    """Whether a target was met, for a table."""
    return "" if met is None else "yes" if met else "[bold]NO[/bold]"


def microseconds(seconds: float) -> str:
    """A time in microseconds, for a table."""
    return f"{seconds * 1e6:,.0f}" if seconds > 1e-4 else f"{seconds * 1e6:.1f}"


def row_table(rows: Sequence[contest.Row]) -> Table:
    """The table of whole processes."""
    table = Table(title="Medians of seconds; the contestants of one work took turns", title_justify="left")
    for name in ("work", "contestant", "seconds", "compared", "target", "met"):
        table.add_column(name, justify="right" if name == "seconds" else "left", no_wrap=name != "work")
    for i, row in enumerate(rows):
        seconds = "" if row.seconds is None else f"{row.seconds:.3f}"
        last = i + 1 == len(rows) or rows[i + 1].work != row.work
        table.add_row(
            row.work, row.contestant, seconds, row.compared, row.target, yes_or_no(met=row.met), end_section=last
        )
    return table


def grid_table(cells: Sequence[grid.Cell]) -> Table:
    """The table of single calls."""
    title = "Microseconds of one call (minimum), judgments ready: per-query scores of both tools, and our means alone"
    table = Table(title=title, title_justify="left")
    for name in ("run", "queries", "documents", "judged", "measures", "ours", "pytrec_eval", "ratio", "means"):
        table.add_column(name, justify="left" if name == "run" else "right")
    table.add_column("target")
    table.add_column("met")
    for i, cell in enumerate(cells):
        size = (cell.queries, cell.documents, cell.judged, cell.measures)
        ours, theirs, means = (microseconds(seconds) for seconds in (cell.ours, cell.pytrec_eval, cell.means))
        last = i + 1 == len(cells) or (cells[i + 1].queries, cells[i + 1].measures) != (cell.queries, cell.measures)
        table.add_row(
            cell.source,
            *(f"{number:,}" for number in size),
            *(ours, theirs, f"{cell.ratio:.3g}x", means),
            *(cell.target, yes_or_no(met=cell.met)),
            end_section=last,
        )
    return table


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ", ".join(contest.CONTESTS)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure (default: all but XL): {names}")
    parser.add_argument("--xl", action="store_true", help="also XL: 70 million lines, 2.5 GB of disk, some minutes")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--quick", action="store_true", help="small inputs, one round, no ranx: does it all work?")
    parser.add_argument("--no-ranx", action="store_true", help="leave out ranx, which compiles itself for a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.parts if name not in contest.CONTESTS]:
        parser.error(f"unknown part: {', '.join(unknown)} (choose from {names})")
    return chosen


def main() -> int:
    """Measure the chosen parts, print tables, and save the results."""
    chosen = arguments()
    chosen.repeat = 1 if chosen.quick else max(chosen.repeat, 1)
    log = Console(stderr=True, highlight=False)
    settings = contest.Settings(chosen.repeat, chosen.quick, not chosen.no_ranx, log.print)
    header = about()
    # A file or a pipe has no width of its own, and no table should be cut for that.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 132)
    for name, value in header.items():
        console.print(
            f"{name}: {', '.join(f'{k} {v}' for k, v in value.items()) if isinstance(value, dict) else value}"
        )
    results: list[contest.Row | grid.Cell] = []
    failed = []
    for name in chosen.parts or [n for n in contest.CONTESTS if n != "XL" or chosen.xl]:
        began = time.perf_counter()
        try:
            results += contest.CONTESTS[name](settings)
        except (Disagreement, RuntimeError) as error:  # the results of the other parts are not lost
            log.print(f"{name} was not measured:\n{error}", markup=False)
            failed.append(name)
            continue
        log.print(f"{name}: done in {time.perf_counter() - began:.0f} s")
    if chosen.quick:
        # The targets are for the full sizes.
        results = [replace(result, target="", met=None) for result in results]
    rows = [result for result in results if isinstance(result, contest.Row)]
    cells = [result for result in results if isinstance(result, grid.Cell)]
    if rows:
        console.print(row_table(rows))
    if cells:
        console.print(grid_table(cells))
        for line in grid.summary(cells):
            console.print(line)
    if chosen.quick:
        console.print("small inputs: no target applies")
    else:
        missed = [result.name for result in results if result.met is False]
        console.print("\n  ".join(["missed:", *missed]) if missed else "every target is met")
    RESULTS.mkdir(exist_ok=True)
    tables = {
        "rows": [asdict(row) for row in rows],
        "cells": [{**asdict(cell), "ratio": cell.ratio} for cell in cells],
    }
    written = json.dumps({**header, **tables}, indent=1)
    for path in filter(None, (RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json", chosen.json)):
        path.write_text(written + "\n")
    if failed:
        console.print(f"not measured: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
