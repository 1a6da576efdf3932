"""Answers cases of `cranfield conformance` with ir_measures."""

import json
import sys

import ir_measures

for case in map(json.loads, sys.stdin):
    if "qrels" in case and all(isinstance(grade, int) for grade in case["qrels"].values()):
        try:
            measure = ir_measures.parse_measure(case["measure"])
            found = list(ir_measures.iter_calc([measure], {"q": case["qrels"]}, {"q": case["run"]}))
        except Exception:  # a name, a parameter or an input that it does not know
            continue
        print(json.dumps({"id": case["id"], "value": found[0].value if found else None}))
