"""The syntax of measures, ``NAME(parameter=value, ...)@cutoff[view, ...]``; names of other tools are accepted, too."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable
from dataclasses import fields
from typing import Any

from cranfield.errors import MeasureError
from cranfield.measures.aliases import (
    CUTOFF_KEYWORDS,
    KEYWORDS,
    LIU,
    NAMES,
    NOT_HERE,
    PRIMES,
    SAKAI,
    respell,
    translate,
)
from cranfield.measures.catalogue import CATALOGUE, Definition, Measure, Parameter, Rank
from cranfield.measures.own import measure_of
from cranfield.ranking.tie_rules import TIES
from cranfield.ranking.views import Views
from cranfield.settings import Share, walk
from cranfield.wording import nearest

SHAPE = re.compile(
    r"(?P<name>[^\W\d]\w*)\s*(?:\((?P<inside>.*)\))?\s*(?:@\s*(?P<at>[^\[\]()\s]+))?\s*(?:\[(?P<views>[^\[\]]*)\])?"
)
CUTOFF_FIRST = re.compile(
    r"^([\w.]+)(@[\d.]+)(\(.*\))"
)  # a cutoff before the parameters, as in xinfAP@20(version=2012)
ELSEWHERE = "`cranfield measures WORD` finds measures; --measures-file adds your own"
# Measures in words, where the functions of the catalogue have other names.
IN_WORDS = {
    **dict.fromkeys(("hit", "hit_ratio", "hitratio", "hits_at", "success_rate"), "Success"),
    "average_reciprocal_rank": "RR",
    "normalized_discounted_cumulative_gain": "nDCG",
    "normalized_dcg": "nDCG",
    "discounted_cumulative_gain": "DCG",
    "r_prec": "Rprec",
    "prec": "P",
    "rec": "R",
}
CUTOFFS = {"recall": Parameter("recall", walk(Share), ...)}
RANK = Parameter("the cutoff", walk(Rank), ...)


def parse(text: Any, keep: Collection[str] = ()) -> Measure:
    """The measure with this name.

    Parameters
    ----------
    text
        A name with parameters, cutoff and views, such as ``nDCG(gain='exp')@10[condensed]``; names of trec_eval,
        ir_measures and ranx are understood, too.
    keep
        Parameters that the measure keeps even if they have their default value.

    Returns
    -------
    Measure
        ``str`` of it is its name without defaults, which parses to the same measure.

    Examples
    --------
    >>> str(parse("nDCG(gain='exp', discount='log2')@10"))
    "nDCG(gain='exp')@10"
    >>> str(parse("map")), str(parse("P_10")), str(parse("AP(judged_only=True)"))
    ('AP', 'P@10', 'AP[condensed]')
    """
    if isinstance(text, Measure):
        return text
    if hasattr(text, "NAME") and hasattr(text, "params"):
        text = str(text)  # a measure of ir_measures
    if callable(text):
        return measure_of(text)
    if not isinstance(text, str):
        raise MeasureError(f"a measure must be a name such as 'nDCG@10' or a function of a ranking, not {text!r}")
    measure = respell(CUTOFF_FIRST.sub(r"\1\3\2", text.strip(), count=1))
    parts = _shape(measure)
    if parts is None or parts["name"] not in CATALOGUE or (parts["name"] == "RPrec" and not parts["at"]):
        # RPrec without a cutoff is the Rprec of ir_measures.
        parts = _shape(translate(measure) or "")
    if parts is None or parts["name"] not in CATALOGUE:
        raise _unknown(text)
    definition = CATALOGUE[parts["name"]]
    given, views = _arguments(parts["inside"] or "", measure), _views(parts["views"] or "", measure)
    for name in CUTOFF_KEYWORDS:
        if name in given and parts["at"] is None:
            parts["at"] = str(given.pop(name))
    chosen, views = _renamed(given, views, definition, measure, keep)
    cutoff = _cutoff(parts["at"], definition, measure)
    if needed := next((p.name for p in definition.own.values() if p.default is ... and p.name not in chosen), None):
        raise MeasureError(f"`{text}` needs the parameter `{needed}`", hint=f"its syntax is {definition.usage}")
    kept = tuple((name, chosen[name]) for name in definition.parameters if name in chosen)
    # A name that a user defines again later still means what it meant here.
    return Measure(definition.symbol, kept, cutoff, views, definition if definition.is_own else None)


def parse_all(texts: Iterable[Any], keep: Collection[str] = ()) -> list[Measure]:
    """The measures with these names; one error names all that are wrong.

    ``keep``: parameters that are kept even if they have their default value.
    """
    measures, errors = list[Measure](), dict[str, MeasureError]()
    for text in texts:
        try:
            measures.append(parse(text, keep))
        except MeasureError as error:
            errors.setdefault(error.message, error)
    if len(errors) > 1:
        hints = (f"{error.message} ({error.hint})" if error.hint else error.message for error in errors.values())
        raise MeasureError("\n".join(hints))
    if errors:
        raise next(iter(errors.values()))
    return measures


def _shape(text: str) -> dict[str, str] | None:
    match = SHAPE.fullmatch(text)
    return match.groupdict() if match else None


def _arguments(inside: str, where: str) -> dict[str, Any]:
    try:
        return _keyword_arguments(ast.parse(f"f({inside})", mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        raise MeasureError(
            f"cannot parse the parameters of `{where}`", hint="write them as name=value, for example RBP(p=0.8)"
        ) from None


def _keyword_arguments(call: ast.expr) -> dict[str, Any]:
    # The function of a call such as f(...)(...) is not a name.
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ValueError("not a list of keyword arguments")
    names = [keyword.arg for keyword in call.keywords]
    if None in names or len(set(names)) < len(names):
        raise ValueError("a keyword without a name, or given twice")
    return {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}


def _value(node: ast.expr) -> Any:
    # gain=exp means gain='exp', because shells remove quotes.
    if isinstance(node, ast.Name):
        return node.id
    value = ast.literal_eval(node)
    if isinstance(node, ast.Dict) and len(value) < len(node.keys):
        raise ValueError("a grade with two gains")
    return value


def _renamed(
    given: dict[str, Any], views: Views, definition: Definition, where: str, keep: Collection[str]
) -> tuple[dict[str, Any], Views]:
    """The checked parameters that differ from their defaults, under our names; ``judged_only`` becomes a view."""
    chosen = {}
    for name, value in given.items():
        if name == "judged_only":
            views = Views(condensed=bool(value)).over(views)
            continue
        ours: tuple[str | None, Any] = (name, value)
        if name not in definition.parameters and name in KEYWORDS:
            ours = KEYWORDS[name](value)
        if ours[0] is None:
            continue
        if ours[0] not in definition.parameters:
            close = nearest(name, definition.parameters)
            names = ", ".join(definition.parameters)
            others = f"its parameters are {names}" if names else "it has no parameters"
            hint = f"did you mean `{close}`?" if close else others
            raise MeasureError(f"`{where}`: {definition.symbol} has no parameter `{name}`", hint=hint)
        parameter = definition.parameters[ours[0]]
        checked = parameter.check(ours[1], f"`{where}`")
        if checked != parameter.default or parameter.name in keep:
            chosen[parameter.name] = checked
    return chosen, views


def _cutoff(at: str | None, definition: Definition, where: str) -> float | None:
    if at is None:
        if definition.cutoff in ("required", "recall"):
            example = "0.1" if definition.cutoff == "recall" else "10"
            raise MeasureError(f"`{where}` needs a cutoff", hint=f"for example `{definition.symbol}@{example}`")
        return None
    if definition.cutoff == "none":
        raise MeasureError(
            f"`{where}`: {definition.symbol} has no cutoff",
            hint=f"to truncate the ranking, write `{definition.symbol}[depth={at}]`",
        )
    try:
        value = float(at)
    except ValueError:
        raise MeasureError(f"`{where}`: the cutoff must be a number, not `{at}`") from None
    checked = CUTOFFS.get(definition.cutoff, RANK).check(value, f"`{where}`")
    return float(checked) if definition.cutoff == "recall" else int(checked)


def _views(inside: str, where: str) -> Views:
    flags = [view.name for view in fields(Views) if view.default is False]
    numbers = [view.name for view in fields(Views) if view.default is None and view.name != "ties"]
    given: dict[str, Any] = {}
    for part in filter(None, (p.strip() for p in inside.split(","))):
        name, _, value = (x.strip() for x in part.partition("="))
        if name in given:
            raise MeasureError(f"`{where}`: {name} is given twice")
        if name == "ties" and value in TIES:
            given[name] = value
        elif name == "ties":
            raise MeasureError(f"`{where}`: unknown tie rule `{value}`", hint=f"use one of {', '.join(TIES)}")
        elif name in numbers and value.isdecimal() and 0 < int(value) < 10**9:
            given[name] = int(value)
        elif name in numbers:
            raise MeasureError(f"`{where}`: {name} must be a whole number of at least 1, not `{value}`")
        elif name in flags and not value:
            given[name] = True
        else:
            close = nearest(name, ["ties", *numbers, *flags])
            views = ["ties=RULE", *(f"{number}=N" for number in numbers), *flags]
            hint = f"did you mean `{close}`?" if close else f"the views are {', '.join(views)}"
            raise MeasureError(f"`{where}`: unknown view `{part}`", hint=hint)
    return Views(**given)


def _unknown(text: str) -> MeasureError:
    message = f"unknown measure `{text}`"
    several = re.split(r"[,;\s]+", text.strip().strip(",;"))
    wanted = all if re.search(r"[(\[]", text) else any  # parameters may have spaces and commas of their own
    if len(several) > 1 and wanted(map(is_measure, several)):
        return MeasureError(
            message,
            hint=f'separate measures by spaces, as in -m "{" ".join(several)}", or repeat -m; in Python, use a list',
        )
    name = re.split(r"\s*[(@\[]", text.strip())[0]
    if name.replace("-", "_").casefold() in NOT_HERE:
        return MeasureError(message, hint=NOT_HERE[name.replace("-", "_").casefold()])
    if name in {**SAKAI, **LIU}:
        return MeasureError(message, hint=PRIMES)
    if name in CATALOGUE or name.replace("-", "_").casefold() in NAMES:
        return MeasureError(message, hint="the syntax is NAME(parameter=value, ...)@cutoff[view, ...]")
    close = _suggestion(name, text.strip()[len(name) :])
    return MeasureError(message, hint=f"did you mean `{close}`? {ELSEWHERE}" if close else ELSEWHERE)


def is_measure(text: str) -> bool:
    """Whether a text is the name of a measure."""
    try:
        parse(text)
    except MeasureError:
        return False
    return True


def _suggestion(name: str, rest: str) -> str | None:
    """A measure that may be meant: a cutoff without @, a name in words, or a misspelt name."""
    if (short := re.fullmatch(r"([^\W\d]+?)(?:_at)?[_-]*(\d+)", name)) and not rest:
        at = translate(f"{short[1]}@{short[2]}") or f"{short[1]}@{short[2]}"
        if is_measure(at):
            return at
    in_words = {definition.function.__name__: symbol for symbol, definition in CATALOGUE.items()} | IN_WORDS
    words = re.sub(r"[\W_]+", "_", name.casefold()).removeprefix("mean_").replace("normalised", "normalized")
    if words in in_words:
        return f"{in_words[words]}{rest}"
    names = {n.casefold(): n for n in [*NAMES, *CATALOGUE] if len(n) > 1}  # a single letter is like any short word
    letters = sorted(name.casefold())
    swapped = next((n for n in names if sorted(n) == letters), None)
    close = swapped or nearest(name.casefold(), names, cutoff=0.6)
    return f"{NAMES.get(names[close], names[close])}{rest}" if close else None
