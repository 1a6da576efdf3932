"""What evaluation on Spark costs for each row, at one, two, four and eight times the data, beside the local engine.

8.75 million rows at a time, up to 70 million: queries with 1,000 documents each, one of them relevant, in Parquet. Each
size is evaluated by a Spark of its own, on ``local[2]``; processor time is that of Java and all Python workers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

DATA = Path(__file__).parent / "data" / "spark"
MEASURES = ["AP", "nDCG@10", "RR", "P@10", "R@1000", "bpref"]
QUERIES, DEPTH, COLLECTION = 8_750, 1_000, 8_841_823
SIZES = (1, 2, 4, 8)


def generate() -> None:
    """Files of 8.75 million rows each, and the judgments of all queries; made once."""
    DATA.mkdir(parents=True, exist_ok=True)
    for part in range(max(SIZES)):
        path = DATA / f"run-{part}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(part)
        draft = path.with_suffix(".part")
        schema = pa.schema({"query": pa.string(), "document": pa.string(), "score": pa.float64()})
        with pq.ParquetWriter(draft, schema) as writer:
            for begin in range(0, QUERIES, 250):
                query = np.repeat(np.arange(begin, begin + 250) + part * QUERIES + 1_000_000, DEPTH)
                # Odd steps through the collection: every document of a query is another one.
                first, step = rng.integers(0, COLLECTION, 250), rng.integers(0, COLLECTION // 4, 250) * 2 + 1
                document = (first[:, None] + step[:, None] * np.arange(DEPTH)) % COLLECTION
                score = np.round(np.sort(rng.random((250, DEPTH)), axis=1)[:, ::-1] * 30, 6)
                texts = [pc.cast(pa.array(ids), pa.string()) for ids in (query, document.ravel())]
                writer.write_table(pa.table([*texts, pa.array(score.ravel())], schema=schema))
        draft.rename(path)
    judged = DATA / "qrels.parquet"
    if not judged.exists():
        rng = np.random.default_rng(99)
        rows: dict[str, list[Any]] = {"query": [], "document": [], "grade": []}
        for part in range(max(SIZES)):
            table = pq.read_table(DATA / f"run-{part}.parquet", columns=["query", "document"])
            chosen = np.arange(QUERIES) * DEPTH + np.minimum(rng.exponential(60, QUERIES).astype(np.int64), DEPTH - 1)
            some = table.take(pa.array(chosen))
            rows["query"] += some["query"].to_pylist()
            rows["document"] += some["document"].to_pylist()
        rows["grade"] = [1] * len(rows["query"])
        pq.write_table(pa.table(rows), judged)


class Watch(threading.Thread):
    """The most memory that any Python worker, and Java, were seen to hold."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.python = self.java = 0

    def run(self) -> None:
        while True:
            for child in psutil.Process().children(recursive=True):
                try:
                    held = child.memory_full_info().uss
                    if "java" in child.name():
                        self.java = max(self.java, held)
                    else:
                        self.python = max(self.python, held)
                except psutil.Error:
                    pass
            time.sleep(0.5)


def processor() -> float:
    """Seconds of processor that this process and all below it have used."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            times = process.cpu_times()
            total += times.user + times.system
        except psutil.Error:
            pass
    return total


def on_spark(size: int) -> dict[str, float]:
    """One evaluation, after a small one that wakes Java and the workers."""
    from cranfield import spark as engine
    from cranfield.spark.frames import session

    with tempfile.TemporaryDirectory() as log:
        spark = session(
            "local[2]",
            **{
                "spark.driver.memory": "2g",
                "spark.ui.enabled": "false",
                "spark.eventLog.enabled": "true",
                "spark.eventLog.dir": log,
                "spark.eventLog.compress": "false",
                "spark.eventLog.rolling.enabled": "false",
            },
        )
        runs = spark.read.parquet(*(str(DATA / f"run-{part}.parquet") for part in range(size)))
        judged = spark.read.parquet(str(DATA / "qrels.parquet"))
        judged = judged.where(f"cast(query as bigint) < {1_000_000 + size * QUERIES}").persist()
        few = f"cast(query as bigint) < {1_000_050}"
        engine.evaluate(qrels=judged.where(few), runs=runs.where(few), measures=MEASURES)
        spark.sparkContext.setJobGroup("timed", "the evaluation")
        watch = Watch()
        watch.start()
        before, begin = processor(), time.perf_counter()
        means = engine.evaluate(qrels=judged, runs=runs, measures=MEASURES)
        wall, used = time.perf_counter() - begin, processor() - before
        spark.stop()
        return {
            "rows": size * QUERIES * DEPTH,
            "seconds": wall,
            "processor": used,
            "shuffled": shuffled(Path(log)),
            "python": watch.python,
            "java": watch.java,
            "AP": float(means._means[0, 0]),
        }


def shuffled(log: Path) -> int:
    """Bytes that the jobs of the timed evaluation wrote for other tasks to read, from Spark's own log."""
    stages: set[int] = set()
    total = 0
    for path in log.iterdir():
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerJobStart":
                if event["Properties"].get("spark.jobGroup.id") == "timed":
                    stages.update(event["Stage IDs"])
            elif event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
                total += event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return total


def here(size: int) -> dict[str, float]:
    """The same by the local engine, in one process, file by file as it reads Parquet into memory."""
    import cranfield as cf

    judged = pq.read_table(DATA / "qrels.parquet").slice(0, size * QUERIES)
    before, begin = processor(), time.perf_counter()
    scores = cf.evaluate(qrels=judged, run=str(DATA / "run-0.parquet"), measures=MEASURES)
    return {
        "rows": size * QUERIES * DEPTH,
        "seconds": time.perf_counter() - begin,
        "processor": processor() - before,
        "AP": float(scores._means[0, 0]),
    }


def apart(*arguments: str) -> dict[str, float]:
    """One measurement in a process of its own."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure every size in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    if arguments.one:
        found = here(1) if arguments.one == "here" else on_spark(int(arguments.one))
        print(json.dumps(found))
        return
    generate()
    local = apart("--one", "here")
    print("engine      rows      seconds  rows/s     CPU µs/row  shuffled B/row  a worker  Java")
    show("local", local)
    results = []
    for size in arguments.sizes:
        results.append(apart("--one", str(size)))
        show("spark", results[-1])
    if 1 in arguments.sizes:
        assert abs(results[0]["AP"] - local["AP"]) < 1e-12, "the engines disagree"
    first, last = results[0], results[-1]
    each = [one["processor"] / one["rows"] for one in (local, first, last)]
    print(f"cost of a row at {last['rows'] / first['rows']:.0f}x the data: {each[2] / each[1]:.2f}x")
    print(f"over the local engine: {each[2] / each[0]:.1f}x the processor time")


def show(engine: str, one: dict[str, float]) -> None:
    """Print one line of the table."""
    rows = one["rows"]
    more = ""
    if "shuffled" in one:
        more = f"{one['shuffled'] / rows:14.1f}  {one['python'] / 2**20:5.0f} MB  {one['java'] / 2**20:5.0f} MB"
    cost = one["processor"] / rows * 1e6
    print(
        f"{engine:<6}{rows:>11,}{one['seconds']:>11.1f}{rows / one['seconds']:>10,.0f}{cost:>12.2f}  {more}", flush=True
    )


if __name__ == "__main__":
    main()
