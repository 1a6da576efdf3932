"""TiesResult: counts by hand, random orders against closed forms for every measure, swaps against all orders."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study_samples import call

import cranfield as cf
from cranfield import example
from cranfield.evaluation.plan import AlignmentKey
from cranfield.lab.studies.ties import RULES, TiesResult, score_random_orders, swap_chances
from cranfield.lab.tie_cost import COLUMNS, TieCosts, Times, cost_tables, feature_scores, tie_costs, timed_work
from cranfield.measures.catalogue import CATALOGUE
from every_measure import NAMES

QRELS = example.path(example.QRELS)
RUNS = [example.path(name) for name in example.RUNS]

# Two queries with ties at the top, one without.
JUDGED = {
    "q1": {"a": {"1": 3, "2": 1}, "b": {"1": 0}, "c": {"2": 2}, "e": {"1": 1}, "g": {"1": 0}, "h": {"3": 1}},
    "q2": {"a": {"1": 1}, "b": {"2": 1}, "c": {"1": 0}, "d": {"1": 2}},
    "q3": {"a": {"1": 1}},
}
RANKED = {
    "q1": {"a": 3, "b": 3, "c": 3, "d": 3, "e": 2, "f": 1, "g": 1, "h": 1},
    "q2": {"x": 9, "c": 5, "a": 5, "b": 5, "d": 4},
    "q3": {"b": 2, "a": 1},
}
TEXTS = {name: f"{name} word {'ash oak ' * (i % 3)}{'elm ' * (i % 2)}" for i, name in enumerate("abcdefghx")}
BY_SUBTOPIC = {
    d.symbol: f"{d.symbol}{'@3' if d.cutoff == 'required' else ''}" for d in CATALOGUE.values() if d.subtopics
}
OF_TEXT = {d.symbol: f"{d.symbol}(mu=10, whole=True)@3" for d in CATALOGUE.values() if d.content}
CUTOFF = {"required": "@3", "recall": "@0.4"}
OF_SAMPLES = {d.symbol: f"{d.symbol}{CUTOFF.get(d.cutoff, '')}" for d in CATALOGUE.values() if d.sampled}
OF_PREFERENCES = {d.symbol: d.symbol for d in CATALOGUE.values() if d.preferences}
PREFERENCES = {
    q: [["g", "s", document, max(grades.values())] for document, grades in of.items()] for q, of in JUDGED.items()
}


def rankings_of(evaluator: cf.Evaluator, measure: cf.measures.Measure) -> Any:
    scores = evaluator.evaluation(RANKED).run_scores[0]
    return scores.alignments[AlignmentKey(measure.definition.content, "score")].rankings


@pytest.fixture(scope="module")
def evaluators() -> dict[str, cf.Evaluator]:
    return {
        "grades": cf.Evaluator(JUDGED, "AP"),
        "texts": cf.Evaluator(cf.Collection(JUDGED, documents=TEXTS), list(OF_TEXT.values())),
        "preferences": cf.Evaluator(cf.Collection(prefs=PREFERENCES), "Prefs"),
    }


def test_every_measure_is_sampled_below() -> None:
    names = [*NAMES, *BY_SUBTOPIC.values(), *OF_TEXT.values(), *OF_SAMPLES.values(), *OF_PREFERENCES.values()]
    # Those of spans and of items are compared with all orders in test_spans and test_items.
    others = {symbol for symbol, d in CATALOGUE.items() if d.spans or d.gains == "attribute"}
    assert {cf.parse(name).symbol for name in names} == CATALOGUE.keys() - others


@pytest.mark.parametrize(
    "name", [*NAMES, *BY_SUBTOPIC.values(), *OF_TEXT.values(), *OF_SAMPLES.values(), *OF_PREFERENCES.values()]
)
def test_random_orders_have_the_mean_of_the_closed_form(name: str, evaluators: dict[str, cf.Evaluator]) -> None:
    measure, expected = cf.parse(name), cf.parse(f"{name}[ties=expected]")
    definition = measure.definition
    kind = "preferences" if definition.preferences else "texts" if definition.content else "grades"
    samples, queries = 1000, 0
    for rankings in rankings_of(evaluators[kind], measure):
        estimate = expected.values(rankings)
        drawn = list(score_random_orders([measure], rankings, samples, np.random.default_rng(7)))
        tied = drawn[0][1]
        # An order for which a measure is undefined counts 0, unless it is undefined for all of them.
        values = np.nan_to_num(np.concatenate([part[0] for _, _, part in drawn]))
        exact = estimate.value[tied]
        known = ~np.isnan(exact)
        own = 0 if estimate.error is None else estimate.error[tied]
        error = np.hypot(values.std(axis=0, ddof=1) / np.sqrt(samples), own)
        assert (np.abs(values.mean(axis=0) - exact) <= 4 * error + 1e-9)[known].all()
        queries += int(known.sum())
    assert queries or measure.symbol == "FalseAnswer"  # no query of the example is unanswerable


def test_counts_by_hand() -> None:
    found = cf.lab.ties(JUDGED, RANKED, ["AP"], samples=2)
    (counts,) = found.counts
    assert (counts.retrieved, counts.tied, counts.judged, counts.judged_tied) == (15, 10, 11, 8)
    assert (counts.queries, counts.queries_tied) == (3, 2)
    assert counts.sizes == {3: 2, 4: 1} and counts.groups == 3 and counts.largest == 4
    # a and c of q1 (with b and d), h (with f and g), a and b of q2 (with c).
    assert counts.decisive == 5
    assert found.total == counts


def orders(ranked: dict[str, float]) -> list[dict[str, float]]:
    """All orders of the tied documents of one ranking, as rankings without ties."""
    groups = [list(group) for _, group in itertools.groupby(sorted(ranked, key=lambda d: -ranked[d]), key=ranked.get)]
    each = itertools.product(*(itertools.permutations(group) for group in groups))
    return [{d: -float(i) for i, d in enumerate(itertools.chain(*order))} for order in each]


@pytest.mark.parametrize("measure", ["AP", "RR", "nDCG@2", "P@1"])
def test_swaps_against_all_orders(measure: str) -> None:
    qrels = {"q": {"a": 1, "b": 0, "c": 2}, "p": {"a": 1}}
    runs = {
        "one": {"q": {"a": 1, "b": 1, "c": 1}, "p": {"b": 1, "a": 1}},
        "two": {"q": {"a": 2, "b": 1, "c": 1}, "p": {"c": 2, "a": 1}},
        "three": {"q": {"b": 3, "a": 2, "c": 1}, "p": {"a": 1, "c": 1, "d": 1}},
    }

    def scores(run: dict[str, dict[str, float]]) -> np.ndarray:
        every = itertools.product(*(orders(run[query]) for query in run))
        return np.array(
            [cf.evaluate(qrels, dict(zip(run, order, strict=True)), measure)._means[0, 0] for order in every]
        )

    by_run = {name: scores(run) for name, run in runs.items()}
    found = cf.lab.ties(qrels, runs, [measure], samples=3000, seed=1)
    for (i, j), chance in zip(found.pairs, found.swap_chance[0], strict=True):
        x, y = (by_run[found.runs[r]] for r in (i, j))
        difference = np.round(x[:, None] - y, 10)
        below, above = (difference < 0).mean(), (difference > 0).mean()
        gap = round(x.mean() - y.mean(), 10)
        exact = below if gap > 0 else above if gap < 0 else min(below, above)
        assert chance == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 3000))
        assert found.scores[RULES.index("expected"), 0, i] == pytest.approx(x.mean())
        assert found.scores[RULES.index("best"), 0, i] == pytest.approx(x.max())
        assert found.scores[RULES.index("worst"), 0, i] == pytest.approx(x.min())


def test_swap_chances() -> None:
    # All pairs of orders of two runs: 2 of 4 are reversed, 1 is tied.
    assert swap_chances(np.array([[0.5, 0.3], [0.5, 0.4]]), np.array([0.4, 0.45])).tolist() == [0.25]
    assert swap_chances(np.array([[0.5, 0.3], [0.5, 0.3]]), np.array([0.4, 0.4])).tolist() == [0.25]
    assert swap_chances(np.array([[0.5, 0.5]]), np.array([0.5])).tolist() == []


def test_pairs_that_some_order_reverses() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    runs = [{"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "b": 1}}, {"q": {"b": 2, "a": 1, "c": 1}}]
    found = cf.lab.ties(qrels, runs, ["RR"], samples=2)
    # 0.5 to 1, always 1, and 1/3 to 1/2: no order reverses a pair.
    assert found.reversible(found.scores, 0) == 0
    runs[2] = {"q": {"b": 1, "a": 1, "c": 1}}
    found = cf.lab.ties(qrels, runs, ["RR"], samples=2)
    assert found.reversible(found.scores, 0) == 1  # the first and the third run


def test_rounding_creates_ties_and_never_reorders() -> None:
    qrels = {"q": {"a": 1, "b": 0}, "p": {"a": 1}}
    runs = [{"q": {"a": 1.234, "b": 1.229}, "p": {"a": 0.5}}, {"q": {"b": 2, "a": 1}, "p": {"a": 0.5}}]
    found = cf.lab.ties(qrels, runs, ["RR"], samples=2, round_digits=[4, 2], round_bits=[53])
    assert [entry.rounding for entry in found.rounded] == ["4 digits", "2 digits", "53 bits"]
    assert [entry.tied for entry in found.rounded] == [0, pytest.approx(2 / 6), 0]
    expected = RULES.index("expected")
    assert [entry.scores[expected, 0, 0] for entry in found.rounded] == [1, 0.875, 1]
    assert found.rounding_swaps(found.rounded[1], expected, 0) == 0


def test_measures_of_text_have_a_best_order() -> None:
    found = cf.lab.ties(JUDGED, RANKED, ["AP", "ABSNB(mu=10, whole=True)@3"], corpus=TEXTS, samples=20)
    worst, expected, best = (found.scores[RULES.index(rule)] for rule in ("worst", "expected", "best"))
    assert (worst <= expected).all() and (expected <= best).all() and (worst < best).any(axis=1).all()
    assert np.isfinite(found.sample_mean).all()


def test_samples_do_not_depend_on_other_measures() -> None:
    alone = cf.lab.ties(QRELS, RUNS, ["AP"], samples=10, round_digits=(), round_bits=())
    together = cf.lab.ties(QRELS, RUNS, ["RR", "AP"], samples=10, round_digits=(), round_bits=())
    assert alone.quantiles[:, 0].tolist() == together.quantiles[:, 1].tolist()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"measures": ["GMAP"]}, "GMAP is not a mean over queries"),
        ({"measures": ["AP[ties=best]"]}, "this study applies the tie rules itself"),
        ({"samples": 1}, "samples must be a whole number from 2 to 10,000,000, not 1"),
        ({"round_digits": [0]}, "each of round_digits must be a whole number from 1 to 17, not 0"),
        ({"measures": ["ABSNB(whole=True)@3"]}, "needs a corpus, because it uses document text"),
    ],
)
def test_wrong_settings(how: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        cf.lab.ties(QRELS, RUNS, **how)


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv", "json"])
def test_command(format: str, tmp_path: Path) -> None:
    args = ("-m", "AP RR", "--samples", 20, "--round-digits", "2", "--format", "json", "-o", tmp_path / "study.json")
    assert call("study", "ties", QRELS, *RUNS, *args).exit_code == 0
    result = call("study", "show", tmp_path / "study.json", "--format", format)
    assert result.exit_code == 0 and "nan" not in result.stdout.replace("provenance", "")
    if format == "json":
        assert json.loads(result.stdout).keys() >= {"scores", "rules", "swap_chance"}
        assert json.loads(json.dumps(TiesResult.load(tmp_path / "study.json").to_dict())) == json.loads(result.stdout)
    if format == "table":
        assert "32-bit float" in result.stdout and "pairs that random orders swap" in result.stdout
        pytest.importorskip("matplotlib")
        assert call("study", "show", tmp_path / "study.json", "--figures", tmp_path / "figures").exit_code == 0
        names = {path.stem for path in (tmp_path / "figures").iterdir()}
        assert names == {"ties-ranges", "ties-sizes", "ties-swaps"}


def test_one_run() -> None:
    result = call("study", "ties", QRELS, RUNS[0], "-m", "AP", "--samples", 2)
    assert result.exit_code == 0 and "all" not in result.stdout.split("\n\n")[1]


def test_a_feature_with_few_values() -> None:
    data = feature_scores(200, 8, 3, seed=1)
    assert set(data.score) == {1, 2, 3} and len(data.size) == 200
    groups = Counter(zip(data.query.tolist(), data.score.tolist(), strict=True))
    assert data.tied == sum(n for n in groups.values() if n > 1) / len(data.query) > 0.8
    assert [len(documents) for documents in data.dicts().values()] == data.size.tolist()


@pytest.mark.parametrize("rule", ["trec", "expected"])
def test_what_is_timed_are_scores_by_the_tie_rule(rule: Any, tmp_path: Path) -> None:
    data = feature_scores(40, 8, 3, seed=1)
    data.save(tmp_path)
    names = ["AP", "RR"]
    expected = cf.evaluate(tmp_path / "qrels.txt", tmp_path / "feature.run", names, ties=rule)
    timed = timed_work(data, [cf.parse(name) for name in names], rule, tmp_path / "feature.run")
    assert list(timed) == list(COLUMNS)
    for column in ("evaluate, dicts", "evaluate, file"):
        np.testing.assert_array_equal(timed[column]().values, expected.values)
    assert list(timed["means, dicts"]().values()) == expected._means[0].tolist()
    for column in ("sort and arithmetic", "arithmetic"):
        np.testing.assert_array_equal(timed[column](), expected.values[0])


def test_costs_are_end_to_end_and_of_kernels_and_rr_is_charged_no_sort() -> None:
    costs = tie_costs(feature_scores(50, 8, 3, seed=1), ["AP", "RR@5"], repeats=1)
    assert (costs.queries, costs.values, costs.repeats) == (50, 3, 1)
    without_sort = [name for name in COLUMNS if name != "sort and arithmetic"]
    assert {name: list(of) for name, of in costs.measures.items()} == {
        "AP": list(COLUMNS),
        "RR@5": without_sort,
        "all": list(COLUMNS),
    }
    assert list(tie_costs(feature_scores(5, 8, 3), ["AP"], repeats=1).measures) == ["AP"]


def test_the_conclusion_is_that_of_the_numbers() -> None:
    times = {name: Times(1.0, 1.5) for name in COLUMNS}
    measures = {"AP": times | {"evaluate, dicts": Times(2.0, 1.5), "arithmetic": Times(0.005, 0.015)}, "P@10": times}
    relative, milliseconds = cost_tables(TieCosts(10, 80, 3, 0.9, 1, measures | {"all": {"arithmetic": Times(1, 9)}}))
    assert "evaluate, dicts -25% to +50%" in relative.title and "; arithmetic +50% to +200%" in relative.title
    assert [cell.text for cell in relative.sheet.rows[0].cells] == ["-25%", "+50%", "+50%", "+50%", "+200%"]
    assert milliseconds.sheet.rows[0].cells[-1].text == "5.0 → 15"
    assert milliseconds.sheet.rows[0].cells[0].text == "2000 → 1500"


def test_cost_command(tmp_path: Path) -> None:
    args = ("--queries", 50, "--repeats", 1, "-m", "AP", "--save", tmp_path / "feature")
    result = call("study", "tie-cost", *args)
    assert result.exit_code == 0 and "50 queries" in result.stdout and "evaluate, dicts" in result.stdout
    files = tmp_path / "feature" / "qrels.txt", tmp_path / "feature" / "feature.run"
    assert call("study", "ties", *files, "-m", "AP", "--samples", 2).exit_code == 0
    (tmp_path / "feature" / "qrels.txt").write_text("mine")
    again = call("study", "tie-cost", *args)
    assert again.exit_code == 1 and "already exists" in again.stderr
    assert (tmp_path / "feature" / "qrels.txt").read_text() == "mine"
    failed = call("study", "tie-cost", "--queries", 5, "-m", "ERR_IA@5")
    assert failed.exit_code == 2 and "cannot be computed from grades alone" in failed.stderr


def test_a_run_without_a_value_takes_no_query_from_others() -> None:
    """R='retrieved' is undefined where a run finds nothing relevant: it scores 0 there, and other runs keep the query."""
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"b": 0}}
    good, bad = ({q: {d: 1.0} for q in qrels} for d in "ab")
    measure = "R(R='retrieved')@5"
    result = cf.lab.ties(qrels, [good, {**bad, "1": {"a": 1.0}}], measure, samples=2)
    expected = result.scores[RULES.index("expected"), 0]
    assert expected.tolist() == [1.0, 0.5]
    assert [note for note in map(str, result.notes) if "counted as 0" in note] == [
        f"{measure}: undefined for 1 run on 1 query, where others have a value; counted as 0"
    ]
    assert result.pages()[0].title.startswith("In short: 0.0% of the documents of 2 runs are tied")
    assert list(result.drawings()) == []  # nothing is tied
