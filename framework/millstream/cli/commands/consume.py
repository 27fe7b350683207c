"""`millstream consume`."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click
import msgspec
from click.exceptions import Exit
from confluent_kafka import Message
from msgspec import structs

from millstream.cli.environments import defer_as_built
from millstream.cli.failed_builds import failed_builds
from millstream.cli.jar_progress import jar_progress
from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import OutputStyle, print_result, show_diagnostics, terminal_escaper
from millstream.cli.project import compile_for, project_of, root_of
from millstream.cli.records import Line, csv_lines, json_line, text_lines
from millstream.cli.writer_schemas import decode_by_writers
from millstream.core.errors import Diagnostic, MillstreamError, reporting_os_errors
from millstream.kafka.clients import Admin
from millstream.kafka.connection import connect_kafka
from millstream.kafka.consuming import all_records, first_offsets, follow_records, newest_records
from millstream.kafka.registry.writers import registry_writers
from millstream.kafka.topic_decoding import TopicDecoding, bytes_of, headers_of
from millstream.kafka.topic_names import readings_of
from millstream.kafka.topic_patterns import match_project
from millstream.outputs.kinds import BATCH, POSITION

if TYPE_CHECKING:
    from confluent_kafka import Message

_LAST = 10
_COUNT = click.IntRange(min=0)


@cli_command(
    "consume",
    "millstream consume orders",
    "millstream consume orders --follow --keys",
    "millstream consume totals --from-beginning --output json --to totals.jsonl",
    outputs=("csv",),
    environments=True,
)
@click.argument("names", metavar="TOPIC...", nargs=-1, required=True)
@click.option("--from-beginning", is_flag=True, help="Show all records that the topic holds.")
@click.option(
    "--last", type=_COUNT, metavar="N", help="Show the newest N records of each topic; default: 10."
)
@click.option("--follow", "-f", is_flag=True, help="Continue with new records until Ctrl-C.")
@click.option(
    "--deduplicate",
    is_flag=True,
    help="Leave out records that a sink sent again after a failure; with --from-beginning.",
)
@click.option("--count", type=_COUNT, metavar="N", help="Stop after N records.")
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to a file instead of the terminal.",
)
@click.option("--keys", is_flag=True, help="Show keys before the values.")
@click.option("--headers", is_flag=True, help="Show headers before the values.")
def command(
    common: CommonOptions,
    *,
    names: tuple[str, ...],
    from_beginning: bool,
    last: int | None,
    follow: bool,
    deduplicate: bool,
    count: int | None,
    to: Path | None,
    keys: bool,
    headers: bool,
) -> int:
    """Show the records of topics, decoded as the project declares them.

    A TOPIC is a source, a sink, or any other topic in the target's Kafka. No offsets are committed, and no
    consumer group is affected. What can't be decoded, or would be a bad record, is shown as base64 with the
    reason. With --output json, each record is a JSON object on its own line, with topic, partition, offset,
    timestamp, key, value, headers and what could not be decoded; errors and warnings are also JSON lines.
    """
    if from_beginning and last is not None:
        raise click.UsageError("--from-beginning and --last exclude each other")
    if deduplicate and not from_beginning:
        raise click.UsageError("--deduplicate needs --from-beginning: it compares all records")
    if common.output == "csv" and len(names) > 1:
        raise click.UsageError("--output csv takes a single topic")
    written, first_sent = 0, FirstSent()
    with _errors_as_lines(common.style):
        root = root_of(common)
        # Topics can be read although models have errors.
        project = project_of(common, root)
        compiled, target = defer_as_built(root, compile_for(common, root), project.target)
        project = structs.replace(project, target=target)
        nodes = compiled.manifest.nodes
        with (
            jar_progress(common.style) as fetched,
            connect_kafka(project, fetched) as admin,
            registry_writers(project, fetched) as writers,
        ):
            project = match_project(project, nodes, admin)
            readings = {
                topic: reading
                for reading in readings_of(project, nodes, admin, names)
                for topic in reading.topics
            }
            sinks = [id_ for id_, node in nodes.items() if node.sink and node.sink.topic in readings]
            _warn(common.style, [*failed_builds(root, project.target, sinks)])
            messages = _messages(admin, [*readings], from_beginning, last, follow)
            if deduplicate:
                messages = first_sent.of(messages)
            head, line = _lines(common, [*readings.values()], keys=keys, headers=headers)
            with _writing(to) as file, suppress(KeyboardInterrupt):
                text = terminal_escaper(file)
                if head:
                    file.write(text(head) + "\n")
                for message in islice(messages, count):
                    record = decode_by_writers(message, readings[message.topic() or ""], writers)
                    file.write(text(line(record)) + "\n")
                    written += 1
                    if follow:
                        file.flush()
    if deduplicate and not common.style.quiet:
        click.echo(_summary(first_sent), err=True)
    if to is not None and not common.style.quiet and not common.style.json:
        return print_result(common.style, text=f"Wrote {written:,} record{'s' * (written != 1)} to {to}.")
    return 0


def _summary(first_sent: FirstSent) -> str:
    text = f"Left out {first_sent.repeated:,} repeated record{'s' * (first_sent.repeated != 1)}."
    if first_sent.unplaced:
        text += f" {first_sent.unplaced:,} have no position: repeats among them are shown."
    return text


@contextmanager
def _errors_as_lines(style: OutputStyle) -> Iterator[None]:
    """With --output json, print errors as a line, too, and end the command."""
    try:
        yield
    except MillstreamError as error:
        if not style.json:
            raise
        _print_line(style, error.diagnostics)
        raise Exit(2) from None


def _warn(style: OutputStyle, warnings: Sequence[Diagnostic]) -> None:
    if not style.json:
        show_diagnostics(style, warnings)
    elif warnings and not style.quiet:
        _print_line(style, warnings)


def _print_line(style: OutputStyle, diagnostics: Sequence[Diagnostic]) -> None:
    from millstream.cli.diagnostics import as_data

    document = {"diagnostics": [as_data(diagnostic, style.target) for diagnostic in diagnostics]}
    click.echo(msgspec.json.encode(document, enc_hook=str).decode())


def _lines(
    common: CommonOptions, readings: list[TopicDecoding], *, keys: bool, headers: bool
) -> tuple[str, Line]:
    match common.output:
        case "json":
            return "", json_line
        case "csv":
            return csv_lines(readings[0])
        case _:
            return "", text_lines(keys=keys, headers=headers, topics=len(readings) > 1)


def _messages(
    admin: Admin, topics: list[str], from_beginning: bool, last: int | None, follow: bool
) -> Iterable[Message]:
    match from_beginning, follow:
        case True, True:
            return follow_records(admin, first_offsets(admin, topics))
        case True, False:
            return all_records(admin, topics)
        case _:
            return _newest(admin, topics, _LAST if last is None else last, follow)


def _newest(admin: Admin, topics: list[str], last: int, follow: bool) -> Iterator[Message]:
    messages, ends = newest_records(admin, topics, last)
    yield from messages
    if follow:
        yield from follow_records(admin, ends)


@contextmanager
def _writing(to: Path | None) -> Iterator[TextIO]:
    if to is None:
        try:
            yield sys.stdout
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader closed the pipe, as `head` does.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    with (
        reporting_os_errors("MS702", f"{to} can't be written", "choose a writable file with --to"),
        to.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


_BITS = 13
"""Of an offset, within a page of offsets. A page of a thousand bytes has a bit for each."""


class FirstSent:
    """Passes the first record of each position.

    A position belongs to a topic, and to a query with its checkpoint, since a rebuild sends other records of
    the same positions. A record without a position always passes.
    """

    def __init__(self) -> None:
        self._pages: defaultdict[tuple[str, str, str, int], bytearray] = defaultdict(_page)
        self.repeated = 0
        """How many records were left out."""
        self.unplaced = 0
        """How many had no position."""

    def of(self, messages: Iterable[Message]) -> Iterator[Message]:
        for message in messages:
            if self._is_first(message):
                yield message
            else:
                self.repeated += 1

    def _is_first(self, message: Message) -> bool:
        headers = {name: bytes_of(value) or b"" for name, value in headers_of(message)}
        position = headers.get(POSITION, b"").decode(errors="replace")
        partition, _, offset = position.rpartition("-")
        if not partition or not offset.isdecimal():
            self.unplaced += 1
            return True
        sender = headers.get(BATCH, b"").decode(errors="replace").rpartition("/")[0]
        number, slot = divmod(int(offset), 1 << _BITS)
        key = (message.topic() or "", sender, partition, number)
        page = self._pages[key]
        index, bit = slot >> 3, 1 << (slot & 7)
        first = not page[index] & bit
        page[index] |= bit
        return first


def _page() -> bytearray:
    return bytearray(1 << (_BITS - 3))
