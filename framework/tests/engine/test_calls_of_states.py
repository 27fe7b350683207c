"""Python functions within and above aggregates and joins, on Spark."""

from collections import Counter

import pytest
from support.runs import built, errors, table_rows
from support.shops import SHARE
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

ROWS = [
    ("a", {"id": 1, "kind": "x", "value": 2.0}),
    ("a", {"id": 2, "kind": "y", "value": 4.0}),
    ("b", {"id": 3, "kind": "x", "value": 0.0}),
]
TABLE = "{{ config(materialized='table', unique_key='user') }} "
EVENTS = "{{ source('web', 'events') }}"
NOTED = """
    def noted(value: float) -> float:
        with open({!r}, "a") as file:
            file.write(f"{{value}}\\n")
        return value * 10
"""


@pytest.mark.long
def test_a_function_within_aggregates_is_called_once_for_each_row_that_they_want(shop, first_spark, tmp_path):
    notes = tmp_path / "notes"
    shop.write("macros/noted.py", NOTED.format(str(notes)))
    shop.model(
        "totals", TABLE + "select user, sum(noted(value)) as total, max(noted(value)) as most, "
        f"count(*) as n from {EVENTS} where value > 1 group by user",
    )  # fmt: skip
    shop.model(
        "some", TABLE + f"select user, sum(noted(id)) filter (where kind = 'x') as total from {EVENTS} group by user"
    )  # fmt: skip
    shop.send(*ROWS)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert table_rows(shop.root, "model.totals") == [{"user": "a", "total": 60.0, "most": 40.0, "n": 2}]
    assert {row["user"]: row["total"] for row in table_rows(shop.root, "model.some")} == {
        "a": 10.0,
        "b": 30.0,
    }
    assert Counter(notes.read_text().split()) == {"2.0": 1, "4.0": 1, "1": 1, "3": 1}


def failure(shop, first_spark):
    shop.write("macros/shares.py", SHARE)
    shop.send(*ROWS)
    _, events = built(shop.root, first_spark)
    (diagnostic,) = errors(events)
    assert diagnostic.code == "MS861"
    return diagnostic.message.partition(" (macros")[0]


def test_what_fails_within_an_aggregate_tells_the_group(shop, first_spark):
    shop.model("totals", TABLE + f"select user, sum(share(value)) as total from {EVENTS} group by user")
    assert failure(shop, first_spark) == (
        "totals: model totals, user b: share(): ZeroDivisionError: float division by zero"
    )


def test_what_fails_above_an_aggregate_tells_the_group(shop, first_spark):
    shop.model(
        "totals", TABLE + f"select user, share(total) as share from (select user, sum(value) as total from {EVENTS} "
        "group by user)",
    )  # fmt: skip
    assert failure(shop, first_spark) == (
        "totals: model totals, user b: share(): ZeroDivisionError: float division by zero"
    )


def test_what_fails_above_a_lookup_tells_what_it_was_joined_by(shop, first_spark):
    shop.write("seeds/kinds.csv", "kind,factor\nx,1\ny,2\n")
    shop.model(
        "named", "{{ config(materialized='sink') }} select e.id, share(e.value * k.factor) as share "
        f"from {EVENTS} as e join {{{{ ref('kinds') }}}} as k on k.kind = e.kind",
    )  # fmt: skip
    assert failure(shop, first_spark) == (
        "named: model named, kind x: share(): ZeroDivisionError: float division by zero"
    )


def test_a_table_function_tells_its_model(shop, first_spark):
    shop.write(
        "macros/parts.py",
        """
        from typing import Iterator, NamedTuple

        class Part(NamedTuple):
            part: float

        def parts(value: float) -> Iterator[Part]:
            yield Part(value)
            yield Part(1 / value)
        """,
    )
    shop.model(
        "pieces", "{{ config(materialized='sink') }} select e.id, p.part "
        f"from {EVENTS} as e, lateral parts(e.value) as p",
    )  # fmt: skip
    shop.send(*ROWS)
    _, events = built(shop.root, first_spark)
    (diagnostic,) = errors(events)
    assert "model pieces: parts(): ZeroDivisionError" in diagnostic.message
    shop.model(
        "pieces", "{{ config(materialized='sink') }} select e.id, p.part "
        f"from {EVENTS} as e, lateral parts(e.value + 1) as p",
    )  # fmt: skip
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert sorted(row["part"] for row in shop.values("pieces")) == [0.2, 1 / 3, 1.0, 1.0, 3.0, 5.0]
