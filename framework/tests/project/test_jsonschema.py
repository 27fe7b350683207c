import json
import re
from pathlib import Path

import pytest

from millstream.core.text import FileText
from millstream.project.config import OPTIONS
from millstream.project.jsonschema import json_schemas
from millstream.project.schema import keys_of
from millstream.project.shapes import ColumnShape, ModelShape
from millstream.project.source_shapes import properties_shape, source_shape
from millstream.project.yaml import node_value, parse_yaml
from millstream.sources.topic.shapes import TopicShape

ROOT = Path(__file__).parents[3]
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def fits(value, schema, root):
    """Check by the few words of JSON Schema that ours use."""
    ref = schema.get("$ref", "").removeprefix("#/$defs/")
    if ref and not fits(value, root["$defs"][ref], root):
        return False
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(isinstance(value, TYPES[type_]) for type_ in types):
        return False
    if isinstance(value, bool) and types and "boolean" not in types:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "minimum" in schema and value < schema["minimum"]:
        return False
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return False
    if "anyOf" in schema and not any(fits(value, branch, root) for branch in schema["anyOf"]):
        return False
    if isinstance(value, list):
        return all(fits(element, schema.get("items", {}), root) for element in value)
    if isinstance(value, dict):
        return _mapping_fits(value, schema, root)
    return True


def _mapping_fits(value, schema, root):
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties", {})
    if set(schema.get("required", ())) - value.keys() or len(value) > schema.get("maxProperties", 1000):
        return False
    if rest is False and value.keys() - properties.keys():
        return False
    return all(fits(member, properties.get(name, rest or {}), root) for name, member in value.items())


def accepts(kind, content):
    schema = json_schemas()[kind]
    return fits(node_value(parse_yaml(FileText("f.yml", content))[0]), schema, schema)


def inner(schema):
    yield schema
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, dict | list):
            yield from inner(part)


@pytest.mark.parametrize("kind", ["properties", "profiles", "project", "selectors"])
def test_every_schema_is_json_and_all_it_refers_to_is_there(kind):
    schema = json_schemas()[kind]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    text = json.dumps(schema)
    for name in re.findall(r'"#/\$defs/(\w+)"', text):
        assert name in schema["$defs"]
    for word in ("Shape", "RawValue", "Location", "locations"):
        assert word not in text


@pytest.mark.parametrize(
    ("shape", "name"),
    [(source_shape(), "Source"), (TopicShape, "Topic"), (ColumnShape, "Column"), (ModelShape, "Model")],
)
def test_the_keys_are_those_that_are_read(shape, name):
    definition = json_schemas()["properties"]["$defs"][name]
    assert set(definition["properties"]) == set(keys_of(shape))
    assert definition["additionalProperties"] is False


def test_the_top_level_is_closed():
    properties = json_schemas()["properties"]
    assert (set(properties["properties"]), properties["additionalProperties"]) == (
        set(keys_of(properties_shape())),
        False,
    )


def test_every_option_of_a_model_is_described():
    config = json_schemas()["properties"]["$defs"]["Model"]["properties"]["config"]
    assert set(config["properties"]) == set(OPTIONS)
    assert all(option["description"] for option in config["properties"].values())


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("m*/**/*.yml")) + sorted(ROOT.glob("[st]*s/*.yml")), ids=str
)
def test_the_example_project_fits(path):
    assert accepts("properties", path.read_text())


@pytest.mark.parametrize(
    "content",
    [
        "sourcs: []",
        "models: [{}]",
        "models: [{name: a, config: {partitions: 0}}]",
        "models: [{name: a, config: {materialized: tabel}}]",
        "models: [{name: a, tests: not_null}]",
        "models: [{name: a, columns: [{name: b, nullable: perhaps}]}]",
        "sources: [{name: a, topics: [{name: b, watermark: {column: c, delay: soon}}]}]",
    ],
)
def test_mistakes_don_t_fit(content):
    assert not accepts("properties", content)


@pytest.mark.parametrize(
    "content",
    [
        "models: [{name: a, config: {partitions: \"{{ var('n') }}\", enabled: '{{ x }}', materialized: '{{ y }}'}}]",
        "models: [{name: a, columns: [{name: b, tests: [not_null, {accepted_values: {values: [1]}}, mine]}]}]",
        "sources: [{name: a, format: csv, topics: [{name: b, key: k, columns: [{name: c, type: int, from: d}]}]}]",
    ],
)
def test_templates_and_short_forms_fit(content):
    assert accepts("properties", content)


def test_profiles_have_targets():
    assert accepts(
        "profiles", "shop: {target: local, outputs: {local: {master: 'local[*]', kafka: embedded}}}"
    )
    assert not accepts("profiles", "shop: {outputs: {local: {mastr: x}}}")


def test_defaults_by_folder_are_options_at_any_depth():
    assert accepts("project", "models: {staging: {+materialized: sink, deep: {owner: x}}}")
    assert not accepts("project", "models: {staging: {deep: {materialized: tabel}}}")
