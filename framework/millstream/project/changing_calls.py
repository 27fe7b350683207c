"""Calls of the clock and of chance in Python functions: they give other values for the same arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

_CLOCK = (
    *("time.time", "time.time_ns", "time.clock_gettime", "time.clock_gettime_ns"),
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
    *("pandas.Timestamp.now", "pandas.Timestamp.today", "pandas.Timestamp.utcnow"),
    *("arrow.now", "arrow.utcnow", "pendulum.now", "pendulum.today", "pendulum.tomorrow"),
    *("pendulum.yesterday", "os.times"),
)
_CHANCE = (
    *("uuid.uuid1", "uuid.uuid4", "uuid.uuid6", "uuid.uuid7", "os.urandom", "os.getrandom"),
    *("random.SystemRandom", "secrets.choice", "secrets.randbelow", "secrets.randbits"),
    *("secrets.token_bytes", "secrets.token_hex", "secrets.token_urlsafe", "secrets.SystemRandom"),
)
_CHANGING = frozenset((*_CLOCK, *_CHANCE))
"""They change however they are called. Not those that only measure how long something takes."""
_AT_MOST = {
    **dict.fromkeys(("time.localtime", "time.gmtime", "time.ctime", "time.asctime", "random.Random"), 0),
    **dict.fromkeys(("numpy.random.default_rng", "numpy.random.RandomState"), 0),
    "time.strftime": 1,
}
"""They change if they get no more arguments: otherwise, they are about a given time, or have a seed."""
_RANDOM = ("random", "numpy.random")
"""Modules whose functions share one generator of random numbers."""
_SEEDED = frozenset(("Generator", "PCG64", "Philox", "MT19937", "SFC64", "SeedSequence", "BitGenerator"))
_OF_STATE = frozenset(("seed", "getstate", "setstate", "get_state", "set_state"))


def changing_call(statements: Sequence[ast.stmt]) -> str:
    """Return a call in some statements that gives another value each time; empty if none does.

    `statements` also have the imports that they use.
    """
    nodes = [node for statement in statements for node in ast.walk(statement)]
    imports = _imports(nodes)
    named = [
        (node, _qualified(node, imports)) for node in nodes if isinstance(node, ast.Attribute | ast.Name)
    ]
    arguments = {
        id(call.func): len(call.args) + len(call.keywords) for call in nodes if isinstance(call, ast.Call)
    }
    seeded = {name.rpartition(".")[0] for _, name in named if name.rpartition(".")[2] == "seed"}
    for node, name in named:
        if name in _CHANGING or _is_random(name, seeded):
            return name
        if name in _AT_MOST and arguments.get(id(node), _AT_MOST[name] + 1) <= _AT_MOST[name]:
            return name
    return ""


def _is_random(name: str, seeded: Iterable[str]) -> bool:
    module, _, function = name.rpartition(".")
    if module not in _RANDOM or module in seeded or name in _AT_MOST:
        return False
    return function not in _SEEDED and function not in _OF_STATE


def _imports(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Return what imported names stand for: `dt` → `datetime`, `now` → `time.time`."""
    qualified_names: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    qualified_names[alias.asname or name] = name
            case ast.ImportFrom(module=str(module), names=names, level=0):
                qualified_names.update(
                    (alias.asname or alias.name, f"{module}.{alias.name}") for alias in names
                )
    return qualified_names


def _qualified(node: ast.expr, imports: dict[str, str]) -> str:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            return imports.get(name, "")
        case ast.Attribute(value=value, attr=attr):
            base = _qualified(value, imports)
            return f"{base}.{attr}" if base else ""
    return ""
