"""Nil detection: how well a system recognises queries that have no relevant document.

An empty list says "there is no answer". The list is right if no document is relevant, and a *false silence* if some
document is. Liu et al. (*Quit While Ahead*, SIGIR 2016, section 1) name this classification as an alternative to
measures that treat all queries alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.data import Booleans
from cranfield.errors import UsageError


@dataclass(frozen=True)
class NilDetection:
    """Counts of queries: all of them, those without relevant documents, those with an empty list, and both.

    ``queries``: all queries. ``nil``: queries without a relevant document. ``silent``: queries answered by an empty
    list. ``detected``: queries that are both.

    >>> detection = NilDetection(queries=10, nil=4, silent=3, detected=2)
    >>> detection.false_silences, detection.recall, round(detection.precision, 4)
    (1, 0.5, 0.6667)
    """

    JSON: ClassVar[tuple[str, ...]] = (
        *("queries", "nil", "silent", "detected", "false_silences"),
        *("precision", "recall", "f1", "accuracy"),
    )

    queries: int
    nil: int
    silent: int
    detected: int

    @property
    def false_silences(self) -> int:
        """The number of queries with a relevant document but an empty list."""
        return self.silent - self.detected

    @property
    def missed(self) -> int:
        """The number of queries without a relevant document whose list is not empty."""
        return self.nil - self.detected

    @property
    def precision(self) -> float:
        """The share of empty lists that are right; NaN if there is no empty list."""
        return self.detected / self.silent if self.silent else math.nan

    @property
    def recall(self) -> float:
        """The share of queries without a relevant document that have an empty list; NaN if there is no such query."""
        return self.detected / self.nil if self.nil else math.nan

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; NaN if there is neither an empty list nor a query without one."""
        return 2 * self.detected / (self.silent + self.nil) if self.silent + self.nil else math.nan

    @property
    def accuracy(self) -> float:
        """The share of queries whose list is empty if and only if no document is relevant; NaN without queries."""
        right = self.queries - self.false_silences - self.missed
        return right / self.queries if self.queries else math.nan


def nil_detection(nil: Booleans, silent: Booleans) -> NilDetection:
    """The classification of queries by one run.

    ``nil`` (query,): no document is relevant. ``silent`` (query,): the list has no answer, which is an empty list or
    one that begins with NIL.

    >>> nil_detection(np.array([True, True, False]), np.array([True, False, True]))
    NilDetection(queries=3, nil=2, silent=2, detected=1)
    """
    nil, silent = np.asarray(nil, bool), np.asarray(silent, bool)
    if nil.ndim != 1 or nil.shape != silent.shape:
        raise UsageError(
            f"nil and silent must have one value for each query; their shapes are {nil.shape} and {silent.shape}"
        )
    return NilDetection(len(nil), int(nil.sum()), int(silent.sum()), int((nil & silent).sum()))
