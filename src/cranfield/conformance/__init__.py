"""Worked cases of measures with their sources, and how any program is checked against them.

``cases.json.gz`` has the cases by family of measures. Each is one query: a run, its judgments, a measure and its value.
They are written for others as one file (`document`), and sent to a program (`check`).
"""

from __future__ import annotations

import gzip
import json
import math
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryFile
from threading import Thread
from typing import IO, Any

from cranfield.errors import CranfieldError, UsageError
from cranfield.io.faults import quotable
from cranfield.measures import CATALOGUE, parse
from cranfield.measures.aliases import names_elsewhere
from cranfield.report.pages import Page, table
from cranfield.settings import Seconds, checked
from cranfield.wording import plural

CASES = Path(__file__).parent / "cases.json.gz"  # made by tests/golden
# The version of the format: it rises when a program that reads the file has to change. Cases may be added without it.
VERSION = 1
SCHEMA = CASES.parent / "schema" / "cases.schema.json"
# What is known of the documents of the query: judgments, and parts of a `Collection`.
INPUTS = ("qrels", "intents", "types", "prefs", "groups", "costs", "strata", "inclusion", "method", "nil", "items")
UNDEFINED = "undefined"
SHOWN = 10  # differences that tables list
SECONDS = 600.0  # that a program may take
WAITING = 1000  # lines of its output that are not read yet
LONGEST = 1 << 16  # bytes of a line of its output, and of the end of its errors

Case = dict[str, Any]


@cache
def _worked() -> list[Case]:
    """The worked cases of all families."""
    families = json.loads(gzip.decompress(CASES.read_bytes()))
    return [case for cases in families.values() for case in cases]


def cases(names: Iterable[str] | None = None) -> list[Case]:
    """The cases as others get them, of all measures or of some.

    A name without parameters and cutoff, such as ``nDCG``, stands for all cases of the measure.
    """
    published = [_published(case) for case in _worked()]
    if names is None:
        return published
    chosen = [name if name in CATALOGUE else str(parse(name)) for name in names]
    selected = [case for case in published if case["symbol"] in chosen or case["measure"] in chosen]
    for name in chosen:
        if not any(name in (case["symbol"], case["measure"]) for case in selected):
            raise UsageError(f"there is no case of {name}", hint="a name without parameters stands for all its cases")
    return selected


def _published(case: Case) -> Case:
    measure = parse(case["name"])
    # A program that ignores views would give the value of another measure: they are apart from the name, too.
    return {
        "id": case["id"],
        "measure": str(measure),
        "symbol": measure.symbol,
        "cutoff": measure.cutoff,
        "parameters": {name: value for name, value in measure.chosen.items() if value is not ...},
        "views": {name: value for name, value in asdict(measure.views).items() if value},
        "run": case["run"],
        **{name: case[name] for name in INPUTS if name in case},
        "expected": case["expected"],
        "tolerance": case["tol"],
        "source": case["source"],
    }


def document(names: Iterable[str] | None = None) -> dict[str, Any]:
    """All cases with what their measures mean, as one file; ``schema/cases.schema.json`` describes it."""
    from cranfield import __version__

    chosen = cases(names)
    measures = {
        symbol: {
            "title": definition.title,
            "formula": definition.formula,
            "names_elsewhere": names_elsewhere(symbol),
            "cite": definition.cite.split(),
        }
        for symbol, definition in CATALOGUE.items()
        if any(case["symbol"] == symbol for case in chosen)
    }
    return {"version": VERSION, "cranfield": __version__, "measures": measures, "cases": chosen}


@dataclass(frozen=True)
class Difference:
    """A case and the value of another program; None is undefined."""

    case: Case
    value: float | None

    @property
    def size(self) -> float:
        """How far the value is away; infinite if only one of both is defined."""
        expected = self.case["expected"]
        return math.inf if self.value is None or expected is None else abs(self.value - expected)

    def to_dict(self) -> dict[str, Any]:
        """The difference as plain data."""
        names = ("id", "measure", "expected", "tolerance", "source")
        return {**{name: self.case[name] for name in names}, "value": self.value}


@dataclass(frozen=True)
class Findings:
    """The result of a check: the cases that the program was given, its answers by id, and the answers that differ."""

    cases: Sequence[Case]
    answers: Mapping[str, float | None]

    @property
    def differences(self) -> list[Difference]:
        """Answers beyond the tolerance of their case."""
        answered = [Difference(case, self.answers[case["id"]]) for case in self.cases if case["id"] in self.answers]
        return [
            answer
            for answer in answered
            if answer.value != answer.case["expected"] and not answer.size <= answer.case["tolerance"]
        ]

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain data."""
        different = [difference.to_dict() for difference in self.differences]
        return {"cases": len(self.cases), "answered": len(self.answers), "differences": different}

    def pages(self) -> list[Page]:
        """The counts by measure, and the first differences."""
        differences = self.differences
        title = f"{plural(len(self.answers), 'answer')} to {plural(len(self.cases), 'case')}, "
        title += f"{len(differences)} different" if differences else "all as expected"
        rows = []
        for symbol in dict.fromkeys(case["symbol"] for case in self.cases):
            ids = [case["id"] for case in self.cases if case["symbol"] == symbol]
            answered = sum(id in self.answers for id in ids)
            sizes = [difference.size for difference in differences if difference.case["symbol"] == symbol]
            if answered:
                counts = [str(len(ids)), str(answered), str(len(sizes))]
                largest = max(sizes, default=0)
                rows.append(
                    (symbol, [*counts, UNDEFINED if math.isinf(largest) else f"{largest:.2g}" if largest else ""])
                )
        pages = [table(title, ["measure"], ["cases", "answered", "different", "by at most"], rows)]
        if differences:
            lines = [
                ((d.case["id"], d.case["measure"]), [_shown(d.case["expected"]), _shown(d.value)])
                for d in differences[:SHOWN]
            ]
            part = f", {SHOWN} of {len(differences)}" if len(differences) > SHOWN else ""
            pages.append(table(f"Differences{part}", ["case", "measure"], ["expected", "got"], lines))
        return pages


def _shown(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.10g}"


@checked
def check(program: Sequence[str], cases: Sequence[Case], *, seconds: Seconds = SECONDS) -> Findings:
    """Run a program on the cases: one line of JSON for each on its input, and on its output one for each that it knows.

    A line of the output has the ``id`` of the case and the ``value``, which is null (or NaN) if undefined. A case
    without a line, or with ``"skip": true``, is not answered. The program is stopped after these seconds, and at the
    first line that is not an answer.
    """
    hidden = ("expected", "tolerance", "source")
    lines = (json.dumps({name: part for name, part in case.items() if name not in hidden}) for case in cases)
    name = f"`{quotable(program[0])}`"
    with running(program, "".join(f"{line}\n" for line in lines).encode(), seconds) as output:
        answers = _answers(output, name, {case["id"] for case in cases})
    if not answers:
        raise CranfieldError(
            f"{name} answered none of {plural(len(cases), 'case')}",
            hint='it should write lines such as {"id": "A1-00", "value": 0.5}',
        )
    return Findings(cases, answers)


@contextmanager
def running(program: Sequence[str], given: bytes, seconds: float) -> Iterator[Iterator[bytes]]:
    """Run a program with this input, and give the lines of its output; raise if it fails or takes longer.

    What the program has started ends with it, also if its output is not read to the end.
    """
    name, deadline = f"`{quotable(program[0])}`", time.monotonic() + seconds
    with TemporaryFile() as start:
        start.write(given)
        start.seek(0)
        try:
            process = subprocess.Popen(
                list(program), stdin=start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise UsageError(f"{name} cannot be run: {(error.strerror or str(error)).lower()}") from error
    # Reading may never end, if something that the program started keeps its output open: threads wait for that.
    lines: Queue[bytes] = Queue(WAITING)
    errors: deque[bytes] = deque(maxlen=2)
    readers = [
        Thread(target=_put_lines, args=(process.stdout, lines), daemon=True),
        Thread(target=_keep_end, args=(process.stderr, errors), daemon=True),
    ]
    for reader in readers:
        reader.start()
    try:
        yield _lines_until(lines, deadline)
        process.wait(max(0, deadline - time.monotonic()))
    except (Empty, subprocess.TimeoutExpired):
        limit = "1 second" if seconds == 1 else f"{seconds:g} seconds"
        raise CranfieldError(f"{name} did not end within {limit}") from None
    finally:
        _stop(process)
    if process.returncode:
        readers[1].join(1)
        last = b"".join(errors).decode(errors="replace").strip().splitlines()[-1:]
        ended = f"was ended by signal {-process.returncode}"
        failed = f"failed with exit code {process.returncode}" if process.returncode > 0 else ended
        raise CranfieldError("".join([f"{name} {failed}", *(f": `{quotable(line)}`" for line in last)]))


def _put_lines(stream: IO[bytes], lines: Queue[bytes]) -> None:
    """Put the lines of a stream into a queue; the last one is empty. A long line is cut."""
    with stream:
        for line in iter(lambda: stream.readline(LONGEST), b""):
            lines.put(line)
    lines.put(b"")


def _lines_until(lines: Queue[bytes], deadline: float) -> Iterator[bytes]:
    """The lines of a queue; raises `Empty` at the deadline."""
    while line := lines.get(timeout=max(0, deadline - time.monotonic())):
        if time.monotonic() > deadline:
            raise Empty
        yield line


def _keep_end(stream: IO[bytes], end: deque[bytes]) -> None:
    """Read a stream to its end, and keep its last pieces."""
    with stream:
        end.extend(iter(lambda: os.read(stream.fileno(), LONGEST), b""))


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a program and, where the system knows groups of processes, what it has started, also if it has ended."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()


def _answers(output: Iterable[bytes], name: str, ids: set[str]) -> dict[str, float | None]:
    """The answers by id; a line that is not an answer is an error."""
    answers: dict[str, float | None] = {}
    for number, line in enumerate(output, 1):
        try:
            text = line.decode().strip()
        except UnicodeDecodeError as error:
            raise CranfieldError(f"the output of {name} is not UTF-8") from error
        if text:
            _read(text, f"line {number} of the output of {name}", ids, answers)
    return answers


def _read(line: str, where: str, ids: set[str], answers: dict[str, float | None]) -> None:
    """Add the answer of a line."""
    try:
        answer = json.loads(line, parse_int=float)
    except (ValueError, RecursionError):
        answer = None
    value = answer.get("value", ...) if isinstance(answer, dict) else ...
    if isinstance(answer, dict) and answer.get("skip") is True:
        return
    if value is not None and (not isinstance(value, float) or math.isinf(value)):
        raise CranfieldError(
            f"{where}: expected an id and a value, found `{quotable(line)}`",
            hint='write {"id": "A1-00", "value": 0.5}, with null for an undefined value',
        )
    id = str(answer.get("id"))
    if id not in ids or id in answers:
        reason = "a second answer to" if id in answers else "there is no case"
        raise CranfieldError(f"{where}: {reason} `{quotable(id)}`")
    answers[id] = None if value is None or math.isnan(value) else value
