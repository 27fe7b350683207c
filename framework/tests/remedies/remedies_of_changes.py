"""Remedies for sinks that send changes, with the row before each one."""

from __future__ import annotations

from remedy import EVENTS, A, B, Case

FOLLOWED = (
    "{{ config(materialized='table', unique_key='user_id') }} select user_id, type, amount from " + EVENTS
)
SINK = "{{ config(materialized='sink', key='user_id', emit='changes') }} "
OF_TABLE = SINK + "select user_id, amount from {{ ref('followed') }}"
STORED = (
    "store the rows in a model with config(materialized='table', unique_key='user_id'), and select from that"
)
SEGMENT = "{{ lookup_map(source('shop', 'users'), 'user_id', 'segment') }}[user_id] as segment"
JOINED = "select f.user_id, u.segment from {{ ref('followed') }} as f left join {{ source('shop', 'users') }} as u on f.user_id = u.user_id"
TESTED = "models: [{{name: {}, columns: [{{name: amount, tests: [{{not_null: {{severity: drop}}}}]}}]}}]\n"
COUNTS = f"select user_id, count(*) as n from {EVENTS} group by user_id"


def case(under, remedy, sql, edits, steps=(), code="MS688", **more):
    return Case(code, under, remedy, sql, edits, steps, **{"models": {"followed": FOLLOWED}} | more)


CASES = {
    "changes of events": case(
        "emit", STORED, SINK + f"select user_id, amount from {EVENTS}", {EVENTS: "{{ ref('stored') }}"},
        [({"events": [A, B]}, [{"user_id": "a", "amount": 1}, {"user_id": "b", "amount": 5}]),
         ({"events": [A | {"amount": 7}]}, [{"user_id": "a", "amount": 7}])],
        models={}, added={"stored": FOLLOWED}),
    "changes of an aggregate": case(
        "emit", STORED, SINK.replace("emit", "unbounded_state='accept', emit") + COUNTS,
        {"unbounded_state='accept', ": "", COUNTS: "select user_id, n from {{ ref('counts') }}"},
        models={}, added={"counts": "{{ config(materialized='table', unique_key='user_id', unbounded_state='accept') }} " + COUNTS}),
    "changes by chance": case(
        "emit", "compute such values in the table that it selects from", OF_TABLE + " where rand() < 0.5", {" where rand() < 0.5": " where chance < 0.5"},
        added={"followed": FOLLOWED.replace("amount", "amount, rand() as chance")}),
    "changes with a function": case(
        "emit", "call score() in the table that it selects from", OF_TABLE.replace(", amount", ", score(type, 1.0) as s"), {"score(type, 1.0) as s": "s"},
        added={"followed": FOLLOWED.replace("amount", "amount, score(type, 1.0) as s")}),
    "changes with a lookup": case(
        "emit", "join 'users' in a table, and select from that table",
        f"{SINK}select user_id, {SEGMENT} from {{{{ ref('followed') }}}}",
        {f"{SEGMENT} from {{{{ ref('followed') }}}}": "segment from {{ ref('joined') }}"},
        added={"joined": "{{ config(materialized='table', unique_key='user_id') }} " + JOINED}),
    "changes with a test that drops": case(
        "emit", "test the table that it selects from instead", OF_TABLE, {},
        files={"models/m.yml": TESTED.format("m")}, edited={"models/m.yml": TESTED.format("followed")}),
    "changes in Avro": case(
        "format", "set format='json', or remove emit", OF_TABLE.replace("emit", "format='avro', emit"), {"'avro'": "'json'"}, code="MS689"),
    "changes with the id of a schema": case(
        "framing", "remove 'framing'", OF_TABLE.replace("emit", "framing='confluent', emit"), {"framing='confluent', ": ""}, code="MS689"),
    "changes of a view": case(
        "emit", "remove it: a sink that selects from this model can have it", "{{ config(emit='changes') }} select user_id, amount from {{ ref('followed') }}", {"emit='changes'": ""}, code="MS689"),
    "tombstones without changes": case(
        "tombstones", "set emit='changes', or remove it", OF_TABLE.replace("emit='changes'", "tombstones=false"), {"tombstones=false": "tombstones=false, emit='changes'"}, code="MS121"),
}  # fmt: skip
