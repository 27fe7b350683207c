"""Tables without a key: which rows they can have, and which options."""

import pytest
from support.runs import job_of
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.queries.verdict import compare_signatures

EVENTS = "{{ source('shop', 'events') }}"
SELECT = f"select user_id, type, tags, amount, at, cast(at as date) as day from {EVENTS}"


def compiled(root, config, sql=SELECT, **models):
    models = {"raw": f"{{{{ config(materialized='table'{config}) }}}} {sql}", **models}
    return compile_project(project(root, models), use_cache=False)


def diagnostics(root, config, sql=SELECT, **models):
    return [(d.code, d.message, d.help) for d in compiled(root, config, sql, **models).diagnostics]


@pytest.mark.parametrize(
    "config",
    ["", ", partition_by='day'", ", partition_by=['day', 'type']", ", cluster_by=['user_id']",
     ", retention='30 days', order_by='at'", ", order_by='at', delete_when='amount < 0', delete_by=['user_id', 'type']",
     ", order_by='day', delete_when='amount < 0', delete_by='user_id', partition_by='day', retention='90 days'", ", target_file_size='32 MB'", ", dedupe={'keys': 'amount'}"],
)  # fmt: skip
def test_rows_that_only_come_need_no_key(tmp_path, config):
    assert diagnostics(tmp_path, config) == []


@pytest.mark.parametrize(
    ("config", "code", "message", "remedy"),
    [
        (", order_by='at'", "MS518", "table 'raw' has no unique_key, which 'order_by' needs",
         "set the columns that identify a row: config(unique_key='…'); or remove 'order_by': then each row is appended"),
        (", delete_by=['day', 'days'], delete_when='amount < 0', order_by='at'", "MS519",
         "'delete_by' names 'days', which is not a column of this model", "did you mean 'day'?"),
        (", versions='all'", "MS518", "table 'raw' has no unique_key, which 'versions' needs",
         "set the columns that identify a row: config(unique_key='…'); or remove 'versions': then each row is appended"),
        (", unique_key='user_id', partition_by='day'", "MS121",
         "'partition_by' arranges the files of append-only tables, but 'raw' has a unique_key",
         "remove it, or remove unique_key: then each row is appended"),
        (", store='postgres', partition_by='day'", "MS121", "'partition_by' arranges files, and a table in PostgreSQL has none",
         "remove it, or set store='delta'"),
        (", partition_by='day', cluster_by='type'", "MS121", "'cluster_by' arranges rows instead of 'partition_by'", "remove one of them"),
        (", cluster_by='tags'", "MS697", "files can't be arranged by 'tags', which is of type array<string>",
         "name a column with a number, a text, a date or a time"),
        (", partition_by='days'", "MS519", "'partition_by' names 'days', which is not a column of this model", "did you mean 'day'?"),
    ],
)  # fmt: skip
def test_an_option_that_does_not_fit_is_reported_once(tmp_path, config, code, message, remedy):
    assert diagnostics(tmp_path, config)[:1] == [(code, message, remedy)]


def test_all_columns_as_partitions_leave_nothing_to_store(tmp_path):
    reported = diagnostics(
        tmp_path, ", partition_by=['user_id', 'day']", f"select user_id, date(at) as day from {EVENTS}"
    )
    assert [code for code, *_ in reported] == ["MS121"]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (f"select type, count(*) as n from {EVENTS} group by type",
         "table 'raw' gets the row of each type again when it changes, but has no unique_key"),
        ("select user_id, segment from {{ source('shop', 'users') }}",
         "table 'raw' gets the row of each user_id again when it changes, but has no unique_key"),
    ],
)  # fmt: skip
def test_rows_that_change_need_a_key(tmp_path, sql, message):
    assert diagnostics(tmp_path, "", sql)[0][:2] == ("MS518", message)


def test_readers_compute_the_rows_by_themselves(tmp_path):
    total = "{{ config(materialized='table', unique_key='type') }} select type, sum(amount) as total from {{ ref('raw') }} group by type"
    recent = "{{ config(materialized='sink') }} select user_id, at from {{ ref('raw') }} where amount > 3"
    assert compiled(tmp_path, "", total=total, recent=recent).diagnostics == ()


def errors_of(compiled_project):
    return [d for d in compiled_project.diagnostics if d.severity == "error"]


def over_raw(options, sql):
    return f"{{{{ config(materialized='table'{options}) }}}} {sql} "


PARQUET = "shop: {target: local, outputs: {local: {master: 'local[2]', kafka: embedded, tables: {parquet_path: lake}}}}"
COUNT = "select type, count(*) as n from {{ ref('raw') }} group by type"
RANKS = (
    "select user_id, at, row_number() over (partition by user_id order by at) as place from {{ ref('raw') }}"
)
TOP = "select user_id, at, amount from {{ ref('raw') }} order by amount, at limit 3"


@pytest.mark.parametrize(
    ("options", "sql", "by"),
    [
        (", unique_key='type', refresh='incremental'", COUNT, ("type",)),
        (", unique_key='type', refresh='keys'", COUNT, ("type",)),
        (", unique_key='type', refresh='full'", COUNT, ()),
        (", unique_key=['user_id', 'at'], refresh='full', every='1 hour'", TOP, ()),
        (", unique_key=['user_id', 'at']", RANKS, ("user_id",)),
    ],
)
def test_a_table_over_an_append_only_table_reads_what_is_stored(tmp_path, options, sql, by):
    root = tmp_path / "shop"
    assert errors_of(compiled(root, "", total=over_raw(options, sql))) == []
    (query,) = (query for query in job_of(root).physical.queries if query.maintaining)
    assert query.maintaining.maintenance.by == by
    assert [read.relation for read in query.table_reads] == ["model.raw"]


@pytest.mark.parametrize(
    ("options", "sql", "code", "message"),
    [
        ("", RANKS, "MS530", "a window function"),
        (", unique_key='place'", RANKS.replace("partition by user_id ", ""), "MS543", "PARTITION BY"),
        (", unique_key='user_id'", TOP, "MS543", "ORDER is not analyzed"),
        (", unique_key='type', refresh='incremental'", COUNT.replace("ref('raw')", "ref('seen')"), "MS548", "computes the rows of seen by itself"),
        (", unique_key='type', refresh='incremental'", COUNT.replace("ref('raw')", "ref('filed')"), "MS545", "'filed' is stored in Parquet, which keeps no versions"),
    ],
)  # fmt: skip
def test_what_a_table_over_an_append_only_table_needs(tmp_path, options, sql, code, message):
    root = tmp_path / "shop"
    project(root, {"raw": f"{{{{ config(materialized='table') }}}} {SELECT}"})
    (root / "profiles.yml").write_text(PARQUET)
    (root / "models/seen.sql").write_text("select * from {{ ref('raw') }}")
    (root / "models/filed.sql").write_text(
        f"{{{{ config(materialized='table', store='parquet') }}}} {SELECT}"
    )
    (root / "models/total.sql").write_text(over_raw(options, sql))
    (diagnostic,) = errors_of(compile_project(root))
    assert diagnostic.code == code
    assert message in diagnostic.message
    assert diagnostic.location.path == "models/total.sql"


EDITS = {
    "a filter": (SELECT, SELECT + " where amount > 3", "", "stored"),
    "a value": (SELECT, SELECT.replace("amount,", "amount + 1 as amount,"), "", "stored"),
    "a rewrite": (SELECT + " where amount > 3", SELECT + " as e where e.amount > 3", "", "same"),
    "another folder": (SELECT, SELECT, "type", "rebuild"),
}


def test_another_request_or_column_of_requests_is_another_table(tmp_path):
    deleting = "order_by='at', delete_when='amount < 0', delete_by='user_id'"
    signatures = []
    for number, edit in enumerate([("", ""), ("< 0", "<= 0"), ("'user_id'", "'type'"), ("< 0", " < 0")]):
        config = f"{{{{ config(materialized='table', {deleting.replace(*edit)}) }}}} "
        (query,) = job_of(project(tmp_path / str(number), {"raw": config + SELECT})).physical.queries
        signatures.append(query.signature)
    kinds = [compare_signatures(signatures[0], signature).kind for signature in signatures]
    assert kinds == ["same", "stored", "stored", "same"]


def test_a_data_test_reads_a_table_that_deletes_rows(tmp_path):
    config = ", order_by='at', delete_when='amount < 0', delete_by='user_id'"
    root = project(tmp_path, {"raw": f"{{{{ config(materialized='table'{config}) }}}} {SELECT}"})
    (root / "tests").mkdir(exist_ok=True)
    (root / "tests/negative.sql").write_text("select * from {{ ref('raw') }} where amount < 0\n")
    assert compile_project(root, use_cache=False).diagnostics == ()


@pytest.mark.parametrize("edit", EDITS)
def test_rows_that_were_stored_count_in_the_verdict_on_an_edit(tmp_path, edit):
    first, second, folder, kind = EDITS[edit]
    queries = []
    for number, (sql, by) in enumerate([(first, "day"), (second, folder or "day")]):
        config = f"{{{{ config(materialized='table', partition_by='{by}') }}}} "
        root = project(tmp_path / str(number), {"raw": config + sql})
        (query,) = job_of(root).physical.queries
        queries.append(query)
    verdict = compare_signatures(*(query.signature for query in queries))
    assert verdict.kind == kind
    if folder:
        assert verdict.reasons == ("the table raw is partitioned by type instead of day",)
