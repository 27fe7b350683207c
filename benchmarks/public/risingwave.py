"""The SQL of github.com/risingwavelabs/risingwave, translated for Spark: the .slt files of e2e_test.

Only rows that INSERT gives count; the results in the files are those of PostgreSQL's SQL, so Spark judges instead.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import sqlglot
from sqlglot import exp

from public.cases import Case, Query, Table, reads
from public.feldera import identifier, one_row

_FOLDERS = ("streaming", "batch", "over_window", "nexmark", "ch_benchmark", "tpch")
_INCLUDE = re.compile(r"^include\s+(\S+)", re.IGNORECASE)
MOST_ROWS = 60


# It warns of each statement that it leaves as it is.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


def cases(folder: Path) -> Iterator[Case]:
    seen: set[str] = set()
    for part in _FOLDERS:
        for path in sorted((folder / part).rglob("*.slt*")):
            if path.suffix != ".disabled":
                yield from _file(str(path.relative_to(folder)), list(_blocks(path, 0)), seen)


def _blocks(path: Path, depth: int) -> Iterator[str]:
    """Yield the SQL of each record of a file."""
    for block in re.split(r"\n\s*\n", path.read_text()):
        lines = [line for line in block.splitlines() if not line.lstrip().startswith("#")]
        for line in lines:
            if (include := _INCLUDE.match(line)) and depth < 3:
                for other in sorted(path.parent.glob(include[1])):
                    yield from _blocks(other, depth + 1)
        while lines and not re.match(r"(statement ok|query)\b", lines[0]):
            lines = lines[1:]
        sql = "\n".join(lines[1:]).partition("\n----")[0].strip().rstrip(";")
        if sql:
            yield sql


def _file(name: str, blocks: list[str], seen: set[str]) -> Iterator[Case]:
    tables: dict[str, Table] = {}
    views: dict[str, Query] = {}
    for number, sql in enumerate(blocks):
        try:
            text = re.sub(r"\bappend only\b", "", sql.replace("$view_type", "view"), flags=re.IGNORECASE)
            parsed = [s for s in sqlglot.parse(text, read="risingwave") if s is not None]
        except sqlglot.errors.SqlglotError:
            continue
        for statement in parsed:
            match statement:
                case exp.Create(kind="TABLE", this=exp.Schema()):
                    table = _table(statement)
                    if table is not None:
                        tables[table.name] = table
                        views.pop(table.name, None)
                case exp.Insert(expression=exp.Values()):
                    _insert(tables, statement)
                case exp.Create(kind="VIEW") if statement.expression is not None:
                    view = identifier(statement.find(exp.Table).name)
                    views[view] = Query(view, statement.expression.sql("spark", pretty=True))
                    tables.pop(view, None)
                case exp.Query():
                    text = statement.sql("spark", pretty=True)
                    if re.fullmatch(r"select\s+\*\s+from\s+\w+(\s+order by[^()]*)?", text, re.IGNORECASE):
                        # It only shows a table or a view: that is the query to judge.
                        shown = identifier(re.split(r"\s+", text)[3])
                        if shown not in views:
                            continue
                        query = views[shown]
                    else:
                        query = Query(f"query_{number}", text)
                    case = _case(f"{name}:{number}", query, tables, views)
                    if case is not None and case.queries[-1].sql not in seen:
                        seen.add(case.queries[-1].sql)
                        yield case
    for view in views.values():
        case = _case(f"{name}:{view.name}", view, tables, views)
        if case is not None and case.queries[-1].sql not in seen:
            seen.add(case.queries[-1].sql)
            yield case


def _case(name: str, query: Query, tables: dict[str, Table], views: dict[str, Query]) -> Case | None:
    """Return a query with the views and tables that it reads; None without any."""
    needed: dict[str, Query] = {}
    used: set[str] = set()

    def add(q: Query) -> None:
        for _, read in reads(q.sql, {*tables, *views}):
            if read in views and read not in needed and read != q.name:
                add(views[read])
            elif read in tables:
                used.add(read)
        needed[q.name] = q

    add(query)
    if not used:
        return None
    return Case(name, (*(tables[t] for t in sorted(used)), one_row()), tuple(needed.values()))


def _table(create: exp.Create) -> Table | None:
    columns = []
    for column in create.this.expressions:
        if isinstance(column, exp.ColumnDef) and column.kind is not None:
            if column.find(exp.GeneratedAsIdentityColumnConstraint, exp.ComputedColumnConstraint):
                return None
            kind = column.kind.sql("spark").lower()
            kind = re.sub(r"\b(varchar|char|text)\b(\(\d+\))?", "string", kind)
            columns.append((column.name.lower(), re.sub(r"\bdecimal\b(?!\()", "decimal(28, 10)", kind)))
    return Table(identifier(create.this.this.name), tuple(columns), ()) if columns else None


def _insert(tables: dict[str, Table], insert: exp.Insert) -> None:
    target = insert.this
    name = identifier(target.this.name if isinstance(target, exp.Schema) else target.name)
    table = tables.get(name)
    if table is None:
        return
    names = [n for n, _ in table.columns]
    order = [c.name.lower() for c in target.expressions] if isinstance(target, exp.Schema) else names
    rows = list(table.rows)
    for values in insert.expression.expressions:
        items = values.expressions if isinstance(values, exp.Tuple) else [values]
        row = dict(zip(order, (item.sql("spark") for item in items), strict=False))
        rows.append(tuple(row.get(n, "null") for n in names))
    tables[name] = Table(name, table.columns, tuple(rows[:MOST_ROWS]))
