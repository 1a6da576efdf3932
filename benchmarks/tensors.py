"""Evaluation of tensors: candidates beside torchmetrics, whole collections of embeddings, and the cost of a score.

python benchmarks/tensors.py [PART ...] [--device cuda] [--quick] [--json FILE]

Parts: `candidates` (6,980 x 1,000, six measures), `collection` (8.84 million x 768 in bfloat16), `scaling` (10^6 to
6 x 10^10 scores), `processor` (100,000 x 1,000 on the processor), `counts` (from the counts of a collection to three
means, which is done on the processor: 100 judged documents for each query). Values are compared with torchmetrics
first; where one differs, the exit code is 1. A missed target is reported and does not change the exit code.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cranfield
from cranfield import native
from cranfield.tensors import evaluate, evaluate_embeddings
from cranfield.tensors.arrays import Arrays
from cranfield.tensors.candidates import count_run, make_block_evaluator
from cranfield.tensors.counting import ScoreCounts
from cranfield.tensors.embeddings import JudgedRows, Scorer

MEASURES = ["AP", "nDCG@10", "RR", "P@10", "R@1000", "Rprec"]
QUERIES, CANDIDATES, DOCUMENTS, DIMENSIONS = 6980, 1000, 8_841_823, 768
MOST = {1: 0.22, 10: 0.35, 100: 0.65}  # seconds from embeddings to counts on an H200, by judged documents a query


def wait(device: str) -> None:
    """Wait until the device has done all work."""
    if device == "cuda":
        torch.cuda.synchronize()


def timed(work: Callable[[], object], device: str, rounds: int = 5) -> float:
    """The median time of some rounds after one that is not counted."""
    work()
    seconds = []
    for _ in range(rounds):
        wait(device)
        begin = time.perf_counter()
        work()
        wait(device)
        seconds.append(time.perf_counter() - begin)
    return sorted(seconds)[rounds // 2]


def candidates(queries: int, width: int, device: str) -> tuple[Any, Any]:
    """Random scores, and grades with one or a few relevant documents a query; all others are unjudged."""
    generator = torch.Generator(device=device).manual_seed(0)
    scores = torch.rand(queries, width, device=device, generator=generator)
    relevant = torch.rand(queries, width, device=device, generator=generator) < 1.1 / width
    row = torch.arange(queries, device=device)
    relevant[row, torch.randint(0, width, (queries,), device=device, generator=generator)] = True
    return scores, relevant


def by_torchmetrics(scores: Any, relevant: Any) -> Callable[[], list[float]]:
    """The six means of torchmetrics."""
    from torchmetrics import retrieval

    queries, width = scores.shape
    index = torch.arange(queries, device=scores.device)[:, None].expand(queries, width).reshape(-1)
    metrics = [
        retrieval.RetrievalMAP(),
        retrieval.RetrievalNormalizedDCG(top_k=10),
        retrieval.RetrievalMRR(),
        retrieval.RetrievalPrecision(top_k=10),
        retrieval.RetrievalRecall(top_k=1000),
        retrieval.RetrievalRPrecision(),
    ]

    def work() -> list[float]:
        means = []
        for metric in metrics:
            metric.to(scores.device).reset()
            metric.update(scores.reshape(-1), relevant.reshape(-1), indexes=index)
            means.append(float(metric.compute()))
        return means

    return work


def compare(name: str, queries: int, width: int, device: str, least: float, sample: int | None) -> dict[str, Any]:
    """Six measures beside torchmetrics, host part included; torchmetrics may be timed on a sample of queries."""
    scores, relevant = candidates(queries, width, device)
    grades = torch.where(relevant, 1.0, float("nan"))
    ours = timed(lambda: evaluate(grades, scores, MEASURES).scores, device)
    in_numpy = None
    if device == "cpu":
        table, marks = scores.numpy(), grades.numpy()
        loaded = sys.modules.pop("torch")  # arrays of NumPy are counted by NumPy if PyTorch is not loaded
        try:
            in_numpy = timed(lambda: evaluate(marks, table, MEASURES).scores, device, 3)
        finally:
            sys.modules["torch"] = loaded
    part = slice(sample)
    theirs_work = by_torchmetrics(scores[part], relevant[part])
    begin = time.perf_counter()
    values = theirs_work()
    wait(device)
    seconds = time.perf_counter() - begin
    theirs = seconds if sample is None else seconds * queries / sample
    means = evaluate(grades[part], scores[part], MEASURES).scores._means[0].tolist()
    agree = bool(np.allclose(means, values, rtol=0, atol=2e-6))
    return {
        "part": name,
        "queries": queries,
        "candidates": width,
        "seconds": ours,
        "numpy_seconds": in_numpy,
        "torchmetrics_seconds": theirs,
        "torchmetrics_sample": sample,
        "ratio": theirs / ours,
        "target": least,
        "met": theirs / ours >= least,
        "agree": agree,
        "means": dict(zip(MEASURES, means, strict=True)),
        "torchmetrics_means": dict(zip(MEASURES, values, strict=True)),
    }


def embeddings(documents: int, dimensions: int, queries: int, device: str) -> tuple[Any, Any]:
    """Random embeddings in bfloat16."""
    generator = torch.Generator(device=device).manual_seed(1)
    made = torch.empty(documents, dimensions, device=device, dtype=torch.bfloat16)
    for first in range(0, documents, 1 << 20):
        part = made[first : first + (1 << 20)]
        part[:] = torch.randn(part.shape, device=device, generator=generator)
    return torch.randn(queries, dimensions, device=device, generator=generator).bfloat16(), made


def judgments(queries: int, documents: int, judged: int) -> cranfield.Judgments:
    """The same number of relevant documents for each query, at random."""
    rng = np.random.default_rng(2)
    rows = np.sort(rng.integers(0, documents // judged, (queries, judged)) + documents // judged * np.arange(judged))
    return cranfield.read_qrels({str(q): dict.fromkeys(map(str, rows[q].tolist()), 1) for q in range(queries)})


def collection(documents: int, dimensions: int, queries: int, device: str, rounds: int) -> list[dict[str, Any]]:
    """Exact ranks of judged documents in a whole collection."""
    given, made = embeddings(documents, dimensions, queries, device)
    results = []
    for judged in (1, 10, 100):
        qrels = judgments(queries, documents, judged)
        names = cranfield.data.Strings.of(map(str, range(queries)))
        scorer = Scorer(given, made, "dot", None)
        counts: list[Any] = []

        def passes(qrels: Any = qrels, names: Any = names, scorer: Any = scorer, counts: list[Any] = counts) -> None:
            counts[:] = [JudgedRows.of(qrels, names, None).count(scorer, None, None, 0)]

        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated() if device == "cuda" else 0
        seconds = timed(passes, device, rounds)
        peak = torch.cuda.max_memory_allocated() - before if device == "cuda" else 0
        products = timed(lambda scorer=scorer: [None for _ in scorer.scores()], device, rounds)
        begin = time.perf_counter()
        evaluation = evaluate_embeddings(qrels, given, made, ["AP", "RR", "nDCG@10"], query_ids=range(queries))
        means = evaluation.table(evaluation.columns)._means[0].tolist()
        everything = time.perf_counter() - begin
        begin = time.perf_counter()
        notes = len(evaluation.scores.notes)
        with_notes = time.perf_counter() - begin
        equal = counts[0].equal.double()
        results.append(
            {
                "part": "collection",
                "documents": documents,
                "dimensions": dimensions,
                "queries": queries,
                "judged": judged,
                "seconds": seconds,
                "one_pass_of_products": products,
                "three_measures_seconds": everything,
                "notes_seconds": with_notes,
                "notes": notes,
                "block_scores": scorer.step * queries,
                "peak_bytes": peak,
                "tied": float((equal > 1).double().mean()),
                "mean_tie": float(equal.mean()),
                "means": means,
                "target": MOST[judged],
                "met": seconds <= MOST[judged] if documents == DOCUMENTS else None,
            }
        )
        print(json.dumps(results[-1]), flush=True)
    return results


def scaling(dimensions: int, queries: int, sizes: list[int], device: str) -> list[dict[str, Any]]:
    """The time of both passes for each score, for collections of different sizes."""
    results = []
    given, made = embeddings(max(sizes), dimensions, queries, device)
    names = cranfield.data.Strings.of(map(str, range(queries)))
    for size in sizes:
        qrels = judgments(queries, size, 1)
        scorer = Scorer(given, made[:size], "dot", None)
        seconds = timed(
            lambda qrels=qrels, scorer=scorer: JudgedRows.of(qrels, names, None).count(scorer, None, None, 0), device, 3
        )
        scores = size * queries
        results.append(
            {"part": "scaling", "scores": scores, "seconds": seconds, "picoseconds": seconds / scores * 1e12}
        )
        print(json.dumps(results[-1]), flush=True)
    return results


def from_counts(documents: int, queries: int, judged: int) -> dict[str, Any]:
    """Three measures from the counts of judged documents: ids to numbers, counts to rankings, rankings to means."""
    collection = cranfield.Collection(judgments(queries, documents, judged))
    names = cranfield.data.Strings.of(map(str, range(queries)))
    rng = np.random.default_rng(3)
    higher, equal = rng.integers(0, documents // 2, queries * judged), rng.integers(1, 15_000, queries * judged)

    def means() -> list[float]:
        evaluator = make_block_evaluator(collection, ["AP", "RR", "nDCG@10"], ties="expected")
        located = JudgedRows.of(evaluator.judgments, names, None)
        counts = ScoreCounts(Arrays(), queries, located.query, np.zeros(len(higher), np.float32))
        counts.higher, counts.equal, counts.length = higher, equal, np.full(queries, documents)
        run = count_run(evaluator, located.rows, counts, located.query, located.document, located.number, "by_input")
        evaluation = evaluator.aligned_evaluation([run])
        return evaluation.table(evaluation.columns)._means[0].tolist()  # type: ignore[no-any-return]

    begin = time.perf_counter()
    first = means()
    cold = time.perf_counter() - begin
    result = {"part": "counts", "queries": queries, "judged": judged, "first": cold, "seconds": timed(means, "cpu")}
    return result | {"means": first}


def about(device: str) -> dict[str, Any]:
    """The conditions of the measurement."""
    from importlib.metadata import PackageNotFoundError, version

    def of(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "not installed"

    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.processor() or "processor",
        "threads": torch.get_num_threads(),
        "core": "native" if native.NATIVE else "plain Python",
        "python": platform.python_version(),
        "versions": {name: of(name) for name in ("torch", "triton", "torchmetrics", "numpy")},
    }


def main() -> int:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["candidates", "collection", "scaling", "processor", "counts"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the script")
    parser.add_argument("--sample", type=int, help="queries on which torchmetrics is timed on the processor")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device, quick = options.device, options.quick
    results: list[dict[str, Any]] = []
    if "candidates" in options.parts:
        results.append(compare("candidates", 60 if quick else QUERIES, CANDIDATES, device, 500, None))
        print(json.dumps(results[-1]), flush=True)
    if "collection" in options.parts:
        size = (5000, 32, 50) if quick else (DOCUMENTS, DIMENSIONS, QUERIES)
        results += collection(*size, device, 3)
    if "scaling" in options.parts:
        sizes = [1000, 5000] if quick else [144, 1440, 14_400, 144_000, 1_440_000, DOCUMENTS]
        results += scaling(32 if quick else DIMENSIONS, 50 if quick else QUERIES, sizes, device)
    if "processor" in options.parts:
        results.append(compare("processor", 300 if quick else 100_000, CANDIDATES, "cpu", 20, options.sample))
        print(json.dumps(results[-1]), flush=True)
    if "counts" in options.parts:
        results.append(from_counts(5000 if quick else DOCUMENTS, 50 if quick else QUERIES, 100))
        print(json.dumps(results[-1]), flush=True)
    report = about(device) | {"results": results}
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1))
    print(json.dumps(about(device)))
    for result in results:
        if result.get("met") is False:
            print(f"missed: {result['part']} {result.get('judged', '')}: target {result['target']}")
    return 0 if all(result.get("agree", True) for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
