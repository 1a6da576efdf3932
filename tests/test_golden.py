"""Every worked case that this version covers, through the public API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cranfield as cf

CASES = json.loads(Path(__file__).with_name("golden.json").read_text())["cases"]


def covered(name: str) -> bool:
    return name.split("(")[0].split("@")[0].split("[")[0] in cf.MEASURES


@pytest.mark.parametrize("case", [c for c in CASES if covered(c["name"])], ids=lambda c: c["id"])
def test_case(case: dict) -> None:
    scores = cf.evaluate({"q": case["qrels"]}, {"q": case["run"]}, case["name"]).to_dict()
    found = scores["runs"]["run"][case["name"]]["queries"]["q"]
    if case["expected"] is None:
        assert found is None
    else:
        assert found == pytest.approx(case["expected"], abs=case["tol"])
