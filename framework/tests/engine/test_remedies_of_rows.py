"""Records and rows that stop a query: with each edit that the error names, the same query continues."""

import pytest
from support.runs import built, create_topics, errors, send, statuses
from support.shops import PROFILES, event
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
SINK = "{{{{ config(materialized='sink'{}) }}}}\n"
FUNCTION = """
def lengths(kind: str) -> int:
    if kind == "bad":
        raise ValueError("no length")
    return len(kind)
"""
OTHERS = """
      - name: others
        {}columns: [{{name: id, type: int}}]
"""
TEST = """
models:
  - name: checked
    columns: [{{name: id, tests: [{{expression: {{name: low, expression: "id < 3", severity: {}}}}}]}}]
"""
LENGTHS = f"select id, lengths(kind) as n from {EVENTS}"
DIVIDED = f"select id, 6 / (id - 3) as n from {EVENTS}"
CHECKED = f"{SINK.format('')}select id from {EVENTS}"
READ = SINK.format("") + "select id from {{ source('web', 'others') }}"
CASES = {
    "a function, fixed": (
        ("MS861", "fix the function"),
        {"models/m.sql": SINK.format("") + LENGTHS, "macros/f.py": FUNCTION},
        {"macros/f.py": FUNCTION.replace('raise ValueError("no length")', "return 0")},
    ),
    "a function, skipped": (
        ("MS861", "or set on_bad_record: skip or dead_letter for its model"),
        {"models/m.sql": SINK.format("") + LENGTHS, "macros/f.py": FUNCTION},
        {"models/m.sql": SINK.format(", on_bad_record='skip'") + LENGTHS},
    ),
    "an expression, without an error": (
        ("MS868", "use a function that returns NULL instead, such as try_cast or try_divide"),
        {"models/m.sql": SINK.format("") + DIVIDED},
        {"models/m.sql": SINK.format("") + DIVIDED.replace("6 / (id - 3)", "try_divide(6, id - 3)")},
    ),
    "an expression, filtered": (
        ("MS868", "or filter out such rows"),
        {"models/m.sql": SINK.format("") + DIVIDED},
        {"models/m.sql": SINK.format("") + DIVIDED + " where id <> 3"},
    ),
    "a data test": (
        ("MS863", "set its severity to drop or dead_letter"),
        {"models/checked.sql": CHECKED, "models/checked.yml": TEST.format("error")},
        {"models/checked.yml": TEST.format("drop")},
    ),
    "a record": (
        ("MS862", "or set on_bad_record: skip or dead_letter for the source"),
        {"models/m.sql": READ, "others": OTHERS.format("")},
        {"others": OTHERS.format("on_bad_record: skip\n        ")},
    ),
}
FEW = ("a function, skipped", "a record")
"""Those of each run of the tests."""


@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.long) for name in CASES]
)
def test_a_query_that_a_row_stopped_continues_with_the_edit(shop, first_spark, name):
    (code, remedy), files, edits = CASES[name]
    shop.write("profiles.yml", PROFILES.replace("kafka: embedded", "kafka: embedded, grouping: off"))
    create_topics(shop.bootstrap, "others", partitions=1)
    write(shop, files)
    shop.send(event(1), event(2), event(3, kind="bad"))
    send(shop.bootstrap, {"others": [("a", {"id": 1}), ("a", '{"id": "one"}')]})
    results, events = built(shop.root, first_spark)
    (diagnostic,) = errors(events)
    assert (diagnostic.code, remedy in diagnostic.help) == (code, True), diagnostic
    write(shop, edits)
    results, events = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"success"}, errors(events)


def write(shop, files):
    for path, text in files.items():
        if path == "others":
            shop.more(text)
        else:
            shop.write(path, text)
