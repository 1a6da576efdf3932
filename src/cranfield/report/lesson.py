"""An explanation as a page for a class: move a document, change a grade or break a tie, and see the score change."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from html import escape
from importlib.resources import files
from typing import Any

from cranfield import __version__
from cranfield.analysis.explain import Explanation
from cranfield.errors import UsageError
from cranfield.io.collection import shortened
from cranfield.measures import Measure, parse
from cranfield.ranking.views import Views

# The measures that the page computes; the others of the list are offered beside the one that is explained.
SYMBOLS = ("nDCG", "DCG", "P", "R", "AP", "RR", "RBP", "ERR")
MOST = 100  # documents of a page
CUTOFF = 10  # of measures that need one, if the explained one has none


def lesson(found: Explanation, text: str = "") -> str:
    """The HTML of the page; ``text``: that of the query. Its script computes scores by formulas of its own."""
    measure = parse(found.measure)
    given = dict(measure.parameters).keys() - ({"p"} if measure.symbol == "RBP" else set())
    if measure.symbol not in SYMBOLS or given or replace(measure.views, ties=None) != Views():
        hint = f"it has {', '.join(SYMBOLS)}, without views and other parameters"
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
    script = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")  # no end tag inside
    template = files("cranfield.report").joinpath("lesson.html").read_text(encoding="utf-8")
    before, _, after = template.partition("{data}")
    return before.replace("{version}", escape(__version__)) + script + after


def _offered(measure: Measure) -> list[Measure]:
    """The measure itself, then the others with its cutoff."""
    k = measure.rank_cutoff
    needed = dict.fromkeys(("P", "R"), f"@{k or CUTOFF}")
    names = [f"{s}{needed.get(s, '' if k is None else f'@{k}')}" for s in SYMBOLS if s != measure.symbol]
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
    """A measure for the script, with the score of the ranking as it is; None if it is undefined."""
    # The highest grade may be that of another query.
    scale = (("max", found.top),) if measure.symbol in ("RBP", "ERR") else ()
    scaled = replace(measure, parameters=(*measure.parameters, *scale), views=Views(ties="expected"))
    value = scaled([tuple(grade for _, grade in group) for group in groups], found.missed)
    return {
        "name": str(replace(measure, views=Views())),
        "symbol": measure.symbol,
        "k": measure.rank_cutoff,
        "p": measure.chosen.get("p"),
        "score": None if math.isnan(value) else value,
    }
