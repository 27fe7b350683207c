"""Tables and reference topics that keep versions: their columns and keys, and what an edit means for their rows."""

import re

import pytest
from support.runs import job_of
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.queries.values import RowVersions
from millstream.queries.verdict import compare_signatures

EVENTS, USERS = "{{ source('shop', 'events') }}", "{{ source('shop', 'users') }}"
TABLE = f"{{{{ config(materialized='table', unique_key='user_id') }}}} select user_id, type, at from {EVENTS}"


def config(more, key="user_id"):
    return f"{{{{ config(materialized='table', unique_key={key!r}, {more}) }}}} "


def table(root, sql, name="m", **models):
    """Return what a table stores."""
    queries = job_of(versioned(root, m=sql, **models)).physical.queries
    return next(table for query in queries for table in query.tables if table.model.endswith(name))


def versioned(root, **models):
    project(root, models)
    sources = root / "models/sources.yml"
    sources.write_text(sources.read_text().replace("table: true", "table: true\n        versions: 7 days"))
    return root


VERSIONED = {
    "events": ("versions='30 days', order_by='at'", f"select user_id, type, at from {EVENTS}", ("30 days", False)),
    "forever": ("versions='all', order_by='at'", f"select user_id, at from {EVENTS}", ("", False)),
    "an aggregate": ("versions='all', unbounded_state='accept'", f"select user_id, count(*) as n from {EVENTS} group by user_id", ("", True)),
    "a table": ("versions='1 day'", "select user_id, type from {{ ref('t') }}", ("1 day", True)),
    "a table with times": ("versions='1 day', order_by='at'", "select user_id, type, at from {{ ref('t') }}", ("1 day", True)),
    "opaque SQL": ("versions='all', order_by='at'", f"select * from (select user_id, at, type from {EVENTS}) unpivot (value for name in (type))", ("", False)),
}  # fmt: skip


@pytest.mark.parametrize("name", VERSIONED)
def test_what_keeps_versions(name, tmp_path):
    more, sql, (keep, replaces) = VERSIONED[name]
    (tmp_path / "models").mkdir()
    (tmp_path / "models/m.yml").write_text(
        "models: [{name: m, columns: [{name: user_id, type: string}, {name: at, type: timestamp}]}]\n"
        if name == "opaque SQL"
        else "{}\n"
    )
    versions_table = table(tmp_path, config(more) + sql, t=TABLE)
    assert versions_table.keys == ("user_id", "valid_from")
    assert [str(c.type) for c in versions_table.columns if c.name in {"valid_from", "valid_to"}] == [
        "timestamp"
    ] * 2
    assert versions_table.versions == RowVersions(("user_id",), keep, replaces)
    assert "order_by" not in versions_table.options


def test_versions_of_a_reference_topic(tmp_path):
    sql = f"{{{{ config(materialized='sink') }}}} select e.type, u.segment from {EVENTS} as e join {USERS} as u on u.user_id = e.user_id and u.valid_to is null"
    users = table(tmp_path, sql, "users")
    assert [column.name for column in users.columns] == ["user_id", "segment", "valid_from", "valid_to"]
    assert (users.keys, users.versions) == (("user_id", "valid_from"), RowVersions(("user_id",), "7 days"))


READERS = {
    "a table that copies them": config("", ["user_id", "valid_from"]) + f"select user_id, valid_from, segment from {USERS}",
    "a sink": f"{{{{ config(materialized='sink', key=['user_id', 'valid_from']) }}}} select * from {USERS}",
    "a table over them": config("", "segment") + f"select segment, count(*) as n from {USERS} where valid_to is null group by segment",
    "a table over them and another one": config("") + f"select t.user_id, u.segment from {{{{ ref('t') }}}} as t left join {USERS} as u on u.user_id = t.user_id and u.valid_from <= t.at and (u.valid_to is null or t.at < u.valid_to)",
    "versions of versions": config("versions='all'", "segment") + "select segment, n from {{ ref('groups') }}",
}  # fmt: skip
GROUPS = (
    config("", "segment")
    + f"select segment, count(*) as n from {USERS} where valid_to is null group by segment"
)


@pytest.mark.parametrize("name", READERS)
def test_what_reads_versions(name, tmp_path):
    root = versioned(tmp_path, m=READERS[name], t=TABLE, groups=GROUPS)
    assert compile_project(root).diagnostics == ()
    stored = [table.model for query in job_of(root).physical.queries for table in query.tables]
    assert "source.shop.users" in stored


def test_a_column_of_records_is_none_of_versions(tmp_path):
    root = versioned(
        tmp_path, m=config("") + f"select user_id, max(_offset) as last from {USERS} group by user_id"
    )
    (diagnostic,) = compile_project(root).diagnostics
    assert (diagnostic.code, diagnostic.message) == ("MS402", "column '_offset' does not exist")


JOINS = {
    "an inner join": ("join R as r on r.user_id = o.user_id", "o.at", "r"),
    "a left join": ("left join R as r on r.user_id = o.user_id or r.segment = 'all'", "o.at", "r"),
    "a relation without an alias": ("join R on users.user_id = o.user_id", "o.at", "users"),
    "a semi join": ("left semi join R as r on o.user_id = r.user_id", "o.at", "r"),
    "a table": ("join T as r on r.user_id = o.user_id and r.type > 'a'", "o.at", "r"),
    "another join": ("join R as r on r.user_id = o.user_id join P as p on p.user_id = o.user_id", "o.at", "r"),
    "quoted names": ("join R as `r x` on `r x`.user_id = o.user_id", "o.`at`", "`r x`"),
    "a full name": ("join R as r on r.user_id = o.user_id", "P.at", "r"),
}  # fmt: skip
NAMES = {"R": USERS, "T": "{{ ref('versions') }}", "P": "{{ ref('t') }}"}
VERSIONS = config("versions='all', order_by='at'") + f"select user_id, type, at from {EVENTS}"


@pytest.mark.parametrize("name", JOINS)
def test_as_of_a_time_is_conditions_on_the_times_of_versions(name, tmp_path):
    join, time, alias = JOINS[name]
    first = "P" if time.startswith("P") else "P as o"
    select = f"select {time.split('.')[0]}.user_id from {first} {join}".replace(
        "o.user_id", f"{time.split('.')[0]}.user_id"
    )
    clause = f"for system_time as of {time} "
    position = re.search(r"(?<=join [RT] )", select).end()
    as_of = select[:position] + clause + select[position:]
    bounds = f"({alias}.valid_from is null or {alias}.valid_from <= {time}) and ({alias}.valid_to is null or {time} < {alias}.valid_to)"
    before, condition, after = re.fullmatch(r"(.*? on )(.*?)( join P.*|)", select).groups()
    written = f"{before}({condition}) and {bounds}{after}"
    maintained = []
    for sql in (as_of, written):
        text = re.sub(r"\b[RTP]\b", lambda match: NAMES[match.group()], sql)
        queries = job_of(
            versioned(tmp_path, m=config("") + text, t=TABLE, versions=VERSIONS)
        ).physical.queries
        maintained += [
            q.maintaining.maintenance
            for q in queries
            if q.maintaining and q.maintaining.target.model == "model.m"
        ]
    one, other = (
        [maintenance.all_rows, maintenance.restricted, *(t.sql for t in maintenance.touched)]
        for maintenance in maintained
    )
    plain = re.compile(r"[\s()`]+|inner ")
    assert [plain.sub("", sql) for sql in one] == [plain.sub("", sql) for sql in other]
    assert not any("system_time" in sql for sql in one)


REFUSED = {
    "no column": ("MS430", "join R for system_time as of timestamp'2026-01-01' as r on r.user_id = o.user_id", "FOR SYSTEM_TIME AS OF needs a column"),
    "no time": ("MS407", "join R for system_time as of o.type as r on r.user_id = o.user_id", "a version is valid at a time, and 'type' is string"),
    "no versions": ("MS430", "join P for system_time as of o.at as r on r.user_id = o.user_id", "'r' keeps no versions"),
    "no ON": ("MS430", "join R for system_time as of o.at as r using (user_id)", "FOR SYSTEM_TIME AS OF needs a join with ON"),
    "a later relation": ("MS402", "join R for system_time as of s.at as r on r.user_id = o.user_id join P as s on true", "relation or column 's' is not in scope"),
    "SQL that is not split": ("MS430", "join R for system_time as of o.at as r on r.user_id = o.user_id order by o.user_id", "FOR SYSTEM_TIME AS OF is not supported within SQL that Millstream can't split into clauses"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_time_of_a_version(name, tmp_path):
    code, join, message = REFUSED[name]
    text = re.sub(
        r"\b[RP]\b", lambda match: NAMES[match.group()], f"select o.user_id, o.type from P as o {join}"
    )
    sql = config("") + text
    errors = compile_project(versioned(tmp_path, m=sql, t=TABLE)).diagnostics
    assert [(diagnostic.code, diagnostic.message) for diagnostic in errors] == [(code, message)]


EDITS = {
    "a table gets versions": ("", "versions='30 days', ", "rebuild"),
    "versions are kept longer": ("versions='30 days', ", "versions='all', ", "stored"),
    "versions are kept for a shorter time": ("versions='30 days', ", "versions='1 day', ", "stored"),
    "nothing": ("versions='30 days', ", "versions='30 days', ", "same"),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_an_edit_means(name, tmp_path):
    before, after, kind = EDITS[name]
    signatures = []
    for more in (before, after):
        sql = config(f"{more}order_by='at'") + f"select user_id, type, at from {EVENTS}"
        queries = job_of(versioned(tmp_path, m=sql)).physical.queries
        signatures += [
            query.signature for query in queries if any(t.model == "model.m" for t in query.tables)
        ]
    assert compare_signatures(*signatures).kind == kind


TIMES = {
    "a field": ("[{name: rate, type: double}, {name: valid_from, type: timestamp}]", ""),
    "a field that is renamed": ("[{name: rate, type: double}, {name: begins, type: timestamp, from: valid_from}]", ""),
    "a field that is read": ("[{name: rate, type: double}, {name: valid_from, type: timestamp}, {name: begins, from: valid_from}]", ""),
    "a field of a schema": ("[]", "format: avro, schema: schemas/rates.avsc, "),
}  # fmt: skip
SCHEMA = """
{"type": "record", "name": "Rate", "fields": [{"name": "rate", "type": "double"},
 {"name": "valid_from", "type": {"type": "long", "logicalType": "timestamp-millis"}}]}
"""


@pytest.mark.parametrize("name", TIMES)
def test_a_field_with_the_name_of_a_time_of_versions(name, tmp_path):
    columns, more = TIMES[name]
    rates = "{{ source('shop', 'rates') }}"
    root = project(tmp_path, {})
    sources = root / "models/sources.yml"
    (root / "schemas").mkdir()
    (root / "schemas/rates.avsc").write_text(SCHEMA)
    before = sources.read_text()
    topic = f"      - {{name: rates, key: {{name: currency}}, table: true, {more}columns: {columns}, versions: all}}\n"
    sources.write_text(f"{before}{topic}")
    (diagnostic,) = compile_project(root).diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS682", "models/sources.yml")
    assert diagnostic.help.startswith("remove `versions`, and keep versions in a table")
    begins = "begins" if "begins" in columns else "valid_from as begins"
    topic = topic.replace(", versions: all", "")
    if "from: valid_from" in columns and "name: valid_from" not in columns:
        topic, begins = (
            topic.replace("begins, type: timestamp, from: valid_from", "valid_from, type: timestamp"),
            "valid_from as begins",
        )
    sources.write_text(f"{before}{topic}")
    options = "materialized='table', unique_key='currency', versions='all', order_by='begins'"
    (root / "models/versions.sql").write_text(
        f"{{{{ config({options}) }}}} select currency, rate, {begins} from {rates}"
    )
    assert compile_project(root).diagnostics == ()
