"""Audits: their numbers are those of `evaluate`, and what they say of two runs is so."""

from __future__ import annotations

import itertools
import json
import random
import shlex
import sys
from itertools import permutations, product
from math import factorial, prod
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield import example
from cranfield.analysis.audit import CAUSES, Audit, reversals
from cranfield.cli.main import cli
from cranfield.codec import plain
from cranfield.errors import InputError, MissingDependency, UsageError
from cranfield.evaluation.plan import DEFAULT_MEASURES
from cranfield.evaluation.plausible import Deck, plausible
from cranfield.report import audit as report
from cranfield.report import canvas
from cranfield.report.canvas import save_all
from cranfield.report.sheet import Layout

QRELS = str(example.path(example.QRELS))
RUNS = [str(example.path(name)) for name in example.RUNS]
MEASURES = [*DEFAULT_MEASURES, "RBP", "P@5", "AP(rel=2)", "ERR@10", "nDCG@5[condensed]"]


@pytest.fixture(scope="module")
def museum() -> Audit:
    return cf.audit(QRELS, RUNS, MEASURES)


def means(variant: str, names: list[str], **how: object) -> np.ndarray:
    views = {name: f"{name[:-1]}, {variant}]" if name.endswith("]") else f"{name}[{variant}]" for name in names}
    return cf.evaluate(QRELS, RUNS, list(views.values()) if variant else names, **how)._means


@pytest.mark.parametrize(
    ("part", "variant"),
    [
        ("score", ""),
        ("worst", "ties=worst"),
        ("expected", "ties=expected"),
        ("best", "ties=best"),
        ("condensed", "condensed"),
    ],
)
@pytest.mark.parametrize("undefined", ["skip", "zero", "one"])
def test_numbers_are_those_of_separate_evaluations(part: str, variant: str, undefined: str) -> None:
    names = MEASURES if variant != "condensed" else MEASURES[:-1]
    found = getattr(cf.audit(QRELS, RUNS, names, undefined=undefined), part)
    assert found == pytest.approx(means(variant, names, undefined=undefined), abs=1e-12)


def test_terminal_values_and_their_absence(museum: Audit) -> None:
    for m, name in enumerate(MEASURES):
        if cf.measures.CATALOGUE[cf.parse(name).symbol].terminal:
            assert np.isnan(museum.terminal[:, m]).all()
        else:
            assert museum.terminal[:, m] == pytest.approx(means("terminal", [name])[:, 0])
    assert np.isnan(museum.terminal[:, MEASURES.index("bpref")]).all()


def test_full_lists_were_not_ended(museum: Audit) -> None:
    found = cf.audit(cf.Collection(QRELS, full_length=15), RUNS, "RBP")
    expected = cf.evaluate(cf.Collection(QRELS, full_length=15), RUNS, "RBP[terminal]")._means
    assert found.terminal == pytest.approx(expected)
    assert not np.allclose(found.terminal[:, 0], museum.terminal[:, MEASURES.index("RBP")])
    with pytest.raises(InputError, match="has 12 documents; the full length is 5"):
        cf.audit(cf.Collection(QRELS, full_length=5), RUNS, "RBP")


def test_intervals_are_those_of_scores(museum: Audit) -> None:
    scores = cf.evaluate(QRELS, RUNS, MEASURES)
    bca = cf.audit(QRELS, RUNS[:1], "AP", interval="bca", seed=7)
    assert (bca.low[0, 0], bca.high[0, 0]) == scores._interval(0, 0, method="bca", seed=7)
    for r, m in np.ndindex(museum.score.shape):
        limits = scores._interval(r, m, method="t")
        assert (museum.low[r, m], museum.high[r, m]) == pytest.approx(limits, nan_ok=True)


@pytest.mark.parametrize("undefined", ["skip", "zero", "one"])
def test_bounds_are_those_of_evaluate_and_hold_the_score(undefined: str) -> None:
    found = cf.audit(QRELS, RUNS, undefined=undefined)
    scores = cf.evaluate(QRELS, RUNS, list(DEFAULT_MEASURES), show="bounds", undefined=undefined)
    columns = {label.partition(" (")[0]: scores._means[:, c] for c, label in enumerate(scores.measures)}
    for m, name in enumerate(DEFAULT_MEASURES):
        assert found.lowest[:, m] == pytest.approx(columns[f"{name} lowest"])
        assert found.highest[:, m] == pytest.approx(columns[f"{name} highest"])
    assert (found.lowest <= found.score + 1e-12).all()
    assert (found.score <= found.highest + 1e-12).all()
    exact = [name != "nDCG@10" for name in DEFAULT_MEASURES]  # the ideal ranking changes with the judgments, too
    assert found.hold.all(axis=0).tolist() == found.hold.any(axis=0).tolist() == exact


def test_worst_expected_best(museum: Audit) -> None:
    promoting = [m for m, name in enumerate(MEASURES) if cf.parse(name).definition.rewards_promotion]
    worst, expected, best, score = (
        array[:, promoting] for array in (museum.worst, museum.expected, museum.best, museum.score)
    )
    assert (worst <= expected + 1e-12).all()
    assert (expected <= best + 1e-12).all()
    place = museum.place[:, promoting]
    assert ((place >= 0) & (place <= 1) | np.isnan(place)).all()
    assert (np.isnan(place) == (best - worst <= 1e-12)).all()
    assert worst + np.nan_to_num(place) * (best - worst) == pytest.approx(score)


def test_shares_and_lists() -> None:
    run = {"q1": {"a": 3.0, "u": 2.0, "b": 1.0}, "q2": {"u": 1.0}}
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}, "q3": {"a": 0}, "q4": {"a": 2}}
    found = cf.audit(qrels, run, ["P@1", "P@2", "AP", "AP(rel=2)", "AP[depth=2]"])
    assert found.unjudged[0] == pytest.approx([1 / 2, 2 / 3, 2 / 4, 2 / 4, 2 / 3])
    assert found.nil.tolist() == [[1, 1, 1, 3, 1]]
    assert found.silent.tolist() == [[1, 1, 1, 1, 1]]
    assert (found.empty.tolist(), found.length.tolist()) == ([2], [1.0])
    answered = cf.audit(qrels, run, "AP", queries="both")
    assert (answered.empty.tolist(), answered.length.tolist(), answered.nil.tolist()) == ([0], [2.0], [[0]])
    assert np.isnan(cf.audit(qrels, {"q1": {}}, "AP").unjudged).all()


def test_an_id_that_means_no_answer_is_silence() -> None:
    run = {"q1": {"NIL": 1.0}, "q2": {"a": 1.0, "NIL": 0.5}}
    found = cf.audit(cf.Collection({"q1": {"a": 0}, "q2": {"a": 0}}, nil="NIL"), run, "RR")
    assert (found.nil.tolist(), found.silent.tolist()) == ([[2]], [[1]])
    assert found.score == pytest.approx(
        cf.evaluate(cf.Collection({"q1": {"a": 0}, "q2": {"a": 0}}, nil="NIL"), run, "RR")._means
    )


def test_queries_that_nobody_judged_count_where_a_run_decides() -> None:
    runs = [{"q": {"a": 1.0}, "x": {"u": 1.0, "v": 0.5}}, {"q": {"b": 2.0, "a": 1.0}, "y": {"u": 1.0}}]
    found = cf.audit({"q": {"a": 1, "b": 0}}, runs, "RBP", queries="run", names=["one", "two"])
    assert found.score == pytest.approx(cf.evaluate({"q": {"a": 1, "b": 0}}, runs, "RBP", queries="run")._means)
    assert found.length.tolist() == [1.5, 1.5]
    assert found.highest[:, 0] == pytest.approx([(0.2 + 0.36) / 2, (0.16 + 0.2) / 2])


# One small example for each cause.

TIED = [{"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}]
JUDGED = {"q": {"a": 1, "b": 0, "c": 0, "d": 0}}


def causes(found: Audit) -> list[str]:
    return [swap.cause for swap in found.swaps]


def pairs_and_numbers(found: Audit, cause: str) -> list[tuple[str, str]]:
    """The beginning and the numbers of the sentences on a cause."""
    layout = report.Layout(digits=3)
    sentences = [report.sentence(found, swap, layout) for swap in found.swaps if swap.cause == cause]
    return [("`".join(text.split("`")[:4]) + "`", text[text.index("(") + 1 : -1]) for text in sentences]


def test_ties() -> None:
    found = cf.audit(JUDGED, TIED, "RR", names=["tied", "clear"])
    assert causes(found) == ["ties"]
    assert pairs_and_numbers(found, "ties") == [
        ("RR: `clear` and `tied`", "0.500 [0.500, 0.500] vs 0.333 [0.333, 1.000]; expected: 0.500 vs 0.611")
    ]


def test_unjudged() -> None:
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"u": 2.0, "a": 1.0}}]
    found = cf.audit(JUDGED, runs, "RBP", names=["known", "new"])
    assert causes(found) == ["unjudged"]
    assert pairs_and_numbers(found, "unjudged") == [
        ("RBP: `known` and `new`", "0.200 [0.200, 0.200] vs 0.160 [0.160, 0.360]")
    ]


def test_condensed() -> None:
    runs = [{"q": {"a": 3.0, "c": 2.0, "b": 1.0}}, {"q": {"u": 4.0, "v": 3.0, "a": 2.0, "b": 1.0}}]
    found = cf.audit({"q": {"a": 1, "b": 1, "c": 0}}, runs, "RBP", names=["known", "new"])
    assert pairs_and_numbers(found, "condensed") == [
        ("RBP: `known` and `new`", "0.328 vs 0.230; condensed: 0.328 vs 0.360")
    ]


def test_terminal() -> None:
    runs = [{"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}]
    found = cf.audit(JUDGED, runs, "RBP", names=["long", "short"])
    assert causes(found) == ["terminal"]
    assert pairs_and_numbers(found, "terminal") == [
        ("RBP: `long` and `short`", "0.200 vs 0.160; terminal: 0.610 vs 0.800")
    ]


def test_queries() -> None:
    qrels = {q: {"a": 1, "b": 0} for q in ("q1", "q2", "q3")}
    first, second = {"a": 2.0, "b": 1.0}, {"b": 2.0, "a": 1.0}
    runs = [{"q1": first, "q2": second, "q3": first}, {"q1": second, "q2": second, "q3": second}]
    found = cf.audit(qrels, runs, "RR", names=["mixed", "steady"])
    assert causes(found) == ["queries"]
    assert pairs_and_numbers(found, "queries") == [
        ("RR: `mixed` and `steady`", "0.833 [0.116, 1.000] vs 0.500 [0.500, 0.500]")
    ]


def test_nothing() -> None:
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}]
    found = cf.audit(JUDGED, runs, "RR", names=["one", "two"])
    assert found.swaps == ()
    text = " ".join(report.write(found).split())
    assert "The order of the runs holds: no order of ties" in text
    assert text.count("No pair of runs.") == len(found.causes)
    assert " swap " not in text.partition("holds: ")[2]


def test_what_was_only_tried_is_not_called_impossible() -> None:
    qrels = {"q": {"a": 2, "b": 1}}
    runs = [{"q": {"a": 3.0, "b": 2.0}}, {"q": {"b": 3.0, "a": 2.0, "unjudged": 1.0}}]
    text = report.write(cf.audit(qrels, runs, ["RR(rel=2)", "nDCG"], names=["one", "two"]), width=100)
    assert "no judgment of unjudged documents that was tried, changes it" in " ".join(text.split())
    assert "For nDCG, this holds for the judgments that were tried" in " ".join(text.split())


def test_no_order_to_change() -> None:
    run = {"q": {"a": 1.0}}
    assert "What the columns mean" in report.write(cf.audit(JUDGED, run, "RR"))
    same = cf.audit(JUDGED, [run, run], "RR", names=["one", "two"])
    assert "All runs have the same scores" in report.write(same)
    assert (same.swaps, same.pairs.tolist()) == ((), [0])


def test_equal_looking_scores_are_told_apart() -> None:
    qrels = {"q": {"a": 1, "b": 0}} | {f"p{i}": {"x": 1} for i in range(4000)}
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}]
    found = cf.audit(qrels, runs, "RR", names=["one", "two"])
    assert pairs_and_numbers(found, "queries")[0][1].startswith("0.0002 [")


def test_swaps_are_those_that_the_numbers_allow(museum: Audit) -> None:
    expected = set()
    for cause in CAUSES:
        low, high = museum.reach(cause)
        for m, measure in enumerate(museum.measures):
            for a, b in permutations(range(len(RUNS)), 2):
                if museum.score[a, m] > museum.score[b, m] + 1e-9 and low[a, m] < high[b, m] - 1e-9:
                    expected.add((cause, measure, museum.runs[a], museum.runs[b]))
    found = {(s.cause, s.measure, s.higher, s.lower) for s in museum.swaps}
    # Unjudged documents and the ideal ranking are the same for both runs, which the numbers of each run do not show.
    assert expected - found == {("unjudged", "nDCG@10", "dense", "quiet"), ("unjudged", "P@10", "llm", "bm25")}
    assert found <= expected
    for swap in museum.swaps:
        between = [x for x in museum.score[:, museum.measures.index(swap.measure)] if swap.score[1] < x < swap.score[0]]
        assert swap.adjacent == (not between)
        assert swap.gap > 0


def test_a_few_pairs_stand_for_all(museum: Audit) -> None:
    found = [swap for swap in museum.swaps if swap.cause == "queries"]
    named = report.representative(museum, "queries")
    assert len(named) == report.SHOWN < len(found)
    assert len({swap.measure for swap in named}) == report.SHOWN
    assert all(swap.adjacent for swap in named)
    short, whole = report.write(museum), report.write(museum, all_pairs=True)
    assert f"... and {len(found) - len(named):,} more (use -v)" in short
    assert "more (use -v)" not in whole
    assert " ".join(whole.split()).count("have overlapping confidence intervals") == len(found)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_tables_fit_the_screen(museum: Audit, width: int) -> None:
    lines = report.write(museum, width=width).splitlines()
    assert max(map(len, lines)) <= width


def test_what_a_table_says(museum: Audit) -> None:
    text = report.write(cf.audit(QRELS, RUNS[3:], ["AP", "RR"]), width=120, colour=True)
    assert text.startswith("\x1b[1mBottom line\x1b[0m\n\n  AP is 0.5058: ties do not change it; ")
    assert "\x1b[1mquiet: 7–8 queries; 3.6 documents per query on average; 2 empty rankings; 1 query without" in text
    assert "ties\x1b[0m" in text and "expected" in text
    assert "1 query without relevant documents (1 with an empty ranking)" in text.replace("\n", " ")


def test_markdown(museum: Audit) -> None:
    text = report.write(museum, "markdown")
    assert text.startswith("**Pairs of runs with different scores")
    assert "\n**bm25: 7–8 queries" in text
    head = next(line for line in text.splitlines() if line.startswith("| measure") and "score" in line)
    assert [name.strip() for name in head.split("|")][1:5] == ["measure", "score", "95% interval", "ties worst"]
    assert "\nThe order of the runs is open: " in text and "\nTies broken by document id" in text


PLAUSIBLE_QRELS = {"q": {"a": 1, "b": 0, "c": 2, "d": 0}, "r": {"a": 0, "e": 1}, "top": {"t": 2}}
PLAUSIBLE_RUN = {"q": ["a", "x", "b", "y", "c", "d"], "r": ["z", "e", "w"]}
UNJUDGED = {"q": ["x", "y"], "r": ["z", "w"]}
# Of the judged documents in the first five ranks, one has grade 0, two have grade 1, and one has grade 2.
SHARES = {0: 1 / 4, 1: 2 / 4, 2: 1 / 4}


@pytest.mark.parametrize(
    "name", ["P@5", "AP", "nDCG@5", "RR", "bpref", "DCG", "ERR(max=2)@4", "Q", "AP[ties=expected]"]
)
def test_plausible_scores_against_all_judgments(name: str) -> None:
    """The mean and the variance over every way to judge the unjudged documents, by evaluating each."""
    evaluation = cf.Evaluator(PLAUSIBLE_QRELS, [name]).evaluation(PLAUSIBLE_RUN)
    column, run = evaluation.columns[0], evaluation.run_scores[0]
    alignment = run.alignments[column.alignment]
    deck = Deck.of([alignment], column.measure.views.rule.position)
    found = plausible(column.measure, alignment.rankings[0], deck, draws=20_000, seed=5)
    for q, (query, documents) in enumerate(UNJUDGED.items()):
        mean = square = 0.0
        for grades in itertools.product(SHARES, repeat=len(documents)):
            judged = PLAUSIBLE_QRELS[query] | dict(zip(documents, grades, strict=True))
            chance = np.prod([SHARES[grade] for grade in grades])
            value = cf.evaluate({query: judged, "top": {"t": 2}}, {query: PLAUSIBLE_RUN[query]}, name).values[0, 0, 0]
            mean, square = mean + chance * value, square + chance * value**2
        deviation = np.sqrt(max(square - mean**2, 0))
        assert found.mean[q] == pytest.approx(mean, abs=5 * deviation / np.sqrt(20_000) + 1e-12)
        assert np.sqrt(found.variance[q]) == pytest.approx(deviation, rel=0.05, abs=1e-9)


def test_shares_of_grades_are_by_depth() -> None:
    run = {"q": [f"d{i}" for i in range(30)]}
    grades = {f"d{i}": int(i < 3) for i in (0, 1, 2, 4, 7, 25, 29)}
    evaluation = cf.Evaluator({"q": grades}, ["AP"]).evaluation(run)
    alignment = evaluation.run_scores[0].alignments[evaluation.columns[0].alignment]
    share = Deck.of([alignment], "by_id").share
    assert share[0].tolist() == [0.25, 0.75]  # ranks 1 to 5: d0, d1, d2 and d4
    assert share[1].tolist() == [1, 0]  # ranks 6 to 10: d7
    assert share[2].tolist() == [1, 0]  # ranks 11 to 20 have no judged document: those above
    assert share[3].tolist() == share[-1].tolist() == [1, 0]


def test_plausible_scores_lie_between_the_bounds(museum: Audit) -> None:
    known = ~np.isnan(museum.plausible)
    assert known.all()
    assert (museum.plausible_low <= museum.plausible).all() and (museum.plausible <= museum.plausible_high).all()
    proven = museum.hold & known
    assert (museum.plausible[proven] <= museum.highest[proven] + 1e-9).all()
    assert (museum.plausible[proven] >= museum.lowest[proven] - 1e-9).all()
    complete = cf.audit(cf.Collection(QRELS, complete=True), RUNS, ["AP"])
    assert complete.plausible == pytest.approx(complete.score)


def test_the_bottom_line_of_runs_in_a_sure_order() -> None:
    runs = {"good": {"q": ["a", "x", "y"]}, "bad": {"q": ["b", "x", "y"]}}
    qrels = {"q": {"a": 1, "b": 0}}
    lines = list(report.bottom_line(cf.audit(qrels, runs, "P@1"), Layout()))
    assert lines[0].startswith("The order of the runs holds: no order of ties, and no judgment")
    assert report.to_do(cf.audit(qrels, runs, "P@1"), {"": "qrels"}) == ("", "")
    # A document that both runs rank alike cannot reverse them; others can.
    assert not cf.audit(qrels, runs, "P@3").plausible_swaps(0)
    runs["bad"] = {"q": ["b", "u", "v"]}
    lines = list(report.bottom_line(cf.audit(qrels, runs, "P@3"), Layout()))
    assert lines[0] == "The order of the runs is open: `good` and `bad` could swap."
    assert lines[2].startswith("At worst, unjudged documents could reverse the order; if they are relevant as often")


def test_json_round_trip(museum: Audit) -> None:
    data = json.loads(report.write(museum, "json"))
    assert data == museum.to_dict()
    assert list(data["runs"]) == list(museum.runs)
    entry = data["runs"]["dense"]["measures"]["AP"]
    assert entry["score"] == museum.score[1, 0]
    assert entry["ties"]["best"] == museum.best[1, 0]
    assert entry["unjudged"]["hold"] is True
    assert data["runs"]["dense"]["measures"]["bpref"]["lists"]["terminal"] is None
    assert len(data["swaps"]) == len(museum.swaps)
    assert data["pairs"]["AP"] == 6


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^interval must be one of bca, t; not 'z'$"):
        cf.audit(QRELS, RUNS, interval="z")
    with pytest.raises(UsageError, match=r"^no runs given"):
        cf.audit(QRELS, [])
    with pytest.raises(UsageError, match=r"^unknown format `html`"):
        report.write(cf.audit(QRELS, RUNS[:1], "RR"), "html")


def test_figures(museum: Audit, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    written = {}
    for folder in ("first", "second"):
        files = save_all(report.drawings(museum), str(tmp_path / folder))
        written[folder] = {file.suffix: file.read_bytes() for file in files}
    assert written["first"] == written["second"]
    for suffix, begin in {".pdf": b"%PDF", ".svg": b"<?xml", ".png": b"\x89PNG"}.items():
        assert len(written["first"][suffix]) > 5000
        assert written["first"][suffix].startswith(begin)


def test_a_panel_has_every_number(museum: Audit) -> None:
    axis = pytest.importorskip("matplotlib.figure").Figure().subplots()
    assert report.draw_measure(museum, 0, axis) is axis
    *drawn, score = (line.get_xdata() for line in axis.lines)
    assert score.tolist() == museum.score[:, 0].tolist()
    for marks, values in zip(drawn, (museum.condensed[:, 0], museum.terminal[:, 0]), strict=True):
        assert np.array_equal(marks[~np.isnan(marks)], values[~np.isnan(marks)])
        assert np.abs(values - score)[np.isnan(marks)].max(initial=0) < 0.04  # they would cover the score
        assert np.isfinite(marks).any()
    assert [text.get_text() for text in axis.get_yticklabels()] == list(museum.runs)


def test_figures_need_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependency, match=r"pip install '.\[plot\]'"):
        canvas.require()


# Longer lists, as those of a track.


def tied_list(rng: random.Random) -> tuple[dict[str, float], dict[str, int], list[list[str]]]:
    """A ranking that has few enough orders, its judgments, its groups of one score; some documents are unjudged."""
    names = [f"d{i:02}" for i in range(40)]
    rng.shuffle(names)
    grades = {name: max(0, rng.randrange(-3, 4)) for name in rng.sample(names, 25)} | {names[0]: 3}
    groups: list[list[str]] = []
    while names and prod(factorial(len(group)) for group in groups) <= 100:
        size = rng.choice([1, 1, 1, 2, 3])
        groups.append(names[:size])
        del names[:size]
    return {document: 9.0 - i for i, group in enumerate(groups) for document in group}, grades, groups


def by_hand(order: list[str], grades: dict[str, int]) -> tuple[float, float, float]:
    """AP, nDCG@10 and RBP (persistence 0.8, grades up to 3) of one order, as the papers write them."""
    found = [grades.get(document, 0) for document in order]
    hits = [i for i, grade in enumerate(found, 1) if grade >= 1]
    precision = sum((n / i) for n, i in enumerate(hits, 1)) / sum(grade >= 1 for grade in grades.values())
    perfect = sorted(grades.values(), reverse=True)
    dcg, ideal = (sum(g / np.log2(i + 1) for i, g in enumerate(list[:10], 1)) for list in (found, perfect))
    return precision, float(dcg / ideal), sum(0.2 * 0.8**i * grade / 3 for i, grade in enumerate(found))


@pytest.mark.parametrize("seed", range(12))
def test_long_ties_against_every_order(seed: int) -> None:
    run, grades, groups = tied_list(random.Random(seed))
    orders = [[d for group in order for d in group] for order in product(*map(permutations, groups))]
    values = np.array([by_hand(order, grades) for order in orders])
    found = cf.audit({"q": grades}, {"q": run}, ["AP", "nDCG@10", "RBP(max=3)"])
    assert found.worst[0] == pytest.approx(values.min(axis=0))
    assert found.expected[0] == pytest.approx(values.mean(axis=0))
    assert found.best[0] == pytest.approx(values.max(axis=0))


def test_a_track() -> None:
    """Those runs change places by ties of which one is better as it is, and the other with its ties resolved well."""
    made = cf.simulate(queries=20, systems=12, documents=1500, depth=60, pool_depth=15, ties=0.6, seed=1)
    names = ["AP", "RR"]
    found = cf.audit(made.judgments, made.runs, names)
    assert found.n.tolist() == [[20, 20]] * 12
    assert found.hold.all()
    score, worst, best = (
        cf.evaluate(made.judgments, made.runs, names, ties=rule)._means for rule in ("trec", "worst", "best")
    )
    expected = {
        (name, found.runs[a], found.runs[b])
        for m, name in enumerate(names)
        for a, b in permutations(range(12), 2)
        if score[a, m] > score[b, m] + 1e-9 and worst[a, m] < best[b, m] - 1e-9
    }
    assert {(s.measure, s.higher, s.lower) for s in found.swaps if s.cause == "ties"} == expected
    untied = [system.name for system in made.systems if not system.tied]
    assert len(untied) == 5 and not any(a in untied and b in untied for _, a, b in expected)


@pytest.mark.parametrize("measures", ["nDCG@10", "AP", "RBP", "P@5", "RR nDCG@5", "R@5"])
@pytest.mark.parametrize("runs", [example.RUNS, example.RUNS[:2], example.RUNS[2:3]])
def test_the_advice_can_be_followed(
    measures: str, runs: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that an audit prints has documents to judge, for a measure that was asked for."""
    for name in (example.QRELS, *runs):
        (tmp_path / name).write_bytes(example.path(name).read_bytes())
    monkeypatch.chdir(tmp_path)
    audit = cf.audit(example.QRELS, list(runs), measures.split())
    inputs = {"": example.QRELS} | dict(zip(audit.runs, runs, strict=True))
    sentence, command = report.to_do(audit, inputs)
    if not command:  # no judgment that is likely changes anything, or `judge` does not take the measure
        assert measures == "R@5" or not any(audit.plausible_swaps(m) for m in range(len(audit.measures)))
        return
    words = shlex.split(command)
    assert words[words.index("-m") + 1] in audit.measures
    done = CliRunner().invoke(cli, words[1:])
    assert done.exit_code == 0, done.output
    assert "documents to judge" in done.stderr and "judge" in sentence


def test_what_was_not_checked_is_said() -> None:
    qrels = {"q": {"a": {"1": 1}, "b": {"2": 1}, "c": {"1": 0}}}
    runs = {"A": {"q": {"a": 2.0, "x": 1.0}}, "B": {"q": {"c": 2.0, "x": 1.0}}}
    names = ["alpha_nDCG@1", "alpha_nDCG@2", "P@2"]
    found = reversals(cf.Evaluator(qrels, names).evaluation(runs))
    # Nothing down to rank 1 is unjudged; nothing is known of the subtopics of x at rank 2.
    assert [found[name].checked for name in names] == [("ties", "unjudged"), ("ties",), ("ties", "unjudged")]
    tied = {"A": {"q": {"a": 2.0, "b": 2.0}}, "B": {"q": {"c": 2.0}}}
    assert reversals(cf.Evaluator(qrels, "alpha_nDCG@2").evaluation(tied))["alpha_nDCG@2"].checked == ("unjudged",)


def test_measures_of_subtopics_are_audited_as_far_as_they_can_be() -> None:
    qrels = {"q": {"a": {"1": 1}, "b": {"2": 1}, "c": {"1": 0}}}
    found = cf.audit(qrels, {"q": {"a": 1.0, "b": 1.0, "c": 0.5, "x": 0.1}}, ["alpha_nDCG@3", "AP"])
    assert np.isnan([found.worst[0, 0], found.best[0, 0], found.lowest[0, 0], found.highest[0, 0]]).all()
    assert found.expected[0, 0] == pytest.approx(found.score[0, 0])
    assert not np.isnan([found.worst[0, 1], found.highest[0, 1]]).any()
    assert found.reach("ties")[0][0, 0] == found.score[0, 0]
    assert found.swaps == ()


def test_nil_detection_counts_empty_lists_and_lists_that_begin_with_nil() -> None:
    qrels = {"q1": {"a": 0}, "q2": {"a": 0}, "q3": {"a": 1}, "q4": {"a": 1}}
    run = {"q1": {"NIL": 2.0, "a": 1.0}, "q2": {"a": 2.0, "NIL": 1.0}, "q3": {"NIL": 1.0}, "q4": {"a": 1.0}}
    found = cf.audit(cf.Collection(qrels, nil="NIL"), run, "RR")
    detection = found.nil_detection(0, 0)
    assert (detection.queries, detection.nil, detection.silent, detection.detected) == (4, 2, 2, 1)
    assert (detection.precision, detection.recall, detection.false_silences) == (0.5, 0.5, 1)
    entry = found.to_dict()["runs"]["run"]["measures"]["RR"]["lists"]["nil_detection"]
    assert entry == plain(detection)
    assert "nil detection: precision 50%, recall 50%, 1 false silence" in report.lists(found, 0)


def test_nil_in_a_tie_is_silent_only_if_the_rule_puts_it_first() -> None:
    qrels, run = {"q": {"a": 0}}, {"q": {"a": 1.0, "NIL": 1.0}}
    silences = {
        rule: cf.audit(cf.Collection(qrels, nil="NIL"), run, "RR", ties=rule).silences[0, 0]
        for rule in ("trec", "input", "expected")
    }
    assert silences == {"trec": 0, "input": 0, "expected": 0}
    assert cf.audit(cf.Collection(qrels, nil="NIL"), {"q": {"A": 1.0, "NIL": 1.0}}, "RR").silences[0, 0] == 1
