"""Records what connectors of Debezium write, for the tests: `python benchmarks/debezium/record.py`.

It starts PostgreSQL and MariaDB, runs the SQL below, and writes what embedded connectors capture to
`framework/tests/support/debezium_records`, with the rows that the databases have at the end. Maven fetches the
connectors. For records in Avro, name the jars of a converter, and its class, such as
`--avro "/usr/share/java/kafka-connect-avro/*" --avro-data io.confluent.connect.avro.AvroData`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import psycopg
import pymysql
from psycopg.types.string import TextLoader

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "framework" / "tests"))
from support.postgres import free_port, program  # noqa: E402

OUTPUT = ROOT / "framework" / "tests" / "support" / "debezium_records"
LAST = "the last one"

PG_TYPES = """
create type mood as enum ('sad', 'happy');
create extension if not exists hstore;
create table kinds (
  id int primary key, small smallint, big bigint, flag boolean, single real, twice double precision,
  price numeric(12,2), anyscale numeric, words text, code char(3), uid uuid, doc json, docb jsonb, raw bytea,
  day date, at timestamp, at3 timestamp(3), atz timestamptz, clock time, clockz timetz, span interval,
  tags text[], numbers int[], prices numeric(6,2)[], days date[], pairs hstore, feeling mood, bits bit(9), onebit bit(1), varbits varbit(20),
  money money, net inet, spot point, range int4range, big_text text, xml_ xml
);
alter table kinds alter column big_text set storage external;
create table pairs (shop text, number int, word text, primary key (shop, number));
alter table pairs replica identity full;
"""

PG_ROWS = [
    "insert into kinds values (1, -7, 9007199254740993, true, 1.5, -2.25, 1234.50, 3.14159, 'Zoë \"x\"', 'ab', '6f0c2e1a-4d0e-4f6b-8a53-0d9cf1f0a111', '{\"a\": 1}', '{\"b\": [1, 2]}', '\\xdeadbeef', '2024-02-29', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789012+02', '12:34:56.789012', '12:34:56+02', '1 year 2 mons 3 days 04:05:06.789', '{a,NULL,\"b c\"}', '{1,2}', '{1.25,-3.50}', '{2024-01-01}', 'a=>1,b=>NULL', 'happy', B'101010101', B'1', B'1011', 12.34, '10.0.0.1/8', '(1,2)', '[1,5)', repeat('x', 3000), '<a/>')",
    "insert into kinds (id) values (2)",
    "insert into kinds (id, price, anyscale, day, at, atz) values (3, -0.01, -123456789012345678901234567890.5, '0001-01-01', '1900-01-01 00:00:00.000001', '1969-12-31 23:59:59.999999+00')",
]

PG_CHANGES = [
    "update kinds set words = 'moved' where id = 1",
    "insert into kinds (id, anyscale, at, day) values (4, 1e3, 'infinity', 'infinity')",
    "update kinds set id = 5 where id = 2",
    "delete from kinds where id = 3",
    "begin; insert into pairs values ('eu', 1, 'a'), ('us', 1, 'b'); update pairs set word = 'c' where shop = 'eu'; delete from pairs where shop = 'us'; commit",
    "truncate pairs",
    "insert into pairs values ('eu', 2, 'after')",
    "insert into kinds (id, words) values (99, 'the last one')",
]

MY_TYPES = """
create database shop;
use shop;
create table kinds (
  id int primary key, tiny tinyint, flag tinyint(1), small smallint unsigned, medium mediumint, big bigint, ubig bigint unsigned,
  single float, twice double, price decimal(12,2), words varchar(50), code char(3), doc json, raw varbinary(20), fixed binary(4), blob_ blob,
  day date, at datetime, at3 datetime(3), at6 datetime(6), ts timestamp null, ts6 timestamp(6) null, clock time, clock6 time(6), y year,
  feeling enum('sad','happy'), colors set('red','green','blue'), bits bit(9), onebit bit(1), spot point, long_text longtext
);
create table pairs (shop varchar(5), number int, word varchar(20), primary key (shop, number));
"""

MY_ROWS = [
    "insert into kinds values (1, -7, 1, 65535, -8388608, 9007199254740993, 18446744073709551615, 1.5, -2.25, 1234.50, 'Zoë \"x\"', 'ab', '{\"a\": 1}', x'deadbeef', x'01020304', x'00ff', '2024-02-29', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789012', '12:34:56', '-12:34:56.789012', 2024, 'happy', 'red,blue', b'101010101', b'1', point(1,2), 'long')",
    "insert into kinds (id) values (2)",
    "insert into kinds (id, day, at, ts) values (3, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00')",
]

MY_CHANGES = [
    "update kinds set words = 'moved' where id = 1",
    "insert into kinds (id, day, at6, ubig) values (4, '9999-12-31', '1000-01-01 00:00:00.000001', 9223372036854775808)",
    "update kinds set id = 5 where id = 2",
    "delete from kinds where id = 3",
    "begin; insert into pairs values ('eu', 1, 'a'), ('us', 1, 'b'); update pairs set word = 'c' where shop = 'eu'; delete from pairs where shop = 'us'; commit",
    "truncate table pairs",
    "insert into pairs values ('eu', 2, 'after')",
    "insert into kinds (id, words) values (99, 'the last one')",
]

POSTGRES = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.user": "owner",
    "database.password": "secret",
    "database.dbname": "postgres",
    "plugin.name": "pgoutput",
    "table.include.list": "public.kinds,public.pairs",
}
MARIADB = {
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "connector.adapter": "mariadb",
    "database.protocol": "jdbc:mariadb",
    "database.jdbc.driver": "org.mariadb.jdbc.Driver",
    "database.user": "owner",
    "database.password": "secret",
    "database.include.list": "shop",
    "database.ssl.mode": "disabled",
    "database.connectionTimeZone": "UTC",
    "snapshot.locking.mode": "minimal",
    "include.schema.changes": "false",
    "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
}
FLAT = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "transforms.unwrap.add.fields": "op,source.ts_ms",
}
OTHER_MODES = {
    "time.precision.mode": "connect",
    "decimal.handling.mode": "string",
    "binary.handling.mode": "base64",
    "provide.transaction.metadata": "true",
}
RUNS = {
    "postgres": ("postgres", "3.0.8.Final", {}),
    "postgres_modes": (
        "postgres",
        "3.0.8.Final",
        {**OTHER_MODES, "interval.handling.mode": "string", "hstore.handling.mode": "map"},
    ),
    "postgres_flat": ("postgres", "3.0.8.Final", FLAT),
    "mariadb": ("mysql", "2.6.2.Final", {}),
    "mariadb_modes": ("mysql", "2.6.2.Final", {**OTHER_MODES, "bigint.unsigned.handling.mode": "precise"}),
    "mariadb_flat": ("mysql", "2.6.2.Final", FLAT),
}
"""By the name of a file: the connector, its version, and what its settings have besides the usual ones."""


@contextmanager
def postgres(folder):
    shutil.chown(folder, "postgres")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "user": "postgres", "cwd": folder}
    initdb = (program("initdb"), "-D", folder / "data", "-U", "owner", "-A", "trust", "-E", "UTF8")
    subprocess.run([*initdb, "--no-sync", "--locale=C"], check=True, **quiet)
    settings = ("listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "wal_level=logical")
    port = free_port()
    options = [part for setting in settings for part in ("-c", setting)]
    server = subprocess.Popen(
        [program("postgres"), "-D", folder / "data", "-p", str(port), *options], **quiet
    )

    def connect():
        login = {"host": "127.0.0.1", "port": port, "user": "owner", "dbname": "postgres"}
        connection = psycopg.connect(**login, autocommit=True, options="-c timezone=UTC")
        for kind in ("date", "timestamp", "timestamptz"):  # Python has no infinity
            connection.adapters.register_loader(kind, TextLoader)
        return connection

    try:
        yield port, connected(connect, psycopg.OperationalError)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


@contextmanager
def mariadb(folder):
    shutil.chown(folder, "mysql")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "user": "mysql", "cwd": folder}
    install = ("mariadb-install-db", "--no-defaults", f"--datadir={folder / 'data'}", "--skip-test-db")
    subprocess.run([*install, "--auth-root-authentication-method=normal"], check=True, **quiet)
    port = free_port()
    start = folder / "start.sql"
    start.write_text(
        "create user 'owner'@'127.0.0.1' identified by 'secret';"
        "\ngrant all on *.* to 'owner'@'127.0.0.1' with grant option;\n"
    )
    options = (f"--datadir={folder / 'data'}", f"--socket={folder / 'socket'}", f"--port={port}")
    options += ("--bind-address=127.0.0.1", "--skip-name-resolve", f"--init-file={start}", "--sql-mode=")
    options += ("--log-bin=mysql-bin", "--binlog-format=ROW", "--server-id=7", "--default-time-zone=+00:00")
    server = subprocess.Popen(["mariadbd", "--no-defaults", *options], **quiet)

    def connect():
        flags = pymysql.constants.CLIENT.MULTI_STATEMENTS
        login = {"host": "127.0.0.1", "port": port, "user": "owner", "password": "secret"}
        return pymysql.connect(**login, autocommit=True, client_flag=flags)

    try:
        yield port, connected(connect, pymysql.err.OperationalError)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def connected(connect, error):
    until = time.monotonic() + 60
    while True:
        try:
            return connect()
        except error:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def run_sql(connection, statement):
    """Run statements; return the rows of the first, by the names of columns."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        names = [column[0] for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in (cursor.fetchall() if names else ())]
        while cursor.nextset():
            pass
        return rows


def as_json(value):
    match value:
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return value // timedelta(microseconds=1)
        case bytes() | memoryview():
            return bytes(value).hex()
        case Decimal():
            return format(value, "f")
        case set():
            return ",".join(sorted(value))
        case _:
            return str(value)


def jars_of(folder, connector, version):
    jars = folder / f"{connector}-{version}"
    command = ["mvn", "-q", "-B", "-f", HERE / "pom.xml", "dependency:copy-dependencies"]
    command += [f"-Dconnector={connector}", f"-Dengine={version}", f"-DoutputDirectory={jars}"]
    subprocess.run(command, check=True)
    return f"{jars}/*"


def start_engine(folder, name, port, avro):
    connector, version, more = RUNS[name]
    path = f"{jars_of(folder, connector, version)}:{avro.avro}"
    classes, output, settings = (
        folder / f"{name}.classes",
        folder / f"{name}.jsonl",
        folder / f"{name}.properties",
    )
    subprocess.run(["javac", "-cp", path, "-d", classes, HERE / "Record.java"], check=True)
    usual = {
        "name": name,
        "topic.prefix": name,
        "database.hostname": "127.0.0.1",
        "database.port": port,
        "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
        "offset.flush.interval.ms": 0,
        "skipped.operations": "none",
        "poll.interval.ms": 50,
    }
    if connector == "postgres":
        usual |= {**POSTGRES, "slot.name": name, "publication.name": f"of_{name}"}
    else:
        history = folder / f"{name}.history"
        usual |= {**MARIADB, "schema.history.internal.file.filename": history}
        usual |= {"database.server.id": 100 + [*RUNS].index(name)}
    settings.write_text("".join(f"{key}={value}\n" for key, value in (usual | more).items()))
    command = ["java", "-cp", f"{path}:{classes}", "Record", settings, output, LAST]
    environment = os.environ | ({"AVRO_DATA": avro.avro_data} if avro.avro_data else {})
    log = (folder / f"{name}.log").open("wb")
    engine = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    until = time.monotonic() + 120
    while not (output.exists() and '"id":3' in output.read_text()):  # the last row of the snapshot
        if engine.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"{name} captured no snapshot: {(folder / f'{name}.log').read_text()[-3000:]}")
        time.sleep(0.1)
    return engine, output


def compact(lines, rows):
    """Return records, whose schemas are numbers of those in a list."""
    schemas = {}

    def number(schema):
        return schemas.setdefault(json.dumps(schema), len(schemas))

    def part(value):
        return value and {**value, "schema": number(value["schema"])}

    records = [
        {name: content if name == "topic" else part(content) for name, content in json.loads(line).items()}
        for line in lines
    ]
    return {"rows": rows, "schemas": [json.loads(text) for text in schemas], "records": records}


def record(folder, names, server, statements, avro):
    """Capture changes with all connectors of a database at the same time."""
    types, before, changes = statements
    with server(folder / server.__name__) as (port, connection):
        run_sql(connection, types)
        for statement in before:
            run_sql(connection, statement)
        engines = {name: start_engine(folder, name, port, avro) for name in names}
        for statement in changes:
            run_sql(connection, statement)
            time.sleep(0.02)  # so that transactions have times of their own
        rows = {table: run_sql(connection, f"select * from {table}") for table in ("kinds", "pairs")}
        for name, (engine, output) in engines.items():
            engine.wait(300)
            content = compact(output.read_text().splitlines(), rows)
            OUTPUT.mkdir(exist_ok=True)
            text = json.dumps(content, ensure_ascii=False, default=as_json, separators=(",", ":"))
            # A record a line, so that differences can be seen.
            (OUTPUT / f"{name}.json").write_text(text.replace('{"topic":', '\n{"topic":') + "\n")
            print(f"{name}: {len(content['records'])} records")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--avro", default="", help="class path of a converter to Avro")
    parser.add_argument("--avro-data", default="", help="its class AvroData")
    avro = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millstream-debezium-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for server in (postgres, mariadb):
            (folder / server.__name__).mkdir()
        names = [run for run in RUNS if run.startswith("postgres")]
        record(folder, names, postgres, (PG_TYPES, PG_ROWS, PG_CHANGES), avro)
        names = [run for run in RUNS if run.startswith("mariadb")]
        record(folder, names, mariadb, (MY_TYPES, MY_ROWS, MY_CHANGES), avro)


if __name__ == "__main__":
    main()
