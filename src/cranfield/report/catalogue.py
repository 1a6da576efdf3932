"""The catalogue in words: lists of measures, and all about one of them."""

from __future__ import annotations

import inspect
import json
import math
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from cranfield.errors import CranfieldError, UsageError
from cranfield.evaluation.evaluator import evaluate
from cranfield.measures import CATALOGUE, FAMILIES, parse
from cranfield.measures.catalogue import Definition, Measure
from cranfield.measures.parameters import GainParameter, Parameter
from cranfield.report import bibliography
from cranfield.report.table import BOLD, PLAIN

# What the parameters that measures share mean; each measure's own text tells of the rest.
MEANING = {
    "rel": "the lowest grade that counts as relevant",
    "gain": "what a grade is worth",
    "max": "the top grade, by which gains are scaled; else the highest in the judgments",
    "norm": "divide by all relevant documents (R), or by as many as could be in the first k (min)",
    "stop": "where readers stop: more at better documents (gu), or more at earlier ones (rb)",
    "utility": "what documents read are worth: precision (P), the blended ratio (BR), or p to the power of rank (IE)",
    "weights": "how many readers want at least a grade: more of them higher grades (rising), or as many each (even)",
    "discount": "log2 discounts from rank 2 on, jk from rank `base` on",
    "base": "the base of the logarithm",
    "p": "the chance to go on to the next document",
    "beta": "how much recall (or gain) weighs",
    "gamma": "the weight of subtopic recall against gain; in NCU, the chance to go on after a relevant document",
    "alpha": "the chance that a subtopic, once met, has been satisfied",
    "T": "how many useful documents the user hopes for",
    "k": "the cut-off",
    "graded": "count gains in [0, 1] instead of relevant or not",
    "ideal": "the perfect ranking to compare with: as published, or one that cannot be beaten (bounded, exact)",
    "horizon": "the rank after which nothing counts",
    "mu": "how many words of the collection smooth a model",
    "theta": "the chance to go on to the next document",
    "whole": "take the query as one subtopic",
    "rule": "how a share of the relevant documents is rounded to a number of them",
}
CUTOFFS = {"none": "{0}", "optional": "{0}, {0}@k", "required": "{0}@k", "recall": "{0}@recall"}

# Grades of a small ranking with everything in it: a tie, a document nobody judged, one never retrieved.
RANKING: tuple[Any, ...] = (1, None, (2, 0), 0, 1)
MISSED = (2,)
STORY = "grades 1, unjudged, then 2 and 0 tied, 0, 1; another document of grade 2 was not found"
VARIANTS = ("", "[ties=expected]", "[ties=best]", "[ties=worst]", "[condensed]", "[terminal]")
# The same for measures of diversity, whose documents are about something.
DIVERSE_RUN = {"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}}
DIVERSE_QRELS = {"q": {"a": {"1": 1}, "b": {"1": 1, "2": 1}, "d": {"3": 1}}}
DIVERSE_STORY = "documents about subtopic 1, then about 1 and 2 tied with an unjudged one, then about 3"
# And for those that read them.
READ_TEXTS = {"a": "lamp oil lamp", "b": "oil lamp wick", "c": "sea gull", "d": "wick trimmed at dusk", "e": "dusk sea"}
READ_RUN = {"q": {"b": 3.0, "c": 2.0, "d": 2.0, "a": 1.0}}
READ_QRELS = {"q": {"a": {"1": 1}, "d": {"2": 1}}}
READ_STORY = (
    "relevant are `lamp oil lamp` to subtopic 1, `wick trimmed at dusk` to 2; found are unjudged `oil lamp wick`, then "
    "unjudged `sea gull` tied with the second, then the first; `dusk sea` is in the collection"
)


@dataclass(frozen=True)
class Found:
    """What a person asked about: a measure of the catalogue, and its parameters where they gave any."""

    definition: Definition
    measure: Measure | None


def find(name: str) -> Found:
    """The measure of this name; a bare symbol will do for one that needs a cut-off."""
    try:
        measure = parse(name)
    except CranfieldError:
        if name not in CATALOGUE:
            raise
        return Found(CATALOGUE[name], None)
    # A symbol to the letter is that measure, though without a cut-off it may be another's alias.
    if name in CATALOGUE and measure.symbol != name:
        return Found(CATALOGUE[name], None)
    return Found(measure.definition, measure)


def of_family(family: str | None) -> list[Definition]:
    """The measures of a family (its beginning will do), or all of them."""
    families = [module.__name__.rpartition(".")[2] for module in FAMILIES]
    wanted = "" if family is None else family.lower().replace(" ", "_").replace("-", "_")
    found = [d for name in families if name.startswith(wanted) for d in CATALOGUE.values() if d.family == name]
    if not found:
        raise UsageError(f"unknown family `{family}`", hint=f"one of {', '.join(families)}")
    return found


def as_json(definitions: Iterable[Definition]) -> str:
    """The facts of each measure as data."""
    return json.dumps([_facts(d) for d in definitions], indent=2, ensure_ascii=False) + "\n"


def _facts(d: Definition) -> dict[str, Any]:
    return {
        "measure": d.symbol,
        "family": d.family,
        "title": d.title,
        "summary": d.summary,
        "usage": d.usage,
        "formula": d.formula,
        "bounds": [limit if math.isfinite(limit) else None for limit in d.bounds],
        "parameters": {p.name: {"default": p.default, "allowed": allowed(p)} for p in d.parameters.values()},
        "aggregate": d.aggregate,
        "residual": d.residual is not None,
        "cite": d.cite.split(),
    }


def listing(definitions: Iterable[Definition], *, width: int, colour: bool) -> str:
    """Measures by family, each with one sentence."""
    rows = [(d.family, CUTOFFS[d.cutoff].format(d.symbol), d.summary) for d in definitions]
    column = max(len(name) for _, name, _ in rows) + 2
    lines = []
    for family, members in groupby(rows, key=lambda row: row[0]):
        lines.append(_bold(family.replace("_", " "), colour))
        for _, name, summary in members:
            lines += _hanging(f"  {name:<{column}}", summary, width)
        lines.append("")
    return "\n".join(lines)


def allowed(p: Parameter) -> str:
    """The values that a parameter may take, in words."""
    if p.choices:
        more = " or a map {grade: gain}" if isinstance(p, GainParameter) else ""
        return "one of " + ", ".join(map(repr, p.choices)) + more
    if p.kind is bool:
        return "True or False"
    number = "a whole number" if p.kind is int else "a number"
    bounded = p.range is not None and (math.isfinite(p.range.low) or math.isfinite(p.range.high))
    return f"{number} {p.range}" if bounded else number


def description(found: Found, *, width: int, colour: bool) -> str:
    """All about one measure, in the order in which people ask."""
    d = found.definition
    doc = (inspect.getdoc(d.function) or "").split(">>>")[0].split("\n\n")[1:]
    lines = [f"{_bold(d.symbol, colour)}  {d.title}", ""]
    for paragraph in [d.summary, *doc]:
        if paragraph.strip():
            lines += [*textwrap.wrap(" ".join(paragraph.split()), width), ""]
    facts = [("written", d.usage), ("formula", d.formula), *_parameters(d), ("bounds", _bounds(d))]
    facts += [("ties", _ties(d)), ("residual", _residual(d)), ("terminal", _terminal(d))]
    facts += [("over queries", d.aggregate)]
    facts += [("source", bibliography.reference(key)) for key in d.cite.split()]
    for name, text in facts:
        lines += _hanging(f"{name:<14}", text, width)
    lines += ["", *_example(found, width, colour)]
    return "\n".join(lines) + "\n"


def _parameters(d: Definition) -> Iterator[tuple[str, str]]:
    heading = "parameters"
    for p in d.parameters.values():
        meaning = f": {MEANING[p.name]}" if p.name in MEANING else ""
        default = "" if p.default in (None, ...) else f"; {_value(p.default)} unless given"
        yield heading, f"{p.name}{meaning}; {allowed(p)}{default}"
        heading = ""


def _value(default: Any) -> str:
    return f"{default:g}" if isinstance(default, float) else repr(default)


def _bounds(d: Definition) -> str:
    low, high = d.bounds
    if low == -math.inf:
        return "none"
    return f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} or more"


def _ties(d: Definition) -> str:
    return f"ties=expected is {d.ties.summary}{', sampled where they are many' if d.ties.samples else ''}"


def _terminal(d: Definition) -> str:
    return f"none: {d.terminal}" if d.terminal else "yes: --terminal takes the end of a list as an answer"


def _residual(d: Definition) -> str:
    return "yes: --residual shows what unjudged documents leave open" if d.residual else "none"


def _example(found: Found, width: int, colour: bool) -> Iterator[str]:
    d = found.definition
    base = str(found.measure) if found.measure else f"{d.symbol}@{0.5 if d.cutoff == 'recall' else 3}"
    variants = [base] if base.endswith("]") else [base + variant for variant in VARIANTS]
    scored = [(name, value) for name in variants if (value := _scored(name, d)) is not None]
    if not scored:
        return
    yield _bold("example", colour)
    story = READ_STORY if d.content else DIVERSE_STORY if d.subtopics else STORY
    yield from textwrap.wrap(story, width, initial_indent="  ", subsequent_indent="  ")
    column = max(len(name) for name, _ in scored) + 2
    for name, value in scored:
        yield f"  {name:<{column}}{value:.4f}"


def _scored(name: str, d: Definition) -> float | None:
    """The score of the example, or None where the measure has no meaning for it."""
    try:
        if d.content:
            value = evaluate(READ_QRELS, READ_RUN, name, corpus=READ_TEXTS).summary(0, 0)
        elif d.subtopics:
            value = evaluate(DIVERSE_QRELS, DIVERSE_RUN, name).summary(0, 0)
        else:
            value = parse(name)(RANKING, MISSED)
    except CranfieldError:
        return None
    return None if math.isnan(value) else value


def _hanging(head: str, text: str, width: int) -> list[str]:
    # A column of prose needs some room, however narrow the screen.
    room = max(width, len(head) + 30)
    return textwrap.wrap(text, room, initial_indent=head, subsequent_indent=" " * len(head)) or [head.rstrip()]


def _bold(text: str, colour: bool) -> str:
    return f"{BOLD}{text}{PLAIN}" if colour else text
