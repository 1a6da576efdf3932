"""Scores of other programs: every shape is read to the last bit, and wrong ones are sentences with a place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import CranfieldError

THIRD = 1 / 3
VALUES = {
    "old": {"faithfulness": {"q1": 0.1, "q2": THIRD}, "latency": {"q1": 120.5, "q2": 80.0}},
    "new": {"faithfulness": {"q1": 0.7, "q2": None}, "latency": {"q1": 99.25, "q2": -1e-9}},
}


def rows(missing: Any = None) -> list[dict[str, Any]]:
    """The values as rows of a long table."""
    return [
        {"run": run, "query": query, "measure": measure, "value": missing if value is None else value}
        for run, of_run in VALUES.items()
        for measure, of_measure in of_run.items()
        for query, value in of_measure.items()
    ]


def wide() -> list[dict[str, Any]]:
    """The values as rows of a wide table."""
    return [
        {"run": run, "query": query, **{measure: of[query] for measure, of in of_run.items()}}
        for run, of_run in VALUES.items()
        for query in ("q1", "q2")
    ]


def text(table: list[dict[str, Any]], delimiter: str) -> str:
    lines = [
        list(table[0]),
        *(["" if v is None else v if isinstance(v, str) else repr(v) for v in row.values()] for row in table),
    ]
    return "".join(delimiter.join(line) + "\n" for line in lines)


def file(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content)
    return str(folder / name)


def json_lines(table: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in table)


def of_run(run: str, order: tuple[int, int], missing: str = "NaN") -> str:
    """Lines of one run: measure and query in this order, then the value."""
    lines = []
    for row in rows(missing):
        names = row["measure"], row["query"]
        value = row["value"] if isinstance(row["value"], str) else repr(row["value"])
        if row["run"] == run:
            lines.append(f"{names[order[0]]:22}\t{names[order[1]]}\t{value}\n")
    return "".join(lines)


def parquet(folder: Path) -> str:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows()), folder / "scores.parquet")
    return str(folder / "scores.parquet")


def frame(kind: str, table: list[dict[str, Any]]) -> Any:
    return pytest.importorskip(kind).DataFrame(table)


SHAPES: dict[str, Any] = {
    "dict": lambda folder: VALUES,
    "long CSV": lambda folder: file(folder, "scores.csv", text(rows(), ",")),
    "long TSV": lambda folder: file(folder, "scores.tsv", text(rows(), "\t")),
    "wide CSV": lambda folder: file(folder, "scores.csv", text(wide(), ",")),
    "a table with no usual ending": lambda folder: file(folder, "scores.txt", text(wide(), ";")),
    "long JSON Lines": lambda folder: file(folder, "scores.jsonl", json_lines(rows())),
    "wide JSON Lines": lambda folder: file(folder, "scores.jsonl", json_lines(wide())),
    "JSON of the dict": lambda folder: file(folder, "scores.json", json.dumps(VALUES)),
    "JSON of records": lambda folder: file(folder, "scores.json", json.dumps(rows())),
    "Parquet": parquet,
    "records": lambda folder: wide(),
    "pandas": lambda folder: frame("pandas", rows()),
    "polars": lambda folder: frame("polars", wide()),
    "trec_eval": lambda folder: [
        file(folder, f"{run}.txt", f"runid                 \tall\t{run}\n{of_run(run, (0, 1))}latency\tall\t100\n")
        for run in VALUES
    ],
    "ir_measures": lambda folder: [
        file(folder, f"{run}.txt", f"{of_run(run, (1, 0))}all\tlatency\t100\n") for run in VALUES
    ],
    "text with the run first": lambda folder: file(
        folder,
        "scores.txt",
        "".join(f"{run} {line}\n" for run in VALUES for line in of_run(run, (0, 1)).splitlines())
        + "old latency all 1\n",
    ),
    "text with the run last": lambda folder: file(
        folder,
        "scores.txt",
        "".join(f"{line} {run}\n" for run in VALUES for line in of_run(run, (0, 1)).splitlines())
        + "latency all 1 old\n",
    ),
    "a file for each run": lambda folder: [
        file(
            folder,
            f"{run}.csv",
            text([{k: v for k, v in row.items() if k != "run"} for row in wide() if row["run"] == run], ","),
        )
        for run in VALUES
    ],
    "files by run": lambda folder: {
        run: file(
            folder,
            f"{i}.csv",
            text([{k: v for k, v in row.items() if k != "run"} for row in wide() if row["run"] == run], ","),
        )
        for i, run in enumerate(VALUES)
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_read_to_the_last_bit(shape: str, tmp_path: Path) -> None:
    scores = cf.read_scores(SHAPES[shape](tmp_path), lower=["latency"])
    found = {m: {run: dict(of.items()) for run, of in scores[m].per_query.items()} for m in scores.measures}
    expected = {m: {run: of[m] for run, of in VALUES.items()} for m in ("faithfulness", "latency")}
    assert found == expected
    assert [column.better for column in scores.columns] == ["higher", "lower"]


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ("{run} AP {query} {value}", "new"),
        ("{run} {query} AP {value}", "new"),
        ("AP {query} {value} {run}", "new"),
        ("AP {query} {value} {run}", "7"),
        ("{run} AP {query} {value}", "7"),
    ],
)
def test_queries_and_runs_may_be_numbers(line: str, run: str, tmp_path: Path) -> None:
    values = {"301": 0.5, "302": 0.25, "303": None}
    lines = [line.format(run=run, query=q, value="NaN" if value is None else value) for q, value in values.items()]
    scores = cf.read_scores(file(tmp_path, "scores.txt", "\n".join(lines)))
    assert scores["AP"].per_query == {run: values}


def test_the_value_is_the_last_number_of_a_line_even_if_another_value_is_wrong(tmp_path: Path) -> None:
    lines = file(tmp_path, "scores.txt", "new AP 301 0.5\nnew AP 302 high\n")
    with pytest.raises(CranfieldError, match=r'scores.txt:2: the value of AP is not a number: "high"'):
        cf.read_scores(lines)


def test_rows_of_pandas_may_be_named_by_its_index() -> None:
    table = frame("pandas", wide()).set_index(["run", "query"])
    assert cf.read_scores(table).to_dict() == cf.read_scores(wide()).to_dict()


def test_saved_scores_of_several_runs_are_one_table(tmp_path: Path) -> None:
    qrels, runs = (
        {"q": {"a": 1}, "r": {"b": 1}},
        {"x": {"q": ["a"], "r": ["b"]}, "y": {"q": ["b", "a"]}, "z": {"r": ["b"]}},
    )
    together = cf.evaluate(qrels, runs, ["RR", "P@1"])
    cf.evaluate(qrels, {name: runs[name] for name in "xy"}, ["RR", "P@1"]).save(tmp_path / "xy.json")
    cf.evaluate(qrels, {"z": runs["z"]}, ["RR", "P@1"]).save(tmp_path / "z.json")
    files = [tmp_path / "xy.json", tmp_path / "z.json"]
    assert cf.read_scores(files).to_dict()["runs"] == together.to_dict()["runs"]
    with pytest.raises(CranfieldError, match="two of the saved scores have a run `z`"):
        cf.read_scores([*files, tmp_path / "z.json"])


def test_scores_are_scores() -> None:
    scores = cf.evaluate({"q": {"a": 1}}, {"q": ["b", "a"]}, "RR")
    assert cf.read_scores(scores, queries={"q": {"type": "how"}}).by("type").groups == ("how",)


def test_our_own_json_is_the_same_scores(tmp_path: Path) -> None:
    scores = cf.evaluate({"q": {"a": 1}}, {"q": ["b", "a"]}, ["RR", "P@1"])
    scores.save(tmp_path / "scores.json")
    assert cf.read_scores(tmp_path / "scores.json").to_dict() == scores.to_dict()
    outside = cf.read_scores(VALUES, lower=["latency"], queries={"q1": "what?", "q2": "how?"})
    outside.save(tmp_path / "outside.json")
    assert cf.read_scores(tmp_path / "outside.json").to_dict() == outside.to_dict()


def test_missing_stays_missing() -> None:
    scores = cf.read_scores(VALUES)
    assert scores["faithfulness"]["new"] == 0.7
    assert scores._sizes.tolist() == [[2, 2], [1, 2]]
    with pytest.raises(CranfieldError, match="faithfulness: 1 of 2 queries have a value in every run"):
        cf.compare(scores)


def test_repeats_may_be_a_column() -> None:
    table = [
        {"run": "a", "query": q, "seed": seed, "m": value}
        for seed, values in enumerate([(0.5, 1.0), (0.25, 0.0)])
        for q, value in zip(("q1", "q2"), values, strict=True)
    ]
    scores = cf.read_scores(table)
    assert scores.repeats["a"].tolist() == [[[0.5, 0.25], [1.0, 0.0]]]
    assert scores.values.tolist() == [[[0.375, 0.5]]]


def test_columns_can_be_named() -> None:
    table = [{"agent": "a", "case": "q1", "m": 0.5}]
    assert cf.read_scores(table, columns={"run": "agent", "query": "case"})["m"]["a"] == 0.5


WRONG: dict[str, tuple[Any, str]] = {
    "two values": ("run,query,m\na,q1,0.5\na,q1,0.6\n", "scores.csv:3: a second value of m for query `q1` of run `a`"),
    "text": ("run,query,m\na,q1,good\n", 'scores.csv:2: the value of m is not a number: "good"'),
    "infinity": ("run,query,m\na,q1,inf\n", "scores.csv:2: the value of m is not a number"),
    "a number too large": (
        [{"run": "a", "query": "q1", "m": 1e308}, {"run": "a", "query": "q2", "m": -1e308}],
        "the value of m is not between",
    ),
    "an underscore": ("run,query,m\na,q1,1_000\n", "scores.csv:2: the value of m is not a number"),
    "a decimal comma": ('run,query,m\na,q1,"0,5"\n', "scores.csv:2: the value of m is not a number"),
    "a run without a value": ("run,query,m\na,q1,0.5\nb,q1,\n", "scores.csv:3: run `b` has no value"),
    "too few fields": ("run,query,m\na,q1\n", "scores.csv:2: expected 3"),
    "no query": ("run,m\na,0.5\n", "no column for the query; the columns are run, m"),
    "no scores": ("run,query\na,q1\n", "no column with scores"),
    "no value": ("query,measure\nq1,m\n", "no column for the value"),
    "an empty query": ("run,query,m\na,,0.5\n", "scores.csv:2: '' is not the name of a query"),
    "a column twice": ("query,m,m\nq1,1,2\n", "the column `m` appears twice"),
    "an empty file": ("", "scores.csv"),
    "names only": ("run,query,m\n", "scores.csv: there are no scores"),
    "empty lines": ("\n\n", "scores.csv: there are no scores"),
    "no rows": ([], "scores: there are no scores"),
    "lists of repeats": ({"a": {"m": {"q1": [[1, 2]]}}}, "the value of m is not a number: [1, 2]"),
    "a float as a query": ([{"query": 1.5, "m": 1}], "1.5 is not the name of a query"),
    "repeats of other lengths": ({"a": {"m": {"q1": [1, 2], "q2": [1]}}}, "1 of 2 repeats"),
    "no dict": ({"a": {"m": 0.5}}, "run `a`, m: expected a dict, found float"),
    "an unknown role": ([{"query": "q", "m": 1}], "unknown column role `text`"),
    "an unknown measure": ([{"query": "q", "m": 1}], "`latency` is not one of the measures"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_shapes_are_sentences(case: str, tmp_path: Path) -> None:
    content, said = WRONG[case]
    source = file(tmp_path, "scores.csv", content) if isinstance(content, str) else content
    options: dict[str, Any] = {"columns": {"text": "x"}} if "role" in case else {}
    options |= {"lower": ["latency"]} if "measure" in case else {}
    with pytest.raises(CranfieldError) as raised:
        cf.read_scores(source, **options)
    assert said in str(raised.value)
    if case not in ("an empty file",):
        assert raised.value.hint or case in ("too few fields", "a column twice")


def test_lines_whose_columns_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    lines = file(tmp_path, "scores.txt", "x a 1\nx b 2\ny a 1\ny b 2\n")
    with pytest.raises(CranfieldError, match="which column is the measure"):
        cf.read_scores(lines)


def test_a_table_of_queries_is_joined_by_id(tmp_path: Path) -> None:
    table = file(tmp_path, "queries.csv", "query,text,type\nq1,what is a lamp,what\nq2,how,how\nq3,unused,what\n")
    scores = cf.read_scores(VALUES, queries=table)
    assert scores.attributes == {"q1": {"text": "what is a lamp", "type": "what"}, "q2": {"text": "how", "type": "how"}}
    with pytest.raises(CranfieldError, match="none of them has a score"):
        cf.read_scores(VALUES, queries={"x": "text"})


XML = """<webtrack2012><topic number="151" type="ambiguous"><query>403b</query><description>What is</description>
<subtopic number="1" type="inf">x</subtopic></topic><topic number="152" type="faceted"><query>a &amp; b</query></topic>
</webtrack2012>"""
SGML = "<top>\n<num> Number: 301\n<title> International Organized Crime\n<desc> Description:\nIdentify\n</top>\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"1": "lamps", 2: {"type": "x", "n": 3}}, {"1": {"text": "lamps"}, "2": {"type": "x", "n": "3"}}),
        ("queries.tsv\nqid\tquery\ttype\n1\tlamps\tx\n", {"1": {"text": "lamps", "type": "x"}}),
        (
            'queries.jsonl\n{"_id": "1", "text": "lamps", "metadata": null}\n{"_id": "2", "text": "b"}\n',
            {"1": {"text": "lamps"}, "2": {"text": "b"}},
        ),
        ("queries.txt\n1\tlamps and horns\n", {"1": {"text": "lamps and horns"}}),
        (
            f"topics.xml\n{XML}",
            {"151": {"text": "403b", "type": "ambiguous"}, "152": {"text": "a & b", "type": "faceted"}},
        ),
        (f"topics.txt\n{SGML}", {"301": {"text": "International Organized Crime"}}),
    ],
)
def test_tables_of_queries(source: Any, expected: dict[str, dict[str, str]], tmp_path: Path) -> None:
    from cranfield.io.named_tables import read_queries

    if isinstance(source, str):
        name, _, content = source.partition("\n")
        source = file(tmp_path, name, content)
    assert read_queries(source) == expected


def test_scores_of_a_collection_know_their_queries() -> None:
    collection = cf.Collection({"q": {"a": 1}}, queries={"q": {"type": "x"}, "other": {"type": "y"}})
    assert cf.evaluate(collection, {"q": ["a"]}, "RR").attributes == {"q": {"type": "x"}}
    assert cf.Evaluator(collection, "RR").evaluation({"q": ["a"]}).scores.attributes == {"q": {"type": "x"}}
    assert np.isfinite(cf.evaluate(collection, {"q": ["a"]}, "RR")._means).all()
