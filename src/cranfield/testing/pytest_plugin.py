"""A plugin for pytest: the fixture ``rankings``, whose checks compare with a saved baseline and show what went wrong.

    def test_search(rankings):
        rankings.not_worse("qrels.txt", search(queries), "nDCG@10", by=0.01)
        rankings.at_least("qrels.txt", search(queries), {"nDCG@10": 0.7})

The baseline of a check is ``baselines/FILE.CLASS.TEST.MEASURES.json`` beside the file of the test.
``pytest --update-baselines`` writes it. A test that checks a measure twice names the baselines with ``baseline=``; a
name is that of one baseline for all tests of the folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cranfield.analysis.compare import Comparison
    from cranfield.analysis.gates import Verdict
    from cranfield.evaluation.scores import Scores

T = TypeVar("T")
FOLDER = "baselines"
TIME = re.compile(rb'"time": "[^"]*"')  # when a baseline was written


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that writes baselines."""
    group = parser.getgroup("cranfield", "quality of rankings")
    group.addoption(
        "--update-baselines",
        action="store_true",
        help="Write the scores of each `rankings.not_worse` as its baseline, instead of checking them.",
    )


class RankingChecks:
    """Checks of one test; ``folder`` is where its baselines are, ``test`` names it within the folder.

    ``contents``: what was written to each file in this session.
    """

    def __init__(self, folder: Path, test: str, *, update: bool, contents: dict[Path, bytes] | None = None) -> None:
        self.folder, self.test, self.update = folder, test, update
        self.written: list[Path] = []
        self._contents = {} if contents is None else contents
        self._used: set[Path] = set()

    def path(self, measures: Any, name: str | None = None) -> Path:
        """The file of a baseline: that of the test and the measures, or another by its name."""
        several = [measures] if isinstance(measures, str) or not isinstance(measures, Iterable) else measures
        own = f"{self.test}.{'+'.join(map(str, several))}"
        return self.folder / _file_name(own if name is None else name)

    def not_worse(
        self, qrels: Any, run: Any, measures: Any, *, baseline: str | None = None, **options: Any
    ) -> Comparison | None:
        """`assert_not_worse` against the saved baseline, which may have a name of its own; None if it is written."""
        __tracebackhide__ = True
        from cranfield.testing.assertions import assert_not_worse

        path = self._baseline(qrels, run, measures, baseline, options)
        return None if path is None else _shown(assert_not_worse, qrels, run, path, measures, **options)

    def gates(
        self, qrels: Any, run: Any, gates: Mapping[str, Any], *, baseline: str | None = None, **options: Any
    ) -> Verdict | None:
        """`assert_gates`, against the saved baseline if a gate needs one; None if that is written."""
        __tracebackhide__ = True
        from cranfield.testing.assertions import assert_gates, gates_of

        path = None
        if any(gate.comparing for gate in gates_of(gates).values()):
            path = self._baseline(qrels, run, list(gates), baseline, options)
            if path is None:
                return None
        return _shown(assert_gates, qrels, run, gates, path, **options)

    def _baseline(
        self, qrels: Any, run: Any, measures: Any, name: str | None, options: Mapping[str, Any]
    ) -> Path | None:
        """The file of a baseline; None if it was written."""
        __tracebackhide__ = True
        from cranfield.testing.assertions import TESTING, save_baseline

        path = self.path(measures, name)
        if name is None and path in self._used:
            pytest.fail(
                f"{self.test} has two checks of one measure; name their baselines with baseline=", pytrace=False
            )
        self._used.add(path)
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            unused = {"by", "significance", "margin", "worst", "page", *TESTING}
            save_baseline(path, qrels, run, measures, **{k: v for k, v in options.items() if k not in unused})
            self._check_written(path)
            self.written.append(path)
            return None
        if not path.exists():
            pytest.fail(f"there is no baseline {path}; write it with `pytest --update-baselines`", pytrace=False)
        return path

    def _check_written(self, path: Path) -> None:
        """Fail if another check of this session wrote other scores to the same file; these stay."""
        content = path.read_bytes()
        first = self._contents.setdefault(path, content)
        if TIME.sub(b"", first) != TIME.sub(b"", content):
            path.write_bytes(first)
            pytest.fail(f"{path} is the baseline of another check with other scores; use another name", pytrace=False)

    def at_least(self, qrels: Any, run: Any, limits: Mapping[str, float], **options: Any) -> Scores:
        """`assert_at_least`."""
        __tracebackhide__ = True
        from cranfield.testing.assertions import assert_at_least

        return assert_at_least(qrels, run, limits, **options)

    def at_most(self, qrels: Any, run: Any, limits: Mapping[str, float], **options: Any) -> Scores:
        """`assert_at_most`."""
        __tracebackhide__ = True
        from cranfield.testing.assertions import assert_at_most

        return assert_at_most(qrels, run, limits, **options)


def _shown(check: Callable[..., T], *given: Any, **options: Any) -> T:
    """What a check returns; its errors about data and settings as messages, without the source of this package."""
    __tracebackhide__ = True
    from cranfield.errors import CranfieldError

    try:
        return check(*given, **options)
    except CranfieldError as error:
        changed = "save the baseline again" in error.hint
        hint = "`pytest --update-baselines` writes the baselines again" if changed else error.hint
        message = f"{error.message}\n\nhint: {hint}" if hint else error.message
    pytest.fail(message, pytrace=False)  # after the error, or both would be shown


def _file_name(name: str) -> str:
    """A file name for a test or a baseline; different names never have the same file."""
    clean = re.sub(r"[^a-z0-9_.@+-]+", "-", name, flags=re.IGNORECASE).strip("-.")
    # Some file systems ignore case, and none has names of any length.
    if clean == name == name.lower() and len(name) <= 100:
        return f"{clean}.json"
    return f"{clean[:100]}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}.json"


CONTENTS = pytest.StashKey[dict[Path, bytes]]()


@pytest.fixture
def rankings(request: pytest.FixtureRequest) -> RankingChecks:
    """Checks of rankings; see `cranfield.testing.pytest_plugin`."""
    update = bool(request.config.getoption("--update-baselines"))
    classes = [node.name for node in request.node.listchain() if isinstance(node, pytest.Class)]
    contents = request.config.stash.setdefault(CONTENTS, {})
    test = ".".join([request.path.stem, *classes, request.node.name])
    checks = RankingChecks(request.path.parent / FOLDER, test, update=update, contents=contents)
    if update:
        request.node.user_properties.append(("baselines", checks.written))
    return checks


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A failed check shows its tables alone, without the code that called it.

    Its sentence comes first, because pytest repeats the first line in its summary.
    """
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if call.when == "call" and type(error).__module__ == "cranfield.testing.assertions":
        location = f"{item.location[0]}:{(item.location[1] or 0) + 1}: {item.name}"
        report.longrepr = f"{str(error).rstrip()}\n\n{location}"
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The baselines that were written."""
    paths = [
        str(path)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, written in getattr(report, "user_properties", ())
        if name == "baselines"
        for path in written
    ]
    if paths:
        terminalreporter.write_sep("-", "baselines written")
        for path in dict.fromkeys(paths):
            terminalreporter.write_line(path)
