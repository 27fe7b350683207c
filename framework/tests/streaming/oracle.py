"""What a project must give: DuckDB over the rows that are not late, with nothing of Millstream or Spark.

Of a run it is told one thing alone: which part of what a query reads was in which of its micro-batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb

from streaming.clocks import Clock
from streaming.query_runner import Arrived, Record
from streaming.records import value_of
from streaming.sessions import sessions
from streaming.shapes import (
    SECOND,
    Distinct,
    Explode,
    Group,
    Join,
    Lookup,
    Model,
    Project,
    Seed,
    Select,
    Source,
    Union,
    Window,
)
from streaming.texts import duck

_TYPES = {"s": "varchar", "i": "bigint", "t": "bigint", "w": "bigint"}


@dataclass(frozen=True)
class Rows:
    """A table of DuckDB: the columns, and `_b`, the batch, and `_o`, in which order rows came."""

    table: str
    columns: dict[str, str]
    times: dict[str, int] = field(default_factory=dict)
    """Columns of event time, and their delays in microseconds."""
    changing: bool = False
    """Only the newest rows are known."""
    lag: int = 0
    """By how much the watermark of what keeps a state over these rows is behind the query's: that of a join is."""


class Oracle:
    def __init__(self, project: Project, records: Mapping[str, list[Record]]) -> None:
        self.project = project
        self.duck = duckdb.connect()
        self._count = 0
        self.duck.execute("set threads = 1")
        self.sources: dict[str, Rows] = {}
        for source in project.sources:
            self._read(source, records.get(source.name, []))
        for seed in project.seeds:
            table = self._table([(*row, 0, i) for i, row in enumerate(seed.rows)], seed.columns)
            self.sources[seed.name] = Rows(table, seed.columns)

    def _read(self, source: Source, records: list[Record]) -> None:
        rows = []
        for number, record in enumerate(records):
            values = value_of(source, record)
            if values is not None:
                rows.append((*(values[name] for name in source.columns), number, number))
        self.sources[source.name] = Rows(
            self._table(rows, source.columns),
            source.columns,
            {source.time: source.delay * SECOND} if source.time else {},
        )

    def _table(self, rows: list[tuple[Any, ...]], columns: Mapping[str, str]) -> str:
        definitions = [
            *(f'"{name}" {_TYPES[kind]}' for name, kind in columns.items()),
            "_b integer",
            "_o bigint",
        ]
        name = self.new()
        self.duck.execute(f"create temp table {name} ({', '.join(definitions)})")
        if rows:
            self.duck.executemany(f"insert into {name} values ({', '.join('?' * len(definitions))})", rows)
        return name

    def new(self) -> str:
        self._count += 1
        return f"r{self._count}"

    def create_table(self, sql: str) -> str:
        name = self.new()
        self.duck.execute(f"create temp table {name} as {sql}")
        return name

    def rows(self, rows: Rows) -> list[dict[str, Any]]:
        names = ", ".join(f'"{name}"' for name in rows.columns)
        tuples = self.duck.execute(f"select {names} from {rows.table}").fetchall()
        return [dict(zip(rows.columns, values, strict=True)) for values in tuples]


@dataclass
class Expected:
    stored: dict[str, Rows] = field(default_factory=dict)
    """By model: what is stored; `_b` is the batch of the query that does it."""
    refused: dict[str, Rows] = field(default_factory=dict)
    """By model: rows that a data test sends to dead letters."""


def expected(oracle: Oracle, arrived: Mapping[str, Arrived], makers: Mapping[str, str]) -> Expected:
    """Return what all sinks and tables hold; `makers` are the queries that store them."""
    expected_rows = Expected()
    for model in oracle.project.models:
        if model.kind != "view" or model.id in makers:
            rows = Within(oracle, arrived[makers[model.id]], expected_rows, model).rows_of(model)
            if model.test and model.kind != "view":
                condition, severity = model.test
                good = f"coalesce({duck(condition)}, true)"
                if severity == "dead_letter":
                    bad = oracle.create_table(f"select * from {rows.table} where not {good}")
                    expected_rows.refused[model.name] = Rows(bad, rows.columns)
                rows = Rows(
                    oracle.create_table(f"select * from {rows.table} where {good}"),
                    rows.columns,
                    rows.times,
                    rows.changing,
                )
            if model.kind == "table":
                rows = _newest(oracle, model, rows)
            expected_rows.stored[model.name] = rows
    return expected_rows


def _newest(oracle: Oracle, model: Model, rows: Rows) -> Rows:
    keys = ", ".join(f'"{name}"' for name in model.key)
    order = f'"{model.order_by}" desc, ' if model.order_by else ""
    best = f"row_number() over (partition by {keys} order by {order}_b desc, _o desc) = 1"
    return Rows(
        oracle.create_table(f"select * from {rows.table} qualify {best}"), rows.columns, changing=True
    )


class Within:
    """The relations that one stored model is made of, within the micro-batches of its query."""

    def __init__(self, oracle: Oracle, arrived: Arrived, expected_rows: Expected, model: Model) -> None:
        self.oracle, self.arrived, self.expected, self.model = oracle, arrived, expected_rows, model
        self.project = oracle.project
        self.relations: dict[str, Rows] = {}
        self.clock = Clock(self)

    # -- relations

    def relation(self, name: str) -> Rows:
        """Return the rows of what a model reads, as they come."""
        if name not in self.relations:
            self.relations[name] = self._relation(self.project.by_name[name])
        return self.relations[name]

    def _relation(self, of: Source | Seed | Model) -> Rows:
        match of:
            case Source():
                return self._arrived(of.id, self.oracle.sources[of.name])
            case Model(kind="table"):
                return self.expected.stored[of.name]
            case Model() if of.id in self.arrived.parts:
                rows = self.expected.stored[of.name]
                return rows if rows.changing else self._arrived(of.id, rows)
            case Model(kind="sink"):
                rows = self.rows_of(of)
                if of.test:
                    good = f"coalesce({duck(of.test[0])}, true)"
                    table = self.oracle.create_table(f"select * from {rows.table} where {good}")
                    rows = replace(rows, table=table)
                return rows
            case Model():
                return self.rows_of(of)
        raise TypeError(of)

    def _arrived(self, id_: str, rows: Rows) -> Rows:
        """Give rows the batch of this query in which they were read."""
        parts = ", ".join(f"({i}, {batch})" for i, batch in enumerate(self.arrived.parts[id_]))
        names = ", ".join(f'f."{name}"' for name in columns_of(rows.columns))
        batches = (
            f"(values {parts}) as p(part, b)" if parts else "(select 0 as part, 0 as b where false) as p"
        )
        table = self.oracle.create_table(
            f"select {names}, p.b as _b, f._b * 1000000 + f._o as _o from {rows.table} as f join {batches} on p.part = f._b"
        )
        return Rows(table, rows.columns, rows.times)

    def at_rest(self, name: str) -> Rows:
        of = self.project.by_name[name]
        if isinstance(of, Source):
            rows = self.oracle.sources[name]
            best = f'row_number() over (partition by "{of.key}" order by _o desc) = 1'
            last = f"select * from {rows.table} qualify {best}"
            deleted = " and ".join(f'"{column}" is null' for column in of.columns if column != of.key)
            return Rows(
                self.oracle.create_table(f"select * from ({last}) where not ({deleted})"), rows.columns
            )
        return self.expected.stored[name] if isinstance(of, Model) else self.oracle.sources[name]

    # -- models

    def rows_of(self, model: Model) -> Rows:
        rows = self._body(model)
        return self._deduped(rows, *model.dedupe) if model.dedupe else rows

    def _body(self, model: Model) -> Rows:
        match model.body:
            case Select() as body:
                return self._select(body)
            case Group() as body:
                return self._group(body, closes=model.emit == "on_close")
            case Distinct() as body:
                rows = self._filtered(self.relation(body.of), body.where)
                columns = {name: rows.columns[name] for name in body.names}
                times = {name: delay for name, delay in rows.times.items() if name in columns}
                return self._deduped(replace(rows, columns=columns, times=times), tuple(columns), None)
            case Explode() as body:
                return self._explode(body)
            case Union() as body:
                return self._union(body)
            case Lookup() as body:
                return self._lookup(body)
            case Join() as body:
                return self._join(body)

    def _filtered(self, rows: Rows, where: Any) -> Rows:
        if where is None:
            return rows
        table = self.oracle.create_table(f"select * from {rows.table} where {duck(where)}")
        return replace(rows, table=table)

    def _select(self, body: Select) -> Rows:
        rows = self._filtered(self.relation(body.of), body.where)
        selected = ", ".join(f'{duck(e)} as "{name}"' for name, e in body.items)
        columns = {name: kind_of(e, rows.columns) for name, e in body.items}
        times = {name: rows.times[e[1]] for name, e in body.items if e[0] == "col" and e[1] in rows.times}
        # A window is two columns here.
        for name, kind in list(columns.items()):
            if kind == "w":
                selected += f', "{body_window(body, name)}__end" as "{name}__end"'
        return Rows(
            self.oracle.create_table(f"select {selected}, _b, _o from {rows.table}"),
            columns,
            times,
            rows.changing,
            rows.lag,
        )

    def _explode(self, body: Explode) -> Rows:
        rows = self.relation(body.of)
        parts = f"string_split(\"{body.text}\", 'a')"
        if body.outer:
            parts = f"coalesce({parts}, [null])"
        selected = ", ".join(
            f'"{name}"' for name in columns_of({name: rows.columns[name] for name in body.names})
        )
        selected = f"{selected}, " if selected else ""
        table = self.oracle.create_table(
            f'select {selected}unnest({parts}) as "{body.name}", _b, _o from {rows.table}'
        )
        columns = {name: rows.columns[name] for name in body.names} | {body.name: "s"}
        return Rows(
            table, columns, {n: d for n, d in rows.times.items() if n in columns}, rows.changing, rows.lag
        )

    def _union(self, body: Union) -> Rows:
        sides = [self._select(side) for side in body.sides]
        names = list(sides[0].columns)
        parts = [
            "select "
            + ", ".join(f'"{column}" as "{name}"' for column, name in zip(side.columns, names, strict=True))
            + f", _b, _o from {side.table}"
            for side in sides
        ]
        aligned = [dict(zip(side.columns, names, strict=True)) for side in sides]
        times = [
            {renamed[n]: d for n, d in side.times.items()}
            for side, renamed in zip(sides, aligned, strict=True)
        ]
        shared = {n: d for n, d in times[0].items() if all(other.get(n) == d for other in times)}
        return Rows(
            self.oracle.create_table(" union all ".join(parts)),
            sides[0].columns,
            shared,
            lag=max(side.lag for side in sides),
        )

    def _lookup(self, body: Lookup) -> Rows:
        rows, table = self.relation(body.of), self.at_rest(body.at_rest)
        columns = {name: rows.columns[name] for name in body.names}
        selected = [f'l."{name}"' for name in columns_of(columns)]
        selected += [f'r."{there}" as "{name}"' for name, there in body.added]
        columns |= {name: table.columns[there] for name, there in body.added}
        joined = self.oracle.create_table(
            f"select {', '.join(selected)}, l._b, l._o from {rows.table} as l {body.kind} {table.table} as r "
            f'on r."{body.key}" = l."{body.on}"'
        )
        return Rows(
            joined, columns, {n: d for n, d in rows.times.items() if n in columns}, rows.changing, rows.lag
        )

    # -- states

    def _not_late(self, rows: Rows, end: str) -> str:
        """Return rows whose window, or time, has not been passed before their batch."""
        clock = self.clock.table()
        if not clock:
            return rows.table
        return self.oracle.create_table(
            f"select f.* from {rows.table} as f join {clock} as c on c.b = f._b where {end} is null or {end} > c.late - {rows.lag}"
        )

    def _waiting(self, table: str, end: str, lag: int) -> str:
        """Return the rows of a join's side, and whether each `_waits` for a partner that comes after it.

        Above another state a row may come one batch late; it meets what is there, and is not kept after that.
        """
        clock = self.clock.table()
        if not clock:
            return self.oracle.create_table(f"select *, true as _waits from {table}")
        return self.oracle.create_table(
            f"select f.*, coalesce({end} >= c.evict - {lag}, true) as _waits "
            f"from {table} as f join {clock} as c on c.b = f._b"
        )

    def _group(self, body: Group, *, closes: bool) -> Rows:
        unfiltered = self.relation(body.of)
        if body.watermark:
            unfiltered = replace(
                unfiltered, times={**unfiltered.times, body.watermark[0]: body.watermark[1] * SECOND}
            )
        rows = self._filtered(unfiltered, body.where)
        columns = {name: kind_of(e, rows.columns) for name, e in body.keys}
        keys = [f'{duck(e)} as "{name}"' for name, e in body.keys]
        groups = [duck(e) for _, e in body.keys]
        measures = []
        for name, function, argument in body.measures:
            measures.append(f'{function}({"*" if argument is None else duck(argument)}) as "{name}"')
        values = {
            name: "i" if function == "count" else kind_of(argument, rows.columns)
            for name, function, argument in body.measures
        }
        if body.window is None:
            selected = ", ".join([*keys, *measures])
            sql = f"select {selected}, 0 as _b, 0 as _o from {rows.table} group by {', '.join(groups)}"
            return self._having(body, sql, columns | values, changing=True)
        windows = self._windows(rows, body.window, body)
        bounds = []
        for name, bound in zip(body.bounds, ["_start", "_end"], strict=False):
            columns[name] = "w" if body.is_window_column else "t"
            bounds.append(
                f'{bound} as "{name}"' + (f', _end as "{name}__end"' if body.is_window_column else "")
            )
        selected = ", ".join([*keys, *bounds, *measures])
        grouped = ", ".join([*groups, "_start", "_end"])
        if not closes:
            sql = f"select {selected}, 0 as _b, 0 as _o from {windows} group by {grouped}"
            return self._having(body, sql, columns | values, changing=True)
        clock = self.clock.table()
        closed = f"(select min(b) from {clock} where evict - {rows.lag} >= _end)"
        sql = f"select {selected}, {closed} as _b, 0 as _o from {windows} group by {grouped}"
        sql = f"select * from ({sql}) where _b is not null"
        delay = self._delay(unfiltered, body.window)
        closed_rows = self._having(
            body,
            sql,
            columns | values,
            changing=False,
            times={body.bounds[0]: delay} if body.is_window_column else {},
        )
        return replace(closed_rows, lag=rows.lag)

    def _delay(self, rows: Rows, window: Window) -> int:
        return rows.times.get(window.time[1], 0)

    def _having(
        self, body: Group, sql: str, columns: dict[str, str], *, changing: bool, times: Any = None
    ) -> Rows:
        if body.having is not None:
            sql = f'select * from ({sql}) where "{body.measures[0][0]}" > {body.having}'
        return Rows(self.oracle.create_table(sql), columns, times or {}, changing)

    def _windows(self, rows: Rows, window: Window, body: Group) -> str:
        """Return the rows that are not late, once for each window, with `_start` and `_end`."""
        size = window.size * SECOND
        match window.time:
            case ("window", name):
                spread = f'select *, "{name}" as _start, "{name}__end" as _end from {rows.table}'
                return self._not_late(replace(rows, table=self.oracle.create_table(spread)), "f._end")
            case ("window_time", name):
                time = f'("{name}__end" - 1)'
            case e:
                time = duck(e)
        if window.session:
            return sessions(
                self.oracle,
                rows.table,
                time,
                size,
                [duck(e) for _, e in body.keys],
                self.clock.table(),
                rows.lag,
            )
        slide = (window.slide or window.size) * SECOND
        count = -(-size // slide)
        spread = (
            f"select * from (select f.*, ({time} // {slide}) * {slide} - _i * {slide} as _start, _start + {size} as _end "
            f"from {rows.table} as f, (select unnest(range({count})) as _i) where {time} is not null) where {time} < _end"
        )
        return self._not_late(replace(rows, table=self.oracle.create_table(spread)), "f._end")

    def _deduped(self, rows: Rows, keys: tuple[str, ...], within: int | None) -> Rows:
        names = ", ".join(f'"{name}"' for name in keys)
        selected = ", ".join(f'"{name}"' for name in columns_of(rows.columns))
        times = list(rows.times)
        if within is None:
            table = rows.table
            for time in times:
                end = f'f."{time}__end"' if rows.columns[time] == "w" else f'f."{time}"'
                table = self._not_late(replace(rows, table=table), end)
            first = f"row_number() over (partition by {names} order by _b, _o) = 1"
            return Rows(
                self.oracle.create_table(f"select {selected}, _b, _o from {table} qualify {first}"),
                rows.columns,
                rows.times,
                lag=rows.lag,
            )
        (time,) = times
        return replace(rows, table=self._within(rows, keys, time, within * SECOND))

    def _within(self, rows: Rows, keys: tuple[str, ...], time: str, within: int) -> str:
        """Keep the first row of each key; forget a key when the watermark is past its time and more."""
        table = self._not_late(rows, f'f."{time}"')
        clock = dict(self.oracle.duck.execute(f"select b, evict from {self.clock.table()}").fetchall())
        key_columns = ", ".join(f'"{name}"' for name in keys)
        on_time = self.oracle.duck.execute(
            f'select _b, _o, "{time}", {key_columns} from {table} order by _b, _o'
        ).fetchall()
        expires: dict[tuple[Any, ...], int] = {}
        firsts = []
        for batch in range(self.arrived.batches):
            for of, order, event_time, *key in on_time:
                if of == batch and tuple(key) not in expires:
                    expires[tuple(key)] = event_time + within
                    firsts.append((of, order))
            expires = {key: until for key, until in expires.items() if until > clock[batch] - rows.lag}
        chosen = self.oracle.new()
        self.oracle.duck.execute(f"create temp table {chosen} (b integer, o bigint)")
        if firsts:
            self.oracle.duck.executemany(f"insert into {chosen} values (?, ?)", firsts)
        return self.oracle.create_table(
            f"select f.* from {table} as f join {chosen} as c on c.b = f._b and c.o = f._o"
        )

    def _join(self, body: Join) -> Rows:
        left, right = self.relation(body.left), self.relation(body.right)
        early, late = body.times
        lefts, rights = self._not_late(left, f'f."{early}"'), self._not_late(right, f'f."{late}"')
        behind = max(left.lag, right.lag)
        lefts = self._waiting(lefts, f'f."{early}" + {body.after * SECOND}', behind)
        rights = self._waiting(rights, f'f."{late}" + {body.before * SECOND}', behind)
        lefts = self.oracle.create_table(f"select *, row_number() over () as _n from {lefts}")
        selected = ", ".join(f'{side}."{column}" as "{name}"' for side, column, name in body.names)
        sides = {"l": left, "r": right}
        # What comes out is as late as a row can be that waits for a partner (produceOutputWatermark).
        lag = behind + max(body.before, body.after) * SECOND + SECOND // 1000
        columns = {name: sides[side].columns[column] for side, column, name in body.names}
        times = {
            name: sides[side].times[column]
            for side, column, name in body.names
            if column in sides[side].times
        }
        on = (
            f'l."{body.on[0]}" = r."{body.on[1]}" and r."{late}" between l."{early}" - {body.before * SECOND} '
            f'and l."{early}" + {body.after * SECOND} '
            # The left rows of a batch come first. They wait for its right rows even if they go then, except for
            # those of a semi join.
            f"and case when l._b = r._b then {'l._waits' if body.kind == 'left semi join' else 'true'} "
            "when l._b < r._b then l._waits else r._waits end"
        )
        both = "greatest(l._b, r._b)"
        if body.kind == "left semi join":
            met = f"select l._n, min({both}) as b from {lefts} as l join {rights} as r on {on} group by l._n"
            sql = f"select {selected}, m.b as _b, l._o from {lefts} as l join ({met}) as m on m._n = l._n"
            return Rows(self.oracle.create_table(sql), columns, times, lag=lag)
        sql = f"select {selected}, {both} as _b, l._o * 100000 + r._o as _o from {lefts} as l join {rights} as r on {on}"
        if body.kind == "left join":
            # A row that met none is told of when no partner can come that is not late.
            bound = f'l."{early}" + {body.after * SECOND}'
            gone = f"(select min(b) from {self.clock.table()} where evict - {behind} > {bound} and b >= l._b)"
            nulls = selected.replace('r."', 'n."')
            none = ", ".join(f'null::{_TYPES[kind]} as "{name}"' for name, kind in right.columns.items())
            alone = f"select {nulls}, {gone} as _b, l._o from {lefts} as l, (select {none}) as n where not exists (select 1 from {rights} as r where {on})"
            sql += f" union all select * from ({alone}) where _b is not null"
        return Rows(self.oracle.create_table(sql), columns, times, lag=lag)


def columns_of(columns: Mapping[str, str]) -> list[str]:
    """Return the columns of a table: a window has two."""
    return [
        column
        for name, kind in columns.items()
        for column in ([name, f"{name}__end"] if kind == "w" else [name])
    ]


def body_window(body: Select, name: str) -> str:
    return next(e[1] for alias, e in body.items if alias == name)


def kind_of(e: Any, columns: Mapping[str, str]) -> str:
    """Return the kind of an expression."""
    match e:
        case ("col", name):
            return columns[name]
        case ("lit", str()):
            return "s"
        case ("upper" | "joined" | "first", *_):
            return "s"
        case ("later" | "minute" | "time", *_):
            return "t"
        case ("coalesce", a, *_):
            return kind_of(a, columns)
        case ("if", _, a, _):
            return kind_of(a, columns)
        case _:
            return "i"
