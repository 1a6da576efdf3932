"""What a comparison finds of one measure: all pairs of runs, by every test that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.arguments import one_of, share, whole
from cranfield.data import Floats, Integers
from cranfield.errors import UsageError
from cranfield.statistics.anova import Anova, anova, tukey
from cranfield.statistics.corrections import CORRECTIONS, Correction
from cranfield.statistics.correlation import SAME
from cranfield.statistics.intervals import bca, effect_size
from cranfield.statistics.paired import t_test, wilcoxon
from cranfield.statistics.resampling import discriminate

Test = Literal["randomisation", "t", "wilcoxon", "bootstrap", "tukey", "randomised-tukey"]
TESTS: tuple[Test, ...] = get_args(Test)
# These test all pairs of a measure at once, and leave nothing to correct.
JOINT: tuple[Test, ...] = ("tukey", "randomised-tukey")
RESAMPLING: tuple[Test, ...] = ("randomisation", "bootstrap", "randomised-tukey")
Family = Literal["measure", "all"]
FAMILIES: tuple[Family, ...] = get_args(Family)
CELLS = 1 << 21  # differences of pairs by query that are held at a time


@dataclass(frozen=True)
class Terms:
    """What is asked of a comparison, whatever the scores: the arguments of `compare`, checked."""

    test: Test
    tests: tuple[Test, ...]
    correction: Correction
    family: Family
    alpha: float
    level: float
    samples: int
    seed: int


class Outcome(NamedTuple):
    """What a comparison finds of one measure; arrays are by pair, as in `Comparison`, but for ``means``, by run."""

    means: Floats
    difference: Floats
    low: Floats
    high: Floats
    effect: Floats
    wins: Integers
    losses: Integers
    p: dict[Test, Floats]
    anova: Anova


def agreed(
    *,
    test: Test = "randomisation",
    tests: Sequence[Test] = (),
    correction: Correction = "holm",
    family: Family = "measure",
    alpha: float = 0.05,
    level: float = 0.95,
    samples: int = 100_000,
    seed: int = 0,
) -> Terms:
    """The arguments of `compare`, checked; what they mean is said there."""
    for name, value, known in (
        ("test", test, TESTS),
        ("correction", correction, CORRECTIONS),
        ("family", family, FAMILIES),
        *(("tests", one, TESTS) for one in tests),
    ):
        one_of(name, value, known)
    alpha, level, samples = share("alpha", alpha), share("level", level), whole("samples", samples)
    if test in JOINT:
        if family == "all":
            raise UsageError(f"{test} is about the pairs of one measure", hint="family = all needs another test")
        correction = "none"
    return Terms(test, tuple(dict.fromkeys((test, *tests))), correction, family, alpha, level, samples, seed)


def contested(x: Floats, pairs: Integers, terms: Terms) -> Outcome:
    """One measure compared, from its values (run, query), all of them defined."""
    x = np.ascontiguousarray(x)  # the same to the last bit, however it came to be
    step = max(1, CELLS // x.shape[1])
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    place = low * len(x) - low * (low + 1) // 2 + high - low - 1  # among all pairs (0, 1), (0, 2), ..., (1, 2), ...

    def each(look: Callable[[Floats], Any]) -> Any:
        """What a look at the differences (pair, query) tells of each pair, for some pairs at a time."""
        some = (pairs[i : i + step].T for i in range(0, len(pairs), step))
        return np.concatenate([look(x[a] - x[b]) for a, b in some])

    samples = terms.samples
    how: dict[str, Any] = {"b": samples, "seed": terms.seed}
    by_test: dict[Test, Callable[[], Floats]] = {
        "randomisation": lambda: discriminate(x, "randomisation", **how).p[place],
        # As in the others the data themselves count as a draw: no number of draws makes a p-value 0.
        "bootstrap": lambda: (samples * discriminate(x, "bootstrap", **how).p[place] + 1) / (samples + 1),
        "randomised-tukey": lambda: discriminate(x, "tukey", **how).p[place],
        "t": lambda: each(t_test),
        "wilcoxon": lambda: each(wilcoxon),
        "tukey": lambda: tukey(x, pairs),
    }
    limits = bca(x, pairs, level=terms.level, seed=terms.seed)
    return Outcome(
        x.mean(axis=1),
        each(lambda differences: differences.mean(axis=1)),
        limits[:, 0],
        limits[:, 1],
        each(lambda differences: effect_size(differences, level=terms.level)),
        each(lambda differences: (differences > SAME).sum(axis=1)),
        each(lambda differences: (differences < -SAME).sum(axis=1)),
        {test: by_test[test]() for test in terms.tests},
        anova(x),
    )
