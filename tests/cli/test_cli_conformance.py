"""``cranfield conformance``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cli_samples import Call

from cranfield import conformance

DOCS = Path(__file__).parents[2] / "docs" / "_static"


def test_the_cases_as_a_file(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    assert call("conformance", "-m", "AP RR", "-o", path).exit_code == 0
    assert json.loads(path.read_text()) == json.loads(json.dumps(conformance.document(["AP", "RR"])))


def test_the_schema(call: Call) -> None:
    assert json.loads(call("conformance", "--schema").stdout)["title"] == "Worked cases of measures of rankings"


@pytest.mark.parametrize("words", [("chekc", "--", "x"), ("check",)])
def test_a_check_needs_a_program(call: Call, words: tuple[str, ...]) -> None:
    result = call("conformance", *words)
    assert result.exit_code == 2
    assert "expected `check -- PROGRAM`" in result.stderr


@pytest.mark.parametrize(
    ("package", "different"),
    [
        ("pytrec_eval", {"E1-11-NDCG", "E1-11-Recall"}),  # 0 where nothing is relevant
        (
            "ir_measures",
            {"E1-11-NDCG", "E1-11-Recall"}  # the same
            | {f"H-Compat-{run}-{p}" for run in (0, 1) for p in (0.8, 0.95)},  # overlaps summed to the end of the list
        ),
    ],
)
def test_what_the_check_finds_in_other_packages(call: Call, package: str, different: set[str]) -> None:
    pytest.importorskip(package)
    command = ("conformance", "check", "--format", "json", "--", sys.executable, DOCS / f"conformance_{package}.py")
    result = call(*command)
    assert result.exit_code == 3
    found = json.loads(result.stdout)
    assert {one["id"] for one in found["differences"]} == different
    assert found["answered"] >= 60


def test_agreement_is_success(call: Call) -> None:
    result = call("conformance", "-m", "P", "check", "--", sys.executable, DOCS / "conformance_pytrec_eval.py")
    assert result.exit_code == 0
    assert "all as expected" in result.stdout
