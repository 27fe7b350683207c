"""Puts a rebuilt version in the place of the running one: tables, checkpoint and record.

A swap that has begun is completed before anything else happens on the target, even if its models changed.
"""

from __future__ import annotations

from msgspec.structs import replace

from millstream.deploy.checkpoints import files as checkpoints
from millstream.deploy.checkpoints import joined_swap, pending_swap, retained_version
from millstream.deploy.checkpoints.files import CheckpointFolder, checkpoint_folder
from millstream.deploy.checkpoints.held_records import HeldRecords
from millstream.deploy.checkpoints.joined_swap import JoinedSwap
from millstream.deploy.checkpoints.pending_swap import PendingSwap, rename_output
from millstream.engine.queries.tables import RETAINED_SUFFIX, SNAPSHOT_SUFFIX, Tables
from millstream.queries.lock import Lock
from millstream.stores.files import Files


def begin_swap(files: Files, checkpoint: CheckpointFolder) -> None:
    """Mark a swap as begun: from now on, the next command completes it."""
    if (pending := pending_swap.read_pending(files, checkpoint)) is not None:
        pending_swap.write_pending(files, checkpoint, replace(pending, swapping=True))


def settle_all(files: Files, tables: Tables, held: HeldRecords, folder: str) -> None:
    """Complete the swaps of a target that have begun."""
    if (joined := joined_swap.read_joined(files, folder)) is not None:
        _swap_together(files, tables, held, folder, joined)
        joined_swap.remove_joined(files, folder)
    for name in files.names(folder):
        settle_swap(files, tables, held, checkpoint_folder(folder, name))


def swap_together(files: Files, tables: Tables, held: HeldRecords, folder: str, joined: JoinedSwap) -> None:
    joined_swap.write_joined(files, folder, joined)
    settle_all(files, tables, held, folder)


def _swap_together(files: Files, tables: Tables, held: HeldRecords, folder: str, joined: JoinedSwap) -> None:
    for name in joined.queries:
        checkpoint = checkpoint_folder(folder, name)
        if joined.back:
            _begin_rollback(files, tables, checkpoint)
        else:
            begin_swap(files, checkpoint)
        settle_swap(files, tables, held, checkpoint)
    before = checkpoints.read_lock(files, folder) or Lock()
    checkpoints.write_lock(files, folder, joined.lock)
    for group in before.groups if not joined.stay else ():
        if joined.lock.group(group.name) is None:
            files.remove(checkpoint_folder(folder, group.name).folder)


def _begin_rollback(files: Files, tables: Tables, checkpoint: CheckpointFolder) -> None:
    """Begin the swap back to the previous version."""
    retained, begun = (
        retained_version.read_retained(files, checkpoint),
        pending_swap.read_pending(files, checkpoint),
    )
    if retained is None or (begun is not None and begun.named == RETAINED_SUFFIX):
        return  # an earlier attempt got further
    forget_rebuild(files, tables, checkpoint)
    if retained.record is None:
        retained_version.restore_tables(files, tables, checkpoint, retained)
    else:
        pending_swap.write_pending(
            files, checkpoint, retained_version.as_pending_swap(retained, retained.record)
        )


def settle_swap(files: Files, tables: Tables, held: HeldRecords, checkpoint: CheckpointFolder) -> bool:
    """Complete a swap that has begun, and return whether there was one; every step can be repeated."""
    pending = pending_swap.read_pending(files, checkpoint)
    if pending is None or not pending.swapping:
        return False
    before = checkpoints.read_record(files, checkpoint)
    if before != pending.record:
        if pending.apply:
            retained_version.retain_version(files, tables, checkpoint, before, pending)
        elif pending.named != RETAINED_SUFFIX:
            retained_version.forget_retained(files, tables, checkpoint)
        for table in pending.tables:
            changes = table.model in pending.streamed
            tables.swap(pending.new_version(table), table, pending.swap or pending.record.id, changes=changes)
        if pending.held:
            held.send(checkpoint, pending)
        checkpoints.write_record(files, checkpoint, pending.record)
        if before is not None and not pending.apply:
            files.remove(checkpoint.spark(before))
    if pending.named == RETAINED_SUFFIX:
        files.remove(checkpoint.retained)
    _remove_pending(files, tables, checkpoint, pending)
    return True


def forget_rebuild(files: Files, tables: Tables, checkpoint: CheckpointFolder) -> None:
    """Remove an incomplete rebuild."""
    pending = pending_swap.read_pending(files, checkpoint)
    if pending is None:
        return
    # Without its checkpoint, a rebuild must not go on: its tables skip batches of known numbers.
    pending_swap.write_pending(files, checkpoint, replace(pending, digest=""))
    files.remove(checkpoint.spark(pending.record))
    _remove_pending(files, tables, checkpoint, pending)


def _remove_pending(files: Files, tables: Tables, checkpoint: CheckpointFolder, pending: PendingSwap) -> None:
    for table in pending.tables:
        tables.drop(pending.new_version(table))
        if pending.held:
            tables.drop(rename_output(table, SNAPSHOT_SUFFIX))
    if pending.held:
        files.remove(checkpoint.held(pending.record))
    files.remove(checkpoint.rebuild)
