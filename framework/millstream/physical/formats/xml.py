"""XML: one element a record, its fields as elements within."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.expressions import Piece, joined
from millstream.physical.emit.draft import BAD
from millstream.physical.formats.base import Decoded, Format, Named, described, parsed, row
from millstream.plan.nodes import Column

_TIMES = (
    "'timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS'"
)


def decode(fields: Sequence[Column]) -> Decoded:
    if not fields:
        return Decoded()
    rows = parsed(
        "from_xml", fields, f"map('columnNameOfCorruptRecord', '{BAD}', 'ignoreSurroundingSpaces', 'false')"
    )
    return Decoded(rows=rows, why=f"not an XML element with {described(fields)}")


def encode(items: Sequence[Named]) -> tuple[Piece, ...]:
    return joined(("to_xml(", *row(items), f", map('rowTag', 'row', {_TIMES}))"))


XML = Format(decode, encode)
