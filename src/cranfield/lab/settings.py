"""Settings of experiments: parameters whose annotations say what they mean, from which the command line makes options.

A parameter ``samples: Annotated[int, Option("Number of resamples.")] = 1000`` becomes ``--samples N``. Parameters that
many verbs have, such as ``seed``, need no annotation; see `cli.study`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from cranfield.lab.systems import COEFFICIENTS
from cranfield.measures import Measure

Measures = str | Measure | Sequence[str | Measure]
Progress = Callable[[int, int], None]
HIGH = 0.8  # the agreement that Hui et al. (ICTIR 2017) consider high


@dataclass(frozen=True)
class Option:
    """What a parameter means, and what its option accepts.

    ``flag``: the name of the option, if it is not that of the parameter. ``least``: the smallest whole number.
    ``unit``: a number must be below 1; all numbers that are not whole must be above 0. ``choices``: the texts allowed.
    ``default``: what is used if the default is None.
    """

    help: str
    flag: str = ""
    metavar: str = ""
    least: int = 1
    unit: bool = False
    choices: tuple[str, ...] = ()
    default: str = ""


class Preset(NamedTuple):
    """The measures of a published experiment, and how many of the best runs by which measure it studied."""

    measures: tuple[str, ...]
    top: int
    by: str


Coefficient = Annotated[
    str, Option("Correlation coefficient for comparing two orders of runs.", choices=tuple(COEFFICIENTS))
]
Threshold = Annotated[float, Option("Agreement that counts as high.", metavar="X", unit=True)]
Samples = Annotated[int, Option("Number of resamples per test.")]
Repeats = Annotated[int, Option("Number of random subsets of each size.")]
Relevant = Annotated[float, Option("Lowest relevant grade.", metavar="GRADE")]
Variants = Annotated[int, Option("With a single RUN: add N simulated runs that rerank its documents.", least=0)]

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
