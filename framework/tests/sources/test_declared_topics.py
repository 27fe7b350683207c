"""Sources of several topics: what is an error, whose remedies work, and what the plan has of them."""

import pytest
from support.loading import summaries, topics

from millstream.compile import compile_project
from millstream.core.node_id import NodeId
from millstream.queries.topology import compiled_topology, physical_of

COLUMNS = "columns: [{name: id, type: bigint}]"
SOURCE = """
sources:
  - name: web
    topics:
      - name: events
        topics: [eu, us]
        on_bad_record: dead_letter
        columns: [{name: id, type: bigint}]
"""
PROFILES = "shop: {target: local, outputs: {local: {kafka: embedded}}}"


def row(keys):
    return f"name: events, {keys}, {COLUMNS}"


WRONG = {
    "topic: a, topics: [a, b]": ("MS107", "[a, b]", "write all of its topics in `topics`", "topics: [a, b]"),
    "topic_pattern: 'a_('": (
        "MS107",
        "'a_('",
        "write one that matches whole names, such as orders_.*",
        "topic_pattern: orders_.*",
    ),
    "topic: a, topic_pattern: b_.*": (
        "MS107",
        "b_.*",
        "remove `topic`, or name it in the pattern: orders_.*|returns",
        "topic_pattern: b_.*|a",
    ),
    "topics: [a], topic_pattern: b_.*": (
        "MS107",
        "b_.*",
        "remove `topics`, or name it in the pattern: orders_.*|returns",
        "topic_pattern: b_.*|a",
    ),
    "topic_pattern: b_.*, partitions: 3": ("MS107", "3", "remove it", "topic_pattern: b_.*"),
    "topic_pattern: b_.*, key: {name: k, type: string}, table: true": (
        "MS107",
        "true",
        "declare a source for each topic, or remove `table` and store a model as a table",
        "topic_pattern: b_.*, key: {name: k, type: string}",
    ),
    "topics: []": ("MS107", "[]", "name its topics, or remove `topics`", "topics: [a]"),
    "topics: [a, a]": ("MS109", "[a, a]", "keep one of them", "topics: [a]"),
    "topics: [a, b], key: {name: k, type: string}, table: true": (
        "MS107",
        "true",
        "declare a source for each topic, or remove `table` and store a model as a table",
        "topics: [a, b], key: {name: k, type: string}",
    ),
    "topics: [a, b], format: avro, schema: registry": (
        "MS107",
        "registry",
        "name the subject: `schema: {subject: …}`",
        "topics: [a, b], format: avro, schema: {subject: orders}",
    ),
    "topics: [a, b], key: {name: k, format: avro, schema: {version: 2}}": (
        "MS107",
        "{version: 2}",
        "name the subject: `schema: {subject: …}`",
        "topics: [a, b], key: {name: k, format: avro, schema: {version: 2, subject: keys}}",
    ),
}


def errors(root, keys):
    """Return what is wrong besides that a registry was not asked yet."""
    return [error for error in summaries(topics(root, row(keys))[1]) if error[0] != "MS125"]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_one_topic_can_have_only_is_an_error_with_a_remedy(tmp_path, wrong):
    code, under, remedy, right = WRONG[wrong]
    assert errors(tmp_path, wrong) == [(code, f"models/s.yml: {under}", remedy)]
    assert errors(tmp_path, right) == []


def compiled(root, model, source=SOURCE):
    for path, text in {
        "pyproject.toml": '[tool.millstream]\nname = "shop"\n',
        "profiles.yml": PROFILES,
        "models/sources.yml": source,
        "models/m.sql": model,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return compile_project(root)


MODEL = "{{{{ config(materialized='sink', topic='{}') }}}} select id, _topic from {{{{ source('web', 'events') }}}}"


@pytest.mark.parametrize(("topic", "code"), [("us", "MS550"), ("events.dead_letter", "MS553"), ("out", "")])
def test_none_of_them_can_be_written(tmp_path, topic, code):
    assert [d.code for d in compiled(tmp_path, MODEL.format(topic)).diagnostics] == [code] * bool(code)


def test_a_query_reads_all_of_them_at_once(tmp_path):
    (query,) = physical_of(compiled_topology(compiled(tmp_path, MODEL.format("out"))), None).queries
    assert (query.topics_read, query.streams) == (("eu", "us"), ("eu", "us"))
    assert query.signature.topics == ("eu, us",)
    assert query.relations == dict.fromkeys(("eu", "us"), NodeId("source", "web.events"))
    assert query.dead_letter_topics == ("events.dead_letter",)
