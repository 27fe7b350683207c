"""References to nodes as users write them."""

from __future__ import annotations

import re

from millstream.core.node_id import NodeId

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
RESERVED_COLUMNS = frozenset(("_deleted", "_bad", "_record"))
"""Columns that queries add to rows (`queries/emit/draft.py`)."""
RESERVED = frozenset(("models", "seeds", "sources", "this", "millstream"))
"""Names with a meaning in rendered SQL: `models.orders`, `sources.shop.events`."""
_NAME = r"""['"]\s*([A-Za-z_]\w*)\s*['"]"""
_REF = re.compile(rf"ref\(\s*{_NAME}\s*\)\Z")
_SOURCE = re.compile(rf"source\(\s*{_NAME}\s*,\s*{_NAME}\s*\)\Z")
_CALL = re.compile(r"\s*(?:\{\{)?\s*((?:ref|source)\([^(){}]*\))\s*(?:\}\})?\s*\Z")
_ID = re.compile(r"(?:(?:model|seed)\.[A-Za-z_]\w*|source\.[A-Za-z_]\w*\.[A-Za-z_]\w*)\Z")


def relation_call(text: str) -> str | None:
    """Return the call of `ref('x')` or `source('s', 't')` that a text is, with or without braces."""
    call = _CALL.match(text)
    return call[1] if call else None


def parse_reference(text: str) -> NodeId | None:
    """Return the node id of `ref('x')`, `source('s', 't')`, an id or a bare model name."""
    text = text.strip()
    if text.startswith("{{") and text.endswith("}}"):
        text = text[2:-2].strip()
    if call := _SOURCE.match(text):
        return NodeId("source", f"{call[1]}.{call[2]}")
    if call := _REF.match(text):
        return NodeId("model", call[1])
    return parse_id(text) or (NodeId("model", text) if IDENTIFIER.match(text) else None)


def parse_id(text: str) -> NodeId | None:
    """Return the relation that a text is the id of."""
    return NodeId.parse(text) if _ID.match(text) else None


def model_in(text: str) -> str:
    """Return the name of a model as users refer to it; another relation's id, which no model is called by."""
    id_ = parse_reference(text)
    if id_ is None:
        return text
    return id_.name if id_.kind == "model" else str(id_)
