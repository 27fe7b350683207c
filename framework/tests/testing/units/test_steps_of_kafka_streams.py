"""What the developer guide of Kafka Streams says joins and aggregates of KTables hold, record by record.

The records and the results are those of its tables "semantics of table aggregations", "of table-table equi-joins", "of
table-table foreign-key joins" and "of stream-table joins". A tombstone of a result is a row that the table no longer has.
"""

import json

import pytest
from support.spark import SPARK_WARNINGS

pytestmark = [pytest.mark.usefixtures("first_spark"), SPARK_WARNINGS]
SOURCES = """
sources:
  - name: guide
    topics:
      - {name: lefts, table: true, key: {name: k, type: string}, columns: [{name: v, type: string}]}
      - {name: rights, table: true, key: {name: k, type: string}, columns: [{name: v, type: string}]}
      - {name: clicks, key: {name: k, type: string}, columns: [{name: v, type: string}], on_bad_record: skip}
      - {name: orders, table: true, key: {name: k, type: string}, columns: [{name: fk, type: bigint}]}
      - {name: names, table: true, key: {name: fk, type: bigint}, columns: [{name: v, type: string}]}
      - {name: user_profiles, table: true, key: {name: user, type: string}, columns: [{name: region, type: string}], on_bad_record: skip}
"""
BOTH = [
    # left, right: a value, a tombstone, or no record; what the tables of an inner, a left and an outer join hold then
    ({"left": None}, None, None, None),
    ({"right": None}, None, None, None),
    ({"left": "A"}, None, ("A", None), ("A", None)),
    ({"right": "a"}, ("A", "a"), ("A", "a"), ("A", "a")),
    ({"left": "B"}, ("B", "a"), ("B", "a"), ("B", "a")),
    ({"right": "b"}, ("B", "b"), ("B", "b"), ("B", "b")),
    ({"left": None}, None, None, (None, "b")),
    ({"right": None}, None, None, None),
    ({"left": "C"}, None, ("C", None), ("C", None)),
    ({"right": "c"}, ("C", "c"), ("C", "c"), ("C", "c")),
    ({"right": None}, None, ("C", None), ("C", None)),
    ({"left": None}, None, None, None),
    ({"right": None}, None, None, None),
    ({"right": "d"}, None, None, (None, "d")),
    ({"left": "D"}, ("D", "d"), ("D", "d"), ("D", "d")),
]
FOREIGN = [
    ([("k", 1)], [(1, "foo")], [("k", 1, "foo")], [("k", 1, "foo")]),
    ([("k", 2)], [], [], [("k", 2, None)]),
    ([("k", 3)], [], [], [("k", 3, None)]),
    ([], [(3, "bar")], [("k", 3, "bar")], [("k", 3, "bar")]),
    ([("k", None)], [], [], [("k", None, None)]),
    ([("k", 1)], [], [("k", 1, "foo")], [("k", 1, "foo")]),
    ([("q", 10)], [], [("k", 1, "foo")], [("k", 1, "foo"), ("q", 10, None)]),
    ([("r", 10)], [], [("k", 1, "foo")], [("k", 1, "foo"), ("q", 10, None), ("r", 10, None)]),
    ([], [(10, "baz")], *[[("k", 1, "foo"), ("q", 10, "baz"), ("r", 10, "baz")]] * 2),
]
PROFILES = [
    # user and region, and the sum of the lengths of the users' names in each region
    (("alice", "E"), {"E": 5}),
    (("bob", "A"), {"E": 5, "A": 3}),
    (("charlie", "A"), {"E": 5, "A": 10}),
    (("alice", "A"), {"A": 15}),  # in the guide, nobody is in (E, 0) from here on
    (("charlie", None), {"A": 8}),
    ((None, "E"), {"A": 8}),
    (("bob", "E"), {"A": 5, "E": 3}),
]
LOOKED_UP = [
    # As in `BOTH`; what a join of a stream sends then.
    ({"left": None}, [], []),
    ({"right": None}, [], []),
    ({"left": "A"}, [], [("A", None)]),
    ({"right": "a"}, [], []),
    ({"left": "B"}, [("B", "a")], [("B", "a")]),
    ({"right": "b"}, [], []),
    ({"left": None}, [], []),
    ({"right": None}, [], []),
    ({"left": "C"}, [], [("C", None)]),
    ({"right": "c"}, [], []),
    ({"right": None}, [], []),
    ({"left": None}, [], []),
    ({"right": None}, [], []),
    ({"right": "d"}, [], []),
    ({"left": "D"}, [("D", "d")], [("D", "d")]),
]


def record(key, **columns):
    """Return a record; without columns, a tombstone."""
    return key | (columns or {"_value": None})


def step(inputs, expected):
    step_inputs = [{"input": f"source('guide', '{topic}')", "rows": rows} for topic, rows in inputs.items()]
    return {"given": step_inputs, "expect": expected}


def passes(shop, model, sql, steps):
    (shop.root / "models/guide.yml").write_text(SOURCES)
    (shop.root / f"models/{model}.sql").write_text(sql)
    shop.passes(f"- {json.dumps({'name': 'guide', 'model': model, 'steps': steps})}")


def changed(key, states):
    """Return what each state of a table changes, as a test with steps expects it."""
    before = {}
    for rows in states:
        now = {row[key]: row for row in rows}
        gone = [{key: value, "_deleted": True} for value in before.keys() - now.keys()]
        yield [row for value, row in now.items() if row != before.get(value)] + gone
        before = now


def one_key(left_topic, records):
    """Return the records of a step; all of them have the same key."""
    rows = {left_topic: [], "rights": []}
    for side, value in records.items():
        fields = {} if value is None else {"v": value}
        rows[left_topic if side == "left" else "rights"].append(record({"k": "k"}, **fields))
    return rows


@pytest.mark.long
@pytest.mark.parametrize("kind", ["join", "left join", "full join"])
def test_a_join_of_two_tables(shop, kind):
    column = 1 + ["join", "left join", "full join"].index(kind)
    held = [case[column] for case in BOTH]
    states = [[] if pair is None else [{"k": "k", "l": pair[0], "r": pair[1]}] for pair in held]
    steps = [
        step(one_key("lefts", records), expected)
        for (records, *_), expected in zip(BOTH, changed("k", states), strict=True)
    ]
    sql = f"""
        {{{{ config(materialized='table', unique_key='k') }}}}
        select coalesce(l.k, r.k) as k, l.v as l, r.v as r
        from {{{{ source('guide', 'lefts') }}}} as l {kind} {{{{ source('guide', 'rights') }}}} as r on l.k = r.k"""
    passes(shop, "joined", sql, steps)


ALL_OF_FOREIGN = len(FOREIGN)


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("left join", 5),
        *(pytest.param(kind, ALL_OF_FOREIGN, marks=pytest.mark.long) for kind in ("join", "left join")),
    ],
)
def test_a_join_by_a_foreign_key(shop, kind, count):
    column = 2 + ["join", "left join"].index(kind)
    states = [[{"k": k, "fk": fk, "v": v} for k, fk, v in case[column]] for case in FOREIGN[:count]]
    steps = [
        step(
            {
                "orders": [record({"k": k}, fk=fk) for k, fk in orders],
                "names": [record({"fk": fk}, v=v) for fk, v in names],
            },
            expected,
        )
        for (orders, names, *_), expected in zip(FOREIGN[:count], changed("k", states), strict=True)
    ]
    sql = f"""
        {{{{ config(materialized='table', unique_key='k') }}}}
        select o.k, o.fk, n.v
        from {{{{ source('guide', 'orders') }}}} as o {kind} {{{{ source('guide', 'names') }}}} as n on o.fk = n.fk"""
    passes(shop, "joined", sql, steps)


@pytest.mark.long
def test_an_aggregate_with_an_adder_and_a_subtractor(shop):
    states = [[{"region": name, "total": total} for name, total in state.items()] for _, state in PROFILES]
    steps = [
        step(
            {
                "user_profiles": [
                    record({"user": user}, **({} if region_name is None else {"region": region_name}))
                ]
            },
            expected,
        )
        for ((user, region_name), _), expected in zip(PROFILES, changed("region", states), strict=True)
    ]
    sql = """
        {{ config(materialized='table', unique_key='region') }}
        select region, sum(length(user)) as total from {{ source('guide', 'user_profiles') }}
        where user is not null group by region"""
    passes(shop, "totals", sql, steps)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["join", "left join"])
def test_a_stream_that_looks_up_a_table(shop, kind):
    column = 1 + ["join", "left join"].index(kind)
    steps = [
        step(one_key("clicks", case[0]), [{"k": "k", "l": left, "r": right} for left, right in case[column]])
        for case in LOOKED_UP
    ]
    sql = f"""
        {{{{ config(materialized='sink', key='k') }}}}
        select l.k, l.v as l, r.v as r
        from {{{{ source('guide', 'clicks') }}}} as l {kind} {{{{ source('guide', 'rights') }}}} as r on l.k = r.k"""
    passes(shop, "sent", sql, steps)
