"""Golden cases of `cranfield.measures.foraging`, and costs of documents."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import UsageError
from golden_cases import STRUCTURED

ROWS = [case for case in STRUCTURED if case["id"].startswith("W1-")]
NAMES = [
    "TBG(half=3, max=3)",
    "TBG(half=3, max=3, per='list', cost=2)",
    "U(L=20, max=3)",
    "IFT_C2(A=0.2, R2=2, max=3)",
    "IFT(T=1, R1=2, A=0.1, R2=2, max=3, cost=2)",
    "BPMD(T=1.5, hb=0.5, max=3)@9",
]


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case["id"])
def test_gain_of_the_whole_list(case: dict[str, Any]) -> None:
    """cwl_eval reports the gain per document (EU) and the gain of the whole list (ETU), which is TBG as published."""
    expected = {case["measure"]: case["expected"]["EU"]}
    if case["measure"].startswith("TBG"):
        expected[case["measure"].replace("TBG(", "TBG(per='list', ")] = case["expected"]["ETU"]
    costs = {"q": case["costs"]} if "costs" in case else None
    evaluator = cf.Evaluator(cf.Collection({"q": case["qrels"]}, costs=costs), list(expected))
    assert evaluator.per_query({"q": case["run"]})["q"] == pytest.approx(expected, abs=case["tol"])


QRELS = {"q": {"a": 3, "b": 1, "c": 0, "d": 1, "missed": 2}}
RUN = {"q": {"a": 2.0, "b": 2.0, "c": 2.0, "d": 2.0, "x": 2.0, "y": 1.0, "z": 1.0}}
# Every order of the documents that are tied first is a query of its own, so that one evaluation scores all of them.
ORDERS = {
    str(number): {d: -float(i) for i, d in enumerate([*order, *"yz"])}
    for number, order in enumerate(itertools.permutations("abcdx"))
}
COSTS = {"q": {"a": 9.0, "b": 0.5, "c": 4.0, "x": 6.0, "missed": 1.0, "nowhere": 1.0}, "other": {"a": 1.0}}


@pytest.mark.parametrize("name", NAMES)
def test_expectation_over_orders(name: str) -> None:
    """Documents of one grade differ in what they cost; x is unjudged and has a cost, d and y have none."""
    qrels, costs = (dict.fromkeys(ORDERS, of["q"]) for of in (QRELS, COSTS))
    orders = cf.Evaluator(cf.Collection(qrels, costs=costs), name).values(ORDERS)
    expected = cf.Evaluator(cf.Collection(QRELS, costs=COSTS), f"{name}[ties=expected]").values(RUN)
    assert expected == pytest.approx(np.mean(orders, axis=1, keepdims=True), abs=1e-12)
    assert np.ptp(orders) > 0


def foraging_by_formula(
    gains: list[float], goal: tuple[float, ...] | None, rate: tuple[float, ...] | None, cost: float, horizon: int
) -> float:
    """Σ g V / Σ V rank by rank; ``goal``: T, b1 and R1; ``rate``: A, b2 and R2."""
    seen, total, gained, reached = 1.0, 0.0, 0.0, 0.0
    for rank, gain in enumerate([*gains, *[0.0] * horizon][:horizon], start=1):
        total, gained, reached = total + seen, gained + gain * seen, reached + gain
        if goal is not None:
            exponent = (goal[0] - reached) * goal[2]
            seen *= 1 - 1 / (1 + goal[1] * math.exp(exponent)) if exponent < 700 else 1
        if rate is not None:
            exponent = (rate[0] - reached / (rank * cost)) * rate[2]
            seen *= 1 / (1 + rate[1] * math.exp(exponent)) if exponent < 700 else 0
    return gained / total


@pytest.mark.parametrize(
    ("name", "goal", "rate", "cost", "horizon"),
    [
        ("IFT_C1", (2, 0.9, 10), None, 1, 1000),
        ("IFT_C1(T=1.2, b1=0.5, R1=2, horizon=6)", (1.2, 0.5, 2), None, 1, 6),
        ("IFT_C1(T=0.5, R1=100)", (0.5, 0.9, 100), None, 1, 1000),
        ("IFT_C2", None, (0.2, 0.9, 10), 1, 1000),
        ("IFT_C2(A=0.1, b2=2, R2=3, cost=0.5, horizon=4)", None, (0.1, 2, 3), 0.5, 4),
        ("IFT_C2(A=1000, R2=1000)", None, (1000, 0.9, 1000), 1, 1000),
        ("IFT", (2, 0.9, 10), (0.2, 0.9, 10), 1, 1000),
        ("IFT(T=1, R1=1, A=0.05, R2=4, cost=3, horizon=20)", (1, 0.9, 1), (0.05, 0.9, 4), 3, 20),
    ],
)
@pytest.mark.parametrize(
    "ties", [["ab", "xcy", "d", "zuv", "we"], ["xay", "bcdz", "e"], ["abcde"], ["x", "y", "abzu", "cde"]]
)
def test_expectation_of_foraging_by_enumeration(
    name: str, goal: Any, rate: Any, cost: float, horizon: int, ties: list[str]
) -> None:
    """Every order of every tie, with tied documents above, below and across others, and ties across the horizon."""
    grades = {"a": 1, "b": 3, "c": 3, "d": 2, "e": 1}
    run = {"q": {document: -float(i) for i, tie in enumerate(ties) for document in tie}}
    scores = [
        foraging_by_formula([grades.get(d, 0) / 3 for tie in orders for d in tie], goal, rate, cost, horizon)
        for orders in itertools.product(*(itertools.permutations(tie) for tie in ties))
    ]
    value = cf.Evaluator({"q": grades}, f"{name}[ties=expected]").values(run)
    assert value[0, 0] == pytest.approx(math.fsum(scores) / len(scores), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("horizon", [1000, 1_000_000])
def test_tied_queries_score_the_same_alone(horizon: int) -> None:
    """To the last bit, also where there are too many ranks to score all queries at a time."""
    qrels: dict[str, dict[str, int]] = {"1": {"a": 3, "b": 1}, "2": {"a": 2, "c": 1}, "3": {"b": 3}}
    run = {query: {d: float(d in "xy") for d in "abcuvxy"} for query in qrels}
    name = f"IFT(max=3, horizon={horizon})[ties=expected]"
    together = cf.Evaluator(qrels, name).per_query(run)
    for query in qrels:
        assert cf.Evaluator({query: qrels[query]}, name).per_query({query: run[query]})[query] == together[query]


@pytest.mark.parametrize("name", ["IFT_C1(horizon=3000000)", "IFT(horizon=3000000)"])
def test_expectation_with_more_ranks_than_fit_into_tables(name: str) -> None:
    qrels = {"q": {"a": 3, "b": 1, "c": 2}}
    tied = cf.Evaluator(qrels, f"{name}[ties=expected]").values({"q": {"b": 3.0, "a": 2.0, "x": 2.0, "c": 1.0}})
    orders = [cf.Evaluator(qrels, name).values({"q": order}) for order in (["b", "a", "x", "c"], ["b", "x", "a", "c"])]
    assert tied == pytest.approx(np.mean(orders, axis=0), rel=1e-13)
    assert np.ptp(orders) > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cost", [1.0, 2.5])
def test_equal_costs(name: str, cost: float) -> None:
    """Costs that are all equal are no other than none, with that as the parameter."""
    equal = {"q": dict.fromkeys([*RUN["q"], "missed"], cost)}
    bare = name.replace(", cost=2", "")
    with_cost = bare.replace("max=3", f"max=3, cost={cost}")
    for views in ("", "[ties=expected]", "[depth=3]", "[ties=expected, depth=3]"):
        given = cf.Evaluator(cf.Collection(QRELS, costs=equal), with_cost + views).values(RUN)
        assert given == pytest.approx(cf.Evaluator(QRELS, with_cost + views).values(RUN), abs=1e-12)


def test_condensed_lists_drop_unjudged_documents_whatever_they_cost() -> None:
    run = {"q": {"x": 9.0, "a": 8.0, "y": 7.0, "b": 6.0}}
    given = cf.Evaluator(cf.Collection(QRELS, costs=COSTS), "TBG(half=3)[condensed]").values(run)
    without = {"q": {"a": 8.0, "b": 6.0}}
    assert given == pytest.approx(
        cf.Evaluator(cf.Collection(QRELS, costs=COSTS), "TBG(half=3)").values(without), abs=1e-15
    )


def test_other_measures_do_not_see_costs() -> None:
    """An unjudged document with a cost is not pooled, which infAP would count."""
    names = ["infAP", "nDCG", "Judged@5", "IFT_C1", "NPV"]
    given = cf.Evaluator(cf.Collection(QRELS, costs=COSTS), [*names, "TBG"]).per_query(RUN)["q"]
    assert {name: given[name] for name in names} == cf.Evaluator(QRELS, names).per_query(RUN)["q"]
    assert given["TBG"] != cf.Evaluator(QRELS, "TBG").per_query(RUN)["q"]["TBG"]


@pytest.mark.parametrize("negative", ["unjudged", "nonrel"])
def test_kept_evaluation_and_files(tmp_path: Path, negative: Any) -> None:
    qrels = {"q": QRELS["q"] | {"y": -1}}
    path = tmp_path / "costs.txt"
    path.write_text("# seconds\n" + "".join(f"q {d} {c}\n" for d, c in COSTS["q"].items()))
    as_json = tmp_path / "costs.json"
    as_json.write_text('{"q": {"a": 9, "b": 0.5, "c": 4, "x": 6}}')
    names = ["TBG(half=3)", "TBG(half=3)[ties=expected]", "nDCG"]
    wanted = cf.evaluate(cf.Collection(qrels, costs=COSTS, negative=negative), RUN, names).to_dict()["runs"]
    for source in (path, as_json):
        assert (
            cf.evaluate(cf.Collection(qrels, costs=source, negative=negative), RUN, names).to_dict()["runs"] == wanted
        )
    kept = cf.Evaluator(cf.Collection(qrels, costs=path, negative=negative), names).evaluation(RUN)
    assert kept.scores.to_dict()["runs"] == wanted
    again = kept.scores_of("TBG(half=3)").to_dict()["runs"]["run"]["TBG(half=3)"]
    assert again == wanted["run"]["TBG(half=3)"]


@pytest.mark.parametrize(
    "costs",
    [{"q": {"a": 0}}, {"q": {"a": -1}}, {"q": {"a": math.nan}}, {"q": {"a": "long"}}, {"q": {"a": True}}, {"q": 1}],
)
def test_costs_are_positive_numbers(costs: Any) -> None:
    with pytest.raises(cf.InputError, match="query `q`"):
        cf.evaluate(cf.Collection(QRELS, costs=costs), RUN, "TBG")


def test_faults_of_files(tmp_path: Path) -> None:
    path = tmp_path / "costs.txt"
    path.write_text("q a\n")
    with pytest.raises(cf.InputError, match="3 columns"):
        cf.evaluate(cf.Collection(QRELS, costs=path), RUN, "TBG")
    path.write_text("q a 1\nq a 2\n")
    with pytest.raises(cf.InputError, match="already has the cost 1"):
        cf.evaluate(cf.Collection(QRELS, costs=path), RUN, "TBG")
    with pytest.raises(UsageError, match="cannot read costs"):
        cf.evaluate(cf.Collection(QRELS, costs=1), RUN, "TBG")
    with pytest.raises(UsageError, match="combined"):
        cf.evaluate(cf.Collection(QRELS, costs=COSTS, nil="none"), RUN, "TBG")


def test_what_costs_leave_unknown() -> None:
    with pytest.raises(cf.MeasureError, match="no bounds"):
        cf.evaluate(cf.Collection(QRELS, costs=COSTS), RUN, "TBG", show="bounds")


def test_budget_is_a_cost() -> None:
    """With k=4 and a cost of 0.5 a reader may look at eight documents, the best orders of whose ties are known."""
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {f"d{i}": 9.0 - i for i in range(5)} | {"a": 1.0, "b": 1.0}}
    names = ["BPMD(T=2, hb=0, hc=0, cost=0.5)@4[ties=best]", "BPMD(T=2, hb=0, hc=0, cost=0.5)@4[ties=worst]"]
    best, worst = cf.Evaluator(qrels, names).values(run)[:, 0]
    assert best == worst == 1 / 8
    stops = [name.replace("T=2", "T=1") for name in names]
    assert cf.Evaluator(qrels, stops).values(run)[:, 0].tolist() == [1 / 6, 1 / 7]
    low, high = cf.evaluate(qrels, run, stops[0].partition("[")[0], show="bounds").values[0, 1:, 0]
    assert low < 1 / 6 < high


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TBG(half=1e-6)", 1.0),
        ("TBG(half=1e6, cost=1e-100)", 0.002),
        ("U(L=1e-6)", 1.0),
        ("U(L=1e6, cost=1e-100)", 2 / 999),
        ("NPV(rate=1e-6)", 0.002),
        ("IFT_C1(T=1e6, R1=1e6)", 0.002),
        ("IFT_C2(A=1e6, R2=1e6)", 1.0),
        ("IFT_C2(cost=1e-100, R2=0)", 1 - 1 / 1.9**2),
        ("BPMD(T=1e6, cost=1e-100)@1", 2 / 7),
    ],
)
@pytest.mark.filterwarnings("error")
def test_extreme_parameters(name: str, expected: float) -> None:
    run = {"q": {"a": 2.0, "b": 1.0}}
    for costs in (None, {"q": {"z": 1.0}}):
        value = cf.Evaluator(cf.Collection({"q": {"a": 1, "b": 1}}, costs=costs), name).values(run)[0, 0]
        assert value == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["TBG(half=1e-320)", "U(L=1e-320)", "NPV(rate=1e-320)"])
def test_parameters_that_overflow(name: str) -> None:
    with pytest.raises(cf.MeasureError, match="must be a number from 1e-06 to 1,000,000, not 1e-320"):
        cf.parse(name)


def test_costs_of_another_collection() -> None:
    with pytest.raises(cf.InputError, match="costs: none of the queries is judged"):
        cf.evaluate(cf.Collection({"q": {"a": 1}}, costs={"other": {"a": 2}}), {"q": {"a": 1.0}}, "TBG")


def test_costs_of_audits_and_comparisons() -> None:
    runs = {"one": {q: {"a": 2.0, "b": 1.0} for q in "12"}, "other": {q: {"b": 2.0, "a": 1.0} for q in "12"}}
    qrels, costs = {"1": {"a": 1}, "2": {"b": 1}}, {"1": {"b": 7.0}, "2": {"a": 3.0}}
    name = "TBG(half=2)"
    expected = cf.evaluate(cf.Collection(qrels, costs=costs), runs, name)
    assert expected._means.tolist() != cf.evaluate(qrels, runs, name)._means.tolist()
    assert cf.audit(cf.Collection(qrels, costs=costs), runs, name).score.tolist() == expected._means.tolist()
    assert (
        cf.compare(cf.Collection(qrels, costs=costs), runs, name, test="t")[name].means.tolist()
        == expected._means[:, 0].tolist()
    )
    assert [note.kind for note in cf.evaluate(cf.Collection(qrels, costs=costs), runs, "RR").notes].count(
        "costs_unused"
    ) == 1


@pytest.mark.parametrize(
    "name", [*NAMES, "IFT_C1(T=1, R1=2, max=3)", "U(L=4.5, max=3)", "TBG(half=2, max=3, per='list')"]
)
@pytest.mark.parametrize("costs", [None, COSTS])
def test_expected_residual_is_the_mean_over_orders(name: str, costs: Any) -> None:
    def residual(name: str, run: dict[str, dict[str, float]]) -> float:
        given = costs and dict.fromkeys(run, costs["q"])
        qrels = dict.fromkeys(run, QRELS["q"])
        return float(cf.evaluate(cf.Collection(qrels, costs=given), run, name, show="residuals")._means[0, 1])

    assert residual(f"{name}[ties=expected]", RUN) == pytest.approx(residual(name, ORDERS), abs=1e-9)


@pytest.mark.parametrize("views", ["", "[ties=expected]", "[depth=3]", "[condensed]"])
@pytest.mark.parametrize("budget", [1, 4, 12, 30])
def test_the_budget_of_bpm_is_a_cost_where_documents_have_costs(budget: int, views: str) -> None:
    """Without moods, the dynamic form is the static one; a ranking below its end goes on at a cost of 1."""
    collection = cf.Collection(QRELS, costs=COSTS)
    names = f"BPM(T=1.5, max=3)@{budget}{views}", f"BPMD(T=1.5, hb=0, hc=0, max=3)@{budget}{views}"
    assert cf.Evaluator(collection, names[0]).values(RUN) == pytest.approx(
        cf.Evaluator(collection, names[1]).values(RUN), abs=1e-12
    )
    residuals = [cf.evaluate(collection, RUN, name, show="residuals")._means[0, 1] for name in names]
    assert residuals[0] == pytest.approx(residuals[1], abs=1e-12)


def test_bpm_stops_at_the_first_document_that_spends_its_budget() -> None:
    qrels, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
    costs = {"q": {"b": 1.0, "a": 2.0, "c": 4.0}}
    expected = {1: 0.0, 2: 1 / 2, 3: 1 / 2, 4: 2 / 3, 7: 2 / 3}
    for budget, value in expected.items():
        found = cf.evaluate(cf.Collection(qrels, costs=costs), run, f"BPM(T=9)@{budget}")
        assert found._means[0, 0] == pytest.approx(value)
        assert "costs_unused" not in [note.kind for note in found.notes]
    # Cheap documents: the reader sees more than k of them.
    cheap = {"q": dict.fromkeys("abc", 0.1)}
    assert cf.evaluate(cf.Collection(qrels, costs=cheap), run, "BPM(T=2)@1")._means[0, 0] == pytest.approx(2 / 3)
