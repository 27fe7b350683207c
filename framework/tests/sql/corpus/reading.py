"""How the texts of the corpus are cut into expressions and queries."""

import re

from corpus.tables import COLUMNS

_COLUMN = re.compile(
    r"'[^']*'|`[^`]*`|\b(?:" + "|".join(sorted(COLUMNS, key=len, reverse=True)) + r")\b(?!\s*\()"
)


def expressions(text: str) -> list[str]:
    """Return what stands between ` | `."""
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


def queries(text: str) -> list[str]:
    return re.sub(r"\n(?= )", "\0", text.strip()).replace("\n", "\1").replace("\0", "\n").split("\1")


def of_nulls(expression: str) -> str:
    """Return the same expression of the columns that can be NULL."""
    return _COLUMN.sub(lambda m: m.group() if m.group()[0] in "'`" else f"{m.group()}_n", expression)


def twice(text: str) -> list[str]:
    return [expression for one in expressions(text) for expression in dict.fromkeys((one, of_nulls(one)))]
