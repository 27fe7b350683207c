"""The target of docs/production.md on a real Kafka with SASL_SSL, real certificates, and a real Prometheus."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable
from support.commands import MILLSTREAM, Run
from support.prometheus import scraped
from support.sasl_ssl import PASSWORD, sasl_ssl_broker
from support.secured_kafka import free_port
from support.shops import TOTALS, Shop, event

pytestmark = pytest.mark.long

PAGE = Path(__file__).resolve().parents[4] / "docs/production.md"
BIG = """
    {{ config(materialized='sink', topic='big', topic_config={'cleanup.policy': 'delete'}) }}
    select user, id, value from {{ source('web', 'events') }} where value > 5
"""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    with sasl_ssl_broker(tmp_path_factory.mktemp("sasl_ssl")) as client:
        yield client


@pytest.fixture
def shop(tmp_path, kafka):
    project = Shop(tmp_path, kafka["bootstrap.servers"])
    (profile,) = re.findall(r"^```yaml\n(shop:.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (tmp_path / "profiles.yml").write_text(profile.replace("/srv/shop", f"{tmp_path}/srv"))
    project.model("totals", TOTALS)
    project.model("big", BIG)
    (tmp_path / "certificates").mkdir()
    shutil.copy(kafka["ssl.ca.location"], tmp_path / "certificates/ca.pem")
    admin = AdminClient(kafka)
    (made_topic,) = admin.create_topics([NewTopic("events", 2, 1)]).values()
    made_topic.result(90)
    producer = Producer(kafka)
    for user, value in (event(1, "a", 1.0), event(2, "b", 20.0), event(3, "a", 10.0)):
        producer.produce("events", json.dumps(value).encode(), user.encode())
    assert producer.flush(20) == 0
    return project


def command(shop, *arguments, password=PASSWORD):
    variables = {"BOOTSTRAP": shop.bootstrap, "KAFKA_PASSWORD": password}
    done = subprocess.run(
        [*MILLSTREAM, *arguments, "--target", "production"],
        cwd=shop.root, env=os.environ | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert password not in done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


def test_a_laptops_project_runs_in_production(shop, kafka, monkeypatch):
    code, text = command(shop, "debug")
    assert code == 0, text
    assert re.search(r"^✓ Kafka +1 broker", text, re.MULTILINE), text
    code, text = command(shop, "debug", password="wrong-one")
    assert code == 2
    assert "✗ Kafka      Kafka refuses the login" in text, text
    code, text = command(shop, "build")
    assert code == 0, text
    stored = (
        DeltaTable(shop.root / "srv/tables/totals").to_pyarrow_table().select(["user", "total"]).to_pylist()
    )
    assert sorted(stored, key=lambda row: row["user"]) == [
        {"user": "a", "total": 11.0}, {"user": "b", "total": 20.0},
    ]  # fmt: skip
    reader = Consumer(
        {**kafka, "group.id": "test", "auto.offset.reset": "earliest", "enable.partition.eof": False}
    )
    reader.subscribe(["big"])
    seen = []
    while len(seen) < 2:
        message = reader.poll(30)
        assert message is not None
        assert message.error() is None
        seen.append(json.loads(message.value()))
    reader.close()
    assert sorted(row["id"] for row in seen) == [2, 3]
    code, text = command(shop, "lag", "--output", "json")
    assert code == 0, text
    assert json.loads(text)["records"] == 0
    monkeypatch.setenv("BOOTSTRAP", shop.bootstrap)
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    port = free_port()
    run = Run(shop.root, "--target", "production", "--port", str(port))
    run.until("started")
    with scraped(f"http://127.0.0.1:{port}") as prometheus:
        prometheus.until(1.0, lambda: prometheus("sum(millstream_run)"))
        prometheus.until(2.0, lambda: prometheus("sum(millstream_up)"))
    assert run.stop() == 0
