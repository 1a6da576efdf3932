"""The tables of the study `truncation`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.report.pages import Page, column, exchanged, sheet
from cranfield.report.sheet import Cell, shown
from cranfield.studies.several import check_alike, mean_of
from cranfield.studies.truncation.experiment import Truncation

PAIRS = 20  # swapped pairs listed for each measure; json has all
RANGES = 10  # rows of the table of list lengths


def tables(result: Truncation, digits: int = 4) -> list[Page]:
    """Scores of systems, agreement, nil detection, list lengths, and swapped pairs."""
    return [
        _score_table(result, digits),
        *_agreement_tables([result], f"of {len(result.runs)} systems", digits),
        *_detection_tables(result, digits),
        _length_table(result),
        *_swap_tables(result, digits),
    ]


def _score_table(result: Truncation, digits: int) -> Page:
    x, y = result.means
    columns: dict[str, list[Cell]] = {}
    for m, (plain, terminal) in enumerate(zip(result.measures, result.terminal_measures, strict=True)):
        columns[plain] = column(x[:, m], digits)
        if terminal:
            columns[terminal] = column(y[:, m], digits)
    columns["c@1"] = column([result.c_at_1(r) for r in range(len(result.runs))], digits)
    for i, when in enumerate(_stages(result)):
        columns[f"short{when}"] = [Cell(f"{share:.1%}") for share in result.short[i]]
    rows = [((run,), [cells[r] for cells in columns.values()]) for r, run in enumerate(result.runs)]
    stages = f", before and after cutting them at {result.nil}" if result.nil else ""
    short = f"short: share of lists with fewer than {result.longest} answers{stages}"
    return Page(f"Mean scores, {len(result.queries)} queries ({short})", sheet(("run",), tuple(columns), rows))


def _stages(result: Truncation) -> tuple[str, ...]:
    """Before and after lists are cut at NIL; without NIL they are not cut."""
    return (", before", ", after") if result.nil else ("",)


def mean_tables(results: list[Truncation], digits: int = 4) -> list[Page]:
    """The agreement of plain and terminal measures, averaged over collections; pairs are counted in all of them."""
    check_alike(results, "measures", "nil", "full_length", "ties")
    return list(
        _agreement_tables(
            results, f"of systems, mean over {len(results)} collections; pairs of all collections", digits
        )
    )


def _agreement_tables(results: list[Truncation], scope: str, digits: int) -> Iterator[Page]:
    first = results[0]
    rows = []
    for m in first.paired:
        agreements = [result.agreement(m) for result in results]
        means = mean_of([np.array([agreement.tau_b, agreement.tau_a]) for agreement in agreements])
        counts = np.sum([(a.discordant, a.tied_x, a.tied_y, a.pairs) for a in agreements], axis=0)
        cells = [*(Cell(shown(tau, digits)) for tau in means.tolist()), *(Cell(f"{count}") for count in counts)]
        rows.append(((first.measures[m], first.terminal_measures[m]), cells))
    heads = ("τ-b", "τ-a", "swapped", "tied\nplain", "tied\nterminal", "pairs")
    title = f"Agreement of plain and terminal measures on the order {scope} (Kendall's τ)"
    if rows:
        yield Page(title, sheet(("plain", "terminal"), heads, rows))


def _detection_tables(result: Truncation, digits: int) -> Iterator[Page]:
    """Nil detection as a classification; no table if nothing is to be detected and no list is empty."""
    detections = [result.nil_detection(r) for r in range(len(result.runs))]
    rows = []
    for run, detection in zip(result.runs, detections, strict=True):
        if detection is None:
            return
        counts = (detection.silent, detection.detected, detection.false_silences, detection.missed)
        shares = (detection.precision, detection.recall, detection.f1)
        rows.append(((run,), [Cell(f"{n}") for n in counts] + [Cell(shown(share, digits)) for share in shares]))
    if any(detection and (detection.nil or detection.silent) for detection in detections):
        nil = int(result.no_answer.sum()) if result.no_answer is not None else 0
        title = (
            f"Nil detection: {nil} of {len(result.queries)} queries have no relevant document (silent: lists without an"
            " answer; false: of these, lists of queries with a relevant document)"
        )
        yield Page(title, sheet(("run",), ("silent", "right", "false", "missed", "precision", "recall", "F1"), rows))


def _length_table(result: Truncation) -> Page:
    counts = np.zeros((result.longest + 1, 2), int)
    for length, numbers in result.histogram.items():
        counts[length] = numbers
    step = max(1, -(-result.longest // RANGES))
    begins = [0, *range(1, len(counts), step)]
    rows = []
    for begin, end in zip(begins, [*begins[1:], len(counts)], strict=True):
        name = f"{begin}" if end - begin == 1 else f"{begin}–{end - 1}"
        cells = [Cell(f"{n}") for n in counts[begin:end].sum(axis=0)]
        rows.append(((name,), cells[: len(_stages(result))]))
    heads = [f"lists{when}" for when in _stages(result)]
    stages = f": before and after cutting them at {result.nil}" if result.nil else ""
    return Page(f"Number of lists by length{stages}", sheet(("length",), heads, rows))


def _swap_tables(result: Truncation, digits: int) -> Iterator[Page]:
    for m in result.paired:
        measures = result.measures[m], result.terminal_measures[m]
        pairs = result.inverted(m)
        if pairs:
            means = dict(zip(result.runs, result.means[:, :, m].T, strict=True))
            yield exchanged(pairs, measures, means, digits, PAIRS)
