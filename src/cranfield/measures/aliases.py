"""The names of measures in trec_eval, ir_measures, ranx, BEIR, ndeval and NTCIREVAL, translated to ours."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

# Our symbols that other tools write in another case.
IN_OTHER_CASE = """
AP RR nDCG DCG P R F1 R_cap Hole Success Rprec bpref RBP ERR infAP IPrec alpha_DCG alpha_nDCG ERR_IA nERR_IA
AP_IA P_IA nDCG_IA D_nDCG D_Q DIN_nDCG DIN_Q IA_ERR IA_nERR Utility yaAP binG G nDCG_rel
"""
# Names in any case; parameters, cutoffs and views after them stay unchanged.
NAMES = {symbol.casefold(): symbol for symbol in IN_OTHER_CASE.split()} | {
    "map": "AP",
    "mrr": "RR",
    "recip_rank": "RR",
    "precision": "P",
    "recall": "R",
    "recall_cap": "R_cap",
    "fall_out": "FallOut",
    "fallout": "FallOut",
    "hit_rate": "Success",
    "hitrate": "Success",
    "hr": "Success",
    "recall_all": "FullR",
    "full_recall": "FullR",
    "comp": "FullR",
    "hits": "CG(gain='binary')",
    "r_precision": "Rprec",
    "ndcg_burges": "nDCG(gain='exp')",
    "dcg_burges": "DCG(gain='exp')",
    "gm_map": "GMAP",
    "set_p": "SetP",
    "set_recall": "SetR",
    "set_map": "SetAP",
    "set_f": "SetF",
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "map_ia": "AP_IA",
    "strec": "StRecall",
    "i_rec": "StRecall",
    "d#_ndcg": "Dsharp_nDCG",
    "d#_q": "Dsharp_Q",
    "din#_ndcg": "DINsharp_nDCG",
    "din#_q": "DINsharp_Q",
    "p+q": "PplusQ",
    "p+q#": "PplusQsharp",
    "o_measure": "O",
    "p_measure": "Pmeasure",
    "p_plus": "Pplus",
    "p+": "Pplus",
    "α_dcg": "alpha_DCG",
    "α_ndcg": "alpha_nDCG",
    "set_relative_p": "SetRelP",
    "num_nonrel_judged_ret": "NumNonRelRet",
    "gm_bpref": "GMbpref",
    "ideal_dcg": "IDCG",
    "rndcg": "R_nDCG",
    "rbp_resid": "RBPres",
    "prefs_num_prefs_poss": "NumPrefs",
    "prefs_num_prefs_ful": "NumPrefsMet",
    "prefs_num_prefs_ful_ret": "NumPrefsMet(count='retrieved')",
    "prefs_simp": "Prefs",
    "prefs_simp_ret": "Prefs(count='retrieved')",
    "prefs_simp_imp": "Prefs(count='implied')",
    "prefs_pair": "Prefs(by='pair')",
    "prefs_pair_ret": "Prefs(by='pair', count='retrieved')",
    "prefs_pair_imp": "Prefs(by='pair', count='implied')",
    "prefs_avgjg": "Prefs(by='group')",
    "prefs_avgjg_ret": "Prefs(by='group', count='retrieved')",
    "prefs_avgjg_imp": "Prefs(by='group', count='implied')",
    "prefs_avgjg_rnonrel": "PrefsR",
    "prefs_avgjg_rnonrel_ret": "PrefsR(count='retrieved')",
    "map_avgjg": "AP[groups]",
    # Names in Sakai (2007); the last is Yilmaz and Aslam's name of average precision on a condensed list.
    "avep": "AP",
    "q_measure": "Q",
    "old_bpref": "bpref_old",
    "bpref_allnonrel": "bpref_N",
    "bpref_relative2": "rpref_relative2(gain='binary')",
    "induced_ap": "AP[condensed]",
}

# Names of ranx that need no cutoff there, and have another symbol then.
OF_ALL = {"precision": "SetP", "recall": "SetR", "f1": "SetF"}

# trec_eval writes the cutoff after a dot or underscore: P_10, ndcg_cut.10, iprec_at_recall_0.10.
CUT = {
    "p": "P",
    "recall": "R",
    "ndcg_cut": "nDCG",
    "map_cut": "AP",
    "success": "Success",
    "iprec_at_recall": "IPrec",
    "relative_p": "RelP",
    "unj": "Unjudged",
}


# Names that must not be read as another measure, and what to use instead.
NOT_HERE = {
    "subcollection_ap": "average precision on a condensed list is induced_AP, or AP[condensed]; subcollection AP is "
    "another measure, which needs to know the documents outside the judged sample"
}
# The notation of papers, in which a prime has different meanings; `in_notation` applies one of them.
SAKAI = {
    "AveP'": "AP[condensed]",
    "Q'": "Q[condensed]",
    "nDCG'": "nDCG(discount='jk', base=2)@1000[condensed]",  # section 4.2 of the paper
}
LIU = {"RR'": "RR[terminal]", "RBP'": "RBP[terminal]", "NDCG'": "nDCG[terminal]", "AP'": "AP[terminal]"}
PRIMES = "a prime is `[condensed]` in Sakai (2007), as in AP[condensed], and `[terminal]` in Liu et al. (2016)"


def in_notation(name: str, notation: Mapping[str, str]) -> str:
    """A name in the notation of a paper, in ours; parameters and a cutoff replace those of the paper.

    >>> in_notation("AveP'", SAKAI), in_notation("nDCG'@10", SAKAI), in_notation("RBP'(p=0.5)", LIU)
    ('AP[condensed]', 'nDCG@10[condensed]', 'RBP(p=0.5)[terminal]')
    >>> in_notation("AP", LIU)
    'AP'
    """
    symbol, prime, rest = name.partition("'")
    ours = notation.get(symbol + prime)
    if ours is None or not rest:
        return ours or name
    return f"{re.split(r'[(@[]', ours)[0]}{rest}{ours[ours.index('[') :]}"


# Names that `translate` treats on its own.
SPECIAL = {"rprec_mult": "RprecAt", "11pt_avg": "IPrecAvg", "c@1": "c_at_1"}


def respell(text: str) -> str:
    """Replace the parameters of ir_measures that select another measure by the name of that measure."""
    text = re.sub(r"^statAP\.variance(?!\w)", "statAP_variance", text)
    text = re.sub(r"^NumRet\(rel=", "NumRelRet(rel=", text)
    text = re.sub(r"^m?ap(\([^()]*\))?@R(?!\w)", r"MAP_R\1", text, flags=re.IGNORECASE)
    if relative := re.match(r"^SetP\((.*)\)", text):
        parts = [part.strip() for part in relative[1].split(",")]
        if "relative=True" in parts:
            parts.remove("relative=True")
            parameters = f"({', '.join(parts)})" if parts else ""
            return f"SetRelP{parameters}{text[relative.end() :]}"
    return text


def translate(text: str) -> str | None:
    """Our name for a measure of another tool; None if the name is unknown."""
    if cut := re.fullmatch(r"([a-z_]+?)[._](\d+(?:\.\d+)?)(\[.*\])?", text, re.IGNORECASE):
        name, at, views = cut.groups(default="")
        if name.casefold() in ("p_avgjg", "rprec_mult_avgjg") and not views:
            return f"P@{at}[groups]" if name.casefold() == "p_avgjg" else f"RprecAt(times={at})[groups]"
        if name.casefold() in CUT:
            return f"{CUT[name.casefold()]}@{at}{views}"
        if name.casefold() == "set_f":  # trec_eval's parameter is the square of beta
            return f"SetF(beta={math.sqrt(float(at))!r}){views}"
        if name.casefold() == "rprec_mult":
            return f"RprecAt(times={at}){views}"
    if credit := re.fullmatch(r"c@1(\[.*\])?", text, re.IGNORECASE):
        return f"c_at_1{credit[1] or ''}"
    if eleven := re.fullmatch(r"11pt_avg(\(.*\))?(\[.*\])?", text, re.IGNORECASE):
        return f"IPrecAvg{eleven[1] or ''}{eleven[2] or ''}"
    if rbp := re.fullmatch(r"rbp\.p=(0\.\d+)(\[.*\])?", text, re.IGNORECASE):  # trec_eval 10
        return f"RBPq(p={rbp[1]}){rbp[2] or ''}"
    if rbp := re.fullmatch(r"rbp\.(\d+)(@\d+)?(?:-l(\d+))?(\[.*\])?", text, re.IGNORECASE):
        digits, at, level, views = rbp.groups(default="")
        # ranx does not scale grades.
        return f"RBP(p=0.{digits}, max=1{_from_level(level, ', ')}){at}{views}"
    if leveled := re.fullmatch(r"([\w-]+)(@\d+)?-l(\d+)", text, re.IGNORECASE):
        name, at, level = leveled.groups(default="")
        symbol = _symbol(name, cutoff=at)
        if symbol in ("nDCG", "DCG"):
            return f"{symbol}({_from_level(level)}){at}"
        symbol = "CG" if name.casefold() == "hits" else symbol
        return f"{symbol}(rel={level}){at}" if symbol and "(" not in symbol else None
    if bare := re.fullmatch(r"RPrec(\(.*\))?(\[.*\])?", text):
        return f"Rprec{bare[1] or ''}{bare[2] or ''}"
    plain = re.fullmatch(r"([^\W\d][\w#+-]*)(\(.*\))?(@[^\[]+)?(\[.*\])?", text)
    if plain is None:
        return None
    symbol = _symbol(plain[1], cutoff=plain[3] or "")
    if symbol is None or (plain[2] and "(" in symbol) or (symbol.endswith("]") and any(plain.groups()[1:])):
        return None
    return symbol + "".join(part or "" for part in plain.groups()[1:])


def _symbol(name: str, *, cutoff: str) -> str | None:
    """The symbol for a name; without a cutoff, ranx measures all retrieved documents."""
    name = name.replace("-", "_").casefold()
    return NAMES.get(name) if cutoff else OF_ALL.get(name, NAMES.get(name))


def _from_level(level: str, before: str = "") -> str:
    """The parameter for graded measures of ranx: grades below the level have no gain, the others stay as they are."""
    below = dict.fromkeys(range(1, int(level or 1)), 0)
    return f"{before}gain={below}" if below else ""


def symbol_of(name: str) -> str | None:
    """The symbol for a name of another tool without its cutoff and parameters; None if it is unknown.

    >>> symbol_of("ndcg_cut"), symbol_of("precision"), symbol_of("iprec_at_recall_"), symbol_of("xyzzy")
    ('nDCG', 'P', 'IPrec', None)
    """
    plain = re.split(r"[@(\[]", name)[0].strip("_.").replace("-", "_").casefold()
    symbol = CUT.get(plain) or NAMES.get(plain) or SPECIAL.get(plain)
    return None if symbol is None else re.split(r"[@(\[]", symbol)[0]


def names_elsewhere(symbol: str) -> list[str]:
    """The names of a measure in other tools.

    >>> names_elsewhere("nDCG")
    ['ndcg_cut', 'ndcg', 'ndcg_burges']
    """
    tables = CUT, NAMES, SPECIAL
    names = (name for table in tables for name, ours in table.items() if re.split(r"[@(\[]", ours)[0] == symbol)
    return list(dict.fromkeys(names))


def _dcg(value: Any) -> tuple[str | None, Any]:
    return ("gain", "exp") if value == "exp-log2" else (None, None) if value == "log2" else ("dcg", value)


# Parameters of ir_measures that have another name here.
KEYWORDS: dict[str, Callable[[Any], tuple[str | None, Any]]] = {
    "dcg": _dcg,
    "gains": lambda value: ("gain", value),
    "max_rel": lambda value: ("max", value),
    "min_rel": lambda value: ("min", value),
}
# Parameters that are written after the @ here.
CUTOFF_KEYWORDS = ("cutoff", "recall")
