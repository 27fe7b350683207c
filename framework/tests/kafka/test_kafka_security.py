"""A real Kafka that wants to know who we are, and permits little."""

import socket
import subprocess
import time

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from millstream.errors import MillstreamError
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.consuming import follow_records
from millstream.kafka.generators import Record
from millstream.kafka.producing import Feed, send
from millstream.kafka.topics import Topic, create_missing, differences
from millstream.machine.jars import fetch
from millstream.machine.java import java
from millstream.project.secrets import Secret

pytestmark = pytest.mark.long
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
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("secure"), free_port()
    jaas = "".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in JAAS.replace("\\", "\\\\"))
    (folder / "server.properties").write_text(SERVER.format(port=port, controller=free_port(), jaas=jaas))
    jars = ":".join(map(str, fetch(["broker"], None)["broker"]))
    command = [java().program, "-Xmx300m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars]
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
                admin_of(known(port))
                break
            except MillstreamError:
                assert server.poll() is None, (folder / "log").read_text()
        yield port
    finally:
        server.terminate()
        server.wait(20)


def known(port, user="root", password="r", **more):
    said = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": user}
    return Cluster(f"127.0.0.1:{port}", {**said, "sasl_password": Secret(password), **more})


def describe(root, name):
    """Let ann see the topic, and no more."""
    pattern = (ResourceType.TOPIC, name, ResourcePatternType.LITERAL, "User:ann", "*")
    allowed = AclBinding(*pattern, AclOperation.DESCRIBE, AclPermissionType.ALLOW)
    for future in root.client.create_acls([allowed]).values():
        future.result(10)


def refused(call, *arguments):
    with pytest.raises(MillstreamError) as caught:
        call(*arguments)
    (found,) = caught.value.diagnostics
    return found


def test_who_is_known_comes_in_with_any_password(port):
    assert admin_of(known(port, "ann", PASSWORD)).metadata().brokers


def test_a_wrong_password_is_told_at_once_and_not_shown(port):
    start = time.monotonic()
    found = refused(admin_of, known(port, "ann", "hunter2"))
    assert time.monotonic() - start < 3
    assert (found.code, "sasl_password" in found.help) == ("MS823", True)
    assert "hunter2" not in repr(found)


def test_a_mechanism_that_the_cluster_does_not_have(port):
    assert refused(admin_of, known(port, sasl_mechanism="SCRAM-SHA-256")).code == "MS823"


def test_no_login_where_one_is_needed(port):
    found = refused(admin_of, Cluster(f"127.0.0.1:{port}"))
    assert (found.code, "security_protocol" in found.help) == ("MS822", True)


def test_what_is_not_permitted_is_told_with_the_permission_that_lacks(port, name):
    root, ann = admin_of(known(port)), admin_of(known(port, "ann", PASSWORD))
    create_missing(root, [Topic(name, config={"retention.ms": "-1"})])
    found = refused(create_missing, ann, [Topic(f"{name}_2")])
    assert (found.code, "for 'ann'" in found.help) == ("MS824", True)
    feed = Feed(name, iter([Record(None, b"x", None)] * 3))
    assert refused(send, ann, [feed], 3).code == "MS824"
    describe(root, name)
    assert refused(next, follow_records(ann, {(name, 0): 0})).code == "MS824"
    assert [each.what for each in differences(ann, [Topic(name, 9, config={"retention.ms": "5"})])] == [
        "partitions"
    ]
