"""Which files change what a project compiles to, besides positions and the case of keywords."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from millstream.compile.manifest import Compiled
from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.queries.topology import read_catalog
from millstream.sql.comparable_tokens import comparable_tokens

_POSITIONS = frozenset(("start", "stop", "as_of"))


def changed_paths(before: Compiled, after: Compiled, edited: Collection[str]) -> tuple[str, ...]:
    """Return the edited files because of which models or tests differ: their own, or else those of macros."""
    nodes = before.manifest.nodes
    changed = {nodes[id_].path for id_ in _changed_nodes(before, after) if id_ in nodes}
    if not changed:
        return ()
    of_nodes = tuple(path for path in edited if path in changed)
    rendered = {nodes[id_].path for id_ in (*before.sql, *before.tests) if id_ in nodes}
    return of_nodes or tuple(path for path in edited if path not in rendered)


def _changed_nodes(before: Compiled, after: Compiled) -> Iterator[NodeId]:
    yield from after.invalid - before.invalid
    for old, new in ((before.sql, after.sql), (before.tests, after.tests)):
        yield from (id_ for id_ in old if not _same_sql(old[id_], new.get(id_)))
    if before.catalog and after.catalog:
        models, others = read_catalog(before).models, read_catalog(after).models
        yield from (id_ for id_ in models if not same_plan(models[id_], others.get(id_)))


def _same_sql(before: str, after: str | None) -> bool:
    if after is None:
        return False
    old, new = comparable_tokens(before), comparable_tokens(after)
    return before == after or (old is not None and new is not None and old.words == new.words)


def same_plan(before: object, after: object) -> bool:
    """Return whether two values of a plan are the same, except for positions and the case of keywords."""
    if before == after:
        return True
    if type(before) is not type(after):
        return False
    if isinstance(before, Struct):
        names = [name for name in before.__struct_fields__ if name not in _POSITIONS]
        if isinstance(before, Expression) and isinstance(after, Expression):
            names.remove("pieces")
            if not _same_pieces(before, after):
                return False
        return all(same_plan(getattr(before, name), getattr(after, name)) for name in names)
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(same_plan(before[key], after[key]) for key in before)
    if isinstance(before, tuple | list) and isinstance(after, tuple | list):
        return len(before) == len(after) and all(map(same_plan, before, after))
    return isinstance(before, str) and _same_sql(before, str(after))


def _same_pieces(before: Expression, after: Expression) -> bool:
    texts = [[piece for piece in e.pieces if not isinstance(piece, str)] for e in (before, after)]
    return texts[0] == texts[1] and _same_sql(_as_text(before), _as_text(after))


def _as_text(expression: Expression) -> str:
    """Return the text with a word for each column and relation that it reads."""
    return "".join(piece if isinstance(piece, str) else "__read__" for piece in expression.pieces)
