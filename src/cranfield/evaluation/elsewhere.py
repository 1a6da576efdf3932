"""Scores from elsewhere: those that another program computed, and those of parts of the queries, put together."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.data import Booleans, Floats
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.evaluation.collection import checked_keywords
from cranfield.evaluation.notes import Note, sentences
from cranfield.evaluation.plan import Column
from cranfield.evaluation.provenance import Provenance, Source
from cranfield.evaluation.scores import Scores
from cranfield.io.faults import quotable
from cranfield.io.named_tables import SHAPE, Cells, ScoreCell, read_queries, read_table, sources_of
from cranfield.io.streams import is_stream
from cranfield.measures import parse
from cranfield.measures.catalogue import outside_measure
from cranfield.wording import did_you_mean, few, plural


@checked_keywords
def read_scores(
    source: Any,
    *,
    queries: Any = None,
    lower: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> Scores:
    """Scores of queries that another program computed: any measure, whatever its name and its bounds.

    Parameters
    ----------
    source
        ``{run: {measure: {query: value}}}``, where a list of values has the repeats of a run; a file or a frame with
        the columns ``run, query, measure, value``, or ``run, query`` and one for each measure (CSV, TSV, Parquet, JSON
        Lines); lines ``measure query value`` as trec_eval prints, or ``query measure value`` as ir_measures does; our
        own JSON; a list of these, or ``{run: file}``. Without a column for the run, its name is that of the file.
        Repeats of a run may have a column ``repeat`` or ``seed``. A value that is missing, empty, NaN or null stays
        missing.
    queries
        Attributes of queries, as in `Collection`.
    lower
        The measures of which lower values are better.
    columns
        Which column is the ``run``, ``query``, ``measure``, ``value`` or ``repeat``, if names do not say it.

    Returns
    -------
    Scores
        Scores that are compared, grouped and shown like those of `evaluate`.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.read_scores({"gpt": {"latency": {"q1": 120, "q2": 80}}}, lower=["latency"])
    >>> scores["latency"]["gpt"]
    100.0
    """
    cells, saved = Cells(columns, _is_measure), []
    for part in sources_of(source):
        if isinstance(part, Scores):
            saved.append(part)
            continue
        content = read_table(part, "scores")
        if isinstance(content, Mapping) and content.get(Scores._TAG) == Scores._KIND:
            name = os.fspath(part) if isinstance(part, (str, os.PathLike)) else "scores"
            saved.append(Scores._from_file_data(content, name))
        else:
            cells.read(content, is_file=is_stream(part))
    cells.raise_faults()
    lower = (lower,) if isinstance(lower, str) else tuple(lower)
    if saved and cells.cells:
        raise UsageError("scores saved by cranfield cannot be combined with others", hint="read them alone")
    if saved and lower:
        raise UsageError("scores saved by cranfield know of which measures less is better", hint="leave out lower")
    scores = _combined(saved) if saved else _scores(cells, lower)
    if not saved:
        files = [Source.of("scores", part) for part in sources_of(source) if isinstance(part, (str, os.PathLike))]
        scores = replace(scores, provenance=Provenance(scores.columns, sources=tuple(files)))
    if queries is not None:
        scores = scores._with_attributes(read_queries(queries))
    return scores


def _combined(parts: Sequence[Scores]) -> Scores:
    """The runs of several saved scores as one table."""
    *before, scores = parts
    for part in reversed(before):
        for run in reversed(part.runs):
            if run in scores.runs:
                raise UsageError(f"two of the saved scores have a run `{run}`", hint="save it with another name")
            scores = scores.with_run(part, run)
    return scores


def concat(parts: Sequence[Scores]) -> Scores:
    """The scores of all queries from scores of parts of them.

    So a run that is too long for one machine is evaluated in parts of whole queries; all is then as if it had been
    evaluated at once. Judgments of one part must not change the scores of others: where gains depend on the highest
    grade of the collection, it must be the same in all parts, or given as ``max``.

    Parameters
    ----------
    parts
        Scores of other queries each, with the same runs and measures.

    Returns
    -------
    Scores
        The scores of all queries.

    Examples
    --------
    >>> import cranfield as cf
    >>> halves = [cf.evaluate({q: {"a": 1}}, {q: ["b", "a"]}, "RR") for q in ("q1", "q2")]
    >>> cf.concat(halves)["RR"].per_query["run"]
    {'q1': 0.5, 'q2': 0.5}
    """
    parts = list(parts)
    if not parts or not all(isinstance(part, Scores) for part in parts):
        raise UsageError("concat takes a list of scores", hint="give those of cf.evaluate for each part of the queries")
    first = parts[0]
    for number, part in enumerate(parts[1:], 2):
        _check_part(first, part, number)
    queries = tuple(query for part in parts for query in part.queries)
    if repeated := next((query for query, times in Counter(queries).items() if times > 1), None):
        raise UsageError(f"two parts have the query `{quotable(repeated)}`", hint="a part has queries of its own")
    rows = [[part.runs.index(run) for run in first.runs] for part in parts]
    provenances = [part.provenance for part in parts if part.provenance is not None]
    return replace(
        first,
        queries=queries,
        values=np.concatenate([part.values[order] for part, order in zip(parts, rows, strict=True)], axis=2),
        counted=np.concatenate([part.counted[order] for part, order in zip(parts, rows, strict=True)], axis=1),
        repeats={run: np.concatenate([part.repeats[run] for part in parts], axis=1) for run in first.repeats},
        attributes={query: about for part in parts for query, about in part.attributes.items()},
        notes=tuple(
            Note.saved(f"part {number}: {text}")
            for number, part in enumerate(parts, 1)
            for text in sentences(part.notes)
        ),
        provenance=Provenance.of_parts(provenances) if len(provenances) == len(parts) else None,
    )


def _check_part(first: Scores, part: Scores, number: int) -> None:
    """Raise unless the scores of a part can stand beside those of the first one."""

    def about(scores: Scores) -> dict[str, Any]:
        depends = {} if scores.provenance is None else scores.provenance.depends.get("", {})
        return {
            "runs": sorted(scores.runs),
            "measures": scores.measures,
            "policy": scores.undefined,
            "numbers of repeats": {run: table.shape[2] for run, table in scores.repeats.items()},
            "highest grade": depends.get("highest_grade"),
            "judged documents": depends.get("judged_documents"),
        }

    if part.predicted or first.predicted or part.judges or first.judges:
        raise UsageError("scores with predicted judgments, or of several judges, cannot be put together from parts")
    for what, (own, other) in {key: (value, about(part)[key]) for key, value in about(first).items()}.items():
        if own != other:
            shown = f": {own:g} and {other:g}" if what == "highest grade" else ""
            raise UsageError(
                f"part {number} has other {what} than part 1{shown}",
                hint="name the grade that gains are divided by: max=GRADE" if shown else "",
            )


def with_column(scores: Scores, name: str, parts: Sequence[tuple[str, Scores]], *, lower: bool = False) -> Scores:
    """The scores with one more measure that another program computed, matched by the names of runs and queries.

    ``parts``: scores of one measure each, and what their query ids begin with in the scores. A run with repeats whose
    value has none has the same value in all of them.
    """
    rows = {run: r for r, run in enumerate(scores.runs)}
    at = {query: q for q, query in enumerate(scores.queries)}
    added = np.full((len(rows), 1, len(at)), np.nan)
    repeats = {run: np.full((1, *table.shape[1:]), np.nan) for run, table in scores.repeats.items()}
    for prefix, part in parts:
        matches = [(q, at[prefix + query]) for q, query in enumerate(part.queries) if prefix + query in at]
        own, places = [q for q, _ in matches], [column for _, column in matches]
        for r, run in enumerate(part.runs):
            if run in rows:
                added[rows[run], 0, places] = part.values[r, 0, own]
            if run in repeats:
                given = part.repeats[run][0, own] if run in part.repeats else part.values[r, 0, own][:, None]
                if given.shape[1] not in (1, repeats[run].shape[2]):
                    raise UsageError(f"{name} of `{run}` has {given.shape[1]} repeats, not {repeats[run].shape[2]}")
                repeats[run][0, places] = given
    without = [run for run, r in rows.items() if np.isnan(added[r]).all()]
    if without:
        names = list(dict.fromkeys(run for _, part in parts for run in part.runs))
        raise UsageError(
            f"{name} has no score of {plural(len(without), 'run')} ({few(without)})",
            hint=f"the runs of these scores are {few(names, 10)}, with queries such as {few(parts[0][1].queries, 2)}; "
            f"queries are called {few(scores.queries, 2)} here",
        )
    if scores.undefined != "skip" and (np.isnan(added[:, 0]) & scores.counted).any():
        raise UsageError(
            f"{name} is missing for some queries, which would count as {scores.undefined}",
            hint="use undefined=skip, or give the scores of all queries",
        )
    columns = (*scores.columns, Column(outside_measure(name, "lower" if lower else "higher"), label=name))
    sources = [origin for _, part in parts if part.provenance is not None for origin in part.provenance.sources]
    provenance = (scores.provenance or Provenance()).with_sources(sources)
    return replace(
        scores,
        columns=columns,
        provenance=replace(provenance, columns=columns),
        values=np.concatenate([scores.values, added], axis=1),
        repeats={run: np.concatenate([table, repeats[run]]) for run, table in scores.repeats.items()},
        notes=(*scores.notes, *(note for _, part in parts for note in part.notes)),
    )


def _is_measure(name: str) -> bool:
    try:
        parse(name)
    except MeasureError:
        return False
    return True


def _scores(cells: Cells, lower: Sequence[str]) -> Scores:
    given = cells.cells
    names = [(cell.run, cell.measure, cell.query) for cell in given]
    runs, measures, queries = (tuple(dict.fromkeys(name[i] for name in names)) for i in range(3))
    for name in lower:
        if name not in measures:
            hint = did_you_mean(name, measures, f"the measures are {few(measures, 10)}")
            raise UsageError(f"`{name}` is not one of the measures", hint=hint)
    if not given:
        raise InputError(["scores: there are no scores"], hint=SHAPE)
    columns = tuple(
        Column(outside_measure(name, "lower" if name in lower else "higher"), label=name) for name in measures
    )
    by_run: dict[str, list[ScoreCell]] = {run: [] for run in runs}
    for cell in given:
        by_run[cell.run].append(cell)
    tables, counted = zip(*(_table(of_run, measures, queries) for of_run in by_run.values()), strict=True)
    skipped = [f"{plural(cells.means, 'row')} of the query `all` were not read: they are means"] if cells.means else []
    return Scores(
        runs,
        columns,
        queries,
        values=np.stack([table.mean(axis=2) for table in tables]),
        counted=np.stack(counted),
        notes=tuple(map(Note.saved, [*cells.remarks, *skipped])),
        repeats={run: table for run, table in zip(runs, tables, strict=True) if table.shape[2] > 1},
    )


def _table(cells: Sequence[ScoreCell], measures: Sequence[str], queries: Sequence[str]) -> tuple[Floats, Booleans]:
    """The values (measure, query, repeat) of one run, and which queries it has; every query has the same repeats."""
    measure_at, query_at = ({name: i for i, name in enumerate(names)} for names in (measures, queries))
    labels = dict.fromkeys(cell.repeat for cell in cells if cell.repeat) or {"": None}
    repeat_at = {label: i for i, label in enumerate(labels)}
    table: Floats = np.full((len(measures), len(queries), len(labels)), np.nan)
    given = np.zeros(table.shape, bool)
    for cell in cells:
        at = measure_at[cell.measure], query_at[cell.query], repeat_at.get(cell.repeat, 0)
        if given[at]:
            message = (
                f"{cell.where}: the repeat is missing, and other values of query `{quotable(cell.query)}` have one"
            )
            raise InputError([message], hint="give every value of a run its repeat, or none")
        table[at], given[at] = cell.value, True
    number = given.sum(axis=2)
    incomplete = np.argwhere((number > 0) & (number < len(labels))).tolist()
    if incomplete:
        first = {(cell.measure, cell.query): cell.where for cell in reversed(cells)}
        raise InputError(
            [f"{first[measures[m], queries[q]]}: {number[m, q]} of {len(labels)} repeats" for m, q in incomplete],
            hint="all queries of a run have the same repeats; a missing one is null or NaN",
        )
    if np.isnan(table).all():
        message = f"{cells[0].where}: run `{quotable(cells[0].run)}` has no value"
        raise InputError([message], hint="take the run out, or add its scores")
    return table, number.any(axis=0)
