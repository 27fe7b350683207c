import json
from pathlib import Path
from urllib.parse import unquote, urlparse

from millstream.sources.positions import Position


class FolderPosition(Position, frozen=True):
    files: frozenset[str]

    def covers(self, other):
        return self.files >= other.files

    def earlier(self, other):
        return FolderPosition(self.files & other.files)

    def later(self, other):
        return FolderPosition(self.files | other.files)

    def since(self, start):
        return len(self.files - (frozenset() if start is None else start.files))

    def texts(self, stream, start):
        new = self.files - (frozenset() if start is None else start.files)
        return (f"{stream}: file {Path(file).name}" for file in sorted(new))

    def parts(self):
        return tuple(sorted(self.files))

    def stored(self):
        return sorted(self.files)


def from_stored(value):
    return FolderPosition(frozenset(value))


def recognizes(value):
    return isinstance(value, dict) and value.keys() == {"logOffset"}


def from_log(value, log):
    """Return the files that Spark's FileStreamSourceLog has up to a batch; `9.compact` has all before it."""
    files = set()
    for name in log.files.names(log.folder):
        if int(name.partition(".")[0]) <= value["logOffset"]:
            lines = log.files.read(f"{log.folder}/{name}").decode().splitlines()[1:]
            files |= {unquote(urlparse(json.loads(line)["path"]).path) for line in lines}
    return FolderPosition(frozenset(files))


def ends(source, project):
    folder = Path(project.root) / source.settings["path"]
    return FolderPosition(frozenset(str(file) for file in folder.glob("*.parquet")))
