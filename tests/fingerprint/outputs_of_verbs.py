"""What each verb writes for the bundled example, as digests: of the whole, and of each part, to locate a difference."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from glob import glob
from pathlib import Path
from typing import Any

from doors import run_command

OUTPUTS = Path(__file__).with_name("verbs.json")
SMALL = 300  # characters of an output that is stored itself
PARTS = 12  # keys of an object whose parts have digests of their own

RUNS = "bm25.run dense.run llm.run quiet.run"
JSON = "--format json --quiet"
VERBS = (
    f"eval qrels.txt {RUNS} {JSON}",
    f"eval qrels.txt {RUNS} -m 'AP RBP nDCG@10' --show residuals --show bounds --ties expected {JSON}",
    f"eval qrels.txt {RUNS} -m 'AP nDCG@5' --standardise z {JSON}",
    f"eval qrels.txt {RUNS} -m 'AP RR' -q --interval bca --format csv --quiet",
    f"eval qrels.txt {RUNS} -m 'AP RR' --interval t --format markdown --quiet",
    f"eval qrels.txt {RUNS} -m 'AP[terminal] P@5' --nil NIL --undefined zero --queries both {JSON}",
    f"eval predicted.toml bm25.run -m 'AP nDCG@10' {JSON}",
    f"eval qrels.diversity.txt {RUNS} {JSON}",
    f"eval qrels.diversity.txt bm25.run -m 'DELTARB@5 ABSNB@5' --corpus documents.jsonl {JSON}",
    "eval qrels.txt bm25.run dense.run -m 'AP P@5' -q --format trec --quiet",
    f"compare qrels.txt {RUNS} -m 'AP nDCG@10' --samples 2000 --seed 3 {JSON}",
    f"compare qrels.txt {RUNS} -m AP --test t --tests all --samples 500 --correction bh --baseline bm25.run {JSON}",
    f"compare qrels.txt {RUNS} -m AP --test randomised-tukey --samples 500 --no-audit --format csv --quiet",
    f"audit qrels.txt {RUNS} {JSON}",
    f"audit qrels.txt bm25.run llm.run -m nDCG@5 --interval bca --seed 1 {JSON}",
    f"queries qrels.txt {RUNS} {JSON}",
    f"queries qrels.txt bm25.run dense.run --query q3 --queries-file queries.jsonl {JSON}",
    f"explain qrels.diversity.txt bm25.run --corpus documents.jsonl --query q1 -m DELTARB@5 {JSON}",
    f"check qrels.txt {RUNS} {JSON}",
    f"check qrels.txt {RUNS} --stats {JSON}",
    f"judge qrels.txt {RUNS} -m P@10 --top 12 {JSON}",
    f"judge qrels.txt {RUNS} -m AP --strategy hedge --top 8 {JSON}",
    f"judge predicted.toml {RUNS} -m P@5 --strategy maxmean --top 8 {JSON}",
    f"judges qrels.txt predicted.txt {RUNS} {JSON}",
    f"sample {RUNS} --strata '3:1 10:0.5' --qrels qrels.txt --seed 2 --quiet",
    "sample bm25.run dense.run --seed 2 --format csv --quiet",
    "measures --format json",
    "show nDCG",
    "show 'RBP(p=0.8)[terminal]'",
    "show alpha_nDCG@10",
    "cite nDCG@10 'RBP(p=0.8)' AP --quiet",
    f"properties AP nDCG 'RBP(p=0.8)' bpref --documents 4 {JSON}",
    f"properties --table 1 {JSON}",
    f"depth-for RBP 'RBP(p=0.95)' --run bm25.run --qrels qrels.txt {JSON}",
    "corpus documents.jsonl --qrels qrels.txt --run bm25.run --stemmer porter --stop english --format json",
    f"study correlation qrels.txt {RUNS} {JSON}",
    f"study power qrels.txt {RUNS} -m 'AP nDCG@10' --samples 100 --trials 10 {JSON}",
    f"study reduction qrels.txt {RUNS} -m 'AP bpref' --rates 70,30 --repeats 3 --samples 50 {JSON}",
    f"study reuse qrels.diversity.txt {RUNS} -m 'ERR_IA@5 DELTARB@5' --corpus documents.jsonl --seed 1 {JSON}",
    f"study sampling qrels.diversity.txt {RUNS} -m 'ERR_IA@5' --rates 30,70 --repeats 3 {JSON}",
    f"study stopping qrels.txt {RUNS} --repeats 5 {JSON}",
    f"study ties qrels.txt {RUNS} -m 'AP RR' --samples 20 --round-digits 2 --round-bits 8 {JSON}",
    f"study truncation qrels.txt {RUNS} {JSON}",
    f"study tie-cost -m AP --queries 50 --repeats 1 {JSON}",
    "trec_eval -q -m all_trec qrels.txt bm25.run",
    "trec_eval -m official qrels.txt llm.run",
)
# Commands that write files, and the files.
WRITING = {
    "simulate lab --queries 4 --systems 3 --documents 200 --depth 20 --pool-depth 5 --ties 0.4 --truncate 0.4 "
    "--nil-queries 0.25 --words 20 --vocabulary 200 --seed 5": "lab/**",
    "convert bm25.run converted.json": "converted.json",
    "convert qrels.txt converted.csv --kind qrels": "converted.csv",
    f"report qrels.txt {RUNS} -o report.html --samples 500 --top-documents 3 --quiet": "report.html",
    f"judge qrels.txt {RUNS} -m P@10 --top 5 --page judge.html --texts documents.jsonl --quiet": "judge.html",
}
TIMES = ("trec", "expected")  # of the study tie-cost
VERSION = re.compile(r"Cranfield \d[\w.]*")
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
CODE = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)


def prepare(folder: Path) -> None:
    """The files of the example, and judgments that a judge predicted."""
    code, said = run_command(["demo", "--into", "."], folder)
    assert not code, said
    lines = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    predicted = [f"{q} 0 {d} {max(int(grade) - i % 3, 0)}\n" for i, (q, _, d, grade) in enumerate(lines)]
    (folder / "predicted.txt").write_text("".join(predicted))
    (folder / "predicted.toml").write_text('qrels = "qrels.txt"\npredicted = "predicted.txt"\n')


def without_times(value: Any) -> Any:
    """Plain data of the study tie-cost without what depends on the clock."""
    if not isinstance(value, dict):
        return value
    return {key: "time" if key in TIMES else without_times(one) for key, one in value.items()}


def digest(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def described(printed: str) -> dict[str, Any]:
    """The digest of an output, those of its parts down to the second level, and the output itself where it is small."""
    if len(printed) <= SMALL:
        return {"text": printed}
    try:
        content = json.loads(printed)
    except json.JSONDecodeError:
        return {"digest": digest(printed), "lines": printed.count("\n")}
    if isinstance(content, dict):
        content.pop("provenance", None)  # it has the time
    found: dict[str, Any] = {"digest": digest(content)}
    if isinstance(content, list) and content and isinstance(content[0], dict):
        content = {str(next(iter(one.values()))): one for one in content}
    if isinstance(content, dict):
        several = len(content) > 5 * PARTS
        found["parts"] = {key: digest(one) if several else _part(one) for key, one in content.items()}
    return found


def _part(value: Any) -> Any:
    if isinstance(value, dict) and 1 < len(value) <= PARTS:
        return {key: digest(one) for key, one in value.items()}
    return digest(value)


def described_file(path: Path) -> Any:
    """The digest of a file; of a page, those of its data and of its text without code."""
    content = path.read_text(encoding="utf-8")
    if path.suffix != ".html":
        return digest(content)
    text = digest(VERSION.sub("Cranfield", CODE.sub("", content)))
    return {"text": text, "data": [described(data) for data in DATA.findall(content)]}


def output(words: str, folder: Path) -> dict[str, Any]:
    """The description of one command's output."""
    code, printed = run_command(shlex.split(words), folder)
    if "tie-cost" in words:
        printed = json.dumps(without_times(json.loads(printed)))
    found = described(printed)
    if words in WRITING:
        files = sorted(path for path in glob(WRITING[words], root_dir=folder, recursive=True) if "." in Path(path).name)
        found["files"] = {path: described_file(folder / path) for path in files}
    return {"exit": code, **found} if code else found


def outputs(folder: Path, commands: list[str]) -> dict[str, Any]:
    return {words: output(words, folder) for words in commands}


def every() -> list[str]:
    return [*VERBS, *WRITING]
