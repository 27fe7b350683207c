"""The headline of a review, and the lines that a reviewer must read first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.explain.savings import format_number
from millstream.review.cost import main_costs
from millstream.review.values import ContractChange, Level, NodeChange, QueryChange, Review


class ReviewFinding(Struct, frozen=True):
    """A finding; SQL and names in its texts are between backticks."""

    level: Level | None
    """None: for information only."""
    what: str
    why: str


def write_headline(review: Review) -> str:
    """Return the verdict in one line, worst first."""
    parts: list[str] = []
    if broken := [contract for contract in review.contracts if contract.breaking]:
        parts.append(f"breaks readers of {_counted(contract.kind for contract in broken)}")
    if rebuilt := [query for query in review.queries if query.status == "rebuild"]:
        parts.append(f"{count_of(len(rebuilt), 'query', 'queries')} must be rebuilt")
    if mixed := [query for query in review.queries if query.status == "mixed"]:
        parts.append(f"{count_of(len(mixed), 'query', 'queries')} would mix what two versions counted")
    if stored := [query for query in review.queries if query.status == "stored"]:
        verb = "keeps rows" if len(stored) == 1 else "keep rows"
        parts.append(f"{count_of(len(stored), 'query', 'queries')} {verb} that the old version computed")
    if "cost" in review.levels:
        parts.append("costs more per record")
    if parts:
        return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"
    state = ", all queries keep their state" if review.same_queries else ""
    if review.limits:
        return "nothing breaks, as far as known"
    if rows := [node for node in review.nodes if _rows_change(node)]:
        outputs = _counted(node.stored.partition(" ")[0] for node in rows)
        return f"rows change in {outputs}, nothing breaks{state}"
    return f"nothing breaks{state}" if review.nodes else "no effect on what runs"


def count_changed(review: Review) -> str:
    """Return the numbers of changed nodes, in words."""
    statuses = Counter((node.kind, node.status) for node in review.nodes if node.kind in _KINDS)
    counts = [
        f"{count_of(number, kind)} {status}"
        for (kind, status), number in sorted(
            statuses.items(), key=lambda counted: _KINDS.index(counted[0][0])
        )
    ]
    return ", ".join(counts) or "no node changed"


_KINDS = ["model", "source", "seed", "function", "setting", "test", "unit_test", "exposure", "metric"]


def find_lines(review: Review) -> Iterator[ReviewFinding]:
    """Yield what a reviewer must know, worst first."""
    by_id = {node.id: node for node in review.nodes}
    yield from _breaking([contract for contract in review.contracts if contract.breaking], by_id)
    for status in ("rebuild", "mixed", "stored"):
        for query in review.queries:
            if query.status == status:
                yield ReviewFinding(status, _query(query), _reasons(query))
    if "cost" in review.levels:
        costs = main_costs(review.costs)
        rows = [f"{row.name} {format_number(row.before)} → {format_number(row.after)}" for row in costs]
        yield ReviewFinding("cost", "per record", ", ".join(rows))
    yield from _changed_rows([node for node in review.nodes if _rows_change(node)], by_id)


def _breaking(
    contracts: Iterable[ContractChange], nodes: dict[NodeId, NodeChange]
) -> Iterator[ReviewFinding]:
    """Yield a line for all contracts that break for the same reason."""
    by_reason: dict[str, list[ContractChange]] = {}
    for contract in contracts:
        by_reason.setdefault("; ".join(_first(contract.breaking, 3)), []).append(contract)
    for why, broken in by_reason.items():
        readers: dict[str, None] = {}
        for contract in broken:
            if node := nodes.get(contract.model):
                readers |= dict.fromkeys(name for column in node.columns for name in column.exposures)
                readers |= dict.fromkeys(node.exposures)
        read = f" (read by {', '.join(sorted(readers))})" if readers else ""
        yield ReviewFinding(
            "breaking", _outputs(f"{contract.kind} {contract.name}" for contract in broken), f"{why}{read}"
        )


def _rows_change(node: NodeChange) -> bool:
    return bool(node.stored) and (node.rows or any(column.kind == "meaning" for column in node.columns))


def _changed_rows(nodes: Iterable[NodeChange], by_id: dict[NodeId, NodeChange]) -> Iterator[ReviewFinding]:
    """Yield a line for all topics and tables whose rows change by the same edits."""
    by_reason: dict[str, list[NodeChange]] = {}
    for node in nodes:
        edits = [by_id[id_] for id_ in node.because or (node.id,) if id_ in by_id]
        why = [f"`{edit.id.name}` {edit.what[0]}" for edit in edits if edit.what]
        if not why:
            columns = [f"`{c.name}`" for c in node.columns if c.kind == "meaning"]
            shared = {c.because for c in node.columns if c.kind == "meaning"}
            all_alike = node.rows and len(columns) > 1 and len(shared) == 1
            changed = "all columns" if all_alike else ", ".join(_first(columns, 3))
            why = [f"different values of {changed}"]
        by_reason.setdefault("; ".join(_first(why, 2)), []).append(node)
    for reason, models in by_reason.items():
        yield ReviewFinding(None, _outputs(model.stored for model in models), reason)


def _outputs(names: Iterable[str]) -> str:
    """Return `topic a`, or `topics a, b and tables c`."""
    kinds: dict[str, list[str]] = {}
    for output in names:
        kind, _, name = output.partition(" ")
        kinds.setdefault(kind, []).append(f"`{name}`")
    return " and ".join(f"{k}{'s' if len(v) > 1 else ''} {', '.join(v)}" for k, v in kinds.items())


def _query(query: QueryChange) -> str:
    """Return the name of a query, with the names of its models that differ from it."""
    others = [name for name in query.models if name != query.name]
    link = ", with" if len(others) < len(query.models) else " of"
    names = _first([f"`{name}`" for name in others], 3)
    return f"query `{query.name}`" + (f"{link} {', '.join(names)}" if others else "")


def _reasons(query: QueryChange) -> str:
    """Return the reasons, each once for all models that it is about."""
    by_reason: dict[str, list[str]] = {}
    for reason in query.reasons:
        name, colon, why = reason.partition(": ")
        by_reason.setdefault(why if colon else name, []).extend([name] if colon else [])
    texts = [f"{', '.join(_first(names, 3))}: {why}" if names else why for why, names in by_reason.items()]
    return "; ".join(_first(texts, 2))


def _first(texts: Sequence[str], most: int) -> list[str]:
    return [*texts[:most], *([f"and {len(texts) - most} more"] if len(texts) > most else [])]


def _counted(kinds: Iterable[str]) -> str:
    return " and ".join(
        count_of(number, kind) for kind, number in sorted(Counter(kinds).items(), reverse=True)
    )


def count_of(number: int, one: str, many: str = "") -> str:
    name = one.replace("_", " ")
    return f"{number:,} {name if number == 1 else many or f'{name}s'}"


def format_seconds(value: float) -> str:
    """Return an estimated time, such as `3 minutes`."""
    for size, name in ((3600, "hour"), (60, "minute")):
        if value >= 1.5 * size:
            return count_of(round(value / size), name)
    return count_of(max(1, round(value)), "second")
