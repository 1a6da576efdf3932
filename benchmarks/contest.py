"""The questions that the benchmarks answer, each with its contestants, its target and its rows of the table."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import agreement
import generate
import rounds

HERE = Path(__file__).parent
PYTHON = sys.executable
NUMPY = (PYTHON, "-c", "import numpy")  # what starting costs anyone
THREADS = 2
MEMORY = 150  # MB over the interpreter's
PACKAGES = {"pytrec_eval": "pytrec-eval-terrier", "ir_measures": "ir-measures", "ranx": "ranx"}
SLOW = ("ir_measures", "ranx")  # run in the first round only: they are far off, and minutes long


class Disagreement(Exception):
    """A peer has other means than ours and nobody knows why: there is nothing to time."""


@dataclass(frozen=True)
class Row:
    """One line of the table. ``met`` is None where there is no target."""

    work: str
    contestant: str
    seconds: float | None
    compared: str
    target: str = ""
    met: bool | None = None


def version(tool: str) -> str | None:
    """A peer's installed version, or None."""
    try:
        return importlib.metadata.version(PACKAGES[tool])
    except importlib.metadata.PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Settings:
    repeat: int = 5
    quick: bool = False
    ranx: bool = True
    tell: Callable[[str], None] = lambda line: None

    def peers(self, *names: str) -> list[str]:
        wanted = [name for name in names if name != "ranx" or (self.ranx and not self.quick)]
        return [name for name in wanted if version(name)]

    def folder(self, name: str) -> Path:
        self.tell(f"{name}: inputs")
        return generate.workload(name, quick=self.quick)


def floor() -> str | None:
    """The floor, compiled; None where there is no compiler."""
    source, program = HERE / "floor.cpp", generate.DATA / "floor"
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(exist_ok=True)
        options = ("-O3", "-march=native", "-std=c++20", "-pthread")
        subprocess.run([compiler, *options, str(source), "-o", str(program)], check=True)
    return str(program)


def command(tool: str, folder: Path) -> list[str]:
    """A contestant's whole process on a workload."""
    paths = [str(folder / "qrels"), *map(str, generate.run_files(folder))]
    if tool == "floor":
        return [str(floor()), *paths, str(THREADS)]
    return [PYTHON, str(HERE / "rivals.py"), tool, *paths]


def check(work: str, folder: Path, peers: Sequence[str], settings: Settings) -> None:
    """The means of all contestants against ours, by the tie rule that each of them follows."""
    ours = {}
    for peer in peers:
        settings.tell(f"{work}: does {peer} agree?")
        rule = "cranfield_as_trec9" if peer in ("pytrec_eval", "ir_measures") else "cranfield"
        if rule not in ours:
            ours[rule] = rounds.answer(command(rule, folder))["means"]
        theirs = rounds.answer(command(peer, folder))["means"]
        agreed(work, peer, ours[rule], theirs if isinstance(theirs, list) else [theirs], settings)


def agreed(work: str, peer: str, ours: Any, theirs: Any, settings: Settings) -> None:
    unexplained, known = agreement.differences(peer, ours, theirs)
    if unexplained:
        raise Disagreement("\n".join(f"{work}: {line}" for line in unexplained))
    for line in known:
        settings.tell(f"{work}: {line}")


def timed(work: str, folder: Path, peers: Sequence[str], settings: Settings) -> dict[str, rounds.Times]:
    """Ours and the peers in turns, those that are slow only once."""
    settings.tell(f"{work}: {', '.join(['cranfield', *peers])}")
    commands = {tool: command(tool, folder) for tool in ("cranfield", *peers)}
    slow = {tool for tool in commands if tool in SLOW and not settings.quick}
    times = rounds.in_turns(commands, 1)
    more = rounds.in_turns({t: c for t, c in commands.items() if t not in slow}, settings.repeat - 1)
    for tool, found in more.items():
        times[tool].seconds += found.seconds
    return times


def whole_process(work: str, what: str, peers: Sequence[str], least: float, settings: Settings) -> Iterator[Row]:
    """Files to six means; ``least`` is how many times faster than pytrec_eval ours is to be."""
    folder, peers = settings.folder(work), settings.peers(*peers)
    check(work, folder, peers, settings)
    times = timed(work, folder, peers, settings)
    ours = times["cranfield"]
    yield Row(what, "cranfield", ours.median, "")
    for tool in peers:
        ratio = rounds.ratio(times[tool].seconds, ours.seconds[: len(times[tool].seconds)])
        target = f"{least:g}x" if tool == "pytrec_eval" else ""
        yield Row(what, tool, times[tool].median, f"{ratio:.1f}x ours", target, ratio >= least if target else None)


def over_floor(work: str, settings: Settings) -> Iterator[Row]:
    """How far ours is from the least that the job can cost, and what memory it takes."""
    folder = settings.folder(work)
    commands: dict[str, Sequence[str]] = {"numpy": NUMPY, "cranfield": command("cranfield", folder)}
    if floor():
        check(work, folder, ["floor"], settings)
        commands["floor"] = command("floor", folder)
    settings.tell(f"{work}: {', '.join(commands)}")
    times = rounds.in_turns(commands, settings.repeat + 2)
    start, ours = times["numpy"], times["cranfield"]
    net = [a - b for a, b in zip(ours.seconds, start.seconds, strict=True)]
    yield Row(f"{work}: file, start aside", "cranfield", statistics.median(net), "")
    if floor():
        ratio = rounds.ratio(net, times["floor"].seconds)
        target = "at most 2x"
        what = f"{work}: file, start aside"
        yield Row(what, "floor", times["floor"].median, f"ours {ratio:.2f}x it", target, ratio <= 2)
    held = ours.peak - rounds.answer([PYTHON, str(HERE / "rivals.py"), "numpy"])["peak"]
    what = f"{work}: memory over the interpreter's"
    yield Row(what, "cranfield", None, f"{held:.0f} MB", f"below {MEMORY} MB", held < MEMORY)


def small(settings: Settings) -> Iterator[Row]:
    peers = ("pytrec_eval", "ir_measures", "ranx")
    yield from whole_process("S", "S: file, whole process", peers, 1, settings)
    if floor():
        check("S", settings.folder("S"), ["floor"], settings)


def medium(settings: Settings) -> Iterator[Row]:
    peers = ("pytrec_eval", "ir_measures", "ranx")
    yield from whole_process("M", "M: file, whole process", peers, 15, settings)
    yield from over_floor("M", settings)


def large(settings: Settings) -> Iterator[Row]:
    runs = len(generate.run_files(settings.folder("L")))
    yield from whole_process("L", f"L: {runs} files, whole process", ("pytrec_eval", "ir_measures"), 10, settings)


def lines(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 22), b""))


def huge(settings: Settings) -> Iterator[Row]:
    """Ten times the lines should take ten times the time."""
    yield from over_floor("XL", settings)
    folders = {name: settings.folder(name) for name in ("M", "XL")}
    settings.tell("XL: per line, beside M")
    commands = {"numpy": NUMPY, **{name: command("cranfield", folder) for name, folder in folders.items()}}
    times = rounds.in_turns(commands, settings.repeat)
    size = {name: lines(folder / "run") for name, folder in folders.items()}
    rate = {
        name: [(t - n) / size[name] for t, n in zip(times[name].seconds, times["numpy"].seconds, strict=True)]
        for name in folders
    }
    ratio = rounds.ratio(rate["XL"], rate["M"])
    # Five in a hundred is what the same command differs by from one time to the next.
    yield Row("XL: per line, over M's", "cranfield", times["XL"].median, f"{ratio:.2f}x M", "1x (±5 %)", ratio <= 1.05)


def dicts(settings: Settings) -> Iterator[Row]:
    folder = settings.folder("M")
    tools = ["cranfield", *settings.peers("pytrec_eval", "ir_measures")]
    settings.tell(f"M as dicts: {', '.join(tools)}")
    arguments = ["dicts", str(settings.repeat), ",".join(tools), str(folder / "qrels"), str(folder / "run")]
    found = rounds.answer([PYTHON, str(HERE / "rivals.py"), *arguments])
    # Scores that only 32 bits confuse are rare in M, and move no mean by the tolerance.
    for tool in tools[1:]:
        agreed("M as dicts", tool, [found["means"]["cranfield"]], [found["means"][tool]], settings)
    ours = found["seconds"]["cranfield"]
    yield Row("M: dicts in memory", "cranfield", statistics.median(ours), "")
    for tool in tools[1:]:
        ratio = rounds.ratio(found["seconds"][tool], ours)
        target = "20x" if tool == "pytrec_eval" else ""
        met = ratio >= 20 if target else None
        yield Row(
            "M: dicts in memory", tool, statistics.median(found["seconds"][tool]), f"{ratio:.1f}x ours", target, met
        )


def start(settings: Settings) -> Iterator[Row]:
    """From nothing to the first score, as a user at a terminal sees it."""
    folder = settings.folder("one")
    installed = Path(PYTHON).with_name("cranfield")
    ours = [str(installed)] if installed.exists() else [PYTHON, "-m", "cranfield"]
    commands: dict[str, Sequence[str]] = {
        "numpy": NUMPY,
        "cranfield": [*ours, "eval", str(folder / "qrels"), str(folder / "run"), "-m", "AP"],
        **{tool: command(tool, folder) for tool in settings.peers("pytrec_eval")},
    }
    settings.tell(f"start: {', '.join(commands)}")
    times = rounds.in_turns(commands, 1 if settings.quick else 2 * settings.repeat + 1)
    base = times["numpy"].seconds
    for tool in list(commands)[1:]:
        over = statistics.median(a - b for a, b in zip(times[tool].seconds, base, strict=True))
        own = tool == "cranfield"
        name = "cranfield eval" if own else tool
        target = "0.15 s over" if own else ""
        met = over <= 0.15 if own else None
        yield Row("start: one query", name, times[tool].median, f"{over:.3f} s over import numpy", target, met)


def ties(settings: Settings) -> Iterator[Row]:
    """Averaging over tied documents may cost no more than breaking ties, whatever the measure."""
    folder = settings.folder("T")
    # Heavy ties are where tools part: trec_eval's rule, at least, must be kept to the letter.
    check("T", folder, settings.peers("pytrec_eval"), settings)
    settings.tell("T: every measure, tie-aware and tie-broken")
    paths = [str(folder / "qrels"), str(folder / "run")]
    # With so many rows one would miss its few per cent by chance.
    many = 1 if settings.quick else 2 * settings.repeat + 1
    found = rounds.answer([PYTHON, str(HERE / "ties.py"), str(many), *paths])
    for name, seconds in found.items():
        whole, alone = (rounds.ratio(seconds[k]["expected"], seconds[k]["trec"]) for k in ("file", "memory"))
        shown = f"{whole:.2f}x tie-broken ({alone:.2f}x in memory)"
        median = statistics.median(seconds["file"]["expected"])
        yield Row("T: ties expected", name, median, shown, "at most 1.05x", whole <= 1.05)


def power(settings: Settings) -> Iterator[Row]:
    """All pairs of systems tested at once, beside loops over pairs."""
    systems, topics, b = (20, 50, 1000) if settings.quick else (100, 50, 10_000)
    settings.tell(f"power: {systems} systems, {topics} topics, {b} resamplings")
    sizes = map(str, (settings.repeat, systems, topics, b))
    found = rounds.answer([PYTHON, str(HERE / "power.py"), *sizes])
    for name, apart in found["apart"].items():
        if apart > 1e-9:
            raise Disagreement(f"power: {name} has other results than ours, by {apart:.2g}")
    what = f"power: bootstrap test of {found['pairs']} pairs, B = {b:,}"
    ours = found["seconds"].pop("cranfield")
    yield Row(what, "cranfield", statistics.median(ours), "")
    for name, seconds in found["seconds"].items():
        ratio = rounds.ratio(seconds, ours)
        target = "50x" if name == "draw by draw" else ""
        met = ratio >= 50 if target else None
        yield Row(what, f"loop, {name}", statistics.median(seconds), f"{ratio:.0f}x ours", target, met)


def corpus(settings: Settings) -> Iterator[Row]:
    """A collection through one pass, beside a plain loop over its lines."""
    folder = settings.folder("corpus")
    paths = [str(folder / "corpus.jsonl"), str(folder / "qrels")]
    script = [PYTHON, str(HERE / "words.py")]
    commands = {
        "cranfield": [*script, "cranfield", *paths, str(THREADS)],
        "cranfield, one thread": [*script, "cranfield", *paths, "1"],
        "json, re and Counter": [*script, "loop", *paths],
    }
    settings.tell(f"corpus: {', '.join(commands)}")
    times, answers = rounds.in_turns(commands, 1), {}
    for tool, found in times.items():
        answers[tool] = json.loads(found.printed)["answer"]
    if len({tuple(answer.items()) for answer in answers.values()}) > 1:
        raise Disagreement(f"corpus: {answers}")
    ours = {tool: command for tool, command in commands.items() if tool.startswith("cranfield")}
    for tool, found in rounds.in_turns(ours, settings.repeat - 1).items():
        times[tool].seconds += found.seconds
    megabytes = (folder / "corpus.jsonl").stat().st_size / 1e6
    for tool, found in times.items():
        ratio = found.median / times["cranfield"].median
        shown = f"{megabytes / found.median:.0f} MB/s, {found.peak:.0f} MB held"
        shown += "" if tool == "cranfield" else f", {ratio:.1f}x ours"
        target = "" if tool in ours else "5x"
        met = ratio >= 5 if target else None
        yield Row(f"corpus: {megabytes:,.0f} MB of text", tool, found.median, shown, target, met)


def content(settings: Settings) -> Iterator[Row]:
    """Measures that read documents, beside their formulas over all terms; of those, one ranking is long enough."""
    settings.tell("content: measures that read documents")
    size = "quick" if settings.quick else "full"
    found = rounds.answer([PYTHON, str(HERE / "content.py"), str(settings.repeat), size])
    agreed("content", "dense", [found["means"][0]], [found["means"][1]], settings)
    many, ours = found["rankings"], statistics.median(found["ours"])
    ratio = many * statistics.median(found["dense"]) / ours
    what = f"content: {many:,} rankings of 20 documents, four measures"
    yield Row(what, "cranfield", ours, "")
    yield Row(what, "dense NumPy", None, f"{ratio:.0f}x ours, from one ranking", "50x", ratio >= 50)


CONTESTS: dict[str, Callable[[Settings], Iterator[Row]]] = {
    "S": small,
    "M": medium,
    "L": large,
    "dicts": dicts,
    "start": start,
    "ties": ties,
    "power": power,
    "corpus": corpus,
    "content": content,
    "XL": huge,
}
