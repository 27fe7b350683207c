"""`millstream apply` while `millstream run` runs under load, both killed again and again.

Every table and topic is compared with a recount of what was sent. Records are told apart by their headers: a record
may come twice only if the run itself was killed, and then says so.
`MILLSTREAM_HANDOVERS=50 uv run pytest -m long -s framework/tests/crash/test_applies_to_runs.py` is a longer run.
"""

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import defaultdict
from itertools import pairwise

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from support.commands import MILLSTREAM, Run
from support.runs import create_topics, send, table_rows

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

ROUNDS = int(os.environ.get("MILLSTREAM_HANDOVERS", "0"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
RATE = int(os.environ.get("MILLSTREAM_RATE", "1000"))
"""Records a second."""
TRIGGER = 5
PATIENCE = 300
"""Seconds that an apply may take, and that the run has to read what was sent."""
USERS, KINDS = 50, 7
PROFILES = f"""
shop: {{target: local, outputs: {{local: {{
  master: "local[2]", kafka: embedded, trigger: {TRIGGER} seconds}}}}}}
"""
NAMES = """
sources:
  - name: crm
    topics:
      - name: users
        table: true
        key: {name: user, type: string}
        columns: [{name: name, type: string}]
"""
STEPS = ("handover", "caught_up", "rebuilding", "began", "replaced")
"""The steps of an apply, after which something is killed."""
EVENTS = "{{ source('web', 'events') }}"
APPLY = ("apply", "--yes", "--no-tests")
BACK = ("apply", "--rollback")


def models(version):
    """Return the models of a version: two are rebuilt, one continues, and one comes or goes."""
    sqls = {
        # rebuilt, since the state of one version does not fit the other
        "totals": "{{ config(materialized='table', unique_key='user') }} "
        f"select user, count(*) as events, sum(id + {version}) as ids from {EVENTS} group by user",
        "counts": "{{ config(materialized='sink', key='kind') }} "
        f"select kind, count(*) as events, sum(id + {version}) as ids from {EVENTS} group by kind",
        # continues: what was sent stays
        "plain": f"{{{{ config(materialized='sink') }}}} select id, {version} as version from {EVENTS}",
        # unchanged
        "kinds": "{{ config(materialized='table', unique_key='kind') }} "
        f"select kind, count(*) as events, max(id) as last from {EVENTS} group by kind",
        "named": "{{ config(materialized='sink') }} select e.id, u.name "
        f"from {EVENTS} e left join {{{{ source('crm', 'users') }}}} u on e.user = u.user where e.id % 10 = 0",
    }
    if version % 2:
        sqls["odd"] = f"{{{{ config(materialized='sink') }}}} select id from {EVENTS} where id % 10 = 1"
    return sqls


class Traffic:
    """Sends records with ascending ids until it is paused."""

    def __init__(self, bootstrap):
        self.sent = 0
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
        self._going = threading.Event()
        self._paused = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self):
        while not self._ended:
            if not self._going.wait(0.1):
                self._paused.set()
                continue
            began = time.monotonic()
            for _ in range(RATE // 10):
                number, self.sent = self.sent, self.sent + 1
                value = {"id": number, "kind": f"k{number % KINDS}", "value": 1.0}
                self._producer.produce("events", key=f"u{number % USERS}", value=json.dumps(value))
            self._producer.poll(0)
            time.sleep(max(0.0, 0.1 - (time.monotonic() - began)))

    def go(self):
        self._paused.clear()
        self._going.set()

    def pause(self):
        self._going.clear()
        assert self._paused.wait(10)
        assert self._producer.flush(30) == 0

    def end(self):
        self._ended = True
        self._thread.join()


class Topic:
    """What a topic has had so far, where each record is read once."""

    def __init__(self, bootstrap, name, *fields):
        self.rows = set()
        """The values of some fields, of all records."""
        self.newest = {}
        """The same of the last record of each key."""
        self.repeated = 0
        """Records that came again, with the same key and headers."""
        self._name, self._fields = name, fields
        self._seen = set()
        self._consumer = Consumer({
            "bootstrap.servers": bootstrap, "group.id": f"tests-{name}", "enable.auto.commit": False,
        })  # fmt: skip

    def read(self):
        """Read what has come since."""
        if not self._consumer.assignment():
            metadata = self._consumer.list_topics(self._name, timeout=10).topics[self._name]
            if metadata.error is not None:
                return self  # not made yet
            self._consumer.assign(
                [TopicPartition(self._name, partition, OFFSET_BEGINNING) for partition in metadata.partitions]
            )
        partitions = {assigned.partition: assigned for assigned in self._consumer.assignment()}
        ends = {
            number: self._consumer.get_watermark_offsets(partition, timeout=10)[1]
            for number, partition in partitions.items()
        }
        offsets = {
            position.partition: position.offset
            for position in self._consumer.position(list(partitions.values()))
        }
        while any(max(offsets[number], 0) < end for number, end in ends.items()):
            for message in self._consumer.consume(10_000, timeout=1):
                assert message.error() is None, message.error()
                self._add(message)
                offsets[message.partition()] = message.offset() + 1
        return self

    def _add(self, message):
        value = json.loads(message.value())
        row = tuple(value[name] for name in self._fields)
        self.rows.add(row)
        self.newest[message.key()] = row
        # The records of a lookup have the header of their batch; each has an id of its own.
        identity = hash(
            (message.key(), row if self._name == "named" else (), *sorted(message.headers() or ()))
        )
        self.repeated += identity in self._seen
        self._seen.add(identity)


class Handovers:
    """The project, its run, and the state of its versions."""

    def __init__(self, shop):
        self.shop = shop
        self.traffic = Traffic(shop.bootstrap)
        fields = {"plain": ["id"], "counts": ["events", "ids"], "named": ["id", "name"], "odd": ["id"]}
        self.topics = {name: Topic(shop.bootstrap, name, *columns) for name, columns in fields.items()}
        self.run = None
        self.twice = 0
        """Records that came twice so far, since the run was killed."""
        self.gaps = []
        """For each apply that nothing disturbed: the longest time without a new row, and that before the apply."""

    def start(self):
        self.run = Run(self.shop.root)
        self.run.until("started")

    def write(self, version):
        for file in self.shop.root.glob("models/*.sql"):
            file.unlink()
        for name, sql in models(version).items():
            self.shop.model(name, sql)

    def command(self, arguments):
        return subprocess.Popen(
            [*MILLSTREAM, *arguments], cwd=self.shop.root, start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def until_done(self, arguments):
        """Repeat a command until it succeeds; a run that was killed starts again afterwards."""
        for _ in range(3):
            process = self.command(arguments)
            message, _ = process.communicate(timeout=PATIENCE)
            if process.returncode == 0:
                if self.run.process.poll() is not None:
                    self.start()
                return message
        raise AssertionError(message)

    def longest_gap(self, since, until):
        """Return the longest time between two commits of a table."""
        gap = 0.0
        for table in ("totals", "kinds"):
            (log,) = self.shop.root.glob(f".millstream/local/tables/{table}/_delta_log")
            times = [file.stat().st_mtime for file in log.glob("*.json")]
            times = [since, *sorted(written for written in times if since < written < until), until]
            longest, before = max((later - before, before) for before, later in pairwise(times))
            say(f"    {table}: no new row for {longest:.1f} s, {before - since:.1f} s after the start")
            gap = max(gap, longest)
        return gap


@pytest.fixture
def handovers(durable_shop):
    shop = durable_shop
    shop.write("profiles.yml", PROFILES)
    shop.write("models/crm.yml", NAMES)
    create_topics(shop.bootstrap, "events", "users")
    send(shop.bootstrap, {"users": [(f"u{number}", {"name": f"user {number}"}) for number in range(USERS)]})
    handovers = Handovers(shop)
    yield handovers
    handovers.traffic.end()
    if handovers.run is not None:
        handovers.run.kill(with_children=True)


@pytest.mark.skipif(not ROUNDS, reason="MILLSTREAM_HANDOVERS is not set")
def test_each_table_and_topic_is_exact_whatever_is_killed(handovers):
    dice = random.Random(SEED)
    handovers.write(0)
    handovers.traffic.go()
    handovers.start()
    time.sleep(10)
    handovers.traffic.pause()
    check(handovers, 0, killed=True)
    for number in range(1, ROUNDS + 1):
        kind = ("run", "nothing", "apply")[(number + SEED) % 3]
        step = STEPS[number // 3 % len(STEPS)]
        killed = one_round(handovers, number, kind, step, dice)
        check(handovers, number, killed=killed)
    if handovers.gaps:
        longest, usual = map(max, zip(*handovers.gaps, strict=True))
        say(
            f"longest time without a new row in {len(handovers.gaps)} applies: {longest:.1f} s, usually {usual:.1f} s"
        )
        # On a machine that is too busy for the trigger, batches take as long before an apply.
        assert longest < 2 * max(TRIGGER, usual), handovers.gaps


def one_round(handovers, version, kind, step, dice):
    """Apply the next version under load, and kill a process meanwhile; return whether the run was killed."""
    handovers.traffic.go()
    if handovers.run.process.poll() is not None:
        handovers.start()
    before = time.time()
    handovers.run.go_on(3 * TRIGGER)
    handovers.write(version)
    began = time.time()
    usual = handovers.longest_gap(before, began) if kind == "nothing" else 0.0
    killed = False
    if kind != "nothing":
        command = handovers.command(APPLY)
        until_step(handovers.run, step)
        moment = dice.uniform(0, 3)
        handovers.run.go_on(moment)
        say(f"round {version}: {kind} killed {moment:.1f} s after {step}")
        if kind == "apply":
            os.killpg(command.pid, signal.SIGKILL)
        else:
            handovers.run.kill(with_children=True)
            killed = True
        command.communicate(timeout=PATIENCE)
    message = handovers.until_done(APPLY)
    took = time.time() - began
    handovers.run.go_on(2 * TRIGGER)
    if kind == "nothing":
        say(f"round {version}: applied in {took:.1f} s")
        assert "while the project runs" in message, message
        handovers.gaps.append((handovers.longest_gap(began, time.time()), usual))
    handovers.traffic.pause()
    return killed


def until_step(run, step):
    """Wait until an apply is at a step, or has ended."""
    while True:
        event = json.loads(run._line(PATIENCE))
        if event["event"] == "apply" and event["step"] in {step, "replaced", "failed"}:
            return


def check(handovers, version, *, killed):
    """Compare all tables and topics with what was sent, once the run has read it."""
    sent = handovers.traffic.sent
    ids = defaultdict(list)
    of_kind = defaultdict(list)
    for number in range(sent):
        ids[f"u{number % USERS}"].append(number)
        of_kind[f"k{number % KINDS}"].append(number)
    expected = {user: (len(numbers), sum(numbers) + version * len(numbers)) for user, numbers in ids.items()}
    kinds = {kind: (len(numbers), max(numbers)) for kind, numbers in of_kind.items()}
    counts = {
        kind: (len(numbers), sum(numbers) + version * len(numbers)) for kind, numbers in of_kind.items()
    }

    def topic(name):
        return handovers.topics[name].read()

    until_equal(handovers, lambda: rows(handovers, "totals", "user", "events", "ids"), expected)
    until_equal(handovers, lambda: rows(handovers, "kinds", "kind", "events", "last"), kinds)
    until_equal(handovers, lambda: {key.decode(): row for key, row in topic("counts").newest.items()}, counts)
    until_equal(handovers, lambda: topic("plain").rows, {(number,) for number in range(sent)})
    until_equal(
        handovers,
        lambda: topic("named").rows,
        {(number, f"user {number % USERS}") for number in range(0, sent, 10)},
    )
    if version % 2:
        until_equal(handovers, lambda: topic("odd").rows, {(number,) for number in range(1, sent, 10)})
    twice = sum(topic(name).repeated for name in ("plain", "named", "counts"))
    say(f"    version {version}: {sent:,} records, {twice} repeated so far")
    assert killed or twice == handovers.twice
    handovers.twice = twice


def say(text):
    print(text, flush=True)  # noqa: T201 -- the figures of a long run


def rows(handovers, table, key, *names):
    if not any(handovers.shop.root.glob(f".millstream/local/tables/{table}/_delta_log/*.json")):
        return {}
    return {
        r[key]: tuple(r[name] for name in names) for r in table_rows(handovers.shop.root, f"model.{table}")
    }


def until_equal(handovers, read, expected):
    deadline = time.monotonic() + PATIENCE
    while (now := read()) != expected:
        if time.monotonic() > deadline:
            assert now == expected
        handovers.run.go_on(0.5)
