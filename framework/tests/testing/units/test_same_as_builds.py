"""Unit tests that passed, or failed, for another reason than a build would give."""

import pytest
from support.spark import SPARK_WARNINGS

pytestmark = [pytest.mark.usefixtures("first_spark"), SPARK_WARNINGS]

EVENTS = "source('web', 'events')"
USERS = "source('web', 'users')"


def model(shop, name, sql, **options):
    config = ", ".join(f"{option}={value!r}" for option, value in options.items())
    (shop.root / f"models/{name}.sql").write_text(f"{{{{ config({config}) }}}}\n{sql}\n")


@pytest.mark.parametrize("strict", ["true", "false"])
def test_a_lookup_of_a_model_with_state_sees_no_rows_of_later_steps(shop, strict):
    model(
        shop,
        "of_segments",
        "select u.segment, count(*) as n from {{ source('web', 'events') }} as e "
        "join {{ source('web', 'users') }} as u on u.user = e.user group by u.segment",
        materialized="sink",
        key="segment",
    )
    shop.passes(f"""
        - name: t
          model: of_segments
          strict: {strict}
          steps:
            - given: [{{input: "{EVENTS}", rows: [{{user: a}}, {{user: b}}]}}, {{input: "{USERS}", rows: []}}]
              expect: []
            - given:
                - {{input: "{USERS}", rows: [{{user: a, segment: old}}]}}
              expect: []
            - given: [{{input: "{EVENTS}", rows: [{{user: a}}, {{user: b}}]}}]
              expect: [{{segment: old, n: 1}}]
            - given:
                - {{input: "{EVENTS}", rows: [{{user: a}}, {{user: b}}]}}
                - {{input: "{USERS}", rows: [{{user: a, segment: new}}, {{user: b, segment: old}}]}}
              expect: [{{segment: old, n: 2}}, {{segment: new, n: 1}}]
    """)


def test_a_window_that_closes_sees_the_rows_of_its_step(shop):
    model(
        shop,
        "named_windows",
        "with w as (select user, window.start as start, count(*) as n from {{ source('web', 'events') }} "
        "group by window(at, '5 minutes'), user) "
        "select w.user, w.start, w.n, u.segment from w left join {{ source('web', 'users') }} as u using (user)",
        materialized="sink",
        key=["user", "start"],
        emit="on_close",
    )
    shop.passes(f"""
        - name: t
          model: named_windows
          steps:
            - given:
                - {{input: "{EVENTS}", rows: [{{user: a, ms: 1000}}, {{user: a, ms: 400000}}]}}
                - {{input: "{USERS}", rows: [{{user: a, segment: first}}]}}
              expect: [{{user: a, n: 1, segment: first}}]
            - given: [{{input: "{USERS}", rows: [{{user: a, segment: second}}]}}]
              at: "1970-01-01 01:00:00"
              expect: [{{user: a, n: 1, segment: second}}]
    """)


def test_a_record_without_a_value_is_a_row(shop):
    model(
        shop,
        "texts",
        "select user, kind from {{ source('web', 'events') }}",
        materialized="sink",
        key="user",
        format="string",
    )
    inputs = f"""
          model: texts
          given: [{{input: "{EVENTS}", rows: [{{user: a, kind: x}}, {{user: b}}, {{user: a}}]}}]"""
    shop.passes(f"""
        - name: t{inputs}
          expect: [{{user: a, kind: x}}, {{user: b, kind: null}}, {{user: a, kind: null}}]
    """)
    diagnostic, _ = shop.fails(f"""
        - name: t{inputs}
          expect: [{{user: a, kind: x}}]
    """)
    assert diagnostic.message == "unit test 't': 2 rows unexpected, 1 row as expected"


def test_a_table_that_is_looked_up_has_the_newest_row_of_each_key(shop):
    model(
        shop,
        "counted",
        "select user, count(*) as n from {{ source('web', 'events') }} group by user having count(*) > 1",
        materialized="table",
        unique_key="user",
    )
    model(
        shop,
        "by_table",
        "select e.id, c.n from {{ source('web', 'events') }} as e left join {{ ref('counted') }} as c using (user)",
        materialized="sink",
    )
    shop.passes(f"""
        - name: t
          model: by_table
          steps:
            - given:
                - {{input: "{EVENTS}", rows: [{{id: 1, user: a}}, {{id: 2, user: b}}]}}
                - {{input: ref('counted'), rows: [{{user: a, n: 2}}, {{user: b, n: 2}}, {{user: a, n: 3}}]}}
              expect: [{{id: 1, n: 3}}, {{id: 2, n: 2}}]
            - given:
                - {{input: "{EVENTS}", rows: [{{id: 3, user: a}}, {{id: 4, user: b}}]}}
                - {{input: ref('counted'), rows: [{{user: a, n: 4}}, {{user: b, _deleted: true}}]}}
              expect: [{{id: 3, n: 4}}, {{id: 4, n: null}}]
    """)


def test_a_table_deletes_no_row_that_it_does_not_have_and_keeps_newer_ones(shop):
    model(
        shop,
        "latest",
        "select user, id, kind from {{ source('web', 'events') }}",
        materialized="table",
        unique_key="user",
        order_by="id",
        delete_when="kind = 'gone'",
    )
    shop.passes(f"""
        - name: t
          model: latest
          steps:
            - given: [{{input: "{EVENTS}", rows: [{{user: a, id: 3}}, {{user: b, id: 1, kind: gone}}]}}]
              expect: [{{user: a, id: 3}}]
            - given: [{{input: "{EVENTS}", rows: [{{user: a, id: 2}}, {{user: a, id: 1, kind: gone}}]}}]
              expect: []
            - given: [{{input: "{EVENTS}", rows: [{{user: a, id: 4, kind: gone}}]}}]
              expect: [{{user: a, _deleted: true}}]
    """)


def test_headers_of_a_sink_are_expected(shop):
    model(
        shop,
        "sent",
        "select id, user from {{ source('web', 'events') }}",
        materialized="sink",
        key="id",
        headers={"who": "user", "of": "'shop'"},
    )
    text = f"""
        - name: t
          model: sent
          given: [{{input: "{EVENTS}", rows: [{{id: 1, user: a}}, {{id: 2}}]}}]
          expect: [{{id: 1, _headers: {{who: a, of: shop}}}}, {{id: 2, _headers: {{who: null, of: shop}}}}]
    """
    shop.passes(text)
    diagnostic, _ = shop.fails(text.replace("who: a", "who: b"))
    assert shop.under(diagnostic) == "{who: b, of: shop}"
    shop.fails(text.replace("who: a, ", ""))
    wrong = shop.wrong(text.replace("_headers: {who: a, of: shop}", "_headers: [who]"))
    assert wrong == [("MS651", "[who]", "write {name: value}")]
