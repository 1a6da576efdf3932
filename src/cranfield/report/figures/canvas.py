"""The common parts of all figures: colours, sizes, and files in three formats, each complete or not written at all."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.errors import optional
from cranfield.io.atomic_write import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers can distinguish; symbols also differ in shape or fill.
BLUE, ORANGE, GREEN, SKY, GREY, BLACK = "#0072B2", "#D55E00", "#009E73", "#56B4E9", "#999999", "#000000"
PURPLE = "#CC79A7"
COLUMN, PAGE = 3.35, 7.0  # inches: one column of a two-column paper, and both
LONGEST = 40  # characters of a name beside an axis
FORMATS: dict[str, dict[str, Any]] = {  # no date in any: the same result gives the same files
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {},
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


def require() -> None:
    """Raise if figures cannot be drawn; called before the work starts."""
    optional("matplotlib", "a figure", "plot")


@contextmanager
def styled() -> Iterator[None]:
    """A context in which figures have the same style, whatever the user's own settings are."""
    matplotlib = optional("matplotlib", "a figure", "plot")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def save(draw: Callable[[], Figure], folder: str, name: str) -> list[Path]:
    """Draw a figure and write it as PDF, SVG and PNG; returns the files written."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    with styled(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a name in a script that no installed font has
        figure = draw()
        _plainly(figure)
        for kind, metadata in FORMATS.items():
            path = place / f"{file_name(name)}.{kind}"
            with atomic_write(path) as beside:
                figure.savefig(beside, format=kind, dpi=300, metadata=metadata)
            written.append(path)
    return written


def _plainly(figure: Figure) -> None:
    """Replace bytes in names that are not text, and shorten long names."""
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator

    for axis in (one for axes in figure.axes for one in (axes.xaxis, axes.yaxis)):
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
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def file_name(text: str) -> str:
    """A file name that is valid on every file system.

    >>> file_name("stopping-runs/bm25 (2)")
    'stopping-runs_bm25_2'
    """
    return re.sub(r"[^\w.+-]+", "_", text).strip("_.") or "figure"


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
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=min(most, len(labels)), frameon=False)


def panels(count: int, across: int, height: float) -> tuple[Figure, list[Any]]:
    """A figure of ``count`` panels, ``across`` in a row; a single panel has the width of one column."""
    from matplotlib.figure import Figure

    across = min(across, count)
    down = -(-count // across)
    figure = Figure(figsize=(COLUMN if across == 1 else PAGE, down * height), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    for axis in axes[count:]:
        axis.set_axis_off()
    return figure, axes[:count]
