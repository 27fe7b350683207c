"""What the branches of one query share: the last node that all their rows pass."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from millstream.plan.nodes import Decode, Node, Output, SourceScan, TableScan, TopicScan, Watermark
from millstream.plan.nodes.order import in_order
from millstream.queries.branches import OutputBranch
from millstream.queries.view_names import merge_columns


def with_one_read(branches: Sequence[OutputBranch], others: Sequence[Decode] = ()) -> list[Output]:
    """Return stateless outputs over one read of their source, with all columns that any of them reads.

    The fields of `others`, from other queries, are decoded too: this query must see all bad records.
    """
    bases = {id(b.base): b.base for b in branches}
    decodes = [base for base in bases.values() if isinstance(base, Decode)]
    scans = [base for base in bases.values() if isinstance(base, SourceScan)]
    new: dict[int, Node] = {}
    if decodes and len(decodes) == len(bases):
        one = decodes[0]
        for other in (*decodes[1:], *others):
            one = with_columns_of(one, other)
        new = dict.fromkeys(bases, one)
    elif scans and len(scans) == len(bases):
        scan = scans[0]
        for other_scan in scans[1:]:
            scan = replace(scan, columns=merge_columns(scan.columns, other_scan.columns))
        new = dict.fromkeys(bases, scan)
    else:
        new = dict(bases)
    outputs: list[Output] = []
    for branch in branches:
        chain: list[Node] = []
        node: Node = branch.output
        while node is not branch.base:
            chain.append(node)
            (node,) = node.inputs
        for above in reversed(chain):
            (input_node,) = above.inputs
            if id(above) not in new:
                # Without state, it doesn't matter how late a row is.
                over = new[id(input_node)]
                new[id(above)] = over if isinstance(above, Watermark) else above.with_inputs(over)
        output = new[id(branch.output)]
        assert isinstance(output, Output)
        outputs.append(output)
    return outputs


def with_columns_of(one: Decode, other: Decode) -> Decode:
    """Return a Decode with the columns of two."""
    return replace(
        one,
        fields=merge_columns(one.fields, other.fields),
        key=one.key or other.key,
        metadata=tuple(dict.fromkeys((*one.metadata, *other.metadata))),
        good=tuple({validity.name: validity for validity in (*one.good, *other.good)}.values()),
    )


def find_trunk(outputs: Sequence[Output]) -> Node | None:
    """Return the last node that all streaming rows of all outputs pass."""
    reached = [{id(node) for node in in_order([output])} for output in outputs]
    common = set.intersection(*reached)
    for node in reversed(in_order(outputs[:1])):
        if (
            id(node) in common
            and not isinstance(node, Output)
            and all(_through(output, node) for output in outputs)
        ):
            return node
    return None


def _through(output: Node, trunk: Node) -> bool:
    waiting = [output]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node is trunk or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, TopicScan | SourceScan) or (isinstance(node, TableScan) and node.changes):
            return False
        waiting += node.inputs
    return True
