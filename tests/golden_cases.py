"""Worked cases with the values of papers and reference programs, from the folder that the package ships."""

from __future__ import annotations

from typing import Any

import pytest

import cranfield as cf
from cranfield.conformance import FOLDER as FOLDER
from cranfield.conformance import INPUTS, worked

CASES = worked("cases")
STRUCTURED = worked("structured")
SPANS = worked("spans")


def symbol(case: dict[str, Any]) -> str:
    """The measure of a case; an error if it is unknown."""
    return cf.parse(case["name"]).symbol


def cases_of(family: str) -> Any:
    """The cases of the measures in one module of ``cranfield.measures``, as a parameter of a test."""
    cases = [case for case in CASES if cf.measures.CATALOGUE[symbol(case)].family == family]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


def check(case: dict[str, Any]) -> None:
    """Evaluate a case and compare."""
    given = {name: {"q": case[name]} for name in INPUTS if name in case and name != "qrels"}
    given |= {name: case[name] for name in ("nil", "items") if name in case}  # not by query
    qrels = {"q": case["qrels"]} if "qrels" in case else None
    scores = cf.evaluate(cf.Collection(qrels, **given), {"q": case["run"]}, case["name"]).to_dict()
    value = scores["runs"]["run"][case["name"]]["queries"]["q"]
    if case["expected"] is None:
        assert value is None
    else:
        assert value == pytest.approx(case["expected"], abs=case["tol"])
