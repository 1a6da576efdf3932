"""How many judgments are enough: the order of systems from a sample of the judgments, against that from all.

Hui, Berberich and Mele, "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Figure 1: established
measures on raw and on condensed lists, and measures that read the text of judged documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cranfield import io
from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import check_count, check_fraction, check_numbers
from cranfield.measures import Measure
from cranfield.studies import saving
from cranfield.studies.candidates import DEFAULT, HIGH, CandidateMeasures, binary_judgments
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.divergence_claim import DivergenceClaim, count_divergences
from cranfield.studies.judgment_sampling import Strata, sample_sizes, summarize_repeats
from cranfield.studies.systems import (
    MIN_QUERIES,
    SystemScores,
    add_variants,
    defined_for_all,
    mean_scores,
    score_systems,
)

RATES = (1, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)


@dataclass(frozen=True)
class SamplingSettings:
    """How judgments were sampled: rates in percent, repetitions, and the lowest relevant grade.

    ``variants``: the number of simulated runs that rerank the documents of the only run. ``threshold``: the agreement
    that counts as high.
    """

    rates: tuple[int, ...]
    repeats: int
    seed: int
    rel: float
    coefficient: str
    variants: int
    threshold: float = HIGH


@dataclass(frozen=True, eq=False, repr=False)
class Sampling(saving.StudyResult):
    """The agreement of orders of systems from samples of the judgments with the order from all of them.

    ``agreement`` (reference, candidate, rate, repeat): with the reference measure under all judgments. Candidates are
    the same measure on raw and on condensed lists, and every measure that reads document text.
    ``judged`` (rate, 2): the number of relevant and of other documents that are judged at each rate. ``claims``: how
    often the results of a run are as close to a subtopic as the collection is, for all judgments.
    """

    STUDY = "sampling"

    settings: SamplingSettings
    runs: tuple[str, ...]
    queries: int
    references: tuple[str, ...]
    candidates: tuple[str, ...]
    agreement: Floats
    judged: Integers
    claims: tuple[DivergenceClaim, ...] = ()
    notes: tuple[str, ...] = ()

    summary = staticmethod(summarize_repeats)

    def sufficient_rates(self, high: float | None = None) -> list[list[int | None]]:
        """The lowest rate from which mean agreement stays at least ``high``, (reference, candidate); None if none.

        By default the threshold of the settings.
        """
        below = ~(self.summary(self.agreement)[0] >= (self.settings.threshold if high is None else high))
        first = np.where(below.any(axis=-1), below.shape[-1] - below[..., ::-1].argmax(axis=-1), 0)
        rates = [*self.settings.rates, None]
        return [[rates[i] for i in row] for row in first.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints."""
        return {
            **self.header(),
            "settings": asdict(self.settings),
            "runs": list(self.runs),
            "queries": self.queries,
            "judged": self.judged.tolist(),
            "agreement": {
                reference: {
                    candidate: [saving.to_json(row) for row in self.agreement[r, c]]
                    for c, candidate in enumerate(self.candidates)
                }
                for r, reference in enumerate(self.references)
            },
            "divergence_claims": [asdict(claim) for claim in self.claims],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Sampling:
        """The result that `to_dict` returned."""
        settings, agreement = dict(data["settings"]), data["agreement"]
        candidates = tuple(next(iter(agreement.values())))
        return cls(
            SamplingSettings(**settings | {"rates": tuple(settings["rates"])}),
            tuple(data["runs"]),
            data["queries"],
            tuple(agreement),
            candidates,
            np.array(
                [
                    [[saving.from_json(row) for row in by_candidate[candidate]] for candidate in candidates]
                    for by_candidate in agreement.values()
                ]
            ),
            np.array(data["judged"], np.int64),
            tuple(DivergenceClaim(**claim) for claim in data.get("divergence_claims", ())),
            tuple(data["notes"]),
        )


def sampling(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    corpus: Any = None,
    rates: Sequence[int] = RATES,
    repeats: int = 30,
    rel: float = 1.0,
    coefficient: str = "tau-a",
    threshold: float = HIGH,
    variants: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Sampling:
    """The agreement of the order of systems from a sample of the judgments with that from all of them.

    ``rates``, in percent, of the judgments are drawn at random, ``repeats`` times, separately for relevant and other
    documents; smaller samples are contained in larger ones. Judgments are binary: ``rel`` is the lowest relevant
    grade. Those ``measures`` that need judgments only are the references under all judgments; under samples they are
    computed on raw and on condensed lists, next to the ``measures`` that read document text, which need a ``corpus``.
    ``threshold``: the agreement that counts as high. ``variants``: see `add_variants`.
    """
    comparison, threshold = get_coefficient(coefficient), check_fraction("threshold", threshold)
    repeats, variants, seed = (
        check_count("repeats", repeats),
        check_count("variants", variants, 0),
        check_count("seed", seed, 0),
    )
    candidates = CandidateMeasures.of(measures)
    rates = check_numbers("rates", rates, 1, 100)
    settings = SamplingSettings(rates, repeats, seed, rel, coefficient, variants, threshold)
    judgments = binary_judgments(io.read_qrels(qrels), rel)
    all_runs, variant_notes = add_variants(runs, judgments, variants, seed)
    systems = score_systems(judgments, all_runs, candidates.columns, corpus=corpus, seed=seed)
    shape = len(candidates.columns), len(settings.rates), repeats
    scores, counted = np.full((*shape, len(systems.runs)), np.nan), np.zeros(shape, np.int64)
    for done, (level, repeat, keep) in enumerate(_samples(systems, settings), 1):
        values = systems.values if keep.all() else systems.relabeller.scores(keep)
        usable = defined_for_all(values)
        scores[:, level, repeat], counted[:, level, repeat] = mean_scores(values, usable), usable.sum(axis=1)
        if progress is not None:
            progress(done, len(settings.rates) * repeats)
    reference_scores = candidates.reference_scores(systems.means)[:, None, None, None]
    reference, candidate = np.broadcast_arrays(reference_scores, candidates.candidate_scores(scores))
    enough = candidates.candidate_scores(counted) >= MIN_QUERIES
    agreement = np.full(enough.shape, np.nan)
    agreement[enough] = comparison.compute(reference[enough], candidate[enough])
    sizes = Strata(systems.relabeller.judgments, systems.relabeller.grade).sizes
    return Sampling(
        settings,
        systems.runs,
        len(systems.queries),
        candidates.references,
        candidates.names,
        agreement,
        np.array([sample_sizes(sizes, rate).sum(axis=0) for rate in settings.rates]),
        tuple(count_divergences(systems.relabeller)),
        (*variant_notes, *systems.notes, *_undefined_notes(systems, settings, counted)),
    )


def _samples(systems: SystemScores, settings: SamplingSettings) -> Iterator[tuple[int, int, Booleans]]:
    """The level, the repetition and the judgments sampled."""
    strata = Strata(systems.relabeller.judgments, systems.relabeller.grade)
    for repeat in range(settings.repeats):
        position = strata.shuffle(np.random.default_rng([settings.seed, repeat]))
        for level, rate in enumerate(settings.rates):
            yield level, repeat, strata.sample(position, sample_sizes(strata.sizes, rate))


def _undefined_notes(systems: SystemScores, settings: SamplingSettings, counted: Integers) -> Iterator[str]:
    """Notes on measures that become undefined for queries under a sample."""
    full = systems.defined.sum(axis=1)
    for m, measure in enumerate(systems.measures):
        fewest = counted[m].min(axis=1)
        affected = np.flatnonzero(fewest < full[m])
        if len(affected):
            yield (
                f"{measure}: becomes undefined for some queries at rates up to {settings.rates[affected[-1]]}%; "
                f"means are over at least {fewest[affected].min()} of {full[m]} queries"
            )
