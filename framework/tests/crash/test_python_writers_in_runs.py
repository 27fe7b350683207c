"""A run of models whose rows a function writes: its metrics, changes while it runs, and a rollback."""

import re
from urllib.request import urlopen

import pytest
from crash.test_python_writers_killed import MODELS, WRITERS, calls
from support.commands import Run, refused, succeed
from support.postgres import free_port
from support.runs import create_topics
from support.shops import event

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

APPLY = ("apply", "--yes", "--no-tests")


@pytest.fixture
def shop(durable_shop):
    create_topics(durable_shop.bootstrap, "events", partitions=1)
    durable_shop.write("macros/writers.py", WRITERS.format(str(durable_shop.root)))
    for model, sql in MODELS.items():
        durable_shop.model(model, sql)
    return durable_shop


def rows(shop, model):
    is_called = (shop.root / f"{model}.jsonl").exists()
    return [row for _, _, batch in calls(shop, model) for row in batch] if is_called else []


def wait_for_rows(shop, run, **counts):
    while any(len(rows(shop, model)) < count for model, count in counts.items()):
        run.until("batch")


def test_a_run_continues_with_another_function_and_stops_for_another_state(shop):
    port = free_port()
    run = Run(shop.root, "--port", str(port))
    try:
        shop.send(event(1), event(2, "b"))
        wait_for_rows(shop, run, sent=2, totals=2)
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as response:
            metrics = response.read().decode()
        for model in MODELS:
            labels = f'{{model="{model}",query="{model}"}}'
            assert (
                float(re.search(re.escape(f"millstream_model_rows_total{labels} ") + "(.*)", metrics)[1]) == 2
            )

        # Another function gets what comes from then on.
        changed = WRITERS.format(str(shop.root)).replace("rows.to_pylist()", "[{'n': rows.num_rows}]")
        shop.write("macros/writers.py", changed)
        succeed(shop.root, *APPLY)
        shop.send(event(3))
        wait_for_rows(shop, run, sent=3, totals=3)
        assert rows(shop, "sent")[2:] == [{"n": 1}]

        # Another state can't be computed beside the running one.
        shop.write("macros/writers.py", WRITERS.format(str(shop.root)))
        shop.model("totals", MODELS["totals"].replace("sum(value)", "max(value)"))
        message = refused(shop.root, *APPLY)
        assert "MS898" in message
        assert "its function would get rows of both versions" in message
        shop.send(event(4, "b"))
        wait_for_rows(shop, run, sent=4, totals=4)
        assert run.stop() == 0
    finally:
        run.kill(with_children=True)

    succeed(shop.root, *APPLY)
    shop.send(event(5, "b", value=0.5))
    succeed(shop.root, "build")
    new = {row["user"]: (row["events"], row["total"]) for row in rows(shop, "totals")[4:]}
    assert new == {"a": (2, 1.0), "b": (3, 1.0)}

    # The version before goes on where it was: with the sum of three values of b.
    succeed(shop.root, "apply", "--rollback")
    shop.model("totals", MODELS["totals"])
    succeed(shop.root, "build")
    assert [(row["user"], row["events"], row["total"]) for row in rows(shop, "totals")[-1:]] == [
        ("b", 3, 2.5)
    ]
    assert [row.get("id") or row["n"] for row in rows(shop, "sent")] == [1, 2, 1, 1, 5]
    assert len({batch for batch, _, _ in calls(shop, "totals")}) == len(calls(shop, "totals"))
