"""Preference judgments and judgments by group: golden values, a plain program beside them, and all orders of ties."""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.evaluation.notes import sentences
from golden_cases import CASES, check

NAMES = [
    *(f"Prefs(by='{by}', count='{count}')" for by in ("all", "group", "pair") for count in ("all", "implied", "retrieved")),
    *("NumPrefs", "NumPrefsMet", "NumPrefsMet(count='retrieved')"),
    *(f"PrefsR(count='{count}', fixed={fixed})" for count in ("all", "retrieved") for fixed in (False, True)),
]  # fmt: skip


def value(scores: cf.Scores, query: str = "q") -> float | None:
    (found,) = scores.to_dict()["runs"]["run"].values()
    return found["queries"][query]


@pytest.mark.parametrize(
    "case", [case for case in CASES if "prefs" in case or "groups" in case], ids=lambda case: case["id"]
)
def test_golden(case: dict[str, Any]) -> None:
    check(case)


# A plain program, one pair at a time.


def closure(lines: list) -> set[tuple[str, str]]:
    pairs = {(a, b) for (_, s, a, x), (_, t, b, y) in itertools.product(lines, repeat=2) if s == t and x > y}
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs |= more
    return pairs


def by_hand(measure: str, ranking: list[str], prefs: list) -> float | None:
    """The score of a ranking without ties."""
    symbol, chosen = cf.parse(measure).symbol, cf.parse(measure).chosen
    place = {document: i for i, document in enumerate(ranking)}
    groups = {name: [line for line in prefs if line[0] == name] for name in sorted({line[0] for line in prefs})}
    wanted = {"all": 0, "implied": 1, "retrieved": 2}[chosen.get("count", "all")]

    def met(a: str, b: str) -> bool:
        return a in place and place[a] < place.get(b, math.inf)

    def counted(pairs: set) -> list:
        return [(a, b) for a, b in pairs if (a in place) + (b in place) >= wanted]

    pairs = {name: closure(lines) for name, lines in groups.items()}
    counts = {name: counted(of) for name, of in pairs.items()}
    total = sum(map(len, counts.values()))
    fulfilled = {name: sum(met(a, b) for a, b in of) for name, of in counts.items()}
    if symbol == "NumPrefs":
        return total
    if symbol == "NumPrefsMet":
        return sum(fulfilled.values())
    if symbol == "PrefsR":
        shares = [
            in_equal_numbers(groups[name], counts[name], place, met, chosen["count"], fixed=chosen["fixed"])
            for name in groups
        ]
        undefined = not total and (chosen["fixed"] or set(shares) <= {None})
        return None if undefined else 0 if None in shares else sum(shares) / len(shares)
    if chosen["by"] == "group":
        if not any(pairs.values()) or (wanted and not any(line[2] in place for line in prefs)):
            return None
        return sum(fulfilled[name] / len(counts[name]) for name in groups if counts[name]) / len(groups)
    if not total:
        return None
    if chosen["by"] == "all":
        return sum(fulfilled.values()) / total
    shares = []
    for a, b in {tuple(sorted(pair)) for of in counts.values() for pair in of}:
        x = sum((a, b) in of for of in pairs.values())
        y = sum((b, a) in of for of in pairs.values())
        shares.append((x * met(a, b) + y * met(b, a)) / (x + y))
    return sum(shares) / len(shares)


def in_equal_numbers(lines: list, pairs: list, place: dict, met: Any, count: str, *, fixed: bool) -> float | None:
    relevant = {line[2] for line in lines if line[3] > 0}
    others = sorted({line[2] for line in lines} - relevant, key=lambda d: (place.get(d, math.inf), d))
    found, others_found = sum(d in place for d in relevant), sum(d in place for d in others)
    rho, nu = (found, others_found) if count == "retrieved" else (len(relevant), len(others))
    single = len({line[1] for line in lines}) == 1
    if rho >= nu:
        top = sum(met(a, b) for a, b in pairs) + found * (rho - nu)
        bottom = len(pairs) + (found if fixed and count == "retrieved" else len(relevant)) * (rho - nu)
    else:
        first = len(relevant) if count == "retrieved" and not single and not fixed else rho
        left = [(a, b) for a, b in pairs if b in relevant or b in others[:first]]
        top, bottom = sum(met(a, b) for a, b in left), len(left)
        if single and not fixed:
            top += sum(min(j, others_found) for j in range(rho))
            bottom += nu * rho
    return top / bottom if bottom else None


def random_preferences(rng: random.Random, documents: int = 6) -> list:
    """Consistent ones: every group has its own order of documents, and shows parts of it in its subgroups."""
    lines = []
    for group in range(rng.randint(1, 3)):
        level = {f"d{i}": rng.randint(0, 3) for i in range(documents + 2)}
        for subgroup in range(rng.choice([1, 1, 2, 3])):
            some = rng.sample(sorted(level), rng.randint(1, 5))
            lines += [[f"g{group}", f"s{subgroup}", d, level[d]] for d in some]
    return lines


def orders(run: dict[str, float]) -> list[list[str]]:
    ties = [sorted(d for d in run if run[d] == score) for score in sorted(set(run.values()), reverse=True)]
    return [[d for tie in order for d in tie] for order in itertools.product(*map(itertools.permutations, ties))]


@pytest.mark.parametrize("part", range(6))
def test_a_plain_program_agrees(part: int) -> None:
    rng = random.Random(part)
    for _ in range(8):
        prefs = random_preferences(rng)
        ranking = rng.sample([f"d{i}" for i in range(10)], rng.randint(1, 9))
        run = {d: -float(i) for i, d in enumerate(ranking)}
        scores = cf.evaluate(cf.Collection(prefs={"q": prefs}), {"q": run}, NAMES).to_dict()["runs"]["run"]
        for name in NAMES:
            assert scores[name]["queries"]["q"] == pytest.approx(by_hand(name, ranking, prefs), abs=1e-12), name


@pytest.mark.parametrize("part", range(6))
def test_ties_are_the_mean_over_all_orders(part: int) -> None:
    rng = random.Random(100 + part)
    for _ in range(4):
        prefs = random_preferences(rng)
        run = {f"d{i}": float(rng.randint(1, 3)) for i in rng.sample(range(9), rng.randint(1, 6))}
        asked = [f"{name}[{view}]" for name in NAMES for view in ("ties=expected", "ties=expected, depth=3")]
        scores = cf.evaluate(cf.Collection(prefs={"q": prefs}), {"q": run}, asked).to_dict()["runs"]["run"]
        for name, view in itertools.product(NAMES, ("ties=expected", "ties=expected, depth=3")):
            rankings = [order[:3] if "depth" in view else order for order in orders(run)]
            values = [by_hand(name, ranking, prefs) for ranking in rankings]
            # Orders for which a measure is undefined count 0 beside others.
            expected = None if set(values) == {None} else sum(x or 0 for x in values) / len(values)
            found = scores[f"{name}[{view}]"]["queries"]["q"]
            assert found == pytest.approx(expected, abs=1e-12), (name, view)


def test_many_ties_are_sampled() -> None:
    prefs = [["g", "s", f"d{i}", int(i < 3)] for i in range(12)]
    run = {f"d{i}": 1.0 for i in range(12)}
    scores = cf.evaluate(cf.Collection(prefs={"q": prefs}), {"q": run}, ["PrefsR[ties=expected]"])
    assert "sample" in "".join(sentences(scores.notes))
    assert 0 < value(scores) < 1
    more = [["g", "s", f"d{i}", int(i < 9)] for i in range(12)]
    scores = cf.evaluate(cf.Collection(prefs={"q": more}), {"q": run}, ["PrefsR[ties=expected]"])
    assert "sample" not in "".join(sentences(scores.notes))
    assert value(scores) == pytest.approx((27 / 2 + 9 * 6) / (27 + 9 * 6))


def test_queries_do_not_depend_on_each_other() -> None:
    rng = random.Random(5)
    prefs = {f"q{i}": random_preferences(rng) for i in range(12)}
    run = {q: {f"d{i}": float(rng.randint(1, 4)) for i in rng.sample(range(9), 6)} for q in [*list(prefs)[1:], "other"]}
    asked = [*NAMES, *(f"{name}[ties=expected]" for name in NAMES), "Prefs[depth=2]", "Prefs[condensed]"]
    together = cf.evaluate(cf.Collection(prefs=prefs), run, asked).to_dict()["runs"]["run"]
    for q in prefs:
        alone = cf.evaluate(cf.Collection(prefs={q: prefs[q]}), {q: run.get(q, {"x": 1.0})}, asked).to_dict()["runs"][
            "run"
        ]
        assert {name: alone[name]["queries"][q] for name in asked} == {
            name: together[name]["queries"][q] for name in asked
        }
    assert together["NumPrefs"]["mean"] == sum(x for x in together["NumPrefs"]["queries"].values())


def test_unjudged_documents_do_not_count() -> None:
    prefs = {"q": [["g", "s", "a", 1], ["g", "s", "b", 0]]}
    plain, long = {"a": 2.0, "b": 1.0}, {"x": 9.0, "a": 2.0, "y": 1.5, "b": 1.0}
    for name in NAMES:
        assert value(cf.evaluate(cf.Collection(prefs=prefs), {"q": plain}, [name])) == value(
            cf.evaluate(cf.Collection(prefs=prefs), {"q": long}, [name])
        )


def test_binary_levels_are_accuracy_of_the_condensed_list() -> None:
    grades = {"a": 1, "b": 0, "c": 1, "d": 0}
    run = {"q": {"b": 4.0, "a": 3.0, "x": 2.5, "c": 2.0, "d": 1.0}}
    prefs = {"q": [["g", "s", d, grade] for d, grade in grades.items()]}
    assert value(cf.evaluate(cf.Collection(prefs=prefs), run, ["Prefs(count='retrieved')"])) == value(
        cf.evaluate({"q": grades}, run, ["Accuracy[condensed]"])
    )


# What is refused.

LINE = ["g", "s", "a", 1]
WRONG: list[tuple[Any, str]] = [
    ({"q": [LINE, ["g", "s", "a", 2]]}, "two levels, 1 and 2, in one subgroup"),
    ({"q": [LINE, ["g", "t", "a", 0]]}, "level 0 in one subgroup of group `g`"),
    ({"q": [["g", "s", "a", 2], ["g", "s", "b", 1], ["g", "t", "b", 2], ["g", "t", "a", 1]]}, "form a cycle"),
    ({"q": [["g", "s", "a", -1]]}, "the level is negative: -1"),
    ({"q": [["g", "s", "a", "high"]]}, 'not a finite number: "high"'),
    ({"q": [["g", "a", 1]]}, "row 1: expected [group, subgroup, document, level]"),
]


@pytest.mark.parametrize(("prefs", "message"), WRONG)
def test_preferences_that_are_wrong(prefs: Any, message: str) -> None:
    with pytest.raises(cf.InputError) as caught:
        cf.evaluate(cf.Collection(prefs=prefs), {"q": {"a": 1.0}}, ["Prefs"])
    assert message in str(caught.value)


def test_judgments_and_measures_that_do_not_match() -> None:
    run, qrels, prefs, groups = {"q": {"a": 1.0}}, {"q": {"a": 1}}, {"q": [LINE]}, {"q": {"g": {"a": 1}}}
    for measure, given, message in (
        ("Prefs", {"qrels": qrels}, "needs preferences"),
        ("AP", {"qrels": None, "prefs": prefs}, "needs judgments by grade"),
        ("AP[groups]", {"qrels": qrels}, "needs judgments by group"),
        ("AP", {"qrels": None, "groups": groups}, "needs judgments without groups"),
        ("AP", {"qrels": qrels, "prefs": prefs}, "exclude each other"),
        ("AP[groups]", {"qrels": None, "groups": groups, "nil": "NIL"}, "cannot be combined"),
        ("AP[groups]", {"qrels": None, "groups": {}}, "no judgment"),
        ("AP[groups]", {"qrels": None, "groups": {"q": {"a": 1}}}, "group `a`: expected {document: grade}"),
    ):
        with pytest.raises(cf.CranfieldError) as caught:
            cf.evaluate(cf.Collection(**given), run, [measure])
        assert message in str(caught.value), measure
    with pytest.raises(cf.MeasureError, match="no bounds"):
        cf.evaluate(cf.Collection(prefs=prefs), run, "Prefs", show="bounds")
    with pytest.raises(cf.MeasureError, match="needs preferences"):
        cf.parse("Prefs")([1, 0])


def test_files(tmp_path: Path) -> None:
    run = {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
    text = tmp_path / "prefs.txt"
    text.write_text("# preferences\nq g s a 2\nq g s b 1\n\nq g t c 0.5\nq g t a 2\n")
    rows = [["g", "s", "a", 2], ["g", "s", "b", 1], ["g", "t", "c", 0.5], ["g", "t", "a", 2]]
    (tmp_path / "prefs.json").write_text(json.dumps({"q": rows}))
    expected = value(cf.evaluate(cf.Collection(prefs={"q": rows}), run, ["Prefs"]))
    assert expected == 0.5
    for file in (text, tmp_path / "prefs.json"):
        assert value(cf.evaluate(cf.Collection(prefs=file), run, ["Prefs"])) == expected
    text.write_text("q g s a 2\nq g a 1\n")
    with pytest.raises(cf.InputError, match=r"prefs.txt:2: expected 5 columns"):
        cf.evaluate(cf.Collection(prefs=text), run, ["Prefs"])
    grouped = tmp_path / "groups.txt"
    grouped.write_text("q one a 1\nq two b 2\nq two a 0\nq two a 0\n")
    assert value(cf.evaluate(cf.Collection(groups=grouped), run, ["RR[groups]"])) == 0.75
    grouped.write_text("q one a 1\nq one a 2\n")
    with pytest.raises(cf.InputError, match="already has grade 1"):
        cf.evaluate(cf.Collection(groups=grouped), run, ["RR[groups]"])


# Groups.


@pytest.mark.parametrize(
    "name", ["AP", "P@3", "nDCG@5", "RBP(p=0.5)", "bpref", "RR[ties=expected]", "ERR@4[condensed]"]
)
def test_groups_are_the_mean_of_the_plain_measure(name: str) -> None:
    rng = random.Random(3)
    documents = [f"d{i}" for i in range(12)]
    groups = {
        f"q{q}": {
            f"g{g}": {d: rng.choice([-1, 0, 1, 2, 3]) for d in rng.sample(documents, 8)} for g in range(1 + q % 3)
        }
        for q in range(8)
    }
    groups["q0"]["g0"]["top"] = 3
    run = {q: {d: float(rng.randint(1, 5)) for d in rng.sample(documents, 9)} for q in groups}
    grouped = f"{name[:-1]}, groups]" if name.endswith("]") else f"{name}[groups]"
    found = cf.evaluate(cf.Collection(groups=groups), run, [grouped]).to_dict()["runs"]["run"][grouped]["queries"]
    for query, judged in groups.items():
        values = []
        for grades in judged.values():
            # The top grade is that of the collection.
            qrels = {query: grades, "top": {"x": 3}}
            scores = cf.evaluate(qrels, {query: run[query]}, [name], undefined="zero")
            values.append(scores.to_dict()["runs"]["run"][name]["queries"][query] or 0)
        assert found[query] == pytest.approx(sum(values) / len(values), abs=1e-12)


def test_groups_of_an_evaluator() -> None:
    groups = {"q": {"x": {"a": 1}, "y": {"b": 1}}, "r": {"x": {"a": 0}}}
    evaluator = cf.Evaluator(cf.Collection(groups=groups), ["AP[groups]", "RR[groups]"])
    run = {"q": {"a": 2.0, "b": 1.0}, "r": {"a": 1.0}}
    assert evaluator.per_query(run) == {
        "q": {"AP[groups]": 0.75, "RR[groups]": 0.75},
        "r": {"AP[groups]": 0.0, "RR[groups]": 0.0},
    }
    assert evaluator.means(run) == {"AP[groups]": 0.375, "RR[groups]": 0.375}
    assert "AP[groups] is undefined in 1 group of 1 query (r); counted as 0" in "\n".join(
        sentences(evaluator(run).notes)
    )
    several = evaluator({"one": run, "two": {"q": {"b": 1.0}}}).to_dict()["runs"]
    assert several["two"]["AP[groups]"]["queries"] == {"q": 0.5, "r": 0.0}
    assert evaluator.evaluation(run).scores._means.tolist() == [[0.375, 0.375]]
    assert str(cf.parse("AP[groups, condensed]")) == "AP[condensed, groups]"
