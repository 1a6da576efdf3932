"""Directives ``shell``, ``file`` and ``drawing``: commands of a page are run, and the page shows what they make.

All commands of one page share a temporary folder that begins as a copy of the example collection. The output of a
command stands below it in the page, so that it can be read in the repository; the build fails if it is not current, and
``make outputs`` writes it anew. Blocks whose output is long, or names times and folders, have it in the build only:
these have commands alone.
"""

from __future__ import annotations

import base64
import html
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import papers
import tolerant
from docutils import nodes
from docutils.parsers.rst import directives
from pygments.lexer import RegexLexer, bygroups
from pygments.token import Generic, Text
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import cranfield
from cranfield import example

DOCS = Path(__file__).resolve().parents[1]
WIDTH = 88
SECONDS = 120


class Workshop:
    """A folder for each page, and commands ``cranfield`` and ``python`` that run the package being documented."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="cranfield-docs-"))
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for name, options in (("cranfield", "-m cranfield "), ("python", "")):
            command = self.bin / name
            text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {options}"$@"\n'
            command.write_text(text, encoding="utf-8")
            command.chmod(0o755)
        package = str(Path(cranfield.__file__).parent.parent)
        self.environment = os.environ | {
            "PATH": f"{self.bin}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH")))),
            "PYTHONIOENCODING": "utf-8",
            "COLUMNS": str(WIDTH),
            "NO_COLOR": "1",
        }

    def folder(self, page: str) -> Path:
        path = self.root / "pages" / page
        if not path.exists():
            path.mkdir(parents=True)
            for name in example.NAMES:
                shutil.copyfile(example.path(name), path / name)
            if page == papers.PAGE:
                papers.prepare(path)
        return path

    def run(self, command: str, page: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder(page),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=SECONDS,
        )
        return done.returncode, done.stdout


class Command(NamedTuple):
    """A command, and the output that stands below it."""

    text: str
    output: list[str]


def commands(lines: list[str]) -> list[Command]:
    """What stands after each ``$``, with its output; a line that ends in a backslash goes on."""
    found: list[Command] = []
    for line in lines:
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif found and not found[-1].output and found[-1].text.endswith("\\"):
            found[-1] = Command(f"{found[-1].text}\n{line}", [])
        elif found:
            found[-1].output.append(line.rstrip())
        elif line.strip():
            message = f"a command begins with '$ ': {line!r}"
            raise ValueError(message)
    return found


def execute(workshop: Workshop, page: str, lines: list[str], options: dict[str, int]) -> list[Command]:
    """The commands of a block with what they print now; an error if one ends with another status."""
    done = []
    block = commands(lines)
    for i, (command, _) in enumerate(block):
        expected = options.get("exit", 0) if i == len(block) - 1 else 0
        status, output = workshop.run(command, page)
        if status != expected:
            message = f"`{command}` ended with {status}, not {expected}:\n{output}"
            raise ValueError(message)
        printed = [line.rstrip() for line in output.rstrip("\n").split("\n")]
        most = options.get("lines", len(printed))
        rest = [f"... {len(printed) - most} more lines"] if len(printed) > most else []
        done.append(Command(command, [*printed[:most], *rest]))
    return done


def shown(done: list[Command]) -> str:
    """Commands and outputs as they stand in a page."""
    return "\n\n".join("\n".join([f"$ {command}", *output]).rstrip("\n") for command, output in done)


class SessionLexer(RegexLexer):
    """Commands after ``$``, which may go on after a backslash, and output: no other line is taken for a prompt."""

    name = "session"
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"^(\$ )((?:.*\\\n)*.*\n)", bygroups(Generic.Prompt, Text)),
            (r"^.*\n", Generic.Output),
        ]
    }


class Shell(SphinxDirective):
    """Runs commands; the last one must end with the status given by ``:exit:``, all others with 0."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "exit": directives.nonnegative_int,
        "lines": directives.positive_int,  # of the output that are shown
    }

    def run(self) -> list[nodes.Node]:
        page, workshop = self.env.docname, self.env.app.cranfield_workshop  # type: ignore[attr-defined]
        try:
            done = execute(workshop, page, list(self.content), self.options)
        except ValueError as error:
            raise self.error(str(error)) from error
        text = shown(done)
        stands = any(command.output for command in commands(list(self.content)))
        if stands and not tolerant.Checker().check_output(text, "\n".join(self.content).rstrip(), 0):
            message = f"the output of these commands is not current; run `make outputs`. It is now:\n{text}"
            raise self.error(message)
        block = nodes.literal_block(text, text, language="session")
        # Rows of a Markdown table that is wider than the page must not wrap.
        rows = [line for line in text.split("\n") if line.startswith("|") and len(line) > WIDTH]
        block["classes"] += ["shell", *(["wide"] if rows else [])]
        self.set_source_info(block)
        return [block]


class File(SphinxDirective):
    """Writes a file into the folder of the page, and shows it."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        page, workshop = self.env.docname, self.env.app.cranfield_workshop  # type: ignore[attr-defined]
        name, text = self.arguments[0], "\n".join(self.content)
        (workshop.folder(page) / name).write_text(text + "\n", encoding="utf-8")
        caption = nodes.paragraph("", "", nodes.literal("", name), nodes.Text(":"))
        return [caption, nodes.literal_block(text, text, language="text")]


class Drawing(SphinxDirective):
    """Shows an SVG file that a command drew; the words below it are its description."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        drawn = self.env.app.cranfield_workshop.folder(self.env.docname) / self.arguments[0]  # type: ignore[attr-defined]
        if not drawn.exists():
            message = f"no command drew {self.arguments[0]}"
            raise self.error(message)
        data = base64.b64encode(drawn.read_bytes()).decode("ascii")
        words = html.escape(" ".join(self.content), quote=True)
        image = f'<img class="drawing" alt="{words}" src="data:image/svg+xml;base64,{data}" style="width: 100%">'
        return [
            nodes.raw("", image, format="html"),
            nodes.paragraph("", "", nodes.emphasis("", " ".join(self.content))),
        ]


BLOCK = re.compile(r"^```\{(shell|file)\}([^\n]*)\n((?::\w+:[^\n]*\n)*)(.*?)^```$", re.MULTILINE | re.DOTALL)


def refresh(path: Path, workshop: Workshop) -> list[str]:
    """Write the outputs of all commands of a page anew; what is wrong with blocks, which stay as they are."""
    page = path.relative_to(DOCS).with_suffix("").as_posix()
    faults: list[str] = []

    def renewed(block: re.Match[str]) -> str:
        kind, name, options, content = block.groups()
        if kind == "file":
            (workshop.folder(page) / name.strip()).write_text(content, encoding="utf-8")
            return block[0]
        values = {key: int(value) for key, value in re.findall(r":(\w+): *(\d+)", options)}
        try:
            done = execute(workshop, page, content.splitlines(), values)
        except ValueError as error:
            faults.append(f"{page}: {error}")
            return block[0]
        if not any(command.output for command in commands(content.splitlines())):
            return block[0]  # the page has the output of this block in the build only
        text = shown(done)
        return f"```{{shell}}\n{options}{text}\n```"

    text = path.read_text(encoding="utf-8")
    if (new := BLOCK.sub(renewed, text)) != text:
        path.write_text(new, encoding="utf-8")
        print(page)
    return faults


def main() -> int:
    """Refresh the pages that are named, or all; generated pages show what their commands print."""
    workshop, faults = Workshop(), []
    named = [Path(name).resolve() for name in sys.argv[1:]]
    try:
        for path in named or sorted(set(DOCS.rglob("*.md")) - set((DOCS / "reference").rglob("*"))):
            if "_build" not in path.parts:
                faults += refresh(path, workshop)
    finally:
        shutil.rmtree(workshop.root, ignore_errors=True)
    print(*faults, sep="\n", file=sys.stderr)
    return int(bool(faults))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives; remove the folders at the end."""
    app.cranfield_workshop = Workshop()  # type: ignore[attr-defined]
    app.add_lexer("session", SessionLexer)
    app.add_directive("shell", Shell)
    app.add_directive("file", File)
    app.add_directive("drawing", Drawing)
    app.connect("build-finished", lambda app, error: shutil.rmtree(app.cranfield_workshop.root, ignore_errors=True))
    return {"parallel_read_safe": True, "parallel_write_safe": True}  # each page has its own folder


if __name__ == "__main__":
    sys.exit(main())
