"""Texts of Kafka's errors."""

import pytest
from confluent_kafka import KafkaError

from millstream.kafka.cluster import Cluster
from millstream.kafka.failures import error_text

REFUSED = "Connect to ipv4#127.0.0.1:1 failed: Connection refused"


@pytest.mark.parametrize(
    "added",
    ["", " (after 0ms in state CONNECT)", " (after 0ms in state CONNECT, 5 identical error(s) suppressed)"],
)
def test_they_are_without_what_only_librdkafka_understands(added):
    error = KafkaError(KafkaError._TRANSPORT, f"127.0.0.1:1/bootstrap: {REFUSED}{added}")
    assert error_text(Cluster("127.0.0.1:1"), error) == REFUSED
