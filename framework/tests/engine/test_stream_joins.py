"""Joins of two streams on Kafka and Spark, in several builds, give the rows that plain Python finds."""

import re
from collections import Counter
from datetime import datetime, timedelta, timezone
from random import Random

import pytest
from support.long import BUILDS, WAYS
from support.runs import built, create_topics, errors
from support.spark import SPARK_WARNINGS

from millstream.deploy import engine
from millstream.engine.spark.settings import session_settings

pytestmark = SPARK_WARNINGS

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
SOURCES = """
sources:
  - name: web
    topics:
      - name: orders
        key: {name: user, type: string}
        columns: [{name: id, type: int}, {name: value, type: double}, {name: at, type: timestamp}]
        watermark: {column: at, delay: 1 minute}
      - name: payments
        key: {name: payer, type: string}
        columns: [{name: number, type: int}, {name: value, type: double}, {name: paid, type: timestamp}]
        watermark: {column: paid, delay: 1 minute}
"""
PROFILES = """
shop:
  target: local
  outputs:
    local: {{master: "local[2]", kafka: embedded, optimization: {optimization}, grouping: "{grouping}"}}
"""
SINK = "{{ config(materialized='sink') }} "
ORDERS, PAYMENTS = "{{ source('web', 'orders') }}", "{{ source('web', 'payments') }}"
NEAR = "o.user = p.payer and p.paid between o.at - interval 5 minutes and o.at + interval 10 minutes"


def model(kind, orders=ORDERS, payments=PAYMENTS, on=NEAR):
    columns = "o.id" if kind == "left semi" else "o.id, p.number"
    return f"{SINK}select {columns} from {orders} as o {kind} join {payments} as p on {on}"


def traffic(seed, builds=3):
    """Return the rows of both topics for each build: none is late, some have no user, some share a time."""
    random = Random(seed)

    def rows(number, first):
        return [
            (random.choice(["a", "b", "c", None]), first + index, random.choice([0.5, 1.5, None]), 10 * number + minute)
            for index, minute in enumerate(random.choices(range(9), k=random.randint(0 if number else 4, 8)))
        ]  # fmt: skip

    return [(rows(n, 100 * n), rows(n, 100 * n)) for n in range(builds)]


def time(minute):
    return (START + timedelta(minutes=minute)).isoformat()


def send(shop, orders, payments):
    shop.send(*((u, {"id": i, "value": v, "at": time(m)}) for u, i, v, m in orders), topic="orders")
    shop.send(*((u, {"number": i, "value": v, "paid": time(m)}) for u, i, v, m in payments), topic="payments")


def expected(kind, batches, keep=lambda _order, _payment: True):
    """Return pairs of an order's id and a payment's number; None stands for a side that met nobody."""
    orders = [row for batch_orders, _ in batches for row in batch_orders]
    payments = [row for _, batch_payments in batches for row in batch_payments]
    pairs = [
        (o[1], p[1]) for o in orders for p in payments
        if o[0] is not None and o[0] == p[0] and o[3] - 5 <= p[3] <= o[3] + 10 and keep(o, p)
    ]  # fmt: skip
    met, paid = {o for o, _ in pairs}, {p for _, p in pairs}
    if kind == "left semi":
        return Counter(met)
    rows = Counter(pairs)
    if kind in {"left", "full"}:
        rows.update((o[1], None) for o in orders if o[1] not in met)
    if kind in {"right", "full"}:
        rows.update((None, p[1]) for p in payments if p[1] not in paid)
    return rows


def pairs_in(shop, topic, kind):
    """Return what is in a topic, but for the rows that closed the streams."""
    rows = [(row.get("id"), row.get("number")) for row in shop.values(topic)]
    rows = [row for row in rows if -1 not in row]
    return Counter(row[0] for row in rows) if kind == "left semi" else Counter(rows)


@pytest.fixture
def joined(shop, first_spark):
    """Return a function that builds models over some traffic, in several builds."""
    shop.write("models/sources.yml", SOURCES)
    create_topics(shop.bootstrap, "orders", "payments", partitions=2)

    def run(models, batches, optimization="all", grouping="all", *, close=True):
        shop.write("profiles.yml", PROFILES.format(optimization=optimization, grouping=grouping))
        for name, sql in models.items():
            shop.model(name, sql)
        # What met nobody is told when the watermarks of both sides have passed it.
        closing = [("z", -1, 9.5, 500)], [("y", -1, 9.5, 500)]
        for orders, payments in [*batches, closing] if close else batches:
            send(shop, orders, payments)
            _, events = built(shop.root, first_spark)
            assert errors(events) == []
        return shop

    return run


def test_a_left_join_of_streams_in_several_builds(joined):
    batches = traffic(1, builds=2)
    shop = joined({"paid": model("left")}, batches)
    assert pairs_in(shop, "paid", "left") == expected("left", batches)


VERSION = "spark.sql.streaming.join.stateFormatVersion"


@pytest.mark.long
def test_a_join_that_began_with_four_stores_goes_on_with_them(joined, monkeypatch):
    """As in a checkpoint that an earlier version of Millstream has written."""

    def earlier(query, catalog):
        return session_settings(query, catalog) | {VERSION: "2"}

    batches = traffic(7, builds=2)
    models = {"paid": model("full")}
    with monkeypatch.context() as patched:
        patched.setattr(engine, "session_settings", earlier)
        shop = joined(models, batches[:1], close=False)
    shop = joined({**models, "left_only": model("left")}, batches[1:])
    assert pairs_in(shop, "paid", "full") == expected("full", batches)
    assert pairs_in(shop, "left_only", "left") == expected("left", batches)
    folders = (shop.root / ".millstream").rglob("offsets")
    written = [file.joinpath("0").read_text() for file in folders]
    versions = sorted(re.findall(rf'"{VERSION}":"(\d)"', "".join(written)))
    assert versions == ["2", "3"]


KINDS = ["inner", "left", "right", "full", "left semi"]


@pytest.mark.long
@pytest.mark.parametrize(("optimization", "grouping"), WAYS)
def test_joins_of_every_kind(joined, optimization, grouping):
    batches = traffic(2, builds=BUILDS)
    models = {kind.replace(" ", "_"): model(kind) for kind in KINDS}
    shop = joined(models, batches, optimization, grouping)
    for kind in KINDS:
        assert pairs_in(shop, kind.replace(" ", "_"), kind) == expected(kind, batches), kind


@pytest.mark.long
@pytest.mark.parametrize(("optimization", "grouping"), WAYS)
def test_conditions_on_either_side_of_a_join(joined, optimization, grouping):
    """Spark would take them for bounds of time, and never tell of rows that meet none."""
    batches = traffic(3)
    cases = [(kind, side) for kind in ("left", "right", "full") for side in "op"]
    models = {f"{kind}_{side}": model(kind, on=f"{NEAR} and {side}.value > 1") for kind, side in cases}
    shop = joined(models, batches, optimization, grouping)
    for kind, side in cases:

        def keep(order, payment, side=side):
            return ((order if side == "o" else payment)[2] or 0) > 1

        assert pairs_in(shop, f"{kind}_{side}", kind) == expected(kind, batches, keep), (kind, side)


@pytest.mark.long
@pytest.mark.parametrize(("optimization", "grouping"), WAYS)
def test_what_is_asked_after_a_join(joined, optimization, grouping):
    batches = traffic(4, builds=BUILDS)
    models = {
        kind.replace(" ", "_"): f"{model(kind)} where o.value > 1" for kind in KINDS
    } | {
        "alone": f"{model('left')} where p.number is null",
        "both": f"{model('full')} where o.id is null or p.value is null",
    }  # fmt: skip
    shop = joined(models, batches, optimization, grouping)
    orders = {row[1]: row for batch_orders, _ in batches for row in batch_orders}
    payments = {row[1]: row for _, batch_payments in batches for row in batch_payments}
    for kind in KINDS:
        rows = expected(kind, batches)
        of = (lambda row: row) if kind == "left semi" else (lambda row: row[0])
        matching = {
            row: n for row, n in rows.items() if of(row) is not None and (orders[of(row)][2] or 0) > 1
        }
        assert pairs_in(shop, kind.replace(" ", "_"), kind) == matching, kind
    alone = {row: n for row, n in expected("left", batches).items() if row[1] is None}
    assert pairs_in(shop, "alone", "left") == alone
    both = {
        row: n for row, n in expected("full", batches).items()
        if row[0] is None or row[1] is None or payments[row[1]][2] is None
    }  # fmt: skip
    assert pairs_in(shop, "both", "full") == both


SELF = (
    f"{SINK}select o.id, p.id as number from {ORDERS} as o join {ORDERS} as p "
    "on o.user = p.user and p.at between o.at - interval 5 minutes and o.at + interval 10 minutes"
)
COUNTED = (
    "{{ config(materialized='sink', emit='on_close') }} select window(o.at, '10 minutes').start as id, "
    f"count(p.number) as number from {ORDERS} as o left join {PAYMENTS} as p on {NEAR} group by window(o.at, '10 minutes')"
)


@pytest.mark.long
@pytest.mark.parametrize(("optimization", "grouping"), WAYS)
def test_a_stream_with_itself(joined, optimization, grouping):
    batches = traffic(5, builds=BUILDS)
    shop = joined({"near": SELF, "also_near": SELF}, batches, optimization, grouping)
    pairs = expected("inner", [(orders, orders) for orders, _ in batches])
    assert pairs_in(shop, "near", "inner") == pairs
    assert pairs_in(shop, "also_near", "inner") == pairs


@pytest.mark.long
@pytest.mark.parametrize("optimization", [way[0] for way in WAYS])
def test_windows_over_a_join(joined, optimization):
    batches = traffic(6, builds=BUILDS)
    shop = joined({"counted": COUNTED}, batches, optimization)
    orders = {row[1]: row for batch_orders, _ in batches for row in batch_orders}
    counts = Counter()
    for (order, payment), times in expected("left", batches).items():
        counts[orders[order][3] // 10 * 10] += times if payment is not None else 0
    rows = {
        datetime.fromisoformat(row["id"].replace("Z", "+00:00")): row["number"]
        for row in shop.values("counted")
    }
    rows = {int((time - START).total_seconds() // 60): count for time, count in rows.items()}
    assert {minute: count for minute, count in rows.items() if minute < 100} == counts


@pytest.mark.long
def test_rows_in_another_order_than_their_times(joined):
    """A payment comes a build before its order; both are still within the delay of the watermarks."""
    batches = [([("a", 1, 1.0, 3)], []), ([], [("a", 1, 1.0, 1)]), ([("a", 2, 1.0, 4)], [("b", 2, 1.0, 4)])]
    shop = joined({"paid": model("full")}, batches)
    assert pairs_in(shop, "paid", "full") == expected("full", batches)
