"""Ways to call the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_samples import Call
from click.testing import CliRunner, Result

from cranfield.cli.main import cli


@pytest.fixture
def call() -> Call:
    """Calls the command within this process; fails on any exception that is not an exit."""

    def run(*args: object, input: bytes | None = None) -> Result:
        result = CliRunner().invoke(cli, list(map(str, args)), prog_name="cranfield", input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Calls the command as a shell does; ``cranfield`` stands for it."""

    def run(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
        line = line.replace("cranfield ", f"{sys.executable} -m cranfield ")
        return subprocess.run(
            ["bash", "-c", line],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | environment,
            timeout=300,
        )

    return run
