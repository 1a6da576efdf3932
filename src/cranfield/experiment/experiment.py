"""`Experiment`: a file that says what is evaluated and how, what is checked, and what is written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

from cranfield.analysis.compare import SAVED
from cranfield.analysis.gates import RULES, Gate, check_gate
from cranfield.analysis.significance import ComparisonSettings
from cranfield.codec import made_by
from cranfield.errors import CranfieldError
from cranfield.evaluation.collection import JUDGED, Collection
from cranfield.evaluation.collection_file import KEYS, collection_of
from cranfield.evaluation.evaluator import Missing
from cranfield.evaluation.plan import Policy
from cranfield.io import register
from cranfield.io.columns import DuplicateRule
from cranfield.io.register import REPORT_MARK, is_foreign, replaced_input
from cranfield.io.streams import digesting
from cranfield.io.toml_file import File, KeyPath, Output, Pattern, TomlFile, cut, keywords_of
from cranfield.measures import parse
from cranfield.settings import Field, Limits, Record, declared, walk
from cranfield.statistics.design import Repeated
from cranfield.wording import few, nearest, one_of

if TYPE_CHECKING:
    from cranfield.experiment.running import Outcome

FILE = "cranfield.toml"
# What the files that an experiment may replace have in them.
MARKS: dict[KeyPath, bytes] = {
    ("report", "file"): REPORT_MARK,
    ("save", "scores"): b'{"kind": "scores"',
    ("save", "comparison"): b'{"kind": "comparison"',
    ("save", "junit"): b'<testsuite name="cranfield',
}
POLICY = Record(
    dict,
    {
        **{name: field for name, field in declared(Policy).items() if field.type.help},
        "duplicates": Field(walk(DuplicateRule)),
        "missing": Field(walk(Missing, ("What to do if a run lacks a collection: report an error, or skip it.",))),
    },
)
ELSEWHERE = "seed", "cluster", "collection", "repeats", "baseline", "together"
COMPARING = keywords_of(ComparisonSettings, without=ELSEWHERE)
Names = str | tuple[str, ...]


@dataclass(frozen=True)
class OutsideScores:
    """Scores from elsewhere: one more measure."""

    file: Annotated[Pattern, "A file with the columns run, query and the measure; {collection} stands for a name."]
    measure: Annotated[str | None, "The measure of the file, if it has several and none has this name."] = None
    lower: Annotated[bool, "Lower values are better."] = False


@dataclass(frozen=True)
class DesignSection:
    """Which queries belong together."""

    by: Annotated[Names, "Attributes of queries: means and differences for each of their values."] = ()
    cluster: Annotated[str | None, "Query attribute that groups dependent queries; they are resampled together."] = None
    average: Annotated[Names, "Attributes by which queries are averaged first, such as topic, question."] = ()
    repeats: Annotated[Repeated, "Whether repeats are a sample of possible repeats, or the only ones of interest."] = (
        "random"
    )


@dataclass(frozen=True)
class ReportSection:
    """The HTML report."""

    file: Annotated[Output, "Write the report to this file."]
    title: Annotated[str, "Its title."] = "Evaluation"
    top_documents: Annotated[int, Limits(1, 1000), "How many top documents of each ranking to include."] = 20
    texts: Annotated[tuple[File, ...], "Collections with the texts of documents."] = ()


@dataclass(frozen=True)
class Save:
    """Files to write."""

    scores: Annotated[Output | None, "Write the scores to this JSON file."] = None
    comparison: Annotated[Output | None, "Write the comparison to this JSON file."] = None
    figures: Annotated[Output | None, "Draw figures into this folder."] = None
    junit: Annotated[Output | None, "Write the gates as JUnit XML."] = None


@dataclass(frozen=True)
class HistoryFile:
    """Where the history is kept."""

    file: Annotated[Output, "Append one line of means, intervals and provenance to this file."]
    values: Annotated[bool, "Keep the values of queries, by which changes are tested."] = True


class Inputs(NamedTuple):
    """The files of an experiment: by run or measure, and collection."""

    collections: dict[str, Collection]
    runs: dict[str, dict[str, list[str]]]
    scores: dict[str, dict[str, list[str]]]
    baseline: str | None
    code: list[str]
    texts: list[str]

    @property
    def files(self) -> list[str]:
        """All of them."""
        of_names = (*self.runs.values(), *self.scores.values())
        files = [file for of_name in of_names for paths in of_name.values() for file in paths]
        files += [file for collection in self.collections.values() for file in collection.files]
        saved = [self.baseline.partition("#")[0]] if self.baseline and self.baseline not in self.runs else []
        return [file for file in (*files, *saved, *self.code, *self.texts) if file]


@dataclass(frozen=True)
class Experiment:
    """Collections, runs, measures, comparisons, gates and outputs, as one file says them; `read` checks all of it.

    Examples
    --------
    >>> import cranfield as cf
    >>> experiment = cf.Experiment.read("cranfield.toml")  # doctest: +SKIP
    >>> experiment.run().scores.means  # doctest: +SKIP
    """

    measures: Annotated[Names, "The measures."] = ()
    measures_files: Annotated[tuple[File, ...], "Python files with measures of your own; they need --allow-code."] = ()
    baseline: Annotated[
        str | None, "Compare every run with this one: a run, `best`, or saved scores (FILE.json or FILE.json#RUN)."
    ] = None
    policy: Annotated[Mapping[str, Any], POLICY, "How rankings are scored: the keywords of `evaluate`."] = field(
        default_factory=dict
    )
    collections: Annotated[
        Mapping[str, Annotated[Mapping[str, Any], KEYS]],
        "Test collections by name: the keywords of `Collection`.",
    ] = field(default_factory=dict)
    runs: Annotated[
        Mapping[str, Pattern | tuple[Pattern, ...]],
        "Files of runs by name; {collection} stands for the name of a collection. Several files are repeats.",
    ] = field(default_factory=dict)
    scores: Annotated[
        Mapping[str, Pattern | OutsideScores], "Per-query scores from elsewhere by name: one more measure each."
    ] = field(default_factory=dict)
    design: Annotated[DesignSection, "Which queries belong together."] = field(default_factory=DesignSection)
    compare: Annotated[Mapping[str, Any], COMPARING, "How differences are tested: keywords of `compare`."] = field(
        default_factory=dict
    )
    gates: Annotated[
        Mapping[str, Gate | tuple[Gate, ...]], "What must hold of each measure: a gate, or a list of them."
    ] = field(default_factory=dict)
    report: Annotated[ReportSection | None, "The HTML report."] = None
    save: Annotated[Save, "Files to write."] = field(default_factory=Save)
    history: Annotated[HistoryFile | None, "The history of the experiment."] = None
    # No keys of the file: `open` sets them.
    file: TomlFile = field(default=None, repr=False)  # type: ignore[assignment]
    folder: Path = Path()  # where outputs are written

    @classmethod
    def read(cls, path: str | os.PathLike[str] = FILE, into: str | os.PathLike[str] | None = None) -> Self:
        """Read and check an experiment; an error lists all faults of the file, each with its line.

        ``into``: the folder for its outputs; by default that of the file.
        """
        experiment = cls.open(path, into)
        experiment.file.raise_faults()
        return experiment

    @classmethod
    def open(cls, path: str | os.PathLike[str] = FILE, into: str | os.PathLike[str] | None = None) -> Self:
        """An experiment that may have faults, which its ``file`` knows."""
        file = TomlFile(os.fsdecode(path))
        folder = file.folder if into is None else Path(into)
        experiment: Self = replace(file.read(walk(cls)), file=file, folder=folder)
        for name in experiment.inputs.files:
            register.active().read(name)
        experiment._check()
        return experiment

    @property
    def outside(self) -> dict[str, OutsideScores]:
        """The scores from elsewhere."""
        given = {
            name: OutsideScores(scores) if isinstance(scores, str) else scores
            for name, scores in (self.scores or {}).items()
        }
        return {name: scores for name, scores in given.items() if scores is not None}

    @property
    def path(self) -> str:
        """The file."""
        return self.file.path

    # Checks. What is wrong becomes a fault of the file; a value of a wrong type is None here.

    @cached_property
    def inputs(self) -> Inputs:
        """The files that the experiment reads."""
        names = list(self.collections or {})
        collections = {}
        for name, parts in (self.collections or {}).items():
            at: KeyPath = ("collections", name)
            if (collection := collection_of(self.file, parts or {}, at, name)) is not None:
                collections[name] = collection
                if self.runs and not collection.has_judgments and not self.file.is_faulty(at):
                    self.file.fault(at, f"the collection `{name}` has no judgments; give {one_of(JUDGED)}")
        runs = {run: self._by_collection(("runs", run), value, names) for run, value in (self.runs or {}).items()}
        scores = {
            name: self._by_collection(("scores", name), outside.file, names or [""])
            for name, outside in self.outside.items()
        }
        code = [self.file.one_file(("measures_files",), text) for text in listed(self.measures_files)]
        texts = [
            self.file.one_file(("report", "texts"), text) for text in listed(self.report.texts if self.report else ())
        ]
        baseline = self.baseline
        if baseline and baseline not in runs and baseline.partition("#")[0].endswith(SAVED):
            baseline = self.file.one_file(("baseline",), baseline)
        return Inputs(collections, runs, scores, baseline, code, texts)

    def _by_collection(self, path: KeyPath, value: Any, names: Sequence[str]) -> dict[str, list[str]]:
        patterns = [value] if isinstance(value, str) else [text for text in value or () if text]
        by_name = {
            name: list(dict.fromkeys(file for text in patterns for file in self.file.matching_files(path, text, name)))
            for name in names
        }
        if (self.policy or {}).get("missing") == "skip" and any(by_name.values()):
            return {name: files for name, files in by_name.items() if files}
        for name, files in by_name.items():
            if not files and not self.file.is_faulty(path):
                shown = ", ".join(text.replace("{collection}", name) for text in patterns)
                self.file.fault(path, f"no file matches `{cut(shown)}` in {self.file.folder}")
        return by_name

    @contextmanager
    def error_at(self, path: KeyPath) -> Iterator[None]:
        """Errors inside, with the line of a key."""
        try:
            yield
        except CranfieldError as error:
            raise self.file.error(error.message, path, error.hint) from error

    def _check(self) -> None:
        """Everything else that can be known before files are read."""
        fault, runs = self.file.fault, self.inputs.runs
        if not runs and not self.scores:
            fault(("runs",), "there are no runs; give [runs] with a file for each, or [scores]")
        if runs and not self.collections:
            fault(("runs",), "there is no collection; give [collections.NAME] with qrels")
        if runs and not self.measures:
            fault(("measures",), 'there are no measures; for example measures = ["nDCG@10", "AP"]')
        if not self.measures_files:
            self._check_measures()
        for key in ("collections", "runs", "scores", "gates"):
            if "" in (getattr(self, key) or {}):
                fault((key, ""), f"a name in [{key}] is empty")
        baseline = self.baseline
        if runs and baseline and baseline not in (*runs, "best") and not baseline.partition("#")[0].endswith(SAVED):
            close = nearest(baseline, runs)
            also = f"; did you mean `{close}`?" if close else f"; the runs are {few(list(runs), 10)}"
            fault(("baseline",), f"the baseline `{baseline}` is not one of the runs{also}")
        for name, of_measure in (self.gates or {}).items():
            if of_measure == ():
                fault(("gates", name), f"the list of gates of {name} is empty")
        for name, gate in self._gates():
            self._check_gate(name, gate)
        for key, value in (self.policy or {}).items():
            if key in Policy.__dataclass_fields__ and not self.file.is_faulty(("policy", key)):
                with self.file.fault_at(("policy", key)):
                    Policy(**{key: value})
        given = {key: value for key, value in (self.compare or {}).items() if not self.file.is_faulty(("compare", key))}
        for key, value in given.items():
            with self.file.fault_at(("compare", key)):
                ComparisonSettings(**{key: value})
        if not self.file.is_faulty(("compare",)) and not self.file.is_faulty(("design",)):
            with self.file.fault_at(("compare",)):
                self.settings()
        self._check_outputs()

    def _gates(self) -> Iterator[tuple[str, Gate]]:
        """The gates that have no fault, each with the name of its measure."""
        for name, given in (self.gates or {}).items():
            if not self.file.is_faulty(("gates", name)):
                yield from ((name, gate) for gate in ([given] if isinstance(given, Gate) else given))

    def _check_gate(self, name: str, gate: Gate) -> None:
        """Faults of a gate that checks nothing, or something that is not there."""
        at, names = ("gates", name), listed(gate.runs)
        if not gate.limits and not gate.comparing:
            self.file.fault(at, f"the gate of {name} checks nothing; give {RULES}")
        if gate.comparing and not self.baseline:
            self.file.fault(at, f"the gate of {name} compares with a baseline; give baseline = RUN at the top")
        elif gate.comparing and names == (self.baseline,):
            self.file.fault(at, f"the gate of {name} checks nothing: `{self.baseline}` is the baseline")
        existing = {"runs": self.inputs.runs if names else {}, "collection": self.collections or {}}
        asked = {"runs": names if self.inputs.runs else (), "collection": listed(gate.collection)}
        for key, asked_names in asked.items():
            for asked_name in asked_names:
                if asked_name not in existing[key]:
                    kind = "runs" if key == "runs" else "collections"
                    self.file.fault(
                        (*at, key), f"`{asked_name}` is not one of the {kind}; these are {few(list(existing[key]), 10)}"
                    )

    def _check_measures(self) -> None:
        measures = set()
        for name in listed(self.measures):
            with self.file.fault_at(("measures",)):
                measures.add(parse(name))
        for name in self.scores or {}:
            with suppress(CranfieldError):
                if parse(name) in measures:
                    self.file.fault(("scores", name), f"`{name}` is one of the measures; give the scores another name")
        for name, gate in self._gates():
            if name not in (self.scores or {}):
                with self.file.fault_at(("gates", name)):
                    check_gate(parse(name), gate)

    def _check_outputs(self) -> None:
        """Faults of outputs: only files inside the folder are written, and only those of Cranfield are replaced."""
        taken = {Path(self.path).resolve(): "this file"}
        for path, text in self.outputs.items():
            if not self.file.is_path(path, text):
                continue
            file, is_folder = (self.folder / text).resolve(), path == ("save", "figures")
            if not file.is_relative_to(self.folder.resolve()):
                another = "`cranfield run --into FOLDER` chooses another one"
                self.file.fault(path, f"`{text}` is outside the folder for outputs, {self.folder}; {another}")
            elif not file.parent.is_dir():
                self.file.fault(path, f"there is no folder for `{text}`")
            elif file in taken:
                self.file.fault(path, f"`{text}` would replace {taken[file]}")
            elif replaced_input(str(file), self.inputs.files) is not None:
                self.file.fault(path, f"`{text}` would replace an input")
            elif file.exists() and not (file.is_dir() if is_folder else file.is_file()):
                self.file.fault(path, f"`{text}` is not a {'folder' if is_folder else 'file'}")
            elif path in MARKS and is_foreign(file, MARKS[path]):
                self.file.fault(path, f"`{text}` exists, and Cranfield did not write it; choose another name")
            taken[file] = "another output"

    @property
    def outputs(self) -> dict[KeyPath, str]:
        """What the experiment writes, by key."""
        by_key: dict[KeyPath, str | None] = {("report", "file"): self.report.file if self.report else None}
        by_key["history", "file"] = self.history.file if self.history else None
        for name in ("scores", "comparison", "figures", "junit"):
            by_key["save", name] = getattr(self.save, name, None)
        return {path: text for path, text in by_key.items() if text is not None}

    def output(self, *path: str) -> str | None:
        """The path of something to write, if it is to be written."""
        text = self.outputs.get(path)
        return None if text is None else str(self.folder / text)

    def settings(self) -> ComparisonSettings:
        design = self.design or DesignSection()
        return ComparisonSettings(
            **{name: value for name, value in (self.compare or {}).items() if value is not None},
            seed=(self.policy or {}).get("seed") or 0,
            cluster=design.cluster,
            repeats=design.repeats or "random",
            baseline=self.inputs.baseline,
        )

    def run(self, *, allow_code: bool = False, allow_changed_judgments: bool = False) -> Outcome:
        """Evaluate, compare, check the gates, and write what is to be written.

        ``allow_code``: whether the Python files of the experiment may run. ``allow_changed_judgments``: whether a saved
        baseline may have other judgments; then only queries with the same are compared.
        """
        from cranfield.experiment.running import Running

        if self.measures_files and not allow_code:
            raise self.file.error(
                "measures_files is Python code, which runs only if you allow it",
                ("measures_files",),
                hint="read the files, then use --allow-code, or run(allow_code=True)",
            )
        self._require_packages()
        with ExitStack() as stack:
            if history := self.output("history", "file"):
                from cranfield.experiment.history import History

                History.before(history)  # raises if the file is something else
            for file in self.inputs.code:
                from cranfield.measures.own import load_measures

                stack.enter_context(load_measures(file))
            if self.measures_files:
                self._check_measures()
                self.file.raise_faults()
            stack.enter_context(digesting())
            stack.enter_context(made_by(experiment=self.path, experiment_digest=self.file.digest))
            running = Running(self, changed_judgments=allow_changed_judgments)
            outcome = running()
            running.write(outcome)
        return outcome

    def _require_packages(self) -> None:
        """Raise if a package that an output needs is missing, before anything is computed."""
        if self.report is not None:
            from cranfield.report.html import require

            require()
        if self.save.figures is not None:
            from cranfield.report import canvas

            canvas.require()


def listed(names: Names | None) -> tuple[str, ...]:
    """Names that are given as one text or as several."""
    return (names,) if isinstance(names, str) else tuple(name for name in names or () if name)
