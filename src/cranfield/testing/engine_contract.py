"""Tests that every engine must pass: the numbers of `cranfield.evaluate`, however rows are distributed or tasks fail.

Write a subclass that calls the engine, and run it with pytest or call its ``test_`` methods:

    class TestMine(EngineContract):
        def evaluate(self, runs, qrels, measures, **policies):
            ...
            return Evaluated(rows, means, notes)

        def compare(self, runs, qrels, measures, terms, **policies):
            ...
            return comparison
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import cranfield as cf
from cranfield.analysis.compare import Comparison
from cranfield.analysis.significance import TESTS
from cranfield.corpus import Corpus
from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation.collection import split_options
from cranfield.evaluation.notes import sentences

Columns = dict[str, list[Any]]
EMPTY: Columns = {"run": [], "query": [], "document": [], "score": []}
MEASURES = ("AP", "nDCG@10", "RR", "P@5", "RBP", "ERR", "bpref", "NumRet", "GMAP")
VIEWS = ("AP[ties=expected]", "nDCG[ties=worst, depth=7]", "Q[condensed]", "RR[terminal]", "nDCG@5[ties=trec9]")
DIVERSITY = ("alpha_nDCG@10", "ERR_IA@10", "StRecall@10")
CLOSE = 1e-12  # of means, whose sums may be taken in another order


class Evaluated(NamedTuple):
    """The result of an engine: every value, the means, and the notes. None means undefined."""

    rows: Mapping[tuple[str, str, str], float | None]  # by run, query, measure
    means: Mapping[tuple[str, str], float | None]  # by run, measure
    notes: Sequence[str]


def local(runs: Sequence[Columns], qrels: Columns, measures: Sequence[str], **policies: Any) -> Evaluated:
    """The local engine: one process, everything in memory; queries are sorted by id, as in notes."""
    return evaluated(_scores(runs, qrels, measures, **policies))


def evaluated(scores: cf.Scores) -> Evaluated:
    """Scores of the local process as the result of an engine."""
    runs = scores.to_dict()["runs"]
    return Evaluated(
        {(r, q, m): v for r, of in runs.items() for m, entry in of.items() for q, v in entry["queries"].items()},
        {(r, m): entry["mean"] for r, of in runs.items() for m, entry in of.items()},
        sentences(scores.notes),
    )


def _scores(runs: Sequence[Columns], qrels: Columns, measures: Sequence[str], **policies: Any) -> cf.Scores:
    together = by_query({name: [value for piece in runs for value in piece[name]] for name in runs[0]})
    names = list(dict.fromkeys(together["run"]))
    frames = [
        cf.read_run(_Frame({name: _where(together, run, name) for name in together if name != "run"}), name=run)
        for run in sorted(names)
    ]
    parts, options = split_options(policies)
    collection = cf.Collection(cf.read_qrels(_Frame(by_query(qrels)), name="qrels"), **parts)
    return cf.evaluate(collection, frames, measures, **options)


def compared(
    runs: Sequence[Columns], qrels: Columns, measures: Sequence[str], terms: Mapping[str, Any], **policies: Any
) -> Comparison:
    """The comparison of the local engine."""
    return cf.compare(_scores(runs, qrels, measures, **policies), **terms)


class _Frame:
    """Columns as lists, with the interface of a data frame."""

    def __init__(self, columns: Columns) -> None:
        self.columns = list(columns)
        self._columns = columns

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]


def _where(columns: Columns, run: str, name: str) -> list[Any]:
    return [value for value, of in zip(columns[name], columns["run"], strict=True) if of == run]


class EngineContract:
    """The tests. ``evaluate`` and ``compare`` call the engine; ``disturbed`` may make its workers fail."""

    def evaluate(self, runs: Sequence[Columns], qrels: Columns, measures: Sequence[str], **policies: Any) -> Evaluated:
        """Evaluate runs, given in pieces; an engine with partitions should make each piece a partition."""
        raise NotImplementedError

    def compare(
        self,
        runs: Sequence[Columns],
        qrels: Columns,
        measures: Sequence[str],
        terms: Mapping[str, Any],
        **policies: Any,
    ) -> Comparison:
        """Evaluate the same way, and compare the runs; ``terms`` are the arguments of `cranfield.compare`."""
        raise NotImplementedError

    def disturbed(self, runs: Sequence[Columns]) -> contextlib.AbstractContextManager[Sequence[Columns]]:
        """The pieces, in a context in which workers of the engine fail and are replaced."""
        return contextlib.nullcontext(runs)

    def check(self, runs: Sequence[Columns], qrels: Columns, measures: Sequence[str], **policies: Any) -> Evaluated:
        """Evaluate, and compare with the local engine: equal values and notes, and means equal up to rounding."""
        actual = self.evaluate(runs, qrels, measures, **policies)
        same(actual, local(runs, qrels, measures, **policies))
        return actual

    def check_comparison(
        self,
        runs: Sequence[Columns],
        qrels: Columns,
        measures: Sequence[str],
        terms: Mapping[str, Any],
        **policies: Any,
    ) -> None:
        """Compare, and check against the local engine: equal counts, and other numbers equal up to rounding."""
        actual = self.compare(runs, qrels, measures, terms, **policies)
        expected = compared(runs, qrels, measures, terms, **policies)
        # Inputs have other forms; scores of an engine may not know their policy.
        ours, theirs = (replace(result, provenance=None, policy="").to_dict() for result in (actual, expected))
        alike(ours, theirs)

    def refused(self, runs: Sequence[Columns], qrels: Columns, *words: str, **policies: Any) -> str:
        """Evaluate bad input, and check that the error is short and contains these words."""
        try:
            self.evaluate(runs, qrels, MEASURES[:2], **policies)
        except CranfieldError as error:
            text = str(error)
            assert len(text.splitlines()) <= InputError.SHOWN + 4, text
            for word in words:
                assert word in text, f"`{word}` is not in: {text}"
            return text
        raise AssertionError("bad input was accepted")

    def test_scores_do_not_depend_on_how_rows_are_split(self) -> None:
        """The result does not depend on how rows are split into pieces, even within a query."""
        runs, qrels = collection(3, queries=23)
        self.check([runs], qrels, (*MEASURES, *VIEWS))
        self.check(pieces(runs, 5), qrels, (*MEASURES, *VIEWS))

    def test_the_order_of_rows_means_nothing(self) -> None:
        runs, qrels = collection(2, queries=11, seed=3)
        first = self.evaluate([runs], qrels, (*MEASURES, *VIEWS), seed=5)
        again = self.evaluate([shuffled(runs, 1)], shuffled(qrels, 2), (*MEASURES, *VIEWS), seed=5)
        assert first.rows == again.rows
        alike(first.means, again.means)

    def test_policies(self) -> None:
        runs, qrels = collection(2, queries=9, seed=4)
        for policies in (
            {"queries": "both"},
            {"queries": "run"},
            {"undefined": "zero"},
            {"undefined": "one", "negative": "nonrel"},
            {"show": ("residuals", "bounds"), "depth": 9},
            {"ties": "expected", "condensed": True},
        ):
            self.check(pieces(runs, 3), qrels, ("AP", "nDCG@10", "RBP"), **policies)
        self.check(pieces(runs, 3), qrels, ("AP", "RR"), terminal=True, nil="NIL", full_length=60)

    def test_comparisons(self) -> None:
        """All tests, corrections and families, on the queries for which every run has a value."""
        runs, qrels = collection(4, queries=15, seed=14)
        few = {"samples": 500, "seed": 3}
        self.check_comparison(
            pieces(runs, 3), qrels, ("AP", "nDCG@10", "AP[ties=expected]", "NumRet"), few | {"tests": TESTS}
        )
        partly = without(runs, "run1", "q0003")
        against = few | {"baseline": "run2", "test": "bootstrap", "correction": "bh", "family": "all"}
        self.check_comparison(pieces(partly, 2), qrels, ("AP", "P@5"), against, queries="both", undefined="zero")
        joint = few | {"test": "randomised-tukey", "level": 0.9, "alpha": 0.1}
        self.check_comparison([partly], qrels, ("AP", "RBP"), joint, queries="run", show="residuals")

    def test_comparisons_that_cannot_be(self) -> None:
        runs, qrels = collection(2, queries=3, seed=15)
        alone = {name: of[: runs["run"].index("run1")] for name, of in runs.items()}
        for given, measures, terms, words in (
            (runs, ["GMAP"], {}, "geometric mean"),
            (runs, ["AP"], {"baseline": "other"}, "not one of the runs"),
            (alone, ["AP"], {}, "at least two runs"),
            ({name: [*of[:1], *of[-1:]] for name, of in runs.items()}, ["AP"], {}, "a test needs at least two"),
        ):
            try:
                self.compare([given], qrels, measures, terms, queries="both")
            except CranfieldError as error:
                assert words in str(error), error
            else:
                raise AssertionError(f"no error with these words: {words}")

    def test_subtopics(self) -> None:
        runs, qrels = collection(2, queries=9, seed=8, subtopics=4)
        self.check(pieces(runs, 3), qrels, DIVERSITY)
        self.check(pieces(runs, 3), qrels, [f"{name}[ties=expected]" for name in DIVERSITY])

    def test_contents(self) -> None:
        """Measures that read document text, with a corpus that lacks some documents."""
        runs, qrels = collection(2, queries=9, seed=14, subtopics=3)
        corpus = Corpus.of(texts(55))
        asked = ("DELTARB@5", "ABSNB[depth=9]", "DELTANB(whole=True)@20", "ABSRB@3[ties=expected]")
        self.check(pieces(runs, 3), qrels, (*asked, "AP"), documents=corpus)
        self.check(pieces(shuffled(runs, 1), 2), qrels, asked, documents=corpus, queries="run", negative="nonrel")

    def test_weights_of_subtopics(self) -> None:
        """Weights for some queries only, for an unjudged query, and for only some subtopics of a query."""
        runs, qrels = collection(2, queries=9, seed=8, subtopics=4)
        weights = {f"q{q:04d}": {str(s): 1 + (q + s) % 3 for s in range(4 if q else 2)} for q in range(3)}
        actual = self.check(pieces(runs, 3), qrels, DIVERSITY, intents=weights | {"nobody": {"0": 1}})
        equal = self.evaluate([runs], qrels, DIVERSITY)
        assert {
            query for run, query, name in actual.rows if actual.rows[run, query, name] != equal.rows[run, query, name]
        }
        for wrong, words in (
            ({"q0000": {"9": 1}}, "for subtopic `9` of query `q0000`"),
            ({"q0000": {"0": 0}}, "all weights of query `q0000` are 0"),
            ({"nobody": {"0": 1}}, "none of its queries is judged"),
        ):
            self.refused([runs], qrels, words, intents=wrong)
        plain = {name: of[::4] for name, of in qrels.items() if name != "subtopic"}
        self.refused([runs], plain, "need judgments by subtopic", intents=weights)

    def test_empty_pieces(self) -> None:
        runs, qrels = collection(2, queries=5, seed=5)
        self.check([EMPTY, runs, EMPTY], qrels, MEASURES)

    def test_skew(self) -> None:
        """One query with very many documents, and many queries with one document."""
        runs, qrels = collection(1, queries=3, seed=6)
        many = 20_000
        score = np.random.default_rng(0).integers(0, many // 4, many).astype(float).tolist()
        heavy: Columns = {
            "run": ["run0"] * many,
            "query": ["heavy"] * many,
            "document": [f"d{i}" for i in range(many)],
            "score": score,
        }
        names = [f"light{i}" for i in range(1000)]
        documents = [f"d{i % 7}" for i in range(1000)]
        light: Columns = {"run": ["run0"] * 1000, "query": names, "document": documents, "score": [1.0] * 1000}
        judged = ["heavy"] * 50 + names
        more: Columns = {
            "query": judged,
            "document": [f"d{(i * 397) % many}" for i in range(50)] + [f"d{i % 5}" for i in range(1000)],
            "grade": [i % 4 for i in range(len(judged))],
        }
        self.check([joined(runs, heavy), light], joined(qrels, more), (*MEASURES, "AP[ties=expected]"))

    def test_a_run_that_leaves_queries_out(self) -> None:
        runs, qrels = collection(3, queries=8, seed=7)
        self.check(pieces(without(runs, "run1", "q0003"), 2), qrels, MEASURES)

    def test_what_fails_is_done_again(self) -> None:
        """The result is the same if workers die."""
        runs, qrels = collection(3, queries=40, seed=9)
        expected = local([runs], qrels, MEASURES)
        with self.disturbed(pieces(runs, 6)) as disturbed:
            same(self.evaluate(disturbed, qrels, MEASURES), expected)
        same(self.evaluate(pieces(runs, 6), qrels, MEASURES), expected)

    def test_a_document_twice(self) -> None:
        runs, qrels = collection(2, queries=4)
        twice = joined(runs, {name: of[:1] for name, of in runs.items()})
        self.refused(
            pieces(twice, 2), qrels, "appears twice", f"query `{runs['query'][0]}`", f"`{runs['document'][0]}`"
        )

    def test_a_score_that_is_nan(self) -> None:
        runs, qrels = collection(2, queries=4)
        bad = {**runs, "score": [float("nan"), *runs["score"][1:]]}
        self.refused(pieces(bad, 2), qrels, f"query `{runs['query'][0]}`", "score", "NaN")

    def test_nulls_in_runs(self) -> None:
        runs, qrels = collection(2, queries=4)
        for column, value, words in (
            ("score", None, ("score", "not a number")),
            ("document", None, ("document", "id must be text")),
        ):
            bad = {**runs, column: [value, *runs[column][1:]]}
            self.refused(pieces(bad, 2), qrels, f"query `{runs['query'][0]}`", *words)
        self.refused([{**runs, "query": [None, *runs["query"][1:]]}], qrels, "query", "id must be text")

    def test_bad_rows_of_judgments(self) -> None:
        runs, qrels = collection(2, queries=4)
        query = f"query `{qrels['query'][0]}`"
        self.refused([runs], {**qrels, "grade": [float("nan"), *qrels["grade"][1:]]}, query, "grade")
        self.refused(
            [runs], {**qrels, "document": [None, *qrels["document"][1:]]}, query, "document", "id must be text"
        )
        again = joined(qrels, {**{name: of[:1] for name, of in qrels.items()}, "grade": [qrels["grade"][0] + 1]})
        self.refused([runs], again, query, "already has another grade")

    def test_a_missing_column(self) -> None:
        runs, qrels = collection(1, queries=2)
        self.refused(
            [{name: of for name, of in runs.items() if name != "document"}], qrels, "no column for the document"
        )

    def test_another_collection(self) -> None:
        runs, qrels = collection(1, queries=2)
        self.refused([runs], {**qrels, "query": [f"x{q}" for q in qrels["query"]]}, "none of its queries is judged")


def same(actual: Evaluated, expected: Evaluated) -> None:
    """Raise an error that shows where two evaluations differ."""
    wrong = [
        f"{key}: {actual.rows.get(key, 'missing')}, not {expected.rows.get(key, 'there')}"
        for key in {**expected.rows, **actual.rows}
        if key not in actual.rows or key not in expected.rows or actual.rows[key] != expected.rows[key]
    ]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(expected.rows)} values differ", *wrong[:9]])
    alike(actual.means, expected.means)
    assert set(actual.notes) == set(expected.notes), set(actual.notes) ^ set(expected.notes)


def alike(actual: Any, expected: Any, where: str = "") -> None:
    """Raise if plain data differ, numbers by more than rounding."""
    if isinstance(expected, Mapping):
        assert actual.keys() == expected.keys(), where
        for name, value in expected.items():
            alike(actual[name], value, f"{where}.{name}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), where
        for i, value in enumerate(expected):
            alike(actual[i], value, f"{where}[{i}]")
    elif isinstance(expected, float) and isinstance(actual, float):
        assert abs(actual - expected) <= CLOSE * max(1, abs(expected)), (where, actual, expected)
    else:
        assert actual == expected, (where, actual, expected)


def collection(runs: int, *, queries: int, seed: int = 0, subtopics: int = 0) -> tuple[Columns, Columns]:
    """Rankings with ties and unjudged documents, and judgments of all kinds; queries in the order of their ids."""
    rng = np.random.default_rng(seed)
    rows: Columns = {name: [] for name in EMPTY}
    judged: Columns = {"query": [], "document": [], "grade": []} | ({"subtopic": []} if subtopics else {})
    for q in range(queries):
        name = f"q{q:04d}"
        for run in range(runs):
            documents = rng.permutation(60)[: int(rng.integers(1, 50))]
            rows["run"] += [f"run{run}"] * len(documents)
            rows["query"] += [name] * len(documents)
            rows["document"] += [f"d{i}" for i in documents]
            rows["score"] += (rng.integers(0, 20, len(documents)) / 7).tolist()
        for i in np.sort(rng.permutation(60)[: int(rng.integers(1, 40))]):
            for s in range(max(subtopics, 1)):
                # One query has nothing relevant, so that some measures have no value.
                judged["query"].append(name)
                judged["document"].append(f"d{i}")
                judged["grade"].append(0 if q == 1 else int(rng.integers(-1 if not subtopics else 0, 4)))
                if subtopics:
                    judged["subtopic"].append(str(s))
    return rows, judged


def texts(documents: int, *, seed: int = 0) -> dict[str, str]:
    """Texts for the documents of a `collection`."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(80)]
    return {f"d{i}": " ".join(rng.choice(words, int(rng.integers(0, 30)))) for i in range(documents)}


def joined(first: Columns, second: Columns) -> Columns:
    """The rows of both tables."""
    return {name: [*of, *second[name]] for name, of in first.items()}


def without(columns: Columns, run: str, query: str) -> Columns:
    """The rows without those of a run for a query."""
    rows = enumerate(zip(columns["run"], columns["query"], strict=True))
    kept = [row for row, of in rows if of != (run, query)]
    return {name: [of[row] for row in kept] for name, of in columns.items()}


def pieces(columns: Columns, count: int) -> list[Columns]:
    """The rows dealt out in turn, so that the rows of a query are in several pieces."""
    return [{name: of[i::count] for name, of in columns.items()} for i in range(count)]


def by_query(columns: Columns) -> Columns:
    """The rows sorted by query id; the rows of a query keep their order."""
    queries = columns["query"]
    order = sorted(range(len(queries)), key=lambda row: queries[row] or "")
    return {name: [of[row] for row in order] for name, of in columns.items()}


def shuffled(columns: Columns, seed: int) -> Columns:
    """The rows in another order."""
    count = len(next(iter(columns.values())))
    order = np.random.default_rng(seed).permutation(count).tolist()
    return {name: [of[i] for i in order] for name, of in columns.items()}


def tests(contract: EngineContract) -> Iterator[str]:
    """The names of the tests, to run them without pytest."""
    return (name for name in dir(contract) if name.startswith("test_"))
