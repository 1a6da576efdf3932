"""The commands that Spark carries out: files in, what the plain commands print out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from spark_samples import Lent

from collection_files import write_collection
from cranfield.cli.main import cli
from cranfield.testing.engine_contract import Columns, collection

pytestmark = pytest.mark.filterwarnings("ignore")

Call = Callable[..., Result]


@pytest.fixture
def call(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls the command in this process, with the session that is there."""
    monkeypatch.setattr("cranfield.spark.frames.session", lambda master: Lent(spark))

    def run(*args: object) -> Result:
        result = CliRunner().invoke(cli, list(map(str, args)), prog_name="cranfield")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Judgments and two runs, one of which is told first though it is the later by name."""
    runs, qrels = collection(2, queries=6, seed=13)
    return [write_qrels(tmp_path / "qrels.txt", qrels), *reversed(write_runs(tmp_path, runs))]


def write_qrels(path: Path, qrels: Columns) -> str:
    subtopics = qrels.get("subtopic", ["0"] * len(qrels["query"]))
    rows = zip(qrels["query"], subtopics, qrels["document"], qrels["grade"], strict=True)
    path.write_text("".join(f"{' '.join(map(str, row))}\n" for row in rows))
    return str(path)


def write_runs(folder: Path, runs: Columns) -> list[str]:
    paths = []
    for run in sorted(set(runs["run"])):
        rows = [row for row in zip(*runs.values(), strict=True) if row[0] == run]
        text = "".join(f"{query} Q0 {document} 1 {score!r} {run}\n" for _, query, document, score in rows)
        (folder / f"{run}.run").write_text(text)
        paths.append(str(folder / f"{run}.run"))
    return paths


def same(call: Call, *args: object) -> Result:
    """Both engines print the same, and notes of the same first line; comparisons on Spark take no digests of tables."""
    without_audit = ["--no-audit"] if args[0] == "compare" else []
    plain, found = call(*args, *without_audit), call("spark", *args)
    assert found.exit_code == plain.exit_code == 0, found.stderr
    printed = [one.stdout for one in (plain, found)]
    if "json" in args:
        printed = [json.loads(text) | {"provenance": None} for text in printed]
    assert printed[0] == printed[1]
    return found


def lines(result: Result) -> Sequence[str]:
    return result.stderr.splitlines()


def test_the_command(files: list[str], tmp_path: Path) -> None:
    """`cranfield spark eval` prints what `cranfield eval` does, with a session of its own."""
    command, words = [sys.executable, "-m", "cranfield"], ["eval", *files, "-m", "AP nDCG@10", "--format", "csv"]
    on_spark = ["--master", "local[1]", "--write-scores", str(tmp_path / "scores")]
    plain = subprocess.run([*command, *words], capture_output=True, check=True, text=True)
    brief = os.environ | {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    found = subprocess.run(
        [*command, "spark", *words, *on_spark], capture_output=True, check=False, text=True, env=brief
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout == plain.stdout
    assert plain.stderr.splitlines()[0] in found.stderr
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "scores").num_rows == 2 * 6 * 2


def test_comparing(call: Call, files: list[str]) -> None:
    asked = ["compare", *files, "-m", "AP P@5", "--tests", "all", "--samples", "200", "--baseline", files[2]]
    found = same(call, *asked, "--format", "json")
    assert [pair["other"] for pair in json.loads(found.stdout)["pairs"]] == ["run0", "run0"]
    guarded = call(
        "spark",
        "compare",
        files[0],
        *reversed(files[1:]),
        "--no-significant-loss",
        "NumRet",
        "--alpha",
        "0.99",
        "--test",
        "t",
    )
    assert guarded.exit_code == 3
    assert "run1" in guarded.stderr
    assert "could reverse a difference" in guarded.stderr


def test_the_best_run_as_baseline(call: Call, files: list[str]) -> None:
    asked = ["compare", *files, "--baseline", "best", "--no-significant-loss", "P@5", "--format", "json"]
    local, distant = (json.loads(call(*engine, *asked).stdout) for engine in ([], ["spark"]))
    assert distant["baseline"] == local["baseline"] and distant["measures"] == local["measures"] == ["P@5"]


def test_a_file_given_twice(call: Call, files: list[str], tmp_path: Path) -> None:
    """Names are told apart as the plain engine does."""
    (tmp_path / "more").mkdir()
    other = shutil.copy(files[1], tmp_path / "more")
    same(call, "eval", files[0], files[1], other, files[1], "-m", "AP", "--format", "csv")


def test_the_order_of_a_file(call: Call, spark: SparkSession, files: list[str], tmp_path: Path) -> None:
    """The order of rows is that of the file, however many splits it is read in; of tables, too."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    rows = [line.split() for line in Path(files[1]).read_text().splitlines()]
    table = pa.table({"qid": [row[0] for row in rows], "docno": [row[2] for row in rows]})
    table = table.append_column("sim", pa.array([float(row[4]) for row in rows]))
    parquet.write_table(table, tmp_path / "p.parquet", row_group_size=20)
    csv.write_csv(table, tmp_path / "c.csv")
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "700")
    try:
        given = [*files[1:], str(tmp_path / "p.parquet"), str(tmp_path / "c.csv")]
        same(call, "eval", files[0], *given, "-m", "AP nDCG", "--ties", "input", "--format", "csv")
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)


def test_ids_of_tables_are_text(call: Call, tmp_path: Path) -> None:
    """What looks like a number is not made one."""
    (tmp_path / "qrels.csv").write_text("query,doc_id,relevance\n007,010,1\n7,10,0\n")
    (tmp_path / "a.tsv").write_text("qid\tdocno\trank\n007\t010\t1\n007\t10\t2\n7\t10\t 1 \n")
    same(call, "eval", tmp_path / "qrels.csv", tmp_path / "a.tsv", "-m", "RR NumRel", "--format", "csv")


def test_text_in_other_shapes(call: Call, files: list[str], tmp_path: Path) -> None:
    """A byte order mark, tabs, blanks around, comments, line ends of Windows, numbers in all spellings."""
    text = "\ufeff# a run\r\n\r\n\tq0000 Q0 d1 1 1e-3 t  \r\n q0000\t0 d2 x +.5 t\r\nq0000 0 d3 1 INF t\r\n#\r\nq0001 0 é 1 -2. t"
    path = tmp_path / "odd.run"
    path.write_bytes(text.encode())
    same(call, "eval", files[0], path, "-m", "AP NumRet RR", "--format", "csv")


def test_bad_lines_of_runs(call: Call, files: list[str]) -> None:
    bad = ["q0001 Q0 d1 1 x tag", "q0001 Q0 d1 1 1.5d tag", "q0001 Q0 d1 1 nan tag", "q0001 Q0 d1 1.5"]
    Path(files[1]).write_text("".join(f"{line}\n" for line in ("q0001 Q0 d2 1 1 tag", *bad, "q0001 Q0 d3 1 1 tag")))
    found, plain = (call(*engine, "eval", *files, "-m", "AP") for engine in (["spark"], []))
    assert found.exit_code == 1
    assert 'run1.run:3: the score is not a number: "1.5d"' in found.stderr
    assert found.stderr == plain.stderr


def test_bad_lines_of_judgments(call: Call, files: list[str], tmp_path: Path) -> None:
    """A folder of files is read as one; which of them is at fault is told."""
    folder = tmp_path / "some judgments"
    folder.mkdir()
    shutil.copy(files[0], folder / "a.txt")
    (folder / "b.txt").write_text("q0001 0 d99 1\nq0001 0 d98 inf\n")
    found = call("spark", "eval", folder, *files[1:], "-m", "AP")
    assert found.exit_code == 1
    assert f'{folder}/b.txt:2: the grade is not a finite number: "inf"' in found.stderr
    assert len(lines(found)) < 5


GOOD_QRELS, GOOD_RUN = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\n", b"q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\nq2 Q0 d1 1 1 t\n"


@pytest.mark.parametrize(
    ("qrels", "name", "run", "sentence"),
    [
        # The sentence of the plain command.
        (GOOD_QRELS, "a.run", b"q1 Q0 d\x001 1 1 t\n", "same"),
        (GOOD_QRELS, "a.run", b"q1\x01Q0\x01d1\x011\x011\x01t\n", "same"),
        (GOOD_QRELS, "a.jsonl", b'{"query_id":"q1","doc_id":"d1","docid":"d2","score":1}\n', "same"),
        (b"q1 0 d1 " + b"1" * 5000 + b"\n", "a.run", GOOD_RUN, "same"),
        (GOOD_QRELS, "a.run", b"q1 Q0 d1 1 1 t\nq1 Q0 d1 2 0 t\n", "same"),
        (GOOD_QRELS, "a.run", b"", "same"),
        (b"", "a.run", GOOD_RUN, "same"),
        (b"q1 0 d1 1\nq1 0 d1 0\n", "a.run", GOOD_RUN, "same"),
        # Documented differences: Spark does not say which line, or names the frame or its own error.
        (
            GOOD_QRELS,
            "a.csv",
            b"query_id,doc_id,score\nq1,,2\n",
            "a: query `q1`: an id must be text or a whole number, found null",
        ),
        (GOOD_QRELS, "a.csv", b"query_id,doc_id,score\nq1,d1,x\n", "`d1`: the score in column `score` is not a number"),
        (GOOD_QRELS, "a.csv", b"query_id,doc_id,score,score\nq1,d1,2,1\n", "no column for the score; the columns are"),
        (GOOD_QRELS, "a.run", b"q9 Q0 d1 1 1 t\n", "a: none of its queries is judged (for example `q9`)"),
    ],
)
def test_bad_input_is_refused_as_without_spark(
    call: Call, tmp_path: Path, qrels: bytes, name: str, run: bytes, sentence: str
) -> None:
    (tmp_path / "qrels.txt").write_bytes(qrels)
    (tmp_path / name).write_bytes(run)
    words = ["eval", tmp_path / "qrels.txt", tmp_path / name, "-m", "AP"]
    plain, found = call(*words), call("spark", *words)
    assert (plain.exit_code, found.exit_code) == (1, 1)
    assert found.stderr == plain.stderr if sentence == "same" else sentence in found.stderr


def test_files_out_of_reach_have_no_lines(tmp_path: Path) -> None:
    from cranfield.spark.frames import explained

    assert explained("s3://lake/qrels.txt", ["s3://lake/a.run", str(tmp_path / "b.parquet")]) is None


def test_files_that_are_none(call: Call, files: list[str], tmp_path: Path) -> None:
    (tmp_path / "empty.run").write_text("# nothing\n")
    found = call("spark", "eval", *files, tmp_path / "empty.run", "-m", "AP")
    assert found.exit_code == 1
    assert "empty.run: the file has only blank lines and comments" in found.stderr
    (tmp_path / "nested.json").write_text('{"q0001":\n{"d1": 1.0}}\n')
    found = call("spark", "eval", files[0], tmp_path / "nested.json", "-m", "AP")
    assert found.exit_code == 1
    assert "nested.json: Spark reads JSON Lines" in found.stderr
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more" * 9)
    found = call("spark", "eval", files[0], tmp_path / "broken.parquet", "-m", "AP")
    assert found.exit_code == 1
    assert lines(found) == [f"error: {tmp_path}/broken.parquet: Spark cannot read this as parquet"]
    found = call("spark", "eval", files[0], tmp_path / "absent.run", "-m", "AP")
    assert found.exit_code == 1
    assert "absent.run: there is no such file" in found.stderr


def test_what_spark_gives_up_on_is_told_in_a_line(call: Call, files: list[str], tmp_path: Path) -> None:
    """A file that breaks off is noticed when its rows are read."""
    import gzip

    packed = gzip.compress(Path(files[1]).read_bytes())
    (tmp_path / "cut.run.gz").write_bytes(packed[: len(packed) // 2])
    found = call("spark", "eval", files[0], tmp_path / "cut.run.gz", "-m", "AP")
    assert found.exit_code == 1
    assert found.stderr.startswith("error: Spark failed: ")
    assert len(lines(found)) == 1


@pytest.mark.parametrize("spelling", ["file://{folder}/{name}", "{folder}/*.run", "{folder}/./{name}"])
def test_no_input_is_replaced_however_spark_names_it(
    call: Call, files: list[str], tmp_path: Path, spelling: str
) -> None:
    qrels, run, _ = files
    before = Path(run).read_text()
    given = spelling.format(folder=tmp_path, name=Path(run).name)
    result = call("spark", "eval", qrels, given, "-m", "RR", "-o", run)
    assert result.exit_code == 2
    assert "is an input of the command and would be replaced" in result.stderr
    assert Path(run).read_text() == before


def test_a_name_that_is_not_utf8(call: Call, files: list[str], tmp_path: Path) -> None:
    run = tmp_path / os.fsdecode(b"r\xff.run")
    run.write_text(Path(files[1]).read_text())
    result = call("spark", "eval", files[0], run, "-m", "RR")
    assert (result.exit_code, "Spark reads files whose names are UTF-8" in result.stderr) == (1, True)


def test_a_collection_of_spans_is_refused(call: Call, files: list[str], tmp_path: Path) -> None:
    collection_file = tmp_path / "spans.toml"
    collection_file.write_text(f"spans = {json.dumps(files[0])}\n")
    result = call("spark", "eval", collection_file, files[1], "-m", "RR")
    assert (result.exit_code, "spans cannot be used on Spark" in result.stderr) == (2, True)


def test_a_master_that_is_none(monkeypatch: pytest.MonkeyPatch, files: list[str]) -> None:
    def fails(master: str) -> None:
        raise PySparkException(f"Could not parse Master URL: '{master}'")

    monkeypatch.setattr("cranfield.spark.frames.session", fails)
    result = CliRunner().invoke(cli, ["spark", "eval", *files, "-m", "RR", "--master", "none"])
    assert (result.exit_code, "Spark failed: Could not parse" in result.stderr) == (1, True)


def test_scores_are_not_written_over(call: Call, files: list[str], tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine").write_text("x")
    found = call("spark", "eval", *files, "-m", "AP", "--write-scores", tmp_path / "kept")
    assert found.exit_code == 1
    assert lines(found)[0] == f"error: {tmp_path}/kept: the folder already exists"
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["mine"]


def test_a_collection_file(call: Call, files: list[str], tmp_path: Path) -> None:
    """What Spark reads of it changes scores as without Spark; the rest is refused."""
    collection = write_collection(tmp_path, qrels=files[0], negative="nonrel", rel=2)
    same(call, "eval", collection, *files[1:], "-m", "AP nDCG@10", "--format", "csv")
    found = call("spark", "eval", write_collection(tmp_path, qrels=files[0], complete=True), *files[1:], "-m", "AP")
    assert found.exit_code == 2 and "complete cannot be used on Spark" in found.stderr


def test_the_queries_of_a_collection_file(call: Call, files: list[str], tmp_path: Path) -> None:
    queries = tmp_path / "queries.csv"
    queries.write_text("query,type\n" + "".join(f"q{i:04d},{'ab'[i % 2]}\n" for i in range(9)))
    same(call, "eval", write_collection(tmp_path, qrels=files[0], queries=str(queries)), *files[1:], "-m", "AP")


def test_a_check_of_means(call: Call, files: list[str]) -> None:
    found = call("spark", "compare", *files, "--at-least", "P@5=0.99")
    assert found.exit_code == 3 and "below 0.99" in found.stderr


def test_another_verb(call: Call) -> None:
    found = call("spark", "evl")
    assert found.exit_code == 2 and "did you mean `eval`?" in found.stderr
