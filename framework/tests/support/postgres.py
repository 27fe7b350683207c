"""A real PostgreSQL of Debian's package `postgresql`, in a folder of its own, on a free port."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from millstream.stores.postgres.schema import PostgresSchema

PASSWORD = "pa ss/wo%rd"
_USER = "postgres" if os.geteuid() == 0 else None
"""The server refuses to run as root."""


def program(name):
    programs = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(programs[-1]) if programs else shutil.which(name)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="session")
def postgres_server():
    """Start a server; stop the process that was started, by its id."""
    folder = Path(tempfile.mkdtemp(prefix="millstream-postgres-"))
    secret, port = folder / "password", free_port()
    secret.write_text(PASSWORD)
    if _USER:
        for path in (folder, secret):
            shutil.chown(path, _USER)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "user": _USER, "cwd": folder}
    initdb = [
        "-U",
        "owner",
        "-A",
        "scram-sha-256",
        "--pwfile",
        secret,
        "-E",
        "UTF8",
        "--no-sync",
        "--locale=C",
    ]
    subprocess.run([program("initdb"), "-D", folder / "data", *initdb], check=True, **quiet)
    settings = [
        "listen_addresses=127.0.0.1",
        f"unix_socket_directories={folder}",
        "fsync=off",
        "shared_buffers=32MB",
    ]
    options = [part for setting in settings for part in ("-c", setting)]
    server = subprocess.Popen(
        [program("postgres"), "-D", folder / "data", "-p", str(port), *options], **quiet
    )
    schema = PostgresSchema(f"postgresql://127.0.0.1:{port}/postgres", "owner", PASSWORD)
    try:
        _wait(schema)
        yield schema
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(schema):
    until = time.monotonic() + 30
    while True:
        try:
            rows(schema, "select 1")
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


@pytest.fixture
def postgres(postgres_server):
    """Return an empty schema of the server."""
    schema = PostgresSchema(postgres_server.url, "owner", PASSWORD, "Shop")
    rows(schema, 'drop schema if exists "Shop" cascade')
    return schema


def rows(schema, text):
    """Run SQL in the schema; return what it selects."""
    host = urlsplit(schema.url)
    login = {"host": host.hostname, "port": host.port, "dbname": host.path[1:], "user": schema.username}
    with psycopg.connect(
        **login, password=PASSWORD, autocommit=True, options=f'-c search_path="{schema.schema}"'
    ) as connection:
        cursor = connection.execute(text)
        return cursor.fetchall() if cursor.description else []


def create_guest(schema):
    """Create a user who may not create anything; return the name."""
    rows(schema, "drop role if exists guest")
    rows(schema, f"create role guest login password '{PASSWORD}'")
    return "guest"


def allow_guest(schema):
    """Let the guest create tables; the next test drops them."""
    rows(schema, f'create schema if not exists "{schema.schema}"')
    rows(schema, f'grant usage, create on schema "{schema.schema}" to guest')
