"""Golden cases of `cranfield.measures.items`, and means of attributes over all orders of ties."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cranfield as cf

ITEMS = {"a": {"price": 4.0}, "b": {"price": -8.0}, "c": {"price": 30.0}, "d": {"price": 0.0}, "e": {"price": 30.5}}
NAME = "DocMean(of='price')"


def value_of(run: dict[str, float], name: str, items: Any = ITEMS, **views: Any) -> float | None:
    collection = cf.Collection({"q": {"a": 1, "b": 0, "x": 1}}, items=items)
    return cf.evaluate(collection, {"q": run}, name, **views).to_dict()["runs"]["run"][name]["queries"]["q"]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "views",
    [{}, {"depth": 1}, {"depth": 3}, {"condensed": True}, {"condensed": True, "depth": 2}],
    ids=str,
)
def test_ties_by_enumeration(seed: int, views: dict[str, Any]) -> None:
    rng = np.random.default_rng(seed)
    run = {str(d): float(rng.integers(1, 3)) for d in rng.permutation(list("abcde"))[: rng.integers(0, 6)]}
    orders = [o for o in itertools.permutations(run) if all(run[x] >= run[y] for x, y in itertools.pairwise(o))]
    for name in (f"{NAME}@1", f"{NAME}@2", f"{NAME}@9", NAME):
        values = []
        for order in orders:
            shown = list(order)[: views.get("depth")]
            shown = [d for d in shown if d in "ab"] if views.get("condensed") else shown
            shown = shown[: int(name.partition("@")[2] or 9)]
            values.append(np.mean([ITEMS[d]["price"] for d in shown]) if shown else None)
        defined = [value for value in values if value is not None]
        counted = [0.0 if value is None else value for value in values]
        for ties, take in (("expected", np.mean), ("best", max), ("worst", min)):
            found = value_of(run, name, ties=ties, **views)
            assert (found is None) == (not defined), (name, ties)
            assert found is None or found == pytest.approx(take(counted), abs=1e-12), (name, ties, run)


def test_a_document_without_the_attribute_is_counted() -> None:
    items = {"a": {"price": 4.0}, "b": {"group": "x"}}
    run = {"a": 3.0, "b": 2.0, "z": 1.0}
    with pytest.raises(cf.InputError) as caught:
        value_of(run, f"{NAME}@9", items)
    assert str(caught.value) == (
        "run: 2 documents without the attribute `price` (b, z)\n\n"
        "hint: add to the items, or give a value: DocMean(of='price', missing=0)"
    )
    assert value_of(run, f"{NAME}@1", items) == 4.0
    assert value_of(run, "DocMean(of='price', missing=1)@9", items) == 2.0
    assert value_of(run, "DocMean(of=price, missing=1)@9", items) == 2.0


def test_no_judgments_are_needed() -> None:
    run = {"p": {"a": 1.0}, "q": {"a": 2.0, "c": 1.0}, "empty": {}}
    scores = cf.evaluate(cf.Collection(items=ITEMS), run, [f"{NAME}@2", "Answered"])
    assert scores.means["run"] == {f"{NAME}@2": 10.5, "Answered": pytest.approx(2 / 3)}
    with pytest.raises(cf.MeasureError, match=r"nDCG@2 needs judgments, and the collection has none"):
        cf.evaluate(cf.Collection(items=ITEMS), run, "nDCG@2")


def test_what_is_missing_is_said() -> None:
    run = {"q": {"a": 1.0}}
    with pytest.raises(cf.MeasureError, match="needs the parameter `of`"):
        cf.parse("DocMean@10")
    with pytest.raises(cf.MeasureError, match="needs attributes of documents"):
        cf.evaluate({"q": {"a": 1}}, run, NAME)
    with pytest.raises(cf.InputError, match="items: no attribute `prize`"):
        cf.evaluate(cf.Collection(items=ITEMS), run, "DocMean(of='prize')")
    with pytest.raises(cf.InputError, match='the price of document `a` is not a finite number: "free"'):
        cf.evaluate(cf.Collection(items={"a": {"price": "free"}}), run, NAME)


def test_attributes_may_be_a_table(tmp_path: Any) -> None:
    path = tmp_path / "items.csv"
    path.write_text("item_id,price,group\na,4,x\nc,30,y\n")
    assert value_of({"a": 2.0, "c": 1.0}, f"{NAME}@2", str(path)) == 17.0
    path.write_text("item_id,price\na,4\na,5\n")
    with pytest.raises(cf.InputError, match=r"items.csv:3: document `a` appears twice"):
        value_of({"a": 2.0}, NAME, str(path))


def test_compared_and_audited() -> None:
    runs = {"x": {"p": {"a": 1.0, "c": 1.0}, "q": {"a": 2.0}}, "y": {"p": {"c": 2.0}, "q": {"e": 2.0}}}
    collection = cf.Collection({"p": {"a": 1}, "q": {"e": 1}}, items=ITEMS)
    name = f"{NAME}@1"
    assert cf.compare(collection, runs, name, baseline="x", test="t")[name].pairs[0].difference == 30.25 - 17
    assert cf.audit(collection, runs, name).score[0, 0] == pytest.approx(17.0)


def test_the_digest_covers_items() -> None:
    run = {"q": {"a": 1.0}}
    depends = [
        cf.evaluate(cf.Collection({"q": {"a": 1}}, items=items), run, NAME).provenance.depends
        for items in (ITEMS, ITEMS, {"a": {"price": 5}})
    ]
    assert depends[0] == depends[1] != depends[2]
