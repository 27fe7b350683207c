"""Remedies for YAML, settings, seeds, macros and functions: files of a project, and the same files as the remedy asks for."""

from __future__ import annotations

from typing import NamedTuple

EVENTS = "{{ source('shop', 'events') }}"
MODEL = f"select user_id, type from {EVENTS}\n"


class ProjectCase(NamedTuple):
    code: str
    remedy: str
    """A part of the remedy that says what the edit does."""
    path: str
    wrong: str
    right: str
    others: dict[str, str] = {}


def yaml(text: str) -> str:
    return f"models: [{{name: m, {text}}}]\n"


def model(options: str) -> str:
    return f"{{{{ config({options}) }}}} {MODEL}"


PROJECT_CASES = [
    ProjectCase("MS105", "add the missing '}'", "models/m.yml", "models: [{name: m\n", "models: [{name: m}]\n"),
    ProjectCase("MS106", "did you mean 'columns'?", "models/m.yml", yaml("colums: [{name: type}]"), yaml("columns: [{name: type}]")),
    ProjectCase("MS107", "write columns: [ … ]", "models/m.yml", yaml("columns: type"), yaml("columns: [{name: type}]")),
    ProjectCase("MS108", "add `name: …`", "models/m.yml", "models: [{description: x}]\n", yaml("description: x")),
    ProjectCase("MS109", "keep one of them", "models/m.yml", "models: [{name: m}, {name: m}]\n", "models: [{name: m}]\n"),
    ProjectCase("MS111", "keep one of them", "models/m.yml", "models: [{name: m, name: m}]\n", "models: [{name: m}]\n"),
    ProjectCase("MS116", "write a SELECT", "models/m.sql", "", MODEL),
    ProjectCase("MS117", "did you mean 'm'?", "models/m.yml", "models: [{name: mm}]\n", "models: [{name: m}]\n"),
    ProjectCase("MS118", "add the missing fields", "seeds/more.csv", "a,b\n1,2\n3\n", "a,b\n1,2\n3,4\n"),
    ProjectCase("MS120", "did you mean 'materialized'?", "models/m.sql", model("materialised='view'"), model("materialized='view'")),
    ProjectCase("MS121", "set materialized='sink'", "models/m.sql", model("materialized='view', partitions=2"), model("materialized='sink', partitions=2")),
    ProjectCase("MS201", "add {% endif %}", "models/m.sql", "{% if true %}" + MODEL, "{% if true %}" + MODEL + "{% endif %}"),
    ProjectCase("MS202", "did you mean 'source'?", "models/m.sql", MODEL.replace("source", "sourc"), MODEL),
    ProjectCase("MS203", "did you mean 'products'?", "models/m.sql", "select * from {{ ref('product') }}\n", "select * from {{ ref('products') }}\n"),
    ProjectCase("MS204", "did you mean 'events'?", "models/m.sql", MODEL.replace("'events'", "'event'"), MODEL),
    ProjectCase("MS205", "or give a default", "models/m.sql", MODEL + "where amount > {{ var('least') }}", MODEL + "where amount > {{ var('least', 1) }}"),
    ProjectCase("MS211", "enable it", "models/other.sql", model("enabled=false"), MODEL, {"models/m.sql": "select * from {{ ref('other') }}\n"}),
    ProjectCase("MS310", "fix the Python syntax here", "macros/more.py", "def f(x: int) -> int:\nreturn x\n", "def f(x: int) -> int:\n    return x\n"),
    ProjectCase("MS301", "add a hint", "macros/more.py", "def f(x) -> int:\n    return x\n", "def f(x: int) -> int:\n    return x\n"),
]  # fmt: skip
