"""A review in one line, and in a few: what a reviewer must know before anything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from millstream.review.values import ContractChange, Level, NodeChange, QueryChange, Review


class Line(Struct, frozen=True):
    """One thing to know; texts have SQL and names between backticks."""

    level: Level | None
    """None: good to know."""
    what: str
    why: str


def headline(found: Review) -> str:
    """Return the verdict in one line, worst first."""
    told: list[str] = []
    if broken := [each for each in found.contracts if each.breaking]:
        told.append(f"breaks readers of {_counted(each.kind for each in broken)}")
    if rebuilt := [each for each in found.queries if each.status == "rebuild"]:
        told.append(f"{count(len(rebuilt), 'query', 'queries')} must be rebuilt")
    if forward := [each for each in found.queries if each.status == "forward"]:
        verb = "keeps what it counted" if len(forward) == 1 else "keep what they counted"
        told.append(f"{count(len(forward), 'query', 'queries')} {verb} by the old rule")
    if "cost" in found.levels:
        told.append("costs more for each record")
    if told:
        return _sentence(told)
    models = [each for each in found.nodes if each.kind != "setting"]
    if found.limits:
        return "nothing breaks, as far as can be told"
    if not models:
        return "no change of what runs"
    state = ", all queries keep their state" if found.same_queries else ""
    return f"nothing breaks{state}"


def changed(found: Review) -> str:
    """Return how much has changed, in words."""
    statuses = Counter((each.kind, each.status) for each in found.nodes if each.kind in _KINDS)
    listed = [
        f"{count(number, kind)} {status}"
        for (kind, status), number in sorted(statuses.items(), key=lambda each: _KINDS.index(each[0][0]))
    ]
    return ", ".join(listed) or "nothing but its files' texts"


_KINDS = ["model", "source", "seed", "function", "setting", "test", "unit_test", "exposure", "metric"]


def lines(found: Review) -> Iterator[Line]:
    """Yield what a reviewer must know, worst first."""
    by_id = {each.id: each for each in found.nodes}
    for contract in found.contracts:
        if contract.breaking:
            yield Line("breaking", f"{contract.kind} `{contract.name}`", _breaking(contract, by_id))
    for status in ("rebuild", "forward"):
        for query in found.queries:
            if query.status == status:
                yield Line(status, f"query `{query.name}`", _reasons(query))
    if "cost" in found.levels:
        rows = [f"{row.name} {number(row.before)} → {number(row.after)}" for row in found.costs]
        yield Line("cost", "for each record", ", ".join(rows))


def _breaking(contract: ContractChange, nodes: dict[str, NodeChange]) -> str:
    node = nodes.get(contract.model)
    names = dict.fromkeys(name for column in node.columns for name in column.exposures) if node else {}
    told = "; ".join(_first(contract.breaking, 3))
    return f"{told} (read by {', '.join(names)})" if names and contract.status == "changed" else told


def _reasons(query: QueryChange) -> str:
    return "; ".join(_first(query.reasons, 2))


def _first(texts: tuple[str, ...], most: int) -> list[str]:
    return [*texts[:most], *([f"and {len(texts) - most} more"] if len(texts) > most else [])]


def _counted(kinds: Iterable[str]) -> str:
    return " and ".join(count(number, kind) for kind, number in sorted(Counter(kinds).items(), reverse=True))


def _sentence(told: list[str]) -> str:
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])}, and {told[-1]}"


def count(number: int, one: str, many: str = "") -> str:
    name = one.replace("_", " ")
    return f"{number:,} {name if number == 1 else many or f'{name}s'}"


def number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 10 else f"{value:,.1f}"


def seconds(value: float) -> str:
    """Return a time that is only an estimate: `3 minutes`."""
    for size, name in ((3600, "hour"), (60, "minute")):
        if value >= 1.5 * size:
            return count(round(value / size), name)
    return count(max(1, round(value)), "second")
