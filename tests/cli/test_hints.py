"""Options and names that people try get a hint that helps."""

from __future__ import annotations

import click
import pytest
from cli_samples import BM25, QRELS, Call

from cranfield.cli import commands
from cranfield.cli.main import Verbs, cli
from cranfield.errors import MeasureError
from cranfield.measures.grammar import parse

GUESSES = [
    ("eval", "--metric", "use -m"),
    ("compare", "--metrics", "use -m"),
    ("eval", "-k", "a cutoff is part of the name of a measure, as in -m nDCG@10"),
    ("eval", "--cutoff", "a cutoff is part of the name"),
    ("eval", "--sort-by", "use --order"),
    ("queries", "--sort-by", "use --order"),
    ("eval", "--silent", "use --quiet"),
    ("eval", "--json", "use --format json"),
    ("compare", "--tex", "use --format latex"),
    ("eval", "--out", "use -o FILE"),
    ("eval", "--decimals", "use --digits N"),
    ("eval", "--per-topic", "use -q"),
    ("eval", "--judged-only", "use --condensed"),
    ("eval", "-l", "AP(rel=2)"),
    ("eval", "--limit", "use --top N"),
    ("eval", "--threshold", "use --at-least MEASURE=VALUE"),
    ("compare", "--tolerance", "use --may-drop MEASURE=VALUE"),
    ("compare", "--level", "use --rel GRADE, or a parameter of a measure"),
    ("eval", "--threads", "all available cores are used"),
    ("eval", "--baseline", "--baseline is an option of `cranfield compare`"),
    ("eval", "--qeries", "did you mean --queries?"),
]


@pytest.mark.parametrize(("verb", "option", "hint"), GUESSES, ids=[f"{verb} {option}" for verb, option, _ in GUESSES])
def test_a_guess_gets_a_hint(call: Call, verb: str, option: str, hint: str) -> None:
    result = call(verb, QRELS, BM25, option, "x")
    assert result.exit_code == 2
    assert f"unknown option {option}\n\nhint: " in result.stderr
    assert hint in result.stderr
    assert f"cranfield {verb} --help" in result.stderr


def test_no_hint_is_better_than_a_wrong_one(call: Call) -> None:
    assert "hint: see `cranfield eval --help`" in call("eval", QRELS, BM25, "--xyzzy").stderr


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("ngcd@10", "nDCG@10"),
        ("NDGC@10", "nDCG@10"),
        ("mean_average_precision", "AP"),
        ("mean reciprocal rank", "RR"),
        ("normalised_discounted_cumulative_gain@5", "nDCG@5"),
        ("hit@3", "Success@3"),
        ("P10", "P@10"),
        ("ndcg10", "nDCG@10"),
        ("precision_at_5", "P@5"),
        ("recal@100", "R@100"),
    ],
)
def test_a_measure_that_may_be_meant(given: str, meant: str) -> None:
    with pytest.raises(MeasureError, match="unknown measure") as caught:
        parse(given)
    assert caught.value.hint.startswith(f"did you mean `{meant}`? `cranfield measures WORD`")
    assert "--measures-file adds your own" in caught.value.hint


def test_no_measure_is_suggested_for_any_word() -> None:
    with pytest.raises(MeasureError) as caught:
        parse("xyzzy")
    assert caught.value.hint.startswith("`cranfield measures WORD` finds measures")


@pytest.mark.parametrize("given", ["ndcg@", "rbp(p=.8", "AP[ties", "nDCG ("])
def test_a_known_name_in_a_wrong_form(given: str) -> None:
    with pytest.raises(MeasureError) as caught:
        parse(given)
    assert caught.value.hint.startswith("the syntax is NAME(")


@pytest.mark.parametrize("given", ["AP,nDCG@10", "AP, nDCG@10", "AP nDCG@10", "AP;nDCG@10,"])
def test_several_measures_in_one_name(given: str) -> None:
    with pytest.raises(MeasureError) as caught:
        parse(given)
    assert 'separate measures by spaces, as in -m "AP nDCG@10", or repeat -m' in caught.value.hint


def test_measures_without_quotes_are_not_files(call: Call) -> None:
    for line in (["-m", "AP", "nDCG@10", QRELS, BM25], [QRELS, BM25, "-m", "AP", "nDCG@10"]):
        result = call("eval", *line)
        assert result.exit_code == 1
        assert "nDCG@10: there is no such file" in result.stderr
        assert 'in quotes, as in -m "AP nDCG@10", or repeat -m' in result.stderr
    assert "hint" not in call("eval", QRELS, "nothing.run").stderr


def test_hints_name_options_that_exist() -> None:
    known = {
        name
        for verb in Verbs.NAMES
        for command in [cli.get_command(click.Context(cli), verb)]
        if command is not None
        for param in command.params
        for name in param.opts
    }
    assert {meant for _, meant, _ in commands.MEANINGS if meant} <= known


@pytest.mark.parametrize(
    ("alias", "symbol"),
    [
        ("map", "AP"),
        ("ndcg_cut", "nDCG"),
        ("ndcg_cut_10", "nDCG"),
        ("precision", "SetP"),
        ("recall@5", "R"),
        ("unj", "Unjudged"),
        ("iprec_at_recall", "IPrec"),
        ("num_q", "NumQ"),
        ("Q-measure", "Q"),
        ("Rprec_mult", "RprecAt"),
        ("11pt_avg", "IPrecAvg"),
        ("c@1", "c_at_1"),
    ],
)
def test_show_takes_the_names_of_other_tools(call: Call, alias: str, symbol: str) -> None:
    result = call("show", alias)
    assert result.exit_code == 0
    assert result.stdout.split()[0].partition("@")[0] == symbol


def test_every_alias_can_be_shown(call: Call) -> None:
    from cranfield.measures.aliases import CUT, NAMES, SPECIAL
    from cranfield.report import catalogue

    for table in (CUT, NAMES, SPECIAL):
        for alias in table:
            assert catalogue.find(alias)[0].summary


def test_measures_are_found_by_words(call: Call) -> None:
    found = call("measures", "reciprocal rank").stdout
    assert "RR, RR@k" in found and "ERR, ERR@k" in found and "nDCG" not in found
    assert "AP, AP@k" in call("measures", "MAP").stdout
    assert "RBP" in call("measures", "moffat2008").stdout
    nothing = call("measures", "xyzzy")
    assert nothing.exit_code == 2 and "no measure matches `xyzzy`" in nothing.stderr
