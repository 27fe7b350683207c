"""`{{ env_var('X') }}` and `{{ var('x') }}` in YAML values."""

import pytest

from millstream.core.errors import MillstreamError
from millstream.project.secrets import Secret
from millstream.project.yaml_templates import yaml_renderer

_DECLARE = 'if it is not a secret, add it to [tool.millstream]: env-vars = ["{}"]'


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ var('list') }}", [1, "a"]),
        ("a {{ var('list')[1] }} b", "a a b"),
        ("{{ var('none', 5) }}", 5),
        ("{{ var('list') | length }}", 2),
        ("{{ env_var('MS_NONE', 'd') }}", "d"),
        ("{{ 1 + 1 }}", 2),
        ("{{ {'a': {}} }}", {"a": {}}),
        ("{% if var('list') %}x{% endif %}", "x"),
    ],
)
def test_a_value_that_is_one_expression_keeps_its_type(template: str, value: object) -> None:
    assert yaml_renderer({"list": [1, "a"]}, declared=("MS_X", "MS_NONE"))(template) == value


@pytest.mark.parametrize(
    ("text", "template", "value"),
    [
        ("12", "{{ env_var('MS_X') }}", 12),
        ("1.5", "{{ env_var('MS_X') }}", 1.5),
        ("007", "{{ env_var('MS_X') }}", "007"),
        ("1_000", "{{ env_var('MS_X') }}", "1_000"),
        ("'a'", "{{ env_var('MS_X') }}", "'a'"),
        ("1.50", "{{ env_var('MS_X') }}", "1.50"),
        ("true", "{{ env_var('MS_X') }}", "true"),
        ("true", "{{ env_var('MS_X') | as_bool }}", True),
        ("4", "{{ env_var('MS_X') | as_number }}", 4),
        ("a b", "x{{ env_var('MS_X') }}", "xa b"),
    ],
)
def test_the_environment_is_taken_as_it_is(
    monkeypatch: pytest.MonkeyPatch, text: str, template: str, value: object
) -> None:
    monkeypatch.setenv("MS_X", text)
    rendered = yaml_renderer({}, declared=("MS_X", "MS_NONE"))(template)
    assert (rendered, type(rendered)) == (value, type(value))


@pytest.mark.parametrize("text", ["swordfish", "123", "1_000", "'quoted'", "1e5", "[1]", "é{{ x }}"])
def test_a_secret_is_the_very_text(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("MS_PASSWORD", text)
    render = yaml_renderer({}, declared=None)
    assert render("{{ env_var('MS_PASSWORD') }}").reveal() == text
    assert render("user=a;password={{ env_var('MS_PASSWORD') }}").reveal() == f"user=a;password={text}"
    assert render("{{ env_var('MS_PASSWORD', 'x') }}") == Secret(text)


def test_secrets_inside_lists_are_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_PASSWORD", "a,b")
    rendered = yaml_renderer({}, declared=None)("{{ env_var('MS_PASSWORD').split(',') }}")
    assert rendered == [Secret("a"), Secret("b")]


def test_what_was_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_X", "1")
    read: dict[str, str | None] = {}
    yaml_renderer({}, declared=("MS_X", "MS_NONE"), environment=read)(
        "{{ env_var('MS_X') }}{{ env_var('MS_NONE', 2) }}"
    )
    assert read == {"MS_X": "1", "MS_NONE": None}


@pytest.mark.parametrize(
    ("template", "code", "remedy"),
    [
        ("{{ env_var('MS_NONE') }}", "MS114", "export it, or give a default: env_var('NAME', 'default')"),
        ("{{ env_var('MS_PASSWORD') }}", "MS113", "read secrets in profiles.yml only"),
        ("{{ env_var('MS_PASSWORD', 'x') }}", "MS113", "read secrets in profiles.yml only"),
        ("{{ env_var('PGPASS') }}", "MS113", _DECLARE.format("PGPASS")),
        ("{{ env_var('STRIPE_KEY', 'x') }}", "MS113", _DECLARE.format("STRIPE_KEY")),
        ("{{ env_var(3) }}", "MS206", "write env_var('NAME')"),
        ("{{ var('dayz') }}", "MS205", "did you mean 'days'?"),
        ("{{ envvar('X') }}", "MS202", "did you mean 'env_var'?"),
        ("x {{ envvar }}", "MS202", "did you mean 'env_var'?"),
        ("{{ var('days' }}", "MS201", "fix the template"),
        ("{{ var('days') | nofilter }}", "MS201", "fix the template"),
        ("{{ ''.__class__.__mro__ }}", "MS207", "use only env_var() and var()"),
        ("{{ 1 / 0 }}", "MS209", "fix the template"),
        ("{{ cycler(1) }}", "MS206", "show its attributes instead"),
        ("x {{ [env_var] }}", "MS206", "call it"),
        ("{{ ['a'] | map('upper') }}", "MS206", "show its items, such as with `| list`"),
        ("{{ 'x' | as_bool }}", "MS209", "fix the template"),
        ("{{ var() }}", "MS209", "fix the template"),
    ],
)
def test_a_mistake_has_a_code_and_a_remedy(template: str, code: str, remedy: str) -> None:
    with pytest.raises(MillstreamError) as caught:
        yaml_renderer({"days": 3}, declared=("MS_X", "MS_NONE"))(template)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.help) == (code, remedy)
