"""The plain engine keeps the contract of engines; whoever breaks it is found out."""

from __future__ import annotations

from typing import Any

import pytest

import cranfield as cf
from cranfield.analysis.compare import Comparison
from cranfield.testing import engine_contract
from cranfield.testing.engine_contract import Columns, EngineContract, Evaluated


class TestLocal(EngineContract):
    def evaluate(self, runs: Any, qrels: Columns, measures: Any, **policies: Any) -> Evaluated:
        return engine_contract.local(runs, qrels, measures, **policies)

    def compare(self, runs: Any, qrels: Columns, measures: Any, terms: Any, **policies: Any) -> Comparison:
        return engine_contract.compared(runs, qrels, measures, terms, **policies)


class Shortened(EngineContract):
    """An engine that loses the last piece."""

    def evaluate(self, runs: Any, qrels: Columns, measures: Any, **policies: Any) -> Evaluated:
        return engine_contract.local(runs[:-1] or runs, qrels, measures, **policies)


class Credulous(EngineContract):
    """An engine that takes whatever it is given."""

    def evaluate(self, runs: Any, qrels: Columns, measures: Any, **policies: Any) -> Evaluated:
        return Evaluated({}, {}, ())

    def compare(self, runs: Any, qrels: Columns, measures: Any, terms: Any, **policies: Any) -> Comparison:
        scores = cf.evaluate({"q": {"d": 1}, "p": {"d": 1}}, [{"q": {"d": 1.0}, "p": {"d": 1.0}}] * 2, "AP")
        return cf.compare(scores)


@pytest.mark.parametrize(
    ("contract", "test"),
    [
        (Shortened(), "test_scores_do_not_depend_on_how_rows_are_split"),
        (Shortened(), "test_skew"),
        *((Credulous(), name) for name in sorted(engine_contract.tests(Credulous())) if "order" not in name),
    ],
)
def test_the_contract_finds_out(contract: EngineContract, test: str) -> None:
    with pytest.raises(AssertionError):
        getattr(contract, test)()
