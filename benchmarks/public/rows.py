"""Rows of published queries as texts: by which columns they differ, and how they are compared."""

from __future__ import annotations

from itertools import combinations

Rows = list[tuple[str | None, ...]]


def as_text(name: str, kind: str) -> str:
    """Return SQL for a value as a text; percentile_approx gives decimals with fewer digits than their type."""
    if kind == "binary":
        return f"hex({name})"
    text = f"cast({name} as string)"
    return f"cast(cast({text} as {kind}) as string)" if kind.startswith("decimal") else text


def key_of(sql: str, columns: list[str], expected: dict[int, Rows]) -> list[str]:
    """Return the fewest columns that tell the rows apart in all steps, preferring those that aren't computed."""
    if not columns:
        return ["c1"]
    low = [c.lower() for c in columns]
    if len(set(low)) < len(low):
        return low[:1]
    order = sorted(range(len(low)), key=lambda i: low[i] not in sql.lower().rpartition("group by")[2])
    for width in range(1, min(4, len(low)) + 1):
        for positions in combinations(order, width):
            if all(
                len({tuple(r[p] for p in positions) for r in rows}) == len(rows) for rows in expected.values()
            ):
                return [low[p] for p in sorted(positions)]
    return low


def difference(rows: Rows, expected: Rows) -> str:
    more = [r for r in rows if r not in expected][:2]
    less = [r for r in expected if r not in rows][:2]
    return f"{len(rows)} rows instead of {len(expected)}; not expected: {more}; missing: {less}"


def as_published(rows: Rows, lines: tuple[str, ...]) -> bool | None:
    """Tell whether rows are those published; None if these hold values of Python."""
    if any(word in line for line in lines for word in ("Row(", "datetime.", "Decimal(", "bytearray")):
        return None
    texts = ["\t".join("None" if v is None else v.replace(" -> ", ": ") for v in row) for row in rows]
    return sorted(map(normal, texts)) == sorted(map(normal, lines))


def normal(line: str) -> str:
    values = []
    for value in line.replace("'", "").split("\t"):
        text = value.strip()
        try:
            text = f"{float(text):.6g}"
        except ValueError:
            text = {"true": "True", "false": "False", "null": "None"}.get(text, text)
        values.append(text)
    return "\t".join(values).strip()
