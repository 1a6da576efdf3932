"""Means and differences from human and predicted judgments."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import cranfield as cf
from collection_files import write_collection
from cranfield.cli.main import cli
from cranfield.evaluation.elsewhere import with_column
from cranfield.statistics.survey import ppi_mean

RNG = np.random.default_rng(5)
DOCUMENTS = [f"d{i}" for i in range(12)]
TRUTH = {str(q): {d: int(RNG.integers(0, 4)) | (i == 0) for i, d in enumerate(DOCUMENTS)} for q in range(30)}
LLM = {q: {d: int(np.clip(g + RNG.integers(-1, 2), 0, 3)) for d, g in judged.items()} for q, judged in TRUTH.items()}
HUMAN = {q: TRUTH[q] for q in list(TRUTH)[:12]}
RUNS = {name: {q: {d: float(RNG.random()) for d in DOCUMENTS} for q in TRUTH} for name in ("A", "B")}


def test_means_are_those_of_the_estimator() -> None:
    scores = cf.evaluate(cf.Collection(HUMAN, predicted=LLM), RUNS, ["nDCG@5", "P(rel=2)@5"])
    for mean in scores.predicted:
        human, judge = (cf.Evaluator(side, mean.measure) for side in (HUMAN, LLM))
        y, f = human.values(RUNS[mean.run])[0], judge.values(RUNS[mean.run])[0]
        expected = ppi_mean(y, f[:12], f[12:])
        assert (mean.both.estimate, mean.both.low) == pytest.approx((expected.estimate, expected.low), abs=1e-12)
        assert mean.human.estimate == pytest.approx(y.mean())
        assert mean.predicted.estimate == pytest.approx(f.mean())
        ratio = (mean.human.standard_error / mean.both.standard_error) ** 2
        assert mean.worth_queries == pytest.approx(12 * ratio - 12)
        assert mean.worth_judgments == pytest.approx(mean.worth_queries * 12)
    assert scores._means.tolist() == cf.evaluate(HUMAN, RUNS, ["nDCG@5", "P(rel=2)@5"])._means.tolist()
    assert len(scores.to_dict()["predicted"]) == 4


@pytest.mark.parametrize(("inference", "number"), [("fixed", 20), ("loo", 15)])
def test_scores_say_what_their_intervals_are(inference: Any, number: int) -> None:
    shown = str(cf.evaluate(cf.Collection(HUMAN, predicted=LLM, inference=inference), RUNS, "P@1"))
    assert "predictions: intervals are for" in shown
    assert f"predictions: with fewer than {number} human queries" in shown


def test_differences() -> None:
    collection = cf.Collection(HUMAN, predicted=LLM, inference="fixed")
    found = cf.compare(collection, RUNS, "nDCG@5", baseline="B").predicted[0]
    sides = [[cf.Evaluator(side, "nDCG@5").values(RUNS[run])[0] for run in "AB"] for side in (HUMAN, LLM)]
    human, judge = sides
    y, f = human[0] - human[1], judge[0] - judge[1]
    expected = ppi_mean(y, f[:12], f[12:], method="fixed")
    assert (found.both.low, found.both.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_no_interval_for_few_differences() -> None:
    near = {q: dict(run) for q, run in RUNS["A"].items()}
    for q in list(near)[:3]:
        near[q] = dict(RUNS["B"][q])
    found = cf.compare(cf.Collection(HUMAN, predicted=LLM), {"A": RUNS["A"], "near": near}, "nDCG@5").predicted[0]
    assert "fewer than 5" in found.reason
    assert np.isnan(found.both.estimate) and np.isnan(found.human.low)


def test_measures_that_are_no_means() -> None:
    mean = cf.evaluate(cf.Collection(HUMAN, predicted=LLM), RUNS["A"], "NumRelRet").predicted[0]
    assert "not a mean over queries" in mean.reason


def test_other_queries() -> None:
    with pytest.raises(cf.InputError, match="none of the human queries has predictions"):
        cf.evaluate(cf.Collection(HUMAN, predicted={"x": {"d0": 1}}), RUNS, "nDCG@5")
    some = {q: LLM[q] for q in list(LLM)[5:]}
    with pytest.raises(cf.InputError, match="5 human queries without predictions"):
        cf.evaluate(cf.Collection(HUMAN, predicted=some), RUNS, "nDCG@5")
    nothing = LLM | {"0": dict.fromkeys(DOCUMENTS, 0)}
    with pytest.raises(cf.InputError, match="by predicted judgments only"):
        cf.evaluate(cf.Collection(HUMAN, predicted=nothing), RUNS, "nDCG@5")
    assert cf.evaluate(cf.Collection(HUMAN, predicted=nothing), RUNS, "nDCG@5", undefined="zero").predicted


def test_samples_within_queries_are_unbiased() -> None:
    """The difference estimator over many samples has the true mean, within three standard errors."""
    rng = np.random.default_rng(1)
    truth = float(cf.evaluate(TRUTH, RUNS["A"], "P(rel=2)@5")._means[0, 0])
    chances = {q: dict.fromkeys(DOCUMENTS, 0.4) for q in TRUTH}
    values = []
    for _ in range(40):
        drawn = {q: {d: g if rng.random() < 0.4 else -1 for d, g in judged.items()} for q, judged in TRUTH.items()}
        scores = cf.evaluate(cf.Collection(drawn, inclusion=chances, predicted=LLM), RUNS["A"], ["P(rel=2)@5", "AP"])
        assert "not linear" in scores.predicted[1].reason
        values.append(scores.predicted[0].both.estimate)
    assert abs(np.mean(values) - truth) < 3 * np.std(values, ddof=1) / np.sqrt(len(values))


def write(path: Path, judged: Any) -> str:
    path.write_text("".join(f"{q} 0 {d} {g}\n" for q, documents in judged.items() for d, g in documents.items()))
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, list[str]]:
    """A collection with predictions, and the runs."""
    human, llm = write(tmp_path / "human.txt", HUMAN), write(tmp_path / "llm.txt", LLM)
    human = write_collection(tmp_path, qrels=human, predicted=llm)
    runs = []
    for name, run in RUNS.items():
        file = tmp_path / f"{name}.run"
        file.write_text("".join(f"{q} Q0 {d} 1 {s} x\n" for q, ranking in run.items() for d, s in ranking.items()))
        runs.append(str(file))
    return human, runs


def test_commands(files: tuple[str, list[str]]) -> None:
    human, runs = files
    shown = CliRunner().invoke(cli, ["eval", human, *runs, "-m", "nDCG@5"])
    assert shown.exit_code == 0, shown.output
    for line in ("humans only", "predictions only", "both together"):
        assert shown.output.count(line) == 2
    compared = CliRunner().invoke(cli, ["compare", human, *runs, "-m", "nDCG@5"])
    assert compared.exit_code == 0, compared.output
    assert "both together" in compared.output
    saved = json.loads(CliRunner().invoke(cli, ["compare", human, *runs, "-m", "nDCG@5", "--format", "json"]).stdout)
    (later,), (pair,) = saved["predicted"], saved["pairs"]
    assert (later["run"], later["other"]) == (pair["run"], pair["other"])
    assert later["human"]["estimate"] == pytest.approx(pair["difference"])  # new minus old in both


def test_an_audit_shows_the_means_of_eval(files: tuple[str, list[str]]) -> None:
    human, runs = files
    command = [human, *runs, "-m", "nDCG@5", "--format"]
    scores = json.loads(CliRunner().invoke(cli, ["eval", *command, "json"]).stdout)
    audit = json.loads(CliRunner().invoke(cli, ["audit", *command, "json"]).stdout)
    assert len(audit["predicted"]) == 2
    assert audit["predicted"] == scores["predicted"]
    for format in ("table", "markdown"):
        shown = CliRunner().invoke(cli, ["audit", *command, format])
        assert shown.exit_code == 0, shown.output
        assert shown.stdout.count("both together") == 2
        assert "predictions: intervals are for new queries of this kind" in shown.stderr


def test_a_report_has_a_table_of_both_judgments(files: tuple[str, list[str]], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    human, runs = files
    page = tmp_path / "report.html"
    Path(human).write_text(f'{Path(human).read_text()}inference = "fixed"\n')
    shown = CliRunner().invoke(cli, ["report", human, *runs, "-m", "nDCG@5", "-o", str(page)])
    assert shown.exit_code == 0, shown.output
    text = page.read_text()
    assert text.count("both together</td>") == 3  # of two means, and of their difference
    data = json.loads(re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)[0])
    assert any("eval collection.toml " in line and line.endswith("--interval bca") for line in data["commands"])
    assert any("for this query set only" in note for note in data["notes"])


@pytest.mark.parametrize("measure", ["GMAP", "GMbpref", "NumRel", "NumRelRet", "NumRet", "NumQ", "c_at_1"])
@pytest.mark.parametrize("sampled", [False, True])
def test_what_is_no_mean_over_queries_shows_no_means(measure: str, *, sampled: bool) -> None:
    inclusion = {q: dict.fromkeys(judged, 0.5) for q, judged in HUMAN.items()}
    collection = cf.Collection(HUMAN, predicted=LLM, **({"inclusion": inclusion} if sampled else {}))
    scores = cf.evaluate(collection, RUNS, [measure])
    assert len(scores.predicted) == 2
    for mean in scores.predicted:
        assert np.isnan([mean.human.estimate, mean.predicted.estimate, mean.both.estimate, mean.worth_queries]).all()
        assert "not a mean over queries" in mean.reason
    assert not np.isnan(scores._means).any()


@pytest.mark.parametrize("ties", ["trec", "trec9", "input", "rank", "expected", "best", "worst"])
def test_samples_within_queries_heed_the_tie_rule(ties: Any) -> None:
    """All retrieved documents were drawn, so that the estimates are the scores of humans."""
    human = {f"q{i}": {"a": i % 2, "b": 1 - i % 2, "c": 1, "d": 0} for i in range(6)}
    rows = [(query, name, grade, "1") for query, graded in human.items() for name, grade in graded.items()]
    rows += [(query, name, grade, "2") for query in human for name, grade in (("e", -1), ("f", 0))]
    judged = dict(zip(("query_id", "doc_id", "relevance", "stratum"), map(list, zip(*rows, strict=True)), strict=True))
    run = {query: {"c": 1.0, "a": 1.0 + 1e-9, "b": 1.0, "d": 0.5} for query in human}
    predicted = {query: {name: i % 2 for i, name in enumerate("abcdef")} for query in human}
    collection = cf.Collection(pd.DataFrame(judged), predicted=predicted)
    scores = cf.evaluate(collection, run, ["P@1", "DCG@3"], ties=ties)
    for m, mean in enumerate(scores.predicted):
        if ties in ("best", "worst"):
            assert "orders tied documents by their grades" in mean.reason and math.isnan(mean.both.estimate)
        else:
            assert mean.human.estimate == pytest.approx(float(scores._means[0, m]), abs=1e-12)
            assert mean.both.estimate == pytest.approx(float(scores._means[0, m]), abs=1e-12)


def test_scores_from_elsewhere_have_no_predictions() -> None:
    scores = cf.evaluate(cf.Collection(HUMAN, predicted=LLM), RUNS, "nDCG@5")
    cost = cf.read_scores({run: {"cost": {q: float(len(run) + int(q)) for q in HUMAN}} for run in RUNS})
    both = cf.compare(with_column(scores, "cost", [("", cost)], lower=True), test="t")
    assert both.measures == ("nDCG@5", "cost")
    assert both.predicted == cf.compare(scores, test="t").predicted


def test_an_evaluation_has_the_predictions_of_the_evaluator() -> None:
    collection = cf.Collection(HUMAN, predicted=LLM)
    runs = {"A": RUNS["A"], "B": cf.Repeats([RUNS["B"], RUNS["A"]])}
    scores = cf.evaluate(collection, runs, ["nDCG@5", "P@5"])
    evaluation = cf.Evaluator(collection, ["nDCG@5", "P@5"]).evaluation(runs)
    assert evaluation.scores.predicted == scores.predicted
    assert [mean.run for mean in scores.predicted] == ["A", "A", "B", "B"]
    # Repeats are one system there, and rankings of their own here.
    assert (evaluation.scores.runs, evaluation.ranking_scores.runs) == (("A", "B"), ("A", "B 1", "B 2"))
    assert evaluation.scores.values.tobytes() == scores.values.tobytes()
    rankings = evaluation.ranking_scores.values
    assert rankings[1:].mean(axis=0) == pytest.approx(evaluation.scores.values[1])
    assert rankings[2].tobytes() == rankings[0].tobytes()
    assert cf.compare(evaluation).predicted == cf.compare(collection, runs, ["nDCG@5", "P@5"]).predicted


@pytest.mark.parametrize("baseline", [None, "B", "best"])
def test_predicted_differences_are_those_of_the_pairs(baseline: str | None) -> None:
    runs = {**RUNS, "C": {q: {d: -s for d, s in run.items()} for q, run in RUNS["A"].items()}}
    found = cf.compare(cf.Collection(HUMAN, predicted=LLM), runs, ["nDCG@5", "P@5"], baseline=baseline)
    named = [(one.measure, one.run, one.other) for one in found.predicted]
    assert named == [(pair.measure, pair.run, pair.other) for pair in found.pairs]
    for one, pair in zip(found.predicted, found.pairs, strict=True):
        assert one.human.estimate == pytest.approx(pair.difference)


@pytest.mark.parametrize("queries", ["judged", "both"])
def test_differences_are_those_of_the_same_queries(queries: Any) -> None:
    rng = np.random.default_rng(3)
    every = [f"q{i}" for i in range(40)]

    def labels(of: list[str]) -> dict[str, dict[str, int]]:
        return {query: {"a": 1, **{d: int(rng.integers(0, 2)) for d in "bcd"}} for query in of}

    def run(without: set[str]) -> dict[str, list[str]]:
        return {query: [str(d) for d in rng.permutation(list("abcd"))] for query in every if query not in without}

    runs = {"x": run({"q0", "q25"}), "y": run({"q7", "q31"})}
    collection = cf.Collection(labels(every[:20]), predicted=labels(every))
    for measures in (["P@2", "c_at_1"], ["P@2", "RR"]):
        comparison = cf.compare(collection, runs, measures, queries=queries)
        found, pair = comparison.predicted[0], comparison["P@2"].pairs[0]
        assert (found.run, found.other, found.human.queries) == (
            pair.run,
            pair.other,
            20 if queries == "judged" else 18,
        )
        assert found.human.estimate == pytest.approx(pair.difference, abs=1e-12)
