"""Several judges of the same queries, and queries that come back in several collections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield.cli.main import cli
from cranfield.report import write

QUERIES = [f"q{i:02}" for i in range(20)]
Qrels = dict[str, dict[str, int]]


def judged(seed: int, documents: str = "abcdef", queries: list[str] = QUERIES) -> Qrels:
    """Judgments at random, in which the first document is relevant."""
    rng = np.random.default_rng(seed)
    return {q: {d: int(rng.random() < 0.4) for d in documents} | {documents[0]: 1} for q in queries}


JUDGES = {"ann": judged(1), "bob": judged(2)}
RUNS = {
    name: {q: np.random.default_rng([s, i]).permutation(list("abcdef")).tolist() for i, q in enumerate(QUERIES)}
    for s, name in enumerate(("r", "s", "t"))
}


def of_collections(qrels: dict[str, Any]) -> cf.Scores:
    return cf.evaluate(qrels, {run: dict.fromkeys(qrels, ranking) for run, ranking in RUNS.items()}, "AP")


def test_the_score_of_a_query_is_the_mean_over_judges(tmp_path: Path) -> None:
    scores = cf.evaluate(cf.Collection(judges=JUDGES), RUNS, ["AP", "RR"])
    each = [cf.evaluate(qrels, RUNS, ["AP", "RR"]) for qrels in JUDGES.values()]
    assert scores.queries == tuple(QUERIES)
    assert scores.values == pytest.approx((each[0].values + each[1].values) / 2)
    table = write(scores, width=200)
    assert table.split("\n")[0].split()[1:7] == ["AP", "ann", "AP", "bob", "AP", "mean"]
    assert f"{each[1]._means[2, 0]:.4f}" in table
    scores.save(tmp_path / "scores.json")
    loaded = cf.Scores.load(tmp_path / "scores.json")
    assert write(loaded, width=200) == table
    assert (
        cf.evaluate(cf.Collection(judges=JUDGES), RUNS, "AP").with_run(loaded.only(runs="r")).runs[0] == "r (baseline)"
    )


def test_whether_the_order_of_runs_is_the_same() -> None:
    notes = [str(note) for note in cf.evaluate(cf.Collection(judges=JUDGES), RUNS, "AP").notes]
    means = {judge: cf.evaluate(qrels, RUNS, "AP")._means[:, 0] for judge, qrels in JUDGES.items()}
    mean = sum(means.values()) / 2
    for judge, own in means.items():
        changed = [
            f"{a} and {b}"
            for i, a in enumerate("rst")
            for j, b in enumerate("rst")
            if i < j and (mean[i] - mean[j]) * (own[i] - own[j]) < 0
        ]
        assert not changed or any(f"{', '.join(changed)} with {judge}" in note for note in notes)
    same = cf.evaluate(cf.Collection(judges={"ann": JUDGES["ann"], "eve": JUDGES["ann"]}), RUNS, "AP")
    assert "AP: the order of runs is the same with each judge" in [str(note) for note in same.notes]


def test_a_judge_who_found_nothing_relevant() -> None:
    qrels = {f"q{i}": {"a": i % 2, "b": 1} for i in range(4)}
    nothing = {query: {"a": 0} for query in qrels}
    runs = {"x": dict.fromkeys(qrels, ("a", "b")), "y": dict.fromkeys(qrels, ("b", "a"))}
    scores = cf.evaluate(cf.Collection(judges={"ann": qrels, "bob": nothing}), runs, ["nDCG", "RR", "MissedAnswer"])
    notes = [str(note) for note in scores.notes]
    assert "nDCG: undefined with bob, so that the order of runs cannot be compared" in notes
    assert scores["nDCG"]["x"] == cf.evaluate(qrels, runs, "nDCG")["nDCG"]["x"]
    assert scores["MissedAnswer"]["x"] == 0


def test_a_comparison_has_as_many_units_as_queries() -> None:
    comparison = cf.compare(cf.Collection(judges=JUDGES), RUNS, "AP", test="t", baseline="r")
    mean = (cf.evaluate(JUDGES["ann"], RUNS, "AP").values + cf.evaluate(JUDGES["bob"], RUNS, "AP").values) / 2
    values = {run: {"AP": dict(zip(QUERIES, mean[r, 0].tolist(), strict=True))} for r, run in enumerate(RUNS)}
    plain = cf.compare(cf.read_scores(values), test="t", baseline="r")
    assert comparison["AP"].units == 20
    assert comparison["AP"].p == pytest.approx(plain["AP"].p)


def test_a_query_that_one_judge_left_out() -> None:
    scores = cf.evaluate(cf.Collection(judges={**JUDGES, "eve": judged(3, queries=QUERIES[:15])}), RUNS, "AP")
    assert scores.queries == tuple(QUERIES[:15])
    assert any("left out: not judged by all judges" in str(note) for note in scores.notes)


def test_changed_judgments_of_one_judge() -> None:
    old = cf.evaluate(cf.Collection(judges=JUDGES), {"old": RUNS["r"]}, "AP")
    bob = JUDGES["bob"] | {"q00": {"a": 0, "b": 1}}
    new = cf.evaluate(cf.Collection(judges=JUDGES | {"bob": bob}), {"new": RUNS["r"]}, "AP")
    with pytest.raises(cf.CranfieldError, match="other judgments: 1 query changed"):
        new.with_run(old)
    found = new.with_run(old, changed_judgments=True)
    assert found._means[0] == found._means[1]


def test_wrong_judges() -> None:
    with pytest.raises(cf.CranfieldError, match="at least two"):
        cf.Collection(judges={"ann": JUDGES["ann"]})
    with pytest.raises(cf.CranfieldError, match="exclude each other"):
        cf.Collection(JUDGES["ann"], judges=JUDGES)
    with pytest.raises(cf.CranfieldError, match="no single set of judgments"):
        cf.Evaluator(cf.Collection(judges=JUDGES), "AP")


def test_equal_queries_of_several_collections_are_clusters() -> None:
    """Where they have judged documents in common; the topics of unrelated collections have none."""
    comparison = cf.compare(of_collections(JUDGES), baseline="r")
    assert comparison.settings.cluster == "query"
    assert any("are one cluster; cluster=none" in str(note) for note in comparison.notes)
    alone = cf.compare(of_collections(JUDGES), baseline="r", cluster="none")
    assert alone["AP"].units == 40
    assert "cluster" not in "".join(map(str, alone.notes))
    other = {q: {d.upper(): grade for d, grade in row.items()} for q, row in JUDGES["bob"].items()}
    runs = {
        run: {"ann": ranking, "bob": {q: [d.upper() for d in row] for q, row in ranking.items()}}
        for run, ranking in RUNS.items()
    }
    unrelated = cf.evaluate({"ann": cf.Collection(JUDGES["ann"]), "bob": cf.Collection(other)}, runs, "AP")
    assert cf.compare(unrelated, baseline="r").settings.cluster is None


def test_judges_of_an_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, qrels in JUDGES.items():
        Path(f"{name}.txt").write_text("".join(f"{q} 0 {d} {g}\n" for q, row in qrels.items() for d, g in row.items()))
    for name, run in RUNS.items():
        lines = (f"{q} Q0 {d} {i} {-i} {name}\n" for q, row in run.items() for i, d in enumerate(row))
        Path(f"{name}.run").write_text("".join(lines))
    text = 'measures = ["AP"]\nbaseline = "r"\n[collections.c]\njudges = {ann = "ann.txt", bob = "bob.txt"}\n'
    text += '[runs]\nr = "r.run"\ns = "s.run"\n[gates]\nAP = {not_worse_by = 0.3}\n'
    Path("cranfield.toml").write_text(text)
    outcome = cf.Experiment.read("cranfield.toml").run()
    assert outcome.scores.judges is not None
    assert outcome.comparison is not None
    assert outcome.comparison["AP"].units == 20
    assert CliRunner().invoke(cli, ["check", "cranfield.toml"], catch_exceptions=False).exit_code == 0
    Path("cranfield.toml").write_text(text.replace("bob.txt", "eve.txt"))
    wrong = CliRunner().invoke(cli, ["check", "cranfield.toml"], catch_exceptions=False)
    assert wrong.exit_code != 0
    assert "there is no file `eve.txt`" in wrong.output


def test_verbs_take_a_collection_file_with_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, qrels in JUDGES.items():
        lines = [f"{q} 0 {d} {grade}" for q, of in qrels.items() for d, grade in of.items()]
        Path(f"{name}.txt").write_text("\n".join(lines) + "\n")
    for name, rankings in RUNS.items():
        lines = [f"{q} Q0 {d} {i} {-i} {name}" for q, ranking in rankings.items() for i, d in enumerate(ranking)]
        Path(f"{name}.run").write_text("\n".join(lines) + "\n")
    Path("judges.toml").write_text('judges = { ann = "ann.txt", bob = "bob.txt" }\n')
    scores = cf.evaluate(cf.Collection(judges=JUDGES), RUNS, "AP")
    p = cf.compare(scores)["AP"].pairs[0].corrected
    asked = ["judges.toml", "r.run", "s.run", "t.run", "-m", "AP"]
    shown = {verb: CliRunner().invoke(cli, [verb, *asked]) for verb in ("eval", "compare", "report", "audit")}
    assert [result.exit_code for result in shown.values()] == [0, 0, 0, 2]
    assert f"{scores.means['r']['AP']:.4f}" in shown["eval"].output
    assert f"{p:.4f}" in CliRunner().invoke(cli, ["compare", *asked, "--table", "pairs"]).output
    page = Path("report.html").read_text()
    assert "the order of runs" in page
    assert "cranfield eval judges.toml" in page
    assert "reports and experiments take several judges" in shown["audit"].output
