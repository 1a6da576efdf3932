"""Golden cases of `cranfield.measures.precision`."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf


@pytest.mark.parametrize("negative", ["unjudged", "nonrel"])
def test_fall_out_counts_documents_judged_as_not_relevant(negative: str) -> None:
    """2 of 4, or with the pooled document `e` 3 of 5, are retrieved; `x` is unjudged."""
    collection = cf.Collection({"q": {"a": 1, "b": 0, "c": 0, "d": 0, "f": 0, "e": -1}}, negative=negative)
    run = {"q": {"x": 6.0, "b": 5.0, "a": 4.0, "c": 3.0, "e": 2.0}}
    expected = {"FallOut": 2 / 4, "FallOut@2": 1 / 4, "FallOut(rel=2)": 3 / 5, "fall-out@3": 1 / 4, "fallout": 2 / 4}
    if negative == "nonrel":
        expected = {
            "FallOut": 3 / 5,
            "FallOut@2": 1 / 5,
            "FallOut(rel=2)": 4 / 6,
            "fall-out@3": 1 / 5,
            "fallout": 3 / 5,
        }
    for name, value in expected.items():
        assert cf.evaluate(collection, run, name)._means[0, 0] == pytest.approx(value)
    tied = {"q": dict.fromkeys("bax", 1.0)}
    assert cf.evaluate(collection, tied, "FallOut@1[ties=expected]")._means[0, 0] == pytest.approx(
        1 / 3 / (4 if negative == "unjudged" else 5)
    )


def test_fall_out_is_undefined_without_documents_judged_as_not_relevant() -> None:
    assert np.isnan(cf.evaluate({"q": {"a": 1}}, {"q": {"x": 1.0}}, "FallOut")._means[0, 0])
