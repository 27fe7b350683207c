"""How large the files of a table become when small ones are combined, and when that happens."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.core.byte_sizes import bytes_of
from millstream.queries.values import TableOutput

EVERY = 50
"""The number of batches after which small files are combined, and old ones removed."""
_MANY = 20
"""More files than that, if they are small, are combined."""
_LEAST, _PARTS = 16 << 20, 1_000
"""A combined file of a table with keys has so many bytes, or such a part of a large table: a batch reads and
writes only files that can have its keys, and these as a whole."""
_OF_APPENDED = "128 MB"
"""The size of combined files of tables whose rows stay, by default."""


def combines_after(batch: int) -> bool:
    """Whether small files are combined after the batch with this number."""
    return batch > 0 and batch % EVERY == 0


def file_size(table: TableOutput, total: int) -> int:
    """Return the bytes that a combined file has at most, in a table of this size."""
    if table.appends:
        return bytes_of(table.options.get("target_file_size") or _OF_APPENDED)
    return max(_LEAST, total // _PARTS)


def is_small(size: int, target: int) -> bool:
    return size < target // 2


def has_many_small(sizes: Iterable[int], target: int) -> bool:
    return sum(is_small(size, target) for size in sizes) > _MANY
