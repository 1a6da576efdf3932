"""Wrong experiments: one message each, with the file and the line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield.cli.main import cli

RIGHT = """\
measures = ["RR", "nDCG@10"]
baseline = "old"

[policy]
ties = "expected"

[collections.c]
qrels = "qrels.txt"
queries = "queries.csv"

[runs]
old = "old.run"
new = [
    "ne*.run",
]

[design]
by = "type"

[gates]
RR = { at_least = 0.1 }

[report]
file = "report.html"
"""

# What is replaced by what, the line of the message, and what it says.
WRONG: dict[str, tuple[str, str, int, str]] = {
    "unknown key": ("baseline =", "basline =", 2, "did you mean `baseline`"),
    "unknown section": ("[design]", "[desing]", 17, "did you mean `design`"),
    "unknown key of a section": ("ties =", "tie =", 5, "did you mean `ties`"),
    "unknown key of a collection": ("qrels = ", "qrel = ", 8, "did you mean `qrels`"),
    "unknown key of an inline table": ("at_least", "at_leest", 21, "did you mean `at_least`"),
    "wrong type": ('baseline = "old"', "baseline = 3", 2, "expected text"),
    "a table in place of text": ('old = "old.run"', "old = { file = 3 }", 12, "expected text or a list"),
    "text in place of a table": ("[design]\nby", "[design.by]\nx", 17, "expected text or a list"),
    "a number in a list": ('["RR", "nDCG@10"]', '["RR", 3]', 1, "expected text"),
    "text in place of a number": ("at_least = 0.1", 'at_least = "0.1"', 21, "expected a number"),
    "true in place of a number": ("at_least = 0.1", "at_least = true", 21, "expected a number"),
    "not a number": ("at_least = 0.1", "at_least = nan", 21, "expected a number"),
    "a choice that is none": ('"expected"', '"expect"', 5, "did you mean `expected`"),
    "a number out of range": ("at_least", "margin = -1, at_least", 21, "of at least 0"),
    "a pattern without a match": ("ne*.run", "nix*.run", 13, "no file matches"),
    "a file that is not there": ("queries.csv", "queries.tsv", 9, "there is no file"),
    "an attribute that no query has": ('"type"', '"typ"', 18, "did you mean `type`"),
    "an unknown measure": ("nDCG@10", "nDGC@10", 1, "nDCG@10"),
    "a gate on an unknown measure": ("RR = {", "RRR = {", 21, "RRR"),
    "a gate beyond the bounds": ("at_least = 0.1", "at_least = 10", 21, "outside the bounds"),
    "a gate that checks nothing": ("at_least = 0.1", "margin = 0.1", 21, "checks nothing"),
    "a gate on an unknown run": ("at_least", "runs = ['x'], at_least", 21, "not one of the runs"),
    "a baseline that is no run": ('"old"', '"odl"', 2, "did you mean `old`"),
    "a path outside the folder": ('"old.run"', '"../old.run"', 12, "outside the folder"),
    "an output outside the folder": ('"report.html"', '"../report.html"', 24, "outside the folder"),
    "an output that is an input": ('"report.html"', '"old.run"', 24, "would replace an input"),
    "an output in no folder": ('"report.html"', '"there/report.html"', 24, "no folder"),
    "another placeholder": ("ne*.run", "{run}.run", 13, "stands for nothing"),
    "a variable of the shell": ('"old.run"', '"$HOME/old.run"', 12, "no file matches"),
    "an include": ("measures =", 'include = "cranfield.toml"\nmeasures =', 1, "unknown key `include`"),
    "a control character as it is": ("old.run", "old\x1b.run", 12, "illegal character"),
    "a control character as an escape": ("old.run", "old\\u001b[2J.run", 12, "control character"),
    "a key twice": ("[policy]", 'baseline = "new"\n[policy]', 4, "cannot overwrite a value"),
    "no TOML": ("[policy]", "[policy", 4, "expected"),
    "no judgments": ('qrels = "qrels.txt"\n', "", 7, "no judgments"),
    "judgments of two kinds": ("qrels =", 'prefs = "qrels.txt"\nqrels =', 7, "exclude each other"),
    "no report file": ("file =", "title =", 23, "needs `file`"),
    "an empty path": ('"old.run"', '""', 12, "the path is empty"),
    "an empty list of files": ('"old.run"', "[]", 12, "no file matches"),
    "a path without end": ('"old.run"', '"' + "a" * 9000 + '"', 12, "no file matches"),
    "an empty name": ("new = [", '"" = [', 13, "a name in [runs] is empty"),
    "an output without a name": ('"report.html"', '""', 24, "the path is empty"),
    "an output with a placeholder": ('"report.html"', '"{collection}.html"', 24, "stands for nothing"),
    "an output that is a folder": ('"report.html"', '"."', 24, "is not a file"),
    "an output that is read": ("file =", 'texts = ["old.run"]\nfile = "old.run"\n#', 25, "would replace an input"),
    "figures that are a file": ("[report]\nfile =", "[save]\nfigures = 'qrels2.txt' #", 24, "is not a folder"),
    "two outputs in one file": ("[report]", "[history]\nfile = './report.html'\n[report]", 24, "another output"),
    "a pattern that leaves the folder": ("ne*.run", "*/../../*.run", 13, "outside the folder"),
    "a collection that leaves the folder": (
        '[collections.c]\nqrels = "',
        "[collections.'../c']\nqrels = \"{collection}/",
        8,
        "outside the folder",
    ),
    "a test that is none": ("[design]", "[compare]\ntest = 'tt'\n[design]", 18, "did you mean `t`"),
    "a level that is none": (
        "[design]",
        "[compare]\nalpha = 2\n[design]",
        18,
        "a number greater than 0 and less than 1",
    ),
    "scores with the name of a measure": ("[design]", "[scores]\nRR = 'old.run'\n[design]", 18, "one of the measures"),
    "tables inside tables": ("[design]", "[a.b.c.d]\nx = 1\n[design]", 17, "unknown key `a`"),
    "keys without end": ("measures = ", ".".join("a" * 40000) + " = 1\nmeasures = ", 1, "too deep"),
    "code that is no text": ("measures = ", "measures_files = [3]\nmeasures = ", 1, "expected text"),
    "an empty file": (RIGHT, "", 1, "the file is empty"),
    "a huge file": ("[policy]", "#" * (1 << 20) + "\n[policy]", 1, "bytes"),
    "deep lists": ("measures = ", "x = " + "[" * 9000 + "]" * 9000 + "\nmeasures = ", 1, "too deep"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "qrels.txt").write_text("1 0 a 1\n2 0 a 1\n3 0 a 1\n")
    (home / "queries.csv").write_text("query,text,type\n1,x,how\n2,y,how\n3,z,what\n")
    for run in ("old", "new"):
        (home / f"{run}.run").write_text(f"1 Q0 a 1 1 {run}\n2 Q0 a 1 1 {run}\n3 Q0 b 1 1 {run}\n")
    (home / "qrels2.txt").write_text("1 0 a 1\n")
    (tmp_path / "old.run").write_text("1 Q0 a 1 1 old\n")
    return home


def test_the_right_file_is_right(folder: Path) -> None:
    (folder / "x.toml").write_text(RIGHT.split("[report]")[0])
    assert cf.Experiment.read(folder / "x.toml").run().exit_code == 0


@pytest.mark.parametrize("case", WRONG)
def test_one_message_with_the_line(case: str, folder: Path) -> None:
    old, new, line, words = WRONG[case]
    assert RIGHT.count(old)
    path = folder / "x.toml"
    path.write_text(RIGHT.replace(old, new, 1))
    result = CliRunner().invoke(cli, ["run", str(path)], catch_exceptions=False)
    assert result.exit_code in (1, 2)
    first, *rest = result.stderr.strip().split("\n")
    assert first.startswith(f"error: {path}:{line}: "), result.stderr
    assert words in result.stderr
    assert "\x1b" not in result.stderr
    assert not [text for text in rest if text and not text.startswith(("hint: ", "note: "))]
    assert not (folder / "report.html").exists()


def test_all_faults_at_once_in_their_order(folder: Path) -> None:
    path = folder / "x.toml"
    text = RIGHT.replace('"old"', "3", 1).replace("ties", "tie").replace("ne*", "nix*").replace("RR = {", "RRR = {")
    path.write_text(text)
    with pytest.raises(cf.InputError) as error:
        cf.Experiment.read(path)
    assert [fault.split(":")[1] for fault in error.value.faults] == ["2", "5", "13", "21"]


def test_bytes_that_are_not_utf8(folder: Path) -> None:
    (folder / "x.toml").write_bytes(RIGHT.encode().replace(b"old.run", b"\xff.run"))
    with pytest.raises(cf.InputError, match=r"x.toml:12: .*UTF-8"):
        cf.Experiment.read(folder / "x.toml")


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\ncranfield = 3", "[project]\nname = 'x'"])
def test_a_pyproject_without_an_experiment(text: str, folder: Path) -> None:
    (folder / "pyproject.toml").write_text(text)
    with pytest.raises(cf.InputError, match=r"pyproject.toml:1: there is no table \[tool.cranfield\]"):
        cf.Experiment.read(folder / "pyproject.toml")


def test_a_file_that_is_not_there(folder: Path) -> None:
    with pytest.raises(cf.InputError, match="no such file"):
        cf.Experiment.read(folder / "y.toml")


def test_an_absolute_path_may_be_anywhere(folder: Path) -> None:
    path = folder / "x.toml"
    text = RIGHT.split("[report]")[0].replace('"old.run"', f'"{folder.parent}/old.run"')
    path.write_text(text.replace("[policy]", "[policy]\nqueries = 'judged'"))
    assert cf.Experiment.read(path).run().scores.runs == ("old", "new")


def test_an_output_that_links_to_the_outside(folder: Path) -> None:
    (folder / "report.html").symlink_to(folder.parent / "elsewhere.html")
    (folder / "x.toml").write_text(RIGHT)
    with pytest.raises(cf.InputError, match=r"x.toml:24: .*link"):
        cf.Experiment.read(folder / "x.toml")


def test_an_input_that_links_to_the_outside(folder: Path) -> None:
    (folder / "old.run").unlink()
    (folder / "old.run").symlink_to(folder.parent / "old.run")
    (folder / "inner").symlink_to(folder, target_is_directory=True)
    (folder / "x.toml").write_text(RIGHT.replace("qrels.txt", "inner/qrels.txt"))
    with pytest.raises(cf.InputError) as error:
        cf.Experiment.read(folder / "x.toml")
    assert len(error.value.faults) == 1
    assert "x.toml:12: `old.run` is a link to a place outside" in str(error.value)


def test_a_file_that_two_patterns_match_is_one_repeat(folder: Path) -> None:
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/new-2.run").write_text((folder / "new.run").read_text())
    (folder / "x.toml").write_text(RIGHT.replace('"ne*.run"', '"ne*.run", "new.run", "**/new-*.run"'))
    files = cf.Experiment.read(folder / "x.toml").inputs.runs["new"]["c"]
    assert [Path(file).name for file in files] == ["new.run", "new-2.run"]


def test_lines_of_keys_in_every_form(folder: Path) -> None:
    """Comments, strings of several lines, dotted and quoted keys do not shift the lines."""
    text = "# [design]\n" + RIGHT.replace(
        '"type"',
        '''"""\\
    typ"""''',
    ).replace(
        "[gates]\nRR",
        '''[compare]
alpha = 0.1 # = "
[gates] # here
"RR"''',
    )
    path = folder / "x.toml"
    path.write_text(
        text.replace("[policy]\nties", "policy.ties", 1).replace("RR", "RR") + 'title = """a\n\n"""\nwrong = 1\n'
    )
    with pytest.raises(cf.InputError) as error:
        cf.Experiment.read(path)
    number = path.read_text().split("\n").index("wrong = 1") + 1
    assert f"x.toml:{number}: unknown key `wrong`" in str(error.value)
