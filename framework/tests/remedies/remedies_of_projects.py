"""Remedies for YAML, settings, seeds, macros and functions: files of a project, and the same files as the remedy asks for."""

from __future__ import annotations

from typing import Any, NamedTuple

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
    fixed: dict[str, str] = {}
    """Other files, as the remedy asks for them."""


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

PYTHON = "macros/more.py"
TYPED = "from dataclasses import dataclass\n@dataclass\nclass Row:\n    a: int\n"
WRITER = "import millstream\nimport pyarrow\ndef send_rows(rows: pyarrow.Table, batch: millstream.Batch) -> None:\n    pass\n"
ROWS = "from collections.abc import Iterator\n" + TYPED
STATE = ROWS + "@dataclass\nclass State:\n    n: int = 0\n"
GENERATOR = "from datetime import datetime\nfrom random import Random\ndef events(random: Random, now: datetime):\n    yield 'a', {'amount': 1}\n"
SETTINGS = '[project]\nname = "shop"\nversion = "1"\n[tool.millstream]\nname = "shop"\n'
PROFILES = "shop: {target: local, outputs: {local: {}}}\n"


def kafka(settings: str) -> str:
    return PROFILES.replace("{}}", f"{{kafka: {{bootstrap_servers: 'kafka:9093', {settings}}}}}}}")


AVRO = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "double"}]}'
DECODED = "from dataclasses import dataclass\n@dataclass\nclass Order:\n    a: int\ndef decode_order(value: bytes) -> Order:\n    return Order(1)\n"
SINK = "{{ config(materialized='sink', key='user_id') }} " + MODEL


def topic(options: str) -> str:
    return f"sources: [{{name: web, topics: [{{name: t, {options}}}]}}]\n"


def python(code: str, remedy: str, wrong: str, right: str, **more: Any) -> ProjectCase:
    return ProjectCase(code, remedy, PYTHON, wrong, right, **more)


def log(of: str) -> str:
    return f"models: [{{name: m, log: {of}}}]\n"


def unit_test(inputs: str, more: str, model: str = "m") -> str:
    return f"unit_tests: [{{name: t, model: {model}, given: [{inputs}], {more}}}]\n"


INPUT = "{input: source.shop.events, rows: [{user_id: a}]}"
UNIT = "tests/t.yml"

PROJECT_CASES += [
    ProjectCase("MS103", "save the file as UTF-8", "models/m.sql", MODEL + "-- \udce9\n", MODEL + "-- é\n"),
    ProjectCase("MS104", "check quotes, brackets and '=' here", "pyproject.toml", SETTINGS + "x = \n", SETTINGS),
    ProjectCase("MS110", "name the file with letters, digits and '_'", "models/my-model.sql", MODEL, "", fixed={"models/my_model.sql": MODEL}),
    ProjectCase("MS110", "rename the file", "models/sources.sql", MODEL, "", fixed={"models/other.sql": MODEL}),
    ProjectCase("MS110", "use letters, digits and '_'", "pyproject.toml", SETTINGS.replace('name = "shop"\n', 'name = "my shop"\n'), SETTINGS),
    ProjectCase("MS110", "give the column another name", "models/t.yml", topic("columns: [{name: _offset, type: bigint}]"), topic("columns: [{name: offset_1, type: bigint}]")),
    ProjectCase("MS112", "did you mean 'local'?", "profiles.yml", PROFILES.replace("target: local", "target: locla"), PROFILES),
    ProjectCase("MS112", "did you mean 'shp'?", "profiles.yml", PROFILES.replace("shop:", "shp:"), PROFILES),
    ProjectCase("MS113", 'add it to [tool.millstream]: env-vars = ["REGION_X"]', "models/m.sql", MODEL.replace("type", "'{{ env_var('REGION_X', 'eu') }}' as r"), MODEL.replace("type", "'{{ env_var('REGION_X', 'eu') }}' as r"), fixed={"pyproject.toml": SETTINGS + 'env-vars = ["REGION_X"]\n'}),
    ProjectCase("MS114", "or give a default: env_var('NAME', 'default')", "profiles.yml", PROFILES.replace("{}}", "{master: \"{{ env_var('NO_SUCH_MASTER') }}\"}}"), PROFILES.replace("{}}", "{master: \"{{ env_var('NO_SUCH_MASTER', 'local[2]') }}\"}}")),
    ProjectCase("MS108", "add `schema: schemas/t.avsc`", "models/t.yml", topic("format: avro"), topic("format: avro, schema: schemas/t.avsc"), fixed={"schemas/t.avsc": AVRO}),
    ProjectCase("MS123", "remove the type here", "models/t.yml", topic("format: avro, schema: schemas/r.avsc, columns: [{name: a, type: int}]"), topic("format: avro, schema: schemas/r.avsc, columns: [{name: a}]"), {"schemas/r.avsc": AVRO}),
    ProjectCase("MS132", "did you mean 'send_rows'?", "models/m.sql", model("materialized='python', write='send_row'"), model("materialized='python', write='send_rows'"), {PYTHON: WRITER}),
    ProjectCase("MS132", "name it: config(write='send_rows')", "models/m.sql", model("materialized='python'"), model("materialized='python', write='send_rows'"), {PYTHON: WRITER}),
    ProjectCase("MS132", "write `def send_rows(rows: pyarrow.Table, batch: millstream.Batch) -> None:` into a file", "models/m.sql", model("materialized='python', write='send_rows'"), model("materialized='python', write='send_rows'"), fixed={"macros/writers.py": WRITER}),
    ProjectCase("MS132", "let it have the signature", PYTHON, "def send_rows(x: int) -> int:\n    return x\n", WRITER, {"models/m.sql": model("materialized='python', write='send_rows'")}),
    ProjectCase("MS326", "write `def send_rows(rows: pyarrow.Table, batch: millstream.Batch) -> None:`", PYTHON, WRITER.replace(", batch: millstream.Batch", ""), WRITER),
    ProjectCase("MS415", "let it write this model", "models/m.sql", MODEL.replace("user_id", "send_rows(user_id) as x"), model("materialized='python', write='send_rows'"), {PYTHON: WRITER}),
    ProjectCase("MS129", "did you mean 'decode_order'?", "models/t.yml", topic("format: 'python:decode_ordr'"), topic("format: 'python:decode_order'"), {PYTHON: DECODED}),
    ProjectCase("MS129", "return a dataclass, a TypedDict or a NamedTuple", PYTHON, DECODED.replace("-> Order", "-> int").replace("Order(1)", "1"), DECODED, {"models/t.yml": topic("format: 'python:decode_order'")}),
    ProjectCase("MS129", "write `def decode_order(value: bytes) -> Order:`", PYTHON, DECODED.replace("value: bytes", "value: str"), DECODED, {"models/t.yml": topic("format: 'python:decode_order'")}),
    ProjectCase("MS206", "it is defined as twice(x)", "models/m.sql", MODEL.replace("type", "{{ twice('amount', 2) }} as t"), MODEL.replace("type", "{{ twice('amount') }} as t"), {"macros/t.sql": "{% macro twice(x) %}2 * {{ x }}{% endmacro %}"}),
    ProjectCase("MS206", "pass it", "models/m.sql", MODEL.replace("type", "{{ twice() }} as t"), MODEL.replace("type", "{{ twice('amount') }} as t"), {"macros/t.sql": "{% macro twice(x) %}2 * {{ x }}{% endmacro %}"}),
    ProjectCase("MS207", "call macros of macros/*.sql by their names", "models/m.sql", "{% include 't.sql' %}" + MODEL, MODEL.replace("type", "{{ twice('amount') }} as t"), {"macros/t.sql": "{% macro twice(x) %}2 * {{ x }}{% endmacro %}"}),
    ProjectCase("MS209", "fix the expression, or test its operands first", "models/m.sql", MODEL.replace("type", "{{ 1 / var('n', 0) }} as t"), MODEL.replace("type", "{{ 1 / var('n', 0) if var('n', 0) else 0 }} as t")),
    ProjectCase("MS209", "give the recursion an end", "macros/t.sql", "{% macro deep(n) %}{{ deep(n - 1) }}{% endmacro %}", "{% macro deep(n) %}{% if n > 0 %}{{ deep(n - 1) }}{% else %}0{% endif %}{% endmacro %}", {"models/m.sql": MODEL.replace("type", "{{ deep(3) }} as t")}),
    ProjectCase("MS210", "rename one of them", "macros/u.sql", "{% macro twice(x) %}{{ x }}{% endmacro %}", "{% macro once(x) %}{{ x }}{% endmacro %}", {"macros/t.sql": "{% macro twice(x) %}2 * {{ x }}{% endmacro %}"}),
    ProjectCase("MS212", "write a SELECT", "models/m.sql", "{% if false %}" + MODEL + "{% endif %}", MODEL),
    ProjectCase("MS212", "or disable it: config(enabled=false)", "models/m.sql", "{% if false %}" + MODEL + "{% endif %}", model("enabled=false")),
    ProjectCase("MS102", "did you mean 'models'?", "pyproject.toml", SETTINGS + 'model-paths = ["modles"]\n', SETTINGS + 'model-paths = ["models"]\n'),
    ProjectCase("MS119", "store data outside the project folder", "seeds/more.csv", "a\n" + "1\n" * 5_300_000, ""),
    ProjectCase("MS122", "or set format: json or avro", "models/t.yml", topic("schema: schemas/t.avsc, format: csv"), topic("schema: schemas/t.avsc, format: avro"), {"schemas/t.avsc": AVRO}),
    ProjectCase("MS208", "the project's own check failed", "models/m.sql", "{% if not var('ok', false) %}{{ exceptions.raise_compiler_error('set ok') }}{% endif %}" + MODEL, "{% if not var('ok', false) %}{{ exceptions.raise_compiler_error('set ok') }}{% endif %}" + MODEL, fixed={"pyproject.toml": SETTINGS + "vars = {ok = true}\n"}),
    ProjectCase("MS127", "remove it", "schemas/registry/a-value.json", "{", ""),
    ProjectCase("MS130", "lower-case letters and digits, with '-' or '_' between them", "profiles.yml", PROFILES.replace("{}}", "{environment: 'a b'}}"), PROFILES.replace("{}}", "{environment: alice}}")),
    python("MS319", "rename it, for example to my_f_at", "def f(x: int) -> int:\n    return x\ndef f_at(x: int) -> int:\n    return x\n", "def f(x: int) -> int:\n    return x\ndef my_f_at(x: int) -> int:\n    return x\n"),
    ProjectCase("MS213", "end the loop earlier", "models/m.sql", "{% for i in range(100000000) %}{% endfor %}" + MODEL, MODEL),
    python("MS302", "such as `-> str:`", "def f(x: int):\n    return 'a'\n", "def f(x: int) -> str:\n    return 'a'\n"),
    python("MS303", "use a dataclass with two floats", "def f(x: complex) -> int:\n    return 1\n", "from dataclasses import dataclass\n@dataclass\nclass C:\n    re: float\n    im: float\ndef f(x: C) -> int:\n    return 1\n"),
    python("MS304", "write, for example, `list[str]`", "def f(x: list) -> int:\n    return 1\n", "def f(x: list[str]) -> int:\n    return 1\n"),
    python("MS304", "use bool, int, float, str", "from typing import Any\ndef f(x: Any) -> int:\n    return 1\n", "def f(x: str) -> int:\n    return 1\n"),
    python("MS305", "write `from decimal import Decimal` above", "def f(x: Decimal) -> int:\n    return 1\n", "from typing import Annotated\nfrom decimal import Decimal\ndef f(x: Annotated[Decimal, 'decimal(10,2)']) -> int:\n    return 1\n"),
    python("MS305", "define it in this file", "def f(x: Orderr) -> int:\n    return 1\n", "from dataclasses import dataclass\n@dataclass\nclass Orderr:\n    a: int\ndef f(x: Orderr) -> int:\n    return 1\n"),
    python("MS306", "did you mean", "from typing import Annotated\nfrom decimal import Decimal\ndef f(x: Annotated[Decimal, 'decmal(10,2)']) -> int:\n    return 1\n", "from typing import Annotated\nfrom decimal import Decimal\ndef f(x: Annotated[Decimal, 'decimal(10,2)']) -> int:\n    return 1\n"),
    python("MS307", "take one `list[...]`", "def f(*x: str) -> int:\n    return 1\n", "def f(x: list[str]) -> int:\n    return 1\n"),
    python("MS308", "write a plain `def`", "async def f(x: str) -> int:\n    return 1\n", "def f(x: str) -> int:\n    return 1\n"),
    python("MS309", "or call what it returns in a plain function", "from lib import wrap\n@wrap\ndef f(x: str) -> int:\n    return 1\n", "from lib import wrap\n_g = wrap(lambda x: 1)\ndef f(x: str) -> int:\n    return _g(x)\n", others={"lib.py": "def wrap(g):\n    return g\n"}),
    python("MS309", "remove the decorator", "from functools import cache\nfrom collections.abc import Iterator\n@cache\ndef f(x: int) -> Iterator[int]:\n    yield x\n", "from collections.abc import Iterator\ndef f(x: int) -> Iterator[int]:\n    yield x\n"),
    python("MS311", "rename one of them", "def f(x: int) -> int:\n    return x\ndef f(x: str) -> int:\n    return 1\n", "def f(x: int) -> int:\n    return x\ndef g(x: str) -> int:\n    return 1\n"),
    python("MS312", "use lower case, digits and `_`", "def Share(x: int) -> int:\n    return x\n", "def share(x: int) -> int:\n    return x\n"),
    python("MS313", "or the inner part as JSON in a `str`", TYPED.replace("a: int", "a: 'Row | None'") + "def f(x: Row) -> int:\n    return 1\n", TYPED.replace("a: int", "a: str | None") + "def f(x: Row) -> int:\n    return 1\n"),
    python("MS314", "`Literal['a', 'b']`", "from enum import Enum\nclass Kind(Enum):\n    A = 'a'\ndef f(x: Kind) -> int:\n    return 1\n", "from typing import Literal\ndef f(x: Literal['a', 'b']) -> int:\n    return 1\n"),
    python("MS314", "write `@dataclass` above it", "class Row:\n    a: int\ndef f(x: Row) -> int:\n    return 1\n", TYPED + "def f(x: Row) -> int:\n    return 1\n"),
    python("MS315", "or hint `list[...]` for an array", "from collections.abc import Iterator\ndef f(x: int) -> Iterator[int]:\n    return iter([x])\n", "def f(x: int) -> list[int]:\n    return [x]\n"),
    python("MS315", "write `-> Iterator[X]:`", "def f(x: int) -> int:\n    yield x\n", "from collections.abc import Iterator\ndef f(x: int) -> Iterator[int]:\n    yield x\n"),
    python("MS316", "remove the `None`", "from collections.abc import Iterator\ndef f(x: int) -> Iterator[int] | None:\n    yield x\n", "from collections.abc import Iterator\ndef f(x: int) -> Iterator[int]:\n    yield x\n"),
    python("MS317", "Iterator[Row]` with a dataclass", STATE + "def f(key: str, rows: Row, state: State) -> Iterator[Row]:\n    yield rows\n", STATE + "def f(key: str, rows: Iterator[Row], state: State) -> Iterator[Row]:\n    yield from rows\n"),
    python("MS317", "with a dataclass `State` whose fields have defaults", STATE + "def f(key: str, rows: Iterator[Row], state: int) -> Iterator[Row]:\n    yield from rows\n", STATE + "def f(key: str, rows: Iterator[Row], state: State) -> Iterator[Row]:\n    yield from rows\n"),
    python("MS318", "rename it, for example to my_upper", "def upper(x: str) -> str:\n    return x\n", "def my_upper(x: str) -> str:\n    return x\n"),
    ProjectCase("MS320", "`def events(random: Random, now: datetime)`", "seeds/events.py", GENERATOR.replace("random: Random, now: datetime", ""), GENERATOR),
    ProjectCase("MS321", "yield a key and a value for each record", "seeds/events.py", GENERATOR.replace("yield", "return"), GENERATOR),
    ProjectCase("MS322", "keep one generator for a topic", "seeds/events.py", GENERATOR + GENERATOR.partition("Random\n")[2], GENERATOR),
    python("MS323", "write what it reads as a text", "from pathlib import Path\ndef _name() -> str:\n    return 'rates.csv'\nRATES = Path(__file__).with_name(_name()).read_text()\ndef f(x: str) -> str:\n    return RATES\n", "from pathlib import Path\nRATES = (Path(__file__).parent / 'rates.csv').read_text()\ndef f(x: str) -> str:\n    return RATES\n", others={"macros/rates.csv": "a,1\n"}),
    python("MS324", "did you mean 'rate'?", "from lib import rte\ndef f(x: int) -> int:\n    return rte(x)\n", "from lib import rate\ndef f(x: int) -> int:\n    return rate(x)\n", others={"lib.py": "def rate(x):\n    return x\n"}),
    python("MS324", "write from macros.functions import score", "from .functions import score\ndef f(x: int) -> float:\n    return score('a', 1.0)\n", "from macros.functions import score\ndef f(x: int) -> float:\n    return score('a', 1.0)\n"),
    python("MS325", "or remove `runs: native` of the function", "def f(x: str) -> str:\n    try:\n        return x.upper()\n    except AttributeError:\n        return ''\n", "def f(x: str) -> str:\n    try:\n        return x.upper()\n    except AttributeError:\n        return ''\n", others={"macros/more.yml": "functions: [{name: f, runs: native}]\n"}, fixed={"macros/more.yml": "functions: [{name: f}]\n"}),
    ProjectCase("MS670", "write log: below a sink or a table that reads it", "models/m.yml", log("{when: amount > 1}"), "models: [{name: s, log: {when: amount > 1}}]\n", {"models/m.sql": MODEL.replace("type", "amount"), "models/s.sql": "{{ config(materialized='sink') }} select * from {{ ref('m') }}\n"}),
    ProjectCase("MS671", "did you mean 'type'?", "models/m.yml", log("{columns: [tpye]}"), log("{columns: [type]}"), {"models/m.sql": SINK}),
    ProjectCase("MS672", "try_divide", "models/m.yml", log("{when: amount / amount > 1}"), log("{when: 'try_divide(amount, amount) > 1'}"), {"models/m.sql": SINK.replace("type", "amount")}),
    ProjectCase("MS672", "such as `value > 10`", "models/m.yml", log("{when: amount}"), log("{when: amount > 10}"), {"models/m.sql": SINK.replace("type", "amount")}),
    ProjectCase("MS680", "remove `deduplicate`", "models/t.yml", topic("table: true, deduplicate: position, key: {name: k, type: string}, columns: [{name: a, type: int}]"), topic("table: true, key: {name: k, type: string}, columns: [{name: a, type: int}]")),
    ProjectCase("MS821", "did you mean 'linger.ms'?", "models/m.sql", model("materialized='sink', producer={'lingr.ms': 5}"), model("materialized='sink', producer={'linger.ms': 5}")),
    ProjectCase("MS828", "write sasl_mechanism: SCRAM-SHA-512", "profiles.yml", kafka("security_protocol: SASL_SSL"), kafka("security_protocol: SASL_SSL, sasl_mechanism: SCRAM-SHA-512, sasl_username: a, sasl_password: \"{{ env_var('KAFKA_PASSWORD', 'x') }}\"")),
    ProjectCase("MS828", "KAFKA_PASSWORD", "profiles.yml", kafka("security_protocol: SASL_SSL, sasl_mechanism: PLAIN, sasl_username: a"), kafka("security_protocol: SASL_SSL, sasl_mechanism: PLAIN, sasl_username: a, sasl_password: \"{{ env_var('KAFKA_PASSWORD', 'x') }}\"")),
    ProjectCase("MS828", "write security_protocol: SASL_SSL", "profiles.yml", kafka("sasl_mechanism: PLAIN"), kafka("security_protocol: SASL_SSL, sasl_mechanism: PLAIN, sasl_username: a, sasl_password: \"{{ env_var('KAFKA_PASSWORD', 'x') }}\"")),
    ProjectCase("MS828", "write both ssl_certificate_location and ssl_key_location", "profiles.yml", kafka("security_protocol: SSL, ssl_key_location: k.pem"), kafka("security_protocol: SSL, ssl_key_location: k.pem, ssl_certificate_location: c.pem")),
]  # fmt: skip


class CommandCase(NamedTuple):
    """What is wrong with a command, or with files that it reads, and the same as the remedy asks for it."""

    code: str
    remedy: str
    command: tuple[str, ...]
    instead: tuple[str, ...] = ()
    wrong: dict[str, str] = {}
    right: dict[str, str] = {}


PASSWORD = (
    "shop: {{target: local, outputs: {{local: {{kafka: {{bootstrap_servers: 'k:9092', security_protocol: SASL_SSL, "
    "sasl_mechanism: PLAIN, sasl_username: u, sasl_password: {}}}}}}}}}\n"
)
OF_SEED = "select product_id from {{ ref('products') }}"
COMMAND_CASES = [
    CommandCase("MS604", "known selectors: a", ("ls", "--selector", "a"), wrong={"selectors.yml": "selectors: [{name: a, definition: 'selector:b'}]\n"}, right={"selectors.yml": "selectors: [{name: a, definition: 'selector:b'}, {name: b, definition: m}]\n"}),
    CommandCase("MS605", "did you mean 'model'?", ("ls", "--selector", "a"), wrong={"selectors.yml": "selectors: [{name: a, definition: 'resource_type:modl'}]\n"}, right={"selectors.yml": "selectors: [{name: a, definition: 'resource_type:model'}]\n"}),
    CommandCase("MS602", "did you mean 'tag'?", ("ls", "--selector", "a"), wrong={"selectors.yml": "selectors: [{name: a, definition: 'tga:x'}]\n"}, right={"selectors.yml": "selectors: [{name: a, definition: 'tag:x'}]\n", "models/m.sql": model("tags=['x']")}),
    CommandCase("MS602", "see selectors.md in the docs", ("ls", "--selector", "a"), wrong={"selectors.yml": "selectors: [{name: a, definition: 'wizard:x'}]\n"}, right={"selectors.yml": "selectors: [{name: a, definition: 'fqn:m'}]\n"}),
    CommandCase("MS601", "write it before or after a name: '1+orders+2'", ("ls", "--selector", "a"), wrong={"selectors.yml": "selectors: [{name: a, definition: 'm+m'}]\n"}, right={"selectors.yml": "selectors: [{name: a, definition: '1+m+2'}]\n"}),
    CommandCase("MS601", "'config.materialized:view'", ("ls", "--selector", "a"), wrong={"selectors.yml": "selectors: [{name: a, definition: 'config:view'}]\n"}, right={"selectors.yml": "selectors: [{name: a, definition: 'config.materialized:view'}]\n"}),
    CommandCase("MS607", "write a string such as 'tag:nightly'", ("ls", "--selector", "a"), wrong={"selectors.yml": "selectors: [{name: a, definition: [m]}]\n"}, right={"selectors.yml": "selectors: [{name: a, definition: {union: [m]}}]\n"}),
    CommandCase("MS608", "remove one of these references", ("ls", "--selector", "a"), wrong={"selectors.yml": "selectors: [{name: a, definition: 'selector:b'}, {name: b, definition: 'selector:a'}]\n"}, right={"selectors.yml": "selectors: [{name: a, definition: 'selector:b'}, {name: b, definition: m}]\n"}),
    CommandCase("MS650", "did you mean 'type'?", ("compile",), wrong={UNIT: unit_test(INPUT, "expect: [{tpye: x}]")}, right={UNIT: unit_test(INPUT, "expect: [{type: x}]")}),
    CommandCase("MS651", "write a whole number", ("compile",), wrong={UNIT: unit_test(INPUT.replace("user_id: a", "amount: x"), "expect: []")}, right={UNIT: unit_test(INPUT, "expect: []")}),
    CommandCase("MS652", "write expect: with rows, or expect: [] for none", ("compile",), wrong={UNIT: unit_test(INPUT, "strict: true")}, right={UNIT: unit_test(INPUT, "expect: []")}),
    CommandCase("MS655", "write {column: value}", ("compile",), wrong={UNIT: unit_test(INPUT, "expect: [3]")}, right={UNIT: unit_test(INPUT, "expect: [{type: x}]")}),
    CommandCase("MS656", "move it into a step", ("compile",), wrong={UNIT: unit_test(INPUT, "steps: [{expect: []}]")}, right={UNIT: unit_test(INPUT, "steps: [{given: [" + INPUT + "], expect: []}]").replace(f"given: [{INPUT}], steps", "steps")}),
    CommandCase("MS101", "millstream init", ("ls", "--project-dir", "models"), ("ls",)),
    CommandCase("MS112", "targets: local", ("ls", "--target", "prod"), ("ls", "--target", "local")),
    CommandCase("MS115", "write --vars '{name: value}'", ("ls", "--vars", "{a"), ("ls", "--vars", "{a: 1}")),
    CommandCase("MS603", "did you mean", ("ls", "--select", "producs"), ("ls", "--select", "products")),
    CommandCase("MS601", "write what to select", ("ls", "--select", "+"), ("ls", "--select", "m+")),
    CommandCase("MS605", "did you mean 'model'?", ("ls", "--select", "resource_type:modl"), ("ls", "--select", "resource_type:model")),
    CommandCase("MS606", "select by name, path or tag instead", ("ls", "--select", "result:error"), ("ls", "--select", "m")),
    CommandCase("MS609", "write `--select selector:a`", ("ls", "--selector", "a", "--select", "m"), ("ls", "--select", "selector:a", "m"), wrong={"selectors.yml": "selectors: [{name: a, definition: m}]\n"}),
    CommandCase("MS701", "did you mean '--select'?", ("ls", "--selct", "m"), ("ls", "--select", "m")),
    CommandCase("MS703", "choose another name", ("init", "models"), ("init", "fresh")),
    CommandCase("MS704", "`millstream init my_shop`", ("init", "my-shop"), ("init", "my_shop")),
    CommandCase("MS709", "`millstream docs generate --to site`", ("docs", "generate", "--to", "pages"), ("docs", "generate", "--to", "site"), wrong={"pages/index.html": "mine"}),
    CommandCase("MS710", "set target-path in [tool.millstream] to a new folder", ("compile",), wrong={"pyproject.toml": SETTINGS + 'target-path = "out"\n', "out/mine.txt": "x"}, right={"pyproject.toml": SETTINGS + 'target-path = "other"\n'}),
    CommandCase("MS725", "name a manifest.json that `millstream compile` wrote", ("ls", "--state", "pyproject.toml", "--select", "state:new"), ("compile",)),
    CommandCase("MS705", "did you mean 'products'?", ("lineage", "product"), ("lineage", "products")),
    CommandCase("MS705", "columns: user_id, type", ("lineage", "m.zzz"), ("lineage", "m.type")),
    CommandCase("MS610", "`millstream ls` with the same options", ("build", "--select", "m", "--exclude", "m"), ("ls", "--select", "m", "--exclude", "m")),
    CommandCase("MS612", "use --accept, which `millstream plan` prints", ("plan", "--accept-forward"), ("plan",)),
    CommandCase("MS665", "choose another place with --to", ("package", "--to", "models"), ("package", "--to", "out")),
    CommandCase("MS667", "relative to the project's folder", ("package", "--include", "../certificates"), ("package", "--include", "certificates/*"), right={"certificates/ca.pem": "x"}),
    CommandCase("MS667", "name a file, a folder or a pattern", ("package", "--include", "certificate"), ("package", "--include", "certificates"), right={"certificates/ca.pem": "x"}),
    CommandCase("MS666", "read it from the environment", ("package", "--to", "out"), wrong={"profiles.yml": PASSWORD.format("hunter2")}, right={"profiles.yml": PASSWORD.format("\"{{ env_var('KAFKA_PASSWORD') }}\"")}),
    CommandCase("MS707", "or set another target-path", ("clean",), wrong={"pyproject.toml": SETTINGS + 'target-path = "out"\n', "out/mine.txt": "x"}, right={"pyproject.toml": SETTINGS + 'target-path = "other"\n'}),
    CommandCase("MS702", "choose a writable folder", ("init", "pyproject.toml/fresh"), ("init", "fresh")),
    CommandCase("MS702", "or choose another path with --to", ("docs", "generate", "--to", "pyproject.toml"), ("docs", "generate", "--to", "site")),
    CommandCase("MS711", "`millstream environment ls`", ("query", "--environment", "nope", "select * from products"), ("environment", "ls")),
    CommandCase("MS836", "`millstream show v`", ("consume", "v"), ("show", "v"), wrong={"models/v.sql": OF_SEED}),
    CommandCase("MS840", "`millstream dead-letters ls`", ("dead-letters", "ls", "zz"), ("dead-letters", "ls")),
    CommandCase("MS844", "`millstream show v`", ("query", "select * from v"), ("show", "v"), wrong={"models/v.sql": OF_SEED}),
    CommandCase("MS844", "or query what it reads: products", ("query", "select * from v"), ("query", "select * from products"), wrong={"models/v.sql": OF_SEED}),
]  # fmt: skip
