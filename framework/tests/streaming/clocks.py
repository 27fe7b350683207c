"""Event time within one query: which columns tell it, where the watermark is, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streaming.shapes import SECOND, Distinct, Group, Join, Model, Union
from streaming.watermarks import watermarks

if TYPE_CHECKING:
    from streaming.oracle import Within

Nodes = dict[tuple[str, str], int]
"""By name of a relation and column of event time: the delay in microseconds."""


class UnknownMeaningError(Exception):
    """States above each other within one query, of which the oracle does not know what they mean together."""


class Clock:
    """The watermark of what one stored model is made of."""

    def __init__(self, query: Within) -> None:
        self.query = query
        self.table_name = ""
        self.chained = False
        """States are above each other: for those, Spark takes the watermark of the batch before for what is late."""

    def table(self) -> str:
        """Return a table with the watermark by batch, for what is `late` and for what to `evict`; empty: there is none."""
        if not self.table_name:
            nodes = self._nodes(self.query.model, {})
            if not nodes:
                return ""
            arrived, duck = self.query.arrived, self.query.oracle.duck
            timed_nodes = [(self._times(name, column), delay) for (name, column), delay in nodes.items()]
            evict = watermarks(arrived.batches, arrived.starts, timed_nodes)
            late = [0, *evict] if self.chained else evict
            self.table_name = self.query.oracle.new()
            duck.execute(f"create temp table {self.table_name} (b integer, late bigint, evict bigint)")
            rows = [(b, late[b], evict[b]) for b in range(arrived.batches)] or [(0, 0, 0)]
            duck.executemany(f"insert into {self.table_name} values (?, ?, ?)", rows)
        return self.table_name

    def _times(self, name: str, column: str) -> list[tuple[int, int]]:
        rows = self.query.relation(name)
        # The event time of a window is its last moment.
        time = f'("{column}__end" - 1)' if rows.columns[column] == "w" else f'"{column}"'
        sql = f"select _b, {time} from {rows.table} where {time} is not null"
        return self.query.oracle.duck.execute(sql).fetchall()

    def _nodes(self, model: Model, nodes: Nodes, above: Model | None = None) -> Nodes:
        """Return the columns whose event time decides; `above` keeps a state over this model's rows."""
        if above is not None and keeps_state(model):
            self.chained = True
            _check_chain(above, model)
        body = model.body
        if isinstance(body, Group) and body.watermark:
            column, delay = body.watermark
            nodes[body.of, column] = delay * SECOND
        above = model if keeps_state(model) else above
        for name in inputs(body):
            of = self.query.project.by_name[name]
            if isinstance(of, Model) and of.kind == "table":
                continue
            if isinstance(of, Model) and self._is_within(of) and (of.kind == "view" or self._has_state(of)):
                if of.kind == "sink":
                    _check_topic(above, of)
                self._nodes(of, nodes, above)
                continue
            if above is not None:  # a watermark that no state uses is dropped, so that it holds back none
                for column, delay in self.query.relation(name).times.items():
                    nodes.setdefault((name, column), delay)
        return nodes

    def _is_within(self, of: Model) -> bool:
        """Tell whether a model's rows are made in this query: it reads none of its topic or table."""
        return of.id not in self.query.arrived.parts and of.kind != "table"

    def _has_state(self, of: Model) -> bool:
        """Tell whether anything keeps a state between a model's rows and what the query reads."""
        below = [self.query.project.by_name[name] for name in inputs(of.body)]
        return keeps_state(of) or any(
            isinstance(m, Model) and self._is_within(m) and self._has_state(m) for m in below
        )


def _check_chain(above: Model, below: Model) -> None:
    if isinstance(above.body, Group) and above.body.watermark:
        raise UnknownMeaningError(
            f"{above.name} has a watermark above the state of {below.name} in one query"
        )
    closing = [isinstance(m.body, Group) and m.emit == "on_close" for m in (above, below)]
    if closing == [False, True] and isinstance(above.body, Group | Join):
        raise UnknownMeaningError(
            f"{above.name} keeps a state above the closing windows of {below.name} in one query"
        )


def _check_topic(above: Model | None, sink: Model) -> None:
    """Refuse a state over rows of a topic that it does not read, where their own event times would count."""
    if above is None:
        return
    timed = not isinstance(sink.body, Group) or sink.body.is_window_column
    if (
        above.body.window is not None
        if isinstance(above.body, Group)
        else timed or isinstance(above.body, Join)
    ):
        raise UnknownMeaningError(f"{above.name} and the sink {sink.name} keep states in one query")


def keeps_state(model: Model) -> bool:
    return isinstance(model.body, Group | Distinct | Join) or model.dedupe is not None


def inputs(body: Any) -> tuple[str, ...]:
    """Return the names of what is read as it comes."""
    match body:
        case Union(sides=sides):
            return tuple(side.of for side in sides)
        case Join():
            return body.left, body.right
        case _:
            return (body.of,)
