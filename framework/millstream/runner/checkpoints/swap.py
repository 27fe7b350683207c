"""Puts a rebuilt version in the place of the running one: tables, checkpoint and record.

A swap that has begun is completed before anything else happens on the target, even if its models changed.
"""

from __future__ import annotations

from msgspec.structs import replace

from millstream.physical.lock import Lock
from millstream.runner.checkpoints import files as checkpoints
from millstream.runner.checkpoints import joined_swap, pending_swap, previous
from millstream.runner.checkpoints.files import CheckpointFolder, checkpoint_folder
from millstream.runner.checkpoints.held_records import HeldRecords
from millstream.runner.checkpoints.joined_swap import JoinedSwap
from millstream.runner.checkpoints.pending_swap import PendingSwap, renamed
from millstream.runner.queries.tables import RETAINED_SUFFIX, SNAPSHOT_SUFFIX, Tables
from millstream.stores.files import Files


def begin_swap(files: Files, place: CheckpointFolder) -> None:
    """Mark a swap as begun: from now on, the next command completes it."""
    if (found := pending_swap.read(files, place)) is not None:
        pending_swap.write(files, place, replace(found, swapping=True))


def settle_all(files: Files, tables: Tables, held: HeldRecords, folder: str) -> None:
    """Complete the swaps of a target that have begun."""
    if (joined := joined_swap.read(files, folder)) is not None:
        _swap_together(files, tables, held, folder, joined)
        joined_swap.remove(files, folder)
    for name in files.names(folder):
        settle(files, tables, held, checkpoint_folder(folder, name))


def swap_together(files: Files, tables: Tables, held: HeldRecords, folder: str, joined: JoinedSwap) -> None:
    joined_swap.write(files, folder, joined)
    settle_all(files, tables, held, folder)


def _swap_together(files: Files, tables: Tables, held: HeldRecords, folder: str, joined: JoinedSwap) -> None:
    for name in joined.queries:
        place = checkpoint_folder(folder, name)
        if joined.back:
            _begin_rollback(files, tables, place)
        else:
            begin_swap(files, place)
        settle(files, tables, held, place)
    before = checkpoints.read_lock(files, folder) or Lock()
    checkpoints.write_lock(files, folder, joined.lock)
    for group in before.groups if not joined.stay else ():
        if joined.lock.group(group.name) is None:
            files.remove(checkpoint_folder(folder, group.name).folder)


def _begin_rollback(files: Files, tables: Tables, place: CheckpointFolder) -> None:
    """Begin the swap back to the previous version."""
    retained, begun = previous.read(files, place), pending_swap.read(files, place)
    if retained is None or (begun is not None and begun.named == RETAINED_SUFFIX):
        return  # an earlier attempt got further
    forget(files, tables, place)
    if retained.record is None:
        previous.restore_tables(files, tables, place, retained)
    else:
        pending_swap.write(files, place, previous.as_pending_swap(retained, retained.record))


def settle(files: Files, tables: Tables, held: HeldRecords, place: CheckpointFolder) -> bool:
    """Complete a swap that has begun, and return whether there was one; every step can be repeated."""
    found = pending_swap.read(files, place)
    if found is None or not found.swapping:
        return False
    before = checkpoints.read_record(files, place)
    if before != found.record:
        if found.apply:
            previous.retain(files, tables, place, before, found)
        elif found.named != RETAINED_SUFFIX:
            previous.forget(files, tables, place)
        for table in found.tables:
            changes = table.model in found.streamed
            tables.swap(found.new_version(table), table, found.swap or found.record.id, changes=changes)
        if found.held:
            held.send(place, found)
        checkpoints.write_record(files, place, found.record)
        if before is not None and not found.apply:
            files.remove(place.spark(before))
    if found.named == RETAINED_SUFFIX:
        files.remove(place.previous)
    _remove_pending(files, tables, place, found)
    return True


def forget(files: Files, tables: Tables, place: CheckpointFolder) -> None:
    """Remove an incomplete rebuild."""
    found = pending_swap.read(files, place)
    if found is None:
        return
    files.remove(place.spark(found.record))
    _remove_pending(files, tables, place, found)


def _remove_pending(files: Files, tables: Tables, place: CheckpointFolder, found: PendingSwap) -> None:
    for table in found.tables:
        tables.drop(found.new_version(table))
        if found.held:
            tables.drop(renamed(table, SNAPSHOT_SUFFIX))
    if found.held:
        files.remove(place.held(found.record))
    files.remove(place.rebuild)
