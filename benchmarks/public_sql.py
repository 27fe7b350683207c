"""Queries that others published, as tables over tables: what compile accepts, and whether the rows are right.

    uv run python benchmarks/public_sql.py --feldera FOLDER
    uv run python benchmarks/public_sql.py --risingwave FOLDER

The folders are clones of github.com/feldera/feldera and github.com/risingwavelabs/risingwave.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "framework/tests"))

from public import feldera, risingwave
from public.judging import Judge
from public.literals import with_tables
from streaming.query_runner import QUICK

from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.session import start_spark
from millstream.project.secrets import Secret
from millstream.project.values import Target

# Many short queries: compiling them to the fastest code takes longer than running them.
SETTINGS = {"spark.driver.extraJavaOptions": Secret("-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--feldera", type=Path, help="a clone of feldera/feldera")
    parser.add_argument("--risingwave", type=Path, help="a clone of risingwavelabs/risingwave")
    parser.add_argument("--only", default="", help="a part of a case's name")
    parser.add_argument("--every", type=int, default=1, help="take each so many-th case")
    parser.add_argument("--show", nargs="*", default=(), help="outcomes of which all queries are printed")
    parser.add_argument("--log", type=Path, help="a file for all verdicts")
    options = parser.parse_args()
    # Times without a zone are those of the published results.
    os.environ["TZ"] = "UTC"
    time.tzset()
    cases = []
    if options.feldera:
        cases += feldera.cases(options.feldera / "python/felderize/tests/e2e/fixtures")
    if options.risingwave:
        cases += risingwave.cases(options.risingwave / "e2e_test")
    cases = [case for case in cases if options.only in case.name][:: options.every]
    # Chains of views take longest.
    cases.sort(key=lambda case: len(case.queries))
    log = options.log.open("w") if options.log else None
    target = Target("bench", "local", {"master": "local[1]", "spark": SETTINGS})
    counts: Counter[str] = Counter()
    published: Counter[bool | None] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        spark = start_spark("bench", target, jars_for(target), Path(folder), None, amount="endless")
        spark.sparkContext.setLogLevel("OFF")
        for name, value in QUICK.items():
            spark.conf.set(name, value)
        judge = Judge(spark, Path(folder) / "project")
        began = time.monotonic()
        for number, case in enumerate(cases):
            for v in judge.verdicts(with_tables(spark, case)):
                result = v.result + (", in full" if v.result == "right" and v.refresh else "")
                counts[result] += 1
                published[v.published] += 1
                if log:
                    print(
                        f"=== {v.result} | {v.query} | {v.reason} | {v.refresh} | spark: {v.spark} | published: {v.published} | {v.seconds:.2f}\n{v.sql}",
                        file=log,
                        flush=True,
                    )
                if v.result in options.show:
                    print(f"{v.result}: {v.query}: {v.reason}\n{v.sql}\n")
            if number % 50 == 0:
                print(
                    number,
                    len(cases),
                    f"{time.monotonic() - began:.0f} s",
                    dict(counts),
                    file=sys.stderr,
                    flush=True,
                )
        spark.stop()
    for result, count in counts.most_common():
        print(f"{count:6,}  {result}")
    print(f"rows as published next to them: {published[True]:,}, others: {published[False]:,}")


if __name__ == "__main__":
    main()
