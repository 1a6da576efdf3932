"""What to judge next, samples to draw, the page, and merging."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield.cli.main import cli
from cranfield.errors import InputError, UsageError
from cranfield.judging.judgment_files import Stratum, draw_sample, judging_page, merge, parse_strata
from cranfield.judging.judgment_files import sample_lines as lines
from cranfield.judging.proposals import Proposal, next_documents
from pair_oracles import linear_difference
from waiting import until

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
QRELS = {"1": {"a": 1, "b": 0, "old": 1}, "2": {"c": 1}, "3": {"d": 1}}
RUNS = {
    "A": {"1": {"a": 4.0, "x": 3.0, "y": 2.0, "z": 1.0}, "2": {"c": 2.0, "u": 1.0}},
    "B": {"1": {"x": 4.0, "b": 3.0, "z": 2.0, "w": 1.0}, "2": {"u": 2.0, "v": 1.0}},
    "C": {"1": {"a": 4.0, "w": 3.0, "x": 2.0}, "2": {"v": 3.0, "c": 2.0}},
}


def ranking(run: str, query: str) -> list[str]:
    return list(RUNS[run].get(query, {}))


@pytest.mark.parametrize("name", ["P@3", "DCG@4", "RBP(p=0.5)"])
def test_pairs_are_those_of_single_queries(name: str) -> None:
    found = next_documents(QRELS, RUNS, name)
    for p, (a, b) in enumerate(found.status.pairs.tolist()):
        runs = found.status.runs[a], found.status.runs[b]
        parts = [linear_difference(name, *(ranking(run, q) for run in runs), QRELS[q]) for q in QRELS]
        for field in ("low", "high", "low_alone", "high_alone", "expected"):
            assert getattr(found.status, field)[p] == pytest.approx(
                sum(getattr(part, field) for part in parts) / 3, abs=1e-12
            )
        assert found.status.variance[p] == pytest.approx(sum(part.variance for part in parts) / 9, abs=1e-12)


def test_weights_are_sums_over_open_pairs() -> None:
    found = next_documents(QRELS, RUNS, "DCG@3", confidence=0.999)
    open_pairs = np.flatnonzero(~found.status.decided & (found.status.confidence < 0.999))
    for proposal in found.documents:
        total = 0.0
        for p in open_pairs:
            runs = [found.status.runs[r] for r in found.status.pairs[p]]
            part = linear_difference("DCG@3", *(ranking(run, proposal.query) for run in runs), QRELS[proposal.query])
            total += part.weights.get(proposal.document, 0.0) / 3
        assert proposal.weight == pytest.approx(total, abs=1e-12)
    weights = [proposal.weight for proposal in found.documents]
    assert weights == sorted(weights, reverse=True)


def test_pairs_share_the_ideal_ranking() -> None:
    """nDCG is DCG over that of the ideal ranking, which is 1 + 1/log2(3) for query 1; query 3 counts for all runs."""
    found = next_documents(QRELS, RUNS, "nDCG@3", confidence=1)
    ideal = {"1": 1 + 1 / np.log2(3), "2": 1.0, "3": 1.0}
    for p, (a, b) in enumerate(found.status.pairs.tolist()):
        runs = found.status.runs[a], found.status.runs[b]
        parts = {q: linear_difference("DCG@3", *(ranking(run, q) for run in runs), QRELS[q]) for q in QRELS}
        for field in ("low", "high", "low_alone", "high_alone"):
            expected = sum(getattr(part, field) / ideal[q] for q, part in parts.items()) / 3
            assert getattr(found.status, field)[p] == pytest.approx(expected, abs=1e-12)
    without = next_documents(QRELS | {"4": {"e": 0}}, RUNS | {"D": {"4": {"f": 1.0}}}, "nDCG@3")
    assert without.status.low[0] == pytest.approx(found.status.low[0], abs=1e-12)  # undefined for query 4
    assert "4" not in {proposal.query for proposal in without.documents}


def test_a_confidence_of_1_asks_for_bounds() -> None:
    runs = {"A": {"q": {"a": 1.0}}, "B": {"q": {"b": 3.0, "x": 2.0, "y": 1.0}}}
    sure, decided = (next_documents({"q": {"a": 1, "b": 0}}, runs, "DCG@3", confidence=c) for c in (0.8, 1))
    assert (sure.stop, sure.documents) == ("sure", ())
    assert (decided.stop, {p.document for p in decided.documents}) == (None, {"x", "y"})


def test_judging_everything_decides() -> None:
    complete = {q: dict.fromkeys({d for run in RUNS.values() for d in run.get(q, {})}, 0) | QRELS[q] for q in QRELS}
    found = next_documents(complete, RUNS, "P@3")
    assert (found.stop, found.documents, found.open_pairs) == ("decided", (), 0)


@pytest.mark.parametrize("strategy", ["depth", "mtf", "maxmean", "hedge"])
def test_strategies_propose_unjudged_documents(strategy: Any) -> None:
    found = next_documents(QRELS, RUNS, "P@3", strategy=strategy, top=4)
    assert [proposal.query for proposal in found.documents] == ["1", "2", "1", "2"]
    assert not {(p.query, p.document) for p in found.documents} & {(q, d) for q in QRELS for d in QRELS[q]}


def test_drawn_documents_of_a_sample() -> None:
    qrels = {"1": {"a": 1, "z": -2, "w": -1, "x": -2}, "2": {"c": 1}}
    found = next_documents(qrels, RUNS, "P@3", strategy="drawn")
    assert [(p.document, p.best_rank) for p in found.documents] == [("z", 3), ("x", 1)]


def test_predictions_are_chances() -> None:
    said = {"1": {"x": 1, "y": 0, "z": 1, "w": 0}, "2": {"u": 0, "v": 1}}
    plain, informed = (next_documents(cf.Collection(QRELS, predicted=p), RUNS, "P@3") for p in (None, said))
    assert not np.allclose(plain.status.expected, informed.status.expected)
    with pytest.raises(cf.InputError, match="none of the judged queries has predictions"):
        next_documents(cf.Collection(QRELS, predicted={"9": {"a": 1}}), RUNS, "P@3")


def test_measures_that_cannot_decide() -> None:
    with pytest.raises(cf.MeasureError, match="not linear"):
        next_documents(QRELS, RUNS, "RR")
    with pytest.raises(UsageError, match="at least two runs"):
        next_documents(QRELS, {"A": RUNS["A"]}, "P@3")
    assert next_documents(QRELS, RUNS, "AP").open_pairs == 3


def test_samples() -> None:
    lists = [{"q": [f"d{i}" for i in range(50)]}, {"q": [f"d{i}" for i in range(10, 60)]}]
    strata = parse_strata("10:1 50:0.25")
    sample = draw_sample(lists, strata, {"q": {"d0": 3, "d59": 1}})
    assert sample == draw_sample(lists, strata, {"q": {"d0": 3, "d59": 1}})
    assert len({d.document for d in sample}) == len(sample) == 60
    first = [d for d in sample if d.stratum == "1"]
    assert len(first) == 20 and all(d.drawn for d in first)
    second = [d for d in sample if d.stratum == "2"]
    assert sum(d.drawn for d in second) == 10 == round(0.25 * len(second))
    assert {d.document: d.grade for d in sample}["d0"] == 3
    assert all(d.grade == -1 for d in sample if not d.drawn)
    assert lines(sample[:1]) == f"q 0 {sample[0].document} 1 {sample[0].grade:g}\n".encode()
    assert len(draw_sample(lists, [Stratum(5, 0.01)])) == 10


@pytest.mark.parametrize("text", ["", "10", "10:0", "10:2", "20:1 10:1", "a:b", "0:1"])
def test_bad_strata(text: str) -> None:
    with pytest.raises(UsageError):
        parse_strata(text)


def test_conflicts_are_not_merged(tmp_path: Path) -> None:
    new = tmp_path / "new.qrels"
    new.write_text("1 0 a 0\n1 0 x 1\n")
    with pytest.raises(cf.InputError, match="has the grade 0, but 1 in"):
        merge(QRELS, [new])
    other = tmp_path / "other.qrels"
    other.write_text("1 0 y 2\n")
    new.write_text("1 0 y 1\n")
    with pytest.raises(cf.InputError, match=r"document `y` of query `1`"):
        merge(QRELS, [other, new])


def test_merging_keeps_strata_and_provenance(tmp_path: Path) -> None:
    sample, new = tmp_path / "sample.qrels", tmp_path / "judgments.json"
    sample.write_text("1 0 a 1 1\n1 0 x 1 -2\n1 0 y 2 -1\n")
    entry = {"query": "1", "document": "x", "grade": 2, "time": "2026-01-01T00:00:00Z"}
    new.write_text(json.dumps({"assessor": "ann", "judgments": [entry]}))
    merged = merge(sample, [new])
    merged.write(str(tmp_path / "merged.txt"))
    assert (tmp_path / "merged.txt").read_text() == "1 0 a 1 1\n1 0 x 1 2\n1 0 y 2 -1\n"
    assert f"1,x,2,1,ann,2026-01-01T00:00:00Z,{new}" in merged.rows().decode()
    again = tmp_path / "merged.csv"
    again.write_bytes(merge(QRELS, [new]).rows())
    assert b"ann" in merge(again, [{"1": {"q9": 0}}]).rows()


def proposals(n: int) -> list[Proposal]:
    return [Proposal("1", f"d{i}", 0.1, "A", "B", 0.01, -0.1, 0.2, 1) for i in range(n)]


def test_bad_pages() -> None:
    with pytest.raises(UsageError, match="single digits"):
        judging_page(proposals(1), grades=["no", "yes"])
    with pytest.raises(UsageError, match="no document"):
        judging_page([])


def data_of(page: str) -> Any:
    return json.loads(page.partition('id="data">')[2].partition("</script>")[0])


def test_a_page_takes_texts_by_document() -> None:
    page = data_of(judging_page(proposals(2), texts={"d1": "a lamp"}, queries={"1": "light"}))
    assert [document["text"] for document in page["documents"]] == [None, "a lamp"]
    assert page["documents"][0]["topic"] == "light"


def test_a_page_is_blind() -> None:
    blind = judging_page(proposals(3), suggestions={"1": {"d0": 2}})
    for word in ("It can change", "A – B", '"suggestion":"2"'):
        assert word not in blind
    assert data_of(blind)["documents"][0]["suggestion"] is None
    shown = data_of(judging_page(proposals(3), suggestions={"1": {"d0": 2}}, blind=False))
    assert shown["documents"][0]["suggestion"] == "2"
    assert shown["documents"][0]["reason"] == "It can change A – B by 0.0100"


def test_guidelines_label_grades(tmp_path: Path) -> None:
    guide = tmp_path / "guide.txt"
    guide.write_text("How to judge\n\n2 = Relevant: answers it </script>\n0 - Off topic\n\n1998 was long ago.\n")
    page = judging_page(proposals(1), guidelines=guide)
    assert "answers it </script>" not in page
    data = data_of(page)
    assert data["grades"] == [
        {"grade": "0", "label": "Off topic", "meaning": ""},
        {"grade": "2", "label": "Relevant", "meaning": "answers it </script>"},
    ]
    assert data["guidelines"] == "How to judge\n\n\n1998 was long ago."
    assert [one["grade"] for one in data_of(judging_page(proposals(1), guidelines=guide, grades=["1"]))["grades"]] == [
        "1"
    ]
    guide.write_text("1 Yes\n1 No\n")
    with pytest.raises(InputError, match="grade 1 is described twice"):
        judging_page(proposals(1), guidelines=guide)


def saved_by(folder: Path, assessor: str, grades: dict[str, int]) -> Path:
    path = folder / f"{assessor}.json"
    entries = [{"query": "1", "document": d, "grade": g} for d, g in grades.items()]
    path.write_text(json.dumps({"assessor": assessor, "judgments": entries}))
    return path


def test_several_assessors(tmp_path: Path) -> None:
    files = [
        saved_by(tmp_path, "ann", {"x": 2, "y": 0, "z": 1}),
        saved_by(tmp_path, "bob", {"x": 1, "y": 0, "w": 3}),
        saved_by(tmp_path, "eve", {"x": 0, "y": 1}),
    ]
    with pytest.raises(InputError, match=r"x.*has the grade 1, but 2"):
        merge(QRELS, files)
    found = merge(QRELS, files, settle="median")
    assert {d: found.grades["1"][d] for d in "xyzw"} == {"x": 1, "y": 0, "z": 1, "w": 3}
    assert merge(QRELS, files, settle="lowest").grades["1"]["x"] == 0
    assert merge(QRELS, files, settle="highest").grades["1"]["y"] == 1
    assert merge(QRELS, files[:2], settle="median").grades["1"]["x"] == 1  # the lower of two
    assert [(a.first, a.second, a.documents, a.same) for a in found.agreement] == [
        ("ann", "bob", 2, 0.5),
        ("ann", "eve", 2, 0.0),
        ("bob", "eve", 2, 0.0),
    ]
    # Of ann and bob: grades (2, 1) and (0, 0); the mean distance is 1/2, and by chance (0 + 1 + 2 + 1) / 4 = 1.
    assert found.agreement[0].kappa == pytest.approx(0.5)
    assert b"ann and bob and eve" in found.rows()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: Any) -> Iterator[Any]:
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs chromium and chromedriver")
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "window-size=400,800"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def test_judging_by_keyboard(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    nasty = '</script><img src=x onerror="window.hacked=1"><b>bold</b>'
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(json.dumps({"_id": f"d{i}", "text": f"{nasty} {i}"}) + "\n" for i in range(25)))
    path = tmp_path / "judge.html"
    guide = tmp_path / "guide.txt"
    guide.write_text(f"0 Off topic\n1 Partly\n2 Relevant: {nasty}\n3 Perfect\nRead all of it. {nasty}\n")
    page = judging_page(proposals(25), texts=texts, suggestions={"1": {"d0": 2}}, guidelines=guide, blind=False)
    path.write_text(page)
    assert "http://" not in page and "https://" not in page
    browser.get(path.as_uri())
    assert "Suggested by the predictions: 2" in browser.find_element(By.ID, "hint").text
    assert nasty in browser.find_element(By.ID, "text").text
    buttons = [button.text.split("\n") for button in browser.find_elements(By.CSS_SELECTOR, "#grades button")]
    assert buttons == [["0", "Off topic"], ["1", "Partly"], ["2", "Relevant"], ["3", "Perfect"]]
    browser.find_element(By.CSS_SELECTOR, "#guidelines summary").click()
    assert f"Read all of it. {nasty}" in browser.find_element(By.ID, "guidelines").text
    body = browser.find_element(By.TAG_NAME, "body")
    for i in range(20):
        body.send_keys(str(i % 4))
    body.send_keys(Keys.ARROW_LEFT)
    browser.refresh()
    assert browser.find_element(By.ID, "count").text.startswith("20 of 25 judged; this is document 20")
    assert browser.execute_script("return window.hacked === undefined")
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    saved = tmp_path / "judgments.json"
    browser.find_element(By.ID, "save").click()
    until(saved.is_file, "the browser saves the judgments")
    merged = merge({"1": {"old": 1}}, [saved])
    assert len(merged.new) == 20
    assert merged.grades["1"]["d7"] == 3
    qrels = tmp_path / "judgments.qrels"
    browser.find_element(By.ID, "qrels").click()
    until(qrels.is_file, "the browser saves the qrels")
    assert merge({"1": {"old": 1}}, [qrels]).grades == merged.grades
    for scheme, dark in (("light", False), ("dark", True)):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        body = browser.find_element(By.TAG_NAME, "body")
        ink, paper = (brightness(body.value_of_css_property(name)) for name in ("color", "background-color"))
        assert (ink > paper) == dark
        assert abs(ink - paper) > 100


def brightness(colour: str) -> float:
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


def write(folder: Path) -> tuple[str, list[str]]:
    qrels = folder / "qrels.txt"
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, judged in QRELS.items() for d, g in judged.items()))
    files = []
    for name, run in RUNS.items():
        file = folder / f"{name}.run"
        rows = [(q, d, s) for q, documents in run.items() for d, s in documents.items()]
        file.write_text("".join(f"{q} Q0 {d} 1 {s} {name}\n" for q, d, s in rows))
        files.append(str(file))
    return str(qrels), files


def test_commands(tmp_path: Path) -> None:
    qrels, runs = write(tmp_path)
    run = CliRunner().invoke
    listed = run(cli, ["judge", qrels, *runs, "-m", "P@3", "--top", "3", "--page", str(tmp_path / "judge.html")])
    assert listed.exit_code == 0, listed.output
    assert "matters most for" in listed.output and (tmp_path / "judge.html").exists()
    new = tmp_path / "new.qrels"
    new.write_text("1 0 x 1\n1 0 w 0\n")
    merged = run(cli, ["judge", qrels, *runs, "-m", "P@3", "--merge", str(new), "-o", str(tmp_path / "all.csv")])
    assert merged.exit_code == 0, merged.output
    assert "2 new judgments merged" in merged.output
    assert cf.evaluate(tmp_path / "all.csv", runs, "P@3")._means[1, 0] > cf.evaluate(qrels, runs, "P@3")._means[1, 0]
    both = [saved_by(tmp_path, "ann", {"x": 1, "w": 0}), saved_by(tmp_path, "bob", {"x": 0, "w": 0})]
    merging = [word for path in both for word in ("--merge", str(path))]
    settled = run(cli, ["judge", qrels, *runs, *merging, "--settle", "median", "-o", str(tmp_path / "settled.csv")])
    assert settled.exit_code == 0, settled.output
    assert "Agreement of assessors" in settled.output and "50%" in settled.output
    refused = run(cli, ["judge", qrels, *runs, "--merge", str(new)])
    assert refused.exit_code == 2 and "--output" in refused.output
    sampled = run(cli, ["sample", *runs, "--qrels", qrels, "--strata", "2:1 4:1", "-o", str(tmp_path / "s.qrels")])
    assert sampled.exit_code == 0, sampled.output
    judged = run(cli, ["judges", qrels, str(new), *runs, "-m", "P@3", "--undefined", "zero"])
    assert judged.exit_code == 1 and "no document is judged by humans and by the judge" in judged.output


def test_large_pools() -> None:
    rng = np.random.default_rng(0)
    ids = [f"d{i}" for i in range(3000)]
    runs = {
        f"r{r}": {str(q): {ids[i]: -float(n) for n, i in enumerate(rng.permutation(3000)[:100])} for q in range(5)}
        for r in range(20)
    }
    qrels = {str(q): {ids[i]: int(i % 3 == 0) for i in range(300)} for q in range(5)}
    assert len(next_documents(qrels, runs, "RBP(p=0.95)").documents) == 50
