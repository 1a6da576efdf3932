"""Writes the fingerprint anew: ``python tests/fingerprint``. With words, prints the values behind cells of the table.

``python tests/fingerprint show "graded depth=3" expected AP`` prints the values of AP there by query; run it before and
after a change to see what a digest stands for.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import answers
import table_of_values as values
from doors import DOORS
from outputs_of_verbs import OUTPUTS, every, outputs, prepare


def show(title: str, ties: str, measure: str) -> None:
    part, _ = values.EVERY[title]
    found, _ = values.ask("file", part, ties, [measure])
    for name, of_name in found.items():
        print(name, "mean", values.text(of_name.mean))
        for query, value in of_name.queries.items():
            print(" ", query, values.text(value))


def write() -> None:
    values.TABLE.write_text(values.table(), encoding="utf-8")
    values.PLAIN_VALUES.write_text(values.plain_values(), encoding="utf-8")
    before = values.OF_DOORS.read_text(encoding="utf-8").splitlines() if values.OF_DOORS.exists() else []
    lines = []
    for door in list(DOORS)[1:]:  # the table is that of files
        asked = door != "spark" or os.environ.get("CRANFIELD_TEST_SPARK")
        lines += values.of_door(door) if asked else [line for line in before if line.startswith(f"{door} ")]
    values.OF_DOORS.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        found = outputs(Path(folder), every())
    OUTPUTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    answers.ANSWERS.write_text(json.dumps(answers.table(), indent=1) + "\n", encoding="utf-8")
    for path in (values.TABLE, values.PLAIN_VALUES, values.OF_DOORS, OUTPUTS, answers.ANSWERS):
        print(path)


if sys.argv[1:2] == ["show"]:
    show(*sys.argv[2:])
elif narrower := values.without_widest_instructions():
    sys.exit(subprocess.run([sys.executable, *sys.argv], env=narrower).returncode)
else:
    write()
