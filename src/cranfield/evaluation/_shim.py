import numpy as np

CURRENT = {}


def tops(run, table, value, out, top):
    from cranfield.data import Strings

    j = CURRENT["judgments"]
    names = list(j.queries)
    other = list(Strings(*out["other"]))
    num = {n: i for i, n in enumerate(names)} | {n: len(names) + i for i, n in enumerate(other)}
    docs = list(table.document)
    qs = [num[q] for q in table.query]
    jr = {}
    jd = list(j.documents)
    for q in range(len(names)):
        for r in range(j.begin[q], j.begin[q + 1]):
            jr[q, jd[r]] = r
    byq = {}
    for i, q in enumerate(qs):
        byq.setdefault(q, []).append(i)
    rows = []
    for q in sorted(byq):
        mine = byq[q]
        g = {}
        for i in mine:
            g.setdefault(value[i], []).append(i)
        start = 0
        for v in sorted(g, reverse=True):
            if start >= top:
                break
            m = g[v]
            order = sorted(m, key=lambda i: docs[i].encode("utf-8", "surrogateescape"), reverse=True)
            pos = {i: k for k, i in enumerate(order)}
            for k, i in enumerate(m):
                rows.append((q, docs[i], jr.get((q, docs[i]), -1), start, len(m), pos[i], k))
            start += len(m)
    cols = list(zip(*rows)) if rows else [[]] * 7
    s = Strings.of(cols[1])
    a = lambda i: np.array(cols[i], np.int64)
    return {
        "query": a(0),
        "document": (s.offsets, s.data),
        "judged": a(2),
        "start": a(3),
        "size": a(4),
        "by_id": a(5),
        "by_input": a(6),
    }
