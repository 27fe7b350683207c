"""Dead letters as texts and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from millstream.cli.records import one_line, to_json_value
from millstream.cli.text_tables import text_table
from millstream.compile.graph import build_graph
from millstream.core.node_id import NodeId

if TYPE_CHECKING:
    from millstream.compile.manifest import ManifestNode
    from millstream.kafka.topic_decoding import ShownRecord
    from millstream.ops.dead_letters.counting import LetterCount
    from millstream.ops.dead_letters.dropping import LetterDrop
    from millstream.ops.dead_letters.letter import DeadLetter
    from millstream.ops.dead_letters.replaying import LetterReplay
    from millstream.project.values import Project

_WIDEST = 60
_DRY = "Nothing was changed; add --yes to do it."


def counts_table(counts: Sequence[LetterCount], zone: ZoneInfo) -> str:
    if not counts:
        return "no dead letters"
    rows = [("TOPIC", "OF", "REASON", "LETTERS", "REPLAYED", "DROPPED", "REMAINING", "FIRST", "LAST")]
    rows += [
        (
            *(count.topic, count.owner, _short(count.reason), f"{count.letters:,}", f"{count.replayed:,}"),
            *(
                f"{count.dropped:,}",
                f"{count.remaining:,}",
                _time(count.first, zone),
                _time(count.last, zone),
            ),
        )
        for count in counts
    ]
    return text_table(rows, right=range(3, 7))


def _short(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _time(time: datetime | None, zone: ZoneInfo) -> str:
    """Return a time in the zone of the target, with its offset."""
    if time is None:
        return ""
    return time.astimezone(zone).isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")


def _record_time(text: str, zone: ZoneInfo) -> str:
    """Return the time of a record like other times; as it is, if it is not a time."""
    from millstream.ops.dead_letters.replaying import time_in

    time = time_in(text, zone)
    return text if time is None else _time(time, zone)


def letter_text(letter: DeadLetter, record: ShownRecord, status: str, zone: ZoneInfo) -> str:
    """Return a letter in a few lines without control characters."""
    lines = [f"{letter.topic} {letter.partition}:{letter.offset}  {_time(letter.sent, zone)}  {status}"]
    if (origin := letter.origin) is not None:
        time = _record_time(origin.timestamp, zone)
        origin_text = f"{origin.topic} {origin.partition}:{origin.offset}  {time}"
        lines.append(f"  from    {one_line(origin_text)}")
    if letter.file:
        lines.append(f"  from    {one_line(letter.file)}, line {letter.line or 'unknown'}")
    lines += [f"  of      {one_line(letter.owner)}", f"  reason  {one_line(letter.reason)}"]
    lines.append(f"  key     {one_line(_text(record.key))}")
    lines.append(f"  value   {one_line(_text(record.value))}")
    lines += [f"  header  {one_line(name)}={one_line(_text(value))}" for name, value in letter.headers]
    return "\n".join(lines)


def letter_data(letter: DeadLetter, record: ShownRecord, status: str) -> dict[str, Any]:
    origin = letter.origin
    return {
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "sent": letter.sent,
        "status": status,
        "origin": origin
        and {
            "topic": origin.topic,
            "partition": origin.partition,
            "offset": origin.offset,
            "timestamp": origin.timestamp,
        },
        "file": letter.file or None,
        "line": int(letter.line) if letter.line else None,
        "owner": letter.owner,
        "query": letter.query,
        "reason": letter.reason,
        "key": to_json_value(record.key),
        "value": to_json_value(record.value),
        "headers": [{"key": name, "value": to_json_value(_text(value))} for name, value in letter.headers],
    }


def _text(value: Any) -> Any:
    """Return bytes that are a text as one, and anything else as it is."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def readers_of(
    project: Project, nodes: Mapping[NodeId, ManifestNode], topics: Collection[str]
) -> dict[str, list[str]]:
    """Return the models whose stored rows depend on the records of each topic."""
    graph = build_graph(nodes)
    stored = {id_: node.name for id_, node in nodes.items() if node.kind == "model" and _is_stored(node)}
    above = {id_: graph.ancestors(id_) for id_ in stored}
    readers: dict[str, list[str]] = {}
    for topic in sorted(topics):
        sources = {
            NodeId("source", source.id) for source in project.topics.values() if topic in source.topics
        }
        readers[topic] = sorted(name for id_, name in stored.items() if sources & above[id_])
    return readers


def _is_stored(node: ManifestNode) -> bool:
    return node.materialization is not None and bool(node.materialization.stored_as)


def already_read(
    done: Iterable[LetterReplay], readers: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, int]]:
    """Return how many records of a replay each reader of a topic has read after their letters were sent."""
    counts: dict[str, Counter[str]] = {}
    for replay in done:
        for topic, models in replay.read_again.items():
            those = {model: count for model, count in models.items() if model in readers.get(topic, ())}
            counts.setdefault(topic, Counter()).update(those)
    return {topic: dict(models) for topic, models in counts.items() if models}


def replay_text(
    done: Iterable[LetterReplay],
    readers: Mapping[str, Sequence[str]],
    already: Mapping[str, Mapping[str, int]],
    *,
    sent: bool,
) -> str:
    lines: list[str] = []
    for replay in done:
        verb = "sent" if sent else "would send"
        lines += [
            f"{replay.topic}: {verb} {count:,} record{'s' * (count != 1)} to {topic}"
            for topic, count in replay.records.items()
        ]
        lines += [
            f"{replay.topic}: {count:,} letters {_FATES[fate]}"
            for fate, count in replay.letters.items()
            if fate in _FATES
        ]
    for topic, models in readers.items():
        if models:
            lines.append(f"read by: {', '.join(models)} ({topic}); all of them get these records")
    for topic, counts in already.items():
        names = ", ".join(f"{model} ({count:,})" for model, count in counts.items())
        again = "got them twice" if sent else "would get them twice; drop the letters instead"
        lines.append(f"already read from {topic}, since the letters were sent: {names}; these models {again}")
    if not lines:
        return "no dead letters"
    return "\n".join(lines if sent else [*lines, _DRY])


_FATES: dict[str, str] = {
    "same record": "of records that are sent for another letter",
    "replayed": "were replayed before",
    "dropped": "were dropped",
    "row": "are rows of models, without a record to send",
    "line": "are lines of files, without a record to send",
    "lost": "were cut, and their topics no longer have the whole records",
}


def drop_text(done: Iterable[LetterDrop], *, delete: bool, applied: bool) -> str:
    lines: list[str] = []
    for drop in done:
        if drop.letters:
            lines.append(f"{drop.topic}: {'dropped' if applied else 'would drop'} {drop.letters:,} letters")
        if delete:
            verb = "deleted" if applied else "would delete"
            lines.append(f"{drop.topic}: {verb} {drop.deleted:,} records, up to the first that remains")
    if not lines:
        return "no dead letters"
    return "\n".join(lines if applied else [*lines, _DRY])
