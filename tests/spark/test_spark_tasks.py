"""Results of tasks: however rows are dealt out, they add up to the result of one pass."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.corpus import Corpus, Settings
from cranfield.evaluation.scores import handle_undefined, summary_of
from cranfield.io.documents import Fields
from cranfield.spark import build_corpus as counting
from cranfield.spark.totals import ExactTotal

SAID = st.lists(st.sampled_from(["Lamp", "lamp", "lamps", "the", "öl", "ÖL", "...", "\u0130", "sea"]), max_size=6)


def batch(rows: list[tuple[Any, bool, Any]]) -> pa.RecordBatch:
    ids, kept, texts = ([row[i] for row in rows] for i in range(3))
    arrays = [pa.array(ids, pa.binary()), pa.array(kept, pa.bool_()), pa.array(texts, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=["id", "kept", "text1"])


def told(how: Settings, batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [
        row for made in counting.count_words(how, Fields("docno", ("text",)), iter(batches)) for row in made.to_pylist()
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(SAID, min_size=1, max_size=8), st.integers(1, 4), st.sampled_from([1, 20, 1 << 20]), st.data())
def test_what_tasks_tell_adds_up(said: list[list[str]], size: int, limit: int, data: st.DataObject) -> None:
    collection = {f"d{i}": " ".join(words) for i, words in enumerate(said)}
    wanted = data.draw(st.sets(st.sampled_from(sorted(collection)), min_size=1))
    how = data.draw(st.sampled_from([Settings(), Settings(stop=frozenset(["the"]), stemmer="english")]))
    rows = [(name.encode(), name in wanted, text.encode()) for name, text in collection.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MAX_BYTES", limit)
        found = told(how, [batch(rows[i : i + size]) for i in range(0, len(rows), size)])
    expected = Corpus.of(collection, wanted, how)
    frequency, vectors, kept = Counter[str](), dict[str, Counter[str]](), set[str]()
    for row in found:
        if row["term"] is not None:
            frequency[row["term"].decode()] += row["count"]
            kept |= {row["term"].decode()} if row["kept"] else set()
        if row["document"] is not None:
            vector = vectors.setdefault(row["document"].decode(), Counter())
            for term, count in zip(row["terms"], row["counts"], strict=True):
                vector[term.decode()] += count
    assert frequency.total() == expected.total
    assert kept == set(expected.terms)
    assert [frequency[term] for term in expected.terms] == expected.frequency.tolist()
    begin = expected.begin.tolist()
    assert vectors == {
        name: {
            expected.terms[t]: n
            for t, n in zip(*(of[a:b].tolist() for of in (expected.term, expected.count)), strict=True)
        }
        for name, a, b in zip(expected.documents, begin, begin[1:], strict=False)
    }
    assert sum(row["size"] or 0 for row in found) == expected.size
    assert sum(row["empty"] or 0 for row in found) == expected.empty


def test_faults_name_the_document() -> None:
    rows = [(b"d1", True, b"x"), (None, False, b"a lamp"), (b"", False, b"sea"), (b"d2", True, None)]
    assert [row["fault"] for row in told(Settings(), [batch(rows)]) if row["fault"]] == [
        "texts: a document must have an id, found null in column `docno`; the text begins with `a lamp`",
        "texts: a document must have an id, found an empty id in column `docno`; the text begins with `sea`",
        "texts: document `d2`: there is no text; column `text` contains null",
    ]


def test_no_texts_are_no_words() -> None:
    assert told(Settings(), [batch([])]) == [dict.fromkeys(counting.RECORD) | {"size": 0, "empty": 0}]


def test_sums_of_parts_give_the_same_bits() -> None:
    rng = np.random.default_rng(1)
    values = np.where(rng.random(50) < 0.3, np.nan, rng.random(50))
    total = ExactTotal.of(values[:20], "credit") + ExactTotal.of(values[20:], "credit")
    whole = summary_of(handle_undefined(values, "skip", "credit"), "credit")
    assert total.mean(50, "credit", "skip") == whole
