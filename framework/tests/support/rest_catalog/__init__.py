"""A REST catalog of Iceberg tables: the server that Iceberg tests clients with."""

import os
import socket
import subprocess
import urllib.request
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyspark
from pyiceberg.catalog import load_catalog

from millstream.local.jars import catalog_in, fetch_jars, read_catalog
from millstream.local.java import find_java
from support.s3 import LOGIN

_MAIN = "org.apache.iceberg.rest.RESTCatalogServer"
_OF_PYSPARK = ("jackson", "slf4j", "hadoop-client", "jakarta.servlet", "avro", "log4j", "commons-lang3")
_FOR_S3 = ("jcl-over-slf4j", "httpclient-4", "httpcore-4", "commons-codec")


class RestCatalog(NamedTuple):
    uri: str

    @property
    def client(self):
        return load_catalog("lake", type="rest", uri=self.uri)

    def new_namespace(self):
        """Create a namespace for one test."""
        name = f"shop_{uuid.uuid4().hex[:8]}"
        self.client.create_namespace(name)
        return name

    def settings(self, namespace, more="", after=", "):
        """Return `tables:` of a profile for a namespace, and `catalogs:` after it."""
        tables = f"{{{more}iceberg_catalog: lake, iceberg_namespace: {namespace}}}"
        return f'{tables}{after}catalogs: {{lake: {{type: rest, uri: "{self.uri}"}}}}'

    def rows(self, namespace, name):
        """Return the rows of a table, as pyiceberg reads them."""
        return self.client.load_table((namespace, name)).scan().to_arrow().to_pylist()


SITE = """<configuration>
<property><name>fs.s3.impl</name><value>org.apache.hadoop.fs.s3a.S3AFileSystem</value></property>
<property><name>fs.s3a.endpoint</name><value>{}</value></property>
<property><name>fs.s3a.path.style.access</name><value>true</value></property>
</configuration>"""


@contextmanager
def rest_catalog(folder, s3=None):
    """Run the server, and yield its address.

    Its tables are in the folder, which must exist, or below `s3://shop/catalog` of a server of S3.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    catalog = {**read_catalog(), **catalog_in(Path(__file__).with_name("jars.toml"))}
    # The server's own tests have a class of Hadoop's client of S3, too.
    features = [*(["s3"] if s3 else []), "rest_catalog", "iceberg"]
    jars = [*fetch_jars(features, catalog=catalog).values()]
    of_pyspark = [
        file
        for name in _OF_PYSPARK + _FOR_S3
        for file in (Path(pyspark.__file__).parent / "jars").glob(f"{name}*.jar")
    ]
    if s3:
        (folder / "core-site.xml").write_text(SITE.format(s3))
    classpath = os.pathsep.join(map(str, [folder, *(file for files in jars for file in files), *of_pyspark]))
    settings = {
        "CATALOG_CATALOG__IMPL": "org.apache.iceberg.jdbc.JdbcCatalog",
        "CATALOG_JDBC_SCHEMA__VERSION": "V1",
        "CATALOG_URI": f"jdbc:sqlite:{folder}/catalog.db",
        "CATALOG_WAREHOUSE": "s3://shop/catalog" if s3 else f"file://{folder}",
        "CATALOG_REST_PORT": str(port),
        "REST_PORT": str(port),
    }
    java = str(find_java().program)
    command = [java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classpath, _MAIN]
    with (folder.parent / "rest_catalog.log").open("w") as log:
        server = subprocess.Popen(command, env=os.environ | LOGIN | settings, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(server, address)
            yield address
        finally:
            server.terminate()
            server.wait()


def _wait_for(server, address):
    while True:
        assert server.poll() is None, "the catalog ended; see rest_catalog.log"
        try:
            with urllib.request.urlopen(f"{address}/v1/config", timeout=5):
                return
        except OSError:
            pass
