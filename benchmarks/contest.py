"""The questions that the benchmarks answer, each with its contestants, its target and its rows of the table."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import agreement
import generate
import grid
import judged
import rounds
from rivals import OURS, PYTREC_NAMES

HERE = Path(__file__).parent
PYTHON = sys.executable
NUMPY = (PYTHON, "-c", "import numpy")  # the start that every contestant has
THREADS = 2
MEMORY = 150  # MB over the interpreter's
PACKAGES = {"pytrec_eval": "pytrec-eval-terrier", "ir_measures": "ir-measures", "ranx": "ranx"}
# At most so many times as long as `cranfield eval` of the same runs.
TRACK_TARGETS = {"compare -m AP": 5, "audit": 4, "audit -m 'AP nDCG@10 RR RBP'": 4, "report": 8}
TRACK_SECONDS = 1.5
JUDGED_TARGETS = {1: 26, 50: 12, 300: 6}  # times as fast as pytrec_eval, by judged documents of a query


@dataclass(frozen=True)
class Row:
    """One line of the table. ``met`` is None where there is no target."""

    work: str
    contestant: str
    seconds: float | None
    compared: str
    target: str = ""
    met: bool | None = None

    @property
    def name(self) -> str:
        return f"{self.work}, {self.contestant}"


def version(tool: str) -> str | None:
    """A peer's installed version, or None."""
    try:
        return importlib.metadata.version(PACKAGES[tool])
    except importlib.metadata.PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Settings:
    """How often to repeat, on which sizes, against which peers, and where progress is written."""

    repeat: int = 5
    quick: bool = False
    ranx: bool = True
    log: Callable[[str], None] = lambda line: None

    def peers(self, *names: str) -> list[str]:
        wanted = [name for name in names if name != "ranx" or (self.ranx and not self.quick)]
        return [name for name in wanted if version(name)]

    def folder(self, name: str) -> Path:
        self.log(f"{name}: inputs")
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


def program() -> list[str]:
    """Our command as a user types it."""
    installed = Path(PYTHON).with_name("cranfield")
    return [str(installed)] if installed.exists() else [PYTHON, "-m", "cranfield"]


def command(tool: str, folder: Path) -> list[str]:
    """A contestant's whole process on a workload."""
    paths = [str(folder / "qrels"), *map(str, generate.run_files(folder))]
    if tool == "floor":
        return [str(floor()), *paths, str(THREADS)]
    return [PYTHON, str(HERE / "rivals.py"), tool, *paths]


def check(work: str, folder: Path, peers: Sequence[str], settings: Settings) -> None:
    """Compare the means of all contestants with ours, under the tie rule that each of them follows."""
    ours = {}
    for peer in peers:
        settings.log(f"{work}: does {peer} agree?")
        rule = "cranfield_as_trec9" if peer in ("pytrec_eval", "ir_measures") else "cranfield"
        if rule not in ours:
            ours[rule] = rounds.answer(command(rule, folder))["means"]
        theirs = rounds.answer(command(peer, folder))["means"]
        theirs = theirs if isinstance(theirs, list) else [theirs]
        require_agreement(work, peer, agreement.by_run(ours[rule]), agreement.by_run(theirs), settings)


def require_agreement(
    work: str,
    peer: str,
    ours: agreement.Values,
    theirs: agreement.Values,
    settings: Settings,
    tolerance: float = agreement.TOLERANCE,
) -> None:
    """Raise if a peer's values differ from ours for no known reason; log known differences."""
    unexplained, explained = agreement.differences(peer, ours, theirs, tolerance)
    if unexplained:
        raise agreement.Disagreement(work, unexplained)
    for line in explained:
        settings.log(f"{work}: {line}")


def whole_process(work: str, what: str, peers: Sequence[str], least: float, settings: Settings) -> Iterator[Row]:
    """Files to six means; the target is ``least`` times as fast as pytrec_eval."""
    folder, peers = settings.folder(work), settings.peers(*peers)
    check(work, folder, peers, settings)
    settings.log(f"{work}: {', '.join(['cranfield', *peers])}")
    times = rounds.in_turns({tool: command(tool, folder) for tool in ("cranfield", *peers)}, settings.repeat)
    ours = times["cranfield"]
    yield Row(what, "cranfield", ours.median, "")
    for tool in peers:
        ratio = rounds.ratio(times[tool].seconds, ours.seconds)
        target = f"{least:g}x" if tool == "pytrec_eval" else ""
        yield Row(what, tool, times[tool].median, f"{ratio:.1f}x ours", target, ratio >= least if target else None)


def over_floor(work: str, settings: Settings) -> Iterator[Row]:
    """Our time over the least that the job can cost, and our memory."""
    folder = settings.folder(work)
    commands: dict[str, Sequence[str]] = {"numpy": NUMPY, "cranfield": command("cranfield", folder)}
    if floor():
        check(work, folder, ["floor"], settings)
        commands["floor"] = command("floor", folder)
    settings.log(f"{work}: {', '.join(commands)}")
    times = rounds.in_turns(commands, settings.repeat + 2)
    start, ours = times["numpy"], times["cranfield"]
    net = [a - b for a, b in zip(ours.seconds, start.seconds, strict=False)]
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
    """The small collection, for the time that a process needs to start."""
    peers = ("pytrec_eval", "ir_measures", "ranx")
    yield from whole_process("S", "S: file, whole process", peers, 1.2, settings)
    if floor():
        check("S", settings.folder("S"), ["floor"], settings)


def medium(settings: Settings) -> Iterator[Row]:
    """The medium collection: against other tools, and against the floor."""
    peers = ("pytrec_eval", "ir_measures", "ranx")
    yield from whole_process("M", "M: file, whole process", peers, 20, settings)
    yield from over_floor("M", settings)


def large(settings: Settings) -> Iterator[Row]:
    """Many runs of one collection."""
    runs = len(generate.run_files(settings.folder("L")))
    yield from whole_process("L", f"L: {runs} files, whole process", ("pytrec_eval", "ir_measures"), 14, settings)


def lines(path: Path) -> int:
    """The number of lines of a file."""
    with path.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 22), b""))


def huge(settings: Settings) -> Iterator[Row]:
    """Ten times the lines should take ten times the time."""
    yield from over_floor("XL", settings)
    folders = {name: settings.folder(name) for name in ("M", "XL")}
    settings.log("XL: per line, beside M")
    commands = {"numpy": NUMPY, **{name: command("cranfield", folder) for name, folder in folders.items()}}
    times = rounds.in_turns(commands, settings.repeat)
    size = {name: lines(folder / "run") for name, folder in folders.items()}
    rate = {
        name: [(t - n) / size[name] for t, n in zip(times[name].seconds, times["numpy"].seconds, strict=False)]
        for name in folders
    }
    ratio = rounds.ratio(rate["XL"], rate["M"])
    # The same command varies by five per cent from one time to the next.
    yield Row("XL: per line, over M's", "cranfield", times["XL"].median, f"{ratio:.2f}x M", "1x (±5 %)", ratio <= 1.05)
    yield from trec_eval_command("XL", settings)


def dicts(settings: Settings) -> Iterator[Row]:
    """Rankings in memory, as nested dicts."""
    folder = settings.folder("M")
    tools = ["cranfield", *settings.peers("pytrec_eval", "ir_measures")]
    settings.log(f"M as dicts: {', '.join(tools)}")
    arguments = ["dicts", str(settings.repeat), ",".join(tools), str(folder / "qrels"), str(folder / "run")]
    result = rounds.answer([PYTHON, str(HERE / "rivals.py"), *arguments])
    means, seconds = result["means"], result["seconds"]
    # Scores that are equal only in 32 bits are rare in M, and change no mean by more than the tolerance.
    for tool in tools[1:]:
        require_agreement("M as dicts", tool, {"run": means["cranfield"]}, {"run": means[tool]}, settings)
    work, ours = "M: dicts in memory", seconds["cranfield"]
    yield Row(work, "cranfield", statistics.median(ours), "")
    for tool in tools[1:]:
        ratio = rounds.ratio(seconds[tool], ours)
        target = "20x" if tool == "pytrec_eval" else ""
        met = ratio >= 20 if target else None
        yield Row(work, tool, statistics.median(seconds[tool]), f"{ratio:.1f}x ours", target, met)


def sizes(settings: Settings) -> Iterator[grid.Cell]:
    """Runs of all sizes beside pytrec_eval."""
    if not settings.peers("pytrec_eval"):
        settings.log("grid: pytrec_eval is not installed")
        return
    small = grid.SMALL[:2] if settings.quick else grid.SMALL
    less: dict[str, Sequence[int]] = {"queries": (1, 8), "documents": (10, 100)} if settings.quick else {}
    for cell in chain(grid.small_calls(settings.repeat, small), grid.cells(settings.repeat, **less)):
        settings.log(f"grid: {cell.name}: {cell.ratio:.3g}x")
        yield cell


def judged_documents(settings: Settings) -> Iterator[Row]:
    """Few and many judged documents, sorted and shuffled, beside pytrec_eval."""
    if not settings.peers("pytrec_eval"):
        settings.log("judged: pytrec_eval is not installed")
        return
    queries, documents = (20, 400) if settings.quick else (2000, 1000)
    for case in judged.cases(settings.repeat, queries, documents, list(JUDGED_TARGETS)):
        least = JUDGED_TARGETS[case.judged]
        ratio = rounds.ratio(case.pytrec_eval, case.ours)
        work = f"dicts {queries:,} x {documents:,}, {case.judged} judged, {case.order}"
        contestant = "cranfield, judgments ready" if case.ready else "cranfield, judgments read too"
        settings.log(f"{work}, {contestant}: {ratio:.3g}x")
        yield Row(
            work,
            contestant,
            statistics.median(case.ours),
            f"pytrec_eval {ratio:.1f}x ours",
            f"{least}x" if case.ready else "",
            ratio >= least if case.ready else None,
        )


def trec_eval(settings: Settings) -> Iterator[Row]:
    """`cranfield trec_eval` on the medium collection."""
    yield from trec_eval_command("M", settings)


def trec_eval_command(work: str, settings: Settings) -> Iterator[Row]:
    """``cranfield trec_eval`` beside ``cranfield eval``: the same measures of the same files."""
    folder = settings.folder(work)
    files = [str(folder / "qrels"), str(folder / "run")]
    # It prints P_10 for what is asked for as P.10.
    asked = [re.sub(r"_(\d+)$", r".\1", name) for name in PYTREC_NAMES.values()]
    commands = {
        "cranfield eval": [*program(), "eval", *files, *(f"-m{name}" for name in OURS)],
        "cranfield trec_eval": [*program(), "trec_eval", *(f"-m{name}" for name in asked), *files],
    }
    settings.log(f"{work}: {', '.join(commands)}")
    (values,) = rounds.answer([*commands["cranfield eval"], "--format", "json"])["runs"].values()
    printed = dict(line.split()[::2] for line in rounds.run(commands["cranfield trec_eval"]).splitlines())
    require_agreement(
        work,
        "cranfield trec_eval",
        {"run": {name: values[name]["mean"] for name in OURS}},
        {"run": {name: float(printed[PYTREC_NAMES[name]]) for name in OURS}},
        settings,
        tolerance=0.51e-4,  # it prints four decimals
    )
    times = rounds.in_turns(commands, settings.repeat)
    ours, other = times["cranfield eval"], times["cranfield trec_eval"]
    ratio = rounds.ratio(other.seconds, ours.seconds)
    what = f"{work}: trec_eval's command"
    yield Row(what, "cranfield eval", ours.median, "")
    yield Row(what, "cranfield trec_eval", other.median, f"{ratio:.2f}x eval", "at most 1.2x", ratio <= 1.2)


def track(settings: Settings) -> Iterator[Row]:
    """All runs of a TREC track through the commands that analyse them."""
    folder = settings.folder("track")
    runs = generate.run_files(folder)
    files = [str(folder / "qrels"), *map(str, runs)]
    with tempfile.TemporaryDirectory() as written:
        commands = {
            "eval": [*program(), "eval", *files],
            "compare -m AP": [*program(), "compare", *files, "-m", "AP"],
            "audit": [*program(), "audit", *files],
            "audit -m 'AP nDCG@10 RR RBP'": [*program(), "audit", *files, "-m", "AP nDCG@10 RR RBP"],
            "report": [*program(), "report", *files, "-o", str(Path(written) / "report.html")],
        }
        settings.log(f"track: {', '.join(commands)}")
        times = rounds.in_turns(commands, settings.repeat)
    work, seconds = f"track: {len(runs)} runs, whole process", times["eval"].median
    yield Row(work, "cranfield eval", seconds, "", f"{TRACK_SECONDS} s", seconds <= TRACK_SECONDS)
    for name, most in TRACK_TARGETS.items():
        ratio = rounds.ratio(times[name].seconds, times["eval"].seconds)
        compared = f"{ratio:.1f}x eval"
        yield Row(work, f"cranfield {name}", times[name].median, compared, f"at most {most}x", ratio <= most)


def start(settings: Settings) -> Iterator[Row]:
    """From nothing to the first score, as a user at a terminal sees it."""
    folder = settings.folder("one")
    commands: dict[str, Sequence[str]] = {
        "numpy": NUMPY,
        "cranfield": [*program(), "eval", str(folder / "qrels"), str(folder / "run"), "-m", "AP"],
        **{tool: command(tool, folder) for tool in settings.peers("pytrec_eval")},
    }
    settings.log(f"start: {', '.join(commands)}")
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
    settings.log("T: every measure, tie-aware and tie-broken")
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
    settings.log(f"power: {systems} systems, {topics} topics, {b} resamplings")
    sizes = map(str, (settings.repeat, systems, topics, b))
    found = rounds.answer([PYTHON, str(HERE / "power.py"), *sizes])
    for name, apart in found["apart"].items():
        if apart > 1e-9:
            work = "power"
            raise agreement.Disagreement(work, [f"{name} has other results than ours, by {apart:.2g}"])
    what = f"power: bootstrap test of {found['pairs']} pairs, B = {b:,}"
    ours = found["seconds"].pop("cranfield")
    yield Row(what, "cranfield", statistics.median(ours), "")
    for name, seconds in found["seconds"].items():
        ratio = rounds.ratio(seconds, ours)
        target = "50x" if name == "draw by draw" else ""
        met = ratio >= 50 if target else None
        yield Row(what, f"loop, {name}", statistics.median(seconds), f"{ratio:.0f}x ours", target, met)


def designs(settings: Settings) -> Iterator[Row]:
    """Comparisons with clusters and with repeats, beside the same comparisons without them."""
    settings.log("designs: clusters and repeats")
    size = "quick" if settings.quick else "full"
    found = rounds.answer([PYTHON, str(HERE / "designs.py"), str(settings.repeat), size])
    for work, seconds in found.items():
        plain = seconds["without"]
        yield Row(f"designs: {work}", "without a design", statistics.median(plain), "")
        for name, most in (("clusters", 1.5), ("repeats", 3)):
            if name in seconds:
                ratio = rounds.ratio(seconds[name], plain)
                median, shown = statistics.median(seconds[name]), f"{ratio:.2f}x without"
                yield Row(f"designs: {work}", name, median, shown, f"at most {most}x", ratio <= most)


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
    settings.log(f"corpus: {', '.join(commands)}")
    times, answers = rounds.in_turns(commands, 1), {}
    for tool, found in times.items():
        answers[tool] = json.loads(found.printed)["answer"]
    if len({tuple(answer.items()) for answer in answers.values()}) > 1:
        work = "corpus"
        raise agreement.Disagreement(work, [str(answers)])
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
    settings.log("content: measures that read documents")
    size = "quick" if settings.quick else "full"
    found = rounds.answer([PYTHON, str(HERE / "content.py"), str(settings.repeat), size])
    ours, theirs = ({"run": means} for means in found["means"])
    require_agreement("content", "dense", ours, theirs, settings)
    many, seconds = found["rankings"], statistics.median(found["ours"])
    ratio = many * statistics.median(found["dense"]) / seconds
    what = f"content: {many:,} rankings of 20 documents, four measures"
    yield Row(what, "cranfield", seconds, "")
    yield Row(what, "dense NumPy", None, f"{ratio:.0f}x ours, from one ranking", "50x", ratio >= 50)


CONTESTS: dict[str, Callable[[Settings], Iterator[Row | grid.Cell]]] = {
    "grid": sizes,
    "judged": judged_documents,
    "S": small,
    "M": medium,
    "L": large,
    "dicts": dicts,
    "trec_eval": trec_eval,
    "track": track,
    "start": start,
    "ties": ties,
    "power": power,
    "designs": designs,
    "corpus": corpus,
    "content": content,
    "XL": huge,
}
