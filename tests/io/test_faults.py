"""Every message, word for word."""

from __future__ import annotations

import gzip
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import cranfield as cf
from cranfield import io
from cranfield.errors import CranfieldError, InputError, UsageError

NAN = float("nan")
FORMATS = "hint: supported formats: Parquet, JSON, CSV, LETOR, NTCIR text, TREC text; plain or compressed with gzip, bzip2, xz or zstd"
TWICE = (
    "hint: a document can occur only once in a ranking; "
    '--duplicates best, or duplicates="best" in Python, keeps one of the rows'
)
TWICE_IN_MEMORY = (
    'hint: a document can occur only once in a ranking; duplicates="first" or duplicates="best" keeps one of them'
)

RUN_TEXTS = {
    "five columns": (
        b"301 Q0 FT911-3 1 2.5\n",
        'run.txt:1: expected 6 columns (query Q0 document rank score tag), found 5: "301 Q0 FT911-3 1 2.5"\n\n'
        "hint: the run tag is missing; add a name for the run at the end of each line",
    ),
    "five columns, but not the tag": (
        b"301 Q0 FT911-3 2.5 tag\n",
        'run.txt:1: expected 6 columns (query Q0 document rank score tag), found 5: "301 Q0 FT911-3 2.5 tag"',
    ),
    "qrels": (
        b"1 0 d1 1\r\n1 0 d2 0\r\n",
        'run.txt:1: expected 6 columns (query Q0 document rank score tag), found 4: "1 0 d1 1"\n'
        'run.txt:2: expected 6 columns (query Q0 document rank score tag), found 4: "1 0 d2 0"\n\n'
        "hint: this looks like qrels; give the judgments first, then the runs",
    ),
    "one line of four columns among others": (
        b"q Q0 d 1 1 t\nq Q0 d2 1 x t\n1 0 d 1\n",
        'run.txt:2: the score is not a number: "x"\n'
        'run.txt:3: expected 6 columns (query Q0 document rank score tag), found 4: "1 0 d 1"',
    ),
    "CSV": (
        b"query_id,doc_id,score\n1,d,2\n",
        'run.txt:1: expected 6 columns (query Q0 document rank score tag), found 1: "query_id,doc_id,score"\n'
        'run.txt:2: expected 6 columns (query Q0 document rank score tag), found 1: "1,d,2"\n\n'
        "hint: this looks like CSV; use the extension .csv and name the columns in the first line",
    ),
    "score": (b"q Q0 d 1 2,5 t\n", 'run.txt:1: the score is not a number: "2,5"'),
    "underscores": (b"q Q0 d 1 1_000 t\n", 'run.txt:1: the score is not a number: "1_000"'),
    "nan": (
        b"q Q0 d 1 -NaN t\n",
        "run.txt:1: the score is NaN\n\nhint: NaN cannot be ordered; remove the document, or give it a score",
    ),
    "duplicate": (
        b"q1 Q0 d1 1 3 t\nq2 Q0 d1 1 3 t\nq1 Q0 d1 2 2 t\nq1 Q0 d1 3 1 t\n",
        "run.txt:3: document `d1` appears twice for query `q1`, first in line 1\n"
        f"run.txt:4: document `d1` appears twice for query `q1`, first in line 1\n\n{TWICE}",
    ),
    "binary": (
        b"\x7fELF\x02\x01\x01\0\0\n",
        f"run.txt:1: the line contains a NUL byte; this is not a text file\n\n{FORMATS}",
    ),
    "long": (
        b"q Q0 d 1 1 t\n" + b"x" * (1 << 20) + b"x",
        f"run.txt:2: the line is longer than 1 MiB; this is probably not a text file\n\n{FORMATS}",
    ),
    "control characters": (
        b"a\x1b[31mred b\xff \xc3\xa9\n",
        "run.txt:1: expected 6 columns (query Q0 document rank score tag), found 3: "
        '"a\\x1b[31mred b\\xff \N{LATIN SMALL LETTER E WITH ACUTE}"',
    ),
    "long text": (
        b"y" * 100 + b"\n",
        f'run.txt:1: expected 6 columns (query Q0 document rank score tag), found 1: "{"y" * 57}..."',
    ),
    "nothing but comments": (b"# a\n\n \t\n", "run.txt: the file has only blank lines and comments"),
    "empty": (b"", "run.txt: the file is empty"),
    "empty gzip": (gzip.compress(b""), "run.txt: the file is empty"),
    "JSON": (b'{"q": {"d": 1}\n', "run.txt:2: invalid JSON: expecting ',' delimiter at column 1"),
    "JSON Lines": (
        b'{"qid": "1", "docid": "a", "score": 1}\n{"qid": "1"\n',
        "run.txt:2: invalid JSON: expecting ',' delimiter at column 12",
    ),
    "JSON with a key twice": (b'{"q": {"d": 1, "e": 2, "d": 3}}', "run.txt: `d` appears twice in one object"),
    "JSON rows that are none": (b'[{"qid": 1, "docid": 2, "score": 3}, 5]', "run.txt: row 2: expected an object"),
    "JSON score": (b'{"q": {"d": "1"}}', "run.txt: query `q`, document `d`: the score is not a number: '1'"),
    "JSON row without a score": (
        b'[{"qid": 1, "docid": 2, "score": 3}, {"qid": 1, "docid": 3}]',
        "run.txt: row 2, query `1`: the score is not a number: None",
    ),
    "deep JSON": (
        b"[" + b'{"a":' * 100_000,
        "run.txt: the JSON is nested too deeply",
    ),
    "Parquet": (b"PAR1\0\0\0\0 and no more", "run.txt: the Parquet data are damaged"),
}


@pytest.mark.parametrize(("content", "message"), RUN_TEXTS.values(), ids=RUN_TEXTS)
def test_run_files(content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.txt").write_bytes(content)
    error = io.check_run("run.txt")
    assert str(error) == message
    with pytest.raises(InputError) as caught:
        io.load(io.read_run("run.txt"))
    assert str(caught.value) == message


QRELS_TEXTS = {
    "three columns": (
        b"1 d1 relevant\n",
        'qrels:1: expected 4 columns (query iteration document grade), found 3: "1 d1 relevant"',
    ),
    "a run": (
        b"1 Q0 d1 1 2.5 tag\n",
        'qrels:1: expected 4 columns (query iteration document grade), found 6: "1 Q0 d1 1 2.5 tag"\n\n'
        "hint: this looks like a run; give the judgments first, then the runs",
    ),
    "grade": (b"1 0 d1 high\n", 'qrels:1: the grade is not a finite number: "high"'),
    "infinite grade": (b"1 0 d1 inf\n", 'qrels:1: the grade is not a finite number: "inf"'),
    "NaN grade": (b"1 0 d1 nan\n", 'qrels:1: the grade is not a finite number: "nan"'),
    "conflict": (
        b"1 0 d1 1\n2 0 d1 0\n1 0 d1 1\n1 0 d1 2\n",
        "qrels:4: document `d1` already has another grade for query `1`, first in line 1\n\n"
        "hint: keep one grade for each query, iteration and document",
    ),
    "comments": (b"#\n", "qrels: the file has only blank lines and comments"),
    "empty": (b"", "qrels: the file is empty"),
    "shape": (
        b'{"q": {"d": {"1": 1}}, "r": 5}',
        "qrels: query `r`: expected {document, ...}, [document, ...] or {document: grade}, found int 5\n\n"
        "hint: write [5]",
    ),
    "JSON grade": (b'{"q": {"d": null}}', "qrels: query `q`, document `d`: the grade is not a finite number: None"),
    "no subtopic graded": (b'{"q": {"d": {}}}', "qrels: query `q`, document `d`: the grade is not a finite number: {}"),
    "subtopics here and there": (
        b'{"q": {"d": {"1": 1}, "e": 0}}',
        "qrels: query `q`, document `e`: the grade has no subtopic, but other grades have one",
    ),
}


@pytest.mark.parametrize(("content", "message"), QRELS_TEXTS.values(), ids=QRELS_TEXTS)
def test_qrels_files(content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_bytes(content)
    assert str(io.check_qrels("qrels")) == message


def test_conflicts_across_the_file_come_by_line() -> None:
    lines = [b"b 0 d 1", b"a 0 d 1", b"a 0 d 2", b"b 0 d 3"]
    error = io.check_qrels(BytesIO(b"\n".join(lines)))
    assert error is not None
    assert error.faults == (
        "<qrels>:3: document `d` already has another grade for query `a`, first in line 2",
        "<qrels>:4: document `d` already has another grade for query `b`, first in line 1",
    )


def test_only_the_first_faults_are_shown() -> None:
    error = io.check_run(BytesIO(b"q Q0 d 1 nan t\n" * 1234))
    assert error is not None
    assert error.total == 1234
    assert str(error).splitlines()[0] == "<run>:1: the score is NaN"
    assert str(error).splitlines()[20] == "... and 1,214 more errors"


CSV = {
    "no header": (
        "q1,d1,high\n",
        " no column for the query; the columns are q1, d1, high\n\n"
        "hint: name it query_id, or in Python name the columns: "
        'cf.read_run(table, columns={"query": "...", "document": "...", "score": "..."})',
    ),
    "fields": ("qid,docid,score\nq,d,1\n\nq,e\n", "4: expected 3 fields as in the first line, found 2"),
    "score": (
        "qid,docid,score\nq,d,\nq,e,x\n",
        '2: the score is not a number: ""\nrun.csv:3: the score is not a number: "x"',
    ),
    "duplicate": (
        "qid,docid,score\nq,d,1\nq,d,2\n",
        f"3: document `d` appears twice for query `q`, first in line 2\n\n{TWICE}",
    ),
}


@pytest.mark.parametrize(("content", "message"), CSV.values(), ids=CSV)
def test_csv(content: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.csv").write_text(content)
    assert str(io.check_run("run.csv")) == f"run.csv:{message}"


def test_csv_with_nul_and_with_open_quote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.csv").write_bytes(b"qid,docid,score\nq,\0,1\n")
    assert (
        str(io.check_run("run.csv")) == f"run.csv:2: the line contains a NUL byte; this is not a text file\n\n{FORMATS}"
    )
    Path("run.csv").write_text('qid,docid,score\nq,"' + "x" * 200_000)
    assert str(io.check_run("run.csv")) == "run.csv:2: invalid CSV: field larger than field limit (131072)"


OBJECTS: dict[str, tuple[Any, str]] = {
    "score": (
        {"q": {"a": 1, "d": None}},
        "query `q`, document `d`: the score is not a number: None\n\nhint: give the document a score, or leave it out",
    ),
    "text score": (
        {"q": {"d": "1"}},
        "query `q`, document `d`: the score is not a number: '1'\n\nhint: convert scores with float()",
    ),
    "nan": (
        {"p": {"x": 1}, "q": {"d": NAN}},
        "query `q`, document `d`: the score is NaN\n\n"
        "hint: NaN cannot be ordered; remove the document, or give it a score",
    ),
    "document id": (
        {"q": {7.5: 1.0}},
        "query `q`: an id must be text or a whole number, found 7.5 at position 1\n\n"
        "hint: give text or whole numbers as ids; a score comes second, as in (document, score)",
    ),
    "query id": (
        {7.5: {"d": 1.0}},
        "an id must be text or a whole number, found 7.5\n\n"
        "hint: give ids as text, whole numbers, bytes, UUIDs or paths",
    ),
    "surrogate": (
        {"q": {"\ud800": 1.0}},
        "query `q`: an id must be text that UTF-8 can encode, found '\\ud800'\n\nhint: remove lone surrogates from the text",
    ),
    "shape": (
        {"q": {"d1", "d2"}},
        "query `q`: found a set, which has no order\n\n"
        "hint: give a ranking as a list, best first; sets are for judgments, which come first",
    ),
    "null id": (
        pd.DataFrame({"qid": ["q", None], "docno": ["d", "e"], "score": [1.0, 2.0]}),
        "row 2: an id must be text or a whole number, found null in column `qid`\n\nhint: leave it out, or give it an id",
    ),
    "float id": (
        pd.DataFrame({"qid": [1.0, 2.0], "docno": ["d", "e"], "score": [1.0, 2.0]}),
        "row 1: an id must be text or a whole number, found 1.0 in column `qid`\nrow 2: an id must be text or a whole number, found 2.0 in column `qid`\n\n"
        "hint: convert the column to text or whole numbers first",
    ),
    "table nan": (
        pd.DataFrame({"qid": ["q", "q"], "docno": ["d", "e"], "score": [1.0, NAN]}),
        "row 2, query `q`: the score is NaN\n\nhint: NaN cannot be ordered; remove the document, or give it a score",
    ),
    "text column": (
        pd.DataFrame({"qid": ["q"], "docno": ["d"], "score": ["1"]}),
        "row 1, query `q`: the score is not a number: '1'\n\nhint: convert scores with float()",
    ),
    "table duplicate": (
        pd.DataFrame({"qid": ["q", "p", "q"], "docno": ["d", "d", "d"], "score": [1, 2, 3]}),
        f"row 3: document `d` appears twice for query `q`, first in row 1\n\n{TWICE_IN_MEMORY}",
    ),
    "column": (
        pd.DataFrame({"qid": ["q"], "passage": ["d"], "score": [1]}),
        "no column for the document; the columns are qid, passage, score\n\n"
        "hint: name it doc_id, or in Python name the columns: "
        'cf.read_run(table, columns={"query": "...", "document": "...", "score": "..."})',
    ),
}


@pytest.mark.parametrize(("source", "message"), OBJECTS.values(), ids=OBJECTS)
def test_objects(source: Any, message: str) -> None:
    assert str(io.check_run(source)) == message


QRELS_OBJECTS: dict[str, tuple[Any, str]] = {
    "grade": (
        {"q": {"d": NAN}},
        "query `q`, document `d`: the grade is not a finite number: nan\n\nhint: give the document a grade, or leave it out",
    ),
    "id": (
        {"q": {None: 1}},
        "query `q`: an id must be text or a whole number, found None at position 1\n\nhint: leave it out, or give it an id",
    ),
    "column": (
        pd.DataFrame({"qid": ["q"], "docno": ["d"], "label": [NAN]}),
        "row 1, query `q`: the grade is not a finite number: nan\n\nhint: give the document a grade, or leave it out",
    ),
    "conflict": (
        pd.DataFrame({"qid": ["q", "q"], "docno": ["d", "d"], "label": [1, 2]}),
        "row 2: document `d` already has another grade for query `q`, first in row 1\n\n"
        "hint: keep one grade for each query, iteration and document",
    ),
}


@pytest.mark.parametrize(("source", "message"), QRELS_OBJECTS.values(), ids=QRELS_OBJECTS)
def test_judged_objects(source: Any, message: str) -> None:
    assert str(io.check_qrels(source)) == message


def test_paths(tmp_path: Path) -> None:
    missing, directory, closed = tmp_path / "missing", tmp_path, tmp_path / "closed"
    closed.write_text("q Q0 d 1 1 t\n")
    closed.chmod(0)
    for read in (io.check_run, io.check_qrels):
        assert str(read(missing)) == f"{missing}: there is no such file"
        assert str(read(directory)) == f"{directory}: this is a directory, not a file"
        assert str(read(closed / "below")) == f"{closed / 'below'}: not a directory"
        if os.geteuid() != 0:
            assert str(read(closed)) == f"{closed}: no permission to read this file"
    assert str(io.check_run("a\0b")) == "'a\\x00b': this is not a valid file name"


def test_permission_is_told_even_to_those_who_have_it(run_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "open", refuse)
    assert str(io.check_run(run_path)) == f"{run_path}: no permission to read this file"


def test_a_file_that_goes_away_between_two_readings(run_path: Path) -> None:
    run = io.read_run(run_path)
    io.load(run)  # the first reading uses the file that is already open
    run_path.unlink()
    with pytest.raises(InputError, match="there is no such file"):
        io.load(run)


@pytest.mark.parametrize("source", [5, None, 1.5])
def test_sources_that_are_none(source: object) -> None:
    with pytest.raises(UsageError) as caught:
        io.read_run(source)
    assert str(caught.value) == (
        f"cannot read a run from {type(source).__name__}\n\n"
        "hint: give a path, an open binary file, {query: {document: score}}, {query: [document, ...]} or a data frame"
    )


def test_columns_where_they_mean_nothing(run_path: Path) -> None:
    with pytest.raises(UsageError, match="this source has no named columns"):
        io.read_run(run_path, columns={"query": "q"})
    with pytest.raises(CranfieldError) as caught:
        io.read_run(pd.DataFrame({"a": [1]}), columns={"qid": "a"})
    assert str(caught.value) == "unknown column role `qid`\n\nhint: columns= takes query, document, score, rank"
    with pytest.raises(CranfieldError) as caught:
        io.read_run(pd.DataFrame({"a": [1]}), columns={"query": "b"})
    assert str(caught.value) == "no column `b`; the columns are a"
    with pytest.raises(CranfieldError, match="no column `3`; the columns are a"):
        io.read_run(pd.DataFrame({"a": [1]}), columns={"query": 3})  # type: ignore[dict-item]


def test_sentences_are_complete(tmp_path: Path) -> None:
    """Values are cut where they are long; what is wrong with a line is not."""
    path = tmp_path / "run.csv"
    path.write_text('query,document,score\nq,"a,3\nq,b",2\n')
    with pytest.raises(InputError, match=r"double each quote of an id, and put the id in quotes$"):
        io.load(io.read_run(path))


def test_the_same_line_is_shown_once_with_its_number() -> None:
    with pytest.raises(InputError) as error:
        cf.evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a", "a", "a"], "r": ["b", "b"]}, "RR")
    assert error.value.message.splitlines() == [
        "document `a` appears twice for query `q` (2 times)",
        "document `b` appears twice for query `r`",
    ]
    assert error.value.total == 3
