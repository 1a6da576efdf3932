"""Runs, judgments and measures in; scores out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, Literal, get_args

import numpy as np

from cranfield import formats
from cranfield.alignment import Aligner
from cranfield.arguments import one_of
from cranfield.data import Run
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.measures import Measure, parse
from cranfield.nil import with_nil
from cranfield.notes import UNOPENED, about, about_run, by_subtopic
from cranfield.scored import Aligners, Column, Scored, aligned, in_common, score
from cranfield.scores import UNDEFINED, Scores, Undefined
from cranfield.views import TIES, Ties, Views

Queries = Literal["judged", "both", "run"]
Negative = Literal["unjudged", "nonrel"]
NO_VIEWS = Views()


def evaluate(
    run: Any,
    qrels: Any,
    measures: str | Measure | Sequence[str | Measure],
    *,
    ties: Ties | None = None,
    depth: int | None = None,
    condensed: bool = False,
    terminal: bool = False,
    queries: Queries = "judged",
    undefined: Undefined = "skip",
    negative: Negative = "unjudged",
    residuals: bool = False,
    bounds: bool = False,
    nil: str | None = None,
    full_length: int | None = None,
    intents: Any = None,
    corpus: Any = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Scores:
    """The scores of one or several runs: a value for every query, and means that say what they are means of.

    ``run``: a path, ``{query: {document: score}}``, a DataFrame, a `Run`, or a list of these.
    ``qrels``: a path, ``{query: {document: grade}}``, a DataFrame, or `Judgments`.
    ``ties`` (default ``trec``), ``depth``, ``condensed``, ``terminal`` are views for every measure that
    does not name its own. ``queries`` chooses which count: all judged ones (what the run does not answer
    scores as an empty ranking), those in both, or all of the run's. ``undefined`` is what becomes, in
    means, of queries where a measure has no value. ``negative`` says what a negative grade is.
    ``nil`` is a document id that means "no answer": right, and worth full gain, where no document is relevant; in
    terminal measures it ends the list. ``full_length``: terminal measures take a list of this length for one that
    the system did not end, and score it without a terminal document.
    ``intents`` says how many readers want which subtopic: ``{query: {subtopic: weight}}``, or a file with lines
    ``query subtopic weight``; without it all subtopics that have a relevant document are alike.
    ``corpus`` is what measures of contents read: a `Corpus`, a file of one, a collection, or ``{document: text}``.
    ``residuals`` adds, for measures that have one, how much higher they could be if everything unseen were
    relevant; ``bounds`` the lowest and highest value that the unjudged documents retrieved leave possible.

    >>> import cranfield as cf
    >>> scores = cf.evaluate({"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 1}}, ["RR", "P@1"])
    >>> scores.to_dict()["runs"]["run"]["RR"]
    {'mean': 0.5, 'n': 1, 'queries': {'q': 0.5}}
    """
    plan = planned(
        measures,
        ties=ties,
        depth=depth,
        condensed=condensed,
        terminal=terminal,
        queries=queries,
        undefined=undefined,
        negative=negative,
        residuals=residuals,
        bounds=bounds,
        nil=nil,
        full_length=full_length,
        seed=seed,
    )
    columns = plan.columns
    runs = named(run, names)
    judgments, rows = formats.read_qrels(qrels), None
    if not len(judgments.queries):
        raise InputError([f"{judgments.name}: there is no judgment in it"])
    reading = [c.measure for c in plan.reading]
    scored, notes = [], by_subtopic(judgments, columns)
    if corpus is not None and not reading:
        notes.append(UNOPENED)
    if intents is not None:
        from cranfield.intents import with_intents

        judgments, said = with_intents(judgments, intents)
        notes += said
    if nil is not None:
        judgments, rows = with_nil(judgments, nil)
    asked = tuple(judgments.queries)
    work = len(runs) * (2 if reading else 1)
    aligners: Aligners = {}
    if reading:
        from cranfield.located import reader

        tell = None if progress is None else lambda done: progress(done, work)
        aligners[True] = reader(runs, judgments, reading, corpus, negative=negative, progress=tell)
    if len(reading) < len(columns):
        aligners[False] = Aligner(judgments, negative, rows)
    for i, (one, alignments) in enumerate(zip(runs, aligned(runs, aligners, columns), strict=True)):
        if queries != "run":
            in_common(one, next(iter(alignments.values())))
        found = score(one, alignments, columns, seed)
        notes += about_run(_cube([found], asked, plan), found, columns, queries)
        scored.append(found.released())
        if progress is not None:
            progress(work - len(runs) + i + 1, work)
    scores = _cube(scored, asked, plan)
    if undefined == "error":
        _ = scores.means  # raises where one is undefined
    return replace(scores, notes=tuple(dict.fromkeys([*about(scores, columns, queries), *notes])))


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be computed, and what counts: all that `evaluate` is told but for runs and judgments."""

    columns: tuple[Column, ...]
    queries: Queries
    undefined: Undefined
    negative: Negative
    nil: str | None
    seed: int

    @property
    def reading(self) -> list[Column]:
        """The columns of measures that read documents."""
        return [column for column in self.columns if column.measure.definition.content]


def planned(
    measures: Any,
    *,
    ties: Ties | None = None,
    depth: int | None = None,
    condensed: bool = False,
    terminal: bool = False,
    queries: Queries = "judged",
    undefined: Undefined = "skip",
    negative: Negative = "unjudged",
    residuals: bool = False,
    bounds: bool = False,
    nil: str | None = None,
    full_length: int | None = None,
    seed: int = 0,
) -> Plan:
    """The arguments of `evaluate`, checked; what they mean is said there."""
    one_of("ties", ties, (*TIES, None))
    one_of("queries", queries, get_args(Queries))
    one_of("undefined", undefined, UNDEFINED)
    one_of("negative", negative, get_args(Negative))
    for name, number in (("depth", depth), ("full_length", full_length)):
        whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if number is not None and (not whole or not 0 < number < 10**9):
            raise UsageError(f"{name} must be a whole number of at least 1, not {number!r}")
    if nil is not None and not isinstance(nil, str):
        raise UsageError(f"nil must be the text of a document id, not {nil!r}")
    views = Views(ties, depth, condensed, terminal, full_length)
    columns = columns_of(measures, views, residuals=residuals, bounds=bounds)
    plan = Plan(tuple(columns), queries, undefined, negative, nil, seed)
    if nil is not None and plan.reading:
        raise UsageError(f"{plan.reading[0].measure} reads documents, and nil is none", hint="leave one of the two out")
    return plan


def columns_of(
    measures: Any, defaults: Views = NO_VIEWS, *, residuals: bool = False, bounds: bool = False
) -> list[Column]:
    """The measures asked for, each once, with the views that apply, called as the user calls them."""
    alone = isinstance(measures, (str, Measure)) or hasattr(measures, "NAME")
    given = [measures] if alone else list(measures or ())
    if not given:
        raise MeasureError("no measure was asked for", hint="for example: AP, nDCG@10, RR")
    columns: list[Column] = []
    for one in given:
        measure = parse(one)
        wanted = measure.views.over(defaults)
        if not wanted.terminal:
            wanted = replace(wanted, full=None)
        seen = replace(measure, views=wanted)
        label = str(seen)
        if isinstance(one, str):  # called as the user calls it, with all views that apply
            label = one.strip() if seen == measure else f"{one.partition('[')[0].strip()}{wanted}"
        if any(c.label == label for c in columns):
            continue
        columns.append(Column(label, seen))
        if residuals and measure.definition.residual is not None and not seen.views.terminal:
            columns.append(Column(f"{label} residual", seen, "residual"))
        if bounds:
            columns += [Column(f"{label} lowest", seen, "lowest"), Column(f"{label} highest", seen, "highest")]
    return columns


def named(run: Any, names: Sequence[str] | None = None) -> list[Run]:
    """The runs asked for, not yet read, each with a name of its own."""
    given = list(run) if isinstance(run, (list, tuple)) else [run]
    if not given:
        raise UsageError("no run was given")
    if names is not None and len(names) != len(given):
        raise UsageError(f"{len(given)} runs were given, but {len(names)} names")
    runs = [formats.read_run(one, name=None if names is None else names[i]) for i, one in enumerate(given)]
    apart = told_apart([one.name for one in runs], [one.place for one in runs])
    return [one if one.name == name else replace(one, name=name) for one, name in zip(runs, apart, strict=True)]


def told_apart(names: Sequence[str], places: Sequence[str]) -> list[str]:
    """A name of its own for each run: of two files of one name in different folders the path tells, else a number.

    >>> told_apart(["bm25", "bm25 (3)", "bm25", "bm25"], ["a/bm25.run", "", "b/bm25.run", ""])
    ['bm25', 'bm25 (3)', 'b/bm25.run', 'bm25 (4)']
    """
    taken: dict[str, int] = {}
    found = []
    for plain, place in zip(names, places, strict=True):
        name = plain
        if name in taken:
            others = chain([place], (f"{plain} ({n})" for n in count(taken[plain] + 1)))
            name = next(other for other in others if other and other not in taken)
        taken[plain] = taken.get(plain, 0) + 1
        taken.setdefault(name, 1)
        found.append(name)
    return found


def _cube(scored: Sequence[Scored], names: Sequence[str], plan: Plan) -> Scores:
    """The scores of some runs, for the judged queries of these names and, where they count, for others."""
    judged, columns, queries = len(names), plan.columns, plan.queries
    place: dict[str, int] = {}
    if queries == "run":
        for one in scored:
            for query in one.other:
                place.setdefault(query, judged + len(place))
    values = np.full((len(scored), len(columns), judged + len(place)), np.nan)
    counted = np.zeros((len(scored), judged + len(place)), bool)
    for r, one in enumerate(scored):
        values[r, :, :judged] = one.values[:, :judged]
        counted[r, :judged] = True if queries == "judged" else one.length >= 0
        if queries == "run":
            at = [place[query] for query in one.other]
            values[r][:, at] = one.values[:, judged:]
            counted[r, at] = True
    return Scores(
        tuple(one.run.name for one in scored),
        tuple(c.label for c in columns),
        (*names, *place),
        values,
        counted,
        tuple("mean" if c.part == "residual" else c.measure.definition.aggregate for c in columns),
        plan.undefined,
    )
