"""Notes: what a reader of scores has to know, as records that writers turn into sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cranfield.wording import few, plural

Kind = Literal[
    "queries_counted",
    "undefined",
    "subtopic_grades",
    "corpus_unused",
    "unweighted_queries",
    "unjudged_weights",
    "unweighted_subtopics",
    "unanswered_queries",
    "unjudged_queries",
    "unjudged_documents",
    "tie_range",
    "tie_small",
    "tie_unknown",
    "sampled_orders",
    "not_bounds",
    "relevant_not_in_corpus",
    "subtopics_without_model",
    "read_not_in_corpus",
]
# Notes about what was given rather than about scores.
ABOUT_INPUTS: tuple[Kind, ...] = ("corpus_unused", "unweighted_queries", "unjudged_weights", "unweighted_subtopics")
SMALL = 0.00005  # a change of a mean that four decimals do not show


@dataclass(frozen=True)
class QueryNames:
    """How many queries something is true of, and the first few of them."""

    count: int = 0
    first: Sequence[str] = ()

    @classmethod
    def of(cls, names: Sequence[str]) -> QueryNames:
        return cls(len(names), names)

    def __str__(self) -> str:
        shown = ", ".join(self.first[:5]) + (", ..." if self.count > 5 else "")
        return f"{plural(self.count, 'query')} ({shown})"


@dataclass(frozen=True)
class Note:
    """One fact about scores: its kind, the run and the measure it is about, if any, and its numbers."""

    kind: Kind
    run: str | None = None
    measure: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return "; ".join(SENTENCES[self.kind]([self]))


def sentences(notes: Iterable[Note]) -> list[str]:
    """The notes as sentences, in order; notes of one kind on one run share a sentence where they can."""
    groups: dict[tuple[Kind, str | None], list[Note]] = {}
    for note in dict.fromkeys(notes):
        groups.setdefault((note.kind, note.run), []).append(note)
    return [sentence for (kind, _), group in groups.items() for sentence in SENTENCES[kind](group)]


def input_notes(notes: Iterable[Note]) -> list[str]:
    """The sentences about judgments, weights and corpus, for readers who look at something else than means."""
    return sentences(note for note in notes if note.kind in ABOUT_INPUTS)


def _each(sentence: Callable[[Note], str]) -> Callable[[Sequence[Note]], list[str]]:
    return lambda group: [sentence(note) for note in group]


COUNTED = {
    "judged": "means are over all judged queries: {n}",
    "both": "means are over the judged queries that a run answers",
    "run": "means are over all queries that a run answers",
}
UNDEFINED = {"skip": "left out of means", "zero": "counted 0", "one": "counted 1", "error": "refused"}


def _unanswered(note: Note) -> str:
    treated = "scored as empty rankings" if note.values["counted"] == "judged" else "not counted"
    return f"{note.run} does not answer {note.values['queries']}: {treated}"


def _unjudged_documents(group: Sequence[Note]) -> list[str]:
    shares = []
    for note in group:
        depth, share = note.values["depth"], note.values["share"]
        text = "over 99%" if 0.995 <= share < 1 else f"{share:.0%}"
        shares.append(f"{text} of {'everything retrieved' if depth is None else f'the top {depth}'}")
    return [f"{group[0].run}: nobody judged {', '.join(shares)}"]


def _tie_range(group: Sequence[Note]) -> list[str]:
    ranges = (f"{note.measure} between {note.values['low']:.4f} and {note.values['high']:.4f}" for note in group)
    return [f"{group[0].run}: tied scores could put {', '.join(ranges)}"]


def _measures(group: Sequence[Note]) -> str:
    return ", ".join(str(note.measure) for note in group)


def _sampled(note: Note) -> str:
    return (
        f"{note.run}: {note.measure} has too many tie orders to take them all for {note.values['queries']} queries; "
        f"sampled, standard error of the mean {note.values['error']:.2g}"
    )


def _relevant_not_in_corpus(note: Note) -> str:
    absent, relevant = note.values["absent"], note.values["relevant"]
    name = note.values["judgments"]
    return f"{name}: {absent:,} of {relevant:,} relevant documents are not in the corpus, and teach nothing"


def _without_model(note: Note) -> str:
    without, subtopics = note.values["without"], note.values["subtopics"]
    name = note.values["judgments"]
    return f"{name}: {without:,} of {subtopics:,} subtopics have no model of what is relevant to them: left out"


def _read_not_in_corpus(group: Sequence[Note]) -> list[str]:
    labels: dict[tuple[int, int], list[str]] = {}
    for note in group:
        labels.setdefault((note.values["absent"], note.values["read"]), []).append(str(note.measure))
    told = []
    for (absent, read), names in labels.items():
        which = f" ({', '.join(names)})" if len(labels) > 1 else ""
        told.append(
            f"{group[0].run}: {absent:,} of {read:,} documents read{which} are not in the corpus, and add nothing"
        )
    return told


def _unweighted_subtopics(note: Note) -> str:
    subtopics = note.values["subtopics"]
    counted = plural(len(subtopics), "subtopic")
    return f"{note.values['name']} gives no weight to {counted} with relevant documents ({few(subtopics)}): not counted"


SENTENCES: dict[Kind, Callable[[Sequence[Note]], list[str]]] = {
    "queries_counted": _each(lambda note: COUNTED[note.values["counted"]].format(n=note.values["queries"])),
    "undefined": _each(
        lambda note: f"{note.measure} is undefined for {note.values['queries']}, {UNDEFINED[note.values['policy']]}"
    ),
    "subtopic_grades": lambda group: [
        f"{group[0].values['judgments']} has judgments by subtopic: to {_measures(group)} a document's highest grade"
        " counts"
    ],
    "corpus_unused": lambda group: ["no measure asked for reads documents: the corpus was not opened"],
    "unweighted_queries": _each(
        lambda note: f"{note.values['name']} has no weights for {note.values['queries']}: all subtopics alike"
    ),
    "unjudged_weights": _each(
        lambda note: f"{note.values['name']} has weights for {note.values['queries']} that nobody judged: not used"
    ),
    "unweighted_subtopics": _each(_unweighted_subtopics),
    "unanswered_queries": _each(_unanswered),
    "unjudged_queries": _each(
        lambda note: f"{note.run} answers {note.values['queries']} that nobody judged: not counted"
    ),
    "unjudged_documents": _unjudged_documents,
    "tie_range": _tie_range,
    "tie_small": lambda group: [f"{group[0].run}: tied scores could move {_measures(group)} by less than 0.0001"],
    "tie_unknown": lambda group: [
        f"{group[0].run}: tied scores could move {_measures(group)}; ties=expected is the mean over all orders"
    ],
    "sampled_orders": _each(_sampled),
    "not_bounds": _each(
        lambda note: f"{note.measure}: lowest and highest are of the judgments tried, and are not bounds"
    ),
    "relevant_not_in_corpus": _each(_relevant_not_in_corpus),
    "subtopics_without_model": _each(_without_model),
    "read_not_in_corpus": _read_not_in_corpus,
}
