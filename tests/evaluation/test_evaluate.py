"""Policies, notes, names and means: what `evaluate` promises beyond the numbers of one query."""

from __future__ import annotations

import io
import json
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield import native
from cranfield.errors import UsageError
from cranfield.evaluation.notes import sentences
from cranfield.evaluation.scores import Score

RUN = {
    "q1": {"a": 3.0, "b": 2.0, "x": 1.0},
    "q2": {"c": 1.0},  # nothing relevant was judged
    "q4": {"a": 1.0},  # nobody judged this query
}
QRELS = {"q1": {"a": 0, "b": 1}, "q2": {"c": 0}, "q3": {"a": 2}}


def table(scores: cf.Scores, measure: str = "AP") -> dict:
    return scores.to_dict()["runs"]["run"][measure]


def test_every_judged_query_counts_and_undefined_is_not_zero() -> None:
    assert table(cf.evaluate(QRELS, RUN, "AP")) == {"mean": 0.25, "n": 2, "queries": {"q1": 0.5, "q2": None, "q3": 0.0}}


@pytest.mark.parametrize(
    ("queries", "undefined", "mean", "n"),
    [
        ("judged", "skip", 1 / 4, 2),
        ("judged", "zero", 1 / 6, 3),
        ("judged", "one", 1 / 2, 3),
        ("both", "skip", 1 / 2, 1),
        ("both", "zero", 1 / 4, 2),
        ("run", "zero", 1 / 6, 3),
        ("run", "skip", 1 / 2, 1),
    ],
)
def test_which_queries_count(queries: str, undefined: str, mean: float, n: int) -> None:
    found = table(cf.evaluate(QRELS, RUN, "AP", queries=queries, undefined=undefined))
    assert (found["mean"], found["n"]) == (pytest.approx(mean), n)
    assert (
        set(found["queries"])
        == {"judged": {"q1", "q2", "q3"}, "both": {"q1", "q2"}, "run": {"q1", "q2", "q4"}}[queries]
    )


def test_undefined_can_be_an_error() -> None:
    with pytest.raises(cf.CranfieldError, match=r"AP of run is undefined for 1 of 3 queries: q2"):
        cf.evaluate(QRELS, RUN, "AP", undefined="error")


def test_notes_say_what_a_reader_must_know() -> None:
    run = {"q1": {"a": 1.0, "b": 1.0, "x": 1.0}, "q2": {"c": 1.0}, "q4": {"a": 1.0}}
    expected = [
        ("AP is undefined for 1 query (q2)",),
        ("1 query (q2) has no relevant document",),
        ("run has no ranking for 1 query (q3)", "empty"),
        ("run has 1 query (q4) without judgments", "left out"),
        ("run: ", "22% of the top 2", "25%", "unjudged"),
        ("run: ", "AP (0.1667 to 0.5000), P@2 (0.0000 to 0.1667)"),
    ]
    notes = sentences(cf.evaluate(QRELS, run, ["AP", "P@2"]).notes)
    for note, parts in zip(notes, expected, strict=True):
        assert all(part in note for part in parts), note


def test_labels_are_the_measures_as_they_were_asked_for() -> None:
    asked = ["ndcg_cut_10", "RBP(p=0.8)", " AP "]
    assert cf.evaluate(QRELS, RUN, asked).measures == ("ndcg_cut_10", "RBP(p=0.8)", "AP")
    views = cf.evaluate(QRELS, RUN, [*asked, "AP[ties=best]"], ties="expected", condensed=True)
    assert views.measures == ("ndcg_cut_10", "RBP(p=0.8)", "AP", "AP[ties=best]")
    assert [str(column.measure.views) for column in views.columns[2:]] == [
        "[ties=expected, condensed]",
        "[ties=best, condensed]",
    ]
    assert views["AP[ties=expected]"].measure == "AP" and views["map"].measure == "AP"
    assert "AP[ties=trec]" not in views and "AP[ties=trec]" in cf.evaluate(QRELS, RUN, "AP")


def test_a_measure_asked_for_twice_is_one_column() -> None:
    assert cf.evaluate(QRELS, RUN, ["AP", "AP", cf.parse("AP")]).measures == ("AP",)


def test_several_runs_keep_their_names_apart(tmp_path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bm25.run").write_text("q1 Q0 b 1 2.0 t\n")
    paths = [str(tmp_path / folder / "bm25.run") for folder in "ab"]
    assert cf.evaluate(QRELS, [*paths, RUN, RUN, RUN], "AP").runs == ("bm25", "b/bm25.run", "run", "run (2)", "run (3)")
    assert cf.evaluate(QRELS, [RUN, RUN], "AP", names=["x", "y"]).runs == ("x", "y")
    with pytest.raises(UsageError, match="expected 2 names, one for each run, not 1"):
        cf.evaluate(QRELS, [RUN, RUN], "AP", names=["x"])


def test_many_runs_come_in_order() -> None:
    runs = [{"q": {"a": 1.0, "b": float(i % 2) * 2}} for i in range(30)]
    assert cf.evaluate({"q": {"a": 1}}, runs, "RR")._means[:, 0].tolist() == [1.0, 0.5] * 15


def test_after_a_fault_no_more_runs_are_read() -> None:
    read: set[int] = set()
    told, before = threading.Event(), set(threading.enumerate())

    class Watched(io.BytesIO):
        """A file whose second half is read only after the fault of the first one was told."""

        def __init__(self, number: int) -> None:
            query = "q" if number else "other"
            super().__init__("".join(f"{query} Q0 d{i} 0 {-i} t\n" for i in range(5000)).encode())
            self.number = number

        def readinto(self, buffer: Any, /) -> int:
            if self.tell() > 40_000:
                read.add(self.number)
                if self.number:
                    assert told.wait(60)
            return super().readinto(buffer)

    with pytest.raises(cf.InputError, match="none of its queries is judged"):
        cf.evaluate({"q": {"a": 1}}, [Watched(i) for i in range(30)], "RR")
    told.set()
    for reader in set(threading.enumerate()) - before:
        if not isinstance(reader, threading._DummyThread):  # of the native core, which the others wait for
            reader.join(60)
            assert not reader.is_alive()
    assert read <= {0, 1}  # the next was begun before the fault was known


def test_that_reading_is_slow_is_said_once(monkeypatch) -> None:
    monkeypatch.delenv("CRANFIELD_PLAIN", raising=False)
    monkeypatch.setattr(native, "NATIVE", False)
    monkeypatch.setattr(native, "_warnings", [])
    with pytest.warns(RuntimeWarning, match="plain Python"):
        cf.evaluate(QRELS, RUN, "AP")
    cf.evaluate(QRELS, RUN, "AP")  # warnings are errors here
    monkeypatch.setattr(native, "_warnings", [])
    heard: list[str] = []
    native.warn_if_slow(heard.append)
    cf.evaluate(QRELS, RUN, "AP")
    assert heard == [native.SLOW]


def test_nothing_in_common_is_an_error() -> None:
    with pytest.raises(cf.InputError) as caught:
        cf.evaluate({"q301": {"a": 1}}, {"301": {"a": 1.0}}, "AP")
    assert str(caught.value) == (
        "run: none of its queries is judged (for example `301`)\n\n"
        "hint: the judgments cover queries such as `q301`; check that both belong to the same collection"
    )


def test_a_silent_system_scores_as_empty_rankings() -> None:
    assert table(cf.evaluate({"q": {"a": 1}}, {}, "AP"))["queries"] == {"q": 0.0}
    assert table(cf.evaluate({"q": {"a": 1}}, {"q": {}}, "P@5"), "P@5")["queries"] == {"q": 0.0}


@pytest.mark.parametrize("name", ["ties", "queries", "undefined"])
def test_unknown_policies_are_named(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} must be one of .*; not 'nonsense'"):
        cf.evaluate(QRELS, RUN, "AP", **{name: "nonsense"})


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ({"tie": "best"}, "did you mean `ties`?"),
        ({"nil": "NIL"}, "Collection(qrels, nil=...)"),
        ({"intents": {}}, "Collection(qrels, intents=...)"),
        ({"residuals": True}, "show='residuals'"),
        ({"standard_errors": True}, "show='standard-errors'"),
    ],
)
def test_unknown_keywords_get_a_hint_everywhere(option: dict[str, Any], hint: str) -> None:
    calls = [
        lambda: cf.evaluate(QRELS, RUN, "AP", **option),
        lambda: cf.Evaluator(QRELS, "AP", **option),
        lambda: cf.audit(QRELS, RUN, "AP", **option),
        lambda: cf.compare(QRELS, [RUN, RUN], "AP", **option),
    ]
    for call in calls:
        with pytest.raises(UsageError, match="unknown option") as caught:
            call()
        assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"qrels": QRELS, "prefs": {}}, "exclude each other"),
        ({"prefs": {}, "groups": {}}, "exclude each other"),
        ({"qrels": QRELS, "nil": "NIL", "costs": {}}, "costs cannot be combined with nil, prefs or groups"),
        ({"groups": {}, "intents": {}}, "groups cannot be combined with nil, intents or documents"),
        (
            {"qrels": QRELS, "nil": "NIL", "predicted": QRELS},
            "predicted cannot be combined with groups, judges, nil or costs",
        ),
        ({"strata": {}}, "need qrels"),
        ({"qrels": QRELS, "negative": "nonsense"}, "negative must be one of"),
        ({"qrels": QRELS, "full_length": 0}, "full_length must be a whole number"),
    ],
)
def test_a_collection_checks_itself(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cf.Collection(**parts)


def test_negative_grades() -> None:
    run, qrels = {"q": {"spam": 2.0, "good": 1.0}}, {"q": {"spam": -2, "good": 1}}
    assert cf.evaluate(qrels, run, ["AP", "AP[condensed]"])._means[0].tolist() == [0.5, 1.0]
    assert cf.evaluate(cf.Collection(qrels, negative="nonrel"), run, ["AP", "AP[condensed]"])._means[0].tolist() == [
        0.5,
        0.5,
    ]


def test_float_grades_and_numpy_scalars() -> None:
    run = {"q": {"a": np.float32(2), "b": np.int64(1), "c": 0}}
    qrels = {"q": {"a": 0.25, "b": np.float64(0.5)}}
    expected = (0.25 + 0.5 / np.log2(3)) / (0.5 + 0.25 / np.log2(3))
    assert cf.evaluate(qrels, run, "nDCG")._means[0, 0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("trec", 1 / 3),
        ("input", 1.0),
        ("best", 1.0),
        ("worst", 1 / 3),
        ("expected", (1 + 1 / 2 + 1 / 3) / 3),
        ("rank", 1.0),
    ],
)
def test_tie_rules(rule: str, value: float) -> None:
    run, qrels = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, {"q": {"a": 1}}
    assert cf.evaluate(qrels, run, f"RR[ties={rule}]")._means[0, 0] == pytest.approx(value)


def test_a_gain_map_may_fall_and_leave_grades_out() -> None:
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 3, "b": 2}}
    expected = (0.1 + 2 / np.log2(3)) / (2 + 0.1 / np.log2(3))
    assert float(cf.evaluate(qrels, run, "nDCG(gain={3: 0.1})")) == pytest.approx(expected)


def test_a_gain_for_grade_0_is_that_of_judged_documents() -> None:
    """Neither what fills up rows of other queries' width nor a negative grade is a judgment of 0."""
    run = {"q": {"a": 4.0, "b": 3.0, "c": 3.0, "d": 3.0}, "none": {"e": 1.0}}
    qrels = {"q": {"a": 1, "b": 0, "c": 0, "d": -1, "e": 0}, "none": {"e": -1}}
    names = ["CG(gain={0: 0.5})", "IDCG(gain={0: 0.5})@2", "Compat(gain={0: 0.5})"]
    wide = {f"w{i}": 20.0 - i for i in range(20)}
    for ties in ("trec", "expected", "best", "worst"):
        found = cf.evaluate(qrels | {"w": dict.fromkeys(wide, 0)}, run | {"w": wide}, names, ties=ties).values[0]
        alone = cf.evaluate(qrels, run, names, ties=ties).values[0]
        np.testing.assert_array_equal(found[:, :2], alone)
        assert alone[0].tolist() == [2.0, 0.0]
        assert alone[1].tolist() == [1 + 0.5 / np.log2(3), 0.0]
        assert np.isnan(alone[2, 1])


def test_scores_that_tie_in_32_bits_only() -> None:
    run, qrels = {"q": {"a": 0.30000001, "b": 0.3}}, {"q": {"a": 1}}
    assert cf.evaluate(qrels, run, ["RR", "RR[ties=trec9]"])._means[0].tolist() == [1.0, 0.5]


def test_rank_column_orders_a_file(tmp_path) -> None:
    path = tmp_path / "run"
    path.write_text("q Q0 a 2 9.0 t\nq Q0 b 1 1.0 t\n")
    assert cf.evaluate({"q": {"a": 1}}, path, ["RR", "RR[ties=rank]"])._means[0].tolist() == [1.0, 0.5]


def test_subtopics_count_by_their_highest_grade() -> None:
    qrels = {"q": {"a": {"1": 0, "2": 2}, "b": {"1": 1}}}
    assert cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "DCG")._means[0, 0] == pytest.approx(2 + 1 / np.log2(3))


def test_totals_and_geometric_means() -> None:
    qrels = {"q": {"a": 1}, "r": {"a": 1, "b": 1}}
    run = {"q": {"b": 2.0, "a": 1.0}, "r": {"a": 1.0}}
    scores = cf.evaluate(qrels, run, ["NumRet", "NumRel", "NumRelRet", "GMAP", "AP"])
    assert scores._means[0].tolist() == pytest.approx([3, 3, 2, 0.5, 0.5])
    nothing = cf.evaluate(qrels, {"q": {"b": 2.0}, "r": {"a": 1.0}}, "GMAP")
    assert nothing._means[0, 0] == pytest.approx(np.sqrt(1e-5 * 0.5))


def test_the_interval_of_a_geometric_mean_is_that_of_the_logarithms() -> None:
    from scipy import stats

    rng = np.random.default_rng(2)
    qrels = {f"q{i}": {"a": 1} for i in range(30)}
    run = {query: {"a": 0.0} | {f"x{j}": 1.0 for j in range(rng.integers(0, 5))} for query in qrels}
    low, high = cf.evaluate(qrels, run, "GMAP").interval("run", "GMAP")
    values = np.array([1 / len(ranking) for ranking in run.values()])
    expected = stats.bootstrap((values,), stats.gmean, method="BCa", rng=np.random.default_rng(1)).confidence_interval
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.01)
    same = cf.evaluate({"1": {"a": 1}, "2": {"a": 1}}, {"1": ["b", "a"], "2": ["b", "a"]}, "GMAP")
    assert same.interval("run", "GMAP") == (0.5, 0.5)


def test_intervals() -> None:
    rng = np.random.default_rng(5)
    qrels = {f"q{i}": {"a": 1} for i in range(60)}
    run = {f"q{i}": {("a" if j == rng.integers(1, 5) else f"x{j}"): -j for j in range(1, 5)} for i in range(60)}
    scores = cf.evaluate(qrels, run, "RR")
    mean = scores._means[0, 0]
    from scipy import stats

    low, high = scores.interval("run", "RR", method="t")
    exact = stats.ttest_1samp(scores._sample(0, 0), 0).confidence_interval()
    assert (low, high) == pytest.approx((exact.low, exact.high))
    b = scores.interval("run", "RR")
    assert b == scores.interval("run", "RR")  # the same for the same seed
    assert b[0] < mean < b[1]
    assert b == pytest.approx((low, high), abs=0.03)
    one = cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR")
    assert np.isnan(one.interval("run", "RR")).all()
    same = cf.evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}, "RR")
    assert same.interval("run", "RR") == (1.0, 1.0)


def test_iteration_gives_every_value() -> None:
    rows = list(cf.evaluate(QRELS, RUN, ["P@1", "P@2"], queries="both"))
    assert rows[0] == Score("run", "P@1", "q1", 0.0)
    assert [(row.query, row.measure) for row in rows] == [("q1", "P@1"), ("q1", "P@2"), ("q2", "P@1"), ("q2", "P@2")]


def test_to_dict_is_json() -> None:
    found = cf.evaluate(QRELS, RUN, ["AP", "P@1"]).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_wide_and_narrow_queries_together() -> None:
    """One query with very many judged documents among many with one: laid out apart, scored the same."""
    wide = {f"d{i}": float(i % 97) for i in range(3000)}
    qrels = {"wide": {d: int(i % 3) for i, d in enumerate(wide)}} | {f"q{i}": {"a": 1} for i in range(3000)}
    run = {"wide": wide} | {f"q{i}": {"b": 2.0, "a": float(i % 3)} for i in range(3000)}
    names = ["AP", "nDCG@10", "RR", "bpref", "ERR(max=2)[ties=expected]"]
    together = cf.evaluate(qrels, run, names)
    alone = cf.evaluate({"wide": qrels["wide"]}, {"wide": wide}, names)
    assert together.values[0, :, 0] == pytest.approx(alone.values[0, :, 0], abs=1e-12)
    assert together.values[0, 0, 1:4].tolist() == [0.5, 0.5, 0.5]


documents = st.sampled_from("abcdefgh")
runs = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(documents, st.integers(0, 3).map(float), max_size=8),
    max_size=3,
)
judgments = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(documents, st.integers(-1, 3), min_size=1),
    min_size=1,
    max_size=3,
)


@given(runs, judgments, st.randoms())
@settings(max_examples=60, deadline=None)
def test_expected_scores_do_not_depend_on_names_or_order(run: dict, qrels: dict, rng) -> None:
    if run and not set(run) & set(qrels):
        return
    names = ["AP", "nDCG@3", "RR", "ERR", "Q", "bpref", "HIT@2", "P@2"]
    shuffled = list("abcdefgh")
    rng.shuffle(shuffled)
    rename = dict(zip("abcdefgh", shuffled, strict=True))
    other = {q: {rename[d]: s for d, s in reversed(docs.items())} for q, docs in reversed(run.items())}
    renamed = {q: {rename[d]: g for d, g in docs.items()} for q, docs in qrels.items()}
    first = cf.evaluate(qrels, run, names, ties="expected").values
    second = cf.evaluate(renamed, other, names, ties="expected").values
    np.testing.assert_allclose(first, second, atol=1e-12)


def test_arguments_that_make_no_sense() -> None:
    with pytest.raises(UsageError, match="no runs given"):
        cf.evaluate(QRELS, [], "AP")
    with pytest.raises(UsageError, match="nil must be text, not 5"):
        cf.evaluate(cf.Collection(QRELS, nil=5), RUN, "AP")
    with pytest.raises(cf.MeasureError, match="the cutoff must be a whole number"):
        cf.evaluate(QRELS, RUN, "P@99999999999999999999")
    with pytest.raises(cf.MeasureError, match="gain='exp' overflows for a grade of"):
        cf.evaluate({"q": {"a": 1100}}, {"q": {"a": 1.0}}, "nDCG(gain='exp')")


def test_no_judgments_are_no_basis() -> None:
    with pytest.raises(cf.InputError, match="no judgments"):
        cf.evaluate({}, RUN, "AP")


def test_a_run_of_unjudged_queries_alone_may_be_asked_for() -> None:
    assert float(cf.evaluate({"q": {"a": 1}}, {"x": {"a": 1.0}}, "P@5", queries="run")) == 0


def test_great_grades() -> None:
    scores = cf.evaluate({"q": {"a": 1e308, "b": 1}}, {"q": {"a": 1.0}}, ["ERR", "nDCG@5", "RBP"])
    assert json.dumps(scores.to_dict(), allow_nan=False)
    # A grade that is not in a map is its own gain, and nothing is rescaled.
    scores = cf.evaluate({"q": {"a": 10**12}}, {"q": {"a": 1.0}}, "RBP(gain={1: 0.5})")
    assert float(scores) == pytest.approx(0.2 * 10**12)


def test_a_dict_of_measures_is_refused() -> None:
    for measures in ({"nDCG": 10}, {}):
        with pytest.raises(cf.MeasureError, match="not a dict") as caught:
            cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, measures)
        assert "a cutoff is part of the name" in caught.value.hint


def test_printed_notes_are_sentences() -> None:
    notes = cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 0.5}}, "RR").notes
    assert repr(notes).startswith("(<Note: ")


def test_an_unknown_part_of_a_collection_gets_a_hint() -> None:
    with pytest.raises(UsageError, match="unknown option `nill`") as caught:
        cf.Collection(QRELS, nill="NIL")
    assert caught.value.hint == "did you mean `nil`?"
