"""PropertiesResult of measures, against the paper's table, worked cases, and loops that try one ranking at a time."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from study_samples import GOLDEN

import cranfield as cf
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.lab import property_checks as small_rankings
from cranfield.lab.property_checks import DEPTHS, LONG, PROPERTIES, SEVEN, Counterexample, PropertyChecks
from cranfield.lab.studies.properties import (
    NOTES,
    PRINTED,
    PropertiesResult,
    document_kinds,
    family,
    label,
    sentence,
)
from cranfield.measures import CATALOGUE

SAME = 1e-12


def checked(name: str, **how: Any) -> Any:
    return cf.lab.properties(name, **how).checked[0]


# Oracle one: the metrics of the paper, written as the paper writes them, and its properties as loops.


def discount(i: int) -> float:
    return 1 / math.log2(i + 1)


def undefined_at_zero(a: float, b: float) -> float | None:
    return a / b if b else None


def sp(b: str, k: int) -> float:
    return sum(b[: i + 1].count("1") / (i + 1) for i in range(k) if b[i] == "1")


def dcg(b: str, k: int) -> float:
    return sum(discount(i + 1) for i in range(k) if b[i] == "1")


def ideal(n: int) -> float:
    return sum(discount(i + 1) for i in range(n))


def rr(b: str, k: int) -> float:
    return 1 / (b.index("1") + 1) if "1" in b[:k] else 0.0


METRICS: dict[str, Callable[[str, int], float | None]] = {
    "DCG": dcg,
    "SP": sp,
    "RPrec": lambda b, k: undefined_at_zero(b[: min(k, b.count("1"))].count("1"), min(k, b.count("1"))),
    "SN-DCG": lambda b, k: undefined_at_zero(dcg(b, k), ideal(b[:k].count("1"))),
    "SN-AP": lambda b, k: undefined_at_zero(sp(b, k), b[:k].count("1")),
    "Prec": lambda b, k: b[:k].count("1") / k,
    "NDCG": lambda b, k: undefined_at_zero(dcg(b, k), ideal(min(k, b.count("1")))),
    "SDCG": lambda b, k: dcg(b, k) / ideal(k),
    "HIT": lambda b, k: float("1" in b[:k]),
    "RR": rr,
    "Recall": lambda b, k: undefined_at_zero(b[:k].count("1"), b.count("1")),
    "AP": lambda b, k: undefined_at_zero(sp(b, k), b.count("1")),
    "RBP": lambda b, k: 0.2 * sum(0.8**i for i in range(k) if b[i] == "1"),
}
OURS = {theirs: ours for theirs, ours, *_ in PRINTED}
SIX = ["".join(bits) for n in range(1, 7) for bits in itertools.product("01", repeat=n)]


def swapped(b: str, i: int, j: int) -> str:
    signs = list(b)
    signs[i], signs[j] = signs[j], signs[i]
    return "".join(signs)


def swaps(metric: Callable[[str, int], float | None], *, inside: bool) -> Iterator[tuple[float, float]]:
    """Scores before and after every swap of a relevant document with one above it that is not."""
    for b in SIX:
        for i, j in itertools.combinations(range(len(b)), 2):
            for k in range(j + 1, len(b) + 1) if inside else range(i + 1, j + 1):
                if b[i] < b[j]:
                    before, after = metric(b, k), metric(swapped(b, i, j), k)
                    if before is not None and after is not None:
                        yield before, after


def seven(metric: Callable[[str, int], float | None]) -> list[bool]:
    """The seven properties of a metric on all rankings of 1 to 6 documents, one at a time."""
    points = [(b, k, metric(b, k)) for b in SIX for k in range(1, len(b) + 1)]
    values = [v for *_, v in points if v is not None]
    long = [metric("1" * 2000, k) for k in DEPTHS]
    bounded = max(values) <= 1 + SAME and max(v for v in long if v is not None) <= 1 + SAME
    steps = [(v, metric(b, k + 1)) for b, k, v in points if k < len(b)]
    begin: dict[str, set[float | None]] = {}
    for b, k, v in points:
        begin.setdefault(b[:k], set()).add(v if v is None else round(v, 9))
    best: dict[tuple[int, int, int], float] = {}
    for b, k, v in points:
        if v is not None:
            key = len(b), k, b.count("1")
            best[key] = max(best.get(key, 0.0), v)

    def highest(d: int, k: int) -> float:
        return 1.0 if bounded else max(v for key, v in best.items() if key[:2] == (d, k))

    return [
        bounded,
        all(b >= a - SAME for a, b in steps if a is not None and b is not None),
        all(b > a + SAME for a, b in swaps(metric, inside=False)),
        all(b > a + SAME for a, b in swaps(metric, inside=True)),
        all(len(found) == 1 for found in begin.values()),
        all(metric("0" * d, k) is not None for d in range(1, 7) for k in range(1, d + 1)),
        all(v >= highest(d, k) - SAME for (d, k, r), v in best.items() if r),
    ]


@pytest.mark.parametrize(("theirs", "ours", "answers"), [row[:3] for row in PRINTED])
def test_table_2(theirs: str, ours: str, answers: str) -> None:
    printed = [answer == "Y" for answer in answers]
    assert [checked(f"{ours}@k").holds[name] for name in SEVEN] == printed
    assert seven(METRICS[theirs]) == printed


def test_table_2_has_91_cells_and_ten_kinds_of_metric() -> None:
    assert sum(len(answers) for _, _, answers, _ in PRINTED) == 91
    assert len({answers for _, _, answers, _ in PRINTED}) == 10


@pytest.mark.parametrize("documents", (3, 4, 6))
def test_verdicts_of_table_2_are_the_same_with_fewer_documents(documents: int) -> None:
    names = [f"{ours}@k" for _, ours, *_ in PRINTED]
    found = cf.lab.properties(names, documents=documents).checked
    for (_, _, answers, _), one in zip(PRINTED, found, strict=True):
        assert "".join("NY"[bool(one.holds[name])] for name in SEVEN) == answers


WORKED = {"INSQ": "InvSq", "Q-measure": "Q", "AP/min": "AP(norm='min')", "ERR": "ERR"}


@pytest.mark.parametrize("case", [c for i, c in GOLDEN.items() if i.startswith(("E2-", "E3-"))], ids=lambda c: c["id"])
def test_worked_cases(case: dict[str, Any]) -> None:
    metric = case["measure"].removeprefix("properties:")
    name = WORKED.get(metric) or OURS[metric]
    found = checked(f"{name}@k", documents=case["params"]["d"]).holds
    assert {key: found[key] for key in case["expected"]} == case["expected"]


def test_more_of_the_specification() -> None:
    for name, answers in {"AP(norm='min')": "YNYYNNY", "ERR": "YYYYYYN"}.items():
        holds = checked(name, documents=6).holds
        assert "".join("NY"[holds[key]] for key in SEVEN) == answers


def every(k_of: Callable[[str], range] = lambda b: range(1, len(b) + 1)) -> Iterator[tuple[str, int]]:
    return ((b, k) for b in SIX for k in k_of(b))


def test_notes_of_table_2_are_true() -> None:
    def where(letter: str) -> dict[str, list[str]]:
        marked = {t: [name for name, mark in marks.items() if mark == letter] for t, _, _, marks in PRINTED}
        return {t: names for t, names in marked.items() if names}

    assert set(NOTES) == {mark for *_, marks in PRINTED for mark in marks.values()}
    # a: the range of RBP, from the score to the score and its residual 0.8^k, lies within the one before
    assert where("a") == {"RBP": ["monotone", "convergent", "localized"]}
    for b, k in every(lambda b: range(1, len(b))):
        now, deeper = METRICS["RBP"](b, k), METRICS["RBP"](b, k + 1)
        assert now <= deeper + SAME
        assert deeper + 0.8 ** (k + 1) <= now + 0.8**k + SAME
    for metric, names in where("b").items():
        assert names == ["convergent", "top-weighted"]
        for inside in (False, True):
            assert all(after >= before - SAME for before, after in swaps(METRICS[metric], inside=inside))
    assert where("c") == {"RR": ["localized", "complete"]}
    assert all(METRICS["RR"](b, k) == 0 for b, k in every() if "1" not in b[:k])
    for metric in where("d"):
        assert all((METRICS[metric](b, k) is None) == ("1" not in b[:k]) for b, k in every())
    for letter, reached in (("e", lambda k, r: k <= r), ("f", lambda k, r: k >= r)):
        for metric in where(letter):
            for d, r in itertools.product(range(1, 7), range(1, 7)):
                same = [b for b in SIX if len(b) == d and b.count("1") == r]
                for k in range(1, d + 1) if same else ():
                    assert (max(METRICS[metric](b, k) for b in same) >= 1 - SAME) == reached(k, r)


# Oracle two: any measure, asked for the score of one ranking after another.

SIGNS: dict[str, Any] = {"0": 0, "1": 1, "2": 2, "?": None}


def score(name: str, text: str, *, k: int | None = None, length: int | None = None) -> float:
    """One ranking's score by the library, written as in the counterexamples; at k, or of a list of its first ones."""
    grades = [SIGNS[sign] for sign in text]
    wanted = str(cf.parse(name.replace("@k", f"@{k}")))
    at = len(grades) if length is None else length
    return cf.parse(wanted)(grades[:at], missed=[grade for grade in grades[at:] if grade is not None])


def table(name: str, text: str) -> list[float]:
    if "@k" in name:
        return [score(name, text, k=k) for k in range(1, len(text) + 1)]
    return [score(name, text, length=k) for k in range(1, len(text) + 1)]


def of(name: str, documents: int = 4) -> PropertyChecks:
    measure = family(name)
    return PropertyChecks(measure, small_rankings.all_rankings(document_kinds(measure, None), documents))


SOME = ["AP@k", "nDCG@k[condensed]", "Q@k", "bpref", "bpref_old", "Rprec", "RR[terminal]", "nDCG[terminal]", "infAP",
        "Accuracy@k", "P@k[condensed]", "ERR@k", "Compat", "IPrec@0.5", "AP@k[depth=2]", "R_nDCG", "RBP[condensed, terminal]"]  # fmt: skip


@pytest.mark.parametrize("name", SOME)
def test_scores_of_all_rankings_are_those_of_the_table(name: str) -> None:
    checks = of(name)
    for row, values in enumerate(checks.scores):
        text = checks.rankings.text(row)
        expected = table(name, text)
        np.testing.assert_allclose(values[: len(text)], expected, atol=1e-12, err_msg=text)
        assert np.isnan(values[len(text) :]).all()


def naive(name: str, documents: int) -> dict[str, bool]:
    """Monotone, convergent, top-weighted, localized and truncatable, by loops over strings."""
    signs = "01?" if "?" in {kind.mark for kind in document_kinds(family(name), None)} else "01"
    texts = ["".join(t) for n in range(1, documents + 1) for t in itertools.product(signs, repeat=n)]
    at = {text: table(name, text) for text in texts}
    holds = dict.fromkeys(("monotone", "convergent", "top-weighted", "localized", "truncatable"), True)
    begin: dict[str, float] = {}
    for text in texts:
        for k, value in enumerate(at[text], 1):
            if k < len(text) and at[text][k] < value - SAME:
                holds["monotone"] = False
            model = begin.setdefault(text[:k], value)
            if not (abs(model - value) <= SAME or (math.isnan(model) and math.isnan(value))):
                holds["localized"] = False
            for i, j in itertools.combinations(range(len(text)), 2):
                if (text[i], text[j]) == ("0", "1") and i < k:
                    other = at[swapped(text, i, j)][k - 1]
                    if other <= value + SAME:
                        holds["convergent" if j >= k else "top-weighted"] = False
        for n in range(len(text)):
            for k in range(1, len(text) + 1):
                if text[n] != "1" and score(name, text, k=k, length=n + 1) > score(name, text, k=k, length=n) + SAME:
                    holds["truncatable"] = False
    return holds


@pytest.mark.parametrize("name", [name for name in SOME if "depth" not in name])
def test_verdicts_by_loops(name: str) -> None:
    documents = 3 if "condensed" in name or CATALOGUE[family(name).symbol].uses_nonrelevant else 4
    found, expected = dict(of(name, documents).verdicts()), naive(name, documents)
    assert {key: found[key].holds for key in expected} == expected


@pytest.mark.parametrize("name", ["AP@k", "AP@k[condensed]", "bpref", "P@k[condensed]", "SN_AP@k", "infAP"])
def test_judging_by_loops(name: str) -> None:
    """Two orders of the same named documents, before and after one of them is judged."""
    documents = 4
    at: dict[str, list[float]] = {}
    turned = {"stable": False, "neutral": False}
    for judgments in itertools.combinations_with_replacement("01?", documents - 1):
        # Document 0 is the one that nobody has judged yet.
        orders = list(itertools.permutations(range(documents)))
        written = {new: ["".join((new, *judgments)[d] for d in order) for order in orders] for new in "?01"}
        for text in itertools.chain(*written.values()):
            if text not in at:
                at[text] = table(name, text)
        for new, (a, b) in itertools.product("01", itertools.combinations(range(len(orders)), 2)):
            for k in range(documents):
                before = at[written["?"][a]][k] - at[written["?"][b]][k]
                after = at[written[new][a]][k] - at[written[new][b]][k]
                if abs(before) > SAME and abs(after) > SAME and before * after < 0:
                    turned["stable"] |= new == "0"
                    turned["neutral"] |= orders[a].index(0) == orders[b].index(0)
    found = dict(of(name, documents).verdicts())
    assert {key: found[key].holds for key in turned} == {key: not turns for key, turns in turned.items()}


@pytest.mark.parametrize(
    "name", [*SOME, "P@k", "RBP@k", "DCG@k", "SN_DCG@k", "NumRet", "Utility", "yaAP", "bpref_relative"]
)
def test_counterexamples_are_what_they_say(name: str) -> None:
    for key, verdict in checked(name).verdicts.items():
        assert (verdict.counterexample is None) == (verdict.holds is not False)
        if verdict.counterexample is None or "depth" in name:
            continue
        case = verdict.counterexample
        assert sentence(key, case)
        judged = ["?", case.judged] if case.judged else [""]
        scores = []
        for mark in judged:
            for ranking, k in zip(case.rankings, case.k, strict=True):
                head, bar, tail = ranking.replace("x", mark).partition("|")
                text = head + tail
                assert not bar or len(head) == k or key == "truncatable"
                if key == "truncatable":
                    scores.append(score(name, text, k=k, length=len(head) if bar else len(text)))
                else:
                    scores.append(score(name, text, k=k, length=None if "@k" in name else k))
        np.testing.assert_allclose(case.scores, scores, atol=1e-12)
        one, other = scores[0], scores[-1] if len(scores) == 2 else math.nan
        if key == "bounded":
            assert one > case.limit or one < case.limit
        if key in ("monotone", "localized"):
            assert one != other
        if key in ("convergent", "top-weighted"):
            assert other <= one + SAME
        if key == "complete":
            assert math.isnan(one)
        if key == "realizable":
            assert one < case.limit
        if key == "truncatable":
            assert other > one
        if key in ("stable", "neutral"):
            assert scores[0] > scores[1]
            assert scores[2] < scores[3]


def test_unbounded_only_in_long_rankings() -> None:
    """A sum that grows so slowly that no small ranking shows it."""
    found = checked("CG(gain={1: 0.01})@k").verdicts["bounded"]
    assert found.counterexample == Counterexample((f"{LONG} times 1",), (200,), (pytest.approx(2.0),), 1.0)


def test_tied_rankings_are_checked_beside_untied_ones() -> None:
    measure = family("AP@k[ties=expected]")
    checks = PropertyChecks(measure, small_rankings.all_rankings(document_kinds(measure, None), 4, ties=True))
    for row, values in enumerate(checks.scores):
        text = checks.rankings.text(row)
        grades = [int(sign) for sign in text if sign in "01"]
        if "(" in text:
            t = text.index("(")
            grades[t : t + 2] = [tuple(grades[t : t + 2])]
        for k in range(1, int(checks.rankings.size[row]) + 1):
            expected = cf.parse(f"AP@{k}[ties=expected]")(grades)
            np.testing.assert_allclose(values[k - 1], expected, atol=1e-12, err_msg=text)
    found = checked("AP@k[ties=expected]")
    assert "tied" in found.domain
    assert found.holds == checked("AP").holds
    # What a tie rule reads off the judgments it gives away: the first k do not tell all.
    assert checked("RR@k[ties=best]").holds["localized"]
    assert "tied" not in checked("AP[ties=trec]").domain


def test_a_list_that_ends_in_a_tie() -> None:
    measure = family("bpref[ties=expected]")
    checks = PropertyChecks(measure, small_rankings.all_rankings(document_kinds(measure, None), 3, ties=True))
    row = next(r for r in range(len(checks.scores)) if checks.rankings.text(r) == "(01)1")
    # Half of the lists of one document hold the relevant one, with nothing above it; two are relevant.
    assert checks.scores[row, 0] == pytest.approx(0.25)
    assert checks.rankings.text(row, 1) == "(0|1)1"


def test_grades() -> None:
    found = {name: checked(name, grades=(0, 1, 2), documents=5) for name in ("DCG", "SDCG", "nDCG", "HIT", "RBP")}
    for theirs, ours, answers, _ in PRINTED:
        if ours in found:
            assert "".join("NY"[found[ours].holds[name]] for name in SEVEN) == answers, theirs
    assert found["DCG"].domain == "all rankings of 1 to 5 documents, each of grade 0, 1 or 2; every k"
    # For a measure that sees relevant or not, grades of one side are alike.
    graded, binary = (checked("AP", grades=grades, documents=5).holds for grades in ((0, 1, 2), (0, 1)))
    assert graded == binary
    assert checked("nDCG[terminal]", grades=(0, 1, 2), documents=4).holds["bounded"]
    assert checked("nDCG[terminal]", grades=(0, 0.5, 1), documents=4).holds["bounded"] is False
    assert checked("nDCG(ideal='bounded')[terminal]", grades=(0, 0.5, 1), documents=4).holds["bounded"]


@pytest.mark.parametrize("name", ["AP(rel=2)", "RBP(max=3)", "SDCG(min=1)", "ERR(max=2)"])
def test_parameters_say_what_is_relevant(name: str) -> None:
    plain = name.partition("(")[0]
    assert checked(name).holds == checked(plain).holds


@pytest.mark.parametrize("name", ["alpha_nDCG@k", "ERR_IA@k", "StRecall@k", "AP_IA@k[condensed]"])
def test_subtopics(name: str) -> None:
    measure = family(name)
    checks = PropertyChecks(measure, small_rankings.all_rankings(document_kinds(measure, None), 3))
    rows = [r for r in range(len(checks.scores)) if checks.rankings.size[r] == 3]
    qrels: dict[str, Any] = {}
    run: dict[str, Any] = {}
    for row in rows:
        marks = checks.rankings.text(row).split()
        judged = {f"{i}": {s: int(s in mark) for s in "ab"} for i, mark in enumerate(marks) if mark != "?"}
        if judged:
            qrels[f"{row}"], run[f"{row}"] = judged, {f"{i}": -float(i) for i in range(3)}
    for k in (1, 2, 3):
        found = cf.evaluate(qrels, run, name.replace("@k", f"@{k}"))
        values = dict(zip(found.queries, found.values[0, 0], strict=True))
        for row in rows:
            if f"{row}" in values:
                np.testing.assert_allclose(checks.scores[row, k - 1], values[f"{row}"], atol=1e-12)


def test_subtopics_have_worlds_in_words() -> None:
    found = checked("StRecall", documents=3)
    assert found.domain == "all rankings of 1 to 3 documents, each relevant to a, b, ab or to nothing; every k"
    assert "2,000" not in cf.lab.properties("StRecall", documents=3).write()
    assert found.verdicts["top-weighted"].counterexample.rankings == ("0 a", "a 0")
    with pytest.raises(UsageError, match="uses subtopics"):
        cf.lab.properties("StRecall", grades=(0, 1, 2))


@pytest.mark.parametrize(
    "symbol",
    [
        symbol
        for symbol, d in CATALOGUE.items()
        if not (d.content or d.preferences or d.sampled or d.spans or d.gains == "attribute")
    ],
)
def test_every_measure_can_be_checked(symbol: str) -> None:
    name = f"{symbol}@0.5" if symbol == "IPrec" else symbol
    found = checked(name, documents=3)
    assert tuple(found.holds) == PROPERTIES
    definition = CATALOGUE[symbol]
    if definition.retrieved_only:
        assert found.holds["localized"] is not False
    low, high = definition.bounds
    if math.isfinite(low) and math.isfinite(high):
        assert found.holds["bounded"]


def test_plain_measures_are_not_moved_by_judgments_of_what_is_not_relevant() -> None:
    for symbol, definition in CATALOGUE.items():
        if not (definition.uses_nonrelevant or definition.content) and definition.cutoff != "recall":
            assert checked(symbol, documents=3).holds["stable"], symbol


def test_names_without_a_cutoff() -> None:
    names = {"P": "P@k", "P@k": "P@k", "P_10": "P@k", "RPrec": "RPrec@k", "Rprec": "Rprec", "nDCG@10": "nDCG@k",
             "AP@5[terminal]": "AP[terminal]", "IPrec@0.3": "IPrec@0.3", "RBP(p=0.5)@k[condensed]": "RBP(p=0.5)@k[condensed]"}  # fmt: skip
    assert {name: label(family(name)) for name in names} == names
    assert label(family(cf.parse("P@3"))) == "P@k"
    found = cf.lab.properties(["nDCG@10", "nDCG", "bpref"], documents=2)
    assert [one.measure for one in found.checked] == ["nDCG@k", "bpref"]
    assert tuple(map(str, found.notes)) == (
        "nDCG@10: checked as nDCG@k, for every k",
        "bpref: k is the length of the list",
    )


@pytest.mark.parametrize(
    ("names", "how", "error", "message"),
    [
        ([], {}, MeasureError, "no measure given"),
        ("nDGC", {}, MeasureError, "unknown measure `nDGC`"),
        ("IPrec", {}, MeasureError, "`IPrec` needs a cutoff"),
        ("F1[terminal]", {}, MeasureError, "`F1[terminal]` needs a cutoff"),
        ("F1@k[terminal]", {}, MeasureError, "F1 has no terminal form: its divisor is fixed"),
        ("DELTANB", {}, MeasureError, "DELTANB reads document text"),
        ("AP", {"grades": (1, 1)}, UsageError, "expected at least two different grades, got [1.0, 1.0]"),
        ("AP", {"grades": (-1, 1)}, UsageError, "grades must be numbers of at least 0, got [-1.0, 1.0]"),
        ("AP", {"documents": 40}, UsageError, "cannot check all rankings of 40 documents with 2 kinds of document (2,199,023,255,550 rankings)"),
        ("AP", {"documents": 0}, UsageError, "documents must be a whole number of at least 1, not 0"),
    ],
)  # fmt: skip
def test_errors(names: Any, how: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as found:
        cf.lab.properties(names, **how)
    assert str(found.value).startswith(message)


def test_nothing_to_compare_is_no_answer() -> None:
    found = checked("AP", documents=1)
    assert found.holds["monotone"] is None
    assert "–" in cf.lab.properties("AP", documents=1).write()


def test_result_is_plain_data() -> None:
    found = cf.lab.properties(["AP", "bpref"], documents=4)
    text = json.dumps(found.to_dict(), allow_nan=False)
    one = json.loads(text)["checked"][0]["verdicts"]["complete"]
    example = {"rankings": ["0"], "k": [1], "scores": [None], "limit": None, "judged": ""}
    assert one == {"holds": False, "counterexample": example}
    assert type(found) is PropertiesResult


def test_errors_in_a_measure_of_ones_own(tmp_path: Any) -> None:
    from cranfield.measures.own import load_measures

    path = tmp_path / "own.py"
    path.write_text(
        "from cranfield.measures.catalogue import Rank, measure\n"
        "@measure('Wide', cite='', formula='')\n"
        "def wide(b, *, k: Rank): return b.gain\n"
        "@measure('Fails', cite='', formula='')\n"
        "def fails(b, *, k: Rank): return b.nothing\n"
        "@measure('Half', cite='', formula='')\n"
        "def half(b, *, k: Rank): return (b.gain * (b.start < k)).sum(axis=1) / b.R\n"
        "@measure('Endless', cite='', formula='')\n"
        "def endless(b, *, k: Rank): return 1 / (1 - half(b, k=1))\n"
    )
    with load_measures(str(path)) as symbols:
        assert symbols == ["Wide", "Fails", "Half", "Endless"]
        with pytest.raises(InputError, match=r"own.py:2: Wide returns an array of shape \(6, 2\), expected \(6,\)"):
            cf.lab.properties("Wide", documents=2)
        with pytest.raises(InputError, match=r"own.py:4: Fails fails: AttributeError: 'Batch' object has no attribute"):
            cf.lab.properties("Fails", documents=2)
        assert checked("Half").holds == checked("R").holds
        assert checked("Endless", documents=4).verdicts["bounded"].counterexample == Counterexample(
            ("1",), (1,), (math.inf,), 1.0
        )
        assert '"scores": ["inf"]' in json.dumps(cf.lab.properties("Endless", documents=4).to_dict(), allow_nan=False)
    assert not set(symbols) & set(CATALOGUE)
