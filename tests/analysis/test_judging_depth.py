"""How deep to judge for a residual: against closed forms, and the verb."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield.analysis.collection_statistics import depth_for, pooled_documents
from cranfield.cli.main import cli
from cranfield.errors import MeasureError, UsageError


@pytest.mark.parametrize("p", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("residual", [0.5, 0.1, 0.01, 0.001])
def test_rbp_as_in_closed_form(p: float, residual: float) -> None:
    assert depth_for(f"RBP(p={p})", residual) == math.ceil(round(math.log(residual) / math.log(p), 9))


def test_other_measures() -> None:
    assert depth_for("InvSq", 0.01) == 99
    assert depth_for("RBPbeta(a=1, b=1)", 0.01) == 99
    assert depth_for("INSQ(T=1, horizon=1000)", 0.01) <= 1000
    assert depth_for("RBP@5", 0.01) is None  # five ranks leave p^5
    assert depth_for("RBP@50", 0.01) == depth_for("RBP", 0.01)


def test_the_residual_of_an_evaluation_is_that_at_the_depth() -> None:
    k = depth_for("RBP", 0.05)
    for depth, small in ((k, True), (k - 1, False)):
        run = {"q": {f"d{i}": -float(i) for i in range(depth)}}
        scores = cf.evaluate({"q": {f"d{i}": 0 for i in range(depth)} | {"x": 1}}, run, "RBP", show="residuals")
        assert (scores._means[0, 1] <= 0.05) is small or bool(scores._means[0, 1] <= 0.05) is small


def test_errors() -> None:
    with pytest.raises(MeasureError, match="AP has no residual"):
        depth_for("AP", 0.01)
    with pytest.raises(UsageError, match="between 0 and 1"):
        depth_for("RBP", 0)


def test_pools() -> None:
    first = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 1.0}}
    second = {"q1": {"c": 3.0, "b": 2.0, "d": 2.0, "a": 1.0}, "q3": {"z": 1.0}}
    assert pooled_documents([first, second], 2) == {"q1": {"a", "b", "c", "d"}, "q2": {"a"}, "q3": {"z"}}
    assert pooled_documents([second], 2)["q1"] == {"c", "d"}  # b and d are tied; trec_eval's order puts d first
    assert pooled_documents([first], 1) == {"q1": {"a"}, "q2": {"a"}}


def test_command_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        cli, ["depth-for", "RBP", "RBP(p=0.95)", "--max-residual", "0.01", "--queries", "50", "--systems", "3"]
    )
    assert result.exit_code == 0, result.output
    assert "21" in result.output
    assert "3,150" in result.output
    run, qrels = tmp_path / "a.run", tmp_path / "qrels.txt"
    run.write_text("".join(f"q Q0 d{i} {i} {100 - i} t\n" for i in range(50)))
    qrels.write_text("q 0 d0 1\nq 0 d1 0\n")
    command = [
        "depth-for",
        "RBP",
        "--max-residual",
        "0.01",
        "--run",
        str(run),
        "--qrels",
        str(qrels),
        "--format",
        "json",
    ]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["measures"]["RBP"]["0.01"]
    assert found == {"depth": 21, "pooled": 21, "judged": 2, "judgments": 19}
    assert CliRunner().invoke(cli, ["depth-for", "AP", "--max-residual", "0.1"]).exit_code == 2
