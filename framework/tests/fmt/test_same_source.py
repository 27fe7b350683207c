"""What counts as the same source."""

import pytest

from millstream.fmt.meaning import same_source

SAME = [
    ("SELECT a FROM t", "select a\nfrom t"),
    ("select a,b from t -- c", "select a, b from t  --  c"),
    ("{{ ref('x') }}", "{{ref('x')}}"),
    ("{% macro f(x) %}upper({{ x }}){% endmacro %}", "{% macro f(x) %} upper({{ x }}) {% endmacro %}"),
    ("select a {%- if x %} , b {%- endif %} from t", "select a\n{%- if x %} , b\n{%- endif %} from t"),
]
DIFFERENT = [
    ("select A from t", "select a from t"),
    ("select 'A' as x", "select 'a' as x"),
    ("select `A`", "select `a`"),
    ("select 'a  b'", "select 'a b'"),
    ("select a -- b", "select a -- c"),
    ("select a {# b #}", "select a"),
    ("{{ ref('x') }}", "{{ ref('X') }}"),
    ("{{ a }}_count", "{{ a }} _count"),
    ("select a -- b\n, c", "select a -- b , c"),
]


@pytest.mark.parametrize(("before", "after"), SAME)
def test_the_same(before, after):
    assert same_source(before, after, glued=True)


@pytest.mark.parametrize(("before", "after"), DIFFERENT)
def test_not_the_same(before, after):
    assert not same_source(before, after, glued=False)


def test_white_space_around_statements_counts_where_nothing_else_is_compared():
    before, after = "select a{% if x %}_b{% endif %}", "select a {% if x %}_b{% endif %}"
    assert same_source(before, after, glued=False)
    assert not same_source(before, after, glued=True)
