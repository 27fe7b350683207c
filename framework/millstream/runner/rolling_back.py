"""What the last apply took the place of takes its place again: tables, checkpoints, and groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace
from pyspark.sql import SparkSession

from millstream.deployment.records import Record
from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.values import TableOutput
from millstream.runner import previous
from millstream.runner.applying import read, remove, write
from millstream.runner.checkpoints import place_of, records_in
from millstream.runner.deployed import restore_manifest
from millstream.runner.engine import Engine, engine
from millstream.runner.previous import Previous
from millstream.runner.swapping import Together, swap_together
from millstream.runner.values import Job, Setup, Tell


def roll_back(job: Job, folder: Path, tell: Tell, spark: SparkSession | None = None) -> list[str]:
    """Take back the last apply of a target, and return the queries; done again after a kill, it goes on."""
    with engine(job, [], folder, tell, spark) as running:
        applied = read(running.files, running.checkpoints)
        if applied is None:
            raise MillstreamError(_nothing(job))
        kept = _kept(running, applied.id)
        records = records_in(running.files, running.checkpoints)
        gone = [] if applied.back or not applied.done else sorted(set(applied.replaced) - kept.keys())
        if problems := [*map(_made_since, gone), *_counted_twice(kept, records)]:
            raise MillstreamError(*problems)
        write(running.files, running.checkpoints, replace(applied, back=True))
        swap_together(
            running.files, running.tables, running.checkpoints, Together(tuple(kept), applied.lock, back=True)
        )
        for name, each in kept.items():
            was = f"runs as it was made on {each.record.made}" if each.record else "is another query's again"
            tell(Setup(name, was, done=True))
        for name in applied.begun:
            _forget(running, name, records.get(name))
        restore_manifest(running.files, running.checkpoints)
        remove(running.files, running.checkpoints)
        return list(kept)


def _kept(running: Engine, apply: str) -> dict[str, Previous]:
    names = running.files.names(running.checkpoints)
    found = {
        name: previous.read(running.files, place_of(running.checkpoints, name)) for name in sorted(names)
    }
    return {name: each for name, each in found.items() if each is not None and each.apply == apply}


def _forget(running: Engine, name: str, record: Record | None) -> None:
    """Remove what did not run before the apply, so that it begins anew if it comes again."""
    place = place_of(running.checkpoints, name)
    for model in record.tables if record else ():
        running.tables.drop(TableOutput(model))
    running.files.remove(place.folder)


def _counted_twice(kept: dict[str, Previous], records: dict[str, Record]) -> Iterator[Diagnostic]:
    """Refuse to go back where a state would count rows of a topic, and again those that were sent since."""
    sent = {topic: name for name in kept if name in records for topic in records[name].began}
    for name, each in kept.items():
        for topic in sorted(set(each.record.ids if each.record else ()) & sent.keys()):
            yield Diagnostic(
                "MS888",
                f"{name} would count the rows of '{topic}' twice: {sent[topic]} has sent them again since",
                None,
                "check out the older version, and have both made anew: `millstream apply`",
            )


def _made_since(name: str) -> Diagnostic:
    return Diagnostic(
        "MS887",
        f"{name} was made anew since, so what it was before the last apply is not kept any more",
        None,
        "check out the older version, and `millstream apply` it",
    )


def _nothing(job: Job) -> Diagnostic:
    return Diagnostic(
        "MS887",
        f"nothing was applied to {job.project.target.name} that could be taken back",
        None,
        "only the last `millstream apply` that made something anew is kept",
    )
