"""Score standardisation against a direct computation with SciPy, and in scores, compare, studies and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import cranfield as cf
from cranfield.cli.main import cli
from cranfield.errors import UsageError
from cranfield.example import path
from cranfield.statistics.standardisation import standardise

RUNS = [str(path(f"{name}.run")) for name in ("bm25", "dense", "llm", "quiet")]
QRELS = str(path("qrels.txt"))


def values(seed: int = 0, missing: float = 0.2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = np.round(rng.random((7, 3, 11)), 1)
    return np.where(rng.random(x.shape) < missing, np.nan, x)


def direct(column: np.ndarray, reference: np.ndarray, method: str) -> list[float]:
    """One query, written out."""
    known = [x for x in reference.tolist() if x == x]
    result = []
    for x in column.tolist():
        if x != x:
            result.append(np.nan)
        elif method == "empirical":
            result.append((sum(y < x for y in known) + 0.5 * sum(y == x for y in known)) / len(known))
        else:
            deviation = np.std(known, ddof=1) if len(known) > 1 else 0
            z = (x - np.mean(known)) / deviation if deviation > 1e-9 else 0.0
            result.append(z if method == "z" else stats.norm.cdf(z))
    return result


@pytest.mark.parametrize("method", ["z", "normal", "empirical"])
@pytest.mark.parametrize("seed", range(3))
def test_against_a_direct_computation(method: str, seed: int) -> None:
    x = values(seed)
    reference = np.arange(7) % 2 == 0
    for given, chosen in ((None, np.ones(7, bool)), (reference, reference)):
        found = standardise(x, method, given)  # type: ignore[arg-type]
        for m in range(x.shape[1]):
            for q in range(x.shape[2]):
                expected = direct(x[:, m, q], x[chosen, m, q], method)
                if not np.isnan(x[chosen, m, q]).all():
                    assert found[:, m, q] == pytest.approx(expected, nan_ok=True, abs=1e-12)


def test_z_scores_are_those_of_scipy() -> None:
    x = values(missing=0)
    assert standardise(x, "z") == pytest.approx(stats.zscore(x, axis=0, ddof=1))
    assert standardise(x, "normal") == pytest.approx(stats.norm.cdf(stats.zscore(x, axis=0, ddof=1)))


def test_equal_scores_are_in_the_middle() -> None:
    same = np.full((5, 2), 0.1)
    assert (standardise(same, "z") == 0).all()
    assert (standardise(same, "normal") == 0.5).all()
    assert (standardise(same, "empirical") == 0.5).all()


def test_scores() -> None:
    scores = cf.evaluate(QRELS, RUNS, ["AP", "nDCG@10", "GMAP", "NumRet"])
    for method in ("z", "normal", "empirical"):
        found = scores.standardised(method)
        assert found.runs == scores.runs
        assert found.measures == ("AP standardised", "nDCG@10 standardised", "GMAP standardised", "NumRet standardised")
        counted = np.where(scores.counted[:, None], scores.values, np.nan)
        assert np.array_equal(found.values, standardise(counted, method), equal_nan=True)
        # Means over queries, whatever the measure itself is.
        assert found._means == pytest.approx(np.nanmean(found.values, axis=2))
        middle = 0 if method == "z" else 0.5
        if method != "normal":
            assert found._means.mean(axis=0) == pytest.approx([middle] * 4, abs=1e-9)
        assert "standardised over 4 runs" in " ".join(map(str, found.notes))
        json.dumps(found.to_dict(), allow_nan=False)


def test_reference_runs() -> None:
    scores = cf.evaluate(QRELS, RUNS, "AP")
    found = scores.standardised("z", reference=["bm25", "dense"])
    assert found._means[:2].sum() == pytest.approx(0)
    assert np.array_equal(found.values, standardise(scores.values, "z", np.array([1, 1, 0, 0], bool)), equal_nan=True)
    with pytest.raises(UsageError, match="`nobody` is not one of the runs"):
        scores.standardised("z", reference=["nobody", "bm25"])
    with pytest.raises(UsageError, match="at least two"):
        cf.evaluate(QRELS, RUNS[:1], "AP").standardised("z")
    with pytest.raises(UsageError, match="method must be one of"):
        scores.standardised("t")


def test_compare() -> None:
    scores = cf.evaluate(QRELS, RUNS, ["AP", "GMAP"])
    comparison = cf.compare(scores.standardised("normal"), test="t")
    x = scores.standardised("normal")._matched(0)[0]
    assert comparison.pairs[0].difference == pytest.approx(x[1].mean() - x[0].mean())
    result = CliRunner().invoke(
        cli, ["compare", QRELS, *RUNS, "-m", "AP", "--standardise", "normal", "--test", "t", "--format", "json"]
    )
    assert result.exit_code == 0, result.output
    pairs = json.loads(result.stdout)
    assert "AP standardised" in json.dumps(pairs)


def test_eval() -> None:
    result = CliRunner().invoke(cli, ["eval", QRELS, *RUNS, "-m", "AP", "--standardise", "z", "--format", "json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["runs"]["bm25"]["AP standardised"]["mean"]
    assert found == pytest.approx(float(cf.evaluate(QRELS, RUNS, "AP").standardised("z")._means[0, 0]))
    table = CliRunner().invoke(cli, ["eval", QRELS, *RUNS, "-m", "AP", "--standardise", "empirical"])
    assert "standardised" in table.output


@pytest.mark.parametrize("study", ["correlation", "power"])
def test_studies(study: str, tmp_path: Path) -> None:
    command = ["study", study, QRELS, *RUNS, "-m", "AP RR", "--standardise", "empirical", "--format", "json"]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    assert "AP standardised" in result.stdout
    assert "standardised over 4 runs" in result.stdout
    plain = CliRunner().invoke(cli, [*command[:8], "--format", "json"])
    assert plain.stdout != result.stdout
