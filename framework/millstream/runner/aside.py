"""What is made beside what a query has, until it takes its place: kept next to the record of the query."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.deployment.records import Offsets, Record
from millstream.physical.values import TableOutput
from millstream.runner.checkpoints import Place
from millstream.runner.tables import ASIDE
from millstream.stores.files import Files


class Aside(Struct, frozen=True):
    record: Record
    digest: str
    """Of all that the query does."""
    tables: tuple[TableOutput, ...]
    streamed: tuple[str, ...] = ()
    """Those whose changes somebody reads."""
    swapping: bool = False
    named: str = ASIDE
    """What the names of its tables end with until then."""
    swap: str = ""
    """Of this swap: a table is given rows once by each; empty: the id of the record."""
    ends: dict[str, Offsets] | None = None
    """How far its first batch reads, where that was decided on for it to be compared."""
    apply: str = ""
    """What keeps the version that it takes the place of; empty: nobody wants it back."""

    def beside(self, table: TableOutput) -> TableOutput:
        """Return where the new rows of a table are until then."""
        return renamed(table, self.named)


def renamed(table: TableOutput, ending: str) -> TableOutput:
    return replace(table, model=table.model + ending)


def read(files: Files, place: Place) -> Aside | None:
    content = files.read(place.rebuild)
    return None if content is None else msgspec.json.decode(content, type=Aside)


def write(files: Files, place: Place, found: Aside) -> None:
    files.write(place.rebuild, msgspec.json.format(msgspec.json.encode(found), indent=1))
