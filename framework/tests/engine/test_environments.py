"""Isolated environments and production side by side on one Kafka, and what a dropped one leaves behind."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from deltalake import DeltaTable
from support.runs import create_topics, received, send, statuses
from support.secured_kafka import PASSWORD, cluster_of, secured_port  # noqa: F401 - a fixture
from support.shops import PROJECT, event
from support.spark import SPARK_WARNINGS

from millstream.cli.environments import defer_unchanged
from millstream.cli.group import millstream
from millstream.compile import compile_project
from millstream.compile.artifacts import manifest_file
from millstream.deploy.checkpoints.files import local_lock
from millstream.deploy.planning.intents import Apply
from millstream.deploy.values import Job
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import reveal_options
from millstream.kafka.offsets import topic_bounds
from millstream.kafka.settings import producer_config
from millstream.kafka.topics import TopicConfig, create_missing, user_topics
from millstream.project.folders import checkpoints_of
from millstream.project.load import load_project
from millstream.queries.topology import compiled_topology, physical_of
from millstream.runner.commands.build import build_models

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

PROFILES = """\
{name}:
  target: shared
  outputs:
    shared:
      master: local[2]
      kafka: {kafka}
      checkpoints: "{shared}/checkpoints"
      tables: {tables}
"""
KAFKA = '{{bootstrap_servers: "{servers}"}}'
SECURED = """{{bootstrap_servers: "127.0.0.1:{port}", security_protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN,
      sasl_username: "{{{{ env_var('KAFKA_USER') }}}}", sasl_password: "{{{{ env_var('KAFKA_PASSWORD') }}}}"}}"""
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

    def __init__(self, root: Path, name: str, shared: Path, environment: str | None = None) -> None:
        self.root = root
        self.name = name
        self.shared = shared
        self.environment = environment

    def copy(self, root: Path, environment: str) -> "Checkout":
        shutil.copytree(self.root, root, ignore=shutil.ignore_patterns("target", ".millstream"))
        return Checkout(root, self.name, self.shared, environment)

    def edit(self, model: str, old: str, new: str) -> None:
        file = self.root / "models" / f"{model}.sql"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def job(self, **options):
        compiled = compile_project(self.root)
        assert not [diagnostic for diagnostic in compiled.diagnostics if diagnostic.severity == "error"], (
            compiled.diagnostics
        )
        project = load_project(self.root, None, None, None, self.environment)
        compiled, project = defer_unchanged(self.root, compiled, project)
        topology = compiled_topology(compiled)
        lock = local_lock(checkpoints_of(project.target, self.root))
        return Job(
            project, topology, physical_of(topology, lock), lock, manifest=manifest_file(compiled), **options
        )

    @property
    def folder(self):
        return f"env-{self.name}-{self.environment}"

    @property
    def prefix(self):
        return f"{self.folder}--"

    def rows(self, model, of=None):
        folder = self.shared / "tables" / ("" if of else self.folder) / model
        return {row["kind"]: row["events"] for row in DeltaTable(str(folder)).to_pyarrow_table().to_pylist()}

    def command(self, *arguments, code=0):
        result = CliRunner().invoke(millstream, [*arguments, "--project-dir", str(self.root)])
        assert result.exit_code == code, result.output
        return result.stdout if code == 0 else result.output

    def build(self, spark, **options):
        events = []
        results = build_models(self.job(**options), self.root / ".millstream", events.append, spark)
        assert set(statuses(results).values()) <= {"success"}, events
        return set(statuses(results))


@pytest.fixture
def production(tmp_path, broker):
    production = checkout(tmp_path, KAFKA.format(servers=broker))
    create_topics(broker, production.names["events"], partitions=2)
    production.broker = broker
    return production


def checkout(tmp_path, kafka, tables=""):
    name = f"shop_{tmp_path.name.replace('-', '_')}"
    root = tmp_path / "production"
    (root / "models").mkdir(parents=True)
    names = {topic: f"{name}_{topic}" for topic in ("events", "enriched", "alerts")}
    variables = "\n".join(f'{variable} = "{topic}"' for variable, topic in names.items())
    text = f"{PROJECT.replace('shop', name)}\n[tool.millstream.vars]\n{variables}\n"
    (root / "pyproject.toml").write_text(text)
    shared = (tmp_path / "shared").as_posix()
    tables = tables or f'{{path: "{shared}/tables"}}'
    (root / "profiles.yml").write_text(PROFILES.format(name=name, kafka=kafka, tables=tables, shared=shared))
    (root / "models/sources.yml").write_text(SOURCES.format(events=names["events"]))
    for model, sql in MODELS.items():
        (root / f"models/{model}.sql").write_text(sql)
    checkout = Checkout(root, name, tmp_path / "shared")
    checkout.names = names
    return checkout


def values(production, topic):
    """Return the values of a topic, once for each key, since records are sent at least once."""
    newest = {}
    for message in received(production.broker, topic):
        newest[message.key()] = json.loads(message.value())
    return list(newest.values())


def on_kafka(production):
    """Return the topics and groups of the project, as Kafka itself lists them."""
    admin = AdminClient({"bootstrap.servers": production.broker})
    topics = {name for name in admin.list_topics(timeout=10).topics if production.name in name}
    groups = {group.group_id for group in admin.list_consumer_groups().result(10).valid}
    return topics, {group for group in groups if production.name in group}


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def sent(production, rows):
    send(production.broker, {production.names["events"]: rows})


def test_two_environments_and_production_side_by_side(production, tmp_path, first_spark):
    spark = first_spark
    first = [event(n, "ab"[n % 2], float(n), "xyz"[n % 3]) for n in range(12)]
    sent(production, [*first, ("a", "not json")])
    assert production.build(spark) == {"enriched", "totals", "alerts", "kinds"}
    before = on_kafka(production)[0], files(production.shared)
    alice = production.copy(tmp_path / "alice", "alice")
    alice.edit("big", "doubled > 10", "doubled > 4")
    bob = production.copy(tmp_path / "bob", "alice_b")
    bob.edit("kinds", "count(*) as events", "sum(doubled) as events")
    # Only what changed is built, and what is below it.
    assert alice.build(spark, intent=Apply()) == {"alerts"}
    assert bob.build(spark, intent=Apply()) == {"kinds"}

    more = [event(n, "ab"[n % 2], float(n % 7), "xyz"[n % 3]) for n in range(12, 30)]
    sent(production, more)
    for project in (production, alice, bob):
        project.build(spark)
    stored = [row | {"user": user} for user, row in (*first, *more)]
    assert stored_alerts(production, production.names["alerts"]) == alerts_of(stored, 10)
    assert stored_alerts(production, f"{alice.prefix}{production.names['alerts']}") == alerts_of(stored, 4)
    assert bob.rows("kinds", of=production) == Counter(row["kind"] for row in stored)
    assert bob.rows("kinds") == sums_of(stored)
    commands_in_environments(production, alice, bob)

    # Once production has the edit, the environment reads it there.
    production.edit("kinds", "count(*) as events", "sum(doubled) as events")
    production.build(spark, intent=Apply())
    assert bob.build(spark, intent=Apply()) == set()
    assert not (production.shared / "tables" / bob.folder / "kinds").exists()
    assert kinds_in(bob, "-e", "alice_b") == sums_of(stored)
    alice_is_dropped_without_a_trace(production, alice, *before)


def alerts_of(rows, least):
    return {row["id"]: row["value"] * 2 for row in rows if row["value"] * 2 > least}


def sums_of(rows):
    sums = Counter()
    for row in rows:
        sums[row["kind"]] += row["value"] * 2
    return sums


def stored_alerts(production, topic):
    alerts = values(production, topic)
    assert all(row["total"] is not None for row in alerts)  # from production's table
    return {row["id"]: row["doubled"] for row in alerts}


def kinds_in(checkout, *options):
    sql = "select kind, events from kinds"
    rows = json.loads(checkout.command("query", sql, "--output", "json", *options))["rows"]
    return {row["kind"]: row["events"] for row in rows}


def commands_in_environments(production, alice, bob):
    """Commands see what an environment has of its own, and production for all else."""
    topic = f"{alice.prefix}{production.names['alerts']}"
    shown = alice.command("consume", "alerts", "--from-beginning", "-e", "alice", "--output", "json")
    assert {json.loads(line)["topic"] for line in shown.splitlines()} == {topic}
    of_production = kinds_in(production)
    assert kinds_in(alice, "-e", "alice") == of_production == bob.rows("kinds", of=production)
    assert kinds_in(bob, "-e", "alice_b") == bob.rows("kinds") != of_production
    plan = json.loads(alice.command("plan", "-e", "alice", "--output", "json"))
    assert (plan["target"], plan["queries"]) == ("shared, environment alice", [])
    assert topic in alice.command("explain", "-e", "alice", "--sql")
    environments = json.loads(alice.command("environment", "ls", "--output", "json"))["environments"]
    built = {environment["environment"]: environment["recorded"]["built"] for environment in environments}
    assert built == {"alice": ["model.alerts"], "alice_b": ["model.kinds"]}
    assert "MS711" in alice.command("show", "kinds", "-e", "nobody", code=2)
    assert "MS712" in alice.command("dead-letters", "replay", "-e", "alice", code=2)
    assert "MS130" in alice.command("plan", "-e", "Alice", code=2)


def alice_is_dropped_without_a_trace(production, alice, topics_before, files_before):
    topics, groups = on_kafka(production)
    all_files = files(production.shared)
    prefixed = {name for name in topics if name.startswith(alice.prefix)}
    dropped = json.loads(alice.command("environment", "drop", "alice", "--output", "json"))["dropped"]
    left, left_groups = on_kafka(production)
    assert topics - left == prefixed == set(dropped["topics"])
    assert prefixed == {f"{alice.prefix}{production.names['alerts']}"}
    assert left_groups == {name for name in groups if not name.startswith(alice.prefix)}
    gone = {path for path in all_files if alice.folder in path.split("/")}
    assert gone
    assert files(production.shared) == all_files - gone
    assert topics_before <= left
    assert {path for path in files_before if "/kinds/" not in path} <= files(production.shared)
    assert files(alice.root / ".millstream") == {"shared"}


def test_tables_in_a_database(tmp_path, broker, database, first_spark):
    production = checkout(tmp_path, KAFKA.format(servers=broker), database.mapping())
    production.broker = broker
    create_topics(broker, production.names["events"], partitions=1)
    sent(production, [event(n, "ab"[n % 2], float(n), "xyz"[n % 3]) for n in range(12)])
    production.build(first_spark)
    alice = production.copy(tmp_path / "alice", "alice")
    alice.edit("kinds", "count(*) as events", "sum(doubled) as events")
    alice.edit("big", "doubled > 10", "doubled > 4")
    assert alice.build(first_spark, intent=Apply()) == {"alerts", "kinds"}
    # The table that is looked up is production's.
    assert len(stored_alerts(production, f"{alice.prefix}{production.names['alerts']}")) == 9
    schema = f"{alice.folder}--Shop"
    assert database.rows(f'select kind, events from "{schema}".kinds order by 1') == [
        (kind, sum(n * 2.0 for n in range(12) if "xyz"[n % 3] == kind)) for kind in "xyz"
    ]
    assert database.rows("select kind, events from kinds order by 1") == [(kind, 4) for kind in "xyz"]
    assert not database.rows(
        f"select 1 from information_schema.tables where table_schema = '{schema}' and table_name = 'totals'"
    )
    totals = json.loads(alice.command("query", "select * from totals", "-e", "alice", "--output", "json"))
    assert len(totals["rows"]) == 2
    assert kinds_in(alice, "-e", "alice")["x"] == 36.0
    dropped = json.loads(alice.command("environment", "drop", "alice", "--output", "json"))["dropped"]
    assert {"kinds"} <= set(dropped["tables"])
    assert not database.rows(f"select 1 from information_schema.schemata where schema_name = '{schema}'")
    assert database.rows("select kind, events from kinds order by 1") == [(kind, 4) for kind in "xyz"]


def test_a_user_who_may_only_read_production(tmp_path, secured_port, first_spark, monkeypatch):  # noqa: F811
    monkeypatch.setenv("KAFKA_USER", "root")
    monkeypatch.setenv("KAFKA_PASSWORD", "r")
    production = checkout(tmp_path, SECURED.format(port=secured_port))
    root = admin_of(cluster_of(secured_port))
    create_missing(root, [TopicConfig(production.names["events"], 1)])
    login = reveal_options(producer_config(cluster_of(secured_port)))
    producer = Producer(login)
    for number in range(12):
        key, value = event(number, "ab"[number % 2], float(number))
        producer.produce(production.names["events"], key=key, value=json.dumps(value))
    assert producer.flush(30) == 0
    production.build(first_spark)
    before = ends(root)

    prefix = f"env-{production.name}-"
    allow(root, ResourceType.TOPIC, production.names["enriched"], "LITERAL", "READ")
    allow(root, ResourceType.TOPIC, prefix, "PREFIXED", "ALL")
    allow(root, ResourceType.GROUP, prefix, "PREFIXED", "ALL")
    monkeypatch.setenv("KAFKA_USER", "ann")
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    alice = production.copy(tmp_path / "alice", "alice")
    alice.edit("big", "doubled > 10", "doubled > 4")
    assert alice.build(first_spark, intent=Apply()) == {"alerts"}
    now = ends(root)
    assert {name: now[name] for name in before} == before
    assert now[f"{alice.prefix}{production.names['alerts']}"] >= 9
    dropped = json.loads(alice.command("environment", "drop", "alice", "--output", "json"))["dropped"]
    assert dropped["topics"] == [f"{alice.prefix}{production.names['alerts']}"]
    assert ends(root) == before


def allow(root, kind, name, pattern, operation):
    whom = (kind, name, ResourcePatternType[pattern], "User:ann", "*")
    rule = AclBinding(*whom, AclOperation[operation], AclPermissionType.ALLOW)
    for future in root.client.create_acls([rule]).values():
        future.result(10)


def ends(root):
    """Return how many records each topic has received."""
    names = user_topics(root)
    return {
        name: sum(b.end for (topic, _), b in topic_bounds(root, names).items() if topic == name)
        for name in names
    }
