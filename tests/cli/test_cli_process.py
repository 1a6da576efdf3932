"""The command as a process among others: pipes, terminals, signals, start-up."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_samples import BM25, LLM, QRELS

from waiting import has_loaded, needs_proc, threads, until

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


def test_streams_are_apart(shell: Shell) -> None:
    done = shell(f"cranfield eval {QRELS} {LLM} -m AP")
    assert done.returncode == 0
    assert done.stdout.startswith("run")
    assert all(line.startswith("note: ") for line in done.stderr.splitlines())


@pytest.fixture
def long_qrels(tmp_path: Path) -> Path:
    """Enough queries for a table that no pipe holds."""
    (tmp_path / "long.txt").write_text("".join(f"q{i} 0 d 1\n" for i in range(20000)))
    (tmp_path / "long.run").write_text("".join(f"q{i} Q0 d 1 1 t\n" for i in range(20000)))
    return tmp_path


@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_a_broken_pipe_is_no_error(shell: Shell, long_qrels: Path, format: str) -> None:
    done = shell(f"cranfield eval long.txt long.run -m AP -q --format {format} 2>err | head -c 20; cat err >&2")
    assert len(done.stdout) == 20
    assert "rror" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_broken_pipe_ends_as_it_does_in_other_programs(shell: Shell, long_qrels: Path, unbuffered: str) -> None:
    line = "cranfield eval long.txt long.run -m AP -q | head -1 >head; echo ${PIPESTATUS[0]}"
    done = shell(line, PYTHONUNBUFFERED=unbuffered)
    assert (done.stdout, done.stderr) == ("141\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_told(shell: Shell, unbuffered: str) -> None:
    done = shell(f"cranfield eval {QRELS} {LLM} -m AP >/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (1, "error: standard output: no space left on device\n")


def test_a_closed_output_is_told(shell: Shell) -> None:
    done = shell(f"cranfield eval {QRELS} {LLM} -m AP >&-")
    assert (done.returncode, done.stderr) == (1, "error: standard output is closed\n")


def heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # which whoever runs the tests may have had ignored


def test_an_interrupt_is_quiet(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "cranfield", "eval", QRELS, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_interrupts,
    )
    assert process.stdin is not None
    process.stdin.write(
        b"q1 Q0 d1 1 1.0 t\n" * 20_000
    )  # more than a pipe holds: it has begun to read, and waits for more
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err.strip()) == (130, b"", b"")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("verb", ["simulate", "convert"])
def test_nothing_half_written_stays_behind(tmp_path: Path, verb: str, number: int, code: int) -> None:
    """A folder and a file, each ended while its draft stands beside the place."""
    target = tmp_path / "out" / {"simulate": "lab", "convert": "run.csv.xz"}[verb]
    target.parent.mkdir()
    args = [str(target), "--documents", "60000", "--words", "100"]
    if verb == "convert":
        (tmp_path / "in.run").write_text("".join(f"q{i % 50} Q0 d{i * i} {i} {i / 7} t\n" for i in range(200_000)))
        args = [str(tmp_path / "in.run"), str(target), "--kind", "run"]
    command = [sys.executable, "-m", "cranfield", verb, *args]

    def heard() -> None:
        signal.signal(number, signal.SIG_DFL)  # which whoever runs the tests may have had ignored

    with subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=heard) as process:
        until(lambda: process.poll() is not None or any(target.parent.iterdir()), "the draft is begun")
        process.send_signal(number)
        assert process.stderr is not None
        assert process.stderr.read().strip() == b""
    assert process.returncode == code
    assert list(target.parent.iterdir()) == []


@needs_proc
def test_an_interrupt_does_not_wait_for_threads(tmp_path: Path) -> None:
    """The comparison in the background would take minutes."""
    runs = []
    for r in range(12):
        runs.append(tmp_path / f"{r}.run")
        runs[-1].write_text(
            "".join(f"q{q} Q0 d{d} {d} {hash((r, q, d)) % 997} t\n" for q in range(60) for d in range(9))
        )
    qrels = tmp_path / "qrels"
    qrels.write_text("".join(f"q{q} 0 d{d} {d % 2}\n" for q in range(60) for d in range(9)))
    command = [sys.executable, "-m", "cranfield", "report", str(qrels), *map(str, runs), "--samples", "10000000"]
    output = tmp_path / "report.html"
    with subprocess.Popen([*command, "-o", str(output)], stderr=subprocess.PIPE, preexec_fn=heed_interrupts) as process:

        def comparing() -> bool:
            assert process.poll() is None
            others = threads(process.pid)
            state, _ = others.pop(process.pid)
            return state == "S" and any(taken > 1 for _, taken in others.values())

        until(comparing, "the main thread waits for one that compares the runs")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert not output.exists()


@needs_proc
@pytest.mark.parametrize("work", [0, 0.02, 0.05, 0.1, 0.2])
def test_an_interrupt_while_modules_load_shows_no_traceback(work: float) -> None:
    """After some seconds of work, which are the same modules on every machine, or when it waits for its input."""
    command = [sys.executable, "-m", "cranfield", "eval", "-", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed_interrupts
    ) as process:
        # Before NumPy is loaded, an interrupt ends Python itself.
        until(lambda: has_loaded(process.pid, "numpy"), "NumPy is loaded")
        begun = threads(process.pid)[process.pid][1]

        def worked() -> bool:
            state, taken = threads(process.pid)[process.pid]
            return taken - begun >= work or state == "S"

        until(worked, f"{work} s of work")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert err.strip() == b""
    assert process.returncode in (130, -signal.SIGINT)


@pytest.mark.parametrize("then", ["signal.pause()", "raise ValueError"])
def test_a_signal_within_an_import_waits_for_its_end(tmp_path: Path, then: str) -> None:
    """An exception there could leave the lock of imports with this thread, and all others would wait for ever."""
    (tmp_path / "slow.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nprint('imported')\n")
    program = f"""
import signal
from cranfield.cli import main
with main.exit_on_signals():
    import slow
    {then}
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (143, "imported\n", "")


def on_terminal(*args: str, **environment: str) -> str:
    """What the command prints when its output is a terminal."""
    import os
    import pty

    ours, theirs = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")} | environment
    process = subprocess.Popen(
        [sys.executable, "-m", "cranfield", *args], stdout=theirs, stderr=subprocess.DEVNULL, env=env
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    assert process.wait(20) == 0
    return text.decode()


def test_a_terminal_gets_bold(shell: Shell) -> None:
    assert "\x1b[1m" in on_terminal("eval", QRELS, LLM, BM25, "-m", "AP", TERM="xterm")
    assert "\x1b" not in shell(f"cranfield eval {QRELS} {LLM} {BM25} -m AP", TERM="xterm").stdout


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_none_is_wanted(environment: dict[str, str]) -> None:
    assert "\x1b" not in on_terminal("eval", QRELS, LLM, BM25, "-m", "AP", **{"TERM": "xterm"} | environment)


@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_tables_fit_the_columns_there_are(shell: Shell, columns: str) -> None:
    done = shell(f"cranfield eval {QRELS} {LLM} {BM25} --interval t", COLUMNS=columns)
    assert max(map(len, done.stdout.splitlines())) <= int(columns)


def test_only_the_verb_asked_for_is_loaded() -> None:
    script = f"""
import sys
from cranfield.cli.main import cli
try:
    cli.main(["eval", {QRELS!r}, {BM25!r}, "-m", "AP", "-o", "/dev/null"], prog_name="cranfield")
except SystemExit as end:
    assert end.code == 0, end.code
loaded = set(sys.modules)
assert not {{"scipy", "rich.console", "rich.progress", "pandas", "pyarrow", "matplotlib"}} & loaded
assert not {{f"cranfield.cli.{{verb}}" for verb in ("catalogue", "files", "collections", "judging", "per_query", "demo", "hints")}} & loaded
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_measures_complete_by_the_tab_key(shell: Shell) -> None:
    done = shell(
        "cranfield --", _CRANFIELD_COMPLETE="bash_complete", COMP_WORDS=f"cranfield eval {QRELS} -m nD", COMP_CWORD="4"
    )
    assert done.stdout.split()[0] == "plain,nDCG"
    assert all(word.startswith("plain,nD") for word in done.stdout.split())
