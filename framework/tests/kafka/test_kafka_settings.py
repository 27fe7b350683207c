"""One description of a target becomes settings of Java's clients and of librdkafka that mean the same."""

import subprocess

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from hypothesis import given
from hypothesis import strategies as st

from millstream.core.errors import MillstreamError
from millstream.kafka.cluster import Cluster, reveal_options
from millstream.kafka.security import MODULES, jaas_config, jaas_options
from millstream.kafka.settings import (
    RENAMED,
    SAME,
    admin_config,
    consumer_config,
    is_quick,
    producer_config,
    sink_options,
    source_options,
    translate_options,
)
from millstream.local.jars import fetch_jars
from millstream.local.java import find_java
from millstream.project.kafka_options import known_options
from millstream.project.secrets import Secret

SCRAM = {
    "security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "ann",
    "sasl_password": Secret('sword"fish\\'),
}  # fmt: skip
PEM = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n"


def cluster(trigger=None, root="", **settings):
    return Cluster("a:9092,b:9092", settings, trigger, root=root)


def test_the_plainest_cluster():
    assert {name: value for name, value in source_options(cluster()).items() if "bytes" not in name} == {
        "kafka.bootstrap.servers": "a:9092,b:9092",
        "kafka.max.poll.records": "20000",
        "kafka.fetch.max.wait.ms": "10",
        "kafka.isolation.level": "read_committed",
    }
    assert admin_config(cluster()) == {"bootstrap.servers": "a:9092,b:9092", "client.id": "millstream"}


def test_a_login_by_name_is_told_to_both_and_hidden_until_revealed():
    spark_options = sink_options(cluster(**SCRAM))
    client_options = producer_config(cluster(**SCRAM))
    assert "fish" not in repr(spark_options) + repr(client_options)
    assert reveal_options(spark_options)["kafka.sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="ann" password="sword\\"fish\\\\";'
    )
    assert (spark_options["kafka.security.protocol"], spark_options["kafka.sasl.mechanism"]) == (
        "SASL_SSL",
        "SCRAM-SHA-512",
    )
    assert {
        name: value
        for name, value in reveal_options(client_options).items()
        if name.startswith(("sasl", "security"))
    } == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "ann",
        "sasl.password": 'sword"fish\\',
    }


def test_a_jaas_text_is_read_for_librdkafka():
    text = {**SCRAM, "sasl_jaas_config": Secret('x.Module required username="bob" password="a\\"b";')}
    del text["sasl_username"], text["sasl_password"]
    client_options = reveal_options(admin_config(cluster(**text)))
    assert (client_options["sasl.username"], client_options["sasl.password"]) == ("bob", 'a"b')
    assert reveal_options(source_options(cluster(**text)))["kafka.sasl.jaas.config"].startswith("x.Module")


def test_oauth_gets_its_tokens_from_one_place():
    url = {"sasl.oauthbearer.token.endpoint.url": "https://login/token"}
    text = {**SCRAM, "sasl_mechanism": "OAUTHBEARER", "consumer": url}
    client_options = reveal_options(admin_config(cluster(**text)))
    assert client_options["sasl.oauthbearer.method"] == "oidc"
    assert (
        client_options["sasl.oauthbearer.client.id"],
        client_options["sasl.oauthbearer.token.endpoint.url"],
    ) == (
        "ann",
        url.popitem()[1],
    )
    spark_options = reveal_options(source_options(cluster(**text)))
    assert 'clientId="ann"' in spark_options["kafka.sasl.jaas.config"]
    assert "OAuthBearerLoginCallbackHandler" in spark_options["kafka.sasl.login.callback.handler.class"]


def test_pem_files_go_along_to_java_and_are_named_to_librdkafka(tmp_path):
    for name in ("ca", "cert", "key"):
        (tmp_path / f"{name}.pem").write_text(PEM + name)
    text = cluster(
        root=str(tmp_path),
        security_protocol="SSL",
        ssl_ca_location="ca.pem",
        ssl_certificate_location="cert.pem",
        ssl_key_location="key.pem",
    )
    spark_options = source_options(text)
    assert "abc" not in repr(spark_options)
    assert reveal_options(spark_options)["kafka.ssl.truststore.certificates"] == f"{PEM}ca"
    assert reveal_options(spark_options)["kafka.ssl.keystore.key"] == f"{PEM}key"
    assert spark_options["kafka.ssl.truststore.type"] == spark_options["kafka.ssl.keystore.type"] == "PEM"
    assert admin_config(text)["ssl.ca.location"] == str(tmp_path / "ca.pem")


def test_a_store_of_the_project_is_named_by_its_whole_path_and_one_of_the_workers_as_it_is(tmp_path):
    (tmp_path / "trust.p12").touch()
    text = cluster(
        root=str(tmp_path),
        security_protocol="SSL",
        ssl_truststore_location="trust.p12",
        ssl_keystore_location="/on/workers/key.p12",
    )
    spark_options = source_options(text)
    assert spark_options["kafka.ssl.truststore.location"] == str(tmp_path / "trust.p12")
    assert spark_options["kafka.ssl.keystore.location"] == "/on/workers/key.p12"


@pytest.mark.parametrize(
    ("text", "java_", "librdkafka"), [("", "", "none"), ("none", "", "none"), ("https", "https", "https")]
)
def test_the_check_of_host_names_is_switched_off_for_both(text, java_, librdkafka):
    secured = cluster(security_protocol="SSL", ssl_endpoint_identification_algorithm=text)
    assert source_options(secured)["kafka.ssl.endpoint.identification.algorithm"] == java_
    assert admin_config(secured)["ssl.endpoint.identification.algorithm"] == librdkafka


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ({"sasl_username": "ann"}, "clients don't log in with security_protocol PLAINTEXT"),
        ({"security_protocol": "SASL_SSL"}, "SASL_SSL needs sasl_mechanism"),
        ({**SCRAM, "sasl_password": None}, "SCRAM-SHA-512 needs sasl_password"),
        ({"security_protocol": "SSL", "ssl_ca_location": "gone.pem"}, "'ssl_ca_location' can't be read"),
        ({"security_protocol": "SSL", "ssl_key_location": "x"}, "a client certificate needs its key"),
        ({"security_protocol": "SSL", "ssl_truststore_location": "x.jks"}, "can't read a Java trust store"),
        ({"security_protocol": "SSL", "ssl_keystore_location": "x.jks"}, "can't read a key store"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "AWS_MSK_IAM"}, "don't support AWS_MSK_IAM"),
        ({**SCRAM, "sasl_mechanism": "OAUTHBEARER"}, "OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url"),
    ],
)
def test_what_does_not_fit_together_is_told(text, message):
    with pytest.raises(MillstreamError) as caught:
        (source_options(cluster(**text)), admin_config(cluster(**text)))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, message in diagnostic.message, bool(diagnostic.help)) == ("MS828", True, True), (
        diagnostic
    )


def test_later_settings_override_earlier_ones():
    text = cluster("5 seconds", producer={"linger.ms": 7, "acks": "1"}, consumer={"fetch.min.bytes": 3})
    spark_options = sink_options(text, {"acks": "0"})
    assert (
        spark_options["kafka.linger.ms"],
        spark_options["kafka.acks"],
        spark_options["kafka.batch.size"],
    ) == ("7", "0", "1048576")
    read = source_options(text, {"fetch.min.bytes": 4, "minPartitions": 2})
    assert (read["kafka.fetch.min.bytes"], read["minPartitions"]) == ("4", "2")
    assert "kafka.minPartitions" not in read
    assert producer_config(text)["linger.ms"] == "7"


@pytest.mark.parametrize(
    ("trigger", "quick"),
    [
        (None, False), ("available_now", False), ("5 seconds", False), ("1 second", False), ("1 minute", False),
        ("0.5 seconds", True), ("200 milliseconds", True), ("realtime", True),
    ],
)  # fmt: skip
def test_the_trigger_decides_between_throughput_and_latency(trigger, quick):
    assert is_quick(trigger) is quick
    assert sink_options(cluster(trigger))["kafka.linger.ms"] == ("0" if quick else "100")
    assert sink_options(cluster("realtime"), trigger="available_now")["kafka.linger.ms"] == "100"


def test_consume_is_no_member_of_a_group_and_commits_nothing():
    client_options = consumer_config(cluster(consumer={"isolation.level": "read_committed"}))
    assert (client_options["enable.auto.commit"], client_options["isolation.level"]) == (
        "false",
        "read_committed",
    )


_VALUES = {"int": "2000", "long": "2000", "short": "10", "boolean": "true", "double": "0.5"}


@pytest.mark.parametrize("owner", ["producer", "consumer"])
def test_librdkafka_takes_every_option_that_is_handed_on(owner):
    make = {"producer": Producer, "consumer": Consumer}[owner]
    for name, option in known_options(owner).items():
        value = _VALUES.get(option.type, option.choices[0] if option.choices else "x")
        value = {
            "fetch.max.bytes": "2000000",
            "max.poll.interval.ms": "60000",
            "max.request.size": "1000000",
        }.get(name, value)
        translated = translate_options({name: value})
        assert bool(translated) == (name in SAME or name in RENAMED)
        make(
            {"bootstrap.servers": "localhost:1", "group.id": "g", "log_level": 0, **translated}
            if owner == "consumer"
            else {"bootstrap.servers": "localhost:1", "log_level": 0, **translated}
        )


def test_values_are_those_that_librdkafka_counts_in():
    assert translate_options({"buffer.memory": 2048, "fetch.max.wait.ms": 5, "send.buffer.bytes": -1, "batch.size": 0}) == {
        "queue.buffering.max.kbytes": "2", "fetch.wait.max.ms": "5", "socket.send.buffer.bytes": "0", "batch.size": "1",
    }  # fmt: skip
    with pytest.raises(KafkaException):
        Producer({"bootstrap.servers": "x", "fetch.max.wait.ms": "5"})


PASSWORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(PASSWORDS, PASSWORDS)
def test_what_jaas_says_is_read_as_it_was_written(name, password):
    assert jaas_options(jaas_config("m", {"username": name, "password": password})) == {
        "username": name,
        "password": password,
    }


_JAVA = """
import java.util.*; import java.nio.file.*;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;
public class Read { public static void main(String[] a) throws Exception {
  for (String line : Files.readAllLines(Path.of(a[0]))) {
    String config = new String(Base64.getDecoder().decode(line), "UTF-8");
    var context = JaasContext.loadClientContext(Map.of("sasl.jaas.config", new Password(config)));
    String found = (String) context.configurationEntries().get(0).getOptions().get("password");
    System.out.println(Base64.getEncoder().encodeToString(found.getBytes("UTF-8")));
  } } }
"""


def test_kafka_itself_reads_passwords_as_they_are(tmp_path):
    from base64 import b64decode, b64encode

    words = [
        "plain",
        'a"b',
        "a\\b",
        "\\n",
        "\\1",
        "a;b = c",
        "'",
        "ü€😀",
        " ",
        "a\nb\rc",
        "//x",
        "/*y*/",
        "\t",
        "{{x}}",
        "$",
    ]
    (tmp_path / "Read.java").write_text(_JAVA)
    configs = [jaas_config(MODULES["PLAIN"], {"username": "u", "password": word}) for word in words]
    (tmp_path / "in").write_text("\n".join(b64encode(config.encode()).decode() for config in configs))
    jars = fetch_jars(["broker"], None)["broker"]
    command = [find_java().program, "-cp", ":".join(map(str, jars)), tmp_path / "Read.java", tmp_path / "in"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [b64decode(line).decode() for line in text.split()] == words
