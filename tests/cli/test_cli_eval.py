"""``cranfield eval``: its formats, its options, and what it says where."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from cli_samples import BM25, DENSE, LLM, QRELS, QUIET, RUNS, Call

import cranfield as cf
from collection_files import write_collection
from cranfield import example
from cranfield.cli.options import split_measures
from cranfield.evaluation.notes import sentences
from cranfield.evaluation.plan import DEFAULT_MEASURES, DIVERSITY_MEASURES
from cranfield.report import FORMATS


def test_a_table_of_all_runs(call: Call) -> None:
    result = call("eval", QRELS, *RUNS, "-m", "AP", "-m", "nDCG@10 RR")
    assert result.exit_code == 0
    head, rule, *rows, _, _, policy = result.stdout.splitlines()
    assert policy == "skipped; means over 7 to 8 queries."
    assert head.split() == ["run", "AP", "nDCG@10", "RR", "queries"]
    assert set(rule) == {"─"}
    assert [row.split()[0] for row in rows] == ["llm", "dense", "bm25", "quiet"]
    means = cf.evaluate(QRELS, [LLM, DENSE, BM25, QUIET], ["AP", "nDCG@10", "RR"])._means
    assert [row.split()[1:4] for row in rows] == [[f"{mean:.4f}" for mean in row] for row in means]


def test_notes_are_talk(call: Call) -> None:
    result = call("eval", QRELS, LLM, "-m", "AP")
    assert "note" not in result.stdout
    assert result.stderr.splitlines() == [f"note: {note}" for note in sentences(cf.evaluate(QRELS, LLM, ["AP"]).notes)]
    assert result.stderr


def test_json_is_exactly_to_dict(call: Call) -> None:
    result = call("eval", QRELS, *RUNS, "-m", "AP", "-m", "RBP(p=0.8)", "--format", "json")
    assert json.loads(result.stdout) == cf.evaluate(QRELS, RUNS, ["AP", "RBP(p=0.8)"]).to_dict()
    assert result.stderr == ""


def test_without_measures_the_documented_ones(call: Call) -> None:
    result = call("eval", QRELS, BM25, "--format", "json")
    assert tuple(json.loads(result.stdout)["runs"]["bm25"]) == DEFAULT_MEASURES
    shown = " ".join(call("eval", "--help").stdout.split())
    assert " ".join(DEFAULT_MEASURES) in shown


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("per_query", [[], ["-q"]])
def test_every_format_has_every_mean(call: Call, format: str, per_query: list[str]) -> None:
    result = call("eval", QRELS, *RUNS, "-m", "AP nDCG@10", "--format", format, *per_query)
    assert result.exit_code == 0
    for mean in cf.evaluate(QRELS, RUNS, ["AP", "nDCG@10"])._means.flat:
        assert (repr(float(mean)) if format in ("json", "csv") else f"{mean:.4f}") in result.stdout


def test_csv_has_every_query(call: Call) -> None:
    rows = list(csv.DictReader(io.StringIO(call("eval", QRELS, DENSE, "-m", "AP", "--format", "csv", "-q").stdout)))
    assert [row["query"] for row in rows] == [*(f"q{i}" for i in range(1, 9)), "all"]
    assert rows[7]["value"] == ""  # nothing is relevant to q8


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        (["--ties", "expected"], {"ties": "expected"}),
        (["--ties", "trec"], {"ties": "trec"}),
        (["--depth", "3"], {"depth": 3}),
        (["--condensed"], {"condensed": True}),
        (["--queries", "both"], {"queries": "both"}),
        (["--undefined", "zero"], {"undefined": "zero"}),
        (["--rel", "2"], {"qrels": cf.Collection(QRELS, rel=2)}),
        (["--show", "residuals"], {"show": "residuals"}),
    ],
)
def test_options_are_the_keywords_of_evaluate(call: Call, options: list[str], keywords: dict[str, object]) -> None:
    result = call("eval", QRELS, LLM, QUIET, "-m", "AP RBP", "--format", "json", *options)
    assert (
        json.loads(result.stdout)
        == cf.evaluate(**{"qrels": QRELS, "run": [LLM, QUIET], "measures": ["AP", "RBP"], **keywords}).to_dict()
    )


def test_a_run_from_standard_input(call: Call) -> None:
    result = call("eval", QRELS, "-", "-m", "AP", "--format", "json", input=Path(BM25).read_bytes())
    (found,) = json.loads(result.stdout)["runs"].values()
    assert found["AP"]["mean"] == cf.evaluate(QRELS, BM25, ["AP"])._means[0, 0]


@pytest.mark.parametrize(("method", "said"), [("bca", "BCa bootstrap"), ("t", "Student's t")])
def test_intervals_say_what_they_are(call: Call, method: str, said: str) -> None:
    result = call("eval", QRELS, BM25, "-m", "P@5", "--interval", method)
    low, high = cf.evaluate(QRELS, BM25, ["P@5"])._interval(0, 0, method=method)  # type: ignore[arg-type]
    assert f"[{low:.4f}, {high:.4f}]" in result.stdout
    assert "95% confidence intervals" in result.stderr
    assert said in result.stderr


def test_intervals_begin_at_the_seed(call: Call) -> None:
    first, again, other = (
        call("eval", QRELS, BM25, "-m", "AP", "--interval", "bca", "--format", "csv", "--seed", seed).stdout
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_output_is_written_whole(call: Call, tmp_path: Path) -> None:
    target = tmp_path / "scores.csv"
    target.write_text("old")
    result = call("eval", QRELS, BM25, "-m", "AP", "--format", "csv", "-o", target)
    assert (result.exit_code, result.stdout) == (0, "")
    assert target.read_text() == call("eval", QRELS, BM25, "-m", "AP", "--format", "csv").stdout
    assert list(tmp_path.iterdir()) == [target]


def test_output_through_a_link_keeps_the_link(call: Call, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    call("eval", QRELS, BM25, "-m", "AP", "-o", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text().startswith("run")


def test_output_that_cannot_be_written(call: Call, tmp_path: Path) -> None:
    result = call("eval", QRELS, BM25, "-m", "AP", "-o", tmp_path / "none" / "x")
    assert (result.exit_code, result.stderr) == (1, f"error: {tmp_path}/none/x: no such file or directory\n")


def test_ids_leave_as_they_came(call: Call, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(b"q\xff 0 d 1\n")
    (tmp_path / "a.run").write_bytes(b"q\xff Q0 d 1 1.0 a\n")
    for format in ("table", "csv", "trec", "markdown", "latex"):
        result = call("eval", tmp_path / "qrels", tmp_path / "a.run", "-m", "AP", "-q", "--format", format)
        assert b"q\xff" in result.stdout_bytes, format


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("AP", ["AP"]),
        (" AP  RR ", ["AP", "RR"]),
        ("AP[ties=best, condensed] RR", ["AP[ties=best, condensed]", "RR"]),
        ("nDCG(gain={1: 2, 3: 4})@10\tP@5", ["nDCG(gain={1: 2, 3: 4})@10", "P@5"]),
        ("AP(rel=2 RR", ["AP(rel=2 RR"]),
        ("", []),
    ],
)
def test_measures_are_split_outside_of_brackets(text: str, names: list[str]) -> None:
    assert list(split_measures(text)) == names


def test_judgments_by_subtopic_are_recognised(call: Call, tmp_path: Path) -> None:
    diversity = example.path(example.DIVERSITY)
    result = call("eval", diversity, BM25)
    assert [line.split()[0] for line in result.stdout.splitlines()[2:8]] == list(DIVERSITY_MEASURES)
    note = result.stderr.splitlines()[0]
    assert note.startswith("note: qrels.diversity has judgments by subtopic") and "-m" in note
    asked = call("eval", diversity, BM25, "-m", "AP")
    assert "note: qrels.diversity has judgments by subtopic; AP uses the highest grade" in asked.stderr
    assert note not in asked.stderr
    usual = call("eval", diversity, BM25, "-m", " ".join(DEFAULT_MEASURES), "--format", "json")
    assert tuple(json.loads(usual.stdout)["runs"]["bm25"]) == DEFAULT_MEASURES  # asked for, though they are the default
    assert list(json.loads(call("audit", diversity, BM25, "--format", "json").stdout)["pairs"]) == list(
        DIVERSITY_MEASURES
    )
    weights = tmp_path / "weights"
    weights.write_text("q1 nothing 1\n")
    result = call("eval", write_collection(tmp_path, qrels=diversity, intents=weights), BM25)
    assert result.exit_code == 1
    assert f"error: {weights}:1: no document is judged for subtopic `nothing` of query `q1`" in result.stderr
    assert "hint: query `q1` has subtopics " in result.stderr


@pytest.mark.parametrize("verb", ["audit", "compare", "queries", "report"])
def test_costs_of_other_verbs(verb: str, call: Call, tmp_path: Path) -> None:
    rows = {
        "qrels": "1 0 a 1\n2 0 a 1\n",
        "costs": "1 x 9\n2 x 3\n",
        "one": "{0} Q0 x 1 2 own\n{0} Q0 a 2 1 own\n",
        "other": "{0} Q0 a 1 2 own\n",
    }
    for name, text in rows.items():
        text = "".join(text.format(q) for q in "12") if "{" in text else text
        (tmp_path / name).write_text(text)
    files = [tmp_path / name for name in ("qrels", "one", "other")]
    page = tmp_path / "page.html"
    more = ["-o", page] if verb == "report" else ["--format", "json"]
    outputs = []
    collection = write_collection(tmp_path, qrels=files[0], costs=tmp_path / "costs")
    for judged in (files[0], collection):
        result = call(verb, judged, *files[1:], "-m", "TBG(half=2)", *more)
        assert result.exit_code == 0, result.output
        outputs.append(page.read_text() if verb == "report" else result.stdout)
    assert outputs[0] != outputs[1]
    if verb == "report":
        assert "collection.toml" in outputs[1]
    unused = call(verb, collection, *files[1:], "-m", "RR", *([] if verb != "report" else more))
    assert "the costs were not used" in unused.stderr + (page.read_text() if verb == "report" else "")


def test_costs(call: Call, tmp_path: Path) -> None:
    files = {"qrels": "q 0 a 1\n", "run": "q Q0 x 1 2 own\nq Q0 a 2 1 own\n", "costs": "q x 9\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    collection = write_collection(tmp_path, qrels=tmp_path / "qrels", costs=tmp_path / "costs")
    asked = ["eval", collection, tmp_path / "run", "-m", "TBG(half=9, per='list')"]
    scores = json.loads(call(*asked, "--format", "json").stdout)["runs"]["run"]
    assert scores["TBG(half=9, per='list')"]["mean"] == 0.5


def test_runs_are_sorted_by_the_first_measure(call: Call) -> None:
    def order(*how: object) -> list[str]:
        result = call("eval", QRELS, *RUNS, "-m", "AP RR", "--quiet", *how)
        assert (result.exit_code, result.stderr) == (0, "")
        return [line.split()[0] for line in result.stdout.partition("\n\n")[0].splitlines()[2:]]

    means = cf.evaluate(QRELS, RUNS, ["AP", "RR"])._means
    names = ["bm25", "dense", "llm", "quiet"]
    assert order() == order("--order", "map") == sorted(names, key=lambda name: -means[names.index(name), 0])
    assert order("--order", "RR") == sorted(names, key=lambda name: -means[names.index(name), 1])
    assert order("--order", "name") == order("--order", "input") == names
    assert order("--top", 2) == order()[:2]
    assert order("--top", 2, "--order", "name") == order("--top", 2, "--order", "input") == sorted(order()[:2])
    assert list(json.loads(call("eval", QRELS, *RUNS[::-1], "--format", "json").stdout)["runs"]) == names[::-1]
    wrong = call("eval", QRELS, *RUNS, "-m", "AP", "--order", "nDCG")
    assert wrong.exit_code == 2 and "`nDCG` is not one of the measures" in wrong.stderr


def test_top_runs_are_the_best_in_every_format(call: Call) -> None:
    for runs in (RUNS, RUNS[::-1]):
        result = call("eval", QRELS, *runs, "-m", "RR AP", "--order", "AP", "--top", 2, "--format", "csv")
        assert [line.split(",")[0] for line in result.stdout.splitlines()[1::2]] == ["llm", "dense"]
        assert "2 of 4 runs are shown, those with the highest AP (--top)" in result.stderr
        as_json = call("eval", QRELS, *runs, "-m", "AP", "--top", 2, "--format", "json").stdout
        assert list(json.loads(as_json)["runs"]) == ["llm", "dense"]


def test_an_undefined_mean_comes_last(call: Call, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 0\n")
    (tmp_path / "other.run").write_text("2 Q0 a 1 1 x\n")
    (tmp_path / "some.run").write_text("1 Q0 b 1 1 x\n")
    runs = [tmp_path / "other.run", tmp_path / "some.run"]
    result = call("eval", tmp_path / "qrels", *runs, "-m", "AP", "--queries", "both")
    rows = result.stdout.partition("\n\n")[0].splitlines()[2:]
    assert [row.split()[:2] for row in rows] == [["some", "0.0000"], ["other", "–"]]


def test_notes_on_many_runs_are_summarised(call: Call, tmp_path: Path) -> None:
    runs = []
    for i in range(30):
        runs.append(tmp_path / f"run{i}.run")
        lines = [f"q{q} Q0 d{d} 0 {9 - d // 2} x\n" for q in range(2, 2 + i % 5) for d in range(10 + i)]
        runs[-1].write_text("q1 Q0 d99999 1 1 x\n" + "".join(lines))
    short = call("eval", QRELS, *runs)
    notes = [line for line in short.stderr.splitlines() if line.startswith("note: ")]
    assert len(notes) <= 12
    assert "note: 30 runs have no ranking for 3 to 7 queries; scored as empty" in notes
    assert notes[-1] == "note: use -v for the notes on each run"
    long = call("eval", QRELS, *runs, "-v")
    assert long.stdout == short.stdout
    assert len(long.stderr.splitlines()) > 60
    top = call("eval", QRELS, *runs, "--top", "3")
    assert "3 of 30 runs are shown, those with the highest AP (--top)" in top.stderr and "use -v" not in top.stderr


def test_t_intervals_stay_within_the_bounds_of_the_measure(call: Call) -> None:
    scores = cf.evaluate(QRELS, RUNS, ["RR", "P@1", "NumRet"])
    for r in range(len(RUNS)):
        for m in range(2):
            low, high = scores._interval(r, m, method="t")
            assert 0 <= low <= scores._means[r, m] <= high <= 1
