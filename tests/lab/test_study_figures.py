"""Figures of studies: whatever measures are called and however many they are, nothing runs out of the picture."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield import example
from cranfield.report import canvas

pytest.importorskip("matplotlib")

QRELS = example.path(example.QRELS)
RUNS = [example.path(name) for name in example.RUNS]
LONG = "nDCG(gain='exp', discount='jk')@10[ties=expected, condensed]"
FEW = ["AP", "RR"]
MANY = ["AP", "RR", "P@5", "bpref", "Q", "nDCG", "AP[condensed]", *(f"nDCG@{k}" for k in range(1, 14)), LONG]


def legends(measures: list[str]) -> list[Any]:
    from cranfield.lab.studies import power as powers
    from cranfield.lab.studies import reduction as reductions
    from cranfield.report.canvas import styled

    with styled():
        drawn = [
            reductions.draw(cf.lab.reduction(QRELS, RUNS, measures, rates=[50], repeats=1, samples=10)),
            powers.draw(cf.lab.power(QRELS, RUNS, measures, samples=10, trials=2), powers.draw_p_values),
        ]
        for figure in drawn:
            figure.draw_without_rendering()
    return drawn


@pytest.mark.parametrize("measures", [FEW, MANY], ids=["few", "many"])
def test_legends_stay_inside(measures: list[str]) -> None:
    for figure in legends(measures):
        (legend,) = figure.legends
        box, whole = legend.get_window_extent(), figure.bbox
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1
        assert whole.y0 <= box.y0 and box.y1 <= whole.y1
        assert len(legend.get_texts()) == len(measures)


@pytest.mark.parametrize(("measures", "numbers"), [(FEW, 4), (MANY, 0)], ids=["few", "many"])
def test_numbers_stand_where_there_is_room(measures: list[str], numbers: int) -> None:
    from cranfield.lab.studies.correlation import draw
    from cranfield.report.canvas import PAGE, styled

    with styled():
        figure = draw(cf.lab.correlation(QRELS, RUNS, measures))
        figure.draw_without_rendering()
    assert figure.get_figwidth() <= PAGE
    assert len(figure.axes[1].texts) == numbers
    names = [label.get_window_extent() for label in figure.axes[1].get_yticklabels()]
    assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(names))


def test_axes_by_powers_of_ten_have_plain_numbers(tmp_path: Path) -> None:
    """Markup is off, because a dollar sign may stand in a name."""
    result = cf.lab.ties(QRELS, RUNS, ["RR"])
    written = canvas.save(result.drawings()["ties-sizes"], str(tmp_path), "sizes")
    text = next(path for path in written if path.suffix == ".svg").read_text(encoding="utf-8")
    assert ">10</text>" in text
    assert "$" not in text


def test_variants_of_a_measure_share_a_colour_and_other_measures_do_not() -> None:
    from cranfield.lab.studies.reduction import line_styles

    styles = line_styles(("AP", "AP[condensed]", "nDCG(gain={1: 1, 2: 3})@5[ties=best]", "nDCG@5", "unknown measure"))
    colours = [style["color"] for style in styles.values()]
    assert colours[0] == colours[1] and len(set(colours)) == 4
    assert [style["linestyle"] for style in styles.values()] == [":", "-", "-", "-", "-"]
