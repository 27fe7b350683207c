"""Our verdicts on the compatibility of schemas, next to those of a real registry.

Avro's rules are the same in all registries. For Protobuf and JSON Schema we follow Confluent's; this registry,
Apicurio, has checkers of its own. Wherever the verdicts differ, a rule of `APICURIO_REFUSES` explains why.
"""

import json
import urllib.request
from itertools import count
from urllib.parse import quote

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference
from confluent_kafka.schema_registry.error import SchemaRegistryError
from support.registry import needs_java
from support.schema_cases import CASES, DIFFERENT, field, object_, proto, record
from support.schema_pairs import avro_pair, json_pair, protobuf_pair

from millstream.formats.compatibility import compare_schemas, find_incompatibilities, level_directions
from millstream.formats.format import SchemaFiles
from millstream.kafka.registry.local.apicurio import DIRECT

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
    main = f"schema{SUFFIXES[format_]}"
    return SchemaFiles(main, {**others, main: text})


@pytest.fixture
def judge(server, name):
    """Return a function that asks the registry whether a schema is compatible with older ones, at a level."""

    def send(path, body, method):
        head = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = urllib.request.Request(
            f"{server.url}{path}", json.dumps(body).encode(), head, method=method
        )
        with DIRECT.open(request, timeout=30) as answer:
            return json.load(answer)

    numbers = count()

    def call(format_, new, old, levels):
        subject = f"{name}-{next(numbers)}"
        for index, schema in enumerate(old):
            if index == 1:
                send(f"/config/{quote(subject)}", {"compatibility": "NONE"}, "PUT")
            server.client.register_schema(subject, Schema(schema, format_.upper()))
        body = {"schema": new, "schemaType": format_.upper()}
        by_level = {}
        for level in levels:
            send(f"/config/{quote(subject)}", {"compatibility": level}, "PUT")
            which = "versions" if level.endswith("_TRANSITIVE") else "versions/latest"
            answer = send(f"/compatibility/subjects/{quote(subject)}/{which}?verbose=true", body, "POST")
            by_level[level] = answer["is_compatible"]
        return by_level

    return call


LEVELS = ("BACKWARD", "FORWARD", "FULL")


def rules(format_, new, old, level):
    rule_names = {
        difference.rule
        for way in level_directions(level)
        for difference in compare_schemas(format_, new, old, way)
    }
    texts = [*new.texts.values(), *old.texts.values()]
    return rule_names | ({RESERVED} if any("reserved" in text for text in texts) else set())


@pytest.mark.parametrize(
    ("format_", "pair", "pairs", "equal"),
    [("avro", avro_pair, 90, 90), ("json", json_pair, 90, 89), ("protobuf", protobuf_pair, 60, 27)],
)
@pytest.mark.long
def test_random_pairs(judge, format_, pair, pairs, equal):
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
            ours = not find_incompatibilities(format_, files(format_, new), {1: files(format_, old)}, level)
            if ours != theirs[level]:
                explained = (
                    rules(format_, files(format_, new), files(format_, old), level) & APICURIO_REFUSES.keys()
                )
                assert (ours, bool(explained)) == (True, True), f"{level}: {theirs[level]}\n{old}\n{new}"
                differing.append(level)
        alike += not differing
    assert alike >= equal, f"{alike} of {pairs} pairs"


def ours(format_, old, new, levels=("BACKWARD", "FORWARD"), **others):
    versions = {number: files(format_, text, **others) for number, text in enumerate(old, 1)}
    new = files(format_, new, **others)
    return {level: not find_incompatibilities(format_, new, versions, level) for level in levels}


def test_corner_cases(judge):
    for case, (format_, old, new, backward, forward) in CASES.items():
        expected = {"BACKWARD": backward, "FORWARD": forward}
        assert ours(format_, [old], new) == expected, case
        assert judge(format_, new, [old], expected) == expected, case


def test_cases_in_which_this_registry_is_known_to_differ(judge):
    """If one of these fails, Apicurio has changed: remove the case if it follows Confluent's rules now."""
    for case, ((format_, old, new, *confluent), apicurio, reason) in DIFFERENT.items():
        assert list(ours(format_, [old], new).values()) == confluent, case
        theirs = tuple(judge(format_, new, [old], ("BACKWARD", "FORWARD")).values())
        assert (theirs, reason) == (apicurio, reason), case


TRANSITIVE = (
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
    "NONE",
)


@pytest.mark.parametrize(
    ("format_", "versions"),
    [
        ("avro", [record(), record(field("a", "int", default=1)), record(field("a", "int"))]),
        ("avro", [record(field("a", "int")), record(field("a", "int", default=1)), record()]),
        ("json", [object_({"a": False}), object_({"a": {"type": "integer"}}), object_({"a": {"type": "number"}})]),
        ("json", [object_({"a": {}}), object_({"a": {"type": "number"}}), object_({"a": {"type": "integer"}})]),
        ("json", [object_({"a": {"type": "string"}}), object_({"a": {"type": "integer"}}), object_({"a": {"type": "number"}})]),
        ("protobuf", [proto("message A { string a = 1; }"), proto("message A { int32 a = 1; }"), proto("message A { int32 a = 1; string b = 2; }")]),
    ],
)  # fmt: skip
def test_levels_over_all_versions(judge, format_, versions):
    *old, new = versions
    levels = [level for level in TRANSITIVE if format_ != "protobuf" or level.startswith(("BACK", "NONE"))]
    by_level = ours(format_, old, new, levels)
    assert by_level == judge(format_, new, old, levels)
    assert len(set(by_level.values())) == 2


@pytest.mark.parametrize(
    ("format_", "name_", "other", "old", "new"),
    [
        ("avro", "com.shop.Money", '{"type": "record", "name": "Money", "namespace": "com.shop", "fields": []}', record(field("m", "com.shop.Money")), record(field("m", ["null", "com.shop.Money"]))),
        ("json", "money.json", '{"type": "object", "properties": {"unit": {"type": "integer"}}}', object_({"m": {"$ref": "money.json"}}), object_({"m": {"$ref": "money.json"}, "n": {"$ref": "money.json"}}, additionalProperties=False)),
        ("protobuf", "money.proto", proto("message Money { int32 unit = 1; }"), proto('import "money.proto";\nmessage A { Money m = 1; }'), proto('import "money.proto";\nmessage A { string m = 1; }')),
    ],
)  # fmt: skip
def test_schemas_that_refer_to_others(server, name, format_, name_, other, old, new):
    """This registry resolves no references when it is asked, but when a schema is registered."""
    server.client.register_schema(f"{name}-other", Schema(other, format_.upper()))
    references = [SchemaReference(name_, f"{name}-other", 1)]
    theirs = {}
    for level in ("BACKWARD", "FORWARD"):
        subject = f"{name}-{level}"
        server.client.register_schema(subject, Schema(old, format_.upper(), references))
        server.client.set_compatibility(subject, level)
        try:
            server.client.register_schema(subject, Schema(new, format_.upper(), references))
            theirs[level] = True
        except SchemaRegistryError as error:
            if error.http_status_code != 409:
                raise
            theirs[level] = False
    assert ours(format_, [old], new, **{name_: other}) == theirs
    assert not all(theirs.values())
