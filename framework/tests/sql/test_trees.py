"""The structure of expressions, as rules ask for it."""

import pytest

from millstream.core.expressions import Expression, Ref
from millstream.core.node_id import NodeId
from millstream.core.types import UNKNOWN, parse_type
from millstream.sql.analyze import analyze_sql
from millstream.sql.call_pieces import call_arguments, pieces_text, split_sql
from millstream.sql.trees import (
    CallTree,
    CastTree,
    ColumnTree,
    FieldOf,
    IntervalTree,
    LiteralTree,
    OperatorTree,
    OtherTree,
    called_function,
    calls_window_function,
    column_that_is_known,
    compared_columns,
    is_distinct,
    tree_of,
    window_calls,
    window_lengths,
)
from millstream.sql.values import InputRelation, RelationColumn

COLUMNS = {
    "a": "bigint",
    "b": "bigint",
    "s": "string",
    "at": "timestamp",
    "w": "struct<start:timestamp,end:timestamp>",
    "v": "variant",
    "list": "array<bigint>",
}
RELATION = InputRelation(
    NodeId("model", "r"), tuple(RelationColumn(n, parse_type(t), True) for n, t in COLUMNS.items())
)


def expression(sql):
    analysis = analyze_sql(f"select {sql} as e from models.r", lambda _: RELATION, list, {})
    assert not analysis.diagnostics, (sql, analysis.diagnostics)
    return analysis.query.body.items[0].expression


def shown(tree):
    """Return a tree as a text."""
    match tree:
        case ColumnTree():
            return tree.name
        case LiteralTree(value=value):
            return "?" if value is None else repr(value)
        case IntervalTree(fixed=fixed):
            return "length" if fixed else "months"
        case FieldOf(base=base, name=name):
            return f"{shown(base)}.{name}"
        case CastTree(of=of, type=type_):
            return f"cast({shown(of)}, {type_})"
        case CallTree(name=name, arguments=parts, distinct=distinct):
            return f"{name}({'distinct ' if distinct else ''}{', '.join(map(shown, parts))})"
        case OperatorTree(sign=sign, operands=parts):
            return f"[{sign} {' '.join(map(shown, parts))}]"
        case OtherTree(kind=kind, parts=parts):
            return f"<{kind} {' '.join(map(shown, parts))}>"


TREES = {
    "a": "a",
    "(a)": "a",
    "w.start": "w.start",
    "w.`end`": "w.end",
    "cast(a as string)": "cast(a, string)",
    "a::decimal(10, 2)": "cast(a, decimal(10,2))",
    "cast(s as varchar(3))": "<cast s>",
    "try_cast(s as int)": "<try_cast s>",
    "-a + 2L": "[+ [negative a] 2]",
    "5S": "?",
    "2.5": "?",
    "date '2026-01-31'": "?",
    "'plain'": "'plain'",
    "r'raw'": "?",
    r"'a\nb'": "?",
    "s || '-' || a": "[|| [|| s '-'] a]",
    "upper(s) = 'X' and not a > 1": "[and [= upper(s) 'X'] [not [> a 1]]]",
    "a == 1 or a <=> b": "[or [= a 1] [<=> a b]]",
    "a <> 1": "[<> a 1]",
    "a is not null": "[not [is null a]]",
    "a between 1 and 2": "[between a 1 2]",
    "s in ('x', 'y')": "[in s 'x' 'y']",
    "s like 'x%'": "[like s 'x%']",
    "at - interval 1 hour 5 minutes": "[- at [+ length length]]",
    "at + interval '1' month": "[+ at months]",
    "at + interval '3 days'": "[+ at length]",
    "struct(a as x, b)": "struct(a, b)",
    "filter(list, x -> x > a)": "filter(list, <lambda [> <identifier > a] <identifier >>)",
    "v:x.y::string": "cast(<path v>, string)",
    "(v):x.y::string": "< v>",
    "case when a > 1 then b end": "<case <if [> a 1] b>>",
}


@pytest.mark.parametrize("sql", TREES)
def test_the_structure_of_an_expression(sql):
    assert shown(tree_of(expression(sql))) == TREES[sql]


def test_a_subquery_has_the_columns_of_the_outer_query():
    condition = Expression((Ref("a"), " not in (select x from y where z = ", Ref("b", "^r"), ")"), UNKNOWN)
    assert shown(tree_of(condition)) == "[not <in subquery a b>]"


def test_sql_that_is_not_read_only_has_columns():
    assert shown(tree_of(Expression((Ref("a"), " >>> 1"), UNKNOWN))) == "< a>"


def test_facts_of_calls():
    call = Expression(("window(", Ref("at"), ", '10 minutes', '5 minutes')"), UNKNOWN)
    assert called_function(call) == "window"
    assert window_lengths(call) == ("10 minutes", "5 minutes")
    assert len(window_calls(Expression((*call.pieces, ".start"), UNKNOWN))) == 1
    assert called_function(Expression((*call.pieces, ".start"), UNKNOWN)) == ""
    assert is_distinct(Expression(("count(distinct ", Ref("a"), ")"), UNKNOWN))
    assert not is_distinct(Expression(("count(", Ref("a"), ")"), UNKNOWN))
    assert calls_window_function(Expression(("sum(", Ref("a"), ") over (order by b) + 1"), UNKNOWN))
    assert not calls_window_function(expression("concat(s, 'over (')"))


def test_columns_of_conditions():
    one, other = Ref("a", "l"), Ref("b", "r")
    assert compared_columns(Expression((one, " = ", other), UNKNOWN)) == (one, other)
    assert compared_columns(Expression(("(", one, " == ", other, ")"), UNKNOWN)) == (one, other)
    assert compared_columns(Expression((one, " <=> ", other), UNKNOWN)) is None
    assert compared_columns(Expression((one, " <=> ", other), UNKNOWN), "=", "<=>") == (one, other)
    assert column_that_is_known(Expression((one, " is not null"), UNKNOWN)) == "a"
    assert column_that_is_known(Expression((one, " is null"), UNKNOWN)) is None


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("f()", [""]),
        ("f(a)", ["a"]),
        ("f( a , g(b, 'x, y') , list[0] )", ["a", "g(b, 'x, y')", "list[0]"]),
        ("count(distinct a)", ["a"]),
        ("f('(', ')')", ["'('", "')'"]),
    ],
)
def test_arguments_of_a_call(sql, expected):
    assert [pieces_text(pieces) for pieces in call_arguments(Expression((sql,), UNKNOWN))] == expected


@pytest.mark.parametrize(
    "sql", ["f(100L, 'it''s', `a``b`)", "a -- c\n b", "1.5e3>=b<=>c||d::int", "'open", "ä(1)"]
)
def test_words_are_together_the_sql(sql):
    assert "".join(split_sql(sql)) == sql


def test_a_number_with_a_suffix_is_one_word():
    assert split_sql("100L + 1") == ["100L", " ", "+", " ", "1"]
