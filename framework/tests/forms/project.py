"""All forms as models of one project."""

from __future__ import annotations

import re
from inspect import cleandoc
from pathlib import Path

from expressions import EXPRESSIONS
from statements import CLOSING, JOINED, REFUSED, STATEFUL, STATELESS, E, H, P, T

_SOURCES = """
sources:
  - name: shop
    topics:
      - name: forms
        columns:
          - {name: id, type: bigint}
          - {name: k, type: string}
          - {name: x, type: int}
          - {name: d, type: double}
          - {name: dec, type: "decimal(10, 2)"}
          - {name: ok, type: boolean}
          - {name: ts, type: timestamp}
          - {name: ntz, type: timestamp_ntz}
          - {name: day, type: date}
          - {name: tags, type: "array<string>"}
          - {name: nums, type: "array<int>"}
          - {name: m, type: "map<string, int>"}
          - {name: s, type: "struct<a: int, b: string, c: struct<d: int>>"}
          - {name: items, type: "array<struct<sku: string, n: int>>"}
          - {name: js, type: string}
          - {name: bin, type: binary}
          - {name: v, type: variant}
          - {name: product_id, type: string}
        watermark: {column: ts, delay: 1 minute}
      - name: hits
        columns:
          - {name: user_id, type: string}
          - {name: path, type: string}
          - {name: amount, type: bigint}
          - {name: seen, type: timestamp}
        watermark: {column: seen, delay: 1 minute}
"""
_FUNCTIONS = '''
def score(k: str | None, d: float | None) -> float:
    """Return what a row is worth."""
    return (d or 0.0) * (2 if k == "k1" else 1)
'''
_RELATIONS = {"E": E, "H": H, "P": P, "T": T}


def _forms(number: int, minute: int) -> dict[str, object]:
    return {
        "id": number, "k": f"k{number % 3}", "x": number, "d": number + 0.5, "dec": 1.25, "ok": number % 2 == 0,
        "ts": f"2026-01-01T00:{minute:02}:00Z", "ntz": f"2026-01-01T00:{minute:02}:00", "day": "2026-01-01",
        "tags": ["a", "b"], "nums": [1, 2, 3], "m": {"a": 1}, "s": {"a": 1, "b": "b", "c": {"d": 2}},
        "items": [{"sku": "s1", "n": 1}, {"sku": "s2", "n": 2}], "js": '{"a": 1, "b": [2, 3]}', "bin": "HxA=",
        "v": {"a": 1, "b": [2]}, "product_id": "p1",
    }  # fmt: skip


TOPICS = {
    "forms": [[_forms(n, n) for n in range(3)], [_forms(n, 20 + n) for n in range(2, 5)], [_forms(9, 50)]],
    "hits": [
        [
            {"user_id": f"k{n}", "path": "p1", "amount": n, "seen": f"2026-01-01T00:0{n}:30Z"}
            for n in range(3)
        ],
        [{"user_id": "k1", "path": "p2", "amount": 5, "seen": "2026-01-01T00:21:00Z"}],
        [{"user_id": "k0", "path": "p1", "amount": 9, "seen": "2026-01-01T00:50:00Z"}],
    ],
}
TABLES = {"totals": [{"k": "k1", "n": 7}]}


def sql_of(query: str) -> str:
    return re.sub(
        r"\b(?:(?<=from )|(?<=join )|(?<=FROM )|(?<=, )|(?<=table )|(?<=stream ))([EHPT])\b",
        lambda f: _RELATIONS[f[1]],
        query,
    )


def models() -> dict[str, str]:
    """Return the models of all forms that have to run."""
    sink = "{{ config(materialized='sink') }} "
    forms = {
        "totals": "{{ config(materialized='table', unique_key='k') }} "
        + sql_of("select k, count(*) as n from E group by k")
    }
    for kind, expressions in EXPRESSIONS.items():
        for number, expression in enumerate(cleandoc(expressions).splitlines()):
            text = expression.replace("{seed}", P)
            forms[f"{kind}_{number}"] = sink + sql_of(f"select id, {text} as result from E as e")
    for number, query in enumerate(STATELESS):
        forms[f"query_{number}"] = sink + sql_of(query)
    for number, (key, query) in enumerate(STATEFUL):
        keys = ", ".join(f"'{column.strip('`')}'" for column in key.split(","))
        forms[f"state_{number}"] = f"{{{{ config(materialized='table', unique_key=[{keys}]) }}}} " + sql_of(
            query
        )
    for number, query in enumerate(CLOSING):
        forms[f"closing_{number}"] = "{{ config(materialized='sink', emit='on_close') }} " + sql_of(query)
    for number, query in enumerate(JOINED):
        forms[f"joined_{number}"] = sink + sql_of(query)
    return forms


def refused() -> dict[str, str]:
    return {f"refused_{number}": sql_of(query) for number, (_, query) in enumerate(REFUSED)}


def written(folder: Path, files: dict[str, str]) -> Path:
    """Write a project with these models."""
    paths = {
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n[tool.millstream]\nname = "shop"\n',
        "models/sources.yml": _SOURCES,
        "macros/functions.py": _FUNCTIONS,
        "seeds/products.csv": "product_id,category\nk1,books\np1,games\n",
    } | {f"models/{name}.sql": text for name, text in files.items()}
    for path, text in paths.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder
