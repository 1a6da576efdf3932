"""Shapes that people have: tables of recommenders, sparse matrices, numbers of any type, and what a run shows of itself."""

import json
import uuid
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import cranfield as cf
from cranfield.errors import CranfieldError, InputError, MeasureError

RATINGS = pd.DataFrame({"user_id": ["u1", "u1", "u2"], "item_id": ["a", "b", "c"], "rating": [5, 3, 4]})
RECOMMENDED = pd.DataFrame({"user_id": ["u1", "u1", "u2"], "item_id": ["z", "b", "c"], "score": [0.5, 0.3, 0.4]})


def test_users_and_items(tmp_path: Path) -> None:
    expected = {"RR": 0.75, "HR@1": 0.5, "HitRate@2": 1.0}
    measures = list(expected)
    assert cf.evaluate(RATINGS, RECOMMENDED, measures).means["run"] == expected
    files = tmp_path / "ratings.csv", tmp_path / "recommended.csv"
    for path, table in zip(files, (RATINGS, RECOMMENDED), strict=True):
        table.to_csv(path, index=False)
    assert cf.evaluate(files[0], {"run": files[1]}, measures).means["run"] == expected
    implicit = RATINGS[["user_id", "item_id"]]
    scores = cf.evaluate(implicit, RECOMMENDED, measures)
    assert scores.means["run"] == expected
    assert "every row is relevant" in str(scores.notes[0])
    implicit.to_csv(files[0], index=False)
    assert cf.evaluate(files[0], {"run": files[1]}, measures).means["run"] == expected
    with pytest.raises(InputError, match="no column for the grade; the columns are user_id, item_id, timestamp"):
        cf.read_qrels(implicit.assign(timestamp=3))


def test_tables_of_users_and_items_with_other_names() -> None:
    users = pd.DataFrame({"kunde": ["u1", "u2"], "segment": ["x", "y"], "land": ["D", "F"]})
    queries = cf.read_queries(users, columns={"query": "kunde"})
    assert queries == {"u1": {"segment": "x", "land": "D"}, "u2": {"segment": "y", "land": "F"}}
    scores = cf.evaluate(cf.Collection(RATINGS, queries=queries), RECOMMENDED, "RR")
    assert scores.by(["segment", "land"]).means.tolist() == [[[0.5, 1.0]]]
    assert cf.read_queries(users.rename(columns={"kunde": "user_id"})) == queries
    assert cf.read_queries(users, columns={"query": "kunde", "text": "land"})["u1"] == {"segment": "x", "text": "D"}
    items = cf.read_items(pd.DataFrame({"sku": ["a", "b"], "price": [1, 2]}), columns={"document": "sku"})
    assert list(items.ids) == ["a", "b"]
    # The column of documents has the names that it has in a run.
    assert list(cf.read_items([{"docno": "a", "docid": 0}, {"docno": "b", "docid": 1}]).ids) == ["a", "b"]
    for read, role in ((cf.read_queries, "query"), (cf.read_items, "document")):
        with pytest.raises(InputError, match="no column `no`; the columns are kunde, segment, land"):
            read(users, columns={role: "no"})
        with pytest.raises(CranfieldError, match="unknown column role `x`"):
            read(users, columns={"x": "kunde"})


def test_side_tables_in_every_form(tmp_path: Path) -> None:
    qrels = {"7": {"a": {"s": 1}, "b": {"t": 1}}}
    run = {"7": {"x": 2.0, "b-1": 1.0}}
    given: dict[str, pd.DataFrame] = {
        "costs": pd.DataFrame({"query_id": [7, 7], "doc_id": ["x", "b"], "cost": [2.5, 4]}),
        "intents": pd.DataFrame({"query": [7, 7], "subtopic": ["s", "t"], "weight": [1, 3.0], "type": ["nav", None]}),
        "types": pd.DataFrame({"query": [7], "subtopic": ["s"], "type": ["nav"]}),
        "map_documents": pd.DataFrame({"chunk": ["b-1"], "document": ["b"]}),
    }
    nested: dict[str, Any] = {
        "costs": {7: {"x": 2.5, "b": 4}},
        "intents": {7: {"s": 1, "t": 3}},
        "types": {7: {"s": "nav"}},
        "map_documents": {"b-1": "b"},
    }
    measures = {"costs": "TBG", "intents": "DIN_nDCG@5", "types": "DIN_nDCG@5", "map_documents": "RR"}
    for name, table in given.items():
        grades = {"7": {"b": 1}} if name in ("costs", "map_documents") else qrels
        of_query = {"7": {"x": 2.0, "b": 1.0}} if name != "map_documents" else run
        also = {"types": nested["types"]} if name == "intents" else {}

        def value(source: Any) -> float:
            collection = cf.Collection(grades, **({name: source} | also))  # noqa: B023
            return float(cf.evaluate(collection, of_query, measures[name]))  # noqa: B023

        paths = [tmp_path / f"{name}{ending}" for ending in (".csv", ".parquet", ".jsonl", ".json", ".txt")]
        table.to_csv(paths[0], index=False)
        table.to_parquet(paths[1])
        table.to_json(paths[2], orient="records", lines=True)
        paths[3].write_text(json.dumps(nested[name]))
        table.to_csv(paths[4], index=False, header=False, sep=" ")
        values = [value(source) for source in (nested[name], table, table.to_dict("records"), *paths)]
        assert values == [values[0]] * len(values), name


def test_faults_of_side_tables_have_places(tmp_path: Path) -> None:
    table = pd.DataFrame({"query": ["q", None, "q"], "document": ["a", "b", "c"], "cost": [1.0, 2.0, -1.0]})
    table.to_csv(tmp_path / "costs.csv", index=False)
    for source, first, third in ((table, "costs: row 2", "costs: row 3"), (tmp_path / "costs.csv", ":3", ":4")):
        with pytest.raises(InputError) as error:
            cf.evaluate(cf.Collection({"q": {"a"}}, costs=source), {"q": ["a"]}, "TBG")
        faults = list(error.value.faults)
        assert f"{first}: `" in faults[0] and faults[0].endswith("is not the id of a query")
        assert f"{third}: the cost is not a positive number" in faults[1]
    with pytest.raises(InputError, match="costs: no column for the cost; the columns are query, document, price"):
        cf.Evaluator(cf.Collection({"q": {"a"}}, costs=table.rename(columns={"cost": "price"})), "TBG")


@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "coo_matrix", "lil_matrix", "csr_array", "coo_array"])
def test_sparse_matrices(form: str) -> None:
    grades = getattr(sparse, form)(np.array([[1, 0, 2], [0, 3, 0]]))
    scores = getattr(sparse, form)(np.array([[0.1, 0.5, 0.2], [0, 0.3, 0.0]]))
    means = {"RR": 0.75, "NumRet": 4, "R@1": 0.5}
    assert cf.evaluate(grades, scores, list(means)).means["run"] == means
    assert cf.Evaluator([{0, 2}, {1}], "RR").means(scores) == {"RR": 0.75}
    assert cf.evaluate(grades, [[1, 2], [1]], "RR").means == {"run": {"RR": 0.75}}


class Half:
    def __float__(self) -> float:
        return 0.5


@pytest.mark.parametrize("half", [Decimal("0.5"), Fraction(1, 2), Half(), np.float16(0.5), np.array(0.5)])
def test_numbers_of_every_type_at_every_door(half: Any) -> None:
    run, qrels = {"q": {"a": half, "b": 1}}, {"q": {"a": 1}}
    evaluator = cf.Evaluator(qrels, "RR")
    assert evaluator.means(run) == {"RR": 0.5}
    assert evaluator(run).means == {"run": {"RR": 0.5}}
    assert evaluator({"x": run}).means == {"x": {"RR": 0.5}}
    assert cf.evaluate(qrels, run, "RR").means == {"run": {"RR": 0.5}}
    assert float(cf.evaluate({"q": {"a": half, "b": 2}}, {"q": ["a"]}, "RR(rel=0.5)")) == 1
    assert cf.evaluate(qrels, {"q": [("a", half), ("b", 0.4)]}, "RR").means == {"run": {"RR": 1}}
    assert cf.read_scores({"x": {"m": {"q": half}}})["m"]["x"] == 0.5
    assert cf.read_items({"a": {"price": half}}).numbers("price").tolist() == [0.5]


@pytest.mark.parametrize("score", [bytearray(b"1"), memoryview(b"1"), b"1", "1"])
def test_text_is_no_score(score: Any) -> None:
    for door in (cf.Evaluator({"q": {"a": 1}}, "RR"), cf.Evaluator({"q": {"a": 1}}, "RR").means):
        with pytest.raises(InputError, match="query `q`, document `a`: the score is not a number"):
            door({"q": {"a": score, "b": 1}})


NO_SCORES = (pd.NA, pd.NaT, 1j, np.datetime64("2020"))


@pytest.mark.parametrize("score", [*NO_SCORES, None, "1", b"1"])
def test_values_that_are_no_scores(score: Any) -> None:
    evaluator = cf.Evaluator({"q": {"a": 1}}, "RR")
    for door in (evaluator, evaluator.means, evaluator.per_query, evaluator.values):
        with pytest.raises(InputError, match="query `q`, document `a`: the score is not a number"):
            door({"q": {"a": score, "b": 0.5}})


@pytest.mark.parametrize("score", NO_SCORES)
def test_pairs_without_a_score(score: Any) -> None:
    evaluator = cf.Evaluator({"q": {"a": 1}}, "RR")
    for door in (evaluator, evaluator.means, evaluator.per_query, evaluator.values):
        for document, pairs in {"a": [("a", score), ("b", 0.5)], "b": [("a", 0.5), ("b", score)]}.items():
            with pytest.raises(InputError, match=f"query `q`, document `{document}`: the score is not a number"):
                door({"q": pairs})
        with pytest.raises(InputError, match="query `q`, position 1: there is no score"):
            door({"q": [("a", None), ("b", 0.5)]})
    for pairs in ([("a", score), ("b", 1)], [("a", 1), ("b", score)]):
        with pytest.raises(InputError, match=r"query `q`, .*the grade is not a finite number"):
            cf.read_qrels({"q": pairs})


@pytest.mark.parametrize("nan", [Decimal("NaN"), Decimal("sNaN"), float("nan"), np.float32("nan")])
def test_nan_of_every_type(nan: Any) -> None:
    pairs = [("a", nan), ("b", 0.5)]
    for ranking in (pairs, pairs[::-1], dict(pairs), [{"id": name, "score": score} for name, score in pairs]):
        with pytest.raises(InputError, match=r"the score is (NaN|not a number)"):
            cf.Evaluator({"q": {"a": 1}}, "RR").means({"q": ranking})
    with pytest.raises(CranfieldError):
        cf.read_scores({"x": {"m": {"q": nan}}})


SURROGATE = "\ud800"
UNENCODABLE: dict[str, Any] = {
    "run": lambda: cf.evaluate({"q": {"a"}}, {"q": {SURROGATE: 1.0}}, "RR"),
    "judgments": lambda: cf.read_qrels({"q": {SURROGATE: 1}}),
    "items": lambda: cf.read_items({SURROGATE: {"price": 1}}),
    "items of a frame": lambda: cf.read_items([{"item": SURROGATE, "price": 1}]),
    "queries": lambda: cf.read_queries({SURROGATE: "text"}),
    "queries of a frame": lambda: cf.read_queries([{"query": SURROGATE, "text": "x"}]),
    "scores": lambda: cf.read_scores({"x": {"m": {SURROGATE: 1}}}),
    "spans": lambda: cf.Evaluator(cf.Collection(spans={"q": [(SURROGATE, 0, 5)]}), "RR"),
    "queries of spans": lambda: cf.Evaluator(cf.Collection(spans={SURROGATE: [("d", 0, 5)]}), "RR"),
    "rows of spans": lambda: cf.Evaluator(
        cf.Collection(spans=[{"query": "q", "document": SURROGATE, "start": 0, "end": 5}]), "RR"
    ),
    "costs": lambda: cf.Evaluator(cf.Collection({"q": {"a"}}, costs={"q": {SURROGATE: 1}}), "TBG"),
    "costs of a frame": lambda: cf.Evaluator(
        cf.Collection({"q": {"a"}}, costs=[{"query": "q", "document": SURROGATE, "cost": 1}]), "TBG"
    ),
    "intents": lambda: cf.Evaluator(cf.Collection({"q": {"a": {"s": 1}}}, intents={"q": {SURROGATE: 1}}), "P_IA@1"),
}


@pytest.mark.parametrize("door", UNENCODABLE)
def test_text_that_cannot_be_encoded(door: str) -> None:
    with pytest.raises(InputError):
        UNENCODABLE[door]()


LONG = 10**6000  # more digits than Python writes
DOORS = {
    "spans": lambda: cf.evaluate(cf.Collection(spans={"q": [("d", 0, LONG)]}), {"q": [("d", 0, 5)]}, "RR"),
    "chunks": lambda: cf.evaluate(cf.Collection(spans={"q": [("d", 0, 5)]}), {"q": [("d", LONG, LONG)]}, "RR"),
    "items": lambda: cf.read_items({"a": {"price": LONG}}).numbers("price"),
    "attributes": lambda: cf.read_queries({"q": {"length": LONG}}),
    "scores": lambda: cf.read_scores({"x": {"m": {"q": LONG}}}),
    "costs": lambda: cf.evaluate(cf.Collection({"q": {"a"}}, costs={"q": {"a": LONG}}), {"q": ["a"]}, "TBG"),
    "rel": lambda: cf.Collection({"q": {"a"}}, rel=LONG),
    "depth": lambda: cf.evaluate({"q": {"a"}}, {"q": ["a"]}, "RR", depth=-LONG),
    "samples": lambda: cf.compare({"q": {"a"}}, {"x": {"q": ["a"]}, "y": {"q": ["a"]}}, "RR", samples=-LONG),
    "texts": lambda: cf.evaluate(cf.Collection({"q": {"a"}}, documents={"a": LONG}), {"q": ["a"]}, "DELTARB@5"),
}


@pytest.mark.parametrize("door", DOORS)
def test_numbers_of_any_length(door: str) -> None:
    with pytest.raises(CranfieldError):
        DOORS[door]()


def test_a_long_offset_has_a_place(tmp_path: Path) -> None:
    path = tmp_path / "spans.csv"
    path.write_text(f"query,document,start,end\nq,d,0,{'9' * 5000}\nq,d,-{'9' * 30},5\n")
    with pytest.raises(InputError) as error:
        cf.evaluate(cf.Collection(spans=path), {"q": [("d", 0, 5)]}, "RR")
    assert sorted(fault.rpartition("spans.csv")[2][:36] for fault in error.value.faults) == [
        ":2: the end is too large: 9999999999",
        ":3: the start is too large: -9999999",
    ]


class Growing(dict[str, Any]):
    """A dict whose scores change it while they are read."""

    class Score:
        def __init__(self, of: dict[str, Any]) -> None:
            self.of = of

        def __float__(self) -> float:
            self.of[f"new{len(self.of)}"] = {"d": 1.0}
            return 1.0


def test_a_dict_that_its_own_values_change() -> None:
    for growing in range(2):
        for door in ("__call__", "means", "per_query", "values"):
            run: dict[str, Any] = {"q": {}, "r": {"d": 1.0}}
            run["q"] |= {"a": Growing.Score(run["q"] if growing else run), "b": 1.0}
            with suppress(CranfieldError):  # and no other error
                getattr(cf.Evaluator({"q": {"a": 1}}, "RR"), door)(run)


def test_scores_with_missing_values_of_pandas() -> None:
    table = pd.DataFrame({"run": ["x", "x"], "query": ["q1", "q2"], "RR": [0.5, None]}).convert_dtypes()
    assert cf.read_scores(table)["RR"].per_query["x"]["q1"] == 0.5
    for column in ("run", "query"):
        broken = table.assign(**{column: pd.array([table[column][0], pd.NA], dtype="string")})
        with pytest.raises(InputError, match=f"is not the name of a {column}"):
            cf.read_scores(broken)
    measures = pd.DataFrame({"query": ["q1", pd.NA], "RR": [0.5, 0.1]}).convert_dtypes()
    with pytest.raises(InputError, match="is not the name of a query"):
        cf.read_scores(measures)


def test_a_repeat_that_is_missing() -> None:
    rows = pd.DataFrame({"run": ["x"] * 3, "query": ["q1"] * 3, "value": [0.2, 0.4, 0.9], "repeat": ["1", "2", None]})
    with pytest.raises(InputError, match="row 3: the repeat is missing, and other values of query `q1` have one"):
        cf.read_scores(rows)
    assert cf.read_scores(rows[:2])["value"]["x"] == pytest.approx(0.3)


def test_scores_that_overflow_in_sums() -> None:
    with pytest.raises(InputError, match="is not between -1e\\+100 and 1e\\+100: 1e\\+308"):
        cf.read_scores({"x": {"m": {"a": 1e308, "b": 1e308}}})
    assert cf.read_scores({"x": {"m": {"a": 1e99, "b": 3e99}}})["m"]["x"] == 2e99


def test_attributes_that_overflow_in_sums() -> None:
    items = {"a": {"price": 1e99}, "b": {"price": 1e308}}
    with pytest.raises(InputError, match=r"document `b` is not between -1e\+100 and 1e\+100: \"1e\+308\""):
        cf.read_items(items).numbers("price")
    with pytest.raises(MeasureError, match="missing must be a number from"):
        cf.parse("DocMean(of='price', missing=1e400)@2")


def test_scores_of_several_collections() -> None:
    table = pd.DataFrame({"collection": ["docs", "web"], "run": "x", "query": ["q1", "q1"], "judge": [0.5, 0.1]})
    assert cf.read_scores(table)["judge"].per_query["x"] == {"docs/q1": 0.5, "web/q1": 0.1}


@pytest.mark.parametrize("read", [cf.read_scores, cf.read_items, cf.read_queries])
@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("query,item,m,,", "x.csv:1: several columns have no name"),
        ("query,item,m, ,", "x.csv:1: several columns have no name"),
        ("query,item,m,m,n", "x.csv:1: the column `m` appears twice"),
    ],
)
def test_columns_of_one_name(read: Any, header: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"{header}\nq1,a,1,,\nq2,b,2,,\n")
    with pytest.raises(InputError, match=message):
        read(path)


@pytest.mark.parametrize("table", [pd.DataFrame(), pd.DataFrame(index=[1, 2]), pl.DataFrame()])
def test_tables_without_columns(table: Any) -> None:
    with pytest.raises(InputError, match="the table has no rows"):
        cf.read_qrels(table)
    for read in (cf.read_run, cf.read_items, cf.read_queries, cf.read_scores):
        with pytest.raises(InputError):
            read(table)


def test_items_whose_names_are_numbers() -> None:
    assert cf.read_items({"a": {1: 5}}).numbers("1").tolist() == [5]
    with pytest.raises(InputError, match=r"document `0`: expected \{attribute: value\}"):
        cf.read_items({0: 5})


def test_two_files_of_one_name(tmp_path: Path) -> None:
    for folder, query in (("u", "q1"), ("v", "q2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.csv").write_text(f"query,m\n{query},0.5\n")
    scores = cf.read_scores([tmp_path / "u" / "a.csv", tmp_path / "v" / "a.csv"])
    assert any("are both read as the run `a`" in str(note) for note in scores.notes)


def test_all_unknown_measures_in_one_error() -> None:
    with pytest.raises(MeasureError) as error:
        cf.evaluate({"q": {"a": 1}}, {"q": ["a"]}, ["Foo", "RR", "nDGC@10", "Foo"])
    assert error.value.message.splitlines()[0].startswith("unknown measure `Foo`")
    assert "unknown measure `nDGC@10` (did you mean `nDCG@10`?" in error.value.message
    assert error.value.message.count("Foo") == 1


def test_wrong_shapes_say_what_they_are() -> None:
    with pytest.raises(InputError, match=r"expected a document, found the list \['a', 'b'\]"):
        cf.evaluate([{"a"}], [[["a", "b"]]], "RR")
    with pytest.raises(InputError, match="found the items of a dict"):
        cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}.items(), "RR")


# Chunks


class Document:
    """A chunk of LangChain."""

    def __init__(self, page_content: str, **metadata: Any) -> None:
        self.page_content, self.metadata = page_content, metadata


TEXTS = {"a.md": "A lamp is a light. A horn is loud.", "b.md": "Nothing at all."}


def test_chunks_without_offsets_are_searched_in_documents(tmp_path: Path) -> None:
    collection = cf.Collection(spans={"q": [("a.md", "A horn is loud.")]}, documents=TEXTS)
    chunks = {"q": [Document("Nothing at all.", source="b.md"), Document("A horn\nis loud.", source="a.md")]}
    assert cf.evaluate(collection, chunks, "RR").means == {"run": {"RR": 0.5}}
    scored = {"q": [(Document("Nothing at all.", source="b.md"), 0.9), (Document("A horn", source="a.md"), 0.7)]}
    assert cf.evaluate(collection, scored, "RR").means == {"run": {"RR": 0.0}}  # less than half of the passage
    records = {"q": [{"text": "A horn is loud.", "source": "a.md"}]}
    path = tmp_path / "run.json"
    path.write_text(json.dumps(records))
    for run in (records, path):
        assert float(cf.evaluate(collection, run, "RR")) == 1
    with pytest.raises(InputError, match=r"query `q`, position 1: the quote is not found in document `a.md`"):
        cf.evaluate(collection, {"q": [{"text": "No horn", "source": "a.md"}]}, "RR")
    without = cf.Collection(spans={"q": [("a.md", 19, 34)]})
    with pytest.raises(InputError, match="no usual field for the start of a chunk") as error:
        cf.evaluate(without, chunks, "RR")
    assert "give the texts of documents" in error.value.hint


def test_tables_of_every_library_by_name_and_in_lists(tmp_path: Path) -> None:
    arrow, dataset, polars = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.dataset", "polars"))
    columns = {"query_id": ["q", "q"], "doc_id": ["b", "a"], "score": [2.0, 1.0]}
    frame = pd.DataFrame(columns)
    frame.to_parquet(tmp_path / "run.parquet")
    opened = dataset.dataset(tmp_path / "run.parquet")
    tables: list[Any] = [
        *(frame, arrow.table(columns), polars.DataFrame(columns), polars.DataFrame(columns).lazy(), opened),
        (np.array([[2.0, 1.0]]), np.array([["b", "a"]])),
    ]
    for table in tables:
        qrels: Any = [{"a"}] if isinstance(table, tuple) else {"q": {"a"}}
        for given in (table, {"x": table}, [table], {"x": table, "y": table}, [table, table]):
            means = cf.evaluate(qrels, given, "RR").means
            assert [mean["RR"] for mean in means.values()] == [0.5] * (len(given) if are_runs(given) else 1)
    assert cf.evaluate({"q": {"a"}}, {"x": opened.scanner().to_reader()}, "RR").means == {"x": {"RR": 0.5}}


def are_runs(given: Any) -> bool:
    """Whether this is a list or a dict of runs, and not a table."""
    return isinstance(given, list | dict)


# What can be seen of a run


def test_negative_zero_is_zero() -> None:
    scores = [cf.evaluate({"q": {"a": 1, "b": zero}}, {"q": ["a"]}, "RR") for zero in (0, 0.0, -0.0)]
    first, *others = (of.to_dict()["provenance"]["inputs"][0]["digest"] for of in scores)
    assert others == [first, first]


def test_runs_can_be_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_text("q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 t\nq2 Q0 a 1 1.0 t\n")
    nested = {"q1": {"a": 2.5, "b": 1.5}, "q2": {"a": 1.0}}
    frame = pd.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"], "score": [2.5, 1.5, 1.0]})
    for source in (path, nested, frame, {q: list(r.items()) for q, r in nested.items()}):
        run = cf.read_run(source)
        assert len(run) == 2
        assert list(run) == ["q1", "q2"]
        shown = run.to_pandas()
        assert shown.columns.tolist() == ["query_id", "doc_id", "score", "rank"]
        assert shown[["query_id", "doc_id", "score"]].values.tolist() == frame.values.tolist()
        for name in ("y.run", "y.csv", "y.parquet"):
            run.save(tmp_path / name)
            assert cf.evaluate(nested, tmp_path / name, "RR").means == {"y": {"RR": 1}}
    assert bool(cf.read_run({"q": []}))
    assert repr(cf.read_run(nested)) == "Run: run, 3 documents of 2 queries"
    assert repr(cf.read_run(frame)) == "Run: run, 3 documents of 2 queries"
    assert list(cf.read_run({7: ["a"], 8: []})) == ["7", "8"]


def test_other_objects_say_what_they_are() -> None:
    evaluator = cf.Evaluator({"q": {"a": 1}}, ["RR", "nDCG@10"])
    assert repr(evaluator) == "Evaluator: RR, nDCG@10; Judgments: qrels, 1 document of 1 query"


def test_objects_in_columns_of_polars() -> None:
    ids = [uuid.UUID(int=i) for i in (1, 2)]
    frame = pl.DataFrame({"query_id": pl.Series(ids, dtype=pl.Object), "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    for form in (frame, frame.lazy()):
        assert list(cf.read_run(form)) == [str(name) for name in ids]
