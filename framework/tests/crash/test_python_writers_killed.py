"""A function that is killed with its process while it writes a batch gets the same batch again."""

import json
import subprocess

import pytest
from support.commands import MILLSTREAM, succeed
from support.runs import create_topics
from support.shops import event

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

WRITERS = """
    import json
    import os
    import signal
    from pathlib import Path

    import millstream
    import pyarrow as pa

    FOLDER = Path({!r})

    def send_rows(rows: pa.Table, batch: millstream.Batch) -> None:
        with (FOLDER / f"{{batch.model}}.jsonl").open("a") as calls:
            print(json.dumps([batch.id, batch.is_repeated, rows.to_pylist()]), file=calls)
        deadly = FOLDER / f"kill_{{batch.model}}"
        if deadly.exists():
            deadly.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
"""
EVENTS = "{{ source('web', 'events') }}"
MODELS = {
    "sent": "{{ config(materialized='python', write='send_rows') }} select id, user from " + EVENTS,
    "totals": "{{ config(materialized='python', write='send_rows', key='user', unbounded_state='accept') }} "
    f"select user, count(*) as events, sum(value) as total from {EVENTS} group by user",
}


def calls(shop, model):
    lines = (shop.root / f"{model}.jsonl").read_text().splitlines()
    return [(id_, repeated, sorted(rows, key=json.dumps)) for id_, repeated, rows in map(json.loads, lines)]


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
def test_a_killed_batch_comes_again_with_its_id_and_its_rows(durable_shop, model):
    shop = durable_shop
    create_topics(shop.bootstrap, "events", partitions=3)
    shop.write("macros/writers.py", WRITERS.format(str(shop.root)))
    shop.model(model, MODELS[model])
    shop.send(*(event(number, f"user{number % 7}") for number in range(100)))
    succeed(shop.root, "build")
    shop.send(*(event(number, f"user{number % 5}") for number in range(100, 200)))
    (shop.root / f"kill_{model}").touch()
    killed = subprocess.run(
        [*MILLSTREAM, "build"], cwd=shop.root, capture_output=True, text=True, check=False
    )
    assert killed.returncode == -9, killed.stdout + killed.stderr
    # What comes meanwhile is not in the batch that is repeated.
    shop.send(event(200, "user0"))
    succeed(shop.root, "build")

    first, begun, repeated, last = calls(shop, model)
    assert [first[1], begun[1], repeated[1], last[1]] == [False, False, True, False]
    assert (repeated[0], repeated[2]) == (begun[0], begun[2])
    assert len({first[0], begun[0], last[0]}) == 3
    assert [len(rows) for _, _, rows in (first, begun, last)] == (
        [100, 100, 1] if model == "sent" else [7, 5, 1]
    )
