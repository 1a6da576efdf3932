"""The fuzzers, for a moment each, so that they do not fall behind the code; longer runs are in fuzz/README.md."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = os.environ.get("CRANFIELD_FUZZ_SECONDS", "4")
COMPILER = os.environ.get("CXX") or next(filter(shutil.which, ("g++", "clang++", "c++")), None)


sys.path.insert(0, str(ROOT / "fuzz"))
import forms  # noqa: E402
import readers  # noqa: E402


@pytest.mark.parametrize("reader", readers.READERS)
def test_readers_keep_their_promises(reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "FINDINGS", tmp_path)
    monkeypatch.setattr(readers.documents.TextReader, "block_bytes", readers.documents.TextReader.block_bytes)
    monkeypatch.setattr(readers.warc_format, "BLOCK_BYTES", readers.warc_format.BLOCK_BYTES)
    rng, seeds = random.Random(1), readers.seeds(reader)
    for seed in seeds:
        readers.test_one(reader, seed)
    for _ in range(20):
        readers.test_one(reader, readers.mutated(rng.choice(seeds), rng))


def test_all_forms_of_an_input_have_the_same_scores(tmp_path: Path) -> None:
    for number in range(2):
        rng = random.Random(number)
        run, grades = forms.random_input(rng)
        assert list(forms.differences(run, grades, forms.TIES[number], tmp_path)) == []


def build(folder: Path, sanitizer: str) -> Path:
    if COMPILER is None:
        pytest.skip("no C++ compiler to build the fuzzer with")
    program = folder / "core_fuzz"
    sources = [ROOT / "fuzz/core_fuzz.cpp", ROOT / "fuzz/mutate.cpp"]
    flags = [
        "-std=c++20",
        "-O0",  # a third of the time to compile
        f"-fsanitize={sanitizer}",
        "-fsanitize-coverage=trace-pc",
        "-fno-sanitize-recover=all",
        "-pthread",
    ]
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    made = subprocess.run(
        [*COMPILER.split(), *flags, *warnings, f"-I{ROOT / 'src/core'}", *sources, "-o", program],
        capture_output=True,
        text=True,
        check=False,
    )
    if "cannot find" in made.stderr and "san" in made.stderr:
        pytest.skip(f"the compiler has no {sanitizer} sanitizer")
    assert made.returncode == 0, made.stderr
    return program


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_mutations_find_nothing(sanitizer: str, tmp_path: Path) -> None:
    program = build(tmp_path, sanitizer)
    ran = subprocess.run(
        [program, "--seconds", SECONDS, "--seed", "1"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if "unexpected memory mapping" in ran.stderr:
        pytest.skip("this kernel's address randomisation is too wide for the thread sanitizer")
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert int(re.search(r"(\d+) blocks of code reached", ran.stdout)[1]) > 1000, ran.stdout
