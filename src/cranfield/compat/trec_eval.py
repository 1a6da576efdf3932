"""The program trec_eval: what it prints for judgments and a run, version 9 or 10."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.alignment import Aligner, Alignment
from cranfield.compat.trec_measures import (
    PREFERENCES,
    Generation,
    Line,
    ParameterError,
    Setting,
    known,
    lines,
    nickname,
    scores,
)
from cranfield.data import Floats, Run
from cranfield.errors import CranfieldError, InputError, MeasureError
from cranfield.formats import read_qrels, read_run
from cranfield.views import Gains, Views, ordered, settled

VERSIONS: dict[Generation, str] = {9: "9.0.8", 10: "10.0"}
USAGE, UNREADABLE, UNCOMPUTABLE, NOTHING = 1, 2, 4, 7
MISSING = -1_000_000.0  # the z-score of a value that the file of means does not know
TAIL = 1 << 16


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
    """What trec_eval prints, query by query; a query that stops it does so after what comes before."""
    options.check()
    asked = requested(options.measures, options.generation)
    views = Views("trec9" if options.generation == 9 else "trec", options.max_retrieved, options.judged_docs_only)
    setting = Setting(options.generation, options.level, options.number_docs, views)
    try:
        judgments = read_qrels(qrels)
        source = read_run(run)
        printed = [line for name, parameters in asked.items() for line in lines(name, parameters, setting)]
        alignment = Aligner(judgments).align(source, views.key)
        zscores = _zscores(options.zscores) if options.zscores else None
    except InputError as error:
        raise TrecEvalError(error.message, _code(error), hint=error.hint) from error
    except MeasureError as error:
        raise TrecEvalError(error.message, ParameterError.exit_code, hint=error.hint) from error
    yield from _Report(alignment, printed, options, views, source, zscores).text()


def _code(error: InputError) -> int:
    """A document given twice is found when measures are computed, and not when files are read."""
    twice = all("appears twice for" in fault or "is judged again for" in fault for fault in error.faults)
    return UNCOMPUTABLE if twice else UNREADABLE


class _Report:
    """One run against its judgments, as text."""

    def __init__(
        self,
        alignment: Alignment,
        printed: Sequence[Line],
        options: Options,
        views: Views,
        run: Run,
        zscores: dict[tuple[str, str], tuple[float, float]] | None,
    ) -> None:
        self.alignment, self.printed, self.options, self.views = alignment, printed, options, views
        self.run, self.zscores = run, zscores
        names = list(alignment.aligner.judgments.queries)
        # Bytewise, as strcmp has it: q10 before q2.
        order = sorted(range(len(names)), key=lambda q: names[q].encode("utf-8", "surrogateescape"))
        self.queries = [q for q in order if not options.only or names[q] == options.only]
        self.names = names

    def text(self) -> Iterator[str]:
        options, alignment = self.options, self.alignment
        answered = [q for q in self.queries if alignment.length[q] >= 0]
        if not answered:
            raise TrecEvalError(
                "no query has both results and judgments",
                NOTHING,
                hint=f"the judgments are for queries such as `{self.names[0]}`",
            )
        counted = self.queries if options.complete or options.generation == 10 else answered
        stop = len(counted)
        if options.generation == 10 and not options.complete:
            stop = next((i for i, q in enumerate(counted) if alignment.length[q] < 0), stop)
        found = scores(alignment, self.printed)
        table = {line.name: self._values(line, found) for line in self.printed if line.measures}
        if options.query_eval_wanted:
            shown = counted[:stop] if options.generation == 10 else answered
            strings = {line.name: self._strings(line) for line in self.printed if line.numbers}
            for q in shown:
                yield self._block(q, table, strings)
        if stop < len(counted):
            raise TrecEvalError(
                f"{self.run.place or self.run.name}: there are no results for query `{self.names[counted[stop]]}`",
                UNCOMPUTABLE,
                hint="-c counts such queries as 0; trec_eval 9 (--compat 9) leaves them out",
            )
        if not options.nosummary:
            yield self._summary(counted, table)

    def _values(self, line: Line, found: dict[Any, Floats]) -> Floats:
        """A line's value for every judged query, a query that is not in the run included."""
        absent = self.alignment.length < 0
        kept = line.name == "num_rel" or line.kind.style == "geometric"
        silent = not kept if self.options.generation == 9 else line.kind.silent
        values = np.where(absent & silent, 0, line.values(found))
        if self.zscores is None:
            return values
        return np.array([self._zscore(name, line.name, x) for name, x in zip(self.names, values, strict=True)])

    def _zscore(self, query: str, measure: str, value: float) -> float:
        mean, deviation = (self.zscores or {}).get((query, measure), (np.nan, 0.0))
        if deviation:
            return (value - mean) / deviation
        return 0.0 if value == mean else MISSING

    def _block(self, query: int, table: dict[str, Floats], strings: dict[str, list[str]]) -> str:
        out = []
        for line in self.printed:
            if line.name in strings:
                out.append(f"{line.name:<22}\t{self.names[query]}\t'{strings[line.name][query]}'\n")
            elif line.kind.style in ("value", "count"):
                out.append(self._row(line, self.names[query], table[line.name][query]))
        return "".join(out)

    def _summary(self, counted: Sequence[int], table: dict[str, Floats]) -> str:
        out = []
        for line in self.printed:
            if line.name == "runid":
                out.append(f"{'runid':<22}\tall\t{_tag(self.run, self.alignment)}\n")
            elif line.name == "num_q":
                number = f"{len(counted)}" if self.zscores is None else f"{len(counted):6.4f}"
                out.append(f"{self._mark}{'num_q':<22}\tall\t{number}\n")
            elif line.measures:
                # One after the other, as trec_eval adds them: in the last digit the order can show.
                total = float(np.add.accumulate(table[line.name][counted])[-1])
                style = line.kind.style
                mean = total if style == "count" else total / len(counted)
                out.append(self._row(line, "all", float(np.exp(mean)) if style == "geometric" else mean))
        return "".join(out)

    @property
    def _mark(self) -> str:
        return "" if self.zscores is None else "Z"

    def _row(self, line: Line, query: str, value: float) -> str:
        number = f"{value:.0f}" if line.kind.style == "count" and self.zscores is None else f"{value:6.4f}"
        return f"{self._mark}{line.name:<22}\t{query}\t{number}\n"

    def _strings(self, line: Line) -> list[str]:
        """The grades of the first documents of each query, a sign for each."""
        width = max(int(line.numbers[0]), 0)
        out = [""] * len(self.names)
        for rows, batch in self.alignment.batches:
            seen = settled(ordered(batch, Gains(), self.views), self.views)
            signs = np.full((len(rows), width), "-")
            row, column = np.nonzero(~np.isnan(seen.grade) & (seen.start < width))
            signs[row, seen.start[row, column]] = [_sign(grade) for grade in seen.grade[row, column].tolist()]
            for q, found, length in zip(rows.tolist(), signs.tolist(), seen.length.tolist(), strict=True):
                out[q] = "".join(found[:length])
        return out


def _sign(grade: float) -> str:
    return "." if grade < 0 else ">" if grade >= 10 else str(int(grade))


def _tag(run: Run, alignment: Alignment) -> str:
    """The last line's run id, as trec_eval has it; a run that is no TREC text has a name."""
    if not callable(run.source):
        return run.name
    tag = _last_tag(run.source) or bytes(alignment.rows["tag"])
    return tag.decode("utf-8", "surrogateescape")


def _last_tag(opener: Callable[[], Any]) -> bytes:
    stream, end = opener(), b""
    if isinstance(stream, int):
        with open(stream, "rb") as file:
            file.seek(max(os.fstat(stream).st_size - TAIL, 0))
            end = file.read()
    else:
        with stream:
            while piece := stream.read(TAIL):
                end = (end + piece)[-TAIL:]
    rows = [line.split() for line in end.split(b"\n") if line.strip() and not line.lstrip().startswith(b"#")]
    return rows[-1][5] if rows and len(rows[-1]) > 5 else b""


def _zscores(path: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Means and standard deviations by query and measure, from lines `query measure mean deviation`."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.split() for line in file]
    except OSError as error:
        raise InputError([f"{path}: {(error.strerror or str(error)).lower()}"]) from error
    found = {}
    for number, row in enumerate(rows, 1):
        try:
            query, measure, mean, deviation = row
            found[query, measure] = float(mean), float(deviation)
        except ValueError:
            raise InputError([f"{path}:{number}: expected query, measure, mean and standard deviation"]) from None
    return found
