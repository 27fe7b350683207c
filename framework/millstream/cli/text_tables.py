"""Aligned columns of text, for lists that are also read by programs such as grep."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def text_table(rows: Iterable[Sequence[str]], right: Collection[int] = ()) -> str:
    """Align rows, of which the first is the header; empty if there is no other one."""
    rows = list(rows)
    if len(rows) < 2:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
