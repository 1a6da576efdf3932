"""The policy line: what every table of scores says below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cranfield.evaluation.plan import Column
from cranfield.ranking.tie_rules import DEFAULT, TIE_RULES
from cranfield.wording import plural

if TYPE_CHECKING:
    from cranfield.evaluation.scores import ScoreTable

UNDEFINED = {
    "skip": "undefined values skipped",
    "zero": "undefined values count as 0",
    "one": "undefined values count as 1",
}
COUNTED = {"judged": "{}", "both": "the {} that each run answers", "run": "all {} of each run"}


def policy_line(scores: ScoreTable, *, denominator: bool = True) -> str:
    r"""How ties, relevance, undefined values and queries were treated; empty if scores do not say.

    Views of the whole evaluation are said here and in no label. A part that applies to no column is left out.
    ``denominator``: also say over how many queries means are.

    >>> import cranfield as cf
    >>> scores = cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["AP", "nDCG@10[ties=best]"], depth=100)
    >>> print(policy_line(scores).replace("; ", ";\n"))
    Ties broken by document id (trec);
    rankings cut at 100 documents;
    relevant: grade 1 or higher;
    undefined values skipped;
    means over 1 query.
    """
    policy = scores._policy
    if not policy:
        return ""
    parts = [*_views(scores.columns, policy), *_level(scores.columns, policy)]
    if policy.get("undefined") in UNDEFINED:
        parts.append(UNDEFINED[policy["undefined"]])
    if denominator:
        parts.append(_denominator(scores, policy))
    line = "; ".join(parts)
    return f"{line[0].upper()}{line[1:]}." if line else ""


def _views(columns: Sequence[Column], policy: Mapping[str, Any]) -> Iterator[str]:
    views = [column.measure.views for column in columns if not column.is_outside]
    given = policy.get("ties")
    ties = given or DEFAULT
    if any(view.ties is None or view.ties == given for view in views):
        yield f"{TIE_RULES[ties].words} ({ties})"
    if any(view.depth and view.depth == policy.get("depth") for view in views):
        yield f"rankings cut at {plural(policy['depth'], 'document')}"
    if policy.get("condensed"):
        yield "unjudged documents removed (condensed)"
    if policy.get("terminal"):
        full = policy.get("full_length")
        yield f"a terminal document added{f' to lists shorter than {full}' if full else ''} (terminal)"


def _level(columns: Sequence[Column], policy: Mapping[str, Any]) -> Iterator[str]:
    """The grade from which a document is relevant, for measures that do not name it."""
    level = policy.get("rel", 1.0)
    if any(column.measure.level == level for column in columns):
        yield f"relevant: grade {level:g} or higher"


def _denominator(scores: ScoreTable, policy: Mapping[str, Any]) -> str:
    what = "sums" if all(column.aggregate == "sum" for column in scores.columns) else "means"
    collections = len(getattr(scores, "_collections", ()))
    if collections > 1:
        return f"{what} over the means of {collections} collections"
    sizes = scores._sizes.ravel().tolist() or [0]
    low, high = min(sizes), max(sizes)
    number = plural(high, "query") if low == high else f"{low:,} to {plural(high, 'query')}"
    return f"{what} over {COUNTED[policy.get('queries', 'judged')].format(number)}"
