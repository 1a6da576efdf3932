"""Ten measures by ten: the table of the paper on screens of any width, and whole in documents."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cranfield.lab.studies.correlation import Correlation, CorrelationResult
from cranfield.lab.study import JK_NDCG, SAKAI

MEASURES = SAKAI.measures
SIZE = len(MEASURES)
MATRIX = np.fromfunction(lambda i, j: np.where(i == j, 1, 0.5 + i / 100 + j / 10000), (SIZE, SIZE))
RUNS = tuple(f"r{i}" for i in range(30))
RESULT = CorrelationResult(Correlation(), RUNS, MEASURES, 42, np.zeros((SIZE, 30)), MATRIX)


def blocks(width: int, measures: tuple[str, ...] = MEASURES) -> list[list[str]]:
    """The lines of each block of the table, without its title."""
    size = len(measures)
    result = CorrelationResult(Correlation(), RUNS, measures, 42, np.zeros((size, 30)), MATRIX[:size, :size])
    text = result.write("table", width=width)
    return [block.splitlines() for block in text[text.index("measure  ") :].strip("\n").split("\n\n")]


def read(lines: list[str]) -> tuple[list[str], list[str], list[list[float]]]:
    """The headings, the labels of rows with a label that continues on the next line, and the numbers."""
    labels: list[str] = []
    rows: list[list[float]] = []
    for line in lines[2:]:
        label, *numbers = re.split(r"  +", line.strip())
        if numbers:
            labels.append(label)
            rows.append([float(number) for number in numbers])
        else:
            labels[-1] += label
    return lines[0].split()[1:], labels, rows


def test_ten_measures_fit_120_columns_in_one_block() -> None:
    (lines,) = blocks(120)
    assert max(map(len, lines)) <= 120
    heads, labels, rows = read(lines)
    assert heads == [str(i) for i in range(1, 11)]
    assert labels == [f"{i} {measure}" for i, measure in enumerate(MEASURES, 1)]
    assert rows == MATRIX.round(4).tolist()
    assert len(lines) == 2 + SIZE + 1  # only the one name that is too long is folded


def test_ten_measures_are_whole_in_blocks_of_80_columns() -> None:
    parts = blocks(80)
    assert len(parts) == 2
    assert max(len(line) for lines in parts for line in lines) <= 80
    heads, labels, rows = zip(*map(read, parts), strict=True)
    assert [*heads[0], *heads[1]] == [str(i) for i in range(1, 11)]
    assert labels[0] == labels[1] == [f"{i} {measure}" for i, measure in enumerate(MEASURES, 1)]
    assert np.hstack(rows).tolist() == MATRIX.round(4).tolist()


def test_labels_are_folded_only_where_this_saves_a_block() -> None:
    (lines,) = blocks(140)
    assert f" 7 {JK_NDCG}[condensed]  " in lines[8] + "  "
    assert len(lines) == SIZE + 2


def test_short_names_stay_headings() -> None:
    (lines,) = blocks(80, ("AP", "nDCG@10", "RR"))
    assert lines[0].split() == ["measure", "AP", "nDCG@10", "RR"]


@pytest.mark.parametrize(("format", "separator"), [("markdown", " | "), ("latex", " & "), ("csv", ",")])
def test_documents_have_the_whole_table_with_all_names(format: str, separator: str) -> None:
    text = RESULT.write(format, width=80)
    rows = [line for line in text.splitlines() if line.count(separator) >= SIZE]
    if format == "markdown":
        rows = [row for row in rows if "---" not in row]
    assert len(rows) == 1 + SIZE
    assert rows[0].count("nDCG(discount='jk', base=2)@1000") == 2
    assert all(measure.replace("_", "\\_") in text or measure in text for measure in MEASURES)
