"""The nodes of a plan: a closed set of values, children first.

A node is shared when two nodes hold the same object; two nodes that do the same have the same `fingerprint`.
Columns of a node have unique names (in any case), and its expressions read the columns of its inputs by name.
"""

from millstream.plan.nodes.base import Binary, Node, Unary
from millstream.plan.nodes.leaves import Given, SeedScan, TableScan, TopicScan
from millstream.plan.nodes.parts import (
    METADATA,
    RAW,
    Check,
    Column,
    Emit,
    Item,
    JoinColumn,
    JoinKind,
    Measure,
    columns_text,
    conditions_text,
)
from millstream.plan.nodes.plan import Plan
from millstream.plan.nodes.stateful import Aggregate, Dedupe, Join, Stateful
from millstream.plan.nodes.stateless import (
    Decode,
    Expand,
    Filter,
    Lookup,
    Opaque,
    Output,
    Project,
    Repartition,
    Union,
    Watermark,
)

AnyNode = (
    TopicScan
    | Given
    | SeedScan
    | TableScan
    | Decode
    | Filter
    | Project
    | Expand
    | Repartition
    | Aggregate
    | Dedupe
    | Watermark
    | Stateful
    | Join
    | Lookup
    | Union
    | Opaque
    | Output
)
"""All kinds: a new one is a line here."""

__all__ = [
    "METADATA",
    "RAW",
    "Aggregate",
    "AnyNode",
    "Binary",
    "Check",
    "Column",
    "Decode",
    "Dedupe",
    "Emit",
    "Expand",
    "Filter",
    "Given",
    "Item",
    "Join",
    "JoinColumn",
    "JoinKind",
    "Lookup",
    "Measure",
    "Node",
    "Opaque",
    "Output",
    "Plan",
    "Project",
    "Repartition",
    "SeedScan",
    "Stateful",
    "TableScan",
    "TopicScan",
    "Unary",
    "Union",
    "Watermark",
    "columns_text",
    "conditions_text",
]
