"""What saved results say of their origin, and baselines that were computed from something else."""

from __future__ import annotations

import gzip
import hashlib
import json
import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield.cli.main import cli
from cranfield.io.streams import digest_of_file

QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 c 2\n3 0 a 1\n"
RUN = "1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n2 Q0 c 1 2 x\n3 Q0 b 1 1 x\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "x.run").write_text(RUN)
    return tmp_path


def provenance(folder: Path, qrels: str = "qrels.txt", run: str = "x.run", **options: object) -> dict:
    return cf.evaluate(folder / qrels, folder / run, ["AP", "RR"], **options).to_dict()["provenance"]  # type: ignore


def digest(found: dict, kind: str) -> str:
    return next(one["digest"] for one in found["inputs"] if one["kind"] == kind)


def test_version_measures_policy_and_digests(folder: Path) -> None:
    found = provenance(folder, depth=10)
    assert found["cranfield"] == cf.__version__
    assert found["measures"]["AP[depth=10]"]["rel"] == 1.0
    assert found["policy"]["depth"] == 10
    assert digest(found, "run") == f"sha256:{hashlib.sha256(RUN.encode()).hexdigest()}"
    assert found["judgments"]["2"][0] == 2
    assert "time" not in found


def test_a_compressed_run_and_reordered_judgments_are_the_same(folder: Path) -> None:
    (folder / "x.run.gz").write_bytes(gzip.compress(RUN.encode()))
    (folder / "other.txt").write_text("".join(line + "\n" for line in sorted(QRELS.splitlines(), reverse=True)))
    one, two = provenance(folder), provenance(folder, "other.txt", "x.run.gz")
    assert digest(one, "run") == digest(two, "run")
    assert digest(one, "qrels") == digest(two, "qrels")
    assert one["judgments"] == two["judgments"]
    (folder / "other.txt").write_text(QRELS.replace("2 0 c 2", "2 0 c 1"))
    three = provenance(folder, "other.txt")
    assert digest(one, "qrels") != digest(three, "qrels")
    assert [q for q in "123" if one["judgments"][q] != three["judgments"][q]] == ["2"]


def test_subtopics_count() -> None:
    judged = [{"1": {"a": {"s": 1, "t": 1}}}, {"1": {"a": {"t": 1, "s": 1}}}, {"1": {"a": {"s": 1, "u": 1}}}]
    found = [cf.evaluate(one, {"1": ["a"]}, "AP").to_dict()["provenance"]["judgments"] for one in judged]
    assert found[0] == found[1] != found[2]


def test_a_file_that_changed_since_it_was_read_has_no_digest(folder: Path) -> None:
    scores = cf.evaluate(folder / "qrels.txt", folder / "x.run", "AP")
    (folder / "x.run").write_text(RUN + "3 Q0 a 2 0.5 x\n")
    assert digest(scores.to_dict()["provenance"], "run") is None


def test_runs_in_memory_have_no_digest_and_judgments_do() -> None:
    found = cf.evaluate({"1": {"a": 1}}, {"1": ["a"]}, "AP").to_dict()["provenance"]
    assert digest(found, "run") is None
    assert digest(found, "qrels").startswith("sha256:")


def test_a_saved_result_says_when_and_a_command_says_what(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    words = ["eval", "qrels.txt", "x.run", "-m", "AP", "--format", "json", "-o", "s.json"]
    assert CliRunner().invoke(cli, words, catch_exceptions=False).exit_code == 0
    found = json.loads(Path("s.json").read_text())["provenance"]
    assert found["time"] == "1970-01-01T00:00:00Z"
    assert found["command"] == "cranfield eval qrels.txt x.run -m AP --format json -o s.json"
    scores = cf.load("s.json")
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    scores.save("again.json")
    assert json.loads(Path("again.json").read_text())["provenance"] == found
    assert scores.to_dict() == cf.evaluate("qrels.txt", "x.run", "AP").to_dict()
    assert pickle.loads(pickle.dumps(scores)).to_dict() == scores.to_dict()


def test_groups_and_studies_have_it_too(folder: Path) -> None:
    """Also after they were saved and loaded, and from both doors."""
    queries = {"1": {"kind": "how"}, "2": {"kind": "what"}, "3": {"kind": "how"}}
    runs = [folder / "x.run", folder / "y.run"]
    (folder / "y.run").write_text((folder / "x.run").read_text().replace(" x\n", " y\n"))
    scores = cf.evaluate(cf.Collection(folder / "qrels.txt", queries=queries), runs, "AP")
    expected = digest(scores.to_dict()["provenance"], "qrels")
    groups = scores.by("kind")
    groups.save(folder / "groups.json")
    study = cf.lab.correlation(folder / "qrels.txt", runs, ["AP", "RR(rel=2)"])
    study.save(folder / "study.json")
    words = ["study", "correlation", str(folder / "qrels.txt"), *map(str, runs), "-m", "AP RR(rel=2)"]
    for top in ([], ["--top", "2"]):
        file = folder / f"cli{len(top)}.json"
        result = CliRunner().invoke(cli, [*words, *top, "--format", "json", "-o", str(file)], catch_exceptions=False)
        assert result.exit_code == 0
        loaded = type(study).load(file)
        assert loaded.to_dict()["provenance"]["measures"]["RR(rel=2)"]["rel"] == 2
    for name in ("groups.json", "study.json", "cli0.json", "cli2.json"):
        found = json.loads((folder / name).read_text())["provenance"]
        assert {"time", "cranfield", "measures", "inputs"} <= found.keys()
        assert digest(found, "qrels") == expected
        inputs = [one for one in found["inputs"] if one["kind"] == "run"]
        assert [one["digest"] for one in inputs] == [digest_of_file(str(run)) for run in runs]
        if name.startswith("cli"):
            assert found["command"].startswith("cranfield study correlation")
    assert cf.load(folder / "groups.json").to_dict()["provenance"] == groups.to_dict()["provenance"]


def test_a_damaged_provenance_is_refused(folder: Path) -> None:
    path = folder / "s.json"
    cf.evaluate(folder / "qrels.txt", folder / "x.run", "AP").save(path)
    data = json.loads(path.read_text())
    for wrong in (3, {"judgments": {"1": "many"}}, {"judgments": {"1": [1]}}, {"policy": []}):
        path.write_text(json.dumps({**data, "provenance": wrong}))
        with pytest.raises(cf.InputError, match="not a complete file of scores"):
            cf.load(path)


def test_views_of_all_measures_or_of_each_are_the_same(folder: Path) -> None:
    """The baseline may say a view for all measures, and the run for each of them."""
    old = cf.evaluate(folder / "qrels.txt", {"old": folder / "x.run"}, "AP", ties="expected", depth=2)
    new = cf.evaluate(folder / "qrels.txt", {"new": folder / "x.run"}, "AP[ties=expected, depth=2]")
    assert new.with_run(old).runs == ("old", "new")
    assert new.to_dict()["provenance"]["policy"]["ties"] == "trec"
    with pytest.raises(cf.CranfieldError, match=r"`old` has no scores for AP"):
        cf.evaluate(folder / "qrels.txt", {"new": folder / "x.run"}, "AP").with_run(old)


def compare(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["compare", "qrels.txt", "x.run", "--test", "t", *words], catch_exceptions=False)
    return result.exit_code, result.stderr


def test_a_baseline_with_other_judgments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    cf.evaluate("qrels.txt", {"old": "x.run"}, "AP").save("s.json")
    assert compare("--baseline", "s.json")[0] == 0
    Path("qrels.txt").write_text(QRELS.replace("2 0 c 2", "2 0 c 1\n2 0 d 1") + "4 0 a 1\n")
    code, err = compare("--baseline", "s.json")
    assert code == 2
    assert "1 query changed (2; 2 judgments then, 3 now); 1 query new (4; 1 judgment)" in err
    code, err = compare("--baseline", "s.json", "--allow-changed-judgments")
    assert code == 0
    assert "1 query (2) left out: other judgments" in err
    assert "compared on 2 queries (1, 3)" in err


def test_a_baseline_with_another_policy_or_measure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    cf.evaluate("qrels.txt", {"old": "x.run"}, "AP", queries="both").save("s.json")
    code, err = compare("--baseline", "s.json", "-m", "AP")
    assert code == 2
    assert "queries=both" in err
    cf.evaluate("qrels.txt", {"old": "x.run"}, "AP(rel=2)").save("s.json")
    code, err = compare("--baseline", "s.json", "-m", "AP")
    assert code == 2
    assert "has no scores for AP" in err


def test_scores_of_an_older_version_have_none(folder: Path) -> None:
    scores = cf.evaluate(folder / "qrels.txt", {"old": folder / "x.run"}, "AP")
    data = {key: value for key, value in scores.to_dict().items() if key != "provenance"}
    old = cf.Scores.from_dict(data)
    assert old.provenance is None
    assert scores.with_run(old).runs == ("old (baseline)", "old")


def test_preferences_and_intents_of_a_baseline(folder: Path) -> None:
    """Their digests do not depend on the order of lines; other ones are an error."""
    lines = ["q g s a 2", "q g s b 1", "q g s c 0", "r g s a 1", "r g s b 0"]
    (folder / "prefs.txt").write_text("".join(f"{line}\n" for line in lines))
    (folder / "again.txt.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in reversed(lines)).encode()))
    (folder / "other.txt").write_text("".join(f"{line}\n" for line in lines[:-1]))
    run = {"q": ["a", "b", "c"], "r": ["b", "a"]}

    def scores(name: str, judged: str) -> cf.Scores:
        return cf.evaluate(cf.Collection(prefs=folder / judged), {name: run}, "Prefs")

    old = scores("old", "prefs.txt")
    old.save(folder / "old.json")
    for baseline in (old, cf.load(folder / "old.json")):
        assert scores("new", "again.txt.gz").with_run(baseline).runs == ("old", "new")
        with pytest.raises(
            cf.CranfieldError,
            match=r"`old` was scored with other judgments: 1 query changed \(r; 2 judgments then, 1 now\)",
        ):
            scores("new", "other.txt").with_run(baseline)


GRADED = {f"q{i}": {"a": 1, "b": 0, "c": i % 3} for i in range(8)}
RANKED = {q: ["b", "a", "c"] for q in (*GRADED, "q", "r")}
SCALED = ["ERR@10", "RBP", "SDCG@3", "HIT@3"]


def scored(name: str, measures: object, judged: object = None, **parts: object) -> cf.Scores:
    collection = cf.Collection(GRADED if judged is None else judged, **parts)
    return cf.evaluate(collection, {name: RANKED}, measures)  # type: ignore[arg-type]


@pytest.mark.parametrize("measure", SCALED)
def test_a_new_highest_grade_changes_the_values_of_every_query(measure: str, tmp_path: Path) -> None:
    """A run must not be significantly worse than itself."""
    path = tmp_path / "old.json"
    scored("old", [measure, "AP"]).save(path)
    higher = GRADED | {"q0": GRADED["q0"] | {"c": 4}}
    with pytest.raises(cf.CranfieldError, match="the highest grade was 2 and is 4, and all values of"):
        scored("new", measure, higher).with_run(cf.Scores.load(path), changed_judgments=True)
    found = scored("new", "AP", higher).with_run(cf.Scores.load(path), changed_judgments=True)
    assert found._means[0] == found._means[1]
    assert not found.counted[:, found.queries.index("q0")].any()


def test_measures_by_subtopic_depend_on_the_highest_grade() -> None:
    """Equation 2 of Hui et al. divides by it; ndeval's form and an ideal ranking do not depend on it."""
    higher = SUBTOPICS | {"r": {"a": {"s": 3}}}
    measure = "ERR_IA(norm='paper')@5"
    with pytest.raises(cf.CranfieldError, match="the highest grade was 1 and is 3"):
        scored("new", measure, higher).with_run(scored("old", measure, SUBTOPICS), changed_judgments=True)
    measures = ["ERR_IA@5", "nDCG@5"]
    found = scored("new", measures, higher).with_run(scored("old", measures, SUBTOPICS), changed_judgments=True)
    assert found._means[0].tolist() == found._means[1].tolist()


def test_documents_judged_for_any_query() -> None:
    """A document that is judged for one query is no hole of another."""
    more = GRADED | {"q0": GRADED["q0"] | {"d": 0}}
    with pytest.raises(cf.CranfieldError, match="other documents are judged for some query"):
        scored("new", "Hole@2", more).with_run(scored("old", "Hole@2"), changed_judgments=True)
    regraded = GRADED | {"q0": GRADED["q0"] | {"a": 0}}
    found = scored("new", "Hole@2", regraded).with_run(scored("old", "Hole@2"), changed_judgments=True)
    assert found._means[0] == found._means[1]


def test_with_the_grade_named_queries_are_compared() -> None:
    measure = "ERR(max=4)@10"
    higher = GRADED | {"q0": GRADED["q0"] | {"c": 4}}
    found = scored("new", measure, higher).with_run(scored("old", measure), changed_judgments=True)
    assert found._means[0] == found._means[1]


SUBTOPICS = {"q": {"a": {"s": 1}, "b": {"t": 1}}, "r": {"a": {"s": 1}}}
STRATA = {"q": {"a": "1", "b": "1"}, "r": {"a": "1", "b": "2"}}
OF_TEXTS = {"documents": {"a": "one two", "b": "two three", "c": "three four"}}
PARTS = {
    "intents": ("alpha_nDCG@5", SUBTOPICS, {"intents": {"q": {"s": 1, "t": 2}}}, {"intents": {"q": {"s": 2, "t": 1}}}),
    "types": ("DIN_Q@5", SUBTOPICS, {"types": {"q": {"s": "nav"}}}, {"types": {"q": {"t": "nav"}}}),
    "costs": ("TBG", None, {"costs": {"q0": {"a": 1.0}}}, {"costs": {"q0": {"a": 2.0}}}),
    "documents": ("DELTARB@5", SUBTOPICS, OF_TEXTS, {"documents": OF_TEXTS["documents"] | {"b": "five"}}),
    "map_documents": ("AP", None, {"map_documents": {"b": "a"}}, {"map_documents": {"b": "c"}}),
    "strata": (
        "xinfAP",
        {"q": {"a": 1, "b": 0}, "r": {"a": 1, "b": 0}},
        {"strata": STRATA},
        {"strata": STRATA | {"q": {"a": "1", "b": "2"}}},
    ),
    "inclusion": (
        "statAP",
        {"q": {"a": 1, "b": 0}},
        {"inclusion": {"q": {"a": 0.5, "b": 0.5}}},
        {"inclusion": {"q": {"a": 0.5, "b": 0.6}}},
    ),
}


@pytest.mark.parametrize("case", PARTS)
def test_everything_that_scores_depend_on(case: str, tmp_path: Path) -> None:
    """Also if it is given in memory, and for a saved baseline; measures that do not read it may be compared."""
    measure, judged, parts, other = PARTS[case]
    old = scored("old", measure, judged, **parts)
    old.save(tmp_path / "old.json")
    for baseline in (old, cf.Scores.load(tmp_path / "old.json")):
        assert scored("new", measure, judged, **parts).with_run(baseline).runs == ("old", "new")
        with pytest.raises(cf.CranfieldError, match="was scored with other"):
            scored("new", measure, judged, **other).with_run(baseline)
    if case in ("intents", "costs", "documents"):
        again = scored("new", "AP", judged, **other)
        assert again.with_run(scored("old", ["AP", measure], judged, **parts)).runs == ("old", "new")


def test_groups_and_passages_in_memory() -> None:
    groups = {"q": {"x": {"a": 1, "b": 0}, "y": {"a": 0, "b": 1}}}
    changed = {"q": {"x": {"a": 1, "b": 0}, "y": {"a": 1, "b": 1}}}
    found = [
        cf.evaluate(cf.Collection(groups=one), {name: {"q": ["a", "b"]}}, "AP[groups]")
        for name, one in (("old", groups), ("new", {"q": dict(reversed(groups["q"].items()))}), ("new", changed))
    ]
    assert found[1].with_run(found[0]).runs == ("old", "new")
    with pytest.raises(cf.CranfieldError, match="other judgments"):
        found[2].with_run(found[0])
