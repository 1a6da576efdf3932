"""Every measure by case, settings and tie rule, as short digests; and the values themselves of the plain settings.

A cell is a digest of the values of all queries, in seven characters, and one of the mean, in two. It is ``-`` where the
measure does not allow the tie rule. Every door is held against this one table.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import doors
import numpy as np
from doors import CASES, DOORS, Refused, RefusedCase, Values
from numpy._core._multiarray_umath import __cpu_features__

from every_measure import GAINING, VARIANTS

TABLE = Path(__file__).with_name("values.txt")
PLAIN_VALUES = Path(__file__).with_name("plain_values.txt")
OF_DOORS = Path(__file__).with_name("doors.txt")
TIES = ("trec", "trec9", "expected", "best", "worst", "input", "rank")
NARROWED = "NPY_DISABLE_CPU_FEATURES"
FEW_TIES = ("trec", "expected")
QUERIES, MEAN = 7, 2  # characters of the digests of a cell

GRADED = [*(name for names in VARIANTS.values() for name in names), *GAINING]
FIRST = [names[0] for names in VARIANTS.values()]
COSTS = [name for symbol in ("TBG", "U", "IFT_C2", "IFT", "BPMD", "AP") for name in VARIANTS[symbol]]
DIVERSE = [
    *("alpha_DCG", "alpha_DCG(alpha=0.2, rel=2)@3", "alpha_nDCG", "alpha_nDCG@3", "alpha_nDCG(ideal='exact')@2"),
    *("ERR_IA", "ERR_IA@3", "ERR_IA(norm='paper')@2", "nERR_IA", "nERR_IA@3", "NRBP", "NRBP(alpha=0.2, beta=0.7)@3"),
    *("nNRBP", "nNRBP@3", "AP_IA", "AP_IA(rel=2)@3", "P_IA@3", "StRecall@1", "StRecall@4", "nDCG_IA", "nDCG_IA@3"),
    *("D_nDCG", "D_nDCG(discount='jk')@3", "Dsharp_nDCG@3", "Dsharp_nDCG(gamma=0.25)@9", "D_Q@3", "D_Q(beta=10)@9"),
    *("Dsharp_Q@3", "DIN_nDCG@3", "DIN_nDCG@9", "DINsharp_nDCG@3", "DIN_Q@3", "DIN_Q@9", "DINsharp_Q@3"),
    *("PplusQ@3", "PplusQ@9", "PplusQsharp@3", "IA_ERR@3", "IA_ERR(gain='exp')@9", "IA_nERR@3"),
    *("AP", "nDCG@3", "NumRel"),
]
CONTENT = [
    *("ABSNB", "ABSNB(mu=10)@3", "ABSRB", "ABSRB(mu=10, theta=0.5)@3", "DELTANB", "DELTANB(whole=True)@3"),
    *("DELTARB", "DELTARB(mu=10)@3", "DELTARB(whole=True, rel=2)@4"),
]
PREFERENCES = [
    *("Prefs", "Prefs(by='group')", "NumPrefs", "NumPrefsMet", "PrefsR", "PrefsR(fixed=True)"),
    *("Prefs(by='pair')", "Prefs(count='implied')", "Prefs(count='retrieved')", "NumPrefsMet(count='implied')"),
    *("NumPrefsMet(count='retrieved')", "PrefsR(count='implied')", "PrefsR(count='retrieved')"),
]
GROUPED = [f"{name}[groups]" for name in ("AP", "nDCG@3", "RR", "P@3", "RBP", "bpref", "Q", "ERR(max=3)", "NumRel")]
STRATIFIED = [
    *(
        "xinfAP",
        "xinfAP@3",
        "xinfAP(version=2012)",
        "infnDCG",
        "infnDCG@3",
        "infnDCG(version=2012)",
        "infnDCG(grade_order='string')",
        "infP@3",
    ),
    *("infNumRel", "infNumRelRet", "infNumRelRet@3", "infIPrec@0.2", "infIPrec@0.5", "AP", "infAP"),
    *("P@3[sampled]", "DCG@3[sampled]", "CG[sampled]", "RBP[sampled]", "InvSq[sampled]"),
]
INCLUDED = [
    *("statAP", "statAP(version=3)", "statAP(method='sampled')", "statAP_variance", "statP@3", "statRPrec"),
    *("statNumRel", "statnDCG@3", "P@3[sampled]", "RBP[sampled]"),
]
NAMES = {
    "graded": GRADED,
    "costs": COSTS,
    "subtopics": DIVERSE,
    "intents": DIVERSE,
    "content": CONTENT,
    "preferences": PREFERENCES,
    "groups": GROUPED,
    "strata": STRATIFIED,
    "inclusion": INCLUDED,
    "dense": GRADED,
}


class Part(NamedTuple):
    """A part of the table: measures of a case with some settings, by tie rule."""

    case: str
    settings: dict[str, Any]
    ties: tuple[str, ...] = TIES
    few: bool = False  # one variant of each measure

    @property
    def title(self) -> str:
        return " ".join([self.case, *(f"{name}={value}" for name, value in self.settings.items())])

    def measures(self, ties: str) -> list[str]:
        """The measures of this part that have its views, as Cranfield writes them."""
        return [name for name in _names(self.case, few=self.few) if self._allows(name, ties)]

    def _allows(self, name: str, ties: str) -> bool:
        views = [f"ties={ties}", *(view for view in ("condensed", "terminal") if self.settings.get(view))]
        inside = ", ".join(views)
        return doors.canonical(f"{name[:-1]}, {inside}]" if name.endswith("]") else f"{name}[{inside}]") is not None


@functools.cache
def _names(case: str, *, few: bool) -> list[str]:
    names = FIRST if few and case == "graded" else NAMES[case]
    canonical = [doors.canonical(name) or name for name in names]
    assert len(set(canonical)) == len(canonical), sorted(name for name in canonical if canonical.count(name) > 1)
    return canonical


VIEWS: tuple[dict[str, Any], ...] = (
    {},
    {"depth": 3},
    {"condensed": True},
    {"depth": 6, "condensed": True},
    {"terminal": True},
    {"depth": 3, "terminal": True},
    {"condensed": True, "terminal": True},
    {"depth": 6, "condensed": True, "terminal": True},
)
OPTIONS: tuple[dict[str, Any], ...] = (
    {"negative": "nonrel"},
    {"queries": "run", "undefined": "zero"},
    {"queries": "both", "undefined": "one"},
    {"nil": "NIL"},
    {"nil": "NIL", "terminal": True, "full_length": 14},
    {"nil": "NIL", "terminal": True, "condensed": True, "depth": 8},
    {"seed": 7},
)
PARTS = [
    *(Part("graded", views) for views in VIEWS),
    *(Part("graded", options, FEW_TIES, few=True) for options in OPTIONS),
    *(Part(case, views) for case in NAMES if case not in ("graded", "dense") for views in VIEWS[:3]),
    *(Part("subtopics", options, FEW_TIES) for options in OPTIONS[1:3]),
    Part("dense", {}, few=False),
]
# Measures that have residuals, bounds and sampling errors.
EXTRAS = [
    (Part("graded", {"residuals": True}, FEW_TIES), ["RBP", "RBP(p=0.3, max=3)@3", "ERR", "InvSq", "INSQ", "RBPbeta"]),
    (Part("graded", {"bounds": True}, FEW_TIES), ["AP", "nDCG@3", "RR", "P@3", "RBP", "bpref", "Q", "R@9"]),
    (Part("strata", {"standard_errors": True}, FEW_TIES), ["P@3[sampled]", "RBP[sampled]"]),
]
# What other doors are held against: they differ from files in what they read, not in what they compute then.
SOME = (
    "P@1",
    "Hole@2",
    "NumRet",
    "NumRel",
    "AP",
    "GMAP",
    "RR",
    "nDCG",
    "RBP",
    "bpref",
    "Q",
    "alpha_nDCG",
    "AP_IA",
    "TBG",
)
MANY = 15  # measures of a part of which doors are asked for a few only, under most tie rules


def door_parts(door: str) -> list[tuple[Part, list[str]]]:
    """The parts that a door is held against, and the measures."""
    if door == "spark":  # a job takes seconds
        some = [name for name in SOME if name != "Hole@2"]
        return [
            (Part("graded", {}), some),
            (Part("graded", {}, ("trec",)), ["Hole@2"]),
            *((Part("graded", options, ("trec",), few=True), some) for options in OPTIONS[1:5]),
            (Part("subtopics", {}, FEW_TIES), some),
            (Part("content", {}, FEW_TIES), _names("content", few=False)),
            *((Part(case, {}, ("trec",)), _names(case, few=False)) for case in ("costs", "preferences", "groups")),
        ]
    parts = [part for part in PARTS if not part.settings or part.settings in OPTIONS]
    parts += [part for part in PARTS if part.settings == {"depth": 3} and part.case == "costs"]
    if door == "lists":  # without ties, every rule must be the one of ranks
        parts = [part for part in parts if "rank" in part.ties]
    first = set(map(doors.canonical, FIRST))
    chosen = []
    for whole in parts:
        part, names = whole, _names(whole.case, few=whole.few)
        if part.settings in OPTIONS:
            names = [name for name in names if name in SOME]
        elif part.settings:
            part = part._replace(ties=FEW_TIES)
        elif len(names) > MANY:
            these = [name for name in names if name in first or part.case not in ("graded", "dense")]
            chosen.append((part._replace(ties=FEW_TIES), these))
            part = part._replace(ties=tuple(ties for ties in TIES if ties not in FEW_TIES))
            names = [name for name in names if name in SOME]
        chosen.append((part, names))
    return chosen


def text(value: float | None) -> str:
    """A value, exactly; None is undefined."""
    return "nan" if value is None or value != value else repr(float(value))


def digest(words: Sequence[str], size: int) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:size]


def cell(values: Values) -> str:
    queries = digest([f"{query} {text(values.queries[query])}" for query in sorted(values.queries)], QUERIES)
    return queries if values.mean is ... else queries + digest([text(values.mean)], MEAN)


Cells = dict[str, dict[str, str]]  # by measure and tie rule


def cells(part: Part, door: str = "file", measures: Sequence[str] | None = None) -> tuple[Cells, dict[str, list[str]]]:
    """The cells that a door fills, and the measures that it refuses by tie rule."""
    found: Cells = {}
    refused: dict[str, list[str]] = {}
    for ties in part.ties:
        values, refused[ties] = ask(door, part, ties, measures)
        for name, of_name in values.items():
            found.setdefault(name, {})[ties] = cell(of_name)
    return found, refused


def ask(door: str, part: Part, ties: str, measures: Sequence[str] | None = None) -> tuple[dict[str, Values], list[str]]:
    """The values of the measures that a door takes, and those that it refuses."""
    case, call = CASES[part.case], DOORS[door]
    asked = [name for name in part.measures(ties) if measures is None or name in measures]
    if not asked:
        return {}, []
    try:
        return call(case, asked, ties, part.settings), []
    except RefusedCase:
        return {}, asked
    except Refused:
        taken = _taken(lambda names: call(case, names, ties, part.settings), asked)
    values = call(case, taken, ties, part.settings) if taken else {}
    return values, [name for name in asked if name not in taken]


def _taken(call: Callable[[list[str]], Any], names: list[str]) -> list[str]:
    """The measures of a refused list that are not refused; halves are tried before single measures."""
    if len(names) == 1:
        return []
    taken = []
    for half in (names[: len(names) // 2], names[len(names) // 2 :]):
        try:
            call(half)
        except Refused:
            taken += _taken(call, half)
        else:
            taken += half
    return taken


def lines(part: Part, measures: Sequence[str] | None = None) -> Iterator[str]:
    """The lines of a part, from files."""
    found, _ = cells(part, measures=measures)
    yield f"[{part.title}] {' '.join(part.ties)}"
    for name, by_ties in found.items():
        yield "\t".join([name, *(by_ties.get(ties, "-") for ties in part.ties)])


EVERY: dict[str, tuple[Part, list[str] | None]] = {
    **{part.title: (part, None) for part in PARTS},
    **{part.title: (part, measures) for part, measures in EXTRAS},
}
ARITHMETIC = "# arithmetic "


def table() -> str:
    """The whole table."""
    body = [line for part, measures in EVERY.values() for line in lines(part, measures)]
    return "".join(f"{line}\n" for line in [f"{ARITHMETIC}{arithmetic()}", *body])


def stored_lines(title: str) -> list[str]:
    """The committed lines of a part."""
    parts = TABLE.read_text(encoding="utf-8").split("\n[")
    return next(("[" + part).rstrip("\n").split("\n") for part in parts if part.startswith(f"{title}] "))


def same_arithmetic() -> bool:
    """Whether the table was made with the arithmetic of this machine."""
    first = TABLE.read_text(encoding="utf-8").split("\n", 1)[0]
    return first == f"{ARITHMETIC}{arithmetic()}"


def without_widest_instructions() -> dict[str, str]:
    """The environment of a process without AVX-512, with which log2 and others round otherwise; empty if it is not used.

    That is the arithmetic of the table. OpenBLAS takes the kernels of an old processor, with which nothing may change.
    """
    widest = next((name for name in ("X86_V4", "AVX512_SKX") if __cpu_features__.get(name)), None)
    if widest is None or NARROWED in os.environ or same_arithmetic():
        return {}
    return {"OPENBLAS_CORETYPE": "Sandybridge", **os.environ, NARROWED: widest}


@functools.cache
def stored() -> dict[str, Cells]:
    """The committed table, by the title of its parts."""
    found: dict[str, Cells] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if line.startswith("["):
            title, rules = line[1:].split("] ")
            current = found.setdefault(title, {})
        else:
            name, *row = line.split("\t")
            current[name] = {t: one for t, one in zip(rules.split(), row, strict=True) if one != "-"}
    return found


def plain_values() -> str:
    """The values of every case without views, under the default tie rule."""
    found = []
    for case in NAMES:
        if case == "dense":
            continue
        values, _ = ask("file", Part(case, {}), "trec")
        queries = list(next(iter(values.values())).queries)
        found.append(f"[{case}] mean {' '.join(queries)}")
        found += [
            "\t".join([name, text(one.mean), *(text(one.queries[query]) for query in queries)])
            for name, one in values.items()
        ]
    return "".join(f"{line}\n" for line in found)


def of_door(door: str) -> list[str]:
    """What a door refuses, and where its values differ from those of files."""
    return [line for part, measures in door_parts(door) for line in _of_part(door, part, measures)]


def _of_part(door: str, part: Part, measures: Sequence[str]) -> Iterator[str]:
    expected = stored()[part.title]
    found, refused = cells(part, door, measures)
    for name, by_ties in found.items():
        for ties, one in by_ties.items():
            other = expected[name]["rank" if door == "lists" else ties]
            if one != other and (len(one) > QUERIES or one != other[:QUERIES]):
                yield f"{door} differs [{part.title}] {ties}: {name}: {one}"
    by_names: dict[str, list[str]] = {}
    for ties, names in refused.items():
        if names:
            asked = [name for name in part.measures(ties) if name in measures]
            by_names.setdefault("all" if names == asked and len(asked) > 1 else ", ".join(names), []).append(ties)
    for names, rules in by_names.items():
        yield f"{door} refuses [{part.title}] {' '.join(rules)}: {names}"


def arithmetic() -> str:
    """A digest of how this machine rounds the functions that measures use; libraries differ in the last bit."""
    x = np.linspace(0.01, 30, 4001)
    parts = [np.log2(x), np.log(x), np.exp2(x - 9), np.exp(-x), x**0.37, np.sqrt(x), np.tanh(x), 0.8**x]
    return digest([json.dumps(part.tolist()) for part in parts], 12)
