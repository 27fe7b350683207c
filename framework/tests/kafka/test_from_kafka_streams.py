"""Each line of docs/kafka_streams.md, in a project."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from support.shops import SOURCES, Shop

from millstream.compile import compile_project
from millstream.kafka.cluster import cluster_of
from millstream.kafka.settings import sink_options, source_options
from millstream.project.load import load_project

PAGE = Path(__file__).parents[3] / "docs/kafka_streams.md"
LINES = [re.findall(r"`([^`]*)`|(target|source|model):", line) for line in PAGE.read_text().splitlines()[6:]]
OPTIONS = [
    (where, yaml.safe_load(text))
    for line in LINES
    for (_, where), (text, _) in pairwise(line)
    if where and text
]
MODEL = """
    {{{{ config(materialized='table', unique_key='user', order_by='at'{more}) }}}}
    select user, at from {{{{ source('web', 'events') }}}}
"""


def project(root, where, message):
    shop = Shop(root, "")
    target = {"master": "local[2]", "kafka": "embedded"} | (message if where == "target" else {})
    shop.write("profiles.yml", json.dumps({"shop": {"target": "local", "outputs": {"local": target}}}))
    if where == "source":
        sources = yaml.safe_load(SOURCES)
        sources["sources"][0]["topics"][0] |= message
        shop.write("models/sources.yml", json.dumps(sources))
    more = "".join(f", {name}={value!r}" for name, value in message.items()) if where == "model" else ""
    shop.model("latest", MODEL.format(more=more))
    return root


def test_the_page_has_places():
    assert len(OPTIONS) >= 18
    assert {where for where, _ in OPTIONS} == {"target", "source", "model"}


@pytest.mark.parametrize(("where", "message"), OPTIONS, ids=[f"{w} {s}"[:60] for w, s in OPTIONS])
def test_each_place_takes_what_the_page_says(tmp_path, where, message):
    compiled = compile_project(project(tmp_path, where, message))
    assert compiled.diagnostics == ()


@pytest.mark.parametrize("client", ["producer", "consumer"])
def test_options_of_clients_reach_spark(tmp_path, client):
    tried = 0
    for number, (where, message) in enumerate(OPTIONS):
        client_options = (
            where == "target" and isinstance(message.get("kafka"), dict) and message["kafka"].get(client)
        )
        if client_options:
            target = load_project(project(tmp_path / str(number), where, message), None, None, None).target
            options = (sink_options if client == "producer" else source_options)(cluster_of(target))
            assert {name: options[f"kafka.{name}"] for name in client_options} == {
                n: str(v) for n, v in client_options.items()
            }
            tried += 1
    assert tried >= 3
