"""Remedies for tables over tables and joins with rows at rest: each is enough, in one step."""

from __future__ import annotations

from remedy import Case

E = "from {{ source('shop', 'events') }}"
H = "from {{ source('shop', 'hits') }}"
OK = "unbounded_state='accept'"
TABLE = f"{{{{ config(materialized='table', unique_key='KEY', {OK}) }}}} "
COUNTS = f"{{{{ config({OK}) }}}} select user_id, count(*) as n {E} group by user_id"
STORED = f"{{{{ config(materialized='table', unique_key='user_id', {OK}) }}}} select user_id, count(*) as n {E} group by user_id"
USERS = TABLE.replace("KEY", "user_id") + f"select user_id, amount {E}"
FULL = "set config(refresh='full'): each change computes all rows, and stores the differences"
IN_FULL, IF_UNIQUE = f"; or {FULL}", f"; or, if no two rows have the same sk, {FULL}"
SURROGATE = (
    TABLE.replace("KEY", "sk") + "select concat(user_id, amount) as sk, user_id, amount from {{ ref('a') }}"
)
TWO_KEYS = TABLE.replace("'KEY'", "['user_id', 'amount']") + "select user_id, amount from {{ ref('a') }}"
FOUR = (
    "select c0.user_id, c1.n from {{ ref('c0') }} as c0 join {{ ref('c1') }} as c1 on c0.user_id = c1.user_id"
)


def case(code, under, remedy, sql, *edit, **more):
    return Case(code, under, remedy, sql, dict([edit] if edit else []), **more)


TABLE_CASES = {
    "a surrogate key with a value that changes": case("MS518", "unique_key", "use these columns: config(unique_key='user_id')" + IF_UNIQUE, SURROGATE, "unique_key", "refresh='full', unique_key", models={"a": USERS}),
    "a key of more columns than identify a row": case("MS518", "unique_key", "use these columns: config(unique_key='user_id')" + IN_FULL, TWO_KEYS, "unique_key", "refresh='full', unique_key", models={"a": USERS}),
    "a key that several rows have": case("MS518", "unique_key", "use these columns: config(unique_key='user_id')", TWO_KEYS.replace("['user_id', 'amount']", "'amount'"), "'amount'", "'user_id'", models={"a": USERS}),
    "a surrogate key without the columns behind it": case("MS511", "select", "also select user_id: a changed row replaces the one with the same key" + IF_UNIQUE, SURROGATE.replace("user_id, amount from", "amount from"), "unique_key", "refresh='full', unique_key", models={"a": USERS}),
    "a right join that keeps what changes": case("MS513", "ref('c')", "store that side as a table (materialized='table'), and write a left join from the stream to it", f"{{{{ config({OK}) }}}} select h.visitor, c.n {H} as h right join {{{{ ref('c') }}}} as c on c.user_id = h.visitor", "right join", "left join", models={"c": COUNTS}, added={"c": STORED}),
    "a semi join that keeps what changes": case("MS513", "source('shop', 'hits')", "store that side as a table (materialized='table'), and write an inner join from the stream to it", f"{{{{ config({OK}) }}}} select c.user_id from {{{{ ref('c') }}}} as c left semi join {{{{ source('shop', 'hits') }}}} as h on c.user_id = h.visitor", "left semi join", "join", models={"c": COUNTS}, added={"c": STORED}),
    "a semi join that keeps a table": case("MS513", "source('shop', 'hits')", "write an inner join from the stream to the table", f"{{{{ config({OK}) }}}} select c.user_id from {{{{ ref('c') }}}} as c left semi join {{{{ source('shop', 'hits') }}}} as h on c.user_id = h.visitor", "left semi join", "join", models={"c": STORED}),
    "two inputs that change": case("MS513", "ref('c1')", "all of this is needed: make 'c0' a table with config(materialized='table', unique_key='user_id'); make 'c1' a table with config(materialized='table', unique_key='user_id')", TABLE.replace("KEY", "user_id") + FOUR, models={"c0": COUNTS, "c1": COUNTS}, added={"c0": STORED, "c1": STORED}),
    "rows of equal order": case("MS549", "row_number", "add user_id to the end of ORDER BY", TABLE.replace("KEY", "user_id") + "select user_id, row_number() over (partition by amount order by amount) as n from {{ ref('a') }}", "order by amount", "order by amount, user_id", models={"a": USERS}),
    "a sink of rows at rest": case("MS694", "materialized", "make it a table with config(materialized='table', unique_key='…'), and send its rows with a sink that selects from it", "{{ config(materialized='sink', key='product_id') }} select p.product_id, a.amount from {{ ref('products') }} as p left join {{ ref('a') }} as a on a.user_id = p.product_id", "materialized='sink', key=", "materialized='table', unique_key=", models={"a": USERS}),
    "a sink of views of seeds": case("MS694", "materialized", "set materialized='view': models that read it compute its rows", "{{ config(materialized='sink', key='product_id') }} select p.product_id from {{ ref('products') }} as p join {{ ref('v') }} as v on v.product_id = p.product_id", "materialized='sink', key='product_id'", "materialized='view'", models={"v": "select product_id from {{ ref('products') }}"}, message="only rows that never change"),
}  # fmt: skip
