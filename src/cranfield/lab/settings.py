"""Settings that several experiments have; parameters that verbs have too, such as ``seed``, need no description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

from cranfield.lab.systems import COEFFICIENTS
from cranfield.measures import Measure
from cranfield.settings import Chance, Choices, Count, Option, Positive, Whole

Measures = str | Measure | Sequence[str | Measure]
Progress = Callable[[int, int], None]
HIGH = 0.8  # the agreement that Hui et al. (ICTIR 2017) consider high


class Preset(NamedTuple):
    """The measures of a published experiment, and how many of the best runs by which measure it studied."""

    measures: tuple[str, ...]
    top: int
    by: str


Coefficient = Annotated[str, Choices(tuple(COEFFICIENTS)), "Correlation coefficient for comparing two orders of runs."]
Threshold = Annotated[Chance, "Agreement that counts as high."]
Samples = Annotated[Count, "Number of resamples per test."]
Repeats = Annotated[Count, "Number of random subsets of each size."]
Relevant = Annotated[Positive, "Lowest relevant grade.", Option(metavar="GRADE")]
Variants = Annotated[Whole, "With a single RUN: add N simulated runs that rerank its documents."]

# Sakai, "Alternatives to Bpref" (SIGIR 2007), with the 30 best runs of each data set (section 5). AveP', Q' and nDCG'
# are the condensed forms. His nDCG has the discount of Järvelin and Kekäläinen with base 2, and a cutoff of 1000
# (section 4.2). His bpref_R is bpref, because N > R.
JK_NDCG = "nDCG(discount='jk', base=2)@1000"
SAKAI = Preset(
    (
        *("bpref", "bpref_N", "rpref_N", "rpref_relative2"),
        *("AP[condensed]", "Q[condensed]", f"{JK_NDCG}[condensed]"),
        *("AP", "Q", JK_NDCG),
    ),
    top=30,
    by="AP",
)
# Section 6 leaves out two measures where judgments are removed.
SAKAI_REDUCED = SAKAI._replace(measures=tuple(m for m in SAKAI.measures if m not in ("bpref_N", "rpref_N")))
