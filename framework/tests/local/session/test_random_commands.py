"""Random commands over an edited project, in a warm session and without one: the same output, rows and files.

`MILLSTREAM_SESSION_COMMANDS=500 uv run pytest -m long framework/tests/local/session/test_random_commands.py`
"""

import json
import os
import re
import shutil
from datetime import date
from random import Random

import pytest
from support.warm_sessions import sessions_of

COMMANDS = int(os.environ.get("MILLSTREAM_SESSION_COMMANDS", "12"))
SEED = int(os.environ.get("MILLSTREAM_FRESH", date(2026, 12, 1).strftime("%Y%m%d")))
FILES = {
    "pyproject.toml": '[project]\nname = "web"\n[tool.millstream]\nname = "web"\n',
    "profiles.yml": "web: {target: local, outputs: {local: {}}}\n",
    "macros/functions.py": "def scored(value: int) -> int:\n    return sum(range(value % 10)) + 1\n",
    "seeds/traffic.py": "def events(random, now):\n    for number in range(200):\n"
    "        yield f'u{number % 7}', {'id': number, 'value': number * 37 % 101}\n",
    "models/sources.yml": """
sources:
  - name: web
    topics:
      - name: events
        key: {name: user, type: string}
        columns: [{name: id, type: bigint}, {name: value, type: int}]
""",
    "models/valid.sql": "select user, id, scored(value) as value from {{ source('web', 'events') }} where value > 3\n",
    "models/passed.sql": "{{ config(materialized='sink', key='id') }}\nselect id, value from {{ ref('valid') }}\n",
    "models/totals.sql": "{{ config(materialized='table', unique_key='user', unbounded_state='accept') }}\n"
    "select user, sum(value) as total, count(*) as n from {{ ref('valid') }} group by user\n",
    "tests/unit.yml": """
unit_tests:
  - name: a_total
    model: +totals
    given: [{input: "source('web', 'events')", rows: [{user: a, id: 1, value: 12}, {user: a, id: 2, value: 3}]}]
    expect: [{user: a, total: 2, n: 1}]
""",
}
EDITS = {
    "models/valid.sql": lambda text, number: re.sub(r"> \d+", f"> {number % 20}", text),
    "macros/functions.py": lambda text, number: re.sub(r"% \d+", f"% {number % 9 + 2}", text),
    "models/passed.sql": lambda text, number: re.sub(
        r"id, value\b.*? from", f"id, value, {number % 5} as extra from", text
    ),
    "tests/unit.yml": lambda text, number: re.sub(r"total: \d+", f"total: {number % 4}", text),
    "models/totals.sql": lambda text, number: (
        text.replace("sum(value)", "max(value)") if number % 2 else FILES["models/totals.sql"]
    ),
    "models/broken.sql": lambda text, _: "select nothing from {{ ref('valid') }}" if not text else "",
}
CALLS = (
    ("build",),
    ("build", "--full-refresh", "--no-tests"),
    ("build", "--output", "json"),
    ("test", "--unit"),
    ("test", "--data"),
    ("show", "valid", "--compute"),
    ("show", "passed", "--limit", "3"),
    ("query", "select * from totals order by user", "--output", "json"),
    ("plan",),
    ("ls",),
    ("explain", "totals"),
)
VARIABLE = re.compile(
    r"\d+(\.\d+)? ?(s|ms)\b|\d{4}-\d\d-\d\d[T ][\d:.]+\S*|\"\w*(seconds|duration|time|at)\w*\": [^,}]+|process \d+|127\.0\.0\.1:\d+"
    r"|\b[0-9a-f]{8}-[0-9a-f-]{27}\b"
)


@pytest.mark.long
def test_random_commands_do_the_same_with_and_without_a_session(tmp_path):
    random = Random(SEED)
    roots = [tmp_path / name / "shop" for name in ("warm", "cold")]
    for root in roots:
        for name, content in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content)
    with sessions_of(roots[0]) as warm, sessions_of(roots[1]) as cold:
        cold.environment["MILLSTREAM_NO_SESSION"] = "1"
        done = []
        for _ in range(COMMANDS):
            if random.random() < 0.6:
                name, number = random.choice([*EDITS]), random.randrange(1000)
                done.append((name, number))
                for root in roots:
                    _edit(root / name, number, EDITS[name])
            call = random.choice(CALLS)
            done.append(call)
            results = [sessions.run(*call) for sessions in (warm, cold)]
            seen = [_comparable(result, root) for result, root in zip(results, roots, strict=True)]
            assert seen[0] == seen[1], f"seed {SEED}: {done}"
            assert "MS900" not in results[0].stderr, f"seed {SEED}: {done}\n{results[0].stderr}"
        rows = [json.loads(sessions.run(*CALLS[7]).stdout or "{}") for sessions in (warm, cold)]
        assert rows[0] == rows[1]
        assert warm.status()["jvm"]["commands"] > COMMANDS // 6
        for root in roots:
            shutil.rmtree(root / ".millstream/log", ignore_errors=True)
        files = [
            sorted(str(f.relative_to(root)) for f in (root / "target").rglob("*") if "cache" not in f.parts)
            for root in roots
        ]
        assert files[0] == files[1]


def _edit(file, number, change):
    text = change(file.read_text() if file.exists() else "", number)
    if text:
        file.write_text(text)
    else:
        file.unlink()


def _comparable(result, root):
    """What a command says, without times, processes and the project's folder."""
    output = re.sub(r"Spark stays ready.*\n", "", result.stdout + result.stderr).replace(str(root), "ROOT")
    output = re.sub(r"\(start [^)]*\)", "", output)  # phases that take less than a moment are left out
    lines = (" ".join(line.split()) for line in VARIABLE.sub("…", output).splitlines())
    return result.returncode, sorted(line for line in lines if not line.startswith("· "))
