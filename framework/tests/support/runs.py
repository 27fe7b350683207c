"""Builds of projects within the tests' own Spark."""

import json

import duckdb
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable
from pyiceberg.table import StaticTable

from millstream.cli.environments import defer_unchanged
from millstream.compile import compile_project
from millstream.compile.artifacts import manifest_file
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.files import local_lock
from millstream.deploy.planning.intents import Regroup
from millstream.deploy.values import Job
from millstream.project.folders import checkpoints_of
from millstream.project.load import load_project
from millstream.queries.topology import compiled_topology, physical_of
from millstream.runner.commands.build import build_models
from millstream.stores.delta.folder import delta_folder


def job_of(root, *, target=None, tests=True, environment=None, **options):
    compiled = compile_project(root, target=target)
    errors = [diagnostic for diagnostic in compiled.diagnostics if diagnostic.severity == "error"]
    assert not errors, errors
    project = load_project(root, target, None, None, environment)
    compiled, project = defer_unchanged(root, compiled, project)
    topology = compiled_topology(compiled, tests=tests)
    lock = (
        None
        if isinstance(options.get("intent"), Regroup)
        else local_lock(checkpoints_of(project.target, root))
    )
    if options.get("models") is not None:
        options["models"] = frozenset(NodeId.parse(str(model)) for model in options["models"])
    manifest = manifest_file(compiled)
    return Job(project, topology, physical_of(topology, lock), lock, manifest=manifest, **options)


def built(root, spark, *, target=None, tests=True, **options):
    """Build a project; return the results and everything that was told."""
    events = []
    results = build_models(
        job_of(root, target=target, tests=tests, **options), root / ".millstream", events.append, spark
    )
    return results, events


def statuses(results):
    return {result.id.partition(".")[2]: result.status for result in results.results}


def errors(events):
    """Return what queries failed with."""
    return [
        event.result.diagnostic
        for event in events
        if getattr(event, "result", None) and event.result.diagnostic
    ]


def create_topics(bootstrap, *topics, partitions=2):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, partitions, 1) for topic in topics]).values():
        future.result(10)
    while not all(_led(admin, topic, partitions) for topic in topics):
        pass


def _led(admin, topic, partitions):
    """Tell whether all partitions of a topic have a leader: a producer that finds fewer would send elsewhere."""
    leaders = admin.list_topics(topic, timeout=10).topics[topic].partitions
    return len(leaders) == partitions and all(partition.leader >= 0 for partition in leaders.values())


def send(bootstrap, records, headers=None):
    """Send records by topic: keys and values, which are texts, bytes or what becomes JSON.

    Records that are sent once more stay in their order, on which the rows of reference topics depend.
    """
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "enable.idempotence": True})
    failed = []
    for topic, rows in records.items():
        for key, value in rows:
            is_encoded = value is None or isinstance(value, str | bytes)
            data = value if is_encoded else json.dumps(value)
            queue_record(
                producer,
                topic,
                key=key,
                value=data,
                headers=headers,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
    assert producer.flush(30) == 0
    assert not failed, failed


def queue_record(producer, topic, **record):
    """Let a producer send a record; wait while it has no room for more."""
    while True:
        producer.poll(0)
        try:
            return producer.produce(topic, **record)
        except BufferError:
            producer.poll(1)


def received(bootstrap, topic):
    """Return all records of a topic, partition by partition."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": "tests", "enable.auto.commit": False, "enable.partition.eof": True,
    })  # fmt: skip
    messages = []
    try:
        for number in consumer.list_topics(topic, timeout=10).topics[topic].partitions:
            partition = TopicPartition(topic, number)
            first, end = consumer.get_watermark_offsets(partition, timeout=10)
            partition.offset = first
            consumer.assign([partition])
            while first < end:
                (message,) = consumer.consume(1, timeout=20)
                if message.error() is not None:
                    # The last offset may be that of a transaction's end.
                    assert message.error().name() == "_PARTITION_EOF"
                    break
                messages.append(message)
                first = message.offset() + 1
    finally:
        consumer.close()
    return messages


def pairs(bootstrap, topic):
    return [(message.key(), message.value()) for message in received(bootstrap, topic)]


def headers(message):
    return {name: value.decode() for name, value in message.headers() or ()}


def table_rows(root, relation, target=None, environment=None):
    """Return the rows of a state table."""
    if environment is None:
        of = load_project(root, target, None, None).target
    else:
        of = job_of(root, target=target, environment=environment).project.target
    location = delta_folder(of, root).read(NodeId.parse(relation))
    return DeltaTable(location).to_pyarrow_table().to_pylist()


def engines_of(root, name):
    """Return the engines of the commits of a state table that stored rows, oldest first."""
    location = delta_folder(load_project(root, None, None, None).target, root).read(NodeId("model", name))
    stored = (c for c in reversed(DeltaTable(location).history()) if c["operation"] in {"MERGE", "WRITE"})
    return [commit.get("engineInfo", "").partition(":")[0].partition("/")[0] for commit in stored]


def parquet_rows(root, name):
    """Return the rows of a table of Parquet files, whose folder is `lake`, as DuckDB reads them."""
    with duckdb.connect() as connection:
        files = f"{root}/lake/{name}/**/*.parquet"
        rows = connection.sql(f"select * from read_parquet('{files}', hive_partitioning = true)")
        return rows.to_arrow_table().to_pylist()


def iceberg_rows(root, name):
    """Return the rows of a table in Iceberg, whose folder is `lake`."""
    return StaticTable.from_metadata(str(root / "lake" / name)).scan().to_arrow().to_pylist()
