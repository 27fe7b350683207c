"""The changed nodes in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream.review.formats.escape import code, plain, sentence
from millstream.review.summary import count
from millstream.review.values import ColumnChange, NodeChange, Review

_MOST_NODES, _MOST_COLUMNS, _MOST_NAMES = 40, 15, 5
_TITLES = ("column", "before", "after", "read by", "tests")
_QUIET = {"test", "unit_test", "exposure", "metric"}
_KINDS: dict[str, str] = {"added": "new", "retyped": "type", "nullability": "NULL"}
_NAMED = {"model", "source", "seed", "function", "setting", "test", "exposure", "metric"}
"""The kinds that are shown without the prefix of their ids."""


def node_details(review: Review) -> str:
    edited = [node for node in review.nodes if node.status != "affected" and node.kind not in _QUIET]
    parts = [_node(node) for node in edited[:_MOST_NODES]]
    if len(edited) > _MOST_NODES:
        parts.append(f"… and {len(edited) - _MOST_NODES} more, see `--output json`.")
    if affected := [node for node in review.nodes if node.status == "affected"]:
        parts.append("\n".join(_affected(affected)))
    if quiet := [node for node in review.nodes if node.kind in _QUIET]:
        parts.append("\n".join(_quiet(quiet)))
    return "\n\n".join(parts)


def _node(node: NodeChange) -> str:
    kind = "" if node.kind == "model" else f"{node.kind.replace('_', ' ')} "
    was = f" (was {code(_plain(node.old_id))})" if node.old_id else ""
    parts = [f"**{kind}{code(_plain(node.id))}** {node.status}{was}, {_where(node)}", ""]
    parts += [f"- {sentence(text)}" for text in node.what]
    if node.rows and node.kind == "model":
        parts.append("- so its rows change, and all of its columns")
    if node.because:
        parts.append(f"- because of {_names(map(_plain, node.because))}")
    if node.columns:
        parts += [*([""] if parts[-1] else []), *_columns(node.columns)]
    return "\n".join(parts).rstrip()


def _where(node: NodeChange) -> str:
    """Return the file, and the first edited line, which may be in another file (a macro, a variable)."""
    if not node.edited_lines:
        return code(node.path)
    first = node.edited_lines[0]
    location = code(f"{first.path}:{first.line}")
    return location if first.path == node.path else f"{code(node.path)}, edited in {location}"


def _columns(columns: tuple[ColumnChange, ...]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    by_name: dict[str, list[ColumnChange]] = {}
    for column in columns:
        by_name.setdefault(column.name, []).append(column)
    for changes in list(by_name.values())[:_MOST_COLUMNS]:
        # A column with another type is also computed differently: one row shows both.
        first, last = changes[0], changes[-1]
        kinds = ", ".join(_KINDS.get(change.kind, change.kind) for change in changes)
        before, after = last.before, last.after
        if last is not first and first.kind == "retyped":
            before, after = f"{before} {first.before}".strip(), f"{after} {first.after}".strip()
        if not before and not after and first.because:
            after_text = f"through {_names(map(_plain, first.because))}"
        else:
            after_text = code(after)
        name = f"{code(first.name)} {kinds}"
        rows.append((name, code(before), after_text, _readers(first), _tests(first)))
    # A comment is narrow: omit columns that are empty in all rows.
    shown = [n for n in range(len(_TITLES)) if n == 0 or any(row[n] for row in rows)]
    yield f"| {' | '.join(_TITLES[n] for n in shown)} |\n|{'---|' * len(shown)}"
    for row in rows:
        yield f"| {' | '.join(row[n] for n in shown)} |"
    if len(by_name) > _MOST_COLUMNS:
        yield f"| … {len(by_name) - _MOST_COLUMNS} more |{' |' * (len(shown) - 1)}"


def _readers(column: ColumnChange) -> str:
    direct = [
        f"{_plain(reader.id)}.{reader.column}" if reader.column else _plain(reader.id)
        for reader in column.readers
    ]
    direct_ids = {reader.id for reader in column.readers}
    below = [_plain(id_) for id_ in column.downstream if id_ not in direct_ids]
    return _names([*direct, *below, *column.exposures])


def _tests(column: ColumnChange) -> str:
    return count(len(column.tests), "test") if column.tests else "none"


def _affected(nodes: Iterable[NodeChange]) -> Iterator[str]:
    yield "Not edited, but their rows or columns change with what they read:\n"
    groups: dict[tuple[str, ...], list[str]] = {}
    for node in nodes:
        groups.setdefault(node.because, []).append(_plain(node.id))
    for because, names in groups.items():
        through = f" (through {_names(map(_plain, because))})" if because else ""
        yield f"- {_names(names, 20)}{through}"


def _quiet(nodes: Iterable[NodeChange]) -> Iterator[str]:
    yield "Also changed:\n"
    for node in nodes:
        yield f"- {node.kind.replace('_', ' ')} {code(_plain(node.id))} {node.status}"


def _names(names: Iterable[str], most: int = _MOST_NAMES) -> str:
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - most} more" if len(unique) > most else ""
    return ", ".join(code(name) for name in unique[:most]) + plain(more)


def _plain(id_: str) -> str:
    kind, _, name = id_.partition(".")
    return name if kind in _NAMED else id_
