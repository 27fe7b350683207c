"""Unit tests of models that read a kind of source that an installed package adds."""

import pytest
from support.kinds import LAKE, parquet_folders  # noqa: F401 - a fixture
from support.spark import SPARK_WARNINGS

pytestmark = [pytest.mark.usefixtures("first_spark", "parquet_folders"), SPARK_WARNINGS]


@pytest.mark.parametrize("stored", ["table', unique_key='customer", "view"])
def test_rows_are_those_of_the_source(shop, stored):
    (shop.root / "models/lake.yml").write_text(LAKE)
    (shop.root / "models/customers.sql").write_text(
        f"{{{{ config(materialized='{stored}') }}}}\n"
        "select customer, sum(doubled) as total, count(*) as orders from {{ source('lake', 'orders') }}\n"
        "where _file <> 'old' group by customer",
    )
    shop.passes("""
        - name: t
          model: customers
          given:
            - input: source('lake', 'orders')
              rows:
                - {id: 1, customer: ann, amount: 2.5, _file: a}
                - {id: 2, customer: ann, amount: 1, _file: b}
                - {id: 3, customer: ann, amount: 9, _file: old}
                - {id: 4, customer: bob, amount: 4, _file: a}
          expect:
            - {customer: ann, total: 7, orders: 2}
            - {customer: bob, total: 8, orders: 1}
    """)
