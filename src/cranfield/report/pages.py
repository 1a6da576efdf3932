"""Results as titled tables, in several formats, for the terminal, Markdown, LaTeX, CSV and JSON; and web pages."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import chain, count
from typing import Any

from rich.cells import cell_len

from cranfield import __version__, codec
from cranfield.data import Floats
from cranfield.errors import UsageError
from cranfield.report.sheet import UNDEFINED, Cell, Row, Sheet, csv_lines, highest_text, shown
from cranfield.wording import printable

GAP = 2
PROSE = 100  # characters of a line of text, however wide the screen
LONGEST_LABEL = 30  # characters of the label of a table
INTERVAL = re.compile(r"\[[^\s\]]+, [^\s\]]+\]")
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
TONES = {"": "", "good": "\x1b[32m", "bad": "\x1b[31m"}


def render(sheet: Sheet, *, width: int = 80, colour: bool = False) -> str:
    """The sheet for a screen of this width; transposed or split into blocks of columns if it is too wide."""
    return "\n".join(draw(part, colour=colour) for part in arranged(sheet, width))


def draw(sheet: Sheet, *, colour: bool) -> str:
    """The sheet in lines: headings, a rule, rows; intervals are dimmed below their numbers."""
    needed = [wide - GAP for wide in widths(sheet)]
    left = len(sheet.names)

    def line(names: Sequence[str], texts: Sequence[str], styles: Sequence[str], named: str = "") -> str:
        spaces = [" " * (wide - cell_len(text)) for text, wide in zip([*names, *texts], needed, strict=True)]
        styled = [
            f"{style}{text}{PLAIN}" if style and text else text for text, style in zip(texts, styles, strict=True)
        ]
        heads = [f"{named}{name}{PLAIN}" if named and name else name for name in names]
        cells = [name + space for name, space in zip(heads, spaces[:left], strict=True)]
        cells += [space + text for space, text in zip(spaces[left:], styled, strict=True)]
        return (" " * GAP).join(cells).rstrip() + "\n"

    def lines() -> Iterator[str]:
        heads = [column.split("\n") for column in sheet.columns]
        height = max(map(len, heads), default=1)
        for level in range(-height, 0):
            names = [name if level == -1 else "" for name in sheet.names]
            texts = [head[level] if len(head) >= -level else "" for head in heads]
            bold = BOLD if colour else ""
            yield line(names, texts, [bold] * len(texts), bold)
        yield "─" * (sum(needed) + GAP * (len(needed) - 1)) + "\n"
        for row, numbers in zip(sheet.rows, _marked(sheet), strict=True):
            styles = [(BOLD if c.best else "") + TONES[c.tone] if colour else "" for c in row.cells]
            yield line(row.names, numbers, styles)
            below = [cell.aside.split("\n") for cell in row.cells]
            for level in range(max(map(len, below), default=0)):
                asides = [texts[level] if level < len(texts) else "" for texts in below]
                if any(asides):
                    yield line([""] * left, asides, [DIM if colour else ""] * len(asides))
            if sheet.ends(row):
                yield "\n"

    return "".join(lines())


def _marked(sheet: Sheet) -> list[list[str]]:
    """The numbers of each row with their marks; a column in which some have one keeps room for it."""
    marked = [any(row.cells[c].mark for row in sheet.rows) for c in range(len(sheet.columns))]
    return [
        [f"{cell.text} {cell.mark or ' '}" if room else cell.text for cell, room in zip(row.cells, marked, strict=True)]
        for row in sheet.rows
    ]


def arranged(sheet: Sheet, width: int) -> list[Sheet]:
    """The sheet in the first form with the fewest blocks: as it is, with folded headings, numbered, or transposed."""
    forms = [sheet, folded(sheet)]
    # A sheet whose rows have a run and a query cannot be transposed.
    if sheet.square:
        forms += [numbered(sheet), numbered(sheet, fold=True)]
    elif len(sheet.names) == 1:
        forms.append(sheet.transposed)
    return min((list(blocks(form, width)) for form in forms), key=len)


def folded(sheet: Sheet) -> Sheet:
    """The sheet with long headings in two lines: the measure, then its views."""
    folds = sheet.folded or tuple(name.replace("[", "\n[", 1) for name in sheet.columns)
    return replace(sheet, columns=folds)


def numbered(sheet: Sheet, *, fold: bool = False) -> Sheet:
    """A square sheet with numbers as headings; rows have the number and the name, a long one with its views below."""
    digits, blank = len(str(len(sheet.rows))), (Cell(""),) * len(sheet.columns)
    # Names without views cannot be folded: folding narrower than these saves nothing.
    longest = max((len(row.names[0].partition("[")[0]) for row in sheet.rows), default=0) if fold else math.inf

    def rows() -> Iterator[Row]:
        for i, row in enumerate(sheet.rows, 1):
            name = row.names[0]
            first = name if len(name) <= longest else name.partition("[")[0]
            yield replace(row, names=(f"{i:>{digits}} {first}",))
            if first != name:
                yield Row((" " * (digits + 1) + name.removeprefix(first),), blank)

    return replace(sheet, columns=tuple(map(str, range(1, len(sheet.columns) + 1))), rows=tuple(rows()), folded=())


def blocks(sheet: Sheet, width: int) -> Iterator[Sheet]:
    """The sheet split between columns so that each part fits; a column that is too wide gets its own part."""
    left, needed = len(sheet.names), widths(sheet)
    begin = end = 0
    while begin < len(sheet.columns):
        used = sum(needed[:left]) - GAP
        while end < len(sheet.columns):
            wide = sum(needed[left + end : left + end + sheet.together])
            if end > begin and used + wide > width:
                break
            used += wide
            end = min(end + sheet.together, len(sheet.columns))
        yield sheet.part(slice(begin, end))
        begin = end


def widths(sheet: Sheet) -> list[int]:
    """The width of each column, including the gap to the next."""
    names = [[head, *(row.names[i] for row in sheet.rows)] for i, head in enumerate(sheet.names)]
    texts = _marked(sheet)
    cells = [
        [*head.split("\n"), *(row[i] for row in texts), *(t for r in sheet.rows for t in r.cells[i].aside.split("\n"))]
        for i, head in enumerate(sheet.columns)
    ]
    return [max(map(cell_len, texts)) + GAP for texts in names + cells]


_MINUS = re.compile(r"(?<![\w.)\]])-(?=[\d.∞])")  # the sign of a number, not of an exponent or within a name
# What begins a tag, the address or the text of a link, or an entity.
_TAG_OR_LINK = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])[(\[:]|&(?=[#\w])")
_BLOCK = re.compile(r"^(\d*)([#>+=.)-])")

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"${sign}$" for sign in "<>|"},  # the default font encoding prints these as ¡, ¿ and —
    **{"▲": "$\\blacktriangle$", "▼": "$\\blacktriangledown$"},
    **{"–": "--", "τ": "$\\tau$", "ρ": "$\\rho$", "±": "$\\pm$", "∞": "$\\infty$"},
}


def piped(text: str) -> str:
    r"""Text escaped for Markdown, also inside a table.

    >>> piped("my_run|2")
    'my\\_run\\|2'
    """
    escaped = "".join(f"\\{sign}" if sign in "\\|*_`~" else sign for sign in printable(text))
    return _TAG_OR_LINK.sub(r"\\\g<0>", escaped)


def paragraph(text: str) -> str:
    r"""Text escaped for Markdown at the beginning of a line, where it is no heading and no item of a list.

    >>> paragraph("# run"), paragraph("1. run")
    ('\\# run', '1\\. run')
    """
    return _BLOCK.sub(r"\1\\\2", piped(text))


def escaped(text: str) -> str:
    r"""Text escaped for LaTeX.

    >>> escaped("50% of my_run")
    '50\\% of my\\_run'
    """
    return "".join(SPECIAL.get(sign, sign) for sign in printable(text))


def number(text: str) -> str:
    r"""The text of a cell escaped for LaTeX; a minus sign is not a hyphen.

    >>> number("[-0.0013, +2e-05]")
    '[$-$0.0013, +2e-05]'
    """
    return "$-$".join(map(escaped, _MINUS.split(text)))


def markdown(sheet: Sheet) -> str:
    """A pipe table, aligned so that its source is readable too."""
    head = [piped(name) for name in _heads(sheet)]
    body = [[*map(piped, row.names), *map(_starred, row.cells)] for row in sheet.rows]
    widths = [max(3, *(len(line[i]) for line in [head, *body])) for i in range(len(head))]
    left = len(sheet.names)
    rule = ["-" * w if i < left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]

    def joined(texts: Sequence[str]) -> str:
        cells = (t.ljust(w) if i < left else t.rjust(w) for i, (t, w) in enumerate(zip(texts, widths, strict=True)))
        return f"| {' | '.join(cells)} |\n"

    return "".join(map(joined, (head, rule, *body)))


def latex(sheet: Sheet, caption: str = "", label: str = "scores") -> str:
    """A tabular with the rules of the booktabs package, inside a table with a label if it has a caption."""
    lines = [
        f"\\begin{{tabular}}{{{'l' * len(sheet.names)}{'r' * len(sheet.columns)}}}",
        "\\toprule",
        _ampersands([escaped(name) for name in _heads(sheet)]),
        "\\midrule",
        *_rows(sheet),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    if caption:
        title = escaped(" ".join(caption.split()).rstrip("."))
        lines = [
            "\\begin{table}",
            "\\centering",
            f"\\caption{{{title}.}}",
            f"\\label{{tab:{label}}}",
            *lines,
            "\\end{table}",
        ]
    symbols = ",amssymb" if any("\\blacktriangle" in line for line in lines) else ""
    lines.insert(0, f"% \\usepackage{{booktabs{symbols}}}")
    return "\n".join(lines) + "\n"


def _heads(sheet: Sheet) -> list[str]:
    """The headings, each on one line."""
    return [" ".join(name.split()) for name in sheet.names + sheet.columns]


def _starred(cell: Cell) -> str:
    text = f"**{piped(cell.text)}**" if cell.best else piped(cell.text)
    text += f" {cell.mark}" if cell.mark else ""
    if cell.raised and cell.aside:
        return f"{text}<sup>{piped(cell.aside)}</sup>"
    return f"{text} {piped(cell.one_line_aside)}".rstrip()


def _rows(sheet: Sheet) -> Iterator[str]:
    for row in sheet.rows:
        yield _ampersands([*map(escaped, row.names), *map(_set, row.cells)])
        if sheet.ends(row):
            yield "\\midrule"


def _ampersands(cells: Sequence[str]) -> str:
    line = " & ".join(cells) + " \\\\"
    # LaTeX would read `[` or `*` at the start of a row as an argument of the row before.
    return f"{{}}{line}" if line[:1] in ("[", "*") else line


def _set(cell: Cell) -> str:
    text = f"\\textbf{{{number(cell.text)}}}" if cell.best else number(cell.text)
    text += f"\\rlap{{\\textsuperscript{{{escaped(cell.mark)}}}}}" if cell.mark else ""
    if cell.raised and cell.aside:
        return f"{text}\\textsuperscript{{{number(cell.aside)}}}"
    return f"{text} {{\\scriptsize {number(cell.one_line_aside)}}}" if cell.aside else text


@dataclass(frozen=True)
class Page:
    """One table of a result, with its title, and sentences below that say how to read it."""

    title: str
    sheet: Sheet
    below: tuple[str, ...] = ()
    label: str = ""  # of the table in LaTeX; that of its measure if empty

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", printable(self.title))
        object.__setattr__(self, "below", tuple(map(printable, self.below)))


def check_format(format: str, formats: Sequence[str]) -> None:
    """Raise if a format is unknown."""
    if format not in formats:
        raise UsageError(f"unknown format `{format}`", hint=f"use one of {', '.join(formats)}")


def write(
    pages: Sequence[Page], result: dict[str, Any], format: str = "table", *, width: int = 80, colour: bool = False
) -> str:
    """A result in one of `FORMATS`, ending in a newline; json has the whole result, the others have the pages."""
    if format == "json":
        return codec.text(result)
    if format == "table":
        return "\n".join(titled(page, width, colour=colour) for page in pages)
    check_format(format, FORMATS)
    return "\n".join(map(WRITERS[format], _labelled(pages)))


def _labelled(pages: Sequence[Page]) -> Iterator[Page]:
    """The pages with a label each, by which LaTeX refers to them; no two are the same."""
    taken: set[str] = set()
    for page in pages:
        label = re.sub(r"[^a-z0-9]+", "-", (page.label or page.title.partition(":")[0][:LONGEST_LABEL]).lower()).strip(
            "-"
        )
        label = next(
            name for name in chain([label or "table"], (f"{label}-{n}" for n in count(2))) if name not in taken
        )
        taken.add(label)
        yield replace(page, label=label)


def styled(text: str, style: str, *, colour: bool) -> str:
    """Text in a style of the terminal, if it has colours."""
    return f"{style}{text}{PLAIN}" if colour else text


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Text in lines that break neither a name at a hyphen nor an interval at its comma."""
    joined = INTERVAL.sub(lambda match: match[0].replace(" ", "\xa0"), text)
    lines = textwrap.wrap(
        joined, min(width, PROSE), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace("\xa0", " ")


def titled(page: Page, width: int, *, colour: bool) -> str:
    """The table under its title, if it has one, for a screen of this width."""
    title = styled(wrapped(page.title, width), BOLD, colour=colour) if page.title else ""
    sentences = page.below and "\n" in title  # which need a gap below them
    title = f"{title}\n\n" if sentences else f"{title}\n" if title else ""
    below = "".join(f"{styled(wrapped(line, width), DIM, colour=colour)}\n" for line in page.below)
    return title + render(page.sheet, width=width, colour=colour) + (f"\n{below}" if below else "")


def comma_separated(page: Page) -> str:
    """Rows under a comment; an interval that other formats show beside or below a number gets its own column."""
    sheet = page.sheet
    aside = [any(row.cells[c].aside or row.cells[c].mark for row in sheet.rows) for c in range(len(sheet.columns))]

    def line(names: Sequence[str], pairs: Iterable[tuple[str, str]]) -> list[str]:
        texts = (text for pair, both in zip(pairs, aside, strict=True) for text in pair[: 1 + both])
        return [*names, *("" if text == UNDEFINED else text for text in texts)]

    heads = (" ".join(name.split()) for name in sheet.columns)
    lines = [line(sheet.names, ((head, f"{head} (aside)") for head in heads))]
    lines += [
        line(row.names, ((cell.text, cell.mark or cell.one_line_aside) for cell in row.cells)) for row in sheet.rows
    ]
    return f"# {page.title}\n{csv_lines(lines)}" + "".join(f"# {line}\n" for line in page.below)


WRITERS: dict[str, Callable[[Page], str]] = {
    "markdown": lambda page: "\n".join(
        [
            *([f"**{piped(page.title)}**\n"] if page.title.strip() else []),
            markdown(page.sheet),
            *(f"{paragraph(line)}\n" for line in page.below),
        ]
    ),
    "latex": lambda page: latex(
        page.sheet, ". ".join(part.rstrip(".") for part in (page.title, *page.below) if part), page.label
    ),
    "csv": comma_separated,
}
FORMATS = ("table", *WRITERS, "json")


def column(values: Sequence[float], digits: int, *, best: bool = True) -> list[Cell]:
    """The numbers of a column, the highest in bold."""
    texts = [shown(value, digits) for value in values]
    top = highest_text(values, texts) if best else None
    return [Cell(text, text == top) for text in texts]


def exchanged(
    pairs: Sequence[tuple[str, str]],
    measures: tuple[str, str],
    means: Mapping[str, Sequence[float] | Floats],
    digits: int,
    most: int | None = None,
) -> Page:
    """Pairs of runs that two measures order differently, with their means: all pairs, or the first ``most``."""
    first, second = measures
    rows = [(pair, [shown(float(means[run][i]), digits) for i in (0, 1) for run in pair]) for pair in pairs[:most]]
    part = f", first {most} of {len(pairs)}" if most is not None and len(pairs) > most else ""
    title = f"Pairs in different order: A is ahead in {first}, B in {second}{part}"
    return table(title, ("A", "B"), (f"{first}\nof A", "\nof B", f"{second}\nof A", "\nof B"), rows)


def sheet(
    names: Sequence[str],
    columns: Sequence[str],
    rows: Iterable[tuple[str | Sequence[str], Iterable[Cell | str]]],
    across: str = "measure",
) -> Sheet:
    """A sheet from rows of names, of which there may be one, and cells, which may be texts."""
    lines = (
        Row(
            (name,) if isinstance(name, str) else tuple(name),
            tuple(Cell(cell) if isinstance(cell, str) else cell for cell in cells),
        )
        for name, cells in rows
    )
    return Sheet(tuple(names), tuple(columns), tuple(lines), across=across)


def table(
    title: str,
    names: Sequence[str],
    columns: Sequence[str],
    rows: Iterable[tuple[str | Sequence[str], Iterable[Cell | str]]],
    across: str = "measure",
) -> Page:
    """A titled table of rows; see `sheet`."""
    return Page(title, sheet(names, columns, rows, across))


# Web pages in one file: a template, its data, and the only scripts and styles that a browser may run.

SCRIPT = re.compile("<script>(.*?)</script>", re.DOTALL)
STYLE = re.compile("<style>(.*?)</style>", re.DOTALL)
UNCHECKED = "'unsafe-inline'"
LONGEST_TITLE = 120  # characters of a first line that is a title


def page_of_data(package: str, template: str, data: Any, *, own_styles: bool = True, **parts: str) -> str:
    """The HTML of a template of a package, with the data that its script reads, and with other ``parts`` by name.

    Parts are HTML, scripts or styles of our own; everything from outside is in the data, or is escaped in a part. The
    page loads nothing, and a browser runs only its own scripts: their digests are in its content security policy.
    ``own_styles``: the same of its styles.
    """
    from importlib.resources import files

    text = files(package).joinpath(template).read_text(encoding="utf-8")
    # Nothing in a script may look like its end tag.
    script = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts |= {"version": escape(__version__), "data": script, "policy": ""}
    named = re.compile(r"\{(" + "|".join(parts) + r")\}")
    page = named.sub(lambda match: parts[match[1]], text)
    scripts, styles = (" ".join(map(_digest, kind.findall(page))) for kind in (SCRIPT, STYLE))
    sources = f"script-src {scripts}; style-src {styles if own_styles else UNCHECKED}; img-src data:"
    parts["policy"] = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    return named.sub(lambda match: parts[match[1]], text)


def snippet(text: str, most: int) -> str:
    r"""The beginning of a document: its title, if its first line is short, and its text in the next line.

    >>> snippet("The horn\nOn still days it could be heard\nin the village.", 30)
    'The horn\nOn still days it coul…'
    """
    title, _, body = (" ".join(part.split()) for part in text.strip().partition("\n"))
    text = f"{title}\n{body}" if body and len(title) <= LONGEST_TITLE else f"{title} {body}".strip()
    return text if len(text) <= most else f"{text[:most]}…"


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
