"""The nodes of a plan: a closed set of values.

A node is shared if two others have the same object as input. Equal nodes have the same `fingerprint`.
Columns of a node have unique names, ignoring case. Its expressions read the columns of its inputs by name.
"""

from millstream.plan.nodes.base import Binary, Node, Unary
from millstream.plan.nodes.leaves import RowsScan, SeedScan, SourceScan, TableScan, TopicScan, TraitsLeaf
from millstream.plan.nodes.maintenance import Maintenance
from millstream.plan.nodes.parts import (
    CARRIED,
    GOOD_TEXT,
    METADATA,
    RAW,
    RECORD_HEADERS,
    RECORD_TIME,
    RELAYED_TIME,
    Column,
    Emit,
    Item,
    JoinColumn,
    JoinKind,
    LoggedRows,
    Matched,
    Measure,
    Meter,
    Metering,
    ReadColumns,
    RecordValidity,
    RowCheck,
    RowLog,
    columns_text,
    conditions_text,
    good_of,
    is_good,
    is_hidden,
    with_good,
)
from millstream.plan.nodes.plan import Plan
from millstream.plan.nodes.stateful import VERSION_PLACE, Aggregate, Dedupe, Join, Stateful, TemporalJoin
from millstream.plan.nodes.stateless import (
    Decode,
    Expand,
    Filter,
    Lookup,
    Maintained,
    MatchedGroups,
    Opaque,
    Output,
    Project,
    Repartition,
    Union,
    Watermark,
    reads_of,
)

AnyNode = (
    TopicScan
    | TraitsLeaf
    | SeedScan
    | SourceScan
    | TableScan
    | Decode
    | Filter
    | MatchedGroups
    | Project
    | Expand
    | Repartition
    | Aggregate
    | Dedupe
    | Watermark
    | Stateful
    | Join
    | TemporalJoin
    | Lookup
    | Union
    | Opaque
    | Maintained
    | Output
)
"""All kinds of nodes."""

__all__ = [
    "CARRIED",
    "GOOD_TEXT",
    "METADATA",
    "RAW",
    "RECORD_HEADERS",
    "RECORD_TIME",
    "RELAYED_TIME",
    "VERSION_PLACE",
    "Aggregate",
    "AnyNode",
    "Binary",
    "Column",
    "Decode",
    "Dedupe",
    "Emit",
    "Expand",
    "Filter",
    "Item",
    "Join",
    "JoinColumn",
    "JoinKind",
    "LoggedRows",
    "Lookup",
    "Maintained",
    "Maintenance",
    "Matched",
    "MatchedGroups",
    "Measure",
    "Meter",
    "Metering",
    "Node",
    "Opaque",
    "Output",
    "Plan",
    "Project",
    "ReadColumns",
    "RecordValidity",
    "Repartition",
    "RowCheck",
    "RowLog",
    "RowsScan",
    "SeedScan",
    "SourceScan",
    "Stateful",
    "TableScan",
    "TemporalJoin",
    "TopicScan",
    "TraitsLeaf",
    "Unary",
    "Union",
    "Watermark",
    "columns_text",
    "conditions_text",
    "good_of",
    "is_good",
    "is_hidden",
    "reads_of",
    "with_good",
]
