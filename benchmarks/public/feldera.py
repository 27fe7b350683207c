"""The Spark SQL of github.com/feldera/feldera, with data and results: python/felderize/tests/e2e/fixtures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sqlglot.tokens import TokenType

from public.cases import (
    ONE,
    Case,
    Query,
    Table,
    statements,
    tokens_of,
)

_VIEW = re.compile(
    r"create\s+(?:or\s+replace\s+)?(?:global\s+)?(?:temp(?:orary)?\s+)?view\s+([\w.\-]+)\s*(?:\(.*?\)\s*)?as\s",
    re.IGNORECASE | re.DOTALL,
)
_TABLE = re.compile(
    r"create\s+(?:or\s+replace\s+)?table\s+(?:if\s+not\s+exists\s+)?([\w.\-]+)\s*\(", re.IGNORECASE
)
_INSERT = re.compile(r"insert\s+into\s+(?:table\s+)?([\w.\-]+)\s*(?:\(([^()]*)\)\s*)?values", re.IGNORECASE)


def cases(folder: Path) -> Iterator[Case]:
    for query in sorted(folder.rglob("*query.sql")):
        stem = re.sub(r"[._]query\.sql$", "", str(query))
        mark = str(query)[len(stem)]
        schema, data = (Path(f"{stem}{mark}{part}.sql") for part in ("schema", "data"))
        result = Path(f"{stem}{mark}result")
        name = identifier(Path(stem).name)
        tables = _tables(
            schema.read_text() if schema.exists() else "", data.read_text() if data.exists() else ""
        )
        queries = tuple(_queries(query.read_text()))
        if queries:
            expected = tuple(result.read_text().splitlines()) if result.exists() else None
            yield Case(f"{Path(stem).parent.name}/{name}", (*tables, one_row()), queries, expected)


def one_row() -> Table:
    return Table(ONE, (("only", "int"),), (("1",),))


def identifier(name: str) -> str:
    return re.sub(r"\W", "_", name.rpartition(".")[2]).lower()


def _queries(sql: str) -> Iterator[Query]:
    for number, statement in enumerate(statements(sql)):
        view = _VIEW.match(statement)
        text = statement[view.end() :] if view else statement
        if re.match(r"\(*\s*(select|with|values|from|table)\b", text, re.IGNORECASE):
            yield Query(identifier(view[1]) if view else f"query_{number}", text)


def _tables(schema: str, data: str) -> Iterator[Table]:
    rows: dict[str, list[tuple[str, ...]]] = {}
    columns = {}
    for statement in statements(schema):
        if table := _TABLE.match(statement):
            columns[identifier(table[1])] = tuple(_columns(statement[table.end() - 1 :]))
    for statement in statements(data):
        if insert := _INSERT.match(statement):
            name = identifier(insert[1])
            names = [n for n, _ in columns.get(name, ())]
            order = [n.strip().lower().strip("`") for n in insert[2].split(",")] if insert[2] else names
            for values in tuples(statement[insert.end() :]):
                row = dict(zip(order, values, strict=False))
                rows.setdefault(name, []).append(tuple(row.get(n, "null") for n in names))
    for name, of_table in columns.items():
        yield Table(name, of_table, tuple(rows.get(name, ())))


def _columns(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and types of a list of columns in parentheses."""
    for item in items(text):
        if re.match(r"(primary|foreign|unique|constraint|check)\b", item, re.IGNORECASE):
            continue
        name, _, rest = item.partition(" ")
        kind = re.split(
            r"\s+(?:not\s+null|null|default|primary|comment|generated)\b", rest.strip(), flags=re.IGNORECASE
        )[0]
        kind = re.sub(r"\b(?:varchar|char)\b(?:\s*\(\d+\))?|\btext\b", "string", kind, flags=re.IGNORECASE)
        yield name.strip('`"').lower(), kind.lower().strip()


def items(text: str) -> list[str]:
    """Return what commas separate in the first parentheses of a text."""
    first = next(tuples(text), ())
    return list(first)


def tuples(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the values of each tuple in `(…), (…)`."""
    depth, start, values = 0, 0, []
    angle = 0
    for token in tokens_of(text):
        kind = token.token_type
        angle += {"<": 1, ">": -1, ">>": -2}.get(token.text, 0)
        if kind in {TokenType.L_PAREN, TokenType.L_BRACKET}:
            depth += 1
            if depth == 1:
                start, values = token.end + 1, []
        elif kind in {TokenType.R_PAREN, TokenType.R_BRACKET}:
            depth -= 1
            if depth == 0:
                yield (*values, text[start : token.start].strip())
        elif kind is TokenType.COMMA and depth == 1 and angle <= 0:
            values.append(text[start : token.start].strip())
            start = token.end + 1
