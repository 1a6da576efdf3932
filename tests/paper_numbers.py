"""What the commands of ``docs/papers.toml`` must print: numbers from the equations of the papers, without Cranfield.

``NUMBERS`` has a function for each element that is checked by a number; it takes the folder in which the commands run
and returns a part of the output, with single spaces. A ranking is the list of grades by rank, None for an unjudged
document; `judged` has the grades of all judged documents of the query.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import NormalDist, fmean, stdev

import numpy as np

Grades = Sequence[int | None]
Scorer = Callable[["Topic"], float]


def line(*cells: str | float) -> str:
    """Cells as tables print them: texts and counts as they are, scores with four digits."""
    return " ".join(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells)


# Files


@cache
def judgments(path: Path) -> dict[str, dict[str, int]]:
    """Grades by query and document; the highest grade of its subtopics."""
    found: dict[str, dict[str, int]] = {}
    for text in path.read_text().splitlines():
        query, _, document, grade = text.split()
        graded = found.setdefault(query, {})
        graded[document] = max(int(grade), graded.get(document, 0))
    return found


@cache
def scored(path: Path) -> dict[str, list[tuple[str, float]]]:
    """Documents and scores by query, in the order of the file."""
    found: dict[str, list[tuple[str, float]]] = {}
    for text in path.read_text().splitlines():
        query, _, document, _, score, *_ = text.split()
        found.setdefault(query, []).append((document, float(score)))
    return found


def by_trec(documents: Iterable[tuple[str, float]]) -> list[str]:
    """Documents by score, and tied documents by descending names."""
    return [name for name, _ in sorted(documents, key=lambda pair: (pair[1], pair[0]), reverse=True)]


@dataclass
class Topic:
    """A query of a run: grades by rank, and of all judged documents; `tied` has the sizes of ties from the top."""

    ranking: Grades
    judged: Sequence[int]
    tied: Sequence[int] = ()

    @property
    def R(self) -> int:
        return sum(grade > 0 for grade in self.judged)

    @property
    def N(self) -> int:
        return len(self.judged) - self.R

    @property
    def condensed(self) -> Topic:
        """Sakai, section 4.1: the ranking without unjudged documents."""
        return Topic([grade for grade in self.ranking if grade is not None], self.judged)


def topics(qrels: Path, run: Path) -> dict[str, Topic]:
    """All judged queries."""
    lists = scored(run)
    return {query: topic(graded, lists.get(query, [])) for query, graded in judgments(qrels).items()}


def topic(graded: dict[str, int], documents: list[tuple[str, float]]) -> Topic:
    sizes = Counter(score for _, score in documents)
    return Topic(
        [graded.get(name) for name in by_trec(documents)],
        list(graded.values()),
        [sizes[score] for score in sorted(sizes, reverse=True)],
    )


def lab(folder: Path, run: str, *, all_queries: bool = False, collection: str = "lab") -> list[Topic]:
    """The queries of a run of a simulated collection; those without relevant documents only on request."""
    found = topics(folder / collection / "qrels.txt", folder / collection / f"runs/{run}.run").values()
    return [query for query in found if query.R or all_queries]


def mean(queries: Iterable[Topic], score: Scorer) -> float:
    return fmean(map(score, queries))


LAB = [f"s{i}" for i in range(1, 9)]


def hits(ranking: Grades) -> list[int]:
    """1 for relevant documents, 0 for others."""
    return [int(bool(grade)) for grade in ranking]


# Measures on relevant and other documents


def precision(hit: Sequence[float], k: int) -> float:
    return sum(hit[:k]) / k


def reciprocal_rank(hit: Sequence[float]) -> float:
    return next((1 / i for i, h in enumerate(hit, 1) if h), 0.0)


def sum_of_precisions(hit: Sequence[float]) -> float:
    return sum(h * sum(hit[:i]) / i for i, h in enumerate(hit, 1))


def rr(query: Topic) -> float:
    return reciprocal_rank(hits(query.ranking))


def average_precision(query: Topic) -> float:
    return sum_of_precisions(hits(query.ranking)) / query.R


def dcg(gains: Sequence[float]) -> float:
    """Σ g_i / log2(i + 1)."""
    return sum(g / math.log2(i + 1) for i, g in enumerate(gains, 1))


def rbp(gains: Sequence[float], p: float) -> float:
    """Moffat and Zobel: (1 - p) Σ g_i p^(i-1)."""
    return (1 - p) * sum(g * p ** (i - 1) for i, g in enumerate(gains, 1))


def ndcg(k: int) -> Scorer:
    def score(query: Topic) -> float:
        ideal = sorted(query.judged, reverse=True)
        return dcg([grade or 0 for grade in query.ranking[:k]]) / dcg(ideal[:k])

    return score


# McSherry and Najork


def expected_precision(query: Topic, k: int) -> float:
    """Section 2.1."""
    total, start, hit = 0.0, 0, hits(query.ranking)
    for size in query.tied:
        total += sum(hit[start : start + size]) * min(1.0, max(0.0, (k - start) / size))
        start += size
    return total / k


def expected_reciprocal_rank(query: Topic) -> float:
    """Section 2.5: in the first tie with r relevant of n documents, rank j is the first relevant one in
    C(n - j, r - 1) of C(n, r) cases."""
    start, hit = 0, hits(query.ranking)
    for n in query.tied:
        if r := sum(hit[start : start + n]):
            return sum(math.comb(n - j, r - 1) / math.comb(n, r) / (start + j) for j in range(1, n - r + 2))
        start += n
    return 0.0


def expected_average_precision(query: Topic) -> float:
    """Section 2.4: at place j of a tie, (j - 1)(r - 1)/(n - 1) of the other relevant documents are expected above."""
    total, start, above, hit = 0.0, 0, 0, hits(query.ranking)
    for n in query.tied:
        r = sum(hit[start : start + n])
        for j in range(1, n + 1):
            before = (j - 1) * (r - 1) / (n - 1) if n > 1 else 0
            total += r / n * (above + before + 1) / (start + j)
        start, above = start + n, above + r
    return total / query.R


def with_ties(query: Topic, *, best: bool) -> Topic:
    """The ranking whose ties have relevant documents first, or last."""
    ranking: list[int | None] = []
    for size in query.tied:
        tie = query.ranking[len(ranking) : len(ranking) + size]
        ranking += sorted(tie, key=lambda grade: bool(grade), reverse=best)
    return Topic(ranking, query.judged)


def in_file_order(folder: Path, run: str) -> list[Topic]:
    """Queries with tied documents in the order of the file."""
    lists = scored(folder / f"lab/runs/{run}.run")
    found = []
    for query, graded in judgments(folder / "lab/qrels.txt").items():
        documents = sorted(lists.get(query, []), key=lambda pair: -pair[1])
        found.append(Topic([graded.get(name) for name, _ in documents], list(graded.values())))
    return found


def tie_rules(folder: Path, run: str, score: Scorer, expected: Scorer, *, all_queries: bool) -> tuple[float, ...]:
    """Means with ties in the order of TREC, of the file, of the mean over all orders, and in the best and worst one."""
    queries = lab(folder, run, all_queries=all_queries)
    given = [query for query in in_file_order(folder, run) if query.R or all_queries]
    best, worst = ([with_ties(query, best=b) for query in queries] for b in (True, False))
    return mean(queries, score), mean(given, score), mean(queries, expected), mean(best, score), mean(worst, score)


def over_orders(score: Callable[[Sequence[int]], float]) -> float:
    """The mean over all orders of the ranking 0(101)1."""
    return fmean(score([0, *tie, 1]) for tie in itertools.permutations([1, 0, 1]))


def f1(hit: Sequence[int]) -> float:
    """Section 2.3: 2 P R / (P + R) = 2 Σ rel / (k + R)."""
    return 2 * sum(hit[:2]) / (2 + 3)


def search_length(hit: Sequence[int], wanted: int) -> int:
    """Cooper: documents that are not relevant, before the wanted number of relevant ones."""
    return next(i - wanted for i in range(1, len(hit) + 1) if sum(hit[:i]) == wanted)


def letor(folder: Path) -> str:
    """Each order of tied documents of both queries, by feature 2."""
    found: dict[str, list[tuple[float, int]]] = {}
    for text in (folder / "fold.letor").read_text().splitlines():
        label, query, _, feature, *_ = text.split()
        found.setdefault(query, []).append((float(feature.split(":")[1]), int(label)))
    ap, gain = [], []
    for documents in found.values():
        values = [value for value, _ in documents]
        orders = [
            [label for _, label in order]
            for order in itertools.permutations(documents)
            if [value for value, _ in order] == sorted(values, reverse=True)
        ]
        judged = [label for _, label in documents]
        ap.append(mean([Topic(order, judged) for order in orders], average_precision))
        gain.append(mean([Topic(order, judged) for order in orders], ndcg(2)))
    return line("fold#2", fmean(ap), fmean(gain), len(found))


# Liu, Moffat, Baldwin and Zhang


def terminal_gain(hit: Sequence[int], R: int) -> float:
    """Equation 1."""
    return sum(hit) / R if R else 1.0


def terminal(hit: Sequence[int], R: int) -> tuple[float, float, float, float]:
    """RR', RBP' with p = 0.5, NDCG' and AP': equations 2 to 4."""
    r_t = terminal_gain(hit, R)
    extended = [*hit, r_t]
    ideal = ([1.0] * R + [1.0])[: len(extended)]
    return (
        reciprocal_rank(extended),
        rbp(hit, 0.5) + r_t * 0.5 ** len(hit),
        dcg(extended) / dcg(ideal),
        sum_of_precisions(extended) / (R + 1),
    )


def liu(ranking: str, R: int = 3) -> tuple[float, float, float, float]:
    return terminal([int(mark) for mark in ranking], R)


def filled(ranking: str, k: int, R: int = 3) -> list[float]:
    """Section 2: a ranking of weighted precision, with the terminal gain at all later ranks."""
    hit = [int(mark) for mark in ranking]
    return [*hit, *[terminal_gain(hit, R)] * (k - len(hit))]


def answers(folder: Path, name: str) -> dict[str, list[str]]:
    """The documents and answers of a run, by question."""
    found: dict[str, list[str]] = {}
    for text in (folder / name).read_text().splitlines():
        query, _, document, _, _, _, *answer = text.split(" ", 6)
        found.setdefault(query, []).append(" ".join([document, *answer]))
    return found


def right_answers(folder: Path) -> dict[str, set[str]]:
    """The right pairs of document and answer (judgment 1), by question."""
    found: dict[str, set[str]] = {}
    for text in (folder / "answers.judged").read_text().splitlines():
        query, document, judgment, answer = text.split(" ", 3)
        found.setdefault(query, set()).update([f"{document} {answer}"] if judgment == "1" else [])
    return found


def nil_scores(folder: Path, run: str) -> tuple[float, float]:
    """RR with the gain of NIL as in TREC 2001, and RR' of the lists that Table 2 makes."""
    plain, changed = [], []
    for query, found in answers(folder, run).items():
        right = right_answers(folder)[query]
        plain.append(reciprocal_rank([pair in right or (pair == "NIL" and not right) for pair in found]))
        kept = found[: found.index("NIL")] if "NIL" in found else found
        hit = [int(pair in right) for pair in kept]
        changed.append(reciprocal_rank([*hit, terminal_gain(hit, len(right))]))
    return fmean(plain), fmean(changed)


def lengths(folder: Path) -> str:
    """Table 2: the number of lists of each length, before and after they end at NIL."""
    lists = [found for run in ("answers.run", "hedger.run") for found in answers(folder, run).values()]
    before = Counter(map(len, lists))
    after = Counter(found.index("NIL") if "NIL" in found else len(found) for found in lists)
    return " ".join(f"{n} {before[n]} {after[n]}" for n in range(6))


def nil_classification(folder: Path) -> str:
    right = right_answers(folder)
    silent = {query for query, found in answers(folder, "answers.run").items() if found[0] == "NIL"}
    unanswerable = {query for query, pairs in right.items() if not pairs}
    both = len(silent & unanswerable)
    return (
        f"nil detection: precision {both / len(silent):.0%}, recall {both / len(unanswerable):.0%},"
        f" {len(silent - unanswerable)} false silence"
    )


def c_at_1(first: Sequence[bool | None]) -> float:
    """Section 1: n_ac/n + (n_ac/n)(n_u/n); None is an unanswered question."""
    n = len(first)
    right, unanswered = sum(bool(answer) for answer in first), sum(answer is None for answer in first)
    return right / n + right / n * unanswered / n


def answered(folder: Path) -> list[bool | None]:
    right = right_answers(folder)
    return [
        None if found[0] == "NIL" else found[0] in right[query]
        for query, found in answers(folder, "answers.run").items()
    ]


def judged_pairs(folder: Path) -> str:
    texts = (folder / "answers.judged").read_text().splitlines()
    pairs = Counter(text.split()[0] for text in texts)
    return f"documents judged {min(pairs.values())} {max(pairs.values())} {fmean(pairs.values()):.1f} {len(texts)}"


def plain_and_terminal(folder: Path, run: str) -> tuple[float, float, float, float]:
    """Means of RR, RR', AP and AP': lists with fewer than 60 documents have an end."""
    found = []
    for query in lab(folder, run, all_queries=True):
        hit = hits(query.ranking)
        plain = reciprocal_rank(hit), (average_precision(query) if query.R else 0.0)
        changed = terminal(hit, query.R) if len(hit) < 60 else (plain[0], 0.0, 0.0, plain[1])
        found.append((plain[0], changed[0], plain[1], changed[3]))
    rr, rr_terminal, ap, ap_terminal = (fmean(column) for column in zip(*found, strict=True))
    return rr, rr_terminal, ap, ap_terminal


def kendall(a: Sequence[float], b: Sequence[float]) -> float:
    """τ-a: concordant less discordant pairs, over all pairs."""
    pairs = list(itertools.combinations(range(len(a)), 2))
    return sum(float(np.sign((a[i] - a[j]) * (b[i] - b[j]))) for i, j in pairs) / len(pairs)


def figure1_of_liu(folder: Path) -> str:
    """Table 2: before the transformation NIL is an item of its list, afterwards it ends the list."""
    lists = [[name for name, _ in found] for path in (folder / "nil/runs").iterdir() for found in scored(path).values()]
    assert len(lists) == 8 * 20  # none is empty
    before = Counter(map(len, lists))
    after = Counter([*answers, "NIL"].index("NIL") for answers in lists)
    return " ".join(line(length, before[length], after[length]) for length in range(6))


def table3_of_liu(folder: Path) -> str:
    _, _, ap, changed = zip(*(plain_and_terminal(folder, run) for run in LAB), strict=True)
    tau = kendall(ap, changed)
    swapped = round((1 - tau) / 2 * 28)
    return line("AP AP[terminal]", tau, tau, swapped, 0, 0)


def figure3_of_liu(folder: Path) -> str:
    queries = lab(folder, "s1", all_queries=True)
    first = [bool(query.ranking[0]) if query.ranking else None for query in queries]
    short = fmean(len(query.ranking) < 60 for query in queries)
    return line("s1", *plain_and_terminal(folder, "s1")[:2], c_at_1(first), f"{short:.1%}")


def stopping(folder: Path) -> str:
    """RBP' of s1: uncut, each list at its best length, and all lists at the best common length."""
    scores = []
    for query in lab(folder, "s1", all_queries=True):
        gains = [(grade or 0) / 3 for grade in query.ranking]
        total = sum(query.judged) / 3
        # Equation 2 with graded gains: the terminal gain is the share of the total gain.
        scores.append(
            [rbp(gains[:d], 0.5) + (sum(gains[:d]) / total if total else 1.0) * 0.5**d for d in range(len(gains) + 1)]
        )
    length = fmean(len(row) - 1 for row in scores)
    deepest = max(map(len, scores))
    at = [fmean(row[min(d, len(row) - 1)] for row in scores) for d in range(deepest)]
    best = fmean(max(row) for row in scores)
    depths = fmean(row.index(max(row)) for row in scores)
    uncut = fmean(row[-1] for row in scores)
    return line("s1", f"{length:.1f}", uncut, best, f"{depths:.1f}", max(at), at.index(max(at)))


# Sakai


def bpref(divisor: Scorer, most: Scorer) -> Scorer:
    """Equations 9 to 11: relevant documents below n others have the penalty min(most, n) / divisor."""

    def score(query: Topic) -> float:
        hit = hits(query.condensed.ranking)
        above = [r - sum(hit[:r]) for r in range(1, len(hit) + 1) if hit[r - 1]]
        return sum(1 - min(most(query), n) / divisor(query) if n else 1.0 for n in above) / query.R

    return score


def retrieved_nonrelevant(query: Topic) -> int:
    return sum(grade == 0 for grade in query.ranking)


BPREF = bpref(lambda q: min(q.R, q.N), lambda q: q.R)
BPREF_R = bpref(lambda q: q.R, lambda q: q.R)
BPREF_N = bpref(lambda q: q.N, lambda q: math.inf)
OLD_BPREF = bpref(lambda q: min(q.R, retrieved_nonrelevant(q)), lambda q: q.R)


def penalty(g: Sequence[int], r: int) -> float:
    """Equation 15; `r` counts from 0."""
    return sum((g[r] - g[i]) / g[r] for i in range(r) if g[i] < g[r])


def rpref_n(query: Topic) -> float:
    """Equation 16, with the highest grade of the collection, 3."""
    g = [grade or 0 for grade in query.condensed.ranking]
    ideal = sum(query.judged)
    norm = query.R + query.N - ideal / 3
    return sum(g[r] * (1 - penalty(g, r) / norm) for r in range(len(g)) if g[r]) / ideal


def rpref_relative(query: Topic, *, first: int = 1, shift: int = 0) -> float:
    """Equation 17; `first=0, shift=1` is equation 19."""
    g = [grade or 0 for grade in query.condensed.ranking]
    return sum(g[r] * (1 - penalty(g, r) / (r + shift)) for r in range(first, len(g)) if g[r]) / sum(query.judged)


def bpref_relative(query: Topic) -> float:
    """Equation 18."""
    hit = hits(query.condensed.ranking)
    return sum(1 - (r - sum(hit[:r])) / (r - 1) for r in range(2, len(hit) + 1) if hit[r - 1]) / query.R


def condensed_ap(query: Topic) -> float:
    """Equation 20: AveP'."""
    return average_precision(query.condensed)


def inferred_ap(query: Topic) -> float:
    """Yilmaz and Aslam (2006): the expected precision above each relevant document, smoothed by 0.00001."""
    total, smoothing = 0.0, 0.00001
    for i, grade in enumerate(query.ranking):
        if grade:
            above = [other for other in query.ranking[:i] if other is not None]
            share = (sum(map(bool, above)) + smoothing) / (len(above) + 2 * smoothing)
            total += (1 + len(above) * share) / (i + 1)
    return total / query.R


def rpref_relative2(query: Topic) -> float:
    return rpref_relative(query, first=0, shift=1)


def q_measure(query: Topic, beta: float = 1) -> float:
    """Equation 21."""
    g = [grade or 0 for grade in query.ranking]
    ideal = sorted(query.judged, reverse=True) + [0] * len(g)
    hit = hits(g)
    return (
        sum(
            (beta * sum(g[:r]) + sum(hit[:r])) / (beta * sum(ideal[:r]) + r) for r in range(1, len(g) + 1) if hit[r - 1]
        )
        / query.R
    )


def ndcg_jk(query: Topic) -> float:
    """Equation 22 with a = 2 and l = 1000."""

    def total(gains: Iterable[int | None]) -> float:
        return sum((g or 0) / max(1.0, math.log2(r)) for r, g in enumerate(gains, 1))

    return total(query.ranking[:1000]) / total(sorted(query.judged, reverse=True)[:1000])


def sakai(folder: Path, name: str, query: str) -> Topic:
    return topics(folder / f"{name}.qrels", folder / f"{name}.run")[query]


def taus_of_sakai(folder: Path) -> list[float]:
    """Table 2: AveP' against bpref, bpref_N and rpref_N."""
    first, *others = (
        [mean(lab(folder, run, collection="again"), score) for run in LAB]
        for score in (condensed_ap, BPREF, BPREF_N, rpref_n)
    )
    return [kendall(first, other) for other in others]


def highest_insignificant_tau(runs: int, alpha: float) -> float:
    """The highest τ of two orders that is not significant, by the share of all orders that are as extreme."""
    swaps = [1]
    for n in range(2, runs + 1):  # orders of n runs by their number of swapped pairs
        swaps = [sum(swaps[max(0, i - n + 1) : i + 1]) for i in range(len(swaps) + n - 1)]
    pairs, orders = len(swaps) - 1, math.factorial(runs)
    return max(1 - 2 * d / pairs for d in range(pairs // 2 + 1) if min(1.0, 2 * sum(swaps[: d + 1]) / orders) > alpha)


def kept(folder: Path, rate: int) -> int:
    """Section 5: R_j = max(1, R j / 100) and N_j = max(10, N j / 100), truncated."""
    found = topics(folder / "lab/qrels.txt", folder / "lab/runs/s1.run").values()
    return sum(min(q.R, max(1, q.R * rate // 100)) + min(q.N, max(10, q.N * rate // 100)) for q in found)


def over_runs(folder: Path, score: Scorer) -> float:
    return fmean(mean(lab(folder, run), score) for run in LAB)


def collection_table(folder: Path) -> str:
    found = lab(folder, "s1", all_queries=True)
    rows = []
    for name, counts in (("N (not relevant)", [q.N for q in found]), ("R (relevant)", [q.R for q in found])):
        rows.append(f"{name} {min(counts)} {max(counts)} {fmean(counts):.1f} {sum(counts)}")
    return " ".join(rows)


# Hui, Berberich and Mele


@cache
def subtopics(path: Path) -> dict[str, dict[str, set[str]]]:
    """The relevant documents of each subtopic, by query; subtopics without any are left out."""
    found: dict[str, dict[str, set[str]]] = {}
    for text in path.read_text().splitlines():
        query, subtopic, document, grade = text.split()
        covering = found.setdefault(query, {})
        if int(grade) > 0:
            covering.setdefault(subtopic, set()).add(document)
    return {query: covering for query, covering in found.items() if covering}


def novelty(documents: Sequence[str], covering: dict[str, set[str]]) -> list[float]:
    """Σ_i J_i(r) (1 - α)^C_i(r-1) of each rank, with α = 0.5: the gain in equations 1 and 3."""
    seen: Counter[str] = Counter()
    gains = []
    for document in documents:
        covered = [i for i, relevant in covering.items() if document in relevant]
        gains.append(sum(0.5 ** seen[i] for i in covered))
        seen.update(covered)
    return gains


def alpha_ndcg(documents: Sequence[str], covering: dict[str, set[str]]) -> float:
    """Equation 1 at 20; the ideal order takes the document of the highest gain at each rank."""
    left = sorted(set().union(*covering.values()), reverse=True)
    ideal: list[str] = []
    while left and len(ideal) < 20:
        best = max(left, key=lambda document: novelty([*ideal, document], covering)[-1])
        ideal.append(best)
        left.remove(best)
    return dcg(novelty(documents[:20], covering)) / dcg(novelty(ideal, covering))


def nrbp(documents: Sequence[str], covering: dict[str, set[str]]) -> float:
    """Equation 3 with α = β = 0.5."""
    gains = novelty(documents, covering)
    return (1 - 0.5 * 0.5) / len(covering) * sum(0.5 ** (r - 1) * g for r, g in enumerate(gains, 1))


def err_ia(documents: Sequence[str], covering: dict[str, set[str]]) -> float:
    """Equation 2 at 20 with R_i = 1/2 for relevant documents, divided by its highest value, as in TREC."""
    gains = novelty(documents[:20], covering)
    highest = sum(0.5 ** (r - 1) / r for r in range(1, 21))
    return sum(g / r for r, g in enumerate(gains, 1)) / len(covering) / highest


@cache
def err_ia_of_hui(folder: Path, run: str) -> tuple[float, int]:
    """The mean and the number of queries of equation 2 at 20: ERR with R = (2^grade - 1) / 2^max, averaged over the subtopics with a relevant document."""
    grades: dict[tuple[str, str], dict[str, int]] = {}
    for text in (folder / "lab/qrels.diversity.txt").read_text().splitlines():
        query, subtopic, document, grade = text.split()
        grades.setdefault((query, subtopic), {})[document] = int(grade)
    top, lists = max(max(judged.values()) for judged in grades.values()), scored(folder / f"lab/runs/{run}.run")
    values: dict[str, list[float]] = {}
    for (query, _), judged in grades.items():
        if any(judged.values()):
            total, unsatisfied = 0.0, 1.0
            for rank, document in enumerate(by_trec(lists.get(query, []))[:20], 1):
                satisfied = (2 ** judged.get(document, 0) - 1) / 2**top
                total += unsatisfied * satisfied / rank
                unsatisfied *= 1 - satisfied
            values.setdefault(query, []).append(total)
    return fmean(map(fmean, values.values())), len(values)


Diverse = Callable[[Sequence[str], dict[str, set[str]]], float]


def diverse(folder: Path, run: str, score: Diverse, collection: str = "lab") -> float:
    """The mean over the queries of a collection with subtopics."""
    lists = scored(folder / collection / f"runs/{run}.run")
    found = subtopics(folder / collection / "qrels.diversity.txt")
    return fmean(score(by_trec(lists.get(query, [])), covering) for query, covering in found.items())


@cache
def texts(folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """How often each word of the collection is in each document, and P[v|D] of equation 4."""
    documents = {}
    for text in (folder / "lab/docs.jsonl").read_text().splitlines():
        entry = json.loads(text)
        documents[entry["id"]] = entry["text"].split()
    places = {word: i for i, word in enumerate(sorted(set(itertools.chain(*documents.values()))))}
    counts = {
        name: np.bincount([places[word] for word in words], minlength=len(places)) for name, words in documents.items()
    }
    total = np.sum(list(counts.values()), axis=0)
    return counts, total / total.sum()


def language_model(folder: Path, names: Iterable[str]) -> np.ndarray:
    """Equations 5 and 6 with μ = 2500 and the smoothing of Zhai and Lafferty: (tf + μ P[v|D]) / (|d| + μ)."""
    counts, background = texts(folder)
    counted = np.sum([counts[name] for name in names], axis=0)
    return (counted + 2500 * background) / (counted.sum() + 2500)


def divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Equation 7 for each row of p and each row of q."""
    return np.sum(p * np.log(p), axis=1)[:, None] - p @ np.log(q).T


def coverage(folder: Path, documents: Sequence[str], covering: dict[str, set[str]]) -> np.ndarray:
    """Equation 8 for ranks 0, 1, 2, ... and subtopics."""
    _, background = texts(folder)
    wanted = np.array([language_model(folder, relevant) for relevant in covering.values()])
    shown = np.array([background] + [language_model(folder, documents[:k]) for k in range(1, len(documents) + 1)])
    return np.maximum(0, 1 - divergence(wanted, shown) / divergence(wanted, background[None])).T


def printed_model(folder: Path, names: Iterable[str]) -> np.ndarray:
    """Equations 5 and 6 as they are printed: (tf + μ) / (|d| + μ P[v|D])."""
    counts, background = texts(folder)
    counted = np.sum([counts[name] for name in names], axis=0)
    return (counted + 2500) / (counted.sum() + 2500 * background)


def divergence_claims(folder: Path) -> str:
    """Section 4.3: how often KLD(q||R) ≤ KLD(q||D), over runs, queries, subtopics and the first 20 ranks."""
    found, (_, background) = subtopics(folder / "lab/qrels.diversity.txt"), texts(folder)
    rows = []
    for name, model in (("dirichlet", language_model), ("printed", printed_model)):
        held: list[np.ndarray] = []
        for run in LAB:
            lists = scored(folder / f"lab/runs/{run}.run")
            for query, covering in found.items():
                documents = by_trec(lists.get(query, []))[:20]
                if documents:
                    wanted = np.array([model(folder, relevant) for relevant in covering.values()])
                    shown = np.array([model(folder, documents[: k + 1]) for k in range(len(documents))])
                    held.append(divergence(wanted, shown) <= divergence(wanted, background[None]) * (1 + 1e-12))
        holds, total = sum(int(part.sum()) for part in held), sum(part.size for part in held)
        rows.append(f"ABSRB@20 {name} {holds} {total} {holds / total:.2%}")
    return " ".join(rows)


def content(folder: Path, documents: Sequence[str], covering: dict[str, set[str]]) -> tuple[float, ...]:
    """ABSNB, ABSRB, DELTANB and DELTARB: equations 9 to 12 with θ = 0.8."""
    covered = coverage(folder, documents, covering)
    absolute = covered[1:].max(axis=1)
    delta = np.maximum(0, np.diff(covered, axis=0).max(axis=1))
    bias = 0.2 * 0.8 ** np.arange(len(documents))
    return tuple(float(value) for value in (absolute.sum(), absolute @ bias, delta.sum(), delta @ bias))


@cache
def mean_content(folder: Path, run: str) -> list[float]:
    """The four measures at 20, over all queries."""
    lists = scored(folder / f"lab/runs/{run}.run")
    found = subtopics(folder / "lab/qrels.diversity.txt")
    rows = [content(folder, by_trec(lists.get(query, []))[:20], covering) for query, covering in found.items()]
    return [fmean(column) for column in zip(*rows, strict=True)]


def explained(folder: Path) -> tuple[float, ...]:
    """The four measures at 5 of query q01 in s1."""
    documents = by_trec(scored(folder / "lab/runs/s1.run")["q01"])[:5]
    return content(folder, documents, subtopics(folder / "lab/qrels.diversity.txt")["q01"])


def diverse_taus(folder: Path, first: Diverse, *others: Diverse, collection: str = "lab") -> list[float]:
    order = [diverse(folder, run, first, collection) for run in LAB]
    return [kendall(order, [diverse(folder, run, other, collection) for run in LAB]) for other in others]


def reuse(folder: Path, source: str, target: str) -> str:
    """τ between α-nDCG on a part, and the new measures with the judgments of the other part.

    Part B has the documents with even numbers. The established measures give no order: no document is judged.
    """
    found = subtopics(folder / "lab/qrels.diversity.txt")

    def within(part: str, document: str) -> bool:
        return (int(document[1:]) % 2 == 0) == (part == "B")

    def judged(part: str) -> dict[str, dict[str, set[str]]]:
        parts = {
            query: {i: {d for d in relevant if within(part, d)} for i, relevant in covering.items()}
            for query, covering in found.items()
        }
        return {query: {i: relevant for i, relevant in c.items() if relevant} for query, c in parts.items()}

    known, new = [], []
    for run in LAB:
        lists = scored(folder / f"lab/runs/{run}.run")
        shown = {query: [d for d in by_trec(lists.get(query, [])) if within(target, d)] for query in found}
        known.append(fmean(alpha_ndcg(shown[query], covering) for query, covering in judged(target).items()))
        new.append([content(folder, shown[query][:20], covering) for query, covering in judged(source).items()])
    means = np.array([np.mean(rows, axis=0) for rows in new])
    return line(f"{source}→{target} – –", *(kendall(known, column) for column in means.T))


def sampled(folder: Path, rate: int) -> int:
    """Section 5.2: the share of the relevant and of the other documents of each query, rounded up."""
    found = topics(folder / "lab/qrels.txt", folder / "lab/runs/s1.run").values()
    return sum(-(-n * rate // 100) for query in found for n in (query.R, query.N))


def spam(folder: Path) -> str:
    """Documents with label -2 are not relevant, and are judged: they stay in a condensed list."""
    covering = subtopics(folder / "spam.qrels")["1"]
    score = alpha_ndcg(by_trec(scored(folder / "spam.run")["1"]), covering)
    return line("spam", score, score, 1)


# Moffat


def moffat_means(folder: Path, *scores: Scorer) -> list[float]:
    found = topics(folder / "moffat.qrels", folder / "moffat.run").values()
    return [mean(found, score) for score in scores]


def bits(ranking: str, k: int = 5) -> list[int]:
    return [int(mark) for mark in ranking[:k]]


def sn_dcg(hit: Sequence[int]) -> float:
    """Section 3: divided by the score of the same documents, reordered."""
    return dcg(hit) / dcg([1] * sum(hit))


def table1_of_moffat() -> str:
    """The variants of DCG@5 for three rankings: 4 documents are relevant."""
    rows = []
    for name, limit in (("SDCG@k", lambda hit: 5), ("NDCG@k", lambda hit: 4), ("SN-DCG@k", sum)):
        cells = []
        for ranking in ("11000", "10100", "10101"):
            value, highest = dcg(bits(ranking)), dcg([1] * limit(bits(ranking)))
            cells.append(f"{value:.2f} / {highest:.2f} = {value / highest:.2f}")
        rows.append(" ".join([name, *cells]))
    return " ".join(rows)


# Table 2, as printed: bounded, monotone, convergent, top-weighted, localized, complete, realizable.
PRINTED = {
    "DCG": "NYYYYYN",
    "SP": "NYYYYYN",
    "RPrec": "YNNNNNY",
    "SN-DCG": "YNNYYNY",
    "SN-AP": "YNNYYNY",
    "Prec": "YNYNYYN",
    "NDCG": "YNYYNNY",
    "SDCG": "YNYYYYN",
    "HIT": "YYNNYYY",
    "RR": "YYNNYYY",
    "Recall": "YYYNNNN",
    "AP": "YYYYNNN",
    "RBP": "YYYYYYN",
}
# Sections 2 and 3: the score of the first k documents, with R relevant documents in all.
METRICS: dict[str, Callable[[Sequence[int], int, int], float]] = {
    "DCG": lambda hit, k, R: dcg(hit),
    "SP": lambda hit, k, R: sum_of_precisions(hit),
    "RPrec": lambda hit, k, R: sum(hit[:R]) / min(k, R),
    "SN-DCG": lambda hit, k, R: sn_dcg(hit),
    "SN-AP": lambda hit, k, R: sum_of_precisions(hit) / sum(hit),
    "Prec": lambda hit, k, R: sum(hit) / k,
    "NDCG": lambda hit, k, R: dcg(hit) / dcg([1] * min(k, R)),
    "SDCG": lambda hit, k, R: dcg(hit) / dcg([1] * k),
    "HIT": lambda hit, k, R: float(any(hit)),
    "RR": lambda hit, k, R: reciprocal_rank(hit),
    "Recall": lambda hit, k, R: sum(hit) / R,
    "AP": lambda hit, k, R: sum_of_precisions(hit) / R,
    "RBP": lambda hit, k, R: rbp(hit, 0.8),
}


@cache
def metric_scores(name: str) -> dict[tuple[tuple[int, ...], int], float | None]:
    """The score of each ranking of 1 to 5 documents at each k; None if it is undefined."""
    found: dict[tuple[tuple[int, ...], int], float | None] = {}
    for n in range(1, 6):
        for ranking in itertools.product((0, 1), repeat=n):
            for k in range(1, n + 1):
                try:
                    found[ranking, k] = METRICS[name](ranking[:k], k, sum(ranking))
                except ZeroDivisionError:
                    found[ranking, k] = None
    return found


def properties(name: str) -> str:
    """Section 4: the answers for a metric, on all rankings of up to 5 documents."""
    at = metric_scores(name)
    monotone = convergent = top_weighted = realizable = True
    prefixes: dict[tuple[int, ...], set[float]] = {}
    for (ranking, k), score in at.items():
        n, R = len(ranking), sum(ranking)
        if score is None:
            continue
        prefixes.setdefault(ranking[:k], set()).add(round(score, 12))
        later = at.get((ranking, k + 1))
        monotone &= later is None or later >= score - 1e-12
        realizable &= not R or list(ranking) != sorted(ranking, reverse=True) or abs(score - 1) < 1e-12
        for i, j in itertools.combinations(range(n), 2):
            if i >= k or (ranking[i], ranking[j]) != (0, 1):
                continue
            swapped = at[(*ranking[:i], 1, *ranking[i + 1 : j], 0, *ranking[j + 1 :]), k]
            rises = swapped is not None and swapped > score + 1e-12
            if j < k:
                top_weighted &= rises
            else:
                convergent &= rises
    localized = all(len(scores) == 1 for scores in prefixes.values())
    bounded = all(score is None or score <= 1 + 1e-12 for score in at.values())
    complete = all(score is not None for score in at.values())
    answers = (bounded, monotone, convergent, top_weighted, localized, complete, realizable)
    return "".join("NY"[answer] for answer in answers)


def matching_answers(columns: Sequence[int]) -> str:
    """How many answers of Table 2 are those of all small rankings."""
    pairs = [(properties(name)[i], printed[i]) for name, printed in PRINTED.items() for i in columns]
    return f"{sum(a == b for a, b in pairs)} of {len(pairs)} answers match the paper"


def unchanged_by_a_swap() -> str:
    """Section 4: the smallest ranking in which a relevant document enters the top k, and RR@k stays."""
    for n in range(1, 6):
        for hit in itertools.product((0, 1), repeat=n):
            for i, k, j in itertools.combinations(range(n + 1), 3):
                j -= 1
                if i < k <= j and (hit[i], hit[j]) == (0, 1):
                    other = [*hit[:i], 1, *hit[i + 1 : j], 0, *hit[j + 1 :]]
                    if reciprocal_rank(hit[:k]) == reciprocal_rank(other[:k]):
                        a, b = ("".join(map(str, x[:k])) + "|" + "".join(map(str, x[k:])) for x in (hit, other))
                        return f"“{a}” scores {reciprocal_rank(hit[:k]):.4f} at k = {k}, and “{b}” the same"
    raise AssertionError


def standardised(folder: Path) -> str:
    """Webber et al.: Φ of z-scores over the runs, for each query; s8 is the best run."""
    cells = []
    for score, all_queries in ((average_precision, False), (lambda q: dcg([g or 0 for g in q.ranking[:10]]), True)):
        rows = [[score(query) for query in lab(folder, run, all_queries=all_queries)] for run in LAB]
        values = []
        for column in zip(*rows, strict=True):
            deviation = stdev(column)
            values.append(NormalDist().cdf((column[-1] - fmean(column)) / deviation if deviation else 0.0))
        cells.append(fmean(values))
    return line("s8", *cells)


def bounds(folder: Path) -> str:
    """The lowest and highest AP of s1 over all judgments of its unjudged documents."""
    lowest, highest = [], []
    for query in lab(folder, "s1"):
        places = [i for i, grade in enumerate(query.ranking) if grade is None]
        hit = np.array(hits(query.ranking))
        cases = np.tile(hit, (2 ** len(places), 1))
        cases[:, places] = list(itertools.product((0, 1), repeat=len(places)))
        found = np.cumsum(cases, axis=1) / np.arange(1, len(hit) + 1) if len(hit) else cases
        scores = (found * cases).sum(axis=1) / (query.R + cases[:, places].sum(axis=1))
        lowest.append(float(scores.min()))
        highest.append(float(scores.max()))
    return line("AP lowest", fmean(lowest), "AP highest", fmean(highest))


def depth(p: float, residual: float) -> int:
    return next(k for k in itertools.count(1) if p**k <= residual)


def err(query: Topic) -> float:
    """Chapelle et al. at 20, with stopping probabilities (2^g - 1) / 2^3."""
    total, left = 0.0, 1.0
    for i, grade in enumerate(query.ranking[:20], 1):
        stop = (2 ** (grade or 0) - 1) / 8
        total, left = total + left * stop / i, left * (1 - stop)
    return total


def tbg(query: Topic) -> float:
    """Smucker and Clarke, per document: a half-life of 224 seconds, one second for each document."""
    weights = [2 ** (-i / 224) for i in range(1000)]
    return sum(w * (g or 0) / 3 for w, g in zip(weights, query.ranking, strict=False)) / sum(weights)


@cache
def beta_weight(i: int) -> float:
    """E[(1 - p) p^(i-1)] for p from Beta(8, 2), on a fine grid."""
    p = (np.arange(20000) + 0.5) / 20000
    density = p**7 * (1 - p)
    return float(density @ ((1 - p) * p ** (i - 1)) / density.sum())


def rbp_beta(query: Topic) -> float:
    return sum((grade or 0) / 3 * beta_weight(i) for i, grade in enumerate(query.ranking, 1))


def significant_pairs(folder: Path, score: Scorer) -> int:
    """Pairs of runs with an achieved significance level below 0.05: the paired bootstrap test of Sakai (2006)."""
    rows = [np.array([score(query) for query in lab(folder, run)]) for run in LAB]
    n = len(rows[0])
    drawn = np.random.default_rng(1).integers(0, n, (5000, n))

    def t(values: np.ndarray) -> np.ndarray:
        return np.abs(values.mean(axis=-1)) / np.maximum(values.std(axis=-1, ddof=1), 1e-12) * math.sqrt(n)

    differences = [a - b for a, b in itertools.combinations(rows, 2)]
    return sum(float(np.mean(t((d - d.mean())[drawn]) >= t(d))) < 0.05 for d in differences)


# Rows of output


def moffat_row(folder: Path) -> str:
    """Section 2: Prec, Recall, RR, AP, HIT and RBP at 5, over all rankings."""
    cells = moffat_means(
        folder,
        lambda q: precision(hits(q.ranking), 5),
        lambda q: sum(hits(q.ranking)[:5]) / q.R,
        lambda q: reciprocal_rank(hits(q.ranking)[:5]),
        lambda q: sum_of_precisions(hits(q.ranking)[:5]) / q.R,
        lambda q: float(any(hits(q.ranking)[:5])),
        lambda q: rbp(hits(q.ranking)[:5], 0.8),
    )
    return line("moffat all", *cells)


def residuals(folder: Path) -> str:
    """RBP at 1, 3 and 5, and the weight p^k of what follows."""
    values = moffat_means(folder, *(lambda q, k=k: rbp(hits(q.ranking)[:k], 0.8) for k in (1, 3, 5)))
    return line("moffat", *itertools.chain(*zip(values, (0.8, 0.8**3, 0.8**5), strict=True)))


def inverse_squares(folder: Path) -> str:
    """Weights 1/(i(i + 1)); those below rank n sum to 1/(n + 1)."""
    values = moffat_means(
        folder,
        lambda q: sum(h / (i * (i + 1)) for i, h in enumerate(hits(q.ranking), 1)),
        lambda q: 1 / (len(q.ranking) + 1),
    )
    return line("moffat", *values)


def eval_row(folder: Path, *scores: Scorer, all_queries: bool = False, run: str = "s1") -> str:
    """A row of `cranfield eval` for a run of the simulated collection."""
    queries = lab(folder, run, all_queries=all_queries)
    return line(run, *(mean(queries, score) for score in scores), len(queries))


def ten_digits(folder: Path, *scores: Scorer) -> str:
    return " ".join(["s1", *(f"{mean(lab(folder, 's1'), score):.10f}" for score in scores)])


def share_of_pairs(folder: Path, name: str, score: Scorer) -> str:
    found = significant_pairs(folder, score)
    return f"{name} {found}/28 {found / 28:.1%}"


def mean_tau(folder: Path) -> float:
    """The agreement of α-nDCG and ERR-IA in two collections."""
    return fmean(diverse_taus(folder, alpha_ndcg, err_ia, collection=name)[0] for name in ("lab", "again"))


def content_taus(folder: Path) -> str:
    """ABSRB against ERR-IA, itself and DELTARB."""
    _, absrb, _, deltarb = zip(*(mean_content(folder, run) for run in LAB), strict=True)
    known = [err_ia_of_hui(folder, run)[0] for run in LAB]
    return line("ABSRB@20", kendall(absrb, known), 1.0, kendall(absrb, deltarb))


def table4_of_hui(folder: Path) -> str:
    """The established measures, in rows, against the new ones."""
    new = list(zip(*(mean_content(folder, run) for run in LAB), strict=True))
    orders = {
        "alpha_nDCG@20": [diverse(folder, run, alpha_ndcg) for run in LAB],
        "ERR_IA(norm='paper')@20": [err_ia_of_hui(folder, run)[0] for run in LAB],
        "NRBP": [diverse(folder, run, nrbp) for run in LAB],
    }
    return " ".join(line(name, *(kendall(order, column) for column in new)) for name, order in orders.items())


def table3_of_hui(folder: Path) -> str:
    """ERR-IA against the other established measures."""
    known = [err_ia_of_hui(folder, run)[0] for run in LAB]
    taus = [kendall(known, [diverse(folder, run, score) for run in LAB]) for score in (alpha_ndcg, nrbp)]
    return line("ERR_IA(norm='paper')@20", taus[0], 1.0, taus[1])


def figure1_of_hui(folder: Path) -> str:
    """All judgments: ERR-IA with itself, on raw and condensed lists, and with ABSRB and DELTARB."""
    _, absrb, _, deltarb = zip(*(mean_content(folder, run) for run in LAB), strict=True)
    known = [err_ia_of_hui(folder, run)[0] for run in LAB]
    judged = sampled(folder, 100)
    return line("100%", judged, 1.0, 1.0, kendall(known, absrb), kendall(known, deltarb))


def table1_of_liu() -> str:
    rows = []
    for ranking, R in [
        ("00", 0),
        ("000", 0),
        *((ranking, 3) for ranking in ["111", "11", "11100", "101", "1", "10100", "011", "01001"]),
    ]:
        rows.append(" ".join([f"table1 {ranking}", *(f"{cell:.3f}" for cell in liu(ranking, R))]))
    return " ".join(rows)


# For each element: what its command must print.
NUMBERS: dict[str, Callable[[Path], str]] = {
    "Section 1: different orders of tied documents change scores, and the order of scoring functions": lambda f: line(
        "s5", *tie_rules(f, "s5", average_precision, expected_average_precision, all_queries=False)
    ),
    "Section 1: each feature as a scoring function of its own": letor,
    "Section 1: one arbitrary order, as TREC chooses it, against the mean over all orders": lambda f: line(
        "s4", *tie_rules(f, "s4", average_precision, expected_average_precision, all_queries=False), 11
    ),
    "Section 2.1: P@k": lambda f: line("all", over_orders(lambda hit: precision(hit, 2))),
    "Section 2.2: R@k, over the relevant documents of the result list": lambda f: line(
        "all", over_orders(lambda hit: sum(hit[:2]) / 3)
    ),
    "Section 2.3: F1@k": lambda f: line("all", over_orders(f1)),
    "Section 2.4: AP@k": lambda f: line("all", over_orders(lambda hit: sum_of_precisions(hit) / 3)),
    "Section 2.5: RR@k": lambda f: line("all", over_orders(reciprocal_rank)),
    "Section 2.6: NDCG@k, with gain 2^label - 1": lambda f: line(
        "all", over_orders(lambda hit: dcg(hit) / dcg([1, 1, 1]))
    ),
    "Section 2: the closed forms are the mean over all orders": lambda f: line(
        "s5", *tie_rules(f, "s5", rr, expected_reciprocal_rank, all_queries=True)
    ),
    "Cited: expected search length (Cooper, 1968)": lambda f: line(
        "all",
        over_orders(lambda hit: search_length(hit, 1)),
        "ESL(n=3)[ties=expected] all",
        over_orders(lambda hit: search_length(hit, 3)),
    ),
    "Section 1: c@1": lambda f: line("all", c_at_1(answered(f))),
    "Section 1: nil answers as a classification": nil_classification,
    "Section 1: NIL gains 1 if and only if there is no answer; hedging by NIL at the first rank": lambda f: line(
        "hedger all", *nil_scores(f, "hedger.run"), 3
    ),
    "Section 2: “101” is at least as good as “10100”, and “” > “0” > “00”": lambda f: line(
        "liu 101", *liu("101"), "liu 10100", *liu("10100")
    ),
    "Section 2, equation 1 and RR': an empty list is right if nothing is relevant": lambda f: line(
        "00", liu("00", 0)[0], "RR[terminal] 000", liu("000", 0)[0], "RR[terminal] N", liu("", 0)[0]
    ),
    "Section 2: P@k' and other weighted precision": lambda f: line(
        "liu 11", precision(filled("11", 5), 5), dcg(filled("11", 5)) / dcg([1] * 5)
    ),
    "Equation 2: RBP'": lambda f: line("11", liu("11")[1]),
    "Equation 3: NDCG' (“101” scores 0.698)": lambda f: line("101", liu("101")[2]),
    "Equation 4: AP'": lambda f: line("11", liu("11")[3]),
    "Table 1: ten rankings and their scores": lambda f: table1_of_liu(),
    "Section 3: runs of [document, answer] pairs": judged_pairs,
    "Table 2: how a run is transformed": lengths,
    "Figure 1: lengths of lists before and after the transformation": figure1_of_liu,
    "Table 3: Kendall's τ between the orders by X and X' (the paper does not say which τ; ours is τ-b)": table3_of_liu,
    "Figure 2: RR against RR', and inverted pairs": lambda f: line("s4", *plain_and_terminal(f, "s4")[:2]),
    "Figure 3: the effect on the top 20 systems, by the share of truncated lists": figure3_of_liu,
    "Section 3: NIL before relevant documents lowers X'": lambda f: "RR all {:.4f} RR[terminal] all {:.4f}".format(
        *nil_scores(f, "hedger.run")
    ),
    "Section 4, future work: where to end a ranking, by absolute and relative scores, and by a predicted R": stopping,
    "Equations 1, 9 to 11: bpref, bpref_R and bpref_N": lambda f: eval_row(f, BPREF, BPREF_R, BPREF_N),
    "Section 3.1: old_bpref, and bpref_allnonrel of trec_eval 8.1": lambda f: line(
        "old", *(score(topics(f / "old.qrels", f / "old.run")["1"]) for score in (BPREF, OLD_BPREF, BPREF_N)), 1
    ),
    "Equations 2 to 8, 16 and 17: rpref_N and rpref_relative": lambda f: eval_row(f, rpref_n, rpref_relative),
    "Section 4.2: bpref_relative of a perfect ranking is (R-1)/R: 0.5 for R = 2, 0.8 for R = 5": lambda f: line(
        "all", bpref_relative(sakai(f, "sakai5", "11111"))
    ),
    "Section 4.2: one relevant document at rank 1 or 2 scores 0 by the relative variants": lambda f: line(
        "01",
        bpref_relative(sakai(f, "sakai", "01")),
        "rpref_relative 01",
        rpref_relative(sakai(f, "sakai", "01")),
        "bpref_relative 0101",
        bpref_relative(sakai(f, "sakai", "0101")),
    ),
    "Equation 19: rpref_relative2 of a perfect ranking is 1": lambda f: line(
        "11",
        rpref_relative2(sakai(f, "sakai", "11")),
        "rpref_relative2 1",
        rpref_relative2(sakai(f, "sakai", "1")),
        "rpref_relative2 01",
        rpref_relative2(sakai(f, "sakai", "01")),
    ),
    "Equation 20: bpref_relative2 is AveP on a condensed list": lambda f: ten_digits(f, condensed_ap, condensed_ap),
    "Section 2: Induced and Inferred AP (Yilmaz and Aslam)": lambda f: eval_row(f, condensed_ap, inferred_ap),
    "Equation 21: Q-measure, which is AveP for β = 0": lambda f: ten_digits(
        f, q_measure, lambda q: q_measure(q, 0), average_precision
    ),
    "Equation 22: nDCG with a = 2 and l = 1000": lambda f: eval_row(f, ndcg_jk),
    "Table 1: statistics of the collections, and N > R": collection_table,
    "Section 5: the 30 best runs, and the τ that is significant at 0.01": lambda f: (
        f"±{highest_insignificant_tau(8, 0.01):.4f} are not significant"
    ),
    "Table 2: Kendall's τ between measures": lambda f: line("AP[condensed]", *taus_of_sakai(f)),
    "Section 5: reduced judgments": lambda f: line("measure", *(kept(f, rate) for rate in (100, 90, 50, 10))),
    "Figure 1: scores as judgments are removed": lambda f: line("AP[condensed]", over_runs(f, condensed_ap)),
    "Figure 2: the order of systems as judgments are removed": lambda f: line(
        "Q[condensed]", over_runs(f, lambda q: q_measure(q.condensed))
    ),
    "Table 3: discriminative power, and the difference required": lambda f: share_of_pairs(
        f, "AP[condensed]", condensed_ap
    ),
    "Figure 3: discriminative power as judgments are removed": lambda f: line(
        "AP", significant_pairs(f, average_precision) / 28
    ),
    "Equation 1: α-nDCG": lambda f: line("s1", diverse(f, "s1", alpha_ndcg), 11),
    "Section 2.5, misprint: the formula of RR@k sums f, the text and the code its differences; a tie of 3 with 1 "
    "relevant document: .8333 as printed, .6111 right": lambda f: line("one", fmean([1, 1 / 2, 1 / 3]), 1),
    "Equation 2, misprint: a relevant document that is not retrieved has no penalty, and full credit; one of two "
    "relevant documents retrieved: 1.0 as printed, .5 by equation 16": lambda f: line("sakai 1", 1 / 2),
    "Equation 3, misprint: the exponent is C_i(r), which counts the document itself, where equation 1 has C_i(r-1); a "
    "single relevant document: .375 as printed, .75 by Clarke et al.": lambda f: line(
        "single", nrbp(["a"], {"1": {"a"}}), 1
    ),
    "Section 3, misprint: SN-DCG is “SDCG divided by” an ideal sum, but DCG in the example; “10100”: .31 as printed, "
    ".92 in the example": lambda f: line(
        "SDCG@5 10100", dcg([1, 0, 1]) / dcg([1] * 5), "SN_DCG@5 10100", dcg([1, 0, 1]) / dcg([1, 1])
    ),
    "Equation 2: ERR-IA": lambda f: " ".join(line(run, *err_ia_of_hui(f, run)) for run in ("s1", "s2")),
    "Section 4.3: “in our data”, KLD(q||R) ≤ KLD(q||D) always; here under Dirichlet smoothing and as printed": (
        divergence_claims
    ),
    "Equation 3: NRBP": lambda f: line("s1", diverse(f, "s1", nrbp), 11),
    "Equations 4 to 6: language models of results and subtopics, with Dirichlet smoothing": lambda f: line(
        "ABSRB@5 of s1 for query q01:", explained(f)[1]
    ),
    "Equations 7 and 8: gains from divergences": lambda f: line("DELTARB@5 of s1 for query q01:", explained(f)[3]),
    "Equations 9 to 12: ABSNB, ABSRB, DELTANB, DELTARB": lambda f: line("s1", *mean_content(f, "s1"), 11),
    "Section 5.1: ClueWeb as a collection of texts (`cranfield corpus` needs pyarrow: "
    "`pip install '.[arrow]'`)": lambda f: line("documents", 1, "without words", 0, "words", 2),
    "Section 5.1: labels -2 and 0 are not relevant": spam,
    "Figure 1: the order of systems under samples of the judgments, on raw and condensed lists": figure1_of_hui,
    "Table 1: judgments of one collection on another that shares no document with it": lambda f: reuse(f, "A", "B"),
    "Table 2: judgments of each part on each part": lambda f: reuse(f, "B", "A"),
    "Table 3: agreement of the established measures": table3_of_hui,
    "Table 4: agreement of the new measures with the established ones": table4_of_hui,
    "Figure 2: ranks of systems under ERR-IA and under the new measures": content_taus,
    "Section 5: four years of the Web Track": lambda f: line("ERR_IA@20", mean_tau(f), 1.0),
    "Section 2: Prec, Recall, RR, AP, HIT and RBP": moffat_row,
    "Section 2: DCG@5 of “11000” is 1.63, and DCG@11 of “00000111111” exceeds it": lambda f: line(
        "11000",
        dcg(bits("11000")),
        "DCG@11 11000",
        dcg(bits("11000")),
        "DCG@5 00000111111",
        dcg(bits("00000111111")),
        "DCG@11 00000111111",
        dcg(bits("00000111111", 11)),
    ),
    "Section 2: SDCG@5 of “11000” is 0.55": lambda f: line("11000", dcg(bits("11000")) / dcg([1] * 5)),
    "Section 2: the range of RBP narrows with each document": residuals,
    "Section 2: weights 1/(i(i+1))": inverse_squares,
    "Section 3: sum of precisions, NDCG, R-precision": lambda f: line(
        "moffat 10101", sum_of_precisions(bits("10101")), dcg(bits("10101")) / dcg([1] * 5), 3 / 5
    ),
    "Section 3: SN-DCG@5 falls from “10100” (0.92) to “10101” (0.88)": lambda f: line(
        "10100", sn_dcg(bits("10100")), "SN_DCG@5 10101", sn_dcg(bits("10101"))
    ),
    "Section 4: SN-AP@5 of “10000” is 1.0, of “10001” 0.7": lambda f: line(
        "10000",
        sum_of_precisions(bits("10000")),
        "SN_AP@5 10001",
        sum_of_precisions(bits("10001")) / 2,
    ),
    "Table 1: variants of DCG": lambda f: table1_of_moffat(),
    "Table 2: thirteen metrics and seven properties": lambda f: matching_answers(range(7)),
    "Section 6: other columns, and the order of rows that follows": lambda f: matching_answers([5, 6, 4]),
    "Section 4: “111110” scores less than “11111” by P, SDCG and NDCG, but not by RR": lambda f: line(
        "111110",
        5 / 6,
        "SDCG@6 111110",
        dcg([1] * 5) / dcg([1] * 6),
        "nDCG@6 111110",
        dcg([1] * 5) / dcg([1] * 6),
        "RR@6 111110",
        1.0,
    ),
    "Section 4: RR is neither convergent nor top-weighted": lambda f: unchanged_by_a_swap(),
    "Section 4: standardised scores (Webber et al.)": standardised,
    "Section 5: condensed rankings, and rankings shorter than k": lambda f: eval_row(
        f, average_precision, condensed_ap, BPREF, ndcg(50)
    ),
    "Section 5: the score range that unjudged documents leave": bounds,
    "Section 5: how deep to judge for a wanted uncertainty, and what it costs": lambda f: (
        f"RBP(p=0.95) 0.01 {depth(0.95, 0.01)} {50 * depth(0.95, 0.01):,}"
    ),
    "Section 5: which metrics separate systems": lambda f: share_of_pairs(f, "AP", average_precision),
    "Section 5: ERR, and time-biased gain": lambda f: eval_row(f, err, tbg, all_queries=True),
    "Section 5: a distribution over the persistence of RBP (Carterette et al.)": lambda f: eval_row(
        f, lambda q: rbp([(grade or 0) / 3 for grade in q.ranking], 0.8), rbp_beta, all_queries=True
    ),
}
