"""What a query was rebuilt as takes the place of what was there: tables, checkpoint, and what is known of it.

Once it has begun, it is ended before anything else happens with the target, whatever its models say by then.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.physical.lock import Lock
from millstream.runner import aside, checkpoints, previous
from millstream.runner.checkpoints import Place, place_of
from millstream.runner.tables import KEPT, Tables
from millstream.stores.files import Files

_TOGETHER = "regroup.json"


class Together(Struct, frozen=True):
    """Queries that take the place of others all at once."""

    queries: tuple[str, ...]
    lock: Lock
    """The groups from then on; what runs none of them is removed."""
    back: bool = False
    """It is the versions before that take their places again."""


def decide(files: Files, place: Place) -> None:
    """Have a swap done by whoever comes next."""
    if (found := aside.read(files, place)) is not None:
        aside.write(files, place, replace(found, swapping=True))


def settle_all(files: Files, tables: Tables, folder: str) -> None:
    """End the swaps of a target that have begun."""
    together = f"{folder.rstrip('/')}/{_TOGETHER}"
    if (content := files.read(together)) is not None:
        _together(files, tables, folder, msgspec.json.decode(content, type=Together))
        files.remove(together)
    for name in files.names(folder):
        settle(files, tables, place_of(folder, name))


def swap_together(files: Files, tables: Tables, folder: str, together: Together) -> None:
    files.write(f"{folder.rstrip('/')}/{_TOGETHER}", msgspec.json.encode(together))
    settle_all(files, tables, folder)


def _together(files: Files, tables: Tables, folder: str, together: Together) -> None:
    for name in together.queries:
        place = place_of(folder, name)
        if together.back:
            _go_back(files, tables, place)
        else:
            decide(files, place)
        settle(files, tables, place)
    before = checkpoints.read_lock(files, folder) or Lock()
    checkpoints.write_lock(files, folder, together.lock)
    for group in before.groups:
        if together.lock.group(group.name) is None:
            files.remove(place_of(folder, group.name).folder)


def _go_back(files: Files, tables: Tables, place: Place) -> None:
    """Decide that the version before takes its place again."""
    kept, begun = previous.read(files, place), aside.read(files, place)
    if kept is None or (begun is not None and begun.named == KEPT):
        return  # an earlier try came further
    forget(files, tables, place)
    if kept.record is None:
        previous.give_back(files, tables, place, kept)
    else:
        aside.write(files, place, previous.restored(kept, kept.record))


def settle(files: Files, tables: Tables, place: Place) -> bool:
    """End a swap that has begun, and tell whether there was one; each step can be taken again."""
    found = aside.read(files, place)
    if found is None or not found.swapping:
        return False
    before = checkpoints.read_record(files, place)
    if before != found.record:
        if found.apply:
            previous.keep(files, tables, place, before, found)
        elif found.named != KEPT:
            previous.forget(files, tables, place)
        for table in found.tables:
            changes = table.model in found.streamed
            tables.swap(found.beside(table), table, found.swap or found.record.id, changes=changes)
        checkpoints.write_record(files, place, found.record)
        if before is not None and not found.apply:
            files.remove(place.spark(before))
    if found.named == KEPT:
        previous.drop_note(files, place)
    for table in found.tables:
        tables.drop(found.beside(table))
    files.remove(place.rebuild)
    return True


def forget(files: Files, tables: Tables, place: Place) -> None:
    """Remove what a rebuild that did not come to its end has made."""
    found = aside.read(files, place)
    if found is None:
        return
    for table in found.tables:
        tables.drop(found.beside(table))
    files.remove(place.spark(found.record))
    files.remove(place.rebuild)
