"""A REST catalog of Iceberg tables: the server that Iceberg tests clients with, over a folder."""

import os
import socket
import subprocess
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pyspark

from millstream.local.jars import catalog_in, fetch_jars, read_catalog
from millstream.local.java import find_java

_MAIN = "org.apache.iceberg.rest.RESTCatalogServer"
_OF_PYSPARK = ("jackson", "slf4j", "hadoop-client", "jakarta.servlet", "avro", "log4j", "commons-lang3")


@contextmanager
def rest_catalog(folder):
    """Run the server, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    catalog = {**read_catalog(), **catalog_in(Path(__file__).with_name("jars.toml"))}
    jars = [*fetch_jars(["rest_catalog", "iceberg"], catalog=catalog).values()]
    of_pyspark = [
        file for name in _OF_PYSPARK for file in (Path(pyspark.__file__).parent / "jars").glob(f"{name}*.jar")
    ]
    classpath = os.pathsep.join(map(str, [file for files in jars for file in files] + of_pyspark))
    settings = {
        "CATALOG_CATALOG__IMPL": "org.apache.iceberg.hadoop.HadoopCatalog",
        "CATALOG_WAREHOUSE": f"file://{folder}",
        "CATALOG_REST_PORT": str(port),
        "REST_PORT": str(port),
    }
    java = str(find_java().program)
    command = [java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classpath, _MAIN]
    with (folder.parent / "rest_catalog.log").open("w") as log:
        server = subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log)
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
