"""A review as lines for a terminal: the verdict, the reasons, and commands to run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.explain.savings import format_number
from millstream.review.outputs import plain_names
from millstream.review.summary import count_changed, count_of, find_lines, format_seconds, write_headline
from millstream.review.values import ColumnChange, EditedLine, NodeChange, QueryChange, Review


class ReviewLine(Struct, frozen=True):
    text: str
    kind: Literal["title", "bad", "warning", "good", "quiet", "plain"] = "plain"


_KINDS: dict[str, Literal["bad", "warning"]] = {
    "breaking": "bad", "rebuild": "bad", "mixed": "warning", "stored": "warning", "cost": "warning",
}  # fmt: skip
_MOST = 60


def text_lines(review: Review) -> Iterator[ReviewLine]:
    summary = list(find_lines(review))
    worst = _KINDS[review.levels[0]] if review.levels else "good"
    yield ReviewLine(write_headline(review)[:1].upper() + write_headline(review)[1:], worst)
    commit = f" ({review.against.commit})" if review.against.commit else ""
    yield ReviewLine(f"{count_changed(review)}, compared with {review.against.name}{commit}", "quiet")
    for limit in review.limits:
        yield ReviewLine(limit, "warning")
    if summary:
        yield ReviewLine("")
    for line in summary:
        kind = _KINDS[line.level] if line.level else "plain"
        yield ReviewLine(f"{line.level or 'rows':>8}  {line.what}: {line.why}", kind)
    yield from _nodes(review)
    yield from _queries(review)
    yield from _contracts(review)
    yield from _plan(review)


def _nodes(review: Review) -> Iterator[ReviewLine]:
    if not review.nodes:
        return
    yield ReviewLine("")
    yield ReviewLine("WHAT CHANGED", "title")
    for node in review.nodes[:_MOST]:
        location = f"  {_where(node, node.edited_lines[0])}" if node.edited_lines else ""
        through = f" through {', '.join(plain_names(node.because))}" if node.because else ""
        kind = "" if node.kind == "model" else f"{node.kind.replace('_', ' ')} "
        yield ReviewLine(f"{_MARKS[node.status]} {kind}{_name(node)} {node.status}{through}{location}")
        yield from (ReviewLine(f"    {text}") for text in node.what)
        if node.rows and node.status != "affected" and node.kind == "model":
            yield ReviewLine("    so its rows change, and all of its columns")
        yield from map(_column, node.columns)
    if len(review.nodes) > _MOST:
        yield ReviewLine(f"  … {len(review.nodes) - _MOST} more, see --output json", "quiet")


def _where(node: NodeChange, first: EditedLine) -> str:
    """Return the first edited line, which may be in another file (a macro, a variable)."""
    location = f"{first.path}:{first.line}"
    return location if first.path == node.path else f"{node.path}, edited in {location}"


_MARKS = {"added": "+", "removed": "-", "renamed": "~", "changed": "~", "affected": " "}


def _name(node: NodeChange) -> str:
    was = f" (was {plain_names((NodeId.parse(node.old_id),))[0]})" if node.old_id else ""
    return node.id.name + was


def _column(column: ColumnChange) -> ReviewLine:
    read = [
        f"{plain_names((r.id,))[0]}.{r.column}" if r.column else plain_names((r.id,))[0]
        for r in column.readers
    ]
    direct_ids = {reader.id for reader in column.readers}
    below = plain_names(id_ for id_ in column.downstream if id_ not in direct_ids)
    read += [*below, *column.exposures]
    readers = f"; read by {', '.join(dict.fromkeys(read))}" if read else ""
    tests = f"; {count_of(len(column.tests), 'test')}" if column.tests else ""
    through = f" through {', '.join(plain_names(column.because))}" if column.because else ""
    change = " → ".join(filter(None, (column.before, column.after)))
    return ReviewLine(
        f"    {column.name}: {column.kind}{through}{f' {change}' if change else ''}{readers}{tests}"
    )


def _queries(review: Review) -> Iterator[ReviewLine]:
    if not review.queries:
        return
    yield ReviewLine("")
    yield ReviewLine(f"STATE  {count_of(review.same_queries, 'query', 'queries')} unchanged", "title")
    for query in review.queries:
        models = f" ({', '.join(query.models)})" if query.models else ""
        yield ReviewLine(f"{query.name}: {query.status}{models}")
        yield from (ReviewLine(f"    {text}") for text in (*query.reasons, *query.notes))
        if query.stages:
            yield ReviewLine(f"    apply: {', '.join(query.stages)}", "quiet")
        yield from _commands(query)


def _commands(query: QueryChange) -> Iterator[ReviewLine]:
    if query.command:
        yield ReviewLine(f"    to continue with existing state: {query.command}")
    if query.replay is None:
        return
    estimate = f", about {format_seconds(query.replay.seconds)}" if query.replay.seconds else ""
    yield ReviewLine(f"    to rebuild it{estimate}: {query.replay.command}")
    for read in query.replay.reads:
        if read.kind != "topic":
            yield ReviewLine(f"      reads {read.kind} {read.topic} from {read.start}")
            continue
        records = f", about {read.records:,} records" if read.records is not None else ""
        holds = f"which holds {read.holds}" if read.holds else "contents unknown without --ask-kafka"
        yield ReviewLine(f"      reads topic {read.topic} from {read.start}, {holds}{records}")
    if query.replay.tables:
        yield ReviewLine(f"      rebuilds and swaps the rows of {', '.join(query.replay.tables)}")
    if query.replay.sent_again:
        yield ReviewLine(f"      sends records again to {', '.join(query.replay.sent_again)}")


def _contracts(review: Review) -> Iterator[ReviewLine]:
    if not review.contracts:
        return
    yield ReviewLine("")
    yield ReviewLine("TOPICS AND TABLES", "title")
    for contract in review.contracts:
        yield ReviewLine(f"{contract.kind} {contract.name} {contract.status}")
        yield from (ReviewLine(f"    {text}", "bad") for text in contract.breaking)
        yield from (ReviewLine(f"    {text}") for text in contract.notes)
        yield from (ReviewLine(f"    to do: {text}") for text in contract.todo)


def _plan(review: Review) -> Iterator[ReviewLine]:
    if not (review.costs or review.rules):
        return
    yield ReviewLine("")
    yield ReviewLine("COST AND PLAN", "title")
    for row in review.costs:
        yield ReviewLine(f"{row.name}: {format_number(row.before)} → {format_number(row.after)}")
    for rule in review.rules:
        location = f"  {rule.edited_line.path}:{rule.edited_line.line}" if rule.edited_line else ""
        yield ReviewLine(f"{rule.rule} {rule.status}: {rule.what}{location}")
