"""Finds functions in SQL that give another value each time, without parsing it."""

import re
from functools import cache

from millstream.sql.signatures import signatures

_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`")
_WITHOUT_PARENTHESES = ("current_timestamp", "current_date", "current_time", "localtimestamp")
_ONLY_WITHOUT_ARGUMENTS = "unix_timestamp"
_FAILING = frozenset(("assert_true", "raise_error"))
"""Spark only calls these nondeterministic so that it does not leave them out."""


def changing_function(sql: str) -> str | None:
    """Return the name of a function whose value changes from call to call, if SQL seems to call one."""
    found = _pattern().search(_TEXT.sub(" ", sql))
    return None if found is None else found[0].lower()


@cache
def _pattern() -> re.Pattern[str]:
    names = [name for name, each in signatures().items() if not each.deterministic and name not in _FAILING]
    names.remove(_ONLY_WITHOUT_ARGUMENTS)
    listed, bare = "|".join([*names, "current_time"]), "|".join(_WITHOUT_PARENTHESES)
    return re.compile(
        rf"\b({listed})\b\s*(?=\()|\b({bare})\b|\b{_ONLY_WITHOUT_ARGUMENTS}\b\s*(?=\(\s*\))", re.IGNORECASE
    )
