"""An experiment with everything in it: two collections, four runs, repeats, scores from elsewhere, groups, clusters."""

from __future__ import annotations

import random
from pathlib import Path

WHOLE = """\
measures = ["nDCG@10"]
baseline = "bm25"

[policy]
undefined = "zero"
seed = 3

[collections.old]
qrels = "{collection}/qrels.txt"
queries = "{collection}/queries.csv"

[collections.new]
qrels = "new/qrels.txt.gz"
queries = "new/queries.csv"

[runs]
bm25 = "{collection}/bm25.run"
dense = "{collection}/dense-*.run"
hybrid = "{collection}/hybrid.run"
llm = ["{collection}/llm.run"]

[scores]
faithfulness = "judge/{collection}.csv"
seconds = { file = "judge/{collection}.time.csv", measure = "latency", lower = true }

[design]
by = ["type"]
cluster = "topic"

[compare]
correction = "bonferroni"
alpha = 0.1

[gates]
"nDCG@10" = { at_least = 0.1, no_significant_loss = true, margin = 0.2 }
"P@5" = { at_least = 0.01, runs = ["llm"] }
faithfulness = { may_drop = 0.9 }

[report]
file = "report.html"
title = "Two collections"

[save]
scores = "scores.json"
comparison = "comparison.json"
junit = "junit.xml"

[history]
file = "history.jsonl"
"""

RUNS = {"bm25": 0.3, "hybrid": 0.6, "llm": 0.9, "dense-1": 0.5, "dense-2": 0.55, "dense-3": 0.5}
SYSTEMS = ("bm25", "dense", "hybrid", "llm")


def write_whole(folder: Path) -> Path:
    """The experiment and all its files; the path of the experiment."""
    import gzip

    draw = random.Random(1)
    (folder / "judge").mkdir()
    for collection in ("old", "new"):
        home = folder / collection
        home.mkdir()
        queries = [f"{collection}{q}" for q in range(12)]
        grade = {q: {f"d{d}": draw.choice([0, 0, 1, 2]) for d in range(12)} for q in queries}
        qrels = "".join(f"{q} 0 {d} {g}\n" for q in queries for d, g in grade[q].items())
        if collection == "old":
            (home / "qrels.txt").write_text(qrels)
        else:
            (home / "qrels.txt.gz").write_bytes(gzip.compress(qrels.encode()))
        rows = [f"{q},about {q},{'how' if n % 2 else 'what'},t{n // 2}" for n, q in enumerate(queries)]
        (home / "queries.csv").write_text("\n".join(["query,text,type,topic", *rows]) + "\n")
        for run, skill in RUNS.items():
            scored = [(q, d, round(skill * g + draw.random(), 1)) for q in queries for d, g in grade[q].items()]
            lines = "".join(f"{q} Q0 {d} 1 {score} {run}\n" for q, d, score in scored)
            (home / f"{run}.run").write_text(lines)
        values = [f"{run},{q},{draw.random():.3f}" for run in SYSTEMS for q in queries]
        (folder / f"judge/{collection}.csv").write_text("\n".join(["run,query,value", *values]) + "\n")
        times = [f"{run},{q},{draw.random():.3f},1" for run in SYSTEMS for q in queries]
        (folder / f"judge/{collection}.time.csv").write_text("\n".join(["run,query,latency,tokens", *times]) + "\n")
    path = folder / "cranfield.toml"
    path.write_text(WHOLE)
    return path
