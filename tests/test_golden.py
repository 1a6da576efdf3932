"""Every worked case that this version covers, through the public API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cranfield as cf

HERE = Path(__file__)
CASES = [
    case for name in ("golden.json", "golden-2.json") for case in json.loads(HERE.with_name(name).read_text())["cases"]
]
INPUTS = ("intents", "types")  # fields of a case that are arguments, by query


def covered(name: str) -> bool:
    return name.split("(")[0].split("@")[0].split("[")[0] in cf.MEASURES


@pytest.mark.parametrize("case", [c for c in CASES if covered(c["name"])], ids=lambda c: c["id"])
def test_case(case: dict) -> None:
    given = {name: {"q": case[name]} for name in INPUTS if name in case}
    scores = cf.evaluate({"q": case["qrels"]}, {"q": case["run"]}, case["name"], **given).to_dict()
    found = scores["runs"]["run"][case["name"]]["queries"]["q"]
    if case["expected"] is None:
        assert found is None
    else:
        assert found == pytest.approx(case["expected"], abs=case["tol"])
