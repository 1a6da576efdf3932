"""The policy line says what applies to the columns of a table, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield import example, report
from cranfield.evaluation.notes import policy_line

QRELS = str(example.path("qrels.txt"))
RUNS = [str(example.path(name)) for name in ("bm25.run", "quiet.run")]
TREC, LEVEL = "Ties broken by document id (trec)", "relevant: grade 1 or higher"


@pytest.mark.parametrize(
    ("measures", "options", "expected"),
    [
        (["AP", "RR"], {}, [TREC, LEVEL, "undefined values skipped", "means over 7 to 8 queries."]),
        (["AP(rel=2)"], {"undefined": "zero"}, [TREC, "undefined values count as 0", "means over 8 queries."]),
        (["nDCG@10"], {"undefined": "one"}, [TREC, "undefined values count as 1", "means over 8 queries."]),
        (["RR[ties=best]"], {"undefined": "error"}, ["Relevant: grade 1 or higher", "means over 8 queries."]),
        (["RBP"], {"queries": "both"}, [TREC, "undefined values skipped", "means over the 6 to 8 queries that each run answers."]),
        (["NumRelRet"], {"queries": "run"}, [TREC, LEVEL, "undefined values skipped", "sums over all 6 to 8 queries of each run."]),
        (
            ["nDCG@10", "nDCG@10[ties=trec]"],
            {"ties": "expected", "depth": 5, "condensed": True, "terminal": True},
            [
                "Ties averaged over all orders (expected)",
                "rankings cut at 5 documents",
                "unjudged documents removed (condensed)",
                "a terminal document added (terminal)",
                "undefined values skipped",
                "means over 8 queries.",
            ],
        ),
    ],
)  # fmt: skip
def test_parts_that_apply(measures: list[str], options: dict[str, Any], expected: list[str], tmp_path: Path) -> None:
    scores = cf.evaluate(QRELS, RUNS, measures, **options)
    assert policy_line(scores).split("; ") == expected
    assert scores.measures == tuple(measures)
    scores.save(tmp_path / "scores.json")
    assert policy_line(cf.load(tmp_path / "scores.json")) == policy_line(scores)


def test_a_rule_that_measures_name_is_not_that_of_the_evaluation() -> None:
    assert "ties" not in policy_line(cf.evaluate(QRELS, RUNS, ["RR[ties=trec]", "RR[ties=best]"])).lower()
    assert TREC in policy_line(cf.evaluate(QRELS, RUNS, ["RR", "RR[ties=best]"], ties="trec"))


def test_of_several_collections_and_of_queries() -> None:
    collections = {"x": QRELS, "y": QRELS}
    scores = cf.evaluate(collections, {"run": dict.fromkeys(collections, RUNS[0])}, "RR")
    assert policy_line(scores).endswith("; means over the means of 2 collections.")
    assert policy_line(cf.evaluate(QRELS, RUNS, "RR").only(queries=["q1", "q2"])).endswith("; means over 2 queries.")


def test_scores_of_others_have_none() -> None:
    assert policy_line(cf.read_scores({"run": {"m": {"1": 1.0}}})) == ""


def test_every_table_has_it() -> None:
    evaluation = cf.Evaluator(QRELS, "AP").evaluation(RUNS)
    scores, audit = evaluation.scores, cf.audit(evaluation)
    line = policy_line(scores)
    assert audit.policy == line
    for text in (
        *(str(shown) for shown in (scores, scores["AP"], scores.table(), evaluation)),
        *(shown._repr_html_() for shown in (scores, scores["AP"], scores.table(), evaluation, audit)),
        *(report.write(scores, format) for format in ("table", "markdown", "latex")),
        *(report.audit.write(audit, format) for format in ("table", "markdown")),
    ):
        assert " ".join(text.split()).count(line) == 1
    assert line not in report.write(scores, "csv") and line not in report.write(scores, "json")
