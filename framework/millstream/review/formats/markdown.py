"""A review as a Markdown comment: a summary, then folded details. The same change gives the same text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from millstream.core.node_id import NodeId
from millstream.explain.savings import format_number
from millstream.review.outputs import plain_names
from millstream.review.summary import count_changed, count_of, find_lines, format_seconds, write_headline
from millstream.review.values import (
    ColumnChange,
    ContractChange,
    Level,
    NodeChange,
    QueryChange,
    QueryRebuild,
    Review,
    RuleChange,
)

_MOST_NODES, _MOST_COLUMNS, _MOST_NAMES = 40, 15, 5
_TITLES = ("column", "before", "after", "read by", "tests")
_QUIET = {"test", "unit_test", "exposure", "metric"}
_KINDS: dict[str, str] = {"added": "new", "retyped": "type", "nullability": "NULL"}
_NAMED = {"model", "source", "seed", "function", "setting", "test", "exposure", "metric"}
"""The kinds that are shown without the prefix of their ids."""

LARGEST = 60_000
"""GitHub allows 65,536 characters."""
_MARKS: dict[Level | None, str] = {
    "breaking": "❌ breaking",
    "rebuild": "♻️ rebuild",
    "mixed": "🧮 mixed",
    "stored": "⏩ stored",
    "cost": "📈 cost",
    None: "🔀 rows",
}
_MOST_LINES = 12
_UNKNOWN = "contents unknown without `--ask-kafka`"


def write_comment(review: Review) -> str:
    """Return the comment; its first line is a marker by which a bot finds it."""
    head = [*_head(review), ""]
    folded = [(title, text) for title, text in _sections(review) if text]
    size = sum(map(len, head))
    omitted: list[str] = []
    body: list[str] = []
    for title, text in folded:
        block = f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>\n"
        if size + len(block) > LARGEST:
            omitted.append(title)
            continue
        size += len(block)
        body.append(block)
    if omitted:
        body.append(f"Too long for a comment, see `--output json`: {'; '.join(omitted)}.\n")
    return "\n".join([*head, *body]).rstrip() + "\n"


def _head(review: Review) -> Iterator[str]:
    yield f"<!-- millstream-review {_marker(review.project)} {_marker(review.target)} -->"
    mark = _MARKS[review.levels[0]].partition(" ")[0] if review.levels else "✅"
    yield f"### {mark} Millstream: {write_headline(review)}"
    yield ""
    commit = f" ({escape_code(review.against.commit)})" if review.against.commit else ""
    what = escape_text(count_changed(review))
    yield f"{what[:1].upper()}{what[1:]}, compared with {escape_code(review.against.name)}{commit}."
    for limit in review.limits:
        yield f"\n> {escape_sentence(limit)}"
    rows = list(find_lines(review))
    if rows:
        yield "\n| | | why |\n|---|---|---|"
        for line in rows[:_MOST_LINES]:
            yield f"| {_MARKS[line.level]} | {escape_sentence(line.what)} | {escape_sentence(line.why)} |"
        if len(rows) > _MOST_LINES:
            yield f"| | {len(rows) - _MOST_LINES} more below | |"


def _marker(text: str) -> str:
    return "".join(c if c.isalnum() or c in "_." else "_" for c in text)


def _sections(review: Review) -> Iterator[tuple[str, str]]:
    yield "What changed", node_details(review)
    yield _state_title(review), "\n\n".join(map(_query, review.queries))
    yield _contract_title(review), "\n\n".join(map(_contract, review.contracts))
    yield "Cost and plan", "\n\n".join(filter(None, (_costs(review), _rules(review.rules))))
    yield "Drawing", fence_code(review.diagram, "mermaid") if review.diagram else ""


def _state_title(review: Review) -> str:
    counts = [
        f"{sum(query.status == status for query in review.queries)} {status}"
        for status in ("rebuild", "mixed", "stored", "new", "removed")
        if any(query.status == status for query in review.queries)
    ]
    return f"State: {', '.join([*counts, f'{review.same_queries} unchanged'])}"


def _query(query: QueryChange) -> str:
    models = f" ({', '.join(map(escape_code, query.models))})" if query.models else ""
    parts = [f"**{escape_code(query.name)}: {query.status}**{models}\n"]
    parts += [f"- {escape_sentence(text)}" for text in (*query.reasons, *query.notes)]
    if query.stages:
        parts.append(f"- `millstream apply`: {', '.join(query.stages)}")
    if query.command:
        parts.append(f"\nContinue with existing state:\n\n{fence_code(query.command, 'sh')}")
    if query.replay:
        parts.append(_replay(query.replay, "Or rebuild it" if query.command else "Rebuild it"))
    return "\n".join(parts)


def _replay(replay: QueryRebuild, title: str) -> str:
    estimate = f", about {format_seconds(replay.seconds)}" if replay.seconds else ""
    parts = [f"\n{title}{estimate}:\n\n{fence_code(replay.command, 'sh')}\n"]
    for read in replay.reads:
        if read.kind != "topic":
            kind, start = escape_text(read.kind), escape_text(read.start)
            parts.append(f"- reads {kind} {escape_code(read.topic)} from {start}")
            continue
        records = f", about {read.records:,} records" if read.records is not None else ""
        holds = f"which holds {escape_text(read.holds)}" if read.holds else _UNKNOWN
        parts.append(
            f"- reads topic {escape_code(read.topic)} from {escape_text(read.start)}, {holds}{records}"
        )
    if replay.tables:
        parts.append(f"- rebuilds and swaps the rows of {_codes(replay.tables)}")
    if replay.sent_again:
        topics = ", ".join(_topic(topic) for topic in replay.sent_again)
        parts.append(f"- sends records again to {topics}")
    return "\n".join(parts)


def _topic(text: str) -> str:
    name, _, rest = text.partition(" ")
    return f"{escape_code(name)} {escape_text(rest)}".rstrip()


def _codes(names: Iterable[str]) -> str:
    return ", ".join(map(escape_code, names))


def _contract_title(review: Review) -> str:
    broken = sum(bool(contract.breaking) for contract in review.contracts)
    return f"Topics and tables: {len(review.contracts)} changed{f', {broken} breaking' if broken else ''}"


def _contract(contract: ContractChange) -> str:
    by = plain_names((contract.model,))[0]
    parts = [f"**{contract.kind} {escape_code(contract.name)}** {contract.status} ({escape_code(by)})\n"]
    parts += [f"- ❌ {escape_sentence(reason)}" for reason in contract.breaking]
    parts += [f"- {escape_sentence(note)}" for note in contract.notes]
    parts += [f"- to do: {escape_sentence(step)}" for step in contract.todo]
    return "\n".join(parts).rstrip()


def _costs(review: Review) -> str:
    if not review.costs:
        return ""
    rows = "\n".join(
        f"| {escape_text(r.name)} | {format_number(r.before)} | {format_number(r.after)} |"
        for r in review.costs
    )
    return f"| | before | after |\n|---|--:|--:|\n{rows}"


def _rules(rules: Iterable[RuleChange]) -> str:
    items: list[str] = []
    for rule in rules:
        models = f" ({_codes(plain_names(rule.models))})" if rule.models else ""
        line = f"- {escape_code(rule.rule)} {rule.status}: {escape_text(rule.what)}{models}"
        if edited := rule.edited_line:
            line += (
                f", since {escape_code(f'{edited.path}:{edited.line}')} {escape_code(edited.text)}".rstrip()
            )
        items.append(line)
    most = 20
    if len(items) > most:
        items = [*items[:most], f"- and {count_of(len(items) - most, 'more', 'more')}"]
    return "\n".join(items)


def node_details(review: Review) -> str:
    edited = [node for node in review.nodes if node.status != "affected" and node.kind not in _QUIET]
    parts = [_node(node) for node in edited[:_MOST_NODES]]
    if len(edited) > _MOST_NODES:
        parts.append(f"… and {len(edited) - _MOST_NODES} more, see `--output json`.")
    if affected := [node for node in review.nodes if node.status == "affected"]:
        parts.append("\n".join(_affected(affected)))
    if quiet := [node for node in review.nodes if node.kind in _QUIET]:
        parts.append("\n".join(_quiet(quiet)))
    return "\n\n".join(parts)


def _node(node: NodeChange) -> str:
    kind = "" if node.kind == "model" else f"{node.kind.replace('_', ' ')} "
    was = f" (was {escape_code(_plain(NodeId.parse(node.old_id)))})" if node.old_id else ""
    parts = [f"**{kind}{escape_code(_plain(node.id))}** {node.status}{was}, {_where(node)}", ""]
    parts += [f"- {escape_sentence(text)}" for text in node.what]
    if node.rows and node.kind == "model":
        parts.append("- so its rows change, and all of its columns")
    if node.because:
        parts.append(f"- because of {_names(map(_plain, node.because))}")
    if node.columns:
        parts += [*([""] if parts[-1] else []), *_columns(node.columns)]
    return "\n".join(parts).rstrip()


def _where(node: NodeChange) -> str:
    """Return the file, and the first edited line, which may be in another file (a macro, a variable)."""
    if not node.edited_lines:
        return escape_code(node.path)
    first = node.edited_lines[0]
    location = escape_code(f"{first.path}:{first.line}")
    return location if first.path == node.path else f"{escape_code(node.path)}, edited in {location}"


def _columns(columns: tuple[ColumnChange, ...]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    by_name: dict[str, list[ColumnChange]] = {}
    for column in columns:
        by_name.setdefault(column.name, []).append(column)
    for changes in list(by_name.values())[:_MOST_COLUMNS]:
        # A column with another type is also computed differently: one row shows both.
        first, last = changes[0], changes[-1]
        kinds = ", ".join(_KINDS.get(change.kind, change.kind) for change in changes)
        before, after = last.before, last.after
        if last is not first and first.kind == "retyped":
            before, after = f"{before} {first.before}".strip(), f"{after} {first.after}".strip()
        if not before and not after and first.because:
            after_text = f"through {_names(map(_plain, first.because))}"
        else:
            after_text = escape_code(after)
        name = f"{escape_code(first.name)} {kinds}"
        rows.append((name, escape_code(before), after_text, _readers(first), _tests(first)))
    # A comment is narrow: omit columns that are empty in all rows.
    shown = [n for n in range(len(_TITLES)) if n == 0 or any(row[n] for row in rows)]
    yield f"| {' | '.join(_TITLES[n] for n in shown)} |\n|{'---|' * len(shown)}"
    for row in rows:
        yield f"| {' | '.join(row[n] for n in shown)} |"
    if len(by_name) > _MOST_COLUMNS:
        yield f"| … {len(by_name) - _MOST_COLUMNS} more |{' |' * (len(shown) - 1)}"


def _readers(column: ColumnChange) -> str:
    direct = [
        f"{_plain(reader.id)}.{reader.column}" if reader.column else _plain(reader.id)
        for reader in column.readers
    ]
    direct_ids = {reader.id for reader in column.readers}
    below = [_plain(id_) for id_ in column.downstream if id_ not in direct_ids]
    return _names([*direct, *below, *column.exposures])


def _tests(column: ColumnChange) -> str:
    return count_of(len(column.tests), "test") if column.tests else "none"


def _affected(nodes: Iterable[NodeChange]) -> Iterator[str]:
    yield "Not edited, but their rows or columns change with what they read:\n"
    groups: dict[tuple[NodeId, ...], list[str]] = {}
    for node in nodes:
        groups.setdefault(node.because, []).append(_plain(node.id))
    for because, names in groups.items():
        through = f" (through {_names(map(_plain, because))})" if because else ""
        yield f"- {_names(names, 20)}{through}"


def _quiet(nodes: Iterable[NodeChange]) -> Iterator[str]:
    yield "Also changed:\n"
    for node in nodes:
        yield f"- {node.kind.replace('_', ' ')} {escape_code(_plain(node.id))} {node.status}"


def _names(names: Iterable[str], most: int = _MOST_NAMES) -> str:
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - most} more" if len(unique) > most else ""
    return ", ".join(escape_code(name) for name in unique[:most]) + escape_text(more)


def _plain(id_: NodeId) -> str:
    return id_.name if id_.kind in _NAMED else str(id_)


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#!|~$&])")
_CONTROL = dict.fromkeys(range(32), " ") | {127: " "}


def escape_text(text: str) -> str:
    """Return a text that is shown literally; `@name` notifies no one, and `#1` is not a link."""
    escaped = _SPECIAL.sub(r"\\\1", text.translate(_CONTROL))
    # A zero-width space, because Markdown has no escape for mentions and addresses.
    return escaped.replace("@", "@\u200b").replace("://", ":\u200b//").replace("www.", "www\u200b.")


def escape_code(text: str) -> str:
    """Return a text as code, for a line or a cell of a table."""
    line = text.translate(_CONTROL).strip()
    if not line:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    blank = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{blank}{line}{blank}{ticks}".replace("|", "\\|")


def escape_sentence(text: str) -> str:
    """Return a sentence in which SQL and names are between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape_text(text)  # a backtick is unpaired, so it is unclear which parts are code
    return "".join(escape_code(part) if index % 2 else escape_text(part) for index, part in enumerate(parts))


def fence_code(text: str, language: str = "") -> str:
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"
