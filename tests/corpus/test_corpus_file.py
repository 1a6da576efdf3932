"""A corpus in a file: what comes back is what was kept, and what is not what was asked for is refused with a reason."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus_samples import same
from cranfield.corpus import Corpus, Settings
from cranfield.corpus.corpus_file import KEY
from cranfield.errors import InputError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TEXTS = {"a": "one two two", "b": "", "c\udcff": "Three — Ünï"}


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        Corpus.load(path, **options)
    return error.value.message.replace(str(path.parent) + os.sep, "")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(
    st.dictionaries(st.text(max_size=3).filter(lambda t: t.isprintable()), st.text(max_size=20)), st.sets(st.text("ab"))
)
def test_round_trip(tmp_path: Path, texts: dict[str, str], wanted: set[str]) -> None:
    made = Corpus.of(texts, wanted | set(list(texts)[:2]), Settings(stop=frozenset(["a"])))
    made.save(tmp_path / "c.parquet")
    same(Corpus.load(tmp_path / "c.parquet"), made)


def test_ids_that_are_no_utf8_come_back(tmp_path: Path) -> None:
    made = Corpus.of(TEXTS, wanted=[*TEXTS, "gone"])
    made.save(tmp_path / "c.parquet")
    same(Corpus.load(tmp_path / "c.parquet", wanted=["a", "gone"], settings=Settings()), made)
    same(Corpus.open(tmp_path / "c.parquet"), made)
    assert Corpus.open(made) is made
    same(Corpus.open(TEXTS), Corpus.of(TEXTS))


def test_other_settings_and_other_documents(tmp_path: Path) -> None:
    Corpus.of(TEXTS, wanted=["a", "gone"]).save(tmp_path / "c.parquet")
    said = refused(tmp_path / "c.parquet", settings=Settings(lower=False, stop=frozenset("x")))
    assert said == (
        "c.parquet: the corpus was built with split=word, stemmer=none, stop=none, "
        "but the settings are split=word, stemmer=none, stop=1 words, case=kept"
    )
    said = refused(tmp_path / "c.parquet", wanted=["a", "b", *"defghi"])
    assert said == "c.parquet: the corpus was built without 7 of the needed documents: `b`, `d`, `e`, `f`, `g`, ..."


def test_a_source_that_changed(tmp_path: Path) -> None:
    source, kept = tmp_path / "c.tsv", tmp_path / "c.parquet"
    source.write_text("a\tone\n")
    made = Corpus.read(source)
    made.save(kept)
    same(Corpus.load(kept), made)
    os.utime(source, ns=(5, 5))
    assert refused(kept) == "c.parquet: c.tsv has changed since the corpus was built"
    same(Corpus.load(kept, trust=True), made)
    source.unlink()  # nothing to compare with, as on another machine
    same(Corpus.load(kept), made)


def test_a_folder_that_changed(tmp_path: Path) -> None:
    folder, kept = tmp_path / "texts", tmp_path / "c.parquet"
    folder.mkdir()
    (folder / "a.txt").write_text("one")
    Corpus.read(folder).save(kept)
    (folder / "b.txt").write_text("")
    assert refused(kept) == "c.parquet: texts has changed since the corpus was built"


def rewritten(path: Path, change: Any) -> None:
    table = pq.read_table(path)
    described = json.loads(table.schema.metadata[KEY])
    table = change(table, described) or table
    pq.write_table(table.replace_schema_metadata({KEY: json.dumps(described)}), path)


def test_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    assert refused(path) == "c.parquet: there is no such file"
    path.write_bytes(b"PAR1 but not really")
    assert refused(path) == "c.parquet: this is not a corpus, or it is damaged"
    pq.write_table(pa.table({"x": [1]}), path)
    assert refused(path) == "c.parquet: this file was not written by `cranfield corpus`"


def test_other_versions_and_damage(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    Corpus.of(TEXTS).save(path)
    rewritten(path, lambda table, described: described.pop("total") * 0 or None)
    assert refused(path) == "c.parquet: the corpus is damaged ('total')"
    Corpus.of(TEXTS).save(path)
    rewritten(path, lambda table, described: table.drop_columns(["count"]))
    assert refused(path).startswith("c.parquet: the corpus is damaged")
    Corpus.of(TEXTS).save(path)
    rewritten(path, lambda table, described: table.set_column(0, "terms", [[[b"x"]]]))
    assert refused(path) == "c.parquet: the corpus is damaged (the columns contradict each other)"
    Corpus.of(TEXTS).save(path)
    rewritten(path, lambda table, described: described["settings"].update(split="sentence"))
    assert refused(path) == "c.parquet: the corpus is damaged (split must be one of word, space; not 'sentence')"
    Corpus.of(TEXTS).save(path)
    rewritten(path, lambda table, described: described.update(version=99))
    assert refused(path) == "c.parquet: the corpus has version 99; this program reads version 1"


@pytest.mark.parametrize(
    "change",
    [
        lambda columns, described: described.update(total=1),
        lambda columns, described: described.update(size=1),
        lambda columns, described: columns.update(count=[-n for n in columns["count"]]),
        lambda columns, described: columns.update(frequency=[n - 1 for n in columns["frequency"]]),
        lambda columns, described: columns.update(documents=[columns["documents"][0]] * len(columns["documents"])),
    ],
)
def test_columns_that_cannot_be_true(tmp_path: Path, change: Callable[[dict, dict], None]) -> None:
    def edited(table: pa.Table, described: dict) -> pa.Table:
        columns = {name: table.column(name)[0].as_py() for name in table.column_names}
        change(columns, described)
        return pa.table({name: pa.array([values], table.field(name).type) for name, values in columns.items()})

    path = tmp_path / "c.parquet"
    Corpus.of(TEXTS).save(path)
    rewritten(path, edited)
    assert refused(path) == "c.parquet: the corpus is damaged (the columns contradict each other)"


def test_a_collection_with_repetitions_that_was_kept_whole(tmp_path: Path) -> None:
    """What is not among its documents is in none of them, and asking for it is no error."""
    (tmp_path / "c.tsv").write_text("a\tone\nb\ttwo\na\tone\n")
    Corpus.read(tmp_path / "c.tsv").save(tmp_path / "c.parquet")
    assert list(Corpus.load(tmp_path / "c.parquet", wanted=["a", "z"]).documents) == ["a", "b"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.data())
def test_damaged_bytes_are_refused_or_harmless(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "c.parquet"
    Corpus.of(TEXTS).save(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(1, len(content)))]))
    try:
        Corpus.load(path)
    except InputError as error:
        assert str(path) in str(error)


def test_killed_in_the_middle_nothing_is_left(tmp_path: Path) -> None:
    kept = tmp_path / "out" / "c.parquet"
    kept.parent.mkdir()
    (tmp_path / "q.txt").write_text("q 0 d1 1\n")
    before = Corpus.of(TEXTS)
    before.save(kept)
    command = [sys.executable, "-m", "cranfield", "corpus", "-", "--qrels", str(tmp_path / "q.txt"), "-o", str(kept)]
    for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdin is not None
            for _ in range(400):  # far more than a pipe holds: most of it has been read
                process.stdin.write(b"d1\tsome words\n" * 500)
            assert process.poll() is None
            process.send_signal(how)
            process.wait(20)
            process.stdin.close()
        assert os.listdir(kept.parent) == ["c.parquet"]
        same(Corpus.load(kept), before)
