"""The two pictures of the README and of the first page, drawn from what the package computes now: `make pictures`.

`terminal.svg` is a session with the example collection, `report.svg` shows parts of the HTML report on it. Both have a
background of their own, so that they can be read on light and on dark pages.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any

import numpy as np

import cranfield as cf
from cranfield import example
from cranfield.report.html import contents

FOLDER = Path(__file__).parent.parent / "_static"
SESSION = (
    'cranfield eval qrels.txt dense.run llm.run -m "nDCG@10 AP RR[ties=expected]"',
    "cranfield compare qrels.txt llm.run dense.run --no-significant-loss nDCG@10 --quiet > table.txt; echo $?",
    "cranfield trec_eval -m recip_rank -m P.5,10 qrels.txt llm.run",
)
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"

# The terminal: characters of a line, and sizes in pixels.
COLUMNS, CELL, LINE, MARGIN, BAR = 100, 8.4, 20, 20, 34


def session() -> list[tuple[str, str]]:
    """The lines of the session, each with its kind: prompt, note, heading or text."""
    lines: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in example.NAMES:
            shutil.copyfile(example.path(file), folder / file)
        for command in SESSION:
            lines += [("", "text")] if lines else []
            lines += [(f"$ {command}", "prompt")]
            output = printed(command, folder)
            for i, line in enumerate(output):
                below = output[i + 1] if i + 1 < len(output) else ""
                kind = "heading" if below.startswith("──") else "note" if ": " in line else "text"
                wrapped = textwrap.wrap(line, COLUMNS, subsequent_indent="  ") if kind == "note" else [line]
                lines += [(part, kind) for part in wrapped]
    return lines


def printed(command: str, folder: Path) -> list[str]:
    """The lines that a command prints."""
    done = subprocess.run(
        ["bash", "-c", f'cranfield() {{ {shlex.quote(sys.executable)} -m cranfield "$@"; }}; {command}'],
        cwd=folder,
        env=os.environ | {"COLUMNS": str(COLUMNS), "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.expandtabs().rstrip("\n").split("\n")


def opening(width: int, height: int, title: str) -> list[str]:
    """The first lines of a picture."""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'<title id="title">{escape(title, quote=False)}</title>',
    ]


def terminal() -> str:
    """The session as SVG; every line has a fixed length, so that tables are straight in any font."""
    lines = session()
    width, height = round(COLUMNS * CELL + 2 * MARGIN), BAR + len(lines) * LINE + MARGIN
    body = [
        *opening(width, height, "A terminal: cranfield eval, compare and trec_eval on the example collection"),
        f"<style>text {{ font: 14px {MONOSPACE}; fill: #d7dce2; white-space: pre }}",
        ".prompt { fill: #ffffff; font-weight: 600 } .sign { fill: #7fd1a4 } .note { fill: #e3c27a }",
        ".heading { fill: #8cc4f0; font-weight: 600 }</style>",
        f'<rect width="{width}" height="{height}" rx="10" fill="#16191d"/>',
        f'<path d="M0 {BAR - 8}V10Q0 0 10 0H{width - 10}Q{width} 0 {width} 10V{BAR - 8}z" fill="#2a2f36"/>',
        *(
            f'<circle cx="{20 + 18 * i}" cy="13" r="5.5" fill="{fill}"/>'
            for i, fill in enumerate(("#e0685f", "#e0b252", "#67b26f"))
        ),
    ]
    for i, (line, kind) in enumerate(lines):
        if line.strip():
            shown = escape(line, quote=False)
            if kind == "prompt":
                shown = f'<tspan class="sign">$</tspan>{shown[1:]}'
            at = f'x="{MARGIN}" y="{BAR + 10 + i * LINE}" textLength="{len(line) * CELL:.1f}"'
            options = f'lengthAdjust="spacingAndGlyphs" xml:space="preserve" class="{kind}"'
            body.append(f"<text {at} {options}>{shown}</text>")
    return "\n".join([*body, "</svg>", ""])


def text_of(svg: str) -> list[str]:
    """The lines that a picture of a terminal shows."""
    shown = re.findall(r"<text [^>]*>(.*?)</text>", svg)
    return [unescape(re.sub("<[^>]+>", "", line)) for line in shown]


# The report: its parts below one another, in pixels.
WIDTH, LEFT, RIGHT = 900, 28, 872
MEASURES = ["nDCG@10", "AP", "RR"]
BETTER, WORSE, QUERY, SHOWN = "llm", "dense", "q1", 8
STYLE = f"""<style>
text {{ font: 14px {SANS}; fill: #1a1c1f }} .soft {{ fill: #5c6470 }} .small {{ font-size: 12px }}
.bold, .title, .section {{ font-weight: 700 }} .title {{ font-size: 24px }} .section {{ font-size: 17px }}
.end {{ text-anchor: end }} .middle {{ text-anchor: middle }} .link {{ fill: #0072b2 }}
.paper {{ fill: #ffffff; stroke: #d9dde3 }} .raised {{ fill: #f3f5f8 }} .line {{ stroke: #d9dde3 }}
.a {{ fill: #0072b2 }} .b {{ fill: #b44a00 }} .c {{ fill: #7a828d }} .interval {{ stroke: #8a929d; stroke-width: 2 }}
.grade0 {{ fill: #e3e6ea }} .grade1 {{ fill: #bfe3d6 }} .grade2 {{ fill: #73c9ab }} .grade3 {{ fill: #009e73 }}
.unjudged {{ fill: none; stroke: #a8b0ba; stroke-dasharray: 3 2 }} .tie {{ fill: #e3eef7 }} .on3 {{ fill: #ffffff }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #e8eaed }} .soft {{ fill: #a3abb6 }} .link {{ fill: #6cb8e6 }}
.paper {{ fill: #14171a; stroke: #363c44 }} .raised {{ fill: #1e2226 }} .line {{ stroke: #363c44 }}
.a {{ fill: #6cb8e6 }} .b {{ fill: #f0965a }} .interval {{ stroke: #77808b }} .tie {{ fill: #1d3040 }}
.grade0 {{ fill: #3a4048 }} .grade1 {{ fill: #1f5a48 }} .grade2 {{ fill: #2c8a6c }} .grade3 {{ fill: #4cc9a0 }}
.on3 {{ fill: #10251e }}
}}
</style>"""


def data() -> dict[str, Any]:
    """What the report on the example shows."""
    names = ("bm25", "dense", "llm")
    runs = {name: str(example.path(f"{name}.run")) for name in names}
    collection = cf.Collection(str(example.path("qrels.txt")), queries=str(example.path("queries.jsonl")))
    evaluation = cf.Evaluator(collection, MEASURES).evaluation(runs, page=10)
    comparison = cf.compare(evaluation)
    return contents(evaluation.scores, comparison.settings, comparison, evaluation) | {
        "scores": evaluation.scores,
        "comparison": comparison,
    }


def documents() -> list[str]:
    """The documents of the example, one record in each line."""
    return example.path("documents.jsonl").read_text(encoding="utf-8").splitlines()


def words(x: float, y: float, shown: str, style: str = "") -> str:
    """A line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{style}">{escape(shown, quote=False)}</text>'


def box(x: float, y: float, width: float, height: float, style: str, radius: float = 0) -> str:
    """A rectangle."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:g}" class="{style}"/>'


def leaderboard(report: dict[str, Any], top: float) -> Iterator[str]:
    """The table of means, with the interval of the first measure drawn beside it."""
    means, low, high = (np.array(report[name], dtype=float) for name in ("means", "low", "high"))
    ends = [380, 490, 600]
    at = 640, 860
    begin, span = 0.45, 0.55

    def position(score: float) -> float:
        return at[0] + (score - begin) / span * (at[1] - at[0])

    yield box(LEFT, top, RIGHT - LEFT, 30, "raised", 5)
    yield words(LEFT + 14, top + 20, "run", "bold")
    for end, measure in zip(ends, MEASURES, strict=True):
        yield words(end, top + 20, measure, "bold end")
    yield words(sum(at) / 2, top + 20, f"{MEASURES[0]}, 95% interval", "soft small middle")
    for row, run in enumerate(np.argsort(-means[:, 0])):
        y = top + 30 + 44 * row
        name = report["runs"][run]
        style = "a" if name == BETTER else "b" if name == WORSE else "c"
        yield box(LEFT, y + 6, 4, 32, style)
        yield words(LEFT + 14, y + 27, name, "link")
        for m, end in enumerate(ends):
            yield words(end, y + 20, f"{means[run, m]:.4f}", "end bold" if row == 0 else "end")
            yield words(end, y + 37, f"[{low[run, m]:.4f}, {high[run, m]:.4f}]", "end soft small")
        yield f'<path d="M{position(low[run, 0]):.1f} {y + 23}H{position(high[run, 0]):.1f}" class="interval"/>'
        yield f'<circle cx="{position(means[run, 0]):.1f}" cy="{y + 23}" r="5" class="{style}"/>'
        yield f'<path d="M{LEFT} {y + 44}H{RIGHT}" class="line"/>'


def differences(report: dict[str, Any], left: float, right: float, top: float) -> Iterator[str]:
    """A bar for each query: the difference of two runs."""
    scores = report["scores"]
    better, worse = (report["runs"].index(name) for name in (BETTER, WORSE))
    by_query = dict(zip(scores.queries, (scores.values[better] - scores.values[worse])[0], strict=True))
    shown = sorted((q for q, value in by_query.items() if not np.isnan(value)), key=lambda q: -by_query[q])
    yield words(left, top, "Queries", "section")
    yield words(left, top + 22, f"{MEASURES[0]} of {BETTER} minus that of {WORSE}", "soft small")
    base, scale, step = top + 235, 170 / max(by_query[shown[0]], 1e-9), (right - left) / len(shown)
    for i, query in enumerate(shown):
        height = abs(by_query[query]) * scale
        y = base - height if by_query[query] >= 0 else base
        yield box(left + i * step + 3, y, step - 6, height, "a" if by_query[query] >= 0 else "b")
        yield words(left + (i + 0.5) * step, y - 5, f"{by_query[query]:+.2f}", "small middle")
        yield words(left + (i + 0.5) * step, base + 18, query, "soft small middle")
    yield f'<path d="M{left} {base}H{right}" class="line"/>'


def rankings(report: dict[str, Any], left: float, right: float, top: float) -> Iterator[str]:
    """The first documents of two runs for one query, with grades; tied documents share a background."""
    page = report["rankings"][report["queries"].index(QUERY)]
    yield words(left, top, "Rankings", "section")
    yield words(left, top + 22, f"{QUERY}: {report['queryTexts'][QUERY]}", "soft small")
    titles = {record["id"]: record["title"] for record in map(json.loads, documents())}
    width = (right - left - 20) / 2
    for column, name in enumerate((BETTER, WORSE)):
        x = left + column * (width + 20)
        run = page["runs"][report["runs"].index(name)]
        first = 0
        for size in run["ties"]:
            last = min(first + size, SHOWN)
            if size > 1 and first < SHOWN:
                yield box(x, top + 59 + 23 * first, width, 23 * (last - first) - 2, "tie", 3)
            first += size
        yield words(x, top + 48, name, "link")
        for i, document in enumerate(run["documents"][:SHOWN]):
            y = top + 58 + 23 * i
            grade = page["grades"][document]
            name_of_document = page["documents"][document]
            title = textwrap.shorten(titles[name_of_document], 17, placeholder="…")
            yield words(x + 20, y + 16, str(i + 1), "soft small end")
            yield box(x + 28, y + 3, 18, 17, "unjudged" if grade is None else f"grade{grade}", 3)
            style = "small middle on3" if grade == 3 else "small middle"
            yield words(x + 37, y + 16, "?" if grade is None else str(grade), style)
            yield words(x + 54, y + 16, f"{name_of_document} {title}", "small")


def report() -> str:
    """The main parts of the report as SVG."""
    shown = data()
    means = np.array(shown["means"], dtype=float)[:, 0]
    best = shown["runs"][int(means.argmax())]
    assert best == BETTER
    pairs = shown["comparison"][MEASURES[0]].pairs
    pair = next(pair for pair in pairs if (pair.run, pair.other) == (BETTER, WORSE))
    assert pair.significant
    verdict = (
        f"{BETTER} is significantly better than {WORSE}: {MEASURES[0]} {pair.mean:.4f} vs {pair.other_mean:.4f},",
        f"difference {pair.difference:+.4f} [{pair.low:+.4f}, {pair.high:+.4f}], corrected p {pair.corrected:.4f}; "
        f"better on {pair.wins} of {pair.queries} queries.",
    )
    height = 622
    body = [
        *opening(WIDTH, height, f"Parts of the HTML report: {' '.join(verdict)}"),
        STYLE,
        box(0.5, 0.5, WIDTH - 1, height - 1, "paper", 10),
        words(LEFT, 42, "Evaluation", "title"),
        words(LEFT, 64, shown["about"].partition(";")[0], "soft"),
        box(LEFT, 80, RIGHT - LEFT, 56, "raised", 5),
        box(LEFT, 80, 4, 56, "a"),
        *(words(LEFT + 16, 103 + 22 * i, line) for i, line in enumerate(verdict)),
        *leaderboard(shown, 150),
        *differences(shown, LEFT, 400, 350),
        *rankings(shown, 440, RIGHT, 350),
        "</svg>",
        "",
    ]
    return "\n".join(body)


PICTURES = {"terminal.svg": terminal, "report.svg": report}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
        print(FOLDER / name)
