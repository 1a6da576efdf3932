"""The history of an experiment: a file with one line of JSON for each time it ran.

Lines are appended whole or not at all, also by several processes at once. Two branches are merged by keeping the lines
of both: entries are ordered by time when they are read.
"""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np

from cranfield.analysis.significance import ComparisonSettings, p_values
from cranfield.codec import DAMAGED, plain, text, typed, with_origin
from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation.designs import matched_sample
from cranfield.evaluation.elsewhere import read_scores
from cranfield.evaluation.provenance import JUDGMENTS, SavedProvenance
from cranfield.evaluation.scores import COLLECTION, Scores
from cranfield.io.columns import MAX_NUMBER
from cranfield.io.formats.json import load_json
from cranfield.io.streams import open_stream
from cranfield.report.canvas import GREY, ORANGE, PAGE, Drawings, Panel
from cranfield.report.pages import Page, table
from cranfield.report.scores import COLOURS
from cranfield.report.sheet import Cell, shown, signed
from cranfield.settings import Limits, fits, walk
from cranfield.statistics.design import Sample
from cranfield.statistics.resampling import corrected
from cranfield.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

try:
    import fcntl
except ImportError:  # Windows: a single write is all there is
    fcntl = None  # type: ignore[assignment]

CLUSTER = "cluster"
NUMBER = walk(Annotated[float, Limits(-MAX_NUMBER, MAX_NUMBER)])
Tests = dict[tuple[int, int], float]  # p-values of two entries


def entry(scores: Scores, *, cluster: str | None = None, values: bool = True, seed: int = 0) -> dict[str, Any]:
    """What a line has: means with intervals, per-query values if they are wanted, and the provenance."""
    line: dict[str, Any] = {"runs": {}}
    for r, run in enumerate(scores.runs):
        of_run = line["runs"][run] = {}
        for m, column in enumerate(scores.columns):
            low, high = (None if np.isnan(x) else x for x in scores._interval(r, m, method="t", seed=seed))
            mean = float(scores._means[r, m])
            about: dict[str, Any] = {
                "mean": None if np.isnan(mean) else mean,
                "low": low,
                "high": high,
                "n": int(scores._sizes[r, m]),
            }
            about |= {"better": "lower"} if column.lower_is_better else {}
            about |= {"values": _values(scores, r, m)} if values and column.aggregate == "mean" else {}
            of_run[column.label] = about
    names = {CLUSTER: cluster, COLLECTION: COLLECTION if scores.by_collection else None}
    for name, attribute in names.items():
        if attribute and values:
            line[name] = {query: about.get(attribute, "") for query, about in scores.attributes.items()}
    provenance = {} if scores.provenance is None else dict(scores.provenance.data)
    provenance.pop("judgments", None)
    return with_origin({**plain(line), "provenance": provenance})


def _values(scores: Scores, r: int, m: int) -> dict[str, Any]:
    """The value of each query, or those of all repeats."""
    values: dict[str, Any] = scores._query_values(r, m)
    repeats = scores.repeats.get(scores.runs[r])
    if repeats is None:
        return values
    rows = [[None if np.isnan(value) else value for value in row] for row in repeats[m].tolist()]
    return {query: row for query, row in zip(scores.queries, rows, strict=True) if query in values}


def append(path: str, line: Mapping[str, Any]) -> None:
    """Add a line to the file; after an error, the file is as it was."""
    data = text(dict(line)).encode("utf-8", "surrogateescape")
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with _locked(descriptor):
            size = os.fstat(descriptor).st_size
            os.lseek(descriptor, max(size - 1, 0), os.SEEK_SET)
            last = os.read(descriptor, 1) if size else b"\n"
            appended = data if last == b"\n" else b"\n" + data  # someone's editor left the last line without its end
            complete = False
            try:
                complete = os.write(descriptor, appended) == len(appended)
            except OSError as error:
                error.filename = path
                raise
            finally:
                if not complete:
                    os.ftruncate(descriptor, size)
            if not complete:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


# Nothing of a checkout may run: git would run what its configuration names.
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"ref: (refs/(?:(?!\.\.)[\w./-])+)")
_LARGEST = 1 << 22  # bytes of a file of git


def commit_of(folder: Path) -> str | None:
    """The commit of a git checkout, from the files of git; None outside a checkout."""
    homes = [home for parent in (folder.resolve(), *folder.resolve().parents) if (home := parent / ".git").exists()]
    for home in homes[:1]:
        where = _git_text(home).removeprefix("gitdir: ")  # a file in another working tree of a repository
        git = home.parent / where if where else home
        head = _git_text(git / "HEAD")
        if (ref := _REF.fullmatch(head)) is None:
            return head if _COMMIT.fullmatch(head) else None
        common = git / (_git_text(git / "commondir") or ".")
        packed = f"\n{_git_text(common / 'packed-refs')}\n".partition(f" {ref[1]}\n")[0].rpartition("\n")[2]
        commit = _git_text(git / ref[1]) or _git_text(common / ref[1]) or packed
        return commit if _COMMIT.fullmatch(commit) else None
    return None


def _git_text(file: Path) -> str:
    """A file of git without its last line end; empty if there is none."""
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return ""
        return file.read_text("ascii", "replace").strip()
    except (OSError, ValueError):
        return ""


LEVEL = 0.05
# What is tested, with its share of the level: entries against the reference and against the entry before, and trends.
SHARES: dict[str, float] = {"reference": 0.5, "before": 0.2, "trend": 0.3}
SHORTEST = 5  # the fewest entries of a trend: with three, it would be the difference of the last from the first
MARKS = {True: " *", False: "", None: " ?"}


class Change(NamedTuple):
    """How much a mean differs from the entry before, and from the reference.

    ``significant``, ``since_significant``: after correction over all entries and runs; None if the two cannot be
    compared. ``reference``: the index of an entry: the first one with these judgments, or the last that was
    significantly better than the reference before it. ``trend``: of the last entry, the change of an entry since the
    reference, by least squares, and ``trend_significant``; None if these are too few entries.
    """

    difference: float
    significant: bool | None
    reference: int
    since: float
    since_significant: bool | None
    trend: float | None = None
    trend_significant: bool | None = None

    @property
    def marked(self) -> bool:
        """Whether one of them is significant."""
        return bool(self.significant or self.since_significant or self.trend_significant)


@dataclass(frozen=True)
class History:
    """The entries of a history, in the order of time."""

    entries: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, path: str) -> History:
        """Read a file of lines; a line that is not an entry is an error with its number."""
        by_text: dict[str, Mapping[str, Any]] = {}
        faults = []
        with open_stream(path, "history").text_lines("\n") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    try:
                        data = load_json(line)
                        _check(data)
                    except (*DAMAGED, RecursionError):
                        marker = line.startswith(("<<<<<<<", "=======", ">>>>>>>"))
                        what = "a mark of a merge conflict; keep the lines of both sides" if marker else "not an entry"
                        faults.append(f"{path}:{number}: {what}")
                        continue
                    by_text.setdefault(line.strip(), data)
        if faults:
            raise InputError(faults, hint="each line is what one `cranfield run` appended")
        return cls(tuple(sorted(by_text.values(), key=lambda entry: str(entry["provenance"].get("time", "")))))

    @classmethod
    def before(cls, path: str) -> History:
        """The entries so far, of which there may be none."""
        if not Path(path).exists() or not Path(path).stat().st_size:
            return cls(())
        with Path(path).open("rb") as file, _locked(file.fileno()):
            return cls.read(path)

    @cached_property
    def rows(self) -> list[tuple[str, str]]:
        """The measures and runs of all entries."""
        pairs = [(m, run) for entry in self.entries for run, of_run in entry["runs"].items() for m in of_run]
        measures = list(dict.fromkeys(m for m, _ in pairs))
        return sorted(dict.fromkeys(pairs), key=lambda pair: measures.index(pair[0]))

    def mean(self, e: int, measure: str, run: str) -> float:
        """A mean; NaN if the entry has none."""
        value = self.entries[e]["runs"].get(run, {}).get(measure, {}).get("mean")
        return float("nan") if value is None else float(value)

    def change(self, e: int, measure: str, run: str) -> Change | None:
        """The change since the last entry that has this run and measure; None for the first one."""
        return self._changes(measure).get((e, run))

    def _changes(self, measure: str) -> dict[tuple[int, str], Change]:
        """The changes of all runs, corrected together: of many changes without effect, some would look significant."""
        if measure not in self._changes_of:
            series = [_Series(self, measure, run) for name, run in self.rows if name == measure]
            number = sum(len(of_run.against(of_run.references(0))) for of_run in series)
            references = [of_run.references(LEVEL * SHARES["reference"] / max(number, 1)) for of_run in series]
            tests = [of_run.tests(before) for of_run, before in zip(series, references, strict=True)]
            significant = _significant(tests)
            self._changes_of[measure] = {
                (e, of_run.run): of_run.change(e, before, tested)
                for of_run, before, tested in zip(series, references, significant, strict=True)
                for e in of_run.before
            }
        return self._changes_of[measure]

    @cached_property
    def _changes_of(self) -> dict[str, dict[tuple[int, str], Change]]:
        return {}

    def page(self, measure: str, digits: int = 4) -> Page:
        """A table of one measure: a row for each entry, a column for each run."""
        runs = [run for name, run in self.rows if name == measure]
        rows = []
        for e, entry in enumerate(self.entries):
            cells = []
            for run in runs:
                mean, change = self.mean(e, measure, run), self.change(e, measure, run)
                aside = ""
                if change is not None:
                    parts = [(change.difference, change.significant, "")]
                    if change.reference not in (e, e - 1):
                        parts.append((change.since, change.since_significant, f" since {self.times[change.reference]}"))
                    if change.trend is not None and change.trend_significant:
                        parts.append((change.trend, True, f" an entry since {self.times[change.reference]}"))
                    aside = ", ".join(
                        f"{signed(difference, digits)}{MARKS[significant]}{since}"
                        for difference, significant, since in parts
                        if significant or abs(difference) > 0.5 * 10**-digits
                    )
                cells.append(Cell("" if np.isnan(mean) else shown(mean, digits), aside=aside))
            about = entry["provenance"]
            rows.append(((str(about.get("time", "")), str(entry.get("commit") or "")[:9]), cells))
        title = (
            f"{measure} over time: the change since the entry before and since the reference; "
            "* significant (Student's t, p < 0.05 after correction over all changes), ? not comparable"
        )
        return table(title, ("time", "commit"), runs, rows)

    def pages(self, digits: int = 4) -> list[Page]:
        """A table for each measure."""
        return [self.page(measure, digits) for measure in dict.fromkeys(name for name, _ in self.rows)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the entries without values of queries, and the changes."""
        entries = []
        for e, entry in enumerate(self.entries):
            runs: dict[str, Any] = {}
            for run, of_run in entry["runs"].items():
                for measure, about in of_run.items():
                    change = self.change(e, measure, run)
                    kept = {key: value for key, value in about.items() if key != "values"}
                    runs.setdefault(run, {})[measure] = kept | self._plain(change)
            entries.append({"provenance": entry["provenance"], "commit": entry.get("commit"), "runs": runs})
        result: dict[str, Any] = plain({"entries": entries})
        return result

    def chart(self) -> dict[str, Any]:
        """What the chart of a report shows: the times, and all means with their intervals and changes."""
        means = []
        for e, entry in enumerate(self.entries):
            for measure, run in self.rows:
                if not np.isnan(mean := self.mean(e, measure, run)):
                    about, change = entry["runs"][run][measure], self.change(e, measure, run)
                    limits = {end: about.get(end) for end in ("low", "high")}
                    mean_of_entry = {"at": e, "measure": measure, "run": run, "mean": mean, **limits}
                    means.append({**mean_of_entry, **self._plain(change)})
        result: dict[str, Any] = plain({"times": self.times, "means": means})
        return result

    def _plain(self, change: Change | None) -> dict[str, Any]:
        if change is None:
            return {}
        fields = change._asdict() | {"reference": self.times[change.reference], "marked": change.marked}
        return {"change": fields.pop("difference"), **fields}

    @property
    def times(self) -> list[str]:
        """What charts call each entry: the commit, or the time."""
        return [str(entry.get("commit") or entry["provenance"].get("time", ""))[:10] for entry in self.entries]

    def plot(self, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the means over time with their intervals; significant changes are marked."""
        return Panel(lambda axis: self._draw(axis, measure or self.rows[0][0]), PAGE, 2.6).on(ax)

    def _draw(self, axis: Axes, measure: str) -> Axes:
        runs = [run for name, run in self.rows if name == measure]
        for r, run in enumerate(runs):
            colour = COLOURS[r] if r < len(COLOURS) else GREY
            at = [e for e in range(len(self.entries)) if not np.isnan(self.mean(e, measure, run))]
            about = [self.entries[e]["runs"][run][measure] for e in at]
            means = [self.mean(e, measure, run) for e in at]
            low, high = (
                [mean["mean"] if mean.get(end) is None else mean[end] for mean in about] for end in ("low", "high")
            )
            axis.fill_between(at, low, high, color=colour, alpha=0.12, linewidth=0)
            axis.plot(at, means, "o-", color=colour, markersize=2.5, label=run)
            marked = [e for e in at if (change := self.change(e, measure, run)) and change.marked]
            axis.plot(marked, [self.mean(e, measure, run) for e in marked], "o", color=ORANGE, fillstyle="none")
        axis.set_xticks(range(len(self.times)), self.times, rotation=90 if len(self.times) > 6 else 0, fontsize=6)
        axis.set_ylabel(measure)
        axis.legend()
        return axis

    def drawings(self) -> Drawings:
        """A figure of each measure."""
        draw = {
            measure: partial(self._draw, measure=measure) for measure in dict.fromkeys(name for name, _ in self.rows)
        }
        return {f"history-{measure}": Panel(drawn, PAGE, 2.6) for measure, drawn in draw.items()}

    def __repr__(self) -> str:
        return f"History: {plural(len(self.entries), 'entry')}, {plural(len(self.rows), 'mean')}"


class _Series:
    """One measure of one run over time.

    ``before``: the entry before each one, by index. ``same``: the first entry with the same values and judgments: a
    test is named by two of these, so that a system that did not change is not tested twice.
    """

    def __init__(self, history: History, measure: str, run: str) -> None:
        entries = history.entries
        at = [e for e, entry in enumerate(entries) if measure in entry["runs"].get(run, {})]
        self.run, self.before = run, dict(zip(at[1:], at, strict=False))
        self.means = {e: history.mean(e, measure, run) for e in at}
        self.lower = entries[at[-1]]["runs"][run][measure].get("better") == "lower"
        values = {e: of_entry for e in at if (of_entry := entries[e]["runs"][run][measure].get("values"))}
        self.basis = {e: repr(_basis(entries[e])) for e in values}
        first: dict[str, int] = {}
        self.same = {e: first.setdefault(f"{self.basis[e]} {sorted(own.items())}", e) for e, own in values.items()}
        self.names = {name: name for name in (CLUSTER, COLLECTION) if values and entries[max(values)].get(name)}
        labels = {
            name: {q: label for e in values for q, label in entries[e].get(name, {}).items()} for name in self.names
        }
        queries = {q: {name: of.get(q, "") for name, of in labels.items()} for own in values.values() for q in own}
        kept = {str(e): {measure: values[e]} for e in set(self.same.values())}
        self.scores = read_scores(kept, queries=queries if labels else None) if kept else None
        self.slope: float | None = None  # of the last entry
        self._p: dict[tuple[int, int], float | None] = {}

    def p(self, e: int, other: int) -> float | None:
        """By Student's t over the queries of both entries; None if they have other judgments or no values."""
        if self.scores is None or e not in self.same or self.basis[e] != self.basis.get(other):
            return None
        pair = self.same[e], self.same[other]
        if pair not in self._p:
            rows = [self.scores.runs.index(str(e)) for e in pair]
            self._p[pair] = 1.0 if rows[0] == rows[1] else _p_value(_sample(self.scores._of_runs(rows), self.names))
        return self._p[pair]

    def references(self, level: float) -> dict[int, int]:
        """The reference of each entry: the first, until one is better than it at this level."""
        references, reference = {}, min(self.means)
        for e in self.before:
            p = self.p(e, reference)
            references[e] = reference = e if p is None else reference
            gain = (self.means[e] - self.means[reference]) * (-1 if self.lower else 1)
            if p is not None and p < level and gain > 0:
                reference = e
        return references

    def against(self, others: Mapping[int, int]) -> Tests:
        """The p-values of entries against others, each once; without those that have the same values."""
        p_values = {(self.same.get(e, e), self.same.get(b, b)): self.p(e, b) for e, b in others.items()}
        return {pair: p for pair, p in p_values.items() if p is not None and pair[0] != pair[1]}

    def tests(self, references: Mapping[int, int]) -> dict[str, Tests]:
        """The p-values of all tests, by what is tested."""
        others = {e: before for e, before in self.before.items() if before != references[e]}
        last = max(self.means)
        self.slope, p = self._trend(references.get(last, last))
        return {
            "reference": self.against(references),
            "before": self.against(others),
            "trend": {} if p is None else {(last, last): p},
        }

    def _trend(self, since: int) -> tuple[float | None, float | None]:
        """The change of an entry since this one by least squares, and its p-value; None if it is not tested.

        The trend of a query is a weighted sum of its values, so that queries are as independent as in a difference.
        """
        at = [e for e in self.means if e >= since]
        if self.scores is None or len({self.same.get(e) for e in at}) < SHORTEST:
            return None, None
        step = np.arange(len(at)) - (len(at) - 1) / 2
        weight: dict[int, float] = {}
        for e, of_entry in zip(at, (step / (step**2).sum()).tolist(), strict=True):
            row = self.scores.runs.index(str(self.same[e]))
            weight[row] = weight.get(row, 0) + of_entry
        sample = _sample(self.scores._of_runs([*weight]), self.names)
        if sample is None or len({sample.repeats.get(r, sample.x[:1]).shape for r in range(len(weight))}) > 1:
            return None, None  # entries have other numbers of repeats
        weights = np.array([*weight.values()])
        slopes = np.einsum("e,eq->q", weights, sample.x)
        tables = [table for _, table in sorted(sample.repeats.items())]
        repeats = {0: np.einsum("e,eqr->qr", weights, np.stack(tables))} if tables else {}
        trend = Sample(np.stack([slopes, np.zeros_like(slopes)]), sample.design, repeats)
        return float(trend.means[0]), _p_value(trend)

    def change(self, e: int, references: Mapping[int, int], significant: Mapping[str, set[tuple[int, int]]]) -> Change:
        """The change at an entry, given the tests that are significant, by what is tested."""
        before, reference = self.before[e], references[e]

        def difference_from(other: int, of_tests: set[tuple[int, int]]) -> tuple[float, bool | None]:
            difference = self.means[e] - self.means[other]
            comparable = other != e and self.p(e, other) is not None
            return difference, (self.same[e], self.same[other]) in of_tests if comparable else None

        since = significant["reference"]
        change = Change(
            *difference_from(before, since | significant["before"]), reference, *difference_from(reference, since)
        )
        if e != max(self.means) or self.slope is None:
            return change
        return change._replace(trend=self.slope, trend_significant=bool(significant["trend"]))


def _sample(scores: Scores, design: Mapping[str, str]) -> Sample | None:
    """What a test sees; None if nothing can be tested."""
    try:
        sample, queries = matched_sample(scores, 0, **design)  # type: ignore[arg-type]
    except CranfieldError:
        return None
    return sample if len(queries) > 1 else None


def _p_value(sample: Sample | None) -> float | None:
    """Of the first two runs, by Student's t."""
    if sample is None:
        return None
    p = float(p_values(sample, np.array([(0, 1)]), ComparisonSettings(test="t"))["t"][0])
    return 1.0 if np.isnan(p) else p


def _significant(tests: Sequence[Mapping[str, Tests]]) -> list[dict[str, set[tuple[int, int]]]]:
    """The significant tests of each series, by what is tested, after Holm's correction over all of them."""
    named = [(s, kind, pair) for s, of_run in enumerate(tests) for kind, of_kind in of_run.items() for pair in of_kind]
    number = Counter(kind for _, kind, _ in named)
    p = np.array([tests[s][kind][pair] for s, kind, pair in named])
    weight = np.array([SHARES[kind] / number[kind] for _, kind, _ in named])
    significant: list[dict[str, set[tuple[int, int]]]] = [{kind: set() for kind in SHARES} for _ in tests]
    for s, kind, pair in compress(named, corrected(p, "holm", weight) < LEVEL):
        significant[s][kind].add(pair)
    return significant


def _basis(line: Mapping[str, Any]) -> tuple[Any, ...]:
    """What must be the same in entries that are compared: judgments, and the policy but for the seed."""
    inputs = (source for source in line["provenance"].get("inputs", []) if source["kind"] in JUDGMENTS)
    digests = sorted((source["kind"], source.get("collection") or "", source.get("digest") or "") for source in inputs)
    about = line["provenance"]
    return digests, about.get("depends", {}), {**about.get("policy", {}), "seed": None}


class SavedMean(NamedTuple):
    """A mean in a line of the history. ``values``: by query, a number, None, or a list of these for repeats."""

    mean: float | None
    n: int
    low: float | None = None
    high: float | None = None
    better: Literal["lower"] | None = None
    values: Mapping[str, Any] | None = None

    @property
    def rows(self) -> list[list[Any]]:
        """The values of each query, one for each repeat."""
        return [row if isinstance(row, list) else [row] for row in (self.values or {}).values()]


class SavedEntry(NamedTuple):
    """A line of the history."""

    runs: Mapping[str, Mapping[str, SavedMean]]
    provenance: SavedProvenance
    commit: str | None = None
    cluster: Mapping[str, str] = MappingProxyType({})
    collection: Mapping[str, str] = MappingProxyType({})
    gates: Mapping[str, int] = MappingProxyType({})


def _check(data: Any) -> None:
    """Raise unless every field of a history entry is what `entry` writes."""
    saved: SavedEntry = typed(SavedEntry, data)
    means = [(name, mean) for run, of_run in saved.runs.items() for name, mean in {run: None, **of_run}.items()]
    for name, mean in means:
        if not name.strip():
            raise ValueError("an empty name")
        if mean is None:
            continue
        numbers = [mean.mean, mean.low, mean.high, *(value for row in mean.rows for value in row)]
        if not all(number is None or fits(NUMBER, number) for number in numbers):
            raise TypeError("expected numbers")
        if len(set(map(len, mean.rows))) > 1 or [] in mean.rows or not all(map(str.strip, mean.values or ())):
            raise ValueError("values of different numbers of repeats, or of a query without an id")
