"""The HTML report, read as text and used in a real browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield import example
from cranfield.report.html import report
from cranfield.report.html.contents import contents

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
DL19 = Path(__file__).parents[3] / "shared/data/dl19"
MEASURES = ["AP", "nDCG@10", "RR", "NumRet"]
NASTY = '</script><img src=x onerror="window.hacked=1">{version} ü 文'
FLAGS = (
    *("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"),
    *("disable-component-update", "disable-sync", "window-size=1280,900"),
)


def museum() -> tuple[list[str], str]:
    folder = Path(example.__file__).parent
    return [str(folder / f"{name}.run") for name in ("bm25", "dense", "llm", "quiet")], str(folder / "qrels.txt")


def test_data_are_the_scores() -> None:
    runs, qrels = museum()
    found = contents(runs, qrels, MEASURES)
    scores = cf.evaluate(runs, qrels, MEASURES)
    assert found["means"] == [[entry["mean"] for entry in run.values()] for run in scores.to_dict()["runs"].values()]
    assert found["low"][0][0] == pytest.approx(scores.interval(0, 0)[0], abs=1e-12)
    compared = cf.compare(scores, audit=cf.audit(runs, qrels, MEASURES))
    assert found["pairs"]["corrected"] == compared.corrected.tolist()
    assert found["pairs"]["doubts"][0] == [" ".join(one) for one in compared.doubts[0]]
    json.dumps(found, allow_nan=False)


def test_texts_are_read_from_the_collection() -> None:
    runs, qrels = museum()
    source = Path(example.__file__).parent / "documents.jsonl"
    found = contents(runs, qrels, ["AP"], page=3, texts=[source])["texts"]
    records = {one["id"]: f"{one['title']} {one['text']}" for one in map(json.loads, source.read_text().splitlines())}
    assert found
    for name, text in found.items():
        assert text.removesuffix("…") in records[name]


def test_one_run_has_a_report() -> None:
    runs, qrels = museum()
    found = contents(runs[0], qrels, ["AP", "GMAP"])
    assert found["pairs"] == {}
    assert found["agreement"] == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    runs, qrels = museum()
    page = report(runs, qrels, MEASURES)
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=\"(?!#)", outside)
    assert "default-src 'none'" in page
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
def opened(browser: Any, tmp_path: Path) -> Any:
    """A function that opens a report with all its charts drawn."""

    def show(*args: Any, **how: Any) -> Any:
        path = tmp_path / "report.html"
        path.write_text(report(*args, **how), encoding="utf-8")
        browser.get(path.as_uri())
        browser.execute_async_script("report.paint().then(() => arguments[0]())")
        return browser

    yield show
    said = [(entry["level"], entry["message"]) for entry in browser.get_log("browser")]
    assert said == []


def texts(browser: Any, selector: str) -> list[str]:
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((n) => n.textContent)", selector
    )


def click(browser: Any, script: str) -> None:
    browser.execute_script(f"({script}).click()")


def test_numbers_are_those_of_the_library(opened: Any) -> None:
    runs, qrels = museum()
    browser = opened(runs, qrels, MEASURES)
    expected = cf.evaluate(runs, qrels, MEASURES).to_dict()["runs"]
    found = browser.execute_script("""
        const d = report.data, out = {};
        d.runs.forEach((run, r) => { out[run] = {}; d.measures.forEach((m, i) => { out[run][m] = {};
          d.counted[r].forEach((q) => { const v = report.value(r, i, q); out[run][m][d.queries[q]] = Number.isNaN(v) ? null : v; }); }); });
        return out;""")
    assert found == {run: {m: one["queries"] for m, one in by.items()} for run, by in expected.items()}
    cell = texts(browser, "#scores tbody tr[data-run='llm'] td")[1]
    assert cell.startswith(f"{expected['llm']['AP']['mean']:.4f}[")
    assert len(texts(browser, ".chart svg")) == 6


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
    browser.execute_script("report.choose({a: 0, b: 2})")
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
    one = cf.compare(cf.evaluate(runs, qrels, MEASURES)).contest(0, 1)
    browser.execute_script("report.choose({a: 0, b: 2, measure: 0})")
    told = texts(browser, "#contest")[0]
    assert f"difference {one.difference:.4f}" in told
    assert f"corrected {one.corrected:.4f}" in told
    browser.execute_script("report.choose({a: 2, b: 0})")
    assert f"difference +{-one.difference:.4f} [+{-one.high:.4f}, +{-one.low:.4f}]" in texts(browser, "#contest")[0]


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
    assert texts(browser, ".rankings > div:first-child .document summary")[0] == NASTY
    assert texts(browser, ".rankings details p")[0] == NASTY
    assert browser.execute_script("return document.images.length") == 0


def test_the_theme_changes_and_charts_follow(opened: Any) -> None:
    browser = opened(*museum(), MEASURES)
    ground = lambda: browser.execute_script("return getComputedStyle(document.body).backgroundColor")  # noqa: E731
    before = ground()
    click(browser, "document.getElementById('theme')")
    browser.execute_async_script("report.paint().then(() => arguments[0]())")
    assert ground() != before
    assert len(texts(browser, ".chart svg")) == 6


@pytest.mark.skipif(not DL19.exists(), reason="needs the runs of TREC Deep Learning 2019")
def test_a_whole_track_fits(opened: Any) -> None:
    runs = sorted(map(str, (DL19 / "runs").iterdir()))
    browser = opened(runs, str(DL19 / "qrels.txt"), ["AP", "nDCG@10"])
    assert len(browser.page_source) < 10_000_000
    assert len(texts(browser, "#scores tbody tr")) == 37
    width = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
    assert width <= 0
