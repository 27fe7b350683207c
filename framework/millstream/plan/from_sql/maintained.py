"""Constructs over changing tables that a stream can't maintain."""

from __future__ import annotations

from millstream.core.node_id import NO_NODE, NodeId
from millstream.plan.from_sql.keys import written_keys
from millstream.plan.nodes import Node, TableScan, TraitsLeaf
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import Traits


def join_of_tables(left: Node, traits: Traits, right: Traits, *, rest: bool) -> tuple[str, str] | None:
    """Return the error of a join of a table's changes with another table, and the remedy; None if valid.

    Each change of the left table looks up the newest row of the right one. A change of the right one alone
    would never reach the result. `rest` says that the model only reads what can be read at rest.
    """
    if "table changes" not in traits.below:
        return None
    if not right.looks_up:
        return None
    name = right.looks_up.last_name
    ours = _changing_table(left).last_name
    message = f"a change of only '{name}' would not reach this join of tables"
    of = f" that '{ours}' is built from" if ours else ""
    if rest:
        return message, f"make this model a table, which a sink can read, with {stored_as_table(traits.keys)}"
    return message, f"join the events{of} with '{name}': each event looks up its newest row"


def stored_as_table(keys: tuple[str, ...], more: str = "") -> str:
    """Return the configuration of a table; `more` are further options."""
    return f"config(materialized='table', unique_key={written_keys(keys)}{more and f', {more}'})"


def _changing_table(node: Node) -> NodeId:
    """Return the first table that a node reads as a stream of changes; `NO_NODE` if there is none."""
    for below in in_order((node,)):
        if isinstance(below, TableScan) and below.changes:
            return below.relation
        if isinstance(below, TraitsLeaf) and below.mode != "static":
            return below.relation
    return NO_NODE
