"""Pages written from the package itself: the measures by family, and the help of every command."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import formulas
import papers
from peers import PEERS

from cranfield.cli.commands import HELP_ALL
from cranfield.cli.main import Verbs, cli
from cranfield.measures import CATALOGUE, FAMILIES, parse
from cranfield.measures.catalogue import Definition
from cranfield.report import catalogue
from cranfield.report.catalogue import CUTOFFS, allowed, parameter_meaning

if TYPE_CHECKING:
    from sphinx.application import Sphinx

GAINS = {
    "binary": "relevant or not: a grade of `rel` or more counts 1.",
    "graded": "the gain of each grade, given by `gain`.",
    "grades": "grades, as the formula says.",
    "scaled": "gains, divided by the gain of the top grade (`max`).",
    "none": "whether a document is judged; grades are not used.",
    "either": "relevant or not; with `graded=True`, gains in [0, 1].",
    "attribute": "an attribute of documents, from `Collection(items=...)`; no judgments.",
    "ideal": "gains, divided by the gain of the top grade (`max`), compared with those of the ideal ranking.",
}
PREFERS = "preferences between documents instead of grades; see the argument `prefs` of `evaluate`."
READS = "the text of documents, judged or not; needs a corpus. See {doc}`/concepts/reading`."
TITLES = {
    "user_model": "User models",
    "preference": "Preference measures",
    "content": "Measures of document text",
    "sampled": "Sampled judgments",
    "trec": "Further measures of trec_eval",
    "ntcireval": "Further measures of NTCIREVAL",
}
AGGREGATES = {
    "mean": "mean",
    "geometric": "geometric mean",
    "sum": "sum",
    "credit": "mean, in which an undefined value counts as the share of correct answers",
}


def families() -> dict[str, list[str]]:
    """Each family with the paragraphs of its module's docstring, which explain the symbols in formulas."""
    return {m.__name__.rpartition(".")[2]: (inspect.getdoc(m) or "").replace("``", "`").split("\n\n") for m in FAMILIES}


def heading(family: str) -> str:
    """The title of a family."""
    return TITLES.get(family, family.replace("_", " ").capitalize())


def members(family: str) -> list[Definition]:
    """The measures of a family."""
    return [d for d in CATALOGUE.values() if d.family == family]


def label(d: Definition) -> str:
    """The target of links to a measure."""
    # Labels do not tell Rprec from RPrec; function names are distinct.
    return f"measure-{d.function.__name__.replace('_', '-')}"


def prose(d: Definition) -> tuple[list[str], str]:
    """The paragraphs of a docstring in Markdown, and its example."""
    text, mark, example = (inspect.getdoc(d.function) or "").partition(">>>")
    paragraphs = [" ".join(p.split()).replace("``", "`") for p in text.split("\n\n") if p.strip()]
    return paragraphs, (mark + example).rstrip()


def parameters(d: Definition) -> Iterator[str]:
    """The table of the parameters of a measure."""
    if not d.parameters:
        yield "No parameters."
        return
    yield "| parameter | default | values | meaning |"
    yield "| --- | --- | --- | --- |"
    for p in d.parameters.values():
        default = "none" if p.default is None else f"`{p.default!r}`"
        values = allowed(p).replace("|", "\\|")
        yield f"| `{p.name}` | {default} | {values} | {parameter_meaning(d, p.name) or 'see above'} |"


def bounds(d: Definition) -> str:
    """The lowest and the highest score."""
    low, high = d.bounds
    if low == -math.inf:
        return "none"
    return f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} or more"


def ties(d: Definition) -> str:
    """How the expectation over ties is taken, and when it is exact."""
    if not d.ties.samples:
        return f"{d.ties.summary}."
    sampled = f"over a random sample of {d.ties.samples:,}, and a note gives the standard error"
    return f"{d.ties.summary}; beyond {d.ties.exact_up_to}, {sampled}."


def barren(d: Definition) -> bool:
    """Whether a measure is undefined for a query without relevant documents; computed from an example."""
    at = {"none": "", "optional": "", "required": "@5", "recall": "@0.5"}[d.cutoff]
    if d.preferences or d.gains == "attribute":
        return False
    return d.subtopics or d.content or d.spans or math.isnan(parse(f"{d.symbol}{at}")([0]))


def entry(d: Definition) -> str:
    """The section of one measure."""
    paragraphs, example = prose(d)
    residual = "yes, see {doc}`/concepts/unjudged`." if d.residual else "none."
    lines = [f"({label(d)})=", f"## {d.symbol}: {d.title}", "", *("\n\n".join(paragraphs),), ""]
    lines += [*formulas.markdown(d.symbol), "```text", d.usage, "```", "", *parameters(d), ""]
    lines += [
        f"- **Uses:** {READS if d.content else PREFERS if d.preferences else GAINS[d.gains]}",
        f"- **Bounds:** {bounds(d)}.",
        *(["- **If no document is relevant:** undefined."] if barren(d) else []),
        f"- **Aggregation over queries:** {AGGREGATES[d.aggregate]}.",
        f"- **With `ties=expected`:** {ties(d)}",
        f"- **Terminal form:** {'none: ' + d.terminal if d.terminal else 'yes, see {doc}`/concepts/truncated`'}.",
        f"- **Residual:** {residual}",
        *(f"- **Source:** {catalogue.reference(key)}." for key in d.cite.split()),
        "",
    ]
    if example:
        lines += ["```{doctest}", ">>> import cranfield as cf", example, "```", ""]
    return "\n".join(lines)


def family_page(family: str, about: list[str]) -> str:
    """The page of one family."""
    title = heading(family)
    return "\n".join(
        [
            f"# {title}",
            "",
            formulas.typeset("\n\n".join(about)),
            "",
            formulas.NOTATION,
            "",
            *(entry(d) for d in members(family)),
        ]
    )


def overview() -> str:
    """The page that lists all measures."""
    lines = [
        "# Measures",
        "",
        "All measures, by family. This page is generated from the catalogue.",
        "",
        formulas.NOTATION,
        "",
    ]
    for family, about in families().items():
        lines += [
            f"## {heading(family)}",
            "",
            about[0],
            "",
            "| measure | meaning |",
            "| --- | --- |",
        ]
        lines += [f"| [{CUTOFFS[d.cutoff].format(d.symbol)}](#{label(d)}) | {d.summary} |" for d in members(family)]
        lines.append("")
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *families(), "```", ""])


def peers_page() -> str:
    """The page with the measures of other tools, and ours for each."""
    lines = [
        "# Measures of other tools",
        "",
        "Each measure of trec_eval, pytrec_eval, ir_measures, ndeval, NTCIREVAL and cwl_eval, and the measure here "
        "with the same value. Cutoffs and parameters are examples. The tests of the project compute the measures of "
        "pytrec_eval, ir_measures, pyndeval and cwl_eval with these tools, and compare those of trec_eval and "
        "NTCIREVAL with stored values of the programs. {doc}`/migration` lists the accepted names. Where a tool is "
        "wrong, values differ: see {doc}`/differences` and, for example for `rbp_resid`, {doc}`/compat/trec_eval`.",
        "",
    ]
    for tool, measures in PEERS.items():
        lines += [f"## {tool}", "", f"{len(measures)} measures.", "", f"| {tool} | Cranfield | meaning |"]
        lines += ["| --- | --- | --- |", *(_peer_row(name, ours) for name, ours in measures.items()), ""]
    return "\n".join(lines)


def _peer_row(name: str, ours: str) -> str:
    theirs = ", ".join(f"`{one}`" for one in name.split(", ")) if "(" not in name else f"`{name}`"
    if ours.startswith("cranfield "):
        return f"| {theirs} | `{ours}` | not a measure; printed by the command |"
    definition = parse(ours).definition
    return f"| {theirs} | [`{parse(ours)}`](#{label(definition)}) | {definition.summary} |"


def command_page() -> str:
    """The page with the help of every command."""
    lines = ["# Command line", "", "What `--help-all` prints, for every command.", ""]
    for verb in (None, *Verbs.NAMES):
        command: click.Command | None = cli if verb is None else cli.get_command(click.Context(cli), verb)
        assert command is not None
        name = "cranfield" if verb is None else f"cranfield {verb}"
        context = click.Context(command, info_name=name, max_content_width=100, terminal_width=88, **settings())
        context.meta[HELP_ALL] = True
        lines += [f"## {name}", "", "````text", command.get_help(context).rstrip(), "````", ""]
    return "\n".join(lines)


def settings() -> dict[str, list[str]]:
    """The settings of help that the command line has."""
    return {"help_option_names": ["-h", "--help"]}


def pages() -> dict[str, str]:
    """Every generated page by its name."""
    made = {family: family_page(family, about) for family, about in families().items()}
    return made | {"measures": overview(), "peers": peers_page(), "commands": command_page(), "papers": papers.page()}


def write(app: Sphinx) -> None:
    """Write the pages that have changed, and remove obsolete ones."""
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    made = {f"{name}.md": text for name, text in pages().items()}
    for old in folder.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx reads any."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
