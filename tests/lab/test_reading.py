"""Studies of orders of systems take measures that read, where there is something to read."""

from __future__ import annotations

import pytest
from study_samples import call

from cranfield import example

QRELS = example.path("qrels.diversity.txt")
RUNS = [example.path(name) for name in example.RUNS]
QUICK = {"reduction": ("--repeats", 2, "--samples", 20), "power": ("--samples", 20), "correlation": ()}


@pytest.mark.parametrize("study", QUICK)
def test_measures_that_read(study: str) -> None:
    args = ("study", study, QRELS, *RUNS, "-m", "alpha_nDCG@5 DELTARB@5", *QUICK[study])
    result = call(*args, "--corpus", example.path("documents.jsonl"))
    assert result.exit_code == 0 and "DELTARB@5" in result.stdout
    without = call(*args)
    assert without.exit_code == 2
    assert "DELTARB@5 needs a corpus, because it uses document text" in without.stderr
