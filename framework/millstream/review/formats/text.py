"""A review as lines for a terminal: the verdict, the reasons, and commands to run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from millstream.explain.savings import shown
from millstream.review.outputs import plain
from millstream.review.summary import changed, count, headline, lines, seconds
from millstream.review.values import ColumnChange, EditedLine, NodeChange, QueryChange, Review


class Line(Struct, frozen=True):
    text: str
    kind: Literal["title", "bad", "warning", "good", "quiet", "plain"] = "plain"


_KINDS: dict[str, Literal["bad", "warning"]] = {
    "breaking": "bad", "rebuild": "bad", "mixed": "warning", "stored": "warning", "cost": "warning",
}  # fmt: skip
_MOST = 60


def text_lines(review: Review) -> Iterator[Line]:
    summary = list(lines(review))
    worst = _KINDS[review.levels[0]] if review.levels else "good"
    yield Line(headline(review)[:1].upper() + headline(review)[1:], worst)
    commit = f" ({review.against.commit})" if review.against.commit else ""
    yield Line(f"{changed(review)}, compared with {review.against.name}{commit}", "quiet")
    for limit in review.limits:
        yield Line(limit, "warning")
    if summary:
        yield Line("")
    for line in summary:
        kind = _KINDS[line.level] if line.level else "plain"
        yield Line(f"{line.level or 'rows':>8}  {line.what}: {line.why}", kind)
    yield from _nodes(review)
    yield from _queries(review)
    yield from _contracts(review)
    yield from _plan(review)


def _nodes(review: Review) -> Iterator[Line]:
    if not review.nodes:
        return
    yield Line("")
    yield Line("WHAT CHANGED", "title")
    for node in review.nodes[:_MOST]:
        location = f"  {_where(node, node.edited_lines[0])}" if node.edited_lines else ""
        through = f" through {', '.join(plain(node.because))}" if node.because else ""
        kind = "" if node.kind == "model" else f"{node.kind.replace('_', ' ')} "
        yield Line(f"{_MARKS[node.status]} {kind}{_name(node)} {node.status}{through}{location}")
        yield from (Line(f"    {text}") for text in node.what)
        if node.rows and node.status != "affected" and node.kind == "model":
            yield Line("    so its rows change, and all of its columns")
        yield from map(_column, node.columns)
    if len(review.nodes) > _MOST:
        yield Line(f"  … {len(review.nodes) - _MOST} more, see --output json", "quiet")


def _where(node: NodeChange, first: EditedLine) -> str:
    """Return the first edited line, which may be in another file (a macro, a variable)."""
    location = f"{first.path}:{first.line}"
    return location if first.path == node.path else f"{node.path}, edited in {location}"


_MARKS = {"added": "+", "removed": "-", "renamed": "~", "changed": "~", "affected": " "}


def _name(node: NodeChange) -> str:
    was = f" (was {plain((node.old_id,))[0]})" if node.old_id else ""
    return node.id.partition(".")[2] + was


def _column(column: ColumnChange) -> Line:
    read = [f"{plain((r.id,))[0]}.{r.column}" if r.column else plain((r.id,))[0] for r in column.readers]
    direct_ids = {reader.id for reader in column.readers}
    below = plain(id_ for id_ in column.downstream if id_ not in direct_ids)
    read += [*below, *column.exposures]
    readers = f"; read by {', '.join(dict.fromkeys(read))}" if read else ""
    tests = f"; {count(len(column.tests), 'test')}" if column.tests else ""
    through = f" through {', '.join(plain(column.because))}" if column.because else ""
    change = " → ".join(filter(None, (column.before, column.after)))
    return Line(f"    {column.name}: {column.kind}{through}{f' {change}' if change else ''}{readers}{tests}")


def _queries(review: Review) -> Iterator[Line]:
    if not review.queries:
        return
    yield Line("")
    yield Line(f"STATE  {count(review.same_queries, 'query', 'queries')} unchanged", "title")
    for query in review.queries:
        models = f" ({', '.join(query.models)})" if query.models else ""
        yield Line(f"{query.name}: {query.status}{models}")
        yield from (Line(f"    {text}") for text in (*query.reasons, *query.notes))
        if query.stages:
            yield Line(f"    apply: {', '.join(query.stages)}", "quiet")
        yield from _commands(query)


def _commands(query: QueryChange) -> Iterator[Line]:
    if query.command:
        yield Line(f"    to continue with existing state: {query.command}")
    if query.replay is None:
        return
    estimate = f", about {seconds(query.replay.seconds)}" if query.replay.seconds else ""
    yield Line(f"    to rebuild it{estimate}: {query.replay.command}")
    for read in query.replay.reads:
        records = f", about {read.records:,} records" if read.records is not None else ""
        holds = f"which holds {read.holds}" if read.holds else "contents unknown without --ask-kafka"
        yield Line(f"      reads topic {read.topic} from {read.start}, {holds}{records}")
    if query.replay.tables:
        yield Line(f"      rebuilds and swaps the rows of {', '.join(query.replay.tables)}")
    if query.replay.sent_again:
        yield Line(f"      sends records again to {', '.join(query.replay.sent_again)}")


def _contracts(review: Review) -> Iterator[Line]:
    if not review.contracts:
        return
    yield Line("")
    yield Line("TOPICS AND TABLES", "title")
    for contract in review.contracts:
        yield Line(f"{contract.kind} {contract.name} {contract.status}")
        yield from (Line(f"    {text}", "bad") for text in contract.breaking)
        yield from (Line(f"    {text}") for text in contract.notes)
        yield from (Line(f"    to do: {text}") for text in contract.todo)


def _plan(review: Review) -> Iterator[Line]:
    if not (review.costs or review.rules):
        return
    yield Line("")
    yield Line("COST AND PLAN", "title")
    for row in review.costs:
        yield Line(f"{row.name}: {shown(row.before)} → {shown(row.after)}")
    for rule in review.rules:
        location = f"  {rule.edited_line.path}:{rule.edited_line.line}" if rule.edited_line else ""
        yield Line(f"{rule.rule} {rule.status}: {rule.what}{location}")
