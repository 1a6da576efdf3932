"""Words counted by the native core and in plain Python: the same of any bytes, however they are dealt out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.corpus.models import character_classes
from cranfield.native import plain as _words

_core = pytest.importorskip("cranfield.native._core", reason="the native core is not built")
if not hasattr(_core, "Words"):
    pytest.skip("the native core is of an older build", allow_module_level=True)

# Whole signs, halves of signs, overlong ones, surrogates, the last code point and what is beyond it.
PIECES = b"a B z Z 9 _ ' - \xc3\x84 \xc3 \xcc\x81 \xe0\xa4\xbf \xe0\x80\x80 \xe0\xa4 \xed\xa0\x80 \xed\x9f\xbf".split()
PIECES += b"\xf0\x90\x90\x80 \xf0\x80\x80\x80 \xf0\x90\x90 \xf4\x8f\xbf\xbf \xf4\x90\x80\x80 \xff \x80 \xc0\xaf".split()
PIECES += [b" ", b"\n", b"\0", "中".encode(), "\u200d".encode(), "\u3000".encode(), b"x" * 40]

texts = st.lists(st.lists(st.sampled_from(PIECES)).map(b"".join) | st.binary(max_size=8), max_size=6)


def packed(parts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.cumsum([0, *map(len, parts)], dtype=np.int64), np.frombuffer(b"".join(parts), np.uint8)


def same(native: dict, plain: dict) -> None:
    assert native.keys() == plain.keys()
    for name, column in plain.items():
        assert native[name].dtype == column.dtype
        assert native[name].tolist() == column.tolist()


def counts(words: object) -> tuple[list, bytes, list]:
    (offsets, data), count = words.columns()  # type: ignore[attr-defined]
    return offsets.tolist(), data.tobytes(), count.tolist()


@settings(deadline=None)
@given(st.lists(texts, max_size=3), st.sampled_from(["word", "space"]), st.booleans(), st.data())
def test_same_as_in_plain_python(batches: list[list[bytes]], split: str, lower: bool, data: st.DataObject) -> None:
    native, plain = (module.Words(character_classes(split), lower) for module in (_core, _words))
    for batch in batches:
        keep = np.array(sorted(data.draw(st.sets(st.integers(0, max(len(batch) - 1, 0))))), np.int64)
        keep = keep[keep < len(batch)]
        same(native.add(packed(batch), keep), plain.add(packed(batch), keep))
    assert counts(native) == counts(plain)


@settings(deadline=None)
@given(texts, texts)
def test_merged(first: list[bytes], second: list[bytes]) -> None:
    none = np.zeros(0, np.int64)
    made = []
    for module in (_core, _words):
        a, b = (module.Words(character_classes("word"), True) for _ in range(2))
        a.add(packed(first), none)
        b.add(packed(second), none)
        made.append((a.merge(b).tolist(), counts(a)))
    assert made[0] == made[1]


def test_not_with_themselves() -> None:
    words = _core.Words(character_classes("word"), True)
    with pytest.raises(ValueError, match="themselves"):
        words.merge(words)


def test_offsets_outside_of_the_data() -> None:
    words = _core.Words(character_classes("word"), True)
    with pytest.raises(ValueError, match="within"):
        words.add((np.array([0, 5]), np.zeros(3, np.uint8)), np.zeros(0, np.int64))
