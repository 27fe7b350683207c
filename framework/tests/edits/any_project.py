"""A small project with a file of each kind, which random edits change; `zz` stands for the name of a copy.

Each model has a YAML file of its own, so that a copy can leave models out.
"""

import re
from graphlib import TopologicalSorter

SETTINGS = """
[project]
name = "any"
[tool.millstream]
name = "any"
[tool.millstream.vars]
zz_least = 1
zz_left_out = ["x", "e"]
zz_day = "1 minute"
[tool.millstream.models.zz]
unbounded_state = "accept"
owner = "us"
"""
PROFILES = """
any:
  target: TARGET
  outputs:
    TARGET: {master: "local[2]", kafka: embedded, grouping: "off", timezone: UTC, trigger: available_now, spark: {spark.sql.ansi.enabled: true, spark.executor.memory: 1g}}
    fTARGET: {master: "local[2]", kafka: embedded, grouping: "off", timezone: UTC, trigger: available_now, spark: {spark.sql.ansi.enabled: true, spark.executor.memory: 1g}}
"""
SHARED = {
    "models/zz/sources.yml": """
version: 2
sources:
  - name: zz_web
    description: what people do
    on_bad_record: skip
    topics:
      - name: events
        key: {name: user, type: string}
        starting: earliest
        options: {isolation.level: read_committed}
        columns:
          - {name: id, type: int, description: a number}
          - {name: kind, type: string}
          - {name: value, type: double}
          - {name: note, type: string, nullable: true}
          - {name: at, type: timestamp}
          - {name: big, type: int, from: "id * 10"}
        watermark: {column: at, delay: 1 minute}
      - name: others
        key: {name: user, type: string}
        schema: schemas/zz_others.json
        decoding: lenient
        watermark: {column: at, delay: 2 minutes}
      - name: lines
        key: {name: user, type: string}
        format: csv
        format_options: {delimiter: ";"}
        columns: [{name: id, type: int}, {name: x, type: int}, {name: y, type: int}, {name: day, type: date}]
      - name: people
        table: true
        key: {name: user, type: string}
        columns: [{name: name, type: string}, {name: age, type: int}]
""",
    "schemas/zz_others.json": """
{"type": "object", "title": "others", "properties": {
  "id": {"type": "integer"},
  "kind": {"type": "string"},
  "value": {"type": "number"},
  "at": {"type": "string", "format": "date-time"}},
 "required": ["id"]}
""",
    "seeds/zz_kinds.csv": "kind,name,weight\nc,click,1\nd,drag,2\ne,enter,3\n",
    "seeds/zz_kinds.yml": """
version: 2
seeds:
  - name: zz_kinds
    config: {column_types: {weight: int, name: string}}
    columns: [{name: kind, tests: [not_null]}]
""",
    "macros/zz_macros.sql": """
{%- macro zz_part(column, length=2) -%} left({{ column }}, {{ length }}) {%- endmacro -%}
{%- macro zz_any_of(column, values, negated=false) -%}
  {{ column }} {{ 'not in' if negated else 'in' }} ({% for each in values %}'{{ each }}'{{ '' if loop.last else ', ' }}{% endfor %})
{%- endmacro -%}
""",
    "macros/zz_functions.py": '''
"""What SQL calls."""

import math
import re

from zz_lib.rates import RATES, rate_of
from zz_lib import words

UNUSED = 3
LIMIT = 5
_PATTERN = re.compile("^[cd]")


def zz_points(kind: str, factor: int) -> int:
    """Return points."""
    return words.length_of(kind) * factor + (2 if _PATTERN.match(kind) else 0)


def zz_rated(value: float) -> float:
    rate = rate_of(value, digits=1)
    return min(rate, LIMIT * 100.0)


def zz_unused(value: float) -> float:
    return math.floor(value) + UNUSED + len(RATES)
''',
    "macros/zz_functions.yml": "functions: [{name: zz_points, description: points, cost: low}]\n",
    "macros/zz_state.py": """
from collections.abc import Iterator
from dataclasses import dataclass, field

from zz_lib.rates import step


@dataclass
class ZzEvent:
    id: int
    value: float


@dataclass
class ZzState:
    total: float = 0.0
    seen: list[int] = field(default_factory=list)


@dataclass
class ZzTotal:
    user: str
    total: float
    seen: int


def zz_totals(key: str, rows: Iterator[ZzEvent], state: ZzState) -> Iterator[ZzTotal]:
    for row in rows:
        state.total += row.value * step()
        state.seen.append(row.id)
    yield ZzTotal(key, state.total, len(state.seen))
""",
    "zz_lib/__init__.py": "",
    "zz_lib/rates.py": """
from zz_lib.words import BASE

RATES = {"low": 0.5, "high": 2.0}
OTHER = 7


def rate_of(value: float, *, digits: int = 2, name: str = "high") -> float:
    return round(value * RATES[name] + BASE, digits)


def step() -> float:
    return RATES["low"]
""",
    "zz_lib/words.py": """
BASE = 1
NEVER = 9


def length_of(word: str, default: int = 4) -> int:
    if not word:
        return default
    return len(word) + (1 if word > "d" else 0)
""",
}
"""Files that all copies have."""

SQL = {
    "counts": """
{{ config(materialized='table', unique_key='user', tags=['daily']) }}
select user, count(*) as events, sum(value * 2) as twice, max(kind) as last, avg(id) as mean,
  sum(case when kind = 'd' then value end) as of_d, count_if(value > {{ var('zz_least') }}) as many
from {{ source('zz_web', 'events') }}
where {{ zz_any_of('kind', var('zz_left_out'), negated=true) }} and id >= 0
group by user
""",
    "rated": """
{{ config(materialized='table', unique_key='part') }}
select {{ zz_part('user', 1) }} as part, sum(zz_rated(value)) as rated, sum(zz_points(kind, 3)) as points, min(note) as note
from {{ source('zz_web', 'events') }} group by {{ zz_part('user', 1) }}
""",
    "windows": """
{{ config(materialized='sink', topic=target.name ~ '_zz_windows', key=['user', 'minute'], emit='on_close') }}
select window(at, '{{ var("zz_day") }}').start as minute, user, count(*) as events, sum(value) as total
from {{ source('zz_web', 'events') }} where value >= 0 group by window(at, '{{ var("zz_day") }}'), user
""",
    "per_user": """
{{ config(materialized='table', unique_key='user') }}
select user, count(*) as minutes, sum(events) as events, max(total) as most from {{ ref('zz_windows') }} group by user
""",
    "slides": """
{{ config(materialized='table', unique_key=['kind', 'began']) }}
select kind, window.start as began, max(big) as most, approx_count_distinct(user) as users
from {{ source('zz_web', 'events') }} group by kind, window(at, '2 minutes', '1 minute')
""",
    "pairs": """
{{ config(materialized='table', unique_key=['id', 'other']) }}
select e.id, o.id as other, e.user, o.kind, e.value + o.value as value
from (select * from {{ source('zz_web', 'events') }} where id >= 0) as e join {{ source('zz_web', 'others') }} as o
  on e.user = o.user and o.at between e.at - interval 30 seconds and e.at + interval 1 minute
where o.value >= 0
""",
    "rows": """
{{ config(materialized='table', unique_key='id', order_by='at', retention='3 hours') }}
select e.id, e.user, k.name, k.weight * e.value as value, coalesce(e.note, 'none') as note, e.at, to_date(e.at) as day
from {{ source('zz_web', 'events') }} as e left join {{ ref('zz_kinds') }} as k on k.kind = e.kind
where e.value > 1
""",
    "sent": """
{{ config(materialized='sink', topic=target.name ~ '_zz_sent', key='user', headers={'kind': 'kind'}) }}
select user, id, upper(kind) as kind, value, x.name from {{ ref('zz_plain') }}
  join {{ ref('zz_kinds') }} as x using (kind) where id % 3 <> 0
""",
    "plain": """
{{ config(materialized='view') }}
select user, id, kind, value, at, zz_points(kind, 2) as points from {{ source('zz_web', 'events') }} where kind <> 'x'
""",
    "of_sent": """
{{ config(materialized='table', unique_key='kind') }}
select kind, count(*) as sent, sum(value) as total, min(name) as name from {{ ref('zz_sent') }} group by kind having count(*) > 1
""",
    "firsts": """
{{ config(materialized='table', unique_key='id', dedupe={'keys': ['user', 'kind'], 'within': '3 hours'}) }}
select user, kind, id, at, length(kind) + points as points from {{ ref('zz_plain') }}
""",
    "keyed": """
{{ config(materialized='table', unique_key='user', order_by='total') }}
select t.user, t.total, t.seen from {{ source('zz_web', 'events') }} as e, lateral zz_totals(e.user) as t
""",
    "looked_up": """
{{ config(materialized='table', unique_key='name') }}
select p.name, count(*) as events, max(p.age) as age from {{ source('zz_web', 'events') }} as e
join {{ source('zz_web', 'people') }} as p on p.user = e.user where p.age > 20 group by p.name
""",
    "both": """
{{ config(materialized='table', unique_key='kind') }}
select kind, count(*) as events, sum(n) as n from (
  select kind, id as n from {{ source('zz_web', 'events') }} where value > 2
  union all
  select kind, 1 as n from {{ source('zz_web', 'others') }} where id in (select weight * 7 from {{ ref('zz_kinds') }}) or value < 8
) group by kind
""",
    "lines": """
{{ config(materialized='table', unique_key='larger') }}
select x > y as larger, count(*) as n, sum(x) as x, max(day) as day from {{ source('zz_web', 'lines') }} group by x > y
""",
    "all_users": """
{{ config(materialized='table', unique_key='user') }}
select distinct user, substring(note, 1, 1) as letter from {{ source('zz_web', 'events') }} where note is not null
""",
}
"""The SQL of each model."""

YAML = {
    "counts": """
version: 2
models:
  - name: zz_counts
    description: counts
    owner: us
    columns:
      - {name: user, tests: [not_null, {accepted_values: {values: [ax, bx, cx, ay, by], severity: drop}}]}
      - {name: events, tests: [{expression: {name: zz_some, expression: "events > 0", severity: warn}}]}
""",
    "sent": """
version: 2
models:
  - name: zz_sent
    columns:
      - {name: id, tests: [{expression: {name: zz_not_five, expression: "id <> 5", severity: drop}}]}
      - {name: kind, tests: [{accepted_values: {values: [C, D, E], severity: warn}}]}
""",
    "rows": """
version: 2
models:
  - name: zz_rows
    config: {tags: [rows], state: {store: rocksdb}}
    columns:
      - {name: id, tests: [unique, {expression: {name: zz_low, expression: "id < 115", severity: drop}}]}
    data_tests: [{row_count: {min: 1}}]
""",
    "keyed": """
models:
  - name: zz_keyed
    config: {state: {ttl: 30 days, memory: 64 MB}}
    meta: {team: us}
""",
    "windows": """
models:
  - name: zz_windows
    config: {partitions: 2, on_bad_record: fail}
    rows_per_second: 5
""",
    "firsts": """
models:
  - name: zz_firsts
    config: {watermark: {column: at, delay: 1 minute}}
    hints: {keeps: 0.5}
""",
    "pairs": """
models:
  - name: zz_pairs
    columns: [{name: value, tests: [{expression: {name: zz_value, expression: "value < 18", severity: drop, where: "id > 1"}}]}]
""",
}


def without(prefix_of: str, text: str) -> str:
    """Return text with the name of a copy."""
    return re.sub(r"zz(?=_|/|$|\])", prefix_of, text).replace("Zz", prefix_of.title())


def files_of_all() -> dict[str, str]:
    models = {f"models/zz/zz_{name}.sql": sql for name, sql in SQL.items()}
    settings = {f"models/zz/zz_{name}.yml": text for name, text in YAML.items()}
    files = {**SHARED, **models, **settings, "pyproject.toml": SETTINGS, "profiles.yml": PROFILES}
    return {path: text.lstrip("\n") for path, text in files.items()}


def upstream() -> dict[str, set[str]]:
    """Return the models that each model reads, at any depth, inputs first."""
    direct = {name: set(re.findall(r"ref\('zz_(\w+)'\)", sql)) & SQL.keys() for name, sql in SQL.items()}
    ancestors: dict[str, set[str]] = {}
    for name in TopologicalSorter(direct).static_order():
        ancestors[name] = direct[name].union(*(ancestors[parent] for parent in direct[name]))
    return ancestors
