"""Random edits of any file: most of them still compile, since a token is replaced by one of its kind."""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import tomllib
import yaml

Files = dict[str, str]


class AnyEdit(NamedTuple):
    number: int
    path: str
    what: str
    text: str


_TOKEN = re.compile(
    r"(?P<jinja>\{[{%#].*?[}%#]\})|(?P<comment>--[^\n]*)|(?P<string>'(?:[^'\\]|\\.|'')*')"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<number>\d+(?:\.\d+)?)|(?P<sign><=|>=|<>|=|<|>|\+|-|\*|/|%)",
    re.DOTALL,
)
_KINDS = (
    ("sum", "min", "max", "avg", "count", "count_if", "first_value", "stddev", "mean"),
    ("upper", "lower", "length", "trim", "reverse", "ucase"),
    ("left", "right", "concat"),
    ("coalesce", "nvl", "nullif"),
    ("and", "or"),
    ("id", "value", "big", "weight", "n", "x", "y", "total", "events", "sent", "age", "points"),
    ("user", "kind", "note", "name", "part", "letter"),
    ("at", "minute", "day", "began"),
    ("zz_rated", "zz_unused", "abs", "round"),
    ("join", "inner join", "left join"),
    ("e", "o", "k", "p"),
    ("start", "end"),
    ("distinct", "all"),
    ("null", "not null"),
)
_SIGNS = (("<", "<=", ">", ">=", "=", "<>"), ("+", "-", "*", "/", "%"))
_CONFIG = (
    "emit='on_change'", "emit='on_close'", "tags=['more']", "owner='others'", "order_by='user'", "order_by='id'", "retention='5 minutes'",
    "dedupe={'keys': ['user']}", "dedupe={'keys': ['id'], 'within': '1 hour'}", "delete_when='user = \"ax\"'", "optimize='none'",
    "group='mine'", "state={'store': 'memory'}", "key='id'", "headers={'x': 'id'}", "format='csv'", "format='avro'", "meta={'a': 1}",
    "topic_config={'retention.ms': '600000'}", "partitions=3", "on_bad_record='skip'", "watermark={'column': 'at', 'delay': '5 minutes'}",
    "materialized='sink'", "materialized='table'", "materialized='view'", "timestamp='at'", "key_format='json'", "enabled=false",
)  # fmt: skip


def any_edit(number: int, files: Files) -> AnyEdit:
    """Return the edit with a number."""
    random = Random(f"edit {number}")
    while True:
        kind = random.choices([*_EDITS], [weighted[0] for weighted in _EDITS.values()])[0]
        path = random.choice([path for path in files if re.search(kind, path)])
        changes = _EDITS[kind][1]
        change = random.choice(changes)
        text = change(files[path], random)
        if text is not None and text != files[path]:
            return AnyEdit(number, path, change.__name__.strip("_"), text)


# -- SQL


def _tokens(text: str, *kinds: str) -> list[re.Match[str]]:
    return [token for token in _TOKEN.finditer(text) if token.lastgroup in kinds]


def _put(text: str, match: re.Match[str], other: str) -> str:
    return text[: match.start()] + other + text[match.end() :]


def _literal(text: str, random: Random) -> str | None:
    tokens = [*_tokens(text, "string", "number")]
    # Numbers and names in a macro's call, or in config(), count too.
    tokens += list(re.finditer(r"(?<=[ (=\[])(?:\d+|'[\w ]+')(?=[,)\]}])", text))
    if not tokens:
        return None
    token = random.choice(tokens)
    if token[0].startswith("'"):
        pool = ["'d'", "'c'", "'none'", "'x'", "'60 seconds'", "'2 minutes'", "'1 minute'", "'3 hours'", "'180 minutes'", "'user'", "'id'", "'kind'"]  # fmt: skip
    else:
        pool = ["0", "1", "2", "3", "7", "10", "1.0", f"{token[0]} + 0", f"({token[0]})"]
    return _put(text, token, random.choice(pool))


def _word(text: str, random: Random) -> str | None:
    words = [(t, kind) for t in _tokens(text, "word") for kind in _KINDS if t[0].lower() in kind]
    if not words:
        return None
    token, kind = random.choice(words)
    return _put(text, token, random.choice(kind))


def _sign(text: str, random: Random) -> str | None:
    signs = [(t, kind) for t in _tokens(text, "sign") for kind in _SIGNS if t[0] in kind]
    if not signs:
        return None
    token, kind = random.choice(signs)
    return _put(text, token, random.choice(kind))


def _condition(text: str, random: Random) -> str | None:
    """Add a condition, or remove one."""
    more = random.choice(["id > 3", "kind <> 'd'", "id >= id", "true", "user is not null", "value between 0 and 100", "not id <= -1"])  # fmt: skip
    removed = [*re.finditer(r" and [^\n()]+| where [^\n()]+(?=\n| group)| having [^\n]+", text)]
    match random.choice(["and", "where", "having", "removed"]):
        case "and" if " where " in text:
            return text.replace(" where ", f" where {more} and ", 1)
        case "where" if " group by" in text and " where " not in text:
            return text.replace(" group by", f" where {more} group by", 1)
        case "having" if " group by" in text and "having" not in text:
            return text.rstrip() + " having count(*) > 0\n"
        case "removed" if removed:
            return _put(text, random.choice(removed), "")
    return None


def _columns(text: str, random: Random) -> str | None:
    """Swap, remove or add what is selected."""
    selected = re.search(r"(?<=select )(?!\*)(?:[^()]|\([^()]*(?:\([^()]*\)[^()]*)*\))*?(?=\s+from )", text)
    if selected is None:
        return None
    items = re.split(r",\s*(?![^(]*\))", selected[0])
    index = random.randrange(len(items))
    match random.choice(["swap", "remove", "add", "name"]):
        case "swap":
            items[index], items[-1] = items[-1], items[index]
        case "remove" if len(items) > 1:
            del items[index]
        case "add":
            items.append(random.choice(["count(*) as more", "max(id) as more", "user as more", "1 as more", "id as more"]))  # fmt: skip
        case _:
            items[index] = re.sub(r" as \w+$", "", items[index]) + " as renamed"
    return _put(text, selected, ", ".join(items))


def _operands(text: str, random: Random) -> str | None:
    """Say the same otherwise: operands and conditions turned round, and synonyms."""
    turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>", "*": "*", "+": "+"}
    operations = [*re.finditer(r"(?<![\w.')])([\w.]+) (<=|>=|<>|=|<|>|\*|\+) ([\w.]+|'\w+')(?![\w.(])", text)]
    pairs = [*re.finditer(r"(?<=where )([\w.]+ [<>=]+ [\w.]+) and ([\w.]+ [<>=]+ [\w.]+)", text)]
    if pairs and random.random() < 0.3:
        token = random.choice(pairs)
        return _put(text, token, f"{token[2]} and {token[1]}")
    if operations and random.random() < 0.7:
        token = random.choice(operations)
        return _put(text, token, f"{token[3]} {turned[token[2]]} {token[1]}")
    for old, new in random.sample([("count(*)", "count(1)"), ("avg(", "mean("), ("upper(", "ucase("), ("<>", "!="), ("'1 minute'", "'60 seconds'"), ("left join", "left outer join"), (" join ", " inner join "), ("coalesce(", "ifnull(")], 8):  # fmt: skip
        if old in text:
            return text.replace(old, new, 1)
    return None


def _layout(text: str, random: Random) -> str | None:
    return random.choice(
        [
            lambda: text.replace(", ", ",\n  "),
            lambda: text.replace("\nselect ", "\n-- what it counts\nselect /* these */ "),
            lambda: text.replace("select ", "SELECT ").replace(" from ", "\nFROM "),
            lambda: text + "\n{# the end #}\n",
            lambda: re.sub(
                r"\nselect (.*)",
                r"\nwith all_of_it as (select \1) select * from all_of_it",
                text,
                flags=re.DOTALL,
            ),
        ]
    )()


def _config(text: str, random: Random) -> str | None:
    """Add, change or remove an option in config()."""
    call = re.search(r"config\((.*)\) \}\}", text)
    if call is None:
        return None
    options = re.split(r", (?=\w+=)", call[1])
    if random.random() < 0.4 and len(options) > 1:
        del options[random.randrange(1, len(options))]
    else:
        more = random.choice(_CONFIG)
        options = [option for option in options if option.partition("=")[0] != more.partition("=")[0]] + [
            more
        ]
    return text[: call.start(1)] + ", ".join(options) + text[call.end(1) :]


def _macro(text: str, random: Random) -> str | None:
    return text.replace(
        *random.choice(
            [
                ("length=2", "length=1"),
                ("left(", "right("),
                ("not in", "in"),
                ("column, length", "column , length"),
                ("in (", "in ('y', "),
                ("{%- macro", "{#- why -#}\n{%- macro"),
            ]
        )
    )


# -- YAML, JSON and TOML: any value


def _positions(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, nested in items:
        yield (*path, key)
        yield from _positions(nested, (*path, key))


_VALUES: dict[str, list[Any]] = {
    "type": ["int", "bigint", "string", "double", "timestamp", "date", "decimal(10, 2)", "integer", "number"],
    "severity": ["warn", "drop", "error", "dead_letter"],
    "on_bad_record": ["skip", "fail", "dead_letter"],
    "delay": ["0 seconds", "1 minute", "60 seconds", "10 minutes", "3 hours"],
    "expression": ["id <> 7", "id % 7 <> 3", "events > 1", "value < 5", "id >= 0"],
    "where": ["id > 3", "id >= 0"],
    "decoding": ["lenient", "strict"],
    "format": ["json", "csv"],
    "isolation.level": ["read_committed", "read_uncommitted"],
    "column": ["at"],
    "delimiter": [";", ","],
    "column_types": [{"weight": "double"}, {"weight": "bigint"}, {}],
    "ttl": ["30 days", "1 hour"],
    "weight": ["double", "bigint", "int"],
    "timezone": ["UTC", "Asia/Tokyo", "Europe/Berlin"],
    "optimization": ["none", "all"],
    "spark.sql.ansi.enabled": [True, False],
    "kafka": ["embedded"],
    "values": [["C", "D"], ["ax", "bx"]],
    "name": ["id", "kind", "value", "user", "renamed"],
    "from": ["id * 11", "10 * id", "length(kind)"],
    "materialized": ["table"],
    "master": ["local[1]", "local[2]"],
}
_MORE: dict[str, list[tuple[str, Any]]] = {
    "topic": [("max_rows_per_trigger", 1000), ("rows_per_second", 5), ("decoding", "lenient"), ("on_bad_record", "dead_letter"), ("options", {"fetch.max.bytes": 1000000}), ("owner", "them"), ("partitions", 3), ("tests", [{"unique": {"columns": "id"}}]), ("hints", {"rows_per_second": 3})],
    "column": [("description", "more"), ("nullable", False), ("distinct", 5), ("tags", ["a"]), ("tests", [{"not_null": {"severity": "drop"}}]), ("tests", [{"not_null": {"severity": "warn"}}]), ("from", "id + 1")],
    "model": [("description", "more"), ("keeps", 0.1), ("tags", ["b"]), ("config", {"order_by": "user"}), ("config", {"retention": "10 minutes"}), ("config", {"emit": "on_change"}), ("config", {"optimize": "none"}), ("config", {"delete_when": "id = 3"}), ("data_tests", [{"expression": {"name": "zz_more", "expression": "user <> 'ax'", "severity": "drop"}}])],
    "seed": [("description", "more"), ("config", {"delimiter": ","}), ("tags", ["c"])],
    "target": [("timezone", "Asia/Tokyo"), ("spark", {"spark.sql.session.timeZone": "Asia/Tokyo"}), ("spark", {"spark.sql.legacy.timeParserPolicy": "LEGACY"}), ("spark", {"spark.sql.shuffle.partitions": 3}), ("spark", {"spark.sql.caseSensitive": True}), ("optimization", "none"), ("guarantee", "at_least_once"), ("trigger", "5 seconds"), ("spark", {"spark.sql.mapKeyDedupPolicy": "LAST_WIN"}), ("spark", {"spark.sql.decimalOperations.allowPrecisionLoss": False})],
    "vars": [("zz_more", 1)],
    "folder": [("tags", ["all"]), ("owner", "them"), ("on_bad_record", "skip"), ("optimize", "none"), ("state", {"store": "memory"})],
    "property": [("more", {"type": "string"})],
}  # fmt: skip


def _other(key: Any, value: Any, random: Random) -> Any:
    """Return another value for a key."""
    pool = _VALUES.get(str(key))
    if pool:
        return random.choice(pool)
    match value:
        case bool():
            return not value
        case int() | float():
            return random.choice([value + 1, value * 2, 0, 1])
        case str():
            return random.choice([value + "s", value.upper(), "id", "kind", "more"])
        case list() if value:
            return random.choice([value[1:], value[::-1], value[:-1], [*value, value[0]]])
    return None


def _kind(path: tuple[Any, ...], value: dict[str, Any]) -> str:
    """Return what a mapping is, to know its keys."""
    if not path or "master" in value:
        return "target"
    above = path[-2] if len(path) > 1 and isinstance(path[-1], int) else path[-1]
    named = {"topics": "topic", "columns": "column", "models": "model", "seeds": "seed", "sources": "topic", "vars": "vars", "zz": "folder", "properties": "property"}  # fmt: skip
    return named.get(str(above), "")


def _changed(value: Any, random: Random) -> bool:
    """Change, remove or add a value anywhere; return whether one was."""
    paths = [path for path in _positions(value) if path[-1] != "version"]
    if not paths:
        return False
    path = random.choice(paths)
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    key, nested = path[-1], parent[path[-1]]
    action = random.choice(["value", "value", "value", "remove", "add", "order"])
    if action == "value" and not isinstance(nested, dict):
        parent[key] = _other(key, nested, random)
        return parent[key] is not None
    if action == "remove":
        del parent[key]
        return True
    if action == "add" and isinstance(nested, dict):
        more = _MORE.get(_kind(path, nested))
        if more:
            name, content = random.choice(more)
            old = nested.get(name)
            merged = {**old, **content} if isinstance(old, dict) and isinstance(content, dict) else content
            nested[name] = copy.deepcopy(merged)
            return True
    if action == "order" and isinstance(nested, list) and len(nested) > 1:
        random.shuffle(nested)
        return True
    return False


def _yaml(text: str, random: Random) -> str | None:
    value = yaml.safe_load(text)
    for _ in range(20):
        if _changed(value, random):
            return yaml.safe_dump(value, sort_keys=False, width=200)
    return None


def _yaml_layout(text: str, random: Random) -> str | None:
    if random.random() < 0.5:
        return f"# why\n{text}"
    return yaml.safe_dump(yaml.safe_load(text), sort_keys=random.random() < 0.5)


def _json(text: str, random: Random) -> str | None:
    value = json.loads(text)
    for _ in range(20):
        if _changed(value, random):
            return json.dumps(value, indent=1)
    return None


def _profiles(text: str, random: Random) -> str | None:
    """Change both targets alike, so that one is a fresh build of the other."""
    value = yaml.safe_load(text)
    outputs = value["any"]["outputs"]
    target = {"any": outputs["TARGET"]}
    for _ in range(20):
        if _changed(target["any"], random):
            value["any"]["outputs"] = {name: copy.deepcopy(target["any"]) for name in outputs}
            return yaml.safe_dump(value, sort_keys=False, width=300)
    return None


def _toml(text: str, random: Random) -> str | None:
    lines = text.splitlines()
    positions = [n for n, line in enumerate(lines) if re.match(r"zz_|unbounded|owner", line)]
    index = random.choice(positions)
    key, _, written = lines[index].partition(" = ")
    value = tomllib.loads(f"x = {written}")["x"]
    match random.choice(["value", "remove", "add", "comment"]):
        case "value":
            other = {"zz_day": "60 seconds", "zz_least": 2}.get(key) if random.random() < 0.5 else None
            lines[index] = f"{key} = {json.dumps(other or _other(key, value, random))}"
        case "remove":
            del lines[index]
        case "add":
            name, content = random.choice(
                [option for option in _MORE["folder"] if not isinstance(option[1], dict)]
            )
            lines.append(f"{name} = {json.dumps(content)}")
        case _:
            lines.insert(index, "# why")
    return "\n".join(lines) + "\n"


# -- Python


def _python(text: str, random: Random) -> str | None:
    """Change a constant, an operator, a default or a name."""
    tree = ast.parse(text)
    if not tree.body:
        return "EMPTY = 1\n"
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.BinOp | ast.Compare | ast.Attribute | ast.Name | ast.Return)
    ]
    names = sorted({node.id for node in nodes if isinstance(node, ast.Name)})
    node = random.choice(nodes)
    match node:
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant(value=int() | float()):
            node.value = type(node.value)(random.choice([node.value + 1, node.value * 2, 0]))
        case ast.Constant(value=str()):
            node.value = random.choice([node.value + "x", "low", "high", "c"])
        case ast.BinOp():
            node.op = random.choice([ast.Add(), ast.Sub(), ast.Mult(), ast.FloorDiv()])
        case ast.Compare():
            node.ops = [random.choice([ast.Lt(), ast.Gt(), ast.GtE(), ast.Eq()])]
        case ast.Name(ctx=ast.Load()):
            node.id = random.choice(names)
        case ast.Return(value=ast.expr()) if random.random() < 0.5:
            node.value = ast.IfExp(ast.Constant(True), node.value, node.value)
        case _:
            return None
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _python_layout(text: str, random: Random) -> str | None:
    return random.choice(
        [
            lambda: f"# why\n{text}",
            lambda: ast.unparse(ast.parse(text)) + "\n",
            lambda: text + "\n\ndef _helper() -> int:\n    return 5\n",
            lambda: text.replace("import re", "import os\nimport re"),
            lambda: re.sub(r'"""[\w ]+\.?"""', '"""Something else."""', text),
            lambda: re.sub(r"LIMIT|OTHER|NEVER|UNUSED", "RENAMED", text),
            lambda: text.replace("rates import", "words import BASE\nfrom zz_lib.rates import"),
            lambda: text.replace("word > ", "word >= ").replace("* 100.0", "* 1.5"),
            lambda: text.replace("from zz_lib import words", "import zz_lib.words as words"),
        ]
    )()


# -- CSV


def _csv(text: str, random: Random) -> str | None:
    rows = [line.split(",") for line in text.splitlines()]
    index, column = random.randrange(1, len(rows)), random.randrange(len(rows[0]))
    match random.choice(["cell", "remove", "add", "rows", "columns", "column", "same"]):
        case "cell":
            rows[index][column] = random.choice(["c", "d", "7", "2", "3", "x", ""])
        case "remove":
            del rows[index]
        case "add":
            rows.append(["x", "other", "9"])
        case "rows":
            rows[1:] = rows[:0:-1]
        case "columns":
            rows = [row[::-1] for row in rows]
        case "column":
            rows = [[*row, "more" if n == 0 else str(n)] for n, row in enumerate(rows)]
        case _:
            rows = [[f'"{cell}"' for cell in row] for row in rows]
    return "\n".join(map(",".join, rows)) + "\n"


Change = Callable[[str, Random], "str | None"]
_EDITS: dict[str, tuple[int, list[Change]]] = {
    r"models/.*\.sql$": (
        36,
        [_literal, _literal, _word, _word, _word, _sign, _condition, _columns, _operands, _operands, _layout, _config, _config],
    ),
    r"macros/.*\.sql$": (3, [_macro]),
    r"models/.*\.yml$": (24, [_yaml, _yaml, _yaml, _yaml, _yaml_layout]),
    r"(macros|seeds)/.*\.yml$": (4, [_yaml, _yaml_layout]),
    r"\.py$": (14, [_python, _python, _python_layout]),
    r"\.csv$": (5, [_csv]),
    r"\.json$": (5, [_json]),
    r"profiles\.yml$": (6, [_profiles]),
    r"pyproject\.toml$": (6, [_toml]),
}  # fmt: skip
"""Which files are edited how often, and how."""
