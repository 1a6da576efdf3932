"""The page for a class: its script computes the same scores as the package, and its controls change them."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.analysis.explain import END
from cranfield.errors import InputError, UsageError
from cranfield.measures import parse
from cranfield.report.explanation import lesson

CHROMIUM, DRIVER, NODE = (shutil.which(name) for name in ("chromium", "chromedriver", "node"))
QRELS = {"q": {"a": 3, "b": 0, "c": 2, "m": 1}, "r": {"x": 3}}
RUN = {"q": {"b": 4.0, "a": 3.0, "x": 3.0, "c": 1.0}, "r": {"x": 1.0}}


def data_of(page: str) -> Any:
    return json.loads(page.partition('id="data">')[2].partition("</script>")[0])


# Every form that the page computes, with the parameters that change gains, weights and divisors.
NAMES = [
    *(
        "nDCG",
        "nDCG@3",
        "nDCG(gain='exp')@4",
        "nDCG(gain={1: 0.3, 2: 5, 3: 6})",
        "nDCG(discount='jk', base=3)",
        "nDCG(rel=2)",
    ),
    *("DCG", "DCG(gain='exp')@3", "CG", "CG@2", "SDCG@4", "P@1", "P@6", "P(rel=2)@3", "R@2", "R(rel=2)@9"),
    *("AP", "AP@3", "AP(rel=2)", "AP(norm='min')@2", "SP", "SP@4", "RR", "RR@2", "RR(rel=3)", "Success@1", "Success@4"),
    *("RBP", "RBP(p=0.5)@3", "RBP(rel=1)", "RBPbeta", "InvSq", "ERR", "ERR@2", "ERR(gain='linear')", "ERR(max=5)"),
]


def random_case(rng: random.Random, tied: int) -> list[list[int | None]]:
    """Grades in ties, the last of which is so large that its orders cannot be listed."""
    sizes = [*(rng.choice([1, 1, 2, 3]) for _ in range(rng.randint(1, 4))), tied]
    return [[rng.choice([None, 0, 1, 2, 3]) for _ in range(size)] for size in sizes]


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_the_script_computes_the_same_scores() -> None:
    rng, cases, expected = random.Random(7), [], []
    for name in NAMES:
        for tied in (1, 4, 15):
            groups = random_case(rng, tied)
            run = {f"d{at}.{i}": -float(at) for at, group in enumerate(groups) for i in range(len(group))}
            grades = dict(zip(run, (grade for group in groups for grade in group), strict=True))
            judged = {document: grade for document, grade in grades.items() if grade is not None}
            qrels = {"q": judged | {"m1": 3, "m2": rng.choice([0, 1, 2]), "m3": rng.choice([0, 1, 2])}}
            found = cf.explain(qrels, {"q": run}, name, ties="expected")
            data = data_of(lesson(found))
            shown: list[list[int | None]] = []
            for one in data["documents"]:
                shown = [*shown[:-1], [*shown[-1], one["grade"]]] if one["tied"] else [*shown, [one["grade"]]]
            for offered in data["measures"]:
                cases.append([offered, shown, data["missed"]])
                expected.append(offered["score"])
            assert data["measures"][0]["score"] == found.score
    page = lesson(cf.explain(QRELS, RUN, "nDCG@3", query="q"))
    functions = page.partition("/* measures */")[2].partition("/* page */")[0]
    script = f"{functions}\nconsole.log(JSON.stringify({json.dumps(cases)}.map((one) => score(...one))))"
    done = subprocess.run([str(NODE), "-"], input=script, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == pytest.approx(expected, abs=1e-9)


# As much of a document as the page's script uses; it then says what the page shows.
DOCUMENT = """
class Node {
  constructor() { this.children = []; this.style = {}; this.classList = { toggle() {} }; this.acts = {}; this.names = {}; }
  append(...nodes) { this.children.push(...nodes); }
  replaceChildren() { this.children = []; }
  setAttribute(name, value) { this.names[name] = value; }
  addEventListener(kind, act) { this.acts[kind] = act; }
  get all() { return this.children.flatMap((child) => [child, ...(child.all || [])]); }
}
class Option extends Node {}
const parts = {};
const document = {
  createElement: () => new Node(),
  getElementById: (id) => parts[id] ??= Object.assign(new Node(), id === "data" ? { textContent: DATA } : {}),
};
"""


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_controls_change_the_score() -> None:
    page = lesson(cf.explain(QRELS, RUN, "nDCG@3[ties=expected]", query="q"))
    code = page.rpartition("<script>")[2].partition("</script>")[0].replace('"use strict";', "")
    act = """
    const press = (label) => parts.ranks.all.find((one) => one.names && one.names["aria-label"] === label);
    const shown = [parts.score.textContent];
    press("Tie x with the document above").acts.click();
    shown.push(parts.score.textContent);
    press("Move a up").acts.click();
    shown.push(parts.score.textContent);
    const grade = press("Grade of x");
    grade.value = "2";
    grade.acts.change();
    shown.push(parts.score.textContent, parts.ranks.children.map((row) => row.children[5].textContent), parts.change.textContent);
    parts.reset.acts.click();
    shown.push(parts.score.textContent, parts.change.textContent);
    console.log(JSON.stringify(shown));
    """
    script = DOCUMENT.replace("DATA", json.dumps(json.dumps(data_of(page)))) + code + act
    done = subprocess.run([str(NODE), "-"], input=script, capture_output=True, text=True, check=True)
    *scores, adds, before, again, unchanged = json.loads(done.stdout)
    measure = parse("nDCG@3[ties=expected]")
    rankings = [[0, (3, None)], [0, 3, None], [3, 0, None], [3, 0, 2]]
    assert scores == [f"nDCG@3 = {measure(ranking, missed=[2, 1]):.4f}" for ranking in rankings]
    assert again == scores[0] and before == f"it was {scores[0].split()[-1]}" and unchanged == ""
    assert sum(map(float, adds)) == pytest.approx(measure(rankings[-1], missed=[2, 1]), abs=2e-4)


def test_what_the_page_holds() -> None:
    found = cf.explain(QRELS, RUN, "nDCG@3[ties=expected]", query="q")
    data = data_of(lesson(found, "where is </script> it"))
    assert [(one["document"], one["grade"], one["tied"]) for one in data["documents"]] == [
        ("b", 0, False),
        ("a", 3, False),
        ("x", None, True),
    ]
    assert (data["missed"], data["top"]) == ([2, 1], 3)
    assert [one["name"] for one in data["measures"]] == [
        *("nDCG@3", "DCG@3", "P@3", "R@3", "AP@3", "RR@3", "RBP@3", "ERR@3"),
    ]
    scores = cf.evaluate(QRELS, RUN, [f"{one['name']}[ties=expected]" for one in data["measures"]])
    assert [one["score"] for one in data["measures"]] == pytest.approx(scores.values[0, :, 0])
    page = lesson(found, "where is </script> it")
    assert "where is </script>" not in page
    assert "http://" not in page and "https://" not in page


def test_an_empty_list_is_a_list() -> None:
    found = cf.explain({"q": {"a": 0}, "r": {"b": 1}}, {"r": ["b"]}, "RR[terminal]", query="q")
    assert [(step.rank, step.document, step.gain, step.earned) for step in found.steps] == [(1, END, 1, 1)]
    assert "or 1 if no document is relevant" in str(found)
    data = data_of(lesson(found))
    assert (data["documents"], data["measures"][0]["score"]) == ([], 1)
    with pytest.raises(InputError, match="the run has no query `q`"):
        cf.explain({"q": {"a": 0}, "r": {"b": 1}}, {"r": ["b"]}, "RR[terminal]", query="q", queries="both")


def test_ties_of_the_run_and_removed_documents_are_shown() -> None:
    qrels, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"x": 5.0, "a": 3.0, "b": 3.0, "c": 2.0, "y": 2.0, "z": 1.0}}
    data = data_of(lesson(cf.explain(qrels, run, "AP"), texts={"a": "A bell\n" + "it rang " * 40}))
    assert [(one["document"], one["same"], one["tied"]) for one in data["documents"]] == [
        *(("x", False, False), ("b", False, False), ("a", True, False)),
        *(("y", False, False), ("c", True, False), ("z", False, False)),
    ]
    text = data["documents"][2]["text"]
    assert text.startswith("A bell\nit rang it rang") and text.endswith("…")
    data = data_of(lesson(cf.explain(qrels, run, "AP[condensed]")))
    assert [(one["document"], one["grade"]) for one in data["documents"]] == [
        *(("x", None), ("b", 0), ("a", 1), ("y", None), ("c", 1), ("z", None)),
    ]


@pytest.mark.parametrize("name", ["Q", "nDCG(R='retrieved')", "AP[depth=3]", "AP(graded=True)"])
def test_what_the_page_cannot_compute(name: str) -> None:
    with pytest.raises(UsageError, match="cannot compute"):
        lesson(cf.explain(QRELS, RUN, name, query="q"))


def test_long_rankings_and_fractions_are_refused() -> None:
    run = {"q": [f"d{i}" for i in range(200)]}
    with pytest.raises(UsageError, match="200 documents, more than 100"):
        lesson(cf.explain({"q": {"d1": 1}}, run, "AP"))
    assert data_of(lesson(cf.explain({"q": {"d1": 1}}, run, "AP@10")))["measures"][0]["score"] == 0.5
    with pytest.raises(UsageError, match="whole numbers"):
        lesson(cf.explain({"q": {"d1": 0.5, "d2": 1}}, run, "nDCG@3"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs Chromium and its driver")
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "window-size=400,800"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def test_a_class_moves_documents(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By

    path = tmp_path / "lesson.html"
    path.write_text(lesson(cf.explain(QRELS, RUN, "nDCG@3[ties=expected]", query="q")), encoding="utf-8")
    browser.get(path.as_uri())
    shown = lambda: browser.find_element(By.ID, "score").text  # noqa: E731
    measure = parse("nDCG@3[ties=expected]")
    assert shown() == f"nDCG@3 = {measure([0, (3, None)], missed=[2, 1]):.4f}"
    browser.find_element(By.CSS_SELECTOR, "button[aria-label='Tie x with the document above']").click()
    assert shown() == f"nDCG@3 = {measure([0, 3, None], missed=[2, 1]):.4f}"
    browser.find_element(By.CSS_SELECTOR, "button[aria-label='Move a up']").click()
    assert shown() == f"nDCG@3 = {measure([3, 0, None], missed=[2, 1]):.4f}"
    browser.find_element(By.CSS_SELECTOR, "select[aria-label='Grade of x'] option[value='2']").click()
    assert shown() == f"nDCG@3 = {measure([3, 0, 2], missed=[2, 1]):.4f}"
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    unused = browser.execute_script(
        "return [...document.querySelectorAll('button:disabled')].map((one) => one.ariaLabel)"
    )
    assert unused == ["Move a up", "Tie a with the document above", "Move x down"]
    assert browser.get_log("browser") == []


def test_the_page_runs_only_its_own_script(browser: Any, tmp_path: Path) -> None:
    page = lesson(cf.explain(QRELS, RUN, "nDCG@3", query="q"))
    path = tmp_path / "lesson.html"
    path.write_text(page.replace("</main>", "<script>document.title = 'other'</script></main>"), encoding="utf-8")
    browser.get(path.as_uri())
    assert browser.title == "Why this score?"
    assert browser.find_element("id", "score").text.startswith("nDCG@3 = ")
    browser.get_log("browser")
