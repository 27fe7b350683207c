"""Columns that can't be written are refused by compile, where Spark would die in the first batch; the others are written."""

import pytest
from support.spark import SPARK_WARNINGS
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.core.expressions import Expression
from millstream.core.types import (
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP_NTZ,
    VARIANT,
    Array,
    Field,
    Map,
    Row,
    parse_type,
)
from millstream.formats.registry import Encoding, format_of

EVENTS, KEY = "{{ source('shop', 'events') }}", "user_id"
VALUES = {
    "interval 1 day": INTERVAL,
    "interval 1 month": INTERVAL,
    "make_interval(1)": INTERVAL,
    "timestamp'2026-01-02 00:00:00' - timestamp'2026-01-01 00:00:00'": INTERVAL,
    "null": NULL,
    "parse_json('{}')": VARIANT,
    "timestamp_ntz'2026-01-01 00:00:00'": TIMESTAMP_NTZ,
    "X'1F'": parse_type("binary"),
    "1.5": parse_type("decimal(2,1)"),
}
WITHIN = {
    "{}": lambda type_: type_,
    "array({})": Array,
    "struct({} as x)": lambda type_: Row((Field("x", type_),)),
    "map('k', {})": lambda type_: Map(STRING, type_),
}
COLUMNS = {
    within.format(value): of(type_) for value, type_ in VALUES.items() for within, of in WITHIN.items()
}
COLUMNS |= {"array()": Array(NULL), "map()": Map(NULL, NULL)}
CONFIGS = {
    "table": "materialized='table', unique_key='user_id'",
    "json": "materialized='sink', key='user_id'",
    "xml": "materialized='sink', key='user_id', format='xml'",
    "csv": "materialized='sink', key='user_id', format='csv'",
}


def compiled(root, destination, column):
    config = f"{{{{ config({CONFIGS[destination]}) }}}}\n"
    return compile_project(
        project(root, {"m": f"{config}select user_id,\n  {column} as v\nfrom {EVENTS}"})
    ).diagnostics


@pytest.mark.parametrize("destination", CONFIGS)
def test_columns_that_can_not_be_written_are_refused_where_they_are_computed(tmp_path, destination):
    """And the cast of the remedy works."""
    refused = set()
    for column in COLUMNS:
        errors = compiled(tmp_path, destination, column)
        if not errors:
            continue
        (diagnostic,) = errors
        location = diagnostic.location
        assert (diagnostic.code, location.path, location.line, location.column) == (
            "MS697",
            "models/m.sql",
            3,
            3,
        )
        refused.add(column)
        cast = diagnostic.help.partition("cast(… as ")[2]
        edited = f"cast({column} as {cast[: cast.index(')')]})" if cast else f"to_json({column})"
        assert compiled(tmp_path, destination, edited) == (), edited
    assert refused == {column for column, type_ in COLUMNS.items() if is_unwritten(destination, type_)}


def is_unwritten(destination, type_):
    text = str(type_)
    nested = "void" in text and type_ != NULL
    return (
        "interval" in text
        or (destination == "table" and nested)
        or (destination == "csv" and "variant" in text)
    )


def test_columns_in_postgres_are_refused_as_well(tmp_path):
    root = project(
        tmp_path,
        {
            "m": f"{{{{ config(materialized='table', unique_key='user_id', store='postgres') }}}} select user_id, array(interval 1 day) as v from {EVENTS}"
        },
    )
    (tmp_path / "profiles.yml").write_text(
        "shop: {target: local, outputs: {local: {tables: {url: 'postgresql://localhost/x'}}}}\n"
    )
    (diagnostic,) = compile_project(root).diagnostics
    assert (diagnostic.code, diagnostic.message.partition(" can't")[0]) == ("MS697", "PostgreSQL")


@pytest.mark.parametrize("digits", ["decimal(38,35)", "array<decimal(38,35)>"])
def test_columns_in_mysql_with_too_many_digits_are_refused(tmp_path, digits):
    profiles = "shop: {target: local, outputs: {local: {tables: {store: mysql, mysql_url: 'mysql://h/x'}}}}\n"
    config = "{{ config(materialized='table', unique_key='user_id') }}"
    for type_, refused in (
        (digits, True),
        (digits.replace("decimal(38,35)", "string"), False),
        (digits.replace("38,35", "38,30"), False),
    ):
        sql = f"{config} select user_id, cast(null as {type_}) as v from {EVENTS}"
        root = project(tmp_path, {"m": sql})
        (root / "profiles.yml").write_text(profiles)
        diagnostics = compile_project(root).diagnostics
        assert [diagnostic.code for diagnostic in diagnostics] == ["MS697"] * refused, diagnostics
        if refused:
            (diagnostic,) = diagnostics
            text = digits.replace("decimal(38,35)", "string")
            assert (diagnostic.message[:5], diagnostic.location.path) == ("MySQL", "models/m.sql")
            assert diagnostic.help == f"cast it to text: cast(… as {text})"


def test_a_table_over_tables_with_an_interval_is_refused(tmp_path):
    orders = f"{{{{ config({CONFIGS['table']}) }}}} select user_id, type, at from {EVENTS}"
    m = f"{{{{ config({CONFIGS['table']}) }}}} select user_id, max(at) - min(at) as v from {{{{ ref('orders') }}}} group by user_id"
    (diagnostic,) = compile_project(project(tmp_path, {"orders": orders, "m": m})).diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS697", "models/m.sql")


@pytest.mark.parametrize(
    ("sql", "under", "wrong", "right"),
    [
        ("select * from {{ ref('v') }}", "materialized", "*", "* except (d), cast(d as string) as d"),
        ("with x as (select * from {{ ref('v') }}) select v.* from x as v", "materialized", "v.*", "* except (d), cast(d as string) as d"),
        ("select user_id, d + d as d, at from {{ ref('v') }} union all select user_id, 1, at from {{ ref('v') }}", "d + d", "d + d", "datediff(at, timestamp'2026-01-01 00:00:00')"),
        ("select user_id, cast(at as date) - date'2026-01-01' as d from {{ ref('v') }}", "cast(at as date) - date'2026-01-01'", "cast(at as date) - date'2026-01-01'", "datediff(at, date'2026-01-01')"),
    ],
)  # fmt: skip
def test_an_interval_of_another_model_is_reported_at_what_the_model_declares(
    tmp_path, sql, under, wrong, right
):
    config = f"{{{{ config({CONFIGS['table']}) }}}}\n"
    v = f"select user_id, at - timestamp'2026-01-01 00:00:00' as d, at from {EVENTS}"
    union = "interval 1 day" if "union" in sql else "1"
    root = project(tmp_path, {"v": v, "m": config + sql.replace(", 1,", f", {union},")})
    (diagnostic,) = compile_project(root).diagnostics
    line = (root / "models/m.sql").read_text().splitlines()[diagnostic.location.line - 1]
    shown = line[diagnostic.location.column - 1 : diagnostic.location.end - 1]
    assert (diagnostic.code, shown) == ("MS697", under)
    assert right.partition("(at")[0] in diagnostic.help
    project(root, {"v": v, "m": config + sql.replace(wrong, right, 1)})
    assert compile_project(root).diagnostics == ()


def test_views_can_have_intervals(tmp_path):
    models = {"v": f"select user_id, at - timestamp'2026-01-01 00:00:00' as d, at from {EVENTS}"}
    models["m"] = (
        f"{{{{ config({CONFIGS['table']}) }}}} select user_id, at from {{{{ ref('v') }}}} where d > interval 1 day"
    )
    assert compile_project(project(tmp_path, models)).diagnostics == ()


@SPARK_WARNINGS
@pytest.mark.long
def test_delta_writes_all_others_and_none_of_these(tmp_path, first_spark):
    written = {
        column: _is_written(first_spark, column, tmp_path / str(index))
        for index, column in enumerate(COLUMNS)
    }
    assert written == {column: not is_unwritten("table", type_) for column, type_ in COLUMNS.items()}


@SPARK_WARNINGS
@pytest.mark.long
@pytest.mark.parametrize("name", ["xml", "csv"])
def test_formats_write_all_others(name, first_spark):
    for column, type_ in COLUMNS.items():
        if not is_unwritten(name, type_):
            pieces = format_of(Encoding(name)).spark.encode([("v", Expression((column,), type_))])
            assert first_spark.sql(f"select {''.join(map(str, pieces))}").collect()


def _is_written(spark, column, path):
    from pyspark.errors import PySparkException

    try:
        spark.sql(f"select 1 as id, {column} as v").write.format("delta").save(str(path))
    except PySparkException:
        return False
    return True
