"""What can be relied on in a measure: Moffat's seven numeric properties, and three more, tried on every small ranking.

A yes means that no ranking of the worlds searched speaks against it; a no comes with the smallest ranking that does.
The score of a ranking at k is that at cut-off k, or, where a measure has no cut-off or the end of a list counts, that
of the list of the first k documents. Comparisons with an undefined score are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield.errors import MeasureError, UsageError
from cranfield.measures import CATALOGUE, Measure, parse
from cranfield.studies import saving, worlds
from cranfield.studies.checks import MORE, PROPERTIES, SEVEN, Case, Checks, Verdict, is_list
from cranfield.studies.worlds import UNJUDGED, Kind, Worlds
from cranfield.views import Views

__all__ = ["MORE", "PROPERTIES", "SEVEN", "Case", "Checked", "Properties", "Verdict", "properties"]

OPEN_TIES = ("expected", "best", "worst")  # the other rules settle a tie before anyone looks at relevance


@dataclass(frozen=True)
class Checked:
    """One measure with a verdict on every property, in the order of `PROPERTIES`, and the worlds they are about.

    ``domain``: the rankings searched; ``paired``: those that were compared with each other (stable, neutral);
    ``longest``: the documents, all of one kind, of the longest ranking that was tried for boundedness.
    """

    measure: str
    domain: str
    paired: str
    longest: int
    verdicts: dict[str, Verdict]

    @property
    def holds(self) -> dict[str, bool | None]:
        """Whether each property holds, without the rankings that speak against it."""
        return {name: verdict.holds for name, verdict in self.verdicts.items()}


@dataclass(frozen=True)
class Properties(saving.Study):
    """The properties of several measures, in worlds of so many ``documents`` and such ``grades`` if anybody said."""

    STUDY = "properties"

    checked: tuple[Checked, ...]
    notes: tuple[str, ...] = ()
    documents: int | None = None
    grades: tuple[float, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what ``--format json`` prints."""
        measures = [
            {
                "measure": one.measure,
                "domain": one.domain,
                "paired": one.paired,
                "longest": one.longest,
                "properties": {
                    name: {"holds": v.holds, "counterexample": v.case and v.case.to_dict()}
                    for name, v in one.verdicts.items()
                },
            }
            for one in self.checked
        ]
        settings = {"documents": self.documents, "grades": self.grades and list(self.grades)}
        return {"study": self.STUDY, "settings": settings, "measures": measures, "notes": list(self.notes)}

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Properties:
        """What `to_dict` returned, as a result again."""

        def verdict(one: dict[str, Any]) -> Verdict:
            case = one["counterexample"]
            return Verdict(one["holds"], case and Case.of_dict(case))

        checked = tuple(
            Checked(
                one["measure"],
                one["domain"],
                one["paired"],
                one["longest"],
                {name: verdict(one["properties"][name]) for name in PROPERTIES},
            )
            for one in found["measures"]
        )
        settings = found["settings"]
        grades = settings["grades"]
        return cls(checked, tuple(found["notes"]), settings["documents"], grades and tuple(grades))


def properties(
    measures: str | Measure | Sequence[str | Measure],
    *,
    documents: int | None = None,
    grades: Sequence[float] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Properties:
    """Which numeric properties measures have, found by trying all small rankings.

    ``documents``: the most that a world has; 8 unless that is too many rankings. ``grades``: what documents of a world
    can be judged, instead of relevant or not. A cut-off is not needed, and one that is given is every cut-off.

    >>> import cranfield as cf
    >>> found = cf.properties("P").checked[0]
    >>> found.holds["convergent"], found.holds["top-weighted"]
    (True, False)
    >>> found.verdicts["top-weighted"].case
    Case(rankings=('01', '10'), k=(2, 2), scores=(0.5, 0.5), limit=None, judged='')
    """
    given = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    if not given:
        raise MeasureError("no measure was asked for", hint="for example: AP, nDCG, bpref")
    if grades is not None and len(set(grades)) < 2:
        raise UsageError(f"worlds need two different grades at least, not {list(grades)}")
    if grades is not None and not (np.isfinite(list(grades)).all() and min(grades) >= 0):
        raise UsageError(f"grades are numbers of 0 or more, not {list(grades)}")
    asked = [(str(one), family(one)) for one in given]
    wanted = {label(measure): measure for _, measure in asked}
    checked = []
    for i, (name, measure) in enumerate(wanted.items()):
        kinds, ties = alphabet(measure, grades), measure.views.ties in OPEN_TIES
        size = worlds.usual(len(kinds), ties=ties) if documents is None else documents
        worlds.accept(len(kinds), size, ties=ties)
        checks = Checks(measure, _every(kinds, size, ties))
        paired = domain((*filter(Kind.is_judged, kinds), UNJUDGED), checks.pairs.documents)
        whole = domain(kinds, size, ties=ties)
        checked.append(Checked(name, whole, paired, checks.longest, dict(checks.verdicts())))
        if progress is not None:
            progress(i + 1, len(wanted))
    chosen = None if grades is None else tuple(sorted({float(grade) for grade in grades}))
    return Properties(tuple(checked), tuple(_notes(asked)), documents, chosen)


@lru_cache(maxsize=2)
def _every(kinds: tuple[Kind, ...], documents: int, ties: bool) -> Worlds:
    return worlds.every(kinds, documents, ties=ties)


def family(given: str | Measure) -> Measure:
    """The measure of a name that may leave the cut-off open, as in ``P`` and ``P@k``.

    >>> family("P").cutoff, family("nDCG@k[condensed]").cutoff, family("nDCG@10").cutoff
    (None, None, 10)
    """
    if isinstance(given, Measure):
        return given
    text = given.strip()
    head, bracket, views = text.partition("[")
    if head.endswith("@k"):
        return replace(parse(f"{head[:-2]}@1{bracket}{views}"), cutoff=None)
    try:
        found = parse(text)
    except MeasureError:
        lacking = _completed(f"{head}@1{bracket}{views}")
        if lacking is None:
            raise
        return lacking
    # A symbol to the letter is that measure, though without a cut-off it may be another's alias.
    return found if text not in CATALOGUE or found.symbol == text else replace(parse(f"{text}@1"), cutoff=None)


def _completed(text: str) -> Measure | None:
    """The measure, where it was only the cut-off that was missing."""
    try:
        found = parse(text)
    except MeasureError:
        return None
    return replace(found, cutoff=None) if found.definition.cutoff == "required" else None


def label(measure: Measure) -> str:
    """What a measure is called whose cut-off varies.

    >>> label(family("P")), label(family("nDCG@10[condensed]")), label(family("AP[terminal]")), label(family("bpref"))
    ('P@k', 'nDCG@k[condensed]', 'AP[terminal]', 'bpref')
    """
    if measure.definition.cutoff == "recall":
        return str(measure)
    open_ended = replace(measure, cutoff=None)
    return str(open_ended) if is_list(measure) else f"{replace(open_ended, views=Views())}@k{measure.views}"


def alphabet(measure: Measure, grades: Sequence[float] | None) -> tuple[Kind, ...]:
    """What documents can be in the worlds of a measure, from the least relevant to the most, the unjudged last."""
    if measure.definition.content:
        raise MeasureError(
            f"{measure.symbol} reads documents: its scores follow from their words, and small worlds have none",
            hint="measures that read judgments alone can be checked",
        )
    if measure.definition.preferences:
        raise MeasureError(
            f"{measure.symbol} needs preferences: small worlds have grades",
            hint="measures that read judgments alone can be checked",
        )
    chosen = measure.chosen
    relevant = float(max(1, chosen.get("rel") or 0, chosen.get("max") or 0, (chosen.get("min") or 0) + 1))
    if measure.definition.subtopics:
        if grades is not None:
            raise UsageError(f"{measure.symbol} looks at subtopics: its worlds have these in place of grades")
        kinds = worlds.diverse(relevant)
    elif grades is None:
        kinds = [Kind("0", 0.0), Kind("1", relevant)]
    else:
        kinds = [Kind(f"{grade:g}", float(grade)) for grade in sorted(set(grades))]
    # Where it matters who was judged, some are not.
    return (*kinds, UNJUDGED) if measure.views.condensed or measure.definition.uses_nonrelevant else tuple(kinds)


def domain(kinds: Sequence[Kind], documents: int, *, ties: bool = False) -> str:
    """The worlds in words."""
    judged = [kind for kind in kinds if kind.is_judged()]
    marks = [kind.mark for kind in judged]
    if any(kind.about for kind in kinds):
        known = [f"about {', '.join(marks[1:])}", "about nothing"]
    elif marks == ["0", "1"]:
        known = ["relevant", "not relevant"]
    else:
        known = [f"of grade {', '.join(marks[:-1])}", marks[-1]]
    known += ["not judged"] if len(judged) < len(kinds) else []
    what = f"{', '.join(known[:-1])} or {known[-1]}"
    tied = ", without ties and with each pair of neighbours tied" if ties else ""
    many = "1 document" if documents == 1 else f"1 to {documents} documents"
    return f"all rankings of {many}, each {what}{tied}; every k"


def _notes(asked: Sequence[tuple[str, Measure]]) -> Iterator[str]:
    for given, measure in asked:
        if measure.cutoff is not None and measure.definition.cutoff != "recall":
            yield f"{given}: checked as {label(measure)}, at every k"
    lists = dict.fromkeys(label(measure) for _, measure in asked if is_list(measure))
    if lists:
        yield f"{', '.join(lists)}: k is the length of the list"
