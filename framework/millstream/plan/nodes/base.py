"""The base of all nodes, with the properties of each kind.

A property has the default of most kinds here; other kinds override it where they are defined.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from millstream.core.cached_property import once
from millstream.core.encoding import to_json
from millstream.core.expressions import Expression
from millstream.core.node_id import NO_NODE, NodeId
from millstream.plan.nodes.parts import Column, Item, JoinColumn, JoinKind, Measure, RowCheck


class Node(Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """A node: its columns, and names for display."""

    columns: tuple[Column, ...] = ()
    label: str = ""
    """The name of the relation: of the model or source if this is all of it, or else of its step."""
    models: tuple[NodeId, ...] = ()
    """Ids of the models whose SQL contains it."""

    not_in_fingerprint: ClassVar[frozenset[str]] = frozenset(("label", "models", "columns", "copy", "stored"))
    """Fields that a fingerprint ignores: names for display, and derived fields."""

    in_fingerprint_if_set: ClassVar[frozenset[str]] = frozenset(
        ("good", "checks_all_columns", "reads", "times", "relay")
    )
    """Fields that a fingerprint ignores as long as they are empty: signatures contain fingerprints."""

    of_content: ClassVar[tuple[str, ...]] = ("contents", "deterministic", "own")
    """Cached values that don't depend on inputs, which the same node over other inputs has too."""

    stateful: ClassVar[bool] = False
    """Whether it keeps state between the rows of a stream."""
    one_to_one: ClassVar[bool] = False
    """Whether each row of its input becomes one row."""
    participle: ClassVar[str] = ""
    """The past participle for names of relations: `filtered`."""

    def __post_init__(self) -> None:
        force_setattr(self, "columns", self.derived_columns())

    @once
    def fingerprint(self) -> str:
        """A digest of what it computes and of its inputs, without names for display."""
        pending = list(self.inputs)
        while pending:  # inputs first, without recursion
            missing = [
                input_node for input_node in pending[-1].inputs if "fingerprint" not in input_node.__dict__
            ]
            if missing:
                pending += missing
            else:
                assert pending.pop().fingerprint
        parts = [type(self).__name__]
        parts += [
            _content(getattr(self, name)) if content is None else content for name, content in self.contents
        ]
        return blake2b("\x1f".join(parts).encode(), digest_size=12).hexdigest()

    @once
    def contents(self) -> tuple[tuple[str, str | None], ...]:
        """What its fingerprint has of each field; None for inputs."""
        contents = [
            (name, None if _has_nodes(value := getattr(self, name)) else _content(value))
            for name in self.__struct_fields__
            if name not in self.not_in_fingerprint
            if name not in self.in_fingerprint_if_set or getattr(self, name)
        ]
        if type(self).derived_columns is Node.derived_columns:
            contents.append(("columns", _content(self.columns)))
        return tuple(contents)

    def derived_columns(self) -> tuple[Column, ...]:
        """Return the columns that follow from inputs and content; those of a leaf are given."""
        return self.columns

    @once
    def inputs(self) -> tuple[Node, ...]:
        return ()

    def with_inputs(self, *inputs: Node) -> Node:
        """Return the same node over other inputs with the same columns."""
        assert not inputs
        return self

    def over(self, **inputs: Any) -> Node:
        """Return the same node with other values of the fields that contain its inputs."""
        copied, cached = replace(self, **inputs), self.__dict__
        for name in self.of_content:
            if name in cached:
                copied.__dict__[name] = cached[name]
        return copied

    @property
    def relation(self) -> NodeId:
        """The source, seed or model that it reads; `NO_NODE` if it only reads other nodes."""
        return NO_NODE

    @property
    def operator(self) -> str:
        """The name of the operator in `explain` and diagrams: `filter`."""
        return type(self).__name__.lower()

    @property
    def noun(self) -> str:
        """The noun for sentences: `the projection of orders`."""
        return type(self).__name__.lower()

    @property
    def summary(self) -> str:
        """A one-line description."""
        raise NotImplementedError(type(self))

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions that it evaluates."""
        return ()

    @property
    def own_function(self) -> str:
        """The Python function that the node itself calls, outside of its expressions."""
        return ""

    @property
    def functions(self) -> tuple[str, ...]:
        """The Python functions that it calls for a row, one entry for each call."""
        names = [name for expression in self.expressions for name in expression.functions]
        return (*names, self.own_function) if self.own_function else tuple(names)

    @once
    def deterministic(self) -> bool:
        """Whether it always gives the same result for the same input."""
        return all(expression.deterministic for expression in self.expressions)

    @property
    def state_columns(self) -> tuple[Column, ...]:
        """The columns of a row of its state, if it has any."""
        return self.columns

    def origin(self, name: str) -> tuple[Node, str] | None:  # noqa: ARG002 - used by other kinds
        """Return the input that a column comes from, and its name there; None if the node computes it."""
        return None

    @once
    def by_name(self) -> dict[str, Column]:
        """The columns by name in lower case."""
        return {column.name.lower(): column for column in self.columns}

    def column(self, name: str) -> Column:
        return self.by_name[name.lower()]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


class Unary(Node, frozen=True, eq=False, kw_only=True):
    input: Node

    def derived_columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @once
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def with_inputs(self, *inputs: Node) -> Node:
        (single,) = inputs
        return self if single is self.input else self.over(input=single)

    def origin(self, name: str) -> tuple[Node, str] | None:
        # A kind with the same columns as its input passes them on.
        return (self.input, name) if type(self).derived_columns is Unary.derived_columns else None


class Binary(Node, frozen=True, eq=False, kw_only=True):
    left: Node
    right: Node
    kind: JoinKind
    on: tuple[Expression, ...]
    """Conjuncts over the names of `joined`."""
    joined: tuple[JoinColumn, ...]
    """The columns of both sides under unique names; SEMI and ANTI only return those of the left."""

    def derived_columns(self) -> tuple[Column, ...]:
        outer = {"left": ("right",), "right": ("left",), "full": ("left", "right")}.get(self.kind, ())
        sides = {"left": self.left.by_name, "right": self.right.by_name}
        columns: list[Column] = []
        for joined in self.joined:
            if joined.side == "right" and self.kind in {"semi", "anti"}:
                continue
            column = sides[joined.side][joined.source.lower()]
            columns.append(Column(joined.name, column.type, column.nullable or joined.side in outer))
        return tuple(columns)

    @once
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return self.on

    def origin(self, name: str) -> tuple[Node, str] | None:
        joined = self.by_joined[name.lower()]
        return (self.left if joined.side == "left" else self.right), joined.source

    @once
    def by_joined(self) -> dict[str, JoinColumn]:
        """The columns of both sides by name in lower case."""
        return {joined.name.lower(): joined for joined in self.joined}

    def with_inputs(self, *inputs: Node) -> Node:
        left, right = inputs
        return self if left is self.left and right is self.right else self.over(left=left, right=right)


def _has_nodes(value: Any) -> bool:
    return isinstance(value, Node) or (
        isinstance(value, tuple) and bool(value) and isinstance(value[0], Node)
    )


def _content(value: Any) -> str:
    match value:
        case Expression():
            return value.content
        case Item(name=name, expression=expression):
            return f"Item({name},{expression.content})"
        case RowCheck(name=name, severity=severity, wrong=wrong):
            return f"Check({name},{severity},{wrong.content})"
        case tuple():
            return f"({','.join(map(_content, value))})"
        case Node():
            return value.fingerprint
        case Measure():
            parts = (_content(getattr(value, name)) for name in value.__struct_fields__)
            return f"Measure({','.join(parts)})"
        case str() | bool() | None:
            return str(value)
        case _:
            return to_json(value).decode()
