"""What a query was rebuilt as takes the place of what was there: tables, checkpoint, and what is known of it.

Once it has begun, it is ended before anything else happens with the target, whatever its models say by then.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.physical.lock import Lock
from millstream.physical.values import TableOutput
from millstream.runner import checkpoints
from millstream.runner.checkpoints import Place, Record, place_of
from millstream.runner.files import Files
from millstream.runner.tables import ASIDE, Tables

_REGROUP = "regroup.json"


class Rebuild(Struct, frozen=True):
    """Kept beside the record of the query as it was."""

    record: Record
    digest: str
    """Of all that the query does."""
    tables: tuple[TableOutput, ...]
    streamed: tuple[str, ...] = ()
    """Those whose changes somebody reads."""
    swapping: bool = False


def read(files: Files, place: Place) -> Rebuild | None:
    content = files.read(place.rebuild)
    return None if content is None else msgspec.json.decode(content, type=Rebuild)


def write(files: Files, place: Place, found: Rebuild) -> None:
    files.write(place.rebuild, msgspec.json.format(msgspec.json.encode(found), indent=1))


class Regroup(Struct, frozen=True):
    """Queries that take the place of others all at once, since models move from one to another."""

    queries: tuple[str, ...]
    lock: Lock
    """The groups from then on; what runs none of them is removed."""


def decide(files: Files, place: Place) -> None:
    """Have a swap done by whoever comes next."""
    if (found := read(files, place)) is not None:
        write(files, place, replace(found, swapping=True))


def settle_all(files: Files, tables: Tables, folder: str) -> None:
    """End the swaps of a target that have begun."""
    regroup = f"{folder.rstrip('/')}/{_REGROUP}"
    if (content := files.read(regroup)) is not None:
        _regroup(files, tables, folder, msgspec.json.decode(content, type=Regroup))
        files.remove(regroup)
    for name in files.names(folder):
        settle(files, tables, place_of(folder, name))


def swap_together(files: Files, tables: Tables, folder: str, regroup: Regroup) -> None:
    files.write(f"{folder.rstrip('/')}/{_REGROUP}", msgspec.json.encode(regroup))
    settle_all(files, tables, folder)


def _regroup(files: Files, tables: Tables, folder: str, regroup: Regroup) -> None:
    for name in regroup.queries:
        decide(files, place_of(folder, name))
        settle(files, tables, place_of(folder, name))
    before = checkpoints.read_lock(files, folder) or Lock()
    checkpoints.write_lock(files, folder, regroup.lock)
    for group in before.groups:
        if regroup.lock.group(group.name) is None:
            files.remove(place_of(folder, group.name).folder)


def settle(files: Files, tables: Tables, place: Place) -> None:
    """End a swap that has begun; each step can be taken again."""
    found = read(files, place)
    if found is None or not found.swapping:
        return
    before = checkpoints.read_record(files, place)
    if before != found.record:
        for table in found.tables:
            changes = table.model in found.streamed
            tables.swap(named_aside(table), table, found.record.id, changes=changes)
        checkpoints.write_record(files, place, found.record)
        if before is not None:
            files.remove(place.spark(before))
    for table in found.tables:
        tables.drop(named_aside(table))
    files.remove(place.rebuild)


def named_aside(table: TableOutput) -> TableOutput:
    return replace(table, model=table.model + ASIDE)
