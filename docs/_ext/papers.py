"""The page of the papers, element by element, from ``papers.toml``: paper, element, command, output.

The commands run in one folder, which begins with the example collection and what `prepare` writes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent.parent / "papers.toml"
PAGE = "reference/papers"
NIL = "N"
SHOWN_LINES = 60  # of the output of a command
INTRODUCTION = """\
Each table, figure, experiment and executable claim of {papers} papers, {rows} in all, and the command that repeats it
on your own data. Here the commands run on small examples: the rankings that the papers print, a few written by hand,
and a simulated collection `lab`. The numbers are not those of the papers, except for the rankings that they print;
tests compute them a second time, from the equations of the papers.
Where there is no command, the reason stands in its place. Commands with `corpus.parquet` need pyarrow
(`pip install '.[arrow]'`). The build of this page runs every command."""


@dataclass(frozen=True)
class Element:
    """A table, figure, experiment or claim: the command that repeats it, or the reason why no command can."""

    paper: str
    name: str
    command: str = ""
    reason: str = ""
    expect: str = ""
    why: str = ""  # no number is expected
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper and its elements."""

    name: str
    source: str
    elements: tuple[Element, ...]


def load() -> dict[str, Any]:
    """The file as it is."""
    return tomllib.loads(SOURCE.read_text(encoding="utf-8"))


def papers() -> list[Paper]:
    """All papers, in order."""
    found = []
    for paper in load()["paper"]:
        elements = tuple(
            Element(paper["name"], **element | {"files": tuple(element.get("files", ()))})
            for element in paper["element"]
        )
        found.append(Paper(paper["name"], paper["source"], elements))
    return found


def commands() -> list[str]:
    """The commands that must run before those of the elements."""
    prepared: list[str] = load()["prepare"]["commands"]
    return prepared


def prepare(folder: Path) -> None:
    """Write the files that commands read."""
    data = load()
    for name, text in data["files"].items():
        (folder / name).write_text(text.lstrip("\n"), encoding="utf-8")
    for name, rankings in data["rankings"].items():
        counts = rankings["relevant"]
        counts = counts if isinstance(counts, list) else [counts] * len(rankings["list"])
        lines = [ranking_lines(*pair) for pair in zip(rankings["list"], counts, strict=True)]
        (folder / f"{name}.run").write_text("".join(run for run, _ in lines), encoding="utf-8")
        (folder / f"{name}.qrels").write_text("".join(qrels for _, qrels in lines), encoding="utf-8")


def ranking_lines(ranking: str, relevant: int) -> tuple[str, str]:
    """The lines of a run and of judgments for a ranking such as 0(101)1N; relevant documents beyond it are missed."""
    query = ranking.replace("(", "").replace(")", "")
    run, qrels, score, tied = [], [], 100.0, False
    for place, mark in enumerate(ranking):
        if mark in "()":
            tied = mark == "("
            score -= 1
            continue
        score -= not tied
        document = "NIL" if mark == NIL else f"d{place}"
        run.append(f"{query} Q0 {document} {len(run) + 1} {score:g} paper\n")
        if mark != NIL:
            qrels.append(f"{query} 0 {document} {mark}\n")
    missed = relevant - sum(mark == "1" for mark in query)
    qrels += [f"{query} 0 missed{i} 1\n" for i in range(missed)]
    return "".join(run), "".join(qrels or [f"{query} 0 none 0\n"])


def page() -> str:
    """The page: a table of all elements, then each with its command and output."""
    found = papers()
    rows = sum(len(paper.elements) for paper in found)
    lines = [
        "# The papers, element by element",
        "",
        INTRODUCTION.format(papers=len(found), rows=rows),
        "",
        "| paper | elements | with a command |",
        "| --- | --- | --- |",
        *(
            f"| [{p.name}](#{anchor(p.name)}) | {len(p.elements)} | {sum(bool(e.command) for e in p.elements)} |"
            for p in found
        ),
        "",
        "The simulated collections:",
        "",
        "```{shell}",
        *(f"$ {command}" for command in commands()),
        "```",
        "",
    ]
    for paper in found:
        lines += [f"({anchor(paper.name)})=", f"## {paper.name}", "", f"{paper.source}.", ""]
        for element in paper.elements:
            lines += entry(element)
    return "\n".join(lines)


def entry(element: Element) -> Iterator[str]:
    """One element: its name, and its command with the output, or the reason."""
    yield from (f"**{element.name}**", "")
    if not element.command:
        yield from (element.reason, "")
        return
    yield from ("```{shell}", f":lines: {SHOWN_LINES}", f"$ {element.command}", "```", "")
    for file in element.files:
        yield from (f"```{{drawing}} {file}", element.name, "```", "")


def anchor(name: str) -> str:
    """The target of links to a paper."""
    return f"paper-{name.lower().replace(' ', '-')}"
