"""What a report shows, as plain data: scores, comparisons, rankings, curves, audit, notes, and commands."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield import __version__
from cranfield.analysis.audit import CAUSES, Audit, audit_evaluation
from cranfield.analysis.compare import Comparison, compare_scores
from cranfield.analysis.significance import check_settings
from cranfield.data import Floats, Judgments
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.notes import sentences
from cranfield.evaluation.scores import Scores, number
from cranfield.io import read_texts
from cranfield.report.audit import WORDS
from cranfield.report.compare import method, notes
from cranfield.statistics.correlation import tau
from cranfield.statistics.intervals import bca
from cranfield.wording import plural

RECALL = tuple(level / 10 for level in range(11))
CUTS = (1, 2, 3, 5, 10, 20, 50, 100)
POINTS = (*(f"IPrec@{r:g}" for r in RECALL), *(f"nDCG@{k}" for k in CUTS))
SNIPPET = 400  # characters of a document's text


def contents(
    evaluation: Evaluation,
    *,
    texts: Mapping[str, str] | Sequence[Any] = (),
    comparing: Mapping[str, Any] | None = None,
    commands: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """All that the page needs, from an evaluation that keeps as many top documents as the page shows.

    ``texts``: of documents, by id, or sources to read them from. ``comparing``: the settings of `compare`;
    ``commands``: what reproduces the numbers.
    """
    steps = iter(range(1, 5))
    policy = evaluation.policy

    def done() -> None:
        if progress is not None:
            progress(next(steps), 4)

    scores = evaluation.scores
    matched = [len(scores.matched(m)[1]) for m in range(len(scores.columns))]
    among = [m for m, column in enumerate(scores.columns) if column.aggregate != "geometric" and matched[m] > 1]
    settings = check_settings(**{"seed": policy.seed, **(comparing or {})})
    with ThreadPoolExecutor(1) as beside:
        contests = None
        if len(scores.runs) > 1 and among:
            contests = beside.submit(compare_scores, scores.only(among), settings)
        closely = audit_evaluation(evaluation)
        done()
        compared = None if contests is None else contests.result().doubted(closely.swaps)
    low, high = _limits(scores, policy.seed)
    closely = replace(closely, low=low, high=high)
    done()
    # Precision at a recall level knows no end of a list.
    curves = evaluation.scores_of(POINTS, terminal=False, full_length=None)
    pages = _rankings(evaluation)
    done()
    shown = {name for one in pages for name in one["documents"]}
    known = texts if isinstance(texts, Mapping) else read_texts(texts, shown)
    found = {name: _snippet(text) for name, text in known.items() if name in shown}
    done()
    means = scores.means
    return {
        "runs": list(scores.runs),
        "measures": list(scores.measures),
        "queries": list(scores.queries),
        "digits": 4,
        "values": _packed(scores.values),
        "undefined": {"zero": 0, "one": 1}.get(scores.undefined),
        "counted": [np.flatnonzero(row).tolist() for row in scores.counted],
        "means": _table(means),
        "low": _table(low),
        "high": _table(high),
        "ranked": [column.aggregate != "sum" for column in scores.columns],
        "interval": f"BCa bootstrap, 9,999 resamples, seed {policy.seed}",
        "method": "" if compared is None else f"Paired differences: {method(compared)}.",
        "pairs": _pairs(compared, len(scores.measures), among),
        "rankings": pages,
        "texts": found,
        "curves": {
            "recall": {"x": list(RECALL), "y": _table(curves.means[:, : len(RECALL)])},
            "gain": {"x": list(CUTS), "y": _table(curves.means[:, len(RECALL) :])},
        },
        "agreement": _agreement(means),
        "audit": {name: _table(getattr(closely, name)) for name in AUDITED},
        "turned": [_turned(closely, measure) for measure in scores.measures],
        "notes": [*sentences(scores.notes), *([] if compared is None else notes(compared, all_pairs=True))],
        "about": _about(scores, evaluation.judgments),
        "commands": list(commands),
    }


AUDITED = (
    *("score", "low", "high", "worst", "expected", "best"),
    *("lowest", "highest", "unjudged", "condensed", "terminal"),
)


def _limits(scores: Scores, seed: int) -> tuple[Floats, Floats]:
    """The interval of every mean, (run, measure), as `Scores.interval` has it; runs of the same queries at once."""
    low, high = np.full((2, len(scores.runs), len(scores.measures)), np.nan)
    for m, column in enumerate(scores.columns):
        sizes = [len(scores.sample(r, m)) for r in range(len(scores.runs))]
        if column.aggregate == "mean" and len(set(sizes)) == 1 and sizes[0] > 1:
            x = np.array([*(scores.sample(r, m) for r in range(len(scores.runs))), np.zeros(sizes[0])])
            pairs = np.array([(r, len(scores.runs)) for r in range(len(scores.runs))])
            low[:, m], high[:, m] = bca(x, pairs, seed=seed).T
        else:
            for r in range(len(scores.runs)):
                low[r, m], high[r, m] = scores.interval(r, m, seed=seed)
    return low, high


def _packed(values: Floats) -> str:
    """Every bit of the numbers, in fewer characters than digits would take."""
    return base64.b64encode(np.ascontiguousarray(values, "<f8").tobytes()).decode()


def _table(values: Floats) -> list[Any]:
    return [_table(row) if row.ndim else number(float(row)) for row in values]


def _pairs(compared: Comparison | None, measures: int, among: Sequence[int]) -> dict[str, Any]:
    if compared is None:
        return {}
    arrays: dict[str, Floats] = {
        **{name: getattr(compared, name) for name in ("difference", "low", "high", "wins", "losses", "corrected")},
        "effect": compared.effect[..., 0],
        "effect_low": compared.effect[..., 1],
        "effect_high": compared.effect[..., 2],
        "p": compared.p[compared.test],
    }
    place = {m: i for i, m in enumerate(among)}
    nothing = [None] * len(compared.pairs)

    def all_measures(rows: Sequence[Any]) -> list[Any]:
        return [rows[place[m]] if m in place else nothing for m in range(measures)]

    return {
        **{name: all_measures(_table(array)) for name, array in arrays.items()},
        "doubts": all_measures([[" ".join(causes) for causes in row] for row in compared.doubts]),
        "queries": [len(compared.queries[place[m]]) if m in place else 0 for m in range(measures)],
        "means": all_measures(_table(compared.means)),
        "alpha": compared.alpha,
    }


def _rankings(evaluation: Evaluation) -> list[dict[str, Any]]:
    """For each query the documents that any run shows, their grades, and each run's page as rows of these."""
    scores, judgments = evaluation.scores, evaluation.judgments
    found = evaluation.first_pages(evaluation.page, evaluation.policy.ties)
    rows = {query: slice(*judgments.begin[q : q + 2]) for q, query in enumerate(judgments.queries)}
    pages = []
    for query in scores.queries:
        mine = rows.get(query, slice(0, 0))
        names = judgments.documents.take(np.arange(len(judgments.grade))[mine])
        grades = dict(zip(names, judgments.grade[mine].tolist(), strict=True))
        numbers: dict[str, int] = {}
        shown: list[dict[str, Any] | None] = []
        for one in found:
            page = one.get(query)
            if page is None:
                shown.append(None)
                continue
            documents = [numbers.setdefault(document, len(numbers)) for document in page.documents]
            shown.append({"documents": documents, "ties": list(page.ties), "length": page.length})
        pages.append(
            {
                "documents": list(numbers),
                "grades": [_grade(grades.get(document)) for document in numbers],
                "relevant": sum(grade > 0 for grade in grades.values()),
                "runs": shown,
            }
        )
    return pages


def _grade(grade: float | None) -> float | int | None:
    """A grade as people write it; a negative one means that the document is unjudged."""
    if grade is None or grade < 0:
        return None
    return int(grade) if float(grade).is_integer() else grade


def _snippet(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SNIPPET else f"{text[:SNIPPET]}…"


def _agreement(means: Floats) -> list[list[float | None]]:
    if len(means) < 2:
        return []
    columns = np.nan_to_num(means.T)
    return _table(tau(columns[:, None], columns[None], variant="b"))


def _turned(closely: Audit, measure: str) -> list[str]:
    """In words, how many pairs of runs each cause could turn."""
    told = []
    for cause in CAUSES:
        pairs = [swap for swap in closely.swaps if swap.measure == measure and swap.cause == cause]
        if pairs:
            one = pairs[0]
            names = f"{one.higher} ({one.score[0]:.4f}) and {one.lower} ({one.score[1]:.4f})"
            few = f"{names} {WORDS[cause].swap}."
            told.append(few if len(pairs) == 1 else f"{len(pairs)} pairs of runs {WORDS[cause].swap}, such as {names}.")
    return told


def _about(scores: Scores, judgments: Judgments) -> str:
    many = f"{plural(len(scores.runs), 'run')}, {plural(len(scores.queries), 'query')}"
    return f"{many}, judgments of {judgments.name}; Cranfield {__version__}"
