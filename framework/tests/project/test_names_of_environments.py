"""Names in environments: one rule, under which nothing of one environment can be another's or production's."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core.node_id import NodeId
from millstream.kafka.groups import group_of
from millstream.project.folders import checkpoints_of, target_folder
from millstream.project.names import Environment, environment_in, is_environments, is_name
from millstream.project.values import Target
from millstream.stores.delta.folder import delta_folder
from millstream.stores.mysql.schema import mysql_schema
from millstream.stores.postgres.schema import postgres_schema

NAMES = st.from_regex(r"[a-z0-9]+([-_][a-z0-9]+)*", fullmatch=True).filter(is_name)
PROJECTS = st.from_regex(r"[a-z_][a-z0-9_]*", fullmatch=True)
TOPICS = st.from_regex(r"[a-z._-]{1,12}", fullmatch=True)


@given(PROJECTS, PROJECTS, NAMES, NAMES, TOPICS, TOPICS)
def test_two_environments_have_no_topic_in_common(one, other, alice, bob, first, second):
    """Kafka takes two topics that differ only in `.` and `_` for the same."""
    mine = Environment(alice, one).named(first).replace(".", "_")
    theirs = Environment(bob, other).named(second).replace(".", "_")
    if mine == theirs:
        assert (one, alice, first.replace(".", "_")) == (other, bob, second.replace(".", "_"))


@given(PROJECTS, NAMES, TOPICS)
def test_the_name_of_an_environment_is_found_again(project, name, topic):
    environment = Environment(name, project)
    assert (
        environment_in(environment.named(topic), project)
        == environment_in(environment.folder, project)
        == name
    )
    assert is_environments(environment.named(topic), project)
    assert environment.named(environment.named(topic)) == environment.named(topic)


@pytest.mark.parametrize("name", ["", "Alice", "a--b", "a-", "-a", "a.b", "a b", "ä", "x" * 41, "a\n"])
def test_invalid_names(name):
    assert not is_name(name)


def test_places_of_an_environment(tmp_path):
    tables = {"path": "s3a://lake/tables", "url": "postgresql://db/shop", "database_schema": "marts"}
    alice = Environment("alice", "shop", frozenset({NodeId("model", "totals")}))
    target = Target(
        "shop", "local", {"checkpoints": "s3a://lake/state/", "tables": tables}, environment=alice
    )
    assert checkpoints_of(target, tmp_path) == "s3a://lake/state/env-shop-alice"
    assert target_folder(tmp_path, target) == tmp_path / ".millstream/local/env-shop-alice"
    folder = delta_folder(target, tmp_path)
    assert folder.read(NodeId("model", "orders")) == "s3a://lake/tables/env-shop-alice/orders"
    assert folder.read(NodeId("model", "totals")) == "s3a://lake/tables/totals"
    assert folder.written(NodeId("model", "totals")) == "s3a://lake/tables/env-shop-alice/totals"
    schema = postgres_schema(target)
    assert schema.schema == schema.of(NodeId("model", "orders")).schema == "env-shop-alice--marts"
    assert schema.of(NodeId("model", "totals")).schema == "marts"


def test_the_names_in_the_documentation():
    page = (Path(__file__).parents[3] / "docs/environments.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| [^|]*\| `([^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE))
    alice = Environment("alice", "shop", frozenset())
    for name in ("orders", "orders.dead_letter", group_of("shop", "orders"), "orders-value"):
        assert rows[name] == alice.named(name)
    tables = {"path": "s3a://lake/tables", "url": "postgresql://db/shop", "database_schema": "marts"}
    target = Target(
        "shop", "local", {"checkpoints": "s3a://lake/checkpoints", "tables": tables}, environment=alice
    )
    assert rows["s3a://lake/tables/totals"] == delta_folder(target, Path()).written(NodeId("model", "totals"))
    assert rows["marts.totals"] == f'"{postgres_schema(target).schema}".totals'
    mysql = Target("shop", "local", {"tables": {"mysql_url": "mysql://db/sales"}}, environment=alice)
    assert rows["sales"] == mysql_schema(mysql).schema
    assert rows["s3a://lake/checkpoints"] == checkpoints_of(target, Path())


def test_production_is_never_written():
    alice = Environment("alice", "shop", frozenset({NodeId("model", "totals")}))
    alice.check(NodeId("model", "orders"), "env-shop-alice--orders")
    with pytest.raises(AssertionError, match="must not write"):
        alice.check(NodeId("model", "totals"))
    with pytest.raises(AssertionError, match="must not write"):
        alice.check(NodeId("model", "orders"), "orders")
    with pytest.raises(AssertionError, match="not decided"):
        Environment("alice", "shop").check(NodeId("model", "orders"))
