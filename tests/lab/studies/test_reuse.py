"""Judgments of one part of a collection on another: against `evaluate` on restricted runs and judgments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study_samples import call, check_display, labelled, tau_a

import cranfield as cf
from cranfield import io
from cranfield.codec import plain
from cranfield.data import TextView
from cranfield.evaluation.plan import AlignmentKey
from cranfield.lab.simulation import Simulation
from cranfield.lab.studies.reuse import CollectionSplit, ReuseResult
from cranfield.measures.content import ranked_rows

MEASURES = ["alpha_nDCG@5", "ERR_IA@5", "ABSNB@5", "DELTARB@5"]


@pytest.fixture(scope="module")
def lab() -> Simulation:
    return cf.simulate(queries=8, systems=6, documents=600, relevant=12, words=150, depth=40, pool_depth=15, seed=3)


@pytest.fixture(scope="module")
def found(lab: Simulation) -> ReuseResult:
    return cf.lab.reuse(lab.judgments, lab.runs, MEASURES, corpus=lab.texts, seed=2)


def restricted(lab: Simulation, parts: CollectionSplit, name: str) -> list[Any]:
    runs = []
    for run in lab.runs:
        table = io.load(run)
        lists: dict[str, dict[str, float]] = {}
        for query, document, score in zip(table.query, table.document, table.score, strict=True):
            if name == "all" or parts.part_of(document) == name:
                lists.setdefault(query, {})[document] = float(score)
        runs.append(cf.read_run(lists, name=run.name))
    return runs


def test_orders_are_those_of_restricted_runs_and_judgments(lab: Simulation, found: ReuseResult) -> None:
    parts = CollectionSplit.of(seed=2)
    inside = {**parts.members(lab.judgments.documents), "all": np.ones(len(lab.judgments.grade), bool)}
    assert found.collections == ("A", "B", "all") == tuple(inside)
    known = {name: labelled(lab.judgments, keep) for name, keep in inside.items()}
    for t, target in enumerate(inside):
        runs = restricted(lab, parts, target)
        truth = cf.evaluate(known[target], runs, "ERR_IA@5")._means[:, 0]
        for s, source in enumerate(inside):
            names = ["ERR_IA@5", "ERR_IA@5[condensed]", "ABSNB@5", "DELTARB@5"]
            scores = cf.evaluate(cf.Collection(known[source], documents=lab.texts), runs, names)._means
            for r in range(4):
                if np.ptp(scores[:, r]) < 1e-12:
                    assert np.isnan(found.agreement[1, r, s, t])
                else:
                    assert found.agreement[1, r, s, t] == pytest.approx(tau_a(truth, scores[:, r]), abs=1e-9)


def test_judgments_of_other_documents_order_nobody_who_does_not_read(found: ReuseResult) -> None:
    raw, condensed, *readers = range(len(found.candidates))
    for s, t in ((0, 1), (1, 0)):
        assert np.isnan(found.agreement[:, [raw, condensed], s, t]).all()
        assert np.isfinite(found.agreement[:, readers, s, t]).all()
    assert (np.diagonal(found.agreement[:, raw], axis1=1, axis2=2) == 1).all()
    assert found.judged[0].tolist() != found.judged[1].tolist()
    assert (found.judged[:2].sum(axis=0) == found.judged[2]).all()


def test_a_run_of_one_part_is_left_out_of_the_others(lab: Simulation, found: ReuseResult) -> None:
    parts = CollectionSplit.of(seed=2)
    only_b = [cf.read_run(run, name=f"{run.name}-b") for run in restricted(lab, parts, "B")[:2]]
    both = cf.lab.reuse(lab.judgments, [*lab.runs, *only_b], MEASURES, corpus=lab.texts, seed=2)
    assert both.included.sum(axis=1).tolist() == [6, 8, 8]
    assert both.agreement[..., 0] == pytest.approx(found.agreement[..., 0], nan_ok=True)
    said = "left out where A is the target, because they did not search it: s1-b, s2-b (2 runs of 8)"
    assert str(both.notes[-1]) == said
    assert ReuseResult.from_dict(both.to_dict()).included.tolist() == both.included.tolist()


def test_what_a_run_searched_can_be_given(lab: Simulation) -> None:
    narrow = cf.lab.reuse(
        lab.judgments, lab.runs, MEASURES, corpus=lab.texts, seed=2, searched={"s[12]": "B", "s3": "A"}
    )
    assert narrow.included.sum(axis=1).tolist() == [4, 5, 6]
    lonely = cf.read_run({"q1": {next(iter(lab.judgments.documents)): 1.0}}, name="lonely")
    everywhere = cf.lab.reuse(
        lab.judgments, [*lab.runs, lonely], MEASURES, corpus=lab.texts, searched={"lonely": "all"}
    )
    assert everywhere.included.all()


@pytest.mark.parametrize(
    ("searched", "message"),
    [({"s1": "C"}, "searched: there is no part `C`"), ({"x*": "B"}, "searched: there is no run `x\\*`")],
)
def test_wrong_parts_of_runs(lab: Simulation, searched: dict[str, str], message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        cf.lab.reuse(lab.judgments, lab.runs, MEASURES, corpus=lab.texts, searched=searched)


def test_the_claim_on_divergences_by_hand(lab: Simulation, found: ReuseResult) -> None:
    claim, printed = found.claims  # all measures have the same models and cutoff
    assert (claim.measure, claim.smoothing, printed.smoothing) == ("ABSNB@5", "dirichlet", "printed")
    evaluation = cf.Evaluator(cf.Collection(lab.judgments, documents=lab.texts), "ABSNB@5").evaluation(lab.runs)
    holds = holds_printed = total = 0
    for run in evaluation.run_scores:
        for rankings in run.alignments[AlignmentKey(True, "score")].rankings:
            batch = cf.parse("ABSNB@5").ordered(rankings)
            for q, rows in enumerate(ranked_rows(batch, 5)):
                models = batch.reading.models(TextView(1.0, False, "dirichlet"))
                for rank in range(int(min(batch.length[q], 5))):
                    for s in range(models.length.shape[1]):
                        if models.documents[q, s]:
                            total += 1
                            counts = term_counts(batch.reading, models, q, s, rows[: rank + 1])
                            holds += holds_under_dirichlet(*counts)
                            holds_printed += holds_as_printed(*counts)
    assert (claim.holds, claim.total) == (holds, total) and 0 < holds <= total
    assert (printed.holds, printed.total) == (holds_printed, total)


def term_counts(
    reading: Any, models: Any, query: int, subtopic: int, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The counts of all terms in the documents of a subtopic and in those retrieved, and P(v|D)."""
    words = models.words
    q, r = np.zeros((2, len(words.share)))
    inside = models.key // len(words.share) == query
    q[models.key[inside] % len(words.share)] = models.count[inside, subtopic]
    for document in reading.document[rows]:
        own = slice(words.begin[document], words.begin[document + 1]) if document >= 0 else slice(0)
        r[words.term[own]] += words.count[own]
    return q, r, words.share


def holds_under_dirichlet(q: np.ndarray, r: np.ndarray, share: np.ndarray, mu: float = 2500.0) -> bool:
    """KLD(q‖R) ≤ KLD(q‖D), term by term; the last one is all terms of documents that are not needed."""
    q, r, share = np.append(q, 0), np.append(r, 0), np.append(share, 1 - share.sum())
    q, r = ((x + mu * share) / (x.sum() + mu) for x in (q, r))
    return bool((q * np.log(q / r)).sum() <= (q * np.log(q / share)).sum() + 1e-12)


def holds_as_printed(q: np.ndarray, r: np.ndarray, share: np.ndarray, mu: float = 2500.0) -> bool:
    """The same for equations 5 and 6 of the paper as they are printed."""
    q, r = ((x + mu) / (x.sum() + mu * share) for x in (q, r))
    return bool((q * np.log(q / r)).sum() <= (q * np.log(q / share)).sum())


def test_parts_by_list_by_pattern_and_by_chance(tmp_path: Path) -> None:
    (tmp_path / "parts.txt").write_text("d1 left\nd2 right\n")
    listed = CollectionSplit.of(tmp_path / "parts.txt")
    assert [listed.part_of(d) for d in ("d1", "d2", "d3")] == ["left", "right", "other"]
    matched = CollectionSplit.of(pattern="^en0")
    assert [matched.part_of(d) for d in ("en01", "xen0")] == ["B", "A"]
    drawn = CollectionSplit.of(share=0.2, seed=1)
    names = [f"d{i}" for i in range(2000)]
    assert [drawn.part_of(d) for d in names] == [CollectionSplit.of(share=0.2, seed=1).part_of(d) for d in names]
    assert 300 < sum(drawn.part_of(d) == "A" for d in names) < 500
    # What a document is in does not depend on others, nor on the machine.
    assert "".join(CollectionSplit.of(seed=0).part_of(f"d{i}") for i in range(8)) == "ABABAAAB"


def test_same_seed_same_result(lab: Simulation, found: ReuseResult) -> None:
    assert cf.lab.reuse(lab.judgments, lab.runs, MEASURES, corpus=lab.texts, seed=2).to_dict() == found.to_dict()
    other = cf.lab.reuse(lab.judgments, lab.runs, MEASURES, corpus=lab.texts, seed=3)
    assert other.judged.tolist() != found.judged.tolist()


def test_saved_and_read_again(found: ReuseResult, tmp_path: Path) -> None:
    found.save(tmp_path / "study.json")
    again = ReuseResult.load(tmp_path / "study.json")
    assert again.to_dict() == found.to_dict() and again.settings == found.settings


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"parts": {"d": "left"}, "pattern": "d"}, "parts and pattern cannot be combined"),
        ({"parts": {"d": "all"}}, "`all` cannot be the name of a part"),
        ({"parts": {"x": "left"}}, "all judged documents are in the part `other`"),
        ({"pattern": "("}, "invalid regular expression"),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, not 1.5"),
        ({"share": 1}, "share must be a number greater than 0 and less than 1, not 1"),
        ({"corpus": None}, "ABSNB@20 needs a corpus, because it uses document text"),
        ({"coefficient": "tau"}, "coefficient must be one of"),
    ],
)
def test_wrong_settings(lab: Simulation, how: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        cf.lab.reuse(lab.judgments, lab.runs, **{"corpus": lab.texts} | how)


def test_wrong_input(lab: Simulation, tmp_path: Path) -> None:
    with pytest.raises(cf.CranfieldError, match="this study needs at least two runs, got 1"):
        cf.lab.reuse(lab.judgments, lab.runs[0], corpus=lab.texts)
    split = dict.fromkeys(list(lab.judgments.documents)[::2], "left")
    lonely = cf.read_run({"q1": {next(iter(split)): 1.0}}, name="lonely")
    few = cf.lab.reuse(lab.judgments, [lab.runs[0], lonely], corpus=lab.texts, parts=split)
    said = "left out where other is the target, because it did not search it: lonely (1 run of 2, too few for an order)"
    assert str(few.notes[-1]) == said
    assert np.isnan(few.agreement[..., few.collections.index("other")]).all()
    (tmp_path / "parts.txt").write_text("d1 left\nd2\nd1 right\n")
    with pytest.raises(cf.CranfieldError) as error:
        cf.lab.reuse(lab.judgments, lab.runs, corpus=lab.texts, parts=tmp_path / "parts.txt")
    assert "parts.txt:2: expected 2 columns (document part), found 1: `d2`" in str(error.value)
    assert "parts.txt:3: document `d1` already has another part, in line 1" in str(error.value)


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv", "json"])
def test_tables_and_figures(format: str, found: ReuseResult, tmp_path: Path) -> None:
    found.save(tmp_path / "study.json")
    result = call("study", "show", tmp_path / "study.json", "--format", format)
    assert result.exit_code == 0
    if format == "json":
        data = json.loads(result.stdout)
        place = [data["references"].index("ERR_IA@5"), data["candidates"].index("raw")]
        assert np.array(data["agreement"], float).shape == found.agreement.shape
        assert data["agreement"][place[0]][place[1]] == plain(found.agreement[tuple(place)])
    else:
        assert "nan" not in result.stdout and "DELTARB" in result.stdout
    if format == "table":
        pytest.importorskip("matplotlib")
        assert call("study", "show", tmp_path / "study.json", "--figures", tmp_path / "figures").exit_code == 0
        assert sorted(path.suffix for path in (tmp_path / "figures").iterdir()) == [".pdf", ".png", ".svg"]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_headings_name_what_is_below_and_beside_them_at_any_width(width: int, found: ReuseResult) -> None:
    text = found.write("table", width=width)
    table = text[text.index("with the order by ERR_IA@5") :]
    title, heads = " ".join(table.split("─")[0].split()), table.split("\n─")[0].splitlines()[-1]
    assert "source of the judgments → target of the search" in title
    assert "columns" not in title and "rows" not in title
    rows = table.split("─\n")[1].splitlines()
    if rows[0].startswith("raw"):
        assert heads.startswith("measure ") and "A→B" in heads
    else:
        assert rows[0].startswith("A→A") and heads.startswith("source → target ") and "condensed" in heads


def test_command(tmp_path: Path) -> None:
    from cranfield.lab.simulation import save

    save(cf.simulate(queries=5, systems=3, documents=400, relevant=8, depth=30, seed=1), str(tmp_path / "lab"))
    runs = sorted((tmp_path / "lab" / "runs").iterdir())
    args = ("--corpus", tmp_path / "lab" / "docs.jsonl", "-m", "ERR_IA@20 DELTARB@20", "--share", 0.4)
    result = call("study", "reuse", tmp_path / "lab" / "qrels.diversity.txt", *runs, *args)
    assert (
        result.exit_code == 0
        and "at random, seed 0" in result.stdout
        and "above 0.8" in " ".join(result.stdout.split())
    )
    args = (*args, "--threshold", 0.7, "--searched", "s1=B")
    result = call("study", "reuse", tmp_path / "lab" / "qrels.diversity.txt", *runs, *args)
    assert result.exit_code == 0 and "above 0.7" in " ".join(result.stdout.split()) and "KLD(q‖R)" in result.stdout
    result = call("study", "reuse", tmp_path / "lab" / "qrels.diversity.txt", *runs, "--searched", "s1")
    assert result.exit_code == 2 and "expected RUN=PART" in result.stderr


def test_in_a_notebook(found: ReuseResult) -> None:
    check_display(found, "ReuseResult: 6 runs (")
