"""What the tests of studies share."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import cranfield as cf
from cranfield.cli.main import cli
from cranfield.lab.study import StudyResult
from golden_cases import STRUCTURED

GOLDEN = {case["id"]: case for case in STRUCTURED}


def call(*args: object) -> Result:
    """Calls the command within this process."""
    result = CliRunner().invoke(cli, list(map(str, args)), prog_name="cranfield")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def written(lists: dict[str, dict[str, str]], relevant: dict[str, int]) -> tuple[list[Any], dict[str, Any]]:
    """Runs and judgments from lists written as text: 1 and 0 are answers, right and wrong, N is NIL."""
    qrels = {q: {f"r{i}": 1 for i in range(n)} | {"x": 0} for q, n in relevant.items()}

    def ids(text: str) -> list[str]:
        return [
            "NIL" if sign == "N" else f"r{text[:i].count('1')}" if sign == "1" else f"n{i}"
            for i, sign in enumerate(text)
        ]

    def ranking(text: str) -> dict[str, float]:
        return {document: -float(i) for i, document in enumerate(ids(text))}

    runs = [cf.read_run({q: ranking(text) for q, text in one.items()}, name=name) for name, one in lists.items()]
    return runs, qrels


def labelled(judgments: Any, keep: np.ndarray) -> dict[str, dict[str, dict[str, int]]]:
    """Judgments as somebody would write them down: those kept, 1 for relevant and 0 for not."""
    left: dict[str, dict[str, dict[str, int]]] = {}
    begin, labels = judgments.begin, judgments.labels
    for q, query in enumerate(judgments.queries):
        for row in range(begin[q], begin[q + 1]):
            if keep[row]:
                left.setdefault(query, {})[judgments.documents[row]] = {}
    for row, subtopic, grade in zip(labels.document, labels.subtopic, labels.grade, strict=True):
        if keep[row]:
            q = int(np.searchsorted(begin, row, side="right")) - 1
            left[judgments.queries[q]][judgments.documents[int(row)]][labels.names[int(subtopic)]] = int(grade >= 1)
    return left


def tau_a(x: Any, y: Any) -> float:
    """Kendall's τ by looking at all pairs; means that differ in the last digits are the same."""
    pairs = list(itertools.combinations(range(len(x)), 2))
    signs = [np.sign(round(x[i] - x[j], 11)) * np.sign(round(y[i] - y[j], 11)) for i, j in pairs]
    return float(sum(signs) / len(pairs))


def check_display(result: StudyResult, beginning: str) -> None:
    """A result in a notebook: one line as text, all tables, and its figures."""
    assert repr(result).startswith(beginning) and len(repr(result)) < 200
    assert result._repr_html_().count("<table") == len(result.pages())
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    assert len(result.plot()) >= 2
    pyplot.close("all")
