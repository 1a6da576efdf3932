"""`evaluate` and `Evaluator`: score any number of runs with the same judgments and measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, count, islice, repeat
from typing import Any

import numpy as np

from cranfield import io
from cranfield.data import Floats, Integers, Judgments, Run, Table
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.columns import Column, Plan, make_plan
from cranfield.evaluation.evaluation import Evaluation, build_scores, counted_queries
from cranfield.evaluation.group_scores import GroupScores, check_columns, layer_rows, without_groups
from cranfield.evaluation.notes import Note, QueryNames
from cranfield.evaluation.policy import Negative, Policy, Queries, Undefined
from cranfield.evaluation.reader import Progress, RunReader
from cranfield.evaluation.run_notes import run_notes, score_notes, subtopic_notes
from cranfield.evaluation.run_scores import RunScores, check_query_overlap
from cranfield.evaluation.scores import Scores, handle_undefined, summary_of
from cranfield.measures import Measure
from cranfield.ranking.alignment import AlignedRun
from cranfield.ranking.nil import with_nil
from cranfield.ranking.tie_rules import Ties, tie_rule

Measures = str | Measure | Sequence[str | Measure]


def evaluate(
    qrels: Any,
    run: Any,
    measures: Measures,
    *,
    ties: Ties | None = None,
    depth: int | None = None,
    condensed: bool = False,
    terminal: bool = False,
    queries: Queries = "judged",
    undefined: Undefined = "skip",
    negative: Negative = "unjudged",
    nil: str | None = None,
    full_length: int | None = None,
    seed: int = 0,
    residuals: bool = False,
    bounds: bool = False,
    intents: Any = None,
    types: Mapping[str, Mapping[str, str]] | None = None,
    corpus: Any = None,
    prefs: Any = None,
    groups: Any = None,
    costs: Any = None,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Scores:
    """The scores of one or several runs: a value for each query and measure, means over queries, and notes.

    ``qrels``: a path, ``{query: {document: grade}}``, a DataFrame, or `Judgments`.
    ``run``: a path, ``{query: {document: score}}``, a DataFrame, a `Run`, a list of these, or ``{name: any of these}``.
    ``ties`` (default ``trec``), ``depth``, ``condensed``, ``terminal``: views for all measures that do not name their
    own.
    ``queries``: which queries count: all judged queries (a query that the run does not answer scores as an empty
    ranking), those in both, or all queries of the run. ``undefined``: how a query counts if a measure is undefined for
    it. ``negative``: the meaning of negative grades.
    ``nil``: a document id that stands for "no answer". It is relevant, with full gain, if no document is relevant; in
    terminal measures it ends the ranking. ``full_length``: the length limit of the systems; a ranking of this length
    gets no terminal document.
    ``seed``: the random seed, which some measures need for queries with many tied documents.
    ``residuals``: add the residual of measures that have one: how much higher the score could be if all unjudged
    documents were relevant. ``bounds``: add the lowest and highest score over the possible grades of unjudged
    documents.
    ``intents``: weights of subtopics, ``{query: {subtopic: weight}}`` or a file with lines ``query subtopic weight``;
    by default, all subtopics with a relevant document have equal weights.
    ``types``: types of intents, ``{query: {subtopic: "inf" or "nav"}}``; the default is informational. A file of
    intents may have the types in a fourth column.
    ``prefs``, with None for ``qrels``: preferences between documents, for measures such as `Prefs`:
    ``{query: [[group, subgroup, document, level], ...]}``, or a file with lines of these five columns.
    ``groups``, with None for ``qrels``: judgments of several assessors, ``{query: {group: {document: grade}}}``, or a
    file with lines ``query group document grade``. A measure with ``[groups]`` is the mean over the groups of a query.
    ``costs``: the cost of reading a document, for measures such as `TBG`: ``{query: {document: cost}}``, or a file with
    lines ``query document cost``. A document without a cost has the parameter ``cost`` of the measure.
    ``corpus``: the documents for measures of document text: a `Corpus`, a corpus file, a collection, or
    ``{document: text}``.
    ``names``: the names of the runs. ``progress(done, total)``: called as work proceeds.

    >>> import cranfield as cf
    >>> scores = cf.evaluate({"q": {"b": 1}}, {"q": {"a": 2.0, "b": 1.0}}, ["RR", "P@1"])
    >>> scores.to_dict()["runs"]["run"]["RR"]
    {'mean': 0.5, 'n': 1, 'queries': {'q': 0.5}}
    """
    evaluator = Evaluator(
        qrels,
        measures,
        ties=ties,
        depth=depth,
        condensed=condensed,
        terminal=terminal,
        queries=queries,
        undefined=undefined,
        negative=negative,
        nil=nil,
        full_length=full_length,
        seed=seed,
        residuals=residuals,
        bounds=bounds,
        intents=intents,
        types=types,
        corpus=corpus,
        prefs=prefs,
        groups=groups,
        costs=costs,
    )
    return evaluator(run, names=names, progress=progress)


class Evaluator:
    """Judgments and measures, prepared once; call it with any number of runs.

    The arguments are those of `evaluate`, without the runs.

    >>> import cranfield as cf
    >>> evaluator = cf.Evaluator({"q": {"b": 1}}, ["RR", "P@1"])
    >>> evaluator.means({"q": {"a": 2.0, "b": 1.0}})
    {'RR': 0.5, 'P@1': 0.0}
    >>> evaluator.per_query({"q": {"a": 2.0, "b": 3.0}})
    {'q': {'RR': 1.0, 'P@1': 1.0}}
    """

    def __init__(
        self,
        qrels: Any,
        measures: Measures,
        *,
        ties: Ties | None = None,
        depth: int | None = None,
        condensed: bool = False,
        terminal: bool = False,
        queries: Queries = "judged",
        undefined: Undefined = "skip",
        negative: Negative = "unjudged",
        nil: str | None = None,
        full_length: int | None = None,
        seed: int = 0,
        residuals: bool = False,
        bounds: bool = False,
        intents: Any = None,
        types: Mapping[str, Mapping[str, str]] | None = None,
        corpus: Any = None,
        prefs: Any = None,
        groups: Any = None,
        costs: Any = None,
    ) -> None:
        policy = Policy(ties, depth, condensed, terminal, queries, undefined, negative, nil, full_length, seed)
        plan = make_plan(measures, policy, residuals=residuals, bounds=bounds)
        self._prepare(qrels, plan, intents, corpus, types, prefs, groups, costs)

    @classmethod
    def of(cls, qrels: Any, plan: Plan, *, intents: Any = None, corpus: Any = None, costs: Any = None) -> Evaluator:
        """An evaluator for an existing plan."""
        evaluator = cls.__new__(cls)
        evaluator._prepare(qrels, plan, intents, corpus, costs=costs)
        return evaluator

    def _prepare(
        self,
        qrels: Any,
        plan: Plan,
        intents: Any,
        corpus: Any,
        types: Any = None,
        prefs: Any = None,
        groups: Any = None,
        costs: Any = None,
    ) -> None:
        self._costs = None
        if costs is not None:
            from cranfield.io.costs import read_costs

            if plan.policy.nil is not None or prefs is not None or groups is not None:
                message = "costs cannot be combined with nil, prefs or groups"
                raise UsageError(message)
            self._costs = read_costs(costs)
            plan = replace(plan, columns=tuple(column.with_costs() for column in plan.columns))
        self.plan, self.corpus = plan, corpus
        layers = _read_judgments(qrels, prefs, groups)
        judgments = layers[0]
        self._layers: list[Judgments] = []
        if groups is not None:
            check_columns(plan.columns, judgments.name)
            if plan.policy.nil is not None or intents is not None or corpus is not None:
                message = "groups cannot be combined with nil, intents or corpus"
                raise UsageError(message)
            self._layers = layers
        if not len(judgments.queries):
            raise InputError([f"{judgments.name}: no judgments"])
        self._notes = subtopic_notes(judgments, plan.columns)
        if corpus is not None and not plan.content_columns:
            self._notes.append(Note("corpus_unused"))
        if costs is not None and not any(column.alignment.costs for column in plan.columns):
            self._notes.append(Note("costs_unused"))
        if intents is not None:
            from cranfield.evaluation.intents import with_intents

            judgments, notes = with_intents(judgments, intents)
            self._notes += notes
        if types is not None:
            from cranfield.evaluation.intents import with_types

            judgments = with_types(judgments, types)
        self._nil: Integers | None = None
        self.judgments = judgments
        if plan.policy.nil is not None:
            self.judgments, self._nil = with_nil(judgments, plan.policy.nil)
        self._queries = tuple(judgments.queries)
        if self._costs and not self._costs.keys() & set(self._queries):
            from cranfield.io.faults import quotable

            message = f"costs: none of the queries is judged (first query: `{quotable(next(iter(self._costs)))}`)"
            raise InputError([message], hint=f"the judgments cover queries such as `{self._queries[0]}`")
        self._looks_like_run = looks_like_scores(judgments)

    @property
    def policy(self) -> Policy:
        """All settings besides judgments and measures."""
        return self.plan.policy

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the scores."""
        return self.plan.columns

    @cached_property
    def _reader(self) -> RunReader:
        return self._make_reader(self.plan.columns)

    def _make_reader(self, columns: Sequence[Column], **options: Any) -> RunReader:
        return RunReader(
            self.judgments, columns, self.policy, nil=self._nil, corpus=self.corpus, costs=self._costs, **options
        )

    def __call__(self, run: Any, *, names: Sequence[str] | None = None, progress: Progress | None = None) -> Scores:
        """The scores of one or several runs, with notes. Runs are read one by one and not kept in memory."""
        notes = list(self._notes)
        scored = []
        for scores in self._scores(self._runs(run, names), progress):
            self._check(scores)
            values = np.array([scores[column].value for column in self.columns])
            counted = counted_queries(scores.length, len(scores.unjudged_queries), self.policy)
            if isinstance(scores, GroupScores):
                notes += self._group_notes(scores)
            else:
                notes += run_notes(scores, self.plan, counted)
            scored.append((scores.run.name, scores.length, scores.unjudged_queries, values))
        table = build_scores(scored, self._queries, self.plan)
        return replace(table, notes=tuple(dict.fromkeys([*score_notes(table, self.policy), *notes])))

    def _scores(self, runs: list[Run], progress: Progress | None = None) -> Iterator[RunScores | GroupScores]:
        if not self._layers:
            yield from self._reader.scores(runs, progress)
            return
        rows, readers = layer_rows(self._layers), self._layer_readers
        for number, run in enumerate(runs, 1):
            of_layers = [next(reader.scores([run])) for reader in readers]
            yield GroupScores(list(zip(rows, of_layers, strict=True)))
            if progress is not None:
                progress(number, len(runs))

    @cached_property
    def _layer_readers(self) -> list[RunReader]:
        """A reader for each layer of groups; the highest grade is that of all groups."""
        top = max(float(layer.grade.max(initial=0)) for layer in self._layers)
        columns = [without_groups(column) for column in self.columns]
        return [RunReader(layer, columns, self.policy, top_grade=top) for layer in self._layers]

    def _group_notes(self, scores: GroupScores) -> Iterator[Note]:
        for column in self.columns:
            undefined = scores.undefined_groups(column)
            if column.part == "value" and undefined.any():
                queries = QueryNames.of([self._queries[q] for q in np.flatnonzero(undefined).tolist()])
                values = {"groups": int(undefined.sum()), "queries": queries}
                yield Note("undefined_groups", scores.run.name, column.label, values)

    def evaluation(
        self,
        run: Any,
        *,
        names: Sequence[str] | None = None,
        page: int = 0,
        progress: Progress | None = None,
    ) -> Evaluation:
        """The runs, read once and kept in memory for all further analyses.

        ``page``: the number of top documents to keep of each ranking, so that rankings can be shown.
        """
        if self._layers:
            message = "an evaluation cannot be kept for judgments by group"
            raise UsageError(message, hint="call the evaluator itself")
        columns = [*self.columns]
        # Other orders of a tie bring other documents to the top; all documents to read must be known in advance.
        columns += [column.tied("expected") for column in self.plan.content_columns]
        # Rankings can be shown in the order of the policy and in that of trec_eval.
        reader = self._make_reader(columns, page=page, rules=[tie_rule(self.policy.ties), tie_rule(None)])
        runs = []
        for scores in reader.scores(self._runs(run, names), progress):
            self._check(scores)
            runs.append(scores)
        return Evaluation(self.plan, self.judgments, runs, self._queries, self._notes, page)

    @property
    def reader(self) -> RunReader:
        """The judgments prepared for alignment, and what the measures need of a run."""
        if self._layers:
            message = "judgments by group have no single alignment"
            raise UsageError(message, hint="call the evaluator itself")
        return self._reader

    def aligned_evaluation(self, runs: Sequence[AlignedRun]) -> Evaluation:
        """The evaluation of runs that were aligned elsewhere with the aligner of `reader`."""
        scores = [self.reader.run_scores(run) for run in runs]
        for of_run in scores:
            self._check(of_run)
        return Evaluation(self.plan, self.judgments, scores, self._queries, self._notes)

    def means(self, run: Any) -> dict[str, float]:
        """The mean of each measure over the queries of one run, without notes; NaN if undefined. Fast in loops."""
        scores, undefined = self._single(run), self.policy.undefined
        counted = counted_queries(scores.length, len(scores.unjudged_queries), self.policy)
        return {
            column.label: summary_of(handle_undefined(scores[column].value[counted], undefined), column.aggregate)
            for column in self.columns
        }

    def per_query(self, run: Any) -> dict[str, dict[str, float]]:
        """The score of each counted query and measure of one run; NaN if undefined."""
        scores = self._single(run)
        values = [scores[column].value for column in self.columns]
        labels = [column.label for column in self.columns]
        names: Sequence[str] = self._queries
        if self.policy.queries != "judged" or len(scores.unjudged_queries):
            counted = counted_queries(scores.length, len(scores.unjudged_queries), self.policy)
            names = [*names, *scores.unjudged_queries]
            rows = np.flatnonzero(counted)
            values, names = [column[rows] for column in values], [names[q] for q in rows.tolist()]
        # Building thousands of small dicts without a Python loop takes a third less time.
        rows_of_values = zip(*(column.tolist() for column in values), strict=True)
        return dict(zip(names, map(dict, map(zip, repeat(labels), rows_of_values)), strict=True))

    def values(self, run: Any) -> Floats:
        """The scores of all judged queries of one run as an array, (column, query), in the order of the judgments."""
        scores = self._single(run)
        return np.array([scores[column].value[: len(self._queries)] for column in self.columns])

    def _single(self, run: Any) -> RunScores | GroupScores:
        read = io.read_run(run)
        self._check_order([read])
        scores = next(self._scores([read]))
        self._check(scores)
        return scores

    def _runs(self, run: Any, names: Sequence[str] | None) -> list[Run]:
        runs = read_runs(run, names)
        self._check_order(runs)
        return runs

    def _check_order(self, runs: Sequence[Run]) -> None:
        if self._looks_like_run and all(looks_like_grades(run) for run in runs):
            message = "the judgments look like a run, and the run looks like judgments"
            raise UsageError(
                message,
                hint="judgments come first: evaluate(qrels, run, measures)",
            )

    def _check(self, scores: RunScores | GroupScores) -> None:
        if self.policy.queries != "run":
            check_query_overlap(scores.run, scores.alignment)


def _read_judgments(qrels: Any, prefs: Any, groups: Any) -> list[Judgments]:
    """The judgments: by grade, or preferences; or a layer for the first group of each query, the second one, ..."""
    if (qrels is not None) + (prefs is not None) + (groups is not None) > 1:
        message = "qrels, prefs and groups exclude each other"
        raise UsageError(message, hint="with prefs or groups, give None for qrels")
    if prefs is None and groups is None:
        return [io.read_qrels(qrels)]
    from cranfield.io.preferences import read_groups, read_preferences
    from cranfield.ranking.preferences import group_layers, preference_judgments

    if prefs is not None:
        return [preference_judgments(*read_preferences(prefs))]
    name, lines = read_groups(groups)
    if not lines:
        raise InputError([f"{name}: no judgments"])
    return [io.read_qrels(layer, name=name) for layer in group_layers(lines)]


def looks_like_scores(judgments: Judgments) -> bool:
    """Whether the grades look like scores: fractions, nearly all different."""
    grade = judgments.grade
    fractions = np.count_nonzero(grade != np.floor(grade))
    return bool(
        len(grade) >= MIN_GRADES
        and fractions > MIN_SHARE * len(grade)
        and len(np.unique(grade)) > MIN_SHARE * len(grade)
    )


def looks_like_grades(run: Run) -> bool:
    """Whether the scores of a run in memory look like grades: few different small integers."""
    if isinstance(run.source, Table):
        scores = run.source.score[:MAX_SCORES].tolist()
    elif isinstance(run.source, Mapping):
        scores = list(islice(chain.from_iterable(ranking.values() for ranking in run.source.values()), MAX_SCORES))
    else:
        return False
    grades = {score for score in scores if isinstance(score, (int, float, np.number)) and score == int(score)}
    return bool(scores) and len(grades) <= 6 and all(score in grades and -2 <= score <= 10 for score in scores)


# Judgments look like a run if they have at least so many grades, and if at least this share of them are fractions.
MIN_GRADES, MIN_SHARE = 4, 0.9
MAX_SCORES = 1000  # the number of scores of a run that are checked


def read_runs(run: Any, names: Sequence[str] | None = None) -> list[Run]:
    """The runs, not yet read, with unique names."""
    given: list[Any]
    if _is_mapping_of_runs(run):
        names, given = list(run) if names is None else names, list(run.values())
    else:
        given = list(run) if isinstance(run, (list, tuple)) else [run]
    if not given:
        message = "no runs given"
        raise UsageError(message)
    if names is not None and len(names) != len(given):
        message = f"expected {len(given)} names, one for each run, not {len(names)}"
        raise UsageError(message)
    runs = [io.read_run(item, name=None if names is None else names[i]) for i, item in enumerate(given)]
    unique = unique_names([item.name for item in runs], [item.source_name for item in runs])
    return [item if item.name == name else replace(item, name=name) for item, name in zip(runs, unique, strict=True)]


def _is_mapping_of_runs(run: Any) -> bool:
    """Whether this is ``{name: run}`` and not ``{query: {document: score}}``."""
    if not isinstance(run, Mapping) or not run:
        return False
    first = next((value for value in run.values() if not isinstance(value, Mapping) or value), None)
    if isinstance(first, Mapping):
        return isinstance(next(iter(first.values())), Mapping)
    return first is not None and not isinstance(first, (int, float, list, tuple, set))


def unique_names(names: Sequence[str], sources: Sequence[str]) -> list[str]:
    """A different name for each run: a repeated one becomes the run's path, or gets a number.

    >>> unique_names(["bm25", "bm25 (3)", "bm25", "bm25"], ["a/bm25.run", "", "b/bm25.run", ""])
    ['bm25', 'bm25 (3)', 'b/bm25.run', 'bm25 (4)']
    """
    taken: dict[str, int] = {}
    unique = []
    for plain, source in zip(names, sources, strict=True):
        name = plain
        if name in taken:
            others = chain([source], (f"{plain} ({n})" for n in count(taken[plain] + 1)))
            name = next(other for other in others if other and other not in taken)
        taken[plain] = taken.get(plain, 0) + 1
        taken.setdefault(name, 1)
        unique.append(name)
    return unique
