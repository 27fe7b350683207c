"""Where a query has the state of a model whose topic it reads, an edit below that state concerns it, too."""

from inspect import cleandoc

import pytest
from edits.copied import in_one_query, less_strict, readers_of
from support.shops import PROFILES, PROJECT

from millstream.compile import compile_project
from millstream.queries.topology import compiled_topology

SOURCES = """
sources:
  - name: web
    topics:
      - name: events
        format: csv
        on_bad_record: skip
        columns:
          - {name: user, type: string}
          - {name: kind, type: string}
          - {name: id, type: int}
          - {name: value, type: int}
          - {name: at, type: timestamp}
          - {name: much, type: int, from: value * 2}
        watermark: {column: at, delay: 1 minute}
      - name: others
        key: {name: user, type: string}
        columns: [{name: id, type: int}, {name: seen, type: timestamp}]
        watermark: {column: seen, delay: 1 minute}
      - name: people
        table: true
        key: {name: user, type: string}
        columns: [{name: age, type: int}]
"""
FUNCTION = """
import rates


def rated(value: int) -> int:
    return value * rates.RATE
"""
SINK = "{{ config(materialized='sink') }}"
CLOSED = "{{ config(materialized='sink', emit='on_close') }}"
EVENTS = "{{ source('web', 'events') }}"
WRITERS = {
    "sessions": f"""{CLOSED}
        select session_window(at, '6 minutes').start as at, user, sum(rated(much)) as n
        from {{{{ ref('clean') }}}} group by session_window(at, '6 minutes'), user having count(*) > 1""",
    "firsts": f"{SINK} select at, user, cast(id as bigint) as n from {{{{ ref('clean') }}}}",
    "pairs": f"""{SINK}
        select e.at, e.user, cast(o.id as bigint) as n from {{{{ ref('known') }}}} e
        join {{{{ source('web', 'others') }}}} o
        on o.user = e.user and o.seen between e.at and e.at + interval 1 minute where e.id > 0""",
    "counted": f"""{CLOSED}
        select window(at, '1 hour').start as at, max(user) as user, count(*) as n
        from {{{{ ref('sent') }}}} group by window(at, '1 hour')""",
}
"""Topics with state below them."""
READERS = {
    "some": SINK + " select at, user, n + 1 as n from {{ ref('WRITER') }} where n > 2",
    "chain": SINK + " select at, user, n from {{ ref('some_WRITER') }}",
    "union": SINK
    + """ select at, user, n from {{ ref('WRITER') }}
        union all select at, user, cast(id as bigint) as n from {{ ref('plain') }}""",
    "table": "{{ config(materialized='table', unique_key=['user', 'at']) }} select user, at, n from {{ ref('WRITER') }}",
}
FILES = {
    "pyproject.toml": PROJECT,
    "profiles.yml": PROFILES,
    "rates.py": "RATE = 1\n",
    "macros/rated.py": FUNCTION,
    "seeds/kinds.csv": "kind,weight\na,1\nb,2\n",
    "models/sources.yml": SOURCES,
    "models/plain.sql": f"{SINK} select at, user, id from {EVENTS}",
}
CLEANED = {
    "models/clean.sql": f"""
        {{{{ config(materialized='view', dedupe={{'keys': ['id', 'at'], 'within': '1 day'}}) }}}}
        select e.user, e.id, e.value, e.much, e.at from {EVENTS} e
        join {{{{ ref('kinds') }}}} k on k.kind = e.kind where e.value >= 0 and k.weight < 5"""
}
READ = {
    "sessions": CLEANED,
    "firsts": CLEANED,
    "pairs": {
        "models/known.sql": f"""
            select e.user, e.id, e.at from {EVENTS} e join {{{{ source('web', 'people') }}}} p on p.user = e.user
            join {{{{ ref('ages') }}}} a on a.user = e.user where a.age > 10""",
        "models/ages.sql": """
            {{ config(materialized='table', unique_key='user') }}
            select user, max(age) as age from (select user, id as age from {{ source('web', 'others') }})
            group by user""",
    },
    "counted": {
        "models/sent.sql": f"{SINK} select at, user, id, value from {EVENTS} where value > 5",
        "models/sent.yml": """
            models:
              - name: sent
                columns:
                  - {name: id, tests: [{expression: {name: low, expression: "id < 9", severity: drop}}]}
        """,
    },
}
"""The files that each of them needs."""
CLEAN = "models/clean.sql"
EDITS = {
    "a filter": (CLEAN, "e.value >= 0", "e.value > 0", {"sessions", "firsts"}),
    "the keys of a dedupe": (CLEAN, "['id', 'at']", "['user', 'at']", {"firsts"}),
    "the time of a dedupe": (CLEAN, "1 day", "2 days", {"sessions"}),
    "a condition of a lookup": (CLEAN, "k.kind = e.kind", "k.kind = upper(e.kind)", {"firsts"}),
    "a condition on a seed": (CLEAN, "k.weight < 5", "k.weight < 2", {"sessions"}),
    "a seed": ("seeds/kinds.csv", "b,2", "b,9", {"sessions"}),
    "a length of sessions": ("models/sessions.sql", "6 minutes", "7 minutes", {"sessions"}),
    "an aggregate": ("models/sessions.sql", "sum(rated", "max(rated", {"sessions"}),
    "a condition on groups": ("models/sessions.sql", "count(*) > 1", "count(*) > 2", {"sessions"}),
    "a function": ("rates.py", "RATE = 1", "RATE = 2", {"sessions"}),
    "a calculated column": ("models/sources.yml", "value * 2", "value * 3", {"sessions"}),
    "a delay": ("models/sources.yml", "{column: at, delay: 1 minute}", "{column: at, delay: 2 minutes}",
                {"pairs", "counted"}),
    "positions of columns": ("models/sources.yml", "{name: id, type: int}\n          - {name: value, type: int}",
                             "{name: value, type: int}\n          - {name: id, type: int}", {"sessions", "counted"}),
    "a type": ("models/sources.yml", "{name: id, type: int}\n          - {name: v", "{name: id, type: bigint}\n          - {name: v",
               {"firsts", "pairs"}),
    "bad records": ("models/sources.yml", "on_bad_record: skip", "on_bad_record: fail", {"firsts"}),
    "the time between rows": ("models/pairs.sql", "interval 1 minute", "interval 2 minutes", {"pairs"}),
    "the columns of a join": ("models/pairs.sql", "o.user = e.user", "o.user = upper(e.user)", {"pairs"}),
    "a filter before a join": ("models/pairs.sql", "e.id > 0", "e.id > 1", {"pairs"}),
    "a table that is looked up": ("models/ages.sql", "max(age)", "min(age)", {"pairs"}),
    "a condition on a table": ("models/known.sql", "a.age > 10", "a.age > 11", {"pairs"}),
    "a filter of a topic": ("models/sent.sql", "value > 5", "value > 6", {"counted"}),
    "a test that drops rows": ("models/sent.yml", "id < 9", "id < 8", {"counted"}),
    "a length of windows": ("models/counted.sql", "1 hour", "2 hours", {"counted"}),
}  # fmt: skip


def topology(root, writer, edit=None):
    files = FILES | READ[writer] | {f"models/{writer}.sql": WRITERS[writer]}
    files |= {f"models/{name}_{writer}.sql": sql.replace("WRITER", writer) for name, sql in READERS.items()}
    if edit is not None:
        path, old, new, _ = edit
        assert old in files[path]
        files[path] = files[path].replace(old, new)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(cleandoc(text) + "\n")
    compiled = compile_project(root, use_cache=False)
    assert [d.message for d in compiled.diagnostics if d.severity == "error"] == []
    return compiled_topology(compiled)


@pytest.mark.parametrize(
    "writer", ["sessions", *(pytest.param(w, marks=pytest.mark.long) for w in WRITERS if w != "sessions")]
)
def test_an_edit_below_a_state_concerns_each_query_that_has_it(tmp_path, writer):
    before = in_one_query(topology(tmp_path, writer))
    assert readers_of(writer, before) >= {writer, f"table_{writer}"}
    for edit in EDITS.values():
        if writer in edit[3]:
            now = in_one_query(topology(tmp_path, writer, edit))
            verdict, less = less_strict(writer, before, now)
            assert (edit, verdict in {"mixed", "rebuild"}, less) == (edit, True, {})
