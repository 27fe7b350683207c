"""What each rule finds, and what it must not find."""

import pytest
from lint_findings import EVENTS, findings_of
from support.sql_plans import project

TABLE = "{{ config(materialized='table', unique_key=['user_id', 'type']) }} "
TOTALS = f"{TABLE}select user_id, type, count(*) as n from {EVENTS} group by user_id, type"
SINK = "{{ config(materialized='sink', key='user_id') }} "
JOIN = SINK + "select e.user_id, t.n from " + EVENTS + " as e join {{ ref('totals') }} as t on "
CASES = {
    "an unread view": ({"m": f"select user_id from {EVENTS}"}, [("unused-model", "m.sql:1:1")]),
    "a sink": ({"m": f"{SINK}select user_id from {EVENTS}"}, []),
    "an unread column": (
        {
            "v": f"select user_id, type,\n  upper(type) as word, at from {EVENTS}",
            "m": SINK + "select user_id, type from {{ ref('v') }}",
        },
        [("unused-column", "v.sql:2:3")],
    ),
    "a column that only a condition reads": (
        {
            "v": f"select user_id, type from {EVENTS}",
            "m": SINK + "select user_id from {{ ref('v') }} where type = 'a'",
        },
        [],
    ),
    "a column that a CTE names": (
        {
            "v": f"select user_id, type from {EVENTS}",
            "m": SINK + "with c as (select user_id, type from {{ ref('v') }}) select user_id from c",
        },
        [],
    ),
    "a star": (
        {"v": f"select user_id, type from {EVENTS}", "m": SINK + "select * from {{ ref('v') }}"},
        [],
    ),
    "a part of a key": (
        {"totals": TOTALS, "m": JOIN + "t.user_id = e.user_id"},
        [("multiplying-join", "m.sql:1:")],
    ),
    "a whole key": ({"totals": TOTALS, "m": JOIN + "t.user_id = e.user_id and e.type = t.type"}, []),
    "a constant for a part of the key": (
        {"totals": TOTALS, "m": JOIN + "t.user_id = e.user_id and t.type = 'view'"},
        [],
    ),
    "a choice for a part of the key": (
        {"totals": TOTALS, "m": JOIN + "t.user_id = e.user_id and (t.type = e.type or t.type = 'x')"},
        [("multiplying-join", "m.sql:1:")],
    ),
    "a cut time": (
        {"m": f"{SINK}select user_id,\n cast(at as date) as day from {EVENTS}"},
        [("lossy-cast", "m.sql:2:")],
    ),
    "a rounded number": (
        {"m": f"{SINK}select user_id,\n value::int as whole from {EVENTS}"},
        [("lossy-cast", "m.sql:2:")],
    ),
    "casts of what is rounded": (
        {
            "m": f"{SINK}select user_id, cast(round(value) as int) as a, cast(date_trunc('day', at) as date) as b,"
            f" cast(amount / 100.0 as decimal(12, 2)) as c from {EVENTS}"
        },
        [],
    ),
    "casts that lose nothing or fail": (
        {"m": f"{SINK}select user_id, cast(amount as string) as a, cast(amount as int) as b from {EVENTS}"},
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_findings(tmp_path, name):
    models, expected = CASES[name]
    findings = findings_of(project(tmp_path, models))
    assert [
        (code, position[: len(where)])
        for (code, position), (_, where) in zip(findings, expected, strict=True)
    ] == expected


def test_few_groups(tmp_path):
    model = "{{ config(materialized='table', unique_key='paid') }} select amount > 0 as paid, count(*) as n from %s group by amount > 0"
    root = project(tmp_path, {"m": model % EVENTS})
    profile = (
        "shop:\n  target: local\n  outputs:\n    local:\n      spark: {spark.sql.shuffle.partitions: %d}\n"
    )
    (root / "profiles.yml").write_text(profile % 8)
    assert [code for code, _ in findings_of(root)] == ["few-group-values"]
    (root / "profiles.yml").write_text(profile % 2)
    assert findings_of(root) == []


def test_a_function_that_runs_in_python(tmp_path):
    root = project(
        tmp_path, {"m": f"{SINK}select user_id, slow(type) as s, quick(amount) as q from {EVENTS}"}
    )
    (root / "macros").mkdir(exist_ok=True)
    (root / "macros/more.py").write_text(
        "import zlib\n\n\ndef slow(text: str) -> int:\n    return zlib.crc32(text.encode())\n\n\n"
        "def quick(number: int) -> int:\n    return number + 1\n"
    )
    assert findings_of(root) == [("python-function", "macros/more.py:5:5")]
