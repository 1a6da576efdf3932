"""The measures of contents as their formulas stand: a number for every term of the collection, at every rank.

What `cranfield.corpus` is held against, for its numbers in the tests and for its time in the benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

NOTHING = 1e-12


class Dense:
    """A collection as a table of counts (document, term); a term that it does not have in all has no column."""

    def __init__(self, counts: np.ndarray, ids: Sequence[str], frequency: np.ndarray, total: float) -> None:
        known = frequency > 0
        self.counts, self.row = counts[:, known], {name: i for i, name in enumerate(ids)}
        self.share = frequency[known] / total
        # P(v|D) of the terms at hand need not sum to 1: the rest stands for all others, which no document here has.
        self.rest = 1 - self.share.sum()

    @property
    def collection(self) -> np.ndarray:
        """P(v|D), as `model`."""
        return np.append(self.share, self.rest)

    def model(self, counts: np.ndarray, mu: float) -> np.ndarray:
        """P(v|Θ) of every term, and of all others together."""
        return np.append(counts + mu * self.share, mu * self.rest) / (counts.sum() + mu)

    def divergence(self, one: np.ndarray, other: np.ndarray) -> float:
        some = one > 1e-300
        return float((one[some] * np.log(one[some] / other[some])).sum())

    def together(self, documents: Sequence[str]) -> np.ndarray:
        rows = [self.row[d] for d in documents if d in self.row]
        return self.counts[rows].sum(axis=0)

    def nearness(self, relevant: Mapping[str, Sequence[str]], ranking: Sequence[str], mu: float) -> np.ndarray:
        """1 - KLD(Θ_q‖Θ_Rk) / KLD(Θ_q‖Θ_D), (subtopic with a model, rank)."""
        models = [self.model(self.together(d), mu) for d in relevant.values() if any(x in self.row for x in d)]
        far = [(model, whole) for model in models if (whole := self.divergence(model, self.collection)) > NOTHING]
        read = [self.model(self.together(ranking[: k + 1]), mu) for k in range(len(ranking))]
        found = [1 - self.divergence(model, one) / whole for model, whole in far for one in read]
        return np.array(found).reshape(len(far), len(read))


def scores(nearness: np.ndarray, theta: float = 0.8) -> dict[str, float]:
    """The four measures of one ranking; nothing where no subtopic has a model."""
    if not len(nearness):
        return {}
    gain = np.maximum(nearness, 0)
    change = np.diff(gain, axis=1, prepend=0)
    weights = (1 - theta) * theta ** np.arange(gain.shape[1])
    level, rise = gain.max(axis=0), np.maximum(change.max(axis=0), 0)
    return {"ABSNB": level.sum(), "ABSRB": level @ weights, "DELTANB": rise.sum(), "DELTARB": rise @ weights}
