"""How the types of a call's arguments must agree with each other."""

from millstream.core.types import (
    BINARY,
    INTEGERS,
    INTERVAL,
    NULL,
    UNKNOWN,
    VARIANT,
    Array,
    Map,
    Type,
)
from millstream.sql.arithmetic import arithmetic
from millstream.sql.coercion import TIMES, assignable, common, common_type, comparable, tightest
from millstream.sql.value import Value

_INDEXES = INTEGERS[:3]
"""The integers that Spark casts to int without a loss."""


def agrees(word: str, first: Type, type_: Type) -> bool:
    """Return whether an argument agrees with the first one, an array or a map."""
    if UNKNOWN in (first, type_):
        return True
    match word, first:
        case "default", _:
            return type_ == first if first == NULL else assignable(type_, first)
        case "element", Array(element=element):
            return tightest(element, type_) is not None
        case "member", Array(element=element):
            return type_ != NULL and common_type(element, type_, texts=False) is not None
        case "same", Array():
            return isinstance(type_, Array) and common_type(first, type_, texts=False) is not None
        case "key", Array():
            return type_ in _INDEXES
        case "key", Map(key=key):
            return tightest(key, type_) is not None
        case _:
            return True


def shared(words: list[str], types: list[Type]) -> bool:
    """Return whether arguments that need a common type have one: those of `common`, and those of `word&`."""
    promoted = [type_ for word, type_ in zip(words, types, strict=True) if word == "common"]
    alike = [type_ for word, type_ in zip(words, types, strict=True) if word.endswith("&")]
    return common(promoted) is not None and common(alike, texts=False) is not None


def disagreement(name: str, types: list[Type], count: object) -> str:
    """Return why the arguments of a call don't fit each other, by the rule of the function; '' if they do.

    `count` is the first argument if it is a literal.
    """
    match name:
        case "sequence":
            return _sequence(types)
        case "try_add" | "try_subtract" | "mod" | "try_mod" | "pmod" | "try_multiply" | "try_divide":
            return _calculated(name, types)
        case "nullif" | "equal_null":
            return "" if comparable(*types) else f"{types[0]} and {types[1]} can't be compared"
        case "decode" if len(types) > 2:
            return _decoded(types)
        case "map":
            return _map(types)
        case "width_bucket":
            intervals = {type_ == INTERVAL for type_ in types[:3] if type_ != UNKNOWN}
            return (
                "the value and its bounds must all be numbers or all be intervals"
                if len(intervals) > 1
                else ""
            )
        case "overlay" | "elt" | "lpad" | "rpad" if BINARY in types and name == "overlay":
            return "" if types[0] == types[1] else "bytes can only replace bytes"
        case "listagg" | "string_agg" if len(types) > 1 and BINARY in types:
            return (
                "" if types[1] in {types[0], NULL} else "the delimiter must be of the same type as the values"
            )
        case "stack":
            return _stack(types[1:], count)
        case "map_zip_with":
            first, second = types[:2]
            alike = isinstance(first, Map) and isinstance(second, Map) and tightest(first.key, second.key)
            return "" if alike or UNKNOWN in types[:2] else "both maps need keys of one type"
        case _:
            return ""


def _sequence(types: list[Type]) -> str:
    ends = common(types[:2])
    if UNKNOWN in types:
        return ""
    if ends in TIMES:
        fits = len(types) < 3 or types[2] == INTERVAL
        return "" if fits else f"the step between times must be an interval, not {types[2]}"
    if ends is not None and common(types) in INTEGERS:
        return ""
    return f"it counts from a whole number or a time to another, not {' and '.join(map(str, types))}"


_SIGNS = {"try_add": "+", "try_subtract": "-", "try_multiply": "*", "try_divide": "/"}


def _calculated(name: str, types: list[Type]) -> str:
    sign = _SIGNS.get(name, "%")
    left, right = (Value(type_, True) for type_ in types)
    return "" if arithmetic(sign, left, right) else f"{types[0]} {sign} {types[1]} can't be calculated"


def _decoded(types: list[Type]) -> str:
    searched, results = types[1:-1:2] if len(types) % 2 == 0 else types[1::2], types[2::2]
    results = results + types[-1:] if len(types) % 2 == 0 else results
    if wrong := [str(type_) for type_ in searched if not comparable(types[0], type_)]:
        return f"{types[0]} can't be compared with {wrong[0]}"
    shown = ", ".join(dict.fromkeys(map(str, results)))
    return "" if common(results) is not None else f"its results have different types: {shown}"


def _map(types: list[Type]) -> str:
    if len(types) % 2:
        return "it takes pairs of a key and a value"
    keys, values = types[::2], types[1::2]
    if wrong := next((key for key in keys if key == VARIANT or isinstance(key, Map)), None):
        return f"{wrong} can't be a key of a map"
    for what, of in (("keys", keys), ("values", values)):
        if common(of) is None:
            return f"its {what} have different types: {', '.join(dict.fromkeys(map(str, of)))}"
    return ""


def _stack(types: list[Type], count: object) -> str:
    if not isinstance(count, int) or count < 1:
        return ""
    width = -(-len(types) // count)
    for column in range(width):
        of = dict.fromkeys(type_ for type_ in types[column::width] if type_ not in {NULL, UNKNOWN})
        if len(of) > 1:
            return f"column {column + 1} has different types: {', '.join(map(str, of))}"
    return ""
