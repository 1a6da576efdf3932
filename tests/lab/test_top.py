"""`--top`, `--top-by` and `--paper`, which studies share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from study_samples import call

import cranfield as cf
from cranfield import example
from cranfield.lab.simulation import save
from cranfield.lab.studies import study_names
from cranfield.lab.study import SAKAI, study_class
from cranfield.lab.systems import top_runs
from cranfield.measures import parse

QRELS = example.path(example.QRELS)
RUNS = [example.path(name) for name in example.RUNS]
REDUCED = study_class("reduction").PAPER or SAKAI
FEW: dict[str, tuple[object, ...]] = {
    "correlation": ("-m", "AP P@5"),
    "power": ("-m", "AP", "--samples", 20, "--trials", 2),
    "reduction": ("-m", "AP", "--rates", 50, "--repeats", 1, "--samples", 20),
    "reuse": ("-m", "ERR_IA@5"),
    "sampling": ("-m", "ERR_IA@5", "--rates", 50, "--repeats", 1),
    "stopping": ("-m", "AP[terminal]", "--repeats", 2),
    "ties": ("-m", "AP", "--samples", 5, "--round-digits", 2, "--round-bits", 8),
    "truncation": ("-m", "AP"),
}


def test_every_study_of_runs_is_here() -> None:
    assert sorted(FEW) == [name for name in study_names() if name != "properties"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    folder = tmp_path_factory.mktemp("top") / "lab"
    save(cf.simulate(queries=6, systems=5, documents=200, relevant=8, words=50, depth=20, seed=4), folder)
    return folder / "qrels.diversity.txt", sorted((folder / "runs").iterdir())


@pytest.mark.parametrize("study", FEW)
def test_the_best_runs_as_if_only_they_were_given(study: str, lab: tuple[Path, list[Path]]) -> None:
    qrels, runs = lab
    means = cf.evaluate(qrels, runs, "RR")._means[:, 0]
    best = [run for run, mean in zip(runs, means, strict=True) if mean >= sorted(means)[-3]]
    assert len(best) == 3

    def result(*arguments: object) -> dict[str, Any]:
        called = call("study", study, *arguments, *FEW[study], "--format", "json")
        assert called.exit_code == 0, called.stderr
        data: dict[str, Any] = json.loads(called.stdout)
        assert data.pop("provenance")
        return data

    chosen, direct = result(qrels, *runs, "--top", 3, "--top-by", "RR"), result(qrels, *best)
    assert chosen["notes"][0] == "3 of 5 runs are used, those with the highest RR"
    assert chosen | {"notes": chosen["notes"][1:]} == direct


def test_ties_and_too_few_runs() -> None:
    same = {"q": {"a": 1.0}}
    runs, notes = top_runs({"q": {"a": 1}}, {"x": same, "y": same, "z": {"q": {"b": 1.0}}}, 1)
    assert [run.name for run in runs] == ["x"] and list(map(str, notes)) == [
        "1 of 3 runs are used, those with the highest AP"
    ]
    assert top_runs({"q": {"a": 1}}, {"x": same}, 5)[1] == []


def test_by_without_top() -> None:
    result = call("study", "ties", QRELS, *RUNS, "--top-by", "AP")
    assert result.exit_code == 2 and "--top-by needs --top" in result.stderr


def test_the_paper_has_the_nDCG_of_jarvelin_and_kekalainen() -> None:
    ndcg = parse(SAKAI.measures[-1])
    assert (ndcg.chosen["discount"], ndcg.chosen["base"], ndcg.cutoff) == ("jk", 2, 1000)
    assert len(SAKAI.measures) == 10 and len(REDUCED.measures) == 8
    # By hand: gains 3 and 2 at ranks 1 and 3, log2(3) from rank 3 on.
    assert ndcg([3, 0, 2]) == pytest.approx((3 + 2 / 1.584962500721156) / 5)


def measures_of(text: str) -> tuple[str, ...]:
    data = json.loads(text)
    return tuple(data.get("measures") or (part["measure"] for part in data["sensitivities"]))


@pytest.mark.parametrize("study", ["correlation", "reduction", "power"])
def test_the_preset(study: str) -> None:
    few = {
        "reduction": ("--rates", 50, "--repeats", 1, "--samples", 10),
        "power": ("--samples", 10, "--trials", 2),
    }.get(study, ())
    result = call("study", study, QRELS, *RUNS, "--paper", *few, "--format", "json")
    assert result.exit_code == 0
    assert measures_of(result.stdout) == (REDUCED if study == "reduction" else SAKAI).measures
    result = call("study", study, QRELS, *RUNS, "--paper", "--top", 3, "-m", "AP P@5", *few, "--format", "json")
    data = json.loads(result.stdout)
    assert measures_of(result.stdout) == ("AP", "P@5") and len(data["runs"]) == 3


def test_names_of_the_papers() -> None:
    """A prime is a condensed list in Sakai's experiments, and a terminal document in that of Liu et al."""
    preset = call("study", "correlation", QRELS, *RUNS, "--paper", "-m", "AveP' Q' nDCG' nDCG'@5", "--format", "json")
    ours = ["AP[condensed]", "Q[condensed]", f"{SAKAI.measures[-1]}[condensed]", "nDCG@5[condensed]"]
    assert list(json.loads(preset.stdout)["measures"]) == ours
    truncated = call("study", "truncation", QRELS, *RUNS, "-m", "RR' NDCG' RBP'(p=0.5) AP'", "--format", "json")
    assert json.loads(truncated.stdout)["terminal_measures"] == [
        "RR[terminal]",
        "nDCG[terminal]",
        "RBP(p=0.5)[terminal]",
        "AP[terminal]",
    ]
    other = call("study", "correlation", QRELS, *RUNS, "-m", "AveP' Q'")
    assert other.exit_code == 2 and "[condensed]" in other.stderr
