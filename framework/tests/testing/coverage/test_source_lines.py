"""Branches of a model are reported with the lines on which they were written."""

from textwrap import dedent

import pytest

from millstream.plan.from_sql.plan import build_plan
from millstream.testing.coverage.paths import find_ways
from millstream.testing.coverage.source_lines import SourceLines
from millstream.testing.session import TestSession

SOURCES = """
sources:
  - name: web
    topics:
      - name: events
        columns:
          - {name: id, type: bigint}
          - {name: kind, type: string}
          - {name: value, type: double}
      - name: derived
        columns: [{name: value, type: double}, {name: much, type: boolean, from: "if(value > 5, true, false)"}]
"""
MACRO = """\
{% macro sized(column) %}
case when {{ column }} > 10 then 'large'
  else 'small' end
{% endmacro %}
"""


def ways(root, sql):
    """Return kind, line and words of each way of one model."""
    files = {
        "pyproject.toml": '[tool.millstream]\nname = "web"\n',
        "models/sources.yml": SOURCES,
        "macros/sized.sql": MACRO,
        "models/one.sql": sql,
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    session = TestSession(root)
    written, errors = build_plan(session.main.relations.catalog)
    assert not errors
    lines = SourceLines(session.main.project)
    return [
        (w.kind, w.line, w.label)
        for out in written.outputs
        for _, output_ways in find_ways(out, lines)
        for w in output_ways
    ]


def test_branches_and_filters_have_the_lines_of_the_file(tmp_path):
    all_ways = ways(
        tmp_path,
        dedent("""\
        {{ config(materialized='sink', key='id') }}
        -- what is worth a look
        {% set least = 3 %}
        select
          id,
          case /* when: by kind */ kind
            when 'view' then 1
            when 'click' then 2
          end as weight,
          if(value > 2, 'much', 'little') as size
        from {{ source('web', 'events') }}
        where id > {{ least }}
          and kind is not null
        """),
    )
    assert [(kind, line) for kind, line, _ in all_ways if kind == "filter"] == [
        ("filter", 12), ("filter", 12), ("filter", 13), ("filter", 13),
    ]  # fmt: skip
    branches = {message: line for kind, line, message in all_ways if kind == "branch"}
    assert branches["no row: when value > 2"] == 10
    assert branches["no row: else of value > 2"] == 10
    assert set(branches.values()) <= {6, 7, 8, 9, 10}


def test_each_branch_has_its_own_line(tmp_path):
    sql = """\
select id,
  case
    when value > 9 then 'a'
    when value > 5 then 'b'
    else 'c'
  end as size,
  case when kind = 'x' then 1
  end as flag
from {{ source('web', 'events') }}
"""
    assert [(line, message.removeprefix("no row: ")) for _, line, message in ways(tmp_path, sql)] == [
        (3, "when value > 9"), (4, "when value > 5"), (5, "else of value > 9"),
        (7, "when kind = 'x'"), (8, "else of kind = 'x'"),
    ]  # fmt: skip


@pytest.mark.parametrize("message", ["when value > 10", "else of value > 10"])
def test_text_of_a_macro_is_located_at_its_call(tmp_path, message):
    sql = "select id,\n  {{ sized('value') }} as size\nfrom {{ source('web', 'events') }}\n"
    assert {text: line for _, line, text in ways(tmp_path, sql)}[f"no row: {message}"] == 2


def test_what_a_source_derives_stands_in_no_model(tmp_path):
    all_ways = ways(tmp_path, "select much from {{ source('web', 'derived') }}\n")
    assert [(line, message.removeprefix("no row: ")) for _, line, message in all_ways] == [
        (0, "when value > 5"), (0, "else of value > 5"),
    ]  # fmt: skip
