"""Lines of comma-separated values: fields by position, so none can be left out when decoding."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.expressions import Piece, joined
from millstream.physical.emit.draft import BAD
from millstream.physical.formats.base import Decoded, Format, Named, described, parsed, row
from millstream.plan.nodes import Column

_SPACES = "'ignoreLeadingWhiteSpace', 'false', 'ignoreTrailingWhiteSpace', 'false'"
_WRITE = (
    f"{_SPACES}, "
    "'timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS'"
)


def decode(fields: Sequence[Column]) -> Decoded:
    if not fields:
        return Decoded()
    rows = parsed(
        "from_csv",
        fields,
        f"map({_SPACES}, 'columnNameOfCorruptRecord', '{BAD}')",
    )
    return Decoded(rows=rows, why=f"not a CSV line of {described(fields)}")


def encode(items: Sequence[Named]) -> tuple[Piece, ...]:
    return joined(("to_csv(", *row(items), f", map({_WRITE}))"))


CSV = Format(decode, encode, narrow=False)
