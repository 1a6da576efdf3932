"""Cranfield as a provider for ir_measures: after this import, ir_measures and PyTerrier use it.

>>> import cranfield.compat.ir_measures  # doctest: +SKIP

It becomes the first provider and computes every measure with one tie rule, that of trec_eval 9, which ir_measures
uses for most measures. Undefined values count as 0, as in ir_measures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import product
from typing import Any

from cranfield.errors import MeasureError, optional
from cranfield.evaluation.evaluator import Evaluator
from cranfield.io import read_qrels
from cranfield.measures import parse
from cranfield.ranking.tie_rules import Ties

ir_measures = optional("ir_measures", "the provider for ir_measures", "ir-measures")
providers = ir_measures.providers


def equivalent(measure: Any) -> str:
    """Our name for the measure as ir_measures defines it, also where our definition is different."""
    text = str(measure)
    if measure.NAME == "ERR":  # grades go up to 4 there
        return text.replace("ERR", "ERR(max=4)")
    if measure.NAME == "Judged":  # of what was retrieved, where that is less than k
        return text.replace("Judged", "Judged(of='retrieved')")
    if measure.NAME == "SetF" and "beta" in measure.params:  # it is beta squared there, as in trec_eval
        return str(measure(beta=math.sqrt(measure["beta"])))
    if measure.NAME == "Compat":  # overlaps are summed to the end of the longer list there
        inside = ", ".join([*(f"{name}={value!r}" for name, value in measure.params.items()), "depth=None"])
        return f"Compat({inside})"
    return text


class CranfieldEvaluator(providers.Evaluator):  # type: ignore[misc,name-defined]
    """Judgments read once, for any number of runs."""

    def __init__(self, measures: Iterable[Any], qrels: Any, ties: Ties) -> None:
        parsed = list(measures)
        self.ties: Ties = ties
        judged: dict[str, dict[str, Any]] = {}
        diverse = any(parse(str(m)).definition.subtopics for m in parsed)
        for row in ir_measures.util.QrelsConverter(qrels).as_namedtuple_iter():
            documents = judged.setdefault(row.query_id, {})
            if diverse:
                documents.setdefault(row.doc_id, {})[row.iteration] = row.relevance
            else:
                documents[row.doc_id] = row.relevance
        # ir_measures has no values without judgments; it is not an error there.
        self.qrels = read_qrels(judged) if any(judged.values()) else None
        super().__init__(parsed, set(judged))

    def iter_calc(self, run: Any) -> Iterator[Any]:
        """A value for each measure and judged query, except where ir_measures has none."""
        given = set()
        for metric in self._iter_calc(run):
            given.add((metric.measure, metric.query_id))
            yield metric
        filled = [measure for measure in self.measures if measure.NAME != "Accuracy"]
        for measure, query in sorted(product(filled, self.qrel_qids), key=lambda pair: (str(pair[0]), pair[1])):
            if (measure, query) not in given:
                yield ir_measures.Metric(query_id=query, measure=measure, value=measure.DEFAULT)

    @cached_property
    def _names(self) -> list[str]:
        return [equivalent(measure) for measure in self.measures]

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.qrels, self._names, ties=self.ties, queries="both")

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        if self.qrels is None:
            return
        scores = ir_measures.util.RunConverter(run).as_dict_of_dict()
        answered = {query: documents for query, documents in scores.items() if query in self.qrel_qids}
        for query, values in self._evaluator.per_query(answered).items():
            by_name = dict(zip(dict.fromkeys(self._names), values.values(), strict=True))
            for measure, name in zip(self.measures, self._names, strict=True):
                value = by_name[name]
                if math.isnan(value):
                    if measure.NAME == "Accuracy":  # ir_measures gives no value there
                        continue
                    value = measure.DEFAULT
                yield ir_measures.Metric(query_id=query, measure=measure, value=value)


class CranfieldProvider(providers.Provider):  # type: ignore[misc,name-defined]
    """All measures of ir_measures, with one tie rule."""

    NAME = "cranfield"

    def __init__(self, ties: Ties = "trec9") -> None:
        super().__init__()
        self.ties: Ties = ties

    def supports(self, measure: Any) -> bool:
        try:
            parse(str(measure))
        except MeasureError:
            return False
        return True

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> CranfieldEvaluator:
        return CranfieldEvaluator(measures, qrels, self.ties)


def register(ties: Ties = "trec9") -> CranfieldProvider:
    """Make Cranfield the first provider of ir_measures; a second call replaces the tie rule."""
    provider = CranfieldProvider(ties)
    providers.registry[provider.NAME] = provider
    pipeline = ir_measures.DefaultPipeline
    pipeline.providers = [provider, *(p for p in pipeline.providers if not isinstance(p, CranfieldProvider))]
    return provider


register()
