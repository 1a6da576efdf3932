"""The papers, element by element: every element has a command that runs, or a reason; none is empty."""

from __future__ import annotations

import glob
import json
import os
import re
import shlex
import shutil
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import cranfield as cf
from cranfield import example
from cranfield.analysis.collection_statistics import collection_statistics
from cranfield.cli.main import cli

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "_ext"))
import papers

from paper_numbers import NUMBERS

ELEMENTS = [element for paper in papers.papers() for element in paper.elements]
WITH_COMMAND = [element for element in ELEMENTS if element.command]


def invoke(command: str) -> Result:
    """A command line of this program, with patterns of file names as a shell expands them."""
    program, *given = shlex.split(command)
    assert program == "cranfield"
    arguments = [path for word in given for path in (sorted(glob.glob(word)) if "*" in word else [word])]
    return CliRunner().invoke(cli, arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("papers")
    for name in example.NAMES:
        shutil.copyfile(example.path(name), path / name)
    papers.prepare(path)
    here = Path.cwd()
    os.chdir(path)
    try:
        for command in papers.commands():
            result = invoke(command)
            assert result.exit_code == 0, f"{command}\n{result.output}"
    finally:
        os.chdir(here)
    return path


@pytest.mark.parametrize("element", WITH_COMMAND, ids=lambda e: f"{e.paper}: {e.name}")
def test_the_command_of_an_element_runs(element: papers.Element, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    result = invoke(element.command)
    assert result.exit_code == 0, result.output
    expected = " ".join(element.expect.split())
    assert expected, "an element says what its output must contain"
    assert expected in " ".join(result.output.split())
    if element.name in NUMBERS:
        assert NUMBERS[element.name](folder) == expected
    for file in element.files:
        assert (folder / file).stat().st_size


def test_an_expectation_is_a_number_or_says_why_not() -> None:
    assert NUMBERS.keys() <= {element.name for element in WITH_COMMAND}
    for element in WITH_COMMAND:
        assert (element.name in NUMBERS) != bool(element.why), element.name
        assert element.why or re.search(r"\d", element.expect), element.name
        assert element.expect not in element.command, element.name
    assert sum(bool(element.why) for element in WITH_COMMAND) <= 25


def test_no_element_is_empty_and_all_are_different() -> None:
    for element in ELEMENTS:
        assert bool(element.command) != bool(element.reason), element.name
    names = Counter((element.paper, element.name) for element in ELEMENTS)
    assert max(names.values()) == 1


def test_numbers_of_rows() -> None:
    rows = {
        paper.name: (len(paper.elements), sum(bool(e.command) for e in paper.elements)) for paper in papers.papers()
    }
    assert rows == ROWS


# Elements of each paper, and how many of them have a command.
ROWS = {
    "Tied scores": (16, 13),
    "Quit while ahead": (19, 18),
    "Alternatives to bpref": (21, 19),
    "Cascade measures with few judgments": (17, 17),
    "Seven properties": (26, 23),
}


def test_every_table_and_figure_of_the_papers_has_an_element() -> None:
    printed = {
        "Quit while ahead": ["Table 1", "Table 2", "Table 3", "Figure 1", "Figure 2", "Figure 3"],
        "Alternatives to bpref": ["Table 1", "Table 2", "Table 3", "Figure 1", "Figure 2", "Figure 3"],
        "Cascade measures with few judgments": ["Table 1", "Table 2", "Table 3", "Table 4", "Figure 1", "Figure 2"],
        "Seven properties": ["Table 1", "Table 2"],
    }
    for paper, captions in printed.items():
        for caption in captions:
            named = [e for e in WITH_COMMAND if e.paper == paper and re.match(rf"{caption}\b", e.name)]
            assert named, f"{paper}: {caption}"


def scores(folder: Path, qrels: str, runs: str, *measures: str, **options: str) -> np.ndarray:
    """The scores of runs, (run, measure, query)."""
    return cf.evaluate(folder / qrels, sorted(folder.glob(runs)), list(measures), **options).values


def test_claims_that_are_equalities(folder: Path) -> None:
    """Sakai, equations 9 to 11, 20 and 21."""
    same = scores(folder, "lab/qrels.txt", "lab/runs/*.run", "bpref_relative2", "AveP[condensed]", "Q(beta=0)", "AveP")
    np.testing.assert_allclose(same[:, 0], same[:, 1], atol=1e-12)
    np.testing.assert_allclose(same[:, 2], same[:, 3], atol=1e-12)
    bpref, by_r, by_n = scores(folder, "lab/qrels.txt", "lab/runs/*.run", "bpref", "bpref_R", "bpref_N").transpose(
        1, 0, 2
    )
    judged = collection_statistics(folder / "lab/qrels.txt").judgments
    few = judged.relevant <= judged.nonrelevant
    np.testing.assert_allclose(bpref[:, few], by_r[:, few], atol=1e-12)
    np.testing.assert_allclose(bpref[:, ~few], by_n[:, ~few], atol=1e-12)


def test_a_shorter_list_is_at_least_as_good(folder: Path) -> None:
    """Liu et al., section 2: “101” and “10100”, “111” and “11100”."""
    names = ["RR[terminal]", "RBP(p=0.5)[terminal]", "nDCG[terminal]", "AP[terminal]"]
    found = cf.evaluate(folder / "liu.qrels", folder / "liu.run", names)
    at = {query: found.values[0, :, q] for q, query in enumerate(found.queries)}
    assert (at["101"] >= at["10100"]).all()
    assert (at["111"] >= at["11100"]).all()


def test_no_metric_has_all_seven_properties() -> None:
    """Moffat, section 4."""
    data = json.loads(invoke("cranfield properties --table 2 --documents 5 --format json").stdout)
    assert not any(all(metric["properties"].values()) for metric in data["metrics"].values())
    assert len(data["classes"]) == 10
