"""Options are made from the fields of records: types, defaults, groups, short and long help, and one meaning per name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest
from cli_samples import BM25, DENSE, QRELS, Call
from click.testing import CliRunner

import cranfield as cf
from cranfield.cli import options
from cranfield.cli.commands import (
    Argument,
    OptionGroup,
    command_of,
    fields_of,
    fields_of_function,
    groups_of,
    verb,
)
from cranfield.cli.main import Verbs, cli
from cranfield.cli.study import Studies
from cranfield.evaluation.collection_file import KEYS
from cranfield.settings import RARE, Chance, Choices, Option, Positive, Whole

PREFERENCES = "q1 0 j1 a 2\nq1 0 j1 b 1\nq1 0 j1 c 0\n"
GROUPS = "q1 g1 a 1\nq1 g1 b 0\nq1 g2 a 0\nq1 g2 b 1\n"
RANKED = "q1 Q0 b 1 3 t\nq1 Q0 a 2 2 t\nq1 Q0 c 3 1 t\n"


class Fruit(OptionGroup):
    """Options of a group."""

    GROUP = "Fruit"

    kind: Annotated[Literal["apple", "pear"], "The kind."] = "apple"
    ripe: Annotated[bool, "Only ripe ones.", RARE] = False


class Count(Fruit):
    """Count fruit."""

    basket: Annotated[str, Argument("BASKET")]
    number: Annotated[int | None, click.IntRange(min=1), "How many.", Option("-n --number", default="all")] = None
    weights: Annotated[tuple[float, ...], "Weights; may be repeated.", Option("--weight")] = (0.5,)

    def run(self) -> None:
        click.echo(json.dumps([self.basket, self.kind, self.ripe, self.number, list(self.weights)]))


COUNT = verb(Count, "Count fruit.")


def invoke(*args: str) -> str:
    return CliRunner().invoke(COUNT, args).output


def test_fields_are_options() -> None:
    assert json.loads(invoke("b")) == ["b", "apple", False, None, [0.5]]
    given = invoke("b", "--kind", "pear", "--ripe", "-n", "3", "--weight", "1", "--weight", "2")
    assert json.loads(given) == ["b", "pear", True, 3, [1.0, 2.0]]
    assert "Invalid value for '--kind'" in invoke("b", "--kind", "plum")
    assert "Invalid value for '-n'" in invoke("b", "-n", "0")
    assert "Missing argument 'BASKET'" in invoke()


def weigh(
    source: str,  # not described, so it is no option
    *,
    kind: str = "pear",  # shared with the group
    limits: Annotated[Sequence[int], "Grams."] = (3, 5),
    share: Annotated[Chance, "Share.", Option("--part")] = 0.5,
    least: Annotated[tuple[Whole, Whole], "Two numbers."] = (1, 2),
    steps: Annotated[Sequence[Positive], tuple, "Steps."] = (0.1,),
    rule: Annotated[str, Choices(("a", "b")), "Rule."] = "a",
    owners: Annotated[Mapping[str, str] | None, "Owners.", Option(metavar="NAME=OWNER")] = None,
    file: Annotated[Any, "A table."] = None,
) -> None:
    """Weigh fruit."""


def test_parameters_of_a_function_are_options_of_the_same_form() -> None:
    given: dict[str, object] = {}
    command = command_of("weigh", fields_of_function(weigh, fields_of(Fruit)), lambda **values: given.update(values))

    def values(*args: str) -> dict[str, object]:
        assert CliRunner().invoke(command, args).exit_code == 0
        return given

    said = {"limits": [3, 5], "share": 0.5, "least": (1, 2), "steps": (0.1,), "rule": "a", "owners": {}, "file": None}
    assert values() == {"kind": "apple", **said}
    words = "--limits 1,20 --part .2 --least 0 9 --steps 1 --steps 2 --rule b --owners x=y --file f.txt --kind pear"
    said = {"limits": [1, 20], "share": 0.2, "least": (0, 9), "steps": (1.0, 2.0), "rule": "b"}
    assert values(*words.split()) == {"kind": "pear", **said, "owners": {"x": "y"}, "file": "f.txt"}
    wrong = {
        "--limits 1,x": "expected whole numbers separated by commas, such as 50,20,10; got '1,x'",
        "--part 1": "1.0 is not in the range 0<x<1",
        "--least 1 -1": "-1 is not in the range x>=0",
        "--steps 0": "0.0 is not in the range x>0",
        "--rule c": "'c' is not one of 'a', 'b'",
        "--owners x": "expected NAME=OWNER, such as bm25=B; got 'x'",
        "--source x": "No such option",
    }
    for line, message in wrong.items():
        result = CliRunner().invoke(command, line.split())
        assert result.exit_code == 2 and message in result.output
    shown = CliRunner().invoke(command, "--help").output
    assert re.search(r"--limits N,\.\.\. +Grams\.  \[default: 3,5\]", shown) and "--file FILE" in shown
    assert "--kind" in shown.partition("Fruit:")[2]


def test_help_has_groups_and_leaves_out_what_is_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--ripe" in invoke("--help") and "--help-all" not in invoke("--help")
    monkeypatch.setattr("cranfield.cli.commands.SCREEN", 3)
    short, everything = invoke("--help"), invoke("--help-all")
    assert "--ripe" not in short and "--help-all" in short
    assert re.search(r"^Options:.*--number N .*\[default: all\].*^Fruit:\n  --kind \[apple", short, re.M | re.S)
    names = [set(re.findall(r"--\w[\w-]*", page)) for page in (short, everything)]
    assert names[0] < names[1] | {"--help-all"}
    assert len(short) < len(everything)  # of each option, the first sentence
    assert "Only ripe ones." in everything.partition("Fruit:")[2]


def test_words_of_what_was_given() -> None:
    settings = Count(basket="b", kind="pear", ripe=True, number=None, weights=(1.0, 2.0))
    assert settings.typed("kind", "ripe", "number") == ["--kind", "pear", "--ripe"]
    assert settings.typed("weights") == ["--weight", "1.0", "--weight", "2.0"]
    assert settings.values_of(Fruit) == {"kind": "pear", "ripe": True}


@pytest.mark.parametrize(("name", "most"), [("eval", 20), ("compare", 24)])
def test_help_is_short(call: Call, name: str, most: int) -> None:
    shown = re.findall(r"^  (?:-\w, )?--[\w-]+", call(name, "--help").stdout, re.M)
    assert 10 < len(shown) <= most


# A name of a choice in verbs that evaluate, and of a number or an attribute in others.
SEVERAL_MEANINGS = ("--by", "--family", "--order", "--queries", "--repeats", "--ties")


def test_an_option_has_one_meaning() -> None:
    """In all commands it takes a value of the same kind. Formats, measures and files to write differ by verb."""
    kinds: dict[str, dict[str, str]] = {}
    studies = cli.get_command(click.Context(cli), "study")
    assert isinstance(studies, Studies)
    verbs = [(cli, name) for name in Verbs.NAMES if name != "trec_eval"]  # trec_eval has its own names
    for group, name in [*verbs, *((studies, name) for name in Studies.NAMES)]:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        for param in command.params:
            for option in param.opts:
                if isinstance(param, click.Option) and option not in (
                    "--format",
                    "--measure",
                    "-m",
                    "--run",
                    "--texts",
                    "--grades",  # with labels or without
                    *SEVERAL_MEANINGS,
                ):
                    choices = isinstance(param.type, click.Choice)
                    kind = "flag" if param.is_flag else "choice" if choices else param.metavar or param.type.name
                    kinds.setdefault(option, {})[name] = kind.removesuffix(",...")  # one or several
    assert {option: verbs for option, verbs in kinds.items() if len(set(verbs.values())) > 1} == {}


def test_a_collection_file_has_the_parameters_of_collection() -> None:
    columns = {"name", "types", "strata", "inclusion", "method"}  # a name, and columns of the files
    assert set(KEYS.fields) == set(signature(cf.Collection).parameters) - columns
    assert {"rel", "nil"} <= set(groups_of(options.CollectionFacts)) & set(KEYS.fields)
    assert set(options.KINDS.values()) <= set(KEYS.fields)


@pytest.mark.parametrize("name", ["costs", "intents", "predicted", "full-length", "map-documents"])
def test_a_hint_for_what_a_collection_file_says(call: Call, name: str) -> None:
    result = call("eval", QRELS, BM25, f"--{name}", "x")
    assert result.exit_code == 2
    assert f"write {name.replace('-', '_')} in a collection file (FILE.toml)" in result.stderr


@pytest.mark.parametrize("name", ["eval", "compare", "audit", "queries", "report"])
def test_every_verb_that_evaluates_has_the_options_of_the_collection(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert set(groups_of(options.CollectionFacts)) <= {param.name for param in command.params}


def test_preferences_and_groups_on_the_command_line(call: Call, tmp_path: Path) -> None:
    """b, a, c has one of three preferences wrong; each group finds its document at rank 1 or 2."""
    prefs, groups, run = (tmp_path / name for name in ("prefs.txt", "groups.txt", "a.run"))
    prefs.write_text(PREFERENCES)
    groups.write_text(GROUPS)
    run.write_text(RANKED)
    asked = {"preferences": (prefs, "Prefs", 2 / 3), "groups": (groups, "RR[groups]", (1 + 1 / 2) / 2)}
    for kind, (file, measure, expected) in asked.items():
        words = ("eval", file, run, "--judgments", kind, "-m", measure, "--format", "json", "--quiet")
        found = json.loads(call(*words).stdout)
        assert found["runs"]["a"][measure]["mean"] == pytest.approx(expected)
        assert call("queries", file, run, "--judgments", kind, "-m", measure).exit_code == 0


def test_without_the_option_an_error_names_it(call: Call, tmp_path: Path) -> None:
    for measure, kind in (("Prefs", "preferences"), ("AP[groups]", "groups")):
        result = call("eval", QRELS, BM25, "-m", measure)
        assert result.exit_code == 1
        assert f"--judgments {kind}" in result.stderr
    result = call("report", QRELS, BM25, DENSE, "--judgments", "groups", "-o", tmp_path / "report.html")
    assert result.exit_code == 2 and "a report needs judgments by grade" in result.stderr


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e400", "NaN"])
def test_a_number_that_is_not_finite(number: str) -> None:
    """No option takes one: comparisons with NaN are false, and infinity is no number of seconds."""
    context = click.Context(cli)
    tried = 0
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        for param in command.params:
            if isinstance(param, click.Option) and isinstance(param.type, click.FloatRange):
                tried += 1
                with pytest.raises(click.BadParameter, match=r"not a finite number|not in the range"):
                    param.type(number, param, context)
    assert tried >= 5
