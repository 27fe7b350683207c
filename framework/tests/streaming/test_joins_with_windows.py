"""Joins of a stream with its own windows, such as Nexmark's seventh query: right rows, or an error at its place."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from support.micro_batches import attempted, streamed
from support.spark import SPARK_WARNINGS
from support.sql_plans import project

from millstream.compile import compile_project

pytestmark = [SPARK_WARNINGS]
START = datetime(2024, 1, 1, tzinfo=timezone.utc)
BIDS = "{{ source('shop', 'events') }}"
HITS = "{{ source('shop', 'hits') }}"
BEST = f"select max(value) as top, window from {BIDS} group by window(at, '10 seconds')"
TIMED = f"select *, window_time(window) as t from ({BEST})"
FIRST, SINK = "select b.user_id, b.value, b.at", "{{ config(materialized='sink', emit='on_close') }}\n"
BETWEEN = "b.value = w.top and b.at between w.t - interval 10 seconds + interval 1 microsecond and w.t"
SECONDS = [
    [("a", 1, 1), ("b", 3, 2), ("c", 3, 9)],
    [("a", 5, 11), ("b", 2, 19)],
    [("c", 7, 21), ("c", 7, 25)],
    [("a", 1, 60)],
    [("z", 1, 200)],
    [("z", 1, 400)],
]
"""Who bids what, and when. After the last batch, none follows that could close windows."""
WRITTEN = {
    "a CTE": {"m": f"with w as ({BEST}) {FIRST} from {BIDS} as b join w on b.value = w.top and b.at >= w.window.start and b.at < w.window.end"},
    "bounds of windows in WHERE": {"m": f"{FIRST} from {BIDS} as b join (select max(value) as top, window.end as e from {BIDS} group by window(at, '10 seconds')) as w on b.value = w.top where b.at >= w.e - interval 10 seconds and b.at < w.e"},
    "a view": {"best": "{{ config(emit='on_close') }}\n" + BEST, "m": FIRST + f" from {BIDS} as b join {{{{ ref('best') }}}} as w on b.value = w.top and b.at >= w.window.start and b.at < w.window.end"},
    "times of windows": {"m": f"with w as ({TIMED}) {FIRST} from {BIDS} as b join w on {BETWEEN}"},
    "a field of the window as well": {"m": f"with w as ({TIMED}) {FIRST}, w.window.start as s, w.t from {BIDS} as b join w on {BETWEEN}"},
    "the times without windows": {"m": f"with w as (select top, t from ({TIMED})) select b.*, w.* from {BIDS} as b join w on {BETWEEN}"},
    "the windows as texts": {"m": f"with w as (select top, cast(window as string) as window, t from ({TIMED})) select b.*, w.* from {BIDS} as b join w on {BETWEEN}"},
    "windows of bids, whose time is a text": {"m": f"with b as (select user_id, value, cast(at as string) as at, window(at, '10 seconds') as window from {BIDS}), w as ({BEST}) {FIRST} from b join w on b.value = w.top and b.window = w.window"},
}  # fmt: skip
REFUSED = {
    "all columns": {"m": f"with w as ({TIMED}) select * from {BIDS} as b join w on {BETWEEN}"},
    "the window as well": {"m": f"with w as ({TIMED}) {FIRST}, w.window, w.t from {BIDS} as b join w on {BETWEEN}"},
    "a view of all columns": {"best": "{{ config(emit='on_close') }}\n" + TIMED, "m": FIRST + f", w.* from {BIDS} as b join {{{{ ref('best') }}}} as w on {BETWEEN}"},
    "windows of bids": {"m": f"with b as (select *, window(at, '10 seconds') as window from {BIDS}), w as ({BEST}) {FIRST} from b join w on b.value = w.top and b.window = w.window"},
}  # fmt: skip
REMEDY = "select only one of them in a subquery below it, and the other one as text (cast(… as string)), or only a field of a window (window.start)"


def written(folder, models):
    return project(
        folder, {name: sql if sql.startswith("{{ config") else SINK + sql for name, sql in models.items()}
    )


def batches():
    return [
        [
            {"_key": user, "value": float(value), "at": (START + timedelta(seconds=second)).isoformat()}
            for user, value, second in batch
        ]
        for batch in SECONDS
    ]


def expected():
    """Return the highest bids of each window that closes, as plain Python finds them."""
    rows = [row for batch in SECONDS for row in batch]
    top = {second // 10: max(v for _, v, t in rows if t // 10 == second // 10) for _, _, second in rows}
    return sorted(
        (user, second) for user, value, second in rows if value == top[second // 10] and second < 190
    )


def seconds(text):
    return round(
        (
            datetime.fromisoformat(text.replace("Z", "+00:00").replace(" ", "T")).replace(tzinfo=timezone.utc)
            - START
        ).total_seconds()
    )


SHORT = ("a CTE", "a view", "times of windows")


@pytest.mark.parametrize(
    "names", [pytest.param(SHORT, id="some"), pytest.param(WRITTEN, id="all", marks=pytest.mark.long)]
)
def test_each_way_to_write_it_has_the_same_rows(first_spark, tmp_path, names):
    for name in names:
        models = WRITTEN[name]
        run = streamed(written(tmp_path / name.replace(" ", "_"), models))
        stored = run.run(first_spark, run.query_of("m"), {"events": batches()})
        assert sorted((row["user_id"], seconds(row["at"])) for _, row in stored) == expected(), name


def test_two_event_times_of_one_side_are_refused_at_their_join(tmp_path):
    for name, models in REFUSED.items():
        run, errors = attempted(written(tmp_path / name.replace(" ", "_"), models))
        assert run is None, name
        assert [(diagnostic.code, diagnostic.location.path, diagnostic.help) for diagnostic in errors] == [
            ("MS541", "models/m.sql", REMEDY)
        ], name


def test_two_event_times_of_a_dedupe_are_refused(tmp_path):
    joined = f"from {BIDS} as e join {HITS} as h on h.visitor = e.user_id and h.seen = e.at"
    config = "{{ config(materialized='sink', dedupe={'keys': ['user_id']}) }}\n"
    for number, (seen, codes) in enumerate([("h.seen", ["MS541"]), ("cast(h.seen as string) as seen", [])]):
        models = {"m": f"{config}select e.user_id, e.at, {seen} {joined}"}
        _, errors = attempted(project(tmp_path / str(number), models))
        assert [diagnostic.code for diagnostic in errors] == codes


# -- a timestamp of a side that is not its event time

LATER = (
    "select e.user_id, e.due, e.at, h.path from (select *, at + interval 1 day as due from {}) as e join {} as h "
    "on e.user_id = h.visitor and h.seen between e.due - interval 1 hour and e.due + interval 1 hour"
)


@pytest.mark.parametrize("target", ["all", "plain"])
def test_rows_stay_that_match_by_another_timestamp_than_their_event_time(first_spark, tmp_path, target):
    """Spark would drop them by the event time, long before they match."""
    models = {"m": "{{ config(materialized='sink') }}\n" + LATER.format(BIDS, HITS)}
    run = streamed(project(tmp_path, models), target)
    times = [START + timedelta(hours=hours) for hours in (0, 5, 10, 24)]
    events = [
        [{"_key": "x" if index == 0 else "y", "at": time.isoformat()}] for index, time in enumerate(times)
    ]
    hits = [
        [{"_key": "x" if index == 3 else "z", "path": "/", "seen": time.isoformat()}]
        for index, time in enumerate(times)
    ]
    stored = run.run(first_spark, run.query_of("m"), {"events": events, "hits": hits})
    assert [row["user_id"] for _, row in stored] == ["x"]


# -- remedies, applied

COUNTS = "(select window, count(*) as n from {} group by window({}, '10 seconds')) as {}"
WARNED = "{{ config(materialized='sink', emit='on_close', unbounded_state='warn') }}\n"
BY_START = f"select a.n, b.n as m from {COUNTS.format(BIDS, 'at', 'a')} join {COUNTS.format(HITS, 'seen', 'b')} on a.window.start = b.window.start"
COLUMN = "select window_time(window) as a column in a subquery, and bound that column in ON"
TIMES = "(select window_time(window) as t, n from {})"


@pytest.mark.parametrize(
    ("code", "sql", "remedy", "edited"),
    [
        (
            "MS562",
            BY_START,
            f"compare whole windows in ON: a.`window` = b.`window`; or {COLUMN}; or accept it: config(unbounded_state='accept')",
            BY_START.replace(".start", ""),
        ),
        (
            "MS562",
            BY_START.replace("start", "end"),
            f"compare whole windows in ON: a.`window` = b.`window`; or {COLUMN}; or accept it: config(unbounded_state='accept')",
            BY_START.replace("(select window, count(*) as n", "(select window_time(window) as t, count(*) as n").replace("window.start", "t"),
        ),
        ("MS515", BY_START.replace("join", "left join"), f"compare whole windows in ON: a.`window` = b.`window`; or {COLUMN}", BY_START.replace("join", "left join").replace(".start", "")),
        ("MS515", BY_START.replace("join", "left semi join").replace(", b.n as m", ""), f"compare whole windows in ON: a.`window` = b.`window`; or {COLUMN}", BY_START.replace("join", "left semi join").replace(", b.n as m", "").replace(".start", "")),
        (
            "MS562",
            f"select b.user_id from {BIDS} as b join ({BEST}) as w on b.value = w.top and b.at between w.window.start and w.window.end",
            f"{COLUMN}; or accept it: config(unbounded_state='accept')",
            f"select b.user_id from {BIDS} as b join ({TIMED}) as w on {BETWEEN}",
        ),
        (
            "MS515",
            f"select e.user_id, h.path from {BIDS} as e left join {HITS} as h on e.user_id = h.visitor and e.at <= h.seen",
            "add to ON: e.at between h.seen - interval 1 hour and h.seen + interval 1 hour",
            f"select e.user_id, h.path from {BIDS} as e left join {HITS} as h on e.user_id = h.visitor and e.at <= h.seen and e.at between h.seen - interval 1 hour and h.seen + interval 1 hour",
        ),
        (
            "MS515",
            f"select e.user_id from {BIDS} as e left semi join {HITS} as h on e.user_id = h.visitor",
            "add to ON: e.at between h.seen - interval 1 hour and h.seen + interval 1 hour",
            f"select e.user_id from {BIDS} as e left semi join {HITS} as h on e.user_id = h.visitor and e.at between h.seen - interval 1 hour and h.seen + interval 1 hour",
        ),
        (
            "MS515",
            f"select e.user_id, h.path from {BIDS} as e full join {HITS} as h on e.user_id = h.visitor and e.at >= h.seen - interval 1 hour",
            "add to ON: e.at between h.seen - interval 1 hour and h.seen + interval 1 hour",
            f"select e.user_id, h.path from {BIDS} as e full join {HITS} as h on e.user_id = h.visitor and e.at between h.seen - interval 1 hour and h.seen + interval 1 hour",
        ),
    ],
)  # fmt: skip
def test_a_remedy_for_a_join_without_bounds_makes_it_compile_without_a_warning(
    tmp_path, code, sql, remedy, edited
):
    """That Spark then drops rows of both sides is tested in `test_bounds_of_joins`."""
    before = compile_project(project(tmp_path / "before", {"m": WARNED + sql}), use_cache=False)
    assert [(diagnostic.code, diagnostic.help) for diagnostic in before.diagnostics] == [(code, remedy)]
    after = compile_project(project(tmp_path / "after", {"m": WARNED + edited}), use_cache=False)
    assert not after.diagnostics


def test_a_topic_with_two_times_has_one_event_time(tmp_path):
    """A query gives the rows of a topic one watermark after the other, of which Spark takes the last."""
    joined = f"from {BIDS} as e join {HITS} as h on h.visitor = e.user_id and h.seen = e.at"
    both = "{{ config(materialized='sink', key='user_id') }}\n" + f"select e.user_id, e.at, h.seen {joined}"
    again = (
        f"select b.value, m.at, m.seen from {BIDS} as b join {{{{ ref('m') }}}} as m on m.user_id = b.user_id"
    )
    _, errors = attempted(written(tmp_path, {"m": both, "again": again + " and m.seen = b.at"}))
    assert errors == []
