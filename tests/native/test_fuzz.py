"""A few seconds of seeded mutations of the core under the sanitizers; longer runs are in fuzz/README.md."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = os.environ.get("CRANFIELD_FUZZ_SECONDS", "4")
COMPILER = os.environ.get("CXX") or next(filter(shutil.which, ("g++", "clang++", "c++")), None)


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
