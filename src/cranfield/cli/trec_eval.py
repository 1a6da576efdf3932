"""``cranfield trec_eval``: trec_eval's arguments in, trec_eval's output out."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.output import emit


class WrongUsage(click.UsageError):
    """What click calls wrong usage, with the exit code that trec_eval has for it."""

    exit_code = 1


class Command(click.Command):
    """A command that ends with 1 where its options make no sense."""

    def make_context(self, *args: Any, **how: Any) -> click.Context:
        try:
            return super().make_context(*args, **how)
        except click.UsageError as error:
            raise WrongUsage(error.format_message(), error.ctx) from error


@click.command(
    cls=Command,
    short_help="Do what trec_eval does, with its arguments and its output.",
    context_settings={"help_option_names": []},
)
@click.argument("files", nargs=-1, metavar="QRELS RUN", type=click.Path(allow_dash=True))
@click.option("--compat", type=click.Choice(("9", "10")), default="9", show_default=True, help="Which version to be.")
@click.option("-q", "--query_eval_wanted", is_flag=True, help="Print every query, then the summary.")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME[.PARAMS]",
    help="A measure, or official, set, all_trec; may be repeated.  [default: official]",
)
@click.option("-c", "--complete_rel_info_wanted", "complete", is_flag=True, help="Average over all judged queries.")
@click.option("-l", "--level_for_rel", "level", type=int, default=1, metavar="N", help="The lowest relevant grade.")
@click.option("-n", "--nosummary", is_flag=True, help="Print no summary.")
@click.option("-J", "--Judged_docs_only", "judged", is_flag=True, help="Leave out documents that nobody judged.")
@click.option("-N", "--Number_docs_in_coll", "number", type=int, default=0, metavar="N", help="For utility alone.")
@click.option("-M", "--Max_retrieved_per_topic", "most", type=int, metavar="N", help="Look at the first N documents.")
@click.option("-Z", "--Zscore", "zscores", metavar="FILE", default="", help="Print z-scores, by FILE's means.")
@click.option("-R", "--Rel_info_format", "rel_format", default="qrels", metavar="NAME", help="qrels, and no other.")
@click.option(
    "-T", "--Results_format", "format", default="trec_results", metavar="NAME", help="trec_results, and no other."
)
@click.option(
    "-D", "--Debug_level", "debug", default="0", metavar="N[.QUERY]", help="Score QUERY only; prints no more."
)
@click.option("-o", "old", is_flag=True, help="Has no effect, as in trec_eval.")
@click.option("--Output_old_results_format", "older", metavar="X", help="Has no effect, as in trec_eval.")
@click.option("-v", "--version", is_flag=True, help="Print the version that this is compatible with.")
@click.option("-h", "--help", "help_wanted", is_flag=True, help="Print this, and with -m what measures mean.")
@click.pass_context
def command(ctx: click.Context, /, files: tuple[str, ...], compat: str, **given: Any) -> None:
    """Score RUN against QRELS as trec_eval does: the same arguments, the same output, to the byte.

    To call it by the old name: alias trec_eval='cranfield trec_eval'. Ends with 1 for wrong usage, 2 for files that
    cannot be read, 4 where a measure cannot be computed, 7 where run and judgments share no query.

    \b
    cranfield trec_eval qrels.txt bm25.run
    cranfield trec_eval -q -c -m map -m ndcg_cut.5,10 --compat 10 qrels.txt bm25.run
    """
    from cranfield.compat import trec_eval as program

    generation: Any = int(compat)
    if given["version"]:
        click.echo(f"trec_eval version {program.VERSIONS[generation]}", err=True)
        ctx.exit(0)
    if given["help_wanted"]:
        asked = program.requested(given["measures"], generation) if given["measures"] else {}
        emit(f"{ctx.get_help()}\n{program.explained(asked)}")
        ctx.exit(0)
    if len(files) != 2:
        raise program.TrecEvalError("give judgments and one run", 1, hint="cranfield trec_eval --help")
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
        emit(part)  # what there is before an error is printed, as trec_eval does
