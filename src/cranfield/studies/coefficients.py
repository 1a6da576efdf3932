"""The correlation coefficients that studies offer as ``--coefficient``, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np

from cranfield.data import Floats
from cranfield.errors import UsageError
from cranfield.statistics.correlation import critical_tau, pearson, rbo, spearman, tau, tau_ap


@dataclass(frozen=True)
class Coefficient:
    """A coefficient that compares two scorings of the same systems.

    ``compute(x, y)``: ``x`` is the reference; systems are along the last axis, other axes broadcast.
    ``critical(n, alpha)``: the value that independent scorings of n systems exceed with probability ``alpha``; None if
    there is no such test. ``symmetric``: the order of the arguments does not matter.
    """

    symbol: str
    compute: Callable[[Floats, Floats], Floats]
    critical: Callable[[int, float], float] | None = None
    symmetric: bool = True


def _overlap(x: Floats, y: Floats) -> Floats:
    x, y = np.broadcast_arrays(x, y)
    pairs = zip(x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]), strict=True)
    # Variant b: a scoring agrees with itself, with or without ties.
    return np.array([rbo(a, b, ties="b").ext for a, b in pairs]).reshape(x.shape[:-1])


def _critical_spearman(systems: int, alpha: float) -> float:
    """Spearman's ρ is approximately normal with variance 1 / (n - 1)."""
    return NormalDist().inv_cdf(1 - alpha / 2) / math.sqrt(systems - 1)


def _critical_pearson(systems: int, alpha: float) -> float:
    """Pearson's r, by Student's t with n - 2 degrees of freedom."""
    from scipy.special import stdtrit

    if systems < 3:
        return 1.0
    t = float(stdtrit(systems - 2, 1 - alpha / 2))
    return t / math.sqrt(systems - 2 + t**2)


COEFFICIENTS = {
    "tau-a": Coefficient("τ-a", partial(tau, variant="a"), critical_tau),
    "tau-b": Coefficient("τ-b", partial(tau, variant="b"), critical_tau),
    "tau_ap": Coefficient("τ_AP", tau_ap, symmetric=False),
    "spearman": Coefficient("ρ", spearman, _critical_spearman),
    "pearson": Coefficient("r", pearson, _critical_pearson),
    "rbo": Coefficient("RBO", _overlap),
}


def get_coefficient(name: str) -> Coefficient:
    """The coefficient of a name."""
    if name not in COEFFICIENTS:
        raise UsageError(f"unknown coefficient `{name}`", hint=f"one of {', '.join(COEFFICIENTS)}")
    return COEFFICIENTS[name]
