"""A sink's schema must be compatible with the pinned versions of its topic's subject."""

import json

import pytest
from cli.conftest import run as run  # noqa: PLC0414 - a fixture
from support.schema_cases import CLOSED, INTEGER, STRING, field, object_, record

from millstream.project.pins import Subject, encode_subject, version_of

SOURCE = "sources:\n  - name: shop\n    topics:\n      - name: events\n        columns:\n          - {name: a, type: string}\n          - {name: b, type: string}\n"
MODEL = "{{{{ config(materialized='sink', topic='orders', {options}) }}}}\nselect {columns} from {{{{ source('shop', 'events') }}}}\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that writes a project whose topic has a pinned subject."""

    def write(kind, pinned, level, options, columns="a, b", **files):
        subject = Subject("orders-value", level, (version_of(1, 7, kind, pinned),))
        texts = {
            "pyproject.toml": '[tool.millstream]\nname = "shop"\n',
            "models/sources.yml": SOURCE,
            "models/orders.sql": MODEL.format(options=options, columns=columns),
            "schemas/registry/orders-value.json": encode_subject(subject),
            **files,
        }
        for path, text in texts.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return write


def errors(run):
    return [
        (diagnostic["code"], diagnostic["message"])
        for diagnostic in run("compile", "--output", "json").json["diagnostics"]
    ]


def test_a_schema_file(run, project):
    wider = object_({"a": STRING, "b": STRING}, required=["a", "b"], **CLOSED)
    root = project(
        "JSON", object_({"a": STRING}, required=["a"], **CLOSED), "BACKWARD", "schema='schemas/orders.json'",
        columns="coalesce(a, '') as a, coalesce(b, '') as b", **{"schemas/orders.json": wider},
    )  # fmt: skip
    ((code, message),) = errors(run)
    assert code == "MS128"
    assert message.startswith(
        "its schema is not BACKWARD compatible with subject 'orders-value': field b: the "
    )
    assert message.endswith(
        "schema requires it, and the old one lacks it, so new readers can't read old records"
    )
    # A cached model is checked again when the pins change.
    pins = root / "schemas/registry/orders-value.json"
    pins.write_text(pins.read_text().replace("BACKWARD", "NONE"))
    assert errors(run) == []


def test_a_derived_schema(run, project):
    derived = record(
        field("a", ["null", "string"], default=None), field("b", ["null", "string"], default=None)
    )
    project("AVRO", derived.replace("Order", "orders"), "FULL", "format='avro'")
    assert errors(run) == []


def test_a_derived_schema_that_is_forbidden(run, project):
    project("AVRO", record(field("a", "string"), name="orders"), "FORWARD", "format='avro'")
    ((code, message),) = errors(run)
    assert code == "MS128"
    assert message.endswith(
        "field a: it is string in the old schema, but null in the new one, so old readers can't read new records"
    )


def test_another_type(run, project):
    project("JSON", object_({"a": INTEGER}), "BACKWARD", "format='avro'")
    ((code, message),) = errors(run)
    assert (code, "it is avro, and the subject has JSON" in message) == ("MS128", True)


def test_pins_that_lack_what_they_refer_to(run, project):
    root = project("AVRO", record(field("a", "shop.Money")), "BACKWARD", "format='avro'")
    pins = root / "schemas/registry/orders-value.json"
    document = json.loads(pins.read_text())
    document["versions"][0]["references"] = [{"name": "shop.Money", "subject": "money", "version": 1}]
    pins.write_text(json.dumps(document))
    ((code, message),) = errors(run)
    assert (code, "version 1 of subject 'money'" in message) == ("MS125", True)


def test_keys(run, project, tmp_path):
    project(
        "AVRO",
        record(field("a", "string")),
        "BACKWARD",
        "key='a', key_format='avro', key_framing='confluent'",
    )
    pins = Subject("orders-key", "FULL", (version_of(1, 8, "AVRO", '"int"'),))
    (tmp_path / "schemas/registry/orders-key.json").write_text(encode_subject(pins))
    reported = errors(run)
    assert {code for code, _ in reported} == {"MS128"}
    assert all("not FULL compatible with subject 'orders-key': " in message for _, message in reported)
