"""One pass through a collection: blocks are read in one thread, and taken apart and counted in several."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any

from cranfield import core
from cranfield.corpus.counting import Part, Words
from cranfield.corpus.settings import Settings
from cranfield.errors import InputError
from cranfield.io.collection import readers
from cranfield.io.documents import Block, Choice, Faults, Reader, located

MOST = 8  # beyond these, reading is what takes the time, and each has a vocabulary of its own


def default_workers() -> int:
    """As many as there are cores, where counting leaves the interpreter's lock to others."""
    if not core.NATIVE:
        return 1
    wanted = os.environ.get("CRANFIELD_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(wanted) if wanted.isdigit() and int(wanted) else cores, MOST)


def read_parts(
    sources: Sequence[Any],
    wanted: Collection[str] | None,
    settings: Settings,
    choice: Choice,
    workers: int,
    progress: Callable[[int, int], None] | None,
) -> list[Part]:
    """What each block of the sources gave, in their order; an error with the faults of all of them."""
    idle: SimpleQueue[Words] = SimpleQueue()
    for _ in range(workers):
        idle.put(Words(settings))
    faults: list[str] = []
    total = 0
    parts: list[Part] = []
    stopped: InputError | None = None

    def work(words: Words, reader: Reader, block: Block) -> Part | Faults:
        try:
            documents = reader.parse(block)
            if documents.faults.total:
                return documents.faults
            return Part(words, words.count(documents, wanted), partial(located, reader))
        finally:
            idle.put(words)

    def settle(reader: Reader, future: Future[Part | Faults]) -> None:
        nonlocal total
        result = future.result()
        if isinstance(result, Part):
            parts.append(result)
        else:
            total += result.total
            faults.extend(f"{located(reader, line)}: {sentence}" for line, sentence in result.shown)

    pending: deque[tuple[Reader, Future[Part | Faults]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for reader, block, done, size in _blocks(sources, choice):
                pending.append((reader, pool.submit(work, idle.get(), reader, block)))
                while pending and pending[0][1].done():
                    settle(*pending.popleft())
                if progress:
                    progress(done, size)
        except InputError as error:
            stopped = error  # what was found before it comes first
        for reader, future in pending:
            settle(reader, future)
    if stopped is not None:
        if not faults:
            raise stopped
        raise InputError([*faults, *stopped.faults][: InputError.SHOWN], total=total + stopped.total)
    if faults:
        raise InputError(faults[: InputError.SHOWN], total=total)
    return parts


def _blocks(sources: Sequence[Any], choice: Choice) -> Iterator[tuple[Reader, Block, int, int]]:
    """Each block with its reader, and how many bytes of how many are read by now."""
    found = [reader for source in sources for reader in readers(source, choice)]
    size, before = sum(reader.bytes for reader in found), 0
    for reader in found:
        for block in reader.blocks():
            yield reader, block, before + block.position, size
        before += reader.bytes
