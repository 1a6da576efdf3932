"""Fewer judgments, pools and queries: against `evaluate` on the same judgments, and as the paper found it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from study_samples import call

import cranfield as cf
from cranfield import example, io
from cranfield.lab.relabelling import JudgmentStrata, reduced_sizes
from cranfield.lab.simulation import Simulation
from cranfield.lab.studies.reduction import ReductionResult
from cranfield.statistics.resampling import bootstrap, draw_queries

QRELS = example.path(example.QRELS)
RUNS = [example.path(name) for name in example.RUNS]
MEASURES = ["AP", "AP[condensed]", "bpref", "nDCG@5"]
QUICK: dict[str, Any] = {"repeats": 3, "samples": 50}


@pytest.fixture(scope="module")
def track() -> tuple[dict[str, dict[str, int]], list[Any]]:
    """Twenty systems of rising quality, 25 queries, and a pool of what they have on top."""
    rng = np.random.default_rng(42)
    grades = np.where(rng.random((25, 400)) < 0.1, rng.integers(1, 4, (25, 400)), 0)
    runs, pooled = [], np.zeros(grades.shape, bool)
    for i in range(20):
        score = grades * (0.3 + 0.06 * i) + rng.normal(size=grades.shape)
        best = np.argsort(-score, axis=1)[:, :200]
        np.put_along_axis(pooled, best[:, :60], True, axis=1)
        ranking = {f"q{q}": {f"d{d}": float(score[q, d]) for d in best[q]} for q in range(25)}
        runs.append(cf.read_run(ranking, name=f"s{i}"))
    qrels = {f"q{q}": {f"d{d}": int(grades[q, d]) for d in np.flatnonzero(pooled[q])} for q in range(25)}
    return qrels, runs


def rows(qrels: dict[str, dict[str, int]], keep: np.ndarray) -> dict[str, dict[str, int]]:
    """The judgments kept, of those in the order in which they were given."""
    every = [(q, d, grade) for q, judged in qrels.items() for d, grade in judged.items()]
    left: dict[str, dict[str, int]] = {}
    for (q, d, grade), there in zip(every, keep, strict=True):
        if there:
            left.setdefault(q, {})[d] = grade
    return left


def test_rates_are_what_evaluate_says_of_the_same_judgments(track: Any) -> None:
    qrels, runs = track
    found = cf.lab.reduction(qrels, runs, MEASURES, rates=[50, 10], seed=5, **QUICK)
    judgments = io.read_qrels(qrels)
    strata = JudgmentStrata(judgments, judgments.grade)
    full = cf.evaluate(qrels, runs, MEASURES)
    for repeat in range(3):
        place = strata.shuffle(np.random.default_rng([5, repeat]))
        for level, rate in enumerate((100, 50, 10)):
            keep = strata.sample(place, reduced_sizes(strata.sizes, rate)) if rate < 100 else np.ones(len(place), bool)
            scores = cf.evaluate(rows(qrels, keep), runs, MEASURES)
            assert found.judged[level, repeat] == keep.sum()
            assert found.mean[:, level, repeat] == pytest.approx(scores._means.mean(axis=0), abs=1e-12)
            for m in range(len(MEASURES)):
                tau = stats.kendalltau(full._means[:, m], scores._means[:, m]).statistic
                assert found.agreement[m, level, repeat] == pytest.approx(tau, abs=1e-9)
                expected = bootstrap(scores.values[:, m], draw_queries(25, 50, 5), 0.05).power
                assert found.power[m, level, repeat] == expected


def test_depths_are_pools(track: Any) -> None:
    qrels, runs = track
    found = cf.lab.reduction(qrels, runs, ["AP", "bpref"], pool_depths=[10, 3], **QUICK)
    assert found.mean.shape == (2, 3, 1)
    for level, depth in ((1, 10), (2, 3)):
        pool = {
            (q, d)
            for run in runs
            for q, ranking in run.source.items()
            for d in sorted(ranking, key=lambda d: -ranking[d])[:depth]
        }
        left = {q: {d: g for d, g in judged.items() if (q, d) in pool} for q, judged in qrels.items()}
        assert found.judged[level].tolist() == [sum(map(len, left.values()))]
        expected = cf.evaluate(left, runs, ["AP", "bpref"])
        assert found.mean[:, level, 0] == pytest.approx(expected._means.mean(axis=0), abs=1e-12)


def test_queries_are_random_sets_of_them(track: Any) -> None:
    qrels, runs = track
    found = cf.lab.reduction(qrels, runs, ["AP"], queries=[10, 5], seed=3, **QUICK)
    values = cf.evaluate(qrels, runs, "AP").values[:, 0]
    for repeat in range(3):
        place = np.random.default_rng([3, repeat]).permutation(25)
        for level, size in ((1, 10), (2, 5)):
            assert found.counted[0, level, repeat] == size
            assert found.mean[0, level, repeat] == pytest.approx(values[:, place < size].mean())
    assert found.labels == ["25", "10", "5"]


def test_the_picture_of_the_paper(track: Any) -> None:
    names = ["bpref_R", "AP", "AP[condensed]", "Q", "Q[condensed]", "nDCG", "nDCG[condensed]"]
    found = cf.lab.reduction(*track, names, repeats=10, samples=200)
    place = {name: i for i, name in enumerate(names)}
    mean, tau, power = (found.summary(x)[0] for x in (found.mean, found.agreement, found.power))
    for name in ("AP", "Q", "nDCG"):
        plain, condensed = place[name], place[f"{name}[condensed]"]
        assert mean[plain, -1] < 0.6 * mean[plain, 0]  # plain scores fall with the judgments
        assert mean[condensed, -1] > 0.85 * mean[condensed, 0]  # condensed ones hold
        assert tau[condensed, -1] > tau[plain, -1]  # and so does their order
        assert power[condensed, -1] > power[plain, -1]
    assert abs(mean[place["bpref_R"], -1] - mean[place["bpref_R"], 0]) < 0.1
    assert tau[place["AP"], -1] == tau[:, -1].min()
    assert (tau[:, 0] == 1).all()


def test_same_seed_same_result_whatever_else_is_asked_for(track: Any) -> None:
    found = cf.lab.reduction(*track, ["AP", "bpref"], seed=1, **QUICK)
    again = cf.lab.reduction(*track, ["AP", "bpref"], seed=1, **QUICK)
    assert again.to_dict() == found.to_dict()
    fewer = cf.lab.reduction(*track, ["bpref"], rates=[30], seed=1, **(QUICK | {"repeats": 2}))
    assert fewer.mean[0, 1].tolist() == found.mean[1, 4, :2].tolist()
    assert fewer.power[0, 1].tolist() == found.power[1, 4, :2].tolist()
    other = cf.lab.reduction(*track, ["AP"], seed=2, **QUICK)
    assert other.mean[0, 1].tolist() != found.mean[0, 1].tolist()


def test_saved_and_read_again(track: Any, tmp_path: Path) -> None:
    found = cf.lab.reduction(*track, ["AP", "bpref"], **QUICK)
    found.save(tmp_path / "study.json")
    again = ReductionResult.load(tmp_path / "study.json")
    assert again.to_dict() == found.to_dict()
    assert again.settings == found.settings


def test_summary_leaves_out_repetitions_without_a_value() -> None:
    middle, spread, low, high = ReductionResult.summary(np.array([[1.0, np.nan, 3.0], [np.nan] * 3, [2.0, 2.0, 2.0]]))
    assert middle.tolist() == pytest.approx([2, np.nan, 2], nan_ok=True)
    assert spread.tolist() == pytest.approx([np.sqrt(2), np.nan, 0], nan_ok=True)
    assert (low[0], high[0]) == pytest.approx((1.1, 2.9))
    assert np.isnan([low[1], high[1]]).all()


def test_what_becomes_undefined_is_stated() -> None:
    # Of two relevant documents one stays; which one decides whether anything of grade 2 is left.
    qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(6)}
    runs = [{q: {"a": 3.0, "b": 2.0, "c": 1.0} for q in qrels}, {q: {"c": 3.0, "b": 2.0, "a": 1.0} for q in qrels}]
    found = cf.lab.reduction(qrels, runs, ["AP(rel=2)", "AP"], rates=[50], repeats=8, samples=20)
    fewest = int(found.counted[0, 1].min())
    assert fewest < 6 and (found.counted[1] == 6).all()
    assert (
        f"AP(rel=2) at 50%: becomes undefined for some queries; means are over at least {fewest} of 6 queries"
    ) in list(map(str, found.notes))
    nothing = cf.lab.reduction(qrels, runs, ["AP(rel=2)"], pool_depths=[1], repeats=8, samples=20)
    assert np.isfinite(nothing.agreement).all()  # a and c are on top of one run each
    gone = cf.lab.reduction(qrels, [runs[1], runs[1]], ["AP(rel=2)"], pool_depths=[2], samples=20)
    assert np.isnan(gone.agreement[0, 1]).all() and np.isnan(gone.mean[0, 1]).all()
    assert "AP(rel=2) at 2: too few queries for an order in 1 of 1 repetitions" in list(map(str, gone.notes))


def test_few_resamplings_are_stated() -> None:
    found = cf.lab.reduction(QRELS, RUNS, ["AP"], rates=[50], repeats=1, samples=9)
    assert "with 9 resamples only p = 0 is below 0.05: use more resamples" in list(map(str, found.notes))


def test_samples_without_an_order_are_counted() -> None:
    found = cf.lab.reduction(QRELS, RUNS, ["AP", "P@5"], queries=[2], repeats=20, samples=20)
    short = int((found.counted[0, 1] < 2).sum())  # AP is undefined for one of the eight queries
    assert 0 < short < 20
    assert [note for note in map(str, found.notes) if "repetitions" in note] == [
        f"AP at 2: too few queries for an order in {short} of 20 repetitions"
    ]
    assert np.isnan(found.agreement[0, 1]).sum() == np.isnan(found.power[0, 1]).sum() == short
    assert np.isfinite(found.summary(found.agreement)[0]).all()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"rates": [50], "pool_depths": [5]}, "rates and pool_depths cannot be combined"),
        ({"rates": [100]}, "each of rates must be a whole number from 1 to 99, not 100"),
        ({"rates": []}, "rates must have at least one number"),
        ({"rates": [50.5]}, "each of rates must be a whole number from 1 to 99, not 50.5"),
        ({"rates": ["50"]}, "each of rates must be a whole number from 1 to 99, not '50'"),
        ({"rel": 9}, "no document has a grade of 9 or more, so none is relevant"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"pool_depths": [0]}, "each of pool_depths must be a whole number of at least 1, not 0"),
        ({"queries": [8]}, "queries must be whole numbers from 2 to 7, not 8"),
        ({"repeats": 0}, "repeats must be a whole number from 1 to 10,000,000, not 0"),
        ({"samples": 0}, "samples must be a whole number from 1 to 10,000,000, not 0"),
        ({"least": (1, -1)}, "least must be a whole number of at least 0, not -1"),
        ({"alpha": 1}, "alpha must be a number greater than 0 and less than 1, not 1"),
        ({"coefficient": "tau"}, "coefficient must be one of"),
    ],
)
def test_wrong_settings(how: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        cf.lab.reduction(QRELS, RUNS, ["AP"], **how)


def test_wrong_input() -> None:
    with pytest.raises(cf.CranfieldError, match="this study needs at least two runs, got 1"):
        cf.lab.reduction(QRELS, RUNS[:1])
    result = call("study", "reduction", QRELS, *RUNS, "--rates", "ten")
    assert result.exit_code == 2
    assert "expected whole numbers separated by commas, such as 50,20,10; got 'ten'" in result.stderr


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv", "json"])
@pytest.mark.parametrize("how", [(), ("--pool-depths", "3,1"), ("--queries", "4")], ids=["rates", "depths", "queries"])
def test_tables(format: str, how: tuple[str, ...]) -> None:
    args = (QRELS, *RUNS, "-m", "AP AP[condensed]", "--repeats", 4, "--samples", 50, *how, "--format", format)
    result = call("study", "reduction", *args)
    assert result.exit_code == 0
    assert "AP[condensed]" in result.stdout
    if format == "json":
        levels = len(json.loads(result.stdout)["power"][0])
        assert levels == {0: 6, 2: 3 if "3,1" in how else 2}[len(how)]
    else:
        assert "nan" not in result.stdout
        assert "iscriminative power" in result.stdout
        assert ("±" in result.stdout or "pm" in result.stdout) == ("--pool-depths" not in how)


@pytest.mark.parametrize("by", ["rates", "depths", "queries"])
def test_figures(by: str, track: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    levels: dict[str, Any] = {"rates": {}, "depths": {"pool_depths": [20, 5]}, "queries": {"queries": [10, 5]}}
    cf.lab.reduction(*track, MEASURES, **levels[by], **QUICK).save(tmp_path / "study.json")
    result = call("study", "show", tmp_path / "study.json", "--figures", tmp_path / "figures")
    assert result.exit_code == 0
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == [f"reduction-{by}.{kind}" for kind in ("pdf", "png", "svg")]


def test_a_track(simulated: Simulation) -> None:
    names = ["bpref", "AP", "AP[condensed]", "nDCG", "nDCG[condensed]"]
    found = cf.lab.reduction(simulated.judgments, simulated.runs, names, rates=[50, 10], repeats=5, samples=200)
    tau, power = found.summary(found.agreement)[0], found.summary(found.power)[0]
    assert tau[1, -1] == tau[:, -1].min() and power[1, -1] == power[:, -1].min()  # plain AP suffers most
    assert (power[[2, 4]] > power[0]).all()  # condensed measures tell more runs apart than bpref, at every rate


@pytest.mark.parametrize("study", ["correlation", "reduction"])
def test_runs_that_nothing_tells_apart(study: str, tmp_path: Path) -> None:
    """What is undefined in a table is explained below it, and figures are drawn without it."""
    pytest.importorskip("matplotlib")
    for name in ("one", "two"):
        (tmp_path / f"{name}.run").write_text(RUNS[0].read_text().replace("bm25", name))
    few = ("--repeats", 2, "--samples", 20) if study == "reduction" else ()
    args = QRELS, tmp_path / "one.run", tmp_path / "two.run", "-m", "AP RR", "--coefficient", "tau-b", *few
    result = call("study", study, *args, "--figures", tmp_path / "figures")
    assert result.exit_code == 0
    assert "–" in result.stdout and "nan" not in result.stdout
    assert "note: AP gives all runs the same score" in result.stderr
    if study == "reduction":
        assert "note: RR at 10%: too few queries for an order in 2 of 2 repetitions" in result.stderr
