"""Numeric properties of measures: Moffat's seven, and three more, checked on all small rankings.

A property holds if no ranking checked violates it; otherwise the smallest counterexample is reported. The score of a
ranking at k is the score at cutoff k or, if the measure has no cutoff or the end of a list counts, the score of the
list of the first k documents. Comparisons with an undefined score are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield.errors import MeasureError, UsageError
from cranfield.measures import CATALOGUE, Measure, parse
from cranfield.ranking.views import Views
from cranfield.studies import saving
from cranfield.studies.properties import small_rankings
from cranfield.studies.properties.checks import (
    MORE,
    PROPERTIES,
    SEVEN,
    Counterexample,
    PropertyChecks,
    PropertyVerdict,
    is_list,
)
from cranfield.studies.properties.small_rankings import UNJUDGED, DocumentKind, SmallRankings

__all__ = [
    "MORE",
    "PROPERTIES",
    "SEVEN",
    "CheckedMeasure",
    "Counterexample",
    "Properties",
    "PropertyVerdict",
    "properties",
]

OPEN_TIES = ("expected", "best", "worst")  # the other rules break ties without looking at relevance


@dataclass(frozen=True)
class CheckedMeasure:
    """One measure with a verdict on every property, in the order of `PROPERTIES`, and the rankings checked.

    ``domain``: a description of the rankings; ``paired``: of those that are compared with each other (stable, neutral);
    ``longest``: the length of the longest ranking, of documents of the same kind, that is checked for boundedness.
    """

    measure: str
    domain: str
    paired: str
    longest: int
    verdicts: dict[str, PropertyVerdict]

    @property
    def holds(self) -> dict[str, bool | None]:
        """Whether each property holds."""
        return {name: verdict.holds for name, verdict in self.verdicts.items()}


@dataclass(frozen=True, repr=False)
class Properties(saving.StudyResult):
    """The properties of several measures; ``documents`` and ``grades`` are None if they were not given."""

    STUDY = "properties"

    checked: tuple[CheckedMeasure, ...]
    notes: tuple[str, ...] = ()
    documents: int | None = None
    grades: tuple[float, ...] | None = None

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(measure.measure for measure in self.checked)

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints."""
        measures = [
            {
                "measure": measure.measure,
                "domain": measure.domain,
                "paired": measure.paired,
                "longest": measure.longest,
                "properties": {
                    name: {"holds": v.holds, "counterexample": v.counterexample and v.counterexample.to_dict()}
                    for name, v in measure.verdicts.items()
                },
            }
            for measure in self.checked
        ]
        settings = {"documents": self.documents, "grades": self.grades and list(self.grades)}
        return {**self.header(), "settings": settings, "measures": measures, "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Properties:
        """The result that `to_dict` returned."""

        def verdict(entry: dict[str, Any]) -> PropertyVerdict:
            counterexample = entry["counterexample"]
            return PropertyVerdict(entry["holds"], counterexample and Counterexample.from_dict(counterexample))

        checked = tuple(
            CheckedMeasure(
                entry["measure"],
                entry["domain"],
                entry["paired"],
                entry["longest"],
                {name: verdict(entry["properties"][name]) for name in PROPERTIES},
            )
            for entry in data["measures"]
        )
        settings = data["settings"]
        grades = settings["grades"]
        return cls(checked, tuple(data["notes"]), settings["documents"], grades and tuple(grades))


def properties(
    measures: str | Measure | Sequence[str | Measure],
    *,
    documents: int | None = None,
    grades: Sequence[float] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Properties:
    """Check the numeric properties of measures on all small rankings.

    ``documents``: the length of the longest ranking; 8 unless that gives too many rankings. ``grades``: the grades of
    judged documents, instead of relevant or not. Every cutoff is checked; a cutoff that is given is ignored.

    >>> import cranfield as cf
    >>> precision = cf.properties("P").checked[0]
    >>> precision.holds["convergent"], precision.holds["top-weighted"]
    (True, False)
    >>> precision.verdicts["top-weighted"].counterexample
    Counterexample(rankings=('01', '10'), k=(2, 2), scores=(0.5, 0.5), limit=None, judged='')
    """
    given = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    if not given:
        raise MeasureError("no measure given", hint="for example: AP, nDCG, bpref")
    if grades is not None and len(set(grades)) < 2:
        raise UsageError(f"expected at least two different grades, got {list(grades)}")
    if grades is not None and not (np.isfinite(list(grades)).all() and min(grades) >= 0):
        raise UsageError(f"grades must be numbers of at least 0, got {list(grades)}")
    families = [(str(measure), family(measure)) for measure in given]
    by_label = {label(measure): measure for _, measure in families}
    checked = []
    for i, (name, measure) in enumerate(by_label.items()):
        kinds, ties = document_kinds(measure, grades), measure.views.ties in OPEN_TIES
        size = small_rankings.default_documents(len(kinds), ties=ties) if documents is None else documents
        small_rankings.check_size(len(kinds), size, ties=ties)
        checks = PropertyChecks(measure, _all_rankings(kinds, size, ties=ties))
        paired = describe_rankings((*filter(DocumentKind.is_judged, kinds), UNJUDGED), checks.pairs.documents)
        domain = describe_rankings(kinds, size, ties=ties)
        checked.append(CheckedMeasure(name, domain, paired, checks.longest, dict(checks.verdicts())))
        if progress is not None:
            progress(i + 1, len(by_label))
    chosen = None if grades is None else tuple(sorted({float(grade) for grade in grades}))
    return Properties(tuple(checked), tuple(_notes(families)), documents, chosen)


@lru_cache(maxsize=2)
def _all_rankings(kinds: tuple[DocumentKind, ...], documents: int, *, ties: bool) -> SmallRankings:
    return small_rankings.all_rankings(kinds, documents, ties=ties)


def family(given: str | Measure) -> Measure:
    """The measure of a name that may have no cutoff, as in ``P`` and ``P@k``.

    >>> family("P").cutoff, family("nDCG@k[condensed]").cutoff, family("nDCG@10").cutoff
    (None, None, 10)
    """
    if not isinstance(given, str):
        return parse(given)
    text = given.strip()
    head, bracket, views = text.partition("[")
    if head.endswith("@k"):
        return replace(parse(f"{head[:-2]}@1{bracket}{views}"), cutoff=None)
    try:
        measure = parse(text)
    except MeasureError:
        completed = _with_cutoff(f"{head}@1{bracket}{views}")
        if completed is None:
            raise
        return completed
    # An exact symbol is that measure, even if without a cutoff it is an alias of another one.
    return measure if text not in CATALOGUE or measure.symbol == text else replace(parse(f"{text}@1"), cutoff=None)


def _with_cutoff(text: str) -> Measure | None:
    """The measure if it requires a cutoff, else None."""
    try:
        measure = parse(text)
    except MeasureError:
        return None
    return replace(measure, cutoff=None) if measure.definition.cutoff == "required" else None


def label(measure: Measure) -> str:
    """The name of a measure with a variable cutoff.

    >>> label(family("P")), label(family("nDCG@10[condensed]")), label(family("AP[terminal]")), label(family("bpref"))
    ('P@k', 'nDCG@k[condensed]', 'AP[terminal]', 'bpref')
    """
    if measure.definition.cutoff == "recall":
        return str(measure)
    open_ended = replace(measure, cutoff=None)
    return str(open_ended) if is_list(measure) else f"{replace(open_ended, views=Views())}@k{measure.views}"


def document_kinds(measure: Measure, grades: Sequence[float] | None) -> tuple[DocumentKind, ...]:
    """The kinds of documents in the rankings for a measure, by increasing relevance, unjudged last."""
    if measure.definition.content:
        raise MeasureError(
            f"{measure.symbol} reads document text, and the documents of this study have none",
            hint="check measures that use judgments only",
        )
    if measure.definition.preferences:
        raise MeasureError(
            f"{measure.symbol} needs preferences, and the documents of this study have grades",
            hint="check measures that use judgments only",
        )
    chosen = measure.chosen
    relevant = float(max(1, chosen.get("rel") or 0, chosen.get("max") or 0, (chosen.get("min") or 0) + 1))
    if measure.definition.subtopics:
        if grades is not None:
            raise UsageError(f"{measure.symbol} uses subtopics and cannot be combined with grades")
        kinds = small_rankings.subtopic_kinds(relevant)
    elif grades is None:
        kinds = [DocumentKind("0", 0.0), DocumentKind("1", relevant)]
    else:
        kinds = [DocumentKind(f"{grade:g}", float(grade)) for grade in sorted(set(grades))]
    # Unjudged documents matter to some measures only.
    return (*kinds, UNJUDGED) if measure.views.condensed or measure.definition.uses_nonrelevant else tuple(kinds)


def describe_rankings(kinds: Sequence[DocumentKind], documents: int, *, ties: bool = False) -> str:
    """A description of the rankings checked."""
    judged = [kind for kind in kinds if kind.is_judged()]
    marks = [kind.mark for kind in judged]
    if any(kind.subtopics for kind in kinds):
        states = [f"relevant to {', '.join(marks[1:])}", "to nothing"]
    elif marks == ["0", "1"]:
        states = ["relevant", "not relevant"]
    else:
        states = [f"of grade {', '.join(marks[:-1])}", marks[-1]]
    states += ["unjudged"] if len(judged) < len(kinds) else []
    documents_are = f"{', '.join(states[:-1])} or {states[-1]}"
    tied = ", without ties and with each pair of neighbours tied" if ties else ""
    number = "1 document" if documents == 1 else f"1 to {documents} documents"
    return f"all rankings of {number}, each {documents_are}{tied}; every k"


def _notes(families: Sequence[tuple[str, Measure]]) -> Iterator[str]:
    for given, measure in families:
        if measure.cutoff is not None and measure.definition.cutoff != "recall":
            yield f"{given}: checked as {label(measure)}, for every k"
    lists = dict.fromkeys(label(measure) for _, measure in families if is_list(measure))
    if lists:
        yield f"{', '.join(lists)}: k is the length of the list"
