"""The worked cases of truncated and incomplete rankings, from files, by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_samples import Call

from golden_cases import CASES as GOLDEN

CASES = GOLDEN
CHOSEN = [
    case
    for case in CASES
    if any(view in case["name"] for view in ("terminal", "condensed", "depth")) or "pref" in case["name"]
]


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case["id"])
def test_case(call: Call, tmp_path: Path, case: dict) -> None:
    run, qrels = tmp_path / "run.json", tmp_path / "qrels.json"
    run.write_text(json.dumps({"q": case["run"]}))
    qrels.write_text(json.dumps({"q": case["qrels"]}))
    result = call("eval", qrels, run, "-m", case["name"], "--format", "json")
    found = json.loads(result.stdout)["runs"]["run"][case["name"]]["mean"]
    assert found == pytest.approx(case["expected"], abs=case["tol"])
