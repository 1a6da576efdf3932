"""The program trec_eval: what it prints for judgments and a run, version 9 or 10."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.alignment import Aligner, Alignment
from cranfield.compat.trec_measures import (
    PREFERENCES,
    Generation,
    Line,
    ParameterError,
    Setting,
    known,
    line_values,
    lines,
    nickname,
)
from cranfield.data import Bytes, Floats, Integers, Opener, Run, Strings
from cranfield.errors import CranfieldError, InputError, MeasureError
from cranfield.evaluation.columns import AlignmentKey, Column
from cranfield.evaluation.run_scores import RunScores
from cranfield.io import read_qrels, read_run
from cranfield.views import Gains, Views, ordered, settled

VERSIONS: dict[Generation, str] = {9: "9.0.8", 10: "10.0"}
USAGE, UNREADABLE, UNCOMPUTABLE, NOTHING = 1, 2, 4, 7
MISSING = -1_000_000.0  # the z-score of a value that the file of means does not know
TAIL = 1 << 16
LINES = 1 << 17  # as many are made into text at a time
FEW = 500  # values that are made into text one by one

# The mean and the standard deviation of a measure, by query.
Scales = dict[bytes, tuple[float, float]]


class TrecEvalError(CranfieldError):
    """What ends the program; ``exit_code`` is what trec_eval would have ended with."""

    def __init__(self, message: str, exit_code: int, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Options:
    """What the command line says, by trec_eval's names for it."""

    measures: tuple[str, ...] = ()
    generation: Generation = 9
    query_eval_wanted: bool = False
    nosummary: bool = False
    complete: bool = False
    level: int = 1
    judged_docs_only: bool = False
    number_docs: int = 0
    max_retrieved: int | None = None
    only: str = ""  # the one query that was asked for with -D
    zscores: str = ""
    rel_info_format: str = "qrels"
    results_format: str = "trec_results"

    def check(self) -> None:
        """An error for what trec_eval can do and this cannot, or neither."""
        if self.rel_info_format in ("prefs", "qrels_prefs", "qrels_jg"):
            raise TrecEvalError(
                f"`{self.rel_info_format}` holds preferences or several assessors, and only `qrels` are read here",
                UNREADABLE,
            )
        for name, format, only in (
            ("judgments", self.rel_info_format, "qrels"),
            ("results", self.results_format, "trec_results"),
        ):
            if format != only:
                raise TrecEvalError(f"there is no format `{format}` of {name}", UNREADABLE, hint=f"there is `{only}`")
        if self.level < 1:
            raise TrecEvalError(
                f"the lowest relevant grade is at least 1, not {self.level}",
                USAGE,
                hint="a document of grade 0 is judged not to be relevant",
            )
        if self.max_retrieved is not None and self.max_retrieved < 1:
            raise TrecEvalError(f"a ranking has at least 1 document, not {self.max_retrieved}", USAGE)


def requested(measures: Sequence[str], generation: Generation) -> dict[str, str]:
    """Measures in the order in which they are printed, each with its parameters ("" for the usual ones)."""
    marked: dict[str, str] = {}
    for one in measures or ("official",):
        name, dot, parameters = one.partition(".")
        if dot and not parameters:
            raise TrecEvalError(f"`{one}`: there is nothing after the dot", USAGE)
        for found in nickname(name, generation) or [name]:
            if found in PREFERENCES:
                raise TrecEvalError(
                    f"`{found}` needs preferences or several assessors, and only plain judgments are read here", USAGE
                )
            if found not in known(generation):
                hint = f"version 10 has it: --compat 10 -m {one}" if found in known(10) else "see -h"
                raise TrecEvalError(f"trec_eval {VERSIONS[generation]} has no measure `{found}`", USAGE, hint=hint)
            # Of several lists of parameters for one measure trec_eval reads the first.
            marked[found] = marked.get(found) or (parameters if found == name else "")
    return {name: marked[name] for name in known(generation) if name in marked}


def explained(asked: dict[str, str]) -> str:
    """What measures mean, as the catalogue says it."""
    out = []
    for name, parameters in asked.items():
        for line in list(lines(name, parameters, Setting()))[:1]:
            said = [m.definition for m in line.measures]
            out.append(f"\n{name}\n" + "".join(f"    {d.symbol}: {d.summary}\n    {d.formula}\n" for d in said[:1]))
    return "".join(out)


def evaluate(qrels: Any, run: Any, options: Options) -> Iterator[str]:
    """What trec_eval prints, some queries at a time; a query that stops it does so after what comes before."""
    options.check()
    asked = requested(options.measures, options.generation)
    views = Views("trec9" if options.generation == 9 else "trec", options.max_retrieved, options.judged_docs_only)
    setting = Setting(options.generation, options.level, options.number_docs, views)
    try:
        judgments = read_qrels(qrels)
        source = read_run(run)
        end = _RunEnd(source.source) if callable(source.source) else None
        printed = [line for name, parameters in asked.items() for line in lines(name, parameters, setting)]
        alignment = Aligner(judgments).align(source if end is None else replace(source, source=end), views.key)
        zscores = _zscores(options.zscores) if options.zscores else None
    except InputError as error:
        raise TrecEvalError(error.message, _code(error), hint=error.hint) from error
    except MeasureError as error:
        raise TrecEvalError(error.message, ParameterError.exit_code, hint=error.hint) from error
    # A run that is no TREC text has a name, and no lines.
    tag = source.name if end is None else (end.tag() or bytes(alignment.rows["tag"])).decode("utf-8", "surrogateescape")
    yield from _Report(alignment, printed, options, views, source, tag, zscores).text()


def _code(error: InputError) -> int:
    """A document given twice is found when measures are computed, and not when files are read."""
    repeated = bool(error.kinds) and error.kinds <= {"duplicate", "conflict"}
    return UNCOMPUTABLE if repeated else UNREADABLE


class _RunEnd:
    """Opens a run, and keeps its last bytes while it is read: trec_eval prints the run id of the last line."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._stream: Any = None
        self._end = b""

    def __call__(self) -> Any:
        source = self._opener()
        if isinstance(source, int):
            os.lseek(source, max(os.fstat(source).st_size - TAIL, 0), os.SEEK_SET)
            self._end = os.read(source, TAIL)
            os.lseek(source, 0, os.SEEK_SET)
            return source
        self._stream, self._end = source, b""
        return self

    def readinto(self, buffer: Any) -> int:
        count = self._stream.readinto(buffer) or 0
        self._end = (self._end + bytes(memoryview(buffer)[:count][-TAIL:]))[-TAIL:]
        return count

    def tag(self) -> bytes:
        """The run id of the last line; nothing where that line is too long to be kept."""
        rows = [line.split() for line in self._end.split(b"\n") if line.strip() and not line.lstrip().startswith(b"#")]
        return rows[-1][5] if rows and len(rows[-1]) > 5 else b""


class _Report:
    """One run against its judgments, as text."""

    def __init__(
        self,
        alignment: Alignment,
        printed: Sequence[Line],
        options: Options,
        views: Views,
        run: Run,
        tag: str,
        zscores: dict[str, Scales] | None,
    ) -> None:
        self.alignment, self.printed, self.options, self.views = alignment, printed, options, views
        self.run, self.tag, self.zscores = run, tag, zscores
        ids = alignment.aligner.judgments.queries
        data = ids.data.tobytes()
        self.ids = [data[start:end] for start, end in pairwise(ids.offsets.tolist())]
        # Bytewise, as strcmp has it: q10 before q2.
        order = sorted(range(len(ids)), key=self.ids.__getitem__)
        self.queries = np.array([q for q in order if not options.only or self._name(q) == options.only], np.int64)

    def _name(self, query: int) -> str:
        return self.ids[query].decode("utf-8", "surrogateescape")

    def text(self) -> Iterator[str]:
        options, length = self.options, self.alignment.length[self.queries]
        answered = self.queries[length >= 0]
        if not len(answered):
            raise TrecEvalError(
                "no query has both results and judgments",
                NOTHING,
                hint=f"the judgments are for queries such as `{self._name(0)}`",
            )
        counted = self.queries if options.complete or options.generation == 10 else answered
        stop = len(counted)
        if options.generation == 10 and not options.complete:
            stop = np.append(np.flatnonzero(length < 0), stop)[0]
        table = self._table()
        if options.query_eval_wanted:
            yield from self._queries(counted[:stop] if options.generation == 10 else answered, table)
        if stop < len(counted):
            source_name = self.run.source_name or self.run.name
            raise TrecEvalError(
                f"{source_name}: there are no results for query `{self._name(counted[stop])}`",
                UNCOMPUTABLE,
                hint="-c counts such queries as 0; trec_eval 9 (--compat 9) leaves them out",
            )
        if not options.nosummary:
            yield self._summary(counted, table)

    def _table(self) -> Floats:
        """The value of each line for each judged query, a query that is not in the run included."""
        key = AlignmentKey(content=False, key=self.views.key)
        scores = RunScores(self.run, {key: self.alignment})
        judged = len(self.alignment.length)
        table = line_values(self.printed, judged, lambda m: scores[Column(m, alignment=key)].value[:judged])
        absent = self.alignment.length < 0
        for line, values in zip(self.printed, table, strict=True):
            if not line.measures:
                continue
            kept = line.name == "num_rel" or line.kind.style == "geometric"
            silent = not kept if self.options.generation == 9 else line.kind.silent
            if silent:
                values[absent] = 0
            if self.zscores is not None:
                values[:] = self._zscores(values, self.zscores.get(line.name, {}))
        return table

    def _zscores(self, values: Floats, scales: Scales) -> Floats:
        """How many standard deviations each query's value is above its mean."""
        mean, deviation = np.array([scales.get(query, (np.nan, 0.0)) for query in self.ids]).T
        same = np.where(values == mean, 0, MISSING)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.divide(values - mean, deviation, out=same, where=deviation != 0)

    def _queries(self, queries: Integers, table: Floats) -> Iterator[str]:
        """The lines of every query, of some queries at a time: all of them can be longer than the run."""
        shown = [i for i, line in enumerate(self.printed) if line.numbers or line.kind.style in ("value", "count")]
        strings = {i: self._grade_strings(self.printed[i]) for i in shown if self.printed[i].numbers}
        step = 3 * len(shown)
        for part in np.array_split(queries, len(queries) * len(shown) // LINES + 1):
            pieces = [""] * (step * len(part))
            names = [f"\t{self._name(q)}\t" for q in part.tolist()]
            for at, i in enumerate(shown):
                line = self.printed[i]
                pieces[3 * at :: step] = [self._label(line)] * len(part)
                pieces[3 * at + 1 :: step] = names
                pieces[3 * at + 2 :: step] = (
                    [f"'{signs}'\n" for signs in strings[i].take(part)]
                    if i in strings
                    else self._numbers(line, table[i, part])
                )
            yield "".join(pieces)

    def _summary(self, counted: Integers, table: Floats) -> str:
        out = []
        for line, values in zip(self.printed, table, strict=True):
            if line.name == "runid":
                out.append(f"{self._label(line)}\tall\t{self.tag}\n")
            elif line.name == "num_q":
                number = f"{len(counted)}" if self.zscores is None else f"{len(counted):6.4f}"
                out.append(f"{self._label(line)}\tall\t{number}\n")
            elif line.measures:
                # One after the other, as trec_eval adds them: in the last digit the order can show.
                total = float(np.add.accumulate(values[counted])[-1])
                style = line.kind.style
                mean = total if style == "count" else total / len(counted)
                value = float(np.exp(mean)) if style == "geometric" else mean
                out.append(f"{self._label(line)}\tall\t{self._numbers(line, np.array([value]))[0]}")
        return "".join(out)

    def _label(self, line: Line) -> str:
        number = line.measures or line.name == "num_q"
        return f"{'Z' if number and self.zscores is not None else ''}{line.name:<22}"

    def _numbers(self, line: Line, values: Floats) -> list[str]:
        """Values as they are printed, each with the end of its line."""
        if line.kind.style == "count" and self.zscores is None:
            return [f"{value}\n" for value in values.astype(np.int64).tolist()]
        return four_decimals(values)

    def _grade_strings(self, line: Line) -> Strings:
        """The grades of the first documents of each query, a sign for each."""
        batches = [(r.query, settled(ordered(r, Gains(), self.views), self.views)) for r in self.alignment.rankings]
        length = np.zeros(len(self.ids), np.int64)
        for rows, batch in batches:
            length[rows] = np.clip(line.numbers[0], 0, batch.length)
        offsets = np.concatenate([[0], np.cumsum(length)])
        signs = np.full(offsets[-1], ord("-"), np.uint8)
        for rows, batch in batches:
            row, column = np.nonzero(~np.isnan(batch.grade) & (batch.start < length[rows][:, None]))
            signs[offsets[rows[row]] + batch.start[row, column]] = _signs(batch.grade[row, column])
        return Strings(offsets, signs)


def _signs(grades: Floats) -> Bytes:
    digits = np.frombuffer(b"0123456789>", np.uint8)[np.clip(grades, 0, 10).astype(np.int64)]
    return np.where(grades < 0, np.uint8(ord(".")), digits)


def four_decimals(values: Floats) -> list[str]:
    """Each value as C's %6.4f has it, and a newline."""
    if len(values) < FEW:
        return [f"{value:6.4f}\n" for value in values.tolist()]
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = values * 10_000
        nearest = np.rint(scaled)
        # Near the middle of two texts the rounding of the product could decide between them.
        sure = (np.abs(scaled - nearest) < 0.499) & (nearest <= 10_000) & ~np.signbit(values)
    texts = _ten_thousandths()[np.where(sure, nearest, 0).astype(np.int64)]
    texts[~sure] = [f"{value:6.4f}\n" for value in values[~sure].tolist()]
    return list(texts)


@cache
def _ten_thousandths() -> npt.NDArray[np.object_]:
    """The texts of all scores from 0 to 1: to look one up takes a tenth of the time that it takes to make it."""
    return np.array([f"{number / 10_000:6.4f}\n" for number in range(10_001)], object)


def _zscores(path: str) -> dict[str, Scales]:
    """Means and standard deviations by measure and query, from lines `query measure mean deviation`."""
    scales: dict[str, Scales] = {}
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    query, measure, mean, deviation = line.split()
                    by_query = scales.setdefault(measure.decode("utf-8", "surrogateescape"), {})
                    by_query[query] = float(mean), float(deviation)
                except ValueError:
                    raise InputError(
                        [f"{path}:{number}: expected query, measure, mean and standard deviation"]
                    ) from None
    except OSError as error:
        raise InputError([f"{path}: {(error.strerror or str(error)).lower()}"]) from error
    return scales
