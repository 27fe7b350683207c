from pathlib import Path

import pytest

from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack
from millstream.core.text import FileText
from millstream.core.types import BIGINT, STRING, parse_type
from millstream.formats.registry import Encoding
from millstream.project.properties import PropertiesFile, read_properties
from millstream.project.yaml_templates import yaml_renderer

ROOT = Path(__file__).parents[3]


def read(content, **variables):
    return read_properties(
        FileText("models/m.yml", content), yaml_renderer(variables, declared=("NOT_SET_ANYWHERE",))
    )


def good(content, **variables):
    properties, diagnostics = read(content, **variables)
    assert [f"{d.location}: {d.message}" for d in diagnostics] == []
    return properties


def wrong(content):
    _, diagnostics = read(content)
    assert len(diagnostics) == 1, diagnostics
    return marked(content, diagnostics[0])


def marked(content, diagnostic):
    line = content.split("\n")[diagnostic.location.line - 1]
    assert diagnostic.line == line
    return (
        diagnostic.code,
        line[diagnostic.location.column - 1 : diagnostic.location.end - 1],
        diagnostic.message,
        diagnostic.help,
    )


def topic(rest, source=""):
    return good(f"sources:\n- name: shop\n{source}  topics:\n  - {{name: t, {rest}}}\n").sources[0]


COLUMNS = "columns: [{name: a, type: string}]"
FORMATS = "json, debezium, csv, xml, avro, protobuf, string, long, binary, python:<function>"


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("m*/**/*.yml")) + sorted(ROOT.glob("[st]*s/*.yml")), ids=str
)
def test_the_example_project_has_no_mistake(path):
    text = FileText(path.name, path.read_text())
    properties, diagnostics = read_properties(text, yaml_renderer({}, declared=("NOT_SET_ANYWHERE",)))
    assert diagnostics == []
    assert properties != PropertiesFile()


def test_an_empty_file_says_nothing():
    assert read("") == (PropertiesFile(), [])


def test_what_was_read_survives_the_cache():
    properties = good(
        "sources: [{name: s, topics: [{name: t, key: k, columns: [{name: a, type: 'map<string,int>', from: b}]}]}]\n"
        "models: [{name: m, config: {dedupe: {keys: [a], within: 1 hour}}, columns: [{name: c, tests: [unique]}]}]\n"
    )
    assert from_msgpack(to_msgpack(properties), PropertiesFile) == properties


# -- sources


def test_a_topic_of_few_words_has_defaults():
    source_topic = topic(COLUMNS)
    assert (
        source_topic.id,
        source_topic.topics,
        source_topic.format,
        source_topic.on_bad_record,
        source_topic.key,
    ) == (
        "shop.t",
        ("t",),
        Encoding(),
        "fail",
        None,
    )
    assert (source_topic.location.line, source_topic.location.column, source_topic.location.end) == (
        4,
        12,
        13,
    )


def test_a_topic_inherits_from_its_source():
    source = "  owner: a@b\n  format: csv\n  decoding: lenient\n  on_bad_record: skip\n  tags: [x]\n  meta: {a: 1, b: 1}\n  partitions: 3\n"
    source_topic = topic(f"{COLUMNS}, tags: y, meta: {{b: 2}}, on_bad_record: fail", source)
    assert (source_topic.owner, source_topic.format, source_topic.on_bad_record) == (
        "a@b",
        Encoding("csv", "lenient"),
        "fail",
    )
    assert (source_topic.tags, source_topic.meta, source_topic.options) == (
        ("x", "y"),
        {"a": 1, "b": 2},
        {"partitions": 3},
    )


def test_hints_and_reading_options_are_kept():
    source_topic = topic(
        f"{COLUMNS}, starting: latest, options: {{minPartitions: 8}}, hints: {{rows_per_second: 5, distinct: {{a: 9}}}}"
    )
    assert source_topic.options == {
        "starting": "latest", "options": {"minPartitions": 8}, "rows_per_second": 5.0, "distinct": {"a": 9},
    }  # fmt: skip


@pytest.mark.parametrize(("key", "type_"), [("k", STRING), ("{name: k, type: bigint}", BIGINT)])
def test_a_key_is_a_name_or_a_mapping(key, type_):
    key_read = topic(f"{COLUMNS}, key: {key}").key
    assert (key_read.name, key_read.type) == ("k", type_)


def test_columns_have_types_and_derived_ones_their_expression_inside_the_quotes():
    (plain, derived) = topic(
        "columns: [{name: a, type: 'struct<x: int>', nullable: false}, {name: b, from: \"f(a)\"}]"
    ).columns
    assert (plain.type, plain.nullable) == (parse_type("struct<x: int>"), False)
    assert derived.expression == "f(a)"
    line = "  - {name: t, columns: [{name: a, type: 'struct<x: int>', nullable: false}, {name: b, from: \"f(a)\"}]}"
    location = derived.expression_location
    assert line[location.column - 1 : location.end - 1] == "f(a)"


def test_dbt_s_data_type_is_a_type():
    assert topic("columns: [{name: a, data_type: bigint}]").columns[0].type == BIGINT


@pytest.mark.parametrize(
    ("rest", "code", "mark", "message", "remedy"),
    [
        (
            "columns: [{name: a, type: strng}]",
            "MS107",
            "strng",
            "unknown type 'strng'",
            "did you mean 'string'?",
        ),
        (
            "columns: [{name: a, type: 'struct<x: in>'}]",
            "MS107",
            "in",
            "unknown type 'in'",
            "did you mean 'int'?",
        ),
        ("columns: [{name: a, type: varchar}]", "MS107", "varchar", "unknown type 'varchar'", "use string"),
        (
            "columns: [{name: a, type: array<json>}]",
            "MS107",
            "json",
            "unknown type 'json'",
            "use string for the JSON as text, struct<…> with its fields, or variant",
        ),
        ("columns: [{name: a, type: array<int}]", "MS107", None, None, None),
        (
            "columns: [{name: a}]",
            "MS108",
            "a",
            "column 'a' has no type",
            "add `type: …`: json values have no types",
        ),
        ("columns: [{name: a`b, type: int}]", "MS110", "a`b", "'a`b' can't be the name of a column", None),
        (
            "columns: [{name: _offset, type: int}]",
            "MS110",
            "_offset",
            "'_offset' is a metadata column of every topic",
            None,
        ),
        (
            "columns: [{name: a, type: int}, {name: A, type: int}]",
            "MS109",
            "A",
            "column 'A' is defined twice",
            None,
        ),
        (
            "columns: [{name: a, type: int, data_type: int}]",
            "MS107",
            "int",
            "'data_type' and 'type' are the same option",
            None,
        ),
        ("format: string, table: true", "MS108", "t", "reference table 't' has no key", None),
        ("format: json", "MS108", "t", "topic 't' has no columns", None),
        (f"{COLUMNS}, format: jsno", "MS107", "jsno", None, "did you mean 'json'?"),
        *(
            (
                f"{COLUMNS}, format: {name}",
                "MS107",
                name,
                f"'format' must be one of {FORMATS}, not '{name}'",
                "write it as in format: json",
            )
            for name in ("thrift", "python:1a", "python:a-b")
        ),
        (
            f"{COLUMNS}, format: avro",
            "MS108",
            "t",
            "topic 't' has no schema, which avro needs",
            "add `schema: schemas/t.avsc`",
        ),
        (f"{COLUMNS}, topic: a b", "MS107", "a b", None, "write it as in topic: shop.events"),
        (f"{COLUMNS}, starting: newest", "MS107", "newest", None, "write it as in starting: earliest"),
        (
            f"{COLUMNS}, watermark: {{column: b, delay: 1 hour}}",
            "MS117",
            "b",
            "column 'b' does not exist",
            None,
        ),
        (
            f"{COLUMNS}, watermark: {{column: a, delay: 1h}}",
            "MS107",
            "1h",
            "'delay' must be a duration, not '1h'",
            None,
        ),
        (f"{COLUMNS}, watermark: {{column: a}}", "MS108", "{column: a}", "'delay' is missing", None),
        (f"{COLUMNS}, identifier: x", "MS106", "identifier", None, "write topic: …"),
        (f"{COLUMNS}, on_bad_record: drop", "MS107", "drop", None, None),
    ],
)
def test_mistakes_of_a_topic(rest, code, mark, message, remedy):
    report = wrong(f"sources:\n- name: shop\n  topics:\n  - {{name: t, {rest}}}\n")
    assert report[0] == code
    assert mark is None or report[1] == mark
    assert message is None or report[2] == message
    assert remedy is None or report[3] == remedy
    assert report[3]


@pytest.mark.parametrize("name", ["models", "this", "Sources", "a b", "1a", ""])
def test_names_that_sql_can_t_use(name):
    assert wrong(f"sources:\n- name: '{name}'\n")[0] == "MS110"


def test_a_topic_given_twice_in_one_file():
    content = f"sources:\n- name: s\n  topics: [{{name: t, {COLUMNS}}}]\n- name: s\n  topics: [{{name: t, {COLUMNS}}}]\n"
    assert wrong(content)[:3] == ("MS109", "t", "topic 's.t' is defined twice")


def test_topics_of_two_sources_may_have_one_name():
    content = f"sources:\n- name: s\n  topics: [{{name: t, {COLUMNS}}}]\n- name: r\n  topics: [{{name: t, {COLUMNS}}}]\n"
    assert [t.id for t in good(content).sources] == ["s.t", "r.t"]


def test_one_mistake_does_not_hide_the_rest():
    properties, diagnostics = read(
        f"sources:\n- name: s\n  topics: [{{name: t, {COLUMNS}}}, {{nam: u}}]\nmodls: []\n"
    )
    assert [t.name for t in properties.sources] == ["t"]
    assert [d.code for d in diagnostics] == ["MS106", "MS106"]


# -- models and the rest


def test_options_of_a_model_keep_their_places_and_lines():
    content = "models:\n- name: m\n  config:\n    materialized: sink\n    partitions: \"{{ var('n') }}\"\n"
    model = good(content, n=6).models[0]
    assert model.config == {"materialized": "sink", "partitions": 6}
    assert model.config_locations["materialized"].line == 4
    assert model.config_lines["materialized"] == "    materialized: sink"


@pytest.mark.parametrize(
    ("config", "mark", "remedy"),
    [
        ("{partitons: 3}", "partitons", "did you mean 'partitions'?"),
        ("{partitions: 0}", "0", None),
        (
            "{materialized: incremental}",
            "incremental",
            "use 'table': it keeps the newest row per unique_key, or appends all rows without one",
        ),
        ("{dedupe: {keys: [a], witin: x}}", "witin", "did you mean 'within'?"),
        ("{dedupe: {within: 1 hour}}", "{within: 1 hour}", "add `keys: …`"),
        ("{state: {memory: lots}}", "lots", "write it as in memory: 512 MB"),
    ],
)
def test_bad_options_are_told_where_they_stand(config, mark, remedy):
    report = wrong(f"models:\n- name: m\n  config: {config}\n")
    assert report[:2] == ("MS120", mark)
    assert remedy is None or report[3] == remedy


@pytest.mark.parametrize("what", ["models", "seeds", "functions"])
def test_a_name_given_twice(what):
    content = f"{what}:\n- name: a\n- name: A\n"
    assert wrong(content)[:2] == ("MS109", "A")


def test_a_seed_s_column_types_are_columns():
    content = "seeds:\n- name: s\n  columns: [{name: a, type: int}]\n  config: {delimiter: ;, column_types: {a: string, b: date}}\n"
    seed = good(content).seeds[0]
    assert [(column.name, str(column.type)) for column in seed.columns] == [("a", "int"), ("b", "date")]
    assert seed.config == {"delimiter": ";"}


def test_an_exposure_names_relations_with_their_places():
    content = (
        "exposures:\n- name: e\n  depends_on:\n  - ref('a')\n  - \"{{ source('s', 't') }}\"\n  - seed.x\n"
    )
    exposure = good(content).exposures[0]
    assert exposure.depends_on == ("model.a", "source.s.t", "seed.x")
    assert [location.line for location in exposure.depends_on_locations] == [4, 5, 6]


@pytest.mark.parametrize("entry", ["source('s')", "ref('a', 'b', 'c')", "3", "{a: b}", "a b"])
def test_an_exposure_of_something_else_is_refused(entry):
    assert wrong(f"exposures:\n- name: e\n  depends_on:\n  - {entry}\n")[:2] == ("MS107", entry)


def test_descriptions_are_no_templates():
    properties = good(
        "metrics: [{name: m, model: ref('a'), expression: 'sum(x)', description: 'a {{ doc }}'}]"
    )
    assert (properties.metrics[0].description, properties.metrics[0].model) == ("a {{ doc }}", "model.a")
    assert properties.metrics[0].model_location.column == 28


def test_a_unit_test_keeps_its_rows_as_written():
    content = (
        "unit_tests:\n- name: u\n  model: ref('m')\n  given: [{input: ref('a'), rows: [{x: null, y: '{{ z }}'}]}]\n"
        "  steps: [{at: '2026-01-01', expect: []}]\n"
    )
    unit_test = good(content).unit_tests[0]
    assert unit_test.model == "m"
    assert unit_test.body == {
        "given": [{"input": "ref('a')", "rows": [{"x": None, "y": "{{ z }}"}]}],
        "steps": [{"at": "2026-01-01", "expect": []}],
    }


def test_a_typing_error_in_a_unit_test_is_found():
    report = wrong("unit_tests:\n- {name: u, model: m, given: [{inptu: a, input: a}]}\n")
    assert report[:2] == ("MS106", "inptu")


def test_an_environment_variable_that_is_not_set_is_told_at_its_place():
    report = wrong("models:\n- name: m\n  owner: \"{{ env_var('NOT_SET_ANYWHERE') }}\"\n")
    assert report[:2] == ("MS114", "\"{{ env_var('NOT_SET_ANYWHERE') }}\"")


def test_dbt_s_other_keys_are_explained():
    assert wrong("snapshots: []\n")[3].startswith("write a model: ")


@pytest.mark.parametrize(
    ("yaml", "key", "remedy"),
    [
        ("snapshots: [{name: s}]", "snapshots", "versions='all'"),
        ("sources: [{name: s, freshness: {}}]", "freshness", "below each topic: tests: [{freshness: {within: 1 hour}}]"),
        ("sources: [{name: s, loaded_at_field: at}]", "loaded_at_field", "tests: [{freshness: {within: 1 hour, column: …}}]"),
        ("sources: [{name: s, config: {}}]", "config", "one level higher"),
        ("sources: [{name: s, topics: [{name: t, format: string, loaded_at_field: at}]}]", "loaded_at_field", "[{freshness: {within: 1 hour, column: …}}]"),
        ("sources: [{name: s, topics: [{name: t, format: string, freshness: {}}]}]", "freshness", "[{freshness: {within: 1 hour}}]"),
    ],
)  # fmt: skip
def test_a_key_of_dbt_names_what_to_write_instead(yaml, key, remedy):
    _, (diagnostic,) = read_properties(FileText("s.yml", yaml))
    assert (diagnostic.code, diagnostic.message) == ("MS106", f"unknown key '{key}'")
    assert remedy in diagnostic.help
