"""Projects as files: Spark SQL within Jinja, and YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from streaming.shapes import (
    SECOND,
    Body,
    Distinct,
    Explode,
    Expr,
    Group,
    Items,
    Join,
    Lookup,
    Model,
    Project,
    Select,
    Source,
    Union,
    Window,
    instant,
)

if TYPE_CHECKING:
    from streaming.row_inputs import RowInputs

TYPES = {"s": "string", "i": "bigint", "t": "timestamp"}
_FUNCTIONS = '''
def doubled(value: int | None) -> int:
    """Return twice a number."""
    return (value or 0) * 2
'''
_OUTPUTS = [("all", "all"), ("none", "off"), ("all", "off"), ("none", "all")]


def write(folder: Path, project: Project, *, fast_paths: str = "on", inputs: RowInputs | None = None) -> Path:
    """Write a project that has a target for each way to optimize and to group.

    Its sources are topics, or what `inputs` keeps.
    """
    more = {"fast_paths": fast_paths} | ({} if inputs is None else inputs.target)
    files = {
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n[tool.millstream]\nname = "shop"\n',
        "profiles.yml": json.dumps(
            {
                "shop": {
                    "target": "all_all",
                    "outputs": {f"{o}_{g}": _target(o, g) | more for o, g in _OUTPUTS},
                }
            }
        ),
        "macros/functions.py": _FUNCTIONS,
        "models/sources.yml": json.dumps({"sources": [{"name": "shop", **_sources(project, inputs)}]}),
    }
    for seed in project.seeds:
        lines = [",".join(seed.columns), *(",".join(map(str, row)) for row in seed.rows)]
        files[f"seeds/{seed.name}.csv"] = "\n".join(lines) + "\n"
    properties = [_tests(model) for model in project.models if model.test]
    if properties:
        files["models/models.yml"] = json.dumps({"models": properties})
    files |= {f"models/{model.name}.sql": sql(project, model) for model in project.models}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def _target(optimization: str, grouping: str) -> dict[str, str]:
    return {"optimization": optimization, "grouping": grouping, "master": "local[2]", "kafka": "embedded"}


def _sources(project: Project, inputs: RowInputs | None) -> dict[str, list[dict[str, object]]]:
    sources: dict[str, list[dict[str, object]]] = {}
    for source in project.sources:
        if inputs is not None and inputs.takes(source):
            declared = inputs.declared(source) | _watermark(source)
            sources.setdefault(inputs.key, []).append(declared)
        else:
            sources.setdefault("topics", []).append(_topic(source, project.bad))
    return sources


def _watermark(source: Source) -> dict[str, object]:
    delay = {"column": source.time, "delay": f"{source.delay} seconds"}
    return {"watermark": delay} if source.time else {}


def _topic(source: Source, bad: str) -> dict[str, object]:
    columns = [{"name": n, "type": TYPES[k]} for n, k in source.columns.items() if n != source.key]
    message: dict[str, object] = {
        "name": source.name,
        "key": {"name": source.key, "type": TYPES[source.columns[source.key]]},
        "columns": columns,
        "on_bad_record": bad,
    }
    if source.table:
        message["table"] = True
    return message | _watermark(source)


def _tests(model: Model) -> dict[str, object]:
    assert model.test
    good, severity = model.test
    return {"name": model.name, "tests": [{"expression": {"expression": spark(good), "severity": severity}}]}


def sql(project: Project, model: Model) -> str:
    options: list[str] = []
    if model.kind != "view":
        options.append(f"materialized='{model.kind}'")
    if model.key:
        keys = repr(model.key[0]) if len(model.key) == 1 else repr(list(model.key))
        options.append(f"{'key' if model.kind == 'sink' else 'unique_key'}={keys}")
    if model.order_by:
        options.append(f"order_by='{model.order_by}'")
    if model.emit:
        options.append(f"emit='{model.emit}'")
    if model.dedupe:
        names, within = model.dedupe
        more = f", 'within': '{within} seconds'" if within is not None else ""
        options.append(f"dedupe={{'keys': {list(names)!r}{more}}}")
    head = f"{{{{ config({', '.join(options)}) }}}}\n" if options else ""
    return head + _body(project, model.body) + "\n"


def _body(project: Project, body: Body) -> str:
    match body:
        case Select():
            return f"select {_items(body.items)}\nfrom {_call(project, body.of)}{_where(body.where)}"
        case Group():
            return _group(project, body)
        case Distinct():
            return (
                f"select distinct {', '.join(body.names)}\nfrom {_call(project, body.of)}{_where(body.where)}"
            )
        case Explode():
            selected = ", ".join([*(f"r.{name}" for name in body.names), f"e.{body.name}"])
            outer = "outer " if body.outer else ""
            view = f"lateral view {outer}explode(split(r.{body.text}, 'a')) e as {body.name}"
            return f"select {selected}\nfrom {_call(project, body.of)} as r\n{view}"
        case Union():
            return "\nunion all\n".join(_body(project, side) for side in body.sides)
        case Lookup():
            selected = [f"l.{name}" for name in body.names] + [
                f"r.{there} as {name}" for name, there in body.added
            ]
            on = f"r.{body.key} = l.{body.on}"
            left, right = _call(project, body.of), _call(project, body.at_rest)
            return f"select {', '.join(selected)}\nfrom {left} as l\n{body.kind} {right} as r on {on}"
        case Join():
            return _join(project, body)


def _group(project: Project, body: Group) -> str:
    items = [f"{spark(e)} as {name}" if e != ("col", name) else name for name, e in body.keys]
    groups = [spark(e) for _, e in body.keys]
    if body.window is not None:
        column = "session_window" if body.window.session else "window"
        column = body.window.time[1] if body.window.time[0] == "window" else column
        parts = ["", ""] if body.is_window_column else [".start", ".end"]
        items += [f"{column}{part} as {name}" for name, part in zip(body.bounds, parts, strict=False)]
        groups.append(_window(body.window))
    items += [f"{measure(function, argument)} as {name}" for name, function, argument in body.measures]
    having = ""
    if body.having is not None:
        _, function, argument = body.measures[0]
        having = f"\nhaving {measure(function, argument)} > {body.having}"
    watermark = ""
    if body.watermark is not None:
        watermark = f" watermark {body.watermark[0]} delay of interval {body.watermark[1]} seconds"
    of = _call(project, body.of)
    return f"select {', '.join(items)}\nfrom {of}{watermark}{_where(body.where)}\ngroup by {', '.join(groups)}{having}"


def measure(function: str, argument: Expr | None) -> str:
    return f"{function}({'*' if argument is None else spark(argument)})"


def _window(window: Window) -> str:
    if window.time[0] == "window":
        return window.time[1]
    time = f"window_time({window.time[1]})" if window.time[0] == "window_time" else spark(window.time)
    if window.session:
        return f"session_window({time}, '{window.size} seconds')"
    slide = f", '{window.slide} seconds'" if window.slide else ""
    return f"window({time}, '{window.size} seconds'{slide})"


def _join(project: Project, body: Join) -> str:
    (one, other), (early, late) = body.on, body.times
    selected = ", ".join(f"{side}.{column} as {name}" for side, column, name in body.names)
    bound = f"r.{late} between l.{early} - interval {body.before} seconds and l.{early} + interval {body.after} seconds"
    left, right = _call(project, body.left), _call(project, body.right)
    return (
        f"select {selected}\nfrom {left} as l\n{body.kind} {right} as r\non l.{one} = r.{other} and {bound}"
    )


def _call(project: Project, name: str) -> str:
    if isinstance(project.by_name[name], Source):
        return f"{{{{ source('shop', '{name}') }}}}"
    return f"{{{{ ref('{name}') }}}}"


def _items(items: Items) -> str:
    return ", ".join(name if e == ("col", name) else f"{spark(e)} as {name}" for name, e in items)


def _where(where: Expr | None) -> str:
    return f"\nwhere {spark(where)}" if where else ""


def spark(e: Expr) -> str:
    """Return an expression as Spark's SQL."""
    match e:
        case ("col", name):
            return name
        case ("lit", str() as value):
            return f"'{value}'"
        case ("lit", value):
            return str(value)
        case ("time", micros):
            return f"timestamp '{instant(micros):%Y-%m-%d %H:%M:%S}'"
        case ("length", a):
            return f"cast(length({spark(a)}) as bigint)"
        case ("joined", a, b):
            return f"concat({spark(a)}, '-', {spark(b)})"
        case ("first", a):
            return f"substring({spark(a)}, 1, 1)"
        case ("later", a, seconds):
            return f"{spark(a)} + interval {seconds} seconds"
        case ("minute", a):
            return f"date_trunc('minute', {spark(a)})"
        case ("if", condition, a, b):
            return f"case when {spark(condition)} then {spark(a)} else {spark(b)} end"
        case ("null?", a):
            return f"{spark(a)} is null"
        case ("known", a):
            return f"{spark(a)} is not null"
        case ("in", a, *values):
            return f"{spark(a)} in ({', '.join(repr(v) for v in values)})"
        case ("+" | "=" | "<>" | ">" | "<" | ">=" | "%" | "and" | "or" as word, a, b):
            return f"({spark(a)} {word} {spark(b)})"
        case (str() as function, *arguments):
            return f"{function}({', '.join(spark(a) for a in arguments)})"
    raise TypeError(e)


def duck(e: Expr) -> str:
    """Return an expression as DuckDB's SQL over the oracle's tables."""
    match e:
        case ("col", name):
            return f'"{name}"'
        case ("time", micros):
            return str(micros)
        case ("length", a):
            return f"cast(length({duck(a)}) as bigint)"
        case ("joined", a, b):
            return f"({duck(a)} || '-' || {duck(b)})"
        case ("first", a):
            return f"substring({duck(a)}, 1, 1)"
        case ("later", a, seconds):
            return f"({duck(a)} + {seconds * SECOND})"
        case ("minute", a):
            return f"(({duck(a)} // {60 * SECOND}) * {60 * SECOND})"
        case ("if", condition, a, b):
            return f"case when {duck(condition)} then {duck(a)} else {duck(b)} end"
        case ("null?", a):
            return f"({duck(a)} is null)"
        case ("known", a):
            return f"({duck(a)} is not null)"
        case ("doubled", a):
            return f"(coalesce({duck(a)}, 0) * 2)"
        case ("lit", _) | ("in", *_):
            return spark(e) if e[0] == "lit" else f"({duck(e[1])} in ({', '.join(repr(v) for v in e[2:])}))"
        case ("+" | "=" | "<>" | ">" | "<" | ">=" | "%" | "and" | "or" as word, a, b):
            return f"({duck(a)} {word} {duck(b)})"
        case (str() as function, *arguments):
            return f"{function}({', '.join(duck(a) for a in arguments)})"
    raise TypeError(e)
