"""An explanation as a page for a class: move a document, change a grade or break a tie, and see the score change."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from cranfield import __version__
from cranfield.analysis.explain import Explanation
from cranfield.errors import UsageError
from cranfield.measures import Measure, parse
from cranfield.ranking.views import Views
from cranfield.wording import shortened

# The measures that the page computes: how a document counts, and what the total is divided by. The page offers those of
# OFFERED beside the one that is explained.
FORMS = {
    "nDCG": ("sum", "ideal"),
    **dict.fromkeys(("DCG", "CG", "SDCG", "P", "RBP", "RBPbeta", "InvSq"), ("sum", "")),
    "R": ("sum", "all"),
    "AP": ("precision", "all"),
    "SP": ("precision", ""),
    **dict.fromkeys(("RR", "ERR", "Success"), ("cascade", "")),
}
OFFERED = ("nDCG", "DCG", "P", "R", "AP", "RR", "RBP", "ERR")
PARAMETERS = {"rel", "gain", "max", "min", "p", "a", "b", "discount", "base", "norm"}
MOST = 100  # documents of a page
CUTOFF = 10  # of measures that need one, if the explained one has none


def lesson(found: Explanation, text: str = "") -> str:
    """The HTML of the page; ``text``: that of the query. Its script computes scores by formulas of its own."""
    measure = parse(found.measure)
    given = {name for name, value in measure.parameters if value is not None}
    if measure.symbol not in FORMS or given - PARAMETERS or replace(measure.views, ties=None) != Views():
        hint = f"it has {', '.join(FORMS)}, with their gains and weights, and without views"
        raise UsageError(f"the page cannot compute {measure}", hint=hint)
    if len(found.steps) > MOST:
        raise UsageError(
            f"the page would have {len(found.steps):,} documents, more than {MOST}",
            hint=f"choose a measure with a cutoff, such as {measure.symbol}@{CUTOFF}",
        )
    groups = _tie_groups(found)
    known = [grade for group in groups for _, grade in group if grade is not None]
    if any(grade != int(grade) for grade in (*known, *found.missed, found.top)):
        raise UsageError("the page needs grades that are whole numbers")
    documents = [
        {"document": name, "grade": grade, "tied": i > 0} for group in groups for i, (name, grade) in enumerate(group)
    ]
    query = f"{found.query} ({shortened(text)})" if text else found.query
    data = {
        "title": f"{found.run}, query {query}",
        "top": int(found.top),
        "missed": [int(grade) for grade in found.missed],
        "documents": documents,
        "measures": [_entry(one, found, groups) for one in _offered(measure)],
    }
    if not any(data["measures"][0]["gains"]):
        raise UsageError(f"the page cannot compute {measure}: no grade of the collection has a gain")
    script = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")  # no end tag inside
    template = files("cranfield.report").joinpath("lesson.html").read_text(encoding="utf-8")
    before, _, after = template.partition("{data}")
    return before.replace("{version}", escape(__version__)) + script + after


def _offered(measure: Measure) -> list[Measure]:
    """The measure itself, then the others with its cutoff."""
    k = measure.rank_cutoff
    needed = dict.fromkeys(("P", "R"), f"@{k or CUTOFF}")
    names = [f"{s}{needed.get(s, '' if k is None else f'@{k}')}" for s in OFFERED if s != measure.symbol]
    return [measure, *(parse(name) for name in names)]


def _tie_groups(found: Explanation) -> list[list[tuple[str, float | None]]]:
    """The documents and their grades, those whose order a tie leaves open together."""
    groups: list[list[tuple[str, float | None]]] = []
    for step in found.steps:
        document = step.document, None if step.judged is None else max(step.judged.values())
        if step.open and step.tie is not None and step.rank > step.tie[0]:
            groups[-1].append(document)
        else:
            groups.append([document])
    return groups


def _entry(measure: Measure, found: Explanation, groups: list[list[tuple[str, float | None]]]) -> dict[str, Any]:
    """A measure for the script, with the score of the ranking as it is; None if it is undefined.

    ``gains``: of each grade from 0; ``weights``: of each rank that counts; ``most``: the highest divisor.
    """
    kind, divisor = FORMS[measure.symbol]
    # The highest grade may be that of another query.
    by_top = measure.gains.kind == "scaled" or measure.definition.gains == "grades"
    scale = (("max", found.top),) if by_top and measure.chosen.get("max") is None else ()
    scaled = replace(measure, parameters=(*measure.parameters, *scale), views=Views(ties="expected"))
    value = scaled([tuple(grade for _, grade in group) for group in groups], found.missed)
    grades, k = range(int(found.top) + 1), measure.rank_cutoff
    if kind == "cascade":
        gains = [scaled([grade]) for grade in grades]
    else:
        gains = scaled.gains.of(np.array(grades, float), found.top).tolist()
    # A class may give every document a gain, so that the ideal ranking has all of them.
    length = len(found.steps) + sum(gains[int(grade)] > 0 for grade in found.missed)
    of_rank = [scaled([None] * i + [found.top]) for i in range(length if k is None else min(k, length))]
    # The best document alone has the weight of its rank, unless the score is relative to it.
    unit = gains[-1] if kind == "sum" and not divisor else of_rank[0]
    return {
        "name": str(replace(measure, views=Views())),
        "kind": kind,
        "divisor": divisor,
        "most": k if measure.chosen.get("norm") == "min" else None,
        "gains": gains,
        "weights": [one / unit if unit else 0.0 for one in of_rank],
        "score": None if math.isnan(value) else value,
    }
