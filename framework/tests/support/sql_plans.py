"""Plans from SQL as users write it: a few models over the topics `events`, `hits` and the seed `products`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from millstream.compile import compile_project
from millstream.plan.nodes import Node, Plan
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.driver import OptimizedPlan, optimize_plan
from millstream.plan.optimizer.rule_selection import select_rules
from millstream.queries.topology import read_catalog, written_plan

_SOURCES = """
sources:
  - name: shop
    topics:
      - name: events
        key: {name: user_id, type: string}
        columns:
          - {name: type, type: string}
          - {name: product_id, type: string}
          - {name: value, type: double}
          - {name: amount, type: bigint}
          - {name: tags, type: "array<string>"}
          - {name: at, type: timestamp}
        watermark: {column: at, delay: 10 seconds}
      - name: hits
        key: {name: visitor, type: string}
        columns: [{name: path, type: string}, {name: seen, type: timestamp}]
        watermark: {column: seen, delay: 10 seconds}
      - name: users
        table: true
        key: {name: user_id, type: string}
        columns: [{name: segment, type: string}]
"""
_FUNCTIONS = '''
def score(type: str | None, value: float | None) -> float:
    """Return what an event is worth."""
    return (value or 0.0) * (2 if type == "purchase" else 1)
'''


def project(folder: Path, models: dict[str, str]) -> Path:
    """Write a project; a model that is no view says so itself."""
    files = {
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n[tool.millstream]\nname = "shop"\n[tool.millstream.models]\nunbounded_state = "accept"\n',
        "profiles.yml": "shop: {target: local, outputs: {local: {}}}\n",
        "models/sources.yml": _SOURCES,
        "macros/functions.py": _FUNCTIONS,
        "seeds/products.csv": "product_id,category\np1,books\n",
    }
    files |= {f"models/{name}.sql": text for name, text in models.items()}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def plan_of(**models: str) -> Plan:
    """Return the plan as written; `sink:` or `table:` before the SQL says how a model is stored."""
    with tempfile.TemporaryDirectory() as folder:
        compiled = compile_project(project(Path(folder), {n: _configured(t) for n, t in models.items()}))
    assert not compiled.diagnostics, [d.message for d in compiled.diagnostics]
    return written_plan(read_catalog(compiled))


def _configured(text: str) -> str:
    kind, colon, sql = text.strip().partition(": ")
    if not colon or kind.split(" ")[0] not in {"sink", "table"}:
        return text
    word, _, key = kind.partition(" ")
    option = f", {'key' if word == 'sink' else 'unique_key'}='{key}'" if key else ""
    return f"{{{{ config(materialized='{word}'{option}) }}}}\n{sql}"


def optimized(plan: Plan, *rules: str) -> OptimizedPlan:
    """Apply the named rules, or all but those to be asked for."""
    return optimize_plan(plan, select_rules(list(rules) if rules else "all"))


def count(plan: Plan, kind: type[Node]) -> int:
    return sum(isinstance(node, kind) for node in in_order(plan.outputs))


def nodes(plan: Plan, kind: type[Node]) -> Sequence[Node]:
    return [node for node in in_order(plan.outputs) if isinstance(node, kind)]
