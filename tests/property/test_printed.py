from __future__ import annotations

import os

from support.instants import T0
from support.project import Project
from support.shapes import models

SECONDS = (0, 6.999, 7, 7.001, 9.999, 10, 10.001, 30, 300)

def test_try(project: Project) -> None:
    rows = ("(1, 'a', 1, 0, 10), (2, 'a', 2, 0, 20), (3, 'b', 5, 5, 15), (4, null, 7, 0, 400), (5, 'b', null, -400, 30), "
    "(5, 'b', null, -400, 30), (6, 'c', 1, null, 7), (7, 'c', 1, 1, null), (8, 'a', 3, 299, 700), (9, 'a', 3, 300, 700)")
    project.sql(
        "CREATE TABLE {s}.t USING parquet AS SELECT id, CAST(k AS STRING) AS k, v, "
        f"timestamp_millis({T0}L + lo * 1000) AS ts, timestamp_millis({T0}L + hi * 1000) AS due, array(v, v + 1) AS xs "
        f"FROM VALUES {rows} AS f(id, k, v, lo, hi)")
    project.sql("CREATE TABLE {s}.o USING parquet AS SELECT * FROM VALUES (1, 'a', 10), (2, 'b', 2), (3, null, 1), (4, 'q', 7) AS o(id, k, x)")
    names = {"t": f"{project.schema}.t", "o": f"{project.schema}.o"}
    only = os.environ.get("ONLY", "")
    import re
    written = {n: s.format(**names) for n, s in models() if re.search(only, n)}
    skipped = {}
    ok = {}
    for n, s in written.items():
        at = s.replace("mz_now()", f"timestamp_millis({T0}L)")
        try:
            project.spark.sql(at).collect(); ok[n] = s
        except Exception as e:
            skipped[n] = str(e)[:300]
    for n, s in ok.items(): project.model(n, s)
    result = project.run(now=T0, check=False)
    out = open("/tmp/e1/shapes.out", "w")
    for n, w in skipped.items(): print("NOTSPARK", n, w, file=out)
    for n, s in ok.items():
        r = result.of(n)
        if r.status != "success":
            print("ERROR", n, s, "\n    ", str(r.message)[:900], file=out); continue
        for t in (T0 + int(x * 1000) for x in SECONDS):
            try: found = sorted(map(str, project.rows(project.at(n, t))))
            except Exception as e:
                print("READ", n, s, str(e)[:400], file=out); break
            expected = sorted(map(str, project.rows(s.replace("mz_now()", f"timestamp_millis({t}L)"))))
            if found != expected:
                print("WRONG", n, t - T0, s, found, expected, file=out); break
    print(len(written), len(ok), file=out); out.close()
