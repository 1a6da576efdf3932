"""`cranfield properties`: every format, the printed table, and measures from a file."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from study_samples import call

import cranfield as cf
from cranfield.lab.property_checks import PROPERTIES
from cranfield.lab.studies.properties import PRINTED
from cranfield.measures import CATALOGUE

PAGE = Path(__file__).parents[3] / "docs" / "studies" / "properties.md"


def test_a_table_with_counterexamples_below() -> None:
    result = call("properties", "P", "RR@5", "--documents", "4")
    assert result.exit_code == 0
    assert result.stdout.startswith("Properties on all rankings of 1 to 4 documents, each relevant or not relevant;\n")
    rows = [line.split() for line in result.stdout.splitlines() if re.fullmatch(r"\S+ +[YN–]( +[YN–])*", line)]
    assert [row[0] for row in rows] == list(PROPERTIES)
    assert ["top-weighted", "N", "N"] in rows
    below = result.stdout.partition("Smallest counterexamples; a bar marks the cutoff\n")[2]
    assert below.startswith("P@k\n  monotone      “1|0” scores 1.0000 at k = 1 but 0.5000 at k = 2\n")
    assert result.stderr == "note: RR@5: checked as RR@k, for every k\n"
    assert "\x1b" not in result.stdout


def test_many_measures_are_rows() -> None:
    result = call("properties", "AP nDCG P R RR HIT SP DCG SDCG RBP ERR Q", "--documents", "3")
    lines = result.stdout.splitlines()
    assert re.match(r"measure +bounded +monotone +convergent", next(line for line in lines if "bounded " in line))
    assert all(len(line) <= 80 for line in lines)


def test_answers_have_colours_on_a_screen_only() -> None:
    found = cf.lab.properties("P", documents=3)
    assert "\x1b[32mY\x1b[0m" in found.write(colour=True)
    assert "\x1b[31mN\x1b[0m" in found.write(colour=True)
    assert "\x1b" not in found.write()


def test_json_is_all_of_it() -> None:
    result = call("properties", "AP", "bpref", "--format", "json", "--documents", "3")
    assert json.loads(result.stdout) == cf.lab.properties(["AP", "bpref"], documents=3).to_dict()
    assert result.stderr == ""


def test_csv_has_the_answers_and_the_counterexamples() -> None:
    result = call("properties", "P AP[condensed]", "--format", "csv", "--documents", "4")
    rows = [row for row in csv.reader(io.StringIO(result.stdout)) if row and not row[0].startswith("#")]
    assert [row[0] for row in rows if len(row) == 1 + len(PROPERTIES)] == [
        "measure",
        "P@k",
        "measure",
        "AP@k[condensed]",
    ]
    answers = dict(zip(rows[0], rows[1], strict=True))
    assert answers["bounded"] == "Y" and answers["top-weighted"] == "N"
    assert ["P@k", "top-weighted", "“01” scores 0.5000 at k = 2, and “10” the same"] in rows
    assert {row[1] for row in rows if row[0] == "P@k" and len(row) == 3} == {n for n, a in answers.items() if a == "N"}


def test_markdown_and_latex() -> None:
    text = call("properties", "bpref_old", "--format", "markdown", "--documents", "4").stdout
    assert "| bpref\\_old |       Y |" in text
    assert (
        "| bpref\\_old | truncatable | the list that ends at “01\\|01” scores 0.0000, but 0.2500 if it goes on to"
        in re.sub(" +", " ", text)
    )
    text = call("properties", "bpref_old", "--format", "latex", "--documents", "4").stdout
    assert "bpref\\_old & Y & Y & N & N" in text
    assert "bpref\\_old & complete & “0” has no score at k = 1" in text


def test_table_2() -> None:
    result = call("properties", "--table", "2", "--documents", "4")
    assert result.exit_code == 0
    assert "91 of 91 answers match the paper\n" in result.stdout
    lines = result.stdout.splitlines()
    assert "RR@k            Y         Y        Nᵇ        Nᵇ        Yᶜ        Yᶜ         Y" in lines
    assert "f: the maximum is reached only if k ≥ R" in lines
    latex = call("properties", "--table", "2", "--documents", "3", "--format", "latex").stdout
    assert "Recall@k & Y & Y & Y & N & N & N & N$^f$ \\\\" in latex
    assert "- b: the score" in call("properties", "--table", "2", "--documents", "3", "--format", "markdown").stdout


def test_grades() -> None:
    result = call("properties", "nDCG[terminal]", "--grades", "0,0.5,1", "--documents", "3")
    assert "“1 |0.5” scores 1.0799 at k = 1, outside the bound 1.0000" in result.stdout


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    result = call("properties", "P", "--documents", "2", "-o", tmp_path / "out.txt")
    assert result.stdout == ""
    assert (tmp_path / "out.txt").read_text().startswith("Properties on ")


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not here")
def test_the_file_of_the_documentation(tmp_path: Path) -> None:
    text = re.search(r"```\{file\} my_measures.py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert text is not None
    path = tmp_path / "my_measures.py"
    path.write_text(text[1])
    known = list(CATALOGUE)
    for _ in range(2):  # a file can be read again: its measures leave with it
        result = call("properties", "--file", path, "--format", "json", "--documents", "5")
        found = {one["measure"]: one["verdicts"] for one in json.loads(result.stdout)["checked"]}
        holds = {name: "".join("NY"[v["holds"]] for v in seven.values()) for name, seven in found.items()}
        assert holds == {"Steps@k": "YNYYYYNYYY", "StepsFound@k": "YNNYYNYYYN"}
        assert list(CATALOGUE) == known
    beside = json.loads(call("properties", "--file", path, "Steps P", "--format", "json", "--documents", "3").stdout)
    assert [one["measure"] for one in beside["checked"]] == ["Steps@k", "P@k"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("def f(:\n", "own.py:1: SyntaxError: invalid syntax"),
        ("\nx = 1 / 0\n", "own.py:2: ZeroDivisionError: division by zero"),
        ("import nothing_of_that_name\n", "own.py:1: ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("raise SystemExit(3)\n", "own.py:1: SystemExit: 3"),
        ("x = 1\n", "own.py: defines no measure\n\nhint: a measure is a function under `@cf.measure`; "
                    "see the page on your own measures"),
        ("from cranfield.measures.catalogue import measure\n@measure('AP', cite='', formula='')\ndef f(b): return b.R\n",
         "own.py:2: ValueError: AP is in the catalogue already"),
        ("from cranfield.measures.catalogue import measure\n@measure('Own', cite='', formula='')\ndef f(b, *, k): return b.R\n",
         "own.py:2: f: the parameter `k` needs a type, as in `k: int = 10`"),
        ("from cranfield.measures.catalogue import measure\n@measure('Own', cite='', formula='')\ndef f(b): return b.r\n",
         "own.py:2: Own fails: AttributeError: 'Batch' object has no attribute 'r'"),
    ],
)  # fmt: skip
def test_faults_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(content)
    known = list(CATALOGUE)
    result = call("properties", "--file", "own.py")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"error: {message}\n")
    assert list(CATALOGUE) == known


def test_table_1() -> None:
    data = json.loads(call("properties", "--table", "1", "--format", "json").stdout)
    methods = data["methods"]
    # The values in sections 2 and 3 of the paper; 0.8855 is printed as 0.88.
    assert methods["SDCG@k"]["examples"]["11000"]["score"] == pytest.approx(0.55, abs=0.005)
    assert methods["SN-DCG@k"]["examples"]["10100"]["score"] == pytest.approx(0.92, abs=0.005)
    assert methods["SN-DCG@k"]["examples"]["10101"]["score"] == pytest.approx(1.89 / 2.13, abs=0.002)
    assert methods["DCG@k"]["examples"]["11000"]["score"] == pytest.approx(1.63, abs=0.005)
    assert all(example["denominator"] == pytest.approx(1) for example in methods["DCG@k"]["examples"].values())
    assert "any system, this query" in call("properties", "--table", "1").stdout
    assert call("properties", "--table", "1", "--properties", "bounded").exit_code == 2


def test_columns_and_classes_of_table_2() -> None:
    options = ("properties", "--table", "2", "--documents", "4", "--properties", "complete,realizable,localized")
    data = json.loads(call(*options, "--format", "json").stdout)
    assert data["columns"] == ["complete", "realizable", "localized"]
    assert data["answers"] == data["match"] == 39
    assert data["classes"][0] == ["Recall@k", "AP@k"]
    text = call(*options, "--classes").stdout
    assert "DCG@k, SP@k, Prec@k, SDCG@k, RBP@k" in text
    assert text.index("Recall@k, AP@k") < text.index("HIT@k, RR@k")
    rows = [line.split()[0] for line in call(*options).stdout.splitlines() if "@k" in line]
    assert rows[:2] == ["Recall@k", "AP@k"]
    assert len(rows) == 13


def test_the_order_of_the_paper_is_that_of_its_columns() -> None:
    rows = [
        line.split()[0]
        for line in call("properties", "--table", "2", "--documents", "4").stdout.splitlines()
        if "@k" in line
    ]
    assert rows == [f"{theirs}@k" for theirs, *_ in PRINTED]
    data = json.loads(call("properties", "--table", "2", "--documents", "4", "--format", "json").stdout)
    assert len(data["classes"]) == 10  # "thirteen metrics span ten different combinations of properties"
    assert data["match"] == 91


def test_columns_of_any_measures() -> None:
    options = ("properties", "AP", "nDCG", "P", "--documents", "4", "--properties", "top-weighted,complete")
    text = call(*options).stdout
    assert "realizable" not in text
    assert "AP@k, nDCG@k" in call(*options, "--classes").stdout
    assert call("properties", "AP", "--properties", "nice").exit_code == 2
    assert call("properties", "AP", "--properties", "bounded,bounded").exit_code == 2
    assert call("properties", "--table", "2", "--properties", "stable").exit_code == 2
