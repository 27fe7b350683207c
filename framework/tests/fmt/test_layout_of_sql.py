"""The layout of SQL, and that it is the same in a second run."""

import pytest

from millstream.core.errors import MillstreamError
from millstream.core.text import FileText
from millstream.fmt.files import format_text
from millstream.fmt.layout import Style, lay_out


def laid_out(sql, **style):
    return lay_out(FileText("models/m.sql", sql), Style(**style))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("SELECT a, B AS Total FROM t\n", "select a, B as Total from t\n"),
        ("select transform(xs, X->X+1) as ys from t", "select transform(xs, X -> X + 1) as ys from t\n"),
        ("select aggregate(xs, 0, (acc,x)->acc+x) from t", "select aggregate(xs, 0, (acc, x) -> acc + x) from t\n"),
        ("select a::INT, INTERVAL 1 DAY from t", "select a::INT, interval 1 DAY from t\n"),
        ("select `A b`, m['K'], x <=> y from t", "select `A b`, m['K'], x <=> y from t\n"),
        ("select window.start,WINDOW.end from t", "select window.start, WINDOW.end from t\n"),
        ("select a from t group by window(at,'5 seconds'),a", "select a from t group by window(at, '5 seconds'), a\n"),
        ("select exists(xs,x->x>1) from t", "select exists(xs, x -> x > 1) from t\n"),
        ("select count(*) FILTER (WHERE x>1) from t", "select count(*) filter (where x > 1) from t\n"),
        ("select y from t LATERAL VIEW OUTER explode(xs) s AS y", "select y from t lateral view outer explode(xs) s as y\n"),
        ("select a from t ORDER BY a DESC NULLS   LAST", "select a from t order by a desc nulls last\n"),
        ("select a.desc, t.Null from t", "select a.desc, t.Null from t\n"),
        ("select 'It''s  {{ var('a') }}' as x from t", "select 'It''s  {{ var('a') }}' as x from t\n"),
        ("select {% raw %}'{{ x }}'{% endraw %} as x from t", None),
        ("{{ config(key='a') }}\n\nSELECT a from t", "{{ config(key='a') }}\n\nselect a from t\n"),
        ("select 1 as a -- {{ a comment }} that is longer than the line of this style may be\n", None),
    ],
)  # fmt: skip
def test_layout(written, expected):
    after = laid_out(written)
    assert laid_out(after) == after
    file = format_text(FileText("models/m.sql", written), Style())
    assert (file.error, file.after) == (None, after)
    if expected is not None:
        assert after == expected


def test_a_list_that_does_not_fit_has_a_line_for_each_item():
    assert laid_out("select first_column, second_column from t", line_length=30, indent=4) == (
        "select\n    first_column,\n    second_column\nfrom t\n"
    )


def test_lines_that_are_switched_off_stay():
    sql = "select\n  a,\n  -- fmt: off\n  B   ,  C,\n  -- fmt: on\n  d\nfrom t\n"
    assert laid_out(sql) == sql


def test_unreadable_sql_is_located():
    sql = "select\n  (a\nfrom t]\n"
    with pytest.raises(MillstreamError) as raised:
        laid_out(sql)
    (error,) = raised.value.diagnostics
    assert (error.code, error.location.line, error.line) == ("MS731", 3, "from t]")
