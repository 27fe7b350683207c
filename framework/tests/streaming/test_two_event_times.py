"""Rows with two event times: what Spark refuses is refused at its place, and the remedy runs."""

from datetime import datetime, timedelta, timezone

import pytest
from support.micro_batches import attempted, streamed
from support.spark import SPARK_WARNINGS
from support.sql_plans import project

pytestmark = [SPARK_WARNINGS]
FUNCTIONS = """
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

@dataclass
class Both:
    value: float
    at: datetime
    seen: datetime

@dataclass
class One:
    value: float
    at: datetime

@dataclass
class State:
    total: float = 0

@dataclass
class Total:
    user_id: str
    total: float

def of_both(key: str, rows: Iterator[Both], state: State) -> Iterator[Total]:
    for row in rows:
        state.total += row.value
        yield Total(key, state.total)

def of_one(key: str, rows: Iterator[One], state: State) -> Iterator[Total]:
    for row in rows:
        state.total += row.value
        yield Total(key, state.total)
"""
SINK = "{{ config(materialized='sink') }}\n"
CLOSED = "{{ config(materialized='sink', emit='on_close') }}\n"
JOIN = "select e.user_id, e.value, e.at, {} as seen from {{{{ source('shop', 'events') }}}} e join {{{{ source('shop', 'hits') }}}} h on e.user_id = h.visitor and h.seen between e.at and e.at + interval 1 hour"
PAIRS = JOIN.format("h.seen")


def totals(rows, function):
    return f"{SINK}select t.user_id, t.total from {rows} as e, lateral {function}(e.user_id) as t"


def minutes(time):
    window = f"window({time}, '1 minute')"
    return f"{CLOSED}select {window}.start as w, count(*) as n from {VIEW} group by {window}"


VIEW = "{{ ref('pairs') }}"
NEXT = "from ({}) as p join {{{{ source('shop', 'events') }}}} as n on n.user_id = p.user_id and n.at between p.at and p.at + interval 1 hour"
BOTH = f"select p.user_id, p.at, p.seen, n.value {NEXT.format(PAIRS)}"
READER = f"{SINK}select user_id, at, value from {VIEW}"
AS_OTHER = "select only one of them in a subquery below it, and the other one as text (cast(… as string)), or only a field of a window (window.start)"
AS_TEXT = "select one of them in a subquery below it as timestamp(cast(… as string)): a plain timestamp"
REFUSED = {
    "a function": ({"m": totals(f"({PAIRS})", "of_both")}, "MS541", AS_TEXT),
    "a function over a view": (
        {"pairs": PAIRS, "m": totals(VIEW, "of_both")}, "MS541", AS_TEXT
    ),
    "a window of the time that was replaced": (
        {"pairs": SINK + PAIRS, "m": minutes("at")}, "MS512", "write window(seen, '1 minute')"
    ),
}  # fmt: skip
RUNS = {
    "a function with one of them as a plain timestamp": {"m": totals(f"({JOIN.format('timestamp(cast(h.seen as string))')})", "of_both")},
    "a function that reads one of them": {"m": totals(f"({PAIRS})", "of_one")},
    "a function over a topic": {"pairs": SINK + PAIRS, "m": totals(VIEW, "of_both")},
    "a window of the time that counts": {"pairs": SINK + PAIRS, "m": minutes("seen")},
}  # fmt: skip
OF_VIEWS = {
    "a column of the view": (BOTH, f"leave `seen` out of this view, if no model reads it, or {AS_OTHER}", {
        "left out": ("p.at, p.seen,", "p.at,"), "as text": ("h.seen as seen", "cast(h.seen as string) as seen"),
    }),
    "a column of the view that is calculated": (BOTH.replace("p.seen,", "p.seen + interval 1 day as later,"), f"leave `later` out of this view, if no model reads it, or {AS_OTHER}", {
        "left out": ("p.seen + interval 1 day as later,", ""), "as text": ("h.seen as seen", "cast(h.seen as string) as seen"),
    }),
    "a condition of the view": (f"select p.user_id, p.at, n.value {NEXT.format(PAIRS)} where p.seen > n.at", AS_OTHER, {
        "as text": ("h.seen as seen", "cast(h.seen as string) as seen"),
    }),
}  # fmt: skip
"""Views with such a step, their remedy, and edits that follow it."""
SECONDS = (0, 100, 8000)


def written(folder, models):
    root = project(folder, models)
    (root / "macros/keyed.py").write_text(FUNCTIONS)
    return root


def timestamp(second):
    return (datetime(2024, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=second)).isoformat()


@pytest.mark.parametrize("name", REFUSED)
def test_what_spark_refuses_is_refused_at_its_place(tmp_path, name):
    models, code, remedy = REFUSED[name]
    run, errors = attempted(written(tmp_path, models))
    assert run is None
    assert [(p.code, p.location.path, p.help) for p in errors] == [(code, "models/m.sql", remedy)]


@pytest.mark.parametrize("name", OF_VIEWS)
def test_the_remedy_of_a_view_works_for_its_reader(tmp_path, name):
    sql, remedy, edits = OF_VIEWS[name]
    _, errors = attempted(project(tmp_path / "refused", {"pairs": sql, "m": READER}))
    assert [(p.code, p.location.path, p.help) for p in errors] == [("MS541", "models/pairs.sql", remedy)]
    for edit, (old, new) in edits.items():
        assert old in sql
        run, errors = attempted(project(tmp_path / edit, {"pairs": sql.replace(old, new), "m": READER}))
        assert run is not None, (edit, errors)


@pytest.mark.long
def test_what_compiles_runs(first_spark, tmp_path):
    events = [[{"_key": "a", "value": 1.0, "at": timestamp(second)}] for second in SECONDS]
    hits = [[{"_key": "a", "path": "/", "seen": timestamp(second + 5)}] for second in SECONDS]
    pairs = [[{"user_id": "a", "value": 1.0, "at": timestamp(s), "seen": timestamp(s + 5)}] for s in SECONDS]
    for name, models in RUNS.items():
        run = streamed(written(tmp_path / name.replace(" ", "_"), models), "plain")
        topics = {"events": events, "hits": hits, "pairs": pairs}
        rows = [row for topic, row in run.run(first_spark, run.query_of("m"), topics) if topic == "m"]
        assert rows, name
