"""Templates that would take all memory, or never end."""

import resource
import time
from typing import Any

import pytest

from millstream.core.errors import MillstreamError
from millstream.project import template_limits
from millstream.project.settings import Settings
from millstream.project.templates import Renderer
from millstream.project.values import Project, SqlFile, Target
from millstream.project.yaml_templates import yaml_renderer

EMPTY: dict[str, Any] = {
    "sources": {}, "properties": {}, "seeds": {}, "functions": {}, "generators": (), "tests": (), "unit_tests": (),
    "schemas": {}, "exposures": (), "metrics": (), "selectors": {},
}  # fmt: skip
EXPRESSIONS = [
    "'x' * 3000000000",
    "3000000000 * 'x'",
    "[1] * 3000000000",
    "'x'.center(2000000000)",
    "'x' | center(2000000000)",
    "'x'.ljust(width)",
    "'7'.zfill(2000000000)",
    "'a\\tb'.expandtabs(2000000000)",
    "'%2000000000d' % 1",
    "'%*d' % (2000000000, 1)",
    "'%2000000000d' | format(1)",
    "'{:2000000000d}'.format(1)",
    "'{:{}d}'.format(1, 2000000000)",
    "'{:>{w}}'.format_map({'w': 2000000000})",
    "10 ** (10 ** 9)",
    "(10 ** 30000) * (10 ** 30000)",
    "[1] | batch(2000000000, 'x') | list",
    "[1] | slice(2000000000) | list",
    "[1] | batch(90000000, 'x') | list",
    "[1] | slice(90000000) | list",
    "'a\\nb' | indent(2000000000)",
    "[1] | tojson(indent=2000000000)",
    "('a' * 1000000).replace('a', 'b' * 1000000)",
    "('a' * 1000000) | replace('a', 'b' * 1000000)",
    "('b' * 1000000).join(range(1000) | map('string') | list)",
    "range(1000) | map('string') | join('b' * 1000000)",
    "(1).to_bytes(2000000000, 'big')",
    "range(10**9)",
    "range(10**30) | list",
]
STATEMENTS = [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "{% set l = [1] %}{% for a in range(99) %}{% do l.extend(l) %}{% endfor %}",
    "{% set l = [1] %}{% for a in range(99999) %}{% do l.append(l + l) %}{% endfor %}",
    "{% set n = namespace(s='x') %}{% for a in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    "{% set n = namespace(s='x') %}{% for a in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
    "{% set n = namespace(l=[1]) %}{% for a in range(99) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l }}",
    "{% set n = namespace(l=[1]) %}{% for a in range(99) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l | string }}",
    "{% set n = namespace(l=[1]) %}{% for a in range(99) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ tojson(n.l) }}",
    "{% set s = 'x' * 1000000 %}{% set l = [] %}{% for a in range(999) %}{% do l.append(s[1:]) %}{% endfor %}",
    "{% set s = 'x' * 1000000 %}{% set l = [] %}{% for a in range(999) %}{% do l.append(s.upper()) %}{% endfor %}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}",
    "{% for a in [[[]]] recursive %}{{ loop([a, a, a, a]) }}{% endfor %}",
]


def render(content: str):
    file = SqlFile("m", "models/m.sql", content, "")
    target = Target("p", "local", {})
    project = Project(root=".", settings=Settings("p"), target=target, vars={"w": 1}, models={"m": file}, macros=(), **EMPTY)  # fmt: skip
    return Renderer(project).render(file, {})


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_one_operation_is_refused_before_it_runs(expression: str) -> None:
    before = memory()
    rendered = render(f"select\n  {{% set width = 2000000000 %}}{{{{ {expression} }}}}")
    (diagnostic,) = rendered.diagnostics
    assert (diagnostic.code, diagnostic.location and diagnostic.location.line) == ("MS213", 2)
    assert memory() - before < 200
    render_yaml = yaml_renderer({"width": 2000000000}, declared=())
    with pytest.raises(MillstreamError) as raised:
        render_yaml("{{ %s }}" % expression.replace("width)", "var('width'))"))  # noqa: UP031 - it has braces
    assert raised.value.diagnostics[0].code == "MS213"


@pytest.mark.parametrize("statements", STATEMENTS)
def test_many_operations_end_at_the_line_that_used_up_the_budget(
    statements: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template_limits, "STEPS", 100_000)
    before, began = memory(), time.thread_time()
    (diagnostic,) = render(f"select 1 as x\n{statements}").diagnostics
    assert diagnostic.code in {"MS213", "MS209"}
    assert diagnostic.location is not None
    assert diagnostic.location.line == 2
    assert time.thread_time() - began < template_limits.SECONDS + 2
    assert memory() - before < 500


def test_slow_steps_end_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_limits, "SECONDS", 0.2)
    monkeypatch.setattr(template_limits, "SIZE", 10**12)
    slow = "{% set l = range(99999) | list %}{% for a in range(99999) %}{% if l | sum == 1 %}{% endif %}{% endfor %}"
    (diagnostic,) = render(f"select 1\n{slow}").diagnostics
    assert (diagnostic.code, diagnostic.message) == ("MS213", "the template takes longer than 0.2 seconds")


def test_the_budget_is_for_each_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_limits, "STEPS", 100)
    renderer = "select {% for a in range(90) %}{{ a }}, {% endfor %} 1 as x"
    assert [render(renderer).diagnostics for _ in range(3)] == [()] * 3


def test_large_templates_of_the_usual_kind_are_fine() -> None:
    columns = "{% for a in range(5000) %}{{ ('c%04d' % a) | upper }} as c{{ a }}{{ ', ' if not loop.last }}{% endfor %}"
    lists = "{% set l = [] %}{% for a in range(2000) %}{% do l.append('x' ~ a) %}{% endfor %}{{ l | join(' + ') }}"
    rendered = render(
        f"select {columns} from t where {lists} > 0 {{% for a in l %}}{{{{ loop.length }}}}{{% endfor %}}"
    )
    assert rendered.diagnostics == ()
    assert "c4999" in rendered.sql
