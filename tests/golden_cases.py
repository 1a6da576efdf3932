"""Worked cases with the values of papers and reference programs; ``golden/*.json`` has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf

FOLDER = Path(__file__).parent / "golden"
_FILES = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
CASES: list[dict[str, Any]] = [case for file in _FILES for case in file["cases"]]
STRUCTURED: list[dict[str, Any]] = [case for file in _FILES for case in file.get("structured", [])]
# Fields of a case that are parts of a `Collection`, by query.
INPUTS = ("intents", "types", "prefs", "groups", "costs", "strata", "inclusion", "method")


def symbol(case: dict[str, Any]) -> str:
    """The measure of a case; an error if it is unknown."""
    return cf.parse(case["name"]).symbol


def cases_of(family: str) -> Any:
    """The cases of the measures in one module of ``cranfield.measures``, as a parameter of a test."""
    cases = [case for case in CASES if cf.measures.CATALOGUE[symbol(case)].family == family]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


def check(case: dict[str, Any]) -> None:
    """Evaluate a case and compare."""
    given = {name: {"q": case[name]} for name in INPUTS if name in case}
    qrels = {"q": case["qrels"]} if "qrels" in case else None
    scores = cf.evaluate(cf.Collection(qrels, **given), {"q": case["run"]}, case["name"]).to_dict()
    value = scores["runs"]["run"][case["name"]]["queries"]["q"]
    if case["expected"] is None:
        assert value is None
    else:
        assert value == pytest.approx(case["expected"], abs=case["tol"])
