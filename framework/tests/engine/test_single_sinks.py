"""Models that read sinks whose values are a single column: the others are in the key."""

from itertools import product

import pytest
from support.runs import built, errors, table_rows
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

SINKS = {
    "texts": ("format='string', key=['id', 'on_day']", "kind"),
    "dates": ("format='string', key='id', key_format='long'", "on_day"),
    "numbers": ("format='long', key='kind'", "id"),
    "bytes": ("format='binary', key=['on_day', 'id'], key_format='avro'", "cast(kind as binary) as kind"),
}
OPTIMIZED = ("all", "none")
ROWS = [(1, "x", "2026-01-02"), (-5, "ö", "0001-01-01")]


@pytest.mark.long
def test_columns_are_read_from_where_they_are(shop, first_spark):
    for name, (config, value) in SINKS.items():
        keys = {"texts": "id, on_day", "dates": "id", "numbers": "kind", "bytes": "on_day, id"}[name]
        shop.model(
            name,
            f"{{{{ config(materialized='sink', {config}) }}}}\n"
            f"select {value}, {keys} from (select cast(id as bigint) as id, kind, cast(at as date) as on_day "
            "from {{ source('web', 'events') }})",
        )
        unique = keys.replace(", ", "', '")
        for optimize in OPTIMIZED:
            shop.model(
                f"{name}_read_{optimize}",
                f"{{{{ config(materialized='table', unique_key=['{unique}'], optimize='{optimize}') }}}}\n"
                f"select * from {{{{ ref('{name}') }}}}",
            )
    for row in ROWS:  # a batch each
        number, kind, day = row
        shop.send(("k", {"id": number, "kind": kind, "at": f"{day}T00:00:00Z"}))
        _, events = built(shop.root, first_spark)
        assert errors(events) == []
    for name, optimize in product(SINKS, OPTIMIZED):
        columns = (
            ["id", "on_day", "kind"]
            if name in {"texts", "bytes"}
            else ["id", {"dates": "on_day"}.get(name, "kind")]
        )
        stored_rows = [
            tuple(_text(row[column]) for column in columns)
            for row in table_rows(shop.root, f"model.{name}_read_{optimize}")
        ]
        meant = [
            tuple(str({"id": number, "on_day": day, "kind": kind}[column]) for column in columns)
            for number, kind, day in ROWS
        ]
        assert sorted(stored_rows) == sorted(meant), (name, optimize)


def _text(value):
    return value.decode() if isinstance(value, bytes) else str(value)
