"""Write a project of N models: `python benchmarks/generate.py FOLDER --models 1000 --seed 1`.

60% of the models project and filter, 25% aggregate into tables, 15% join a stream with such a table or with
another stream; a quarter call SQL macros. Every model reads two relations of the layers above it (20 sources of
12 columns on top, ten layers below), and has 10 to 20 columns.
The same seed writes the same files. A column's name tells its type, so that any two relations can be united.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

SOURCES, SOURCE_COLUMNS, DEPTH = 20, 12, 10
TYPES = {"label": "string", "amount": "bigint", "ratio": "double", "at": "timestamp", "is": "boolean"}
POOL = {"label": 8, "amount": 8, "ratio": 6, "at": 3, "is": 3}
KEY = "user_id"
NAMES = [f"{prefix}_{number}" for prefix, count in POOL.items() for number in range(1, count + 1)]
MACROS = {
    "cents_to_euros": (
        "{% macro cents_to_euros(column) -%}\n"
        "  round(cast({{ column }} as double) / 100, 2)\n"
        "{%- endmacro %}\n"
    ),
    "null_if_blank": "{% macro null_if_blank(column) %}nullif(trim({{ column }}), ''){% endmacro %}\n",
    "bucket": (
        "{% macro bucket(column, size=10) -%}\n"
        "  floor({{ column }} / {{ size }}) * {{ size }}\n"
        "{%- endmacro %}\n"
    ),
}


class Relation(NamedTuple):
    name: str
    call: str
    columns: tuple[str, ...]
    table: bool = False


class Model(NamedTuple):
    relation: Relation
    layer: int
    sql: str


def kind_of(column: str) -> str:
    return "label" if column == KEY else column.partition("_")[0]


def expression(random: Random, output: str, columns: list[str], macro: bool) -> str:
    """Return SQL of the type that the name `output` tells, from columns that are there."""

    def one(kind: str, otherwise: str) -> str:
        matching = [column for column in columns if kind_of(column.rpartition(".")[2]) == kind]
        return random.choice(matching) if matching else otherwise

    label = one("label", f"'{output}'")
    amount, second = one("amount", f"length({label})"), one("amount", "cast(7 as bigint)")
    match kind_of(output):
        case "label":
            choices = [
                f"upper({label})",
                f"coalesce({label}, 'none')",
                f"concat({label}, '-', {one('label', label)})",
                f"case when {amount} > {random.randrange(100)} then {label} else 'other' end",
            ]
            called = f"{{{{ null_if_blank('{label}') }}}}"
        case "amount":
            choices = [
                f"cast({amount} + {second} as bigint)",
                f"cast(coalesce({amount}, 0) as bigint)",
                f"cast(case when {label} = 'click' then {amount} else 0 end as bigint)",
                f"cast(abs({amount} - {second}) as bigint)",
            ]
            called = f"cast({{{{ bucket('{amount}', {random.randrange(2, 50)}) }}}} as bigint)"
        case "ratio":
            ratio = one("ratio", "cast(1 as double)")
            choices = [f"round({ratio} * 2, 2)", f"coalesce({ratio}, 0D)", f"{amount} / nullif({second}, 0)"]
            called = f"{{{{ cents_to_euros('{amount}') }}}}"
        case "at":
            time = one("at", "timestamp '2024-01-01 00:00:00'")
            choices = [f"date_trunc('hour', {time})", f"coalesce({time}, timestamp '2024-01-01 00:00:00')"]
            called = f"timestamp_seconds({{{{ bucket('{amount}', 3600) }}}})"
        case _:
            choices = [f"{amount} > {second}", f"{label} in ('view', 'click')", f"{label} is not null"]
            called = f"{{{{ null_if_blank('{label}') }}}} is not null"
    return called if macro else random.choice(choices)


def outputs(random: Random, skip: tuple[str, ...]) -> list[str]:
    return random.sample([name for name in NAMES if name not in skip], random.randint(10, 20) - len(skip))


def union_of(left: Relation, right: Relation) -> tuple[str, list[str]]:
    shared = [column for column in left.columns if column in right.columns]
    column_list = ",\n    ".join(shared)
    parts = [f"  select\n    {column_list}\n  from {relation.call}\n" for relation in (left, right)]
    return "with events as (\n" + "  union all\n".join(parts) + ")\n", shared


def projection(random: Random, left: Relation, right: Relation, macros: int) -> tuple[str, list[str]]:
    head, shared = union_of(left, right)
    lines = [KEY]
    names = outputs(random, (KEY,))
    for number, output in enumerate(names):
        plain = number >= macros and output in shared and random.random() < 0.6
        lines.append(
            output if plain else f"{expression(random, output, shared, number < macros)} as {output}"
        )
    where = expression(random, "is_1", shared, macro=False)
    return f"{head}select\n  " + ",\n  ".join(lines) + f"\nfrom events\nwhere {where}\n", [KEY, *names]


def aggregate(random: Random, left: Relation, right: Relation, macros: int) -> tuple[str, list[str]]:
    head, shared = union_of(left, right)
    labels = [column for column in shared if kind_of(column) == "label" and column != KEY]
    groups = [KEY, *random.sample(labels, min(len(labels), random.randint(0, 1)))]
    lines, names = list(groups), outputs(random, tuple(groups))
    for number, output in enumerate(names):
        inner = expression(random, output, shared, number < macros)
        match kind_of(output):
            case "amount":
                function = random.choice(["sum", "min", "max"])
                value = f"{function}({inner})" if random.random() < 0.8 or number < macros else "count(*)"
            case "ratio":
                value = f"{random.choice(['sum', 'avg', 'min', 'max'])}({inner})"
            case _:
                value = f"{random.choice(['min', 'max'])}({inner})"
        lines.append(f"{value} as {output}")
    key = ", ".join(f"'{group}'" for group in groups)
    config = f"{{{{ config(materialized='table', unique_key=[{key}]) }}}}\n\n"
    sql = f"{head}select\n  " + ",\n  ".join(lines) + "\nfrom events\ngroup by " + ", ".join(groups) + "\n"
    return config + sql, [*groups, *names]


def join(random: Random, left: Relation, right: Relation, macros: int) -> tuple[str, list[str]]:
    columns = [f"l.{column}" for column in left.columns] + [f"r.{column}" for column in right.columns]
    lines, names = [f"l.{KEY}"], outputs(random, (KEY,))
    for number, output in enumerate(names):
        side = next((s for s in random.sample(["l", "r"], 2) if f"{s}.{output}" in columns), None)
        plain = number >= macros and side and random.random() < 0.6
        value = f"{side}.{output}" if plain else expression(random, output, columns, number < macros)
        lines.append(f"{value} as {output}")
    how = random.choice(["inner", "left"]) if right.table else "inner"
    sql = "select\n  " + ",\n  ".join(lines)
    return f"{sql}\nfrom {left.call} as l\n{how} join {right.call} as r on l.{KEY} = r.{KEY}\n", [
        KEY,
        *names,
    ]


def make_sources(random: Random) -> list[Relation]:
    sources = []
    for number in range(SOURCES):
        columns = (KEY, "at_1", *random.sample([n for n in NAMES if n != "at_1"], SOURCE_COLUMNS - 2))
        name = f"topic_{number:02d}"
        sources.append(Relation(name, f"{{{{ source('app', '{name}') }}}}", columns))
    return sources


def kinds_of(random: Random, models: int) -> list[str]:
    """Return the kinds of the models in exact shares, and of each whether it calls macros."""
    kinds = ["projection"] * models
    kinds[: round(models * 0.25)] = ["aggregate"] * round(models * 0.25)
    kinds[len(kinds) - round(models * 0.15) :] = ["join"] * round(models * 0.15)
    random.shuffle(kinds)
    return kinds


def make_models(random: Random, sources: list[Relation], models: int) -> list[Model]:
    kinds = kinds_of(random, models)
    calling = set(random.sample(range(models), round(models * 0.25)))
    makers = {"projection": projection, "aggregate": aggregate, "join": join}
    depth = min(DEPTH, models)
    layers: list[list[Relation]] = [sources]
    generated: list[Model] = []
    for number, kind in enumerate(kinds):
        layer = number * depth // models + 1
        if layer == len(layers):
            layers.append([])
        # One parent directly above makes the graph as deep as it has layers; only streams are united.
        first = random.choice([r for r in layers[layer - 1] if not r.table] or sources)
        above = [r for r in layers[random.randrange(layer)] if r != first]
        others = [r for r in above if r.table == (kind == "join")] or [r for r in above if not r.table]
        second = random.choice(others or [source for source in sources if source != first])
        sql, columns = makers[kind](random, first, second, random.randint(1, 4) if number in calling else 0)
        name = f"{kind}_{number:05d}"
        if layer == depth and kind != "aggregate":
            sql = f"{{{{ config(materialized='sink', topic='{name}', key='{KEY}') }}}}\n\n{sql}"
        relation = Relation(name, f"{{{{ ref('{name}') }}}}", tuple(columns), table=kind == "aggregate")
        layers[layer].append(relation)
        generated.append(Model(relation, layer, sql))
    return generated


def columns_yaml(columns: tuple[str, ...], indent: str, typed: bool, tests: dict[str, str]) -> str:
    lines = []
    for column in columns:
        kind = f", type: {TYPES[kind_of(column)]}" if typed else ""
        test = f", tests: [{tests[column]}]" if column in tests else ""
        lines.append(
            f"{indent}- {{name: {column}{kind}, description: The {column.replace('_', ' ')}{test}}}\n"
        )
    return "".join(lines)


def sources_yaml(sources: list[Relation]) -> str:
    text = "sources:\n  - name: app\n    topics:\n"
    for source in sources:
        text += (
            f"      - name: {source.name}\n        description: Events of {source.name}\n        columns:\n"
        )
        text += columns_yaml(source.columns, " " * 10, typed=True, tests={KEY: "not_null"})
        text += "        watermark: {column: at_1, delay: 10 seconds}\n"
    return text


def warned(text: str) -> str:
    """Let data tests warn, which random labels fail."""
    values = "{accepted_values: {values: [view, click, other, none]}}"
    text = text.replace(values, values.replace("]}}", "], severity: warn}}"))
    return text.replace("tests: [not_null", "tests: [{not_null: {severity: warn}}")


def models_yaml(random: Random, models: list[Model]) -> str:
    text = "models:\n"
    for model in models:
        tests = {KEY: "not_null"} if random.random() < 1 / 3 else {}
        label = next((c for c in model.relation.columns if kind_of(c) == "label" and c != KEY), None)
        if tests and label:
            tests[label] = "not_null, {accepted_values: {values: [view, click, other, none]}}"
        name = model.relation.name
        text += f"  - name: {name}\n    description: Model {name} of layer {model.layer}\n"
        text += "    columns:\n" + columns_yaml(model.relation.columns, " " * 6, typed=False, tests=tests)
    return text


def generate(folder: Path | str, models: int, seed: int = 1, *, warn: bool = False) -> None:
    """Write the project; what an earlier call wrote is replaced, `target/` is left as it is.

    Random records (`record`) fail data tests: let these `warn`, so that queries go on.
    """
    random, root = Random(seed), Path(folder)
    for old in ("models", "macros"):
        shutil.rmtree(root / old, ignore_errors=True)
    sources = make_sources(random)
    generated = make_models(random, sources, models)
    files = {
        "pyproject.toml": '[tool.millstream]\nname = "generated"\n[tool.millstream.models]\nunbounded_state = "accept"\n',
        "models/sources.yml": sources_yaml(sources),
    }
    files |= {f"macros/{name}.sql": text for name, text in MACROS.items()}
    for layer in range(1, DEPTH + 1):
        within = [model for model in generated if model.layer == layer]
        if within:
            files[f"models/layer_{layer:02d}/layer_{layer:02d}.yml"] = models_yaml(random, within)
        files |= {f"models/layer_{layer:02d}/{model.relation.name}.sql": model.sql for model in within}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shown = warned(text) if warn and path.endswith(".yml") else text
        (root / path).write_text(shown, encoding="utf-8")


def record(random: Random, columns: Iterable[str], users: int) -> dict[str, object]:
    """Return a record with some NULLs; few users, so that joins find rows."""
    return {column: value(random, column, users) for column in columns}


def value(random: Random, column: str, users: int) -> object:
    if column == KEY:
        return f"u{random.randrange(users)}"
    if column != "at_1" and random.random() < 0.15:
        return None
    match kind_of(column):
        case "label":
            return random.choice(["view", "click", "other", " ", "x"])
        case "amount":
            return random.randrange(200)
        case "ratio":
            return random.randrange(400) / 4
        case "at":
            return f"2026-01-01T{random.randrange(24):02}:{random.randrange(60):02}:00Z"
        case _:
            return random.random() < 0.5


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generate(arguments.folder, arguments.models, arguments.seed)
