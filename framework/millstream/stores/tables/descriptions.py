"""Answers `show tables`, `show columns from …` and `describe …` by what the project knows."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millstream.core.errors import MillstreamError
from millstream.stores.tables.relations import StoredRelation, missing_table
from millstream.stores.tables.values import Answer

_NAME = r"(?P<name>[\w.`\"]+)"
_TABLES = re.compile(r"show\s+tables", re.IGNORECASE)
_COLUMNS = re.compile(
    rf"(?:show\s+columns\s+(?:from|in)|desc(?:ribe)?(?:\s+table)?)\s+{_NAME}", re.IGNORECASE
)


def answer_description(sql: str, relations: Mapping[str, StoredRelation]) -> Answer | None:
    """Return the answer to a statement of this kind; None for all others."""
    text = sql.strip(" \t\r\n;")
    if _TABLES.fullmatch(text):
        rows = sorted(
            (relation.name, relation.kind, len(relation.columns))
            for relation in relations.values()
            if relation.at_rest
        )
        return Answer(("table", "kind", "columns"), rows)
    if match := _COLUMNS.fullmatch(text):
        name = re.sub(r"[`\"]", "", match["name"])
        if (relation := relations.get(name.lower())) is None:
            raise MillstreamError(missing_table(name, relations))
        return Answer(("column", "type"), list(relation.columns))
    return None
