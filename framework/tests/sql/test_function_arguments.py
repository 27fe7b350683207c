"""Every function and operator with every type in every place: compile accepts what Spark's analyzer accepts.

Where both accept, the types are equal, and what Millstream says is never NULL is never NULL in Spark.
"""

import json
import os
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import py4j.java_gateway
import py4j.protocol
import pytest
from corpus.arguments import function_calls, operator_uses
from corpus.tables import NOT_NULL, empty_table
from support.spark import SPARK_WARNINGS
from test_against_spark import CONSTANT
from test_against_spark import _type as type_of_spark

from millstream.core.types import UNKNOWN
from millstream.sql.analyze import analyze_sql
from millstream.sql.signatures import load_signatures
from millstream.sql.spark_functions import OTHERS

pytestmark = SPARK_WARNINGS

SAMPLE = int(os.environ.get("MILLSTREAM_ARGUMENTS", "1200"))
"""How many calls the short test compares; the long one compares all."""

REASONS = {
    # refused, although Spark accepts it
    "refused: it would return NULL for every row": r"\b(date_trunc|trunc)\(",
    "refused: a text that is not a number fails on every row": r"\b(round|randstr|approx_top_k)\(.*'x'",
    "refused: a constant text that is cast inside of what Spark replaces": r"\bbetween\b.*'x'|\bdecode\(.*'x'",
    "refused: Spark ignores the argument": r"\b(hour|minute|second)\(\w+, i\)",
    "refused: without an argument, it has no value": r"\b(lag|struct)\(\)",
    # accepted, although Spark refuses it
    "accepted: Millstream has one type of all intervals": r"\b(iv|ym)\b|\binterval\b",
    "accepted: a format that is neither a text nor a number": r"\b(to_char|to_varchar)\(n, ",
    "accepted: the range of this constant is not checked": r"\b(approx_count_distinct|count_min_sketch)\(",
    "accepted: sqlglot drops the fourth argument": r"\blike\(s, 'a%', '!', i\)",
    "accepted: FILTER of an aggregate of aggregates": r"sum\(sum\(i\)\) filter",
    "accepted: sqlglot drops a plus sign before a value": r"^select \+",
    # another type
    "type: Millstream has one type of all intervals": r"\b(iv|ym)\b|\binterval\b",
    "type: NULL next to a float": r"\bnanvl\(f, null\)",
    "type: sqlglot drops a plus sign before a value": r"^select \+",
}
"""Where Millstream and Spark disagree: how, why, and a pattern of the calls."""


class Judge(NamedTuple):
    columns: Callable[[str], Any]
    """From a SELECT to Spark's columns, or to what Spark says is wrong."""
    plan: Callable[[str], str]
    """From a SELECT that Spark accepts to its analyzed plan."""


@pytest.fixture(scope="module")
def judge(first_spark):
    session = first_spark.newSession()
    session.createDataFrame([], empty_table(session)).createOrReplaceTempView("t")
    analyzer = session._jsparkSession
    translated = py4j.java_gateway.get_return_value
    # PySpark translates each error with its Java stack, which takes longer than the analysis.
    py4j.java_gateway.get_return_value = py4j.protocol.get_return_value

    def columns(sql: str):
        try:
            schema = analyzer.sql(sql.replace("models.t", "t")).schema().json()
        except py4j.protocol.Py4JJavaError as error:
            return str(error.java_exception.getMessage()).splitlines()[0]
        return [(type_of_spark(field["type"]), field["nullable"]) for field in json.loads(schema)["fields"]]

    def plan(sql: str) -> str:
        return str(analyzer.sql(sql.replace("models.t", "t")).queryExecution().analyzed().toString())

    yield Judge(columns, plan)
    py4j.java_gateway.get_return_value = translated


def difference(judge, sql: str) -> str:
    """Return how compile and Spark disagree on a SELECT, '' if they agree."""
    ours, theirs = analyze_sql(sql, NOT_NULL.get, lambda: ["t"], {}), judge.columns(sql)
    wrong = [diagnostic for diagnostic in ours.diagnostics if diagnostic.code not in {"MS408", "MS409"}]
    if isinstance(theirs, str):
        return "" if wrong else f"accepted: {sql}: Spark: {theirs[:200]}"
    if wrong and all(_is_cast_by_spark(judge, sql, diagnostic.message) for diagnostic in wrong):
        return ""
    if wrong:
        return f"refused: {sql}: {wrong[0].code} {wrong[0].message}"
    for column, (type_, nullable) in zip(ours.columns, theirs, strict=False):
        if column.type not in {type_, UNKNOWN}:
            return f"type: {sql}: {column.type}, Spark: {type_}"
        if nullable and not column.nullable:
            return f"NULL: {sql}: never, Spark: can be"
    return ""


def _is_cast_by_spark(judge, sql: str, message: str) -> bool:
    """Return whether an error is that of a constant text, which Spark's plan casts to the same type."""
    constant = CONSTANT.fullmatch(message)
    if constant is None:
        return False
    plan = judge.plan(sql)
    # Sides of set operations are cast by the names of their columns.
    return f"cast({constant[1]} as {constant[2]})" in plan or "cast(o#" in plan


def reason(text: str) -> str:
    """Return why a difference is as it should be, '' if it isn't."""
    way, _, sql = text.partition(": ")
    reasons = ((why, pattern) for why, pattern in REASONS.items() if why.startswith(f"{way}:"))
    return next((why for why, pattern in reasons if re.search(pattern, sql)), "")


def unexplained(judge, selects: list[str]) -> list[str]:
    differences = (difference(judge, sql) for sql in selects)
    return [text for text in differences if text and not reason(text)]


def sample(selects: dict[str, str]) -> list[str]:
    """Return the same selects each time, with some of every function or operator."""
    ordered = sorted(selects)
    random.Random(20261128).shuffle(ordered)
    first: dict[str, list[str]] = {}
    for sql in ordered:
        first.setdefault(selects[sql], []).append(sql)
    picked = [sql for calls in first.values() for sql in calls[:2]]
    return list(dict.fromkeys([*picked, *ordered]))[: max(SAMPLE // 2, 1)]


@pytest.mark.timeout(300)
def test_sample_of_calls(judge):
    assert not unexplained(judge, [*sample(function_calls()), *sample(operator_uses())])


@pytest.mark.long
def test_all_calls(judge):
    assert not unexplained(judge, [*function_calls(), *operator_uses()])


def test_every_function_has_a_call_with_arguments():
    unable = {"from_avro", "from_protobuf", "to_avro", "to_protobuf"}  # with jars that the tests don't have
    without = {name for name, signature in load_signatures().items() if signature.most == 0}
    special = {
        "window",
        "session_window",
        "window_time",
        "range",
        "variant_explode",
        "variant_explode_outer",
        "extract",
    }
    called = {*function_calls().values()}
    assert load_signatures().keys() - {*OTHERS.split()} - called - unable - without - special == set()
