"""pytrec_eval, which contains trec_eval 9.0.8, and what trec_eval would print of its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytrec_eval
from click.testing import CliRunner, Result

from cranfield.cli.main import cli

Trec = Callable[..., Result]

WHOLE = {"num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"}
SUMMARY = {"runid", "num_q", "gm_map", "gm_bpref"}


def ranked(documents: dict[str, float]) -> list[str]:
    """Documents as trec_eval 9 orders them: by 32 bits of the score, then by descending id."""
    return sorted(documents, key=lambda d: (np.float32(documents[d]), d.encode()), reverse=True)


def printed(
    qrels: dict,
    run: dict,
    measures: Any,
    *,
    level: int = 1,
    judged: bool = False,
    most: int | None = None,
    complete: bool = False,
    per_query: bool = False,
    tag: str = "tag",
) -> str:
    """What trec_eval 9 prints, from pytrec_eval's values and trec_eval's formats."""
    if most is not None:
        run = {q: {d: run[q][d] for d in ranked(run[q])[:most]} for q in run}
    found = pytrec_eval.RelevanceEvaluator(qrels, measures, level, judged).evaluate(run)
    names = list(next(iter(found.values())))
    out = []
    for query in sorted(found, key=str.encode) if per_query else ():
        for name in names:
            if name == "relstring":
                out.append(f"{name:<22}\t{query}\t'{relstring(qrels[query], run[query], judged=judged)}'\n")
            elif name not in SUMMARY:
                out.append(row(name, query, found[query][name]))
    count = len(qrels) if complete else len(found)
    for name in names:
        values = [found[query][name] for query in sorted(found, key=str.encode)]
        if name == "runid":
            out.append(f"{name:<22}\tall\t{tag}\n")
        elif name == "num_q":
            out.append(row(name, "all", count))
        elif name == "num_rel" and complete:
            out.append(row(name, "all", sum(grade >= 1 for inner in qrels.values() for grade in inner.values())))
        elif name in WHOLE:
            out.append(row(name, "all", sum(values)))
        elif name.startswith("gm_"):
            missing = (count - len(values)) * math.log(1e-5)
            out.append(row(name, "all", math.exp((sum(values) + missing) / count)))
        elif name != "relstring":
            out.append(row(name, "all", sum(values) / count))
    return "".join(out)


def row(name: str, query: str, value: float) -> str:
    """A line of output; C prints the sign of NaN, which is negative for 0/0."""
    number = f"{value:.0f}" if name in WHOLE else "  -nan" if math.isnan(value) else f"{value:6.4f}"
    return f"{name:<22}\t{query}\t{number}\n"


def relstring(grades: dict[str, int], scores: dict[str, float], *, judged: bool = False, length: int = 10) -> str:
    shown = [d for d in ranked(scores) if not judged or grades.get(d, -1) >= 0]
    signs = {None: "-"} | {g: "." if g < 0 else ">" if g > 9 else str(g) for g in grades.values()}
    return "".join(signs[grades.get(d)] for d in shown[:length])


def written(content: object, what: str) -> bytes:
    """Nested dicts as TREC text; text as it is."""
    if isinstance(content, dict):
        row = "{0} 0 {1} {2}\n" if what == "qrels" else "{0} Q0 {1} 1 {2!r} tag\n"
        content = "".join(row.format(q, d, x) for q, inner in content.items() for d, x in inner.items())
    return content.encode() if isinstance(content, str) else bytes(content)  # type: ignore[call-overload]


def caller(folder: Path) -> Trec:
    """Calls `cranfield trec_eval` with judgments and a run, given as text or as nested dicts."""

    def call(*options: object, qrels: object = None, run: object = None, input: bytes | None = None) -> Result:
        files = []
        for name, content in (("qrels", qrels), ("run", run)):
            if content is not None:
                path = folder / name
                path.write_bytes(written(content, name))
                files.append(path)
        args = ["trec_eval", *map(str, options), *map(str, files)]
        result = CliRunner().invoke(cli, args, prog_name="cranfield", input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


def values(output: str) -> dict[tuple[str, str], str]:
    """What is printed, by measure and query."""
    return {(name.strip(), query): value for name, query, value in (line.split("\t") for line in output.splitlines())}
