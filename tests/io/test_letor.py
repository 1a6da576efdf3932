"""LETOR and SVM-rank files: judgments, and a run for each feature."""

from __future__ import annotations

import gzip
import tracemalloc
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield import io
from cranfield.cli.main import cli
from cranfield.errors import InputError
from cranfield.io.formats.letor import read_letor

LETOR4 = """\
2 qid:10 1:0.5 2:3 46:0.007 #docid = GX008-86-4444840 inc = 1 prob = 0.086
0 qid:10 1:0.25 2:3 46:0.1 #docid = GX037-06-11625428 inc = 0.003 prob = 0.090
# a comment line

1 qid:11 1:1e-3 46:-2 #docid = GX001
"""


@pytest.fixture
def letor(tmp_path: Path) -> Path:
    path = tmp_path / "train.txt"
    path.write_text(LETOR4)
    return path


def test_judgments_and_features(letor: Path) -> None:
    qrels, runs, features = read_letor(letor)
    assert list(qrels.queries) == ["10", "11"]
    assert list(qrels.documents) == ["GX008-86-4444840", "GX037-06-11625428", "GX001"]
    assert qrels.grade.tolist() == [2, 0, 1]
    assert list(runs) == ["1", "2", "46"]
    assert features.tolist() == [[0.5, 3, 0.007], [0.25, 3, 0.1], [0.001, 0, -2]]
    assert runs["46"].source.score.tolist() == [0.007, 0.1, -2]
    assert runs["46"].name == "train#46"


def test_the_same_evaluation_as_with_dicts(letor: Path) -> None:
    qrels, runs, _ = read_letor(letor)
    judged = {"10": {"GX008-86-4444840": 2, "GX037-06-11625428": 0}, "11": {"GX001": 1}}
    feature = {"10": {"GX008-86-4444840": 0.007, "GX037-06-11625428": 0.1}, "11": {"GX001": -2.0}}
    measures = ["nDCG@10", "AP", "RR[ties=expected]"]
    expected = cf.evaluate(judged, feature, measures)._means
    assert np.array_equal(cf.evaluate(qrels, runs["46"], measures)._means, expected)
    assert np.array_equal(cf.evaluate(letor, f"{letor}#46", measures)._means, expected)
    every = cf.evaluate(letor, letor, measures)
    assert every.runs == ("train#1", "train#2", "train#46")
    assert np.array_equal(every._means[2:], expected)


def test_ids_without_a_docid(tmp_path: Path) -> None:
    path = tmp_path / "mslr.txt"
    path.write_text("2 qid:1 1:3\n0 qid:1 1:3 # page-7\n1 qid:1 1:2 # two words\n")
    assert list(cf.read_qrels(path).documents) == ["1", "page-7", "3"]


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "train.letor.gz"
    path.write_bytes(gzip.compress(LETOR4.encode()))
    assert cf.evaluate(path, path, "AP").runs == ("train#1", "train#2", "train#46")


def test_one_run_is_expected_where_one_is_asked_for(letor: Path) -> None:
    with pytest.raises(InputError, match="3 features") as error:
        cf.read_run(letor)
    assert "train.txt#1" in error.value.hint
    with pytest.raises(InputError, match="no feature 7"):
        cf.read_run(f"{letor}#7")


def test_faults_have_lines(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("1 qid:1 1:3\nhigh qid:1 1:2\n1 id:1 1:3\n1 qid:1 1:x\n1 qid:1 1:\n1 qid:1 0x1:2\n1 qid:1 1:nan\n")
    with pytest.raises(InputError) as error:
        cf.read_qrels(path)
    found = [line.rpartition("bad.txt:")[2] for line in error.value.message.splitlines()]
    assert [line.partition(":")[0] for line in found] == ["2", "3", "4", "5", "6", "7"]
    path.write_text("1 qid:1 1:3\n1 qid:1 1:2 1:3\n1 qid:1 2:1e999\n")
    with pytest.raises(InputError) as error:
        cf.read_qrels(path)
    found = [line.rpartition("bad.txt:")[2] for line in error.value.message.splitlines()]
    assert found == ["2: feature 1 appears twice", "3: feature 2 is not a finite number"]


def test_a_document_twice_in_a_query(tmp_path: Path) -> None:
    path = tmp_path / "twice.txt"
    path.write_text("1 qid:1 1:3 # d\n0 qid:1 1:2 # d\n")
    with pytest.raises(InputError, match=r"twice\.txt:2"):
        cf.read_qrels(path)


def test_trec_text_is_still_trec_text(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("1 qid:1 1:3 2\n")
    assert list(cf.read_qrels(path).documents) == ["1:3"]


def test_command_line(letor: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["eval", str(letor), str(letor), f"{letor}#46", "-m", "RR", "--format", "csv"])
    assert result.exit_code == 0, result.output
    assert "train#1" in result.output
    checked = CliRunner().invoke(cli, ["check", str(letor), str(letor)])
    assert checked.exit_code == 0, checked.output
    target = tmp_path / "feature.run"
    assert CliRunner().invoke(cli, ["convert", f"{letor}#46", str(target), "--kind", "run"]).exit_code == 0
    assert target.read_text().splitlines()[1].split()[2:5:2] == ["GX037-06-11625428", "0.1"]


@pytest.mark.parametrize("grade", ["1e999", "-1e999", "1" + "0" * 400])
def test_a_grade_is_finite(grade: str) -> None:
    for text in (f"{grade} qid:q 1:0.2 # a\n", f"1 qid:q 1:0.2 # b\n{grade} qid:q 1:0.3 # a\n"):
        with pytest.raises(InputError, match=rf":{text.count(chr(10))}: the grade is not a finite number"):
            read_letor(BytesIO(text.encode()))


@pytest.mark.parametrize("number", ["1" + "0" * 26, str(2**63), str(2**31), "9" * 400])
def test_the_number_of_a_feature_is_a_number(number: str) -> None:
    with pytest.raises(InputError, match=":1: the number of a feature is above 2147483647"):
        read_letor(BytesIO(f"1 qid:q 1:0.2 {number}:0.5 # a\n".encode()))
    assert list(read_letor(BytesIO(f"1 qid:q {2**31 - 1}:0.5 # a\n".encode())).runs) == [str(2**31 - 1)]


def sparse(path: Path, lines: int) -> Path:
    """A feature of its own in each line."""
    path.write_text("".join(f"{i % 2} qid:{i // 10} {i + 1}:1 # d{i}\n" for i in range(lines)))
    return path


def test_features_that_most_lines_leave_out(tmp_path: Path) -> None:
    """As a table, 300 KB would take 1.2 GB; judgments and a single feature are read anyway."""
    path = sparse(tmp_path / "words.letor", 12_000)
    tracemalloc.start()
    assert len(cf.read_qrels(path).documents) == 12_000
    run = cf.read_run(f"{path}#11999")
    assert run.source.score.tolist() == [0.0] * 11_998 + [1.0, 0.0]
    for read in (cf.read_run, cf.read_letor, lambda file: cf.evaluate(file, file, "RR")):
        with pytest.raises(InputError, match="12,000 features") as error:
            read(path)
        assert f"{path}#1" in error.value.hint
    with pytest.raises(InputError, match="no feature 12001") as error:
        cf.read_run(f"{path}#12001")
    assert error.value.hint.endswith("19, 20, ...")
    assert tracemalloc.get_traced_memory()[1] < 40 << 20
    tracemalloc.stop()


def test_few_features_may_be_sparse(tmp_path: Path) -> None:
    path = sparse(tmp_path / "few.letor", 30)
    _, runs, features = read_letor(path)
    assert np.array_equal(features, np.eye(30))
    assert [run.source.score.tolist() for run in runs.values()] == np.eye(30).tolist()


@pytest.mark.parametrize(
    "value",
    ["0." + "1" * 10**6, "1" * 10**6 + "e-999999", "0" * 10**6 + "1", "1e" + "0" * 10**6 + "1", "." + "0" * 10**6],
)
def test_a_value_of_a_million_digits(value: str) -> None:
    lines = [f"{i % 2} qid:{i} 1:0.5 2:3 # d{i}" for i in range(300)]
    tracemalloc.start()
    found = read_letor(BytesIO("\n".join([*lines, f"1 qid:z 1:{value} # z"]).encode())).features[-1, 0]
    assert found == float(value)
    with pytest.raises(InputError, match=r"letor>:301: expected `grade qid"):
        read_letor(BytesIO("\n".join([*lines, f"1 qid:z 1:{value}x # z"]).encode()))
    for line in (f"{value} qid:z 1:1x", f"1 qid:z {value}:1x", f"1 qid:z 1:1 {' ' * 10**6}x", f"1 qid:{value} 1:1 2:"):
        with pytest.raises(InputError, match=r"letor>:301: expected `grade qid"):
            read_letor(BytesIO("\n".join([*lines, line]).encode()))
    assert tracemalloc.get_traced_memory()[1] < 60 << 20
    tracemalloc.stop()


def test_thousands_of_features_are_no_runs(tmp_path: Path) -> None:
    path = tmp_path / "wide.letor"
    path.write_text("1 qid:q " + " ".join(f"{number}:1" for number in range(10_001)) + " # d\n")
    with pytest.raises(InputError, match="10,001 features of 1 documents") as error:
        io.read_runs(path)
    assert f"choose a feature by its number: {path}#0" in error.value.hint
    assert io.load(io.read_run(f"{path}#7")).score.tolist() == [1.0]
