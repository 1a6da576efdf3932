"""Judgments sampled: sizes as in the specification, scores as `evaluate` has them, and what is really seen."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study_samples import GOLDEN, call, check_display, labelled, tau_a

import cranfield as cf
from corpus_samples import search_results
from cranfield import example, io
from cranfield.evaluation.notes import sentences
from cranfield.lab.relabelling import JudgmentStrata, sample_sizes
from cranfield.lab.simulation import Simulation
from cranfield.lab.studies.sampling import CandidateMeasures, SamplingResult, without_negative_grades

MEASURES = ["alpha_nDCG@10", "NRBP@10", "ABSRB@10", "DELTARB@10"]


@pytest.fixture(scope="module")
def lab() -> Simulation:
    return cf.simulate(queries=8, systems=6, documents=600, relevant=9, words=150, depth=40, pool_depth=10, seed=3)


@pytest.fixture(scope="module")
def found(lab: Simulation) -> SamplingResult:
    return cf.lab.sampling(
        lab.judgments, lab.runs, MEASURES, corpus=lab.texts, rates=[100, 10, 40, 40], repeats=3, seed=7
    )


@pytest.fixture(scope="module")
def files(lab: Simulation, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path], Path]:
    """The same in files: judgments, runs, and a collection."""
    from cranfield.lab.simulation import save

    place = tmp_path_factory.mktemp("lab") / "lab"
    save(lab, str(place))
    return place / "qrels.diversity.txt", sorted((place / "runs").iterdir()), place / "docs.jsonl"


def test_sizes_of_samples() -> None:
    for row in GOLDEN["D3-sampling"]["expected"]:
        assert sample_sizes([row["n_rel"], row["n_nonrel"]], row["p"]).tolist() == [row["rel"], row["nonrel"]]
    assert sample_sizes([0, 0], 50).tolist() == [0, 0]


def test_every_sample_is_scored_as_evaluate_would(lab: Simulation, found: SamplingResult) -> None:
    judgments = lab.judgments
    strata = JudgmentStrata(judgments, judgments.grade)
    names = ["alpha_nDCG@10", "alpha_nDCG@10[condensed]", "ABSRB@10", "DELTARB@10"]
    full = cf.evaluate(labelled(judgments, np.ones(len(judgments.grade), bool)), lab.runs, "alpha_nDCG@10")
    assert found.settings.levels == (10, 40, 100)
    for repeat in range(3):
        place = strata.shuffle(np.random.default_rng([7, repeat]))
        for level, rate in enumerate(found.settings.levels):
            keep = strata.sample(place, sample_sizes(strata.sizes, rate))
            scores = cf.evaluate(cf.Collection(labelled(judgments, keep), documents=lab.texts), lab.runs, names)
            assert found.judged[level].sum() == keep.sum()
            for r in range(4):
                tau = tau_a(full._means[:, 0], scores._means[:, r])
                assert found.agreement[0, r, level, repeat] == pytest.approx(tau, abs=1e-9)


def test_everything_known_is_the_truth(found: SamplingResult) -> None:
    assert (found.agreement[:, 0, -1] == 1).all()  # by the measure itself
    assert (np.ptp(found.agreement[:, :, -1], axis=-1) == 0).all()  # and there is no chance in it
    assert found.candidates == ("raw", "condensed", "ABSRB@10", "DELTARB@10")


def test_same_seed_same_result_whatever_else_is_asked_for(lab: Simulation, found: SamplingResult) -> None:
    again = cf.lab.sampling(lab.judgments, lab.runs, MEASURES, corpus=lab.texts, rates=[10, 40, 100], repeats=3, seed=7)
    assert {**again.to_dict(), "settings": None} == {**found.to_dict(), "settings": None}
    fewer = cf.lab.sampling(
        lab.judgments, lab.runs, ["NRBP@10", "DELTARB@10"], corpus=lab.texts, rates=[40], repeats=2, seed=7
    )
    assert fewer.agreement[0, :, 0].tolist() == found.agreement[1][[0, 1, 3], 1, :2].tolist()
    other = cf.lab.sampling(lab.judgments, lab.runs, MEASURES, corpus=lab.texts, rates=[10], repeats=3, seed=8)
    assert other.agreement[:, :, 0].tolist() != found.agreement[:, :, 0].tolist()


def test_saved_and_read_again(found: SamplingResult, tmp_path: Path) -> None:
    found.save(tmp_path / "study.json")
    again = SamplingResult.load(tmp_path / "study.json")
    assert again.to_dict() == found.to_dict() and again.settings == found.settings


def test_how_few_are_enough(found: SamplingResult) -> None:
    values = np.array([[[0.9, 0.7, 0.8], [0.9, 0.85, 0.8], [0.1, 0.2, 0.79], [np.nan, 0.9, 0.9]]])[..., None]
    assert replace(found, agreement=values).sufficient_rates() == [[100, 10, None, 40]]


def test_only_measures_that_read_text_make_grades_binary(lab: Simulation) -> None:
    given = io.read_qrels({"q": {"a": {"1": 2, "2": 1}, "b": {"1": -2}, "c": {"1": 1, "2": 0}}})
    made = without_negative_grades(given)
    assert made.grade.tolist() == [2, 0, 1]
    assert made.labels is not None and made.labels.grade.tolist() == [2, 1, 0, 1, 0]
    # Table 3 and 4 of Hui et al. have the same agreement as the samples of all judgments.
    names = ["ERR_IA(norm='paper')@10", "ERR_IA@10", "ABSNB@10"]
    found = cf.lab.sampling(lab.judgments, lab.runs, names, corpus=lab.texts, rates=[100], repeats=1)
    means = cf.evaluate(cf.Collection(lab.judgments, documents=lab.texts), lab.runs, names)._means
    expected = [tau_a(means[:, m], means[:, 2]) for m in (0, 1)]
    assert found.agreement[:, 2, 0, 0].tolist() == pytest.approx(expected)
    assert found.agreement[:, 0, 0, 0].tolist() == [1, 1]


def test_the_lowest_relevant_grade_is_that_of_measures_with_one(lab: Simulation) -> None:
    names = ["P@5", "P(rel=3)@5", "ERR_IA(norm='paper')@5", "ABSNB@5"]
    columns = CandidateMeasures.of(names, rel=2).columns
    assert [dict(c.measure.parameters).get("rel") for c in columns if not c.measure.views.condensed] == [2, 3, 2, 2]


def test_without_measures_that_read_there_is_no_need_of_a_corpus(lab: Simulation) -> None:
    found = cf.lab.sampling(lab.judgments, lab.runs, "StRecall@5", rates=[30], repeats=2)
    assert found.candidates == ("raw", "condensed") and np.isfinite(found.agreement).all()


def test_judgments_that_are_not_by_subtopic(lab: Simulation) -> None:
    plain = replace(lab.judgments, labels=None)
    found = cf.lab.sampling(
        plain, lab.runs, ["nDCG@10", "DELTARB(whole=True)@10"], corpus=lab.texts, rates=[30], repeats=2
    )
    assert np.isfinite(found.agreement).all()


def test_documents_that_the_corpus_lacks_are_counted(lab: Simulation) -> None:
    texts = dict(list(lab.texts.items())[::2])
    notes = cf.lab.sampling(lab.judgments, lab.runs, MEASURES, corpus=texts, rates=[10], repeats=1).notes
    notes = sentences(notes)
    assert any("documents at the top of the runs are not in the corpus" in note for note in notes)
    assert any("relevant documents are not in the corpus" in note for note in notes)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"rates": [0]}, "each of rates must be a whole number from 1 to 100, not 0"),
        ({"rates": [2.5]}, "each of rates must be a whole number from 1 to 100, not 2.5"),
        ({"rates": []}, "rates must have at least one number"),
        ({"repeats": 0}, "repeats must be a whole number from 1 to 10,000,000, not 0"),
        ({"coefficient": "tau"}, "coefficient must be one of"),
        ({"measures": ["DELTARB@20"]}, "all requested measures read document text"),
        ({"measures": ["NRBP[condensed]"]}, "this study evaluates raw and condensed lists itself"),
        ({"corpus": None}, "ABSRB@20 needs a corpus, because it uses document text"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"variants": -1}, "variants must be a whole number of at least 0, not -1"),
        ({"variants": 3}, "variants need exactly one run, got 6"),
    ],
)
def test_wrong_settings(lab: Simulation, how: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        cf.lab.sampling(lab.judgments, lab.runs, **{"corpus": lab.texts, "repeats": 1, "rates": [10]} | how)


def test_wrong_input(files: tuple[Path, list[Path], Path]) -> None:
    qrels, runs, docs = files
    one = call("study", "sampling", qrels, runs[0], "--corpus", docs)
    assert one.exit_code == 2 and "this study needs at least two runs, got 1" in one.stderr
    plain = call("study", "sampling", qrels.with_name("qrels.txt"), *runs, "--corpus", docs)
    assert plain.exit_code == 1 and "needs judgments by subtopic" in plain.stderr
    nothing = call("study", "sampling", qrels, *runs)
    assert nothing.exit_code == 2 and "needs a corpus, because it uses document text" in nothing.stderr
    other = call("study", "sampling", qrels, *runs, "--corpus", example.path("documents.jsonl"))
    assert other.exit_code == 1 and "in the corpus" in other.stderr


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv", "json"])
def test_tables(format: str, files: tuple[Path, list[Path], Path]) -> None:
    qrels, runs, docs = files
    args = ("--corpus", docs, "-m", " ".join(MEASURES), "--rates", "10,100", "--repeats", 2, "--format", format)
    result = call("study", "sampling", qrels, *runs, *args)
    assert result.exit_code == 0
    if format == "json":
        data = json.loads(result.stdout)
        assert data["candidates"] == ["raw", "condensed", "ABSRB@10", "DELTARB@10"]
        assert len(data["agreement"][data["references"].index("NRBP@10")]) == 4
    else:
        assert "nan" not in result.stdout and "condensed" in result.stdout


def test_figures(found: SamplingResult, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found.save(tmp_path / "study.json")
    result = call("study", "show", tmp_path / "study.json", "--figures", tmp_path / "figures")
    assert result.exit_code == 0
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == [f"sampling.{kind}" for kind in ("pdf", "png", "svg")]


@pytest.mark.parametrize(
    ("words", "best_last"), [(800, ("condensed", "DELTARB@20", "raw")), (60, ("condensed", "raw", "DELTARB@20"))]
)
def test_what_is_seen_with_15_percent_of_the_judgments(words: int, best_last: tuple[str, ...]) -> None:
    # Reading beats lists as they are where documents are long enough to learn from, and condensed lists beat both.
    made = cf.simulate(queries=20, systems=16, documents=1200, words=words, depth=40, seed=2)
    found = cf.lab.sampling(
        made.judgments, made.runs, ["NRBP@20", "DELTARB@20"], corpus=made.texts, rates=[15], repeats=5
    )
    tau = dict(zip(found.candidates, found.summary(found.agreement)[0][0, :, 0], strict=True))
    assert tuple(sorted(tau, key=lambda rival: -tau[rival])) == best_last


def test_search_results_with_systems_made_up(tmp_path: Path) -> None:
    search_results(tmp_path)
    args = ("--corpus", tmp_path, "--variants", 12, "--rates", "15,100", "--repeats", 3, "-m", "ERR_IA@20 DELTARB@20")
    result = call("study", "sampling", tmp_path, tmp_path, *args, "--format", "json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert len(found["runs"]) == 13 and found["settings"]["variants"] == 12
    assert found["notes"][0].startswith("12 of the 13 runs are simulated")
    # Snippets of twenty words are too short to learn from.
    of_rivals = found["agreement"][found["references"].index("ERR_IA@20")]
    tau = {rival: [np.mean(row) for row in rows] for rival, rows in zip(found["candidates"], of_rivals, strict=True)}
    assert tau["condensed"][0] > tau["raw"][0] > tau["DELTARB@20"][0]


def test_in_a_notebook(found: SamplingResult) -> None:
    check_display(found, "SamplingResult: 6 runs (")
