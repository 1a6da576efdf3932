"""pytrec_eval's interface: the same numbers, and a complete list of where they are not."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections import UserDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval as theirs

import cranfield as cf
import cranfield.compat.pytrec_eval as ours
from awkward import random_input
from cranfield.errors import UsageError

OTHERS = {
    "P.1,2,7",
    "ndcg_cut_3",
    "map_cut_2,9",
    "set_F.0.5",
    "Rprec_mult.0.35,1.5",
    "iprec_at_recall.0.25",
    "success_2",
}


def both(run: Any, qrels: Any, measures: Any, **how: Any) -> tuple[dict, dict]:
    return tuple(tool.RelevanceEvaluator(qrels, measures, **how).evaluate(run) for tool in (theirs, ours))  # type: ignore[return-value]


@pytest.mark.parametrize("part", range(20))
def test_every_measure_is_the_same(part: int) -> None:
    rng = random.Random(part)
    for _ in range(60):
        run, qrels = random_input(rng)
        measures = set(theirs.supported_measures)
        if rng.random() < 0.5:
            measures = (measures - {"P", "ndcg_cut", "map_cut", "set_F", "Rprec_mult", "success"}) | OTHERS
        how = {"relevance_level": rng.choice([1, 1, 2, 3]), "judged_docs_only_flag": rng.random() < 0.4}
        a, b = both(run, qrels, measures, **how)
        assert list(a) == list(b)
        for query, expected in a.items():
            assert list(expected) == list(b[query])
            for name, value in expected.items():
                if math.isnan(value):  # see test_nothing_judged_was_retrieved
                    assert name.startswith(("iprec", "11pt")) and how["judged_docs_only_flag"]
                    assert b[query][name] == 0
                else:
                    assert b[query][name] == pytest.approx(value, abs=1e-6), (name, how, run[query], qrels[query])


def test_names() -> None:
    assert ours.supported_measures == theirs.supported_measures
    for name, measures in ours.supported_nicknames.items():
        assert measures == theirs.supported_nicknames[name]


def test_aggregates() -> None:
    for name, values in {"map": [0.5, 0.25], "num_rel": [3.0, 4.0], "gm_map": [-1.0, -2.0]}.items():
        assert ours.compute_aggregated_measure(name, values) == pytest.approx(
            theirs.compute_aggregated_measure(name, values)
        )


def test_beir_and_mteb(tmp_path: Path) -> None:
    """Nested dicts, a string for each family with many cut-offs, and means rounded by the caller."""
    rng = random.Random(5)
    qrels = {f"q{i}": {f"d{j}": rng.choice([0, 1, 2]) for j in range(9)} for i in range(20)}
    run = {q: {f"d{j}": rng.random() for j in range(40)} for q in qrels}
    ks = [1, 3, 5, 10, 20, 100, 1000]
    cuts = ",".join(map(str, ks))
    asked = {f"map_cut.{cuts}", f"ndcg_cut.{cuts}", f"recall.{cuts}", f"P.{cuts}"}
    a, b = both(run, qrels, asked)
    for key in ("ndcg_cut", "map_cut", "recall", "P"):
        for k in ks:
            means = [sum(x[q][f"{key}_{k}"] for q in x) / len(x) for x in (a, b)]
            assert means[0] == pytest.approx(means[1], abs=1e-9)
    many = {"ndcg_cut." + ",".join(map(str, range(1, 101)))}
    assert len(ours.RelevanceEvaluator(qrels, many).evaluate(run)["q0"]) == 100


def test_files(tmp_path: Path) -> None:
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text("q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1 tag\nq2 Q0 d1 1 -3e2 tag\n")
    qrels.write_text("q1 0 d1 1\nq2 0 d9 -1\n")
    for path, name in ((run, "parse_run"), (qrels, "parse_qrel")):
        with path.open() as a, path.open() as b:
            assert getattr(ours, name)(a) == getattr(theirs, name)(b)


WRONG = {
    ("parse_run", "q Q0 d 1 2.5\n"): "line 1: expected 6 columns (query Q0 document rank score tag), found 5",
    ("parse_run", "q Q0 d 1 x t\n"): "line 1: the score must be a number, not `x`",
    ("parse_run", "q Q0 d 1 1 t\nq Q0 d 1 1 t\n"): "line 2: document `d` appears twice for query `q`",
    ("parse_qrel", "q 0 d 0.5\n"): "line 1: the grade must be a whole number, not `0.5`",
}


@pytest.mark.parametrize(("where", "message"), WRONG.items())
def test_wrong_files(where: tuple[str, str], message: str) -> None:
    with pytest.raises(cf.CranfieldError) as caught:
        getattr(ours, where[0])(where[1].splitlines(keepends=True))
    assert str(caught.value) == message


# Where we differ on purpose: what the original does, and what this does.

JUDGED = {"q": {"a": 1, "b": 0}}


def crash(code: str) -> int:
    """How a program ends that does this with the original: below 0 is a signal."""
    done = subprocess.run(
        [sys.executable, "-c", f"import pytrec_eval\n{code}"], capture_output=True, timeout=300, check=False
    )
    return done.returncode


def test_nothing_judged_was_retrieved() -> None:
    """Without a document left, precision is 0/0 there, and poisons the mean."""
    a, b = both({"q": {"x": 1.0}}, JUDGED, {"iprec_at_recall_0.00", "11pt_avg"}, judged_docs_only_flag=True)
    assert all(math.isnan(value) for value in a["q"].values())
    assert set(b["q"].values()) == {0.0}


def test_a_cutoff_given_twice_is_one_instead_of_a_crash() -> None:
    assert crash("pytrec_eval.RelevanceEvaluator({'q': {'a': 1}}, {'P.5,5.0'}).evaluate({'q': {'a': 1.0}})") < 0
    assert ours.RelevanceEvaluator(JUDGED, {"P.5,5.0", "P_5"}).evaluate({"q": {"a": 1.0}}) == {"q": {"P_5": 0.2}}


def test_a_cutoff_of_0_is_an_error_instead_of_a_crash() -> None:
    assert crash("pytrec_eval.RelevanceEvaluator({'q': {'a': 1}}, {'P.0'}).evaluate({'q': {'a': 1.0}})") < 0
    with pytest.raises(cf.CranfieldError, match=r"P: .* at least 1, not 0"):
        ours.RelevanceEvaluator(JUDGED, {"P.0"})


def test_negative_grades_alone() -> None:
    measures, run = "{'map', 'ndcg', 'G', 'bpref', 'Rndcg'}", "{'q': {'a': 1.0, 'b': 2.0}}"
    assert crash(f"pytrec_eval.RelevanceEvaluator({{'q': {{'a': -1, 'b': -2}}}}, {measures}).evaluate({run})") < 0
    evaluator = ours.RelevanceEvaluator({"q": {"a": -1, "b": -2}}, ours.supported_measures)
    found = evaluator.evaluate({"q": {"a": 1.0, "b": 2.0}})["q"]
    assert (found["ndcg"], found["num_rel"], found["num_ret"], found["num_nonrel_judged_ret"]) == (0, 0, 2, 0)


def test_a_ranking_without_documents() -> None:
    every = "pytrec_eval.supported_measures"
    assert crash(f"pytrec_eval.RelevanceEvaluator({{'q': {{'a': 1}}}}, {every}).evaluate({{'q': {{}}}})") < 0
    found = ours.RelevanceEvaluator(JUDGED, ours.supported_measures).evaluate({"q": {}})["q"]
    assert (found["map"], found["num_rel"], found["num_ret"], found["utility"]) == (0, 1, 0, 0)


def test_numpy_scalars() -> None:
    for run, qrels in (
        ({"q": {"a": np.float32(1)}}, JUDGED),
        ({"q": {"a": np.int64(1)}}, JUDGED),
        ({"q": {"a": 1.0}}, {"q": {"a": np.int64(1), "b": np.int32(0)}}),
    ):
        with pytest.raises(TypeError):
            theirs.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
        assert ours.RelevanceEvaluator(qrels, {"map"}).evaluate(run) == {"q": {"map": 1.0}}


def test_grades_that_are_not_whole() -> None:
    with pytest.raises(TypeError):
        theirs.RelevanceEvaluator({"q": {"a": 0.25, "b": 0.5}}, {"ndcg"})
    found = ours.RelevanceEvaluator({"q": {"a": 0.25, "b": 0.5}}, {"ndcg"}).evaluate({"q": {"a": 2.0, "b": 1.0}})
    assert found["q"]["ndcg"] == pytest.approx((0.25 + 0.5 / math.log2(3)) / (0.5 + 0.25 / math.log2(3)))


def test_grades_beyond_memory() -> None:
    """There a grade is the length of an array: the original is not asked, since it may be busy with it for hours."""
    found = ours.RelevanceEvaluator({"q": {"a": 2**40}}, {"map", "ndcg"}).evaluate({"q": {"a": 1.0}})
    assert found == {"q": {"map": 1.0, "ndcg": 1.0}}


def test_other_mappings() -> None:
    with pytest.raises(TypeError):
        theirs.RelevanceEvaluator(JUDGED, {"map"}).evaluate(UserDict({"q": {"a": 1.0}}))
    assert ours.RelevanceEvaluator(UserDict(JUDGED), ["map"]).evaluate(UserDict({"q": {"a": 1.0}}))["q"]["map"] == 1


def test_coefficients_keep_their_order() -> None:
    """There they are put into alphabetical order, and equal ones into one."""
    a, b = both({"q": {"a": 1.0, "x": 0.5}}, JUDGED, {"utility.3,1,0,2"})
    assert (a["q"]["utility"], b["q"]["utility"]) == (1 - 6.0, 3 + 1 - 2 * 2)
    a, b = both({"q": {"a": 1.0, "x": 0.5}}, JUDGED, {"utility.3,1,0,0"})
    assert (a["q"]["utility"], b["q"]["utility"]) == (0, 4)


def test_scores_that_are_no_numbers() -> None:
    """There NaN ties with everything, and where it ends up is a matter of luck."""
    run = {"q": {"a": 0.5, "b": math.nan, "c": 1.0}}
    assert theirs.RelevanceEvaluator(JUDGED, {"map"}).evaluate(run)["q"]["map"] in (1, 1 / 2, 1 / 3)
    with pytest.raises(cf.InputError, match="query `q`, document `b`: the score is NaN"):
        ours.RelevanceEvaluator(JUDGED, {"map"}).evaluate(run)


def test_text_after_a_cutoff_is_refused() -> None:
    assert theirs.RelevanceEvaluator(JUDGED, {"P_5xyz"}).evaluate({"q": {"a": 1.0}}) == {"q": {"P_5": 0.2}}
    for tool, name in ((ours, "P_5xyz"), (ours, "nonsense"), (theirs, "nonsense"), (ours, "prefs"), (theirs, "prefs")):
        with pytest.raises(ValueError, match="unsupported measure"):
            tool.RelevanceEvaluator(JUDGED, {name})


def test_ids_with_a_nul() -> None:
    """There an id ends at its first NUL, two become one, and every measure is 0."""
    a, b = both({"q": {"a\0x": 2.0, "a": 1.0}}, JUDGED, {"recip_rank"})
    assert (a["q"]["recip_rank"], b["q"]["recip_rank"]) == (0, 0.5)


def test_a_level_below_the_lowest() -> None:
    for tool, error in ((theirs, TypeError), (ours, UsageError)):
        with pytest.raises(error):
            tool.RelevanceEvaluator(JUDGED, {"map"}, relevance_level=0)


def test_queries_without_judgments_or_results() -> None:
    a, b = both({"q": {"a": 1.0}, "p": {"a": 1.0}}, {"q": {"a": 1}, "p": {}, "r": {"a": 1}}, {"map"})
    assert a == b == {"q": {"map": 1.0}}
    assert ours.RelevanceEvaluator({}, {"map"}).evaluate({"q": {"a": 1.0}}) == {}
    assert ours.RelevanceEvaluator({"p": {}}, {"map"}).evaluate({"q": {"a": 1.0}}) == {}
    assert ours.RelevanceEvaluator(JUDGED, {"map"}).evaluate({}) == {}
    assert ours.RelevanceEvaluator(JUDGED, {"map"}).evaluate({"x": {"a": 1.0}}) == {}


def test_nothing_given_is_changed() -> None:
    run, qrels = {"q": {"a": 1.0}}, {"q": {"a": 1}, "p": {}}
    ours.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
    assert (run, qrels) == ({"q": {"a": 1.0}}, {"q": {"a": 1}, "p": {}})
