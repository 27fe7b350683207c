"""A cluster of YARN: Hadoop's own ResourceManager and a NodeManager, which starts containers as processes."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

import pyspark

from millstream.local.jars import Jar, fetch_jars
from millstream.local.java import find_java

HOME = Path(pyspark.__file__).parent
SERVERS = Jar(
    "org.apache.hadoop", "hadoop-client-minicluster", "3.5.0",
    "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c", 56006450,
)  # fmt: skip
CASTLE = tuple(
    Jar("org.bouncycastle", f"{name}-jdk18on", "1.78.1", checksum, size)
    for name, checksum, size in (
        ("bcprov", "add5915e6acfc6ab5836e1fd8a5e21c6488536a8c1f21f386eeb3bf280b702d7", 8324412),
        ("bcpkix", "4b48ea084e5232b9d79ebca1887b9de037b124931807cd60710748c2aee08cc9", 1125173),
        ("bcutil", "d9fa56f97b0f761ce3bc8d9d74c5d7137a987bf5bd3abfe1003f9bafa45a1d2f", 705135),
    )
)
SERVER = "org.apache.hadoop.yarn.server"
PORTS = {
    "address": "client",
    "scheduler.address": "scheduler",
    "resource-tracker.address": "tracker",
    "admin.address": "admin",
    "webapp.address": "web",
}


class Yarn:
    """A running cluster: `configuration` is the folder for HADOOP_CONF_DIR."""

    def __init__(self, folder, web):
        self.folder, self.configuration, self._web = folder, folder / "conf", web

    def request(self, path):
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self._web}/ws/v1/cluster/{path}", timeout=60
        ) as answer:
            return json.load(answer)

    def logs(self):
        """Return what containers wrote."""
        files = sorted((self.folder / "logs").rglob("std*"))
        return "\n".join(f"{file}:\n{file.read_text(errors='replace')[-6000:]}" for file in files)


@contextmanager
def yarn(folder):
    with ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in PORTS]
        for held_socket in held:
            held_socket.bind(("127.0.0.1", 0))
        ports = dict(zip(PORTS, (held_socket.getsockname()[1] for held_socket in held), strict=True))
    (folder / "conf").mkdir(parents=True)
    addresses = {f"yarn.resourcemanager.{name}": f"127.0.0.1:{port}" for name, port in ports.items()}
    settings = addresses | {
        "yarn.scheduler.capacity.root.queues": "default",
        "yarn.scheduler.capacity.root.default.capacity": "100",
        "yarn.scheduler.capacity.maximum-am-resource-percent": "1",
        "yarn.nodemanager.hostname": "127.0.0.1",
        "yarn.nodemanager.address": "127.0.0.1:0",
        "yarn.nodemanager.localizer.address": "127.0.0.1:0",
        "yarn.nodemanager.webapp.address": "127.0.0.1:0",
        "yarn.nodemanager.local-dirs": f"{folder}/local",
        "yarn.nodemanager.log-dirs": f"{folder}/logs",
        "yarn.nodemanager.resource.memory-mb": "6144",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.enable": "false",
    }
    _write(folder / "conf/yarn-site.xml", settings)
    _write(folder / "conf/core-site.xml", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": f"{folder}/tmp"})
    jars = fetch_jars(("servers",), catalog={"servers": (SERVERS, *CASTLE)})["servers"]
    # Hadoop's client comes with PySpark.
    path = os.pathsep.join([str(folder / "conf"), *map(str, jars), f"{HOME}/jars/*"])
    cluster = Yarn(folder, ports["webapp.address"])
    with ExitStack() as stack:
        for name in ("resourcemanager.ResourceManager", "nodemanager.NodeManager"):
            log = stack.enter_context((folder / f"{name}.log").open("w"))
            command = [str(find_java().program), "-Xmx256m", "-cp", path, f"{SERVER}.{name}"]
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            stack.callback(_kill, process)
        _until_ready(cluster)
        yield cluster


def _until_ready(cluster):
    deadline = time.monotonic() + 300
    while True:
        try:
            if (cluster.request("nodes")["nodes"] or {}).get("node", [{}])[0].get("state") == "RUNNING":
                return
        except OSError:
            pass  # it does not listen yet
        assert time.monotonic() < deadline, [log.read_text() for log in cluster.folder.glob("*.log")]
        time.sleep(0.2)


def _kill(process):
    """Kill a server; containers are sessions of their own, and end with the application."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def _write(file, settings):
    rows = (
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    )
    file.write_text(f"<configuration>{''.join(rows)}</configuration>")
