"""Multiple-testing corrections."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from cranfield.data import Floats

Correction = Literal["holm", "bonferroni", "bh", "none"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)


def corrected(p: Floats, method: Correction = "holm") -> Floats:
    """The p-values of one family of tests, adjusted so that each can be compared with alpha.

    Holm and Bonferroni control the family-wise error rate (Holm, *A simple sequentially rejective multiple test
    procedure*, 1979), Benjamini and Hochberg (1995) the false discovery rate.

    >>> corrected(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    >>> corrected(np.array([0.01, 0.04, 0.03]), "bh").tolist()
    [0.03, 0.04, 0.04]
    """
    if method == "none":
        return p.copy()
    flat = p.ravel()
    tests = len(flat)
    if method == "bonferroni":
        return np.minimum(p * tests, 1)
    order = np.argsort(flat, kind="stable")
    rank = np.arange(1, tests + 1)
    if method == "holm":
        steps = np.maximum.accumulate(flat[order] * (tests + 1 - rank))
    else:
        steps = np.minimum.accumulate((flat[order] * tests / rank)[::-1])[::-1]
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(steps, 1)
    return adjusted.reshape(p.shape)
