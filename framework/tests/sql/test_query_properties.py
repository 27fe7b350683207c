"""What holds for every query and expression of the corpus, however it is written, and for the example project."""

import random
import re
from pathlib import Path

import pytest
from corpus import calls, reading
from corpus import expressions as written
from corpus.queries import VALID
from corpus.tables import RELATIONS
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from rendered import rendered

from millstream.compile import compile_project
from millstream.queries.topology import read_catalog
from millstream.sql.analyze import analyze_sql
from millstream.sql.query import OpaqueBody
from millstream.sql.tokens import Tokens, tokenize_sql
from millstream.sql.values import Analysis

QUERIES = reading.queries(VALID)
UNDERSTOOD_WHOLE = re.compile(
    r" over |over \(|order by|sort by|limit|intersect|except select|except all|minus|values|cube|rollup|"
    r"grouping sets|exists|in \(select|lateral \(select|tablesample|distribute by|cluster by|qualify|"
    r"^from |\(select id\)|= o\.customer\)"
)
"""What a query has that is run as it is."""
EXPRESSIONS = [
    f"select {expression} as x from models.t"
    for text in (
        *(written.LITERALS, written.OPERATORS, written.CASTS, calls.MATHS, calls.TEXTS, calls.CONDITIONS),
        *(calls.TIMES, calls.COLLECTIONS, calls.AGGREGATES),
    )
    for expression in reading.expressions(text)
]


def analysis(sql: str) -> Analysis:
    return analyze_sql(sql, RELATIONS.get, list, {})


@pytest.mark.parametrize("sql", QUERIES)
def test_every_query_without_a_mistake_says_something(sql):
    analyzed = analysis(sql)
    assert (analyzed.query is None) == bool(analyzed.diagnostics)
    if analyzed.query is not None and isinstance(analyzed.query.body, OpaqueBody):
        assert UNDERSTOOD_WHOLE.search(sql), analyzed.query.body.reasons


@pytest.mark.parametrize("sql", [*QUERIES, *EXPRESSIONS])
def test_written_as_sql_again_it_has_the_same_columns(sql):
    analyzed = analysis(sql)
    if analyzed.query is None or isinstance(analyzed.query.body, OpaqueBody):
        return
    again = analysis(rendered(analyzed.query))
    assert not again.diagnostics, (rendered(analyzed.query), again.diagnostics)
    assert again.columns == analyzed.columns
    assert again.functions == analyzed.functions
    assert again.query is not None
    assert again.query.body.__class__ is analyzed.query.body.__class__


def spaced(sql: str, seed: int) -> str:
    """Write the same SQL with other spaces, comments and line ends, and keywords in capitals."""
    chance = random.Random(seed)
    tokens = tokenize_sql(sql)
    assert isinstance(tokens, Tokens)
    parts: list[str] = []
    position = 0
    for token in tokens.tokens:
        gap, raw = sql[position : token.start], sql[token.start : token.end + 1]
        if token.start < position:
            continue
        if gap.isspace():
            gap = chance.choice([" ", "  ", "\n", " /* it's */ ", " -- x\n"])
        elif not gap and {raw, sql[position - 1 : position]} & _PUNCTUATION and parts:
            gap = chance.choice(["", " "])
        if raw.lower() in _KEYWORDS and sql[: token.start][-1:] != ".":
            raw = raw.upper()
        parts += [gap, raw]
        position = token.end + 1
    return "".join([*parts, sql[position:]])


_PUNCTUATION = frozenset("(),=+/[")
_KEYWORDS = frozenset(
    [
        "select",
        "from",
        "where",
        "group",
        "by",
        "having",
        "as",
        "and",
        "or",
        "not",
        "in",
        "is",
        "null",
        "case",
        "when",
        "then",
        "else",
        "end",
        "join",
        "left",
        "on",
        "using",
        "between",
        "like",
        "union",
        "all",
        "distinct",
        "interval",
        "within",
        "ignore",
        "nulls",
    ]
)


def placeless(value: object) -> object:
    """Return a value without the places where its parts stand."""
    match value:
        case Struct():
            fields = [name for name in value.__struct_fields__ if name not in {"start", "stop"}]
            return type(value).__name__, *(placeless(getattr(value, name)) for name in fields)
        case tuple():
            return tuple(map(placeless, value))
        case dict():
            return {name: placeless(part) for name, part in value.items()}
        case _:
            return value


@given(sql=st.sampled_from([*QUERIES, *EXPRESSIONS]), seed=st.integers(0, 1000))
def test_formatting_makes_no_difference(sql, seed):
    once, again = analysis(sql), analysis(spaced(sql, seed))
    if once.query is None or isinstance(once.query.body, OpaqueBody):
        return
    assert again.query is not None, spaced(sql, seed)
    assert placeless(again.query) == placeless(once.query)


def test_every_model_of_the_example_project_is_taken_apart():
    compiled = compile_project(Path(__file__).parents[3], use_cache=False)
    assert compiled.diagnostics == ()
    models = read_catalog(compiled).models
    assert models
    assert [id_ for id_, model in models.items() if isinstance(model.query.body, OpaqueBody)] == []
