"""The documentation is complete, its examples run, and what it says of other tools is so."""

from __future__ import annotations

import doctest
import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import click
import pytest

import cranfield as cf
from cranfield import example
from cranfield.cli.main import Verbs, cli
from cranfield.measures import CATALOGUE, FAMILIES
from cranfield.report import catalogue

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
GENERATED = {DOCS / "reference", DOCS / "_build"}
PAGES = sorted(p for p in DOCS.rglob("*.md") if not GENERATED & set(p.parents))
FENCE = re.compile(r"^```\{doctest\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)

sys.path.insert(0, str(DOCS / "_ext"))
import formulas  # noqa: E402
from tolerant import FLAGS, Checker  # noqa: E402


@pytest.mark.parametrize("definition", CATALOGUE.values(), ids=lambda d: d.symbol)
def test_every_measure_says_what_it_means_and_where_it_comes_from(definition: Any) -> None:
    assert definition.cite.split()
    for key in definition.cite.split():
        assert key in catalogue.entries(catalogue.SOURCE)
    assert definition.summary.endswith(".")
    assert len(definition.summary) <= 115
    assert definition.formula
    assert ">>>" in (inspect.getdoc(definition.function) or "")


def test_every_measure_has_a_typeset_formula() -> None:
    table = formulas.load()
    assert list(table) == list(CATALOGUE)  # in the order of the catalogue
    for symbol, lines in table.items():
        for line in lines:
            root = ElementTree.fromstring(formulas.mathml(line, "block"))
            assert root.tag.endswith("math"), symbol
            assert "\\" not in "".join(root.itertext()), symbol


@pytest.mark.parametrize("definition", CATALOGUE.values(), ids=lambda d: d.symbol)
def test_the_typeset_formula_has_what_the_plain_one_names(definition: Any) -> None:
    """The name of the measure, Greek letters, and choices such as norm='min'."""
    plain, latex = definition.formula, " ".join(formulas.load()[definition.symbol])
    letters = {"α": "alpha", "β": "beta", "γ": "gamma", "ε": "varepsilon", "θ": "theta", "π": "pi"}
    name = re.split(r"@| = ", plain, maxsplit=1)[0].replace("α", "alpha")
    if name != "NERR":  # four measures share it
        assert re.sub(r"\W|_", "", name) in re.sub(r"\\text|\W|_", "", latex)
    assert [letter for letter, word in letters.items() if letter in plain and f"\\{word}" not in latex] == []
    for choice in re.findall(r"\w+=('\w+')", plain):
        assert choice in latex


def test_formulas_of_introductions_stand_there() -> None:
    about = " ".join(" ".join((inspect.getdoc(module) or "").split()) for module in FAMILIES)
    assert [plain for plain in formulas.phrases() if plain not in about] == []


def test_every_family_has_a_sentence() -> None:
    for module in FAMILIES:
        assert (inspect.getdoc(module) or "").split("\n\n")[0].endswith(".")


@pytest.mark.parametrize("verb", Verbs.NAMES)
def test_every_command_has_help(verb: str) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    assert command.help
    assert command.short_help
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name != "format":
            assert parameter.help, f"{verb} --{parameter.name}"


def test_the_pages_on_python_have_every_public_name() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "api").glob("*.md")))
    assert {name for name in cf.__all__ if not re.search(rf"\b{name}\b", pages)} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_examples_of_the_documentation_run(page: Path) -> None:
    blocks = FENCE.findall(page.read_text(encoding="utf-8"))
    names = {"cf": cf, "parse": cf.parse}
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), names, page.name, str(page), 0)
    said: list[str] = []
    with patch.dict(CATALOGUE):  # a page may define measures
        runner = doctest.DocTestRunner(
            checker=Checker(), verbose=False, optionflags=FLAGS
        )  # else `pytest -v` makes it so
        runner.run(test, out=said.append)
    assert not said, "".join(said)


CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_cells_of_the_notebook_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a kernel: each cell, and what a notebook would show of its last line."""
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    pyplot.close("all")
    names: dict[str, Any] = {}
    cells = CELL.findall((DOCS / "notebook.md").read_text(encoding="utf-8"))
    assert len(cells) > 8
    for cell in cells:
        *lines, last = cell.rstrip().split("\n")
        exec("\n".join(lines), names)
        if last.endswith((")", ";")) and not last.startswith("print"):
            exec(last, names)
        elif not last.startswith("print"):
            result = eval(last, names)
            assert result is not None and result is not False
            assert hasattr(result, "_repr_html_") or len(repr(result)) < 400
    assert len(pyplot.get_fignums()) == sum(".plot(" in cell for cell in cells)
    pyplot.close("all")


def test_the_copy_button_takes_commands_and_statements_only() -> None:
    prompt = runpy.run_path(str(DOCS / "conf.py"))["copybutton_prompt_text"]
    lines = ["$ ls", ">>> f(1)", "... x", "...", "... 3 more lines", "note: $ 5", "1.0", "  >>> no"]
    assert [bool(re.match(f"^(?:{prompt})", line)) for line in lines] == [True] * 4 + [False] * 4


PATH = r"`((?:src|tests|docs|benchmarks|fuzz)/[\w./-]*)`"


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_paths_of_the_map_exist(page: str) -> None:
    """NAME stands for a study, so that any study will do."""
    paths = re.findall(PATH, (ROOT / page).read_text(encoding="utf-8"))
    assert len(paths) > 15
    assert [path for path in paths if not (ROOT / path.replace("NAME", "power")).exists()] == []


FOLDERS = {path.parent.name for path in (ROOT / "src" / "cranfield").glob("*/__init__.py")}


def test_the_table_of_folders_has_every_folder() -> None:
    rows = re.findall(
        r"^\| `src/cranfield/(\w+)/` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(rows) == sorted(FOLDERS)


def test_the_map_names_every_folder() -> None:
    """In its drawing, or in its text."""
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    drawing = (DOCS / "_static" / "architecture.svg").read_text(encoding="utf-8")
    named = re.findall(r"src/cranfield/(\w+)/|`(\w+)`", page) + [
        (name, "") for name in re.findall(r">(\w+)</text>", drawing)
    ]
    assert FOLDERS - {name for pair in named for name in pair} == set()


def test_names_of_the_map_are_where_it_says() -> None:
    page = " ".join((DOCS / "architecture.md").read_text(encoding="utf-8").split())
    pairs = re.findall(rf"`(\w+)` in {PATH}", page)
    assert len(pairs) > 5
    assert [pair for pair in pairs if pair[0] not in (ROOT / pair[1]).read_text(encoding="utf-8")] == []


def test_the_drawing_of_the_map_names_folders() -> None:
    drawing = (DOCS / "_static" / "architecture.svg").read_text(encoding="utf-8")
    names = re.findall(r">(\w+)</text>", drawing.partition('font-weight="600"')[2].partition("</g>")[0])
    assert len(names) > 10
    assert {name for name in names if not (ROOT / "src" / "cranfield" / name).is_dir()} == {"input"}


def test_numbers_may_differ_in_the_last_digit_only() -> None:
    checker = Checker()
    assert checker.check_output("0.5555555555555556\n", "0.5555555555555555\n", 0)
    assert not checker.check_output("0.5556\n", "0.5555\n", 0)
    assert not checker.check_output("a 0.5\n", "b 0.5\n", 0)


# What `differences` says of other tools, asked of those that are installed.

TIED = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}


def pytrec(run: Any, qrels: Any, measure: str) -> dict[str, float]:
    tool = pytest.importorskip("pytrec_eval")
    found = tool.RelevanceEvaluator(qrels, {measure}).evaluate(run)
    return {query: next(iter(values.values())) for query, values in found.items()}


def ir_measures(run: Any, qrels: Any, measure: str) -> float:
    tool = pytest.importorskip("ir_measures")
    if sys.version_info >= (3, 14):
        pytest.skip("ir_measures 0.4.3 does not read names of measures with parameters on Python 3.14")
    return float(tool.calc_aggregate([tool.parse_measure(measure)], qrels, run).popitem()[1])


def test_pytrec_eval_settles_ties_by_descending_id() -> None:
    assert pytrec(TIED, {"q": {"a": 1}}, "recip_rank")["q"] == pytest.approx(1 / 3)


def test_two_measures_of_ir_measures_see_two_rankings() -> None:
    assert ir_measures(TIED, {"q": {"a": 1}}, "RR") == pytest.approx(1 / 3)
    assert ir_measures(TIED, {"q": {"a": 1}}, "RR@10") == pytest.approx(1)


def test_pytrec_eval_sorts_by_32_bits() -> None:
    assert pytrec({"q": {"a": 0.30000001, "b": 0.3}}, {"q": {"a": 1}}, "recip_rank")["q"] == pytest.approx(0.5)


def test_unanswered_queries_elsewhere() -> None:
    run, qrels = {"q1": {"a": 1.0}}, {"q1": {"a": 1}, "q2": {"b": 1}}
    assert set(pytrec(run, qrels, "map")) == {"q1"}
    assert ir_measures(run, qrels, "AP") == pytest.approx(0.5)


def test_queries_without_relevant_documents_count_zero_elsewhere() -> None:
    run, qrels = {"q1": {"a": 1.0}, "q2": {"b": 1.0}}, {"q1": {"a": 1}, "q2": {"b": 0}}
    assert pytrec(run, qrels, "map")["q2"] == 0
    assert ir_measures(run, qrels, "AP") == pytest.approx(0.5)


def test_judged_at_k_of_ir_measures_divides_by_what_was_retrieved() -> None:
    assert ir_measures({"q": {"a": 2.0, "x": 1.0}}, {"q": {"a": 1}}, "Judged@10") == pytest.approx(0.5)


def test_compat_of_ir_measures_ends_with_the_longer_list() -> None:
    run, qrels = {"q": {"a": 1.0}}, {"q": {"a": 1, "b": 1}}
    ours = cf.evaluate(qrels, run, ["Compat", "Compat(depth=None)"])._means[0]
    assert ir_measures(run, qrels, "Compat") == pytest.approx(ours[1])
    assert ours[0] != pytest.approx(ours[1])


def test_set_f_takes_the_square_of_beta_elsewhere() -> None:
    run, qrels = {"q": {"a": 2.0, "x": 1.0}}, {"q": {"a": 1, "b": 1, "c": 1}}
    ours = cf.evaluate(qrels, run, ["set_F.2", "SetF(beta=2)"])._means[0]
    assert ir_measures(run, qrels, "SetF(beta=2.0)") == pytest.approx(ours[0])
    assert pytrec(run, qrels, "set_F.2")["q"] == pytest.approx(ours[0])
    assert ours[0] != pytest.approx(ours[1])


def test_interpolated_precision_of_pytrec_eval_rounds_as_version_9() -> None:
    run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    qrels = {"q": {"a": 1, "b": 1, "c": 1, "d": 1}}
    assert pytrec(run, qrels, "iprec_at_recall_0.30")["q"] == pytest.approx(2 / 3)


def test_pytrec_eval_refuses_grades_that_are_not_whole() -> None:
    with pytest.raises(TypeError):
        pytrec({"q": {"a": 1.0}}, {"q": {"a": 0.5}}, "ndcg")


def test_names_of_the_migration_page_mean_what_it_says() -> None:
    page = (DOCS / "migration.md").read_text().partition("## Options")[0]
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 40
    for *theirs, ours in rows:
        for name in re.findall(r"`([^`]+)`", " ".join(theirs)):
            assert cf.parse(name) == cf.parse(ours.strip().strip("`")), name


def test_the_page_of_peers_has_no_empty_cell() -> None:
    from reference import peers_page

    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in peers_page().splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    assert [row for row in rows if len(row) != 3 or not all(cell.strip() for cell in row)] == []


def test_the_recipe_for_github_actions_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = re.search(r"^```yaml\n(.*?)^```$", (DOCS / "ci.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert recipe is not None
    (command,) = re.findall(r"^ +(cranfield compare (?:.*\\\n)*.*)$", recipe[1], re.MULTILINE)
    for name, source in (("qrels.txt", "qrels.txt"), ("new.run", "llm.run"), ("old.run", "dense.run")):
        (tmp_path / name).write_bytes(example.path(source).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    save = "cranfield eval qrels.txt old.run --format json -o scores.json"
    for line in (save, command):
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "nDCG@10" in Path("summary.md").read_text(encoding="utf-8")
    assert "<testsuite" in Path("junit.xml").read_text(encoding="utf-8")
