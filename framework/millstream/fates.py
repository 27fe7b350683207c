"""Says what became of the records that a model read: written, filtered, skipped, dead letters or failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from millstream.plan.nodes import Decode, Filter, Output, Plan, TopicScan
from millstream.results import Fates, ModelResult


class Chain(Struct, frozen=True):
    """The operators between two topics, if each record gives at most one."""

    source: str
    filters: tuple[str, ...]
    """The models whose filters it passes."""
    digest: str


def chain_of(output: Output, outputs: Mapping[str, Output], reads: Mapping[str, int]) -> Chain | None:
    """Follow a model to the topic that its query reads; None if rows are created, joined or grouped."""
    filters: dict[str, None] = {}
    digests = [output.input.fingerprint]
    node = output.input
    while True:
        match node:
            case Filter():
                filters |= dict.fromkeys(node.models)
                node = node.input
            case Decode() if not node.unique_by:
                node = node.input
            case _ if node.one_to_one:
                (node,) = node.inputs
            case TopicScan() if node.relation in reads:
                digest = blake2b("\n".join(digests).encode(), digest_size=12).hexdigest()
                return Chain(node.relation, tuple(filters), digest)
            case TopicScan() if node.relation in outputs:
                node = outputs[node.relation].input  # its topic is written, but not read
                digests.append(node.fingerprint)
            case _:
                return None


def with_fates(results: Iterable[ModelResult], plan: Plan) -> tuple[ModelResult, ...]:
    """Add the fates of records to the results of models that give at most one record for each."""
    outputs = {output.model: output for output in plan.outputs}
    return tuple(
        replace(each, fates=_fates(each, outputs)) if each.id in outputs else each for each in results
    )


def _fates(result: ModelResult, outputs: Mapping[str, Output]) -> Fates | None:
    chain = chain_of(outputs[result.id], outputs, result.reads)
    if chain is None or result.rows_written is None:
        return None
    skipped, dead_letters = (
        sum(found.get(id_, 0) for id_ in (chain.source, result.id))
        for found in (result.skipped, result.dead_letters)
    )
    unfinished = result.unfinished.get(chain.source, 0)
    read = result.reads[chain.source] + result.backfilled.get(chain.source, 0) + unfinished
    rest = read - result.rows_written - skipped - dead_letters
    # Which records of an unfinished batch filters would have left out is not known.
    failed = min(unfinished, rest) if result.status == "error" else 0
    return Fates(read, result.rows_written, rest - failed, skipped, dead_letters, failed)
