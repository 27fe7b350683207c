"""`millstream dead-letters`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

import click
from msgspec import Struct, structs

from millstream.cli.dead_letters import (
    already_read,
    counts_table,
    drop_text,
    letter_data,
    letter_text,
    readers_of,
    replay_text,
)
from millstream.cli.environments import defer_as_built, refuse_environment
from millstream.cli.jar_progress import jar_progress
from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_result
from millstream.cli.project import compile_for, project_of, root_of
from millstream.cli.times import parse_time
from millstream.cli.writer_schemas import decode_by_writers
from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId

if TYPE_CHECKING:
    from millstream.compile.manifest import ManifestNode
    from millstream.kafka.clients import Admin
    from millstream.ops.dead_letters.handled_letters import HandledLetters
    from millstream.ops.dead_letters.letter import DeadLetter
    from millstream.ops.dead_letters.letter_selection import LetterFilter, OffsetRange
    from millstream.ops.dead_letters.replaying import LetterReplay
    from millstream.project.values import Project

Action = Literal["ls", "show", "replay", "drop"]
_LIMIT = click.IntRange(min=1)
_RANGE = re.compile(r"(\d+):(\d+)(?:-(\d+))?")


class _Options(Struct, frozen=True):
    names: tuple[str, ...]
    reason: str
    since: str | None
    until: str | None
    offset: tuple[str, ...]


class _Target(Struct, frozen=True, eq=False):
    """What a command works with."""

    common: CommonOptions
    project: Project
    nodes: dict[NodeId, ManifestNode]
    admin: Admin
    letter_filter: LetterFilter
    zone: ZoneInfo


@cli_command(
    "dead-letters",
    "millstream dead-letters ls",
    "millstream dead-letters show scores --reason ZeroDivisionError",
    "millstream dead-letters replay scores            # what would be sent",
    "millstream dead-letters replay scores --yes",
    "millstream dead-letters drop shop.events --until 2026-03-01 --delete --yes",
    environments=True,
)
@click.argument("action", type=click.Choice(("ls", "show", "replay", "drop")))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--reason",
    default="",
    metavar="TEXT",
    help="Letters whose reason has these words, in any case: `total` does not match total_2.",
)
@click.option("--since", metavar="TIME", help="Letters that were sent at or after a time.")
@click.option("--until", metavar="TIME", help="Letters that were sent before a time.")
@click.option(
    "--offset",
    multiple=True,
    metavar="P:N[-N]",
    help="Letters at these offsets of a partition of the dead letter topic: `0:17`, `0:17-42`.",
)
@click.option("--limit", type=_LIMIT, default=10, show_default=True, help="With show: at most this many.")
@click.option("--all", "every", is_flag=True, help="With show: also letters that were replayed or dropped.")
@click.option("--force", is_flag=True, help="With replay: also letters that were replayed or dropped.")
@click.option(
    "--delete",
    is_flag=True,
    help="With drop: let Kafka delete letters, up to the oldest one that remains in each partition.",
)
@click.option(
    "--yes", "-y", is_flag=True, help="With replay and drop: do it, not only say what would be done."
)
def command(
    common: CommonOptions,
    *,
    action: Action,
    names: tuple[str, ...],
    reason: str,
    since: str | None,
    until: str | None,
    offset: tuple[str, ...],
    limit: int,
    every: bool,
    force: bool,
    delete: bool,
    yes: bool,
) -> int:
    """List, show, replay or drop dead letters.

    A NAME is a source (the records that it could not decode), a model (those on which its function failed,
    and rows that its tests rejected), or a topic (all of its dead letters). Without names, all dead letters
    of the project are meant.

    `ls` counts letters by topic, source or model, and reason. `show` shows the newest ones. `replay` sends
    the original key, value and headers back to the topic and partition that they came from, each record once:
    a replay that was killed continues, and a record is sent again only with --force. All readers of the topic
    get the record, also models that had no problem with it, and those that were rebuilt since and already
    have it, which the dry run names. `drop` marks letters as handled without sending anything. Both say what
    they would do; --yes does it.
    """
    for is_set, allowed, name in (
        (every, ("show",), "--all"),
        (force, ("replay",), "--force"),
        (delete, ("drop",), "--delete"),
        (yes, ("replay", "drop"), "--yes"),
    ):
        if is_set and action not in allowed:
            raise click.UsageError(f"{name} needs {' or '.join(allowed)}")
    with _opened(common, _Options(names, reason, since, until, offset)) as target:
        if action == "replay":
            refuse_environment(target.project.target, "a replay sends records to the topics of sources")
        match action:
            case "ls":
                return _list(target)
            case "show":
                return _show(target, limit, every=every)
            case "replay":
                return _replay(target, force=force, yes=yes)
            case "drop":
                return _drop(target, delete=delete, yes=yes)


@contextmanager
def _opened(common: CommonOptions, options: _Options) -> Iterator[_Target]:
    from millstream.kafka.connection import connect_kafka
    from millstream.kafka.topic_patterns import match_project
    from millstream.ops.dead_letters.letter_selection import filter_of, names_of

    root = root_of(common)
    # Letters can be handled although models have errors.
    project = project_of(common, root)
    compiled, target = defer_as_built(root, compile_for(common, root), project.target)
    project = structs.replace(project, target=target)
    nodes = compiled.manifest.nodes
    zone = ZoneInfo(project.target.settings.get("timezone", "UTC"))
    since, until = (parse_time(text, zone) if text else None for text in (options.since, options.until))
    ranges = tuple(map(_range, options.offset))
    with jar_progress(common.style) as fetched, connect_kafka(project, fetched) as admin:
        project = match_project(project, nodes, admin)
        letter_filter = filter_of(names_of(project, nodes), admin, options.names)
        letter_filter = structs.replace(
            letter_filter, reason=options.reason, since=since, until=until, ranges=ranges
        )
        yield _Target(common, project, nodes, admin, letter_filter, zone)


def _range(text: str) -> OffsetRange:
    from millstream.ops.dead_letters.letter_selection import OffsetRange

    match = _RANGE.fullmatch(text)
    if match is None:
        raise click.UsageError(f"'{text}' is not an offset, such as 0:17 or 0:17-42 (partition 0)")
    return OffsetRange(int(match[1]), int(match[2]), int(match[3] or match[2]))


def _list(target: _Target) -> int:
    from millstream.ops.dead_letters.counting import count_letters

    counts = [
        count
        for topic in target.letter_filter.topics
        for count in count_letters(target.admin, topic, target.letter_filter.has)
    ]
    totals = {
        name: sum(getattr(count, name) for count in counts)
        for name in ("letters", "replayed", "dropped", "remaining")
    }
    result = {"dead_letters": to_builtins(counts), **totals}
    return print_result(target.common.style, result=result, text=counts_table(counts, target.zone))


def _show(target: _Target, limit: int, *, every: bool) -> int:
    from millstream.kafka.registry.writers import registry_writers
    from millstream.kafka.topic_decoding import TopicDecoding
    from millstream.kafka.topic_names import topic_decodings
    from millstream.ops.dead_letters.handled_letters import read_handled
    from millstream.ops.dead_letters.letter_selection import newest_letters

    readings = topic_decodings(target.project, target.nodes)
    letters: list[dict[str, Any]] = []
    lines: list[str] = []
    with registry_writers(target.project) as writers:
        for topic in target.letter_filter.topics:
            handled = read_handled(target.admin, topic)
            chosen = target.letter_filter.has if every else partial(_remains, target.letter_filter, handled)
            for message, letter in newest_letters(target.admin, topic, limit, chosen):
                origin = letter.origin.topic if letter.origin else topic.removesuffix(".dead_letter")
                record = decode_by_writers(message, readings.get(origin) or TopicDecoding((origin,)), writers)
                status = handled.status(letter)
                letters.append(letter_data(letter, record, status))
                lines.append(letter_text(letter, record, status, target.zone))
    text = "\n\n".join(lines) or "no dead letters"
    return print_result(target.common.style, result={"dead_letters": letters}, text=text)


def _remains(letter_filter: LetterFilter, handled: HandledLetters, letter: DeadLetter) -> bool:
    return letter_filter.has(letter) and handled.status(letter) == "remaining"


def _replay(target: _Target, *, force: bool, yes: bool) -> int:
    from millstream.cli.signals import ending_well
    from millstream.ops.dead_letters.read_again import read_again
    from millstream.ops.dead_letters.replaying import plan_replay, replay_letters
    from millstream.project.folders import checkpoints_of

    done: list[LetterReplay] = []
    root = Path(target.project.root)
    readings = tuple(read_again(target.project, checkpoints_of(target.project.target, root)))
    for topic in target.letter_filter.topics:
        chosen = target.letter_filter.has
        plan = plan_replay(target.admin, topic, chosen, force=force, readings=readings)
        if yes and plan.letters.get("due"):
            with ending_well():
                sent = replay_letters(target.admin, topic, chosen, target.zone, force=force)
            plan = structs.replace(sent, read_again=plan.read_again)
        done.append(plan)
    _refuse(done)
    topics = {topic for topic_replay in done for topic in topic_replay.records}
    readers = readers_of(target.project, target.nodes, topics)
    already = already_read(done, readers)
    result = {
        "topics": to_builtins(done),
        "records": sum(sum(topic_replay.records.values()) for topic_replay in done),
        "sent": yes,
        "readers": readers,
        "already_read": already,
    }
    text = replay_text(done, readers, already, sent=yes)
    return print_result(target.common.style, result=result, text=text)


def _refuse(done: Iterable[LetterReplay]) -> None:
    """Raise an error if nothing can be sent, although there are letters."""
    letters: dict[str, int] = {}
    for topic_replay in done:
        for fate, count in topic_replay.letters.items():
            letters[fate] = letters.get(fate, 0) + count
    if not letters or letters.get("due"):
        return
    if lost := letters.get("lost"):
        message = f"{lost:,} dead letters were cut, and their topics no longer have the whole records"
        remedy = "drop the letters; to get whole ones, let their topic and `producer` accept larger records"
        raise MillstreamError(Diagnostic("MS830", message, None, remedy))
    if rows := letters.get("row"):
        message = f"{rows:,} dead letters are rows that a data test rejected, not records of a topic"
        remedy = "fix the model or its test and rebuild it, or drop the letters"
        raise MillstreamError(Diagnostic("MS830", message, None, remedy))
    if lines := letters.get("line"):
        message = f"{lines:,} dead letters are lines of files, not records of a topic"
        remedy = "write the corrected lines to a new file of the source, and drop the letters"
        raise MillstreamError(Diagnostic("MS830", message, None, remedy))
    count = sum(letters.values())
    message = f"all of these dead letters ({count:,}) were replayed or dropped before"
    raise MillstreamError(Diagnostic("MS838", message, None, "add --force to send their records again"))


def _drop(target: _Target, *, delete: bool, yes: bool) -> int:
    from millstream.cli.signals import ending_well
    from millstream.ops.dead_letters.dropping import drop_letters, plan_drop

    act = drop_letters if yes else plan_drop
    with ending_well():
        done = [
            act(target.admin, topic, target.letter_filter.has, delete=delete)
            for topic in target.letter_filter.topics
        ]
    result = {
        "topics": to_builtins(done),
        "letters": sum(topic_drop.letters for topic_drop in done),
        "done": yes,
    }
    return print_result(target.common.style, result=result, text=drop_text(done, delete=delete, applied=yes))
