"""The output of sample_eval.pl and statAP_MQ_eval.pl: measures of sampled judgments, with their rules for means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cranfield import io
from cranfield.data import Run
from cranfield.evaluation.evaluator import Evaluator
from cranfield.measures.sampled import SampleEval, StatAP
from cranfield.settings import checked

NAMES = {
    "infAP": "xinfAP",
    "infNDCG": "infnDCG",
    "iP10": "infP@10",
    "inum_rel_ret": "infNumRelRet",
    "inum_rel": "infNumRel",
}
SUMS = ("inum_rel_ret", "inum_rel", "num_ret")
MOST_COUNTED = 1000  # documents of a query that ``num_ret`` of all queries counts
Only = Literal["all", "sampled", "mixed"]


@checked
def sample_eval(qrels: Any, run: Any, *, version: SampleEval = 2011) -> dict[str, dict[str, float]]:
    """The values of each query and of ``all``, as sample_eval prints them.

    The mean is over the queries in both; ``inum_rel`` of ``all`` is the sum over all queries of the judgments, and
    its ``num_ret`` counts at most 1,000 documents of a query. The
    version of 2011 drops leading zeros of the query ids of the run, the one of 2012 keeps them.
    """
    names = [
        f"{name}(version={version})" if name in ("xinfAP", "infnDCG") and version == 2012 else name
        for name in NAMES.values()
    ]
    read = io.read_run(run)
    if version == 2011:
        read = _without_zeros(read)
    evaluator = Evaluator(qrels, [*names, "NumRet"])
    values = evaluator.per_query(read)
    name_of = dict(zip([*NAMES, "num_ret"], [*names, "NumRet"], strict=True))
    result = {
        query: {label: scores[name] for label, name in name_of.items()}
        for query, scores in values.items()
        if scores["NumRet"] > 0
    }
    columns = {label: [scores[label] for scores in result.values()] for label in name_of}
    result["all"] = {
        label: float(np.sum(column)) if label in SUMS else float(np.mean(column)) if column else 0.0
        for label, column in columns.items()
    }
    result["all"]["num_ret"] = float(sum(min(count, MOST_COUNTED) for count in columns["num_ret"]))
    result["all"]["inum_rel"] = float(sum(score["infNumRel"] for score in values.values()))
    return result


def _without_zeros(run: Run) -> Run:
    """The run with the leading zeros of its query ids dropped."""
    rows = io.load(run)
    rankings: dict[str, dict[str, float]] = {}
    for query, document, score in zip(rows.query, rows.document, rows.score.tolist(), strict=True):
        rankings.setdefault(query.lstrip("0"), {})[document] = score
    return Run(run.name, rankings, run.source_name)


@dataclass(frozen=True)
class StatAPResult:
    """statAP of each query (None if undefined or left out), its mean, the variance of the mean, and how many count."""

    ap: dict[str, float | None]
    mean: float
    variance: float
    queries: int


@checked
def stat_ap(prels: Any, run: Any, *, version: StatAP = 4, sampled: bool = False, only: Only = "all") -> StatAPResult:
    """StatAP of a run, for five-column judgments with methods and probabilities.

    ``sampled`` is the flag -f: documents that were judged for another method only are dropped. ``only``: queries
    without any document of such a method (``sampled``, the flag -n), or with one (``mixed``, the flag -m).
    """
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
