"""Which differences between runs are significant: every pair, with intervals, effect sizes and p-values."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from inspect import signature
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_type_hints

import numpy as np

from cranfield.analysis.audit import reversals
from cranfield.analysis.significance import (
    BY_PAIR,
    DEFAULT_SAMPLES,
    SIGNIFICANCE_TESTS,
    ComparisonSettings,
    MeasureComparison,
    PairComparison,
    Test,
    choose_samples,
    compare_pairs,
    correct,
    lowest_p,
    p_values,
)
from cranfield.codec import PathLike, Saved, plain, typed
from cranfield.data import Integers
from cranfield.errors import InputError, MeasureError, UnknownName, UsageError, optional
from cranfield.evaluation.collection import Collection, check_options, is_several
from cranfield.evaluation.designs import INDEPENDENT, QUERY, cluster_of, matched_sample
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, Measures, evaluate
from cranfield.evaluation.notes import Note, QueryNames, policy_line, sentences
from cranfield.evaluation.plan import Column
from cranfield.evaluation.predicted import PredictedMean
from cranfield.evaluation.provenance import Provenance
from cranfield.evaluation.run_scores import Progress
from cranfield.evaluation.scores import Scores
from cranfield.measures import parse
from cranfield.parallel import followed, in_background
from cranfield.statistics.design import Sample
from cranfield.statistics.rounding import SAME
from cranfield.wording import decodable, few, listed, plural, printable

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pandas
    from matplotlib.axes import Axes

ComparisonTable = Literal["means", "pairs"]

SELECTED = "the best run was selected by the scores that it is tested on: p-values do not account for the selection"
TOO_OFTEN = "equal runs may be called different more often than alpha says"
BEST = "best"  # the baseline that is the best run of each measure
SAVED = ".json"  # the ending of a file of saved scores

SAVED_SETTINGS = tuple(field.name for field in fields(ComparisonSettings))
OPTIONS = tuple(name for name in SAVED_SETTINGS if name not in ("test", "baseline", "seed", "together"))
SAVED_BY_MEASURE = ("queries", "units", "better", "largest", "lowest_p", "anova", "sources")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Saved):
    """Runs compared in pairs: how it was done, and what was found in each measure.

    ``comparison["nDCG@10"].pairs`` are the pairs of runs. ``query_notes``, ``resolution_notes``: which queries were
    compared, and whether the test can decide; ``notes`` are both. ``predicted``: the differences by human and predicted
    judgments together. ``policy``: how ties, relevance and undefined values were treated, in words.

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels = {"1": {"a": 1}, "2": {"b": 1}}
    >>> runs = {"A": {"1": ["a", "b"], "2": ["b", "a"]}, "B": {"1": ["b", "a"], "2": ["b", "a"]}}
    >>> comparison = cf.compare(qrels, runs, "RR", test="t")
    >>> [(pair.run, pair.other, pair.difference) for pair in comparison["RR"].pairs]
    [('B', 'A', -0.25)]
    """

    _SHOWN_BY = "compare"

    _KIND: ClassVar[str] = "comparison"
    _WHAT: ClassVar[str] = "a saved comparison"
    _HINT: ClassVar[str] = (
        "save a comparison with `cranfield compare ... --format json -o FILE` or `comparison.save(FILE)`"
    )

    settings: ComparisonSettings
    by_measure: tuple[MeasureComparison, ...]
    query_notes: tuple[Note, ...] = ()
    resolution_notes: tuple[Note, ...] = ()
    predicted: tuple[PredictedMean, ...] = ()
    policy: str = ""
    provenance: Provenance | None = None

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return self.by_measure[0].runs

    @property
    def measures(self) -> tuple[str, ...]:
        """The labels of the measures."""
        return tuple(compared.measure for compared in self.by_measure)

    @property
    def baseline(self) -> str | None:
        """The run that all others are compared with; None for all pairs, ``best`` for the best run of each measure."""
        return self.settings.baseline

    @property
    def reference(self) -> str | None:
        """The run that all others are compared with in the first measure; None for all pairs."""
        return None if self.baseline is None else self.runs[self.by_measure[0].places[0, 1]]

    def __getitem__(self, measure: str) -> MeasureComparison:
        """The comparison by one measure, given by its label or by any of its names."""
        if measure not in self.measures:
            with suppress(MeasureError):
                measure = str(parse(measure))
        for compared in self.by_measure:
            if compared.measure == measure:
                return compared
        raise UnknownName(f"`{measure}` is not one of the measures", hint=f"they are {', '.join(self.measures)}")

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.measures)

    def __repr__(self) -> str:
        against = plural(self.size, "pair") if self.baseline is None else f"each against {printable(self.baseline)}"
        counts = [f"{compared.measure} {compared.significant.sum()}" for compared in self.by_measure]
        return decodable(
            f"Comparison: {listed(self.runs, 'run')}, {against}; "
            f"significant differences (p < {self.settings.alpha:g}): {few(counts)}"
        )

    @property
    def size(self) -> int:
        """The number of pairs of a measure."""
        return len(self.by_measure[0].places)

    @property
    def pairs(self) -> tuple[PairComparison, ...]:
        """The pairs of all measures."""
        return tuple(pair for compared in self.by_measure for pair in compared.pairs)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The queries that were compared, and whether the test can decide."""
        return self.query_notes + self.resolution_notes

    @property
    def family(self) -> str:
        """What the correction is over, in words."""
        other = "the best run" if self.baseline == BEST and BEST not in self.runs else self.baseline
        against = plural(self.size, "pair") if self.baseline is None else f"{plural(self.size, 'run')} against {other}"
        across = self.settings.family == "all"
        return f"{against} in all {len(self.by_measure)} measures" if across else f"{against} per measure"

    @cached_property
    def ranks(self) -> dict[str, dict[str, tuple[int, int]]]:
        """The ranks that each run may have, from best to worst, by measure and run.

        A run is behind those that are significantly better, and ahead of those that are significantly worse. With
        Holm's or Bonferroni's correction, the ranks of all runs hold jointly with confidence 1 - alpha. After Benjamini
        and Hochberg's, with Tukey's tests, or without any, their confidence is not known.

        >>> import cranfield as cf
        >>> new, old = {"1": 0.5, "2": 0.9, "3": 0.7}, {"1": 0.4, "2": 0.79, "3": 0.61}
        >>> values = {"new": {"m": new}, "old": {"m": old}}
        >>> cf.compare(cf.read_scores(values), test="t").ranks
        {'m': {'new': (1, 1), 'old': (2, 2)}}
        """
        if self.baseline is not None:
            raise UsageError("ranks need a comparison of all pairs of runs", hint="compare without a baseline")
        return {compared.measure: compared.ranks for compared in self.by_measure}

    def to_columns(self) -> dict[str, list[Any]]:
        """Columns by name, a row for each measure of each pair: what ``--format csv`` writes."""
        fields = [name for name in PairComparison._fields if name not in NOT_COLUMNS]
        settings = {"test": self.settings.test, "correction": self.settings.correction, "family": self.family}
        return {
            **{name: [getattr(pair, name) for pair in self.pairs] for name in fields},
            **{f"p {test}": [pair.tests[test] for pair in self.pairs] for test in self.settings.tests},
            "doubts": [NOT_AUDITED if pair.doubts is None else " ".join(pair.doubts) for pair in self.pairs],
            **{name: [value] * len(self.pairs) for name, value in settings.items()},
        }

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each measure of each pair, as a pandas DataFrame; see `to_columns`."""
        return optional("pandas", "a pandas DataFrame", "pandas").DataFrame(self.to_columns())

    def to_latex(self, table: ComparisonTable = "means", *, digits: int = 4) -> str:
        """A table for a paper, with a caption that explains its marks: ``--format latex --table means`` or ``pairs``.

        The ``pairs`` are a table for each measure.
        """
        return self._write("latex", table=table, digits=digits)

    def to_markdown(self, table: ComparisonTable = "means", *, digits: int = 4) -> str:
        """The same tables in Markdown."""
        return self._write("markdown", table=table, digits=digits)

    def plot(self, measure: str | None = None, *, top: int | None = None, ax: Axes | None = None) -> Axes:
        """Draw the differences with their intervals; returns the Matplotlib axes.

        Of more than 45 pairs it draws a matrix: row minus column, coloured if significant, with a dot if ties or
        unjudged documents could reverse it. ``measure``: by default the first. ``top``: only the best runs; by default
        all in the matrix, and 40 against a baseline. ``ax``: axes to draw on instead of a new figure.
        """
        return self._draw(measure=measure, top=top, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, which `load` reads."""
        return {
            **self._header(),
            **{name: plain(getattr(self.settings, name)) for name in SAVED_SETTINGS},
            "runs": list(self.runs),
            "measures": list(self.measures),
            **{name: plain({m.measure: getattr(m, name) for m in self.by_measure}) for name in SAVED_BY_MEASURE},
            "pairs": plain(self.pairs),
            "notes": sentences(self.notes),
            "resolution_notes": sentences(self.resolution_notes),
            "policy": self.policy,
            **({"predicted": plain(self.predicted)} if self.predicted else {}),
            **({"provenance": self.provenance.data} if self.provenance is not None else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The comparison that `to_dict` returned."""
        hints = get_type_hints(ComparisonSettings)
        settings = ComparisonSettings(**{name: typed(hints[name], data[name], name) for name in SAVED_SETTINGS})
        if None in (settings.test, settings.level, settings.samples):
            raise ValueError("the settings of a comparison are complete")
        runs, measures = (typed(tuple[str, ...], data[name], name) for name in ("runs", "measures"))
        if settings.baseline not in (None, BEST, *runs):
            raise ValueError(f"the baseline `{settings.baseline}` is not one of the runs")
        pairs = typed(tuple[PairComparison, ...], data["pairs"], "pairs")
        rows = [[row for row in pairs if row.measure == measure] for measure in measures]
        _check_saved(rows, runs, settings)
        types = get_type_hints(MeasureComparison)
        by_measure = [
            _saved_measure(
                runs, of_measure, {name: typed(types[name], data[name][measure], name) for name in SAVED_BY_MEASURE}
            )
            for measure, of_measure in zip(measures, rows, strict=True)
        ]
        notes, resolution = (typed(tuple[str, ...], data[name], name) for name in ("notes", "resolution_notes"))
        return cls(
            settings,
            tuple(by_measure),
            tuple(map(Note.saved, notes[: len(notes) - len(resolution)])),
            tuple(map(Note.saved, resolution)),
            typed(tuple[PredictedMean, ...], data.get("predicted", []), "predicted"),
            typed(str, data["policy"], "policy"),
            Provenance.of_file(data),
        )

    def save(self, path: PathLike) -> None:
        """Write the comparison as one JSON file; an existing file is replaced only by a complete one.

        >>> import cranfield as cf
        >>> comparison.save("comparison.json")  # doctest: +SKIP
        >>> cf.load("comparison.json")  # doctest: +SKIP
        Comparison: 2 runs (old, new), 1 pair; significant differences (p < 0.05): RR 1
        """
        if not all(np.isfinite(compared.means).all() for compared in self.by_measure):
            raise UsageError("a comparison with infinite means cannot be saved")
        super().save(path)


NOT_AUDITED = "not audited"
NOT_COLUMNS = ("tests", "doubts", "variance", "skewness", "raised", "lowered")


def _check_saved(rows: Sequence[Sequence[PairComparison]], runs: Sequence[str], settings: ComparisonSettings) -> None:
    """Raise if the pairs of a file do not fit each other."""
    named = [[(row.run, row.other) for row in of_measure] for of_measure in rows]
    same = settings.baseline != BEST
    if not named or not named[0] or any(pairs != named[0] if same else len(pairs) != len(named[0]) for pairs in named):
        raise ValueError("the measures do not have the same pairs of runs")
    if len(set(runs)) < len(runs) or any({run for pair in pairs for run in pair} != set(runs) for pairs in named):
        raise ValueError("the pairs do not cover the runs")
    if any(tuple(row.tests) != settings.tests for of_measure in rows for row in of_measure):
        raise ValueError("pairs have p-values of other tests")


def _saved_measure(runs: tuple[str, ...], rows: Sequence[PairComparison], fields: dict[str, Any]) -> MeasureComparison:
    """One measure from its pairs; JSON has no infinity, so that the end of an infinite interval is null there."""
    index = {run: r for r, run in enumerate(runs)}
    means = {run: mean for row in rows for run, mean in ((row.run, row.mean), (row.other, row.other_mean))}
    columns: dict[str, Any] = {name: np.array([getattr(row, name) for row in rows]) for name in BY_PAIR}
    for name, infinite in (("low", -np.inf), ("high", np.inf), ("t_low", -np.inf), ("t_high", np.inf)):
        columns[name] = np.where(np.isnan(columns[name]), infinite, columns[name])
    fields["largest"] = math.inf if math.isnan(fields["largest"]) else fields["largest"]
    effect = columns["effect"]
    columns["effect"] = np.where(np.isnan(effect), np.copysign(math.inf, columns["difference"]), effect)
    return MeasureComparison(
        measure=rows[0].measure,
        runs=runs,
        places=np.array([(index[row.run], index[row.other]) for row in rows]),
        means=np.array([means[run] for run in runs]),
        tests={test: np.array([row.tests[test] for row in rows]) for test in rows[0].tests},
        variance=np.array([row.variance for row in rows]),
        doubts=tuple(row.doubts for row in rows),
        bca=partial(np.stack, [columns.pop("bca_low"), columns.pop("bca_high")], axis=1),
        **columns,
        **fields,
    )


def compare(
    qrels: Any,
    run: Any = None,
    measures: Measures | None = None,
    *,
    baseline: str | None = None,
    test: Test | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Which differences between runs are significant, how large they are, and what could reverse them.

    Runs are compared over the queries for which all have a value. A difference is ``run`` minus ``other``: a run minus
    the baseline, or the later run minus the earlier one. If the collection has predicted judgments, the comparison has
    the differences from human and predicted judgments together. Queries are resampled in the order of their ids, so the
    order of lines in files does not matter. To compare only the best ten runs:
    ``compare(scores.only(runs=scores.best(10)))``.

    Parameters
    ----------
    qrels, run, measures
        Judgments or a `Collection`, runs and measures, as `evaluate` takes them; or `Scores` or an `Evaluation` alone.
    baseline
        The run with which all others are compared; by default all pairs are. ``best`` is the best run by each measure,
        unless a run has this name; ``FILE.json`` or ``FILE.json#RUN`` are saved scores, which must be of the same
        judgments.
    test
        The test that decides: ``randomisation`` (the default), ``t`` (the default if runs have random repeats),
        ``wilcoxon``, ``sign``, ``bootstrap``, ``tukey`` or ``randomised-tukey``.
    progress
        A function that is called with the number of steps done and of all.
    tests
        Further tests, or ``["all"]``, whose p-values are not corrected.
    correction, family
        How p-values are corrected (``holm``, ``bonferroni``, ``bh``, ``none``), over the pairs of each ``measure`` or
        of ``all`` measures.
    alpha, level
        The level of significance (0.05), and of intervals, by default 1 - alpha.
    samples, seed
        The number of resamples of tests that cannot try every possibility: by default 100,000, or more if that is too
        few for the number of pairs. And the random seed.
    cluster
        The attribute of queries that are not independent, such as a topic or conversation; by default equal ids in
        several collections that have judged documents in common, unless it is ``none``.
    collection
        The attribute whose means are averaged.
    repeats
        Whether the repeats of runs stand for others (``random``), or are the only ones of interest (``fixed``).
    audit
        Whether each pair says what ties or unjudged documents could reverse. Scores without rankings are never checked.
    **options
        The options of `evaluate`.

    Returns
    -------
    Comparison
        ``comparison[measure].pairs`` has every pair; ``comparison.ranks`` the ranks that runs may have.

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels = {q: {"a": 1} for q in "123456"}
    >>> old, new = {q: {"b": 2.0, "a": 1.0} for q in "123456"}, {q: {"a": 2.0, "b": 1.0} for q in "123456"}
    >>> comparison = cf.compare(qrels, {"old": old, "new": new}, "RR", baseline="old")
    >>> pair = comparison["RR"].pairs[0]
    >>> pair.run, pair.other, pair.difference, round(pair.corrected, 5)
    ('new', 'old', 0.5, 0.03125)
    """
    check_options(options, [*OPTIONS, *(name for name in signature(evaluate).parameters if name not in OPTIONS)])
    seed = options.pop("seed", 0)
    own = {name: options.pop(name) for name in OPTIONS if name in options}
    settings = ComparisonSettings(test=test, baseline=baseline, seed=seed, **own)
    qrels = qrels if isinstance(qrels, (Scores, Evaluation)) or is_several(qrels, run) else Collection.of(qrels)
    source: Evaluation | Scores
    if isinstance(qrels, (Scores, Evaluation)):
        if run is not None or measures is not None or options:
            raise UsageError(
                f"compare takes no runs, measures or options together with {type(qrels).__name__}",
                hint="use baseline= to name the run to compare with",
            )
        source = qrels
    elif run is None:
        raise UsageError(
            "compare needs judgments and runs", hint="call compare(qrels, runs, measures), or compare(scores)"
        )
    elif not isinstance(qrels, Collection) or qrels.judges is not None:
        source = evaluate(qrels, run, measures, **options, seed=seed)
    else:
        how = {name: options.pop(name) for name in ("names", "duplicates") if name in options}
        source = Evaluator(qrels, measures, **options, seed=seed).evaluation(run, **how)
    evaluation = source if isinstance(source, Evaluation) else None
    scores = source if isinstance(source, Scores) else source.scores
    return compare_scores(*with_baseline(scores, settings), evaluation, progress)


def with_baseline(
    scores: Scores, settings: ComparisonSettings, saved: Scores | None = None, *, changed_judgments: bool = False
) -> tuple[Scores, ComparisonSettings]:
    """The scores with those of a saved baseline before them, and settings that name it.

    ``saved``: the baseline, if it was read before. ``changed_judgments``: queries whose judgments have changed are
    allowed, and do not count.
    """
    saved = saved or saved_baseline(settings.baseline, scores.runs)
    if saved is None:
        return scores, settings
    joined = scores.with_run(saved, changed_judgments=changed_judgments)
    return joined, replace(settings, baseline=joined.runs[0])


def saved_baseline(baseline: str | None, runs: Container[str]) -> Scores | None:
    """The scores of one run, if the baseline is not one of the runs, but FILE.json or FILE.json#RUN."""
    path, _, name = (baseline or "").partition("#")
    if baseline in runs or not path.endswith(SAVED):
        return None
    scores = Scores.load(path)
    if name and name not in scores.runs:
        raise UsageError(f"{path} has no run `{name}`", hint=f"its runs are {few(scores.runs, 10)}")
    if not name and len(scores.runs) > 1:
        raise UsageError(f"{path} has {len(scores.runs)} runs", hint=f"name one of them: {path}#{scores.runs[0]}")
    return scores.only(runs=name or scores.runs[0])


def measures_of(saved: Scores) -> list[str]:
    """The names of the measures of a saved baseline."""
    return [str(column.measure) for column in saved.columns if column.part == "value"]


def compare_scores(
    scores: Scores,
    settings: ComparisonSettings,
    evaluation: Evaluation | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """The comparison of scores: every door comes here.

    ``evaluation``: the rankings behind the scores, if they are here; what could reverse a difference is computed from
    them, where the scores are those of single rankings.
    """
    if evaluation is None or not settings.audit:
        comparison = _tested(scores, settings, progress)
    else:
        pending = in_background(partial(_tested, scores, settings))  # most of it runs beside Python
        comparison = with_doubts(pending, scores, evaluation, progress)
    if scores.predictions is not None:
        places = [compared.places.tolist() for compared in comparison.by_measure]
        differences = scores.predictions.differences(scores, places, alpha=1 - settings.confidence)
        comparison = replace(comparison, predicted=differences)
    return comparison


def _tested(scores: Scores, settings: ComparisonSettings, progress: Progress | None = None) -> Comparison:
    """The comparison, without what could reverse it."""
    selected = settings.baseline == BEST and BEST not in scores.runs
    check_comparable(scores.columns)
    by_default = settings.cluster is None
    settings, places = settings_for(scores, settings)
    all_queries = sorted(scores.queries[q] for q in np.flatnonzero(scores.counted.any(axis=0)))
    matched = _matched(scores, settings, len(all_queries))
    samples = [sample for sample, _ in matched]
    steps = followed(zip(samples, places, strict=True), progress, 2 * len(samples))
    p = [p_values(sample, pairs, settings) for sample, pairs in steps]
    corrections = correct([of_measure[settings.chosen] for of_measure in p], settings)
    parts = followed(zip(samples, places, p, corrections, strict=True), progress, 2 * len(samples), len(samples))
    outcomes = [compare_pairs(sample, pairs, settings, of_tests, done) for sample, pairs, of_tests, done in parts]
    sources = [
        {scores.runs[run]: shares for run, shares in sample.sources().items()} if sample.repeats else {}
        for sample in samples
    ]
    comparison = build_comparison(scores, settings, places, all_queries, [names for _, names in matched], outcomes)
    by_measure = [
        replace(compared, sources=shares) for compared, shares in zip(comparison.by_measure, sources, strict=True)
    ]
    few_repeats = [run for run, table in scores.repeats.items() if table.shape[2] == 2 and settings.repeats == "random"]
    texts = [SELECTED] if selected else []
    if by_default and settings.cluster == QUERY:
        texts.append(
            f"queries with equal ids and judged documents in common are one cluster; cluster={INDEPENDENT} undoes it"
        )
    if few_repeats:
        texts.append(
            f"two repeats are too few to estimate the variance between repeats: {few(few_repeats)}; {TOO_OFTEN}"
        )
    texts += _without_repeats(scores, samples, places)
    texts += [text for compared in by_measure for text in _without_spread(compared, settings)]
    return replace(
        comparison,
        by_measure=tuple(by_measure),
        query_notes=(*comparison.query_notes, *map(Note.saved, texts)),
        provenance=scores.provenance,
    )


def _without_repeats(scores: Scores, samples: Sequence[Sample], places: Integers) -> list[str]:
    """The runs without repeats that are compared with runs that have some, and where their error comes from."""
    runs_by_source: dict[str, set[int]] = {}
    for sample, pairs in zip(samples, places, strict=True):
        for pair, borrowed in zip(pairs.tolist(), sample.borrowed(pairs).tolist(), strict=True):
            alone = [run for run in pair if run not in sample.repeats]
            if sample.repeats and len(alone) == 1:
                unknown = f"is not known, and not in the error: {TOO_OFTEN}"
                where = "is taken from the run compared with" if borrowed else unknown
                runs_by_source.setdefault(where, set()).update(alone)
    return [
        f"without repeats: {few([scores.runs[run] for run in sorted(runs)])}; how much repeats would differ {where}"
        for where, runs in runs_by_source.items()
    ]


def _without_spread(compared: MeasureComparison, settings: ComparisonSettings) -> list[str]:
    """The pairs of different runs on which the test cannot decide because all queries differ by the same."""
    equal = (compared.variance.sum(axis=1) == 0) & (np.abs(compared.difference) > SAME) & np.isinf(compared.low)
    if not equal.any() or SIGNIFICANCE_TESTS[settings.chosen].signs:
        return []
    names = few([f"{compared.runs[a]} and {compared.runs[b]}" for a, b in compared.places[equal].tolist()])
    return [
        f"{compared.measure}: {settings.chosen} cannot decide without a spread: all queries differ by the same: {names}"
    ]


def with_doubts(
    pending: Future[Comparison], scores: Scores, evaluation: Evaluation, progress: Progress | None = None
) -> Comparison:
    """A comparison of these scores, with what ties and unjudged documents could reverse.

    That is known for pairs of single rankings whose values are those of the evaluation: not for means over repeats,
    saved scores, nested means and standardised scores. It is found while the comparison is ``pending``.
    """
    names = [None if run.run.system else run.run.name for run in evaluation.run_scores]
    row = np.array([names.index(run) if run in names else -1 for run in scores.runs])
    labels = {column.label for column in scores.columns if column in evaluation.columns}
    if not set(evaluation.queries) <= set(scores.queries) or (row >= 0).sum() < 2 or not labels:
        return pending.result()
    reversed_by, by_measure = reversals(evaluation, progress), []
    for compared in pending.result().by_measure:
        first, second = row[compared.places.T]
        causes = reversed_by[compared.measure].causes(first, second) if compared.measure in labels else compared.doubts
        audited = ((first >= 0) & (second >= 0)).tolist()
        doubts = tuple(of_pair if both else None for of_pair, both in zip(causes, audited, strict=True))
        by_measure.append(replace(compared, doubts=doubts))
    return replace(pending.result(), by_measure=tuple(by_measure))


def settings_for(scores: Scores, settings: ComparisonSettings) -> tuple[ComparisonSettings, Integers]:
    """The settings for these runs and measures, and the runs of every pair in each measure, (measure, pair, 2).

    A test is chosen, a number of resamples that fits the number of pairs and queries, and a baseline: ``best`` is the
    best run of each measure, unless a run has this name; if one run is the best in all, it is that one.
    """
    baseline, measures = settings.baseline, len(scores.columns)
    of_measure = [baseline] * measures
    if baseline == BEST and BEST not in scores.runs:
        of_measure = [scores.order(measure)[0] for measure in scores.measures]
        baseline = of_measure[0] if len(set(of_measure)) == 1 else BEST
    places = np.array([run_pairs(scores.runs, run) for run in of_measure])
    tests = places.shape[1] * (measures if settings.family == "all" else 1)
    cluster = cluster_of(scores, settings.cluster)
    settings = replace(settings, baseline=baseline, level=settings.confidence, cluster=cluster)
    settings = settings.for_scores(repeated=bool(scores.repeats))
    return choose_samples(settings, len(scores.queries), tests), places


def resolution_of(scores: Scores, settings: ComparisonSettings) -> list[Note]:
    """Before anything is computed: the number of resamples, if it was raised, and whether the test can decide."""
    check_comparable(scores.columns)
    settings, _ = settings_for(scores, settings)
    units = [sample.units for sample, _ in _matched(scores, settings, int(scores.counted.any(axis=0).sum()))]
    return resolution_notes(settings, scores.measures, units)


def run_pairs(runs: Sequence[str], baseline: str | None) -> Integers:
    """The runs of every pair, or of each and the baseline, (pair, 2)."""
    if len(runs) < 2:
        message = "compare needs at least two runs"
        saved = "; a baseline is one of the runs, or a file of scores that ends in .json"
        raise UsageError(message, hint="only one run was given" + (saved if baseline else ""))
    if baseline is None:
        return np.array(list(combinations(range(len(runs)), 2)))
    check_baseline(runs, baseline)
    at = runs.index(baseline)
    return np.array([(r, at) for r in range(len(runs)) if r != at])


def check_baseline(runs: Sequence[str], baseline: str) -> None:
    """Raise if the baseline is not one of the runs."""
    if baseline not in runs:
        raise UsageError(f"the baseline `{baseline}` is not one of the runs", hint=f"the runs are {few(runs, 10)}")


def check_comparable(columns: Sequence[Column]) -> None:
    """Raise if a measure has no value of its own for a query."""
    for column in columns:
        if column.aggregate == "geometric":
            raise UsageError(
                f"{column.label} is a geometric mean over queries and has no per-query values to compare",
                hint="compare AP instead",
            )


def comparable(scores: Scores) -> list[str]:
    """The measures that can be compared: they have a value of every run for two queries or more."""
    return [
        column.label
        for m, column in enumerate(scores.columns)
        if column.aggregate != "geometric" and len(scores._matched(m)[1]) > 1
    ]


def check_query_count(measure: str, used: int, of: int) -> None:
    """Raise if too few queries have a value in every run."""
    if used < 2:
        raise InputError(
            [f"{measure}: {used} of {of} queries have a value in every run; a test needs at least two"],
            hint="check that the runs answer the same queries",
        )


def _matched(scores: Scores, settings: ComparisonSettings, of: int) -> list[tuple[Sample, tuple[str, ...]]]:
    """What the test sees of each measure, and the queries for which every run has a value."""
    design: dict[str, Any] = {name: getattr(settings, name) for name in ("cluster", "collection", "repeats")}
    matched = [matched_sample(scores, m, **design) for m in range(len(scores.measures))]
    for measure, (_, queries) in zip(scores.measures, matched, strict=True):
        check_query_count(measure, len(queries), of)
    return matched


def build_comparison(
    scores: Scores,
    settings: ComparisonSettings,
    places: Integers,
    all_queries: Sequence[str],
    queries: Sequence[tuple[str, ...]],
    outcomes: Sequence[dict[str, Any]],
) -> Comparison:
    """The comparisons of all measures together, with notes.

    ``all_queries`` are the queries that count for some run, ``queries`` those on which each measure was compared,
    ``outcomes`` what was found there.
    """
    by_measure = []
    for m, (column, outcome) in enumerate(zip(scores.columns, outcomes, strict=True)):
        if column.lower_is_better:
            outcome |= {"wins": outcome["losses"], "losses": outcome["wins"]}
        compared = MeasureComparison(
            measure=column.label,
            better=column.better,
            largest=float(np.diff(column.measure.definition.bounds).item()),
            runs=scores.runs,
            queries=queries[m],
            places=places[m],
            sources={},
            doubts=(None,) * len(places[m]),
            **outcome,
        )
        # Of two runs without a baseline, the later is compared with the earlier.
        by_measure.append(compared if settings.baseline is not None else compared.turned)
    units = [compared.units for compared in by_measure]
    return Comparison(
        settings,
        tuple(by_measure),
        tuple(_query_notes(scores.measures, all_queries, queries)),
        tuple(resolution_notes(settings, scores.measures, units)),
        policy=policy_line(scores, denominator=False),
    )


def resolution_notes(settings: ComparisonSettings, measures: Sequence[str], units: Sequence[int]) -> list[Note]:
    """The number of resamples, if it was raised; a warning if no p-value can be significant after correction.

    ``units``: how many queries, or clusters of them, are compared, for each measure.
    """
    notes = []
    test, tests = SIGNIFICANCE_TESTS[settings.chosen], settings.together
    if test.resamples and settings.resamples > DEFAULT_SAMPLES and DEFAULT_SAMPLES * settings.alpha <= tests:
        raised = {"resamples": settings.resamples, "default": DEFAULT_SAMPLES, "pairs": tests}
        notes.append(Note("resamples_raised", values=raised))
    lowest = {measure: lowest_p(settings, number) for measure, number in zip(measures, units, strict=True)}
    unable = {measure: p for measure, p in lowest.items() if p >= settings.alpha}
    if unable:
        most = max(number for measure, number in zip(measures, units, strict=True) if measure in unable)
        one_sided = lowest_p(settings, most, sides=1)
        values = {
            "test": settings.chosen,
            "measures": [] if len(unable) == len(lowest) else list(unable),
            "lowest_p": sorted(unable.values()),
            "gate": one_sided if settings.baseline is not None and one_sided < settings.alpha else None,
            # Either the signs of the differences have too few patterns, or too few of them are drawn.
            "more": "queries" if test.signs and 2.0 ** min(max(units) - 1, 60) <= settings.resamples else "samples",
            "fewer_pairs": settings.multiplied and tests > 1,
        }
        notes.append(Note("none_significant", values=values))
    return notes


def _query_notes(measures: Sequence[str], all_queries: Sequence[str], used: Sequence[tuple[str, ...]]) -> list[Note]:
    """Which queries were used, and which were left out."""
    notes = []
    for queries in dict.fromkeys(used):
        same = [m for m, others in zip(measures, used, strict=True) if others == queries]
        used_queries = set(queries)
        missing = [query for query in all_queries if query not in used_queries]
        values = {
            "measures": [] if len(same) == len(measures) else same,
            "queries": QueryNames.of(queries),
            "left_out": QueryNames.of(missing),
        }
        notes.append(Note("compared", values=values))
    return notes
