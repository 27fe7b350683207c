"""A real Kafka that wants to know who we are, and permits little."""

import socket
import subprocess
import time

import pytest

from millstream.core.errors import MillstreamError
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.local.jars import fetch_jars
from millstream.local.java import find_java
from millstream.project.secrets import Secret

PASSWORD = 'pa"ss;word\\ü'
SERVER = """\
process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=SASL_PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=SASL_PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={jaas}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:root;User:ANONYMOUS
log.dirs=data
offsets.topic.replication.factor=1
auto.create.topics.enable=false
"""
JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="root" password="r" user_root="r" user_ann="pa\\"ss;word\\\\ü";'
)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def secured_port(tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("secure"), free_port()
    jaas = "".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in JAAS.replace("\\", "\\\\"))
    (folder / "server.properties").write_text(SERVER.format(port=port, controller=free_port(), jaas=jaas))
    jars = ":".join(map(str, fetch_jars(["broker"], None)["broker"]))
    command = [find_java().program, "-Xmx300m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars]
    form = [
        *command,
        "kafka.tools.StorageTool",
        "format",
        "-t",
        "MkU3OEVBNTcwNTJENDM2Qg",
        "-c",
        "server.properties",
    ]
    subprocess.run(form, cwd=folder, check=True, capture_output=True)
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "kafka.Kafka", "server.properties"], cwd=folder, stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                admin_of(cluster_of(port))
                break
            except MillstreamError:
                assert server.poll() is None, (folder / "log").read_text()
        yield port
    finally:
        server.terminate()
        server.wait(20)


def cluster_of(port, user="root", password="r", **more):
    message = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": user}
    return Cluster(f"127.0.0.1:{port}", {**message, "sasl_password": Secret(password), **more})
