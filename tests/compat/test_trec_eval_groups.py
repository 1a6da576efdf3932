"""trec_eval's command line for preferences and judgments by group: its output to the byte."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from peer import Trec, caller, printed, ranked, row, values

import cranfield as cf
from cranfield.compat.trec_measures import nickname

OURS = {
    "prefs_num_prefs_poss": "NumPrefs", "prefs_num_prefs_ful": "NumPrefsMet",
    "prefs_num_prefs_ful_ret": "NumPrefsMet(count='retrieved')",
    "prefs_simp": "Prefs", "prefs_pair": "Prefs(by='pair')", "prefs_avgjg": "Prefs(by='group')",
    "prefs_avgjg_Rnonrel": "PrefsR",
    "prefs_simp_ret": "Prefs(count='retrieved')", "prefs_pair_ret": "Prefs(by='pair', count='retrieved')",
    "prefs_avgjg_ret": "Prefs(by='group', count='retrieved')", "prefs_avgjg_Rnonrel_ret": "PrefsR(count='retrieved')",
    "prefs_simp_imp": "Prefs(count='implied')", "prefs_pair_imp": "Prefs(by='pair', count='implied')",
    "prefs_avgjg_imp": "Prefs(by='group', count='implied')",
}  # fmt: skip


@pytest.fixture
def trec(tmp_path: Path) -> Trec:
    return caller(tmp_path)


def topic(rng: random.Random) -> tuple[dict[str, dict[str, dict[str, int]]], dict[str, dict[str, float]]]:
    """Levels by query, group and document, and a run of the same queries and another one."""
    documents = [f"d{i}" for i in range(14)]
    levels = {
        f"q{q}": {
            f"u{u}": {d: rng.randint(0, 3) for d in rng.sample(documents, rng.randint(1, 10))}
            for u in range(rng.randint(1, 3))
        }
        for q in range(11)
    }
    run = {q: {d: float(rng.randint(1, 60)) for d in rng.sample(documents, rng.randint(1, 14))} for q in levels}
    return levels, run | {"other": {"d1": 1.0}}


def line(name: str, query: str, value: float) -> str:
    if name.startswith("prefs_num"):
        return f"{name:<22}\t{query}\t{value:.0f}\n"
    return row(name, query, value)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("compat", ["9", "10"])
def test_preferences_to_the_byte(part: int, compat: str, trec: Trec) -> None:
    levels, run = topic(random.Random(part))
    text = "".join(
        f"{q} {u} {d} {x}\n" for q, groups in levels.items() for u, of in groups.items() for d, x in of.items()
    )
    five = "".join(f"{a} {b} 0 {c} {d}\n" for a, b, c, d in (row.split() for row in text.splitlines()))
    prefs = {q: [[u, "0", d, x] for u, of in groups.items() for d, x in of.items()] for q, groups in levels.items()}
    names = [name for name in nickname("all_prefs", 9) if name in OURS]
    assert names == list(OURS)
    views = "[ties=input]"  # the ids of tied documents ascend
    ascending = {query: dict(sorted(ranking.items())) for query, ranking in run.items()}
    scores = cf.evaluate(cf.Collection(prefs=prefs), ascending, [OURS[name] + views for name in names]).to_dict()[
        "runs"
    ]["run"]
    queries = sorted(levels)
    out, sums = [], dict.fromkeys(names, 0.0)
    for query in queries:
        for name in names:
            value = scores[OURS[name] + views]["queries"][query] or 0.0
            sums[name] += value
            out.append(line(name, query, value))
    out.append(f"{'runid':<22}\tall\ttag\n{'num_q':<22}\tall\t{len(queries)}\n")
    out += [line(n, "all", sums[n] if n.startswith("prefs_num") else sums[n] / len(queries)) for n in names]
    expected = "".join(out)
    options = "--compat", compat, "-q", "-m", "all_prefs"
    assert trec(*options, "-R", "qrels_prefs", qrels=text, run=run).output == expected
    assert trec(*options, "-R", "prefs", qrels=five, run=run).output == expected


@pytest.mark.parametrize("part", range(4))
def test_groups_to_the_byte(part: int, trec: Trec) -> None:
    """The mean over groups of what trec_eval prints for each of them."""
    import pytrec_eval

    levels, run = topic(random.Random(50 + part))
    text = "".join(
        f"{q} {u} {d} {x}\n" for q, groups in levels.items() for u, of in groups.items() for d, x in of.items()
    )
    plain = {"map_avgjg": "map", "P_avgjg": "P", "Rprec_mult_avgjg": "Rprec_mult"}
    for level, judged in ((1, False), (2, False), (1, True)):
        sums: dict[str, float] = {}
        out = []
        for query in sorted(levels):
            rows = [
                pytrec_eval.RelevanceEvaluator({query: levels[query][u]}, {*plain.values()}, level, judged).evaluate(
                    run
                )
                for u in sorted(levels[query])
            ]
            for name in sorted(rows[0][query], key=order):
                total = 0.0
                for found in rows:
                    total += found[query][name]
                label = name.replace("map", "map_avgjg").replace("P_", "P_avgjg_").replace("mult_", "mult_avgjg_")
                sums[label] = sums.get(label, 0.0) + total / len(rows)
                out.append(row(label, query, total / len(rows)))
        out.append(f"{'runid':<22}\tall\ttag\n{'num_q':<22}\tall\t{len(levels)}\n")
        out += [row(label, "all", total / len(levels)) for label, total in sums.items()]
        options = ["-R", "qrels_jg", "-q", "-m", "qrels_jg", f"-l{level}", *(["-J"] if judged else [])]
        assert trec(*options, qrels=text, run=run).output == "".join(out)


def order(name: str) -> tuple[int, float]:
    family = ["map", "P", "Rprec"].index(name.split("_")[0])
    return family, float(name.rpartition("_")[2]) if family else 0


def test_one_group_is_the_plain_measure(trec: Trec) -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}}
    run = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"a": 1.0, "c": 0.5}}
    found = values(trec("-R", "qrels_jg", "-q", "-m", "map_avgjg", qrels=qrels, run=run).output)
    expected = values(printed(qrels, run, {"map"}, per_query=True))
    assert {query: value for (_, query), value in found.items()} == {q: value for (_, q), value in expected.items()}


def test_options_apply(trec: Trec) -> None:
    text = "q u a 1\nq u b 0\nq v b 1\nq v a 0\nr u a 1\nr u b 0\n"
    run = {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    cut = values(trec("-R", "qrels_prefs", "-M2", "-m", "all_prefs", qrels=text, run=run).output)
    assert (cut["prefs_num_prefs_poss", "all"], cut["prefs_simp_ret", "all"]) == ("2", "0.0000")
    assert cut["prefs_simp_imp", "all"] == "0.5000"
    complete = values(trec("-R", "qrels_prefs", "-c", "-m", "prefs", qrels=text, run=run).output)
    assert (complete["num_q", "all"], complete["prefs_simp", "all"]) == ("2", "0.2500")
    assert values(trec("-R", "qrels_jg", "-c", "-m", "P_avgjg.2", qrels=text, run=run).output) == {
        ("P_avgjg_2", "all"): "0.1250"
    }
    assert trec("--compat", "10", "-R", "prefs", "-mprefs", qrels="q u 0 a 1\nr u 0 a 1\n", run=run).exit_code == 4
    assert ranked(run["q"]) == ["x", "a", "b"]


def test_files_that_are_wrong(trec: Trec) -> None:
    run = {"q": {"a": 1.0}}
    assert trec("-R", "prefs", "-mprefs", qrels="q u s a -1\n", run=run).exit_code == 2
    assert trec("-R", "prefs", "-mprefs", qrels="# nothing\n", run=run).exit_code == 2
    assert trec("-R", "qrels_jg", "-mqrels_jg", qrels="q u a one\n", run=run).exit_code == 2
    assert trec("-R", "prefs", "-mprefs", qrels="r u s a 1\n", run=run).exit_code == 7


def test_tied_documents_of_preferences_are_ordered_by_ascending_id(trec: Trec) -> None:
    """For preferences alone, trec_eval sorts the ids of tied documents in ascending order."""
    tied = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    for better, met in (("a", "1.0000"), ("b", "0.0000")):
        worse = "b" if better == "a" else "a"
        five, four = (f"q g {s}{better} 1\nq g {s}{worse} 0\n" for s in ("s ", ""))
        for format, text in (("prefs", five), ("qrels_prefs", four)):
            for version in ("9", "10"):
                found = values(trec("--compat", version, "-R", format, "-m", "all_prefs", qrels=text, run=tied).output)
                assert found["prefs_simp", "all"] == found["prefs_pair_ret", "all"] == met
    cut = values(trec("-R", "prefs", "-M1", "-m", "all_prefs", qrels="q g s b 1\nq g s c 0\n", run=tied).output)
    assert cut["prefs_num_prefs_ful", "all"] == "0"  # only `a` is left
    grades = trec("-R", "qrels_jg", "-m", "qrels_jg", qrels="q g a 0\nq g c 1\n", run=tied).output
    assert values(grades)["map_avgjg", "all"] == "1.0000"
    # 32 bits of scores are compared in version 9.
    near = {"q": {"a": 0.5, "b": 0.5000000001}}
    text = "q g s b 1\nq g s a 0\n"
    assert values(trec("-R", "prefs", "-m", "prefs", qrels=text, run=near).output)["prefs_simp", "all"] == "0.0000"


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        ("a 1\nb 1", "1.0000"),  # R (R-N) = 4 pairs for the missing documents of level 0, and no other
        ("a 1", "1.0000"),
        ("a 1\nx 1", "0.5000"),  # 1 of 2 relevant documents is retrieved
        ("a 0\nb 0", "0.0000"),
    ],
)
def test_groups_without_documents_of_level_0(judged: str, expected: str, trec: Trec) -> None:
    text = "".join(f"q g s {line}\n" for line in judged.split("\n"))
    found = values(trec("-R", "prefs", "-m", "all_prefs", qrels=text, run={"q": {"a": 2.0, "b": 1.0}}).output)
    assert found["prefs_avgjg_Rnonrel", "all"] == expected
