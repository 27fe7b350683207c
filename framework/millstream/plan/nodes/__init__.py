"""The nodes of a plan: a closed set of values.

A node is shared if two others have the same object as input. Equal nodes have the same `fingerprint`.
Columns of a node have unique names, ignoring case. Its expressions read the columns of its inputs by name.
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
    Meter,
    Metering,
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
"""All kinds of nodes."""

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
    "Meter",
    "Metering",
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
