"""The words of a collection counted, by us and by the loop that anybody would write; as JSON, with the memory it took.

words.py cranfield CORPUS QRELS WORKERS
words.py loop CORPUS QRELS
"""

from __future__ import annotations

import json
import sys

from rivals import peak


def cranfield(corpus: str, qrels: str, workers: str) -> dict[str, int]:
    """Counts by cranfield."""
    from cranfield.corpus.corpus import build

    found = build(corpus, qrels=qrels, workers=int(workers))
    return {
        "size": found.size,
        "total": found.total,
        "kept": int(found.count.sum()),
        "terms": int(found.frequency.sum()),
    }


def loop(corpus: str, qrels: str) -> dict[str, int]:
    """The same tokens: in these texts a word is what this expression finds."""
    import re
    from collections import Counter

    with open(qrels) as file:
        wanted = {line.split()[2] for line in file}
    word = re.compile(r"[^\W_]+")
    frequency: Counter[str] = Counter()
    kept: dict[str, Counter[str]] = {}
    size = 0
    with open(corpus, "rb") as lines:
        for line in lines:
            record = json.loads(line)
            found = Counter(word.findall(f"{record['title']} {record['text']}".lower()))
            frequency.update(found)
            size += 1
            if record["_id"] in wanted:
                kept[record["_id"]] = found
    terms = set().union(*kept.values())
    return {
        "size": size,
        "total": frequency.total(),
        "kept": sum(found.total() for found in kept.values()),
        "terms": sum(frequency[term] for term in terms),
    }


if __name__ == "__main__":
    tool, *paths = sys.argv[1:]
    answer = {"cranfield": cranfield, "loop": loop}[tool](*paths)
    print(json.dumps({"answer": answer, "peak": peak()}))
