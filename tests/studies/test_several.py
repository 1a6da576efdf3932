"""One study on several collections: what each of them gives alone, and the mean."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from study_samples import call

import cranfield as cf
from cranfield.simulation.saving import save
from cranfield.studies.several import CollectionFiles, check_alike, mean_of

FEW = {
    "reuse": ("-m", "ERR_IA@5 DELTARB@5"),
    "sampling": ("-m", "ERR_IA@5 DELTARB@5", "--rates", "10,100", "--repeats", 2),
    "correlation": ("-m", "ERR_IA@5 alpha_nDCG@5 DELTARB@5"),
}


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("years")
    for seed in (1, 2):
        save(
            cf.simulate(queries=5, systems=4, documents=300, relevant=8, words=100, depth=20, seed=seed),
            folder / f"year{seed}",
        )
    return [folder / "year1", folder / "year2"]


def arguments(year: Path) -> tuple[object, ...]:
    return year / "qrels.diversity.txt", *sorted((year / "runs").iterdir()), "--corpus", year / "docs.jsonl"


@pytest.mark.parametrize("study", FEW)
def test_each_collection_as_alone_and_their_mean(study: str, years: list[Path], tmp_path: Path) -> None:
    alone = [
        json.loads(call("study", study, *arguments(year), *FEW[study], "--format", "json").stdout) for year in years
    ]
    args = (*arguments(years[0]), "--also", years[1], *FEW[study])
    both = call("study", study, *args, "--format", "json", "-o", tmp_path / "study.json")
    assert both.exit_code == 0
    assert json.loads((tmp_path / "study.json").read_text())["by_collection"] == dict(
        zip(("year1", "year2"), alone, strict=True)
    )
    table = call("study", study, *args)
    shown = call("study", "show", tmp_path / "study.json", "--figures", tmp_path / "figures")
    assert shown.stdout == table.stdout and "nan" not in table.stdout
    assert "year2: " in table.stdout and "ean over 2 collections" in " ".join(table.stdout.split())
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"year1", "year2"}
    if study == "correlation":
        x, y = (data["measures"]["ERR_IA@5"]["agreement"]["DELTARB@5"] for data in alone)
        assert f"{(x + y) / 2:.4f}" in table.stdout.partition("mean over")[2]


def test_values_that_are_undefined_in_one_collection() -> None:
    assert mean_of([np.array([1.0, np.nan]), np.array([0.0, 0.5])]).tolist() == [0.5, 0.5]


def test_folders_without_judgments_or_runs(years: list[Path], tmp_path: Path) -> None:
    with pytest.raises(cf.CranfieldError, match="there is no such folder"):
        CollectionFiles.of(tmp_path / "nothing")
    with pytest.raises(cf.CranfieldError, match="no judgments"):
        CollectionFiles.of(tmp_path)
    (tmp_path / "qrels.txt.gz").write_bytes((years[0] / "qrels.txt").read_bytes())
    with pytest.raises(cf.CranfieldError, match="no runs"):
        CollectionFiles.of(tmp_path)
    assert CollectionFiles.of(years[0]).qrels.endswith("qrels.diversity.txt")
    assert CollectionFiles.of(years[0], "qrels.txt").qrels.endswith("qrels.txt")


def test_collections_with_other_parts_have_no_mean() -> None:
    results = [SimpleNamespace(collections=("A", "B")), SimpleNamespace(collections=("even", "odd"))]
    with pytest.raises(cf.CranfieldError, match="the results differ in their collections, so that they have no mean"):
        check_alike(results, "collections")
