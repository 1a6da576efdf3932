"""The common parts of all figures: colours, sizes, and files in three formats, each complete or not written at all."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.data import Booleans, Floats
from cranfield.errors import optional
from cranfield.io.register import atomic_write, is_foreign
from cranfield.wording import decodable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers can distinguish; symbols also differ in shape or fill.
BLUE, ORANGE, GREEN, SKY, GREY, BLACK = "#0072B2", "#D55E00", "#009E73", "#56B4E9", "#999999", "#000000"
PURPLE = "#CC79A7"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK, GREY)
MARKERS = "osD^v<>hpd"
DIVERGING = (ORANGE, "#F7F7F7", BLUE)  # from worse to better, as in the HTML report
COLUMN, PAGE = 3.35, 7.0  # inches: one column of a two-column paper, and both
LONGEST = 40  # characters of a name beside an axis
SCREEN = 150  # dots per inch of a figure on a screen, where 7 points are otherwise too small
FORMATS: dict[str, dict[str, Any]] = {  # no date in any: the same result gives the same files
    "pdf": {"CreationDate": None, "Creator": "Cranfield"},
    "svg": {"Date": None, "Creator": "Cranfield"},
    "png": {"Software": "Cranfield"},
}
STYLE: dict[str, Any] = {
    "font.size": 7,
    "axes.titlesize": 8,
    "axes.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "legend.framealpha": 0.8,
    "legend.edgecolor": "none",
    "legend.handlelength": 1.4,
    "lines.linewidth": 1.0,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "cranfield",
    "text.parse_math": False,  # a dollar sign in a name is not markup
}

_on_screen: ContextVar[bool] = ContextVar("on_screen", default=False)
Drawings = dict[str, Callable[[], "Figure"]]  # the figures of a result by name, each with the function that draws it


def require() -> None:
    """Raise if figures cannot be drawn; called before the work starts."""
    optional("matplotlib", "a figure", "plot")


@contextmanager
def styled() -> Iterator[Any]:
    """A context in which figures have the same style, whatever the user's own settings are; yields Matplotlib.

    There is no warning for a name in a script that no installed font has.
    """
    matplotlib = optional("matplotlib", "a figure", "plot")
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield matplotlib


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches; `plotted` makes it one of pyplot, which notebooks show."""
    if _on_screen.get():
        from matplotlib import pyplot

        return pyplot.figure(figsize=(width, height), layout="constrained", dpi=SCREEN)
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@dataclass(frozen=True)
class Panel:
    """What is drawn on one pair of axes, and the size in inches of a figure that has only these."""

    draw: Callable[[Axes], Axes]
    width: float
    height: float

    def __call__(self) -> Figure:
        """A figure of this panel alone."""
        figure = new_figure(self.width, self.height)
        self.draw(figure.subplots())
        return figure

    def on(self, ax: Axes | None) -> Axes:
        """Draw on these axes, or else on those of a new figure for a notebook or a window; returns the axes."""
        require()
        return plotted(self).axes[0] if ax is None else self.draw(ax)


def plotted(draw: Callable[[], Figure]) -> Figure:
    """Draw a figure for a notebook or a window."""
    token = _on_screen.set(True)
    try:
        with styled() as matplotlib:
            figure = draw()
            _plainly(figure)
            figure.draw_without_rendering()  # ticks are made here, and have the sizes of this style
            interactive = matplotlib.is_interactive()
        # The first figure of a notebook makes it interactive; leaving the style must not undo that.
        matplotlib.interactive(interactive)
        return figure
    finally:
        _on_screen.reset(token)


def ink(axis: Axes) -> Any:
    """The colour of text beside these axes: black, or what the user's style says."""
    return axis.xaxis.label.get_color()


def name_rows(axis: Axes, names: Sequence[str], size: float | None = None) -> None:
    """Names at 0, 1, 2, ... of the vertical axis; a dollar sign in them is not markup."""
    style: dict[str, Any] = {} if size is None else {"fontsize": size}
    axis.set_yticks(range(len(names)), [decodable(name) for name in names], parse_math=False, **style)
    axis.set_ylim(-0.6, len(names) - 0.4)


def draw_intervals(
    axis: Axes, names: Sequence[str], values: Floats, low: Floats, high: Floats, decided: Booleans
) -> None:
    """Differences with their intervals, the first on top; blue and filled where ``decided``."""
    rows = zip(values[::-1], low[::-1], high[::-1], decided[::-1], strict=True)
    for row, (value, *ends, clear) in enumerate(rows):
        colour = BLUE if clear else GREY
        axis.plot(ends, [row, row], color=colour)
        axis.plot(value, row, "o", color=colour, markersize=3.5, fillstyle="full" if clear else "none")
    name_rows(axis, names[::-1])


# What a figure of Cranfield has in its file.
MARKS = {"pdf": b"/Creator (Cranfield)", "svg": b"<dc:title>Cranfield</dc:title>", "png": b"Software\0Cranfield"}


def foreign_figures(drawings: Drawings, folder: str) -> list[Path]:
    """The files that figures would replace and that Cranfield did not write."""
    files = [(Path(folder) / f"{file_name(name)}.{kind}", mark) for name in drawings for kind, mark in MARKS.items()]
    return [file for file, mark in files if is_foreign(file, mark)]


def save_all(drawings: Drawings, folder: str) -> list[Path]:
    """Write all figures of a result into a folder; returns the files written."""
    return [path for name, draw in drawings.items() for path in save(draw, folder, name)]


def save(draw: Callable[[], Figure], folder: str, name: str) -> list[Path]:
    """Draw a figure and write it as PDF, SVG and PNG; returns the files written."""
    directory = Path(folder)
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    with styled():
        figure = draw()
        _plainly(figure)
        for kind, metadata in FORMATS.items():
            path = directory / f"{file_name(name)}.{kind}"
            with atomic_write(path) as beside:
                figure.savefig(beside, format=kind, dpi=300, metadata=metadata)
            written.append(path)
    return written


def _plainly(figure: Figure) -> None:
    """Replace bytes in names that are not text, shorten long names, and write powers of ten without markup."""
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator, LogFormatter, LogFormatterMathtext

    for axis in (side for axes in figure.axes for side in (axes.xaxis, axes.yaxis)):
        # Markup is off for names: it would be drawn as it stands.
        if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
            axis.set_major_formatter(LogFormatter())
        if isinstance(axis.get_minor_formatter(), LogFormatterMathtext):
            axis.set_minor_formatter(LogFormatter())
        if isinstance(axis.get_major_locator(), FixedLocator):
            names = [label.get_text() for label in axis.get_ticklabels()]
            if (drawn := [plain(name) for name in names]) != names:
                axis.set_ticklabels(drawn)
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(plain(text.get_text(), 2 * LONGEST))


def plain(name: str, longest: int = LONGEST) -> str:
    r"""A name that can be drawn: valid text, not too long.

    >>> plain("caf\udcff"), plain("a" * 50)
    ('caf�', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…')
    """
    name = decodable(name)
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def file_name(text: str) -> str:
    """A file name that is valid on every file system.

    >>> file_name("stopping-runs/bm25 (2)")
    'stopping-runs_bm25_2'
    """
    return re.sub(r"[^\w.+-]+", "_", text).strip("_.") or "figure"


def styles(count: int) -> list[dict[str, Any]]:
    """Colours and markers of this many series; no two of up to 70 share both."""
    pairs = zip(range(count), cycle(COLOURS), cycle(MARKERS), strict=False)
    return [{"color": colour, "marker": marker} for _, colour, marker in pairs]


def across(names: Sequence[str], wide: float, most: int, size: float = 7) -> int:
    """How many names of a legend fit side by side below a figure; at least one.

    >>> across(["AP", "nDCG@10", "bpref"], COLUMN, 5), across(["nDCG(gain='exp')@10[condensed]"] * 9, PAGE, 5)
    (3, 3)
    """
    return max(1, min(most, len(names), int(wide / room(names, size))))


def room(names: Sequence[str], size: float = 7) -> float:
    """The width in inches of the longest name in a legend, with its symbol; a letter is at most 0.6 em wide."""
    return (0.6 * max(map(len, names)) + 5) * size / 72


def one_scale(figure: Figure, axes: Sequence[Axes], top: float, most: int) -> None:
    """Put panels of agreement on one scale, with one legend below them of at most ``most`` names per row."""
    low = min(axis.get_ylim()[0] for axis in axes)
    for axis in axes:
        axis.set_ylim(low, top)
    legend_below(figure, axes[0], most)


def panels(count: int, across: int, height: float) -> tuple[Figure, list[Any]]:
    """A figure of ``count`` panels, ``across`` in a row; a single panel has the width of one column."""
    across = min(across, count)
    down = -(-count // across)
    figure = new_figure(COLUMN if across == 1 else PAGE, down * height)
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    for axis in axes[count:]:
        axis.set_axis_off()
    return figure, axes[:count]


def each(items: Sequence[Any], across: int, height: float, draw: Callable[[Any, Axes], object]) -> Figure:
    """A figure with a panel for each item, drawn by a function."""
    figure, axes = panels(len(items), across, height)
    for item, axis in zip(items, axes, strict=True):
        draw(item, axis)
    return figure


def alone(draw: Callable[[Axes], object], height: float) -> Figure:
    """A figure of one panel and one column."""
    return each([draw], 1, height, lambda drawing, axis: drawing(axis))


def legend_below(figure: Figure, axis: Axes, across: int, **style: Any) -> None:
    """The names of what is drawn in a panel, at most ``across`` side by side below the figure."""
    lines, labels = axis.get_legend_handles_labels()
    columns = min(across, len(labels))
    figure.legend(lines, labels, loc="outside lower center", ncols=columns, frameon=False, **style)
