"""A name means what it means in Spark, also where an output, a lateral alias or a lambda variable hides a column.

`MILLSTREAM_PROJECTS=2000 uv run pytest -m long framework/tests/differential/test_hidden_names.py` searches longer.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from harness import Project, as_written, by_plan, differences, prepare
from support.spark import SPARK_WARNINGS

from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.rule_selection import NAMES, select_rules

pytestmark = SPARK_WARNINGS

PROJECTS = int(os.environ.get("MILLSTREAM_PROJECTS", "300"))
_BATCH = 50
TEXTS, NUMBERS = ["user_id", "type", "product_id"], ["amount", "value"]
DATA = {
    "events": [
        f"({u}, {t}, {p}, {v}, {n}, array('a', 'x'), timestamp '2024-01-01 00:00:10')"
        for u, t, p, v, n in [
            ("'a'", "'b'", "'x'", "1D", "1L"), ("'b'", "'a'", "'a'", "2D", "2L"), ("'x'", "null", "'b'", "0D", "5L"),
            ("'a'", "'a'", "null", "3D", "null"), ("'b'", "'x'", "'a'", "null", "0L"), (" 'ax'", "'b'", "'ax'", "2D", "3L"),
        ]
    ],
    "products": ["('a', 'a')", "('b', 'x')"],
}  # fmt: skip


class Names:
    """A SELECT whose outputs take the names of columns that they don't have."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.one = self.random.choice

    def text(self, names: list[str]) -> str:
        name = self.one(names)
        return self.one([name, f"concat({name}, 'x')", f"upper({name})", f"coalesce({name}, 'b')", "'a'"])

    def number(self, names: list[str]) -> str:
        name = self.one(names)
        return self.one([name, f"{name} + 1", f"coalesce({name}, 2) * 2", "3"])

    def condition(self, texts: list[str], numbers: list[str]) -> str:
        return self.one([
            f"{self.text(texts)} = {self.one(['chr(97)', self.text(texts)])}",
            f"{self.number(numbers)} {self.one(['>', '<=', '='])} {self.number(numbers)}",
            f"{self.one(texts)} is null",
            f"exists(tags, {self.one(texts)} -> {self.one(texts)} = {self.one(texts)})",
        ])  # fmt: skip

    def select(self) -> str:
        return self.grouped() if self.random.random() < 0.6 else self.plain()

    def plain(self) -> str:
        texts, numbers = [*TEXTS], [*NUMBERS]
        items = []
        for name in self.random.sample(["type", "user_id", "new_text"], 2):
            items.append(f"{self.text(texts)} as {name}")
            texts.append(name)
        for name in self.random.sample(["amount", "value", "new_number"], 2):
            items.append(f"{self.number(numbers)} as {name}")
            numbers.append(name)
        where = f" where {self.condition(TEXTS, NUMBERS)}" if self.random.random() < 0.5 else ""
        return f"select {', '.join(items)} from {{{{ source('shop', 'events') }}}}{where}"

    def grouped(self) -> str:
        """Group by columns or expressions, which the rows keep under other names: else their key would be lost."""
        columns = self.random.sample(TEXTS, self.one([1, 1, 2]))
        keys = [column if self.random.random() < 0.7 else self.text([column]) for column in columns]
        items = [f"{key} as k{index}" for index, key in enumerate(keys)]
        hidden = self.random.sample(["type", "user_id", "new_text"], 2)
        items += [f"{self.text([self.one(keys)])} as {name}" for name in hidden]
        measures = self.random.sample(["amount", "value", "n"], 2)
        calls = [f"{self.one(['sum', 'max', 'count'])}({self.number(NUMBERS)})", "count(*)"]
        items += [f"{measure} as {name}" for measure, name in zip(calls, measures, strict=True)]
        by = [self.one([key, key, f"k{index}"]) for index, key in enumerate(keys)]
        having = (
            f" having {self.condition([*hidden, *columns], measures)}" if self.random.random() < 0.8 else ""
        )
        return f"select {', '.join(items)} from {{{{ source('shop', 'events') }}}} group by {', '.join(by)}{having}"


def check(spark, sql: str) -> str | None:
    """Return what differs for one SELECT, an empty text for nothing; None if Millstream refuses it."""
    compiled = Project({"m": "{{ config(materialized='view') }} " + sql})
    if compiled.diagnostics:
        return None
    expected = as_written(spark, compiled)
    for name, plan in (
        ("as written", compiled.plan),
        ("all", optimize_plan(compiled.plan, select_rules(list(NAMES))).plan),
    ):
        if message := differences(expected, by_plan(spark, plan), plan):
            return f"{name}: {message}\n{sql}"
    return ""


def search(spark, seeds: range) -> None:
    prepare(spark, DATA)
    checked = [check(spark, Names(seed).select()) for seed in seeds]
    assert [difference for difference in checked if difference] == []
    assert sum(difference is None for difference in checked) < len(checked) * 0.6, "most of them are refused"


JOINED = (
    "from {{ source('shop', 'events') }} as e join {{ ref('products') }} as p on e.product_id = p.product_id "
    "group by e.product_id"
)


@pytest.mark.parametrize(
    "sql",
    [
        # Two relations have the name: HAVING reads the output.
        f"select e.product_id as k, concat(e.product_id, 'x') as product_id, count(*) as n {JOINED} having product_id = 'ax'",
        f"select e.product_id as k, max(p.category) as category, count(*) as n {JOINED} having category = 'a'",
        f"select e.product_id as k, max(e.amount) as type, count(*) as n {JOINED} having type > 1",
    ],
)
def test_names_of_joins(spark, sql):
    prepare(spark, DATA)
    assert check(spark, sql) == ""


def test_a_few_selects(spark):
    search(spark, range(30))


@pytest.mark.long
@pytest.mark.parametrize("batch", range(-(-PROJECTS // _BATCH)))
def test_many_selects(spark, batch):
    search(spark, range(30 + batch * _BATCH, 30 + min((batch + 1) * _BATCH, PROJECTS)))
