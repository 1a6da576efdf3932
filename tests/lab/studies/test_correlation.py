"""Agreement of measures: against SciPy, by hand, and as tables and figures."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from study_samples import call

import cranfield as cf
from cranfield import example
from cranfield.lab.simulation import Simulation
from cranfield.lab.studies.correlation import Correlation, CorrelationResult
from cranfield.lab.systems import COEFFICIENTS
from cranfield.statistics.correlation import critical_rho

QRELS = example.path(example.QRELS)
RUNS = [example.path(name) for name in example.RUNS]
MEASURES = ["AP", "nDCG@5", "RR", "bpref", "Q[condensed]", "P@5"]


@pytest.fixture(scope="module")
def found() -> CorrelationResult:
    return cf.lab.correlation(QRELS, RUNS, MEASURES)


def random_runs(count: int, seed: int = 0) -> tuple[list[Any], dict[str, dict[str, int]]]:
    """Systems that find the relevant documents more or less well."""
    rng = np.random.default_rng(seed)
    qrels = {f"q{q}": {f"d{d}": int(rng.integers(0, 3)) for d in range(15)} for q in range(6)}
    runs = [
        cf.read_run(
            {q: {d: grade * i / count + float(rng.normal()) for d, grade in rows.items()} for q, rows in qrels.items()},
            name=f"s{i}",
        )
        for i in range(count)
    ]
    return runs, qrels


SCIPY = {
    "tau-b": lambda x, y: stats.kendalltau(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
}


@pytest.mark.parametrize("name", SCIPY)
def test_matrix_is_scipys(name: str) -> None:
    runs, qrels = random_runs(12)
    result = cf.lab.correlation(qrels, runs, ["AP", "nDCG@5", "RR"], coefficient=name)
    means = cf.evaluate(qrels, runs, ["AP", "nDCG@5", "RR"])._means.T
    assert result.means == pytest.approx(means, abs=1e-12)
    expected = [[SCIPY[name](a, b) for b in means] for a in means]
    assert result.matrix == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_every_coefficient_has_measures_agree_with_themselves(name: str) -> None:
    runs, qrels = random_runs(8)
    result = cf.lab.correlation(qrels, runs, ["AP", "nDCG@5", "Q"], coefficient=name)
    assert np.diag(result.matrix) == pytest.approx(1)
    assert (np.abs(result.matrix) <= 1 + 1e-12).all()
    if COEFFICIENTS[name].symmetric:
        assert result.matrix == pytest.approx(result.matrix.T)
    else:
        assert any("the measure in the row is the reference" in note for note in map(str, result.notes))


def test_worked_by_hand() -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0}}
    # P@1 and RR of three systems: (1, 1), (.5, .75) and (0, .5); Judged@1 is 1 for all but the last.
    best, worst, none = {"a": 2.0, "b": 1.0}, {"b": 2.0, "a": 1.0}, {"x": 2.0, "a": 1.0}
    runs = [{"q1": best, "q2": best}, {"q1": best, "q2": worst}, {"q1": worst, "q2": none}]
    result = cf.lab.correlation(
        qrels, [cf.read_run(r, name=f"s{i}") for i, r in enumerate(runs)], ["P@1", "RR", "Judged@1"]
    )
    assert result.means.tolist() == [[1, 0.5, 0], [1, 0.75, 0.5], [1, 1, 0.5]]
    # Of three pairs Judged@1 leaves one undecided.
    assert result.matrix.tolist() == [[1, 1, 2 / 3], [1, 1, 2 / 3], [2 / 3, 2 / 3, 2 / 3]]
    assert [note for note in map(str, result.notes) if "tau-a" in note] == [
        "Judged@1 gives some runs the same score; tau-a counts a tied pair as half a disagreement"
    ]


def test_significance_of_the_paper() -> None:
    empty = np.zeros((2, 30))
    results = [
        CorrelationResult(Correlation(coefficient, alpha=0.01), tuple("r" * 30), ("AP", "Q"), 42, empty, np.eye(2))
        for coefficient in ("tau-a", "rbo")
    ]
    assert results[0].critical == pytest.approx(0.3319, abs=1e-4)  # the paper has .34
    assert results[1].critical is None


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_critical_values_of_few_runs_are_those_of_all_orders(n: int) -> None:
    orders = np.array(list(itertools.permutations(range(n))))
    rho = np.abs(1 - 6 * ((orders - np.arange(n)) ** 2).sum(axis=1) / (n**3 - n)).round(9)
    for alpha in (0.2, 0.05, 0.01, 0.001):
        significant = [value for value in np.unique(rho) if (rho >= value).mean() <= alpha]
        beyond = critical_rho(n, alpha) + 1e-9
        assert (rho[rho > beyond].min() == min(significant)) if significant else beyond > 1
    # P(|ρ| ≥ .881) is .0046: the normal approximation, .9736, called it not significant.
    assert 0.857 < critical_rho(8, 0.01) < 0.881


@pytest.mark.parametrize("name", ["spearman", "pearson"])
def test_critical_values_are_exceeded_as_often_as_they_say(name: str) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 4000, 30))
    critical = COEFFICIENTS[name].critical
    assert critical is not None
    beyond = np.abs(COEFFICIENTS[name].compute(x, y)) > critical(30, 0.05)
    assert beyond.mean() == pytest.approx(0.05, abs=0.015)


def test_like_measures_are_side_by_side() -> None:
    runs, qrels = random_runs(20)
    result = cf.lab.correlation(qrels, runs, ["AP", "P@1", "AP(rel=2)", "Success@1"])
    order = [result.measures[i] for i in result.clustered]
    assert abs(order.index("P@1") - order.index("Success@1")) == 1


def test_a_measure_that_orders_nothing_is_named(tmp_path: Path) -> None:
    runs, qrels = random_runs(5)
    result = cf.lab.correlation(qrels, runs, ["AP", "Judged@5"], coefficient="tau-b")
    assert "Judged@5 gives all runs the same score" in list(map(str, result.notes))
    assert np.isnan(result.matrix[0, 1])
    result.save(tmp_path / "study.json")
    assert np.isnan(CorrelationResult.load(tmp_path / "study.json").matrix[0, 1])


def test_saved_and_read_again(found: CorrelationResult, tmp_path: Path) -> None:
    found.save(tmp_path / "study.json")
    assert CorrelationResult.load(tmp_path / "study.json").to_dict() == found.to_dict()


def test_undefined_queries_and_missing_answers_are_stated(found: CorrelationResult) -> None:
    expected = (
        "AP, nDCG@5, bpref, Q[condensed]: undefined for 1 query (q8); omitted for all runs, means are over 7 queries"
    )
    assert expected in list(map(str, found.notes))
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    short = cf.lab.correlation(qrels, [RUN, {"q1": {"a": 1.0}}], ["AP", "P@1"])
    assert "run (2) has no ranking for 1 query (q2); scored as empty" in list(map(str, short.notes))


RUN = {"q1": {"a": 1.0}, "q2": {"b": 1.0}}


@pytest.mark.parametrize(
    ("runs", "qrels", "measures", "message"),
    [
        ([RUN], {"q1": {"a": 1}, "q2": {"b": 1}}, ["AP", "RR"], "this study needs at least two runs, got 1"),
        ([RUN, RUN], {"q1": {"a": 1}}, ["AP", "RR"], "qrels: this study needs at least two judged queries, found 1"),
        (
            [RUN, RUN],
            {"q1": {"a": 1}, "q2": {"b": 1}},
            ["AP"],
            "this study compares measures and needs at least two, got one",
        ),
        ([RUN, RUN], {"q1": {"a": 1}, "q2": {"b": 0}}, ["AP", "RR"], "AP is defined for all runs on 1 of 2 queries"),
        ([RUN, RUN], {"q1": {"a": 1}, "q2": {"b": 1}}, ["GMAP", "RR"], "GMAP is not a mean over queries"),
        ([RUN, {"q9": {"a": 1.0}}], {"q1": {"a": 1}, "q2": {"b": 1}}, ["AP", "RR"], "none of its queries is judged"),
    ],
)
def test_what_cannot_be_compared(runs: Any, qrels: Any, measures: Any, message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        cf.lab.correlation(qrels, runs, measures)


def test_wrong_settings() -> None:
    with pytest.raises(cf.CranfieldError, match="coefficient must be one of"):
        cf.lab.correlation(QRELS, RUNS, MEASURES, coefficient="tau")
    with pytest.raises(cf.CranfieldError, match="alpha must be a number greater than 0 and less than 1, not 2"):
        cf.lab.correlation(QRELS, RUNS, MEASURES, alpha=2)


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv", "json"])
def test_tables(format: str) -> None:
    shown = call("study", "correlation", QRELS, *RUNS, "-m", "AP nDCG@5 RR", "--digits", 3, "--format", format).stdout
    for text in ("AP", "nDCG@5", "RR", "0.833" if format != "json" else "0.8333"):
        assert text in shown
    if format == "table":
        assert "Too few runs: no τ-a is significant at 0.01." in " ".join(shown.split())


def test_csv_is_read_back(found: CorrelationResult) -> None:
    text = call(
        "study", "correlation", QRELS, *RUNS, "-m", " ".join(MEASURES), "--digits", 17, "--format", "csv"
    ).stdout
    rows = list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))
    assert rows[0] == ["measure", *MEASURES]
    assert np.array([row[1:] for row in rows[1:]], float) == pytest.approx(found.matrix)


def test_what_chance_explains_is_marked() -> None:
    runs, qrels = random_runs(20, seed=2)
    assert "n.s." in " ".join(
        str(cell) for cell in _cells(cf.lab.correlation(qrels, runs, ["AP", "RR[ties=worst]", "Success@1"], alpha=1e-4))
    )


def _cells(result: CorrelationResult) -> Any:
    return [cell for row in result.pages()[0].sheet.rows for cell in row.cells]


def test_figures(found: CorrelationResult, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found.save(tmp_path / "study.json")
    result = call("study", "show", tmp_path / "study.json", "--figures", tmp_path / "figures")
    assert result.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        f"correlation{what}.{kind}" for what in ("-ranks", "") for kind in ("pdf", "png", "svg")
    ]
    assert ">Q[condensed]<" in (tmp_path / "figures" / "correlation.svg").read_text()


def test_measures_that_read_take_part_where_there_is_a_corpus() -> None:
    made = cf.simulate(queries=6, systems=5, documents=500, relevant=8, depth=30, seed=1)
    names = ["ERR_IA@20", "ABSRB@20", "DELTARB(mu=100)@20"]
    result = cf.lab.correlation(made.judgments, made.runs, names, corpus=made.texts)
    scores = cf.evaluate(cf.Collection(made.judgments, documents=made.texts), made.runs, names)
    assert result.means == pytest.approx(scores._means.T, abs=1e-9)
    assert result.matrix[0, 2] == pytest.approx(cf.stats.kendall(scores._means[:, 0], scores._means[:, 2]).tau_a)
    with pytest.raises(cf.MeasureError, match="ABSRB@20 needs a corpus, because it uses document text"):
        cf.lab.correlation(made.judgments, made.runs, names)


def test_a_track(simulated: Simulation) -> None:
    result = cf.lab.correlation(simulated.judgments, simulated.runs)
    place = {name: i for i, name in enumerate(result.measures)}
    assert result.matrix.shape == (10, 10)
    assert result.critical is not None and (result.matrix > result.critical).all()
    # As in the paper: the penalties of bpref_N and rpref_N hardly count, and they agree with each other best.
    loose = [place["bpref_N"], place["rpref_N"]]
    others = [i for i in range(10) if i not in loose]
    assert result.matrix[loose[0], loose[1]] > result.matrix[np.ix_(loose, others)].max()


def test_swaps_are_named() -> None:
    shown = call("study", "correlation", QRELS, *RUNS, "-m", "AP nDCG@5 AP(rel=1)", "--swaps", "--format", "csv").stdout
    found = cf.lab.correlation(QRELS, RUNS, ["AP", "nDCG@5"])
    place = {run: r for r, run in enumerate(found.runs)}
    by_hand = [
        [a, b]
        for a in sorted(found.runs, key=lambda run: -found.means[0, place[run]])
        for b in sorted(found.runs, key=lambda run: -found.means[0, place[run]])
        if found.means[0, place[a]] > found.means[0, place[b]] and found.means[1, place[a]] < found.means[1, place[b]]
    ]
    assert by_hand
    assert [list(pair) for pair in found.swaps(0, 1)] == by_hand
    pages = shown.split("\n\n")
    assert len(pages) == 2  # a measure that orders the runs as the first does has none
    assert pages[1].startswith("# Pairs in different order: ")
    assert "\nA,B," in pages[1]
    assert [row[:2] for row in csv.reader(pages[1].splitlines()[2:])] == by_hand


def test_the_seed_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    call("study", "correlation", QRELS, *RUNS, "-m", "AP RR", "--seed", 7, "--format", "json", "-o", path)
    assert CorrelationResult.load(path).settings.seed == 7


def shown_table(*args: object) -> list[list[str]]:
    text = call("study", "correlation", QRELS, *RUNS, *args, "--digits", 17, "--format", "csv").stdout
    return list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))


def test_measures_against_others_are_a_part_of_the_square(found: CorrelationResult) -> None:
    head, *rows = shown_table("-m", "AP nDCG@5 RR", "--against", "bpref P@5")
    place = {measure: m for m, measure in enumerate(found.measures)}
    assert head == ["measure", "bpref", "P@5"]
    assert [row[0] for row in rows] == ["AP", "nDCG@5", "RR"]
    expected = found.matrix[np.ix_([place[row[0]] for row in rows], [place[name] for name in head[1:]])]
    assert np.array([row[1:] for row in rows], float) == pytest.approx(expected)


def test_a_measure_on_both_sides_is_a_column() -> None:
    head, *rows = shown_table("-m", "AP RR bpref", "--against", "AP")
    assert head == ["measure", "AP"] and [row[0] for row in rows] == ["RR", "bpref"]


def test_measures_against_others_saved_shown_and_averaged(tmp_path: Path) -> None:
    result = cf.lab.correlation(QRELS, RUNS, ["AP", "RR"], against="bpref")
    assert (result.measures, result.rows, result.columns) == (("AP", "RR", "bpref"), ("AP", "RR"), ("bpref",))
    result.save(tmp_path / "study.json")
    loaded = CorrelationResult.load(tmp_path / "study.json")
    assert (loaded.rows, loaded.columns) == (result.rows, result.columns)
    (mean,) = CorrelationResult.mean_pages([result, loaded])
    assert mean.sheet.columns == ("bpref",)
    assert [float(row.cells[0].text) for row in mean.sheet.rows] == pytest.approx(result.matrix[:2, 2], abs=1e-4)


def test_files_without_a_choice_of_columns_are_square(found: CorrelationResult, tmp_path: Path) -> None:
    data = found.to_dict()
    del data["against"]
    assert CorrelationResult.from_dict(data).columns == CorrelationResult.from_dict(data).rows == found.measures


def test_the_reference_of_a_coefficient_is_named_where_rows_may_become_columns() -> None:
    result = cf.lab.correlation(QRELS, RUNS, ["AP", "RR"], against=["bpref"], coefficient="tau_ap")
    assert "τ_AP: AP, RR are the references, the others the estimates" in list(map(str, result.notes))


def test_measures_against_themselves() -> None:
    with pytest.raises(cf.CranfieldError, match="all measures are also in `against`"):
        cf.lab.correlation(QRELS, RUNS, ["AP", "RR"], against=["RR", "AP"])
    result = call("study", "correlation", QRELS, *RUNS, "-m", "AP", "--against", "")
    assert result.exit_code == 2
