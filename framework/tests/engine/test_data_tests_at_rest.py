"""Data tests of topics and tables that were built."""

import pytest
from chispa import assert_df_equality
from support.runs import built, errors
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.testing.data.result import NotBuilt
from millstream.testing.plugin.fixtures import ReadTopic
from millstream.testing.session import TestSession

pytestmark = SPARK_WARNINGS

TESTS = """
    models:
      - name: newest
        columns:
          - name: user
            tests: [not_null, unique]
          - name: kind
            tests: [{accepted_values: {values: [a, b]}}, {relationships: {to: "ref('kinds')", field: kind}}]
          - name: id
            tests: [{expression: {expression: id > 1, where: "kind = 'a'"}}]
        tests:
          - row_count: {min: 3}
          - freshness: {within: 1 day, column: at}
          - longer_than: {length: 1}
          - no_more_users_than: {other: ref('counts'), name: fewer_users, where: id > 1}
          - no_more_users_than: {other: "{{ ref('kinds') }}", name: more_users_than_kinds}
      - name: counts
        columns: [{name: n, tests: [{expression: n < 2}]}]
      - name: seen
        columns: [{name: id, tests: [unique]}]
"""
EVENTS = "from {{ source('web', 'events') }} as e"


@pytest.fixture
def stored_tests(shop, first_spark):
    shop.write("models/tests.yml", TESTS)
    shop.write("macros/longer_than.sql", """
        {% macro longer_than(model, length) %}select user from {{ model }} where length(user) <= {{ length }}{% endmacro %}
    """)  # fmt: skip
    shop.write(
        "macros/no_more_users_than.sql",
        """
        {% macro no_more_users_than(model, other) %}
        select 1 from (select count(*) as n from {{ model }}), (select count(*) as m from {{ other }}) where n > m
        {% endmacro %}
        """,
    )
    shop.write("tests/no_users.sql", "select * from {{ ref('counts') }} where user = 'b'")
    shop.write("seeds/kinds.csv", "kind,name\na,one\n")
    shop.model(
        "newest",
        "{{ config(materialized='table', unique_key='user') }}\n"
        f"select e.user, e.id, e.kind, e.at {EVENTS}",
    )
    shop.model(
        "counts",
        "{{ config(materialized='sink', key='user') }}\n"
        f"select e.user, count(*) as n {EVENTS} group by e.user",
    )
    shop.model("seen", f"select e.id {EVENTS}")
    for row in (("a", {"id": 1, "kind": "a"}), ("a", {"id": 2, "kind": "b"}), ("b", {"id": 1, "kind": "a"})):
        shop.send(row)
    _, events = built(shop.root, first_spark, tests=False)
    assert errors(events) == []
    session = TestSession(shop.root)
    yield lambda name: session.data_tests.run(session.nodes[f"test.{name}"]), session
    session.close()


def test_what_is_wrong_with_what_is_stored(stored_tests):
    find, session = stored_tests
    wrong = {
        name.removeprefix("test."): find(name.removeprefix("test."))
        for name, node in session.nodes.items()
        if node.kind == "test"
    }
    assert {name: result.failures for name, result in wrong.items()} == {
        "not_null_newest_user": 0,
        "unique_newest_user": 0,
        "accepted_values_newest_kind": 0,
        "relationships_newest_kind": 1,
        "expression_newest_id": 1,
        "row_count_newest": 1,
        "freshness_newest": 1,
        "longer_than_newest": 2,
        "fewer_users": 0,
        "more_users_than_kinds": 1,
        "expression_counts_n": 1,
        "unique_seen_id": 1,
        "no_users": 1,
    }
    assert wrong["row_count_newest"].message == "2 rows"
    assert wrong["freshness_newest"].message.endswith("newest row: none")
    assert "id: 1" in wrong["expression_newest_id"].lines[0][0].text
    expected = session.spark().createDataFrame([("a", 2), ("b", 1)], "user string, n bigint")
    assert_df_equality(ReadTopic(session)("counts").df, expected, ignore_row_order=True)


def test_what_is_not_built_and_sql_that_fails(shop, first_spark):
    shop.write(
        "models/tests.yml",
        "models: [{name: newest, tests: [{row_count: {min: 1}}, "
        """{expression: "cast(concat_ws('x', 'a', id) as int) > 1"}]}]""",
    )
    shop.model(
        "newest", "{{ config(materialized='table', unique_key='user') }}\n" + f"select e.user, e.id {EVENTS}"
    )
    session = TestSession(shop.root)
    assert session.data_tests.run(session.nodes["test.row_count_newest"]) == NotBuilt("newest")
    session.close()
    shop.send(event(1))
    built(shop.root, first_spark, tests=False)
    again = TestSession(shop.root)
    with pytest.raises(MillstreamError, match="MS661: data test 'expression_newest'"):
        again.data_tests.run(again.nodes["test.expression_newest"])
    again.close()
