"""Describes the effect of edits of SQL and options, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from millstream.outputs.kinds import Sink
from millstream.plan.from_sql.catalog import ModelSpec, TopicSpec
from millstream.project.secrets import is_secret_setting
from millstream.queries.differences import quote_sql
from millstream.sql.query import Body, DerivedTable, OpaqueBody, Scan, Select, SqlQuery, SqlUnion


def sql_sentences(old: SqlQuery, new: SqlQuery) -> list[str]:
    """Describe which conditions, groups and relations were added and removed."""
    sentences: list[str] = []
    for added, removed, part in (
        ("keeps rows where {}", "no longer requires {}", _conditions),
        ("groups by {}", "no longer groups by {}", _groups),
        ("reads {}", "no longer reads {}", _relations),
        ("removes repeated rows: {}", "no longer removes repeated rows: {}", _distinct),
    ):
        before, after = Counter(part(old)), Counter(part(new))
        less, more = list(before - after), list(after - before)
        if len(less) == len(more):
            pairs = zip(more, less, strict=True)
            sentences += [f"{added.format(quote_sql(now))}, no longer {quote_sql(was)}" for now, was in pairs]
        else:
            sentences += [removed.format(quote_sql(text)) for text in less]
            sentences += [added.format(quote_sql(text)) for text in more]
    return sentences


def _selects(query: SqlQuery) -> Iterator[Select]:
    waiting: list[Body] = [*query.ctes.values(), query.body]
    while waiting:
        body = waiting.pop(0)
        match body:
            case Select():
                yield body
                waiting += [
                    relation.input.query
                    for relation in body.relations
                    if isinstance(relation.input, DerivedTable)
                ]
            case SqlUnion():
                waiting += body.sides
            case OpaqueBody():
                pass


def _conditions(query: SqlQuery) -> Iterator[str]:
    for select in _selects(query):
        yield from map(str, (*select.where, *select.having))
        yield from (str(condition) for relation in select.relations for condition in relation.on)


def _groups(query: SqlQuery) -> Iterator[str]:
    for select in _selects(query):
        yield from (str(key.expression) for key in select.keys or ())


def _relations(query: SqlQuery) -> Iterator[str]:
    for select in _selects(query):
        for relation in select.relations:
            if isinstance(relation.input, Scan):
                name = relation.input.relation.name
                yield f"{relation.join} join {name}" if relation.join else name


def _distinct(query: SqlQuery) -> Iterator[str]:
    return (
        "DISTINCT"
        for body in (*query.ctes.values(), query.body)
        if not isinstance(body, OpaqueBody) and body.distinct
    )


def spec_sentences(old: ModelSpec, new: ModelSpec) -> dict[str, list[str]]:
    """Describe the changes of a model's options, by part of the model."""
    was, now = old.materialization, new.materialization
    before, after = (stored.sink or Sink("") for stored in (was, now))
    was_format, now_format = (sink.encoding.name if sink.topic else "" for sink in (before, after))
    relation = _differences(
        ("is a {}", was.word, now.word), ("writes to topic {}", before.topic, after.topic)
    )
    was_key, now_key = (str(sink.key_encoding or "") for sink in (before, after))
    contract = _differences(
        ("its format is {}", was_format, now_format),
        ("its key is {}", ", ".join(old.keys), ", ".join(new.keys)),
        ("the format of its key is {}", was_key, now_key),
    )
    if before.topic and after.topic:
        contract += _differences(
            ("its records are {}", describe_records(before.changes), describe_records(after.changes))
        )
    if _order(old, new) != _order(new, old):
        contract.append("the order of its columns changed")
    configs = _differences(
        ("emits {}", old.emit, new.emit),
        ("its dedupe is {}", _dedupe(old), _dedupe(new)),
        ("its watermark is {}", " ".join(old.watermark or ()), " ".join(new.watermark or ())),
    )
    if was.at_rest and now.at_rest:
        configs += _differences(("versions is {}", was.versions or "", now.versions or ""))
    configs += options_sentences(was.settings | old.options, now.settings | new.options)
    configs += _check_sentences(old, new)
    return {"relation": relation, "contract": contract, "configs": configs}


def describe_records(changes: bool) -> str:
    """Say what the records of a topic are."""
    return "changes with the rows before and after" if changes else "rows"


_FATES = {
    "warn": "are stored, and counted",
    "error": "stop it before they are stored",
    "drop": "are dropped",
    "dead_letter": "go to dead letters",
}


def _check_sentences(old: ModelSpec, new: ModelSpec) -> Iterator[str]:
    """Describe what happens to rows that fail data tests."""
    was = {check.name: check for check in old.checks}
    for check in new.checks:
        before = was.pop(check.name, None)
        if before is None or before.severity != check.severity:
            yield f"rows that fail data test `{check.name}` {_FATES[check.severity]}"
        elif before.wrong.content != check.wrong.content:
            yield f"data test `{check.name}` has another condition"
    for check in was.values():
        yield f"data test `{check.name}` was removed"


def _order(one: ModelSpec, other: ModelSpec) -> list[str]:
    """Return the columns that both have, in the order of `one`."""
    others = {column.name.lower() for column in other.columns}
    return [name for column in one.columns if (name := column.name.lower()) in others]


def topic_sentences(old: TopicSpec, new: TopicSpec) -> list[str]:
    return _differences(
        ("reads topic {}", ", ".join(old.topics), ", ".join(new.topics)),
        ("its format is {}", str(old.format), str(new.format)),
        ("its key is read as {}", str(old.key_type), str(new.key_type)),
        ("the format of its key is {}", str(old.key_format), str(new.key_format)),
        ("records that can't be decoded: {}", old.on_bad_record, new.on_bad_record),
        ("records that are sent again: {}", _repeats(old), _repeats(new)),
        ("its watermark is {}", " ".join(old.watermark or ()), " ".join(new.watermark or ())),
        ("is a {}", _kind(old), _kind(new)),
        ("versions is {}", old.versions, new.versions),
    )


def left_out_sentences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Say what becomes of what was left out of files or tables before: each is read once.

    Of a topic, the edit of `on_bad_record` changes the rows.
    """
    was, now = (str(config.get("on_bad_record") or "fail") for config in (old, new))
    if was not in {now, "fail"}:
        before = "were skipped" if was == "skip" else "are dead letters"
        yield {
            "fail": f"lines that {before} stay left out, and would stop a rebuild",
            "skip": f"lines that {before} stay so",
            "dead_letter": "lines that were skipped become dead letters, too, if their files still exist",
        }[now]
    if old.get("skip_changes") and not new.get("skip_changes"):
        yield "versions that were skipped stay left out, and would stop a rebuild"


def _repeats(topic: TopicSpec) -> str:
    return "dropped" if topic.deduplicate else "read"


def options_sentences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Describe changed options by name; names of nested values are joined by dots."""
    before, after = dict(_flat(old)), dict(_flat(new))
    sentences: list[str] = []
    for name in sorted({*before, *after}):
        was, now = before.get(name, ""), after.get(name, "")
        if was != now and (is_secret_setting(name, was) or is_secret_setting(name, now)):
            sentences.append(f"{name} changed; its value is not shown")
        else:
            sentences += _differences((f"{name} is {{}}", was, now))
    return sentences


def _flat(options: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _differences(*comparisons: tuple[str, str, str]) -> list[str]:
    sentences: list[str] = []
    for text, before, after in comparisons:
        if before != after:
            was = f", was {quote_sql(before)}" if before else ""
            sentences.append(text.format(quote_sql(after) if after else "no longer set") + was)
    return sentences


def _kind(topic: TopicSpec) -> str:
    return "reference table" if topic.table else "stream"


def _dedupe(spec: ModelSpec) -> str:
    if spec.dedupe is None:
        return ""
    keys, within, exact = spec.dedupe
    return f"{', '.join(keys)}{f' within {within}' if within else ''}{', exact' if exact else ''}"
