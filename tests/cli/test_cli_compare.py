"""``cranfield compare``: what it prints, and when it fails a pipeline."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli_samples import BM25, DENSE, QRELS, RUNS, Call

import cranfield as cf
from collection_files import write_collection


def made(folder: Path, name: str, good: bool, queries: int = 12) -> Path:
    path = folder / name
    first, second = ("a", "b") if good else ("b", "a")
    path.write_text("".join(f"q{i} Q0 {first} 1 2 x\nq{i} Q0 {second} 2 1 x\n" for i in range(queries)))
    return path


def judged(folder: Path, queries: int = 12) -> Path:
    path = folder / "qrels.txt"
    path.write_text("".join(f"q{i} 0 a 1\nq{i} 0 b 0\n" for i in range(queries)))
    return path


def test_json_is_the_comparison(call: Call) -> None:
    result = call("compare", QRELS, *RUNS, "-m", "AP RR", "--format", "json")
    expected = cf.compare(QRELS, RUNS, ["AP", "RR"]).to_dict()
    assert json.loads(result.stdout) == json.loads(json.dumps(expected))
    assert result.stderr == ""


def test_letters_and_pairs(call: Call) -> None:
    result = call("compare", QRELS, BM25, DENSE, "-m", "AP", "--verbose")
    words = " ".join(result.stdout.split())
    for part in ("paired randomisation test, all 128 sign patterns;", "p < 0.05"):
        assert part in words
    assert "AP: all pairs, 7 queries" in result.stdout
    assert "note: compared on 7 queries (q1, q2, q3, q4, q5, ...); 1 query (q8) left out" in result.stderr


def test_sign_patterns_and_samples_are_told_apart(call: Call) -> None:
    def title(*how: object) -> str:
        return " ".join(call("compare", QRELS, BM25, DENSE, *how).stdout.rpartition("\n\n")[2].split())

    assert "test, all 128 or 256 sign patterns; p" in title("-m", "AP RR")
    assert "test, all 128 sign patterns or 200 samples, seed 5; p" in title(
        "-m", "AP RR", "--samples", 200, "--seed", 5
    )
    assert "test, 99 samples, seed 0; p" in title("-m", "AP", "--samples", 99)
    assert "test, 99 samples, seed 0; p" in title("-m", "AP", "--samples", 99, "--test", "bootstrap")


def test_notes_and_checks_say_the_lowest_p_value_of_their_sides(call: Call) -> None:
    ask = ["compare", QRELS, BM25, DENSE, "--alpha", "0.001", "--no-significant-loss", "AP"]
    result = call(*ask, "-m", "AP RR")
    note, *_, check = (line for line in result.stderr.splitlines() if "lowest possible" in line)
    assert "is 0.0078 to 0.016, depending on the measure; use" in note
    assert "is 0.0078; paired randomisation test, all 128 sign patterns;" in check  # one-sided


def test_csv_has_a_line_for_every_pair_and_measure(call: Call) -> None:
    text = call("compare", QRELS, *RUNS, "-m", "AP RR", "--format", "csv", "--tests", "all").stdout
    rows = list(csv.DictReader(StringIO(text)))
    assert len(rows) == 2 * len(RUNS) * (len(RUNS) - 1) // 2
    assert float(rows[0]["difference"]) == pytest.approx(float(rows[0]["mean"]) - float(rows[0]["other_mean"]))
    assert {"p t", "p tukey", "corrected", "doubts"} <= rows[0].keys()


def test_a_worse_run_fails_with_one_sentence(call: Call, tmp_path: Path) -> None:
    qrels, good, bad = judged(tmp_path), made(tmp_path, "good", True), made(tmp_path, "bad", False)
    report = tmp_path / "junit.xml"
    result = call(
        "compare",
        qrels,
        good,
        bad,
        "--no-significant-loss",
        "RR=0.01",
        "--junit",
        report,
        "-o",
        tmp_path / "out",
    )
    assert result.exit_code == 3
    sentence, *lost = result.stderr.splitlines()[-7:]
    assert lost[0] == "  q0  1.0000 → 0.5000"
    assert lost[-1] == "  ... and 7 more queries"
    assert sentence.startswith("bad is worse than good: RR 0.5000 vs 1.0000 (")
    assert all(part in sentence for part in ("-0.5000", "0.01", "one-sided p = 0.0002", "randomisation"))
    suite = ElementTree.parse(report).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    assert suite.find("testcase/failure").get("message") == sentence


def test_a_run_that_is_no_worse_passes(call: Call, tmp_path: Path) -> None:
    qrels, good, bad = judged(tmp_path), made(tmp_path, "good", True), made(tmp_path, "bad", False)
    report = tmp_path / "junit.xml"
    guard = ["--no-significant-loss", "RR", "--junit", report]
    assert call("compare", qrels, bad, good, *guard).exit_code == 0
    assert ElementTree.parse(report).getroot().get("failures") == "0"
    assert call("compare", qrels, good, bad, "--no-significant-loss", "RR=0.6").exit_code == 0
    assert call("compare", qrels, good, bad, *guard, "--baseline", bad).exit_code == 0


def test_a_check_says_that_significance_decided(call: Call) -> None:
    ask = ["compare", QRELS, DENSE, BM25, "-m", "nDCG@10", "--no-significant-loss", "nDCG@10", "--format", "markdown"]
    # Without significance, there is no evidence that a run is not worse.
    said = "✅ bm25 vs dense passed: no significant loss, but 4 queries lost and 3 won: q3, q6, q2, q4"
    assert said in call(*ask).stdout
    assert "✅ dense: no significant loss against bm25: nDCG@10" in call(*ask, "--baseline", BM25).stdout
    assert (
        "✅ bm25: an allowed loss against dense: nDCG@10"
        in call(*ask[:6], *ask[8:], "--may-drop", "nDCG@10=0.1").stdout
    )


@pytest.mark.parametrize("verb", ["eval", "compare", "queries", "audit"])
def test_a_corpus_that_is_not_read_gives_a_note(call: Call, verb: str) -> None:
    result = call(verb, QRELS, BM25, DENSE, "-m", "AP", "--corpus", "nowhere.jsonl")
    assert result.exit_code == 0
    assert "the corpus was not read" in result.stderr


def test_one_run_is_nothing_to_compare(call: Call) -> None:
    result = call("compare", QRELS, BM25)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "at least two runs" in result.stderr


def test_figures_and_report(call: Call, tmp_path: Path) -> None:
    drawn = tmp_path / "figures"
    assert call("compare", QRELS, *RUNS, "-m", "AP", "--no-audit", "--figures", drawn).exit_code == 0
    assert (
        call("compare", QRELS, *RUNS, "-m", "RR", "--no-audit", "--baseline", BM25, "--figures", drawn).exit_code == 0
    )
    page = tmp_path / "report.html"
    result = call(
        "report", QRELS, *RUNS, "-m", "AP", "-o", page, "--figures", drawn, "--ties", "expected", "--condensed"
    )
    assert (result.exit_code, result.stdout) == (0, "")
    names = ("compare-AP", "compare-RR", "curves", "means-AP")
    assert sorted(path.name for path in drawn.iterdir()) == [
        f"{n}.{kind}" for n in names for kind in ("pdf", "png", "svg")
    ]
    assert "cranfield eval qrels.txt " in page.read_text()
    assert "-m AP --ties expected --condensed" in page.read_text()


def test_runs_from_a_pipe_are_read_once(call: Call) -> None:
    piped = Path(BM25).read_bytes()
    expected = json.loads(call("compare", QRELS, BM25, DENSE, "-m", "AP", "--format", "json").stdout)["pairs"][0]
    found = call("compare", QRELS, "-", DENSE, "-m", "AP", "--format", "json", input=piped)
    assert found.exit_code == 0
    assert json.loads(found.stdout)["pairs"][0] == expected | {"other": "stdin"}
    assert call("queries", QRELS, "-", DENSE, "--query", "q1", input=piped).exit_code == 0


def test_a_job_summary_names_the_queries_that_lost_most(call: Call) -> None:
    ask = ["compare", QRELS, RUNS[2], BM25, DENSE, "--no-significant-loss", "nDCG@10", "--format", "markdown"]
    last = call(*ask).stdout.rpartition("\n\n")[2].splitlines()[2:]
    scores = cf.evaluate(QRELS, [RUNS[2], BM25, DENSE], "nDCG@10").to_dict()["runs"]
    old, *others = ({q: x for q, x in scores[name]["nDCG@10"]["queries"].items() if x} for name in scores)
    lost = sorted((new[q] - old[q], q) for new in others for q in old if q in new)[:5]
    assert [line.split("|")[1].strip() for line in last] == [q for _, q in lost]
    assert [float(line.split("|")[6]) for line in last] == pytest.approx([gap for gap, _ in lost], abs=5e-5)
    assert "lost most" not in call(*ask[:2], BM25, RUNS[2], *ask[5:]).stdout  # nothing lost


def test_a_guard_that_cannot_guard_is_refused(call: Call, tmp_path: Path) -> None:
    for rule in ("--no-significant-loss", "--may-drop", "--not-worse-by", "--at-least", "--at-most"):
        for number in ("inf", "-inf", "-1", "1e400"):
            assert call("compare", QRELS, BM25, DENSE, rule, f"AP={number}").exit_code == 2, (rule, number)
    result = call("compare", QRELS, BM25, DENSE, "--junit", tmp_path / "junit.xml")
    assert result.exit_code == 2
    assert "--junit needs a check" in result.stderr


def test_a_guarded_measure_is_found_by_any_name(call: Call, tmp_path: Path) -> None:
    qrels, good, bad = judged(tmp_path), made(tmp_path, "good", True), made(tmp_path, "bad", False)
    report = tmp_path / "junit.xml"
    guard = ["--junit", report, "--format", "json", "--condensed", "--no-audit"]
    result = call(
        "compare", qrels, good, bad, "-m", "AP[condensed] AP RR", "--no-significant-loss", "recip_rank P@1", *guard
    )
    assert result.exit_code == 3
    assert list(json.loads(result.stdout)["queries"]) == ["AP[condensed]", "RR", "P@1"]
    names = [case.get("name") for case in ElementTree.parse(report).getroot()]
    assert names == ["RR vs good", "P@1 vs good"]


def test_the_family_and_the_queries_are_named_in_csv_too(call: Call) -> None:
    result = call("compare", QRELS, *RUNS, "-m", "AP", "--format", "csv")
    assert next(csv.DictReader(StringIO(result.stdout)))["family"] == "6 pairs per measure"
    assert "note: compared on 7 queries (q1, q2, q3, q4, q5, ...); 1 query (q8)" in result.stderr


def test_judgments_by_subtopic_and_intents(call: Call, tmp_path: Path) -> None:
    qrels = Path(QRELS).with_name("qrels.diversity.txt")
    plain = call("compare", qrels, BM25, DENSE, "--format", "json")
    assert "alpha_nDCG@20" in json.loads(plain.stdout)["queries"]
    one = qrels.read_text().split()
    weights = tmp_path / "intents"
    weights.write_text(f"{one[0]} {one[1]} 9\n")
    collection = write_collection(tmp_path, qrels=qrels, intents=weights)
    how = ["-m", "ERR_IA@20"]
    expected = cf.evaluate(cf.Collection(qrels, intents=str(weights)), [BM25, DENSE], "ERR_IA@20")._means[:, 0]
    told = json.loads(call("compare", collection, BM25, DENSE, *how, "--format", "json").stdout)["pairs"][0]
    assert (told["other_mean"], told["mean"]) == pytest.approx(tuple(expected), abs=1e-12)
    assert told["difference"] == pytest.approx(expected[1] - expected[0])  # new minus old
    assert call("queries", collection, BM25, DENSE, *how).exit_code == 0


def test_figures_take_every_name(call: Call, tmp_path: Path) -> None:
    qrels = judged(tmp_path)
    names = ("cost$\\frac{$", "caf\udcff", "😀", "l" * 200)
    runs = [made(tmp_path, name, i % 2 == 0) for i, name in enumerate(names)]
    drawn = tmp_path / "figures"
    how = ["-m", "RR", "--figures", drawn]
    assert call("compare", qrels, *runs, *how, "--no-audit").exit_code == 0
    assert "cost$\\frac{$" in (drawn / "compare-RR.svg").read_text()
    assert call("compare", qrels, *runs, *how, "--no-audit", "--baseline", runs[1]).exit_code == 0
    assert call("queries", qrels, *runs[:2], *how).exit_code == 0
    assert call("report", qrels, *runs, *how, "-o", tmp_path / "report.html").exit_code == 0


def test_latex_takes_every_name(call: Call, tmp_path: Path) -> None:
    qrels = judged(tmp_path)
    names = ("a<b|c", "[x]", "50%_$&#{}~^\\", "*y")
    runs = [made(tmp_path, name, i % 2 == 0) for i, name in enumerate(names)]
    text = call("compare", qrels, *runs, "-m", "RR", "--no-audit", "--format", "latex", "--table", "pairs").stdout
    assert "\n{}[x] & " in text
    assert "\n{}*y & " in text
    assert "a$<$b$|$c" in text
    assert "+$\\infty$" in text
    assert r"50\%\_\$\&\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}" in text
    assert "█" not in call("queries", qrels, *runs[:2], "-m", "RR", "--format", "latex").stdout


def test_many_runs_have_numbers_for_letters(call: Call, tmp_path: Path) -> None:
    qrels = judged(tmp_path)
    runs = [made(tmp_path, f"run{i:02}", i % 2 == 0) for i in range(30)]
    result = call("compare", qrels, *runs, "-m", "RR", "--correction", "none", "--table", "means")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert "how many runs it beats/loses to significantly" in " ".join(lines[:3])
    assert ["1", "run00", "1.0000", "15/0", "1–15"] in [line.split() for line in lines]
    assert ["30", "run29", "0.5000", "0/15", "16–30"] in [line.split() for line in lines]


def test_more_resamples_are_taken_and_announced_for_many_pairs(call: Call, tmp_path: Path) -> None:
    qrels = judged(tmp_path, 25)
    runs = [made(tmp_path, f"run{i:03}", i % 2 == 0, 25) for i in range(102)]
    result = call("compare", qrels, *runs, "-m", "RR", "--no-audit")
    first = result.stderr.splitlines()[0]
    assert first.startswith(
        "note: 200,000 resamples: with 100,000, no difference could be significant after correction"
    )
    assert "significantly better than 51 of the 101 other runs" in " ".join(result.stdout.split())


def test_letters_are_raised_in_papers(call: Call, tmp_path: Path) -> None:
    qrels = judged(tmp_path)
    runs = [made(tmp_path, f"r{i:02}", i < 10) for i in range(20)]
    ask = ["compare", qrels, *runs, "-m", "RR", "--no-audit", "--correction", "none"]
    assert re.search(r"190 pairs .*--table pairs", call(*ask, "--verbose").stderr)
    assert call(*ask, "--table", "pairs").stdout.count("\nr") > 190
    assert "\\textbf{1.0000}\\textsuperscript{k--t}" in call(*ask, "--format", "latex").stdout
    assert "**1.0000**<sup>k–t</sup>" in call(*ask, "--format", "markdown", "--table", "means").stdout


def test_marks_against_a_baseline_of_many_runs(call: Call, tmp_path: Path) -> None:
    qrels = judged(tmp_path)
    runs = [made(tmp_path, f"run{i:02}", i % 2 == 0) for i in range(37)]
    ask = ["compare", qrels, *runs, "-m", "RR", "--correction", "none", "--no-audit"]
    worse = call(*ask, "--baseline", runs[0], "--table", "means").stdout
    assert worse.startswith("Means over 12 queries; ▼ significantly worse, ▲ significantly better than run00")
    table = worse.rpartition("\n\n")[0]
    assert (table.count("▼"), table.count("▲")) == (1 + 18, 1)
    assert ["1", "run00", "(baseline)", "1.0000"] in [line.split() for line in table.splitlines()]
    assert ["20", "run01", "0.5000", "▼"] in [line.split() for line in table.splitlines()]
    text = call(*ask, "--baseline", runs[1], "--format", "latex").stdout
    assert "significantly worse, $\\blacktriangle$ significantly better than run01" in text.splitlines()[3]
    assert "\\usepackage{booktabs,amssymb}" in text and "\\label{tab:means}" in text
    assert "run00 & \\textbf{1.0000}\\rlap{\\textsuperscript{$\\blacktriangle$}} \\\\" in text


def test_differences_are_listed_by_size(call: Call) -> None:
    text = call("compare", QRELS, *RUNS, "-m", "AP", "--baseline", "dense", "--table", "pairs").stdout
    rows = [line.split()[:2] for line in text.splitlines() if line.startswith(("llm", "bm25", "quiet"))]
    assert [name for name, _ in rows[:3]] == ["llm", "quiet", "bm25"]
    sizes = [abs(float(difference)) for _, difference in rows[:3]]
    assert sizes == sorted(sizes, reverse=True)


def test_the_best_runs_against_the_best(call: Call, tmp_path: Path) -> None:
    ask = ["compare", QRELS, *RUNS, "-m", "nDCG@10 AP"]
    result = call(*ask, "--top", 3, "--baseline", "best", "--format", "json")
    best = json.loads(result.stdout)
    assert (best["baseline"], best["runs"]) == ("llm", ["dense", "llm", "quiet"])
    expected = cf.compare(QRELS, [DENSE, *RUNS[2:]], ["nDCG@10", "AP"], baseline="best").to_dict()
    assert best | {"provenance": 0} == json.loads(json.dumps(expected)) | {"provenance": 0}  # of all four runs
    assert "3 of 4 runs are compared, those with the highest nDCG@10" in call(*ask, "--top", 3).stderr
    named = json.loads(call(*ask, "--top", 1, "--baseline", "bm25", "--format", "json").stdout)
    assert named["runs"] == ["bm25", "llm"]
    mine = tmp_path / "best.run"
    mine.write_text(Path(BM25).read_text())
    text = call(*ask[:2], DENSE, mine, "-m", "AP", "--baseline", "best", "--format", "json").stdout
    assert json.loads(text)["baseline"] == "best"


def test_top_with_a_saved_baseline(call: Call, tmp_path: Path) -> None:
    saved = tmp_path / "scores.json"
    cf.evaluate(QRELS, BM25, "AP").save(saved)
    result = call("compare", QRELS, *RUNS[1:], "--baseline", saved, "--top", 1, "--format", "json")
    assert json.loads(result.stdout)["runs"] == ["bm25", "llm"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (["--no-significant-loss", "AP"], "--top does not work with --no-significant-loss"),
        (["--baseline", "best"], "--top 1 leaves one"),
    ],
)
def test_top_that_leaves_out_too_much_is_refused(call: Call, how: list[str], message: str) -> None:
    result = call("compare", QRELS, *RUNS, "-m", "AP", "--top", 1, *how)
    assert result.exit_code == 2 and message in result.stderr


@pytest.mark.parametrize("baseline", ["x.run", "./x.run", "link.run", "x"])
def test_a_file_that_is_given_twice_or_by_another_path(
    baseline: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("".join(f"q{i} 0 a 1\n" for i in range(8)))
    for name, document in (("x", "a"), ("y", "b")):
        Path(f"{name}.run").write_text("".join(f"q{i} Q0 {document} 1 1.0 t\nq{i} Q0 c 2 0.5 t\n" for i in range(8)))
    Path("link.run").symlink_to("x.run")
    arguments = ["qrels.txt", "x.run", "x.run", "y.run", "link.run", "-m", "RR", "--baseline", baseline]
    (pair,) = json.loads(call("compare", *arguments, "--format", "json").stdout)["pairs"]
    assert (pair["run"], pair["other"], pair["difference"]) == ("y", "x", -1)
