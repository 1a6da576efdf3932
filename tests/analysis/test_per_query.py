"""Where runs differ, by query and by document."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.analysis import per_query
from cranfield.errors import CranfieldError
from cranfield.io import read_run

QRELS = {"q1": {"a": 1}, "q2": {"a": 1, "b": 0}, "q3": {"a": 1}, "q4": {"a": 0}}
OLD = {"q1": {"b": 3, "a": 2}, "q2": {"b": 3, "a": 2}, "q3": {"a": 1}, "q4": {"a": 1}}
NEW = {"q1": {"a": 3, "b": 2}, "q2": {"c": 3, "b": 2, "a": 1}, "q3": {"a": 1}, "q4": {"a": 1}}


def evaluated(*runs: object, qrels: object = QRELS, page: int = 10, **policy: object) -> cf.Evaluation:
    names = [f"r{i}" for i in range(len(runs))]
    return cf.Evaluator(qrels, "AP", **policy).evaluation(list(runs), names=names, page=page)


def measured(*runs: object, measure: str = "AP") -> cf.Scores:
    return cf.evaluate(QRELS, list(runs), measure, names=[f"r{i}" for i in range(len(runs))])


def test_differences_are_in_order() -> None:
    found = per_query.queries(measured(OLD, NEW))
    assert found.queries == ("q1", "q2", "q3")  # by size, new minus old
    assert found.difference == pytest.approx([0.5, 1 / 3 - 1 / 2, 0])
    assert found.lost(3) == ["q2"]
    assert per_query.queries(measured(OLD, NEW), 0, "loss").queries == ("q2", "q3", "q1")
    assert found.left_out == 1  # nothing is relevant to q4


def test_orders_of_many_runs() -> None:
    scores = measured(NEW, OLD, OLD)
    assert per_query.queries(scores).queries == ("q2", "q1", "q3")
    assert per_query.queries(scores, 0, "disagreement").queries == ("q1", "q2", "q3")
    assert per_query.queries(scores, 0, "query").queries == ("q1", "q2", "q3")
    with pytest.raises(CranfieldError, match="two runs, not 3"):
        per_query.queries(scores, 0, "difference")


def test_documents_gained_lost_and_moved() -> None:
    found = per_query.documents(evaluated(OLD, NEW), "q2", page=2)
    assert found == [("c", None, None, 1), ("b", 0.0, 1, 2), ("a", 1.0, 2, None)]
    with pytest.raises(CranfieldError, match="neither run answers query `q9`"):
        per_query.documents(evaluated(OLD, NEW), "q9")


def test_pages_are_ordered_as_measures_order() -> None:
    """Ties by descending id, as the native join does it: the rank of each document tells."""
    rng = np.random.default_rng(0)
    run = {"q": {f"d{i}": float(score) for i, score in enumerate(rng.integers(0, 4, 30))}}
    page = evaluated(run, qrels={"q": {"d1": 1}}, page=12).first_pages(12)[0]["q"]
    for place, document in enumerate(page.documents, 1):
        assert cf.evaluate({"q": {document: 1}}, run, "RR").to_dict()["runs"]["run"]["RR"]["mean"] == pytest.approx(
            1 / place
        )
    values = [run["q"][document] for document in page.documents]
    assert sum(page.ties) == 12
    ends = np.cumsum(page.ties)
    assert all(len(set(values[end - size : end])) == 1 for end, size in zip(ends, page.ties, strict=True))
    assert page.length == 30


def test_pages_follow_the_rule_for_ties(tmp_path: Path) -> None:
    path = tmp_path / "run"
    lines = [("a", 3, 1.0), ("c", 1, 1.0), ("b", 2, 1.0), ("d", 4, 2.0), ("e", 5, 2.0 + 1e-12), ("f", 6, np.inf)]
    path.write_text("".join(f"q 0 {document} {rank} {score!r} x\n" for document, rank, score in lines))
    run = read_run(path)

    def page(ties: str | None, depth: int = 10) -> tuple[str, tuple[int, ...]]:
        found = evaluated(run, qrels={"q": {"a": 1}}, ties=ties).first_pages(depth, ties)[0]["q"]
        return "".join(found.documents), found.ties

    assert page(None) == page("expected") == ("fedcba", (1, 1, 1, 3))
    assert page("trec9") == ("fedcba", (1, 2, 3))
    assert page("input") == ("fedacb", (1, 1, 1, 3))
    assert page("rank", 3) == ("cba", (1, 1, 1))
    for ties in (None, "trec9", "input", "rank"):
        for place, document in enumerate(page(ties)[0], 1):
            assert cf.evaluate({"q": {document: 1}}, run, "RR", ties=ties)._means[0, 0] == pytest.approx(1 / place)


def test_what_is_undefined_counts_as_the_policy_says() -> None:
    scores = cf.evaluate(QRELS, [NEW, OLD], "AP", names=["r0", "r1"], undefined="one")
    found = per_query.queries(scores, 0, "query")
    assert found.queries == ("q1", "q2", "q3", "q4")
    assert found.values[:, 3].tolist() == [1, 1]
    assert found.left_out == 0


def test_unknown_orders_and_pages_are_refused() -> None:
    scores = cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR")
    with pytest.raises(CranfieldError, match="order must be one of difference, loss, hardest, disagreement, query"):
        per_query.queries(scores, 0, "best")  # type: ignore[arg-type]
    with pytest.raises(CranfieldError, match="page must be a whole number of at least 1, not 0"):
        per_query.documents(evaluated(OLD, NEW), "q1", page=0)
