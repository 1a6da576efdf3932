"""The native core against its oracle: whatever the bytes are, both must say the same of them."""

from __future__ import annotations

import contextlib
import io
import os
import random
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
import pytest
import scanners
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.native import plain as _plain

_core = pytest.importorskip("cranfield.native._core", reason="the native core is not built")

KEYS = ("score", "score32", "rank")
TRIALS = int(os.environ.get("CRANFIELD_TRIALS", "400"))


# ---- comparing


def same(native: dict[str, Any], plain: dict[str, Any]) -> None:
    assert native.keys() == plain.keys()
    for name, value in plain.items():
        mine = native[name]
        if name in ("hits", "tops"):
            for one, other in zip(mine, value, strict=True):
                same(one, other)
        elif isinstance(value, tuple):
            for a, b in zip(mine, value, strict=True):
                assert a.dtype == b.dtype, name
                np.testing.assert_array_equal(a, b, err_msg=name)
        elif isinstance(value, np.ndarray):
            assert mine.dtype == value.dtype, name
            np.testing.assert_array_equal(mine, value, err_msg=name)
        else:
            assert mine == value, name


@contextlib.contextmanager
def blocks(size: int, threads: int):
    names = {"CRANFIELD_BLOCK": str(size), "CRANFIELD_THREADS": str(threads)}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Dribble(io.RawIOBase):
    """Gives its bytes in pieces of odd sizes, as a pipe may."""

    def __init__(self, data: bytes, seed: int) -> None:
        self.data, self.random = memoryview(data), random.Random(seed)

    def readinto(self, buffer: Any) -> int:
        n = min(len(buffer), len(self.data), self.random.choice([1, 2, 3, 7, 64, 1000, 1 << 20]))
        buffer[:n], self.data = self.data[:n], self.data[n:]
        return n


def in_a_file(data: bytes) -> int:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return os.dup(file.fileno())


def wanted(rng: random.Random) -> tuple[list[str], bool, int]:
    """Keys, by_id and top of a join."""
    return rng.sample(KEYS, rng.choice([1, 1, 2, 3])), rng.random() < 0.5, rng.choice([0, 0, 1, 2, 5, 1000])


def column(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return _plain._pack(texts)


def indices(judged: dict[bytes, list[bytes]]) -> tuple[Any, Any]:
    begin = np.concatenate([[0], np.cumsum([len(documents) for documents in judged.values()])]).astype(np.int64)
    columns = column(list(judged)), begin, column([text for documents in judged.values() for text in documents])
    return _core.Index(*columns), _plain.Index(*columns)


# ---- making and breaking files

QUERIES = [b"1", b"2", b"10", b"q", b"a-longer-query-id", b"\xc3\xa9", b"\xff\xfe"]
DOCUMENTS = [b"d%d" % i for i in range(24)] + b"D d FBIS3-1 clueweb09-en0000-00-00001 clueweb09-en0000-00-00002".split()
DOCUMENTS += [b"\xe2\x82\xac", b"\x80", b"x" * 70]
SCORES = b"1 2 1.0 0.5 -0.0 0 3.25 16777217 16777216 1e400 -1e400 1e-400 +1 .5 5. 1e5 1E+2 inf -Infinity".split()
SCORES += b"9007199254740993 0.1 0.10000000000000001 12345678.87654321 123456789.1 1.123456789 -12.5".split()
SCORES += [b"4.9e-324", b"2.4e-324", b"1" + b"0" * 400, b"0" * 30 + b"1"]
BAD = b"nan NaN -nan x 1_0 0x1p3 1e e5 . + --1 1.2.3 infx nan(1) \xd9\xa1 ~".split()
SPACES = [b" ", b"\t", b"  ", b" \t ", b"\x0b", b"\x01", b"\x1f"]
ENDS = [b"\n", b"\r\n", b" \n", b"\n\n", b"\n# a comment\n", b"\n \t\n"]


def number(rng: random.Random) -> bytes:
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(SCORES[:8])
    if kind < 0.8:
        return b"%.*f" % (rng.randrange(0, 12), rng.uniform(-100, 100))
    if kind < 0.9:
        return repr(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-320, 308)).encode()
    return rng.choice(SCORES)


def run_file(rng: random.Random, bad: float = 0.0) -> bytes:
    lines = []
    tidy = rng.random() < 0.5
    descending = rng.random() < 0.5
    for query in rng.sample(QUERIES, rng.randrange(0, len(QUERIES))):
        scores = [number(rng) for _ in range(rng.randrange(0, len(DOCUMENTS)))]
        if descending:
            scores.sort(key=float, reverse=True)
        documents = rng.choices(DOCUMENTS, k=len(scores)) if rng.random() < bad else rng.sample(DOCUMENTS, len(scores))
        for rank, (document, score) in enumerate(zip(documents, scores, strict=True)):
            columns = [query, b"Q0", document, b"%d" % rng.choice([rank, rank, 3]), score, rng.choice([b"t", b"tag"])]
            if rng.random() < bad / 10:
                columns[rng.choice([3, 4, 4])] = rng.choice(BAD)
            if rng.random() < bad / 20:
                columns = columns[: rng.randrange(1, 6)] if rng.random() < 0.5 else [*columns, b"more"]
            space = b" " if tidy else rng.choice(SPACES)
            lines.append(space.join(columns) + (b"\n" if tidy else rng.choice(ENDS)))
    if rng.random() < 0.3:
        rng.shuffle(lines)
    elif rng.random() < 0.3 and lines:
        cut = rng.randrange(len(lines))
        lines = lines[cut:] + lines[:cut]
    data = b"".join(lines)
    if rng.random() < 0.1:
        data = b"\xef\xbb\xbf" + data
    if rng.random() < 0.3:
        data = data.rstrip(b"\n")
    return data


def qrels_file(rng: random.Random, bad: float = 0.0) -> bytes:
    lines = []
    for query in rng.choices(QUERIES, k=rng.randrange(0, 8)):
        for document in rng.choices(DOCUMENTS, k=rng.randrange(0, 12)):
            grade = rng.choice([b"0", b"1", b"1.0", b"+1", b"2", b"-1", b"0.5", number(rng)])
            columns = [
                query,
                rng.choice([b"0", b"1", b"Q0"]),
                document,
                grade if rng.random() > bad / 10 else rng.choice(BAD),
            ]
            lines.append(rng.choice(SPACES).join(columns) + rng.choice(ENDS))
    return b"".join(lines)


def mutated(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(0, 4)):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(5):
            case 0:
                changed[at:at] = bytes([rng.choice([0, 9, 10, 13, 32, 35, 46, 48, 101, 128, 255])])
            case 1:
                del changed[at : at + rng.choice([1, 1, 5, 40])]
            case 2:
                changed[at:at] = rng.choice([b"\n", b" ", b"#", b"\r\n", b"\xef\xbb\xbf", b"nan", b"z" * 100])
            case 3:
                other = rng.randrange(len(changed) + 1)
                changed[at:at] = changed[other : other + rng.choice([10, 50, 200])]
            case 4:
                if at < len(changed):
                    changed[at] = rng.randrange(256)
    return bytes(changed)


def judgments(rng: random.Random) -> dict[bytes, list[bytes]]:
    return {
        query: rng.sample(DOCUMENTS, rng.randrange(0, len(DOCUMENTS)))
        for query in rng.sample(QUERIES, rng.randrange(0, 6))
    }


def openers(rng: random.Random, data: bytes) -> Any:
    return rng.choice([lambda: in_a_file(data), lambda: io.BytesIO(data), lambda: Dribble(data, 1)])


# ---- the joins


@pytest.mark.parametrize("seed", range(8))
def test_join_text(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(TRIALS):
        data = run_file(rng, rng.choice([0, 0, 0, 0.3]))
        if rng.random() < 0.4:
            data = mutated(rng, data)
        native, plain = indices(judgments(rng))
        settings = wanted(rng)
        with blocks(rng.choice([1, 16, 64, 300, 1 << 20]), rng.choice([1, 2, 3])):
            result = _core.join_text(openers(rng, data), native, *settings)
        same(result, _plain.join_text(lambda: io.BytesIO(data), plain, *settings))  # noqa: B023


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([*b"ab 1.\n\t\r#-e", 0, 255]), max_size=120).map(bytes),
    st.sampled_from([1, 8, 64]),
    st.permutations(KEYS).flatmap(lambda keys: st.integers(1, 3).map(lambda n: keys[:n])),
    st.integers(0, 3),
)
def test_join_text_of_any_bytes(data: bytes, block: int, keys: list[str], top: int) -> None:
    native, plain = indices({b"a": [b"a", b"b"], b"b": [b"1"]})
    with blocks(block, 2):
        result = _core.join_text(lambda: io.BytesIO(data), native, keys, True, top)
    same(result, _plain.join_text(lambda: io.BytesIO(data), plain, keys, True, top))


@pytest.mark.parametrize("length", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, (1 << 20) + 70_000])
@pytest.mark.parametrize("nul", [None, 100, (1 << 20) - 1, 1 << 20])
@pytest.mark.parametrize("before", [b"", b"1 Q0 d1 1 2 t\n1 Q0 d2 2 1\n"])
@pytest.mark.parametrize("ended", [True, False])
def test_lines_too_long_or_binary(length: int, nul: int | None, before: bytes, ended: bool) -> None:
    line = bytearray(b"1 Q0 d9 1 1 " + b"t" * (length - 12))
    if nul is not None and nul < length:
        line[nul] = 0
    data = before + bytes(line) + (b"\n1 Q0 d9 2 2 t\n1 bad\n" if ended else b"")
    native, plain = indices({b"1": [b"d1", b"d9"]})
    for block in (1000, 1 << 20, 3 << 20):
        with blocks(block, 2):
            same(
                _core.join_text(lambda: io.BytesIO(data), native, ["score"], False, 0),
                _plain.join_text(lambda: io.BytesIO(data), plain, ["score"], False, 0),
            )


@pytest.mark.parametrize("seed", range(4))
def test_join_table(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(TRIALS):
        n = rng.randrange(0, 60)
        rows = [(rng.choice(QUERIES), rng.choice(DOCUMENTS)) for _ in range(n)]
        if rng.random() < 0.8:
            rows = list(dict.fromkeys(rows))
        if rng.random() < 0.5:
            rows.sort()
        score = np.array([float(number(rng)) for _ in rows])
        rank = np.array([float(rng.randrange(0, 20)) for _ in rows]) if rng.random() < 0.7 else None
        for values in (score, rank):
            if values is not None and len(values) and rng.random() < 0.1:
                values[rng.randrange(len(values))] = np.nan
        columns = column([row[0] for row in rows]), column([row[1] for row in rows]), score, rank
        native, plain = indices(judgments(rng))
        settings = wanted(rng)
        same(_core.join_table(*columns, native, *settings), _plain.join_table(*columns, plain, *settings))


class Text(str):
    pass


class Ranking(dict):  # type: ignore[type-arg]
    pass


def value(rng: random.Random, bad: float) -> Any:
    if rng.random() < bad:
        return rng.choice([None, "1", b"1", np.nan, float("nan"), [], 1j, 10**400, np.str_("2"), object])
    x = float(number(rng))
    kind = rng.choice([float, float, float, float, np.float64, np.float32, int, bool])
    with np.errstate(over="ignore"):
        return kind(x) if np.isfinite(x) or kind not in (int, bool) else x


def name(rng: random.Random, text: bytes, bad: float) -> Any:
    if rng.random() < bad:
        return rng.choice([1, None, b"d1", "\ud800", ("d1",), "\udc80\ud8ff"])
    decoded = text.decode("utf-8", "surrogateescape")
    return Text(decoded) if rng.random() < 0.02 else decoded


@pytest.mark.parametrize("seed", range(4))
def test_join_dict(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(TRIALS):
        bad = rng.choice([0, 0, 0.05])
        mapping = {}
        for query in rng.sample(QUERIES, rng.randrange(0, len(QUERIES))):
            documents = rng.sample(DOCUMENTS, rng.randrange(0, len(DOCUMENTS)))
            scores = [value(rng, bad) for _ in documents]
            if rng.random() < 0.3:
                scores = [float(rng.randrange(3)) for _ in documents]
            if bad == 0 and rng.random() < 0.5:
                scores.sort(key=float, reverse=True)
            ranking = rng.choice([dict, dict, Ranking])(
                (name(rng, document, bad), score) for document, score in zip(documents, scores, strict=True)
            )
            mapping[name(rng, query, bad / 2)] = ranking
        native, plain = indices(judgments(rng))
        settings = wanted(rng)
        same(_core.join_dict(mapping, native, *settings), _plain.join_dict(mapping, plain, *settings))


@pytest.mark.parametrize(
    "settings", [(["score"], False, 0), (["score32"], True, 0), (["rank"], True, 7), (list(KEYS), True, 30)]
)
@pytest.mark.parametrize("odd", [None, 7, 10**400, np.float32(0.5), float("nan"), "\ud800", "\u20ac", ("d",), "tied"])
def test_join_dict_of_rankings_that_threads_share(odd: Any, settings: Any) -> None:
    rng = random.Random(1)
    mapping: dict[Any, Any] = {}
    judged = {}
    for q in range(24):
        documents = [b"document-%d" % d for d in rng.sample(range(100_000), 600)]
        scores = [rng.uniform(0, 10) for _ in documents]
        if q % 3:
            scores.sort(reverse=True)
        mapping[str(q)] = {d.decode(): s for d, s in zip(documents, scores, strict=True)}
        judged[b"%d" % q] = [*rng.sample(documents, rng.choice([0, 1, 5, 16, 17, 40])), b"nowhere"]
        if q in (3, 4, 11) and odd is not None:
            ranking, middle = mapping[str(q)], documents[300].decode()
            if odd == "tied":
                ranking.update({d.decode(): ranking[middle] for d in documents[290:310]})
                judged[b"%d" % q] = documents[295:300]
            elif isinstance(odd, str | tuple):
                ranking[odd] = 1.0
            else:
                ranking[middle] = odd
    mapping["not judged"] = dict(mapping["0"])
    native, plain = indices(judged)
    for threads in (1, 2, 3):
        with blocks(1 << 20, threads):
            same(_core.join_dict(mapping, native, *settings), _plain.join_dict(mapping, plain, *settings))


def spread(rng: random.Random, kind: str) -> float:
    """A score, of a system whose scores are far from evenly spread."""
    x = rng.random()
    match kind:
        case "even":
            return x
        case "around zero":
            return rng.gauss(0, 1)
        case "exponential":
            return 10.0 ** rng.uniform(-300, 300)
        case "outliers":
            return 1e300 * x if x < 0.01 else 1 + 1e-9 * x
        case "infinite":
            return rng.choice([x, x, x, float("inf"), float("-inf")])
        case "subnormal":
            return rng.randrange(500) * 5e-324
        case "tied":
            return float(rng.randrange(40))
        case _:
            return rng.choice([0.0, -0.0, x, -x])


@pytest.mark.parametrize(
    "kind", ["even", "around zero", "exponential", "outliers", "infinite", "subnormal", "tied", "two zeros"]
)
def test_scores_of_any_distribution(kind: str) -> None:
    rng = random.Random(1)
    for n in (10, 23, 24, 25, 64, 500, 3000):
        documents = [b"%d" % d for d in rng.sample(range(10 * n), n)]
        score = [spread(rng, kind) for _ in documents]
        rank = np.array([rng.randrange(n) for _ in documents], np.float64)
        ranking = {document.decode(): x for document, x in zip(documents, score, strict=True)}
        columns = column([b"q"] * n), column(documents), np.array(score), rank
        for judged in (0, 1, 8, 9, n // 3, n):
            native, plain = indices({b"q": rng.sample(documents, min(judged, n))})
            settings = KEYS, True, rng.choice([0, 1, 10, n // 2, n])
            same(_core.join_dict({"q": ranking}, native, *settings), _plain.join_dict({"q": ranking}, plain, *settings))
            same(_core.join_table(*columns, native, *settings), _plain.join_table(*columns, plain, *settings))


def test_join_dict_while_a_score_changes_another_ranking() -> None:
    class Meddler:
        def __float__(self) -> float:
            mapping["2"].clear()
            return 1.0

    mapping: dict[str, Any] = {"1": {"a": Meddler()}, "2": {"a": 2.0, "b": 1.0}, "3": {"a": 1.0}}
    native, _ = indices({b"1": [b"a"], b"2": [b"a"], b"3": [b"a"]})
    # Rankings of plain numbers are read before any Python code runs.
    result = _core.join_dict(mapping, native, ["score"], False, 0)
    assert result["hits"][0]["query"].tolist() == [0, 1, 2]
    assert result["length"].tolist() == [1, 2, 1]
    assert mapping["2"] == {}


@pytest.mark.parametrize("top", [0, 5])
def test_join_dict_while_a_score_empties_its_own_ranking(top: int) -> None:
    class Meddler:
        def __float__(self) -> float:
            ranking.clear()
            return 1.0

    ranking: dict[str, Any] = {f"document {i}": 1.0 for i in range(100)}
    ranking["meddler"] = Meddler()
    descending = sorted(ranking, reverse=True)
    native, _ = indices({b"q": [b"document 7", b"meddler"]})
    result = _core.join_dict({"q": ranking}, native, ["score"], True, top)
    assert ranking == {}
    assert [result["hits"][0][name].tolist() for name in ("size", "by_input")] == [[101, 101], [7, 100]]
    assert result["hits"][0]["by_id"].tolist() == [descending.index("document 7"), 0]


# ---- the scans


def with_repeats(plain: dict[str, Any], kind: str) -> dict[str, Any]:
    """The oracle's columns, or the faults that repeated rows are: the oracle looks at lines one by one."""
    if plain["faults"]:
        return plain
    first: dict[Any, int] = {}
    queries, documents = list(_plain._unpack(plain["query"])), list(_plain._unpack(plain["document"]))
    faults = []
    for row, (q, document, line) in enumerate(zip(plain["query_of"], documents, plain["line"].tolist(), strict=True)):
        judgment = (q, document, plain["iteration_of"][row]) if kind == "conflict" else (q, document)
        earlier = first.setdefault(judgment, row)
        if earlier != row and (kind == "duplicate" or plain["grade"][earlier] != plain["grade"][row]):
            faults.append((line, kind, queries[q], document[:80], int(plain["line"][earlier])))
    return {"faults": faults[:20], "faults_total": len(faults)} if faults else plain


@pytest.mark.parametrize("seed", range(2))
def test_scan_nested(seed: int) -> None:
    rng = random.Random(seed)
    unusual = 0
    for _ in range(TRIALS):
        bad = rng.choice([0, 0, 0.05])
        grades = [0, 1, 2, -1, 0.5, 3.0, 2**60 + 1]
        odd = [True, np.int64(1), np.float64(2), None, "1", float("nan"), float("inf"), 10**400, {"1": 1}]
        mapping = rng.choice([dict, Ranking])()
        for query in rng.sample(QUERIES[: 6 + (bad > 0)], rng.randrange(0, 6)):
            documents = rng.sample(DOCUMENTS[:30], rng.randrange(0, 20))
            judged = rng.choice([dict, Ranking])(
                (name(rng, document, bad), rng.choice(odd if rng.random() < bad else grades)) for document in documents
            )
            mapping[name(rng, query, bad)] = None if rng.random() < bad / 4 else judged
        native, plain = _core.scan_nested(mapping), scanners.scan_nested(mapping)
        if plain is None:
            assert native is None
            unusual += 1
        else:
            same(native, plain)
    assert 0 < unusual < TRIALS
    assert _core.scan_nested([("q", {"d": 1})]) is None


def same_scan(native: dict[str, Any], plain: dict[str, Any], kind: str) -> None:
    if plain["faults"]:
        kept = [fault for fault in native["faults"] if fault[1] != kind]
        assert kept == plain["faults"][: len(kept)]
        assert native["faults_total"] >= plain["faults_total"]
        assert native.keys() == plain.keys()
    else:
        same(native, with_repeats(plain, kind))


@pytest.mark.parametrize("seed", range(4))
def test_scans(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(TRIALS):
        kind, make, native, plain = rng.choice(
            [
                ("conflict", qrels_file, _core.scan_qrels, _plain.scan_qrels),
                ("duplicate", run_file, _core.scan_run, _plain.scan_run),
            ]
        )
        data = make(rng, rng.choice([0, 0, 0.3]))
        if rng.random() < 0.4:
            data = mutated(rng, data)
        with blocks(rng.choice([1, 16, 64, 1 << 20]), 2):
            result = native(openers(rng, data))
        same_scan(result, plain(lambda: io.BytesIO(data)), kind)  # noqa: B023


@pytest.mark.parametrize("reader", [_core, _plain], ids=["native", "plain"])
def test_only_blanks_separate_columns(reader: Any) -> None:
    text = b"q\x01 0 d\x1b\x1f\x7f 1\nq\x01\t0\x0bd2\x0c1\r\n"
    found = reader.scan_qrels(lambda: io.BytesIO(text))
    assert found["query"][1].tobytes() == b"q\x01"
    assert found["document"][1].tobytes() == b"d\x1b\x1f\x7fd2"


@pytest.mark.parametrize("size", [1, 1 << 62, (1 << 64) - 1, 1 << 70])
def test_any_block_size_is_safe(size: int) -> None:
    code = (
        "import io, numpy, cranfield.native._core as core\n"
        "text = b'q1 0 d1 1\\n' * 5000\n"
        "assert len(core.scan_qrels(lambda: io.BytesIO(text))['line']) == 5000\n"
    )
    environment = os.environ | {"CRANFIELD_BLOCK": str(size)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=300)


@settings(max_examples=400, deadline=None)
@given(
    text=st.text(st.sampled_from('ab1.-e,,"\n\n\r\0 ü'), min_size=1, max_size=24),
    end=st.sampled_from(["\n", "\r\n"]),
    width=st.integers(0, 3),
    longest=st.sampled_from([5, 1000]),
)
def test_split_fields(text: str, end: str, width: int, longest: int) -> None:
    lines = text.replace("\n", end).encode()
    found, expected = (module.split_fields(lines, ",", width, longest) for module in (_core, scanners))
    if expected is None:
        assert found is None
        return
    for column, other in zip(found, expected, strict=True):
        assert [part.tolist() for part in column] == [part.tolist() for part in other]
        numbers, others = _core.parse_numbers(column), _plain.parse_numbers(other)
        assert (numbers is None) == (others is None)
        assert numbers is None or numbers.tobytes() == others.tobytes()


@pytest.mark.parametrize("text", ["1e5", "-.5", "1.", "inf", "NAN", "1e400", "1234567890123.25", "1_0", " 1", "", "e5"])
def test_parse_numbers_at_the_end_of_memory(text: str) -> None:
    column = (np.array([0, 1, 1 + len(text)]), np.frombuffer(b"7" + text.encode(), np.uint8))
    found, expected = _core.parse_numbers(column), _plain.parse_numbers(column)
    assert (found is None) == (expected is None)
    assert found is None or found.tobytes() == expected.tobytes()


PASSAGES = [
    ("d", 0, 9),
    ["e:1-2", 3, 3],
    ("é", 1, 10**11),
    ("d", 5, 6, 1.5),
    ("d", 5, 6, 2),
    ("d", 1, 2, float("nan")),
    ("d", 1, 2, True),
    ("d", True, 2),
    ("d", 1.0, 2),
    ("d", -1, 2),
    ("d", 3, 2),
    ("d", 0, 10**11 + 1),
    ("d", 0, 10**30),
    ("", 0, 1),
    (1, 0, 1),
    ("\udcff", 0, 1),
    ("d", 0),
    None,
    "d:0-1",
]


@pytest.mark.parametrize("seed", range(60))
def test_scan_passages(seed: int) -> None:
    rng = random.Random(seed)
    usual = PASSAGES[:3] if seed % 2 else PASSAGES[3:5]
    mapping: Any = {f"q{q}": [rng.choice(usual) for _ in range(rng.randint(0, 4))] for q in range(rng.randint(1, 4))}
    if seed % 3 == 0:
        mapping["odd"] = (rng.choice(usual), PASSAGES[seed // 3 % len(PASSAGES)])
    native, plain = _core.scan_passages(mapping), scanners.scan_passages(mapping)
    if not any(mapping.values()):  # the caller looks at these itself
        return
    assert (native is None) == (plain is None), mapping
    if native is None or plain is None:
        return
    same(native, plain)
    passages = [native[name] for name in ("name", "document", "start", "end")]
    for one, other in zip(_core.name_passages(*passages), _plain.name_passages(*passages), strict=True):
        assert one.tolist() == other.tolist()


def test_passages_without_a_name_are_refused() -> None:
    names, row = (np.array([0, 1]), np.frombuffer(b"d", np.uint8)), np.zeros(1, np.int64)
    with pytest.raises(IndexError):
        _core.name_passages(names, row + 1, row, row)
    with pytest.raises(ValueError, match="same length"):
        _core.name_passages(names, row, row, np.zeros(2, np.int64))
    assert _core.scan_passages([]) is None and scanners.scan_passages([]) is None
