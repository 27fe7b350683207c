"""The project as it was in the last complete round: what an edit is compared with."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream import __version__
from millstream.compile.artifacts import manifest_file
from millstream.compile.manifest import Compiled
from millstream.core.atomic import replace_file
from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack
from millstream.project.contents import with_contents
from millstream.project.values import Function, Project, Seed
from millstream.review.version import ReviewedVersion, decode_version

_FILE = "cache/dev.msgpack"


class LastRound(Struct, frozen=True):
    """What a round leaves to the next one: values, since the files are edited."""

    version: str
    """Of Millstream."""
    manifest: bytes
    functions: dict[str, Function]
    seeds: dict[str, Seed]
    contents: dict[str, bytes]
    """The files of functions and seeds."""
    failed: tuple[str, ...] = ()
    """The ids of unit tests that failed: they run again until they pass."""

    @property
    def reviewed(self) -> ReviewedVersion:
        return decode_version("before the edit", self.manifest)

    def project(self, now: Project) -> Project:
        """Return the project with the functions and seeds of then."""
        return replace(now, functions=self.functions, seeds=self.seeds, contents=self.contents)


def round_of(project: Project, compiled: Compiled, failed: tuple[str, ...]) -> LastRound:
    contents = dict(with_contents(project).contents)
    return LastRound(
        __version__, manifest_file(compiled), dict(project.functions), dict(project.seeds), contents, failed
    )


def save_round(target_path: Path, last: LastRound) -> None:
    file = target_path / _FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, to_msgpack(last))


def load_round(target_path: Path) -> LastRound | None:
    """Return the last round; None if there was none, or by another version."""
    try:
        last = from_msgpack((target_path / _FILE).read_bytes(), LastRound)
    except (OSError, msgspec.MsgspecError):
        return None
    return last if last.version == __version__ else None
