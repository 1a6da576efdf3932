"""Answering: questions with one answer each, for systems that may leave a question unanswered."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats
from cranfield.measures.catalogue import measure
from cranfield.measures.weights import count
from cranfield.ranking.batch import Batch
from cranfield.ranking.row_math import summed


@measure(
    "c_at_1",
    cite="penas2011",
    formula="c@1 = correct/n + (correct/n)(unanswered/n)",
    aggregate="credit",
    terminal="it gives credit to empty lists already",
    retrieved_only=True,
)
def credit_for_unanswered_questions(b: Batch) -> Floats:
    """The share of questions answered correctly, with the same share of credit for unanswered ones.

    A question is answered correctly if the first document is relevant. It is unanswered, and its own value undefined,
    if the list is empty or begins with NIL, whether or not an answer exists. Over n questions, every unanswered one
    counts as much as the share of all questions that are answered correctly.

    >>> qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}, "4": {"a": 1}}
    >>> run = {"1": {"a": 1.0}, "2": {"a": 1.0}, "3": {"b": 1.0}}
    >>> float(cf.evaluate(qrels, run, "c@1")), 2 / 4 + 2 / 4 * 1 / 4
    (0.625, 0.625)
    """
    silent = (b.length == 0) | (b.nil & (b.start == 0) & (b.size == 1)).any(axis=1)
    correct = summed(np.where(b.nil, 0, b.gain) * b.mean_over(count, 1))
    return np.where(silent, np.nan, correct)
