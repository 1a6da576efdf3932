"""Measures as a native program have the values of batches to the last bit, and read only what they understand."""

from __future__ import annotations

import gc
import math
import pickle
import random
import sys
import threading
import tracemalloc
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield import native
from cranfield.errors import CranfieldError
from cranfield.evaluation import recorded
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.plan import QUERIES
from cranfield.measures.catalogue import CATALOGUE, measure
from cranfield.ranking.batch import GainSums
from cranfield.ranking.tie_rules import TIES
from every_measure import NAMES, VARIANTS

pytestmark = pytest.mark.skipif(native.Program is None, reason="only the native core has programs")

Run = dict[str, Any]


def both_ways(qrels: Any, measures: Any, **options: Any) -> tuple[Evaluator, Evaluator]:
    """An evaluator as it is, and one that always scores batches."""
    fast, batches = (Evaluator(qrels, measures, **options) for _ in range(2))
    vars(batches)["_program"] = None
    return fast, batches


def bits(values: Any) -> Any:
    """Numbers in hexadecimal, in whatever they are."""
    if isinstance(values, dict):
        return [(name, bits(value)) for name, value in values.items()]
    if isinstance(values, np.ndarray):
        return values.shape, [value.hex() for value in values.ravel().tolist()]
    return values.hex()


def assert_same(fast: Evaluator, batches: Evaluator, run: Any) -> None:
    assert bits(fast.means(run)) == bits(batches.means(run))
    assert bits(fast.per_query(run)) == bits(batches.per_query(run))
    assert bits(fast.values(run)) == bits(batches.values(run))


def drawn(seed: int) -> tuple[Run, Run]:
    """Judgments and a run with ties, unjudged documents, empty rankings, and queries that the other does not have."""
    rng = random.Random(seed)
    qrels, run = {}, {}
    for q in range(rng.randrange(1, 9)):
        names = [f"d{i}" if rng.random() < 0.8 else f"ü{i}" for i in range(rng.choice([1, 4, 12, 40, 160]))]
        grades = rng.choice([(0, 1), (0, 0, 1, 2, 3), (-1, 0, 1, 2), (0, -1)])
        qrels[f"q{q}"] = {name: rng.choice(grades) for name in names if rng.random() < 0.6} or {"d0": 1}
        scores = rng.choice([lambda: rng.random(), lambda: rng.randrange(4), lambda: rng.randrange(-3, 3) / 2 + 1e-9])
        rng.shuffle(names)
        run[f"q{q}"] = {name: scores() for name in names if rng.random() < 0.8}
        if rng.random() < 0.15:
            del run[f"q{q}"]
    if rng.random() < 0.5:
        run["unjudged"] = {"d1": 1.0, "d2": 1.0}
    run.setdefault("q0", {})
    return qrels, run


@pytest.mark.parametrize("name", NAMES)
def test_same_values_to_the_last_bit(name: str) -> None:
    rng = random.Random(name)
    for ties in TIES:
        for seed in rng.sample(range(10_000), 2):
            qrels, run = drawn(seed)
            options: Any = {"queries": rng.choice(QUERIES), "undefined": rng.choice(["skip", "zero", "one"])}
            fast, batches = both_ways(qrels, name, ties=ties, **options)
            if fast._program is None:  # then both ways are one
                continue
            try:
                batches.values(run)
            except CranfieldError as error:
                with pytest.raises(type(error)) as caught:
                    fast.values(run)
                assert str(caught.value) == str(error)
                continue
            assert_same(fast, batches, run)


def test_several_measures_share_a_program() -> None:
    names = ["AP", "nDCG@10", "RR", "P@5", "bpref", "AP[ties=trec9]", "Rprec[ties=input]", "RBP", "nDCG[ties=best]"]
    for seed in range(40):
        qrels, run = drawn(seed)
        fast, batches = both_ways(qrels, names, queries=QUERIES[seed % 3])
        assert fast._program is not None
        assert_same(fast, batches, run)


def test_which_measures_are_recorded() -> None:
    """That follows from their functions; these are the ones that loops ask for most."""
    qrels = {"q": {"a": 2, "b": 0}}
    recorded = {symbol for symbol, names in VARIANTS.items() if Evaluator(qrels, names[0])._program is not None}
    assert recorded >= {"AP", "nDCG", "RR", "P", "R", "Success", "Judged", "bpref", "Rprec", "RBP", "MAP_R"}
    assert len(recorded) >= 40


def test_a_new_measure_is_recorded() -> None:
    @measure("TwiceP", cite="", formula="2 P@k")
    def twice(b: GainSums, *, k: int) -> Any:
        from cranfield.measures.precision import precision

        return np.where(b.R > 1, 2 * precision(b, k=k), np.nan)

    try:
        qrels, run = {"p": {"a": 1, "b": 1}, "q": {"a": 1}}, {"p": {"a": 1.0}, "q": {"a": 1.0}}
        fast, batches = both_ways(qrels, "TwiceP@2")
        assert fast._program is not None
        assert fast.per_query(run)["p"] == {"TwiceP@2": 1.0}
        assert_same(fast, batches, run)
    finally:
        del CATALOGUE["TwiceP"]


def test_rescored_documents() -> None:
    names = ["AP", "nDCG@10", "RR", "bpref", "P@3[ties=best]", "RBP[ties=expected]"]
    for seed in range(30):
        qrels, run = drawn(seed)
        fast, batches = both_ways(qrels, names, queries=QUERIES[seed % 3])
        fast, batches = (evaluator.rescorer(run) for evaluator in (fast, batches))
        scores = np.random.default_rng(seed).integers(0, 5, len(fast)) / 4
        assert_same(fast, batches, scores)
        with pytest.raises(CranfieldError, match="expected"):
            fast.means([1.0] * (len(fast) + 1))


QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"x": 1}}
SHAPES: dict[str, Any] = {
    "floats": {"q1": {"a": 1.0, "c": 2.0}},
    "infinite": {"q1": {"a": math.inf, "b": -math.inf, "c": 0.0}},
    "integers": {"q1": {"a": 1, "b": 2**70, "c": -3}},
    "too large": {"q1": {"a": 10**400}},
    "truth values": {"q1": {"a": True, "b": False}},
    "numbers of NumPy": {"q1": {"a": np.float64(1.5), "b": np.float32(0.5), "c": np.int64(7)}},
    "NaN": {"q1": {"a": math.nan}},
    "text": {"q1": {"a": "1.0"}},
    "no score": {"q1": {"a": None}},
    "other ids": {"q1": {7: 1.0}},
    "other queries": {7: {"a": 1.0}},
    "surrogates": {"q1": {"a\udcff": 1.0, "a": 0.5}},
    "lone surrogates": {"q1": {"a\ud800": 1.0}},
    "lists": {"q1": ["c", "u", "a"], "q2": ["x"]},
    "empty list": {"q1": [], "q2": ["x"]},
    "a list with a repeated id": {"q1": ["c", "c"]},
    "a list of pairs": {"q1": [("c", 1.0), ("a", 2.0)]},
    "a list of numbers": {"q1": [1, 2]},
    "a tuple": {"q1": ("c", "a")},
    "a set": {"q1": {"c", "a"}},
    "dicts and lists": {"q1": {"a": 1.0}, "q2": ["x"]},
    "an ordered dict": {"q1": OrderedDict(a=1.0, c=2.0)},
    "all ordered": OrderedDict(q1=OrderedDict(a=1.0)),
    "nothing": {},
    "only empty rankings": {"q1": {}},
    "only unjudged queries": {"q9": {"a": 1.0}},
    "a response": {"hits": {"a": 1.0}, "q1": {"a": 1.0}},
    "a table": {"query_id": ["q1", "q1"], "doc_id": ["a", "c"], "score": [1.0, 2.0]},
    "lists of unjudged queries": {"q1": ["a"], "q9": ["a"]},
    "by position": [["a", "c"], ["x"]],
    "a long ranking": {"q1": {f"u{i}": 1.0 for i in range(5000)} | {"a": 0.5}},
    "not a run": 7,
}


@pytest.mark.parametrize("queries", QUERIES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_read_or_left_to_others(shape: str, queries: Any) -> None:
    """The same values, or the same error."""
    fast, batches = both_ways(QRELS, ["AP", "nDCG@10", "RR"], queries=queries)
    for method in ("means", "per_query", "values"):
        try:
            expected = getattr(batches, method)(SHAPES[shape])
        except CranfieldError as error:
            with pytest.raises(type(error)) as caught:
                getattr(fast, method)(SHAPES[shape])
            assert str(caught.value) == str(error)
        else:
            assert bits(getattr(fast, method)(SHAPES[shape])) == bits(expected)


TEXTS = {
    "plain": "q1 Q0 a 1 2.0 t\nq1 Q0 c 2 1.0 t\nq2 Q0 x 1 1.0 t\n",
    "no newline at the end": "q1 Q0 a 1 2.0 t\nq1 Q0 c 2 1.0 t",
    "tabs, blanks and carriage returns": "q1\tQ0\ta\t1\t2.0\tt\r\n  q1  Q0 c 2 1.0 t \r\n",
    "comments and blank lines": "# a run\n\nq1 Q0 a 1 2.0 t\n   \nq1 Q0 c 2 2.0 t\n#\n",
    "a byte order mark": "\ufeffq1 Q0 a 1 2.0 t\n",
    "a byte order mark in between": "q1 Q0 a 1 2.0 t\n\ufeffq2 Q0 x 1 1.0 t\n",
    "a NUL": "q1 Q0 a 1 2.0 t\nq1 Q0 c\0 2 1.0 t\n",
    "a document twice": "q1 Q0 a 1 2.0 t\nq1 Q0 a 2 1.0 t\n",
    "a query in two places": "q1 Q0 a 1 2.0 t\nq2 Q0 x 1 1.0 t\nq1 Q0 c 2 3.0 t\n",
    "a document twice in two places": "q1 Q0 a 1 2.0 t\nq2 Q0 x 1 1.0 t\nq1 Q0 a 2 3.0 t\n",
    "an unjudged query in two places": "q9 Q0 a 1 2.0 t\nq1 Q0 a 1 1.0 t\nq9 Q0 a 2 3.0 t\n",
    "an unjudged query": "q9 Q0 a 1 2.0 t\nq1 Q0 a 1 1.0 t\n",
    "only unjudged queries": "q9 Q0 a 1 2.0 t\n",
    "NaN": "q1 Q0 a 1 nan t\n",
    "infinite": "q1 Q0 a 1 inf t\nq1 Q0 c 1 -INF t\n",
    "no number": "q1 Q0 a 1 2.0x t\n",
    "five columns": "q1 Q0 a 1 2.0 t\nq1 Q0 c 2 1.0\n",
    "ranks that are not numbers": "q1 Q0 a first 1.0 t\nq1 Q0 c second 2.0 t\n",
    "not UTF-8": b"q1 Q0 a 1 2.0 t\nq1 Q0 \xff 2 1.0 t\n",
    "only comments": "# nothing\n",
    "long": "".join(f"q1 Q0 u{i} 1 {9000 - i} t\n" for i in range(3000)) + "q1 Q0 a 1 0.5 t\n",
    "large": "".join(f"q{i % 2 + 1} Q0 {i:0500d} 1 1.0 t\n" for i in range(600)) + "q1 Q0 a 1 2.0 t\n",
}


@pytest.mark.parametrize("queries", QUERIES)
@pytest.mark.parametrize("text", TEXTS)
def test_every_file_is_read_or_left_to_others(text: str, queries: Any, tmp_path: Path) -> None:
    path, content = tmp_path / "x.run", TEXTS[text]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    fast, batches = both_ways(QRELS, ["AP", "nDCG@10", "RR", "AP[ties=best]", "bpref"], queries=queries)
    for method in ("means", "per_query", "values"):
        outcomes = []
        for evaluator in (fast, batches):
            try:
                outcomes.append(bits(getattr(evaluator, method)(str(path))))
            except CranfieldError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("ties", TIES)
def test_files_and_larger_runs_have_the_same_values(ties: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are read by the program; of larger files and dicts it gets the joined positions."""
    names = ["AP", "nDCG@10", "RR", "P@5", "bpref", "RBP", "Judged@4", "NumRet", "GMAP"]
    for seed in range(12):
        qrels, run = drawn(seed)
        path = tmp_path / f"{seed}.run"
        rows = [(q, d, score) for q, ranking in run.items() for d, score in ranking.items()]
        path.write_text("".join(f"{q} Q0 {d} {i} {score!r} t\n" for i, (q, d, score) in enumerate(rows, 1)))
        options: Any = {"ties": ties, "queries": QUERIES[seed % 3]}
        fast, batches = both_ways(qrels, names, **options)
        if rows:
            assert_same(fast, batches, str(path))
        with monkeypatch.context() as patch:
            patch.setattr(recorded, "MOST_BYTES", 0)
            patch.setattr(recorded, "MOST_DOCUMENTS", 0)
            joined = Evaluator(qrels, names, **options)
            assert joined._program is not None
            assert joined._program.means(run) is None
            if rows:
                assert_same(joined, batches, str(path))
        assert_same(joined, batches, run)


def test_positions_are_checked() -> None:
    program = Evaluator({"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}, "AP")._program
    none, length = np.zeros(0, np.int64), np.array([3, -1])
    good = [np.array(column) for column in ([0, 0], [0, 1], [0, 1], [1, 2], [0, 1], [0, 1])]
    assert program.means(([good], length, none)) == {"AP": 0.5}
    for column, value in ((0, 1), (0, 7), (1, 2), (1, -1), (2, 2), (2, -1), (3, 0), (4, 2), (5, -1)):
        wrong = [array.copy() for array in good]
        wrong[column][1] = value
        with pytest.raises(IndexError):
            program.means(([wrong], length, none))
    with pytest.raises(IndexError):
        program.means(([good], length[:1], none))


def test_collections_with_more_than_grades_are_left_to_others() -> None:
    qrels = {"q1": {"a": 1, "b": 0}}
    for collection in (cf.Collection(qrels, nil="NIL"), cf.Collection(qrels, map_documents={"a#1": "a"})):
        assert Evaluator(collection, "AP")._program is None
    assert Evaluator(qrels, "AP[terminal]")._program is None
    assert Evaluator(qrels, ["AP", "INST"])._program is None


def test_names_that_lists_could_have_as_columns() -> None:
    qrels = {"query": {"a": 1}, "document": {"b": 1}}
    fast, batches = both_ways(qrels, "AP")
    run = {"query": ["a"], "document": ["b"]}
    for method in ("means", "values"):
        outcomes = []
        for evaluator in (fast, batches):
            try:
                outcomes.append(bits(getattr(evaluator, method)(run)))
            except CranfieldError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


def test_an_evaluator_can_still_be_pickled() -> None:
    evaluator = Evaluator(QRELS, "AP")
    run = {"q1": {"a": 1.0}}
    means = evaluator.means(run)
    assert pickle.loads(pickle.dumps(evaluator)).means(run) == means


def test_hostile_objects_run_no_code_while_a_dict_is_read() -> None:
    run: Run = {"q1": {"a": 1.0}}

    class Score(float):
        def __float__(self) -> float:
            run["q1"].clear()
            return 0.0

    class Id(str):
        __slots__ = ()

        def __hash__(self) -> int:
            run["q1"].clear()
            return str.__hash__(self)

    class Number:
        def __float__(self) -> float:
            run["q1"]["b"] = 1.0
            return 1.0

    fast, batches = both_ways(QRELS, ["AP", "nDCG@10"])
    for key, score in (("c", Score(2.0)), (Id("c"), 2.0), ("c", Number())):
        for evaluator in (fast, batches):
            run["q1"] = {"a": 1.0}
            run["q1"][key] = score
            try:
                evaluator.means(run)
            except CranfieldError as error:
                assert str(error)


def test_code_that_empties_the_run_while_results_are_made() -> None:
    """Making dicts may collect garbage, and that may run anything."""
    evaluator = Evaluator(QRELS, ["AP", "P@1"], queries="run")
    run: Run = {}

    class Cycle:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            run.clear()
            evaluator.per_query({"q1": {"a": 1.0}})

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for i in range(200):
            run.update({f"unjudged {i} {j}": {"z": 1.0} for j in range(5)} | {"q1": {"a": 1.0}})
            names = list(run)
            Cycle()
            found = evaluator.per_query(run)
            assert set(found) <= set(names)
    finally:
        gc.set_threshold(*threshold)


def test_no_growth_over_many_calls_with_fresh_dicts() -> None:
    evaluator = Evaluator({f"q{i}": {f"d{j}": j % 3 for j in range(9)} for i in range(50)}, ["AP", "nDCG@10", "RR"])

    def calls(count: int) -> None:
        for i in range(count):
            run = {f"q{i % 50}": {f"d{j}": float(j * i % 7) for j in range(12)}}
            evaluator.means(run)
            evaluator.per_query(run)
            evaluator.values(run)

    calls(500)
    references = sys.getrefcount(None), sys.getrefcount("q0")
    blocks = sys.getallocatedblocks()
    tracemalloc.start()
    calls(500)
    before = tracemalloc.get_traced_memory()[0]
    calls(5000)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 20_000
    assert sys.getallocatedblocks() - blocks < 2_000
    assert sys.getrefcount(None) - references[0] < 1_000


def test_threads_can_share_an_evaluator() -> None:
    qrels, run = drawn(5)
    evaluator = Evaluator(qrels, ["AP", "nDCG@10", "bpref"])
    expected, wrong = evaluator.per_query(run), []

    def work() -> None:
        wrong.extend(1 for _ in range(300) if bits(evaluator.per_query(run)) != bits(expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
