"""What an experiment does: evaluate, compare, check the gates, and write files and a summary."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from cranfield.analysis.compare import Comparison, compare_scores, with_baseline
from cranfield.analysis.gates import OUTCOMES, Check, Gate, Verdict, verdict
from cranfield.codec import now
from cranfield.data import Repeats
from cranfield.evaluation.designs import INDEPENDENT, Groups, together
from cranfield.evaluation.elsewhere import read_scores, with_column
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, evaluate
from cranfield.evaluation.plan import Policy, absent_columns, make_columns
from cranfield.evaluation.provenance import Provenance, Source
from cranfield.evaluation.scores import Scores
from cranfield.experiment.experiment import Experiment, listed
from cranfield.io.register import atomic_write
from cranfield.report import gates, per_query
from cranfield.report import write as write_scores
from cranfield.report.canvas import foreign_figures, save_all
from cranfield.report.compare import answer
from cranfield.report.compare import drawings as comparison_drawings
from cranfield.report.pages import write
from cranfield.wording import did_you_mean, few


@dataclass(frozen=True)
class Outcome:
    """What an experiment found.

    ``comparison``: None for a single run. ``compared``: the scores with a saved baseline, or nested means of them.
    ``evaluation``: the rankings, if there is one collection.
    """

    scores: Scores
    comparison: Comparison | None
    groups: dict[str, Groups]
    verdict: Verdict
    compared: Scores
    evaluation: Evaluation | None = field(default=None, repr=False)

    @property
    def exit_code(self) -> int:
        """0; 3 if a gate failed; 4 if none failed, but one is not decided."""
        return {"passed": 0, "failed": 3, "undecided": 4}[self.verdict.outcome]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "scores": self.scores.to_dict(),
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            "groups": {name: scores.to_dict() for name, scores in self.groups.items()},
            "checks": gates.to_dict(self.verdict),
        }


class Running:
    """One run of an experiment, whose files were checked."""

    def __init__(self, experiment: Experiment, *, changed_judgments: bool = False) -> None:
        self.changed_judgments = changed_judgments
        self.of, self.inputs, self.error_at = experiment, experiment.inputs, experiment.error_at

    def __call__(self) -> Outcome:
        self.check_attributes()
        scores, evaluation = self._own_scores()
        for name in self.inputs.scores if self.of.runs else ():
            parts = self._outside_parts(name)
            with self.error_at(("scores", name)):
                scores = with_column(scores, name, parts, lower=self.of.outside[name].lower)
        with self.error_at(("baseline",)):
            compared, settings = with_baseline(scores, self.of.settings(), changed_judgments=self.changed_judgments)
        if average := listed(self.of.design.average):
            with self.error_at(("design", "average")):
                compared = compared.averaged(*average)
        comparison = None
        if len(compared.runs) > 1:
            with self.error_at(("compare",)):
                comparison = compare_scores(compared, settings, evaluation)
        groups = {}
        for attribute in listed(self.of.design.by):
            with self.error_at(("design", "by")):
                baseline = comparison.reference if comparison else None
                groups[attribute] = compared.by(attribute, baseline, **settings.of_groups)
        return Outcome(scores, comparison, groups, self._verdict(scores, comparison, compared), compared, evaluation)

    def check_attributes(self) -> None:
        """Raise if the design names an attribute that no query has."""
        collections = self.inputs.collections
        tables = [of_query for collection in collections.values() for of_query in collection.queries.values()]
        attributes = {key for table in tables for key in table} | ({"collection"} if len(collections) > 1 else set())
        for key in ("by", "cluster", "average"):
            for name in listed(getattr(self.of.design, key) or ()):
                if name not in attributes and (key, name) != ("cluster", INDEPENDENT):
                    also = did_you_mean(name, attributes, f"the attributes are {few(sorted(attributes), 20)}")
                    raise self.of.file.error(
                        f"no query has the attribute `{name}`",
                        ("design", key),
                        hint=also if attributes else "give the collection a table: queries = FILE",
                    )

    def _own_scores(self) -> tuple[Scores, Evaluation | None]:
        """The scores of the runs; with the evaluation, if there is one collection and its rankings can be kept."""
        inputs = self.inputs
        if not self.of.runs:
            return self._scores_alone(), None
        policy = dict(self.of.policy)
        measures: list[Any] = [*listed(self.of.measures)]
        runs = {
            run: {name: files[0] if len(files) == 1 else Repeats(files) for name, files in of_run.items()}
            for run, of_run in inputs.runs.items()
        }
        name, collection = next(iter(inputs.collections.items()))
        several = len(inputs.collections) > 1
        if several or collection.judges is not None:
            options = {key: value for key, value in policy.items() if key not in ("duplicates", "missing")}
            measures += self._gated(measures, collection.policy(**options))
            if several:
                return evaluate(inputs.collections, runs, measures, progress=False, **policy), None
            own = {run: of_run[name] for run, of_run in runs.items()}
            return evaluate(collection, own, measures, progress=False, **policy), None
        duplicates, _ = policy.pop("duplicates", "error"), policy.pop("missing", None)
        measures += self._gated(measures, collection.policy(**policy))
        evaluator = Evaluator(collection, measures, **policy)
        given = [of_run[name] for of_run in runs.values()]
        if collection.given.keys() & {"prefs", "groups"}:  # without rankings that can be audited
            return evaluator(given, names=list(runs), duplicates=duplicates), None
        page = self.of.report.top_documents if self.of.report else 0
        evaluation = evaluator.evaluation(given, names=list(runs), page=page, duplicates=duplicates)
        return evaluation.scores, evaluation

    def _gated(self, measures: Sequence[str], policy: Policy) -> list[Any]:
        """The columns of measures that only gates name."""
        asked = [name for name in self.of.gates if name not in self.of.scores]
        return absent_columns(make_columns(asked, policy), make_columns(measures, policy)) if asked else []

    def _scores_alone(self) -> Scores:
        """Scores from elsewhere, without any ranking."""
        collections, parts = self.inputs.collections, {}
        nested: dict[str, dict[str, dict[str, Any]]] = {}  # by collection, run and measure
        sources: dict[str, list[Source]] = {}
        for key in self.inputs.scores:
            for prefix, scores in self._outside_parts(key):
                homes = [self._collection_of(key, prefix + query) for query in scores.queries]
                for name in dict.fromkeys(name for name, _ in homes):
                    sources.setdefault(name, []).extend(scores.provenance.sources if scores.provenance else ())
                for r, run in enumerate(scores.runs):
                    rows = scores.repeats[run][0] if run in scores.repeats else scores.values[r, 0]
                    for q in np.flatnonzero(scores.counted[r]):
                        name, query = homes[q]
                        nested.setdefault(name, {}).setdefault(run, {}).setdefault(key, {})[query] = rows[q].tolist()
        for name in collections or [""]:
            if name not in nested:  # missing = "skip"
                continue
            if absent := [
                key for key in self.inputs.scores if not any(key in scores for scores in nested[name].values())
            ]:
                message = f"{absent[0]} has no score of the collection `{name}`, but other measures have"
                raise self.of.file.error(message, ("scores", absent[0]))
            collection = collections.get(name)
            lower = [key for key, outside in self.of.outside.items() if outside.lower]
            with self.error_at(("scores",)):
                table = collection.queries if collection else None
                part = read_scores(nested[name], queries=table or None, lower=lower)
            given = collection.given.get("queries") if collection else None
            read = [*dict.fromkeys(sources[name]), *([] if given is None else [Source.of("queries", given)])]
            parts[name] = replace(part, provenance=Provenance(part.columns, sources=tuple(read)))
        if len(collections) < 2:
            return next(iter(parts.values()))
        return together(parts, tuple(dict.fromkeys(run for part in parts.values() for run in part.runs)), collections)

    def _collection_of(self, key: str, query: str) -> tuple[str, str]:
        """The collection of a query of scores, and the id of the query in it."""
        names = list(self.inputs.collections) or [""]
        if len(names) == 1:
            return names[0], query
        home = max((name for name in names if query.startswith(f"{name}/")), key=len, default=None)
        if home is None:
            raise self.of.file.error(
                f"`{query}` of {key} is not a query of a collection, which would be called {names[0]}/{query}",
                ("scores", key),
                "give a file for each collection with {collection} in its name, or a column `collection`",
            )
        return home, query.removeprefix(f"{home}/")

    def _outside(self, key: str, files: Sequence[str]) -> Scores:
        """The scores of one measure in files."""
        wanted = self.of.outside[key].measure
        scores = read_scores(list(files))
        if wanted is None and len(scores.measures) == 1:
            return scores
        with self.error_at(("scores", key)):
            return scores.only(measures=wanted or key)

    def _outside_parts(self, key: str) -> list[tuple[str, Scores]]:
        """The scores of one measure in files, each with what the ids of its queries lack: COLLECTION/ or nothing."""
        by_collection = self.inputs.scores[key]
        if len(self.inputs.collections) > 1 and "{collection}" in self.of.outside[key].file:
            return [(f"{name}/", self._outside(key, files)) for name, files in by_collection.items()]
        return [("", self._outside(key, next(iter(by_collection.values()))))]

    def _verdict(self, scores: Scores, comparison: Comparison | None, compared: Scores) -> Verdict:
        checks: list[Check] = []
        for name, given in self.of.gates.items():
            gates_of_measure = [given] if isinstance(given, Gate) else given
            if len(self.inputs.collections) == 1:  # all queries are of this one
                gates_of_measure = [replace(gate, collection=None) for gate in gates_of_measure]
            with self.error_at(("gates", name)):
                label = scores.measures[scores._column_of(name)]
                checks += verdict({label: gates_of_measure}, scores, comparison, compared).checks
        return Verdict(tuple(checks), comparison)

    def write(self, outcome: Outcome) -> None:
        """Write what the experiment asks for, each file complete or not at all; the history last."""
        history, line = self.of.output("history", "file"), self._history_line(outcome)
        figures = self.of.output("save", "figures")
        drawings = {} if outcome.comparison is None else comparison_drawings(outcome.comparison)
        if figures and (foreign := foreign_figures(drawings, figures)):
            message = f"`{foreign[0]}` exists, and Cranfield did not write it"
            raise self.of.file.error(message, ("save", "figures"), "choose another folder")
        if path := self.of.output("report", "file"):
            _write(path, self._report(outcome, line, history))
        if path := self.of.output("save", "scores"):
            outcome.scores.save(path)
        if (path := self.of.output("save", "comparison")) and outcome.comparison is not None:
            outcome.comparison.save(path)
        if path := self.of.output("save", "junit"):
            _write(path, gates.junit_xml(outcome.verdict, "cranfield run"))
        if figures:
            save_all(drawings, figures)
        if history is not None:
            from cranfield.experiment.history import append

            append(history, line)

    def _history_line(self, outcome: Outcome) -> dict[str, Any]:
        """What the history gets, if there is one."""
        if self.of.history is None:
            return {}
        from cranfield.experiment.history import commit_of, entry

        how: dict[str, Any] = {"cluster": self.of.design.cluster, "values": self.of.history.values}
        how["seed"] = self.of.settings().seed
        counts = {kind: len(outcome.verdict.of(kind)) for kind in OUTCOMES}
        return {
            "commit": commit_of(self.of.file.folder),
            **entry(outcome.scores, **how),
            "gates": counts,
        }

    def _report(self, outcome: Outcome, line: Mapping[str, Any], history: str | None) -> str:
        from cranfield.report.html import contents, html

        assert self.of.report is not None
        scores, evaluation = outcome.compared, outcome.evaluation
        data = contents(
            scores,
            self.of.settings(),
            outcome.comparison,
            evaluation,
            texts=self.inputs.texts,
            group_by=next(iter(outcome.groups), None),
            date=now()[:10],
            commands=[f"cranfield run {Path(self.of.path).name}"],
        )
        if data["provenance"] is not None:
            made = {"experiment": Path(self.of.path).name, "experiment_digest": self.of.file.digest, "time": now()}
            data["provenance"] |= made
        if history is not None:
            from cranfield.experiment.history import History

            data["history"] = History((*History.before(history).entries, line)).chart()
        return html(data, self.of.report.title)


def _write(path: str, text: str) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape")


def summary(experiment: Experiment, outcome: Outcome, folder: Path, link: str | None = None) -> str:
    """The summary as Markdown. ``folder``: where it is written to; ``link``: where the report is, if not in a file."""
    comparison = outcome.comparison
    parts = ["## Search quality\n\n", gates.markdown(outcome.verdict) if outcome.verdict.checks else ""]
    if comparison is None:
        parts.append(write_scores(outcome.scores, "markdown"))
    else:
        pages = [answer(comparison), *per_query.losses(outcome.compared, comparison)]
        parts.append(write(pages, {}, "markdown"))
    if report := experiment.output("report", "file"):
        path = Path(os.path.relpath(Path(report).resolve(), folder.resolve())).as_posix()
        parts.append(f"\n[The report]({link or quote(path)}) has every query and ranking.\n")
    return "".join(parts)
