"""Reference topics with columns from the metadata of their records, however they are read."""

import pytest

from millstream.compile import compile_project
from millstream.queries.topology import compiled_topology, physical_of
from millstream.queries.values import TableOutput

PROJECT = '[project]\nname = "shop"\n[tool.millstream]\nname = "shop"\n'
SOURCES = """
sources:
  - name: web
    topics:
      - name: events
        columns: [{{name: id, type: int}}, {{name: user, type: string}}]
      - name: users
        table: true
        key: {{name: user, type: string}}{versions}
        columns:
          - {{name: segment, type: string}}
          - {{name: extra, type: "{type}", from: "{sql}"}}
"""
READERS = {
    "lookup": """
        {{ config(materialized='sink', key='id') }}
        select e.id, u.extra from {{ source('web', 'events') }} as e join {{ source('web', 'users') }} as u on e.user = u.user
    """,
    "other_column": """
        {{ config(materialized='sink', key='id') }}
        select e.id, u.segment from {{ source('web', 'events') }} as e left join {{ source('web', 'users') }} as u on e.user = u.user
    """,
    "in_subquery": """
        {{ config(materialized='sink', key='id') }}
        select id from {{ source('web', 'events') }} where user in (select user from {{ source('web', 'users') }} where extra is not null)
    """,
    "table_over_tables": """
        {{ config(materialized='table', unique_key='user') }}
        select user, extra from {{ source('web', 'users') }} where segment = 'a'
    """,
    "aggregate": """
        {{ config(materialized='table', unique_key='segment') }}
        select segment, count(extra) as n from {{ source('web', 'users') }} group by segment
    """,
}
EXTRAS = {
    "_timestamp": ("timestamp", "_timestamp"),
    "_offset": ("bigint", "_offset"),
    "_key": ("string", "_key"),
    "_topic": ("string", "_topic"),
    "_partition": ("int", "_partition"),
    "_headers": ("array<struct<key: string, value: binary>>", "_headers"),
    "expression": ("string", "concat(_topic, '/', _partition, '/', _offset)"),
    "of a header": ("string", "cast(_headers[0].value as string)"),
    "upper case": ("timestamp", "_TIMESTAMP"),
}


@pytest.mark.parametrize("optimization", ["all", "none"])
@pytest.mark.parametrize("versions", ["", "\n        versions: all"], ids=["newest", "versions"])
@pytest.mark.parametrize("extra", EXTRAS)
def test_columns_from_metadata(tmp_path, extra, versions, optimization):
    type_, sql = EXTRAS[extra]
    (tmp_path / "models").mkdir()
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "profiles.yml").write_text(
        f"shop: {{target: t, outputs: {{t: {{optimization: {optimization}}}}}}}"
    )
    (tmp_path / "models/sources.yml").write_text(SOURCES.format(type=type_, sql=sql, versions=versions))
    # Joins with versions need a time, and most other reads of versions are refused.
    readers = ["other_column"] if versions else READERS
    for name in readers:
        text = READERS[name] + (" and u.valid_to is null" if versions else "")
        (tmp_path / f"models/{name}.sql").write_text(text)
    compiled = compile_project(tmp_path, use_cache=False)
    assert [diagnostic for diagnostic in compiled.diagnostics if diagnostic.severity == "error"] == []
    physical = physical_of(compiled_topology(compiled))
    (users,) = (
        output
        for query in physical.queries
        for output in query.outputs
        if isinstance(output, TableOutput) and output.model == "source.web.users"
    )
    assert [column.name for column in users.columns][:3] == ["user", "segment", "extra"]
