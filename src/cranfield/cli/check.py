"""``cranfield check``: all errors in the input files at once, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import click
import numpy as np

from cranfield.cli import options
from cranfield.cli.commands import Verb
from cranfield.cli.output import emit, say
from cranfield.data import Judgments, Run
from cranfield.errors import InputError, listing_faults
from cranfield.evaluation.evaluator import check_argument_order
from cranfield.evaluation.notes import scores_against_ranks
from cranfield.evaluation.run_scores import check_query_overlap
from cranfield.io import check_run, read_qrels, read_run
from cranfield.ranking.alignment import Aligner, Alignment
from cranfield.wording import plural, printable

SHOWN = 5  # queries that a warning names
TOP = 10  # depth for the share of unjudged documents


@click.command(cls=Verb, short_help="Report all errors in the input files.")
@options.inputs
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="List at most N errors of each file.")
@click.pass_context
def command(ctx: click.Context, qrels: str, runs: tuple[str, ...], limit: int | None) -> None:
    """Report all errors in QRELS and RUNs, with file and line, and warnings.

    Warnings are about queries that only one file has, tied scores, scores that contradict ranks, unjudged documents,
    and queries without relevant documents. The exit code is that of `cranfield eval`: 1 if there are errors; warnings
    do not change it.

    \b
    cranfield check qrels.txt bm25.run dense.run
    """
    with listing_faults(limit):
        reports = check_files(qrels, runs)
    emit("".join(f"{line}\n" for report in reports for line in report.lines()))
    errors = sum(report.errors for report in reports)
    warnings = sum(len(report.warnings) for report in reports)
    say(f"{plural(len(reports), 'file')}: {plural(errors, 'error')}, {plural(warnings, 'warning')}")
    if errors:
        ctx.exit(1)


@dataclass(frozen=True)
class FileReport:
    """The errors and warnings of one file."""

    path: str
    error: InputError | None = None
    warnings: tuple[str, ...] = ()

    @property
    def errors(self) -> int:
        return self.error.total if self.error else 0

    def lines(self) -> Iterator[str]:
        """Errors as they are; warnings and hints after the name of the file."""
        if self.error:
            yield from self.error.message.splitlines()
            if self.error.hint:
                yield printable(f"{self.path}: hint: {self.error.hint}")
        for warning in self.warnings:
            yield printable(f"{self.path}: warning: {warning}")


def check_files(qrels: str, runs: Sequence[str]) -> list[FileReport]:
    """A report on every file: errors in one do not hide those of the next."""
    aligner = None
    try:
        judgments = read_qrels(qrels)
        aligner = Aligner(judgments)
        first = FileReport(qrels, warnings=tuple(judgment_warnings(judgments)))
    except InputError as error:
        first = FileReport(qrels, error)
    reports = [first]
    opened = []
    for path in runs:
        try:
            run = read_run(path)
            reports.append(_check_run(path, run, aligner))
            opened.append(run)
        except InputError as error:
            reports.append(FileReport(path, error))
    if aligner is not None and len(opened) == len(runs):
        check_argument_order(aligner.judgments, opened)
    return reports


def _check_run(path: str, run: Run, aligner: Aligner | None) -> FileReport:
    if aligner is None:
        return FileReport(path, check_run(run))
    alignment = aligner.align(run, by_id=False)
    check_query_overlap(run, alignment)
    return FileReport(path, warnings=tuple(run_warnings(alignment)))


def judgment_warnings(judgments: Judgments) -> Iterator[str]:
    """Warnings about judgments that are well formed."""
    begin, grade = judgments.begin, judgments.grade
    without = [q for q, (a, b) in enumerate(pairwise(begin)) if not (grade[a:b] >= 1).any()]
    if without:
        total, names = plural(len(judgments.queries), "query"), first_of([judgments.queries[q] for q in without])
        yield f"{len(without):,} of {total} without relevant documents (grade 1 or higher): {names}"
    if negative := int((grade < 0).sum()):
        yield f"{plural(negative, 'judgment')} with a negative grade, treated as unjudged"
    if judgments.repeated:
        yield f"{plural(judgments.repeated, 'judgment')} given more than once"


def run_warnings(alignment: Alignment) -> Iterator[str]:
    """Warnings about a run and its judgments."""
    queries, rows, length = alignment.aligner.judgments.queries, alignment.rows, alignment.length
    missing = np.flatnonzero(length < 0).tolist()
    if missing:
        names = first_of([queries[q] for q in missing])
        yield f"{len(missing):,} of {len(length):,} judged queries are not in the run: {names}"
    if other := list(alignment.other):
        yield f"{plural(len(other), 'query')} without judgments: {first_of(other)}"
    if queries_against := alignment.ranks_contradict:
        yield scores_against_ranks(queries_against)
    tied = rows["size"] > 1
    if tied.any():
        affected = plural(len(np.unique(rows["query"][tied])), "query")
        yield f"{int(tied.sum()):,} of {len(tied):,} judged documents have tied scores, in {affected}"
    shown = int(np.clip(length, 0, TOP).sum())
    # For a tie that the cutoff splits, count the expected share above the cutoff.
    judged = float((np.clip(TOP - rows["start"], 0, rows["size"]) / rows["size"]).sum())
    if shown and judged < shown - 0.5:
        yield f"{1 - judged / shown:.0%} of the top {TOP} documents are unjudged"


def first_of(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
