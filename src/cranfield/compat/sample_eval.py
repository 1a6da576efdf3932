"""The output of TREC's sample_eval.pl: measures of stratified samples under its names, with its rules for means."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield import io
from cranfield.data import Run
from cranfield.errors import check_choice
from cranfield.evaluation.evaluator import Evaluator

NAMES = {
    "infAP": "xinfAP",
    "infNDCG": "infnDCG",
    "iP10": "infP@10",
    "inum_rel_ret": "infNumRelRet",
    "inum_rel": "infNumRel",
}
SUMS = ("inum_rel_ret", "inum_rel", "num_ret")
VERSIONS = ("2011", "2012")


def sample_eval(qrels: Any, run: Any, *, version: int = 2011) -> dict[str, dict[str, float]]:
    """The values of each query and of ``all``, as sample_eval prints them.

    The mean is over the queries in both; ``inum_rel`` of ``all`` is the sum over all queries of the judgments. The
    version of 2011 drops leading zeros of the query ids of the run, the one of 2012 keeps them.
    """
    check_choice("version", str(version), VERSIONS)
    names = [
        f"{name}(version={version})" if name in ("xinfAP", "infnDCG") and version == 2012 else name
        for name in NAMES.values()
    ]
    read = io.read_run(run)
    if version == 2011:
        read = _without_zeros(read)
    evaluator = Evaluator(qrels, [*names, "NumRet"])
    values = evaluator.per_query(read)
    answered = [query for query, score in values.items() if score["NumRet"] > 0]
    labels = [*NAMES, "num_ret"]
    result = {
        query: dict(zip(labels, (values[query][name] for name in [*names, "NumRet"]), strict=True))
        for query in answered
    }
    total = {label: [result[query][label] for query in answered] for label in labels}
    result["all"] = {
        label: float(np.sum(column)) if label in SUMS else float(np.mean(column)) if column else 0.0
        for label, column in total.items()
    }
    result["all"]["inum_rel"] = float(sum(score["infNumRel"] for score in values.values()))
    return result


def _without_zeros(run: Run) -> Run:
    """The run with the leading zeros of its query ids dropped."""
    rows = io.load(run)
    rankings: dict[str, dict[str, float]] = {}
    for query, document, score in zip(rows.query, rows.document, rows.score.tolist(), strict=True):
        rankings.setdefault(query.lstrip("0"), {})[document] = score
    return Run(run.name, rankings, run.source_name)
