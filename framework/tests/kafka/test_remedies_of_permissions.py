"""Logins and permissions that a Kafka refuses: what the remedy asks for is given, and the command goes on."""

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from support.runs import built, errors
from support.secured_kafka import PASSWORD, cluster_of, secured_port  # noqa: F401 - a fixture
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.kafka.clients import admin_of
from millstream.kafka.consuming import newest_records
from millstream.kafka.generators import GeneratedRecord
from millstream.kafka.producing import TopicFeed, send_feeds
from millstream.kafka.topics import TopicConfig, create_missing

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

PROFILES = """
    shop:
      target: there
      outputs:
        there:
          master: local[2]
          kafka:
            bootstrap_servers: 127.0.0.1:{port}
            security_protocol: SASL_PLAINTEXT
            sasl_mechanism: PLAIN
            sasl_username: {user}
            sasl_password: "{{{{ env_var('KAFKA_PASSWORD') }}}}"
          spark: {{spark.sql.shuffle.partitions: 1}}
"""


def refused(call, *arguments):
    with pytest.raises(MillstreamError) as caught:
        call(*arguments)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.help


def allow(root, kind, name, operation, user="ann"):
    pattern = ResourcePatternType.LITERAL
    binding = AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
    for future in root.client.create_acls([binding]).values():
        future.result(10)


def test_a_login_that_is_refused(secured_port):  # noqa: F811 - the fixture
    remedy = "check sasl_mechanism, sasl_username and sasl_password"
    for wrong in ({"password": "hunter2"}, {"sasl_mechanism": "SCRAM-SHA-256"}, {"user": "bob"}):
        options = {"user": "ann", "password": PASSWORD} | wrong
        assert refused(admin_of, cluster_of(secured_port, **options)) == ("MS823", remedy)
    assert admin_of(cluster_of(secured_port, "ann", PASSWORD)).metadata().brokers


def test_a_query_whose_user_may_not_read_or_write(secured_port, tmp_path, first_spark, monkeypatch):  # noqa: F811
    root = admin_of(cluster_of(secured_port))
    create_missing(root, [TopicConfig("events"), TopicConfig("plain")])
    send_feeds(root, [TopicFeed("events", iter([GeneratedRecord(b"a", b'{"id": 1}', None)]))], 1)
    allow(root, ResourceType.TOPIC, "events", AclOperation.DESCRIBE)
    allow(root, ResourceType.TOPIC, "plain", AclOperation.DESCRIBE)
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    shop = Shop(tmp_path, f"127.0.0.1:{secured_port}")
    shop.write("profiles.yml", PROFILES.format(port=secured_port, user="ann"))
    shop.model("plain", "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}")

    remedy = "request the permission, or fix user and password in profiles.yml"
    (diagnostic,) = errors(built(shop.root, first_spark)[1])
    assert (diagnostic.code, diagnostic.help) == ("MS867", remedy)
    assert PASSWORD not in diagnostic.message
    allow(root, ResourceType.TOPIC, "events", AclOperation.READ)
    allow(root, ResourceType.TOPIC, "plain", AclOperation.WRITE)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    messages, _ = newest_records(root, ["plain"], 10)
    assert [message.value() for message in messages] == [b'{"id":1}']


def test_a_command_whose_user_may_not_create_or_write(secured_port):  # noqa: F811 - the fixture
    root, ann = admin_of(cluster_of(secured_port)), admin_of(cluster_of(secured_port, "ann", PASSWORD))
    topics = [TopicConfig("created")]
    assert refused(create_missing, ann, topics) == (
        "MS824",
        "request permission on the topic (Describe, and Read, Write or Create) for 'ann'",
    )
    allow(root, ResourceType.TOPIC, "created", AclOperation.CREATE)
    create_missing(ann, topics)
    assert "created" in root.client.list_topics(timeout=10).topics
