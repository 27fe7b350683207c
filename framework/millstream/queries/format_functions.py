"""Python functions as formats in queries: those that decode, and columns that those that encode calculate.

sink orders in python:encode_order
sink orders ← select encode_order(named_struct('id', id, 'total', total)) as _encoded_value
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, join_pieces
from millstream.core.node_id import NodeId
from millstream.core.types import BINARY
from millstream.formats.format import DecodingCall, Format
from millstream.formats.registry import format_of
from millstream.outputs.kinds import Sink
from millstream.outputs.registry import Materialization
from millstream.plan.nodes import CARRIED, Decode, Item, Node, Output, Project, ReadColumns
from millstream.queries.emit.bad_records import DecodedPart, key_of, read_value_of, value_of
from millstream.queries.emit.draft import ENCODED_KEY, ENCODED_VALUE


def decoding_calls(order: Iterable[Node], reads: Mapping[NodeId, ReadColumns]) -> tuple[DecodingCall, ...]:
    """Return the calls that decode records, without duplicates; `reads` are the columns that must be good."""
    parts = (
        (_value(node, reads.get(node.relation)), key_of(node, ""))
        for node in order
        if isinstance(node, Decode)
    )
    calls = (part.decoded.by_function for both in parts for part in both if part is not None)
    return tuple({call.name: call for call in calls if call is not None}.values())


def _value(node: Decode, reads: ReadColumns | None) -> DecodedPart:
    fails = node.on_bad_record == "fail"
    return read_value_of(node, "", reads) if fails and reads is not None else value_of(node, "")


def encoding_functions(outputs: Iterable[Output]) -> tuple[str, ...]:
    """Return the functions that encode the records of sinks."""
    names = (name for output in outputs for name in _encoders_of(output.materialization))
    return tuple(dict.fromkeys(names))


def _encoders_of(stored: Materialization) -> tuple[str, ...]:
    encoders = (format_of(encoding).encoder for _, encoding in stored.encodings)
    return tuple(name for name in encoders if name)


def with_encoded(output: Output) -> Output:
    """Let a projection below a sink call the functions that encode its values and keys."""
    sink = output.materialization.sink
    if sink is None or not _encoders_of(sink):
        return output
    columns = {column.name: column.expression for column in output.input.columns}
    encoded = list(
        _encoded(sink, {name: expression for name, expression in columns.items() if name not in CARRIED})
    )
    by_value = any(item.name == ENCODED_VALUE for item in encoded)
    used = {*output.keys, *(name for expression in output.expressions for name in expression.columns)}
    used |= CARRIED
    items = [
        Item(name, expression)
        for name, expression in columns.items()
        if not by_value or name.lower() in {other.lower() for other in used}
    ]
    project = Project(input=output.input, items=(*items, *encoded), models=(output.model,))
    return replace(output, input=project)


def _encoded(sink: Sink, columns: dict[str, Expression]) -> Iterator[Item]:
    value = format_of(sink.encoding)
    if value.encoder:
        yield Item(ENCODED_VALUE, _call(value, value.spark.encode(tuple(columns.items()))))
    key = format_of(sink.key_encoding) if sink.key_encoding is not None else None
    if key is not None and key.encoder:
        by_name = {name.lower(): name for name in columns}
        items = [(name, columns[name]) for name in (by_name[key_column.lower()] for key_column in sink.key)]
        match items:
            case [(_, only)]:  # like any other NULL, a struct that is NULL is not a key
                pieces = join_pieces((f"{key.encoder}(", *only.pieces, ")"))
            case _:
                pieces = key.spark.encode(items)
        yield Item(ENCODED_KEY, _call(key, pieces))


def _call(format_: Format, pieces: Sequence[Piece]) -> Expression:
    return Expression(tuple(pieces), BINARY, raises=True, functions=(format_.encoder,), atomic=True)
