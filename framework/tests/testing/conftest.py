from textwrap import dedent

import pytest

from millstream.core.errors import MillstreamError
from millstream.testing.session import TestSession

EVENTS = """
sources:
  - name: web
    topics:
      - name: events
        key: {name: user, type: string}
        columns:
          - {name: id, type: bigint}
          - {name: kind, type: string}
          - {name: value, type: double}
          - {name: ms, type: bigint}
          - {name: at, type: timestamp, from: timestamp_millis(ms)}
        watermark: {column: at, delay: 10 seconds}
        on_bad_record: dead_letter
"""
USERS = """
      - name: users
        table: true
        key: {name: user, type: string}
        columns: [{name: segment, type: string}, {name: level, type: int}]
"""
FILES = {
    "pyproject.toml": '[project]\nname = "web"\n[tool.millstream]\nname = "web"\nvars = {least = 2}\n',
    "profiles.yml": "web: {target: local, outputs: {local: {}}}\n",
    "seeds/kinds.csv": "kind,name\na,one\nb,two\n",
    "macros/functions.py": "def doubled(value: float) -> float:\n    return value * 2\n",
    "models/sources.yml": EVENTS + USERS,
    "models/passed.sql": """
        select e.id, e.user, e.kind, e.value, e.at from {{ source('web', 'events') }} as e
        where e.id > {{ var('least') }}
    """,
    "models/named.sql": """
        {{ config(materialized='sink', key='id') }}
        select p.id, k.name, u.segment, doubled(p.value) as twice, p.at
        from {{ ref('passed') }} as p
        left join {{ ref('kinds') }} as k using (kind)
        left join {{ source('web', 'users') }} as u on u.user = p.user
    """,
    "models/totals.sql": """
        {{ config(materialized='sink', key='user') }}
        select user, sum(value) as total from {{ source('web', 'events') }}
        group by user having sum(value) > 2
    """,
    "models/windows.sql": """
        {{ config(materialized='sink', key=['user', 'start'], emit='on_close') }}
        select user, window.start as start, count(*) as n from {{ source('web', 'events') }}
        group by window(at, '5 minutes'), user
    """,
    "models/newest.sql": """
        {{ config(materialized='table', unique_key='user') }}
        select user, id, current_date() as day from {{ source('web', 'events') }}
    """,
    "models/first_users.sql": """
        select kind, first(user) as user from {{ source('web', 'events') }} group by kind
    """,
}


def write(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(dedent(text).strip() + "\n")
    return root


class Shop:
    """A small project, to which a test adds unit tests."""

    def __init__(self, root):
        self.root = root

    def judged(self, text):
        """Run the unit tests of a YAML text; return the verdict of each."""
        write(self.root, {"tests/unit.yml": "unit_tests:\n" + dedent(text).strip()})
        session = TestSession(self.root)
        try:
            return [session.judge(unit) for unit in session.main.project.unit_tests]
        finally:
            session.close()

    def passes(self, text):
        (verdict,) = self.judged(text)
        assert verdict.diagnostics == ()
        return verdict

    def fails(self, text):
        (verdict,) = self.judged(text)
        (diagnostic,) = verdict.diagnostics
        return diagnostic, verdict

    def wrong(self, text):
        """Return what is wrong with a test, each problem with what its caret stands under."""
        with pytest.raises(MillstreamError) as raised:
            self.judged(text)
        return [
            (diagnostic.code, self.under(diagnostic), diagnostic.help)
            for diagnostic in raised.value.diagnostics
        ]

    def under(self, diagnostic):
        location = diagnostic.location
        return (
            (self.root / location.path)
            .read_text()
            .splitlines()[location.line - 1][location.column - 1 : location.end - 1]
        )


@pytest.fixture
def shop(tmp_path):
    return Shop(write(tmp_path, FILES))
