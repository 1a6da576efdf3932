"""A collection of generated documents, as JSON Lines: as long as passages, with words as frequent as words are.

The r-th most frequent of a million words has a share of about 1 / (r + 2.7) (Zipf's law, as Mandelbrot bent it).
Frequent words are short, one in twenty has a letter that is no ASCII, and sentences begin with a capital and end with a
full stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

VOCABULARY = 1_000_000
SENTENCE = 15  # words
LENGTHS = (2, 7)  # sentences of a document, the least and one more than the most
BATCH = 20_000  # documents made together
JUDGED = 5_000


def vocabulary(rng: np.random.Generator, size: int) -> list[bytes]:
    """Different words, the most frequent ones first."""
    letters = np.frombuffer(b"etaoinshrdlcumwfgypbvk", np.uint8)
    shares = 1 / np.arange(2, 24)
    length = np.clip(2 + np.log2(np.arange(1, size + 1)) / 3 + rng.normal(0, 1.5, size), 1, 14).astype(int)
    signs = letters[rng.choice(22, (size, 14), p=shares / shares.sum())]
    foreign = rng.random(size) < 0.05
    found = dict.fromkeys(
        signs[i, : length[i]].tobytes() + (b"\xc3\xa9" if foreign[i] else b"") + (b"%d" % i if i % 50 == 49 else b"")
        for i in range(size)
    )
    return list(found)


def documents(seed: int, size: int, words: int = VOCABULARY) -> Iterator[bytes]:
    """Lines of about ``size`` bytes in all, in pieces."""
    rng = np.random.default_rng(seed)
    known = vocabulary(rng, words)
    edges = np.cumsum(1 / (np.arange(len(known)) + 2.7))
    edges /= edges[-1]
    number = done = 0
    while done < size:
        sentences = rng.integers(*LENGTHS, BATCH)
        drawn = np.searchsorted(edges, rng.random(int(sentences.sum()) * SENTENCE))
        texts = [known[i] for i in drawn.tolist()]
        begin = 0
        lines = []
        for many in sentences.tolist():
            said = []
            for _ in range(many):
                said.append(b" ".join(texts[begin : begin + SENTENCE]).capitalize() + b".")
                begin += SENTENCE
            quoted = b' \\"' if number % 10 == 0 else b" "
            lines.append(b'{"_id": "%d", "title": "", "text": "%s", "metadata": {}}\n' % (number, quoted.join(said)))
            number += 1
            done += len(lines[-1])
            if done >= size:
                break
        yield b"".join(lines)


def write(folder: Path, seed: int, megabytes: int, words: int = VOCABULARY) -> None:
    """``corpus.jsonl``, and judgments of some of its documents."""
    lines = 0
    with (folder / "corpus.jsonl").open("wb") as file:
        for piece in documents(seed, megabytes * 1_000_000, words):
            file.write(piece)
            lines += piece.count(b"\n")
    judged = np.random.default_rng(seed).choice(lines, min(JUDGED, lines), replace=False)
    (folder / "qrels").write_text("".join(f"1 0 {name} 1\n" for name in np.sort(judged).tolist()))
