"""The only module here that calls Cranfield: its Python API and its command line.

A door is a way to hand over a run and its judgments. Each takes a case, its measures, a tie rule and further settings,
and returns the values of every query and the mean for each measure. If names or signatures change, this module changes
and the data do not.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import small_collection as data

import cranfield as cf
from cranfield.evaluation.plan import AT_TOP_GRADE

PARTS = ("residual", "lowest", "highest", "standard error")  # of a measure, besides its value
Settings = dict[str, Any]


class Refused(Exception):
    """The door does not take this case or this measure."""


class RefusedCase(Refused):
    """The door has no place for the inputs of this case."""


class Values(NamedTuple):
    """The values of one measure; None is undefined. ``mean`` is ... where a door promises no exact mean."""

    queries: dict[str, float | None]
    mean: Any


class Case(NamedTuple):
    """Judgments of one kind, with the run and what else belongs to it."""

    name: str
    run: str = "run"
    judgments: str = "qrels"
    with_intents: bool = False
    with_costs: bool = False
    with_corpus: bool = False


CASES = {
    case.name: case
    for case in (
        Case("graded"),
        Case("costs", with_costs=True),
        Case("subtopics", judgments="subtopics"),
        Case("intents", judgments="subtopics", with_intents=True),
        Case("content", judgments="subtopics", with_corpus=True),
        Case("preferences", judgments="preferences"),
        Case("groups", judgments="groups"),
        Case("strata", judgments="strata"),
        Case("inclusion", judgments="inclusion"),
        Case("dense", run="dense"),
    )
}
Door = Callable[[Case, Sequence[str], str, Settings], dict[str, Values]]


def canonical(measure: str) -> str | None:
    """The name of a measure as Cranfield writes it; None if it is not allowed, as for a view that it does not have."""
    try:
        return str(cf.parse(measure))
    except cf.MeasureError:
        return None


def symbols() -> list[str]:
    """The symbols of the catalogue, without those of passages, whose values are golden cases."""
    return [symbol for symbol, definition in cf.measures.CATALOGUE.items() if not definition.spans]


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Errors of Cranfield are refusals."""
    try:
        yield
    except cf.CranfieldError as error:
        raise Refused(str(error)) from error


@functools.cache
def folder() -> Path:
    """A folder with the files of the collection."""
    kept = tempfile.TemporaryDirectory(prefix="fingerprint")
    folder.kept = kept  # type: ignore[attr-defined] - removed at the end of the process
    data.write(Path(kept.name))
    return Path(kept.name)


def _path(name: str) -> str:
    return str(folder() / name)


def _named(asked: Sequence[str], labels: Sequence[str], values: Sequence[Values]) -> dict[str, Values]:
    """Values by the measure asked for and the part; labels, which have the views, come in the same order."""
    named: dict[str, Values] = {}
    whole: dict[str, str] = {}
    for shown, of_label in zip(labels, values, strict=True):
        label = shown.removesuffix(AT_TOP_GRADE)
        part = next((part for part in PARTS if label.endswith(f" {part}")), "")
        measure = label.removesuffix(f" {part}") if part else label
        if measure not in whole:
            whole[measure] = asked[len(whole)]
        named[f"{whole[measure]} {part}".strip()] = of_label
    if list(whole.values()) != list(asked):
        message = f"asked for {len(asked)} measures, found {len(whole)}: {list(whole)}"
        raise AssertionError(message)
    return named


def _of_scores(asked: Sequence[str], found: dict[str, Any]) -> dict[str, Values]:
    (of_run,) = found["runs"].values()
    return _named(asked, list(of_run), [Values(one["queries"], one["mean"]) for one in of_run.values()])


# The inputs of a case in each form.


def _files(case: Case) -> tuple[Any, str, Settings]:
    options: Settings = {}
    qrels: Any = _path(f"{case.judgments}.txt")
    if case.judgments in ("preferences", "groups"):
        options["prefs" if case.judgments == "preferences" else "groups"] = qrels
        qrels = None
    if case.with_intents:
        options["intents"] = _path("intents.txt")
    if case.with_costs:
        options["costs"] = _path("costs.txt")
    if case.with_corpus:
        options["corpus"] = _path("texts.tsv")
    return qrels, _path(f"{case.run}.txt"), options


def _objects(case: Case) -> tuple[Any, Settings]:
    """Judgments as dicts, and the options that go with them."""
    options: Settings = {}
    if case.with_intents:
        options |= {"intents": data.INTENTS, "types": data.TYPES}
    if case.with_costs:
        options["costs"] = data.COSTS
    if case.with_corpus:
        options["corpus"] = data.TEXTS
    if case.judgments == "preferences":
        return None, {"prefs": data.PREFERENCES}
    if case.judgments == "groups":
        return None, {"groups": data.GROUPS}
    if case.judgments == "strata":
        return data.SAMPLE, {"strata": data.STRATA}
    if case.judgments == "inclusion":
        return data.DRAWN, {"inclusion": data.INCLUSION, "method": data.METHOD}
    return data.SUBTOPICS if case.judgments == "subtopics" else data.QRELS, options


def _rows(case: Case, ties: str) -> dict[str, list[data.Row]]:
    """The run; for doors without ranks, in the order of the ranks where these decide."""
    run = data.DENSE_RUN if case.run == "dense" else data.RUN
    if ties != "rank":
        return run
    return {query: sorted(rows, key=lambda row: row.rank) for query, rows in run.items()}


def _scored(case: Case, ties: str) -> dict[str, dict[str, float]]:
    return {query: {row.document: row.score for row in rows} for query, rows in _rows(case, ties).items()}


COLLECTION = ("intents", "types", "costs", "documents", "prefs", "groups", "strata", "inclusion", "method")
COLLECTION += ("nil", "full_length", "negative")
SHOWN = {"residuals": "residuals", "bounds": "bounds", "standard_errors": "standard-errors"}


def _renamed(options: Settings) -> Settings:
    """The settings of the data under the names of the interface."""
    shown = [name for key, name in SHOWN.items() if options.get(key)]
    others = {"documents" if name == "corpus" else name: value for name, value in options.items() if name not in SHOWN}
    return {**others, "show": shown} if shown else others


def _call(function: Any, qrels: Any, *arguments: Any, **options: Any) -> Any:
    """A call with a collection in place of the judgments."""
    options = _renamed(options)
    parts = {name: options.pop(name) for name in COLLECTION if name in options}
    return function(cf.Collection(qrels, **parts), *arguments, **options)


# The doors.


def file(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """Files of TREC text."""
    qrels, run, options = _files(case)
    with refusing():
        return _of_scores(
            measures, _call(cf.evaluate, qrels, run, measures, ties=ties, **options, **settings).to_dict()
        )


def brackets(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """Files of TREC text, and each measure with its views in brackets."""
    qrels, run, options = _files(case)
    names = {"ties": ties, "depth": None, "condensed": False, "terminal": False, "full_length": None} | settings
    inside = [f"ties={ties}"]
    inside += [f"depth={names['depth']}"] if names["depth"] else []
    inside += [name for name in ("condensed", "terminal") if names[name]]
    inside += [f"full={names['full_length']}"] if names["full_length"] else []
    others = {
        name: value for name, value in settings.items() if name not in ("depth", "condensed", "terminal", "full_length")
    }
    views = ", ".join(inside)
    asked = [f"{m[:-1]}, {views}]" if m.endswith("]") else f"{m}[{views}]" for m in measures]
    with refusing():
        return _of_scores(measures, _call(cf.evaluate, qrels, run, asked, **options, **others).to_dict())


def command(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """The command `eval` with a collection file."""
    qrels, run, options = _files(case)
    options = _renamed(options | settings)
    parts = {"qrels": qrels, **{name: options.pop(name) for name in COLLECTION if name in options}}
    given = {name: value for name, value in parts.items() if value is not None}
    file = folder() / "collection.toml"
    file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items()))
    words = ["eval", str(file), run, "--format", "json", "--quiet", "--ties", ties]
    words += [word for measure in measures for word in ("-m", measure)]
    words += [word for name in options.pop("show", ()) for word in ("--show", name)]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [option, str(value)]
    code, printed = run_command(words)
    if code:
        raise Refused(printed)
    return _of_scores(measures, json.loads(printed))


def scores(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """Dicts of scores."""
    qrels, options = _objects(case)
    with refusing():
        found = _call(cf.evaluate, qrels, _scored(case, ties), measures, ties=ties, **options, **settings)
    return _of_scores(measures, found.to_dict())


def lists(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """Dicts of lists, which have no ties: every tie rule is that of ranks."""
    qrels, options = _objects(case)
    run = {query: [row.document for row in rows] for query, rows in _rows(case, "rank").items()}
    with refusing():
        return _of_scores(
            measures, _call(cf.evaluate, qrels, run, measures, ties=ties, **options, **settings).to_dict()
        )


def frame(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """Data frames of pandas."""
    import pandas as pd

    qrels, options = _objects(case)
    judged: Any = None
    if case.judgments == "subtopics":
        columns = ["query", "subtopic", "document", "grade"]
        judged = [(q, s, d, grade) for q, of in qrels.items() for d, by in of.items() for s, grade in by.items()]
    elif qrels is not None:
        columns = ["query", "document", "grade"]
        judged = [(q, d, grade) for q, of in qrels.items() for d, grade in of.items()]
    table = None if judged is None else pd.DataFrame(judged, columns=columns)
    rows = [(query, *row) for query, of in _rows(case, "").items() for row in of]
    run = pd.DataFrame(rows, columns=["query", "document", "rank", "score"])
    with refusing():
        return _of_scores(
            measures, _call(cf.evaluate, table, run, measures, ties=ties, **options, **settings).to_dict()
        )


def evaluator(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """`Evaluator`: its means, its values by query and its array agree."""
    qrels, options = _objects(case)
    run = _scored(case, ties)
    with refusing():
        made = _call(cf.Evaluator, qrels, measures, ties=ties, **options, **settings)
        means, by_query, array = made.means(run), made.per_query(run), made.values(run)
    return _of_evaluator(measures, means, by_query, array, settings)


def rescorer(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """`Rescorer`: documents that are scored again."""
    qrels, options = _objects(case)
    run = _scored(case, ties)
    blank = {query: dict.fromkeys(of_query, 0.0) for query, of_query in run.items()}
    with refusing():
        made = _call(cf.Evaluator, qrels, measures, ties=ties, **options, **settings).rescorer(blank)
        given = [run[query][document] for query, document in made.documents]
        means, by_query, array = made.means(given), made.per_query(given), made.values(given)
    return _of_evaluator(measures, means, by_query, array, settings)


def _of_evaluator(
    measures: Sequence[str], means: Any, by_query: Any, array: Any, settings: Settings
) -> dict[str, Values]:
    labels = list(means)
    values = {label: {query: of_query[label] for query, of_query in by_query.items()} for label in labels}
    if "queries" not in settings and "undefined" not in settings:
        for label, row in zip(labels, array.tolist(), strict=True):
            if np.array(row).tobytes() != np.array(list(values[label].values())).tobytes():
                message = f"{label}: values are {row}, per_query has {values[label]}"
                raise AssertionError(message)
    return _named(measures, labels, [Values(values[label], means[label]) for label in labels])


def tensor_table(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """NumPy arrays (queries, candidates) with a mask."""
    return _tensors(case, measures, ties, settings, np.asarray)


def tensor_flat(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """Tensors of PyTorch on the processor, with the query of each element."""
    import torch

    torch.set_num_threads(1)
    return _tensors(case, measures, ties, settings, lambda values: torch.from_numpy(np.array(values)), flat=True)


def _tensors(
    case: Case, measures: Sequence[str], ties: str, settings: Settings, array: Any, *, flat: bool = False
) -> dict[str, Values]:
    qrels, options = _objects(case)
    if case.judgments not in ("qrels", "subtopics"):
        message = f"no argument for {case.judgments}"
        raise RefusedCase(message)
    by_subtopic = case.judgments == "subtopics"
    if by_subtopic and "queries" in settings:
        message = "every judged query must have candidates"
        raise RefusedCase(message)
    run = {query: _rows(case, ties).get(query, []) for query in {**_rows(case, ties), **(qrels if by_subtopic else {})}}
    # Judged documents outside the ranking are masked candidates, or `missed`, which cannot have subtopics.
    candidates = {query: [(row.document, row.score, True) for row in rows] for query, rows in run.items()}
    missed: dict[str, dict[str, float]] = {}
    for query, judged in qrels.items():
        ranked = {row.document for row in run.get(query, [])}
        for name in judged:
            if name not in ranked and by_subtopic:
                candidates[query].append((name, 0.0, False))
            elif name not in ranked:
                missed.setdefault(query, {})[name] = judged[name]
    width = max(map(len, candidates.values()))
    shape = (len(candidates), width)
    score, mask, ids = np.zeros(shape), np.zeros(shape, bool), np.full(shape, "", object)
    grades = np.full((*shape, 3) if by_subtopic else shape, np.nan)
    for i, (query, of_query) in enumerate(candidates.items()):
        for j, (name, number, kept) in enumerate(of_query):
            score[i, j], mask[i, j], ids[i, j] = number, kept, name
            judged = qrels.get(query, {}).get(name)
            if by_subtopic:
                for subtopic, grade in (judged or {}).items():
                    grades[i, j, int(subtopic)] = grade
            elif judged is not None:
                grades[i, j] = judged
    keywords: Settings = {"query_ids": list(candidates), "missed": missed or None}
    if flat:
        real = np.array([[j < len(of) for j in range(width)] for of in candidates.values()])
        index = np.broadcast_to(np.arange(len(candidates))[:, None], shape)[real]
        score, mask, ids, grades = score[real], mask[real], ids[real], grades[real]
        keywords["indexes"] = array(index)
    with refusing():
        found = _call(
            cf.tensors.evaluate,
            array(grades),
            array(score),
            measures,
            mask=array(mask),
            ids=ids,
            ties=ties,
            **keywords,
            **options,
            **settings,
        ).scores
    return _of_scores(measures, found.to_dict())


def embeddings_numpy(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """Embeddings as NumPy arrays."""
    return _embeddings(case, measures, ties, settings, np.asarray)


def embeddings_torch(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """Embeddings as tensors of PyTorch, in blocks."""
    import torch

    torch.set_num_threads(1)
    return _embeddings(case, measures, ties, settings, lambda x: torch.from_numpy(np.array(x)), block=5)


def _embeddings(
    case: Case, measures: Sequence[str], ties: str, settings: Settings, array: Any, block: int | None = None
) -> dict[str, Values]:
    if case.run != "dense":
        message = "the run has no embeddings"
        raise RefusedCase(message)
    qrels, options = _objects(case)
    with refusing():
        found = _call(
            cf.tensors.evaluate_embeddings,
            qrels,
            array(np.array(list(data.DENSE_QUERIES.values()), float)),
            array(np.array(list(data.DENSE_DOCUMENTS.values()), float)),
            measures,
            query_ids=list(data.DENSE_QUERIES),
            document_ids=list(data.DENSE_DOCUMENTS),
            block=block,
            ties=ties,
            **options,
            **settings,
        ).scores
    return _of_scores(measures, found.to_dict())


def spark(case: Case, measures: Sequence[str], ties: str, settings: Settings) -> dict[str, Values]:
    """DataFrames of Spark; means may be summed in another order."""
    qrels, options = _objects(case)
    if case.judgments not in ("qrels", "subtopics") or case.with_costs or "types" in options:
        message = f"no argument for {case.name}"
        raise RefusedCase(message)
    if case.judgments == "subtopics":
        names = ["query", "subtopic", "document", "grade"]
        judged = [(q, s, d, float(g)) for q, of in qrels.items() for d, by in of.items() for s, g in by.items()]
    else:
        names = ["query", "document", "grade"]
        judged = [(q, d, float(grade)) for q, of in qrels.items() for d, grade in of.items()]
    numbered = [(query, row) for query, of in _rows(case, "").items() for row in of]
    rows = [("run", query, *row, number) for number, (query, row) in enumerate(numbered)]
    session = _session()
    with refusing():
        found = _call(
            cf.spark.evaluate,
            session.createDataFrame(judged, names),
            session.createDataFrame(rows, ["run", "query", "document", "rank", "score", "row"]),
            measures,
            ties=ties,
            **options,
            **settings,
        )
        table = found.frame.toArrow().to_pydict()
    by_label: dict[str, dict[str, float | None]] = {label: {} for label in found.measures}
    for query, label, value in zip(table["query"], table["measure"], table["value"], strict=True):
        by_label[label][query] = value
    return _named(measures, list(by_label), [Values(queries, ...) for queries in by_label.values()])


@functools.cache
def _session() -> Any:
    from cranfield.spark.frames import session

    brief = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    few = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": brief}
    return session("local[1]", **few)


DOORS: dict[str, Door] = {
    "file": file,
    "brackets": brackets,
    "command": command,
    "scores": scores,
    "lists": lists,
    "frame": frame,
    "evaluator": evaluator,
    "rescorer": rescorer,
    "tensor_table": tensor_table,
    "tensor_flat": tensor_flat,
    "embeddings_numpy": embeddings_numpy,
    "embeddings_torch": embeddings_torch,
    "spark": spark,
}


def run_command(words: Sequence[str], where: Path | None = None) -> tuple[int, str]:
    """The exit code of a command, in this process, and what it printed; of an error, also the message."""
    from cranfield.__main__ import main

    printed, said = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    code: Any = 0
    with (
        contextlib.chdir(where or "."),
        patch.object(sys, "argv", ["cranfield", *words]),
        patch.dict("os.environ", {"COLUMNS": "120", "NO_COLOR": "1", "SOURCE_DATE_EPOCH": "0"}),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(said),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    texts = []
    for stream in (printed, said):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return (code, "".join(texts)) if code else (0, texts[0])
