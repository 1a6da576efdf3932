"""Fuzzing of all readers: bytes are refused with a sentence, or read in one way only.

    python fuzz/readers.py --seconds 60            every reader in turn; a line of figures for each
    python fuzz/readers.py --reader csv FILE...    replay files

For each reader the promise is the same: an input raises `CranfieldError`, or it is read, and then every other way to
read it gives the same rows: the plain-Python reader, other sizes of pieces, a copy that was written and read again, and
for TREC text pytrec_eval's parser. With atheris (``pip install --group fuzz``) inputs are chosen by the coverage
of `cranfield.io`; without it they are mutated at random, and no coverage is shown. The C++ core has its own fuzzer; see
README.md.
"""

from __future__ import annotations

import argparse
import bz2
import gc
import gzip
import importlib
import io
import json
import lzma
import os
import pkgutil
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

try:
    import atheris
except ImportError:
    atheris = None

import numpy as np

import cranfield as cf
import cranfield.codec as codec
import cranfield.corpus.corpus_file as corpus_file
import cranfield.experiment.experiment as experiment
import cranfield.experiment.history as history
import cranfield.io.documents as documents
import cranfield.io.formats.delimited as delimited
import cranfield.io.formats.json as json_format
import cranfield.io.formats.letor as letor_format
import cranfield.io.formats.warc as warc_format
import cranfield.judging.judgment_files as judgment_files
import cranfield.lab.study as studies
from cranfield import io as cranfield_io
from cranfield.corpus.corpus import build
from cranfield.errors import CranfieldError
from cranfield.native import plain
from cranfield.report.pages import write

try:
    from cranfield.native import _core as core
except ImportError:
    core = None

FOLDER = Path(__file__).parent
CORPUS, FINDINGS = FOLDER / "corpus", FOLDER / "findings"
MAX_SIZE = 16384


class Contradiction(AssertionError):
    """Two ways to read the same bytes differ."""


def require(holds: bool, what: str) -> None:  # noqa: FBT001
    """Raise unless it holds."""
    if not holds:
        raise Contradiction(what)


# ---- what is read, as plain data

Rows = list[tuple[Any, ...]] | str


def named(data: bytes, name: str) -> io.BytesIO:
    """A file object with a name, which may decide the format."""
    file = io.BytesIO(data)
    file.name = name
    return file


def run_rows(data: bytes, name: str) -> Rows:
    """The rows of a run, or the error."""
    try:
        table = cranfield_io.load(cranfield_io.read_run(named(data, name)))
    except CranfieldError as error:
        return str(error)
    return list(zip(table.query, table.document, table.score.tolist(), strict=True))


def judged_rows(data: bytes, name: str) -> Rows:
    """The judgments, or the error."""
    try:
        judgments = cranfield_io.read_qrels(named(data, name))
    except CranfieldError as error:
        return str(error)
    query = np.repeat(np.arange(len(judgments.queries)), np.diff(judgments.begin)).tolist()
    names = list(judgments.queries)
    return [(names[q], d, g) for q, d, g in zip(query, judgments.documents, judgments.grade.tolist(), strict=True)]


def same(a: Any, b: Any) -> bool:
    """Whether two results of the native core and of the plain reader are equal."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(np.array_equal(a, b)) if isinstance(a, np.ndarray) else bool(a == b)


# ---- the readers


def trec_run(data: bytes) -> None:
    """TREC runs: native, plain, and pytrec_eval's parser."""
    rows = run_rows(data, "x.run")
    if core is not None:
        judged = [plain._pack([b"1", b"q"]), np.array([0, 2, 3], np.int64), plain._pack([b"a", b"d1", b"d1"])]
        for keys in (["score"], ["score", "rank"]):
            found = core.join_text(lambda: io.BytesIO(data), core.Index(*judged), keys, True, 2)
            expected = plain.join_text(lambda: io.BytesIO(data), plain.Index(*judged), keys, True, 2)
            require(same(found, expected), f"join_text {keys}")
    trec = len(data.lstrip().split(b"\n")[0].split()) == 6  # tables without a header are recognised too
    if trec and not isinstance(rows, str) and re.fullmatch(rb"[!-~][ -~\n]*", data) and b"#" not in data:
        require(
            rows == [(q, d, s) for q, of in _pytrec(data, 6).items() for d, s in of.items()] or _scattered(rows),
            "pytrec_eval",
        )


def trec_qrels(data: bytes) -> None:
    """TREC judgments: the same."""
    rows = judged_rows(data, "x.qrels")
    if core is not None:
        found, expected = core.scan_qrels(lambda: io.BytesIO(data)), plain.scan_qrels(lambda: io.BytesIO(data))
        if not found["faults_total"]:
            require(same(found, expected), "scan_qrels")
        require(found["faults_total"] >= expected["faults_total"], "faults of scan_qrels")
    if not isinstance(rows, str):
        require(rows == judged_rows(gzip.compress(data), "x.qrels"), "the same, compressed")


def _pytrec(data: bytes, width: int) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    for line in data.decode("ascii").split("\n"):
        if line.strip():
            columns = line.split()
            require(len(columns) == width, "pytrec_eval finds other columns")
            run.setdefault(columns[0], {})[columns[2]] = float(columns[4])
    return run


def _scattered(rows: list[tuple[Any, ...]]) -> bool:
    """Whether a query appears again after another: then a dict has another order."""
    queries = [row[0] for row in rows]
    return len(set(queries)) < sum(1 for i, q in enumerate(queries) if i == 0 or queries[i - 1] != q)


def in_pieces(name: str, data: bytes) -> None:
    """A table in text: rows are the same whatever the size of pieces, and when they are written and read again."""
    found = {}
    for size in (1, 3, 1 << 15):
        delimited.ROWS_PER_PIECE = json_format.ROWS_PER_PIECE = size
        found[size] = run_rows(data, name), judged_rows(data, name)
    for size in (1, 3):
        for a, b in zip(found[size], found[1 << 15], strict=True):
            # Other columns in later lines are refused only in another piece, and sentences may name other columns.
            refused = isinstance(a, str) and (isinstance(b, str) or "the lines before have" in a)
            require(a == b or refused, f"pieces of {size}")
    rows = found[1 << 15][0]
    if isinstance(rows, str):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/{name}"
        try:
            cranfield_io.write_run(cranfield_io.read_run(named(data, name)), path)
        except CranfieldError:
            return
        require(run_rows(Path(path).read_bytes(), name) == rows, "written and read again")


def csv_rows(data: bytes) -> None:
    """CSV."""
    in_pieces("x.csv", data)


def tsv_rows(data: bytes) -> None:
    """The same with tabs."""
    in_pieces("x.tsv", data)


def json_rows(data: bytes) -> None:
    """JSON Lines."""
    in_pieces("x.jsonl", data)


def json_objects(data: bytes) -> None:
    """JSON in one piece."""
    rows = run_rows(data, "x.json")
    judged_rows(data, "x.json")
    if not isinstance(rows, str) and rows:
        require(rows == run_rows(gzip.compress(data), "x.json"), "the same, compressed")


def parquet(data: bytes) -> None:
    """Parquet files."""
    rows = run_rows(data, "x.parquet"), judged_rows(data, "x.parquet")
    require(rows == (run_rows(data, "x.parquet"), judged_rows(data, "x.parquet")), "read twice")


def compressed(data: bytes) -> None:
    """Compressed streams: damage is an error; what is read is what the standard library reads."""
    rows = run_rows(data, "x.run")
    if isinstance(rows, str):
        return
    for expand in (gzip.decompress, bz2.decompress, lzma.decompress):
        try:
            text = expand(data)
        except Exception:
            continue
        require(rows == run_rows(text, "x.run"), "decompressed first")


def texts(data: bytes) -> None:
    """Documents in every format; blocks of any size give the same."""
    for name in ("x.jsonl", "x.tsv", "x.trec", "x.parquet"):
        seen = []
        for size in (7, 1 << 22):
            documents.TextReader.block_bytes = size
            try:
                readers = documents.document_readers(named(data, name), documents.FieldChoice())
                parsed = [reader.parse(block) for reader in readers for block in reader.blocks()]
                rows = [(n, p.text(i)) for p in parsed for i, n in enumerate(p.names)]
                seen.append("refused" if any(p.faults for p in parsed) else rows)
            except CranfieldError as error:
                seen.append(str(error))
        require(seen[0] == seen[1] or isinstance(seen[0], str) == isinstance(seen[1], str), f"blocks of {name}")


def saved_study(data: bytes) -> None:
    """Saved studies."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(data)
        file.flush()
        try:
            studies.StudyResult.load(file.name)
        except CranfieldError:
            return


def saved_results(data: bytes) -> None:
    """Saved scores, groups and comparisons; what is read can be shown, and saved again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "result.json")
        path.write_bytes(data)
        try:
            result = cf.load(path)
        except CranfieldError:
            return
        str(result), repr(result)
        result.save(path)
        require(codec.plain(cf.load(path)) == codec.plain(result), "saved and loaded again")


def saved_corpus(data: bytes) -> None:
    """Saved corpora."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        file.write(data)
        file.flush()
        try:
            corpus_file.load(file.name, None, trust=True)
        except CranfieldError:
            return


def means(*arguments: Any, **options: Any) -> Any:
    """The means of two measures as text, or "refused"."""
    try:
        return repr(cf.evaluate(*arguments, ["RR", "AP[ties=expected]"], **options)._means.tolist())
    except CranfieldError:
        return "refused"


JUDGED = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1, "d3": 2}}


def records(data: bytes) -> None:
    """Objects of JSON as rankings; the order of queries changes nothing."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    found = means(JUDGED, value)
    means(value, {"q1": ["d1", "d2"], "q2": ["d3"]})
    if isinstance(value, dict):
        turned = dict(reversed(value.items()))
        require(found == means(JUDGED, turned), "queries in another order")
        try:
            again = cf.records(value)
        except CranfieldError:
            return
        means(JUDGED, again)


def merge_files(data: bytes) -> None:
    """New judgments that are merged: the old ones stay, and what is written is read again."""
    for name in ("new.txt", "new.json", "new.csv"):
        try:
            merged = judgment_files.merge(JUDGED, [named(data, name)])
        except CranfieldError:
            continue
        for query, of_query in JUDGED.items():
            for document, grade in of_query.items():
                require(merged.grades[query][document] == grade, "an old judgment")
        for output in ("merged.txt", "merged.csv"):
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/{output}"
                try:
                    merged.write(path)
                except CranfieldError:  # an id that TREC text cannot hold
                    continue
                rows = judged_rows(Path(path).read_bytes(), output)
                require(not isinstance(rows, str), f"{output} is refused: {rows}")
                read = {(q, d): g for q, d, g in rows}
                given = {(q, d): g for q, of_query in merged.grades.items() for d, g in of_query.items()}
                require(read == given, f"{output} written and read again")


def letor(data: bytes) -> None:
    """LETOR: all features, and each alone."""
    try:
        found = letor_format.read_letor(named(data, "x.letor"))
    except CranfieldError:
        judged_rows(data, "x.letor")
        return
    require(
        len(found.features) == data.removeprefix(b"\xef\xbb\xbf").count(b"qid:") or data.count(b"qid:") > 1, "lines"
    )
    with tempfile.NamedTemporaryFile(suffix=".letor") as file:
        file.write(data)
        file.flush()
        for column, (number, run) in enumerate(list(found.runs.items())[:4]):
            alone = cranfield_io.read_run(f"{file.name}#{number}").source.score
            require(np.array_equal(alone, found.features[:, column]), f"feature {number}")
            require(np.array_equal(alone, run.source.score), f"run {number}")
    require(len(found.qrels.grade) <= len(found.features), "judgments")


def warc_pages(data: bytes) -> None:
    """WARC: blocks of any size, and compressed, give the same pages."""
    seen = []
    for size, content in ((1, data), (1 << 22, data), (1 << 22, gzip.compress(data, mtime=0))):
        warc_format.BLOCK_BYTES = size
        try:
            readers = documents.document_readers(named(content, "x.warc"), documents.FieldChoice())
            parsed = [reader.parse(block) for reader in readers for block in reader.blocks()]
            seen.append([(n, p.text(i), len(p.faults)) for p in parsed for i, n in enumerate(p.names)])
        except CranfieldError:
            seen.append([])
    names = [[(n, text) for n, text, _ in pages] for pages in seen]
    require(names[0] == names[1], "blocks")
    if data.lstrip().startswith(b"WARC/"):
        require(names[1] == names[2], "compressed")


def spans(data: bytes) -> None:
    """Passages as judgments and as a run: read twice, the same; a score is a share."""
    for name in ("x.jsonl", "x.csv", "x.json"):
        judged = {"q1": [("d1", 0, 10)], "q2": [("d1", 5, 9), ("d2", 0, 4)]}
        retrieved = {"q1": [("d1", 3, 30)], "q2": [("d2", 0, 2)]}
        for arguments in (((..., retrieved)), ((judged, ...))):
            found = []
            for _ in range(2):
                of_kind, run = (named(data, name) if one is ... else one for one in arguments)
                try:
                    scores = cf.evaluate(cf.Collection(spans=of_kind), run, ["RR", "SpanR@5", "SpanIoU"])
                except CranfieldError as error:
                    found.append(str(error))
                    continue
                found.append(repr(scores._means.tolist()))
                require(
                    bool(((scores._means >= 0) & (scores._means <= 1 + 1e-9) | np.isnan(scores._means)).all()),
                    "a share",
                )
            require(found[0] == found[1], "read twice")


def experiment_file(data: bytes) -> None:
    """Experiments: read twice, the same files; no output is an input. Nothing is run: paths may be absolute."""
    inside = {"qrels.txt": b"q1 0 d1 1\n", "bm25.run": RUN, "queries.csv": b"query,type\nq1,a\n", "scores.csv": b""}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in inside.items():
            Path(folder, name).write_bytes(content)
        for name in ("cranfield.toml", "pyproject.toml"):
            path = Path(folder, name)
            path.write_bytes(data)
            found = []
            for _ in range(2):
                try:
                    read = experiment.Experiment.read(path)
                except CranfieldError as error:
                    found.append(str(error))
                    continue
                found.append(repr((read, read.inputs, read.outputs)))
                written = {os.path.realpath(read.output(*key) or "") for key in read.outputs}
                require(len(written) == len(read.outputs), "two outputs are one file")
                require(written.isdisjoint(map(os.path.realpath, [*read.inputs.files, path])), "an output is an input")
            require(found[0] == found[1], "read twice")


JUDGED_FILES = {
    "qrels.txt": b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n",
    "diversity.txt": b"q1 s d1 1\nq1 t d2 1\nq2 s d1 1\n",
    "table.csv": b"query,document,subtopic,type,text,cost,price\nq1,d1,s,nav,what,2,3\nq2,d2,t,inf,who,1,4\n",
    "docs.jsonl": b'{"id": "d1", "text": "a light"}\n',
}


def collection_file(data: bytes) -> None:
    """Files of collections: read twice, the same; what is read can be evaluated or is refused."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in JUDGED_FILES.items():
            Path(folder, name).write_bytes(content)
        path = Path(folder, "collection.toml")
        path.write_bytes(data)
        found = []
        for _ in range(2):
            try:
                collection = cf.Collection.read(path)
                require(path.as_posix() not in collection.files, "a collection is its own file")
                scores = cf.evaluate(collection, {"q1": ["d1", "d2"], "q2": ["d3"]}, ["RR", "Answered"])
                found.append(repr((collection.queries, scores._means.tolist(), [str(note) for note in scores.notes])))
                _ = collection.items
            except CranfieldError as error:
                found.append(str(error))
        require(found[0] == found[1], "read twice")


def histories(data: bytes) -> None:
    """Histories: what is read can be shown, as text and as plain data."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "history.jsonl")
        path.write_bytes(data)
        try:
            found = history.History.read(str(path))
        except CranfieldError:
            return
        shown = [write(found.pages(), shape) for shape in ("table", "markdown", "csv")]
        json.dumps(found.to_dict(), allow_nan=False)
        path.write_bytes(b"\n".join(reversed(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"))))
        again = history.History.read(str(path))
        times = [str(entry["provenance"].get("time", "")) for entry in found.entries]
        if len(set(times)) == len(times) and b"\r" not in data:
            require(write(again.pages(), "table") == shown[0], "lines in another order")


def scores_of_others(data: bytes) -> None:
    """Scores that another program computed: read twice, the same, and saved as they are."""
    for name in ("x.csv", "x.tsv", "x.json", "x.jsonl", "x.txt"):
        found = []
        for _ in range(2):
            try:
                scores = cf.read_scores(named(data, name))
            except CranfieldError as error:
                found.append(str(error))
                continue
            found.append(repr((scores.runs, scores.queries, scores.values.tolist(), sorted(scores.repeats))))
            with tempfile.TemporaryDirectory() as folder:
                scores.save(f"{folder}/scores.json")
                again = cf.load(f"{folder}/scores.json")
            require(np.array_equal(again.values, scores.values, equal_nan=True), "saved and loaded again")
            if len(scores.runs) > 1:
                with suppress(CranfieldError):
                    str(cf.compare(scores, samples=9))
        require(found[0] == found[1], "read twice")


def items_of(data: bytes) -> None:
    """Attributes of documents: read twice, the same; a share is a share."""
    run = {"q1": {"d1": 2.0, "d2": 1.0, "d3": 1.0}, "q2": {"d2": 1.0}}
    for name in ("x.csv", "x.json", "x.jsonl"):
        found = []
        for _ in range(2):
            try:
                items = cf.read_items(named(data, name))
                parts = [repr((list(items.ids), list(items.attributes)))]
                for by in (None, *items.attributes):
                    shown = cf.exposure({"r": run}, 2, items, by)["r"]
                    shares = sum(shown.shares.values())
                    require(0 <= shown.coverage <= 1, "coverage")
                    require(abs(shares - (by is not None)) < 1e-9, "shares")
                    parts.append(repr((shown.coverage, shown.gini, shown.shares)))
                found.append(" ".join(parts))
            except CranfieldError as error:
                found.append(str(error))
        require(found[0] == found[1], "read twice")


def columns_of_every_form(data: bytes) -> None:
    """Objects of JSON as columns with missing and odd values: a list of rows and frames of them give the same."""
    import pandas

    try:
        rows = json.loads(data)
        table = pandas.DataFrame(rows)
    except Exception:
        return
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows) or not table.columns.is_unique:
        return
    frames = [table, table.convert_dtypes(), table.astype(object).where(table.notna(), None)]
    doors: list[Callable[[Any], Any]] = [
        lambda given: [list(cf.read_items(given).ids), *map(repr, cf.read_items(given).attributes)],
        cf.read_queries,
        lambda given: cf.read_scores(given).to_dict()["runs"],
        lambda given: cf.evaluate(JUDGED, given, ["RR", "AP[ties=expected]"])._means.tolist(),
        lambda given: cf.evaluate(given, {"q1": ["d1"], "q2": ["d3"]}, ["RR"])._means.tolist(),
        lambda given: repr(cf.Collection(JUDGED, costs=given).costs),
    ]
    for door in doors:
        for given in (rows, *frames):
            with suppress(CranfieldError):
                door(given)


READERS: dict[str, Callable[[bytes], None]] = {
    "trec-run": trec_run,
    "trec-qrels": trec_qrels,
    "json": json_objects,
    "json-lines": json_rows,
    "csv": csv_rows,
    "tsv": tsv_rows,
    "parquet": parquet,
    "compressed": compressed,
    "documents": texts,
    "study": saved_study,
    "results": saved_results,
    "corpus": saved_corpus,
    "records": records,
    "merge": merge_files,
    "letor": letor,
    "warc": warc_pages,
    "spans": spans,
    "experiment": experiment_file,
    "collection": collection_file,
    "history": histories,
    "scores": scores_of_others,
    "items": items_of,
    "columns": columns_of_every_form,
}

# ---- seeds and mutations

RUN = b"q1 Q0 d1 1 3.5 t\nq1 Q0 d2 2 2.5 t\nq2 Q0 d1 1 1e3 t\n"
CSV = b'query_id,doc_id,rank,score\nq1,d1,1,3.5\nq1,"d,2",2,2.5\nq2,d1,1,1\n'
LINES = b'{"query_id": "q1", "doc_id": "d1", "score": 2}\n{"query_id": "q1", "doc_id": "d2", "score": 1.5}\n'
TOKENS = rb"# nan inf 1e999 \u0000 \ud800 null true - : , { } [ ] q1 d1 doc_id docid score".split()
TOKENS += [b" ", b'"', b"\n", b"\t", b"\r\n", b"\0", b"\xef\xbb\xbf", b"\x1b[2J", b"\xff", b"1" * 30]


def builtin_seeds(reader: str) -> Iterator[bytes]:
    """Seeds that are made, because they are binary."""
    if reader == "compressed":
        methods = [lambda d: gzip.compress(d, mtime=0), bz2.compress, lzma.compress]
        yield from (method(RUN) for method in methods)
        yield from (method(RUN) + method(b"q3 Q0 d 1 1 t\n") for method in methods)
    if reader in ("parquet", "corpus"):
        import pyarrow
        import pyarrow.parquet

        sink = io.BytesIO()
        columns = {"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [2.0, 1.0], "relevance": [1, 0]}
        pyarrow.parquet.write_table(pyarrow.table(columns), sink)
        yield sink.getvalue()
    if reader == "corpus":
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "texts.jsonl").write_text('{"_id": "d1", "text": "a b a"}\n{"_id": "d2", "text": "c"}\n')
            build(f"{folder}/texts.jsonl", qrels={"q": {"d1": 1}}).save(f"{folder}/corpus.parquet")
            yield Path(folder, "corpus.parquet").read_bytes()
    if reader == "results":
        runs = {"a": {"q": {"d1": 2.0}, "r": ["d2"]}, "b": {"q": ["d2", "d1"], "r": ["d1", "d2"]}}
        scores = cf.evaluate({"q": {"d1": 1}, "r": {"d2": 2}}, runs, ["AP", "nDCG@10"])
        with tempfile.TemporaryDirectory() as folder:
            for result in (scores, cf.compare(scores, test="sign")):
                result.save(f"{folder}/result.json")
                yield Path(folder, "result.json").read_bytes()


def seeds(reader: str) -> list[bytes]:
    """The seeds of a reader: files of the corpus, and made ones."""
    files = sorted((CORPUS / reader).glob("*")) if (CORPUS / reader).is_dir() else []
    return [*(file.read_bytes() for file in files), *builtin_seeds(reader)] or [RUN]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes with a few changes, most of them to whole lines, fields and tokens."""
    for _ in range(rng.randint(1, 5)):
        lines = data.split(b"\n")
        at, i = rng.randrange(len(data) + 1), rng.randrange(len(lines))
        match rng.randrange(9):
            case 0:
                data = data[:at] + rng.choice(TOKENS) + data[at:]
            case 1:
                data = data[:at] + data[at + rng.randint(1, 12) :]
            case 2:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 3:
                lines.insert(i, lines[rng.randrange(len(lines))])
                data = b"\n".join(lines)
            case 4:
                lines[i], lines[0] = lines[0], lines[i]
                data = b"\n".join(lines)
            case 5:
                fields = re.split(rb"([ ,\t:])", lines[i])
                fields[rng.randrange(len(fields))] = rng.choice(TOKENS)
                lines[i] = b"".join(fields)
                data = b"\n".join(lines)
            case 6:
                del lines[i]
                data = b"\n".join(lines)
            case 7:
                data = data[:at]
            case 8 if rng.random() < 0.3:
                data += data[at:] * rng.randrange(MAX_SIZE // (len(data) + 1) + 1)
            case _:
                data = data[:at] + data[rng.randrange(len(data) + 1) :][: rng.randint(1, 80)] + data[at:]
    return data[:MAX_SIZE]


# ---- running

GUIDED = (
    "cranfield.io",
    "cranfield.native.plain",
    "cranfield.codec",
    "cranfield.lab.study",
    "cranfield.judging.judgment_files",
    "cranfield.corpus.corpus_file",
    "cranfield.experiment",
)


def instrument() -> None:
    """Count coverage in the readers; the import hook of atheris does not see modules of an editable install."""
    for module in pkgutil.walk_packages(cranfield_io.__path__, "cranfield.io."):
        importlib.import_module(module.name)
    for value in gc.get_objects():
        if isinstance(value, FunctionType) and str(value.__module__).startswith(GUIDED):
            atheris.instrument_func(value)


class Meter:
    """Executions and bytes so far, kept in a file, because the fuzzer ends the process."""

    def __init__(self, path: Path) -> None:
        self.path, self.runs, self.bytes, self.read = path, 0, 0, 0

    def count(self, size: int) -> None:
        self.runs += 1
        self.bytes += size
        if self.runs % 64 == 0:
            self.save()

    def save(self) -> None:
        self.path.write_text(json.dumps([self.runs, self.bytes]))


def test_one(reader: str, data: bytes) -> None:
    """One input; what breaks the promise is saved."""
    try:
        READERS[reader](data)
    except BaseException:
        FINDINGS.mkdir(exist_ok=True)
        (FINDINGS / f"{reader}-{random.randrange(1 << 32):08x}").write_bytes(data)
        raise


def fuzz_one_reader(reader: str, seconds: float, seed: int, meter: Meter) -> None:
    """Mutate the seeds of a reader for some time."""
    if atheris is not None:
        instrument()
        folder = tempfile.mkdtemp()
        for i, data in enumerate(seeds(reader)):
            Path(folder, f"seed{i}").write_bytes(data)

        def check(data: bytes) -> None:
            meter.count(len(data))
            test_one(reader, data)

        def mutate(data: bytes, size: int, number: int) -> bytes:
            rng = random.Random(number)
            return mutated(data, rng)[:size] if rng.random() < 0.7 else atheris.Mutate(data, size)

        flags = [f"-max_total_time={seconds:.0f}", f"-seed={seed}", f"-max_len={MAX_SIZE}", "-rss_limit_mb=4096"]
        atheris.Setup([sys.argv[0], *flags, folder], check, custom_mutator=mutate)
        atheris.Fuzz()
        return
    rng, pool = random.Random(seed), seeds(reader)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = mutated(rng.choice(pool), rng)
        meter.count(len(data))
        test_one(reader, data)
        if rng.random() < 0.02:
            pool.append(data)
    meter.save()


def fuzz_all(seconds: float, seed: int) -> int:
    """Every reader in a process of its own, for an equal share of the time; the number of findings."""
    print(f"{'reader':<12}{'executions':>12}{'bytes':>14}{'coverage':>10}", flush=True)
    failed, totals = 0, [0, 0]
    for reader in READERS:
        with tempfile.TemporaryDirectory() as folder:
            meter = Path(folder, "meter")
            words = ["--reader", reader, "--seconds", str(max(seconds / len(READERS), 1)), "--seed", str(seed)]
            command = [sys.executable, __file__, *words, "--meter", str(meter)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            runs, size = json.loads(meter.read_text()) if meter.exists() else (0, 0)
        totals = [totals[0] + runs, totals[1] + size]
        covered = re.findall(r"cov: (\d+)", done.stderr)
        print(f"{reader:<12}{runs:>12,}{size:>14,}{covered[-1] if covered else '-':>10}", flush=True)
        if done.returncode != 0:
            failed += 1
            print(done.stdout[-2000:] + done.stderr[-4000:], flush=True)
    print(f"{'total':<12}{totals[0]:>12,}{totals[1]:>14,}")
    print(f"{failed} readers with findings; inputs are in {FINDINGS}" if failed else "no findings")
    return failed


def main() -> None:
    """Fuzz all readers, or one of them, or replay files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", choices=READERS)
    parser.add_argument("--meter", type=Path, default=Path(os.devnull))
    parser.add_argument("files", nargs="*", type=Path)
    given = parser.parse_args()
    if given.files:
        for file in given.files:
            test_one(given.reader or file.name.rpartition("-")[0] or file.parent.name, file.read_bytes())
    elif given.reader:
        fuzz_one_reader(given.reader, given.seconds, given.seed, Meter(given.meter))
    else:
        sys.exit(1 if fuzz_all(given.seconds, given.seed) else 0)


if __name__ == "__main__":
    main()
