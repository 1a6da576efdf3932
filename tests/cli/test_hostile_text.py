"""Ids, run names and file names of others cannot control the terminal, forge rows or become formulas."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from cli_samples import Call

TITLE = "\x1b]0;title\x07"
HOSTILE = (
    f"q{TITLE}",
    "q\nall\t1.0",
    "q\r\x08\x7f",
    "q\x9b2J\u202eback\u2066",
    "q\u2028\x85next",
    "=HYPERLINK(1)",
    "@x",
    "<img src=x>",
)
FILE = f"run{TITLE}\nnext \\\\ 1.run.json"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    judged = {query: {f"d{TITLE}": 1, "d\n2": 0, "d3": 2} for query in HOSTILE}
    Path("qrels.json").write_text(json.dumps(judged))
    Path(FILE).write_text(json.dumps({q: {f"d{TITLE}": 3, "d\n2": 3, "x\x1b": 1} for q in HOSTILE}))
    Path("=second.json").write_text(
        json.dumps({q: {"d3": 3, "d\n2": 2, "x\x1b": 1} for q in HOSTILE[1:]} | {"\x1bq": {"d": 1}})
    )
    return tmp_path


def check_shown(text: str) -> None:
    """No control or direction character but newlines and tabs."""
    control = ("Cc", "Zl", "Zp")
    wrong = {c for c in text if c not in "\n\t" and (unicodedata.category(c) in control or c in "\u202e\u2066")}
    assert not wrong, f"{wrong} in {text!r}"


VERBS = [
    *(("eval", "-q", "--format", format) for format in ("table", "csv", "trec", "markdown", "latex", "json")),
    *(("compare", "--format", format) for format in ("table", "csv", "markdown", "latex", "json")),
    *(("audit", "--format", format) for format in ("table", "csv", "markdown", "json")),
    *(("queries", "--format", format) for format in ("table", "csv", "markdown", "latex")),
    ("queries", "--query", HOSTILE[0]),
    ("study", "correlation", "--format", "csv"),
    ("check",),
]


@pytest.mark.parametrize("words", VERBS, ids=lambda words: " ".join(words).encode("unicode_escape").decode())
def test_text_of_others_is_escaped(call: Call, files: Path, words: tuple[str, ...]) -> None:
    verb = words[:2] if words[0] == "study" else words[:1]
    result = call(*verb, "qrels.json", FILE, "=second.json", *words[len(verb) :])
    check_shown(result.stdout)
    check_shown(result.stderr)
    for line in result.stdout.splitlines() if "csv" in words else ():
        assert not any(cell.lstrip('"').startswith(("=", "@")) for cell in line.split(",")), line


def test_an_id_forges_no_line(call: Call, files: Path) -> None:
    lines = call("eval", "qrels.json", FILE, "-m", "AP", "-q", "--format", "trec").stdout.splitlines()
    assert len(lines) == len(HOSTILE) + 1
    assert all(len(line.split("\t")) == 3 for line in lines)
    for format in ("markdown", "latex"):
        rows = call("eval", "qrels.json", FILE, "-m", "AP", "-q", "--format", format).stdout.splitlines()
        assert len([row for row in rows if "title" in row]) == len(HOSTILE) + 1
    assert "\\<img" in call("eval", "qrels.json", FILE, "-m", "AP", "-q", "--format", "markdown").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("eval", "missing\x1b\n.txt", "=second.json"),
        ("eval", "qrels.json", "missing\x1b[2J.run"),
        ("eval", "qrels.json", "=second.json", "-m", "AP\x1b[2J"),
        ("eval", "qrels.json", "=second.json", "--ties", "\x1b[2J"),
        ("check", "qrels.json", "missing\x1b[2J.run"),
        ("compare", "qrels.json", FILE, "=second.json", "--baseline", "\x1b[2J"),
        ("queries", "qrels.json", FILE, "=second.json", "--query", "\x1b[2J"),
        ("convert", FILE, "out\x1b.run"),
        ("eval\x1b[2J",),
        ("study", "show", "missing\x1b[2J"),
    ],
    ids=lambda words: " ".join(words).encode("unicode_escape").decode(),
)
def test_errors_and_hints_are_escaped(call: Call, files: Path, words: tuple[str, ...]) -> None:
    result = call(*words)
    assert result.exit_code != 0
    check_shown(result.stdout)
    check_shown(result.stderr)


def test_a_run_in_trec_text_may_have_control_characters(call: Call, files: Path) -> None:
    Path("plain.run").write_bytes(b"q\x1b[2J Q0 d1 1 1 t\x1b[2J\nq2 Q0 d1 1 1 t\n")
    Path("plain.txt").write_bytes(b"q\x1b[2J 0 d1 1\nq2 0 d1 1\nq3\x1b[2J 0 d1 1\n")
    for words in (("eval", "-q"), ("trec_eval", "-q"), ("check",)):
        result = call(words[0], *words[1:], "plain.txt", "plain.run")
        assert result.exit_code == 0
        check_shown(result.stdout)
        check_shown(result.stderr)


def test_the_api_shows_escaped_notes(files: Path) -> None:
    import cranfield as cf

    scores = cf.evaluate("qrels.json", "=second.json", ["AP"])
    for note in scores.notes:
        check_shown(str(note))
    with pytest.raises(cf.errors.InputError) as caught:
        cf.evaluate({"q\x1b\n": {"d": 1}}, {"p\x1b\n": {"d": 1}}, ["AP"])
    check_shown(str(caught.value))


def test_ids_of_options_are_utf8_in_any_terminal(tmp_path: Path) -> None:
    """A terminal that is not UTF-8 gives bytes that Python cannot decode; ids in files are UTF-8 all the same."""
    (tmp_path / "qrels").write_text("qü 0 a 1\n")
    (tmp_path / "run").write_text("qü Q0 a 1 2.0 t\nqü Q0 nö 2 1.0 t\n")
    (tmp_path / "other").write_text("qü Q0 nö 1 2.0 t\nqü Q0 a 2 1.0 t\n")
    for options in (["queries", "qrels", "run", "other", "--query", "qü"], ["eval", "qrels", "run", "--nil", "nö"]):
        outputs = []
        for encoding in ({"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}, {"PYTHONUTF8": "1"}):
            done = subprocess.run(
                [sys.executable, "-m", "cranfield", *options, "-m", "RR"],
                cwd=tmp_path,
                env={**os.environ, **encoding},
                capture_output=True,
                check=False,
            )
            outputs.append((done.returncode, done.stdout))
        assert outputs[0] == outputs[1]
        assert outputs[0][0] == 0
