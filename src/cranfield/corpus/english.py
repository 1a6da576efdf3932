"""English words that say how others belong together, and little of what a text is about."""

from __future__ import annotations

_ARTICLES = "a an the"
_PRONOUNS = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves one this that these those who whom whose which
what
"""
_VERBS = """
am is are was were be been being have has had having do does did doing done can could shall should will would
may might must ought
"""
_PREPOSITIONS = """
about above across after against along among around at before behind below beneath beside between beyond by
down during for from in inside into near of off on onto out outside over past since through throughout till to
toward towards under until up upon with within without
"""
_CONJUNCTIONS = "although and as because but if nor or so than though unless when where whereas whether while yet"
_OTHERS = """
again all also any both each either else ever every few here how however just more most much neither never no
not now once only other own perhaps quite same some such then there therefore thus too very why
"""
_ENDINGS = "s t d m o y re ve ll don didn doesn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn mustn"

ENGLISH = frozenset(" ".join((_ARTICLES, _PRONOUNS, _VERBS, _PREPOSITIONS, _CONJUNCTIONS, _OTHERS, _ENDINGS)).split())
