"""Studies of scores that another program computed: those that need no rankings take them, the others say so."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import cranfield as cf
from cranfield.analysis import per_query
from cranfield.cli.main import cli
from cranfield.errors import UsageError
from cranfield.example import path
from cranfield.lab.studies import study_names
from cranfield.lab.study import study_class

MUSEUM = [path(f"{name}.run") for name in ("bm25", "dense", "llm", "quiet")]
NEED_NO_RANKINGS = ("correlation", "power")
NEED_RANKINGS = [name for name in study_names() if name not in (*NEED_NO_RANKINGS, "properties")]


def outside(scores: cf.Scores) -> cf.Scores:
    """The same values as another program would give them."""
    values = {run: {m: scores[m].per_query[run] for m in scores.measures} for run in scores.runs}
    return cf.read_scores({run: {f"own {m}": of for m, of in by.items()} for run, by in values.items()})


@pytest.fixture(scope="module")
def scores() -> cf.Scores:
    return cf.evaluate(path("qrels.txt"), MUSEUM, ["AP", "nDCG@10", "RR"])


def test_power_of_scores_is_that_of_the_runs(scores: cf.Scores) -> None:
    settings: dict[str, Any] = {"samples": 200, "trials": 20}
    ranked = cf.lab.power(path("qrels.txt"), MUSEUM, ["AP", "nDCG@10", "RR"], **settings)
    alone, elsewhere = cf.lab.power(scores, **settings), cf.lab.power(outside(scores), **settings)
    assert alone.summaries == ranked.summaries and alone.measures == ranked.measures
    for ours, theirs in zip(ranked.summaries, elsewhere.summaries, strict=True):
        assert theirs == ours | {"measure": f"own {ours['measure']}"}
    assert elsewhere.measures == tuple(f"own {m}" for m in ranked.measures)


def test_correlation_of_scores_is_that_of_the_runs(scores: cf.Scores) -> None:
    ranked = cf.lab.correlation(path("qrels.txt"), MUSEUM, ["AP", "nDCG@10", "RR"], coefficient="spearman")
    elsewhere = cf.lab.correlation(outside(scores), coefficient="spearman")
    np.testing.assert_array_equal(elsewhere.matrix, ranked.matrix)
    some = cf.lab.correlation(scores, measures=["AP"], against=["RR"], coefficient="spearman")
    assert (some.rows, some.columns) == (("AP",), ("RR",))
    assert some.matrix[0, 1] == ranked.matrix[0, 2]


def test_orders_by_a_measure_of_which_less_is_better_are_those_from_best_to_worst() -> None:
    rng = np.random.default_rng(0)
    good, slow = rng.random((5, 12)), rng.random((5, 12))
    values = {
        f"r{r}": {"good": dict(enumerate(good[r].tolist())), "slow": dict(enumerate(slow[r].tolist()))}
        for r in range(5)
    }
    found = cf.lab.correlation(cf.read_scores(values, lower="slow"))
    expected = stats.kendalltau(good.mean(axis=1), -slow.mean(axis=1)).statistic
    assert found.matrix[0, 1] == pytest.approx(expected)
    assert any("slow: lower values are better" in str(note) for note in found.notes)


def test_missing_scores_are_left_out_of_all_runs() -> None:
    values = {"a": {"m": {"1": 0.1, "2": 0.2, "3": None}}, "b": {"m": {"1": 0.3, "2": 0.5, "3": 0.4}}}
    assert cf.lab.power(cf.read_scores(values), samples=50, trials=5).queries == ("1", "2")


@pytest.mark.parametrize("name", NEED_RANKINGS)
def test_studies_of_rankings_say_that_they_need_them(name: str, scores: cf.Scores, tmp_path: Path) -> None:
    message = f"the study `{name}` needs rankings, and scores have none"
    assert not study_class(name).takes_scores()
    with pytest.raises(UsageError, match=message):
        getattr(cf.lab, name)(scores)
    with pytest.raises(UsageError, match=message):
        getattr(cf.lab, name)(qrels=scores, runs=None)
    scores.save(tmp_path / "scores.json")
    result = CliRunner().invoke(cli, ["study", name, "--scores", str(tmp_path / "scores.json")])
    assert (result.exit_code, result.stderr.splitlines()[0]) == (2, "error: unknown option --scores")
    assert "hint: this command needs rankings" in result.stderr


@pytest.mark.parametrize("name", NEED_NO_RANKINGS)
def test_studies_take_files_of_scores(name: str, scores: cf.Scores, tmp_path: Path) -> None:
    files = []
    for run in scores.runs:
        files.append(str(tmp_path / f"{run}.csv"))
        with Path(files[-1]).open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["query", *scores.measures])
            by_query = [scores[m].per_query[run] for m in scores.measures]
            lines.writerows(
                [query, *("" if of[query] is None else repr(of[query]) for of in by_query)] for query in scores.queries
            )
    more = ["--samples", "100"] if name == "power" else []
    found = CliRunner().invoke(cli, ["study", name, "--scores", *files, *more, "--format", "json"])
    assert found.exit_code == 0, found.stderr
    expected = getattr(cf.lab, name)(scores, **({"samples": 100} if more else {})).to_dict()
    part = "summaries" if name == "power" else "matrix"
    assert json.loads(found.stdout)[part] == json.loads(json.dumps(expected[part]))


def refused(*words: str) -> str:
    result = CliRunner().invoke(cli, ["study", "power", *words])
    assert result.exit_code == 2
    return result.stderr.splitlines()[0].removeprefix("error: ")


def test_options_of_rankings_are_refused_with_scores() -> None:
    assert refused() == "the study `power` needs judgments and runs, or --scores"
    assert refused("--scores", "x.csv", "--top", "3") == "--top needs rankings, and scores have none"
    assert refused("--scores", "x.csv", "--paper") == "--paper needs rankings, and scores have none"
    assert refused(str(path("qrels.txt")), str(MUSEUM[0]), "--lower", "x") == "--lower needs --scores"


def test_a_named_run_has_its_name_in_a_study() -> None:
    words = ["study", "correlation", str(path("qrels.txt")), f"first={MUSEUM[0]}", str(MUSEUM[1]), "-m", "AP RR"]
    result = CliRunner().invoke(cli, [*words, "--format", "json"])
    assert json.loads(result.stdout)["runs"] == ["first", "dense"]


def test_what_shows_documents_needs_rankings(scores: cf.Scores) -> None:
    calls: list[tuple[str, Any]] = [
        ("an audit", lambda: cf.audit(scores)),
        ("an evaluation", lambda: cf.evaluate(scores, {"q": ["a"]}, "AP")),
        ("an evaluation", lambda: cf.evaluate({"q": {"a": 1}}, scores, "AP")),
        ("an evaluation", lambda: cf.Collection(scores)),
        ("a comparison of documents", lambda: per_query.documents(scores, "q1")),  # type: ignore[arg-type]
        ("a list of documents", lambda: per_query.top_documents(scores, "q1")),  # type: ignore[arg-type]
    ]
    for what, call in calls:
        with pytest.raises(UsageError, match=f"{what} needs rankings, and scores have none"):
            call()
