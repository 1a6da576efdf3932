"""Tables and their sums: native and plain agree to the last bit, and neither reads beyond an array."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield import native as core
from cranfield.native import plain as _plain

pytestmark = pytest.mark.skipif(not core.NATIVE, reason="there is no native core")

WIDTHS = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 120, 128, 129, 136, 300]


def drawn(width: int, order: str = "C") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gains, positions and weights."""
    rng = np.random.default_rng(width)
    gain = rng.random((40, width)) * 10.0 ** rng.integers(-6, 6, (40, width))
    start = np.sort(rng.integers(0, 500, (40, width)), axis=1)
    return np.array(gain, order=order), np.array(start, order=order), rng.random(502)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("width", WIDTHS)
def test_sums(width: int, order: str) -> None:
    gain, start, weights = drawn(width, order)
    np.testing.assert_array_equal(core.row_sums(gain), _plain.row_sums(gain))
    for k in (-1, 0, 1, 100, 10_000):
        for name in ("weighted_sums", "cumulated_sums"):
            native, plain = (getattr(module, name)(gain, start, weights, k) for module in (core, _plain))
            np.testing.assert_array_equal(native, plain, err_msg=f"{name}, k={k}")


@pytest.mark.parametrize("width", WIDTHS)
def test_running_sums(width: int) -> None:
    rng = np.random.default_rng(width)
    floats = rng.random((7, width)) * 10.0 ** rng.integers(-6, 6, (7, width))
    floats[0] = -0.0
    views = floats, floats[:, ::-1], np.asfortranarray(floats), floats[::2], floats[:0], np.tile(floats, (3, 1))
    for view in (*views, np.broadcast_to(floats[:1], floats.shape)):
        native, plain = (module.running_sums(view) for module in (core, _plain))
        assert native.shape == plain.shape
        assert native.tobytes() == plain.tobytes()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("width", WIDTHS)
def test_preference_sums(width: int, order: str) -> None:
    rng = np.random.default_rng(width)
    grade = rng.choice([np.nan, -1.0, 0.0, 0.0, 1.0, 2.0], (40, width))
    gain = np.where(grade > 0, rng.random((40, width)), 0)
    limit, pairs = rng.integers(0, 20, (2, 40)).astype(float)
    tables = [np.array(table, order=order) for table in (gain, grade)]
    native, plain = (module.preference_sums(*tables, limit, pairs) for module in (core, _plain))
    np.testing.assert_array_equal(native, plain)
    for wrong in (limit[1:], limit[:0]):
        with pytest.raises(ValueError, match="every row a limit"):
            core.preference_sums(*tables, wrong, pairs)


def test_ranks_beyond_the_weights() -> None:
    gain, start, weights = drawn(5)
    for module in (core, _plain):
        for name in ("weighted_sums", "cumulated_sums"):
            with pytest.raises(IndexError):
                getattr(module, name)(gain, start, weights[:100], -1)
            # Below the cutoff no weight is looked up.
            assert getattr(module, name)(gain, start, weights[:101], 100).shape == (40,)


@pytest.mark.parametrize("most", [0, 1, 3, 8, 9, 30, 200])
@pytest.mark.parametrize("keep", [None, 0.0, 0.3, 1.0])
def test_tables(most: int, keep: float | None) -> None:
    rng = np.random.default_rng(most)
    counts = rng.integers(0, most + 1, 25)
    row = np.repeat(np.arange(25), counts)
    document = rng.permutation(len(row) + 10)[: len(row)]
    grade, start = rng.random(len(row) + 10), rng.integers(0, 1000, len(row))
    kept = None if keep is None else (rng.random(len(grade)) < keep).view(np.uint8)
    native, plain = (module.tabulate(row, document, start, kept, grade, 25) for module in (core, _plain))
    assert native[2] == plain[2]
    for a, b in zip(native, plain, strict=True):
        np.testing.assert_array_equal(a, b)
    assert native[3].flags.f_contiguous == plain[3].flags.f_contiguous


def test_rows_and_documents_that_do_not_exist() -> None:
    one, grade = np.array([0]), np.array([1.0])
    for row, document in ((np.array([5]), one), (np.array([-1]), one), (one, np.array([9])), (one, np.array([-1]))):
        with pytest.raises(IndexError):
            core.tabulate(row, document, one, None, grade, 1)
    with pytest.raises(IndexError):
        core.tabulate(one, np.array([9]), one, np.array([1], np.uint8), grade, 1)
    with pytest.raises(IndexError, match="out of order"):
        core.tabulate(np.array([1, 0]), *[np.array([0, 0])] * 2, None, grade, 2)
    with pytest.raises(ValueError, match="equally long"):
        core.tabulate(one, np.array([0, 0]), one, None, grade, 1)
    with pytest.raises(ValueError, match="one shape"):
        core.weighted_sums(np.ones((2, 2)), np.ones((2, 3), np.int64), grade, -1)


@pytest.mark.parametrize("systems", [2, 5])
@pytest.mark.parametrize("samples", [1, 7, 600, 1500])
def test_differences_over_resamples(systems: int, samples: int) -> None:
    rng = np.random.default_rng(samples)
    table = np.round(rng.normal(size=(systems, samples)), 2)  # so that some are equal
    first, second = (np.ascontiguousarray(side) for side in np.triu_indices(systems, 1))
    limit = np.round(rng.random(len(first)), 2)
    limits = np.stack([limit - 1, limit], axis=1)
    ranks = rng.integers(0, samples, (len(first), 4))
    ranks[:, 2:] = 0, samples - 1
    for name, given in (("differences_at_least", limit), ("differences_below", limits), ("ranked_differences", ranks)):
        native, plain = (getattr(module, name)(table, first, second, given) for module in (core, _plain))
        np.testing.assert_array_equal(native, plain, err_msg=name)
        assert getattr(core, name)(table, first[:0], second[:0], given[:0]).shape[:1] == (0,)


def test_ranked_differences_where_a_sample_of_them_misleads() -> None:
    table = np.zeros((2, 5000))
    table[0] = np.random.default_rng(1).random(5000)
    table[0, ::32] -= 5  # the lowest are where the sample is taken
    ranks = np.array([[0, 10, 100, 156, 157, 1000, 4000]])
    pair = np.array([0]), np.array([1])
    for sign in (1, -1):
        native, plain = (module.ranked_differences(sign * table, *pair, ranks) for module in (core, _plain))
        np.testing.assert_array_equal(native, plain)


def test_pairs_and_ranks_that_do_not_exist() -> None:
    table, one = np.zeros((2, 3)), np.array([0])
    for first, ranks in ((np.array([2]), [[0]]), (np.array([-1]), [[0]]), (one, [[3]]), (one, [[-1]])):
        with pytest.raises(IndexError):
            core.ranked_differences(table, first, np.array([1]), np.array(ranks))
    with pytest.raises(ValueError, match="a limit"):
        core.differences_at_least(table, one, one, np.zeros(2))


def test_nested_values() -> None:
    values = np.array([[0.5, np.nan, 1.0], [0.25, -0.0, np.inf]])
    for table in (values, np.asfortranarray(values), values[:, :0]):
        rows = ("q1", "q2", "q3")[: table.shape[1]]
        native, plain = (module.nest(rows, ("AP", "P@5"), table) for module in (core, _plain))
        assert repr(native) == repr(plain)
        assert list(native) == list(rows)
    assert core.nest(("q",), ("a", "a"), np.array([[1.0], [2.0]])) == {"q": {"a": 2.0}}
    with pytest.raises(ValueError, match="a value for each"):
        core.nest(("q1",), ("AP",), values)
    with pytest.raises(TypeError):  # a name that cannot be hashed
        core.nest(([],), ("AP",), values[:1, :1])
