"""`Collection.read`: a collection in a TOML file, and all faults of such a file."""

from __future__ import annotations

from pathlib import Path

import pytest

import cranfield as cf

RUN = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}


def write(folder: Path, text: str, **files: str) -> Path:
    """A collection file and the files that it names."""
    for name, content in files.items():
        (folder / f"{name}.txt").write_text(content)
    path = folder / "collection.toml"
    path.write_text(text)
    return path


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'qrels = "qrels.txt"\nnegative = "nonrel"\n', qrels="q 0 b 1\nq 0 a -1\n")
    collection = cf.Collection.read(path)
    assert collection.negative == "nonrel"
    assert collection.files == [str(tmp_path / "qrels.txt")]
    assert float(cf.evaluate(collection, RUN, "RR")) == 0.5


def test_a_path_is_read_as_judgments_are(tmp_path: Path) -> None:
    path = write(tmp_path, 'qrels = "qrels.txt"\n', qrels="q 0 b 1\n")
    assert float(cf.evaluate(path, RUN, "RR")) == 0.5
    assert cf.Evaluator(str(path), ["RR"]).means(RUN) == {"RR": 0.5}


@pytest.mark.parametrize(
    ("text", "content", "measure", "expected"),
    [
        ('judges = { x = "one.txt", y = "two.txt" }\n', {"one": "q 0 a 1\n", "two": "q 0 b 1\n"}, "RR", 0.75),
        ('groups = "one.txt"\n', {"one": "q g a 0\nq g b 1\nq h a 1\n"}, "RR[groups]", 0.75),
        ('prefs = "one.txt"\n', {"one": "q 1 1 b 2\nq 1 1 a 1\n"}, "Prefs", 0.0),
        ('spans = "one.txt"\ncover = 1.0\n', {"one": "query\tdocument\tstart\tend\nq\ta\t0\t10\n"}, "RR", 0.5),
        ('qrels = "one.txt"\nmap_documents = "two.txt"\n', {"one": "q 0 x 1\n", "two": "a y\nb x\nc x\n"}, "RR", 0.5),
    ],
)
def test_judgments_of_every_kind(
    tmp_path: Path, text: str, content: dict[str, str], measure: str, expected: float
) -> None:
    run: object = RUN
    if "spans" in text:
        run = {"q": [("a", 0, 9), ("a", 0, 10)]}
    path = write(tmp_path, text, **content)
    assert float(cf.evaluate(cf.Collection.read(path), run, measure)) == expected


def test_all_faults_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, 'qrel = "qrels.txt"\ncosts = "none"\nnil = 3\nqueries = "{collection}.csv"\n')
    with pytest.raises(cf.InputError) as caught:
        cf.Collection.read(path)
    assert list(caught.value.faults) == [
        f"{path}:1: unknown key `qrel`; did you mean `qrels`?",
        f"{path}:2: there is no file `none` in {tmp_path}",
        f"{path}:3: nil: expected text, found `3`",
        f"{path}:4: `{{collection}}` in `{{collection}}.csv` stands for nothing",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('nil = "NIL"\n', "the collection has no judgments; give qrels, prefs, groups, judges or spans"),
        ("", "the file is empty"),
        ('qrels = "qrels.txt"\nprefs = "qrels.txt"\n', "exclude each other"),
        ('qrels = "../qrels.txt"\n', "is outside the folder of the collection"),
    ],
)
def test_what_is_no_collection(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(cf.InputError, match=message):
        cf.Collection.read(write(tmp_path, text, qrels="q 0 a 1\n"))
