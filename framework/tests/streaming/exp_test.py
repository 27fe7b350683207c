import os
import time
from collections import Counter

import pytest

from streaming.generator import project
from streaming.given import given
from streaming.running import check, corners
from streaming.texts import sql

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"
)


def test_x(bench):
    first = int(os.environ.get("FIRST", "0"))
    n = int(os.environ.get("N", "10"))
    seeds = (
        [int(x) for x in os.environ["SEEDS"].split(",")] if "SEEDS" in os.environ else range(first, first + n)
    )
    codes = Counter()
    acc = q = mb = 0
    t = time.time()
    for seed in seeds:
        p = project(seed)
        g = given(p, seed)
        t1 = time.time()
        try:
            r = check(bench, p, g, corners(seed))
        except Exception:
            import traceback

            traceback.print_exc()
            print("#### seed", seed, "CRASH")
            for m in p.models:
                print("--", m.name)
                print(sql(p, m))
            continue
        if r.refused:
            codes.update(r.refused)
        else:
            acc += 1
        q += r.queries
        mb += r.micro_batches
        print(
            "seed",
            seed,
            len(p.models),
            r.refused,
            r.queries,
            r.micro_batches,
            round(time.time() - t1, 1),
            "DIFF" if r.differences else "",
            flush=True,
        )
        if r.differences:
            for m in p.models:
                print("--", m.name, m.test or "")
                print(sql(p, m))
            print("\n".join(r.differences))
            if os.environ.get("SHRINK"):
                from streaming.shrinking import shrink_report

                print("SHRUNK")
                print(shrink_report(bench, seed))
                print(bench.last.arrived)
    print(n, acc, codes, q, mb, time.time() - t)
