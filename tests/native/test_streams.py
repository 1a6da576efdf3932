"""What bytes come from: descriptors, pipes, Python objects; and what happens when they fail."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.native import plain as _plain
from waiting import unread, until

_core = pytest.importorskip("cranfield.native._core", reason="the native core is not built")


# Where a program that is begun here has this module and what it imports.
FOLDERS = [str(folder) for folder in Path(__file__).parents[:2]]


def empty_index() -> Any:
    nothing = _plain._pack([])
    return _core.Index(nothing, np.zeros(1, np.int64), nothing)


def join(opener: Any) -> dict[str, Any]:
    return _core.join_text(opener, empty_index(), ["score"], False, 0)


def run_text(queries: int, documents: int) -> bytes:
    return b"".join(b"%d Q0 d%d 1 %d t\n" % (q, d, documents - d) for q in range(queries) for d in range(documents))


def test_a_descriptor_is_closed() -> None:
    opened = []

    def opener() -> int:
        descriptor, end = os.pipe()
        os.write(end, b"1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n1 Q0 b 1 1 t\n")
        os.close(end)
        opened.append(descriptor)
        return descriptor

    assert join(opener)["lines"] == 3
    assert len(opened) == 2  # query 1 comes back, so the text is read again
    for descriptor in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_a_bad_descriptor_is_an_os_error() -> None:
    read, write = os.pipe()
    os.close(read)
    with pytest.raises(OSError, match="Bad file descriptor"):
        join(lambda: read)
    os.close(write)


def test_what_a_stream_raises_is_passed_on() -> None:
    class Broken(io.RawIOBase):
        def __init__(self) -> None:
            self.reads = 0

        def readinto(self, buffer: Any) -> int:
            self.reads += 1
            if self.reads == 3:
                raise ZeroDivisionError("as planned")
            text = run_text(1, 10)
            buffer[: len(text)] = text
            return len(text)

    with pytest.raises(ZeroDivisionError, match="as planned"):
        join(Broken)
    with pytest.raises(ZeroDivisionError, match="as planned"):
        _core.scan_run(Broken)
    with pytest.raises(AttributeError):
        join(lambda: object())


@pytest.mark.parametrize("count", [-1, 1 << 40, "many"])
def test_an_impossible_count_is_refused(count: Any) -> None:
    class Liar:
        def readinto(self, buffer: Any) -> Any:
            return count

    with pytest.raises((ValueError, TypeError)):
        join(Liar)


def test_a_stream_may_keep_the_view_it_was_given() -> None:
    kept = []

    class Keeper(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            kept.append(buffer)
            return super().readinto(buffer)

    data = run_text(50, 100)
    assert join(lambda: Keeper(data))["lines"] == 5000
    assert sum(len(view) for view in kept) > 0  # alive, whatever became of the reader


def test_a_slow_pipe() -> None:
    read, write = os.pipe()
    data = run_text(20, 50)

    def feed() -> None:
        for at in range(0, len(data), 777):
            os.write(write, data[at : at + 777])
        os.close(write)

    feeder = threading.Thread(target=feed)
    feeder.start()
    assert join(lambda: read)["lines"] == 1000
    feeder.join()


def test_a_silent_pipe_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    file = tmp_path / "run"
    file.write_bytes(run_text(300, 100))
    read, write = os.pipe()
    found = []
    waiting = threading.Thread(target=lambda: found.append(join(lambda: read)["lines"]))
    waiting.start()
    for _ in range(3):
        assert join(lambda: os.open(file, os.O_RDONLY))["lines"] == 30_000
        assert join(lambda: io.BytesIO(file.read_bytes()))["lines"] == 30_000
    assert not found
    os.write(write, run_text(1, 10))
    os.close(write)
    waiting.join()
    assert found == [10]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_child_of_a_fork_has_threads_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "run"
    file.write_bytes(run_text(300, 100))
    assert join(lambda: os.open(file, os.O_RDONLY))["lines"] == 30_000
    child = os.fork()
    if child == 0:
        signal.alarm(120)  # rather than wait for threads that are not there
        lines = [join(lambda: io.BytesIO(file.read_bytes()))["lines"] for _ in range(2)]
        os._exit(0 if lines == [30_000, 30_000] else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no such timer here")
def test_an_interrupt_ends_the_reading_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "run"
    file.write_bytes(b"#\n" * (32 << 20))

    def interrupt(*_: Any) -> None:
        raise TimeoutError("as planned")

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(TimeoutError, match="as planned"):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            join(lambda: os.open(file, os.O_RDONLY))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
@pytest.mark.parametrize("function", ["join", "core.scan_run"])
def test_an_interrupt_ends_a_silent_pipe(function: str) -> None:
    program = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background would ignore it
sys.path[:0] = {FOLDERS!r}
from test_streams import join, _core as core
try:
    {function}(lambda: 0)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    read, write = os.pipe()
    os.write(write, b"1 Q0 a 1 1 t\n")
    with subprocess.Popen([sys.executable, "-c", program], stdin=read, stdout=subprocess.PIPE, text=True) as child:
        until(lambda: child.poll() is not None or unread(read) == 0, "it has read the line, and waits for more")
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=120)
    assert out == "interrupted\n"
    os.close(read)
    os.close(write)


MEASURED = """
import os, resource, sys, threading
sys.path[:0] = {folders!r}
from test_streams import join
def grown(make):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read, write = os.pipe()
    def feed():
        try:
            for piece in make():
                os.write(write, piece)
        except BrokenPipeError:
            pass
        os.close(write)
    thread = threading.Thread(target=feed)
    thread.start()
    result = join(lambda: read)
    thread.join()
    return result, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
"""


def measured(program: str) -> str:
    code = MEASURED.format(folders=FOLDERS) + program
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    return ran.stdout


def test_memory_does_not_grow_with_the_file() -> None:
    pytest.importorskip("resource")
    program = """
query = [b"%d Q0 document-%d 1 %d t\\n" % (0, d, 9999 - d) for d in range(1000)]
text = b"".join(query)[1:]
def make():
    for q in range(8000):
        yield (b"\\n%d" % q) + text.replace(b"\\n0 ", b"\\n%d " % q)
result, mib = grown(make)
assert result["lines"] == 8_000_000, result
print(mib)
"""
    assert float(measured(program)) < 40


def test_a_line_without_end_stops_the_reading() -> None:
    pytest.importorskip("resource")
    program = """
piece = b"x" * (1 << 20)
result, mib = grown(lambda: (piece for _ in range(2048)))
assert [fault[1] for fault in result["faults"]] == ["long"], result
print(mib)
"""
    assert float(measured(program)) < 40


@pytest.mark.parametrize(
    ("queries", "begin", "documents"),
    [
        (([0, 5], b"abc"), [0, 0], ([0], b"")),
        (([0, -1, 3], b"abc"), [0, 0, 0], ([0], b"")),
        (([1, 0], b"abc"), [0, 0], ([0], b"")),
        (([0, 1], b"a"), [0, 2], ([0, 1], b"a")),
        (([0, 1], b"a"), [0], ([0], b"")),
        (([0, 1, 2], b"ab"), [0, 2, 1], ([0, 1], b"a")),
        (([0, 1, 2], b"aa"), [0, 0, 0], ([0], b"")),
        (([], b""), [0], ([0], b"")),
    ],
)
def test_an_impossible_index_is_refused(queries: Any, begin: Any, documents: Any) -> None:
    def column(offsets: Any, data: bytes) -> Any:
        return np.array(offsets, np.int64), np.frombuffer(data, np.uint8)

    with pytest.raises(ValueError, match=r"must|twice"):
        _core.Index(column(*queries), np.array(begin, np.int64), column(*documents))


def test_a_table_of_unequal_columns_is_refused() -> None:
    one, two = _plain._pack([b"a"]), _plain._pack([b"a", b"b"])
    for columns in [(one, two, np.ones(1), None), (one, one, np.ones(2), None), (one, one, np.ones(1), np.ones(2))]:
        with pytest.raises(ValueError, match="equally long"):
            _core.join_table(*columns, empty_index(), ["score"], False, 0)


@pytest.mark.parametrize("keys", [["relevance"], [], ["score", "score"], "score", [None]])
def test_impossible_keys_are_refused(keys: Any) -> None:
    with pytest.raises(ValueError, match="score32"):
        _core.join_text(lambda: io.BytesIO(), empty_index(), keys, False, 0)


def test_a_negative_top_is_refused() -> None:
    with pytest.raises(ValueError, match="top must not be negative"):
        _core.join_text(lambda: io.BytesIO(), empty_index(), ["score"], False, -1)
