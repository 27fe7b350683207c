"""Which columns can be told from the value of an expression: those that a key made by it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from millstream.expressions import Expression
from millstream.plan.keys import times
from millstream.plan.keys.reading import (
    Call,
    Cast,
    Column,
    FieldOf,
    Literal,
    Tree,
    UnreadableError,
    read,
)
from millstream.plan.keys.texts import HEX, Texts, separable, texts_of
from millstream.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    Decimal,
    Type,
)


class Known(Struct, frozen=True):
    """What is known of a column."""

    type: Type
    nullable: bool = True
    apart: int = 1
    """Of times: microseconds between two that differ, at least."""
    window: bool = False
    """It is a window, whose start tells its end."""


class Value(Struct, frozen=True):
    """What is known of the value of an expression."""

    type: Type = UNKNOWN
    columns: frozenset[str] = frozenset()
    """The columns, in lower case, that differ only if the value does."""
    nullable: bool = True
    texts: Texts | None = None
    """Of a text: which ones there are; None for any."""
    apart: int = 1
    window: bool = False
    literal: str | int | None = None
    why: str = ""
    """Why it does not stand for all columns that it reads; for a message."""


Columns = Callable[[str], Known | None]
_CONCAT = frozenset(("concat", "||"))


def determined(
    expression: Expression, columns: Columns, *, fixed_offset: bool, never_null: bool = False
) -> Value:
    """Return the value of an expression over columns.

    `fixed_offset`: the session's clocks are never put back. `never_null`: no row is stored where it is NULL.
    """
    if not expression.deterministic:
        return Value(why=f"{_short(expression.text)} has another value each time")
    try:
        facts, tree = _Facts(columns, fixed_offset), read(expression)
        if never_null and isinstance(tree, Call) and tree.name in _CONCAT:
            return facts.joined(tree, never_null=True)
        return facts.value(tree)
    except UnreadableError:
        return Value(why=f"{_short(expression.text)} can be equal for different values")


def _coarse(value: Value, what: str) -> Value:
    return Value(why=value.why or f"{what} can be the same for different times")


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _lost(name: str, *values: Value) -> Value:
    name = {"+": "a sum", "-": "a difference"}.get(name, f"{name}()")
    why = next((value.why for value in values if value.why), "")
    return Value(why=why or f"{name} gives equal results for different values")


def _literal(value: str | int) -> Value:
    if isinstance(value, str):
        return Value(STRING, nullable=False, literal=value)
    return Value(INT if value < 1 << 31 else BIGINT, nullable=False, literal=value)


class _Facts:
    def __init__(self, columns: Columns, fixed_offset: bool) -> None:
        self.columns = columns
        self.fixed_offset = fixed_offset

    def value(self, tree: Tree) -> Value:
        match tree:
            case Column():
                return self._column(tree.name)
            case Literal():
                return _literal(tree.value)
            case FieldOf():
                found = self.value(tree.base)
                if found.window and tree.name.lower() in {"start", "end"}:
                    return replace(found, type=TIMESTAMP, nullable=False, window=False)
                return Value(why=found.why or f"a field '{tree.name}' is only a part of its value")
            case Cast():
                return self.cast(self.value(tree.of), tree.type)
            case Call():
                if tree.name in _CONCAT:
                    return self.joined(tree)
                return self._called(tree.name, [self.value(each) for each in tree.arguments], tree.arguments)

    def _column(self, name: str) -> Value:
        known = self.columns(name)
        if known is None:
            raise UnreadableError
        nullable = known.nullable and not known.window
        return Value(known.type, frozenset((name.lower(),)), nullable, None, known.apart, known.window)

    # -- casts

    def cast(self, value: Value, wanted: Type) -> Value:
        given = value.type
        if given == wanted:
            return value
        lost = Value(why=value.why or f"a cast from {given} to {wanted} can lose a part of the value")
        kept = replace(value, type=wanted, apart=1, literal=None)
        match given:
            case _ if value.window:
                return lost
            case Decimal(precision, scale):
                wide = isinstance(wanted, Decimal) and (
                    wanted.scale >= scale and wanted.precision - wanted.scale >= precision - scale
                )
                return self._text(value, kept) if wanted == STRING else kept if wide else lost
            case _ if given == TIMESTAMP and wanted == STRING:
                return self._text(value, kept) if self._local(value, 1) else self._twice(value)
            case _ if given == TIMESTAMP and wanted == DATE:
                return self._cut(value, kept, times.DAY, "a date")
            case _ if given == TIMESTAMP and wanted == TIMESTAMP_NTZ:
                return replace(kept, apart=1) if self._local(value, 1) else self._twice(value)
            case _ if given == TIMESTAMP and wanted == BIGINT:
                return kept if value.apart >= times.SECOND else lost
            case _ if given in {DATE, TIMESTAMP_NTZ} and wanted == TIMESTAMP:
                return replace(kept, apart=1) if self.fixed_offset else lost
        if wanted == STRING and (texts_of(given) is not None):
            return self._text(value, kept)
        return kept if _widens(given, wanted) else lost

    def _text(self, value: Value, kept: Value) -> Value:
        literal = None if value.literal is None else str(value.literal)
        return replace(kept, type=STRING, texts=texts_of(value.type), literal=literal)

    def _local(self, value: Value, unit: int) -> bool:
        """Tell whether local times of a unit are different; clocks are put back by a day at most."""
        return value.apart >= (unit if self.fixed_offset else unit + times.DAY)

    def _twice(self, value: Value) -> Value:
        return Value(why=value.why or "a local time comes twice when clocks are put back")

    def _cut(self, value: Value, kept: Value, unit: int, what: str) -> Value:
        if not unit or value.apart < unit:
            return _coarse(value, what)
        return kept if self._local(value, unit) else self._twice(value)

    # -- functions

    def _called(self, name: str, values: list[Value], arguments: Sequence[Tree]) -> Value:
        match name:
            case "concat_ws":
                return self._joined_by(values)
            case "struct" | "array":
                return _all(name, values)
            case "named_struct":
                return _all(name, values[1::2])
            case "to_json" if len(values) == 1:
                return self._json(arguments[0])
            case "string" | "bigint" | "int" | "double" | "decimal" | "binary" | "date" | "boolean":
                return self._converted(name, values)
            case "coalesce" | "ifnull" | "nvl" if len(values) == 2:
                return _defaulted(name, *values)
            case "+" | "-" | "date_add" | "date_sub":
                return _shifted(name, *values)
            case _:
                known = _UNARY.get(name) or (_OF_TIME.get(name) and partial(self._of_time, name))
                return known(values) if known and values else _lost(name, *values)

    def _converted(self, name: str, values: list[Value]) -> Value:
        wanted: dict[str, Type] = {
            "string": STRING, "bigint": BIGINT, "int": INT, "double": DOUBLE, "decimal": Decimal(),
            "binary": BINARY, "date": DATE, "boolean": BOOLEAN,
        }  # fmt: skip
        return self.cast(values[0], wanted[name]) if len(values) == 1 else _lost(name, *values)

    def _of_time(self, name: str, values: list[Value]) -> Value:
        """Return what is left of a time; a unit or pattern is a literal."""
        if name == "date_trunc":
            values.reverse()
        first, *others = values
        shown = f"{name}()"
        if first.type == DATE and name == "unix_date":
            return replace(first, type=INT)
        if first.type != TIMESTAMP or any(not isinstance(other.literal, str) for other in others):
            return _lost(name, *values)
        text = str(others[0].literal) if others else ""
        match name, len(others):
            case (("unix_micros" | "unix_millis" | "unix_seconds"), 0):
                unit = {"unix_micros": 1, "unix_millis": 1000, "unix_seconds": times.SECOND}[name]
                kept = replace(first, type=BIGINT, apart=1)
                return kept if first.apart >= unit else _coarse(first, shown)
            case "to_date", 0:
                return self._cut(first, replace(first, type=DATE, apart=1), times.DAY, shown)
            case "date_trunc", 1:
                return self._cut(first, replace(first, apart=1), times.unit_of(text), f"{name}('{text}')")
            case "date_format", 1:
                unit, characters = times.precision(text)
                kept = replace(first, type=STRING, texts=Texts(characters, characters), apart=1)
                return self._cut(first, kept, unit, f"'{text}'")
        return _lost(name, *values)

    def _json(self, argument: Tree) -> Value:
        """Fields that are NULL are left out, which tells them from all others; times have milliseconds."""
        if not isinstance(argument, Call) or argument.name not in {"struct", "named_struct"}:
            return _lost("to_json")
        fields = argument.arguments[
            1 if argument.name == "named_struct" else 0 :: 1 + (argument.name != "struct")
        ]
        values = [self.value(each) for each in fields]
        for value in values:
            if value.type == TIMESTAMP or value.window:
                fine = value.apart >= 1000
            else:
                fine = value.type in {STRING, BINARY} or (
                    texts_of(value.type) is not None and value.type != TIMESTAMP_NTZ
                )
            if not fine or value.why:
                return _lost("to_json", value)
        return replace(_all("to_json", values), type=STRING, nullable=False)

    # -- texts

    def joined(self, tree: Call, *, never_null: bool = False) -> Value:
        return self._joined("concat", [self.value(each) for each in _parts(tree)], never_null=never_null)

    def _joined(self, shown: str, values: list[Value], *, never_null: bool = False) -> Value:
        parts = [value if value.literal is not None else self.cast(value, STRING) for value in values]
        if wrong := [part for part in parts if part.why]:
            return _lost(shown, *wrong)
        variable = [part for part in parts if part.literal is None]
        if (
            not never_null
            and len(variable) > 1
            and (missing := next((p for p in variable if p.nullable), None))
        ):
            return Value(why=f"{shown}() is NULL wherever {_named(missing)} is NULL")
        texts: list[str | Texts | None] = []
        for part in parts:
            text = part.texts if part.literal is None else str(part.literal)
            if isinstance(text, str) and texts and isinstance(before := texts[-1], str):
                texts[-1] = before + text
            elif text != "":
                texts.append(text)
        if not separable(texts):
            return Value(why=f"{shown}() joins ('a', 'bc') and ('ab', 'c') to the same text")
        return Value(
            STRING,
            frozenset().union(*(part.columns for part in variable)),
            any(part.nullable for part in parts),
            _united(texts),
        )

    def _joined_by(self, values: list[Value]) -> Value:
        if not values or not isinstance(values[0].literal, str):
            return _lost("concat_ws", *values)
        separator, *parts = values
        if missing := next((part for part in parts if part.nullable), None):
            return Value(why=missing.why or f"concat_ws() leaves out {_named(missing)} where it is NULL")
        between = [each for part in parts for each in (separator, part)][1:]
        return self._joined("concat_ws", between)


def _parts(tree: Tree) -> Iterator[Tree]:
    """Return what is joined, whatever the joins within it are."""
    if isinstance(tree, Call) and tree.name in _CONCAT:
        for each in tree.arguments:
            yield from _parts(each)
    else:
        yield tree


def _named(value: Value) -> str:
    return ", ".join(sorted(value.columns))


def _united(texts: list[str | Texts | None]) -> Texts | None:
    if any(text is None for text in texts):
        return None
    found = frozenset[str]().union(*(t.all if isinstance(t, Texts) else frozenset(t or "") for t in texts))
    return Texts(found, found)


_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def _widens(given: Type, wanted: Type) -> bool:
    """Tell whether each value of a type has one of its own in another."""
    if given in INTEGERS:
        if wanted in INTEGERS:
            return INTEGERS.index(wanted) >= INTEGERS.index(given)
        if isinstance(wanted, Decimal):
            return wanted.precision - wanted.scale >= _DIGITS[str(given)]
        return wanted == DOUBLE and given != BIGINT
    pairs = ((FLOAT, DOUBLE), (STRING, BINARY), (DATE, TIMESTAMP_NTZ))
    return (given, wanted) in pairs or (given == BOOLEAN and wanted in INTEGERS)


def _all(name: str, values: list[Value]) -> Value:
    """Return values side by side, NULLs among them."""
    lost = [value for value in values if value.why]
    same = len({value.type for value in values}) == 1
    if lost or (name == "array" and not same):
        return _lost(name, *lost)
    return Value(columns=frozenset().union(*(value.columns for value in values)), nullable=False)


def _defaulted(name: str, value: Value, default: Value) -> Value:
    """Return a value, NULL replaced by a text that no other value has."""
    if not value.nullable:
        return value
    text = default.literal
    if value.texts is None or not isinstance(text, str) or set(text) <= value.texts.all:
        return _lost(name, value)
    texts = Texts(value.texts.first | set(text[:1]), value.texts.rest | set(text[1:]))
    return replace(value, nullable=False, texts=texts)


def _shifted(name: str, *values: Value) -> Value:
    """Return an integer or a date that is moved by a fixed number."""
    moved = [value for value in values if value.literal is None]
    dates = name.startswith("date_")
    fits = len(values) == 2 and len(moved) == 1 and all(
        value.type in INTEGERS for value in values if value is not moved[0]
    )  # fmt: skip
    if not fits or moved[0].why or (moved[0] is not values[0] and (dates or moved[0].type == DATE)):
        return _lost(name, *values)
    (value,) = moved
    if value.type in INTEGERS and not dates:
        wider = max(values, key=lambda each: INTEGERS.index(each.type))
        return replace(value, type=wider.type)
    return value if value.type == DATE else _lost(name, value)


def _hashed(name: str, values: list[Value]) -> Value:
    first = values[0]
    fits = first.type in {STRING, BINARY} and all(each.literal in _SHA2 for each in values[1:])
    return replace(first, type=STRING, texts=HEX, apart=1) if fits and not first.why else _lost(name, *values)


_SHA2 = (0, 224, 256, 384, 512)


def _hex(values: list[Value]) -> Value:
    (first,) = values
    fits = first.type in {STRING, BINARY, *INTEGERS}
    # An empty text is written as an empty one, so that nothing is known of its characters.
    return replace(first, type=STRING, texts=None, apart=1) if fits else _lost("hex", first)


def _base64(values: list[Value]) -> Value:
    (first,) = values
    fits = first.type in {STRING, BINARY}
    return replace(first, type=STRING, texts=None, apart=1) if fits else _lost("base64", first)


def _negative(values: list[Value]) -> Value:
    (first,) = values
    fits = first.type in INTEGERS or isinstance(first.type, Decimal)
    return (
        replace(first, literal=None)
        if fits and first.literal is None
        else Value(why=first.why or "the minus can't be read")
    )


_UNARY: dict[str, Callable[[list[Value]], Value]] = {
    "hex": _hex,
    "base64": _base64,
    "negative": _negative,
    **{name: partial(_hashed, name) for name in ("md5", "sha", "sha1", "sha2")},
}
_OF_TIME = dict.fromkeys(
    ("unix_micros", "unix_millis", "unix_seconds", "unix_date", "to_date", "date_trunc", "date_format"), True
)
