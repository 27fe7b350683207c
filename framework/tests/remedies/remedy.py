"""What a case is: SQL that a user wrote, what is reported of it, and the edit that the remedy asks for."""

from __future__ import annotations

from typing import NamedTuple

EVENTS, HITS, PLAIN = (f"{{{{ source('shop', '{name}') }}}}" for name in ("events", "hits", "plain"))
PRODUCTS = "{{ ref('products') }}"
A = {"user_id": "a", "type": "x", "product_id": "p1", "value": 1.0, "amount": 1, "at": "2026-01-01 00:00:01"}
B = A | {"user_id": "b", "type": "y", "amount": 5}
LATER = A | {"at": "2026-01-03 00:00:00"}
START = "2026-01-01 00:00:00"
ACCEPT = "; or accept it: config(unbounded_state='accept')"
OK = "unbounded_state='accept'"


class Case(NamedTuple):
    code: str
    under: str
    """What the caret stands under."""
    remedy: str
    sql: str
    edits: dict[str, str]
    steps: list[tuple[dict[str, list], list[dict]]] | tuple[()] = ()
    """Micro-batches: rows of each topic, or of a table that is read, and what is expected after them."""
    models: dict[str, str] = {}
    """Other models."""
    added: dict[str, str] = {}
    """Other models that the remedy asks for, or as it asks for them."""
    message: str = ""
    files: dict[str, str] = {}
    """Other files."""
    edited: dict[str, str] = {}
    """Other files as the remedy asks for them."""
    is_split: bool = False
    """The edited models run in several queries, with a topic between them."""
