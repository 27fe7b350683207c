"""Deploys a project to a target: queries continue if they can; others are rebuilt alongside.

Replaced versions are retained until the next apply, for a rollback.
"""

from __future__ import annotations

import uuid

from msgspec.structs import replace

from millstream.deploy.checkpoints import retained_version
from millstream.deploy.checkpoints.applied import LastApply, read_apply, write_apply
from millstream.deploy.checkpoints.deployed import retain_manifest
from millstream.deploy.checkpoints.files import checkpoint_folder, read_lock
from millstream.deploy.engine import Engine
from millstream.deploy.planning.stages import KeepPrevious
from millstream.queries.lock import Lock


def begin_apply(engine: Engine, stage: KeepPrevious) -> LastApply | None:
    """Record what an apply replaces; an apply that was killed before its end is continued."""
    if not stage.replaced:
        return None
    files, folder = engine.files, engine.checkpoints
    before = read_apply(files, folder)
    if before is not None and not before.done:
        applied = replace(
            before,
            replaced=tuple(sorted({*_replaced(engine, before), *stage.replaced})),
            begun=tuple(sorted({*before.begun, *stage.created})),
        )
    else:
        lock = read_lock(files, folder) or Lock()
        applied = LastApply(uuid.uuid4().hex[:12], lock, stage.replaced, stage.created)
        for name in files.names(folder):
            retained_version.forget_retained(files, engine.tables, checkpoint_folder(folder, name))
        retain_manifest(files, folder)
    if applied != before:
        write_apply(files, folder, applied)
    return applied


def _replaced(engine: Engine, applied: LastApply) -> list[str]:
    """Return the queries that an apply has replaced so far; it may be continued with others."""
    retained = {
        name: retained_version.read_retained(engine.files, checkpoint_folder(engine.checkpoints, name))
        for name in applied.replaced
    }
    return [name for name, version in retained.items() if version is not None and version.apply == applied.id]


def end_apply(engine: Engine) -> None:
    """Record that an apply is complete: the next one starts a new record."""
    applied = read_apply(engine.files, engine.checkpoints)
    if applied is not None and not applied.done:
        write_apply(engine.files, engine.checkpoints, replace(applied, done=True))
