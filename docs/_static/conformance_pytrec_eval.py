"""Answers cases of `cranfield conformance` with pytrec_eval."""

import json
import sys

import pytrec_eval

NAMES = {"AP": "map", "RR": "recip_rank", "nDCG": "ndcg", "Rprec": "Rprec", "bpref": "bpref", "infAP": "infAP"}
CUT = {"P": "P", "R": "recall", "nDCG": "ndcg_cut", "AP": "map_cut", "Success": "success"}
for case in map(json.loads, sys.stdin):
    symbol, _, k = case["measure"].partition("@")  # cases with parameters or views have other names: they are left out
    name = f"{CUT.get(symbol)}_{k}" if k else NAMES.get(symbol)
    if ((symbol in CUT and k.isdigit()) or name in NAMES.values()) and "qrels" in case:
        run = {document: float(score) for document, score in case["run"].items()}
        asked = pytrec_eval.RelevanceEvaluator({"q": case["qrels"]}, {f"{CUT[symbol]}.{k}" if k else name})
        print(json.dumps({"id": case["id"], "value": asked.evaluate({"q": run})["q"][name]}))
