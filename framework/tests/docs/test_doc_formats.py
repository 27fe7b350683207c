"""Documents for other tools."""

import json
import re
from xml.etree import ElementTree as ET

import pytest

from millstream.docs.export import of_text
from millstream.docs.exporters import installed_exporters, write_document
from millstream.docs.exporters.project import ExportedProject


def resolved(document, pointer: str):
    part_of_document = document
    for part in pointer.removeprefix("#/").split("/"):
        part_of_document = part_of_document[part]
    return part_of_document


def references(value):
    if isinstance(value, dict):
        for name, child in value.items():
            if name == "$ref":
                yield child
            yield from references(child)
    elif isinstance(value, list):
        for child in value:
            yield from references(child)


@pytest.fixture(scope="module")
def asyncapi(exported_example: ExportedProject):
    return json.loads(write_document("asyncapi", exported_example))


@pytest.fixture(scope="module")
def events(exported_example: ExportedProject):
    return [json.loads(line) for line in write_document("openlineage", exported_example).splitlines()]


def test_asyncapi_has_the_shape_of_version_3(asyncapi):
    assert asyncapi["asyncapi"] == "3.0.0"
    assert set(asyncapi) <= {"asyncapi", "info", "defaultContentType", "channels", "operations", "components"}
    assert {"title", "version"} <= set(asyncapi["info"])
    for name in [*asyncapi["channels"], *asyncapi["operations"], *asyncapi["components"]["messages"]]:
        assert re.fullmatch(r"[A-Za-z0-9_\-]+", name)
    for operation in asyncapi["operations"].values():
        assert operation["action"] in {"send", "receive"}
    for reference in references(asyncapi):
        assert resolved(asyncapi, reference)


def test_asyncapi_has_topics_that_are_read_and_written_with_key_and_schema(asyncapi):
    channel = asyncapi["channels"]["source_shop_storefront_events"]
    assert channel["address"] == "storefront_events"
    assert channel["bindings"]["kafka"]["topic"] == "storefront_events"
    message = asyncapi["components"]["messages"]["source_shop_storefront_events"]
    assert message["bindings"]["kafka"]["key"] == {"type": "string"}
    schema = asyncapi["components"]["schemas"]["source_shop_storefront_events"]
    assert schema["properties"]["timestamp"] == {
        "type": "integer", "format": "int64", "description": "Milliseconds since 1970",
    }  # fmt: skip
    assert schema["properties"]["metadata"]["properties"]["device"] == {"type": "string"}
    assert asyncapi["operations"]["send_model_hourly_user_metrics"]["action"] == "send"
    assert "send_model_active_users" not in asyncapi["operations"], "a table is not a topic"


@pytest.mark.parametrize(
    ("spark", "schema"),
    [
        ("array<int>", {"type": "array", "items": {"type": "integer", "format": "int32"}}),
        (
            "map<string,double>",
            {"type": "object", "additionalProperties": {"type": "number", "format": "double"}},
        ),
        ("decimal(10,2)", {"type": "number"}),
        ("timestamp", {"type": "string", "format": "date-time"}),
        ("unknown", {}),
    ],
)
def test_types_as_json_schema(spark, schema):
    assert of_text(spark) == schema


def test_openlineage_events_have_what_its_schema_requires(events):
    assert len(events) == 21
    for event in events:
        assert {"eventTime", "producer", "schemaURL", "job"} <= set(event)
        assert "run" not in event, "a job event is no run's"
        datasets = [*event["inputs"], *event["outputs"]]
        for named in (event["job"], *datasets):
            assert {"namespace", "name"} <= set(named)
            for facet in named["facets"].values():
                assert facet["_schemaURL"].startswith("https://openlineage.io/spec/facets/")
                assert facet["_producer"]


def test_openlineage_tells_values_and_what_decides_over_rows(events):
    event = next(event for event in events if event["job"]["name"] == "model.stg_app_events")
    lineage = event["outputs"][0]["facets"]["columnLineage"]
    (value,) = lineage["fields"]["value"]["inputFields"]
    assert (value["name"], value["field"]) == ("source.shop.app_events", "value")
    assert value["transformations"] == [{"type": "DIRECT", "subtype": "TRANSFORMATION"}]
    (influence,) = lineage["dataset"]
    assert influence["field"] == "event_type"
    assert influence["transformations"] == [{"type": "INDIRECT", "subtype": "FILTER"}]
    assert lineage["fields"]["event_id"]["inputFields"][0]["transformations"][0]["subtype"] == "IDENTITY"


def test_openlineage_inputs_are_outputs_of_other_events_or_sources(events):
    outputs = {event["outputs"][0]["name"] for event in events}
    read = {input_["name"] for event in events for input_ in event["inputs"]}
    assert {name for name in read if name.startswith("model.")} <= outputs


def test_mermaid_has_a_node_for_each_relation_and_no_tests(exported_example: ExportedProject):
    text = write_document("mermaid", exported_example)
    assert text.startswith("flowchart LR\n")
    assert '["model.hourly_user_metrics"]' in text
    assert "test." not in text


def test_the_badge_is_an_image_with_a_name(exported_nasty: ExportedProject):
    root = ET.fromstring(write_document("badge", exported_nasty))
    assert root.attrib["aria-label"] == "millstream: 5 models · 40 % described · 20 % tested"
    assert root.attrib["role"] == "img"


@pytest.mark.parametrize("name", installed_exporters())
def test_no_format_has_a_secret_or_a_path(name: str, exported_nasty: ExportedProject):
    text = write_document(name, exported_nasty)
    assert "hunter2" not in text
    assert "9092" not in text
    assert "/tmp" not in text
