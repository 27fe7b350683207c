"""`produce`, `consume` and `lag` of a source of all topics that match a pattern."""

import json

import pytest
from click.testing import CliRunner
from support.broker import lend

from millstream.cli.group import millstream

FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "shop"\n',
    "profiles.yml": "shop: {target: local, outputs: {local: {kafka: embedded}}}",
    "models/sources.yml": """
sources:
  - name: web
    topics:
      - {name: visits, topic_pattern: visits_.*, columns: [{name: id, type: bigint}]}
""",
    "models/seen.sql": "{{ config(materialized='sink', topic='visits_seen') }} select id from {{ source('web', 'visits') }}",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory, broker_server):
    root = tmp_path_factory.mktemp("visits") / "shop"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    lend(broker_server, root)

    def call(*arguments):
        result = CliRunner().invoke(millstream, [arguments[0], "--project-dir", str(root), *arguments[1:]])
        return result.exit_code, result.stdout, result.stderr

    return call


def test_records_are_sent_to_topics_that_match(run):
    code, _, err = run("lag")
    assert (code, "no topic matches 'visits_.*'" in err) == (2, True)
    code, _, err = run("produce", "web.visits", "--value", '{"id": 1}')
    assert (code, "name the topic to send to" in err) == (2, True)
    code, out, err = run("produce", "other", "--value", '{"id": 1}')
    assert (code, "there is no source 'other'" in err) == (2, True)
    assert run("produce", "visits_ch", "--value", '{"id": 1}')[0] == 0
    assert run("produce", "visits_it", "--value", '{"id": 2}')[0] == 0
    assert run("produce", "visits_seen", "--value", '{"id": 3}')[0] == 0
    code, out, err = run("consume", "web.visits", "--from-beginning", "--output", "json")
    assert (code, err) == (0, "")
    seen = sorted((record["topic"], record["value"]["id"]) for record in map(json.loads, out.splitlines()))
    assert seen == [("visits_ch", 1), ("visits_it", 2)]
    lags = json.loads(run("lag", "--output", "json")[1])["lag"]
    assert sorted((lag["topic"], lag["records"]) for lag in lags) == [("visits_ch", 1), ("visits_it", 1)]


def test_what_needs_no_kafka_shows_the_pattern(run):
    code, out, _ = run("explain", "seen")
    assert (code, "topics visits_.*" in out) == (0, True)
    code, out, _ = run("compile")
    assert code == 0
