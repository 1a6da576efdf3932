"""The output of statAP_MQ_eval.pl: statAP under its names, with its choice of queries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cranfield import io
from cranfield.errors import check_choice
from cranfield.evaluation.evaluator import Evaluator

VERSIONS = ("3", "4")
Only = Literal["all", "sampled", "mixed"]


@dataclass(frozen=True)
class StatAPResult:
    """statAP of each query (None if undefined or left out), its mean, the variance of the mean, and how many count."""

    ap: dict[str, float | None]
    mean: float
    variance: float
    queries: int


def stat_ap(prels: Any, run: Any, *, version: int = 4, sampled: bool = False, only: Only = "all") -> StatAPResult:
    """StatAP of a run, for five-column judgments with methods and probabilities.

    ``sampled`` is the flag -f: documents that were judged for another method only are dropped. ``only``: queries
    without any document of such a method (``sampled``, the flag -n), or with one (``mixed``, the flag -m).
    """
    check_choice("version", str(version), VERSIONS)
    check_choice("only", only, ("all", "sampled", "mixed"))
    method = "sampled" if sampled else "mixed"
    judgments = io.read_qrels(prels)
    names = [f"{name}(method='{method}', version={version})" for name in ("statAP", "statAP_variance")]
    values = Evaluator(judgments, [*names, "NumRet"]).per_query(run)
    codes = np.ones(len(judgments.grade), np.int64)
    if judgments.sample is not None and judgments.sample.method is not None:
        codes = judgments.sample.method
    mixed = {
        query: bool(np.isin(codes[judgments.begin[q] : judgments.begin[q + 1]], (0, 2)).any())
        for q, query in enumerate(judgments.queries)
    }
    ap: dict[str, float | None] = {}
    variances = []
    for query, scores in values.items():
        value = scores[names[0]]
        left_out = {"all": False, "sampled": mixed[query], "mixed": not mixed[query]}[only]
        ap[query] = None if math.isnan(value) or left_out or not scores["NumRet"] else value
        if ap[query] is not None:
            variances.append(scores[names[1]])
    counted = [value for value in ap.values() if value is not None]
    n = len(counted)
    return StatAPResult(
        ap, float(np.mean(counted)) if n else math.nan, float(np.sum(variances)) / n**2 if n else math.nan, n
    )
