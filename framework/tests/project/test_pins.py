"""Files of pinned schemas: names for any subject, contents that lose nothing."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.loading import load, summaries

from millstream.core.types import STRING, Field
from millstream.formats.format import ReadSchema, SchemaLanguage
from millstream.formats.registry import Encoding, WriterSchema
from millstream.project.files import File
from millstream.project.pinned_schemas import PinnedTexts, read_pinned
from millstream.project.pins import (
    NotPinnedError,
    SchemaReference,
    Subject,
    encode_subject,
    file_names,
    read_pins,
    references_of,
    version_of,
)
from millstream.project.values import Settings

SUBJECTS = st.text(min_size=1, max_size=300)
FOLDED = {"con", "aux", "nul", "prn", "com1", "lpt9"}


@given(
    st.sets(SUBJECTS | st.sampled_from(["a", "A", ".", "..", "con", "CON.x", "a/b", "a%2Fb", "ä", ".hidden"]))
)
def test_names_are_safe_and_distinct(subjects):
    names = file_names(subjects)
    assert len({name.lower() for name in names.values()}) == len(subjects)
    for name in names.values():
        assert name.isascii()
        assert len(name) <= 200
        assert not set(name) & set('/\\:*?"<>|')
        assert not name.startswith(".")
        assert name.lower().partition(".")[0] not in FOLDED
    # A subject's name does not depend on others, unless they differ in case only.
    assert {subject for subject in subjects if file_names([subject])[subject] != names[subject]} <= {
        subject
        for subject in subjects
        if sum(file_names([o])[o].lower() == file_names([subject])[subject].lower() for o in subjects) > 1
    }


def test_usual_names_stay_as_they_are():
    assert file_names(["orders-value", "com.shop.Order"]) == {
        "orders-value": "orders-value.json",
        "com.shop.Order": "com.shop.Order.json",
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)
TEXTS = (
    st.text(st.characters(codec="utf-8"))
    | JSON.map(json.dumps)
    | JSON.map(lambda document: json.dumps(document, indent=1))
)


@given(TEXTS)
def test_a_schema_survives_its_file(text):
    before = Subject(
        "s", "NONE", (version_of(1, 7, "AVRO", text, [SchemaReference("n", "o", 2)], deleted=True),)
    )
    file = File("schemas/registry/x.json", encode_subject(before), "")
    pinned, errors = read_pins([(file.path, file.content)], Settings("p"))
    assert errors == []
    assert pinned == {"s": before}
    after = pinned["s"].versions[0].text
    assert after == text or (
        json.loads(after, object_pairs_hook=tuple, parse_float=str, parse_int=str)
        == json.loads(text, object_pairs_hook=tuple, parse_float=str, parse_int=str)
    )


@pytest.mark.parametrize(
    "text", ['{"a": 1.10}', '{"a": 1e400}', '{"a": 1, "a": 2}', "null", 'syntax = "proto3";\n', "NaN"]
)
def test_what_json_would_change_is_kept_as_text(text):
    assert version_of(1, 1, "JSON", text).text == text


def test_a_new_version_only_adds_lines():
    first = version_of(1, 1, "AVRO", '{"type":"string"}')
    one = encode_subject(Subject("s", "FULL", (first,))).splitlines()
    two = encode_subject(
        Subject("s", "FULL", (first, version_of(2, 9, "AVRO", '{"type":"long"}')))
    ).splitlines()
    assert [
        line.rstrip(",") for line in two if line.rstrip(",") not in {line.rstrip(",") for line in one}
    ] == [
        '      "version": 2',
        '      "id": 9',
        '        "type": "long"',
    ]


def pins(*subjects):
    return {subject.subject: subject for subject in subjects}


def test_references_come_after_what_they_need():
    c = Subject("c", "", (version_of(1, 1, "T", "C"),))
    b = Subject("b", "", (version_of(4, 2, "T", "B", [SchemaReference("c.x", "c", 1)]),))
    a = version_of(1, 3, "T", "A", [SchemaReference("b.x", "b", 4), SchemaReference("c.x", "c", 1)])
    assert list(references_of(pins(b, c), a).items()) == [("c.x", "C"), ("b.x", "B")]
    with pytest.raises(NotPinnedError, match="version 4 of subject 'b'"):
        references_of(pins(c), a)
    loop = Subject("l", "", (version_of(1, 1, "T", "L", [SchemaReference("l", "l", 1)]),))
    assert references_of(pins(loop), loop.versions[0]) == {"l": "L"}


def test_a_decoder_knows_the_schema_of_every_id():
    """A language whose schemas are names of columns."""

    def read(files):
        text = files.texts[files.path]
        others = [text for path, text in files.texts.items() if path != files.path]
        return ReadSchema(tuple(Field(name, STRING) for name in text.split()), " ".join([text, *others]))

    language = SchemaLanguage("names", ".names", read, by_writer=True)
    other = Subject("o", "", (version_of(1, 50, "T", "x"),))
    versions = (
        version_of(1, 9, "T", "a", deleted=True),
        version_of(2, 3, "OTHER", "b"),
        version_of(3, 4, "T", "c d", [SchemaReference("o", "o", 1)]),
    )
    texts = PinnedTexts(language, versions, pins(other))
    decoded = read_pinned(
        Encoding(framing="confluent"), texts, versions[2], lambda schema, files: schema.read(files)
    )
    assert [field.name for field in decoded.schema.columns] == ["c", "d"]
    assert decoded.encoding == Encoding(
        framing="confluent",
        schema="c d x",
        schema_id=4,
        writers=(WriterSchema(4, "c d x"), WriterSchema(9, "a")),
    )


ORDER = version_of(1, 7, "JSON", '{"type": "object", "properties": {"id": {"type": "integer"}}}')


def topics(root: Path, *rows: str, **files: str):
    topic_rows = "".join(f"      - {{{row}}}\n" for row in rows)
    return load(root, {"models/s.yml": f"sources:\n  - name: shop\n    topics:\n{topic_rows}", **files})


def pin(subject, *versions):
    return {f"schemas/registry/{subject}.json": encode_subject(Subject(subject, "FULL", versions))}


def test_a_topic_of_the_registry(tmp_path):
    project, errors = topics(tmp_path, "name: orders, schema: registry", **pin("orders-value", ORDER))
    assert errors == []
    topic = project.sources["shop.orders"]
    assert topic.format == Encoding(framing="confluent", schema_id=7)
    assert [(column.name, str(column.type)) for column in topic.columns] == [("id", "bigint")]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("name: t, schema: registry", ("MS125", "registry", "run `millstream schemas pull`")),
        (
            "name: t, schema: {subject: orders-value, version: 3}",
            (
                "MS125",
                "{subject: orders-value, version: 3}",
                "run `millstream schemas pull`, or choose another version: 1",
            ),
        ),
        (
            "name: orders, schema: registry, format: csv",
            ("MS126", "registry", "write format: json, or omit it"),
        ),
        (
            "name: odd, schema: registry",
            ("MS126", "registry", "declare the columns and a format instead of it"),
        ),
        ("name: gap, schema: registry", ("MS125", "registry", "run `millstream schemas pull`")),
        (
            "name: wide, schema: registry",
            ("MS123", "registry", "change the schema, or declare the columns here instead of it"),
        ),
        (
            "name: t, schema: {strategy: record_name}",
            ("MS108", "record_name", "add the record's full name: record: com.example.Order"),
        ),
        (
            "name: t, schema: {subject: orders-value, record: x}",
            ("MS107", "orders-value", "remove it, or the other two"),
        ),
        ("name: orders, schema: {record: x}", ("MS107", "x", "remove it, or change the strategy")),
        (
            "name: orders, schema: registry, columns: [{name: idd, description: x}]",
            ("MS117", "idd", "did you mean 'id'?"),
        ),
    ],
)
def test_schemas_that_can_not_be_used(tmp_path, row, expected):
    code, caret, remedy = expected
    files = {
        **pin("orders-value", ORDER),
        **pin("odd-value", version_of(1, 1, "XSD", "<x/>")),
        **pin("gap-value", version_of(1, 2, "JSON", "{}", [SchemaReference("a", "b", 1)])),
        **pin("wide-value", version_of(1, 3, "JSON", '{"type": "string"}')),
    }
    _, errors = topics(tmp_path, row, **files)
    assert (code, f"models/s.yml: {caret}", remedy) in summaries(errors)


def test_a_damaged_pin(tmp_path):
    _, errors = topics(
        tmp_path, "name: t, schema: registry", **{"schemas/registry/t-value.json": "<<<< HEAD"}
    )
    assert [(p.code, p.location.path) for p in errors if p.code == "MS127"] == [
        ("MS127", "schemas/registry/t-value.json")
    ]


def test_pins_are_not_offered_as_schema_files(tmp_path):
    _, errors = topics(tmp_path, "name: t, schema: schemas/registry/order.json", **pin("order", ORDER))
    assert "did you mean" not in errors[0].help
