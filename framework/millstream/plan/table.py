"""Encodes a plan as a table with one row per node, so that shared nodes stay shared.

A row has the fields of its node, and the indexes of its inputs, which come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Union, get_args, get_type_hints

import msgspec
from msgspec import Struct

from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack, to_sorted_msgpack
from millstream.plan.nodes import AnyNode, Node
from millstream.plan.nodes.order import in_order

_Kind = type[Node]


class _Form:
    """Converts the nodes of one kind to rows, and back."""

    def __init__(self, kind: _Kind) -> None:
        hints = get_type_hints(kind)
        self.kind = kind
        follows = kind.derived_columns is not Node.derived_columns
        reads = {name: hints[name] for name in kind.__struct_fields__ if _reads(hints[name])}
        self._one = [name for name, hint in reads.items() if hint is Node]
        self._many = [name for name in reads if name not in self._one]
        self.names = [
            name
            for name in kind.__struct_fields__
            if name not in reads and not (follows and name == "columns")
        ]
        self._field_values: Callable[[Node], tuple[Any, ...]] = attrgetter(*self.names)
        fields = [("inputs", tuple[int, ...]), *((name, hints[name]) for name in self.names)]
        self.row = msgspec.defstruct(
            f"{kind.__name__}Row", fields, frozen=True, array_like=True, tag=kind.__name__
        )

    def row_of(self, node: Node, inputs: Sequence[int] = ()) -> Struct:
        return self.row(tuple(inputs), *self._field_values(node))

    def node_of(self, row: Struct, nodes: Sequence[Node]) -> Node:
        inputs = [nodes[index] for index in row.inputs]  # type: ignore[attr-defined]  # a field of each row
        reads: dict[str, Any] = dict(zip(self._one, inputs, strict=False))
        if self._many:
            (name,) = self._many
            reads[name] = tuple(inputs)
        return self.kind(**reads, **dict(zip(self.names, self._field_values(row), strict=True)))  # type: ignore[arg-type]


def _reads(hint: Any) -> bool:
    """Return whether a field contains nodes."""
    return hint is Node or Node in get_args(hint)


class _Forms:
    @cached_property
    def by_kind(self) -> dict[_Kind, _Form]:
        return {kind: _Form(kind) for kind in get_args(AnyNode)}

    @cached_property
    def by_row(self) -> dict[type[Struct], _Form]:
        return {form.row: form for form in self.by_kind.values()}

    @cached_property
    def any_row(self) -> Any:
        return Union[tuple(self.by_row)]  # noqa: UP007 - the number of kinds varies


_FORMS = _Forms()
"""Created when a plan is first stored, which most commands never do."""


def encode_nodes(roots: Iterable[Node]) -> bytes:
    """Return nodes, with all their inputs, as bytes."""
    all_roots, forms = list(roots), _FORMS.by_kind
    indexes: dict[int, int] = {}
    rows: list[Struct] = []
    order = in_order(all_roots)
    for node in order:
        rows.append(forms[type(node)].row_of(node, [indexes[id(input_node)] for input_node in node.inputs]))
        indexes[id(node)] = len(indexes)
    # With fingerprints, to avoid computing them again.
    table = (rows, [indexes[id(root)] for root in all_roots], [node.fingerprint for node in order])
    return to_msgpack(table)


def decode_nodes(table: bytes) -> list[Node]:
    """Return the nodes that `encode_nodes` stored; raise `msgspec.DecodeError` if the bytes are invalid."""
    table_type: Any = tuple[list[_FORMS.any_row], list[int], list[str]]  # type: ignore[name-defined]  # created at run time
    rows, roots, fingerprints = from_msgpack(table, table_type)
    forms = _FORMS.by_row
    nodes: list[Node] = []
    for row, fingerprint in zip(rows, fingerprints, strict=True):
        node = forms[type(row)].node_of(row, nodes)
        node.__dict__["fingerprint"] = fingerprint
        nodes.append(node)
    if any(index >= len(nodes) for index in roots):
        raise msgspec.DecodeError("a root is not in the table")
    return [nodes[index] for index in roots]


def digest_nodes(roots: Iterable[Node]) -> bytes:
    """Return a digest of nodes and all their inputs, including names for display and what is shared."""
    all_roots = list(roots)
    indexes: dict[int, int] = {}
    hashed = blake2b(digest_size=16)
    for node in in_order(all_roots):
        hashed.update(_own_digest(node))
        hashed.update(repr([indexes[id(input_node)] for input_node in node.inputs]).encode())
        indexes[id(node)] = len(indexes)
    hashed.update(repr([indexes[id(root)] for root in all_roots]).encode())
    return hashed.digest()


def _own_digest(node: Node) -> bytes:
    """Return a digest of a node without its inputs, cached on the node."""
    cached: bytes | None = node.__dict__.get("own")
    if cached is None:
        row = _FORMS.by_kind[type(node)].row_of(node)
        cached = node.__dict__["own"] = blake2b(to_sorted_msgpack(row), digest_size=16).digest()
    return cached
