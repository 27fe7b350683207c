"""What Millstream says of SQL is what Spark's own analyser says: names, types, NULLs, and what is wrong."""

import re
from typing import Any

import pytest
from corpus import calls, queries, statements
from corpus import expressions as plain
from corpus.pairs import INTERVALS, PAIRS, TYPES
from corpus.reading import expressions, of_nulls, twice
from corpus.reading import queries as lines
from corpus.tables import COLUMNS, RELATIONS, VIEWS
from support.spark import SPARK_WARNINGS

from millstream.core.types import INTERVAL, STRING, UNKNOWN, Array, Field, Map, Row, Type, parse_type
from millstream.sql.analyze import analyze_sql
from millstream.sql.signatures import load_signatures
from millstream.sql.spark_functions import OTHERS
from millstream.sql.values import Analysis, SqlDiagnostic

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

MORE_NULLABLE = frozenset(
    {
        # Millstream's types don't tell whether an element or a field can be NULL: it can.
        "array_contains(array(1), 1)", "arrays_overlap(array(1), array(2))", "flatten(array(a))",
        "element_at(array(1), 1)", "array(1, 2)[0]", "array(1, 2, 3)[1]", "struct(ts, s).ts", "struct(*).i",
        "named_struct('p', i).p", "array(st).p", "explode(array(1, 2))", "explode(map('a', 1))",
        "inline(array(struct(1 as p, 'x' as q)))", "explode(split(s, ','))", "explode(sequence(dt, dt))",
        "posexplode(array(i))", "select * from explode(array(1, 2)) as t(v)", "exists(array(1), x -> x > 0)",
        "map_from_entries(array(struct(i, s)))", "map_from_entries(collect_list(struct(s, i)))",
        "select map_from_entries(transform(sts, e -> struct(e.q, e.p))) as q from models.t",
        "select explode(split(customer, ',')) as part from models.orders",
        "select id, part from models.orders lateral view explode(split(customer, ',')) as part",
        "select id, part from models.orders lateral view explode(split(customer, ',')) p as part where part <> ''",
        "select named_struct('a', 1, 'b', named_struct('c', 2)).b.c as x",
        "select inline(array(struct(1 as a, 'x' as b)))",
        # Spark knows of each pair of types whether TRY_CAST can fail.
        "try_cast(i as string)",
    }
)  # fmt: skip
"""Where Millstream says that a value can be NULL and Spark knows better. The reverse is never right."""

CONSTANT = re.compile(r"'(.*)' can't be cast to (\S+)", re.DOTALL)
"""The error of a constant text, which Spark's analyzer accepts: see test_constant_texts."""

NOT_KNOWN = frozenset({"from_json(s, schema_of_json('{\"a\": 1}'))"})
"""Where Millstream does not know the type."""


@pytest.fixture(scope="module")
def spark(first_spark):
    session = first_spark.newSession()
    for view in VIEWS:
        session.sql(view)
    return session


Columns = list[tuple[str, Type, bool]]


def of_spark(run, *arguments) -> Columns | str:
    """Return Spark's columns, or what it says is wrong."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        fields = run(*arguments).schema.jsonValue()["fields"]
    except PySparkException as error:
        return f"{error.getCondition() or 'PARSE'} {error}"
    except Py4JJavaError as error:
        # An alias in a generator is an internal error of Spark's analyzer.
        return f"INTERNAL {error}"
    return [(field["name"], _type(field["type"]), field["nullable"]) for field in fields]


def _type(json_type: Any) -> Type:
    match json_type:
        case {"type": "array", "elementType": element}:
            return Array(_type(element))
        case {"type": "map", "keyType": key, "valueType": value}:
            return Map(_type(key), _type(value))
        case {"type": "struct", "fields": fields}:
            return Row(tuple(Field(field["name"], _type(field["type"])) for field in fields))
        case str() if json_type.startswith(("interval", "string", "time(")):
            return (
                INTERVAL
                if json_type.startswith("interval")
                else STRING
                if json_type.startswith("string")
                else UNKNOWN
            )
        case _:
            return parse_type(
                {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}.get(
                    json_type, json_type
                )
            )


def analysis(sql: str) -> Analysis:
    return analyze_sql(sql, RELATIONS.get, lambda: ["orders", "customers", "t"], {})


def mistakes(analyzed: Analysis) -> list[SqlDiagnostic]:
    """Return what is wrong with a query, leaving out the rules of names that models have and Spark doesn't."""
    return [
        diagnostic
        for diagnostic in analyzed.diagnostics
        if diagnostic.code not in {"MS408", "MS409"} and not CONSTANT.fullmatch(diagnostic.message)
    ]


def difference(sql: str, theirs: Columns, written: str = "") -> str:
    """Return how the analysis differs from Spark's, '' when it doesn't."""
    analyzed = analysis(sql)
    if wrong := mistakes(analyzed):
        return f"{sql}: false alarm {wrong[0].code} {wrong[0].message}"
    ours = [(column.name, column.type, column.nullable) for column in analyzed.columns]
    if any(diagnostic.code == "MS409" for diagnostic in analyzed.diagnostics):
        # What has no name of its own is a mistake in a model; the others still have to be right.
        names = {name for name, _, _ in ours}
        theirs = [column for column in theirs if column[0] in names]
    is_known = written in NOT_KNOWN or of_nulls(written) in NOT_KNOWN
    if [name for name, _, _ in ours] != [name for name, _, _ in theirs]:
        return f"{sql}: columns {[o[0] for o in ours]}, Spark {[t[0] for t in theirs]}"
    for (name, type_, nullable), (_, expected, can_be) in zip(ours, theirs, strict=True):
        if type_ != expected and not (is_known or written in INTERVALS):
            return f"{sql}: {name} is {type_}, Spark's {expected}"
        if nullable != can_be and not (nullable and written in MORE_NULLABLE):
            return f"{sql}: {name} can be NULL: {nullable}, Spark: {can_be}"
    return ""


EXPRESSIONS = [
    *twice(calls.MATHS), *twice(calls.TEXTS), *twice(calls.CONDITIONS), *twice(calls.TIMES), *twice(calls.COLLECTIONS),
    *twice(calls.AGGREGATES), *twice(calls.WINDOWS), *twice(plain.LITERALS), *twice(plain.OPERATORS),
    *twice(plain.CASTS),
]  # fmt: skip
_ORIGINALS = {of_nulls(original): original for original in MORE_NULLABLE | NOT_KNOWN}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(spark, expression):
    theirs = of_spark(spark.sql, f"select {expression} as o from models.t")
    assert not isinstance(theirs, str), theirs
    written = _ORIGINALS.get(expression, expression)
    assert not difference(f"select {expression} as o from models.t", theirs, written)


@pytest.mark.parametrize("expression", [*expressions(plain.NAMED), *twice(calls.GENERATORS)])
def test_names_that_spark_gives(spark, expression):
    theirs = of_spark(spark.sql, f"select {expression} from models.t")
    written = _ORIGINALS.get(expression, expression)
    assert not difference(f"select {expression} from models.t", theirs, written)


@pytest.mark.parametrize("expression", expressions(calls.GROUPED))
def test_expression_of_grouping_sets(spark, expression):
    sql = f"select {expression} as o from models.t group by cube(i, l)"
    assert not difference(sql, of_spark(spark.sql, sql))


@pytest.mark.parametrize("query", lines(queries.VALID))
def test_query(spark, query):
    theirs = of_spark(spark.sql, query)
    assert not isinstance(theirs, str), theirs
    assert not difference(query, theirs, query)


@pytest.mark.parametrize("query", queries.KEYWORDS)
def test_name_that_means_something_to_a_parser(spark, query):
    assert not difference(query, of_spark(spark.sql, query))


@pytest.mark.parametrize("query", lines(queries.STREAMING))
def test_streaming_syntax_is_sparks(spark, query):
    spark._jsparkSession.sessionState().sqlParser().parsePlan(query)
    assert not analysis(query).diagnostics


@pytest.mark.parametrize(("query", "expected"), queries.INVALID.items())
def test_refused_query(spark, query, expected):
    assert isinstance(of_spark(spark.sql, query), str)
    code, name = expected
    codes = [(p.code, query[p.start : p.stop]) for p in analysis(query).diagnostics]
    assert (code, name) in codes if name else code in dict(codes)


def test_statements_are_accepted_and_refused_as_by_spark(spark):
    different = []
    for query in statements.STATEMENTS.strip().splitlines():
        theirs = of_spark(spark.sql, query)
        ours = mistakes(analysis(query))
        if isinstance(theirs, str) != bool(ours):
            different.append(query)
        assert all(query[diagnostic.start : diagnostic.stop] for diagnostic in ours), query
    assert different == list(statements.DIFFERENT)


@pytest.mark.parametrize("operator", PAIRS)
def test_pair_of_types(spark, operator):
    values, template = PAIRS[operator]
    table = spark.table("models.t")
    different = []
    for left in values:
        pairs = [(left, right, template.format(left, right)) for right in values]
        theirs = of_all(table, [expression for _, _, expression in pairs])
        for (_, right, expression), answer in zip(pairs, theirs, strict=True):
            sql = f"select {expression} as o from models.t"
            if not isinstance(answer, str):
                different.append(difference(sql, answer, expression))
            elif not (mistakes(analysis(sql)) or _kinds(left, right) or operator == "="):
                different.append(f"{sql}: accepted; {answer.splitlines()[0]}")
    assert not [text for text in different if text and not _literals(text)]


def of_all(table, written: list[str]) -> list[Columns | str]:
    """Return what Spark says of each expression: together those that should be right, the others one by one."""
    right = [one for one in written if not mistakes(analysis(f"select {one} as o from models.t"))]
    together = of_spark(table.selectExpr, *(f"{one} as o" for one in right)) if right else []
    by_expression = (
        {}
        if isinstance(together, str)
        else {one: [column] for one, column in zip(right, together, strict=True)}
    )
    return [by_expression.get(one) or of_spark(table.selectExpr, f"{one} as o") for one in written]


def _kinds(left: str, right: str) -> bool:
    """Intervals of days and of months are one type to Millstream, and it does not know what a text holds."""
    return "ym" in {left, right}


def _literals(text: str) -> bool:
    """Two literals beside each other: Spark may know that one fits the other."""
    return bool(re.match(r"select [\d.L]+ \S+ [\d.L]+ as o", text)) and "can be NULL: True" in text


@pytest.mark.parametrize("type_", TYPES)
def test_cast(spark, type_):
    table = spark.table("models.t")
    different = []
    for column in (*COLUMNS, "null"):
        for function in ("cast", "try_cast"):
            sql = f"select {function}({column} as {type_}) as o from models.t"
            theirs = of_spark(table.selectExpr, f"{function}({column} as {type_}) as o")
            if isinstance(theirs, str):
                different += [] if mistakes(analysis(sql)) or "interval" in type_ else [f"{sql}: accepted"]
            elif text := difference(sql, theirs):
                different += [] if function == "try_cast" and "can be NULL: True" in text else [text]
    assert not different


@pytest.mark.parametrize("column", COLUMNS)
def test_union(spark, column):
    different = []
    for other in COLUMNS:
        sql = f"select {column} as o from models.t union all select {other} from models.t"
        theirs = of_spark(spark.sql, sql)
        if isinstance(theirs, str):
            different += (
                [] if mistakes(analysis(sql)) or {column, other} == {"iv", "ym"} else [f"{sql}: accepted"]
            )
        else:
            different += [text for text in [difference(sql, theirs)] if text]
    assert not different


def test_every_function_of_the_table_is_called():
    text = " ".join([queries.VALID, *(value for name, value in vars(calls).items() if name.isupper())])
    others = set(OTHERS.split())
    called = set(re.findall(r"\b(\w+)\s*\(", text))
    unable = {
        "from_avro",
        "from_protobuf",
        "to_avro",
        "to_protobuf",
    }  # only with jars that the tests don't have
    assert not load_signatures().keys() - others - called - unable


def test_every_function_of_spark_is_known(spark):
    # Not those that other tests or extensions bring.
    names = {row[0] for row in spark.sql("show system functions").collect()}
    operators = {name for name in names if not name.isidentifier()} | {
        "and",
        "between",
        "case",
        "cast",
        "div",
        "in",
        "or",
        "when",
    }
    assert not names - operators - load_signatures().keys()
