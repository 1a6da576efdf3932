"""How well measures tell runs apart: by hand, against the statistics it is made of, and as tables and figures."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from study_samples import call

import cranfield as cf
from cranfield import example
from cranfield.lab.simulation import Simulation
from cranfield.lab.studies.power import PowerResult
from cranfield.statistics.resampling import TESTS, bootstrap, draw_queries
from cranfield.statistics.sample_size import queries_needed

QRELS = example.path(example.QRELS)
RUNS = [example.path(name) for name in example.RUNS]
MEASURES = ["AP", "nDCG@5", "RR"]


@pytest.fixture(scope="module")
def found() -> PowerResult:
    return cf.lab.power(QRELS, RUNS, MEASURES, samples=300)


def sure(scores: list[list[float]]) -> tuple[list[Any], dict[str, dict[str, int]]]:
    """Runs whose P@4 on each query is as given, in quarters."""
    qrels = {f"q{q}": {f"r{i}": 1 for i in range(4)} | {f"n{i}": 0 for i in range(4)} for q in range(len(scores[0]))}
    runs = []
    for s, row in enumerate(scores):
        lists = {}
        for q, share in enumerate(row):
            right = round(4 * share)
            ranking = [f"r{i}" for i in range(right)] + [f"n{i}" for i in range(4 - right)]
            lists[f"q{q}"] = {document: -float(i) for i, document in enumerate(ranking)}
        runs.append(cf.read_run(lists, name=f"s{s}"))
    return runs, qrels


def test_equal_and_constantly_better_runs() -> None:
    base = [0.25, 0.5, 0.0, 0.25, 0.75, 0.5]
    runs, qrels = sure([base, base, [x + 0.25 for x in base]])
    result = cf.lab.power(qrels, runs, ["P@4"])
    one = result.sensitivities[0]
    assert one.means == pytest.approx([np.mean(base), np.mean(base), np.mean(base) + 0.25])
    assert one.tests.p.tolist() == [1, 0, 0]
    assert one.tests.power == pytest.approx(2 / 3)
    assert one.tests.difference_required == 0
    assert one.swaps.swapped.sum() == 0
    assert one.variance == pytest.approx(0)


def test_all_runs_equal(tmp_path: Path) -> None:
    """Nothing to tell apart is no reason for NaN, a warning or an empty figure file."""
    runs, qrels = sure([[0.25, 0.5, 0.0]] * 2)
    result = cf.lab.power(qrels, runs, ["P@4", "AP"])
    assert [one.tests.power for one in result.sensitivities] == [0, 0]
    assert "nan" not in json.dumps(result.to_dict()).lower().replace("provenance", "")

    assert all(path.stat().st_size for path in result.save_figures(str(tmp_path)))


@pytest.mark.parametrize("test", TESTS)
def test_made_of_its_parts(test: Any) -> None:
    result = cf.lab.power(QRELS, RUNS, MEASURES, test=test, samples=200, seed=3)
    scores = cf.evaluate(QRELS, RUNS, MEASURES)
    used = [scores.queries.index(query) for query in result.queries]
    assert len(used) == 7
    for m, one in enumerate(result.sensitivities):
        x = scores.values[:, m][:, used]
        assert one.means == pytest.approx(x.mean(axis=1))
        if test == "bootstrap":
            expected = bootstrap(x, draw_queries(7, 200, 3))
            assert one.tests.p.tolist() == expected.p.tolist()
            assert one.tests.required == pytest.approx(expected.required)
        if test == "t":
            first, second = np.triu_indices(4, 1)
            assert one.tests.p == pytest.approx(stats.ttest_rel(x[first], x[second], axis=1).pvalue)
            # A difference of the required size, with the same spread, has p = alpha.
            z = x[first] - x[second]
            moved = z - z.mean(axis=1, keepdims=True) + one.tests.required[:, None]
            assert stats.ttest_1samp(moved, 0, axis=1).pvalue == pytest.approx(np.full(6, 0.05))
        pairs = [(x[a] - x[b]).var(ddof=1) for a in range(4) for b in range(a)]
        assert one.variance == pytest.approx(np.mean(pairs))
        assert result.queries_needed(one, 0.1) == queries_needed(float(np.mean(pairs)), 0.1)


def test_all_measures_meet_the_same_topics() -> None:
    twice = cf.lab.power(QRELS, RUNS, ["nDCG@5", "nDCG(gain='linear')@5"], samples=300)
    first, second = twice.sensitivities
    assert first.tests.p.tolist() == second.tests.p.tolist()
    assert first.swaps.swapped.tolist() == second.swaps.swapped.tolist()


def test_ranked_by_power(found: PowerResult) -> None:
    powers = [one.tests.power for one in found.ranked]
    assert powers == sorted(powers, reverse=True)
    assert {one.measure for one in found.ranked} == set(MEASURES)


def test_what_is_left_out_is_stated(found: PowerResult) -> None:
    assert tuple(map(str, found.notes)) == (
        "quiet has no ranking for 2 queries (q4, q8); scored as empty",
        "omitted for all measures: 1 query (q8), where a measure is undefined (AP on 1, nDCG@5 on 1); 7 queries are used",
    )


def test_undefined_by_policy() -> None:
    kept = cf.lab.power(QRELS, RUNS, ["AP", "RR"], samples=50, undefined="zero")
    assert len(kept.queries) == 8
    assert "quiet has no ranking for 2 queries (q4, q8); scored as empty" in map(str, kept.notes)
    with pytest.raises(cf.CranfieldError, match="AP of bm25 is undefined for 1 of 8 queries: q8"):
        cf.lab.power(QRELS, RUNS, ["AP", "RR"], undefined="error")


def test_saved_and_read_again(found: PowerResult, tmp_path: Path) -> None:
    found.save(tmp_path / "study.json")
    assert PowerResult.load(tmp_path / "study.json").to_dict() == found.to_dict()


def test_few_resamplings_and_few_topics_are_stated() -> None:
    runs, qrels = sure([[0.25, 0.5, 0.0], [0.5, 0.5, 0.0]])
    assert tuple(map(str, cf.lab.power(qrels, runs, "P@4", test="randomisation", samples=100).notes)) == (
        "with 3 queries the smallest possible p is 0.25: nothing can be significant at 0.05",
    )
    assert tuple(map(str, cf.lab.power(qrels, runs, "P@4", test="randomised-tukey", samples=9).notes)) == (
        "with 9 resamples the smallest possible p is 0.1: nothing can be significant at 0.05",
    )
    assert tuple(map(str, cf.lab.power(qrels, runs, "P@4", samples=9).notes)) == (
        "with 9 resamples only p = 0 is below 0.05: use more resamples",
    )


def test_differences_beyond_all_numbers_of_topics() -> None:
    runs, qrels = sure([[0.25, 0.5, 0.0], [0.5, 0.5, 0.0]])
    found = cf.lab.power(qrels, runs, "P@4", differences=[1e-300, 0.1, 0.1])
    assert found.settings.differences == (1e-300, 0.1, 0.1)
    assert found.queries_needed(found.sensitivities[0], 1e-300) is None


RUN = {"q1": {"a": 1.0}, "q2": {"b": 1.0}}
JUDGED = {"q1": {"a": 1}, "q2": {"b": 1}}
# q1 and q2 have nothing but relevant documents, q3 and q4 none at all.
SPLIT = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 0}, "q4": {"d": 0}}


@pytest.mark.parametrize(
    ("runs", "qrels", "how", "message"),
    [
        ([RUN], JUDGED, {}, "this study needs at least two runs, got 1"),
        ([RUN, RUN], {"q1": {"a": 1}}, {}, "qrels: this study needs at least two judged queries, found 1"),
        ([RUN, {"q9": {"a": 1.0}}], JUDGED, {}, "run (2): none of its queries is judged (for example `q9`)"),
        (
            [RUN, RUN],
            {"q1": {"a": 1}, "q2": {"b": 0}},
            {},
            "AP is defined for all runs on 1 of 2 queries; at least two are needed",
        ),
        (
            [RUN, RUN],
            JUDGED,
            {"test": "z"},
            "test must be one of bootstrap, randomisation, randomised-tukey, t; not 'z'",
        ),
        ([RUN, RUN], JUDGED, {"alpha": 0}, "alpha must be a number greater than 0 and less than 1, not 0"),
        ([RUN, RUN], JUDGED, {"beta": 1}, "beta must be a number greater than 0 and less than 1, not 1"),
        ([RUN, RUN], JUDGED, {"samples": 0}, "samples must be a whole number from 1 to 10,000,000, not 0"),
        ([RUN, RUN], JUDGED, {"trials": 0}, "trials must be a whole number from 1 to 10,000,000, not 0"),
        (
            [RUN, RUN],
            JUDGED,
            {"differences": [0.1, 0]},
            "each of differences must be a number greater than 0, not 0",
        ),
        (
            [RUN, RUN],
            JUDGED,
            {"differences": [float("inf")]},
            "each of differences must be a number greater than 0, not inf",
        ),
        ([RUN, RUN], JUDGED, {"samples": 1.5}, "samples must be a whole number from 1 to 10,000,000, not 1.5"),
        ([RUN, RUN], JUDGED, {"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ([RUN, RUN], JUDGED, {"seed": None}, "seed must be a whole number of at least 0, not None"),
        ([RUN, RUN], JUDGED, {"undefined": "half"}, "undefined must be one of skip, zero, one, error; not 'half'"),
    ],
)
def test_bad_input(runs: list, qrels: dict, how: dict, message: str) -> None:
    with pytest.raises(cf.CranfieldError) as error:
        cf.lab.power(qrels, runs, ["AP"], **how)
    assert error.value.message == message


def test_measures_that_are_never_defined_together() -> None:
    run = {"q1": {"a": 1.0}, "q2": {"b": 1.0}, "q3": {"c": 1.0}, "q4": {"d": 1.0}}
    answer = cf.evaluate(SPLIT, run, ["AP", "RR"])
    assert np.isnan(answer.values[0, 0]).tolist() == [False, False, True, True]
    both = cf.lab.power(SPLIT, [run, run], ["AP", "RR"])
    assert both.queries == ("q1", "q2")
    empty = {"q3": {"c": 1.0}, "q4": {"d": 1.0}}
    # SN_AP@1 is defined only where something relevant was found.
    with pytest.raises(cf.CranfieldError, match="SN_AP@1 is defined for all runs on 0 of 4 queries"):
        cf.lab.power(SPLIT, [run, empty], ["RR", "SN_AP@1"])


def test_tables(found: PowerResult, tmp_path: Path) -> None:
    result = call("study", "power", QRELS, *RUNS, "-m", "AP nDCG@5 RR", "--samples", 300)
    assert result.exit_code == 0
    assert "Discriminative power: pairs of 4 runs that differ significantly at 0.05, 7" in result.stdout
    one = found.ranked[0]
    count = f"{one.tests.significant.sum()}/6"
    line = next(line for line in result.stdout.splitlines() if line.startswith(one.measure))
    assert line.split()[:2] == [one.measure, count]
    assert "nan" not in result.stdout.lower().replace("provenance", "")
    assert "note: omitted for all measures: 1 query (q8)" in result.stderr
    exact = call("study", "power", QRELS, *RUNS, "-m", "AP", "--test", "randomisation", "--format", "markdown")
    assert "paired randomisation test, all 128 permutations" in exact.stdout


def test_kept_shown_and_drawn_again(tmp_path: Path) -> None:
    kept = tmp_path / "power.json"
    first = call("study", "power", QRELS, *RUNS, "-m", "AP RR", "--samples", 100, "--format", "json", "-o", kept)
    assert first.exit_code == 0
    assert json.loads(kept.read_text())["settings"]["samples"] == 100
    shown = call("study", "show", kept, "--figures", tmp_path / "figures", "--format", "latex")
    assert shown.exit_code == 0
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert names == {f"power-{name}.{kind}" for name in ("asl", "swaps", "queries") for kind in ("pdf", "svg", "png")}
    direct = call("study", "power", QRELS, *RUNS, "-m", "AP RR", "--samples", 100, "--format", "latex")
    assert direct.stdout == shown.stdout


def test_a_track(simulated: Simulation) -> None:
    """Measures that look at more documents tell more runs apart; RR tells the fewest apart."""
    result = cf.lab.power(simulated.judgments, simulated.runs, samples=500)
    assert len(result.runs) == 16
    assert len(result.queries) == 20
    powers = {one.measure: one.tests.power for one in result.sensitivities}
    assert min(powers, key=lambda name: powers[name]) == "RR"
    assert powers["P@10"] < powers["AP"]
    scores = cf.evaluate(simulated.judgments, simulated.runs, list(powers)).values
    for one, values in zip(result.sensitivities, scores.swapaxes(0, 1), strict=True):
        pairs = [stats.ttest_rel(a, b).pvalue < 0.05 for a, b in combinations(values, 2)]
        assert one.tests.power == pytest.approx(np.mean(pairs), abs=0.05)  # another test, and nearly the same pairs
