"""A judge beside humans: reports, warnings and faults."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.judging.judge_reports import judges
from cranfield.report.canvas import save_all

RNG = np.random.default_rng(3)
DOCUMENTS = [f"d{i}" for i in range(20)]
HUMAN = {str(q): {d: int(RNG.integers(0, 4)) for d in DOCUMENTS} for q in range(12)}
RUNS = {
    f"r{r}": {q: {d: HUMAN[q][d] * r / 6 + float(RNG.random()) for d in DOCUMENTS} for q in HUMAN} for r in range(7)
}


def test_a_perfect_judge() -> None:
    report = judges(HUMAN, HUMAN, RUNS, "nDCG@5")[0]
    assert report.labels.linear == report.measures[0].order.tau_a == 1
    assert (report.both, report.human_only, report.judge_only) == (240, 0, 0)
    assert report.warnings == ()
    assert np.abs(report.measures[0].bias).max() == 0


def test_a_judge_that_favours() -> None:
    """A judge that calls every top document of two runs relevant favours these."""
    partial = {q: dict(list(judged.items())) for q, judged in HUMAN.items()}
    for q, judged in partial.items():
        for run in ("r0", "r1"):
            for d in sorted(RUNS[run][q], key=lambda d: -RUNS[run][q][d])[:5]:
                judged[d] = 3
    report = judges(cf.Collection(HUMAN, rel=2), {"biased": partial}, RUNS, "P(rel=2)@5", own=["r0", "r1"])[0]
    own = report.measures[0].own
    assert own is not None and own.favours and report.judge == "biased"
    assert any("favours r0, r1" in warning for warning in report.warnings)
    assert report.false_positive is not None and report.false_positive.rate_own > report.false_positive.rate_other
    assert any("favour" in page.title for page in report.pages())
    assert any("Fisher" in note for note in report.notes)


def test_a_judge_with_one_grade() -> None:
    flat = {q: dict.fromkeys(judged, 1) for q, judged in HUMAN.items()}
    report = judges(HUMAN, flat, RUNS, "nDCG@5")[0]
    assert any("one grade only" in warning for warning in report.warnings)
    assert any("linear kappa" in warning for warning in report.warnings)


def test_faults() -> None:
    with pytest.raises(cf.InputError, match="predictions for other queries"):
        judges(HUMAN, {"x": {"d": 1}})
    with pytest.raises(cf.InputError, match="no document is judged by humans and by the judge"):
        judges(HUMAN, {"0": {"other": 1}})
    with pytest.raises(UsageError, match="some of the runs"):
        judges(HUMAN, HUMAN, RUNS, own="none*")


def test_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report = judges(HUMAN, HUMAN, RUNS, "nDCG@5", own="r1")[0]
    assert len(save_all(report.drawings(), str(tmp_path))) == 3
    assert any("no test of favour" in warning for warning in report.warnings)
