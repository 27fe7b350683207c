"""`millstream show`: a table, topics, a seed, and what is computed."""

import json
import os
import subprocess
import sys
from datetime import datetime, timezone

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.broker import lend
from support.runs import create_topics, send

from millstream.core.node_id import NodeId
from millstream.results.run_results import ModelResult, RunResults, write_results

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs flock")

FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "shop"\n',
    "profiles.yml": 'shop: {outputs: {local: {master: "local[2]", spark: {spark.sql.shuffle.partitions: 2}}}}\n',
    "models/sources.yml": """\
sources:
  - name: web
    topics:
      - name: clicks
        key: {name: user, type: string}
        columns:
          - {name: id, type: bigint}
          - {name: kind, type: string}
          - {name: at, type: timestamp}
        watermark: {column: at, delay: 1 minute}
      - {name: silent, format: string}
""",
    "macros/functions.py": "def loud(kind: str) -> str:\n    return kind.upper()\n",
    "seeds/grades.csv": "kind,grade\na,good\nb,bad\n",
    "models/seen.sql": (
        "select c.user, c.id, loud(c.kind) as kind, c.at from {{ source('web', 'clicks') }} as c\n"
        "where c.kind <> 'bot'\n"
    ),
    "models/out.sql": "{{ config(materialized='sink', key='user') }}\nselect user, id, kind from {{ ref('seen') }}\n",
    "models/raw.sql": "{{ config(materialized='table') }}\nselect user, id, at from {{ ref('seen') }}\n",
    "models/timeless.sql": "{{ config(materialized='table') }}\nselect user, id from {{ ref('seen') }}\n",
    "models/totals.sql": (
        "{{ config(materialized='table', unique_key='user') }}\n"
        "select user, count(*) as n from {{ ref('seen') }} group by user\n"
    ),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory, broker_server):
    """Return a project with records in its topics."""
    root = tmp_path_factory.mktemp("show") / "shop"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    bootstrap = lend(broker_server, root)
    create_topics(bootstrap, "clicks", "out", partitions=1)
    clicks = [
        ("ann" if n % 2 else "bob", {"id": n, "kind": "ab"[n % 2], "at": f"2026-07-01T12:00:0{n}Z"})
        for n in range(6)
    ]
    send(
        bootstrap,
        {
            "clicks": clicks,
            "out": [("ann", {"user": "ann", "id": 1, "kind": "A"}), ("bob", "no JSON"), ("ann", None)],
        },
    )
    write_deltalake(root / ".millstream/local/tables/totals", pa.table({"user": ["ann"], "n": [3]}))
    hours = [1, 3, None, 2]
    raw = {
        "user": ["ann"] * 4,
        "id": hours,
        "at": [h and datetime(2026, 7, 1, h, tzinfo=timezone.utc) for h in hours],
    }
    write_deltalake(root / ".millstream/local/tables/raw", pa.table(raw))
    write_deltalake(
        root / ".millstream/local/tables/timeless", pa.table({"user": ["ann", "bob"], "id": [1, 2]})
    )
    return root


@pytest.fixture
def show(run, filled):
    def call(*arguments):
        return run("show", "--project-dir", str(filled), *arguments)

    return call


def test_an_append_only_table_has_the_newest_rows(show):
    rows = json.loads(show("raw", "--limit", "3", "--output", "json").out)["rows"]
    assert [row["id"] for row in rows] == [3, 2, 1]
    rows = json.loads(show("timeless", "--limit", "1", "--output", "json").out)["rows"]
    assert rows == [{"user": "ann", "id": 1}]


def results_of(status, message):
    """Return the results of a build of `totals`, as `build` writes them."""
    result = ModelResult(NodeId("model", "totals"), status, "totals", message=message)
    return RunResults("build", "shop", "local", "2026-07-01T12:00:00Z", 1.0, (result,))


def test_a_table_whose_build_failed_says_so(show, run, filled):
    query = ("query", "--project-dir", str(filled), "select * from totals")
    try:
        for status, word in (("error", "failed"), ("skipped", "was skipped")):
            write_results(filled / "target", results_of(status, "a value is not a number"))
            for result in (show("totals"), run(*query)):
                assert (result.code, result.out) == (0, "user  n\n────  ─\nann   3\n")
                assert f"MS615]: the last build of 'totals' {word}" in result.err
                assert "a value is not a number" in result.err
                assert "--select +totals" in result.err
            (diagnostic,) = json.loads(run(*query, "--output", "json").out)["diagnostics"]
            assert (diagnostic["code"], diagnostic["severity"]) == ("MS615", "warning")
        assert "MS615" not in show("raw").err
        write_results(filled / "target", results_of("success", ""))
        assert "MS615" not in show("totals").err
    finally:
        (filled / "target/run_results.json").unlink()


def test_a_table_has_the_rows_that_are_stored(show):
    result = show("totals")
    assert (result.code, result.out, result.err) == (0, "user  n\n────  ─\nann   3\n", "(1 row)\n")


def test_a_seed(show):
    assert show("grades", "--limit", "1", "--output", "csv").out == "kind,grade\na,good\n"


@pytest.mark.parametrize("name", ["web.clicks", "clicks", "Clicks"])
def test_a_source_has_its_newest_records_first(show, name):
    output = show(name, "--limit", "2", "--output", "json").json
    assert output["columns"] == ["_timestamp", "_key", "id", "kind", "at"]
    assert [(row["_key"], row["id"], row["at"]) for row in output["rows"]] == [
        ("ann", 5, "2026-07-01T12:00:05Z"), ("bob", 4, "2026-07-01T12:00:04Z"),
    ]  # fmt: skip
    assert output["more"] is True


def test_a_sink_has_its_records_with_what_can_not_be_decoded(show):
    rows = show("out", "--output", "json").json["rows"]
    assert [(row["_key"], row["id"], row["_undecodable"] is None) for row in rows] == [
        ("ann", None, True), ("bob", None, False), ("ann", 1, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["totls"], "MS705", "did you mean 'totals'?"),
        (["silent"], "MS827", "'silent' of 'web.silent' does not exist yet"),
        (["grades", "--compute"], "MS701", "--compute needs a model"),
    ],
)
def test_mistakes(show, arguments, code, message):
    result = show(*arguments)
    assert result.code == 2
    assert code in result.err
    assert message in result.err


@pytest.mark.long
def test_a_view_is_computed(filled):
    # A process of its own: it ends the Spark that it starts.
    command = [
        sys.executable,
        "-m",
        "millstream",
        "show",
        "seen",
        "--project-dir",
        str(filled),
        "--limit",
        "2",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (result.returncode, result.stdout.splitlines()[2:]) == (
        0, ["ann    5  B     2026-07-01 12:00:05Z", "bob    4  A     2026-07-01 12:00:04Z"],
    )  # fmt: skip
    assert result.stderr == (
        "computing 'seen' from the last 10,000 records of each partition\n"
        "(2 rows; more rows exist, see --limit)\n"
    )
