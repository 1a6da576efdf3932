"""The HTML report, read as text and used in a real browser."""

from __future__ import annotations

import base64
import contextlib
import csv
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import cranfield as cf
from collection_files import write_collection
from cranfield import example
from cranfield.analysis.compare import comparable, compare_scores
from cranfield.analysis.significance import ComparisonSettings
from cranfield.cli.main import cli
from cranfield.codec import plain
from cranfield.evaluation.collection import split_options
from cranfield.report.compare import pages
from cranfield.report.html import LONGEST_LABEL, contents, cut_names, html

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MEASURES = ["AP", "nDCG@10", "RR", "NumRet"]
NASTY = '</script><img src=x onerror="window.hacked=1">{version} ü 文'
FLAGS = (
    *("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"),
    *("disable-component-update", "disable-sync", "window-size=1280,900"),
)


def copied(folder: Path) -> tuple[list[str], str]:
    """The files of the example in a folder, by their names there."""
    for name in example.NAMES:
        shutil.copyfile(example.path(name), folder / name)
    return [f"{name}.run" for name in ("bm25", "dense", "llm", "quiet")], "qrels.txt"


def museum() -> tuple[list[str], str]:
    folder = Path(example.__file__).parent
    return [str(folder / f"{name}.run") for name in ("bm25", "dense", "llm", "quiet")], str(folder / "qrels.txt")


def page_of(source: cf.Evaluation | cf.Scores, texts: Any = (), group_by: str | None = None, **how: Any) -> Any:
    """The data of a page on scores, with the rankings of an evaluation; ``how``: settings of the comparison."""
    evaluation = source if isinstance(source, cf.Evaluation) else None
    scores = source if isinstance(source, cf.Scores) else source.scores
    settings, columns, comparison = ComparisonSettings(**how), comparable(scores), None
    if len(scores.runs) > 1 and columns:
        comparison = compare_scores(scores.only(measures=columns), settings, evaluation)
    return contents(scores, settings, comparison, evaluation, texts=texts, group_by=group_by)


def report(source: cf.Evaluation | cf.Scores, title: str = "Evaluation", **options: Any) -> str:
    return html(page_of(source, **options), title)


def evaluated(qrels: Any, runs: Any, measures: Any, *, page: int = 20, names: Any = None, **how: Any) -> cf.Evaluation:
    parts, options = split_options(how)
    return cf.Evaluator(cf.Collection(qrels, **parts), measures, **options).evaluation(runs, page=page, names=names)


def test_data_are_the_scores() -> None:
    runs, qrels = museum()
    found = page_of(evaluated(qrels, runs, MEASURES))
    scores = cf.evaluate(qrels, runs, MEASURES)
    assert found["means"] == [[entry["mean"] for entry in run.values()] for run in scores.to_dict()["runs"].values()]
    assert found["low"][0][0] == pytest.approx(scores._interval(0, 0)[0], abs=1e-12)
    compared = cf.compare(qrels, runs, MEASURES)
    assert found["pairs"]["corrected"] == [one.corrected.tolist() for one in compared.by_measure]
    assert found["pairs"]["doubts"][0] == [" ".join(causes or ()) for causes in compared["AP"].doubts]
    assert found["pairs"]["baseline"] is None
    json.dumps(found, allow_nan=False)


def test_with_a_baseline_all_tests_are_against_it() -> None:
    runs, qrels = museum()
    evaluation = evaluated(qrels, runs, MEASURES)
    found = page_of(evaluation, baseline="dense")
    compared = cf.compare(evaluation, baseline="dense")
    assert found["pairs"]["baseline"] == [1] * len(MEASURES) and found["runs"][1] == "dense"
    for name in ("difference", "p", "corrected", "low", "high"):
        expected = [[getattr(pair, name) for pair in one.pairs] for one in compared.by_measure]
        assert found["pairs"][name] == plain(expected)
    assert "3 runs against dense per measure" in found["method"] and found["ranks"] == ""
    assert "interval at the corrected level" in found["method"]
    # The best run of each measure has the others as its pairs.
    best = page_of(evaluation, baseline="best")
    runs = [evaluation.scores.order(measure)[0] for measure in MEASURES]
    assert best["pairs"]["baseline"] == [evaluation.runs.index(run) for run in runs]


def test_what_was_not_audited_is_null() -> None:
    scores = judged_elsewhere()
    assert page_of(scores)["pairs"]["doubts"] == [[None] * 6] * 2


def test_measures_that_read(tmp_path: Path) -> None:
    runs, _ = museum()
    qrels, corpus = (str(example.path(name)) for name in (example.DIVERSITY, "documents.jsonl"))
    found = page_of(evaluated(qrels, runs, ["DELTARB@5", "AP"], documents=corpus))
    scores = cf.evaluate(cf.Collection(qrels, documents=corpus), runs, ["DELTARB@5", "AP"])
    assert found["means"] == scores._means.tolist()
    assert [found["audit"][name][0][0] for name in ("worst", "lowest")] == [None, None]
    args = ["report", qrels, *runs[:2], "-m", "DELTARB@5", "--corpus", corpus, "-o", str(tmp_path / "report.html")]
    result = CliRunner().invoke(cli, args)
    assert result.exit_code == 0, result.output
    data = json.loads(re.search(r'id="data">(.*?)</script>', (tmp_path / "report.html").read_text(), re.S)[1])
    told = [line for line in data["commands"] if "DELTARB@5" in line]
    assert len(told) == 4 and all("--corpus documents.jsonl" in line for line in told)


def test_texts_are_read_from_the_collection() -> None:
    runs, qrels = museum()
    source = Path(example.__file__).parent / "documents.jsonl"
    found = page_of(evaluated(qrels, runs, ["AP"], page=3), texts=[source])["texts"]
    records = {one["id"]: f"{one['title']}\n{one['text']}" for one in map(json.loads, source.read_text().splitlines())}
    assert found
    for name, text in found.items():
        assert text.removesuffix("…") in records[name]


VIEWED = (
    "--ties",
    "expected",
    "--condensed",
    "--test",
    "t",
    "--correction",
    "bh",
    "--tests",
    "wilcoxon",
    "--alpha",
    "0.1",
)
TOLD = ("--queries", "both", "--undefined", "zero", "--seed", "3", "--samples", "999", "--nil", "none")


AGAINST = ("--baseline", "dense.run", "--test", "t")


@pytest.mark.parametrize("more", [(), VIEWED, TOLD, AGAINST])
def test_commands_give_the_numbers_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    runs, qrels = copied(tmp_path)
    path = tmp_path / "report.html"

    def called(*args: str) -> str:
        result = CliRunner().invoke(cli, list(args), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    called("report", qrels, *runs, "-m", "AP nDCG@10", "-m", "RBP(p=0.8)", "-o", str(path), *more)
    data = json.loads(re.search(r'id="data">(.*?)</script>', path.read_text())[1])
    found: dict[str, Any] = {}
    for command in data["commands"]:
        name, verb, *rest = shlex.split(command)
        assert name == "cranfield"
        if verb == "eval":
            rows = list(csv.DictReader(StringIO(called(verb, *rest, "--format", "csv"))))
            for name, column in (("means", "value"), ("low", "low"), ("high", "high")):
                flat = [value for row in data[name] for value in row]
                assert [float(row[column]) for row in rows] == pytest.approx(flat, abs=1e-12)
            continue
        found[verb] = json.loads(called(verb, *rest, "--format", "json"))
    assert list(found) == ["compare", "queries", "audit"]
    pairs = found["compare"]["pairs"]
    for name in ("difference", "low", "high", "p", "corrected", "effect", "effect_low", "effect_high"):
        packed = np.frombuffer(base64.b64decode(data["pairs"][name]), "<f8")
        assert [one[name] for one in pairs] == [None if np.isnan(value) else value for value in packed.tolist()]
    assert found["compare"]["baseline"] == ("dense" if more == AGAINST else None)
    for name in ("wins", "losses"):
        assert [one[name] for one in pairs] == [value for row in data["pairs"][name] for value in row]
    audits = found["audit"]["runs"].values()
    assert [[one["ties"]["best"] for one in run["measures"].values()] for run in audits] == data["audit"]["best"]
    limits = [[one["queries"]["low"] for one in run["measures"].values()] for run in audits]
    assert limits == [pytest.approx(row, abs=1e-12) for row in data["low"]]


def test_subtopics_and_intents_have_a_report(tmp_path: Path) -> None:
    runs, qrels = museum()
    diverse = qrels.replace("qrels.txt", "qrels.diversity.txt")
    query, subtopic, *_ = Path(diverse).read_text().split()
    weights, path = tmp_path / "intents", tmp_path / "report.html"
    weights.write_text(f"{query} {subtopic} 9\n")
    collection = write_collection(tmp_path, qrels=diverse, intents=weights)
    result = CliRunner().invoke(cli, ["report", collection, *runs, "-o", str(path)])
    assert result.exit_code == 0
    data = json.loads(re.search(r'id="data">(.*?)</script>', path.read_text())[1])
    assert data["measures"][0] == "ERR_IA@20"
    assert (
        data["means"][0][0]
        == cf.evaluate(cf.Collection(diverse, intents=str(weights)), runs[0], "ERR_IA@20")._means[0, 0]
    )
    assert all(" collection.toml " in line for line in data["commands"])


def test_queries_too_few_to_compare_have_a_report(opened: Any) -> None:
    qrels = {"1": {"a": 1}, "2": {"a": 1}}
    browser = opened([{"1": {"a": 1.0}}, {"2": {"a": 1.0}}], qrels, ["RR"], names=["x", "y"], queries="both")
    assert texts(browser, "#pair") == ["RR has no per-query values to test."]
    assert texts(browser, "#by-query tbody tr") == []


def test_one_run_has_a_report() -> None:
    runs, qrels = museum()
    found = page_of(evaluated(qrels, runs[0], ["AP", "GMAP"]))
    assert found["pairs"] == {}
    assert found["agreement"] == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    runs, qrels = museum()
    page = report(evaluated(qrels, runs, MEASURES))
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=\"(?!#)", outside)
    allowed = page.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert allowed.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in allowed.split(";")[1]
    assert not re.search(r"\{(title|version|style|data|charts|app)\}", outside)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs Chromium and its driver")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Any:
    """A function that opens a page with all its charts drawn."""

    def show(page: str) -> Any:
        path = tmp_path / "report.html"
        path.write_text(page, encoding="utf-8")
        browser.get(path.as_uri())
        browser.execute_async_script("report.paint().then(() => arguments[0]())")
        return browser

    yield show
    said = [(entry["level"], entry["message"]) for entry in browser.get_log("browser")]
    assert said == []


@pytest.fixture
def opened(shown: Any) -> Any:
    """A function that opens a report with all its charts drawn."""

    def show(runs: Any, qrels: Any, measures: Any, texts: Any = (), title: str = "Report", **how: Any) -> Any:
        return shown(report(evaluated(qrels, runs, measures, **how), texts=texts, title=title))

    return show


def texts(browser: Any, selector: str) -> list[str]:
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((n) => n.textContent)", selector
    )


def click(browser: Any, script: str) -> None:
    browser.execute_script(f"({script}).click()")


def test_numbers_are_those_of_the_library(opened: Any) -> None:
    runs, qrels = museum()
    browser = opened(runs, qrels, MEASURES)
    expected = cf.evaluate(qrels, runs, MEASURES).to_dict()["runs"]
    found = browser.execute_script("""
        const d = report.data, out = {};
        d.runs.forEach((run, r) => { out[run] = {}; d.measures.forEach((m, i) => { out[run][m] = {};
          d.counted[r].forEach((q) => { const v = report.value(r, i, q); out[run][m][d.queries[q]] = Number.isNaN(v) ? null : v; }); }); });
        return out;""")
    assert found == {run: {m: one["queries"] for m, one in by.items()} for run, by in expected.items()}
    cell = texts(browser, "#scores tbody tr[data-run='llm'] td")[1]
    assert cell.startswith(f"{expected['llm']['AP']['mean']:.4f} [")
    assert len(texts(browser, ".chart svg")) == 5
    assert len(texts(browser, ".chart canvas")) == 1


def test_headings_sort_and_fields_find(opened: Any) -> None:
    browser = opened(*museum(), MEASURES)
    order = lambda: texts(browser, "#scores tbody tr td:first-child")  # noqa: E731
    assert order()[0] == "llm"
    button = "document.querySelectorAll('#scores thead button')[1]"
    click(browser, button)
    assert order()[-1] == "llm"
    assert browser.execute_script(f"return {button}.parentElement.getAttribute('aria-sort')") == "ascending"
    browser.execute_script(
        "const f = document.getElementById('find-run'); f.value = 'QUI'; f.dispatchEvent(new Event('input'))"
    )
    assert order() == ["quiet"]


def test_headings_sort_from_the_keyboard(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = opened(*museum(), MEASURES)
    browser.find_elements("css selector", "#scores thead button")[0].send_keys(Keys.ENTER)
    assert texts(browser, "#scores tbody tr td:first-child") == ["bm25", "dense", "llm", "quiet"]


def test_a_query_opens_with_both_rankings(opened: Any) -> None:
    runs, qrels = museum()
    browser = opened(runs, qrels, MEASURES)
    browser.execute_script("report.select({a: 0, b: 2})")
    click(browser, "document.querySelector('#by-query tr[data-query=q1] button')")
    assert texts(browser, "#detail h3") == ["Query q1"]
    heads = texts(browser, "#detail h4")
    assert [head.partition(":")[0] for head in heads] == ["bm25", "llm"]
    shown = texts(browser, ".rankings > div:first-child .document")
    table = [line.split() for line in Path(runs[0]).read_text().splitlines()]
    ranked = sorted(
        ((float(score), document) for query, _, document, _, score, _ in table if query == "q1"), reverse=True
    )
    assert shown == [document for _, document in ranked][:20]
    marks = texts(browser, ".rankings > div:first-child .grade")
    judged = cf.read_qrels(qrels)
    mine = list(judged.documents)[judged.begin[0] : judged.begin[1]]
    assert [mark == "?" for mark in marks] == [document not in mine for document in shown]
    tied = browser.execute_script("return document.querySelectorAll('.rankings > div:last-child li.tied').length")
    scores = [line.split()[4] for line in Path(runs[2]).read_text().splitlines() if line.startswith("q1 ")]
    assert tied == sum(scores.count(score) > 1 for score in scores)


def test_a_verdict_says_what_the_comparison_says(opened: Any) -> None:
    runs, qrels = museum()
    browser = opened(runs, qrels, MEASURES)
    one = cf.compare(cf.evaluate(qrels, runs, MEASURES))["AP"].pairs[1]
    assert (one.run, one.other) == ("llm", "bm25")
    browser.execute_script("report.select({a: 0, b: 2, measure: 0})")
    told = texts(browser, "#pair")[0]
    assert f"difference {-one.difference:.4f}" in told
    assert f"corrected {one.corrected:.4f}" in told
    browser.execute_script("report.select({a: 2, b: 0})")
    # Seven queries cannot be significant after correction: no difference is excluded.
    assert one.high == np.inf and f"difference +{one.difference:.4f} [-∞, +∞]" in texts(browser, "#pair")[0]


def test_ids_are_text_and_never_run(opened: Any) -> None:
    qrels = {NASTY: {NASTY: 1, "b": 0}, "q": {"b": 1}}
    runs = [{NASTY: {NASTY: 2.0, "b": 1.0}, "q": {"b": 1.0}}, {NASTY: {"b": 2.0, NASTY: 1.0}, "q": {NASTY: 1.0}}]
    browser = opened(
        runs,
        qrels,
        ["RR", "AP"],
        title=NASTY,
        names=[NASTY, "other"],
        texts={NASTY: NASTY},
    )
    browser.execute_script("report.open(0)")
    assert browser.execute_script("return window.hacked") is None
    assert texts(browser, "h1") == [NASTY]
    assert texts(browser, "#scores tbody td:first-child")[0] == NASTY
    assert texts(browser, ".rankings > div:first-child .document summary")[0] == NASTY + NASTY
    assert texts(browser, ".rankings details p")[0] == NASTY
    assert browser.execute_script("return document.images.length") == 0


def test_the_theme_changes_and_charts_follow(opened: Any) -> None:
    browser = opened(*museum(), MEASURES)
    ground = lambda: browser.execute_script("return getComputedStyle(document.body).backgroundColor")  # noqa: E731
    before = ground()
    click(browser, "document.getElementById('theme')")
    browser.execute_async_script("report.paint().then(() => arguments[0]())")
    assert ground() != before
    assert len(texts(browser, ".chart svg")) == 5
    assert len(texts(browser, ".chart canvas")) == 1


def test_what_cannot_be_compared_is_said_and_never_called_significant(opened: Any) -> None:
    browser = opened(*museum(), ["AP", "GMAP", "NumRet"])
    browser.execute_script("report.select({measure: 1})")
    assert texts(browser, "#pair") == ["GMAP has no per-query values to test."]
    assert browser.execute_script("return report.pairResult(1, 0, 1)") is None
    # A count is summed on the board, and compared by query.
    browser.execute_script("report.select({measure: 2, a: 0, b: 3})")
    runs, qrels = museum()
    one = cf.compare(cf.evaluate(qrels, runs, ["NumRet"]))["NumRet"].pairs[2]
    assert (one.run, one.other) == ("quiet", "bm25")
    assert f"{one.other_mean:.4f} vs {one.mean:.4f}, 8 queries" in texts(browser, "#pair")[0]


def test_means_in_a_verdict_are_of_the_queries_compared(opened: Any) -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(6)}
    new = {q: {"a": 2.0, "b": 1.0} for q in list(qrels)[:4]}
    old = {q: {"b": 2.0, "a": 1.0} for q in list(qrels)[1:]}
    third = {q: {"c": 3.0, "b": 2.0, "a": 1.0} for q in list(qrels)[1:]}
    browser = opened([new, old, third], qrels, ["RR"], names=["new", "old", "third"], queries="both")
    browser.execute_script("report.select({a: 0, b: 1})")
    assert "1.0000 vs 0.5000, 3 queries; difference +0.5000" in texts(browser, "#pair")[0]
    row = texts(browser, "#by-query tr[data-query=q1] td")
    assert row[1:5] == ["1.0000", "0.5000", "+0.5000", f"{(1 + 1 / 2 + 1 / 3) / 3:.4f}"]
    browser.execute_script("report.select({a: 1, b: 2})")
    row = texts(browser, "#by-query tr[data-query=q5] td")
    assert row[4] == f"{(1 / 2 + 1 / 3) / 2:.4f}"  # without the run that does not answer it


def test_a_choice_keeps_the_focus_and_the_order(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = opened(*museum(), MEASURES)
    focus = lambda: browser.execute_script("return document.activeElement.textContent")  # noqa: E731
    button = browser.find_element("css selector", "#scores tr[data-run=quiet] button")
    button.send_keys(Keys.ENTER)
    assert focus() == "quiet"
    assert browser.execute_script("return report.state.a") == 3
    browser.find_elements("css selector", "#by-query thead button")[4].send_keys(Keys.ENTER)
    order = texts(browser, "#by-query td:first-child")
    browser.find_element("css selector", "#by-query tr[data-query=q2] button").send_keys(Keys.ENTER)
    assert browser.execute_script("return document.activeElement.id") == "detail"
    browser.find_element("id", "run-b").send_keys(Keys.ARROW_DOWN)
    assert browser.execute_script("return document.activeElement.id") == "run-b"
    assert texts(browser, "#by-query td:first-child") == order
    assert texts(browser, "#detail h3") == ["Query q2"]


def test_names_that_every_object_has_are_names(opened: Any) -> None:
    names = ["constructor", "__proto__", "toString"]
    qrels = {name: dict.fromkeys(names, 1) for name in names}
    run = {name: {one: float(i) for i, one in enumerate(names)} for name in names}
    browser = opened([run, run], qrels, ["AP"], names=names[:2], texts={"toString": "a text"})
    browser.execute_script("report.open(1)")
    assert texts(browser, ".rankings > div:first-child .document") == [
        "toStringa texta text",
        "__proto__",
        "constructor",
    ]
    assert texts(browser, ".rankings details p") == ["a text"] * 2


def test_a_measure_that_orders_no_runs_agrees_with_none(opened: Any) -> None:
    qrels = {q: {"a": 1} for q in "123"}
    runs = [{q: {"a": 2.0, "b": 1.0} for q in "123"}, {q: {"b": 2.0, "a": 1.0} for q in "123"}]
    browser = opened(runs, qrels, ["RR", "NumRet"], names=["x" * 200, "y" * 200])
    drawn = texts(browser, "#chart-agreement .mark-text.role-mark text")
    assert sorted(drawn) == ["1.00", "–", "–", "–"]
    browser.set_window_size(400, 800)
    assert browser.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0
    browser.set_window_size(1280, 900)


def test_nothing_moves_while_charts_are_drawn(opened: Any, browser: Any, tmp_path: Path) -> None:
    runs, qrels = museum()
    path = tmp_path / "still.html"
    path.write_text(report(evaluated(qrels, runs, MEASURES)), encoding="utf-8")
    browser.get(path.as_uri())
    tops = "return [...document.querySelectorAll('section')].map((s) => s.offsetTop)"
    before = browser.execute_script(tops)
    browser.execute_async_script("report.paint().then(() => arguments[0]())")
    assert browser.execute_script(tops) == before


def test_a_whole_track_fits(opened: Any) -> None:
    made = cf.simulate(queries=43, systems=37, documents=2000, depth=100, seed=1)
    browser = opened(made.runs, made.judgments, ["AP", "nDCG@10"])
    assert len(browser.page_source) < 10_000_000
    assert len(texts(browser, "#scores tbody tr")) == 37
    width = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
    assert width <= 0


def test_a_headline_says_who_is_best_and_by_how_much(opened: Any) -> None:
    browser = opened(*museum(), ["AP", "RR"])
    scores = cf.evaluate(*museum()[::-1], ["AP", "RR"])
    (headline,) = texts(browser, "#headline")
    assert headline == pages(cf.compare(*museum()[::-1], ["AP"]))[0].title
    assert headline.startswith(f"llm has the highest AP, {scores._means[2, 0]:.4f}.")
    assert "significantly better" in headline
    browser.execute_script("report.select({ measure: 1 })")
    assert texts(browser, "#headline")[0].startswith("llm has the highest RR")
    alone = opened({"q": {"a": 1.0}}, {"q": {"a": 1}}, ["RR"])
    assert texts(alone, "#headline") == ["run: RR 1.0000 over 1 query."]


def test_a_link_opens_the_same_pair_and_query(opened: Any, browser: Any) -> None:
    opened(*museum(), MEASURES)
    assert browser.execute_script("return location.hash") == ""
    browser.execute_script("report.select({ measure: 1, a: 3, b: 0 }); report.open(2)")
    (link,) = browser.execute_script("return [...document.querySelectorAll('#detail .permalink')].map((n) => n.href)")
    assert browser.current_url == link
    browser.get("about:blank")
    browser.get(link)
    state = browser.execute_script("return report.state")
    assert (state["measure"], state["a"], state["b"], state["query"]) == (1, 3, 0, 2)
    assert texts(browser, "#detail h3")[0].startswith("Query q3")
    # A section is a section, and a link to something unknown changes nothing.
    browser.execute_script("location.hash = '#audit'")
    browser.execute_script("location.hash = '#measure=xyzzy&a=nobody'")
    assert browser.execute_script("return report.state.a") == 3


def test_a_page_with_a_baseline_tests_every_run_against_it(shown: Any) -> None:
    scores = judged_elsewhere()
    pairs = cf.compare(scores, baseline="c")["faithfulness"].pairs
    browser = shown(report(scores, baseline="c"))
    d = pairs[2]
    assert (d.run, d.other, [pair.run for pair in pairs]) == ("d", "c", ["base", "constructor", "d"])
    better, worse = (sum(pair.significant and sign * pair.difference > 0 for pair in pairs) for sign in (1, -1))
    told = texts(browser, "#headline")[0]
    assert told.startswith("d has the highest faithfulness")
    assert f"{'' if d.significant else 'not '}significantly better than the baseline c (+{d.difference:.4f}" in told
    counts = (
        f"of 3 runs, {better} {'is' if better == 1 else 'are'} significantly better and {worse} significantly worse."
    )
    assert told.endswith(counts if better or worse else "no run is significantly better or worse.")
    assert texts(browser, "#scores thead th")[3] == "faithfulness vs c"
    assert texts(browser, '#scores tr[data-run="c"] td:nth-child(4)') == ["baseline"]
    for pair in pairs:
        cell = texts(browser, f'#scores tr[data-run="{pair.run}"] td:nth-child(4)')[0]
        assert f"{pair.difference:+.4f}".replace("-", "") in cell.replace("-", "").replace("−", "")
        assert cell.startswith(("▲ ", "▼ ")) == pair.significant
    # Only pairs with the baseline were tested.
    browser.execute_script("report.select({a: 0, b: 1})")
    assert texts(browser, "#pair")[0].startswith("Every run is tested against the baseline c")
    browser.execute_script("report.select({a: 2, b: 3})")
    assert f"difference {-d.difference:.4f}" in texts(browser, "#pair")[0]
    assert not browser.execute_script("return document.querySelector('.matrix').offsetParent")
    rows = list(csv.DictReader(StringIO(browser.execute_script("return report.csv('pairs')"))))
    found = {(row["run"], row["versus"]): (float(row["difference"]), float(row["corrected"])) for row in rows}
    assert found == {(pair.run, pair.other): (pair.difference, pair.corrected) for pair in pairs}
    assert {row["reversible by"] for row in rows} == {"not audited"}


def test_tables_are_files_too(opened: Any) -> None:
    browser = opened(*museum(), ["AP", "RR"])
    scores = list(csv.DictReader(StringIO(browser.execute_script("return report.csv('scores')"))))
    expected = cf.evaluate(*museum()[::-1], ["AP", "RR"])
    assert {row["run"]: float(row["AP"]) for row in scores} == dict(
        zip(expected.runs, expected._means[:, 0].tolist(), strict=True)
    )
    pairs = list(csv.DictReader(StringIO(browser.execute_script("return report.csv('pairs')"))))
    assert len(pairs) == 6
    found = cf.compare(expected)["AP"].pairs
    for row, pair in zip(pairs, found, strict=True):
        assert (row["run"], row["versus"]) == (pair.run, pair.other)
        assert (float(row["difference"]), float(row["corrected"])) == (pair.difference, pair.corrected)
    queries = list(csv.DictReader(StringIO(browser.execute_script("return report.csv('queries')"))))
    assert {row["run"] for row in queries} == {"llm", "dense"}
    for name in ("scores", "pairs", "queries"):
        click(browser, f"document.getElementById('csv-{name}')")


def test_labels_are_short_but_never_the_same(opened: Any) -> None:
    names = ["input.2019." + "a" * 40 + sign + "z" * 40 for sign in "xy"] + ["input.2019.bm25"]
    qrels, run = {"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 2.0, "b": 1.0}, "r": {"a": 1.0}}
    browser = opened([run, run, run], qrels, ["RR"], names=names)
    shown = texts(browser, "#scores tbody td:first-child")
    assert sorted(shown) == sorted(names)
    ticks = browser.execute_script("return report.data.ticks")
    assert len(set(ticks)) == 3 and max(map(len, ticks)) <= LONGEST_LABEL + 1


MANY = 70


@pytest.fixture
def many(opened: Any) -> Any:
    """A report on many runs, of which some differ significantly."""
    names = [f"r{i}" for i in range(MANY)]
    qrels = {f"q{q}": {"a": 1} for q in range(40)}
    runs = [{q: {"a": 3.0 if n < 40 - i * 4 // 7 else 1.0, "b": 2.0} for n, q in enumerate(qrels)} for i in range(MANY)]
    return opened(runs, qrels, ["RR"], names=names, page=1)


def matrix(browser: Any) -> tuple[int, int, int, bool]:
    """The first row, first column and number of runs in view, and whether they have labels."""
    return tuple(
        browser.execute_script(
            "const { row, column, count } = report.view; return [row, column, count, report.matrix.size.labelled]"
        )
    )


def at_cell(browser: Any, row: int, column: int) -> tuple[Any, int, int]:
    """The canvas, and where the middle of a cell is, as the distance from the middle of the canvas."""
    canvas = browser.find_element("id", "matrix")
    browser.execute_script("arguments[0].scrollIntoView({ block: 'center' })", canvas)
    x, y, wide, high = browser.execute_script(
        "const { left, top, cell } = report.matrix.size, c = document.getElementById('matrix').getBoundingClientRect();"
        "return [left + (arguments[1] + .5) * cell, top + (arguments[0] + .5) * cell, c.width, c.height]",
        row,
        column,
    )
    return canvas, round(x - wide / 2), round(y - high / 2)


def test_groups_have_no_significant_differences(many: Any) -> None:
    order, groups = many.execute_script("return [report.matrix.order, report.matrix.groups]")
    means = many.execute_script("return report.data.means.map((row) => row[0])")
    assert [means[r] for r in order] == sorted(means, reverse=True)
    assert [run for group in groups for run in order[group["from"] : group["to"] + 1]] == order
    assert 1 < len(groups) < MANY
    significant = lambda a, b: many.execute_script(  # noqa: E731
        "const pair = report.pairResult(0, ...arguments); return pair !== null && pair.significant", a, b
    )
    previous: list[int] = []
    for group in groups:
        members = order[group["from"] : group["to"] + 1]
        assert not any(significant(a, members[-1]) for a in members[:-1])
        assert not previous or any(significant(a, members[0]) for a in previous)
        previous = members
    assert len(texts(many, "#groups tbody tr")) == len(groups)
    scores = list(csv.DictReader(StringIO(many.execute_script("return report.csv('scores')"))))
    assert [int(row["group"]) for row in scores] == [
        i + 1 for i, group in enumerate(groups) for _ in range(group["from"], group["to"] + 1)
    ]


def test_buttons_zoom(many: Any) -> None:
    assert matrix(many) == (0, 0, MANY, False)
    assert texts(many, "#pairs-shown") == [f"Runs 1–{MANY} of {MANY}"]
    disabled = "return ['zoom-in', 'zoom-out', 'zoom-all'].map((id) => document.getElementById(id).disabled)"
    assert many.execute_script(disabled) == [False, True, True]
    click(many, "document.getElementById('zoom-in')")
    assert matrix(many) == (0, 0, 35, True)
    assert texts(many, "#pairs-shown") == [f"Runs 1–35 of {MANY}"]
    for _ in range(5):
        click(many, "document.getElementById('zoom-in')")
    assert matrix(many)[2] == 8
    assert many.execute_script(disabled) == [True, False, False]
    click(many, "document.getElementById('zoom-out')")
    assert matrix(many)[2] == 16
    click(many, "document.getElementById('zoom-all')")
    assert matrix(many) == (0, 0, MANY, False)


def test_a_group_zooms_to_its_runs(many: Any) -> None:
    groups = many.execute_script("return report.matrix.groups")
    click(many, "document.querySelectorAll('#groups tbody button')[1]")
    row, column, count, labelled = matrix(many)
    assert row == column and labelled
    assert row <= groups[1]["from"] and groups[1]["to"] < row + count


def test_a_pointer_names_the_pair_and_selects_it(many: Any) -> None:
    from selenium.webdriver import ActionChains

    canvas, x, y = at_cell(many, 3, 66)
    ActionChains(many).move_to_element_with_offset(canvas, x, y).perform()
    order = many.execute_script("return report.matrix.order")
    (tip,) = texts(many, "#matrix-tip")
    pair = many.execute_script("return report.pairResult(0, ...arguments)", order[3], order[66])
    assert tip.startswith(f"r{order[3]} vs r{order[66]}difference +{pair['difference']:.4f}; corrected p ")
    assert "; significant" in tip
    ActionChains(many).move_to_element_with_offset(canvas, x, y).click().perform()
    assert many.execute_script("return [report.state.a, report.state.b]") == [order[3], order[66]]
    assert texts(many, "#pair")[0].startswith(f"r{order[3]} is significantly better than r{order[66]}")


def test_a_pointer_zooms_and_moves(many: Any) -> None:
    from selenium.webdriver import ActionChains

    canvas, x, y = at_cell(many, 30, 40)
    # Not as two clicks: on a busy machine, these may be too far apart in time.
    many.execute_script(
        "const [canvas, x, y] = arguments, box = canvas.getBoundingClientRect();"
        "const at = { clientX: box.x + box.width / 2 + x, clientY: box.y + box.height / 2 + y };"
        "canvas.dispatchEvent(new MouseEvent('dblclick', at))",
        canvas,
        x,
        y,
    )
    row, column, count, labelled = matrix(many)
    assert count == 35 and labelled and (row, column) == (13, 23)
    cell = many.execute_script("return report.matrix.size.cell")
    canvas, x, y = at_cell(many, 5, 5)
    before = many.execute_script("return [report.state.a, report.state.b]")
    drag = ActionChains(many).move_to_element_with_offset(canvas, x, y).click_and_hold()
    drag.move_by_offset(round(3 * cell), round(2 * cell)).release().perform()
    assert matrix(many)[:2] == (11, 20)
    assert many.execute_script("return [report.state.a, report.state.b]") == before
    many.execute_script(
        "const c = document.getElementById('matrix'), b = c.getBoundingClientRect();"
        "c.dispatchEvent(new WheelEvent('wheel', { ctrlKey: true, deltaY: 1, clientX: b.right - 9, clientY: b.bottom - 9 }))"
    )
    assert matrix(many)[2] == 44


def test_keys_move_select_and_zoom(many: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    order = many.execute_script("return report.matrix.order")
    canvas = many.find_element("id", "matrix")
    canvas.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert texts(many, "#matrix-tip")[0].startswith(f"r{order[1]} vs r{order[2]}")
    canvas.send_keys(Keys.ENTER)
    assert many.execute_script("return [report.state.a, report.state.b]") == [order[1], order[2]]
    canvas.send_keys("+")
    assert matrix(many)[2] == 35
    canvas.send_keys(*[Keys.ARROW_RIGHT] * 40)
    assert matrix(many)[:2] == (0, 8)
    canvas.send_keys("-")
    assert matrix(many)[2] == MANY
    canvas.send_keys("+", "0")
    assert matrix(many) == (0, 0, MANY, False)
    canvas.send_keys(Keys.ARROW_DOWN, Keys.ESCAPE)
    assert many.execute_script("return document.getElementById('matrix-tip').hidden")


def test_few_runs_need_no_zoom(opened: Any) -> None:
    browser = opened(*museum(), ["AP", "GMAP"])
    assert not browser.find_element("id", "zoom").is_displayed()
    assert matrix(browser) == (0, 0, 4, True)
    browser.execute_script("report.select({ measure: 1 })")
    assert not browser.find_element("class name", "matrix").is_displayed()


def test_cells_are_coloured_where_differences_are_significant(many: Any) -> None:
    colour = lambda row, column: many.execute_script(  # noqa: E731
        "const { left, top, cell } = report.matrix.size, from = document.getElementById('matrix');"
        "const scale = from.width / parseFloat(from.style.width), to = document.createElement('canvas');"
        "to.width = to.height = 1;"
        "const pen = to.getContext('2d', { willReadFrequently: true }), middle = (first, n) => (first + (n + .3) * cell) * scale;"
        "pen.drawImage(from, -middle(left, arguments[1]), -middle(top, arguments[0]));"
        "return [...pen.getImageData(0, 0, 1, 1).data]",
        row,
        column,
    )
    assert colour(5, 6)[3] == 0  # nothing is drawn
    better, worse = colour(2, 66), colour(66, 2)
    assert better[2] > better[0] and worse[0] > worse[2]


def test_tags_are_shown_found_and_never_run(opened: Any, tmp_path: Path) -> None:
    tag = "</script><img/src=x/onerror=window.hacked=1>"
    for name, its_tag in (("a", tag), ("b", "b"), ("c", "x" * 200)):
        (tmp_path / f"{name}.run").write_text(f"q1 Q0 d1 1 2 {its_tag}\nq2 Q0 d1 1 2 {its_tag}\n")
    runs = [str(tmp_path / f"{name}.run") for name in "abc"]
    browser = opened(runs, {"q1": {"d1": 1}, "q2": {"d1": 1}}, ["RR"])
    assert texts(browser, "#scores tbody tr[data-run=a] td:first-child") == [f"atag {tag}"]
    assert texts(browser, "#scores tbody tr[data-run=b] td:first-child") == ["b"]
    assert texts(browser, "#run-a option")[:2] == [f"a ({tag})", "b"]
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return document.images.length") == 0
    browser.execute_script(
        "const f = document.getElementById('find-run'); f.value = 'onerror'; f.dispatchEvent(new Event('input'))"
    )
    assert texts(browser, "#scores tbody tr td:first-child") == [f"atag {tag}"]
    scores = list(csv.DictReader(StringIO(browser.execute_script("return report.csv('scores')"))))
    assert {row["run"]: row["tag"] for row in scores}["a"] == tag


def test_labels_of_charts_differ() -> None:
    long = [f"{'a' * 30}{i:03}{'b' * 30}" for i in range(200)]
    far = [f"{'a' * 30}{sign}{'b' * 40}{other}{'c' * 40}" for sign in "xy" for other in "xy"]
    for several in (long, far, [*long, *far, "a" * 15 + "…" + "b" * 15]):
        cut = cut_names(several)
        assert len(set(cut)) == len(several)
        assert max(map(len, cut)) <= LONGEST_LABEL + 1


def test_tables_fit_the_screen_and_paper(opened: Any) -> None:
    names = [f"{'group' * 4}-{i}" for i in range(4)]
    browser = opened(museum()[0], museum()[1], ["AP", "nDCG@10", "RR", "P@10", "R@1000", "bpref"], names=names)
    wide = (
        "return [...document.querySelectorAll('.scroll')].filter((n) => n.scrollWidth > n.clientWidth + 1)"
        ".map((n) => n.firstElementChild.id)"
    )
    assert browser.execute_script(wide) == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.set_window_size(760, 900)  # A4 without margins
    assert browser.execute_script(wide) == []
    assert browser.execute_script("return getComputedStyle(document.getElementById('zoom')).display") == "none"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.set_window_size(1280, 900)


def test_many_files_are_named_once(browser: Any, tmp_path: Path) -> None:
    runs = []
    for i in range(30):
        runs.append(str(tmp_path / f"a run with blanks {i}"))
        Path(runs[-1]).write_text("q1 Q0 d1 1 2 x\n")
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    args = ["report", str(tmp_path / "qrels"), *runs, "-m", "RR", "-o", str(tmp_path / "report.html")]
    assert CliRunner().invoke(cli, args).exit_code == 0
    browser.get((tmp_path / "report.html").as_uri())
    first, second, *_ = texts(browser, "#commands")[0].splitlines()
    assert shlex.split(first.removeprefix("inputs=(").removesuffix(")")) == [Path(name).name for name in args[1:32]]
    assert second == 'cranfield eval "${inputs[@]}" -m RR --interval bca'


def test_a_track_of_many_runs_is_a_small_file() -> None:
    rng = np.random.default_rng(0)
    qrels = {f"q{q}": {f"d{d}": int(rng.integers(0, 3)) for d in range(60)} for q in range(50)}
    runs = [{q: {f"d{d}": float(rng.random()) for d in range(0, 90, 2)} for q in qrels} for _ in range(126)]
    page = report(evaluated(qrels, runs, ["AP", "nDCG@10", "RR", "P@10"], names=[f"r{i}" for i in range(126)]))
    assert len(page.encode()) < 10_000_000


def test_the_default_name_replaces_only_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = [str(example.path(name)) for name in ("qrels.txt", "bm25.run", "dense.run")]
    for _ in range(2):
        assert CliRunner().invoke(cli, ["report", *files, "--quiet"]).exit_code == 0
    Path("report.html").write_text("mine")
    refused = CliRunner().invoke(cli, ["report", *files], standalone_mode=False)
    assert "report.html: the file exists and is not a Cranfield report" in str(refused.exception)
    assert Path("report.html").read_text() == "mine"
    assert CliRunner().invoke(cli, ["report", *files, "-o", "report.html"]).exit_code == 0
    assert "<html" in Path("report.html").read_text()


def test_texts_of_other_documents(tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"_id": "other", "text": "t"}\n')
    files = [str(example.path(name)) for name in ("qrels.txt", "bm25.run", "dense.run")]
    done = CliRunner().invoke(cli, ["report", *files, "-o", str(tmp_path / "r.html"), "--texts", str(texts)])
    assert f"note: {texts}: no text for any of the shown documents" in done.output


def judged_elsewhere() -> cf.Scores:
    """Scores of four systems for two kinds of queries: an advantage in one kind, a lower latency."""
    rng = np.random.default_rng(1)
    kinds = {f"q{q:02}": {"kind": "how" if q % 3 else NASTY, "text": f"question {q}"} for q in range(30)}
    values: dict[str, Any] = {}
    for r, run in enumerate(("base", "constructor", "c", "d")):
        gain = [r * (0.3 if of["kind"] == "how" else 0.0) for of in kinds.values()]
        good = rng.normal(0, 0.2, 30) + gain
        values[run] = {
            "faithfulness": dict(zip(kinds, good.tolist(), strict=True)),
            "latency": dict(zip(kinds, (rng.normal(0, 5, 30) + 100 - 20 * r).tolist(), strict=True)),
        }
    return cf.read_scores(values, queries=kinds, lower="latency")


def test_scores_from_elsewhere_have_a_report_without_rankings(shown: Any) -> None:
    scores = judged_elsewhere()
    browser = shown(report(scores))
    means = {run: f"{mean:.4f}" for run, mean in scores["faithfulness"].items()}
    rows = texts(browser, "#scores tbody tr")
    assert len(rows) == 4 and all(any(row.startswith(run + mean) for row in rows) for run, mean in means.items())
    needing = (
        "This needs one ranking for each run: it is not shown for scores from elsewhere, nested means and repeats."
    )
    assert texts(browser, "#curves p") == texts(browser, "#audit p") == [needing]
    browser.execute_script("report.open(3)")
    assert texts(browser, "#detail p") == [needing]
    assert not browser.execute_script("return document.getElementById('click-query').offsetParent")
    assert texts(browser, "#about")[0].startswith("4 runs, 30 queries, without rankings")
    assert not browser.execute_script("return document.getElementById('by-group').offsetParent")


def test_where_less_is_better_the_lowest_is_best(shown: Any) -> None:
    scores = judged_elsewhere()
    browser = shown(report(scores))
    browser.execute_script("report.select({measure: 1, a: 3, b: 0})")
    assert texts(browser, "#headline")[0].startswith(f"d has the lowest latency, {scores['latency']['d']:.4f}.")
    one = cf.compare(scores)["latency"].pairs[2]
    assert (one.run, one.other) == ("d", "base")
    ends = f"difference {one.difference:.4f} [{one.low:.4f}, {one.high:.4f}]"
    told = texts(browser, "#pair")[0]
    assert told.startswith("d is significantly better than base: latency") and ends in told
    assert "Bars below the line: d is better." in texts(browser, "#caption-queries")[0]
    assert browser.execute_script("return report.matrix.order") == scores._order("latency")
    # Both measures order the runs alike, though one falls and the other rises.
    assert browser.execute_script("return report.data.agreement") == [[1, 1], [1, 1]]


def test_ranks_are_those_of_the_comparison(shown: Any) -> None:
    scores = judged_elsewhere()
    ranks = cf.compare(scores).ranks
    browser = shown(report(scores))
    for m, measure in enumerate(scores.measures):
        browser.execute_script(f"report.select({{measure: {m}}})")
        heads = texts(browser, "#scores thead th")
        assert heads[3] == f"rank in {measure}"
        found = {run: texts(browser, f'#scores tr[data-run="{run}"] td:nth-child(4)')[0] for run in scores.runs}
        assert found == {run: str(a) if a == b else f"{a} to {b}" for run, (a, b) in ranks[measure].items()}
    assert len(set(ranks["latency"].values())) == 4  # all of them differ
    assert "with 95% confidence, the ranks of all runs in a measure are in their ranges" in texts(browser, "#ranks")[0]
    found = page_of(scores, correction="bh")
    assert "no known confidence" in found["ranks"] and any("no known confidence" in note for note in found["notes"])
    lines = list(csv.DictReader(StringIO(browser.execute_script("return report.csv('scores')"))))
    limits = {one["run"]: (int(one["first rank"]), int(one["last rank"])) for one in lines}
    assert limits == ranks["latency"]


def test_groups_of_queries_have_a_table_and_a_chart(shown: Any) -> None:
    scores = judged_elsewhere()
    groups = scores.by("kind", "base")
    browser = shown(report(scores, group_by="kind"))
    assert texts(browser, "#query-groups thead th") == [
        "run",
        f"{NASTY} (10 queries)",
        "how (20 queries)",
        "p of interaction",
    ]
    browser.execute_script("report.select({a: 3, b: 1})")
    row = texts(browser, '#query-groups tr[data-run="d"] td')
    gap, low, high = (table[0, 3, 1] for table in (groups.difference, groups.low, groups.high))
    assert row[2] == f"{groups.means[0, 3, 1]:.4f}+{gap:.4f} [+{low:.4f}, +{high:.4f}]"
    assert row[3] == "<0.0001" and groups.effects[0][3].p < 0.0001
    assert texts(browser, '#query-groups tr[data-run="base"] td')[3] == ""
    # Of both selected runs, the difference in each group.
    assert len(texts(browser, "#chart-groups .mark-symbol.role-mark path")) == 4
    assert any("depends on kind" in note for note in texts(browser, "#group-notes li"))
    assert not browser.execute_script("return window.hacked")


def test_groups_of_one_run_have_means_only(shown: Any) -> None:
    browser = shown(report(judged_elsewhere().only(runs="c"), group_by="kind"))
    assert texts(browser, "#query-groups thead th") == ["run", f"{NASTY} (10 queries)", "how (20 queries)"]
    assert len(texts(browser, "#chart-groups .mark-symbol.role-mark path")) == 2


def test_several_collections_are_groups_of_queries(shown: Any) -> None:
    runs, qrels = museum()
    both = {"museum": qrels, "again": qrels}
    scores = cf.evaluate(both, {run: dict.fromkeys(both, path) for run, path in zip("abcd", runs, strict=True)}, "AP")
    found = page_of(scores)
    assert found["groups"]["attribute"] == "collection" and found["groups"]["names"] == ["again", "museum"]
    assert found["low"][0][0] == pytest.approx(scores._interval(0, 0)[0], abs=1e-12)
    assert "collection" in texts(shown(html(found, "Both")), "#about-groups")[0]


def test_an_unknown_group_is_a_sentence() -> None:
    with pytest.raises(cf.CranfieldError, match="no attribute `kin`"):
        page_of(judged_elsewhere(), group_by="kin")


def written(tmp_path: Path, *words: str) -> dict[str, Any]:
    """The data of the report that a command writes."""
    file = tmp_path / "report.html"
    result = CliRunner().invoke(cli, ["report", *words, "-o", str(file)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(re.search(r'id="data">(.*?)</script>', file.read_text(), re.S)[1])
    return data


def answers(command: str, folder: Path) -> dict[str, Any]:
    """What a command of a report in a folder prints, as JSON."""
    with contextlib.chdir(folder):
        result = CliRunner().invoke(cli, [*shlex.split(command)[1:], "--format", "json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_report_of_files_of_scores(tmp_path: Path) -> None:
    scores = judged_elsewhere()
    files = []
    for measure in scores.measures:
        files.append(str(tmp_path / f"{measure}.csv"))
        rows = [(run, q, repr(v)) for run, of in scores[measure].per_query.items() for q, v in of.items()]
        Path(files[-1]).write_text("\n".join(map(",".join, [("run", "query", measure), *rows])) + "\n")
    table = tmp_path / "queries.jsonl"
    table.write_text("".join(json.dumps({"query": q, **of}) + "\n" for q, of in scores.attributes.items()))
    words = ["--scores", *files, "--lower", "latency", "--queries-file", str(table), "--by", "kind"]
    data = written(tmp_path, *words)
    assert data["means"] == scores._means.tolist() and data["rankings"] is None
    assert data["queryTexts"]["q03"] == "question 3"
    compared, by_query = (answers(line, tmp_path) for line in data["commands"])
    assert by_query["measure"] == "faithfulness"
    packed = np.frombuffer(base64.b64decode(data["pairs"]["low"]), "<f8").tolist()
    assert [pair["low"] for pair in compared["pairs"]] == packed
    assert compared["groups"]["means"] == data["groups"]["means"]


def test_a_report_of_runs_by_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs, qrels = copied(tmp_path)
    table = tmp_path / "queries.csv"
    table.write_text("query,kind\n" + "".join(f"q{i},{'odd' if i % 2 else 'even'}\n" for i in range(1, 9)))
    named = [f"first={runs[0]}", *runs[1:]]
    data = written(tmp_path, qrels, *named, "-m", "AP", "--queries-file", str(table), "--by", "kind")
    (grouped,) = [answers(line, tmp_path) for line in data["commands"] if " compare " in line]
    assert data["runs"][0] == "first"
    assert grouped["groups"]["means"] == data["groups"]["means"]
    assert data["groups"]["names"] == ["even", "odd"]


def test_a_report_of_repeats_is_on_means_over_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs, qrels = copied(tmp_path)
    data = written(tmp_path, qrels, runs[0], f"both={runs[1]}", f"both={runs[2]}", "-m", "AP nDCG@10")
    assert data["runs"] == ["bm25", "both"] and data["rankings"] is None
    (compared,) = [answers(line, tmp_path) for line in data["commands"] if " compare " in line]
    assert [pair["difference"] for pair in compared["pairs"]] == np.frombuffer(
        base64.b64decode(data["pairs"]["difference"]), "<f8"
    ).tolist()
    means = cf.evaluate(qrels, {"bm25": runs[0], "both": cf.Repeats(runs[1:3])}, ["AP", "nDCG@10"])._means
    assert data["means"] == means.tolist()


def test_a_report_compares_with_saved_scores_as_compare_does(tmp_path: Path) -> None:
    qrels, old, *new = (str(example.path(name)) for name in ("qrels.txt", "bm25.run", "dense.run", "llm.run"))
    saved = tmp_path / "saved.json"
    cf.evaluate(qrels, {"old": old}, ["AP", "P@5"]).save(saved)
    found = written(tmp_path, qrels, *new, "--baseline", str(saved))
    assert (found["runs"], found["measures"]) == (["old", "dense", "llm"], ["AP", "P@5"])
    assert found["pairs"]["baseline"] == [0, 0] and found["opened"][1] == 0
    expected = cf.compare(cf.evaluate(qrels, new, ["AP", "P@5"]), baseline=str(saved))
    packed = base64.b64decode(found["pairs"]["corrected"])
    assert np.frombuffer(packed, "<f8").tolist() == [pair.corrected for pair in expected.pairs]
    commands = {line.split()[1]: line for line in found["commands"]}
    assert commands["compare"].endswith("--baseline saved.json --table pairs") and "old" not in commands["queries"]
    words = ["report", qrels, *new, "--baseline", "other", "-o", str(tmp_path / "other.html")]
    other = CliRunner().invoke(cli, words)
    assert other.exit_code == 2 and "`other` is not one of the runs" in other.stderr


def test_a_report_opens_on_the_baseline_and_the_best(tmp_path: Path) -> None:
    runs, qrels = museum()  # best first: llm, dense, bm25, quiet
    for baseline, opened in (((), [2, 1]), (("--baseline", "bm25"), [2, 0]), (("--baseline", runs[2]), [1, 2])):
        assert written(tmp_path, qrels, *runs, "-m", "AP", *baseline)["opened"] == opened
    data = written(tmp_path, qrels, *runs, "-m", "AP", "--baseline", "bm25")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", data["date"])
    queries = next(line for line in data["commands"] if " queries " in line)
    assert "queries qrels.txt bm25.run llm.run " in queries  # old, then new
    words = ["report", qrels, *runs, "--baseline", "x", "-o", str(tmp_path / "x.html")]
    assert "the baseline `x` is not one of the runs" in CliRunner().invoke(cli, words).output


def test_a_report_does_not_tell_the_folders_of_its_sender(tmp_path: Path) -> None:
    runs, qrels = museum()
    near, below = tmp_path / "near.run", tmp_path / "pages" / "below.run"
    below.parent.mkdir()
    for path in (near, below):
        shutil.copyfile(runs[0], path)
    file = tmp_path / "pages" / "report.html"
    words = ["report", qrels, runs[1], str(near), f"named={below}", "-m", "AP", "-o", str(file)]
    assert CliRunner().invoke(cli, words, catch_exceptions=False).exit_code == 0
    page = file.read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert data["files"] == "qrels.txt dense.run ../near.run named=below.run"
    assert all(data["files"] in line for line in data["commands"] if " queries " not in line)
    assert str(Path(qrels).parent) not in page and str(tmp_path) not in page


def test_runs_of_one_name_do_not_tell_the_folders_of_their_sender(tmp_path: Path) -> None:
    runs, qrels = museum()
    paths = [tmp_path / folder / "search.run" for folder in ("a", "b", "c/b")]
    for path, run in zip(paths, runs, strict=False):
        path.parent.mkdir(parents=True)
        shutil.copyfile(run, path)
    data = written(tmp_path, qrels, *map(str, paths), "-m", "AP")
    assert data["runs"] == ["search", "b/search.run", "c/b/search.run"]
    assert str(tmp_path) not in json.dumps(data)


def test_a_report_of_nested_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs, qrels = copied(tmp_path)
    table = tmp_path / "queries.csv"
    table.write_text("query,topic\n" + "".join(f"q{i},t{i // 2}\n" for i in range(1, 9)))
    words = [qrels, *runs[:2], "-m", "RR", "--queries-file", str(table), "--average", "topic"]
    data = written(tmp_path, *words)
    expected = cf.evaluate(cf.Collection(qrels, queries=str(table)), runs[:2], "RR").averaged("topic")
    assert data["queries"] == list(expected.queries) and data["means"] == expected._means.tolist()
    (compared,) = [answers(line, tmp_path) for line in data["commands"] if " compare " in line]
    gap = expected["RR"]["dense"] - expected["RR"]["bm25"]
    assert compared["pairs"][0]["difference"] == pytest.approx(gap)


@pytest.mark.parametrize("option", [("--texts", "x"), ("--corpus", "x"), ("--rel", "2")])
def test_options_of_rankings_are_refused_with_scores(option: tuple[str, str]) -> None:
    result = CliRunner().invoke(cli, ["report", "--scores", "scores.csv", *option])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[0] == f"error: {option[0]} needs rankings, and --scores has none"


def test_history_and_inputs_in_a_browser(shown: Any, tmp_path: Path) -> None:
    runs, qrels = copied(tmp_path)
    scores = cf.evaluate(tmp_path / qrels, [tmp_path / run for run in runs], ["AP", "RR"])
    found = page_of(scores)
    page = shown(html(found, "Now"))
    assert not page.find_element("id", "history").is_displayed()
    assert not page.find_element("id", "to-history").is_displayed()
    assert not page.find_element("id", "inputs").is_displayed()
    page.find_element("css selector", "#origin summary").click()
    rows = [row.text.split() for row in page.find_elements("css selector", "#inputs tbody tr")]
    digests = {one["name"]: one["digest"] for one in scores.to_dict()["provenance"]["inputs"]}
    assert sorted((row[0], row[-1]) for row in rows) == sorted(
        (Path(name).name, digest) for name, digest in digests.items()
    )
    found = page_of(scores)
    one = {"measure": "AP", "low": 0.1, "high": 0.9}
    found["history"] = {
        "times": ["abc", NASTY],
        "means": [
            {**one, "at": 0, "run": scores.runs[0], "mean": 0.5},
            {**one, "at": 1, "run": scores.runs[0], "mean": 0.6, "change": 0.1, "marked": True},
            {**one, "at": 1, "run": "constructor", "mean": 0.4, "low": None, "high": None},
        ],
    }
    page = shown(html(found, "Then"))
    assert page.find_element("id", "to-history").is_displayed()
    assert texts(page, "#caption-history") == ["AP at 2 times, the latest last."]
    assert page.execute_script("return document.querySelectorAll('#chart-history .mark-symbol path').length") >= 4
    assert page.execute_script("return window.hacked") is None


def test_texts_of_queries_are_found_beside_the_judgments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs, qrels = copied(tmp_path)
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "q1", "text": "how loud is the horn"}\n{"id": "other", "text": "why"}\n')
    data = written(tmp_path, qrels, *runs)
    assert data["queryTexts"] == {"q1": "how loud is the horn"}
    assert "the texts of queries are those of queries.jsonl" in data["notes"]
    queries.write_text("{")
    data = written(tmp_path, qrels, *runs)
    assert data["queryTexts"] == {} and any("not used for the texts of queries" in note for note in data["notes"])


def test_a_file_given_twice_is_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs, qrels = copied(tmp_path)
    data = written(tmp_path, qrels, runs[0], *runs, "--baseline", runs[0])
    assert len(data["runs"]) == len(runs)


def test_many_runs_have_one_line_each(opened: Any) -> None:
    runs, qrels = museum()
    browser = opened([runs[i % 3] for i in range(14)], qrels, ["AP", "RR"], names=[f"run{i}" for i in range(14)])
    shown = lambda: texts(browser, "#scores tbody tr:first-child td:not(.id) small")  # noqa: E731
    assert [bool(text) for text in shown()] == [True, False]
    browser.execute_script("report.select({measure: 1})")
    assert [bool(text) for text in shown()] == [False, True]
    assert browser.execute_script("return document.querySelector('#scores tbody tr').offsetHeight") < 30
    assert browser.execute_script(
        "return [...document.querySelectorAll('.scroll')].every((one) => one.scrollWidth <= one.clientWidth)"
    )
