"""Every way in which a model reads a topic or a seed, and edits of what decides the values that it reads."""

from typing import NamedTuple

from edits.bases import EVENTS, table

OF = "{{ source('ref', 'people') }}"
READERS = {
    "lookup of a sum": table(
        "user", f"select e.user, sum(p.weight) as total from {EVENTS} e join {OF} p on p.user = e.user group by e.user"
    ),
    "lookup of a key": table(
        "weight", f"select p.weight, count(*) as n from {EVENTS} e join {OF} p on p.user = e.user group by p.weight"
    ),
    "lookup of a row": table(
        "id", f"select e.id, p.weight from {EVENTS} e left join {OF} p on p.user = e.user"
    ),
    "condition of a lookup": table(
        "user",
        f"select e.user, count(*) as n from {EVENTS} e join {OF} p on p.user = e.user and p.weight > 5 group by e.user",
    ),
    "filter over a lookup": table(
        "user", f"select e.user, count(*) as n from {EVENTS} e join {OF} p on p.user = e.user where p.weight > 5 group by e.user"
    ),
    "IN": table(
        "user", f"select user, count(*) as n from {EVENTS} where id in (select weight from {OF}) group by user"
    ),
    "IN of a row": table("id", f"select id, user from {EVENTS} where id in (select weight from {OF})"),
    "NOT EXISTS": table(
        "id", f"select id, user from {EVENTS} e where not exists (select 1 from {OF} p where p.weight = e.id)"
    ),
    "scalar subquery": table(
        "user", f"select user, sum(value * (select max(weight) from {OF})) as total from {EVENTS} group by user"
    ),
    "view": table("user", "select user, sum(weight) as total from {{ ref('looked_up') }} group by user"),
    "sum of a topic": table("user", "select user, sum(weight) as total from {{ ref('sent') }} group by user"),
}  # fmt: skip
"""Models with state or rows that were computed by the values of a topic."""
BETWEEN = {
    "looked_up": "{{ config(materialized='view') }}\n"
    f"select e.user, e.id, p.weight from {EVENTS} e join {OF} p on p.user = e.user",
    "sent": "{{ config(materialized='sink', key='user') }} select user, id, weight from {{ ref('looked_up') }}",
}
UNREAD = "unread"
MODELS = {
    **{name.replace(" ", "_").lower(): sql for name, sql in READERS.items()},
    UNREAD: table("user", f"select e.user, count(p.name) as n from {EVENTS} e join {OF} p on p.user = e.user group by e.user"),
}  # fmt: skip


class TopicEdit(NamedTuple):
    name: str
    before: str
    after: str
    """YAML of the topic."""
    changes_others: bool
    """Whether it also changes what a model reads that does not read the column."""


COLUMNS = "{name: weight, type: int}, {name: name, type: string}"


def topic(*lines, columns=COLUMNS):
    return ", ".join((*lines, f"columns: [{columns}]"))


def _edits():
    plain = topic()
    derived = (
        "{{name: raw, type: int}}, {{name: name, type: string}}, {{name: weight, type: int, from: '{}'}}"
    )
    csv = "format: csv"
    traded = "{name: name, type: string}, {name: weight, type: int}"
    stamp = "{{name: weight, type: int, from: 'cast(date_format(at, \"{}\") as int)'}}, {{name: name, type: string}}, {{name: at, type: timestamp}}"
    nested = "{{name: part, type: 'struct<x:int,y:int>'}}, {{name: name, type: string}}, {{name: weight, type: int, from: part.{}}}"
    called = "{{name: raw, type: int}}, {{name: name, type: string}}, {{name: weight, type: bigint, from: '{}(raw)'}}"
    yield TopicEdit(
        "a computed column",
        topic(columns=derived.format("raw * 2")),
        topic(columns=derived.format("raw * 3")),
        changes_others=False,
    )
    yield TopicEdit(
        "a computed column of a part",
        topic(columns=nested.format("x")),
        topic(columns=nested.format("y")),
        changes_others=False,
    )
    yield TopicEdit(
        "a computed column by a format",
        topic(columns=stamp.format("d")),
        topic(columns=stamp.format("D")),
        changes_others=False,
    )
    yield TopicEdit(
        "a column is computed",
        topic(columns=COLUMNS + ", {name: raw, type: int}"),
        topic(columns=derived.format("raw * 3")),
        changes_others=False,
    )
    yield TopicEdit(
        "another function of a computed column",
        topic(columns=called.format("twice")),
        topic(columns=called.format("thrice")),
        changes_others=False,
    )
    yield TopicEdit(
        "columns of CSV trade places", topic(csv), topic(csv, columns=traded), changes_others=True
    )
    yield TopicEdit(
        "another type", plain, topic(columns=COLUMNS.replace("int", "bigint")), changes_others=False
    )
    yield TopicEdit(
        "another delimiter", topic(csv), topic(csv, "format_options: {delimiter: ';'}"), changes_others=True
    )
    yield TopicEdit("a header", topic(csv), topic(csv, "format_options: {header: true}"), changes_others=True)
    yield TopicEdit(
        "another quote", topic(csv), topic(csv, 'format_options: {quote: "\'"}'), changes_others=True
    )
    yield TopicEdit("lenient decoding", plain, topic("decoding: lenient"), changes_others=True)
    yield TopicEdit("bad records are skipped", plain, topic("on_bad_record: skip"), changes_others=True)
    yield TopicEdit(
        "bad records are sent on", plain, topic("on_bad_record: dead_letter"), changes_others=True
    )
    yield TopicEdit("records of another format", plain, topic(csv), changes_others=True)
    yield TopicEdit("records of another topic", plain, topic("topic: more_people"), changes_others=True)
    yield TopicEdit(
        "another column that makes records bad",
        topic("on_bad_record: skip"),
        topic("on_bad_record: skip", columns=COLUMNS + ", {name: age, type: int}"),
        changes_others=True,
    )
    yield TopicEdit(
        "another format of keys",
        topic(),
        topic("key: {name: user, type: string, format: json}"),
        changes_others=True,
    )
    yield TopicEdit("versions", plain, topic("versions: 30 days"), changes_others=True)


EDITS = tuple(_edits())  # fmt: skip
SAME = (
    TopicEdit("a column that nobody reads", topic(), topic(columns=COLUMNS + ", {name: age, type: int}"), changes_others=False),
    TopicEdit("another order", topic(), topic(columns="{name: name, type: string}, {name: weight, type: int}"), changes_others=False),
    TopicEdit("a description", topic(), topic("description: people"), changes_others=False),
    TopicEdit("a computed column that nobody reads", topic(columns=COLUMNS + ", {name: age, type: int, from: weight * 2}"), topic(columns=COLUMNS + ", {name: age, type: int, from: weight * 3}"), changes_others=False),
    TopicEdit("another last column of CSV", topic("format: csv"), topic("format: csv", columns=COLUMNS + ", {name: age, type: int}"), changes_others=False),
)  # fmt: skip
FUNCTIONS = """
def twice(value: int) -> int:
    return value * 2


def thrice(value: int) -> int:
    return value * 3
"""
