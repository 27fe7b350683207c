"""The headline of a review, and the lines that a reviewer must read first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from millstream.explain.savings import shown
from millstream.review.cost import main_costs
from millstream.review.values import ContractChange, Level, NodeChange, QueryChange, Review


class Line(Struct, frozen=True):
    """A finding; SQL and names in its texts are between backticks."""

    level: Level | None
    """None: for information only."""
    what: str
    why: str


def headline(found: Review) -> str:
    """Return the verdict in one line, worst first."""
    parts: list[str] = []
    if broken := [each for each in found.contracts if each.breaking]:
        parts.append(f"breaks readers of {_counted(each.kind for each in broken)}")
    if rebuilt := [each for each in found.queries if each.status == "rebuild"]:
        parts.append(f"{count(len(rebuilt), 'query', 'queries')} must be rebuilt")
    if mixed := [each for each in found.queries if each.status == "mixed"]:
        parts.append(f"{count(len(mixed), 'query', 'queries')} would mix what two versions counted")
    if stored := [each for each in found.queries if each.status == "stored"]:
        verb = "keeps rows" if len(stored) == 1 else "keep rows"
        parts.append(f"{count(len(stored), 'query', 'queries')} {verb} that the old version computed")
    if "cost" in found.levels:
        parts.append("costs more per record")
    if parts:
        return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"
    state = ", all queries keep their state" if found.same_queries else ""
    if found.limits:
        return "nothing breaks, as far as known"
    if rows := [each for each in found.nodes if _rows_change(each)]:
        outputs = _counted(each.stored.partition(" ")[0] for each in rows)
        return f"rows change in {outputs}, nothing breaks{state}"
    return f"nothing breaks{state}" if found.nodes else "no effect on what runs"


def changed(found: Review) -> str:
    """Return the numbers of changed nodes, in words."""
    statuses = Counter((each.kind, each.status) for each in found.nodes if each.kind in _KINDS)
    listed = [
        f"{count(number, kind)} {status}"
        for (kind, status), number in sorted(statuses.items(), key=lambda each: _KINDS.index(each[0][0]))
    ]
    return ", ".join(listed) or "no node changed"


_KINDS = ["model", "source", "seed", "function", "setting", "test", "unit_test", "exposure", "metric"]


def lines(found: Review) -> Iterator[Line]:
    """Yield what a reviewer must know, worst first."""
    by_id = {each.id: each for each in found.nodes}
    yield from _breaking([each for each in found.contracts if each.breaking], by_id)
    for status in ("rebuild", "mixed", "stored"):
        for query in found.queries:
            if query.status == status:
                yield Line(status, _query(query), _reasons(query))
    if "cost" in found.levels:
        costs = main_costs(found.costs)
        rows = [f"{row.name} {shown(row.before)} → {shown(row.after)}" for row in costs]
        yield Line("cost", "per record", ", ".join(rows))
    yield from _changed_rows([each for each in found.nodes if _rows_change(each)], by_id)


def _breaking(contracts: Iterable[ContractChange], nodes: dict[str, NodeChange]) -> Iterator[Line]:
    """Yield a line for all contracts that break for the same reason."""
    by_reason: dict[str, list[ContractChange]] = {}
    for each in contracts:
        by_reason.setdefault("; ".join(_first(each.breaking, 3)), []).append(each)
    for why, listed in by_reason.items():
        readers: dict[str, None] = {}
        for each in listed:
            if node := nodes.get(each.model):
                readers |= dict.fromkeys(name for column in node.columns for name in column.exposures)
                readers |= dict.fromkeys(node.exposures)
        read = f" (read by {', '.join(sorted(readers))})" if readers else ""
        yield Line("breaking", _outputs(f"{each.kind} {each.name}" for each in listed), f"{why}{read}")


def _rows_change(node: NodeChange) -> bool:
    return bool(node.stored) and (node.rows or any(each.kind == "meaning" for each in node.columns))


def _changed_rows(nodes: Iterable[NodeChange], by_id: dict[str, NodeChange]) -> Iterator[Line]:
    """Yield a line for all topics and tables whose rows change by the same edits."""
    by_reason: dict[str, list[NodeChange]] = {}
    for node in nodes:
        edits = [by_id[id_] for id_ in node.because or (node.id,) if id_ in by_id]
        why = [f"`{each.id.partition('.')[2]}` {each.what[0]}" for each in edits if each.what]
        if not why:
            columns = [f"`{c.name}`" for c in node.columns if c.kind == "meaning"]
            shared = {c.because for c in node.columns if c.kind == "meaning"}
            all_alike = node.rows and len(columns) > 1 and len(shared) == 1
            changed = "all columns" if all_alike else ", ".join(_first(columns, 3))
            why = [f"different values of {changed}"]
        by_reason.setdefault("; ".join(_first(why, 2)), []).append(node)
    for reason, listed in by_reason.items():
        yield Line(None, _outputs(each.stored for each in listed), reason)


def _outputs(names: Iterable[str]) -> str:
    """Return `topic a`, or `topics a, b and tables c`."""
    kinds: dict[str, list[str]] = {}
    for each in names:
        kind, _, name = each.partition(" ")
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
    return " and ".join(count(number, kind) for kind, number in sorted(Counter(kinds).items(), reverse=True))


def count(number: int, one: str, many: str = "") -> str:
    name = one.replace("_", " ")
    return f"{number:,} {name if number == 1 else many or f'{name}s'}"


def seconds(value: float) -> str:
    """Return an estimated time, such as `3 minutes`."""
    for size, name in ((3600, "hour"), (60, "minute")):
        if value >= 1.5 * size:
            return count(round(value / size), name)
    return count(max(1, round(value)), "second")
