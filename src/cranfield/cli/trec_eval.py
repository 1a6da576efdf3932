"""``cranfield trec_eval``: the arguments and the output of trec_eval."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.output import emit


class WrongUsage(click.UsageError):
    """A usage error with trec_eval's exit code."""

    exit_code = 1


class TrecEvalCommand(click.Command):
    """A command that exits with code 1 on wrong usage, as trec_eval does."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except click.UsageError as error:
            raise WrongUsage(error.format_message(), error.ctx) from error


@click.command(
    cls=TrecEvalCommand,
    short_help="Run as a drop-in replacement for trec_eval.",
    context_settings={"help_option_names": []},
)
@click.argument("files", nargs=-1, metavar="QRELS RUN", type=click.Path(allow_dash=True))
@click.option(
    "--compat",
    type=click.Choice(("9", "10")),
    default="9",
    show_default=True,
    help="The version of trec_eval to reproduce.",
)
@click.option("-q", "--query_eval_wanted", is_flag=True, help="Print the scores of every query, then the summary.")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME[.PARAMS]",
    help="A measure, or one of official, set, all_trec, prefs, all_prefs, qrels_jg; may be repeated.  "
    "[default: official]",
)
@click.option("-c", "--complete_rel_info_wanted", "complete", is_flag=True, help="Average over all judged queries.")
@click.option(
    "-l",
    "--level_for_rel",
    "level",
    type=int,
    default=1,
    metavar="N",
    show_default=True,
    help="The lowest relevant grade.",
)
@click.option("-n", "--nosummary", is_flag=True, help="Do not print the summary.")
@click.option("-J", "--Judged_docs_only", "judged", is_flag=True, help="Leave out unjudged documents.")
@click.option(
    "-N",
    "--Number_docs_in_coll",
    "number",
    type=int,
    default=0,
    metavar="N",
    help="Number of documents in the collection; used by utility only.",
)
@click.option(
    "-M",
    "--Max_retrieved_per_topic",
    "most",
    type=int,
    metavar="N",
    help="Use only the first N documents of each query.",
)
@click.option(
    "-Z",
    "--Zscore",
    "zscores",
    metavar="FILE",
    default="",
    help="Print z-scores, using the means and standard deviations in FILE.",
)
@click.option(
    "-R",
    "--Rel_info_format",
    "rel_format",
    default="qrels",
    metavar="NAME",
    show_default=True,
    help="Format of QRELS: qrels, qrels_jg, prefs or qrels_prefs.",
)
@click.option(
    "-T",
    "--Results_format",
    "format",
    default="trec_results",
    metavar="NAME",
    help="Format of RUN; only trec_results is supported.",
)
@click.option(
    "-D",
    "--Debug_level",
    "debug",
    default="0",
    metavar="N[.QUERY]",
    help="With .QUERY: score only this query. No debug output.",
)
@click.option("-o", "old", is_flag=True, help="Has no effect, as in trec_eval.")
@click.option("--Output_old_results_format", "older", metavar="X", help="Has no effect, as in trec_eval.")
@click.option("-v", "--version", is_flag=True, help="Print the version of trec_eval that is reproduced.")
@click.option("-h", "--help", "help_wanted", is_flag=True, help="Print this help; with -m, also explain the measures.")
@click.pass_context
def command(ctx: click.Context, /, files: tuple[str, ...], compat: str, **given: Any) -> None:
    """Score RUN against QRELS as trec_eval does: the same arguments, and the same output byte for byte.

    To use the old name: alias trec_eval='cranfield trec_eval'. Exit codes: 1 for wrong usage, 2 for unreadable files,
    4 if a measure cannot be computed, 7 if RUN and QRELS have no query in common.

    \b
    cranfield trec_eval qrels.txt bm25.run
    cranfield trec_eval -q -c -m map -m ndcg_cut.5,10 qrels.txt bm25.run
    """
    from cranfield.compat import trec_eval as program

    generation: Any = int(compat)
    if given["version"]:
        click.echo(f"trec_eval version {program.VERSIONS[generation]}", err=True)
        ctx.exit(0)
    if given["help_wanted"]:
        measures = program.requested_measures(given["measures"], generation) if given["measures"] else {}
        emit(f"{ctx.get_help()}\n{program.explain_measures(measures)}")
        ctx.exit(0)
    if len(files) != 2:
        raise program.TrecEvalError(
            f"expected 2 files (judgments and one run), found {len(files)}", 1, hint="see `cranfield trec_eval --help`"
        )
    options = program.Options(
        measures=given["measures"],
        generation=generation,
        query_eval_wanted=given["query_eval_wanted"],
        nosummary=given["nosummary"],
        complete=given["complete"],
        level=given["level"],
        judged_docs_only=given["judged"],
        number_docs=given["number"],
        max_retrieved=given["most"],
        only=given["debug"].partition(".")[2],
        zscores=given["zscores"],
        rel_info_format=given["rel_format"],
        results_format=given["format"],
    )
    for part in program.evaluate(files[0], files[1], options):
        emit(part)  # output that precedes an error is printed, as by trec_eval
