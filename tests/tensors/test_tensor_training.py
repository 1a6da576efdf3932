"""Training loops: batches, a metric of torchmetrics, and two processes, with the bits of one process."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensor_samples import cancelling_embeddings, counted_passes

import cranfield as cf
from cranfield.tensors import Accumulator, RankCounter, evaluate, evaluate_embeddings

torch = pytest.importorskip("torch")
MEASURES = ["AP", "nDCG@5", "RR", "bpref"]
QUERIES, WIDTH = 7, 11


def rows() -> tuple[Any, Any, Any]:
    """Scores with ties, grades and queries of candidates in flat form."""
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 5, QUERIES * WIDTH).astype(np.float32)
    grades = rng.choice([np.nan, 0, 1, 2], QUERIES * WIDTH)
    return tuple(map(torch.from_numpy, (scores, grades, np.repeat(np.arange(QUERIES), WIDTH))))


def embeddings() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(1)
    qrels = {str(q): {str(d): int(d) % 3 for d in rng.choice(20, 4, replace=False)} for q in range(QUERIES)}
    queries, documents = rng.integers(-2, 3, (QUERIES, 4)), rng.integers(-2, 3, (20, 4))
    return torch.from_numpy(queries).float(), torch.from_numpy(documents).float(), qrels


def splits(process: int) -> dict[str, Any]:
    """The rows of one of two processes: queries split, candidates split, nothing for the second."""
    number = np.arange(QUERIES * WIDTH)
    return {
        "queries": number[(number // WIDTH) % 2 == process],
        "candidates": number[number % 2 == process],
        "none": number[: len(number) * (1 - process)],
    }


def batched(target: Any, chosen: Any) -> Any:
    for part in np.array_split(chosen, 3):
        if len(part):
            target.update(*(column[part] for column in rows()))
    return target


def counter(documents: Any) -> RankCounter:
    """Counts of some of the documents, against the scores of judged documents of all."""
    queries, every, _ = embeddings()
    made = RankCounter(torch.ones(QUERIES, 3), (queries @ every.T)[:, :3])
    made.add(queries @ documents.T)
    return made


def one_of_two(process: int, folder: str) -> None:
    """The work of one of two processes; results go to a file."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=process, world_size=2)
    results: dict[str, Any] = {}
    for split, chosen in splits(process).items():
        accumulator = batched(Accumulator(MEASURES), chosen)
        results[split] = accumulator.evaluate().scores.values.tobytes(), accumulator.compute()
        if split != "none" and cf.errors.available("torchmetrics") is not None:
            from cranfield.tensors import RetrievalMetric

            metric = batched(RetrievalMetric(MEASURES), chosen)
            means = {label: float(mean) for label, mean in metric.compute().items()}
            results[f"metric {split}"] = metric.evaluate().scores.values.tobytes(), means
    accumulator = Accumulator(MEASURES)
    accumulator.update(torch.tensor([[1.0, 2.0], [1.0, np.nan]][process]), torch.ones(2), torch.tensor([0, process]))
    with pytest.raises(cf.InputError, match="query `1` has a score that is NaN"):  # in every process
        accumulator.compute()
    queries, documents, qrels = embeddings()
    part = documents[:13] if process == 0 else documents[13:]
    evaluation = evaluate_embeddings(
        qrels, queries, part, MEASURES, query_ids=range(QUERIES), block=3, group="world", first_document=13 * process
    )
    results["dense"] = evaluation.scores.values.tobytes()
    query, documents = cancelling_embeddings(torch)
    blocks, calls = counted_passes(documents[500 * process : 500 * (process + 1)])
    again = evaluate_embeddings(
        [dict.fromkeys(range(0, 500, 5), 1)], query, blocks, "AP", group="world", first_document=500 * process
    )
    results["again"] = len(calls), again.scores.values.tobytes()
    results["counter"] = counter(part).all_reduce().evaluate(MEASURES).scores.values.tobytes()
    torch.save(results, f"{folder}/{process}")
    torch.distributed.destroy_process_group()


def test_two_processes_have_the_bits_of_one(tmp_path: Path) -> None:
    if not torch.distributed.is_available():
        pytest.skip("torch.distributed is not available")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.multiprocessing.spawn(one_of_two, (str(tmp_path),), nprocs=2)
    alone = batched(Accumulator(MEASURES), np.arange(QUERIES * WIDTH))
    expected = alone.evaluate().scores.values.tobytes(), alone.compute()
    queries, documents, qrels = embeddings()
    by_process = [torch.load(tmp_path / str(process), weights_only=False) for process in (0, 1)]
    again = [results.pop("again") for results in by_process]
    assert again[0] == again[1]  # both count again, although only the first one has documents with other scores
    assert again[0][0] == 4
    for results in by_process:
        whole = evaluate_embeddings(qrels, queries, documents, MEASURES, query_ids=range(QUERIES)).scores
        assert results.pop("dense") == whole.values.tobytes()
        assert results.pop("counter") == counter(documents).evaluate(MEASURES).scores.values.tobytes()
        assert len(results) >= 3
        for split, result in results.items():
            assert result == expected, split


def test_batches_of_one_process() -> None:
    scores, grades, indexes = rows()
    whole = evaluate(grades, scores, MEASURES, indexes=indexes).scores
    order = np.random.default_rng(2).permutation(QUERIES * WIDTH)
    accumulator = batched(Accumulator(MEASURES), order)
    assert accumulator.evaluate().scores.values.tobytes() == whole.values.tobytes()
    two = batched(Accumulator(MEASURES), order[:30]) + batched(Accumulator(MEASURES), order[30:])
    assert two.compute() == accumulator.compute()
    assert list(accumulator.compute().values()) == whole._means[0].tolist()
    accumulator.reset()
    with pytest.raises(cf.InputError, match="no batch was added"):
        accumulator.compute()


def test_metric() -> None:
    pytest.importorskip("torchmetrics")
    from cranfield.tensors import RetrievalMetric

    scores, grades, indexes = rows()
    whole = evaluate(grades, scores, MEASURES, indexes=indexes).scores
    metric = RetrievalMetric(MEASURES)
    for _ in range(2):
        batched(metric, np.arange(QUERIES * WIDTH))
        means = metric.compute()
        assert [float(mean) for mean in means.values()] == whole._means[0].tolist()
        assert metric.evaluate().scores.values.tobytes() == whole.values.tobytes()
        metric.reset()
    # The value of a step is that of its batch; the end of the epoch has all of them.
    first = {k: float(v) for k, v in metric(scores[:WIDTH], grades[:WIDTH], indexes[:WIDTH]).items()}
    assert first == Accumulator.compute(batched(Accumulator(MEASURES), np.arange(WIDTH)))
    metric(scores[WIDTH:], grades[WIDTH:], indexes[WIDTH:])
    assert [float(mean) for mean in metric.compute().values()] == whole._means[0].tolist()


def test_errors() -> None:
    with pytest.raises(cf.CranfieldError, match="unknown measure"):
        Accumulator("NDGC")
    with pytest.raises(cf.CranfieldError, match="preds, target and indexes must have the same shape, not preds"):
        Accumulator("AP").update(torch.zeros(2), torch.zeros(3), torch.zeros(2))
