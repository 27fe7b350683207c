"""A real Kafka with SASL_SSL: certificates of an authority of the test's, and SCRAM logins."""

import subprocess
from contextlib import contextmanager

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from millstream.local.jars import fetch_jars
from millstream.local.java import find_java
from support.secured_kafka import free_port

SERVER = """\
process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=SASL_SSL://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=SASL_SSL://127.0.0.1:{port}
listener.security.protocol.map=SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=SASL_SSL
sasl.enabled.mechanisms=SCRAM-SHA-512
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={jaas}
ssl.keystore.type=PEM
ssl.keystore.location=server.pem
ssl.truststore.type=PEM
ssl.truststore.location=ca.pem
log.dirs=data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
"""
JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="broker" password="b";'
USER, PASSWORD = "shop", 'pa"ss;wo rd'


def certificates_in(folder):
    """Write an authority's certificate, ca.pem, and server.pem: a key and a certificate for 127.0.0.1 that it signed."""

    def openssl(*arguments):
        subprocess.run(("openssl", *arguments), cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "rsa:2048", "-nodes")
    openssl(*new, "-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(*new, "-subj", "/CN=127.0.0.1", "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl("x509", "-req", "-in", "server.csr", *signing, "-out", "server.crt")
    (folder / "server.pem").write_text(
        (folder / "server.key").read_text() + (folder / "server.crt").read_text()
    )


@contextmanager
def sasl_ssl_broker(folder):
    """Start a broker; yield the settings of librdkafka's clients, and write ca.pem to the folder."""
    certificates_in(folder)
    port = free_port()
    (folder / "server.properties").write_text(SERVER.format(port=port, controller=free_port(), jaas=JAAS))
    jars = ":".join(map(str, fetch_jars(["broker"], None)["broker"]))
    command = [find_java().program, "-Xmx300m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars]
    logins = [
        f"SCRAM-SHA-512=[name={name},password={message}]"
        for name, message in (("broker", "b"), (USER, PASSWORD))
    ]
    adding = [word for login in logins for word in ("--add-scram", login)]
    form = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", "server.properties"]
    subprocess.run([*command, *form, *adding], cwd=folder, check=True, capture_output=True)
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "kafka.Kafka", "server.properties"], cwd=folder, stdout=log, stderr=log
        )
    client = {
        "bootstrap.servers": f"127.0.0.1:{port}",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": USER,
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(folder / "ca.pem"),
    }
    try:
        while not _answers(client):
            assert server.poll() is None, (folder / "log").read_text()
        yield client
    finally:
        server.terminate()
        server.wait(20)


def _answers(client):
    try:
        return AdminClient({**client, "log_level": 0}).list_topics(timeout=2).brokers
    except KafkaException:
        return False
