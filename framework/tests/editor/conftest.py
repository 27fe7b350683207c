"""Editors over copies of the example project and of a small one; each test leaves its editor as it was."""

import shutil
from pathlib import Path

import pytest
from example.generated import ROOT
from support.language_client import Editor

COPIED = ("models", "macros", "seeds", "tests", "pyproject.toml", "profiles.yml")
SHOP = {
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
          - {name: item, type: "struct<sku: string, price: double>"}
""",
    "models/stg_clicks.sql": (
        "select c.user_id, c.amount, upper(c.kind) as kind, c.item\n"
        "from {{ source('web', 'clicks') }} as c\nwhere c.kind <> 'bot'\n"
    ),
    "models/totals.sql": (
        "{{ config(materialized='table', unique_key='user_id') }}\n"
        "with cleaned as (\n  select user_id, cents(amount) as euros, kind from {{ ref('stg_clicks') }}\n)\n"
        "select user_id, sum(euros) as total from cleaned group by user_id\n"
    ),
    "models/everything.sql": "select * from {{ ref('stg_clicks') }}\n",
    "models/shop.yml": """\
models:
  - name: stg_clicks
    description: Clicks of people
    columns:
      - {name: user_id, description: Who clicked, tests: [not_null]}
      - name: amount
  - name: totals
    columns:
      - name: user_id
        tests: [not_null, unique]
unit_tests:
  - name: adds
    model: totals
    given:
      - input: ref('stg_clicks')
        rows:
          - {user_id: a, amount: 100}
          - {user_id: a, amount: 200}
    expect: [{user_id: a, total: 3.0}]
""",
    "macros/money.py": (
        'def cents(amount: int) -> float:\n    """Return euros of cents."""\n    return amount / 100\n'
    ),
    "macros/limits.sql": "{% macro at_least(column, least=1) %}{{ column }} >= {{ least }}{% endmacro %}\n",
}


def write_shop(root: Path) -> Path:
    for path, text in SHOP.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if not (root / path).exists() or (root / path).read_text() != text:
            (root / path).write_text(text)
    return root


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """An editor with the example project."""
    root = tmp_path_factory.mktemp("example")
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / name)
    editor = Editor(root)
    yield editor
    editor.stop()


@pytest.fixture(scope="module")
def shop_editor(tmp_path_factory):
    """An editor with a project of three models."""
    editor = Editor(write_shop(tmp_path_factory.mktemp("shop")))
    yield editor
    editor.stop()


@pytest.fixture
def shop(shop_editor):
    """The same editor; files that a test opens are closed, and the folder is as it was."""
    root = shop_editor.root
    yield shop_editor
    for path in list(shop_editor.texts):
        shop_editor.close(path)
    for path in [path for path in root.rglob("*") if path.is_file() and "target" not in path.parts]:
        if path.relative_to(root).as_posix() not in SHOP:
            path.unlink()
    write_shop(root)
    shop_editor.files_changed("models/totals.sql")
    shop_editor.wait_for({})
