"""A real MariaDB of Debian's package `mariadb-server`, in a folder of its own, on a free port."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pymysql
import pytest

from millstream.stores.mysql.schema import MysqlSchema
from support.postgres import free_port

PASSWORD = "pa ss/wo%rd"
_USER = "mysql" if os.geteuid() == 0 else None


@pytest.fixture(scope="session")
def mariadb_process():
    with mariadb_running() as started:
        yield started


@contextmanager
def mariadb_running(*more_options):
    """Start a server and yield its socket and port; stop the process that was started, by its id."""
    folder = Path(tempfile.mkdtemp(prefix="millstream-mariadb-"))
    if _USER:
        shutil.chown(folder, _USER)
    port = free_port()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "user": _USER, "cwd": folder}
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={folder / 'data'}", "--skip-test-db"]
    subprocess.run([*install, "--auth-root-authentication-method=normal"], check=True, **quiet)
    options = [f"--datadir={folder / 'data'}", f"--socket={folder / 'socket'}", f"--port={port}"]
    options += ["--bind-address=127.0.0.1", f"--pid-file={folder / 'pid'}", "--skip-name-resolve"]
    # Nothing of a test outlives the machine.
    options += ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M"]
    command = [shutil.which("mariadbd"), "--no-defaults", *options, *more_options]
    server = subprocess.Popen(command, **quiet)
    try:
        _wait(folder / "socket")
        yield folder / "socket", port
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def mariadb_server(mariadb_process):
    _, port = mariadb_process
    return MysqlSchema(f"mysql://127.0.0.1:{port}/Shop", "owner", PASSWORD, "Shop")


def _wait(socket):
    """Create the user, as soon as the server answers."""
    users = [f"'owner'@'{host}'" for host in ("127.0.0.1", "localhost")]
    statements = [f"create user {user} identified by '{PASSWORD}'" for user in users]
    statements += [f"grant all on *.* to {user} with grant option" for user in users]
    client = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "-e", "; ".join(statements)]
    until = time.monotonic() + 30
    while subprocess.run(client, check=time.monotonic() > until, capture_output=True).returncode:
        time.sleep(0.05)


@pytest.fixture
def mariadb(mariadb_server):
    """Return the server's database `Shop`, which does not exist yet."""
    rows(mariadb_server, 'drop database if exists "Shop"', database=None)
    return mariadb_server


def rows(schema, text, *, database=""):
    """Run SQL in the database; return what it selects."""
    login = {"host": schema.host, "port": schema.port, "user": schema.username, "password": PASSWORD}
    database = schema.schema if database == "" else database
    with pymysql.connect(
        **login, database=database, sql_mode="ANSI_QUOTES,STRICT_ALL_TABLES", autocommit=True
    ) as connection:
        cursor = connection.cursor()
        cursor.execute(text)
        return list(cursor.fetchall())


def client_rows(schema, text):
    """Return what the program `mariadb` prints for a query: another client, and another driver than Millstream's."""
    command = ["mariadb", "--no-defaults", "-h", schema.host, "-P", str(schema.port), "-u", schema.username]
    done = subprocess.run(
        [*command, "--batch", "--raw", "--skip-column-names", schema.schema, "-e", text],
        env={**os.environ, "MYSQL_PWD": PASSWORD},
        capture_output=True,
        text=True,
        check=True,
    )
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


def create_guest(schema):
    """Create a user who may not create anything; return the name."""
    rows(schema, "drop user if exists guest", database=None)
    rows(schema, f"create user guest identified by '{PASSWORD}'", database=None)
    return "guest"


def allow_guest(schema):
    """Let the guest create tables in the database."""
    rows(schema, f'create database if not exists "{schema.schema}"', database=None)
    rows(schema, f'grant all on "{schema.schema}".* to guest', database=None)
