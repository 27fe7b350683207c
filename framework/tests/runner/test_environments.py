"""Isolated environments and production side by side on one Kafka, and what a dropped one leaves behind."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable
from support.runs import create_topics, received, send, statuses
from support.shops import PROJECT, event
from support.spark import SPARK_WARNINGS

from millstream.artifacts import manifest_file
from millstream.cli.environments import decided
from millstream.compile import compile_project
from millstream.deployment.intents import Apply
from millstream.kafka.opening import connected
from millstream.project.folders import checkpoints_of
from millstream.project.load import load_project
from millstream.runner.checkpoints.files import local_lock
from millstream.runner.commands.build import build
from millstream.runner.commands.environments import contents, drop, names_of
from millstream.runner.values import Job
from millstream.topology import compiled_topology, physical_of

pytestmark = SPARK_WARNINGS

PROFILES = """\
{name}:
  target: shared
  outputs:
    shared:
      master: local[2]
      kafka: {{bootstrap_servers: "{servers}"}}
      checkpoints: "{shared}/checkpoints"
      tables: {{path: "{shared}/tables"}}
"""
SOURCES = """\
sources:
  - name: web
    topics:
      - name: events
        topic: {events}
        key: {{name: user, type: string}}
        on_bad_record: dead_letter
        columns:
          - {{name: id, type: int}}
          - {{name: kind, type: string}}
          - {{name: value, type: double}}
"""
MODELS = {
    "enriched": """
        {{ config(materialized='sink', topic=var('enriched'), key='id') }}
        select id, user, kind, value * 2 as doubled from {{ source('web', 'events') }} where value >= 0
    """,
    "totals": """
        {{ config(materialized='table', unique_key='user') }}
        select user, sum(value) as total from {{ source('web', 'events') }} group by user
    """,
    "big": "select * from {{ ref('enriched') }} where doubled > 10",
    "alerts": """
        {{ config(materialized='sink', topic=var('alerts'), key='id') }}
        select b.id, b.user, b.doubled, t.total
        from {{ ref('big') }} b left join {{ ref('totals') }} t on b.user = t.user
    """,
    "kinds": """
        {{ config(materialized='table', unique_key='kind') }}
        select kind, count(*) as events from {{ ref('enriched') }} group by kind
    """,
}


class Checkout:
    """A developer's copy of the project; all copies share Kafka, tables and checkpoints."""

    def __init__(self, root: Path, environment: str | None = None) -> None:
        self.root = root
        self.environment = environment

    def copy(self, root: Path, environment: str) -> "Checkout":
        shutil.copytree(self.root, root, ignore=shutil.ignore_patterns("target", ".millstream"))
        return Checkout(root, environment)

    def edit(self, model: str, old: str, new: str) -> None:
        file = self.root / "models" / f"{model}.sql"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def job(self, **options):
        compiled = compile_project(self.root)
        assert not [each for each in compiled.diagnostics if each.severity == "error"], compiled.diagnostics
        project = load_project(self.root, None, None, None, self.environment)
        compiled, project = decided(self.root, compiled, project)
        topology = compiled_topology(compiled)
        lock = local_lock(checkpoints_of(project.target, self.root))
        return Job(
            project, topology, physical_of(topology, lock), lock, manifest=manifest_file(compiled), **options
        )

    def build(self, spark, **options):
        told = []
        results = build(self.job(**options), self.root / ".millstream", told.append, spark)
        assert set(statuses(results).values()) == {"success"}, told
        return set(statuses(results))


@pytest.fixture
def production(tmp_path, broker, request):
    name = f"shop_{tmp_path.name.replace('-', '_')}"
    root = tmp_path / "production"
    (root / "models").mkdir(parents=True)
    names = {each: f"{name}_{each}" for each in ("events", "enriched", "alerts")}
    variables = "\n".join(f'{each} = "{topic}"' for each, topic in names.items())
    text = f"{PROJECT.replace('shop', name)}\n[tool.millstream.vars]\n{variables}\n"
    (root / "pyproject.toml").write_text(text)
    (root / "profiles.yml").write_text(
        PROFILES.format(name=name, servers=broker, shared=(tmp_path / "shared").as_posix())
    )
    (root / "models/sources.yml").write_text(SOURCES.format(events=names["events"]))
    for model, sql in MODELS.items():
        (root / f"models/{model}.sql").write_text(sql)
    create_topics(broker, names["events"], partitions=2)
    found = Checkout(root)
    found.name, found.broker, found.names, found.shared = name, broker, names, tmp_path / "shared"
    return found


def table(path):
    return DeltaTable(str(path)).to_pyarrow_table().to_pylist()


def values(production, topic):
    """Return the values of a topic, once for each key, since records are sent at least once."""
    found = {}
    for message in received(production.broker, topic):
        found[message.key()] = json.loads(message.value())
    return list(found.values())


def on_kafka(production):
    """Return the topics and groups of the project, as Kafka itself lists them."""
    admin = AdminClient({"bootstrap.servers": production.broker})
    topics = {name for name in admin.list_topics(timeout=10).topics if production.name in name}
    groups = {each.group_id for each in admin.list_consumer_groups().result(10).valid}
    return topics, {each for each in groups if production.name in each}


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def sent(production, rows):
    send(production.broker, {production.names["events"]: rows})


def test_two_environments_and_production_side_by_side(production, tmp_path, first_spark):
    spark, names = first_spark, production.names
    first = [event(n, "ab"[n % 2], float(n), "xyz"[n % 3]) for n in range(12)]
    sent(production, [*first, ("a", "not json")])
    assert production.build(spark) == {"enriched", "totals", "alerts", "kinds"}
    before_topics, before_files = on_kafka(production)[0], files(production.shared)

    alice = production.copy(tmp_path / "alice", "alice")
    alice.edit("big", "doubled > 10", "doubled > 4")
    bob = production.copy(tmp_path / "bob", "alice_b")
    bob.edit("kinds", "count(*) as events", "sum(doubled) as events")
    # Only what changed is built, and what is below it.
    assert alice.build(spark, intent=Apply()) == {"alerts"}
    assert bob.build(spark, intent=Apply()) == {"kinds"}

    more = [event(n, "ab"[n % 2], float(n % 7), "xyz"[n % 3]) for n in range(12, 30)]
    sent(production, more)
    production.build(spark)
    alice.build(spark)
    bob.build(spark)

    rows = [(user, value) for user, value in (*first, *more)]
    totals = Counter()
    for user, row in rows:
        totals[user] += row["value"]
    prefix = f"env-{production.name}-alice--"
    seen = {row["id"]: row["doubled"] for row in values(production, names["alerts"])}
    assert seen == {row["id"]: row["value"] * 2 for _, row in rows if row["value"] * 2 > 10}
    alerts = values(production, prefix + names["alerts"])
    assert {row["id"]: row["doubled"] for row in alerts} == {
        row["id"]: row["value"] * 2 for _, row in rows if row["value"] * 2 > 4
    }
    # The table that alice only reads is production's.
    assert {row["total"] for row in alerts if row["id"] >= 12} <= set(totals.values())
    tables = production.shared / "tables"
    assert {r["kind"]: r["events"] for r in table(tables / "kinds")} == Counter(r["kind"] for _, r in rows)
    sums = Counter()
    for _, row in rows:
        sums[row["kind"]] += row["value"] * 2
    of_bob = tables / f"env-{production.name}-alice_b"
    assert {r["kind"]: r["events"] for r in table(of_bob / "kinds")} == sums
    assert {path.name for path in of_bob.iterdir()} == {"kinds"}

    # alice is dropped without a trace; bob and production are as they were.
    project = load_project(alice.root, None, None, None)
    topics, groups = on_kafka(production)
    all_files = files(production.shared)
    with connected(project) as admin:
        assert names_of(project, admin) == ("alice", "alice_b")
        found = contents(project, admin, "alice")
        drop(project, admin, found)
        assert names_of(project, admin) == ("alice_b",)
    left_topics, left_groups = on_kafka(production)
    assert topics - left_topics == {name for name in topics if name.startswith(prefix)} == set(found.topics)
    assert left_groups == {name for name in groups if not name.startswith(prefix)}
    own = f"env-{production.name}-alice"
    gone = {path for path in all_files if own in path.split("/")}
    assert gone and files(production.shared) == all_files - gone
    assert before_topics <= left_topics
    assert before_files - files(production.shared) == set()
    assert files(alice.root / ".millstream") == {"shared"}
