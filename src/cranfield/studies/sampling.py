"""How few judgments will do: the order of systems from a sample of them, against that from all.

Hui, Berberich and Mele, "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Figure 1: established
measures on lists as they are and on condensed lists, and measures that read what the judged documents say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cranfield import io
from cranfield.arguments import whole, whole_numbers
from cranfield.batch import Booleans
from cranfield.data import Floats, Integers
from cranfield.measures import Measure
from cranfield.studies import saving
from cranfield.studies.coefficients import coefficient as named
from cranfield.studies.repetitions import summary
from cranfield.studies.rivals import DEFAULT, Rivals, binary
from cranfield.studies.strata import Strata, sampled
from cranfield.studies.systems import LEAST, Systems, complete, means, systems
from cranfield.studies.widening import widened

RATES = (1, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)
HIGH = 0.8  # what the paper takes for agreement


@dataclass(frozen=True)
class Settings:
    """How judgments were sampled: shares in percent, how often, and from which grade on they count as relevant.

    ``variants``: how many of the runs were made up over the documents of the first.
    """

    rates: tuple[int, ...]
    repeats: int
    seed: int
    rel: float
    coefficient: str
    variants: int


@dataclass(frozen=True, eq=False)
class Sampling(saving.Study):
    """How far orders of systems from samples of the judgments agree with the order from all of them.

    ``agreement`` (truth, rival, rate, repeat): with the truth, a measure under all judgments. Rivals are that
    measure on lists as they are and on condensed lists, and every measure that reads documents.
    ``judged`` (rate, 2): how many relevant and other documents are judged at each rate.
    """

    STUDY = "sampling"

    settings: Settings
    runs: tuple[str, ...]
    queries: int
    truths: tuple[str, ...]
    rivals: tuple[str, ...]
    agreement: Floats
    judged: Integers
    notes: tuple[str, ...] = ()

    summary = staticmethod(summary)

    def enough(self, high: float = HIGH) -> list[list[int | None]]:
        """The lowest rate from which on mean agreement stays at least so high, (truth, rival); None for no rate."""
        below = ~(self.summary(self.agreement)[0] >= high)
        first = np.where(below.any(axis=-1), below.shape[-1] - below[..., ::-1].argmax(axis=-1), 0)
        rates = [*self.settings.rates, None]
        return [[rates[i] for i in row] for row in first.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `save` writes and ``--format json`` prints."""
        return {
            "study": self.STUDY,
            "settings": asdict(self.settings),
            "runs": list(self.runs),
            "queries": self.queries,
            "judged": self.judged.tolist(),
            "agreement": {
                truth: {
                    rival: [saving.listed(row) for row in self.agreement[t, r]] for r, rival in enumerate(self.rivals)
                }
                for t, truth in enumerate(self.truths)
            },
            "notes": list(self.notes),
        }

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Sampling:
        """What `to_dict` returned, as a result again."""
        settings, agreement = dict(found["settings"]), found["agreement"]
        first = next(iter(agreement.values()))
        return cls(
            Settings(**settings | {"rates": tuple(settings["rates"])}),
            tuple(found["runs"]),
            found["queries"],
            tuple(agreement),
            tuple(first),
            np.array([[[saving.array(row) for row in one[rival]] for rival in first] for one in agreement.values()]),
            np.array(found["judged"], np.int64),
            tuple(found["notes"]),
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
    variants: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Sampling:
    """How far the order of systems from a share of the judgments agrees with that from all of them.

    ``rates`` of the judgments, in percent, are drawn at random, ``repeats`` times, relevant documents and others apart;
    smaller samples are part of larger ones. Judgments are taken as relevant or not: ``rel`` is the lowest
    relevant grade. ``measures`` that judgments alone decide are the truth under all judgments; under samples they
    are scored on lists as they are and on condensed ones, beside those ``measures`` that read documents, which
    need a ``corpus``. ``variants``: see `widened`.
    """
    how = named(coefficient)
    repeats, variants, seed = whole("repeats", repeats), whole("variants", variants, 0), whole("seed", seed, 0)
    rivals = Rivals.of(measures)
    settings = Settings(whole_numbers("rates", rates, 1, 100), repeats, seed, rel, coefficient, variants)
    judgments = binary(io.read_qrels(qrels), rel)
    given, said = widened(runs, judgments, variants, seed)
    found = systems(judgments, given, rivals.columns, corpus=corpus, seed=seed)
    shape = len(rivals.columns), len(settings.rates), repeats
    scores, counted = np.full((*shape, len(found.runs)), np.nan), np.zeros(shape, np.int64)
    for done, (level, repeat, keep) in enumerate(_samples(found, settings), 1):
        values = found.values if keep.all() else found.relabeller.scores(keep)
        usable = complete(values)
        scores[:, level, repeat], counted[:, level, repeat] = means(values, usable), usable.sum(axis=1)
        if progress is not None:
            progress(done, len(settings.rates) * repeats)
    true, rival = np.broadcast_arrays(rivals.true(found.means)[:, None, None, None], rivals.rivals(scores))
    enough = rivals.rivals(counted) >= LEAST
    agreement = np.full(enough.shape, np.nan)
    agreement[enough] = how.of(true[enough], rival[enough])
    sizes = Strata(found.relabeller.judgments, found.relabeller.grade).sizes
    return Sampling(
        settings,
        found.runs,
        len(found.queries),
        rivals.truths,
        rivals.names,
        agreement,
        np.array([sampled(sizes, rate).sum(axis=0) for rate in settings.rates]),
        (*said, *found.notes, *_lost(found, settings, counted)),
    )


def _samples(found: Systems, settings: Settings) -> Iterator[tuple[int, int, Booleans]]:
    """Level, repetition and the judgments known there."""
    strata = Strata(found.relabeller.judgments, found.relabeller.grade)
    for repeat in range(settings.repeats):
        place = strata.shuffled(np.random.default_rng([settings.seed, repeat]))
        for level, rate in enumerate(settings.rates):
            yield level, repeat, strata.first(place, sampled(strata.sizes, rate))


def _lost(found: Systems, settings: Settings, counted: Integers) -> Iterator[str]:
    """Where measures have no value for queries that had one under all judgments."""
    expected = found.defined.sum(axis=1)
    for m, measure in enumerate(found.measures):
        fewest = counted[m].min(axis=1)
        short = np.flatnonzero(fewest < expected[m])
        if len(short):
            worst = int(fewest[short].argmin())
            yield (
                f"{measure}: undefined for some queries that it was defined for, at rates up to "
                f"{settings.rates[short[-1]]} %; means are over {fewest[short[worst]]} of {expected[m]} at least"
            )
