"""What is loaded, and how."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

UNUSED = (
    *("concurrent.futures", "numpy.typing", "pathlib", "scipy", "threading", "urllib.parse"),
    *("cranfield.evaluation.days", "cranfield.io.records", "cranfield.io.side_tables", "cranfield.native.plain"),
)


def test_an_evaluation_of_files_does_not_load_what_it_does_not_use(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 0.5 x\n")
    code = f"""
import sys
import numpy
before = set(sys.modules)
import cranfield
assert cranfield.evaluate("qrels", "run", "AP").means["run"]["AP"] == 1
print([name for name in {UNUSED} if name in sys.modules.keys() - before])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_command_eval_loads_no_comparison(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 0.5 x\n")
    code = """
import sys
from cranfield.cli.main import cli
cli(["eval", "qrels", "run", "-m", "AP", "-o", "out"], standalone_mode=False)
unused = "cranfield.evaluation.designs", "cranfield.report.gates", "cranfield.report.canvas"
analysis = [name for name in sys.modules if name.startswith("cranfield.analysis.") and name != "cranfield.analysis.gates"]
print(analysis + [name for name in unused if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "AP" in (tmp_path / "out").read_text()
    assert done.stdout == "[]\n"
