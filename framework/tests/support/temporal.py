"""Orders and the versions of prices, in the order in which they arrive, and what their join gives."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import duckdb
from confluent_kafka import Producer

from support.runs import queue_record

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
DELAY = 60
"""Seconds by which records of both topics can be late."""
TOPICS = """
      - name: orders
        key: {name: id, type: int}
        columns: [{name: item, type: string}, {name: at, type: timestamp}]
        watermark: {column: at, delay: 1 minute}
      - name: prices
        table: true
        versions: 1 hour
        key: {name: item, type: string}
        columns: [{name: price, type: int}, {name: since, type: timestamp}]
        watermark: {column: since, delay: 1 minute}
"""
JOINED = """
    {{ config(materialized='sink', key='id') }}
    select o.id, o.at, p.price from {{ source('web', 'orders') }} as o
    left join {{ source('web', 'prices') }} for system_time as of o.at as p on p.item = o.item
"""


class Traffic:
    """Records of the topics `orders` and `prices`, each up to the delay after its time."""

    def __init__(self, bootstrap, dice, late=0.9):
        self.bootstrap = bootstrap
        self.dice = dice
        self.late = late * DELAY
        self.time = 0
        self.orders, self.prices = [], []
        self.waiting = []
        """Records that have not arrived, each with the second in which it does."""

    def more(self, count=60):
        for _ in range(count):
            self.time += self.dice.choice((1, 10, 40))
            item = self.dice.choice("abc")
            if self.dice.random() < 0.6:
                record = "orders", (len(self.orders), item, self.time)
                self.orders.append(record[1])
            else:
                price = self.dice.choice((None, *range(1, 100)))
                # Of prices with one time, the last one in the topic counts.
                record = "prices", (item, price, self.time)
            self.waiting.append((self.time + self.dice.uniform(0, self.late), *record))
        self._send(lambda arrives: arrives < self.time)

    def end(self):
        """Send all that is left, and an order of a later day, so that none waits any more."""
        self._send(lambda _: True)
        for day in (1, 2):
            self._sent([("orders", (-day, "z", self.time + 86_400 * day))])

    def _send(self, arrived):
        due = sorted(
            (waiting_row for waiting_row in self.waiting if arrived(waiting_row[0])),
            key=lambda waiting_row: waiting_row[0],
        )
        self.waiting = [waiting_row for waiting_row in self.waiting if not arrived(waiting_row[0])]
        self._sent([(topic, row) for _, topic, row in due])

    def _sent(self, rows):
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for topic, row in rows:
            time = START + timedelta(seconds=row[2])
            if topic == "prices":
                self.prices.append(row)
                key, price, _ = row
                value = None if price is None else json.dumps({"price": price, "since": time.isoformat()})
            else:
                key, item, _ = row
                value = json.dumps({"item": item, "at": time.isoformat()})
            queue_record(producer, topic, key=str(key), value=value, timestamp=int(time.timestamp() * 1000))
        assert producer.flush(30) == 0

    def joined(self):
        """Return the price of each order, according to DuckDB."""
        prices = {(item, time): price for item, price, time in self.prices}
        with duckdb.connect() as connection:
            connection.execute("create table prices (item text, t int, price int)")
            connection.execute("create table orders (id int, item text, t int)")
            connection.executemany(
                "insert into prices values (?, ?, ?)", [(*k, p) for k, p in prices.items()]
            )
            connection.executemany("insert into orders values (?, ?, ?)", self.orders)
            sql = "select id, price from orders o asof left join prices p on o.item = p.item and o.t >= p.t"
            return dict(connection.execute(sql).fetchall())
