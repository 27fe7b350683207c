"""Nodes with state."""

from __future__ import annotations

from millstream.core.cached_property import once
from millstream.core.expressions import Expression
from millstream.plan.nodes.base import Binary, Node, Unary
from millstream.plan.nodes.order import in_order
from millstream.plan.nodes.parts import Column, Emit, Item, Measure, conditions_text

VERSION_PLACE = ("_partition", "_offset")
"""The columns by which, of several versions with the same time, the last one is found."""


class Aggregate(Unary, frozen=True, eq=False, kw_only=True):
    """One row per group: the keys, then the measures."""

    keys: tuple[Item, ...]
    """Columns of the input, maybe renamed, and at most one `window(…)` or `session_window(…)`."""
    measures: tuple[Measure, ...]
    emit: Emit = "on_change"

    of_content = (*Unary.of_content, "expressions", "by_name")
    stateful = True
    participle = "grouped"

    @property
    def summary(self) -> str:
        measures, keys = (", ".join(map(str, parts)) for parts in (self.measures, self.keys))
        emit = self.emit.replace("_", " ")
        return f"aggregate {measures or 'distinct'} by {keys or 'nothing'} ({emit})"

    @once
    def expressions(self) -> tuple[Expression, ...]:
        measures = (part for measure in self.measures for part in measure.expressions)
        return (*(key.expression for key in self.keys), *measures)

    def derived_columns(self) -> tuple[Column, ...]:
        keys = tuple(Column(item.name, item.expression.type, item.expression.nullable) for item in self.keys)
        return (*keys, *(Column(m.name, m.call.type, m.call.nullable) for m in self.measures))

    @property
    def window(self) -> Item | None:
        """The key that is a window of time."""
        return next((key for key in self.keys if key.expression.column is None), None)


class Dedupe(Unary, frozen=True, eq=False, kw_only=True):
    """The first row of each key; a key is forgotten after `within`."""

    keys: tuple[str, ...]
    within: str | None = None
    by_position: bool = False
    """The keys are a sender's partition and an offset there; rows without an offset are no duplicates."""
    exact_by: str = ""
    """The event time by which an exact one compares rows; others may drop more than those within `within`."""
    position_columns: tuple[str, ...] = ()
    """The columns with a row's partition and offset, in whose order an exact one takes rows, if any."""

    in_fingerprint_if_set = Unary.in_fingerprint_if_set | {"exact_by", "position_columns"}
    stateful = True
    participle = "deduplicated"

    @property
    def operator(self) -> str:
        return "first_sent" if self.by_position else "dedupe"

    @property
    def summary(self) -> str:
        if self.by_position:
            return "drop records that were sent again"
        within = f" within {self.within}" if self.within else ""
        exactly = " exactly" if self.exact_by else ""
        return f"dedupe {', '.join(self.keys)}{within}{exactly}"

    @property
    def own_columns(self) -> tuple[str, ...]:
        """The columns that it needs itself."""
        return (*self.keys, *((self.exact_by,) if self.exact_by else ()), *self.position_columns)

    @property
    def state_columns(self) -> tuple[Column, ...]:
        names = (*self.keys, self.exact_by) if self.exact_by else self.keys
        return tuple(map(self.column, names))


class Stateful(Unary, frozen=True, eq=False, kw_only=True):
    """A Python function that keeps state by key."""

    function: str
    keys: tuple[str, ...]
    generated: tuple[Column, ...]
    ttl: str | None = None
    """How long the state of a key without new rows is kept; None means forever."""
    time: str | None = None
    """The event time by which it expires; None: the clock."""
    times: str = ""
    """The column with the time of the record that a row comes from; rows have the newest of what was read."""

    stateful = True

    @property
    def summary(self) -> str:
        ttl = f" for {self.ttl}" if self.ttl else ""
        ttl += f" by {self.time}" if self.time else ""
        return f"stateful {self.function} by {', '.join(self.keys)}{ttl}"

    @property
    def own_function(self) -> str:
        return self.function

    @once
    def deterministic(self) -> bool:
        return False  # it depends on all earlier rows

    def derived_columns(self) -> tuple[Column, ...]:
        return self.generated


class Join(Binary, frozen=True, eq=False, kw_only=True):
    """Two streams, or two relations at rest."""

    stateful = True

    @property
    def summary(self) -> str:
        return f"{self.kind} join on {conditions_text(self.on) or 'nothing'}"

    @property
    def state_columns(self) -> tuple[Column, ...]:
        return (*self.left.columns, *self.right.columns)


class TemporalJoin(Binary, frozen=True, eq=False, kw_only=True):
    """Events (left), each with the version of a row (right) that was valid at its time.

    An event waits until no version of its time can come any more.
    """

    pairs: tuple[tuple[str, str], ...]
    """The columns of the left and the right side that are equal: all of the key of versions are."""
    time: str
    """The event time of the left side."""
    begins: str
    """The column of the right side from which a version is valid."""
    wait: int = 0
    """How many milliseconds an event still waits once the watermark has passed its time."""
    waited: int = 0
    """How many milliseconds they may have waited so below."""
    keep: int | None = None
    """For how many milliseconds a version is kept after its end, besides this; None: forever."""

    stateful = True
    participle = "joined"
    operator = "temporal_join"
    noun = "temporal join"

    @property
    def summary(self) -> str:
        return f"{self.kind} temporal join on {conditions_text(self.on)}"

    @property
    def state_columns(self) -> tuple[Column, ...]:
        return (*self.left.columns, *self.right.columns)

    @property
    def versions(self) -> tuple[Node, ...]:
        """The topics that its versions come from."""
        return tuple(leaf for leaf in in_order((self.right,)) if not leaf.inputs)

    @property
    def own_columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns of both sides that it needs itself."""
        left, right = zip(*self.pairs, strict=True)
        return (*left, self.time), (*right, self.begins, *VERSION_PLACE)
