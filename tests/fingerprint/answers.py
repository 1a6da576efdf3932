"""Answers to one question through every door: are these runs different, by how much, and what could reverse it?

A concept is a kind of input (repeats, predictions, a saved baseline, ...), a door a way to ask. Every door that shows
all numbers has the digest of its answer; a door that shows rounded numbers in a text has that of the reference if the
text has all of them. Every row of the table has one digest.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from doors import run_command
from outputs_of_verbs import DATA, digest, prepare

import cranfield as cf

ANSWERS = Path(__file__).with_name("answers.json")
MEASURES = ("nDCG@10", "AP")
SETTINGS: dict[str, Any] = {"samples": 2000, "seed": 3}
WORDS = "--samples 2000 --seed 3"
REFERENCE = "runs"


class Concept(NamedTuple):
    """Judgments and runs as files of the example, as an experiment and as words of a command."""

    name: str
    runs: Mapping[str, tuple[str, ...]]
    baseline: str | None = "bm25"
    predicted: bool = False
    saved: bool = False
    several: bool = False
    by: str | None = None


PLAIN = {"bm25": ("bm25.run",), "dense": ("dense.run",), "llm": ("llm.run",)}
PAIR = {"bm25": ("bm25.run",), "dense": ("dense.run",)}
CONCEPTS = {
    concept.name: concept
    for concept in (
        Concept("all pairs", PLAIN, None),
        Concept("baseline", PLAIN),
        Concept("one run", PAIR),
        Concept("one run, predictions", PAIR, predicted=True),
        Concept("repeats", {"bm25": ("bm25.run",), "dense": ("dense.run", "llm.run", "quiet.run")}),
        Concept("predictions", PLAIN, predicted=True),
        Concept("saved baseline", {"dense": ("dense.run",)}, saved=True),
        Concept("collections", PLAIN, several=True),
        Concept("groups", PLAIN, by="kind"),
    )
}


class Refused(Exception):
    """The door does not take this concept."""


@cache
def folder() -> Path:
    """The files of the example, of a second collection, of a saved baseline and of attributes of queries."""
    kept = tempfile.TemporaryDirectory(prefix="answers")
    folder.kept = kept  # type: ignore[attr-defined] - removed at the end of the process
    where = Path(kept.name)
    prepare(where)
    for name, keep in (("odd", "1357"), ("even", "2468")):
        (where / name).mkdir()
        for file in ("qrels.txt", "bm25.run", "dense.run", "llm.run"):
            lines = (where / file).read_text().splitlines(keepends=True)
            (where / name / file).write_text("".join(line for line in lines if line.split()[0][-1] in keep))
    queries = dict.fromkeys(line.split()[0] for line in (where / "qrels.txt").read_text().splitlines())
    rows = [f"{query},{'how' if i % 2 else 'what'}\n" for i, query in enumerate(queries)]
    (where / "kinds.csv").write_text("".join(["query,kind\n", *rows]))
    cf.evaluate(str(where / "qrels.txt"), {"bm25": str(where / "bm25.run")}, MEASURES).save(where / "saved.json")
    return where


def path(name: str) -> str:
    return str(folder() / name)


# The inputs of a concept in each form.


def collection(concept: Concept) -> Any:
    if concept.several:
        return {name: cf.Collection(path(f"{name}/qrels.txt")) for name in ("odd", "even")}
    return cf.Collection(
        path("qrels.txt"),
        predicted=path("predicted.txt") if concept.predicted else None,
        queries=path("kinds.csv") if concept.by else None,
    )


def runs(concept: Concept) -> Any:
    if concept.several:
        return {
            run: {name: path(f"{name}/{files[0]}") for name in ("odd", "even")} for run, files in concept.runs.items()
        }
    of_run = {run: list(map(path, files)) for run, files in concept.runs.items()}
    return {run: files[0] if len(files) == 1 else cf.Repeats(files) for run, files in of_run.items()}


def words(concept: Concept) -> str:
    files = " ".join(f"{run}={file}" for run, of_run in concept.runs.items() for file in of_run)
    qrels = "predicted.toml" if concept.predicted else "qrels.txt"
    chosen = f"{qrels} {files} -m '{' '.join(MEASURES)}' {WORDS}"
    chosen += f" --baseline {'saved.json' if concept.saved else concept.baseline}" if concept.baseline else ""
    return chosen + (f" --queries-file kinds.csv --by {concept.by}" if concept.by else "")


class Outputs(NamedTuple):
    """What ``cranfield run`` prints and writes."""

    printed: str
    json: Any
    comparison: Any
    report: str
    history: Any
    summary: str


@cache
def experiment(name: str) -> Outputs:
    """Run the experiment of a concept."""
    concept, place = CONCEPTS[name], folder()
    names = ("odd", "even") if concept.several else ("museum",)
    lines = [f"measures = {list(MEASURES)}"]
    if concept.baseline:
        lines.append(f'baseline = "{"saved.json" if concept.saved else concept.baseline}"')
    lines += ["[policy]", "seed = 3", "[compare]", "samples = 2000"]
    for one in names:
        lines += [f"[collections.{one}]", f'qrels = "{one + "/" if concept.several else ""}qrels.txt"']
        lines += ['predicted = "predicted.txt"'] if concept.predicted else []
        lines += ['queries = "kinds.csv"'] if concept.by else []
    where = "{collection}/" if concept.several else ""
    lines += ["[runs]", *(f"{run} = {[where + file for file in files]}" for run, files in concept.runs.items())]
    lines += ["[design]", f'by = "{concept.by}"'] if concept.by else []
    files = {part: f"{concept.name} {part}".replace(" ", ".") for part in ("comparison.json", "html", "jsonl", "md")}
    lines += ["[save]", f'comparison = "{files["comparison.json"]}"', "[report]", f'file = "{files["html"]}"']
    lines += ["[history]", f'file = "{files["jsonl"]}"', ""]
    (place / "experiment.toml").write_text("\n".join(lines))
    code, printed = run_command(["run", "experiment.toml", "--summary", files["md"]], place)
    if code:
        raise Refused(printed)
    written = {part: (place / file).read_text() for part, file in files.items()}
    code, found = run_command(["run", "experiment.toml", "--format", "json", "--quiet"], place)
    comparison, history = json.loads(written["comparison.json"]), json.loads(written["jsonl"])
    return Outputs(printed, json.loads(found), comparison, written["html"], history, written["md"])


# Answers in one form: {measure: {"run - other": numbers}}.

FIELDS = ("difference", "p", "corrected", "significant", "low", "high")


def answer(saved: Mapping[str, Any], groups: Any = None) -> dict[str, Any]:
    """The answer of a comparison that was written as JSON."""
    found: dict[str, Any] = {}
    for one in saved["pairs"]:
        numbers = {name: one[name] for name in FIELDS}
        numbers |= {"doubts": one["doubts"], "means": one["mean"] - one["other_mean"]}
        found.setdefault(one["measure"], {})[f"{one['run']} - {one['other']}"] = numbers
    for one in saved.get("predicted", ()):
        found[one["measure"]][f"{one['run']} - {one['other']}"]["predicted"] = one["both"]
    return found if groups is None else {**found, "groups": groups}


def of_groups(found: Any) -> Any:
    """The groups as JSON has them."""
    data = json.loads(json.dumps(found.to_dict() if hasattr(found, "to_dict") else found))
    data.pop("provenance", None)  # it has the time
    return data


def compared(concept: Concept, source: Any, *given: Any, scores: Any = None) -> dict[str, Any]:
    baseline = path("saved.json") if concept.saved else concept.baseline
    found = cf.compare(source, *given, baseline=baseline, **SETTINGS)
    groups = of_groups(scores.by(concept.by, concept.baseline, seed=3)) if concept.by else None
    return answer(json.loads(json.dumps(found.to_dict())), groups)


def from_runs(concept: Concept) -> dict[str, Any]:
    """``cf.compare(judgments, runs, measures)``."""
    scores = cf.evaluate(collection(concept), runs(concept), MEASURES) if concept.by else None
    return compared(concept, collection(concept), runs(concept), MEASURES, scores=scores)


def from_scores(concept: Concept) -> dict[str, Any]:
    """``cf.compare(scores)``."""
    scores = cf.evaluate(collection(concept), runs(concept), MEASURES)
    return compared(concept, scores, scores=scores)


def from_evaluation(concept: Concept) -> dict[str, Any]:
    """``cf.compare(evaluation)``."""
    if concept.several:
        raise Refused("an evaluation is of one collection")
    evaluation = cf.Evaluator(collection(concept), MEASURES).evaluation(runs(concept))
    return compared(concept, evaluation, scores=evaluation.scores)


def from_command(concept: Concept) -> dict[str, Any]:
    """``cranfield compare --format json``."""
    if concept.several:
        raise Refused("one collection")
    import shlex

    code, printed = run_command(shlex.split(f"compare {words(concept)} --format json --quiet"), folder())
    if code:
        raise Refused(printed)
    found = json.loads(printed)
    return answer(found, of_groups(found["groups"]) if concept.by else None)


def from_experiment(concept: Concept) -> dict[str, Any]:
    """What ``cranfield run`` saves."""
    written = experiment(concept.name)
    return answer(written.comparison, of_groups(written.json["groups"][concept.by]) if concept.by else None)


def of_page(text: str) -> dict[str, Any]:
    """The answer in the data of a report."""
    data = json.loads(DATA.findall(text)[0])
    pairs, names = data["pairs"], data["runs"]
    if not pairs:
        raise Refused("no pairs")

    def numbers(name: str) -> Any:
        packed = pairs[name]
        return (
            np.frombuffer(base64.b64decode(packed), "<f8").reshape(len(data["measures"]), -1)
            if isinstance(packed, str)
            else packed
        )

    number, baselines = len(names), pairs["baseline"]
    if baselines is None:
        places = [[(b, a) for a in range(number) for b in range(a + 1, number)] for _ in data["measures"]]
    else:
        places = [[(a, b) for a in range(number) if a != b] for b in baselines]
    found: dict[str, Any] = {}
    for m, measure in enumerate(data["measures"]):
        for p, (a, b) in enumerate(places[m]):
            one: dict[str, Any] = {
                name: float(numbers(name)[m][p]) for name in ("difference", "p", "corrected", "low", "high")
            }
            one["significant"] = one["corrected"] < pairs["alpha"]
            doubts = pairs["doubts"][m][p]
            one["doubts"] = None if doubts is None else doubts.split()
            one["means"] = pairs["means"][m][a] - pairs["means"][m][b]
            found.setdefault(measure, {})[f"{names[a]} - {names[b]}"] = one
    return found


def from_report_of_experiment(concept: Concept) -> dict[str, Any]:
    """The report that ``cranfield run`` writes."""
    return of_page(experiment(concept.name).report)


def from_report(concept: Concept) -> dict[str, Any]:
    """``cranfield report``."""
    if concept.several:
        raise Refused("one collection")
    import shlex

    code, printed = run_command(shlex.split(f"report {words(concept)} -o page.html --quiet"), folder())
    if code:
        raise Refused(printed)
    return of_page((folder() / "page.html").read_text())


def from_fixture(concept: Concept) -> dict[str, Any]:
    """`assert_not_worse`, as the fixture of pytest calls it; it compares one run with a baseline."""
    from cranfield.testing.assertions import assert_not_worse

    given = runs(concept)
    baseline = path("saved.json") if concept.saved else given.pop(concept.baseline, None)
    if baseline is None or len(given) != 1 or concept.several:
        raise Refused("one run and a baseline")
    ((name, run),) = given.items()
    found = assert_not_worse(collection(concept), run, baseline, MEASURES, by=1.0, **SETTINGS)
    saved = json.loads(json.dumps(found.to_dict()))
    for one in (*saved["pairs"], *saved.get("predicted", ())):
        one |= {"run": name, "other": "bm25"}  # the fixture has names of its own
    return answer(saved)


def from_history(concept: Concept) -> dict[str, Any]:
    """The line of the history: the reference, if its means have the differences."""
    means, expected = experiment(concept.name).history["runs"], from_runs(concept)
    for measure in MEASURES:
        for pair, one in expected[measure].items():
            run, other = pair.split(" - ")
            if other in means and means[run][measure]["mean"] - means[other][measure]["mean"] != one["means"]:
                return {"lacks": f"{measure} of {pair}"}
    return expected


def rounded(text: Callable[[Concept], str]) -> Callable[[Concept], dict[str, Any]]:
    """A door that shows rounded numbers: the reference, if the text has all of its corrected p-values."""

    def ask(concept: Concept) -> dict[str, Any]:
        if concept.baseline is None:
            raise Refused("a text on all pairs has those of the best run")
        shown, expected = text(concept), from_runs(concept)
        for measure in MEASURES:
            for pair, one in expected[measure].items():
                p = "<0.0001" if one["corrected"] < 0.0001 else f"{one['corrected']:.4f}"
                run = pair.split(" - ")[0]
                if not any(p in line and (run in line or measure in line) for line in shown.splitlines()):
                    return {"lacks": f"{measure} of {pair}, {p}"}
        return expected

    return ask


DOORS: dict[str, Callable[[Concept], dict[str, Any]]] = {
    "runs": from_runs,
    "scores": from_scores,
    "evaluation": from_evaluation,
    "compare": from_command,
    "run": from_experiment,
    "report of run": from_report_of_experiment,
    "report": from_report,
    "fixture": from_fixture,
    "history of run": from_history,
    "terminal of run": rounded(lambda concept: experiment(concept.name).printed),
    "summary of run": rounded(lambda concept: experiment(concept.name).summary),
}


def plain(value: Any) -> Any:
    """Numbers to the last bit, and no difference between kinds of sequences."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value.hex() if isinstance(value, float) else value


def differing(found: Any, expected: Any, at: str = "") -> set[str]:
    """The names of the parts in which two answers differ."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        return {
            name
            for key in {**found, **expected}
            for name in (
                differing(found[key], expected[key], str(key))
                if key in found and key in expected
                else {f"{'no ' if key in expected else ''}{key}"}
            )
        }
    return set() if plain(found) == plain(expected) else {at}


# What a door has no place for; what it could show and did not is None, such as the doubts of scores without rankings.
NO_PLACE = {"report of run": {"predicted", "groups"}, "report": {"predicted", "groups"}, "fixture": {"groups"}}


def shared(found: Mapping[str, Any], other: Mapping[str, Any], hidden: set[str]) -> dict[str, Any]:
    """What both answers show."""
    return {
        key: shared(one, other[key], hidden)
        if isinstance(one, Mapping) and isinstance(other.get(key), Mapping)
        else one
        for key, one in found.items()
        if key not in hidden and not (key == "doubts" and None in (one, other.get(key)))
    }


def cell(concept: Concept, door: str) -> str:
    """The digest of the reference if the answer is the same, else where it differs, or why the door refuses."""
    expected = from_runs(concept)
    try:
        found = DOORS[door](concept)
    except Refused as refused:
        return f"refuses: {str(refused).splitlines()[0][:80]}"
    hidden = NO_PLACE.get(door, set())
    other = sorted(differing(shared(found, expected, hidden), shared(expected, found, hidden)))
    return f"differs: {', '.join(other)}" if other else digest(plain(expected))


def table() -> dict[str, dict[str, str]]:
    return {name: {door: cell(concept, door) for door in DOORS} for name, concept in CONCEPTS.items()}
