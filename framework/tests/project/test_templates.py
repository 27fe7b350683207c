"""Rendering: what dbt users expect of Jinja, and what they are told when it fails."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from millstream.core.errors import Diagnostic
from millstream.core.text import Location
from millstream.project.secrets import Secret
from millstream.project.templates import Rendered, Renderer
from millstream.project.values import Project, Seed, Settings, SqlFile, Target, Topic

Render = Callable[..., Rendered]
LOCATION = Location("models/s.yml", 1, 1, 2)


def project(macros: dict[str, str], variables: dict[str, Any], settings: dict[str, Any]) -> Project:
    names = ("m", "orders", "stg_orders")
    return Project(
        root=".",
        settings=Settings("shop", env_vars=("REGION", "ZONE", "NO_SUCH_THING")),
        target=Target("shop", "local", settings),
        vars=variables,
        sources={
            "app.events": Topic("app", "events", ("events",), LOCATION),
            "app.users": Topic("app", "users", ("users",), LOCATION),
        },
        models={name: SqlFile(name, f"models/{name}.sql", "", "") for name in names},
        properties={},
        seeds={"countries": Seed("countries", "seeds/countries.csv", (), 0, LOCATION)},
        macros=tuple(
            SqlFile(path, f"macros/{path}.sql", content, content) for path, content in macros.items()
        ),
        functions={},
        generators=(),
        tests=(),
        unit_tests=(),
        schemas={},
        exposures=(),
        metrics=(),
        selectors={},
    )


def render(
    content: str,
    *,
    vars: dict[str, Any] | None = None,
    target: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
    **macros: str,
) -> Rendered:
    renderer = Renderer(project(macros, vars or {}, target or {}))
    rendered = renderer.render(SqlFile("m", "models/m.sql", content, ""), config or {})
    return Rendered(
        rendered.sql,
        rendered.spans,
        rendered.references,
        rendered.options,
        rendered.uses,
        rendered.logs,
        (*renderer.diagnostics, *rendered.diagnostics),
        rendered.failed,
    )


def the_problem(content: str, **context: Any) -> Diagnostic:
    diagnostics = render(content, **context).diagnostics
    assert len(diagnostics) == 1, diagnostics
    return diagnostics[0]


def caret(diagnostic: Diagnostic) -> str:
    assert diagnostic.location is not None
    return diagnostic.line[diagnostic.location.column - 1 : diagnostic.location.end - 1]


# -- what is rendered


@pytest.mark.parametrize(
    ("template", "sql"),
    [
        ("{{ ref('orders') }}", "models.orders"),
        ("{{ ref('shop', 'orders') }}", "models.orders"),
        ("{{ ref('countries') }}", "seeds.countries"),
        ("{{ source('app', 'events') }}", "sources.app.events"),
        ("{{ this }}", "models.m"),
        ("{{ target }} {{ target.name }} {{ target.profile_name }}", "local local shop"),
        ("{{ target.master }}", "local[2]"),
        ("{{ var('days') }} {{ var('no', 7) }}", "3 7"),
        ("{{ is_test }}", "False"),
        ("{{ project_name }}", "shop"),
        ("{{ config(materialized='sink') }}x", "x"),
        ("{{ config.get('materialized') }} {{ config.get('no', 'd') }}", "table d"),
        ("{{ log('seen') }}x", "x"),
        ("{% set a = ['x', 'y'] %}{{ a | join(', ') }}", "x, y"),
        ("{% do [].append(1) %}x", "x"),
        ("{{ tojson([1]) }} {{ fromjson('{\"a\": 2}').a }} {{ zip([1], [2]) }}", "[1] 2 [(1, 2)]"),
        (
            "{{ lookup_map('countries', 'code', 'name') }}['de']",
            "(select map_from_entries(collect_list(struct(lookup.code, lookup.name))) from seeds.countries as lookup)['de']",
        ),
        (
            "{{ lookup_map('users', 'id', 'name') }}",
            "(select map_from_entries(collect_list(struct(lookup.id, lookup.name))) from sources.app.users as lookup)",
        ),
    ],
)
def test_a_template_renders(template: str, sql: str) -> None:
    rendered = render(
        template, vars={"days": 3}, target={"master": "local[2]"}, config={"materialized": "table"}
    )
    assert rendered.diagnostics == ()
    assert rendered.sql == sql


def test_macros_call_each_other_in_any_file_and_order() -> None:
    rendered = render(
        "{{ a(2) }}",
        z="{% macro b(x) %}<{{ x }}>{% endmacro %}",
        y="{% macro a(x, y=1) %}{{ b(x + y) }}{% endmacro %}",
    )
    assert rendered.sql == "<3>"


def test_a_macro_of_the_same_file_and_one_that_ref_s() -> None:
    macros = "{% macro b() %}{{ ref('orders') }}{% endmacro %}{% macro a() %}{{ b() }}{% endmacro %}"
    rendered = render("{{ a() }}", x=macros)
    assert (rendered.sql, [r.id for r in rendered.references]) == ("models.orders", ["model.orders"])


def test_a_call_block_gives_its_body_to_the_macro() -> None:
    rendered = render("{% call wrap() %}x{% endcall %}", x="{% macro wrap() %}({{ caller() }}){% endmacro %}")
    assert rendered.sql == "(x)"


def test_return_ends_a_macro_with_a_value_of_any_type() -> None:
    rendered = render(
        "{{ names() | length }}", x="{% macro names() %}{{ return(['a', 'b']) }}never{% endmacro %}"
    )
    assert rendered.sql == "2"


def test_a_macro_sees_this_of_the_model_that_calls_it() -> None:
    assert render("{{ a() }}", x="{% macro a() %}{{ this }}{% endmacro %}").sql == "models.m"


def test_references_are_told_once_per_call_with_their_places() -> None:
    rendered = render("{{ ref('orders') }}\n{{ source('app', 'events') }}")
    assert [(r.id, str(r.location)) for r in rendered.references] == [
        ("model.orders", "models/m.sql:1:9"),
        ("source.app.events", "models/m.sql:2:19"),
    ]


def test_options_are_plain_values_with_their_places() -> None:
    option = render("{{ config(\n  materialized='sink',\n  tags=('a', 'b')) }}x").options["tags"]
    assert option.value == ["a", "b"]
    assert str(option.location) == "models/m.sql:3:3"


def test_what_was_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGION", "eu")
    uses = render(
        "{{ var('days') }}{{ env_var('REGION') }}{{ env_var('ZONE', 'a') }}x", vars={"days": 3}
    ).uses
    assert uses.vars == {"days": 3}
    assert uses.env == {"REGION": "eu", "ZONE": None}
    assert "env_var" in uses.names


def test_names_that_are_asked_about_may_be_missing() -> None:
    assert render("{% if x is defined %}a{% else %}b{% endif %}{{ y | default('c') }}").sql == "bc"


def test_secrets_of_the_target_are_not_there() -> None:
    diagnostic = the_problem("{{ target.kafka }}", target={"kafka": {"sasl_password": Secret("hunter2")}})
    assert diagnostic.code == "MS202"
    assert "hunter2" not in str(diagnostic)


# -- what goes wrong


@pytest.mark.parametrize(
    ("template", "code", "under", "help_has"),
    [
        ("x {{ ref('ordes') }}", "MS203", "ordes", "'orders'"),
        ("x {{ ref('events') }}", "MS203", "events", "source('app', 'events')"),
        ("x {{ ref('other', 'orders') }}", "MS203", "other", "ref('model')"),
        ("x {{ ref() }}", "MS206", "ref", "ref('model_name')"),
        ("x {{ source('ap', 'events') }}", "MS204", "ap", "'app'"),
        ("x {{ source('app', 'event') }}", "MS204", "event", "'events'"),
        ("x {{ source('app') }}", "MS206", "source", "source('source', 'topic')"),
        ("x {{ var('dayz') }}", "MS205", "dayz", "'days'"),
        ("x {{ env_var('NO_SUCH_THING') }}", "MS114", "NO_SUCH_THING", "env_var('NAME', 'default')"),
        ("x {% include 'other.sql' %}", "MS207", "include 'other.sql'", "macros of macros/*.sql"),
        ("x {% import 'other.sql' as other %}", "MS207", "import 'other.sql' as other", "macros of macros/*.sql"),
        ("x {{ s\u043eurce('app', 'events') }}", "MS202", "s\u043eurce", "U+043E, cyrillic small letter o"),
        ("x {{ env_var('DB_PASSWORD') }}", "MS113", "DB_PASSWORD", "profiles.yml"),
        ("x {{ env_var('GITHUB_PAT', '') }}", "MS113", "GITHUB_PAT", 'env-vars = ["GITHUB_PAT"]'),
        ("x {{ reff('orders') }}", "MS202", "reff", "'ref'"),
        ("x {% if is_incremental() %}{% endif %}", "MS202", "is_incremental", "only reads records that are new"),
        ("x {{ dbt_utils.star(1) }}", "MS202", "dbt_utils", "copy the macro"),
        ("x {{ 1 | nosuch }}", "MS201", "nosuch", "filters"),
        ("x {{ 1 is nosuch }}", "MS201", "nosuch", "tests"),
        ("x {{ 1 / 0 }}", "MS209", "1 / 0", "expression"),
        ("x {{ config(['a']) }}", "MS206", "config", "config(materialized="),
        ("x {{ config.require('topic') }}", "MS206", "topic", "topic"),
        ("x {{ ''.__class__.__mro__ }}", "MS207", "''.__class__.__mro__", "internals"),
        ("x {{ exceptions.raise_compiler_error('not here') }}", "MS208", "exceptions.raise_compiler_error('not here')", "check failed"),
        ("x {% if %}", "MS201", "if", "close"),
        ("x {% test positive(model, column_name) %}1{% endtest %}", "MS201", "test positive(model, column_name)", "{% macro positive(model, column_name) %}"),
        ("x {% snapshot old %}1{% endsnapshot %}", "MS201", "snapshot old", "versions='all'"),
        ("x {% materialization a, default %}1", "MS201", "materialization a, default", "view, table or sink"),
        ("x {% set names = 'a', 'b'] %}", "MS201", "]", "add '[' before it"),
        ("x {{ ref 'a') }}", "MS201", ")", "add '(' before it"),
        ("x {% set names = ['a', 'b' %}", "MS201", "}", "add ']' before it"),
        ("x {% endfor %}", "MS201", "endfor", "close"),
        ("x {% for a in [1] %}", "MS201", "for a in [1]", "endfor"),
        ("  ", "MS212", " ", "SELECT"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place_and_remedy(
    template: str, code: str, under: str, help_has: str
) -> None:
    diagnostic = the_problem(template, vars={"days": 3})
    assert (diagnostic.code, caret(diagnostic)) == (code, under)
    assert help_has in diagnostic.help


@pytest.mark.parametrize(
    ("expression", "remedy"),
    [
        ("ref", "call it"),
        ("ref | pprint", "call it"),
        ("[ref] | string", "call it"),
        ("{}.items", "call it"),
        ("'a'.upper", "call it"),
        ("(1).bit_length", "call it"),
        ("['a', {'b': [ref]}]", "call it"),
        ("'a' ~ ref", "call it"),
        ("'%s' | format(ref)", "call it"),
        ("'%s' % ref", "call it"),
        ("'{}'.format(ref)", "call it"),
        ("'{x}'.format(x=ref)", "call it"),
        ("log(ref)", "call it"),
        ("exceptions.raise_compiler_error(ref)", "call it"),
        ("joiner()", "call it"),
        ("[joiner()] | join", "call it"),
        ("cycler(1)", "attributes"),
        ("[cycler(1)]", "attributes"),
        ("cycler(1) | upper", "attributes"),
        ("cycler(1) | replace('a', 'b')", "attributes"),
        ("cycler(1) | trim", "attributes"),
        ("'a' ~ cycler(1)", "attributes"),
        ("'%s' | format(cycler(1))", "attributes"),
        ("namespace(a=1)", "attributes"),
        ("['a'] | map('upper')", "| list"),
        ("[['a'] | map('upper')]", "| list"),
        ("[1] | batch(2)", "| list"),
        ("[1] | select", "| list"),
        ("{'a': 1}.items()", "| list"),
        ("range(3)", "| list"),
    ],
)
def test_what_has_an_address_is_no_text(expression: str, remedy: str) -> None:
    diagnostic = the_problem(f"x {{{{ {expression} }}}}")
    assert (diagnostic.code, caret(diagnostic)) == ("MS206", expression)
    assert "can't be shown as text" in diagnostic.message
    assert remedy in diagnostic.help


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("[1, 1.5, true, none, 'a', {'b': (2,)}]", "[1, 1.5, True, None, 'a', {'b': (2,)}]"),
        ("target", "local"),
        ("'%s-%d' % (target, 2)", "local-2"),
        ("target.name ~ 1", "local1"),
        ("{'a': 1}.items() | list", "[('a', 1)]"),
        ("{'a': 1}.keys() | join(',')", "a"),
        ("['a'] | map('upper') | join(',')", "A"),
        ("range(3) | join(',')", "0,1,2"),
        ("set([1]) | join(',')", "1"),
        ("{'a': 1}.items() | map('first') | list", "['a']"),
        ("var('day')", "2026-11-26"),
        ("var('price') | round(1)", "1.5"),
        ("cycler('a').next()", "a"),
        ("this", "models.m"),
    ],
)
def test_plain_values_are_text(expression: str, text: str) -> None:
    values = {"day": date(2026, 11, 26), "price": 1.5}
    assert render(f"{{{{ {expression} }}}}", vars=values).sql == text


def test_a_quote_that_is_not_closed_is_shown_with_the_place_where_it_is_noticed() -> None:
    diagnostic = the_problem("select {{ var('a) }} as x\nfrom y\nwhere a = {{ var('b') }}\n")
    assert (diagnostic.code, str(diagnostic.location)) == ("MS201", "models/m.sql:1:15")
    assert [(note.message, str(note.location)) for note in diagnostic.notes] == [
        ("found here", "models/m.sql:3:20")
    ]


def test_a_macro_with_wrong_arguments_shows_the_call_and_the_definition() -> None:
    diagnostic = the_problem("x {{ cents(1, 2) }}", x="{% macro cents(column) %}{{ column }}{% endmacro %}")
    assert (diagnostic.code, caret(diagnostic)) == ("MS206", "cents")
    assert "cents(column)" in diagnostic.help


def test_a_missing_macro_argument_is_the_callers_mistake() -> None:
    diagnostic = the_problem("x {{ cents() }}", x="{% macro cents(column) %}{{ column }}{% endmacro %}")
    assert (diagnostic.code, str(diagnostic.location)) == ("MS206", "models/m.sql:1:6")


def test_a_mistake_inside_a_macro_names_the_macro_and_the_call() -> None:
    diagnostic = the_problem("x {{ a() }}", x="{% macro a() %}\n{{ 1 / 0 }}{% endmacro %}")
    assert str(diagnostic.location) == "macros/x.sql:2:4"
    assert [str(note.location) for note in diagnostic.notes] == ["models/m.sql:1:6"]


def test_several_mistakes_are_told_at_once() -> None:
    diagnostics = render("{{ ref('a1') }} {{ ref('b1') }} {{ source('c', 'd') }}").diagnostics
    assert [d.code for d in diagnostics] == ["MS203", "MS203", "MS204"]


def test_undefined_names_are_all_told() -> None:
    diagnostics = render("{{ aa }} {{ bb }} {{ aa }}").diagnostics
    assert [caret(d) for d in diagnostics] == ["aa", "bb"]


def test_a_macro_defined_twice_names_both_places() -> None:
    diagnostic = the_problem("x", a="{% macro f() %}{% endmacro %}", b="\n{% macro f() %}{% endmacro %}")
    assert (diagnostic.code, str(diagnostic.location)) == ("MS210", "macros/b.sql:2:10")
    assert str(diagnostic.notes[0].location).startswith("macros/a.sql:1")


def test_a_macro_can_not_take_a_built_in_name() -> None:
    assert the_problem("x", a="{% macro ref(a) %}{% endmacro %}").code == "MS210"


def test_endless_recursion_is_a_located_mistake() -> None:
    diagnostic = the_problem("x {{ f() }}", a="{% macro f() %}{{ f() }}{% endmacro %}")
    assert diagnostic.code == "MS209"


# -- places of rendered text


def test_a_name_given_to_a_macro_is_located_in_the_call() -> None:
    content = "select {{ cents('amuont') }} from t"
    renderer = Renderer(project({"x": "{% macro cents(c) %}{{ c }} / 100{% endmacro %}"}, {}, {}))
    rendered = renderer.render(SqlFile("m", "models/m.sql", content, ""), {})
    start = rendered.sql.index("amuont")
    location, line, notes = renderer.locate(rendered, start, start + 6, "amuont")
    assert line[location.column - 1 : location.end - 1] == "amuont"
    assert [str(note.location) for note in notes] == ["macros/x.sql:1:24"]


@pytest.mark.parametrize(
    "template",
    [
        "{% if true %}" * 500 + "x" + "{% endif %}" * 500,
        "{% for a in [1] %}" * 30 + "x" + "{% endfor %}" * 30,
        "{{ " + "(" * 500 + "1" + ")" * 500 + " }}",
    ],
)
def test_deep_nesting_is_not_a_recursion_of_macros(template: str) -> None:
    diagnostic = the_problem(template)
    assert (diagnostic.code, diagnostic.message) == ("MS209", "the template is nested too deeply")
    assert diagnostic.location is not None
    assert diagnostic.location.path == "models/m.sql"
