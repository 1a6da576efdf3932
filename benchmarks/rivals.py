"""Every contestant as a process of its own that does the whole job: files in, six means out, as JSON.

rivals.py TOOL QRELS RUN...                the means of each run
rivals.py dicts ROUNDS TOOL,... QRELS RUN  one run as dicts; seconds by tool and round, on the same dicts
rivals.py numpy                            only import NumPy, which every tool here does

Each tool is used as its own documentation shows. What is imported here is paid for by all of them, so it is little.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

# The names of the six measures in each tool, in the order in which they are reported.
OURS = ("AP", "nDCG@10", "RR", "P@10", "R@1000", "bpref")
PYTREC_NAMES = dict(zip(OURS, ("map", "ndcg_cut_10", "recip_rank", "P_10", "recall_1000", "bpref"), strict=True))
RANX = ("map", "ndcg@10", "mrr", "precision@10", "recall@1000", "bpref")

Means = dict[str, float]
Nested = Mapping[str, Mapping[str, Any]]


def cranfield(qrels: str, runs: Sequence[str], **how: Any) -> list[Means]:
    """Means of runs in files, by cranfield."""
    import cranfield

    scores = cranfield.evaluate(qrels=qrels, run=runs, measures=OURS, **how)
    return [dict(zip(OURS, row.tolist(), strict=True)) for row in scores._means]


def cranfield_as_trec9(qrels: str, runs: Sequence[str]) -> list[Means]:
    """Scores rounded to 32 bits before they are compared, as in all that is built on trec_eval 9."""
    return cranfield(qrels, runs, ties="trec9")


def pytrec_eval(qrels: str, runs: Sequence[str]) -> list[Means]:
    """Means of runs in files, by pytrec_eval."""
    import pytrec_eval

    with open(qrels) as file:
        judged = pytrec_eval.parse_qrel(file)
    evaluator = pytrec_eval.RelevanceEvaluator(judged, set(PYTREC_NAMES.values()))
    means = []
    for path in runs:
        with open(path) as file:
            means.append(_pytrec_means(evaluator.evaluate(pytrec_eval.parse_run(file))))
    return means


def _pytrec_means(per_query: Nested) -> Means:
    return {
        ours: sum(values[theirs] for values in per_query.values()) / len(per_query)
        for ours, theirs in PYTREC_NAMES.items()
    }


def ir_measures(qrels: str, runs: Sequence[str]) -> list[Means]:
    """Means of runs in files, by ir_measures."""
    import ir_measures

    asked = [ir_measures.parse_measure("Bpref" if name == "bpref" else name) for name in OURS]
    evaluator = ir_measures.evaluator(asked, ir_measures.read_trec_qrels(qrels))
    means = []
    for path in runs:
        found = evaluator.calc_aggregate(ir_measures.read_trec_run(path))
        means.append({ours: found[theirs] for ours, theirs in zip(OURS, asked, strict=True)})
    return means


def ranx(qrels: str, runs: Sequence[str]) -> list[Means]:
    """Means of runs in files, by ranx."""
    import ranx

    judged = ranx.Qrels.from_file(qrels, kind="trec")
    means = []
    for path in runs:
        found = ranx.evaluate(judged, ranx.Run.from_file(path, kind="trec"), list(RANX))
        means.append({ours: float(found[theirs]) for ours, theirs in zip(OURS, RANX, strict=True)})
    return means


def cranfield_dicts(qrels: Nested, run: Nested) -> Means:
    """Means of a run in memory, by cranfield."""
    import cranfield

    scores = cranfield.evaluate(qrels=qrels, run=run, measures=OURS)
    return dict(zip(OURS, scores._means[0].tolist(), strict=True))


def pytrec_eval_dicts(qrels: Nested, run: Nested) -> Means:
    """Means of a run in memory, by pytrec_eval."""
    import pytrec_eval

    return _pytrec_means(pytrec_eval.RelevanceEvaluator(qrels, set(PYTREC_NAMES.values())).evaluate(run))


def ir_measures_dicts(qrels: Nested, run: Nested) -> Means:
    """Means of a run in memory, by ir_measures."""
    import ir_measures

    asked = [ir_measures.parse_measure("Bpref" if name == "bpref" else name) for name in OURS]
    found = ir_measures.calc_aggregate(asked, qrels, run)
    return {ours: found[theirs] for ours, theirs in zip(OURS, asked, strict=True)}


FILES: dict[str, Callable[[str, Sequence[str]], list[Means]]] = {
    "cranfield": cranfield,
    "cranfield_as_trec9": cranfield_as_trec9,
    "pytrec_eval": pytrec_eval,
    "ir_measures": ir_measures,
    "ranx": ranx,
}
DICTS: dict[str, Callable[[Nested, Nested], Means]] = {
    "cranfield": cranfield_dicts,
    "pytrec_eval": pytrec_eval_dicts,
    "ir_measures": ir_measures_dicts,
}


def peak() -> float:
    """The most memory this process held, in MB.

    The kernel's own count for this program image: ``ru_maxrss`` also remembers what the process held
    before it became this program, which is the memory of whoever started it.
    """
    try:
        with open("/proc/self/status") as status:
            held = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    except OSError:
        import resource

        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    return held / 1024


def nested(path: str, value: int, kind: Callable[[str], Any]) -> dict[str, dict[str, Any]]:
    """A file as dicts, its query and document in columns 0 and 2."""
    found: dict[str, dict[str, Any]] = {}
    with open(path) as file:
        for line in file:
            columns = line.split()
            found.setdefault(columns[0], {})[columns[2]] = kind(columns[value])
    return found


def in_turns(repeat: int, tools: Sequence[str], qrels: str, run: str) -> dict[str, Any]:
    """All tools on the same dicts. The first call, which imports, gives the means and is not timed."""
    import rounds

    judged, ranked = nested(qrels, 3, int), nested(run, 4, float)
    calls = {tool: partial(DICTS[tool], judged, ranked) for tool in tools}
    means = {tool: call() for tool, call in calls.items()}
    return {"means": means, "seconds": rounds.alternate(calls, repeat)}


def main(tool: str, *arguments: str) -> None:
    """Run one tool; print its means, seconds and memory as JSON."""
    began = time.perf_counter()
    result: dict[str, Any] = {}
    if tool == "numpy":
        __import__("numpy")
    elif tool == "dicts":
        repeat, tools, qrels, run = arguments
        result = in_turns(int(repeat), tools.split(","), qrels, run)
    else:
        qrels, *runs = arguments
        result = {"means": FILES[tool](qrels, runs)}
    print(json.dumps({**result, "inner": time.perf_counter() - began, "peak": peak()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
