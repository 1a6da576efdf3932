"""Every help page, every kind of note, errors of many kinds, and the sentences of each report, as one text.

``python tests/messages`` writes it to ``messages.txt``: to improve a sentence is to change it where it is made, and to
read the difference of that file.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from click.testing import CliRunner, Result

import cranfield as cf
from cranfield import example
from cranfield.cli.main import Verbs, cli
from cranfield.cli.study import Studies
from cranfield.errors import CranfieldError
from cranfield.evaluation.notes import SENTENCES, Note, QueryNames, sentences
from cranfield.evaluation.overlap import Disjoint
from cranfield.lab.studies import study_names
from wrong_shapes import SHAPES

SNAPSHOT = Path(__file__).with_name("messages.txt")

# Small files with one thing wrong each, or nothing.
INPUTS = {
    "qrels.txt": "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\n",
    "good.run": "q1 Q0 d1 1 2.5 good\nq2 Q0 d1 1 2.5 good\n",
    "better.run": "q1 Q0 d1 1 2.5 better\nq2 Q0 d1 1 2.5 better\n",
    "subtopics.txt": "q1 1 d1 1\nq1 2 d2 1\nq2 1 d1 1\nq2 2 d2 1\n",
    "five.run": "q1 Q0 d1 1 2.5\nq1 Q0 d2 2 2.0\n",
    "score.run": "q1 Q0 d1 1 high tag\n",
    "nan.run": "q1 Q0 d1 1 nan tag\n",
    "twice.run": "q1 Q0 d1 1 2 tag\nq1 Q0 d1 2 1 tag\n",
    "other.run": "q7 Q0 d1 1 2.5 other\n",
    "empty.run": "",
    "grade.txt": "q1 0 d1 yes\n",
    "conflict.txt": "q1 0 d1 1\nq1 0 d1 2\n",
    "odd.txt": "q1 0 d1 1\nq2 0 d1 0\nq3 0 d9 -1\nq1 0 d1 1\n",
    "tied.run": "q1 Q0 d1 1 1 t\nq1 Q0 d2 2 1 t\nq5 Q0 d1 1 1 t\n",
    "one.run": "q1 Q0 d1 1 2.5 one\n",
    "broken.json": '{"q1": {"d1": 1}',
    "measures.py": "raise ValueError('no')\n",
    "no_measures.py": "def first(grades):\n    return 1\n",
    "bad_measures.py": "import cranfield as cf\n\n@cf.measure('Fails')\ndef fails(grades):\n    return 1 / 0\n",
    "taken.py": "import cranfield as cf\n\n@cf.measure('AP')\ndef mine(grades):\n    return 1\n",
    "syntax.py": "import cranfield as cf\ndef mine(grades) return 1\n",
    "zscores.txt": "q1 map 0.5\n",
    "texts.jsonl": '{"id": "d1", "text": "lamp oil"}\n{"id": "d2", "text": "sea gull"}\n',
    "weights.txt": "q1 1 high\n",
    "sample.txt": "q1 0 d1 1 1\nq1 0 d2 1 -1\nq1 0 d3 2 -1\n",
    "shifted.txt": "q1 0 d1 1 1\nq1 0 d2 1\nq1 0 d3 2 -1\n",
    "chances.csv": "query_id,doc_id,relevance,probability\nq1,d1,1,0\nq1,d2,0,1.5\n",
    "elsewhere.txt": "q9 0 d1 1\n",
    "flat.txt": "q1 0 d1 1\nq1 0 d2 1\nq2 0 d1 1\n",
    "chunks.run": "q1 Q0 d1#0 1 2.5 chunks\nq2 Q0 d1#4 1 2.5 chunks\n",
    "chunks.txt": "d1#0 d1\nd1#0 d2\nd1#4\n",
    "keys.toml": "mesures = ['AP']\nbaseline = 3\n[policy]\nties = 'expect'\ndepth = 0\n[gates]\nAP = { at_least = 2 }\n",
    "files.toml": "measures = ['AP']\nbaseline = 'x'\n[collections.c]\nqrels = '../qrels.txt'\n[runs]\ngood = 'g*d.ran'\n"
    "[gates]\nAP = { not_worse_by = 0.1, runs = ['bad'] }\nRR = { margin = 1 }\n[report]\nfile = 'none/report.html'\n",
    "design.toml": "measures = ['AP']\n[collections.c]\nqrels = 'qrels.txt'\n[runs]\ngood = 'good.run'\n[design]\nby = 'type'\n",
    "mapped.toml": "qrels = 'qrels.txt'\nmap_documents = 'chunks.txt'\n",
    "predicted.toml": "qrels = 'qrels.txt'\npredicted = 'elsewhere.txt'\n",
    "weights.toml": "qrels = 'qrels.txt'\nintents = 'weights.txt'\n",
    "collection.toml": "qrel = 'qrels.txt'\nqueries = '../x.csv'\nnil = 3\ncover = 2\njudges = { a = 'none.txt' }\n",
    "grades.txt": "q1 0 d1 0.9\nq2 0 d1 0.2\n",
    "code.toml": "measures = ['AP']\nmeasures_files = ['measures.py']\n[collections.c]\nqrels = 'qrels.txt'\n"
    "[runs]\ngood = 'good.run'\n",
    "syntax.toml": "measures = [\n",
    "lines.jsonl": "<<<<<<< ours\n{}\n",
    "days.csv": "query,topic,question,day\nt1/q1/d1,t1,q1,d1\nt1/q1/d2,t1,q1,d2\n",
    "days.txt": "t1/q1/d1 0 a 10\nt1/q1/d2 0 b 5\n",
    "days.jsonl": '{"runtag": "x"}\n{"topic": "t1", "results": {"d1": [{"qid": "q1", "question-rank": 0, "doc-ranking": '
    '[{"doc_id": "b", "score": 1}]}, {"qid": "q7", "question-rank": 1, "doc-ranking": []}]}}\n',
    "ranks.jsonl": '{"topic": "t1", "results": {"d1": [{"qid": "q1", "question-rank": -1, "doc-ranking": []}, '
    '{"qid": "q2", "question_rank": 0}]}}\n',
}

ERRORS = (
    # The command itself.
    "evl",
    "--fast",
    "eval",
    "eval qrels.txt",
    "eval qrels.txt good.run --fast",
    # Measures.
    "eval qrels.txt good.run -m nDGC@10",
    "eval qrels.txt good.run -m xyzzy",
    "eval qrels.txt good.run -m ''",
    "eval qrels.txt good.run -m P",
    "eval qrels.txt good.run -m IPrec",
    "eval qrels.txt good.run -m AP@x",
    "eval qrels.txt good.run -m AP@0",
    "eval qrels.txt good.run -m AP@1.5",
    "eval qrels.txt good.run -m bpref@10",
    "eval qrels.txt good.run -m RBP(p=2)",
    "eval qrels.txt good.run -m RBP(0.8)",
    "eval qrels.txt good.run -m RBP(persistence=0.8)",
    "eval qrels.txt good.run -m RBP(q=0.8)",
    "eval qrels.txt good.run -m nDCG(gain='cubic')",
    "eval qrels.txt good.run -m nDCG(gain={1:-1})",
    "eval qrels.txt good.run -m nDCG(gain={1:1e200})",
    "eval qrels.txt good.run -m 'AP(graded=1)'",
    "eval qrels.txt good.run -m 'INST(T=high)'",
    "eval qrels.txt good.run -m AP[ties=luck]",
    "eval qrels.txt good.run -m AP[depth=0]",
    "eval qrels.txt good.run -m AP[condense]",
    "eval qrels.txt good.run -m AP[upside]",
    "eval qrels.txt good.run -m AP[depth=5,depth=6]",
    "eval qrels.txt good.run -m bpref[terminal]",
    "eval qrels.txt good.run -m alpha_nDCG@5",
    "eval qrels.txt good.run -m DELTARB",
    "eval qrels.txt good.run -m Prefs",
    "eval qrels.txt good.run -m AP[groups]",
    # Chunks, and lists of lists.
    "eval qrels.txt chunks.run",
    "eval mapped.toml chunks.run",
    "eval days.txt days.jsonl --queries-file days.csv -m RR",
    "eval days.txt good.run#questions",
    # Samples, predictions and judging.
    "eval sample.txt good.run -m P@1[sampled]",
    "eval qrels.txt good.run -m AP[sampled]",
    "eval shifted.txt good.run -m xinfAP",
    "eval chances.csv good.run -m statAP",
    "eval qrels.txt good.run -m infIPrec@0.25",
    "eval qrels.txt good.run -m xinfAP --show bounds",
    "eval predicted.toml good.run -m P@1",
    "judges qrels.txt elsewhere.txt",
    "judges qrels.txt good.run",
    "judges qrels.txt flat.txt good.run better.run --own none",
    "judge qrels.txt good.run",
    "judge qrels.txt good.run better.run -m RR",
    "judge qrels.txt good.run better.run --texts texts.jsonl",
    "judge qrels.txt good.run better.run --guidelines texts.jsonl",
    "judge qrels.txt good.run better.run --merge conflict.txt",
    "judge qrels.txt good.run better.run --merge flat.txt -o merged.txt",
    "sample good.run --strata 10",
    "sample good.run --strata 10:0",
    # Options of eval.
    "eval qrels.txt good.run --depth 0",
    "eval qrels.txt good.run --ties luck",
    "eval qrels.txt good.run --format json --interval t",
    "eval qrels.txt good.run --master local",
    "eval qrels.txt good.run --costs weights.txt",
    "eval collection.toml good.run",
    "eval collection.toml good.run --judgments spans",
    "eval grades.txt good.run -m AP",
    "eval grades.txt good.run -m AP --rel 0",
    "spark evl",
    "eval qrels.txt good.run --nil NIL --corpus texts.jsonl -m DELTARB",
    "eval weights.toml good.run -m ERR_IA@20",
    "eval qrels.txt good.run --corpus none.parquet -m DELTARB",
    "eval qrels.txt good.run --seed -1",
    "eval qrels.txt good.run -o none/scores.txt",
    # Files.
    "eval qrels.txt none.run",
    "eval none.txt good.run",
    "eval qrels.txt .",
    "eval qrels.txt empty.run",
    "eval qrels.txt five.run",
    "eval qrels.txt score.run",
    "eval qrels.txt nan.run",
    "eval qrels.txt twice.run",
    "eval qrels.txt other.run",
    "eval qrels.txt broken.json",
    "eval grade.txt good.run",
    "eval conflict.txt good.run",
    "eval good.run qrels.txt",
    "eval odd.txt one.run -m AP --undefined error",
    # Experiments.
    "run",
    "run keys.toml",
    "run files.toml",
    "run design.toml",
    "run code.toml",
    "run syntax.toml",
    "run design.toml --init",
    "history design.toml",
    "history lines.jsonl",
    # Other verbs.
    "compare qrels.txt good.run",
    "compare qrels.txt good.run better.run --baseline none",
    "compare qrels.txt good.run better.run -m GMAP",
    "compare qrels.txt good.run one.run --queries run",
    "compare qrels.txt good.run better.run --test tukey --family all",
    "compare qrels.txt good.run better.run --margin 0.1",
    "compare qrels.txt good.run better.run --may-drop AP",
    "compare qrels.txt good.run better.run --at-least AP",
    "compare qrels.txt good.run --baseline nothing.json",
    "eval qrels.txt good.run --metric AP",
    "eval qrels.txt good.run -k 10",
    "eval qrels.txt good.run -m AP --order RR",
    "eval qrels.txt good.run --junit junit.xml",
    "measures xyzzy",
    "compare qrels.txt good.run better.run --no-significant-loss AP=nan",
    "compare qrels.txt good.run better.run --alpha 2",
    "queries qrels.txt good.run --query q1",
    "queries qrels.txt good.run better.run --query q9",
    "queries qrels.txt good.run better.run --query q1 --figures folder",
    "queries qrels.txt good.run --order difference",
    "audit qrels.txt good.run --format trec",
    "report qrels.txt good.run --top-documents 0",
    "show nDGC",
    "cite xyzzy",
    "measures --family xyzzy",
    "convert - x.run",
    "convert empty.run x.run",
    "properties",
    "properties AP --table 2",
    "properties AP --grades 0,high",
    "properties AP --documents 30",
    "properties --file measures.py",
    # Measures of one's own.
    "eval qrels.txt good.run --measures-file absent.py",
    "eval qrels.txt good.run --measures-file measures.py",
    "eval qrels.txt good.run --measures-file no_measures.py",
    "eval qrels.txt good.run --measures-file syntax.py",
    "eval qrels.txt good.run --measures-file taken.py",
    "eval qrels.txt good.run --measures-file bad_measures.py -m Fials",
    "eval qrels.txt good.run --measures-file bad_measures.py -m Fails@3",
    "eval qrels.txt good.run --measures-file bad_measures.py -m Fails",
    "explain qrels.txt good.run -m DELTARB --query q1",
    "explain qrels.txt good.run -m AP[groups] --query q1",
    "explain qrels.txt tied.run -m AP[ties=expected] --depth 1 --query q1",
    "explain odd.txt good.run -m AP --query q2",
    "explain qrels.txt good.run --corpus texts.jsonl",
    "explain qrels.txt good.run --corpus texts.jsonl --query q9",
    "explain qrels.txt one.run --corpus texts.jsonl --query q2",
    "explain qrels.txt good.run --corpus texts.jsonl --query q1 --ties expected",
    "corpus none.jsonl",
    "corpus texts.jsonl --stemmer klingon",
    "study truncatoin qrels.txt good.run",
    "study power qrels.txt good.run better.run --seed -1",
    "completion csh",
    # trec_eval.
    "trec_eval qrels.txt",
    "trec_eval -m xyzzy qrels.txt good.run",
    "trec_eval -m dcg qrels.txt good.run",
    "trec_eval -m prefs_simp qrels.txt good.run",
    "trec_eval -m P. qrels.txt good.run",
    "trec_eval -m P.x qrels.txt good.run",
    "trec_eval -m P.0 qrels.txt good.run",
    "trec_eval -m P.5,5 qrels.txt good.run",
    "trec_eval -m ndcg.high qrels.txt good.run",
    "trec_eval -m utility.1 qrels.txt good.run",
    "trec_eval -m set_F.-1 qrels.txt good.run",
    "trec_eval -l 0 qrels.txt good.run",
    "trec_eval -M 0 qrels.txt good.run",
    "trec_eval -R prefs qrels.txt good.run",
    "trec_eval -R prefs -m prefs qrels.txt good.run",
    "trec_eval -T xml qrels.txt good.run",
    "trec_eval -Z zscores.txt qrels.txt good.run",
    "trec_eval --compat 10 qrels.txt one.run",
    "trec_eval qrels.txt other.run",
    "trec_eval -x qrels.txt good.run",
)

QRELS, RUN = {"q1": {"d1": 1}, "q2": {"d1": 1}}, {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}


def three_arguments(grades: Any, judged: Any, scores: Any) -> float:
    """A function with too many arguments."""
    return 0.0 * len((grades, judged, scores))


def no_arguments() -> float:
    """A function that cannot be given a ranking."""
    return 0.0


def returns_nothing(grades: Any) -> None:
    """A function that forgets to return a number."""
    del grades


def needs_cutoff(grades: Any, *, k: int) -> float:
    """A function whose cutoff has no default."""
    return float(len(grades[:k]))


PYTHON_ERRORS: dict[str, Callable[[], Any]] = {
    "cf.evaluate(qrels, run, 3)": lambda: cf.evaluate(QRELS, RUN, 3),  # type: ignore[arg-type]
    "cf.evaluate(qrels, run, lambda grades: 1)": lambda: cf.evaluate(QRELS, RUN, lambda _: 1),
    "cf.evaluate(qrels, run, three_arguments)": lambda: cf.evaluate(QRELS, RUN, three_arguments),
    "cf.evaluate(qrels, run, no_arguments)": lambda: cf.evaluate(QRELS, RUN, no_arguments),
    "cf.evaluate(qrels, run, returns_nothing)": lambda: cf.evaluate(QRELS, RUN, returns_nothing),  # type: ignore[arg-type]
    "cf.evaluate(qrels, run, needs_cutoff)": lambda: cf.evaluate(QRELS, RUN, needs_cutoff),
    "cf.measure('two words')(needs_cutoff)": lambda: cf.measure("two words")(needs_cutoff),
    "cf.evaluate(qrels, run, 'AP', ties='luck')": lambda: cf.evaluate(QRELS, RUN, "AP", ties="luck"),  # type: ignore[arg-type]
    "cf.evaluate(qrels, run, 'AP', tie='best')": lambda: cf.evaluate(QRELS, RUN, "AP", tie="best"),  # type: ignore[call-arg]
    "cf.evaluate(qrels, run, 'AP', depth=0)": lambda: cf.evaluate(QRELS, RUN, "AP", depth=0),
    "cf.compare(qrels, run, 'AP')": lambda: cf.compare(QRELS, RUN, "AP"),
    "cf.compare(qrels)": lambda: cf.compare(QRELS),
    "cf.compare(scores, 'AP')": lambda: cf.compare(cf.evaluate(QRELS, [RUN, RUN], "AP"), "AP"),
    "cf.compare(qrels, [run, run], 'AP', alpha=5)": lambda: cf.compare(QRELS, [RUN, RUN], "AP", alpha=5),
    "cf.compare(qrels, [run, run], 'AP', samples=0)": lambda: cf.compare(QRELS, [RUN, RUN], "AP", samples=0),
    "cf.compare(qrels, [run, run], 'AP', test='z')": lambda: cf.compare(QRELS, [RUN, RUN], "AP", test="z"),  # type: ignore[arg-type]
    "cf.audit(qrels, run, interval='normal')": lambda: cf.audit(QRELS, RUN, interval="normal"),  # type: ignore[arg-type]
}

FEW, MANY = QueryNames.of(["q8"]), QueryNames(2000, ("q1", "q2", "q3", "q4", "q5"))
NOTES = (
    Note(
        "compared",
        values={"measures": ["AP"], "queries": QueryNames.of(["q1", "q2"]), "left_out": QueryNames.of(["q3"])},
    ),
    Note("unanswerable_queries", values={"queries": QueryNames.of(["q3"])}),
    Note("below_level", measure="AP", values={"documents": 2, "level": 2.0}),
    Note("resamples_raised", values={"resamples": 200_000, "default": 100_000, "pairs": 7875}),
    Note(
        "none_significant",
        values={
            **{"test": "t", "measures": ["AP", "RR"], "lowest_p": [0.06, 0.1], "gate": None},
            **{"more": "queries", "fewer_pairs": True},
        },
    ),
    Note("disjoint", "bm25", values={"ids": Disjoint(("x1", "x2"), ("d1", "d2", "d3"), "")}),
    Note("saved", values={"text": "a note of scores that were saved: bm25: 1 judged query has no ranking (q3)"}),
    Note(
        "reading",
        "bm25",
        values={"remark": "the file has no column names; its columns were read as query, document, rank"},
    ),
    *(
        Note("undefined", None, measure, {"queries": FEW, "credit": measure == "c_at_1"})
        for measure in ("AP", "c_at_1")
    ),
    Note("undefined_groups", "bm25", "AP[groups]", {"groups": 3, "queries": FEW}),
    *(Note("subtopic_grades", None, measure, {"judgments": "qrels"}) for measure in ("AP", "nDCG@10")),
    Note("above_one", measure="RBP(max=1)", values={"reason": "max", "gain": 3.0}),
    Note("above_one", measure="nDCG[terminal]", values={"reason": "terminal", "gain": 0.5}),
    Note("divides_by_cutoff", measure="Judged@10"),
    Note("corpus_unused"),
    Note("costs_unused"),
    *(Note("standardised", values={"method": method, "runs": 4}) for method in ("z", "normal", "empirical")),
    *(Note("scores_against_ranks", "bm25", values={"queries": queries}) for queries in (1, 50)),
    Note("repeated_nil", "bm25", None, {"nil": "NIL", "queries": FEW}),
    Note("unweighted_queries", values={"name": "weights", "queries": MANY}),
    Note("unjudged_weights", values={"name": "weights", "queries": FEW}),
    Note("unjudged_subtopics", values={"name": "weights", "subtopics": ["q1/3", "q2/1"]}),
    Note("unweighted_subtopics", values={"name": "weights", "subtopics": ["q1/3", "q2/1"]}),
    Note("unanswered_queries", "bm25", values={"queries": FEW, "counted": "judged"}),
    Note("unanswered_queries", "dense", values={"queries": MANY, "counted": "both"}),
    Note("unjudged_queries", "bm25", values={"queries": FEW}),
    Note("unjudged_documents", "bm25", values={"depth": 10, "share": 0.3}),
    Note("unjudged_documents", "bm25", values={"depth": None, "share": 0.999}),
    Note("tie_range", "bm25", "AP", {"score": 0.5, "low": 0.4, "high": 0.6}),
    Note("tie_range", "bm25", "RR", {"score": 0.5, "low": 0.3, "high": 0.7}),
    Note("tie_range", "bm25", "Q", {"score": 0.5, "low": 0.3, "high": 0.7, "at_least": True}),
    Note("tie_small", "bm25", "P@10"),
    Note("tie_unknown", "bm25", "ERR_IA@20"),
    Note("sampled_orders", "bm25", "DELTARB", {"queries": 3, "error": 0.00012}),
    Note("sampled_orders", "dense", "DELTARB", {"queries": 1, "error": 0.00012}),
    Note("not_bounds", None, "nDCG@10"),
    Note("relevant_not_in_corpus", values={"judgments": "qrels", "absent": 0, "relevant": 56}),
    Note("relevant_not_in_corpus", values={"judgments": "qrels.2", "absent": 3, "relevant": 56}),
    Note("subtopics_without_model", values={"judgments": "qrels", "without": 2, "subtopics": 20}),
    Note("read_not_in_corpus", "bm25", "DELTARB", {"absent": 0, "read": 160}),
    Note("read_not_in_corpus", "dense", "DELTARB", {"absent": 4, "read": 160}),
    Note("read_not_in_corpus", "dense", "ABSRB", {"absent": 5, "read": 160}),
)

# What each verb prints for the bundled example.
OUTPUTS = (
    "eval qrels.txt *.run -m 'AP nDCG@10 RBP' --show residuals --interval t",
    "eval qrels.txt quiet.run -m P@5 --ties expected --queries run",
    "eval qrels.diversity.txt bm25.run -m 'AP DELTARB@5' --corpus documents.jsonl",
    "eval qrels.diversity.txt bm25.run",
    "compare qrels.txt bm25.run dense.run llm.run -m AP --baseline bm25.run --test t",
    "compare qrels.txt *.run -m nDCG@10 --test randomised-tukey --samples 999 --no-audit",
    "compare qrels.txt llm.run bm25.run --no-significant-loss nDCG@10=0.05 --test t",
    "compare qrels.txt llm.run bm25.run --no-significant-loss nDCG@10 --alpha 0.001 --no-audit -m nDCG@10",
    "compare qrels.txt llm.run bm25.run --may-drop nDCG@10=0 --no-audit -m nDCG@10",
    "eval qrels.txt *.run -m nDCG@10 --at-least nDCG@10=0.7 --top 2",
    "measures reciprocal rank",
    "queries qrels.txt bm25.run dense.run",
    "queries qrels.txt *.run --top 3",
    "queries qrels.txt bm25.run dense.run --query q3 --top-documents 5",
    "audit qrels.txt *.run -m 'AP nDCG@10'",
    "audit qrels.txt bm25.run -m RR",
    "check qrels.txt *.run",
    "corpus documents.jsonl --qrels qrels.txt",
    "explain qrels.diversity.txt bm25.run --corpus documents.jsonl --query q1 -m DELTARB@3 --words 2",
    "explain qrels.txt bm25.run --query q1 -m nDCG@5",
    "explain qrels.txt bm25.run --query q1 -m AP[ties=expected] --top 3",
    "explain qrels.txt bm25.run --query q1 -m RR",
    "explain qrels.txt bm25.run --query q1 -m Unjudged@3",
    "show nDCG",
    "show 'RBP(p=0.8)'",
    "show DELTARB",
    "measures --family preference",
    "demo",
)
FAULTY_OUTPUTS = (
    "check conflict.txt five.run nan.run good.run",
    "check odd.txt tied.run",
    "check qrels.txt chunks.run",
    "check days.txt days.jsonl --queries-file days.csv",
    "check days.txt ranks.jsonl",
)


def verbs() -> list[str]:
    """The words after ``cranfield`` of every command that has a help page."""
    return ["", *Verbs.NAMES, *(f"study {name}" for name in Studies.NAMES)]


def call(line: str) -> Result:
    """The command within this process; any exception that is not an exit is raised."""
    args = [name for word in shlex.split(line) for name in _expanded(word)]
    result = CliRunner().invoke(cli, args, prog_name="cranfield")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def _expanded(word: str) -> list[str]:
    return sorted(str(path) for path in Path().glob(word)) if word.startswith("*") else [word]


def write_inputs(folder: Path) -> None:
    for name, content in INPUTS.items():
        (folder / name).write_text(content)


def messages() -> str:
    """The whole snapshot."""
    for name in study_names():  # a study adds the sentences of its own notes
        import_module(f"cranfield.lab.studies.{name}")
    written = {note.kind for note in NOTES}
    assert {kind for kind, sentence in SENTENCES.items() if callable(sentence)} <= written <= set(SENTENCES)
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"COLUMNS": "80"}):
        return "\n".join(_sections(Path(folder)))


def _sections(folder: Path) -> Iterator[str]:
    yield "# Help\n"
    for verb in verbs():
        page = call(f"{verb} --help").stdout
        option = "--help-all" if "--help-all" in page else "--help"
        yield f"$ cranfield {verb} {option}\n{call(f'{verb} {option}').stdout}".replace("  --help\n", " --help\n", 1)
    for verb in ("eval", "compare"):
        yield f"$ cranfield {verb} --help\n{call(f'{verb} --help').stdout}"
    yield "# Notes\n"
    yield "".join(f"note: {sentence}\n" for sentence in sentences(NOTES))
    shown = {note.kind for note in NOTES}
    templates = [sentence for kind, sentence in SENTENCES.items() if kind not in shown]
    yield "".join(f"note: {template}\n" for template in sorted(map(str, templates)))
    yield "# Errors\n"
    (folder / "faulty").mkdir()
    write_inputs(folder / "faulty")
    with chdir(folder / "faulty"):
        for line in ERRORS:
            result = call(line)
            yield f"$ cranfield {line}\n{result.stdout}{result.stderr}exit code {result.exit_code}\n"
    for text, function in PYTHON_ERRORS.items():
        try:
            function()
        except (CranfieldError, TypeError) as error:
            yield f">>> {text}\n{type(error).__name__}: {error}\n"
        else:
            raise AssertionError(f"no error: {text}")
    yield "# Shapes of input\n"
    for name, (qrels, run) in SHAPES.items():
        try:
            cf.evaluate(qrels, run, "RR")
        except CranfieldError as error:
            yield f"{name}\n{type(error).__name__}: {error}\n"
    yield "# Output\n"
    with chdir(folder / "faulty"):
        yield from (_output(line) for line in FAULTY_OUTPUTS)
    (folder / "example").mkdir()
    for name in example.NAMES:
        (folder / "example" / name).write_bytes(example.path(name).read_bytes())
    with chdir(folder / "example"):
        yield from (_output(line) for line in OUTPUTS)
        yield from _report()


def _output(line: str) -> str:
    result = call(line)
    end = f"exit code {result.exit_code}\n" if result.exit_code else ""
    return f"$ cranfield {line}\n{result.stdout}{result.stderr}{end}"


def _report() -> Iterator[str]:
    """The texts of the HTML report: those of its page, and those that its script sets."""
    from importlib.resources import files

    page, script = (files("cranfield.report.html").joinpath(name).read_text() for name in ("page.html", "app.js"))
    texts = re.findall(r">([^<>{}]*[A-Za-z][^<>{}]*)<", page)
    yield "HTML report, page\n" + "".join(f"{' '.join(text.split())}\n" for text in texts if text.strip())
    begin = script.index("const TEXT = {")
    lines = script[begin : script.index("\n  };", begin)].splitlines()[1:]
    yield "HTML report, script\n" + "".join(f"{line.strip()}\n" for line in lines)
