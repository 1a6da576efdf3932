"""The HTML report: one file that needs no network, with data, chart library and script.

Charts use Vega-Lite, which is under 1 MB, draws SVG that prints well, and comes in one Python package.
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from html import escape
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from cranfield import __version__
from cranfield.analysis.audit import Audit, audit_evaluation
from cranfield.analysis.compare import Comparison
from cranfield.analysis.exposure import exposure_of
from cranfield.analysis.significance import ComparisonSettings, MeasureComparison
from cranfield.codec import plain
from cranfield.data import Floats, Passages, Strings
from cranfield.errors import optional
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.notes import policy_line, sentences, summarised
from cranfield.evaluation.provenance import Provenance
from cranfield.evaluation.scores import COLLECTION, Scores
from cranfield.io.columns import passage_ids
from cranfield.io.documents import read_texts
from cranfield.io.register import atomic_write
from cranfield.io.spans import parse_ids
from cranfield.parallel import in_background
from cranfield.ranking.spans import PassageJudgments
from cranfield.report import exposure
from cranfield.report import groups as by_group
from cranfield.report.audit import EFFECTS, bottom_line
from cranfield.report.compare import headlines, interval_name, method, quantity, rank_meaning
from cranfield.report.compare import notes as comparison_notes
from cranfield.report.notebook import table
from cranfield.report.pages import page_of_data, snippet
from cranfield.report.scores import predicted_notes, predicted_pages
from cranfield.report.sheet import Layout
from cranfield.statistics.correlation import tau
from cranfield.statistics.design import Sample
from cranfield.statistics.intervals import bca
from cranfield.wording import decodable, percent, plural, printable, shortened

RECALL = tuple(level / 10 for level in range(11))
CUTS = (1, 2, 3, 5, 10, 20, 50, 100)
POINTS = (*(f"IPrec@{r:g}" for r in RECALL), *(f"nDCG@{k}" for k in CUTS))
LONGEST_LABEL = 30  # characters of a label
LONGEST_TAG = 80  # characters of the tag of a run
SHOWN = 10  # documents of a list that the section on exposure looks at
MOST_GROUPS = 12  # values of an attribute that make groups of documents
SNIPPET = 400  # characters of a document's text


def contents(
    scores: Scores,
    settings: ComparisonSettings,
    comparison: Comparison | None,
    evaluation: Evaluation | None = None,
    *,
    texts: Mapping[str, str] | Sequence[Any] = (),
    group_by: str | Sequence[str] | None = None,
    date: str = "",
    commands: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """The data of the page, from scores, from their comparison, and from the rankings behind them.

    ``comparison``: None for a single run; with a baseline, all tests are against it. ``evaluation``: it keeps as many
    top documents as the page shows; rankings, curves and audit are shown if the scores are those of single rankings.
    ``texts``: the text of documents by id, or collections to read it from. ``group_by``: the attribute of queries by
    which scores are grouped; by default the collection, if there are several. ``commands``: the commands that reproduce
    the numbers.
    """

    def done(step: int) -> None:
        if progress is not None:
            progress(step, 4)

    low, high = _limits(scores, settings.seed)
    done(1)
    attribute = group_by or (COLLECTION if scores.by_collection else None)
    groups = None if attribute is None else _groups(scores, attribute, settings, comparison)
    done(2)
    of_rankings: dict[str, Any] = {"tags": [""] * len(scores.runs), **WITHOUT_RANKINGS}
    origin = "without rankings"
    if evaluation is not None and has_rankings(scores, evaluation):
        of_rankings = _of_rankings(evaluation, scores, (low, high), texts, done)
        origin = f"judgments {evaluation.judgments.name}"
    done(4)
    means = scores._means
    signs = [-1 if column.lower_is_better else 1 for column in scores.columns]
    filled = np.nan_to_num(means.T * np.array(signs)[:, None])
    counts = f"{plural(len(scores.runs), 'run')}, {plural(len(scores.queries), 'query')}"
    ranked = comparison is not None and comparison.baseline is None
    return {
        "runs": list(scores.runs),
        "ticks": cut_names(scores.runs),
        "sizes": scores._sizes.tolist(),
        "measures": list(scores.measures),
        "signs": signs,
        "queries": list(scores.queries),
        "queryTexts": {name: shortened(text) for name, text in scores._texts.items()},
        "digits": 4,
        "values": _packed(scores.values),
        "undefined": {"zero": 0, "one": 1}.get(scores.undefined),
        "counted": [np.flatnonzero(row).tolist() for row in scores.counted],
        "means": _table(means),
        "low": _table(low),
        "high": _table(high),
        "policy": policy_line(scores),
        "ranked": [column.aggregate != "sum" for column in scores.columns],
        "interval": f"BCa bootstrap, 9,999 resamples, seed {settings.seed}",
        "method": ""
        if comparison is None
        else f"Paired comparisons: {method(comparison)}; {interval_name(comparison)}.",
        "ranks": f"A rank is a range: {rank_meaning(comparison)}." if comparison is not None and ranked else "",
        "quantity": "" if comparison is None else quantity(comparison),
        "headlines": {} if comparison is None else headlines(comparison),
        "pairs": _pairs(comparison, scores),
        "groups": groups,
        **of_rankings,
        "exposure": _exposure_section(evaluation, None if comparison is None else comparison.baseline),
        "agreement": _table(tau(filled[:, None], filled[None], variant="b")) if len(means) > 1 else [],
        "predicted": [
            f"<h3>{escape(page.title)}</h3>{table(page.sheet)}"
            for page in (
                *predicted_pages(scores.predicted),
                *predicted_pages(comparison.predicted if comparison else ()),
            )
        ],
        "notes": [
            *predicted_notes(scores.predicted),
            *summarised(scores.notes)[0],
            *([] if comparison is None else sentences(comparison.resolution_notes)),
            *([] if comparison is None else comparison_notes(comparison, table="pairs")),
        ],
        "about": f"{counts}, {origin}; Cranfield {__version__}",
        "date": printable(date),
        "opened": opened(scores, None if comparison is None else comparison.baseline),
        "commands": list(commands),
        "provenance": None if scores.provenance is None else _origin(scores.provenance),
        "history": None,
    }


def has_rankings(scores: Scores, evaluation: Evaluation) -> bool:
    """Whether these are the scores of the rankings of an evaluation; a saved baseline may be among them."""
    same = scores.columns == evaluation.columns and set(evaluation.queries) <= set(scores.queries)
    return same and not scores.repeats and set(evaluation.runs) <= set(scores.runs)


def _origin(provenance: Provenance) -> dict[str, Any]:
    """What the numbers were computed from, without folders of the machine on which they were."""
    kept = {name: value for name, value in provenance.data.items() if name != "judgments"}
    return kept | {"inputs": [{**source, "name": _beside(source["name"])} for source in kept["inputs"]]}


def _beside(path: str) -> str:
    return printable(Path(path).name if Path(path).is_absolute() else path)


WITHOUT_RANKINGS: dict[str, Any] = {
    "rankings": None,
    "texts": {},
    "curves": None,
    "audit": None,
    "bottomLine": [],
    "swaps": [],
}


def _of_rankings(
    evaluation: Evaluation,
    scores: Scores,
    limits: tuple[Floats, Floats],
    texts: Mapping[str, str] | Sequence[Any],
    done: Callable[[int], None],
) -> dict[str, Any]:
    """What the page shows of rankings: tags, first documents and their texts, curves, and the audit.

    A saved baseline has none of them.
    """
    index = {run: r for r, run in enumerate(evaluation.runs)}
    rows = [index.get(run) for run in scores.runs]
    shown_rows = [r for r, row in enumerate(rows) if row is not None]
    low, high = (end[shown_rows] for end in limits)
    audit = replace(audit_evaluation(evaluation, plausible=True), low=low, high=high)
    # Precision at a recall level has no terminal form.
    curves = evaluation.scores_of(POINTS, terminal=False, full_length=None)
    pages = _rankings(evaluation, scores, rows)
    done(3)
    shown = {name for ranking in pages for name in ranking["documents"]}
    chunks = None
    if not evaluation.judgments.of_documents:
        chunks = parse_ids(Strings.of(sorted(shown)), "")
        shown = set(chunks.names)
    text_of = texts if isinstance(texts, Mapping) else read_texts(texts, shown)
    snippets: dict[str, Any] = {name: snippet(text, SNIPPET) for name, text in text_of.items() if name in shown}
    if chunks is not None:
        snippets = _marked_chunks(evaluation, chunks, text_of)

    def by_run(values: Floats) -> list[Any]:
        nothing = np.full(values.shape[1:], np.nan)
        return _table(np.array([nothing if row is None else values[row] for row in rows]))

    tags = _tags(evaluation)
    return {
        "tags": ["" if row is None else tags[row] for row in rows],
        "rankings": pages,
        "texts": snippets,
        # The texts are parts by query, of which every second one is relevant.
        **({} if chunks is None else {"marked": True}),
        "curves": {
            "recall": {"x": list(RECALL), "y": by_run(curves._means[:, : len(RECALL)])},
            "gain": {"x": list(CUTS), "y": by_run(curves._means[:, len(RECALL) :])},
        },
        "audited": AUDITED_COLUMNS + ("." if len(audit.leading) == len(audit.runs) else _only_leading(audit)),
        "audit": {name: by_run(getattr(audit, name)) for name in AUDITED},
        "bottomLine": [printable(line).replace("`", "") for line in bottom_line(audit, Layout(digits=4))],
        "swaps": [_swap_sentences(audit, m) for m in range(len(audit.measures))],
    }


def _exposure_section(evaluation: Evaluation | None, baseline: str | None) -> str:
    """What is shown, by every attribute of items with few values; empty without items."""
    items = None if evaluation is None else evaluation.collection.items
    if evaluation is None or items is None or not evaluation.page:
        return ""
    k = min(SHOWN, evaluation.page)
    by = [name for name, values in items.attributes.items() if len(set(map(str, values))) <= MOST_GROUPS]
    exposures = [exposure_of(evaluation, k, name, baseline) for name in by] or [exposure_of(evaluation, k)]
    first, *others, last = exposure.pages(exposures[0])
    pages = [first, *others, *(page for other in exposures[1:] for page in exposure.pages(other)[1:-1])]
    tables = "".join(f"<h3>{escape(page.title)}</h3>{_scrolled(table(page.sheet))}" for page in pages)
    tables += f"<details><summary>{escape(last.title)}</summary>{_scrolled(table(last.sheet))}</details>"
    notes = dict.fromkeys(note for other in exposures for note in exposure.notes(other))
    items_of_list = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        '<section id="exposure" aria-labelledby="h-exposure"><h2 id="h-exposure">What is shown</h2>'
        f"{tables}<ul>{items_of_list}</ul></section>"
    )


def _scrolled(content: str) -> str:
    return f'<div class="scroll" tabindex="0">{content}</div>'


def opened(scores: Scores, baseline: str | None) -> tuple[int, int]:
    """The runs that a page opens on: the best, and the baseline or the second best."""
    best, *others = scores._order()
    baseline = baseline if baseline in scores.runs else None
    if baseline is not None and baseline != scores.runs[best]:
        return best, scores.runs.index(baseline)
    return (others[0], best) if baseline is not None and others else (best, others[0] if others else best)


def _groups(
    scores: Scores, attribute: str | Sequence[str], settings: ComparisonSettings, comparison: Comparison | None
) -> dict[str, Any]:
    """The scores by group of queries; differences are from the baseline or from the first run."""
    given = None if comparison is None else comparison.reference
    baseline = (given or scores.runs[0]) if len(scores.runs) > 1 else None
    groups = scores.by(attribute, baseline, **settings.of_groups)
    return {
        "attribute": groups.attribute,
        "names": list(groups.groups),
        "baseline": None if baseline is None else scores.runs.index(baseline),
        "level": percent(groups.level),
        "queries": groups.queries.tolist(),
        **{name: _table(getattr(groups, name)) for name in ("means", "difference", "low", "high")},
        "p": [[plain(effect.p) for effect in row] for row in groups.effects],
        "notes": by_group.notes(groups),
    }


def cut_names(names: Sequence[str]) -> list[str]:
    """Names for the axes of charts: long ones are cut in the middle, and numbered if they would be the same.

    >>> cut_names(["bm25", "a" * 20 + "b" * 20, "a" * 21 + "b" * 20])
    ['bm25', 'aaaaaaaaaaaaaaa…bbbbbbbbbbbbbbb', 'aaaaaaaaaaaaaaa…bbbbbbbbb (2)']
    """
    half, cut = LONGEST_LABEL // 2, dict[str, None]()
    for name in names:
        short = name if len(name) <= LONGEST_LABEL else f"{name[:half]}…{name[-half:]}"
        others = (f"{short[: LONGEST_LABEL - 5]} ({n})" for n in count(2))
        cut[next(label for label in chain([short], others) if label not in cut)] = None
    return list(cut)


def _tags(evaluation: Evaluation) -> list[str]:
    """The tag of each run, the last column of TREC text; empty if it has none, or if it is the name of the run."""
    tags = []
    for scores in evaluation.run_scores:
        tag = scores.alignment.queries.tag.decode("utf-8", "replace")
        tags.append("" if tag in scores.run.name else tag[:LONGEST_TAG])
    return tags


AUDITED_COLUMNS = (
    "Condensed: without unjudged documents. Terminal: the end of a list counts as an answer. Plausible: unjudged "
    "documents are relevant as often as judged ones at the same depth"
)


def _only_leading(audit: Audit) -> str:
    return f"; computed for the best {len(audit.leading)} runs by {audit.measures[0]}, and – for the others."


AUDITED = (
    *("score", "low", "high", "worst", "expected", "best"),
    *("lowest", "highest", "unjudged", "condensed", "terminal", "plausible", "plausible_low", "plausible_high"),
)


def _limits(scores: Scores, seed: int) -> tuple[Floats, Floats]:
    """The interval of every mean, (run, measure), as by `Scores.interval`; runs with the same queries at once."""
    low, high = np.full((2, len(scores.runs), len(scores.measures)), np.nan)
    for m, column in enumerate(scores.columns):
        sizes = [len(scores._sample(r, m)) for r in range(len(scores.runs))]
        if column.aggregate == "mean" and len(set(sizes)) == 1 and sizes[0] > 1 and not scores.by_collection:
            x = np.array([*(scores._sample(r, m) for r in range(len(scores.runs))), np.zeros(sizes[0])])
            pairs = np.array([(r, len(scores.runs)) for r in range(len(scores.runs))])
            low[:, m], high[:, m] = bca(Sample(x), pairs, seed=seed).T
        else:
            for r in range(len(scores.runs)):
                low[r, m], high[r, m] = scores._interval(r, m, seed=seed)
    return low, high


def _packed(values: Floats) -> str:
    """The exact numbers, in fewer characters than digits would take."""
    return base64.b64encode(np.ascontiguousarray(values, "<f8").tobytes()).decode()


def compact(data: dict[str, Any]) -> dict[str, Any]:
    """The data of the page with the numbers of pairs packed; they are most of the file if there are many runs."""
    pairs = {name: _packed(np.array(rows, float)) if name in PACKED else rows for name, rows in data["pairs"].items()}
    return {**data, "pairs": pairs}


PACKED = ("difference", "low", "high", "effect", "effect_low", "effect_high", "p", "corrected")


def _table(values: Floats) -> list[Any]:
    table: list[Any] = plain(np.asarray(values, np.float64))
    return table


def _column(of_measure: MeasureComparison, name: str) -> list[Any]:
    return _table(
        of_measure.estimate if name == "difference" else getattr(of_measure, name)
    )  # the page shows that of the test


def _pairs(comparison: Comparison | None, scores: Scores) -> dict[str, Any]:
    """The numbers of all pairs; of a measure that is not compared, all are null.

    Pairs follow each other as (1, 0), (2, 0), ..., (2, 1), ...: the later run minus the earlier. With a ``baseline``,
    by measure, they are those of the other runs in their order.
    """
    if comparison is None:
        return {}
    by_measure = {of_measure.measure: of_measure for of_measure in comparison.by_measure}
    columns = [by_measure.get(measure) for measure in scores.measures]
    nothing = [None] * comparison.size

    def rows(value: Callable[[MeasureComparison], Any]) -> list[Any]:
        return [nothing if of_measure is None else value(of_measure) for of_measure in columns]

    names = (*PACKED, "direction", "wins", "losses")
    return {
        **{name: rows(partial(_column, name=name)) for name in names},
        "doubts": rows(
            lambda of_measure: [None if causes is None else " ".join(causes) for causes in of_measure.doubts]
        ),
        "queries": [0 if of_measure is None else len(of_measure.queries) for of_measure in columns],
        "means": [None if of_measure is None else _table(of_measure.means) for of_measure in columns],
        "alpha": comparison.settings.alpha,
        "baseline": None
        if comparison.baseline is None
        else [None if of_measure is None else int(of_measure.places[0, 1]) for of_measure in columns],
    }


def _rankings(evaluation: Evaluation, scores: Scores, places: Sequence[int | None]) -> list[dict[str, Any]]:
    """For each query the top documents of all runs, their grades, and each run's ranking as indices of these.

    ``places``: the run of the evaluation that each run of the scores is, if any.
    """
    judgments, unjudged_grade = evaluation.judgments, evaluation.unjudged_grade
    pages_of_runs = evaluation.first_pages(evaluation.page, evaluation.policy.ties)
    rows = {query: slice(*judgments.begin[q : q + 2]) for q, query in enumerate(judgments.queries)}
    pages = []
    for query in scores.queries:
        judged = rows.get(query, slice(0, 0))
        names = judgments.documents.take(np.arange(len(judgments.grade))[judged])
        grades = dict(zip(names, judgments.grade[judged].tolist(), strict=True))
        numbers: dict[str, int] = {}
        shown: list[dict[str, Any] | None] = []
        for position in places:
            page = None if position is None else pages_of_runs[position].get(query)
            if page is None:
                shown.append(None)
                continue
            documents = [numbers.setdefault(document, len(numbers)) for document in page.documents]
            shown.append({"documents": documents, "ties": list(page.ties), "length": page.length})
        pages.append(
            {
                "documents": list(numbers),
                "grades": [_grade(grades.get(document, unjudged_grade)) for document in numbers],
                "relevant": sum(grade > 0 for grade in grades.values()),
                "runs": shown,
            }
        )
    return pages


def _grade(grade: float | None) -> float | int | None:
    """A grade, whole if possible; None for unjudged documents, including negative grades."""
    if grade is None or grade < 0:
        return None
    return int(grade) if float(grade).is_integer() else grade


def _marked_chunks(evaluation: Evaluation, chunks: Passages, texts: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The texts of chunks by query, as parts: every second part is in a relevant passage."""
    judgments, names = evaluation.judgments, list(chunks.names)
    assert isinstance(judgments, PassageJudgments)
    row_of = {name: row for row, name in enumerate(passage_ids(chunks))}
    marked: dict[str, dict[str, Any]] = {}
    for q, query in enumerate(judgments.queries):
        relevant = judgments.relevant.take(np.flatnonzero(judgments.relevant_query == q))
        of_document: dict[str, list[tuple[int, int]]] = {}
        columns = relevant.document.tolist(), relevant.start.tolist(), relevant.end.tolist()
        for code, first, last in zip(*columns, strict=True):
            of_document.setdefault(relevant.names[code], []).append((first, last))
        for name in judgments.documents.take(np.arange(judgments.begin[q], judgments.begin[q + 1])):
            if name not in row_of or (document := names[chunks.document[row_of[name]]]) not in texts:
                continue
            row = row_of[name]
            start, end = int(chunks.start[row]), int(chunks.end[row])
            cuts = [start]
            for first, last in of_document.get(document, []):
                if first < end and last > start:
                    cuts += [max(first, start), min(last, end)]
            parts = zip(cuts, [*cuts[1:], end], strict=True)
            marked.setdefault(query, {})[name] = [texts[document][a:b] for a, b in parts]
    return marked


def _swap_sentences(audit: Audit, m: int) -> list[str]:
    """Sentences on how many pairs of runs each cause could reverse by one measure."""
    sentences = []
    for cause in audit.causes:
        higher, lower = audit.reversible_pairs(cause, m)
        if len(higher):
            first, *_ = audit.swaps_of(cause, m, higher[:1], lower[:1])
            names = f"{first.higher} ({first.score[0]:.4f}) and {first.lower} ({first.score[1]:.4f})"
            several = f"{len(higher):,} pairs of runs {EFFECTS[cause]}, for example {names}."
            sentences.append(f"{names} {EFFECTS[cause]}." if len(higher) == 1 else several)
    return sentences


def require() -> None:
    """Raise if the chart library is not installed; called before the work starts."""
    chart_library()


def html(data: dict[str, Any], title: str) -> str:
    """The page with its data."""
    library = chart_library().result()
    predicted = "".join(map(_scrolled, data.pop("predicted")))
    exposed = data.pop("exposure")
    parts = {
        "title": escape(printable(title)),
        "style": _asset("style.css"),
        "predicted": decodable(predicted),
        "exposure": decodable(exposed),
        "exposure_link": '<a href="#exposure">What is shown</a>' if exposed else "",
        "charts": "(() => {" + library.replace("</script", "<\\/script") + "})();",
        "app": _asset("app.js"),
    }
    # The chart library sets styles of elements.
    return page_of_data("cranfield.report.html", "page.html", compact(data), own_styles=False, **parts)


def _asset(name: str) -> str:
    return files("cranfield.report.html").joinpath(name).read_text(encoding="utf-8")


# The script of the chart library: made by a package in seconds, and kept in the user's cache folder.
#
# The script goes into reports that other people open. What is kept is used only if it is a regular file of this user
# that no one else can write, and its seal is that of the installed package; otherwise it is made and replaced.

MAX_BYTES = 1 << 26


@cache
def chart_library() -> Future[str]:
    """The script, read or made in a thread while runs are read; raises if the package is not installed."""
    vl_convert = optional("vl_convert", "the HTML report", "report")
    version = str(vl_convert.__version__)
    try:
        installed = distribution("vl-convert-python").read_text("RECORD") or version  # digests of its files
    except PackageNotFoundError:
        installed = version
    return in_background(lambda: kept(f"vega-{version}.js", installed, _made))


def _made() -> str:
    """The script, made by a process of its own: the package blocks other threads and interrupts."""
    write = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"
    try:
        made = subprocess.run(
            [sys.executable, "-P", "-c", write], stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
    except (OSError, subprocess.SubprocessError):  # Python is part of another program
        return str(optional("vl_convert", "the HTML report", "report").javascript_bundle())
    return made.stdout.decode()


def kept(name: str, installed: str, make: Callable[[], str]) -> str:
    """A text from the user's cache folder, sealed for what is installed; without one it is made, and kept there."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        file = (folder if folder.is_absolute() else Path.home() / ".cache") / "cranfield" / name
    except RuntimeError:  # no home
        return make()
    with suppress(OSError, ValueError):
        first, _, text = _read_own(file).partition("\n")
        if first == _seal(installed, text):
            return text
    text = make()
    with suppress(OSError):
        _replace(file, f"{_seal(installed, text)}\n{text}")
    return text


def _seal(installed: str, text: str) -> str:
    return "// " + hashlib.sha256(b"\0".join(part.encode() for part in (installed, text))).hexdigest()


def _read_own(file: Path) -> str:
    """The text of a regular file that belongs to this user, and that no one else can write; `OSError` for others."""
    # Neither a link is followed, nor does a pipe wait for its other end.
    number = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(number, "rb") as opened:
        status = os.fstat(number)
        own = not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
        if not stat.S_ISREG(status.st_mode) or not own or status.st_size > MAX_BYTES:
            raise OSError(f"{file} is not a file of this user alone")
        return opened.read().decode("utf-8")


def _replace(file: Path, text: str) -> None:
    """Put a file that only this user can read in place of whatever is there, even a link."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.unlink(missing_ok=True)
    with atomic_write(file) as beside:
        beside.touch(mode=0o600)
        beside.write_text(text, encoding="utf-8")
