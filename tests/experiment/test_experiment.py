"""One file says a whole experiment: the same numbers as from Python, each input opened once, and the gates."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from experiment_samples import SYSTEMS, write_whole

import cranfield as cf
from cranfield.cli.main import cli
from cranfield.evaluation.elsewhere import with_column
from cranfield.io.streams import digest_of_file


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was opened, by the end of its path."""
    count: Counter[str] = Counter()
    plain_open, plain_path_open = os.open, Path.open

    def counted(path: object, *rest: object, **more: object) -> int:
        count["/".join(Path(os.fsdecode(path)).parts[-2:])] += 1  # type: ignore[arg-type]
        return plain_open(path, *rest, **more)  # type: ignore[arg-type]

    def counted_path(self: Path, *rest: object, **more: object) -> object:
        count["/".join(self.parts[-2:])] += 1
        return plain_path_open(self, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", counted)
    monkeypatch.setattr(Path, "open", counted_path)
    return count


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["run", *words], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def test_everything_in_one_file_each_input_opened_once(tmp_path: Path, opened: Counter[str]) -> None:
    pytest.importorskip("vl_convert")
    path = write_whole(tmp_path)
    inputs = [file for file in tmp_path.rglob("*") if file.is_file()]
    opened.clear()
    code, out, err = run(str(path))
    assert code == 0, err
    for text in ("faithfulness", "nDCG@10 by type", "clusters by topic"):
        assert text in " ".join(out.split())
    assert "11 checks" in err
    assert {file.name: opened["/".join(file.parts[-2:])] for file in inputs} == {file.name: 1 for file in inputs}
    page = (tmp_path / "report.html").read_text()
    assert "Two collections" in page and str(tmp_path) not in page
    assert cf.load(tmp_path / "scores.json").runs == SYSTEMS
    assert cf.load(tmp_path / "comparison.json").baseline == "bm25"
    assert (tmp_path / "junit.xml").read_text().count("<testcase") == 11


def test_the_same_from_python_to_the_last_bit(tmp_path: Path) -> None:
    path = write_whole(tmp_path)
    path.write_text(path.read_text().replace("[report]\n", "[unused]\n").split("[unused]")[0])
    outcome = cf.Experiment.read(path).run()

    names = "old", "new"
    qrels = {"old": "old/qrels.txt", "new": "new/qrels.txt.gz"}
    collections = {
        name: cf.Collection(tmp_path / qrels[name], queries=tmp_path / name / "queries.csv") for name in names
    }
    runs = {run: {name: tmp_path / name / f"{run}.run" for name in names} for run in SYSTEMS if run != "dense"}
    dense = {name: cf.Repeats([tmp_path / name / f"dense-{n}.run" for n in (1, 2, 3)]) for name in names}
    runs = {"bm25": runs["bm25"], "dense": dense, **runs}  # type: ignore[dict-item]
    scores = cf.evaluate(collections, runs, ["nDCG@10", "P@5"], undefined="zero", seed=3)
    judged = [(f"{name}/", cf.read_scores(tmp_path / f"judge/{name}.csv")) for name in names]
    times = [(f"{name}/", cf.read_scores(tmp_path / f"judge/{name}.time.csv")) for name in names]
    scores = with_column(scores, "faithfulness", judged)
    scores = with_column(scores, "seconds", [(name, one._of_columns([0])) for name, one in times], lower=True)
    assert outcome.scores.runs == scores.runs == SYSTEMS
    assert outcome.scores.queries == scores.queries
    assert outcome.scores.values.tobytes() == scores.values.tobytes()
    assert outcome.scores.repeats["dense"].tobytes() == scores.repeats["dense"].tobytes()
    how = {"baseline": "bm25", "cluster": "topic", "correction": "bonferroni", "alpha": 0.1, "seed": 3}
    comparison = cf.compare(scores, **how)  # type: ignore[arg-type]
    assert comparison.to_dict() == outcome.comparison.to_dict()  # type: ignore[union-attr]
    inputs = outcome.scores.to_dict()["provenance"]["inputs"]
    assert [one["kind"] for one in inputs].count("run") == 12
    assert all(one["digest"].startswith("sha256:") for one in inputs)
    groups = scores.by("type", "bm25", cluster="topic", level=0.9, seed=3)
    assert outcome.groups["type"].to_dict() == groups.to_dict()


def test_scores_from_elsewhere_are_matched_by_run_and_query() -> None:
    scores = cf.evaluate({"a": {"d": 1}, "b": {"d": 1}}, {"x": {"a": ["d"], "b": ["e", "d"]}}, "RR")
    other = cf.read_scores({"x": {"m": {"b": 0.25, "c": 1.0}}, "y": {"m": {"b": 0.5}}})
    joined = with_column(scores, "m", [("", other)])
    assert joined.queries == ("a", "b")
    np.testing.assert_array_equal(joined.values[0], [[1.0, 0.5], [np.nan, 0.25]])
    with pytest.raises(cf.CranfieldError, match="would count as zero"):
        with_column(replace(scores, undefined="zero"), "m", [("", other)])
    with pytest.raises(cf.CranfieldError, match="no score of 1 run"):
        with_column(scores, "m", [("", cf.read_scores({"z": {"m": {"b": 0.5}}}))])


SMALL = """\
measures = ["RR"]
baseline = "old"
[collections.c]
qrels = "qrels.txt"
[runs]
old = "old.run"
new = "new.run"
[gates]
"""


def small(folder: Path, gates: str, queries: int = 8, old: str = "ab", new: str = "ba") -> Path:
    """An experiment of two runs, one with the relevant document first, one with it second."""
    names = [f"q{q}" for q in range(queries)]
    (folder / "qrels.txt").write_text("".join(f"{q} 0 a 1\n{q} 0 b 0\n" for q in names))
    for run, order in (("old", old), ("new", new)):
        lines = [f"{q} Q0 {d} {r} {-r} {run}\n" for q in names for r, d in enumerate(order)]
        (folder / f"{run}.run").write_text("".join(lines))
    path = folder / "cranfield.toml"
    path.write_text(SMALL + gates)
    return path


@pytest.mark.parametrize(
    ("gates", "queries", "code"),
    [
        ("RR = { at_least = 0.5 }", 8, 0),
        ("RR = { at_least = 0.6 }", 8, 3),
        ("RR = { at_least = 0.6, runs = ['old'] }", 8, 0),
        ("RR = { no_significant_loss = true }", 8, 3),
        ("RR = { no_significant_loss = true, margin = 0.5 }", 8, 0),
        ("RR = { no_significant_loss = true }", 3, 4),
        ("RR = { no_significant_loss = true, at_least = 0.6 }", 3, 3),
        ("RR = { no_significant_loss = true }\n'P@1' = { at_least = 0.5, runs = ['new'] }", 3, 3),
        ("'P@1' = { no_significant_loss = true }\n'P@2' = { at_least = 0.5 }", 3, 4),
        ("RR = { not_worse_by = 0.6 }", 8, 4),  # all queries lose the same
    ],
)
def test_gates(gates: str, queries: int, code: int, tmp_path: Path) -> None:
    path = small(tmp_path, gates, queries)
    assert run(str(path))[0] == code
    assert cf.Experiment.read(path).run().exit_code == code


def test_json_has_the_whole_outcome(tmp_path: Path) -> None:
    path = small(tmp_path, "RR = { at_least = 0.5 }")
    code, out, _ = run(str(path), "--format", "json")
    data = json.loads(out)
    assert code == 0
    assert data["scores"]["runs"]["new"]["RR"]["mean"] == 0.5
    assert data["comparison"]["baseline"] == "old"
    assert [check["outcome"] for check in data["checks"]] == ["passed", "passed"]
    assert "time" not in data["scores"]["provenance"]
    assert run(str(path), "--format", "json", "-o", str(tmp_path / "all.json"))[0] == 0
    written = json.loads((tmp_path / "all.json").read_text())
    assert {"time", "command"} <= written["scores"]["provenance"].keys() & written["comparison"]["provenance"].keys()


def test_markdown_begins_with_the_gates(tmp_path: Path) -> None:
    path = small(tmp_path, "RR = { at_least = 0.6 }")
    code, out, _ = run(str(path), "--format", "markdown")
    assert code == 3
    assert out.startswith("**2 checks: 1 failed, 1 passed**")


def test_a_saved_baseline(tmp_path: Path) -> None:
    path = small(tmp_path, "RR = { no_significant_loss = true }")
    cf.evaluate(tmp_path / "qrels.txt", {"old": tmp_path / "old.run"}, "RR").save(tmp_path / "saved.json")
    path.write_text(
        path.read_text().replace('baseline = "old"', 'baseline = "saved.json"').replace('old = "old.run"\n', "")
    )
    outcome = cf.Experiment.read(path).run()
    assert outcome.scores.runs == ("new",)
    assert outcome.comparison is not None
    assert outcome.comparison.baseline == "old"
    assert outcome.exit_code == 3


def test_the_best_run_of_each_measure_as_the_baseline_of_groups(tmp_path: Path) -> None:
    """Groups are compared with the best run by the first measure, as by `cranfield compare`."""
    draw = np.random.default_rng(0)
    rows = [
        f"{run},q{q},{a + draw.random():.3f},{b + draw.random():.3f}"
        for run, a, b in (("x", 0, 2), ("y", 2, 0), ("z", 1, 1))
        for q in range(8)
    ]
    (tmp_path / "scores.csv").write_text("\n".join(["run,query,a,b", *rows]) + "\n")
    (tmp_path / "queries.csv").write_text("query,kind\n" + "".join(f"q{q},k{q % 2}\n" for q in range(8)))
    path = tmp_path / "cranfield.toml"
    outside = "".join(f'{name} = {{ file = "scores.csv", measure = "{name}" }}\n' for name in "ab")
    path.write_text(
        f'baseline = "best"\n[collections.c]\nqueries = "queries.csv"\n[scores]\n{outside}[design]\nby = "kind"\n'
    )
    outcome = cf.Experiment.read(path).run()
    assert outcome.comparison is not None
    assert (outcome.comparison.baseline, outcome.comparison.reference) == ("best", "y")
    words = ["compare", "--scores", str(tmp_path / "scores.csv"), "--queries-file", str(tmp_path / "queries.csv")]
    words += ["--baseline", "best", "--by", "kind", "--format", "json"]
    found = json.loads(CliRunner().invoke(cli, words).stdout)
    groups = json.loads(json.dumps(outcome.groups["kind"].to_dict()))
    assert found["groups"]["baseline"] == groups["baseline"] == "y"
    assert found["groups"]["difference"] == groups["difference"]


def test_one_run_alone(tmp_path: Path) -> None:
    path = small(tmp_path, "RR = { at_least = 0.5 }")
    path.write_text(path.read_text().replace('baseline = "old"\n', "").replace('old = "old.run"\n', ""))
    code, out, _ = run(str(path))
    assert code == 0
    assert "0.5000" in out


def test_scores_from_elsewhere_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("run,query,value\nold,1,0.5\nold,2,0.25\nnew,1,1\nnew,2,0.5\n")
    path = tmp_path / "cranfield.toml"
    path.write_text('baseline = "old"\n[scores]\njudge = "a.csv"\n[gates]\njudge = { at_least = 0.3 }\n')
    outcome = cf.Experiment.read(path).run()
    assert outcome.scores._means.tolist() == [[0.375], [0.75]]
    assert outcome.exit_code == 0
    (source,) = outcome.scores.to_dict()["provenance"]["inputs"]
    assert source == {
        "kind": "scores",
        "name": str(tmp_path / "a.csv"),
        "digest": digest_of_file(str(tmp_path / "a.csv")),
    }


def test_scores_from_elsewhere_alone_on_two_collections(tmp_path: Path) -> None:
    for name in ("x", "y"):
        rows = [f"{run},{name}{q},{value}" for run, value in (("old", 0.25), ("new", 0.75)) for q in range(3)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["run,query,value", *rows]) + "\n")
        (tmp_path / f"{name}.tsv").write_text("".join(f"{name}{q}\tabout {q}\n" for q in range(3)))
    path = tmp_path / "cranfield.toml"
    sections = "".join(f'[collections.{name}]\nqueries = "{name}.tsv"\n' for name in ("x", "y"))
    path.write_text(f'baseline = "old"\n{sections}[scores]\njudge = "{{collection}}.csv"\n')
    outcome = cf.Experiment.read(path).run()
    assert outcome.scores._means.tolist() == [[0.25], [0.75]]
    inputs = outcome.scores.to_dict()["provenance"]["inputs"]
    assert [(one["kind"], one["collection"], Path(one["name"]).name) for one in inputs] == [
        ("scores", "x", "x.csv"),
        ("queries", "x", "x.tsv"),
        ("scores", "y", "y.csv"),
        ("queries", "y", "y.tsv"),
    ]
    assert all(one["digest"].startswith("sha256:") for one in inputs)


def test_a_pyproject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = small(tmp_path, "RR = { at_least = 0.6 }")
    text = path.read_text().replace("[", "[tool.cranfield.").replace('tool.cranfield."RR"', '"RR"')
    top, rest = text.split("[tool.cranfield.collections", 1)
    (tmp_path / "pyproject.toml").write_text(
        f"[project]\nname = 'x'\n[tool.cranfield]\n{top.replace('[tool.cranfield.', '[')}[tool.cranfield.collections{rest}"
    )
    path.unlink()
    monkeypatch.chdir(tmp_path)
    assert run()[0] == 3


def test_code_of_an_experiment_runs_only_if_it_is_allowed(tmp_path: Path) -> None:
    path = small(tmp_path, "")
    (tmp_path / "own.py").write_text(
        "import cranfield as cf\n\n@cf.measure\ndef Twice(grades):\n    '''Two.'''\n    return 2.0\n"
    )
    path.write_text('measures_files = ["own.py"]\n' + path.read_text().replace('["RR"]', '["Twice", "RR"]'))
    code, _, err = run(str(path))
    assert code == 1
    assert "cranfield.toml:1: " in err
    assert "--allow-code" in err
    assert run(str(path), "--allow-code")[0] == 0
    assert cf.Experiment.read(path).run(allow_code=True).scores["Twice"]["new"] == 2.0


def test_the_summary_for_a_pull_request(tmp_path: Path) -> None:
    path = small(tmp_path, "RR = { no_significant_loss = true }")
    text = path.read_text().replace('qrels = "qrels.txt"', 'qrels = "qrels.txt"\nqueries = "queries.tsv"')
    path.write_text(text + "\n[report]\nfile = 'a report.html'\n")
    (tmp_path / "queries.tsv").write_text("".join(f"q{q}\twhat | is {q} <b>\n" for q in range(8)))
    pytest.importorskip("vl_convert")
    code, _, _ = run(str(path), "--summary", str(tmp_path / "summary.md"))
    assert code == 3
    found = (tmp_path / "summary.md").read_text()
    assert "**1 check: 1 failed**" in found
    assert "the queries that lost most" in found
    assert found.partition("lost most")[2].count("-0.5000 |") == 5
    assert "what \\| is 0" in found
    assert "(a%20report.html)" in found
    assert run(str(path), "--summary", str(tmp_path / "s.md"), "--report-link", "https://x.org/1")[0] == 3
    assert "[The report](https://x.org/1)" in (tmp_path / "s.md").read_text()


def test_the_action_calls_options_that_exist() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load(Path(__file__).parents[2].joinpath("action.yml").read_text())
    steps = {step["name"]: step for step in action["runs"]["steps"]}
    assert list(steps) == ["install", "run", "upload the report", "gates"]
    script = steps["run"]["run"]
    help_page = (
        CliRunner().invoke(cli, ["run", "--help-all"]).output + CliRunner().invoke(cli, ["run", "--help"]).output
    )
    for option in ("--summary", "--report-link"):
        assert option in script
        assert option in help_page


def scores_alone(folder: Path, files: dict[str, str], text: str) -> cf.Scores:
    """What an experiment finds in scores of two collections, m and n, without any run."""
    for name, content in files.items():
        (folder / name).write_text(content)
    path = folder / "cranfield.toml"
    path.write_text(f'baseline = "x"\n{text}')
    (folder / "qrels.txt").write_text("q0 0 a 1\nq1 0 a 1\nq2 0 a 1\n")
    with path.open("a") as file:
        file.write('\n[collections.m]\nqrels = "qrels.txt"\n[collections.n]\nqrels = "qrels.txt"\n')
    return cf.Experiment.read(path).run().scores


ROWS = [(run, f"q{q}", value) for run, value in (("x", 0.25), ("y", 0.75)) for q in range(3)]
OF_M = "run,query,value\n" + "".join(f"{run},{q},{value}\n" for run, q, value in ROWS)
OF_BOTH = "run,query,collection,value\n" + "".join(f"{run},{q},{c},{value}\n" for run, q, value in ROWS for c in "mn")
NAMED = ["m/q0", "m/q1", "m/q2", "n/q0", "n/q1", "n/q2"]


def test_scores_alone_of_one_file_count_each_query_once(tmp_path: Path) -> None:
    scores = scores_alone(tmp_path, {"f.csv": OF_BOTH}, '[scores]\nf = "f.csv"\n')
    assert sorted(scores.queries) == NAMED
    assert scores.attributes["n/q0"]["collection"] == "n"
    together = scores_alone(tmp_path, {"m.csv": OF_M, "n.csv": OF_M}, '[scores]\ng = "{collection}.csv"\nf = "f.csv"\n')
    assert sorted(together.queries) == NAMED
    assert together.means == {"x": {"g": 0.25, "f": 0.25}, "y": {"g": 0.75, "f": 0.75}}
    with pytest.raises(cf.InputError, match=r"`q0` of f is not a query of a collection") as caught:
        scores_alone(tmp_path, {"f.csv": OF_M}, '[scores]\nf = "f.csv"\n')
    assert "{collection}" in caught.value.hint


def test_scores_alone_may_lack_a_collection(tmp_path: Path) -> None:
    skip = '[policy]\nmissing = "skip"\n[scores]\nf = "s-{collection}.csv"\n'
    scores = scores_alone(tmp_path, {"s-m.csv": OF_M}, skip)
    assert list(scores.queries) == NAMED[:3]
    assert "n: left out, as no run has it" in map(str, scores.notes)
    with pytest.raises(cf.InputError, match="f has no score of the collection `n`"):
        scores_alone(tmp_path, {"g.csv": OF_BOTH}, f'{skip}g = "g.csv"\n')
    with pytest.raises(cf.InputError, match="no file matches"):
        scores_alone(tmp_path, {}, '[scores]\nf = "s-{collection}.csv"\n')


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("[]", "the list of gates of RR is empty"),
        ("{}", "checks nothing"),
        ("[{ at_least = 0.1 }, {}]", "checks nothing"),
        ("{ queries = [] }", "checks nothing"),
        ("{ no_significant_loss = false }", "checks nothing"),
        ('{ may_drop = 0.1, runs = "old" }', "is the baseline"),
        ("{ may_drop = 0.1, margin = 0.1 }", "margin needs no_significant_loss"),
        ("{ at_most = 0.5 }", "wrong side"),
        ('{ at_least = 0.5, where = { kind = "how" } }', "no query has"),
        ('{ at_least = 0.5, collection = "d" }', "not one of the collections"),
        ('{ queries = ["q77"] }', "not one of the queries"),
    ],
)
def test_gates_that_check_nothing(gate: str, message: str, tmp_path: Path) -> None:
    code, out, err = run(str(small(tmp_path, f"RR = {gate}\n")))
    assert (code, out) == (1, "")
    assert message in err
    assert "cranfield.toml:9" in err
