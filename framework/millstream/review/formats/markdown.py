"""A review as a Markdown comment: a summary, then folded details. The same change gives the same text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream.explain.savings import shown
from millstream.review.formats.escape import code, fenced, plain, sentence
from millstream.review.formats.models import node_details
from millstream.review.outputs import plain as named
from millstream.review.summary import changed, count, headline, lines, seconds
from millstream.review.values import ContractChange, Level, QueryChange, Replay, Review, RuleChange

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


def markdown(review: Review) -> str:
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
    yield f"### {mark} Millstream: {headline(review)}"
    yield ""
    commit = f" ({code(review.against.commit)})" if review.against.commit else ""
    what = plain(changed(review))
    yield f"{what[:1].upper()}{what[1:]}, compared with {code(review.against.name)}{commit}."
    for limit in review.limits:
        yield f"\n> {sentence(limit)}"
    rows = list(lines(review))
    if rows:
        yield "\n| | | why |\n|---|---|---|"
        for line in rows[:_MOST_LINES]:
            yield f"| {_MARKS[line.level]} | {sentence(line.what)} | {sentence(line.why)} |"
        if len(rows) > _MOST_LINES:
            yield f"| | {len(rows) - _MOST_LINES} more below | |"


def _marker(text: str) -> str:
    return "".join(c if c.isalnum() or c in "_." else "_" for c in text)


def _sections(review: Review) -> Iterator[tuple[str, str]]:
    yield "What changed", node_details(review)
    yield _state_title(review), "\n\n".join(map(_query, review.queries))
    yield _contract_title(review), "\n\n".join(map(_contract, review.contracts))
    yield "Cost and plan", "\n\n".join(filter(None, (_costs(review), _rules(review.rules))))
    yield "Drawing", fenced(review.diagram, "mermaid") if review.diagram else ""


def _state_title(review: Review) -> str:
    counts = [
        f"{sum(query.status == status for query in review.queries)} {status}"
        for status in ("rebuild", "mixed", "stored", "new", "removed")
        if any(query.status == status for query in review.queries)
    ]
    return f"State: {', '.join([*counts, f'{review.same_queries} unchanged'])}"


def _query(query: QueryChange) -> str:
    models = f" ({', '.join(map(code, query.models))})" if query.models else ""
    parts = [f"**{code(query.name)}: {query.status}**{models}\n"]
    parts += [f"- {sentence(text)}" for text in (*query.reasons, *query.notes)]
    if query.stages:
        parts.append(f"- `millstream apply`: {', '.join(query.stages)}")
    if query.command:
        parts.append(f"\nContinue with existing state:\n\n{fenced(query.command, 'sh')}")
    if query.replay:
        parts.append(_replay(query.replay, "Or rebuild it" if query.command else "Rebuild it"))
    return "\n".join(parts)


def _replay(replay: Replay, title: str) -> str:
    estimate = f", about {seconds(replay.seconds)}" if replay.seconds else ""
    parts = [f"\n{title}{estimate}:\n\n{fenced(replay.command, 'sh')}\n"]
    for read in replay.reads:
        records = f", about {read.records:,} records" if read.records is not None else ""
        holds = f"which holds {plain(read.holds)}" if read.holds else _UNKNOWN
        parts.append(f"- reads topic {code(read.topic)} from {plain(read.start)}, {holds}{records}")
    if replay.tables:
        parts.append(f"- rebuilds and swaps the rows of {_codes(replay.tables)}")
    if replay.sent_again:
        topics = ", ".join(_topic(topic) for topic in replay.sent_again)
        parts.append(f"- sends records again to {topics}")
    return "\n".join(parts)


def _topic(text: str) -> str:
    name, _, rest = text.partition(" ")
    return f"{code(name)} {plain(rest)}".rstrip()


def _codes(names: Iterable[str]) -> str:
    return ", ".join(map(code, names))


def _contract_title(review: Review) -> str:
    broken = sum(bool(contract.breaking) for contract in review.contracts)
    return f"Topics and tables: {len(review.contracts)} changed{f', {broken} breaking' if broken else ''}"


def _contract(contract: ContractChange) -> str:
    by = named((contract.model,))[0]
    parts = [f"**{contract.kind} {code(contract.name)}** {contract.status} ({code(by)})\n"]
    parts += [f"- ❌ {sentence(reason)}" for reason in contract.breaking]
    parts += [f"- {sentence(note)}" for note in contract.notes]
    parts += [f"- to do: {sentence(step)}" for step in contract.todo]
    return "\n".join(parts).rstrip()


def _costs(review: Review) -> str:
    if not review.costs:
        return ""
    rows = "\n".join(f"| {plain(r.name)} | {shown(r.before)} | {shown(r.after)} |" for r in review.costs)
    return f"| | before | after |\n|---|--:|--:|\n{rows}"


def _rules(rules: Iterable[RuleChange]) -> str:
    items: list[str] = []
    for rule in rules:
        models = f" ({_codes(named(rule.models))})" if rule.models else ""
        line = f"- {code(rule.rule)} {rule.status}: {plain(rule.what)}{models}"
        if edited := rule.edited_line:
            line += f", since {code(f'{edited.path}:{edited.line}')} {code(edited.text)}".rstrip()
        items.append(line)
    most = 20
    if len(items) > most:
        items = [*items[:most], f"- and {count(len(items) - most, 'more', 'more')}"]
    return "\n".join(items)
