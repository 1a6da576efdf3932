"""Cutting lists: against cuts made one by one, against exhaustive search, and on an example worked by hand."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study_samples import call

import cranfield as cf
from cranfield import example, io
from cranfield.lab.simulation import Simulation
from cranfield.lab.studies.stopping import DECISIONS, RULES, CutResult, RankedLists, StoppingResult, answer_figure
from cranfield.ranking.alignment import Aligner

QRELS = example.path(example.QRELS)
RUNS = [example.path(name) for name in example.RUNS]
MEASURES = ["AP[terminal]", "nDCG(ideal='bounded')[terminal]", "RR[terminal]", "nDCG@5", "bpref", "AP[condensed]", "Q"]


@pytest.fixture(scope="module")
def found() -> StoppingResult:
    return cf.lab.stopping(QRELS, RUNS, MEASURES, repeats=20, seed=3)


def ranked(run: Any, qrels: Any, relevant: Any = None) -> RankedLists:
    judgments = io.read_qrels(qrels)
    counts = np.zeros(len(judgments.queries), np.int64) if relevant is None else np.array(relevant)
    return RankedLists.of(io.read_run(run), Aligner(judgments), counts)


def lists(run: Any) -> RankedLists:
    return ranked(run, QRELS)


@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", [*MEASURES, "AP[depth=7]", "P@5[ties=worst]"])
def test_every_depth_is_what_a_cut_list_scores(run: Path, name: str) -> None:
    table = lists(run).scores_by_depth(cf.parse(name))
    limit = cf.parse(name).views.depth or 99
    for depth in range(1, table.shape[1]):
        cut = name.replace("depth=7", f"depth={min(depth, limit)}")
        scores = cf.evaluate(QRELS, run, cut, depth=depth if cut == name and limit == 99 else None)
        assert table[:, depth] == pytest.approx(scores.values[0, 0], abs=1e-12, nan_ok=True)


def test_depth_0_is_the_empty_list() -> None:
    table = lists(RUNS[0]).scores_by_depth(cf.parse("RR[terminal]"))
    assert table[:, 0].tolist() == [0, 0, 0, 0, 0, 0, 0, 1]  # nothing answers the last query


def test_better_the_freer_the_cut_is(found: StoppingResult) -> None:
    for one in found.results:
        assert one.oracle >= one.depth_score >= one.uncut
        assert one.oracle + 1e-12 >= one.rules[0].score >= one.uncut - 1e-12
        assert one.by_depth.mean[-1] == pytest.approx(one.uncut)
        assert one.by_threshold.mean[-1] == pytest.approx(one.uncut)


def cut_at(run: Path, score: float) -> Any:
    table = io.load(io.read_run(run))
    kept: dict[str, dict[str, float]] = {}
    for query, document, value in zip(table.query, table.document, table.score, strict=True):
        if value >= score:
            kept.setdefault(query, {})[document] = float(value)
    return kept


@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.stem)
def test_thresholds_against_lists_cut_one_by_one(run: Path) -> None:
    (one,) = cf.lab.stopping(QRELS, run, "nDCG(ideal='bounded')[terminal]", repeats=1).results
    every = np.unique(io.load(io.read_run(run)).score)
    means = [cf.evaluate(QRELS, cut_at(run, score), one.measure)._means[0, 0] for score in every]
    assert one.rules[0].score == pytest.approx(max(means), abs=1e-12)
    assert one.rules[0].threshold == pytest.approx(every[int(np.argmax(means))])
    places = np.searchsorted(every, one.by_threshold.at)
    assert one.by_threshold.mean == pytest.approx(np.array(means)[places], abs=1e-12)


# Two queries with an answer, at scores 9 and 7, and two without any, whose documents score 4 at most.
RUN = {
    "q1": {"a": 9.0, "x": 3.0},
    "q2": {"b": 7.0, "y": 2.0},
    "q3": {"z": 4.0, "w": 1.0},
    "q4": {"v": 3.0},
}
JUDGED = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"z": 0}, "q4": {"v": 0}}


def test_worked_by_hand() -> None:
    (one,) = cf.lab.stopping(JUDGED, RUN, "AP[terminal]", repeats=10).results
    # AP' = 1 for the right document alone and for silence where nothing is relevant; else
    # ("10", R=1): (1 + 2/3) / 2 = 5/6; ("0", R=0): 1/2; ("00", R=0): 1/3.
    assert one.uncut == pytest.approx((5 / 6 + 5 / 6 + 1 / 3 + 1 / 2) / 4)
    assert (one.oracle, one.oracle_depth) == (1.0, 0.5)
    assert (one.depth, one.depth_score) == (1, pytest.approx((1 + 1 + 1 / 2 + 1 / 2) / 4))
    assert (one.rules[0].threshold, one.rules[0].score) == (7.0, pytest.approx(1.0))
    assert one.by_threshold.at.tolist() == [9, 7, 4, 3, 2, 1]
    assert one.by_threshold.kept.tolist() == [0.25, 0.5, 0.75, 1.25, 1.5, 1.75]
    assert one.by_threshold.mean.tolist() == pytest.approx(
        [3 / 4, 1, 7 / 8, (5 / 6 + 1 + 1 / 2 + 1 / 2) / 4, (5 / 6 + 5 / 6 + 1 / 2 + 1 / 2) / 4, one.uncut]
    )


def test_each_split_is_what_its_threshold_scores() -> None:
    (one,) = cf.lab.stopping(JUDGED, RUN, "AP[terminal]", repeats=50).results
    # A half with q1 and q2 learns 7; with one of them its score; without them that nothing is to be kept.
    assert set(one.rules[0].splits.threshold) <= {7.0, 9.0, np.inf}
    for threshold, score in zip(one.rules[0].splits.threshold, one.rules[0].splits.score, strict=True):
        # Learned from both answers, the other half is silent; from one, the other is kept at 7 and lost at 9.
        expected = {7.0: {1.0}, 9.0: {0.5}, np.inf: {0.0}}[threshold]
        assert score in expected


def test_a_measure_that_only_loses_is_not_cut() -> None:
    (one,) = cf.lab.stopping({"q1": {"a": 1, "x": 1}, "q2": {"b": 1, "y": 1}}, RUN, "AP", repeats=10).results
    assert one.rules[0].threshold == -np.inf
    assert (one.rules[0].splits.threshold == -np.inf).all()
    assert (one.rules[0].splits.gain == 0).all()


def test_documents_of_one_score_stay_together() -> None:
    run = {"q1": {"a": 1.0, "x": 1.0}, "q2": {"b": 1.0, "y": 0.5}}
    (one,) = cf.lab.stopping({"q1": {"a": 1}, "q2": {"b": 1}}, run, "AP[terminal]", repeats=1).results
    assert one.by_threshold.kept.tolist() == [1.5, 2.0]


def test_same_seed_same_result(found: StoppingResult) -> None:
    assert cf.lab.stopping(QRELS, RUNS, MEASURES, repeats=20, seed=3).to_dict() == found.to_dict()
    other = cf.lab.stopping(QRELS, RUNS, MEASURES, repeats=20, seed=4)
    assert other.results[0].rules[0].splits.score.tolist() != found.results[0].rules[0].splits.score.tolist()


def test_saved_and_read_again(found: StoppingResult, tmp_path: Path) -> None:
    found.save(tmp_path / "study.json")
    assert StoppingResult.load(tmp_path / "study.json").to_dict() == found.to_dict()


def test_undefined_queries_are_left_out(found: StoppingResult) -> None:
    sizes = {one.measure: one.queries for one in found.results}
    assert (sizes["AP[terminal]"], sizes["AP[condensed]"]) == (8, 7)
    assert "AP[condensed] is undefined for 1 of 8 queries: omitted" in map(str, found.notes)


def test_runs_of_one_name_are_told_apart() -> None:
    names = [one.run for one in cf.lab.stopping(JUDGED, [RUN, RUN], "AP[terminal]", repeats=1).results]
    assert names == ["run", "run (2)"]


@pytest.mark.parametrize(
    ("measure", "qrels", "message"),
    [
        ("NumRet", JUDGED, "NumRet is not a mean over queries"),
        ("AP[ties=expected]", JUDGED, "this study needs a tie rule that orders every list by score in one way"),
        ("FalseAnswer", JUDGED, "FalseAnswer: this study needs a measure of which higher values are better"),
        ("Answered", JUDGED, "Answered: this study needs a measure of which higher values are better"),
        ("RR", {"q1": {"a": 1}}, "RR is defined for 1 of the judged queries"),
        ("AP", {"q3": {"z": 0}}, "AP is defined for 0 of the judged queries"),
        ("AP", {"other": {"z": 0}}, "none of its queries is judged"),
    ],
)
def test_what_cannot_be_cut(measure: str, qrels: Any, message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        cf.lab.stopping(qrels, RUN, measure)


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "json"])
def test_tables(format: str) -> None:
    args = (QRELS, *RUNS, "-m", "nDCG(ideal='bounded')[terminal]", "--repeats", 5, "--digits", 3, "--format", format)
    shown = call("study", "stopping", *args).stdout
    for name in ("bm25", "dense", "llm", "quiet", "0.896" if format != "json" else "0.8963"):
        assert name in shown


def test_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    cf.lab.stopping(QRELS, RUNS[:2], MEASURES[2:4], repeats=20).save(tmp_path / "study.json")
    result = call("study", "show", tmp_path / "study.json", "--figures", tmp_path / "figures")
    assert result.exit_code == 0
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    drawn = [*(f"stopping-{run.stem}" for run in RUNS[:2]), "stopping-answers"]
    assert names == sorted(f"{name}.{kind}" for name in drawn for kind in ("pdf", "svg", "png"))


def test_infinite_thresholds_survive_a_file(tmp_path: Path) -> None:
    result = cf.lab.stopping(JUDGED, RUN, "AP[terminal]", repeats=50)
    result.save(tmp_path / "study.json")
    again: CutResult = StoppingResult.load(tmp_path / "study.json").results[0]
    assert again.rules[0].splits.threshold.tolist() == result.results[0].rules[0].splits.threshold.tolist()


def test_a_whole_track(simulated: Simulation) -> None:
    result = cf.lab.stopping(simulated.judgments, simulated.runs[::4], ["AP[terminal]", "nDCG@10"], repeats=20)
    assert len(result.results) == 8
    assert any(one.oracle > one.depth_score > one.uncut for one in result.results)
    for one in result.results:
        assert one.oracle >= one.depth_score >= one.uncut


def keys_by_hand(rule: str, scores: list[float]) -> list[float]:
    """The threshold from which each document of a list is kept."""
    steps = [a - b for a, b in itertools.pairwise(scores)]
    gaps = [max([0.0, *steps[:i]]) for i in range(len(scores))]
    return {
        "score": scores,
        "ratio": [score / scores[0] for score in scores],
        "distance": [scores[0] - score for score in scores],
        "gap": gaps,
    }[rule]


RULE_QRELS = {q: {"a": 1, "b": 0, "c": 1, "d": 0, "e": 0} for q in ("q1", "q2", "q3", "q4")}
RULE_RUN = {
    "q1": {"a": 9.0, "c": 8.5, "b": 3.0, "d": 2.0},
    "q2": {"a": 5.0, "b": 4.0, "c": 3.5, "d": 0.5, "e": 0.5},
    "q3": {"b": 2.0},
    "q4": {"c": 7.0, "a": 6.0, "e": 5.0},
}


@pytest.mark.parametrize("rule", ["score", "ratio", "distance", "gap"])
def test_rules_against_all_thresholds(rule: str) -> None:
    """Cut every list by hand at every threshold that could matter: the best is what the study finds."""
    (cut,) = cf.lab.stopping(RULE_QRELS, RULE_RUN, "AP[terminal]", repeats=3).results
    lists = {q: sorted(ranked.items(), key=lambda item: -item[1]) for q, ranked in RULE_RUN.items()}
    keys = {q: keys_by_hand(rule, [score for _, score in ranked]) for q, ranked in lists.items()}
    falling = RULES[rule].falling
    best, at = -1.0, 0.0
    for threshold in sorted({key for of_list in keys.values() for key in of_list}, reverse=not falling):
        kept = {
            q: {
                d: s
                for (d, s), key in zip(ranked, keys[q], strict=True)
                if (key <= threshold if falling else key >= threshold)
            }
            for q, ranked in lists.items()
        }
        mean = cf.evaluate(RULE_QRELS, {q: ranked for q, ranked in kept.items() if ranked}, "AP[terminal]")._means[0, 0]
        if mean >= best - 1e-12:
            best, at = max(best, mean), threshold
    threshold, score = {entry.rule: (entry.threshold, entry.score) for entry in cut.rules}[rule]
    assert score == pytest.approx(best)
    assert threshold == pytest.approx(at) or np.isinf(threshold)


def test_a_predicted_number_of_relevant_documents_is_learned_from_training_queries() -> None:
    training = np.array([True, True, False, False])

    def predicted(relevant: list[int]) -> Any:
        return ranked(RULE_RUN, RULE_QRELS, relevant).predicted_relevant(training)

    assert predicted([2, 2, 2, 2]) == pytest.approx([2, 2, 2, 2])
    # What is relevant for other queries has no influence.
    assert predicted([1, 4, 99, 0]) == pytest.approx(predicted([1, 4, 7, 5]))
    # Longer lists with more relevant documents: more are predicted, within what was seen.
    lengths = {f"q{n}": {f"d{i}": float(n - i) for i in range(n)} for n in (2, 4, 8, 16)}
    qrels = {q: dict.fromkeys(documents, 1) for q, documents in lengths.items()}
    by_length = ranked(lengths, qrels, [2, 4, 8, 16]).predicted_relevant(np.ones(4, bool))
    assert (np.diff(by_length) > 0).all() and by_length.min() >= 2 and by_length.max() <= 16.001


def test_no_ratio_of_negative_scores() -> None:
    run = {q: {d: -1 / s for d, s in ranked.items()} for q, ranked in RULE_RUN.items()}
    result = cf.lab.stopping(RULE_QRELS, run, "AP[terminal]", repeats=3)
    assert [entry.rule for entry in result.results[0].rules] == ["score", "distance", "gap", "predicted R"]
    assert tuple(map(str, result.notes)) == (
        "run: no thresholds relative to the top score, because some scores are not positive",
    )


def test_rules_are_no_better_than_the_best_depths(found: StoppingResult) -> None:
    for one in found.results:
        for entry in one.rules:
            assert one.uncut - 1e-12 <= entry.score <= one.oracle + 1e-12
            assert len(entry.splits.score) == 20
    saved = StoppingResult.from_dict(found.to_dict())
    assert saved.to_dict() == found.to_dict() and saved.results[0].rules[0].rule == found.results[0].rules[0].rule


def collection_with_silence(seed: int, queries: int = 14) -> tuple[dict[str, Any], dict[str, Any]]:
    """Lists with tied scores, some of them empty, and queries without a relevant document."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(queries):
        grades = rng.integers(0, 2, 6) * (q % 3 > 0)
        qrels[f"q{q}"] = {f"d{d}": int(grade) for d, grade in enumerate(grades)}
        length = int(rng.integers(0, 6))
        run[f"q{q}"] = {f"d{d}": float(rng.integers(1, 7) + grades[d]) for d in rng.permutation(6)[:length]}
    return qrels, run


def decisions(qrels: Any, run: Any, queries: Any, threshold: float) -> list[float]:
    """The rates of `DECISIONS` and mean RR of answered queries, from lists cut one by one."""
    kept = {q: {d: s for d, s in run[q].items() if s >= threshold} for q in queries}
    judged = {q: qrels[q] for q in queries}
    scores = cf.evaluate(judged, kept, [*DECISIONS, "RR"])
    rr = scores.to_dict()["runs"]["run"]["RR"]["queries"]
    answered = [q for q in queries if kept[q]]
    return [*scores._means[0, :4].tolist(), float(np.mean([rr[q] for q in answered])) if answered else np.nan]


@pytest.mark.parametrize("seed", range(3))
def test_answers_against_lists_cut_one_by_one(seed: int) -> None:
    qrels, run = collection_with_silence(seed)
    result = cf.lab.stopping(qrels, run, "RR", repeats=1)
    curve = next(curve for curve in result.answers if curve.rule == "score")
    tops = {max(of.values()) for of in run.values() if of}
    assert curve.at.tolist() == sorted(tops, reverse=True)
    for at, values in zip(curve.at, curve.values.T, strict=True):
        assert values.tolist() == pytest.approx(decisions(qrels, run, list(qrels), at), nan_ok=True)


@pytest.mark.parametrize("rate", [0.0, 0.25, 0.5])
def test_few_false_answers_chosen_on_one_half(rate: float) -> None:
    """The test half is what the threshold leaves; a threshold lower by one training document has too many."""
    qrels, run = collection_with_silence(7)
    result = cf.lab.stopping(qrels, run, "RR", repeats=20, max_false_answers=rate)
    curve = next(curve for curve in result.answers if curve.rule == "score")
    assert curve.chosen is not None and curve.tested is not None
    rng, queries = np.random.default_rng(0), list(qrels)
    groups = [[i for i, q in enumerate(queries) if any(qrels[q].values()) == has] for has in (False, True)]
    for threshold, tested in zip(curve.chosen, curve.tested.T, strict=True):
        half = {i for group in groups for i in rng.permutation(group)[: -(-len(group) // 2)].tolist()}
        training = [q for i, q in enumerate(queries) if i in half]
        test = [q for i, q in enumerate(queries) if i not in half]
        assert tested.tolist() == pytest.approx(decisions(qrels, run, test, threshold), nan_ok=True)
        assert decisions(qrels, run, training, threshold)[1] <= rate
        scores = sorted({s for q in training for s in run[q].values() if s < threshold})
        assert not scores or threshold == -np.inf or decisions(qrels, run, training, scores[-1])[1] > rate


def test_a_rate_of_false_answers_needs_queries_without_an_answer() -> None:
    with pytest.raises(cf.CranfieldError, match="judged queries without a relevant document: 1"):
        cf.lab.stopping({**RULE_QRELS, "q5": {"a": 0}}, RULE_RUN, "RR", max_false_answers=0.05)


def test_the_figure_of_answers_has_room_for_means_above_1() -> None:
    pytest.importorskip("matplotlib")
    for measure, highest in (("CG", 5 / 3), ("AP", 1.0)):
        (curve, *_) = cf.lab.stopping(RULE_QRELS, RULE_RUN, measure).answers
        figure = answer_figure([curve], [measure])
        assert figure.axes[0].get_ylim() == pytest.approx((-0.02 * highest, 1.02 * highest))


def test_answers_as_a_table_and_a_figure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    args = ("study", "stopping", QRELS, *RUNS[:2], "-m", "RR", "--repeats", 4)
    shown = call(*args).stdout
    assert "risk and coverage" in shown and "missed" in shown
    qrels = tmp_path / "qrels.txt"
    qrels.write_text(QRELS.read_text() + "q9 0 a 0\nq10 0 a 0\n")
    shown = call("study", "stopping", qrels, *args[3:], "--max-false-answers", 0.05, "--figures", tmp_path).stdout
    assert "at most 0.05 false answers on one half of the queries" in " ".join(shown.split())
    assert (tmp_path / "stopping-answers.svg").exists()
