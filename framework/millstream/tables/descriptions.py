"""Answers `show tables`, `show columns from …` and `describe …` by what the project knows."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millstream.errors import MillstreamError
from millstream.tables.known import Known, missing_table
from millstream.tables.values import Answer

_NAME = r"(?P<name>[\w.`\"]+)"
_TABLES = re.compile(r"show\s+tables", re.IGNORECASE)
_COLUMNS = re.compile(
    rf"(?:show\s+columns\s+(?:from|in)|desc(?:ribe)?(?:\s+table)?)\s+{_NAME}", re.IGNORECASE
)


def description(sql: str, known: Mapping[str, Known]) -> Answer | None:
    """Return the answer to a statement of this kind; None for all others."""
    text = sql.strip(" \t\r\n;")
    if _TABLES.fullmatch(text):
        rows = sorted((each.name, each.kind, len(each.columns)) for each in known.values() if each.at_rest)
        return Answer(("table", "kind", "columns"), rows)
    if found := _COLUMNS.fullmatch(text):
        name = re.sub(r"[`\"]", "", found["name"])
        if (relation := known.get(name.lower())) is None:
            raise MillstreamError(missing_table(name, known))
        return Answer(("column", "type"), list(relation.columns))
    return None
