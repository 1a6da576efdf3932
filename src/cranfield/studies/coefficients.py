"""How far two scorings of the same systems agree, by name: what studies offer as ``--coefficient``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np

from cranfield.data import Floats
from cranfield.errors import UsageError
from cranfield.statistics.correlation import critical_tau, pearson, spearman, tau, tau_ap
from cranfield.statistics.overlap import rbo


@dataclass(frozen=True)
class Coefficient:
    """One way to compare ``x``, the reference, with ``y``: systems are along the last axis, the rest broadcasts.

    ``critical``: the value that independent scorings of n systems seldom exceed, of (n, alpha); None where nobody
    knows one. ``symmetric``: x and y may change places.
    """

    sign: str
    of: Callable[[Floats, Floats], Floats]
    critical: Callable[[int, float], float] | None = None
    symmetric: bool = True


def _overlap(x: Floats, y: Floats) -> Floats:
    x, y = np.broadcast_arrays(x, y)
    pairs = zip(x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]), strict=True)
    # `b`: a scoring agrees with itself, whether or not systems tie.
    return np.array([rbo(a, b, ties="b").ext for a, b in pairs]).reshape(x.shape[:-1])


def _critical_rank(systems: int, alpha: float) -> float:
    """Of Spearman's ρ, which is about normal with variance 1 / (n - 1)."""
    return NormalDist().inv_cdf(1 - alpha / 2) / math.sqrt(systems - 1)


def _critical_linear(systems: int, alpha: float) -> float:
    """Of Pearson's r, by Student's t with n - 2 degrees of freedom."""
    from scipy.special import stdtrit

    if systems < 3:
        return 1.0
    t = float(stdtrit(systems - 2, 1 - alpha / 2))
    return t / math.sqrt(systems - 2 + t**2)


COEFFICIENTS = {
    "tau-a": Coefficient("τ-a", partial(tau, variant="a"), critical_tau),
    "tau-b": Coefficient("τ-b", partial(tau, variant="b"), critical_tau),
    "tau_ap": Coefficient("τ_AP", tau_ap, symmetric=False),
    "spearman": Coefficient("ρ", spearman, _critical_rank),
    "pearson": Coefficient("r", pearson, _critical_linear),
    "rbo": Coefficient("RBO", _overlap),
}


def coefficient(name: str) -> Coefficient:
    """A coefficient by its name."""
    if name not in COEFFICIENTS:
        raise UsageError(f"no such coefficient `{name}`", hint=f"one of {', '.join(COEFFICIENTS)}")
    return COEFFICIENTS[name]
