"""Data tests of a manifest that was read from its file are those of the one that was compiled."""

from support.shops import Shop

from millstream.compile import compile_project
from millstream.compile.data_tests import data_test

TESTED = """
models:
  - name: plain
    columns:
      - name: user
        tests: [not_null, unique, {relationships: {to: "ref('people')", field: user}}, {accepted_values: {values: [a, b]}}]
    tests: [{row_count: {min: 1}}, {freshness: {column: at, within: 1 day}}]
"""


def test_each_kind_has_the_same_sql(tmp_path):
    shop = Shop(tmp_path, "")
    shop.model(
        "plain",
        "{{ config(materialized='table', unique_key='user') }} select user, at from {{ source('web', 'events') }}",
    )
    shop.write("seeds/people.csv", "user,name\na,Ann\n")
    shop.write("models/tested.yml", TESTED)
    first, again = (compile_project(tmp_path) for _ in range(2))
    assert first.diagnostics == ()
    tests = [
        {
            id_: data_test(node, compiled.tests)
            for id_, node in compiled.manifest.nodes.items()
            if node.kind == "test"
        }
        for compiled in (first, again)
    ]
    assert len(tests[0]) == 6
    assert tests[0] == tests[1]
