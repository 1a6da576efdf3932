"""Files of sample_eval.pl and statAP_MQ_eval.pl, with the values that the programs print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cranfield.compat.sample_eval import sample_eval, stat_ap
from golden_cases import STRUCTURED


def rows(prefix: str) -> Any:
    cases = [case for case in STRUCTURED if case["id"].startswith(prefix)]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


@rows("G5-")
def test_files_of_sample_eval(case: dict[str, Any], tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text(case["qrels_text"])
    run.write_text(case["run_text"])
    found = sample_eval(qrels, run)
    assert found.keys() == case["expected"].keys()
    for query, expected in case["expected"].items():
        assert found[query] == pytest.approx(expected, abs=case["tol"])


@rows("H2-")
def test_files_of_statap(case: dict[str, Any], tmp_path: Path) -> None:
    prels, run = tmp_path / "prels.txt", tmp_path / "run.txt"
    prels.write_text(case["prels_text"])
    run.write_text(case["run_text"])
    only = "sampled" if "-n" in case["flags"] else "mixed" if "-m" in case["flags"] else "all"
    found = stat_ap(prels, run, sampled="-f" in case["flags"], only=only)
    expected = case["expected"]
    assert {q: v is None for q, v in found.ap.items()} == {q: v is None for q, v in expected["AP"].items()}
    values = {query: value for query, value in found.ap.items() if value is not None}
    assert values == pytest.approx({q: v for q, v in expected["AP"].items() if v is not None}, abs=1e-9)
    assert (found.mean, found.variance) == pytest.approx((expected["statMAP"], expected["VAR_MAP"]), abs=case["tol"])
    assert found.queries == expected["valid_topics"]


def test_documents_below_rank_1000_are_not_counted_for_all_queries() -> None:
    qrels = {"1": {"d0": 1}, "2": {"d0": 1}}
    run = {"1": {f"d{i}": -i for i in range(1001)}, "2": {f"d{i}": -i for i in range(7)}}
    found = sample_eval(qrels, run)
    assert (found["1"]["num_ret"], found["2"]["num_ret"], found["all"]["num_ret"]) == (1001.0, 7.0, 1007.0)
