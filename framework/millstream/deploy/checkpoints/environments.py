"""What an environment reads from production, stored next to its checkpoints when its models are built."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from millstream.compile.environments import in_environment
from millstream.compile.manifest import Compiled
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.planning.records import Offsets
from millstream.project.folders import checkpoints_of, folder_in, local_path, own_folder
from millstream.project.names import Environment
from millstream.project.values import Target
from millstream.stores.files import Files, LocalFiles, path_in, read_json, write_json

_FILE = "environment.json"


class RecordedEnvironment(Struct, frozen=True):
    environment: str
    project: str
    target: str
    last_built: str = field(name="made")
    """When it was last built."""
    built: tuple[NodeId, ...]
    """Ids of the models and reference topics that it has of its own."""
    deferred: tuple[NodeId, ...]
    """Ids of those that it reads from production."""
    began: dict[str, Offsets] = {}


@contextmanager
def files_at(target: Target, path: str, folder: Path) -> Iterator[Files]:
    """Yield access to checkpoints or tables; Spark reads those that are not on this machine."""
    if local_path(path) is not None:
        yield LocalFiles()
        return
    from millstream.engine.spark.jars import jars_for
    from millstream.engine.spark.session import running_spark
    from millstream.stores.hadoop_files import files_of

    log = folder_in(folder, target) / "log"
    with running_spark("millstream", target, jars_for(target), log) as spark:
        yield files_of(path, spark)


def write_environment(files: Files, checkpoints: str, recorded: RecordedEnvironment) -> None:
    write_json(files, path_in(checkpoints, _FILE), recorded)


def read_environment(files: Files, checkpoints: str) -> RecordedEnvironment | None:
    return read_json(files, path_in(checkpoints, _FILE), RecordedEnvironment)


def as_recorded(target: Target, root: Path) -> Target:
    """Return a target whose environment reads from production what it did when it was built."""
    environment = target.environment
    if environment is None:
        return target
    checkpoints = checkpoints_of(target, root)
    with files_at(target, checkpoints, own_folder(root)) as files:
        recorded = read_environment(files, checkpoints)
    if recorded is None:
        raise missing_environment(environment, target)
    decided = replace(environment, deferred=frozenset(recorded.deferred), began=recorded.began)
    return replace(target, environment=decided)


def restore_environment(compiled: Compiled, target: Target, root: Path) -> tuple[Compiled, Target]:
    """Return a project and its target in the environment as it was built, if they are in one."""
    target = as_recorded(target, root)
    if target.environment is None:
        return compiled, target
    return in_environment(compiled, target.environment), target


def missing_environment(environment: Environment, target: Target) -> MillstreamError:
    message = f"target '{target.name}' has no environment '{environment.name}'"
    remedy = "create it with `millstream apply`, or see `millstream environment ls`"
    return MillstreamError(Diagnostic("MS711", message, None, remedy))
