"""Commands and files: what `check` lists, what an output may replace, and what signals leave behind."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_samples import BM25, DENSE, LLM, QRELS, Call

from waiting import has_loaded, needs_proc, time_taken, until

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---- check


def test_check_lists_every_error(call: Call, here: Path) -> None:
    Path("qrels.txt").write_text("q 0 d 1\n")
    Path("bad.run").write_text("q Q0 d 1 x t\n" * 137)
    Path("bad.csv").write_text("qid,docid,score\n" + "q,d,x\n" * 57)
    Path("bad.txt").write_text("q 0 d x\n" * 43)
    lines = call("check", "qrels.txt", "bad.run", "bad.csv").stdout.splitlines()
    assert [int(line.split(":")[1]) for line in lines if line.startswith("bad.run:")] == list(range(1, 138))
    assert [int(line.split(":")[1]) for line in lines if line.startswith("bad.csv:")] == list(range(2, 59))
    assert len(call("check", "bad.txt", "bad.run").stdout.splitlines()) == 43 + 137
    cut = call("check", "qrels.txt", "bad.run", "--top", "3")
    assert cut.stdout.splitlines()[2:] == ['bad.run:3: the score is not a number: "x"', "... and 134 more errors"]
    assert cut.stderr == "2 files: 137 errors, 0 warnings\n"
    # Other commands still show the first twenty.
    assert "... and 117 more errors" in call("eval", "qrels.txt", "bad.run").stderr


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        ("q1 0 d 1\n", "q9 Q0 d 1 1 t\n"),
        ("q1 0 d 1\n", "q1 Q0 d 1 1 t\n"),
        ("q1 0 d 1\n", "q1 Q0 d 1 t\n"),
        ("# nothing\n", "q1 Q0 d 1 1 t\n"),
        ("q1 0 d 1\n", "# nothing\n"),
        ('{"q1": {"a": 0.51, "b": 0.42, "c": 0.33, "d": 0.24}}', '{"q1": {"a": 1, "b": 0, "c": 2}}'),
    ],
    ids=["other queries", "good", "columns", "no judgments", "no rankings", "swapped"],
)
def test_check_ends_as_eval_does(call: Call, here: Path, qrels: str, run: str) -> None:
    Path("qrels").write_text(qrels)
    Path("run").write_text(run)
    assert call("check", "qrels", "run").exit_code == call("eval", "qrels", "run", "-m", "nDCG").exit_code


def test_scores_that_contradict_the_ranks(call: Call, here: Path) -> None:
    Path("qrels.txt").write_text("q1 0 a 1\nq2 0 a 1\n")
    lines = [f"{q} Q0 {d} {rank} {rank / 4} t\n" for q in ("q1", "q2") for rank, d in enumerate("abc", 1)]
    Path("distances.run").write_text("".join(lines))
    columns = [line.split() for line in lines]
    Path("distances.csv").write_text(
        "qid,docid,rank,score\n" + "".join(f"{q},{d},{r},{s}\n" for q, _, d, r, s, _ in columns)
    )
    for run in ("distances.run", "distances.csv"):
        sentence = "documents with higher scores have lower ranks in all 2 queries"
        assert f"note: distances: {sentence}" in call("eval", "qrels.txt", run, "-m", "AP").stderr
        assert f"{run}: warning: {sentence}" in call("check", "qrels.txt", run).stdout
        assert sentence not in call("eval", "qrels.txt", run, "-m", "AP", "--ties", "rank").stderr
    # One query that agrees is enough to stay silent.
    Path("mixed.run").write_text("".join(lines) + "q3 Q0 a 1 2 t\nq3 Q0 b 2 1 t\n")
    assert "higher scores" not in call("check", "qrels.txt", "mixed.run").stdout
    for run in (BM25, DENSE, LLM):
        assert "higher scores" not in call("check", QRELS, run).stdout


# ---- outputs


def test_an_output_keeps_the_permissions_of_a_file(call: Call, here: Path) -> None:
    Path("out.txt").write_text("before")
    for mode in (0o600, 0o640, 0o444):
        Path("out.txt").chmod(mode)
        assert call("eval", QRELS, BM25, "-o", "out.txt").exit_code == 0
        assert stat.S_IMODE(Path("out.txt").stat().st_mode) == mode
    assert os.listdir() == ["out.txt"]
    before = os.umask(0o027)
    try:
        call("eval", QRELS, BM25, "-o", "new.txt")
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("new.txt").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    "words",
    [
        "eval qrels a b -o a",
        "eval qrels a b -o ./qrels",
        "eval qrels a b -o link",
        "compare qrels a b --junit b --no-significant-loss AP",
        "compare qrels a b -o b",
        "report qrels a b -o a",
        "audit qrels a b -o a",
        "queries qrels a b -o hard",
        "study correlation qrels a b -o a",
        "study show a -o a",
        "convert a a",
        "corpus texts.jsonl --qrels qrels -o qrels",
        "corpus texts.jsonl --qrels qrels -o texts.jsonl",
    ],
)
def test_an_output_never_replaces_an_input(call: Call, here: Path, words: str) -> None:
    for name, source in (("qrels", QRELS), ("a", BM25), ("b", DENSE)):
        Path(name).write_bytes(Path(source).read_bytes())
    Path("texts.jsonl").write_text('{"_id": "d", "text": "t"}\n')
    Path("link").symlink_to("a")
    Path("hard").hardlink_to("b")
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    result = call(*words.split())
    assert result.exit_code == 2
    assert "this file is an input of the command" in result.stderr
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_demo_replaces_nothing_unless_told_to(call: Call, here: Path) -> None:
    assert call("demo", "--into", "tour").exit_code == 0
    assert call("demo", "--into", "tour").exit_code == 0  # the same files
    Path("tour/qrels.txt").write_text("mine")
    refused = call("demo", "--into", "tour")
    assert refused.exit_code == 1
    assert "tour/qrels.txt: the file exists and has other content" in refused.stderr
    assert Path("tour/qrels.txt").read_text() == "mine"
    assert call("demo", "--into", "tour", "--force").exit_code == 0
    assert Path("tour/qrels.txt").read_bytes() == Path(QRELS).read_bytes()


def test_simulate_replaces_nothing_unless_told_to(call: Call, here: Path) -> None:
    Path("lab").mkdir()
    Path("lab/qrels.txt").write_text("mine")
    assert call("simulate", "lab").exit_code == 1
    assert call("simulate", "lab", "--force").exit_code == 1
    assert Path("lab/qrels.txt").read_text() == "mine"


def test_a_file_that_cannot_be_written_is_named(shell: Shell, tmp_path: Path) -> None:
    done = shell(f"ulimit -f 0; cranfield eval {QRELS} {BM25} -m AP -o out.txt")
    assert (done.returncode, done.stderr) == (1, "error: out.txt: file too large\n")
    assert os.listdir(tmp_path) == []
    done = shell(f"ulimit -f 0; cranfield convert {BM25} out.run --kind run")
    assert (done.returncode, done.stderr) == (1, "error: out.run: file too large\n")


# ---- signals

SIGNALS = int(os.environ.get("CRANFIELD_TEST_SIGNALS", "1"))  # of each kind; 12 for a long run with pytest -s
COMMANDS = {
    "eval": f"eval {QRELS} {BM25} {DENSE} --interval bca -o out",
    "compare": f"compare {QRELS} {BM25} {DENSE} {LLM} -o out",
    "report": f"report {QRELS} {BM25} {DENSE} --samples 1000000 -o out",
    "study": f"study power {QRELS} {BM25} {DENSE} {LLM} --samples 20000 -o out",
    "corpus": "corpus texts.jsonl --qrels judged.txt -o out",
    "simulate": "simulate out --force --queries 20 --documents 1000 --systems 5",
}


@needs_proc
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_signal_leaves_nothing_half_written(verb: str, tmp_path: Path) -> None:
    with (tmp_path / "texts.jsonl").open("w") as file:
        file.writelines(
            json.dumps({"_id": f"d{i}", "text": f"words of document {i} " * 30}) + "\n" for i in range(20_000)
        )
    (tmp_path / "judged.txt").write_text("q 0 d1 1\n")
    rng, longest = random.Random(verb), 0.0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL) * SIGNALS:
        process = subprocess.Popen(
            [sys.executable, "-m", "cranfield", *COMMANDS[verb].split()],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        signalled(process, number, after=rng.uniform(0.05, 1.5))
        sent = time.monotonic()
        _, stderr = process.communicate(timeout=20)
        longest = max(longest, time.monotonic() - sent)
        ended = process.returncode in (-number, 128 + number)
        assert ended or process.returncode == 0, stderr
        assert b"Traceback" not in stderr
        left = {path.name for path in tmp_path.iterdir()} - {"texts.jsonl", "judged.txt"}
        if number != signal.SIGKILL:  # which nobody can clean up after
            assert left <= {"out"}
        if process.returncode != 0 and "out" in left:
            assert number == signal.SIGKILL or complete(tmp_path / "out")
        for path in tmp_path.glob("out"):
            assert complete(path)
        for path in tmp_path.glob(".out.*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    print(f"{verb}: {3 * SIGNALS} signals, the process ended within {longest:.2f} s")


def signalled(process: subprocess.Popen[bytes], number: int, after: float) -> None:
    """Send a signal after some seconds of work."""
    # Before it loads its modules, an interrupt ends Python itself, with a traceback.
    until(lambda: process.poll() is not None or has_loaded(process.pid, "numpy"), "NumPy is loaded")
    enough = time_taken(process.pid) + after
    until(lambda: process.poll() is not None or time_taken(process.pid) >= enough, "it works")
    process.send_signal(number)


def complete(path: Path) -> bool:
    """Whether an output was written to its end."""
    if path.is_dir():
        return (path / "truth.json").is_file()
    data = path.read_bytes()
    return data.endswith((b"\n", b"PAR1", b"</html>\n")) and len(data) > 0


def test_the_columns_of_a_table_without_names_can_be_chosen(call: Call, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 d3 1\n")
    (tmp_path / "run.tsv").write_text("1\td3\t1\n1\td1\t2\n1\td2\t4\n")
    args = ["eval", tmp_path / "qrels", tmp_path / "run.tsv", "-m", "RR", "--format", "json"]
    refused = call(*args)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "its third column could hold ranks or scores" in refused.stderr
    for columns, expected in {"query,document,rank": 1.0, "query, document, score": 1 / 3}.items():
        found = json.loads(call(*args, "--columns", columns).stdout)
        assert found["runs"]["run"]["RR"]["mean"] == expected
    for wrong in ("", "rank", "query,document", "query,document,grade", "query,query,document,rank"):
        result = call(*args, "--columns", wrong)
        assert (result.exit_code, "the columns of a run cannot be" in result.stderr) == (2, True)


EXPERIMENT = """measures = ["AP"]
measures_files = ["own.py"]
[collections]
beir = { qrels = "beir", queries = "texts.tsv" }
[runs]
bm25 = "bm25.run"
dense = "dense.run"
[save]
scores = "out.json"
"""
LETOR = "2 qid:1 1:0.5 2:0.1 # d1\n0 qid:1 1:0.2 2:0.9 # d2\n"
OWN = """import cranfield as cf

@cf.measure("Second")
def second(grades):
    '''The second grade.'''
    return grades[1]
"""
REPLACED = {
    "a run": "eval qrels.txt bm25.run -o bm25.run",
    "a run by another path": "eval qrels.txt bm25.run -o ./sub/../bm25.run",
    "a run by a link": "eval qrels.txt link.run -o bm25.run",
    "a link to a run": "eval qrels.txt bm25.run -o link.run",
    "a hard link": "eval qrels.txt bm25.run -o hard.run",
    "a pipe": "eval qrels.txt pipe -o pipe",
    "the page": "judge qrels.txt bm25.run dense.run --page bm25.run",
    "a run of a feature file as the page": "judge qrels.txt letor.txt#1 letor.txt#2 --page letor.txt",
    "saved scores": "compare qrels.txt dense.run --baseline saved.json -o saved.json",
    "one run of saved scores": "compare qrels.txt dense.run --baseline saved.json#bm25 -o saved.json",
    "saved scores and reports of checks": "compare qrels.txt dense.run --baseline saved.json --may-drop AP=1 --junit saved.json",
    "a run as the baseline": "compare qrels.txt bm25.run dense.run --baseline dense.run -o dense.run",
    "a feature file": "eval letor.txt letor.txt#2 -o letor.txt",
    "a feature file alone": "eval qrels.txt letor.txt#2 -o letor.txt",
    "answers": "eval qrels.txt qa:answers -o answers",
    "the judgments of a folder": "eval beir bm25.run -o beir/qrels/test.tsv",
    "the documents of a folder": "eval beir bm25.run -o beir/corpus.jsonl",
    "own measures": "eval qrels.txt bm25.run --measures-file own.py -o own.py",
    "own measures and reports of checks": "eval qrels.txt bm25.run --measures-file own.py --junit own.py",
    "queries": "queries qrels.txt bm25.run dense.run --queries-file texts.tsv -o texts.tsv",
    "costs of a collection": "eval collection.toml bm25.run -o texts.tsv",
    "judgments of a collection": "audit collection.toml bm25.run -o qrels.txt",
    "what is converted": "convert bm25.run ./bm25.run",
    "what is merged": "judge qrels.txt bm25.run --merge new.csv -o new.csv",
    "what is sampled": "sample bm25.run --qrels qrels.txt -o qrels.txt",
    "documents of a corpus": "corpus beir --qrels qrels.txt -o beir/corpus.jsonl",
    "a report": "report qrels.txt bm25.run -o bm25.run",
    "a run of an experiment": "run experiment.toml -o bm25.run",
    "a run of an experiment by a hard link": "run experiment.toml -o hard.run",
    "judgments of an experiment": "run experiment.toml -o beir/qrels/test.tsv",
    "a run of an experiment as the summary": "run experiment.toml --summary dense.run",
    "queries of an experiment": "run experiment.toml --summary texts.tsv",
    "own measures of an experiment": "run experiment.toml --allow-code -o own.py",
    "another output of an experiment": "run experiment.toml -o out.json",
    "two outputs": "eval qrels.txt bm25.run --at-least AP=0 --junit out.xml -o out.xml",
    "two outputs by other paths": "eval qrels.txt bm25.run --at-least AP=0 --junit sub/../out.xml -o out.xml",
    "a page and a table": "judge qrels.txt bm25.run dense.run --page out.xml -o out.xml",
}


@pytest.mark.parametrize("name", REPLACED)
def test_no_input_of_a_command_is_replaced(name: str, here: Path, call: Call) -> None:
    (here / "sub").mkdir()
    (here / "beir" / "qrels").mkdir(parents=True)
    shutil.copy(QRELS, "qrels.txt")
    shutil.copy(BM25, "bm25.run")
    shutil.copy(DENSE, "dense.run")
    (here / "link.run").symlink_to("bm25.run")
    (here / "hard.run").hardlink_to("bm25.run")
    os.mkfifo("pipe")
    contents = {
        **{"letor.txt": LETOR, "answers": "q1 Q0 m40 1 2 t Rome\n", "own.py": OWN, "texts.tsv": "q1\tlamps\n"},
        **{"saved.json": "{}\n", "new.csv": "query,document,grade\nq1,m40,1\n"},
        "experiment.toml": EXPERIMENT,
        "collection.toml": 'qrels = "qrels.txt"\ncosts = "texts.tsv"\n',
        "beir/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\tm40\t1\n",
        "beir/corpus.jsonl": '{"_id": "m40", "text": "a lamp"}\n',
        "beir/queries.jsonl": '{"_id": "q1", "text": "lamp"}\n',
    }
    for path, content in contents.items():
        (here / path).write_text(content)

    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(here.rglob("*")) if path.is_file()}

    before = files()
    done = call(*REPLACED[name].split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert "would be replaced" in done.stderr or "two outputs cannot be one file" in done.stderr
    assert files() == before


def test_the_file_of_standard_input_is_not_replaced(here: Path, shell: Shell) -> None:
    shutil.copy(BM25, "bm25.run")
    done = shell(f"cranfield eval {QRELS} - -o bm25.run < bm25.run")
    assert (done.returncode, done.stdout) == (2, "")
    assert "bm25.run: this file is an input" in done.stderr
    assert (here / "bm25.run").read_bytes() == Path(BM25).read_bytes()


@pytest.mark.parametrize("file", ["hard.run", "beir/qrels/test.tsv", "own.py"])
@pytest.mark.parametrize("key", ["report", "history"])
def test_no_input_of_an_experiment_is_replaced(key: str, file: str, here: Path, call: Call) -> None:
    (here / "beir" / "qrels").mkdir(parents=True)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        (here / "beir" / name).write_text("query-id\tcorpus-id\tscore\nq1\tm40\t1\n")
    (here / "own.py").write_text(OWN)
    (here / "texts.tsv").write_text("q1\tlamps\n")
    shutil.copy(BM25, "bm25.run")
    shutil.copy(DENSE, "dense.run")
    (here / "hard.run").hardlink_to("bm25.run")
    (here / "experiment.toml").write_text(f'{EXPERIMENT}[{key}]\nfile = "{file}"\n')
    before = Path(file).read_bytes()
    done = call("run", "experiment.toml", "--allow-code")
    assert (done.exit_code, f"`{file}` would replace an input" in done.stderr) == (1, True)
    assert Path(file).read_bytes() == before


def test_an_output_may_be_the_standard_output(here: Path, shell: Shell) -> None:
    shown = shell(f"cranfield eval {QRELS} {BM25} -m AP -o /dev/stdout | cat")
    assert (shown.returncode, "AP" in shown.stdout) == (0, True)
    assert shell("cranfield --help > /dev/full").stderr == "error: standard output: no space left on device\n"
    assert shell(f"cranfield eval {QRELS} {BM25} -m AP -o {QRELS}/x").stderr == f"error: {QRELS}/x: not a directory\n"


def test_an_output_beside_inputs_may_be_replaced(call: Call, here: Path) -> None:
    shutil.copy(BM25, "bm25.run")
    for _ in range(2):
        assert call("eval", QRELS, "bm25.run", "-o", "scores.txt").exit_code == 0
        assert call("eval", QRELS, "bm25.run", "-m", "AP", "-o", "AP").exit_code == 0
    Path("May").mkdir()
    for _ in range(2):
        assert call("report", QRELS, "bm25.run", "--title", "May", "-o", "May/report.html").exit_code == 0
    assert call("eval", QRELS, "bm25.run", "--at-least", "AP=0", "--junit", os.devnull, "-o", os.devnull).exit_code == 0


VERBS = (
    *("eval", "compare", "queries", "audit", "check", "judge"),
    "report -o report.html",
    "study correlation",
)


@pytest.mark.parametrize("verb", VERBS)
def test_what_was_assumed_of_judgments_is_a_note(verb: str, call: Call, here: Path) -> None:
    (here / "beir" / "qrels").mkdir(parents=True)
    judged = [line.split() for line in Path(QRELS).read_text().splitlines()]
    rows = "".join(f"{q}\t{d}\t{grade}\n" for q, _, d, grade in judged)
    (here / "plain.tsv").write_text(rows)
    for split in ("test", "dev"):
        (here / "beir" / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    for name in ("corpus", "queries"):
        (here / "beir" / f"{name}.jsonl").write_text('{"_id": "q1", "text": "lamp"}\n')
    name, *options = verb.split()
    words = [name] if name != "study" else [name, options.pop(0)]
    for qrels, sentence in {
        "plain.tsv": "note: plain: the file has no column names; its columns were read as query, document, grade",
        "beir": "the judgments are those of test.tsv, one of 2 splits",
    }.items():
        done = call(*words, qrels, BM25, DENSE, *options)
        assert done.exit_code == 0, done.stderr
        assert done.stderr.count(sentence) == 1
        if name in ("eval", "compare"):
            assert sentence not in call(*words, qrels, BM25, DENSE, *options, "--quiet").stderr


@pytest.mark.parametrize(
    "words",
    [
        "eval qrels.txt run.json",
        "audit qrels.txt run.json",
        "check qrels.txt run.json",
        "compare qrels.txt run.json bm25.run",
        "judge qrels.txt run.json bm25.run",
        "explain qrels.txt run.json --query q1",
        "sample run.json bm25.run",
        "convert run.json run.csv --kind run",
    ],
)
def test_an_incomplete_search_is_said_of_a_run(words: str, call: Call, here: Path) -> None:
    shutil.copy(QRELS, "qrels.txt")
    shutil.copy(BM25, "bm25.run")
    hits = [{"_id": name, "_score": 3.0 - at} for at, name in enumerate(("m40", "m1", "m2"))]
    responses = {query: {"timed_out": query == "q1", "hits": {"hits": hits}} for query in ("q1", "q2")}
    Path("run.json").write_text(json.dumps(responses))
    done = call(*words.split())
    assert done.exit_code == 0, done.stderr
    assert "1 of 2 responses are incomplete" in done.stdout + done.stderr
