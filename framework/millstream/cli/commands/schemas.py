"""`millstream schemas`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.exceptions import Exit
from msgspec import Struct

from millstream.cli.diagnostics import with_lines
from millstream.cli.jar_progress import jar_progress
from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_result
from millstream.cli.project import root_of
from millstream.cli.topic_schemas import RegisteredTopics, SinkSchema, topic_schemas
from millstream.core.encoding import to_builtins
from millstream.core.errors import MillstreamError
from millstream.formats.registry import Encoding
from millstream.project.pinned_schemas import choose_version, format_named
from millstream.project.pins import pins_folder
from millstream.project.values import FunctionUse, RegistryUse, SchemaUse, Topic

if TYPE_CHECKING:
    from millstream.kafka.registry.newer_versions import NewerVersion
    from millstream.kafka.registry.pull import PinChange


class SchemaRow(Struct, frozen=True):
    """The schema of a topic."""

    source: str
    topic: str
    format: str | None
    file: str | None = None
    subject: str | None = None
    version: int | None = None
    """The pinned version that has the columns; with its id, None if it is not pinned."""
    id: int | None = None
    versions: int = 0
    """How many versions are pinned."""


@cli_command(
    "schemas",
    "millstream schemas pull --target prod",
    "millstream schemas pull --check",
    "millstream schemas check",
    "millstream schemas ls --output json",
    "millstream schemas show 12",
)
@click.argument("action", type=click.Choice(("pull", "check", "ls", "show")))
@click.argument("schema_id", metavar="[ID]", type=click.IntRange(min=0), required=False)
@click.option("--check", is_flag=True, help="With pull: write nothing; exit with 1 if a file would change.")
def command(
    common: CommonOptions,
    *,
    action: Literal["pull", "check", "ls", "show"],
    schema_id: int | None,
    check: bool,
) -> int:
    """Pin or list the schemas of topics from a schema registry.

    `pull` fetches all versions of the subjects that topics use, and those of sinks that are registered, with
    the schemas that they refer to, and writes a file for each subject into `schemas/registry`. Commit these
    files: compiling reads only them, and needs no network. `check` compares the pinned schemas with the
    newest ones of the registry, field by field, and ends with exit code 1 if records of a newer schema can't
    be read with the pinned one. `ls` lists the topics with a schema. `show` asks the registry for the schema
    of an id.
    """
    if check and action != "pull":
        raise click.UsageError("--check needs pull")
    if (schema_id is not None) != (action == "show"):
        raise click.UsageError(
            "show needs the id of a schema" if action == "show" else "only show takes an id"
        )
    root = root_of(common)
    schemas = topic_schemas(common, root)
    if any(diagnostic.severity == "error" for diagnostic in schemas.diagnostics):
        raise Exit(print_result(common.style, schemas.diagnostics))
    try:
        match action:
            case "pull":
                return pull_schemas(common, root, schemas, check=check)
            case "check":
                return compare_schemas(common, root, schemas)
            case "ls":
                return list_schemas(common, schemas)
            case "show":
                assert schema_id is not None
                return show_schema(common, root, schemas, schema_id)
    except MillstreamError as error:
        raise MillstreamError(*with_lines(error.diagnostics, root)) from None


def pull_schemas(common: CommonOptions, root: Path, schemas: RegisteredTopics, *, check: bool) -> int:
    # These import Confluent's client, which takes a second.
    from millstream.kafka.registry.connection import connect_registry
    from millstream.kafka.registry.pull import fetch_subjects, pin_changes, subjects_of, write_pins

    pinned = {sink.subject: sink.location for sink in schemas.sinks if sink.pinned}
    subjects = pinned | subjects_of(schemas.topics.values())
    written = {sink.subject: sink.location for sink in schemas.sinks}
    fetched = {}
    if subjects or written:
        with (
            jar_progress(common.style) as progress,
            connect_registry(schemas.target, root, schemas.pins, progress) as registry,
        ):
            fetched = fetch_subjects(registry, subjects, written)
    changed = pin_changes(pins_folder(schemas.settings), schemas.files, schemas.pins, fetched)
    if not check:
        write_pins(root, fetched, changed)
    result = {"subjects": list(fetched), "changes": to_builtins(changed), "written": not check}
    text = None if common.style.quiet and not check else describe_pull(len(fetched), changed, check=check)
    code = print_result(common.style, schemas.diagnostics, result=result, text=text)
    return code or int(check and bool(changed))


def compare_schemas(common: CommonOptions, root: Path, schemas: RegisteredTopics) -> int:
    from millstream.kafka.registry.connection import connect_registry
    from millstream.kafka.registry.newer_versions import newer_versions
    from millstream.kafka.registry.pull import fetch_subjects, subjects_of

    subjects = subjects_of(schemas.topics.values())
    newer: list[NewerVersion] = []
    if subjects:
        with (
            jar_progress(common.style) as progress,
            connect_registry(schemas.target, root, schemas.pins, progress) as registry,
        ):
            fetched = fetch_subjects(registry, subjects)
        newer = newer_versions(schemas.uses, schemas.pins, fetched)
    result = {
        "subjects": [
            {
                **to_builtins(subject),
                "findings": [{**to_builtins(f), "text": f.text} for f in subject.findings],
            }
            for subject in newer
        ]
    }
    text = (
        "\n".join(line for subject in newer for line in describe_newer(subject))
        or "no topic has a schema of a registry"
    )
    code = print_result(common.style, schemas.diagnostics, result=result, text=text)
    return code or int(any(subject.unreadable for subject in newer))


def describe_newer(newer: NewerVersion) -> list[str]:
    """Return how the newest version differs from the pinned one, in lines."""
    if newer.newest == newer.pinned:
        return [f"{newer.subject}: version {newer.pinned} is pinned, and the newest"]
    lines = [f"{newer.subject}: version {newer.pinned} is pinned, version {newer.newest} is the newest"]
    texts = dict.fromkeys(finding.text for finding in newer.findings)
    return lines + ([f"  {text}" for text in texts] or ["  compatible in both directions"])


def describe_pull(subjects: int, changed: Iterable[PinChange], *, check: bool) -> str:
    verbs = {"new": "add", "changed": "change", "unused": "remove"}
    lines = [
        f"{verbs[pin.state]} {pin.path}{_versions(pin.versions) if pin.state == 'changed' else ''}"
        for pin in changed
    ]
    count = f"{subjects} subject{'' if subjects == 1 else 's'}"
    if not lines:
        return f"{count} pinned, no changes"
    if check:
        return "\n".join([*lines, "the registry has moved on: run `millstream schemas pull`"])
    return "\n".join([*lines, f"{count} pinned"])


def _versions(numbers: tuple[int, ...]) -> str:
    if not numbers:
        return ""
    return f": new version{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def list_schemas(common: CommonOptions, schemas: RegisteredTopics) -> int:
    rows = rows_of(schemas)
    result = {"schemas": to_builtins(rows)}
    return print_result(common.style, schemas.diagnostics, result=result, text=format_schemas(rows))


def rows_of(schemas: RegisteredTopics) -> list[SchemaRow]:
    rows: list[SchemaRow | None] = []
    for topic in schemas.topics.values():
        rows.append(_row(topic, topic.schema, topic.format, schemas))
        if topic.key is not None:
            rows.append(_row(topic, topic.key.schema, topic.key.format, schemas))
    rows += [_of_sink(sink, schemas) for sink in schemas.sinks]
    return [row for row in rows if row is not None]


def _of_sink(sink: SinkSchema, schemas: RegisteredTopics) -> SchemaRow:
    versions = schemas.pins[sink.subject].versions if sink.subject in schemas.pins else ()
    live = [version for version in versions if not version.deleted]
    version, number = (live[-1].version, live[-1].id) if live else (None, None)
    path = sink.file or None
    return SchemaRow(sink.model, sink.topic, sink.format, path, sink.subject, version, number, len(versions))


def _row(
    topic: Topic,
    schema: SchemaUse | RegistryUse | FunctionUse | None,
    encoding: Encoding,
    schemas: RegisteredTopics,
) -> SchemaRow | None:
    match schema:
        case SchemaUse(path=path):
            return SchemaRow(topic.id, topic.topic_names, encoding.name, file=path)
        case RegistryUse(subject=subject) as use:
            versions = schemas.pins[subject].versions if subject in schemas.pins else ()
            version = choose_version(use, versions)
            if version is None:
                return SchemaRow(topic.id, topic.topic_names, use.format or None, None, subject, use.version)
            format_ = format_named(version.type)
            return SchemaRow(
                topic.id,
                topic.topic_names,
                format_,
                None,
                subject,
                version.version,
                version.id,
                len(versions),
            )
        case FunctionUse() | None:
            return None


def format_schemas(rows: list[SchemaRow]) -> str:
    if not rows:
        return "no topic has a schema"
    lines = [("USED BY", "TOPIC", "SCHEMA", "FORMAT", "VERSION", "ID")]
    for row in rows:
        version = "" if row.version is None else str(row.version)
        pinned = str(row.id) if row.id is not None else ("" if row.file else "not pinned")
        lines.append(
            (row.source, row.topic, row.subject or row.file or "", row.format or "", version, pinned)
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def show_schema(common: CommonOptions, root: Path, schemas: RegisteredTopics, schema_id: int) -> int:
    from millstream.kafka.registry.connection import connect_registry

    with (
        jar_progress(common.style) as progress,
        connect_registry(schemas.target, root, schemas.pins, progress) as registry,
    ):
        schema = registry.schema(schema_id)
    result: dict[str, Any] = {"id": schema_id, "type": schema.type, "schema": schema.text}
    return print_result(common.style, schemas.diagnostics, result=result, text=schema.text)
