"""A corpus counted on Spark is the file that the local pass writes; measures that read it score the same."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from spark_samples import Lent, framed

import cranfield as cf
from cranfield import spark as engine
from cranfield.cli.main import cli
from cranfield.corpus import Corpus, Settings, needed_documents
from cranfield.corpus.corpus import build
from cranfield.errors import CranfieldError, UsageError
from cranfield.spark import frames
from cranfield.testing.engine_contract import Columns, collection, texts

pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's own, of what it makes of pandas

RUNS, QRELS = collection(2, queries=5, seed=3)
TEXTS = texts(50) | {f"x{i}": f"Straße ÉTÉ e\u0301te\u0301 İstanbul the lamps w{i}" for i in range(9)}


def nested(columns: Columns, value: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for query, document, number in zip(columns["query"], columns["document"], columns[value], strict=True):
        found.setdefault(query, {})[document] = number
    return found


def of_run(name: str) -> Columns:
    rows = [row for row in zip(*RUNS.values(), strict=True) if row[0] == name]
    return {column: [row[i] for row in rows] for i, column in enumerate(RUNS)}


NEEDED = needed_documents(
    cf.read_qrels(nested(QRELS, "grade")), [cf.read_run(nested(of_run(name), "score")) for name in ("run0", "run1")], 3
)


def saved(corpus: Corpus, path: Path) -> bytes:
    corpus.save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("how", "partitions"),
    [(Settings(), 1), (Settings(stop=frozenset(["the", "w3"]), stemmer="english"), 7)],
)
def test_the_file_is_the_local_one(spark: SparkSession, tmp_path: Path, how: Settings, partitions: int) -> None:
    """Whatever the order of rows, and however they are dealt out."""
    rows = list(TEXTS.items())
    random.Random(partitions).shuffle(rows)
    frame = framed(spark, {"docno": [name for name, _ in rows], "body": [text for _, text in rows]})
    found = engine.corpus(
        frame.repartition(partitions),
        qrels=framed(spark, QRELS).repartition(2),
        runs=framed(spark, RUNS).repartition(3),
        depth=3,
        settings=how,
    )
    assert saved(found, tmp_path / "spark") == saved(Corpus.of(TEXTS, NEEDED, how), tmp_path / "local")
    assert list(found.missing)


def test_several_columns_of_text_and_the_same_text_twice(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(7, "Apple", ["pie", "tart"]), (8, None, ["apple"]), (9, "...", None), (7, "Apple", ["pie", "tart"])]
    frame = spark.createDataFrame(rows, "id long, title string, text array<string>").repartition(3)
    found = engine.corpus(frame, qrels=spark.createDataFrame([("q", 7, 1)], "qid string, docno long, rel int"))
    table = pa.table({"id": [7, 8, 9, 7], "title": ["Apple", None, "...", "Apple"], "text": ["pie\ntart", "apple", None, "pie\ntart"]})  # fmt: skip
    pyarrow.parquet.write_table(table, tmp_path / "texts.parquet")
    local = build(tmp_path / "texts.parquet", qrels={"q": {"7": 1}})
    assert (found.repeated, found.empty, found.size) == (1, 1, 4)
    for name in ("terms", "documents", "missing"):
        assert list(getattr(found, name)) == list(getattr(local, name))
    for name in ("frequency", "begin", "term", "count"):
        assert getattr(found, name).tolist() == getattr(local, name).tolist()


WRONG: dict[str, tuple[Columns, dict[str, Any], str]] = {
    "no id": ({"name": ["d1"], "text": ["x"]}, {}, "texts: no field for the id; the fields are name, text\n\nhint: call it id, or give `cranfield corpus` its name with --id FIELD"),
    "no text": ({"docno": ["d1"], "grade": [1]}, {}, "texts: no field for the text; the fields are docno, grade\n\nhint: call it text, or give `cranfield corpus` its name with --text FIELD"),
    "no such column": ({"docno": ["d1"], "text": ["x"]}, {"text": ["words"]}, "texts: there is no field `words`; the fields are docno, text"),
    "a number for text": ({"docno": ["d1"], "score": [1.5]}, {"text": ["score"]}, "texts: column `score` is double; the text must be text\n\nhint: cast the column first"),
    "nobody's text": ({"docno": [None, "d1"], "text": ["a lamp", None]}, {}, "texts: a document must have an id, found null in column `docno`; the text begins with `a lamp`\ntexts: document `d1`: there is no text; column `text` contains null"),
    "different texts": ({"docno": ["d1", "d1", "d0"], "text": ["x", "y", "x"]}, {}, "texts: document `d1` appears 2 times with different texts\n\nhint: each id must have one text; keep one of them"),
    "another collection": ({"docno": ["e1"], "text": ["x"]}, {}, "none of the 1 judged documents is in the collection (first document: `d1`)\n\nhint: check that both belong to the same collection, and that --id is the field with the judged ids"),
    "nothing": ({"docno": [], "text": []}, {}, "texts: the frame has no rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_texts(spark: SparkSession, case: str) -> None:
    columns, how, message = WRONG[case]
    judged = framed(spark, {"query": ["q"], "document": ["d1"], "grade": [1]})
    with pytest.raises(CranfieldError) as caught:
        engine.corpus(framed(spark, columns), qrels=judged, **how)
    assert str(caught.value) == message


def test_what_is_wrong_with_runs_and_judgments(spark: SparkSession) -> None:
    frame = framed(spark, {"docno": ["d1"], "text": ["x"]})
    with pytest.raises(UsageError, match="a corpus needs judgments or runs"):
        engine.corpus(frame)
    twice = framed(spark, {"query": ["q", "q"], "document": ["d1", "d1"], "score": [1, 2]})
    with pytest.raises(cf.InputError, match="run: document `d1` appears twice for query `q`"):
        engine.corpus(frame, runs=twice)
    with pytest.raises(
        cf.InputError, match="qrels: query `q`: a document's id must be text, found null in column `document`"
    ):
        engine.corpus(frame, qrels=framed(spark, {"query": ["q"], "document": [None], "grade": [1]}))


JUDGED = {"query": ["q"], "document": ["D1"], "grade": [1.0], "subtopic": ["1"]}
RANKED = {"query": ["q", "q"], "document": ["D1", "D2"], "score": [2.0, 1.0]}


@pytest.mark.parametrize("broadcast", [engine.BROADCAST, 0])
def test_a_corpus_that_does_not_fit(spark: SparkSession, tmp_path: Path, broadcast: int) -> None:
    path = str(tmp_path / "corpus.parquet")
    Corpus.of({"D1": "a lamp", "D2": "a horn", "D3": "oil"}, ["D1"]).save(path)
    runs, qrels = framed(spark, RANKED), framed(spark, JUDGED)
    with pytest.raises(cf.InputError) as caught:
        engine.evaluate(cf.Collection(qrels, documents=path), runs, "DELTARB@2", broadcast=broadcast)
    assert str(caught.value) == (
        f"run: query `q`, document `D2`: {path} was built without it\n\n"
        f"hint: build it again: cranfield corpus SOURCE --qrels QRELS --run RUN -o {path}"
    )
    assert (
        engine.evaluate(cf.Collection(qrels, documents=path), runs, "DELTARB@1", broadcast=broadcast).frame.count() == 1
    )
    with pytest.raises(
        cf.InputError, match=r"qrels: none of its 1 relevant documents is in the corpus .for example `D1`."
    ):
        engine.evaluate(cf.Collection(qrels, documents={"D2": "a horn"}), runs, "DELTARB@2", broadcast=broadcast)


def test_no_corpus_to_read(spark: SparkSession, tmp_path: Path) -> None:
    runs, qrels = framed(spark, RANKED), framed(spark, JUDGED)
    with pytest.raises(cf.MeasureError, match="DELTARB@2 needs a corpus, because it uses document text"):
        engine.evaluate(qrels, runs, "DELTARB@2")
    with pytest.raises(UsageError, match="on Spark a corpus must be a file of `cranfield corpus`"):
        engine.evaluate(cf.Collection(qrels, documents=str(tmp_path)), runs, "DELTARB@2")
    with pytest.raises(cf.InputError, match="DELTARB@2 needs judgments by subtopic"):
        engine.evaluate(cf.Collection(qrels.drop("subtopic"), documents={"D1": "x"}), runs, "DELTARB@2")


def test_where_nothing_can_be_broadcast() -> None:
    """As by a client of Spark Connect, whose session has no context."""
    assert pickle.loads(pickle.dumps(frames.broadcast(object(), [1, 2]))).value == [1, 2]


def test_the_commands(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`cranfield spark` writes the same corpus, byte by byte, and prints the same scores."""
    monkeypatch.setattr("cranfield.spark.frames.session", lambda master: Lent(spark))
    lines = [f'{{"_id": "{name}", "title": "lamp \\\\ \\"x\\"", "text": "{text}"}}' for name, text in TEXTS.items()]
    judged = zip(QRELS["query"], QRELS["document"], QRELS["grade"], strict=True)
    ranked = zip(*list(of_run("run0").values())[1:], strict=True)
    files = {
        "docs.jsonl": "".join(f"{line}\n" for line in lines),
        "docs.tsv": 'docno\ttext\tlength\nd1\ta "lamp \\"\t3\nd2\t"\t1\n',
        "qrels": "".join(f"{q} {i % 3} {d} {g}\n" for i, (q, d, g) in enumerate(judged)),
        "run0": "".join(f"{q} Q0 {d} 1 {s!r} x\n" for q, d, s in ranked),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    def both(command: str) -> None:
        said = []
        for name, group in (("local", []), ("spark", ["spark"])):
            words = [word.replace("ENGINE", name) for word in command.split()]
            words = [str(tmp_path / word) if word in files or word.endswith("parquet") else word for word in words]
            result = CliRunner().invoke(cli, [*group, *words])
            assert result.exit_code == 0, result.output
            said.append(result.output)
        assert said[0] == said[1]
        assert (tmp_path / "spark.parquet").read_bytes() == (tmp_path / "local.parquet").read_bytes()

    both("corpus docs.tsv --qrels qrels -o ENGINE.parquet")
    both("corpus docs.jsonl --qrels qrels --run run0 --stop english -o ENGINE.parquet")
    both("eval qrels run0 -m DELTARB@20 -m ABSNB@20 --corpus ENGINE.parquet --format csv")
    result = CliRunner().invoke(cli, ["spark", "corpus", "docs.sgml", "--qrels", "qrels.txt"])
    assert result.exit_code == 1 and "docs.sgml: Spark reads collections in Parquet" in result.stderr
