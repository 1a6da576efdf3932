"""Judged passages: scores of chunks against enumeration of characters, and everything that takes runs of chunks."""

from __future__ import annotations

import itertools
import random
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import cranfield as cf
from cranfield.errors import InputError, MeasureError, UsageError
from golden_cases import SPANS

GOLDEN = SPANS
Passage = tuple[str, int, int]


def value(spans: Any, run: Any, measure: str, **parts: Any) -> float:
    scores = cf.evaluate(cf.Collection(spans=spans, **parts), run, measure)
    return float(scores.values[0, 0, 0])


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_golden_spans(case: dict[str, Any]) -> None:
    found = value(case["spans"], case["run"], case["name"], cover=case["cover"])
    assert found == pytest.approx(case["expected"], abs=case["tol"])


def characters(passages: list[Passage]) -> set[tuple[str, int]]:
    return {(document, at) for document, start, end in passages for at in range(start, end)}


def by_characters(name: str, spans: list[Passage], chunks: list[Passage], k: int | None) -> float:
    """SPEC D, one character at a time."""
    judged, found = characters(spans), characters(chunks[:k])
    total = {"SpanR": judged, "SpanP": found, "SpanIoU": judged | found}[name]
    return len(judged & found) / len(total) if total else 0.0


def random_passages(rng: random.Random, count: int) -> list[Passage]:
    passages = []
    for _ in range(count):
        start = rng.randrange(40)
        passages.append((rng.choice("xyz"), start, start + rng.randint(1, 20)))
    return list(dict.fromkeys(passages))


@pytest.mark.parametrize("name", ["SpanR", "SpanP", "SpanIoU"])
def test_lengths_are_those_of_enumerated_characters(name: str) -> None:
    rng = random.Random(name)
    spans, run = {}, {}
    for number in range(1000):
        spans[str(number)] = random_passages(rng, rng.randint(1, 5))
        run[str(number)] = random_passages(rng, rng.randint(0, 8))
    cutoffs = (None, 1, 3)
    measures = [name if k is None else f"{name}@{k}" for k in cutoffs]
    scores = cf.evaluate(cf.Collection(spans=spans), run, measures)
    for q, query in enumerate(scores.queries):
        expected = [by_characters(name, spans[query], run[query], k) for k in cutoffs]
        assert scores.values[0, :, q].tolist() == pytest.approx(expected), query


@pytest.mark.parametrize("name", ["SpanR@2", "SpanP@3", "SpanIoU@2", "SpanP", "SpanR@4[condensed]", "SpanIoU[depth=3]"])
def test_ties_are_the_mean_over_all_orders(name: str) -> None:
    rng = random.Random(name)
    symbol, _, rest = name.partition("@")
    symbol = symbol.partition("[")[0]
    k = int(rest[0]) if rest else 3 if "depth" in name else None
    expected_name = name.replace("]", ", ties=expected]") if "[" in name else f"{name}[ties=expected]"
    for _ in range(30):
        spans = random_passages(rng, 3)
        chunks = [(*chunk, float(rng.randint(1, 2))) for chunk in random_passages(rng, 6)]
        chunks.sort(key=itemgetter(3), reverse=True)
        if "condensed" in name:
            chunks = [chunk for chunk in chunks if chunk[0] in {document for document, _, _ in spans}]
        chunks.sort(key=lambda chunk: -chunk[3])  # lists in which scores rise are refused
        groups = [[c[:3] for c in chunks if c[3] == score] for score in (2.0, 1.0)]
        orders = [list(itertools.chain(*order)) for order in itertools.product(*map(itertools.permutations, groups))]
        each = [by_characters(symbol, spans, order, k) for order in orders]
        for rule, of_orders in (("expected", fmean), ("best", max), ("worst", min)):
            found = value({"q": spans}, {"q": chunks}, expected_name.replace("expected", rule))
            assert found == pytest.approx(of_orders(each)), rule


def judged_by_hand(spans: list[Passage], run: list[Passage], cover: float) -> dict[str, dict[str, int]]:
    """The chunks and the passages that no chunk covers, as judgments by subtopic."""

    def share(chunk: Passage, span: Passage) -> float:
        return len(characters([chunk]) & characters([span])) / len(characters([span]))

    covered = {span for chunk in run for span in spans if share(chunk, span) >= cover}
    documents = {document for document, _, _ in spans}
    judged = {}
    for chunk in [*run, *(span for span in spans if span not in covered)]:
        grades = {"{}:{}-{}".format(*span): int(share(chunk, span) >= cover) for span in spans}
        if chunk[0] in documents:
            judged["{}:{}-{}".format(*chunk)] = grades
    return judged


@pytest.mark.parametrize("cover", [0.25, 0.5, 1.0])
def test_other_measures_take_chunks_by_the_passages_that_they_cover(cover: float) -> None:
    measures = ["RR", "P@3", "AP", "nDCG", "Success@2", "bpref", "Judged@4", "StRecall@2", "alpha_nDCG", "ERR_IA@3"]
    rng = random.Random(cover)
    for _ in range(40):
        spans, run = random_passages(rng, 3), random_passages(rng, 7)
        plain = ["{}:{}-{}".format(*chunk) for chunk in run]
        expected = cf.evaluate({"q": judged_by_hand(spans, run, cover)}, {"q": plain}, measures).values
        found = cf.evaluate(cf.Collection(spans={"q": spans}, cover=cover), {"q": run}, measures).values
        assert found == pytest.approx(expected, nan_ok=True)


def test_a_share_is_compared_without_rounding() -> None:
    assert value({"q": [("d", 0, 20)]}, {"q": [("d", 0, 11)]}, "RR", cover=0.55) == 1
    assert value({"q": [("d", 0, 20)]}, {"q": [("d", 0, 10)]}, "RR", cover=0.55) == 0


def test_grades_are_those_of_the_passages_covered() -> None:
    spans = {"q": [("d", 0, 10, 3), ("d", 20, 30), ("d", 40, 50, 0)]}
    run = {"q": [("d", 38, 52), ("d", 18, 31), ("d", 0, 31)]}
    assert value(spans, run, "CG@1") == 0
    assert value(spans, run, "CG@2") == 1
    assert value(spans, run, "CG@3") == 4
    assert value(spans, run, "SpanR@1") == 0  # what is judged not relevant is not missed
    assert value(spans, run, "SpanR") == 1


def test_queries_without_relevant_passages_are_undefined_and_empty_rankings_are_0() -> None:
    spans = {"judged": [("d", 0, 9, 0)], "empty": [("d", 0, 9)], "found": [("d", 0, 9)]}
    run = {"judged": [("d", 0, 9)], "found": [("d", 0, 9)], "other": [("d", 0, 9)]}
    scores = cf.evaluate(cf.Collection(spans=spans), run, ["SpanR", "SpanP", "SpanIoU"])
    for measure in scores.to_dict()["runs"]["run"].values():
        assert measure == {"mean": 0.5, "n": 2, "queries": {"judged": None, "empty": 0.0, "found": 1.0}}


def test_runs_do_not_change_each_other() -> None:
    """A relevant document of one chunking is no document of another one."""
    spans = {"1": [("d", 0, 40), ("e", 10, 60)], "2": [("e", 0, 30)]}
    small = {"1": [("d", 0, 30), ("d", 20, 50), ("e", 0, 30)], "2": [("e", 0, 30), ("d", 0, 30)]}
    large = {"1": [("d", 0, 80), ("f", 0, 80)], "2": [("d", 0, 80)]}
    collection, measures = cf.Collection(spans=spans), ["AP", "nDCG@2", "SpanIoU@2", "StRecall@1"]
    together = cf.evaluate(collection, {"small": small, "large": large}, measures)
    for row, run in enumerate((small, large)):
        assert cf.evaluate(collection, run, measures).values[0].tolist() == together.values[row].tolist()
    assert cf.evaluate(collection, [small, large], measures).values.tolist() == together.values.tolist()
    repeats = cf.evaluate(collection, {"small": cf.Repeats([small, small])}, measures)
    assert repeats.values[0].tolist() == together.values[0].tolist()
    evaluator = cf.Evaluator(collection, measures)
    assert evaluator.means(large) == dict(zip(measures, together._means[1].tolist(), strict=True))


def test_everything_takes_runs_of_chunks() -> None:
    spans = {str(q): [("d", 10 * q, 10 * q + 20), ("e", 0, 10)] for q in range(6)}
    runs = {
        "small": {
            str(q): [("d", 10 * q, 10 * q + 15, 2.0), ("e", q, q + 15, 1.0), ("f", 0, 15, 1.0)] for q in range(6)
        },
        "large": {str(q): [("d", 10 * q - 5 * (q > 0), 10 * q + 55, 2.0), ("f", 0, 60, 1.0)] for q in range(6)},
    }
    collection = cf.Collection(spans=spans, queries={str(q): {"kind": "ab"[q % 2]} for q in range(6)})
    measures = ["SpanR@1", "P@2"]
    comparison = cf.compare(collection, runs, measures, test="t")
    assert comparison["SpanR@1"].pairs[0].difference == pytest.approx(20 / 30 - 15 / 30)
    audit = cf.audit(collection, runs, measures)
    assert audit.runs == ("small", "large") and audit.unjudged.tolist() == [[0, 0.25], [0, 0.5]]  # e and f are tied
    scores = cf.evaluate(collection, runs, measures)
    assert list(scores.by("kind").groups) == ["a", "b"]
    assert any("unjudged" in note for note in scores.to_dict()["notes"])
    assert not any("by subtopic" in note for note in scores.to_dict()["notes"])


def test_parts_that_exclude_each_other() -> None:
    spans = {"q": [("d", 0, 9)]}
    with pytest.raises(UsageError, match="qrels, prefs, groups, judges and spans exclude each other"):
        cf.Collection({"q": {"d": 1}}, spans=spans)
    with pytest.raises(UsageError, match="spans cannot be combined with nil, costs or predicted"):
        cf.Collection(spans=spans, nil="NIL")
    for cover in (0, 1.5, "half", -1, float("nan")):
        with pytest.raises(UsageError, match="cover must be a number greater than 0 and at most 1"):
            cf.Collection(spans=spans, cover=cover)


def test_measures_that_do_not_fit_the_judgments() -> None:
    spans, run = {"q": [("d", 0, 9)]}, {"q": [("d", 0, 5)]}
    with pytest.raises(InputError, match="SpanR@2 needs judgments of passages, not of documents"):
        cf.evaluate({"q": {"d": 1}}, {"q": ["d"]}, "SpanR@2")
    with pytest.raises(MeasureError, match="Hole@2 needs judgments of documents, not of passages"):
        cf.evaluate(cf.Collection(spans=spans), run, "Hole@2")
    with pytest.raises(MeasureError, match="SpanP@2 has no bounds"):
        cf.evaluate(cf.Collection(spans=spans), run, "SpanP@2", show="bounds")
    with pytest.raises(UsageError, match="chunks cannot be re-scored"):
        cf.Evaluator(cf.Collection(spans=spans), "RR").rescorer(run)
    with pytest.raises(MeasureError, match="cannot be computed from grades alone"):
        cf.parse("SpanR@1")([1, 0])


def test_a_report_marks_the_judged_part_of_each_chunk() -> None:
    from cranfield.analysis.significance import ComparisonSettings
    from cranfield.report.html import contents

    text = "The lamp was lit at dusk. The keeper wrote."
    spans = {"1": [("d", 4, 8), ("d", 20, 33)], "2": [("d", 0, 3)]}
    run = {"1": [("d", 0, 24, 2.0), ("e", 0, 9, 1.0)], "2": [("d", 10, 40, 1.0)]}
    evaluation = cf.Evaluator(cf.Collection(spans=spans), ["SpanR@1", "RR"]).evaluation(run, page=10)
    data = contents(evaluation.scores, ComparisonSettings(), None, evaluation, texts={"d": text})
    assert data["marked"] and data["rankings"][0]["grades"] == [1, None]
    assert data["texts"]["1"]["d:0-24"] == ["The ", "lamp", " was lit at ", "dusk", ""]
    assert data["texts"]["2"]["d:10-40"] == [text[10:40]]


def test_complete_judgments_of_passages() -> None:
    """A chunk of another document is not relevant, and a query without passages has nothing to find."""
    queries = {"1": "one", "2": "two", "3": "three", "4": "four"}
    collection = cf.Collection(spans={"1": [("a", 0, 10)], "2": [("b", 5, 9)]}, complete=True, queries=queries)
    run = {"1": [("x", 0, 9), ("a", 0, 10)], "3": [("a", 0, 4)]}
    scores = cf.evaluate(collection, run, ["SpanR", "SpanP@1", "RR[terminal]", "Judged@2", "SpanR@1[condensed]"])
    found = {name: one["queries"] for name, one in scores.to_dict()["runs"]["run"].items()}
    assert found == {
        "SpanR": {"1": 1.0, "2": 0.0, "3": None, "4": None},
        "SpanP@1": {"1": 0.0, "2": 0.0, "3": None, "4": None},
        "RR[terminal]": {"1": 0.5, "2": 0.0, "3": 0.5, "4": 1.0},
        "Judged@2": {"1": 1.0, "2": 0.0, "3": 0.5, "4": 0.0},
        "SpanR@1[condensed]": {"1": 0.0, "2": 0.0, "3": None, "4": None},
    }
    assert not any("unjudged" in note for note in scores.to_dict()["notes"])


JUDGED = {"1": [("docs/a.md", 10, 50), ("docs/b.md", 0, 30)], "2": [("docs/c.md", 0, 50)]}
RETRIEVED = {"1": [("a", 0, 60, 3.0), ("b", 0, 60, 2.0)], "2": [("c", 0, 50, 1.0)]}


def test_documents_of_chunks_and_of_passages_that_have_no_name_in_common() -> None:
    with pytest.raises(InputError, match=r"retrieved `a`, `b`, `c`; judged `docs/a.md`.*different forms") as error:
        cf.evaluate(cf.Collection(spans=JUDGED), RETRIEVED, "RR")
    assert "must name documents in the same way" in error.value.hint
    allowed = cf.evaluate(cf.Collection(spans=JUDGED, allow_disjoint=True), RETRIEVED, "RR")
    one_query = cf.Evaluator(cf.Collection(spans=JUDGED), "RR")({"1": RETRIEVED["1"]})
    bad = cf.evaluate(cf.Collection(spans=JUDGED), {"1": [("docs/x.md", 0, 9)], "2": [("docs/y.md", 0, 9)]}, "RR")
    for scores in (allowed, one_query, bad):
        assert scores["RR"]["run"] == 0 and scores.notes[0].kind == "disjoint"


def test_the_documents_of_chunks_are_mapped() -> None:
    collection = cf.Collection(spans=JUDGED, map_documents=lambda name: f"docs/{name}.md")
    assert cf.evaluate(collection, RETRIEVED, ["SpanR", "SpanR@1"]).values.tolist() == [[[1.0, 1.0], [4 / 7, 1.0]]]
    with_one = cf.Collection(spans=JUDGED, map_documents={"a": "docs/a.md"})
    scores = cf.evaluate(with_one, RETRIEVED, "SpanR")
    assert scores.values.tolist() == [[[4 / 7, 0.0]]]
    assert "run: 2 of 3 documents of chunks are not in the map of documents; kept as they are" in map(str, scores.notes)


def test_explain_says_what_each_chunk_adds() -> None:
    run = {"1": [("docs/a.md", 0, 60), ("docs/b.md", 20, 60), ("docs/z.md", 0, 9)]}
    steps = cf.explain(cf.Collection(spans=JUDGED), run, "SpanR", query="1").steps
    assert [step.judged for step in steps] == [{"docs/a.md:10-50": 1.0}, {"": 0.0}, None]
    assert [step.earned for step in steps] == pytest.approx([40 / 70, 10 / 70, 0])


def test_the_script_of_the_page_on_chunkings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two snippets of one topic: a chunk of 200 characters has the first one."""
    page = Path(__file__).parents[2] / "docs" / "cookbook" / "chunking.md"
    script = page.read_text().split("```python\n# ambient.py")[1].split("```")[0]
    files = {
        "results.txt": f"ID\turl\ttitle\tsnippet\n1.1\tu\tLamps\t{'lighthouse lamp ' * 8}\n1.2\tu\tHorns\tfog horn\n",
        "subTopics.txt": "ID\tdescription\n1.1\tlighthouse\n1.2\tnone\n",
        "STRel.txt": "subTopicID\tresultID\n1.1\t1.1\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["ambient.py", "."])
    exec(compile(f"#{script}", "ambient.py", "exec"), {})
    collection = cf.Collection(spans="passages.csv", documents="texts.jsonl", queries="queries.csv")
    scores = cf.evaluate(collection, ["size200.csv", "size500.csv"], ["SpanR", "SpanP"])
    assert scores.values[:, :, 0].tolist() == [[1.0, 128 / 152], [1.0, 128 / 152]]


@pytest.mark.parametrize("last", [("d", 0, 9), ("d", "0", 9)])  # text takes the way in Python
def test_an_empty_ranking_is_an_answer(last: Any) -> None:
    spans = {"1": [("d", 0, 9)], "2": [("d", 0, 9)], "3": [("d", 0, 9)]}
    scores = cf.evaluate(cf.Collection(spans=spans), {"1": [last], "2": []}, "SpanR", queries="both")
    assert scores.to_dict()["runs"]["run"]["SpanR"]["queries"] == {"1": 1.0, "2": 0.0}
    scores = cf.evaluate(cf.Collection(spans=spans), {"1": [last], "2": []}, "SpanR")
    assert "run has no ranking for 1 query (3); scored as empty" in map(str, scores.notes)
    assert cf.evaluate(cf.Collection(spans=spans), {"1": [], "2": []}, "SpanR")._means.tolist() == [[0]]


def test_where_no_passage_is_judged_no_note_compares_documents() -> None:
    scores = cf.evaluate(cf.Collection(spans={"q": []}), {"q": [("d", 0, 10)]}, "RR")
    assert not [note for note in scores.notes if note.kind == "disjoint"]
