"""Our verdicts on the compatibility of schemas, next to those of a real registry.

Avro's rules are the same in all registries. For Protobuf and JSON Schema we follow Confluent's; this registry,
Apicurio, has checkers of its own. Wherever the verdicts differ, a rule of `APICURIO_REFUSES` explains why.
"""

import json
import urllib.request
from urllib.parse import quote

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference
from support.registry import needs_java
from support.schema_pairs import avro_pair, json_pair, protobuf_pair

from millstream.compatibility import differences, directions, incompatibilities
from millstream.formats.format import SchemaFiles
from millstream.registry.local.apicurio import DIRECT

pytestmark = needs_java

RESERVED = "reserved"
APICURIO_REFUSES = {
    "field_removed": "Apicurio accepts the removal of a field of Protobuf only if its name and number are reserved",
    "oneof_removed": "the same for the fields of a oneof",
    "enum_const_removed": "the same for the symbols of an enum, whose `reserved` it does not read",
    "enum_const_changed": "Apicurio accepts no new names of symbols",
    "field_name_changed": "Apicurio accepts no new names of fields, although numbers identify them",
    "field_scalar_changed": "Apicurio accepts no other scalar types, although some are encoded alike",
    "field_label_changed": "Apicurio accepts no other labels, not even `optional` in proto3",
    "field_string_or_bytes_label_changed": "the same",
    RESERVED: "Apicurio refuses older schemas with fields that a newer one reserves, so nothing is FORWARD compatible",
    "sum_type_extended": "Apicurio accepts `oneOf` instead of a single schema only if it was a combination before",
}
SUFFIXES = {"avro": ".avsc", "json": ".json", "protobuf": ".proto"}


def files(format_, text, **others):
    own = f"schema{SUFFIXES[format_]}"
    return SchemaFiles(own, {**others, own: text})


@pytest.fixture
def judge(server, name):
    """Return a function that asks the registry whether a schema is compatible with older ones, at a level."""

    def asked(path, body, method):
        head = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = urllib.request.Request(f"{server.url}{path}", json.dumps(body).encode(), head, method=method)
        with DIRECT.open(request, timeout=30) as answer:
            return json.load(answer)

    def call(format_, new, old, levels, *, references=(), number=[0]):
        number[0] += 1
        subject = f"{name}-{number[0]}"
        for index, each in enumerate(old):
            if index == 1:
                asked(f"/config/{quote(subject)}", {"compatibility": "NONE"}, "PUT")
            found = [SchemaReference(*each) for each in references]
            server.client.register_schema(subject, Schema(each, format_.upper(), found))
        body = {"schema": new, "schemaType": format_.upper()}
        body["references"] = [dict(zip(("name", "subject", "version"), each, strict=True)) for each in references]
        found = {}
        for level in levels:
            asked(f"/config/{quote(subject)}", {"compatibility": level}, "PUT")
            which = "versions" if level.endswith("_TRANSITIVE") else "versions/latest"
            answer = asked(f"/compatibility/subjects/{quote(subject)}/{which}?verbose=true", body, "POST")
            found[level] = answer["is_compatible"]
        return found

    return call


LEVELS = ("BACKWARD", "FORWARD", "FULL")


def rules(format_, new, old, level):
    found = {each.rule for way in directions(level) for each in differences(format_, new, old, way)}
    texts = [*new.texts.values(), *old.texts.values()]
    return found | ({RESERVED} if any("reserved" in each for each in texts) else set())


@pytest.mark.parametrize(
    ("format_", "pair", "pairs", "equal"),
    [("avro", avro_pair, 80, 80), ("json", json_pair, 80, 79), ("protobuf", protobuf_pair, 60, 15)],
)
@pytest.mark.timeout(600)
def test_random_pairs(judge, record_property, format_, pair, pairs, equal):
    """All verdicts are equal where nothing explains a difference; `equal` pairs have no explained one at any level."""
    checked = alike = seed = 0
    while checked < pairs:
        old, new = pair(seed)
        seed += 1
        if old == new:
            continue
        checked += 1
        theirs = judge(format_, new, [old], LEVELS)
        differing = []
        for level in LEVELS:
            ours = not incompatibilities(format_, files(format_, new), {1: files(format_, old)}, level)
            if ours != theirs[level]:
                explained = rules(format_, files(format_, new), files(format_, old), level) & APICURIO_REFUSES.keys()
                assert ours and explained, f"{level}: {theirs[level]}\n{old}\n{new}"
                differing.append(level)
        alike += not differing
    record_property("equal pairs", alike)
    print(f"{format_}: {alike} of {pairs} pairs have the same verdicts at all levels")
    assert alike >= equal
