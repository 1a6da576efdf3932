"""Estimates within a query against golden values, and against all samples that could have been drawn."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from cranfield.measures import parse
from cranfield.measures.weights import rank_weights
from cranfield.statistics import survey
from golden_cases import STRUCTURED


def rows(prefix: str) -> Any:
    cases = [case for case in STRUCTURED if case["id"].split("-")[0] == prefix]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


def column(values: list[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([math.nan if value is None else value for value in values])


def weights(case: dict[str, Any], length: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return rank_weights(parse(case["measure"].rpartition(", ")[2]), length)


@rows("J1")
def test_drawn_independently(case: dict[str, Any]) -> None:
    w, human = weights(case, len(case["human"])), column(case["human"])
    found = survey.difference_estimate(w, human, case["inclusion"], case["predicted"])
    plain = survey.difference_estimate(w, human, case["inclusion"])
    half = NormalDist().inv_cdf(1 - case["alpha"] / 2) * math.sqrt(found.variance)
    interval = found.estimate - half, found.estimate + half
    values = dict(zip(case["expected"], (*found, *interval, *plain), strict=True))
    assert values == pytest.approx(case["expected"], abs=case["tol"])


@rows("J3")
def test_two_runs(case: dict[str, Any]) -> None:
    documents = list(case["predicted"])
    w = np.zeros(len(documents))
    for run, sign in ((case["run_a"], 1), (case["run_b"], -1)):
        for document, weight in zip(run, weights(case, len(run)), strict=True):
            w[documents.index(document)] += sign * weight
    human = column([case["human"].get(d) for d in documents])
    chances, predicted = ([case[name][d] for d in documents] for name in ("inclusion", "predicted"))
    assert survey.difference_estimate(w, human, chances, predicted)._asdict() == pytest.approx(
        case["expected"], abs=case["tol"]
    )
