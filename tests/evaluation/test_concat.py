"""Scores of parts of the queries are those of the whole."""

import random
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import UsageError

MEASURES = ["nDCG@5", "AP", "RR", "RBP(p=0.8)", "ERR@10"]


def collection(queries: int = 53) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = random.Random(7)
    names = [f"d{i}" for i in range(40)]
    qrels = {f"q{q}": {d: rng.randint(0, 2) for d in rng.sample(names, 8)} | {"top": 2} for q in range(queries)}
    run = {q: {d: rng.random() for d in rng.sample(names, 15)} for q in list(qrels)[:-2]}
    return qrels, run


def part(of: dict[str, Any], queries: list[str]) -> dict[str, Any]:
    return {query: of[query] for query in queries if query in of}


@pytest.mark.parametrize("parts", [1, 2, 10])
def test_parts_give_the_bits_of_the_whole(parts: int) -> None:
    qrels, run = collection()
    second = {query: dict(reversed(of.items())) for query, of in run.items()}
    whole = cf.evaluate(qrels, {"x": run, "y": second}, MEASURES)
    names = np.array_split(np.array(list(qrels)), parts)
    found = cf.concat(
        [
            cf.evaluate(
                part(qrels, of.tolist()), {"x": part(run, of.tolist()), "y": part(second, of.tolist())}, MEASURES
            )
            for of in names
        ]
    )
    assert found.queries == whole.queries
    assert found.means == whole.means
    assert (found.values == whole.values).all() and (found.counted == whole.counted).all()
    assert found.provenance is not None and whole.provenance is not None
    assert found.provenance.data["judgments"] == whole.provenance.data["judgments"]
    assert found.provenance.data["inputs"][0]["digest"] == whole.provenance.data["inputs"][0]["digest"]


def test_runs_in_another_order_and_repeats() -> None:
    one = cf.evaluate({"a": {"x": 1}}, {"r": {"a": ["x"]}, "s": {"a": ["y", "x"]}}, "RR")
    two = cf.evaluate({"b": {"x": 1}}, {"s": {"b": ["x"]}, "r": {"b": ["y", "x"]}}, "RR")
    assert cf.concat([one, two])["RR"].per_query == {"r": {"a": 1.0, "b": 0.5}, "s": {"a": 0.5, "b": 1.0}}
    seeds = [cf.evaluate({q: {"x": 1}}, {"r": cf.Repeats([{q: ["x"]}, {q: ["y", "x"]}])}, "RR") for q in ("a", "b")]
    assert cf.concat(seeds).repeats["r"].tolist() == [[[1.0, 0.5], [1.0, 0.5]]]


def test_what_cannot_be_put_together() -> None:
    one = cf.evaluate({"a": {"x": 1}}, {"r": {"a": ["x"]}}, ["RR"])
    for other, message in (
        (cf.evaluate({"a": {"x": 1}}, {"r": {"a": ["x"]}}, ["RR"]), "two parts have the query `a`"),
        (cf.evaluate({"b": {"x": 1}}, {"s": {"b": ["x"]}}, ["RR"]), "part 2 has other runs than part 1"),
        (cf.evaluate({"b": {"x": 1}}, {"r": {"b": ["x"]}}, ["AP"]), "part 2 has other measures than part 1"),
        (cf.evaluate({"b": {"x": 1}}, {"r": {"b": ["x"]}}, ["RR"], undefined="zero"), "part 2 has other policy"),
        ({"b": 1}, "concat takes a list of scores"),
    ):
        with pytest.raises(UsageError, match=message):
            cf.concat([one, other])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="concat takes"):
        cf.concat([])


def test_gains_that_depend_on_the_highest_grade() -> None:
    parts = [cf.evaluate({q: {"x": grade}}, {"r": {q: ["x"]}}, ["ERR@3"]) for q, grade in (("a", 1), ("b", 3))]
    with pytest.raises(UsageError, match="part 2 has other highest grade than part 1: 1 and 3") as error:
        cf.concat(parts)
    assert "max=GRADE" in error.value.hint
    named = [cf.evaluate({q: {"x": grade}}, {"r": {q: ["x"]}}, ["ERR(max=3)@3"]) for q, grade in (("a", 1), ("b", 3))]
    assert cf.concat(named).queries == ("a", "b")
