"""Worked cases with the values of papers and reference programs.

``golden/cases`` has a file for each family of measures, one case per line. The package ships them compressed; after a
change, ``python tests/golden`` packs them again. The other files of ``golden`` are for single tests.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.conformance import INPUTS

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> list[dict[str, Any]]:
    """The cases of one file."""
    cases: list[dict[str, Any]] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return cases


def packed() -> bytes:
    """All cases of measures as the package ships them; the same bytes for the same cases."""
    families = {path.stem: golden(f"cases/{path.stem}") for path in sorted((GOLDEN / "cases").glob("*.json"))}
    return gzip.compress(json.dumps(families, ensure_ascii=False).encode(), 9, mtime=0)


CASES = [case for path in sorted((GOLDEN / "cases").glob("*.json")) for case in golden(f"cases/{path.stem}")]
STRUCTURED = golden("structured")
SPANS = golden("spans")


def symbol(case: dict[str, Any]) -> str:
    """The measure of a case; an error if it is unknown."""
    return cf.parse(case["name"]).symbol


def check(case: dict[str, Any]) -> None:
    """Evaluate a case and compare."""
    given = {name: {"q": case[name]} for name in INPUTS if name in case and name != "qrels"}
    given |= {name: case[name] for name in ("nil", "items") if name in case}  # not by query
    qrels = {"q": case["qrels"]} if "qrels" in case else None
    scores = cf.evaluate(cf.Collection(qrels, **given), {"q": case["run"]}, case["name"]).to_dict()
    value = scores["runs"]["run"][case["name"]]["queries"]["q"]
    if case["expected"] is None:
        assert value is None, case["id"]
    else:
        assert value == pytest.approx(case["expected"], abs=case["tol"]), case["id"]


def without_notes(qrels: Any, run: Any, measures: Any, **options: Any) -> cf.Scores:
    """The values of `cf.evaluate`; notes on ties take longer than they."""
    evaluation = cf.Evaluator(qrels, measures, **options).evaluation(run)
    return evaluation.table(evaluation.columns)
