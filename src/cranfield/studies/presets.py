"""Measures and settings of published experiments, for ``--paper``."""

from __future__ import annotations

# Sakai, "Alternatives to Bpref" (SIGIR 2007): AveP', Q' and nDCG' are the condensed forms. His nDCG has the discount of
# Järvelin and Kekäläinen with base 2, and a cutoff of 1000 (section 4.2). His bpref_R is bpref, because N > R.
JK_NDCG = "nDCG(discount='jk', base=2)@1000"
SAKAI = (
    "bpref",
    "bpref_N",
    "rpref_N",
    "rpref_relative2",
    "AP[condensed]",
    "Q[condensed]",
    f"{JK_NDCG}[condensed]",
    "AP",
    "Q",
    JK_NDCG,
)
# Section 6 leaves out two measures where judgments are removed.
SAKAI_REDUCED = tuple(measure for measure in SAKAI if measure not in ("bpref_N", "rpref_N"))
SAKAI_TOP, SAKAI_BY = 30, "AP"  # the runs of each data set (section 5)
