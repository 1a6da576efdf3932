"""What is shown: golden cases, all orders of ties by hand, every form of a run, and differences with intervals."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.io import runs
from golden_cases import golden


@pytest.mark.parametrize("case", golden("exposure"), ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    found = cf.exposure({"r": case["run"]}, k=case["k"], items=case["items"], by="group")["r"]
    expected, tol = case["expected"], case["tol"]
    assert found.coverage == pytest.approx(expected["coverage"], abs=tol)
    assert found.gini == pytest.approx(expected["gini"], abs=tol)
    assert found.shares == pytest.approx(expected["shares"], abs=tol)
    assert found.exposure == pytest.approx(expected["exposure"], abs=tol)


def orders(ranking: dict[str, float]) -> list[tuple[str, ...]]:
    every = itertools.permutations(ranking)
    return [order for order in every if all(ranking[a] >= ranking[b] for a, b in itertools.pairwise(order))]


@pytest.mark.parametrize("seed", range(20))
def test_expectations_over_all_orders(seed: int) -> None:
    rng = np.random.default_rng(seed)
    documents = list("abcde")
    run = {
        f"q{i}": {str(d): float(rng.integers(1, 3)) for d in rng.permutation(documents)[: rng.integers(0, 5)]}
        for i in range(3)
    }
    k = int(rng.integers(1, 4))
    found = cf.exposure(run, k=k, items={d: {} for d in documents})["run"]
    coverage, shown = [], []
    for chosen in itertools.product(*(orders(ranking) for ranking in run.values())):
        tops = [set(order[:k]) for order in chosen]
        coverage.append(len(set().union(*tops)) / len(documents))
        shown.append([sum(d in top for top in tops) for d in documents])
    assert found.coverage == pytest.approx(np.mean(coverage), abs=1e-12)
    assert list(found.exposure.values()) == pytest.approx(np.mean(shown, axis=0), abs=1e-12)


def random_run(seed: int, queries: int = 40) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {
        f"user{q}": {f"d{d}": float(rng.integers(0, 6)) for d in rng.permutation(30)[: rng.integers(1, 20)]}
        for q in range(queries)
    }


ITEMS = {f"d{d}": {"group": "new" if d % 3 else "old"} for d in range(30)}


def lines_of(run: dict[str, dict[str, float]]) -> list[str]:
    return [f"{q} Q0 {d} 0 {score} tag\n" for q, ranking in run.items() for d, score in ranking.items()]


@pytest.mark.parametrize("form", ["text", "small blocks", "interleaved", "csv", "small dicts", "gzip", "list"])
def test_every_form_of_a_run_shows_the_same(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, source = random_run(1), tmp_path / "run.txt"
    expected = cf.exposure(run, k=5, items=ITEMS, by="group")["run"]
    lines: Any = lines_of(run)
    given: Any = str(source)
    if form == "interleaved":
        lines = list(np.random.default_rng(0).permutation(lines))
    source.write_text("# a comment\n" + "".join(lines) + "\n\n")
    if form in ("small blocks", "interleaved"):
        monkeypatch.setattr(runs, "BLOCK", 700)
    elif form == "small dicts":
        monkeypatch.setattr(runs, "QUERIES", 3)
        given = run
    elif form == "csv":
        given = tmp_path / "run.csv"
        rows = [line.split() for line in lines]
        given.write_text("query,document,score\n" + "".join(f"{row[0]},{row[2]},{row[4]}\n" for row in rows))
    elif form == "gzip":
        import gzip

        given = tmp_path / "run.gz"
        given.write_bytes(gzip.compress(source.read_bytes()))
    elif form == "list":
        given = cf.read_run(run)
    found = cf.exposure({"run": given}, k=5, items=ITEMS, by="group")["run"]
    assert found.coverage == pytest.approx(expected.coverage, abs=1e-12)
    assert found.totals == pytest.approx(expected.totals, abs=1e-12)
    assert found.shares == pytest.approx(expected.shares, abs=1e-12)
    assert found.tied_queries == expected.tied_queries > 0


def test_faults_have_the_lines_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "BLOCK", 300)
    path = tmp_path / "run.txt"
    lines = lines_of(random_run(2))
    lines[100] = lines[100].replace(" tag", "")
    path.write_text("".join(lines))
    with pytest.raises(cf.InputError, match=r"run.txt:101: expected 6 columns"):
        cf.exposure(str(path))


def test_runs_are_compared_for_the_same_queries() -> None:
    first, second = random_run(3), random_run(4)
    del first["user0"], second["user1"], second["user2"]
    both = {"first": first, "second": second}
    common = {name: {q: run[q] for q in run if q in first and q in second} for name, run in both.items()}
    found, expected = (cf.exposure(runs, k=3, items=ITEMS, by="group") for runs in (both, common))
    assert (found.queries, found.left_out, expected.left_out) == (37, 3, 0)
    for name in both:
        assert found[name].coverage == expected[name].coverage
    assert [d.low for d in found.differences] == pytest.approx([d.low for d in expected.differences])
    assert "3 queries that not all runs have are left out" in str(found)
    with pytest.raises(cf.InputError, match="the runs have no query in common"):
        cf.exposure({"x": {"p": {"a": 1.0}}, "y": {"q": {"a": 1.0}}})


def test_without_items_the_catalogue_is_what_is_shown() -> None:
    runs = {"x": {"q": ["a", "b", "z"]}, "y": {"q": ["a", "c", "z"]}}
    found = cf.exposure(runs, k=2)
    assert found.documents == 3
    assert found["x"].coverage == pytest.approx(2 / 3)
    assert found["y"].exposure == {"a": 1.0, "b": 0.0, "c": 1.0}
    assert cf.exposure({"x": runs["x"]}, k=2).documents == 2


def test_a_document_outside_the_catalogue_is_an_error() -> None:
    with pytest.raises(cf.InputError) as caught:
        cf.exposure({"q": {"a": 2.0, "x": 1.0, "y": 0.5}}, k=2, items={"a": {}})
    assert str(caught.value) == (
        "items: runs show 1 document not among the items, such as `x`\n\n"
        "hint: items are the whole catalogue; add these documents"
    )


def test_differences_of_shares_are_those_of_means_where_lists_are_equally_long() -> None:
    rng = np.random.default_rng(5)
    runs = {name: {f"q{q}": [f"d{d}" for d in rng.permutation(30)[:10]] for q in range(50)} for name in ("base", "new")}
    items = {d: {**about, "is_new": float(about["group"] == "new")} for d, about in ITEMS.items()}
    found = cf.exposure(runs, k=10, items=items, by="group")
    difference = {d.group: d for d in found.differences}["new"]
    name = "DocMean(of='is_new')@10"
    pair = cf.compare(cf.Collection(items=items), runs, name, baseline="base", test="t")[name].pairs[0]
    assert (difference.run, difference.other) == (pair.run, pair.other) == ("new", "base")
    assert difference.difference == pytest.approx(pair.difference)
    assert (difference.low, difference.high) == pytest.approx((pair.low, pair.high))


def test_intervals_of_shares_cover() -> None:
    """Lists of different lengths, which the share of a group depends on; 400 samples of 60 users."""
    rng = np.random.default_rng(6)
    chance = {"base": (0.5, 0.2), "new": (0.6, 0.3)}
    lengths = np.array([2, 8])

    def draw(queries: int) -> dict[str, Any]:
        kind = rng.integers(0, 2, queries)
        return {
            run: {
                f"q{q}": [f"{'n' if rng.random() < p[kind[q]] else 'o'}{d}" for d in range(lengths[kind[q]])]
                for q in range(queries)
            }
            for run, p in chance.items()
        }

    items = {f"{group}{d}": {"group": group} for group in "no" for d in range(8)}
    share = {run: (2 * p[0] + 8 * p[1]) / 10 for run, p in chance.items()}
    true, covered = share["new"] - share["base"], 0
    for _ in range(400):
        found = cf.exposure(draw(60), k=10, items=items, by="group")
        difference = next(d for d in found.differences if d.group == "n")
        covered += difference.low <= true <= difference.high
    assert 0.92 <= covered / 400 <= 0.98


def test_an_evaluation_shows_the_same() -> None:
    from cranfield.analysis.exposure import exposure_of

    runs = {"x": random_run(7), "y": random_run(8)}
    qrels = {"user0": {"d1": 1}, "user5": {"d2": 1}, "nobody": {"d3": 1}}
    evaluation = cf.Evaluator(cf.Collection(qrels, items=ITEMS), "AP").evaluation(runs, page=20)
    found, expected = exposure_of(evaluation, 4, "group"), cf.exposure(runs, 4, ITEMS, "group")
    assert found.to_dict() == expected.to_dict()


def test_what_cannot_be_shown() -> None:
    run = {"q": {"a": 1.0}}
    with pytest.raises(cf.CranfieldError, match="k must be"):
        cf.exposure(run, k=0)
    with pytest.raises(cf.CranfieldError, match="the groups of `group` need items"):
        cf.exposure(run, by="group")
    with pytest.raises(cf.InputError, match="items: no attribute `grop`"):
        cf.exposure(run, items={"a": {"group": "x"}}, by="grop")
    with pytest.raises(cf.CranfieldError, match="the baseline `z` is not one of the runs"):
        cf.exposure({"x": run}, baseline="z")
    nothing = cf.exposure({"q": {}}, items={"a": {"group": "x"}}, by="group")["run"]
    assert (nothing.coverage, str(nothing.gini), str(nothing.shares["x"])) == (0.0, "nan", "nan")


def test_without_a_spread_a_difference_of_shares_has_no_interval() -> None:
    """One query that shows something says nothing about others; nor do queries that all differ by the same."""
    items = {"x": {"g": "1"}, "y": {"g": "2"}}
    lists = {"a": {"q": ["x"], "r": ["x"]}, "b": {"q": ["y"], "r": ["y"]}, "same": {"q": ["x"], "r": ["x"]}}
    found = cf.exposure(lists, k=1, items=items, by="g")
    other, *_, same = found.differences
    assert other.difference == -1 and np.isnan([other.low, other.high]).all()
    assert (same.difference, same.low, same.high) == (0, 0, 0)
    assert "no interval for b: there is no spread between queries" in str(found)


@pytest.mark.parametrize("size", range(3, 8))
def test_rounding_errors_are_no_spread(size: int) -> None:
    def run(shown: int) -> dict[str, dict[str, float]]:
        names = [*(f"x{i}" for i in range(shown)), *(f"y{i}" for i in range(size - shown))]
        return {f"q{i}": dict.fromkeys(names, 1.0) for i in range(8)}

    items = {f"{group}{i}": {"group": group} for group in "xy" for i in range(size)}
    for k in range(1, size):
        for other in range(2, size):
            found = cf.exposure({"a": run(1), "b": run(other)}, k=k, items=items, by="group")
            assert np.isnan([[d.low, d.high] for d in found.differences]).all()
