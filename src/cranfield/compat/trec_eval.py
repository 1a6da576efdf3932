"""The program trec_eval, version 9 or 10: what it prints for judgments and a run."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from cranfield.compat.trec_measures import (
    FORMATS,
    KINDS,
    Generation,
    Line,
    MeasureOptions,
    ParameterError,
    exact_values,
    lines,
    measures_of_version,
    nickname,
)
from cranfield.data import Floats, Integers, Judgments, Opener, Run, Strings
from cranfield.errors import CranfieldError, InputError, MeasureError
from cranfield.evaluation.plan import AlignmentKey, Column
from cranfield.evaluation.run_scores import RunScores, layer_rows
from cranfield.evaluation.scores import SMALLEST
from cranfield.io import read_qrels, read_run
from cranfield.measures import Measure
from cranfield.ranking.alignment import Aligner, Alignment
from cranfield.ranking.views import Gains, Views, condense_and_terminate, ordered
from cranfield.settings import Option
from cranfield.wording import printable

VERSIONS: dict[Generation, str] = {9: "9.0.8", 10: "10.0"}
USAGE, UNREADABLE, UNCOMPUTABLE, NO_QUERY = 1, 2, 4, 7  # exit codes
MISSING = -1_000_000.0  # the z-score of a value that is not in the file of means
TAIL = 1 << 16
LINES = 1 << 17  # lines that are formatted at a time
FEW = 500  # values that are formatted one by one

# The mean and the standard deviation of a measure, by query.
Scales = dict[bytes, tuple[float, float]]


class TrecEvalError(CranfieldError):
    """An error with trec_eval's exit code."""

    def __init__(self, message: str, exit_code: int, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Options:
    """The options of trec_eval."""

    query_eval_wanted: Annotated[
        bool, "Print the scores of every query, then the summary.", Option("-q --query_eval_wanted")
    ] = False
    measures: Annotated[
        tuple[str, ...],
        "A measure, or one of official, set, all_trec, prefs, all_prefs, qrels_jg; may be repeated.",
        Option("-m --measure", "NAME[.PARAMS]", default="official"),
    ] = ()
    complete: Annotated[bool, "Average over all judged queries.", Option("-c --complete_rel_info_wanted")] = False
    level: Annotated[int, "The lowest relevant grade.", Option("-l --level_for_rel", "N")] = 1
    nosummary: Annotated[bool, "Do not print the summary.", Option("-n --nosummary")] = False
    judged_docs_only: Annotated[bool, "Leave out unjudged documents.", Option("-J --Judged_docs_only")] = False
    number_docs: Annotated[
        int, "Number of documents in the collection; used by utility only.", Option("-N --Number_docs_in_coll", "N")
    ] = 0
    max_retrieved: Annotated[
        int | None, "Use only the first N documents of each query.", Option("-M --Max_retrieved_per_topic", "N")
    ] = None
    zscores: Annotated[str, "Print z-scores; FILE has means and deviations.", Option("-Z --Zscore", "FILE")] = ""
    rel_info_format: Annotated[
        str, "Format of QRELS: qrels, qrels_jg, prefs or qrels_prefs.", Option("-R --Rel_info_format", "NAME")
    ] = "qrels"
    results_format: Annotated[
        str, "Format of RUN; only trec_results is supported.", Option("-T --Results_format", "NAME")
    ] = "trec_results"
    generation: Generation = 9
    only: str = ""  # the query that -D selects

    @property
    def counts_missing(self) -> bool:
        """Whether a query that is not in the run counts as an empty ranking."""
        return self.complete and self.generation == 10

    def check(self) -> None:
        """Raise for values that are invalid or not supported."""
        for name, format, expected in (
            ("judgment", self.rel_info_format, [*FORMATS]),
            ("run", self.results_format, ["trec_results"]),
        ):
            if format not in expected:
                hint = f"use {' or '.join(f'`{choice}`' for choice in expected)}"
                raise TrecEvalError(f"unknown {name} format `{format}`", UNREADABLE, hint=hint)
        if self.level < 1:
            raise TrecEvalError(
                f"the lowest relevant grade (-l) must be at least 1, not {self.level}",
                USAGE,
                hint="grade 0 means not relevant",
            )
        if self.max_retrieved is not None and self.max_retrieved < 1:
            raise TrecEvalError(f"the number of documents (-M) must be at least 1, not {self.max_retrieved}", USAGE)


def requested_measures(measures: Sequence[str], generation: Generation) -> dict[str, str]:
    """Measures in the order in which they are printed, each with its parameters ("" for the defaults)."""
    parameters_of: dict[str, str] = {}
    for text in measures or ("official",):
        name, dot, parameters = text.partition(".")
        if dot and not parameters:
            raise TrecEvalError(f"`{text}`: parameters are missing after the dot", USAGE)
        for measure in nickname(name, generation) or [name]:
            if measure not in measures_of_version(generation):
                hint = (
                    f"use version 10: --compat 10 -m {text}"
                    if measure in measures_of_version(10)
                    else "see `cranfield trec_eval -h`"
                )
                raise TrecEvalError(f"trec_eval {VERSIONS[generation]} has no measure `{measure}`", USAGE, hint=hint)
            # If a measure has several lists of parameters, trec_eval reads the first.
            parameters_of[measure] = parameters_of.get(measure) or (parameters if measure == name else "")
    return {name: parameters_of[name] for name in measures_of_version(generation) if name in parameters_of}


def explain_measures(measures: dict[str, str]) -> str:
    """The meaning of measures, from the catalogue."""
    out = []
    for name, parameters in measures.items():
        definitions = [m.definition for m in next(lines(name, parameters, MeasureOptions())).measures[:1]]
        out += [f"\n{name}\n", *(f"    {d.symbol}: {d.summary}\n    {d.formula}\n" for d in definitions)]
    return "".join(out)


def evaluate(qrels: Any, run: Any, options: Options) -> Iterator[str]:
    """The output of trec_eval, some queries at a time; an error comes after the output that precedes it."""
    options.check()
    printed_measures = requested_measures(options.measures, options.generation)
    views = Views("trec9" if options.generation == 9 else "trec", options.max_retrieved, options.judged_docs_only)
    shared = MeasureOptions(options.generation, options.level, options.number_docs, views)
    _check_judged(printed_measures, options.rel_info_format)
    try:
        layers = _read_judgments(qrels, options.rel_info_format)
        source = read_run(run)
        end = _RunEnd(source.source) if callable(source.source) else None
        printed = [line for name, parameters in printed_measures.items() for line in lines(name, parameters, shared)]
        alignments = [_aligned(Aligner(layer), source, end, views, blank=options.counts_missing) for layer in layers]
        if FORMATS[options.rel_info_format] == "preferences":
            alignments = [_ties_by_ascending_id(alignment) for alignment in alignments]
        zscores = _zscores(options.zscores) if options.zscores else None
    except InputError as error:
        # trec_eval finds repeated documents when it computes, not when it reads.
        repeated = bool(error.kinds) and error.kinds <= {"duplicate", "conflict"}
        raise TrecEvalError(error.message, UNCOMPUTABLE if repeated else UNREADABLE, hint=error.hint) from error
    except MeasureError as error:
        raise TrecEvalError(error.message, ParameterError.exit_code, hint=error.hint) from error
    # A run that is not TREC text has a name, but no lines.
    first = alignments[0].queries.tag
    tag = source.name if end is None else (end.tag() or first).decode("utf-8", "surrogateescape")
    yield from _Report(alignments, printed, options, views, source, tag, zscores).text()


def _check_judged(measures: dict[str, str], format: str) -> None:
    """Raise if a measure reads other judgments than those of this format."""
    for name in measures:
        needed = KINDS[name].judged
        if name not in ("runid", "num_q") and needed != FORMATS[format]:
            formats = " or ".join(f"-R {other}" for other, judged in FORMATS.items() if judged == needed)
            message = f"`{name}` cannot be computed from judgments in the format `{format}`"
            suited = {"grades": "official", "groups": "qrels_jg", "preferences": "prefs"}[FORMATS[format]]
            raise TrecEvalError(
                message,
                UNCOMPUTABLE,
                hint=f"use {formats}, or other measures, for example -m {suited}",
            )


def _read_judgments(source: Any, format: str) -> list[Judgments]:
    """The judgments; with groups, those of the first group of each query, of the second one, and so on."""
    if format == "qrels":
        return [read_qrels(source)]
    from cranfield.io.side_tables import read_groups, read_preferences

    if format == "qrels_jg":
        return read_groups(source)
    return [read_preferences(source, "prefs" if format == "prefs" else "qrels_prefs")]


def _aligned(aligner: Aligner, run: Run, end: _RunEnd | None, views: Views, *, blank: bool) -> Alignment:
    """The run aligned with the judgments; as in trec_eval, text after the sixth column is ignored.

    ``blank``: a run of blank lines has no queries, and is no error.
    """
    if end is None:
        return aligner.align(run, views.key)
    try:
        return aligner.align(replace(run, source=end), views.key)
    except InputError as error:
        if blank and "blank" in error.kinds:
            return aligner.align(replace(run, source={}), views.key)
        if "columns" not in error.kinds:
            raise
    # Few runs have such text: only these are read a second time, through a filter.
    end.opener = partial(_SixColumns, end.opener)
    return aligner.align(replace(run, source=end), views.key)


def _ties_by_ascending_id(alignment: Alignment) -> Alignment:
    """The alignment with the order of tied documents reversed, as trec_eval has it for preferences and only there."""
    positions = alignment.positions
    return replace(alignment, positions=positions._replace(by_id=positions.size - 1 - positions.by_id))


class _RunEnd:
    """Opens a run and keeps its last bytes: trec_eval prints the run id of the last line."""

    def __init__(self, opener: Opener) -> None:
        self.opener = opener
        self._stream: Any = None
        self._end = b""

    def __call__(self) -> Any:
        source = self.opener()
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
        """The run id of the last line; empty if that line is too long."""
        rows = [line.split() for line in self._end.split(b"\n") if line.strip() and not line.lstrip().startswith(b"#")]
        return rows[-1][5] if rows and len(rows[-1]) > 5 else b""


class _SixColumns:
    """The text of a run without what follows the sixth column of a line."""

    # Blanks between columns are required: a column must not be split to make six of five.
    PATTERN = re.compile(rb"(?m)^([\t\v\f\r ]*(?:[^\x00\t-\r ]+[\t\v\f\r ]+){5}[^\x00\t-\r ]+)[\t\v\f\r ][^\x00\n]*")

    def __init__(self, opener: Opener) -> None:
        source = opener()
        self._stream: Any = os.fdopen(source, "rb", buffering=0) if isinstance(source, int) else source
        self._rest = self._ready = b""

    def __del__(self) -> None:
        if not self._stream.closed:  # a run with faults is not read to its end
            self._stream.close()

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            chunk = bytearray(TAIL)
            count = self._stream.readinto(chunk) or 0
            lines, newline, rest = (self._rest + bytes(chunk[:count])).rpartition(b"\n")
            if not count:
                lines, newline, rest = lines + newline + rest, b"", b""
            self._ready, self._rest = self.PATTERN.sub(rb"\1", lines + newline), rest
            if not count:
                break
        view = memoryview(buffer).cast("B")
        part, self._ready = self._ready[: len(view)], self._ready[len(view) :]
        view[: len(part)] = part
        return len(part)


@dataclass(eq=False)
class _Report:
    """The output for one run; ``layers``: its alignments with the judgments, by groups."""

    layers: Sequence[Alignment]
    printed: Sequence[Line]
    options: Options
    views: Views
    run: Run
    tag: str
    zscores: dict[str, Scales] | None

    def __post_init__(self) -> None:
        self.alignment = self.layers[0]
        self.ids = [name.encode("utf-8", "surrogateescape") for name in self.alignment.aligner.judgments.queries]
        # Bytewise, as strcmp has it: q10 before q2.
        order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
        only = self.options.only
        self.queries = np.array([q for q in order if not only or self._name(q) == only], np.int64)

    def _name(self, query: int) -> str:
        return self.ids[query].decode("utf-8", "surrogateescape")

    def text(self) -> Iterator[str]:
        options, length = self.options, self.alignment.length[self.queries]
        answered = self.queries[length >= 0]
        blank = options.counts_missing and not len(self.alignment.queries.other)
        if not len(answered) and not blank:
            raise TrecEvalError(
                "the run and the judgments have no query in common",
                NO_QUERY,
                hint=f"the judgments have queries such as `{self._name(0)}`",
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
                f"{source_name}: the run has no query `{self._name(counted[stop])}`",
                UNCOMPUTABLE,
                hint="use -c to count such queries as 0, or --compat 9 to leave them out",
            )
        if not options.nosummary:
            yield self._summary(counted, table)

    def _table(self) -> Floats:
        """The value of each line for each judged query, including those that are not in the run."""
        judged = len(self.alignment.length)
        table = np.zeros((len(self.printed), judged))
        count = np.zeros(judged)
        # The mean over groups; most judgments have one layer.
        for rows, alignment in zip(layer_rows([a.aligner.judgments for a in self.layers]), self.layers, strict=True):
            table[:, rows] += self._layer(alignment)
            count[rows] += 1
        table /= count
        if self.options.judged_docs_only:
            self._divide_by_no_document(table)
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

    def _layer(self, alignment: Alignment) -> Floats:
        """The value of each line for each query of one layer."""
        values_of = self._values_of(alignment)
        table = np.zeros((len(self.printed), len(alignment.length)))
        for line, values in zip(self.printed, table, strict=True):
            if line.exact is not None:
                exact = exact_values(line.exact, alignment, line.measures[0], line.number, len(alignment.length))
                values[:] = line.finished(exact, values_of)
            elif line.measures:
                values[:] = line.values(values_of)
        return table

    def _values_of(self, alignment: Alignment) -> Callable[[Measure], Floats]:
        """The values of a measure of the catalogue, for all judged queries."""
        key = AlignmentKey(content=False, key=self.views.key)
        scores = RunScores(self.run, {key: alignment})
        return lambda measure: scores[Column(measure, alignment=key)].value[: len(alignment.length)]

    def _divide_by_no_document(self, table: Floats) -> None:
        """Set interpolated precision to NaN where -J left no document: trec_eval divides by their number there."""
        options = MeasureOptions(self.options.generation, self.options.level, views=self.views)
        if not any(line.levels for line in self.printed):
            return
        values_of = self._values_of(self.alignment)
        empty = values_of(options.measure("NumRet")) == 0
        R = values_of(options.measure(f"NumRel(rel={options.level})"))
        for line, values in zip(self.printed, table, strict=True):
            needed = np.array(
                [np.floor(level * R + (0.9 if options.generation == 9 else 0.5)) for level in line.levels]
            )
            if len(needed):
                values[empty & (needed == 0).any(axis=0)] = np.nan

    def _zscores(self, values: Floats, scales: Scales) -> Floats:
        """The z-score of each query."""
        mean, deviation = np.array([scales.get(query, (np.nan, 0.0)) for query in self.ids]).T
        same = np.where(values == mean, 0, MISSING)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.divide(values - mean, deviation, out=same, where=deviation != 0)

    def _queries(self, queries: Integers, table: Floats) -> Iterator[str]:
        """The lines of every query, in parts: together they can be longer than the run."""
        shown = [i for i, line in enumerate(self.printed) if line.numbers or line.kind.style in ("value", "count")]
        strings = {i: self._grade_strings(self.printed[i]) for i in shown if self.printed[i].numbers}
        step = 3 * len(shown)
        for part in np.array_split(queries, len(queries) * len(shown) // LINES + 1):
            pieces = [""] * (step * len(part))
            names = [f"\t{printable(self._name(q))}\t" for q in part.tolist()]
            for column, i in enumerate(shown):
                line = self.printed[i]
                pieces[3 * column :: step] = [self._label(line)] * len(part)
                pieces[3 * column + 1 :: step] = names
                pieces[3 * column + 2 :: step] = (
                    [f"'{signs}'\n" for signs in strings[i].take(part)]
                    if i in strings
                    else self._numbers(line, table[i, part])
                )
            yield "".join(pieces)

    def _summary(self, counted: Integers, table: Floats) -> str:
        out = []
        for line, values in zip(self.printed, table, strict=True):
            if line.name == "runid":
                out.append(f"{self._label(line)}\tall\t{printable(self.tag)}\n")
            elif line.name == "num_q":
                number = f"{len(counted)}" if self.zscores is None else f"{len(counted):6.4f}"
                out.append(f"{self._label(line)}\tall\t{number}\n")
            elif line.measures:
                style, added = line.kind.style, counted
                # Version 9 adds the logarithms of missing queries afterwards.
                if style == "geometric" and self.options.generation == 9:
                    added = counted[self.alignment.length[counted] >= 0]
                # Added in sequence, as by trec_eval: the order affects the last digit.
                total = float(np.add.accumulate(values[added])[-1]) + (len(counted) - len(added)) * math.log(SMALLEST)
                if line.name == "num_rel" and self.options.complete:
                    total = self._relevant(counted)
                mean = total if style == "count" else total / len(counted)
                value = math.exp(mean) if style == "geometric" else mean
                out.append(f"{self._label(line)}\tall\t{self._numbers(line, np.array([value]))[0]}")
        return "".join(out)

    def _relevant(self, counted: Integers) -> float:
        """Documents of grade 1 and above: what trec_eval counts with -c, whatever -l says."""
        begin = self.alignment.aligner.judgments.begin
        total = np.concatenate([[0], np.cumsum(self.alignment.aligner.grade >= 1)])
        return float((total[begin[counted + 1]] - total[begin[counted]]).sum())

    def _label(self, line: Line) -> str:
        number = line.measures or line.name == "num_q"
        return f"{'Z' if number and self.zscores is not None else ''}{line.name:<22}"

    def _numbers(self, line: Line, values: Floats) -> list[str]:
        """Values as printed, each with a newline."""
        if line.kind.style == "count" and self.zscores is None:
            return [f"{value}\n" for value in values.astype(np.int64).tolist()]
        return four_decimals(values)

    def _grade_strings(self, line: Line) -> Strings:
        """The grades of the first documents of each query, one character each."""
        batches = [
            (r.query, condense_and_terminate(ordered(r, Gains(), self.views), self.views))
            for r in self.alignment.rankings
        ]
        length = np.zeros(len(self.ids), np.int64)
        # Version 10 prints one sign for a query that is not in the run.
        least = np.where((self.alignment.length < 0) & (self.options.generation == 10), 1, 0)
        for rows, batch in batches:
            length[rows] = np.clip(line.numbers[0], 0, np.maximum(batch.length, least[rows]))
        offsets = np.concatenate([[0], np.cumsum(length)])
        signs = np.full(offsets[-1], ord("-"), np.uint8)
        for rows, batch in batches:
            row, column = np.nonzero(~np.isnan(batch.grade) & (batch.start < length[rows][:, None]))
            grade = np.clip(np.floor(batch.grade[row, column]), -1, 10).astype(np.int64)
            signs[offsets[rows[row]] + batch.start[row, column]] = np.frombuffer(b".0123456789>", np.uint8)[grade + 1]
        return Strings(offsets, signs)


def four_decimals(values: Floats) -> list[str]:
    """Each value in C's format %6.4f, with a newline."""
    if len(values) < FEW:
        return [_four_decimals(value) for value in values.tolist()]
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = values * 10_000
        nearest = np.rint(scaled)
        # Near the middle between two texts, the rounding of the product could choose the wrong one.
        safe = (np.abs(scaled - nearest) < 0.499) & (nearest <= 10_000) & ~np.signbit(values)
    texts = _ten_thousandths()[np.where(safe, nearest, 0).astype(np.int64)]
    texts[~safe] = [_four_decimals(value) for value in values[~safe].tolist()]
    return list(texts)


def _four_decimals(value: float) -> str:
    # C prints the sign of NaN, and that of 0/0 is negative.
    return f"{value:6.4f}\n" if value == value else "  -nan\n"


@cache
def _ten_thousandths() -> npt.NDArray[np.object_]:
    """The texts of all scores from 0 to 1: a lookup takes a tenth of the time of formatting."""
    return np.array([f"{number / 10_000:6.4f}\n" for number in range(10_001)], object)


def _zscores(path: str) -> dict[str, Scales]:
    """Means and standard deviations by measure and query, from lines `query measure mean deviation`."""
    scales: dict[str, Scales] = {}
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    query, measure, mean, deviation = line.split()
                    by_query = scales.setdefault(measure.decode("utf-8", "surrogateescape"), {})
                    by_query[query] = float(mean), float(deviation)
                except ValueError:
                    raise InputError([f"{path}:{number}: expected 4 columns (query measure mean deviation)"]) from None
    except OSError as error:
        raise InputError([f"{path}: {(error.strerror or str(error)).lower()}"]) from error
    return scales
