"""Data tests by names of their own, and those that are macros of the project."""

import pytest

from millstream.compile import compile_project

SOURCES = """\
sources:
  - name: shop
    topics:
      - name: orders
        columns: [{name: id, type: string}, {name: amount, type: double}]
"""
TABLE = "{{ config(materialized='table', unique_key='id') }} select id, amount from {{ source('shop', 'orders') }}"
MODELS = """\
models:
  - name: amounts
    columns:
      - name: amount
        tests: %s
"""
SUM = """\
{%% macro same_sum(model, column_name, other, other_column) %%}
select 1 from (select sum({{ column_name }}) as a from {{ model }}), (select sum({{ other_column }}) as b from %s)
where a <> b
{%% endmacro %%}
"""


def compiled(root, tests, macro=SUM % "{{ other }}", more=""):
    files = {
        "pyproject.toml": "[tool.millstream]\nname = 'p'\n",
        "models/sources.yml": SOURCES,
        "models/marts.yml": MODELS % tests + more,
        "macros/m.sql": macro,
        "models/amounts.sql": TABLE,
        "models/copies.sql": TABLE,
        "seeds/rates.csv": "id,amount\na,1.5\n",
    }
    for name, content in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(content)
    return compile_project(root)


def only_test(root, tests, **more):
    project = compiled(root, tests, **more)
    assert not project.diagnostics, project.diagnostics
    (node,) = (node for node in project.manifest.nodes.values() if node.kind == "test")
    return node, project.tests.get(node.id, "")


@pytest.mark.parametrize(
    ("other", "name", "relation"),
    [
        ("ref('copies')", "models.copies", "model.copies"),
        ("\"ref('copies')\"", "models.copies", "model.copies"),
        ("\"{{ ref('copies') }}\"", "models.copies", "model.copies"),
        ("\"{{source('shop', 'orders')}}\"", "sources.shop.orders", "source.shop.orders"),
        ("\"source('shop','orders')\"", "sources.shop.orders", "source.shop.orders"),
        ("ref('rates')", "seeds.rates", "seed.rates"),
    ],
)
def test_an_argument_is_a_relation_as_in_dbt(tmp_path, other, name, relation):
    node, sql = only_test(tmp_path, f"[same_sum: {{other: {other}, other_column: amount}}]")
    assert f"as b from {name})" in sql
    assert node.depends_on == tuple(sorted(("model.amounts", relation)))
    assert node.meta["relation"] == "model.amounts"


def test_an_argument_is_a_relation_wherever_it_stands(tmp_path):
    macro = "{% macro all_of(model, column_name, others) %}{% for o in others %}select 1 from {{ o.of }}; {% endfor %}{% endmacro %}"
    tests = "[all_of: {others: [{of: ref('copies')}, {of: \"{{ ref('rates') }}\"}]}]"
    node, sql = only_test(tmp_path, tests, macro=macro)
    assert sql == "select 1 from models.copies; select 1 from seeds.rates; "
    assert node.depends_on == ("model.amounts", "model.copies", "seed.rates")


def test_ref_in_the_macro_is_a_dependency(tmp_path):
    macro = SUM % "{{ ref(other) }}"
    node, sql = only_test(tmp_path, "[same_sum: {other: copies, other_column: amount}]", macro=macro)
    assert "from models.copies" in sql
    assert node.depends_on == ("model.amounts", "model.copies")


def test_a_relation_that_does_not_exist_is_shown_where_yaml_names_the_test(tmp_path):
    (diagnostic,) = compiled(tmp_path, "[same_sum: {other: ref('copie'), other_column: amount}]").diagnostics
    assert (diagnostic.code, str(diagnostic.location)) == ("MS203", "models/marts.yml:5:17")
    assert diagnostic.help == "did you mean 'copies'?"


def test_where_restricts_the_rows_that_a_macro_reads(tmp_path):
    tests = """[same_sum: {other: ref('copies'), other_column: amount, where: "id <> 'a''s'"}]"""
    _, sql = only_test(tmp_path, tests)
    assert "from (select * from models.amounts where id <> 'a''s'))," in " ".join(sql.split())


NAMED = {
    "not_null": "not_null: {name: mine}",
    "unique": "unique: {name: mine}",
    "accepted_values": "accepted_values: {values: [1.5], name: mine}",
    "relationships": "relationships: {to: ref('copies'), field: amount, name: mine}",
    "expression": "expression: {expression: amount > 0, config: {name: mine}}",
    "macro": "same_sum: {other: ref('copies'), other_column: amount, name: mine}",
}


@pytest.mark.parametrize("kind", NAMED)
def test_a_test_has_the_name_that_yaml_gives_it(tmp_path, kind):
    node, _ = only_test(tmp_path, f"[{NAMED[kind]}]")
    assert (node.id, node.name, node.fqn[-1]) == ("test.mine", "mine", "mine")


@pytest.mark.parametrize(
    "kind", ["row_count: {min: 1, name: mine}", "freshness: {within: 1 day, column: id, name: mine}"]
)
def test_a_test_of_a_relation_has_the_name_that_yaml_gives_it(tmp_path, kind):
    assert only_test(tmp_path, "[]", more=f"    tests: [{kind}]\n")[0].name == "mine"


def test_a_test_has_its_tags_and_description(tmp_path):
    node, _ = only_test(tmp_path, "[not_null: {tags: nightly, description: Never empty}]")
    assert (node.tags, node.description) == (("nightly",), "Never empty")
    tests = "[same_sum: {other: ref('copies'), other_column: amount, tags: [a, b], description: Same}]"
    node, _ = only_test(tmp_path, tests)
    assert (node.tags, node.description) == (("a", "b"), "Same")


def test_two_tests_can_not_have_one_name(tmp_path):
    (diagnostic,) = compiled(tmp_path, "[not_null: {name: mine}, unique: {name: mine}]").diagnostics
    assert (diagnostic.code, str(diagnostic.location)) == ("MS109", "models/marts.yml:5:41")
    (diagnostic,) = compiled(tmp_path, "[not_null: {name: unique_amounts_amount}, unique]").diagnostics
    assert diagnostic.message == "there is another data test named 'unique_amounts_amount'"


@pytest.mark.parametrize("test", ["not_null", "mine"])
def test_a_name_has_no_blanks(tmp_path, test):
    macro = "{% macro mine(model, column_name) %}select 1{% endmacro %}"
    (diagnostic,) = compiled(tmp_path, f"[{test}: {{name: a b}}]", macro=macro).diagnostics
    assert (diagnostic.code, diagnostic.message) == ("MS110", "'a b' can't be the name of a data test")


CLOSE = [
    "between_values", "accepted_range", "not_null_when", "no_nulls", "expression_is_true", "row_counts",
    "equal_rowcount", "uniques", "not_nul",
]  # fmt: skip


@pytest.mark.parametrize("name", CLOSE)
def test_a_macro_may_have_a_name_like_a_built_in_test(tmp_path, name):
    macro = (
        f"{{% macro {name}(model, column_name, low=0) %}}"
        "select 1 from {{ model }} where {{ column_name }} < {{ low }}{% endmacro %}"
    )
    for tests in (f"[{name}]", f"[{name}: {{low: 1}}]"):
        node, sql = only_test(tmp_path, tests, macro=macro)
        assert node.test == name
        assert sql.startswith("select 1 from models.amounts")


@pytest.mark.parametrize(
    ("name", "built_in"),
    [("not_nul", "not_null"), ("uniqe", "unique"), ("acepted_values: {values: [a]}", "accepted_values"),
     ("acepted_values: [a]", "accepted_values")],
)  # fmt: skip
def test_a_name_that_no_macro_has_is_a_misspelled_built_in_test(tmp_path, name, built_in):
    (diagnostic,) = compiled(tmp_path, f"[{name}]").diagnostics
    assert (diagnostic.code, diagnostic.help) == ("MS107", f"did you mean '{built_in}'?")
    assert str(diagnostic.location) == "models/marts.yml:5:17"
