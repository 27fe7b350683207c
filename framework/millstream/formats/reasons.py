"""Reasons why values are bad, for reads without a JVM, in the words of the decoders in Java (`BadValue`)."""

from __future__ import annotations

from typing import Any

from millstream.formats.values import UnfitError

_SHOWN = 60


def not_a(value: Any, expected: str) -> UnfitError:
    return UnfitError(f"{quote_value(str(value))} is not {expected}")


def with_article(type_: Any) -> str:
    """Return a type with its article."""
    name = str(type_)
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"


def quote_value(text: str) -> str:
    """Return a text in quotes, cut and with control characters escaped; it counts UTF-16, like Java."""
    pairs = text.encode("utf-16-be", "surrogatepass")
    units = [int.from_bytes(pairs[i : i + 2], "big") for i in range(0, len(pairs), 2)]
    shown = "".join(map(_escaped, units[:_SHOWN]))
    return f"'{shown}{'…' if len(units) > _SHOWN else ''}'"


def _escaped(unit: int) -> str:
    char = chr(unit)
    if char in "'\\":
        return f"\\{char}"
    hidden = unit < 0x20 or unit == 0x7F or 0xD800 <= unit < 0xE000
    return f"\\u{unit:04x}" if hidden else char


class _LocatedError(UnfitError):
    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"field {path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


def add_context(name: str, error: UnfitError) -> UnfitError:
    """Return an error with the field, element or key that its value was found in, from the inside out."""
    path, reason = (error.path, error.reason) if isinstance(error, _LocatedError) else ("", str(error))
    return _LocatedError(name + ("." if path and not path.startswith("[") else "") + path, reason)
