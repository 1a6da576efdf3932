"""Directives ``shell``, ``file`` and ``drawing``: commands of a page are run, and the page shows what they make.

All commands of one page share a temporary folder that begins as a copy of the example collection.
"""

from __future__ import annotations

import base64
import html
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import papers
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import cranfield
from cranfield import example

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


def commands(lines: list[str]) -> list[str]:
    """What stands after each ``$``; a line that ends in a backslash goes on."""
    found: list[str] = []
    for line in lines:
        if line.startswith("$ "):
            found.append(line[2:])
        elif found and found[-1].endswith("\\"):
            found[-1] += f"\n{line}"
        elif line.strip():
            message = f"a command begins with '$ ': {line!r}"
            raise ValueError(message)
    return found


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
            todo = commands(list(self.content))
        except ValueError as error:
            raise self.error(str(error)) from error
        shown = []
        for i, command in enumerate(todo):
            expected = self.options.get("exit", 0) if i == len(todo) - 1 else 0
            status, output = workshop.run(command, page)
            if status != expected:
                message = f"`{command}` ended with {status}, not {expected}:\n{output}"
                raise self.error(message)
            lines = output.rstrip("\n").split("\n")
            most = self.options.get("lines", len(lines))
            rest = [f"... {len(lines) - most} more lines"] if len(lines) > most else []
            shown.append("\n".join([f"$ {command}", *lines[:most], *rest]).rstrip("\n"))
        block = nodes.literal_block(text := "\n\n".join(shown), text, language="text")
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


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives; remove the folders at the end."""
    app.cranfield_workshop = Workshop()  # type: ignore[attr-defined]
    app.add_directive("shell", Shell)
    app.add_directive("file", File)
    app.add_directive("drawing", Drawing)
    app.connect("build-finished", lambda app, error: shutil.rmtree(app.cranfield_workshop.root, ignore_errors=True))
    return {"parallel_read_safe": True, "parallel_write_safe": True}  # each page has its own folder
