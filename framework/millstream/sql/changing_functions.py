"""Finds functions in SQL that give another value each time, without parsing it."""

import re
from functools import cache

from millstream.sql.signatures import load_signatures

_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`")
_WORDS = r"\s*(?:now|today|tomorrow|yesterday)\b"
_SPECIAL = re.compile(
    rf"""\b(?:date|timestamp(?:_ntz|_ltz)?)\s*\(?\s*(?:'{_WORDS}[^']*'|"{_WORDS}[^"]*")
    |(?:'{_WORDS}[^']*'|"{_WORDS}[^"]*")\s*(?:as|::)\s*(?:date|timestamp)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Texts that mean the current time as a date or a timestamp (Spark's SpecialDatetimeValues)."""
_SPECIAL_TEXT = re.compile(rf"{_WORDS}.*", re.IGNORECASE | re.DOTALL)
_WITHOUT_PARENTHESES = ("current_timestamp", "current_date", "current_time", "localtimestamp")
_ONLY_WITHOUT_ARGUMENTS = "unix_timestamp"
_FAILING = frozenset(("assert_true", "raise_error"))
"""Spark only calls these nondeterministic so that it does not leave them out."""


def special_time_in(sql: str) -> str | None:
    """Return a literal of SQL that means the current time, if Spark casts it to a date or a timestamp."""
    literal = next((text[0] for text in _TEXT.finditer(sql) if is_special_time(text[0][1:-1])), None)
    return None if literal is None or literal.startswith("`") else literal


def is_special_time(literal: object) -> bool:
    """Return whether a literal would mean the current time, if Spark casts it to a date or a timestamp."""
    return isinstance(literal, str) and _SPECIAL_TEXT.fullmatch(literal) is not None


def changing_function(sql: str) -> str | None:
    """Return the name of a function whose value changes from call to call, if SQL seems to call one."""
    if (special := _SPECIAL.search(sql)) is not None:
        return " ".join(special[0].lower().split())
    call = _pattern().search(_TEXT.sub(" ", sql))
    return None if call is None else call[0].lower()


@cache
def _pattern() -> re.Pattern[str]:
    names = [
        name
        for name, signature in load_signatures().items()
        if not signature.deterministic and name not in _FAILING
    ]
    names.remove(_ONLY_WITHOUT_ARGUMENTS)
    calls, bare = "|".join([*names, "current_time"]), "|".join(_WITHOUT_PARENTHESES)
    return re.compile(
        rf"\b({calls}|tablesample)\b\s*(?=\()|\b({bare})\b|\b{_ONLY_WITHOUT_ARGUMENTS}\b\s*(?=\(\s*\))",
        re.IGNORECASE,
    )
