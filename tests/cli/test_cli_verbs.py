"""The verbs other than eval, and help for all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from cli_samples import BM25, DENSE, QRELS, Call

import cranfield as cf
from cranfield import __version__, example
from cranfield.analysis.significance import TESTS
from cranfield.cli.main import Verbs, cli
from cranfield.measures import CATALOGUE
from cranfield.report.catalogue import SOURCE, entries, papers
from cranfield.statistics.resampling import CORRECTIONS


def test_help_lists_every_verb(call: Call) -> None:
    result = call("--help")
    assert result.exit_code == 0
    listed = re.findall(r"^  ([a-z][a-z_-]*)  +(\S.*)", result.stdout, re.MULTILINE)
    assert [name for name, _ in listed] == list(Verbs.NAMES)
    assert not [text for _, text in listed if text.endswith("...")]
    assert call().stdout == result.stdout


@pytest.mark.parametrize("verb", Verbs.NAMES)
def test_help_explains_every_option(call: Call, verb: str) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    result = call(verb, "--help-all" if "--help-all" in call(verb, "--help").stdout else "--help")
    assert result.exit_code == 0
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert all(name in result.stdout for name in parameter.opts), parameter.opts
            assert parameter.help, parameter.opts


def test_version(call: Call) -> None:
    assert call("--version").stdout == f"cranfield {cf.__version__}\n"


def test_measures_lists_all_of_them(call: Call) -> None:
    text = call("measures").stdout
    for definition in CATALOGUE.values():
        assert re.search(rf"^  {re.escape(definition.symbol)}\b", text, re.MULTILINE), definition.symbol
        assert " ".join(definition.summary.split()[:3]) in text


def test_measures_of_one_family(call: Call) -> None:
    found = json.loads(call("measures", "--family", "reciprocal rank", "--format", "json").stdout)
    assert [entry["measure"] for entry in found] == ["RR", "ESL"]
    assert found[0]["bounds"] == [0, 1]


def test_an_unknown_family_is_answered_with_all(call: Call) -> None:
    result = call("measures", "--family", "magic")
    known = ", ".join(
        dict.fromkeys(entry["family"] for entry in json.loads(call("measures", "--format", "json").stdout))
    )
    assert result.exit_code == 2
    assert "unknown family `magic`" in result.stderr and known in result.stderr


def test_measures_as_json_has_every_fact(call: Call) -> None:
    found = json.loads(call("measures", "--format", "json").stdout)
    assert {entry["measure"] for entry in found} == set(CATALOGUE)
    assert all(entry["formula"] and entry["cite"] and entry["summary"] for entry in found)


@pytest.mark.parametrize("symbol", CATALOGUE)
def test_show_explains_every_measure(call: Call, symbol: str) -> None:
    definition = CATALOGUE[symbol]
    result = call("show", symbol)
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    for wanted in (definition.title, definition.summary, definition.usage, definition.formula, "bounds", "source"):
        assert " ".join(wanted.split()).replace("``", "`") in text, wanted
    for name in definition.parameters:
        assert re.search(rf"\b{name}\b", text)
    assert "example" in text


def test_show_computes_the_example(call: Call) -> None:
    lines = call("show", "P@3").stdout.splitlines()
    value = cf.parse("P@3[ties=expected]")([1, None, (2, 0), 0, 1], missed=[2])
    assert f"  P@3[ties=expected]  {value:.4f}" in lines


def test_show_says_how_precision_counts_the_terminal_document(call: Call) -> None:
    assert "(1 + 1 + 3 · 2/3) / 5 = 0.8" in " ".join(call("show", "P").stdout.split())


def test_cite_prints_each_entry_once(call: Call) -> None:
    result = call("cite", "nDCG@10", "DCG nDCG", "RBP(p=0.5)")
    keys = dict.fromkeys(key for name in ("nDCG", "DCG", "RBP") for key in CATALOGUE[name].cite.split())
    assert re.findall(r"^@\w+\{([^,]+),", result.stdout, re.MULTILINE) == list(keys)


def test_cite_knows_views(call: Call) -> None:
    assert "Quit While Ahead" in call("cite", "AP[terminal]").stdout
    assert "Alternatives to {Bpref}" in call("cite", "AP[condensed]").stdout


@pytest.mark.parametrize("name", [*TESTS, *(name for name in CORRECTIONS if name != "none"), "cranfield"])
def test_cite_knows_tests_corrections_and_cranfield(call: Call, name: str) -> None:
    text = call("cite", name).stdout
    assert "title = {" in text and text.count("@") == len(papers(name).split())


def test_cite_lists_the_tests_that_it_knows(call: Call) -> None:
    result = call("cite", "t-test")
    assert result.exit_code == 2
    assert "`t-test`" in result.stderr
    assert "randomisation, t, wilcoxon" in result.stderr


def test_cranfield_is_cited_in_its_version(call: Call) -> None:
    assert f"note = {{Version {__version__}}}" in call("cite", "cranfield").stdout


def test_latex_says_once_how_to_cite(call: Call) -> None:
    ask = ("eval", QRELS, BM25, "-m", "AP", "--format", "latex")
    assert call(*ask).stderr.count("cranfield cite") == 1
    assert "cranfield cite" not in call(*ask, "--quiet").stderr
    assert "cranfield cite" not in call("eval", QRELS, BM25, "-m", "AP").stderr


def test_every_measure_and_every_test_has_its_source() -> None:
    wanted = {key for definition in CATALOGUE.values() for key in definition.cite.split()}
    wanted |= {key for name in (*TESTS, *CORRECTIONS) if name != "none" for key in papers(name).split()}
    assert wanted <= set(entries(SOURCE))


def test_check_of_the_example(call: Call) -> None:
    result = call("check", QRELS, BM25)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{QRELS}: warning: 1 of 8 queries without relevant documents")
    assert result.stderr.startswith("2 files: 0 errors, ")


@pytest.mark.parametrize("extension", ["json", "jsonl", "csv", "tsv", "parquet", "run.gz", "txt"])
def test_convert_there_and_back(call: Call, tmp_path: Path, extension: str) -> None:
    there, back = tmp_path / f"dense.{extension}", tmp_path / "dense.back"
    assert call("convert", DENSE, there).exit_code == 0
    assert call("convert", there, back, "--kind", "run").exit_code == 0
    wanted, found = (cf.evaluate(QRELS, path, ["AP", "nDCG@10"]).values.tolist() for path in (DENSE, str(back)))
    assert str(found) == str(wanted)


def test_convert_finds_out_what_it_has(call: Call, tmp_path: Path) -> None:
    assert call("convert", QRELS, tmp_path / "qrels.csv").exit_code == 0
    assert (tmp_path / "qrels.csv").read_text().splitlines()[0] == "query_id,iteration,doc_id,relevance"
    assert call("convert", BM25, tmp_path / "bm25.csv").exit_code == 0
    assert (tmp_path / "bm25.csv").read_text().splitlines()[0] == "query_id,doc_id,rank,score"


def test_convert_cuts_at_a_score(call: Call, tmp_path: Path) -> None:
    """A tie at the threshold is kept as a whole, and lists that become empty are counted."""
    run, target = tmp_path / "x.run", tmp_path / "cut.run"
    run.write_text(
        "".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in [("p", "a", 3), ("p", "b", 2), ("p", "c", 2), ("q", "d", 1)])
    )
    result = call("convert", run, "-o", target, "--min-score", "2")
    assert result.exit_code == 0
    assert "1 query without a document: not in the new run, which counts as no answer" in result.stderr
    assert [line.split()[2] for line in target.read_text().splitlines()] == ["a", "b", "c"]
    assert call("convert", run, target, "--min-score", "2.5").exit_code == 0
    assert [line.split()[2] for line in target.read_text().splitlines()] == ["a"]
    wrong = {
        ("convert", run, target, "--min-score", "9"): "no document scores 9 or more; the highest score is 3",
        ("convert", run, target, "--min-score", "nan"): "not a finite number",
        ("convert", QRELS, target, "--kind", "qrels", "--min-score", "1"): "--min-score is for runs",
        ("convert", run): "convert needs one file to write",
    }
    for words, message in wrong.items():
        result = call(*words)
        assert result.exit_code != 0
        assert message in result.stderr


def test_convert_asks_where_both_are_possible(call: Call, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"q1": {"d1": 1}}')
    result = call("convert", tmp_path / "x.json", tmp_path / "x.run")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {tmp_path}/x.json: ")
    assert "--kind run or --kind qrels" in result.stderr


def test_demo_walks_and_writes_nothing(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("demo")
    assert result.exit_code == 0
    assert re.findall(r"^\d\. (.+)$", result.stdout, re.MULTILINE) == [
        "Scores",
        "Ties",
        "A query without relevant documents",
        "Unjudged documents",
        "Lists that end early",
        "Significance",
        "Diversity",
        "Document text",
    ]
    assert list(tmp_path.iterdir()) == []


def test_the_commands_of_the_demo_print_its_numbers(call: Call, tmp_path: Path) -> None:
    copied = call("demo", "--into", tmp_path)
    assert copied.stdout == "", "the tour would bury the line that says where the files are"
    assert f"8 files written to {tmp_path}" in copied.stderr
    assert {path.name for path in tmp_path.iterdir()} == set(example.NAMES)
    runs = [tmp_path / name for name in example.RUNS]
    scores = call("eval", tmp_path / "qrels.txt", *runs, "-m", "AP nDCG@10 RR P@5")
    tour = call("demo")
    assert scores.stdout in tour.stdout and "To get the files" in tour.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(call: Call, shell: str) -> None:
    assert "_CRANFIELD_COMPLETE" in call("completion", shell).stdout
