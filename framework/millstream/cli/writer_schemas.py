"""Records whose schemas only the registry knows, as commands show them."""

from __future__ import annotations

from confluent_kafka import Message
from msgspec.structs import replace

from millstream.kafka.registry.writers import Writers
from millstream.kafka.topic_decoding import ShownRecord, TopicDecoding, bytes_of, show_record


def decode_by_writers(message: Message, reading: TopicDecoding, writers: Writers) -> ShownRecord:
    """Decode a record by the schemas that its value and key were written with."""
    if reading.encoding is not None:
        reading = replace(reading, encoding=writers.of(reading.encoding, bytes_of(message.value())))
    key = replace(reading.key, encoding=writers.of(reading.key.encoding, bytes_of(message.key())))
    return show_record(message, replace(reading, key=key))
