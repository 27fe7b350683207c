"""Spark as the judge of `Equivalence`: random expressions of one name have the same values in every row."""

import itertools
import os
import random
from collections import defaultdict

import pytest

from millstream.sql.equivalence import Equivalence

EXPRESSIONS = int(os.environ.get("MILLSTREAM_EXPRESSIONS", "1500"))
ROWS = (
    "(select {} from (select explode(array(null, 0, 1, 2)) as a), (select explode(array(null, 0, 1)) as b),".format(
        "cast(a as int) as a, cast(b as int) as b, c, s"
    )
    + " (select explode(array(null, true, false)) as c), (select explode(array(null, 'x', 'y')) as s))"
)


def number(pick, depth):
    if depth == 0:
        return pick(["a", "b", "1", "2", "(a)"])
    x, y = number(pick, depth - 1), number(pick, depth - 1)
    return pick(
        [
            f"({x} + {y})",
            f"({x} * {y})",
            f"({x} - {y})",
            f"coalesce({x}, {y})",
            f"nvl({x}, {y})",
            f"if({x} is null, {y}, {x})",
            f"if({truth(pick, depth - 1)}, {x}, {y})",
            f"case when {truth(pick, depth - 1)} then {x} else {y} end",
            f"case when {truth(pick, depth - 1)} then {x} end",
            f"if({truth(pick, depth - 1)}, {x}, null)",
            f"case {x} when {y} then 1 else 2 end",
            f"int({x})",
            f"cast({x} as int)",
            x,
        ]
    )


def truth(pick, depth):
    if depth == 0:
        return pick(
            ["c", "true", "s = 'x'", "'x' = s", "s <> 'x'", "not s = 'x'", "a > 1", "1 < a", "not a <= 1"]
        )
    x, y = number(pick, depth - 1), number(pick, depth - 1)
    p, q = truth(pick, depth - 1), truth(pick, depth - 1)
    return pick(
        [
            f"({p} and {q})",
            f"({p} or {q})",
            f"(not {p})",
            f"({x} < {y})",
            f"({x} >= {y})",
            f"({x} = {y})",
            f"({x} <> {y})",
            f"({x} <=> {y})",
            f"({x} between {y} and 2)",
            f"({y} <= {x} and {x} <= 2)",
            f"({x} not between {y} and 2)",
            f"({x} < {y} or {x} > 2)",
            f"(not ({p} and {q}))",
            f"(not {p} or not {q})",
            f"({x} in (1, 2))",
            f"({x} in (2, 1))",
            f"({x} in (1))",
            f"({x} not in (1))",
            f"({x} is null)",
            f"isnull({x})",
            f"({x} is not null)",
            f"isnotnull({x})",
        ]
    )


def aggregate(pick, depth):
    x, p = number(pick, depth), truth(pick, depth)
    name = pick(["sum", "min", "max", "count", "avg", "mean"])
    return pick(
        [
            f"{name}({x})",
            f"{name}({x}) filter (where {p})",
            f"{name}(case when {p} then {x} end)",
            f"{name}(if({p}, {x}, null))",
            f"count_if({p})",
            f"count(*) filter (where {p})",
            f"count(case when {p} then 1 end)",
            f"sum(case when {p} then 1 else 0 end)",
            f"sum(if({p}, 1, 0)) filter (where {truth(pick, depth)})",
            f"coalesce(sum(case when {p} then 1 else 0 end), 0)",
            f"coalesce(sum(if({p}, 1, null)), 0)",
            f"coalesce(count({x}), 0)",
            "count(*)",
            "count(1)",
        ]
    )


@pytest.mark.long
def test_equal_names_are_equal_values(spark):
    chosen = random.Random(7)
    texts_by_kind = {
        kind: sorted({kind(chosen.choice, depth) for depth in (0, 1, 1, 2) for _ in range(EXPRESSIONS // 4)})
        for kind in (number, truth, aggregate)
    }
    compared = 0
    for kind, texts in texts_by_kind.items():
        names = Equivalence()
        groups = defaultdict(list)
        for text in texts:
            name = names.name(text)
            groups[names.of_group(name) if kind is aggregate else name].append(text)
        several = [group for group in groups.values() if len(group) > 1]
        members = list(itertools.chain(*several))
        for start in range(0, len(members), 200):
            part = members[start : start + 200]
            columns = ", ".join(f"{text} as c{index}" for index, text in enumerate(part))
            by = " group by a" if kind is aggregate else ""
            rows = spark.sql(f"select {columns} from {ROWS}{by}").collect()
            values = {text: [row[f"c{index}"] for row in rows] for index, text in enumerate(part)}
            for group in several:
                by_values = {str(values[text]): text for text in group if text in values}
                assert len(by_values) <= 1, list(by_values.values())
        compared += len(members)
    assert compared > EXPRESSIONS / 3
