"""Columns without a description have that of the column they pass on."""

from pathlib import Path

from millstream.compile import compile_project

SOURCE = """\
sources:
  - name: app
    topics:
      - name: orders
        key: {name: customer, type: string}
        columns:
          - {name: id, type: bigint, description: ID of the order}
          - {name: cents, type: bigint, description: Amount in cents}
          - {name: item, type: "struct<name: string>", description: What was ordered}
      - name: returns
        columns:
          - {name: id, type: bigint, description: ID of the order}
          - {name: cents, type: bigint, description: Amount paid back}
"""
FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "p"\n',
    "models/sources.yml": SOURCE,
    "models/a_last.sql": "select m.number, m.euros, m.name, m.note from {{ ref('middle') }} as m",
    "models/middle.sql": """\
with orders as (select * from {{ source('app', 'orders') }})
select orders.id as number, orders.cents / 100 as euros, orders.item.name as name, orders.cents as note, orders.customer
from orders
""",
    "models/middle.yml": "models: [{name: middle, columns: [{name: note, description: For the books}]}]",
    "models/both.sql": """\
select id, cents from {{ source('app', 'orders') }} union all select id, cents from {{ source('app', 'returns') }}
""",
}


def described(root: Path, model: str) -> dict[str, str]:
    for path, content in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    compiled = compile_project(root)
    assert [diagnostic for diagnostic in compiled.diagnostics if diagnostic.severity == "error"] == []
    return {column.name: column.description for column in compiled.manifest.nodes[f"model.{model}"].columns}


def test_a_column_that_is_passed_on_keeps_its_description_and_may_have_its_own(tmp_path: Path) -> None:
    descriptions = {
        "number": "ID of the order",
        "euros": "",
        "name": "",
        "note": "For the books",
        "customer": "",
    }
    assert described(tmp_path, "middle") == descriptions
    assert described(tmp_path, "a_last") == {k: v for k, v in descriptions.items() if k != "customer"}


def test_what_two_sources_describe_differently_is_left_open(tmp_path: Path) -> None:
    assert described(tmp_path, "both") == {"id": "ID of the order", "cents": ""}


def test_an_edit_of_the_source_reaches_models_from_the_cache(tmp_path: Path) -> None:
    assert described(tmp_path, "a_last")["number"] == "ID of the order"
    edited = SOURCE.replace("ID of the order", "Order number")
    (tmp_path / "models/sources.yml").write_text(edited)
    nodes = compile_project(tmp_path).manifest.nodes
    assert nodes["model.a_last"].columns[0].description == "Order number"
