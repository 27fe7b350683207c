"""What happens to the records of a sink that are larger than Kafka accepts."""

from __future__ import annotations

from millstream.plan.nodes import Decode, Output, TopicScan
from millstream.plan.nodes.order import in_order
from millstream.queries.record_accounting import counted_source
from millstream.queries.values import TooLarge


def too_large(output: Output) -> TooLarge | None:
    """Return what its `on_bad_record` says, or that of the source whose records it sends on one by one.

    None if the query stops: that is the default, and above groups and joins only the model itself can say
    another. Dead letters go to the topic of the first source.
    """
    nodes = in_order((output,))
    counted = counted_source(output)
    decodes = {node.relation: node for node in nodes if isinstance(node, Decode)}
    source = decodes.get(counted)
    policy = output.options.get("on_bad_record") or (source.on_bad_record if source else "fail")
    if policy == "skip":
        return TooLarge()
    scans = [node for node in nodes if isinstance(node, TopicScan)]
    if policy != "dead_letter" or not scans:
        return None
    read = next((scan for scan in scans if scan.relation == counted), scans[0])
    return TooLarge(read.dead_letters)
