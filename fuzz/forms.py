"""One input in all forms: dicts, lists, records, frames, files and tensors have the same scores, to the last bit.

    python fuzz/forms.py --inputs 2000 --seed 1

Each input has a few queries with random scores (many ties, scores that differ in the last bit, whole numbers) and
random grades. It is handed over in every form, with 30 measures and one tie rule; the values of each query must be
those of the dicts. An input that differs is printed.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import cranfield as cf
from cranfield import native
from cranfield.errors import available
from cranfield.io import tables
from cranfield.native import plain
from cranfield.tensors import evaluate as evaluate_tensors

NAMES = """
AP AP@5 AP(rel=2) GMAP Q nDCG nDCG@5 nDCG(gain='exp')@10 DCG@5 RBP(p=0.8) RR RR@3 ERR@5 P@5 R@5 F1@5 Success@1 Rprec
IPrec@0.3 SetP SetR bpref infAP NumRet INSQ BPM@5 Judged@5 AP[condensed] nDCG[depth=4] RR[terminal]
"""
MEASURES = NAMES.split()
TIES = ("trec", "expected", "trec9", "best", "worst", "input")
Run = dict[str, dict[str, float]]
Grades = dict[str, dict[str, int]]


def random_input(rng: random.Random) -> tuple[Run, Grades]:
    """A run and its judgments."""
    names = [f"{prefix}{i}" for prefix in rng.sample(("d", "D", "é", "0", "doc-"), 2) for i in range(12)]
    steps = rng.choice(
        [
            lambda: float(rng.randint(0, 3)),
            lambda: rng.choice((0.1 + 0.2, 0.3, 0.5)),
            lambda: 16777216 + rng.randint(0, 3),  # the same in 32 bits
            lambda: rng.random() * 10 ** rng.randint(-300, 300),
            lambda: -0.0 if rng.random() < 0.5 else 0.0,
            rng.random,
        ]
    )
    run: Run = {}
    grades: Grades = {}
    for q in range(rng.randint(1, 4)):
        query = rng.choice((f"q{q}", f"{q + 1}"))
        documents = rng.sample(names, rng.randint(1, len(names)))
        if rng.random() < 0.9:
            run[query] = {document: steps() for document in documents}
        judged = rng.sample(names, rng.randint(1, 15))
        if rng.random() < 0.9:
            grades[query] = {document: rng.choice((0, 0, 1, 1, 2, 3)) for document in judged}
    run = run or {"q0": {"d0": 1.0}}
    grades = grades or {"q0": {"d0": 1}}
    if not run.keys() & grades.keys():
        grades[next(iter(run))] = {"d0": 1}
    next(iter(grades.values()))["top"] = 3  # grades that never reach the level of a measure are an error
    return run, grades


# ---- the forms: (run, grades, folder) to what `evaluate` takes

Form = Callable[[Run, Grades, Path], tuple[Any, Any]]


def rows(table: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """The rows of a nested dict."""
    return ((query, name, value) for query, of_query in table.items() for name, value in of_query.items())


def records(table: dict[str, dict[str, Any]], value: str) -> list[dict[str, Any]]:
    """A list of rows with named fields."""
    return [{"query_id": query, "doc_id": name, value: number} for query, name, number in rows(table)]


def trec(run: Run, grades: Grades) -> tuple[bytes, bytes]:
    """TREC text."""
    of_run = "".join(f"{query} Q0 {name} 0 {score!r} t\n" for query, name, score in rows(run))
    return of_run.encode(), "".join(f"{query} 0 {name} {grade}\n" for query, name, grade in rows(grades)).encode()


def files(folder: Path, suffix: str, run: bytes, grades: bytes) -> tuple[Path, Path]:
    """Two files."""
    paths = folder / f"run{suffix}", folder / f"qrels{suffix}"
    for path, data in zip(paths, (run, grades), strict=True):
        path.write_bytes(data)
    return paths


def delimited(table: dict[str, dict[str, Any]], value: str, delimiter: str) -> bytes:
    """A table with names of columns."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(("query_id", "doc_id", value))
    writer.writerows((query, name, repr(number)) for query, name, number in rows(table))
    return out.getvalue().encode()


def lines(table: dict[str, dict[str, Any]], value: str) -> bytes:
    """JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in records(table, value)).encode()


def frame(module: str, make: Callable[[Any, dict[str, list[Any]]], Any]) -> Form:
    """Frames of a library."""

    def form(run: Run, grades: Grades, _: Path) -> tuple[Any, Any]:
        library = available(module)
        tables = []
        for table, value in ((run, "score"), (grades, "relevance")):
            query, name, number = map(list, zip(*rows(table), strict=True))
            tables.append(make(library, {"query_id": query, "doc_id": name, value: number}))
        return tables[0], tables[1]

    return form


def parquet(run: Run, grades: Grades, folder: Path) -> tuple[Any, Any]:
    """Parquet files."""
    import pyarrow.parquet

    tables = frame("pyarrow", lambda library, columns: library.table(columns))(run, grades, folder)
    paths = folder / "run.parquet", folder / "qrels.parquet"
    for path, table in zip(paths, tables, strict=True):
        pyarrow.parquet.write_table(table, path)
    return paths


def dataset(path: Path) -> Any:
    """A dataset of Arrow."""
    import pyarrow.dataset

    return pyarrow.dataset.dataset(path)


def reader(path: Path) -> Any:
    """Batches of Arrow that can be read once."""
    return dataset(path).scanner(batch_size=4).to_reader()


def scored(lists: Any) -> Any:
    """Lists of random scores, which may rise in every list."""
    return cf.read_run(lists, scores="similarity")


# Forms of lists without ids of queries; the others have an empty list in place of a missing ranking.
POSITIONS: dict[str, Form] = {
    "lists by position": lambda run, grades, _: (scored([list(of.items()) for of in run.values()]), [*grades.values()]),
    "dicts by position": lambda run, grades, _: (
        [dict(of) for of in run.values()],
        [list(g.items()) for g in grades.values()],
    ),
    "ids of queries": lambda run, grades, _: (
        cf.read_run(scored([list(of.items()) for of in run.values()]), query_ids=[*run]),
        grades,
    ),
    "JSON lists": lambda run, grades, folder: (
        scored(
            files(
                folder, ".json", *(json.dumps([list(of.items()) for of in x.values()]).encode() for x in (run, grades))
            )[0]
        ),
        folder / "qrels.json",
    ),
    "arrays": lambda run, grades, _: (scored(arrays(run)), [*grades.values()]),
}
# Forms without ids of queries and with numbers of documents, which have an order of their own among equal scores.
NUMBERED: dict[str, Form] = {
    "dicts": lambda run, grades, _: (list(run.values()), list(grades.values())),
    "sparse matrices": lambda run, grades, _: (sparse_rows(run), sparse_rows(grades)),
    "sparse columns": lambda run, grades, _: (sparse_rows(run).tocsc(), sparse_rows(grades).tocoo()),
}


def numbered(run: Run, grades: Grades) -> tuple[Any, Any]:
    """The same input with numbers of documents as ids, in their order."""
    number = {
        name: i for i, name in enumerate(sorted({name for of in (*run.values(), *grades.values()) for name in of}))
    }
    by_number = (
        {query: dict(sorted((number[name], value) for name, value in of.items())) for query, of in table.items()}
        for table in (run, grades)
    )
    return next(by_number), next(by_number)


def sparse_rows(table: dict[str, dict[Any, Any]]) -> Any:
    """A row for each query, with explicit zeros."""
    from scipy.sparse import csr_matrix

    ends = np.cumsum([0, *map(len, table.values())])
    ids, values = [d for of in table.values() for d in of], [x for of in table.values() for x in of.values()]
    return csr_matrix((np.array(values, np.float64), np.array(ids, np.int64), ends), shape=(len(table), 64))


def arrays(run: Run) -> tuple[Any, Any]:
    """Scores and ids, padded."""
    width = max(map(len, run.values()))
    ids, scores = np.full((len(run), width), -1, object), np.zeros((len(run), width))
    for row, of_query in enumerate(run.values()):
        for column, (name, score) in enumerate(of_query.items()):
            ids[row, column], scores[row, column] = name, score
    return scores, ids


FORMS: dict[str, Form] = {
    "dicts": lambda run, grades, _: (run, grades),
    "pairs": lambda run, grades, _: (scored({query: list(of.items()) for query, of in run.items()}), grades),
    "records by query": lambda run, grades, _: (
        scored({query: [{"id": name, "score": score} for name, score in of.items()] for query, of in run.items()}),
        grades,
    ),
    "distances": lambda run, grades, _: (
        cf.read_run({q: [(d, -score) for d, score in of.items()] for q, of in run.items()}, scores="distance"),
        grades,
    ),
    "NumPy numbers": lambda run, grades, _: (
        {query: {name: np.float64(score) for name, score in of.items()} for query, of in run.items()},
        {query: {name: np.int64(grade) for name, grade in of.items()} for query, of in grades.items()},
    ),
    "fractions": lambda run, grades, _: (
        {query: {name: Fraction(score) for name, score in of.items()} for query, of in run.items()},
        {query: {name: Decimal(grade) for name, grade in of.items()} for query, of in grades.items()},
    ),
    "rows": lambda run, grades, _: (records(run, "score"), records(grades, "relevance")),
    "TREC text": lambda run, grades, folder: files(folder, ".txt", *trec(run, grades)),
    "TREC text, gzip": lambda run, grades, folder: files(folder, ".txt.gz", *map(gzip.compress, trec(run, grades))),
    "file objects": lambda run, grades, _: tuple(map(io.BytesIO, trec(run, grades))),  # type: ignore[return-value]
    "CSV": lambda run, grades, folder: files(
        folder, ".csv", delimited(run, "score", ","), delimited(grades, "relevance", ",")
    ),
    "TSV": lambda run, grades, folder: files(
        folder, ".tsv", delimited(run, "score", "\t"), delimited(grades, "relevance", "\t")
    ),
    "JSON": lambda run, grades, folder: files(folder, ".json", json.dumps(run).encode(), json.dumps(grades).encode()),
    "JSON Lines": lambda run, grades, folder: files(folder, ".jsonl", lines(run, "score"), lines(grades, "relevance")),
    "Parquet": parquet,
    "Arrow datasets": lambda run, grades, folder: tuple(map(dataset, parquet(run, grades, folder))),  # type: ignore[return-value]
    "Arrow readers": lambda run, grades, folder: tuple(reader(path) for path in parquet(run, grades, folder)),  # type: ignore[return-value]
    "users and items": frame(
        "pandas",
        lambda pandas, columns: pandas.DataFrame(columns).rename(
            columns={"query_id": "user_id", "doc_id": "item_id", "relevance": "rating"}
        ),
    ),
    "Arrow": frame("pyarrow", lambda library, columns: library.table(columns)),
    "pandas": frame("pandas", lambda library, columns: library.DataFrame(columns)),
    "Polars": frame("polars", lambda library, columns: library.DataFrame(columns)),
    "read first": lambda run, grades, _: (cf.read_run(run), cf.read_qrels(grades)),
}
NEEDS = {
    **dict.fromkeys(("Parquet", "Arrow datasets", "Arrow readers"), "pyarrow"),
    "users and items": "pandas",
    "Arrow": "pyarrow",
    "pandas": "pandas",
    "Polars": "polars",
}


@contextmanager
def without_core() -> Iterator[None]:
    """Everything is read in plain Python."""
    names = [name for name in dir(plain) if not name.startswith("_") and hasattr(native, name)]
    with patch.multiple(native, **{name: getattr(plain, name) for name in names}):
        yield


def values(scores: Any) -> dict[str, Any]:
    """The values of every query as bits; the mean is left out where a form has no other queries."""
    (of_run,) = scores.to_dict()["runs"].values()
    return {
        name: {query: None if value is None else float(value).hex() for query, value in found["queries"].items()}
        for name, found in of_run.items()
    }


def in_order(found: dict[str, Any]) -> list[Any]:
    """The values without the ids of queries."""
    return [list(of_measure.values()) for of_measure in found.values()]


def tensors(run: Run, grades: Grades, ties: str, array: Callable[[Any], Any]) -> Any:
    """The values of tables of scores."""
    width = max(map(len, run.values()))
    score, mask = np.zeros((len(run), width)), np.zeros((len(run), width), bool)
    ids, table = np.full((len(run), width), "", object), np.full((len(run), width), np.nan)
    for row, (query, of_query) in enumerate(run.items()):
        for column, (name, number) in enumerate(of_query.items()):
            score[row, column], mask[row, column], ids[row, column] = number, True, name
            table[row, column] = grades.get(query, {}).get(name, np.nan)
    missed = {q: {name: grade for name, grade in of.items() if name not in run.get(q, {})} for q, of in grades.items()}
    return evaluate_tensors(
        array(table),
        array(score),
        MEASURES,
        mask=array(mask),
        ids=ids,
        query_ids=list(run),
        missed={query: of_query for query, of_query in missed.items() if of_query},
        ties=ties,  # type: ignore[arg-type]
    ).scores


def differences(run: Run, grades: Grades, ties: str, folder: Path) -> Iterator[str]:
    """The forms whose values are not those of the dicts."""

    def evaluated(grades: Any, run: Any) -> dict[str, Any]:
        # Ids of a random input may have nothing in common, which is an error of files otherwise.
        collection = cf.Collection(grades, allow_disjoint=True)
        return values(cf.evaluate(collection, run, MEASURES, ties=ties))  # type: ignore[arg-type]

    expected = evaluated(grades, run)
    for name, form in FORMS.items():
        if name in NEEDS and available(NEEDS[name]) is None:
            continue
        given_run, given_grades = form(run, grades, folder)
        if evaluated(given_grades, given_run) != expected:
            yield name
    with without_core():
        for name in ("dicts", "TREC text"):
            given_run, given_grades = FORMS[name](run, grades, folder)
            if evaluated(given_grades, given_run) != expected:
                yield f"{name}, in plain Python"
    every = dict.fromkeys((*run, *grades))
    complete = {query: run.get(query, {}) for query in every}, {query: grades.get(query, {}) for query in every}
    of_lists = in_order(evaluated(complete[1], complete[0]))
    for name, form in POSITIONS.items():
        given_run, given_grades = form(*complete, folder)
        if in_order(evaluated(given_grades, given_run)) != of_lists:
            yield name
    of_numbers = numbered(*complete)
    for name, form in NUMBERED.items():
        given_run, given_grades = form(*of_numbers, folder)
        found = in_order(evaluated(given_grades, given_run))
        if name == "dicts":
            of_lists = found
        elif found != of_lists:
            yield name
    libraries: dict[str, Callable[[Any], Any]] = {"NumPy": np.asarray}
    if (torch := available("torch")) is not None:
        libraries["PyTorch"] = torch.from_numpy
    for name, array in libraries.items():
        if values(tensors(run, grades, ties, array)) != expected:
            yield f"tensors of {name}"


def main() -> None:
    """Compare all forms of random inputs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    end, failed, done = time.monotonic() + given.seconds, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.inputs):
            if time.monotonic() > end:
                break
            rng = random.Random(f"{given.seed} {number}")
            run, grades = random_input(rng)
            ties = rng.choice(TIES)
            tables.ROWS_PER_BATCH = rng.choice((3, 1 << 17))  # long tables are read in pieces
            found = list(differences(run, grades, ties, Path(folder)))
            done += 1
            if found:
                failed += 1
                print(f"input {number}, ties={ties}: {', '.join(found)}\nrun = {run}\ngrades = {grades}", flush=True)
    forms = len(FORMS) + len(POSITIONS) + len(NUMBERED) + 4
    print(f"{done:,} inputs x {len(MEASURES)} measures in {forms} forms: {failed} differ")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
