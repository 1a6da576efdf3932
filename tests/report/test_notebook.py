"""Results in notebooks: HTML that is well formed and escaped, one line of text, and figures on request."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield import example
from cranfield.analysis.collection_statistics import collection_statistics
from cranfield.display import Displayed
from cranfield.errors import MissingDependency, UnknownName, UsageError
from cranfield.judging.judge_reports import judges
from cranfield.judging.proposals import next_documents
from cranfield.lab.study import SeveralCollections

QRELS = str(example.path(example.QRELS))
RUNS = [str(example.path(name)) for name in example.RUNS]
EVALUATION = cf.Evaluator(QRELS, ["AP", "nDCG@10"]).evaluation(RUNS)
SCORES = EVALUATION.scores
MANY = {f"run{i}": {q: ["a", "b", "c"][: i % 3 + 1][:: 1 - 2 * (i % 2)] for q in "12345678"} for i in range(126)}
MANY_SCORES = cf.evaluate({q: {"a": 1, "c": int(q) % 2} for q in "12345678"}, MANY, ["AP", "RR"])
TEXTS = {"d1": "lamp oil", "d2": "sea gull"}

RESULTS: dict[str, Callable[[], Any]] = {
    "Scores": lambda: SCORES,
    "ScoreColumn": lambda: SCORES["AP"],
    "Evaluation": lambda: EVALUATION,
    "Comparison": lambda: cf.compare(EVALUATION),
    "Comparison baseline": lambda: cf.compare(SCORES, baseline="bm25"),
    "Audit": lambda: cf.audit(EVALUATION),
    "PerQueryScores": lambda: cf.queries(SCORES, "map"),
    "Explanation": lambda: cf.explain(
        cf.Collection({"q": {"d1": 1}}, documents=TEXTS), {"q": ["d2", "d1"]}, "DELTARB(whole=True)"
    ),
    "JudgeReport": lambda: judges(QRELS, {"judge": QRELS}, RUNS, "nDCG@10")[0],
    "NextDocuments": lambda: next_documents(QRELS, RUNS, "DCG@10"),
    "CollectionStatistics": lambda: collection_statistics(QRELS, RUNS),
    "Correlation": lambda: cf.lab.correlation(QRELS, RUNS, ["AP", "P@5"]),
    "Reduction": lambda: cf.lab.reduction(QRELS, RUNS, ["AP", "P@5"], rates=[50], repeats=2, samples=20),
    "Power": lambda: cf.lab.power(QRELS, RUNS, ["AP", "P@5"], samples=20, trials=5),
    "Ties": lambda: cf.lab.ties(QRELS, RUNS, ["AP", "P@5"], samples=5),
    "Stopping": lambda: cf.lab.stopping(QRELS, RUNS[0], "nDCG@10[terminal]", repeats=5),
    "Truncation": lambda: cf.lab.truncation(QRELS, RUNS, ["AP", "RR"]),
    "Properties": lambda: cf.lab.properties(["AP", "bpref"], documents=3),
    "SeveralCollections": lambda: SeveralCollections(
        {year: cf.lab.correlation(QRELS, RUNS, ["AP", "P@5"]) for year in ("2023", "2024")}
    ),
}
WITHOUT_FIGURES = {"NextDocuments", "CollectionStatistics", "Properties"}


class Checked(HTMLParser):
    """Raises if a tag is not closed in order; collects the text and the tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)
        for name, value in attrs:
            assert name == "style" and "background" not in value and "color:" not in value

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def checked(html: str) -> Checked:
    parser = Checked()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    assert parser.tags <= {
        "code",
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "b",
        "br",
        "sup",
        "small",
        "details",
        "summary",
    }
    return parser


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_a_table_and_a_line(name: str) -> None:
    result = RESULTS[name]()
    assert isinstance(result, Displayed)
    assert "table" in checked(result._repr_html_()).tags
    line = repr(result)
    assert "\n" not in line and len(line) < 300 and "array(" not in line
    assert "array(" not in str(result) and "──" in str(result)
    json.dumps({"text/html": result._repr_html_()}).encode()


def test_all_classes_that_are_displayed_have_tables() -> None:
    def below(kind: type) -> set[str]:
        own = {kind.__name__} if kind.__module__.startswith("cranfield") else set()
        return own.union(*map(below, kind.__subclasses__()))

    for name in below(Displayed) - {"Displayed", "Result", "Saved", "Everything"}:
        kind = _class(name)
        module = find_spec(f"cranfield.report.{kind._SHOWN_BY}") if kind._SHOWN_BY else None
        assert module or hasattr(kind, "pages"), name


def _class(name: str, kind: type = Displayed) -> Any:
    return kind if kind.__name__ == name else next(filter(None, (_class(name, k) for k in kind.__subclasses__())), None)


def test_lines() -> None:
    assert repr(SCORES) == "Scores: 4 runs (bm25, dense, llm, ...), 2 measures (AP, nDCG@10), 7 queries"
    assert repr(SCORES["AP"]) == "AP: bm25: 0.5657, dense: 0.5802, llm: 0.7851, quiet: 0.5058"
    assert repr(EVALUATION) == "Evaluation: 4 runs (bm25, dense, llm, ...), 2 measures (AP, nDCG@10), 8 judged queries"
    assert repr(cf.read_run({"q": {"a": 1.0}}, name="x")) == "Run: x, 1 document of 1 query"
    assert repr(cf.read_qrels({"q": {"a": 1, "b": 0}}, name="x")) == "Judgments: x, 2 documents of 1 query"


def test_the_line_of_an_evaluation_computes_nothing() -> None:
    evaluation = cf.Evaluator(QRELS, "AP").evaluation(RUNS)
    repr(evaluation)
    assert "scores" not in vars(evaluation)


def test_best_runs_come_first_and_the_rest_is_counted() -> None:
    text = checked(MANY_SCORES._repr_html_()).text
    assert "... and 106 more runs" in text
    assert text.count("run") < 40
    best = MANY_SCORES.order()[0]
    assert f"\n{best}\n" in text
    assert str(MANY_SCORES).count("\n") < 40
    assert "... and 106 more runs" in str(MANY_SCORES)
    assert len(repr(MANY_SCORES)) < 120 and len(repr(MANY_SCORES["AP"])) < 200


def test_many_runs_compared() -> None:
    text = checked(cf.compare(MANY_SCORES, test="t")._repr_html_()).text
    assert "... and 10 more runs" in text and "the best 30 of 126 runs are shown" in text
    assert len(text.splitlines()) < 300


HOSTILE = "<script>alert(1)</script>&\"'\x1b[2J\n$x_1$\udcff"


def test_text_of_others_is_escaped() -> None:
    qrels = {HOSTILE: {"a": 1}, "2": {"a": 1}, "3": {"a": 0, "b": 1}}
    runs = {HOSTILE: {HOSTILE: ["a"], "2": ["b", "a"], "3": ["a"]}, "x": {HOSTILE: ["b", "a"], "2": ["a"], "3": ["b"]}}
    evaluation = cf.Evaluator(qrels, "RR").evaluation(runs)
    scores = evaluation.scores
    for result in (scores, scores["RR"], cf.compare(evaluation), cf.audit(evaluation), cf.queries(scores), evaluation):
        html = result._repr_html_()
        assert "script" not in checked(html).tags
        for text in (html, str(result), repr(result)):
            assert "\x1b" not in text
            text.encode()  # no bytes that are not text
    table = scores.table(per_query=True)
    assert "script" not in checked(table._repr_html_()).tags
    table.encode()


# Columns and tables of scores.


@pytest.mark.parametrize("name", ["nDCG@10", "ndcg_cut.10", "ndcg_cut_10", "ndcg@10"])
def test_a_column_by_any_name(name: str) -> None:
    column = SCORES[name]
    assert column.measure == "nDCG@10"
    assert dict(column) == {run: SCORES._means[r, 1] for r, run in enumerate(SCORES.runs)}
    assert column.per_query["bm25"] == SCORES._query_values(0, 1)
    assert name in SCORES and "RR" not in SCORES and "nonsense" not in SCORES


def test_a_column_of_one_run_is_a_number() -> None:
    assert float(SCORES.only(runs="llm")["AP"]) == SCORES["AP"]["llm"]
    with pytest.raises(UsageError, match="AP of 4 runs is not one number"):
        float(SCORES["AP"])


@pytest.mark.parametrize("name", ["RR", "nDCG", "nonsense", ""])
def test_an_unknown_column_lists_the_columns(name: str) -> None:
    with pytest.raises(UnknownName, match="the measures are AP, nDCG@10"):
        SCORES[name]
    with pytest.raises(KeyError):
        SCORES[name]


def test_an_unknown_run_lists_the_runs() -> None:
    with pytest.raises(UnknownName, match="the runs are bm25, dense, llm, quiet"):
        SCORES["AP"]["nobody"]
    assert SCORES["AP"].get("nobody") is None


def test_the_table_is_that_of_the_command() -> None:
    from click.testing import CliRunner

    from cranfield.cli.main import cli

    done = CliRunner().invoke(
        cli, ["eval", QRELS, *RUNS, "-m", "AP", "-m", "nDCG@10", "--quiet"], env={"COLUMNS": "100"}
    )
    assert SCORES.table() == done.stdout
    assert repr(SCORES.table()) == SCORES.table()
    assert "0.7851" in checked(SCORES.table()._repr_html_()).text
    assert SCORES.table(top=1, sort="name").splitlines()[2].startswith("bm25")
    assert "[" in SCORES.table(interval="t") and "q1" in SCORES.table(per_query=True)


# Figures.


@pytest.fixture
def pyplot(monkeypatch: pytest.MonkeyPatch) -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in WITHOUT_FIGURES])
def test_every_result_is_drawn_on_axes_that_notebooks_show(name: str, pyplot: Any, tmp_path: Path) -> None:
    before = dict(pyplot.rcParams)
    found = RESULTS[name]().plot()
    axes = found if isinstance(found, list) else [found]
    assert axes and all(hasattr(axis, "get_xlabel") for axis in axes)
    assert pyplot.gcf() is axes[0].figure
    axes[0].figure.savefig(tmp_path / "figure.png")
    assert dict(pyplot.rcParams) == before


@pytest.mark.parametrize("interactive", [True, False])
def test_a_notebook_stays_interactive(interactive: bool, pyplot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend of notebooks is loaded with the first figure, and then says that figures are shown."""
    import matplotlib

    figure = pyplot.figure

    def first_figure(*args: Any, **options: Any) -> Any:
        matplotlib.interactive(interactive)
        return figure(*args, **options)

    before = matplotlib.is_interactive()
    monkeypatch.setattr(pyplot, "figure", first_figure)
    try:
        matplotlib.interactive(not interactive)
        SCORES.plot()
        assert matplotlib.is_interactive() == interactive
    finally:
        matplotlib.interactive(before)


def test_axes_of_the_user_are_used(pyplot: Any) -> None:
    comparison = cf.compare(SCORES)
    draws = (
        SCORES.plot,
        SCORES["AP"].plot,
        comparison.plot,
        cf.audit(EVALUATION).plot,
        cf.queries(SCORES).plot,
        EVALUATION.plot,
        RESULTS["JudgeReport"]().plot,
        RESULTS["Explanation"]().plot,
    )
    for draw in draws:
        figure, axis = pyplot.subplots()
        assert draw(ax=axis) is axis
        assert pyplot.get_fignums() == [figure.number]
        pyplot.close(figure)


def names(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_yticklabels()]


def test_the_best_run_is_on_top(pyplot: Any) -> None:
    axis = SCORES.plot("ndcg_cut.10")
    assert names(axis)[::-1] == ["llm", "dense", "quiet", "bm25"]
    assert axis.get_xlabel() == "nDCG@10"


def test_of_many_runs_the_best_are_drawn(pyplot: Any) -> None:
    axis = MANY_SCORES.plot()
    assert len(names(axis)) == 40
    assert "the best 40 of 126 runs" in axis.get_xlabel()
    assert len(names(MANY_SCORES.plot(top=None, interval="t"))) == 126
    labels = [label.get_window_extent() for label in axis.get_yticklabels()]
    assert all(above.y0 >= below.y1 - 2 for below, above in pairwise(labels))


def test_many_pairs_are_a_matrix(pyplot: Any) -> None:
    comparison = cf.compare(MANY_SCORES, test="t")
    axis = comparison.plot("RR")
    assert axis.images and 20 < len(names(axis)) <= 42
    assert len(names(comparison.plot(top=11))) == 11
    against = cf.compare(MANY_SCORES, baseline="run0", test="t").plot()
    assert len(names(against)) == 40 and "best 40 of 126" in against.get_title()


def test_pairs_are_the_later_run_minus_the_earlier(pyplot: Any) -> None:
    compared = cf.compare(SCORES)
    axis = compared.plot("AP")
    points = [line.get_xdata()[0] for line in axis.lines if len(line.get_xdata()) == 1]
    rows = {f"{one.run} − {one.other}": one.difference for one in compared["AP"].pairs}
    assert dict(zip(names(axis), points, strict=True)) == rows
    assert all(SCORES.runs.index(one.run) > SCORES.runs.index(one.other) for one in compared.pairs)


def test_an_outlier_does_not_take_the_colours_of_a_matrix(pyplot: Any) -> None:
    ranks = {f"run{i:02}": {str(q): 0.9 - 0.02 * i + 0.001 * (q * i % 7) for q in range(20)} for i in range(12)}
    values = {name: {"m": by_query} for name, by_query in ranks.items()}
    values["bad"] = {"m": {str(q): -50.0 + 0.01 * q for q in range(20)}}
    axis = cf.compare(cf.read_scores(values), test="t").plot()
    assert axis.images[0].get_clim()[1] < 1
    assert "not significant" in [text.get_text() for text in axis.get_legend().get_texts()]


def test_the_command_draws_what_plot_draws(pyplot: Any, tmp_path: Path) -> None:
    from cranfield.report.canvas import save_all
    from cranfield.report.compare import drawings

    for baseline in (None, "bm25"):
        compared = cf.compare(SCORES, baseline=baseline)
        (written,) = (path for path in save_all(drawings(compared), str(tmp_path)) if path.name == "compare-AP.svg")
        drawn = written.read_text(encoding="utf-8")
        assert all(name in drawn for name in names(compared.plot("AP")))


def test_nothing_significant_is_said(pyplot: Any) -> None:
    same = {f"run{i}": {q: ["a", "b"] for q in "1234"} for i in range(12)}
    scores = cf.evaluate({q: {"a": 1} for q in "1234"}, same, "RR")
    assert [text.get_text() for text in cf.compare(scores).plot().texts] == ["no significant difference"]


def test_names_are_not_markup(pyplot: Any, tmp_path: Path) -> None:
    runs = {"$\\frac$": {"1": ["a"], "2": ["b", "a"]}, "r\udcff": {"1": ["b", "a"], "2": ["a"]}}
    evaluation = cf.Evaluator({"1": {"a": 1}, "2": {"a": 1}}, "RR").evaluation(runs)
    scores = evaluation.scores
    for result in (scores, cf.compare(scores), cf.audit(evaluation), cf.queries(scores)):
        axis = pyplot.subplots()[1]
        assert "�" in "".join(names(result.plot(ax=axis))) or result is not scores
        result.plot().figure.savefig(tmp_path / "figure.png")


def test_an_unknown_measure_figure_or_curve(pyplot: Any) -> None:
    for result in (SCORES, cf.compare(SCORES), cf.audit(EVALUATION)):
        with pytest.raises(UnknownName, match="the measures are AP, nDCG@10"):
            result.plot("RR")
    with pytest.raises(UnknownName, match="the figures are power-asl, power-swaps, power-queries"):
        RESULTS["Power"]().plot("nothing")
    assert RESULTS["Power"]().plot("power-queries")[0].get_xlabel() == "difference to detect"
    with pytest.raises(UsageError, match="curve must be one of recall, gain"):
        EVALUATION.plot("roc")  # type: ignore[arg-type]
    assert EVALUATION.plot("gain").get_ylabel() == "nDCG@k"
    with pytest.raises(cf.CranfieldError, match="has no figures"):
        RESULTS["Properties"]().plot()


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for result in (SCORES, cf.compare(SCORES), EVALUATION, RESULTS["Power"]()):
        with pytest.raises(MissingDependency, match=r"pip install '.\[plot\]'"):
            result.plot()
    assert "table" in SCORES._repr_html_()


def test_tables_and_figures_are_loaded_when_they_are_shown() -> None:
    code = """if True:
        import sys
        import cranfield as cf
        scores = cf.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR")
        repr(scores)
        scores["RR"]
        print([m for m in sys.modules if m.startswith(("cranfield.report", "matplotlib"))])
        scores._repr_html_()
        print([m for m in sys.modules if m.startswith("matplotlib")])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"], done.stderr


def test_a_baseline_below_the_shown_rows_is_shown() -> None:
    runs = {f"run{i:02}": [1 / (1 + i)] * 3 for i in range(30)}
    scores = cf.read_scores({run: {"m": dict(zip("abc", xs, strict=True))} for run, xs in runs.items()})
    html = cf.compare(scores, baseline="run29", test="t")._repr_html_()
    assert "run19</td>" in html and "run20</td>" not in html and "run29</td>" in html and "... and 9 more runs" in html
    tied = cf.read_scores(
        {run: {"m": {"a": 0.5, "b": x}, "n": {"a": 0.1, "b": x}} for run, x in (("x", 1), ("y", 1), ("z", 0))}
    )
    assert cf.compare(tied, test="t")._repr_html_().count("<b>0.7500</b>") == 2
