"""Saved comparisons: one JSON file with a version number, which ``cranfield compare --format json`` writes too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.analysis.significance import TESTS
from cranfield.data import Floats, Integers
from cranfield.errors import check_choice, check_count, check_fraction
from cranfield.io.saved_results import PathLike, saved_result
from cranfield.statistics.anova import Anova
from cranfield.statistics.corrections import CORRECTIONS

if TYPE_CHECKING:
    from cranfield.analysis.compare import Comparison

WHAT = "a saved comparison"
HINT = "save a comparison with `cranfield compare ... --format json -o FILE` or `comparison.save(FILE)`"
NUMBERS = ("difference", "low", "high", "t_low", "t_high", "corrected")  # of a pair
COUNTS = ("wins", "losses")


def load_comparison(path: PathLike) -> Comparison:
    """Read the comparison that `Comparison.save` or ``cranfield compare --format json`` wrote.

    All numbers are the same to the last digit.
    """
    from cranfield.analysis.compare import KIND, VERSION

    with saved_result(path, KIND, VERSION, what=WHAT, hint=HINT) as data:
        return _comparison(data)


def _comparison(data: Mapping[str, Any]) -> Comparison:
    from cranfield.analysis.audit import CAUSES
    from cranfield.analysis.compare import Comparison
    from cranfield.evaluation.predicted import PredictedMean

    check_choice("test", data["test"], TESTS)
    check_choice("correction", data["correction"], CORRECTIONS)
    runs, measures = _names(data["runs"]), _names(data["measures"])
    pairs, rows = _pairs(data["pairs"], runs, measures)
    tests = list(rows[0][0]["p"])
    for row in (row for of_measure in rows for row in of_measure):
        for cause in row["doubts"]:
            check_choice("doubts", cause, CAUSES)
        if list(row["p"]) != tests:
            raise ValueError("pairs have p-values of other tests")
    for test in tests:
        check_choice("test", test, TESTS)
    baseline, notes, resolution = data["baseline"], _names(data["notes"]), _names(data["resolution_notes"])
    if baseline is not None and baseline not in runs:
        raise ValueError(f"the baseline `{baseline}` is not one of the runs")
    arrays: dict[str, Any] = {name: _array(rows, name) for name in NUMBERS}
    arrays |= {name: _counts(rows, name) for name in COUNTS}
    return Comparison(
        runs=runs,
        measures=measures,
        pairs=pairs,
        baseline=baseline,
        queries=tuple(_names(data["queries"][measure]) for measure in measures),
        means=_means(rows, pairs, len(runs)),
        effect=np.array([[_effect(row) for row in of_measure] for of_measure in rows]),
        p={test: np.array([[_number(row["p"][test]) for row in of_measure] for of_measure in rows]) for test in tests},
        doubts=tuple(tuple(tuple(row["doubts"]) for row in of_measure) for of_measure in rows),
        anova=tuple(_anova(data["anova"][measure]) for measure in measures),
        test=data["test"],
        correction=data["correction"],
        family=_names([data["family"]])[0],
        alpha=check_fraction("alpha", data["alpha"]),
        level=check_fraction("level", data["level"]),
        samples=check_count("samples", data["samples"]),
        seed=check_count("seed", data["seed"], 0),
        lowest_p=np.array([_number(data["lowest_p"][measure]) for measure in measures]),
        query_notes=notes[: len(notes) - len(resolution)],
        resolution_notes=resolution,
        predicted=tuple(PredictedMean.from_dict(mean) for mean in data.get("predicted", ())),
        **arrays,
    )


def _names(names: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"expected a list of names, not {names!r:.60}")
    return tuple(names)


def _number(value: Any) -> float:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise TypeError(f"expected a number, not {value!r:.60}")
    return math.nan if value is None else float(value)


def _pairs(
    rows: Sequence[Mapping[str, Any]], runs: Sequence[str], measures: Sequence[str]
) -> tuple[Integers, list[list[Mapping[str, Any]]]]:
    """The pairs of runs, (pair, 2), and the rows of each measure, with the same pairs in the same order."""
    of_measures = [[row for row in rows if row["measure"] == measure] for measure in measures]
    index = {run: r for r, run in enumerate(runs)}
    named = [[(index[row["run"]], index[row["other"]]) for row in of_measure] for of_measure in of_measures]
    if not named or not named[0] or any(pairs != named[0] for pairs in named):
        raise ValueError("the measures do not have the same pairs of runs")
    if len(index) < len(runs) or {run for pair in named[0] for run in pair} != set(index.values()):
        raise ValueError("the pairs do not cover the runs")
    return np.array(named[0]), of_measures


def _array(rows: Sequence[Sequence[Mapping[str, Any]]], name: str) -> Floats:
    return np.array([[_number(row[name]) for row in of_measure] for of_measure in rows])


def _counts(rows: Sequence[Sequence[Mapping[str, Any]]], name: str) -> Integers:
    return np.array([[check_count(name, row[name], 0) for row in of_measure] for of_measure in rows])


def _means(rows: Sequence[Sequence[Mapping[str, Any]]], pairs: Integers, runs: int) -> Floats:
    """The means (measure, run), which stand in every pair of a run."""
    means = np.full((len(rows), runs), np.nan)
    means[:, pairs[:, 0]] = _array(rows, "mean")
    means[:, pairs[:, 1]] = _array(rows, "other_mean")
    return means


def _effect(row: Mapping[str, Any]) -> list[float]:
    """The effect and its interval; JSON has no infinity, so that an infinite effect is null."""
    effect = _number(row["effect"])
    if math.isnan(effect):
        effect = math.copysign(math.inf, _number(row["difference"]))
    return [effect, _number(row["effect_low"]), _number(row["effect_high"])]


def _anova(record: Mapping[str, Any]) -> Anova:
    systems, queries, residual = (check_count("freedom", count, 0) for count in record["freedom"])
    squares = {name: _number(record["squares"][name]) for name in ("systems", "queries", "residual")}
    return Anova(**squares, freedom=(systems, queries, residual))
