"""Scores and choices do not depend on the processor: nothing goes through BLAS or LAPACK whose bits do."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield
from cranfield.statistics.rounding import addable, solve

SOURCES = Path(cranfield.__file__).parent
# Functions of NumPy that call BLAS or LAPACK. `einsum` has loops of its own, unless it is told to optimise.
PRODUCTS = {"dot", "vdot", "inner", "matmul", "vecdot", "matvec", "vecmat", "tensordot", "linalg"}
PRODUCTS |= {"chebinterpolate", "chebfit", "polyfit", "convolve", "correlate", "corrcoef", "cov"}
# Where products of matrices are allowed, and why their bits are the same everywhere.
ALLOWED = {
    "corpus/judged.py: nearness": "sparse matrices, whose products SciPy computes itself",
    "corpus/judged.py: _chunk": "sparse matrices",
    "io/side_tables.py: _closed": "whole numbers",
    "ranking/subtopics.py: _exact": "whole numbers",
    "statistics/design.py: resampled_means": "addable numbers, and whole ones",
    "statistics/intervals.py: subset_means": "addable numbers",
    "statistics/resampling.py: _product": "addable numbers",
    "statistics/resampling.py: wilcoxon": "halves of whole numbers",
    "tensors/embeddings.py: _product": "the scores of the system that is evaluated",
}


def products(path: Path) -> set[str]:
    """The functions of a module that multiply matrices."""
    found = set()

    def visit(node: ast.AST, function: str) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node.name
        operator = isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult)
        if operator or (isinstance(node, ast.Attribute) and node.attr in PRODUCTS):
            found.add(f"{path.relative_to(SOURCES).as_posix()}: {function}")
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(ast.parse(path.read_text(encoding="utf-8")), "module")
    return found


def test_products_of_matrices_are_where_their_bits_are_the_same_everywhere() -> None:
    assert {place for path in SOURCES.rglob("*.py") for place in products(path)} - set(ALLOWED) == set()


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_sums_of_addable_numbers_are_exact_in_any_order(values: list[float], rng: object) -> None:
    row = addable(np.array([values]), len(values))[0].tolist()
    rng.shuffle(row)  # type: ignore[attr-defined]
    assert Fraction(sum(row)) == sum(map(Fraction, row))
    largest = max(map(abs, values))
    assert np.allclose(sorted(row), sorted(values), rtol=0, atol=2 * len(values) * largest * 2.0**-53)


def test_addable_numbers_keep_zeros_and_extremes() -> None:
    assert addable(np.zeros((2, 3)), 3).tolist() == [[0, 0, 0]] * 2
    assert addable(np.empty((2, 0)), 0).shape == (2, 0)
    for size in (2.0**-1000, 5e-324, 2.0**1000, 2.0**1023):
        assert addable(np.array([[size, 0.0, -size]]), 3).tolist() == [[size, 0, -size]]


def test_a_small_system_is_solved() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 4, 7):
        matrix, values = rng.normal(size=(size, size)), rng.normal(size=size)
        assert solve(matrix.tolist(), values.tolist()) == pytest.approx(np.linalg.solve(matrix, values), rel=1e-9)
    assert solve([[0, 1], [2, 0]], [3, 4]) == [2, 3]
    assert solve([[1, 2], [2, 4]], [1, 1]) is None
    assert solve([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.4, 0.4, 0.4]], [1, 1, 1]) is None


ILLEGAL_INSTRUCTION = -4
PROGRAM = """
import numpy as np
import cranfield as cf
from cranfield import example
from cranfield.lab.studies.stopping import RankedLists
from cranfield.ranking.subtopics import _exact, _greedy
from cranfield.statistics import agreement, correlation, design, intervals, resampling

rng = np.random.default_rng(3)
x, about, weight = rng.random((9, 203)) ** 2, (rng.random((10, 7)) < 0.4) * 1.0, rng.random(7)
sample, pairs = design.Sample(x), np.array([[0, 1], [0, 2], [3, 4]])
found = [
    intervals.bca(sample, pairs),
    intervals.subset_means(x, pairs),
    sample.bootstrap(pairs, 500, 1),
    intervals.effect_of_error(sample.error(pairs), np.full(3, 0.2)),
    resampling.bootstrap(x, resampling.draw_queries(203, 500)).required,
    resampling.randomisation(x, resampling.draw_signs(203, 500)).required,
    _greedy(about, weight, 0.3),
    _exact(about, weight, 0.3, 1 / np.arange(1, 8)),
    agreement.kappa_interval(rng.integers(0, 50, (6, 6)), np.abs(np.arange(6)[:, None] - np.arange(6)) * 1.0),
    agreement.favour(x, x**1.1, np.arange(9) < 3),
    correlation.rbo(rng.permutation(60).tolist(), rng.permutation(60).tolist()),
    correlation.critical_tau(12),
]
length, relevant = np.full(203, 5), rng.integers(0, 30, 203)
lists = RankedLists(None, x.ravel()[:1015], length, relevant, np.repeat(np.arange(203), 5), np.tile(np.arange(5), 203))
found.append(lists.predicted_relevant(np.arange(203) % 2 == 0))
texts = cf.Collection(example.path("qrels.diversity.txt"), documents=example.path("documents.jsonl"))
names = ["alpha_nDCG", "ERR_IA", "DELTARB", "ABSNB(smoothing='printed')"]
found.append(cf.evaluate(texts, example.path("bm25.run"), names).values)
np.set_printoptions(floatmode="unique", threshold=10**6)
print(found)
"""


def test_numbers_have_the_same_bits_with_every_kernel_of_blas() -> None:
    """OpenBLAS takes the kernels of the processor that this variable names, where the processor can run them."""
    found = {}
    for kernels, threads in (("Sandybridge", 1), ("Haswell", 2), ("Zen", 1), ("SkylakeX", 2), ("Cooperlake", 1)):
        names = "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"
        environment = {**os.environ, "OPENBLAS_CORETYPE": kernels, **dict.fromkeys(names, str(threads))}
        child = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
        if child.returncode != ILLEGAL_INSTRUCTION:
            assert child.returncode == 0, child.stderr
            found[kernels, threads] = child.stdout
    assert len(set(found.values())) == 1, found
