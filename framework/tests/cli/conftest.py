"""A small project in a folder, and the command line inside this process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from millstream.cli.group import millstream

FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "shop"\n[tool.millstream.models]\nunbounded_state = "accept"\n',
    "models/sources.yml": """\
sources:
  - name: web
    topics:
      - name: clicks
        columns:
          - {name: user_id, type: string}
          - {name: amount, type: bigint}
          - {name: kind, type: string}
""",
    "models/staging/stg_clicks.sql": (
        "select c.user_id, c.amount, upper(c.kind) as kind\n"
        "from {{ source('web', 'clicks') }} as c\nwhere c.kind <> 'bot'\n"
    ),
    "models/totals.sql": (
        "{{ config(materialized='table', unique_key='user_id', tags=['money']) }}\n"
        "select user_id, sum(amount) as total from {{ ref('stg_clicks') }} group by user_id\n"
    ),
    "models/totals.yml": (
        "models:\n  - name: totals\n    columns:\n      - {name: user_id, tests: [not_null]}\n"
    ),
}


class CommandResult(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., CommandResult]


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project's folder, which is also the current one."""
    root = write(tmp_path / "shop", FILES)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("NO_COLOR", "MILLSTREAM_VARS", "MILLSTREAM_PROFILES_DIR", "MILLSTREAM_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str, input: str | None = None) -> CommandResult:
        result = CliRunner().invoke(millstream, list(arguments), prog_name="millstream", input=input)
        return CommandResult(result.exit_code, result.stdout, result.stderr)

    return call
