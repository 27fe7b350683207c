"""Names of relations that are written as the SQL after Jinja has them, and empty ones, are located errors."""

import pytest
from support.sql_plans import project

from millstream.compile import compile_project

EVENTS = "{{ source('shop', 'events') }}"


def problems_of(root, sql, **others):
    folder = project(root, {"m": sql, **others})
    diagnostics = compile_project(folder, use_cache=False).diagnostics
    return [(diagnostic.code, diagnostic.message, diagnostic.location.line) for diagnostic in diagnostics]


@pytest.mark.parametrize(
    "name", ["models.nothing", "models.other", "models.``", "seeds.nothing", "sources.shop.events", "sources.a.b"]
)  # fmt: skip
def test_a_model_names_relations_by_ref_and_source(tmp_path, name):
    reported = problems_of(tmp_path, f"select user_id\nfrom {name}", other=f"select user_id from {EVENTS}")
    assert reported == [("MS404", f"'{name.replace('`', '')}' is not a CTE of this model", 2)]


@pytest.mark.parametrize("call", ["ref('')", "source('shop', '')", "source('', 'events')"])
def test_names_are_not_empty(tmp_path, call):
    ((code, _, line),) = problems_of(tmp_path, f"select user_id\nfrom {{{{ {call} }}}}")
    assert (code, line) == ("MS206", 2)


def test_a_reference_to_nothing_is_one_error_next_to_others(tmp_path):
    sql = "select n.user_id\nfrom {{ ref('nope') }} as n\njoin {{ this }} as t on n.user_id = t.user_id"
    assert {(code, line) for code, _, line in problems_of(tmp_path, sql)} == {("MS203", 2), ("MS404", 3)}


@pytest.mark.parametrize("name", ["model.", "seed.", "source.", "source.shop", "ref('')"])
def test_a_test_of_a_relationship_names_a_relation(tmp_path, name):
    folder = project(tmp_path, {"m": f"select user_id from {EVENTS}"})
    test = f'{{relationships: {{to: "{name}", field: user_id}}}}'
    (folder / "models/m.yml").write_text(
        f"models: [{{name: m, columns: [{{name: user_id, tests: [{test}]}}]}}]"
    )
    diagnostics = compile_project(folder, use_cache=False).diagnostics
    assert [(diagnostic.code, diagnostic.message) for diagnostic in diagnostics] == [
        ("MS107", f"'{name}' is not a relation")
    ]
