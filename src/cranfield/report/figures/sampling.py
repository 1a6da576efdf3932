"""Agreement along the share of the judgments: a panel for each measure, a line for each way to do with fewer."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.report.figures.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, one_scale, panels, save
from cranfield.studies.coefficients import coefficient
from cranfield.studies.rivals import LISTS
from cranfield.studies.sampling import HIGH, Sampling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

READERS = (BLUE, ORANGE, PURPLE, SKY)


def figures(result: Sampling, folder: str) -> list[Path]:
    """Draws the figure into a folder."""
    return save(partial(draw, result), folder, "sampling")


def draw(result: Sampling) -> Figure:
    """All measures side by side, on one scale."""
    figure, axes = panels(len(result.truths), 3, 2.5)
    for t, axis in enumerate(axes):
        panel(result, t, axis)
    one_scale(figure, axes, 1.02, 4)
    return figure


def panel(result: Sampling, t: int, axis: Axes) -> Axes:
    """One measure's rivals, with bands from the 5th to the 95th percentile over repetitions."""
    rates = result.settings.rates
    middle, _, low, high = result.summary(result.agreement[t])
    for r, (rival, look) in enumerate(looks(result.rivals).items()):
        name = f"{rival} list" if rival in LISTS else rival
        axis.plot(rates, middle[r], label=name, markersize=2.5, **look)
        axis.fill_between(rates, low[r], high[r], color=look["color"], alpha=0.1, linewidth=0)
    axis.axhline(HIGH, color=GREY, linewidth=0.6, linestyle=":")
    axis.set_title(result.truths[t])
    axis.set_xlabel("judgments known (%)")
    axis.set_ylabel(f"{coefficient(result.settings.coefficient).sign} with the order under all")
    axis.set_xlim(0, 101)
    return axis


def looks(rivals: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Dashed lines for what needs judgments of the very documents retrieved, full ones for what reads."""
    found: dict[str, dict[str, Any]] = {
        LISTS[0]: {"color": BLACK, "linestyle": "--", "marker": "x"},
        LISTS[1]: {"color": GREEN, "linestyle": "--", "marker": "+"},
    }
    for rival, colour, marker in zip(rivals[len(LISTS) :], cycle(READERS), cycle("osD^"), strict=False):
        found[rival] = {"color": colour, "linestyle": "-", "marker": marker}
    return found
