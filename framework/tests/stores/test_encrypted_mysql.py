"""Connections to MySQL that are encrypted and verified by `ssl_ca`, on a MariaDB with TLS."""

import shutil
import tempfile
from pathlib import Path

import pytest
from support.certificates import create_certificates
from support.mariadb import PASSWORD, mariadb_running
from support.spark import SPARK_WARNINGS
from support.stored_tables import Store, minute

from millstream.core.errors import MillstreamError

pytestmark = SPARK_WARNINGS


@pytest.fixture(scope="module")
def folder():
    folder = Path(tempfile.mkdtemp(prefix="millstream-tls-"))
    folder.chmod(0o755)  # the server runs as a user of its own
    for name in ("trusted", "other", "of_other_host"):
        create_certificates(folder / name, "127.0.0.2" if name == "of_other_host" else "127.0.0.1")
    yield folder
    shutil.rmtree(folder)


def options(certificates):
    files = [f"--ssl-{kind}={certificates}/server.{end}" for kind, end in (("cert", "pem"), ("key", "key"))]
    return [*files, "--require-secure-transport=ON"]


@pytest.fixture(scope="module")
def port(folder):
    with mariadb_running(*options(folder / "trusted")) as (_, port):
        yield port


def store_on(port, certificate, spark, root):
    settings = {"mysql_username": "owner", "mysql_password": PASSWORD}
    return Store(
        spark,
        root,
        {"store": "mysql", "mysql_url": f"mysql://127.0.0.1:{port}/shop?ssl_ca={certificate}"} | settings,
    )


def test_rows_are_written_looked_up_and_queried_encrypted(spark, tmp_path, folder, port):
    store = store_on(port, folder / "trusted/ca.pem", spark, tmp_path)
    for local in (False, True):
        store.local = local
        store.create(retention=None)
        store.batch(("a", minute(0), 1), ("b", minute(0), 2))
        assert store.read('"user", value') == [("a", 1), ("b", 2)]
        rows = store.tables.rows(store.spark, store.table).collect()
        assert sorted(row["user"] for row in rows) == ["a", "b"]
        store.tables.drop(store.table)
        store.number = -1


def test_a_server_that_the_certificate_does_not_prove_gets_no_rows(spark, tmp_path, folder, port):
    store = store_on(port, folder / "other/ca.pem", spark, tmp_path)
    with pytest.raises(MillstreamError, match="CERTIFICATE_VERIFY_FAILED"):
        store.create(retention=None)


def test_a_server_of_another_name_gets_no_rows(spark, tmp_path, folder):
    certificates = folder / "of_other_host"
    with mariadb_running(*options(certificates)) as (_, port):
        store = store_on(port, certificates / "ca.pem", spark, tmp_path)
        with pytest.raises(MillstreamError, match="IP address mismatch"):
            store.create(retention=None)
