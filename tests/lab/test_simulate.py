"""Simulated collections: what they promise is so, and is the same everywhere."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.lab.simulation import RandomStream, Simulation, save, spelling

SMALL = {"queries": 6, "systems": 5, "documents": 400, "depth": 30, "pool_depth": 8, "relevant": 9}


def small(**other: object) -> Simulation:
    return cf.simulate(**SMALL | other)


# Random numbers.


def test_the_bits_of_numbers_are_fixed() -> None:
    """Written down once: another machine, or another NumPy, that gives others breaks every simulation."""
    assert [x.hex() for x in RandomStream(0, 1).uniform(2).tolist()] == UNIFORM
    assert [x.hex() for x in RandomStream(0, 1).normal((2,)).tolist()] == BELL
    assert RandomStream(7, 2, 3).permutation(8).tolist() == ORDER


UNIFORM = ["0x1.c78bd7c50b582p-1", "0x1.1d4132d1fc63bp-1"]
BELL = ["0x1.dc4866471955fp-1", "-0x1.bac3dc32cac5ep-2"]
ORDER = [5, 1, 4, 6, 3, 7, 2, 0]


def test_numbers_are_what_they_are_called() -> None:
    chance = RandomStream(3)
    uniform, bell = chance.uniform(20_000), chance.normal((20_000,))
    assert 0 <= uniform.min() < uniform.max() < 1
    assert uniform.mean() == pytest.approx(0.5, abs=0.01)
    assert bell.mean() == pytest.approx(0, abs=0.02)
    assert bell.std() == pytest.approx(1, abs=0.02)
    assert np.bincount(chance.below(4, 20_000)).tolist() == pytest.approx([5000] * 4, rel=0.05)
    shares = np.bincount(chance.choose(np.array([3.0, 0.0, 1.0]), 20_000)) / 20_000
    assert shares.tolist() == pytest.approx([0.75, 0, 0.25], abs=0.01)
    assert sorted(chance.permutation(50).tolist()) == list(range(50))


def test_words_are_different_and_no_stop_words() -> None:
    words = [spelling(i) for i in range(60**3)]
    assert len(set(words)) == len(words)
    assert not any("e" in word for word in words)


# The collection.


def test_the_same_seed_is_the_same_collection(tmp_path: Path) -> None:
    def digest(name: str, seed: int) -> str:
        save(small(seed=seed, ties=0.4, truncate=0.4), tmp_path / name)
        files = sorted(p for p in (tmp_path / name).rglob("*") if p.is_file())
        return hashlib.sha256(b"".join(p.name.encode() + p.read_bytes() for p in files)).hexdigest()

    assert digest("a", 1) == digest("b", 1) == DIGEST
    assert digest("c", 2) != DIGEST


DIGEST = "fe7b71c8f76aa07356814c9ecdd95ea05693f071a5f8f10de3af191f0bcbce98"


def grades(judgments: cf.Judgments) -> dict[tuple[str, str], float]:
    queries = np.repeat(list(judgments.queries), np.diff(judgments.begin)).tolist()
    return dict(zip(zip(queries, judgments.documents, strict=True), judgments.grade.tolist(), strict=True))


def test_what_the_pool_held_is_judged_and_nothing_else() -> None:
    made = small(truncate=0.5)
    pool = set()
    for run in made.runs:
        ranked: dict[str, list[str]] = {}
        for query, document in zip(run.source.query, run.source.document, strict=True):
            ranked.setdefault(query, []).append(document)
        pool |= {(query, document) for query, documents in ranked.items() for document in documents[:8]}
    judged, complete = grades(made.judgments), grades(made.complete)
    assert set(judged) == pool
    assert {key: complete[key] for key in judged} == judged
    assert all(document in made.texts for _, document in complete)


def test_how_much_is_relevant() -> None:
    made = small(grades=2, subtopics=3)
    labels = made.complete.labels
    assert labels is not None
    assert list(labels.names) == ["1", "2", "3"]
    assert set(labels.grade.tolist()) == {0, 1, 2}
    relevant = np.add.reduceat(made.complete.grade > 0, made.complete.begin[:-1])
    assert set(relevant.tolist()) <= set(range(6, 13))
    by_subtopic = [sum(of.values()) for of in made.truth["relevant"].values()]
    assert all(total >= count for total, count in zip(by_subtopic, relevant, strict=True))


def test_better_systems_score_higher() -> None:
    made = cf.simulate(queries=60, systems=8, documents=5000, depth=100, seed=4)
    scores = cf.evaluate(made.complete, made.runs, ["AP", "alpha_nDCG@20", "StRecall@10"])
    quality = [system.quality for system in made.systems]
    for m in range(3):
        assert np.corrcoef(np.argsort(np.argsort(quality)), scores._means[:, m])[0, 1] > 0.9
    silent = small(noise=0.0)
    found = cf.evaluate(silent.complete, silent.runs, "AP")
    assert found._means.min() == pytest.approx(1)  # nothing but skill, and everybody has some


def test_spread_sets_how_much_systems_differ() -> None:
    assert {s.quality for s in small(spread=0.0).systems} == {0.5}
    assert sorted(s.quality for s in small(spread=0.5).systems) == pytest.approx([0.3, 0.4, 0.5, 0.6, 0.7])
    assert sorted(s.quality for s in small().systems) == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9])


def test_narrow_systems_see_fewer_subtopics() -> None:
    made = cf.simulate(queries=60, systems=40, documents=5000, depth=50, seed=2)
    scores = cf.evaluate(made.complete, made.runs, ["AP", "StRecall@5"])._means
    skill, breadth = np.array([[s.skill, s.breadth] for s in made.systems]).T
    rest = [values - np.polyval(np.polyfit(skill, values, 1), skill) for values in (breadth, scores[:, 1])]
    assert np.corrcoef(*rest)[0, 1] > 0.3


def test_ties_and_ends() -> None:
    made = small(ties=0.4, truncate=0.6)
    assert sum(s.tied for s in made.systems) == 2
    assert sum(s.stops for s in made.systems) == 3
    for system, run in zip(made.systems, made.runs, strict=True):
        lengths = np.unique(list(run.source.query), return_counts=True)[1]
        assert (lengths.max() <= 30 and lengths.min() < 30) if system.stops else set(lengths) == {30}
        distinct = len(np.unique(run.source.score)) / len(run.source.score)
        assert (distinct < 0.1) == system.tied


def test_tied_documents_stand_in_an_order_without_meaning() -> None:
    made = cf.simulate(queries=100, systems=4, documents=5000, depth=50, ties=1.0, seed=3)
    rules = ["AP[ties=input]", "AP[ties=trec]", "AP[ties=expected]"]
    means = cf.evaluate(made.complete, made.runs, rules)._means
    assert np.abs(means - means[:, 2:]).max() < 0.01


def test_texts_tell_subtopics_apart() -> None:
    """Documents about one subtopic share more words than those about two, and these more than those of two queries."""
    made = cf.simulate(queries=8, systems=2, documents=800, relevant=30, subtopics=2, seed=1)
    labels, documents = made.complete.labels, list(made.complete.documents)
    assert labels is not None
    about: dict[tuple[int, int], list[set[str]]] = {}
    of_query = np.searchsorted(made.complete.begin, labels.document, side="right") - 1
    single = np.bincount(labels.document, labels.grade > 0) == 1
    common = {spelling(i) for i in range(200)}
    for q, d, s, g in zip(of_query, labels.document, labels.subtopic, labels.grade, strict=True):
        if g and single[d]:
            about.setdefault((int(q), int(s)), []).append(set(made.texts[documents[d]].split()) - common)

    def shared(a: list[set[str]], b: list[set[str]]) -> float:
        return float(np.mean([len(x & y) for x in a for y in b if x is not y]))

    same = np.mean([shared(about[q, s], about[q, s]) for q in range(8) for s in range(2)])
    topic = np.mean([shared(about[q, 0], about[q, 1]) for q in range(8)])
    other = np.mean([shared(about[q, 0], about[(q + 1) % 8, 0]) for q in range(8)])
    assert same > 1.3 * topic > 1.5 * other
    assert set(made.queries) == {f"q{q}" for q in range(1, 9)}
    assert all(len(text.split()) == 3 for text in made.queries.values())


WRONG = {
    "queries": (0, "queries must be a whole number of at least 1, not 0"),
    "systems": (2.5, "systems must be a whole number of at least 1, not 2.5"),
    "seed": (-1, "seed must be a whole number of at least 0, not -1"),
    "ties": (1.5, "ties must be a number from 0 to 1, not 1.5"),
    "noise": (float("nan"), "noise must be a number from 0 to 1,000, not nan"),
    "documents": (
        100,
        "100 documents are too few for 6 queries with up to 12 relevant documents each\n\nhint: use at least 144 documents",
    ),
}


@pytest.mark.parametrize(("name", "wrong"), WRONG.items())
def test_wrong_settings(name: str, wrong: tuple[object, str]) -> None:
    with pytest.raises(cf.CranfieldError) as caught:
        small(**{name: wrong[0]})
    assert str(caught.value) == wrong[1]


# Files.


def test_files_are_read_back(tmp_path: Path) -> None:
    made = small(seed=5)
    folder = save(made, tmp_path / "new" / "lab")
    assert sorted(p.name for p in folder.iterdir()) == [
        "docs.jsonl", "qrels.complete.txt", "qrels.diversity.txt", "qrels.txt", "queries.jsonl", "runs", "truth.json",
    ]  # fmt: skip
    runs = [folder / "runs" / f"s{i}.run" for i in range(1, 6)]
    for name, judgments in (("qrels.diversity.txt", made.judgments), ("qrels.complete.txt", made.complete)):
        measures = ["AP", "alpha_nDCG@10", "D#-nDCG@10"]
        from_files = cf.evaluate(folder / name, runs, measures)
        assert np.array_equal(from_files.values, cf.evaluate(judgments, made.runs, measures).values, equal_nan=True)
    assert cf.evaluate(folder / "qrels.txt", runs, "AP")._means.tolist() == (
        cf.evaluate(made.judgments, made.runs, "AP")._means.tolist()
    )
    texts = [json.loads(line) for line in (folder / "docs.jsonl").read_text().splitlines()]
    assert {text["id"]: text["text"] for text in texts} == made.texts
    assert json.loads((folder / "truth.json").read_text()) == made.truth


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    save(small(), folder)  # empty is as good as new
    with pytest.raises(cf.InputError, match="the folder is not empty"):
        save(small(), folder)
    before = (folder / "truth.json").read_text()
    save(small(seed=9), folder, force=True)
    assert (folder / "truth.json").read_text() != before
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("ten years of work")
    with pytest.raises(cf.InputError, match="the folder holds files that are not part of a simulation"):
        save(small(), other, force=True)
    assert (other / "thesis.tex").read_text() == "ten years of work"
    for place in ("thesis.tex", "runs/mine.run"):
        (folder / place).write_text("ten years of work")
        with pytest.raises(cf.InputError, match=f"holds files that are not part of a simulation, such as `{place}`"):
            save(small(), folder, force=True)
        (folder / place).unlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lab", "other"]


def test_links_to_folders_stay_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here").symlink_to("there")
    save(small(), tmp_path / "here")
    assert (tmp_path / "there" / "truth.json").is_file()
    assert (tmp_path / "here").is_symlink()
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(cf.InputError, match="is the current folder"):
        save(small(), ".")


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save(small(), tmp_path / "lab")
    before = (folder / "truth.json").read_text()

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("cranfield.lab.simulation.write_run", full)
    with pytest.raises(OSError, match="no space"):
        save(small(seed=3), folder, force=True)
    assert (folder / "truth.json").read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["lab"]


def test_an_interrupt_right_after_the_folder_was_made_leaves_none(tmp_path: Path, monkeypatch) -> None:
    made = small()
    mkdir = Path.mkdir

    def interrupted(self: Path, *args: object, **how: object) -> None:
        mkdir(self, *args, **how)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(made, tmp_path / "lab")
    assert list(tmp_path.iterdir()) == []


def test_a_share_of_queries_has_no_relevant_document() -> None:
    made = small(queries=10, documents=800, nil_queries=0.3, truncate=0.5)
    relevant = {query for (query, _), grade in grades(made.complete).items() if grade > 0}
    assert len(relevant) == 7
    assert made.truth["settings"]["nil_queries"] == 0.3
    assert sorted(sum(counts.values()) == 0 for counts in made.truth["relevant"].values()) == [False] * 7 + [True] * 3
    assert set(made.judgments.queries) == {query for query, _ in grades(made.judgments)}
    detections = [cf.audit(made.judgments, run, "RR").nil_detection(0, 0) for run in made.runs]
    assert {d.nil for d in detections} == {3}
    assert "nil_queries" not in small().truth["settings"]
    assert len({len(set(made.texts)), 800}) == 1


def test_without_nil_nothing_changes() -> None:
    assert grades(small(nil_queries=0.0).complete) == grades(small().complete)


# NIL answers.


def answers(run: cf.Run) -> dict[str, list[str]]:
    """The documents of each query of a run, best first."""
    ranked: dict[str, list[tuple[float, str]]] = {}
    for query, document, score in zip(run.source.query, run.source.document, run.source.score.tolist(), strict=True):
        ranked.setdefault(query, []).append((score, document))
    assert all(len({score for score, document in of if document == "NIL"}) <= 1 for of in ranked.values())
    return {query: [d for _, d in sorted(of, key=lambda pair: -pair[0])] for query, of in ranked.items()}


def test_a_share_of_lists_ends_in_nil_and_more_of_those_without_an_answer() -> None:
    made = cf.simulate(
        queries=40, systems=6, documents=3200, depth=5, nil_queries=0.25, nil_answers=0.3, truncate=0.5, seed=2
    )
    no_answer = {query for query, counts in made.truth["relevant"].items() if not sum(counts.values())}
    assert len(no_answer) == 10
    right = wrong = 0
    for run in made.runs:
        lists = answers(run)
        silent = {query for query, documents in lists.items() if "NIL" in documents}
        assert len(silent) == 12  # 30% of 40
        assert all(lists[query].index("NIL") == len(lists[query]) - 1 < 5 for query in silent)
        right, wrong = right + len(silent & no_answer), wrong + len(silent - no_answer)
    assert right / (6 * 10) > 2 * wrong / (6 * 30)
    lengths = {len(documents) for run in made.runs for documents in answers(run).values() if documents[-1] == "NIL"}
    assert 1 in lengths and len(lengths) > 1  # NIL alone, and NIL after documents
    assert "NIL" not in set(made.judgments.documents) | set(made.complete.documents) | set(made.texts)
    assert made.truth["settings"]["nil_answers"] == 0.3 and "nil_answers" not in small().truth["settings"]


def test_nil_is_below_every_answer_of_its_list_also_with_tied_scores() -> None:
    made = small(ties=1.0, nil_answers=1.0, depth=4, noise=3.0)
    for run in made.runs:
        score = run.source.score
        for i, document in enumerate(run.source.document):
            if document == "NIL" and i and run.source.query[i - 1] == run.source.query[i]:
                assert score[i] < score[i - 1]
        assert sum(document == "NIL" for document in run.source.document) == 6


def test_lists_without_nil_are_those_of_the_same_simulation_without_it() -> None:
    plain, with_nil = small(nil_queries=0.3, seed=5), small(nil_queries=0.3, seed=5, nil_answers=0.5)
    for before, after in zip(plain.runs, with_nil.runs, strict=True):
        old, new = answers(before), answers(after)
        for query, documents in new.items():
            if documents[-1] == "NIL":
                assert old[query][: len(documents) - 1] == documents[:-1]
            else:
                assert old[query] == documents


def test_the_pool_has_no_documents_that_nil_cut_off() -> None:
    made = small(nil_queries=0.3, nil_answers=0.5, seed=5)
    pool = {(q, d) for run in made.runs for q, of in answers(run).items() for d in of[:8] if d != "NIL"}
    assert set(grades(made.judgments)) >= pool
    judged = {query for query, _ in pool}
    assert {(q, d) for q, d in grades(made.judgments) if q in judged} == pool


def test_the_share_of_nil_answers_is_checked() -> None:
    with pytest.raises(cf.CranfieldError, match="nil_answers must be a number from 0 to 1, not 2"):
        small(nil_answers=2)
